"""The trail of questions, without a page."""

from mirror.answer.answer import Answer
from mirror.faces.pages.trails.address import Address
from mirror.faces.pages.trails.trail import CANCELLED, MOST_STEPS, Trail, begun
from mirror.table.table import plain_table


def answered(question: str, sql: str = "SELECT 1") -> Answer:
    return Answer("answered", question, sql=sql)


def chain(*questions: str) -> Trail:
    first, *rest = questions
    trail = begun(first, answered(first))
    for question in rest:
        trail = trail.followed(question, answered(question))
    return trail


def test_a_follow_up_is_the_next_step() -> None:
    trail = chain("a", "b", "c")
    assert trail.questions == ("a", "b", "c")
    assert trail.step.question == "c"


def test_going_back_keeps_the_later_questions_until_another_follow_up() -> None:
    trail = chain("a", "b", "c").back_to(0)
    assert trail.step.question == "a"
    assert trail.questions == ("a",)
    assert [s.question for s in trail.steps] == ["a", "b", "c"]
    trail = trail.followed("d", answered("d"))
    assert [s.question for s in trail.steps] == ["a", "d"]
    assert trail.step.question == "d"


def test_a_follow_up_without_rows_leaves_the_answer_where_it_is() -> None:
    before = chain("a", "b")
    for reply in (
        Answer("refused", "c", summary="No."),
        Answer("ambiguous", "c", summary="Which?"),
        Answer("error", "c", sql="SELECT 1", summary=CANCELLED),
    ):
        after = before.followed("c", reply)
        assert after.step is before.step
        assert after.reply is reply
        assert after.questions == ("a", "b")
        assert after.back_to(0).reply is None
        assert after.followed("d", answered("d")).reply is None


def test_a_follow_up_whose_sql_failed_is_a_step_with_its_sql() -> None:
    after = chain("a").followed("b", Answer("error", "b", sql="SELECT x", summary="No column x."))
    assert after.step.question == "b"
    assert after.reply is None


def test_edited_sql_is_shown_in_its_step_and_can_be_taken_back() -> None:
    trail = chain("a", "b").back_to(0)
    edited = trail.showing(answered("a", "SELECT 2"))
    assert edited.step.edited
    assert edited.step.answer.sql == "SELECT 1"
    assert edited.step.shown.sql == "SELECT 2"
    assert len(edited.steps) == 2
    assert not edited.showing(edited.step.answer).step.edited
    assert edited.back_to(1).back_to(0).step.shown.sql == "SELECT 2"


def test_a_link_holds_no_blank_and_no_endless_question() -> None:
    assert begun("  ", Answer("refused", "")).questions == ()
    assert len(begun("x" * 5_000, Answer("refused", "")).questions[0]) == 1_000


def test_a_trail_is_full_when_a_link_could_not_hold_more() -> None:
    assert not chain(*map(str, range(MOST_STEPS - 1))).is_full
    assert chain(*map(str, range(MOST_STEPS))).is_full


def test_changes_of_parts_are_one_step_whose_form_stands_beside_its_words() -> None:
    trail = chain("a").followed("b", answered("b"), "{1}").followed("c", answered("c"), "{2}")
    assert trail.questions == ("a", "c")
    assert trail.forms == ("", "{2}")
    after = trail.followed("d", answered("d"))
    assert after.forms == ("", "{2}", "")
    assert after.followed("e", answered("e"), "{3}").forms == ("", "{2}", "", "{3}")
    assert trail.followed("f", Answer("refused", "f", summary="No."), "{4}").step.question == "c"


def test_a_statement_is_compared_with_the_one_that_it_came_from() -> None:
    first = begun("a", answered("a", "SELECT 1"))
    assert first.sql_before is None
    second = first.followed("b", answered("b", "SELECT 2"))
    assert second.sql_before == "SELECT 1"
    edited = second.showing(answered("b", "SELECT 3"))
    assert edited.sql_before == "SELECT 2"
    assert edited.back_to(0).sql_before is None
    assert edited.followed("c", answered("c", "SELECT 4")).sql_before == "SELECT 3"


def test_a_link_without_its_sql_says_nothing_of_its_rows() -> None:
    rows = plain_table(("a",), ((1,),))
    long = Answer("answered", "a", sql=f"SELECT 1 AS a -- {'x' * 5000}", table=rows)
    address = Address.of(chain("a").showing(long), "")
    assert (address.sql, address.seen) == ("", "")
    short = Answer("answered", "a", sql="SELECT 1 AS a", table=rows)
    assert Address.of(chain("a").showing(short), "").seen == rows.mark

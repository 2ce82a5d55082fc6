"""What is answered at once, shown first or refused; choosing what was shown; explaining; and follow-ups after it."""

import math
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from mirror import ask
from mirror.answer import policy
from mirror.answer.answer import Answer
from mirror.answer.answering import MAX_QUESTION, explain, to_json
from mirror.answer.as_text import CHOOSE, as_text
from mirror.answer.notebook import html
from mirror.answer.policy import (
    AS_NAMED,
    AT_ONCE,
    BESIDE,
    PLAIN,
    PLAIN_ALONE,
    SHOWN,
    SHOWN_UNKNOWN,
    UNSURE,
    assumed,
    decide,
    told,
)
from mirror.answer.proposal import chosen
from mirror.data.process.other_data_process import shared
from mirror.data.sources.location import find
from mirror.faces.command import main
from mirror.language.neural.other_data_reader import SecondReading
from mirror.language.ranking.candidate import Candidate, Rows
from mirror.language.reading.reading import readings
from tests.mirror.language.reading.library import DATABASE, write

NOW = datetime(2025, 6, 15)
SHOWN_FIRST = "members who borrowed Red Sand"
SENTENCE = "Show members with name where the book title is Red Sand"
LOANS_BY_GENRE = "share of loans by genre"
MEANT = {LOANS_BY_GENRE: "Show the share of each book genre in the number of loans"}  # of what is shown first


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    path = write(tmp_path_factory.mktemp("library") / "library.duckdb")
    yield path
    shared(find(path)).close()


def asked(question: str, library: str, after: Answer | None = None) -> Answer:
    return ask(question, db=library, now=NOW, after=after)


def answered(question: str, library: str) -> Answer:
    """The answer of a question, by the choice that is meant where it is shown first."""
    answer = asked(question, library)
    if question in MEANT and answer.status == "ambiguous":
        assert MEANT[question] in answer.suggestions
        answer = asked(MEANT[question], library, answer)
    assert answer.status == "answered", answer.summary
    return answer


# -- the decision ------------------------------------------------------------------------------------------------------

ONE, TWO = ((1,),), ((2,),)


def made(*of: tuple[float, Rows | None], left: tuple[str, ...] = ()) -> list[Candidate]:
    """Candidates of different forms with these chances and rows; the first leaves out what is given."""
    one = replace(readings("how many members", DATABASE, NOW)[0], cost=1.0)
    found = [
        Candidate(
            replace(one.asked, limit=i or None),
            replace(one.built, sql=str(i)),
            one,
            compared=True,
            rows=rows,
            chance=chance,
        )
        for i, (chance, rows) in enumerate(of)
    ]
    return [replace(found[0], left=left), *found[1:]] if found else []


@pytest.mark.parametrize(
    ("found", "skipped", "kind", "shown"),
    [
        ([], (), "refuse", 0),
        (made((AT_ONCE, ONE)), (), "answer", 1),
        (made((AT_ONCE - 0.01, ONE)), (), "show", 1),
        (made((SHOWN - 0.01, ONE)), (), "show", 1),  # all of its words are read
        (made((SHOWN - 0.01, ONE), left=("rent",)), (), "refuse", 1),
        (made((AT_ONCE, ONE), (0.5, TWO)), (), "answer", 1),
        (made((0.5, ONE), (0.4, TWO)), (), "show", 2),
        (made((0.5, ONE), (BESIDE - 0.01, TWO)), (), "show", 1),
        (made((0.5, ONE), (0.4, ONE), (0.3, ONE)), (), "show", 1),
        (made((0.5, ((1,), (2,))), (0.4, ((2,), (1,)))), (), "show", 1),
        (made((0.5, ((1, "a"), (2, "b"))), (0.4, (("b",), ("a",)))), (), "show", 1),
        (made((0.5, ((1,), (2,))), (0.4, ((1, "a"), (2, "b")))), (), "show", 2),
        (made((0.5, ONE), (0.4, ())), (), "show", 2),
        (made((0.99, ())), (), "show", 1),
        (made((0.99, ((None,),))), (), "show", 1),
        (made((0.99, None)), (), "show", 1),
        (made((0.6, ONE), (0.5, TWO), (0.4, ((3,),)), (0.3, ((4,),))), (), "show", 3),
        (made((0.99, ONE)), ("rent",), "show", 1),
        (made((SHOWN_UNKNOWN, ONE)), ("rent",), "show", 1),
        (made((SHOWN_UNKNOWN - 0.01, ONE), left=("rent",)), ("rent",), "refuse", 1),
    ],
)
def test_what_becomes_of_readings(found: list[Candidate], skipped: tuple[str, ...], kind: str, shown: int) -> None:
    decision = decide(found, skipped)
    assert (decision.kind, len(decision.readings)) == (kind, shown)


def test_readings_that_differ_by_the_key_alone_are_shown_whatever_their_chance() -> None:
    first, second = made((AT_ONCE, ONE), (0.5, TWO))
    decision = decide([first, replace(second, asked=first.asked)])
    assert (decision.kind, len(decision.readings)) == ("show", 2)


def test_what_is_read_at_hardly_any_cost_is_answered_whatever_its_chance() -> None:
    (one,) = made((0.2, ONE))
    plain = replace(one, first=replace(one.first, cost=PLAIN_ALONE))  # type: ignore[type-var]
    assert decide([plain]).kind == "answer"
    assert decide([plain], ("rent",)).kind == "show"
    assert decide([replace(plain, rows=())]).kind == "show"
    assert decide([plain, replace(plain, asked=replace(one.asked, limit=9), rows=TWO, chance=0.1)]).kind == "show"


def by_network(one: Candidate, chance: float, left: tuple[str, ...] = ()) -> Candidate:
    """The candidate as the network alone reads it, with this probability."""
    second = SecondReading(one.asked, one.built, math.log(chance), ())
    return replace(one, first=None, second=second, left=left)


def test_what_the_network_alone_reads_is_shown_where_the_words_say_more_or_another_thing() -> None:
    one, other = made((AT_ONCE, ONE), (0.3, TWO))
    plain = replace(other, first=replace(other.first, cost=PLAIN))  # type: ignore[type-var]
    sure, unsure = by_network(one, UNSURE), by_network(one, UNSURE - 0.1)
    assert decide([sure, plain]).kind == "answer"
    assert decide([unsure, other]).kind == "answer"  # the words say it at some cost
    assert decide([unsure, replace(plain, rows=ONE)]).kind == "answer"
    assert decide([unsure, replace(plain, left=("rent",))]).kind == "answer"
    assert decide([unsure, plain]).kind == "show"
    assert decide([by_network(one, 0.99, ("rent",)), other]).kind == "show"


def test_what_the_words_plainly_say_is_among_the_choices() -> None:
    found = made((0.6, ONE), (0.5, TWO), (0.4, ((3,),)), (0.3, ((4,),)), (0.2, ((5,),)))
    plain = replace(found[4], first=replace(found[4].first, cost=AS_NAMED))  # type: ignore[type-var]
    assert decide([*found[:4], plain]).readings == (*found[:2], plain)


def test_what_is_left_out_is_told() -> None:
    one = made((0.5, ONE), left=("genre",))
    assert told(decide(one, ("rent",))) == "Is this meant? Left out: “rent”, “genre”."
    several = [*one, *made((0.4, TWO))]
    assert told(decide(several, ("rent",))) == "This can be read in 2 ways: which is meant? Left out: “rent”."


# -- the flow ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("what share of members are students", [(0.5,)]),
        ("\u202ewhat share of mem\u00adbers are stu\u200bdents", [(0.5,)]),
        ("share of books by genre", [("crime", 0.4), ("poetry", 0.2), ("travel", 0.4)]),
        ("how many more loans in 2025 than in 2024", [(0,)]),
        ("the second most expensive book", [("Blue Rain", 20.0)]),
    ],
)
def test_what_the_first_reader_refuses_is_answered_at_once(
    question: str, rows: list[tuple[object, ...]], library: str
) -> None:
    answer = asked(question, library)
    assert answer.status == "answered", answer.summary
    assert answer.table
    assert answer.read_as
    assert sorted(row[-len(rows[0]) :] for row in answer.table.rows) == sorted(rows)


def test_what_a_word_is_taken_for_is_said() -> None:
    one = readings("how many borrowers", DATABASE, NOW)[0]
    taken = Candidate(one.asked, one.built, one)
    assert "“borrowers” taken for loans" in assumed(taken)


def test_what_is_unsure_is_shown_first_and_a_click_gives_that_reading(library: str) -> None:
    back = asked(SHOWN_FIRST, library)
    assert (back.status, back.suggestions[0]) == ("ambiguous", SENTENCE)
    assert "meant?" in back.summary
    assert back.sql is back.table is None
    for text in (SENTENCE, SENTENCE.upper(), f"  {SENTENCE}. "):
        answer = asked(text, library, back)
        assert answer.table
        assert answer.table.rows == (("Ada Berg",), ("Bo Carlsen",), ("Cy Dahl",))
        assert answer.form == back.proposals[0].form
    assert chosen("Show members", back.proposals) is None


def test_a_choice_of_what_is_unsure_has_its_own_rows(library: str) -> None:
    table = answered(LOANS_BY_GENRE, library).table
    assert table
    assert sorted(table.rows) == [("crime", 0.75), ("poetry", 0.125), ("travel", 0.125)]


def test_what_is_shown_says_which_words_are_left_out(library: str) -> None:
    back = asked("average humidity by genre", library)
    assert back.status == "ambiguous"
    assert back.summary.endswith("meant? Left out: “humidity”.")


def test_several_readings_have_several_sentences(library: str) -> None:
    back = asked("how long do loans take on average by genre", library)
    assert back.summary.startswith("This can be read in 3 ways: which is meant?")
    assert len(set(back.suggestions)) == len(back.proposals) == 3
    assert asked(back.suggestions[1], library, back).read_as.startswith(
        "average minutes from loans.lent to returned · by books.genre"
    )


def test_readings_whose_sentences_are_the_same_are_told_apart() -> None:
    (one,) = made((0.5, ONE))
    other = replace(one, asked=replace(one.asked, notes=("of the day",)))
    first, second = policy.proposals([one, other], DATABASE)
    assert second.text == f"{first.text} (number of members · of the day)"


@pytest.mark.parametrize(
    ("question", "why"),
    [
        ("books with humidity above 3", "The data say nothing about “humidity”."),
        ("both members", "What “both” should do here is not clear."),
        ("customers in Bern", "The data say nothing about “customers”."),
    ],
)
def test_a_refusal_has_two_lines_the_words_and_what_works(question: str, why: str, library: str) -> None:
    answer = asked(question, library)
    words, near = answer.summary.split("\n")
    assert answer.status == "refused"
    assert words == why
    assert near == f"What can be answered: “{answer.suggestions[0]}”."
    assert asked(answer.suggestions[0], library, answer).status == "answered"


@pytest.mark.parametrize(
    ("question", "why"),
    [
        ("total price by member", "would be counted once for each of them"),
        ("loans in 2025-02-31", "is no date of the calendar"),
        (
            "loans after 9999-12-31",
            "“9999-12-31” is at an end of the calendar, where no days are told apart: say “after",
        ),
        ("loans on 01.01.0001", "say “before 0002-01-01”"),
        ("zebra quux", "The data say nothing about “zebra”, “quux”"),
        ("x" * (MAX_QUESTION + 1), "characters long"),
    ],
)
def test_what_no_reading_would_mend_stays_refused(question: str, why: str, library: str) -> None:
    answer = asked(question, library)
    assert answer.status == "refused"
    assert why in answer.summary


def test_a_reader_that_fails_is_a_sentence(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> list[Candidate]:
        raise RuntimeError("a fault")

    monkeypatch.setattr("mirror.answer.other_data.candidates", broken)
    assert "by a fault of Mirror's" in asked("what share of members are students", library).summary


# -- the faces ---------------------------------------------------------------------------------------------------------


def test_choices_are_numbered_in_a_terminal_and_said_in_a_notebook(library: str) -> None:
    back = asked(SHOWN_FIRST, library)
    numbered = "\n".join(f"  {i}  {text}" for i, text in enumerate(back.suggestions, 1))
    assert numbered.startswith(f"  1  {SENTENCE}")
    assert as_text(back).endswith(f"{numbered}\n\n{CHOOSE}")
    assert f"<li>{SENTENCE}</li>" in html(back)
    assert "after=answer" in html(back)
    assert to_json(back)["suggestions"] == list(back.suggestions)


def test_the_command_line_takes_a_choice(library: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ask", SHOWN_FIRST, "--db", library]) == 2
    assert SENTENCE in capsys.readouterr().out
    assert main(["ask", SHOWN_FIRST, "--db", library, "--choose", "1"]) == 0
    assert "Ada Berg" in capsys.readouterr().out
    most = len(asked(SHOWN_FIRST, library).suggestions)
    assert main(["ask", SHOWN_FIRST, "--db", library, "--choose", str(most + 1)]) == 2
    assert capsys.readouterr().err == f"--choose takes a number from 1 to {most}: so many choices there are.\n"
    assert main(["ask", "how many members", "--db", library, "--choose", "1"]) == 2
    assert capsys.readouterr().err == "There is nothing to choose: ask without --choose.\n"


def test_a_question_is_explained_with_the_readings_that_lost(library: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "cheapest genre", "--db", library]) == 2
    capsys.readouterr()
    assert main(["explain", "share of books by genre", "--db", library]) == 0
    text = capsys.readouterr().out
    assert text.startswith("Read as: share of all in number of books · by books.genre")
    assert "*column books.genre 0.00" in text
    assert "  1  chance 0." in text
    assert "by its words: costs 0." in text
    assert "Show the share of each book genre in the number of books" in text
    assert "The second reading's chance is" in text
    assert text.rstrip().endswith("and it has rows.")


@pytest.mark.parametrize(
    ("question", "end"),
    [
        (SHOWN_FIRST, "Shown first: its chance is"),
        ("books with humidity above 3", "“humidity” would be left unread."),
        ("total price by member", "Refused: no reading has a chance"),
        ("zebra quux", "Refused: "),
        ("", "Ask something"),
    ],
)
def test_an_explanation_says_why_nothing_was_answered_at_once(question: str, end: str, library: str) -> None:
    assert end in explain(question, library, NOW)[1]


def test_an_explanation_never_fails(tmp_path: Path) -> None:
    answer, text = explain("how many", str(tmp_path / "nothing.csv"))
    assert (answer.status, text) == ("error", answer.summary)


# -- follow-ups --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "then", "read_as"),
    [
        (
            LOANS_BY_GENRE,
            "only Bern",
            "share of all in number of loans · by books.genre · where members.city",
        ),
        ("what share of members are students", "by city", "divided by number of members · by members.city"),
        (
            "average number of loans per member",
            "only crime",
            "average number of loans · by members · where books.genre",
        ),
        ("the second most expensive book", "top 3", "highest books.price first · the first 3"),
        ("how many more loans in 2025 than in 2024", "by genre", "less number of loans where loans.lent"),
        ("median pages per genre", "as bars", "median books.pages · by books.genre"),
    ],
)
def test_a_follow_up_keeps_what_the_form_says(question: str, then: str, read_as: str, library: str) -> None:
    first = answered(question, library)
    assert first.form
    after = asked(then, library, first)
    assert after.form, after.summary
    assert read_as in after.read_as
    assert after.form.measures == first.form.measures
    assert (after.form.of_total, after.form.outer) == (first.form.of_total, first.form.outer)


@pytest.mark.parametrize(
    ("question", "then", "why"),
    [
        ("average number of loans per member", "by genre instead", "The average is of one number for each group"),
        (LOANS_BY_GENRE, "top 2", "These are the shares of all groups"),
        ("what share of members are students", "only student", "The numbers differ in members.student already"),
        ("average price by genre", "and the humidity", "The data say nothing about “humidity”"),
    ],
)
def test_what_a_follow_up_would_break_is_refused_by_name(question: str, then: str, why: str, library: str) -> None:
    answer = asked(then, library, answered(question, library))
    assert answer.status == "refused"
    assert why in answer.summary


def test_a_whole_question_after_another_is_its_own(library: str) -> None:
    after = asked("average price by genre", library)
    assert asked("what share of members are students", library, after).table.rows == ((0.5,),)  # type: ignore[union-attr]

"""What the first visit shows: the questions of the catalogue, else the first examples that fit on a card."""

from mirror.answer.answer import Answer
from mirror.chart.choose import choose
from mirror.faces.opening import MOST_CARDS, card_questions, is_small
from mirror.schema import catalog
from mirror.table.table import plain_table


def answered(question: str, rows: int = 3) -> Answer:
    table = plain_table(("name", "revenue"), [(f"n{i}", float(i)) for i in range(rows)])
    return Answer("answered", question, sql="SELECT 1", table=table, chart=choose(table, None))


def test_the_cards_of_the_catalogue_come_first() -> None:
    assert [a.question for a in card_questions(answered)] == list(catalog.cards())
    told = " ".join(catalog.cards())
    assert all(method in told for method in ("fiited", "hashed", "parallel_op"))


def test_what_the_results_cannot_answer_gives_its_place_to_an_example() -> None:
    def asked(question: str) -> Answer:
        return answered(question, 0 if question in catalog.cards() else 3)

    assert [a.question for a in card_questions(asked)] == list(catalog.examples()[:MOST_CARDS])
    assert list(card_questions(lambda q: Answer("error", q))) == []


def test_many_bars_do_not_fit_on_a_card() -> None:
    assert is_small(answered("q", 8))
    assert not is_small(answered("q", 9))

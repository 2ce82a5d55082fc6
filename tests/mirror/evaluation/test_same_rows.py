"""The scorer's comparison: right answers in other clothes, subtly wrong ones, and order and ties where they count."""

import pytest

from mirror.evaluation.questions import Gold
from mirror.evaluation.same_rows import difference
from mirror.schema.result_columns import result_table
from mirror.table.table import Row, Table

PLAIN = Gold("")
BEST = result_table(("method", "auc", "_dataset"), (("dense", 0.93, "frappe"), ("hashed", 0.79, "ml")))


def table(columns: str, *rows: tuple[object, ...]) -> Table:
    return result_table(tuple(columns.split()), rows)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "answer",
    [
        table("method auc dataset", ("dense", 0.93, "frappe"), ("hashed", 0.79, "ml")),
        table("dataset n quality who", ("ml", 3, 0.79, "hashed"), ("frappe", 3, 0.93, "dense")),
        table("method auc stddev_auc", ("dense", 0.93000001, None), ("hashed", 0.79, 0.1)),  # the method tells apart
    ],
)
def test_the_same_rows_in_other_clothes(answer: Table) -> None:
    assert difference(PLAIN, BEST, answer) == ""


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (table("method auc", ("dense", 0.93)), "1 rows where 2"),
        (table("method auc", ("dense", 0.93), ("hashed", 0.79), ("hashed", 0.79)), "3 rows where 2"),
        (table("method auc", ("dense", 0.93001), ("hashed", 0.79)), "no column holds auc"),
        (table("method auc", ("dense", 0.79), ("hashed", 0.93)), "do not belong together"),
        (table("auc dataset", (0.93, "frappe"), (0.79, "ml")), "no column holds method"),
        (table("method auc", ("dense", None), ("hashed", 0.79)), "no column holds auc"),
        (table("method auc", ("dense", "0.93"), ("hashed", "0.79")), "no column holds auc"),
    ],
)
def test_what_is_subtly_wrong(answer: Table, why: str) -> None:
    assert why in difference(PLAIN, BEST, answer)


def test_one_column_stands_for_one() -> None:
    gold = table("before since", (2.0, 2.0), (3.0, 3.0))
    assert "do not belong together" in difference(PLAIN, gold, table("x", (2.0,), (3.0,)))
    assert difference(PLAIN, gold, table("x y", (2.0, 2.0), (3.0, 3.0))) == ""


def test_rows_must_be_told_apart() -> None:
    gold = table("method auc _embedding_dim", ("dense", 0.9, 16), ("dense", 0.8, 64), ("hashed", 0.7, 16))
    bare = table("method auc", ("dense", 0.9), ("dense", 0.8), ("hashed", 0.7))
    assert "do not say which embedding_dim" in difference(PLAIN, gold, bare)
    told = table("method auc dim", ("dense", 0.9, 16), ("dense", 0.8, 64), ("hashed", 0.7, 16))
    assert difference(PLAIN, gold, told) == ""
    # A metric tells nothing apart, though its values differ.
    swapped = table("method auc dim", ("dense", 0.9, 64), ("dense", 0.8, 16), ("hashed", 0.7, 16))
    assert "do not say which embedding_dim" in difference(PLAIN, gold, swapped)


def test_what_another_key_decides_may_be_missing() -> None:
    gold = table("auc _dataset _num_rows", (0.9, "frappe", 5), (0.8, "ml", 7), (0.7, "anime", 7))
    assert difference(PLAIN, gold, table("auc data", (0.9, "frappe"), (0.8, "ml"), (0.7, "anime"))) == ""
    assert "which dataset" in difference(PLAIN, gold, table("auc rows", (0.9, 5), (0.8, 7), (0.7, 7)))


def test_nulls_booleans_and_moments() -> None:
    gold = table("day ok x", ("2026-11-10T00:00:00", True, None), ("2026-11-11T00:00:00", False, 1))
    assert difference(PLAIN, gold, table("d o y", ("2026-11-10", True, None), ("2026-11-11", False, 1.0))) == ""
    assert difference(PLAIN, gold, table("d o y", ("2026-11-10", True, 0), ("2026-11-11", False, 1))) != ""
    assert difference(PLAIN, gold, table("d o y", ("2026-11-10", 1, None), ("2026-11-11", 0, 1))) != ""


FLAGS = Gold("", flags=True)


@pytest.mark.parametrize(
    ("right", "answer"),
    [
        ((("a", True), ("b", False), ("c", None)), (("a", 1), ("b", 0), ("c", None))),  # DuckDB, and as SQLite has it
        ((("a", 1), ("b", 0)), (("a", True), ("b", False))),
        ((("a", "yes"), ("b", "no")), (("a", True), ("b", False))),  # a text of a file that is read as a truth value
        ((("a", True), ("b", False)), (("a", "Yes"), ("b", "No"))),
    ],
)
def test_truth_values_of_other_databases(right: tuple[Row, ...], answer: tuple[Row, ...]) -> None:
    gold, said = table("name ok", *right), table("n o", *answer)
    assert difference(FLAGS, gold, said) == ""
    assert "no column holds ok" in difference(PLAIN, gold, said)
    turned = table("n o", *((name, not said) for name, said in answer[:2]), *answer[2:])
    assert difference(FLAGS, gold, turned) != ""
    assert difference(FLAGS, gold, table("n", *((name,) for name, _ in answer))) == "no column holds ok"


@pytest.mark.parametrize(
    ("right", "answer", "why"),
    [
        (7, 7.0, ""),
        (12.5, 12.500000001, ""),
        ("2026-03-01", "2026-03-01T00:00:00", ""),  # a day, and the same as a moment
        ("2026-03-01T00:00:00", "2026-03-01 00:00", ""),
        ("2026-03-01", "2026-03-01T08:00:00", "no column holds x"),
        (2026, "2026-01-01", "no column holds x"),  # a gold that takes both has an alternate
        (7, "7", "no column holds x"),
        (1, "1", "no column holds x"),
        (True, "1", "no column holds x"),
        (True, 2, "no column holds x"),
        ("yes", "y", "no column holds x"),
    ],
)
def test_cells_of_other_databases(right: object, answer: object, why: str) -> None:
    assert difference(FLAGS, table("x", (right,)), table("y", (answer,))) == why


def test_people_by_one_name_or_by_two() -> None:
    """A name in two columns and one in a single column are alternates: neither stands for the other."""
    two, one = table("first last", ("Ann", "Lee"), ("Bo", "Ray")), table("name", ("Ann Lee",), ("Bo Ray",))
    assert difference(FLAGS, two, table("id f l", (1, "Ann", "Lee"), (2, "Bo", "Ray"))) == ""
    assert difference(FLAGS, one, table("name born", ("Bo Ray", 1990), ("Ann Lee", 1980))) == ""
    assert difference(FLAGS, two, one) == "no column holds first, last"
    assert difference(FLAGS, one, two) == "no column holds name"


def test_points_may_repeat() -> None:
    gold = table("method auc", ("dense", 0.9), ("dense", 0.9), ("hashed", 0.8))
    assert difference(PLAIN, gold, table("m a", ("dense", 0.9), ("hashed", 0.8), ("dense", 0.9))) == ""
    assert difference(PLAIN, gold, table("m a", ("dense", 0.9), ("hashed", 0.8), ("hashed", 0.8))) != ""


# -- order and the first so many ---------------------------------------------------------------------------------------

RANKED = table("method auc", ("a", 0.9), ("b", 0.8), ("c", 0.8), ("d", 0.7), ("e", None))


def test_order_counts_where_the_gold_has_one() -> None:
    gold = Gold("", order="auc desc")
    four = table("method auc", *RANKED.rows[:4])
    tied = table("m x", ("a", 0.9), ("c", 0.8), ("b", 0.8), ("d", 0.7))
    turned = table("m x", ("a", 0.9), ("d", 0.7), ("b", 0.8), ("c", 0.8))
    assert difference(gold, four, tied) == ""
    assert "not sorted by auc desc" in difference(gold, four, turned)
    assert difference(PLAIN, four, turned) == ""


@pytest.mark.parametrize(
    ("rows", "right"),
    [
        ([("a", 0.9), ("b", 0.8)], True),
        ([("a", 0.9), ("c", 0.8)], True),  # either of a tie
        ([("a", 0.9), ("b", 0.8), ("c", 0.8)], True),  # or both
        ([("b", 0.8), ("c", 0.8)], False),
        ([("a", 0.9)], False),
        ([("a", 0.9), ("d", 0.7)], False),
        ([("b", 0.8), ("a", 0.9)], False),
        ([("a", 0.9), ("b", 0.8), ("d", 0.7)], False),
    ],
)
def test_the_first_two_with_a_tie_at_the_end(rows: list[tuple[str, float]], right: bool) -> None:
    gold = Gold("", order="auc desc", top=2)
    assert (difference(gold, RANKED, result_table(("m", "x"), tuple(rows))) == "") is right


def test_more_than_there_are() -> None:
    gold = Gold("", order="auc", top=10)
    assert difference(gold, RANKED, table("m x", ("d", 0.7), ("c", 0.8), ("b", 0.8), ("a", 0.9))) == ""


def test_the_first_of_each_work() -> None:
    rows = (("a", 0.9, 16), ("b", 0.8, 16), ("a", 0.5, 64), ("b", 0.6, 64))
    gold, right = Gold("", order="auc desc", top=1, per=True), result_table(("method", "auc", "_embedding_dim"), rows)
    assert difference(gold, right, table("m x dim", ("b", 0.6, 64), ("a", 0.9, 16))) == ""
    assert difference(gold, right, table("m x dim", ("a", 0.9, 16), ("b", 0.8, 16))) != ""

"""The mark of a result: the same rows have the same one, whatever their order and the last digits of their means."""

from dataclasses import replace

from mirror.table.table import plain_table

ROWS = (("a", 1, 0.1 + 0.2), ("b", None, 2.5), ("b", True, 7.25))


def test_equal_rows_have_one_mark_and_others_another() -> None:
    table = plain_table(("name", "n", "us"), ROWS)
    assert table.mark.startswith("3-")
    same = (ROWS[2], ROWS[1], ("a", 1, 0.3))
    assert plain_table(("name", "n", "us"), same).mark == table.mark
    marks = {
        plain_table(names, rows).mark
        for names, rows in (
            (("name", "n", "us"), ROWS),
            (("name", "n", "ms"), ROWS),
            (("name", "n", "us"), ROWS[:2]),
            (("name", "n", "us"), (*ROWS[:2], ("b", True, 7.26))),
            (("name", "n", "us"), (*ROWS[:2], ("b", "True", 7.25))),
        )
    }
    assert len(marks) == 5


def test_of_rows_that_were_cut_all_count_where_they_are_known() -> None:
    cut = plain_table(("name", "n", "us"), ROWS[:2], truncated=True)
    assert cut.mark == "2-"
    assert replace(cut, whole=plain_table(("name", "n", "us"), ROWS)).mark.startswith("3-")

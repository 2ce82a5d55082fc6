"""CSV that a spreadsheet opens without running anything."""

import csv
import io

from mirror.schema.result_columns import result_table
from mirror.table.csv_export import to_csv


def test_formulas_are_defused_and_numbers_are_not() -> None:
    rows = (("=1+1", -2.5, None), ("@SUM(A1)", 3, "plain"), ('quote " and, comma', True, "+x"))
    text = to_csv(result_table(("a", "b", "c"), rows))
    found = list(csv.reader(io.StringIO(text)))
    assert found == [
        ["a", "b", "c"],
        ["'=1+1", "-2.5", ""],
        ["'@SUM(A1)", "3", "plain"],
        ['quote " and, comma', "True", "'+x"],
    ]

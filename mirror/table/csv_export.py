"""A result as CSV text that a spreadsheet can open without running what a cell holds."""

import csv
import io

from mirror.table.table import Table
from mirror.table.values import Value

# A cell that starts with one of these is a formula to a spreadsheet (OWASP, CSV injection).
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def to_csv(table: Table) -> str:
    """The table with a header line; texts that would be formulas get a leading apostrophe."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([_safe(name) for name in table.names])
    writer.writerows([[_safe(value) for value in row] for row in table.rows])
    return out.getvalue()


def _safe(value: Value | None) -> Value:
    if value is None:
        return ""
    if isinstance(value, str) and value.startswith(_FORMULA_STARTS):
        return "'" + value
    return value

"""The views that can be asked and the columns of each: names and types, in the order of the view."""

import re
from collections.abc import Mapping

import sqlalchemy as sa

from db import schema
from db.columns import BY_NAME, COLUMNS

_TABLE_TYPES = {sa.BigInteger: "integer", sa.Double: "real", sa.DateTime: "timestamp", sa.Boolean: "boolean"}
# Columns of views that a trial's own row does not have.
_OTHER_TYPES = {"status": "text", "error": "text", "step": "integer", "metric": "text", "value": "real"}
_FAILURES = (
    "trial_id", "sweep", "benchmark", "op", "method", "dataset", "device", "compression", "embedding_dim",
    "batch_size", "seed", "status", "error", "machine_id", "machine", "started_at", "duration_s",
)  # fmt: skip
_CURVES = ("trial_id", *schema.CURVE_AXES, "seed", "machine", "step", "metric", "value")


def _types(names: tuple[str, ...]) -> dict[str, str]:
    return {n: BY_NAME[n].type if n in BY_NAME else _OTHER_TYPES[n] for n in names}


def _table_types(table: sa.Table) -> dict[str, str]:
    return {c.name: _TABLE_TYPES.get(type(c.type), "text") for c in table.c}


_ALL = {c.name: c.type for c in COLUMNS}
_BY_SOURCE: dict[str, Mapping[str, str]] = {
    "results": _ALL,
    "history": _ALL,
    "failures": _types(_FAILURES),
    "curves": _types(_CURVES),
    "samples": _table_types(schema.samples),
    "machines": _table_types(schema.machines),
    "sweeps": _table_types(schema.sweeps),
}
# Source -> column -> text | integer | real | boolean | timestamp.
KNOWN_COLUMNS: Mapping[str, Mapping[str, str]] = {source: _BY_SOURCE[source] for source in schema.EXPOSED}


def is_curve_name(name: str) -> bool:
    """Whether what a curve is of can name a column of a result beside those of the view."""
    return bool(re.fullmatch("[a-z][a-z0-9_]*", name)) and name not in KNOWN_COLUMNS["curves"]

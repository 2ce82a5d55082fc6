"""The views that can be asked and the columns of each: names and types, in the order of the view."""

import re
from collections.abc import Iterator, Mapping

from db import schema
from db.columns import BY_NAME, COLUMNS
from mirror.schema import own_metrics

# Columns of views that a trial's own row does not have.
_OTHER_TYPES = {"status": "text", "error": "text", "step": "integer", "metric": "text", "value": "real"}
# The tables that can be read as they are. Not taken from their definitions: SQLAlchemy takes long to load.
_SAMPLES = {"trial_id": "text", "sample": "integer", "time_us": "real", "turn": "integer"}
_MACHINES = {
    "machine_id": "text", "name": "text", "cpu": "text", "cores": "integer", "l2_kb": "integer", "l3_kb": "integer",
    "memory_gb": "real", "gpu": "text", "os": "text",
}  # fmt: skip
_SWEEPS = {"sweep_id": "text", "name": "text", "spec": "text", "started_at": "timestamp"}
_FAILURES = (
    "trial_id", "sweep", "benchmark", "op", "method", "dataset", "device", "compression", "embedding_dim",
    "batch_size", "seed", "status", "error", "machine_id", "machine", "started_at", "duration_s",
)  # fmt: skip
_CURVES = ("trial_id", *schema.CURVE_AXES, "seed", "machine", "step", "metric", "value")


def _types(names: tuple[str, ...]) -> dict[str, str]:
    return {n: BY_NAME[n].type if n in BY_NAME else _OTHER_TYPES[n] for n in names}


_ALWAYS = {c.name: c.type for c in COLUMNS}


class _OfTrials(Mapping[str, str]):
    """The columns of a trial, with the metrics of plug-ins that are known now."""

    def __getitem__(self, name: str) -> str:
        return _ALWAYS[name] if name in _ALWAYS else {c.name: c.type for c in own_metrics.known()}[name]

    def __iter__(self) -> Iterator[str]:
        return iter((*_ALWAYS, *(c.name for c in own_metrics.known())))

    def __len__(self) -> int:
        return len(_ALWAYS) + len(own_metrics.known())


_ALL = _OfTrials()
_BY_SOURCE: dict[str, Mapping[str, str]] = {
    "results": _ALL,
    "history": _ALL,
    "failures": _types(_FAILURES),
    "curves": _types(_CURVES),
    "samples": _SAMPLES,
    "machines": _MACHINES,
    "sweeps": _SWEEPS,
}
# Source -> column -> text | integer | real | boolean | timestamp.
KNOWN_COLUMNS: Mapping[str, Mapping[str, str]] = {source: _BY_SOURCE[source] for source in schema.EXPOSED}


def is_curve_name(name: str) -> bool:
    """Whether what a curve is of can name a column of a result beside those of the view."""
    return bool(re.fullmatch("[a-z][a-z0-9_]*", name)) and name not in KNOWN_COLUMNS["curves"]

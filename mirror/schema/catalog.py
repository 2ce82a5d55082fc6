"""The catalogue: what every column means and which words people use for it (db/columns.py, catalog.yaml)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

from db.columns import COLUMNS
from db.columns import Column as TrialColumn
from db.plain_text import plain_text
from db.settings import setting
from mirror.schema import catalog_file, own_metrics
from mirror.table.table import Column

# Columns of a result that hold a number of trials.
COUNT_NAMES = ("n", "trials", "count", "count_star()")
# Columns of a change: what stands before the name of a metric, or of a count, and the words for it.
_CHANGE_WORDS = {
    "before": "{} before", "since": "{} since", "ratio": "ratio of {}", "difference": "difference of {}",
    "reference": "{} of the reference", "reduction": "times less {}",
}  # fmt: skip
_OPPOSITE = {"higher": "lower", "lower": "higher", "": ""}
_CHANGE_COUNTS = {"n_before": "trials before", "n_since": "trials since"}
AGGREGATE_WORDS = {
    "avg": "mean",
    "min": "lowest",
    "max": "highest",
    "median": "median",
    "stddev": "deviation of",
    "count": "number of",
    "sum": "total",
}


@dataclass(frozen=True)
class Entry(Column):
    """One column as people meet it; its role is metric, axis, info or key.

    Attributes:
        aggregate: how several trials become one number.
        synonyms: other words for it.
    """

    aggregate: str = "avg"
    synonyms: tuple[str, ...] = ()


@cache
def words() -> Mapping[str, Any]:
    """The parsed catalog.yaml, with the words of the file that MIRROR_CATALOG names. Raises CatalogError."""
    text = resources.files("mirror.words").joinpath("catalog.yaml").read_text(encoding="utf-8")
    found = catalog_file.read(text, "catalog.yaml")
    own = setting("MIRROR_CATALOG")
    return catalog_file.merged(found, catalog_file.read_file(Path(own).expanduser())) if own else found


def entries() -> Mapping[str, Entry]:
    """Every catalogued column by name, the metrics of plug-ins that are known now too."""
    return _entries(own_metrics.known())


@lru_cache(maxsize=4)
def _entries(own: tuple[TrialColumn, ...]) -> Mapping[str, Entry]:
    extra = {**words()["columns"], **{c.name: {"synonyms": words()["curves"].get(c.name, ())} for c in own}}
    found = {}
    for c in (*COLUMNS, *own):
        row = extra.get(c.name, {})
        found[c.name] = Entry(
            c.name,
            c.type,
            row.get("label", c.name.replace("_", " ")),
            c.unit,
            c.better,
            # What adds up over trials can be asked for like what was measured.
            "metric" if c.aggregate == "sum" else c.role,
            source=c.name,
            text=c.text,
            aggregate=c.aggregate,
            synonyms=tuple(row.get("synonyms", ())),
        )
    for name in catalog_file.OTHER_COLUMNS:
        row = extra[name]
        found[name] = Entry(name, "text", row["label"], role="info", synonyms=tuple(row["synonyms"]))
    return found


def entry(column: str) -> Entry:
    """The entry of a column, of an alias such as `max_latency_us` or `n`, or a plain one for any other name."""
    known = entries()
    if column in known:
        return known[column]
    if column in COUNT_NAMES or column in _CHANGE_COUNTS:
        label = _CHANGE_COUNTS.get(column, "trials")
        return Entry(column, "integer", label, role="metric", aggregate="sum")
    prefix, _, rest = column.partition("_")
    if rest in known and prefix in AGGREGATE_WORDS:
        base = known[rest]
        better = "" if prefix in ("stddev", "count") else base.better
        label = f"{AGGREGATE_WORDS[prefix]} {base.label}"
        return replace(base, name=column, label=label, better=better, role="metric", synonyms=())
    if rest in known and prefix in _CHANGE_WORDS:
        base = known[rest]
        label = _CHANGE_WORDS[prefix].format(base.label)
        if base.role == "axis":  # what the reference has chosen
            return replace(base, name=column, label=label, synonyms=())
        unit = "x" if prefix in ("ratio", "reduction") else base.unit
        better = _OPPOSITE[base.better] if prefix == "reduction" else base.better
        made = replace(base, name=column, type="real", label=label, unit=unit, better=better, role="metric")
        return replace(made, synonyms=(), aggregate="avg")
    return Entry(column, label=plain_text(column.replace("_", " ")))


def value_synonyms(column: str) -> Mapping[str, tuple[str, ...]]:
    """value -> other names of it, for one column."""
    return {value: tuple(names) for value, names in words()["values"].get(column, {}).items()}


def curve_synonyms() -> Mapping[str, tuple[str, ...]]:
    """Name of what training records step by step -> other names of it."""
    of_trials = {c.name for c in own_metrics.known()}
    return {name: tuple(names) for name, names in words()["curves"].items() if name not in of_trials}


def examples() -> tuple[str, ...]:
    """Questions to click."""
    return tuple(words()["examples"])


def cards() -> tuple[str, ...]:
    """Questions that the first visit shows answered, where the results can answer them."""
    return tuple(words()["cards"])


def describe() -> str:
    """The catalogue as text, for a language model: one line per column."""
    lines = []
    for e in entries().values():
        better = f"; {e.better} is better" if e.better else ""
        also = f"; also called {', '.join(e.synonyms)}" if e.synonyms else ""
        unit = f" [{e.unit}]" if e.unit else ""
        lines.append(f"{e.name} ({e.role}, {e.type}){unit}: {e.text or e.label}{better}{also}")
    return "\n".join(lines)

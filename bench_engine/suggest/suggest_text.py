"""A suggestion as people read it: in a terminal, in Markdown, as CSV, JSON or a page; and its plan."""

import csv
import io
import json
import statistics
import textwrap
from collections.abc import Sequence
from typing import Any

from bench_engine.compare.text_table import GAP, WRAP, Column, amount, line, plain
from bench_engine.plan import plan_text
from bench_engine.progress import duration
from bench_engine.report.reported import ReportError
from bench_engine.suggest import suggest_page
from bench_engine.suggest.suggest import Search
from bench_engine.suggest.suggestion import Suggestion, Table
from db import installation
from db.plain_text import in_markdown

_VALUES = (
    "method", "compression", "memory_mb", "metadata_mb", "validation_auc", "seeds", "step_us", "lookup_us", "fits",
    "front",
)  # fmt: skip
_MOST_TOLD = 6  # tables that are left out for one reason, named


def rendered(found: Suggestion, form: str, width: int = 100) -> str:
    """The suggestion in one of the formats of reports, with a newline at its end; `width` is of the terminal.

    Raises ReportError where what it needs is not installed.
    """
    if form == "json":
        return json.dumps(as_json(found)) + "\n"
    if form == "csv":
        return _csv(found)
    if form == "html":
        try:
            return suggest_page.page(found, _title(found), _columns(found), _reasons(found))
        except ModuleNotFoundError as error:
            raise ReportError(installation.missing(error, "--format html", "app")) from error
    return _markdown(found) if form == "markdown" else _text(found, width)


def as_json(found: Suggestion) -> dict[str, Any]:
    """`{data, budget_mb, dense_mb, ..., tables, chosen, why, left_out, code}` of plain values."""
    return {
        "data": found.data,
        "budget_mb": found.budget_mb,
        "dense_mb": found.dense_mb,
        "dense_fits": found.dense_fits,
        "embedding_dim": found.embedding_dim,
        "field_rows": list(found.field_rows),
        "tables": [_values(found, table) for table in found.tables],
        "chosen": _values(found, found.chosen) if found.chosen else None,
        "why": found.why,
        "left_out": [{"method": x.method, "compression": x.compression, "why": x.why} for x in found.left_out],
        "code": found.code,
    }


def plan_lines(search: Search, time_limit_s: float | None = None) -> list[str]:
    """What would be run and how long, a line each."""
    if search.plan is None:
        return [_fits(search)]
    limit = f" At most {duration(time_limit_s)} of them are run (--time-limit)." if time_limit_s is not None else ""
    timed = search.lookups.parts if search.lookups and search.asked.lookups else ()
    methods = ", ".join(name for part in timed for name in part.methods)
    lines = [*plan_text.lines(search.plan), *([f"Then lookups of {methods} are timed."] if timed else [])]
    lines += [f"Chosen on the validation part; nothing has been started.{limit}"]
    return [line for line in lines if "plan --all" not in line]


def plan_json(search: Search) -> dict[str, Any]:
    """`{data, budget_mb, dense_fits, sweep, seconds, trials}`: the sweep as a file, and its trials with their fates."""
    plan = search.plan
    trials = plan.trials if plan else ()
    return {
        "data": search.sizes.data,
        "budget_mb": search.asked.budget_mb,
        "dense_fits": search.dense_fits,
        "dense_mb": search.sizes.dense_bytes / 1e6,
        "embedding_dim": search.sizes.embedding_dim,
        "sweep": search.sweep.text if search.sweep else "",
        "seconds": plan.seconds if plan else 0.0,
        "trials": [{"label": p.trial.label(), "fate": p.fate, "seconds": p.seconds} for p in trials],
    }


def _fits(search: Search) -> str:
    dense_mb = search.sizes.dense_bytes / 1e6
    return f"Nothing would be run: a dense float32 table takes {dense_mb:.4g} of {search.asked.budget_mb:g} MB."


def _values(found: Suggestion, table: Table) -> dict[str, Any]:
    return {
        "method": table.method,
        "compression": table.compression,
        "memory_mb": table.memory_mb,
        "metadata_mb": table.metadata_mb,
        "validation_auc": table.auc,
        "seeds": len(table.aucs),
        "step_us": table.step_us,
        "lookup_us": table.lookup_us,
        "fits": found.fits(table),
        "front": table in found.front,
    }


def _csv(found: Suggestion) -> str:
    text = io.StringIO()
    rows = [_values(found, table) for table in found.tables]
    writer = csv.DictWriter(text, _VALUES, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _text(found: Suggestion, width: int) -> str:
    parts = [*textwrap.wrap(found.why, width, **WRAP), ""]
    if found.tables:
        columns = _columns(found)
        widths = [max(map(len, (*column.head, *column.cells))) for column in columns]
        parts += [_title(found), line([column.head[0] for column in columns], columns, widths)]
        parts += [line([c.cells[i] for c in columns], columns, widths) for i in range(len(found.tables))]
        parts += ["", _LEGEND, ""]
    for told in _reasons(found):
        parts += textwrap.wrap(f"Left out: {told}", width, **WRAP)
    parts += [""] if found.left_out else []
    return "\n".join([*parts, *(GAP + code if code else "" for code in found.code.splitlines())]).rstrip() + "\n"


def _markdown(found: Suggestion) -> str:
    parts = [f"### {in_markdown(found.why)}"]
    if found.tables:
        columns = _columns(found)
        lines = [[c.head[0] for c in columns], ["---"] * len(columns)]
        lines += [[in_markdown(c.cells[i]) for c in columns] for i in range(len(found.tables))]
        parts += [in_markdown(_title(found)), "\n".join(f"| {' | '.join(cells)} |" for cells in lines), _LEGEND]
    if found.left_out:
        parts.append("\n".join(f"- Left out: {in_markdown(told)}" for told in _reasons(found)))
    return "\n\n".join([*parts, *([f"```python\n{found.code}\n```"] if found.code else [])]) + "\n"


_LEGEND = "front: no table of as few bytes has a higher validation AUC; MB are 1e6 bytes, metadata included."


def _title(found: Suggestion) -> str:
    return (
        f"{found.data}: {len(found.field_rows)} fields, {sum(found.field_rows):,} rows, dimension "
        f"{found.embedding_dim}; dense float32 takes {found.dense_mb:.4g} MB"
    )


def _columns(found: Suggestion) -> list[Column]:
    tables, front = found.tables, found.front
    marks = ["chosen" if t == found.chosen else "fits" if found.fits(t) else "" for t in tables]
    timed = [Column(["lookup"], [_time(t.lookup_us) for t in tables])] if any(t.lookup_us for t in tables) else []
    return [
        Column(["method"], [t.method for t in tables], left=True),
        Column(["compression"], [plain(t.compression) for t in tables]),
        Column(["MB"], [f"{t.memory_mb:.4g}" for t in tables]),
        Column(["metadata"], [f"{t.metadata_mb:.4g}" if t.metadata_mb else "" for t in tables]),
        Column(["validation AUC"], [_auc(t) for t in tables]),
        Column(["step"], [_time(t.step_us) for t in tables]),
        *timed,
        Column(["front"], ["*" if t in front else "" for t in tables], left=True),
        Column([f"{found.budget_mb:g} MB"], marks, left=True),
    ]


def _time(time_us: float | None) -> str:
    return amount(time_us, "µs") if time_us is not None else ""


def _auc(table: Table) -> str:
    values = [auc for _, auc in table.aucs]
    spread = f" ± {statistics.stdev(values):.4f}" if len(values) > 1 else ""
    return f"{table.auc:.4f}{spread}"


def _reasons(found: Suggestion) -> list[str]:
    """A line for each reason, with the tables that it holds for."""
    by_reason: dict[str, list[str]] = {}
    for one in found.left_out:
        name = one.method if one.compression in (None, 1.0) else f"{one.method} at {one.compression:g}"
        by_reason.setdefault(one.why, []).append(name)
    return [f"{_listed(names)}: {why}" for why, names in by_reason.items()]


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_TOLD} more" if len(names) > _MOST_TOLD else ""
    return ", ".join(names[:_MOST_TOLD]) + more

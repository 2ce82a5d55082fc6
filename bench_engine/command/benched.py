"""What `bench_engine.bench` gives: trials with times, speedups, intervals and verdicts, as text, HTML and rows."""

import html as markup
import math
import shlex
from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bench_engine.compare.compare import freedom
from bench_engine.compare.text_table import Column, amount, line, plain, ratio_text
from bench_engine.compare.why import environment
from bench_engine.measure import means
from bench_engine.measure.ratios import Ratio
from bench_engine.report.trial_rows import Row

if TYPE_CHECKING:
    import pandas as pd

MEASURED = (
    "latency_us", "latency_ci_low_us", "latency_ci_high_us", "speedup", "speedup_ci_low", "speedup_ci_high", "verdict",
    "memory_mb", "max_abs_error", "sample_count", "started_at", "is_baseline",
)  # fmt: skip
_FEW = 3
_CELL = "padding:2px 10px;text-align:left;white-space:nowrap"


@dataclass(frozen=True)
class Benched:
    """The trials of a call of `bench`, those that were measured before among them.

    Attributes:
        sweep: the name under which they are stored.
        baseline: the method that the others are compared with.
        varied: axes that differ between rows.
        rows: one for each trial: method, its axes, status, error, and what was measured (names as in the results).
        sentence: what became of the run.
    """

    sweep: str
    baseline: str
    varied: tuple[str, ...]
    rows: tuple[Row, ...] = field(repr=False)
    sentence: str

    @property
    def failed(self) -> tuple[Row, ...]:
        """The trials that have no result, each with its `error`."""
        return tuple(row for row in self.rows if row["status"] != "ok")

    def speedups(self) -> dict[str, Ratio]:
        """For each method but the baseline the mean of its speedups over configurations, with its 95 % interval."""
        found: dict[str, list[tuple[Hashable, Ratio]]] = {}
        for row in self.rows:
            if ratio := self._speedup(row):
                configuration = tuple(row.get(axis) for axis in self.varied if axis != "seed")
                found.setdefault(row["method"], []).append((configuration, ratio))
        return {name: means.over_configurations(of) for name, of in found.items()}

    def df(self) -> "pd.DataFrame":
        """The rows as a pandas DataFrame."""
        import pandas as pd

        return pd.DataFrame([dict(row) for row in self.rows])

    def _speedup(self, row: Row) -> Ratio | None:
        """Of one trial over this baseline; None where there is none, or one over another, which took turns with it."""
        if row["status"] != "ok" or row["speedup"] is None or row["is_baseline"] or row["method"] == self.baseline:
            return None
        if environment(row).get("compared_with", self.baseline) != self.baseline:
            return None
        low, high = row["speedup_ci_low"], row["speedup_ci_high"]
        return Ratio(row["speedup"], low or 0.0, high or math.inf, freedom(row))

    def headlines(self) -> list[str]:
        """One sentence for each method, and one for each failure."""
        said = []
        for name, mean in self.speedups().items():
            own = [row for row in self.rows if row["method"] == name and self._speedup(row)]
            counts = Counter(row["verdict"] or "unclear" for row in own)
            if len(own) == 1:
                said.append(f"{name} against {self.baseline}: {ratio_text(mean)}, {next(iter(counts))}.")
                continue
            low, *_, high = sorted((s for row in own if (s := self._speedup(row))), key=lambda ratio: ratio.value)
            between = f"{ratio_text(low)} to {ratio_text(high)}"
            # Of so few the spread between configurations is hardly known: the mean has no interval to speak of.
            configurations = {tuple(row.get(axis) for axis in self.varied if axis != "seed") for row in own}
            known = len(configurations) if len(configurations) > 1 else len(own)
            all_in_all = f"mean {ratio_text(mean)}" if known > _FEW else between
            told = ", ".join(f"{word} in {number}" for word, number in counts.items())
            said.append(f"{name} against {self.baseline}: {told} of {len(own)} trials, {all_in_all}.")
        return said + [f"{row['method']} {row['status']}: {row['error']}" for row in self.failed]

    def table(self) -> list[Column]:
        """Columns of text: method, what varies, time and speedup with their intervals, verdict."""
        rows = [row for row in self.rows if row["status"] == "ok"]
        found = [Column([name], [plain(row.get(name)) for row in rows], left=True) for name in ("method", *self.varied)]
        times = ["" if row["latency_us"] is None else amount(row["latency_us"], "µs") for row in rows]
        found.append(Column(["time"], times))
        found.append(Column(["[95 % interval]"], [_interval(row) for row in rows]))
        speedups = [self._speedup(row) for row in rows]
        found.append(Column(["speedup"], [ratio_text(s) if s else "" for s in speedups], left=True))
        verdicts = [row["verdict"] or "" if s else "" for row, s in zip(rows, speedups, strict=True)]
        found.append(Column(["verdict"], verdicts, left=True))
        if any(row["memory_mb"] is not None for row in rows):
            found.append(Column(["memory"], [_megabytes(row["memory_mb"]) for row in rows]))
        return found

    def next_commands(self) -> list[str]:
        """What to type next in a terminal."""
        others = dict.fromkeys(row["method"] for row in self.rows if row["method"] != self.baseline)
        last = list(others)[-1:] if self.baseline else []
        sides = [" ".join(shlex.quote(f"method:{m}") for m in (self.baseline, other)) for other in last]
        compared = [f"python -m bench_engine compare {of}" for of in sides]
        return [*compared, f'python -m mirror ask "latency by method in sweep {self.sweep}"']

    def __str__(self) -> str:
        columns = self.table()
        lines = [self.sentence]
        if columns[0].cells:
            widths = [max(map(len, (*c.head, *c.cells))) for c in columns]
            lines += ["", line([c.head[0] for c in columns], columns, widths)]
            lines += [line([c.cells[i] for c in columns], columns, widths) for i in range(len(columns[0].cells))]
        return "\n".join([*lines, "", *self.headlines(), *(f"  {command}" for command in self.next_commands())])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        columns = self.table()
        said = "".join(f"<p>{markup.escape(text)}</p>" for text in (*self.headlines(), self.sentence))
        if not columns[0].cells:
            return said
        head = "".join(f'<th style="{_CELL}">{markup.escape(c.head[0])}</th>' for c in columns)
        body = "".join(
            "<tr>" + "".join(f'<td style="{_CELL}">{markup.escape(c.cells[i])}</td>' for c in columns) + "</tr>"
            for i in range(len(columns[0].cells))
        )
        return f"{said}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _interval(row: Row) -> str:
    low, high = row["latency_ci_low_us"], row["latency_ci_high_us"]
    return "" if low is None else f"[{amount(low, 'µs')}, {amount(high, 'µs')}]"


def _megabytes(value: float | None) -> str:
    return "" if value is None else f"{value:.3g} MB"

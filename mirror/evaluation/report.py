"""What an evaluation says: counts per category and in all, with intervals, and the list of failures."""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from db.settings import setting
from mirror.evaluation.runner import Scored
from mirror.evaluation.scoring import VERDICTS, Verdict

_Z = 1.959963984540054  # 95 % of a normal distribution lie within so many standard deviations


def wilson(right: int, n: int) -> tuple[float, float]:
    """The 95 % interval of a share (Wilson 1927, doi:10.1080/01621459.1927.10502953); 0 to 1 where nothing is known."""
    if n == 0:
        return 0.0, 1.0
    share, z = right / n, _Z
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return max(0.0, middle - half), min(1.0, middle + half)


@dataclass(frozen=True)
class Tally:
    """Counts of some questions.

    Attributes:
        name: category, or what the questions have in common.
        n: questions.
        counts: verdict -> questions.
        low, high: 95 % interval of the share that is right.
        charts, charts_right: right answers that have a chart to judge, and those of them whose chart fits.
        narrowed: right answers that hold for the values that they fixed and named.
        fallbacks: answers that the grammar gave in the place of the model.
    """

    name: str
    n: int
    counts: dict[Verdict, int]
    low: float
    high: float
    charts: int
    charts_right: int
    narrowed: int
    fallbacks: int

    @property
    def right(self) -> int:
        return self.counts["right"]

    @property
    def net(self) -> float:
        """(right - wrong) / n: an answer that is wrong costs what a right one earns, a refusal nothing."""
        return (self.right - self.counts["wrong"]) / self.n if self.n else 0.0


def tally(name: str, scored: Sequence[Scored]) -> Tally:
    """Count some questions."""
    counts = {v: sum(s.verdict == v for s in scored) for v in VERDICTS}
    low, high = wilson(counts["right"], len(scored))
    charts = [s.chart for s in scored if s.chart is not None]
    return Tally(
        name,
        len(scored),
        counts,
        low,
        high,
        len(charts),
        sum(charts),
        sum(is_narrowed(s) for s in scored),
        sum(s.fallbacks for s in scored),
    )


def tallies(scored: Sequence[Scored]) -> tuple[list[Tally], list[Tally]]:
    """Per category in their order, and of all, of the held-out and of the other questions."""
    categories = list(dict.fromkeys(s.question.category for s in scored))
    parts = [tally(c, [s for s in scored if s.question.category == c]) for c in categories]
    held_out = [s for s in scored if s.question.held_out]
    rest = [s for s in scored if not s.question.held_out]
    return parts, [tally("all", scored), tally("held out", held_out), tally("the others", rest)]


def as_text(scored: Sequence[Scored], engine: str) -> str:
    """The tables for a terminal."""
    parts, totals = tallies(scored)
    width = max([len(t.name) for t in (*parts, *totals)], default=0)
    heading = f"{'':{width}}    n  right  [95 %]         wrong  refused  asked back  error  charts   net"
    rows = [_row(t, width) for t in parts] + [""] + [_row(t, width) for t in totals]
    return "\n".join([heading, *rows, "", *notes(scored, engine)])


def notes(scored: Sequence[Scored], engine: str) -> list[str]:
    """The lines below the tables."""
    narrowed = sum(is_narrowed(s) for s in scored)
    fallbacks = sum(s.fallbacks for s in scored)
    lines = [f"Front end: {engine}. A question is right where its answer is right in every world it was asked in."]
    if narrowed:
        lines.append(f"{narrowed} right answers hold for values that they fixed and named.")
    if fallbacks:
        lines.append(f"{fallbacks} answers came from the grammar, since the model gave none.")
    seconds = [t for s in scored for t in s.seconds]
    if seconds:
        lines.append(f"Median time of an answer: {statistics.median(seconds) * 1000:.0f} ms, n = {len(seconds)}.")
    return lines


def is_narrowed(scored: Scored) -> bool:
    """Whether an answer is right for the values that it fixed and named, and left others out."""
    return scored.verdict == "right" and any(o.narrowed for o in scored.outcomes)


def _row(t: Tally, width: int) -> str:
    share = f"{t.right / t.n:6.1%}" if t.n else "     -"
    interval = f"[{t.low:.0%}, {t.high:.0%}]"
    charts = f"{t.charts_right}/{t.charts}"
    counts = f"{t.counts['wrong']:5d}  {t.counts['refused']:7d}  {t.counts['asked back']:10d}  {t.counts['error']:5d}"
    return f"{t.name:{width}}  {t.n:3d} {share}  {interval:13}  {counts}  {charts:>6}  {t.net:5.2f}"


def failures(scored: Iterable[Scored]) -> list[dict[str, Any]]:
    """What went wrong with the questions that are not held out: an entry for each question, with its worst world."""
    found = []
    for s in scored:
        if s.question.held_out or (s.verdict == "right" and s.chart is not False):
            continue
        bad = min(
            (o for o in s.outcomes if o.verdict == s.verdict and (o.verdict != "right" or o.chart is False)),
            key=lambda o: o.world,
        )
        found.append(
            {
                "id": s.question.id,
                "category": s.question.category,
                "ask": s.question.ask,
                "after": s.question.after,
                "expect": s.question.expect,
                "verdict": s.verdict if s.verdict != "right" else "chart",
                "world": bad.world,
                "worlds": {o.world: o.verdict for o in s.outcomes},
                "why": bad.why or bad.chart_why,
                "said": bad.said,
            }
        )
    return found


def failures_as_text(scored: Iterable[Scored]) -> str:
    """The list of failures for a terminal, by category."""
    lines: list[str] = []
    category = ""
    for f in failures(scored):
        if f["category"] != category:
            category = f["category"]
            lines += ["", category]
        before = f"{f['after']} | " if f["after"] else ""
        lines += [
            f"  {f['id']}  {before}{f['ask']}",
            f"      {f['verdict']} ({f['world']}): {f['why']}",
            f"      {f['said']}",
        ]
    return "\n".join(lines[1:])


def as_json(scored: Sequence[Scored], engine: str) -> dict[str, Any]:
    """One object with all counts, the times in seconds, and the failures of questions that are not held out."""
    parts, totals = tallies(scored)
    return {
        **header(engine),
        "categories": [_entry(t) for t in parts],
        "totals": [_entry(t) for t in totals],
        **footer(scored),
    }


def header(engine: str) -> dict[str, Any]:
    """Who read the questions."""
    return {"engine": engine, "model": setting("MIRROR_LLM_MODEL") if engine == "llm" else None}


def footer(scored: Sequence[Scored]) -> dict[str, Any]:
    """The times, and what went wrong."""
    return {"seconds": [t for s in scored for t in s.seconds], "failures": failures(scored)}


def _entry(t: Tally) -> dict[str, Any]:
    entry = asdict(t)
    counts = {k.replace(" ", "_"): v for k, v in entry.pop("counts").items()}
    return {**entry, **counts, "net": t.net}

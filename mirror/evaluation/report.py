"""What an evaluation says: counts for each category or persona and in all, with intervals, and the list of failures."""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from db.settings import setting
from mirror.evaluation.questions import PERSONAS, Question
from mirror.evaluation.runner import Scored
from mirror.evaluation.scoring import VERDICTS, Verdict

_Z = 1.959963984540054  # 95 % of a normal distribution lie within so many standard deviations
_HALVES = ("all", "open", "held out")


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
        name: category or persona; `all` for all of them.
        half: all, or only those that are open or held out.
        n: questions.
        counts: verdict -> questions.
        charts, charts_right: right answers that have a chart to judge, and those of them whose chart fits.
        narrowed: right answers that hold for the values that they fixed and named.
        fallbacks: answers that the built-in reader gave in the place of the model.
        at_once, at_once_right: questions that were answered, neither refused nor asked back, and those that are right.
        shown, shown_right: questions back where there is an answer, and those of them with a choice that leads to it.
        unanswerable, unanswerable_answered: questions without an answer, and those of them that got a wrong one.
        answerable_right: of all others those that are right.
    """

    name: str
    half: str
    n: int
    counts: dict[Verdict, int]
    charts: int
    charts_right: int
    narrowed: int
    fallbacks: int
    at_once: int
    at_once_right: int
    shown: int
    shown_right: int
    unanswerable: int
    unanswerable_answered: int
    answerable_right: int

    @property
    def right(self) -> int:
        """Answered right, or refused or asked back where that is right."""
        return self.counts["right"]

    @property
    def wrong(self) -> int:
        """Answered, and not what was meant."""
        return self.counts["wrong"]

    @property
    def unanswered(self) -> int:
        """Refused or asked back where something else is right: no harm and no help."""
        return self.counts["refused"] + self.counts["asked back"]

    @property
    def net(self) -> float:
        """(right - wrong) / n: an answer that is wrong costs what a right one earns, a refusal nothing."""
        return (self.right - self.wrong) / self.n if self.n else 0.0

    def as_json(self) -> dict[str, Any]:
        """All counts, with the 95 % intervals of the shares."""
        counted = {k: v for k, v in vars(self).items() if k != "counts"}
        counts = {k.replace(" ", "_"): v for k, v in self.counts.items()}
        shares = {"right": self.right, "unanswered": self.unanswered, "wrong": self.wrong}
        intervals = {k: wilson(count, self.n) for k, count in shares.items()}
        intervals["answerable_right"] = wilson(self.answerable_right, self.n - self.unanswerable)
        intervals["at_once_right"] = wilson(self.at_once_right, self.at_once)
        intervals["shown_right"] = wilson(self.shown_right, self.shown)
        intervals["unanswerable_answered"] = wilson(self.unanswerable_answered, self.unanswerable)
        return {**counted, **counts, "unanswered": self.unanswered, "net": self.net, "intervals": intervals}


def tally(name: str, scored: Sequence[Scored], half: str = "all") -> Tally:
    """Count some questions, or the half of them."""
    of = [s for s in scored if half == "all" or s.question.held_out == (half == "held out")]
    charts = [s.chart for s in of if s.chart is not None]
    at_once = [s for s in of if s.at_once]
    shown = [s.among for s in of if s.among is not None]
    unanswerable = [s for s in of if s.question.expect == "refused"]
    return Tally(
        name,
        half,
        len(of),
        {v: sum(s.verdict == v for s in of) for v in VERDICTS},
        len(charts),
        sum(charts),
        sum(is_narrowed(s) for s in of),
        sum(s.fallbacks for s in of),
        len(at_once),
        sum(s.verdict == "right" for s in at_once),
        len(shown),
        sum(shown),
        len(unanswerable),
        sum(s.at_once and s.verdict != "right" for s in unanswerable),
        sum(s.verdict == "right" and s.question.expect != "refused" for s in of),
    )


def tallies(scored: Sequence[Scored]) -> list[tuple[Tally, Tally, Tally]]:
    """Of all questions, then of each persona or category: all, the open and the held-out ones."""
    groups = {"all": list(scored)}
    for s in scored:
        groups.setdefault(_group(s.question), []).append(s)
    return [tuple(tally(name, of, half) for half in _HALVES) for name, of in groups.items()]  # type: ignore[misc]


def _group(question: Question) -> str:
    return question.persona if question.persona in PERSONAS else question.category


def is_narrowed(scored: Scored) -> bool:
    """Whether an answer is right for the values that it fixed and named, and left others out."""
    return scored.verdict == "right" and any(o.narrowed for o in scored.outcomes)


# -- as text -----------------------------------------------------------------------------------------------------------


def as_text(scored: Sequence[Scored], engine: str) -> str:
    """The tables for a terminal: everything, open and held-out questions side by side, and how they were answered."""
    total, *groups = tallies(scored)
    width = max(len(whole.name) for whole, *_ in (total, *groups))
    everything = f"{'':{width}}    n  {'right':22}  {'unanswered':22}  {'wrong':22}  error  charts    net"
    halves = f"{'':{width}}  {'open':>4}  {'right':22}  wrong  {'held out':>8}  {'right':22}  wrong"
    lines = [everything, *(_row(whole, width) for whole, *_ in groups), _row(total[0], width), "", halves]
    lines += [f"{whole.name:{width}}  {_half(a, 4)}  {_half(b, 8)}" for whole, a, b in (*groups, total)]
    told = "at once  right of these          refused  asked"
    lines += ["", f"{'':{width}}  {'open':>4}  {told}  {'held out':>8}  {told}"]
    lines += [f"{whole.name:{width}}  {_answering(a, 4)}  {_answering(b, 8)}" for whole, a, b in (*groups, total)]
    return "\n".join([*lines, "", *_notes(scored, total, engine)])


def _row(t: Tally, width: int) -> str:
    shares = "  ".join(_share(count, t.n) for count in (t.right, t.unanswered, t.wrong))
    charts = f"{t.charts_right}/{t.charts}"
    return f"{t.name:{width}}  {t.n:3d}  {shares}  {t.counts['error']:5d}  {charts:>7}  {t.net:5.2f}"


def _half(t: Tally, width: int) -> str:
    return f"{t.n:{width}d}  {_share(t.right, t.n)}  {t.wrong:5d}"


def _answering(t: Tally, width: int) -> str:
    """How questions were answered, whatever would have been right."""
    refused, asked = t.counts["refused"], t.counts["asked back"]
    return f"{t.n:{width}d}  {t.at_once:7d}  {_share(t.at_once_right, t.at_once)}  {refused:7d}  {asked:5d}"


def _share(count: int, n: int) -> str:
    """A count, its share and the interval of that."""
    low, high = wilson(count, n)
    part = f"{count / n:6.1%}" if n else "     -"
    return f"{count:3d} {part} {f'[{low:.0%}, {high:.0%}]':11}"


def _in_line(count: int, n: int) -> str:
    return " ".join(_share(count, n).split())


def _notes(scored: Sequence[Scored], halves: Sequence[Tally], engine: str) -> list[str]:
    """The lines below the tables."""
    total = halves[0]
    refused, asked = total.counts["refused"], total.counts["asked back"]
    lines = [
        f"Front end: {engine}. A question is right where its answer is right in every fixture it was asked of.",
        f"Unanswered are {refused} that were refused and {asked} that were asked back where there is an answer.",
    ]
    if total.narrowed:
        lines.append(f"{total.narrowed} right answers hold for values that they fixed and named.")
    if total.fallbacks:
        lines.append(f"{total.fallbacks} answers came from the built-in reader, since the model gave none.")
    for half in halves[1:]:
        if half.shown:
            lines.append(
                f"Shown first, or asked back, were {half.shown} {half.half} questions that have an answer: right among "
                f"the choices in {_in_line(half.shown_right, half.shown)}."
            )
        if half.unanswerable:
            answerable = half.n - half.unanswerable
            lines.append(
                f"Of {half.unanswerable} {half.half} questions without an answer were answered "
                f"{_in_line(half.unanswerable_answered, half.unanswerable)}; of the {answerable} others are right "
                f"{_in_line(half.answerable_right, answerable)}."
            )
    seconds = [t for s in scored for t in s.seconds]
    if seconds:
        lines.append(f"Median time of an answer: {statistics.median(seconds) * 1000:.0f} ms, n = {len(seconds)}.")
    return lines


def failures_as_text(scored: Iterable[Scored]) -> str:
    """The list of failures for a terminal, by category or persona."""
    lines: list[str] = []
    group = ""
    for f in failures(scored):
        of = f["persona"] if f["persona"] in PERSONAS else f["category"]
        if of != group:
            group = of
            lines += ["", group]
        before = f"{f['after']} | " if f["after"] else ""
        lines += [
            f"  {f['id']}  {before}{f['ask']}",
            f"      {f['verdict']} ({f['fixture']}): {f['why']}",
            f"      {f['response']}",
        ]
    return "\n".join(lines[1:])


# -- as JSON -----------------------------------------------------------------------------------------------------------


def as_json(scored: Sequence[Scored], engine: str) -> dict[str, Any]:
    """One object with all counts, the times in seconds, and the failures of questions that are not held out."""
    return {
        "engine": engine,
        "model": setting("MIRROR_LLM_MODEL") if engine == "llm" else None,
        "tallies": [t.as_json() for halves in tallies(scored) for t in halves],
        "seconds": [t for s in scored for t in s.seconds],
        "failures": failures(scored),
    }


def failures(scored: Iterable[Scored]) -> list[dict[str, Any]]:
    """What went wrong with the questions that are not held out: an entry for each, with its worst fixture."""
    found = []
    for s in scored:
        if s.question.held_out or (s.verdict == "right" and s.chart is not False):
            continue
        bad = min(
            (o for o in s.outcomes if o.verdict == s.verdict and (o.verdict != "right" or o.chart is False)),
            key=lambda o: o.fixture,
        )
        asked = {k: getattr(s.question, k) for k in ("id", "category", "persona", "ask", "after", "expect")}
        found.append(
            {
                **asked,
                "verdict": s.verdict if s.verdict != "right" else "chart",
                "fixture": bad.fixture,
                "fixtures": {o.fixture: o.verdict for o in s.outcomes},
                "why": bad.why or bad.chart_why,
                "response": bad.response,
            }
        )
    return found

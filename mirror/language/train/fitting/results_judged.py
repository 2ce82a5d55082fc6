"""What the reader makes of questions over the results: readings, what speaks for them, whether they are right."""

import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from db.journal import open_results
from mirror.data.data_source import QueryStopped
from mirror.data.process.sandbox import Sandbox
from mirror.language.ranking.follow_up_readings import (
    AT_ONCE,
    BESIDE,
    SHOWN,
    SHOWN_STRANGE,
    bare,
    weighed_follow_ups,
)
from mirror.language.ranking.ranker import RESULTS_RANKER, Ranker, trained
from mirror.language.ranking.results_decision import answered_at_once, shown
from mirror.language.ranking.results_evidence import ResultsCandidate
from mirror.language.ranking.results_readings import weighed
from mirror.language.ranking.settled_benchmark import settled_ways
from mirror.language.train.data.example import NOW
from mirror.language.train.data.results_wordings import worded_for
from mirror.language.train.data.variants.results_variants import ResultsWording
from mirror.language.train.fitting.judged import NOT_HERE, Judged
from mirror.query.errors import Ambiguity, Refusal
from mirror.query.sql import compile_sql
from mirror.table.alike import holds

_MOST_ROWS = 400


@dataclass(frozen=True)
class ResultsJudged:
    """One question over the results.

    Attributes:
        wording: what it says and what is asked for; None for a question that the results cannot answer.
        found: its readings.
        right: whether each has the rows of the query that was worded.
    """

    wording: ResultsWording | None
    found: tuple[ResultsCandidate, ...]
    right: tuple[bool, ...]

    def judged(self) -> Judged:
        """What the ranker is fitted to."""
        query, voice, text = (
            (self.wording.query, self.wording.voice, self.wording.text) if self.wording else ("", NOT_HERE, "")
        )
        return Judged(query, voice, text, tuple(c.features for c in self.found), self.right)


def results_judged(wordings: Sequence[ResultsWording], others: Sequence[str] = ()) -> Iterator[ResultsJudged]:
    """The wordings read and judged over the example results, and other questions that these cannot answer."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "results.duckdb")
        open_results(path)
        with Sandbox(path) as sandbox:
            for wording in wordings:
                # A query that a busy machine does not finish in time says nothing of a reading.
                with suppress(Refusal, Ambiguity, QueryStopped):
                    ways, _ = settled_ways(wording.asked, wording.text, sandbox)
                    right = [compile_sql(spec) for _, spec in ways]
                    found = _found(wording.text, sandbox)
                    hits = tuple(_is_right(compile_sql(c.spec), right, sandbox) for c in found)
                    yield ResultsJudged(wording, tuple(found), hits)
            for text in others:
                found = _found(text, sandbox)
                yield ResultsJudged(None, tuple(found), (False,) * len(found))


def counted(questions: Iterable[ResultsJudged]) -> dict[str, int]:
    """What becomes of questions, by what the policy does with their readings."""
    told = Counter[str]()
    for question in questions:
        kind = "worded" if question.wording else "not here"
        told[kind] += 1
        pairs = list(zip(question.found, question.right, strict=True))
        chances = trained(RESULTS_RANKER).chances([c.features for c in question.found])
        ranked = sorted(
            ((replace(c, chance=p), r) for (c, r), p in zip(pairs, chances, strict=True)),
            key=lambda one: -one[0].chance,
        )
        right = {id(c): r for c, r in ranked}
        readings = [c for c, _ in ranked]
        if best := answered_at_once(readings):
            told[f"{kind}, at once"] += 1
            told[f"{kind}, at once and right"] += right[id(best)]
        elif offered := shown(readings):
            told[f"{kind}, shown"] += 1
            told[f"{kind}, shown with the right one"] += any(right[id(c)] for c in offered)
    return dict(sorted(told.items()))


def _found(text: str, sandbox: Sandbox) -> list[ResultsCandidate]:
    try:
        return weighed(text, sandbox, NOW)
    except (Refusal, Ambiguity):
        return []


def _is_right(sql: str, right: Sequence[str], sandbox: Sandbox) -> bool:
    if sql in right:
        return True
    rows = sandbox.run(sql, row_cap=_MOST_ROWS).rows
    return any(holds(rows, sandbox.run(other, row_cap=_MOST_ROWS).rows) for other in right)


# -- follow-ups --------------------------------------------------------------------------------------------------------


def follow_ups_judged(wordings: Iterable[ResultsWording]) -> Iterator[Judged]:
    """Each follow-up with its readings; right is what makes the very question that was worded, and nothing of a
    question that the results cannot answer."""
    profile = worded_for()
    for wording in wordings:
        assert wording.before
        found = weighed_follow_ups(wording.text, wording.before, profile, NOW)
        right = (wording.voice != NOT_HERE and bare(c.asked) == bare(wording.asked) for c in found)
        yield Judged(wording.query, wording.voice, wording.text, tuple(c.features for c in found), tuple(right))


def counted_follow_ups(questions: Iterable[Judged], ranker: Ranker) -> dict[str, int]:
    """What becomes of follow-ups, by voice."""
    told = Counter[str]()
    for one in questions:
        told[one.voice] += 1
        ranked = sorted(zip(ranker.chances(one.features), one.features, one.right, strict=True), key=lambda c: -c[0])
        if not ranked:
            continue
        chance, features, right = ranked[0]
        if chance < (SHOWN_STRANGE if features["strange"] else SHOWN):
            continue
        if chance >= AT_ONCE:
            told[f"{one.voice}, at once"] += 1
            told[f"{one.voice}, at once and right"] += right
        else:
            told[f"{one.voice}, shown"] += 1
            told[f"{one.voice}, shown with the right one"] += any(r for p, _, r in ranked if p >= BESIDE)
    return dict(sorted(told.items()))

"""What both readers make of questions over the results: readings, what speaks for them, whether they are right."""

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from db.journal import open_results
from mirror.data.process.sandbox import Sandbox
from mirror.language.ranking.results_readings import weighed
from mirror.language.ranking.settled_benchmark import settled_ways
from mirror.language.train.judged import NOT_HERE, NOW, Judged
from mirror.language.train.results_wordings import ResultsWording
from mirror.query.errors import Ambiguity, Refusal
from mirror.query.sql import compile_sql
from mirror.table.alike import holds

_MOST_ROWS = 400


def results_judged(wordings: Sequence[ResultsWording], others: Sequence[str] = ()) -> Iterator[Judged]:
    """The wordings read and judged over the example results, and other questions that these cannot answer."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "results.duckdb")
        open_results(path)
        with Sandbox(path) as sandbox:
            for wording in wordings:
                try:
                    ways, _ = settled_ways(wording.asked, wording.text, sandbox)
                except (Refusal, Ambiguity):
                    continue
                right = [compile_sql(spec) for _, spec in ways]
                found, _ = weighed(wording.text, sandbox, NOW, lambda _: True)
                hits = tuple(_is_right(compile_sql(c.spec), right, sandbox) for c in found)
                yield Judged(wording.query, wording.voice, wording.text, tuple(c.features for c in found), hits)
            for text in others:
                found, _ = weighed(text, sandbox, NOW, lambda _: True)
                yield Judged("", NOT_HERE, text, tuple(c.features for c in found), (False,) * len(found))


def _is_right(sql: str, right: Sequence[str], sandbox: Sandbox) -> bool:
    if sql in right:
        return True
    rows = sandbox.run(sql, row_cap=_MOST_ROWS).rows
    return any(holds(rows, sandbox.run(other, row_cap=_MOST_ROWS).rows) for other in right)

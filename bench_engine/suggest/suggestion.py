"""What is suggested for a budget: what was measured, the Pareto front, the choice and why, what was left out."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

from bench_engine.measure.ratios import student


class SuggestError(ValueError):
    """Nothing can be suggested; the message is one sentence that says why and what to do."""


@dataclass(frozen=True)
class Table:
    """A table that was trained, the same at every seed.

    Attributes:
        compression: share of the dense float32 numbers that it was asked to keep; 1 for a method of one size.
        memory_mb: MB (1e6 bytes) that it holds, metadata included; metadata_mb: what of that are no weights.
        aucs: (seed, AUC on the validation part), by seed.
        step_us: µs of a training step, the median over seeds.
        lookup_us: µs of a lookup of 512 ids in a table of this size; None where it was not timed.
    """

    method: str
    compression: float
    memory_mb: float
    metadata_mb: float
    aucs: tuple[tuple[int, float], ...]
    step_us: float
    lookup_us: float | None = None

    @property
    def auc(self) -> float:
        """The mean over seeds."""
        return statistics.fmean(auc for _, auc in self.aucs)


@dataclass(frozen=True)
class LeftOut:
    """A table that is no choice: method, compression (None for all that were tried), and a sentence that says why."""

    method: str
    compression: float | None
    why: str


@dataclass(frozen=True)
class Suggestion:
    """The answer.

    Attributes:
        data: name of the data set.
        budget_mb: what was asked for, in MB (1e6 bytes).
        dense_mb: what a dense float32 table takes.
        embedding_dim: dimension D.
        field_rows: rows of each field.
        tables: those that were trained, by their bytes.
        chosen: the table that is recommended; None where dense fits, or where none was measured within the budget.
        dense_fits: whether a dense float32 table takes no more than the budget, so that nothing was searched.
        why: one sentence for the choice.
        left_out: what is no choice.
        code: lines of Python that make the table.
    """

    data: str
    budget_mb: float
    dense_mb: float
    embedding_dim: int
    field_rows: tuple[int, ...]
    tables: tuple[Table, ...] = ()
    chosen: Table | None = None
    dense_fits: bool = False
    why: str = ""
    left_out: tuple[LeftOut, ...] = ()
    code: str = field(default="", repr=False)

    @property
    def front(self) -> tuple[Table, ...]:
        """The Pareto front: tables than which none of as few bytes has a higher validation AUC, by their bytes."""
        found: list[Table] = []
        for table in sorted(self.tables, key=lambda t: (t.memory_mb, -t.auc)):
            if not found or table.auc > found[-1].auc:
                found.append(table)
        return tuple(found)

    def fits(self, table: Table) -> bool:
        """Whether a table takes no more than the budget."""
        return table.memory_mb <= self.budget_mb


def chosen(tables: Sequence[Table], budget_mb: float) -> Table | None:
    """The table of the highest mean validation AUC within the budget, of equal ones that of the fewest bytes: of those
    with the most seeds, since a time limit leaves some with fewer."""
    fitting = [table for table in tables if table.memory_mb <= budget_mb]
    most = max((len(table.aucs) for table in fitting), default=0)
    alike = [table for table in fitting if len(table.aucs) == most]
    return max(alike, key=lambda table: (table.auc, -table.memory_mb), default=None)


def reason(best: Table | None, tables: Sequence[Table], budget_mb: float) -> str:
    """One sentence that says why a table was chosen, or why none was."""
    if best is None:
        return f"No table was measured that holds {budget_mb:g} MB or less."
    said = f"{best.method} has the highest validation AUC of what was measured within {budget_mb:g} MB: {best.auc:.4f}"
    others = [table for table in tables if table.memory_mb <= budget_mb and table.method != best.method]
    if not others:
        return f"{said}; no other method was measured there."
    second = max(others, key=lambda table: (len(table.aucs), table.auc))
    return f"{said}, {_ahead(best, second)} the next, {second.method} ({second.memory_mb:.4g} MB)."


def _ahead(best: Table, second: Table) -> str:
    """By how much one is ahead, and whether that can be told from chance: Student's interval of differences by seed."""
    own, others = dict(best.aucs), dict(second.aucs)
    gaps = [own[seed] - others[seed] for seed in own if seed in others]
    gap = statistics.fmean(gaps) if gaps else best.auc - second.auc
    if len(gaps) < 2:
        return f"{gap:.4f} ahead (one seed, by which no difference is told from chance) of"
    half = student(len(gaps) - 1) * statistics.stdev(gaps) / math.sqrt(len(gaps))
    told = "" if statistics.fmean(gaps) > half else ", not told from chance,"
    return f"{gap:.4f} ± {half:.4f} ahead{told} over {len(gaps)} seeds of"

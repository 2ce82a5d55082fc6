"""Configurations in words: their names, how many there are of each method, their values."""

from collections import Counter
from collections.abc import Sequence

from mirror.chart.configurations import Configuration
from mirror.table.numbers import describe, format_spread, format_value
from mirror.table.table import Column, Table
from mirror.table.wording import counted, in_words, shortened


def name_of(table: Table, found: Configuration, without: Sequence[str] = ()) -> str:
    """`hashed on frappe at compression 0.5, dim 16`."""
    return in_words(table, {k: v for k, v in found.key.items() if k not in without})


def members(table: Table, found: Sequence[Configuration]) -> str:
    """The methods of some configurations, each with its number of configurations where that is more than one."""
    rival = table.domain.rival
    counts = Counter(
        describe(table.column(rival), c.key[rival]) if rival in c.key else name_of(table, c) for c in found
    )
    return shortened([f"{n} ({counted(k, table.domain.kind)})" if k > 1 else n for n, k in counts.items()], 6)


def value_of(found: Configuration, metric: Column, brackets: bool = True) -> str:
    """`0.7841 ± 0.0012 (n = 3)`, as much of it as is known."""
    if metric.name not in found.deviations:
        return format_value(metric, found.means[metric.name])
    text = format_spread(metric, found.means[metric.name], found.deviations[metric.name])
    return f"{text} (n = {found.trials:,})" if brackets else f"{text}, n = {found.trials:,}"

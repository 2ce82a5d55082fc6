"""What was done with one model, as the report tells it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from bench_engine.kernels.parallel_op.graph.report import GraphReport

_NAMES_SHOWN, _MODES_SHOWN, _GRAPHS_SHOWN = 4, 6, 3


@dataclass(frozen=True)
class Choice:
    """What was kept for one bucket of calls of one model, and the times in µs it rests on (None: no turns)."""

    model: str
    bucket: str
    kept: str
    untouched_us: float | None = None
    grouped_us: float | None = None
    reason: str = ""

    @property
    def mode(self) -> str:
        """What its calls have in common but for their sizes."""
        return self.bucket.partition(", sizes ")[0]

    def text(self) -> str:
        """What was kept, the times, and why."""
        times = ""
        if self.untouched_us is not None and self.grouped_us is not None:
            times = f"; untouched {self.untouched_us:.0f} µs, grouped {self.grouped_us:.0f} µs"
        return f"{self.bucket}: {self.kept}{times}{f'; {self.reason}' if self.reason else ''}."


@dataclass
class Summary:
    """One model: what became one op, what was left and why, and what was kept for which calls.

    served: names of tables whose lookups became one op without a compiler. left: reasons by name. graphs: of a model
    that was compiled. choices: by bucket. huge_bytes: of its tables that were put into huge pages.
    """

    model: str
    served: tuple[str, ...] = ()
    left: dict[str, str] = field(default_factory=dict)
    choices: dict[Any, Choice] = field(default_factory=dict)
    graphs: list[GraphReport] = field(default_factory=list)
    huge_bytes: int = 0

    def text(self, details: bool = False) -> str:
        """What became one op, what was left, the times: a line for each mode of calls, with `details` for each size."""
        lines = []
        if self.served:
            lines.append(f"{len(self.served)} lookups became one op, served to its own forward ({_some(self.served)}).")
        if self.huge_bytes:
            lines.append(f"{self.huge_bytes / 1e6:.0f} MB of its tables were put into huge pages.")
        told = dict.fromkeys(graph.text(details) for graph in self.graphs if not graph.empty)
        lines += [f"compiled: {graph}" for graph in told][: None if details else _GRAPHS_SHOWN]
        for reason in dict.fromkeys(self.left.values()):
            names = [name for name, why in self.left.items() if why == reason]
            lines.append(f"left as it was: {_some(names)}, {reason}.")
        choices = list(self.choices.values())
        modes = list(dict.fromkeys(choice.mode for choice in choices))
        if details:
            lines += [choice.text() for choice in choices]
        else:
            lines += [_of_mode([one for one in choices if one.mode == mode]) for mode in modes[:_MODES_SHOWN]]
            if len(modes) > _MODES_SHOWN:
                lines.append(f"and {len(modes) - _MODES_SHOWN} more kinds of calls.")
        return "\n".join([f"Parallel OP, {self.model}:", *(f"  {line}" for line in lines)])


def _of_mode(choices: Sequence[Choice]) -> str:
    """Calls that differ in their sizes alone, in a line: what was kept for how many, and from which times to which."""
    if len(choices) == 1:
        one = choices[0]
        return Choice(one.model, one.mode, one.kept, one.untouched_us, one.grouped_us, one.reason).text()
    kept = Counter(choice.kept for choice in choices)
    told = ", ".join(f"{what} for {count}" for what, count in kept.most_common())
    line = f"{choices[0].mode}, {len(choices)} sizes: {told}"
    timed = [one for one in choices if one.untouched_us is not None and one.grouped_us is not None]
    if timed:
        line += f"; untouched {_span([one.untouched_us for one in timed])}"
        line += f", grouped {_span([one.grouped_us for one in timed])}"
    reasons = dict.fromkeys(choice.reason for choice in choices if choice.reason)
    return "; ".join([line, *reasons]) + "."


def _span(times: Sequence[Any]) -> str:
    low, high = f"{min(times):.0f}", f"{max(times):.0f}"
    return f"{low} µs" if low == high else f"{low} to {high} µs"


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_NAMES_SHOWN])
    return shown + (f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else "")

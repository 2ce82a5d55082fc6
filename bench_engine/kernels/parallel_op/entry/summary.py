"""What was done with one model, as the report tells it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

_NAMES_SHOWN, _CALLS_SHOWN = 4, 6


@dataclass(frozen=True)
class Choice:
    """What was kept for one bucket of calls of one model, and the times in µs it rests on (None: no turns)."""

    model: str
    bucket: str
    kept: str
    untouched_us: float | None = None
    grouped_us: float | None = None
    reason: str = ""

    def text(self) -> str:
        """What was kept, the times, and why."""
        times = ""
        if self.untouched_us is not None and self.grouped_us is not None:
            times = f"; untouched {self.untouched_us:.0f} µs, grouped {self.grouped_us:.0f} µs"
        return f"{self.bucket}: {self.kept}{times}{f'; {self.reason}' if self.reason else ''}."


@dataclass
class Summary:
    """One model: what became one op without a compiler, what was left and why, and what was kept for which calls.

    served: names of tables. left: reasons by name. choices: by bucket.
    """

    model: str
    served: tuple[str, ...] = ()
    left: dict[str, str] = field(default_factory=dict)
    choices: dict[Any, Choice] = field(default_factory=dict)

    def text(self, details: bool = False) -> str:
        """A line of what was grouped and left, and one for each kind of calls: some of them, unless `details`."""
        first = f"Parallel OP, {self.model}:"
        if self.served:
            first += f" {len(self.served)} lookups became one op, served to its own forward ({_some(self.served)})."
        for reason in dict.fromkeys(self.left.values()):
            names = [name for name, why in self.left.items() if why == reason]
            first += f" Left as it was: {_some(names)}, {reason}."
        told = [f"  {choice.text()}" for choice in self.choices.values()]
        if not details and len(told) > _CALLS_SHOWN:
            told[_CALLS_SHOWN:] = [f"  and {len(told) - _CALLS_SHOWN} more kinds of calls."]
        return "\n".join([first, *told])


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_NAMES_SHOWN])
    return shown + (f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else "")

"""What a configuration consists of: axes, and those that several benchmarks have."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bench_engine.methods.own import taking
from bench_engine.trial import Scalar


@dataclass(frozen=True)
class Axis:
    """One axis of a configuration.

    Attributes:
        name: column name in the results.
        type: int, float or str.
        default: value where a sweep is silent.
        text: help, one line.
        choices: allowed values, or empty.
        low, high: allowed range for numbers, both ends included.
        methods: those that have it; empty for all. It is no part of the configuration of the others.
        pattern: what a text must look like (a regular expression, with `text` as its description); empty for any.
    """

    name: str
    type: Callable[[Any], Scalar]
    default: Scalar
    text: str
    choices: tuple[Scalar, ...] = ()
    low: float | None = None
    high: float | None = None
    methods: tuple[str, ...] = ()
    pattern: str = ""

    def is_of(self, method_name: str) -> bool:
        """Whether a method has this axis."""
        return not self.methods or method_name in self.methods

    def check(self, value: Any) -> Scalar:
        """The value in the axis's type. Raises ValueError with a sentence that says what is allowed."""
        if self.pattern and type(value) is int:  # YAML takes the text 1024 for a number
            value = str(value)
        try:
            if isinstance(value, bool):
                raise ValueError
            converted = self.type(value)
            if converted != (float(value) if self.type is not str else value):
                raise ValueError
        except (TypeError, ValueError, OverflowError):
            kind = {int: "a whole number", float: "a number", str: "text"}[self.type]  # type: ignore[index]
            raise ValueError(f"axis {self.name} takes {kind}, not {value!r}") from None
        if self.choices and converted not in self.choices:
            raise ValueError(f"axis {self.name} takes one of {', '.join(map(str, self.choices))}, not {value!r}")
        if self.pattern and not re.fullmatch(self.pattern, str(converted)):
            raise ValueError(f"axis {self.name} takes {self.text}, not {value!r}")
        if not isinstance(converted, str):
            low, high = self.low, self.high
            if (low is not None and converted < low) or (high is not None and converted > high):
                raise ValueError(f"axis {self.name} must lie between {limits(low, high)}, not {value!r}")
        return converted


def limits(low: float | None, high: float | None, word: str = " and ") -> str:
    """Both ends of a range, large whole numbers with all their digits; an end that there is not is a question mark."""
    return word.join("?" if end is None else f"{end:.15g}" for end in (low, high))


def choice(name: str, text: str, *choices: str, methods: tuple[str, ...] = ()) -> Axis:
    """An axis of words; the first is its default."""
    return Axis(name, str, choices[0], text, choices, methods=methods)


PRUNED = taking("prune_interval")
PRUNING = (
    Axis("num_chunks", int, 4, "chunks k of a vector, a divisor of D", low=1, high=16, methods=taking("num_chunks")),
    Axis("prune_interval", int, 30, "steps from one prune event to the next", low=1, high=2**31 - 1, methods=PRUNED),
    Axis("decay", float, 0.9, "what a chunk keeps of its utility at an event", low=0.0, high=1.0, methods=PRUNED),
    choice("prune_scope", "whose chunks share one budget", "global", "table", "column", methods=PRUNED),
    choice(
        "utility_score", "what a step adds to a chunk's utility", "gradient", "frequency*gradient", "frequency",
        methods=taking("utility_score"),
    ),
    choice("layout", "how chunks are addressed", "compact", "flat", methods=PRUNED),
)  # fmt: skip

NUM_ROWS = Axis("num_rows", int, 100_000, "rows of the virtual table E", low=1, high=2**40)
DIM = Axis("embedding_dim", int, 16, "embedding dimension D", low=1, high=4096)
COMPRESSION = Axis("compression", float, 1.0, "fraction of the dense parameters kept", low=1e-6, high=1.0)
BLOCK = Axis(
    "block_size", int, 16, "neighbours that share one hash", low=1, high=2**31 - 1, methods=taking("block_size")
)
PADDING = Axis(
    "padding_idx",
    int,
    -1,
    "id that fills up bags and is left out, -1 for none",
    low=-1,
    high=2**40 - 1,
    methods=("dense", "hashed", "hashed_reference", "hashed_mix64", "hashed_signed", "hashed_block"),
)
POOLING = choice("pooling_mode", "how a bag becomes one vector", "sum", "mean", "max")
DIRECTION = choice("direction", "what is timed", "forward", "forward_backward")
CACHE = choice("cache", "the processor's caches before a call", "warm", "cold")
OUTPUT = choice("output", "memory of the output", "fresh", "preallocated")
ZIPF = Axis("zipf_s", float, 1.05, "exponent of the ids' Zipf law, 0 is uniform", low=0.0, high=10.0)
THREADS = Axis("threads", int, 1, "threads of the worker", low=1, high=1024)
SEED = Axis("seed", int, 0, "seed of data order, initial weights and requests", low=0, high=2**31 - 1)

"""RunPlan: what a question asks to be measured, filled in so far as it says. Nothing runs until a person starts it."""

from dataclasses import dataclass

Scalar = str | int | float | bool


@dataclass(frozen=True)
class RunPlan:
    """A run that a question asks for.

    Attributes:
        sweep: name of a ready sweep; empty where `benchmark` and `methods` say what to run.
        benchmark: kind of experiment; empty for a ready sweep.
        methods: what is measured, the baseline among them where there is one to compare with.
        parameters: (axis, values) pairs that differ from the defaults; for a ready sweep, its overrides.
        seeds: how many repeats, each with its own seed.
        notes: what was assumed, one phrase each.
    """

    sweep: str = ""
    benchmark: str = ""
    methods: tuple[str, ...] = ()
    parameters: tuple[tuple[str, tuple[Scalar, ...]], ...] = ()
    seeds: int = 1
    notes: tuple[str, ...] = ()

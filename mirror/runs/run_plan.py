"""RunPlan: what a question asks to be measured, filled in so far as it says. Nothing runs until a person starts it."""

import shlex
from dataclasses import dataclass
from typing import Any

import yaml

from mirror.schema import catalog
from mirror.table.wording import join

Scalar = str | int | float | bool
NAME = "custom"  # of a sweep that is made of a plan or in the form


@dataclass(frozen=True)
class RunPlan:
    """A run that a question asks for.

    Attributes:
        sweep: name of a ready sweep; empty where `benchmark` and `methods` say what to run.
        benchmark: kind of experiment; empty for a ready sweep.
        methods: what is measured, the baseline among them where there is one to compare with; for a ready sweep those
            of its methods that are to run, empty for all.
        baseline: the method that the others are compared with; empty for none and for a ready sweep, which has its own.
        parameters: (axis, values) pairs that differ from the defaults; for a ready sweep, its overrides.
        seeds: how many repeats, each with its own seed; for a ready sweep None means as many as it says.
        again: run what is done already once more.
        retry_failed: run what failed before once more.
        quick: a first look, with fewer samples.
        budget: (data set, MB) of a search of what to use; the rest then says what it trains.
        notes: what was assumed, one phrase each.
    """

    sweep: str = ""
    benchmark: str = ""
    methods: tuple[str, ...] = ()
    baseline: str = ""
    parameters: tuple[tuple[str, tuple[Scalar, ...]], ...] = ()
    seeds: int | None = None
    again: bool = False
    retry_failed: bool = False
    quick: bool = False
    notes: tuple[str, ...] = ()
    budget: tuple[str, float] | None = None

    @property
    def overrides(self) -> tuple[str, ...]:
        """What changes a ready sweep, as the engine's `-p` takes it: `batch_size=64,512`; empty for no ready sweep."""
        if not self.sweep:
            return ()
        changed = [*self.parameters, *([("methods", self.methods)] if self.methods else [])]
        changed += [("seeds", (self.seeds,))] if self.seeds else []
        return tuple(f"{axis}={','.join(map(_text, values))}" for axis, values in changed)

    @property
    def command(self) -> str:
        """The line that runs it in a terminal (bash, zsh)."""
        if self.budget:
            data, budget_mb = self.budget
            return f"python -m bench_engine suggest {shlex.quote(data)} --budget-mb {budget_mb:g}"
        flags = (("--retry-failed", self.retry_failed), ("--force", self.again), ("--quick", self.quick))
        words = ["python -m bench_engine run", shlex.quote(self.sweep) if self.sweep else "-"]
        words += [f"-p {shlex.quote(text)}" for text in self.overrides]
        words += [flag for flag, wanted in flags if wanted]
        if not self.sweep:
            words += ["<<<", shlex.quote(yaml.safe_dump(self._document(), **_ONE_LINE).strip())]
        return " ".join(words)

    @property
    def words(self) -> str:
        """One sentence that says what would run."""
        at = [f"{catalog.entry(axis).label} {join(map(_text, values))}" for axis, values in self.parameters]
        at += [f"{self.seeds} seeds"] if self.seeds and (self.sweep or self.seeds > 1) else []
        if self.sweep:
            what = f"the ready sweep {self.sweep}" + (f" with {join(self.methods)} alone" if self.methods else "")
        else:
            what = f"{join(self.methods)} in {self.benchmark}" + ("" if at else ", all axes at their defaults")
        flags = (
            ("as a first look, with fewer samples", self.quick),
            ("once more where it is done already", self.again),
            ("once more where it failed", self.retry_failed),
        )
        extra = [words for words, wanted in flags if wanted]
        if self.budget:
            what = f"{what}, to see what to use for {self.budget[1]:g} MB on {self.budget[0]}"
        return "; ".join(["Run " + ", ".join([what, *at]), *extra]) + "."

    def sweep_text(self) -> str:
        """The YAML of the sweep; empty for a ready one."""
        return "" if self.sweep else str(yaml.safe_dump(self._document(), sort_keys=False, allow_unicode=True))

    def _document(self) -> dict[str, Any]:
        """The sweep as the engine reads it."""
        given = {
            "name": NAME,
            "benchmark": self.benchmark,
            "methods": list(self.methods),
            "baseline": self.baseline,
            "parameters": {axis: {"values": list(values)} for axis, values in self.parameters},
            "seeds": self.seeds or 1,
        }
        return given if self.baseline else {k: v for k, v in given.items() if k != "baseline"}


# One line, in the order given, however long.
_ONE_LINE: dict[str, Any] = {"sort_keys": False, "default_flow_style": True, "width": float("inf")}


def _text(value: Scalar) -> str:
    return f"{value:.12g}" if isinstance(value, float) else str(value)

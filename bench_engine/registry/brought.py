"""Benchmarks, data sets and metrics of plug-ins, brought among those that are known."""

from dataclasses import dataclass, replace
from typing import Any

from bench_engine import plugin
from bench_engine.data import ClickData
from bench_engine.plugin import OwnBenchmark, OwnDataSet, PluginError
from bench_engine.registry.axes import SEED, Axis
from bench_engine.registry.benchmarks import BENCHMARKS, Benchmark
from bench_engine.registry.datasets import DATA_SETS, DataSet
from bench_engine.registry.methods import METHODS
from bench_engine.registry.names import find, hint
from db.columns import AXES, BY_NAME

_TYPES = {"text": str, "integer": int, "real": float}
_NO_AXES = ("benchmark", "op", "method")  # which say what a trial is, whatever its axes are
_ALLOWED = tuple(name for name in AXES if name not in _NO_AXES)


@dataclass(frozen=True)
class BroughtBenchmark(Benchmark):
    """A benchmark of a plug-in."""

    own: OwnBenchmark | None = None

    def load(self) -> Any:
        """What has `run(trial)`."""
        return self.own


@dataclass(frozen=True)
class BroughtDataSet(DataSet):
    """A data set of a plug-in."""

    own: OwnDataSet | None = None

    @property
    def absent(self) -> str:
        """One sentence about the first file that it lacks; empty when it can be loaded."""
        return self.own.absent if self.own else ""

    def load(self) -> Any:
        """What has `load()`: the data. Raises ValueError there."""
        assert self.own
        return _Loader(self.own)


@dataclass(frozen=True)
class _Loader:
    own: OwnDataSet

    def load(self) -> ClickData:
        if absent := self.own.absent:
            raise ValueError(absent)
        found = self.own.load()(*self.own.needs)
        if not isinstance(found, ClickData):
            raise ValueError(
                f"The data set {self.own.name} gave a {type(found).__name__}: give a bench_engine.data.ClickData."
            )
        return found


def bring() -> None:
    """Bring what plug-ins have declared among benchmarks and data sets. Raises PluginError."""
    for data in plugin.own_data_sets():
        if not isinstance(there := DATA_SETS.get(data.name), BroughtDataSet | None):
            raise _taken("data set", there.name)
        DATA_SETS[data.name] = BroughtDataSet(data.name, data.text, data.place, data.needs, own=data)
    for own in plugin.own_benchmarks():
        known = BENCHMARKS.get(own.name)
        if not isinstance(known, BroughtBenchmark | None):
            raise _taken("benchmark", own.name)
        # Anew even if it is known: methods that others have brought join it afterwards.
        BENCHMARKS[own.name] = BroughtBenchmark(
            own.name,
            own.op,
            own.text,
            own.place.partition(":")[0],
            _axes(own),
            measurement=1,  # its code is part of what its trials are known by
            seconds=own.seconds,
            methods=_methods(own),
            starts=own.starts,
            own=own,
        )


def metric(name: str) -> plugin.OwnMetric:
    """A metric of a plug-in. Raises UnknownNameError."""
    known = {m.name: m for m in plugin.own_metrics()}
    return find(name, known, "metric of a plug-in")


def _taken(kind: str, name: str) -> PluginError:
    return PluginError(f"There is a {kind} {name} already: give that of the plug-in another name.")


def _methods(own: OwnBenchmark) -> tuple[str, ...]:
    for name in own.methods:
        if name not in METHODS:
            raise PluginError(f"The benchmark {own.name} names the unknown method {name!r}{hint(name, METHODS)}")
    return tuple(dict.fromkeys(own.methods))


def _axes(own: OwnBenchmark) -> tuple[Axis, ...]:
    """Its axes, the seed last. Raises PluginError."""
    shipped = {a.name: a for b in reversed(BENCHMARKS.values()) if not isinstance(b, BroughtBenchmark) for a in b.axes}
    shipped["dataset"] = replace(shipped["dataset"], choices=tuple(DATA_SETS))  # those of plug-ins among them
    found: dict[str, Axis] = {}
    for given in own.axes:
        axis = shipped.get(given) if isinstance(given, str) else given
        if not isinstance(axis, Axis):
            why = hint(given, shipped) if isinstance(given, str) else "."
            raise PluginError(
                f"The benchmark {own.name} has the axis {given!r:.60}, which is no Axis and no other's name{why}"
            )
        if axis.name in found:
            raise PluginError(f"The benchmark {own.name} has the axis {axis.name} twice: leave one out.")
        if fault := _fault(axis):
            raise PluginError(f"The benchmark {own.name} has the axis {axis.name}, {fault}")
        found[axis.name] = axis
    return (*(axis for name, axis in found.items() if name != SEED.name), found.get(SEED.name, SEED))


def _fault(axis: Axis) -> str:
    """What is wrong with an axis, the rest of a sentence; empty where nothing is."""
    if axis.name not in _ALLOWED:
        return f"of which the results have no column{hint(axis.name, _ALLOWED)} They have {', '.join(_ALLOWED)}."
    kind = _TYPES[BY_NAME[axis.name].type]
    if axis.type is not kind:
        return f"whose type must be {kind.__name__}, as in the results."
    try:
        axis.check(axis.default)
    except (TypeError, ValueError) as error:
        return f"whose default it does not take itself: {error}."
    return ""

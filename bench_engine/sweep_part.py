"""One benchmark of a sweep: read from a YAML document or changed by -p, with errors that say what is wrong."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bench_engine.registry import Axis, Benchmark, benchmark, method, nearest
from bench_engine.trial import Scalar, Stop, Trial

_KEYS = (
    "name", "benchmark", "methods", "baseline", "method", "parameters", "exclude", "seeds", "stop", "run_cap",
    "time_limit_s",
)  # fmt: skip


class SweepError(ValueError):
    """A sweep that cannot be run; the message says where and why, and what is known instead."""


@dataclass(frozen=True)
class Part:
    """One benchmark of a sweep: one document of the file.

    Attributes:
        benchmark: what is run.
        methods: names, in the order in which they are run at each configuration.
        baseline: the method that the others are compared with; empty for none.
        values: axis -> values, for the axes that the file names; the others have their default.
        exclude: partial configurations (`method` among the keys) that are left out.
        seeds: one trial each.
        stop, time_limit_s: see bench_engine.trial.
        run_cap: at most so many trials of the grid, in its order; None for all.
    """

    benchmark: Benchmark
    methods: tuple[str, ...]
    baseline: str
    values: Mapping[str, tuple[Scalar, ...]]
    exclude: tuple[Mapping[str, Scalar], ...]
    seeds: Sequence[int]
    stop: Stop
    run_cap: int | None
    time_limit_s: float


class PartReader:
    """Reads one YAML document; every complaint starts with where it stands."""

    def __init__(self, document: dict[Any, Any], where: str) -> None:
        self.document = document
        self.where = where

    def part(self) -> Part:
        self.known_keys(self.document, _KEYS, "key")
        for key in ("benchmark", "methods"):
            if key not in self.document:
                raise self.error(f"the key {key} is missing")
        bench = self.checked(benchmark, self.text("benchmark", self.document["benchmark"]))
        self.search_method()
        methods = self.methods(bench)
        baseline = self.document.get("baseline") or ""
        if baseline and baseline not in methods:
            raise self.error(
                f"the baseline {baseline!r} is not among the methods ({', '.join(methods)}){hint(baseline, methods)}"
            )
        return Part(
            benchmark=bench,
            methods=methods,
            baseline=baseline,
            values=self.parameters(bench),
            exclude=self.exclude(bench),
            seeds=self.seeds(bench, self.document.get("seeds", [bench.axis("seed").default])),
            stop=self.stop(),
            run_cap=self.run_cap(),
            time_limit_s=self.number("time_limit_s", self.document.get("time_limit_s", Trial.time_limit_s), low=1e-3),
        )

    def search_method(self) -> None:
        given = self.document.get("method", "grid")
        if given == "random":
            raise self.error("method: random is not offered; take method: grid, with run_cap for a part of it")
        if given != "grid":
            raise self.error(f"method must be grid, not {given!r:.60} (what is compared goes under methods)")

    def methods(self, bench: Benchmark) -> tuple[str, ...]:
        given = self.document["methods"]
        if not isinstance(given, list) or not given:
            raise self.error("methods must be a list of names with at least one in it, such as [dense, hashed]")
        for name in given:
            self.checked(method, self.text("methods", name))
            if name not in bench.methods:
                raise self.error(
                    f"benchmark {bench.name} does not run the method {name}; it runs {', '.join(bench.methods)}"
                )
        return tuple(dict.fromkeys(given))

    def parameters(self, bench: Benchmark) -> dict[str, tuple[Scalar, ...]]:
        given = self.mapping("parameters", self.document.get("parameters"))
        self.known_keys(given, [a.name for a in bench.axes], f"axis of benchmark {bench.name}")
        values = {}
        for name, entry in given.items():
            if name == "seed":
                raise self.error("seeds stand under the key seeds, not under parameters")
            if not isinstance(entry, dict) or set(entry) not in ({"values"}, {"value"}):
                extra = " (min and max need method: random, which is not offered)" if _is_range(entry) else ""
                raise self.error(f"parameters.{name} must be {{values: [..]}} or {{value: x}}{extra}")
            items = entry["values"] if "values" in entry else [entry["value"]]
            if not isinstance(items, list):
                raise self.error(f"parameters.{name}.values must be a list")
            values[name] = self.axis_values(bench.axis(name), items)
        return values

    def axis_values(self, axis: Axis, items: Sequence[Any]) -> tuple[Scalar, ...]:
        if not items:
            raise self.error(f"axis {axis.name} has no values, so the grid is empty")
        return tuple(dict.fromkeys(self.axis_value(axis, item) for item in items))

    def axis_value(self, axis: Axis, item: Any) -> Scalar:
        if not isinstance(item, str | int | float):
            raise self.error(f"axis {axis.name} takes single values, not a {_kind(item)}")
        try:
            return axis.check(item)
        except ValueError as error:
            raise self.error(f"{error}{hint(item, [str(c) for c in axis.choices])}") from None

    def exclude(self, bench: Benchmark) -> tuple[dict[str, Scalar], ...]:
        given = self.document.get("exclude") or []
        if not isinstance(given, list) or not all(isinstance(entry, dict) and entry for entry in given):
            raise self.error("exclude must be a list of partial configurations, such as [{method: hashed, threads: 1}]")
        patterns = []
        for entry in given:
            self.known_keys(entry, ["method", *(a.name for a in bench.axes)], "axis in exclude")
            if "method" in entry:
                self.checked(method, self.text("exclude.method", entry["method"]))
            patterns.append(
                {k: v if k == "method" else self.axis_value(bench.axis(k), v) for k, v in entry.items()},
            )
        return tuple(patterns)

    def seeds(self, bench: Benchmark, given: Any) -> Sequence[int]:
        if isinstance(given, list) and given:
            return tuple(int(v) for v in self.axis_values(bench.axis("seed"), given))
        if isinstance(given, int) and not isinstance(given, bool) and given > 0:
            self.checked(bench.axis("seed").check, given - 1)
            return range(given)
        raise self.error("seeds must be a list of whole numbers, or how many there are to be (at least 1)")

    def stop(self) -> Stop:
        given = self.mapping("stop", self.document.get("stop"))
        self.known_keys(given, ("min_samples", "max_seconds", "noise_target"), "key of stop")
        return Stop(
            min_samples=self.whole("stop.min_samples", given.get("min_samples", Stop.min_samples)),
            max_seconds=self.number("stop.max_seconds", given.get("max_seconds", Stop.max_seconds), low=1e-3),
            noise_target=self.number("stop.noise_target", given.get("noise_target", Stop.noise_target), low=0.0),
        )

    def run_cap(self) -> int | None:
        given = self.document.get("run_cap")
        return None if given is None else self.whole("run_cap", given)

    # -- checks ----------------------------------------------------------------------------------------------------

    def error(self, sentence: str) -> SweepError:
        return SweepError(f"{self.where}: {sentence}" + ("" if sentence.endswith((".", "?")) else "."))

    def checked(self, check: Any, value: Any) -> Any:
        """What a registry look-up or an axis says of a value, with its complaint as ours."""
        try:
            return check(value)
        except ValueError as error:
            raise self.error(str(error)) from None

    def known_keys(self, given: Mapping[Any, Any], known: Sequence[str], what: str) -> None:
        for key in given:
            if key not in known:
                raise self.error(f"unknown {what} {key!r:.60}{hint(key, known)} Known: {', '.join(known)}")

    def mapping(self, key: str, given: Any) -> dict[Any, Any]:
        if given is None:
            return {}
        if not isinstance(given, dict):
            raise self.error(f"{key} must be keys and values, not a {_kind(given)}")
        return given

    def text(self, key: str, given: Any) -> str:
        if not isinstance(given, str):
            raise self.error(f"{key} takes names, not a {_kind(given)}")
        return given

    def whole(self, key: str, given: Any) -> int:
        if isinstance(given, bool) or not isinstance(given, int) or not 1 <= given < 2**31:
            raise self.error(f"{key} must be a whole number of at least 1, not {_shown(given)}")
        return given

    def number(self, key: str, given: Any, low: float) -> float:
        if isinstance(given, bool) or not isinstance(given, int | float) or not low <= given <= 1e6:
            raise self.error(f"{key} must be a number from {low:g} to 1000000, not {_shown(given)}")
        return float(given)


def _is_range(entry: Any) -> bool:
    return isinstance(entry, dict) and bool({"min", "max", "distribution"} & set(entry))


def _kind(value: Any) -> str:
    names = {dict: "mapping", list: "list", type(None): "missing value", bool: "yes/no value"}
    return names.get(type(value), type(value).__name__)


def _shown(value: Any) -> str:
    return repr(value) if isinstance(value, str | int | float) else f"a {_kind(value)}"


def hint(value: object, known: Sequence[str]) -> str:
    """`; did you mean X?` or a full stop, whichever ends the sentence."""
    return nearest(value, known) or "."


def override(part: Part, key: str, items: list[str], where: str) -> Part:
    reader = PartReader({}, where)
    if key == "methods":
        for name in items:
            reader.checked(method, name)
        mine = [name for name in items if name in part.benchmark.methods]
        if not mine:
            raise SweepError(
                f"{where}: benchmark {part.benchmark.name} runs none of these; it knows "
                f"{', '.join(part.benchmark.methods)}."
            )
        methods = tuple(dict.fromkeys(mine))
        return replace(part, methods=methods, baseline=part.baseline if part.baseline in methods else "")
    if key == "seeds":
        numbers = [reader.checked(part.benchmark.axis("seed").check, v) for v in items]
        return replace(part, seeds=reader.seeds(part.benchmark, numbers[0] if len(numbers) == 1 else numbers))
    if key == "seed":
        return replace(part, seeds=reader.seeds(part.benchmark, items))
    axis = next((a for a in part.benchmark.axes if a.name == key), None)
    if axis is None:
        return part
    return replace(part, values={**part.values, key: reader.axis_values(axis, items)})

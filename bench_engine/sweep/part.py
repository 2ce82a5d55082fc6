"""One benchmark of a sweep: read from a YAML document or changed by -p, with errors that say what is wrong."""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bench_engine import plugin
from bench_engine.registry import Axis, Benchmark, UnknownNameError, benchmark, hint, method, metric
from bench_engine.sweep.range import DISTRIBUTIONS, OF_VALUES, Range
from bench_engine.trial import Scalar, Stop, Trial

KEYS = (
    "name", "benchmark", "methods", "baseline", "method", "parameters", "exclude", "seeds", "stop", "run_cap",
    "random_seed", "time_limit_s", "memory_limit_gb", "metrics",
)  # fmt: skip
ENTRY_KEYS = ("value", "values", "min", "max", "distribution", "q")
STOP_KEYS = ("min_samples", "max_seconds", "noise_target")
# What -p changes besides axes, and what it does not.
_LIMITS = {"run_cap": None, "random_seed": 0, "time_limit_s": Trial.time_limit_s, "memory_limit_gb": None}
SPECIAL = ("methods", "seeds", "metrics", *_LIMITS)
IN_FILE = ("name", "benchmark", "baseline", "parameters", "exclude", "stop")
MAX_TRIALS_EVER = 100_000  # a plan holds them all; at a second each they take a day
_MAX_TEXT = 200


class SweepError(ValueError):
    """A sweep that cannot be run; the message says where and why, and what is known instead."""


class SweepUsageError(SweepError):
    """A name that there is none of, or an override that cannot be read."""


@dataclass(frozen=True)
class Part:
    """One benchmark of a sweep: one document of the file.

    Attributes:
        benchmark: what is run.
        methods: names, in the order in which they are run at each configuration.
        baseline: the method that the others are compared with; empty for none.
        drawn: whether configurations are drawn at random (method: random), else the whole grid is run.
        values: axis -> values, for the axes that the file names; the others have their default.
        ranges: axis -> range, of a random search.
        random_seed: makes other draws of a random search.
        exclude: partial configurations (`method` among the keys) that are left out.
        seeds: one trial each.
        stop, time_limit_s, memory_limit_gb: see bench_engine.trial.
        run_cap: at most so many trials, rounded down to whole configurations; None for all.
        metrics: of plug-ins, that its trials are to have beside those of the benchmark.
    """

    benchmark: Benchmark
    methods: tuple[str, ...]
    baseline: str
    drawn: bool
    values: Mapping[str, tuple[Scalar, ...]]
    ranges: Mapping[str, Range]
    random_seed: int
    exclude: tuple[Mapping[str, Scalar], ...]
    seeds: Sequence[int]
    stop: Stop
    run_cap: int | None
    time_limit_s: float
    memory_limit_gb: float | None
    metrics: tuple[str, ...] = ()


class PartReader:
    """Reads one YAML document; every complaint starts with where it stands."""

    def __init__(self, document: dict[Any, Any], where: str) -> None:
        self.document = document
        self.where = where

    def part(self) -> Part:
        """What the document asks for. Raises SweepError."""
        self._known_keys(self.document, KEYS, "key")
        for key in ("benchmark", "methods"):
            if key not in self.document:
                raise self._error(f"the key {key} is missing")
        bench = self._checked(benchmark, self._text("benchmark", self.document["benchmark"]))
        drawn = self._is_random()
        methods = self._methods(bench)
        baseline = self._text("baseline", self.document.get("baseline") or "")
        if baseline and baseline not in methods:
            known = ", ".join(methods)
            sentence = f"the baseline {baseline!r} is not among the methods ({known}){hint(baseline, methods)}"
            raise SweepUsageError(str(self._error(sentence)))
        values, ranges = self._parameters(bench, drawn)
        for axis in map(bench.axis, (*values, *ranges)):
            if not any(map(axis.is_of, methods)):
                raise self._error(f"none of the methods has the axis {axis.name}: {', '.join(axis.methods)} have it")
        return Part(
            benchmark=bench,
            methods=methods,
            baseline=baseline,
            drawn=drawn,
            values=values,
            ranges=ranges,
            exclude=self._exclude(bench),
            seeds=self._seeds(bench, self.document.get("seeds", [bench.axis("seed").default])),
            stop=self._stop(),
            metrics=self._metrics(bench, self.document.get("metrics")),
            **{key: self._limit(key, self.document.get(key, default)) for key, default in _LIMITS.items()},
        )

    def override(self, part: Part, key: str, items: list[str]) -> Part:
        """The part with other values for an axis or for one of SPECIAL; a part that has no such axis stays as it is.

        Raises SweepError.
        """
        if key == "methods":
            for name in items:
                self._checked(method, self._text("methods", name))
            mine = [name for name in items if name in part.benchmark.methods]
            if not mine:
                raise self._error(
                    f"benchmark {part.benchmark.name} runs none of these; it knows {', '.join(part.benchmark.methods)}"
                )
            methods = tuple(dict.fromkeys(mine))
            return replace(part, methods=methods, baseline=part.baseline if part.baseline in methods else "")
        if key == "seeds":
            numbers = [self._axis_value(part.benchmark.axis("seed"), v) for v in items]
            return replace(part, seeds=self._seeds(part.benchmark, numbers[0] if len(numbers) == 1 else numbers))
        if key == "seed":
            return replace(part, seeds=self._seeds(part.benchmark, items))
        if key == "metrics":
            return self._with_metrics(part, items)
        if key in SPECIAL:
            if len(items) != 1:
                raise self._error(f"{key} takes one number")
            return replace(part, **{key: self._limit(key, _number(items[0]))})
        axis = next((a for a in part.benchmark.axes if a.name == key), None)
        if axis is None:
            return part
        values = self._axis_values(axis, items if axis.type is str else [_number(v) for v in items])
        ranges = {name: drawn for name, drawn in part.ranges.items() if name != key}
        return replace(part, values={**part.values, key: values}, ranges=ranges)

    def _is_random(self) -> bool:
        given = self.document.get("method", "grid")
        if given not in ("grid", "random"):
            raise self._error(
                f"method must be grid or random, not {_shown(given)} (what is compared goes under methods)"
            )
        if given == "grid" and "random_seed" in self.document:
            raise self._error("random_seed needs method: random, for nothing of a grid is drawn")
        return bool(given == "random")

    def _methods(self, bench: Benchmark) -> tuple[str, ...]:
        given = self.document["methods"]
        if not isinstance(given, list) or not given:
            raise self._error("methods must be a list of names with at least one in it, such as [dense, hashed]")
        for name in given:
            self._checked(method, self._text("methods", name))
            if name not in bench.methods:
                raise self._error(
                    f"benchmark {bench.name} does not run the method {name}; it runs {', '.join(bench.methods)}"
                )
        return tuple(dict.fromkeys(given))

    def _metrics(self, bench: Benchmark, given: Any) -> tuple[str, ...]:
        if given is None:
            return plugin.usual_metrics(bench.name)
        if not isinstance(given, list):
            raise self._error("metrics must be a list of names that plug-ins declare, such as [precision_at_100]")
        for name in given:
            of = self._checked(metric, self._text("metrics", name)).benchmarks
            if bench.name not in of:
                raise self._error(f"the metric {name} is of the benchmark {' and '.join(of)}, not of {bench.name}")
        return tuple(dict.fromkeys(given))

    def _with_metrics(self, part: Part, items: list[str]) -> Part:
        """The part with those of some metrics that its benchmark can have."""
        mine = [name for name in items if part.benchmark.name in self._checked(metric, name).benchmarks]
        return replace(part, metrics=tuple(dict.fromkeys(mine))) if mine else part

    def _parameters(self, bench: Benchmark, drawn: bool) -> tuple[dict[str, tuple[Scalar, ...]], dict[str, Range]]:
        given = self._mapping("parameters", self.document.get("parameters"))
        self._known_keys(given, [a.name for a in bench.axes], f"axis of benchmark {bench.name}")
        values, ranges = {}, {}
        for name, entry in given.items():
            if name == "seed":
                raise self._error("seeds stand under the key seeds, not under parameters")
            kind = self._entry_kind(f"parameters.{name}", entry)
            if kind == "value":
                values[name] = self._axis_values(bench.axis(name), [entry["value"]])
            elif kind == "values":
                if not isinstance(entry["values"], list):
                    raise self._error(f"parameters.{name}.values must be a list")
                values[name] = self._axis_values(bench.axis(name), entry["values"])
            elif not drawn:
                raise self._error(f"parameters.{name}: min and max need method: random; a grid takes values")
            else:
                ranges[name] = self._range(bench.axis(name), entry)
        return values, ranges

    def _entry_kind(self, where: str, entry: Any) -> str:
        """What an entry of parameters says, by its keys: value, values or range."""
        forms = "{values: [..]} or {value: x}, or with method: random {min: a, max: b}"
        if not isinstance(entry, dict) or not entry:
            raise self._error(f"{where} must be {forms}")
        self._known_keys(entry, ENTRY_KEYS, f"key of {where}")
        keys, kind = set(entry) - {"distribution"}, ""
        if keys in ({"value"}, {"values"}):
            (kind,) = keys
        elif {"min", "max"} <= keys <= {"min", "max", "q"}:
            kind = "range"
        else:
            raise self._error(f"{where} must be {forms}, not {', '.join(map(str, entry))}")
        if "distribution" in entry:
            known = [*OF_VALUES, *DISTRIBUTIONS]
            distribution = self._text(f"{where}.distribution", entry["distribution"])
            if distribution not in known:
                meant = f"{distribution}_values"  # W&B's log_uniform takes exponents
                near = f"; did you mean {meant}?" if meant in known else hint(distribution, known)
                raise self._error(
                    f"{where} has the unknown distribution {distribution!r}{near} Known: {', '.join(known)}"
                )
            wanted = {"constant": "value", "categorical": "values"}.get(distribution, "range")
            if kind != wanted:
                needs = "min and max" if wanted == "range" else wanted
                raise self._error(f"{where}: the distribution {distribution} needs {needs}")
        return kind

    def _range(self, axis: Axis, entry: Mapping[str, Any]) -> Range:
        if axis.choices or axis.type is str:
            raise self._error(f"parameters.{axis.name} takes values, not min and max")
        low, high = (float(self._axis_value(axis, entry[end])) for end in ("min", "max"))
        q = self._number(f"parameters.{axis.name}.q", entry["q"], low=1e-9) if "q" in entry else None
        try:
            return Range.of(axis, low, high, entry.get("distribution", ""), q)
        except ValueError as error:
            raise self._error(f"parameters.{axis.name} {error}") from None

    def _axis_values(self, axis: Axis, items: Sequence[Any]) -> tuple[Scalar, ...]:
        if not items:
            raise self._error(f"axis {axis.name} has no values, so the grid is empty")
        return tuple(dict.fromkeys(self._axis_value(axis, item) for item in items))

    def _axis_value(self, axis: Axis, item: Any) -> Scalar:
        if not isinstance(item, str | int | float):
            raise self._error(f"axis {axis.name} takes single values, not a {_kind(item)}")
        if isinstance(item, str) and len(item) > _MAX_TEXT:
            raise self._error(f"axis {axis.name} takes short values, not a text of {len(item):,} characters")
        try:
            return axis.check(item)
        except ValueError as error:
            raise self._error(f"{error}{hint(item, [str(c) for c in axis.choices])}") from None

    def _exclude(self, bench: Benchmark) -> tuple[dict[str, Scalar], ...]:
        given = self.document.get("exclude") or []
        if not isinstance(given, list) or not all(isinstance(entry, dict) and entry for entry in given):
            raise self._error(
                "exclude must be a list of partial configurations, such as [{method: hashed, threads: 1}]"
            )
        patterns = []
        for entry in given:
            self._known_keys(entry, ["method", *(a.name for a in bench.axes)], "axis in exclude")
            if "method" in entry:
                self._checked(method, self._text("exclude.method", entry["method"]))
            patterns.append({k: v if k == "method" else self._axis_value(bench.axis(k), v) for k, v in entry.items()})
        return tuple(patterns)

    def _seeds(self, bench: Benchmark, given: Any) -> Sequence[int]:
        if isinstance(given, list) and given:
            return tuple(int(v) for v in self._axis_values(bench.axis("seed"), given))
        if isinstance(given, int) and not isinstance(given, bool) and given > 0:
            self._checked(bench.axis("seed").check, given - 1)
            return range(given)
        raise self._error("seeds must be a list of whole numbers, or how many there are to be (at least 1)")

    def _stop(self) -> Stop:
        given = self._mapping("stop", self.document.get("stop"))
        self._known_keys(given, STOP_KEYS, "key of stop")
        return Stop(
            min_samples=self._whole("stop.min_samples", given.get("min_samples", Stop.min_samples)),
            max_seconds=self._number("stop.max_seconds", given.get("max_seconds", Stop.max_seconds), low=1e-3),
            noise_target=self._number("stop.noise_target", given.get("noise_target", Stop.noise_target), low=0.0),
        )

    def _limit(self, key: str, given: Any) -> Any:
        """The value of one of _LIMITS."""
        if given is None and _LIMITS[key] is None:
            return None
        if key == "run_cap":
            return self._whole(key, given, high=MAX_TRIALS_EVER)
        return self._whole(key, given, low=0) if key == "random_seed" else self._number(key, given, low=1e-3)

    # -- checks ----------------------------------------------------------------------------------------------------

    def _error(self, sentence: str) -> SweepError:
        return SweepError(f"{self.where}: {sentence}" + ("" if sentence.endswith((".", "?")) else "."))

    def _checked(self, check: Any, value: Any) -> Any:
        """What a registry look-up or an axis says of a value, with its complaint as ours."""
        try:
            return check(value)
        except UnknownNameError as error:
            raise SweepUsageError(str(self._error(str(error)))) from None
        except ValueError as error:
            raise self._error(str(error)) from None

    def _known_keys(self, given: Mapping[Any, Any], known: Sequence[str], what: str) -> None:
        for key in given:
            if key not in known:
                sentence = f"unknown {what} {key!r:.60}{hint(key, known)} Known: {', '.join(known)}"
                raise SweepUsageError(str(self._error(sentence)))

    def _mapping(self, key: str, given: Any) -> dict[Any, Any]:
        if given is None:
            return {}
        if not isinstance(given, dict):
            raise self._error(f"{key} must be keys and values, not a {_kind(given)}")
        return given

    def _text(self, key: str, given: Any) -> str:
        if not isinstance(given, str):
            raise self._error(f"{key} takes names, not a {_kind(given)}")
        if len(given) > _MAX_TEXT:
            raise self._error(f"{key} takes names, not a text of {len(given):,} characters")
        return given

    def _whole(self, key: str, given: Any, low: int = 1, high: int = 2**31 - 1) -> int:
        if isinstance(given, bool) or not isinstance(given, int) or not low <= given <= high:
            raise self._error(f"{key} must be a whole number from {low} to {high}, not {_shown(given)}")
        return given

    def _number(self, key: str, given: Any, low: float) -> float:
        if isinstance(given, bool) or not isinstance(given, int | float) or not low <= given <= 1e6:
            raise self._error(f"{key} must be a number from {low:g} to 1000000, not {_shown(given)}")
        return float(given)


def _kind(value: Any) -> str:
    names = {dict: "mapping", list: "list", type(None): "missing value", bool: "yes/no value"}
    return names.get(type(value), type(value).__name__)


def _shown(value: Any) -> str:
    return f"{value!r:.60}" if isinstance(value, str | int | float) else f"a {_kind(value)}"


def _number(text: str) -> str | int | float:
    """The number that a text is, 1e6 among them; the text where it is none, for whoever complains about it."""
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return text

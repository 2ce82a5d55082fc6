"""Benchmarks, data sets and metrics that plug-ins declare beside their own code, and what each is made of.

@benchmark("table_sum", "reduction", axes=("num_rows", "embedding_dim"), methods=("dense",))
def run(trial): ...

@data_set("my_clicks", files=("clicks.csv",))
def load(path): ...

@metric("precision_at_100")
def precision(labels, scores): ...
"""

import copy
import hashlib
import inspect
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from bench_engine.methods import identity
from bench_engine.plugin import declared
from bench_engine.plugin.declared import PluginError
from bench_engine.trial import Run, Trial, TrialResult
from db.columns import BY_NAME, OWN_STEP, is_own_name
from db.schema import VIEW_COMMENTS

TRAINING = "training"  # the benchmark of ours that own metrics can be of
_RECORDED = ("loss", "n", "trials")  # a training's own curve, and what counts are called
_METRIC_NAME = re.compile(r"[a-z][a-z0-9_]*")  # what a curve of the results may be called
_DATA_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_T = TypeVar("_T", bound=Callable[..., Any])


@dataclass(frozen=True)
class OwnEntry:
    """What a plug-in declares of one function.

    Attributes:
        name: in sweeps, results and questions.
        text: help, one line.
        place: "module:function".
        file: where it is declared.
        files: what it is made of.
        function: itself; two functions of a module may have one name.
    """

    name: str
    text: str
    place: str
    file: str
    files: tuple[str, ...]
    function: Callable[..., Any] = field(repr=False, compare=False)

    kind = "entry"

    def load(self) -> Any:
        """The function."""
        return self.function

    def source_hash(self) -> str:
        """Of its code. Raises OSError where a file cannot be read."""
        module, _, name = self.place.partition(":")
        return identity.kernel(module, name, self.files, False, (), ())


@dataclass(frozen=True)
class OwnBenchmark(OwnEntry):
    """A benchmark; its function gets the trial (see `benchmark`).

    Attributes:
        op: what is computed.
        axes: names of axes that other benchmarks have, or axes (bench_engine.registry.Axis); the seed is added.
        methods: names of registered methods that it can run, beside those that say so themselves.
        seconds: rough time of one trial, for the estimate where no history exists.
        starts: how often a trial's process is started at least.
    """

    op: str
    axes: tuple[Any, ...]
    methods: tuple[str, ...]
    seconds: float
    starts: int

    kind = "benchmark"

    def run(self, trial: Trial) -> Run:
        """The function as bench_engine.trial.Run; one that gives numbers at once takes one turn."""
        function = self.load()
        if inspect.isgeneratorfunction(function):
            result = yield from function(trial)
        else:
            if not (yield "more"):
                return TrialResult("failed", error="It was ended before anything was measured.")
            result = function(trial)
        if isinstance(result, Mapping):
            result = TrialResult("ok", metrics=dict(result), stop_reason="fixed_count")
        if not isinstance(result, TrialResult):
            raise ValueError(
                f"The benchmark {self.name} gave a {type(result).__name__}: give metrics by name, or a TrialResult."
            )
        return result


@dataclass(frozen=True)
class OwnDataSet(OwnEntry):
    """A data set; its function gets the paths of its files and gives a bench_engine.data.ClickData.

    Attributes:
        needs: paths of its files.
    """

    needs: tuple[str, ...]

    kind = "data set"

    @property
    def absent(self) -> str:
        """One sentence about the first file that is not there; empty where all are."""
        for path in self.needs:
            if not Path(path).is_file():
                return f"The data set {self.name} needs {path}, which is not there: put it there, or mend its path."
        return ""


@dataclass(frozen=True)
class OwnMetric(OwnEntry):
    """A metric; its function gets what a benchmark found.

    Attributes:
        benchmarks: whose trials can have it.
        unit: of its values; empty for none.
        better: higher or lower, where one is better; else empty.
    """

    benchmarks: tuple[str, ...]
    unit: str = ""
    better: str = ""

    kind = "metric"

    def value(self, *found: Any) -> float | str:
        """What it is of what was found; a sentence where it has no number."""
        try:
            given = self.load()(*found)
        except (Exception, SystemExit) as error:
            said = (str(error).splitlines() or ["no message"])[0][:200]
            return self.complaint(f"ended with {type(error).__name__}: {said}")
        return self.checked(given)

    def checked(self, given: Any) -> float | str:
        """A number that is finite; else a sentence."""
        try:
            number = float(given)
        except (TypeError, ValueError, OverflowError):
            return self.complaint(f"gave a {type(given).__name__}, which is no number")
        return number if abs(number) < float("inf") else self.complaint(f"gave {number}, which is no finite number")

    def complaint(self, said: str) -> str:
        """A sentence on what went wrong with it."""
        return f"The metric {self.name} {said}: mend it in {Path(self.file).name}; the trial has its other results."


_entries: dict[tuple[str, str], OwnEntry] = {}
_E = TypeVar("_E", bound=OwnEntry)


def benchmark(
    name: str,
    op: str,
    text: str = "",
    *,
    axes: Sequence[Any],
    methods: Sequence[str] = (),
    seconds: float = 10.0,
    starts: int = 1,
    sources: Sequence[str] = (),
) -> Callable[[_T], _T]:
    """Declare a function as a benchmark.

    Args:
        name: in sweeps, results and questions: small letters, digits and underscores.
        op, axes, methods, seconds, starts: see OwnBenchmark.
        text: help, one line.
        sources: other files that it is made of, beside those that it imports from beside it.

    The function gets a bench_engine.trial.Trial. It gives metrics by name (columns of the results, or own metrics of
    this benchmark), or, as a generator that takes turns with other methods, a bench_engine.trial.Run; see `timed`.

    Raises PluginError.
    """

    def declare(function: _T) -> _T:
        _check_name("benchmark", name, _METRIC_NAME, "small letters, digits and underscores")
        if isinstance(axes, str) or isinstance(methods, str):
            raise PluginError(f"The axes and methods of the benchmark {name} must be lists of names.")
        if isinstance(starts, bool) or not isinstance(starts, int) or starts < 1:
            raise PluginError(f"The benchmark {name} must start a trial at least once, not {starts!r} times.")
        about = _about("benchmark", name, text, function, sources)
        _add(OwnBenchmark(*about, op, tuple(axes), tuple(methods), seconds, starts))
        declared.known.benchmarks.add(name)
        return function

    return declare


def data_set(
    name: str, text: str = "", *, files: Sequence[str] = (), sources: Sequence[str] = ()
) -> Callable[[_T], _T]:
    """Declare a function as a data set that click models are trained on.

    Args:
        name: in sweeps, results and questions: letters, digits, underscores and dashes.
        text: help, one line.
        files: data files, paths from the plug-in's folder; the function gets the path of each.
        sources: other files that the function is made of.

    The function gives a bench_engine.data.ClickData. Raises PluginError.
    """

    def declare(function: _T) -> _T:
        _check_name("data set", name, _DATA_NAME, "letters, digits, underscores and dashes")
        if isinstance(files, str):
            raise PluginError(f"The files of the data set {name} must be a list of paths.")
        about = _about("data set", name, text, function, sources)
        near = Path(about[3]).parent
        _add(OwnDataSet(*about, tuple(str(near / Path(file).expanduser()) for file in files)))
        return function

    return declare


def metric(
    name: str,
    text: str = "",
    *,
    benchmarks: Sequence[str] = (TRAINING,),
    unit: str = "",
    better: str = "",
    sources: Sequence[str] = (),
) -> Callable[[_T], _T]:
    """Declare a function as a metric.

    Args:
        name: in sweeps, results and questions: small letters, digits and underscores.
        text: help, one line.
        benchmarks: training, whose sweeps ask for it under `metrics`, or benchmarks of plug-ins, which report it.
        unit: of its values.
        better: higher or lower, where one is better.
        sources: other files that the function is made of.

    The function of a training gets the labels (n,), 0 or 1, and the scores (n,), logits, of the test part as arrays,
    and gives a number. A benchmark of a plug-in calls it as it likes. Raises PluginError.
    """

    def declare(function: _T) -> _T:
        _check_name("metric", name, _METRIC_NAME, "small letters, digits and underscores")
        if name in BY_NAME or name in VIEW_COMMENTS or name in _RECORDED:
            raise PluginError(f"There is a metric or column {name} already: give that of the plug-in another name.")
        if not is_own_name(name):
            raise PluginError(f"The metric {name} needs another name: this one means something in SQL, or is too long.")
        if better not in ("higher", "lower", ""):
            raise PluginError(f"What is better of the metric {name} must be higher or lower, not {better!r}.")
        for of in [benchmarks] if isinstance(benchmarks, str) else benchmarks:
            if of != TRAINING and of not in declared.known.benchmarks:
                raise PluginError(
                    f"The metric {name} cannot be of {of}: name {TRAINING}, or a benchmark that a plug-in has declared."
                )
        of_all = (benchmarks,) if isinstance(benchmarks, str) else tuple(benchmarks)
        _add(OwnMetric(*_about("metric", name, text, function, sources), of_all, unit, better))
        return function

    return declare


def timed(trial: Trial, call: Callable[[int], object], metrics: Mapping[str, Any]) -> Run:
    """The rest of a benchmark that times calls: turns until there are samples enough, then latency and its percentiles.

    Args:
        call: what is timed; its argument counts the calls.
        metrics: what else was found, by name.

    For `return (yield from timed(...))`.
    """
    from bench_engine.measure.measure import Sampler, summarize

    timing = yield from Sampler(call, trial.stop).turns()
    found = summarize(timing.samples_us, timing.turn_sizes, int(trial.config["seed"]))
    return timing.result({**found, **metrics}, {})


# -- what there is -------------------------------------------------------------------------------------------------


def own_benchmarks() -> tuple[OwnBenchmark, ...]:
    """Those that plug-ins have declared."""
    return tuple(_of(OwnBenchmark))


def own_data_sets() -> tuple[OwnDataSet, ...]:
    """Those that plug-ins have declared."""
    return tuple(_of(OwnDataSet))


def own_metrics() -> tuple[OwnMetric, ...]:
    """Those that plug-ins have declared."""
    return tuple(_of(OwnMetric))


def usual_metrics(benchmark_name: str) -> tuple[str, ...]:
    """What trials have where their sweep names no metrics: all that a plug-in's own benchmark may report."""
    if benchmark_name not in declared.known.benchmarks:
        return ()
    return tuple(m.name for m in own_metrics() if benchmark_name in m.benchmarks)


def declared_in(file: str) -> bool:
    """Whether a file has declared a benchmark, a data set or a metric."""
    return any(entry.file == file for entry in _entries.values())


def parts_of(trial: Trial) -> dict[str, str]:
    """What plug-ins bring to a trial beside its method, as `metric ndcg` -> hash of its code: a change of it runs the
    trial anew. Raises OSError where a file cannot be read."""
    wanted = [
        ("benchmark", trial.benchmark),
        ("data set", str(trial.config.get("dataset", ""))),
        *(("metric", name) for name in trial.metrics),
    ]
    return {f"{kind} {name}": _entries[kind, name].source_hash() for kind, name in wanted if (kind, name) in _entries}


def with_parts(source_hash: str, parts: Mapping[str, str]) -> str:
    """What stands for the code of a trial: that of its method, with what else plug-ins bring to it."""
    if not parts:
        return source_hash
    return hashlib.sha256(repr((source_hash, sorted(parts.items()))).encode()).hexdigest()[:16]


def measured(trial: Trial, *found: Any) -> dict[str, float | str]:
    """The own metrics of a trial, of what was found; a sentence in the place of one that has no number."""
    named = {entry.name: entry for entry in own_metrics()}
    # Of copies: one that works in place changes nothing for the next.
    return {name: named[name].value(*copy.deepcopy(found)) for name in trial.metrics if name in named}


def stored(trial: Trial, result: TrialResult) -> tuple[tuple[tuple[str, int, float], ...], dict[str, str]]:
    """The own metrics that a trial has reported, as points of curves, and name -> sentence of those it has not."""
    points: list[tuple[str, int, float]] = []
    complaints: dict[str, str] = {}
    for entry in (m for m in own_metrics() if m.name in trial.metrics):
        given = result.metrics.get(entry.name)
        if given is None:
            given = entry.complaint(f"was not reported by the benchmark {trial.benchmark}")
        value = given if isinstance(given, str) else entry.checked(given)
        if isinstance(value, str):
            complaints[entry.name] = value
        else:
            points.append((entry.name, OWN_STEP, value))
    return tuple(points), complaints


def said_of(names: Collection[str]) -> dict[str, dict[str, str]]:
    """What plug-ins say of their metrics, of those that are named, as results keep it."""
    named = (m for m in own_metrics() if m.name in names)
    return {m.name: {"text": m.text, "unit": m.unit, "better": m.better} for m in named}


def _of(kind: type[_E]) -> Iterator[_E]:
    return (entry for entry in _entries.values() if isinstance(entry, kind))


def _check_name(kind: str, name: str, pattern: re.Pattern[str], allowed: str) -> None:
    if not isinstance(name, str) or not pattern.fullmatch(name):
        raise PluginError(f"The {kind} {name!r} needs another name: {allowed}.")


def _about(
    kind: str, name: str, text: str, function: Callable[..., Any], sources: Sequence[str]
) -> tuple[str, str, str, str, tuple[str, ...], Callable[..., Any]]:
    """Name, text, place, file, files and function of a declaration. Raises PluginError."""
    own = getattr(function, "__qualname__", "")
    if not callable(function) or not own.isidentifier():
        raise PluginError(f"The {kind} {name} must be a function of its module, where other processes find it.")
    module = function.__module__
    told = text or declared.first_line(function.__doc__, name)
    return name, told, f"{module}:{own}", declared.file_of(module), declared.files_of(module, sources), function


def _add(entry: OwnEntry) -> None:
    """Have an entry known in this process; a module that is loaded by another name takes the place of the former.

    In the script that is run, which no other process can import, nothing is declared: it is named as a plug-in.
    Raises PluginError.
    """
    module = entry.place.partition(":")[0]
    if module == "__main__":
        return
    before = _entries.get((entry.kind, entry.name))
    if before and (before.file != entry.file or (before.place == entry.place and declared.loading_now())):
        raise PluginError(f"Two plug-ins declare a {entry.kind} {entry.name}: give one of them another name.")
    if before and before.place.partition(":")[2] != entry.place.partition(":")[2]:
        raise PluginError(f"Two functions declare a {entry.kind} {entry.name}: give one of them another name.")
    _entries[entry.kind, entry.name] = entry

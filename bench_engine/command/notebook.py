"""`bench_engine.bench`: a class or function of one's own, measured from Python or a notebook by the engine's own way.

Nothing is timed in the process that calls it: the method becomes a plug-in (bench_engine.plugin), the axes a sweep, and
a run measures its trials in processes of their own, with journal and results as for any sweep.
"""

import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import yaml

from bench_engine import registry
from bench_engine.command.benched import MEASURED, Benched
from bench_engine.plan import planning
from bench_engine.plugin import loading_now
from bench_engine.registry.readiness import build_ahead
from bench_engine.report.trial_rows import rows_of
from bench_engine.run import runner
from bench_engine.run.executors.local import LocalExecutor
from bench_engine.sweep import sweep as sweeps
from bench_engine.sweep.part import SweepError
from db.runs import RunState
from db.settings import journal_dir
from db.store import Store

Implementation = str | Callable[..., Any]


def bench(
    method: Implementation,
    against: Implementation | Sequence[Implementation] = "dense",
    *,
    benchmark: str = "",
    name: str = "",
    seeds: int | Sequence[int] = 1,
    stop: Mapping[str, float] | None = None,
    quick: bool = False,
    force: bool = False,
    retry_failed: bool = False,
    db: str | None = None,
    **axes: Any,
) -> Benched:
    """Measure a method of your own beside others, and keep the results like those of any sweep.

    Args:
        method: a class or function as `@method` takes one (bench_engine.plugin.method), of a file or of this notebook,
            or the name of a method.
        against: what it is compared with, the same; of several the first is the baseline.
        benchmark: in which it is run; lookup where it is empty, and callable for what is declared by `@implements`.
        name: what it is called in results and questions; from its own name where that is empty.
        seeds: how many trials with seeds of their own, or which seeds.
        stop: keys of the stop rule of a sweep: min_samples, max_seconds, noise_target.
        quick, force, retry_failed: as for `python -m bench_engine run`.
        db: the results; those of MIRROR_DB where it is None.
        axes: axes of the benchmark, one value or several: num_rows=100_000, batch_size=[64, 512]; the others have their
            default.

    Must be called from the main thread, for Ctrl-C ends the trials. Raises PluginError, SweepError, MachineBusyError,
    JournalError, StoreError or RunStateError with one sentence.
    """
    if loading_now():
        raise SweepError(
            "bench was called while the file that it is called from was loaded as a plug-in: put the call under "
            "`if __name__ == '__main__':`, or into another file."
        )
    if threading.current_thread() is not threading.main_thread():
        raise SweepError("bench must be called from the main thread, which alone can end its trials at Ctrl-C.")
    store = Store(db)
    folder = journal_dir(store.url) / "plugins"
    others = [against] if isinstance(against, str) or callable(against) else list(against)

    def known_as(implementation: Implementation, called: str = "") -> str:
        return implementation if isinstance(implementation, str) else registry.with_own(implementation, called, folder)

    baseline, *more = [known_as(other) for other in others] or [""]
    own = known_as(method, name)
    _check_names([*([baseline] if others else []), *more, own], [*others, method])
    if benchmark in ("", "callable") and own in registry.BENCHMARKS["callable"].methods:
        benchmark = "callable"
        axes = {"operator": registry.method(own).supports["operator"][0], **axes}
    loaded = _sweep(own, baseline, more, benchmark or "lookup", seeds, stop, axes)
    how = runner.Options(url=db, retry_failed=retry_failed, force=force, quick=quick)
    names = {name for part in loaded.parts for name in part.methods}
    state = runner.run(loaded, how, LocalExecutor(lambda: build_ahead(names, _say)), _say)
    if state.status == "cancelled":
        raise KeyboardInterrupt(state.message)
    made = planning.plan(loaded, (), db, quick=quick)
    rows = rows_of(store, [(p.identity, p.trial) for p in made.trials], MEASURED)
    found = {axis.name: {row[axis.name] for row in rows if axis.name in row} for axis in loaded.parts[0].benchmark.axes}
    varied = [axis for axis, values in found.items() if len(values) > 1]
    return Benched(loaded.name, baseline, tuple(varied), rows, _sentence(state, store))


def _check_names(names: Sequence[str], given: Sequence[Implementation]) -> None:
    """Raises SweepError where two different methods are called the same: the first would not be measured."""
    known: dict[str, Implementation] = {}
    for name, implementation in zip(names, given, strict=True):
        if (other := known.setdefault(name, implementation)) is not implementation and other != implementation:
            raise SweepError(
                f"Two methods are called {name}: give one of them another name, by @method('my_{name}', ...)."
            )


def _sweep(
    own: str,
    baseline: str,
    more: Sequence[str],
    benchmark: str,
    seeds: int | Sequence[int],
    stop: Mapping[str, float] | None,
    axes: Mapping[str, Any],
) -> sweeps.Sweep:
    """The sweep that a call asks for; its text is a sweep file. Raises SweepError."""
    methods = list(dict.fromkeys([*([baseline] if baseline else []), *more, own]))
    document: dict[str, Any] = {"benchmark": benchmark, "methods": methods}
    if baseline:
        document["baseline"] = baseline
    if axes:
        document["parameters"] = {a: _entry(_shape(v) if a == "shape" else v) for a, v in axes.items()}
    document["seeds"] = [_plain(seed) for seed in seeds] if hasattr(seeds, "__iter__") else _plain(seeds)
    if stop:
        document["stop"] = {key: _plain(value) for key, value in stop.items()}
    against = f" against {', '.join(methods[:-1])}" if len(methods) > 1 else ""
    try:
        text = f"# {own}{against}, from Python\n" + yaml.safe_dump(document, sort_keys=False)
    except yaml.YAMLError:
        strange = next((a for a, v in axes.items() if not _is_plain(_entry(v))), "an axis")
        raise SweepError(f"bench takes numbers and texts for {strange}, one or a list of them.") from None
    return sweeps.parse(text, f"bench_{own}")


def _entry(value: Any) -> dict[str, Any]:
    several = isinstance(value, list | tuple | range | set) or getattr(value, "ndim", 0) == 1
    return {"values": [_plain(v) for v in value]} if several else {"value": _plain(value)}


def _shape(value: Any) -> Any:
    """A shape of numpy or torch as its axis has it, `64x512`; each of several."""
    if isinstance(value, tuple) and value and all(isinstance(_plain(n), int) for n in value):
        return "x".join(str(_plain(n)) for n in value)
    return [_shape(each) for each in value] if isinstance(value, list | tuple) else value


def _plain(value: Any) -> Any:
    """A number of numpy or torch as one of Python's."""
    return value.item() if hasattr(value, "item") and not isinstance(value, type) else value


def _is_plain(entry: Mapping[str, Any]) -> bool:
    values = entry["values"] if "values" in entry else [entry["value"]]
    return all(isinstance(value, str | int | float) for value in values)


def _sentence(state: RunState, store: Store) -> str:
    counts = [f"{state.done} of {state.total} trials have results"]
    counts += [
        f"{number} {word}" for number, word in ((state.failed, "failed"), (state.skipped, "cannot run")) if number
    ]
    return f"Sweep {state.sweep} in {store.name}: {', '.join(counts)}."


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)

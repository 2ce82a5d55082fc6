"""`suggest`: what to use for a budget in MB on some data, by a small search that is kept like any run.

The search is a sweep of the benchmark training with split validation (bench_engine.suggest.budgets), so a trial
that was measured before is not measured again, and a search that was stopped goes on. Nothing is chosen by a test part.
"""

import math
import statistics
import sys
import time as clock
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bench_engine import registry
from bench_engine.data import ClickData
from bench_engine.data.files import DataMissingError
from bench_engine.data.problems import DataFileError
from bench_engine.plan import planning
from bench_engine.registry.readiness import build_ahead
from bench_engine.report.trial_rows import Row, rows_of
from bench_engine.run import runner
from bench_engine.run.executors import GroupResult, Running
from bench_engine.run.executors.local import LocalExecutor
from bench_engine.run.groups.group import Group
from bench_engine.suggest import budgets, construction
from bench_engine.suggest.budgets import Sizes
from bench_engine.suggest.suggestion import LeftOut, SuggestError, Suggestion, Table, chosen, reason
from bench_engine.sweep.sweep import Sweep
from db.store import Store

_MEASURED = ("auc", "memory_mb", "metadata_mb", "latency_us", "num_rows")
_NO_TIME = "it was not trained within the time limit; the same command goes on from here."


@dataclass(frozen=True)
class Asked:
    """What is asked for.

    Attributes:
        budget_mb: MB (1e6 bytes) that a table may hold, metadata included.
        data: a registered data set, or the path of a CSV or Parquet file.
        label, fields, liked, time: of a file, see bench_engine.data.sets.own_table.load.
        embedding_dim: dimension D.
        methods: what is tried; those of bench_engine.suggest.budgets unless given.
        seeds: trainings of each table.
        lookups: whether their lookups are timed too.
    """

    budget_mb: float
    data: str
    label: str = ""
    fields: tuple[str, ...] = ()
    liked: float | None = None
    time: str = ""
    embedding_dim: int = 16
    methods: tuple[str, ...] = budgets.METHODS
    seeds: int = 1
    lookups: bool = False


@dataclass(frozen=True)
class Search:
    """What would be run.

    Attributes:
        asked: what it is for.
        sizes: of the data.
        sweep, plan: the trainings; None where a dense table fits.
        lookups: the sweep that times lookups, run where that is asked for; None where there is none.
    """

    asked: Asked
    sizes: Sizes
    sweep: Sweep | None = None
    plan: planning.Plan | None = None
    lookups: Sweep | None = None

    @property
    def dense_fits(self) -> bool:
        """Whether a dense float32 table takes no more than the budget."""
        return self.sweep is None


def suggest(
    budget_mb: float,
    data: str | Path,
    *,
    label: str = "",
    fields: Sequence[str] = (),
    liked: float | None = None,
    time: str = "",
    embedding_dim: int = 16,
    methods: Sequence[str] = budgets.METHODS,
    seeds: int = 1,
    lookups: bool = False,
    time_limit_s: float | None = None,
    db: str | None = None,
    say: Callable[[str], None] | None = None,
) -> Suggestion:
    """Train what can keep the budget, as far as it is not done, and suggest one of it.

    Args:
        time_limit_s: no training is begun that would end later, by those before it; None for no limit.
        db: the results; those of MIRROR_DB where it is None.
        say: is told how it goes; standard error unless given.
        methods, seeds, lookups, embedding_dim, label, fields, liked, time: see Asked.

    Must be called from the main thread, for Ctrl-C ends the trials. Raises SuggestError, UnknownNameError,
    DataFileError or DataMissingError for what is asked; SweepError, MachineBusyError, JournalError, StoreError or
    RunStateError as any run.
    """
    asked = Asked(
        budget_mb, str(data), label, tuple(fields), liked, time, embedding_dim, tuple(methods), seeds, lookups
    )
    how = runner.Options(url=db)
    return carried_out(planned(asked, how), time_limit_s, how, say or _say)


def planned(asked: Asked, how: runner.Options | None = None) -> Search:
    """What would be run. Reads the data, and raises what `suggest` raises of what is asked.

    Args:
        how: url and retry_failed of it.
    """
    if asked.embedding_dim < 1 or asked.seeds < 1:
        raise SuggestError("The dimension and the number of seeds must be 1 or more.")
    sizes = _sizes(asked)
    budgets.checked(asked.budget_mb, sizes)
    if asked.budget_mb * 1e6 >= sizes.dense_bytes:
        return Search(asked, sizes)
    sweep = budgets.sweep(asked.budget_mb, sizes, asked.methods, asked.seeds)
    timed = budgets.lookups(asked.budget_mb, sizes, asked.methods)
    return Search(asked, sizes, sweep, _plan(sweep, how or runner.Options()), timed)


def check_time_limit(time_limit_s: float | None) -> None:
    """Raises SuggestError unless it is None or a number of seconds."""
    if time_limit_s is not None and not 0 <= time_limit_s < math.inf:
        raise SuggestError(f"The time limit must be a number of seconds, 0 or more, not {time_limit_s:g}.")


def carried_out(
    search: Search,
    time_limit_s: float | None = None,
    how: runner.Options | None = None,
    say: Callable[[str], None] = print,
) -> Suggestion:
    """Run what is left of a search, and tell what it found. Raises KeyboardInterrupt where it was stopped.

    Args:
        how: url, retry_failed and wait of it.
    """
    how, began = how or runner.Options(), clock.monotonic()
    check_time_limit(time_limit_s)
    if search.sweep is None:
        return _of_dense(search)
    if (rows := search.sizes.train_rows) < budgets.STEPS * search.sizes.batch_size:
        say(f"There are {rows:,} rows to train on: AUCs of so few tell little, give more.")
    names = {name for part in search.sweep.parts for name in part.methods}
    trainings = how
    store = Store(how.url)
    there = store.path is None or store.path.exists()
    if there and any(_of_other_files(row, search.sizes) for row in _rows(search.sweep, how.url)):
        say(f"The files of {search.sizes.data} are not those that were trained on before: all is trained anew.")
        trainings = replace(how, force=True)
    _run(search.sweep, trainings, OneByOne(lambda: build_ahead(names, say), time_limit_s), say)
    if search.asked.lookups and search.lookups:
        left_s = math.inf if time_limit_s is None else time_limit_s - (clock.monotonic() - began)
        if _plan(search.lookups, how).seconds <= left_s:
            _run(search.lookups, how, LocalExecutor(), say)
        else:
            say("There is no time left to time lookups; the same command goes on from here.")
    return found(search, how.url)


def _plan(sweep: Sweep, how: runner.Options) -> planning.Plan:
    return planning.plan(sweep, (), how.url, how.retry_failed, how.force)


def _run(sweep: Sweep, how: runner.Options, executor: LocalExecutor, say: Callable[[str], None]) -> None:
    """Run what is left, where there is anything: else another run may hold the machine."""
    plan = _plan(sweep, how)
    if not plan.of("todo") and all(item.recorded for item in plan.of("skip")):
        return
    state = runner.run(sweep, how, executor, say)
    if state.status == "cancelled":
        raise KeyboardInterrupt(state.message)


def found(search: Search, db: str | None = None) -> Suggestion:
    """What the results hold of a search."""
    if search.sweep is None:
        return _of_dense(search)
    asked, sizes = search.asked, search.sizes
    rows = tuple(row for row in _rows(search.sweep, db) if not _of_other_files(row, sizes))
    timed = _rows(search.lookups, db) if search.lookups else ()
    lookup_us = {(row["method"], row["compression"]): row["latency_us"] for row in timed if row["status"] == "ok"}
    tables = tuple(sorted(_tables(rows, lookup_us), key=lambda t: (t.memory_mb, t.method)))
    best = chosen(tables, asked.budget_mb)
    return Suggestion(
        sizes.data,
        asked.budget_mb,
        sizes.dense_bytes / 1e6,
        sizes.embedding_dim,
        sizes.field_rows,
        tables,
        best,
        why=reason(best, tables, asked.budget_mb),
        left_out=tuple(_left_out(search, tables, rows)),
        code=construction.code(best, asked.budget_mb, sizes) if best else "",
    )


class OneByOne(LocalExecutor):
    """Runs trials one after the other, each to its end: no times are compared, and so a search that is stopped has
    tables that are trained, where trials that take turns would all be half done."""

    def __init__(self, prepare: Callable[[], object] = bool, limit_s: float | None = None) -> None:
        super().__init__(prepare)
        self._limit_s = math.inf if limit_s is None else limit_s

    def run(self, groups: Sequence[Group], running: Running) -> Iterator[GroupResult]:
        """Run the groups' trials, as long as there is time for one as long as the longest before it."""
        began, longest = clock.monotonic(), 0.0
        for member in (m for group in groups for m in group.members):
            start = clock.monotonic()
            if start - began + (longest or member.seconds) > self._limit_s:
                continue
            yield from super().run([Group((member,))], running)
            if self._killed:
                return
            longest = max(longest, clock.monotonic() - start)


# -- what is asked -------------------------------------------------------------------------------------------------


def _sizes(asked: Asked) -> Sizes:
    """What the data are. Raises DataFileError, DataMissingError, UnknownNameError or SuggestError."""
    name = _data_name(asked)
    if absent := registry.missing(name):
        raise DataMissingError(absent)
    data: ClickData = registry.data_set(name).load().load()
    from bench_engine.data.validation import validation_cut  # loads numpy

    cut = validation_cut(data)
    for part, labels in (("training", cut.train_labels), ("validation", cut.test_labels)):
        if not 0 < labels.sum() < len(labels):
            raise SuggestError(
                f"{name} has clicks alone or none in its {part} part, which tells nothing of tables: give more rows."
            )
    return Sizes(name, data.field_rows, asked.embedding_dim, len(cut.train_labels))


def _data_name(asked: Asked) -> str:
    """Name of the data set; that of a file is known from now on."""
    if asked.data in registry.DATA_SETS:
        if asked.label or asked.fields or asked.time or asked.liked is not None:
            raise SuggestError(f"{asked.data} is a data set that is known: label, fields, time and liked are of files.")
        return asked.data
    path = Path(asked.data).expanduser()
    if not path.is_file():
        known = ", ".join(registry.DATA_SETS)
        raise registry.UnknownNameError(
            f"There is no data set and no file {asked.data!r}{registry.hint(asked.data, registry.DATA_SETS)} "
            f"Known: {known}; or give the path of a CSV or Parquet file."
        )
    if not asked.label:
        from bench_engine.data.sets.own_table import column_names  # loads numpy

        raise DataFileError(
            f"It is not said which column of {path.name} tells clicks: name as label one of "
            f"{', '.join(column_names(path)[:20])}."
        )
    table = registry.own_table(path, asked.label, asked.fields, asked.liked, asked.time)
    registry.with_table(table)
    return table.name


# -- what was found ------------------------------------------------------------------------------------------------


def _of_dense(search: Search) -> Suggestion:
    sizes, budget_mb = search.sizes, search.asked.budget_mb
    dense_mb = sizes.dense_bytes / 1e6
    why = (
        f"A dense float32 table fits: it takes {dense_mb:.4g} of {budget_mb:g} MB at dimension "
        f"{sizes.embedding_dim}, so nothing was searched."
    )
    dense = Table("dense", 1.0, dense_mb, 0.0, (), 0.0)
    return Suggestion(
        sizes.data, budget_mb, dense_mb, sizes.embedding_dim, sizes.field_rows, dense_fits=True, why=why,
        code=construction.code(dense, budget_mb, sizes),
    )  # fmt: skip


def _rows(sweep: Sweep, db: str | None) -> tuple[Row, ...]:
    return rows_of(Store(db), [(p.identity, p.trial) for p in planning.plan(sweep, (), db).trials], _MEASURED)


def _of_other_files(row: Row, sizes: Sizes) -> bool:
    """Whether a result is of other files under the same name, as the rows say that they need."""
    return row["status"] == "ok" and row.get("num_rows") not in (None, sizes.rows)


def _tables(rows: Sequence[Row], lookup_us: Mapping[tuple[str, float], float]) -> Iterator[Table]:
    by_table: dict[tuple[str, float], list[Row]] = {}
    for row in rows:
        if row["status"] == "ok" and row["auc"] is not None:
            by_table.setdefault((row["method"], row["compression"]), []).append(row)
    for (method, compression), of_table in by_table.items():
        yield Table(
            method,
            compression,
            max(row["memory_mb"] for row in of_table),
            max(row["metadata_mb"] or 0.0 for row in of_table),
            tuple(sorted((row["seed"], row["auc"]) for row in of_table)),
            statistics.median(row["latency_us"] for row in of_table),
            lookup_us.get((method, compression)),
        )


def _left_out(search: Search, tables: Sequence[Table], rows: Sequence[Row]) -> Iterator[LeftOut]:
    """What was tried for the budget and is no choice: too large, without a result, or not reached."""
    asked, sizes = search.asked, search.sizes
    for name in asked.methods:
        if not (share := budgets.share_of(name, asked.budget_mb, sizes)):
            yield LeftOut(name, None, f"{asked.budget_mb:g} MB do not hold the least that it takes.")
        for table in tables:
            if (table.method, table.compression) == (name, share) and table.memory_mb > asked.budget_mb:
                why = f"it holds {table.memory_mb:.4g} MB, more than {asked.budget_mb:g} MB."
                yield LeftOut(name, share, why)
    assert search.plan
    got = {(row["method"], row["compression"], row["seed"]): row for row in rows}
    told: set[tuple[str, float]] = set()
    for trial in (p.trial for p in search.plan.trials):
        key = trial.method, float(trial.config["compression"])
        row = got.get((*key, trial.config["seed"]))
        if key not in told and (row is None or row["status"] != "ok"):
            told.add(key)
            yield LeftOut(*key, _NO_TIME if row is None else row["error"] or row["status"])


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)

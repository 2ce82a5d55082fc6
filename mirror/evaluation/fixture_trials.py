"""The trials of a fixture: as records of the journal, and as a database of results."""

import itertools
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from db.columns import AXES, GROUP_AXES, IMPLIED
from db.record import Record
from db.store import Store
from mirror.evaluation.fixture_measurements import Values, chance, digest, grouped, lookups, steps, trainings
from mirror.evaluation.fixtures import Fixture, Machine, fits

_CODE = "98c41bd"  # the commit of most trials
_RIVALS = ("fbgemm_tbe", "inductor", "jax")
_OF_ANY_TRIAL = (
    "trial_id", "identity", "configuration", "comparison", "is_baseline", "sweep", "machine_id", "started_at",
    "duration_s", "code_version",
)  # fmt: skip


def records(fixture: Fixture) -> list[Record]:
    """Every trial of a fixture, failed and superseded ones too; the same on every call."""
    book = _Book(fixture)
    first = fixture.machines[0]
    for training, machine in itertools.product(fixture.trainings, fixture.machines):
        for values in trainings(fixture, training.code, machine):
            if fits(training.where, values):
                book.add(values, training.start, machine, "memory_vs_auc", training.code)
    for turn, machine in itertools.product(fixture.passes, fixture.machines):
        for values in lookups(fixture, turn, machine):
            book.add(values, turn.start, machine, "rivals" if values["method"] in _RIVALS else "lookup", turn.code)
    if fixture.stepped:
        for values in steps(fixture):
            book.add(values, fixture.stepped, first, "fiited_speed", _CODE)
    if fixture.grouped:
        for values in grouped(fixture):
            book.add(values, fixture.grouped, first, "parallel_op", _CODE)
    return book.records


def build(fixture: Fixture, folder: Path) -> Path:
    """A DuckDB file with the results of a fixture, built as a run would have built it."""
    path = folder / f"{fixture.name}.duckdb"
    store = Store(str(path))
    store.ensure()
    store.add(records(fixture))
    store.checkpoint()
    return path


class _Book:
    """The records so far; times count on from the start of each part."""

    def __init__(self, fixture: Fixture) -> None:
        self.fixture = fixture
        self.records: list[Record] = []
        self._last: dict[datetime, int] = {}

    def add(self, values: Values, start: datetime, machine: Machine, sweep: str, code: str) -> None:
        """One trial: `values` are its axes and what was measured; those of the machine and the time are added."""
        axes = {k: v for k, v in values.items() if k in AXES}
        number = self._last[start] = self._last.get(start, -1) + 1
        machine_id = digest("machine", self.fixture.name, machine.name)
        # Another commit is another kernel, and thus another trial.
        identity = digest("identity", machine_id, code, axes)
        trial = {
            **values, "device": machine.device, "machine_id": machine_id, "code_version": code, "sweep": sweep,
            "started_at": start + timedelta(seconds=20 * number), "duration_s": 4.0 + 2 * chance("duration", identity),
        }  # fmt: skip
        trial |= {"trial_id": f"{identity}-1", "identity": identity, "status": "ok"}
        trial |= {"configuration": _configuration(axes), "comparison": _comparison(axes)}
        samples, curves = trial.pop("samples", ()), trial.pop("curves", ())
        failure = next((f for f in self.fixture.failures if fits(f.where, {**trial, "machine": machine.name})), None)
        if failure:
            trial = {k: v for k, v in trial.items() if k in AXES or k in _OF_ANY_TRIAL} | {"device": None}
            trial |= {"status": failure.status, "error": failure.error}
            samples = curves = ()
        self.records.append(Record(trial, samples, curves, _machine_row(machine, machine_id), _sweep_row(sweep, start)))


def _planned(axes: Mapping[str, Any]) -> dict[str, Any]:
    planned = {k: v for k, v in axes.items() if k not in ("op", "dtype", "benchmark")}
    return {k: v for k, v in planned.items() if IMPLIED.get(k) != (axes["benchmark"], v)}


def _configuration(axes: Mapping[str, Any]) -> str:
    return digest(axes["benchmark"], _planned(axes))


def _comparison(axes: Mapping[str, Any]) -> str:
    return digest(axes["benchmark"], {k: v for k, v in _planned(axes).items() if k in GROUP_AXES})


def _machine_row(machine: Machine, machine_id: str) -> dict[str, Any]:
    return {
        "machine_id": machine_id, "name": machine.name, "cpu": machine.cpu, "cores": machine.cores,
        "l2_kb": machine.l2_kb, "l3_kb": machine.l3_kb, "memory_gb": machine.memory_gb, "gpu": machine.gpu,
        "os": "Linux",
    }  # fmt: skip


def _sweep_row(sweep: str, start: datetime) -> dict[str, Any]:
    return {"sweep_id": digest("sweep", sweep), "name": sweep, "started_at": start}

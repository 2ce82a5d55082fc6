"""The engine's overhead, measured with real workers and written nowhere."""

from pathlib import Path

import pytest

from bench_engine.run import runner
from bench_engine.selfcheck import SelfCheckError, overhead
from bench_engine.sweep.sweep import Sweep
from db.runs import RunState
from db.store import Store


def test_what_the_engine_costs(engine, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = engine.folder / "mine.journal"
    monkeypatch.setenv("MIRROR_JOURNAL", str(journal))
    found = overhead.measure()
    assert 0 < found.trial_s < 60
    assert 0 < found.sample_ns < 50_000
    assert found.sample_share == found.sample_ns / 50_000
    assert found.between_ns > 0
    assert not journal.exists()
    assert not Path(engine.url).exists()


def test_a_run_that_is_cancelled_or_fails_has_no_overhead(engine, monkeypatch: pytest.MonkeyPatch) -> None:
    for status, raised in (("cancelled", KeyboardInterrupt), ("done", SelfCheckError)):

        def run(_sweep: Sweep, how: runner.Options, status: str = status, **_: object) -> RunState:
            Store(how.url).ensure()
            return RunState("r", "overhead", pid=1, status=status, message="no memory.")

        monkeypatch.setattr(runner, "run", run)
        with pytest.raises(raised):
            overhead.measure()

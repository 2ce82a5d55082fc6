"""The engine's overhead, measured with real workers and written nowhere."""

from pathlib import Path

import pytest

from bench_engine.selfcheck import overhead


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

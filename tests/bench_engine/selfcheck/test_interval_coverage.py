"""The check of the intervals: what it runs, what it keeps, and what it counts."""

import time
from pathlib import Path

import psutil
import pytest
import torch

from bench_engine.command.cli import main
from bench_engine.registry import SELF_CHECK_METHODS, method
from bench_engine.run.executors.local import LocalExecutor
from bench_engine.selfcheck import coverage
from bench_engine.selfcheck.coverage import BASELINE, LOOKUPS, Round, table
from bench_engine.selfcheck.verdicts import neighbour
from bench_engine.trial import Paired, Trial, TrialResult


def one(truth: float, low: float | None, high: float | None, verdict: str = "unclear", beside: str = "") -> Round:
    return Round(truth, truth, low, high, verdict, 5, beside == "busy", 0.1, "m", beside == "visits")


def test_every_ratio_is_that_of_the_lookups() -> None:
    for name, lookups in {**LOOKUPS, "dense_100": BASELINE}.items():
        assert method(name).fixed == {"repeats": lookups}
        assert name in SELF_CHECK_METHODS


def test_the_rounds_that_are_shipped_are_those_of_the_docs() -> None:
    home = Path(__file__).parents[3]
    found = coverage.read(home / "db" / "studies" / "intervals" / "amd-epyc-2-cores.jsonl")
    assert len(found) >= 100
    docs = (home / "docs" / "measuring.md").read_text(encoding="utf-8")
    for line in table(found):
        assert line in docs


def test_repeats_give_the_output_of_one() -> None:
    bag = method("dense_102").load()(50, 4, compression=1.0, mode="sum", repeats=3)
    ids = torch.randint(0, 50, (6, 2))
    assert torch.equal(bag(ids), torch.nn.functional.embedding_bag(ids, bag.weight, mode="sum"))


def test_what_is_counted() -> None:
    found = [one(1.0, 0.99, 1.01, "same"), one(1.0, 1.001, 1.02, "slower"), one(1.0, None, None)]
    found += [one(1.05, 1.04, 1.07, "slower"), one(1.05, 0.99, 1.07), one(1.05, 1.01, 1.03, beside="busy")]
    found += [one(1.05, 1.04, 1.06, "slower", "visits")]
    lines = table(found)
    assert lines[1].split() == ["quiet", "1.00", "3", "1/3", "1.00%", "-", "1/1/0/1"]
    assert lines[2].split() == ["quiet", "1.05", "2", "2/2", "3.89%", "1/2", "0/1/0/1"]
    assert lines[3].split() == ["busy", "1.05", "1", "0/1", "0.98%", "1/1", "0/0/0/1"]
    assert lines[4].split() == ["visits", "1.05", "1", "1/1", "0.95%", "1/1", "0/1/0/0"]
    assert lines[5].startswith("The truth lay in 4 of 7 intervals")
    assert lines[5].endswith("told apart in 1 of 3 verdicts.")


def test_rounds_are_added_to_the_file(
    engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def execute(_self: LocalExecutor, trials: list[Trial]) -> list[TrialResult]:
        assert [t.method for t in trials] == ["dense_100", "dense_100_again"]
        paired = Paired(98.0, 0.96, 1.01, "same")
        return [TrialResult("ok"), TrialResult("ok", {"latency_us": 100.0}, paired=paired, start_turns=(9, 9, 9))]

    monkeypatch.setattr(LocalExecutor, "execute", execute)
    path = tmp_path / "rounds.jsonl"
    for _ in range(2):
        assert main(["check-intervals", "--rounds", "2", "--equal", "--out", str(path)]) == 0
    said = capsys.readouterr().out
    assert "[1/2] dense_100_again 1.0204 (0.9901 to 1.0417), 3 starts, same" in said
    assert "The truth lay in 4 of 4 intervals" in said
    assert [r.starts for r in coverage.read(path)] == [3] * 4
    monkeypatch.setattr(LocalExecutor, "execute", lambda *_: pytest.fail("something ran"))
    assert main(["check-intervals", "--rounds", "0", "--out", str(path)]) == 0
    assert "The truth lay in 4 of 4 intervals" in capsys.readouterr().out
    assert main(["check-intervals", "--rounds", "0", "--out", str(tmp_path / "none.jsonl")]) == 1
    assert "There is no " in capsys.readouterr().err


@pytest.mark.parametrize(("arguments", "words"), [(["--rounds", "-1"], "at least 0"), ([], "holds no rounds")])
def test_what_cannot_be_is_one_sentence(
    engine, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    (tmp_path / "x").write_text("no JSON\n")
    assert main(["check-intervals", *arguments, "--out", str(tmp_path / "x")]) == 1
    assert words in capsys.readouterr().err


def test_a_place_that_cannot_be_written_is_said_before_anything_is_measured(
    engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(LocalExecutor, "execute", lambda *_: pytest.fail("something ran"))
    assert main(["check-intervals", "--equal", "--out", str(tmp_path / "none" / "x.jsonl")]) == 1
    assert "cannot be written (No such file or directory): name another file" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["busy", "visits"])
def test_a_neighbour_works_and_is_gone_afterwards(kind: str) -> None:
    before = psutil.Process().children()
    with neighbour(kind):
        (process,) = (child for child in psutil.Process().children() if child not in before)
        deadline = time.monotonic() + 20
        while sum(process.cpu_times()[:2]) < 0.3 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert sum(process.cpu_times()[:2]) >= 0.3
    assert not process.is_running()


def test_one_neighbour_at_a_time(engine, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["check-intervals", "--busy", "--visits"])
    assert "not allowed with argument --busy" in capsys.readouterr().err

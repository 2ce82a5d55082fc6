"""track: which changes are told over commits, how they are shown, and the exit status."""

import json
import re
import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from runs_over_commits import COMMITS, run

from bench_engine.command.cli import main
from bench_engine.track import commit_order
from bench_engine.track.tracked import track
from db.store import Store


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results that hold nothing; copied, since making them anew takes a while."""
    path = tmp_path_factory.mktemp("empty") / "x.duckdb"
    Store(str(path)).ensure()
    return path


@pytest.fixture
def store(tmp_path: Path, empty: Path) -> Callable[..., Store]:
    """A store with a run at each commit, of the methods' times there; they scatter by half a percent."""

    def make(**times: list[float]) -> Store:
        chance = np.random.default_rng(0)
        found = Store(shutil.copy(empty, tmp_path))
        found.add(
            run(method, us * float(chance.lognormal(0, 0.005)), COMMITS[number], number)
            for method, of_method in times.items()
            for number, us in enumerate(of_method)
        )
        return found

    return make


def test_a_change_is_told_with_its_commits_and_size(store: Callable[..., Store]) -> None:
    found = track(store(dense=[10.0] * 12, hashed=[5.0] * 7 + [5.5] * 5), "quick")
    assert found.commits == tuple(COMMITS)
    (change,) = found.changes
    assert (change.axes["method"], change.before, change.after, change.word) == ("hashed", *COMMITS[6:8], "slower")
    assert change.probability > 0.99
    assert change.ratio.low < 5 / 5.5 < change.ratio.high
    assert change.runs_since == 5
    assert found.expected_false < 0.01


def test_noise_alone_is_no_change(store: Callable[..., Store]) -> None:
    found = track(store(dense=[10.0] * 12, hashed=[5.0] * 12), "quick")
    assert found.changes == ()
    assert len(found.series) == 2


def test_one_run_off_the_level_is_an_outlier(store: Callable[..., Store]) -> None:
    found = track(store(dense=[10.0] * 5 + [14.0] + [10.0] * 6), "quick")
    assert found.changes == ()
    assert [commit for _, commit in found.outliers] == [COMMITS[5]]


def test_a_slower_machine_is_no_slower_method(store: Callable[..., Store]) -> None:
    results = store(hashed=[5.0] * 6 + [8.0] * 6)  # always half of the time of its baseline
    assert [c.word for c in track(results, "quick").changes] == ["slower"]
    assert track(results, "quick", relative=True).changes == ()


def test_commits_without_a_run_and_single_ones(store: Callable[..., Store]) -> None:
    results = store(dense=[10.0] * 12)
    for number, us in ((0, 5.0), (1, 5.0), (2, 5.02), (3, 4.98), (9, 6.0), (10, 6.01), (11, 6.0)):
        results.add([run("hashed", us, COMMITS[number], number)])
    results.add([run("small_dim", 5.0, COMMITS[3], 3)])
    found = track(results, "quick")
    assert [(c.before, c.after) for c in found.changes] == [(COMMITS[3], COMMITS[9])]
    assert found.single == 1


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ([], 0),
        (["--fail-on", "slower:5%"], 3),
        (["--fail-on", "slower:20%"], 0),
        (["--fail-on", "faster:5%"], 0),
        (["--fail-on", "smaller:5%"], 2),
        (["--where", "method=dense", "--fail-on", "slower:5%"], 0),
        (["--where", "batch_size=9"], 1),
    ],
)
def test_the_exit_status(
    store: Callable[..., Store], arguments: list[str], status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    results = store(dense=[10.0] * 12, hashed=[5.0] * 7 + [5.5] * 5)
    assert main(["track", "quick", "--db", results.url, *arguments]) == status
    assert capsys.readouterr() != ("", "")


def test_a_change_that_was_taken_back_does_not_fail(store: Callable[..., Store]) -> None:
    results = store(dense=[10.0] * 4 + [12.0] * 4 + [10.0] * 4)
    assert main(["track", "quick", "--db", results.url, "--fail-on", "slower:5%"]) == 0
    assert [c.word for c in track(results, "quick").changes] == ["slower", "faster"]


def test_text_markdown_and_json(
    store: Callable[..., Store], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    results = store(dense=[10.0] * 12, hashed=[5.0] * 7 + [5.5] * 5)
    results.add([run("small|dim", us, COMMITS[n], n) for n, us in enumerate([5.0] * 7 + [7.0] * 5)])
    how = ["track", "quick", "--db", results.url, "--fail-on", "slower:5%", "--format"]
    assert main([*how, "text"]) == 3
    said = capsys.readouterr().out
    assert re.search(r"hashed +c000006\.\.c000007 +[45]\.\d\d µs +5\.[45]\d µs +0\.9\dx \[.*\] +0\.99\d+ +slower", said)
    assert "c000006..c000007: 2 slower" in said
    assert main([*how, "markdown"]) == 3
    said = capsys.readouterr().out
    assert said.startswith("### quick: 2 configurations slower:5%\n")
    assert "| small\\|dim |" in said
    assert re.search(r"[▁▂]{7}[▇█]{5} \|", said)
    assert main([*how, "json"]) == 3
    entry = json.loads(capsys.readouterr().out)
    assert [c["word"] for c in entry["changes"]] == ["slower", "slower"]
    assert entry["fail_on"] == {"limit": "slower:5%", "exceeded": 2}
    told = {entry["series"][c["series"]]["axes"]["method"] for c in entry["changes"]}
    assert told == {"hashed", "small|dim"}
    first = entry["series"][0]["runs"][0]
    assert first.keys() == {"trial_id", "commit", "started_at", "value", "low", "high"}
    assert (first["commit"], first["started_at"]) == (COMMITS[0], "2026-11-01T00:00:00")
    assert first["low"] < first["value"] < first["high"]


def test_days_stand_where_commits_do_not(store: Callable[..., Store], capsys: pytest.CaptureFixture[str]) -> None:
    results = store()
    days = [datetime(2026, 11, 1 + number) for number in range(10)]
    results.add(
        run("hashed", us, "c1", number, started_at=days[number], code_version=None)
        for number, us in enumerate([5.0, 5.01, 5.02, 4.99, 5.0, 6.0, 6.01, 6.02, 5.99, 6.0])
    )
    (change,) = track(results, "quick", by="day").changes
    assert (change.before, change.after, change.word) == ("2026-11-05", "2026-11-06", "slower")
    assert main(["track", "quick", "--db", results.url, "--by", "day"]) == 0
    assert "1 configuration over 10 days, 2026-11-01 to 2026-11-10" in capsys.readouterr().out
    assert main(["track", "quick", "--db", results.url]) == 1
    assert "Nobody knows of which commits the results of the sweep quick are" in capsys.readouterr().err


def test_names_that_there_are_none_of(store: Callable[..., Store], capsys: pytest.CaptureFixture[str]) -> None:
    results = store(dense=[10.0])
    assert main(["track", "quik", "--db", results.url]) == 2
    assert "There is no sweep 'quik' in the results; did you mean quick?" in capsys.readouterr().err
    assert main(["track", "quick", "--db", results.url]) == 1
    assert "results of one commit only (c000000)" in capsys.readouterr().err


def test_commits_are_in_the_order_of_git_where_it_knows_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commit_order, "_git", lambda *_: ["ffff00001111", "aaaa00001111", "bbbb00001111"])
    times = {
        name: datetime(2026, 11, 9 - n) for n, name in enumerate(("ffff0000", "aaaa0000", "aaaa0000+", "bbbb0000"))
    }
    assert commit_order.ordered(times) == ["ffff0000", "aaaa0000", "aaaa0000+", "bbbb0000"]
    times["cccc0000"] = datetime(2026, 11, 8, 12)
    assert commit_order.ordered(times) == ["bbbb0000", "aaaa0000+", "aaaa0000", "cccc0000", "ffff0000"]


def test_another_baseline_is_no_change(store: Callable[..., Store]) -> None:
    results = store(dense=[10.0] * 12)
    for number, commit in enumerate(COMMITS):
        over, speedup = ("dense", 2.0) if number < 6 else ("inductor", 1.0)
        told = json.dumps({"compared_with": over})
        results.add([run("hashed", 5.0 + 0.01 * (number % 3), commit, number, speedup, environment=told)])
    assert track(results, "quick", ["method=hashed"], relative=True).changes == ()

"""What is drawn and said of a sweep over commits, from what the engine says of it."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from runs_over_commits import COMMITS, run

from db.store import Store
from mirror.data.process.sandbox import Sandbox
from mirror.runs import jobs, over_commits
from mirror.runs.jobs import JobError
from mirror.runs.over_commits import History, drawn, history, likelihood, sweeps


def told(**changes: tuple[int, float]) -> dict[str, Any]:
    """What the engine says of three methods at twelve commits; a method changes at a commit by a factor."""
    series, found = [], []
    for number, method in enumerate(("dense", "hashed", "small_dim")):
        at, factor = changes.get(method, (12, 1.0))
        values = [10.0 if n < at else 10.0 * factor for n in range(12)]
        runs = [
            {
                "trial_id": f"{method}-{n}", "commit": commit, "started_at": f"2026-11-{n + 1:02}T08:00:00",
                "value": v, "low": v * 0.99, "high": v * 1.01,
            }
            for n, (commit, v) in enumerate(zip(COMMITS, values, strict=True))
        ]  # fmt: skip
        axes = {"method": method, "batch_size": 64, "machine": "box"}
        series.append({"axes": axes, "runs": runs})
        if method in changes:
            ratio = {"value": 1 / factor, "low": 0.99 / factor, "high": 1.01 / factor}
            found.append({
                "series": number, "axes": axes, "before": COMMITS[at - 1], "after": COMMITS[at], "probability": 0.9997,
                "old": 10.0, "new": 10.0 * factor, "ratio": ratio, "word": "slower" if factor > 1 else "faster",
                "lasting": 1 / factor, "runs_since": 12 - at, "subjects": [f"{COMMITS[at]} what it did"],
            })  # fmt: skip
    return {
        "sweep": "quick", "by": "commit", "relative": False, "probability": 0.95, "commits": COMMITS, "single": 1,
        "small": 0, "series": series, "changes": found, "outliers": [],
    }  # fmt: skip


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Any:
    def answers(**changes: tuple[int, float]) -> History:
        monkeypatch.setattr(jobs, "tracked", lambda *_: told(**changes))
        return history("quick", "commit", False)

    return answers


def test_those_that_changed_most_are_drawn_unless_others_are_named(engine: Any) -> None:
    found = engine(hashed=(6, 1.1), small_dim=(4, 0.5))
    assert [line.name for line in found.lines] == ["dense", "hashed", "small_dim"]
    assert [line.name for line in found.chosen([])] == ["small_dim", "hashed"]
    assert [line.name for line in found.chosen(["dense"], ["hashed-3"])] == ["dense"]
    assert [line.name for line in found.chosen([], ["hashed-3"])] == ["hashed"]
    assert [line.name for line in found.chosen(["gone"])] == ["small_dim", "hashed"]
    assert len(engine().chosen([])) == 3


def test_a_change_is_told_with_sizes_and_probability_in_words(engine: Any) -> None:
    found = engine(hashed=(6, 1.1))
    first, change = drawn(found, found.chosen([])).told
    assert first == "1 change of latency (1 slower) in 1 of 1 configuration over 12 commits."
    assert change == (
        "hashed is slower, between c000005 (2026-11-06) and c000006 (2026-11-07): 11 µs after 10 µs, 1.10 times as "
        "long (95 % interval 1.09 to 1.11), virtually certain (99.97 %)."
    )
    (once,) = drawn(engine(hashed=(11, 0.9)), engine(hashed=(11, 0.9)).chosen([])).told[1:]
    assert once.endswith("Seen in one run so far: measure again to be sure.")
    assert drawn(found, found.lines[:1]).told == ("No change of latency in 1 configuration over 12 commits.",)


def test_what_is_drawn_has_a_row_for_each_run_with_its_interval_and_trial(engine: Any) -> None:
    found = engine(hashed=(6, 1.1))
    shown = drawn(found, found.chosen(["dense", "hashed"]))
    assert len(shown.table.rows) == 24
    assert shown.table.values("place")[:12] == tuple(range(1, 13))
    assert shown.table.values("trial_id")[12] == "hashed-0"
    assert shown.table.spread_column("latency_us", "low") == "low"
    assert (shown.commits[0], shown.days[0]) == ("c000000", "2026-11-01")
    assert shown.place("c000006") == 7


@pytest.mark.parametrize(
    ("probability", "words"),
    [
        (1.0, "virtually certain (99.99 %)"),
        (0.9953, "virtually certain (99.53 %)"),
        (0.97, "extremely likely (97 %)"),
        (0.9, "very likely (90 %)"),
        (0.7, "likely (70 %)"),
        (0.5, "about as likely as not (50 %)"),
    ],
)
def test_a_probability_in_words(probability: float, words: str) -> None:
    assert likelihood(probability) == words


def test_configurations_that_differ_in_what_is_not_told_have_names_of_their_own() -> None:
    same = {"method": "hashed", "batch_size": 64}
    assert over_commits._names([same, {**same, "batch_size": 512}]) == [
        "hashed · batch size 64",
        "hashed · batch size 512",
    ]
    assert over_commits._names([same, same]) == ["hashed 1", "hashed 2"]


def test_the_engine_follows_what_is_stored(results_file: Path, tmp_path: Path) -> None:
    """The real engine in its own process, and the sweeps in the order of what there is to follow."""
    url = str(shutil.copy(results_file, tmp_path / "x.duckdb"))
    Store(url).add(
        run("hashed", us, COMMITS[n], n, sweep="--relative")
        for n, us in enumerate([5.0, 5.01, 5.02, 4.99, 5.0, 5.01, 6.0, 6.01, 6.02, 5.99, 6.0, 6.01])
    )
    with Sandbox(url) as box:
        known = sweeps(box)
    assert next(iter(known.items())) == ("--relative", (12, 1))
    found = history("--relative", "commit", False, url)
    (line,) = found.lines
    assert [(c.before, c.after, c.word) for c in line.changes] == [(COMMITS[5], COMMITS[6], "slower")]
    with pytest.raises(JobError, match="results of one day only"):
        history("--relative", "day", False, url)

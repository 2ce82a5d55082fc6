"""Sides of a comparison: what a name stands for, and the sentence where it stands for nothing or for several things."""

import shutil
from datetime import datetime
from pathlib import Path

import pytest

from bench_engine.compare.sides import CompareError, Side, resolve
from db.record import Record
from db.store import Store


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Sweeps, commits and machines whose names come close to each other; only read."""
    found = Store(str(tmp_path_factory.mktemp("sides") / "x.duckdb"))
    found.ensure()
    trials = [
        ("quick", "abc1234", "dense", "f00d1111", "lab"), ("quick", "abc1234+", "hashed", "f00d2222", "lab"),
        ("full", "abd9999", "dense", "beef3333", "desk"), ("abd9999", "eee5555+", "dense", "beef3333", "desk"),
        ("it's: odd", "0.1.0", "dense", "beef3333", "desk"),
    ]  # fmt: skip
    records = []
    for number, (sweep, version, method, machine, name) in enumerate(trials):
        row = {
            "trial_id": f"{number}-1", "identity": str(number), "status": "ok", "benchmark": "lookup", "method": method,
            "configuration": str(number), "comparison": "c", "sweep": sweep, "code_version": version,
            "machine_id": machine, "started_at": datetime(2026, 11, 1),
        }  # fmt: skip
        records.append(Record(row, machine={"machine_id": machine, "name": name}))
    failed = {**records[0].trial, "trial_id": "9-1", "status": "failed", "sweep": "broken"}
    found.add([*records, Record(failed)])
    return found


@pytest.mark.parametrize(
    ("given", "kind", "value"),
    [
        ("quick", "sweep", "quick"),
        ("sweep:quick", "sweep", "quick"),
        ("it's: odd", "sweep", "it's: odd"),
        ("abc1234", "commit", "abc1234"),
        ("abc1", "commit", "abc1234"),
        ("abc1+", "commit", "abc1234+"),
        ("abc1234+", "commit", "abc1234+"),
        ("eee5", "commit", "eee5555+"),
        ("eee5555", "commit", "eee5555+"),
        ("commit:abd9999", "commit", "abd9999"),
        ("sweep:abd9999", "sweep", "abd9999"),
        ("0.1.0", "commit", "0.1.0"),
        ("desk", "machine", "beef3333"),
        ("machine:beef", "machine", "beef3333"),
        ("f00d1", "machine", "f00d1111"),
        ("lab (f00d2222)", "machine", "f00d2222"),
        ("method:hashed", "method", "hashed"),
        ("before:2026-11-13", "before", datetime(2026, 11, 13)),
        ("since:2026-11-13T08:30", "since", datetime(2026, 11, 13, 8, 30)),
        ("since:2026-11-13T08:30+02:00", "since", datetime(2026, 11, 13, 6, 30)),
    ],
)
def test_names(store: Store, given: str, kind: str, value: object) -> None:
    (side,) = resolve(store, [given])
    assert (side.kind, side.value) == (kind, value)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("quik", "There is no sweep, commit or machine 'quik' in the results. Did you mean quick? There are: sweeps "),
        ("broken", "no sweep, commit or machine 'broken'"),
        ("", "no sweep, commit or machine ''"),
        ("hashed", "no sweep, commit or machine 'hashed'"),
        ("sweep:", "There is no sweep '' in the results; there are: sweeps abd9999, full, it's: odd, quick."),
        ("sweep:ful", "There is no sweep 'ful' in the results; did you mean full? There are: sweeps "),
        ("commit:ab", "There is no commit 'ab' in the results"),
        ("commit:abd9+", "There is no commit 'abd9+' in the results"),
        ("method:nix", "there are: methods dense, hashed."),
        ("machine:nowhere", "desk (beef3333), lab (f00d1111), lab (f00d2222)."),
        ("abd9999", "'abd9999' may mean 2 things: say sweep:abd9999 or commit:abd9999."),
        ("lab", "'lab' may mean 2 things: say machine:f00d1111 or machine:f00d2222."),
        ("before:last week", "names no moment: write before:2026-11-13 or before:2026-11-13T08:30 (UTC)."),
        ("since:", "since: names no moment"),
        ("before:0001-01-01T00:00+23:00", "names no moment"),
        ("x'; DROP TABLE trials; --", "no sweep, commit or machine"),
    ],
)  # fmt: skip
def test_names_that_fit_nothing_or_too_much(store: Store, given: str, sentence: str) -> None:
    with pytest.raises(CompareError) as error:
        resolve(store, [given])
    assert sentence in str(error.value)
    assert len(store.rows("SELECT 1 AS n FROM trials")) == 6


def test_results_without_trials_are_said_to_hold_none(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "x.duckdb"))
    store.ensure()
    with pytest.raises(CompareError, match=r"nothing to compare in x\.duckdb"):
        resolve(store, ["a", "b"])


def test_a_list_of_names_ends_somewhere(store: Store, tmp_path: Path) -> None:
    shutil.copy(str(store.path), tmp_path)
    store = Store(str(tmp_path / "x.duckdb"))
    row = dict(store.rows("SELECT * FROM trials WHERE trial_id = '0-1'")[0])
    store.add([Record({**row, "trial_id": f"s{i}-1", "sweep": f"many {i:03}"}) for i in range(30)])
    with pytest.raises(CompareError, match=r"many 000, .* and 22 more\.$"):
        resolve(store, ["sweep:zzzzzzzz"])


def test_conditions_bind_what_is_compared() -> None:
    assert Side("before", datetime(2026, 1, 1), "x").condition("a") == "t.started_at < :a"
    assert Side("since", datetime(2026, 1, 1), "x").condition("a") == "t.started_at >= :a"
    assert Side("commit", "x'", "x'").condition("side") == "t.code_version = :side"


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("before:2026-11-13", "before 2026-11-13 00:00 UTC"),
        ("since:2026-11-13T08:30:05", "since 2026-11-13 08:30:05 UTC"),
        ("since:2026-11-13T08:30:00.25", "since 2026-11-13 08:30:00.250000 UTC"),
    ],
)
def test_a_moment_is_shown_as_it_was_given(store: Store, given: str, shown: str) -> None:
    (side,) = resolve(store, [given])
    assert side.text == shown

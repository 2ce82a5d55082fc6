"""What to use for a budget, from a file to the choice: planned, trained by real workers, kept, never trained twice."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from bench_engine import registry
from bench_engine.command.cli import main
from bench_engine.plan.planning import Planned
from bench_engine.registry import own_data
from bench_engine.run.executors.local import LocalExecutor
from bench_engine.run.groups.group import Group
from bench_engine.suggest import budgets, suggest
from bench_engine.suggest.suggestion import SuggestError
from bench_engine.trial import Trial


@pytest.fixture(autouse=True)
def no_other_files(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a test names is forgotten after it."""
    monkeypatch.setenv(own_data.VARIABLE, "")
    before = dict(registry.DATA_SETS)
    yield
    for name in registry.DATA_SETS.keys() - before.keys():
        del registry.DATA_SETS[name]


@pytest.fixture
def clicks(engine) -> Path:
    """Planted: every second user likes what there is, but for a tenth of the rows."""
    rng = np.random.default_rng(0)
    users, items = rng.integers(0, 40, 6000), rng.integers(0, 60, 6000)
    liked = (users % 2 == 0) ^ (rng.random(6000) < 0.1)
    path = engine.folder / "clicks.csv"
    rows = "".join(f"u{u},i{i},{int(y)}\n" for u, i, y in zip(users, items, liked, strict=True))
    path.write_text("user,item,click\n" + rows)
    return path


def test_a_search_is_kept_and_goes_on(engine, clicks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budgets, "AROUND", ())
    said: list[str] = []
    asked = {"label": "click", "embedding_dim": 4, "methods": ("small_dim",), "say": said.append}
    first = suggest.suggest(0.0012, clicks, time_limit_s=0.0, **asked)
    assert first.chosen is None
    assert first.why == "No table was measured that holds 0.0012 MB or less."
    assert [(one.method, one.compression) for one in first.left_out] == [("small_dim", 0.5)]
    assert engine.entries() == []

    found = suggest.suggest(0.0012, clicks, **asked)
    assert not any("rows to train on" in line for line in said)
    assert found.data.startswith("clicks_")
    assert found.field_rows == (41, 61)
    assert found.dense_mb == pytest.approx(102 * 4 * 4 / 1e6)
    assert found.tables == (found.chosen,)
    assert found.chosen.memory_mb == pytest.approx((102 + 4) * 2 * 4 / 1e6)
    assert found.chosen.auc > 0.6
    assert found.left_out == ()
    assert [(row["split"], row["batch_size"]) for row in engine.stored()] == [("validation", 128)]

    entries = engine.entries()
    assert len(entries) == 1
    monkeypatch.setattr(suggest.runner, "run", lambda *_: pytest.fail("nothing is left to run"))
    assert suggest.suggest(0.0012, clicks, **asked) == found
    assert engine.entries() == entries


def test_where_dense_fits_nothing_is_run(engine, clicks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["suggest", str(clicks), "--label", "click", "--budget-mb", "2"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert told.startswith("A dense float32 table fits: it takes 0.006528 of 2 MB at dimension 16, so nothing was")
    assert 'torch.nn.EmbeddingBag(102, 16, mode="sum")' in told
    assert main(["suggest", str(clicks), "--label", "click", "--budget-mb", "2", "--plan"]) == 0
    assert capsys.readouterr().out == "Nothing would be run: a dense float32 table takes 0.006528 of 2 MB.\n"
    assert engine.entries() == []


def test_a_plan_says_what_would_run_and_runs_nothing(engine, clicks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wanted = ["suggest", str(clicks), "--label", "click", "--budget-mb", "0.003", "--plan"]
    assert main([*wanted, "--methods", "small_dim,dense", "--time-limit", "90"]) == 0
    told = capsys.readouterr().out
    assert "4 trials: 0 done, 0 cannot run, 4 to do in about 32 s." in told
    assert told.endswith("nothing has been started. At most 1 min 30 s of them are run (--time-limit).\n")
    assert main([*wanted, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["seconds"] > 0
    assert {trial["fate"] for trial in found["trials"]} <= {"todo", "skip"}
    assert "split:\n    value: validation" in found["sweep"]
    assert engine.entries() == []


WRONG = [
    (["frape"], 2, "There is no data set and no file 'frape'; did you mean frappe? Known: synthetic, "),
    (["CLICKS"], 1, "It is not said which column of clicks.csv tells clicks: name as label one of user, item, click."),
    (["CLICKS", "--label", "clik"], 1, "clicks.csv has no column 'clik': its columns are user, item, click."),
    (["CLICKS", "--label", "click", "--budget-mb", "nan"], 1, "The budget must be a number of MB above 0, not nan."),
    (
        ["CLICKS", "--label", "click", "--budget-mb", "3e-5"],
        1,
        "3e-05 MB do not hold one row for each of the 2 fields ",
    ),
    (
        ["CLICKS", "--label", "click", "--budget-mb", "5e-5", "--methods", "small_dim"],
        1,
        "None of small_dim keeps 5e-05 MB on ",
    ),
    (
        ["CLICKS", "--label", "click", "--out", "no/such/folder"],
        2,
        "--out no/such/folder is no file in a folder that is ",
    ),
    (["CLICKS", "--label", "click", "--dim", "0"], 1, "The dimension and the number of seeds must be 1 or more."),
    (["CLICKS", "--label", "click", "--methods", "eager"], 1, "suggest_clicks_"),
    (
        ["synthetic", "--label", "click"],
        1,
        "synthetic is a data set that is known: label, fields, time and liked are of",
    ),
]


@pytest.mark.parametrize(("arguments", "status", "sentence"), WRONG, ids=[sentence for *_, sentence in WRONG])
def test_what_is_wrong_is_one_sentence(
    clicks: Path, arguments: list[str], status: int, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [str(clicks) if argument == "CLICKS" else argument for argument in arguments]
    assert main(["suggest", "--budget-mb", "0.002", *given, "--plan"]) == status
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(sentence)
    assert said.err.count("\n") == 1


@pytest.mark.parametrize("limit_s", [-1.0, float("nan")])
def test_a_time_limit_is_a_number_of_seconds(clicks: Path, limit_s: float) -> None:
    with pytest.raises(SuggestError, match="The time limit must be a number of seconds, 0 or more"):
        suggest.suggest(0.002, clicks, label="click", time_limit_s=limit_s)


def test_a_stopped_search_says_so(clicks: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt("1 of 5 done; the same command goes on from here.")

    monkeypatch.setattr(suggest, "carried_out", stopped)
    assert main(["suggest", str(clicks), "--label", "click", "--budget-mb", "0.002"]) == 130
    assert capsys.readouterr().err == "Cancelled: 1 of 5 done; the same command goes on from here.\n"


def test_a_validation_part_of_one_kind_is_refused(engine) -> None:
    path = engine.folder / "late.csv"
    path.write_text("user,click,at\n" + "".join(f"u,{int(n < 50 or n > 90)},{n}\n" for n in range(100)))
    with pytest.raises(SuggestError, match="has clicks alone or none in its validation part"):
        suggest.planned(suggest.Asked(1.0, str(path), "click", time="at"))


def test_no_trial_is_begun_that_would_end_too_late(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0

    def run(_self: LocalExecutor, groups, _running) -> Iterator[Group]:
        nonlocal now
        now += 10.0
        yield from groups

    monkeypatch.setattr(suggest.clock, "monotonic", lambda: now)
    monkeypatch.setattr(LocalExecutor, "run", run)
    members = [
        Planned(Trial("training", f"m{n}", {}), f"id{n}", "todo", "", 1, "", False, seconds=8.0) for n in range(5)
    ]
    groups = [Group(tuple(members[:3])), Group(tuple(members[3:]))]

    def begun(limit_s: float | None) -> list[str]:
        nonlocal now
        now = 0.0
        done = suggest.OneByOne(limit_s=limit_s).run(groups, lambda *_: None)
        return [group.members[0].trial.method for group in done]

    assert begun(None) == ["m0", "m1", "m2", "m3", "m4"]
    assert begun(35.0) == ["m0", "m1", "m2"], "each takes ten seconds, not the eight that were thought"
    assert begun(7.0) == []


def test_what_is_no_choice_is_left_out_with_its_reason(engine, clicks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budgets, "AROUND", ())
    methods = ("static_frequency", "hashed", "int8", "dense")
    search = suggest.planned(suggest.Asked(0.0003, str(clicks), "click", methods=methods, seeds=2))
    share = budgets.share_of("hashed", 0.0003, search.sizes)

    def row(method: str, compression: float, seed: int, status: str = "ok", memory_mb: float = 0.0, error: str = ""):
        measured = {"auc": 0.6 + seed / 10, "memory_mb": memory_mb, "metadata_mb": None, "latency_us": 9.0}
        axes = {"method": method, "compression": compression, "seed": seed}
        return {**axes, "status": status, "error": error, **measured}

    def of_lookups(trials) -> bool:
        return trials[0][1].benchmark == "lookup"

    rows = (
        row("hashed", share, 0, memory_mb=0.0003),
        row("hashed", share, 1, "failed", error="the loss is nan."),
        row("int8", 1.0, 0, memory_mb=0.0018),
        row("int8", 1.0, 1, memory_mb=0.0018),
    )
    timed = ({"method": "int8", "compression": 1.0, "status": "ok", "latency_us": 7.5},)
    monkeypatch.setattr(suggest, "rows_of", lambda _store, trials, _columns: timed if of_lookups(trials) else rows)
    found = suggest.found(search)
    assert found.chosen
    assert (found.chosen.method, found.chosen.auc) == ("hashed", 0.6)
    assert {one.method: one.why for one in found.left_out} == {
        "static_frequency": "0.0003 MB do not hold the least that it takes.",
        "int8": "it holds 0.0018 MB, more than 0.0003 MB.",
        "hashed": "the loss is nan.",
        "dense": "it was not trained within the time limit; the same command goes on from here.",
    }
    assert [table.lookup_us for table in found.tables] == [None, 7.5]
    assert found.front == (found.chosen, found.tables[1])


def test_a_plan_goes_into_the_file_that_is_named(
    engine, clicks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "plan"
    wanted = ["suggest", str(clicks), "--label", "click", "--budget-mb", "0.003", "--plan", "--out", str(out)]
    assert main([*wanted, "--format", "json"]) == 0
    assert json.loads(out.read_text())["seconds"] > 0
    assert capsys.readouterr().out == ""
    assert main([*wanted, "--format", "html"]) == 2


def test_results_of_other_files_under_the_same_name_are_no_choice(
    engine, clicks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = suggest.planned(suggest.Asked(0.0020, str(clicks), "click", methods=("int8",)))
    row = {
        "method": "int8", "compression": 1.0, "seed": 0, "status": "ok", "error": "", "auc": 0.9, "memory_mb": 0.001,
        "metadata_mb": None, "latency_us": 9.0, "num_rows": search.sizes.rows - 50,
    }  # fmt: skip
    monkeypatch.setattr(suggest, "rows_of", lambda *_: (row,))
    assert suggest.found(search).chosen is None

"""What a run found: which trials are its own, what is said of them, and how it is shown."""

import csv
import io
import itertools
import json
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from bench_engine.command.cli import main
from bench_engine.compare.sides import UsageError
from bench_engine.measure.means import random_effects
from bench_engine.measure.ratios import Ratio
from bench_engine.report import reported, run_page
from bench_engine.report.next_steps import next_steps
from bench_engine.report.run_results import RunResults, of_run
from bench_engine.trial import Trial
from db import runs
from db.record import Record
from db.runs import RunState
from db.store import Store

START = datetime(2026, 11, 1)
HOSTILE = "</script><img src=x onerror=alert(1)>|[a](javascript:x)`"


def record(method: str, us: float = 10.0, number: int = 1, batch_size: int = 64, **columns: object) -> Record:
    axes = {"batch_size": batch_size, "compression": 1.0, "seed": 0}
    trial = Trial("lookup", method, axes)
    identity = f"{method}{batch_size}"
    timed = {"latency_us": us, "latency_ci_low_us": us * 0.99, "latency_ci_high_us": us * 1.01}
    row = {
        "trial_id": f"{identity}-{number}", "identity": identity, "status": "ok", "benchmark": "lookup", "op": "bag",
        "method": method, "is_baseline": method == "dense", "sweep": "quick", "configuration": trial.configuration(),
        "comparison": trial.comparison(), "machine_id": "m1", "code_version": "abc1234", "noise": 0.02,
        "started_at": START + timedelta(minutes=number), "memory_mb": 1.0, "duration_s": 1.0,
        "environment": json.dumps({"start_turns": [3, 3, 3], "load_before": 0.5}),
        **axes, **timed, **columns,
    }  # fmt: skip
    if row["status"] != "ok":
        row = {k: v for k, v in row.items() if k not in timed}
    return Record(row, (), (), {"machine_id": "m1", "name": "box", "cores": 2}, {})


def against(us: float, speedup: float, verdict: str) -> dict[str, object]:
    ends = {"speedup_ci_low": speedup * 0.98, "speedup_ci_high": speedup * 1.02}
    return {"us": us, "baseline_latency_us": us * speedup, "verdict": verdict, **ends}


@pytest.fixture
def found(tmp_path: Path) -> Callable[..., RunResults]:
    """The results of a run with these records."""

    def make(*records: Record, name: str = "", listed: bool = True) -> RunResults:
        store = Store(str(tmp_path / "x.duckdb"))
        store.ensure()
        store.add(records)
        state = RunState("r1", "quick", pid=1, status="done", total=len(records), started_at="2026-11-01T00:00:00")
        runs.write(tmp_path / "x.journal", state)
        if listed:
            runs.add_trials(tmp_path / "x.journal", "r1", [r.trial_id for r in records])
        return of_run(store, name)

    return make


def test_a_run_is_its_own_trials_with_speedups_means_and_reasons(found: Callable[..., RunResults]) -> None:
    results = found(
        record("dense"),
        record("hashed", **against(5.0, 2.0, "faster")),
        record("dense", 20.0, batch_size=512),
        record("hashed", batch_size=512, **against(10.0, 2.0, "faster")),
        record("small_dim", status="failed", error="It broke.\nHere."),
    )
    assert [(m.axes["method"], m.axes["batch_size"]) for m in results.measured] == [
        ("dense", 64), ("hashed", 64), ("dense", 512), ("hashed", 512),
    ]  # fmt: skip
    (mean,) = results.means["lookup"]
    assert (mean.method, mean.over, mean.count, mean.verdicts) == ("hashed", "dense", 2, {"faster": 2})
    assert mean.speedup.value == pytest.approx(2.0)
    assert results.reasons == {("failed", "It broke. Here."): 1}
    assert results.notes == {}
    commands = [command for _, command in next_steps(results)]
    assert "python -m bench_engine run quick --retry-failed" in commands
    assert "python -m bench_engine compare method:dense method:hashed --where sweep=quick" in commands
    text = reported.rendered(results, "text")
    assert re.search(r"hashed +512 +10.0 µs +1.0 % +2.00x \[1.96, 2.04\] +1.00 MB +faster\n", text)
    assert "1 failed: It broke. Here." in text


def test_what_weakens_a_result_is_said(found: Callable[..., RunResults]) -> None:
    one_start = json.dumps({"load_before": 5.0})
    results = found(
        record("dense", noise=0.3, stop_reason="time_cap"),
        record("hashed", **against(5.0, 1.03, "unclear"), environment=one_start),
        record("small_dim", noise=0.2),
    )
    letters = {m.axes["method"]: "".join(results.notes[note] for note in m.notes) for m in results.measured}
    assert letters == {"dense": "a", "hashed": "cde", "small_dim": "bf"}
    assert [line[:9] for line in results.warnings] == [f"{letter}  1 of 3" for letter in "abcdef"]


def test_an_older_run_is_all_results_of_its_sweep(found: Callable[..., RunResults]) -> None:
    results = found(record("dense"), record("dense", 12.0, 2), listed=False)
    assert [m.row["trial_id"] for m in results.measured] == ["dense64-2"]
    assert results.title == "Sweep quick, all its results"


def test_of_a_sweep_an_attempt_that_was_made_again_counts_whatever_the_clock_said(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "x.duckdb"))
    store.ensure()
    late, again = record("dense", 9.0, 1, started_at=START + timedelta(days=400)), record("dense", 5.0, 2)
    store.add([late, again, record("hashed", 7.0, 1, status="failed", started_at=START), record("hashed", 6.0, 2)])
    assert [m.metrics["latency_us"] for m in of_run(store, "quick").measured] == [5.0, 6.0]


def test_what_is_looked_at_first_makes_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["show", "--db"], ["track", "quick", "--db"]):
        assert main([*words, str(tmp_path / "x.duckdb")]) in (1, 2)
        assert capsys.readouterr().err.startswith("There ")
    assert not (tmp_path / "x.duckdb").exists()


def test_runs_are_found_by_id_beginning_and_sweep(found: Callable[..., RunResults]) -> None:
    assert {found(record("dense"), name=name).name for name in ("r1", "r", "quick", "last", "")} == {"r1"}
    with pytest.raises(UsageError, match=r"There is no run or sweep 'quik' in the results; did you mean quick\?"):
        found(name="quik")


def test_csv_has_all_trials_and_no_formulas(found: Callable[..., RunResults]) -> None:
    results = found(record("dense", code_version="=1+1"), record("hashed", status="oom", error="-2+3", batch_size=8))
    rows = list(csv.DictReader(io.StringIO(reported.rendered(results, "csv"))))
    assert [(r["method"], r["status"], r["latency_us"], r["error"]) for r in rows] == [
        ("dense", "ok", "10.0", ""),
        ("hashed", "oom", "", "'-2+3"),
    ]
    assert rows[0]["code_version"] == "'=1+1"


def test_json_is_whole(found: Callable[..., RunResults]) -> None:
    results = found(record("dense"), record("hashed", **against(5.0, 2.0, "faster")))
    entry = json.loads(reported.rendered(results, "json"))
    assert entry["run"] == "r1"
    assert entry["results"][1]["speedup"] == pytest.approx({"value": 2.0, "low": 1.96, "high": 2.04})
    assert entry["results"][1]["metrics"]["memory_mb"] == 1.0
    assert entry["means"][0]["faster"] == 1


def touching(touched: float, **more: float) -> dict[str, str]:
    told = {"touched_bytes": touched, "gather_gb_s": 2.0, "flops": 1000, "start_turns": [3, 3, 3], **more}
    return {"environment": json.dumps(told)}


def test_why_a_method_is_slower_is_said_in_every_form(found: Callable[..., RunResults]) -> None:
    results = found(
        record("dense", **touching(16_000)),
        record("hashed", **against(40.0, 0.25, "slower"), **touching(32_000)),
        record("small_dim", **against(20.0, 0.5, "slower")),
    )
    sentence = "hashed touches 2x the bytes at 0.4x the bandwidth of random rows; dense: 0.8x."
    assert results.why == {"lookup": [sentence]}
    assert f"Why:\n  {sentence}\n" in reported.rendered(results, "text")
    assert json.loads(reported.rendered(results, "json"))["why"] == results.why
    assert f"\n- {sentence}\n" in reported.rendered(results, "markdown")
    page = reported.rendered(results, "html")
    assert f"<li>{sentence}</li>" in page
    assert "Roofline" not in page.split("</script>", 1)[1]  # where the roofs are not known


def test_what_is_not_clearly_slower_is_not_explained(found: Callable[..., RunResults]) -> None:
    results = found(
        record("dense", **touching(16_000)), record("hashed", **against(10.0, 1.0, "same"), **touching(32_000))
    )
    assert results.why == {}


def test_a_roofline_is_drawn_of_trials_that_declare_bytes_and_flops(found: Callable[..., RunResults]) -> None:
    roofs = {"copy_gb_s": 8.0, "peak_gflops": 100.0}
    results = found(
        record("dense", **touching(16_000, **roofs)),
        record("hashed", **against(40.0, 0.25, "slower"), **touching(32_000, **roofs)),
        record("small_dim", **touching(8_000)),
    )
    (figure,) = run_page._rooflines(results.measured)
    traces = {trace["name"]: trace for trace in figure["data"]}
    assert list(traces) == ["dense", "hashed", "copy 8 GB/s", "random rows 2 GB/s"]
    assert (traces["dense"]["x"], traces["dense"]["y"]) == ([1000 / 16_000], [0.1])
    assert traces["copy 8 GB/s"]["x"][1:2] + traces["copy 8 GB/s"]["y"][1:] == [12.5, 100.0, 100.0]
    assert figure["layout"]["yaxis"]["type"] == figure["layout"]["xaxis"]["type"] == "log"
    assert "Roofline" in reported.rendered(results, "html")


def test_hostile_text_stays_text(found: Callable[..., RunResults]) -> None:
    results = found(
        record("dense"),
        record("hashed", dataset=HOSTILE, auc=0.5, **against(5.0, 2.0, "faster")),
        record("hashed", 7.0, 2, 8, dataset="plain", auc=0.6),
        record("small_dim", status="failed", error=HOSTILE),
    )
    page = reported.rendered(results, "html")
    own = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert "&lt;/script&gt;&lt;img" in own
    assert "<img" not in own
    assert "<img src=x" not in page  # in what Plotly is given either
    assert not re.search(r"""(?:src|href)=["']https?:""", own)
    assert "default-src 'none'" in own
    assert page.count("<script") == page.count("</script>")
    markdown = reported.rendered(results, "markdown")
    assert "&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;\\|\\[a\\]" in markdown
    assert "<img" not in markdown


def test_a_run_shows_its_results_and_keeps_a_baseline(engine, capsys: pytest.CaptureFixture[str]) -> None:
    path, page = str(engine.file("ok", "raise")), engine.folder / "r.json"
    assert main(["run", path, "--save-baseline", "main"]) == 4
    said = capsys.readouterr()
    assert "fake" in said.out.split("\n\n")[1]
    assert "Without a result:\n  1 failed: the table is too small" in said.out
    assert "Kept as the baseline main" in said.err
    assert main(["run", path, "--baseline", "main", "--format", "json"]) == 4
    said = capsys.readouterr()
    assert len(json.loads(said.out)["results"]) == 1
    assert "the very same trials" in said.err
    assert main(["run", path, "--force", "--baseline", "main"]) == 4
    assert "A  baseline main\nB  run " in capsys.readouterr().out
    assert main(["show", "--format", "json", "--out", str(page)]) == 0
    assert json.loads(page.read_text())["results"][0]["trial_id"].endswith("-2")
    assert main(["show", "--out", "/nowhere/r.txt"]) == 1
    assert "r.txt cannot be written" in capsys.readouterr().err


def test_verbose_tells_what_was_measured(engine, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(engine.file("ok")), "-v"]) == 0
    assert re.search(
        r"\n  2 µs, 3 samples in 1 turns, stopped by fixed_count, .* s, trial \w+-1\n", capsys.readouterr().err
    )


def test_the_baseline_is_that_of_the_run(found: Callable[..., RunResults]) -> None:
    """Of a sweep before, the baseline was another one."""

    def over(name: str) -> dict[str, str]:
        return {"environment": json.dumps({"compared_with": name, "start_turns": [3, 3, 3]})}

    results = found(
        record("dense", sweep="earlier"),
        record("hashed", sweep="earlier", **against(5.0, 2.0, "faster"), **over("dense")),
        record("small_dim", **against(2.5, 2.0, "faster"), **over("hashed")),
    )
    told = {m.axes["method"]: (m.is_baseline, m.speedup and m.speedup.value) for m in results.measured}
    assert told == {"dense": (False, None), "hashed": (True, None), "small_dim": (False, pytest.approx(2.0))}
    assert [m.over for m in results.means["lookup"]] == ["hashed"]


def test_the_mean_knows_of_how_many_starts_intervals_are(found: Callable[..., RunResults]) -> None:
    pairs = [
        (record("dense", batch_size=b), record("hashed", batch_size=b, **against(5.0, 2.0, "faster")))
        for b in (64, 512)
    ]
    (mean,) = found(*itertools.chain(*pairs)).means["lookup"]
    expected = random_effects([Ratio(2.0, 1.96, 2.04, 2)] * 2)  # of three starts
    assert (mean.speedup.low, mean.speedup.high) == pytest.approx((expected.low, expected.high))


def test_what_fails_is_not_kept_as_the_baseline(engine, monkeypatch, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(engine.file("ok"))
    assert main(["run", path, "--save-baseline", "main"]) == 0
    monkeypatch.setattr("bench_engine.command.after_run._compared", lambda *_: True)
    again = ["run", path, "--force", "--baseline", "main", "--save-baseline", "main", "--fail-on", "slower:5%"]
    assert main(again) == 3
    assert "Not kept as the baseline main" in capsys.readouterr().err

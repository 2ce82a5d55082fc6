"""Mirror's own answers as a benchmark: what is asked, what becomes of the counts, and that it can be asked about."""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import psutil
import pytest
from alone import alone

from bench_engine import registry
from bench_engine.benchmarks import answering
from bench_engine.run.groups import recording
from bench_engine.sweep import sweep
from bench_engine.trial import Trial, TrialResult
from db.installation import ROOT
from db.store import Store
from mirror.answer.answering import ask
from mirror.data.process.sandbox import Sandbox
from mirror.evaluation import eval_command as command
from mirror.evaluation.questions import load

BENCHMARK = registry.BENCHMARKS["answering"]
CATEGORIES = BENCHMARK.axis("category").choices
TOTAL = {
    "n": 8, "right": 6, "wrong": 1, "refused": 1, "asked_back": 0, "error": 0, "intervals": {"right": [0.41, 0.93]},
    "charts": 5, "charts_right": 4, "narrowed": 1, "fallbacks": 0,
}  # fmt: skip


def trial(method: str = "grammar", **config: str | int) -> Trial:
    return Trial("answering", method, {a.name: a.default for a in BENCHMARK.axes} | config)


def report(seconds: tuple[float, ...] = (0.01, 0.02, 0.03, 0.04), **total: float) -> dict:
    """What the command prints with --json, as far as it is read."""
    return {"model": None, "tallies": [TOTAL | total, {"n": 3}], "seconds": list(seconds)}


def said(monkeypatch: pytest.MonkeyPatch, code: str, **config: str) -> TrialResult:
    """The result where the command is this Python code."""
    monkeypatch.setattr(answering, "_command", lambda trial: [sys.executable, "-c", code])
    return alone(answering.run(trial(**config)))


def test_the_real_command_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    result = alone(answering.run(trial(category="why", question_set="open")))
    asked = [q for q in load() if q.category == "why" and not q.held_out]
    assert result.status == "ok", result.error
    assert recording.fault(result) == ""
    assert result.metrics["question_count"] == len(asked)
    assert result.turn_sizes == (len(result.samples_us),)
    assert len(result.samples_us) >= len(asked)
    assert 0 <= result.metrics["right_ci_low"] <= result.metrics["right_share"] <= result.metrics["right_ci_high"] <= 1
    assert 100 < result.metrics["latency_us"] < 60e6


def test_shares_and_times_come_from_the_counts() -> None:
    result = answering._result(report(), trial())
    shares = {"right_share": 0.75, "right_ci_low": 0.41, "right_ci_high": 0.93, "wrong_share": 0.125}
    assert {name: result.metrics[name] for name in shares} == shares
    assert (result.metrics["chart_share"], result.metrics["question_count"]) == (0.8, 8)
    assert result.samples_us == pytest.approx((10e3, 20e3, 30e3, 40e3))
    assert (result.metrics["latency_us"], result.metrics["sample_count"]) == (pytest.approx(25e3), 4)
    assert result.environment["questions"] == {
        "refused": 1, "asked_back": 0, "error": 0, "narrowed": 1, "fallbacks": 0
    }  # fmt: skip
    assert recording.fault(result) == ""


def test_where_no_chart_is_judged_there_is_no_share_of_charts() -> None:
    assert answering._result(report(charts=0, charts_right=0), trial()).metrics["chart_share"] is None


def test_no_question_is_no_result() -> None:
    result = answering._result(report((), n=0, right=0), trial())
    assert (result.status, result.error) == ("skipped", "There is no question of this category and question set.")


def test_what_the_built_in_reader_read_is_no_result_of_the_language_model() -> None:
    none, some = (answering._result(report(fallbacks=n), trial("llm")) for n in (4, 3))
    assert none.status == "failed"
    assert "read none of the questions" in str(none.error)
    assert some.status == "ok"
    assert some.environment["questions"]["fallbacks"] == 3


@pytest.mark.parametrize(
    ("method", "code", "status", "error"),
    [
        ("llm", "import sys; print('x', 'No model.', sep='\\n', file=sys.stderr); sys.exit(2)", "skipped", "No model."),
        ("grammar", "import sys; print('Wrong usage.', file=sys.stderr); sys.exit(2)", "failed", "Wrong usage."),
        ("grammar", "raise SystemExit(3)", "failed", "Mirror ended with exit status 3 and said nothing."),
    ],
)
def test_a_command_that_gives_no_counts(
    monkeypatch: pytest.MonkeyPatch, method: str, code: str, status: str, error: str
) -> None:
    result = said(monkeypatch, code, method=method)
    assert (result.status, result.error) == (status, error)


def test_the_name_of_the_model_goes_with_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    printed = json.dumps({**report(), "model": "some model"})
    result = said(monkeypatch, f"print({printed!r})", method="llm")
    assert (result.status, result.environment["model"]) == ("ok", "some model")


def test_the_command_knows_every_category_and_question_set() -> None:
    parser = argparse.ArgumentParser()
    command.add_parser(parser.add_subparsers())
    seen = {}
    for category in CATEGORIES:
        for which in BENCHMARK.axis("question_set").choices:
            python, _, _, module, *words = answering._command(trial(category=category, question_set=which))
            given = parser.parse_args(words)
            assert (python, module, given.json, given.engine) == (sys.executable, "mirror", True, "grammar")
            seen[given.category, given.questions] = None
    known = dict.fromkeys([None, *(q.category for q in load())])
    assert list(seen) == [(category, which) for category in known for which in ("all", "open", "held_out")]


def test_the_ready_sweep_asks_each_category_once() -> None:
    trials = sweep.expand(sweep.load("answering"))
    whole = [t.config["category"] for t in trials if t.config["question_set"] == "all_questions"]
    assert whole == list(CATEGORIES)
    assert len(trials) == len(whole) + 2  # the open and the held-out ones of all categories


def test_a_change_of_what_answers_runs_the_trials_anew() -> None:
    sources = registry.METHODS["grammar"].files()
    assert {
        "mirror/answer/answering.py",
        "mirror/words/catalog.yaml",
        "mirror/evaluation/questions/24_why.yaml",
        "db/columns.py",
    } <= {*sources}
    assert not any(source.startswith("mirror/faces/pages/") for source in sources)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a process of another system is not told")
def test_the_command_ends_with_the_worker(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom bench_engine.benchmarks import answering\nfrom bench_engine.trial import Trial\n"
        "ask = 'import os, pathlib, sys, time; path = pathlib.Path(sys.argv[1]); '\n"
        'ask += \'path.with_suffix(".new").write_text(str(os.getpid())); path.with_suffix(".new").rename(path); \'\n'
        "ask += 'time.sleep(120)'\n"
        "answering._command = lambda trial: [sys.executable, '-c', ask, sys.argv[1]]\n"
        "run = answering.run(Trial('answering', 'grammar', {}))\nnext(run)\nrun.send(True)\n"
    )
    told = tmp_path / "pid"
    worker = subprocess.Popen([sys.executable, "-c", code, str(told)], cwd=ROOT)
    try:
        _wait_for(told.exists)
        asked = psutil.Process(int(told.read_text()))
    finally:
        os.kill(worker.pid, signal.SIGKILL)
        worker.wait()
    _wait_for(lambda: not asked.is_running() or asked.status() == psutil.STATUS_ZOMBIE)


def _wait_for(condition) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


# -- questions about it ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """Results of the ready sweep, and one of another benchmark."""
    started = datetime(2026, 11, 20)
    of = {"machine": {"machine_id": "m", "name": "m"}, "started_at": started, "code_version": "v"}
    of["sweep"] = {"sweep_id": "s", "name": "answering", "spec": "x", "started_at": started}
    records = []
    for number, planned in enumerate(sweep.expand(sweep.load("answering"))):
        result = answering._result(report(right=number % 8), planned)
        records.append(recording.record(planned, result, identity=f"{number:012x}", attempt=1, **of))
    other = Trial("lookup", "dense", {a.name: a.default for a in registry.BENCHMARKS["lookup"].axes})
    done = TrialResult("ok", {"latency_us": 5.0, "memory_mb": 1.0})
    records.append(recording.record(other, done, identity="f" * 12, attempt=1, **of))
    path = tmp_path_factory.mktemp("answers") / "answers.duckdb"
    store = Store(str(path))
    store.ensure()
    store.add(records)
    store.checkpoint()
    with Sandbox(str(path)) as sandbox:
        yield sandbox


def told(question: str, box: Sandbox) -> list[tuple]:
    answer = ask(question, sandbox=box, use_model=False)
    assert answer.status == "answered", answer.summary
    assert answer.table
    assert answer.chart
    assert answer.chart.type in ("bar", "tiles")
    return list(zip(*map(answer.table.values, answer.table.names[:2]), strict=True))


def test_right_answers_by_category(box: Sandbox) -> None:
    rows = dict(told("right answers by category", box))
    assert set(rows) == set(CATEGORIES)
    assert rows["all_categories"] == 0.0
    assert rows[CATEGORIES[1]] == 3 / 8  # the fourth trial of the sweep


def test_a_question_that_is_silent_means_all_of_them(box: Sandbox) -> None:
    assert told("right answers", box) == [("grammar", 0.0)]
    assert told("right answers by question set", box) == [("all_questions", 0.0), ("held_out", 0.25), ("open", 0.125)]


def test_times_are_of_the_benchmark_that_is_named(box: Sandbox) -> None:
    rows = dict(told("latency by category in answering", box))
    assert set(rows) == set(CATEGORIES)
    assert set(rows.values()) == {25e3}

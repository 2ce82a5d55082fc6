"""Runs from the pages: planned, started, watched and cancelled through the engine's command line."""

import dataclasses
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from db import runs as run_states
from db.runs import RunState
from mirror.runs import audit, jobs
from mirror.runs.jobs import JobError
from mirror.runs.person import LOCAL, Person
from mirror.runs.run_plan import RunPlan


@pytest.fixture(autouse=True)
def fresh_options() -> None:
    jobs.options.cache_clear()


def wait_for(condition: Callable[[], object], seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


def state_of(run_id: str) -> RunState:
    return next(s for s in jobs.runs() if s.run_id == run_id)


def test_the_time_that_is_left_goes_down_between_two_states() -> None:
    state = RunState("r", "s", seconds_left=60.0, updated_at="2026-11-01T12:00:00.000")
    assert jobs.seconds_left(state, datetime(2026, 11, 1, 12, 0, 20)) == 40.0
    assert jobs.seconds_left(state, datetime(2026, 11, 1, 12, 5)) == 0.0
    assert jobs.seconds_left(state, datetime(2026, 11, 1, 11, 59)) == 60.0
    assert jobs.seconds_left(RunState("r", "s")) is None


def test_options_tell_what_a_form_needs(engine) -> None:
    found = jobs.options()
    lookup = next(b for b in found.benchmarks if b.name == "lookup")
    batch = next(a for a in lookup.axes if a.name == "batch_size")
    assert (batch.type, batch.default, batch.low, batch.choices) == ("int", 512, 1, ())
    assert next(a for a in lookup.axes if a.name == "direction").choices == ("forward", "forward_backward")
    assert next(a for a in lookup.axes if a.name == "cache").choices == ("warm", "cold")
    assert next(a for a in lookup.axes if a.name == "output").choices == ("fresh", "preallocated")
    assert {"dense", "hashed"} <= {m.name for m in found.methods} & set(lookup.methods)
    assert {d.name for d in found.data_sets} >= {"synthetic"}
    assert "?" in next(s for s in found.sweeps if s.name == "quick").text
    assert jobs.options() is found


def test_plan_of_a_name_a_file_and_a_text(engine) -> None:
    assert jobs.plan("tiny").count("todo") == 2
    assert jobs.plan(str(engine.file("ok", seeds=3))).count("todo") == 3
    made = jobs.plan(engine.text("ok", seeds=3), ["seeds=2"])
    assert (made.sweep, len(made.trials), made.seconds) == ("stdin", 2, pytest.approx(0.4))
    assert made.trials[0].label.startswith("fake fake")


@pytest.mark.parametrize(
    ("sweep", "overrides", "words"),
    [
        ("tyni", [], "did you mean tiny?"),
        ("tiny", ["batchsize=3"], "did you mean batch_size?"),
        ("benchmark: [\n", [], "is not YAML"),
        ("--db=/tmp/x", [], "There is no sweep"),
    ],
)
def test_what_is_wrong_with_a_plan_is_one_sentence(engine, sweep: str, overrides: list[str], words: str) -> None:
    with pytest.raises(JobError) as caught:
        jobs.plan(sweep, overrides)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_form_becomes_a_sweep(engine) -> None:
    parameters = (("batch_size", (1, 2)), ("pooling_mode", ("ok",)))
    made = jobs.plan(RunPlan("", "fake", ("fake",), "fake", parameters, 2).sweep_text())
    assert (made.sweep, len(made.trials)) == ("custom", 4)


LOOKUP = RunPlan(
    benchmark="lookup",
    methods=("hashed", "dense"),
    parameters=(("batch_size", (64, 512)), ("direction", ("forward",)), ("num_chunks", (4,))),
    seeds=3,
    quick=True,
)


def test_a_plan_fills_the_form_as_far_as_it_is_known(engine) -> None:
    values, unknown = jobs.form_of(LOOKUP, jobs.options())
    assert values == {
        "quick": True,
        "force": False,
        "retry": False,
        "way": "Form",
        "form_benchmark": "lookup",
        "form_methods_lookup": ["hashed", "dense"],
        "form_lookup_batch_size": "64, 512",
        "form_lookup_direction": ["forward"],
        "form_lookup_seed": 3,
    }
    assert unknown == ("num_chunks 4",)


def test_a_plan_of_a_ready_sweep_fills_the_preset(engine) -> None:
    plan = RunPlan("quick", methods=("dense",), parameters=(("batch_size", (64,)),), again=True)
    values, unknown = jobs.form_of(plan, jobs.options())
    assert (values["way"], values["preset"], values["force"]) == ("Preset", "quick", True)
    assert values["overrides"] == "batch_size=64 methods=dense"
    assert unknown == ()


@pytest.mark.parametrize(
    ("plan", "unknown"),
    [
        (RunPlan("nightly"), ("nightly",)),
        (RunPlan(benchmark="mining", methods=("dense",)), ("mining",)),
        (RunPlan(), ("a plan without a benchmark",)),
        (RunPlan(benchmark="lookup", methods=("dense", "gone")), ("gone",)),
        (
            RunPlan(benchmark="lookup", methods=("dense",), parameters=(("direction", ("forward", "sideways")),)),
            ("direction sideways",),
        ),
    ],
)
def test_what_an_old_plan_names_and_is_gone_is_left_out(engine, plan: RunPlan, unknown: tuple[str, ...]) -> None:
    values, left_out = jobs.form_of(plan, jobs.options())
    assert left_out == unknown
    assert not any("gone" in str(v) or "sideways" in str(v) for v in values.values())


def test_a_run_that_is_started_ends_and_its_results_are_there(engine) -> None:
    asked = RunPlan(benchmark="fake", methods=("fake",), parameters=(("pooling_mode", ("ok", "raise")),))
    run_id = jobs.start(asked.sweep_text(), ["seeds=1"], by=LOCAL)
    assert state_of(run_id).status in ("waiting", "running", "done")
    wait_for(lambda: not state_of(run_id).active)
    state = state_of(run_id)
    assert (state.status, state.sweep, state.done, state.failed, state.total) == ("done", "custom", 1, 1, 2)
    assert state.overrides == ("seeds=1",)
    assert "too small" in state.message
    assert state.log == f"{run_id}.log"
    assert "1 trials have results, 1 failed" in jobs.log(run_id)
    assert [row["sweep"] for row in engine.stored()] == ["custom"] * 2
    assert "name: custom" in run_states.path_of(engine.journal, run_id, ".yaml").read_text()
    assert not jobs.cancel(run_id, by=LOCAL)


def test_a_plan_tells_what_failed_and_what_a_retry_would_do(engine) -> None:
    sweep = engine.text("ok", "raise")
    run_id = jobs.start(sweep, by=LOCAL)
    wait_for(lambda: not state_of(run_id).active)
    plan = jobs.plan(sweep)
    assert [(t.fate, t.before, t.failed) for t in plan.trials] == [("done", "ok", False), ("done", "failed", True)]
    assert [t.fate for t in jobs.plan(sweep, retry_failed=True).trials] == ["done", "todo"]
    assert [t.fate for t in jobs.plan(sweep, force=True).trials] == ["todo", "todo"]
    retried = jobs.start(sweep, retry_failed=True, by=LOCAL)
    wait_for(lambda: not state_of(retried).active)
    assert [name for name in engine.entries() if "-2." in name]


def test_a_quick_look_is_planned_and_run_as_one(engine, monkeypatch: pytest.MonkeyPatch) -> None:
    sweep = engine.text("ok")
    given: list[list[str]] = []
    whole = jobs._engine
    monkeypatch.setattr(jobs, "_engine", lambda arguments: given.append(list(arguments)) or whole(arguments))
    assert jobs.plan(sweep, quick=True).count("todo") == 1
    run_id = jobs.start(sweep, quick=True, by=LOCAL)
    wait_for(lambda: not state_of(run_id).active)
    assert state_of(run_id).status == "done", jobs.log(run_id)
    assert all("--quick" in arguments for arguments in given)


def test_a_run_outlives_who_started_it_and_is_cancelled_by_another(engine) -> None:
    """The page's process is gone; another finds the run and stops it."""
    code = (
        "import sys; from mirror.runs import jobs; from mirror.runs.person import LOCAL; "
        "print(jobs.start(sys.argv[1], by=LOCAL))"
    )
    page = subprocess.run(
        [sys.executable, "-c", code, engine.text("ok", "sleep")], capture_output=True, text=True, timeout=60, check=True
    )
    run_id = page.stdout.strip()
    wait_for(lambda: state_of(run_id).done == 1 and state_of(run_id).current)
    assert jobs.cancel(run_id, by=LOCAL)
    wait_for(lambda: not state_of(run_id).active)
    assert state_of(run_id).status == "cancelled"
    assert state_of(run_id).message == "1 of 2 done; the same command goes on from here."
    assert len(engine.entries()) == 1


def test_a_second_run_waits_for_the_first(engine) -> None:
    first = jobs.start(engine.text("sleep"), by=LOCAL)
    wait_for(lambda: state_of(first).current)
    second = jobs.start(engine.text("ok"), by=LOCAL)
    wait_for(lambda: "is running on this machine" in state_of(second).message)
    assert state_of(second).status == "waiting"
    assert jobs.cancel(first, by=LOCAL)
    wait_for(lambda: state_of(second).status == "done")
    assert {s.run_id for s in jobs.runs()} == {first, second}


def test_a_sweep_that_cannot_run_says_so_in_its_state(engine) -> None:
    run_id = jobs.start("benchmark: lokup\nmethods: [dense]\n", by=LOCAL)
    wait_for(lambda: not state_of(run_id).active)
    state = state_of(run_id)
    assert state.status == "failed"
    assert "did you mean lookup?" in state.message


def test_a_run_that_was_killed_has_died_and_is_no_target(engine) -> None:
    run_id = jobs.start(engine.text("sleep"), by=LOCAL)
    wait_for(lambda: state_of(run_id).current)
    os.kill(state_of(run_id).pid, signal.SIGKILL)
    wait_for(lambda: state_of(run_id).status == "died")
    assert not jobs.cancel(run_id, by=LOCAL)


def test_a_stranger_with_the_pid_of_a_dead_run_is_left_alone(engine) -> None:
    stranger = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    state = RunState("mine", "s", pid=stranger.pid, pid_start=1.0, status="running")
    run_states.write(engine.journal, state)
    assert not jobs.cancel("mine", by=LOCAL)
    assert stranger.poll() is None
    run_states.write(
        engine.journal, dataclasses.replace(state, pid_start=run_states.process_start(stranger.pid) or 0.0)
    )
    assert jobs.cancel("mine", by=LOCAL)
    stranger.wait(timeout=10)


def test_a_password_is_in_no_command_line_and_no_file(engine, monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[list[str]] = []
    popen = subprocess.Popen

    def watched(command: list[str], **more: object) -> subprocess.Popen:
        commands.append(command)
        return popen(command, **more)  # type: ignore[call-overload]

    monkeypatch.setenv("MIRROR_JOURNAL", str(engine.folder / "team.journal"))
    monkeypatch.setattr(subprocess, "Popen", watched)
    url = "postgresql://me:secret@127.0.0.1:1/d"
    run_id = jobs.start(engine.text("ok"), url=url, by=LOCAL)
    wait_for(lambda: not next(s for s in jobs.runs(url) if s.run_id == run_id).active)
    assert commands
    assert "secret" not in str(commands)
    for path in (engine.folder / "team.journal" / "runs").iterdir():
        assert "secret" not in path.read_text()


@pytest.mark.parametrize("run_id", ["../x", "", "a/b"])
def test_ids_that_are_no_names(engine, run_id: str) -> None:
    with pytest.raises(JobError, match="cannot be used"):
        jobs.cancel(run_id, by=LOCAL)
    with pytest.raises(JobError, match="cannot be used"):
        jobs.log(run_id)


def test_an_unknown_run(engine) -> None:
    assert jobs.runs() == []
    assert not jobs.cancel("none", by=LOCAL)
    assert jobs.log("none") == ""


def test_a_place_that_cannot_be_written(engine) -> None:
    engine.journal.write_text("")
    with pytest.raises(JobError, match="cannot be started"):
        jobs.start("tiny", by=LOCAL)


# -- who may, how many, and what is noted down -------------------------------------------------------------------------


READER = Person("reader", may_run=False)
ANNA, BEN = Person("anna@example.org"), Person("ben@example.org")


def noted(engine) -> list[dict]:
    return [json.loads(line) for line in audit.path_of(engine.journal).read_text().splitlines()]


def test_who_only_asks_starts_and_cancels_nothing(engine) -> None:
    with pytest.raises(JobError, match="You may ask here"):
        jobs.start(engine.text("ok"), by=READER)
    assert not engine.journal.exists()
    run_id = jobs.start(engine.text("sleep"), by=LOCAL)
    with pytest.raises(JobError, match="You may ask here"):
        jobs.cancel(run_id, by=READER)
    assert state_of(run_id).active
    assert jobs.cancel(run_id, by=LOCAL)
    assert {line["who"] for line in noted(engine)} == {"local"}


def test_runs_of_one_person_are_limited_and_those_of_another_are_not(engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIRROR_RUNS_PER_PERSON", "1")
    first = jobs.start(engine.text("sleep"), by=ANNA)
    with pytest.raises(JobError, match=r"^You have 1 of at most 1 runs waiting or running: wait .*, or cancel one\.$"):
        jobs.start(engine.text("ok"), by=ANNA)
    second = jobs.start(engine.text("ok"), by=BEN)
    assert (jobs.started_by(first), jobs.started_by(second)) == (ANNA.name, BEN.name)
    assert jobs.cancel(first, by=BEN)
    wait_for(lambda: not state_of(first).active)
    assert jobs.start(engine.text("ok"), by=ANNA)
    wait_for(lambda: not any(s.active for s in jobs.runs()))


@pytest.mark.parametrize("limit", ["0", "many", "-1", "1.5"])
def test_a_limit_that_is_no_number_starts_nothing(engine, limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIRROR_RUNS_PER_PERSON", limit)
    with pytest.raises(JobError, match="a whole number, 1 or more"):
        jobs.start(engine.text("ok"), by=ANNA)


def test_starts_cancels_and_resumes_are_noted_with_who_and_what(engine) -> None:
    sweep = engine.text("ok", "sleep")
    first = jobs.start(sweep, ["seeds=1"], by=ANNA)
    wait_for(lambda: state_of(first).current)
    jobs.cancel(first, by=BEN)
    wait_for(lambda: not state_of(first).active)
    second = jobs.start(sweep, ["seeds=1"], by=BEN)
    other = jobs.start(sweep, by=BEN)
    lines = noted(engine)
    assert [(n["who"], n["did"], n["run_id"]) for n in lines] == [
        (ANNA.name, "started", first),
        (BEN.name, "cancelled", first),
        (BEN.name, "resumed", second),
        (BEN.name, "started", other),
    ]
    assert all(datetime.fromisoformat(line["at"]).utcoffset() == timedelta(0) for line in lines)
    assert lines[0]["sha256"] == hashlib.sha256(sweep.encode()).hexdigest()
    assert run_states.path_of(engine.journal, first, ".yaml").read_text() == sweep
    for run_id in (other, second):
        jobs.cancel(run_id, by=BEN)
    wait_for(lambda: not any(s.active for s in jobs.runs()))


def test_the_app_s_passwords_are_no_business_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIRROR_PASSWORD", "one")
    monkeypatch.setenv("MIRROR_READER_PASSWORD", "two")
    assert not {"MIRROR_PASSWORD", "MIRROR_READER_PASSWORD"} & jobs._environment(None).keys()


def test_what_the_engine_prints_beside_json_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    done = subprocess.CompletedProcess([], 0, stdout="loading\n{}", stderr="")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)
    with pytest.raises(JobError, match="What the engine printed cannot be read: 'loading"):
        jobs._ask(["list", "--json"])

"""Runs: what is journalled, what a second run does, and what a signal, a busy database or a full disk does to it."""

import errno
import json
import os
import signal
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from broken_log import break_log
from fake_executor import FakeExecutor

from bench_engine.kernels.native import extension
from bench_engine.machine.lock import MachineBusyError, machine_lock
from bench_engine.run import runner
from bench_engine.run.runner import Options, run
from bench_engine.sweep.sweep import SweepError
from bench_engine.trial import Trial, TrialResult
from db import journal, runs
from db.store import Store, StoreBusyError, StoreError


def answers(*results: TrialResult) -> FakeExecutor:
    given = iter(results)
    return FakeExecutor(lambda _trial: next(given))


OK = TrialResult("ok", {"latency_us": 1.0, "memory_mb": 2.0}, (1.0, 1.5), (("loss", 1, 0.5),), "fixed_count")


def test_every_trial_is_journalled_and_stored(engine) -> None:
    state = run(engine.sweep("ok", seeds=2), executor=FakeExecutor())
    assert (state.status, state.total, state.done, state.failed) == ("done", 2, 2, 0)
    assert [name.endswith("-1.ok.json") for name in engine.entries()] == [True, True]
    assert [row["status"] for row in engine.stored()] == ["ok", "ok"]


def test_the_record_holds_all_that_the_runner_knows(engine) -> None:
    text = engine.text("ok") + "baseline: fake\n"
    from bench_engine.sweep.sweep import parse

    run(parse(text, "fakes"), Options(overrides=("batch_size=4",)), answers(OK))
    (row,) = engine.stored()
    expected = {
        "benchmark": "fake", "op": "nothing", "method": "fake", "is_baseline": True, "sweep": "fakes", "batch_size": 4,
        "compression": 1.0, "threads": 1, "seed": 0, "latency_us": 1.0, "memory_mb": 2.0, "status": "ok", "error": None,
        "stop_reason": "fixed_count",
    }  # fmt: skip
    assert {k: row[k] for k in expected} == expected
    assert row["trial_id"] == f"{row['identity']}-1"
    assert row["started_at"].tzinfo is None
    assert json.loads(row["environment"]) == {}
    store = Store(engine.url)
    assert store.rows("SELECT count(*) AS n FROM samples") == [{"n": 2}]
    assert store.rows("SELECT metric, step, value FROM curve_points") == [{"metric": "loss", "step": 1, "value": 0.5}]
    assert store.rows("SELECT name FROM machines") == [{"name": "test machine"}]
    (sweep_row,) = store.rows("SELECT name, spec FROM sweeps")
    assert sweep_row == {"name": "fakes", "spec": text + "# -p batch_size=4\n"}


def test_the_same_command_again_runs_nothing(engine) -> None:
    run(engine.sweep("ok", seeds=2), executor=FakeExecutor())
    again = FakeExecutor()
    state = run(engine.sweep("ok", seeds=2), executor=again)
    assert (again.asked, state.done, state.total) == ([], 2, 2)


def test_an_added_value_runs_alone(engine) -> None:
    run(engine.sweep("ok", batch_size=[1]), executor=FakeExecutor())
    more = FakeExecutor()
    run(engine.sweep("ok", batch_size=[1, 2]), executor=more)
    assert [t.config["batch_size"] for t in more.asked] == [2]


@pytest.mark.parametrize("status", ["failed", "timeout", "oom"])
def test_failures_are_left_alone_unless_asked_for(engine, status: str) -> None:
    failed = TrialResult(status, error="It did not work.")  # type: ignore[arg-type]
    state = run(engine.sweep("ok"), executor=answers(failed))
    assert (state.failed, state.done) == (1, 0)
    assert state.message.endswith("It did not work.")
    idle = FakeExecutor()
    assert run(engine.sweep("ok"), executor=idle).failed == 1
    assert idle.asked == []
    state = run(engine.sweep("ok"), Options(retry_failed=True), FakeExecutor())
    assert (state.failed, state.done) == (0, 1)
    assert [name.partition("-")[2] for name in engine.entries()] == [f"1.{status}.json", "2.ok.json"]


def test_a_result_counts_whatever_failed_after_it(engine) -> None:
    run(engine.sweep("ok"), executor=FakeExecutor())
    failed = TrialResult("failed", error="It did not work.")
    assert run(engine.sweep("ok"), Options(force=True), answers(failed)).failed == 1
    said: list[str] = []
    state = run(engine.sweep("ok"), executor=FakeExecutor(), say=said.append)
    assert (state.done, state.failed, said) == (1, 0, [])


def test_force_runs_all_again_as_new_attempts(engine) -> None:
    for number in (1, 2, 3):
        run(engine.sweep("ok"), Options(force=True), FakeExecutor())
        assert len(engine.entries()) == number
    assert [row["trial_id"][-2:] for row in engine.stored()] == ["-1", "-2", "-3"]


def test_attempts_go_on_from_the_database_where_the_journal_was_lost(engine) -> None:
    run(engine.sweep("ok"), executor=FakeExecutor())
    for path in engine.journal.glob("*.json"):
        path.unlink()
    run(engine.sweep("ok"), executor=FakeExecutor())
    assert [row["trial_id"][-2:] for row in engine.stored()] == ["-1", "-2"]


def test_a_trial_that_cannot_run_is_recorded_once_and_runs_when_it_can(engine, monkeypatch: pytest.MonkeyPatch) -> None:
    from bench_engine.sweep.sweep import parse

    hashed = parse("benchmark: lookup\nmethods: [hashed]\n", "s")
    monkeypatch.setattr(extension, "built", lambda: False)
    idle = FakeExecutor()
    for _ in range(2):
        state = run(hashed, executor=idle)
        assert (state.skipped, state.done) == (1, 0)
    assert idle.asked == []
    (name,) = engine.entries()
    assert name.endswith("-1.skipped.json")
    assert "bench_engine build" in engine.stored()[0]["error"]
    monkeypatch.setattr(extension, "built", lambda: True)
    state = run(hashed, executor=FakeExecutor())
    assert (state.skipped, state.done) == (0, 1)
    assert Store(engine.url).rows("SELECT * FROM failures") == []


def test_a_trial_that_its_worker_skipped_is_not_tried_again(engine) -> None:
    cannot = TrialResult("skipped", error="This size cannot be reached.")
    assert run(engine.sweep("ok"), executor=answers(cannot)).skipped == 1
    idle = FakeExecutor()
    assert run(engine.sweep("ok"), executor=idle).skipped == 1
    assert idle.asked == []
    retried = FakeExecutor()
    assert run(engine.sweep("ok"), Options(retry_failed=True), retried).done == 1


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (TrialResult("ok", {"latency_us": float("nan")}), "latency_us as nan"),
        (TrialResult("ok", {"latency_us": -1.0}), "latency_us as -1, which is negative"),
        (TrialResult("ok", {"latency_us": "quick"}), "latency_us is not real"),
        (TrialResult("ok", {"sample_count": 1.5}), "sample_count is not integer"),
        (TrialResult("ok", {"sample_count": 2**80}), "sample_count is not integer"),
        (TrialResult("ok", {"happiness": 1.0}), "happiness, which is no column"),
        (TrialResult("ok", {}, (1.0, float("inf"))), "sample 1 as inf"),
        (TrialResult("ok", {}, (-1.0,)), "sample 0 as -1"),
        (TrialResult("ok", {}, (), (("loss", 3, float("nan")),)), "loss at step 3 as nan"),
        (TrialResult("fine"), "the status 'fine'"),  # type: ignore[arg-type]
        (TrialResult("ok", [1]), "no keys and values"),  # type: ignore[arg-type]
        (TrialResult("failed", error=7), "an error that is no text"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_true_is_a_failed_trial(engine, result: TrialResult, words: str) -> None:
    assert run(engine.sweep("ok"), executor=answers(result)).failed == 1
    (row,) = engine.stored()
    assert row["status"] == "failed"
    assert words in row["error"]
    assert row["latency_us"] is None


def test_half_characters_in_an_error_do_not_stop_the_run(engine) -> None:
    run(engine.sweep("ok"), executor=answers(TrialResult("failed", error="no file \udcff here")))
    assert engine.stored()[0]["error"] == "no file ? here"


def test_real_workers_one_after_another(engine) -> None:
    """Through real processes: one that works, one that fails, one that is killed, one that prints rubbish."""
    state = run(engine.sweep("ok", "raise", "killed", "rubbish", "surrogate"))
    assert (state.done, state.failed) == (2, 3)
    assert [row["status"] for row in engine.stored()] == ["ok", "failed", "failed", "ok", "failed"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_run_without_a_record_of_the_trial_it_hit(
    engine, number: int, request: pytest.FixtureRequest
) -> None:
    request.addfinalizer(partial(signal.signal, number, signal.getsignal(number)))
    if signal.getsignal(number) is signal.SIG_IGN:  # under nohup
        signal.signal(number, signal.SIG_DFL)
    before = signal.getsignal(number)

    def answer(trial: Trial) -> TrialResult:
        if trial.config["seed"] == 1:
            os.kill(os.getpid(), number)
        return OK

    executor = FakeExecutor(answer)
    state = run(engine.sweep("ok", seeds=3), executor=executor)
    assert (state.status, state.done) == ("cancelled", 1)
    assert state.message == "1 of 3 done; the same command goes on from here."
    assert executor.killed
    assert len(engine.entries()) == len(engine.stored()) == 1
    assert signal.getsignal(number) is before
    assert run(engine.sweep("ok", seeds=3), executor=FakeExecutor()).done == 3


def test_a_second_run_is_told_who_holds_the_machine(engine) -> None:
    with machine_lock("other"), pytest.raises(MachineBusyError, match=f"Sweep other \\(process {os.getpid()}"):
        run(engine.sweep("ok"), executor=FakeExecutor())
    (state,) = runs.read_all(engine.journal)
    assert state.status == "failed"
    assert "--wait" in state.message


def test_a_waiting_run_starts_when_the_machine_is_free_and_plans_then(engine) -> None:
    """The run it waited for did the same sweep: nothing is left to do."""
    run(engine.sweep("ok"), executor=FakeExecutor())
    (entry,) = engine.journal.glob("*.json")
    kept = entry.rename(engine.folder / entry.name)
    said, statuses = [], []
    lock = machine_lock("other")
    lock.__enter__()
    free = threading.Timer(0.3, lock.__exit__, (None, None, None))

    def say(sentence: str) -> None:
        said.append(sentence)
        statuses.append(runs.read_all(engine.journal)[0].status)
        kept.rename(entry)  # what the other run has done by the time it ends
        free.start()

    executor = FakeExecutor()
    state = run(engine.sweep("ok"), Options(wait=True), executor, say)
    free.join()
    assert (executor.asked, state.status, state.done) == ([], "done", 1)
    assert said[0].startswith("Sweep other")
    assert statuses == ["waiting"]


def test_a_signal_ends_the_waiting_too(engine) -> None:
    executor = FakeExecutor()
    with machine_lock("other"):
        state = run(engine.sweep("ok"), Options(wait=True), executor, lambda _text: os.kill(os.getpid(), signal.SIGINT))
    assert state.status == "cancelled"
    assert state.message.startswith("Cancelled while waiting for the machine: Sweep other (process ")
    assert state.message.endswith(" is running on this machine.")
    assert executor.asked == []


def test_a_busy_database_costs_nothing(engine, monkeypatch: pytest.MonkeyPatch) -> None:
    add = Store.add
    held = iter((True, True, False, False, False, False))

    def sometimes(self: Store, records: list) -> int:
        if next(held):
            raise StoreBusyError("It is held.")
        return add(self, records)

    monkeypatch.setattr(Store, "add", sometimes)
    assert run(engine.sweep("ok", seeds=3), executor=FakeExecutor()).done == 3
    assert len(engine.stored()) == 3


def test_a_database_that_stays_busy_is_said_at_the_end(engine, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(*_: object) -> int:
        raise StoreBusyError("It is held.")

    said: list[str] = []
    Store(engine.url).ensure()
    monkeypatch.setattr(Store, "add", busy)
    assert run(engine.sweep("ok"), executor=FakeExecutor(), say=said.append).status == "done"
    assert said == ["It is held. Run `python -m bench_engine ingest` later to bring them into the results."]
    monkeypatch.undo()
    journal.ingest(Store(engine.url), [engine.journal])
    assert len(engine.stored()) == 1


def test_what_a_killed_run_left_in_the_journal_is_brought_in(engine) -> None:
    run(engine.sweep("ok"), executor=FakeExecutor())
    Path(engine.url).unlink()
    run(engine.sweep("ok"), executor=FakeExecutor())
    assert len(engine.stored()) == 1


@pytest.mark.parametrize("lost", ["file", "log"])
def test_results_made_anew_have_the_journal_before_anything_runs(engine, lost: str) -> None:
    run(engine.sweep("ok"), executor=FakeExecutor())
    Path(engine.url).unlink()
    if lost == "log":
        Store(engine.url).ensure()
        break_log(Path(engine.url))
    there = []

    def answer(_trial: Trial) -> TrialResult:
        there.append(len(engine.stored()))
        return OK

    run(engine.sweep("ok", batch_size=[2]), executor=FakeExecutor(answer))
    assert there == [1]


def test_example_results_are_not_brought_in(engine, examples: Path) -> None:
    run(engine.sweep("ok"), executor=FakeExecutor())
    (path,) = engine.journal.glob("*.json")
    path.rename(examples / path.name)
    Path(engine.url).unlink()
    run(engine.sweep("ok", batch_size=[2]), executor=FakeExecutor())
    assert [row["batch_size"] for row in engine.stored()] == [2]


def test_a_database_that_breaks_on_the_way_costs_nothing(engine) -> None:
    """A table is gone: DuckDB's own error, past SQLAlchemy."""

    def answer(trial: Trial) -> TrialResult:
        if trial.config["seed"] == 0:
            with Store(engine.url)._connect(write=True) as connection:
                connection.exec_driver_sql("DROP TABLE samples")
        return OK

    said: list[str] = []
    state = run(engine.sweep("ok", seeds=2), executor=FakeExecutor(answer), say=said.append)
    assert (state.status, state.done, len(engine.entries())) == ("done", 2, 2)
    assert len(said) == 1
    assert "samples" in said[0]
    assert "The trials are safe in the journal. Run `python -m bench_engine ingest` later" in said[0]


def test_a_broken_database_is_said_before_anything_runs(engine) -> None:
    Path(engine.url).write_text("not a database" * 1000)
    executor = FakeExecutor()
    with pytest.raises(StoreError, match="not a whole DuckDB file"):
        run(engine.sweep("ok"), executor=executor)
    assert executor.asked == []


@pytest.mark.parametrize("states", [False, True], ids=["journal", "states too"])
def test_a_full_disk_ends_the_run_and_keeps_what_is_done(engine, monkeypatch: pytest.MonkeyPatch, states: bool) -> None:
    fsync = os.fsync
    calls = iter(range(100))

    failed: list[bool] = []

    def full(handle: int) -> None:
        if next(calls) >= 2:  # a file and its folder: the first trial
            failed.append(True)
            raise OSError(errno.ENOSPC, "No space left on device")
        fsync(handle)

    written = runs.write

    def full_for_states_too(*given: Any) -> None:
        if failed:
            raise runs.RunStateError("No space for the state.")
        written(*given)

    monkeypatch.setattr(os, "fsync", full)
    monkeypatch.setattr(runs, "write", full_for_states_too if states else written)
    with pytest.raises(journal.JournalError, match="No space left on device"):
        run(engine.sweep("ok", seeds=3), executor=FakeExecutor())
    monkeypatch.undo()
    assert len(engine.entries()) == 1
    assert not list(engine.journal.glob("*.part"))
    (state,) = runs.read_all(engine.journal)
    assert states or (state.status, state.done) == ("failed", 1)


def test_a_slip_in_the_sweep_is_in_the_state_of_the_run(engine) -> None:
    with pytest.raises(SweepError):
        run(engine.sweep("ok"), Options(overrides=("batch_size=x",), run_id="mine"))
    state = runs.read(engine.journal, "mine")
    assert state
    assert (state.status, "whole number" in state.message) == ("failed", True)


def test_two_parts_that_meet_in_one_trial_run_it_once(engine) -> None:
    from bench_engine.sweep.sweep import parse

    text = engine.text("ok")
    executor = FakeExecutor()
    state = run(parse(text + "---\n" + text, "twice"), executor=executor)
    assert (len(executor.asked), state.total) == (1, 1)


def test_what_makes_timings_unsure_is_said_where_there_is_something_to_time(
    engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner.this_machine, "warnings", lambda: ["The load is high."])
    said: list[str] = []
    for _ in range(2):
        run(engine.sweep("ok"), executor=FakeExecutor(), say=said.append)
    assert said == ["The load is high."]


def test_a_forced_run_that_was_cancelled_does_not_go_on(engine) -> None:
    def answer(trial: Trial) -> TrialResult:
        if trial.config["seed"] == 1:
            os.kill(os.getpid(), signal.SIGINT)
        return OK

    state = run(engine.sweep("ok", seeds=3), Options(force=True), FakeExecutor(answer))
    assert state.message == "1 of 3 done; --force measures all of them again."


def test_attempts_go_on_where_the_results_are_held_for_a_second(engine) -> None:
    run(engine.sweep("ok"), executor=FakeExecutor())
    for path in engine.journal.glob("*.json"):
        path.unlink()
    code = f"import duckdb, time; c = duckdb.connect({engine.url!r}); print('held', flush=True); time.sleep(2)"
    holders = []

    class Held(FakeExecutor):
        def sites(self):  # between opening the results and the plan
            holder = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
            assert holder.stdout.readline() == "held\n"
            holders.append(holder)
            return super().sites()

    run(engine.sweep("ok"), executor=Held())
    for holder in holders:
        holder.wait()
    assert [row["trial_id"][-2:] for row in engine.stored()] == ["-1", "-2"]

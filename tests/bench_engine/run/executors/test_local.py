"""The local executor: whatever becomes of a worker is a result, and workers of a group work one at a time."""

import dataclasses
import errno
import itertools
import json
import os
import threading
import time
from collections.abc import Iterator

import psutil
import pytest

from bench_engine import registry
from bench_engine.plan.planning import Planned
from bench_engine.run.executors import local, process
from bench_engine.run.executors.environment import worker_environment
from bench_engine.run.executors.local import LocalExecutor
from bench_engine.run.groups import joined_starts
from bench_engine.run.groups.group import Group
from bench_engine.sweep.sweep import expand
from bench_engine.trial import Trial, TrialResult


def trial(engine, deed: str, **changes: object) -> Trial:
    return dataclasses.replace(expand(engine.sweep(deed))[0], **{"time_limit_s": 30.0, **changes})


def execute(*trials: Trial) -> list[TrialResult]:
    return LocalExecutor().execute(trials)


@pytest.mark.parametrize(
    ("deed", "status", "words"),
    [
        ("ok", "ok", None),
        ("rubbish", "ok", None),
        ("raise", "failed", "the table is too small: give more rows."),
        ("memory", "oom", "It ran out of memory"),
        ("allocator", "oom", "It ran out of memory: it asked for 8 bytes at once."),
        ("killed", "failed", "was ended by SIGKILL: last words"),
        ("exit", "failed", "ended with exit status 3 and without a result and said nothing."),
        ("exit_zero", "failed", "ended with exit status 0 and without a result and said nothing."),
        ("leave", "failed", "ended with exit status 0 and without a result and said nothing."),
        ("segfault", "failed", "was ended by SIGSEGV"),
        ("fork", "ok", None),
        ("nan", "failed", "a value that cannot be stored: latency_us"),
        ("skip", "skipped", "This size cannot be reached."),
        ("wrong_state", "failed", "The worker's answer cannot be read."),
        ("endless", "failed", "gave no result when it was told to finish."),
    ],
)
def test_results(engine, deed: str, status: str, words: str | None) -> None:
    (result,) = execute(trial(engine, deed))
    assert result.status == status
    assert result.error is None if words is None else words in (result.error or "")
    assert "\n" not in (result.error or "")


def test_an_ok_result_is_complete(engine) -> None:
    (result,) = execute(trial(engine, "ok"))
    assert result.samples_us == (1.0, 2.0, 3.0)
    assert result.metrics["latency_us"] == 2.0
    assert 5 < result.metrics["peak_rss_mb"] < 5000
    assert 0 < result.seconds < 30
    assert result.environment["variables"]["OMP_WAIT_POLICY"] == "PASSIVE"


def test_a_copy_that_a_method_forks_does_not_speak_for_the_worker(engine) -> None:
    (result,) = execute(trial(engine, "fork"))
    assert result.samples_us == (1.0, 2.0, 3.0)
    assert not workers()


@pytest.fixture
def thrice(engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fake benchmark, started three times."""
    fake = registry.BENCHMARKS["fake"]
    monkeypatch.setitem(registry.BENCHMARKS, "fake", dataclasses.replace(fake, starts=3))
    monkeypatch.setattr(joined_starts, "MOST", 3)


@pytest.mark.usefixtures("thrice")
def test_starts_are_processes_of_their_own_and_one_result(engine, tmp_path) -> None:
    os.environ["FAKE_TURNS_LOG"] = str(log := tmp_path / "turns.log")
    try:
        first, second = execute(trial(engine, "log", is_baseline=True), trial(engine, "log"))
    finally:
        del os.environ["FAKE_TURNS_LOG"]
    assert (first.status, first.start_turns, first.environment["starts"]) == ("ok", (1, 1, 1), 3)
    assert first.samples_us == (1.0, 2.0, 3.0) * 3
    assert first.metrics["sample_count"] == 9
    assert second.paired
    assert not workers()
    turns = [json.loads(line) for line in log.read_text().splitlines()]
    assert len({turn["pid"] for turn in turns}) == 6
    assert all(a["end"] <= b["begin"] for a, b in itertools.pairwise(turns))


@pytest.mark.usefixtures("thrice")
@pytest.mark.parametrize(
    ("deed", "status", "words"),
    [
        ("ok", "ok", None),
        ("raise", "failed", "the table is too small: give more rows."),
        ("killed", "failed", "was ended by SIGKILL: last words"),
        ("exit", "failed", "ended with exit status 3 and without a result"),
        ("exit_zero", "failed", "ended with exit status 0 and without a result"),
        ("leave", "failed", "ended with exit status 0 and without a result"),
        ("segfault", "failed", "was ended by SIGSEGV"),
        ("fork", "ok", None),
        ("skip", "skipped", "This size cannot be reached."),
    ],
)
def test_what_becomes_of_a_start(engine, deed: str, status: str, words: str | None) -> None:
    (result,) = execute(trial(engine, deed))
    assert result.status == status
    assert result.error is None if words is None else words in (result.error or "")
    assert not workers()


@pytest.mark.usefixtures("thrice")
def test_a_start_that_hangs_is_ended_with_its_process(engine) -> None:
    (result,) = execute(trial(engine, "sleep", time_limit_s=3.0))
    assert result.status == "timeout"
    assert not workers()


def test_a_failed_result_keeps_the_tail_of_stderr(engine) -> None:
    (result,) = execute(trial(engine, "raise"))
    assert "Traceback" in result.environment["stderr"]


def test_those_of_a_group_that_fail_leave_the_others_alone(engine) -> None:
    deeds = ("ok", "killed", "raise", "skip", "ok")
    results = execute(*(trial(engine, deed) for deed in deeds))
    assert [r.status for r in results] == ["ok", "failed", "failed", "skipped", "ok"]
    assert not workers()


def test_turns_are_taken_one_at_a_time_and_each_round_gives_one_to_everybody(engine) -> None:
    """Each worker notes when its turns begin and end: no two overlap, and in each round everybody has one."""
    log = engine.folder / "turns.log"
    os.environ["FAKE_TURNS_LOG"] = str(log)
    try:
        results = execute(*(trial(engine, "log", time_limit_s=60.0) for _ in range(3)))
    finally:
        del os.environ["FAKE_TURNS_LOG"]
    assert [r.status for r in results] == ["ok"] * 3
    turns = sorted((json.loads(line) for line in log.read_text().splitlines()), key=lambda t: t["begin"])
    assert all(first["end"] <= second["begin"] for first, second in itertools.pairwise(turns))
    rounds = [[t["pid"] for t in turns[i : i + 3]] for i in range(0, len(turns), 3)]
    assert len(rounds) == 5
    assert all(len(set(pids)) == 3 for pids in rounds)
    assert len({tuple(pids) for pids in rounds}) > 1, "nobody always follows the same one"


def test_the_others_are_compared_with_the_baseline_that_comes_first(engine) -> None:
    first, second = execute(trial(engine, "ok", is_baseline=True), trial(engine, "ok"))
    assert first.paired is None
    assert second.paired is not None
    assert second.paired.baseline_latency_us == 2.0
    assert second.paired.speedup_ci_low <= 1.0 <= second.paired.speedup_ci_high
    assert all(r.paired is None for r in execute(trial(engine, "ok"), trial(engine, "ok")))
    failed, ok = execute(trial(engine, "raise", is_baseline=True), trial(engine, "ok"))
    assert (failed.paired, ok.paired) == (None, None)


@pytest.mark.parametrize(("enough_for", "asked"), [(2, [3, 2]), (1, [3, 2, 1]), (0, [3, 2, 1])])
def test_out_of_memory_beside_others_is_tried_with_fewer(
    engine, monkeypatch: pytest.MonkeyPatch, enough_for: int, asked: list[int]
) -> None:
    executor, sizes = LocalExecutor(), []

    def run(trials: list[Trial]) -> list[TrialResult]:
        sizes.append(len(trials))
        full = len(trials) > enough_for
        return [
            TrialResult(
                "oom" if full and t.config["pooling_mode"] == "memory" else "ok", {}, (1.0, 1.0), turn_sizes=(1, 1)
            )
            for t in trials
        ]

    monkeypatch.setattr(executor, "_side_by_side", run)
    group = [trial(engine, "ok", is_baseline=True), trial(engine, "ok"), trial(engine, "memory")]
    baseline, other, late = executor.execute(group)
    assert sizes == asked
    assert baseline.group_id == other.group_id != ""
    assert other.paired is not None
    assert late.status == ("ok" if enough_for else "oom")
    assert (late.paired is not None) == (enough_for == 2)
    assert late.group_id != baseline.group_id
    assert bool(late.group_id) == (enough_for == 2)


def test_a_trial_above_its_memory_limit_is_oom_and_says_so(engine) -> None:
    (result,) = execute(trial(engine, "hog", memory_limit_gb=0.5))
    assert (result.status, result.error) == ("oom", "It ran out of memory above its limit of 0.5 GB.")
    (result,) = execute(trial(engine, "hog", memory_limit_gb=2.0))
    assert result.status == "ok"


def test_sigkill_with_the_system_short_of_memory_is_oom(engine, monkeypatch: pytest.MonkeyPatch) -> None:
    kills: Iterator[int] = iter((7, 8))
    monkeypatch.setattr(process, "_oom_kills", lambda: next(kills))
    assert execute(trial(engine, "killed"))[0].status == "oom"


@pytest.mark.parametrize(
    ("part", "code"), [("tempfile.TemporaryFile", errno.ENOSPC), ("subprocess.Popen", errno.EAGAIN)]
)
def test_a_system_that_gives_no_file_or_process_is_a_result(
    engine, monkeypatch: pytest.MonkeyPatch, part: str, code: int
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    one = trial(engine, "ok")
    with monkeypatch.context() as patched:
        patched.setattr(f"bench_engine.run.executors.process.{part}", refuse)
        (result,) = execute(one)
    assert result.status == "failed"
    assert result.error
    assert result.error.startswith(f"The worker could not be run: {os.strerror(code)}. Mend that")
    assert execute(one)[0].status == "ok"


def test_one_that_cannot_be_started_leaves_the_others_alone(engine, monkeypatch: pytest.MonkeyPatch) -> None:
    start, count = process.subprocess.Popen, iter(range(9))

    def sometimes(*given: object, **more: object) -> object:
        if next(count) == 1:
            raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        return start(*given, **more)  # type: ignore[call-overload]

    three = [trial(engine, "ok") for _ in range(3)]
    worker_environment(three[0])
    with monkeypatch.context() as patched:
        patched.setattr(process.subprocess, "Popen", sometimes)
        assert [r.status for r in execute(*three)] == ["ok", "failed", "ok"]


def test_a_reference_that_fails_does_not_run_along_again(engine) -> None:
    bad = trial(engine, "raise", is_baseline=True)
    members = [
        planned(trial(engine, "ok", config={**bad.config, "seed": seed, "pooling_mode": "ok"})) for seed in (1, 2)
    ]
    executor, asked = LocalExecutor(), []
    run = executor.execute

    def watched(trials: list[Trial]) -> list[TrialResult]:
        asked.append(len(trials))
        return run(trials)

    executor.execute = watched  # type: ignore[method-assign]
    found = list(executor.run([Group((m,), bad) for m in members], lambda _label, _group: None))
    assert asked == [2, 1]
    assert [r.status for g in found for r in g.results] == ["ok", "ok"]


def test_how_far_a_group_is_is_told_while_it_sets_up(engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "_TELL_S", 0.0)
    monkeypatch.setattr(process, "_LOOK_S", 0.01)  # for a worker may be there within a fraction of a second
    told: list[str] = []
    group = Group((planned(trial(engine, "sleep", time_limit_s=0.6)),))
    (found,) = LocalExecutor().run([group], lambda label, _group: told.append(label))
    assert found.results[0].status == "timeout"
    assert len(told) > 3
    assert len(set(told)) == 1


def planned(one: Trial) -> Planned:
    return Planned(one, "0123", "todo", "", 1, "", False, 1.0)


def test_time_limit_ends_the_worker(engine) -> None:
    late, other = execute(trial(engine, "sleep", time_limit_s=3.0), trial(engine, "ok"))
    assert late.status == "timeout"
    assert late.error == "It took longer than its limit of 3 s and was ended."
    assert 3.0 <= late.seconds < 30
    assert other.status == "ok"
    assert not workers()


def test_the_turns_of_others_do_not_count_towards_the_time_limit(engine) -> None:
    slow, quick = execute(trial(engine, "slow", time_limit_s=60.0), trial(engine, "log", time_limit_s=60.0))
    assert (slow.status, quick.status) == ("ok", "ok")
    assert slow.seconds > 2.5  # of sleep
    assert quick.seconds < slow.seconds - 2.0


def test_what_a_worker_started_ends_with_it(engine) -> None:
    before = set(psutil.Process().children(recursive=True))
    started = time.monotonic()
    assert execute(trial(engine, "child"))[0].status == "ok"
    assert time.monotonic() - started < 30
    orphans = [
        p
        for p in psutil.process_iter(["cmdline", "environ"])
        if "import time; time.sleep(60)" in (p.info["cmdline"] or [])
        and (p.info["environ"] or {}).get("MIRROR_LOCK") == os.environ["MIRROR_LOCK"]  # of this test, not of another
    ]
    psutil.wait_procs(orphans, timeout=5)
    assert not [p for p in orphans if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]
    assert set(psutil.Process().children(recursive=True)) <= before


def test_kill_ends_the_group_that_runs_and_those_that_come(engine) -> None:
    executor = LocalExecutor()

    def kill() -> None:
        while len(executor._workers) < 2:
            time.sleep(0.01)
        executor.kill()

    timer = threading.Thread(target=kill, daemon=True)
    timer.start()
    assert {r.status for r in executor.execute([trial(engine, "sleep"), trial(engine, "sleep")])} == {"failed"}
    timer.join()
    assert executor.execute([trial(engine, "sleep")])[0].status == "cancelled"
    assert not workers()


def test_threads_are_pinned_before_the_worker_starts(engine) -> None:
    (one,) = expand(engine.sweep("ok"), ["threads=3"])
    environment = worker_environment(one)
    assert (environment["OMP_NUM_THREADS"], environment["MKL_NUM_THREADS"]) == ("3", "3")


def test_settings_of_parallel_op_are_those_of_the_method_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MIRROR_PARALLEL_OP", "MIRROR_PARALLEL_OP_SCHEDULE", "MIRROR_PARALLEL_OP_NESTED"):
        monkeypatch.setenv(name, "table")
    for method in ("eager", "parallel_op"):
        environment = worker_environment(Trial("grouped_lookup", method, {}))
        found = {name: value for name, value in environment.items() if name.startswith("MIRROR_PARALLEL_OP")}
        assert found == dict(registry.METHODS[method].variables)


def test_a_preallocated_output_keeps_its_memory_mapped() -> None:
    fresh, kept = (worker_environment(Trial("lookup", "dense", {"output": o})) for o in ("fresh", "preallocated"))
    assert set(kept) - set(fresh) == {"MALLOC_MMAP_MAX_", "MALLOC_TRIM_THRESHOLD_", "MALLOC_TOP_PAD_"}


def workers() -> list[psutil.Process]:
    """Workers of this process that are still alive."""
    return [
        p
        for p in psutil.Process(os.getpid()).children()
        if p.status() != psutil.STATUS_ZOMBIE and "bench_engine.run.worker" in p.cmdline()
    ]


def test_what_is_to_be_prepared_is_done_before_any_machine_is_named() -> None:
    done: list[str] = []
    executor = LocalExecutor(lambda: done.append("built"))
    assert not done
    executor.sites()
    assert done == ["built"]

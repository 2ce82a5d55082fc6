"""The check of the verdicts: what it runs, what it counts, and when it trusts."""

from collections import Counter

import pytest

from bench_engine.command.cli import main
from bench_engine.machine.lock import machine_lock
from bench_engine.run.executors.local import LocalExecutor
from bench_engine.selfcheck.verdicts import VerdictReport
from bench_engine.trial import Paired, Trial, TrialResult


def report(same: int, unclear: int, slower: int, rounds: int = 20) -> VerdictReport:
    told_apart = rounds - same - unclear
    identical = Counter(same=same, unclear=unclear, faster=told_apart)
    return VerdictReport(identical, Counter(slower=slower, unclear=rounds - slower), rounds)


@pytest.mark.parametrize(
    ("found", "trusted"),
    [
        (report(20, 0, 20), True),
        (report(10, 9, 18), True),
        (report(18, 0, 20), False),
        (report(20, 0, 17), False),
        (report(0, 20, 0), False),
        (report(38, 0, 36, rounds=40), True),
    ],
)
def test_trust(found: VerdictReport, trusted: bool) -> None:
    assert found.trusted is trusted
    assert ("can be trusted" in found.sentence()) is trusted


@pytest.mark.parametrize(("rounds", "enough"), [(1, False), (19, False), (20, True)])
def test_few_rounds_tell_nothing(rounds: int, enough: bool) -> None:
    found = report(rounds, 0, rounds, rounds)
    assert found.trusted is enough
    assert ("too few rounds to tell" in found.sentence()) is not enough
    assert ("trusted" in found.sentence()) is enough


def test_one_round_of_real_workers(engine, capsys: pytest.CaptureFixture[str]) -> None:
    main(["check-verdicts", "--rounds", "1", "--busy"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("[1/1] dense_again")
    assert lines[1].startswith("[1/1] dense_slowed")
    slowed = float(lines[1].split("speedup ")[1].split()[0])
    assert slowed < 1.0
    assert lines[2].startswith("Identical methods: ")


def test_rounds_are_counted_and_the_exit_status_says_whether_to_trust(
    engine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def execute(_self: LocalExecutor, trials: list[Trial]) -> list[TrialResult]:
        assert [t.method for t in trials] == ["dense", "dense_again", "dense_slowed"]
        ok = TrialResult("ok", {"latency_us": 2.0})
        verdicts = {"dense_again": "faster", "dense_slowed": "slower"}
        return [
            ok,
            *(
                TrialResult("ok", {"latency_us": 2.0}, paired=Paired(2.0, 0.9, 1.1, verdicts[t.method]))
                for t in trials[1:]
            ),
        ]

    monkeypatch.setattr(LocalExecutor, "execute", execute)
    assert main(["check-verdicts", "--rounds", "3"]) == 1
    assert "0 times same, 0 unclear, 3 told apart. Slowed by ten per cent: 3 of 3 times" in capsys.readouterr().out


@pytest.mark.parametrize("rounds", ["0", "-1"])
def test_no_rounds_are_refused(engine, rounds: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check-verdicts", "--rounds", rounds]) == 1
    assert capsys.readouterr().err == f"--rounds must be at least 1, not {rounds}.\n"


def test_it_does_not_run_beside_a_sweep(engine, capsys: pytest.CaptureFixture[str]) -> None:
    with machine_lock("other"):
        assert main(["check-verdicts"]) == 1
    assert capsys.readouterr().err.startswith("Sweep other")

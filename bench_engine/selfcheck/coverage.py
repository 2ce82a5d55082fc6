"""Do stored intervals contain the truth on this machine? Methods that do a known number of lookups tell.

The baseline does 100 lookups a call; others do 100, 102, 103, 105, 110 and 150, in a group with it. Each round is a
group with processes of its own, and what came out is a line of JSON in a file, so that rounds of several evenings count
together and a stopped check loses nothing.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bench_engine.machine.lock import machine_lock
from bench_engine.machine.machine import machine, state
from bench_engine.registry import benchmark
from bench_engine.run.executors.local import LocalExecutor
from bench_engine.selfcheck import SelfCheckError
from bench_engine.selfcheck.verdicts import neighbour
from bench_engine.trial import Trial

BASELINE = 100
LOOKUPS: Mapping[str, int] = {
    "dense_100_again": 100, "dense_102": 102, "dense_103": 103, "dense_105": 105, "dense_110": 110, "dense_150": 150,
}  # fmt: skip


@dataclass(frozen=True)
class Round:
    """What one group said of one method.

    Attributes:
        truth: lookups of the method over those of the baseline.
        ratio, low, high: how many times as long it takes, with the interval that is stored; None where there is none.
        verdict: the stored one.
        starts: of its process.
        busy: whether a core was kept at work meanwhile.
        visits: whether work came and went meanwhile.
        load: of the machine, before.
        machine_id: the machine.
    """

    truth: float
    ratio: float
    low: float | None
    high: float | None
    verdict: str
    starts: int
    busy: bool
    load: float | None
    machine_id: str
    visits: bool = False

    @property
    def beside(self) -> str:
        """What else ran."""
        return "busy" if self.busy else "visits" if self.visits else "quiet"

    @property
    def covers(self) -> bool:
        """Whether the truth lies in the interval."""
        return self.low is not None and self.high is not None and self.low <= self.truth <= self.high

    @property
    def right_side(self) -> bool:
        """Whether the whole interval is on the side of 1 where the truth is."""
        return self.low is not None and self.truth > 1 and self.low > 1


def check_intervals(
    rounds: int, beside: str, path: Path, only_equal: bool, say: Callable[[str], None]
) -> Sequence[Round]:
    """Run so many rounds and add them to a file. Returns all that it holds. Raises MachineBusyError, SelfCheckError.

    `beside`: what `bench_engine.selfcheck.verdicts.neighbour` knows.
    """
    if rounds < 0:
        raise SelfCheckError(f"--rounds must be at least 0, not {rounds}.")
    found = read(path)
    if not rounds:
        if not found:
            raise SelfCheckError(f"There is no {path}: give --rounds, which is added to.")
        return found
    _add(path, "")  # before anything is measured for nothing
    config = {**{a.name: a.default for a in benchmark("lookup").axes}, "batch_size": 64}
    names = [name for name, lookups in LOOKUPS.items() if lookups == BASELINE or not only_equal]
    trials = [Trial("lookup", "dense_100", config, is_baseline=True), *(Trial("lookup", n, config) for n in names)]
    with machine_lock("check-intervals"), neighbour(beside):
        for number in range(1, rounds + 1):
            load = state().get("load")
            baseline, *others = LocalExecutor().execute(trials)
            for name, result in zip(names, others, strict=True):
                if result.paired is None:
                    raise SelfCheckError(f"{name} cannot be compared: {result.error or baseline.error}")
                paired = result.paired
                low, high = (1 / x if x else None for x in (paired.speedup_ci_high, paired.speedup_ci_low))
                ratio = result.metrics["latency_us"] / paired.baseline_latency_us
                starts = len(result.start_turns) or 1
                truth = LOOKUPS[name] / BASELINE
                told = Round(
                    *(truth, ratio, low, high, paired.verdict, starts, beside == "busy", load),
                    *(machine()["machine_id"], beside == "visits"),
                )
                found.append(told)
                _add(path, json.dumps(asdict(told)) + "\n")
                ends = " to ".join("?" if end is None else f"{end:.4f}" for end in (low, high))
                say(f"[{number}/{rounds}] {name:<15} {ratio:.4f} ({ends}), {starts} starts, {paired.verdict}")
    return found


def _add(path: Path, text: str) -> None:
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise SelfCheckError(f"{path} cannot be written ({error.strerror}): name another file with --out.") from error


def read(path: Path) -> list[Round]:
    """The rounds of a file; none where there is no file. Raises SelfCheckError."""
    try:
        return [Round(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, TypeError) as error:
        raise SelfCheckError(f"{path} holds no rounds of check-intervals ({error}): name another file.") from error


def table(found: Sequence[Round]) -> list[str]:
    """Lines: for each truth and each state of the machine how often intervals held it, and what verdicts said."""
    lines = ["beside  truth  rounds  covered  half-width  beyond 1  same/slower/faster/unclear"]
    order = ("quiet", "busy", "visits")
    for beside, truth in sorted({(r.beside, r.truth) for r in found}, key=lambda key: (order.index(key[0]), key[1])):
        of = [r for r in found if (r.beside, r.truth) == (beside, truth)]
        widths = sorted(math.log(r.high / r.low) / 2 if r.low and r.high else math.inf for r in of)
        held = f"{sum(r.covers for r in of)}/{len(of)}"
        beyond = f"{sum(r.right_side for r in of)}/{len(of)}" if truth > 1 else "-"
        verdicts = "/".join(str(sum(r.verdict == word for r in of)) for word in ("same", "slower", "faster", "unclear"))
        width = f"{widths[len(widths) // 2]:.2%}"
        lines.append(f"{beside:<6}  {truth:>5.2f}  {len(of):>6}  {held:>7}  {width:>10}  {beyond:>8}  {verdicts}")
    equal = [r for r in found if r.truth == 1]
    wrong = sum(r.verdict in ("slower", "faster") for r in equal)
    covered = sum(r.covers for r in found)
    return [
        *lines,
        f"The truth lay in {covered} of {len(found)} intervals (95 % are said to hold it). "
        f"Equal code was told apart in {wrong} of {len(equal)} verdicts.",
    ]

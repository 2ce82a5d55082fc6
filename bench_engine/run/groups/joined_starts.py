"""What the starts of a trial's process found, as one result; and whether there is to be another start."""

import math
import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from bench_engine.measure.measure import outliers, summarize
from bench_engine.run.groups.recording import fault
from bench_engine.trial import Stop, Trial, TrialResult
from db.columns import BY_NAME, OWN_STEP

# A start takes one part in USUAL of the samples that the stop rule asks for. There are more starts than that while
# verdicts are unclear, and fewer where setting up takes long: a trial may take EXTRA times what one start would take.
USUAL, MOST = 5, 10
EXTRA = 1.3
SURE = 0.02  # a speedup known to so much of itself asks for no further start
_RATES = ("bandwidth_share",)  # beside the columns of something per second
_LARGEST = ("max_abs_error", "peak_rss_mb")
_SUMS = ("checks_in_turns", "checks_s")


@dataclass(frozen=True)
class Spent:
    """Seconds of one start of a group: to set it up, and for its turns."""

    set_up: float
    turns: float


def share(trial: Trial) -> Trial:
    """The trial as one of its starts runs it."""
    stop = trial.stop
    return replace(trial, stop=Stop(math.ceil(stop.min_samples / USUAL), stop.max_seconds / USUAL, stop.noise_target))


def another(least: int, spent: Sequence[Spent], results: Sequence[TrialResult]) -> bool:
    """Whether a group is to be started again, by its results so far, joined and compared."""
    count = len(spent)
    if count < least:
        return True
    turns = sum(s.turns for s in spent) / count
    so_far = sum(s.set_up + s.turns for s in spent)
    if count >= MOST or so_far + spent[-1].set_up + turns > EXTRA * (spent[0].set_up + USUAL * turns):
        return False
    return count < USUAL or any(map(_unsure, results))


def _unsure(result: TrialResult) -> bool:
    paired = result.paired
    if paired is None or not paired.speedup_ci_low or not paired.speedup_ci_high:
        return False
    return paired.verdict == "unclear" or paired.speedup_ci_high / paired.speedup_ci_low > (1 + SURE) ** 2


def joined(results: Sequence[TrialResult], seed: int = 0) -> TrialResult:
    """One result of those of all starts, in their order; the first that is not ok where there is one."""
    for number, result in enumerate(results, 1):
        if result.status != "ok" or fault(result) or not result.samples_us:
            later = number > 1 and result.error
            return replace(result, error=f"In start {number} of its process: {result.error}") if later else result
    first, last = results[0], results[-1]
    if len(results) == 1:
        return first
    samples = tuple(sample for result in results for sample in result.samples_us)
    sizes = tuple(size for result in results for size in result.turn_sizes)
    start_turns = tuple(len(result.turn_sizes) for result in results)
    metrics = {**first.metrics, **summarize(samples, sizes, seed, start_turns)}
    for name, value in first.metrics.items():
        if value and name in BY_NAME and (BY_NAME[name].unit.endswith("/s") or name in _RATES):  # one over the time
            metrics[name] = value * first.metrics["latency_us"] / metrics["latency_us"]
        elif name in _LARGEST:
            metrics[name] = max((r.metrics[name] for r in results if r.metrics.get(name) is not None), default=None)
    sums = {name: round(sum(r.environment.get(name, 0) for r in results), 4) for name in _SUMS}
    told = {"starts": len(results), "start_turns": list(start_turns), "outliers": outliers(samples)}
    if "load_before" in first.environment:  # later starts are loaded by those before them
        told["load_before"] = first.environment["load_before"]
    return replace(
        last,
        metrics=metrics,
        curves=_curves(results),
        samples_us=samples,
        turn_sizes=sizes,
        start_turns=start_turns,
        stop_reason=_reason(results),
        environment={**last.environment, **(sums if any(sums.values()) else {}), **told},
    )


def _curves(results: Sequence[TrialResult]) -> tuple[tuple[str, int, float], ...]:
    """Those of the last start; metrics of plug-ins, which are curves of one point, as means over all."""
    own: dict[str, list[float]] = defaultdict(list)
    for name, step, value in (point for result in results for point in result.curves):
        if step == OWN_STEP:
            own[name].append(value)
    kept = (point for point in results[-1].curves if point[1] != OWN_STEP)
    return (*kept, *((name, OWN_STEP, statistics.fmean(values)) for name, values in own.items()))


def _reason(results: Sequence[TrialResult]) -> str | None:
    """Of the starts' reasons to stop the one that promises least."""
    said = [result.stop_reason for result in results]
    order = ("time_cap", "fixed_count", "noise_stable", "noise_target")
    return next((reason for reason in order if reason in said), said[0])

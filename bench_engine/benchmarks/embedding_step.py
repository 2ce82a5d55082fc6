"""One embedding bag with its optimizer: correct first, then the time of a lookup, of a step or of a prune event.

Direction `forward` times the lookup without gradients; `forward_backward_update` one whole step: the lookup, its
backward from a fixed gradient of the output, and the optimizer, with all that a method does in them (recording what was
looked up, adding up equal ids, utilities), but no prune event. `prune` times one event, each after INTERVAL steps that
are not timed, so that utilities are those of an interval and chunks have a reason to move; prune_share is the median
event over the median of these intervals: what events add to the time of steps.

Requests are a stream: as many distinct batches in rotation as hold IDS_PER_ROW ids for each row, within limits. Those
of a training do not come back after some milliseconds either, and a table that outgrows the caches is timed as one.

A table that prunes is first trained on this stream, TRAINING_STEPS steps in which all of it passes, with events after
the steps 3, 30, 300 and the last, so that its pool is full of what the stream looks up. The trial fails where the pool
is not as full as `compression` says. Over quantized rows chunks live from their first lookup on, there are no events,
and an update may differ from the reference by what rounding does. Then the optimizer begins anew, since updates can be
checked only from slots that are known.
"""

import secrets
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from bench_engine.benchmarks import caches, memory_traffic
from bench_engine.benchmarks.lookup import bytes_moved, difference
from bench_engine.benchmarks.modules import DEVICE, DTYPE, OutOfReachError
from bench_engine.benchmarks.step_methods import PrunedBag, StepBag, TrainedBag, build
from bench_engine.benchmarks.step_reference import STEPS, expected_output, output_error, update_error
from bench_engine.benchmarks.watch import Subject, Watch, WrongResultError
from bench_engine.data.requests import request_batches
from bench_engine.measure.measure import Sampler, summarize
from bench_engine.trial import Run, Scalar, Trial, TrialResult

IDS_PER_ROW, LEAST_IDS, MOST_IDS = 2, 2**20, 2**23
LEAST_BATCHES = 8
TRAINING_STEPS = 1000
INTERVAL = 1000
CHECKED_BATCHES = 8
POOL_TOLERANCE = 0.01
_SHOWN_IDS = 2**16  # of the stream, to say how much of what is looked up lives


class Events:
    """Prune events, each after an interval of steps on the stream.

    Attributes:
        intervals_us: time of each interval.
        turnovers: share of the budget that each event moved.
    """

    def __init__(
        self, bag: PrunedBag, batches: list[Tensor], gradient: Tensor, flush: Callable[[], object] | None = None
    ) -> None:
        self.intervals_us: list[float] = []
        self.turnovers: list[float] = []
        self._bag, self._batches, self._gradient, self._flush = bag, batches, gradient, flush
        self._done = 0
        self._due = False

    def prepare(self) -> None:
        """The steps before an event, and the caches flushed where they are to be cold."""
        start = time.perf_counter_ns()
        for index in range(self._done, self._done + INTERVAL):
            self._bag.update(self._batches[index % len(self._batches)], self._gradient)
        self.intervals_us.append((time.perf_counter_ns() - start) / 1e3)
        self._done += INTERVAL
        self._due = True
        if self._flush:
            self._flush()

    def event(self, _index: int) -> None:
        """An event; with its interval where there was none, as when the sampler warms up."""
        if not self._due:
            self.prepare()
        self._due = False
        self.turnovers.append(self._bag.prune().turnover)

    def share(self, event_us: float) -> float:
        """An event's time as a share of that of the steps from one event to the next."""
        return event_us / statistics.median(self.intervals_us)

    def told(self) -> dict[str, Any]:
        """What a result tells of the pruning: its interval, the medians of its time and of what it moved."""
        return {
            "prune_interval": INTERVAL,
            "median_interval_us": statistics.median(self.intervals_us),
            "median_turnover": statistics.median(self.turnovers),
            "events": len(self.turnovers),
        }


def run(trial: Trial) -> Run:
    """Measure one trial; `failed` when an output or an update is not the float64 reference's, or a pool is not full."""
    config = trial.config
    seed, dim = int(config["seed"]), int(config["embedding_dim"])
    batch_size, bag_size, direction = int(config["batch_size"]), int(config["bag_size"]), str(config["direction"])
    torch.manual_seed(seed)
    try:
        bag = build(trial)
    except OutOfReachError as error:
        return TrialResult("skipped", error=str(error))
    batches = stream(int(config["num_rows"]), batch_size, bag_size, float(config["zipf_s"]), seed)
    gradient = torch.randn(batch_size, dim)
    requests = [(batch,) for batch in batches]
    environment: dict[str, Any] = {"request_batches": len(batches)}
    flush = caches.flusher() if config["cache"] == "cold" else None

    def forward(index: int) -> object:
        return bag(batches[index % len(batches)])

    def update(index: int) -> None:
        bag.update(batches[index % len(batches)], gradient)

    events = None
    try:
        if isinstance(bag, TrainedBag):
            environment |= train(bag, torch.cat(batches))
        errors = [output_error(bag, batch) for batch in batches[:CHECKED_BATCHES]]
        errors.append(update_error(bag, str(config["optimizer"]), batches, gradient))
        bag.settle()
        if isinstance(bag, PrunedBag) and direction == "prune":
            events = Events(bag, batches, gradient, flush)
        with torch.set_grad_enabled(direction != "forward"):
            watch = Watch(_Bag(bag, config), requests, batches, flush=flush if direction == "forward" else None)
            watch.before()
            if events:
                sampler = Sampler(events.event, trial.stop, events.prepare, counting=False)
            elif direction == "forward":
                sampler = Sampler(forward, trial.stop, flush, period=len(batches), probe=watch.probe)
            else:
                sampler = Sampler(update, trial.stop, flush, period=len(batches), probe=watch.spot)
            timing = yield from sampler.turns()
            kept = bag.memory()
            errors += watch.after()
            if direction != "forward":
                bag.forget_slots()
                unseen = [_Bag(bag, config).unseen(secrets.randbits(31))[0] for _ in range(STEPS)]
                errors.append(update_error(bag, str(config["optimizer"]), unseen, gradient, " after its last turn"))
    except WrongResultError as error:
        return TrialResult("failed", error=f"{trial.method} {error}")
    times = summarize(timing.samples_us, timing.turn_sizes, seed)
    metrics: dict[str, Any] = {
        **times,
        **kept,
        "device": DEVICE,
        "dtype": DTYPE,
        "num_tables": 1,
        "max_abs_error": max(errors),
    }
    environment |= watch.told()
    seconds = times["latency_us"] / 1e6
    if events:
        metrics["prune_share"] = events.share(times["latency_us"])
        environment |= events.told()
    else:
        metrics["samples_per_s"] = batch_size / seconds
    if direction == "forward":
        metrics |= memory_traffic.metrics(bytes_moved(batch_size, bag_size, dim), times["latency_us"], config)
        environment |= memory_traffic.facts(trial, [(batch_size, bag_size)], dim)
    return timing.result(metrics, environment)


class _Bag(Subject):
    """A bag with its optimizer, for a Watch."""

    compare = staticmethod(difference)

    def __init__(self, bag: StepBag, config: Mapping[str, Scalar]) -> None:
        self._bag, self._config = bag, config
        self.terms = int(config["bag_size"])

    def prepare(self, request: Sequence[Tensor]) -> Tensor:
        return request[0]

    def call(self, prepared: Any) -> Tensor:
        return self._bag(prepared)

    def expected(self, request: Sequence[Tensor]) -> Tensor:
        return expected_output(self._bag, request[0])

    def unseen(self, seed: int) -> tuple[Tensor, ...]:
        rows, batch, bag = (int(self._config[axis]) for axis in ("num_rows", "batch_size", "bag_size"))
        return (torch.from_numpy(request_batches(rows, batch, bag, float(self._config["zipf_s"]), seed, 1)[0]),)

    def weights(self) -> Sequence[Tensor]:
        return list(self._bag.module.parameters()) if self._config["direction"] == "forward" else []


def stream(num_rows: int, batch_size: int, bag_size: int, zipf_s: float, seed: int) -> list[Tensor]:
    """Distinct batches (B, L)."""
    ids = min(MOST_IDS, max(LEAST_IDS, IDS_PER_ROW * num_rows))
    count = max(LEAST_BATCHES, ids // (batch_size * bag_size))
    (drawn,) = request_batches(num_rows, count * batch_size, bag_size, zipf_s, seed, 1)
    return list(torch.from_numpy(drawn).view(count, batch_size, bag_size).unbind())


def train(bag: TrainedBag, bags: Tensor) -> dict[str, Any]:
    """Train until the pool holds what the stream (N, L) looks up; tells how full it is.

    Gradients change their sign from step to step, so that weights stay about where they are. Raises WrongResultError.
    """
    parts = [part for part in bags.tensor_split(TRAINING_STEPS) if len(part)]
    gradient = torch.randn(max(map(len, parts)), bag.table.embedding_dim)
    for step in range(TRAINING_STEPS):
        part = parts[step % len(parts)]
        bag.update(part, (gradient if step % 2 else -gradient)[: len(part)])
    if isinstance(bag, PrunedBag):
        bag.prune()
    bag.forget_slots()
    live, budget = bag.live_share, bag.budget_share
    if abs(live - budget) > POOL_TOLERANCE * budget:
        raise WrongResultError(f"is wrong: {live:.4g} of its chunks live after training, not {budget:.4g}.")
    return {
        "training_steps": TRAINING_STEPS,
        "live_share": live,
        "live_share_of_lookups": float(bag.live(bags.flatten()[:_SHOWN_IDS]).float().mean()),
    }

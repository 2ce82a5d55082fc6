"""Methods that cheat or break, most of them only once they are timed: none of them is stored as ok.

Those that end, hang or fork their process are in tests/bench_engine/run/executors/test_local.py.
"""

import re
import sys
import time

import pytest
import torch
from alone import alone

from bench_engine.benchmarks import grouped_lookup, watch
from bench_engine.kernels.compressed.dense import DenseEmbeddingBag
from bench_engine.measure import measure
from bench_engine.methods.grouped_methods import Eager
from bench_engine.registry import BENCHMARKS
from bench_engine.run import worker
from bench_engine.trial import Stop, Trial, TrialResult

pytestmark = pytest.mark.usefixtures("one_thread")

STOP = Stop(min_samples=130, max_seconds=0.02, noise_target=0.5)
SIZES = {"num_rows": 1000, "embedding_dim": 8, "bag_size": 5, "batch_size": 32, "compression": 1.0}
LATER = 60  # calls; the checks before the clock starts and the warm-up are fewer


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    """A check in every turn, and a warm-up that is over at once."""
    monkeypatch.setattr(measure, "PROBE_CHANCE", 1.0)
    monkeypatch.setattr(watch, "PROBING_SHARE", 1.0)
    monkeypatch.setattr(measure, "WARM_UP_NS", 100_000)
    monkeypatch.setattr(measure, "LEAST_NS", 0)


class Counting(DenseEmbeddingBag):
    """Right for LATER calls; then what a subclass makes of it."""

    calls = 0

    def forward(self, input, offsets=None):
        self.calls += 1
        right = super().forward(input, offsets)
        return right if self.calls <= LATER else self.later(right, input)

    def later(self, right, input):
        return right


class NoNumbersLater(Counting):
    def later(self, right, input):
        return right * float("nan")


class WrongLater(Counting):
    def later(self, right, input):
        return right * 1.01


class OneBagWrongLater(Counting):
    def later(self, right, input):
        right[-1, -1] += 1e-3
        return right


class ShapeLater(Counting):
    def later(self, right, input):
        return right[:, :-1]


class FewerBagsLater(Counting):
    def later(self, right, input):
        return right[1:]


class NothingLater(Counting):
    def later(self, right, input):
        return None


class HalfLater(Counting):
    def later(self, right, input):
        return right.to(torch.bfloat16)


class DoubleLater(Counting):
    def later(self, right, input):
        return right.double()


class MetaLater(Counting):
    """Says that the output is on another device, where nothing was computed."""

    def later(self, right, input):
        return right.to("meta")


class Lazy(torch.Tensor):
    """May compute when it is looked at, after the clock has stopped."""


class LazyLater(Counting):
    def later(self, right, input):
        return right.as_subclass(Lazy)


class FirstForEver(Counting):
    first = None

    def later(self, right, input):
        self.first = right if self.first is None else self.first
        return self.first.clone()


class EverySecond(Counting):
    """Computes every second call only."""

    last = None

    def later(self, right, input):
        if self.calls % 2:
            self.last = right.clone()
        return right if self.last is None else self.last.clone()


class SometimesWrong(Counting):
    def later(self, right, input):
        return right * 2 if torch.rand(()) < 0.5 else right


class Noisy(DenseEmbeddingBag):
    """Never gives the same twice."""

    def forward(self, input, offsets=None):
        return super().forward(input, offsets) * (1 + 1e-2 * torch.rand(()))


class HalfOfTheIds(Counting):
    def later(self, right, input):
        return 2 * super(Counting, self).forward(input[:, ::2])


class WritesIntoIds(Counting):
    def later(self, right, input):
        input[0, 0] = (input[0, 0] + 1) % self.num_embeddings
        return right


class WritesIntoWeights(Counting):
    """Rows that are read fade, so that the next calls are right again by the rows as they are then."""

    @torch.no_grad()
    def later(self, right, input):
        self.weight.mul_(0.999)
        return right


class ClearsWeights(Counting):
    @torch.no_grad()
    def later(self, right, input):
        self.weight.zero_()
        return torch.zeros_like(right)


class OneBuffer(DenseEmbeddingBag):
    """Gives the same memory in every call."""

    buffer = None

    def forward(self, input, offsets=None):
        output = super().forward(input, offsets)
        if self.buffer is None or self.buffer.shape != output.shape:
            self.buffer = torch.empty_like(output)
        return self.buffer.copy_(output)


class OneBufferLater(Counting):
    buffer = None

    def later(self, right, input):
        if self.buffer is None or self.buffer.shape != right.shape:
            self.buffer = torch.empty_like(right)
        return self.buffer.copy_(right)


class Slow(DenseEmbeddingBag):
    """Something worth to be remembered."""

    def forward(self, input, offsets=None):
        output = super().forward(input, offsets)
        time.sleep(3e-4)
        return output


class RemembersAddresses(Slow):
    def __init__(self, *arguments, **more):
        super().__init__(*arguments, **more)
        self.known = {}

    def key(self, input):
        return input.data_ptr()

    def given(self, output):
        return output

    def forward(self, input, offsets=None):
        key = self.key(input)
        if key not in self.known:
            self.known[key] = super().forward(input, offsets)
        return self.given(self.known[key])


class RemembersAddressesInCopies(RemembersAddresses):
    def given(self, output):
        return output.clone()


class RemembersContents(RemembersAddresses):
    def key(self, input):
        return input.numpy().tobytes()


class RemembersContentsInCopies(RemembersContents):
    def given(self, output):
        return output.clone()


class RemembersVersions(RemembersAddressesInCopies):
    def key(self, input):
        return input.data_ptr(), input._version


class RaisesLater(Counting):
    def later(self, right, input):
        raise RuntimeError("it has had enough")


def run(method: str, **config) -> TrialResult:
    axes = {a.name: a.default for a in BENCHMARKS["lookup"].axes if a.is_of("dense")}
    return alone(worker.run(Trial("lookup", method, {**axes, **SIZES, **config}, stop=STOP)))


IN_TURN = r"stand_in is wrong: its output in turn \d+, after \d+ calls,"


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        (NoNumbersLater, IN_TURN),
        (WrongLater, IN_TURN + " differs"),
        (OneBagWrongLater, IN_TURN + " differs"),
        (ShapeLater, IN_TURN + " (has 7 columns, not 8|has shape)"),
        (FewerBagsLater, IN_TURN + r" has shape \(31, 8\) for 32 bags"),
        (NothingLater, IN_TURN + " is None"),
        (HalfLater, IN_TURN + " is a Tensor bfloat16 on cpu, not a Tensor float32 on cpu"),
        (DoubleLater, IN_TURN + " is a Tensor float64"),
        (MetaLater, IN_TURN + " is a Tensor float32 on meta"),
        (LazyLater, IN_TURN + " is a Lazy"),
        (FirstForEver, "its output in turn|gives them again|that later calls change"),
        (EverySecond, "its output"),
        (SometimesWrong, "its output"),
        (Noisy, "its output"),
        (HalfOfTheIds, IN_TURN),
        (WritesIntoIds, "writes into its request: one of the rotation was changed in turn"),
        (WritesIntoWeights, "its output|writes into its own weights: calls changed them while it was timed"),
        (ClearsWeights, "its output|writes into its own weights"),
        (OneBuffer, "gives its outputs in a buffer that later calls change"),
        (OneBufferLater, "gives its outputs in a buffer that later calls change: one was no longer the same in"),
        (RemembersAddresses, "gives them again"),
        (RemembersAddressesInCopies, "its output in turn"),
        (RemembersContents, "gives them again"),
        (RemembersContentsInCopies, r"remembers outputs by their requests: .* \d+\.\d times as long"),
        (RemembersVersions, "remembers outputs by their requests"),
        (RaisesLater, "RuntimeError: it has had enough"),
    ],
)
def test_none_is_ok(stand_in, kind: type, sentence: str) -> None:
    result = run(stand_in(kind))
    assert result.status == "failed"
    assert len(result.error.splitlines()) == 1
    assert re.search(sentence, result.error), result.error


class _Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, output, by):
        ctx.by = by
        return output.clone()

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.by, None


class GradientWrongLater(Counting):
    def later(self, right, input):
        return _Scaled.apply(right, 1.01)


class NoGradientLater(Counting):
    def later(self, right, input):
        return _Scaled.apply(right, 0.0)


class GradientOfKnownIdsOnly(DenseEmbeddingBag):
    """Right wherever it was asked before it was timed."""

    known: frozenset = frozenset()
    calls = 0

    def forward(self, input, offsets=None):
        self.calls += 1
        right = super().forward(input, offsets)
        if self.calls <= LATER:
            self.known |= {int(input.sum())}
        return right if int(input.sum()) in self.known else _Scaled.apply(right, 0.5)


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        (GradientWrongLater, "its gradient of weight in turn"),
        (NoGradientLater, "its gradient of weight in turn"),
        (GradientOfKnownIdsOnly, "its gradient of weight after its last turn, on ids that it had not seen, differs"),
    ],
)
def test_a_gradient_that_goes_wrong_later_fails(stand_in, kind: type, sentence: str) -> None:
    result = run(stand_in(kind), direction="forward_backward")
    assert result.status == "failed"
    assert sentence in result.error


class Prints(DenseEmbeddingBag):
    def forward(self, input, offsets=None):
        print("latency_us: 0.001", file=sys.stderr)
        return super().forward(input, offsets)


class Sleeps(DenseEmbeddingBag):
    def forward(self, input, offsets=None):
        time.sleep(1e-3)
        return super().forward(input, offsets)


class StopsTheClock(Sleeps):
    """Puts a clock that stands still in the place of the module's."""

    def forward(self, input, offsets=None):
        before, time.perf_counter_ns = time.perf_counter_ns, lambda: 0
        try:
            return super().forward(input, offsets)
        finally:
            time.perf_counter_ns = before


class SeedsChance(DenseEmbeddingBag):
    """Makes the numbers of torch predictable, to know when it is looked at."""

    def forward(self, input, offsets=None):
        torch.manual_seed(0)
        return super().forward(input, offsets)


class Keeps(DenseEmbeddingBag):
    """Lets go of nothing."""

    def forward(self, input, offsets=None):
        self.__dict__.setdefault("kept", []).append(input.clone())
        return super().forward(input, offsets)


@pytest.mark.parametrize(
    ("kind", "least_us"), [(Prints, 1), (Sleeps, 1000), (StopsTheClock, 1000), (SeedsChance, 1), (Keeps, 1)]
)
def test_what_is_harmless_is_stored_with_the_right_number(stand_in, kind: type, least_us: float) -> None:
    result = run(stand_in(kind))
    assert (result.status, result.error) == ("ok", None)
    assert result.metrics["latency_us"] > least_us
    assert result.environment["checks_in_turns"] >= 1


class GroupedLater(Eager):
    calls = 0

    def __call__(self, prepared):
        self.calls += 1
        right = super().__call__(prepared)
        return right if self.calls <= LATER else [vector * float("nan") for vector in right]


class GroupedRemembers(Eager):
    def __call__(self, prepared):
        known = self.__dict__.setdefault("known", {})
        ids, _ = prepared
        key = ids[0].data_ptr()
        if key not in known:
            known[key] = super().__call__(prepared)
        return [vector.clone() for vector in known[key]]


@pytest.mark.parametrize("kind", [GroupedLater, GroupedRemembers])
def test_grouped_lookups_are_watched_too(stand_in, kind: type) -> None:
    axes = {a.name: a.default for a in BENCHMARKS["grouped_lookup"].axes}
    sizes = {"num_tables": 3, "num_rows": 300, "embedding_dim": 8, "batch_size": 16, "bag_size": 3}
    result = alone(grouped_lookup.run(Trial("grouped_lookup", stand_in(kind), {**axes, **sizes}, stop=STOP)))
    assert result.status == "failed"
    assert "its output in turn" in result.error or "its output after" in result.error


def test_a_right_method_is_never_accused(stand_in) -> None:
    for seed in range(3):
        for direction in ("forward", "forward_backward"):
            result = run(stand_in(DenseEmbeddingBag), direction=direction, seed=seed)
            assert (result.status, result.error) == ("ok", None)

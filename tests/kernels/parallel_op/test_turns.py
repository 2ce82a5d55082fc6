"""Turns alone: what is timed, what is kept, and which calls count as alike. No model, no compiler, no real time."""

import pytest
import torch
from torch import nn

from bench_engine.kernels.parallel_op.entry import turns
from bench_engine.kernels.parallel_op.entry.turns import Turns


class Clock:
    """A model whose sides take as long as they are told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, untouched: int, grouped: int) -> None:
        self.now, self.took, self.calls = 0, {"untouched": untouched, "grouped": grouped}, []
        monkeypatch.setattr(turns, "perf_counter_ns", lambda: self.now)
        self.module = nn.Module()
        self.module.forward = lambda _: self.run("untouched")
        self.turns = Turns(self.module, lambda turns, mode: lambda module, _: self.run("grouped"))
        self.turns.grouped_something = True

    def run(self, side: str) -> None:
        self.calls.append(side)
        self.now += self.took[side]

    def call(self, times: int, *, given: object = None, between: int = 0) -> str:
        for _ in range(times):
            self.turns(torch.ones(4) if given is None else given)
            self.now += between
        return self.calls[-1]


@pytest.mark.parametrize(
    ("untouched", "grouped", "kept"), [(10, 9, "grouped"), (9, 10, "untouched"), (9, 9, "grouped")]
)
def test_the_faster_side_is_kept(monkeypatch, untouched, grouped, kept):
    clock = Clock(monkeypatch, untouched, grouped)
    with torch.no_grad():
        assert clock.call(30) == kept
    (choice,) = clock.turns.choices.values()
    assert (choice.kept, choice.untouched_us, choice.grouped_us) == (kept, untouched / 1e3, grouped / 1e3)


def test_untouched_gets_another_trial_and_then_stays(monkeypatch):
    monkeypatch.setattr(turns, "_CALLS_BETWEEN_TRIALS", 20)
    clock = Clock(monkeypatch, untouched=5, grouped=50)
    with torch.no_grad():
        assert clock.call(25) == "untouched"
        clock.took["grouped"] = 1
        assert clock.call(60) == "grouped"
        slow = Clock(monkeypatch, untouched=5, grouped=50)
        slow.call(200)
    assert slow.calls[100:] == ["untouched"] * 100


def test_training_is_judged_by_whole_steps(monkeypatch):
    clock = Clock(monkeypatch, untouched=10, grouped=10)
    backward = {"untouched": 0, "grouped": 20}
    for _ in range(30):
        side = clock.call(1)
        clock.now += backward[side]
    assert clock.call(1) == "untouched"


@pytest.fixture
def deterministic():
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


@pytest.mark.usefixtures("deterministic")
def test_nothing_is_timed_where_deterministic_algorithms_are_asked_for(monkeypatch):
    clock = Clock(monkeypatch, untouched=1, grouped=100)
    with torch.no_grad():
        clock.call(40)
    assert set(clock.calls) == {"grouped"}
    (choice,) = clock.turns.choices.values()
    assert (choice.kept, choice.untouched_us) == ("grouped", None)
    assert "deterministic" in choice.bucket


def test_asking_for_deterministic_algorithms_later_forgets_what_was_timed(monkeypatch, request):
    clock = Clock(monkeypatch, untouched=1, grouped=100)
    with torch.no_grad():
        assert clock.call(40) == "untouched"
        request.getfixturevalue("deterministic")
        clock.calls.clear()
        clock.call(40)
    assert set(clock.calls) == {"grouped"}


def test_a_cuda_graph_captures_the_untouched_model(monkeypatch):
    clock = Clock(monkeypatch, untouched=100, grouped=1)
    capturing = True
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: capturing)
    with torch.no_grad():
        clock.call(40)
        assert set(clock.calls) == {"untouched"}
        assert clock.turns.choices == {}
        capturing = False
        assert clock.call(40) == "grouped"


def test_calls_that_differ_in_kind_have_choices_of_their_own(monkeypatch):
    clock = Clock(monkeypatch, untouched=2, grouped=1)
    with torch.no_grad():
        clock.call(30)
        clock.call(30, given=torch.ones(4, dtype=torch.int32))
        clock.call(30, given=torch.ones(4, device="meta"))
        clock.call(30, given=[torch.ones(4, dtype=torch.int32)])
        clock.call(30, given=[torch.ones(4)])
        with torch.autocast("cpu", torch.bfloat16):
            clock.call(30)
    threads = torch.get_num_threads()
    common = f"no gradients, train, {threads} threads"
    assert [choice.bucket for choice in clock.turns.choices.values()] == [
        f"{common}, sizes <8 float32 cpu",
        f"{common}, sizes <8 int32 cpu",
        f"{common}, sizes <8 float32 meta",
        f"{common}, sizes (<2 (<8 int32 cpu))",
        f"{common}, sizes (<2 (<8 float32 cpu))",
        f"{common}, autocast, sizes <8 float32 cpu",
    ]


def test_lists_of_any_length_share_a_few_choices(monkeypatch):
    clock = Clock(monkeypatch, untouched=2, grouped=1)
    with torch.no_grad():
        for length in range(64, 128):
            clock.call(1, given=[torch.ones(4)] * length)
            clock.call(1, given=dict.fromkeys(range(length), torch.ones(4)))
    assert len(clock.turns.choices) == 1


def test_an_argument_that_leads_back_to_itself():
    batch: dict = {}
    batch["root"] = batch
    assert turns._alike(batch) == turns._alike(batch)

"""When a served model is compiled, and what the next process does with what this one kept."""

import random
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from bench_engine.kernels.parallel_op.entry import captured, serving, turns, ways
from bench_engine.kernels.parallel_op.entry.turns import Turns
from bench_engine.kernels.parallel_op.settings import Settings
from tests.kernels.parallel_op.served_models import Mixed, alike, mixed_ids

pytestmark = [pytest.mark.usefixtures("grouped_ops", "compiled_for_python"), pytest.mark.timeout(120)]


@pytest.fixture(autouse=True)
def _alike_in_time(monkeypatch):
    if not captured.can_capture():
        pytest.skip("this Python does not tell of changed dictionaries")
    torch._dynamo.reset()
    monkeypatch.setattr(turns, "_undisturbed", lambda times: 1000.0)


def under(model: Mixed, settings: Settings) -> Turns:
    serve = serving.Serving(model, settings, set())
    stand_in = Turns(model, lambda _, mode: serve, serving=serve, compiling=ways.compiling(serve, settings, 5))
    model._compiled_call_impl = stand_in
    return stand_in


def called(model: Mixed, times: int, batch: int = 5) -> None:
    with torch.no_grad():
        for _ in range(times):
            assert alike(model(mixed_ids(batch)), model.forward(mixed_ids(batch)))


def test_a_few_calls_compile_nothing():
    way = under(model := Mixed(), Settings())
    called(model, 200)
    assert not way._compiled
    assert [choice.kept for choice in way.choices.values()] == ["grouped"]


def test_calls_that_have_paid_for_it_are_compiled_and_others_stay_served(monkeypatch):
    monkeypatch.setattr(turns, "_CALLS_BETWEEN_TRIALS", 20)
    monkeypatch.setattr(ways, "seconds_to_compile", lambda _: 1e-3)  # 1,000 µs at 5 and more a call
    way = under(model := Mixed(), Settings())
    called(model, 40)
    assert not way._compiled
    called(model, 400)
    (entry,) = way._compiled.values()
    assert entry.calls > 100
    assert [choice.kept for choice in way.choices.values()] == ["compiled"]
    served = way._serving.compiled.calls
    model.double()
    called(model, 10)
    assert way._serving.compiled.calls > served


def test_a_graph_that_is_due_does_not_come_amid_turns_that_are_taken_again(monkeypatch):
    monkeypatch.setattr(turns, "_CALLS_BETWEEN_TRIALS", 20)
    monkeypatch.setattr(ways, "seconds_to_compile", lambda _: 0.0)
    disturbed = iter([1000.0, 2000.0])  # a neighbour hit the served calls of the first turns
    monkeypatch.setattr(turns, "_undisturbed", lambda times: next(disturbed, 1000.0))
    way = under(model := Mixed(), Settings())
    called(model, 400)
    assert not way.waits
    assert [choice.kept for choice in way.choices.values()] == ["compiled"]


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("seed", range(2))
def test_whatever_is_measured_no_call_fails_or_is_wrong(monkeypatch, seed, threads):
    draw = random.Random(seed)
    monkeypatch.setattr(turns, "_CALLS_BETWEEN_TRIALS", 5)
    monkeypatch.setattr(ways, "seconds_to_compile", lambda _: draw.choice([0.0, 1e-3]))
    monkeypatch.setattr(serving, "_COLLAPSED", 10.0 ** draw.randint(3, 9))
    monkeypatch.setattr(turns, "_undisturbed", lambda times: draw.choice([1000.0, 2000.0, 3000.0]))
    way = under(model := Mixed(), Settings())
    requests = [mixed_ids(batch) for batch in (1, 5, 40)]
    wanted = [model.forward(ids).detach() for ids in requests]

    def calls(count: int) -> None:
        for _ in range(count):
            which = draw.randrange(len(requests))
            with torch.set_grad_enabled(draw.random() < 0.5):
                assert alike(model(requests[which]).detach(), wanted[which])

    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(calls, 1200 // threads) for _ in range(threads)]:
            done.result()
    for _ in range(1200):  # threads that called while another one compiled may not have come to their turns
        if len(way.choices) < 6:
            calls(1)
    assert len(way.choices) == 6


def test_what_cannot_be_compiled_stays_served(monkeypatch):
    monkeypatch.setattr(turns, "_CALLS_BETWEEN_TRIALS", 1)
    monkeypatch.setattr(ways, "seconds_to_compile", lambda _: 0.0)
    way = under(model := Mixed(), Settings())

    def refused(turns, mode):
        entered = ways.compiling(way._serving, Settings(), 5).call(turns, mode)

        def learn(module, *args):
            turns.give_up(mode, "it cannot be traced")
            return module.forward(*args)

        return captured.Entered(entered.call, learn)

    way._compiling = turns.Compiling(refused, lambda: 0.0)
    called(model, 100)
    assert list(way._compiled.values()) == [None]
    assert [choice.kept for choice in way.choices.values()] == ["grouped"]
    before = way._serving.compiled.calls
    called(model, 3)
    assert way._serving.compiled.calls == before + 3


def test_the_next_process_takes_no_turns(tmp_path):
    settings = Settings(cache_dir=tmp_path)
    called(model := Mixed(), 0)
    under(model, settings)
    called(model, 40)
    later = under(model := Mixed(), settings)
    called(model, 3)
    (choice,) = later.choices.values()
    assert (choice.kept, choice.reason) == ("grouped", "kept by an earlier process")
    called(model, 3, batch=50)
    assert len(later.choices) == 1  # others take turns


def test_what_was_kept_for_another_lesson_does_not_count(tmp_path):
    class Other(Mixed):
        def forward(self, ids):
            return torch.cat([self.sums(ids[:, 2]), self.means(ids[:, 0]), self.most(ids[:, 1])], 1)

    Other.__qualname__, Other.__module__ = Mixed.__qualname__, Mixed.__module__
    settings = Settings(cache_dir=tmp_path)
    under(model := Mixed(), settings)
    called(model, 40)
    later = under(model := Other(), settings)
    called(model, 3)
    assert not later.choices


class Wide(torch.nn.Module):
    """Tables that are large together."""

    def __init__(self) -> None:
        super().__init__()
        self.tables = torch.nn.ModuleList(torch.nn.EmbeddingBag(50_000, 16, mode="sum") for _ in range(4))

    def forward(self, ids):
        return [table(ids) for table in self.tables]


def taken_by(monkeypatch) -> list[int]:
    """How many tables were put into huge pages, by each time that some were."""
    taken: list[int] = []
    monkeypatch.setattr(torch.ops.mirror, "use_huge_pages", lambda weights: taken.append(len(weights)) or 16_000_000)
    return taken


def test_tables_are_put_into_huge_pages_once_their_calls_have_paid_for_it(monkeypatch):
    taken = taken_by(monkeypatch)
    monkeypatch.setattr(serving, "_COLLAPSED", 4 * 50_000 * 16 * 4 * 1e6 / 100)  # 100 µs at 1 µs a call
    way = under(model := Wide(), Settings())
    ids = torch.randint(0, 50_000, (5, 2))
    with torch.no_grad():
        for call in range(400):
            model(ids)
            if not taken and way.choices:
                kept_at = call
    assert taken == [4]
    assert 60 <= kept_at <= 160
    assert "16 MB of its tables were put into huge pages" in way.summary.text()
    assert not way._pages
    with torch.no_grad():
        for _ in range(100):
            model(ids[:1])  # other calls, which have nothing to wait for
    assert taken == [4]


def test_huge_pages_that_are_not_wanted(monkeypatch):
    taken = taken_by(monkeypatch)
    monkeypatch.setattr(serving, "_COLLAPSED", 1e15)
    under(model := Wide(), Settings(huge_pages=False))
    with torch.no_grad():
        for _ in range(100):
            model(torch.zeros(5, 2, dtype=torch.int64))
    assert not taken


def test_what_waits_can_be_hurried(monkeypatch):
    taken = taken_by(monkeypatch)
    monkeypatch.setattr(serving, "_COLLAPSED", 1e-6)  # ages
    way = under(model := Mixed(), Settings())
    called(model, 40)
    assert way.waits
    assert not way._compiled
    for _ in range(200):
        way.hurry()
        called(model, 1)
    assert not way.waits
    assert taken == [5]
    assert [choice.kept for choice in way.choices.values()] == ["compiled"]

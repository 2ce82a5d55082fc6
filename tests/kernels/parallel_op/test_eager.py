"""Models of untouched scripts: their first call, their choice, and everything else that people do with a model."""

import copy
import gc
import inspect
import logging
import pickle
import threading
import warnings
import weakref

import pytest
import torch
from torch import fx, nn
from torch.utils.checkpoint import checkpoint

from bench_engine.kernels.native import extension
from bench_engine.kernels.parallel_op import ops, silence
from bench_engine.kernels.parallel_op.entry import (
    captured,
    dynamo_call,
    eager,
    switching,
    turns,
    ways,
)
from bench_engine.kernels.parallel_op.entry.turns import Turns
from bench_engine.kernels.parallel_op.entry.ways import Waiting
from bench_engine.kernels.parallel_op.graph import grouped_graph, report
from bench_engine.kernels.parallel_op.settings import Settings
from tests.kernels.parallel_op.processes import run
from tests.kernels.parallel_op.wide_and_deep import WideAndDeep, ids

pytestmark = [pytest.mark.usefixtures("built_kernels", "switched_on"), pytest.mark.timeout(120)]


@pytest.fixture(params=["served", "compiled"])
def way(request, monkeypatch):
    """Which way the models go: a test of one of them alone says so."""
    if request.param == "compiled":
        monkeypatch.setattr(ways, "_compiles_at_once", lambda settings: True)
    else:
        request.getfixturevalue("compiled_for_python")
    return request.param


compiled_alone = pytest.mark.parametrize("way", ["compiled"], indirect=True)
served_alone = pytest.mark.parametrize("way", ["served"], indirect=True)


@pytest.fixture
def switched_on(way):
    torch._dynamo.reset()
    report.clear()
    switching.enable(Settings())
    yield
    switching.disable()


@pytest.fixture
def grouped_is_faster(monkeypatch):
    """Choices do not wait for real times."""
    monkeypatch.setattr(turns, "_undisturbed", lambda times: 1000.0)
    monkeypatch.setattr(turns, "_LONGEST_WARM_UP", 1)
    monkeypatch.setattr(turns, "_SHORTEST_WARM_UP", 1)


def stand_in(model: nn.Module) -> Turns | None:
    return model.__dict__.get("_compiled_call_impl")


def hooked() -> bool:
    return bool(nn.modules.module._has_any_global_hook())


def called(model: nn.Module, *args: object, times: int = 25) -> torch.Tensor:
    """Called until a choice is made; every call must give the same."""
    first = model(*args)
    for _ in range(times):
        torch.testing.assert_close(model(*args), first)
    return model(*args)


@pytest.mark.usefixtures("grouped_is_faster")
def test_an_untouched_script_is_grouped(way):
    model = WideAndDeep()
    expected = model.forward(ids(5))
    torch.testing.assert_close(called(model, ids(5)), expected)
    (choice,) = eager.choices()
    assert (choice.model, choice.kept) == ("WideAndDeep", "grouped")
    if way == "served":
        assert report.reports() == ()
        assert stand_in(model)._serving.compiled.lookups >= 6 * 10
    else:
        (graph,) = report.reports()
        assert graph.groups[0].names == tuple(f"bags.{t}.weight" for t in range(6))


@pytest.mark.usefixtures("grouped_is_faster")
def test_training_gives_the_same_weights():
    models = [WideAndDeep()]
    models.append(copy.deepcopy(models[0]))
    losses: list[list[float]] = [[], []]
    for number, model in enumerate(models):
        if number:
            switching.disable()
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
        for step in range(30):
            optimizer.zero_grad()
            loss = model(ids(16, seed=step)).pow(2).mean()
            loss.backward()
            optimizer.step()
            losses[number].append(loss.item())
    torch.testing.assert_close(losses[0], losses[1], rtol=1e-3, atol=1e-5)
    assert losses[0][-1] < losses[0][0]


def test_the_hook_is_there_only_while_there_are_modules_that_no_model_has_called():
    assert not hooked()
    model = WideAndDeep()
    assert hooked()
    nn.Linear(2, 2)(torch.ones(1, 2))
    assert hooked()
    model(ids(5))
    assert not hooked()
    forgotten = WideAndDeep()
    assert hooked()
    del forgotten
    gc.collect()
    assert not hooked()
    copy.deepcopy(model)
    gc.collect()
    kept = pickle.loads(pickle.dumps(model))
    assert hooked()
    kept(ids(5))
    assert stand_in(kept) is not None
    assert not hooked()


def test_a_module_that_is_never_called_does_not_keep_the_hook_for_ever(monkeypatch):
    monkeypatch.setattr(eager, "_PATIENCE", 3)
    kept = nn.Embedding(3, 2)
    for _ in range(4):
        nn.ReLU()(torch.ones(1))
    assert not hooked()
    assert kept is not None


def test_signatures_stay():
    assert list(inspect.signature(nn.EmbeddingBag).parameters)[:3] == ["num_embeddings", "embedding_dim", "max_norm"]
    nn.utils.skip_init(nn.Embedding, 3, 2)

    class Own(nn.EmbeddingBag):
        def __init__(self, rows: int) -> None:
            super().__init__(rows, 3)

    switching.disable()
    assert Own(4).weight.shape == (4, 3)
    assert nn.Embedding(num_embeddings=3, embedding_dim=2).weight.shape == (3, 2)


def test_classes_outside_the_whitelist_stay_as_they_are():
    done = run("""
from torch import nn
from bench_engine.kernels.parallel_op import Settings, enable
enable(Settings(ops=frozenset({"aten.embedding", "aten.gelu"})))
print([kind.__name__ for kind in (nn.Embedding, nn.EmbeddingBag, nn.GELU, nn.Linear) if "__new__" in vars(kind)])
""")
    assert done.stdout.strip() == "['Embedding', 'GELU']"


def test_one_table_is_left_alone():
    model = WideAndDeep(tables=1)
    model(ids(5, tables=1))
    assert stand_in(model) is None


def test_tables_that_were_called_by_themselves_are_found_in_their_model():
    model = WideAndDeep()
    model.bags[0](ids(5)[:, 0])
    model.forward(ids(5))
    assert stand_in(model) is None
    model(ids(5))
    assert stand_in(model) is not None
    assert not hooked()


def test_whoever_compiles_is_left_alone():
    own = WideAndDeep()
    own.compile(backend="eager")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        switching.enable(Settings())
        wrapped = torch.compile(WideAndDeep(), backend="eager")
    for model in (own, wrapped):
        model(ids(5))
        assert not isinstance(stand_in(model), Turns)
    assert stand_in(wrapped._orig_mod) is None
    assert eager.choices() == []


class Renormed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.bags = nn.ModuleList(nn.EmbeddingBag(50, 4, max_norm=1.0) for _ in range(2))

    def forward(self, given: torch.Tensor) -> torch.Tensor:
        return self.bags[0](given) + self.bags[1](given)


@compiled_alone
def test_nothing_found_gives_the_model_its_call_back():
    model = Renormed()
    called(model, ids(5)[:, 0], times=3)
    assert stand_in(model) is None
    (choice,) = eager.choices()
    assert (choice.kept, choice.reason) == ("untouched", "no group found")


@pytest.mark.usefixtures("grouped_is_faster")
def test_copies_pickles_and_state_are_those_of_any_model(tmp_path):
    model = WideAndDeep()
    keys = list(model.state_dict())
    expected = called(model, ids(5))
    assert list(model.state_dict()) == keys
    twin = copy.deepcopy(model)
    assert stand_in(twin) is None
    torch.testing.assert_close(twin(ids(5)), expected)
    torch.save(model, tmp_path / "model.pt")
    assert b"bench_engine" not in (tmp_path / "model.pt").read_bytes()
    torch.testing.assert_close(torch.load(tmp_path / "model.pt", weights_only=False)(ids(5)), expected)
    # A class with a __getstate__ of its own keeps the stand-in in its state.
    assert pickle.loads(pickle.dumps(stand_in(model))) is None
    assert copy.deepcopy(stand_in(model)) is None


@pytest.mark.usefixtures("grouped_is_faster")
def test_weights_and_hooks_may_change_at_any_time():
    model = WideAndDeep()
    called(model, ids(5))
    with torch.no_grad():
        model.bags[0].weight.data.copy_(torch.ones(50, 4))
        torch.testing.assert_close(model(ids(5)), model.forward(ids(5)))
        model.load_state_dict(WideAndDeep().state_dict())
        torch.testing.assert_close(model(ids(5)), model.forward(ids(5)))
        model.bags[1] = nn.EmbeddingBag(50, 4, mode="mean")
        torch.testing.assert_close(called(model, ids(5)), model.forward(ids(5)))
        model.to(torch.float64)
        assert called(model, ids(5)).dtype == torch.float64
        torch.testing.assert_close(model(ids(5)), model.forward(ids(5)))
    model.float()
    called(model, ids(5))
    seen: list[int] = []
    for module in (model, model.bags[3], model.top):
        handle = module.register_forward_hook(lambda *_: seen.append(1))
        seen.clear()
        called(model, ids(5), times=5)
        assert len(seen) == 7
        handle.remove()
        model(ids(5))
        assert len(seen) == 7


@pytest.mark.usefixtures("grouped_is_faster")
def test_modes():
    model = WideAndDeep()
    for context in (torch.no_grad(), torch.inference_mode(), torch.autocast("cpu", torch.bfloat16)):
        with context:
            found = called(model, ids(5))
            expected = model.forward(ids(5))
            assert found.dtype == expected.dtype
            assert found.is_inference() == expected.is_inference()
            torch.testing.assert_close(found, expected)
    for training in (False, True):
        model.train(training)
        torch.testing.assert_close(called(model, ids(5)), model.forward(ids(5)))
    torch.testing.assert_close(called(model, ids(1)), model.forward(ids(1)))
    assert model(ids(5)).requires_grad


@pytest.mark.usefixtures("grouped_is_faster")
def test_who_looks_into_the_model_sees_the_model():
    model = WideAndDeep()
    expected = called(model, ids(5))
    torch.testing.assert_close(torch.compile(model, backend="eager", fullgraph=True)(ids(5)), expected)
    torch.testing.assert_close(torch.jit.trace(model, ids(5))(ids(5)), expected)
    torch.testing.assert_close(torch.export.export(model, (ids(5),)).module()(ids(5)), expected)
    outer = fx.symbolic_trace(nn.Sequential(model))
    torch.testing.assert_close(outer(ids(5)), expected)
    given = ids(5)
    both = torch.func.vmap(lambda scale: model(given) * scale)(torch.ones(2))
    torch.testing.assert_close(both[1], expected)
    with torch.utils.flop_counter.FlopCounterMode(display=False) as counter:
        model(ids(5))
    assert counter.get_total_flops() > 0


@pytest.mark.usefixtures("grouped_is_faster")
def test_errors_of_the_model_come_once_and_are_its_own(way):
    class Counted(WideAndDeep):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("runs", torch.zeros((), dtype=torch.int64))

        def forward(self, given: torch.Tensor) -> torch.Tensor:
            self.runs.add_(1)
            return super().forward(given)

    model = Counted()
    called(model, ids(5))
    wrong = ids(5)
    wrong[2, 3, 0] = 77
    before = int(model.runs)
    # What is served meets torch's own op then.
    own = (RuntimeError, "index out of range|Index 1 is out of bounds|77")
    error, text = own if way == "served" else (IndexError, r"bags.3.weight: index 77")
    with pytest.raises(error, match=text):
        model(wrong)
    assert int(model.runs) == before + 1
    for _ in range(5):
        before = int(model.runs)
        with pytest.raises(RuntimeError, match="Long, Int; but got"):
            model(ids(5).float())
        assert int(model.runs) == before + 1
    torch.testing.assert_close(model(ids(5)), model.forward(ids(5)))


@compiled_alone
def test_a_failure_of_ours_leaves_the_model_untouched(monkeypatch):
    def broken(*_: object) -> None:
        raise AssertionError("broken")

    monkeypatch.setattr(grouped_graph, "grouped", broken)
    model = WideAndDeep()
    torch.testing.assert_close(called(model, ids(5)), model.forward(ids(5)))
    (choice,) = eager.choices()
    assert choice.kept == "untouched"
    assert "broken" in choice.reason


@compiled_alone
@pytest.mark.usefixtures("grouped_is_faster")
def test_calls_that_differ_too_much_end_untouched(monkeypatch):
    monkeypatch.setattr(dynamo_call, "_MOST_GRAPHS", 2)

    class Scaled(WideAndDeep):
        def forward(self, given: torch.Tensor, how: str = "") -> torch.Tensor:
            return super().forward(given) * len(how)

    model = Scaled()
    for length in range(6):
        torch.testing.assert_close(model(ids(5), "x" * length), model.forward(ids(5), "x" * length))
    assert {choice.kept for choice in eager.choices()} == {"untouched"}
    assert "more than 2 graphs" in eager.choices()[0].reason


@pytest.mark.usefixtures("grouped_is_faster")
def test_a_model_that_changes_its_weights_while_it_runs():
    class Decaying(WideAndDeep):
        def forward(self, given: torch.Tensor) -> torch.Tensor:
            parts = []
            for t, bag in enumerate(self.bags):
                parts.append(bag(given[:, t]))
                self.bags[(t + 1) % len(self.bags)].weight.data.mul_(0.9)
            return self.top(torch.cat(parts, dim=1))

    model = Decaying()
    twin = copy.deepcopy(model)
    with torch.no_grad():
        for _ in range(25):
            torch.testing.assert_close(model(ids(5)), twin.forward(ids(5)))
    assert torch.equal(model.bags[2].weight, twin.bags[2].weight)


@pytest.mark.usefixtures("grouped_is_faster")
def test_two_threads():
    model = WideAndDeep()
    expected = {batch: model.forward(ids(batch)).detach() for batch in (3, 50)}
    model(ids(3))
    wrong: list[object] = []

    def call(batch: int) -> None:
        try:
            for _ in range(60):
                torch.testing.assert_close(model(ids(batch)).detach(), expected[batch])
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=call, args=(batch,)) for batch in expected]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_replicas_are_called_with_their_own_weights():
    model = WideAndDeep()
    model(ids(5))
    assert stand_in(model) is not None
    assert stand_in(model._replicate_for_data_parallel()) is None


@pytest.mark.usefixtures("grouped_is_faster")
@pytest.mark.parametrize("training", [False, True])
def test_a_model_that_nobody_holds_is_gone_with_its_graphs(training, way):
    def graphs() -> int:
        gc.collect()
        return sum(issubclass(type(one), fx.GraphModule) for one in gc.get_objects())

    before = graphs()
    model = WideAndDeep()
    with torch.set_grad_enabled(training):
        called(model, ids(5))
    assert way == "served" or graphs() > before
    gone = [weakref.ref(model), weakref.ref(stand_in(model)), weakref.ref(model.bags[0].weight)]
    del model
    assert graphs() <= before
    assert [one() for one in gone] == [None] * 3
    assert [choice.kept for choice in eager.choices()] == ["grouped"]


@compiled_alone
def test_choices_of_models_that_are_gone_are_not_kept_for_ever(monkeypatch):
    monkeypatch.setattr(eager, "_KEPT", 2)

    def plain(model, x):
        return model.forward(x)

    monkeypatch.setattr(dynamo_call, "compiled", lambda settings, turns, mode: captured.Entered(plain, plain))
    switching.enable(Settings())
    for tables in range(2, 6):
        model = WideAndDeep(tables)
        for _ in range(2):  # the hook sees the first, the second finds no group
            model(ids(5, tables))
    assert len(eager.choices()) == 2


def test_disable_gives_models_back():
    model = WideAndDeep()
    model(ids(5))
    switching.disable()
    assert stand_in(model) is None
    assert not hooked()


def test_a_checkpointed_model_saves_the_same_tensors_in_every_call():
    model = WideAndDeep()
    for _ in range(40):
        checkpoint(model, ids(5), use_reentrant=False).sum().backward()


@pytest.mark.usefixtures("grouped_is_faster")
def test_a_hook_of_all_modules_sees_those_within_a_graph():
    model = WideAndDeep()
    called(model, ids(5))
    seen: list[str] = []
    handle = nn.modules.module.register_module_forward_hook(lambda module, *_: seen.append(type(module).__name__))
    try:
        model(ids(5))
    finally:
        handle.remove()
    assert seen.count("EmbeddingBag") == 6


@pytest.mark.usefixtures("grouped_is_faster")
def test_a_function_that_is_replaced_after_the_first_calls_is_called(monkeypatch):
    model = WideAndDeep()
    called(model, ids(5))
    own = torch.nn.functional.embedding_bag
    monkeypatch.setattr(torch.nn.functional, "embedding_bag", lambda *args, **kwargs: own(*args, **kwargs) + 1)
    torch.testing.assert_close(model(ids(5)), model.forward(ids(5)))
    monkeypatch.undo()
    torch.testing.assert_close(model(ids(5)), model.forward(ids(5)))


class Pair(nn.Module):
    """In words that TorchScript knows."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Embedding(10, 4), nn.Embedding(10, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat([self.first(x), self.second(x)], -1)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.usefixtures("grouped_is_faster")
def test_a_model_that_was_called_can_be_scripted():
    model, x = Pair(), torch.arange(5)
    expected = called(model, x)
    assert stand_in(model) is not None
    assert torch.equal(torch.jit.script(model)(x), expected)


@served_alone
def test_a_model_whose_lookups_read_no_argument_is_compiled_once_that_pays(monkeypatch):
    class Shifted(WideAndDeep):
        def forward(self, given: torch.Tensor) -> torch.Tensor:
            return super().forward((given + 1) % 50)

    now = 0

    def clock() -> int:
        nonlocal now
        now += 500_000_000
        return now

    monkeypatch.setattr(ways, "perf_counter_ns", clock)
    monkeypatch.setattr(ways, "price", lambda number_of_ops, number_of_modules: 2.2)
    model = Shifted()
    for _ in range(4):  # the first puts the stand-in, three show that nothing can be served
        model(ids(5))
    assert isinstance(stand_in(model), Waiting)
    assert "do not read its arguments" in eager.choices()[-1].reason
    for _ in range(5):
        torch.testing.assert_close(model(ids(5)), model.forward(ids(5)))
    assert isinstance(stand_in(model), Turns)
    assert report.reports() == ()
    torch.testing.assert_close(model(ids(5)), model.forward(ids(5)))
    assert len(report.reports()) == 1


@served_alone
def test_whoever_waits_is_given_back_and_leaves_no_trace_in_copies():
    model = Renormed()
    model(ids(5)[:, 0])
    waiting = stand_in(model)
    assert isinstance(waiting, Waiting)
    assert pickle.loads(pickle.dumps(waiting)) is None
    assert stand_in(model._replicate_for_data_parallel()) is None
    assert torch.equal(torch.compile(model, backend="eager")(ids(5)[:, 0]), model(ids(5)[:, 0]))
    switching.disable()
    assert stand_in(model) is None


@pytest.mark.parametrize(("loaded", "seconds"), [(True, 5.2), (False, 8.2)])
def test_what_compiling_costs(monkeypatch, loaded, seconds):
    monkeypatch.setattr(ways.sys, "modules", {"torch._dynamo": None} if loaded else {})
    assert ways.price(26, 0) == pytest.approx(seconds)
    assert ways.price(26, 100) == pytest.approx(seconds + 6)  # a model of many other ops takes longer


@served_alone
@pytest.mark.usefixtures("grouped_is_faster")
def test_tables_of_a_served_model_have_their_own_calls_again():
    model = WideAndDeep()
    called(model, ids(5))
    assert all("_compiled_call_impl" in vars(bag) for bag in model.bags)
    assert "_compiled_call_impl" not in vars(model.bags[0]._replicate_for_data_parallel())
    switching.disable()
    assert not any("_compiled_call_impl" in vars(bag) for bag in model.bags)
    torch.testing.assert_close(model(ids(5)), model.forward(ids(5)))


@compiled_alone
@pytest.mark.usefixtures("grouped_is_faster")
def test_a_compiled_model_says_nothing_that_it_would_not_say_by_itself(capfd, recwarn):
    """One that reads a number out of a tensor, of which Dynamo logs and warns; its own warnings are heard."""

    class Reading(WideAndDeep):
        def forward(self, given: torch.Tensor) -> torch.Tensor:
            result = super().forward(given)
            warnings.warn("its own", UserWarning, stacklevel=1)
            return result * result.sum().item() + super().forward(given)

    torch._dynamo.variables.tensor.TensorVariable._warn_capture_scalar_outputs.cache_clear()
    model = Reading()
    before = warnings.showwarning
    for length in range(2, 12):
        torch.testing.assert_close(model(ids(length)), model.forward(ids(length)))
    assert warnings.showwarning is before
    assert stand_in(model).grouped_something
    assert capfd.readouterr() == ("", "")
    assert {str(one.message) for one in recwarn} == {"its own"}


@compiled_alone
def test_a_script_that_asks_for_the_logs_of_dynamo_gets_them(caplog):
    log = logging.getLogger("torch._dynamo")
    assert log.getEffectiveLevel() >= logging.WARNING
    with silence.in_silence():
        assert silence._thread.silent
    with caplog.at_level(logging.DEBUG, logger="torch._dynamo"), silence.in_silence():
        assert not silence._thread.silent


@served_alone
def test_a_library_that_cannot_be_loaded_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken() -> None:
        raise extension.KernelsNotBuiltError("x.so cannot be loaded here")

    monkeypatch.setattr(ops, "load", broken)
    model = WideAndDeep()
    torch.testing.assert_close(model(ids(5)), model.forward(ids(5)))
    said = capsys.readouterr().err
    assert said.startswith("Parallel OP leaves WideAndDeep as it is")
    assert said.count("\n") == 1


@served_alone
def test_a_part_that_was_called_by_itself_does_not_keep_its_model_back() -> None:
    class Whole(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.part, self.rest = WideAndDeep(), WideAndDeep()

        def forward(self, given):
            return self.part(given) + self.rest(given)

    model = Whole()
    model.part(ids(5))
    assert stand_in(model.part) is not None
    torch.testing.assert_close(model(ids(5)), model.forward(ids(5)))
    assert stand_in(model) is not None
    assert stand_in(model.part) is None

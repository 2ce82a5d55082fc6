"""What may change between two calls of a served model: the next call gives what torch's own would, to the bit."""

import copy
import threading
from contextlib import nullcontext

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils import parametrize
from torch.overrides import TorchFunctionMode
from torch.utils.checkpoint import checkpoint
from torch.utils.flop_counter import FlopCounterMode

from bench_engine.kernels.parallel_op.entry import captured, eager, turns, ways
from bench_engine.kernels.parallel_op.entry.turns import Turns
from bench_engine.kernels.parallel_op.settings import Settings
from tests.kernels.parallel_op.served_models import ROWS, Mixed, alike, mixed_ids, outcome, served

pytestmark = [pytest.mark.usefixtures("grouped_ops", "compiled_for_python"), pytest.mark.timeout(120)]


class Doubled(nn.Module):
    def forward(self, weight: Tensor) -> Tensor:
        return 2 * weight


class Tagged(Tensor):
    """A subclass without ideas of its own."""


class Negated(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        return -result if function in (F.embedding, F.embedding_bag) else result


def within(context):
    """A change that is there during the next call."""

    def change(model, ids):
        with context():
            return model(ids)

    return change


def then(change):
    """A change of the model, and the next call."""

    def both(model, ids):
        change(model)
        return model(ids)

    return both


def patched(owner, name, make):
    """Another function in the place of one, during the next call."""

    def change(model, ids):
        before = getattr(owner, name)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(owner, name, make(before))
            return model(ids)

    return change


def with_a_hook(register, hook):
    def change(model, ids):
        handle = register(model)(hook)
        try:
            return model(ids)
        finally:
            handle.remove()

    return change


def deterministic():
    class Asked:
        def __enter__(self):
            torch.use_deterministic_algorithms(True)

        def __exit__(self, *_):
            torch.use_deterministic_algorithms(False)

    return Asked()


def threads(model, ids):
    before = torch.get_num_threads()
    torch.set_num_threads(1 if before > 1 else 2)
    try:
        return model(ids)
    finally:
        torch.set_num_threads(before)


def through_data(model):
    model.sums.weight.data.mul_(2)


def another_parameter(model):
    model.rows.weight = nn.Parameter(torch.ones(ROWS, 6))


def another_storage(model):
    model.rows.weight.data = torch.ones(ROWS, 6)


def in_place(model):
    with torch.no_grad():
        model.most.weight.neg_()


def another_state(model):
    model.load_state_dict({name: 3 * value for name, value in model.state_dict().items()})


def assigned_state(model):
    model.load_state_dict({name: 3 * value for name, value in model.state_dict().items()}, assign=True)


def another_table(model):
    model.means = nn.EmbeddingBag.from_pretrained(torch.ones(ROWS, 3), mode="sum")


def one_more_module(model):
    model.add_module("one_more", nn.EmbeddingBag(ROWS, 2))


def an_attribute(name, attribute, value):
    return lambda model: setattr(getattr(model, name), attribute, value)


def own_forward(model):
    model.rows.forward = lambda ids: torch.ones(*ids.shape, 6)


def parametrized(model):
    parametrize.register_parametrization(model.rows, "weight", Doubled())


def without_gradient(model):
    model.means.weight.requires_grad_(False)


def shared_weight(model):
    model.rows.weight = nn.Parameter(torch.ones(ROWS, 6))
    model.other = nn.Embedding(ROWS, 6)
    model.other.weight = model.rows.weight


def meta(model, ids):
    return model.to("meta")(ids.to("meta"))


def functional(model, ids):
    return torch.func.functional_call(model, {"sums.weight": torch.ones(ROWS, 4)}, (ids,))


def vmapped(model, ids):
    return torch.func.vmap(lambda scale: model(ids) * scale)(torch.ones(2))


def vmapped_ids(model, ids):
    return outcome(lambda: torch.func.vmap(model, randomness="different")(torch.stack([ids, ids])))


def gradient_of_functional(model, ids):
    def loss(weight):
        return torch.func.functional_call(model, {"sums.weight": weight}, (ids,)).sum()

    return torch.func.grad(loss)(torch.ones(ROWS, 4))


def forward_mode(model, ids):
    def loss(weight):
        return torch.func.functional_call(model, {"rows.weight": weight}, (ids,)).sum()

    return torch.func.jvp(loss, (torch.ones(ROWS, 6),), (torch.ones(ROWS, 6),))


def dual_weights(model, ids):
    with torch.autograd.forward_ad.dual_level():
        weight = torch.autograd.forward_ad.make_dual(torch.ones(ROWS, 6), torch.ones(ROWS, 6))
        result = torch.func.functional_call(model, {"rows.weight": weight}, (ids,))
        return tuple(torch.autograd.forward_ad.unpack_dual(result))


def traced(model, ids):
    return torch.jit.trace(model, ids)(ids.flip(0))


def symbolically_traced(model, ids):
    return torch.fx.symbolic_trace(nn.Sequential(model))(ids.flip(0))


def exported(model, ids):
    return torch.export.export(model, (ids,)).module()(ids)


def strictly_exported(model, ids):
    return torch.export.export(model, (ids,), strict=True).module()(ids)


def compiled_whole(model, ids):
    return torch.compile(model, backend="eager", fullgraph=True)(ids)


def compiled_in_place(model, ids):
    model.compile(backend="eager")
    return model(ids)


def compiled_with_a_hook(model, ids):
    model.sums.register_forward_hook(lambda module, args, output: output + 1)
    return torch.compile(model, backend="eager", fullgraph=True)(ids)


def checkpointed(model, ids):
    result = checkpoint(model, ids, use_reentrant=False)
    result.sum().backward()
    return [result, model.rows.weight.grad]


def saved_elsewhere(model, ids):
    with torch.autograd.graph.save_on_cpu():
        return model(ids)


def replicated(model, ids):
    replica = model._replicate_for_data_parallel()
    for name, module in model.named_children():
        replica._modules[name] = module._replicate_for_data_parallel()
        replica._modules[name].weight = module.weight * 2
    return replica(ids)


def copied(model, ids):
    twin = copy.deepcopy(model)
    with torch.no_grad():
        twin.sums.weight.zero_()
    return [twin(ids), model(ids), copy.copy(model)(ids)]


def subclass(model, ids):
    return model(ids.as_subclass(Tagged))


def inference_ids(model, ids):
    with torch.inference_mode():
        ids = ids.clone()
    return outcome(lambda: model(ids))


def one_id_out_of_range(model, ids):
    wrong = ids.clone()
    wrong[1, 3, 0] = 10**6
    return [outcome(lambda: model(wrong)), model(ids)]


def ids_of_another_kind(model, ids):
    return outcome(lambda: model(ids.float()))


def wrong_device(model, ids):
    return getattr(outcome(lambda: model(ids.to("meta"))), "shape", None)  # torch computes nothing there


def no_ids(model, ids):
    return outcome(lambda: model(ids[:, :, :0]))


def no_bags(model, ids):
    return outcome(lambda: model(ids[:0]))


def transposed(model, ids):
    return model(ids.permute(2, 1, 0).contiguous().permute(2, 1, 0))


def in_a_thread(model, ids):
    results = []
    thread = threading.Thread(target=lambda: results.append(model(ids)))
    thread.start()
    thread.join()
    return results[0]


def state_of_a_dictionary(model):
    model.rows.__dict__["weight"] = torch.ones(ROWS, 6)


def all_modules(model, ids):
    handle = nn.modules.module.register_module_forward_hook(lambda module, args, output: output + 1)
    try:
        return model(ids)
    finally:
        handle.remove()


CHANGES = {
    "nothing": lambda model, ids: model(ids),
    "weights in place": then(in_place),
    "weights through .data": then(through_data),
    "weights' storage": then(another_storage),
    "a state": then(another_state),
    "a state, assigned": then(assigned_state),
    "a parameter": then(another_parameter),
    "a shared parameter": then(shared_weight),
    "an attribute in the place of a parameter": then(state_of_a_dictionary),
    "no gradient of a weight": then(without_gradient),
    "a table": then(another_table),
    "a module": then(one_more_module),
    "a mode": then(an_attribute("sums", "mode", "mean")),
    "max_norm": then(an_attribute("rows", "max_norm", 0.1)),
    "padding_idx": then(an_attribute("sums", "padding_idx", 7)),
    "scale_grad_by_freq": then(an_attribute("sums", "scale_grad_by_freq", True)),
    "a forward": then(own_forward),
    "a parametrization": then(parametrized),
    "train": then(lambda model: model.train()),
    "eval": then(lambda model: model.eval()),
    "no gradients": within(torch.no_grad),
    "inference": within(torch.inference_mode),
    "autocast": within(lambda: torch.autocast("cpu", torch.bfloat16)),
    "deterministic algorithms": within(deterministic),
    "threads": threads,
    "anomaly detection": within(torch.autograd.detect_anomaly),
    "a torch function mode": within(Negated),
    "a dispatch mode": within(lambda: FlopCounterMode(display=False)),
    "a default device": within(lambda: torch.device("cpu")),
    "a profiler": within(torch.profiler.profile),
    "double": then(lambda model: model.double()),
    "bfloat16": then(lambda model: model.bfloat16()),
    "meta": meta,
    "int32": lambda model, ids: model(ids.int()),
    "strides": transposed,
    "a subclass": subclass,
    "inference ids": inference_ids,
    "an id out of range": one_id_out_of_range,
    "floats": ids_of_another_kind,
    "another device": wrong_device,
    "no ids": no_ids,
    "no bags": no_bags,
    "a hook": with_a_hook(lambda m: m.sums.register_forward_hook, lambda module, args, output: output + 1),
    "a hook before": with_a_hook(lambda m: m.sums.register_forward_pre_hook, lambda module, args: (args[0] * 0,)),
    "a hook of the model": with_a_hook(lambda m: m.register_forward_hook, lambda module, args, output: output + 1),
    "a hook before the model": with_a_hook(lambda m: m.register_forward_pre_hook, lambda module, args: (args[0] * 0,)),
    "a hook of gradients": with_a_hook(lambda m: m.sums.register_full_backward_hook, lambda *_: None),
    "a hook of all modules": all_modules,
    "F.embedding": patched(F, "embedding", lambda f: lambda *a, **k: f(*a, **k) + 1),
    "F.embedding_bag": patched(F, "embedding_bag", lambda f: lambda *a, **k: f(*a, **k) + 1),
    "torch.embedding": patched(torch, "embedding", lambda f: lambda *a, **k: f(*a, **k) + 1),
    "torch.embedding_bag": patched(torch, "embedding_bag", lambda f: lambda *a: (f(*a)[0] + 1, None, None, None)),
    "a class's forward": patched(nn.Embedding, "forward", lambda f: lambda *a: f(*a) + 1),
    "code": patched(F.embedding, "__code__", lambda _: (lambda *_, **__: torch.ones(5, 2, 6)).__code__),
    "every call": patched(nn.Module, "_call_impl", lambda f: lambda *a, **k: f(*a, **k) + 1),
    "functional_call": functional,
    "vmap": vmapped,
    "vmap over ids": vmapped_ids,
    "torch.func.grad": gradient_of_functional,
    "jvp": forward_mode,
    "dual numbers": dual_weights,
    "jit.trace": traced,
    "fx": symbolically_traced,
    "export": exported,
    "strict export": strictly_exported,
    "torch.compile": compiled_whole,
    "compile in place": compiled_in_place,
    "torch.compile with a hook": compiled_with_a_hook,
    "checkpoint": checkpointed,
    "saved tensors hooks": saved_elsewhere,
    "copies": copied,
    "replicas": replicated,
    "a thread": in_a_thread,
}


@pytest.fixture(params=["served", "compiled"])
def stand_in(monkeypatch, request):
    """Served or compiled as an untouched script's model is: its turns are won by that, whatever the times."""
    compiled = request.param == "compiled"
    if compiled and not captured.can_capture():
        pytest.skip("this Python does not tell of changed dictionaries")
    monkeypatch.setattr(turns, "_CALLS_BETWEEN_TRIALS", 1)
    monkeypatch.setattr(ways, "seconds_to_compile", lambda _: 0.0)
    monkeypatch.setattr(turns, "_undisturbed", lambda times: 1000.0)
    replicate = nn.Module._replicate_for_data_parallel
    monkeypatch.setattr(nn.Module, "_replicate_for_data_parallel", eager._replica_by(replicate))

    def put_under(model: nn.Module) -> Turns:
        serve = served(model)
        compiling = ways.compiling(serve, Settings(), 5) if compiled else None
        stand_in = Turns(model, lambda _, mode: serve, serving=serve, compiling=compiling)
        model._compiled_call_impl = stand_in
        return stand_in

    return put_under


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("change", CHANGES)
def test_the_next_call(change, grad, stand_in):
    torch._dynamo.reset()
    ids = mixed_ids()
    model = Mixed()
    twin = copy.deepcopy(model)
    way = stand_in(model)
    with nullcontext() if grad else torch.no_grad():
        for _ in range(30 if way._compiling is None else 70):
            assert alike(model(ids), twin(ids))
    before = fast_calls(way)
    assert before > 15
    with nullcontext() if grad else torch.no_grad():
        expected = outcome(lambda: CHANGES[change](twin, ids))
        found = outcome(lambda: CHANGES[change](model, ids))
        assert same(found, expected), (found, expected)
        assert same(outcome(lambda: model(ids)), outcome(lambda: twin(ids)))
    if change == "nothing":
        assert fast_calls(way) == before + 2


def fast_calls(way) -> int:
    """Calls so far that were served, or given by a graph past its guards."""
    found = way._compiled.values() if way._compiling is not None else [way._serving.compiled]
    return sum(one.calls for one in found)


def same(found, expected) -> bool:
    """As `alike`, where there may be errors among the results."""
    if isinstance(expected, list | tuple) and not isinstance(expected, Tensor):
        return len(found) == len(expected) and all(map(same, found, expected))
    return alike(found, expected) if isinstance(expected, Tensor) else found == expected

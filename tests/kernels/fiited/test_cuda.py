"""The flat layout on a GPU is the flat layout on the CPU, bit for bit, also where there is no GPU.

The binding and what every thread of the kernels does are compiled for the host too, where loops take the place of the
launches (cuda_host_launches.cpp); tensors are then on the CPU. On a machine with a GPU the same lives are lived on it.
"""

import copy
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from bench_engine.kernels.fiited import FIITEDEmbeddingBag, PruneEvent, storage
from bench_engine.kernels.native import extension
from tests.kernels import cuda_on_host
from tests.kernels.fiited.test_against_oracle import draw_case
from tests.kernels.fiited.twins import METHODS, OPTIMIZERS, Call, Case, draw_call, frozen, optimizer_of

HOST = Path(__file__).with_name("cuda_host_launches.cpp")
SEEDS_PER_TEST = 20


class Place:
    """Where the kernels run, and the modules on both sides."""

    def __init__(self, device: str) -> None:
        self.device = device

    @contextmanager
    def here(self) -> Iterator[None]:
        """Tables that are made are this place's."""
        yield

    def module(self, case: Case, **more: Any) -> tuple[FIITEDEmbeddingBag, Any]:
        with self.here():
            return case.module(layout="flat", device=self.device, **more)


class HostPlace(Place):
    def __init__(self) -> None:
        super().__init__("cpu")

    @contextmanager
    def here(self) -> Iterator[None]:
        def make(layout: str, *given: Any) -> Any:
            form = "flat_cuda" if layout == "flat" else layout
            return torch.classes.mirror.FiitedStorage(form, *given[:7], torch.device("cpu"))

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(storage, "make", make)
            yield


@pytest.fixture(scope="module")
def host_library(built_kernels, toolkit, tmp_path_factory) -> None:
    extension.load()
    # The launches come first: their file's pragmas hold for the headers too, where the steps are.
    sources = [HOST, *sorted(cuda_on_host.SOURCES.glob("fiited/cuda/*.cpp"))]
    torch.ops.load_library(cuda_on_host.library(sources, toolkit, tmp_path_factory.mktemp("host")))


@pytest.fixture(params=["host", "gpu"])
def place(request) -> Place:
    if request.param == "gpu":
        if not torch.cuda.is_available():
            pytest.skip("no GPU")
        return Place("cuda")
    request.getfixturevalue("host_library")
    return HostPlace()


def given_to(place: Place, value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.to(place.device)
    return [given_to(place, part) for part in value] if isinstance(value, list) else value


def record_both(place: Place, there: FIITEDEmbeddingBag, here: FIITEDEmbeddingBag, call: Call) -> None:
    """Forward and backward of both, with equal outputs."""
    outputs = [
        [output] if isinstance(output, Tensor) else list(output)
        for output in (there(*(given_to(place, given) for given in call.inputs())), here(*call.inputs()))
    ]
    assert all(output.device.type == place.device for output in outputs[0])
    assert frozen([output.detach().cpu() for output in outputs[0]]) == frozen([o.detach() for o in outputs[1]])
    gradients = [torch.from_numpy(g) for g in call.gradients]
    torch.autograd.backward(outputs[0], given_to(place, gradients))
    torch.autograd.backward(outputs[1], gradients)


def compare(there: FIITEDEmbeddingBag, here: FIITEDEmbeddingBag) -> None:
    there.verify()
    assert frozen(there.get_extra_state()) == frozen(here.get_extra_state())


def live_together(place: Place, case: Case, calls: Callable[[], Call], steps: int) -> list[PruneEvent]:
    """The same steps on both sides, which stay equal; the events that there were."""
    there, its_optimizer = place.module(case)
    here, optimizer = case.module(layout="flat")
    events: list[PruneEvent] = []
    its_events: list[PruneEvent] = []
    there.on_prune(its_events.append)
    here.on_prune(events.append)
    compare(there, here)
    random = np.random.default_rng(case.seed)
    for _ in range(steps):
        for each in (its_optimizer, optimizer):
            each.zero_grad()
        for _ in range(random.choice([0, 1, 1, 1, 2, 3])):
            record_both(place, there, here, calls())
        for each in (its_optimizer, optimizer):
            each.step()
        if random.random() < 0.2:
            assert frozen(vars(there.dry_run(0.8))) == frozen(vars(here.dry_run(0.8)))
            there.prune()
            here.prune()
        compare(there, here)
        assert frozen([vars(event) for event in its_events]) == frozen([vars(event) for event in events])
    return events


@pytest.mark.parametrize("first", range(0, 100, SEEDS_PER_TEST))
def test_small_lives(first, place):
    for seed in range(first, first + SEEDS_PER_TEST):
        case = draw_case(seed)
        random = np.random.default_rng(seed)
        if seed % 4 == 0:
            case.options["admission_filter"] = int(random.integers(2, 4))
        try:
            live_together(place, case, lambda random=random, case=case: draw_call(random, case), steps=6)
        except Exception as error:
            error.add_note(f"seed {seed}: {case}")
            raise


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scope", ["global", "table", "column"])
def test_a_life_with_more_lookups(scope, method, place):
    options = {"interval": 2, "scope": scope, "min_turnover": 0.0}
    case = Case((1500, 2, 900), 24, 3, 0.8, OPTIMIZERS[method], options)
    random = np.random.default_rng(3)
    events = live_together(place, case, lambda: draw_call(random, case, batch=400, longest=6), steps=6)
    assert any(len(event.admitted) and len(event.evicted_weights) for event in events)


def test_rows_are_let_in_as_on_the_cpu_where_they_are_counted_in_parts(place):
    """A filter that is full, so that the order in which rows are counted matters."""
    options = {"admission_filter": 3, "mode": "mean", "interval": 2}
    case = Case((60000,), 4, 2, 0.998, OPTIMIZERS["adagrad"], options)
    random = np.random.default_rng(1)
    assert live_together(place, case, lambda: draw_call(random, case, batch=4000, longest=8), steps=5)


@pytest.mark.parametrize("shape", [(1, 1), (3, 1), (8, 8), (20, 4), (64, 2), (64, 16), (130, 1), (256, 4)])
def test_widths(shape, place):
    case = Case((50,), *shape, 0.5, OPTIMIZERS["adam"], {"interval": 2})
    random = np.random.default_rng(2)
    live_together(place, case, lambda: draw_call(random, case, batch=30, longest=9), steps=4)


def test_more_tables_than_one_launch_takes(place):
    case = Case((7,) * 150, 8, 2, 0.5, OPTIMIZERS["adagrad"], {"interval": 2, "scope": "table"})
    random = np.random.default_rng(2)
    live_together(place, case, lambda: draw_call(random, case), steps=4)


def test_hashed_ids(place):
    options = {"hashed_ids": True, "seed": 5}
    case = Case((90, 40), 8, 2, 0.5, OPTIMIZERS["sgd"], options)
    there, _ = place.module(case)
    here, _ = case.module(layout="flat")
    ids = [torch.randint(-(2**62), 2**62, (20, 3)), torch.tensor([[0], [-1], [2**63 - 1], [-(2**63)]])]
    assert frozen([y.detach().cpu() for y in there(given_to(place, ids))]) == frozen([y.detach() for y in here(ids)])


def test_joint_ids(place):
    case = Case((9, 4), 8, 2, 0.5, OPTIMIZERS["sgd"], {"joint_ids": True})
    there, _ = place.module(case)
    here, _ = case.module(layout="flat")
    ids = torch.arange(13).view(1, 13)
    assert torch.equal(there(given_to(place, ids)).cpu(), here(ids))


def test_utilities_that_are_scaled(place):
    case = Case((40,), 8, 2, 0.5, OPTIMIZERS["sgd"], {"decay": 1e-4, "interval": 1})
    random = np.random.default_rng(2)
    live_together(place, case, lambda: draw_call(random, case), steps=8)


WRONG = {
    "id": (torch.tensor([[1, 2], [50, 3]]), None, IndexError),
    "negative id": (torch.tensor([4, -1], dtype=torch.int32), torch.tensor([0]), IndexError),
    "large id": (torch.tensor([[2**40]]), None, IndexError),
    "start": (torch.tensor([1, 2]), torch.tensor([1]), ValueError),
    "fall": (torch.tensor([1, 2]), torch.tensor([0, 2, 1]), ValueError),
    "past": (torch.tensor([1, 2]), torch.tensor([0, 3]), ValueError),
    "no bag": (torch.tensor([1, 2]), torch.tensor([], dtype=torch.int64), ValueError),
    "one dimension": (torch.tensor([1, 2]), None, ValueError),
    "floats": (torch.tensor([[1.0]]), None, TypeError),
}


@pytest.mark.parametrize("what", WRONG)
def test_bad_input_is_refused_in_the_words_of_the_cpu(what, place):
    ids, offsets, kind = WRONG[what]
    case = Case((50,), 8, 2, 0.5, OPTIMIZERS["sgd"])
    messages = []
    for module, given in (
        (place.module(case)[0], [given_to(place, x) for x in (ids, offsets)]),
        (case.module(layout="flat")[0], [ids, offsets]),
    ):
        with pytest.raises(kind) as refused:
            module(*given)
        messages.append(str(refused.value))
        module(given[0].new_ones(1, 1).long())  # and it goes on
    assert messages[0] == messages[1]


def test_a_gradient_that_is_not_finite(place):
    case = Case((50,), 8, 2, 0.5, OPTIMIZERS["sgd"])
    module, optimizer = place.module(case)
    before = frozen(module.get_extra_state())
    output = module(given_to(place, torch.tensor([[1, 2], [3, 4], [5, 6]])))
    gradient = torch.ones_like(output)
    gradient[1, 7], gradient[2, 0] = torch.nan, torch.inf
    output.backward(gradient)
    with pytest.raises(FloatingPointError, match=r"bag 1 \(rows 3, 4\)"):
        optimizer.step()
    assert frozen(module.get_extra_state()) == before


def test_an_expanded_gradient(place):
    case = Case((50,), 8, 2, 0.5, OPTIMIZERS["sgd"])
    there, its_optimizer = place.module(case)
    here, optimizer = case.module(layout="flat")
    ids = torch.tensor([[1, 2], [1, 3]])
    there(given_to(place, ids)).sum().backward()
    here(ids).sum().backward()
    its_optimizer.step()
    optimizer.step()
    compare(there, here)


def trained(place: Place) -> tuple[FIITEDEmbeddingBag, FIITEDEmbeddingBag]:
    case = Case((300,), 8, 4, 0.7, OPTIMIZERS["adagrad"], {"interval": 2, "ttl": 3})
    there, its_optimizer = place.module(case)
    here, optimizer = case.module(layout="flat")
    random = np.random.default_rng(2)
    for _ in range(5):
        its_optimizer.zero_grad()
        optimizer.zero_grad()
        record_both(place, there, here, draw_call(random, case, batch=50))
        its_optimizer.step()
        optimizer.step()
    return there, here


def test_what_can_be_read(place):
    there, here = trained(place)
    rows = torch.tensor([250, 3, 3, 0])
    for name in ("materialize", "live_mask", "utilities"):
        for which in ((), (rows,), (given_to(place, rows),)):
            read = getattr(there, name)(*which)
            assert read.device.type == place.device
            assert frozen(read.cpu()) == frozen(getattr(here, name)(*which[:1] and (rows,)))
    same = {key for key in here.statistics() if not key.endswith("_mb")}
    assert {key: there.statistics()[key] for key in same} == {key: here.statistics()[key] for key in same}
    sizes = there.bytes_by_kind()
    capacity = there.capacity
    assert sizes["weights"] == (capacity + 1) * 2 * 4
    assert sizes["index"] == 300 * 4 * 4
    assert sizes["utilities"] == 300 * 4 * 2
    assert sizes["owners"] == (2 * capacity + 1) * 4
    assert sizes["optimizer"] == (capacity + 1) * 2 * 4


@pytest.mark.parametrize("how", [copy.deepcopy, lambda module: pickle.loads(pickle.dumps(module))])
def test_copies(how, place):
    there, here = trained(place)
    with place.here():
        other = how(there)
    assert other.anchor.device == there.anchor.device
    compare(other, here)
    call = draw_call(np.random.default_rng(9), Case((300,), 8, 4, 0.7, OPTIMIZERS["adagrad"]), batch=50)
    copied = optimizer_of(other, OPTIMIZERS["adagrad"])
    optimizer = optimizer_of(here, OPTIMIZERS["adagrad"])
    record_both(place, other, here, call)
    copied.step()
    optimizer.step()
    compare(other, here)


def test_a_state_goes_from_and_to_the_cpu(place):
    there, here = trained(place)
    case = Case((300,), 8, 4, 0.7, OPTIMIZERS["adagrad"], {"interval": 2, "ttl": 3}, seed=8)
    fresh, _ = place.module(case)
    fresh.load_state_dict(here.state_dict())
    compare(fresh, here)
    for layout in ("flat", "compact"):
        other, _ = case.module(layout=layout)
        other.load_state_dict(there.state_dict())
        assert frozen(other.get_extra_state()) == frozen(here.get_extra_state())


def test_a_smaller_budget_on_load(place):
    there, here = trained(place)
    case = Case((300,), 8, 4, 0.95, OPTIMIZERS["adagrad"], {"interval": 2, "ttl": 3})
    small, _ = place.module(case)
    other, _ = case.module(layout="flat")
    small.load_state_dict(there.state_dict())
    other.load_state_dict(here.state_dict())
    compare(small, other)


def test_thresholds_that_let_in_too_much_are_refused(place):
    there, _ = trained(place)
    state = there._storage.state()
    utilities = torch.ones_like(state[2])
    there._storage.load_state([state[0], state[1], utilities, *state[3:]])
    assert there.num_chunks * len(state[0]) > there.capacity
    with pytest.raises(RuntimeError, match="more chunks than"):
        there._storage.apply(torch.tensor([[-1, 2**62]]), False, False)
    there.verify()


# --- where it cannot be ----------------------------------------------------------------------------------------------


def test_the_compact_layout_is_for_the_cpu():
    with pytest.raises(ValueError, match='on cuda take layout="flat"'):
        FIITEDEmbeddingBag(100, 8, device="cuda")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_no_gpu_is_said():
    with pytest.raises(RuntimeError, match="cannot be on cuda, since this torch"):
        FIITEDEmbeddingBag(100, 8, layout="flat", device="cuda")


def test_kernels_without_cuda_say_what_to_do():
    with pytest.raises(RuntimeError, match=r"built without.*run `python -m bench_engine build`"):
        torch.classes.mirror.FiitedStorage("absent_cuda", [9], 4, 2, 8, "global", 0, 0, torch.device("cpu"))


def test_a_table_stays_where_it_was_made():
    module = FIITEDEmbeddingBag(100, 8)
    with pytest.raises(TypeError, match="stays float32 on the CPU"):
        module.to("meta")

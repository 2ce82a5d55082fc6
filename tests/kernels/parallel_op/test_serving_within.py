"""What a forward does between two of its lookups: each gives what torch's own op would at that moment."""

import copy
import os
import threading
from unittest import mock

import pytest
import torch
from torch import nn

from tests.kernels.parallel_op.served_models import ROWS, alike, outcome, served

pytestmark = [pytest.mark.usefixtures("grouped_ops", "compiled_for_python"), pytest.mark.timeout(120)]


class Between(nn.Module):
    """Three lookups, and something between the first and the second."""

    def __init__(self, something) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(ROWS, 4, mode="sum") for _ in range(3))
        self.something = something
        self.calls = 0

    def forward(self, ids):
        self.calls += 1
        first = self.tables[0](ids[:, 0])
        self.something(self, ids)
        return [first, self.tables[1](ids[:, 1]), self.tables[2](ids[:, 2])]


def times(model, number):
    return model.calls == number


def weights_in_place(model, ids):
    with torch.no_grad():
        model.tables[1].weight.mul_(0.5)


def weights_through_data(model, ids):
    model.tables[2].weight.data.mul_(0.5)


def weights_through_data_once(model, ids):
    if times(model, 4):
        model.tables[2].weight.data.mul_(0.5)


def weights_of_many(model, ids):
    if times(model, 4):
        torch._foreach_mul_([table.weight.data for table in model.tables], 0.5)


def weights_by_out(model, ids):
    if times(model, 4):
        torch.mul(model.tables[1].weight.detach(), 3, out=model.tables[1].weight.data)


def ids_in_place(model, ids):
    ids[:, 2].zero_()


def ids_through_data(model, ids):
    if times(model, 4):
        ids.data[:, 2].zero_()


def ids_elsewhere(model, ids):
    if times(model, 4):
        ids.data = torch.zeros_like(ids)


def another_storage(model, ids):
    if times(model, 4):
        model.tables[2].weight.data = torch.ones(ROWS, 4)


def another_parameter(model, ids):
    if times(model, 4):
        model.tables[2].weight = nn.Parameter(torch.ones(ROWS, 4))


def another_table(model, ids):
    if times(model, 4):
        model.tables[1] = nn.EmbeddingBag.from_pretrained(torch.ones(ROWS, 4), mode="sum")


def another_mode(model, ids):
    if times(model, 4):
        model.tables[1].mode = "max"


def a_hook(model, ids):
    if times(model, 4):
        model.tables[1].register_forward_hook(lambda module, args, output: output + 1)


def a_hook_of_all(model, ids):
    if times(model, 4):
        model.handle = nn.modules.module.register_module_forward_hook(lambda module, args, output: output + 1)
    if times(model, 5):
        model.handle.remove()


def no_gradients(model, ids):
    torch.set_grad_enabled(False)


def a_patch(model, ids):
    if times(model, 4):
        patch = mock.patch("torch.embedding_bag", return_value=(torch.ones(4, 4), None, None, None))
        patch.start()
        model.patch = patch


def another_table_every_time(model, ids):
    model.tables[1] = nn.EmbeddingBag.from_pretrained(torch.full((ROWS, 4), float(model.calls)), mode="sum")


def another_part_of_its_storage(model, ids):
    if not hasattr(model, "bank"):
        model.bank = torch.stack([torch.full((ROWS, 4), 1.0), torch.full((ROWS, 4), 2.0)])
    model.tables[2].weight.data = model.bank[model.calls % 2]


def frozen_for_one_call(model, ids):
    model.tables[2].weight.requires_grad_(not times(model, 4))


def a_list_of_tables_every_time(model, ids):
    model.tables = nn.ModuleList([model.tables[0], model.tables[2], model.tables[1]])


def a_call_of_itself(model, ids):
    if model.calls < 3:
        model.inner = model(torch.flip(ids, (0,)))


def an_error(model, ids):
    if times(model, 4):
        raise KeyError("in the middle")


def a_lookup_of_a_later_table(model, ids):
    model.early = model.tables[2](ids[:, 0])


BETWEEN = [
    weights_in_place, weights_through_data, weights_through_data_once, weights_of_many, weights_by_out, ids_in_place,
    ids_through_data, ids_elsewhere, another_storage, another_parameter, another_table, another_mode, a_hook,
    a_hook_of_all, another_table_every_time, a_list_of_tables_every_time,
    another_part_of_its_storage, frozen_for_one_call,
    no_gradients, a_patch, a_call_of_itself, an_error, a_lookup_of_a_later_table,
]  # fmt: skip


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("something", BETWEEN)
def test_between_two_lookups(something, grad):
    results = []
    torch.manual_seed(0)
    model = Between(something)
    twin = copy.deepcopy(model)
    serve = served(model)
    for one, call in ((twin, twin.forward), (model, lambda ids: serve(model, ids))):
        found = []
        for seed in range(7):
            ids = torch.randint(0, ROWS, (4, 3, 2), generator=torch.Generator().manual_seed(seed))
            with torch.set_grad_enabled(grad):
                found.append(outcome(lambda c=call, i=ids: [*c(i), i]))
            if hasattr(one, "patch"):
                one.patch.stop()
                del one.patch
        results.append(found)
    for expected, found in zip(*results, strict=True):
        assert found == expected if isinstance(expected, tuple) else alike(found, expected)
    every_time = (weights_in_place, weights_through_data, ids_in_place, no_gradients, another_table_every_time)
    every_time += (a_list_of_tables_every_time, another_part_of_its_storage)
    assert something in every_time or serve.compiled.calls > 0


def test_writes_to_other_memory_leave_lookups_served():
    class Filled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tables = nn.ModuleList(nn.EmbeddingBag(ROWS, 4, mode="sum") for _ in range(3))

        def forward(self, ids):
            found = ids.new_zeros((3, len(ids), 4), dtype=torch.float32)
            for k, table in enumerate(self.tables):
                found[k] = table(ids[:, k])
            return found.relu_()

    model = Filled()
    serve = served(model)
    for _ in range(4):
        ids = torch.randint(0, ROWS, (5, 3, 2))
        assert alike(serve(model, ids), model.forward(ids))
    assert serve.compiled.calls == 3


def test_lookups_that_are_left_out_or_in_another_order():
    class Chosen(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tables = nn.ModuleList(nn.EmbeddingBag(ROWS, 4, mode="sum") for _ in range(3))
            self.order = [0, 1, 2]

        def forward(self, ids):
            return [self.tables[k](ids[:, k]) for k in self.order]

    model = Chosen()
    serve = served(model)
    ids = torch.randint(0, ROWS, (5, 3, 2))
    for order in ([0, 1, 2], [0, 1, 2], [2, 0, 1], [1], [0, 2], [2, 1, 0, 2], [0, 1, 2], [0, 1, 2]):
        model.order = order
        assert alike(serve(model, ids), model.forward(ids))
    assert serve.compiled.calls >= 2


def test_a_generator_is_run_after_the_call():
    class Lazy(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tables = nn.ModuleList(nn.EmbeddingBag(ROWS, 4, mode="sum") for _ in range(3))

        def forward(self, ids):
            yield from (table(ids[:, k]) for k, table in enumerate(self.tables))

    model = Lazy()
    serve = served(model)
    for _ in range(4):
        ids = torch.randint(0, ROWS, (5, 3, 2))
        assert alike(list(serve(model, ids)), list(model.forward(ids)))
    assert serve.hopeless


def test_two_threads_in_one_model():
    model = Between(lambda *_: None)
    serve = served(model)
    wrong: list[object] = []

    def call(seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        try:
            for _ in range(300):
                ids = torch.randint(0, ROWS, (1 + seed, 3, 2), generator=generator)
                if not alike(serve(model, ids), model.forward(ids)):
                    wrong.append(seed)
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=call, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert serve.compiled.calls > 600


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_between_two_lookups():
    def fork(model, ids):
        if times(model, 4):
            model.child = os.fork()

    model = Between(fork)
    serve = served(model)
    ids = torch.randint(0, ROWS, (4, 3, 2))
    expected = [table(ids[:, k]) for k, table in enumerate(model.tables)]
    for _ in range(5):
        right = alike(serve(model, ids), expected)
        if getattr(model, "child", 1) == 0:
            right = right and alike(serve(model, ids), expected)
            os._exit(0 if right else 1)
        assert right
    assert os.waitstatus_to_exitcode(os.waitpid(model.child, 0)[1]) == 0

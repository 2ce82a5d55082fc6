"""Lookups at the edge: repeated ids, frozen tables, padding in second gradients, and what may not reach the script."""

import json
import math
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import torch
from torch import nn

from bench_engine.kernels.parallel_op.entry import kept_sides, serving
from bench_engine.kernels.parallel_op.settings import Settings
from db.installation import ROOT, python_path
from tests.kernels.parallel_op.served_models import served

pytestmark = [pytest.mark.usefixtures("grouped_ops", "compiled_for_python"), pytest.mark.timeout(120)]


class Rows(nn.Module):
    """Two embeddings."""

    def __init__(self, **options):
        super().__init__()
        torch.manual_seed(0)
        self.user, self.item = nn.Embedding(50, 4, **options), nn.Embedding(60, 4)

    def forward(self, user, item):
        return self.user(user), self.item(item)


def ids(batch=5, length=3):
    return torch.randint(0, 50, (batch,)), torch.randint(0, 60, (batch, length))


@pytest.mark.parametrize("shape", [(-1, 3), (4, -1, 3), (2, -1, 3, 2)])
def test_ids_that_repeat_along_their_last_dimension_are_the_rows_that_they_name(shape):
    model = Rows()
    user, item = ids()
    at = shape.index(-1)
    given = user.reshape([-1 if d == at else 1 for d in range(len(shape))]).expand(shape)
    serve, compiled = served(model), torch.compile(model, backend="parallel_op")
    for call in (serve, serve, serve, lambda _, *a: compiled(*a), lambda _, *a: compiled(*a)):
        model.zero_grad()
        found = call(model, given, item)
        assert torch.equal(found[0], model.user(given))
        found[0].sum().backward()
        grad = model.user.weight.grad.clone()
        model.zero_grad()
        model.user(given).sum().backward()
        assert torch.equal(grad, model.user.weight.grad)


def test_what_is_of_a_frozen_table_alone_asks_for_no_gradient():
    model = Rows()
    model.item.weight.requires_grad_(False)
    serve, given = served(model), ids()
    for _ in range(4):
        user, item = serve(model, *given)
        assert (user.requires_grad, item.requires_grad) == (True, False)
        item.requires_grad_()
        (user.sum() + (item**2).sum()).backward()
        assert torch.equal(item.grad, 2 * item.detach())


def test_the_gradient_of_the_gradient_of_a_padding_row_is_zero():
    model = Rows(padding_idx=0)
    user, item = torch.tensor([[0, 1], [2, 0]]), torch.zeros(2, dtype=torch.int64)

    def second(call):
        output = call(user, item)[0]
        (grad,) = torch.autograd.grad((output**2).sum(), model.user.weight, create_graph=True)
        return torch.autograd.grad((grad * torch.arange(200.0).view(50, 4)).sum(), model.user.weight)[0]

    serve, wanted = served(model), second(model.forward)
    for _ in range(4):
        assert torch.allclose(second(lambda *given: serve(model, *given)), wanted)
    assert not wanted[0].any()


def test_a_table_without_a_weight_is_left_alone():
    model = Rows()
    model.item.weight = None
    assert serving.obstacle(model.item, frozenset(("aten.embedding",))) == "it has no weight"
    user, item = ids()
    serve = serving.Serving(model, Settings(), set())
    for _ in range(3):
        with pytest.raises(TypeError, match="weight"):
            serve(model, user, item)


@pytest.mark.parametrize("times", ["nan\t1\t1", "1\tinf\t1", "1\t-1\t1"])
def test_times_that_are_none_are_not_taken_from_a_file(times):
    assert kept_sides._parsed(f"a\tb\tgrouped\t{times}") is None
    assert kept_sides._parsed("a\tb\tgrouped\t1\t2\t3") is not None
    assert math.isfinite(kept_sides._parsed("a\tb\tgrouped\t1\t2\t3")[1].times[0])


SCRIPT = """
import json, os, sys
import numpy as np, torch
from torch import nn
from bench_engine.kernels.parallel_op import enable
enable()

class Rows(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Embedding(50, 4), nn.Embedding(50, 4)
    def forward(self, given):
        return self.a(given["a"] % 7) + self.b(given["b"] % 5) + float(np.random.rand())

torch.manual_seed(0)
np.random.seed(0)
model, said = Rows(), []
with torch.no_grad():
    for call in range(30):
        said.append(float(model({"a": torch.arange(6), "b": torch.arange(6)}).sum()))
print(json.dumps([said, float(np.random.rand()), float(torch.rand(1))]))
"""


@pytest.mark.parametrize("variables", [{}, {"TORCHDYNAMO_DISABLE": "1"}])
def test_a_script_draws_from_its_own_generators_and_is_never_stopped(variables):
    def ran(text):
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(text)], capture_output=True, text=True, check=False, timeout=100,
            env={"PYTHONPATH": python_path(), "PATH": "/usr/bin:/bin", "HOME": str(ROOT), **variables},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    untouched = SCRIPT.replace("from bench_engine.kernels.parallel_op import enable\nenable()", "")
    found, wanted = ran(SCRIPT), ran(untouched)
    assert np.allclose(found[0], wanted[0], rtol=1e-5)
    assert found[1:] == wanted[1:]


def test_a_hook_of_a_weight_is_not_called_where_the_loss_does_not_use_its_lookup():
    model, seen = Rows(), []
    model.item.weight.register_hook(lambda grad: seen.append(grad) or grad.clamp(-1, 1))
    serve, given = served(model), ids()
    for _ in range(4):
        serve(model, *given)[0].sum().backward()
    assert not seen
    serve(model, *given)[1].sum().backward()
    assert [grad is not None for grad in seen] == [True]

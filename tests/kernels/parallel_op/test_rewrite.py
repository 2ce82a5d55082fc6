"""The new order of a graph, on graphs built by hand."""

import operator

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.fx import Graph, GraphModule

from bench_engine.kernels.parallel_op.graph.graph_pass import group_graph
from bench_engine.kernels.parallel_op.settings import Settings
from tests.kernels.parallel_op.tracing import calls, plans, targets

pytestmark = pytest.mark.usefixtures("grouped_ops")

X = torch.arange(12).view(3, 4) % 9
WEIGHTS = [torch.rand(9, 2) for _ in range(3)]


class Builder:
    """A graph with the value of each node beside it."""

    def __init__(self):
        self.graph = Graph()
        self.root = nn.Module()
        self.x = self.placeholder("x", X)
        self.weights = [self.placeholder(f"w{i}", weight) for i, weight in enumerate(WEIGHTS)]

    def placeholder(self, name, value):
        node = self.graph.placeholder(name)
        node.meta["example_value"] = value
        return node

    def call(self, target, *args, **kwargs):
        node = self.graph.call_function(target, args, kwargs)
        given = torch.fx.node.map_arg((args, kwargs), lambda used: used.meta["example_value"])
        node.meta["example_value"] = target(*given[0], **given[1])
        return node

    def module(self, *results):
        self.graph.output(results)
        return GraphModule(self.root, self.graph)


def run(module):
    """The results, and what became of the inputs."""
    inputs = [tensor.clone() for tensor in (X, *WEIGHTS)]
    return module(*inputs), inputs


def compare(module):
    expected = run(module)
    found = group_graph(module, Settings())
    assert not found.error
    torch.testing.assert_close(run(module), expected)
    return found


def test_a_group_waits_for_the_inputs_of_its_last_member_and_what_can_stays_before():
    build = Builder()
    one = build.call(F.embedding_bag, build.x, build.weights[0])
    used = build.call(torch.neg, one)
    other = build.call(torch.abs, build.weights[2])
    ids = build.call(torch.flip, build.x, [0])
    two = build.call(F.embedding_bag, ids, build.weights[1])
    module = build.module(used, other, two)
    compare(module)
    names = ["abs", "flip", "grouped_embedding.default", "getitem", "getitem", "neg"]
    assert targets(module) == names
    assert [node.op for node in module.graph.nodes][-1] == "output"


def test_a_graph_without_groups_keeps_its_graph():
    build = Builder()
    one = build.call(F.embedding_bag, build.x, build.weights[0])
    module = build.module(build.call(torch.neg, one))
    graph = module.graph
    found = compare(module)
    assert module.graph is graph
    assert found.alone[0].reason == "no other op of its kind"
    assert "Nothing was grouped." in found.text()


def test_views_that_nobody_else_takes_are_gone_and_others_stay():
    build = Builder()
    parts = build.call(torch.split, build.x, 2, 1)
    left, right = (build.call(operator.getitem, parts, i) for i in range(2))
    one = build.call(F.embedding_bag, left, build.weights[0])
    two = build.call(F.embedding_bag, right, build.weights[1])
    module = build.module(one, two, build.call(torch.neg, right))
    compare(module)
    assert targets(module) == ["split", "getitem", "grouped_embedding.default", "getitem", "getitem", "neg"]
    assert [str(table.ids) for table in plans(module)[0].tables] == ["0@1:0:2", "0@1:2:2"]


def test_the_name_of_a_new_node_is_a_new_name():
    build = Builder()
    taken = build.placeholder("grouped_embedding", torch.ones(3, 2))
    one, two = (build.call(F.embedding_bag, build.x, weight) for weight in build.weights[:2])
    module = build.module(build.call(torch.add, taken, one), two)
    group_graph(module, Settings())
    assert [node.name for node in calls(module)] == ["grouped_embedding_1"]
    assert taken.name in {node.name for node in module.graph.nodes if node.op == "placeholder"}


def test_random_calls_keep_their_order():
    build = Builder()
    one = build.call(F.embedding_bag, build.x, build.weights[0])
    noisy = build.call(F.dropout, one)
    noise = build.call(torch.rand, 3, 2)
    two = build.call(F.embedding_bag, build.x, build.weights[1])
    module = build.module(noisy, noise, build.call(F.dropout, two))
    torch.manual_seed(3)
    expected = module(X, *WEIGHTS)
    group_graph(module, Settings())
    torch.manual_seed(3)
    torch.testing.assert_close(module(X, *WEIGHTS), expected)
    assert [name for name in targets(module) if name in ("dropout", "rand")] == ["dropout", "rand", "dropout"]


@pytest.mark.parametrize("seed", range(30))
def test_graphs_of_any_shape(seed):
    """Random graphs of lookups, copies, changes in place and concatenations, before and after."""
    random = torch.Generator().manual_seed(seed)

    def pick(items):
        return items[int(torch.randint(len(items), (1,), generator=random))]

    build = Builder()
    ids = [build.call(torch.clone, build.x), build.x]
    floats = [build.call(F.embedding_bag, build.x, build.weights[2])]
    for _ in range(25):
        kind = pick(["bag", "bag", "bag", "ids", "cat", "change", "change ids", "view", "relu"])
        if kind == "bag":
            floats.append(build.call(F.embedding_bag, pick(ids), pick(build.weights), mode=pick(["sum", "mean"])))
        elif kind == "ids":
            total = build.call(torch.sum, pick(floats), 1, keepdim=True)
            ids.append(build.call(torch.remainder, build.call(torch.Tensor.long, build.call(torch.abs, total)), 9))
        elif kind == "cat":
            build.call(torch.cat, [pick(floats), pick(floats)], 1)
            joined = build.call(torch.cat, [pick(floats) for _ in range(3)], -1)
            floats.append(build.call(operator.getitem, joined, (slice(None), slice(1, 3))))
        elif kind == "change":
            build.call(operator.iadd, pick(floats), 1)
        elif kind == "change ids":
            build.call(operator.ifloordiv, pick(ids[:1] + ids[2:]), 2)
        elif kind == "view":
            ids.append(build.call(operator.getitem, pick(ids), (slice(None), slice(0, 1))))
        else:
            floats.append(build.call(torch.relu, pick(floats)))
    module = build.module(*floats, *ids)
    compare(module)

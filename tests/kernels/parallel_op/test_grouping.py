"""Effects, order and levels."""

import operator
from itertools import pairwise

import pytest
import torch
import torch.nn.functional as F
from torch.fx import Graph

from bench_engine.kernels.parallel_op.graph.effects import BARRIER, PURE, RANDOM, effect_of
from bench_engine.kernels.parallel_op.graph.grouping import group, order_of
from bench_engine.kernels.parallel_op.graph.members import Member, member_of
from bench_engine.kernels.parallel_op.settings import KNOWN_OPS
from tests.kernels.parallel_op.tracing import traced

WEIGHTS = [torch.rand(9, 4) for _ in range(4)]
IDS = torch.randint(9, (3, 2))
aten = torch.ops.aten


def grouping(function, *inputs, min_group=2):
    graph = traced(function, *inputs).graph
    order = order_of(graph)
    members = [found for node in graph.nodes if isinstance(found := member_of(node, KNOWN_OPS), Member)]
    return group(order, members, min_group)


def shape(found):
    """(kind, level, members) of each group."""
    return [(group.kind, group.level, len(group.members)) for group in found.groups]


@pytest.mark.parametrize(
    ("target", "args", "kwargs", "expected"),
    [
        (torch.relu, (0,), {}, PURE),
        (F.dropout, (0,), {}, RANDOM),
        (torch.rand_like, (0,), {}, RANDOM),
        (torch.bernoulli, (0,), {}, RANDOM),
        (aten.bernoulli.default, (0,), {}, RANDOM),
        (torch._C._set_grad_enabled, (False,), {}, BARRIER),
        (torch.amp.autocast_mode._enter_autocast, ("cpu", torch.bfloat16, True, None), {}, BARRIER),
        (torch.amp.autocast_mode._exit_autocast, (0,), {}, BARRIER),
        (torch.manual_seed, (1,), {}, BARRIER),
        (torch._C._log_api_usage_once, ("name",), {}, PURE),
        (torch._assert, (0, ""), {}, PURE),
        (aten._assert_tensor_metadata.default, (0,), {}, PURE),
        (torch.ops.higher_order.cond, (0,), {}, BARRIER),
        (print, (0,), {}, BARRIER),
        (len, (0,), {}, PURE),
        (traced, (0,), {}, BARRIER),
        ("relu", (0,), {}, PURE),
        ("bernoulli", (0,), {}, RANDOM),
        ("resize_", (0,), {}, BARRIER),
        ("backward", (0,), {}, BARRIER),
        ("wait_stream", (0,), {}, BARRIER),
    ],
)  # fmt: skip
def test_effects(target, args, kwargs, expected):
    assert effect_of(call(target, args, kwargs)) == expected


@pytest.mark.parametrize(
    ("target", "args", "kwargs", "written"),
    [
        (torch.relu_, (0,), {}, [0]),
        (F.relu, (0, True), {}, [0]),
        (F.relu, (0,), {"inplace": True}, [0]),
        (F.relu, (0, False), {}, []),
        (torch.add, (0, 1), {"out": 2}, [2]),
        (operator.iadd, (0, 1), {}, [0]),
        (operator.setitem, (0, 1, 2), {}, [0]),
        (aten.add_.Tensor, (0, 1), {}, [0]),
        (aten.add.out, (0, 1), {"out": 2}, [2]),
        (F.embedding, (0, 1, None, 1.0), {}, [1]),
        (F.embedding, (0, 1), {}, []),
        (F.embedding_bag, (0, 1), {"max_norm": 1.0}, [1]),
        (F.batch_norm, (0, 1, 2), {}, [1, 2]),
        ("add_", (0, 1), {}, [0]),
        ("__setitem__", (0, 1, 2), {}, [0]),
        ("__iadd__", (0, 1), {}, [0]),
        ("__add__", (0, 1), {}, []),
        ("uniform_", (0,), {}, [0]),
    ],
)
def test_what_is_written_in_place(target, args, kwargs, written):
    node = call(target, args, kwargs)
    assert [int(other.name[1:]) for other in effect_of(node).written] == written
    assert effect_of(node).random == (target == "uniform_")


def call(target, args, kwargs):
    graph = Graph()
    places = [graph.placeholder(f"p{number}") for number in range(3)]

    def node(value):
        return places[value] if type(value) is int else value

    args = tuple(map(node, args))
    kwargs = {name: node(value) for name, value in kwargs.items()}
    if isinstance(target, str):
        return graph.call_method(target, args, kwargs)
    return graph.call_function(target, args, kwargs)


def test_independent_members_are_one_group_whatever_stands_between():
    def model(i, a, b, c):
        return torch.cat([F.relu(F.embedding_bag(i, w)) for w in (a, b, c)], 1)

    assert shape(grouping(model, IDS, *WEIGHTS[:3])) == [("embedding", 0, 3), ("aten.relu", 1, 3)]


def test_members_that_need_others_are_a_level_of_their_own():
    def model(i, a, b, c, d):
        one, two = (F.embedding_bag(i, w) for w in (a, b))
        ids = (one + two).argmax(1, keepdim=True)
        return F.embedding_bag(ids, c), F.embedding_bag(ids, d)

    assert shape(grouping(model, IDS, *WEIGHTS)) == [("embedding", 0, 2), ("embedding", 1, 2)]


def test_an_op_that_stays_alone_does_not_part_others():
    def model(i, a, b, c):
        ids = torch.sigmoid(F.embedding_bag(i, a)).argmax(1, keepdim=True)
        return F.embedding_bag(i, b), F.relu(F.embedding_bag(ids, c))

    found = grouping(model, IDS, *WEIGHTS[:3])
    assert shape(found) == [("embedding", 0, 2)]
    reasons = {alone.member.name: alone.reason for alone in found.alone}
    assert sorted(reasons.values()) == ["it comes after embedding_bag", *["no other op of its kind"] * 2]


def test_groups_of_fewer_than_min_group_stay():
    def model(i, a, b, c):
        return [F.embedding_bag(i, w) for w in (a, b, c)]

    assert shape(grouping(model, IDS, *WEIGHTS[:3], min_group=3)) == [("embedding", 0, 3)]
    found = grouping(model, IDS, *WEIGHTS[:3], min_group=4)
    assert not found.groups
    assert [alone.reason for alone in found.alone] == ["only 3 of its kind at its level"] * 3


@pytest.mark.parametrize("between", [
    lambda i, a: i.clamp_(max=3),
    lambda i, a: a.mul_(2),
    lambda i, a: i[0].fill_(1),
    lambda i, a: i.__setitem__(0, 1),
    lambda i, a: torch.neg(a, out=a),
])  # fmt: skip
def test_members_on_two_sides_of_a_change_of_their_input_are_apart(between):
    def model(i, a):
        one = F.embedding_bag(i, a)
        between(i, a)
        return one, F.embedding_bag(i, a)

    found = grouping(model, IDS.clone(), WEIGHTS[0].clone())
    assert not found.groups
    assert "keeps it after one" in found.alone[1].reason


def test_a_change_of_another_tensor_parts_nothing():
    def model(i, a, b, other):
        one = F.embedding_bag(i, a)
        other.add_(1)
        F.relu(one, inplace=True)
        return one, F.dropout(F.embedding_bag(i, b))

    assert shape(grouping(model, IDS, *WEIGHTS[:3])) == [("embedding", 0, 2)]


def test_a_change_through_another_name_of_the_same_memory_parts():
    def model(i, view, a):
        one = F.embedding_bag(i, a)
        view.clamp_(max=3)
        return one, F.embedding_bag(i, a)

    ids = IDS.clone()
    assert not grouping(model, ids, ids[1:].detach(), WEIGHTS[0]).groups


@pytest.mark.parametrize("scope", [torch.no_grad, lambda: torch.autocast("cpu", dtype=torch.bfloat16)])
def test_nothing_moves_across_a_change_of_state(scope):
    def model(i, a, b):
        one = F.embedding_bag(i, a)
        with scope():
            return one, F.embedding_bag(i, b)

    found = grouping(model, IDS, *WEIGHTS[:2])
    assert not found.groups
    assert "keeps it after one" in found.alone[-1].reason
    assert found.alone[0].reason == "the others come later"


def test_unknown_memory_makes_every_change_a_barrier():
    graph = traced(
        lambda i, a, b, c: (F.embedding_bag(i, a), c.add_(1), F.embedding_bag(i, b)), IDS, *WEIGHTS[:3]
    ).graph
    change = next(node for node in graph.nodes if node.target == "add_")
    assert effect_of(change) == order_of(graph).effects[change] != BARRIER
    next(iter(graph.nodes)).meta.clear()
    assert order_of(graph).effects[change] == BARRIER


def test_random_calls_keep_their_order_and_part_nothing():
    def model(i, a, b):
        one, two = (F.dropout(F.embedding_bag(i, w), 0.5) for w in (a, b))
        return one * torch.rand(3, 1), two

    graph = traced(model, IDS, *WEIGHTS[:2]).graph
    order = order_of(graph)
    random = [node for node, effect in order.effects.items() if effect == RANDOM]
    assert len(random) == 3
    assert all(earlier in order.before[later] for earlier, later in pairwise(random))
    assert shape(grouping(model, IDS, *WEIGHTS[:2])) == [("embedding", 0, 2)]

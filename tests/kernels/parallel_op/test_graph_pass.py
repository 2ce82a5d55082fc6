"""Graphs of real modules, grouped: results and gradients of the untouched module, by one op."""

import inspect
import re

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from bench_engine.kernels.parallel_op.graph import graph_pass, report
from bench_engine.kernels.parallel_op.graph.graph_pass import group_graph
from bench_engine.kernels.parallel_op.plan import Extra, Output, Source, View
from bench_engine.kernels.parallel_op.settings import KNOWN_OPS, Settings
from tests.kernels.parallel_op.tracing import calls, grouped, plans, targets, traced

pytestmark = pytest.mark.usefixtures("grouped_ops")

ROWS, DIM = 20, 4


def ids(*shape, dtype=torch.int64):
    return torch.randint(ROWS, shape, dtype=dtype)


def bags(count, mode="sum", **options):
    return nn.ModuleList(nn.EmbeddingBag(ROWS, DIM, mode=mode, **options) for _ in range(count))


class Model(nn.Module):
    """A module made of parts and a function of them."""

    def __init__(self, call, **parts):
        super().__init__()
        self.call = call
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, *inputs):
        return self.call(self, *inputs)


def test_figure_1_split_then_ops_then_concat():
    def call(m, x):
        return torch.cat([bag(part) for bag, part in zip(m.bags, x.split(2, 1), strict=True)], 1)

    found, graph = grouped(Model(call, bags=bags(5)), ids(3, 10))
    (plan,) = plans(graph)
    assert [table.ids for table in plan.tables] == [Source(0, View(1, 2 * i, 2)) for i in range(5)]
    assert [table.name for table in plan.tables] == [f"bags.{i}.weight" for i in range(5)]
    assert plan.outputs == (Output("cat", (0, 1, 2, 3, 4)),)
    assert targets(graph) == ["grouped_embedding.default", "getitem"]
    (group,) = found.groups
    assert (group.kind, group.level, len(group.names), group.views, group.shared) == ("embedding", 0, 5, 5, 4)
    assert group.folded == ("cat of 5",)


def test_figure_4_ops_that_come_to_one():
    def call(m, *xs):
        return sum(bag(x) for bag, x in zip(m.bags, xs, strict=True))

    found, graph = grouped(Model(call, bags=bags(4)), *(ids(3, n) for n in (1, 2, 3, 4)))
    (plan,) = plans(graph)
    assert plan.outputs == tuple(Output("out", (i,)) for i in range(4))
    assert len(calls(graph)[0].args[1]) == 4
    assert found.groups[0].shared == 0


def test_figure_5_ops_that_come_from_one():
    def call(m, x):
        y = x % 7
        return [bag(y) for bag in m.bags]

    found, graph = grouped(Model(lambda m, x: tuple(call(m, x)), bags=bags(4)), ids(3, 2))
    assert len(calls(graph)[0].args[1]) == 1
    assert found.groups[0].shared == 3


@pytest.mark.parametrize("inplace", [False, True])
def test_each_bag_followed_by_its_own_relu(inplace):
    def call(m, x):
        return torch.cat([F.relu(bag(x[:, i : i + 2]), inplace=inplace) for i, bag in enumerate(m.bags)], -1)

    _, graph = grouped(Model(call, bags=bags(4)), ids(3, 6))
    assert targets(graph) == ["grouped_embedding.default", *["getitem"] * 4, *["relu"] * 4, "cat"]


def test_batch_normalisation_between_members_parts_nothing():
    def call(m, x):
        return torch.cat([norm(bag(x)) for bag, norm in zip(m.bags, m.norms, strict=True)], -1)

    norms = nn.ModuleList(nn.BatchNorm1d(DIM) for _ in range(3))
    found, _ = grouped(Model(call, bags=bags(3), norms=norms), ids(3, 6))
    assert len(found.groups[0].names) == 3


def test_wide_and_deep():
    def call(m, x, dense):
        deep = torch.cat([m.mlp(dense), *[e(x[:, i]) for i, e in enumerate(m.deep)]], -1)
        wide = torch.cat([e(x[:, i]) for i, e in enumerate(m.wide)], dim=1)
        return torch.sigmoid(m.head(deep) + wide.sum(1, keepdim=True))

    model = Model(
        call,
        deep=nn.ModuleList(nn.Embedding(ROWS, 3 + i) for i in range(4)),
        wide=nn.ModuleList(nn.Embedding(ROWS, 1) for _ in range(4)),
        mlp=nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 3)),
        head=nn.Linear(3 + 3 + 4 + 5 + 6, 1),
    )
    found, graph = grouped(model, ids(6, 4), torch.rand(6, 5))
    (plan,) = plans(graph)
    assert plan.outputs == (Output("cat", (Extra(0), 0, 1, 2, 3)), Output("cat", (4, 5, 6, 7)))
    assert {table.mode for table in plan.tables} == {"row"}
    assert found.groups[0].folded == ("cat deep of 4 and 1 more", "cat wide of 4")


def test_one_op_for_different_dims_modes_types_and_forms():
    def call(m, x, flat, offsets, factors, narrow):
        return (
            m.sums(x),
            m.means(flat, offsets),
            m.maxima(narrow),
            m.weighted(flat, offsets, per_sample_weights=factors),
            m.last(flat, offsets),
            m.rows(x),
            m.padded(x),
            m.sparse(x),
            m.wide(x),
        )

    model = Model(
        call,
        sums=nn.EmbeddingBag(ROWS, 3, mode="sum"),
        means=nn.EmbeddingBag(ROWS, 4, mode="mean", padding_idx=2),
        maxima=nn.EmbeddingBag(ROWS, 5, mode="max"),
        weighted=nn.EmbeddingBag(ROWS, 6, mode="sum"),
        last=nn.EmbeddingBag(ROWS, 7, mode="sum", include_last_offset=True),
        rows=nn.Embedding(ROWS, 8),
        padded=nn.Embedding(ROWS, 4, padding_idx=3),
        sparse=nn.EmbeddingBag(ROWS, 4, mode="sum", sparse=True),
        wide=nn.EmbeddingBag(ROWS, 4, mode="sum", dtype=torch.float64),
    )
    offsets = torch.tensor([0, 2, 2, 6])
    _, graph = grouped(model, ids(3, 2), ids(6), offsets, torch.rand(6), ids(4, 3, dtype=torch.int32))
    (plan,) = plans(graph)
    assert [t.mode for t in plan.tables] == ["sum", "mean", "max", "sum", "sum", "row", "row", "sum", "sum"]
    assert [t.padding for t in plan.tables] == [None, 2, None, None, None, None, 3, None, None]
    assert [t.offsets for t in plan.tables] == [None, Source(0), None, Source(0), Source(0), *[None] * 4]
    assert plan.tables[3].weights == Source(0)
    assert (plan.tables[4].last, plan.tables[7].sparse) == (True, True)


def test_per_sample_weights_have_gradients():
    def call(m, x):
        return torch.cat([bag(x, per_sample_weights=m.factors) for bag in m.bags], 1)

    model = Model(call, bags=bags(3), factors=nn.Parameter(torch.rand(3, 2)))
    _, graph = grouped(model, ids(3, 2))
    assert [len(argument) for argument in calls(graph)[0].args[:4]] == [3, 1, 0, 1]


def test_one_table_for_several_bags():
    def call(m, x):
        return torch.cat([m.bag(x[:, :2]), m.bag(x[:, 2:]), m.other(x)], 1)

    _, graph = grouped(Model(call, bag=bags(1)[0], other=bags(1)[0]), ids(3, 4))
    weights = calls(graph)[0].args[0]
    assert weights[0] is weights[1]
    assert weights[1] is not weights[2]


def test_ids_computed_from_other_embeddings():
    def call(m, x):
        first = torch.cat([bag(x) for bag in m.first], 1)
        again = (first.detach() * 7).long().abs() % ROWS
        return first, torch.cat([bag(again) for bag in m.second], 1)

    found, graph = grouped(Model(call, first=bags(2), second=bags(3)), ids(3, 2))
    assert [(group.level, len(group.names)) for group in found.groups] == [(0, 2), (1, 3)]
    assert len(calls(graph)) == 2


def test_a_concat_of_two_levels_is_folded_into_the_later():
    def call(m, x):
        first = [bag(x) for bag in m.first]
        again = (first[0].detach() * 7).long().abs() % ROWS
        return torch.cat([first[0], *(bag(again) for bag in m.second), first[1]], 1)

    _, graph = grouped(Model(call, first=bags(2), second=bags(3)), ids(3, 2))
    first, second = plans(graph)
    assert first.outputs == (Output("out", (0,)), Output("out", (1,)))
    assert second.outputs == (Output("cat", (Extra(0), 0, 1, 2, Extra(1))),)


def test_a_stack_is_folded():
    def call(m, x):
        return torch.stack([bag(x) for bag in m.bags], dim=1)

    _, graph = grouped(Model(call, bags=bags(3)), ids(5, 2))
    assert plans(graph)[0].outputs == (Output("stack", (0, 1, 2)),)


def embeddings(count, **options):
    return nn.ModuleList(nn.Embedding(ROWS, DIM, **options) for _ in range(count))


@pytest.mark.parametrize(
    ("view", "columns"),
    [(lambda x, i: x[:, i : i + 1], 3), (lambda x, i: x[:, i].unsqueeze(1), 3), (lambda x, i: x, 1)],
)
def test_single_rows_side_by_side_are_a_stack(view, columns):
    def call(m, x):
        return torch.cat([table(view(x, i)) for i, table in enumerate(m.tables)], 1)

    found, graph = grouped(Model(call, tables=embeddings(3, padding_idx=2)), ids(5, columns))
    (plan,) = plans(graph)
    assert plan.outputs == (Output("stack", (0, 1, 2)),)
    assert [str(table.ids) for table in plan.tables] in (["0@1:0", "0@1:1", "0@1:2"], ["0@1:0"] * 3)
    assert not found.not_folded


@pytest.mark.parametrize("squeezed", [True, False])
def test_rows_that_are_given_a_dimension_are_a_stack(squeezed):
    def call(m, x):
        rows = [table(x[:, i]).unsqueeze(1) for i, table in enumerate(m.tables)]
        both = torch.cat(rows, dim=1)
        return both.flatten(1) if squeezed else both * 2

    _, graph = grouped(Model(call, tables=embeddings(3)), ids(5, 3))
    assert plans(graph)[0].outputs == (Output("stack", (0, 1, 2)),)
    assert targets(graph)[:2] == ["grouped_embedding.default", "getitem"]
    assert len(targets(graph)) == 3


def test_the_same_rows_side_by_side_in_two_ways_are_one_buffer():
    """Factorization machines take (B, n, D) and the layers beside them (B, n * D)."""

    def call(m, x):
        rows = [table(x[:, i : i + 1]) for i, table in enumerate(m.tables)]
        crossed, flat = torch.cat(rows, dim=1), torch.cat(rows, dim=-1)
        return crossed.sum(1).square() - crossed.square().sum(1), flat.flatten(1) * 3

    found, graph = grouped(Model(call, tables=embeddings(3)), ids(5, 3))
    assert plans(graph)[0].outputs == (Output("stack", (0, 1, 2)),)
    assert targets(graph)[:3] == ["grouped_embedding.default", "getitem", "view.default"]
    assert found.groups[0].folded == ("stack crossed of 3, also as flat",)
    again, graph = grouped(
        Model(
            lambda m, x: (
                torch.cat(rows := [bag(x) for bag in m.bags], 1) + 1,
                torch.cat([row.unsqueeze(1) for row in rows], 1) * 3,
            ),
            bags=bags(3),
        ),
        ids(5, 3),
    )
    assert plans(graph)[0].outputs == (Output("stack", (0, 1, 2)),)
    assert not again.not_folded


@pytest.mark.parametrize(
    "rest",
    [
        lambda crossed, flat: (crossed, flat * 2),  # its memory leaves the graph
        lambda crossed, flat: (crossed * 2, flat.flatten(1)),
        lambda crossed, flat: (crossed.relu_() * 2, flat * 2),
        lambda crossed, flat, *rows: (crossed * 2, flat * 2, rows[0] * 2),
        lambda crossed, flat, *rows: (
            crossed * 2,
            flat * 2,
            torch.cat(rows, 1) * 2,
        ),  # whose gradients' sum has an order
    ],
)
def test_two_ways_side_by_side_stay_where_somebody_could_tell(rest):
    def call(m, x):
        rows = [table(x[:, i : i + 1]) for i, table in enumerate(m.tables)]
        crossed, flat = torch.cat(rows, dim=1), torch.cat(rows, dim=-1)
        return rest(crossed, flat, *rows) if "rows" in inspect.signature(rest).parameters else rest(crossed, flat)

    found, graph = grouped(Model(call, tables=embeddings(3)), ids(5, 3))
    assert {output.kind for output in plans(graph)[0].outputs} == {"out"}
    assert len(found.not_folded) >= 2


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (lambda m, x: torch.cat([table(x) for table in m.tables], 1), "it joins along dimension 1"),
        (lambda m, x: torch.cat([table(x[:, 0]).unsqueeze(1) for table in m.tables], 2), "given a dimension"),
        (lambda m, x: torch.cat([*(t(x[:, :1]) for t in m.tables), torch.zeros(5, 1, DIM)], 1), "of the group"),
    ],
)
def test_rows_that_cannot_be_stacked_stay(call, reason):
    found, _ = grouped(Model(call, tables=embeddings(3)), ids(5, 2))
    assert not found.groups[0].folded
    assert found.not_folded
    assert all(re.search(reason, left.reason) for left in found.not_folded)


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (lambda m, x: torch.cat([bag(x) for bag in m.bags], 0), "it joins along dimension 0"),
        (lambda m, x: torch.stack([bag(x) for bag in m.bags], 0), "it joins along dimension 0"),
        (lambda m, x: torch.stack([m.bags[0](x), m.bags[1](x), x[:, :1] + torch.zeros(5, DIM)], 1), "of the group"),
        (lambda m, x: torch.cat([m.bags[0](x), m.bags[1](x), x], 1), "of another type"),
        (lambda m, x: torch.cat([m.bags[0](x), (one := m.bags[1](x)), one], 1), "is used elsewhere too"),
        (lambda m, x: (torch.cat([one := m.bags[0](x), m.bags[1](x)], 1), one), "is used elsewhere too"),
        (lambda m, x: torch.cat([m.bags[0](x), m.bags[1](x), m.bags[2](x).relu()], 1), "after the group"),
    ],
)
def test_a_concat_that_cannot_be_folded_stays(call, reason):
    found, graph = grouped(Model(call, bags=bags(3)), ids(5, 2))
    assert {output.kind for output in plans(graph)[0].outputs} == {"out"}
    (left,) = found.not_folded
    assert reason in left.reason
    assert reason in found.text()


def test_a_concat_on_the_other_side_of_a_change_of_state_stays():
    def call(m, x):
        parts = [bag(x) for bag in m.bags]
        with torch.no_grad():
            return torch.cat(parts, 1) + 1

    found, _ = grouped(Model(call, bags=bags(3)), ids(5, 2))
    assert found.not_folded[0].reason == "_set_grad_enabled comes after the group"


def test_an_extra_part_that_is_changed_before_the_concat():
    def call(m, x, dense):
        parts = [m.bags[0](x)]
        y = dense * 2
        parts.append(m.bags[1](x))
        y.add_(1)
        return torch.cat([*parts, y], 1)

    found, graph = grouped(Model(call, bags=bags(2)), ids(5, 2), torch.rand(5, 3))
    assert found.groups[0].folded
    assert targets(graph) == ["mul", "add_", "grouped_embedding.default", "getitem"]


def test_a_table_that_the_model_changes_in_its_forward_pass():
    def call(m, x):
        one, two = m.bags[0](x), m.bags[1](x)
        with torch.no_grad():
            m.bags[0].weight.mul_(2)
        return one, two, m.bags[0](x).detach(), m.bags[1](x).detach()

    model = Model(call, bags=bags(2)).requires_grad_(False)
    found, _ = grouped(model, ids(5, 2))
    assert [len(group.names) for group in found.groups] == [2, 2]


def test_batch_sizes_that_vary_need_no_new_graph():
    def call(m, x):
        return torch.cat([bag(part) for bag, part in zip(m.bags, x.split(2, 1), strict=True)], 1)

    graphs = []

    def backend(graph, _):
        group_graph(graph, Settings())
        graphs.append(graph)
        return graph.forward

    torch._dynamo.reset()
    model = Model(call, bags=bags(3))
    compiled = torch.compile(model, backend=backend)
    for batch in (2, 3, 17):
        x = ids(batch, 6)
        torch._dynamo.mark_dynamic(x, 0)
        torch.testing.assert_close(compiled(x), model(x))
    (graph,) = graphs
    assert [table.ids for table in plans(graph)[0].tables] == [Source(0, View(1, 2 * i, 2)) for i in range(3)]


def test_new_nodes_have_fake_results_and_old_names_stay():
    def call(m, x):
        return torch.cat([m.bags[0](x), m.bags[1](x)], 1), m.bags[2](x)

    graph = traced(Model(call, bags=bags(3)), ids(5, 2))
    before = {node.name for node in graph.graph.nodes}
    group_graph(graph, Settings())
    (node,) = calls(graph)
    assert [fake.shape for fake in node.meta["example_value"]] == [(5, 2 * DIM), (5, DIM)]
    assert [user.meta["example_value"].shape for user in node.users] == [(5, 2 * DIM), (5, DIM)]
    assert {node.name for node in graph.graph.nodes} - before == {"grouped_embedding"}


def test_other_ops_run_side_by_side_when_asked():
    def call(m, x, y):
        return tuple(torch.tanh(head(v)) for head, v in zip(m.heads, (x, y, x), strict=True))

    def head():
        return nn.Sequential(nn.Linear(6, 3), nn.LayerNorm(3), nn.ReLU(), nn.GELU(), nn.SiLU(), nn.Sigmoid())

    model = Model(call, heads=nn.ModuleList(head() for _ in range(3)))
    found, graph = grouped(model, torch.rand(4, 6), torch.rand(4, 6), ops=KNOWN_OPS)
    kinds = ["linear", "layer_norm", "relu", "gelu", "silu", "sigmoid", "tanh"]
    assert [group.kind for group in found.groups] == [f"aten.{kind}" for kind in kinds]
    nodes = calls(graph, "side_by_side")
    assert nodes[0].args[1] == "aten::linear(%0, %1, %2)\naten::linear(%3, %4, %5)\naten::linear(%0, %6, %7)\n"
    assert found.groups[0].shared == 1
    assert not grouped(model, torch.rand(4, 6), torch.rand(4, 6))[0].groups


def test_subgraphs_are_grouped_too():
    def call(m, x):
        return torch.utils.checkpoint.checkpoint(lambda y: sum(bag(y) for bag in m.bags), x, use_reentrant=False)

    model = Model(call, bags=bags(3))
    graph = traced(model, ids(3, 2))
    found = group_graph(graph, Settings())
    assert [len(group.names) for group in found.groups] == [3]
    assert not calls(graph)


def test_a_graph_with_which_something_is_wrong_stays_as_it_was(monkeypatch):
    def call(m, x):
        return torch.cat([bag(x) for bag in m.bags], 1)

    graph = traced(Model(call, bags=bags(3)), ids(5, 2))
    before = graph.code
    monkeypatch.setattr(graph_pass, "rewritten", lambda *_: 1 / 0)
    found = group_graph(graph, Settings())
    assert found.error == "ZeroDivisionError: division by zero"
    assert "Left as it was: ZeroDivisionError" in found.text()
    assert graph.code == before


def test_reports_are_kept_and_told():
    report.clear()
    assert "no new graph" in report.report()

    def call(m, x):
        hidden = F.embedding(x, m.bags[0].weight, scale_grad_by_freq=True).sum(1)
        return hidden + sum(bag(part) for bag, part in zip(m.bags, x.chunk(3, 1), strict=True))

    grouped(lambda x: x + 1, ids(2))
    assert report.reports() == ()
    found, _ = grouped(Model(call, bags=bags(3)), ids(5, 6))
    assert report.reports() == (found,)
    assert report.report() == (
        "Parallel OP, graph 1: 3 embeddings at level 0 on cpu became one op, slicing 3 inputs by itself, "
        "2 inputs fewer since shared ones are passed once (bags.0.weight, bags.1.weight, bags.2.weight). "
        "Not grouped: 1 aten.embedding, scale_grad_by_freq (hidden)."
    ).replace("(hidden)", f"({found.refused[0].name})")
    report.clear()
    assert report.reports() == ()

"""Which calls are members, and why others are not."""

import pytest
import torch
import torch.nn.functional as F

from bench_engine.kernels.parallel_op.graph.members import Lookup, Member, Refusal, member_of
from bench_engine.kernels.parallel_op.graph.nodes import called
from bench_engine.kernels.parallel_op.plan import Branch, Input
from bench_engine.kernels.parallel_op.settings import DEFAULT_OPS, KNOWN_OPS
from tests.kernels.parallel_op.tracing import traced

WEIGHT = torch.rand(9, 4)
IDS = torch.randint(9, (3, 2))
FLAT, OFFSETS = IDS.view(-1), torch.tensor([0, 1, 4])
FLOATS = torch.rand(3, 4)
aten = torch.ops.aten


def found(function, *inputs, ops=KNOWN_OPS, **options):
    graph = traced(function, *inputs)
    results = [member_of(node, ops, **options) for node in graph.graph.nodes]
    (result,) = [result for result in results if result is not None]
    return result


def lookup(function, *inputs, **options):
    member = found(function, *inputs, **options)
    assert isinstance(member, Member), member
    work = member.work
    assert isinstance(work, Lookup)
    return (work.weight.name, work.ids.name, work.mode, work.padding, work.last, work.sparse)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda i, w: F.embedding(i, w), ("row", None, False, False)),
        (lambda i, w: F.embedding(i, w, padding_idx=-2, sparse=True), ("row", 7, False, True)),
        (lambda i, w: torch.embedding(w, i), ("row", None, False, False)),
        (lambda i, w: torch.embedding(w, i, 3), ("row", 3, False, False)),
        (lambda i, w: aten.embedding.default(w, i, 0), ("row", 0, False, False)),
        (lambda i, w: F.embedding_bag(i, w), ("mean", None, False, False)),
        (lambda i, w: F.embedding_bag(i, w, mode="sum", padding_idx=-9, sparse=True), ("sum", 0, False, True)),
        (lambda i, w: F.embedding_bag(i, w, mode="max"), ("max", None, False, False)),
    ],
)
def test_embeddings_of_whole_tensors(function, expected):
    assert lookup(function, IDS, WEIGHT) == ("l_w_", "l_i_", *expected)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda i, w, o: F.embedding_bag(i, w, o, include_last_offset=True), ("mean", None, True, False)),
        (lambda i, w, o: aten.embedding_bag.default(w, i, o)[0], ("sum", None, False, False)),
        (
            lambda i, w, o: aten.embedding_bag.padding_idx(w, i, o, False, 1, True, None, False, -1)[0],
            ("mean", 8, False, True),
        ),
        (lambda i, w, o: aten._embedding_bag.default(w, i, o, False, 2)[0], ("max", None, False, False)),
        (lambda i, w, o: aten._embedding_bag_forward_only.default(w, i, o)[0], ("sum", None, False, False)),
        (lambda i, w, o: torch.embedding_bag(w, i, o)[0], ("sum", None, False, False)),
    ],
)
def test_bags_with_offsets(function, expected):
    assert lookup(function, FLAT, WEIGHT, OFFSETS) == ("l_w_", "l_i_", *expected)


def test_the_result_of_a_call_that_returns_a_tuple():
    member = found(lambda i, w, o: aten.embedding_bag.default(w, i, o)[0], FLAT, WEIGHT, OFFSETS)
    assert called(member.node) == "embedding_bag"
    assert member.value.args == (member.node, 0)


@pytest.mark.parametrize(
    ("function", "inputs", "reason"),
    [
        (lambda i, w: F.embedding(i, w, scale_grad_by_freq=True), (IDS, WEIGHT), "scale_grad_by_freq"),
        (lambda i, w: F.embedding_bag(i, w, scale_grad_by_freq=True), (IDS, WEIGHT), "scale_grad_by_freq"),
        (lambda i, w: F.embedding(i, w), (IDS, WEIGHT.to(torch.complex64)), "weights of type complex64"),
        (lambda i, w, o: aten.embedding_bag.default(w, i, o)[0:2], (FLAT, WEIGHT, OFFSETS), "more than its first"),
        (lambda i, w, o: aten.embedding_bag.default(w, i, o)[1], (FLAT, WEIGHT, OFFSETS), "more than its first"),
        (lambda i, w: F.embedding_bag(i, w, include_last_offset=True), (IDS, WEIGHT), "include_last_offset without"),
        (lambda x: F.relu(x, inplace=True), (FLOATS.clone(),), "in place"),
        (lambda x: F.silu(x, True), (FLOATS.clone(),), "in place"),
        (lambda x: torch.relu(x), (torch.arange(3),), "an input of type int64"),
        (lambda x, w: F.linear(x, w), (torch.rand(2, 512), torch.rand(129, 512)), "over 65536 weights"),
    ],
)
def test_refusals(function, inputs, reason):
    result = found(function, *inputs)
    assert isinstance(result, Refusal)
    assert reason in result.reason


def test_max_norm_is_refused():
    graph = torch.fx.Graph()
    ids = graph.placeholder("ids")
    weight = graph.placeholder("weight")
    for call in (F.embedding, F.embedding_bag):
        node = graph.call_function(call, (ids, weight), {"max_norm": 1.0})
        assert member_of(node, DEFAULT_OPS).reason == "max_norm changes the weight in the forward pass"


def test_unknown_shapes_and_arguments_that_vary_are_refused():
    graph = torch.fx.Graph()
    ids, weight, flag = (graph.placeholder(name) for name in ("ids", "weight", "flag"))
    node = graph.call_function(F.embedding, (ids, weight))
    assert member_of(node, DEFAULT_OPS).reason == "the weight: shape and type are not known"
    for placeholder, value in ((ids, IDS), (weight, WEIGHT)):
        placeholder.meta["example_value"] = value
    for name, given in (("padding_idx", flag), ("sparse", flag), ("scale_grad_by_freq", flag)):
        node = graph.call_function(F.embedding, (ids, weight), {name: given})
        assert member_of(node, DEFAULT_OPS).reason == f"{name} is no constant"
    node = graph.call_function(F.embedding_bag, (ids, weight), {"mode": flag})
    assert member_of(node, DEFAULT_OPS).reason == "mode flag"


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"weight": WEIGHT.to("meta")}, "on device meta"),
        ({"ids": IDS.to("meta")}, "ids on meta, the weight on cpu"),
        ({"ids": IDS.short()}, "ids of type int16"),
        ({"ids": FLAT}, "1-D ids without offsets"),
        ({"ids": IDS[:, :0]}, "bags without ids"),
        ({"weight": WEIGHT.to_sparse()}, "the weight: a sparse_coo tensor"),
        ({"weight": WEIGHT[0]}, "the weight is no matrix"),
        ({"offsets": OFFSETS}, "2-D ids with 1-D offsets"),
        ({"ids": FLAT, "offsets": OFFSETS.float()}, "offsets of type float32"),
        ({"per_sample_weights": FLOATS[:, :2].double()}, "per_sample_weights of type float64"),
        ({"per_sample_weights": FLOATS[0]}, "per_sample_weights of another shape than the ids"),
    ],
)
def test_refused_inputs(values, reason):
    graph = torch.fx.Graph()
    nodes = {}
    for name, value in ({"ids": IDS, "weight": WEIGHT} | values).items():
        nodes[name] = graph.placeholder(name)
        nodes[name].meta["example_value"] = value
    kwargs = {name: node for name, node in nodes.items() if name in ("offsets", "per_sample_weights")}
    node = graph.call_function(F.embedding_bag, (nodes["ids"], nodes["weight"]), {"mode": "sum", **kwargs})
    node.meta["example_value"] = WEIGHT[:3]
    assert member_of(node, DEFAULT_OPS).reason == reason


def test_inductor_keeps_plain_embeddings_unless_asked():
    def embedding(i, w):
        return F.embedding(i, w)

    assert "left to Inductor" in found(embedding, IDS, WEIGHT, for_inductor=True).reason
    assert isinstance(found(embedding, IDS, WEIGHT, for_inductor=True, asked={"aten.embedding"}), Member)
    assert isinstance(found(lambda i, w: F.embedding_bag(i, w), IDS, WEIGHT, for_inductor=True), Member)
    refused = found(lambda i, w: F.embedding_bag(i, w, sparse=True), IDS, WEIGHT, for_inductor=True)
    assert refused.reason == "sparse gradients, which Inductor does not know"


def test_only_ops_of_the_whitelist_are_looked_at():
    graph = traced(lambda i, w: torch.relu(F.embedding(i, w)), IDS, WEIGHT)
    assert [member_of(node, {"aten.linear"}) for node in graph.graph.nodes] == [None] * len(graph.graph.nodes)


@pytest.mark.parametrize(
    ("function", "branch"),
    [
        (lambda x: x.relu(), Branch("aten::relu", (Input(0),))),
        (lambda x: F.relu(x), Branch("aten::relu", (Input(0),))),
        (lambda x: torch.sigmoid(x), Branch("aten::sigmoid", (Input(0),))),
        (lambda x: x.tanh(), Branch("aten::tanh", (Input(0),))),
        (lambda x: F.silu(x), Branch("aten::silu", (Input(0),))),
        (lambda x: F.gelu(x), Branch("aten::gelu", (Input(0), "none"))),
        (lambda x: F.gelu(x, approximate="tanh"), Branch("aten::gelu", (Input(0), "tanh"))),
        (lambda x: F.layer_norm(x, (4,)), Branch("aten::layer_norm", (Input(0), [4], None, None, 1e-05))),
        (lambda x: aten.native_layer_norm.default(x, [4], x[0], None, 1e-3)[0],
         Branch("aten::layer_norm", (Input(0), [4], Input(1), None, 1e-3))),
        (lambda x: F.linear(x, x), Branch("aten::linear", (Input(0), Input(1), None))),
        (lambda x: F.linear(x, x, x[:, 0]), Branch("aten::linear", (Input(0), Input(1), Input(2)))),
    ],
)  # fmt: skip
def test_other_ops(function, branch):
    member = found(function, FLOATS)
    assert member.work == branch
    assert member.kind == branch.op.replace("::", ".")
    assert len(member.inputs) == sum(isinstance(argument, Input) for argument in branch.arguments)


def test_a_linear_layer_whose_type_autocast_changes_is_refused():
    def call(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return F.linear(x, x)

    assert found(call, FLOATS).reason == "autocast changes its type"

"""The compiled grouped embedding against the oracle: results, gradients, refusals, and the choice among its ways."""

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bench_engine.kernels.parallel_op import ops
from bench_engine.kernels.parallel_op.grouped_embedding import GroupedEmbeddingBag
from bench_engine.kernels.parallel_op.plan import Extra, Mode, Output, Plan, Source, Table, View
from tests.kernels.parallel_op import oracle

Call = tuple[list[Tensor], list[Tensor], list[Tensor], list[Tensor], list[Tensor], str]


@pytest.fixture(autouse=True)
def _ops(built_kernels: None) -> Iterator[None]:
    ops.load()
    threads = torch.get_num_threads()
    configure()
    yield
    torch.set_num_threads(threads)
    configure()


def configure(schedule: str = "auto", threads: int = 0, file: str = "") -> None:
    torch.ops.mirror.parallel_op_configure(schedule, threads, False, file)


def grouped(*call: Any) -> list[Tensor]:
    return torch.ops.mirror.grouped_embedding.default(*call)


def one_table(weight: Tensor, ids: Tensor, **fields: Any) -> Call:
    offsets = fields.pop("offsets", None)
    samples = fields.pop("samples", None)
    table = Table(
        fields.pop("name", "t"),
        Source(0),
        None if offsets is None else Source(0),
        None if samples is None else Source(0),
        **fields,
    )
    plan = Plan((table,), (Output("out", (0,)),)).text()
    return [weight], [ids], [] if offsets is None else [offsets], [] if samples is None else [samples], [], plan


def random_call(rng: random.Random) -> Call:
    """A call with tables of all kinds."""
    bags = rng.choice([0, 1, 2, 7, 33])
    dtype = rng.choice([torch.float32, torch.float64])
    weights, ids, offsets, samples, extras, tables = [], [], [], [], [], []
    for t in range(rng.randint(1, 6)):
        rows, dim = rng.choice([1, 5, 300]), rng.choice([1, 3, 8, 16, 20, 64, 72, 136])
        mode = rng.choice(["sum", "mean", "max", "row"])
        index = rng.choice([torch.int32, torch.int64])
        weight = torch.randn(rows, dim, dtype=dtype)
        weights.append(rng.choice([weight, weight.t().contiguous().t(), torch.cat([weight, weight], 1)[:, :dim]]))
        padding = rng.choice([None, None, rng.randrange(rows)])
        fields: dict[str, Any] = {"mode": mode, "padding": padding}
        if mode == "row":
            source = torch.randint(0, rows, (bags,), dtype=index)
        elif rng.random() < 0.5:
            size = rng.choice([1, 3, 40])
            source = torch.randint(0, rows, (bags, size), dtype=index)
        else:
            sizes = [rng.choice([0, 1, 2, 9]) for _ in range(bags)]
            starts = [sum(sizes[:b]) for b in range(bags)]
            fields["last"] = bags > 0 and rng.random() < 0.5
            fields["offsets"] = Source(len(offsets))
            offsets.append(torch.tensor([*starts, sum(sizes)] if fields["last"] else starts, dtype=torch.int64))
            source = torch.randint(0, rows, (sum(sizes),), dtype=index)
        if mode == "sum" and rng.random() < 0.3:
            fields["weights"] = Source(len(samples))
            samples.append(torch.randn(source.shape, dtype=dtype))
        place = Source(len(ids))
        if rng.random() < 0.5:  # as a slice of something larger
            before, after = rng.randint(0, 3), rng.randint(0, 3)
            dim_of = rng.randrange(source.dim())
            pads = [
                torch.zeros([n if d == dim_of else s for d, s in enumerate(source.shape)], dtype=index)
                for n in (before, after)
            ]
            place = Source(len(ids), View(dim_of, before, source.size(dim_of)))
            source = torch.cat([pads[0], source, pads[1]], dim_of)
        ids.append(source)
        tables.append(Table(f"t{t}", place, **fields))
    parts: list[int | Extra] = list(range(len(tables)))
    rng.shuffle(parts)
    cut = rng.randint(0, len(parts))
    outputs = [Output("out", (part,)) for part in parts[:cut]]
    if parts[cut:]:
        extras.append(torch.randn(bags, rng.choice([1, 4]), dtype=dtype))
        joined = [*parts[cut:], Extra(0)]
        rng.shuffle(joined)
        outputs.append(Output("cat", tuple(joined)))
    return weights, ids, offsets, samples, extras, Plan(tuple(tables), tuple(outputs)).text()


@pytest.mark.parametrize("seed", range(60))
def test_any_call_gives_what_torch_gives(seed: int) -> None:
    rng = random.Random(seed)
    torch.manual_seed(seed)
    torch.set_num_threads(rng.choice([1, 2]))
    configure(rng.choice(["auto", "table", "batch", "flat"]))
    call = random_call(rng)
    floats = [*call[0], *call[3], *call[4]]
    for tensor in floats:
        tensor.requires_grad_()
    expected = oracle.grouped_embedding(*call)
    grads = [torch.randn_like(output) for output in expected]
    wanted = torch.autograd.grad(expected, floats, grads)
    for _ in range(8):  # in turns, by all ways
        found = grouped(*call)
        for a, b in zip(found, expected, strict=True):
            torch.testing.assert_close(a, b)
    for a, b in zip(torch.autograd.grad(found, floats, grads), wanted, strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags_of_no_ids_are_zeros(mode: str) -> None:
    weight = torch.randn(5, 20, requires_grad=True)
    call = one_table(weight, torch.zeros(4, 0, dtype=torch.int64), mode=mode)
    for _ in range(12):
        (found,) = grouped(*call)
        assert torch.equal(found, torch.zeros(4, 20))
        assert not found.signbit().any()
    found.sum().backward()
    assert weight.grad is not None
    assert not weight.grad.any()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("dim", [16, 20])
def test_half_precision_is_added_up_in_float(dtype: torch.dtype, dim: int) -> None:
    weight = torch.randn(100, dim).to(dtype)
    ids = torch.randint(0, 100, (9, 50))
    (found,) = grouped(*one_table(weight, ids))
    assert found.dtype == dtype
    torch.testing.assert_close(found.float(), F.embedding_bag(ids, weight.float(), mode="sum"), rtol=1e-2, atol=1e-2)


def test_rows_are_the_very_bits_of_the_table() -> None:
    weight = torch.tensor([[0.0, -0.0, float("nan"), float("inf")] * 5, [-0.0] * 20])
    for ids in (torch.tensor([1, 0, 1]), torch.tensor([[[1], [0]]]), torch.tensor(0)):
        (found,) = grouped(*one_table(weight, ids, mode="row"))
        expected = F.embedding(ids, weight)
        assert found.shape == expected.shape
        assert torch.equal(found.view(torch.int32), expected.view(torch.int32))


def test_tables_of_several_types_in_one_call() -> None:
    types = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
    weights = [torch.randn(10, 16).to(dtype) for dtype in types]
    ids = torch.randint(0, 10, (4, 3))
    plan = Plan(tuple(Table(f"t{t}", Source(0)) for t in range(4)), tuple(Output("out", (t,)) for t in range(4)))
    for found, weight in zip(grouped(weights, [ids], [], [], [], plan.text()), weights, strict=True):
        torch.testing.assert_close(found, F.embedding_bag(ids, weight, mode="sum"), rtol=1e-2, atol=1e-2)


def test_stacked_tables() -> None:
    weights = [torch.randn(10, 8, requires_grad=True) for _ in range(3)]
    ids = [torch.randint(0, 10, (5, 2)) for _ in range(3)]
    tables = tuple(Table(f"t{t}", Source(t)) for t in range(3))
    call: Call = (weights, ids, [], [], [], Plan(tables, (Output("stack", (2, 0, 1)),)).text())
    (found,), (expected,) = grouped(*call), oracle.grouped_embedding(*call)
    torch.testing.assert_close(found, expected)
    gradient = torch.randn(5, 3, 8)
    for a, b in zip(
        torch.autograd.grad(found, weights, gradient), torch.autograd.grad(expected, weights, gradient), strict=True
    ):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_an_expanded_gradient(mode: str) -> None:
    weight = torch.randn(10, 8, requires_grad=True)
    ids = torch.randint(0, 10, (5, 3))
    grouped(*one_table(weight, ids, mode=mode))[0].sum().backward()
    expected = torch.autograd.grad(F.embedding_bag(ids, weight, mode=mode).sum(), weight)[0]
    torch.testing.assert_close(weight.grad, expected)


def test_sparse_gradients() -> None:
    weight = torch.randn(10, 8, requires_grad=True)
    ids = torch.tensor([[1, 1], [3, 9]])
    grouped(*one_table(weight, ids, sparse=True, padding=9))[0].sum().backward()
    assert weight.grad is not None
    assert weight.grad.is_sparse
    expected = torch.autograd.grad(F.embedding_bag(ids, weight, mode="sum", padding_idx=9).sum(), weight)[0]
    torch.testing.assert_close(weight.grad.to_dense(), expected)


def two_outputs(weights: list[Tensor], ids: Tensor, samples: Tensor | None = None, mode: Any = "sum") -> list[Tensor]:
    shared = None if samples is None else Source(0)
    tables = (Table("a", Source(0), weights=shared, mode=mode), Table("b", Source(0), weights=shared))
    plan = Plan(tables, (Output("out", (0,)), Output("out", (1,)))).text()
    return grouped(weights, [ids], [], [] if samples is None else [samples], [], plan)


def test_an_output_that_the_loss_does_not_use_gives_no_gradient() -> None:
    weights = [torch.randn(10, 8, requires_grad=True) for _ in range(2)]
    samples = torch.randn(5, 3, requires_grad=True)
    ids = torch.randint(0, 10, (5, 3))
    two_outputs(weights, ids, samples)[0].sum().backward()
    assert weights[1].grad is None
    inputs = (weights[0], samples)
    expected = torch.autograd.grad(
        F.embedding_bag(ids, weights[0], mode="sum", per_sample_weights=samples).sum(), inputs
    )
    for tensor, wanted in zip(inputs, expected, strict=True):
        torch.testing.assert_close(tensor.grad, wanted)


def test_the_gradient_of_the_gradient_of_two_tables() -> None:
    weights = [torch.randn(6, d, dtype=torch.double, requires_grad=True) for d in (2, 3)]
    ids = torch.randint(0, 6, (4, 2))
    assert torch.autograd.gradgradcheck(lambda *w: tuple(two_outputs(list(w), ids)), weights)
    assert torch.autograd.gradgradcheck(lambda *w: two_outputs(list(w), ids)[1], weights)
    mixed = [torch.randn(6, 2, requires_grad=True), torch.randn(6, 2).bfloat16().requires_grad_()]
    out = two_outputs(mixed, ids)[0]
    (gradient,) = torch.autograd.grad(out.square().sum(), mixed[0], create_graph=True)
    gradient.sum().backward()
    assert mixed[0].grad is not None


def test_only_tables_that_backward_reads_may_not_change() -> None:
    weights = [torch.randn(10, 8, requires_grad=True) for _ in range(2)]
    ids = torch.randint(0, 10, (5, 3))
    for changed, refused in ((1, False), (0, True)):  # the maximum's table is read
        outs = two_outputs(weights, ids, mode="max")
        with torch.no_grad():
            weights[changed].mul_(2)
        if refused:
            with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                torch.cat(outs).sum().backward()
        else:
            torch.cat(outs).sum().backward()


def test_sliced_ids_may_change_between_forward_and_backward() -> None:
    """As with torch's own op, which copies a slice."""
    weight, ids = torch.randn(10, 8, requires_grad=True), torch.randint(0, 10, (5, 4))
    expected = torch.autograd.grad(F.embedding_bag(ids[:, 1:3], weight, mode="sum").sum(), weight)[0]
    plan = Plan((Table("t", Source(0, View(1, 1, 2))),), (Output("out", (0,)),)).text()
    (out,) = grouped([weight], [ids], [], [], [], plan)
    ids.zero_()
    out.sum().backward()
    torch.testing.assert_close(weight.grad, expected)


def test_forward_mode_is_refused_and_not_lost() -> None:
    weight, ids = torch.randn(10, 8), torch.randint(0, 10, (5, 3))
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(weight, torch.ones_like(weight))
        with pytest.raises(RuntimeError, match="jvp is not implemented"):
            grouped(*one_table(dual, ids))


def test_deterministic_algorithms_take_one_way() -> None:
    call = one_table(torch.randn(100, 16).bfloat16(), torch.randint(0, 100, (9, 50)))
    torch.use_deterministic_algorithms(True)
    try:
        first = grouped(*call)[0]
        assert all(torch.equal(first, grouped(*call)[0]) for _ in range(20))
        assert torch.ops.mirror.parallel_op_choices() == ""
    finally:
        torch.use_deterministic_algorithms(False)


def test_a_frozen_table_has_no_gradient() -> None:
    weights = [torch.randn(10, 8), torch.randn(10, 8, requires_grad=True)]
    ids = torch.randint(0, 10, (5, 3))
    plan = Plan((Table("a", Source(0)), Table("b", Source(0))), (Output("cat", (0, 1)),)).text()
    grouped(weights, [ids], [], [], [], plan)[0].sum().backward()
    assert weights[0].grad is None
    assert weights[1].grad is not None


@pytest.mark.parametrize(("rows", "batch"), [(40_000, 2), (600_000, 2), (600_000, 40_000)])
def test_gradients_of_large_tables(rows: int, batch: int) -> None:
    """Their memory is mapped, in small or huge pages."""
    weight = torch.zeros(rows, 16, requires_grad=True)
    ids = torch.randint(0, rows, (batch, 1))
    gradient = torch.randn(batch, 16)
    grouped(*one_table(weight, ids))[0].backward(gradient)
    expected = torch.zeros(rows, 16).index_add(0, ids[:, 0], gradient)
    torch.testing.assert_close(weight.grad, expected)
    weight.grad.add_(1)  # it is memory like any other
    assert weight.grad.clone().sum() > 0


def test_gradients_do_not_depend_on_the_number_of_threads() -> None:
    weight = torch.randn(50, 16, requires_grad=True)
    call = one_table(weight, torch.randint(0, 50, (3000, 20)), mode="mean")
    gradient = torch.randn(3000, 16)
    found = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        found.append(torch.autograd.grad(grouped(*call), weight, gradient)[0])
    assert torch.equal(*found)


def test_gradcheck_and_opcheck() -> None:
    weights = [torch.randn(6, d, dtype=torch.double, requires_grad=True) for d in (3, 8)]
    samples = torch.randn(4, 2, dtype=torch.double, requires_grad=True)
    extra = torch.randn(4, 2, dtype=torch.double, requires_grad=True)
    ids = torch.randint(0, 6, (4, 2))
    tables = (Table("a", Source(0), mode="mean"), Table("b", Source(0), weights=Source(0)))
    plan = Plan(tables, (Output("cat", (0, Extra(0), 1)),)).text()

    def call(a: Tensor, b: Tensor, s: Tensor, x: Tensor) -> Tensor:
        return grouped([a, b], [ids], [], [s], [x], plan)[0]

    assert torch.autograd.gradcheck(call, (*weights, samples, extra))
    torch.library.opcheck(torch.ops.mirror.grouped_embedding.default, (weights, [ids], [], [samples], [extra], plan))
    linear = one_table(weights[0], ids, mode="mean")
    assert torch.autograd.gradgradcheck(lambda w: grouped([w], *linear[1:])[0], (weights[0],))


def test_the_gradient_of_a_maximum_has_no_gradient() -> None:
    weight = torch.randn(6, 3, requires_grad=True)
    (out,) = grouped(*one_table(weight, torch.randint(0, 6, (4, 2)), mode="max"))
    (gradient,) = torch.autograd.grad(out.square().sum(), weight, create_graph=True)
    with pytest.raises(
        NotImplementedError, match="without a gradient of per_sample_weights: set MIRROR_PARALLEL_OP_OPS"
    ):
        gradient.sum().backward()


def test_a_table_may_change_between_forward_and_backward() -> None:
    """As with torch's own embedding bag, whose backward does not read the table either."""
    weight = torch.randn(6, 3, requires_grad=True)
    (out,) = grouped(*one_table(weight, torch.randint(0, 6, (4, 2))))
    with torch.no_grad():
        weight.mul_(2)
    out.sum().backward()
    assert weight.grad is not None


@pytest.mark.parametrize("bad", [-1, 10, 2**40])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("form", ["bags", "offsets", "row", "column", "strided"])
def test_an_id_out_of_range_names_the_table(bad: int, threads: int, form: str) -> None:
    torch.set_num_threads(threads)
    ids = torch.randint(0, 10, (3000, 4))
    ids[2000, 1] = bad
    position = 8001
    fields: dict[str, Any] = {"name": "deep.3.weight"}
    if form == "offsets":
        ids = ids.reshape(-1)
        fields["offsets"] = torch.arange(0, 12000, 4)
    elif form == "row":
        ids, fields["mode"] = ids.reshape(-1), "row"
    elif form == "column":
        ids, position = ids[:, 1:2], 2000
    elif form == "strided":
        ids, position = ids[:, 1:3], 4000
    call = one_table(torch.randn(10, 16), ids, **fields)
    for _ in range(20):  # whatever way is taken
        with pytest.raises(
            IndexError, match=f"table deep.3.weight: index {bad} at position {position} is out of range"
        ):
            grouped(*call)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"offsets": torch.tensor([1, 2])}, "offsets must start at 0"),
        ({"offsets": torch.tensor([0, 5, 3])}, "runs from 5 to 3"),
        ({"offsets": torch.tensor([0, 100])}, "must start at 0, never fall and not pass the 8 ids"),
        ({"offsets": torch.tensor([0.0])}, "offsets must be int32 or int64"),
        ({"offsets": torch.tensor([], dtype=torch.int64), "last": True}, "at least one value"),
        ({"samples": torch.ones(3)}, "must have the shape of the ids"),
        ({"samples": torch.ones(8, dtype=torch.float64)}, "must have the type of the table"),
    ],
)
def test_wrong_arguments_are_refused(fields: dict[str, Any], sentence: str) -> None:
    ids = torch.randint(0, 10, (8,)) if "offsets" in fields else torch.randint(0, 10, (4, 2))
    with pytest.raises((ValueError, TypeError), match=sentence):
        grouped(*one_table(torch.randn(10, 4), ids, **fields))


def test_wrong_tables_and_plans_are_refused() -> None:
    weight, ids = torch.randn(10, 4), torch.randint(0, 10, (4, 2))
    with pytest.raises(TypeError, match="table t must be float32, float64, bfloat16 or float16, not Int"):
        grouped(*one_table(weight.int(), ids))
    with pytest.raises(TypeError, match="ids must be int32 or int64"):
        grouped(*one_table(weight, ids.float()))
    with pytest.raises(ValueError, match=r"must be \(bags, ids per bag\)"):
        grouped(*one_table(weight, ids[0]))
    with pytest.raises(ValueError, match="the plan knows 1 tables but the call has 2"):
        grouped([weight, weight], *one_table(weight, ids)[1:])
    for text in ("", "table t ids=0\nout 0\n", "nonsense\n", "table t ids=0 offsets=- weights=- mode=sum padding=-"):
        with pytest.raises(ValueError, match="plan"):
            grouped([weight], [ids], [], [], [], text)
    beyond = Plan((Table("t", Source(0, View(1, 1, 2))),), (Output("out", (0,)),)).text()
    with pytest.raises(ValueError, match="lies outside a tensor of shape"):
        grouped([weight], [ids], [], [], [], beyond)


def test_the_fastest_way_is_chosen_kept_and_replayed(tmp_path: Path) -> None:
    file = tmp_path / "choices.txt"
    call = one_table(torch.randn(1000, 16), torch.randint(0, 1000, (64, 1)))

    def chosen() -> tuple[str, int, list[str]]:
        (line,) = torch.ops.mirror.parallel_op_choices().splitlines()
        _, way, calls, *times = line.split("\t")
        return way, int(calls), times

    configure(file=str(file))
    for _ in range(3):
        grouped(*call)
    assert chosen()[0] == "-"
    assert not file.exists()
    for _ in range(100):
        grouped(*call)
    way, calls, times = chosen()
    assert way != "-"
    assert calls == 103
    assert len(times) > 1
    assert all(float(time.split("=")[1]) > 0 for time in times)

    configure(file=str(file))  # as a new process would begin
    grouped(*call)
    assert chosen() == (way, 1, [])

    key = file.read_text().split("\t")[0]
    file.write_text(f"{key}\tuntouched\n{key} cut off in the mid")
    configure(file=str(file))
    grouped(*call)
    assert chosen()[0] == "untouched"
    file.write_text(f"{key}\ta way of another version\n")
    configure(file=str(file))
    grouped(*call)
    assert chosen()[0] == "-"


def test_a_schedule_that_is_asked_for_is_the_only_one_tried() -> None:
    torch.set_num_threads(2)
    configure("table")
    call = one_table(torch.randn(1000, 16), torch.randint(0, 1000, (3000, 10)))
    for _ in range(30):
        grouped(*call)
    text = torch.ops.mirror.parallel_op_choices()
    assert set(re.findall(r"fused by (\w+)", text)) == {"table"}
    with pytest.raises(ValueError, match="schedule must be auto, table, batch or flat, not 'tables'"):
        configure("tables")


def test_the_module() -> None:
    tables = [torch.nn.Parameter(torch.randn(10, d)) for d in (4, 8)]
    ids = [torch.randint(0, 10, (5, 2)), torch.randint(0, 10, (5, 3))]
    module = GroupedEmbeddingBag(tables, mode=["sum", "mean"])
    expected = [F.embedding_bag(i, w, mode=m) for i, w, m in zip(ids, tables, ("sum", "mean"), strict=True)]
    torch.testing.assert_close(module(ids), torch.cat(expected, 1))
    flat = [i.reshape(-1) for i in ids]
    starts = [torch.arange(5) * i.size(1) for i in ids]
    torch.testing.assert_close(module(flat, starts), torch.cat(expected, 1))
    for a, b in zip(GroupedEmbeddingBag(tables, ["sum", "mean"], output="separate")(ids), expected, strict=True):
        torch.testing.assert_close(a, b)
    assert list(module.parameters()) == tables
    with pytest.raises(ValueError, match="mode must be one of"):
        GroupedEmbeddingBag(tables, mode="median")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at least one table"):
        GroupedEmbeddingBag([])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("index", [torch.int64, torch.int32])
@pytest.mark.parametrize("mode", ["sum", "mean"])
@pytest.mark.parametrize("padding", [None, 1])
@pytest.mark.parametrize(("rows", "bags", "size"), [(3, 9, 1), (5, 40, 3), (1000, 512, 10), (20, 4000, 1)])
def test_dense_gradients_of_bags_are_torchs_bits(
    dtype: torch.dtype, index: torch.dtype, mode: Mode, padding: int | None, rows: int, bags: int, size: int
) -> None:
    """Which depend on the order of the sum where an id is named three times."""
    bag = nn.EmbeddingBag(rows, 16, mode=mode, padding_idx=padding, dtype=dtype)
    ids = torch.randint(0, rows, (bags, size), dtype=index)
    ends = torch.randint(0, 2 * size + 1, (bags,)).cumsum(0).clamp(max=ids.numel())
    offsets = torch.cat([torch.zeros(1, dtype=torch.int64), ends[:-1]]).to(index)
    for arguments in ((ids,), (ids.flatten(), offsets)):
        table = Table("a", Source(0), Source(0) if len(arguments) == 2 else None, None, mode, padding)
        plan = Plan((table,), (Output("out", (0,)),)).text()
        expected, found = bag(*arguments), grouped([bag.weight], [arguments[0]], arguments[1:], [], [], plan)[0]
        gradient = torch.randn_like(expected)
        expected, found = (torch.autograd.grad(out, bag.weight, gradient)[0] for out in (expected, found))
        assert torch.equal(expected, found)

"""Exported programs."""

import pytest
import torch
from torch import nn

from bench_engine.kernels.parallel_op import ops
from bench_engine.kernels.parallel_op.exported_programs import group_exported
from bench_engine.kernels.parallel_op.plan import Output, Source, View
from bench_engine.kernels.parallel_op.settings import Settings
from tests.kernels.parallel_op.processes import run
from tests.kernels.parallel_op.tracing import calls, plans

pytestmark = pytest.mark.usefixtures("grouped_ops")


class WideAndDeep(nn.Module):
    def __init__(self):
        super().__init__()
        self.bags = nn.ModuleList(nn.EmbeddingBag(20, 4, mode="sum") for _ in range(3))
        self.rows = nn.ModuleList(nn.Embedding(20, 2) for _ in range(3))
        self.head = nn.Linear(12, 1)

    def forward(self, x):
        deep = torch.cat([bag(part) for bag, part in zip(self.bags, x.split(2, 1), strict=True)], 1)
        return self.head(deep), torch.cat([row(x[:, i]) for i, row in enumerate(self.rows)], 1)


@pytest.fixture(autouse=True)
def _ops_are_there(monkeypatch):
    monkeypatch.setattr(ops, "load", lambda: None)  # the fixture grouped_ops has loaded them, or the oracle


@pytest.fixture(params=["static", "dynamic", "decomposed"])
def program(request):
    shapes = {"x": {0: torch.export.Dim("batch")}} if request.param == "dynamic" else None
    program = torch.export.export(WideAndDeep(), (torch.randint(20, (5, 6)),), dynamic_shapes=shapes)
    return program.run_decompositions() if request.param == "decomposed" else program


def test_a_program_is_grouped_and_stays_as_it_was(program):
    x = torch.randint(20, (5, 6))
    expected = program.module()(x)
    before = str(program)
    found = group_exported(program, Settings())
    assert str(program) == before
    (plan,) = plans(found.graph_module)
    assert [table.name for table in plan.tables] == [f"{n}.{i}.weight" for n in ("bags", "rows") for i in range(3)]
    assert [table.ids for table in plan.tables] == [
        *(Source(0, View(1, 2 * i, 2)) for i in range(3)),
        *(Source(0, View(1, i)) for i in range(3)),
    ]
    assert plan.outputs == (Output("cat", (0, 1, 2)), Output("cat", (3, 4, 5)))
    torch.testing.assert_close(found.module()(x), expected)
    assert [spec.arg.name for spec in found.graph_signature.output_specs] == [
        node.name for node in found.graph.output_node().args[0]
    ]


def test_any_batch_size(program):
    if not program.range_constraints:
        pytest.skip("exported for one batch size")
    found = group_exported(program, Settings()).module()
    for batch in (2, 9):
        x = torch.randint(20, (batch, 6))
        torch.testing.assert_close(found(x), program.module()(x))


def test_a_grouped_program_is_saved_and_loaded(program, tmp_path):
    x = torch.randint(20, (5, 6))
    torch.export.save(group_exported(program, Settings()), tmp_path / "program.pt2")
    loaded = torch.export.load(tmp_path / "program.pt2")
    assert len(calls(loaded.graph_module)) == 1
    torch.testing.assert_close(loaded.module()(x), program.module()(x))


def test_a_saved_program_needs_the_ops_and_nothing_else_of_ours(tmp_path):
    x = torch.arange(30).view(5, 6) % 20
    program = torch.export.export(WideAndDeep(), (x,))
    torch.export.save(group_exported(program, Settings()), tmp_path / "program.pt2")
    torch.save((x, program.module()(x)), tmp_path / "expected.pt")
    run(f"""
import torch
from bench_engine.kernels import parallel_op
parallel_op.load()
given, expected = torch.load("{tmp_path}/expected.pt")
torch.testing.assert_close(torch.export.load("{tmp_path}/program.pt2").module()(given), expected)
""")


def test_the_op_heeds_the_settings(program, tmp_path):
    found = group_exported(program, Settings(cache_dir=tmp_path / "choices")).module()
    x = torch.randint(20, (5, 6))
    with torch.no_grad():
        for _ in range(400):
            found(x)
            if ops.unsettled() == {}:
                break
    assert [path.name.startswith("choices-") for path in (tmp_path / "choices").iterdir()] == [True]


def test_a_program_without_groups_is_returned_as_it_is(program):
    assert group_exported(program, Settings(min_group=100)) is program

"""torch.compile(model, backend="parallel_op")."""

from dataclasses import replace

import pytest
import torch
from torch import nn
from torch._dynamo.utils import counters

from bench_engine.kernels.parallel_op import ops
from bench_engine.kernels.parallel_op.entry import backend, telling
from bench_engine.kernels.parallel_op.graph import report
from bench_engine.kernels.parallel_op.settings import Settings
from tests.kernels.parallel_op.wide_and_deep import WideAndDeep, ids

pytestmark = pytest.mark.usefixtures("built_kernels", "fresh")


@pytest.fixture
def fresh():
    torch._dynamo.reset()
    counters.clear()
    report.clear()


def test_works_without_the_variable():
    model = WideAndDeep()
    compiled = torch.compile(model, backend="parallel_op", fullgraph=True)
    torch.testing.assert_close(compiled(ids(5)), model(ids(5)))
    (graph,) = report.reports()
    assert [len(group.names) for group in graph.groups] == [6]


def test_gradients_are_those_of_the_untouched_model():
    model = WideAndDeep()
    compiled = torch.compile(model, backend="parallel_op")
    compiled(ids(5)).pow(2).sum().backward()
    grouped = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    model(ids(5)).pow(2).sum().backward()
    torch.testing.assert_close(grouped, [p.grad for p in model.parameters()])


def test_batch_sizes_do_not_recompile():
    model = WideAndDeep()
    compiled = torch.compile(model, backend="parallel_op")
    with torch.no_grad():
        for batch in (7, 3, 12, 64, 5, 33, 100, 8, 2):
            torch.testing.assert_close(compiled(ids(batch)), model(ids(batch)))
    # One for the first size, one for any.
    assert len(report.reports()) == 2


def test_nothing_to_group_runs_as_it_is():
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
    given = torch.randn(2, 3)
    assert torch.equal(torch.compile(model, backend="parallel_op")(given), model(given))
    assert report.reports() == ()


def test_a_graph_break_groups_what_it_can_and_is_told():
    class Broken(WideAndDeep):
        def forward(self, given):
            first = [bag(given[:, t]) for t, bag in enumerate(self.bags[:4])]
            torch._dynamo.graph_break()
            rest = [bag(given[:, t]) for t, bag in enumerate(self.bags[4:], start=4)]
            return self.top(torch.cat([*first, *rest], dim=1))

    model = Broken()
    torch.testing.assert_close(torch.compile(model, backend="parallel_op")(ids(5)), model(ids(5)))
    assert [[len(group.names) for group in graph.groups] for graph in report.reports()] == [[4], [2]]
    told = telling.report_text()
    assert "Parallel OP, graph 2: 2 embeddings" in told
    assert "graph breaks: 1;" in told


def test_an_id_out_of_range_names_the_table():
    compiled = torch.compile(WideAndDeep(), backend="parallel_op")
    wrong = ids(5)
    wrong[3, 2, 1] = 99
    with pytest.raises(IndexError, match=r"bags.2.weight: index 99 .*from 0 to 49"):
        compiled(wrong)


def test_settings_that_nobody_understands(monkeypatch):
    monkeypatch.setenv("MIRROR_PARALLEL_OP_SCHEDULE", "best")
    with pytest.raises(Exception, match="known: auto, table, batch, flat"):
        torch.compile(WideAndDeep(), backend="parallel_op")(ids(5))


def test_options_are_refused():
    with pytest.raises(Exception, match="takes no options or mode"):
        torch.compile(WideAndDeep(), backend="parallel_op", options={"max_autotune": True})(ids(5))


@pytest.mark.parametrize("asked", [0, 1])
def test_a_cache_folder_that_cannot_be_written_is_one_line_of_the_report(monkeypatch, tmp_path, capsys, asked):
    (tmp_path / "file").touch()
    monkeypatch.setenv("MIRROR_PARALLEL_OP_CACHE", str(tmp_path / "file" / "folder"))
    monkeypatch.setenv("MIRROR_PARALLEL_OP_REPORT", str(asked))
    at_exit = []
    monkeypatch.setattr(backend, "tell_at_exit", lambda: at_exit.append("told"))
    model = WideAndDeep()
    for _ in range(2):
        torch._dynamo.reset()
        torch.testing.assert_close(torch.compile(model, backend="parallel_op")(ids(5)), model(ids(5)))
    said = capsys.readouterr().err
    assert said.count("\n") == asked
    assert ("MIRROR_PARALLEL_OP_CACHE" in said) == bool(asked)
    assert set(at_exit) == ({"told"} if asked else set())


def test_only_what_the_ops_heed_makes_them_forget(grouped_ops, tmp_path):
    settings = Settings(cache_dir=tmp_path)
    compiled = torch.compile(WideAndDeep(), backend="parallel_op")
    compiled(ids(5))
    ops.configure(settings)
    compiled(ids(5))
    assert ops.choices() != ""
    ops.configure(replace(settings, report=True, min_group=3))
    assert ops.choices() != ""
    ops.configure(replace(settings, threads=1))
    assert ops.choices() == ""

"""What is told of one model: a screen, and all of it where that is asked for."""

from bench_engine.kernels.parallel_op.entry.summary import Choice, Summary
from bench_engine.kernels.parallel_op.graph.report import GraphReport, GroupSummary, Left


def test_what_became_one_op_what_was_left_and_the_times():
    choices = {
        0: Choice("Model", "no gradients, sizes <8", "grouped", 90.4, 30.0),
        1: Choice("Model", "gradients, sizes <8", "untouched", reason="a side never returned"),
    }
    summary = Summary("Model", tuple(f"bags.{t}" for t in range(6)), {"a": "why", "b": "why", "c": "else"}, choices)
    assert summary.text().splitlines() == [
        "Parallel OP, Model:",
        "  6 lookups became one op, served to its own forward (bags.0, bags.1, bags.2, bags.3 and 2 more).",
        "  left as it was: a, b, why.",
        "  left as it was: c, else.",
        "  no gradients: grouped; untouched 90 µs, grouped 30 µs.",
        "  gradients: untouched; a side never returned.",
    ]
    assert "  no gradients, sizes <8: grouped; untouched 90 µs" in summary.text(details=True)


def test_sizes_share_a_line_unless_all_is_asked_for():
    choices = {
        size: Choice("Model", f"eval, sizes <{2**size}", "untouched" if size < 4 else "grouped", 90.0 + size, 50.0)
        for size in range(40)
    }
    summary = Summary("Model", choices=choices)
    assert summary.text().splitlines()[1:] == [
        "  eval, 40 sizes: grouped for 36, untouched for 4; untouched 90 to 129 µs, grouped 50 µs."
    ]
    assert len(summary.text(details=True).splitlines()) == 41


def test_one_screen_of_modes():
    summary = Summary("Model", choices={n: Choice("Model", f"{n} threads, sizes <2", "grouped") for n in range(40)})
    assert len(summary.text().splitlines()) == 8
    assert summary.text().endswith("  and 34 more kinds of calls.")


def test_a_compiled_model_tells_of_its_graphs_without_keys_of_the_graph():
    group = GroupSummary("embedding", 3, "cpu", ("a", "b"), folded=("cat of 2",), views=2, shared=1)
    graph = GraphReport((group,), alone=(Left("embedding", "c", "it comes after b"),))
    summary = Summary("Model", graphs=[graph, graph, GraphReport()])
    assert summary.text().splitlines()[1:] == [
        "  compiled: 2 embeddings became one op, written straight into cat of 2 (a, b). "
        "Left alone: 1 embedding, it comes after b (c)."
    ]
    assert "at level 3 on cpu" in summary.text(details=True)

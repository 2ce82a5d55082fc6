"""What is told of one model: a screen, and all of it where that is asked for."""

from bench_engine.kernels.parallel_op.entry.summary import Choice, Summary


def test_what_became_one_op_what_was_left_and_the_times():
    choices = {
        0: Choice("Model", "no gradients, sizes <8", "grouped", 90.4, 30.0),
        1: Choice("Model", "gradients, sizes <8", "untouched", reason="a side never returned"),
    }
    summary = Summary("Model", tuple(f"bags.{t}" for t in range(6)), {"a": "why", "b": "why", "c": "else"}, choices)
    assert summary.text().splitlines() == [
        "Parallel OP, Model: 6 lookups became one op, served to its own forward (bags.0, bags.1, bags.2, bags.3 and "
        "2 more). Left as it was: a, b, why. Left as it was: c, else.",
        "  no gradients, sizes <8: grouped; untouched 90 µs, grouped 30 µs.",
        "  gradients, sizes <8: untouched; a side never returned.",
    ]


def test_one_screen_unless_all_is_asked_for():
    summary = Summary("Model", choices={size: Choice("Model", f"sizes <{2**size}", "grouped") for size in range(40)})
    assert len(summary.text().splitlines()) == 8
    assert summary.text().endswith("  and 34 more kinds of calls.")
    assert len(summary.text(details=True).splitlines()) == 41

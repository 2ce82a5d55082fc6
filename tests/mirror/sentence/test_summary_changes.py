"""Sentences about changes, courses and machines, worked out by hand."""

import pytest

from mirror.query.change import change_columns
from mirror.query.spec import Metric, QuerySpec
from mirror.schema.result_columns import result_table
from mirror.sentence.summary import summarize
from mirror.table.table import Table

DAY = "2026-11-09"
BY = " by geometric means of medians, "
MEANS = " by means of medians, "


def change(metric: str, claim=None, *dimensions: str) -> QuerySpec:
    dimensions = ("method", *dimensions)
    return QuerySpec("change", (Metric(metric),), dimensions, source="history", split=DAY, claim=claim)


def changed(metric: str, *rows: tuple, dimensions: tuple[str, ...] = ("method", "batch_size")) -> Table:
    """Rows: the dimensions, before, since, noise, n_before, n_since."""
    names = change_columns(metric)
    columns = (*dimensions, names.before, names.since, names.change, names.noise, names.n_before, names.n_since)
    n = len(dimensions)
    return result_table(columns, tuple((*r[: n + 2], None, *r[n + 2 :]) for r in rows))


LATENCY = changed(
    "latency_us",
    ("dense", 64, 10.0, 10.2, 0.05, 1, 2),
    ("dense", 512, 20.0, 20.0, 0.05, 1, 1),
    ("hashed", 64, 10.0, 20.0, 0.05, 1, 1),
    ("hashed", 512, 10.0, 12.5, 0.05, 1, 1),  # the geometric mean of 2 and 1.25 is 1.58, the arithmetic one 1.62
    ("qr", 64, 10.0, 5.0, 0.05, 2, 2),
    ("qr", 512, None, 7.0, 0.05, 0, 1),
    ("small_dim", 64, 7.0, None, 0.05, 4, 0),
)
REST = (
    f"Compared are 5 configurations measured on both sides{BY}6 trials before and 7 since; "
    "1 only before and 1 only since."
)
GOLDEN = {
    "asked whether it got worse": (
        LATENCY,
        change("latency_us", "worse"),
        f"Yes: latency got worse since {DAY} UTC for hashed (1.58x over 2 configurations); "
        "better for qr (0.5x, 5 µs against 10 µs); "
        f"within noise for dense (1.01x over 2 configurations). {REST}",
    ),
    "asked how it changed": (
        LATENCY,
        change("latency_us"),
        f"Latency since {DAY} UTC against before: worse for hashed (1.58x over 2 configurations); "
        "better for qr (0.5x, 5 µs against 10 µs); "
        f"within noise for dense (1.01x over 2 configurations). {REST}",
    ),
    "it did not": (
        changed("latency_us", ("dense", 64, 10.0, 10.2, 0.05, 1, 1)),
        change("latency_us", "worse"),
        f"No: latency did not get worse since {DAY} UTC: within noise for dense (1.02x, 10.2 µs against 10 µs). "
        f"Compared is 1 configuration measured on both sides{BY}1 trial before and 1 since.",
    ),
    "higher is better": (
        changed("speedup", ("hashed", 64, 2.0, 1.0, 0.1, 1, 1)),
        change("speedup", "worse"),
        f"Yes: speedup got worse since {DAY} UTC for hashed (0.5x, 1x against 2x). "
        f"Compared is 1 configuration measured on both sides{BY}1 trial before and 1 since.",
    ),
    "differences, and seeds that spread as much": (
        changed("auc", ("dense", 64, 0.79, 0.785, 0.01, 3, 3), ("hashed", 64, 0.79, 0.77, 0.01, 3, 3)),
        change("auc", "worse"),
        f"Yes: AUC got worse since {DAY} UTC for hashed (-0.0200, 0.7700 against 0.7900); within noise for dense "
        "(-0.0050, 0.7850 against 0.7900). "
        f"Compared are 2 configurations measured on both sides{MEANS}6 trials before and 6 since.",
    ),
    "an AUC that nobody repeated": (
        changed("auc", ("dense", 64, 0.79, 0.7891, None, 1, 1)),
        change("auc", "better"),
        f"No: AUC did not get better since {DAY} UTC: within noise for dense (-0.0009, 0.7891 against 0.7900). "
        f"Compared is 1 configuration measured on both sides{MEANS}1 trial before and 1 since.",
    ),
    "bytes have no noise": (
        changed("memory_mb", ("dense", 64, 1.0, 1.01, None, 1, 1), ("hashed", 64, 1.0, 1.0, 0.0, 3, 3)),
        change("memory_mb"),
        f"Memory since {DAY} UTC against before: worse for dense (1.01x, 1.01 MB against 1 MB); "
        "within noise for hashed (the same, 1 MB against 1 MB). "
        f"Compared are 2 configurations measured on both sides{BY}4 trials before and 4 since.",
    ),
    "machines and benchmarks are told apart": (
        changed(
            "latency_us",
            ("dense", "a", "lookup", 10.0, 20.0, 0.0, 1, 1),
            ("dense", "b", "lookup", 10.0, 5.0, 0.0, 1, 1),
            ("dense", "b", "training", 10.0, 40.0, 0.0, 1, 1),
            dimensions=("method", "machine", "benchmark"),
        ),
        change("latency_us", None, "machine", "benchmark"),
        f"Latency since {DAY} UTC against before: worse for dense on a in lookup (2x, 20 µs against 10 µs) and "
        "dense on b in training (4x, 40 µs against 10 µs); better for dense on b in lookup (0.5x, 5 µs against 10 µs). "
        f"Compared are 3 configurations measured on both sides{BY}3 trials before and 3 since.",
    ),
    "nothing before": (
        changed("latency_us", ("dense", 64, None, 10.0, 0.1, 0, 2)),
        change("latency_us", "worse"),
        f"It cannot be said whether latency got worse since {DAY} UTC: there are no results before then.",
    ),
    "nothing since": (
        changed("latency_us", ("dense", 64, 10.0, None, 0.1, 2, 0)),
        change("latency_us"),
        f"It cannot be said whether latency changed since {DAY} UTC: there are no results since then.",
    ),
    "nothing in common": (
        changed("latency_us", ("dense", 64, 10.0, None, 0.1, 2, 0), ("dense", 512, None, 9.0, 0.1, 0, 1)),
        change("latency_us", "better"),
        f"It cannot be said whether latency got better since {DAY} UTC: no configuration was measured on both sides "
        "(2 trials before and 1 since).",
    ),
    "nothing at all": (
        changed("latency_us"),
        change("latency_us", "better"),
        f"It cannot be said whether latency got better since {DAY} UTC: there are no results on either side. No rows "
        "match.",
    ),
    "a ratio to zero is none": (
        changed("latency_us", ("dense", 64, 0.0, 9.0, 0.1, 1, 1)),
        change("latency_us"),
        f"It cannot be said whether latency changed since {DAY} UTC: no configuration was measured on both sides "
        "(1 trial before and 1 since).",
    ),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_changes(name: str) -> None:
    table, spec, sentence = GOLDEN[name]
    assert summarize(table, spec, None) == sentence


COURSE = QuerySpec("points", (Metric("latency_us"),), ("started_at", "method", "seed"), source="history")


def course(*rows: tuple) -> Table:
    return result_table(("started_at", "method", "seed", "latency_us"), rows)


def test_a_course_compares_the_latest_trial_with_the_first() -> None:
    table = course(
        ("2026-11-03T12:00:00", "hashed", 0, 12.0),
        ("2026-11-01T12:00:00", "hashed", 0, 10.0),
        ("2026-11-02T12:00:00", "hashed", 0, 99.0),
        ("2026-11-02T12:00:00", "hashed", 1, 99.0),  # another seed is another configuration, measured once
        ("2026-11-02T12:00:00", "dense", 0, None),
    )
    assert summarize(table, COURSE, None) == (
        "4 trials of 2 configurations, 2026-11-01 12:00 to 2026-11-03 12:00 UTC. "
        "Latency, latest trial against first (geometric means): hashed 1.2x, 12 µs against 10 µs."
    )


def test_a_course_without_repeats_says_that_nothing_can_be_said() -> None:
    table = course(("2026-11-03T12:00:00", "hashed", 0, 12.0), ("2026-11-04T12:00:00", "dense", 0, 12.0))
    assert summarize(table, COURSE, None).endswith(
        "Each configuration was measured once, so how latency changed cannot be said."
    )


MACHINES = QuerySpec("groups", (Metric("latency_us", "avg"),), ("machine", "benchmark", "method"))


def machines(*rows: tuple) -> Table:
    return result_table(("machine", "benchmark", "method", "latency_us", "n"), rows)


def test_machines_are_compared_where_both_have_measured() -> None:
    table = machines(
        ("a", "lookup", "dense", 10.0, 1),
        ("a", "lookup", "hashed", 40.0, 1),
        ("a", "training", "dense", 900.0, 1),
        ("b", "lookup", "dense", 5.0, 1),
        ("b", "lookup", "hashed", 5.0, 1),
        ("b", "training", "dense", 300.0, 1),
        ("b", "training", "hashed", 1.0, 1),
        ("c", "training", "small_dim", 1.0, 1),
    )
    assert summarize(table, MACHINES, None) == (
        "Latency against b (geometric means): a 4x over 2 configurations in lookup and 3x, 900 µs against 300 µs in "
        "training. No configuration was measured on b and on c, so they cannot be compared. "
        "Rests on 8 trials in 8 rows."
    )


def test_one_machine_is_no_comparison() -> None:
    table = machines(("a", "lookup", "dense", 10.0, 1), ("a", "lookup", "hashed", 20.0, 1))
    assert "against a" not in summarize(table, MACHINES, None)

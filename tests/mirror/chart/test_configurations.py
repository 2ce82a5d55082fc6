"""Replicates become one configuration; the Pareto front is that of the means."""

import pytest
from result_tables import by_batch, trade_off

from mirror.chart.configurations import Configuration, configurations, pareto_front, repeats
from mirror.query.roles import roles_of
from mirror.schema.catalog import entry
from mirror.schema.result_columns import result_table


def test_seeds_become_mean_and_deviation():
    table = trade_off("frappe")
    dense, hashed, _ = configurations(table, roles_of(table), ("auc", "memory_mb"))
    assert dense.key == {"method": "dense"}
    assert dense.trials == 2
    assert dense.means == pytest.approx({"auc": 0.79, "memory_mb": 10.0})
    assert dense.deviations["auc"] == pytest.approx(0.001 * 2**0.5)
    assert hashed.key == {"method": "hashed"}


def test_grouped_rows_bring_their_own_count_and_deviation():
    first, *rest = configurations(by_batch(), roles_of(by_batch()), ("latency_us",))
    key, ends = {"method": "dense", "batch_size": 64}, {"latency_us": (6.4, 6.4)}
    assert first == Configuration(key, {"latency_us": 6.4}, {"latency_us": 0.5}, 3, ends)
    assert len(rest) == 5


def test_rows_without_a_value_are_no_configuration():
    table = result_table(("method", "auc"), (("dense", None), ("hashed", 0.7), ("small_dim", float("nan"))))
    assert [c.key["method"] for c in configurations(table, roles_of(table), ("auc",))] == ["hashed"]


def point(x: float, y: float) -> Configuration:
    return Configuration({}, {"memory_mb": x, "auc": y, "latency_us": y, "speedup": x})


def front(points: list[Configuration], x: str, y: str) -> list[tuple[float, float]]:
    return [(c.means[x], c.means[y]) for c in pareto_front(points, entry(x), entry(y))]


def test_the_front_keeps_what_nothing_beats_and_equal_points():
    points = [point(3, 0.9), point(1, 0.7), point(2, 0.6), point(1, 0.7), point(3, 0.8), point(4, 0.9)]
    assert front(points, "memory_mb", "auc") == [
        (1, 0.7),
        (1, 0.7),
        (3, 0.9),
    ]


def test_the_front_follows_each_metrics_direction():
    points = [point(1, 5), point(2, 5), point(3, 9), point(2, 8)]
    assert front(points, "memory_mb", "latency_us") == [(1, 5)]
    assert front(points, "speedup", "latency_us") == [
        (2, 5),
        (3, 9),
    ]


def test_repeats_counts_rows_per_group():
    assert repeats(trade_off("frappe"), ["method"]) == 2
    assert repeats(trade_off("frappe"), []) == 6

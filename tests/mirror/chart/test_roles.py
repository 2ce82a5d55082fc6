"""What the columns of a result are for."""

import pytest
from result_tables import TRADE_OFF, by_batch, fastest, trade_off

from mirror.chart.roles import compared, roles_of, spread, spread_in_words
from mirror.query.spec import Metric, QuerySpec
from mirror.schema.result_columns import result_table


def test_a_spec_says_what_the_columns_are_for():
    roles = roles_of(trade_off("frappe"), TRADE_OFF)
    assert roles.metrics == ("memory_mb", "auc")
    assert roles.names == ("method", "dataset")
    assert roles.parameters == ("seed", "compression")
    assert roles.raw


def test_without_a_spec_catalogue_and_values_say_the_same():
    assert roles_of(trade_off("frappe")) == roles_of(trade_off("frappe"), TRADE_OFF)


def test_deviation_and_count_are_no_metrics_of_their_own():
    roles = roles_of(by_batch())
    assert roles.metrics == ("latency_us",)
    assert roles.count == "n"
    assert not roles.raw


def test_a_deviation_that_was_asked_for_is_a_metric():
    table = result_table(("method", "stddev_auc"), (("dense", 0.1), ("hashed", 0.2)))
    assert roles_of(table).metrics == ("stddev_auc",)


def test_a_count_alone_is_the_metric():
    table = result_table(("method", "trials"), (("dense", 3), ("hashed", 4)))
    assert roles_of(table).metrics == ("trials",)
    assert roles_of(table, QuerySpec("count", dimensions=("method",))).metrics == ("trials",)


def test_an_empty_metric_is_not_replaced_by_another():
    table = result_table(("method", "auc", "memory_mb"), (("dense", None, 1.0),))
    assert roles_of(table, QuerySpec("groups", (Metric("auc", "avg"),), ("method",))).metrics == ()


def test_names_that_the_catalogue_lacks_go_by_their_values():
    rows = (("a", 1.5, "2026-01-01T00:00:00", 10), ("b", 2.5, "2026-01-02T00:00:00", 20))
    roles = roles_of(result_table(("who", "how_much", "day", "step"), rows))
    assert (roles.names, roles.metrics, roles.times, roles.parameters) == (("who",), ("how_much",), ("day",), ("step",))


@pytest.mark.parametrize("column", ["num_rows", "compression"])
def test_what_another_dimension_implies_is_not_compared(column):
    key = "dataset" if column == "num_rows" else "method"
    table = result_table((key, column, "auc"), (("dense", 1, 0.7), ("hashed", 0.1, 0.6), ("dense", 1, 0.8)))
    assert compared(table, roles_of(table)) == [key]


def test_compression_is_compared_where_one_method_has_several():
    table = result_table(
        ("method", "compression", "auc"), (("hashed", 1, 0.7), ("hashed", 0.1, 0.6), ("dense", 1, 0.8))
    )
    assert compared(table, roles_of(table)) == ["method", "compression"]


def test_seeds_are_repetitions():
    assert "seed" not in compared(trade_off("frappe"), roles_of(trade_off("frappe")))


def test_spread_comes_from_the_deviation_or_the_interval():
    assert spread(fastest(), "latency_us") == ([0.4, 0.5, 0.0], [0.4, 0.5, 0.0])
    table = result_table(
        ("latency_us", "latency_ci_low_us", "latency_ci_high_us"), ((10.0, 9.0, 12.0), (5.0, None, 6.0))
    )
    assert spread(table, "latency_us") == ([1.0, 0.0], [2.0, 1.0])
    assert spread(trade_off("frappe"), "auc") is None


def test_an_id_of_a_machine_counts_where_no_name_stands_beside_it():
    rows = (("hashed", "m1", "a", "slower", 1.0), ("hashed", "m2", "b", "faster", 2.0))
    table = result_table(("method", "machine_id", "machine", "verdict", "speedup"), rows)
    assert compared(table, roles_of(table)) == ["machine"]
    without = result_table(("machine_id", "verdict", "auc"), tuple((i, v, s) for _, i, _, v, s in rows))
    assert compared(without, roles_of(without)) == ["machine_id", "verdict"]


def test_a_change_is_told_by_one_column():
    spec = QuerySpec("change", (Metric("auc"),), ("method",), source="history", split="2026-11-09")
    columns = ("method", "before_auc", "since_auc", "difference_auc", "stddev_auc", "n_before", "n_since")
    table = result_table(columns, (("hashed", 0.8, 0.7, -0.1, 0.0, 3, 3), ("dense", 0.8, 0.8, 0.0, 0.0, 3, 3)))
    roles = roles_of(table, spec)
    assert (roles.metrics, roles.raw) == (("difference_auc",), False)


def test_numbers_of_unknown_columns_are_places_names_or_measures():
    rows = ((2024, 7, 3, 10.5, 5), (2025, 8, 4, 11.5, 6))
    roles = roles_of(result_table(("fiscal_year", "customer_id", "orders_per_day", "revenue", "avg_age"), rows))
    assert (roles.parameters, roles.names) == (("fiscal_year",), ())
    assert roles.metrics == ("orders_per_day", "revenue", "avg_age")


def test_a_first_column_that_counts_is_a_place():
    def parameters(*values):
        return roles_of(result_table(("bucket_no", "height"), tuple((v, 0.5) for v in values))).parameters

    assert parameters(1, 2, 3) == ("bucket_no",)
    for no_place in ((1, 2, 4), (3, 2, 1), (1, 1, 1), (0.5, 1.5, 2.5), (1, 2)):
        assert parameters(*no_place) == ()


def test_an_identifier_names_rows_where_nothing_else_does():
    assert roles_of(result_table(("user_id", "spend"), ((7, 1.5), (9, 2.5)))).names == ("user_id",)
    assert roles_of(result_table(("user_id", "city", "spend"), ((7, "a", 1.5), (9, "b", 2.5)))).names == ("city",)


def test_settings_that_only_tell_methods_are_not_compared():
    columns = ("method", "num_chunks", "decay", "auc")
    one_each = result_table(columns, (("fiited", 4, 0.9, 0.8), ("dense", None, None, 0.7)))
    assert compared(one_each, roles_of(one_each)) == ["method"]
    several = result_table(columns, (*one_each.rows, ("fiited", 8, 0.9, 0.8)))
    assert compared(several, roles_of(several)) == ["method", "num_chunks"]
    alone = result_table(columns[1:], ((4, 0.9, 0.8), (8, 0.8, 0.8)))
    assert compared(alone, roles_of(alone)) == ["num_chunks", "decay"]


def test_what_the_spread_is():
    assert spread_in_words(fastest(), "latency_us") == "the standard deviation over trials"
    table = result_table(("latency_us", "latency_ci_low_us", "latency_ci_high_us"), ((10.0, 9.0, 12.0),))
    assert spread_in_words(table, "latency_us") == "the 95 % interval"
    nowhere = result_table(("latency_us", "latency_ci_low_us", "latency_ci_high_us"), ((10.0, None, None),))
    assert (spread_in_words(nowhere, "latency_us"), spread(nowhere, "latency_us")) == ("", None)


@pytest.mark.parametrize(("dimensions", "told"), [(("error",), True), (("method", "error"), False)])
def test_a_reason_tells_groups_apart_only_where_nothing_else_does(dimensions, told):
    rows = (("hashed", "too slow", 2), ("fiited", "no memory", 1))
    table = result_table(("method", "error", "trials"), rows)
    if dimensions == ("error",):
        table = result_table(("error", "trials"), tuple(row[1:] for row in rows))
    roles = roles_of(table, QuerySpec("count", dimensions=dimensions, source="failures"))
    assert ("error" in compared(table, roles)) == told

"""What the columns of a result are for."""

import pytest
from result_tables import TRADE_OFF, by_batch, fastest, trade_off

from mirror.chart.roles import compared, distinct, is_numeric, is_temporal, sort_roles, spread, spread_in_words
from mirror.query.spec import Metric, QuerySpec
from mirror.schema.result_columns import result_table


def test_a_spec_says_what_the_columns_are_for():
    roles = sort_roles(trade_off("frappe"), TRADE_OFF)
    assert roles.metrics == ("memory_mb", "auc")
    assert roles.names == ("method", "dataset")
    assert roles.parameters == ("seed", "compression")
    assert roles.raw


def test_without_a_spec_catalogue_and_values_say_the_same():
    assert sort_roles(trade_off("frappe")) == sort_roles(trade_off("frappe"), TRADE_OFF)


def test_deviation_and_count_are_no_metrics_of_their_own():
    roles = sort_roles(by_batch())
    assert roles.metrics == ("latency_us",)
    assert roles.count == "n"
    assert not roles.raw


def test_a_deviation_that_was_asked_for_is_a_metric():
    table = result_table(("method", "stddev_auc"), (("dense", 0.1), ("hashed", 0.2)))
    assert sort_roles(table).metrics == ("stddev_auc",)


def test_a_count_alone_is_the_metric():
    table = result_table(("method", "trials"), (("dense", 3), ("hashed", 4)))
    assert sort_roles(table).metrics == ("trials",)
    assert sort_roles(table, QuerySpec("count", dimensions=("method",))).metrics == ("trials",)


def test_an_empty_metric_is_not_replaced_by_another():
    table = result_table(("method", "auc", "memory_mb"), (("dense", None, 1.0),))
    assert sort_roles(table, QuerySpec("groups", (Metric("auc", "avg"),), ("method",))).metrics == ()


def test_names_that_the_catalogue_lacks_go_by_their_values():
    rows = (("a", 1.5, "2026-01-01T00:00:00", 10), ("b", 2.5, "2026-01-02T00:00:00", 20))
    roles = sort_roles(result_table(("who", "how_much", "day", "step"), rows))
    assert (roles.names, roles.metrics, roles.times, roles.parameters) == (("who",), ("how_much",), ("day",), ("step",))


@pytest.mark.parametrize("column", ["num_rows", "compression"])
def test_what_another_dimension_implies_is_not_compared(column):
    key = "dataset" if column == "num_rows" else "method"
    table = result_table((key, column, "auc"), (("dense", 1, 0.7), ("hashed", 0.1, 0.6), ("dense", 1, 0.8)))
    assert compared(table, sort_roles(table)) == [key]


def test_compression_is_compared_where_one_method_has_several():
    table = result_table(
        ("method", "compression", "auc"), (("hashed", 1, 0.7), ("hashed", 0.1, 0.6), ("dense", 1, 0.8))
    )
    assert compared(table, sort_roles(table)) == ["method", "compression"]


def test_seeds_are_repetitions():
    assert "seed" not in compared(trade_off("frappe"), sort_roles(trade_off("frappe")))


def test_spread_comes_from_the_deviation_or_the_interval():
    assert spread(fastest(), "latency_us") == ([0.4, 0.5, 0.0], [0.4, 0.5, 0.0])
    table = result_table(
        ("latency_us", "latency_ci_low_us", "latency_ci_high_us"), ((10.0, 9.0, 12.0), (5.0, None, 6.0))
    )
    assert spread(table, "latency_us") == ([1.0, 0.0], [2.0, 1.0])
    assert spread(trade_off("frappe"), "auc") is None


def test_kinds_of_values():
    table = result_table(("a", "b", "c"), ((1, "2026-01-01", True), (None, "2026-01-02T10:00:00", False)))
    assert is_numeric(table, "a")
    assert not is_numeric(table, "b")
    assert not is_numeric(table, "c")
    assert is_temporal(table, "b")
    assert not is_temporal(result_table(("a",), (("2026",),)), "a")


def test_distinct_values_have_an_order():
    table = result_table(("a",), (("b",), (None,), (2,), ("a",), (1,), (2,)))
    assert distinct(table, "a") == [1, 2, "a", "b", None]


def test_an_id_of_a_machine_counts_where_no_name_stands_beside_it():
    rows = (("hashed", "m1", "a", "slower", 1.0), ("hashed", "m2", "b", "faster", 2.0))
    table = result_table(("method", "machine_id", "machine", "verdict", "speedup"), rows)
    assert compared(table, sort_roles(table)) == ["machine"]
    without = result_table(("machine_id", "verdict", "auc"), tuple((i, v, s) for _, i, _, v, s in rows))
    assert compared(without, sort_roles(without)) == ["machine_id", "verdict"]


def test_a_change_is_told_by_one_column():
    spec = QuerySpec("change", (Metric("auc"),), ("method",), source="history", split="2026-11-09")
    columns = ("method", "before_auc", "since_auc", "difference_auc", "stddev_auc", "n_before", "n_since")
    table = result_table(columns, (("hashed", 0.8, 0.7, -0.1, 0.0, 3, 3), ("dense", 0.8, 0.8, 0.0, 0.0, 3, 3)))
    roles = sort_roles(table, spec)
    assert (roles.metrics, roles.raw) == (("difference_auc",), False)


def test_numbers_of_unknown_columns_are_places_names_or_measures():
    rows = ((2024, 7, 3, 10.5, 5), (2025, 8, 4, 11.5, 6))
    roles = sort_roles(result_table(("fiscal_year", "customer_id", "orders_per_day", "revenue", "avg_age"), rows))
    assert (roles.parameters, roles.names) == (("fiscal_year",), ())
    assert roles.metrics == ("orders_per_day", "revenue", "avg_age")


def test_a_first_column_that_counts_is_a_place():
    def parameters(*values):
        return sort_roles(result_table(("bucket_no", "height"), tuple((v, 0.5) for v in values))).parameters

    assert parameters(1, 2, 3) == ("bucket_no",)
    for no_place in ((1, 2, 4), (3, 2, 1), (1, 1, 1), (0.5, 1.5, 2.5), (1, 2)):
        assert parameters(*no_place) == ()


def test_an_identifier_names_rows_where_nothing_else_does():
    assert sort_roles(result_table(("user_id", "spend"), ((7, 1.5), (9, 2.5)))).names == ("user_id",)
    assert sort_roles(result_table(("user_id", "city", "spend"), ((7, "a", 1.5), (9, "b", 2.5)))).names == ("city",)


def test_months_weekdays_and_quarters_have_their_order():
    def order(*values):
        return distinct(result_table(("when",), tuple((v,) for v in values)), "when")

    assert order("March", "January", "February", None) == ["January", "February", "March", None]
    assert order("Tue", "Sun", "Mon") == ["Mon", "Tue", "Sun"]
    assert order("2025-Q1", "2024-Q4") == ["2024-Q4", "2025-Q1"]
    assert order("Q2 2024", "Q1 2025") == ["Q2 2024", "Q1 2025"]
    assert order("May", "April", "a name") == ["April", "May", "a name"]


def test_years_with_months_are_times():
    assert is_temporal(result_table(("a",), (("2026-01",), ("2026-12",))), "a")
    assert not is_temporal(result_table(("a",), (("2026-13",),)), "a")


def test_text_sorts_its_numbers():
    assert distinct(result_table(("a",), (("part 10",), ("part 2",), ("part 1b",))), "a") == [
        "part 1b",
        "part 2",
        "part 10",
    ]


def test_settings_that_only_tell_methods_are_not_compared():
    columns = ("method", "num_chunks", "decay", "auc")
    one_each = result_table(columns, (("fiited", 4, 0.9, 0.8), ("dense", None, None, 0.7)))
    assert compared(one_each, sort_roles(one_each)) == ["method"]
    several = result_table(columns, (*one_each.rows, ("fiited", 8, 0.9, 0.8)))
    assert compared(several, sort_roles(several)) == ["method", "num_chunks"]
    alone = result_table(columns[1:], ((4, 0.9, 0.8), (8, 0.8, 0.8)))
    assert compared(alone, sort_roles(alone)) == ["num_chunks", "decay"]


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
    roles = sort_roles(table, QuerySpec("count", dimensions=dimensions, source="failures"))
    assert ("error" in compared(table, roles)) == told

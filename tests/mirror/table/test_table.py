"""Columns of results: what they are for, by whoever made the SQL; nothing is known of other people's by their names."""

import pytest

from mirror.chart.choose import choose
from mirror.schema.result_columns import result_columns, result_table
from mirror.sentence.summary import summarize
from mirror.table.table import PLAIN, Column, plain_table

HOSTILE = ("seed", "method", "trial_id", "auc", "latency_us", "n", "count", "baseline", "machine", "sweep", "stddev_x")


def column(name: str, *beside: str) -> Column:
    return result_columns((name, *beside))[0]


@pytest.mark.parametrize(
    ("name", "beside", "role", "source"),
    [
        ("auc", (), "metric", "auc"),
        ("max_latency_us", (), "metric", "latency_us"),
        ("ratio_latency_us", (), "metric", "latency_us"),
        ("reference_compression", (), "axis", "compression"),
        ("compression", (), "axis", "compression"),
        ("machine", (), "name", "machine"),
        ("trial_id", (), "key", "trial_id"),
        ("started_at", (), "time", "started_at"),
        ("seed", (), "repetition", "seed"),
        ("n", (), "count", ""),
        ("n", ("trials",), "count", ""),
        ("trials", ("n",), "count", ""),
        ("stddev_auc", ("auc",), "deviation", "auc"),
        ("stddev_auc", (), "metric", "auc"),
        ("speedup_ci_low", ("speedup",), "low", "speedup_ci_low"),
        ("latency_p99_us", ("latency_us",), "percentile", "latency_p99_us"),
        ("latency_p99_us", (), "metric", "latency_p99_us"),
        ("step", (), "name", ""),
        ("anything", (), "", ""),
    ],
)
def test_columns_of_the_results_say_what_they_are_for(name, beside, role, source):
    found = column(name, *beside)
    assert (found.role, found.source) == (role, source)


def test_a_column_says_whose_spread_it_tells():
    assert column("stddev_auc", "auc").of == "auc"
    assert column("latency_ci_high_us", "latency_us").of == "latency_us"
    assert column("stddev_auc").of == ""


def test_units_and_directions_follow_the_source():
    assert (column("max_latency_us").unit, column("max_latency_us").better) == ("µs", "lower")
    assert (column("ratio_auc").unit, column("reduction_memory_mb").better) == ("x", "higher")


def test_columns_are_picked_in_an_order():
    table = result_table(("method", "auc", "n"), (("dense", 0.5, 3),), truncated=True)
    assert table.picked(["n", "method"]).rows == ((3, "dense"),)
    assert (table.picked(["n"]).names, table.picked(["n"]).truncated) == (("n",), True)


def test_nothing_is_known_of_other_data_by_their_names():
    table = plain_table(HOSTILE, [tuple(range(len(HOSTILE)))])
    assert table.domain == PLAIN
    assert {(c.role, c.unit, c.better, c.source, c.of) for c in table.columns} == {("", "", "", "", "")}
    assert table.column("latency_us").label == "latency us"


@pytest.mark.parametrize("name", HOSTILE)
def test_a_chart_of_other_data_takes_every_name_for_what_it_holds(name):
    numbers = plain_table(("city", name), [("Bonn", 1.5), ("Graz", 2.5), ("Lyon", 9.5)])
    chart = choose(numbers, None)
    text = summarize(numbers, None, chart)
    assert (chart.type, chart.x, chart.y) == ("bar", "city", name) or name == "trial_id"
    assert text.endswith("3 rows.")
    assert not {"trial", "trials", "configuration", "configurations", "seed", "AUC"} & set(
        text.replace(name, "").split()
    )


@pytest.mark.parametrize("name", [n for n in HOSTILE if n != "trial_id"])
def test_text_of_other_data_names_rows_whatever_the_column_is_called(name):
    table = plain_table((name, "amount"), [("a", 1.5), ("b", 2.5), ("a", 9.5)])
    chart = choose(table, None)
    assert (chart.type, chart.y) == ("bar", "amount")
    assert "trial" not in summarize(table, None, chart)

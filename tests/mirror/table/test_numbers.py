"""format_value: units, digits and odd values."""

import pytest

from db.plain_text import plain_text
from mirror.schema.catalog import entry
from mirror.schema.result_columns import result_table
from mirror.table.numbers import (
    NO_VALUE,
    describe,
    format_factor,
    format_number,
    format_spread,
    format_tick,
    format_value,
    with_unit,
)


@pytest.mark.parametrize(
    ("column", "value", "text"),
    [
        ("auc", 0.784123, "0.7841"),
        ("auc", 0.78, "0.7800"),
        ("stddev_auc", 0.00121, "0.0012"),
        ("stddev_auc", 0.0001234, "0.00012"),
        ("auc", 0, "0"),
        ("memory_mb", 3.2111, "3.21 MB"),
        ("memory_mb", 0.0512, "0.0512 MB"),
        ("memory_mb", 64.0, "64 MB"),
        ("memory_mb", 1234.5, "1.23 GB"),
        ("latency_us", 45.22, "45.2 µs"),
        ("latency_us", 1200.4, "1.20 ms"),
        ("max_latency_us", 2_500_000.0, "2.50 s"),
        ("latency_us", -1200.4, "-1.20 ms"),
        ("n", 1284, "1,284"),
        ("num_rows", 10_000_000, "10,000,000 rows"),
        ("speedup", 3.2, "3.20x"),
        ("speedup", 1.0, "1x"),
        ("samples_per_s", 123_456.0, "123,456 examples/s"),
        ("samples_per_s", 2_345_678.9, "2.35M examples/s"),
        ("compression", 0.1, "0.1"),
        ("compression", 1.0, "1"),
        ("zipf_s", 1.05, "1.05"),
        ("threads", 1, "1 thread"),
        ("threads", 4, "4 threads"),
        ("duration_s", 90.0, "90 s"),
        ("duration_s", 7200.0, "2 h"),
        ("max_abs_error", 1.19e-7, "1.2e-07"),
        ("is_baseline", True, "yes"),
        ("method", "dense", "dense"),
        ("auc", None, NO_VALUE),
        ("auc", float("nan"), "NaN"),
        ("latency_us", float("inf"), "∞"),
        ("anything", 12.3456, "12.3"),
        ("anything", 2**80, "1.21e+24"),
    ],
)
def test_values_read_like_a_person_would_write_them(column, value, text):
    assert format_value(entry(column), value) == text


def test_a_measured_zero_keeps_its_sign_out():
    assert format_number(-0.0) == "0"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.02, "0.02"),
        (1024, "1,024"),
        (1e6, "1M"),
        (2.5e9, "2.5G"),
        (1e-05, "1e-05"),
        (0, "0"),
        (3e15, "3e+15"),
        (999.7e6, "1G"),
        (999.7e12, "1e+15"),
        (999.4e6, "999M"),
    ],
)
def test_ticks_are_short(value, text):
    assert format_tick(value) == text


@pytest.mark.parametrize(("value", "text"), [(0.1234, "0.123x"), (12.34, "12.3x"), (1500.4, "1,500x"), (1.0, "1x")])
def test_factors_have_no_exponent(value, text):
    assert format_factor(value) == text


def test_units_follow_their_number():
    assert with_unit("3", "") == "3"
    assert with_unit("1", "µs") == "1 µs"


@pytest.mark.parametrize(
    ("column", "value", "deviation", "text"),
    [
        ("auc", 0.78412, 0.00121, "0.7841 ± 0.0012"),
        ("auc", 0.78412, 0.00001, "0.7841 ± 1e-05"),
        ("auc", 0.78412, 0.0, "0.7841 ± 0.0000"),
        ("latency_us", 10.0, 0.4, "10.0 ± 0.4 µs"),
        ("latency_us", 1234.0, 50.0, "1.23 ± 0.05 ms"),
        ("memory_mb", 512.0, 3.0, "512 ± 3 MB"),
        ("samples_per_s", 2.5e6, 4e4, "2.5M ± 40,000 examples/s"),
        ("max_abs_error", 1.2e-7, 3e-8, "1.2e-07 ± 3e-08"),
    ],
)
def test_a_deviation_has_the_unit_and_places_of_its_mean(column, value, deviation, text):
    assert format_spread(entry(column), value, deviation) == text


@pytest.mark.parametrize(
    ("column", "value", "text"),
    [
        ("method", "hashed", "hashed"),
        ("method", "", "empty method"),
        ("dataset", None, "no data set"),
        ("batch_size", 2048, "batch size 2,048"),
        ("compression", 0.1, "compression 0.1"),
        ("is_baseline", True, "is baseline"),
        ("is_baseline", False, "not is baseline"),
    ],
)
def test_values_name_rows(column, value, text):
    assert describe(entry(column), value) == text


def test_text_from_data_is_one_line_without_invisible_characters():
    assert plain_text("a\n\tb\x1b[31m\u202ec\u200b") == "a b [31m c"
    assert plain_text("x" * 100) == "x" * 59 + "…"
    assert plain_text("x" * 100, 10) == "x" * 9 + "…"


@pytest.mark.parametrize("name", ["year", "model_year", "Release Year", "releaseYear"])
def test_years_have_no_thousands(name):
    (column,) = result_table((name,), ((1995,),)).columns
    assert format_value(column, 1995) == "1995"

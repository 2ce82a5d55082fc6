"""Charts in words: what somebody hears who does not see them."""

from result_tables import BY_COMPRESSION, TRADE_OFF, by_compression, trade_off

from mirror.chart.chart_spec import ChartSpec
from mirror.chart.chart_words import in_words
from mirror.chart.choose import choose
from mirror.table.table import plain_table


def test_axes_units_colours_and_panels_are_told() -> None:
    table = trade_off("a", "b")
    said = in_words(choose(table, TRADE_OFF), table)
    assert said == ("Scatter plot of AUC against memory (MB), 12 rows; colour tells method; 2 panels by data set.")
    table = by_compression("a")
    assert in_words(choose(table, BY_COMPRESSION), table) == "Line chart of AUC by compression, 6 rows."


def test_every_kind_has_words() -> None:
    table = plain_table(("a", "b", "c"), [("x", "p", 1.0), ("x", "q", 2.0), ("y", "p", 3.0)])
    assert in_words(ChartSpec("heatmap", "a", "b", "c"), table) == "Heat map of c by a and b, 3 rows."
    assert in_words(ChartSpec("histogram", x="c"), table) == "Histogram of c, 3 rows."
    assert in_words(ChartSpec("bar", y="c"), table) == "Bar chart of c, 3 rows."

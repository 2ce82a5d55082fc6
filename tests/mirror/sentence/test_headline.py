"""Headlines: right by hand on small results, on one line, and with the facts under them."""

import pytest
from result_tables import (
    BEST,
    BY_BATCH,
    BY_COMPRESSION,
    FASTEST,
    TRADE_OFF,
    best,
    by_batch,
    by_compression,
    fastest,
    trade_off,
)

from mirror.chart.choose import choose
from mirror.query.spec import Filter, Metric, QuerySpec
from mirror.schema.result_columns import result_table
from mirror.sentence.headline import MOST_FACTS, Headline, headline
from mirror.sentence.summary import summarize
from mirror.table.table import plain_table


def told(table, spec=None) -> Headline:
    chart = choose(table, spec)
    return headline(table, spec, chart, summarize(table, spec, chart))


def test_a_trade_off_tells_what_is_kept_and_paid() -> None:
    found = told(trade_off("frappe"), TRADE_OFF)
    assert found.text == "hashed keeps the most AUC: 0.0100 below dense at 0.1x its memory (median of 1 configuration)."
    assert found.columns == ("against dense", "memory", "AUC", "configurations")
    assert found.facts == (("hashed", "0.1x", "−0.0100", "1"), ("small_dim", "0.2x", "−0.0300", "1"))
    assert found.limits == "Rests on 6 trials of 3 configurations."
    alone = trade_off("frappe")
    alone = alone.kept(m != "small_dim" for m in alone.values("method"))
    assert told(alone, TRADE_OFF).text == (
        "hashed: AUC 0.0100 below dense at 0.1x its memory (median of 1 configuration)."
    )


def test_a_ranking_tells_the_first_and_the_next() -> None:
    found = told(fastest(), FASTEST)
    assert found.text == "Lowest latency 10 µs: dense at dim 16; the next has 12.5 µs."
    assert [fact[:2] for fact in found.facts] == [("dense", "10 µs"), ("hashed", "12.5 µs"), ("dense", "40 µs")]


def test_firsts_of_different_work_are_counted() -> None:
    found = told(best(), BEST)
    assert "kinds of work" in found.text
    assert found.columns[1:] == ("AUC", "first")


def test_lines_tell_the_better_end_of_each() -> None:
    found = told(by_batch(), BY_BATCH)
    assert found.text.startswith("Lowest latency 6.40 µs: dense at batch size 64")
    assert [fact[0] for fact in found.facts] == ["dense", "hashed"]
    found = told(by_compression("a", "b"), BY_COMPRESSION)
    assert found.text == "Highest AUC: 0.7500 on a and 0.7500 on b."  # different data are not ranked together


def test_speedups_tell_their_mean_and_how_often_faster() -> None:
    spec = QuerySpec(
        "groups",
        (Metric("speedup", "avg"),),
        ("batch_size",),
        filters=(Filter("method", "=", ("hashed",)),),
        verdicts=True,
    )
    rows = ((64, 4.0, "faster", 1), (512, 1.0, "same", 1))
    found = told(result_table(("batch_size", "speedup", "verdict", "n"), rows), spec)
    assert found.text == (
        "hashed is 2x as fast as the baseline (geometric mean of 1x to 4x), faster in 1 of 2 configurations."
    )
    assert found.facts == (("64", "4x", "4x", "1 of 1"), ("512", "1x", "1x", "0 of 1"))


def test_other_data_have_a_headline_too() -> None:
    rows = [(f"country {i}", float(i)) for i in range(1, 10)]
    found = told(plain_table(("country", "revenue"), rows))
    assert found.text == "Highest “revenue” 9: country 9."
    assert len(found.facts) == MOST_FACTS
    assert found.left == 9 - MOST_FACTS


@pytest.mark.parametrize("rows", [(), (("a", None),)])
def test_without_numbers_the_sentence_is_the_headline(rows: tuple) -> None:
    table = plain_table(("name", "value"), rows)
    chart = choose(table, None)
    summary = summarize(table, None, chart)
    assert headline(table, None, chart, summary).text == summary


def test_a_full_stop_within_a_value_ends_no_sentence() -> None:
    table = plain_table(("city", "No. Sold"), (("St. Louis", 9.0), ("J. Smith Park", 3.0)))
    summary = "St. Louis: highest No. Sold 9. J. Smith Park has the lowest, 3. Rests on 2 rows."
    found = headline(plain_table(table.names, table.rows[:0]), None, None, "St. Louis is first. Rests on 2 rows.")
    assert found.text == "St.", "a value that is not there is not known"
    assert headline(table.kept([True, True]), None, None, summary).limits == "Rests on 2 rows."
    single = plain_table(("city", "amount"), (("St. Louis", 9.0),))
    assert headline(single, None, None, "St. Louis: highest amount 9.").text == "St. Louis: highest amount 9."


def test_all_that_is_not_there_is_told() -> None:
    absent = "One machine has measured this: m; there is no other to compare it with. There is no row for b."
    found = headline(plain_table(("name", "value"), ()), None, None, f"{absent} Mean 3. Rests on 2 rows.")
    assert found.text == "Mean 3."
    assert found.limits == f"{absent} Rests on 2 rows."

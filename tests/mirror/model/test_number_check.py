"""Which numbers of a text a result supports: in any unit, rounded, in words; and none that it does not hold."""

import pytest
from result_tables import BEST, BY_BATCH, BY_COMPRESSION, FASTEST, TRADE_OFF, best, by_batch, by_compression, fastest
from result_tables import trade_off as trade_off_of

from mirror.answer.answering import ask
from mirror.chart.choose import choose
from mirror.model.number_check import unsupported
from mirror.schema.result_columns import result_table
from mirror.sentence.summary import summarize
from mirror.table.table import Table

TABLE = result_table(
    (
        "method", "dataset", "latency_us", "latency_p99_us", "memory_mb", "auc", "noise", "compression", "batch_size",
        "bandwidth_gb_s", "p99_over_median", "failed_percent", "n", "started_at",
    ),
    (
        ("dense", "ml-206k", 1196.4, 2400.0, 3210.0, 0.7841, 0.0, 1.0, 512, 12.5, 2.006, 12.4, 3, "2026-11-03T12:04"),
        ("hashed", "ml-206k", 4980.0, 9000.0, 0.321, -0.0067, 0.2, 0.1, 512, 0.75, 1.807, 0.4, 3, "2026-11-14"),
    ),
)  # fmt: skip
COMPUTED = "dense has the lowest latency: 1.20 ms; next is hashed with 4.98 ms (0.24x). Rests on 6 trials in 2 rows."


def check(text: str, table: Table = TABLE, computed: str = COMPUTED) -> tuple[str, ...]:
    return unsupported(text, table, computed)


@pytest.mark.parametrize(
    "text",
    [
        # as it is, rounded, in another unit
        "0.7841", "0.784", "0.78", "0.8", "78.41 %", "78.4%", "78 percent", "78 per cent",
        "1196.4 µs", "1,196 us", "1.196 ms", "1.20 ms", "1.2 ms", "0.0012 s", "1196 microseconds",
        "1.2e3 µs", "1.2e-3 s",
        "3.21 GB", "3,210 MB", "3.2 GB", "321 kB", "0.32 MB", "0.321 mb", "321,000 bytes",
        "12.5 GB/s", "750 MB/s", "0.75 GB/s",
        "20 %", "0.2", "10 %", "0.1", "12 %", "12.4 percent", "0.4%",
        # without a unit as the table shows it; with that of the next one
        "1196", "4,980", "1.20 and 4.98 ms", "1.2 to 5 ms", "between 1.2 and 5 ms", "4.98 against 1.20 ms",
        "batch size 512 and 1.2 ms", "512, 1.2 ms",
        # signs
        "-0.0067", "\u22120.0067", "0.0067 lower",
        # ratios of the summary and of columns that nobody knows the unit of
        "0.24x", "0.24 times", "0.24 ×", "2.01x", "2.0", "1.8 times", "a quarter of", "twice", "double", "twofold",
        "two times", "a fifth of", "a tenth of", "half-precision",
        # counts, places, dates
        "6 trials", "six trials", "2 rows", "two rows", "two methods", "2 methods", "one data set", "1 data set",
        "3 trials each", "2 groups", "first", "second", "2nd", "1st",
        "2026-11-03", "2026-11-03 12:04", "2026-11-03T12:04", "12:04", "3 November 2026", "on November 3rd",
        "14 Nov 2026", "in 2026", "November 2026",
        # names
        "ml-206k", "ML-206k's", "p99", "the 99th percentile", "p99_over_median", "latency_p99_us",
        # no numbers at all
        "", "dense is fastest", "one of them", "both", "per second", "the only one",
    ],
)  # fmt: skip
def test_what_the_result_holds_is_supported(text):
    assert check(text) == ()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        # other numbers, and roundings that are wrong or too far
        ("0.7842", "0.7842"), ("0.79", "0.79"), ("79 %", "79 %"), ("0.785", "0.785"), ("1 ms", "1 ms"),
        ("1.3 ms", "1.3 ms"), ("1.19 ms", "1.19 ms"), ("0.001 s", "0.001 s"), ("1,201 µs", "1,201 μs"), ("2.1", "2.1"),
        # the right number in the wrong unit
        ("1196 ms", "1196 ms"), ("0.7841 ms", "0.7841 ms"), ("0.7841 %", "0.7841 %"), ("321 KiB", "321 KiB"),
        ("3.21 MB", "3.21 MB"), ("512 µs", "512 μs"), ("512 %", "512 %"), ("0.1x", "0.1x"), ("10x", "10x"),
        ("100 %", "100 %"), ("0.24 %", "0.24 %"), ("12.5 GB", "12.5 GB"), ("78 pp of 78.5 %", "78.5 %"),
        # nothing is no rounding of something
        ("0.00 s", "0.00 s"), ("0 µs", "0 μs"), ("0 GB", "0 GB"),
        # signs
        ("-0.7841", "-0.7841"), ("+78 % and -78 %", "-78 %"),
        # in words
        ("three times", "three times"), ("tenfold", "tenfold"), ("triple", "triple"), ("a third of", "a third of"),
        ("two thirds", "two thirds"), ("half of", "half of"), ("half the", "half the"),
        ("an order of magnitude", "order"),
        ("twenty-four", "twenty-four"), ("two hundred", "two hundred"), ("dozens", "dozens"), ("seven", "seven"),
        ("thousands of", "thousands"), ("SEVEN", "SEVEN"), ("halved", "halved"),
        # counts are exact and of the right things
        ("7 trials", "7"), ("512 trials", "512"), ("5 rows", "5"), ("3 methods", "3"), ("three methods", "three"),
        ("2 data sets", "2"), ("3 seeds", "3"), ("4 machines", "4"), ("12 faster lines", "12"),
        ("0.5 of results", "0.5"),
        # places and dates that there are not
        ("3rd", "3rd"), ("third", "third"), ("the tenth row", "tenth"), ("90th percentile", "90th percentile"),
        ("p42", "p42"),
        ("5 November 2026", "5 November 2026"), ("3 November 2025", "3 November 2025"), ("31 February", "31 February"),
        ("2026-11-05", "2026-11-05"), ("2026-12-03", "2026-12-03"), ("12:05", "12:05"), ("in 2025", "2025"),
        # what is no plain number
        ("3/4", "3/4"), ("0,78", "0,78"), ("1.5.6", "1.5.6"), ("½", "1⁄2"), ("五", "五"), ("x2", "x2"),
        ("fp32", "fp32"),
        ("ml-207k", "207k"), ("10^-3", "10^-"), ("1e999", "1e999"), ("v2", "v2"), ("0x1F", "0x1F"), (".78", ".78"),
        ("7８", "78"), ("٧", "٧"), ("10⁻³", "10^-"), ("H2O", "H2O"), ("1:4", "1:4"), ("99.99.99", "99.99.99"),
    ],
)  # fmt: skip
def test_what_the_result_does_not_hold_is_found(text, found):
    unknown = check(f"dense needs {text}, it says.")
    assert unknown
    assert found in unknown[0]


def test_all_of_them_are_named_in_order_and_once():
    assert check("7 ms, then 8 ms, 7 ms, and 0.7841") == ("7 ms", "8 ms")


def test_a_text_cell_that_is_a_number_excuses_no_other():
    table = result_table(("code_version", "latency_us"), (("7", 12.5), ("ms", 99.0)))
    assert unsupported("7", table, "") == ()
    assert unsupported("7 ms", table, "") == ("7 ms",)
    assert unsupported("5 ms", table, "") == ("5 ms",)


def test_a_name_is_taken_out_as_a_whole_only():
    table = result_table(("machine", "latency_us"), (("node 5", 12.5), ("run 2 of 3", 99.0)))
    assert unsupported("node 5 and Run 2 of 3", table, "") == ()
    assert unsupported("node 56", table, "") == ("56",)
    assert unsupported("node 5.7", table, "") == ("5.7",)
    assert unsupported("node 5%", table, "") == ("5%",)


def test_rows_that_were_cut_are_not_counted():
    table = result_table(("method", "latency_us"), (("a", 1.5), ("b", 2.5)), truncated=True)
    assert unsupported("2 methods", table, "") == ("2",)
    assert unsupported("2 methods", table, "2 methods.") == ()


def test_values_that_are_no_numbers_are_none():
    table = result_table(("a", "b"), ((True, None), (float("nan"), float("inf")), (10**400, -0.0)))
    assert unsupported("1 nan inf 2.5", table, "") == ("1", "2.5")


def test_a_hostile_cell_does_not_break_the_search():
    table = result_table(("machine",), (("((([a-z]+)+)+$ \\1 5",), ("9" * 5000,), ("٣" * 100,), ("\ud800 5",)))
    assert unsupported("((([a-z]+)+)+$ \\1 5 and 6", table, "5") == ("6",)
    long = result_table(("machine", "latency_us"), tuple(("a" * 9000 + str(i), 1.5) for i in range(300)))
    assert unsupported("1.5 µs, not 2.5 " + "b" * 700, long, "") == ("2.5",)


@pytest.mark.parametrize(
    ("table", "spec"),
    [
        (trade_off_of("frappe"), TRADE_OFF),
        (trade_off_of("frappe", "ml-206k"), TRADE_OFF),
        (by_compression("frappe"), BY_COMPRESSION),
        (by_batch(), BY_BATCH),
        (fastest(), FASTEST),
        (best(), BEST),
    ],
)
def test_a_computed_summary_supports_itself(table, spec):
    computed = summarize(table, spec, choose(table, spec), failed=3)
    assert unsupported(computed, table, computed) == ()


def test_computed_summaries_of_real_answers_support_themselves(box):
    from mirror.schema import catalog

    for question in catalog.examples():
        answer = ask(question, sandbox=box, use_model=False)
        if answer.table:
            assert unsupported(answer.summary, answer.table, answer.summary) == (), answer.summary

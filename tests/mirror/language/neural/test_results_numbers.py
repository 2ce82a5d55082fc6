"""The numbers of questions over the results, each in the ways it may be meant."""

import pytest

from mirror.language.neural.results_numbers import (
    BYTES,
    INVERSE,
    RATE,
    RAW,
    REST,
    SECONDS,
    SHARE,
    TIME,
    numbers_of,
    plain,
)
from mirror.language.reading.lexemes import cut


def _said(question: str) -> list[tuple[float, str]]:
    return [(n.value, n.how) for n in numbers_of(cut(plain(question)))]  # type: ignore[misc]


@pytest.mark.parametrize(
    ("question", "numbers"),
    [
        ("a million rows", [1_000_000]), ("half a million rows", [500_000]), ("half million", [500_000]),
        ("a quarter of a million", [250_000]), ("half a dozen", [6]), ("a million and a half rows", [1_500_000]),
        ("two and a half million", [2_500_000]), ("twenty-six tables", [26]), ("1.5 million", [1_500_000]),
        ("sixteen thousand three hundred eighty-four", [16_384]), ("a hundred thousand", [100_000]),
        ("five hundred and twelve", [512]), ("one hundred twenty eight", [128]), ("two thousand", [2000]),
        ("ten million examples a second", [10_000_000]), ("a thousand", [1000]), ("a dozen", [12]),
        ("3 hundred thousand ids", [300_000]), ("million-row tables", [1_000_000]),
        ("one fiftieth", [0.02]), ("a fiftieth", [0.02]), ("a sixty-fourth", [0.015625]), ("a 64th of it", [0.015625]),
        ("one two-hundredth", [0.005]), ("a two-thousandth", [0.0005]), ("half", [0.5]),
        ("a tenth", [0.1]), ("a tenth may be kept", [0.1]),
        ("zero point zero five", [0.05]), ("half of the rows", [0.5]), ("a half or a tenth", [0.5, 0.1]),
        ("sixteen thirty-two sixty four", [16, 32, 64]), ("one, two and four threads", [1, 2, 4]),
        ("one or two", [1, 2]), ("eight or sixteen", [8, 16]), ("dims 8 16 32", [8, 16, 32]),
        ("which one is best", [1]), ("the best of 2026", [2026]), ("seed 1 in 2026", [1, 2026]),
        ("latency at d=64 b=512", [64, 512]), ("d16 B512", [16, 512]), ("l=2", [2]), ("l10", [10]),
        ("which machine has the largest L3 cache", []), ("operators that fit L2", []),
        ("a 1024 of it", [1024]),
        ("vectors of sixteen and a tenth of the parameters", [16, 0.1]),
        ("sixteen and a quarter of the parameters", [16, 0.25]), ("dim 16 and a million rows", [16, 1_000_000]),
        ("a hundred and a thousand", [100, 1000]), ("between five hundred and twelve hundred", [500, 1200]),
        ("double hashing", []), ("double-checking", []), ("tenth percentile", []), ("ninety-fifth percentile", []),
        ("p99", []),
        ("95th percentile", []), ("twelfth of October", []), ("hundreds of rows", []), ('"twenty six"', []),
    ],
)  # fmt: skip
def test_plain_numbers(question: str, numbers: list[float]) -> None:
    assert _said(question) == [(number, RAW) for number in numbers]


@pytest.mark.parametrize(
    ("question", "numbers"),
    [
        ("two and a half percent", [(0.025, SHARE), (0.975, REST), (2.5, RAW)]),
        ("twenty-six per cent", [(0.26, SHARE), (0.74, REST), (26, RAW)]),
        ("fifty percent smaller", [(0.5, SHARE), (0.5, REST), (50, RAW)]),
        ("90 % gone", [(0.9, SHARE), (0.1, REST), (90, RAW)]),
        ("a tenth of one percent", [(0.001, SHARE), (0.999, REST), (0.1, RAW)]),
        ("half a gigabyte", [(500, BYTES)]),
        ("twenty milliseconds", [(20_000, TIME), (0.02, SECONDS)]),
        ("3 GB/s", [(3, RATE)]), ("10 GB per second", [(10, RATE)]), ("10GB/sec", [(10, RATE)]),
        ("300 MB per second", [(0.3, RATE)]),
        ("sixteen times smaller", [(16, RAW), (0.0625, INVERSE)]),
        ("tenfold", [(10, RAW), (0.1, INVERSE)]),
        ("twice", [(2, RAW), (0.5, INVERSE)]),
        ("double the speed", [(2, RAW), (0.5, INVERSE)]),
        ("halved", [(0.5, RAW)]),
        ("three quarters", [(0.75, RAW), (0.25, REST)]),
        ("two thirds", [(0.666667, RAW), (0.333333, REST)]),
        ("four fifths are gone", [(0.8, RAW), (0.2, REST)]),
        ("a third or two fifths", [(0.333333, RAW), (0.4, RAW)]),
    ],
)  # fmt: skip
def test_numbers_with_units(question: str, numbers: list[tuple[float, str]]) -> None:
    assert _said(question) == numbers


@pytest.mark.parametrize(
    ("question", "numbers"),
    [
        ("5 or 25 percent",
         [(5, RAW), (0.05, SHARE), (0.95, REST), (0.25, SHARE), (0.75, REST), (25, RAW)]),
        ("5, 10 or 25 %",
         [(5, RAW), (0.05, SHARE), (0.95, REST), (10, RAW), (0.1, SHARE), (0.9, REST),
          (0.25, SHARE), (0.75, REST), (25, RAW)]),
        ("between 1 and 5 ms", [(1, RAW), (1000, TIME), (5000, TIME)]),
        ("1-5 ms", [(1, RAW), (1000, TIME), (5000, TIME)]),
        ("one to three milliseconds", [(1, RAW), (1000, TIME), (3000, TIME)]),
        ("5 to 10 GB/s", [(5, RAW), (5, RATE), (10, RATE)]),
        ("ten or twenty times smaller", [(10, RAW), (0.1, INVERSE), (20, RAW), (0.05, INVERSE)]),
        ("ten or twenty thousand rows", [(10, RAW), (10_000, RAW), (20_000, RAW)]),
        ("1 MB or 5 ms", [(1, BYTES), (5000, TIME)]),
        ("a tenth or 5 percent", [(0.1, RAW), (0.05, SHARE), (0.95, REST), (5, RAW)]),
        ("dim 16 under 5 ms", [(16, RAW), (5000, TIME)]),
        ("2 threads and 5 ms", [(2, RAW), (5000, TIME)]),
        ("512 5 ms", [(512, RAW), (5000, TIME)]),
    ],
)  # fmt: skip
def test_a_unit_behind_a_list_is_that_of_all(question: str, numbers: list[tuple[float, str]]) -> None:
    assert _said(question) == numbers


@pytest.mark.parametrize(
    ("question", "numbers"),
    [
        ("nineteen in twenty", [(0.95, SHARE), (0.05, REST)]),
        ("95 out of 100", [(0.95, SHARE), (0.05, REST)]),
        ("one in ten", [(0.1, SHARE), (0.9, REST)]),
        ("nine out of every ten", [(0.9, SHARE), (0.1, REST)]),
        ("3 of 10", [(3, RAW), (10, RAW), (0.3, SHARE), (0.7, REST)]),
        ("top 3 out of 10", [(3, RAW), (10, RAW), (0.3, SHARE), (0.7, REST)]),
        ("which one in 64", [(1, RAW), (64, RAW), (0.015625, SHARE), (0.984375, REST)]),
        ("20 in 10", [(20, RAW), (10, RAW)]),
        ("2 in 10 ms", [(2, RAW), (10_000, TIME), (0.01, SECONDS)]),
        ("embeddings of 16 in batches of 64", [(16, RAW), (64, RAW)]),
    ],
)
def test_so_many_in_so_many(question: str, numbers: list[tuple[float, str]]) -> None:
    assert _said(question) == numbers


@pytest.mark.parametrize(
    ("question", "numbers"),
    [
        ("4 k", [(4, RAW), (4000, RAW)]),
        ("512 min latency", [(512, RAW), (30_720_000_000, TIME), (30_720, SECONDS)]),
        ("under 10 min on frappe", [(600_000_000, TIME), (600, SECONDS)]),
        ("16 and a half", [(16, RAW), (0.5, RAW), (16.5, RAW)]),
    ],
)
def test_what_may_be_two_things_is_both(question: str, numbers: list[tuple[float, str]]) -> None:
    assert _said(question) == numbers


def test_a_number_takes_its_words_and_its_unit() -> None:
    numbers = numbers_of(cut(plain("tables of two and a half million rows at three hundred and ten us")))
    assert [(n.start, n.end) for n in numbers] == [(2, 7), (9, 14)]


@pytest.mark.parametrize("text", ["1" * 10_000, "a 1" + "1" * 10_000 + "th of", "1" * 10_000 + " tenths", "one " * 300])
def test_odd_texts_break_nothing(text: str) -> None:
    assert len(_said(text)) <= 300


@pytest.mark.parametrize(
    ("text", "values"),
    [("batch size 2,048", [2048]), ("batch size 16,384", [16384]), ("batch sizes 64,512", [64, 512]),
     ("1,000 rows", [1000]), ("1,048 rows", [1048]), ("compression point one", [0.1]),
     ("zero point zero five", [0.05]),
     ("seeds 0,1,2", [0, 1, 2]), ("seeds 0,1", [0, 1]), ("seeds=0,1", [0, 1]), ("0,1 kept", [0.1])],
)  # fmt: skip
def test_commas_of_thousands_and_points_in_words(text: str, values: list[float]) -> None:
    assert [n.value for n in numbers_of(cut(plain(text)))] == values

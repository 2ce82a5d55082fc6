"""Numbers spelled in words."""

import pytest

from mirror.language.phrases import spelled_numbers


def _alone(said: str) -> list[float]:
    """The whole numbers of a text, one behind the other."""
    words, found, at = said.split(), [], 0
    while at < len(words):
        number = spelled_numbers.cardinal(words, at)
        found += [number.value] if number else []
        at = number.end if number else at + 1
    return found


@pytest.mark.parametrize(
    ("said", "numbers"),
    [
        ("zero", [0]), ("twenty six", [26]), ("hundred", [100]), ("a hundred thousand", [100_000]),
        ("one hundred twenty eight", [128]), ("five hundred and twelve", [512]), ("twelve hundred", [1200]),
        ("sixteen thousand three hundred eighty four", [16_384]), ("two thousand and forty eight", [2048]),
        ("one million two hundred thousand", [1_200_000]), ("three billion", [3e9]), ("thousand", [1000]),
        ("two dozen", [24]), ("a hundred and ten thousand", [110_000]),
        ("sixteen thirty two sixty four", [16, 32, 64]), ("one two four", [1, 2, 4]), ("twenty ten", [20, 10]),
        ("one or two", [1, 2]), ("one hundred two hundred", [100, 200]), ("one thousand two thousand", [1000, 2000]),
        ("ten thousand hundred thousand", [10_000, 100_000]), ("a thousand and a million", [1000, 1_000_000]),
        ("five hundred and two hundred", [500, 200]), ("two thousand and ten thousand", [2000, 10_000]),
        ("between five hundred and twelve", [500, 12]), ("five and twelve", [5, 12]),
        ("hundreds of thousands", []), ("often someone", []), ("and point", []),
    ],
)  # fmt: skip
def test_words_side_by_side_are_one_number_where_they_make_one(said: str, numbers: list[float]) -> None:
    assert _alone(said) == numbers


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("half", 1 / 2), ("one half", 1 / 2), ("tenth", 1 / 10), ("three quarters", 3 / 4), ("2 thirds", 2 / 3),
        ("one fiftieth", 1 / 50), ("sixty fourth", 1 / 64), ("three sixty fourths", 3 / 64), ("sixteenth", 1 / 16),
        ("one two hundredth", 1 / 200), ("two hundredths", 2 / 100), ("two thousandth", 1 / 2000),
        ("one hundred twenty eighth", 1 / 128), ("twenty five hundredths", 1 / 4), ("one thirty second of", 1 / 32),
        ("one twenty first of", 1 / 21), ("second", None), ("thirty seconds", None), ("one thirty second run", None),
        ("two third", None), ("first of", None), ("ten", None), ("one second of", None),
    ],
)  # fmt: skip
def test_parts_of_a_whole(said: str, value: float | None) -> None:
    part = spelled_numbers.part(said.split(), 0)
    assert (part and part.value) == (value and pytest.approx(value))


@pytest.mark.parametrize(
    ("said", "times"),
    [("twice", 2), ("double", 2), ("tenfold", 10), ("hundredfold", 100), ("double hashing", 0), ("doubled up", 0),
     ("fold", 0), ("manifold", 0)],
)  # fmt: skip
def test_how_many_times_as_much(said: str, times: float) -> None:
    assert spelled_numbers.multiple(said.split(), 0) == times

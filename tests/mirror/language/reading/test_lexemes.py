"""Tokens of a question."""

import pytest

from mirror.language.reading.lexemes import cut


@pytest.mark.parametrize(
    ("said", "numbers"),
    [
        ("seven", [7]), ("sixteen", [16]), ("ninety", [90]), ("a dozen", [None, 12]), ("hundred", [100]),
        ("2 thousand", [2000]), ("5k", [5000]), ("1.5 million", [1_500_000]), ("thousand islands", [None, None]),
        ("sevenths", [None]),
    ],
)  # fmt: skip
def test_numbers_of_tokens(said: str, numbers: list[int | None]) -> None:
    assert [token.number for token in cut(said)] == numbers

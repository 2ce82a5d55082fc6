"""Text for a terminal: what prints stays, what does not becomes a space."""

import pytest

from db.plain_text import printable


@pytest.mark.parametrize("text", ["", "AMD EPYC, 2 cores", "Größe µs → 数", "it's 100 %"])
def test_what_prints_stays(text: str) -> None:
    assert printable(text) == text


@pytest.mark.parametrize(
    "character", ["\x00", "\x1b", "\n", "\r", "\x7f", "\x9b", "\u200b", "\u202e", "\u2066", "\u2028"]
)
def test_what_does_not_print_becomes_a_space(character: str) -> None:
    assert printable(f"a{character}b") == "a b"


def test_lines_of_a_long_text_are_kept_when_asked() -> None:
    assert printable("a\nb\x1bc", keep="\n") == "a\nb c"

"""Words that are too short or too long to be meant are left out, and no other one."""

import difflib

import pytest

from mirror.words.close_words import close_words

KNOWN = ("compression", "compressed", "latency", "late", "lookup", "lookups", "dense", "dens", "", "hashed", "a")


@pytest.mark.parametrize("word", ["compresion", "latncy", "lookpu", "dence", "hash", "", "x" * 40, "lookup"])
@pytest.mark.parametrize("cutoff", [0.5, 0.7, 0.8, 0.82, 0.9])
def test_nothing_that_is_close_is_left_out(word: str, cutoff: float) -> None:
    assert close_words(word, KNOWN, 2, cutoff) == difflib.get_close_matches(word, KNOWN, 2, cutoff)

"""Words that mean alike have vectors alike; what is not known is like nothing."""

import numpy as np
import pytest

from mirror.language.neural.likeness import axes, likeness, vectors_of
from mirror.language.reading.lexemes import stem


@pytest.mark.parametrize(
    ("word", "like", "unlike"),
    [
        ("heavy", "weight", "city"),
        ("movie", "film", "salary"),
        ("wage", "salary", "film"),
        ("physician", "doctor", "price"),
        ("old", "age", "price"),
        ("late", "delay", "colour"),
    ],
)
def test_words_alike(word: str, like: str, unlike: str) -> None:
    one, near, far = vectors_of([stem(word), stem(like), stem(unlike)])
    assert one @ near > 0.4 > one @ far


def test_unknown_words_are_like_nothing() -> None:
    assert not vectors_of(["qzxv", "", "17"]).any()


def test_words_of_the_question_are_compared_with_names_alone() -> None:
    means, alike = likeness((("movi",), ("zzz",), (stem("film"), "id"), ()), tokens=2)
    assert means.shape == (4, axes())
    assert alike[0, 2] == alike[2, 0] > 0.5
    assert not alike[:2, :2].any()
    assert not alike[1].any()
    assert not alike[3].any()
    assert np.all((alike >= 0) & (alike <= 1))

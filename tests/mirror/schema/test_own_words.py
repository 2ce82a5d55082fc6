"""Parts of the names of machines, which people choose, as words of a question."""

import pytest

from mirror.language.neural.results_phrases import Phrases
from mirror.language.reading.lexemes import stems


def _machines(text: str, *machines: str) -> set[object]:
    """The machines that a phrase may name."""
    phrases = Phrases({"machine": machines}, (), ())
    return {link.value for link in phrases.at(stems(text)) if link.kind == "val"}


def test_a_part_of_a_name_that_one_machine_has_names_it() -> None:
    assert _machines("epyc", "epyc-01", "laptop") == {"epyc-01"}


def test_a_part_of_several_names_names_them_all() -> None:
    assert _machines("epyc", "epyc-01", "epyc-03") == {("epyc-01", "epyc-03")}
    assert _machines("cores", "amd-epyc-2-cores", "intel-xeon-2-cores") == set()
    assert _machines("epyc", "epyc", "epyc-03") == {"epyc", ("epyc", "epyc-03")}


@pytest.mark.parametrize("name", ["old thinkpad", "epyc-01"])
def test_a_whole_name_is_known(name: str) -> None:
    assert name in _machines(name, "old thinkpad", "epyc-01")

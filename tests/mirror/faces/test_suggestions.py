"""What is suggested while a question is typed."""

from mirror.faces import suggestions
from mirror.schema import catalog
from mirror.schema.profile import Profile


def test_earlier_questions_come_first_the_newest_of_all_and_each_once() -> None:
    example = catalog.examples()[0]
    found = suggestions.questions(("saved one",), ("first", "second", example), catalog.examples())
    assert found[:4] == (example, "second", "first", "saved one")
    assert len(found) == len(set(found)) == 3 + len(catalog.examples())


def test_words_are_of_what_the_results_hold() -> None:
    profile = Profile(
        distinct={"method": ("dense", "hashed"), "batch_size": (1, 64)},
        filled_metrics={"lookup": frozenset({"latency_us"})},
    )
    found = suggestions.words(profile)
    assert {"latency", "batch size", "method", "hashed"} <= set(found)
    assert "AUC" not in found
    assert "64" not in found

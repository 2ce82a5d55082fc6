"""The glossary: the words of the results are in it, and those of a text are found."""

from bench_engine.registry import METHODS
from mirror.schema import catalog
from mirror.words.glossary import found_in, terms


def test_no_term_stands_there_twice() -> None:
    names = [name.casefold() for t in terms() for name in {t.term.casefold(), *map(str.casefold, t.also)}]
    assert len(names) == len(set(names))


def test_what_questions_on_the_first_page_name_is_explained() -> None:
    named = {t.term for t in found_in((*catalog.cards(), *catalog.examples()))}
    assert {"dense", "hashed", "fiited", "parallel_op", "compression", "AUC", "memory", "batch size"} <= named
    assert {name for t in terms() for name in (t.term, *t.also)} & set(METHODS) >= {"dense", "hashed", "fiited"}


def test_words_are_found_whole_and_in_any_case() -> None:
    assert [t.term for t in found_in(["the auc of HASHED"])] == ["hashed", "AUC"]
    assert found_in(["splitting a sweeper"]) == ()

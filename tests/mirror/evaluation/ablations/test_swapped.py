"""A substitute stands wherever the original is used, and nothing of it is left afterwards."""

import sys
from types import ModuleType

import pytest

from mirror.evaluation.ablations.swapped import Swap, swapped, watched
from mirror.language.reading import covers, lexemes, linking
from mirror.language.reading.linking import Linker
from tests.mirror.language.reading.library import DATABASE


def test_stands_in_every_module_that_imported_it_and_is_gone_afterwards() -> None:
    original = lexemes.stem
    with swapped([Swap(lexemes, "stem", lambda _: str.upper)]):
        assert lexemes.stem is linking.stem is str.upper
        assert lexemes.cut("books")[0].stem == "BOOKS"
    assert lexemes.stem is linking.stem is original
    assert lexemes.cut("books")[0].stem == "book"


def test_is_gone_after_an_error_too() -> None:
    original = Linker.corrected

    def fails() -> None:
        with swapped([Swap(Linker, "corrected", lambda _: lambda *_: ())]):
            assert Linker.corrected is not original
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    assert Linker.corrected is original


def test_is_gone_from_a_module_that_was_first_loaded_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    original, late = lexemes.stem, ModuleType("mirror.late")
    with swapped([Swap(lexemes, "stem", lambda _: str.upper)]):
        late.stem = lexemes.stem  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "mirror.late", late)
    assert late.stem is original  # type: ignore[attr-defined]


def test_what_was_kept_is_forgotten_on_the_way_in_and_out() -> None:
    before = covers.linker_of(DATABASE)
    assert covers.linker_of(DATABASE) is before
    with swapped([]):
        within = covers.linker_of(DATABASE)
        assert within is not before
    assert covers.linker_of(DATABASE) is not within


def test_several_stand_in_one_place_one_around_the_other() -> None:
    first = Swap(lexemes, "stem", lambda inner: lambda word: inner(word) + "a")
    second = Swap(lexemes, "stem", lambda inner: lambda word: inner(word) + "b")
    with swapped([first, second]):
        assert lexemes.stem("books") == "bookab"
    assert lexemes.stem("books") == "book"


def test_an_original_that_is_gone_is_an_error() -> None:
    with pytest.raises(KeyError, match="no_such"), swapped([Swap(lexemes, "no_such", lambda _: None)]):
        pass


def test_watching_changes_nothing_and_tells_where_the_substitute_would_have() -> None:
    seen: set[str] = set()
    short = Swap(lexemes, "stem", lambda _: lambda word: word[:4])
    with swapped([watched("short", short, seen)]):
        assert lexemes.stem("book") == "book"
        assert seen == set()
        assert lexemes.stem("books") == "book"
        assert seen == set()
        assert lexemes.stem("members") == "member"
        assert seen == {"short"}


def test_watching_tells_errors_apart() -> None:
    def fails(word: str) -> str:
        raise ValueError(word)

    seen: set[str] = set()
    with swapped([watched("fails", Swap(lexemes, "stem", lambda _: fails), seen)]):
        assert lexemes.stem("books") == "book"
    assert seen == {"fails"}
    failing = Swap(lexemes, "stem", lambda _: fails)
    with swapped([failing, watched("same", failing, seen)]), pytest.raises(ValueError, match="books"):
        lexemes.stem("books")
    assert seen == {"fails"}

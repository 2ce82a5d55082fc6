"""Every file of words of the reader is well-formed, and each entry is read as its examples say."""

from collections import Counter
from datetime import datetime
from typing import Any

import pytest
import yaml

from db.installation import ROOT
from mirror.language.reading.covers import spans_of
from mirror.language.reading.cues import abbreviations, cues, irregular, kinds, synonyms
from mirror.language.reading.lexemes import cut, of_kind, stem
from mirror.language.reading.linking import Linker, name_stems
from mirror.language.reading.reading import readings
from mirror.schema.database import Column, Database, Relation
from tests.mirror.language.reading.library import DATABASE

FOLDER = ROOT / "mirror" / "words" / "reading"
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
FILES = {path.stem: yaml.load(path.read_text(), LOADER) for path in FOLDER.glob("*.yaml")}
EMPTY = Linker(Database("duckdb", "nothing", ()))


def meanings(text: str) -> set[tuple[str, str, tuple[str, ...]]]:
    """The cues that stand somewhere in a text: kind, meaning, and the words of columns that one asks for."""
    spans = [s for here in spans_of(cut(text), [], EMPTY) for s in here]
    return {(s.cue.kind, s.cue.meaning, s.cue.of) for s in spans if s.cue}


def names(entry: dict[str, Any]) -> str:
    return " ".join(str(entry.get(k, "")) for k in ("kind", "meaning")) or ", ".join(entry["of"][:2])


def test_the_files_are_those_that_are_read() -> None:
    assert set(FILES) == {"cues", "measures", "synonyms", "abbreviations", "irregular", "kinds"}


@pytest.mark.parametrize("entry", FILES["cues"], ids=names)
def test_a_cue_is_read_as_its_examples_say(entry: dict[str, Any]) -> None:
    wanted = (entry["kind"], str(entry["meaning"]), ())
    assert all(wanted in meanings(text) for text in entry["examples"])
    assert not any(wanted in meanings(text) for text in entry["not"])
    for phrase in entry["phrases"]:
        assert isinstance(phrase, str), phrase
        assert phrase == " ".join(phrase.lower().split()), phrase
        assert wanted in meanings(phrase), phrase
    assert max(Counter(entry["phrases"]).values()) == 1


@pytest.mark.parametrize("entry", FILES["measures"], ids=lambda e: ", ".join(e["of"][:2]))
def test_a_measure_word_asks_for_its_columns(entry: dict[str, Any]) -> None:
    of = tuple(entry["of"])
    for kind, meaning, among in (("adj", "max", "high"), ("adj", "min", "low"), ("measure", "value", "how")):
        for phrase in entry[among]:
            assert (kind, meaning, of) in meanings(phrase), phrase
    assert all(of in {asked for *_, asked in meanings(text)} for text in entry["examples"])
    assert not any(of in {asked for *_, asked in meanings(text)} for text in entry["not"])


@pytest.mark.parametrize("circle", FILES["synonyms"], ids=lambda c: str(c[0]))
def test_a_table_is_found_by_the_synonyms_of_its_name(circle: list[str]) -> None:
    assert len(set(circle)) == len(circle) > 1
    first = next(word for word in circle if len(word.split()) == 1)
    linker = Linker(Database("duckdb", "one", (Relation(first, (Column("x", "integer"),)),)))
    for word in circle:
        if len(word.split()) == 1:
            assert [link.table for link in linker.at((stem(word),)) if link.kind == "rel"] == [first], word
    assert linker.at((stem("zeppelin"),)) == ()


def test_short_forms_in_names_are_written_out() -> None:
    assert abbreviations()["qty"] == "quantity"
    for short, full in abbreviations().items():
        assert name_stems(f"{short}_x")[:-1] == tuple(stem(w) for w in full.split()), short
    assert name_stems("quilt_x") != name_stems("quantity_x")


def test_forms_that_no_ending_gives_away_share_a_stem() -> None:
    for base, forms in irregular().items():
        assert {stem(form) for form in forms} == {stem(base)}, base
    assert stem("sold") == stem("sells") == stem("sales") != stem("soldier")


def test_kinds_of_names_are_those_that_are_asked_for() -> None:
    assert set(kinds()) == {"people", "many", "price", "end", "life", "prose", "gender", "weak"}
    assert stem("customers") in of_kind("people")
    assert stem("invoice") not in of_kind("people")


def test_all_phrases_are_words_of_a_question() -> None:
    assert all(phrase for phrase in cues())
    assert all(synonyms()[word] for word in synonyms())
    assert readings("how many members", DATABASE, datetime(2025, 6, 15))[0].cover.skipped == ()

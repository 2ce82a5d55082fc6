"""Every file of words is well-formed, says no two things by one phrase, and is read as its examples say."""

import fnmatch
import tomllib
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from mirror.language.neural.results_items import results_items
from mirror.language.phrases import written_numbers
from mirror.language.requests import action_words
from mirror.schema.profile import Profile
from mirror.words import phrasebook
from mirror.words.phrasebook import EVERYWHERE, Entry

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "mirror" / "words"
KINDS = sorted(path.stem for path in FOLDER.glob("*.yaml") if path.stem != "catalog")
SEVERAL_MEANINGS = ("names", "follow_ups")  # what a word of a name tells may be several things
CASED = ("units",)
NOW = datetime(2026, 11, 18, 12)


def means(entry: Entry, text: str) -> bool:
    """Whether a text asks for a run as an entry says."""
    request = action_words.REQUEST.match(text)
    return request is not None and request.lastgroup == entry.meaning


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_is_well_formed(kind: str) -> None:
    assert phrasebook.entries(kind)
    for entry in phrasebook.entries(kind):
        assert entry.phrases, entry
        assert max(Counter(entry.phrases).values()) == 1, entry
        for text in (*entry.phrases, *entry.examples, *entry.others):
            assert isinstance(text, str), entry
            assert text == " ".join(text.split()) != "", entry
        assert kind in CASED or all(phrase == phrase.lower() for phrase in entry.phrases), entry


@pytest.mark.parametrize("kind", KINDS)
def test_any_reader_of_yaml_takes_a_phrase_for_text(kind: str) -> None:
    def texts(found: Any) -> list[Any]:
        return [phrase for meanings in found.values() for said in meanings.values() for phrase in lists(said)]

    def lists(said: Any) -> list[Any]:
        return said if isinstance(said, list) else [text for part in said.values() for text in part]

    read = texts(yaml.safe_load((FOLDER / f"{kind}.yaml").read_text(encoding="utf-8")))
    assert [phrase for phrase in read if not isinstance(phrase, str)] == []


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in SEVERAL_MEANINGS])
def test_a_phrase_means_one_thing_within_its_kind(kind: str) -> None:
    for section in {entry.section for entry in phrasebook.entries(kind)}:
        among = phrasebook.phrases(kind, *{section, EVERYWHERE})
        counted = Counter(phrase for phrases in among.values() for phrase in set(phrases))
        assert [phrase for phrase, n in counted.items() if n > 1] == [], section


@pytest.mark.parametrize("entry", [e for e in phrasebook.entries("runs") if e.examples], ids=lambda e: e.meaning)
def test_examples_are_read_as_they_say(entry: Entry) -> None:
    wrong = [text for text in entry.examples if not means(entry, text)]
    wrong += [text for text in entry.others if means(entry, text)]
    assert wrong == []


@pytest.mark.parametrize("entry", phrasebook.entries("rewrites"), ids=lambda e: e.meaning)
def test_rewritten_phrases_are_seen_as_their_meaning(entry: Entry) -> None:
    for text in entry.examples:
        seen = [token.text for token in results_items(f"which methods {text}", Profile(), NOW).tokens]
        assert entry.meaning in " ".join(seen)


@pytest.mark.parametrize("kind", ["time", "bytes", "rate", "share", "scale"])
def test_units_and_number_words_are_read_in_texts(kind: str) -> None:
    for unit, size in phrasebook.numbers("units", kind).items():
        (number,) = written_numbers.numbers(written_numbers.one_spelling(f"5 {unit}"))[0].readings
        assert number.value == pytest.approx(5 * size), unit
    for word, value in phrasebook.numbers("numbers", "cardinals").items():
        if value != 1:
            assert written_numbers.numbers(f"{word} trials")[0].readings[0].value == value


def test_files_of_words_are_in_the_wheel() -> None:
    globs = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["mirror"]
    inside = {path for pattern in globs for path in (ROOT / "mirror").glob(pattern)}
    assert set(FOLDER.glob("*.yaml")) <= inside
    assert any(fnmatch.fnmatch("words/fillers.yaml", pattern) for pattern in globs)

"""Every file of words is well-formed, says no two things by one phrase, and is read as its examples say."""

import fnmatch
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from mirror.language.followup import marks
from mirror.language.grammar.lexicon import Lexicon
from mirror.language.phrases import rephrase, written_numbers
from mirror.language.requests import action_words
from mirror.schema.profile import Profile
from mirror.words import phrasebook
from mirror.words.phrasebook import CUES, EVERYWHERE, Entry
from mirror.words.tokens import tokens

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "mirror" / "words"
KINDS = sorted(path.stem for path in FOLDER.glob("*.yaml") if path.stem != "catalog")
READ_IN = ("results",)
SEVERAL_MEANINGS = ("names", "follow_ups", "talk")  # what a word of a name tells may be several things
CASED = ("units",)
RESULTS = Lexicon(Profile(distinct={"method": ("dense", "hashed", "qr"), "dataset": ("frappe",)}))


def cues_in(text: str, read_in: str) -> set[str]:
    items = RESULTS.items(text)[0] if read_in in READ_IN else []
    return {getattr(item, "cue", "") or getattr(item, "name", "") for item in items if item.kind == "cue"}


def means(kind: str, entry: Entry, text: str) -> bool:
    """Whether a text is read as the meaning of an entry, wherever its phrases are read."""
    if kind in CUES:
        places = READ_IN if entry.section == EVERYWHERE else (entry.section,)
        return all(entry.meaning in cues_in(text, place) for place in places)
    if kind == "fillers":
        return all(item.kind == "filler" for item in RESULTS.items(text)[0])
    if kind == "rewrites":
        return entry.meaning in rephrase.rephrase(text)
    if kind == "follow_ups":
        return entry.meaning in {match.lastgroup for match in marks.MARK.finditer(text)}
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
        assert kind not in CUES or all(map(tokens, entry.phrases)), entry


@pytest.mark.parametrize("kind", KINDS)
def test_any_reader_of_yaml_takes_a_phrase_for_text(kind: str) -> None:
    def texts(found: Any) -> list[Any]:
        return [phrase for meanings in found.values() for said in meanings.values() for phrase in lists(said)]

    def lists(said: Any) -> list[Any]:
        return said if isinstance(said, list) else [text for part in said.values() for text in part]

    read = texts(yaml.safe_load((FOLDER / f"{kind}.yaml").read_text(encoding="utf-8")))
    assert [phrase for phrase in read if not isinstance(phrase, str)] == []


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in (*CUES, *SEVERAL_MEANINGS)])
def test_a_phrase_means_one_thing_within_its_kind(kind: str) -> None:
    for section in {entry.section for entry in phrasebook.entries(kind)}:
        among = phrasebook.phrases(kind, *{section, EVERYWHERE})
        counted = Counter(phrase for phrases in among.values() for phrase in set(phrases))
        assert [phrase for phrase, n in counted.items() if n > 1] == [], section


@pytest.mark.parametrize("read_in", READ_IN)
def test_a_phrase_is_one_cue_alone(read_in: str) -> None:
    known = phrasebook.cues(read_in)
    counted = Counter(words for phrases in known.values() for words in {tuple(tokens(p)) for p in phrases})
    assert [words for words, n in counted.items() if n > 1] == []


@pytest.mark.parametrize("kind", [kind for kind in KINDS if any(e.examples for e in phrasebook.entries(kind))])
def test_examples_are_read_as_they_say(kind: str) -> None:
    for entry in phrasebook.entries(kind):
        wrong = [text for text in entry.examples if not means(kind, entry, text)]
        wrong += [text for text in entry.others if means(kind, entry, text)]
        assert wrong == [], entry


@pytest.mark.parametrize("cue", phrasebook.cues("results"))
def test_every_phrase_of_a_cue_is_read_as_it(cue: str) -> None:
    assert [phrase for phrase in phrasebook.cues("results")[cue] if cue not in cues_in(phrase, "results")] == []


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

"""A catalogue file that is right adds words; one that is wrong is told by its line."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mirror.answer.answering import ask
from mirror.data.process.sandbox import Sandbox
from mirror.language.neural import results_phrases
from mirror.schema import catalog
from mirror.schema.catalog_file import CatalogError, read

pytestmark = pytest.mark.usefixtures("likeliest_taken")  # what becomes of a reading is tested


def _forget() -> None:
    for cached in (catalog.words, catalog._entries, results_phrases._phrases):
        cached.cache_clear()


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A file of one's own, not yet written; the catalogue is read anew before and after."""
    path = tmp_path / "words.yaml"
    monkeypatch.setenv("MIRROR_CATALOG", str(path))
    _forget()
    yield path
    _forget()


def test_words_of_ones_own_are_understood(own: Path, box: Sandbox) -> None:
    own.write_text(
        "columns:\n  memory_mb: {synonyms: [heft]}\n  auc: {label: goodness}\n"
        "values:\n  method: {quotient_remainder: [q-trick]}\nexamples: [heft by method]\n"
    )
    answer = ask("heft by compression for q-trick in training", sandbox=box, use_model=False)
    assert answer.status == "answered", answer.summary
    assert answer.spec
    assert answer.spec.metrics[0].column == "memory_mb"
    assert "quotient_remainder" in str(answer.sql)
    assert catalog.entry("auc").label == "goodness"
    assert "footprint" in catalog.entry("memory_mb").synonyms, "the words that come with the code stay"
    assert "heft by method" in catalog.examples()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("columns:\n  memory: {label: x}\n", "words.yaml: line 2: memory is no column of the results"),
        ("columns:\n  auc: {label: x}\n  auc: {label: y}\n", "line 3: auc stands there twice"),
        ("columns:\n  auc:\n    synonyms: fine\n", "line 3: a list of words is expected"),
        ("columns:\n  auc:\n    unit: MB\n", "line 3: a column has no unit"),
        ("columns:\n  auc:\n    label: [a, b]\n", "line 3: a label is one text"),
        ("columns: [auc]\n", "line 1: columns takes names"),
        ("\n\nbaseline: hashed\n", "line 3: there is no section baseline"),
        ("values:\n  metod: {a: [b]}\n", "line 2: metod is no column"),
        ("values:\n  method:\n    dense: [a, [b]]\n", "line 3: a list of words is expected"),
        ("a: [1\nb: 2\n", "line 2 is not YAML"),
        ("- a\n", "line 1: the file takes names"),
        ("? [a]\n: b\n", "line 1 is not YAML: found unhashable key"),
    ],
)
def test_a_mistake_is_told_by_its_line(text: str, sentence: str) -> None:
    with pytest.raises(CatalogError) as wrong:
        read(text, "words.yaml", own=True)
    assert sentence in str(wrong.value)


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00", "columns:\n  auc: {label"])
def test_a_file_that_cannot_be_used_is_one_sentence(own: Path, box: Sandbox, content: str | bytes | None) -> None:
    if isinstance(content, bytes):
        own.write_bytes(content)
    elif content:
        own.write_text(content)
    answer = ask("auc by method", sandbox=box, use_model=False)
    assert answer.status == "error"
    assert "words.yaml" in answer.summary
    assert str(own.parent) not in answer.summary


def test_the_catalogue_that_comes_with_the_code_is_right() -> None:
    assert catalog.words()["baseline"] == "dense"

"""The YAML of sweeps: slips and bombs are one sentence with their line, and numbers are read as people mean them."""

import pytest

from bench_engine.sweep.document import MAX_CHARACTERS, documents
from bench_engine.sweep.part import SweepError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-3", 0.001),
        ("1E3", 1000.0),
        ("-2.5e2", -250.0),
        ("1.e-2", 0.01),
        ("1_000", 1000),
        ("1e", "1e"),
        ("e3", "e3"),
        ("ml-206k", "ml-206k"),
        ("1e3x", "1e3x"),
        ("0.5", 0.5),
    ],
)
def test_numbers_are_numbers_and_names_are_names(text: str, value: object) -> None:
    (document,) = documents(f"a: {text}\n", "s")
    assert document == {"a": value}
    assert type(document["a"]) is type(value)


def test_empty_documents_are_left_out() -> None:
    assert documents("---\n---\na: 1\n---\n# nothing\n", "s") == [{"a": 1}]
    assert documents("", "s") == []


def test_a_few_aliases_are_read() -> None:
    text = "a: &stop {max_seconds: 1}\nb: {<<: *stop, min_samples: 3}\n"
    assert documents(text, "s") == [{"a": {"max_seconds": 1}, "b": {"max_seconds": 1, "min_samples": 3}}]


BOMB = "a0: &a0 {k: 1}\n" + "".join(f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 9)}]}}\n" for i in range(1, 30))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "a: 1\n\tb: 2\n",
            "s line 2 is not YAML: found character '\\t' that cannot start any token (a tab: indent with spaces).",
        ),
        ("a: 1\nb: 2\na: 3\n", "s line 3 is not YAML: the key a is given twice."),
        (
            "a: 1\nb: [8, 016]\n",
            "s line 2 is not YAML: 016 would be a number to the base of 8 or 60, write it to the base of 10.",
        ),
        (
            "a: 1:30\n",
            "s line 1 is not YAML: 1:30 would be a number to the base of 8 or 60, write it to the base of 10.",
        ),
        ("a: {x: 1, x: 2}\n", "s line 1 is not YAML: the key x is given twice."),
        (BOMB, "s line 4 is not YAML: more than 20 aliases, write the values out."),
        ("a: [1\n" + "b: 2\n", "s line 2 is not YAML: expected ',' or ']', but got ':'."),
        (f"a: {'9' * 5000}\n", "s line 1 is not YAML: a number of 5000 digits."),
        (f"a: 0x{'f' * 5000}\n", "s line 1 is not YAML: a number of 5002 digits."),
        (
            "x" * (MAX_CHARACTERS + 1),
            "s is longer than 200,000 characters: split it, or draw from ranges with method: random.",
        ),
        ("[" * 50_000, "s is not YAML that can be read: it is nested too deep."),
        (
            "a: !!python/name:os.system\n",
            "s line 1 is not YAML: could not determine a constructor for the tag "
            "'tag:yaml.org,2002:python/name:os.system'.",
        ),
    ],
)
def test_what_is_wrong_is_one_sentence_with_its_line(text: str, sentence: str) -> None:
    with pytest.raises(SweepError) as caught:
        documents(text, "s")
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    "text",
    ["a: !!bool maybe", "a: !!int ''", "a: !!int x", "a: !!timestamp x", "a: 2024-99-99", "a: 0b_", "a: \0",
     "? [1]\n: 2", "&a [*b]", "<<: 3", "%YAML 9", "!!set 3", "a: !!binary ü"],
)  # fmt: skip
def test_odd_yaml_is_refused_in_one_sentence(text: str) -> None:
    with pytest.raises(SweepError, match=r"^s.* is not YAML") as caught:
        documents(text, "s")
    assert "\n" not in str(caught.value)

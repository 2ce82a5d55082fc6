"""Numbers as they are written in English text: digits with units, words, fractions, places, dates. Judges nothing."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from mirror.words import phrasebook
from mirror.words.phrasebook import one_of

# Unit -> (what it measures, its size), as written in texts and for columns; all else counts as a plain number.
UNITS: dict[str, tuple[str, float]] = {
    unicodedata.normalize("NFKC", unit): ("" if e.section.startswith("scale") else e.section, float(e.meaning))
    for e in phrasebook.entries("units")
    for unit in e.phrases
}
_UNIT = one_of(UNITS)
_NUMBER = re.compile(
    r"(?<![\w.,/:^×⁄])(?<!\^[-+])(?P<sign>[-+])?(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(?:[eE](?P<power>[-+]?\d+))?"
    rf"(?: ?(?P<unit>{_UNIT})(?!\w))?(?![\w^⁄]|[.,:/]\d)"
)
# What may stand between two numbers of which only the second has its unit.
_SAME_UNIT = re.compile(r"\s*(?:±|–|-|,|/|and|or|to|vs\.?|versus|against)\s*")
# What is counted, perhaps behind one more word ("3 failed trials"): such a number is exact.
_COUNTED = re.compile(
    r"\s*(?:\w+\s)?(?P<thing>trial|row|method|configuration|group|data ?set|machine|seed|sweep|run|failure|point|pair"
    r"|benchmark|result|case|line)s?\b",
    re.IGNORECASE,
)

_VALUES = {word: int(n) for word, n in phrasebook.numbers("numbers", "cardinals").items()}
_PLACES = phrasebook.numbers("numbers", "ordinals")
_PARTS = phrasebook.numbers("numbers", "parts")
_MULTIPLES = phrasebook.numbers("numbers", "multiples") | {f"{w}fold": float(n) for w, n in _VALUES.items() if n > 1}
_WORD = one_of(_VALUES)
_WORDS = re.compile(rf"\b(?:{_WORD})(?:(?:[ -]| and )(?:{_WORD}))*\b(?P<times>[ -](?:times|fold)\b)?", re.IGNORECASE)
_PART = re.compile(
    rf"\b(?:(?P<many>an?|{_WORD})[ -])?(?P<part>{one_of(_PARTS)})\b(?P<of> of\b| the\b| as\b| its\b)?", re.IGNORECASE
)
_MULTIPLE = re.compile(rf"\b(?:{one_of(_MULTIPLES)})\b", re.IGNORECASE)
_PLACE = re.compile(rf"(?<!per )(?<!a )\b(?:{one_of(_PLACES)})\b", re.IGNORECASE)
_VAGUE = re.compile(r"\b(?:dozens|hundreds|thousands|millions|billions?|orders? of magnitude)\b", re.IGNORECASE)
_PRECISION = re.compile(r"\b(?:half|single|double)[- ]precision\b", re.IGNORECASE)
_PERCENTILE = re.compile(r"\bp(?P<p>\d{1,2})\b|\b(?P<n>\d{1,2})(?:st|nd|rd|th)[ -]percentile\b", re.IGNORECASE)
_DASHED = re.compile(r"\d+-\d+-[\d-]+")  # a date in digits: one thing, and no list of numbers

_MONTHS = phrasebook.numbers("calendar", "months")
_MONTH = one_of(_MONTHS)
_DATE = re.compile(
    rf"\b(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<month>{_MONTH})"
    rf"|(?P<month2>{_MONTH}) (?P<day2>\d{{1,2}})(?:st|nd|rd|th)?)\b(?:,? (?P<year>\d{{4}})\b)?",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Number:
    """A number as it is written or held.

    Attributes:
        raw: the number itself, without its unit.
        value: the same in the smallest unit of its kind.
        kind: what it measures: time, bytes, rate, share, ratio; empty for a plain number; about for a ratio in words
            ("twice"), place for 2nd and second, percentile, or unknown for what is no number that can be checked.
        step: the place of its last digit, in the unit of `value`.
        signed: whether a sign is written.
        counted: of which things it is the exact number ("trial"), "thing" for any; empty where it counts nothing.
    """

    raw: float
    value: float
    kind: str = ""
    step: float = 0.0
    signed: bool = False
    counted: str = ""


@dataclass(frozen=True)
class Written:
    """A number where it stands.

    Attributes:
        start: where in the text it begins.
        text: as it is written.
        readings: what it may be; without a unit of its own it may have that of the next in a list.
    """

    start: int
    text: str
    readings: tuple[Number, ...]


@dataclass(frozen=True)
class WrittenDate:
    """A date with the month in words, `year` None where none is written; `day` is None for no day of the calendar."""

    start: int
    text: str
    month: int
    day: int | None
    year: int | None


def one_spelling(text: object) -> str:
    """Text with one spelling for each sign: no wide digits, one minus, one space, a power behind ^."""
    text = re.sub("[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻]+", r"^\g<0>", str(text))
    return unicodedata.normalize("NFKC", text).replace("\u2212", "-")


def blanked(pattern: re.Pattern[str], text: str) -> str:
    """The text with spaces where the pattern was found."""
    return pattern.sub(lambda m: " " * len(m[0]), text)


def dates(text: str) -> tuple[list[WrittenDate], str]:
    """The dates with a month in words (`3 November 2026`, `Nov 3`), and the text without them."""
    found = []
    for m in _DATE.finditer(text):
        month = int(_MONTHS[(m["month"] or m["month2"]).lower()])
        year = int(m["year"]) if m["year"] else None
        try:
            day: int | None = date(year or 2000, month, int(m["day"] or m["day2"])).day
        except ValueError:
            day = None
        found.append(WrittenDate(m.start(), m[0], month, day, year))
    return found, blanked(_DATE, text)


def numbers(text: str) -> list[Written]:
    """All numbers of a text in `one_spelling`, in digits and in words. Every digit belongs to one of them."""
    found = []
    text = blanked(_PRECISION, text)
    for m in _PERCENTILE.finditer(text):
        percent = float(m["p"] or m["n"])
        found.append(Written(m.start(), m[0], (Number(percent, percent, "percentile"),)))
    found += [_unknown(m) for m in _DASHED.finditer(text)]
    text = blanked(_DASHED, blanked(_PERCENTILE, text))
    found += in_digits(text)
    text = blanked(_NUMBER, text)
    # What is left of the digits, and signs that are numbers by themselves, as in Chinese.
    found += [_unknown(m) for m in re.finditer(r"\S+", text) if any(map(str.isnumeric, m[0]))]
    found += _in_words(text)
    return sorted(found, key=lambda w: w.start)


def in_digits(text: str) -> list[Written]:
    """The numbers in digits that are plainly written, with their units."""
    matches = list(_NUMBER.finditer(text))
    units: list[set[str]] = [{m["unit"] or ""} for m in matches]
    for i in reversed(range(len(matches) - 1)):
        if not matches[i]["unit"] and _SAME_UNIT.fullmatch(text, matches[i].end(), matches[i + 1].start()):
            units[i] |= {u for u in units[i + 1] if UNITS.get(u, ("", 1.0))[0] != "place"}
    return [
        Written(m.start(), m[0], tuple(_number(m, unit, _things(text, m.end())) for unit in sorted(own)))
        for m, own in zip(matches, units, strict=True)
    ]


def _things(text: str, at: int) -> str:
    """What is counted by a number that ends there, in the singular; empty for nothing."""
    m = _COUNTED.match(text, at)
    return m["thing"].lower().replace(" ", "") if m else ""


def _number(m: re.Match[str], unit: str, things: str) -> Number:
    digits, power = m["digits"].replace(",", ""), int(m["power"] or 0)
    if len(digits) + abs(power) > 300:
        return Number(0, 0, "unknown")
    kind, size = UNITS.get(unit, ("", 1.0))
    raw = float(digits) * 10.0**power * (-1 if m["sign"] == "-" else 1)
    step = 10.0 ** (power - len(digits.partition(".")[2])) * size
    return Number(raw, raw * size, kind, step, bool(m["sign"]), things if not kind and step == 1 else "")


def _unknown(m: re.Match[str]) -> Written:
    return Written(m.start(), m[0], (Number(0, 0, "unknown"),))


def _in_words(text: str) -> Iterator[Written]:
    for m in _PART.finditer(text):
        if m["part"].lower() in _PLACES and not m["many"] and not m["of"]:
            continue  # "third" among the places
        part = _VALUES.get((m["many"] or "").lower(), 1) / _PARTS[m["part"].lower()]
        yield Written(m.start(), m[0], (_about(part),))
        text = text[: m.start()] + " " * len(m[0]) + text[m.end() :]
    for m in _MULTIPLE.finditer(text):
        yield Written(m.start(), m[0], (_about(_MULTIPLES[m[0].lower()]),))
    for m in _PLACE.finditer(text):
        place = _PLACES[m[0].lower()]
        yield Written(m.start(), m[0], (Number(place, place, "place"),))
    for m in _WORDS.finditer(text):
        value = float(_value_of(m[0].lower()))
        if m["times"]:
            yield Written(m.start(), m[0], (_about(value),))
        elif value != 1:  # "the one with"
            yield Written(m.start(), m[0], (Number(value, value, counted=_things(text, m.end()) or "thing"),))
    yield from (_unknown(m) for m in _VAGUE.finditer(text))


def _about(value: float) -> Number:
    return Number(value, value, "about", step=value)


def _value_of(words: str) -> int:
    """`two hundred and five` -> 205."""
    total = current = 0
    for word in re.findall("[a-z]+", words):
        if word in ("thousand", "million"):
            total, current = total + max(1, current) * _VALUES[word], 0
        elif word in ("dozen", "hundred"):
            current = max(1, current) * _VALUES[word]
        else:
            current += _VALUES.get(word, 0)
    return total + current

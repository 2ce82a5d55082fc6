"""Numbers of a question over the results and what they may stand for: `0.5 MB`, `95 %`, `10x`, `a tenth`, `1M`."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from mirror.language.neural.items import Literal
from mirror.language.phrases import spelled_numbers
from mirror.language.phrases.spelled_numbers import Spelled
from mirror.language.reading.lexemes import Token
from mirror.words import phrasebook

# Signs and short words that are written right behind a number or in front of it.
_UNIT_AT_ONCE = re.compile(
    r"(?<![a-z\d_.-])(\d+(?:\.\d+)?)(x|×|d|[mkg]i?b|us|μs|ns|ms|s|dims?|bags?|threads?|tables?)\b"
)
_NAME_AT_ONCE = re.compile(
    r"(?<![\w-])(d|dim|bs|b|batch|t|(?<!in )(?<!the )(?<!of )l(?![123]\b)|k)[=:]?(\d+)\b"
)  # "l2" is a cache
_NO_ZERO = re.compile(r"(?<![\w.])\.(\d)")
_DECIMAL_COMMA = re.compile(
    r"(?<![\w.,])(?<!seed[ =:])(?<!seeds[ =:])(?<!seeds: )(?<!seeds = )0,(\d+)\b(?![.,]\d)"
)  # "seeds 0,1,2" is a list
_OF_LEAST = ("latency", "memory", "auc", "time", "and max")  # behind "batch size 512 min", which is no minutes
_POWER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?e[+-]?\d{1,2}\b")
_ONE_OF = re.compile(r"(?<![\w./-])1/(\d{1,4})(?![\w/-])")
_LIST = re.compile(r"(?<![\w.])\d{1,4}(?:,\d{1,5})+(?![\w.])")
# How a number is meant, as a feature of its item.
RAW, SHARE, REST, INVERSE, TIME, SECONDS, BYTES, RATE = HOW = (
    "as it is", "share", "rest", "inverse", "in us", "in s", "in mb", "in gb/s",
)  # fmt: skip
# The unit of a column -> how numbers of it are said.
UNIT_OF = {TIME: "µs", SECONDS: "s", BYTES: "MB", RATE: "GB/s"}


@dataclass(frozen=True)
class NumberSaid(Literal):
    """A number in one of the ways it may be meant."""

    how: str = RAW


def plain(question: str) -> str:
    """The question in lower case, with its numbers as the tokens know them."""
    text = unicodedata.normalize("NFKC", question[:20_000]).lower()
    text = _ONE_OF.sub(lambda m: f"{1 / max(1, int(m[1])):.6g}", text)
    text = _POWER.sub(lambda m: f"{float(m[0]):.12f}".rstrip("0").rstrip("."), text)
    text = _NO_ZERO.sub(r"0.\1", text)
    text = _DECIMAL_COMMA.sub(r"0.\1", text)
    text = _LIST.sub(_listed, text)
    text = _NAME_AT_ONCE.sub(r"\1 \2", text)
    return _UNIT_AT_ONCE.sub(r"\1 \2", text)


def _listed(match: re.Match[str]) -> str:
    """`64,512` may be a list or a thousand: thousands have groups of three and are round, in tens or in twos."""
    parts = match[0].split(",")
    whole = int("".join(parts))
    is_round = parts[-1] == "000" or any(part[0] == "0" for part in parts[1:]) or whole & (whole - 1) == 0
    thousand = all(len(part) == 3 for part in parts[1:]) and is_round
    return match[0] if thousand else ", ".join(parts)


@dataclass(frozen=True)
class _Said:
    """A number where it stands.

    Attributes:
        start, end: its tokens.
        value: without its unit.
        kind: plain, part ("a tenth"), ratio ("nine in ten"), multiple ("twice") or place ("the tenth percentile").
        scale: the thousands or millions said at its end, 1 for none.
        apart: numbers that its words may be as well.
    """

    start: int
    end: int
    value: float
    kind: str = "plain"
    scale: float = 1
    apart: tuple["_Said", ...] = ()


def numbers_of(tokens: Sequence[Token]) -> Iterator[NumberSaid]:
    """Every number with each way it may be meant."""
    words = ["" if token.kind == "quoted" else token.text for token in tokens]
    said = [number for number in _all_said(tokens, words) if number.kind != "place"]
    units = [_unit_at(words, number.end) if number.kind in ("plain", "part") else "" for number in said]
    shared = _shared(words, said, units)
    for number, unit, (others_unit, others_scale) in zip(said, units, shared, strict=True):
        known = [n for other in number.apart for n in _meant(other.start, other.end, other.value, "")]
        end = number.end + len(unit.split())
        if number.kind == "ratio":
            known += [n for n in _meant(number.start, end, number.value * 100, "%") if n.how != RAW]
        else:
            unit = "x" if number.kind == "multiple" and number.value > 1 else unit
            if unit == "min" and " ".join(words[end : end + 2]).startswith(_OF_LEAST):
                known += _meant(number.start, number.end, number.value, "")
            known += _meant(number.start, end, number.value, unit)
            if number.kind == "part" and not unit and 0.5 < number.value < 1:  # "four fifths are gone"
                known += [n for n in _meant(number.start, end, number.value * 100, "%") if n.how == REST]
        if others_scale > 1:
            known += _meant(number.start, end, number.value * others_scale, "")
        if others_unit:
            known += _meant(number.start, end, number.value, others_unit)
        yield from dict.fromkeys(known)


def _all_said(tokens: Sequence[Token], words: list[str]) -> Iterator[_Said]:
    at = 0
    while at < len(tokens):
        number = _part_at(words, at) or _multiple_at(words, at)
        if not number and (number := _whole_at(tokens, words, at)):
            number = _ratio_at(tokens, words, number) or number
        if number:
            yield number
        at = number.end if number else at + 1


def _part_at(words: list[str], at: int) -> _Said | None:
    """`a tenth`, `half a million`, and of `half a percent` what stands in front of the unit."""
    part = spelled_numbers.part(words, at) or _nth_part(words, at)
    if not part:
        return None
    of = part.end + (words[part.end : part.end + 1] == ["of"])
    named = "".join(words[of : of + 1])
    if named.startswith("percentile") or (of > part.end and named in _months()):
        return _Said(at, part.end, part.value, "place")
    scaled = spelled_numbers.scaled_part(words, part)
    if scaled.end > part.end:
        return _Said(at, scaled.end, scaled.value, scale=scaled.scale)
    one = of + 1 if words[of : of + 1] in (["a"], ["an"], ["one"]) else part.end
    return _Said(at, one if _unit_at(words, one) else part.end, part.value, "part")


def _nth_part(words: list[str], at: int) -> Spelled | None:
    """`a 64th of`."""
    n = words[at][:-2]
    alone = (
        n.isdecimal()
        and len(n) < 6
        and words[at].endswith(("st", "nd", "rd", "th"))
        and at > 0
        and words[at - 1] in ("a", "an", "one", "1")
    )
    return Spelled(at + 1, 1 / int(n)) if alone and int(n) > 1 and words[at + 1 : at + 2] == ["of"] else None


def _multiple_at(words: list[str], at: int) -> _Said | None:
    value = spelled_numbers.multiple(words, at)
    return _Said(at, at + 1, value, "multiple") if value else None


def _whole_at(tokens: Sequence[Token], words: list[str], at: int) -> _Said | None:
    """A number in digits or words, with the thousands and halves that belong to it."""
    token = tokens[at]
    if words[at] == "point" and (point := spelled_numbers.decimal(words, Spelled(at, 0))):
        return _Said(at, point.end, point.value)
    digits = token.kind == "number" and isinstance(token.number, int | float)
    if digits:
        scale = _scales().get(token.text.lstrip("-0123456789., "), 1.0)
        whole = Spelled(at + 1, float(token.number), 1)  # type: ignore[arg-type]
    elif found := spelled_numbers.cardinal(words, at):
        whole, scale = found, float(found.scale)
    else:
        return None
    if not digits and (point := spelled_numbers.decimal(words, whole)):
        return _Said(at, point.end, point.value)
    plain_number = _Said(at, whole.end, whole.value, scale=scale)
    if scale <= 100 and whole.end < len(words) and (short := _scales().get(words[whole.end])):
        # 4 k may be four of k
        return _Said(at, whole.end + 1, _round(whole.value * short), scale=short, apart=(plain_number,))
    if (scale == 1 or not digits) and (mixed := spelled_numbers.mixed(words, whole)):
        if whole.scale > 1 or mixed.scale > 1 or _unit_at(words, mixed.end):
            return _Said(at, mixed.end, mixed.value, scale=mixed.scale)
        half = _part_at(words, whole.end + 2) or _part_at(words, whole.end + 1)
        return _Said(at, mixed.end, mixed.value, apart=(plain_number, half) if half else (plain_number,))
    return plain_number


def _ratio_at(tokens: Sequence[Token], words: list[str], above: _Said) -> _Said | None:
    """`nine in ten`, `95 out of 100`, as the share that it is."""
    link = next((n for n in (3, 2, 1) if " ".join(words[above.end : above.end + n]) in _ratio_words()), 0)
    at = above.end + link
    below = _whole_at(tokens, words, at) if link and at < len(tokens) else None
    if not below or not 0 < above.value < below.value or not (above.value + below.value).is_integer():
        return None
    if above.apart or below.apart or _unit_at(words, below.end) or 1900 <= below.value <= 2100:
        return None
    before = words[above.start - 1] if above.start else ""
    guarded = phrasebook.phrases("numbers", "not of a ratio")
    sure = _ratio_words()[" ".join(words[above.end : at])] and before not in guarded["before any"]
    sure = sure and not (above.value == 1 and before in guarded["before one"])
    return _Said(above.start, below.end, above.value / below.value, "ratio", apart=() if sure else (above, below))


def _unit_at(words: list[str], at: int) -> str:
    """The unit that stands there, empty for none."""
    known = (_units(), _shares(), _ratios())
    texts = (" ".join(words[at : at + n]) for n in (3, 2, 1))
    unit = next((text for text in texts if any(text in units for units in known)), "")
    named = unit == "b" and words[at + 1 : at + 2] and words[at + 1][:1].isdigit()  # "dim 64 b 512"
    return "" if named else unit


def _shared(words: list[str], said: list[_Said], units: list[str]) -> list[tuple[str, float]]:
    """For each number the unit and the thousands that a later one of its list has: `5, 10 or 25 %`."""
    shared = [("", 1.0)] * len(said)
    for i in reversed(range(len(said) - 1)):
        number, following = said[i], said[i + 1]
        between = " ".join(words[number.end : following.start])
        if number.kind != "plain" or following.kind != "plain" or units[i]:
            continue
        if between in _same_unit() or (not between and number.value < following.value):  # "1-5 ms"
            scale = following.scale if following.scale > 100 else shared[i + 1][1]
            bare = number.scale == 1 and number.value < 1000 and between
            shared[i] = (units[i + 1] or shared[i + 1][0], scale if bare else 1.0)
    return shared


def _meant(start: int, end: int, value: float, unit: str) -> Iterator[NumberSaid]:
    def said(number: float, how: str) -> NumberSaid:
        return NumberSaid("number", start, end, _round(number), None, how)

    if unit in _shares():
        yield said(value / 100, SHARE)
        yield said(1 - value / 100, REST)
        yield said(value, RAW)
    elif unit in _units():
        how, size = _units()[unit]
        yield said(value * size, how)
        if how == TIME and value * size >= 1e4:
            yield said(value * size / 1e6, SECONDS)
    else:
        yield said(value, RAW)
        if unit in _ratios() and value:
            yield said(1 / value, INVERSE)


def _round(value: float) -> int | float:
    short = float(f"{value:.10g}") if abs(value) >= 1 else float(f"{value:.6g}")
    return int(short) if short.is_integer() and abs(short) < 2**53 else short


@cache
def _months() -> frozenset[str]:
    return phrasebook.words("calendar", "months")


@cache
def _ratio_words() -> dict[str, bool]:
    """What stands between the numbers of a share -> whether they are sure to be one."""
    return {words: sure == "sure" for sure, among in phrasebook.phrases("numbers", "ratios").items() for words in among}


@cache
def _same_unit() -> frozenset[str]:
    return phrasebook.words("numbers", "lists")


@cache
def _scales() -> dict[str, float]:
    return {word.lower(): n for word, n in phrasebook.numbers("units", "scale").items()} | {"hundred": 100.0}


@cache
def _shares() -> frozenset[str]:
    return frozenset(word.lower() for word in phrasebook.numbers("units", "share"))


@cache
def _ratios() -> frozenset[str]:
    return frozenset(word.lower().strip("-") for word in phrasebook.numbers("units", "ratio"))


@cache
def _units() -> dict[str, tuple[str, float]]:
    """Unit, as its tokens are, -> how numbers with it are meant, and what one of it is."""
    kinds = (("time", TIME, 1.0), ("bytes", BYTES, 1e6), ("rate", RATE, 1e9))
    return {
        unicodedata.normalize("NFKC", unit).lower().replace("/", " "): (how, size / one)
        for kind, how, one in kinds
        for unit, size in phrasebook.numbers("units", kind).items()
    }

"""Numbers spelled in words: "sixteen thousand three hundred eighty-four", "two and a half million", "a sixty-fourth".

Works on the words of a text in lower case, cut at spaces and hyphens. Words side by side are one number where they make
one (`twenty six`), else each is a number of its own (`sixteen thirty two`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from mirror.words import phrasebook

CARDINALS = {word: int(n) for word, n in phrasebook.numbers("numbers", "cardinals").items()}
# Words that multiply all before them, without short ones like "k".
SCALES = {word: int(n) for word, n in phrasebook.numbers("units", "scale").items() if len(word) > 2}
_PARTS = {word: int(n) for word, n in phrasebook.numbers("numbers", "parts").items()}
_ORDINALS = {word: int(n) for word, n in phrasebook.numbers("numbers", "ordinals").items()}
_MULTIPLES = phrasebook.numbers("numbers", "multiples")
_NO_MULTIPLES = phrasebook.words("numbers", "no multiples")
_HUNDRED, _DOZEN = "hundred", "dozen"
_MULTIPLIERS = SCALES | {_HUNDRED: 100, _DOZEN: 12}
_SMALL = {word: n for word, n in CARDINALS.items() if n < 100 and word != _DOZEN}
# The plain word of a number: "four" for 4, which "fourth" comes from.
_WORD_OF = {n: word for word, n in reversed(CARDINALS.items())}
_ONE = ("a", "an", "one", "1")
_HALVES = (2, 4)


@dataclass(frozen=True)
class Spelled:
    """A number in words.

    Attributes:
        end: the place behind its last word.
        value: the number.
        scale: what its last word multiplies by, 1 for none: 1,000 of "two thousand".
    """

    end: int
    value: float
    scale: int = 1


def cardinal(words: Sequence[str], at: int) -> Spelled | None:
    """The longest whole number that begins there."""
    listed = at > 0 and words[at - 1] == "between"  # "between five hundred and twelve" are two numbers
    total, end, scale = 0.0, at, 0
    while group := _group(words, end, listed) or (None if scale else Spelled(at, 1)):
        size = SCALES.get(_word(words, group.end), 1)
        after = group.end + (size > 1)
        if after == end or (scale and size >= scale):
            break  # "one thousand two thousand"
        total, end = total + group.value * size, after
        if size == 1:
            return Spelled(end, total, group.scale)
        scale = size
    if not scale:
        return None
    last = _small(words, end + 1) if _word(words, end) == "and" and not listed else None
    if last and _word(words, last.end) not in _MULTIPLIERS:
        return Spelled(last.end, total + last.value)
    return Spelled(end, total, scale)


def _group(words: Sequence[str], at: int, listed: bool) -> Spelled | None:
    """A number below the thousands: `three hundred and eighty four`, `two dozen`."""
    small = _small(words, at)
    value, end = (small.value, small.end) if small else (1, at)
    if _word(words, end) == _DOZEN:
        return Spelled(end + 1, value * 12, 12)
    if _word(words, end) != _HUNDRED:
        return small
    linked = _word(words, end + 1) == "and"
    rest = None if linked and listed else _small(words, end + 1 + linked)
    if rest and rest.value and _word(words, rest.end) not in (_HUNDRED, _DOZEN):
        return Spelled(rest.end, value * 100 + rest.value)
    return Spelled(end + 1, value * 100, 100)


def _small(words: Sequence[str], at: int) -> Spelled | None:
    """A number below a hundred: `twenty`, `twenty six`."""
    value = _SMALL.get(_word(words, at))
    if value is None:
        return None
    more = _SMALL.get(_word(words, at + 1), 0) if value >= 20 else 0
    return Spelled(at + 2, value + more) if 0 < more < 10 else Spelled(at + 1, value)


def _word(words: Sequence[str], at: int) -> str:
    return words[at] if at < len(words) else ""


def part(words: Sequence[str], at: int) -> Spelled | None:
    """The part of a whole that begins there: `tenth`, `three quarters`, `one two hundredth`; of which, is not read."""
    last = at + 1 if _is_short(_word(words, at)) else at
    while _word(words, last) in CARDINALS or _word(words, last) == "and":
        last += 1
    word = _word(words, last)
    one = _word(words, at) == "one" or words[max(0, at - 1)] in _ONE
    if word not in _PARTS and not (one and word in _ORDINALS and _word(words, last + 1) == "of"):
        return None  # seconds are a time, "one thirty second of" is not
    many = word in _PARTS and word.endswith("s")
    begins = range(last, at - 1, -1) if many else range(at, last + 1)  # "25 | hundredths", "one | two hundredth"
    for begin in begins:
        of = _parts(words[begin:last], word)
        above = _above(words[at:begin], many)
        if of and above:
            return Spelled(last + 1, above / of)
    return None


def _parts(before: Sequence[str], word: str) -> int:
    """Into how many parts `sixty fourth` goes, 0 for what is none."""
    if not before:
        return _PARTS.get(word, 0)
    ordinal = _ORDINALS.get(word) or _ORDINALS.get(word.removesuffix("s"))
    if not ordinal:
        return 0
    spelled = [*before, _WORD_OF[ordinal]]
    found = cardinal(spelled, 0)
    return int(found.value) if found and found.end == len(spelled) else 0


def _above(words: Sequence[str], many: bool) -> float:
    """How many parts there are, 0 for what says no number of them."""
    if not words or tuple(words) in (("one",), ("1",)):
        return 1
    if not many:
        return 0
    if _is_short(words[0]):
        return int(words[0]) if len(words) == 1 else 0
    found = cardinal(words, 0)
    return found.value if found and found.end == len(words) else 0


def _is_short(word: str) -> bool:
    """Whether it is a whole number in few digits."""
    return word.isdecimal() and len(word) < 6


def scaled_part(words: Sequence[str], found: Spelled) -> Spelled:
    """`half a million`, `a quarter of a million`, `half million`: the part of that number, else the part itself."""
    at = found.end + (_word(words, found.end) == "of")
    told = _word(words, at) in _ONE
    word = _word(words, at + told)
    scale = _MULTIPLIERS.get(word)
    direct = at == found.end and found.value in [1 / n for n in _HALVES]
    if scale and (told or direct):
        return Spelled(at + told + 1, found.value * scale, scale)
    return found


def mixed(words: Sequence[str], whole: Spelled) -> Spelled | None:
    """`two and a half`, `two and a half million`, `a million and a half`."""
    if _word(words, whole.end) != "and":
        return None
    at = whole.end + 1
    at += _word(words, at) in ("a", "an")
    found = part(words, at)
    told = found and (at > whole.end + 1 or found.end > at + 1)
    if not found or not told or round(found.value * 4) != found.value * 4:
        return None  # "sixteen and a tenth"
    behind = _word(words, found.end)
    if behind in ("of", "the"):
        return None  # "sixteen and a quarter of the parameters"
    scale = SCALES.get(behind, 1)
    if scale > 1 and whole.scale == 1:
        return Spelled(found.end + 1, (whole.value + found.value) * scale, scale)
    return Spelled(found.end, whole.value + found.value * whole.scale)


def decimal(words: Sequence[str], whole: Spelled) -> Spelled | None:
    """`two point five`, `zero point zero five`."""
    end, digits = whole.end + 1, ""
    if _word(words, whole.end) != "point":
        return None
    while _SMALL.get(_word(words, end), 10) < 10:
        digits += str(_SMALL[words[end]])
        end += 1
    return Spelled(end, float(f"{whole.value:.0f}.{digits}")) if digits else None


def multiple(words: Sequence[str], at: int) -> float:
    """How many times as much a word says: `twice`, `tenfold`; 0 for none."""
    word = _word(words, at)
    if f"{word} {_word(words, at + 1)}" in _NO_MULTIPLES:
        return 0.0
    return _MULTIPLES.get(word) or (CARDINALS.get(word.removesuffix("fold"), 0) if word.endswith("fold") else 0.0)

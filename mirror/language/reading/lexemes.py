"""A question as tokens that keep their place, and the stems by which words of questions and of names meet."""

import re
import unicodedata
from dataclasses import dataclass
from functools import cache, lru_cache

import snowballstemmer

from mirror.language.reading.cues import irregular, kinds
from mirror.table.values import Value
from mirror.words import phrasebook

_STEMMER = snowballstemmer.stemmer("english")
_TOKEN = re.compile(
    r"(?P<quoted>\"[^\"]{1,200}\"|“[^”]{1,200}”|(?<!\w)'[^']{1,200}'(?!\w))"
    r"|(?P<sign><=|>=|<>|!=|[<>=≤≥≠&%#*×])"
    r"|(?P<date>\d{4}-\d\d?(?:-\d\d?)?(?![\w-])|\d\d?[./]\d\d?[./]\d{4}(?![\w/.-]))"
    r"|(?P<nth>\d+(?:st|nd|rd|th)\b)"
    r"|(?P<minus>(?<![\w.,)%])[-−](?=[$€£]?\.?\d))?(?:[$€£]\s?)?(?P<number>\d+(?:,\d{3})+(?:\.\d+)?|\d+\.\d+|\d+)(?P<scale>k|m|bn|mio)?(?![\w])"
    r"|(?P<word>[^\W_]+(?:'[^\W\d_]+)?)|(?P<comma>[,;])"
)
_SCALES = {"k": 1e3, "m": 1e6, "mio": 1e6, "bn": 1e9, "thousand": 1e3, "million": 1e6, "billion": 1e9, "hundred": 100}
# Words that are a number by themselves: a thousand takes others with it.
_NUMBERS = {word: int(n) for word, n in phrasebook.numbers("numbers", "cardinals").items() if n <= 100}
_SHORT = {"can't": "can not", "won't": "will not", "cannot": "can not", "didnt": "did not", "dont": "do not",
          "doesnt": "does not", "havent": "have not", "hasnt": "has not", "isnt": "is not", "arent": "are not",
          "wasnt": "was not", "werent": "were not"}  # fmt: skip


@dataclass(frozen=True)
class Token:
    """One word, number, sign or quoted text.

    Attributes:
        text: in lower case; of a quoted text what stands between its marks, as written.
        stem: what it is compared by.
        number: the number that it is, also where it is written as a word.
        kind: word, number, date, sign, quoted or comma.
    """

    text: str
    stem: str
    kind: str
    number: Value | None = None


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """The stem of an English word in lower case: `sold`, `sells` and `sales` share one."""
    if word in (known := _irregular()):
        return known[word]
    if len(word) < 4 or not word.isalpha():
        return word[:-1] if len(word) == 3 and word.endswith("s") and word not in _SHORT_S else word
    found = str(_STEMMER.stemWord(word))
    return known.get(found, found)


_SHORT_S = frozenset(("was", "has", "his", "its", "gas", "bus", "yes", "les", "los", "gps", "sms"))


@cache
def _irregular() -> dict[str, str]:
    return {form: base for base, forms in irregular().items() for form in (base, *forms)}


def stems(text: str) -> tuple[str, ...]:
    """The stems of the words of a name or value."""
    return tuple(token.stem for token in cut(text) if token.kind in ("word", "number", "sign"))


def cut(text: str) -> list[Token]:
    """The tokens of a text."""
    text = unicodedata.normalize("NFKC", text).replace("’", "'")
    found: list[Token] = []
    for match in _TOKEN.finditer(text):
        if quoted := match["quoted"]:
            found.append(Token(quoted[1:-1], quoted, "quoted"))
        elif match["sign"]:
            found.append(Token(match["sign"], match["sign"], "sign"))
        elif match["comma"]:
            found.append(Token(",", ",", "comma"))
        elif match["date"]:
            found.append(Token(match["date"], match["date"], "date"))
        elif match["nth"]:
            found.append(Token(match["nth"], match["nth"], "word"))
        elif number := match["number"]:
            found.append(_number("-" * bool(match["minus"]) + number, match["scale"] or ""))
        else:
            found += _words(match["word"].lower())
    return _scaled(found)


def _words(word: str) -> list[Token]:
    word = _SHORT.get(word, word)
    if word.endswith("n't"):
        word = f"{word[:-3]} not"
    parts = word.replace("'", " ").split()
    return [Token(p, stem(p), "word", _NUMBERS.get(p)) for p in parts]


def _number(text: str, scale: str) -> Token:
    value = float(text.replace(",", "")) * _SCALES.get(scale, 1)
    whole = "." not in text and value.is_integer()
    return Token(text + scale, text.replace(",", "") + scale, "number", int(value) if whole else value)


def _scaled(tokens: list[Token]) -> list[Token]:
    """`2 million` is one number."""
    found: list[Token] = []
    for token in tokens:
        last = found[-1] if found else None
        if last and last.kind == "number" and token.text in _SCALES and len(token.text) > 3:
            assert isinstance(last.number, int | float)
            value = last.number * _SCALES[token.text]
            found[-1] = Token(f"{last.text} {token.text}", last.stem, "number", int(value))
        else:
            found.append(token)
    return found


@cache
def of_kind(kind: str) -> frozenset[str]:
    """The stems of the words that tell a kind of names (`mirror/words/reading/kinds.yaml`)."""
    return frozenset(stem(word) for word in kinds()[kind])

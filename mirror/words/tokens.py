"""Text cut into words, numbers and signs, as every reader of questions and names takes it."""

import re
import unicodedata

# A number keeps what is written with it: 0.1, 1e-3, 2,048, 1/2, 10 %, 5MB, 10x.
NUMBER = re.compile(
    r"(?P<number>\d+(?:,\d+)+(?:\.\d+)?|\d+/\d+|\d*\.?\d+(?:e[+-]?\d+)?)(?P<unit>gb/s|[a-zµ]+|%)?(?!\w|\.\d)"
)
_THOUSANDS = re.compile(r"\d{1,3}(,\d{3})+(\.\d+)?")
_WORD = re.compile(r"[^\W\d_]+\d*|<=|>=|<>|!=|[<>=≤≥≠]|,")


def tokens(text: str) -> list[str]:
    """Lower-case words, numbers (with what is written with them) and signs; other punctuation is dropped."""
    text = unicodedata.normalize("NFKC", text).lower().replace("μ", "µ")
    found: list[str] = []
    i = 0
    while i < len(text):
        if match := NUMBER.match(text, i):
            number = match["number"]
            listed = "," in number and not _THOUSANDS.fullmatch(number)
            found += re.split(r"(,)", number) if listed else [match[0]]
            i = match.end()
        elif match := _WORD.match(text, i):
            found.append(match[0])
            i = match.end()
        else:
            i += 1
    return found

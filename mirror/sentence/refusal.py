"""A refusal in two short lines: what was not understood, and the first of what is known nearby."""

import re
from dataclasses import dataclass

_LONGEST = 120  # characters of a line
_END = re.compile(r"(?<=[.?!:]) (?=[A-Z“])")


@dataclass(frozen=True)
class Refused:
    """What a refusal says: two lines, and everything where they do not hold it all (else empty)."""

    first: str
    second: str = ""
    whole: str = ""


def two_lines(summary: str) -> Refused:
    """The first sentence, and the second as far as it is short: of a list its first parts."""
    first, *rest = _END.split(summary.strip(), maxsplit=1)
    second = rest[0] if rest else ""
    short = _shortened(second)
    return Refused(first, short, summary if short != second else "")


def _shortened(text: str) -> str:
    sentence = _END.split(text, maxsplit=1)[0]
    if len(sentence) <= _LONGEST:
        return sentence
    kept = sentence[:_LONGEST].rpartition(",")[0] or sentence[:_LONGEST].rpartition(" ")[0]
    return f"{kept} and more."

"""Words that mean two things in this field: asked back, each choice being the question with one of its meanings."""

import re
from collections.abc import Callable

from mirror.query.errors import Ambiguity
from mirror.words import phrasebook

_ENDS = {word: end for end, among in phrasebook.phrases("sizes", "ends").items() for word in among}

# A word, what is asked, and what it may be put as.
_MEANINGS: tuple[tuple[str, str, Callable[[re.Match[str]], tuple[str, ...]]], ...] = (
    (
        r"\bhow (?P<word>expensive|costly|cheap|efficient|economical) (?:is|are|was|were)\b",
        "memory or time",
        lambda m: ("memory of", "latency of"),
    ),
    (
        r"\bmost (?P<word>expensive|costly|wasteful)(?: one)?\b",
        "memory or time",
        lambda m: ("largest", "slowest"),
    ),
    (
        r"\b(?:most|least) (?P<word>efficient|economical)(?: one)?\b",
        "memory or time",
        lambda m: ("smallest", "fastest") if m[0].startswith("most") else ("largest", "slowest"),
    ),
    (
        r"\b(?P<word>small|tiny|big|large|huge) (?P<axis>batch)(?:es| sizes?)\b",
        "the end of the batch sizes or all of them",
        lambda m: (f"the {_ENDS[m['word']]} batch size", "each batch size"),
    ),
    (
        r"\b(?P<word>low|high|small|large|wide|narrow) (?:dims?|dimensions?)\b(?! embedding)",
        "the end of the dims or all of them",
        lambda m: (f"the {_ENDS[m['word']]} dim", "each dim"),
    ),
    (
        r"\b(?P<word>(?:5[1-9]|[6-9]\d)(?:\.\d+)? ?%) (?:compression|compressed)(?: rate| ratio)?\b",
        "what is kept or what is saved",
        lambda m: tuple(f"compression {share}" for share in _kept_or_saved(m["word"])),
    ),
)
_COMPILED = tuple((re.compile(pattern), between, puts) for pattern, between, puts in _MEANINGS)


def check(question: str) -> None:
    """Raise Ambiguity for the first word that means two things in this question (lower case)."""
    for pattern, between, puts in _COMPILED:
        if match := pattern.search(question):
            choices = (f"{question[: match.start()]}{put}{question[match.end() :]}" for put in puts(match))
            raise Ambiguity(
                f"“{match['word']}” could mean {between}: which one?", tuple(" ".join(c.split()) for c in choices)
            )


def _kept_or_saved(percent: str) -> tuple[str, str]:
    share = float(percent.rstrip(" %")) / 100
    return f"{share:.6g}", f"{1 - share:.6g}"

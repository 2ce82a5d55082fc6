"""A follow-up without its marks: what "only ...", "and for ...", "... instead" say, and the words that are left."""

import re
from dataclasses import dataclass

from mirror.words import phrasebook
from mirror.words.phrasebook import one_of

_OPENING = re.compile(
    r"\s*(?P<lead>(?:(?:and|but|now|then|so|ok|okay|please)\b[\s,]*)*)"
    r"(?P<verb>what about|how about|(?:the )?same (?:for|but|with)|only|just|also|for|"
    r"(?:but )?not|without|excluding|exclude|except(?: for)?|leave out|drop|remove)?\b[\s,]*",
    re.IGNORECASE,
)
_ENDING = re.compile(r"[\s,]*\b(?P<how>instead|rather|too|as well|also|only|please)?[\s?.!]*$", re.IGNORECASE)
_WORDS = phrasebook.phrases("follow_ups", "other data")
_WITHOUT, _MORE, _SURE = _WORDS["without"], _WORDS["more"], _WORDS["surely"]
_ASKING = re.compile(rf"(?:{one_of(phrasebook.phrases('follow_ups', 'openings')['question'])})\b", re.IGNORECASE)


@dataclass(frozen=True)
class Fragment:
    """A follow-up without its marks.

    Attributes:
        text: what is left.
        sure: whether the marks can only be those of a follow-up.
        verb: whether one of them says what to do: `only`, `for`, `without`.
        more: whether what is said is added, and takes the place of nothing.
        without: whether what is said is to go.
    """

    text: str
    sure: bool
    verb: bool
    more: bool
    without: bool = False

    @property
    def marked(self) -> bool:
        """Whether the words can hardly be a question of their own."""
        return self.sure or self.verb


def fragment_of(question: str) -> Fragment:
    """What is left of a question without the marks of a follow-up, and what these say."""
    opening = _OPENING.match(question)
    verb = " ".join((opening["verb"] or "").lower().split()) if opening else ""
    rest = question[opening.end() :] if opening else question
    ending = _ENDING.search(rest)
    how = (ending["how"] or "").lower() if ending else ""
    text = rest[: ending.start()] if ending else rest
    if verb in _WITHOUT:
        text = f"without {text}"
    lead = opening["lead"].lower() if opening else ""
    ended = how in (*_MORE, "instead", "rather") and not _ASKING.match(text)  # "which ...? Show the price too"
    sure = bool(re.match("and|but", lead)) or verb in _SURE or "same" in verb or ended
    return Fragment(text, sure, bool(verb), verb == "also" or how in _MORE, verb in _WITHOUT)

"""The words of a follow-up question: what it does to the question before is set apart from what it says.

A text is cut at marks ("also", "only", "instead of") into parts, each with a mode; orders that are no part of a
question ("show all", "reverse the order", "drop the outliers") are taken out as wishes.
"""

import difflib
import re
import unicodedata
from dataclasses import dataclass, field
from typing import Literal

from mirror.language.followup import marks
from mirror.language.followup.marks import Direction, Mode
from mirror.language.phrases import quality_cues
from mirror.words import phrasebook
from mirror.words.tokens import tokens

_SMALL = phrasebook.words("fillers", phrasebook.EVERYWHERE, "results") | {",", "and", "or"}
_BARE_NOUN = re.compile(
    r"^(?:trials|runs|rows|points|results|configurations|ones)(?= (?:with|where|that|of|on|at|in)\b)"
)


@dataclass(frozen=True)
class Part:
    """A piece of a follow-up.

    Attributes:
        mode: what becomes of what it says. `replace`: it stands for what the question before says of the same; `and`:
            likewise, save that dimensions are added; `add`: it is added; `only`: it alone is kept; `without`: it is
            excluded; `drop`: it is taken away, be it a value, a filter or a column; `all`: its filters are lifted;
            `regardless`: its filters are lifted, or it is averaged over; `group`: grouped by it; `by`: grouped by it as
            well; `beside`: compared with it.
        text: its words, for the grammar.
        instead_of: the words for what it replaces; empty for what the question before said of the same.
    """

    mode: Mode
    text: str
    instead_of: str = ""


@dataclass(frozen=True)
class ParsedFollowUp:
    """A follow-up taken apart.

    Attributes:
        parts: in the order of the text.
        text: the question, in lower case and without polite words.
        rest: the text without marks and wishes.
        leans: surely (its words only make sense after another question), perhaps (it opens with a word that often is
            one of those), or empty.
        direction: the order wished for.
        wishes: count, outliers (to be dropped), everything (no limit), linear, log, log_x, log_y, chart (of any kind),
            swap (the axes), unfilter (all filters), any time.
        within: how far below the baseline's the AUC may be, or None.
        freed: words for columns whose filters are to go.
        merged: words for columns that are no longer to be grouped by.
        notes: one for each corrected typo.
    """

    parts: tuple[Part, ...]
    text: str
    rest: str
    leans: Literal["surely", "perhaps", ""] = ""
    direction: Direction = ""
    wishes: frozenset[str] = frozenset()
    within: float | None = None
    freed: tuple[str, ...] = ()
    merged: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def says_nothing(self) -> bool:
        """Whether the text asks for nothing, not even for another order."""
        wished = self.direction or self.wishes or self.freed or self.merged or self.within is not None
        return not self.parts and not wished


def parse(question: str) -> ParsedFollowUp:
    """Take a follow-up apart. Any text can be: what is no follow-up becomes one part."""
    text, notes = _spelled(_normal(question))
    surely = marks.SURELY.search(text) or marks.ANAPHORA.search(text) or marks.SET.match(text)
    text = _squeezed(marks.POLITE.sub(" ", marks.ANAPHORA.sub(" ", text)))
    surely = surely or marks.SURELY.search(text)
    taken = _Taken()
    within, rest = quality_cues.find(text)
    parts = [narrow for part in _parts(_take_wishes(_squeezed(rest), taken)) for narrow in _narrowed(part)]
    leans = surely or "outliers" in taken.wishes
    return ParsedFollowUp(
        tuple(p for p in parts if says_something(p.text)),
        text,
        " ".join(f"without {p.text}" if p.mode in ("without", "drop") else p.text for p in parts),
        "surely" if leans else "perhaps" if marks.PERHAPS.match(text) else "",
        taken.direction,
        frozenset(taken.wishes),
        within,
        tuple(taken.freed),
        tuple(taken.merged),
        tuple(notes),
    )


def says_something(text: str) -> bool:
    """Whether a text has words other than those that say nothing."""
    return any(word not in _SMALL for word in tokens(text))


def opens_a_question(text: str) -> bool:
    """Whether the text, or what follows a comma or an `and` in it, opens as a question or a request does."""
    return bool(marks.QUESTION.search(text))


def is_statement(question: str) -> bool:
    """Whether a text asks to change data: no follow-up, whatever it drops."""
    return bool(marks.STATEMENT.match(_normal(question)))


def only_numbers(text: str) -> bool:
    """Whether a text says nothing but numbers."""
    words = [w for w in tokens(text) if w not in _SMALL]
    return bool(words) and all(w[0].isdigit() or w[0] == "." for w in words)


# -- spelling ------------------------------------------------------------------------------------------------------


def _normal(question: str) -> str:
    text = unicodedata.normalize("NFKC", question).lower().replace("’", "'").replace("‘", "'")
    return _squeezed(re.sub(r"[?!]+|\.(?=\s|$)", " , ", text))


def _squeezed(text: str) -> str:
    return re.sub(r"^[\s,;:]+|[\s,;:]+$", "", re.sub(r"\s+", " ", text))


def _spelled(text: str) -> tuple[str, list[str]]:
    """The text with the typos in its marks corrected, and a note for each."""
    notes: list[str] = []

    def corrected(match: re.Match[str]) -> str:
        word = match[0]
        near = difflib.get_close_matches(word, marks.TYPOS, n=1, cutoff=0.84)
        if not near or word == near[0] or word in ("line", "lines") or not _is_slip(word, near[0]):
            return word
        notes.append(f"read “{word}” as “{near[0]}”")
        return near[0]

    return re.sub(r"[a-z]{5,}", corrected, text), notes


def _is_slip(word: str, meant: str) -> bool:
    """Whether a word is a slip of the pen and no form of its own, such as `removed`."""
    begins = word.startswith(meant[:-1]) or meant.startswith(word[:-1])
    return not (begins or meant.endswith(word) or word.endswith(meant))


# -- wishes --------------------------------------------------------------------------------------------------------


@dataclass
class _Taken:
    direction: Direction = ""
    wishes: set[str] = field(default_factory=set)
    freed: list[str] = field(default_factory=list)
    merged: list[str] = field(default_factory=list)


def _take_wishes(text: str, taken: _Taken) -> str:
    """The text without the wishes, freed and merged columns, and directions that go with no sorting."""

    def columns(match: re.Match[str], into: list[str]) -> str:
        words = " ".join(filter(None, match.groupdict().values()))
        if not says_something(words):
            return match[0]
        into.append(words)
        return " , "

    for name, pattern in marks.WISHES.items():
        text, found = pattern.subn(" , ", text)
        if found:
            taken.wishes.add(name)
            text = _squeezed(text)
    text = marks.FREED.sub(lambda m: columns(m, taken.freed), text)
    text = marks.MERGED.sub(lambda m: columns(m, taken.merged), text)
    sorting = marks.SORTING.search(text)
    for direction, pattern in marks.DIRECTIONS.items():
        if not pattern.search(text):
            continue
        if sorting and direction in ("descending", "ascending"):
            text = pattern.sub(f" {direction} ", text)
        else:
            taken.direction = direction
            text = pattern.sub(" , ", text)
    return _squeezed(marks.SORTING.sub("sort by", text))


# -- parts ---------------------------------------------------------------------------------------------------------


def _parts(text: str) -> list[Part]:
    """The parts of a text, those without a word among them."""
    if match := marks.SET.match(text):
        if says_something(match["old"]):
            return [Part("replace", match["new"], match["old"]), *_parts(text[match.end() :])]
        text = f"use {match['new']}{text[match.end() :]}"
    mode: Mode = "replace"
    if match := marks.OPENS_AND.match(text):
        beside = match[0] in ("vs", "versus", "against")
        mode = "beside" if beside else "and" if match[0] in ("and", "or", "&", "with") else "add"
        text = text[match.end() :]
    parts: list[Part] = []
    start = 0
    for match in marks.MARK.finditer(text):
        name, words = str(match.lastgroup), text[start : match.start()]
        if name == "plain" or match.start() < start:
            continue
        start = match.end()
        if name == "target":
            target = re.split("[,;]", text[start:], maxsplit=1)[0]
            start += len(target)
            parts.append(_part(_unless_added(mode), words, target))
            mode = "replace"
        elif name in marks.TRAILING:
            if says_something(words):
                parts.append(_part(_trailed(name, mode), words))
            elif parts:
                parts[-1] = Part(_trailed(name, parts[-1].mode), parts[-1].text, parts[-1].instead_of)
            mode = "replace"
        else:
            if says_something(words):
                parts.append(_part(mode, words))
            elif mode in ("and", "add"):  # "and by", "also for"
                name = {"group": "by", "replace": mode}.get(name, name)
            mode = name  # type: ignore[assignment]
    return [*parts, _part(mode, text[start:])]


def _narrowed(part: Part) -> list[Part]:
    """ "without dense on frappe" leaves one out, and keeps to the other."""
    if part.mode not in ("without", "drop"):
        return [part]
    text = _BARE_NOUN.sub("", part.text)
    for match in re.finditer(r"(?<![\w-])(?:on|in|at|for|with)(?![\w-])", text):
        if says_something(text[: match.start()]):
            return [Part(part.mode, text[: match.start()].strip()), Part("replace", text[match.start() :])]
    return [Part(part.mode, text.strip(), part.instead_of)]


def _part(mode: Mode, text: str, instead_of: str = "") -> Part:
    """A part; what stands behind a `by` keeps it, since the grammar tells by it what is grouped by."""
    return Part(mode, f"by {text.strip()}" if mode in ("by", "group") else text.strip(), instead_of.strip())


def _unless_added(mode: Mode) -> Mode:
    return "replace" if mode in ("and", "add") else mode


def _trailed(mark: str, mode: Mode) -> Mode:
    """The mode of a part with a mark behind it."""
    if mark == "alone":
        return "only"
    if mark == "too":
        return "by" if mode in ("by", "group") else "add"
    return "group" if mode == "by" else _unless_added(mode)

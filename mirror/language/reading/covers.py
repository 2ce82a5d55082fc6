"""Every reading of every piece of a question, and the cheapest ways to cover the question with them."""

from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from mirror.language.reading.cues import Cue, cues, longest_cue
from mirror.language.reading.lexemes import Token, cut
from mirror.language.reading.linking import EXACT, OWN_TABLE, Link, Linker
from mirror.language.reading.times import Said, times_in
from mirror.schema.database import Database

BEAM, READINGS = 60, 4
_MOST = 40
_MOST_TOKENS = 300  # more is no question
# What it costs to leave a word out of the reading.
_SKIP, _SKIP_FIRM = 2.2, 4.0
_CUE_COST = {"filler": 0.12, "of": 0.02, "measure": 0.25, "adj": 0.02, "show": 0.0, "first": 0.1, "every": 0.1}
_COLUMN_TOO = 0.4  # "hours", where a column is called so
_OTHER_FORM = 0.3  # a value in another form of its word
# From this cost of a name on it is said what a word is taken for: another form of the name itself costs less.
_WORTH_SAYING = 0.3
_LINKED_FILLER = 0.25  # a word of a name that is also a word of every question


@dataclass(frozen=True)
class Span:
    """One reading of some tokens.

    Attributes:
        start, end: places of its tokens.
        kind: rel, col, val, flag, num, time, text (quoted), skipped, or the kind of a cue.
        cost: how unsure it is.
        link: what it names in the database.
        cue: the cue that it is.
        value: a number, a time or a quoted text.
        text: as written.
    """

    start: int
    end: int
    kind: str
    cost: float
    link: Link | None = None
    cue: Cue | None = None
    value: object = None
    text: str = ""

    @property
    def meaning(self) -> str:
        """Of a cue, which of its kind it is."""
        return self.cue.meaning if self.cue else ""


@dataclass(frozen=True)
class Cover:
    """One way to read the whole question: spans from left to right."""

    spans: tuple[Span, ...]
    cost: float

    @property
    def skipped(self) -> tuple[str, ...]:
        """Words that were not read."""
        return tuple(s.text for s in self.spans if s.kind == "skipped")


def tokens_of(question: str, now: datetime) -> tuple[list[Token], list[Said]]:
    """The tokens of a question, and the times among them."""
    tokens = cut(question)
    return tokens, times_in(tokens, now)


def spans_of(tokens: list[Token], times: list[Said], linker: Linker) -> list[list[Span]]:
    """For each place the spans that begin there."""
    words = [t.text for t in tokens]
    stemmed = [t.stem for t in tokens]
    named = _tables_named(stemmed, linker)
    starts: list[list[Span]] = []
    for i, token in enumerate(tokens):
        here: list[Span] = []
        for said in times:
            if said.start == i:
                words_said = " ".join(words[i : said.end])
                here.append(
                    Span(i, said.end, "time", said.cost - 0.02 * (said.end - i), value=said.time, text=words_said)
                )
        if token.kind == "quoted":
            here.append(Span(i, i + 1, "text", 0.0, value=token.text, text=token.text))
        if token.kind == "comma":
            here.append(Span(i, i + 1, "comma", 0.0, text=","))
        if token.number is not None:
            here.append(
                Span(i, i + 1, "num", 0.0 if token.kind == "number" else 0.05, value=token.number, text=token.text)
            )
        for length in range(1, min(longest_cue(), len(tokens) - i) + 1):
            for cue in cues().get(tuple(words[i : i + length]), ()):
                cost = _CUE_COST.get(cue.kind, 0.05) - 0.02 * (length - 1)
                own = stemmed[i + length - 1 : i + length] if cue.kind in ("bucket", "elapsed") else []
                own += stemmed[i + 1 : i + length] if cue.kind == "agg" else []  # "total amount of orders"
                if any(_is_column(linker, word) for word in own):
                    cost += _COLUMN_TOO
                here.append(Span(i, i + length, cue.kind, cost, cue=cue, text=" ".join(words[i : i + length])))
        plain = any(s.kind in ("filler", "of", "and", "or", "neg") and s.end == i + 1 for s in here)
        for length in range(1, min(linker.longest, len(tokens) - i) + 1):
            links = linker.at(tuple(stemmed[i : i + length]))
            if len(links) > READINGS:  # of two hundred columns called so, those of tables that the question names
                links = tuple(sorted(links, key=lambda link: (link.cost, link.table not in named)))
            for link in links[:READINGS]:
                cost = link.cost + (_LINKED_FILLER if plain and length == 1 else 0.0) - 0.05 * (length - 1)
                if link.kind == "val" and length == 1 and not _same_form(token.text, str(link.value)):
                    cost += _OTHER_FORM
                here.append(_linked(i, i + length, link, cost, " ".join(words[i : i + length])))
        if not here:
            here += [_linked(i, i + 1, link, link.cost, token.text) for link in linker.corrected(token)[:READINGS]]
        firm = token.kind in ("number", "quoted") or token.text == "not"
        here.append(Span(i, i + 1, "skipped", _SKIP_FIRM if firm else _SKIP, text=token.text))
        starts.append(here)
    return starts


def _tables_named(stemmed: list[str], linker: Linker) -> set[str]:
    """Tables that some words of a question are the whole name of."""
    phrases = [tuple(stemmed[i:end]) for i in range(len(stemmed)) for end in range(i + 1, i + linker.longest + 1)]
    return {link.table for p in phrases for link in linker.at(p) if link.kind == "rel" and link.cost == EXACT}


def _is_column(linker: Linker, stemmed: str) -> bool:
    return any(link.kind == "col" and link.cost <= OWN_TABLE for link in linker.at((stemmed,)))


def _same_form(word: str, value: str) -> bool:
    """Whether a word stands in a value as it is, or in the plural: `bookings` is not `Booked`."""
    own = value.lower().replace("-", " ").split()
    return any(word in (w, f"{w}s", f"{w}es") or w in (f"{word}s", f"{word}es") for w in own)


def _linked(start: int, end: int, link: Link, cost: float, text: str) -> Span:
    return Span(start, end, link.kind, cost, link=link, text=text)


def covers(starts: list[list[Span]], most: int = _MOST) -> list[Cover]:
    """The cheapest covers, the cheapest first: a beam over places, so that any text takes bounded time."""
    beams: list[list[Cover]] = [[] for _ in range(len(starts) + 1)]
    beams[0] = [Cover((), 0.0)]
    for i, here in enumerate(starts):
        beams[i] = sorted(beams[i], key=lambda c: c.cost)[:BEAM]
        for cover in beams[i]:
            used = {s.link.table for s in cover.spans if s.link}
            for span in here:
                cost = cover.cost + span.cost
                if span.link and used and span.link.table not in used:
                    cost += 0.08  # one table is likelier than two
                beams[span.end].append(Cover((*cover.spans, span), cost))
    return sorted(beams[-1], key=lambda c: c.cost)[:most]


@lru_cache(maxsize=8)
def covers_of(question: str, database: Database, now: datetime) -> tuple[Cover, ...]:
    """The cheapest covers of a question; none of what is too long to be one."""
    tokens = cut(question)
    if len(tokens) > _MOST_TOKENS:
        return ()
    return tuple(covers(spans_of(tokens, times_in(tokens, now), linker_of(database)), _MOST))


@lru_cache(maxsize=8)
def linker_of(database: Database) -> Linker:
    """The linker of a database, kept."""
    return Linker(database)


def taken_for(cover: Cover) -> tuple[str, ...]:
    """What words are taken for, where that is not their own name; one phrase each."""
    notes = []
    for span in cover.spans:
        if span.link is None or span.link.kind == "flag" or (span.cost < _WORTH_SAYING and not span.link.learnt):
            continue
        name = span.link.table if span.link.column is None else f"{span.link.table}.{span.link.column}"
        taken = f"{name} = {span.link.value}" if span.link.kind == "val" else name
        notes.append(f"“{span.text}” taken for {taken}")
    return tuple(dict.fromkeys(notes))

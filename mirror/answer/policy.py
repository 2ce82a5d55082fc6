"""What becomes of a question's readings: one is answered at once, some are shown to choose from, or it is refused.

Precision counts what is answered at once, so a reading that is unsure is shown in words first, with its answer one
click away. The thresholds were chosen on the open databases of `mirror eval --set foreign`, the first on
questions besides that the reader was not built on: what was tuned looks surer than it is.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from mirror.answer.proposal import Proposal
from mirror.language.reading.cues import cues
from mirror.language.reading.reading import Reading
from mirror.query.other_data.form import Asked
from mirror.query.other_data.form_in_words import read_back
from mirror.query.other_data.form_sentence import sentence
from mirror.schema.database import Database
from mirror.table.values import Value

# A reading that costs more is not answered at once.
AT_ONCE = 0.4
# The next reading whose rows differ must cost so much more.
CLEAR = 0.1
# A reading that costs more is not even shown: it is hardly ever meant.
SHOWN = 2.0
MOST_CHOICES = 3
MOST_READINGS = 5
# From this cost of a name on it is said what a word is taken for: another form of the name itself costs less.
_WORTH_SAYING = 0.3
_MOST_WORDS = 6  # that a refusal names
_WEIGHTY = ("not", "no", "every", "both", "only")

Rows = tuple[tuple[Value | None, ...], ...]
RowsOf = Callable[[Reading], Rows | None]  # None where they cannot be had


@dataclass(frozen=True)
class Decision:
    """What is done with a question.

    Attributes:
        kind: `answer` the first reading, `show` the readings, or `refuse`.
        readings: the best first; of a refusal the nearest that works, if any.
        unread: content words that no reading takes in.
        empty: whether the first reading has no rows, or nothing in them.
    """

    kind: Literal["answer", "show", "refuse"]
    readings: tuple[Reading, ...] = ()
    unread: tuple[str, ...] = ()
    empty: bool = False


def decide(found: Sequence[Reading], rows_of: RowsOf) -> Decision:
    """What to do with the readings of a question, the cheapest first.

    Args:
        found: as `readings` gives them.
        rows_of: runs one; it is called for as few as can be.
    """
    if not found:
        return Decision("refuse")
    whole = [r for r in found if not r.unread and r.cost <= SHOWN]
    if not whole:
        unread = tuple(dict.fromkeys(found[0].unread))
        return Decision("refuse", tuple(found[:1]) if unread else (), unread)
    best = whole[0]
    rows = rows_of(best)
    empty = rows is not None and all(value is None for row in rows for value in row)
    likely = best is found[0] and not best.left and best.cost <= AT_ONCE and rows is not None and not empty
    rivals = [r for r in whole[1:] if not likely or r.cost - best.cost < CLEAR]
    seen, different = [_columns(rows)], [best]
    for other in rivals:
        others = _columns(rows_of(other))
        if others is None or not any(s is not None and bool(others) == bool(s) and others <= s for s in seen):
            different.append(other)
        seen.append(others)
    if likely and len(different) == 1:
        return Decision("answer", (best,))
    return Decision("show", tuple(different[:MOST_CHOICES]), empty=empty)


def _columns(rows: Rows | None) -> frozenset[tuple[str, ...]] | None:
    """The columns, each as its values in any order: rows that show some of another reading's columns say no more."""
    return None if rows is None else frozenset(tuple(sorted(map(repr, column))) for column in zip(*rows, strict=True))


def proposals(readings: Sequence[Reading], database: Database) -> tuple[Proposal, ...]:
    """The readings in words that tell them apart."""
    said: list[Proposal] = []
    for reading in readings:
        text = sentence(reading.asked, database)
        if any(p.text == text for p in said):
            text = f"{text} ({read_back(reading.asked, reading.built, database)})"
        if all(p.text != text for p in said):
            said.append(Proposal(text, reading.asked))
    return tuple(said)


def told(decision: Decision, near: Callable[[str], Sequence[str]] = lambda _: ()) -> str:
    """What is said beside readings that are shown, or which words are why a question is refused.

    `near` gives the names that a word may have been meant for.
    """
    if decision.kind == "show":
        left = decision.readings[0].left
        beside = f" It leaves out {_quoted(left)}." if left and len(decision.readings) == 1 else ""
        beside += " Read so, nothing is there." if decision.empty else ""
        if len(decision.readings) == 1:
            return f"Is this meant?{beside}"
        return f"This can be read in {len(decision.readings)} ways: which is meant?{beside}"
    skipped = decision.readings[0].cover.skipped if decision.readings else decision.unread
    unknown = [w for w in decision.unread if w in skipped and (w.lower(),) not in cues()]
    unplaced = [w for w in decision.unread if w not in unknown and (not unknown or w in _WEIGHTY)]
    parts = []
    if unknown:
        names = list(dict.fromkeys(name for w in unknown[:_MOST_WORDS] for name in near(w)))
        hint = f" Did you mean {' or '.join(names[:3])}?" if names else ""
        parts.append(f"The data say nothing about {_quoted(unknown)}.{hint}")
    if unplaced:
        parts.append(f"What {_quoted(unplaced)} should do here is not clear.")
    return " ".join(parts)


def _quoted(words: Sequence[str]) -> str:
    more = f" and {len(words) - _MOST_WORDS} more words" if len(words) > _MOST_WORDS else ""
    return ", ".join(f"“{w[:40]}”" for w in words[:_MOST_WORDS]) + more


def assumed(reading: Reading) -> tuple[str, ...]:
    """What a reading takes words for, where that is not their own name; one phrase each."""
    notes = []
    for span in reading.cover.spans:
        if span.link is None or span.cost < _WORTH_SAYING or span.link.kind == "flag":
            continue
        name = span.link.table if span.link.column is None else f"{span.link.table}.{span.link.column}"
        taken = f"{name} = {span.link.value}" if span.link.kind == "val" else name
        notes.append(f"“{span.text}” taken for {taken}")
    return tuple(dict.fromkeys(notes))


def with_notes(reading: Reading) -> Asked:
    """The form, with what its reading assumes."""
    return replace(reading.asked, notes=(*reading.asked.notes, *assumed(reading)))

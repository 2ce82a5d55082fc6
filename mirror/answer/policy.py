"""What becomes of a question's readings: one is answered at once, some are shown to choose from, or it is refused.

Precision counts what is answered at once, so a reading that is unsure is shown in words first, with its answer one
click away. The chances come from `mirror.language.ranking`, whose ranker was fitted on questions over databases that
neither reader was built on; the limits below were set on the open databases of `mirror eval --set foreign`.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from mirror.answer.proposal import Proposal
from mirror.language.neural.unread import NEGATIONS
from mirror.language.ranking.candidate import Candidate, Rows
from mirror.language.reading.covers import taken_for
from mirror.language.reading.cues import cues
from mirror.language.reading.when.days import months
from mirror.query.other_data.form import Asked
from mirror.query.other_data.form_in_words import read_back
from mirror.query.other_data.form_sentence import sentence
from mirror.query.other_data.key_roles import without_roles
from mirror.schema.database import Database

# From this chance on a reading is answered at once, unless a word of the question names nothing.
AT_ONCE = 0.75
# A first reading below this chance is not even shown: the data hardly hold what is asked.
SHOWN = 0.05
# The same, where a word of the question names nothing at all.
SHOWN_UNKNOWN = 0.3
# Other readings are shown beside it from this chance on.
BESIDE = 0.02
# A reading of all words that costs so little is answered at once too; where the network reads nothing, at more.
PLAIN, PLAIN_ALONE, CLEAR = 0.15, 0.25, 0.1
# A reading of all words is always among the choices where hardly one of them needs to be taken for another.
AS_NAMED = 0.08
# What the network alone reads, and more likely otherwise, is shown where the words say something else as plainly.
UNSURE = 0.5
MOST_CHOICES = 3
_MOST_WORDS = 6  # that a refusal names
_WEIGHTY = ("not", "no", "every", "both", "only")


@dataclass(frozen=True)
class Decision:
    """What is done with a question.

    Attributes:
        kind: `answer` the first reading, `show` the readings, or `refuse`.
        readings: the likeliest first; of a refusal the nearest that works, if any.
        unread: words that name nothing.
    """

    kind: Literal["answer", "show", "refuse"]
    readings: tuple[Candidate, ...] = ()
    unread: tuple[str, ...] = ()


def decide(found: Sequence[Candidate], skipped: Sequence[str] = ()) -> Decision:
    """What to do with the readings of a question.

    Args:
        found: as `candidates` gives them.
        skipped: words that name nothing.
    """
    whole = any(c.first and not c.first.unread and not c.left for c in found)
    if not found or (not whole and found[0].chance < (SHOWN_UNKNOWN if skipped else SHOWN)):
        return Decision("refuse", tuple(found[:1]), tuple(skipped))
    best = found[0]
    alike = [c for c in found[1:] if c.chance >= BESIDE and without_roles(c.asked) == without_roles(best.asked)]
    likely = (best.chance >= AT_ONCE and not _is_doubtful(found) and not _left_weight(best)) or _is_plain(found)
    fails = best.compared and best.rows is None
    if likely and not fails and not best.empty and not alike and not skipped:
        return Decision("answer", (best,))
    seen, different = [_columns(best.rows)], [best]
    for other in found[1:]:
        others = _columns(other.rows)
        told = others is not None and any(s is not None and bool(others) == bool(s) and others <= s for s in seen)
        if not told and other.chance >= BESIDE:
            different.append(other)
        seen.append(others)
    shown = different[:MOST_CHOICES]
    kept = next((c for c in different if _says_all(c, AS_NAMED)), None)
    if kept and kept not in shown:
        shown[-1] = kept  # what the words plainly say is among the choices
    return Decision("show", tuple(shown), tuple(skipped))


def _is_plain(found: Sequence[Candidate]) -> bool:
    """Whether the first reading takes in all words at hardly any cost, and no other does so at a like one."""
    best, first = found[0], found[0].first
    alone = not any(c.second for c in found)
    if first is None or not _says_all(best, PLAIN_ALONE if alone else PLAIN):
        return False
    return not any(c.first and c.first.cost - first.cost < CLEAR and c.rows != best.rows for c in found[1:])


def _is_doubtful(found: Sequence[Candidate]) -> bool:
    """Whether the network alone reads so, and leaves words out or holds against what the words plainly say."""
    best = found[0]
    if best.first is not None or best.second is None:
        return False
    against = any(c.rows != best.rows and _says_all(c, PLAIN) for c in found[1:])
    return bool(best.left) or (against and math.exp(best.second.score) < UNSURE)


def _left_weight(reading: Candidate) -> tuple[str, ...]:
    """Words that are left out and change what is meant, however likely the rest is: "not", "april", "30"."""
    words = dict.fromkeys((*reading.left, *(reading.first.unread if reading.first else ())))
    return tuple(word for word in words if word in NEGATIONS or word in months() or word[:1].isdigit())


def _says_all(reading: Candidate, most: float) -> bool:
    """Whether a reading takes in all words, at a cost of at most so much."""
    first = reading.first
    return first is not None and not (first.unread or first.left or reading.left) and first.cost <= most


def _columns(rows: Rows | None) -> frozenset[tuple[str, ...]] | None:
    """The columns, each as its values in any order: rows that show some of another reading's columns say no more."""
    return None if rows is None else frozenset(tuple(sorted(map(repr, column))) for column in zip(*rows, strict=True))


def proposals(readings: Sequence[Candidate], database: Database) -> tuple[Proposal, ...]:
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
        best = decision.readings[0]
        own = best.left if len(decision.readings) == 1 else _left_weight(best)
        left_out = tuple(dict.fromkeys((*decision.unread, *own)))
        beside = f" Left out: {_quoted(left_out)}." if left_out else ""
        beside += " Read so, nothing is there." if best.empty else ""
        if len(decision.readings) == 1:
            return f"Is this meant?{beside}"
        return f"This can be read in {len(decision.readings)} ways: which is meant?{beside}"
    unknown = [w for w in decision.unread if (w.lower(),) not in cues()]
    left = decision.readings[0].left if decision.readings else ()
    unplaced = [w for w in dict.fromkeys((*decision.unread, *left)) if w not in unknown]
    unplaced = [w for w in unplaced if not unknown or w in _WEIGHTY]
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


def assumed(reading: Candidate) -> tuple[str, ...]:
    """What a reading takes words for, where that is not their own name; one phrase each."""
    return taken_for(reading.first.cover) if reading.first else ()


def with_notes(reading: Candidate) -> Asked:
    """The form, with what its reading assumes."""
    return replace(reading.asked, notes=(*reading.asked.notes, *assumed(reading)))

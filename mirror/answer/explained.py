"""How a question is read: what its words may be, the readings with their costs, why the first won."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from math import exp

from mirror.answer.policy import AT_ONCE, SHOWN, Decision
from mirror.language.ranking.candidate import Candidate
from mirror.language.ranking.ranker import RESULTS_RANKER, trained
from mirror.language.ranking.results_evidence import ResultsCandidate
from mirror.language.reading.covers import Span, covers_of, linker_of, spans_of, tokens_of
from mirror.query.in_words import question_of
from mirror.query.other_data.form_sentence import sentence
from mirror.query.other_data.form_text import text_of
from mirror.schema.database import Database

_MOST_MEANINGS, _MOST_GAINS = 5, 3
_LEAST_TERM = 0.005  # a difference below that is none


def reading_in_words(
    question: str, database: Database, now: datetime, found: Sequence[Candidate], decision: Decision
) -> str:
    """All of it as text for a terminal."""
    covers = covers_of(question, database, now)
    parts = ["Words, each with what it may be and what that costs (* in the cheapest way to read them all):"]
    parts[0] += "\n" + "\n".join(_words(question, database, now, covers[0].spans if covers else ()))
    if found:
        listed = (line for i, reading in enumerate(found, 1) for line in _reading(i, reading, database))
        parts.append("Readings:\n" + "\n".join(listed))
        if len(found) > 1:
            parts.append(_why(found[0], found[1]))
    parts.append(_decided(decision, found))
    return "\n\n".join(parts)


def _words(question: str, database: Database, now: datetime, taken: Sequence[Span]) -> Iterator[str]:
    """A line for each word or phrase that may be something, from left to right."""
    linker = linker_of(database)
    tokens, times = tokens_of(question, now)
    for here in spans_of(tokens, times, linker):
        for end in sorted({s.end for s in here}):
            spans = sorted((s for s in here if s.end == end), key=lambda s: s.cost)
            meanings = [f"{'*' if s in taken else ''}{_meaning(s)} {s.cost:.2f}" for s in spans[:_MOST_MEANINGS]]
            more = f" · {len(spans) - _MOST_MEANINGS} more" if len(spans) > _MOST_MEANINGS else ""
            if any(s.kind != "skipped" for s in spans) or len({s.end for s in here}) == 1:
                yield f"  {spans[0].text:20}  {' · '.join(meanings)}{more}"


def _meaning(span: Span) -> str:
    """`column orders.amount`, `cue max`, `unread`."""
    if span.link is not None:
        kind = {"rel": "table", "col": "column", "val": "value", "flag": "flag"}[span.link.kind]
        place = span.link.table if span.link.column is None else f"{span.link.table}.{span.link.column}"
        named = f"{kind} {place}" if span.link.value is None else f"{kind} {place} = {span.link.value}"
        return f"{named} (learnt)" if span.link.learnt else named
    if span.cue is not None:
        asks = f" of {', '.join(span.cue.of[:3])} ..." if span.cue.of else ""
        return f"{span.kind} {span.meaning}{asks}" if span.kind != span.meaning else span.kind
    return {"skipped": "unread", "num": "number", "text": "quoted text"}.get(span.kind, span.kind)


def _reading(number: int, reading: Candidate, database: Database) -> Iterator[str]:
    left = f", leaves out {', '.join(f'“{w}”' for w in reading.left)}" if reading.left else ""
    yield f"  {number}  chance {reading.chance:.2f}{left}: {sentence(reading.asked, database)}"
    form = "; ".join(f"{k}: {v if isinstance(v, str) else _listed(v)}" for k, v in text_of(reading.asked).items())
    yield f"       {form}"
    if reading.first:
        terms = " · ".join(f"{name} {cost:.2f}" for name, cost in reading.first.terms if abs(cost) > _LEAST_TERM)
        yield f"       by its words: costs {reading.first.cost:.2f}{f' ({terms})' if terms else ''}"
    if reading.second:
        yield f"       by the network: probability {exp(reading.second.score):.2f}"


def results_readings_in_words(found: Sequence[ResultsCandidate]) -> str:
    """The readings of a question over the results, each with its chance and the probability that the network gives."""
    if not found:
        return "It has no reading."
    lines = []
    for i, reading in enumerate(found, 1):
        left = f", leaves out {', '.join(reading.read.unread)}" if reading.read.unread else ""
        told = f"chance {reading.chance:.2f}, probability {exp(reading.read.score):.2f}{left}"
        lines.append(f"  {i}  {told}: {question_of(reading.asked)}")
    parts = ["Readings:\n" + "\n".join(lines)]
    if len(found) > 1:
        gains = trained(RESULTS_RANKER).gains(found[1].features, found[0].features)
        parts.append(_behind(found[0].chance - found[1].chance, gains))
    return "\n\n".join(parts)


def _listed(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _why(first: Candidate, second: Candidate) -> str:
    """What sets the two apart: which of the first's features would raise the chance of the second most."""
    return _behind(first.chance - second.chance, trained().gains(second.features, first.features))


def _behind(by: float, gains: Sequence[tuple[str, float]]) -> str:
    told = ", ".join(
        f"“{name}” like the first's {gain:+.2f}" for name, gain in gains[:_MOST_GAINS] if gain > _LEAST_TERM
    )
    behind = f"The second reading's chance is {by:.2f} lower."
    return f"{behind} What would raise it most: {told}." if told else behind


def _decided(decision: Decision, found: Sequence[Candidate]) -> str:
    if decision.kind == "answer":
        if found[0].chance < AT_ONCE:
            return "Answered at once: all of its words are read at hardly any cost, and it has rows."
        return f"Answered at once: its chance is {found[0].chance:.2f} (at least {AT_ONCE}), and it has rows."
    if decision.kind == "show":
        best = decision.readings[0]
        why = [f"its chance is {best.chance:.2f} (from {AT_ONCE} on it is answered at once)"] * (best.chance < AT_ONCE)
        why += [f"{', '.join(f'“{w}”' for w in decision.unread)} names nothing"] * bool(decision.unread)
        why += ["it has no rows"] if best.empty else []
        why += ["its statement fails"] if best.compared and best.rows is None else []
        return f"Shown first: {', '.join(why) or 'another key leads to other rows'}."
    if decision.unread:
        return f"Refused: {', '.join(f'“{w}”' for w in decision.unread)} would be left unread."
    if not found:
        return "Refused: no reading can be built."
    return f"Refused: no reading has a chance of {SHOWN} or more."

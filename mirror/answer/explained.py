"""How a question about other data is read: what its words may be, the readings with their costs, why the first won."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from mirror.answer.policy import AT_ONCE, CLEAR, MOST_READINGS, SHOWN, Decision
from mirror.language.reading.covers import Span, linker_of, spans_of, tokens_of
from mirror.language.reading.reading import Reading, readings
from mirror.query.other_data.form_sentence import sentence
from mirror.query.other_data.form_text import text_of
from mirror.schema.database import Database

_MOST_MEANINGS = 5
_LEAST_TERM = 0.005  # a difference below that is none


def reading_in_words(question: str, database: Database, now: datetime, decision: Decision) -> str:
    """All of it as text for a terminal."""
    found = readings(question, database, now, MOST_READINGS)
    parts = ["Words, each with what it may be and what that costs (* in the first reading):"]
    parts[0] += "\n" + "\n".join(_words(question, database, now, found[0].cover.spans if found else ()))
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
        return f"{kind} {place}" if span.link.value is None else f"{kind} {place} = {span.link.value}"
    if span.cue is not None:
        asks = f" of {', '.join(span.cue.of[:3])} ..." if span.cue.of else ""
        return f"{span.kind} {span.meaning}{asks}" if span.kind != span.meaning else span.kind
    return {"skipped": "unread", "num": "number", "text": "quoted text"}.get(span.kind, span.kind)


def _reading(number: int, reading: Reading, database: Database) -> Iterator[str]:
    unread = f", leaves out {', '.join(f'“{w}”' for w in reading.unread)}" if reading.unread else ""
    yield f"  {number}  costs {reading.cost:.2f}{unread}: {sentence(reading.asked, database)}"
    form = "; ".join(f"{k}: {v if isinstance(v, str) else _listed(v)}" for k, v in text_of(reading.asked).items())
    yield f"       {form}"
    yield f"       {' · '.join(f'{name} {cost:.2f}' for name, cost in reading.terms if abs(cost) > _LEAST_TERM)}"


def _listed(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _why(first: Reading, second: Reading) -> str:
    """What sets the two apart, term by term."""
    theirs = dict(second.terms)
    apart = [(name, theirs[name] - cost) for name, cost in first.terms if abs(theirs[name] - cost) > _LEAST_TERM]
    terms = ", ".join(f"{name} {difference:+.2f}" for name, difference in apart)
    if not terms:
        return "The first two readings cost the same."
    return f"The second reading costs {second.cost - first.cost:.2f} more than the first: {terms}."


def _decided(decision: Decision, found: Sequence[Reading]) -> str:
    if not found:
        return "Refused: no reading can be built."
    best = found[0]
    if decision.kind == "answer":
        return (
            f"Answered at once: nothing is left unread, it costs {best.cost:.2f} (at most {AT_ONCE}), and no reading "
            f"with other rows is closer than {CLEAR}."
        )
    if decision.kind == "show":
        why = []
        why += [f"it costs {decision.readings[0].cost:.2f} (at most {AT_ONCE} is answered at once)"]
        why += [f"it does not hold {', '.join(f'“{w}”' for w in decision.readings[0].left)}"] * bool(
            decision.readings[0].left
        )
        why += ["it has no rows"] if decision.empty else []
        why += ["another reading has other rows"] if len(decision.readings) > 1 else []
        return f"Shown first: {', '.join(why)}."
    if decision.unread:
        return f"Refused: {', '.join(f'“{w}”' for w in decision.unread)} would be left unread."
    return f"Refused: every reading costs more than {SHOWN}."

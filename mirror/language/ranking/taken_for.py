"""What words of a question over the results were taken for: slips of the pen, and words that were learnt."""

from collections.abc import Iterator
from dataclasses import replace

from mirror.language.neural.results_numbers import plain
from mirror.language.neural.results_phrases import CURVES, phrases_of
from mirror.language.reading.lexemes import cut
from mirror.language.reading.linking import Link
from mirror.query.spec import QuerySpec
from mirror.schema import catalog
from mirror.schema.profile import Profile


def with_notes(asked: QuerySpec, question: str, profile: Profile) -> QuerySpec:
    """The query with a note for each word that it holds as something else than what was typed."""
    return replace(asked, notes=tuple(dict.fromkeys((*asked.notes, *_notes(asked, question, profile)))))


def _notes(asked: QuerySpec, question: str, profile: Profile) -> Iterator[str]:
    phrases, held = phrases_of(profile), _held(asked)
    own = {word.word for word in profile.words}
    for token in cut(plain(question)):
        if token.kind != "word":
            continue
        known = phrases.at((token.stem,))
        if learnt := next((k for k in known if token.text in own and _thing(k) in held), None):
            yield f"“{token.text}” taken for {_name(learnt)}"
        elif not known and (near := next((k for k in phrases.corrected(token) if _thing(k) in held), None)):
            yield f"read “{token.text}” as “{_name(near)}”"


def _held(asked: QuerySpec) -> set[tuple[str, object]]:
    """The columns, curves, values and benchmarks of a query."""
    columns = {m.name or m.column for m in asked.metrics} | {*asked.dimensions, *asked.partitions, *asked.averaged}
    columns |= {f.column for f in asked.filters} | {o.column for o in asked.order}
    held: set[tuple[str, object]] = {("column", c) for c in columns}
    held |= {(f.column, v) for f in (*asked.filters, *filter(None, (asked.against,))) for v in f.values}
    return held


def _thing(link: Link) -> tuple[str, object]:
    if link.kind == "rel":
        return "benchmark", link.table
    return ("column", link.column) if link.kind == "col" else (str(link.column), link.value)


def _name(link: Link) -> str:
    if link.kind == "col" and link.column:
        return link.column if link.table == CURVES else catalog.entry(link.column).label
    return str(link.value or link.table)

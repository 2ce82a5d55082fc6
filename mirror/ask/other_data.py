"""A question about other data becomes an answer: source, words, form, SQL, rows, chart and sentence."""

import logging
import re
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache

from mirror.ask.answer import Answer
from mirror.chart.chart_spec import ChartSpec
from mirror.chart.choose import choose
from mirror.data.guard import sqlglot_tree as guard
from mirror.data.guard.duckdb import GuardError
from mirror.data.process.sandbox import QueryError, QueryStopped
from mirror.data.process.source_process import OutsideData, shared
from mirror.data.sources.location import SourceError, find
from mirror.language.tables import spans
from mirror.language.tables.examples import examples
from mirror.language.tables.mentions import known_sentence, prepared
from mirror.language.tables.picking import Picker
from mirror.language.tables.resolve import Resolver
from mirror.language.tables.revenue import revenue
from mirror.language.tables.vocabulary import MONEY, Item, Words
from mirror.language.tables.walk import Walk
from mirror.query.errors import Ambiguity, Refusal
from mirror.query.spec import Metric, Order, QuerySpec
from mirror.query.tables.build import Built, build
from mirror.query.tables.form import Asked
from mirror.query.tables.form_in_words import read_back
from mirror.schema.database import Database
from mirror.schema.names import singular
from mirror.sentence.summary import summarize
from mirror.table.table import Table
from mirror.table.wording import counted, in_words

MAX_QUESTION = 1_000

_log = logging.getLogger(__name__)
_OPENING = re.compile(r"\s*(select\b|with\s+(recursive\s+)?\w+\s*(\([^()]*\)\s*)?as\s*\()", re.IGNORECASE)
# What a statement holds and a question hardly ever, so that a slip in SQL is told as one.
_SIGNS = re.compile(r"[*(=;]|^\s*select\s+\w+\s*,", re.IGNORECASE)


def data(url: str) -> OutsideData:
    """What can be asked about at a URL or path. Raises SourceError."""
    return shared(find(url))


def ask(question: str, url: str, now: datetime | None = None) -> Answer:
    """Answer a question about a database or files that are no results of Mirror's.

    Never raises for anything that a person can type or a database can do. A text is taken for SQL when it begins as a
    SELECT does, does not end with a question mark, and either holds one of the signs `* ( = ;` (or a comma after the
    first column) or has a FROM and can be parsed.

    Args:
        question: plain words, or a SELECT statement.
        url: SQLAlchemy URL, path, folder, glob, or paths with commas between them.
        now: the present that "last month" is told from, naive UTC; by default the clock's.
    """
    try:
        source = data(url)
        database = source.database()
        if not question.strip():
            return _refused(question, "Ask something, for example one of these questions.", database)
        if _is_sql(question, database):
            return run_sql(question, url, question)
        if len(question) > MAX_QUESTION:
            raise Refusal(f"The question is {len(question):,} characters long: ask in at most {MAX_QUESTION:,}.")
        return _in_words(question, source, database, now or datetime.now(UTC).replace(tzinfo=None))
    except Refusal as error:
        return Answer("refused", question[:MAX_QUESTION], summary=str(error))
    except (SourceError, QueryStopped) as error:
        return Answer("error", question[:MAX_QUESTION], summary=str(error))


def run_sql(sql: str, url: str, question: str = "") -> Answer:
    """Run an edited statement through the guard; chart and sentence follow from its columns alone. Never raises."""
    blank = Answer("error", question, "SQL as written", sql, engine="sql")
    try:
        table, odd = data(url).run(sql)
    except GuardError as error:
        return replace(blank, status="refused", summary=str(error))
    except (QueryError, QueryStopped, SourceError) as error:
        return replace(blank, summary=str(error))
    chart = choose(table, None)
    return _told(replace(blank, status="answered", table=table, chart=chart), summarize(table, None, chart), odd)


@lru_cache(maxsize=4)
def _words(database: Database) -> Words:
    return Words(database)


def understood(question: str, database: Database, now: datetime) -> Asked:
    """The form of a question in plain words. Raises Refusal or Ambiguity."""
    text, quotes = prepared(question)
    known = _words(database)
    times, course, rest = spans.find(text, now, known.names())
    items, words, notes = known.items(rest)
    picker = Picker(known, words, times, quotes)
    if earned := next((i for i in items if i.kind == "unknown" and i.text in MONEY), None):
        raise revenue(earned, picker)
    if unknown := [i.text for i in items if i.kind == "unknown"]:
        raise Refusal(_unknown(unknown, known))
    _no_arithmetic(text, items)
    slots = Walk(items, words, times, quotes, known).slots()
    slots.course = course
    slots.notes[:0] = notes
    return Resolver(slots, picker).asked()


def _no_arithmetic(text: str, items: list[Item]) -> None:
    """Raises Refusal for `amount/quantity`: as words alone it would be two numbers side by side."""
    names = {word for i in items if i.kind in ("column", "table") for word in i.text.split()}
    for left, sign, right in re.findall(r"(\w+)\s*([/+])\s*(?=(\w+))", text.lower()):
        if {singular(left), left} & names and {singular(right), right} & names:
            raise Refusal(f"“{left}{sign}{right}” is not read: only “times” joins two columns, or write the SQL.")


def _is_sql(text: str, database: Database) -> bool:
    if not _OPENING.match(text) or text.rstrip().endswith("?"):
        return False
    return bool(_SIGNS.search(text)) or ("from" in text.lower() and guard.is_readable(text, database.dialect))


def _in_words(question: str, source: OutsideData, database: Database, now: datetime) -> Answer:
    try:
        asked = understood(question, database, now)
        built = build(asked, database)
    except Refusal as error:
        return _refused(question, str(error), database)
    except Ambiguity as error:
        return Answer("ambiguous", question, summary=str(error), suggestions=error.choices)
    except Exception:  # whatever was typed, the person gets a sentence, and the log what was wrong
        _log.exception("A question could not be read")
        return _refused(
            question, "This question could not be read, by a fault of Mirror's: ask in other words.", database
        )
    blank = Answer("error", question, read_back(asked, built, database), built.sql)
    try:
        found, odd = source.run(built.sql)
    except GuardError as error:
        return replace(blank, status="refused", summary=str(error))
    except (QueryError, QueryStopped, SourceError) as error:
        return replace(blank, summary=str(error))
    table = built.typed(found)
    if not asked.measures:
        chart = ChartSpec("table", reason="The rows are listed as they are.")
        more = "the first " if table.truncated else ""
        rows = f"{more}{counted(len(table.rows), 'row')}" if table.rows else "No rows match"
        answer = replace(blank, status="answered", table=table, chart=chart)
        return _told(answer, f"{rows[:1].upper()}{rows[1:]}.", odd, database, built)
    spec = _spec(asked, built)
    chart = choose(table, spec)
    answer = replace(blank, status="answered", table=table, chart=chart, spec=spec)
    return _told(answer, _sentence(table, spec, chart), odd, database, built)


def _spec(asked: Asked, built: Built) -> QuerySpec:
    """The result's columns by use, as chart and sentence ask for them; not a question that could be compiled."""
    ranked = asked.order is not None and (asked.ties or asked.limit is not None)
    metrics = list(built.metrics)
    order: tuple[Order, ...] = ()
    if asked.order and not asked.count_groups:
        leading = metrics.pop(asked.order[0])
        metrics.insert(0, leading)
        order = (Order(leading, asked.order[1]),)
    return QuerySpec(
        "ranking" if ranked else "groups",
        tuple(Metric(name) for name in metrics),
        built.dimensions,
        order=order,
        limit=asked.limit,
        chart=asked.chart,
    )


def _sentence(table: Table, spec: QuerySpec, chart: ChartSpec) -> str:
    """The sentence of a result whose rows are groups; what a single row is about comes first."""
    text = summarize(table, spec, chart)
    # It counts the rows of the result, which here say nothing of how many rows were added up.
    text = text.removesuffix(f" Rests on {counted(len(table.rows), 'row')}.")
    if len(table.rows) == 1 and spec.dimensions:
        key = {d: table.values(d)[0] for d in spec.dimensions if d in table.names}
        return f"{in_words(table, key)}: {text[:1].lower()}{text[1:]}"
    return text


def _told(
    answer: Answer, summary: str, odd: int, database: Database | None = None, built: Built | None = None
) -> Answer:
    """The answer with its sentence, and with what the person must know besides."""
    notes = [note for note in database.notes if built and _concerns(note, built)] if database else []
    if odd:
        notes.append(f"{counted(odd, 'number')} of the result {'is' if odd == 1 else 'are'} none (NaN or infinite).")
    return replace(answer, summary=summary, note=" ".join(notes))


def _concerns(note: str, built: Built) -> bool:
    return any(re.search(rf"(?<!\w){re.escape(table)}(?!\w)", note) for table in built.tables)


def _refused(question: str, why: str, database: Database) -> Answer:
    return Answer("refused", question[:MAX_QUESTION], summary=why, suggestions=examples(database)[:3])


def _unknown(unknown: list[str], known: Words) -> str:
    words = ", ".join(f"“{w[:40]}”" for w in dict.fromkeys(unknown[:6]))
    more = f" and {len(unknown) - 6} more words" if len(unknown) > 6 else ""
    near = list(dict.fromkeys(label for w in unknown[:6] for label in known.nearest(w)))
    hint = f" Did you mean {' or '.join(near[:3])}?" if near else ""
    return f"The data say nothing about {words}{more}.{hint} {known_sentence(known)}"

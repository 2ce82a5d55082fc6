"""The whole flow as one call: question -> QuerySpec -> SQL -> rows -> chart and sentence."""

import re
from dataclasses import replace
from datetime import datetime

from db.journal import open_results
from db.settings import SettingsError
from db.store import StoreError
from mirror.ask import other_data
from mirror.ask.answer import Answer
from mirror.ask.readers import Reading, Unread, read
from mirror.chart.choose import choose
from mirror.data.guard.duckdb import GuardError
from mirror.data.process.sandbox import QueryError, QueryStopped, Sandbox, UnreadableError, shared
from mirror.data.sources.kind import is_outside
from mirror.data.sources.location import SourceError
from mirror.language.requests import actions
from mirror.model import llm_summary
from mirror.query.errors import Ambiguity, Refusal
from mirror.query.in_words import read_back
from mirror.query.spec import ChartWish, Filter, QuerySpec
from mirror.query.sql import compile_sql
from mirror.schema import catalog
from mirror.schema.views import KNOWN_COLUMNS
from mirror.sentence.summary import summarize

MAX_QUESTION = 1_000
_CURVE_CAP = 10_000
# How a statement begins: "With dim 16, which ..." does not, "Select the fastest method" may.
_OPENING = re.compile(
    rf"\s*(select\b|from\s+({'|'.join(KNOWN_COLUMNS)})\b|values\s*\(|with\s+(recursive\s+)?\w+\s*(\([^()]*\)\s*)?as\b)",
    re.IGNORECASE,
)
# What a statement holds and a question hardly ever, so that a slip in SQL is told as one.
_SIGNS = re.compile(r"[*(=;]|^\s*select\s+\w+\s*,", re.IGNORECASE)
_FROM = re.compile(r"\bfrom\b", re.IGNORECASE)


def ask(
    question: str,
    sandbox: Sandbox | None = None,
    db: str | None = None,
    use_model: bool = True,
    now: datetime | None = None,
    after: Answer | None = None,
) -> Answer:
    """Answer a question about the results. Never raises for anything that a person can type or a model can answer.

    A text counts as SQL when it begins as a statement does, does not end with a question mark, and either holds one of
    the signs `* ( = ;` (or a comma after the first column) or has a FROM and can be parsed.

    Args:
        question: plain words, or a SELECT statement.
        sandbox: where the SQL runs; by default the shared one of `db`.
        db: SQLAlchemy URL or file: of results, or of other data (a database, CSV or Parquet), which is then asked
            (mirror.language.tables); by default the MIRROR_DB setting.
        use_model: whether a language model, where one is configured, may read the question.
        now: the present that the grammar tells "yesterday" from, naive UTC; by default the clock's.
        after: the answer before, which a follow-up such as "and for 0.05?" changes; None for a first question.
    """
    if not question.strip():
        return _refused(question, "Ask something, for example one of these questions.")
    try:
        if sandbox is None and db and is_outside(db):
            return other_data.ask(question, db, now)
        if sandbox is None:
            open_results(db)
            sandbox = shared(db)
        return _as_sql(question, sandbox) or _in_words(question, sandbox, use_model, now, after)
    except Refusal as error:
        return _refused(question, str(error))
    except Ambiguity as error:
        return _asked_back(question, error)
    except (StoreError, SettingsError, QueryError, QueryStopped, SourceError) as error:
        return Answer("error", question, summary=str(error))


def run_sql(
    sql: str,
    sandbox: Sandbox,
    question: str = "",
    spec: QuerySpec | None = None,
    wish: ChartWish | None = None,
) -> Answer:
    """Run a statement, generated or edited, through the guard and the sandbox, and draw and word its result.

    `spec` is the QuerySpec behind generated SQL; without it chart and sentence follow from the columns alone.
    """
    read_as = read_back(spec) if spec else "SQL as written"
    blank = Answer("error", question, read_as, sql, engine="grammar" if spec else "sql", spec=spec)
    try:
        # A curve has a row for every step: of several trials more than one looks at as a table.
        table = sandbox.run(sql, row_cap=_CURVE_CAP) if spec and spec.source == "curves" else sandbox.run(sql)
        failed = _failed(spec, sandbox) if spec else 0
        machines = sandbox.profile().machines if spec else 0
    except GuardError as error:
        return replace(blank, status="refused", summary=str(error))
    except (QueryError, QueryStopped, StoreError) as error:
        return replace(blank, summary=str(error))
    chart = choose(table, spec, wish)
    summary = summarize(table, spec, chart, failed=failed, machines=machines)
    return replace(blank, status="answered", table=table, chart=chart, summary=summary)


def _refused(question: str, why: str) -> Answer:
    return Answer("refused", question[:MAX_QUESTION], summary=why, suggestions=catalog.examples()[:3])


def _asked_back(question: str, error: Ambiguity) -> Answer:
    return Answer("ambiguous", question, summary=str(error), suggestions=error.choices)


def _as_sql(text: str, sandbox: Sandbox) -> Answer | None:
    """The answer of a text that is SQL, else None."""
    if not _OPENING.match(text) or text.rstrip().endswith("?"):
        return None
    if not _SIGNS.search(text) and not (_FROM.search(text) and _can_be_parsed(text, sandbox)):
        return None
    return run_sql(text, sandbox, question=text)


def _can_be_parsed(text: str, sandbox: Sandbox) -> bool:
    try:
        sandbox.run(f"SELECT 1 FROM ({text}\n) AS asked LIMIT 0")
    except UnreadableError:
        return False
    except (GuardError, QueryError, QueryStopped):
        return True  # SQL, if not such as can run: `run_sql` says why
    return True


def _in_words(question: str, sandbox: Sandbox, use_model: bool, now: datetime | None, after: Answer | None) -> Answer:
    """The answer of a question in plain words. Raises Refusal or Ambiguity."""
    if len(question) > MAX_QUESTION:
        raise Refusal(f"The question is {len(question):,} characters long: ask in at most {MAX_QUESTION:,}.")
    if plan := actions.read(question, sandbox.profile()):
        told = f"{plan.words} Nothing runs until you press Start on the page New run."
        return Answer("action", question, " · ".join(plan.notes), summary=told, plan=plan)
    try:
        reading = read(question, sandbox, use_model, now, after)
    except Unread as unread:
        cause = unread.cause
        answer = _asked_back(question, cause) if isinstance(cause, Ambiguity) else _refused(question, str(cause))
        return _told(answer, unread.reading)
    if reading.spec:
        answer = run_sql(compile_sql(reading.spec), sandbox, question=question, spec=reading.spec)
        return _reworded(_told(replace(answer, asked=reading.asked), reading))
    answer = replace(run_sql(reading.sql or "", sandbox, question=question), read_as=reading.read_as)
    return _reworded(_told(answer, reading))


def _told(answer: Answer, reading: Reading) -> Answer:
    """The answer with how it came about."""
    return replace(
        answer,
        engine=reading.engine,
        note=reading.note,
        sent=reading.sent,
        tokens=reading.tokens,
        agreement=reading.agreement,
    )


def _reworded(answer: Answer) -> Answer:
    """The sentence in the words of the language model that read the question, where rows may be sent to it."""
    if answer.engine != "llm" or answer.status != "answered" or answer.table is None:
        return answer
    worded = llm_summary.worded(answer.question, answer.table, answer.summary, answer.read_as)
    return replace(
        answer,
        summary=worded.text,
        note=" ".join(filter(None, (answer.note, worded.note))),
        sent="\n\n".join(filter(None, (answer.sent, worded.sent))),
        tokens=answer.tokens + worded.tokens,
    )


def _failed(spec: QuerySpec, sandbox: Sandbox) -> int:
    """How many failed trials the same filters would have shown; 0 where failures lack a column to tell by."""
    if spec.source != "results" or any(f.column not in KNOWN_COLUMNS["failures"] for f in spec.filters):
        return 0
    count = QuerySpec("count", filters=(*spec.filters, Filter("status", "<>", ("skipped",))), source="failures")
    return int(sandbox.run(compile_sql(count)).rows[0][0] or 0)


def to_json(answer: Answer) -> dict[str, object]:
    """The object that `--json` prints."""
    chart = answer.chart
    return {
        "status": answer.status,
        "read_as": answer.read_as,
        "sql": answer.sql,
        "columns": list(answer.table.names) if answer.table else [],
        "rows": [list(row) for row in answer.table.rows] if answer.table else [],
        "truncated": bool(answer.table and answer.table.truncated),
        "chart": {k: v for k, v in vars(chart).items() if v not in (None, "", False, ())} if chart else None,
        "summary": answer.summary,
        "suggestions": list(answer.suggestions),
        "engine": answer.engine,
        "note": answer.note,
        "action": {"words": answer.plan.words, "command": answer.plan.command} if answer.plan else None,
        "agreement": vars(answer.agreement) if answer.agreement else None,
        "tokens": {"read": answer.tokens.prompt, "written": answer.tokens.completion},
    }

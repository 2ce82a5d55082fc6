"""The whole flow as one call: question -> QuerySpec -> SQL -> rows -> chart and sentence."""

import re
from dataclasses import dataclass, replace
from typing import Literal

from db.columns import BY_NAME
from db.journal import open_results
from db.store import StoreError
from mirror import catalog
from mirror.chart import choose
from mirror.compile_sql import compile_sql
from mirror.guard import GuardError
from mirror.query_spec import Answer, ChartWish, Filter, QuerySpec
from mirror.sandbox import QueryError, QueryStopped, Sandbox, shared
from mirror.summary import summarize
from mirror.understand import Ambiguity, Refusal, grammar
from mirror.understand.complete import complete
from mirror.understand.llm import LlmError, LlmFrontEnd
from mirror.understand.read_back import read_back

MAX_QUESTION = 1_000
_SQL_START = re.compile(r"\s*(?:select|with|from|values)\b[^?]*\b(?:from|select|values)\b", re.IGNORECASE | re.DOTALL)
# Columns that the view of failures shares with the results: what a count of failed trials can be filtered by.
_FAILURE_COLUMNS = (
    "benchmark",
    "op",
    "method",
    "dataset",
    "device",
    "compression",
    "embedding_dim",
    "batch_size",
    "seed",
)


def ask(question: str, sandbox: Sandbox | None = None, db: str | None = None, llm: LlmFrontEnd | None = None) -> Answer:
    """Answer a question about the results. Never raises for anything a person can type.

    Args:
        question: plain words, or a SELECT statement.
        sandbox: where the SQL runs; by default the shared one of `db`.
        db: SQLAlchemy URL or DuckDB file of the results; by default the MIRROR_DB setting.
        llm: language model front end; by default the configured one, if any.
    """
    refused = _unaskable(question)
    if refused:
        return Answer("refused", question[:MAX_QUESTION], summary=refused, suggestions=catalog.examples()[:3])
    try:
        if sandbox is None:
            open_results(db)
            sandbox = shared(db)
        if _SQL_START.match(question):
            return run_sql(question, sandbox, question=question)
        understood = _understand(question, sandbox, llm or LlmFrontEnd())
    except Refusal as error:
        return Answer("refused", question, summary=str(error), suggestions=catalog.examples()[:3])
    except Ambiguity as error:
        return Answer("ambiguous", question, summary=str(error), suggestions=error.choices)
    except (StoreError, QueryStopped) as error:
        return Answer("error", question, summary=str(error))
    answer = run_sql(compile_sql(understood.spec), sandbox, question=question, spec=understood.spec)
    return replace(answer, engine=understood.engine, note=understood.note, sent=understood.sent)


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
        table = sandbox.run(sql)
        failed = _failed(spec, sandbox) if spec else 0
    except GuardError as error:
        return replace(blank, status="refused", summary=str(error))
    except (QueryError, QueryStopped, StoreError) as error:
        return replace(blank, summary=str(error))
    chart = choose(table, spec, wish)
    return replace(
        blank, status="answered", table=table, chart=chart, summary=summarize(table, spec, chart, failed=failed)
    )


def _unaskable(question: str) -> str:
    if not question.strip():
        return "Ask something, for example one of these questions."
    if len(question) > MAX_QUESTION and not _SQL_START.match(question):
        return f"The question is {len(question):,} characters long: ask in at most {MAX_QUESTION:,}."
    return ""


@dataclass(frozen=True)
class _Understood:
    """A reading and how it came about; the fields are those of Answer."""

    spec: QuerySpec
    engine: Literal["grammar", "llm"] = "grammar"
    note: str = ""
    sent: str = ""


def _understand(question: str, sandbox: Sandbox, llm: LlmFrontEnd) -> _Understood:
    """By the language model where one is configured, by the grammar where none is or it fails."""
    profile = sandbox.profile()
    if not llm.configured():
        return _Understood(grammar.read(question, profile))
    values = {e.name: profile.values(e.name) for e in catalog.entries().values() if e.role in ("axis", "info")}
    try:
        reading = llm.read(question, catalog.describe(), {k: v for k, v in values.items() if v})
        return _Understood(complete(reading.spec, profile, question), "llm", sent=reading.sent)
    except LlmError as error:
        note = f"{error} Answered by the built-in grammar instead."
        return _Understood(grammar.read(question, profile), note=note)


def _failed(spec: QuerySpec, sandbox: Sandbox) -> int:
    """How many failed trials the same filters would have shown."""
    if spec.source != "results":
        return 0
    filters = [f for f in spec.filters if f.column in _FAILURE_COLUMNS]
    if len(filters) < len([f for f in spec.filters if BY_NAME[f.column].role == "axis"]):
        return 0  # a filter that failures do not have: no honest count
    count = QuerySpec("count", filters=(*filters, Filter("status", "<>", ("skipped",))), source="failures")
    return int(sandbox.run(compile_sql(count)).rows[0][0] or 0)


def to_json(answer: Answer) -> dict[str, object]:
    """The object that `--json` prints."""
    chart = answer.chart
    return {
        "status": answer.status,
        "read_as": answer.read_as,
        "sql": answer.sql,
        "columns": list(answer.table.columns) if answer.table else [],
        "rows": [list(row) for row in answer.table.rows] if answer.table else [],
        "truncated": bool(answer.table and answer.table.truncated),
        "chart": {k: v for k, v in vars(chart).items() if v not in (None, "", False)} if chart else None,
        "summary": answer.summary,
        "suggestions": list(answer.suggestions),
        "engine": answer.engine,
        "note": answer.note,
    }

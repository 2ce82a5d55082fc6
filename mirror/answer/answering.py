"""Question in, Answer out: over the results of Mirror's, and over other data."""

import re
from dataclasses import replace
from datetime import datetime
from functools import cached_property

from db.journal import open_results
from mirror.answer.answer import Answer
from mirror.answer.readers import Reading, Unread, read
from mirror.answer.subject import FAILURES, MAX_QUESTION, Subject, ask_about, asked_back, failed, ran, refused
from mirror.answer.whole import with_whole
from mirror.chart.choose import choose
from mirror.data.guard.guard_errors import GuardError
from mirror.data.process.sandbox import Sandbox, shared
from mirror.data.process.sql_process import QueryError, QueryStopped, UnreadableError
from mirror.data.sources.kind import is_outside
from mirror.language.requests import actions
from mirror.model import llm_summary
from mirror.query.errors import Ambiguity
from mirror.query.in_words import read_back
from mirror.query.spec import ChartWish, Filter, QuerySpec
from mirror.query.sql import compile_sql
from mirror.schema import catalog
from mirror.schema.views import KNOWN_COLUMNS
from mirror.sentence.summary import summarize

__all__ = ["MAX_QUESTION", "ask", "run_sql", "to_json"]

_CURVE_CAP = 10_000


def ask(
    question: str,
    sandbox: Sandbox | None = None,
    db: str | None = None,
    use_model: bool = True,
    now: datetime | None = None,
    after: Answer | None = None,
) -> Answer:
    """Answer a question. Never raises for anything that a person can type or a model can answer.

    Args:
        question: plain words, or a SELECT statement: `mirror.answer.subject` says how they are told apart.
        sandbox: where the SQL runs; by default the shared one of `db`.
        db: SQLAlchemy URL or file: of results, or of other data (a database, CSV or Parquet), which is then asked
            (mirror.language.other_data); by default the MIRROR_DB setting.
        use_model: whether a language model, where one is configured, may read the question.
        now: the present that the grammar tells "yesterday" from, naive UTC; by default the clock's.
        after: the answer before, which a follow-up such as "and for 0.05?" changes; None for a first question.
    """
    try:
        subject: Subject = _Results(sandbox, db)
        if sandbox is None and db and question.strip() and is_outside(db):
            from mirror.answer.other_data import OtherData

            subject = OtherData(db)
    except FAILURES as error:
        return failed(question, error)
    return ask_about(subject, question, use_model, now, after)


class _Results:
    """The results of Mirror's as what is asked about; opened by the first question that needs them."""

    opening = re.compile(
        rf"\s*(select\b|from\s+({'|'.join(KNOWN_COLUMNS)})\b|values\s*\(|(un)?pivot\s+\w+\s+on\b|"
        r"with\s+(recursive\s+)?\w+\s*(\([^()]*\)\s*)?as\b)",
        re.IGNORECASE,
    )

    def __init__(self, sandbox: Sandbox | None, db: str | None) -> None:
        self._given = sandbox
        self._db = db

    @cached_property
    def source(self) -> Sandbox:
        """Raises StoreError or SettingsError."""
        if self._given is not None:
            return self._given
        open_results(self._db)
        return shared(self._db)

    def is_readable(self, sql: str) -> bool:
        try:
            self.source.run(f"SELECT 1 FROM ({sql}\n) AS asked LIMIT 0")
        except UnreadableError:
            return False
        except (GuardError, QueryError, QueryStopped):
            return True  # SQL, if not such as can run: `run_sql` says why
        return True

    def examples(self) -> tuple[str, ...]:
        return catalog.examples()

    def run_sql(self, sql: str, question: str = "") -> Answer:
        return run_sql(sql, self.source, question)

    def in_words(self, question: str, use_model: bool, now: datetime | None, after: Answer | None) -> Answer:
        sandbox = self.source
        if plan := actions.read(question, sandbox.profile()):
            told = f"{plan.words} Nothing runs until you press Start on the page New run."
            return Answer("action", question, " · ".join(plan.notes), summary=told, plan=plan)
        try:
            reading = read(question, sandbox, use_model, now, after)
        except Unread as unread:
            if isinstance(unread.cause, Ambiguity):
                return _told(asked_back(question, unread.cause), unread.reading)
            return _told(refused(question, str(unread.cause), self), unread.reading)
        if reading.spec:
            answer = run_sql(compile_sql(reading.spec), sandbox, question=question, spec=reading.spec)
            return _reworded(_told(replace(answer, asked=reading.asked), reading))
        answer = replace(run_sql(reading.sql or "", sandbox, question=question), read_as=reading.read_as)
        return _reworded(_told(answer, reading))


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

    def run() -> Answer:
        # A curve has a row for every step: of several trials more than one looks at as a table.
        table = sandbox.run(sql, row_cap=_CURVE_CAP) if spec and spec.source == "curves" else sandbox.run(sql)
        table = with_whole(table, sql, spec, sandbox.run)
        failures = _failed(spec, sandbox) if spec else 0
        machines = sandbox.profile().machines if spec else 0
        chart = choose(table, spec, wish)
        summary = summarize(table, spec, chart, failed=failures, machines=machines)
        return replace(blank, status="answered", table=table, chart=chart, summary=summary)

    return ran(blank, run)


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

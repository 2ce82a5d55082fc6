"""Question in, Answer out: over the results, and over other data."""

from dataclasses import replace
from datetime import datetime

from db.plain_text import printable, seen
from mirror.answer.answer import Answer
from mirror.answer.as_text import explained
from mirror.answer.results import Results
from mirror.answer.subject import FAILURES, MAX_QUESTION, Subject, ask_about, failed
from mirror.data.process.sandbox import Sandbox
from mirror.data.sources.kind import find_other_data

__all__ = ["MAX_QUESTION", "ask", "explain", "run_sql", "subject_of", "to_json"]


def ask(
    question: str,
    sandbox: Sandbox | None = None,
    db: str | None = None,
    use_model: bool = True,
    now: datetime | None = None,
    after: Answer | None = None,
    learnt: bool = True,
    plans: bool = True,
) -> Answer:
    """Answer a question. Never raises for anything that a person can type, a model can answer or a database can do.

    Args:
        question: plain words, or a SELECT statement: `mirror.answer.subject` says how they are told apart.
        sandbox: results that are open already; `db` is then not looked at.
        db: SQLAlchemy URL, path, folder, glob, or paths with commas between them: of results, or of other data (a
            database, CSV or Parquet), which is then asked (mirror.language.reading); by default the setting
            MIRROR_DB.
        use_model: whether a language model, where one is configured, may read the question.
        now: the present that the built-in reader tells "yesterday" from, naive UTC; by default the clock's.
        after: the answer before, which a follow-up such as "and for 0.05?" changes; None for a first question.
        learnt: whether what was learnt from choices before is used, and a choice of what `after` offers is learnt.
        plans: whether a request to run something gets a plan, for which the engine is asked; else it is refused.
    """
    try:
        subject = subject_of(sandbox, db, learnt, plans)
    except FAILURES as error:
        return failed(question, error)
    return ask_about(subject, question, use_model, now, after)


def explain(question: str, db: str | None = None, now: datetime | None = None) -> tuple[Answer, str]:
    """The answer of a question, and how it came about as text for a terminal. Never raises; `db` is that of `ask`."""
    try:
        subject = subject_of(None, db)
        answer = ask_about(subject, question, now=now)
        short = question.strip() and len(question) <= MAX_QUESTION
        readings = subject.explain(seen(question), now) if short else ""
    except FAILURES as error:
        answer, readings = failed(question, error), ""
    return answer, "\n\n".join(filter(None, (explained(answer), printable(readings, keep="\n"))))


def run_sql(sql: str, sandbox: Sandbox | None = None, db: str | None = None, question: str = "") -> Answer:
    """Run an edited statement of the answer of `question`, through the guard; chart and sentence follow from its
    columns alone. `sandbox` and `db` are those of `ask`. Never raises."""
    try:
        return subject_of(sandbox, db).run_sql(sql, question)
    except FAILURES as error:
        return replace(failed(question, error), read_as="SQL as written", sql=sql, engine="sql")


def subject_of(
    sandbox: Sandbox | None = None, db: str | None = None, learnt: bool = True, plans: bool = True
) -> Subject:
    """What questions are about: other data where `db`, or without it the setting MIRROR_DB, names some, else results.

    `learnt` and `plans` are those of `ask`.

    Raises SourceError, QueryStopped or SettingsError where that cannot be read.
    """
    if sandbox is None and (location := find_other_data(db)):
        from mirror.answer.other_data import OtherData

        return OtherData(location, learnt)
    return Results(sandbox, db, learnt, plans)


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
        "learnt": [{"kind": h.kind, "text": h.text, "means": h.means} for h in answer.learnt],
        "tokens": {"read": answer.tokens.prompt, "written": answer.tokens.completion},
    }

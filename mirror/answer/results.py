"""The results as what is asked about: words become a spec, SQL, rows, chart and sentence."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from typing import Any

from db.journal import open_results
from mirror.answer.answer import Answer
from mirror.answer.readers import Reading, Unread, read
from mirror.answer.results_policy import Shown
from mirror.answer.subject import Behind, Lesson, asked_back, known_alike, ran, refused, rows_at
from mirror.answer.whole import sampled, with_whole
from mirror.chart.choose import choose
from mirror.data.data_source import QueryError, QueryStopped, UnreadableError
from mirror.data.guard.guard_errors import GuardError
from mirror.data.process.sandbox import Sandbox, shared
from mirror.data.process.worded_sandbox import WordedSandbox
from mirror.language.learning.of_results import holds_later, taught_word
from mirror.language.learning.own_words_text import said_words, words_of_results
from mirror.language.ranking.results_readings import results_readings
from mirror.language.ranking.settled_benchmark import settle
from mirror.language.requests import actions
from mirror.query.errors import Ambiguity, Refusal
from mirror.query.in_words import read_back
from mirror.query.kept.habits import Habits
from mirror.query.saved import saved_path
from mirror.query.spec import Filter, QuerySpec
from mirror.query.sql import compile_sql
from mirror.runs.listing import filled, listed
from mirror.runs.person import ONLY_ASKS
from mirror.runs.run_plan import RunPlan
from mirror.schema import catalog
from mirror.schema.own_words import OwnWord
from mirror.schema.profile import Profile
from mirror.schema.views import KNOWN_COLUMNS
from mirror.sentence.summary import summarize
from mirror.table.table import Table

_CURVE_CAP = 10_000
_MOST_TRIALS = 500  # behind a point: their ids are listed in SQL


class Results:
    """Results in a sandbox, or at a URL or path, as what is asked about; opened by what first needs them."""

    opening = re.compile(
        rf"\s*(select\b|from\s+({'|'.join(KNOWN_COLUMNS)})\b|values\s*\(|(un)?pivot\s+\w+\s+on\b|"
        r"with\s+(recursive\s+)?\w+\s*(\([^()]*\)\s*)?as\b)",
        re.IGNORECASE,
    )

    def __init__(self, sandbox: Sandbox | None, db: str | None, learnt: bool = True, plans: bool = True) -> None:
        self._given = sandbox
        self._db = db
        self._learnt = learnt
        self._plans = plans

    @cached_property
    def source(self) -> Sandbox:
        """Where SQL runs. Raises StoreError or SettingsError."""
        if self._given is not None:
            return self._given
        open_results(self._db)
        return shared(self._db)

    @cached_property
    def habits(self) -> Habits:
        """What was learnt about them. Raises StoreError or SettingsError."""
        return Habits(saved_path(self.source.url), "these results", self._learnt)

    @cached_property
    def _words(self) -> tuple[OwnWord, ...]:
        return words_of_results(self.habits.words, self.source.schema()) if self.habits.words else ()

    @property
    def _worded(self) -> Sandbox:
        """The same source, whose schema knows what people call it."""
        return WordedSandbox(self.source, self._words) if self._words else self.source

    def is_readable(self, sql: str) -> bool:
        """Whether a text can be parsed as SQL of the results. Raises one of FAILURES."""
        try:
            self.source.run(f"SELECT 1 FROM ({sql}\n) AS asked LIMIT 0")
        except UnreadableError:
            return False
        except (GuardError, QueryError, QueryStopped):
            return True  # SQL, if not such as can run: `run_sql` says why
        return True

    def examples(self) -> tuple[str, ...]:
        """Questions that they can answer."""
        return catalog.examples()

    def in_words(self, question: str, use_model: bool, now: datetime | None, after: Answer | None) -> Answer:
        """The answer of a question in plain words, or of a request to measure. Raises one of FAILURES."""
        sandbox = self._worded
        if not self._plans and actions.is_request(question):
            raise Refusal(ONLY_ASKS)
        if plan := actions.read(question, sandbox.schema()):
            told = f"{plan.words} Nothing runs until you press Start on the page New run."
            there = _measured(plan, sandbox.schema())
            return Answer("action", question, " · ".join(plan.notes), summary=told, plan=plan, suggestions=there)
        answer = self._read(question, sandbox, use_model, now, after)
        used = self.habits.of_words({w.word: w.name for w in said_words(question, self._words)})
        note = " ".join(filter(None, (self.habits.note, answer.note)))
        return replace(answer, learnt=answer.learnt or used, note=note)

    def _read(
        self, question: str, sandbox: Sandbox, use_model: bool, now: datetime | None, after: Answer | None
    ) -> Answer:
        learnt = self.habits.recall(question)
        try:
            reading = read(question, sandbox, use_model, now, after, learnt)
        except Unread as unread:
            if isinstance(unread.cause, Ambiguity):
                back = asked_back(question, unread.cause)
                if isinstance(unread.cause, Shown):
                    offered = unread.cause.proposals
                    back = replace(back, suggestions=tuple(p.text for p in offered), proposals=offered)
                return _with_reading(back, unread.reading)
            return _with_reading(refused(question, str(unread.cause), self), unread.reading)
        if reading.spec:
            answer = self.run_sql(compile_sql(reading.spec), question, reading.spec)
            suggestions = tuple(p.text for p in reading.proposals)
            answer = replace(answer, asked=reading.asked, suggestions=suggestions, proposals=reading.proposals)
        else:
            answer = replace(self.run_sql(reading.sql or "", question), read_as=reading.read_as)
        if learnt and reading.recalled:
            read_as = f"{answer.read_as} (you chose this before)"
            answer = replace(answer, read_as=read_as, learnt=(self.habits.of_question(learnt),))
        return _reworded(_with_reading(answer, reading))

    def of_form(self, question: str, form: Mapping[str, Any]) -> Answer:
        """The answer of a question whose reading was kept."""
        from mirror.query.spec_json import from_json  # here, since it takes a while to load

        self.source.schema()  # says which metrics of plug-ins a form may name
        asked = from_json(dict(form))
        spec = settle(asked, question, self.source).spec
        return replace(self.run_sql(compile_sql(spec), question, spec), asked=asked)

    def behind(self, answer: Answer, places: Sequence[int]) -> Behind:
        """The trials that some rows of an answer were made from."""
        from mirror.data.rows_behind import UntracedError, rows_behind  # sqlglot takes a while to load

        sql = rows_behind(answer.sql or "", "duckdb", rows_at(answer, places), "trial_id")
        traced = self.source.run(sql, row_cap=_MOST_TRIALS)
        ids = [str(row[0]) for row in traced.rows]
        if not ids:
            raise UntracedError("No trial is behind it.")
        asked = [column.source for column in answer.table.columns] if answer.table else []
        found = listed(self.source, {"trial_id": ids}, wanted=asked)
        return Behind(filled(found.table), None if traced.truncated else found.total, trials=True)

    def lesson(self, back: Answer, taken: Answer, now: datetime) -> Lesson | None:
        """What a choice teaches; None for nothing."""
        if taken.asked is None:
            return Lesson() if taken.engine == "saved" else None
        from mirror.query.spec_json import to_short_json  # here, since it takes a while to load

        own = taught_word(back.question, taken.asked, self._worded.schema(), now)
        word = (own.word, own.name) if own else None
        return Lesson(to_short_json(taken.asked), word, holds_later(back.question, taken.asked, now))

    def alike(self, question: str, saved_alone: bool) -> tuple[str, ...]:
        """Questions that are known and worded like this one."""
        return known_alike(question, saved_path(self.source.url), () if saved_alone else self.habits.asked)

    def explain(self, question: str, now: datetime | None) -> str:
        """The readings with their chances, whoever answers it. Raises one of FAILURES."""
        from mirror.answer.explained import results_readings_in_words  # here, since it loads the readers of other data

        try:
            found = results_readings(question, self._worded, now)
        except Refusal as error:
            return f"It has no reading: {str(error).splitlines()[0]}"
        return results_readings_in_words(found)

    def run_sql(self, sql: str, question: str = "", spec: QuerySpec | None = None) -> Answer:
        """The answer of a statement. Never raises.

        `spec` is the QuerySpec behind generated SQL; without it chart and sentence follow from the columns alone.
        """
        read_as = read_back(spec) if spec else "SQL as written"
        blank = Answer("error", question, read_as, sql, engine="grammar" if spec else "sql", spec=spec)

        def run() -> Answer:
            sandbox = self.source
            profile = sandbox.schema()  # first: it says which metrics of plug-ins there are
            # A curve has a row for every step: of several trials more than one looks at as a table.
            table = sandbox.run(sql, row_cap=_CURVE_CAP) if spec and spec.source == "curves" else sandbox.run(sql)
            table = sampled(with_whole(table, sql, spec, sandbox.run), sql, spec, sandbox.run)
            table = _of_its_baseline(table, spec, profile)
            failures = _failed(spec, sandbox) if spec else 0
            chart = choose(table, spec)
            summary = summarize(table, spec, chart, failed=failures, machines=profile.machines if spec else 0)
            return replace(blank, status="answered", table=table, chart=chart, summary=summary)

        return ran(blank, run)


def _of_its_baseline(table: Table, spec: QuerySpec | None, profile: Profile) -> Table:
    """The result with the method that the benchmarks asked for compare with, which need not be the usual one."""
    filters = [f for f in spec.filters if f.column == "benchmark" and f.operator in ("=", "in")] if spec else []
    methods = {method for f in filters for name in f.values for method in profile.baselines.get(str(name), ())}
    if not methods or table.domain.baseline in methods:
        return table
    domain = replace(table.domain, baseline=methods.pop() if len(methods) == 1 else "the baseline")
    return replace(table, domain=domain, whole=table.whole and replace(table.whole, domain=domain))


def _measured(plan: RunPlan, profile: Profile) -> tuple[str, ...]:
    """The question that shows what a search has measured already, where it has."""
    if not plan.budget or "validation" not in profile.values("split"):
        return ()
    data = plan.budget[0]
    return (f"memory vs AUC on {data} for split validation",) if data in profile.values("dataset") else ()


def _with_reading(answer: Answer, reading: Reading) -> Answer:
    """The answer with how it came about."""
    return replace(
        answer,
        engine=reading.engine,
        teaches=not reading.changes,
        note=reading.note,
        sent=reading.sent,
        tokens=reading.tokens,
        agreement=reading.agreement,
    )


def _reworded(answer: Answer) -> Answer:
    """The sentence in the words of the language model that read the question, where rows may be sent to it."""
    if answer.engine != "llm" or answer.status != "answered" or answer.table is None:
        return answer
    from mirror.model import llm_summary  # here, since it takes a while to load, and most people set up no model

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

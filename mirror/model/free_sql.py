"""Free SQL: how a language model is asked to write one SELECT where the form does not fit, and what becomes of it."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mirror.data.data_source import QueryError, QueryStopped, Source, UnreadableError
from mirror.data.guard.guard_errors import GuardError
from mirror.model.conversation import (
    Unusable,
    declined,
    json_object,
    notes_of,
    object_schema,
    reason_of,
    without_thoughts,
)
from mirror.model.llm_prompt import DATA
from mirror.table.table import Table

TASK = f"""\
You answer one question about benchmark results with one SQL statement, a SELECT for DuckDB. Answer with one JSON object
alone, no prose and no Markdown: {{"notes": [...], "sql": "...", "cannot_answer": null}}. Numbers and rows of the
results are not shown to you; the statement fetches them.

{DATA}

Keys of the answer:
- notes: first, how you read the question and what you assumed, one short phrase each.
- sql: one SELECT, which may begin with WITH. It reads the views below by their bare names and nothing else: no schema,
  no file, no table function but unnest, range and generate_series. Everyday functions only. No INSERT, UPDATE, CREATE,
  COPY, SET, DESCRIBE or PIVOT, and no second statement. Empty when cannot_answer is a text.
- cannot_answer: null; or one sentence that says why, when the results cannot answer the question or when it asks for
  something other than a look at them. Never guess a column for a word that you do not know.

Rules:
- One row of results is one trial (one seed). Take means over seeds and show count(*) AS n beside them. Never average
  over benchmarks, data sets, embedding dims, batch sizes or directions unless asked to: filter or group by them.
- auc, logloss or a data set imply benchmark = 'training'. compression is the fraction kept: "10x smaller" is 0.1. What
  has no value is NULL. Write texts exactly as in `values`, and numbers in the column's unit (1.2 ms is 1200 in
  latency_us).
- Write AS before every name that you give. A column of the result that is still the metric keeps its name (avg(auc) AS
  auc); what is computed from metrics gets a name of its own in a-z, 0-9 and _, with its unit at the end.
- Divide by nullif(x, 0). Convert text with TRY_CAST. Times are in UTC.
- The result should be short enough to read: sort it, and limit it where it can grow long."""

EXAMPLES: tuple[tuple[str, dict[str, Any]], ...] = (
    (
        "ratio of p99 to median latency per method",
        {
            "notes": ["lookups only", "per batch size, mean over the other axes"],
            "sql": "SELECT method, batch_size, avg(latency_p99_us / nullif(latency_us, 0)) AS p99_over_median, "
            "count(*) AS n\nFROM results\nWHERE benchmark = 'lookup' AND latency_p99_us IS NOT NULL\n"
            "GROUP BY method, batch_size\nORDER BY p99_over_median DESC",
            "cannot_answer": None,
        },
    ),
    (
        "how much AUC does each method lose against dense on the same data set?",
        {
            "notes": ["mean over seeds", "same data set and dim"],
            "sql": "WITH base AS (\n  SELECT dataset, embedding_dim, avg(auc) AS dense_auc\n  FROM results\n"
            "  WHERE benchmark = 'training' AND method = 'dense'\n  GROUP BY dataset, embedding_dim\n)\n"
            "SELECT r.method, r.dataset, r.embedding_dim, r.compression, avg(base.dense_auc - r.auc) AS auc_lost, "
            "count(*) AS n\nFROM results AS r\n"
            "JOIN base ON base.dataset = r.dataset AND base.embedding_dim = r.embedding_dim\n"
            "WHERE r.benchmark = 'training' AND r.method <> 'dense' AND r.auc IS NOT NULL\n"
            "GROUP BY r.method, r.dataset, r.embedding_dim, r.compression\nORDER BY auc_lost",
            "cannot_answer": None,
        },
    ),
    (
        "which share of the trials of each sweep failed?",
        {
            "notes": ["skipped trials do not count as failed"],
            "sql": "WITH trials AS (\n  SELECT sweep, 0 AS failed FROM results\n  UNION ALL\n"
            "  SELECT sweep, 1 AS failed FROM failures WHERE status <> 'skipped'\n)\n"
            "SELECT sweep, 100.0 * sum(failed) / count(*) AS failed_percent, count(*) AS n\nFROM trials\n"
            "GROUP BY sweep\nORDER BY failed_percent DESC",
            "cannot_answer": None,
        },
    ),
    (
        "what will a terabyte of memory cost next year?",
        {"notes": [], "sql": "", "cannot_answer": "The results hold no prices."},
    ),
)

# JSON schema of an answer. The notes come first: what is thought through before is written better.
ANSWER_SCHEMA = object_schema(
    notes={"type": "array", "items": {"type": "string"}},
    sql={"type": "string"},
    cannot_answer={"anyOf": [{"type": "string"}, {"type": "null"}]},
)

# In the place of an error that may quote the data: rows of results are not for the model.
_FAILS_ON_DATA = (
    "The statement can be read, but it fails on values in the data, which are not shown here: convert with TRY_CAST, "
    "divide by nullif(x, 0), and leave out what is NULL."
)
_BARE = re.compile(r"\s*(with|select|from)\b", re.IGNORECASE)
_FENCE = re.compile(r"```(?:sql|duckdb)?[ \t]*\n(.*?)```", re.DOTALL | re.IGNORECASE)


class SqlProblem(ValueError):
    """What is wrong with a statement, seen from its text and the names of columns alone: it holds no data."""


@dataclass(frozen=True)
class WrittenSql:
    """One SELECT that has passed the check, and what the model assumed, one phrase each."""

    sql: str
    notes: tuple[str, ...]


def check_in(source: Source, time_limit_s: float = 10.0, row_cap: int = 1) -> Callable[[str], Table]:
    """A check for SQL of a model: guard, names and types, the query itself, all where the source runs its statements.

    It gives the result. It raises what `Source.run` raises, but SqlProblem for what is wrong without a look at any row.
    """

    def check(sql: str) -> Table:
        try:
            return source.run(sql, row_cap, time_limit_s)
        except UnreadableError:
            raise
        except QueryError:
            try:
                # Bound as a whole and never executed, so what is wrong with it cannot quote a row.
                source.run(f"SELECT 1 FROM (\n{sql}\n) AS checked LIMIT 0", row_cap=1, time_limit_s=time_limit_s)
            except QueryError as error:
                raise SqlProblem(str(error)) from error
            raise

    return check


def problem_of(error: Exception) -> str:
    """What a model is shown of a failed check: the reason as it is, but none that may hold values of rows."""
    if isinstance(error, QueryError) and not isinstance(error, UnreadableError):
        return _FAILS_ON_DATA
    return str(error)


def read(text: str, check: Callable[[str], object]) -> WrittenSql:
    """The SQL in a model's answer.

    Raises Unusable or Declined; and what a check raises that no repair mends, such as StoreError.
    """
    data = sql_answer(text)
    if why := reason_of(data, "cannot_answer"):
        raise declined(why)
    return checked(data, check)


def checked(data: dict[str, Any], check: Callable[[str], object]) -> WrittenSql:
    """The SQL of a model's answer, which has passed the check. Raises Unusable, and what no repair mends."""
    sql = data.get("sql")
    if not isinstance(sql, str) or not sql.strip(" \t\r\n;"):
        raise Unusable('sql is empty: write {"notes": [...], "sql": "SELECT ...", "cannot_answer": null}.')
    sql = sql.strip().rstrip("; \t\r\n")
    try:
        check(sql)
    except (GuardError, SqlProblem, QueryError, QueryStopped) as error:
        if isinstance(error, QueryStopped) and type(error) is not QueryStopped:
            raise  # a person stopped it, and does not wait for a repair
        raise Unusable(problem_of(error)) from error
    return WrittenSql(sql, notes_of(data.get("notes")))


def sql_answer(text: str) -> dict[str, Any]:
    """The JSON of an answer; SQL that stands in it without JSON, alone or in one fence, is taken for the sql in it."""
    try:
        return json_object(text)
    except Unusable:
        plain = without_thoughts(text)
        fenced = _FENCE.findall(plain)
        candidates = fenced if fenced else [plain]
        if len(candidates) == 1 and _BARE.match(candidates[0]):
            return {"sql": candidates[0]}
        raise

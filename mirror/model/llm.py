"""The language-model front end: a question becomes a QuerySpec, or SQL, through any OpenAI-compatible server."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mirror.model import free_sql, llm_prompt
from mirror.model.chat_server import LlmError, server_settings
from mirror.model.conversation import (
    Declined,
    NeedsSql,
    Outcome,
    Task,
    Unusable,
    converse,
    declined,
    json_object,
    notes_of,
    reason_of,
)
from mirror.model.free_sql import WrittenSql
from mirror.query.check import SpecError
from mirror.query.saved import SavedQuestion
from mirror.query.spec import QuerySpec

__all__ = ["Declined", "LlmError", "LlmFrontEnd", "LlmReading", "NeedsSql", "SqlReading"]

# What models write for the three words of `answer_by`.
_WAYS = {"form": "form", "query": "form", "sql": "sql", "neither": "neither", "none": "neither", "nothing": "neither"}

LlmReading = Outcome[QuerySpec]
SqlReading = Outcome[WrittenSql]


class LlmFrontEnd:
    """Reads questions through the server that the settings name (MIRROR_LLM_BASE_URL, MIRROR_LLM_MODEL,
    OPENAI_API_KEY, MIRROR_LLM_TIMEOUT_S).

    The model sees the catalogue, distinct values and saved questions, never rows of results.
    """

    def read(
        self,
        question: str,
        catalog_text: str,
        values: Mapping[str, Sequence[Any]],
        examples: Sequence[SavedQuestion] = (),
    ) -> LlmReading:
        """The query behind a question.

        Args:
            question: as asked.
            catalog_text: what the columns mean, one line each.
            values: column -> its distinct values.
            examples: saved questions like this one.

        Raises (each with what was sent as its `sent`, and what that took as its `tokens`):
            NeedsSql: the form cannot hold the question: `write_sql` may.
            Declined: the model says that the results cannot answer this.
            LlmError: the model is not set up, not reachable, too slow, or gave no valid query.
        """
        task = Task("query", llm_prompt.answer_schema(), _spec, "valid query")
        answered = llm_prompt.examples()
        messages = llm_prompt.messages(llm_prompt.TASK, answered, question, catalog_text, values, examples)
        return converse(server_settings(), task, messages)

    def write_sql(
        self,
        question: str,
        catalog_text: str,
        values: Mapping[str, Sequence[Any]],
        check: Callable[[str], object],
        examples: Sequence[SavedQuestion] = (),
    ) -> SqlReading:
        """One SELECT for a question that the form cannot hold. It has passed the check; nothing else was done with it.

        Args:
            question, catalog_text, values, examples: as for `read`.
            check: tries a statement where it may do no harm (`free_sql.check_in`); the model is shown what it raises
                as far as it holds no data (`free_sql.problem_of`), at most twice.

        Raises (each with what was sent as its `sent`, and what that took as its `tokens`):
            Declined: the model says that the results cannot answer this.
            LlmError: the model is not set up, not reachable, too slow, or wrote nothing that passes the check.
        """
        task = Task("sql", free_sql.ANSWER_SCHEMA, lambda text: free_sql.read(text, check), "SQL that can run")
        messages = llm_prompt.messages(free_sql.TASK, free_sql.EXAMPLES, question, catalog_text, values, examples)
        return converse(server_settings(), task, messages)


def _spec(text: str) -> QuerySpec:
    """The query in a model's answer. Raises Unusable for anything else, NeedsSql and Declined as the model says."""
    data = json_object(text)
    given = data.pop("answer_by", None)
    why = reason_of(data, "cannot_answer")
    silent = "neither" if why else "form"
    way = silent if given is None else _WAYS.get(str(given).strip().casefold(), "")
    if way == "sql":
        raise NeedsSql(f"The question does not fit the form that is filled in for it: {why or 'no reason is given'}")
    if way == "neither":
        raise declined(why)
    if not way:
        raise Unusable("answer_by is one of form, sql, neither.")
    if why:
        raise Unusable(
            "answer_by says form, and cannot_answer gives a reason against it: make cannot_answer null if the form "
            "holds the whole question, otherwise make answer_by sql or neither."
        )
    from mirror.query.spec_json import from_json  # pydantic takes a while to load

    try:
        spec = from_json(data)
    except SpecError as error:
        raise Unusable(str(error)) from error
    return replace(spec, notes=notes_of(spec.notes))

"""The language-model front end: a question becomes a QuerySpec through any OpenAI-compatible server."""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Literal, get_args

from mirror.query_spec import QuerySpec
from mirror.understand import llm_prompt
from mirror.understand.chat_server import (
    ChatServer,
    Completion,
    LlmError,
    RequestRefused,
    ServerSettings,
    configured,
    server_settings,
)
from mirror.understand.errors import Refusal
from mirror.understand.spec_json import SpecError, from_json, json_schema

__all__ = ["LlmError", "LlmFrontEnd", "LlmReading", "configured"]

MAX_REPAIRS = 2
MAX_ECHO = 4000  # characters of a wrong answer that the model is shown again
MAX_TOKENS = 4096  # room for a small model's thinking, and an end to one that runs in circles

Format = Literal["json_schema", "json_object", "text"]
_FORMATS: tuple[Format, ...] = get_args(Format)
_OPTIONS: dict[str, Any] = {"temperature": 0, "max_tokens": MAX_TOKENS}


@dataclass(frozen=True)
class LlmReading:
    """How the model read a question.

    Attributes:
        spec: the query.
        sent: everything that was sent for it, for the person to see.
    """

    spec: QuerySpec
    sent: str


@dataclass(frozen=True)
class _Manner:
    """What a server takes: the way to ask for JSON, and the options to leave out."""

    format: Format = "json_schema"
    without: frozenset[str] = frozenset()

    def options(self) -> dict[str, Any]:
        options = {k: v for k, v in _OPTIONS.items() if k not in self.without}
        if self.format == "json_schema":
            schema = {"name": "query", "strict": True, "schema": answer_schema()}
            options["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif self.format == "json_object":
            options["response_format"] = {"type": "json_object"}
        return options

    def after(self, refused: RequestRefused) -> "_Manner":
        """The next manner to try. Raises the refusal itself when nothing is left to change."""
        for name in sorted(set(_OPTIONS) - self.without):
            if re.search(rf"\b{name}\b", refused.detail):
                return replace(self, without=self.without | {name})
        if self.format == "text":
            raise refused
        return replace(self, format=_FORMATS[_FORMATS.index(self.format) + 1])


# (base_url, model) -> what worked, for the life of the process.
_worked: dict[tuple[str, str], _Manner] = {}


def answer_schema() -> dict[str, Any]:
    """JSON schema of an answer: the query, or why there is none."""
    schema = json_schema()
    schema["properties"]["cannot_answer"] = {"anyOf": [{"type": "string"}, {"type": "null"}]}
    schema["required"] = [*schema["required"], "cannot_answer"]
    return schema


class LlmFrontEnd:
    """Reads questions through the server that the settings name (MIRROR_LLM_BASE_URL, MIRROR_LLM_MODEL,
    OPENAI_API_KEY, MIRROR_LLM_TIMEOUT_S).

    The model sees the catalogue and distinct values, never rows of results.
    """

    @staticmethod
    def configured() -> bool:
        """Whether a model is set up; nothing is contacted."""
        return configured()

    def read(self, question: str, catalog_text: str, values: Mapping[str, Sequence[Any]]) -> LlmReading:
        """The query behind a question.

        Args:
            question: as asked.
            catalog_text: what the columns mean, one line each.
            values: column -> its distinct values.

        Raises (each with what was sent as its `sent`):
            Refusal: the model says that the results cannot answer this.
            LlmError: the model is not set up, not reachable, too slow, or gave no valid query.
        """
        settings = server_settings()
        messages = llm_prompt.messages(question, catalog_text, values, datetime.now(UTC).date())
        with closing(ChatServer(settings)) as server:
            conversation = _Conversation(settings, server, messages)
            try:
                return LlmReading(conversation.spec(), conversation.sent())
            except (LlmError, Refusal) as error:
                error.sent = conversation.sent()
                raise


@dataclass
class _Conversation:
    """The requests for one question."""

    settings: ServerSettings
    server: ChatServer
    messages: list[dict[str, str]]
    options: dict[str, Any] = field(default_factory=dict)

    def spec(self) -> QuerySpec:
        for attempt in range(MAX_REPAIRS + 1):
            answer = self._ask()
            try:
                return _spec(answer.text)
            except SpecError as error:
                problem = f"The answer was cut off at the token limit. {error}" if answer.cut else str(error)
            if attempt < MAX_REPAIRS:
                self._ask_for_repair(answer.text, problem)
        raise LlmError(
            f"The language model at {self.settings.name} gave no valid query in {MAX_REPAIRS + 1} attempts: {problem}"
        )

    def _ask(self) -> Completion:
        key = (self.settings.base_url, self.settings.model)
        manner = _worked.get(key, _Manner())
        while True:
            self.options = manner.options()
            try:
                answer = self.server.complete({"model": self.settings.model, "messages": self.messages, **self.options})
            except RequestRefused as refused:
                manner = manner.after(refused)
                continue
            _worked[key] = manner
            return answer

    def _ask_for_repair(self, answer: str, problem: str) -> None:
        repair = f"That cannot be used: {problem} Answer again with the whole corrected JSON object alone."
        # A lone surrogate, which JSON can spell, could not be sent back; an empty message is refused by some servers.
        echo = answer[:MAX_ECHO].encode("utf-8", "replace").decode() or "(no text)"
        self.messages = [
            *self.messages,
            {"role": "assistant", "content": echo},
            {"role": "user", "content": repair},
        ]

    def sent(self) -> str:
        """The last request, which holds all the messages before it."""
        parts = [
            f"model: {self.settings.model}\n" + "\n".join(f"{k}: {json.dumps(v)}" for k, v in self.options.items())
        ]
        parts += [f"[{m['role']}]\n{m['content']}" for m in self.messages]
        return "\n\n".join(parts)


def _spec(text: str) -> QuerySpec:
    """The query in a model's answer. Raises SpecError for anything else, Refusal when the model declines."""
    data = _json_object(text)
    reason = data.pop("cannot_answer", None)
    if isinstance(reason, str) and reason.strip():
        shown = "".join(c for c in " ".join(reason.split()) if c.isprintable())[:300]
        raise Refusal(f"The language model cannot read this as a question about the results: {shown}")
    return from_json(data)


def _json_object(text: str) -> dict[str, Any]:
    """The JSON object in an answer that may hold thoughts, prose and fences around it."""
    text = text.rpartition("</think>")[2]  # some templates open the thought in the prompt, so its start may lack
    text = text.partition("<think>")[0]  # a thought that was cut off
    fenced = re.findall(r"```(?:json)?\s*(\{.*?)```", text, flags=re.DOTALL | re.IGNORECASE)
    for candidate in (*reversed(fenced), text[text.find("{") :]):
        try:
            data, _ = json.JSONDecoder().raw_decode(candidate.strip())
        except (ValueError, RecursionError):
            continue
        if isinstance(data, dict):
            return data
    raise SpecError("There is no whole JSON object in the answer.")

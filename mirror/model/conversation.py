"""The requests to a language model until its answer can be used: ways to ask for JSON, repairs, what was sent."""

import json
import re
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal, TypeVar, get_args

from db.plain_text import plain_text
from mirror.model.chat_server import ChatServer, Completion, LlmError, RequestRefused, ServerSettings
from mirror.query.errors import Refusal
from mirror.query.token_count import NO_TOKENS, Tokens

MAX_REPAIRS = 2
MAX_ECHO = 4000  # characters of a wrong answer that the model is shown again
MAX_TOKENS = 4096  # room for a small model's thinking, and an end to one that runs in circles
MAX_REASON = 300  # characters of what a model says about an answer
MAX_NOTES = 10

Format = Literal["json_schema", "json_object", "text"]
_FORMATS: tuple[Format, ...] = get_args(Format)
_OPTIONS: dict[str, Any] = {"temperature": 0, "max_tokens": MAX_TOKENS}
# How a server names an option that it does not take, where that is not the option's own name.
_NAMED = {"n": r"n|choices?|candidates?"}
_VARIED = 0.7  # the temperature of several answers, which would be one and the same at 0
# What models write where they mean null.
_NO_REASON = ("", "null", "none", "no", "n/a", "na", "false", "-", "nothing", "not applicable")

T = TypeVar("T")


class Unusable(ValueError):
    """An answer that cannot be used; the message is one sentence that tells the model what to mend."""


class Declined(Refusal):
    """The model says that the results cannot answer the question; `tokens` is what asking it took."""

    tokens: Tokens = NO_TOKENS


class NeedsSql(Declined):
    """The model says that the form cannot hold the question, and SQL can."""


@dataclass(frozen=True)
class Task(Generic[T]):
    """What a model is to do.

    Attributes:
        name: a word for the JSON object that it answers with.
        schema: JSON schema of that object, in the strict subset.
        read: makes of the text of an answer, or of each candidate's, what is wanted. Raises Unusable for one to be
            mended, Declined to end it.
        product: what is wanted, for the sentence "gave no ... in 3 attempts".
        candidates: how many answers are asked for in one request; a server may give fewer.
        repairs: how often it is asked again.
    """

    name: str
    schema: dict[str, Any]
    read: Callable[..., T]
    product: str
    candidates: int = 1
    repairs: int = MAX_REPAIRS

    @property
    def options(self) -> dict[str, Any]:
        """Options of the request, beside the way to ask for JSON."""
        return {**_OPTIONS, "n": self.candidates, "temperature": _VARIED} if self.candidates > 1 else _OPTIONS


@dataclass(frozen=True)
class Outcome(Generic[T]):
    """What came of a conversation.

    Attributes:
        value: what `Task.read` made of the answer.
        sent: everything that was sent, for the person to see.
        tokens: what all requests took together.
    """

    value: T
    sent: str
    tokens: Tokens = NO_TOKENS


def converse(settings: ServerSettings, task: Task[T], messages: list[dict[str, str]]) -> Outcome[T]:
    """Ask until there is an answer that can be used, at most as many times again as the task allows.

    Raises (each with what was sent as its `sent`, and its `tokens`):
        Declined: the model says that there is no answer.
        LlmError: the model is not reachable, too slow, or gave nothing that can be used.
    """
    with closing(ChatServer(settings)) as server:
        conversation = _Conversation(settings, server, task, messages)
        try:
            return Outcome(conversation.value(), conversation.sent(), conversation.tokens)
        except (LlmError, Declined) as error:
            error.sent, error.tokens = conversation.sent(), conversation.tokens
            raise


@dataclass(frozen=True)
class _RequestStyle:
    """What a server takes: the way to ask for JSON, and the options to leave out."""

    format: Format = "json_schema"
    without: frozenset[str] = frozenset()

    def options(self, task: Task[Any]) -> dict[str, Any]:
        options = {k: v for k, v in task.options.items() if k not in self.without}
        if "n" in self.without and "temperature" in options:
            options["temperature"] = _OPTIONS["temperature"]
        if self.format == "json_schema":
            schema = {"name": task.name, "strict": True, "schema": task.schema}
            options["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif self.format == "json_object":
            options["response_format"] = {"type": "json_object"}
        return options

    def after(self, refused: RequestRefused, task: Task[Any]) -> "_RequestStyle":
        """The next style to try. Raises the refusal itself when nothing is left to change."""
        left = sorted(set(task.options) - self.without)
        for name in left:
            if re.search(rf"\b({_NAMED.get(name, name)})\b", refused.detail):
                return replace(self, without=self.without | {name})
        if self.format == "text" and "n" in left:
            return _RequestStyle(without=self.without | {"n"})
        if self.format == "text":
            raise refused
        return replace(self, format=_FORMATS[_FORMATS.index(self.format) + 1])


# (base_url, model, task) -> what worked, for the life of the process.
_worked: dict[tuple[str, str, str], _RequestStyle] = {}


@dataclass
class _Conversation(Generic[T]):
    """The requests for one question."""

    settings: ServerSettings
    server: ChatServer
    task: Task[T]
    messages: list[dict[str, str]]
    options: dict[str, Any] = field(default_factory=dict)
    tokens: Tokens = NO_TOKENS

    def value(self) -> T:
        for attempt in range(self.task.repairs + 1):
            answer = self._ask()
            try:
                with self.server.paused():
                    return self.task.read(answer.text, *answer.others[: self.task.candidates - 1])
            except Unusable as error:
                problem = f"The answer was cut off at the token limit. {error}" if answer.truncated else str(error)
            if attempt < self.task.repairs:
                self._ask_for_repair(answer.text, problem)
        raise LlmError(
            f"The language model at {self.settings.name} gave no {self.task.product} in {self.task.repairs + 1} "
            f"attempts: {problem}"
        )

    def _ask(self) -> Completion:
        key = (self.settings.base_url, self.settings.model, self.task.name)
        style = _worked.get(key, _RequestStyle())
        while True:
            self.options = style.options(self.task)
            try:
                answer = self.server.complete({"model": self.settings.model, "messages": self.messages, **self.options})
            except RequestRefused as refused:
                style = style.after(refused, self.task)
                continue
            _worked[key] = style
            self.tokens += answer.tokens
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


def object_schema(**properties: Any) -> dict[str, Any]:
    """JSON schema, in the strict subset, of an object that has all of these properties and no others."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


# -- reading answers ---------------------------------------------------------------------------------------------------


def without_thoughts(text: str) -> str:
    """An answer without what a model thought aloud before it."""
    text = text.rpartition("</think>")[2]  # some templates open the thought in the prompt, so its start may lack
    return text.partition("<think>")[0]  # a thought that was cut off


def json_object(text: str) -> dict[str, Any]:
    """The JSON object in an answer that may hold thoughts, prose and fences around it. Raises Unusable."""
    text = without_thoughts(text)
    fenced = re.findall(r"```(?:json)?\s*(\{.*?)```", text, flags=re.DOTALL | re.IGNORECASE)
    decoder = json.JSONDecoder(strict=False)  # a line break within a text is a common slip, and clear enough
    for candidate in (*reversed(fenced), text[text.find("{") :]):
        try:
            data, _ = decoder.raw_decode(candidate.strip())
        except (ValueError, RecursionError):
            continue
        if isinstance(data, dict):
            return data
    raise Unusable("There is no whole JSON object in the answer.")


def reason_of(data: dict[str, Any], key: str) -> str:
    """Take the reason under a key out of an answer: on one line and short; empty for null and what is meant as null."""
    value = data.pop(key, None)
    if value is None or value is False:
        return ""
    if not isinstance(value, str):
        raise Unusable(f"{key} is one sentence, or null.")
    text = plain_text(value, MAX_REASON)
    return "" if text.casefold().rstrip(".") in _NO_REASON else text


def declined(why: str) -> Declined:
    """What is raised where the model finds no answer in the results."""
    return Declined(
        f"The language model cannot read this as a question about the results: {why or 'it gives no reason'}"
    )


def notes_of(notes: Any) -> tuple[str, ...]:
    """Notes that a person can be shown, however many and of whatever kind a model gave."""
    if isinstance(notes, str):
        notes = [notes]
    given = notes if isinstance(notes, list | tuple) else ()
    shown = (plain_text(n, MAX_REASON) for n in given[:MAX_NOTES] if isinstance(n, str))
    return tuple(n for n in shown if n)

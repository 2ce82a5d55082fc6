"""Whether a language model's server answers, for who sets one up."""

import time
from contextlib import closing
from dataclasses import dataclass

from mirror.model.chat_server import ChatServer, LlmError, ServerSettings
from mirror.query.token_count import Tokens

_ASKED = "Answer with the one word: ready"


@dataclass(frozen=True)
class Reply:
    """What a model answered to one short message of ours, which holds nothing of anybody's data.

    Attributes:
        text: its answer.
        seconds: how long it took, the first connection included.
        tokens: what it took, as far as the server says.
    """

    text: str
    seconds: float
    tokens: Tokens


def models_of(settings: ServerSettings) -> list[str]:
    """The names of the models that a server has. Raises LlmError."""
    with closing(ChatServer(settings)) as server:
        return server.models()


def tried(settings: ServerSettings) -> Reply:
    """One short message, answered. Raises LlmError."""
    with closing(ChatServer(settings)) as server:
        start = time.monotonic()
        request = {"model": settings.model, "messages": [{"role": "user", "content": _ASKED}]}
        found = server.complete(request)
        if not found.text.strip():
            raise LlmError(f"The language model at {settings.name} answered nothing: try another model.")
        return Reply(found.text.strip(), time.monotonic() - start, found.tokens)

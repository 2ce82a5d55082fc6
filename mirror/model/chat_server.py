"""One chat completion from an OpenAI-compatible server, bounded in time and size; every failure is one sentence."""

import ipaddress
import json
import math
import queue
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import urlsplit

from db.settings import setting
from mirror.model.model_setting import configured
from mirror.query.token_count import NO_TOKENS, Tokens, counted

OPENAI_URL = "https://api.openai.com/v1"
DEFAULT_TIME_LIMIT_S = 20.0
MAX_TIME_LIMIT_S = 3600.0
MAX_BODY_BYTES = 2_000_000
MAX_DETAIL = 200  # characters of a server's own message that are passed on
# How local servers name what they cannot take when they answer 500 to it, and not 400: Ollama "invalid JSON schema in
# format", llama-cpp-python the path body.response_format, llama.cpp its grammar or samplers.
_OF_FORMAT = re.compile(r"response_format|schema|grammar|sampler", re.IGNORECASE)

_T = TypeVar("_T")


class LlmError(Exception):
    """The language model gave nothing usable; the message is one sentence without secrets.

    `sent` is what it was sent before, word for word, empty when nothing was; `tokens` is what that took.
    """

    sent: str = ""
    tokens: Tokens = NO_TOKENS


class RequestRefused(LlmError):
    """The server does not take the request as it is (400, 422, or 500 for its format); `detail` is what it says."""

    def __init__(self, sentence: str, detail: str) -> None:
        super().__init__(sentence)
        self.detail = detail


@dataclass(frozen=True)
class ServerSettings:
    """Where the language model is.

    Attributes:
        base_url: address of the API, usually ending in /v1.
        model: the model's name there.
        api_key: the key, or empty for a server that needs none.
        time_limit_s: seconds for one question, all requests together.
    """

    base_url: str
    model: str
    api_key: str = field(default="", repr=False)
    time_limit_s: float = DEFAULT_TIME_LIMIT_S

    @property
    def name(self) -> str:
        """Host and port, for messages: a URL may hold a password."""
        parts = urlsplit(self.base_url)
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        return f"{host}:{parts.port}" if parts.port else f"{host}"

    @property
    def is_local(self) -> bool:
        """Whether the server is this machine, which no proxy can reach."""
        host = urlsplit(self.base_url).hostname or ""
        try:
            address = ipaddress.ip_address(host)
        except ValueError:
            return host == "localhost" or host.endswith(".localhost")
        return address.is_loopback or address.is_unspecified


@dataclass(frozen=True)
class Completion:
    """What the model wrote.

    Attributes:
        text: the message, possibly empty.
        truncated: whether the token limit ended it.
        tokens: what it took, as far as the server says.
        others: further messages, where several were asked for; those that hold no text are left out.
    """

    text: str
    truncated: bool
    tokens: Tokens = NO_TOKENS
    others: tuple[str, ...] = ()


def server_settings() -> ServerSettings:
    """The settings, checked. Raises LlmError that names the setting to mend."""
    if not configured():
        raise LlmError(
            "No language model is set up: set MIRROR_LLM_MODEL, and MIRROR_LLM_BASE_URL or OPENAI_API_KEY, to use one."
        )
    limit = setting("MIRROR_LLM_TIMEOUT_S", str(DEFAULT_TIME_LIMIT_S))
    return checked_settings(setting("MIRROR_LLM_BASE_URL", OPENAI_URL), setting("MIRROR_LLM_MODEL"), limit)


def checked_settings(url: str, model: str, time_limit_s: str) -> ServerSettings:
    """A server by its address as text, with the key of the settings. Raises LlmError that names the setting to mend."""
    url = url.strip()
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid:
        raise LlmError("MIRROR_LLM_BASE_URL is no web address: write it like http://127.0.0.1:11434/v1.")
    key = setting("OPENAI_API_KEY").strip()
    if not key.isascii() or not key.isprintable():
        raise LlmError("OPENAI_API_KEY holds a character that no key has: copy it again.")
    try:
        limit = float(time_limit_s)
    except ValueError:
        limit = math.nan
    if not 0 < limit <= MAX_TIME_LIMIT_S:
        raise LlmError(
            f"MIRROR_LLM_TIMEOUT_S is a number of seconds up to {MAX_TIME_LIMIT_S:g}, not {time_limit_s[:20]!r}."
        )
    return ServerSettings(url, model.strip(), key, limit)


class ChatServer:
    """A connection to the server for one question. The time limit counts from here and covers every request."""

    def __init__(self, settings: ServerSettings) -> None:
        import openai  # takes a second, and most people set up no model

        self._settings = settings
        http = openai.DefaultHttpxClient(
            trust_env=not settings.is_local, event_hooks={"response": [self._read_bounded]}, follow_redirects=False
        )
        self._client = openai.OpenAI(
            base_url=settings.base_url,
            api_key=settings.api_key or "none",  # the package insists on one
            max_retries=0,
            default_headers={"Accept-Encoding": "identity"},  # so that the size limit means what it says
            http_client=http,
        )
        self._deadline = time.monotonic() + settings.time_limit_s

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def complete(self, request: Mapping[str, Any]) -> Completion:
        """Send one chat.completions request.

        Raises:
            RequestRefused: the server says that something in the request does not suit it.
            LlmError: any other failure, the time limit among them.
        """

        def send(seconds: float) -> Completion:
            raw = self._client.chat.completions.with_raw_response.create(**request, timeout=seconds)
            return self._completion(raw.text, raw.headers.get("content-type", ""))

        return self._in_time(send)

    def models(self) -> list[str]:
        """The names of the models that the server has, in order. Raises LlmError."""

        def send(seconds: float) -> list[str]:
            raw = self._client.models.with_raw_response.list(timeout=seconds)
            data = self._json(raw.text, raw.headers.get("content-type", ""))
            entries = data.get("data") if isinstance(data, dict) else None
            names = [entry.get("id") for entry in entries or () if isinstance(entry, dict)]
            return sorted(name for name in names if isinstance(name, str) and name)

        return self._in_time(send)

    def _in_time(self, send: Callable[[float], _T]) -> _T:
        """What a request gives, within the time limit. Raises LlmError."""
        # A thread, since neither name look-up nor a server that sends a byte a second knows an overall limit.
        outcome: queue.SimpleQueue[_T | Exception] = queue.SimpleQueue()
        threading.Thread(target=lambda: outcome.put(self._outcome(send)), daemon=True).start()
        try:
            result = outcome.get(timeout=max(0.0, self._remaining()))
        except queue.Empty:
            self.close()
            raise self._too_late() from None
        if isinstance(result, Exception):
            raise result
        return result

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stop the clock while something else is done with an answer: the time limit is the model's."""
        start = time.monotonic()
        try:
            yield
        finally:
            self._deadline += time.monotonic() - start

    def _remaining(self) -> float:
        return self._deadline - time.monotonic()

    def _outcome(self, send: Callable[[float], _T]) -> _T | Exception:
        import httpx2
        import openai

        try:
            return send(max(0.001, self._remaining()))
        except LlmError as error:
            return error
        except openai.APITimeoutError:
            return self._too_late()
        except openai.APIStatusError as error:
            return self._status(error.status_code, error.message)
        except openai.APIConnectionError as error:
            cause = error.__cause__
            if isinstance(cause, LlmError):
                return cause
            if isinstance(cause, httpx2.ConnectError | httpx2.ProxyError):
                return self._error(
                    "could not be reached: check that the server runs and that MIRROR_LLM_BASE_URL is its address."
                )
            return self._error("broke off before its answer was complete: try again.")
        except Exception as error:  # whatever else the package raises must not end the thread in silence
            failure = self._error(f"could not be asked ({type(error).__name__}): check MIRROR_LLM_BASE_URL.")
            failure.__cause__ = error
            return failure

    def _read_bounded(self, response: Any) -> None:
        """Read a response's body up to the limits of size and time, before the package reads it without any."""
        import httpx2

        body = bytearray()
        try:
            packed = response.headers.get("content-encoding", "identity").strip().lower()
            if packed not in ("identity", ""):
                # A few kilobytes of it can be gigabytes once unpacked, which the package does without a limit.
                raise self._error(
                    f"packs its answers ({self._detail(packed)[:40]}) though asked not to: turn that off."
                )
            for chunk in response.stream:
                body += chunk
                if len(body) > MAX_BODY_BYTES:
                    raise self._error(f"sent more than {MAX_BODY_BYTES // 1_000_000} MB: that is no answer.")
                if self._remaining() < 0:
                    raise self._too_late()
        finally:
            response.stream.close()
        response.stream = httpx2.ByteStream(bytes(body))

    def _json(self, text: str, content_type: str) -> Any:
        try:
            data = json.loads(text)
        except (ValueError, RecursionError):
            kind = self._detail(content_type.split(";")[0])[:40] or "no content type"
            raise self._error(
                f"sent something that is not JSON ({kind}): check MIRROR_LLM_BASE_URL (most addresses end in /v1)."
            ) from None
        if isinstance(data, dict) and data.get("error"):
            raise self._error(f"reports an error: {self._detail(data['error'])}")
        return data

    def _completion(self, text: str, content_type: str) -> Completion:
        data = self._json(text, content_type)
        try:
            choice = data["choices"][0]
            message = choice["message"]
            content = message.get("content") or ""
            refusal = message.get("refusal")
        except (KeyError, IndexError, TypeError, AttributeError):
            content, refusal = None, None
        if not isinstance(content, str):
            raise self._error("sent JSON that is no chat completion: check MIRROR_LLM_BASE_URL.")
        if not content and refusal:
            raise self._error(f"declined to answer: {self._detail(refusal)}")
        truncated = choice.get("finish_reason") == "length"
        return Completion(content, truncated, counted(data.get("usage")), _further(data["choices"]))

    def _status(self, status: int, message: str) -> LlmError:
        if status in (400, 422) or (status in (500, 501) and _OF_FORMAT.search(message)):
            detail = self._detail(message.removeprefix(f"Error code: {status} - "))
            return RequestRefused(self._sentence(f"refused the request (HTTP {status}): {detail}"), message)
        reasons = {
            401: "did not accept the key (HTTP 401): check OPENAI_API_KEY.",
            403: "does not allow this key or model (HTTP 403): check OPENAI_API_KEY and MIRROR_LLM_MODEL.",
            404: "knows no such address or model (HTTP 404): check MIRROR_LLM_BASE_URL (most addresses end in /v1) "
            "and MIRROR_LLM_MODEL.",
            429: "is asked too often or its quota is used up (HTTP 429): wait a little, then try again.",
        }
        if status in reasons:
            return self._error(reasons[status])
        if 300 <= status < 400:
            return self._error(f"has moved (HTTP {status}): put its new address in MIRROR_LLM_BASE_URL.")
        if status >= 500:
            return self._error(f"failed (HTTP {status}): see the server's log, or try again.")
        return self._error(f"refused the request (HTTP {status}).")

    def _too_late(self) -> LlmError:
        return self._error(f"did not answer within {self._settings.time_limit_s:g} s.")

    def _error(self, what: str) -> LlmError:
        return LlmError(self._sentence(what))

    def _sentence(self, what: str) -> str:
        return f"The language model at {self._settings.name} {what}"

    def _detail(self, message: Any) -> str:
        """A server's own message, on one line, short and without the key."""
        if isinstance(message, dict):
            message = message.get("message", message)
        text = " ".join(str(message).split())
        if self._settings.api_key:
            text = text.replace(self._settings.api_key, "***")
        return "".join(c for c in text if c.isprintable())[:MAX_DETAIL]


def _further(choices: list[Any]) -> tuple[str, ...]:
    """The texts of all choices but the first, as far as they are texts."""
    messages = (choice.get("message") for choice in choices[1:] if isinstance(choice, dict))
    texts = (message.get("content") for message in messages if isinstance(message, dict))
    return tuple(text for text in texts if isinstance(text, str) and text)

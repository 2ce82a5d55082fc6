"""A server that speaks chat.completions, as well and as badly as a test wants it."""

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from mirror.model import conversation
from mirror.model.chat_server import MAX_BODY_BYTES

KEY = "sk-secret-0123456789"

Reply = Callable[[BaseHTTPRequestHandler, dict], None]


class Server(ThreadingHTTPServer):
    """A server that speaks chat.completions; `replies` are used up one a request, the last one again and again."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.replies: list[Reply] = []
        self.requests: list[dict] = []
        self.headers: list[dict[str, str]] = []
        self.heard = bytearray()  # every byte of every request
        self.stop = threading.Event()

    @property
    def name(self) -> str:
        return f"127.0.0.1:{self.server_port}"

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that gave up is no news."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        self.do_POST()

    def do_POST(self) -> None:
        sent = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.heard += self.raw_requestline + self.headers.as_bytes() + sent
        body = json.loads(sent or b"{}")
        self.server.requests.append({"path": self.path, **body})
        self.server.headers.append({k.lower(): v for k, v in self.headers.items()})
        replies = self.server.replies
        (replies.pop(0) if len(replies) > 1 else replies[0])(self, body)

    def log_message(self, *args: object) -> None:
        """Keep the test's output clean."""

    def send(self, status: int, text: str, kind: str = "application/json") -> None:
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def says(text: str | None, finish: str = "stop", usage: object = None, **message: str) -> Reply:
    completion: dict[str, object] = {
        "id": "x",
        "object": "chat.completion",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": text, **message}, "finish_reason": finish}
        ],
    }
    if usage is not None:
        completion["usage"] = usage
    return raw(200, json.dumps(completion))


def raw(status: int, text: str, kind: str = "application/json") -> Reply:
    return lambda handler, body: handler.send(status, text, kind)


def fails(status: int, message: str) -> Reply:
    return raw(status, json.dumps({"error": {"message": message, "type": "invalid_request_error"}}))


def refuses(offending: Callable[[dict], bool], message: str, otherwise: Reply) -> Reply:
    return lambda handler, body: (fails(400, message) if offending(body) else otherwise)(handler, body)


def asks_for(kind: str) -> Callable[[dict], bool]:
    return lambda body: body.get("response_format", {}).get("type") == kind


def stalls(handler: BaseHTTPRequestHandler, body: dict) -> None:
    handler.server.stop.wait(20)


def drips(handler: BaseHTTPRequestHandler, body: dict) -> None:
    """One byte at a time: no single read ever times out."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    while not handler.server.stop.wait(0.05):
        handler.wfile.write(b" ")


def drips_headers(handler: BaseHTTPRequestHandler, body: dict) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    while not handler.server.stop.wait(0.05):
        handler.wfile.write(b"X-A: b\r\n")


def closes_mid_body(handler: BaseHTTPRequestHandler, body: dict) -> None:
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"choices": [')
    handler.close_connection = True


def closes_at_once(handler: BaseHTTPRequestHandler, body: dict) -> None:
    handler.close_connection = True


def redirects_back(handler: BaseHTTPRequestHandler, body: dict) -> None:
    handler.send_response(307)
    handler.send_header("Location", f"http://localhost:{handler.server.server_port}/elsewhere")
    handler.send_header("Content-Length", "0")
    handler.end_headers()


def floods(status: int) -> Reply:
    def reply(handler: BaseHTTPRequestHandler, body: dict) -> None:
        handler.send_response(status)
        handler.end_headers()
        handler.close_connection = True
        with contextlib.suppress(OSError):
            for _ in range(10 * MAX_BODY_BYTES // 100_000):
                handler.wfile.write(b"x" * 100_000)

    return reply


def packed(encoding: str, data: bytes) -> Reply:
    def reply(handler: BaseHTTPRequestHandler, body: dict) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Encoding", encoding)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        with contextlib.suppress(OSError):
            handler.wfile.write(data)

    return reply


@contextlib.contextmanager
def running(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server that the settings name, of which nothing is known yet."""
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    monkeypatch.setattr(conversation, "_worked", {})
    monkeypatch.setenv("MIRROR_LLM_BASE_URL", f"http://{server.name}/v1")
    monkeypatch.setenv("MIRROR_LLM_MODEL", "tiny")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("MIRROR_LLM_TIMEOUT_S", "15")
    monkeypatch.delenv("MIRROR_LLM_ROWS", raising=False)
    try:
        yield server
    finally:
        server.stop.set()
        server.shutdown()
        server.server_close()

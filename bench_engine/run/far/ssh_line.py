"""The program `ssh`: one command there at a time, what is told to it and heard from it, and why it failed, in words.

What the other side says to this one are lines that begin with MARK and go on as JSON; all else that comes, a greeting
of the shell say, is passed over.
"""

import contextlib
import json
import os
import shlex
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from typing import IO, Any

from bench_engine.run.executors import ExecutorError
from bench_engine.run.far.destination import Destination
from bench_engine.run.far.environment_there import MARK

_OPTIONS = (
    "BatchMode=yes",  # it fails where it would ask for a password
    "ConnectTimeout=20",
    "ServerAliveInterval=15",
    "ServerAliveCountMax=3",
    "LogLevel=ERROR",
    "Compression=yes",
)
_OF_SSH = 255  # exit status of ssh where it is the line that failed


class LineError(ExecutorError):
    """The machine cannot be reached, or the line to it was lost."""


class FarError(ExecutorError):
    """The machine is reached, and what was to be done there failed."""


class Line:
    """Reaches one machine, until it is cut."""

    def __init__(self, to: Destination) -> None:
        self.to = to
        self.cut = threading.Event()
        self._talks: list[Talk] = []

    def talk(self, words: Sequence[str]) -> "Talk":
        """Begin a command there. Raises LineError where there is no ssh here."""
        command = ["ssh", "-T", *(o for option in _OPTIONS for o in ("-o", option)), *self.to.arguments]
        try:
            talk = Talk(self.to, [*command, shlex.join(words)])
        except OSError as error:
            raise LineError(
                f"The program ssh cannot be run here ({error.strerror}): install OpenSSH's client (openssh-client)."
            ) from error
        self._talks = [*(t for t in self._talks if t.running), talk]
        if self.cut.is_set():  # the signal came while it was being started
            talk.kill()
        return talk

    def call(self, words: Sequence[str], given: bytes = b"") -> list[dict[str, Any]]:
        """All that a command there says. Raises LineError and FarError."""
        with self.talk(words) as talk:
            talk.give(given)
            return list(talk.heard())

    def end(self) -> None:
        """Cut the line, from a signal handler too; what is heard then ends."""
        self.cut.set()
        for talk in self._talks:
            talk.kill()


class Talk:
    """A command that runs there, as this side sees it."""

    def __init__(self, to: Destination, command: Sequence[str]) -> None:
        self._to = to
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the rest at the end
        # A session of its own: Ctrl-C is for this program, which says what becomes of the command there.
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, start_new_session=True
        )

    def __enter__(self) -> "Talk":
        return self

    def __exit__(self, kind: object, _error: object, _trace: object) -> None:
        """End it. Raises what went wrong there, unless something else is raised already."""
        if kind is not None:
            self.kill()
        failure = self.ended()
        self._errors.close()
        self._output.close()
        if kind is None and failure:
            raise failure

    @property
    def _input(self) -> IO[bytes]:
        assert self._process.stdin
        return self._process.stdin

    @property
    def _output(self) -> IO[bytes]:
        assert self._process.stdout
        return self._process.stdout

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def ended(self) -> ExecutorError | None:
        """Wait for its end. Returns what to raise where it failed."""
        self.finish()
        if not (status := self._process.wait()):
            return None
        self._errors.seek(0)
        return _failure(self._to, status, self._errors.read().decode(errors="replace"))

    def ask(self, **question: object) -> dict[str, Any]:
        """The answer to a question. Raises FarError, and LineError where the line ends before it."""
        self.tell(**question)
        for said in self.hear():
            return said
        raise self.ended() or LineError(f"The line to {self._to.host} ended: give the same command again.")

    def give(self, content: bytes) -> None:
        """Send bytes; one that reads no more says itself why, when it ends."""
        with contextlib.suppress(OSError, ValueError):
            self._input.write(content)
            self._input.flush()

    def tell(self, **values: object) -> None:
        """Send one line."""
        self.give(json.dumps(values).encode() + b"\n")

    def finish(self) -> None:
        """Nothing more will be sent."""
        with contextlib.suppress(OSError):
            self._input.close()

    def heard(self) -> Iterator[dict[str, Any]]:
        """What is said there, to its end. Raises FarError for a sentence of the other side about what failed."""
        self.finish()
        yield from self.hear()

    def hear(self) -> Iterator[dict[str, Any]]:
        """What is said there from now on; ends where nothing more comes. Raises FarError."""
        for line in iter(self._output.readline, b""):
            if not line.startswith(MARK.encode()) or not line.endswith(b"\n"):
                continue
            try:
                said = json.loads(line.removeprefix(MARK.encode()))
            except (ValueError, RecursionError):
                continue
            if isinstance(said, dict):
                if "error" in said:
                    raise FarError(f"{self._to.host}: {said['error']}")
                yield said

    def kill(self) -> None:
        """End the ssh of it, and what that has started, a ProxyCommand say."""
        if self.running:
            with contextlib.suppress(OSError):
                os.killpg(self._process.pid, signal.SIGTERM)


def _failure(to: Destination, status: int, said: str) -> ExecutorError:
    """What to raise for a command that failed."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    last = lines[-1].rstrip(".")[:300] if lines else f"exit status {status}"
    if status >= 0 and status != _OF_SSH:  # below: a signal ended ssh
        return FarError(f"{to.host}: {_reason_there(to, said) or f'the command there failed ({last}).'}")
    for words, sentence in _REASONS.items():
        if words in said:
            return LineError(sentence.format(host=to.host, by_hand=to.by_hand, last=last))
    return LineError(f"The line to {to.host} was lost or never there ({last}): give the same command again.")


_REASONS = {
    "resolve hostname": "The host {host} is not known ({last}): see whether its name is right, or add it to "
    "~/.ssh/config.",
    "Host key verification failed": "ssh does not trust {host} yet, or its key has changed: type `{by_hand}` once, and "
    "see what it says.",
    "REMOTE HOST IDENTIFICATION": "The key of {host} has changed: type `{by_hand}`, and see what it says.",
    "Permission denied": "{host} refuses the key, and a run never asks for a password: make a key with `ssh-keygen -t "
    "ed25519`, bring it there with `ssh-copy-id`, and try `{by_hand}`.",
    "Too many authentication failures": "{host} refuses the keys that ssh tries: name the right one with IdentityFile "
    "in ~/.ssh/config, and try `{by_hand}`.",
    "Connection refused": "Nothing answers ssh at {host} ({last}): see whether sshd runs there, and on which port.",
    "timed out": "{host} does not answer ({last}): see whether it is on and can be reached from here.",
    "No route to host": "{host} cannot be reached ({last}): see whether it is on, and which network this is.",
    "Network is unreachable": "{host} cannot be reached ({last}): see whether there is a network here.",
}


def _reason_there(to: Destination, said: str) -> str:
    """A sentence for what the other side's system says; empty where it is nothing that is known."""
    if "No space left" in said or "Disk quota exceeded" in said:
        return f"the disk there is full: make space for {to.folder}, then give the same command again."
    if any(words in said for words in ("Permission denied", "Read-only file", "File exists", "Not a directory")):
        return f"the folder {to.folder} cannot be written there: name another, as in ssh://{to.host}/~/mirror."
    return ""

"""Run as a program on the other machine, by the environment there: begins runs, tells how they go, takes files.

It is asked in lines of JSON on standard input and answers in lines that begin with MARK. A run is a process of its own,
which goes on when this one ends. All is kept in one folder: results.duckdb with its journal, where a file RUN.far
beside a run's state says which command began it.
"""

import contextlib
import fcntl
import hashlib
import itertools
import json
import os
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench_engine.data import files as data_files
from bench_engine.machine import machine as this_machine
from bench_engine.run.far.environment_there import MARK
from db import journal, runs
from db.columns import STATUSES
from db.record import RecordError, from_json
from db.runs import RunState
from db.settings import journal_dir

_POLL_S = 0.3
_LOG_AT_ONCE = 2**16
_PIECE = 2**20


class _Told(Exception):
    """A sentence for the other side."""


class Session:
    """Answers what the other side asks about the runs that are kept in a results file."""

    def __init__(self, results: Path) -> None:
        """`results` is the DuckDB file."""
        self._results = results
        self._journal = journal_dir(f"duckdb:///{results}")
        self._asked: dict[str, Callable[[dict[str, Any]], None]] = {
            "facts": self.facts, "going": self.going, "lacking": self.lacking, "keep": self.keep,
            "start": self.start, "follow": self.follow, "received": self.received, "stop": self.stop,
        }  # fmt: skip

    def serve(self) -> None:
        """Answer until nothing more is asked."""
        for line in iter(sys.stdin.buffer.readline, b""):
            request = json.loads(line)
            try:
                self._asked[request["do"]](request)
            except (_Told, journal.JournalError, runs.RunStateError) as error:
                _tell(error=str(error))
            except BrokenPipeError:
                raise
            except OSError as error:
                _tell(error=f"{error.filename or 'a file'} cannot be used there ({error.strerror}): mend that there.")

    def facts(self, request: dict[str, Any]) -> None:
        """The machine, and which of some data files are not here."""
        machine = this_machine.machine()
        absent = [name for name in request["files"] if data_files.located(name) is None]
        _tell(machine_id=machine["machine_id"], absent=absent)

    # -- entries ---------------------------------------------------------------------------------------------------

    def lacking(self, request: dict[str, Any]) -> None:
        """Which of some trials the journal here lacks; none while a run uses it."""
        known = journal.attempts([self._journal])
        parts = (trial_id.rpartition("-") for trial_id in request["ids"])
        busy = any(state.active for state in runs.read_all(self._journal))
        _tell(ids=[] if busy else [f"{i}-{n}" for i, _, n in parts if int(n) not in known.get(i, {})])

    def keep(self, request: dict[str, Any]) -> None:
        """Take entries that were measured here and are only known over there."""
        for text in request["entries"]:
            with contextlib.suppress(RecordError):  # of a newer format than this, say: it is measured anew
                journal.write(self._journal, from_json(text))
        _tell(kept=True)

    # -- runs ------------------------------------------------------------------------------------------------------

    def going(self, request: dict[str, Any]) -> None:
        """The run of a command that goes on, or ended with nobody there to receive it; an empty id for none."""
        _tell(**self._found(request["key"]))

    def start(self, request: dict[str, Any]) -> None:
        """Begin the run of a command, unless one goes on."""
        with self._alone():
            if (found := self._found(request["key"]))["run"]:
                return _tell(**found)
            run_id = runs.new_run_id(request["sweep"])
            sweep = self._results.parent / "sweeps" / request["key"] / (request["file"] + ".yaml")
            sweep.parent.mkdir(parents=True, exist_ok=True)
            sweep.write_text(request["text"], encoding="utf-8")
            self._note(run_id, {name: request[name] for name in ("key", "code", "commit")})
            log = runs.path_of(self._journal, run_id, ".log")
            command = [sys.executable, "-m", "bench_engine", "run", str(sweep), *request["arguments"]]
            with log.open("wb") as out:
                process = subprocess.Popen(
                    [*command, "--run-id", run_id, "--db", str(self._results)],
                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=out, start_new_session=True,
                )  # fmt: skip
            at = datetime.now(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds")
            begun = RunState(
                run_id, request["sweep"], pid=process.pid, pid_start=runs.process_start(process.pid) or 0.0,
                started_at=at, updated_at=at, log=log.name,
            )  # fmt: skip
            runs.write(self._journal, begun, new=True)  # its own first word may have come before
            return _tell(run=run_id, begun=True)

    def stop(self, request: dict[str, Any]) -> None:
        """End the run of a command, as Ctrl-C would."""
        if (state := self._going(request["key"])) and state.active:
            with contextlib.suppress(ProcessLookupError):
                os.kill(state.pid, signal.SIGTERM)
        _tell(run=state.run_id if state else "")

    def received(self, request: dict[str, Any]) -> None:
        """All of a run that is over was received."""
        self._note(request["run"], {**self._noted(request["run"]), "received": True})
        _tell(received=True)

    def follow(self, request: dict[str, Any]) -> None:
        """Tell of a run until it is over or nobody listens: lines of its log from an offset on, its state where that
        changes, the ids of its trials, and entries that are not known over there, each once."""
        run_id, offset, known = request["run"], request["offset"], set(request["known"])
        key, listed, before = self._noted(run_id).get("key"), set[str](), None
        for other in self._runs_of(key):
            self._send(set(runs.trials_of(self._journal, other)), known)
        while True:
            state = self._state(run_id)
            log, offset = self._log(run_id, offset)  # after the state: one that is over has said all
            lines = [line for line in log if state.status != "failed" or line != state.message]
            if log:
                _tell(log=lines, offset=offset)
            ids = [trial_id for trial_id in runs.trials_of(self._journal, run_id) if trial_id not in listed]
            self._send(set(ids), known)
            if ids:
                listed.update(ids)
                _tell(trials=ids)
            if state != before:
                before = state
                _tell(state={name: getattr(state, name) for name in _SHOWN})
            if not state.active and not log:
                return _tell(over=True)
            if not log and _hung_up():
                return None

    def _state(self, run_id: str) -> RunState:
        state = runs.read(self._journal, run_id) or RunState(run_id, "?", status="died", message="It left no state.")
        if state.status == "died" and not state.total:  # it said why in its log, if anywhere
            lines, _ = self._log(run_id, 0)
            return RunState(run_id, state.sweep, status="failed", message=lines[-1] if lines else state.message)
        return state

    def _log(self, run_id: str, offset: int) -> tuple[list[str], int]:
        """Whole lines of the log of a run from an offset on, not too many, and where they end."""
        try:
            with runs.path_of(self._journal, run_id, ".log").open("rb") as file:
                file.seek(offset)
                found = file.read(_LOG_AT_ONCE)
        except FileNotFoundError:
            return [], offset
        whole = found[: found.rfind(b"\n") + 1] or (found if len(found) == _LOG_AT_ONCE else b"")
        return whole.decode(errors="replace").splitlines(), offset + len(whole)

    def _send(self, ids: set[str], known: set[str]) -> None:
        """Send the entries of some trials that are not known yet."""
        for trial_id, status in itertools.product(sorted(ids - known), STATUSES):
            path = self._journal / f"{trial_id}.{status}.json"  # and no list of all, while others are timed
            with contextlib.suppress(FileNotFoundError):
                text = path.read_text(encoding="utf-8", errors="replace")
                known.add(trial_id)
                _tell(entry=text)

    # -- notes -----------------------------------------------------------------------------------------------------

    def _going(self, key: str) -> RunState | None:
        """See `going`."""
        for run_id in sorted(self._runs_of(key), reverse=True):
            state = runs.read(self._journal, run_id)
            if state and (state.active or (state.status == "done" and not self._noted(run_id).get("received"))):
                return state
        return None

    def _found(self, key: str) -> dict[str, Any]:
        """What is told of the run that `going` is about: its id, whether it goes on, and the code it began with."""
        if (state := self._going(key)) is None:
            return {"run": ""}
        note = self._noted(state.run_id)
        return {"run": state.run_id, "active": state.active, "code": note.get("code"), "commit": note.get("commit")}

    def _runs_of(self, key: object) -> Iterator[str]:
        for path in list(runs.runs_dir(self._journal).glob("*.far")):
            if self._noted(path.stem).get("key") == key:
                yield path.stem

    def _noted(self, run_id: str) -> dict[str, Any]:
        try:
            found = json.loads(runs.path_of(self._journal, run_id, ".far").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def _note(self, run_id: str, values: dict[str, Any]) -> None:
        path = runs.path_of(self._journal, run_id, ".far")
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".far.part")
        part.write_text(json.dumps(values), encoding="utf-8")
        os.replace(part, path)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """One that begins a run at a time, so that a command begins one alone."""
        with (self._results.parent / "starting.lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


_SHOWN = ("status", "total", "done", "failed", "skipped", "current", "seconds_left", "message")


def receive(name: str, digest: str, size: int) -> str:
    """Take a data file from standard input into the data folder. Returns where it is. Raises _Told; nothing of another
    content is ever there."""
    path = data_files.data_dir() / name
    if Path(name).is_absolute() or ".." in Path(name).parts:
        raise _Told(f"{name} is no place below the data folder.")
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    found = hashlib.sha256()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if (free := shutil.disk_usage(path.parent).free) < size:
            raise _Told(
                f"{name} takes {size / 1e9:.2g} GB and {free / 1e9:.2g} GB are free there: make space, or name another "
                "folder with MIRROR_DATA_DIR there."
            )
        with part.open("wb") as file:
            while piece := sys.stdin.buffer.read(_PIECE):
                found.update(piece)
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        if found.hexdigest() != digest:
            raise _Told(f"{name} did not come whole, or was changed meanwhile: give the same command again.")
        os.replace(part, path)
    except OSError as error:
        raise _Told(
            f"the data file {name} cannot be written in {path.parent} there ({error.strerror}): mend that, or name "
            "another folder with MIRROR_DATA_DIR there."
        ) from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink()
    return str(path)


def _hung_up() -> bool:
    """Whether the other side is gone; waits a moment for that."""
    readable, _, _ = select.select([sys.stdin.fileno()], [], [], _POLL_S)
    return bool(readable) and not os.read(sys.stdin.fileno(), 1)


def _tell(**values: object) -> None:
    sys.stdout.write(MARK + json.dumps(values) + "\n")
    sys.stdout.flush()


def main(words: list[str]) -> int:
    """`session RESULTS` or `receive NAME SHA256 BYTES`. Returns the exit status."""
    try:
        if words[0] == "session":
            Session(Path(words[1])).serve()
        else:
            _tell(place=receive(words[1], words[2], int(words[3])))
    except _Told as error:
        _tell(error=str(error))
    except BrokenPipeError:  # nobody listens any more
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

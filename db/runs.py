"""How a run of a sweep is going: one small JSON file per run, written by the runner and read by anyone."""

import contextlib
import json
import os
import re
import secrets
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args

from db.record import TRIAL_ID

RunStatus = Literal["waiting", "running", "done", "cancelled", "failed", "died"]
_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class RunStateError(RuntimeError):
    """The state of a run cannot be written, or its id cannot be used; the message says what to do."""


class RunIdError(RunStateError):
    """A run id that no file can be named by."""


@dataclass(frozen=True)
class RunState:
    """One run of a sweep, as of `updated_at`.

    Attributes:
        run_id: letters, digits, dots, dashes and underscores; the name of its files.
        sweep: name of the sweep.
        overrides: what was given with -p.
        pid, pid_start: the runner's process, and when it started (a pid alone is given out again).
        status: waiting (another run holds the machine), running, done, cancelled, failed (the run itself could not
            go on), died (its process is gone without a word; found out by the reader).
        total: trials of the sweep, those that were done before it started among them.
        done: trials with a result; failed: trials that ended failed, timeout or oom; skipped: trials that cannot run.
        current: what is running, a short text.
        started_at, updated_at: UTC, ISO 8601.
        seconds_left: estimate; None when nothing is known.
        message: the last failure, or why the run is over; a sentence.
        log: name of the log file beside the state; empty for a run in a terminal.
    """

    run_id: str
    sweep: str
    overrides: tuple[str, ...] = ()
    pid: int = 0
    pid_start: float = 0.0
    status: RunStatus = "waiting"
    total: int = 0
    done: int = 0
    failed: int = 0
    skipped: int = 0
    current: str = ""
    started_at: str = ""
    updated_at: str = ""
    seconds_left: float | None = None
    message: str = ""
    log: str = ""

    @property
    def active(self) -> bool:
        """Whether it is waiting or running."""
        return self.status in ("waiting", "running")


def new_run_id(sweep: str) -> str:
    """A name for a run of this sweep that no other run has and that sorts by time (UTC)."""
    plain = re.sub(r"[^A-Za-z0-9]+", "-", sweep).strip("-")[:40] or "sweep"
    return f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{plain}-{secrets.token_hex(2)}"


def runs_dir(journal_dir: Path) -> Path:
    """Folder of the run states, their logs and the sweeps that were made in the app."""
    return journal_dir / "runs"


def path_of(journal_dir: Path, run_id: str, suffix: str = ".json") -> Path:
    """Path of a run's file. Raises RunIdError for an id that is no plain name."""
    if not _RUN_ID.fullmatch(run_id):
        raise RunIdError(
            f"The run id {run_id!r:.60} cannot be used: take letters, digits, dots, dashes and underscores, "
            "at most 100, the first a letter or a digit."
        )
    return runs_dir(journal_dir) / (run_id + suffix)


def process_start(pid: int) -> float | None:
    """When a process started, as a number that no other process with this pid shares; None when it is gone."""
    with contextlib.suppress(OSError, IndexError, ValueError):
        # Ticks since boot: unlike psutil's create_time they do not move when the clock is set.
        state, *rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return None if state in "ZX" else float(rest[18])
    import psutil  # slow to load, and only where there is no /proc

    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else process.create_time()
    except (psutil.Error, ValueError):
        return None


def write(journal_dir: Path, state: RunState, new: bool = False) -> bool:
    """Write a state atomically. With `new`, one that is already there is left alone; returns whether it was written.

    Raises RunStateError when the folder cannot be written.
    """
    path = path_of(journal_dir, state.run_id)
    temporary = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = str(path.parent / f"{secrets.token_hex(8)}.part")
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)  # for whom the umask says
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(asdict(state), file)
        if new:
            with contextlib.suppress(FileExistsError):
                os.link(temporary, path)
                return True
            return False
        os.replace(temporary, path)
        return True
    except OSError as error:
        raise RunStateError(
            f"The folder {journal_dir.name}/runs/ cannot be written: {error.strerror}. Mend that, or name another "
            "place with MIRROR_JOURNAL."
        ) from error
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary)


def add_trials(journal_dir: Path, run_id: str, trial_ids: Iterable[str]) -> None:
    """Add to the list of the trials that a run is about: those that it found done, and those that it ran.

    Raises RunStateError when the folder cannot be written.
    """
    path = path_of(journal_dir, run_id, ".trials")
    try:
        with path.open("a", encoding="utf-8") as file:
            file.writelines(f"{trial_id}\n" for trial_id in trial_ids)
    except OSError as error:
        raise RunStateError(f"The list {path.name} of a run's trials cannot be written: {error.strerror}.") from error


def forget_trials(journal_dir: Path, run_id: str) -> None:
    """Begin the list of a run's trials anew, where a run of this id was there before."""
    with contextlib.suppress(OSError):
        path_of(journal_dir, run_id, ".trials").unlink(missing_ok=True)


def trials_of(journal_dir: Path, run_id: str) -> list[str]:
    """The ids of the trials that a run is about; empty for a run from before there was such a list."""
    try:
        lines = path_of(journal_dir, run_id, ".trials").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    return list(dict.fromkeys(line for line in lines if TRIAL_ID.fullmatch(line)))


def read(journal_dir: Path, run_id: str) -> RunState | None:
    """The state of one run, `died` when its process is gone without a word; None when there is no such run."""
    path = path_of(journal_dir, run_id)
    try:
        state = _from_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError):
        return RunState(run_id, sweep="?", status="failed", message=f"Its state file {path.name} cannot be read.")
    if state.active and (state.pid_start == 0 or process_start(state.pid) != state.pid_start):
        return replace(
            state,
            status="died",
            current="",
            seconds_left=None,
            message="Its process is gone without a word; start the same sweep again and it goes on from here.",
        )
    return state


def read_all(journal_dir: Path) -> list[RunState]:
    """All runs, newest first."""
    names = [path.stem for path in runs_dir(journal_dir).glob("*.json") if _RUN_ID.fullmatch(path.stem)]
    states = [state for name in names if (state := read(journal_dir, name))]
    return sorted(states, key=lambda s: (s.started_at, s.run_id), reverse=True)


def _from_json(text: str) -> RunState:
    """Raises ValueError when the text is no state."""
    entry: Any = json.loads(text)
    if not isinstance(entry, dict) or entry.get("status") not in get_args(RunStatus):
        raise ValueError("not a run state")
    known: dict[str, Any] = {f.name: entry[f.name] for f in fields(RunState) if f.name in entry}
    for name, value in known.items():
        default = getattr(RunState, name, "")
        if name == "overrides":
            known[name] = tuple(str(v) for v in value) if isinstance(value, list) else ()
        elif name == "seconds_left":
            known[name] = float(value) if isinstance(value, int | float) else None
        elif not isinstance(value, int | float if isinstance(default, int | float) else str):
            raise ValueError(f"{name} is malformed")
    if not {"run_id", "sweep"} <= known.keys():
        raise ValueError("not a run state")
    return RunState(**known)

"""Who started which run, a small file beside its state, and how many runs one person may have at a time."""

import contextlib
from pathlib import Path

from db import runs
from db.settings import setting
from mirror.runs.person import Person

_LIMIT = "MIRROR_RUNS_PER_PERSON"  # a setting


def note(folder: Path, run_id: str, by: Person) -> None:
    """Keep who starts a run, in a journal folder. Raises OSError."""
    runs.path_of(folder, run_id, ".by").write_text(by.name, encoding="utf-8", errors="replace")


def of(folder: Path, run_id: str) -> str:
    """Who started a run; empty for one of a terminal."""
    with contextlib.suppress(OSError, runs.RunStateError):
        return runs.path_of(folder, run_id, ".by").read_text(encoding="utf-8", errors="replace")
    return ""


def no_room(folder: Path, by: Person) -> str:
    """Why a person may start no further run, as a sentence; empty where they may."""
    given = setting(_LIMIT)
    if not given:
        return ""
    if not given.isdecimal() or int(given) < 1:
        return f"{_LIMIT} is {given!r:.40}: it takes a whole number, 1 or more."
    own = sum(state.active and of(folder, state.run_id) == by.name for state in runs.read_all(folder))
    if own < int(given):
        return ""
    return f"You have {own} of at most {int(given)} runs waiting or running: wait for the end of one, or cancel one."

"""Who started, resumed and cancelled which run from the pages: a line of JSON each, in a file beside the journal.

A file that cannot be written keeps no run from starting: the log says so once.
"""

import errno
import json
import logging
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from mirror.runs.person import Person

_log = logging.getLogger(__name__)
_failing: set[Path] = set()  # files of which the log has said that they cannot be written

Deed = Literal["started", "resumed", "cancelled"]


def path_of(journal: Path) -> Path:
    """The file that goes with a journal folder: `x.journal/` has `x.audit.jsonl`."""
    return journal.with_suffix(".audit.jsonl")


def note(journal: Path, by: Person, did: Deed, run_id: str, **what: object) -> None:
    """Add a line: the time (UTC), who did what, the run, and `what` else is to be known of it. Never raises."""
    at = datetime.now(UTC).isoformat(timespec="seconds")
    line = json.dumps({"at": at, "who": by.name, "did": did, "run_id": run_id, **what}).encode()
    path = path_of(journal)
    try:
        _append(path, line)
        _failing.discard(path)
    except OSError as error:
        if path not in _failing:
            _failing.add(path)
            _log.warning(
                "%s cannot be written (%s): who starts and cancels runs is not noted until that is mended.",
                path.name,
                error.strerror,
            )


def _append(path: Path, line: bytes) -> None:
    """In one write, which no other process's comes between; a line that a full disk cut off stays one of its own."""
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        end = os.lseek(file, 0, os.SEEK_END)
        cut = end > 0 and os.pread(file, 1, end - 1) != b"\n"
        text = (b"\n" if cut else b"") + line + b"\n"
        if os.write(file, text) < len(text):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    finally:
        os.close(file)

"""Baselines by name: the trials of a run, kept under a name that later runs are compared with (`--save-baseline`).

A baseline is a small file beside the journal, in its folder `baselines`: a list of trials, which stay what they were
when others are measured after them.
"""

import json
import os
import re
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from bench_engine.registry import hint
from db.record import TRIAL_ID

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class BaselineError(ValueError):
    """A baseline that cannot be used or written; the message says why, and what there is."""


@dataclass(frozen=True)
class Baseline:
    """The trials of a run under a name; `saved_at` is UTC, ISO 8601."""

    name: str
    sweep: str
    saved_at: str
    code_version: str
    trial_ids: tuple[str, ...]


def check_name(name: str) -> None:
    """Raises BaselineError for a name that no file can have."""
    if not _NAME.fullmatch(name):
        raise BaselineError(
            f"A baseline cannot be called {name!r:.60}: take letters, digits, dots, dashes and underscores, at most "
            "100, the first a letter or a digit."
        )


def save(journal: Path, baseline: Baseline) -> None:
    """Write a baseline; one of that name is replaced. Raises BaselineError."""
    path, temporary = _path(journal, baseline.name), ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".part")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(asdict(baseline), file)
        os.replace(temporary, path)
    except OSError as error:
        raise BaselineError(f"The baseline {path.name} cannot be written: {error.strerror}.") from error
    finally:
        with suppress(OSError):
            os.unlink(temporary)


def load(journal: Path, name: str) -> Baseline:
    """The baseline of that name. Raises BaselineError."""
    path = _path(journal, name)
    try:
        entry = json.loads(path.read_text(encoding="utf-8"))
        ids = tuple(i for i in entry["trial_ids"] if TRIAL_ID.fullmatch(i))
        sweep, saved_at, version = (str(entry[key]) for key in ("sweep", "saved_at", "code_version"))
        return Baseline(name, sweep, saved_at, version, ids)
    except FileNotFoundError:
        known = sorted(p.stem for p in path.parent.glob("*.json"))
        there = f"There are: {', '.join(known[:12])}" if known else "There are none yet"
        raise BaselineError(
            f"There is no baseline {name!r}{hint(name, known)} {there}; `run SWEEP --save-baseline NAME` makes one."
        ) from None
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise BaselineError(
            f"The baseline {path.name} cannot be read ({type(error).__name__}): save it anew."
        ) from error


def of_trials(name: str, sweep: str, saved_at: str, code_version: str, trial_ids: Sequence[str]) -> Baseline:
    """A baseline of some trials. Raises BaselineError where there are none."""
    if not trial_ids:
        raise BaselineError(f"There is no result to keep as the baseline {name}: nothing was saved.")
    return Baseline(name, sweep, saved_at, code_version, tuple(trial_ids))


def _path(journal: Path, name: str) -> Path:
    check_name(name)
    return journal / "baselines" / f"{name}.json"

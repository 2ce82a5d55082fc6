"""Commits in the order in which they were made, and what lies between two of them."""

import bisect
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime

from db.installation import ROOT

_MOST_SUBJECTS = 5


def ordered(first_seen: Mapping[str, datetime]) -> list[str]:
    """Commits, shortened or not, from the oldest to the newest: as git has them where it knows all, else as they were
    first measured. One with uncommitted changes (`abc1234+`) comes after its own.

    Args:
        first_seen: commit -> when it was first measured.
    """
    made = {name: number for number, name in enumerate(_git("rev-list", "--topo-order", "--reverse", "HEAD"))}
    names = sorted(made)
    places = {}
    for version in first_seen:
        short = version.removesuffix("+")
        at = bisect.bisect_left(names, short)
        if len(short) >= 4 and at < len(names) and names[at].startswith(short):
            places[version] = made[names[at]], version.endswith("+")
    if len(places) < len(first_seen):
        return sorted(first_seen, key=lambda version: (first_seen[version], version))
    return sorted(places, key=lambda version: places[version])


def subjects(before: str, after: str) -> list[str]:
    """`abc1234 What it did` of the commits after one up to another; nothing where git does not know them."""
    span = f"{before.removesuffix('+')}..{after.removesuffix('+')}"
    lines = _git("log", "--format=%h %s", "--end-of-options", span)
    left = len(lines) - _MOST_SUBJECTS
    return [*lines[:_MOST_SUBJECTS], *([f"and {left} more"] if left > 0 else [])]


def _git(*arguments: str) -> Sequence[str]:
    """Lines that git prints; none where there is no git, or it does not know."""
    with suppress(OSError, subprocess.SubprocessError):
        command = ["git", "-C", str(ROOT), *arguments]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", timeout=20, check=True)
        return done.stdout.splitlines()
    return []

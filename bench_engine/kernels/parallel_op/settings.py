"""What the MIRROR_PARALLEL_OP_* variables say. Loads without torch; docs/settings.md has the table for users."""

import difflib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

SWITCH = "MIRROR_PARALLEL_OP"
SCHEDULES = ("auto", "table", "batch", "flat")
OPTIMIZERS = frozenset({"optim.adagrad", "optim.sgd", "optim.sparse_adam"})
DEFAULT_OPS = frozenset({"aten.embedding_bag", "aten.embedding"}) | OPTIMIZERS
# The others are thread-safe too, but seldom worth a region of their own: off until they are asked for.
KNOWN_OPS = DEFAULT_OPS | {
    "aten.gelu",
    "aten.layer_norm",
    "aten.linear",
    "aten.relu",
    "aten.sigmoid",
    "aten.silu",
    "aten.tanh",
}
_OTHER_NAMES = {"aten.native_layer_norm": "aten.layer_norm"}
VARIABLES = tuple(
    f"{SWITCH}_{name}"
    for name in ("CACHE", "HUGE_PAGES", "MIN_GROUP", "NESTED", "OPS", "REPORT", "SCHEDULE", "THREADS")
)
_ON, _OFF = ("1", "true", "on"), ("", "0", "false", "off")
_MOST_THREADS = 1024


class SettingsError(ValueError):
    """A variable says something that nobody understands; the sentence names what is known."""


def default_cache_dir(environ: Mapping[str, str] | None = None) -> Path | None:
    """Where choices are kept between processes: beside other caches of this user; nowhere without a home folder."""
    environ = os.environ if environ is None else environ
    try:
        home = environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:  # a container's user without a home folder
        return None
    return Path(home) / "mirror" / "parallel_op"


@dataclass(frozen=True)
class Settings:
    """How Parallel OP groups and runs ops.

    ops: the whitelist, of KNOWN_OPS. asked: those of them that were added with "+" (Inductor, which fuses plain
    embedding well, groups it only then). threads: 0 is as many as torch uses. schedule: of SCHEDULES. nested: whether
    an op may start threads inside a branch. report: 1 tells when the process ends, 2 tells all. min_group:
    fewest ops that make a group. cache_dir: None keeps nothing. huge_pages: whether a GroupedEmbeddingBag
    may have large tables put into huge pages.
    """

    ops: frozenset[str] = DEFAULT_OPS
    asked: frozenset[str] = frozenset()
    threads: int = 0
    schedule: str = "auto"
    nested: bool = False
    report: int = 0
    min_group: int = 2
    cache_dir: Path | None = None
    huge_pages: bool = True

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> "Settings":
        """Settings from the environment variables; an empty value counts as not set. Raises SettingsError."""
        environ = os.environ if environ is None else environ
        for name in sorted(environ):
            if name.startswith(f"{SWITCH}_") and name not in VARIABLES:
                raise SettingsError(f"{name} is not a setting{_meant(name, VARIABLES)}; known: {', '.join(VARIABLES)}.")

        def value(name: str) -> str:
            return environ.get(f"{SWITCH}_{name}", "").strip()

        ops, asked = _whitelist(value("OPS"))
        schedule = value("SCHEDULE") or "auto"
        if schedule not in SCHEDULES:
            raise SettingsError(
                f"{SWITCH}_SCHEDULE={schedule} is not a schedule{_meant(schedule, SCHEDULES)}; "
                f"known: {', '.join(SCHEDULES)}."
            )
        return cls(
            ops=ops,
            asked=asked,
            threads=_number("THREADS", value("THREADS"), default=0, least=0, most=_MOST_THREADS),
            schedule=schedule,
            nested=switch(f"{SWITCH}_NESTED", value("NESTED")),
            report=2 if value("REPORT") == "2" else int(switch(f"{SWITCH}_REPORT", value("REPORT"))),
            min_group=_number("MIN_GROUP", value("MIN_GROUP"), default=2, least=2, most=None),
            cache_dir=_folder(value("CACHE")) if value("CACHE") else default_cache_dir(environ),
            huge_pages=switch(f"{SWITCH}_HUGE_PAGES", value("HUGE_PAGES") or "1"),
        )


def _folder(text: str) -> Path:
    try:
        return Path(text).expanduser()
    except RuntimeError:
        told = f"{SWITCH}_CACHE={text} names a home folder that is not known: write the whole path."
        raise SettingsError(told) from None


def switch(name: str, value: str) -> bool:
    """Whether the variable is on. Raises SettingsError where it is neither on nor off."""
    word = value.strip().lower()
    if word not in (*_ON, *_OFF):
        raise SettingsError(f"{name}={value} is neither on ({', '.join(_ON)}) nor off ({', '.join(_OFF[1:])}).")
    return word in _ON


def _number(name: str, value: str, *, default: int, least: int, most: int | None) -> int:
    if not value:
        return default
    if value.isascii() and value.isdigit() and least <= int(value) and (most is None or int(value) <= most):
        return int(value)
    allowed = f"from {least} to {most}" if most is not None else f"from {least} on"
    raise SettingsError(f"{SWITCH}_{name}={value} is not a whole number {allowed}.")


def _whitelist(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """The whitelist after "+name,-name" changes, and what was added by name."""
    ops: set[str] = set(DEFAULT_OPS)
    asked: set[str] = set()
    for change in (part.strip() for part in text.split(",")):
        if not change:
            continue
        sign, written = change[0], change[1:].strip()
        if sign not in "+-":
            raise SettingsError(
                f"{SWITCH}_OPS: put + (add) or - (remove) before {change}, as in +aten.layer_norm,-aten.embedding."
            )
        name = _OTHER_NAMES.get(written, written)
        if name not in KNOWN_OPS:
            raise SettingsError(
                f"{SWITCH}_OPS: {written or 'an empty name'} is not an op that can be grouped"
                f"{_meant(written, KNOWN_OPS)}; known: {', '.join(sorted(KNOWN_OPS))}."
            )
        for changed in (ops, asked):
            (changed.add if sign == "+" else changed.discard)(name)
    return frozenset(ops), frozenset(asked)


def _meant(word: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(word, sorted(known), n=1)
    return f" (did you mean {close[0]}?)" if close else ""


_in_force: Settings | None = None


def active_settings() -> Settings | None:
    """The settings that Parallel OP was switched on with; None while it is off."""
    return _in_force


def put_in_force(settings: Settings | None) -> None:
    """For `switching` alone: from now on these are the settings, or none."""
    global _in_force
    _in_force = settings

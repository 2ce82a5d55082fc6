"""The sides of a comparison: what a name on the command line stands for among the results."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, get_args

from bench_engine.compare import baselines
from bench_engine.registry import nearest
from db import runs
from db.settings import journal_dir
from db.store import Store

Kind = Literal["sweep", "commit", "machine", "method", "run", "baseline", "before", "since"]
KINDS: tuple[Kind, ...] = get_args(Kind)
SHORTEST_PREFIX = 4  # of a commit or of a machine's id
_LISTS = ("run", "baseline")  # kinds that are a list of trials
LISTED = 12  # names that a sentence lists at most


class CompareError(ValueError):
    """What cannot be compared; the message is a sentence that says why and what there is."""


class SameTrialsError(CompareError):
    """Both sides hold the very same trials."""


class UsageError(CompareError):
    """What was asked for cannot be read, whatever the results hold."""


@dataclass(frozen=True)
class Side:
    """One side of a comparison.

    Attributes:
        kind: what it is.
        value: sweep, code_version, machine_id or method; the moment (naive UTC) for before and since; the ids of the
            trials, with commas between them, of a run and a baseline.
        name: how it is called in what people read.
    """

    kind: Kind
    value: str | datetime
    name: str

    @property
    def text(self) -> str:
        """As it is called in a sentence: `method hashed`."""
        return f"{self.kind} {self.name}"

    def condition(self, parameter: str) -> str:
        """SQL that is true of the side's rows of `trials AS t`; `parameter` is the name that the value is bound to."""
        if self.kind in _LISTS:
            return f"t.trial_id IN (SELECT unnest(string_to_array(:{parameter}, ',')))"
        column = {"commit": "code_version", "machine": "machine_id", "before": "started_at", "since": "started_at"}
        sign = {"before": "<", "since": ">="}.get(self.kind, "=")
        return f"t.{column.get(self.kind, self.kind)} {sign} :{parameter}"


@dataclass(frozen=True)
class _Names:
    """What trials that are ok can be chosen by; machines as id -> name."""

    sweep: Sequence[str]
    commit: Sequence[str]
    method: Sequence[str]
    machine: dict[str, str]


def resolve(store: Store, given: Sequence[str]) -> list[Side]:
    """The sides that are meant by `sweep:NAME`, `commit:abc1234`, `machine:NAME`, `method:NAME`, `run:ID`,
    `baseline:NAME`, `before:2026-11-13`, `since:2026-11-13T08:00`, or by the bare name of a sweep, commit or machine.

    A commit, and the id of a machine, may be shortened to four characters.

    Raises CompareError where a name fits nothing or more than one thing, UsageError where a moment cannot be read.
    """
    names = _names(store)
    if not names.sweep and not names.commit:
        raise CompareError(f"There is nothing to compare in {store.name}: it holds no trial that is ok.")
    return [_list_of_trials(text, store) or _side(text, names) for text in given]


def _list_of_trials(given: str, store: Store) -> Side | None:
    """The side that a run or a baseline is; None for what names neither."""
    kind, _, value = given.partition(":")
    if kind == "baseline":
        try:
            return Side("baseline", ",".join(baselines.load(journal_dir(store.url), value).trial_ids), value)
        except baselines.BaselineError as error:
            raise UsageError(str(error)) from error
    if kind == "run":
        try:
            ids = runs.trials_of(journal_dir(store.url), value)
        except runs.RunIdError as error:
            raise UsageError(str(error)) from error
        if not ids:
            raise CompareError(f"There is no run {value!r} that has a list of its trials: `show` names the last one.")
        return Side("run", ",".join(ids), value)
    return None


def _names(store: Store) -> _Names:
    rows = store.rows("""SELECT DISTINCT t.sweep, t.code_version, t.method, t.machine_id, m.name AS machine
        FROM trials AS t LEFT JOIN machines AS m ON t.machine_id = m.machine_id WHERE t.status = 'ok'""")

    def distinct(column: str) -> list[str]:
        return sorted({row[column] for row in rows} - {None})

    machines = {row["machine_id"]: row["machine"] or row["machine_id"] for row in rows if row["machine_id"]}
    return _Names(distinct("sweep"), distinct("code_version"), distinct("method"), dict(sorted(machines.items())))


def _side(given: str, names: _Names) -> Side:
    kind, colon, value = given.partition(":")
    if colon and kind in ("before", "since"):
        return _moment(kind, value)  # type: ignore[arg-type]
    if colon and kind in KINDS:
        found = _found(value, names, [kind])
        if not found:
            raise CompareError(f"There is no {kind} {value!r} in the results{_known(kind, value, names)}.")
    else:
        found = _found(given, names, ["sweep", "commit", "machine"])
        if not found:
            there = "; ".join(_list(kind, names) for kind in ("sweep", "commit", "machine"))
            everything = [*names.sweep, *names.commit, *names.machine.values()]
            hint = nearest(given, everything).removeprefix("; ").capitalize()
            raise CompareError(
                f"There is no sweep, commit or machine {given!r} in the results. {hint + ' ' if hint else ''}"
                f"There are: {there}."
            )
    if len(found) > 1:
        choices = " or ".join(f"{side.kind}:{side.value}" for side in found[:LISTED])
        raise CompareError(f"{given!r} may mean {len(found)} things: say {choices}.")
    return found[0]


def _found(name: str, names: _Names, kinds: Iterable[str]) -> list[Side]:
    fitting = {
        "sweep": [Side("sweep", name, name)] * (name in names.sweep),
        "commit": [Side("commit", version, version) for version in _commits(name, names.commit)],
        "machine": _machines(name, names.machine),
        "method": [Side("method", name, name)] * (name in names.method),
    }
    return [side for kind in kinds for side in fitting[kind]]


def _commits(name: str, versions: Sequence[str]) -> list[str]:
    """The versions that a commit, shortened or whole, stands for. A commit with uncommitted changes, which ends in +,
    is meant where it is written so, or where there is no other."""
    if name in versions:
        return [name]
    short = name.removesuffix("+")
    if len(short) < SHORTEST_PREFIX:
        return []
    fitting = [v for v in versions if v.startswith(short) and (v.endswith("+") or not name.endswith("+"))]
    return [v for v in fitting if not (v.endswith("+") and v.removesuffix("+") in fitting)]


def _machines(name: str, machines: dict[str, str]) -> list[Side]:
    """The machines of that id or name, or with the name that the views give to one of several of a name."""
    fitting = [
        machine_id
        for machine_id, called in machines.items()
        if name in (machine_id, called, f"{called} ({machine_id[:8]})")
        or (len(name) >= SHORTEST_PREFIX and machine_id.startswith(name))
    ]
    return [Side("machine", machine_id, machines[machine_id]) for machine_id in fitting]


def _moment(kind: Literal["before", "since"], text: str) -> Side:
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo:
            moment = moment.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        raise UsageError(
            f"{kind}:{text} names no moment: write {kind}:2026-11-13 or {kind}:2026-11-13T08:30 (UTC)."
        ) from None
    whole_minutes = not (moment.second or moment.microsecond)
    return Side(kind, moment, f"{moment.isoformat(' ', 'minutes' if whole_minutes else 'auto')} UTC")


def _known(kind: str, value: str, names: _Names) -> str:
    known = list(names.machine.values()) if kind == "machine" else getattr(names, kind)
    hint = nearest(value, known)
    return f"{hint} There are: {_list(kind, names)}" if hint else f"; there are: {_list(kind, names)}"


def _list(kind: str, names: _Names) -> str:
    machines = [f"{called} ({machine_id})" for machine_id, called in names.machine.items()]
    known = machines if kind == "machine" else getattr(names, kind)
    more = f" and {len(known) - LISTED} more" if len(known) > LISTED else ""
    return f"{kind}s {', '.join(known[:LISTED])}{more}" if known else f"no {kind}s"

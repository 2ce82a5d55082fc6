"""Record: one finished trial as it stands in the journal, and its JSON form."""

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from db.columns import BY_NAME, METRICS, OWN_STEP, STATUSES
from db.plain_text import printable

FORMAT = 1

_HALF_CHARACTER = re.compile(r"[\ud800-\udfff]")
TRIAL_ID = re.compile(r"[A-Za-z0-9_]{1,64}-(?:0|[1-9][0-9]{0,8})")  # becomes a file's name, and is printed


class RecordError(ValueError):
    """A journal entry that cannot be used; the message says why."""


class NewerFormatError(RecordError):
    """A journal entry written by a newer version: it is kept, not set aside."""


@dataclass(frozen=True)
class Record:
    """One finished trial, failed ones too.

    Attributes:
        trial: values of the columns of the table `trials` (None or absent: does not apply); `started_at` is a naive
            UTC datetime.
        samples_us: raw timings in µs, in the order they were taken.
        turn_sizes: number of samples of each turn within the group, in order; empty where there were no turns.
        own_metrics: what plug-ins say of their metrics, which are points of its curves: name -> its text, its unit and
            which direction is better, in words.
        curves: (metric, step, value) points of a training trial.
        machine: the columns of the table `machines`.
        sweep: sweep_id, name, spec (the YAML text) and started_at of the sweep.
    """

    trial: Mapping[str, Any]
    samples_us: tuple[float, ...] = ()
    curves: tuple[tuple[str, int, float], ...] = ()
    machine: Mapping[str, Any] = field(default_factory=dict)
    sweep: Mapping[str, Any] = field(default_factory=dict)
    turn_sizes: tuple[int, ...] = ()
    own_metrics: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def named_own_metrics(self) -> dict[str, Mapping[str, str]]:
        """The metrics of plug-ins that it has, each with what is said of it: of old trials nothing."""
        return {name: self.own_metrics.get(name, {}) for name, step, _ in self.curves if step == OWN_STEP}

    def turns(self) -> list[int | None]:
        """For each sample the number of its turn; None where there were no turns."""
        if not self.turn_sizes:
            return [None] * len(self.samples_us)
        return [turn for turn, size in enumerate(self.turn_sizes) for _ in range(size)]

    @property
    def trial_id(self) -> str:
        """Identity and attempt."""
        return str(self.trial["trial_id"])

    @property
    def status(self) -> str:
        """One of STATUSES."""
        return str(self.trial["status"])

    def to_json(self) -> str:
        """One line of JSON. Raises RecordError on a number that JSON cannot hold."""
        try:
            return json.dumps(self._entry(), default=_plain, allow_nan=False, separators=(",", ":"), ensure_ascii=False)
        except ValueError as error:
            raise RecordError(
                f"trial {self.trial_id} holds NaN or infinity, which a journal cannot hold ({error})."
            ) from error

    def check(self) -> None:
        """Raises RecordError where this could not be read back from the journal, which would lose it to the results."""
        _record(self._entry())

    def _entry(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "trial": {k: v for k, v in self.trial.items() if v is not None},
            "samples_us": list(self.samples_us),
            **({"turn_sizes": list(self.turn_sizes)} if self.turn_sizes else {}),
            "curves": [list(c) for c in self.curves],
            **({"own_metrics": {k: dict(v) for k, v in self.own_metrics.items()}} if self.own_metrics else {}),
            "machine": dict(self.machine),
            "sweep": dict(self.sweep),
        }


def from_json(text: str) -> Record:
    """Read a journal entry. In its names and other short texts a space stands for what does not print.

    Raises RecordError (a sentence that says what is wrong) or NewerFormatError.
    """
    try:
        entry = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RecordError(f"it is not whole JSON ({error})") from error
    if not isinstance(entry, dict) or not isinstance(entry.get("format"), int):
        raise RecordError("it is not a journal entry")
    if entry["format"] > FORMAT:
        raise NewerFormatError(
            f"its format {entry['format']} is newer than this version reads ({FORMAT}); update to ingest it"
        )
    return _readable(_record(entry))


def _record(entry: Mapping[str, Any]) -> Record:
    """The record of an entry that may hold anything. Raises RecordError."""
    try:
        trial = _trial(dict(entry["trial"]))
        samples = _samples(entry["samples_us"], trial.get("latency_us"))
        turn_sizes = tuple(int(n) for n in entry.get("turn_sizes", ()))
        if turn_sizes and (min(turn_sizes) < 0 or sum(turn_sizes) != len(samples)):
            raise RecordError(f"its turns hold {sum(turn_sizes)} samples, and it has {len(samples)}")
        curves = tuple((str(m), int(s), float(v)) for m, s, v in entry["curves"])
        texts, steps = ({point[i] for point in curves} for i in (0, 1))  # few, of many points
        if not (all(_fits(t, "text") for t in texts) and all(_fits(s, "integer") for s in steps)) or not all(
            math.isfinite(v) for _, _, v in curves
        ):
            raise RecordError("it holds a curve with a value that is not finite")
        machine = _described(entry["machine"], "machine", _OF_MACHINE)
        sweep, own = _described(entry["sweep"], "sweep", _OF_SWEEP), _own_metrics(entry.get("own_metrics", {}))
        return Record(trial, samples, curves, machine, sweep, turn_sizes, own)
    except RecordError:
        raise
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise RecordError(f"a part is missing or malformed ({type(error).__name__}: {error})") from error


def _trial(trial: dict[str, Any]) -> dict[str, Any]:
    for key in ("trial_id", "identity", "status", "benchmark", "method", "configuration", "comparison"):
        if not isinstance(trial[key], str):
            raise RecordError(f"its {key} is not text")
    if not TRIAL_ID.fullmatch(trial["trial_id"]) or trial["trial_id"].rpartition("-")[0] != trial["identity"]:
        raise RecordError(f"its trial_id {trial['trial_id']!r:.60} is no identity and attempt")
    if trial["status"] not in STATUSES:
        raise RecordError(f"its status {trial['status']!r} is none of {', '.join(STATUSES)}")
    for key, value in trial.items():
        if key in BY_NAME and not _fits(value, BY_NAME[key].type):
            raise RecordError(f"its {key} is not {BY_NAME[key].type}: {value!r:.40}")
    for key, type_name in (("error", "text"), ("environment", "text"), ("baseline_latency_us", "real")):
        if trial.get(key) is not None and not _fits(trial[key], type_name):
            raise RecordError(f"its {key} is not {type_name}")
    for key in (*METRICS, "baseline_latency_us"):
        if (trial.get(key) or 0) < 0 and not (key in BY_NAME and BY_NAME[key].signed):
            raise RecordError(f"its {key} is {trial[key]:g}, which is negative")
    return {**_reals(trial, _REALS), "started_at": _naive_utc(trial["started_at"])}


def _samples(given: Any, latency_us: float | None) -> tuple[float, ...]:
    """The timings of a trial, which its latency must lie among."""
    samples = tuple(map(float, given))
    if not samples:
        return samples
    low, high = min(samples), max(samples)
    if low < 0 or not all(map(math.isfinite, samples)):
        raise RecordError("it holds a negative or non-finite timing")
    # Either may have been rounded.
    if latency_us is not None and not low * 0.999 - 0.001 <= latency_us <= high * 1.001 + 0.001:
        raise RecordError(f"its latency_us {latency_us:g} lies outside its samples, {low:g} to {high:g}")
    return samples


def _readable(record: Record) -> Record:
    """The record as it may be printed. An error keeps its lines; environment and sweep file are no names."""
    trial = _plain_row(record.trial, leave=("error", "environment"))
    if error := trial.get("error"):
        trial["error"] = printable(error, keep="\n\t")
    return replace(
        record,
        trial=trial,
        curves=tuple((printable(metric), step, value) for metric, step, value in record.curves),
        machine=_plain_row(record.machine),
        sweep=_plain_row(record.sweep, leave=("spec",)),
        own_metrics={printable(name): _plain_row(said) for name, said in record.own_metrics.items()},
    )


def _plain_row(row: Mapping[str, Any], leave: tuple[str, ...] = ()) -> dict[str, Any]:
    return {k: printable(v) if isinstance(v, str) and k not in leave else v for k, v in row.items()}


def _naive_utc(given: str | datetime) -> datetime:
    moment = given if isinstance(given, datetime) else datetime.fromisoformat(given)
    return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment


_OF_MACHINE = {"cores": "integer", "l2_kb": "integer", "l3_kb": "integer", "memory_gb": "real"}
_OF_SWEEP = {"started_at": "timestamp"}
_LONGEST_KEY = 200  # no database takes one of any length


def _described(entry: Any, what: str, types: Mapping[str, str]) -> dict[str, Any]:
    """A machine or a sweep; its values are texts where `types` says nothing else. Raises RecordError."""
    row = dict(entry)
    for key, value in row.items():
        if value is not None and not _fits(value, types.get(key, "text")):
            raise RecordError(f"its {what}'s {key} is not {types.get(key, 'text')}: {value!r:.40}")
    if row.get("started_at") is not None and "started_at" in types:
        row["started_at"] = _naive_utc(row["started_at"])
    if len(row.get(f"{what}_id") or "") > _LONGEST_KEY:
        raise RecordError(f"its {what}_id is longer than {_LONGEST_KEY} characters")
    if row.get(f"{what}_id") and row.get("name") is None:  # no table takes it
        raise RecordError(f"its {what} has no name")
    return _reals(row, [key for key, type_name in types.items() if type_name == "real"])


_REALS = ("baseline_latency_us", *(name for name, column in BY_NAME.items() if column.type == "real"))


def _reals(row: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """The row with whole numbers as floats where a column holds such: above 2**53 Arrow takes no others."""
    return {**row, **{name: float(row[name]) for name in names if isinstance(row.get(name), int)}}


_SAID = ("text", "unit", "better")  # of a metric of a plug-in


def _own_metrics(given: Any) -> dict[str, dict[str, str]]:
    """What is said of metrics of plug-ins. Raises RecordError."""
    found = {name: {key: said[key] for key in _SAID if key in said} for name, said in dict(given).items()}
    for name, said in found.items():
        for text in (name, *said.values()):
            if not _fits(text, "text"):
                raise RecordError(f"what it says of the metric {name!r:.60} is not text: {text!r:.40}")
    return found


_PYTHON: dict[str, tuple[type, ...]] = {
    "text": (str,), "integer": (int,), "real": (int, float), "boolean": (bool,), "timestamp": (str, datetime),
}  # fmt: skip


def _fits(value: object, type_name: str) -> bool:
    if isinstance(value, bool):
        return type_name == "boolean"
    if not isinstance(value, _PYTHON[type_name]):
        return False
    if isinstance(value, str):
        return value.isascii() or not _HALF_CHARACTER.search(value)  # no database takes one
    if isinstance(value, int):
        return -(2**63) <= value < 2**63
    return not isinstance(value, float) or math.isfinite(value)


def _plain(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} is not JSON")

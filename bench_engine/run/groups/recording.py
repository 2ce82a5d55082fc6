"""A result becomes a record: checked, completed with what the runner knows, and ready for the journal."""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any, get_args

from bench_engine import plugin
from bench_engine.registry import benchmark
from bench_engine.sweep.sweep import Sweep
from bench_engine.trial import Status, Trial, TrialResult
from db.columns import AXES, BY_NAME, METRICS, OWN_STEP
from db.journal import MAX_ENTRY
from db.record import Record, RecordError
from db.runs import RunState

_REPORTED = {*AXES, *METRICS} - {"speedup", "speedup_ci_low", "speedup_ci_high"}  # these come from others' turns too


def changed(state: RunState, **changes: object) -> RunState:
    """The state with some changes, and when they were made."""
    updated_at = now().isoformat(timespec="milliseconds")
    return replace(state, **{"updated_at": updated_at, **changes})  # type: ignore[arg-type]


def now() -> datetime:
    """The time as results keep it: naive UTC."""
    return datetime.now(UTC).replace(tzinfo=None)


def sweep_row(sweep: Sweep, overrides: Sequence[str], started_at: datetime) -> dict[str, Any]:
    """The row of the table `sweeps`: the file as it was run, what was given with -p as comments at its end."""
    spec = sweep.text.rstrip() + "\n" + "".join(f"# -p {text}\n" for text in overrides)
    sweep_id = hashlib.sha256(f"{sweep.name}\n{spec}".encode()).hexdigest()[:12]
    return {"sweep_id": sweep_id, "name": sweep.name, "spec": spec, "started_at": started_at}


def record(
    trial: Trial,
    result: TrialResult,
    *,
    identity: str,
    attempt: int,
    started_at: datetime,
    code_version: str,
    machine: Mapping[str, Any],
    sweep: Mapping[str, Any],
) -> Record:
    """The record of a finished trial. A result that cannot be true is recorded as failed, with a sentence."""
    if complaint := fault(result):
        result = _refused(result, complaint)

    def build(result: TrialResult) -> Record:
        metrics = {k: v for k, v in result.metrics.items() if k in _REPORTED}
        row = {
            **metrics,
            **(asdict(result.paired) if result.paired else {}),
            **trial.config,
            "trial_id": f"{identity}-{attempt}",
            "identity": identity,
            "configuration": trial.configuration(),
            "comparison": trial.comparison(),
            "benchmark": trial.benchmark,
            "op": benchmark(trial.benchmark).op,
            "method": trial.method,
            "is_baseline": trial.is_baseline,
            "sweep": sweep["name"],
            "status": result.status,
            "error": _clean(result.error),
            "stop_reason": result.stop_reason,
            "machine_id": machine["machine_id"],
            "started_at": started_at,
            "duration_s": round(result.seconds, 3),
            "group_id": result.group_id or None,
            "code_version": code_version,
            "environment": json.dumps(dict(result.environment), default=str),
        }
        own = plugin.said_of([name for name, step, _ in result.curves if step == OWN_STEP])
        return Record(row, result.samples_us, result.curves, machine, sweep, result.turn_sizes, own)

    built = build(result)
    try:
        if _is_too_long(built):
            note = f"{len(result.samples_us):,} samples are more than an entry of the journal holds: they are not kept"
            environment = {**result.environment, "samples_left_out": note}
            built = build(replace(result, samples_us=(), turn_sizes=(), start_turns=(), environment=environment))
            if _is_too_long(built):
                raise RecordError(f"an entry of more than {MAX_ENTRY >> 20} MiB")
        built.check()
    except RecordError as error:
        return build(_refused(result, f"The benchmark reported what cannot be stored: {error}."))
    return built


def _is_too_long(built: Record) -> bool:
    """Whether no reader of the journal would take it."""
    return len(built.to_json()) > MAX_ENTRY


def fault(result: TrialResult) -> str:
    """Why a worker's result cannot be true, as a sentence; empty when nothing speaks against it."""
    if result.status not in get_args(Status):
        return f"The benchmark reported the status {result.status!r:.40}, which there is none of."
    if not isinstance(result.metrics, Mapping) or not isinstance(result.environment, Mapping):
        return "The benchmark reported metrics or an environment that are no keys and values."
    if not isinstance(result.error, str | None):
        return "The benchmark reported an error that is no text."
    for name, value in result.metrics.items():
        if name not in _REPORTED:
            return f"The benchmark reported {name}, which is no column of the results."
        if value is None or isinstance(value, str | bool):
            continue
        if not isinstance(value, int | float) or not math.isfinite(value):
            return f"The benchmark reported {name} as {value!r:.40}, which is no finite number."
        if value < 0 and not BY_NAME[name].signed:
            return f"The benchmark reported {name} as {value:g}, which is negative."
    for index, sample in enumerate(result.samples_us):
        if not math.isfinite(sample) or sample < 0:
            return f"The benchmark reported sample {index} as {sample:g} µs."
    for metric, step, value in result.curves:
        if not math.isfinite(value):
            return f"The benchmark reported {metric} at step {step} as {value:g}, which is no finite number."
    return ""


def _refused(result: TrialResult, complaint: str) -> TrialResult:
    environment = result.environment if isinstance(result.environment, Mapping) else {}
    return TrialResult("failed", error=complaint, environment=environment, seconds=result.seconds)


def _clean(text: str | None) -> str | None:
    """Text that any file and database takes: half characters, as file names may hold them, replaced."""
    return text.encode("utf-8", "replace").decode() if text else None

"""The trials of a world as records of the journal: the grids of four benchmarks, with axes as the engine fills them."""

import hashlib
import itertools
import json
import math
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from db.columns import AXES, GROUP_AXES, IMPLIED
from db.record import Record
from mirror.evaluation.worlds import Machine, Pass, World

_ONE = ("dense", "fbgemm_tbe", "inductor", "jax")  # lookups that do not compress
_LOOKUP_SIZES = {"hashed": (0.1, 0.05)}
_TRAIN_SIZES = {
    "dense": (1.0,), "hashed": (0.5, 0.1, 0.05), "quotient_remainder": (0.1, 0.05), "small_dim": (0.5, 0.1, 0.05),
    "fiited": (0.1, 0.05), "adaembed": (0.1, 0.05), "static_frequency": (0.1,),
}  # fmt: skip
_PRUNED = ("fiited", "adaembed")
_WEIGHT = {"quotient_remainder": 1.02, "small_dim": 1.1, "static_frequency": 1.25, "fiited": 1.15, "adaembed": 1.05}
_STEPS = (100, 200, 300, 400, 500)


def records(world: World) -> list[Record]:
    """Every trial of a world, failed and superseded ones too; the same on every call."""
    book = Book(world)
    for values in _trainings(world):
        book.add(values, world.trained, world.machines[0], "memory_vs_auc", "98c41bd")
    for turn, machine in itertools.product(world.passes, world.machines):
        for values in _lookups(world, turn, machine):
            book.add(values, turn.start, machine, "rivals" if values["method"] in _ONE[1:] else "lookup", turn.code)
    if world.stepped:
        for values in _steps(world):
            book.add(values, world.stepped, world.machines[0], "fiited_speed", "98c41bd")
    if world.grouped:
        for values in _grouped(world):
            book.add(values, world.grouped, world.machines[0], "parallel_op", "98c41bd")
    return book.records


def chance(*of: object) -> float:
    """A number from -1 to 1 that belongs to what is given."""
    digest = hashlib.sha256(repr(of).encode()).digest()
    return int.from_bytes(digest[:6], "big") / 2**47 - 1


class Book:
    """The records so far; times count on from the start of each part."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.records: list[Record] = []
        self._last: dict[datetime, int] = {}

    def add(self, values: dict[str, Any], start: datetime, machine: Machine, sweep: str, code: str) -> None:
        """One trial: `values` are its axes and what was measured; those of the machine and the time are added."""
        axes = {k: v for k, v in values.items() if k in AXES}
        number = self._last[start] = self._last.get(start, -1) + 1
        machine_id = _digest("machine", self.world.name, machine.name)
        # Another commit is another kernel, and thus another trial.
        identity = _digest("identity", machine_id, code, axes)
        trial = {
            **values, "device": machine.device, "machine_id": machine_id, "code_version": code, "sweep": sweep,
            "started_at": start + timedelta(seconds=20 * number), "duration_s": 4.0 + 2 * chance("duration", identity),
        }  # fmt: skip
        trial |= {"trial_id": f"{identity}-1", "identity": identity, "status": "ok"}
        trial |= {"configuration": _configuration(axes), "comparison": _comparison(axes)}
        samples, curves = trial.pop("samples", ()), trial.pop("curves", ())
        fate = next((f for f in self.world.fates if _fits(f.where, {**trial, "machine": machine.name})), None)
        if fate:
            trial = {k: v for k, v in trial.items() if k in AXES or k in _PLAIN} | {"device": None}
            trial |= {"status": fate.status, "error": fate.error}
            samples = curves = ()
        self.records.append(Record(trial, samples, curves, _machine_row(machine, machine_id), _sweep_row(sweep, start)))


_PLAIN = (
    "trial_id", "identity", "configuration", "comparison", "is_baseline", "sweep", "machine_id", "started_at",
    "duration_s", "code_version",
)  # fmt: skip


def _fits(where: Mapping[str, Any], trial: Mapping[str, Any]) -> bool:
    return all(trial.get(k) == v for k, v in where.items())


def _digest(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:12]


def _told(axes: Mapping[str, Any]) -> dict[str, Any]:
    planned = {k: v for k, v in axes.items() if k not in ("op", "dtype", "benchmark")}
    return {k: v for k, v in planned.items() if IMPLIED.get(k) != (axes["benchmark"], v)}


def _configuration(axes: Mapping[str, Any]) -> str:
    return _digest(axes["benchmark"], _told(axes))


def _comparison(axes: Mapping[str, Any]) -> str:
    return _digest(axes["benchmark"], {k: v for k, v in _told(axes).items() if k in GROUP_AXES})


def _machine_row(machine: Machine, machine_id: str) -> dict[str, Any]:
    return {
        "machine_id": machine_id, "name": machine.name, "cpu": machine.cpu, "cores": machine.cores,
        "l2_kb": machine.l2_kb, "l3_kb": machine.l3_kb, "memory_gb": machine.memory_gb, "gpu": machine.gpu,
        "os": "Linux",
    }  # fmt: skip


def _sweep_row(sweep: str, start: datetime) -> dict[str, Any]:
    return {"sweep_id": _digest("sweep", sweep), "name": sweep, "started_at": start}


# -- training ----------------------------------------------------------------------------------------------------------


def _trainings(world: World) -> Iterator[dict[str, Any]]:
    for name, dim in itertools.product(world.data, (16, 64)):
        for method, sizes in _TRAIN_SIZES.items():
            for size, chunks in itertools.product(sizes, world.chunks if method == "fiited" else (None,)):
                for seed in range(world.train_seeds):
                    yield _training(world, name, dim, method, size, chunks, seed, "test")
    if world.validation:
        for method, seed in itertools.product(("dense", "hashed", "fiited"), range(world.train_seeds)):
            size = 1.0 if method == "dense" else 0.1
            chunks = world.chunks[0] if method == "fiited" else None
            yield _training(world, "frappe", 16, method, size, chunks, seed, "validation")


def _training(
    world: World, name: str, dim: int, method: str, size: float, chunks: int | None, seed: int, split: str
) -> dict[str, Any]:
    data = world.data[name]
    key = (world.name, name, dim, method, size, chunks)
    penalty = math.log10(1 / size) * (1 + (0.3 * chance(world.name, name, method) if world.luck else 0.0))
    auc = data.auc + (world.dim_gain if dim == 64 else 0.0) - world.cost.get(method, 0.0) * penalty
    auc -= 0.001 if chunks == 8 else 0.0
    auc -= 0.006 if split == "validation" else 0.0
    auc = round(auc + world.luck * chance(*key, seed, split), 6)
    weights = data.rows * dim * 4 / 1e6 * size
    step_us = 900.0 * (dim / 16) ** 0.4 * (1 + 0.8 * abs(chance(world.name, method))) * world.machines[0].pace
    step_us = round(step_us * (1 + 0.1 * chance(*key)) * (1 + 0.01 * chance(*key, seed)), 2)
    planted = name.startswith("planted") and method in _PRUNED
    kept = 0.5 + 0.4 * chance(*key) if planted else None
    return {
        "benchmark": "training", "op": "click_model", "method": method, "is_baseline": method == "dense",
        "dtype": "float32", "dataset": name, "split": split, "embedding_dim": dim, "compression": size,
        "num_chunks": chunks, "batch_size": 1024, "threads": 2, "seed": seed, "num_rows": data.rows,
        "num_tables": data.tables, **pruning(method), "auc": auc, "logloss": round(1.05 - auc, 6),
        "regret": round(data.auc + 0.02 - auc, 6) if name.startswith("planted") else None,
        "kept_share": round(kept + 0.01 * chance(*key, seed, "kept"), 4) if kept is not None else None,
        "restoration_lag_steps": int(200 + 150 * chance(*key, seed, "lag"))
        if planted and name == "planted_drift" else None,
        "memory_mb": round(weights * _WEIGHT.get(method, 1.0), 6),
        "metadata_mb": round(weights * 0.1, 6) if method in _PRUNED else None,
        "optimizer_mb": round(weights, 6), "peak_rss_mb": round(310 + 2.2 * weights + 3 * chance(*key, seed, "rss"), 3),
        "latency_us": step_us, "samples_per_s": 1024 / step_us * 1e6, "sample_count": 469,
        "noise": round(0.03 + 0.02 * chance(*key, seed, "noise"), 4), "stop_reason": "fixed_count",
        "curves": training_curves(method, auc, size, key),
    }  # fmt: skip


def pruning(method: str) -> dict[str, Any]:
    """The axes that only methods that prune have."""
    if method not in _PRUNED:
        return {}
    axes = {"prune_interval": 30, "decay": 0.9, "prune_scope": "global", "layout": "compact"}
    return {**axes, "utility_score": "gradient"} if method == "fiited" else axes


def training_curves(
    method: str, auc: float, size: float, key: tuple[object, ...]
) -> tuple[tuple[str, int, float], ...]:
    """The points of one training: loss, AUC and, of methods that prune, what lives and what changes."""
    left = [math.exp(-step / 180) for step in _STEPS]
    points = [("loss", s, round(1.05 - auc + 0.3 * x, 6)) for s, x in zip(_STEPS, left, strict=True)]
    points += [("auc", 250, round(auc - 0.02, 6)), ("auc", 500, auc)]
    if method in _PRUNED:
        live = [size + (1 - size) * x for x in left]
        points += [("live_dimensions", s, round(16 * x, 4)) for s, x in zip(_STEPS, live, strict=True)]
        points += [
            ("turnover", s, round(0.2 * x * (1 + 0.2 * chance(*key)), 5)) for s, x in zip(_STEPS, left, strict=True)
        ]
    return tuple(points)


# -- lookups -----------------------------------------------------------------------------------------------------------


def _lookups(world: World, turn: Pass, machine: Machine) -> Iterator[dict[str, Any]]:
    """The grid, and on the first machine, when everything is measured, one axis varied at a time."""
    dims = turn.dims or (16, 64)
    for method, dim, batch, seed in itertools.product(world.paces, dims, (64, 512, 2048), range(world.lookup_seeds)):
        if (turn.methods and method not in turn.methods) or (method == "jax" and batch != 512):
            continue
        for size, direction in itertools.product(
            (1.0,) if method in _ONE else _LOOKUP_SIZES.get(method, (0.1,)), ("forward", "forward_backward")
        ):
            yield _lookup(world, turn, machine, method, dim, batch, size, direction, seed)
    if turn.methods or machine is not world.machines[0]:
        return
    for method, seed in itertools.product(("dense", "hashed"), range(world.lookup_seeds)):
        size = 1.0 if method == "dense" else 0.1
        for rows in (10_000, 1_000_000, 10_000_000):
            yield _lookup(world, turn, machine, method, 16, 512, size, "forward", seed, num_rows=rows)
        for pooling in ("mean", "max"):
            yield _lookup(world, turn, machine, method, 16, 512, size, "forward", seed, pooling_mode=pooling)
        for threads in (2, 4, 8):
            yield _lookup(world, turn, machine, method, 64, 2048, size, "forward", seed, threads=threads)
        for zipf in (0.0, 1.5):
            yield _lookup(world, turn, machine, method, 64, 2048, size, "forward", seed, zipf_s=zipf)
        if world.cold:
            for batch in (64, 512, 2048):
                yield _lookup(world, turn, machine, method, 64, batch, size, "forward", seed, cache="cold")


def _lookup(
    world: World, turn: Pass, machine: Machine, method: str, dim: int, batch: int, size: float, direction: str,
    seed: int, **other: Any,
) -> dict[str, Any]:  # fmt: skip
    axes = {
        "num_rows": 100_000, "pooling_mode": "sum", "bag_size": 10, "zipf_s": 1.05, "cache": "warm",
        "output": "fresh", "threads": 1, **other,
    }  # fmt: skip
    key = (world.name, turn.code, machine.name, dim, batch, size, direction, *sorted(axes.items()))
    us = _lookup_us(world, turn, machine, method, dim, batch, direction, axes)
    us = round(us * (1 + 0.02 * chance(*key, method)) * (1 + 0.01 * chance(*key, method, seed)), 3)
    weights = axes["num_rows"] * dim * 4 / 1e6 * size
    moved = batch * 10 * (8 + 4 * dim) + batch * 4 * dim
    return {
        "benchmark": "lookup", "op": "embedding_bag", "method": method, "is_baseline": method == "dense",
        "dtype": "float32", "num_tables": 1, "embedding_dim": dim, "compression": size, "batch_size": batch,
        "direction": direction, "seed": seed, **axes,
        "memory_mb": None if method in world.no_memory else round(weights * _WEIGHT.get(method, 1.0), 6),
        "peak_rss_mb": round(260 + 3 * weights + batch * dim / 4000 + 2 * chance(*key, method, seed, "rss"), 3),
        "bandwidth_gb_s": round(moved / us / 1e3, 5), "max_abs_error": abs(round(1e-6 * chance(*key, method), 9)),
        **timing(us, batch, (*key, method, seed), seldom=turn is world.passes[0]),
        **against(us, _baseline_us(world, turn, machine, dim, batch, direction, axes, key, seed), method == "dense",
                   (*key, method, seed)),
    }  # fmt: skip


def _lookup_us(
    world: World, turn: Pass, machine: Machine, method: str, dim: int, batch: int, direction: str, axes: dict[str, Any]
) -> float:
    pace = world.paces[method]
    us = pace.us * (batch / 64) ** pace.batch * (dim / 16) ** pace.dim * machine.pace * turn.drift.get(method, 1.0)
    us *= pace.backward if direction == "forward_backward" else 1.0
    us *= (axes["num_rows"] / 100_000) ** (0.15 if method == "dense" else 0.05)
    us *= {"sum": 1.0, "mean": 1.1, "max": 1.7}[axes["pooling_mode"]]
    us *= {"warm": 1.0, "cold": 3.1 if method == "dense" else 1.6}[axes["cache"]]
    us *= 1.3 - 0.3 * axes["zipf_s"] / 1.05
    return us / axes["threads"] ** (0.6 if method == "dense" else 0.85)


def _baseline_us(
    world: World, turn: Pass, machine: Machine, dim: int, batch: int, direction: str, axes: dict[str, Any],
    key: tuple[object, ...], seed: int,
) -> float:  # fmt: skip
    """The time of dense in the turns of a trial: near its own median, and not the same."""
    us = _lookup_us(world, turn, machine, "dense", dim, batch, direction, axes)
    return round(us * (1 + 0.02 * chance(*key, "dense turns", seed)), 3)


def timing(
    us: float, batch: int, key: tuple[object, ...], seldom: bool = False, wild: float = 0.0, digits: int = 4
) -> dict[str, Any]:
    """What the samples say; `seldom`: from before there was the 95th percentile; `wild` times as noisy as others."""
    tail = (1.25 + 0.75 * abs(chance(*key, "tail"))) * (1 + wild)
    noise = round((0.025 + 0.022 * chance(*key, "noise")) * (1 + wild), digits)
    samples = tuple(round(us * x, 3) for x in (0.97, 0.99, 1.0, 1.03, tail))
    return {
        "latency_us": us, "latency_p10_us": samples[0], "latency_p90_us": samples[3],
        "latency_p95_us": None if seldom else round(us * (1 + tail) / 2, 3), "latency_p99_us": samples[4],
        "latency_ci_low_us": round(us * 0.985, 3), "latency_ci_high_us": round(us * 1.015, 3),
        "samples_per_s": batch / us * 1e6, "noise": noise, "sample_count": 40 + int(30 * (1 + chance(*key, "count"))),
        "stop_reason": "noise_target" if noise < 0.02 else "noise_stable" if noise < 0.035 else "time_cap",
        "samples": samples,
    }  # fmt: skip


def against(us: float, baseline_us: float, is_baseline: bool, key: tuple[object, ...]) -> dict[str, Any]:
    """How it stands to its baseline, by the rules of docs/measuring.md."""
    group = {"group_id": _digest("group", *key[:-2])}
    if is_baseline:
        return group
    speedup, half = baseline_us / us, 0.01 + 0.08 * abs(chance(*key, "interval")) ** 2
    low, high = speedup * (1 - half), speedup * (1 + half)
    verdict = "unclear"
    if low > 0.95 and high < 1.05:
        verdict = "same"
    elif speedup > 1.05 and low / 1.015 > 1:
        verdict = "faster"
    elif speedup < 0.95 and high * 1.015 < 1:
        verdict = "slower"
    interval = {"speedup_ci_low": round(low, 5), "speedup_ci_high": round(high, 5), "verdict": verdict}
    return {**group, "baseline_latency_us": baseline_us, **interval}


# -- steps and grouped lookups -----------------------------------------------------------------------------------------


def _steps(world: World) -> Iterator[dict[str, Any]]:
    forms = [("dense", 1.0, None), *((m, 0.1, x) for m in _PRUNED for x in ("compact", "flat"))]
    for (method, size, layout), rows, batch in itertools.product(forms, (100_000, 1_000_000), (64, 2048)):
        for direction in ("forward", "forward_backward_update", *(("prune",) if layout else ())):
            yield _step(world, method, size, layout, rows, batch, direction, "adagrad")
        if layout in (None, "compact") and method != "adaembed":
            yield _step(world, method, size, layout, rows, batch, "forward_backward_update", "sgd")
        if layout == "compact" and method == "fiited":  # torch has none, so there is no baseline
            yield _step(world, method, size, layout, rows, batch, "forward_backward_update", "rowwise_adagrad")


def _step(
    world: World, method: str, size: float, layout: str | None, rows: int, batch: int, direction: str, optimizer: str
) -> dict[str, Any]:
    key = ("step", world.name, method, layout, rows, batch, direction, optimizer)
    us = {"forward": 2.1, "forward_backward_update": 14.0, "prune": 900.0}[direction]
    us *= batch**0.75 * (rows / 100_000) ** 0.2 * {None: 1.0, "compact": 1.3, "flat": 0.9}[layout]
    us *= {"adagrad": 1.0, "sgd": 0.6, "rowwise_adagrad": 0.9}[optimizer] * world.machines[0].pace
    us *= 1 + 0.5 * chance(world.name, method, layout, "step")  # who wins differs
    us = round(us * (1 + 0.1 * chance(*key)), 3)
    weights = rows * 64 * 4 / 1e6 * size
    slots = None if optimizer == "sgd" else weights / (64 if optimizer == "rowwise_adagrad" else 1)
    return {
        "benchmark": "embedding_step", "op": "embedding_bag", "method": method, "is_baseline": method == "dense",
        "dtype": "float32", "num_tables": 1, "num_rows": rows, "embedding_dim": 64, "compression": size,
        "num_chunks": 4 if method == "fiited" else None, "layout": layout, "optimizer": optimizer, "bag_size": 1,
        "batch_size": batch, "direction": direction, "zipf_s": 1.05, "cache": "warm", "threads": 1, "seed": 0,
        "memory_mb": round(weights * (1.6 if layout == "flat" else 1.15 if layout else 1.0), 6),
        "metadata_mb": round(weights * (0.6 if layout == "flat" else 0.15), 6) if layout else None,
        "optimizer_mb": None if slots is None else round(slots, 6),
        "prune_share": round(0.02 + 0.015 * chance(*key, "share"), 5) if direction == "prune" else None,
        **timing(us, batch, key),
    }  # fmt: skip


_GROUPED = {
    "eager": 1.0, "parallel_op": 0.0, "parallel_op_inductor": 0.85, "fbgemm_tbe_grouped": 0.6, "zentorch_table": 0.9,
}  # fmt: skip


def _grouped(world: World) -> Iterator[dict[str, Any]]:
    for tables, batch, threads, method in itertools.product((8, 26, 100), (64, 1024), (1, 2), _GROUPED):
        yield _group(world, method, tables, batch, threads)
    for batch, threads, method in itertools.product((64, 1024), (1, 2), ("eager", "parallel_op")):
        for other in ({"structure": "concat_out"}, {"model": "dlrm"}, {"bag_sizes": "mlperf"}):
            yield _group(world, method, 26, batch, threads, **other)


def _group(world: World, method: str, tables: int, batch: int, threads: int, **other: str) -> dict[str, Any]:
    axes = {"structure": "plain", "model": "op", "bag_sizes": "uniform", **other}
    key = (world.name, tables, batch, threads, *sorted(axes.items()))
    eager = 4.0 * tables * (batch / 64) ** 0.7 / threads**0.3 * world.machines[0].pace
    eager *= 1 + 1.5 * sum(axes[k] not in ("plain", "op", "uniform") for k in axes)
    us = eager / world.parallel_gain[threads - 1] if method == "parallel_op" else eager * _GROUPED[method]
    us = round(us * (1 + 0.08 * chance(*key, method)), 3)
    return {
        "benchmark": "grouped_lookup", "op": "grouped_embedding_bag", "method": method,
        "is_baseline": method == "eager", "dtype": "float32", "num_tables": tables, "num_rows": 100_000,
        "embedding_dim": 16, "compression": 1.0, "pooling_mode": "sum", "bag_size": 1, "batch_size": batch,
        "direction": "forward", "zipf_s": 1.05, "threads": threads, "seed": 0, **axes,
        "memory_mb": round(tables * 6.4, 6), **timing(us, batch, (*key, method)),
        **against(us, round(eager * (1 + 0.02 * chance(*key, "turns")), 3), method == "eager", (*key, method, 0)),
    }  # fmt: skip

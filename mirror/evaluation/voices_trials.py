"""The trials of a world of the paraphrases: one value for every axis that their words do not name."""

import itertools
import math
from collections.abc import Iterator
from typing import Any

from db.record import Record
from mirror.evaluation.trials import Book, against, chance, pruning, timing, training_curves
from mirror.evaluation.voices_worlds import Training, VoicesWorld
from mirror.evaluation.worlds import Machine, Pass

_KEPT = (0.5, 0.25, 0.1, 0.05, 0.02)
_TRAINED = {
    "dense": (1.0,), "hashed": _KEPT, "hashed_reference": (0.1,), "quotient_remainder": _KEPT, "small_dim": _KEPT,
    "fiited": _KEPT, "adaembed": _KEPT, "frequency_pruned": _KEPT,
}  # fmt: skip
_LOOKED_UP = {
    "dense": (1.0,), "hashed": _KEPT, "hashed_reference": (0.1,), "quotient_remainder": (0.25, 0.1),
    "small_dim": (0.5, 0.25),
}  # fmt: skip
# The laptop looks up less, and trains one data set: lists of all configurations stay below what an answer may hold.
_OF_LAPTOP = {
    "dense": (1.0,), "hashed": (0.1, 0.05), "hashed_reference": (0.1,), "quotient_remainder": (0.1,),
    "small_dim": (0.25,),
}  # fmt: skip
_LAPTOP_TRAINS = {"dataset": "ml-1m", "methods": ("dense", "hashed", "fiited", "adaembed")}
_PRUNED = ("fiited", "adaembed", "frequency_pruned")
_DIMS, _BATCHES, _THREADS = (16, 32, 64), (1, 64, 512, 2048), (1, 2)


def voices_records(world: VoicesWorld) -> list[Record]:
    """Every trial of a world, failed and superseded ones too; the same on every call."""
    book = Book(world)
    for training, machine in itertools.product(world.trainings, world.machines):
        for values in _trainings(world, training, machine):
            if all(values[axis] == value for axis, value in training.where.items()):
                book.add(values, training.start, machine, "memory_vs_auc", training.code)
    for turn, machine in itertools.product(world.passes, world.machines):
        for values in _lookups(world, turn, machine):
            book.add(values, turn.start, machine, "lookup", turn.code)
    if world.stepped:
        for values in _steps(world):
            book.add(values, world.stepped, world.machines[0], "fiited_speed", "98c41bd")
    if world.grouped:
        for values in _grouped(world):
            book.add(values, world.grouped, world.machines[0], "parallel_op", "98c41bd")
    return book.records


# -- training ----------------------------------------------------------------------------------------------------------


def _trainings(world: VoicesWorld, turn: Training, machine: Machine) -> Iterator[dict[str, Any]]:
    whole = machine is world.machines[0]
    for name, dim, (method, sizes) in itertools.product(world.data, _DIMS, _TRAINED.items()):
        if not whole and (name != _LAPTOP_TRAINS["dataset"] or method not in _LAPTOP_TRAINS["methods"]):
            continue
        for size, seed in itertools.product(sizes, range(world.train_seeds)):
            yield _training(world, turn, machine, name, dim, method, size, seed, "test")
            if world.validation and whole and name == "frappe" and method in ("dense", "fiited") and dim == 16:
                # Without curves: those have no word for the split.
                validated = _training(world, turn, machine, name, dim, method, size, seed, "validation")
                yield {**validated, "curves": ()}


def _training(
    world: VoicesWorld, turn: Training, machine: Machine, name: str, dim: int, method: str, size: float, seed: int,
    split: str,
) -> dict[str, Any]:  # fmt: skip
    data, key = world.data[name], (world.name, machine.name, name, dim, method, size)
    penalty = math.log10(1 / size) * (1 + 0.3 * chance(world.name, name, method) + 0.2 * chance(*key))
    auc = data.auc + world.dim_gain * math.log2(dim / 16) / 2 - world.cost.get(method, 0.0) * penalty
    auc += world.gain.get((method, name), 0.0) - (0.006 if split == "validation" else 0.0)
    auc = round(auc + world.luck * chance(*key, seed, split, turn.code), 6)
    weights = data.rows * dim * 4 / 1e6 * size
    us = 900.0 * (dim / 16) ** 0.4 * world.train_pace.get(method, 1.0) * machine.pace
    us = round(us * (1 + 0.1 * chance(*key, "pace")) * (1 + 0.01 * chance(*key, seed)), 2)
    planted = name == "planted" and method in _PRUNED
    return {
        "benchmark": "training", "op": "click_model", "method": method, "is_baseline": method == "dense",
        "dtype": "float32", "dataset": name, "split": split, "embedding_dim": dim, "compression": size,
        "num_chunks": 4 if method == "fiited" else None, "batch_size": 512, "threads": 2, "seed": seed,
        "num_rows": data.rows, "num_tables": data.tables, **pruning(method), "auc": auc,
        "logloss": round(1.05 - auc + 0.006 * chance(*key, "logloss") + 0.0003 * chance(*key, seed, "logloss"), 6),
        "regret": round(data.auc + 0.02 - auc, 6) if name == "planted" else None,
        "kept_share": round(0.5 + 0.4 * chance(*key, "kept") + 0.01 * chance(*key, seed, "kept"), 5)
        if planted else None,
        "restoration_lag_steps": int(200 + 150 * chance(*key, seed, "lag")) if planted else None,
        "memory_mb": round(weights * world.weight.get(method, 1.0), 6),
        "metadata_mb": round(weights * (0.08 + 0.4 / dim) * (1 + 0.2 * chance(world.name, method)), 6)
        if method in _PRUNED else None,
        "optimizer_mb": round(weights * (1.1 if method == "fiited" else 1.0), 6),
        "peak_rss_mb": round(310 + 2.2 * weights + 3 * chance(*key, seed, "rss"), 3),
        "latency_us": us, "samples_per_s": 512 / us * 1e6, "sample_count": 469,
        "noise": round(0.03 + 0.02 * chance(*key, seed, "noise"), 7), "stop_reason": "fixed_count",
        "curves": tuple(_point(dim, *point, (*key, seed)) for point in training_curves(method, auc, size, key)),
    }  # fmt: skip


def _point(dim: int, metric: str, step: int, value: float, key: tuple[object, ...]) -> tuple[str, int, float]:
    """A point of a curve; live dimensions are of `dim` ones, and differ between worlds and seeds."""
    if metric == "live_dimensions":
        value = round(value * dim / 16 * (1 - 0.1 * abs(chance(*key, "live"))), 4)
    return metric, step, value


# -- lookups -----------------------------------------------------------------------------------------------------------


def _lookups(world: VoicesWorld, turn: Pass, machine: Machine) -> Iterator[dict[str, Any]]:
    """The grid; of a pass with methods the forward lookups of these at one size."""
    whole = machine is world.machines[0]
    dims = [d for d in turn.dims or _DIMS if whole or d != 32]
    for method, dim, batch, threads, seed in itertools.product(
        world.paces, dims, _BATCHES, _THREADS, range(world.lookup_seeds)
    ):
        if turn.methods:
            if method in turn.methods:
                size = 1.0 if method == "dense" else 0.1
                yield _lookup(world, turn, machine, method, dim, batch, threads, size, "forward", seed)
            continue
        for size in (_LOOKED_UP if whole else _OF_LAPTOP)[method]:
            for direction in ("forward", "forward_backward"):
                yield _lookup(world, turn, machine, method, dim, batch, threads, size, direction, seed)
            for other in _further(world, method, dim, batch, threads):
                yield _lookup(world, turn, machine, method, dim, batch, threads, size, "forward", seed, **other)


def _further(world: VoicesWorld, method: str, dim: int, batch: int, threads: int) -> Iterator[dict[str, Any]]:
    """Other values of one axis, with which the same lookup is measured again."""
    if world.cold and method in ("dense", "hashed") and dim == 64 and threads == 1:
        yield {"cache": "cold"}
    axes = {"method": method, "embedding_dim": dim, "batch_size": batch, "threads": threads}
    for varied in world.varied:
        if all(axes[axis] == value for axis, value in varied.where.items()):
            yield from ({varied.axis: value} for value in varied.values)


def _lookup(
    world: VoicesWorld, turn: Pass, machine: Machine, method: str, dim: int, batch: int, threads: int, size: float,
    direction: str, seed: int, **other: Any,
) -> dict[str, Any]:  # fmt: skip
    axes = {
        "num_rows": 100_000, "pooling_mode": "sum", "bag_size": 10, "zipf_s": 1.05, "cache": "warm",
        "output": "fresh", "threads": threads, "block_size": 16 if method.startswith("hashed") else None, **other,
    }  # fmt: skip
    work = tuple((axis, value) for axis, value in sorted(axes.items()) if axis != "block_size")
    key = (world.name, turn.code, machine.name, dim, batch, direction, *work)
    own = (*key, axes["block_size"], size, method)
    us = _lookup_us(world, turn, machine, method, dim, batch, size, direction, axes)
    us = round(us * (1 + 0.06 * chance(*own)) * (1 + 0.01 * chance(*own, seed)), 4)
    dense_us = _lookup_us(world, turn, machine, "dense", dim, batch, 1.0, direction, axes)
    dense_us = round(dense_us * (1 + 0.06 * chance(*key, None, 1.0, "dense")) * (1 + 0.02 * chance(*own, "turns")), 4)
    weights = axes["num_rows"] * dim * 4 / 1e6 * size
    moved = batch * axes["bag_size"] * (8 + 4 * dim) + batch * 4 * dim
    wild = 1.2 if chance(*own, seed, "wild") > 1 - 2 * world.wild else 0.0
    error = 2e-5 if method == "hashed_reference" else 4e-6
    return {
        "benchmark": "lookup", "op": "embedding_bag", "method": method, "is_baseline": method == "dense",
        "dtype": "float32", "num_tables": 1, "embedding_dim": dim, "compression": size, "batch_size": batch,
        "direction": direction, "seed": seed, **axes, "memory_mb": round(weights * world.weight.get(method, 1.0), 6),
        "peak_rss_mb": round(260 + 3 * weights + batch * dim / 4000 + 2 * chance(*own, seed, "rss"), 3),
        "bandwidth_gb_s": round(moved / us / 1e3, 6), "max_abs_error": abs(round(error * chance(*own, "error"), 12)),
        **timing(us, batch, (*own, seed), wild=wild, digits=8),
        **against(us, dense_us, method == "dense", (*key, method, seed)),
        **_interval(us, (*own, seed)),
    }  # fmt: skip


def _interval(us: float, key: tuple[object, ...]) -> dict[str, float]:
    """The interval of the median: of another width in every trial."""
    half = 0.005 + 0.02 * abs(chance(*key, "median"))
    return {"latency_ci_low_us": round(us * (1 - half), 5), "latency_ci_high_us": round(us * (1 + half), 5)}


def _lookup_us(
    world: VoicesWorld, turn: Pass, machine: Machine, method: str, dim: int, batch: int, size: float, direction: str,
    axes: dict[str, Any],
) -> float:  # fmt: skip
    pace = world.paces[method]
    us = pace.us * ((batch + 6) / 70) ** pace.batch * (dim / 16) ** pace.dim * machine.pace
    us *= turn.drift.get(method, 1.0) * (pace.backward if direction == "forward_backward" else 1.0)
    us *= 1 + 0.15 * math.log10(size)  # a smaller table fits a cache
    us *= {"sum": 1.0, "mean": 1.1, "max": 1.7}[axes["pooling_mode"]] * (axes["bag_size"] / 10) ** 0.8
    us *= {"warm": 1.0, "cold": 3.1 if method == "dense" else 1.6}[axes["cache"]]
    us *= {"fresh": 1.0, "preallocated": 0.7}[axes["output"]] * (1.3 - 0.3 * axes["zipf_s"] / 1.05)
    us *= 1.0 if axes["block_size"] is None else (axes["block_size"] / 16) ** -0.2
    # A second thread helps large batches alone.
    return us / axes["threads"] ** {1: -0.3, 64: 0.05, 512: 0.5, 2048: 0.75}[batch]


# -- steps and grouped lookups -----------------------------------------------------------------------------------------


def _steps(world: VoicesWorld) -> Iterator[dict[str, Any]]:
    forms = (("dense", 1.0), *itertools.product(("fiited", "adaembed"), (0.1, 0.05)))
    for (method, size), dim, batch, threads in itertools.product(forms, (32, 64), (1, 64, 512), _THREADS):
        for direction in ("forward", "forward_backward_update", *(("prune",) if size < 1 else ())):
            yield _step(world, method, size, dim, batch, threads, direction, "adagrad")
        yield _step(world, method, size, dim, batch, threads, "forward_backward_update", "sgd")


def _step(
    world: VoicesWorld, method: str, size: float, dim: int, batch: int, threads: int, direction: str, optimizer: str
) -> dict[str, Any]:
    key = ("step", world.name, method, size, dim, batch, threads, direction, optimizer)
    us = {"forward": 2.1, "forward_backward_update": 14.0, "prune": 900.0}[direction]
    us *= (batch + 3) ** 0.75 * (dim / 32) ** 0.6 * {"adagrad": 1.0, "sgd": 0.6}[optimizer] / threads**0.4
    us *= (1 + 0.5 * chance(world.name, method, "step")) * world.machines[0].pace
    us = round(us * (1 + 0.1 * chance(*key)), 3)
    weights, pruned = 100_000 * dim * 4 / 1e6 * size, method != "dense"
    return {
        "benchmark": "embedding_step", "op": "embedding_bag", "method": method, "is_baseline": not pruned,
        "dtype": "float32", "num_tables": 1, "num_rows": 100_000, "embedding_dim": dim, "compression": size,
        "num_chunks": 4 if method == "fiited" else None, "layout": "compact" if pruned else None,
        "optimizer": optimizer, "bag_size": 1, "batch_size": batch, "direction": direction, "zipf_s": 1.05,
        "cache": "warm", "threads": threads, "seed": 0, "memory_mb": round(weights * world.weight.get(method, 1.0), 6),
        "metadata_mb": round(weights * 0.15, 6) if pruned else None,
        "optimizer_mb": None if optimizer == "sgd" else round(weights, 6),
        "prune_share": round(0.02 + 0.015 * chance(*key, "share"), 5) if direction == "prune" else None,
        **timing(us, batch, key, digits=8),
    }  # fmt: skip


_GROUPED = {"eager": 1.0, "parallel_op": 0.0, "fbgemm_tbe_grouped": 0.6}


def _grouped(world: VoicesWorld) -> Iterator[dict[str, Any]]:
    for tables, batch, threads, method in itertools.product((8, 26, 100), (64, 512, 2048), _THREADS, _GROUPED):
        yield _group(world, method, tables, batch, threads)


def _group(world: VoicesWorld, method: str, tables: int, batch: int, threads: int) -> dict[str, Any]:
    key = (world.name, tables, batch, threads, "grouped")
    eager = 4.0 * tables * (batch / 64) ** 0.7 / threads**0.3 * world.machines[0].pace
    us = eager / world.parallel_gain[threads - 1] if method == "parallel_op" else eager * _GROUPED[method]
    us = round(us * (1 + 0.2 * chance(*key, method)), 3)
    return {
        "benchmark": "grouped_lookup", "op": "grouped_embedding_bag", "method": method,
        "is_baseline": method == "eager", "dtype": "float32", "num_tables": tables, "num_rows": 100_000,
        "embedding_dim": 16, "compression": 1.0, "pooling_mode": "sum", "bag_size": 1, "batch_size": batch,
        "direction": "forward", "zipf_s": 1.05, "threads": threads, "seed": 0, "structure": "plain", "model": "op",
        "bag_sizes": "uniform", "memory_mb": round(tables * 6.4, 6),
        **timing(us, batch, (*key, method), digits=8),
        **against(us, round(eager * (1 + 0.02 * chance(*key, "turns")), 3), method == "eager", (*key, method, 0)),
    }  # fmt: skip

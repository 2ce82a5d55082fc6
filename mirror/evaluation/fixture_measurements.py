"""What trials of a fixture measure: the grids of four benchmarks, with axes as the engine fills them.

Chance is a hash of what a number hangs on, so every call makes the same numbers.
"""

import hashlib
import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mirror.evaluation.fixtures import Fixture, LookupGrid, Machine, Pass, StepForm, Varied, fits

Values = dict[str, Any]
Key = tuple[object, ...]

_PRUNES = ("fiited", "adaembed")  # methods that prune while they train
_CURVE_STEPS = (100, 200, 300, 400, 500)


def chance(*of: object) -> float:
    """A number from -1 to 1 that belongs to what is given."""
    hashed = hashlib.sha256(repr(of).encode()).digest()
    return int.from_bytes(hashed[:6], "big") / 2**47 - 1


def digest(*parts: object) -> str:
    """A short name for what is given."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:12]


def key(names: Sequence[str], of: Mapping[str, Any]) -> Key:
    """What chance hangs on: values by their names, name and value for `=name`, and any other word as it stands."""
    return tuple((n[1:], of[n[1:]]) if n.startswith("=") else of.get(n, n) for n in names)


# -- training ----------------------------------------------------------------------------------------------------------


def trainings(fixture: Fixture, code: str, machine: Machine) -> Iterator[Values]:
    """All trainings that a machine may do, each with its split; not all are done at one time."""
    grid = fixture.grid.training
    for name, dim, (method, sizes) in itertools.product(fixture.data, grid.dims, grid.sizes.items()):
        chunks = fixture.chunks if method == "fiited" else (None,)
        for size, chunk, seed, split in itertools.product(
            sizes, chunks, range(fixture.train_seeds), ("test", "validation")
        ):
            axes = {
                "benchmark": "training", "op": "click_model", "method": method, "is_baseline": method == "dense",
                "dtype": "float32", "dataset": name, "split": split, "embedding_dim": dim, "compression": size,
                "num_chunks": chunk, "batch_size": grid.batch_size, "threads": 2, "seed": seed, **_pruning(method),
            }  # fmt: skip
            if machine is not fixture.machines[0] and (grid.elsewhere is None or not fits(grid.elsewhere, axes)):
                continue
            if split == "test" or (machine is fixture.machines[0] and fits(grid.validated, axes)):
                yield axes | _trained(fixture, code, machine, axes)


def _trained(fixture: Fixture, code: str, machine: Machine, axes: Values) -> Values:
    grid = fixture.grid.training
    hangs_on, digits, scatter = grid.noise_keys, grid.digits, grid.scatter
    name, dim, method, size, seed = (axes[k] for k in ("dataset", "embedding_dim", "method", "compression", "seed"))
    data, context = fixture.data[name], {**axes, "fixture": fixture.name, "machine": machine.name, "code": code}
    of = key(hangs_on["trial"], context)
    penalty = 1 + (0.3 * chance(fixture.name, name, method) if fixture.seed_noise else 0.0)
    penalty = math.log10(1 / size) * (penalty + scatter.get("auc", 0.0) * chance(*of))
    auc = data.auc + fixture.dim_gain * math.log2(dim / 16) / 2 - fixture.cost.get(method, 0.0) * penalty
    auc += fixture.gain.get(method, {}).get(name, 0.0) - (0.001 if axes["num_chunks"] == 8 else 0.0)
    auc -= 0.006 if axes["split"] == "validation" else 0.0
    auc = round(auc + fixture.seed_noise * chance(*of, *key(hangs_on["auc"], context)), 6)
    weights = data.rows * dim * 4 / 1e6 * size
    pace = fixture.train_pace.get(method) or 1 + 0.8 * abs(chance(fixture.name, method))
    us = 900.0 * (dim / 16) ** 0.4 * pace * machine.pace
    us = round(us * (1 + 0.1 * chance(*of, *hangs_on["pace"])) * (1 + 0.01 * chance(*of, seed)), 2)
    planted = name.startswith("planted") and method in grid.pruned
    kept = 0.5 + 0.4 * chance(*of, *hangs_on["kept"]) + 0.01 * chance(*of, seed, "kept")
    logloss = 1.05 - auc + scatter.get("logloss", 0.0) * chance(*of, "logloss")
    base, for_each_row = grid.metadata
    metadata = (base + for_each_row / dim) * (1 + scatter.get("metadata", 0.0) * chance(fixture.name, method))
    curves = _curves(method, auc, size, dim, of, (*of, seed), scatter.get("live", 0.0))
    return {
        "num_rows": data.rows, "num_tables": data.tables, "auc": auc,
        "logloss": round(logloss + scatter.get("logloss_of_seeds", 0.0) * chance(*of, seed, "logloss"), 6),
        "regret": round(data.auc + 0.02 - auc, 6) if name.startswith("planted") else None,
        "kept_share": round(kept, digits["kept_share"]) if planted else None,
        "restoration_lag_steps": int(200 + 150 * chance(*of, seed, "lag")) if planted and data.drifts else None,
        "memory_mb": round(weights * fixture.weight.get(method, 1.0), 6),
        "metadata_mb": round(weights * metadata, 6) if method in grid.pruned else None,
        "optimizer_mb": round(weights * grid.optimizer.get(method, 1.0), 6),
        "peak_rss_mb": round(310 + 2.2 * weights + 3 * chance(*of, seed, "rss"), 3),
        "latency_us": us, "samples_per_s": grid.batch_size / us * 1e6, "sample_count": 469,
        "noise": round(0.03 + 0.02 * chance(*of, seed, "noise"), digits["noise"]), "stop_reason": "fixed_count",
        "curves": curves if axes["split"] == "test" or grid.validated_curves else (),
    }  # fmt: skip


def _pruning(method: str) -> Values:
    """The axes that only methods that prune have."""
    if method not in _PRUNES:
        return {}
    axes = {"prune_interval": 30, "decay": 0.9, "prune_scope": "global", "layout": "compact"}
    return {**axes, "utility_score": "gradient"} if method == "fiited" else axes


def _curves(
    method: str, auc: float, size: float, dim: int, of: Key, seeded: Key, scatter: float
) -> tuple[tuple[str, int, float], ...]:
    """The points of one training: loss, AUC and, of methods that prune, what lives and what changes.

    Live dimensions are of `dim` ones, and differ between seeds, only where there is a scatter.
    """
    left = {step: math.exp(-step / 180) for step in _CURVE_STEPS}
    points = [("loss", step, round(1.05 - auc + 0.3 * x, 6)) for step, x in left.items()]
    points += [("auc", 250, round(auc - 0.02, 6)), ("auc", 500, auc)]
    if method in _PRUNES:
        for step, x in left.items():
            live = round(16 * (size + (1 - size) * x), 4)
            if scatter:
                live = round(live * dim / 16 * (1 - scatter * abs(chance(*seeded, "live"))), 4)
            points.append(("live_dimensions", step, live))
        points += [("turnover", step, round(0.2 * x * (1 + 0.2 * chance(*of)), 5)) for step, x in left.items()]
    return tuple(points)


# -- lookups -----------------------------------------------------------------------------------------------------------


def lookups(fixture: Fixture, turn: Pass, machine: Machine) -> Iterator[Values]:
    """The grid, and unless only some methods are measured also lookups with one axis varied at a time."""
    for axes in _lookups(fixture, turn, machine):
        if fits(turn.where, axes):
            yield axes | _looked_up(fixture, turn, machine, axes)


def _lookups(fixture: Fixture, turn: Pass, machine: Machine) -> Iterator[Values]:
    """The axes of all lookups that a machine may do at a time."""
    grid, first = fixture.grid.lookup, machine is fixture.machines[0]
    sizes_of = grid.sizes if first else {**grid.sizes, **grid.sizes_elsewhere}
    dims = [d for d in turn.dims or grid.dims if first or d in grid.dims_elsewhere]
    for method, dim, batch, threads, seed in itertools.product(
        turn.methods or fixture.paces, dims, grid.batches, grid.threads, range(fixture.lookup_seeds)
    ):
        if batch not in grid.batches_of.get(method, grid.batches):
            continue
        for size in sizes_of[method]:
            axes = _lookup_axes(grid, method, dim, batch, threads, size, seed)
            yield from (axes | {"direction": d} for d in ("forward", "forward_backward"))
            if not (turn.methods or grid.varied_apart):
                yield from _varied(fixture.varied, axes)
    if turn.methods or not first or not grid.varied_apart:
        return
    for method, seed, varied in itertools.product(fixture.paces, range(fixture.lookup_seeds), fixture.varied):
        for dim, batch in itertools.product(grid.dims, grid.batches):
            axes = _lookup_axes(grid, method, dim, batch, 1, sizes_of[method][0], seed)
            yield from _varied((varied,), axes)


def _varied(by: Sequence[Varied], axes: Values) -> Iterator[Values]:
    """The same lookup with other values of one axis, where that is wanted."""
    for varied in by:
        if fits(varied.where, axes):
            yield from (axes | {varied.axis: value} for value in varied.values)


def _lookup_axes(grid: LookupGrid, method: str, dim: int, batch: int, threads: int, size: float, seed: int) -> Values:
    blocks = {"block_size": grid.block_size if method.startswith("hashed") else None} if grid.block_size else {}
    return {
        "benchmark": "lookup", "op": "embedding_bag", "method": method, "is_baseline": method == "dense",
        "dtype": "float32", "num_tables": 1, "num_rows": 100_000, "embedding_dim": dim, "compression": size,
        "pooling_mode": "sum", "bag_size": 10, "batch_size": batch, "direction": "forward", "zipf_s": 1.05,
        "cache": "warm", "output": "fresh", "threads": threads, "seed": seed, **blocks,
    }  # fmt: skip


def _looked_up(fixture: Fixture, turn: Pass, machine: Machine, axes: Values) -> Values:
    grid, method, dim, batch = fixture.grid.lookup, axes["method"], axes["embedding_dim"], axes["batch_size"]
    hangs_on, digits, scatter, seed = grid.noise_keys, grid.digits, grid.scatter, axes["seed"]
    context = {**axes, "fixture": fixture.name, "machine": machine.name, "code": turn.code}
    work = key(hangs_on["work"], context)
    own = (*work, *key(hangs_on["own"], context))
    us = _lookup_us(fixture, turn, machine, axes) * (1 + scatter["method"] * chance(*own))
    us = round(us * (1 + 0.01 * chance(*own, seed)), digits["latency_us"])
    # The time of dense in the turns of this trial: near its own median, and not the same.
    dense = {"method": "dense", "compression": 1.0}
    dense_own = (*work, *key(hangs_on["own"], {**context, **dense, "block_size": None}))
    dense_us = _lookup_us(fixture, turn, machine, {**axes, **dense}) * (1 + scatter["dense"] * chance(*dense_own))
    dense_us = round(dense_us * (1 + 0.02 * chance(*work, *key(hangs_on["turns"], context))), digits["latency_us"])
    weights = axes["num_rows"] * dim * 4 / 1e6 * axes["compression"]
    moved = batch * axes["bag_size"] * (8 + 4 * dim) + batch * 4 * dim
    memory = None if method in fixture.no_memory else round(weights * fixture.weight.get(method, 1.0), 6)
    error = grid.error.get(method, grid.error["other"]) * chance(*own, *hangs_on["error"])
    wild = 1.2 if fixture.noisy_share and chance(*own, seed, "wild") > 1 - 2 * fixture.noisy_share else 0.0
    measured = {
        "memory_mb": memory, "max_abs_error": abs(round(error, digits["max_abs_error"])),
        "peak_rss_mb": round(260 + 3 * weights + batch * dim / 4000 + 2 * chance(*own, seed, "rss"), 3),
        "bandwidth_gb_s": round(moved / us / 1e3, digits["bandwidth_gb_s"]),
        **_timing(us, batch, (*own, seed), digits["noise"], wild, turn.p95),
        **_against(us, dense_us, method == "dense", (*work, method, seed)),
    }  # fmt: skip
    if scatter["median"]:
        half = 0.005 + scatter["median"] * abs(chance(*own, seed, "median"))
        measured |= {"latency_ci_low_us": round(us * (1 - half), 5), "latency_ci_high_us": round(us * (1 + half), 5)}
    return measured


def _lookup_us(fixture: Fixture, turn: Pass, machine: Machine, axes: Values) -> float:
    grid, method, batch, threads = fixture.grid.lookup, axes["method"], axes["batch_size"], axes["threads"]
    pace, dense, extra = fixture.paces[method], method == "dense", grid.small_batch
    us = pace.us * ((batch + extra) / (64 + extra)) ** pace.batch * (axes["embedding_dim"] / 16) ** pace.dim
    us *= machine.pace * turn.drift.get(method, 1.0)
    us *= pace.backward if axes["direction"] == "forward_backward" else 1.0
    us *= 1 + grid.cache_gain * math.log10(axes["compression"])
    us *= (axes["num_rows"] / 100_000) ** (0.15 if dense else 0.05)
    us *= {"sum": 1.0, "mean": 1.1, "max": 1.7}[axes["pooling_mode"]] * (axes["bag_size"] / 10) ** 0.8
    us *= {"warm": 1.0, "cold": 3.1 if dense else 1.6}[axes["cache"]]
    us *= {"fresh": 1.0, "preallocated": 0.7}[axes["output"]] * (1.3 - 0.3 * axes["zipf_s"] / 1.05)
    us *= ((axes.get("block_size") or 16) / 16) ** -0.2
    return float(us / threads ** grid.threads_gain.get(batch, grid.threads_gain.get(method, 0.85)))


def _timing(us: float, batch: int, of: Key, digits: int, wild: float = 0.0, p95: bool = True) -> Values:
    """What the samples say; `wild` times as noisy as others."""
    tail = (1.25 + 0.75 * abs(chance(*of, "tail"))) * (1 + wild)
    noise = round((0.025 + 0.022 * chance(*of, "noise")) * (1 + wild), digits)
    samples = tuple(round(us * x, 3) for x in (0.97, 0.99, 1.0, 1.03, tail))
    return {
        "latency_us": us, "latency_p10_us": samples[0], "latency_p90_us": samples[3],
        "latency_p95_us": round(us * (1 + tail) / 2, 3) if p95 else None, "latency_p99_us": samples[4],
        "latency_ci_low_us": round(us * 0.985, 3), "latency_ci_high_us": round(us * 1.015, 3),
        "samples_per_s": batch / us * 1e6, "noise": noise, "sample_count": 40 + int(30 * (1 + chance(*of, "count"))),
        "stop_reason": "noise_target" if noise < 0.02 else "noise_stable" if noise < 0.035 else "time_cap",
        "samples": samples,
    }  # fmt: skip


def _against(us: float, baseline_us: float, is_baseline: bool, of: Key) -> Values:
    """How it stands to its baseline, by the rules of docs/measuring.md; `of` ends with what tells it from that."""
    group = {"group_id": digest("group", *of[:-2])}
    if is_baseline:
        return group
    speedup, half = baseline_us / us, 0.01 + 0.08 * abs(chance(*of, "interval")) ** 2
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


def steps(fixture: Fixture) -> Iterator[Values]:
    """The embedding steps: forward and update of all forms, pruning of those that prune."""
    grid = fixture.grid.step
    for form, rows, dim, batch, threads in itertools.product(
        grid.forms, grid.rows, grid.dims, grid.batches, grid.threads
    ):
        axes = {
            "benchmark": "embedding_step", "op": "embedding_bag", "method": form.method,
            "is_baseline": form.method == "dense", "dtype": "float32", "num_tables": 1, "num_rows": rows,
            "embedding_dim": dim, "compression": form.compression,
            "num_chunks": 4 if form.method == "fiited" else None, "layout": form.layout, "bag_size": 1,
            "batch_size": batch, "zipf_s": 1.05, "cache": "warm", "threads": threads, "seed": 0,
        }  # fmt: skip
        for direction in ("forward", "forward_backward_update", *(("prune",) if form.layout else ())):
            yield _step(fixture, form, axes | {"direction": direction, "optimizer": "adagrad"})
        for optimizer in form.optimizers:
            yield _step(fixture, form, axes | {"direction": "forward_backward_update", "optimizer": optimizer})


def _step(fixture: Fixture, form: StepForm, axes: Values) -> Values:
    grid, optimizer, direction, batch = fixture.grid.step, axes["optimizer"], axes["direction"], axes["batch_size"]
    context = {**axes, "fixture": fixture.name}
    of = key(grid.noise_keys["trial"], context)
    us = {"forward": 2.1, "forward_backward_update": 14.0, "prune": 900.0}[direction]
    us *= (batch + grid.small_batch) ** 0.75 * (axes["num_rows"] / 100_000) ** 0.2 * form.pace
    us *= (axes["embedding_dim"] / grid.base_dim) ** 0.6 / axes["threads"] ** 0.4 * fixture.machines[0].pace
    us *= {"adagrad": 1.0, "sgd": 0.6, "rowwise_adagrad": 0.9}[optimizer]
    us *= 1 + 0.5 * chance(*key(grid.noise_keys["method"], context))  # who wins differs
    us = round(us * (1 + 0.1 * chance(*of)), 3)
    weights = axes["num_rows"] * axes["embedding_dim"] * 4 / 1e6 * form.compression
    slots = weights / (axes["embedding_dim"] if optimizer == "rowwise_adagrad" else 1)
    return axes | {
        "memory_mb": round(weights * (form.weight or fixture.weight.get(form.method, 1.0)), 6),
        "metadata_mb": round(weights * (0.6 if form.layout == "flat" else 0.15), 6) if form.layout else None,
        "optimizer_mb": None if optimizer == "sgd" else round(slots, 6),
        "prune_share": round(0.02 + 0.015 * chance(*of, "share"), 5) if direction == "prune" else None,
        **_timing(us, batch, of, grid.digits),
    }  # fmt: skip


def grouped(fixture: Fixture) -> Iterator[Values]:
    """The grouped lookups, and some with another structure, model or bags."""
    grid = fixture.grid.grouped
    for tables, batch, threads, method in itertools.product((8, 26, 100), grid.batches, (1, 2), grid.paces):
        yield _group(fixture, method, tables, batch, threads, {})
    for batch, threads, method in itertools.product(grid.batches, (1, 2), ("eager", "parallel_op")):
        for other in grid.also:
            yield _group(fixture, method, 26, batch, threads, other)


def _group(fixture: Fixture, method: str, tables: int, batch: int, threads: int, other: Mapping[str, str]) -> Values:
    grid, plain = fixture.grid.grouped, {"structure": "plain", "model": "op", "bag_sizes": "uniform"}
    axes = {
        "benchmark": "grouped_lookup", "op": "grouped_embedding_bag", "method": method,
        "is_baseline": method == "eager", "dtype": "float32", "num_tables": tables, "num_rows": 100_000,
        "embedding_dim": 16, "compression": 1.0, "pooling_mode": "sum", "bag_size": 1, "batch_size": batch,
        "direction": "forward", "zipf_s": 1.05, "threads": threads, "seed": 0, **plain, **other,
    }  # fmt: skip
    of = key(grid.noise_keys["trial"], {**axes, "fixture": fixture.name})
    eager = 4.0 * tables * (batch / 64) ** 0.7 / threads**0.3 * fixture.machines[0].pace
    eager *= 1 + 1.5 * len(other)
    us = eager / fixture.parallel_gain[threads - 1] if method == "parallel_op" else eager * grid.paces[method]
    us = round(us * (1 + grid.scatter * chance(*of, method)), 3)
    turns_us = round(eager * (1 + 0.02 * chance(*of, "turns")), 3)
    return axes | {
        "memory_mb": round(tables * 6.4, 6),
        **_timing(us, batch, (*of, method), grid.digits),
        **_against(us, turns_us, method == "eager", (*of, method, 0)),
    }  # fmt: skip

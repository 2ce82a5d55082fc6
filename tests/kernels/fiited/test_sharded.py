"""A table in many processes is the table of one, also when a process is lost; with real processes over gloo."""

import os
import re
import signal
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import torch.distributed as dist

from bench_engine.kernels.fiited import FIITEDEmbeddingBag, FIITEDOptimizer, checkpoint
from bench_engine.kernels.fiited.sharded import sharded_bag as sharded
from bench_engine.kernels.fiited.sharded import sharded_checkpoint
from bench_engine.kernels.fiited.sharded.sharded_bag import ShardedFIITEDEmbeddingBag
from tests.kernels.fiited.processes import run, values
from tests.kernels.fiited.twins import OPTIMIZERS, Call, Case, draw_call, frozen, optimizer_of, reading, record

STEPS = 32
TABLES = (60, 1, 45)
CASE = Case(TABLES, 16, 4, 0.7, OPTIMIZERS["adagrad"], {"interval": 5})


def make(case: Case, **more: Any) -> tuple[ShardedFIITEDEmbeddingBag, FIITEDOptimizer]:
    torch.manual_seed(case.seed)
    tables = list(case.tables) if len(case.tables) > 1 else case.tables[0]
    bag = ShardedFIITEDEmbeddingBag(
        tables, case.dim, case.num_chunks, case.pruning_ratio, init=case.init, **case.options, **more
    )
    return bag, optimizer_of(bag, case.optimizer)


def draw(case: Case, step: int, rank: int) -> Call:
    """What a rank looks up in a step; now and then nothing."""
    if (step + rank) % 5 == 4:
        return Call([[] for _ in case.tables], [np.empty((0, case.dim), np.float32) for _ in case.tables])
    return replace(draw_call(np.random.default_rng((case.seed, step, rank)), case), index=torch.int64)


def join(calls: list[Call], divisor: int = 1) -> Call:
    """All calls as one, the first one's bags first."""
    bags = [[bag for call in calls for bag in call.bags[t]] for t in range(len(calls[0].bags))]
    return Call(bags, [np.concatenate([c.gradients[t] for c in calls]) / np.float32(divisor) for t in range(len(bags))])


def train_one(case: Case, size: int, module: Any, optimizer: Any, first: int = 0, last: int = STEPS) -> list[Any]:
    """One process with the batches of `size`; what it gives out."""
    given = []
    for step in range(first, last):
        optimizer.zero_grad()
        given.append(record(module, join([draw(case, step, rank) for rank in range(size)], size)))
        optimizer.step()
    return given


def train_many(
    case: Case, module: Any, optimizer: Any, first: int = 0, last: int = STEPS, shares: int = 1
) -> list[Any]:
    """The same in each process, with the batches of `shares` ranks."""
    rank, given = dist.get_rank(), []
    for step in range(first, last):
        optimizer.zero_grad()
        calls = [draw(case, step, rank * shares + share) for share in range(shares)]
        given.append(record(module, join(calls, shares)))
        optimizer.step()
    return given


# Many processes are one


def live(case: Case) -> dict[str, Any]:
    module, optimizer = make(case)
    start = reading(module)
    events: list[Any] = []
    module.on_prune(events.append)
    outputs = train_many(case, module, optimizer)
    module.verify()
    forecast = module.dry_run(0.75)
    return {
        "start": start,
        "end": reading(module),
        "some": frozen([module.materialize([dist.get_rank(), 7, 7]), module.live_mask([2])]),
        "outputs": outputs,
        "events": [(e.step, e.threshold.tolist(), e.skipped, e.turnover, e.live) for e in events],
        "moved": [(e.evicted, e.admitted, e.expired) for e in events],
        "evicted weights": [e.evicted_weights for e in events],
        "forecast": frozen(vars(forecast)),
        "statistics": dict(module.statistics()),
        "bytes": module.bytes_by_kind(),
        "own bytes": module.own_bytes_by_kind(),
    }


LIVES = {
    "global": (2, replace(CASE)),
    "table": (4, replace(CASE, optimizer=OPTIMIZERS["adam"], options={"interval": 5, "scope": "table"})),
    "column": (
        2,
        replace(CASE, optimizer=OPTIMIZERS["rowwise_adagrad"], options={"interval": 4, "scope": "column"}),
    ),
    "one table": (
        4,
        replace(CASE, tables=(150,), num_chunks=1, init="normal", options={"interval": 7, "score": "frequency"}),
    ),
    "hashed ids": (2, replace(CASE, options={"interval": 3, "hashed_ids": True, "seed": 5, "min_turnover": 0.0})),
    "old rows go": (
        4,
        replace(CASE, optimizer=OPTIMIZERS["sgd"], options={"interval": 2, "ttl": 2, "candidate_share": 0.3}),
    ),
    "one process": (1, replace(CASE)),
}


@pytest.mark.parametrize("name", LIVES)
def test_many_processes_are_one(name):
    size, case = LIVES[name]
    module, optimizer = case.module()
    start, events = reading(module), []
    module.on_prune(events.append)
    outputs = train_one(case, size, module, optimizer)
    ranks = values(size, live, case)
    assert any(len(event.admitted) for event in events)

    statistics = dict(module.statistics())
    for rank, there in enumerate(ranks):
        assert there["start"] == start
        assert there["end"] == reading(module)
        assert there["some"] == frozen([module.materialize([rank, 7, 7]), module.live_mask([2])])
        assert there["events"] == [(e.step, e.threshold.tolist(), e.skipped, e.turnover, e.live) for e in events]
        assert there["forecast"] == frozen(vars(module.dry_run(0.75)))
        same = {key: value for key, value in there["statistics"].items() if not key.endswith("_mb")}
        assert same == {key: value for key, value in statistics.items() if not key.endswith("_mb")}
    for step, (whole, *parts) in enumerate(zip(outputs, *(there["outputs"] for there in ranks), strict=True)):
        for table, output in enumerate(whole):
            together = torch.cat([part[table] for part in parts])
            torch.testing.assert_close(together, output, rtol=1e-5, atol=1e-6, msg=f"step {step}, table {table}")
    for number, event in enumerate(events):
        for at, chunks in enumerate((event.evicted, event.admitted, event.expired)):
            together = torch.cat([there["moved"][number][at] for there in ranks])
            assert together.sort().values.equal(chunks)
        evicted = torch.cat([there["moved"][number][0] for there in ranks]).argsort()
        if not event.skipped:
            weights = torch.cat([there["evicted weights"][number] for there in ranks])
            assert weights[evicted].equal(event.evicted_weights)
    for kind, total in ranks[0]["bytes"].items():
        assert total == sum(there["own bytes"][kind] for there in ranks)


def test_memory_is_divided():
    (one, two) = values(2, bytes_of_a_big_one)
    whole = FIITEDEmbeddingBag(200_000, 16, 4, 0.9).bytes_by_kind()
    for kind in ("weights", "index", "utilities", "owners"):
        assert one[kind] + two[kind] == pytest.approx(whole[kind], rel=0.3)
        assert one[kind] == pytest.approx(two[kind], rel=0.1)


def bytes_of_a_big_one() -> dict[str, int]:
    return ShardedFIITEDEmbeddingBag(200_000, 16, 4, 0.9).own_bytes_by_kind()


@pytest.mark.parametrize("init", ["uniform", "normal"])
def test_the_start_is_drawn_in_parts(init):
    torch.manual_seed(3)
    whole = FIITEDEmbeddingBag(151, 4, 2, 0.1, init=init)
    assert values(2, started_in_parts, init) == [reading(whole)] * 2


def started_in_parts(init: str) -> dict[str, Any]:
    sharded._ROWS_AT_ONCE = 16
    torch.manual_seed(3)
    return reading(ShardedFIITEDEmbeddingBag(151, 4, 2, 0.1, init=init))


# A model with a loss

CLICKS = {"num_embeddings": [300, 40], "embedding_dim": 8, "num_chunks": 4, "pruning_ratio": 0.6}
CLICK_OPTIONS: dict[str, Any] = {"interval": 6, "mode": "mean", "hashed_ids": True}


class Clicks(torch.nn.Module):
    def __init__(self, bag: type[FIITEDEmbeddingBag]) -> None:
        super().__init__()
        self.bag = bag(**CLICKS, **CLICK_OPTIONS)
        self.top = torch.nn.Sequential(torch.nn.Linear(16, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))

    def forward(self, ids: list[torch.Tensor]) -> torch.Tensor:
        return self.top(torch.cat(self.bag(ids), 1)).squeeze(1)


def learn(model: torch.nn.Module, tables: FIITEDOptimizer, rank: int, size: int) -> list[float]:
    """Mean log loss on one part of each batch of 32."""
    dense = torch.optim.SGD(model.parameters(), lr=0.1)
    generator, losses = torch.Generator().manual_seed(1), []
    for _ in range(36):
        ids = [(2**40 * torch.rand(32, 3, generator=generator) ** 8).long() for _ in range(2)]
        clicks = (ids[0][:, 0] % 2).float()
        mine = slice(rank * 32 // size, (rank + 1) * 32 // size)
        loss = torch.nn.functional.binary_cross_entropy_with_logits(model([i[mine] for i in ids]), clicks[mine])
        for optimizer in (dense, tables):
            optimizer.zero_grad()
        loss.backward()
        for optimizer in (dense, tables):
            optimizer.step()
        losses.append(loss.item())
    return losses


def learn_beside_ddp() -> dict[str, Any]:
    torch.manual_seed(0)
    model = Clicks(ShardedFIITEDEmbeddingBag)
    tables = FIITEDOptimizer(model, "adagrad", lr=0.1, initial_accumulator_value=0.1)
    losses = learn(torch.nn.parallel.DistributedDataParallel(model), tables, dist.get_rank(), dist.get_world_size())
    return {
        "losses": losses,
        "weights": model.bag.materialize(),
        "live": model.bag.live_mask(),
        "top": [parameter.detach() for parameter in model.top.parameters()],
    }


@pytest.mark.parametrize("size", [2, 4])
def test_a_model_beside_distributed_data_parallel(size):
    torch.manual_seed(0)
    model = Clicks(FIITEDEmbeddingBag)
    first = model.bag.live_mask()
    losses = learn(model, FIITEDOptimizer(model, "adagrad", lr=0.1, initial_accumulator_value=0.1), 0, 1)
    assert not model.bag.live_mask().equal(first)
    ranks = values(size, learn_beside_ddp)
    for there in ranks:
        assert there["live"].equal(model.bag.live_mask())
        torch.testing.assert_close(there["weights"], model.bag.materialize(), rtol=0, atol=1e-5)
        torch.testing.assert_close(there["top"], [p.detach() for p in model.top.parameters()], rtol=0, atol=1e-5)
    np.testing.assert_allclose(np.mean([there["losses"] for there in ranks], 0), losses, atol=1e-5)


def sum_of_gradients() -> torch.Tensor:
    bag = ShardedFIITEDEmbeddingBag(10, 4, 1, 0.0, average=False)
    optimizer = FIITEDOptimizer(bag, "sgd", lr=1.0)
    before = bag.materialize()
    if dist.get_rank():  # the other one has nothing to train on, and two batches
        for _ in range(2):
            bag(torch.tensor([[3]])).sum().backward()
            bag.forget_gradients()
        for _ in range(2):
            bag(torch.tensor([[3]])).sum().backward()
    else:
        for _ in range(4):
            bag(torch.empty(0, 1, dtype=torch.int64))
    optimizer.step()
    return before - bag.materialize()


def test_gradients_of_some_processes_only():
    for change in values(2, sum_of_gradients):
        expected = torch.zeros(10, 4)
        expected[3] = 2
        torch.testing.assert_close(change, expected)


# What one refuses, all refuse


def refuse(case: Case) -> dict[str, Any]:
    module, optimizer = make(case)
    rank = dist.get_rank()
    train_many(case, module, optimizer, 0, 8)
    before, said = reading(module), []

    def attempt(deed: Any) -> None:
        try:
            deed()
        except (IndexError, ValueError, TypeError, FloatingPointError) as error:
            said.append((type(error).__name__, str(error)))

    ids = [torch.tensor([[3, 5], [0, 1]]), torch.tensor([[0], [0]]), torch.tensor([[44], [rank]])]
    outputs = module(ids)
    gradient = torch.ones(2, case.dim)
    gradient[1, 2] = torch.nan if rank == 1 else 1.0
    torch.autograd.backward(outputs, [gradient, *map(torch.ones_like, outputs[1:])])
    attempt(optimizer.step)
    optimizer.zero_grad()
    attempt(lambda: module([ids[0], ids[1], torch.tensor([[45 if rank == 1 else 1]])]))
    attempt(lambda: module([i.float() if rank == 0 else i for i in ids]))
    attempt(lambda: module.materialize([-1 if rank == 1 else 0]))
    attempt(lambda: module.load_state_dict(module.state_dict() if rank else {"anchor": torch.empty(0), **STRANGE}))
    after = reading(module)
    train_many(case, module, optimizer, 8)
    return {"unchanged": before == after, "said": said, "end": reading(module)}


STRANGE = {"_extra_state": {"format": 77}}


def test_what_one_refuses_all_refuse():
    module, optimizer = CASE.module()
    train_one(CASE, 2, module, optimizer)
    one, two = values(2, refuse, CASE)
    assert one["said"] == two["said"]
    assert [kind for kind, _ in one["said"]] == [
        "FloatingPointError",
        "IndexError",
        "TypeError",
        "IndexError",
        "ValueError",
    ]
    assert "rank 1: the gradient of bag 1 (rows 0, 1)" in one["said"][0][1]
    assert "rank 1: index 45 at position 0 of table 2" in one["said"][1][1]
    assert "rank 0: " in one["said"][2][1]
    for there in (one, two):
        assert there["unchanged"]
        assert there["end"] == reading(module)


def differ(what: str) -> None:
    rank = dist.get_rank()
    if what == "settings":
        ShardedFIITEDEmbeddingBag(10 + rank, 4, 2, 0.5)
    if what == "layout":
        ShardedFIITEDEmbeddingBag(10, 4, 2, 0.5, layout="flat")
    if what == "argument":
        ShardedFIITEDEmbeddingBag(10, 4, 2, 1.5 if rank else 0.5)
    if what == "calls":
        bag = ShardedFIITEDEmbeddingBag(10, 4, 2, 0.5)
        _ = bag(torch.tensor([[1]])) if rank else bag.prune()
    if what == "shard":
        bag = ShardedFIITEDEmbeddingBag(10, 4, 2, 0.5)
        state = bag.state_dict()
        state["_extra_state"]["shard"] = [0, 2]
        bag.load_state_dict(state)


@pytest.mark.parametrize(
    ("what", "error", "message"),
    [
        ("settings", "ValueError", "rows_of_tables is .11. in rank 1, but .10. in rank 0"),
        ("layout", "ValueError", "compact"),
        ("argument", "ValueError", "rank 1: pruning_ratio"),
        ("calls", "RuntimeError", "rank 0 is at a prune event after step 0, rank 1 at a lookup after step 0"),
        ("shard", "ValueError", "rank 0 of 2, and here is rank 1 of 2"),
    ],
)
def test_processes_that_differ_are_told(what, error, message):
    for end in run(2, differ, what):
        assert end.error == error
        assert re.search(message, end.message)


def test_there_must_be_a_process_group():
    with pytest.raises(RuntimeError, match="init_process_group"):
        ShardedFIITEDEmbeddingBag(10, 4, 2, 0.5)


# Checkpoints


def save_at(case: Case, path: Path, step: int, shares: int = 1) -> None:
    module, optimizer = make(case)
    train_many(case, module, optimizer, 0, step, shares)
    sharded_checkpoint.save(path, {"model": torch.nn.ModuleList([module]), "tables": optimizer})


def resume(case: Case, path: Path, step: int, shares: int = 1) -> dict[str, Any]:
    module, optimizer = make(replace(case, seed=9))
    sharded_checkpoint.load(path, {"model": torch.nn.ModuleList([module]), "tables": optimizer})
    train_many(case, module, optimizer, step, shares=shares)
    module.verify()
    return reading(module)


def resume_whole(case: Case, path: Path, step: int, size: int) -> dict[str, Any]:
    module, optimizer = replace(case, seed=9).module()
    sharded_checkpoint.load(path, {"model": torch.nn.ModuleList([module]), "tables": optimizer})
    train_one(case, size, module, optimizer, step)
    module.verify()
    return reading(module)


def uninterrupted(case: Case, size: int) -> dict[str, Any]:
    module, optimizer = case.module()
    train_one(case, size, module, optimizer)
    return reading(module)


@pytest.mark.parametrize("method", ["adagrad", "adam"])
def test_a_checkpoint_resumes_in_any_number_of_processes(method, tmp_path):
    case = replace(CASE, optimizer=OPTIMIZERS[method], options={"interval": 5, "ttl": 3})
    two, four, one = tmp_path / "two.pt", tmp_path / "four.pt", tmp_path / "one.pt"
    whole = uninterrupted(case, 4)
    values(2, save_at, case, two, 17, 2)
    assert values(2, resume, case, two, 17, 2) == [whole] * 2
    assert values(4, resume, case, two, 17, 1) == [whole] * 4
    assert resume_whole(case, two, 17, 4) == whole
    module, optimizer = case.module()
    train_one(case, 4, module, optimizer, 0, 17)
    checkpoint.save(one, {"model": torch.nn.ModuleList([module]), "tables": optimizer})
    assert values(2, resume, case, one, 17, 2) == [whole] * 2
    values(4, save_at, case, four, 17)
    assert values(2, resume, case, four, 17, 2) == [whole] * 2


def test_another_budget_on_load(tmp_path):
    path = tmp_path / "model.pt"
    values(2, save_at, CASE, path, 17)
    for scope in ("global", "table", "column"):
        smaller = replace(CASE, pruning_ratio=0.85, options={"interval": 5, "scope": scope})
        whole = resume_whole(smaller, path, 17, 4)
        assert values(2, resume, smaller, path, 17, 2) == [whole] * 2


def test_only_the_newest_files_stay(tmp_path):
    path = tmp_path / "model.pt"
    values(2, save_at, CASE, path, 3)
    values(2, save_at, CASE, path, 4)
    assert {file.name for file in tmp_path.iterdir()} == {"model.pt", "model.pt.2.0-of-2", "model.pt.2.1-of-2"}
    (tmp_path / "model.pt.2.1-of-2").unlink()
    for end in run(2, resume, CASE, path, 4):
        assert (end.error, end.message) == ("CheckpointError", "rank 1: there is no checkpoint model.pt.2.1-of-2")
    module, _ = CASE.module()
    with pytest.raises(ValueError, match="shards"):
        checkpoint.load(path, {"model": module})


def save_with_a_full_disk(case: Case, path: Path) -> None:
    def no_room(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    module, optimizer = make(case)
    train_many(case, module, optimizer, 0, 20)
    if dist.get_rank() == 1:
        checkpoint.torch = SimpleNamespace(save=no_room)
    sharded_checkpoint.save(path, {"model": torch.nn.ModuleList([module]), "tables": optimizer})


def test_a_disk_that_is_full_for_one(tmp_path):
    path = tmp_path / "model.pt"
    values(2, save_at, CASE, path, 17)
    for end in run(2, save_with_a_full_disk, CASE, path):
        assert end.error == "CheckpointError"
        assert end.message.startswith("rank 1: the checkpoint model.pt.2.1-of-2 was not written")
    assert values(2, resume, CASE, path, 17) == [uninterrupted(CASE, 2)] * 2


# A lost process


def lose_one(case: Case, path: Path, how: str, where: str) -> None:
    def leave(*_: Any) -> Any:
        if how == "killed":
            time.sleep(0.3)  # what it has said arrives, and the others wait for more
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(6)

    module, optimizer = make(case)
    parts = {"model": torch.nn.ModuleList([module]), "tables": optimizer}
    train_many(case, module, optimizer, 0, 13)
    sharded_checkpoint.save(path, parts)
    train_many(case, module, optimizer, 13, 21)
    if dist.get_rank() == 1:
        if where == "a lookup":
            leave()
        elif where == "a training step":
            module.check_gradients = lambda: (type(module).check_gradients(module), leave())
        elif where == "a prune event":
            module._storage = Leaving(module._storage, leave)
        elif where == "saving a checkpoint":
            checkpoint.save = leave
    if where == "saving a checkpoint":
        sharded_checkpoint.save(path, parts)
    train_many(case, module, optimizer, 21)


class Leaving:
    """A storage whose process leaves in the middle of a prune event."""

    def __init__(self, storage: Any, leave: Any) -> None:
        self._storage, self.moves = storage, leave

    def __getattr__(self, name: str) -> Any:
        return getattr(self._storage, name)


@pytest.mark.parametrize(
    ("size", "how", "where"),
    [
        (2, "killed", "a lookup"),
        (4, "killed", "a training step"),
        (2, "killed", "a prune event"),
        (2, "killed", "saving a checkpoint"),
        (2, "hung", "a lookup"),
    ],
)
def test_a_lost_process_is_told_and_the_checkpoint_resumes(size, how, where, tmp_path):
    path = tmp_path / "model.pt"
    ended = run(size, lose_one, CASE, path, how, where, timeout=4 if how == "hung" else 30)
    for rank, end in enumerate(ended):
        if rank == 1:
            assert end.error == ("killed" if how == "killed" else "LostProcessError")
            continue
        assert end.error == "LostProcessError"
        assert f"a process was lost during {where}" in end.message
        assert "start all of them again from the last checkpoint" in end.message
        assert "\n" not in end.message
        assert end.seconds < 12
    assert values(size, resume, CASE, path, 13) == [uninterrupted(CASE, size)] * size

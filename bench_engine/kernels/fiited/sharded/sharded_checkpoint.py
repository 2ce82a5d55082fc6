"""Checkpoints of a model with sharded tables: a file for each process, taken by as many processes or by others.

`save(path, parts)` writes `path.N.R-of-W` in each of W processes, where N counts the checkpoints, and then `path`,
which says which of these belong together. Only then are the files of the checkpoint before removed, so that there is a
whole one whenever a process is killed. All processes must see the same folder.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from torch import nn

from bench_engine.kernels.fiited import checkpoint
from bench_engine.kernels.fiited.checkpoint import CheckpointError, HasState
from bench_engine.kernels.fiited.sharded import shards
from bench_engine.kernels.fiited.sharded.sharded_bag import ShardedFIITEDEmbeddingBag

_DIRECTORY = "shards"  # the only part of the file that says which others there are


def save(path: str | Path, parts: Mapping[str, HasState]) -> None:
    """As checkpoint.save; all processes must call it. Raises CheckpointError in all of them, LostProcessError."""
    target = Path(path)
    table = _sharded_table(parts)
    if table is None:
        checkpoint.save(target, parts)
        return
    peers = table.peers
    with peers.during("saving a checkpoint"):
        newest = max((number for number, _ in _files(target)), default=0)
        number = int(peers.meet(table.step_count, [newest]).max()) + 1
    with peers.together("saving a checkpoint"):
        checkpoint.save(_file(target, number, peers.rank, peers.size), parts)
    with peers.together("saving a checkpoint"):
        if peers.rank == 0:
            checkpoint.save(target, {_DIRECTORY: _Directory(number, peers.size)})
    for other, file in _files(target):
        if other != number:
            file.unlink(missing_ok=True)


def load(path: str | Path, parts: Mapping[str, HasState]) -> None:
    """Put back what `save` or checkpoint.save wrote, in as many processes or others, with sharded tables or whole ones.

    With another number of processes, every process reads all files, one by one, and keeps its own rows; what is not a
    sharded table is taken from rank 0. Raises CheckpointError, ValueError where a part does not fit, LostProcessError;
    what is wrong with a file in one process is raised in all.
    """
    target = Path(path)
    table = _sharded_table(parts)
    if table is None:
        states = _read(target, 0, 1)
    else:
        with table.peers.together("loading a checkpoint"):
            states = _read(target, *table.shard)
    checkpoint.put(states, parts, target.name)


def _read(path: Path, rank: int, size: int) -> Any:
    """The states of the parts, for a rank of so many."""
    whole = checkpoint.read(path)
    if not isinstance(whole, dict) or whole.keys() != {_DIRECTORY}:
        return whole
    number, saved_size = whole[_DIRECTORY]["number"], whole[_DIRECTORY]["world_size"]
    files = [_file(path, number, saved, saved_size) for saved in range(saved_size)]
    if saved_size == size:
        return checkpoint.read(files[rank])
    first = checkpoint.read(files[0])
    found = {place: [shards.own_part(state, rank, size)] for place, state in _sharded(first)}
    for file in files[1:]:
        for place, state in _sharded(checkpoint.read(file)):
            if place not in found:
                raise CheckpointError(f"the checkpoint {file.name} is not of the same model as {files[0].name}")
            found[place].append(shards.own_part(state, rank, size))
    return _replaced(first, {place: shards.join(parts, rank, size) for place, parts in found.items()})


def _sharded(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Mapping[str, Any]]]:
    """The states of sharded tables in nested dictionaries, and where they are."""
    if not isinstance(value, Mapping):
        return
    if isinstance(shard := value.get("shard"), list) and "state" in value:
        if shard[1] > 1:
            yield place, value
        return
    for key, inner in value.items():
        yield from _sharded(inner, (*place, key))


def _replaced(value: Any, by_place: Mapping[tuple[Any, ...], Any], place: tuple[Any, ...] = ()) -> Any:
    if place in by_place:
        return by_place[place]
    if not isinstance(value, dict):
        return value
    return {key: _replaced(inner, by_place, (*place, key)) for key, inner in value.items()}


def _sharded_table(parts: Mapping[str, HasState]) -> ShardedFIITEDEmbeddingBag | None:
    modules = (module for part in parts.values() if isinstance(part, nn.Module) for module in part.modules())
    return next((module for module in modules if isinstance(module, ShardedFIITEDEmbeddingBag)), None)


def _file(path: Path, number: int, rank: int, size: int) -> Path:
    return path.with_name(f"{path.name}.{number}.{rank}-of-{size}")


def _files(path: Path) -> list[tuple[int, Path]]:
    """Files of processes that are there, with the numbers of their checkpoints."""
    pattern = re.compile(rf"{re.escape(path.name)}\.(\d+)\.\d+-of-\d+")
    there = path.parent.iterdir() if path.parent.is_dir() else ()
    return [(int(match[1]), file) for file in there if (match := pattern.fullmatch(file.name))]


class _Directory:
    """Says which files are one checkpoint."""

    def __init__(self, number: int, world_size: int) -> None:
        self._state = {"number": number, "world_size": world_size}

    def state_dict(self) -> dict[str, int]:
        return self._state

    def load_state_dict(self, state: Any) -> None:
        self._state = dict(state)

"""The processes that hold a table together: what they tell one another, and what is said when one of them is lost."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from bench_engine.kernels.fiited.checkpoint import CheckpointError

# Numbered, so that processes can compare where they are.
OPERATIONS = (
    "making a table",
    "a lookup",
    "the check of gradients",
    "a training step",
    "a prune event",
    "a dry run",
    "reading rows",
    "counting",
    "saving a checkpoint",
    "loading a checkpoint",
    "loading a state",
)
# What one process refuses, all refuse, with an exception of the same kind.
_REFUSALS = {
    kind.__name__: kind for kind in (IndexError, ValueError, TypeError, FloatingPointError, OSError, CheckpointError)
}


class LostProcessError(RuntimeError):
    """Another process has ended or hangs; the message says in which operation and what to do."""


class Peers:
    """A process group whose members make the same calls in the same order.

    Every method that talks raises LostProcessError where a process has ended or does not answer within the timeout of
    the process group, and from then on at once.

    Raises RuntimeError where there is no process group, ValueError where it cannot exchange tensors on the CPU.
    """

    def __init__(self, group: dist.ProcessGroup | None = None) -> None:
        if not dist.is_available() or not dist.is_initialized():
            raise RuntimeError('there are no other processes: call torch.distributed.init_process_group("gloo") first')
        if not any(backend in dist.get_backend_config(group) for backend in ("gloo", "mpi")):
            raise ValueError(
                "a sharded table is on the CPU: give a process group with the backend gloo, such as "
                'torch.distributed.new_group(backend="gloo")'
            )
        self._group = group
        self._doing = OPERATIONS[0]
        self._lost = False
        self.rank, self.size = dist.get_rank(group), dist.get_world_size(group)

    # A copy of a table is held by the same processes.
    def __deepcopy__(self, memo: dict[int, Any]) -> "Peers":
        return self

    def __reduce__(self) -> Any:
        if self._group is not None:
            raise TypeError("a table of a process group of its own cannot be pickled: save its state instead")
        return Peers, ()

    @contextmanager
    def during(self, operation: str) -> Iterator[None]:
        """Names what is being done, one of OPERATIONS."""
        before, self._doing = self._doing, operation
        try:
            yield
        finally:
            self._doing = before

    @contextmanager
    def together(self, operation: str) -> Iterator[None]:
        """What is done inside, without talking, is refused by all processes where one refuses it."""
        refused: Exception | None = None
        try:
            yield
        except Exception as error:
            refused = error
        with self.during(operation):
            self.meet(0, refused=refused)

    def meet(self, step: int, numbers: Sequence[int] = (), refused: Exception | None = None) -> Tensor:
        """The numbers of all processes, which give equally many, up to 2 * size: (size, len(numbers)) int64.

        All come from the same operation with the same `step`, or RuntimeError is raised. Where a process has refused
        what it was asked for, all raise its exception, with its rank.
        """
        text = _refusal(refused).encode()
        padded = [*numbers] + [0] * (2 * self.size - len(numbers))  # of one size, so that any two operations can meet
        at = self._gather(torch.tensor([OPERATIONS.index(self._doing), step, len(text), *padded]))
        self._check_same_call(at)
        if at[:, 2].any():
            texts = self._gather(torch.tensor([*text.ljust(int(at[:, 2].max()))], dtype=torch.uint8))
            rank = self.rank if refused is not None else int(at[:, 2].nonzero()[0])
            kind, message = json.loads(bytes(texts[rank].tolist()))
            if refused is not None and not kind:
                raise refused
            raise _REFUSALS.get(kind, RuntimeError)(f"rank {rank}: {message}") from refused
        return at[:, 3 : 3 + len(numbers)]

    def check_same(self, settings: Mapping[str, Any], operation: str) -> None:
        """Raises ValueError where a process has other settings."""
        text = json.dumps(settings).encode()
        with self.during(operation):
            longest = int(self.meet(0, [len(text)]).max())
            texts = self._gather(torch.tensor([*text.ljust(longest)], dtype=torch.uint8)).tolist()
        first = json.loads(bytes(texts[0]))
        for rank, others in enumerate(texts):
            for name, value in json.loads(bytes(others)).items():
                if value != first[name]:
                    raise ValueError(
                        f"{name} is {value!r} in rank {rank}, but {first[name]!r} in rank 0: give the same"
                    )

    def add_up(self, counts: Tensor) -> Tensor:
        """Sums over all processes of integers (...)."""
        total = counts.clone()
        with self._watched():
            dist.all_reduce(total, group=self._group)
        return total

    def exchange(self, values: Tensor, sent: Sequence[int], received: Sequence[int]) -> Tensor:
        """Sends the first sent[0] of values (n, ...) to rank 0 and so on; what came (sum of received, ...), by rank."""
        came = values.new_empty(sum(received), *values.shape[1:])
        with self._watched():
            dist.all_to_all_single(came, values.contiguous(), list(received), list(sent), group=self._group)
        return came

    def _gather(self, values: Tensor) -> Tensor:
        came = [torch.empty_like(values) for _ in range(self.size)]
        with self._watched():
            dist.all_gather(came, values, group=self._group)
        return torch.stack(came)

    def _check_same_call(self, at: Tensor) -> None:
        other = (at[:, :2] != at[0, :2]).any(1)
        if other.any():
            where = [f"{OPERATIONS[call]} after step {step}" for call, step in at[:, :2].tolist()]
            rank = int(other.nonzero()[0])
            raise RuntimeError(
                f"the processes are not at the same call: rank 0 is at {where[0]}, rank {rank} at {where[rank]}; all "
                "must make the same calls in the same order, with an empty batch where one has no more data"
            )

    @contextmanager
    def _watched(self) -> Iterator[None]:
        lost = LostProcessError(
            f"a process was lost during {self._doing}: one of the {self.size} has ended, or does not answer (this is "
            f"rank {self.rank}); end the others as well and start all of them again from the last checkpoint"
        )
        if self._lost:
            raise lost
        try:
            yield
        except RuntimeError as error:
            self._lost = True
            raise lost from error


def _refusal(error: Exception | None) -> str:
    if error is None:
        return ""
    kind = next((cls.__name__ for cls in type(error).__mro__ if cls.__name__ in _REFUSALS), "")
    return json.dumps([kind, str(error)])

"""Checkpoints that survive a full disk and a killed process: the new file is whole when it takes the old's place."""

import contextlib
import os
import pickle
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import torch


class HasState(Protocol):
    """A module, an optimizer, a scheduler ..."""

    def state_dict(self) -> Any: ...  # noqa: D102

    def load_state_dict(self, state: Any) -> Any: ...  # noqa: D102


class CheckpointError(OSError):
    """A checkpoint that could not be written or read; the message is one sentence that says what to do."""


def save(path: str | Path, parts: Mapping[str, HasState]) -> None:
    """Write the state of named parts, such as `{"model": model, "optimizer": optimizer, "tables": table_optimizer}`.

    Training goes on from it exactly as if it had never stopped, where it draws the same batches. Whatever happens while
    it is written, a file that was there stays whole until the new one is; a process that is killed leaves what it had
    written beside it, under a name with a dot in front. Raises CheckpointError.
    """
    target = Path(path)
    part: Path | None = None
    try:
        part = target.with_name(f".{target.name}.{os.getpid()}.{secrets.token_hex(4)}")
        with part.open("xb") as file:
            torch.save({name: value.state_dict() for name, value in parts.items()}, file)
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)
        with contextlib.suppress(OSError):  # the file is there; some systems cannot sync folders
            _sync_folder(target.parent)
    except BaseException as error:
        if part is not None:
            part.unlink(missing_ok=True)
        if not isinstance(error, OSError | RuntimeError):  # torch's writer raises the latter where the disk is full
            raise
        raise CheckpointError(
            f"the checkpoint {target.name} was not written, and what was there before is whole: make room or give "
            f"another folder ({_reason(error)})"
        ) from error


def load(path: str | Path, parts: Mapping[str, HasState]) -> None:
    """Put back what `save` wrote; all parts of the file must be given. Raises CheckpointError, and ValueError where a
    part does not fit; parts before it have their states by then."""
    put(read(path), parts, Path(path).name)


def read(path: str | Path) -> Any:
    """The states of the parts in a file. Raises CheckpointError."""
    name = Path(path).name
    try:
        return torch.load(path, weights_only=True)
    except FileNotFoundError:
        raise CheckpointError(f"there is no checkpoint {name}") from None
    except pickle.UnpicklingError as error:
        raise CheckpointError(
            f"the checkpoint {name} holds more than tensors and plain values, or is damaged: save such objects apart "
            f"or take an older one ({_reason(error)})"
        ) from error
    except Exception as error:  # a damaged archive comes as one of many exceptions
        raise CheckpointError(
            f"the checkpoint {name} cannot be read and may be cut off: take an older one ({_reason(error)})"
        ) from error


def put(states: Any, parts: Mapping[str, HasState], name: str) -> None:
    """Give each part its state; `name` is that of the file they are from. Raises ValueError."""
    if not isinstance(states, dict) or states.keys() != parts.keys():
        held = ", ".join(map(str, states)) if isinstance(states, dict) else "something else"
        raise ValueError(f"the checkpoint {name} holds {held}, not {', '.join(parts)}: give the parts that were saved")
    for key, value in parts.items():
        value.load_state_dict(states[key])


def _reason(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

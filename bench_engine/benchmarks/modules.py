"""Builds the embedding module of a trial, and says what it weighs."""

from torch import nn

from bench_engine import registry
from bench_engine.kernels.bags import EmbeddingBagMethod
from bench_engine.trial import Trial

DEVICE = "cpu"
DTYPE = "float32"


class OutOfReachError(ValueError):
    """A method cannot be built at this size and compression; the message is the method's own sentence."""


def build(trial: Trial, num_rows: int, mode: str) -> EmbeddingBagMethod:
    """The method's module with its own initial weights, drawn after torch.manual_seed. Raises OutOfReachError."""
    method = registry.method(trial.method).load()
    dim, compression = int(trial.config["embedding_dim"]), float(trial.config["compression"])
    try:
        return method(num_rows, dim, compression=compression, mode=mode)
    except ValueError as error:
        raise OutOfReachError(f"{trial.method} cannot be run here: {error}") from error


def megabytes(module: nn.Module) -> float:
    """Bytes of parameters and buffers / 1e6: what inference must keep."""
    return sum(t.nbytes for t in (*module.parameters(), *module.buffers())) / 1e6

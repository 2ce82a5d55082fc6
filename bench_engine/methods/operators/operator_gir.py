"""GirOperator: an operator by the memory-first compiler, and how well its cost model foresaw the candidates' times."""

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from bench_engine.kernels import gir
from bench_engine.kernels.gir.cpu.calibration import caches, machine
from bench_engine.kernels.gir.program.traffic import traffic
from bench_engine.kernels.native import extension
from bench_engine.methods.operators.memory_operators import Inputs, Operator
from bench_engine.methods.operators.operator_methods import TorchOperator, wants_gradients

_FOLDER = "MIRROR_CACHE_DIR"
_FEWEST = 3  # candidates that have ranks to speak of


class GirOperator(TorchOperator):
    """`gir.compile` of the operator; where gradients are wanted, `torch.compile(backend="gir")`.

    Candidates are measured in this trial, whatever was decided and kept before: how memory comes to an output is a part
    of what is compared. Bandwidths of the machine are measured once and kept.
    """

    compiled: gir.Compiled | None = None
    given: Sequence[Any] = ()
    surveyed: Sequence[Mapping[str, Any]] = ()

    def transformed(self, operator: Operator, inputs: Inputs) -> Any:
        """The compiled function, decided for inputs like these."""
        machine(torch.get_num_threads())
        extension.python_module_if_built()  # lies in the folder that is another one below
        with _nothing_kept():
            if wants_gradients(inputs):
                call: Any = torch.compile(operator.call, backend="gir", dynamic=False)
                output = call(*inputs)
                output.backward(torch.ones_like(output))
                for tensor in inputs:
                    tensor.grad = None
                return call
            self.compiled = gir.compile(operator.call, inputs)
            self.given = inputs
            return self.compiled

    def metrics(self) -> Mapping[str, float | None]:
        """Of an operator that is one region: bytes of the kernel that runs, and how good the cost model was.

        Its regret and its ranks are those over what the kernel could be, not over the few that are tried to decide.
        """
        graphs = list(self.compiled.graphs.values()) if self.compiled else []
        regions = [region for graph in graphs for region in graph.regions.values()]
        places = graphs[0].places if graphs else None
        if len(regions) != 1 or len(regions[0].decisions) != 1 or places is None or min(places, default=0) < 0:
            return {}
        (region,), (decision,) = regions, regions[0].decisions.values()
        self.surveyed = region.survey(*[self.given[place] for place in places])
        predicted = [one["predicted_us"] for one in self.surveyed]  # the model's first comes first
        measured = [one["measured_us"] for one in self.surveyed]
        kernel = decision.kernel
        return {
            "bytes_predicted": traffic(kernel, decision.batch, caches())["memory"] if kernel else None,
            "model_regret": measured[0] / min(measured) - 1,
            "model_rank_correlation": rank_correlation(predicted, measured),
        }

    def environment(self) -> Mapping[str, Any]:
        """What was decided, and what was not compiled."""
        if self.compiled is None:
            return {}
        said = [
            {
                "winner": d.winner,
                "reason": d.reason,
                "original_us": d.original_us,
                "parallel_op_us": d.parallel_op_us,
                "tried": d.tried,
            }
            for d in self.compiled.decisions()
        ]
        left = [line for graph in self.compiled.graphs.values() for line in graph.left]
        return {"gir": said, "gir_surveyed": self.surveyed, "gir_left": left}


@contextmanager
def _nothing_kept() -> Iterator[None]:
    """No decision of before is found, and none is left."""
    before = os.environ.get(_FOLDER)
    with tempfile.TemporaryDirectory() as folder:
        os.environ[_FOLDER] = folder
        try:
            yield
        finally:
            if before is None:
                del os.environ[_FOLDER]
            else:
                os.environ[_FOLDER] = before


def rank_correlation(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Spearman's: that of the ranks, equal values sharing their mean rank; None for too few values or all equal."""
    if len(one) < _FEWEST:
        return None
    ranks = [[sum(v < x for v in values) + sum(v <= x for v in values) for x in values] for values in (one, other)]
    if any(len(set(own)) == 1 for own in ranks):
        return None
    return float(np.asarray(np.corrcoef(ranks))[0, 1])

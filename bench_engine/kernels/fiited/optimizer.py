"""FIITEDOptimizer: trains the tables of a model, counts their steps and lets them prune."""

from collections.abc import Iterable, Sequence

from torch import nn

from bench_engine.kernels.fiited import arguments
from bench_engine.kernels.fiited.bag import FIITEDEmbeddingBag
from bench_engine.kernels.fiited.table_optimizer import TableOptimizer, check_number

METHODS = ("sgd", "adagrad", "rowwise_adagrad", "adam")
_EPS = {"sgd": 0.0, "adagrad": 1e-10, "rowwise_adagrad": 1e-10, "adam": 1e-8}  # torch's own


class FIITEDOptimizer(TableOptimizer[FIITEDEmbeddingBag]):
    """Updates what was looked up, as torch's optimizers update the rows of a torch.nn.EmbeddingBag.

    Args:
        modules: a model, a FIITEDEmbeddingBag, or several; all FIITEDEmbeddingBags in them are trained.
        method: "sgd", "adagrad", "rowwise_adagrad" (one slot per chunk: the mean of its squared gradient) or "adam"
            (as torch.optim.SparseAdam: only what was looked up moves).
        lr: learning rate.
        eps: added to the root of the slots; torch's default of the method unless given.
        betas: of adam.
        initial_accumulator_value: that slots of adagrad and rowwise_adagrad start at, those of restored chunks too.

    `step` raises FloatingPointError where a gradient is not finite, before anything is changed. Slots live with the
    chunks, in the state of the modules; the state of the optimizer holds its numbers.

    Raises ValueError, also where another optimizer trains a table, and TypeError.
    """

    def __init__(
        self,
        modules: nn.Module | Iterable[nn.Module],
        method: str = "adagrad",
        lr: float = 0.01,
        eps: float | None = None,
        betas: tuple[float, float] = (0.9, 0.999),
        initial_accumulator_value: float = 0.0,
    ) -> None:
        arguments.choice("method", method, METHODS)
        check_number("initial_accumulator_value", initial_accumulator_value)
        if (
            not isinstance(betas, Sequence)
            or len(betas) != 2
            or not all(arguments.is_number(beta) and 0 <= beta < 1 for beta in betas)
        ):
            raise ValueError(f"betas must be two numbers in [0, 1), not {betas!r}")
        defaults = {"method": method, "lr": lr, "eps": _EPS[method] if eps is None else eps, "betas": betas}
        super().__init__(modules, FIITEDEmbeddingBag, "FIITEDEmbeddingBag", defaults)
        slot_value = 0.0 if method in ("sgd", "adam") else initial_accumulator_value
        for bag in self._tables.values():
            bag.attach_optimizer(method, slot_value)

    def _train(self) -> None:
        events = []
        for group in self.param_groups:
            for anchor in group["params"]:
                bag = self._tables[anchor]
                events.append((bag, bag.train_step(float(group["lr"]), group["eps"], group["betas"])))
        for bag, event in events:  # when all tables have made their step
            if event is not None:
                bag.tell(event)

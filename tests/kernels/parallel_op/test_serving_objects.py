"""Ids that a forward takes from objects among its arguments, as from torchrec's KeyedJaggedTensor."""

import pytest
import torch
from torch import Tensor, nn

from tests.kernels.parallel_op.served_models import ROWS, alike, served

pytestmark = [pytest.mark.usefixtures("grouped_ops", "compiled_for_python"), pytest.mark.timeout(120)]

KEYS = ("a", "b", "c")


class Jagged:
    """Ids of one feature, with the offsets of their bags."""

    def __init__(self, values: Tensor, offsets: Tensor) -> None:
        self._values, self._offsets = values, offsets


class Keyed:
    """Ids of several features in one tensor, cut into features when they are asked for."""

    def __init__(self, values: Tensor, lengths: Tensor) -> None:
        self._values, self._lengths = values, lengths
        self._cut: dict[str, Jagged] | None = None
        self.itself = self  # what leads back is followed once

    def cut(self) -> dict[str, Jagged]:
        if self._cut is None:
            parts = self._values.split([int(n) for n in self._lengths.sum(1)])
            zero = torch.zeros(len(KEYS), 1, dtype=torch.int64)
            offsets = torch.cat([zero, self._lengths.cumsum(1)], 1)
            self._cut = {key: Jagged(parts[k], offsets[k]) for k, key in enumerate(KEYS)}
        return self._cut


class Slotted:
    """An object without a dictionary, whose ids are not looked for."""

    __slots__ = ("ids",)

    def __init__(self, ids: list[Tensor]) -> None:
        self.ids = ids


class Computed:
    """An object that computes what it is asked for."""

    def __init__(self, ids: list[Tensor]) -> None:
        self._ids = ids
        self.asked = 0

    def __getattr__(self, name: str) -> list[Tensor]:
        if name != "ids":
            raise AttributeError(name)
        self.asked += 1
        return [one.clone() for one in self._ids]


class Bags(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tables = nn.ModuleDict(
            {key: nn.EmbeddingBag(ROWS, 4, mode="sum", include_last_offset=True) for key in KEYS}
        )

    def forward(self, features: Keyed) -> Tensor:
        parts = features.cut()
        return torch.cat(
            [table(input=parts[key]._values, offsets=parts[key]._offsets) for key, table in self.tables.items()], 1
        )


class Rows(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(ROWS, 4) for _ in KEYS)

    def forward(self, batch: object) -> list[Tensor]:
        ids = batch.ids  # type: ignore[attr-defined]
        return [table(one) for table, one in zip(self.tables, ids, strict=True)]


def keyed(seed: int, batch: int = 5) -> Keyed:
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(0, 4, (len(KEYS), batch), generator=generator)
    return Keyed(torch.randint(0, ROWS, (int(lengths.sum()),), generator=generator), lengths)


def test_features_that_are_cut_in_the_forward() -> None:
    model = Bags()
    serve = served(model)
    for seed in range(6):
        features = keyed(seed, batch=3 + seed)
        assert alike(serve(model, features), model.forward(keyed(seed, batch=3 + seed)))
    assert (serve.compiled.calls, serve.compiled.lookups) == (5, 15)


def test_features_that_were_cut_before_and_are_written_to() -> None:
    model = Bags()
    serve = served(model)
    serve(model, keyed(0))
    again = keyed(1)
    assert alike(serve(model, again), model.forward(keyed(1)))
    again._values.copy_(again._values.flip(0))
    assert alike(serve(model, again), model.forward(again))
    again._cut["b"] = keyed(2).cut()["a"]  # type: ignore[index]
    assert alike(serve(model, again), model.forward(again))
    again._cut = {key: Jagged(part._values.clone(), part._offsets.clone()) for key, part in again.cut().items()}
    del again._lengths
    assert alike(serve(model, again), model.forward(again))


def test_gradients_of_cut_features() -> None:
    model = Bags()
    serve = served(model)
    for seed in range(3):
        found = torch.autograd.grad(serve(model, keyed(seed)).square().sum(), list(model.parameters()))
        expected = torch.autograd.grad(model.forward(keyed(seed)).square().sum(), list(model.parameters()))
        assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))
    assert serve.compiled.lookups == 6


@pytest.mark.parametrize("kind", [Slotted, Computed])
def test_objects_that_are_not_looked_into(kind: type) -> None:
    """Nor is any of their code run."""
    model = Rows()
    serve = served(model)
    for seed in range(4):
        batch = kind(list(torch.randint(0, ROWS, (3, 6), generator=torch.Generator().manual_seed(seed))))
        assert alike(serve(model, batch), model.forward(batch))
        assert getattr(batch, "asked", 2) == 2


def test_an_object_of_another_class_later() -> None:
    model = Rows()
    serve = served(model)

    class Batch:
        def __init__(self, ids: object) -> None:
            self.ids = ids

    ids = list(torch.randint(0, ROWS, (3, 6)))
    for batch in (Batch(ids), Batch(ids), Slotted(ids), Batch(tuple(ids)), Batch({0: ids[0]}.values()), Batch(ids)):
        if isinstance(batch.ids, list | tuple):
            assert alike(serve(model, batch), model.forward(batch))
        else:
            with pytest.raises(ValueError, match="shorter"):
                serve(model, batch)
    assert serve.compiled.lookups >= 6

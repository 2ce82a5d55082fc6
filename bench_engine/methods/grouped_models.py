"""Models with many embedding bags: the bags alone, wide & deep, DLRM and a transformer, and what is asked of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bench_engine.data.requests import request_batches
from bench_engine.kernels.bags import initial_bound
from bench_engine.trial import Scalar

# Ids per bag of the 26 tables of MLPerf's DLRM-DCNv2, multi-hot.
MLPERF = (3, 2, 1, 2, 6, 1, 1, 1, 1, 7, 3, 8, 1, 6, 9, 5, 1, 1, 1, 12, 100, 27, 10, 3, 1, 1)
DENSE_FEATURES = 13  # of the Criteo data, which both models were made for
_DEEP = (256, 128, 64)
_BOTTOM, _TOP = (128, 64), (256, 128)
_HEADS, _WIDER = 2, 4  # of attention, and how many times as wide the layer after it is


@dataclass(frozen=True)
class Shape:
    """What is looked up, and what is around it.

    Attributes:
        num_rows, dim: of each table.
        bag_sizes: ids per bag of each table; its length is the number of tables T.
        batch_size: bags of each table in a call.
        mode: sum, mean or max.
        structure: plain, interleaved, split_in or concat_out.
        model: op, wide_and_deep, dlrm or transformer.
    """

    num_rows: int
    dim: int
    bag_sizes: tuple[int, ...]
    batch_size: int
    mode: Literal["sum", "mean", "max"]
    structure: str
    model: str

    @staticmethod
    def of(config: Mapping[str, Scalar]) -> "Shape":
        """The shape that a trial's configuration says. Raises ValueError where its axes speak against each other."""
        tables, size = int(config["num_tables"]), int(config["bag_size"])
        if config["bag_sizes"] == "mlperf":
            if size != 1:
                raise ValueError("bag_sizes mlperf has sizes of its own: leave bag_size at 1")
            sizes = tuple(MLPERF[table % len(MLPERF)] for table in range(tables))
        else:
            sizes = (size,) * tables
        if config["model"] != "op" and config["structure"] == "concat_out":
            raise ValueError("a whole model joins its bags by itself: structure concat_out is for model op")
        return Shape(
            num_rows=int(config["num_rows"]),
            dim=int(config["embedding_dim"]),
            bag_sizes=sizes,
            batch_size=int(config["batch_size"]),
            mode=cast(Literal["sum", "mean", "max"], config["pooling_mode"]),
            structure=str(config["structure"]),
            model=str(config["model"]),
        )


@dataclass(frozen=True)
class Request:
    """What one call asks for.

    Attributes:
        ids: (B, L_t) int64 of each table t.
        joined: the same as one tensor (B, L_1 + ... + L_T) where the structure is split_in, else None.
        dense: (B, DENSE_FEATURES) of a whole model, else None.
    """

    ids: tuple[Tensor, ...]
    joined: Tensor | None
    dense: Tensor | None

    def arguments(self) -> tuple[list[Tensor] | Tensor, Tensor | None]:
        """What the model is called with."""
        return list(self.ids) if self.joined is None else self.joined, self.dense


def requests(shape: Shape, zipf_s: float, seed: int, count: int) -> list[Request]:
    """`count` distinct requests; each table has popular ids of its own."""
    per_table = [
        request_batches(shape.num_rows, shape.batch_size, size, zipf_s, seed + (table << 32), count)
        for table, size in enumerate(shape.bag_sizes)
    ]
    found = []
    for batches in zip(*per_table, strict=True):
        ids = tuple(torch.from_numpy(batch) for batch in batches)
        joined = torch.cat(ids, 1) if shape.structure == "split_in" else None
        dense = None if shape.model == "op" else torch.randn(shape.batch_size, DENSE_FEATURES)
        found.append(Request(ids, joined, dense))
    return found


class Bags(nn.Module):
    """Embedding bags one after another, as models are written; with `relu` each is followed by its own."""

    def __init__(self, tables: Sequence[nn.EmbeddingBag], relu: bool) -> None:
        super().__init__()
        self.tables = nn.ModuleList(tables)
        self.relu = relu

    def forward(self, ids: list[Tensor]) -> list[Tensor]:
        """One (B, L) of ids per table to one (B, D) of vectors each."""
        vectors = []
        for table, bags in zip(self.tables, ids, strict=True):
            vector = table(bags)
            vectors.append(F.relu(vector) if self.relu else vector)
        return vectors


class GroupedModel(nn.Module):
    """T tables looked up together, and what a model does with their vectors. `bags` may be replaced by other code.

    Tables stand in `bags` in their order; those of one dimension for the wide part of wide & deep follow them.
    """

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        dims = [shape.dim] * len(shape.bag_sizes)
        if shape.model == "wide_and_deep":
            dims += [1] * len(shape.bag_sizes)
        self.bags: nn.Module = Bags([_table(shape, dim) for dim in dims], shape.structure == "interleaved")
        self.repeats = len(dims) // len(shape.bag_sizes)  # how many tables read the ids of one feature
        self.head = _head(shape)

    def forward(self, ids: list[Tensor] | Tensor, dense: Tensor | None = None) -> list[Tensor] | Tensor:
        """Request.arguments() to T vectors (B, D), their concatenation, or the logits (B, 1) of a whole model."""
        if isinstance(ids, Tensor):
            ids = list(torch.split(ids, list(self.shape.bag_sizes), 1))
        return self.head(self.bags(ids * self.repeats), dense)


def _table(shape: Shape, dim: int) -> nn.EmbeddingBag:
    bound = initial_bound(shape.num_rows)
    weight = torch.empty(shape.num_rows, dim).uniform_(-bound, bound)
    return nn.EmbeddingBag.from_pretrained(weight, freeze=False, mode=shape.mode)


def _head(shape: Shape) -> nn.Module:
    if shape.model == "op":
        return Concatenated() if shape.structure == "concat_out" else Separate()
    heads = {"wide_and_deep": WideAndDeepHead, "dlrm": DlrmHead, "transformer": TransformerHead}
    return heads[shape.model](len(shape.bag_sizes), shape.dim)


class Separate(nn.Module):
    """The vectors as they are, (B, D) per table."""

    def forward(self, vectors: list[Tensor], dense: Tensor | None) -> list[Tensor]:
        """The vectors, unchanged."""
        return vectors


class Concatenated(nn.Module):
    """The vectors of all tables side by side."""

    def forward(self, vectors: list[Tensor], dense: Tensor | None) -> Tensor:
        """The vectors as one tensor (B, T * D)."""
        return torch.cat(vectors, 1)


class WideAndDeepHead(nn.Module):
    """Cheng et al. 2016, arXiv:1606.07792: a linear model of all features beside a perceptron over their vectors."""

    def __init__(self, num_tables: int, dim: int) -> None:
        super().__init__()
        self.num_tables = num_tables
        self.wide = nn.Linear(DENSE_FEATURES, 1)
        self.deep = _perceptron(num_tables * dim + DENSE_FEATURES, *_DEEP, 1)

    def forward(self, vectors: list[Tensor], dense: Tensor) -> Tensor:
        """Logits (B, 1): vectors are those of the deep half, then those of the wide one."""
        deep, wide = vectors[: self.num_tables], vectors[self.num_tables :]
        linear = torch.cat(wide, 1).sum(1, keepdim=True) + self.wide(dense)
        return linear + self.deep(torch.cat([*deep, dense], 1))


class DlrmHead(nn.Module):
    """Naumov et al. 2019, arXiv:1906.00091: dot products of all pairs of vectors between two perceptrons."""

    pairs: Tensor

    def __init__(self, num_tables: int, dim: int) -> None:
        super().__init__()
        self.bottom = nn.Sequential(_perceptron(DENSE_FEATURES, *_BOTTOM, dim), nn.ReLU())
        rows, columns = torch.tril_indices(num_tables + 1, num_tables + 1, offset=-1)
        self.register_buffer("pairs", rows * (num_tables + 1) + columns)
        self.top = _perceptron(dim + len(rows), *_TOP, 1)

    def forward(self, vectors: list[Tensor], dense: Tensor) -> Tensor:
        """Logits (B, 1)."""
        bottom = self.bottom(dense)
        all_vectors = torch.stack([bottom, *vectors], 1)
        products = torch.bmm(all_vectors, all_vectors.transpose(1, 2)).flatten(1)
        return self.top(torch.cat([bottom, products.index_select(1, self.pairs)], 1))


class TransformerHead(nn.Module):
    """A transformer's block over the vectors of all features, as in AutoInt (Song et al. 2019, arXiv:1810.11921).

    The block is that of Xiong et al. 2020, arXiv:2002.04745, which norms before each half.
    """

    def __init__(self, num_tables: int, dim: int) -> None:
        super().__init__()
        if dim % _HEADS:
            raise ValueError(f"{_HEADS} heads of attention share the dimension {dim}: take an even one")
        self.dense = nn.Linear(DENSE_FEATURES, dim)
        self.before, self.between = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.queries_keys_values, self.joined = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.wider = nn.Sequential(nn.Linear(dim, _WIDER * dim), nn.GELU(), nn.Linear(_WIDER * dim, dim))
        self.top = nn.Linear((num_tables + 1) * dim, 1)

    def forward(self, vectors: list[Tensor], dense: Tensor) -> Tensor:
        """Logits (B, 1)."""
        x = torch.stack([self.dense(dense), *vectors], 1)
        split = self.queries_keys_values(self.before(x)).unflatten(2, (3, _HEADS, -1)).permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(split[0], split[1], split[2])
        x = x + self.joined(seen.transpose(1, 2).flatten(2))
        x = x + self.wider(self.between(x))
        return self.top(x.flatten(1))


def _perceptron(*sizes: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(sizes):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*layers[:-1])

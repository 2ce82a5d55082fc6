"""KeyedEmbeddingBags: tables of this project where a model has torchrec's EmbeddingBagCollection."""

import inspect
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from torchrec import EmbeddingBagCollection, EmbeddingBagConfig, KeyedJaggedTensor, KeyedTensor

_POOLINGS = {"sum": "SUM", "mean": "MEAN"}


class KeyedEmbeddingBags(nn.Module):
    """Looks up the ids of a KeyedJaggedTensor and gives a KeyedTensor, as EmbeddingBagCollection does on one machine.

    Args:
        tables: name -> what is called with ids (N,) and offsets and gives (B, D): any embedding bag of this project, or
            torch's own. Trained as it is elsewhere: quantized tables by a QuantizedOptimizer over the whole model.
        features: name of a table -> the keys whose ids it looks up, one after another; without an entry the key of its
            own name. A CompressedEmbeddingBag has a key for each of its fields, in their order.
        is_weighted: whether vectors are multiplied by the weights of the KeyedJaggedTensor.

    A key that several tables look up is called `key@table` in what is given, as in torchrec. Raises ValueError, and
    TypeError for a table that takes no weights.
    """

    def __init__(
        self,
        tables: Mapping[str, nn.Module],
        features: Mapping[str, Sequence[str]] | None = None,
        is_weighted: bool = False,
    ) -> None:
        super().__init__()
        if not tables:
            raise ValueError("there is no table")
        given = features or {}
        if unknown := next((name for name in given if name not in tables), ""):
            raise ValueError(f"features are named for a table {unknown!r}, which there is none of")
        try:
            self.tables = nn.ModuleDict(tables)
        except KeyError as error:  # `items`, or with a point
            raise ValueError(f"torch takes no module by the name of one of the tables ({error}): rename it") from None
        self.keys_of = {name: tuple(given.get(name, (name,))) for name in tables}
        self._weighted = bool(is_weighted)
        for name, table in tables.items():
            self._check(name, table)
        often = Counter(key for keys in self.keys_of.values() for key in keys)
        self.names = [f"{key}@{name}" if often[key] > 1 else key for name, keys in self.keys_of.items() for key in keys]

    def _check(self, name: str, table: nn.Module) -> None:
        keys, fields = self.keys_of[name], _fields(table)
        if not keys or len(set(keys)) != len(keys):
            raise ValueError(f"the table {name} needs keys, each once, not {list(keys)}")
        if fields > 1 and len(keys) != fields:
            raise ValueError(f"the table {name} has {fields} fields, and needs a key for each, not {list(keys)}")
        if self._weighted and "per_sample_weights" not in inspect.signature(table.forward).parameters:
            raise TypeError(f"the table {name} takes no weights: leave is_weighted out, or take another table")

    @classmethod
    def of(
        cls, collection: "EmbeddingBagCollection", make: Callable[["EmbeddingBagConfig"], nn.Module]
    ) -> "KeyedEmbeddingBags":
        """In the place of a collection: `make` gives a table of as many rows and dimensions for each of its configs.

        Raises ValueError where it gives another one.
        """
        tables: dict[str, nn.Module] = {}
        for config in collection.embedding_bag_configs():
            table = tables[config.name] = make(config)
            made, wanted = _size(table), (config.num_embeddings, config.embedding_dim)
            if made != wanted:
                raise ValueError(f"the table {config.name} has rows and dimensions {made}, and needs {wanted}")
            if getattr(table, "mode", "") != config.pooling.name.lower():
                raise ValueError(f"the table {config.name} must pool by mode={config.pooling.name.lower()!r}")
        features = {config.name: config.feature_names for config in collection.embedding_bag_configs()}
        return cls(tables, features, collection.is_weighted())

    def forward(self, features: "KeyedJaggedTensor") -> "KeyedTensor":
        """The pooled vectors of each key: (B, sum of dimensions), float32.

        Raises ValueError for a key that is not there, and for batches of several sizes in one; what the tables raise.
        """
        from torchrec import KeyedTensor

        if features.variable_stride_per_key() or features.inverse_indices_or_none() is not None:
            raise ValueError("all keys must have one batch size, and no inverse indices")
        there = features.to_dict()
        for key in (key for keys in self.keys_of.values() for key in keys):
            if key not in there:
                raise ValueError(f"the KeyedJaggedTensor has no key {key!r}; it has {', '.join(features.keys())}")
        found: list[Tensor] = []
        for name, table in self.tables.items():
            found += self._looked_up(table, [there[key] for key in self.keys_of[name]])
        values = torch.cat([vectors.float() for vectors in found], 1)
        return KeyedTensor(keys=self.names, length_per_key=[vectors.size(1) for vectors in found], values=values)

    def _looked_up(self, table: nn.Module, parts: Sequence[Any]) -> Sequence[Tensor]:
        whole = getattr(table, "include_last_offset", False)
        ids = [part.values() for part in parts]
        offsets = [part.offsets() if whole else part.offsets()[:-1] for part in parts]
        weights = [part.weights() for part in parts] if self._weighted else None
        if _fields(table) > 1:
            given: Sequence[Tensor] = table(ids, offsets, weights) if weights else table(ids, offsets)
            return given
        more = [{"per_sample_weights": own} for own in weights] if weights else [{}] * len(ids)
        return [table(own, starts, **extra) for own, starts, extra in zip(ids, offsets, more, strict=True)]

    def is_weighted(self) -> bool:
        """Whether vectors are multiplied by weights."""
        return self._weighted

    def embedding_bag_configs(self) -> "list[EmbeddingBagConfig]":
        """What torchrec's models ask of a collection; of a table of several fields one config with all its rows."""
        from torchrec import EmbeddingBagConfig, PoolingType

        return [
            EmbeddingBagConfig(
                name=name,
                num_embeddings=_size(table)[0],
                embedding_dim=_size(table)[1],
                feature_names=list(self.keys_of[name]),
                pooling=PoolingType[_POOLINGS.get(str(getattr(table, "mode", "sum")), "NONE")],
            )
            for name, table in self.tables.items()
        ]


def _fields(table: nn.Module) -> int:
    return len(getattr(table, "fields", ()))


def _size(table: nn.Module) -> tuple[int, int]:
    """Rows and dimensions."""
    return int(getattr(table, "num_embeddings", 0)), int(getattr(table, "embedding_dim", 0))

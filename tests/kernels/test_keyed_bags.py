"""Tables in the place of torchrec's EmbeddingBagCollection; with torchrec itself where it is installed."""

import sys
from dataclasses import dataclass, field
from enum import Enum
from types import ModuleType, SimpleNamespace

import pytest
import torch
from torch import Tensor, nn

from bench_engine.kernels import DenseEmbeddingBag, HashedEmbeddingBag
from bench_engine.kernels.budget import CompressedEmbeddingBag
from bench_engine.kernels.keyed_bags import KeyedEmbeddingBags
from bench_engine.kernels.quantized import QuantizedEmbeddingBag, QuantizedFIITEDEmbeddingBag, QuantizedOptimizer

pytestmark = pytest.mark.usefixtures("built_kernels")

IDS = {"user": [[1, 2], [], [3]], "item": [[0], [4, 4, 4], [9, 1]], "shop": [[2], [1], [0]]}


@dataclass
class _KeyedTensor:
    """As much of torchrec's as is used here."""

    keys: list[str]
    length_per_key: list[int]
    values: Tensor


@dataclass
class _Config:
    num_embeddings: int
    embedding_dim: int
    name: str = ""
    feature_names: list[str] = field(default_factory=list)
    pooling: object = None


class _Pooling(Enum):
    SUM, MEAN, NONE = "SUM", "MEAN", "NONE"


class _Part:
    """The ids of one key, as a JaggedTensor has them."""

    def __init__(self, bags: list[list[int]], weighted: bool) -> None:
        self._bags, self._weighted = bags, weighted

    def values(self) -> Tensor:
        return torch.tensor([id for bag in self._bags for id in bag])

    def offsets(self) -> Tensor:
        return torch.tensor([0, *map(len, self._bags)]).cumsum(0)

    def weights(self) -> Tensor:
        return torch.arange(1, len(self.values()) + 1) / 4


class _Jagged:
    def __init__(self, keys: tuple[str, ...] = tuple(IDS), weighted: bool = False) -> None:
        self._parts = {key: _Part(IDS[key], weighted) for key in keys}
        self.several = False

    def keys(self) -> list[str]:
        return list(self._parts)

    def to_dict(self) -> dict[str, _Part]:
        return self._parts

    def variable_stride_per_key(self) -> bool:
        return self.several

    def inverse_indices_or_none(self) -> None:
        return None


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """torchrec's names, for those who have not installed it."""
    module = ModuleType("torchrec")
    module.KeyedTensor, module.EmbeddingBagConfig, module.PoolingType = _KeyedTensor, _Config, _Pooling
    monkeypatch.setitem(sys.modules, "torchrec", module)
    return module


def torchs(table: nn.Module, key: str, mode: str = "sum", weights: Tensor | None = None) -> Tensor:
    part = _Part(IDS[key], False)
    own = nn.EmbeddingBag.from_pretrained(table.materialize(), mode=mode)
    return own(part.values(), part.offsets()[:-1], per_sample_weights=weights)


def test_vectors_are_those_of_the_tables_key_by_key(library: ModuleType) -> None:
    users = QuantizedEmbeddingBag(5, 8, mode="mean", include_last_offset=True)
    things = HashedEmbeddingBag(10, 4, compression=0.5)
    bags = KeyedEmbeddingBags({"users": users, "things": things}, {"users": ["user"], "things": ["item", "shop"]})
    found = bags(_Jagged())
    assert (found.keys, found.length_per_key) == (["user", "item", "shop"], [8, 4, 4])
    wanted = [torchs(users, "user", "mean"), torchs(things, "item"), torchs(things, "shop")]
    assert torch.allclose(found.values, torch.cat(wanted, 1), atol=1e-6)
    assert not found.values[1, :8].any()


def test_a_key_of_several_tables_is_told_apart_and_one_table_has_its_own_name(library: ModuleType) -> None:
    bags = KeyedEmbeddingBags(
        {"a": DenseEmbeddingBag(10, 2), "item": DenseEmbeddingBag(10, 2)}, {"a": ["item", "shop"]}
    )
    assert bags(_Jagged()).keys == ["item@a", "shop", "item@item"]


def test_weights_are_taken(library: ModuleType) -> None:
    table = QuantizedEmbeddingBag(10, 8)
    found = KeyedEmbeddingBags({"item": table}, is_weighted=True)(_Jagged(weighted=True))
    assert torch.allclose(found.values, torchs(table, "item", weights=_Part(IDS["item"], True).weights()), atol=1e-6)
    with pytest.raises(TypeError, match="the table item takes no weights"):
        KeyedEmbeddingBags({"item": DenseEmbeddingBag(10, 8)}, is_weighted=True)


def test_all_fields_of_a_budget_are_looked_up_and_trained(library: ModuleType) -> None:
    fields = CompressedEmbeddingBag([5, 10, 3], 8, 0.0005, counts=torch.full((18,), 100), seed=1)
    bags = KeyedEmbeddingBags({"all": fields}, {"all": list(IDS)})
    optimizer = QuantizedOptimizer(bags, lr=0.5)
    found = bags(_Jagged())
    assert (found.keys, found.length_per_key) == (list(IDS), [8, 8, 8])
    dense, starts = fields.materialize(), {"user": 0, "item": 5, "shop": 15}
    item = torch.stack([dense[[starts["item"] + id for id in bag]].sum(0) for bag in IDS["item"]])
    assert torch.allclose(found.values[:, 8:16], item, atol=1e-6)
    found.values.sum().backward()
    optimizer.step()
    assert not torch.equal(fields.materialize(), dense)
    with pytest.raises(ValueError, match="has 3 fields, and needs a key for each"):
        KeyedEmbeddingBags({"all": fields}, {"all": ["user"]})


def test_bad_input_is_a_sentence(library: ModuleType) -> None:
    bags = KeyedEmbeddingBags({"item": DenseEmbeddingBag(10, 2)})
    with pytest.raises(ValueError, match="has no key 'item'; it has user, shop"):
        bags(_Jagged(("user", "shop")))
    several = _Jagged()
    several.several = True
    with pytest.raises(ValueError, match="all keys must have one batch size"):
        bags(several)
    with pytest.raises(ValueError, match="torch takes no module by the name of one of the tables"):
        KeyedEmbeddingBags({"items": DenseEmbeddingBag(10, 2)})
    with pytest.raises(ValueError, match="there is no table"):
        KeyedEmbeddingBags({})
    with pytest.raises(ValueError, match="for a table 'x', which there is none of"):
        KeyedEmbeddingBags({"item": DenseEmbeddingBag(10, 2)}, {"x": ["item"]})
    with pytest.raises(ValueError, match="needs keys, each once"):
        KeyedEmbeddingBags({"item": DenseEmbeddingBag(10, 2)}, {"item": ["a", "a"]})


def test_in_the_place_of_a_collection_tables_have_its_sizes_and_pooling(library: ModuleType) -> None:
    configs = [_Config(10, 8, "goods", ["item", "shop"], _Pooling.MEAN), _Config(5, 8, "users", ["user"], _Pooling.SUM)]
    collection = SimpleNamespace(embedding_bag_configs=lambda: configs, is_weighted=lambda: False)

    def make(config: _Config, dim: int = 8) -> nn.Module:
        return QuantizedEmbeddingBag(config.num_embeddings, dim, mode=config.pooling.name.lower())

    bags = KeyedEmbeddingBags.of(collection, make)
    assert bags.embedding_bag_configs() == configs
    assert bags(_Jagged()).keys == ["item", "shop", "user"]
    with pytest.raises(ValueError, match=r"the table goods has rows and dimensions \(10, 4\), and needs \(10, 8\)"):
        KeyedEmbeddingBags.of(collection, lambda config: make(config, 4))
    with pytest.raises(ValueError, match="the table goods must pool by mode='mean'"):
        KeyedEmbeddingBags.of(collection, lambda config: QuantizedEmbeddingBag(config.num_embeddings, 8))


def test_torchrec_itself_gives_the_same_and_its_dlrm_trains() -> None:
    torchrec = pytest.importorskip("torchrec")
    from torchrec.models.dlrm import DLRM

    configs = [
        torchrec.EmbeddingBagConfig(name="goods", embedding_dim=8, num_embeddings=10, feature_names=["item", "shop"]),
        torchrec.EmbeddingBagConfig(name="users", embedding_dim=8, num_embeddings=5, feature_names=["user"]),
    ]
    theirs = torchrec.EmbeddingBagCollection(tables=configs)
    ours = KeyedEmbeddingBags.of(theirs, lambda config: QuantizedEmbeddingBag(config.num_embeddings, 8))
    for name, table in ours.tables.items():
        theirs.embedding_bags[name].weight.data.copy_(table.materialize())
    values = torch.tensor([id for bags in IDS.values() for bag in bags for id in bag])
    lengths = torch.tensor([len(bag) for bags in IDS.values() for bag in bags])
    batch = torchrec.KeyedJaggedTensor(list(IDS), values, lengths=lengths)
    found, wanted = ours(batch), theirs(batch)
    assert found.keys() == wanted.keys()
    assert torch.allclose(found.values(), wanted.values(), atol=1e-6)
    model = DLRM(ours, 4, [16, 8], [16, 1])
    rows = [table.rows.clone() for table in ours.tables.values()]
    optimizer = QuantizedOptimizer(model, lr=0.1)
    model(torch.rand(3, 4), batch).sum().backward()
    optimizer.step()
    assert all(not torch.equal(table.rows, old) for table, old in zip(ours.tables.values(), rows, strict=True))


def test_frozen_tables_have_their_sizes(library: ModuleType) -> None:
    for table in (QuantizedEmbeddingBag(10, 8), QuantizedFIITEDEmbeddingBag(10, 8)):
        (config,) = KeyedEmbeddingBags({"item": table.to_frozen()}).embedding_bag_configs()
        assert (config.num_embeddings, config.embedding_dim) == (10, 8)

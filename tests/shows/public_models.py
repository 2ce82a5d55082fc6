"""Trains and evaluates one public model, as its package has it: public_models.py MODEL STEPS

A plain script that knows nothing of Parallel OP. Prints losses and sums of outputs, and last of all the processor and
wall-clock seconds of its steps. With `--list` it prints the names of the models instead.
"""

import os
import sys
import time
import types
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

BATCH, DIM, FIELDS, DENSE, LENGTH = 128, 16, 26, 13, 10
ROWS = [(20, 200, 1_000, 5_000)[k % 4] for k in range(FIELDS)]

Batch = tuple[tuple[Any, ...], Tensor]
# A model, its batches without end (arguments and labels), and what is added to its loss.
Made = tuple[nn.Module, Iterator[Batch], Callable[[], Any]]


def main(name: str, steps: int) -> None:
    """Steps of training, and half as many of inference."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model, batches, more = MODELS[name]()
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.01)
    start, start_wall = time.process_time(), time.perf_counter()
    model.train()
    for step in range(steps):
        arguments, labels = next(batches)
        loss = nn.functional.mse_loss(output(model(*arguments)), labels) + more()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % max(steps // 20, 1) == 0:
            print(f"step {step}: loss {loss.item():.6f}")
    model.eval()
    with torch.no_grad():
        for step in range(steps // 2):
            result = output(model(*next(batches)[0]))
            if step % max(steps // 20, 1) == 0:
                print(f"step {step}: outputs {result.sum().item():.6f}")
    print(f"seconds {time.process_time() - start:.3f} {time.perf_counter() - start_wall:.3f}")


def output(result: Any) -> Tensor:
    """One number for each example of what a model gives."""
    if hasattr(result, "last_hidden_state"):
        result = result.last_hidden_state
    if isinstance(result, tuple | list):
        result = result[0] - result[1] if len(result) == 2 else result[0]
    return result.reshape(len(result), -1).float().mean(1)


def nothing() -> float:
    return 0.0


def numbers(seed: int = 1) -> Iterator[torch.Generator]:
    generator = torch.Generator().manual_seed(seed)
    while True:
        yield generator


# deepctr-torch: all features of an example in one row of floats.


def deepctr(kind: str, **options: Any) -> Made:
    without_asking_for_a_newer_version()
    from deepctr_torch import inputs, models

    sparse = [inputs.SparseFeat(f"c{k}", ROWS[k], embedding_dim=DIM) for k in range(FIELDS)]
    dense = [inputs.DenseFeat(f"d{k}", 1) for k in range(DENSE)]
    made = getattr(models, kind)
    model = made(sparse + dense, **options) if kind in _ONE_LIST else made(sparse + dense, sparse + dense, **options)
    return model, deepctr_batches(None), model.get_regularization_loss


_ONE_LIST = {"SharedBottom", "ESMM", "MMOE", "PLE", "PNN", "MLR"}


def deepctr_sequences(kind: str, **options: Any) -> Made:
    without_asking_for_a_newer_version()
    from deepctr_torch import inputs, models

    sparse = [inputs.SparseFeat(f"c{k}", ROWS[k], embedding_dim=DIM) for k in range(FIELDS)]
    dense = [inputs.DenseFeat(f"d{k}", 1) for k in range(DENSE)]
    history = [
        inputs.VarLenSparseFeat(
            inputs.SparseFeat(f"hist_c{k}", ROWS[k], embedding_dim=DIM, embedding_name=f"c{k}"),
            maxlen=LENGTH,
            length_name="length",
        )
        for k in range(4)
    ]
    model = getattr(models, kind)(sparse + dense + history, [f"c{k}" for k in range(4)], **options)
    return model, deepctr_batches(model), model.get_regularization_loss


def deepctr_batches(with_history: Any) -> Iterator[Batch]:
    for generator in numbers():
        random = partial(torch.randint, generator=generator)
        columns = [random(0, ROWS[k], (BATCH, 1)).float() for k in range(FIELDS)]
        columns += [torch.rand(BATCH, DENSE, generator=generator)]
        if with_history is not None:
            columns.append(random(1, ROWS[0], (BATCH, LENGTH)).float())
            columns.append(random(1, LENGTH + 1, (BATCH, 1)).float())
            columns += [random(1, ROWS[k], (BATCH, LENGTH)).float() for k in range(1, 4)]
        yield (torch.cat(columns, 1),), random(0, 2, (BATCH,)).float()


def without_asking_for_a_newer_version() -> None:
    """The package asks the network for one when it is imported, and prints what it hears."""
    utilities = types.ModuleType("deepctr_torch.utils")
    vars(utilities)["check_version"] = lambda version: None
    sys.modules["deepctr_torch.utils"] = utilities


# torch-rechub: a dictionary of features.


def rechub(kind: str, *order: str, **options: Any) -> Made:
    from torch_rechub.basic.features import DenseFeature, SequenceFeature, SparseFeature
    from torch_rechub.models import matching, multi_task, ranking

    sparse = [SparseFeature(f"c{k}", ROWS[k], embed_dim=DIM) for k in range(FIELDS)]
    features = {
        "sparse": sparse,
        "dense": [DenseFeature(f"d{k}") for k in range(DENSE)],
        "users": sparse[:13],
        "items": sparse[13:],
        "others": [SparseFeature(f"n{k}", ROWS[k], embed_dim=DIM, shared_with=f"c{k}") for k in range(13, FIELDS)],
        "history": [
            SequenceFeature(f"h{k}", ROWS[k], embed_dim=DIM, pooling="concat", shared_with=f"c{k}") for k in range(4)
        ],
        "targets": sparse[:4],
        "rest": sparse[4:],
    }
    features["all"] = sparse + features["dense"]
    package = next(package for package in (ranking, matching, multi_task) if hasattr(package, kind))
    model = getattr(package, kind)(*(features[name] for name in order), **options)
    return model, rechub_batches(), nothing


def rechub_batches() -> Iterator[Batch]:
    for generator in numbers():
        random = partial(torch.randint, generator=generator)
        given = {f"c{k}": random(0, ROWS[k], (BATCH,), dtype=torch.int32) for k in range(FIELDS)}
        given |= {f"n{k}": random(0, ROWS[k], (BATCH,), dtype=torch.int32) for k in range(13, FIELDS)}
        given |= {f"d{k}": torch.rand(BATCH, generator=generator) for k in range(DENSE)}
        given |= {f"h{k}": random(1, ROWS[k], (BATCH, LENGTH), dtype=torch.int32) for k in range(4)}
        yield (given,), random(0, 2, (BATCH,)).float()


_MLP = {"dims": [256, 128], "dropout": 0.0, "activation": "relu"}
_NO_DIMS = {"dropout": 0.0, "activation": "relu"}
_SMALL = {"dims": [64]}
_TASKS = {"task_types": ["classification"] * 2}
_TOWERS = {"tower_params_list": [_SMALL] * 2}


# torchrec: sparse features in a KeyedJaggedTensor.


def torchrec_dlrm() -> Made:
    from torchrec import EmbeddingBagCollection
    from torchrec.models.dlrm import DLRM

    model = DLRM(EmbeddingBagCollection(tables=bag_configs()), DENSE, [64, DIM], [64, 1])
    return model, torchrec_batches(), nothing


class OverKeys(nn.Module):
    """An MLP over the collection's vectors, as its documentation has it."""

    def __init__(self, bags: nn.Module) -> None:
        super().__init__()
        self.bags = bags
        self.over = nn.Sequential(nn.Linear(DENSE + FIELDS * DIM, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, dense: Tensor, sparse: Any) -> Tensor:
        return self.over(torch.cat([dense, self.bags(sparse).values()], 1))


def torchrec_bags() -> Made:
    from torchrec import EmbeddingBagCollection

    return OverKeys(EmbeddingBagCollection(tables=bag_configs())), torchrec_batches(), nothing


def bag_configs() -> list[Any]:
    from torchrec import EmbeddingBagConfig

    return [
        EmbeddingBagConfig(name=f"t{k}", embedding_dim=DIM, num_embeddings=ROWS[k], feature_names=[f"c{k}"])
        for k in range(FIELDS)
    ]


def torchrec_batches() -> Iterator[Batch]:
    from torchrec import KeyedJaggedTensor

    for generator in numbers():
        random = partial(torch.randint, generator=generator)
        lengths = random(0, 4, (FIELDS, BATCH))
        values = torch.cat([random(0, ROWS[k], (int(lengths[k].sum()),)) for k in range(FIELDS)])
        sparse = KeyedJaggedTensor([f"c{k}" for k in range(FIELDS)], values, lengths=lengths.flatten())
        yield (torch.rand(BATCH, DENSE, generator=generator), sparse), random(0, 2, (BATCH,)).float()


# transformers: models of two layers with random weights.


def transformer(kind: str) -> Made:
    os.environ["HF_HUB_OFFLINE"] = "1"
    import transformers

    size = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 128}
    configs: dict[str, Callable[[], Any]] = {
        "Bert": lambda: transformers.BertConfig(vocab_size=1000, **size),
        "Roberta": lambda: transformers.RobertaConfig(vocab_size=1000, **size),
        "GPT2": lambda: transformers.GPT2Config(vocab_size=1000, n_embd=64, n_layer=2, n_head=2),
        "T5Encoder": lambda: transformers.T5Config(vocab_size=1000, d_model=64, d_kv=32, d_ff=128, num_layers=2),
    }
    return getattr(transformers, f"{kind}Model")(configs[kind]()), words(), nothing


def words() -> Iterator[Batch]:
    for generator in numbers():
        ids = torch.randint(3, 1000, (8, 32), generator=generator)
        yield (ids,), torch.rand(8, generator=generator)


MODELS: dict[str, Callable[..., Made]] = {
    **{
        f"deepctr-torch {kind}": partial(deepctr, kind)
        for kind in (
            "DeepFM",
            "xDeepFM",
            "WDL",
            "DCN",
            "DCNMix",
            "AutoInt",
            "AFM",
            "AFN",
            "CCPM",
            "DIFM",
            "IFM",
            "NFM",
            "ONN",
            "PNN",
            "MLR",
            "FiBiNET",
            "SharedBottom",
            "MMOE",
            "PLE",
            "ESMM",
        )
    },
    **{f"deepctr-torch {kind}": partial(deepctr_sequences, kind) for kind in ("DIN", "DIEN")},
    "torch-rechub DeepFM": partial(rechub, "DeepFM", "all", "sparse", mlp_params=_MLP),
    "torch-rechub WideDeep": partial(rechub, "WideDeep", "dense", "sparse", mlp_params=_MLP),
    "torch-rechub DCN": partial(rechub, "DCN", "all", n_cross_layers=3, mlp_params=_MLP),
    "torch-rechub DCNv2": partial(rechub, "DCNv2", "all", n_cross_layers=3, mlp_params=_MLP),
    "torch-rechub EDCN": partial(rechub, "EDCN", "all", n_cross_layers=3, mlp_params=_NO_DIMS),
    "torch-rechub AutoInt": partial(rechub, "AutoInt", "sparse", "dense", mlp_params=_MLP),
    "torch-rechub AFM": partial(rechub, "AFM", "sparse", embed_dim=DIM),
    "torch-rechub FiBiNet": partial(rechub, "FiBiNet", "sparse", mlp_params=_MLP),
    "torch-rechub DIN": partial(
        rechub,
        "DIN",
        "rest",
        "history",
        "targets",
        mlp_params={"dims": [256, 128]},
        attention_mlp_params={"dims": [64, 32]},
    ),
    "torch-rechub BST": partial(rechub, "BST", "rest", "history", "targets", mlp_params=_MLP, dropout=0.0),
    "torch-rechub DSSM": partial(rechub, "DSSM", "users", "items", user_params=_MLP, item_params=_MLP),
    "torch-rechub FaceBookDSSM": partial(
        rechub, "FaceBookDSSM", "users", "items", "others", user_params=_MLP, item_params=_MLP
    ),
    "torch-rechub ESMM": partial(rechub, "ESMM", "users", "items", cvr_params=_SMALL, ctr_params=_SMALL),
    "torch-rechub MMOE": partial(rechub, "MMOE", "all", n_expert=4, expert_params=_SMALL, **_TASKS, **_TOWERS),
    "torch-rechub SharedBottom": partial(rechub, "SharedBottom", "all", bottom_params=_SMALL, **_TASKS, **_TOWERS),
    "torch-rechub AITM": partial(rechub, "AITM", "all", n_task=2, bottom_params=_SMALL, **_TOWERS),
    "torchrec DLRM": torchrec_dlrm,
    "torchrec EmbeddingBagCollection": torchrec_bags,
    **{f"transformers {kind}": partial(transformer, kind) for kind in ("Bert", "Roberta", "GPT2", "T5Encoder")},
}


if __name__ == "__main__":
    if sys.argv[1] == "--list":
        print("\n".join(MODELS))
    else:
        main(sys.argv[1], int(sys.argv[2]))

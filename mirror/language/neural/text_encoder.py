"""Words of a question in their context: the lower layers of a pretrained transformer, in numpy.

The layers are those of MiniLM (Wang et al. 2020, arXiv 2002.10957) as all-MiniLM-L6-v2 has them (Apache 2.0). They lie
in one file for all readers; each reader adds to their matrices what it has learnt, as products of two thin ones (LoRA,
Hu et al. 2021, arXiv 2106.09685). A word is cut into pieces of a fixed vocabulary, the longest first (WordPiece).
"""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from mirror.language.neural.layers import softmax_of

BASE = Path(__file__).with_name("text.npz")
PREFIX = "text."  # of the names of what a reader has learnt
WIDTH, HEADS, MOST_PIECES = 384, 12, 128
PARTS = ("qkv", "o", "a", "b")  # matrices of a layer: of attention, and the two inner ones
PAD, UNKNOWN, FIRST, LAST, HIDDEN = "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"
_EPSILON = np.float32(1e-12)
_LONGEST_WORD = 40  # letters; longer ones are unknown


@dataclass(frozen=True)
class Pieces:
    """A question in pieces.

    Attributes:
        ids: (pieces,) numbers of the vocabulary, with those that begin and end a text.
        word: (pieces,) the word that each is a part of; -1 for the beginning and the end.
    """

    ids: np.ndarray
    word: np.ndarray


class Vocabulary:
    """The pieces and their numbers."""

    def __init__(self, pieces: Sequence[str]) -> None:
        self._number = {piece: i for i, piece in enumerate(pieces)}
        self.pad, self.hidden = self._number[PAD], self._number[HIDDEN]
        self._cut = lru_cache(maxsize=10_000)(self._pieces_of)

    def __len__(self) -> int:
        return len(self._number)

    def pieces(self, words: Sequence[str]) -> Pieces:
        """The pieces of words; those behind the first MOST_PIECES are left out."""
        ids, word = [self._number[FIRST]], [-1]
        for i, text in enumerate(words):
            for number in self._cut(text):
                ids.append(number)
                word.append(i)
        return Pieces(np.array([*ids[: MOST_PIECES - 1], self._number[LAST]]), np.array([*word[: MOST_PIECES - 1], -1]))

    def _pieces_of(self, text: str) -> tuple[int, ...]:
        return tuple(number for part in _parts(text) for number in self._of_part(part))

    def _of_part(self, part: str) -> list[int]:
        if len(part) > _LONGEST_WORD:
            return [self._number[UNKNOWN]]
        found, at = [], 0
        while at < len(part):
            for end in range(len(part), at, -1):
                number = self._number.get(f"##{part[at:end]}" if at else part[:end])
                if number is not None:
                    break
            else:
                return [self._number[UNKNOWN]]
            found.append(number)
            at = end
        return found


def _parts(text: str) -> list[str]:
    """A text in lower case without accents, cut at spaces and at each sign."""
    plain = unicodedata.normalize("NFD", text.lower())
    parts: list[str] = [""]
    for letter in plain:
        kind = unicodedata.category(letter)
        if kind == "Mn":
            continue
        if letter.isspace():
            parts.append("")
        elif letter.isalnum():
            parts[-1] += letter
        else:
            parts += [letter, ""]
    return [part for part in parts if part]


def packed(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(rows, width) as whole numbers of a byte, and (rows,) what each row is multiplied by."""
    scale = np.maximum(np.abs(weights).max(1), 1e-8) / 127
    return np.round(weights / scale[:, None]).astype(np.int8), scale.astype(np.float32)


def unpacked(rows: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """What `packed` has packed."""
    found: np.ndarray = rows.astype(np.float32) * scale[:, None]
    return found


@dataclass(frozen=True)
class _Layer:
    """One layer: attention and two inner layers, each with a norm behind it; weights are (inputs, outputs)."""

    qkv: np.ndarray
    qkv_bias: np.ndarray
    o: np.ndarray
    o_bias: np.ndarray
    n1: tuple[np.ndarray, np.ndarray]
    a: np.ndarray
    a_bias: np.ndarray
    b: np.ndarray
    b_bias: np.ndarray
    n2: tuple[np.ndarray, np.ndarray]

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """(pieces, WIDTH)."""
        n = len(x)
        qkv = (x @ self.qkv + self.qkv_bias).reshape(n, 3, HEADS, -1).transpose(1, 2, 0, 3)
        seen = (softmax_of(qkv[0] @ qkv[1].swapaxes(1, 2)) @ qkv[2]).swapaxes(0, 1).reshape(n, WIDTH)
        x = _normed(x + seen @ self.o + self.o_bias, *self.n1)
        return _normed(x + _gelu(x @ self.a + self.a_bias) @ self.b + self.b_bias, *self.n2)


class TextEncoder:
    """Words in, a vector for each out."""

    def __init__(self, learnt: Mapping[str, Any]) -> None:
        """`learnt` is what a reader has learnt, its names without PREFIX."""
        base = base_weights()
        self.vocabulary = base_vocabulary()
        self._pieces, self._scale, self._place = base["piece"], base["piece.scale"], base["place"].astype(np.float32)
        self._norm = _pair(learnt, "norm")
        self._layers = [_layer(base, learnt, f"layer.{i}") for i in range(layers_of(base))]

    def vectors(self, words: Sequence[str]) -> np.ndarray:
        """(words, WIDTH): the mean of each word's pieces in their context; zeros for a word without any."""
        pieces = self.vocabulary.pieces(words)
        x = unpacked(self._pieces[pieces.ids], self._scale[pieces.ids]) + self._place[: len(pieces.ids)]
        x = _normed(x, *self._norm)
        for layer in self._layers:
            x = layer(x)
        share = shares(pieces.word, len(words))
        found: np.ndarray = share @ x
        return found


def shares(word: np.ndarray, words: int) -> np.ndarray:
    """(words, pieces): how much each piece counts in the mean of its word."""
    held = (word[None, :] == np.arange(words)[:, None]).astype(np.float32)
    found: np.ndarray = held / np.maximum(held.sum(1, keepdims=True), 1)
    return found


@cache
def base_weights() -> dict[str, np.ndarray]:
    """What all readers share."""
    with np.load(BASE, allow_pickle=False) as held:
        return {name: held[name] for name in held.files}


def layers_of(base: Mapping[str, Any]) -> int:
    """How many layers a file holds."""
    return len({name.split(".")[1] for name in base if name.startswith("layer.")})


@cache
def base_vocabulary() -> Vocabulary:
    """The pieces that words are cut into."""
    return Vocabulary(str(base_weights()["pieces"]).split("\n"))


def _layer(base: Mapping[str, Any], learnt: Mapping[str, Any], at: str) -> _Layer:
    def weight(name: str) -> np.ndarray:
        """(inputs, outputs)."""
        found = unpacked(base[f"{at}.{name}"], base[f"{at}.{name}.scale"])
        found += learnt[f"{at}.{name}.up"].astype(np.float32) @ learnt[f"{at}.{name}.down"].astype(np.float32)
        return np.ascontiguousarray(found.T)

    qkv, o, a, b = (learnt[f"{at}.{name}.bias"].astype(np.float32) for name in PARTS)
    asking, scale = weight("qkv"), np.float32((WIDTH // HEADS) ** -0.5)
    asking[:, :WIDTH] *= scale
    qkv[:WIDTH] *= scale
    n1, n2 = (_pair(learnt, f"{at}.{name}") for name in ("n1", "n2"))
    return _Layer(asking, qkv, weight("o"), o, n1, weight("a"), a, weight("b"), b, n2)


def _pair(weights: Mapping[str, Any], name: str) -> tuple[np.ndarray, np.ndarray]:
    return weights[f"{name}.weight"].astype(np.float32), weights[f"{name}.bias"].astype(np.float32)


def _normed(x: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    x = x - x.mean(-1, keepdims=True)
    x /= np.sqrt(np.einsum("ni,ni->n", x, x)[:, None] / x.shape[-1] + _EPSILON)
    x *= weight
    x += bias
    return x


def _gelu(x: np.ndarray) -> np.ndarray:
    """x times the normal distribution's share below x, by its approximation with tanh (Hendrycks and Gimpel 2016)."""
    inner: np.ndarray = x * x
    inner *= 0.044715
    inner += 1
    inner *= x
    inner *= 0.7978845608028654
    np.tanh(inner, out=inner)
    inner += 1
    inner *= x
    inner *= 0.5
    return inner

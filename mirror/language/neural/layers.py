"""Layers of the trained network in numpy, with as few and as large products of matrices as it takes.

What a norm multiplies and adds is folded into the layer behind it; its mean is taken off the weights of all that items
and actions are sums of, so that a row always has mean 0. Layers that read the same numbers stand side by side, so that
one product computes them all.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

HEADS = 4
_EPSILON = np.float32(1e-5)


def standardized(x: np.ndarray) -> np.ndarray:
    """(n, width), of rows with mean 0: each row with variance 1; what a norm does before its weights."""
    variance = np.einsum("ni,ni->n", x, x)
    variance /= x.shape[-1]
    variance += _EPSILON
    scaled: np.ndarray = x / np.sqrt(variance, out=variance)[:, None]
    return scaled


def _centred(weights: np.ndarray) -> np.ndarray:
    """(..., width): with mean 0 in each row."""
    taken: np.ndarray = weights - weights.mean(-1, keepdims=True)
    return np.ascontiguousarray(taken)


def softmax_of(scores: np.ndarray) -> np.ndarray:
    """The weights of attention over the last axis, written over the scores."""
    scores -= np.maximum.reduce(scores, -1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= np.add.reduce(scores, -1, keepdims=True)
    return scores


def heads_first(x: np.ndarray) -> np.ndarray:
    """(n, width) -> (HEADS, n, width / HEADS), as a view."""
    return x.reshape(len(x), HEADS, -1).swapaxes(0, 1)


@dataclass(frozen=True)
class Linear:
    """A linear layer: `x @ weight + bias`.

    Attributes:
        weight: (width, outputs).
        bias: (outputs,).
    """

    weight: np.ndarray
    bias: np.ndarray

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """(n, width) -> (n, outputs)."""
        y: np.ndarray = x @ self.weight
        y += self.bias
        return y


@dataclass(frozen=True)
class EncoderLayer:
    """Items look at one another.

    Attributes:
        qkv: queries, keys and values of standardized items.
        o: what was seen, back to the width of items.
        relation: (HEADS, relations) that a relation adds to the score of a pair.
        alike: (HEADS,) that being alike in meaning adds.
        a, b: the inner layers, the first of standardized items.
    """

    qkv: Linear
    o: Linear
    relation: np.ndarray
    alike: np.ndarray
    a: Linear
    b: Linear

    def __call__(self, x: np.ndarray, relations: np.ndarray, alike: np.ndarray) -> np.ndarray:
        """(items, width); `relations` and the first rows of `alike`, those of the question, are those of the items."""
        q, k, v = (heads_first(part) for part in np.split(self.qkv(standardized(x)), 3, axis=1))
        scores = q @ k.swapaxes(1, 2)
        scores += np.take(self.relation, relations, axis=1)
        told = alike * self.alike[:, None, None]  # (HEADS, tokens, items)
        tokens = len(alike)
        scores[:, :tokens] += told
        scores[:, tokens:, :tokens] += told[:, :, tokens:].swapaxes(1, 2)
        x = x + self.o((softmax_of(scores) @ v).swapaxes(0, 1).reshape(x.shape))
        x += self.b(np.maximum(self.a(standardized(x)), 0))
        return x


@dataclass(frozen=True)
class DecoderLayer:
    """Actions look at those before them and at the items.

    Attributes:
        qkv: queries, keys and values of standardized actions.
        own: what was seen of actions, back to their width.
        q: queries of standardized actions to items.
        across: what was seen of items, back to the width of actions.
        a, b: the inner layers, the first of standardized actions.
    """

    qkv: Linear
    own: Linear
    q: Linear
    across: Linear
    a: Linear
    b: Linear


class Layers:
    """The layers of a network by the names of its weights in torch."""

    def __init__(self, weights: Mapping[str, np.ndarray]) -> None:
        self._w = weights
        # What the rows of items, and of actions, begin with.
        self.word, self.kind, self.place, self.action, self.step = (
            _centred(weights[f"{name}.weight"]) for name in ("word", "kind", "place", "action", "step")
        )
        self.feature, self.meaning = (_centred(weights[f"{name}.weight"].T) for name in ("feature", "meaning"))

    def _reading(self, *names: str, norm: str) -> Linear:
        """The layers side by side that read standardized rows, behind a norm."""
        weight = np.concatenate([self._w[f"{name}.weight"] for name in names]).T
        bias = np.concatenate([self._w[f"{name}.bias"] for name in names]) + self._w[f"{norm}.bias"] @ weight
        return Linear(np.ascontiguousarray(weight * self._w[f"{norm}.weight"][:, None]), bias)

    def _adding(self, name: str) -> Linear:
        """A layer whose outputs are added to rows."""
        return Linear(_centred(self._w[f"{name}.weight"].T), _centred(self._w[f"{name}.bias"]))

    def _attending(self, name: str, parts: Sequence[str], norm: str) -> Linear:
        """Queries first, divided by what scores are divided by."""
        found = self._reading(*(f"{name}.{part}" for part in parts), norm=norm)
        width = found.weight.shape[0]
        scale = np.float32(1 / math.sqrt(width / HEADS))
        found.weight[:, :width] *= scale
        found.bias[:width] *= scale
        return found

    def _places(self, part: str) -> list[str]:
        numbers = {name.split(".")[1] for name in self._w if name.startswith(f"{part}.")}
        return [f"{part}.{number}" for number in sorted(numbers, key=int)]

    @cached_property
    def context(self) -> Linear:
        """Of words in their context: what is added to the rows of words."""
        return self._adding("context")

    @cached_property
    def encoder(self) -> list[EncoderLayer]:
        """The layers that items go through."""
        return [
            EncoderLayer(
                self._attending(f"{at}.attend", "qkv", f"{at}.n1"),
                self._adding(f"{at}.attend.o"),
                np.ascontiguousarray(self._w[f"{at}.attend.bias.weight"].T),
                self._w[f"{at}.attend.alike"],
                self._reading(f"{at}.inner.a", norm=f"{at}.n2"),
                self._adding(f"{at}.inner.b"),
            )
            for at in self._places("encoder")
        ]

    @cached_property
    def decoder(self) -> list[DecoderLayer]:
        """The layers that actions go through."""
        return [
            DecoderLayer(
                self._attending(f"{at}.own", "qkv", f"{at}.n1"),
                self._adding(f"{at}.own.o"),
                self._attending(f"{at}.across", "q", f"{at}.n2"),
                self._adding(f"{at}.across.o"),
                self._reading(f"{at}.inner.a", norm=f"{at}.n3"),
                self._adding(f"{at}.inner.b"),
            )
            for at in self._places("decoder")
        ]

    @cached_property
    def of_items(self) -> Linear:
        """Of standardized items: what they add when pointed at, keys to point at them, keys and values of layers."""
        across = (f"{at}.across.{part}" for at in self._places("decoder") for part in "kv")
        found = self._reading("pointed", "key", *across, norm="n_encoder")
        wide = len(found.weight)
        found.weight[:, :wide], found.bias[:wide] = _centred(found.weight[:, :wide]), _centred(found.bias[:wide])
        return found

    @cached_property
    def pointing(self) -> Linear:
        """Of standardized actions: what is looked for among the items, divided by what scores are divided by."""
        found = self._reading("point", norm="n_decoder")
        scale = np.float32(1 / math.sqrt(found.weight.shape[0]))
        return Linear(found.weight * scale, found.bias * scale)

    @cached_property
    def saying(self) -> Linear:
        """Of standardized actions: the words."""
        return self._reading("out", norm="n_decoder")

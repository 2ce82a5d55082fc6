"""The trained network in numpy: items in, the likeliest lines of actions out, by a beam over the grammar."""

import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from mirror.language.second.action_language import Action, ActionLanguage, State
from mirror.language.second.items import MOST_NAME_WORDS, MOST_TOKENS, Items
from mirror.language.second.likeness import likeness

WEIGHTS = Path(__file__).with_name("weights.npz")
UNKNOWN = 1
HEADS = 4
BEAM = 4  # lines that grow side by side, unless said otherwise


@dataclass(frozen=True)
class Line:
    """A line of actions and the logarithm of its probability."""

    actions: tuple[Action, ...]
    score: float


def word_numbers(items: Items, vocabulary: dict[str, int]) -> np.ndarray:
    """(items, MOST_NAME_WORDS): numbers of the words, 0 where there is none."""
    ids = np.zeros((len(items.kinds), MOST_NAME_WORDS), np.int64)
    for i, name in enumerate(items.words):
        for j, word in enumerate(name[:MOST_NAME_WORDS]):
            ids[i, j] = vocabulary.get(word, UNKNOWN) if word else 0
    return ids


def places_of(items: Items) -> np.ndarray:
    """(items,): where in the question a token stands; MOST_TOKENS for all else."""
    places = np.full(len(items.kinds), MOST_TOKENS)
    places[: len(items.tokens)] = np.arange(len(items.tokens))
    return places


@cache
def trained(path: Path, language: ActionLanguage) -> "Network | None":
    """The network of a file that ships; None where there is no file."""
    return Network.load(path, language) if path.is_file() else None


class Network:
    """Weights and what they compute. Arrays are float32; names are those of the network in torch."""

    def __init__(self, weights: dict[str, np.ndarray], vocabulary: dict[str, int], language: ActionLanguage) -> None:
        self.language = language
        self._w = {name: np.ascontiguousarray(w, dtype=np.float32) for name, w in weights.items()}
        self._vocabulary = vocabulary
        self._layers = [
            sorted({name.split(".")[1] for name in weights if name.startswith(f"{part}.")}, key=int)
            for part in ("encoder", "decoder")
        ]

    @staticmethod
    def load(path: Path, language: ActionLanguage) -> "Network":
        """The network of a file that `save` has written."""
        with np.load(path, allow_pickle=False) as held:
            words = str(held["vocabulary"]).split("\n")
            weights = {name: held[name] for name in held.files if name != "vocabulary"}
        return Network(weights, {word: i + 2 for i, word in enumerate(words)}, language)

    def knows(self, stem: str) -> bool:
        """Whether a word was there often enough in training."""
        return stem in self._vocabulary

    def lines(self, items: Items, beam: int = BEAM) -> list[Line]:
        """The likeliest lines, the likeliest first."""
        memory = self._encode(items)
        return _Beam(self, items, memory, beam).lines()

    # -- layers ----------------------------------------------------------------------------------------------------

    def _linear(self, name: str, x: np.ndarray) -> np.ndarray:
        y = x @ self._w[f"{name}.weight"].T
        biased: np.ndarray = y + self._w[f"{name}.bias"] if f"{name}.bias" in self._w else y
        return biased

    def _norm(self, name: str, x: np.ndarray) -> np.ndarray:
        mean = x.mean(-1, keepdims=True)
        centred = x - mean
        variance = np.mean(centred * centred, -1, keepdims=True)
        scaled: np.ndarray = centred / np.sqrt(variance + 1e-5) * self._w[f"{name}.weight"] + self._w[f"{name}.bias"]
        return scaled

    def _heads(self, x: np.ndarray) -> np.ndarray:
        """(..., n, width) -> (..., HEADS, n, width / HEADS)."""
        return np.swapaxes(x.reshape(*x.shape[:-1], HEADS, -1), -2, -3)

    def _attended(self, name: str, q: np.ndarray, k: np.ndarray, v: np.ndarray, bias: np.ndarray | None) -> np.ndarray:
        scores = q @ np.swapaxes(k, -1, -2) / np.float32(math.sqrt(q.shape[-1]))
        if bias is not None:
            scores = scores + bias
        scores -= scores.max(-1, keepdims=True)
        weights = np.exp(scores)
        weights /= weights.sum(-1, keepdims=True)
        mixed = np.swapaxes(weights @ v, -2, -3)
        return self._linear(f"{name}.o", mixed.reshape(*mixed.shape[:-2], -1))

    def _inner(self, name: str, x: np.ndarray) -> np.ndarray:
        return self._linear(f"{name}.b", np.maximum(self._linear(f"{name}.a", x), 0))

    def _encode(self, items: Items) -> np.ndarray:
        words = word_numbers(items, self._vocabulary)
        count = np.maximum((words > 0).sum(-1, keepdims=True), 1)
        x = self._w["word.weight"][words].sum(1) / count + self._w["kind.weight"][items.kinds]
        x = x + items.features @ self._w["feature.weight"].T + self._w["place.weight"][places_of(items)]
        vectors, alike = likeness(items.words, len(items.tokens))
        x = x + vectors @ self._w["meaning.weight"].T
        for layer in self._layers[0]:
            at = f"encoder.{layer}"
            y = self._norm(f"{at}.n1", x)
            bias = self._w[f"{at}.attend.bias.weight"][items.relations].transpose(2, 0, 1)
            bias = bias + self._w[f"{at}.attend.alike"][:, None, None] * alike
            q, k, v = (self._heads(self._linear(f"{at}.attend.{part}", y)) for part in "qkv")
            x = x + self._attended(f"{at}.attend", q, k, v, bias)
            x = x + self._inner(f"{at}.inner", self._norm(f"{at}.n2", x))
        return self._norm("n_encoder", x)


class _Beam:
    """Several lines that grow side by side; the keys and values of what was said are kept."""

    def __init__(self, network: Network, items: Items, memory: np.ndarray, width: int) -> None:
        self._net, self._w, self._items, self._width = network, network._w, items, width
        self._language = network.language
        self._classes = self._language.classes(items)
        self._there = self._language.there(self._classes)
        self._pointed = network._linear("pointed", memory)
        self._keys = network._linear("key", memory).T / np.float32(math.sqrt(memory.shape[1]))
        self._across = [
            tuple(network._heads(network._linear(f"decoder.{layer}.across.{part}", memory)) for part in "kv")
            for layer in network._layers[1]
        ]

    def lines(self) -> list[Line]:
        """The likeliest lines, the likeliest first."""
        open_lines: list[tuple[float, tuple[Action, ...], State]] = [(0.0, (), State())]
        past: list[tuple[np.ndarray, np.ndarray]] = []
        done: list[Line] = []
        for at in range(self._language.most_actions):
            logits = self._next(at, [line[1][-1] if line[1] else Action("") for line in open_lines], past)
            grown: list[tuple[float, int, Action, State]] = []
            for row, (score, _, state) in enumerate(open_lines):
                choices = self._choices(logits[row], state)
                grown += [(score + s, row, a, self._language.step(state, a.word)) for s, a in choices]
            grown.sort(key=lambda g: -g[0])
            kept = []
            for score, row, action, state in grown[: self._width]:
                line = (*open_lines[row][1], action)
                if action.word == "end":
                    done.append(Line(line, score))
                else:
                    kept.append((score, row, line, state))
            best = sorted((d.score for d in done), reverse=True)[: self._width]
            if not kept or (len(best) == self._width and kept[0][0] < best[-1]):
                break
            rows = [row for _, row, _, _ in kept]
            past = [(k[rows], v[rows]) for k, v in past]
            open_lines = [(score, line, state) for score, _, line, state in kept]
        return sorted(done, key=lambda d: -d.score)[: self._width]

    def _next(self, at: int, last: list[Action], past: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
        """Logits of the next action of each line, (lines, words + items); `past` grows."""
        net = self._net
        x = self._w["action.weight"][[net.language.number(a) for a in last]] + self._w["step.weight"][at]
        for row, action in enumerate(last):
            if action.item >= 0:
                x[row] += self._pointed[action.item]
        x = x[:, None]  # (lines, 1, width)
        for i, layer in enumerate(net._layers[1]):
            name = f"decoder.{layer}"
            y = net._norm(f"{name}.n1", x)
            q, k, v = (net._heads(net._linear(f"{name}.own.{part}", y)) for part in "qkv")
            if i < len(past):
                k, v = np.concatenate([past[i][0], k], -2), np.concatenate([past[i][1], v], -2)
                past[i] = (k, v)
            else:
                past.append((k, v))
            x = x + net._attended(f"{name}.own", q, k, v, None)
            q = net._heads(net._linear(f"{name}.across.q", net._norm(f"{name}.n2", x)))
            keys, values = self._across[i]
            x = x + net._attended(f"{name}.across", q, keys, values, None)
            x = x + net._inner(f"{name}.inner", net._norm(f"{name}.n3", x))
        x = net._norm("n_decoder", x[:, 0])
        return np.concatenate([net._linear("out", x), net._linear("point", x) @ self._keys], -1)

    def _choices(self, logits: np.ndarray, state: State) -> list[tuple[float, Action]]:
        """What may come next, with logarithms of probabilities."""
        language = self._language
        may = language.allowed(state, self._there)
        kinds = [language.pointer_at[w] for w in may if w in language.pointer_at]
        words = [language.word_at[w] for w in may if w in language.word_at]
        pointed = np.flatnonzero(self._classes[:, kinds].any(1)) if kinds else np.array([], int)
        at = np.concatenate([np.array(words, int), pointed + len(language.words)])
        if not len(at):
            return []
        scores = logits[at]
        scores = scores - scores.max()
        scores = scores - math.log(np.exp(scores).sum())
        found = []
        for i in np.argsort(-scores)[: self._width]:
            number = int(at[i])
            if number < len(language.words):
                found.append((float(scores[i]), Action(language.words[number])))
            else:
                item = number - len(language.words)
                kind = next(language.pointers[k] for k in kinds if self._classes[item, k])
                found.append((float(scores[i]), Action(kind, item)))
        return found

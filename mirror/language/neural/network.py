"""The trained network in numpy: items in, the likeliest lines of actions out, by a beam over the grammar."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from mirror.language.neural.action_language import Action, ActionLanguage, State
from mirror.language.neural.items import MOST_NAME_WORDS, MOST_TOKENS, Items
from mirror.language.neural.layers import HEADS, DecoderLayer, Layers, Linear, heads_first, softmax_of, standardized
from mirror.language.neural.likeness import likeness
from mirror.language.neural.text_encoder import PREFIX, TextEncoder

WEIGHTS = Path(__file__).with_name("weights.npz")
UNKNOWN = 1
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
        of_text = {name.removeprefix(PREFIX): w for name, w in weights.items() if name.startswith(PREFIX)}
        own = {name: w for name, w in weights.items() if not name.startswith(PREFIX)}
        self.layers = Layers({name: np.ascontiguousarray(w, dtype=np.float32) for name, w in own.items()})
        self._text = TextEncoder(of_text) if of_text else None
        self._vocabulary = vocabulary
        self._kept: tuple[Items, np.ndarray] | None = None

    @staticmethod
    def load(path: Path, language: ActionLanguage) -> "Network":
        """The network of a file that `Learner.write` has written."""
        with np.load(path, allow_pickle=False) as held:
            words = str(held["vocabulary"]).split("\n")
            weights = {name: held[name] for name in held.files if name != "vocabulary"}
        return Network(weights, {word: i + 2 for i, word in enumerate(words)}, language)

    def knows(self, stem: str) -> bool:
        """Whether a word was there often enough in training."""
        return stem in self._vocabulary

    def lines(self, items: Items, beam: int = BEAM) -> list[Line]:
        """The likeliest lines, the likeliest first."""
        return _Beam(self.language, items, Decoder(self, self.encoded(items), beam), beam).lines()

    def score(self, items: Items, line: Sequence[Action]) -> float:
        """The logarithm of the probability of a line."""
        return _Beam(self.language, items, Decoder(self, self.encoded(items), 1), 1).score(line)

    def encoded(self, items: Items) -> np.ndarray:
        """(items, width): what the encoder makes of the items, standardized; kept for the same items asked again."""
        kept = self._kept  # another thread may set it meanwhile
        if kept is None or kept[0] is not items:
            self._kept = kept = (items, self._encoded(items))
        return kept[1]

    def _encoded(self, items: Items) -> np.ndarray:
        layers, tokens = self.layers, len(items.tokens)
        words = word_numbers(items, self._vocabulary)
        count = np.maximum((words > 0).sum(-1, keepdims=True), 1).astype(np.float32)
        x = layers.word[words].sum(1) / count
        x += layers.kind[items.kinds]
        x += items.features @ layers.feature
        x += layers.place[places_of(items)]
        vectors, alike = likeness(items.words, tokens)
        x += vectors @ layers.meaning
        if self._text and tokens:
            x[:tokens] += layers.context(self._text.vectors([token.text for token in items.tokens]))
        relations = items.relations.astype(np.intp)
        for layer in layers.encoder:
            x = layer(x, relations, alike[:tokens])
        return standardized(x)


class Decoder:
    """What comes next in lines over one question's items; keys and values of what was said are kept."""

    def __init__(self, network: Network, memory: np.ndarray, width: int) -> None:
        """`memory` is what `Network.encoded` gives; at most `width` lines stand side by side."""
        self._layers, self._language = network.layers, network.language
        made, wide = self._layers.of_items(memory), memory.shape[1]
        self._pointed = made[:, :wide]
        pointing, saying = self._layers.pointing, self._layers.saying
        keys = made[:, wide : 2 * wide].T
        # Words and items in one product.
        self._choosing = Linear(
            np.concatenate([saying.weight, pointing.weight @ keys], 1),
            np.concatenate([saying.bias, pointing.bias @ keys]),
        )
        parts = [heads_first(made[:, at : at + wide]) for at in range(2 * wide, made.shape[1], wide)]
        self._across = [(k.swapaxes(1, 2), v) for k, v in zip(parts[::2], parts[1::2], strict=True)]
        room = (len(self._layers.decoder), 2, width, HEADS, self._language.most_actions, wide // HEADS)
        self._past = np.empty(room, np.float32)
        self._at = 0

    def keep(self, rows: list[int]) -> None:
        """Go on with these lines, in this order."""
        if rows != list(range(len(rows))):
            self._past[:, :, : len(rows), :, : self._at] = self._past[:, :, rows, :, : self._at]

    def next(self, last: list[Action]) -> np.ndarray:
        """(lines, words + items): logits of what comes behind the last action of each line."""
        layers = self._layers
        x = layers.action[[self._language.number(a) for a in last]] + layers.step[self._at]
        for row, action in enumerate(last):
            if action.item >= 0:
                x[row] += self._pointed[action.item]
        for i, layer in enumerate(layers.decoder):
            x = self._through(layer, x, self._past[i], self._across[i])
        self._at += 1
        return self._choosing(standardized(x))

    def _through(
        self, layer: DecoderLayer, x: np.ndarray, past: np.ndarray, across: tuple[np.ndarray, np.ndarray]
    ) -> np.ndarray:
        """(lines, width) behind one layer; `past` gets the keys and values of this step."""
        lines, until = len(x), self._at + 1
        qkv = layer.qkv(standardized(x)).reshape(lines, 3, HEADS, 1, -1)
        past[0, :lines, :, self._at], past[1, :lines, :, self._at] = qkv[:, 1, :, 0], qkv[:, 2, :, 0]
        k, v = past[:, :lines, :, :until]
        x = x + layer.own((softmax_of(qkv[:, 0] @ k.swapaxes(2, 3)) @ v).reshape(x.shape))
        k, v = across
        seen = softmax_of(heads_first(layer.q(standardized(x))) @ k) @ v
        x += layer.across(seen.swapaxes(0, 1).reshape(x.shape))
        x += layer.b(np.maximum(layer.a(standardized(x)), 0))
        return x


class _Beam:
    """Several lines that grow side by side."""

    def __init__(self, language: ActionLanguage, items: Items, decoder: Decoder, width: int) -> None:
        self._language, self._decoder, self._width = language, decoder, width
        self._classes = language.classes(items)
        self._there = language.there(self._classes)
        self._may: dict[tuple[str, ...], np.ndarray] = {}

    def lines(self) -> list[Line]:
        """The likeliest lines, the likeliest first."""
        open_lines: list[tuple[float, tuple[Action, ...], State]] = [(0.0, (), State())]
        done: list[Line] = []
        for _ in range(self._language.most_actions):
            logits = self._decoder.next([line[-1] if line else Action("") for _, line, _ in open_lines])
            kept, rows = [], []
            for score, row, action in self._likeliest(logits, open_lines):
                line = (*open_lines[row][1], action)
                if action.word == "end":
                    done.append(Line(line, score))
                else:
                    kept.append((score, line, self._language.step(open_lines[row][2], action.word)))
                    rows.append(row)
            best = sorted((d.score for d in done), reverse=True)[: self._width]
            if not kept or (len(best) == self._width and kept[0][0] < best[-1]):
                break
            self._decoder.keep(rows)
            open_lines = kept
        return sorted(done, key=lambda d: -d.score)[: self._width]

    def score(self, line: Sequence[Action]) -> float:
        """The logarithm of the probability of one line; minus infinity for one that the language does not allow."""
        total, state, last = 0.0, State(), Action("")
        for action in line:
            allowed = self._language.allowed(state, self._there)
            if action.word not in allowed:
                return -math.inf
            scores = self._scores(self._decoder.next([last]), [allowed])
            at = len(self._language.words) + action.item if action.item >= 0 else self._language.word_at[action.word]
            total += float(scores[0, at])
            state, last = self._language.step(state, action.word), action
        return total

    def _scores(self, logits: np.ndarray, allowed: Sequence[Sequence[str]]) -> np.ndarray:
        """(lines, words + items): logarithms of the probabilities of what may come next."""
        scores = np.where([self._mask(tuple(may)) for may in allowed], logits, -np.inf)
        with np.errstate(invalid="ignore"):  # of a line with no way to go on
            scores -= scores.max(1, keepdims=True)
            scores -= np.log(np.exp(scores).sum(1, keepdims=True))
        return scores

    def _likeliest(
        self, logits: np.ndarray, lines: list[tuple[float, tuple[Action, ...], State]]
    ) -> list[tuple[float, int, Action]]:
        """The likeliest ways to go on: (logarithm of the whole line's probability, which line, action)."""
        allowed = [self._language.allowed(state, self._there) for _, _, state in lines]
        scores = self._scores(logits, allowed)
        totals = (scores + np.array([[score] for score, _, _ in lines])).ravel()
        found = []
        # Items with the same words are as likely as one another: the first of them is then taken, whatever is rounded.
        for place in np.argsort(-totals.round(5), kind="stable")[: self._width].tolist():
            if totals[place] > -np.inf:
                row, number = divmod(place, logits.shape[1])
                found.append((float(totals[place]), row, self._action(number, allowed[row])))
        return found

    def _mask(self, may: tuple[str, ...]) -> np.ndarray:
        """(words + items): whether each may come next."""
        known = self._may.get(may)
        if known is None:
            language = self._language
            words = np.zeros(len(language.words), bool)
            words[[language.word_at[word] for word in may if word in language.word_at]] = True
            kinds = [language.pointer_at[word] for word in may if word in language.pointer_at]
            known = self._may[may] = np.concatenate([words, self._classes[:, kinds].any(1)])
        return known

    def _action(self, number: int, may: list[str]) -> Action:
        """The word of that number, or the item as what it may be pointed at."""
        language = self._language
        if number < len(language.words):
            return Action(language.words[number])
        item = number - len(language.words)
        kinds = (word for word in may if word in language.pointer_at)
        return Action(next(kind for kind in kinds if self._classes[item, language.pointer_at[kind]]), item)

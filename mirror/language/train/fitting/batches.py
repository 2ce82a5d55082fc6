"""Examples for training: a question's items and the line of actions that it asks for, as arrays in batches."""

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from mirror.language.neural.action_language import Action, ActionLanguage, State
from mirror.language.neural.items import MOST_NAME_WORDS, MOST_TOKENS
from mirror.language.neural.likeness import likeness
from mirror.language.neural.network import UNKNOWN, places_of, word_numbers
from mirror.language.neural.text_encoder import Vocabulary, shares
from mirror.language.train.data.example import Example


def vocabulary(examples: Iterable[Example], least: int) -> dict[str, int]:
    """Stem -> its number; 0 fills up, 1 is for all others."""
    counts = Counter(w for e in examples for words in e.items.words for w in set(words) if w)
    return {w: i + 2 for i, w in enumerate(sorted(w for w, n in counts.items() if n >= least))}


@dataclass
class Arrays:
    """One example as arrays."""

    words: np.ndarray
    kinds: np.ndarray
    features: np.ndarray
    places: np.ndarray
    relations: np.ndarray
    vectors: np.ndarray
    alike: np.ndarray
    classes: np.ndarray
    before: np.ndarray
    before_item: np.ndarray
    allowed_words: np.ndarray
    allowed_kinds: np.ndarray
    wanted: np.ndarray
    group: str
    pieces: np.ndarray
    piece_of: np.ndarray


def arrays_of(
    example: Example, words: dict[str, int], language: ActionLanguage, text: Vocabulary | None = None
) -> Arrays:
    """The arrays of an example; `text` are the pieces that its words are cut into, where they are read in context."""
    items = example.items
    steps = len(example.line)
    vectors, alike = likeness(items.words, len(items.tokens))
    before, before_item, wanted = np.zeros(steps, np.int64), np.full(steps, -1), np.zeros(steps, np.int64)
    may_words, may_kinds = np.zeros((steps, len(language.words)), bool), np.zeros((steps, len(language.pointers)), bool)
    classes = language.classes(items)
    there = language.there(classes)
    state, last = State(), Action("", -1)
    for i, action in enumerate(example.line):
        before[i], before_item[i] = language.number(last), last.item
        for word in language.allowed(state, there):
            if word in language.pointer_at:
                may_kinds[i, language.pointer_at[word]] = True
            else:
                may_words[i, language.word_at[word]] = True
        wanted[i] = len(language.words) + action.item if action.item >= 0 else language.word_at[action.word]
        state, last = language.step(state, action.word), action
    cut = text.pieces([token.text for token in items.tokens]) if text else None
    pieces, piece_of = (cut.ids, cut.word) if cut else (np.zeros(0, np.int64), np.zeros(0, np.int64))
    return Arrays(word_numbers(items, words), items.kinds, items.features, places_of(items), items.relations,
                  vectors.astype(np.float16), alike.astype(np.float16), classes, before, before_item,
                  may_words, may_kinds, wanted, example.group, pieces, piece_of)  # fmt: skip


def thinned(arrays: Arrays, kept: float, rng: np.random.Generator) -> Arrays:
    """With a share of the items only, all that is pointed at among them: what is not asked for teaches little."""
    first = arrays.allowed_words.shape[1]
    pointed = [*arrays.before_item[arrays.before_item >= 0], *(arrays.wanted[arrays.wanted >= first] - first)]
    stay = (arrays.places < MOST_TOKENS) | (rng.random(len(arrays.kinds)) < kept)
    stay[pointed] = True
    at = np.flatnonzero(stay)
    new = np.cumsum(stay) - 1
    of_items = {
        name: getattr(arrays, name)[at] for name in ("words", "kinds", "features", "places", "vectors", "classes")
    }
    before = np.where(arrays.before_item >= 0, new[arrays.before_item], -1)
    wanted = np.where(arrays.wanted >= first, first + new[arrays.wanted - first], arrays.wanted)
    square = np.ix_(at, at)
    return replace(arrays, **of_items, relations=arrays.relations[square], alike=arrays.alike[square],
                   before_item=before, wanted=wanted)  # fmt: skip


def batch_of(
    arrays: Sequence[Arrays], forget: float, rng: np.random.Generator, text: Vocabulary | None = None
) -> dict[str, Tensor]:
    """Arrays side by side, filled up; a share of the words is forgotten, so that unseen ones are nothing new."""
    n, steps = max(len(a.kinds) for a in arrays), max(len(a.wanted) for a in arrays)

    def filled(name: str, shape: tuple[int, ...], value: float | int | bool = 0) -> Tensor:
        first = getattr(arrays[0], name)
        out = np.full((len(arrays), *shape), value, first.dtype)
        for i, a in enumerate(arrays):
            held = getattr(a, name)
            out[(i, *map(slice, held.shape))] = held  # type: ignore[index]
        return torch.from_numpy(out)

    words = filled("words", (n, MOST_NAME_WORDS))
    if forget:
        lost = torch.from_numpy(rng.random(words.shape) < forget)
        words = torch.where(lost & (words > 0), torch.full_like(words, UNKNOWN), words)
    hidden = torch.ones(len(arrays), n, dtype=torch.bool)
    for i, a in enumerate(arrays):
        hidden[i, : len(a.kinds)] = False
    return {
        "words": words,
        "kinds": filled("kinds", (n,)),
        "features": filled("features", (n, arrays[0].features.shape[1])),
        "places": filled("places", (n,), MOST_TOKENS),
        "relations": filled("relations", (n, n)).long(),
        "vectors": filled("vectors", (n, arrays[0].vectors.shape[1])).float(),
        "alike": filled("alike", (n, n)).float(),
        "classes": filled("classes", (n, arrays[0].classes.shape[1]), False),
        "hidden": hidden,
        "before": filled("before", (steps,)),
        "before_item": filled("before_item", (steps,), -1),
        "allowed_words": filled("allowed_words", (steps, arrays[0].allowed_words.shape[1]), False),
        "allowed_kinds": filled("allowed_kinds", (steps, arrays[0].allowed_kinds.shape[1]), False),
        "wanted": filled("wanted", (steps,), -1),
        **(_pieces_of(arrays, forget, rng, text) if text else {}),
    }


def _pieces_of(
    arrays: Sequence[Arrays], forget: float, rng: np.random.Generator, text: Vocabulary
) -> dict[str, Tensor]:
    """The pieces side by side; of a share of the words all pieces are hidden."""
    longest = max(len(a.pieces) for a in arrays)
    words = max(int(a.piece_of.max(initial=-1)) + 1 for a in arrays)
    ids, share = np.full((len(arrays), longest), text.pad), np.zeros((len(arrays), words, longest), np.float32)
    seen = np.zeros((len(arrays), longest), bool)
    for i, a in enumerate(arrays):
        n = len(a.pieces)
        lost = np.append(rng.random(words) < forget, False)[a.piece_of]
        ids[i, :n] = np.where(lost, text.hidden, a.pieces)
        share[i, :, :n] = shares(a.piece_of, words)
        seen[i, :n] = True
    return {"pieces": torch.from_numpy(ids), "share": torch.from_numpy(share), "seen": torch.from_numpy(seen)}


def batches(
    arrays: Sequence[Arrays],
    size: int,
    forget: float,
    seed: int,
    least_kept: float = 1.0,
    text: Vocabulary | None = None,
) -> Iterator[dict[str, Tensor]]:
    """All of them once, those of like length together, in random order; of the items from `least_kept` on to all, more
    often few."""
    rng = np.random.default_rng(seed)
    order = sorted(range(len(arrays)), key=lambda i: len(arrays[i].kinds) + 20 * rng.random())
    parts = [order[i : i + size] for i in range(0, len(order), size)]
    random.Random(seed).shuffle(parts)
    for part in parts:
        kept = rng.uniform(least_kept**0.5, 1.0) ** 2
        yield batch_of([thinned(arrays[i], kept, rng) if kept < 1 else arrays[i] for i in part], forget, rng, text)

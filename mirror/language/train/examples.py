"""Examples for training: a question's items and the line of actions that it asks for, as arrays in batches."""

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from mirror.language.second.actions import POINTERS, WORD_AT, WORDS, Action, State, allowed, step
from mirror.language.second.items import MOST_NAME_WORDS, MOST_TOKENS, Items

UNKNOWN = 1
_POINTER_AT = {kind: i for i, kind in enumerate(POINTERS)}
CLASSES = {"number": ("<number>",), "time": ("<time>",), "value": ("<value>", "<text>"), "flag": ("<value>",),
           "text": ("<text>",), "role": ("<role>",)}  # fmt: skip


@dataclass(frozen=True)
class Example:
    """One question: what is seen, and what is to be said."""

    items: Items
    line: tuple[Action, ...]
    group: str


def vocabulary_of(examples: Iterable[Example], least: int) -> dict[str, int]:
    """Stem -> its number; 0 fills up, 1 is for all others."""
    counts = Counter(w for e in examples for words in e.items.words for w in set(words) if w)
    return {w: i + 2 for i, (w, n) in enumerate(sorted(counts.items())) if n >= least}


def vocabulary(examples: Iterable[Example], least: int) -> dict[str, int]:
    """Stem -> its number; 0 fills up, 1 is for all others."""
    counts = Counter(w for e in examples for words in e.items.words for w in set(words) if w)
    return {w: i + 2 for i, w in enumerate(sorted(w for w, n in counts.items() if n >= least))}


def classes_of(items: Items) -> np.ndarray:
    """(items, POINTERS): what each item may be pointed at as."""
    found = np.zeros((len(items.kinds), len(POINTERS)), bool)
    found[items.first_table : items.first_column, _POINTER_AT["<table>"]] = True
    found[items.first_column : items.first_literal, _POINTER_AT["<column>"]] = True
    for i, literal in enumerate(items.literals):
        for kind in CLASSES[literal.kind]:
            found[items.first_literal + i, _POINTER_AT[kind]] = True
    return found


@dataclass
class Arrays:
    """One example as arrays."""

    words: np.ndarray
    kinds: np.ndarray
    features: np.ndarray
    places: np.ndarray
    relations: np.ndarray
    classes: np.ndarray
    before: np.ndarray
    before_item: np.ndarray
    allowed_words: np.ndarray
    allowed_kinds: np.ndarray
    wanted: np.ndarray
    group: str


def arrays_of(example: Example, words: dict[str, int]) -> Arrays:
    """The arrays of an example."""
    items = example.items
    n, steps = len(items.kinds), len(example.line)
    ids = np.zeros((n, MOST_NAME_WORDS), np.int64)
    for i, name in enumerate(items.words):
        for j, word in enumerate(name[:MOST_NAME_WORDS]):
            ids[i, j] = words.get(word, UNKNOWN) if word else 0
    places = np.full(n, MOST_TOKENS)
    places[: len(items.tokens)] = np.arange(len(items.tokens))
    before, before_item, wanted = np.zeros(steps, np.int64), np.full(steps, -1), np.zeros(steps, np.int64)
    may_words, may_kinds = np.zeros((steps, len(WORDS)), bool), np.zeros((steps, len(POINTERS)), bool)
    state, last = State(), Action("", -1)
    for i, action in enumerate(example.line):
        before[i], before_item[i] = action_number(last), last.item
        for word in allowed(state):
            if word in _POINTER_AT:
                may_kinds[i, _POINTER_AT[word]] = True
            else:
                may_words[i, WORD_AT[word]] = True
        wanted[i] = len(WORDS) + action.item if action.item >= 0 else WORD_AT[action.word]
        state, last = step(state, action.word), action
    return Arrays(ids, items.kinds, items.features, places, items.relations, classes_of(items), before, before_item,
                  may_words, may_kinds, wanted, example.group)  # fmt: skip


def action_number(action: Action) -> int:
    """Of a word or a kind of pointer; the last number is for the beginning."""
    if action.word in _POINTER_AT:
        return len(WORDS) + _POINTER_AT[action.word]
    return WORD_AT.get(action.word, len(WORDS) + len(POINTERS))


def batch_of(arrays: Sequence[Arrays], forget: float, rng: np.random.Generator) -> dict[str, Tensor]:
    """Arrays side by side, filled up; a share of the words is forgotten, so that unseen ones are nothing new."""
    n, steps = max(len(a.kinds) for a in arrays), max(len(a.wanted) for a in arrays)

    def filled(name: str, shape: tuple[int, ...], value: float | int | bool = 0) -> Tensor:
        first = getattr(arrays[0], name)
        out = np.full((len(arrays), *shape), value, first.dtype)
        for i, a in enumerate(arrays):
            held = getattr(a, name)
            out[(i, *(slice(0, s) for s in held.shape))] = held
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
        "classes": filled("classes", (n, len(POINTERS)), False),
        "hidden": hidden,
        "before": filled("before", (steps,)),
        "before_item": filled("before_item", (steps,), -1),
        "allowed_words": filled("allowed_words", (steps, len(WORDS)), False),
        "allowed_kinds": filled("allowed_kinds", (steps, len(POINTERS)), False),
        "wanted": filled("wanted", (steps,), -1),
    }


def batches(arrays: Sequence[Arrays], size: int, forget: float, seed: int) -> Iterator[dict[str, Tensor]]:
    """All of them once, those of like length together, in random order."""
    rng = np.random.default_rng(seed)
    order = sorted(range(len(arrays)), key=lambda i: len(arrays[i].kinds) + 20 * rng.random())
    parts = [order[i : i + size] for i in range(0, len(order), size)]
    random.Random(seed).shuffle(parts)
    for part in parts:
        yield batch_of([arrays[i] for i in part], forget, rng)

"""The ingredients of the readers: what each does, for which questions, and what stands in its place while it is off."""

import contextlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mirror.answer import policy
from mirror.evaluation.ablations import met_links
from mirror.evaluation.ablations.swapped import Swap, swapped, watched
from mirror.evaluation.ablations.unused_forms import FORMS, noted, unused
from mirror.language.neural import likeness, other_data_reader
from mirror.language.neural.results_phrases import Phrases
from mirror.language.phrases import spelled_numbers, time_cues
from mirror.language.ranking import candidates, ranker, results_decision
from mirror.language.reading import cues, held, lexemes, linking, reading, times
from mirror.language.reading.linking import PART_OF_VALUE, Link, Linker
from mirror.schema import catalog

RESULTS, OTHER = ("categories", "paraphrases"), ("foreign",)
EVERYWHERE = (*RESULTS, *OTHER)


class NoIngredientError(ValueError):
    """A name that no ingredient has; the message lists those that there are."""


@dataclass(frozen=True)
class Ingredient:
    """A part of the readers that can be switched off.

    Attributes:
        name: what it is called.
        of: the sets of questions that it is for.
        meaning: what it does, and what is there instead.
        swaps: what stands in its place while it is off.
        seldom: whether most questions can do without it, and it is told in passing which (`noting`).
    """

    name: str
    of: tuple[str, ...]
    meaning: str
    swaps: tuple[Swap, ...]
    seldom: bool = False


def _gives(value: object) -> Callable[[Any], Any]:
    """A function that gives the same whatever it is told."""
    return lambda _: lambda *_told, **_named: value


def _is(value: object) -> Callable[[Any], Any]:
    return lambda _: value


# -- words and names ---------------------------------------------------------------------------------------------------


def _kept_links(kept: Callable[[Link], bool]) -> Swap:
    """A linker that knows only some of its links."""

    def instead(original: Callable[[Linker, Iterable[str], Link], None]) -> Callable[..., None]:
        def put(self: Linker, phrase: Iterable[str], link: Link) -> None:
            if kept(link):
                original(self, phrase, link)

        return put

    return Swap(Linker, "_put", instead)


def _words_file(name: str, change: Callable[[Any], Any]) -> Swap:
    """A file of `mirror/words/reading` that says less."""

    def instead(load: Callable[[str], Any]) -> Callable[[str], Any]:
        return lambda asked: change(load(asked)) if asked == name else load(asked)

    return Swap(cues, "_load", instead)


def _without_adjectives(entries: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """`most recent` stays: it is what "the first" and "the last" are taken for."""
    return [{**e, "high": [p for p in e["high"] if p == "most recent"], "low": []} for e in entries]


def _without_measure_words(entries: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{**e, "how": []} for e in entries]


def _without_synonyms(original: Callable[[], Mapping[str, Any]]) -> Callable[[], Mapping[str, Any]]:
    return lambda: {name: replace(entry, synonyms=()) for name, entry in original().items()}


_WORDS = (
    Ingredient(
        "stems", EVERYWHERE, "Words meet by their stems (orders, ordered), irregular ones too; off: as they stand",
        (
            Swap(lexemes, "stem", _is(lambda word: word)),
            Swap(linking, "_WEAK", lambda _: frozenset(cues.kinds()["weak"])),
        ),
    ),
    Ingredient(
        "typos", EVERYWHERE, "A word that names nothing is taken for one that is spelled nearly so",
        (
            Swap(Linker, "corrected", _gives(())),
            Swap(Phrases, "corrected", _gives(())),
        ),
        seldom=True,
    ),
    Ingredient(
        "spelled-numbers", EVERYWHERE, "Numbers in words (three, two and a half million, a tenth, twice)",
        (
            Swap(lexemes, "_NUMBERS", lambda _: dict[str, int]()),
            Swap(spelled_numbers, "cardinal", _gives(None)),
            Swap(spelled_numbers, "part", _gives(None)),
            Swap(spelled_numbers, "multiple", _gives(0.0)),
        ),
    ),
    Ingredient(
        "times", EVERYWHERE, "Times in words and dates (last month, since 2024); off: their words say nothing",
        (
            Swap(times, "times_in", _gives([])),
            Swap(times, "days_in", _gives([])),
            Swap(time_cues, "find", _is(lambda question, _now: (time_cues.Times(), question))),
        ),
        seldom=True,
    ),
    Ingredient(
        "likeness", EVERYWHERE, "The table of word vectors, which tells the network what words are alike in meaning; "
        "off: no two words are",
        (Swap(likeness, "vectors_of", _is(lambda stems: np.zeros((len(stems), likeness.axes()), np.float32))),),
    ),
    Ingredient(
        "partial-names", OTHER, "A part of the name of a table or column stands for it (`date` for order_date)",
        (Swap(linking, "_phrases", lambda original: lambda words: original(words)[:1]),),
        seldom=True,
    ),
    Ingredient(
        "values", OTHER, "The index of the values of text columns: `Bern` is a city",
        (_kept_links(lambda k: k.kind != "val"),),
        seldom=True
    ),
    Ingredient(
        "partial-values", OTHER, "A part of a value stands for it (`Miller` for Ann Miller)",
        (_kept_links(lambda k: k.kind != "val" or k.cost < PART_OF_VALUE),),
        seldom=True,
    ),
    Ingredient(
        "synonyms", OTHER, "Other words for the words of names, from a list", (_words_file("synonyms", _is([])),)
    ),
    Ingredient(
        "abbreviations", OTHER, "Short forms in names are written out (`qty`)", (_words_file("abbreviations", _is({})),)
    ),
    Ingredient(
        "adjectives", OTHER, "Superlatives and comparatives with the columns they ask for (oldest), from a list",
        (_words_file("measures", _without_adjectives),),
    ),
    Ingredient(
        "measure-words", OTHER, "Words and questions that ask for a number without its name (how long, revenue, sold), "
        "from a list",
        (_words_file("measures", _without_measure_words),),
    ),
    Ingredient(
        "catalogue-synonyms", RESULTS, "Other names of columns, values, curves and facts in the catalogue",
        (
            Swap(catalog, "entries", _without_synonyms),
            Swap(catalog, "value_synonyms", _gives({})),
            Swap(catalog, "curve_synonyms", _gives({})),
        ),
    ),
)  # fmt: skip


# -- readers, ranker and policy ----------------------------------------------------------------------------------------


class _Unranked:
    """Chances without a ranker: of other data those that the words' cost tells, of the results the network's own."""

    def chances(self, features: Sequence[Mapping[str, float]]) -> list[float]:
        """The chance of each reading, from 0 to 1."""
        return [math.exp(-f["cost"]) if "cost" in f else math.exp(f["score"]) for f in features]


def _all_answered(original: Callable[..., policy.Decision]) -> Callable[..., policy.Decision]:
    def decide(found: Sequence[Any], skipped: Sequence[str] = ()) -> policy.Decision:
        told = original(found, skipped)
        return policy.Decision("answer", tuple(told.readings[:1])) if told.kind == "show" else told

    return decide


def _likeliest(original: Callable[[Sequence[Any]], Any]) -> Callable[[Sequence[Any]], Any]:
    return lambda found: original(found) or next(iter(results_decision.shown(found)), None)


_READERS = (
    Ingredient(
        "first-reader", OTHER, "The reader with the words; off: the network alone",
        (Swap(reading, "readings", _gives([])),),
    ),
    Ingredient(
        "second-reader", OTHER, "The network; off: the reader with the words alone",
        (Swap(other_data_reader, "other_data_readings", _gives([])),),
    ),
    Ingredient(
        "ranker", EVERYWHERE, "The network that gives each reading its chance; off: exp(-cost) of the words, and of "
        "the results the network's own probability",
        (Swap(ranker, "trained", _is(lambda *_path: _Unranked())),),
    ),
    Ingredient(
        "coverage", OTHER, "Whether a query holds every word that was read",
        (Swap(held, "left_out", _gives(((), ()))),),
        seldom=True,
    ),
    Ingredient(
        "showing-first", EVERYWHERE, "What is not sure is shown before it is answered; off: its likeliest reading is "
        "answered at once",
        (Swap(policy, "decide", _all_answered), Swap(results_decision, "answered_at_once", _likeliest)),
    ),
    Ingredient(
        "compared-rows", OTHER, "Readings are run, and those with the same rows support each other",
        (Swap(candidates, "_compared", _is(lambda candidate, _rows_of: candidate)),),
    ),
)  # fmt: skip

# -- forms -------------------------------------------------------------------------------------------------------------

_MEANT = {
    "first-places": "The highest, the lowest, the first three",
    "later-places": "The second highest",
    "top-per-group": "A ranking within each group",
    "absence": "Rows without any of another table (never ordered)",
    "presence": "Rows with some, so many or only such of another table",
    "group-limits": "Limits on a number of each group (more than 3 orders)",
    "ratios": "Shares, and one number divided by another",
    "differences": "One number less another",
    "counted-if": "Numbers of the rows that meet a condition of their own",
    "products": "Quantity times price",
    "time-between": "The time between two dates",
    "of-groups": "A number of the groups' numbers, and the number of groups",
    "above-mean": "Above or below the average",
    "two-columns": "Two columns of a row compared",
    "spans-of-time": "Groups by month, year, weekday",
    "roles": "A table by one of several keys (the destination, not any port)",
    "ways": "A way through a table that was named",
}

INGREDIENTS: tuple[Ingredient, ...] = (
    *_WORDS,
    *_READERS,
    *(Ingredient(name, OTHER, _MEANT[name], (unused(name),), seldom=True) for name in FORMS),
)


def ingredient(name: str) -> Ingredient:
    """The ingredient of a name. Raises NoIngredientError."""
    for known in INGREDIENTS:
        if known.name == name:
            return known
    raise NoIngredientError(f"There is no ingredient {name!r}: name one of {', '.join(i.name for i in INGREDIENTS)}.")


_OF_LINKERS = ("partial-names", "values", "partial-values")


@contextlib.contextmanager
def noting(seen: set[str]) -> Iterator[None]:
    """With everything on, and in `seen` the names of those that are seldom needed, as soon as one is.

    An answer that was given without meeting one is the same where it is off.
    """
    seldom = [one for one in INGREDIENTS if one.seldom and one.name not in (*FORMS, *_OF_LINKERS)]
    watching = [watched(one.name, swap, seen) for one in seldom for swap in one.swaps]
    watching += met_links.watching({name: ingredient(name).swaps for name in _OF_LINKERS}, seen)
    with swapped([noted(seen), *watching]):
        yield


@contextlib.contextmanager
def without(*off: Ingredient) -> Iterator[None]:
    """With some ingredients switched off, and on again afterwards."""
    with swapped(swap for one in off for swap in one.swaps):
        yield

"""The lexicon: every phrase the grammar knows, and the text cut into items of it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from mirror.language.phrases import machine_names
from mirror.query.spec import Filter
from mirror.schema import catalog
from mirror.schema.own_words import CURVES, OwnWord
from mirror.schema.profile import Profile
from mirror.table.values import Value
from mirror.words import phrasebook
from mirror.words.close_words import close_words
from mirror.words.phrasebook import EVERYWHERE
from mirror.words.tokens import NUMBER, tokens

Kind = Literal["column", "value", "curve", "fact", "cue", "filler", "number", "filter", "limit", "unknown"]

CUES = phrasebook.cues("results")
FILLERS = phrasebook.words("fillers", EVERYWHERE, "results")
# Unit of a question -> (column that it speaks of, what one of it is in the column's unit).
UNITS: dict[str, tuple[str, float]] = {
    unit.lower(): (column, size / per)
    for kind, column, per in (("time", "latency_us", 1), ("bytes", "memory_mb", 1e6), ("rate", "bandwidth_gb_s", 1e9))
    for unit, size in phrasebook.numbers("units", kind).items()
}
KNOWN_UNITS = ", ".join(e.phrases[0] for e in phrasebook.entries("units") if e.section in ("time", "bytes", "rate"))
SCALES = {word.lower(): n for word, n in phrasebook.numbers("units", "scale", "share").items()} | {"x": 1.0, "": 1.0}
# Names that people choose, and values that are everyday words: they count only beside the name of their column.
_NAMED_VALUES = (
    "sweep", "machine", "pooling_mode", "dtype", "op", "verdict", "prune_scope", "utility_score", "layout", "structure",
    "category", "question_set",
)  # fmt: skip
_BESIDE = ("", " is", " are", " was", " were", " is the", " are the", " =")  # between such a column and its value
_MOST_CORRECTED = 10_000  # words that are remembered
# Those of them that say by themselves what they are of.
_TELLING = ("unclear", "compact", "flat", "interleaved", "split_in", "concat_out", "held_out")


@dataclass(frozen=True)
class Item:
    """One phrase of the question.

    Attributes:
        kind: column, value (of a column), curve (what training records step by step), fact (what a machine is), cue,
            number, filler or unknown;
            filter and limit are made from numbers.
        text: as written.
        name: column name, name of a curve, cue (a key of CUES), or the column a value belongs to.
        value: the value, or the number.
        unit: unit written with a number, lower case.
        parts: the numbers of `64,512`, which is a list or a thousand: the column decides.
        filters: what a filter item says.
    """

    kind: Kind
    text: str
    name: str = ""
    value: Value | None = None
    unit: str = ""
    parts: tuple[int, ...] = ()
    filters: tuple[Filter, ...] = ()

    def is_cue(self, *names: str) -> bool:
        """Whether it is one of these cues."""
        return self.kind == "cue" and self.name in names


def lexicon_of(profile: Profile) -> "Lexicon":
    """The lexicon of these results: made once for all questions about them, since making one takes 20 ms."""
    texts = (e.name for e in catalog.entries().values() if e.type == "text")
    return _lexicon(tuple((column, profile.values(column)) for column in texts), profile.curves, profile.words)


@lru_cache(maxsize=8)
def _lexicon(
    values: tuple[tuple[str, tuple[Value, ...]], ...], curves: tuple[str, ...], words: tuple[OwnWord, ...]
) -> "Lexicon":
    return Lexicon(Profile(distinct=dict(values), curves=curves, words=words))


class Lexicon:
    """Phrases -> items, from the cues above, the catalogue, and the values that the results hold, in that order."""

    def __init__(self, profile: Profile) -> None:
        self._phrases: dict[tuple[str, ...], Item] = {}
        self._parts: dict[str, re.Pattern[str]] = {}  # parts of machines' names, and longer names that they begin
        for cue, phrases in CUES.items():
            for phrase in phrases:
                self._add(phrase, Item("cue", phrase, cue))
        for entry in catalog.entries().values():
            names = () if entry.name == "error" else (entry.name,)  # "error" is the numerical one
            for phrase in (*names, entry.label, *entry.synonyms):
                self._add(phrase, Item("column", phrase, entry.name))
        for column in (e.name for e in catalog.entries().values() if e.type == "text"):
            self._add_values(column, profile)
        bare_machines = [(str(m), Item("value", str(m), "machine", m)) for m in profile.values("machine")]
        bare_machines += self._add_shorter_machines(profile)
        self._add_curves_and_facts(profile)
        for word in FILLERS:
            self._add(word, Item("filler", word))
        bare_machines += self._add_parts_of_machines(profile)
        movielens = tuple(v for v in profile.values("dataset") if str(v).startswith("ml-"))
        if len(movielens) > 1:  # "the movielens sets"
            several = Item("filter", "movielens", filters=(Filter("dataset", "in", movielens),))
            for phrase in ("movielens sets", "movielens data sets", "movielens datasets", "both movielens", "ml sets"):
                self._add(phrase, several)
        for phrase, item in bare_machines:  # last: a machine that is called `auc` is asked for as machine auc
            self._add(phrase, item)
        self._own: dict[str, str] = {}  # learnt words, and what each is taken for
        for own in profile.words:
            self._add_own(own)
        self._longest = max(map(len, self._phrases))
        # Short words are too close to each other for a typo to be told from another word.
        # Nor may a word become one that says nothing, it would be lost: but for long ones that are all but written out.
        telling = [phrase for phrase, item in self._phrases.items() if item.kind != "filler"]
        self._telling = frozenset(telling)
        self._correctable = sorted({w for phrase in telling for w in phrase if len(w) >= 4 and w.isalpha()})
        self._words = frozenset(word for phrase in self._phrases for word in phrase)
        self._long_fillers = sorted(w for w in FILLERS if len(w) >= 8)
        self._corrected: dict[str, str | None] = {}

    def _add(self, phrase: str, item: Item) -> None:
        if key := tuple(tokens(phrase)):
            self._phrases.setdefault(key, item)

    def _add_own(self, own: OwnWord) -> None:
        """A learnt word, where it is no other word."""
        if own.column is None or tuple(tokens(own.word)) in self._phrases:
            return
        kind: Kind = "curve" if own.table == CURVES else "column" if own.value is None else "value"
        self._add(own.word, Item(kind, own.word, own.column, own.value))
        self._own[own.word] = own.name if own.value else catalog.entry(own.column).label

    def _add_values(self, column: str, profile: Profile) -> None:
        synonyms = catalog.value_synonyms(column)
        for value in dict.fromkeys([*profile.values(column), *synonyms]):
            for phrase in (str(value), *synonyms.get(str(value), ())):
                item = Item("value", phrase, column, value)
                if column in _NAMED_VALUES:
                    for word in (column, catalog.entry(column).label):
                        self._add(f"{phrase} {word}", item)
                        for between in _BESIDE:
                            self._add(f"{word}{between} {phrase}", item)
                            self._add(f"{word}s{between} {phrase}", item)
                if column not in _NAMED_VALUES or phrase in _TELLING:
                    self._add(phrase, item)

    def _add_shorter_machines(self, profile: Profile) -> list[tuple[str, Item]]:
        """Beside the word "machine"; returns what they are called alone."""
        bare = []
        for phrase, machines in machine_names.shorter(profile).items():
            one = len(machines) == 1
            listed = Filter("machine", "in", machines)
            item = Item("value", phrase, "machine", machines[0]) if one else Item("filter", phrase, filters=(listed,))
            self._add(f"machine {phrase}", item)
            self._add(f"{phrase} machine", item)
            bare.append((phrase, item))
        return bare

    def _add_parts_of_machines(self, profile: Profile) -> list[tuple[str, Item]]:
        """Beside a word for a machine; returns what they are called alone."""
        bare = []
        for phrase, machine in machine_names.parts(profile).items():
            item = Item("value", phrase, "machine", machine)
            for around in ("machine {}", "{} machine", "{} box", "{} server"):
                self._add(around.format(phrase), item)
            self._parts[phrase] = re.compile(rf"\b{phrase}[-_]\w")  # "epyc-02" is not the machine epyc-01
            if phrase not in machine_names.EVERYDAY:
                bare.append((phrase, item))
        return bare

    def _add_curves_and_facts(self, profile: Profile) -> None:
        synonyms = catalog.curve_synonyms()
        for curve in dict.fromkeys([*profile.curves, *synonyms]):
            for phrase in (curve, curve.replace("_", " "), *synonyms.get(curve, ())):
                self._add(phrase, Item("curve", phrase, curve))
        for fact, phrases in catalog.words()["machine_facts"].items():
            for phrase in phrases:
                self._add(phrase, Item("fact", phrase, fact))

    def items(self, text: str) -> tuple[list[Item], list[str]]:
        """Cut the text into items, longest phrase first. Returns them with a note for each corrected typo."""
        found: list[Item] = []
        starts: list[int] = []  # of the items found
        notes: list[str] = []
        words = tokens(text)
        i = 0
        while i < len(words):
            item, length = self._longest_match(words, i)
            if item and length == 1 and words[i] in self._parts and self._parts[words[i]].search(text.lower()):
                item = None
            if item is None and (match := NUMBER.fullmatch(words[i])):
                item, length = _number(match), 1
                following = words[i + 1] if i + 1 < len(words) else ""
                if not item.unit and following != "b" and (following in UNITS or following == "percent"):
                    item, length = Item("number", item.text, "", item.value, following), 2
            if item is None and (corrected := self._correct(words[i])) not in (None, words[i]):
                before = self._telling_from([*words[:i], corrected, *words[i + 1 :]], i)
                if before is None and (
                    corrected in self._long_fillers
                    or _without_doubles(words[i]) == _without_doubles(corrected)
                    or sorted(words[i]) == sorted(corrected)
                ):
                    before = i  # "onlyy", "evrything", "teh": no other word can be meant
                if before is not None:
                    notes.append(f"read “{words[i]}” as “{corrected}”")
                    words[i] = corrected
                    while starts and starts[-1] >= before:  # the phrase begins before the word
                        i = starts.pop()
                        found.pop()
                    continue
            found.append(item or Item("unknown", words[i]))
            starts.append(i)
            i += length
        notes += [f"“{i.text}” taken for {self._own[i.text]}" for i in found if i.text in self._own]
        return found, notes

    def _longest_match(self, words: list[str], start: int) -> tuple[Item | None, int]:
        for length in range(min(self._longest, len(words) - start), 0, -1):
            phrase = tuple(words[start : start + length])
            if item := self._phrases.get(phrase) or self._phrases.get((*phrase[:-1], phrase[-1].removesuffix("s"))):
                return item, length
        return None, 1

    def _correct(self, word: str) -> str | None:
        """The known word that a typo stands for; never one that only a prefix such as `un` sets apart."""
        if word not in self._corrected:
            if len(self._corrected) >= _MOST_CORRECTED:
                self._corrected.clear()
            self._corrected[word] = self._found_correction(word)
        return self._corrected[word]

    def _found_correction(self, word: str) -> str | None:
        if len(word) < 3 or not word.isalpha():
            return None
        if swapped := [w for w in _neighbours_swapped(word) if w in self._words]:
            return swapped[0] if len(swapped) == 1 else None
        if len(word) < 4:
            return None
        close = close_words(word, self._correctable, 1, 0.82)
        if not close and len(word) >= 8:
            close = close_words(word, self._long_fillers, 1, 0.9)
        if not close or not _is_a_typo(word, close[0]):
            return None
        return close[0]

    def _telling_from(self, words: list[str], at: int) -> int | None:
        """Where the phrase begins that a corrected word is part of and that says something; None where there is none.

        A piece of a longer phrase ("timed" of "timed out") is no word by itself, and a filler would be lost.
        """
        for start in range(max(0, at - self._longest + 1), at + 1):
            for end in range(min(len(words), start + self._longest), at, -1):
                phrase = tuple(words[start:end])
                if phrase in self._telling or (*phrase[:-1], phrase[-1].removesuffix("s")) in self._telling:
                    return start
        return None

    def nearest(self, word: str) -> Iterable[str]:
        """Column labels near a word that is not known."""
        labels = {e.label.lower(): e.label for e in catalog.entries().values()}
        return [labels[m] for m in close_words(word, labels, 2, 0.7)]


def _without_doubles(word: str) -> str:
    return re.sub(r"(.)\1+", r"\1", word)


def _neighbours_swapped(word: str) -> list[str]:
    """The words that two neighbouring letters, typed in the wrong order, would make of one."""
    pairs = range(len(word) - 1)
    swapped = (word[:i] + word[i + 1] + word[i] + word[i + 2 :] for i in pairs if word[i] != word[i + 1])
    return list(dict.fromkeys(swapped))


def _is_a_typo(word: str, known: str) -> bool:
    """Whether a word is the known one misspelt, and not another word: "closest" is no "loses", "plane" no "planted",
    "dominates" not "dominated", and a prefix such as `un` means something."""
    if word[0] != known[0] or abs(len(word) - len(known)) > 1:
        return False
    return not (word[:-1] == known[:-1] and {word[-1], known[-1]} <= set("sdrgy"))


def _number(match: re.Match[str]) -> Item:
    text, unit = match["number"], match["unit"] or ""
    if "/" in text:
        above, below = map(int, text.split("/"))
        return Item("number", match[0], "", above / below if below else 0.0, unit)
    parts = tuple(map(int, text.split(","))) if "," in text and "." not in text else ()
    value = float(text.replace(",", ""))
    plain = int(value) if value.is_integer() and not set("e.") & set(text) else value
    return Item("number", match[0], "", plain, unit, parts)

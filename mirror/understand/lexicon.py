"""The lexicon: every phrase the grammar knows, and the text cut into items of it."""

import difflib
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from mirror import catalog
from mirror.profile import Profile

Kind = Literal["column", "value", "cue", "filler", "number", "unknown"]

# A number keeps what is written with it: 0.1, 1e-3, 2,048, 10 %, 5MB, 10x.
_NUMBER = re.compile(r"(?P<number>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d*\.?\d+(?:e[+-]?\d+)?)(?P<unit>[a-zµ%/]*)")
_WORD = re.compile(r"[^\W\d_]+\d*|<=|>=|<>|!=|[<>=≤≥]|,")

CUES: dict[str, tuple[str, ...]] = {
    "vs": ("vs", "versus", "against"),
    "by": (
        "by", "per", "across", "as a function of", "for each", "for every", "for all", "for different", "over",
        "grouped by", "broken down by", "depending on", "for any",
    ),
    "and": ("and", "or", ",", "plus"),
    "not": ("not", "except", "except for", "without", "excluding", "other than", "but not", "no", "<>", "!="),
    "compare": ("compare", "compared to", "compared with", "comparison", "comparison of", "difference between"),
    "between": ("between", "from"),
    "best": ("best", "better"),
    "worst": ("worst", "worse"),
    "highest": ("highest", "most", "greatest"),
    "lowest": ("lowest", "least", "fewest"),
    "fastest": ("fastest", "quickest", "faster"),
    "slowest": ("slowest", "slower"),
    "smallest": ("smallest", "tiniest"),
    "largest": ("largest", "biggest"),
    "top": ("top", "first"),
    "bottom": ("bottom", "last"),
    "sort": ("sorted by", "sort by", "ordered by", "order by", "ranked by", "rank by"),
    "ascending": ("ascending",),
    "descending": ("descending",),
    "avg": ("average", "mean", "avg", "averaged"),
    "median": ("median",),
    "max": ("maximum", "max"),
    "min": ("minimum", "min"),
    "stddev": ("standard deviation", "std", "stddev", "deviation"),
    "count": ("how many", "number of", "count", "count of", "how often"),
    "<": ("<", "under", "below", "less than", "fewer than", "smaller than", "lower than"),
    "<=": ("<=", "≤", "at most", "up to", "no more than", "not more than"),
    ">": (">", "above", "more than", "greater than", "larger than", "exceeding", "higher than"),
    ">=": (">=", "≥", "at least", "no less than", "not less than"),
    "=": ("=", "equals", "equal to", "exactly"),
    "failed": ("failed", "fail", "failing", "failures", "failure", "crashed", "went wrong"),
    "status:skipped": ("skipped",),
    "status:timeout": ("timed out", "timeout", "timeouts"),
    "status:oom": ("out of memory", "oom", "ran out of memory"),
    "status:cancelled": ("cancelled", "canceled"),
    "trials": ("trial", "trials", "run", "runs", "configuration", "configurations", "result", "results"),
    "why": ("why",),
    "times smaller": ("smaller", "times smaller"),
    "chart:scatter": ("scatter", "scatter plot", "scatter chart", "scatterplot"),
    "chart:line": ("line", "lines", "line chart", "line plot", "line graph", "curve"),
    "chart:bar": ("bar", "bars", "bar chart", "bar plot", "bar graph"),
    "chart:box": ("box", "box plot", "boxplot", "boxes", "distribution", "distribution of", "spread of"),
    "chart:histogram": ("histogram",),
    "chart:heatmap": ("heatmap", "heat map"),
    "chart:table": ("table",),
    "log": ("log scale", "logarithmic", "logarithmic scale", "log axis", "log axes"),
}  # fmt: skip

FILLERS = """
a an the of for at with in on to is are was were be been do does did has have had having what which who where when how
show me plot give list display draw chart graph see get find tell us i we you want like would please can could let its
it this that these those there their my our your as using use used when if then than only just all each every any some
value values number numbers level levels different same respect terms look much many one ones embedding embeddings
model models need needs take takes took cost costs make makes made still
"""

ACTIONS = ("run", "start", "launch", "benchmark", "measure", "rerun", "retry")

UNITS: dict[str, tuple[str, float]] = {
    "b": ("memory_mb", 1e-6), "bytes": ("memory_mb", 1e-6), "kb": ("memory_mb", 1e-3), "mb": ("memory_mb", 1.0),
    "megabytes": ("memory_mb", 1.0), "gb": ("memory_mb", 1e3), "gigabytes": ("memory_mb", 1e3),
    "kib": ("memory_mb", 1024e-6), "mib": ("memory_mb", 1024**2 / 1e6), "gib": ("memory_mb", 1024**3 / 1e6),
    "ns": ("latency_us", 1e-3), "us": ("latency_us", 1.0), "µs": ("latency_us", 1.0), "μs": ("latency_us", 1.0),
    "microseconds": ("latency_us", 1.0), "ms": ("latency_us", 1e3), "milliseconds": ("latency_us", 1e3),
    "gb/s": ("bandwidth_gb_s", 1.0),
}  # fmt: skip
SCALES = {"k": 1e3, "m": 1e6, "%": 1e-2, "percent": 1e-2, "x": 1.0, "": 1.0}


@dataclass(frozen=True)
class Item:
    """One phrase of the question.

    Attributes:
        kind: column (name), value (of a column), cue (a key of CUES), number, filler, or unknown.
        text: as written.
        name: column name, cue, or the column a value belongs to.
        value: the value, or the number.
        unit: unit written with a number, lower case.
    """

    kind: Kind
    text: str
    name: str = ""
    value: str | int | float | bool | None = None
    unit: str = ""


def tokens(text: str) -> list[str]:
    """Lower-case words, numbers (with what is written with them) and signs; other punctuation is dropped."""
    text = unicodedata.normalize("NFKC", text).lower().replace("μ", "µ")
    found, i = [], 0
    while i < len(text):
        if match := _NUMBER.match(text, i) or _WORD.match(text, i):
            found.append(match[0])
            i = match.end()
        else:
            i += 1
    return found


class Lexicon:
    """Phrases -> items, from the catalogue, the values that the results hold, and the cues above."""

    def __init__(self, profile: Profile) -> None:
        self._phrases: dict[tuple[str, ...], Item] = {}
        for word in FILLERS.split():
            self._add(word, Item("filler", word))
        for cue, phrases in CUES.items():
            for phrase in phrases:
                self._add(phrase, Item("cue", phrase, cue))
        for entry in catalog.entries().values():
            for phrase in (entry.name, entry.label, *entry.synonyms):
                self._add(phrase, Item("column", phrase, entry.name))
        for column in (e.name for e in catalog.entries().values() if e.type == "text"):
            synonyms = catalog.value_synonyms(column)
            for value in dict.fromkeys([*profile.values(column), *synonyms]):
                for phrase in (str(value), *synonyms.get(str(value), ())):
                    # Names that people choose can be any words: they count only behind the name of their column.
                    named = f"{column} {phrase}" if column in ("sweep", "machine") else phrase
                    self._add(named, Item("value", phrase, column, value))
        self._longest = max(map(len, self._phrases))
        # Short words are too close to each other for a typo to be told from another word.
        self._correctable = sorted({w for phrase in self._phrases for w in phrase if len(w) >= 4 and w.isalpha()})

    def _add(self, phrase: str, item: Item) -> None:
        key = tuple(tokens(phrase))
        if key:
            self._phrases[key] = item

    def items(self, text: str) -> tuple[list[Item], list[str]]:
        """Cut the text into items, longest phrase first. Returns them with a note for each corrected typo."""
        found: list[Item] = []
        notes: list[str] = []
        words = tokens(text)
        i = 0
        while i < len(words):
            item, length = self._longest_match(words, i)
            if item is None and (match := _NUMBER.fullmatch(words[i])):
                item, length = _number(match), 1
                following = words[i + 1] if i + 1 < len(words) else ""
                if not match["unit"] and (following in UNITS or following in ("percent", "%")) and following != "b":
                    item, length = Item("number", item.text, "", item.value, following), 2
            if item is None and (corrected := self._correct(words[i])):
                notes.append(f"read “{words[i]}” as “{corrected}”")
                words[i] = corrected
                continue
            found.append(item or Item("unknown", words[i]))
            i += length
        return found, notes

    def _longest_match(self, words: list[str], start: int) -> tuple[Item | None, int]:
        for length in range(min(self._longest, len(words) - start), 0, -1):
            phrase = tuple(words[start : start + length])
            if item := self._phrases.get(phrase) or self._phrases.get((*phrase[:-1], phrase[-1].removesuffix("s"))):
                return item, length
        return None, 1

    def _correct(self, word: str) -> str | None:
        if len(word) < 4 or not word.isalpha():
            return None
        close = difflib.get_close_matches(word, self._correctable, n=1, cutoff=0.82)
        return close[0] if close and close[0] != word else None

    def nearest(self, word: str) -> Iterable[str]:
        """Column labels near a word that is not known."""
        labels = {e.label.lower(): e.label for e in catalog.entries().values()}
        return [labels[m] for m in difflib.get_close_matches(word, labels, n=2, cutoff=0.7)]


def _number(match: re.Match[str]) -> Item:
    value = float(match["number"].replace(",", ""))
    plain = int(value) if value.is_integer() and "e" not in match["number"] and "." not in match["number"] else value
    return Item("number", match[0], "", plain, match["unit"])

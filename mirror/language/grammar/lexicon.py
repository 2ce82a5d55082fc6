"""The lexicon: every phrase the grammar knows, and the text cut into items of it."""

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from mirror.language.phrases import machine_names
from mirror.query.spec import Filter
from mirror.schema import catalog
from mirror.schema.profile import Profile
from mirror.table.values import Value
from mirror.words.tokens import NUMBER, tokens

Kind = Literal["column", "value", "curve", "fact", "cue", "filler", "number", "filter", "limit", "unknown"]

CUES: dict[str, tuple[str, ...]] = {
    "vs": ("vs", "versus", "against"),
    "by": (
        "by", "per", "across", "as a function of", "for each", "for every", "for all", "for different", "over",
        "in each", "on each", "grouped by", "group by", "broken down by", "depending on", "for any", "along",
        "broken out by", "split by", "separated by", "separately for", "for each of", "for the different",
        "for various", "for several", "with increasing", "with growing", "scale with", "scales with", "scaled with",
        "scaling with", "scale across", "scale over", "scales across", "scaling over", "grow with", "grows with",
        "growing with", "vary with", "varies with", "vary across", "vary by", "varies across", "change with",
        "changes with", "change across", "depend on", "depends on", "when varying", "as we vary", "at each",
        "at every", "at all", "at different", "on every", "on all", "on different", "in every", "within each",
    ),
    "and": ("and", "or", ",", "plus"),
    "to": ("to",),
    "than": ("than",),
    "relative": (
        "relative to", "compared to", "compared with", "compared against", "in comparison to", "in comparison with",
        "normalized to", "normalised to", "normalized by", "normalised by", "as a fraction of", "as a share of",
        "as a multiple of", "with respect to", "in relation to", "off from", "away from", "instead of", "rather than",
    ),
    "ratio": (
        "ratio", "ratio of", "ratio between", "ratios", "how many times", "how many x", "how many times more",
        "how much", "by how much", "by what factor", "what factor", "times as", "x as", "factor",
    ),
    "tradeoff": (
        "tradeoff", "tradeoffs", "tradeoff between", "tradeoff of", "balance between", "relationship between",
        "relation between", "correlation between", "correlation of", "interplay of", "against each other",
    ),
    "drop": (
        "lose", "loses", "lost", "losing", "drop", "drops", "dropping", "gap", "difference to",
        "difference from", "delta",
        "gain", "gains", "gained", "penalty", "hurt", "hurts", "hurting", "degradation", "drop in",
        "gap in",
        "difference in", "drop of", "gap to", "change in", "sacrifice", "sacrifices", "give up", "gives up",
    ),
    "saves": (
        "save", "saves", "saved", "saving", "savings", "reduce", "reduces", "reduced", "reduction", "shrink",
        "shrinks", "cut", "cuts",
    ),
    "beats": (
        "beat", "beats", "beating", "outperform", "outperforms", "outperforming", "win against", "wins against",
        "win over", "wins over", "ahead of", "superior to", "stronger than",
    ),
    "front": (
        "pareto", "pareto front", "pareto frontier", "pareto optimal", "pareto optimality", "pareto efficient",
        "on the pareto front", "on the front", "efficient frontier", "not dominated", "non dominated", "nondominated",
        "undominated", "not dominated by any", "not dominated by any other", "never dominated", "best tradeoff",
        "best tradeoffs", "best tradeoff between", "non dominated on", "not pareto dominated", "frontier", "pareto set",
        "best compromise", "best compromise between",
    ),
    "dominated": ("dominated", "pareto dominated", "dominated by another", "beaten in both"),
    "final": (
        "final", "at the end", "in the end", "at the end of training", "after training", "at the end of the training",
        "when training ends", "once trained", "last step", "at the last step", "finally",
    ),
    "recommend": (
        "should i use", "should we use", "should i pick", "should i choose", "should i take", "would you use",
        "would you pick", "would you choose", "would you recommend", "do you recommend", "recommend", "recommended",
        "recommendation", "suggest", "to use", "best choice", "worth it", "worth the trouble", "worth the effort",
        "worthwhile",
        "is worth", "pays off", "pay off", "sweet spot", "should one use", "should one pick", "do i pick", "do i use",
        "do i choose", "do we pick", "do we use", "to pick", "to choose", "to take", "should be used", "makes sense",
        "make sense", "any good", "a good choice", "good idea", "good enough", "get away with", "go for", "go with",
    ),
    "often": ("often", "frequently"),
    "collapse": (
        "averaged over", "averaged across", "average over", "average across", "averaging over", "averaging across",
        "mean over", "mean across", "regardless of", "irrespective of", "ignoring", "pooled over", "pooled across",
        "no matter the", "no matter which", "no matter what", "aggregated over", "aggregated across", "independent of",
        "averaged over all", "averaged across all", "average over all", "average across all", "mean over all",
    ),
    "newest": (
        "newest", "latest", "most recent", "most recently", "recent", "recently", "when was the last", "last run",
        "last runs", "last trial", "last trials",
    ),
    "exist": (
        "are there", "is there", "do we have", "do you have", "do i have", "have we", "available", "exist", "exists",
        "have results", "has results", "were tested", "were measured", "were benchmarked", "were run", "been run",
        "been measured", "been tested", "been benchmarked", "are available", "are known", "measured so far",
        "do you know", "in the results", "in the database", "are covered", "were used", "was used", "are included",
        "have been run", "have been measured", "have been tested", "have been benchmarked", "we have",
    ),
    "not": ("not", "except", "except for", "without", "excluding", "other than", "but not", "no", "<>", "!=", "≠"),
    "compare": (
        "compare", "comparison", "comparison of", "difference between", "comparing", "differences between",
        "compares", "next to",
        "compared", "difference", "differences", "any difference", "stack up", "side by side", "head to head",
        "differ", "differs",
    ),
    "between": ("between", "from"),
    "best": ("best", "winner", "winners", "wins", "win", "optimal", "strongest", "winning", "leader", "leads", "ideal"),
    "worst": ("worst", "weakest", "poorest"),
    "highest": ("highest", "most", "greatest", "maximal"),
    "lowest": ("lowest", "least", "fewest", "minimal"),
    "fastest": ("fastest", "quickest", "speediest"),
    "slowest": ("slowest", "laggard"),
    "smallest": ("smallest", "tiniest", "cheapest", "lightest", "leanest", "most compact", "most memory efficient"),
    "largest": ("largest", "biggest", "heaviest", "most memory hungry"),
    "faster": ("faster", "quicker", "speedier"),
    "slower": ("slower",),
    "smaller": ("smaller", "lighter", "more compact", "leaner", "more memory efficient"),
    "larger": ("larger", "bigger", "heavier"),
    "less": ("less", "lower", "fewer"),
    "more": ("more", "higher", "greater"),
    "significant": ("significantly", "statistically significantly", "clearly", "measurably", "reliably"),
    "better": ("better",),
    "worse": ("worse",),
    "changed": ("changed", "change", "changes"),
    "improved": ("improved", "improve", "improves"),
    "regressed": (
        "regressed", "regression", "regressions", "regress", "regresses", "degraded", "degrade", "worsened", "worsen",
    ),
    "top": ("top", "first"),
    "bottom": ("bottom", "last"),
    "sort": (
        "sorted by", "sort by", "ordered by", "order by", "ranked by", "rank by", "sorted on", "sort on", "sorting by",
        "in order of",
    ),
    "ascending": (
        "ascending", "asc", "increasing", "lowest first", "smallest first", "from low to high", "smallest on top",
        "lowest on top", "cheapest first", "lowest at the top", "smallest to largest", "low to high",
    ),
    "descending": (
        "descending", "desc", "decreasing", "highest first", "largest first", "from high to low", "highest on top",
        "largest on top", "biggest first", "highest at the top", "largest to smallest", "high to low",
    ),
    "avg": ("average", "mean", "avg", "averaged"),
    "median": ("median",),
    "max": ("maximum", "max"),
    "min": ("minimum", "min"),
    "sum": ("total", "sum", "sum of", "summed", "in total"),
    "longest": ("longest",),
    "shortest": ("shortest",),
    "extent": ("range of", "min and max", "minimum and maximum", "lowest and highest", "highest and lowest"),
    "stddev": ("standard deviation", "std", "stddev", "deviation"),
    "count": ("how many", "number of", "count", "count of", "how often", "total number of"),
    "<": ("<", "under", "below", "shorter than", "less than", "fewer than", "smaller than", "lower than"),
    "<=": ("<=", "≤", "at most", "up to", "no more than", "not more than"),
    ">": (">", "above", "longer than", "more than", "greater than", "larger than", "exceeding", "higher than"),
    ">=": (">=", "≥", "at least", "no less than", "not less than"),
    "=": ("=", "equals", "equal to", "exactly"),
    "failed": ("failed", "fail", "failing", "failures", "failure", "crashed", "went wrong", "errors"),
    "status:skipped": ("skipped",),
    "status:timeout": ("timed out", "timeout", "timeouts"),
    "status:oom": ("out of memory", "oom", "ran out of memory"),
    "status:cancelled": ("cancelled", "canceled"),
    "trials": (
        "trial", "trials", "experiment", "experiments", "run", "runs", "configuration", "configurations", "result",
        "results",
    ),
    "why": ("why", "explain", "explain why", "how come", "reason why", "the reason why", "what makes", "what explains"),
    "compressed": ("compressed",),
    "chart:scatter": ("scatter", "scatter plot", "scatter chart", "scatterplot"),
    "chart:line": ("line", "lines", "line chart", "line plot", "line graph"),
    "chart:bar": ("bar", "bars", "bar chart", "bar plot", "bar graph"),
    "chart:box": ("box", "box plot", "boxplot", "boxes", "distribution", "distribution of", "spread of"),
    "chart:histogram": ("histogram",),
    "chart:heatmap": ("heatmap", "heat map"),
    "chart:parallel": ("parallel coordinates", "parallel plot"),
    "chart:table": ("table",),
    "log": (
        "log x", "log y", "log log", "loglog", "log scale", "logarithmic", "logarithmic scale", "log axis", "log axes",
    ),
    "drop:auc": (
        "auc loss", "quality loss", "accuracy loss", "auc drop", "quality drop", "accuracy drop", "loss in auc",
        "drop in auc", "loss of auc", "loss of quality", "drop in quality", "auc difference", "auc gain",
        "losing quality", "auc gap", "loss of accuracy", "drop in accuracy", "auc penalty", "quality penalty",
        "accuracy penalty", "auc delta", "quality gap", "auc hit", "quality hit", "accuracy hit",
    ),
    "training": (
        "by step", "per step", "over steps", "over the steps", "by training step", "over training steps",
        "training curve", "training curves", "curve", "curves", "learning curve", "learning curves", "over training",
        "over the training", "over the training steps", "over the course of training",
        "over the course of the training",
        "in the course of training", "across training", "along training", "across steps", "along the steps",
        "throughout training", "as training goes on", "as training progresses", "as training proceeds", "as it trains",
        "step by step", "convergence", "convergence of", "converge", "converges", "during training",
        "during the training", "while training", "while it trains",
    ),
    # Things people ask that the form of a query cannot hold: refused with the way there is.
    "cannot:curves": ("steps", "epoch", "epochs"),
    # What `time_cues` has left, misspelt days among it.
    "cannot:time": (
        "since", "oldest", "until", "before", "after", "ago", "today",
        "yesterday", "tomorrow", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
        "last week", "last month", "last year", "this week", "this month", "this year",
    ),
}  # fmt: skip

FILLERS = """
plain gimme thing things stuff fall falls help helps thanks listing bunch overall everyone gonna a an the of for at
with in on is are was were be been do does did has have had having what which where when how show me plot give list
display draw chart graph see get find tell us i we you want like would please can could let its it this that these
those there their my our your as using used use if then only just all each every any some value values number numbers
level levels different same respect terms look much many one ones embedding embeddings model models got gotten become
becomes became gone need needs take takes took cost costs make makes made still reach reaches bag bags hold holds
holding keep keeps keeping stay stays staying hey hi hello thank pls plz kindly wonder wondering know curious
interested question about overview quick really actually right now currently so far ever also too both either well
okay ok yes basically roughly approximately around perform performs performed performing performance behave behaves
behavior doing go goes going come comes s t re d ve should will may might must shall am being he they them he's whats
hows lets wants wanted looking trying try achieve achieves achieved achieving obtain obtained deliver delivers provide
provides offer offers gives given regarding concerning wrt setting settings set case cases scenario scenarios point
points measure measured measurements benchmarked tested possible general generally usually typically here anyway
simply print return report reports summarize summary breakdown break entries while via into onto out up off own such
kind kinds type types variant variants option options choice choices config configs setup setups system systems world
real life practice something anything everything bit little lot rather quite very even yet again once people team
someone means meant actual true nice fine great fair enough important matter matters care happen happens happened pick
choose chosen recommended rely work works working consume consumes consumed consumption occupy occupies uses usage
require requires required spend spends spent eat eats looks fit fits fitting budget constraint constraints limit
limits limited restrict restricted overhead mine said say tells among ran looked select develop develops evolve
evolves progress progresses trained whose down whether squeezed timed ask whichever
put tried quantify competing retain retains remain
remains somebody anybody im ive u whats wheres thats theres heres theyre youre
"""

UNITS: dict[str, tuple[str, float]] = {
    "b": ("memory_mb", 1e-6), "megabyte": ("memory_mb", 1.0), "gigabyte": ("memory_mb", 1e3),
    "millisecond": ("latency_us", 1e3), "microsecond": ("latency_us", 1.0), "msec": ("latency_us", 1e3),
    "bytes": ("memory_mb", 1e-6), "kb": ("memory_mb", 1e-3), "mb": ("memory_mb", 1.0),
    "megabytes": ("memory_mb", 1.0), "gb": ("memory_mb", 1e3), "gigabytes": ("memory_mb", 1e3),
    "kib": ("memory_mb", 1024e-6), "mib": ("memory_mb", 1024**2 / 1e6), "gib": ("memory_mb", 1024**3 / 1e6),
    "ns": ("latency_us", 1e-3), "us": ("latency_us", 1.0), "µs": ("latency_us", 1.0),
    "microseconds": ("latency_us", 1.0), "ms": ("latency_us", 1e3), "milliseconds": ("latency_us", 1e3),
    "s": ("latency_us", 1e6), "sec": ("latency_us", 1e6), "second": ("latency_us", 1e6),
    "seconds": ("latency_us", 1e6),
    "min": ("latency_us", 60e6), "minutes": ("latency_us", 60e6), "minute": ("latency_us", 60e6),
    "hours": ("latency_us", 3600e6), "hour": ("latency_us", 3600e6),
    "gb/s": ("bandwidth_gb_s", 1.0),
}  # fmt: skip
SCALES = {"k": 1e3, "m": 1e6, "%": 1e-2, "percent": 1e-2, "x": 1.0, "": 1.0}
# Names that people choose, and values that are everyday words: they count only beside the name of their column.
_NAMED_VALUES = (
    "sweep", "machine", "pooling_mode", "dtype", "op", "verdict", "prune_scope", "utility_score", "layout", "structure",
    "category", "question_set",
)  # fmt: skip
_BESIDE = ("", " is", " are", " was", " were", " is the", " are the", " =")  # between such a column and its value
_TELLING = (
    "unclear",
    "compact",
    "flat",
    "interleaved",
    "split_in",
    "concat_out",
    "held_out",
)  # those of them that say by themselves what they are of


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
    return _lexicon(tuple((column, profile.values(column)) for column in texts), profile.curves)


@lru_cache(maxsize=8)
def _lexicon(values: tuple[tuple[str, tuple[Value, ...]], ...], curves: tuple[str, ...]) -> "Lexicon":
    return Lexicon(Profile(distinct=dict(values), curves=curves))


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
        for word in FILLERS.split():
            self._add(word, Item("filler", word))
        bare_machines += self._add_parts_of_machines(profile)
        movielens = tuple(v for v in profile.values("dataset") if str(v).startswith("ml-"))
        if len(movielens) > 1:  # "the movielens sets"
            several = Item("filter", "movielens", filters=(Filter("dataset", "in", movielens),))
            for phrase in ("movielens sets", "movielens data sets", "movielens datasets", "both movielens", "ml sets"):
                self._add(phrase, several)
        for phrase, item in bare_machines:  # last: a machine that is called `auc` is asked for as machine auc
            self._add(phrase, item)
        self._longest = max(map(len, self._phrases))
        # Short words are too close to each other for a typo to be told from another word.
        # Nor may a word become one that says nothing, it would be lost: but for long ones that are all but written out.
        telling = [phrase for phrase, item in self._phrases.items() if item.kind != "filler"]
        self._telling = frozenset(telling)
        self._correctable = sorted({w for phrase in telling for w in phrase if len(w) >= 4 and w.isalpha()})
        self._words = frozenset(word for phrase in self._phrases for word in phrase)
        self._long_fillers = sorted(w for w in FILLERS.split() if len(w) >= 8)

    def _add(self, phrase: str, item: Item) -> None:
        if key := tuple(tokens(phrase)):
            self._phrases.setdefault(key, item)

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
        return found, notes

    def _longest_match(self, words: list[str], start: int) -> tuple[Item | None, int]:
        for length in range(min(self._longest, len(words) - start), 0, -1):
            phrase = tuple(words[start : start + length])
            if item := self._phrases.get(phrase) or self._phrases.get((*phrase[:-1], phrase[-1].removesuffix("s"))):
                return item, length
        return None, 1

    def _correct(self, word: str) -> str | None:
        """The known word that a typo stands for; never one that only a prefix such as `un` sets apart."""
        if len(word) < 3 or not word.isalpha():
            return None
        if swapped := [w for w in _neighbours_swapped(word) if w in self._words]:
            return swapped[0] if len(swapped) == 1 else None
        if len(word) < 4:
            return None
        close = difflib.get_close_matches(word, self._correctable, n=1, cutoff=0.82)
        if not close and len(word) >= 8:
            close = difflib.get_close_matches(word, self._long_fillers, n=1, cutoff=0.9)
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
        return [labels[m] for m in difflib.get_close_matches(word, labels, n=2, cutoff=0.7)]


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

"""How people ask for a measurement: the verbs, the words around them, seeds, and what is to be run once more."""

import re
import unicodedata
from dataclasses import dataclass

from mirror.query.errors import Refusal
from mirror.words import phrasebook
from mirror.words.phrasebook import one_of

_MOST_SEEDS = 100
_OPENS = (
    r"(?:(?:please|now|then|ok(?:ay)?|hey|so|and|just|also|go ahead and|let'?s|let us"
    r"|(?:can|could|would|will) (?:you|we|i)|i(?:'d| would)? (?:want|like|need)(?: you)? to)[\s,]+)*"
)
# "run time" and "benchmark results" are what is asked about, "train time" a metric; "run" and "train" alone are orders.
_UNLESS_BEFORE = {
    "run": r"(?!\s*-?(?:time|count))",
    "start": r"(?!\s+time)",
    "benchmark": r"(?!\s+(?:by|of|per|vs|and|or|names?|results?|comparison|numbers?)\b)",
    "time": r"(?=\s+(?:a|an|the|one|whole)\b)(?!.*\b(?:takes?|took|needs?|spent)\b)",
    "train": r"(?!\s+(?:time|steps?|loss|auc|by|per)\b)",
}
_VERB = "|".join(
    f"(?P<{asks}>{'|'.join(verb + _UNLESS_BEFORE.get(verb, '') for verb in verbs)})"
    for asks, verbs in phrasebook.phrases("runs", "verbs").items()
)
REQUEST = re.compile(rf"{_OPENS}(?:{_VERB})(?![\w-])")


def _words(pattern: str) -> "re.Pattern[str]":
    return re.compile(rf"(?<![\w-])(?:{pattern})(?![\w-])")


_WORDS = {what: one_of(among) for what, among in phrasebook.phrases("runs", "words").items()}
_SILENT = _words(
    _WORDS["silent"] + "|on (?:this|my|the) (?:machine|computer)"
    "|a (?:new )?(?:run|benchmark|measurement|trial)s? (?:of|for|with|on)"
)
_AGAIN = _words(_WORDS["again"])
_FAILED = _words(r"(?:the )?(?:what failed|failed|failing|failures)(?: (?:trials|runs|ones))?(?: (?:of|in|from))?")
_QUICK = _words(_WORDS["quick"] + "|(?:(?:as |for )?a )?(?:quick|first|rough) (?:look|try|run|test)(?: (?:at|of))?")
_STEP = _words(r"(?:(?:a|the|one|each)\s+)?(?:whole|full|complete|entire)\s+(?:training\s+)?steps?")
_COUNTS = phrasebook.numbers("numbers", "cardinals") | phrasebook.numbers("runs", "seeds")
_COUNT = rf"\d{{1,4}}|{one_of(_COUNTS)}"
_SEEDS = re.compile(
    r"(?<![\w.,=-])(?:with |using |over |and |for |on )?(?:"
    rf"(?P<before>{_COUNT}) (?:different |random )?(?:seeds?|repeats|repetitions|repeat runs"
    rf"|times(?! (?:smaller|less|fewer|lower|compress)))(?!\s*[=:])"
    rf"|(?:seeds|repeats)\s*(?:=|:|of)?\s*(?P<after>{_COUNT})|(?P<twice>twice))(?![\w.-])"
)

SEEDS_NOT_CHOSEN = "Which seeds are used cannot be chosen, how many can: ask for “3 seeds”."
_MORE_SEEDS = re.compile(r"(?:\s*(?:,|and\b|&)+\s*(?:and\s+)?\d+)+\s*(?:$|,|(?:on|at|in|with|for)\b)")


@dataclass(frozen=True)
class Request:
    """A request to measure, its marks set apart.

    Attributes:
        text: the rest, for the built-in reader, in lower case.
        measures: whether its verb is one of measuring, which asks for no ready sweep by its name alone.
        trains: whether its verb is `train`.
        needs_method: whether its verb says too little without a method ("time a ...").
        seeds: how many, or None.
        again, retry_failed, quick: as in RunPlan.
    """

    text: str
    measures: bool = False
    trains: bool = False
    needs_method: bool = False
    seeds: int | None = None
    again: bool = False
    retry_failed: bool = False
    quick: bool = False


def read(question: str) -> Request | None:
    """The request in a text, or None where it asks for no run. Raises Refusal for more seeds than there can be."""
    whole = _normal(question)
    verb = REQUEST.match(whole)
    if not verb:
        return None
    text = whole[verb.end() :]
    again, failed, quick = (pattern.search(text) for pattern in (_AGAIN, _FAILED, _QUICK))
    for pattern in (_AGAIN, _FAILED, _QUICK, _SILENT):
        text = pattern.sub(" ", text)
    text, seeds = _without_seeds(" ".join(text.split()).strip(" ,"))
    return Request(
        _STEP.sub(" forward_backward_update ", text).strip(),
        measures=bool(verb["measure"] or verb["time"] or verb["train"]),
        trains=bool(verb["train"]),
        needs_method=bool(verb["time"] or verb["train"]),
        seeds=seeds,
        again=bool(verb["again"] or again),
        retry_failed=bool(verb["retry"] or failed),
        quick=bool(quick),
    )


def _normal(question: str) -> str:
    text = unicodedata.normalize("NFKC", question).lower().replace("’", "'")
    # `batch_size=64,512` is a list, and no thousands
    text = re.sub(r"=\s*[\w.]+(?:,[\w.]+)+", lambda m: m[0].replace(",", ", ").replace("=", " "), text)
    return re.sub(r"\s+", " ", text).strip(" ?!.,;:")


def _without_seeds(text: str) -> tuple[str, int | None]:
    match = _SEEDS.search(text)
    if not match:
        return text, None
    if match["after"] and _MORE_SEEDS.match(text[match.end() :]):
        raise Refusal(SEEDS_NOT_CHOSEN)
    word = match["before"] or match["after"] or match["twice"]
    seeds = int(_COUNTS.get(word, word))
    if not 1 <= seeds <= _MOST_SEEDS:
        raise Refusal(f"A plan has 1 to {_MOST_SEEDS} seeds, not {seeds:,}.")
    return f"{text[: match.start()]} {text[match.end() :]}".strip(), seeds

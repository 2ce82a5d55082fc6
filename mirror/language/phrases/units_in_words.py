"""Units as a wish ("in ms", "how many MB") and what is said per step: they name a metric, or say nothing new."""

import re

from mirror.words import phrasebook
from mirror.words.phrasebook import one_of

_SPEED_WORD = re.compile(
    r"\b(?:throughput|latency|latencies|speed|samples/s|samples per second|examples per second|examples/s|qps|"
    r"step time|"
    r"time|how fast|how slow|how long|cost|costs|memory|ram|rss|footprint|p50|p9\d)\b"
)
_RECORDED_WORD = re.compile(
    r"\b(?:auc|loss|logloss|alive|live|turnover|threshold|regret|curves?|accuracy|quality|over)\b"
)
SIZE_UNIT = f"(?:{one_of({unit.lower() for unit in phrasebook.words('units', 'bytes') if len(unit) > 1})})"
_TIME_UNIT = f"(?:{one_of(unit for unit, size in phrasebook.numbers('units', 'time').items() if size < 1e6)})"
_ASKED_IN = r"(?:\b(?:all |just |only |measured |expressed |given )*in (?:the )?(?:unit )?|\(in |[(\[])"
_WISHED = (
    (
        re.compile(
            rf"(?:{_ASKED_IN}|\b(?:how many|how much|just the|only the|number of) (?:actual |real "
            rf")?){SIZE_UNIT}\b[)\]]?(?!/s)"
        ),
        re.compile(
            r"\b(?:memory|size|sizes|footprint|metadata|params|parameters|weights|space|storage|ram|rss|how big|"
            r"how large|"
            r"how small|index|memory usage|disk|state)\b"
        ),
        "memory",
    ),
    (
        re.compile(rf"(?:{_ASKED_IN}|\b(?:how many|just the|only the|number of) ){_TIME_UNIT}\b[)\]]?"),
        re.compile(
            r"\b(?:latency|latencies|time|times|timings?|runtime|p10|p50|p90|p95|p99|tail|how long|how fast|how "
            r"slow|duration|"
            r"delay|slow|fast|faster|slower|fastest|slowest|median|longest|shortest)\b"
        ),
        "latency",
    ),
    (
        re.compile(rf"{_ASKED_IN}(?:seconds?|secs?|s|minutes|hours)\b[)\]]?(?= *(?:[?.!,;]|$))"),
        re.compile(r"\b(?:latency|time|times|duration|durations|how long|longest|shortest|p\d\d)\b"),
        "duration",
    ),
)


def without_wishes(text: str) -> str:
    """The question without "in ms"; where nothing else names what is to be shown, the unit does.

    Numbers are shown with their units anyway, so asking for another one changes no answer.
    """
    for pattern, named, metric in _WISHED:
        text = pattern.sub(" " if named.search(pattern.sub(" ", text)) else f" {metric} ", text)
    return text


def of_training(text: str) -> str:
    """ "samples per second while training", "time per training step": a speed of training, not a course over it."""
    if _SPEED_WORD.search(text) and not _RECORDED_WORD.search(text):
        text = re.sub(r"\b(?:while|during|when)(?: the)? (?:training|it trains|they train)\b", "in training", text)
        text = _PER_STEP.sub(lambda m: " latency in training " if "train" in m[0] else " latency ", text)
        if re.search(r"\b(?:training|embedding.step|lookups?|grouped.lookup)\b", text):
            text = re.sub(r"\bper step\b", " ", text)
    return text


_PER_STEP = re.compile(
    r"\b(?:cost|costs|time|latency|speed) (?:per|of a|of each|of one|for each|for every) (?:single )?(?:training "
    r")?step\b|"
    r"\bper[- ]step (?:cost|costs|time|times|latency)\b"
)

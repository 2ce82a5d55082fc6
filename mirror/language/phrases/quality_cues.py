"""Quality that is as good as the baseline's: "within 0.001 of dense", "without losing quality" -> a margin of AUC."""

import re
import unicodedata

from mirror.query.errors import Ambiguity
from mirror.schema import catalog

AS_GOOD = 0.001  # of AUC: what counts as no loss

_QUALITY = r"(?:quality|accuracy|auc)"
_N = r"(?P<n>\d*\.?\d+)\s*(?P<percent>%|points?\b)?"
_SMALL = r"(?:at\s+most|no\s+more\s+than|not\s+more\s+than|less\s+than|under|below|up\s+to|maximal(?:ly)?|max)"
_LOSS = r"(?:loss|drop|degradation|decrease|penalty|hit)"
_LOSE = r"(?:los(?:e|es|ing|t)|drop(?:s|ping|ped)?|sacrific(?:e|es|ing)|giv(?:e|es|ing)\s+up|cost(?:s|ing)?|hurts?)"
# How much may be lost, said in another way than "within 0.001 of dense".
_MARGINS = (
    rf"(?:without|not|never)\s+{_LOSE}\s+(?:{_QUALITY}\s+)?(?:by\s+)?(?:more\s+than|"
    rf"over)\s+{_N}(?:\s+(?:of\s+)?(?:the\s+)?{_QUALITY})?",
    rf"(?:that\s+|which\s+)?{_LOSE}\s+(?:{_QUALITY}\s+)?(?:by\s+)?(?:only\s+)?{_SMALL}\s+{_N}(?:\s+(?:of\s+|"
    rf"in\s+)?(?:the\s+)?{_QUALITY})?",
    rf"{_SMALL}\s+{_N}\s+(?:of\s+|in\s+)?{_QUALITY}\s+{_LOSS}",
    rf"{_SMALL}\s+{_N}\s+{_LOSS}(?:\s+(?:in|of)\s+(?:test\s+)?{_QUALITY})?",
    rf"(?:an?\s+|the\s+)?{_QUALITY}\s+{_LOSS}\s+(?:of\s+|is\s+|stays?\s+)?{_SMALL}\s+{_N}",
    rf"(?:a\s+|the\s+)?{_LOSS}\s+(?:in|of)\s+{_QUALITY}\s+(?:of\s+|is\s+)?{_SMALL}\s+{_N}",
    rf"(?:with\s+)?(?:an?\s+)?{_LOSS}\s+of\s+{_SMALL}\s+{_N}\s+(?:in\s+)?{_QUALITY}",
)
_LOSSLESS = re.compile(
    rf"(?<![\w-])(?:(?:without|with\s+no|at\s+no)\s+(?:(?:any|a)\s+)?"
    rf"(?:(?:losing|loss\s+of|loss\s+in|drop\s+in|drop\s+of)\s+(?:any\s+)?{_QUALITY}|{_QUALITY}\s+(?:loss|drop))"
    rf"|(?:at|with|for)\s+(?:the\s+)?(?:same|equal)\s+{_QUALITY})(?![\w-])"
)


def find(question: str) -> tuple[float | None, str]:
    """How far below the baseline's the AUC may be, and the question without these words; None where it is silent."""
    text = unicodedata.normalize("NFKC", question).lower()
    baseline = catalog.words()["baseline"]
    named = rf"(?:the\s+)?(?:{_QUALITY}\s+of\s+)?(?:the\s+)?(?:{baseline}|baseline)(?:'s)?(?:\s+{_QUALITY})?"
    within = re.compile(rf"(?<![\w-])within\s+(\d*\.?\d+)\s+(?:{_QUALITY}\s+)?(?:of|from)\s+{named}(?![\w-])")
    if match := within.search(text):
        return float(match[1]), f"{text[: match.start()]} {text[match.end() :]}"
    for pattern in (rf"within\s+{_N}\s+(?:{_QUALITY}\s+)?(?:of|from)\s+{named}", *_MARGINS):
        if match := re.search(rf"(?<![\w-])(?:by\s+)?{pattern}(?![\w-])", text):
            rest = re.sub(rf"^\s*(?:of|from|than|to|below|against)\s+{named}(?![\w-])", " ", text[match.end() :])
            return _margin(match, text), f"{text[: match.start()]} {rest}"
    if match := re.search(rf"(?<![\w-]){_alike(named)}(?![\w-])", text):
        return AS_GOOD, f"{text[: match.start()]} {text[match.end() :]}"
    if match := _LOSSLESS.search(text):
        rest = re.sub(rf"^\s*(?:as|than)\s+{named}(?![\w-])", " ", text[match.end() :])
        return AS_GOOD, f"{text[: match.start()]} {rest}"
    return None, question


def _alike(named: str) -> str:
    """ "as accurate as dense", "matches dense", but not "matches dense in latency"."""
    other = r"(?!\s+(?:in|on|for|at|by)\s+(?:terms\s+of\s+)?(?:speed|latency|memory|size|throughput|time))"
    return (
        rf"(?:(?:at\s+least\s+|just\s+|nearly\s+|almost\s+|about\s+)?as\s+(?:good|accurate)\s+as|match(?:es|ing)?|"
        rf"on\s+par\s+with|no\s+worse\s+than|not\s+worse\s+than|the\s+same\s+{_QUALITY}\s+as)\s+{named}{other}"
    )


def _margin(match: re.Match[str], text: str) -> float:
    """The margin of AUC; "1 %" may be a hundredth of AUC or of the baseline's AUC, which is asked back."""
    number = float(match["n"])
    if match["percent"] is None and number < 1:
        return number
    points = f"{number / 100:.6g}"
    said = f"{text[: match.start()]} within {points} of {catalog.words()['baseline']} {text[match.end() :]}"
    raise Ambiguity(
        f"A margin of AUC is counted in AUC, from 0 to 1: is “{match['n']}{match['percent'] or ''}” meant as {points}?",
        (" ".join(said.split()),),
    )

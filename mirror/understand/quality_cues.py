"""Quality that is as good as the baseline's: "within 0.001 of dense", "without losing quality" -> a margin of AUC."""

import re
import unicodedata

from mirror import catalog

AS_GOOD = 0.001  # of AUC: what counts as no loss

_QUALITY = r"(?:quality|accuracy|auc)"
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
    if match := _LOSSLESS.search(text):
        rest = re.sub(rf"^\s*(?:as|than)\s+{named}(?![\w-])", " ", text[match.end() :])
        return AS_GOOD, f"{text[: match.start()]} {rest}"
    return None, question

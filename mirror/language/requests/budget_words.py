"""What to use for a budget: "what should I use for 2 MB on frappe?" -> the data and the MB of a search.

Only a question that says all of it, in this order or with the data first, is one; anything else is read as before.
"""

import re
import unicodedata
from dataclasses import dataclass

_UNITS = {"b": 1e-6, "byte": 1e-6, "bytes": 1e-6, "kb": 1e-3, "kib": 1024e-6, "mb": 1.0, "mib": 1.048576, "gb": 1e3}
_SIZE = rf"(?P<size>\d+(?:\.\d+)?|\.\d+) ?(?P<unit>{'|'.join(sorted(_UNITS, key=len, reverse=True))})"
_ASKS = r"(?:what|which)(?: embedding)?(?: embeddings| table)? (?:should|shall|can|could|do) (?:i|we) use"
_WITHIN = r"(?:for|in|under|within|below|at most|up to|with|if i have)(?: only| at most)?"
_DATA = r"(?:for|on|with)(?: the| my)?(?: data(?: ?set)?)? (?P<data>[\w-]+)(?: data)?"
_ORDERS = tuple(
    re.compile(rf"{_ASKS} {order}") for order in (f"{_WITHIN} {_SIZE} {_DATA}", f"{_DATA} {_WITHIN} {_SIZE}")
)
OWN = ("data", "file", "own")  # what is said of data that have no name here


@dataclass(frozen=True)
class Budget:
    """What is asked: data as they are called, in lower case, and MB (1e6 bytes)."""

    data: str
    budget_mb: float


def read(question: str) -> Budget | None:
    """The budget that a question asks about; None for any other text."""
    text = re.sub(r"\s+", " ", unicodedata.normalize("NFKC", question).lower()).strip(" ?!.")
    match = next(filter(None, (order.fullmatch(text) for order in _ORDERS)), None)
    return Budget(match["data"], float(match["size"]) * _UNITS[match["unit"]]) if match else None

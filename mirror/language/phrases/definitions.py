"""Questions of what a word means: "what is AUC?", "what does compression mean?"."""

import re

from mirror.schema import catalog

_ASKS = re.compile(
    r"(?:what do(?:es)? |what(?:['’]s| is| are)? (?:meant by )?|define |meaning of |definition of |explain )"
    r"(?P<what>[\w /-]+?)(?P<means> mean| stand for)?\s*\??"
)


def find(question: str) -> str | None:
    """What the catalogue says of the one column that is asked about; None for any other question."""
    match = _ASKS.fullmatch(" ".join(question.lower().split()))
    if match is None or match["what"].startswith("the "):  # "what is the latency" asks for numbers
        return None
    if question.lower().lstrip().startswith("what do") and not match["means"]:
        return None
    what = match["what"].removeprefix("a ").removeprefix("an ").removesuffix(" here")
    for entry in catalog.entries().values():
        if what in (entry.name, entry.label.lower(), *entry.synonyms) and entry.text:
            unit = f", in {entry.unit}" if entry.unit else ""
            better = f"; {entry.better} is better" if entry.better else ""
            return (
                f"{entry.label[:1].upper() + entry.label[1:]} (column {entry.name}) is the {entry.text}{unit}{better}. "
                f"To see values, ask for example “{_example(entry)}”."
            )
    return None


def _example(entry: catalog.Entry) -> str:
    return f"{entry.label} by method" if entry.role == "metric" else f"AUC by {entry.label}"

"""What a network learns from: a question as it is seen, and what is to be said."""

from dataclasses import dataclass
from datetime import datetime

from mirror.language.neural.action_language import Action
from mirror.language.neural.items import Items

NOW = datetime(2026, 11, 18, 12)  # the present of all wordings


@dataclass(frozen=True)
class Example:
    """One question: what is seen, and what is to be said."""

    items: Items
    line: tuple[Action, ...]
    group: str

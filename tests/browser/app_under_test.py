"""What a browser test knows of the running app."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class App:
    """A running app: its address, its results, and the time from the start of the process to the first answer."""

    url: str
    db: Path
    seconds_to_up: float

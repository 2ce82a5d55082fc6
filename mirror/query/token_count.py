"""Tokens that a language model has read and written, as far as its server says."""

from dataclasses import dataclass

_MOST = 100_000_000  # of one answer; no model reads more


@dataclass(frozen=True)
class Tokens:
    """Tokens of one or more answers; they add up with `+`.

    Attributes:
        prompt: tokens that the model read.
        completion: tokens that it wrote, its thoughts included.
        uncounted: answers whose server gave no number, or none that can be: both sums are then too low.
    """

    prompt: int = 0
    completion: int = 0
    uncounted: int = 0

    def __add__(self, other: "Tokens") -> "Tokens":
        return Tokens(self.prompt + other.prompt, self.completion + other.completion, self.uncounted + other.uncounted)

    @property
    def in_words(self) -> str:
        """`3,120 tokens read, 210 written`; empty where nothing is known."""
        if not self.prompt and not self.completion:
            return ""
        least = "at least " if self.uncounted else ""
        return f"{least}{self.prompt:,} tokens read, {self.completion:,} written"


NO_TOKENS = Tokens()


def counted(usage: object) -> Tokens:
    """The tokens of one answer, from the `usage` that came with it; what is no number of tokens counts as absent."""
    prompt, completion = _number(usage, "prompt_tokens", 1), _number(usage, "completion_tokens", 0)
    return Tokens(prompt or 0, completion or 0, int(prompt is None or completion is None))


def _number(usage: object, key: str, least: int) -> int | None:
    value = usage.get(key) if isinstance(usage, dict) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= _MOST:
        return None
    return int(value) if value == int(value) else None

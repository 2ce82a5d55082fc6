"""Refusal, also for what is Impossible or NotUnderstood, and Ambiguity: the two honest ways not to answer."""

from mirror.query.token_count import NO_TOKENS, Tokens


class Refusal(Exception):
    """The question cannot be answered from the results; the message says why and names what is known.

    `sent` is what a language model was sent for the question, word for word, and `tokens` what that took; empty when
    none was asked.
    """

    sent: str = ""
    tokens: Tokens = NO_TOKENS


class Impossible(Refusal):
    """What no other reading of the words would mend: the calendar, the keys or the database's SQL do not allow it."""


class NotUnderstood(Refusal):
    """Words that one reader does not understand, or cannot place: another may."""


class Ambiguity(Exception):
    """The question has several readings; `choices` are questions to click, one per reading."""

    def __init__(self, sentence: str, choices: tuple[str, ...]) -> None:
        super().__init__(sentence)
        self.choices = choices

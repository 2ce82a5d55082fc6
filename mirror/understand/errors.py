"""Refusal and Ambiguity: the two honest ways not to answer."""


class Refusal(Exception):
    """The question cannot be answered from the results; the message says why and names what is known."""


class Ambiguity(Exception):
    """The question has several readings; `choices` are questions to click, one per reading."""

    def __init__(self, sentence: str, choices: tuple[str, ...]) -> None:
        super().__init__(sentence)
        self.choices = choices

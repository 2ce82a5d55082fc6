"""What is wrong with a data file: the error that stops a loader, and the list that a check collects."""

from collections.abc import Callable

SHOWN = 5  # problems told in full; a file of the wrong kind has one in every line
MEND = "; mend the line or fetch the file again."
NO_NEWLINE = (
    "it is the last line and has no newline, so the file may be cut off: fetch it again, or end a whole line with one."
)

Complain = Callable[[int | None, str], None]
"""Takes the line (None for the whole file) and what is wrong with it, up to the full stop."""


class DataFileError(ValueError):
    """A data file that cannot be used; the message names the file, the line where there is one, and what to do."""


def shown(value: bytes) -> str:
    """A value for a message: quoted, short, and harmless to a terminal."""
    return ascii(value[:20].decode("utf-8", "replace"))


def reason(error: Exception) -> str:
    """What a library says of a file, for the brackets of a message: one line, short, and harmless to a terminal."""
    return ascii(str(error).partition("\n")[0].rstrip("."))[1:-1][:200]


def too_few(name: str) -> DataFileError:
    """The error for data of which one part would be empty."""
    return DataFileError(f"{name} has too few rows for a training and a test part: give a longer file.")


def sentence(name: str, line: int | None, what: str) -> str:
    """`train.txt, line 7: it has 12 fields, ...` or `train.txt holds no lines: ...`, as a sentence."""
    return f"{name} {what}" if line is None else f"{name}, line {line:,}: {what}"


def refuse(name: str) -> Complain:
    """Complaining that ends the reading: it raises DataFileError."""

    def complain(line: int | None, what: str) -> None:
        raise DataFileError(sentence(name, line, what))

    return complain


class Problems:
    """Collects complaints: the first SHOWN as sentences, the others as a number.

    Attributes:
        told: the sentences so far.
        more: number of complaints beyond those.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.told: list[str] = []
        self.more = 0

    def complain(self, line: int | None, what: str) -> None:
        """Note what is wrong, with the number of its line, or None where it is of the whole file."""
        if len(self.told) < SHOWN:
            self.told.append(sentence(self.name, line, what))
        else:
            self.more += 1

    def sentences(self) -> tuple[str, ...]:
        """All of them, in the order they were found."""
        rest = f"{self.name} has {self.more:,} more problems like these: fetch the file again."
        return (*self.told, *([rest] if self.more else []))

"""What both guards have in common: their errors, what a text may hold, how ASCII names compare, and the sentences."""

import difflib
import re
import string
from collections.abc import Iterable, Mapping

MAX_LENGTH = 20_000
MAX_DEPTH = 200

_LONGEST_GUESS = 60  # a longer name gets no "did you mean": to compare two takes the product of their lengths
_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
# Letters and marks that are drawn as nothing, or as a space; what is no letter or mark `str.isprintable` knows.
_DRAWN_AS_NOTHING = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0d\uffa0\U000e0100-\U000e01ef]"
)


class GuardError(ValueError):
    """A statement that may not run; the message is a sentence that says why."""


class NotSqlError(GuardError):
    """A text that cannot be parsed: a slip rather than a trespass."""


def check_text(sql: str) -> None:
    """Raise GuardError for a text that is too long to be parsed, or that holds what a reader of it would not see."""
    if len(sql) > MAX_LENGTH:
        raise GuardError(f"The SQL is too long: {len(sql):,} characters, where {MAX_LENGTH:,} are allowed.")
    lines = sql.translate({ord(c): " " for c in "\t\r\n"})
    if not lines.isprintable() or _DRAWN_AS_NOTHING.search(lines):
        raise GuardError("The SQL holds an invisible character: type it anew, with plain spaces.")


def ascii_lower(name: str) -> str:
    """Lower case as databases compare names: ASCII letters only, so that a Kelvin sign is no k."""
    return name.translate(_LOWER)


def words(text: str) -> frozenset[str]:
    """The words of a list that is written as a text."""
    return frozenset(text.split())


# -- sentences ---------------------------------------------------------------------------------------------------------


def shown(name: object, length: int = 60) -> str:
    """A name on one line, not longer than anybody reads."""
    text = " ".join(str(name).split())
    return text if len(text) <= length else text[: length - 1] + "…"


def near(name: str, known: Iterable[str] | Mapping[str, str], cutoff: float = 0.7) -> str:
    """The known name that a slip of the pen stands for, or nothing. Of a mapping the keys are compared."""
    if len(name) > _LONGEST_GUESS:
        return ""
    short = [k for k in known if len(k) <= _LONGEST_GUESS]
    found = next(iter(difflib.get_close_matches(ascii_lower(name), short, n=1, cutoff=cutoff)), "")
    return known[found] if found and isinstance(known, Mapping) else found


def unknown(what: str) -> GuardError:
    """What the guard does not know is refused."""
    return GuardError(f"This SQL holds something that cannot be checked ({shown(what)}): write it in a simpler way.")


def no_function(name: str, instead: str = "only everyday functions are, such as avg or round.") -> GuardError:
    """A function that is not on the list."""
    return GuardError(f"{shown(name)} is not available here: {instead}")


def no_cast(name: object, instead: str) -> GuardError:
    """A type that is not on the list."""
    return GuardError(f"Casting to {shown(name)} is not available here: use {instead}.")


def no_table(name: str, instead: str) -> GuardError:
    """A name that is neither a table of the catalogue nor a step of WITH that can be seen from where it stands."""
    return GuardError(f"There is no table called {shown(name)}: {instead}")


def qualified(name: str) -> GuardError:
    """Names are resolved against the catalogue; where else they could lead is nobody's to say."""
    return GuardError(f"A schema or catalog cannot be named here: write {shown(name)} alone.")


def dynamic_pivot() -> GuardError:
    """A pivot that reads its columns from the data is several statements; one with listed values is a SELECT."""
    return GuardError(
        "PIVOT has to list its values, as in ON method IN ('a', 'b'): columns that are read from the data cannot be "
        "checked."
    )


def nothing() -> GuardError:
    """An empty text."""
    return GuardError("There is no SQL to run: write a SELECT.")


def too_many(count: int) -> GuardError:
    """Several statements."""
    return GuardError(f"Only one statement can run at a time: these are {count}.")


def too_deep() -> GuardError:
    """More nesting than the walk, or the parser, goes down."""
    return GuardError("The SQL is nested too deeply: use fewer brackets and joins, or steps with WITH.")

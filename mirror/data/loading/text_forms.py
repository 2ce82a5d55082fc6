"""What a column of texts really holds: numbers with money, percent or unit, dates, or yes and no; told by all values.

A form is held against the shapes of the texts of all rows, see `text_values`; the first rows alone only rule it out.
"""

import re
from collections.abc import Callable, Iterable

from mirror.data.loading import date_texts, number_texts
from mirror.data.loading.interpretation import Doubt, Reading, typed
from mirror.data.loading.text_values import TextValues
from mirror.data.sql_text import literal

_FEW_ODD = 0.05  # share of rows that looks like a slip among others


def read(values: TextValues, english: bool) -> Reading | Doubt | None:
    """How to read a column; None where it is plain text.

    Args:
        values: of the column.
        english: whether the file writes numbers as in 1,234.5 as far as it is known: settles 1,234 and 1.234.
    """
    sample, codes = values.sample()
    forms: list[tuple[re.Pattern[str], Callable[[TextValues], Reading | Doubt | None]]] = [
        (_FLAG, _flags),
        (number_texts.PATTERN, lambda held: number_texts.read(held, english)),
        (date_texts.PATTERN, date_texts.read),
    ]
    if codes:
        forms = [form for form in forms if form[0] is not number_texts.PATTERN]
    forms = [form for form in forms if sample and _odd_share(form[0], sample.items()) <= _FEW_ODD]
    if not forms:
        return None
    values.look()
    for pattern, reader in forms if values.shapes else ():
        odd = [shape for shape in values.shapes if not pattern.fullmatch(shape)]
        if not odd:
            if found := reader(values):
                return found
        elif _odd_share(pattern, values.shapes.items()) <= _FEW_ODD:
            place, text = values.first(values.of_shapes(odd))
            count = sum(values.shapes[shape] for shape in odd)
            values.leave_out(odd)
            rest = reader(values)
            first = f"row {place:,} below the header"
            many = f"since {count:,} rows hold none, the first of them, {first}, “{text[:40]}”"
            since = many if count > 1 else f"since {first} holds “{text[:40]}”"
            return Doubt(rest.kind, since) if isinstance(rest, Reading) else None
    return None


def _odd_share(pattern: re.Pattern[str], shapes: Iterable[tuple[str, int]]) -> float:
    counts = [(count, bool(pattern.fullmatch(shape))) for shape, count in shapes]
    return sum(count for count, fits in counts if not fits) / sum(count for count, _ in counts)


# -- yes and no --------------------------------------------------------------------------------------------------------

_YES_NO = ((("yes", "y", "true", "t"), ("no", "n", "false", "f")), (("ja", "j", "wahr"), ("nein", "n", "falsch")))
_FLAG = re.compile("|".join(sorted({w for pair in _YES_NO for words in pair for w in words})), re.IGNORECASE)


def _flags(values: TextValues) -> Reading | None:
    """Of one language and with both answers: a column of nothing but "No" may be Norway."""
    found = {text.lower() for text in values.shapes}
    for yes, no in _YES_NO:
        if found <= {*yes, *no} and found & {*yes} and found & {*no}:
            words = ", ".join(map(literal, yes))
            return Reading("yes or no", "BOOLEAN", typed(values, "BOOLEAN", f"lower({values.text}) IN ({words})"))
    return None

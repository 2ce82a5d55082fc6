"""Learnt words as the short texts of their file, and back: `orders.amount`, `orders.status = 'paid'`, `orders`."""

from collections.abc import Iterable, Mapping

from mirror.language.reading.lexemes import cut, stem
from mirror.query.other_data.form import Asked, ColumnRef, GroupBy, Predicate
from mirror.query.other_data.form_text import FormError, asked_of, text_of
from mirror.schema import catalog
from mirror.schema.database import Database
from mirror.schema.own_words import CURVES, RESULTS, OwnWord
from mirror.schema.profile import Profile

_IS = " = "


def text_of_word(own: OwnWord) -> str:
    """What a word of other data names, as a form would say it."""
    if own.column is None:
        return str(text_of(Asked(own.table, groups=(GroupBy(own.table),)))["by"][0])
    place = ColumnRef(own.table, own.column)
    conditions = () if own.value is None else (Predicate(place, "=", (own.value,)),)
    told = text_of(Asked(own.table, groups=(GroupBy(own.table, place),), conditions=conditions))
    return str((told["where"] if conditions else told["by"])[0])


def words_of_database(learnt: Mapping[str, str], database: Database) -> tuple[OwnWord, ...]:
    """The words whose things are there; what is written wrongly, or is gone, is passed over."""
    found = (_of_database(word, means, database) for word, means in learnt.items())
    return tuple(own for own in found if own is not None)


def _of_database(word: str, means: str, database: Database) -> OwnWord | None:
    place = means.partition(_IS)[0].strip()
    try:
        (group,) = asked_of({"by": [place]}, database).groups
        if group.place is None or group.bucket:
            return OwnWord(word, group.table) if group.bucket is None and place == means.strip() else None
        if _IS not in means:
            return OwnWord(word, group.table, group.place.column)
        (condition,) = asked_of({"of": group.table, "where": [means]}, database).conditions
    except (FormError, KeyError, ValueError, IndexError):
        return None
    value = condition.plain[0] if condition.operator == "=" and len(condition.plain) == 1 else None
    column = database.relation(group.table).column(group.place.column)
    there = value in column.values or value in column.index
    return OwnWord(word, group.table, column.name, value) if isinstance(value, str) and there else None


def words_of_results(learnt: Mapping[str, str], profile: Profile) -> tuple[OwnWord, ...]:
    """The same of the results: `latency_us`, `curves.loss`, `method = hashed`."""
    found = (_of_results(word, means, profile) for word, means in learnt.items())
    return tuple(own for own in found if own is not None)


def _of_results(word: str, means: str, profile: Profile) -> OwnWord | None:
    column, is_value, value = (part.strip() for part in means.partition(_IS.strip()))
    curve = column.removeprefix(f"{CURVES}.")
    if curve != column:
        return OwnWord(word, CURVES, curve) if curve in profile.curves and not is_value else None
    if column not in catalog.entries():
        return None
    if not is_value:
        return OwnWord(word, RESULTS, column)
    return OwnWord(word, RESULTS, column, value) if value in profile.values(column) else None


def said_words(question: str, words: Iterable[OwnWord]) -> tuple[OwnWord, ...]:
    """The learnt words that a question holds, in any of their forms."""
    said = {form for token in cut(question) for form in (token.text, token.stem)}
    return tuple(own for own in words if said & {own.word, stem(own.word)})

"""Revenue and its like: words that every shop has and few columns; the person says which number is meant."""

from mirror.language.other_data.mentions import known_sentence
from mirror.language.other_data.picking import Picker
from mirror.language.other_data.vocabulary import Item
from mirror.query.errors import Ambiguity, Refusal
from mirror.schema.database import Database, Relation
from mirror.schema.names import column_words, is_measure, qualified, usual_aggregate, words_of
from mirror.words import phrasebook

_WORDS = phrasebook.phrases("names", "money")
_SUMS, _COUNTS, _PRICES = (frozenset(_WORDS[held]) for held in ("sum", "count", "price"))


def revenue(item: Item, picker: Picker) -> Ambiguity | Refusal:
    """The question back: the columns that may hold the sum, and quantities times prices of one row."""
    database = picker.database
    found = [
        phrase for relation in database.relations if not relation.view for phrase in _candidates(database, relation)
    ]
    if not found:
        return Refusal(f"The data say nothing about “{item.text}”. {known_sentence(picker.known)}")
    given = picker.words[item.start - 1] if item.start else ""
    total = (
        "" if given in ("total", "average", "sum", "highest", "lowest", "median", "maximum", "minimum") else "total "
    )
    back = picker.back(item, [total + phrase for phrase in found], "column")
    return Ambiguity(f"No column is called “{item.text}”: which number is meant?", back.choices)


def _candidates(database: Database, relation: Relation) -> list[str]:
    measures = [c for c in relation.columns if is_measure(database, relation, c)]
    sums = [c for c in measures if usual_aggregate(c) == "sum" and set(words_of(c.name)) & _SUMS]
    counts = [c for c in measures if set(words_of(c.name)) & _COUNTS]
    prices = [c for c in measures if set(words_of(c.name)) & _PRICES and c not in sums]
    products = [f"{column_words(a.name)} times {column_words(b.name)}" for a in counts for b in prices]
    return [*(qualified(relation.name, c.name) for c in sums), *products]

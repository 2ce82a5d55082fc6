"""Comments of a database as words: "Revenue in EUR" on a column, "margin = price * share" on a table."""

import re

from mirror.query.other_data.form import ColumnRef
from mirror.schema.database import Database, Relation
from mirror.schema.names import column_words, singular
from mirror.words import phrasebook
from mirror.words.tokens import tokens

Meaning = tuple[tuple[ColumnRef, ...], tuple[ColumnRef, ...]]

# A word in the comments of more columns than this says nothing of one.
_MOST_COLUMNS = 3
_LONGEST = 80
_FORMULA = re.compile(r"(\w+)\s*=\s*(\w+)\s*[*×]\s*(\w+)")
_CUES = {word for among in phrasebook.cues("results").values() for phrase in among for word in phrase.split()}
_EVERYDAY = phrasebook.words("fillers", phrasebook.EVERYWHERE, "other data") | _CUES


def words(database: Database) -> dict[str, Meaning]:
    """Word -> (the columns it may mean, the columns those are multiplied by)."""
    found: dict[str, list[ColumnRef]] = {}
    formulas: dict[str, Meaning] = {}
    for relation in database.relations:
        for column in relation.columns:
            if column.type == "other" or len(column.comment) > _LONGEST:
                continue
            known = set(column_words(column.name).split())
            for word in dict.fromkeys(tokens(column.comment)):
                if len(word) > 3 and word.isalpha() and word not in known | _EVERYDAY:
                    found.setdefault(singular(word), []).append(ColumnRef(relation.name, column.name))
        for comment in (relation.comment, *(c.comment for c in relation.columns)):
            formulas |= _formulas(relation, comment)
    return {w: (tuple(places), ()) for w, places in found.items() if len(places) <= _MOST_COLUMNS} | formulas


def _formulas(relation: Relation, comment: str) -> dict[str, Meaning]:
    names = {c.name.lower(): c.name for c in relation.columns if c.numeric}
    return {
        singular(word.lower()): (
            (ColumnRef(relation.name, names[a.lower()]),),
            (ColumnRef(relation.name, names[b.lower()]),),
        )
        for word, a, b in _FORMULA.findall(comment)
        if a.lower() in names and b.lower() in names
    }

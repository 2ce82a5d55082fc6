"""Names of tables and columns as words: singular and plural, what is a key, what may be added up."""

from collections.abc import Sequence

from mirror.schema.database import Column, Database, ForeignKey, Relation
from mirror.words import phrasebook
from mirror.words.tokens import tokens

_NUMBERS = phrasebook.phrases("names", "numbers")
_ADDED, _AVERAGED, _WHOLE, _NUMBERED = (frozenset(_NUMBERS[told]) for told in ("added", "averaged", "whole", "naming"))
_COLUMNS = phrasebook.phrases("names", "columns")
_KEY_WORDS, _YEARS, GENERIC = (frozenset(_COLUMNS[told]) for told in ("key", "year", "generic"))
_LABELS, _LESSER_LABELS, _LABEL_ENDS = (_COLUMNS[told] for told in ("label", "lesser label", "label end"))
_TABLES = phrasebook.phrases("names", "tables")
_UNCOUNTED, _PREFIXES = (frozenset(_TABLES[told]) for told in ("uncounted", "prefix"))


def words_of(name: str) -> tuple[str, ...]:
    """`unit_price`, `unitPrice` and `Unit Price` are all ("unit", "price"); cut as a question is."""
    apart = []
    for i, letter in enumerate(name):
        before, after = name[i - 1 : i], name[i + 1 : i + 2]
        humped = letter.isupper() and (before.islower() or before.isdigit() or (before.isupper() and after.islower()))
        apart.append(f" {letter}" if humped else letter)
    return tuple(word for word in tokens("".join(apart)) if word[0].isalnum())


def singular(word: str) -> str:
    """The singular of an English noun, by its ending; other words come back as they are."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("sses", "ches", "shes", "xes", "zzes")):
        return word[:-2]
    if word in ("statuses", "addresses", "buses"):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return {"people": "person", "children": "child", "men": "man", "women": "woman"}.get(word, word)


def plural(word: str) -> str:
    """The plural of an English noun, by its ending."""
    if singular(word) != word or word in _UNCOUNTED:
        return word
    if word.endswith("y") and word[-2:-1] not in ("a", "e", "i", "o", "u", ""):
        return word[:-1] + "ies"
    if word.endswith(("s", "x", "ch", "sh", "z")):
        return word + "es"
    return word + "s"


def table_words(table: str) -> tuple[str, ...]:
    """Words of a table in the singular, without a prefix such as `tbl_`: ("order", "item")."""
    words = words_of(table)
    if len(words) > 1 and words[0] in _PREFIXES:
        words = words[1:]
    return (*words[:-1], singular(words[-1])) if words else ()


def one(table: str) -> str:
    """What one row of a table is called: `order item`."""
    return " ".join(table_words(table)) or table


def many(table: str) -> str:
    """What the rows of a table are called: `order items`."""
    words = table_words(table)
    return " ".join((*words[:-1], plural(words[-1]))) if words else table


def column_words(column: str) -> str:
    """The words of a column: `unit price`."""
    return " ".join(words_of(column)) or column


def qualified(table: str, column: str) -> str:
    """The words of a column with its table's, said once: `customer name`, `order date`."""
    of_table, own = table_words(table), words_of(column)
    named = own[: len(of_table)] == of_table
    return " ".join(own if named else (*of_table, *own)) or column


# -- what a column is for ----------------------------------------------------------------------------------------------


def is_key(database: Database, relation: Relation, column: Column) -> bool:
    """Whether a column only tells rows apart or names other rows: such numbers are counted, never added up."""
    if column.name in relation.key and len(relation.key) == 1:
        return True
    if any(column.name in link.columns for link in database.foreign_keys if link.table == relation.name):
        return True
    last = words_of(column.name)[-1:]
    if column.numeric and last and last[0] in _NUMBERED:
        return True
    return bool(last) and last[0] in _KEY_WORDS and column.type != "real"


def is_year(column: Column) -> bool:
    """Whether the numbers are years."""
    return column.numeric and bool(_YEARS & set(words_of(column.name)))


def is_measure(database: Database, relation: Relation, column: Column) -> bool:
    """Whether the numbers measure something."""
    return column.numeric and not is_year(column) and not is_key(database, relation, column)


def usual_aggregate(column: Column) -> str:
    """`sum` or `avg` where the name says which is meant; empty where it does not."""
    words = set(words_of(column.name))
    if words & _AVERAGED and not words & _WHOLE:
        return "avg"
    return "sum" if words & _ADDED else ""


def label_columns(relation: Relation) -> tuple[str, ...]:
    """The columns that people know a row of the table by; empty where there are none but its key."""
    texts = {column_words(c.name): c.name for c in relation.columns if c.type == "text"}
    prefix = one(relation.name)

    def labelled(labels: tuple[str, ...]) -> tuple[str, ...]:
        names = (name for wanted in labels for name in (wanted, f"{prefix} {wanted}"))
        return next(((texts[name],) for name in names if name in texts), ())

    if found := labelled(_LABELS):
        return found
    for first, last in (("first name", "last name"), ("firstname", "lastname"), ("given name", "family name")):
        if first in texts and last in texts:
            return texts[first], texts[last]
    if prefix in texts:
        return (texts[prefix],)
    ends = [name for words, name in texts.items() if words.split()[-1] in _LABEL_ENDS]
    telling = [c.name for c in relation.columns if c.type == "text" and c.unique and c.name not in relation.key]
    return labelled(_LESSER_LABELS) or tuple((ends or telling)[:1])


def dates(relation: Relation) -> list[Column]:
    """The dates and times of a table; when a row was changed counts only where there is nothing else."""
    found = [c for c in relation.columns if c.temporal]
    told = [c for c in found if not {"updated", "modified", "deleted", "changed"} & set(words_of(c.name))]
    return told or found


def near(names: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether words end as a name does: ("billing", "address") names an address."""
    return len(names) >= len(wanted) and tuple(names[-len(wanted) :]) == tuple(wanted)


def foreign_key_roles(database: Database) -> list[tuple[ForeignKey, tuple[str, ...]]]:
    """Foreign keys whose column says more than the table it leads to: `billing_address_id`, `manager_id`."""
    found = []
    for link in database.foreign_keys:
        if len(link.columns) != 1:
            continue
        words = words_of(link.columns[0])
        role = words[:-1] if len(words) > 1 and words[-1] in ("id", "key", "code", "no", "uuid") else words
        if role and tuple(map(singular, role)) != tuple(map(singular, table_words(link.to))):
            found.append((link, role))
    return found


def role_words(database: Database, link: ForeignKey) -> str:
    """How a foreign key is called where its column says more than the table; else empty."""
    return next((" ".join(role) for known, role in foreign_key_roles(database) if known == link), "")

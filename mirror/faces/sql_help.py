"""What the field of the SQL knows: names to complete, where in a statement a mistake is, what has changed in it."""

import difflib
import re

from db.columns import reserved_words
from db.schema import EXPOSED
from mirror.schema import catalog
from mirror.schema.database import Database

Names = tuple[tuple[str, str], ...]

_MOST_NAMES = 2_000
# Words of the databases for what they do not know, each around the name of it.
_WRONG = (
    re.compile(r'column "([^"]+)" not found', re.IGNORECASE),
    re.compile(r'syntax error at or near "([^"]+)"', re.IGNORECASE),
    re.compile(r"no such (?:column|function|table): ([^\s,.]+)", re.IGNORECASE),
    re.compile(r'(?:column|relation|function) "?([\w.]+)"?(?:\([^)]*\))? does not exist', re.IGNORECASE),
    re.compile(r'(?:Table|Function|Type|View) with name "?([^\s"]+)"? does not exist', re.IGNORECASE),
    re.compile(r"The table ([^\s,]+) is not", re.IGNORECASE),
    re.compile(r'column "([^"]+)" must appear in the GROUP BY', re.IGNORECASE),
)


def names_of_results() -> Names:
    """Columns and views of the results, and what each is."""
    columns = [(e.name, "" if e.label == e.name else e.label) for e in catalog.entries().values()]
    return (*((view, "view") for view in EXPOSED), *sorted(columns))


def names_of_database(database: Database) -> Names:
    """Tables and columns of another database; of a column its type and tables."""
    tables = [(relation.name, "table") for relation in database.relations]
    columns: dict[tuple[str, str], list[str]] = {}
    for relation in database.relations:
        for column in relation.columns:
            columns.setdefault((column.name, column.type), []).append(relation.name)
    told = [
        (name, f"{kind}, {', '.join(held[:2])}{' …' if len(held) > 2 else ''}")
        for (name, kind), held in columns.items()
    ]
    return tuple((written(name), note) for name, note in (*tables, *sorted(told)))[:_MOST_NAMES]


def place_of_mistake(message: str, sql: str) -> tuple[int, int] | None:
    """From which character to which the word stands that an error names; None unless it stands there just once."""
    for pattern in _WRONG:
        if found := pattern.search(message):
            word = re.escape(found[1])
            places = [m.span(1) for m in re.finditer(rf'(?<![\w"])"?({word})(?![\w])', _masked(sql), re.IGNORECASE)]
            return places[0] if len(places) == 1 else None
    return None


def written(name: str) -> str:
    """As SQL takes it: in quotes where it would be read as something else."""
    is_plain = re.fullmatch("[a-z_][a-z0-9_]*", name) and name not in reserved_words()
    return name if is_plain else '"' + name.replace('"', '""') + '"'


def changed_lines(before: str, after: str) -> list[str]:
    """All lines of two statements, with "- " before those of the first alone, "+ " of the second; none where they
    agree."""
    lines = [line for line in difflib.ndiff(before.splitlines(), after.splitlines()) if not line.startswith("?")]
    return lines if any(line.startswith(("-", "+")) for line in lines) else []


def _masked(sql: str) -> str:
    """Without what stands in texts and comments, as long as before."""
    return re.sub(r"'(?:[^']|'')*'|--[^\n]*", lambda found: " " * len(found[0]), sql)

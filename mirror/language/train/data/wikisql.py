"""WikiSQL's questions about single tables as examples: how words name columns and aggregates."""

import gzip
import json
import random
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from mirror.language.neural.action_language import Inexpressible
from mirror.language.neural.form_actions import Writer
from mirror.language.neural.items import Found, _links, assembled
from mirror.language.reading.lexemes import Token, cut, stems
from mirror.language.reading.linking import Link, Linker
from mirror.language.train.data.example import Example
from mirror.query.other_data.form import Asked, ColumnRef, Measure, Predicate
from mirror.schema.database import Column, Database, Relation
from mirror.table.values import Value

_SQL = re.compile(
    r'SELECT (?:(?P<aggregate>\w+)\((?P<of>"[^"]*"|\*)\)|(?P<shown>"[^"]*")) FROM t(?: WHERE (?P<where>.*))?', re.DOTALL
)
_CONDITION = re.compile(r'"(?P<column>[^"]*)" (?P<operator>[=<>]) (?P<value>\'(?:[^\']|\'\')*\'|.*?)(?: AND (?=")|$)')
_AGGREGATES = {"count": "count", "sum": "sum", "avg": "avg", "min": "min", "max": "max"}
TABLE = "t"


def examples(path: Path, most: int | None = None, seed: int = 0) -> Iterator[Example]:
    """What of a file of WikiSQL a form can say."""
    rng = random.Random(seed)
    with gzip.open(path, "rt") as file:
        held = [json.loads(line) for line in file]
    numeric: dict[str, set[str]] = defaultdict(set)
    parsed = []
    for row in held:
        if (found := _parsed(row["sql"])) is not None:
            parsed.append((row, found))
            aggregate, shown, conditions = found
            if aggregate in ("sum", "avg", "min", "max"):
                numeric[row["table"]].add(shown)
            numeric[row["table"]].update(c for c, o, v in conditions if o != "=" or isinstance(v, int | float))
    rng.shuffle(parsed)
    made: dict[str, tuple[Database, Linker]] = {}
    for row, found in parsed[:most]:
        name = row["table"]
        if name not in made:
            columns = tuple(
                Column(c, "real" if c in numeric[name] else "text") for c in dict.fromkeys(row["columns"]) if c.strip()
            )
            database = Database("duckdb", name, (Relation(TABLE, columns),))
            made[name] = database, Linker(database)
        example = _example(row, found, *made[name], rng)
        if example:
            yield example


def _parsed(sql: str) -> tuple[str, str, list[tuple[str, str, Value]]] | None:
    match = _SQL.fullmatch(sql)
    if not match:
        return None
    conditions: list[tuple[str, str, Value]] = []
    for found in _CONDITION.finditer(match["where"] or ""):
        text = found["value"].strip()
        if text.startswith("'"):
            text = text[1:-1].replace("''", "'")
        value: Value = text
        if re.fullmatch(r"-?\d+(\.\d+)?", text.replace(",", "")):
            plain = text.replace(",", "")
            value = float(plain) if "." in plain else int(plain)
        conditions.append((found["column"], found["operator"], value))
    shown = (match["shown"] or match["of"] or "").strip('"')
    return (match["aggregate"] or "").lower(), shown, conditions


def _example(
    row: dict[str, object],
    found: tuple[str, str, list[tuple[str, str, Value]]],
    database: Database,
    linker: Linker,
    rng: random.Random,
) -> Example | None:
    aggregate, shown, conditions = found
    tokens = cut(str(row["question"]))[:60]
    links = _links(tokens, linker)
    made: list[Predicate] = []
    texts = [c.name for c in database.relations[0].columns if c.type == "text"]
    for column, operator, value in conditions:
        if column not in {c.name for c in database.relations[0].columns}:
            return None
        place = ColumnRef(TABLE, column)
        at = _said(tokens, value)
        if column in texts:
            if at is None or operator != "=":
                return None
            links += [Found(*at, Link("val", TABLE, c, str(value), 0.05)) for c in _holders(column, texts, rng)]
            made.append(Predicate(place, "=", (str(value),)))
        else:
            made.append(Predicate(place, operator, (value,)))  # type: ignore[arg-type]
    if aggregate == "count":
        asked = Asked(TABLE, (Measure("count", TABLE),), conditions=tuple(made))
    elif aggregate in _AGGREGATES:
        asked = Asked(TABLE, (Measure(aggregate, TABLE, (ColumnRef(TABLE, shown),)),), conditions=tuple(made))  # type: ignore[arg-type]
    else:
        asked = Asked(TABLE, columns=(ColumnRef(TABLE, shown),), conditions=tuple(made))
    try:
        items = assembled(database, tokens, [], links)
        return Example(items, tuple(Writer(asked, items, database).line()), "wikisql")
    except (Inexpressible, KeyError):
        return None


def _holders(column: str, texts: list[str], rng: random.Random) -> list[str]:
    """The columns that hold a value: the one that is meant, and now and then another."""
    others = [c for c in texts if c != column and rng.random() < 0.12]
    return [column, *others[:2]]


def _said(tokens: list[Token], value: Value) -> tuple[int, int] | None:
    """Where a value stands in the question."""
    wanted = list(stems(str(value)))
    own = [t.stem for t in tokens]
    for start in range(len(own) - len(wanted) + 1):
        if wanted and own[start : start + len(wanted)] == wanted:
            return start, start + len(wanted)
    return None

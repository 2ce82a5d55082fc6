"""The rows behind a result: the statement that lists what a SELECT made some of its rows from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from mirror.table.values import Value

MOST_ROWS = 50  # of a result that are followed at once: each is a condition
Row = Mapping[str, Value | None]


class UntracedError(ValueError):
    """Nobody can tell which rows a result came from; the message is a sentence."""

    def __init__(self, told: str = "What is behind it cannot be told from this SQL.") -> None:
        super().__init__(told)


def rows_behind(sql: str, dialect: str, rows: Sequence[Row], column: str | None = None) -> str:
    """The statement that lists the rows of the first table in FROM that some rows of a result were made from.

    What is no aggregate in the SELECT must be there as it is in the result; its conditions stay, and steps of WITH and
    of FROM are gone through.

    Args:
        sql: the SELECT, in a dialect of sqlglot's.
        dialect: its name.
        rows: by the names of the result's columns; at most MOST_ROWS of them count.
        column: what is listed, each value once; by default all columns of the table.

    Raises UntracedError for a statement of another form.
    """
    try:
        tree = sqlglot.parse_one(sql, read=dialect)
        steps = {step.alias: step.this for step in tree.ctes} if isinstance(tree, exp.Query) else {}
        found = _traced(tree, [dict(row) for row in rows[:MOST_ROWS]], steps)
        return found.statement(tree.args.get("with_"), column).sql(dialect=dialect)
    except (SqlglotError, RecursionError):
        raise UntracedError from None


@dataclass(frozen=True)
class _Traced:
    """A SELECT from a table that is there, and the condition that its rows must meet."""

    select: exp.Select
    condition: exp.Expr | None

    def statement(self, steps: exp.Expr | None, column: str | None) -> exp.Select:
        """The statement, with the steps of WITH that its conditions may name."""
        table = self.select.args["from_"].this
        name = table.args["alias"].this if table.alias else table.this
        listed = exp.Column(this=exp.to_identifier(column) if column else exp.Star(), table=name.copy())
        found = exp.Select(expressions=[listed])
        for part in ("from_", "joins", "where"):
            if (held := self.select.args.get(part)) is not None:
                found.set(part, [join.copy() for join in held] if isinstance(held, list) else held.copy())
        if self.condition is not None:
            found = found.where(self.condition)
        found.set("with_", steps.copy() if steps is not None else None)
        return found.distinct() if column else found


def _traced(tree: exp.Expr, rows: list[Row], steps: Mapping[str, exp.Expr]) -> _Traced:
    """Where the rows of a SELECT came from. Raises UntracedError."""
    select = tree.unnest()
    source = select.args.get("from_") if isinstance(select, exp.Select) else None
    if source is None:
        raise UntracedError("This result was made from no table.")
    assert isinstance(select, exp.Select)
    start = source.this
    step = steps.get(start.name) if isinstance(start, exp.Table) and not start.db else None
    inner = start.this if isinstance(start, exp.Subquery) else step
    if inner is None and not (isinstance(start, exp.Table) and isinstance(start.this, exp.Identifier)):
        raise UntracedError
    if inner is None:
        return _Traced(select, _any_of(select, rows))
    if _aggregates(select) and (select.args.get("where") or inner.args.get("limit") or inner.args.get("qualify")):
        raise UntracedError  # it aggregates only some of the step's rows
    others = {name: held for name, held in steps.items() if held is not step}  # a step that names itself ends here
    return _traced(inner, [_carried(select, row, start.alias_or_name) for row in rows], others)


def _aggregates(select: exp.Select) -> bool:
    return bool(select.args.get("group") or _made(select))


def _made(select: exp.Select) -> set[str]:
    """The names of what is made of several rows, or of what is made so."""
    found: set[str] = set()
    for shown in select.expressions:
        named = {c.name for c in shown.find_all(exp.Column) if not c.table}
        if shown.find(exp.AggFunc, exp.Window, exp.Query) or (named & found and not isinstance(shown, exp.Column)):
            found.add(shown.alias_or_name)
    return found


def _carried(select: exp.Select, row: Row, source: str) -> Row:
    """A row by the names of the step that the SELECT reads, without what it computes or has from elsewhere."""
    found: dict[str, Value | None] = {}
    for shown in select.expressions:
        column = shown.unalias()
        if isinstance(column, exp.Star) or (isinstance(column, exp.Column) and isinstance(column.this, exp.Star)):
            found |= row
        elif isinstance(column, exp.Column) and column.table in ("", source) and shown.alias_or_name in row:
            found[column.name] = row[shown.alias_or_name]
    return found


def _any_of(select: exp.Select, rows: list[Row]) -> exp.Expr | None:
    """That a row of the table is behind one of the rows; None where all are. What all rows share is said once."""
    made = _made(select)
    known = {s.alias_or_name: s.unalias() for s in select.expressions if s.alias_or_name not in made}
    if any(isinstance(shown, exp.Star) for shown in known.values()):
        known = {name: exp.column(name, quoted=not name.isidentifier()) for name in (rows[0] if rows else ())}
    named = [{name: row[name] for name in known if name in row} for row in rows]
    shared = {n: v for n, v in (named[0] if named else {}).items() if all(row.get(n) == v for row in named)}
    parts = [_is(known[n], v) for n, v in shared.items()]
    own = [{n: v for n, v in row.items() if n not in shared} for row in named]
    if any(own):
        parts.append(exp.or_(*(exp.and_(*(_is(known[n], v) for n, v in row.items())) for row in own)))
    return exp.and_(*parts) if parts else None


def _is(shown: exp.Expr, value: Value | None) -> exp.Expr:
    """That an expression has a value, which may be NULL."""
    left = shown.copy() if isinstance(shown, exp.Column) else exp.Paren(this=shown.copy())
    if value is None:
        return exp.Is(this=left, expression=exp.Null())
    right = exp.Literal.number(_as_float(value)) if isinstance(value, float) else exp.convert(value)
    return exp.EQ(this=left, expression=right)


def _as_float(value: float) -> str:
    """A number that databases read as a float: without an exponent it would be a decimal of another value."""
    text = repr(value)
    return text if "e" in text else f"{text}e0"

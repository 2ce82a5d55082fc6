"""The guard of other databases: which SQL may run. It allows what it knows in the parsed tree and refuses all else.

What runs is the tree written anew, not the text: a comment that MySQL would execute, or a quote that two parsers read
differently, is then nothing that was not looked at. Every table is resolved against the catalogue and written with its
schema, and every step of WITH gets a name of the guard's own, so that the database can take neither for the other.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from mirror.data.guard import guard_errors as refusals
from mirror.data.guard.guard_errors import MAX_DEPTH, MAX_LENGTH, GuardError, NotSqlError, ascii_lower, check_text
from mirror.data.guard.identifiers import Names
from mirror.data.guard.sqlglot_functions import ARGUMENTS, FUNCTIONS, NAMED, NODES, TYPES
from mirror.schema.database import Database, Relation, shown

_QUERIES = (exp.Select, exp.SetOperation, exp.Subquery)
_TEXTS = (exp.Literal, exp.Identifier, exp.Var, exp.Anonymous)  # whose text `_known` looks at
STEP = "mirror_step_"  # what the guard calls a step of WITH
_WORD = re.compile(r"[\w$]*(?: \w+)*")
MOST_JOINS = 12  # of a text that is parsed where nobody can stop it
_JOIN = re.compile(r"join\b", re.IGNORECASE)  # straight_join, too
_NUMBER = re.compile(r"\d*\.?\d*(?:[eE][+-]?\d+)?")
_PLAIN_TEXT = re.compile(r"[\w ]*")


def check(sql: str, database: Database, row_cap: int | None = None) -> str:
    """The statement as it may run: one SELECT over known tables, made only of what is known to be harmless.

    Args:
        sql: as a person or the builder wrote it.
        database: its tables are the only ones that can be read.
        row_cap: where given, no more rows than that and one are asked for.

    Raises GuardError, or NotSqlError for what is no SQL at all.
    """
    check_text(sql)
    try:
        tree = _parsed(sql, database.dialect)
        _Walk(database, tree).query(tree)
        if row_cap is not None:
            tree = _capped(tree, row_cap)
        written = tree.sql(dialect=database.dialect, comments=False)
        again = _parsed(written, database.dialect)
        _Walk(database, again, written=True).query(again)
        if again.sql(dialect=database.dialect, comments=False) != written:
            raise refusals.unknown("quotes")
    except GuardError:
        raise
    except RecursionError:
        raise refusals.too_deep() from None
    except Exception as error:  # a tree that the walk or the writer does not know
        raise refusals.unknown("a new layout") from error
    return written


def _parsed(sql: str, dialect: str) -> exp.Expr:
    try:
        statements = [s for s in sqlglot.parse(sql, read=dialect) if s is not None]
    except SqlglotError as error:
        if verb := _verb(sql):
            raise GuardError(_only_select(verb)) from None
        first: dict[str, Any] = next(iter(getattr(error, "errors", None) or ({},)))
        near = f" near “{refusals.shown(first['highlight'])}”" if first.get("highlight") else ""
        raise NotSqlError(f"This SQL cannot be read{near}: mend it, or ask in plain words.") from None
    except RecursionError:
        raise
    except Exception:  # a slip of the parser itself
        raise NotSqlError("This SQL cannot be read: write it in a simpler way.") from None
    statements = [s for s in statements if not isinstance(s, exp.Semicolon)]
    if not statements:
        raise refusals.nothing()
    if len(statements) > 1:
        raise refusals.too_many(len(statements))
    (tree,) = statements
    if not isinstance(tree, _QUERIES) and not (isinstance(tree, exp.Pivot) and dialect == "duckdb"):
        raise GuardError(_only_select(_verb(sql) or "this"))
    return tree


def is_readable(sql: str, dialect: str) -> bool:
    """Whether a text can be parsed as SQL, whatever it would do; of one with many joins it is taken for granted.

    The parser takes twice as long for each join without a condition, and here nothing could stop it.
    """
    if len(_JOIN.findall(sql)) > MOST_JOINS:
        return True
    try:
        _parsed(sql[:MAX_LENGTH], dialect)
    except NotSqlError:
        return False
    except (GuardError, RecursionError):
        return True
    return True


def _capped(tree: exp.Expr, row_cap: int) -> exp.Expr:
    """A limit of the whole statement that is higher than what is shown becomes what is shown."""
    tree = tree.copy()
    part: Any = tree
    while isinstance(part, exp.Subquery) and not part.args.get("limit"):
        part = part.this
    limit = part.args.get("limit")
    key = "count" if isinstance(limit, exp.Fetch) else "expression"
    number = limit.args.get(key) if limit is not None else None
    if isinstance(number, exp.Literal) and not number.is_string and float(number.this) > row_cap + 1:
        limit.set(key, exp.Literal.number(row_cap + 1))
    return tree


@dataclass(frozen=True)
class _Scope:
    """What stands in sight of a part of the statement; all names by their keys.

    Attributes:
        steps: of WITH, to the names that the guard has given them.
        later: names that WITH gives only after this part.
        sources: what FROM reads here and further out: a table of the catalogue, or None for anything else.
    """

    steps: Mapping[str, str] = field(default_factory=dict)
    later: frozenset[str] = frozenset()
    sources: Mapping[str, Relation | None] = field(default_factory=dict)

    def with_step(self, key: str, name: str) -> "_Scope":
        return replace(self, steps={**self.steps, key: name}, later=self.later - {key})


class _Walk:
    """One statement, whose names it resolves; or, where it is `written` already, one whose names must be resolved."""

    def __init__(self, database: Database, tree: exp.Expr, written: bool = False) -> None:
        self._names = Names(database)
        self._dialect = database.dialect
        self._written = written
        self._steps = 0
        self._columns = self._names.columns() | self._given_names(tree)

    def query(self, tree: exp.Expr) -> None:
        """Raises GuardError."""
        self._node(tree, _Scope(), 0)

    def _node(self, node: exp.Expr, scope: _Scope, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise RecursionError
        self._known(node)
        if isinstance(node.args.get("with_"), exp.With):
            scope = self._with(node.args["with_"], scope, depth)
        if isinstance(node, exp.Select):
            scope = replace(scope, sources={**scope.sources, **dict(self._sources(node, scope))})
        if isinstance(node, exp.Table):
            self._table(node, scope)
        elif isinstance(node, exp.Column):
            self._column(node, scope)
        elif isinstance(node, exp.Pivot):
            self._pivot(node)
        elif isinstance(node, exp.In) and node.args.get("field") is not None and self._dialect != "duckdb":
            raise refusals.unknown("IN without brackets")  # to SQLite the name is a table's
        for key, held in node.args.items():
            if key == "with_" or (key == "columns" and isinstance(node, exp.Pivot)):  # which are never written
                continue
            for part in held if isinstance(held, list) else [held]:
                if isinstance(part, exp.Expr):
                    self._node(part, scope, depth + 1)
                elif not (_is_plain(part) or (key == "this" and isinstance(node, _TEXTS))):
                    raise refusals.unknown(key)

    def _known(self, node: exp.Expr) -> None:
        name = type(node).__name__
        if isinstance(node, exp.Anonymous):
            if not isinstance(node.this, str) or ascii_lower(node.this) not in NAMED:
                raise refusals.no_function(ascii_lower(str(node.name or node.this)))
        elif name not in NODES and name not in FUNCTIONS:
            if isinstance(node, exp.Func):
                raise refusals.no_function(ascii_lower(node.sql_name()))
            raise _refused(node)
        if name in ARGUMENTS and (more := [k for k, v in node.args.items() if v and k not in ARGUMENTS[name]]):
            held = node.args[more[0]]
            first = held[0] if isinstance(held, list) else held
            known = not isinstance(first, exp.Expr) or type(first).__name__ in NODES
            raise refusals.unknown(more[0].strip("_").upper()) if known else _refused(first)
        if isinstance(node, exp.Identifier | exp.Var) and not node.args.get("quoted"):
            if not _WORD.fullmatch(str(node.this)):
                raise refusals.unknown(str(node.this))
        elif isinstance(node, exp.Literal) and not node.is_string and not _NUMBER.fullmatch(str(node.this)):
            raise refusals.unknown(str(node.this))
        elif isinstance(node, exp.DataType):
            kind = getattr(node.this, "name", str(node.this))
            if kind not in TYPES:
                raise refusals.no_cast(kind, "TEXT, DOUBLE, INT or DATE")

    # -- WITH ----------------------------------------------------------------------------------------------------------

    def _with(self, node: exp.With, scope: _Scope, depth: int) -> _Scope:
        """Check the steps of WITH; each may read those before it, and a recursive one itself in its second part.

        Some databases would let a step read itself or a later one: a name that would then mean something else than
        here is refused.
        """
        self._known(node)
        if not all(isinstance(cte, exp.CTE) for cte in node.expressions):
            raise refusals.unknown("WITH")
        keys = [self._names.table_key(cte.args["alias"].this) for cte in node.expressions]
        if len(set(keys)) < len(keys):
            raise refusals.unknown("a name that WITH gives twice")
        recursive = bool(node.args.get("recursive"))
        if recursive or self._dialect == "sqlite":
            scope = replace(scope, later=scope.later | frozenset(keys))
        for key, cte in zip(keys, node.expressions, strict=True):
            self._known(cte)
            name = self._named(cte.args["alias"].this)
            if recursive and isinstance(cte.this, exp.Union):
                self._recursive(cte.this, scope, scope.with_step(key, name), depth)
            elif isinstance(cte.this, (*_QUERIES, exp.Values, exp.Pivot)):
                self._node(cte.this, scope, depth + 1)
            else:
                raise GuardError(_only_select(type(cte.this).__name__.upper()))
            self._node(cte.args["alias"], scope, depth + 1)
            scope = scope.with_step(key, name)
        return scope

    def _recursive(self, body: exp.Union, before: _Scope, within: _Scope, depth: int) -> None:
        self._known(body)
        for key in ("with_", "order", "limit", "offset"):
            if body.args.get(key):
                raise refusals.unknown(key.strip("_").upper())
        self._node(body.this, before, depth + 1)
        self._node(body.expression, within, depth + 1)

    def _named(self, given: exp.Identifier) -> str:
        """Give a step its new name."""
        if not self._written:
            self._steps += 1
            given.set("this", f"{STEP}{self._steps}")
            given.set("quoted", True)
        elif not (given.args.get("quoted") and str(given.this).startswith(STEP)):
            raise refusals.unknown("WITH")
        return str(given.this)

    # -- tables --------------------------------------------------------------------------------------------------------

    def _table(self, node: exp.Table, scope: _Scope) -> None:
        if isinstance(node.this, exp.Func):
            raise refusals.no_function(ascii_lower(node.this.name or node.this.sql_name()), "only tables can be read.")
        name = node.this
        if not isinstance(name, exp.Identifier) or not name.this:
            raise refusals.unknown("FROM")
        if self._written:
            if not self._names.is_written(node) and not (len(node.parts) == 1 and name.this in scope.steps.values()):
                raise refusals.unknown(f"the table {name.this}")
            return
        if len(node.parts) > 1:
            raise refusals.qualified(str(name.this))
        key = self._names.table_key(name)
        if key in scope.steps:
            if not node.args.get("alias"):  # by which columns name it
                node.set("alias", exp.TableAlias(this=exp.to_identifier(self._as_named(name), quoted=True)))
            node.set("this", exp.to_identifier(scope.steps[key], quoted=True))
            return
        if key in scope.later:
            instead = "WITH gives that name only later, so let each step read those before it."
            raise refusals.no_table(str(name.this), instead)
        relation = self._names.table(name)
        if relation is None:
            raise refusals.no_table(str(name.this), self._hint(str(name.this), self._names.tables()))
        for part, identifier in self._names.written(relation).args.items():
            node.set(part, identifier)

    def _as_named(self, name: exp.Identifier) -> str:
        return self._names.table_key(name) if self._dialect == "postgres" else str(name.this)

    def _sources(self, node: exp.Select, scope: _Scope) -> Iterator[tuple[str, Relation | None]]:
        """What a SELECT reads, by the names that columns use for it."""
        from_ = node.args.get("from_")
        yield from self._read([from_.this if from_ else None, *(node.args.get("joins") or ())], scope)

    def _read(self, parts: list[Any], scope: _Scope) -> Iterator[tuple[str, Relation | None]]:
        for part in parts:
            if isinstance(part, exp.Join):
                yield from self._read([part.this], scope)
                continue
            if not isinstance(part, exp.Table | exp.Subquery):
                continue
            yield from self._read(part.args.get("joins") or [], scope)
            if isinstance(part, exp.Subquery) and isinstance(part.this, exp.Table):
                yield from self._read([part.this], scope)
            alias = part.args.get("alias")
            name = alias.this if alias else part.this
            if not isinstance(name, exp.Identifier):
                continue
            plain = isinstance(part, exp.Table) and not part.args.get("pivots") and not (alias and alias.columns)
            step = plain and self._names.table_key(part.this) in scope.steps
            yield self._names.table_key(name), self._names.table(part.this) if plain and not step else None

    # -- columns -------------------------------------------------------------------------------------------------------

    def _column(self, node: exp.Column, scope: _Scope) -> None:
        if node.args.get("db") or node.args.get("catalog"):
            raise GuardError(
                f"A schema or catalog cannot be named here: write {refusals.shown(node.name)} with its table alone."
            )
        if isinstance(node.this, exp.Star):
            return
        of = node.args.get("table")
        relation = scope.sources.get(self._names.table_key(of)) if of and not self._written else None
        known = self._names.columns(relation) if relation else self._columns
        if self._names.column_key(node.this) not in known:
            where = f"{relation.name} has" if relation else "There is"
            hint = self._hint(node.name, known)
            raise GuardError(f"{where} no column called {refusals.shown(node.name)}: {hint}")
        self._names.quote(node.this)

    def _hint(self, name: str, known: Mapping[str, str]) -> str:
        near = refusals.near(name, known)
        return f"did you mean {near}?" if near else f"known are {shown(sorted(known.values()))}."

    def _given_names(self, tree: exp.Expr) -> dict[str, str]:
        """Columns that the statement itself names, by key: aliases, columns of steps and subqueries, of pivots."""
        given: list[Any] = [alias.args.get("alias") for alias in tree.find_all(exp.Alias)]
        for many in tree.find_all(exp.TableAlias, exp.Aliases):
            given += many.args.get("columns") or many.args.get("expressions") or ()
        for pivot in tree.find_all(exp.Pivot):
            given += [*pivot.find_all(exp.Identifier), *(pivot.args.get("columns") or ())]
            given += [exp.to_identifier(text.this, quoted=True) for text in pivot.find_all(exp.Literal)]
        names = {self._names.column_key(i): str(i.this) for i in given if isinstance(i, exp.Identifier)}
        # A computed column without an alias is called after its function.
        called = {ascii_lower(function.sql_name()) for function in tree.find_all(exp.Func)}
        return names | {name: name for name in called}

    def _pivot(self, node: exp.Pivot) -> None:
        """A pivot must list its values: else its columns would be read from the data, in a statement of its own."""
        if node.args.get("unpivot"):
            return
        if not all(
            isinstance(column, exp.In)
            and column.expressions
            and not (column.args.get("query") or column.args.get("field"))
            for column in node.args.get("fields") or node.expressions
        ):
            raise refusals.dynamic_pivot()


def _is_plain(value: Any) -> bool:
    if isinstance(value, str):
        return bool(_PLAIN_TEXT.fullmatch(value))
    return value is None or isinstance(value, bool | int | exp.DataType.Type)


# -- sentences ---------------------------------------------------------------------------------------------------------


def _refused(node: exp.Expr) -> GuardError:
    if isinstance(node, exp.Into):
        return GuardError("SELECT ... INTO writes, so it cannot run here: leave INTO out.")
    if isinstance(node, exp.Lock):
        return GuardError("FOR UPDATE and FOR SHARE lock rows, so they cannot run here: leave them out.")
    if isinstance(node, exp.Parameter | exp.Placeholder | exp.SessionParameter):
        return GuardError("A placeholder or variable cannot be read here: write the value itself.")
    if isinstance(node, exp.DML | exp.DDL) and not isinstance(node, exp.Query):
        return GuardError(_only_select(type(node).__name__.upper()))
    return refusals.unknown(type(node).__name__)


def _verb(sql: str) -> str:
    """The first word of a statement that is no SELECT; empty for one."""
    found = re.match(r"(?>[\s;(]|--[^\n]*\n|/\*.*?\*/)*+([A-Za-z]+)", sql, re.DOTALL)
    verb = found[1].upper() if found else ""
    return "" if verb in ("SELECT", "WITH", "FROM", "VALUES", "TABLE") else verb


def _only_select(verb: str) -> str:
    return f"Only SELECT can run here, not {refusals.shown(verb)}: other data is only read."

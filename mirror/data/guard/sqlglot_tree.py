"""The guard of other databases: which SQL may run. It allows what it knows in the parsed tree and refuses all else.

What runs is the tree written anew, not the text: a comment that MySQL would execute, or a quote that two parsers read
differently, is then nothing that was not looked at.
"""

import difflib
import re
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from mirror.data.guard.duckdb import MAX_LENGTH, GuardError, UnreadableError
from mirror.data.guard.sqlglot_functions import ARGUMENTS, FUNCTIONS, NAMED, NODES, TYPES
from mirror.schema.database import Database, shown

MAX_DEPTH = 200
_QUERIES = (exp.Select, exp.SetOperation, exp.Subquery)
_TEXTS = (exp.Literal, exp.Identifier, exp.Var, exp.Anonymous)  # whose text `_known` looks at
_WORD = re.compile(r"[\w$]*(?: \w+)*")
_NUMBER = re.compile(r"\d*\.?\d*(?:[eE][+-]?\d+)?")
_PLAIN_TEXT = re.compile(r"[\w ]*")


def check(sql: str, database: Database, row_cap: int | None = None) -> str:
    """The statement as it may run: one SELECT over known tables, made only of what is known to be harmless.

    Args:
        sql: as a person or the builder wrote it.
        database: its tables are the only ones that can be read.
        row_cap: where given, no more rows than that and one are asked for.

    Raises GuardError, or UnreadableError for what is no SQL at all.
    """
    if len(sql) > MAX_LENGTH:
        raise GuardError(f"The SQL is too long: {len(sql):,} characters, where {MAX_LENGTH:,} are allowed.")
    if "\0" in sql:
        raise GuardError("The SQL holds an invisible character: type it anew, with plain spaces.")
    try:
        tree = _parsed(sql, database.dialect)
        _Walk(database, tree).query(tree)
        if row_cap is not None:
            tree = _capped(tree, row_cap)
        written = tree.sql(dialect=database.dialect, comments=False)
        again = _parsed(written, database.dialect)
        _Walk(database, again).query(again)
        if again.sql(dialect=database.dialect, comments=False) != written:
            raise _unknown("quotes")
    except GuardError:
        raise
    except RecursionError:
        raise GuardError("The SQL is nested too deeply: use fewer brackets and joins, or steps with WITH.") from None
    except Exception as error:  # a tree that the walk or the writer does not know
        raise _unknown("a new layout") from error
    return written


def _parsed(sql: str, dialect: str) -> exp.Expr:
    try:
        statements = [s for s in sqlglot.parse(sql, read=dialect) if s is not None]
    except SqlglotError as error:
        if verb := _verb(sql):
            raise GuardError(_only_select(verb)) from None
        first: dict[str, Any] = next(iter(getattr(error, "errors", None) or ({},)))
        near = f" near “{_shown(first['highlight'])}”" if first.get("highlight") else ""
        raise UnreadableError(f"This SQL cannot be read{near}: mend it, or ask in plain words.") from None
    except RecursionError:
        raise
    except Exception:  # a slip of the parser itself
        raise UnreadableError("This SQL cannot be read: write it in a simpler way.") from None
    statements = [s for s in statements if not isinstance(s, exp.Semicolon)]
    if not statements:
        raise GuardError("There is no SQL to run: write a SELECT.")
    if len(statements) > 1:
        raise GuardError(f"Only one statement can run at a time: these are {len(statements)}.")
    (tree,) = statements
    if not isinstance(tree, _QUERIES):
        raise GuardError(_only_select(_verb(sql) or "this"))
    return tree


def is_readable(sql: str, dialect: str) -> bool:
    """Whether a text can be parsed as SQL, whatever it would do."""
    try:
        _parsed(sql[:MAX_LENGTH], dialect)
    except UnreadableError:
        return False
    except (GuardError, RecursionError):
        return True
    return True


def _capped(tree: exp.Expr, row_cap: int) -> exp.Expr:
    """A limit of the whole statement that is higher than what is shown becomes what is shown."""
    limit = tree.args.get("limit")
    number = limit.expression if isinstance(limit, exp.Limit) else None
    if isinstance(number, exp.Literal) and not number.is_string and float(number.this) > row_cap + 1:
        tree = tree.copy()
        tree.args["limit"].set("expression", exp.Literal.number(row_cap + 1))
    return tree


class _Walk:
    """One statement. `ctes` are the names that WITH has given so far, which only what stands below may use."""

    def __init__(self, database: Database, tree: exp.Expr) -> None:
        self._tables = {r.name.lower(): r.name for r in database.relations}
        self._columns = {c.name.lower(): c.name for r in database.relations for c in r.columns}
        self._columns |= {name.lower(): name for name in _given_names(tree)}

    def query(self, tree: exp.Expr) -> None:
        """Raises GuardError."""
        self._node(tree, frozenset(), 0)

    def _node(self, node: exp.Expr, ctes: frozenset[str], depth: int) -> None:
        if depth > MAX_DEPTH:
            raise RecursionError
        self._known(node)
        if isinstance(node.args.get("with_"), exp.With):
            ctes = self._with(node.args["with_"], ctes, depth)
        if isinstance(node, exp.Table):
            self._table(node, ctes)
        elif isinstance(node, exp.Column):
            self._column(node)
        for key, held in node.args.items():
            if key == "with_":
                continue
            for part in held if isinstance(held, list) else [held]:
                if isinstance(part, exp.Expr):
                    self._node(part, ctes, depth + 1)
                elif not (_is_plain(part) or (key == "this" and isinstance(node, _TEXTS))):
                    raise _unknown(key)

    def _known(self, node: exp.Expr) -> None:
        name = type(node).__name__
        if isinstance(node, exp.Anonymous):
            if str(node.this).lower() not in NAMED or not isinstance(node.this, str):
                raise _no_function(str(node.name or node.this).lower())
        elif name not in NODES and name not in FUNCTIONS:
            if isinstance(node, exp.Func):
                raise _no_function(node.sql_name().lower())
            raise _refused(node)
        if name in ARGUMENTS and (more := [k for k, v in node.args.items() if v and k not in ARGUMENTS[name]]):
            held = node.args[more[0]]
            first = held[0] if isinstance(held, list) else held
            known = not isinstance(first, exp.Expr) or type(first).__name__ in NODES
            raise _unknown(more[0].strip("_").upper()) if known else _refused(first)
        if isinstance(node, exp.Identifier | exp.Var) and not node.args.get("quoted"):
            if not _WORD.fullmatch(str(node.this)):
                raise _unknown(str(node.this))
        elif isinstance(node, exp.Literal) and not node.is_string and not _NUMBER.fullmatch(str(node.this)):
            raise _unknown(str(node.this))
        elif isinstance(node, exp.DataType):
            kind = getattr(node.this, "name", str(node.this))
            if kind not in TYPES:
                raise GuardError(f"Casting to {_shown(kind)} is not available here: use TEXT, DOUBLE, INT or DATE.")

    def _with(self, node: exp.With, ctes: frozenset[str], depth: int) -> frozenset[str]:
        """Check the CTEs of a query; each may read those before it, and a recursive one itself in its second part."""
        self._known(node)
        for cte in node.expressions:
            if not isinstance(cte, exp.CTE):
                raise _unknown("WITH")
            self._known(cte)
            name = str(cte.alias).lower()
            body = cte.this
            if node.args.get("recursive") and isinstance(body, exp.Union):
                self._known(body)
                if body.args.get("with_"):
                    raise _unknown("WITH")
                self._node(body.this, ctes, depth + 1)
                self._node(body.expression, ctes | {name}, depth + 1)
                for key in ("order", "limit", "offset"):
                    if body.args.get(key):
                        raise _unknown(key.upper())
            elif isinstance(body, (*_QUERIES, exp.Values)):
                self._node(body, ctes, depth + 1)
            else:
                raise GuardError(_only_select(type(body).__name__.upper()))
            self._node(cte.args["alias"], ctes, depth + 1)
            ctes |= {name}
        return ctes

    def _table(self, node: exp.Table, ctes: frozenset[str]) -> None:
        if isinstance(node.this, exp.Func):
            raise _no_function(node.this.name or node.this.sql_name().lower(), "only tables can be read")
        name = node.name
        if not isinstance(node.this, exp.Identifier) or not name:
            raise _unknown("FROM")
        if node.args.get("db") or node.args.get("catalog"):
            raise GuardError(f"A schema or catalog cannot be named here: write {_shown(name)} alone.")
        if name.lower() not in ctes and name.lower() not in self._tables:
            raise GuardError(f"There is no table called {_shown(name)}: {_hint(name, self._tables)}")

    def _column(self, node: exp.Column) -> None:
        if node.args.get("db") or node.args.get("catalog"):
            raise GuardError(
                f"A schema or catalog cannot be named here: write {_shown(node.name)} with its table alone."
            )
        if isinstance(node.this, exp.Star):
            return
        if node.name.lower() not in self._columns:
            raise GuardError(f"There is no column called {_shown(node.name)}: {_hint(node.name, self._columns)}")


def _given_names(tree: exp.Expr) -> set[str]:
    """Names of columns that the statement itself gives: aliases, and columns of CTEs and subqueries."""
    names = {alias.alias for alias in tree.find_all(exp.Alias) if alias.alias}
    for alias in tree.find_all(exp.TableAlias):
        names |= {c.name for c in alias.args.get("columns") or ()}
    for many in tree.find_all(exp.Aliases):
        names |= {c.name for c in many.args.get("expressions") or ()}
    # A computed column without an alias is called after its function.
    return names | {function.sql_name().lower() for function in tree.find_all(exp.Func)}


def _is_plain(value: Any) -> bool:
    if isinstance(value, str):
        return bool(_PLAIN_TEXT.fullmatch(value))
    return value is None or isinstance(value, bool | int | exp.DataType.Type)


# -- sentences ---------------------------------------------------------------------------------------------------------


def _shown(name: object, length: int = 60) -> str:
    text = " ".join(str(name).split())
    return text if len(text) <= length else text[: length - 1] + "…"


def _hint(name: str, known: dict[str, str]) -> str:
    near = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.7)
    return f"did you mean {known[near[0]]}?" if near else f"known are {shown(sorted(known.values()))}."


def _unknown(what: str) -> GuardError:
    return GuardError(f"This SQL holds something that cannot be checked ({_shown(what)}): write it in a simpler way.")


def _no_function(name: str, instead: str = "only everyday functions are, such as avg or round") -> GuardError:
    return GuardError(f"{_shown(name)} is not available here: {instead}.")


def _refused(node: exp.Expr) -> GuardError:
    if isinstance(node, exp.Into):
        return GuardError("SELECT ... INTO writes, so it cannot run here: leave INTO out.")
    if isinstance(node, exp.Lock):
        return GuardError("FOR UPDATE and FOR SHARE lock rows, so they cannot run here: leave them out.")
    if isinstance(node, exp.Parameter | exp.Placeholder | exp.SessionParameter):
        return GuardError("A placeholder or variable cannot be read here: write the value itself.")
    if isinstance(node, exp.DML | exp.DDL) and not isinstance(node, exp.Query):
        return GuardError(_only_select(type(node).__name__.upper()))
    return _unknown(type(node).__name__)


def _verb(sql: str) -> str:
    """The first word of a statement that is no SELECT; empty for one."""
    found = re.match(r"(?:[\s;(]|--[^\n]*\n|/\*.*?\*/)*([A-Za-z]+)", sql, re.DOTALL)
    verb = found[1].upper() if found else ""
    return "" if verb in ("SELECT", "WITH", "FROM", "VALUES", "TABLE") else verb


def _only_select(verb: str) -> str:
    return f"Only SELECT can run here, not {_shown(verb)}: other data is only read."

"""The guard: which SQL may run. It allows what it knows in the parsed statement and refuses everything else.

DuckDB parses the text itself (`json_serialize_sql`), and the tree is walked. Two layouts are known, that of DuckDB 1.5
and that of 2.0; a node, a key or a value that neither has is refused, so a later layout refuses too much, never too
little. The statement's type is not asked for: DuckDB 2.0 says SELECT of a DELETE in a CTE.
"""

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import duckdb

from db.schema import EXPOSED
from mirror.data.guard import guard_errors as refusals
from mirror.data.guard.duckdb_functions import FUNCTIONS, TABLE_FUNCTIONS, TYPES
from mirror.data.guard.guard_errors import MAX_DEPTH, GuardError, NotSqlError, ascii_lower, check_text, words

__all__ = ["GuardError", "NotSqlError", "check", "check_reads", "check_text"]

_READABLE = f"{', '.join(EXPOSED[:-1])} and {EXPOSED[-1]}"


def check(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Raise GuardError unless `sql` is one SELECT over the exposed views, made only of what is known to be harmless.

    The connection only parses; nothing of `sql` is executed.
    """
    check_text(sql)
    statements = _parse(connection, sql)
    if not statements:
        raise refusals.nothing()
    if len(statements) > 1:
        raise refusals.too_many(len(statements))
    try:
        _walk(statements[0]["node"], frozenset(), 0)
    except GuardError:
        raise
    except RecursionError as error:
        raise refusals.too_deep() from error
    except Exception as error:  # a tree of a layout that the walk does not know
        raise refusals.unknown("a new layout") from error
    if set(statements[0]) - {"node", "named_param_map"}:
        raise refusals.unknown("statement")


def check_reads(
    connection: duckdb.DuckDBPyConnection, sql: str, schema: Sequence[str], tables: Collection[str], step: str
) -> None:
    """Raise GuardError unless DuckDB itself finds one SELECT in `sql` that reads nothing but these tables.

    Args:
        connection: only parses; nothing of `sql` is executed.
        sql: what another parser has passed and written anew.
        schema: catalogue and schema, which stand before each of the tables.
        tables: their names, as they are.
        step: how the names of steps of WITH begin.
    """
    statements = _parse(connection, sql)
    if len(statements) != 1:
        raise refusals.too_many(len(statements))
    for node in _nodes(statements[0]):
        kind = node.get("type")
        if kind in ("TABLE_FUNCTION", "SHOW_REF") or node.get("pivot_enum"):
            raise refusals.unknown(str(kind))
        if kind == "BASE_TABLE":
            path = [p for p in (node.get("catalog_name"), node.get("schema_name"), _name(node, "table_name")) if p]
            path = _path(node, path[-1]) if "qualified_name" in node else path
            known = path[:-1] == list(schema) and path[-1] in tables
            if not known and not (len(path) == 1 and path[0].startswith(step)):
                raise refusals.unknown(f"the table {'.'.join(path)}")


def _nodes(value: Any) -> Iterator[dict[str, Any]]:
    """Every object of a tree, from the outside in."""
    waiting = [value]
    while waiting:
        held = waiting.pop()
        if isinstance(held, dict):
            yield held
            waiting.extend(held.values())
        elif isinstance(held, list):
            waiting.extend(held)


def _parse(connection: duckdb.DuckDBPyConnection, sql: str) -> list[dict[str, Any]]:
    try:
        row = connection.execute(
            "SELECT json_serialize_sql(?::VARCHAR, skip_null := true, skip_empty := true)", [sql]
        ).fetchone()
        tree = dict(json.loads(row[0])) if row else {}
    except RecursionError as error:
        raise refusals.too_deep() from error
    except (duckdb.Error, ValueError, TypeError) as error:
        raise GuardError("This SQL cannot be checked, so it does not run: write it in a simpler way.") from error
    statements = tree.get("statements")
    if tree.get("error") is False and isinstance(statements, list):
        return statements
    message = str(tree.get("error_message", "it is not SQL"))
    if "depth" in message.lower():
        raise refusals.too_deep()
    if tree.get("error_type") == "parser":
        raise NotSqlError(f"This SQL cannot be read: {refusals.shown(message, 300)}.")
    raise _not_select(connection, sql)


# -- the walk ----------------------------------------------------------------------------------------------------------


# Nodes that may stand in a tree, and the keys of each that hold further nodes. Expressions go by their class, all else
# by its type, and the boxes around nodes, which have neither, by the empty name.
_NODES: Mapping[str, frozenset[str]] = {
    name: words(keys)
    for name, keys in {
        "": "node expression when_expr then_expr value",
        "SELECT_NODE": "select_list from_table where_clause group_expressions having qualify modifiers",
        "SET_OPERATION_NODE": "left right children modifiers",
        "RECURSIVE_CTE_NODE": "left right key_targets modifiers",
        "ORDER_MODIFIER": "orders",
        "LIMIT_MODIFIER": "limit offset",
        "LIMIT_PERCENT_MODIFIER": "limit offset",
        "DISTINCT_MODIFIER": "distinct_on_targets",
        "ORDER_DEFAULT": "expression",
        "ASCENDING": "expression",
        "DESCENDING": "expression",
        "EMPTY": "",
        "BASE_TABLE": "",
        "JOIN": "left right condition",
        "PIVOT": "source aggregates",
        "SUBQUERY": "subquery child",
        "TABLE_FUNCTION": "function",
        "EXPRESSION_LIST": "values",
        "BETWEEN": "input lower upper",
        "CASE": "case_checks else_expr",
        "CAST": "child",
        "COLLATE": "child",
        "COLUMN_REF": "",
        "COMPARISON": "left right",
        "CONJUNCTION": "children",
        "CONSTANT": "",
        "FUNCTION": "children arguments filter order_bys",
        "LAMBDA": "lhs expr",
        "OPERATOR": "children",
        "POSITIONAL_REFERENCE": "",
        "STAR": "expr replace_list",
        "WINDOW": "children arguments partitions orders arg_orders filter_expr start_expr end_expr "
        "offset_expr default_expr",
    }.items()
}

_QUERIES = ("SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE")

# Keys that hold names, numbers and switches, in any node.
_PLAIN = words(
    """alias aggregate_handling aliases collation column_name_alias column_names columns comparison_type cte_name
    delim_flipped distinct end exclude_clause exclude_list group_sets has_ignore_nulls ignore_nulls index
    is_implicit is_operator join_type key limit_type materialized name nearest_approx nearest_count nearest_order_type
    null_order query_location query_location_length ref_type relation_name setop_all setop_type start subquery_type
    syntax_type try_cast type class union_all using_columns with_ordinality"""
)

# Keys that the grammar fills with constants or column names only.
_INERT: Mapping[str, frozenset[str]] = {
    "CONSTANT": words("value literal"),
    "SELECT_NODE": words("sample"),
    "BASE_TABLE": words("sample"),
    "SUBQUERY": words("sample"),
    "TABLE_FUNCTION": words("sample"),
    "STAR": words("rename_list qualified_exclude_list"),
}

# Keys that a check of their own reads.
_CHECKED: Mapping[str, frozenset[str]] = {
    "SELECT_NODE": words("cte_map"),
    "SET_OPERATION_NODE": words("cte_map"),
    "RECURSIVE_CTE_NODE": words("cte_map"),
    "BASE_TABLE": words("table_name schema_name catalog_name qualified_name"),
    "FUNCTION": words("function_name schema catalog qualified_name"),
    "WINDOW": words("function_name schema catalog qualified_name"),
    "CAST": words("cast_type type_expr"),
    "PIVOT": words("pivots groups unpivot_names include_nulls"),
}

_KNOWN = {label: keys | _INERT.get(label, words("")) | _CHECKED.get(label, words("")) for label, keys in _NODES.items()}

# Names that DuckDB takes for a function of the session where no column has them.
_SESSION = words(
    "current_catalog current_database current_role current_schema current_user session_user system_user user"
)

_OPERATORS = words(
    """ARRAY_CONSTRUCTOR ARRAY_EXTRACT ARRAY_SLICE COMPARE_IN COMPARE_NOT_IN GROUPING_FUNCTION OPERATOR_COALESCE
    OPERATOR_IS_NOT_NULL OPERATOR_IS_NULL OPERATOR_NOT OPERATOR_NULLIF OPERATOR_TRY STRUCT_EXTRACT"""
)


def _walk(value: Any, ctes: frozenset[str], depth: int) -> None:
    """Check a node, or each of a list, with everything below it. `ctes` are the names that WITH has given so far."""
    if depth > MAX_DEPTH:
        raise refusals.too_deep()
    if isinstance(value, list):
        for item in value:
            _walk(item, ctes, depth)
        return
    if not isinstance(value, dict):
        raise refusals.unknown("tree")
    label = value.get("class", value.get("type", ""))
    if not isinstance(label, str) or label not in _NODES:
        raise _refused_node(label, value)
    for key, held in value.items():
        if not (key in _KNOWN[label] or (key in _PLAIN and _is_plain(held)) or _is_empty(held)):
            raise refusals.unknown(key)
    if label in _QUERIES:
        ctes = _with(value.get("cte_map") or {}, ctes, depth)
    elif label in _CHECKS:
        _CHECKS[label](value)
    elif label == "BASE_TABLE":
        _table(value, ctes)
    elif label == "PIVOT":
        _pivot(value, ctes, depth)
    deeper = depth + 1 if label else depth
    for key in _NODES[label] & value.keys():
        if label == "RECURSIVE_CTE_NODE" and key == "right":
            _walk(value[key], ctes | {ascii_lower(_name(value, "cte_name"))}, deeper)
        elif not _is_empty(value[key]):
            _walk(value[key], ctes, deeper)


def _with(cte_map: Any, ctes: frozenset[str], depth: int) -> frozenset[str]:
    """Check the CTEs of a query; each may read those before it. Returns the names in sight of the query itself."""
    if not isinstance(cte_map, dict) or set(cte_map) - {"map"}:
        raise refusals.unknown("WITH")
    for entry in cte_map.get("map", []):
        if set(entry) != {"key", "value"} or not isinstance(entry["value"], dict):
            raise refusals.unknown("WITH")
        for key, held in entry["value"].items():
            if key in ("query", "query_node", "key_targets"):
                _walk(held, ctes, depth + 1)
            elif key not in ("aliases", "materialized") or not _is_plain(held):
                raise refusals.unknown(f"WITH ({key})")
        ctes |= {ascii_lower(_name(entry, "key"))}
    return ctes


def _table(node: dict[str, Any], ctes: frozenset[str]) -> None:
    name = _name(node, "table_name")
    if node.get("schema_name") or node.get("catalog_name") or _path(node, name) != [name]:
        raise refusals.qualified(name)
    if ascii_lower(name) not in ctes and ascii_lower(name) not in EXPOSED:
        near = refusals.near(name, [*EXPOSED, *sorted(ctes)])
        raise refusals.no_table(name, f"did you mean {near}?" if near else f"questions can read only {_READABLE}.")


def _function(node: dict[str, Any]) -> None:
    name = _name(node, "function_name")
    schema = node.get("schema") or "main"  # the parser writes main before some functions of its own
    if schema != "main" or node.get("catalog") or _path(node, name) not in ([name], ["main", name]):
        raise refusals.qualified(name)
    if ascii_lower(name) not in FUNCTIONS:
        near = refusals.near(name, sorted(FUNCTIONS), 0.75)
        raise refusals.no_function(name, f"did you mean {near}?") if near else refusals.no_function(name)


def _table_function(node: Any) -> None:
    if not isinstance(node, dict) or node.get("class") != "FUNCTION":
        raise refusals.unknown("table function")
    name = _name(node, "function_name")
    if ascii_lower(name) not in TABLE_FUNCTIONS:
        raise refusals.no_function(name, f"questions can read only {_READABLE}.")


def _column(node: dict[str, Any]) -> None:
    names = node.get("column_names")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise refusals.unknown("column")
    if len(names) == 1 and ascii_lower(names[0]) in _SESSION:
        raise refusals.no_function(names[0], f"questions can read only {_READABLE}.")


def _cast(node: dict[str, Any]) -> None:
    if ("cast_type" in node) == ("type_expr" in node):
        raise refusals.unknown("CAST")
    resolved, written = node.get("cast_type"), node.get("type_expr")
    while resolved is not None:  # DuckDB 1.5: {id, type_info: {child_type}}
        info = resolved.get("type_info") or {}
        _type(info.get("name", resolved.get("id")))
        if set(resolved) - {"id", "type_info"} or set(info) - {"type", "child_type", "width", "scale"}:
            raise refusals.unknown("CAST")
        resolved = info.get("child_type")
    while written is not None:  # DuckDB 2.0: {class: TYPE, type_name, children}
        inner = [c for c in written.get("children", []) if c.get("class") != "CONSTANT"]
        name = _type(written.get("type_name"))
        if written.get("class") != "TYPE" or _path(written, name) != [name] or len(inner) > 1:
            raise refusals.unknown("CAST")
        written = inner[0] if inner else None


def _pivot(node: dict[str, Any], ctes: frozenset[str], depth: int) -> None:
    """Columns become rows, or rows columns; their names are listed in the statement, or the columns of its source."""
    if not _is_plain([node.get("groups"), node.get("unpivot_names"), node.get("include_nulls")]):
        raise refusals.unknown("PIVOT")
    for pivot in node.get("pivots", []):
        if pivot.get("pivot_enum") or pivot.get("subquery"):
            raise refusals.dynamic_pivot()
        if set(pivot) - {"pivot_expressions", "unpivot_names", "entries"} or not _is_plain(pivot.get("unpivot_names")):
            raise refusals.unknown("PIVOT")
        _walk(pivot.get("pivot_expressions", []), ctes, depth + 1)
        for entry in pivot.get("entries", []):  # its values are constants, or names of columns, by the grammar
            if set(entry) - {"values", "star_expr", "alias"} or not _is_plain(entry.get("alias")):
                raise refusals.unknown("PIVOT")
            if "star_expr" in entry:
                _walk(entry["star_expr"], ctes, depth + 1)


def _type(name: Any) -> str:
    if not isinstance(name, str) or not name.isascii() or name.upper() not in TYPES:
        raise refusals.no_cast(name, "VARCHAR, DOUBLE, BIGINT or TIMESTAMP")
    return name


# -- small readers -----------------------------------------------------------------------------------------------------


def _name(node: dict[str, Any], key: str) -> str:
    name = node.get(key)
    if not isinstance(name, str) or not name:
        raise refusals.unknown(key)
    return name


def _path(node: dict[str, Any], name: str) -> Any:
    """The name in full, where the tree has it (DuckDB 2.0)."""
    return node["qualified_name"].get("path") if "qualified_name" in node else [name]


def _is_plain(value: Any) -> bool:
    return all(_is_plain(v) for v in value) if isinstance(value, list) else not isinstance(value, dict)


def _is_empty(value: Any) -> bool:
    return value is None or value is False or value == "" or value == [] or value == {}


# -- sentences ---------------------------------------------------------------------------------------------------------

_WHY = {
    **dict.fromkeys(words("ALTER COMMENT CREATE DELETE DROP INSERT MERGE TRUNCATE UPDATE VACUUM"), "changes data"),
    **dict.fromkeys(words("ATTACH COPY DETACH EXPORT IMPORT INSTALL LOAD USE"), "reaches outside the results"),
    **dict.fromkeys(words("CALL CHECKPOINT PRAGMA RESET SET"), "reads or changes settings"),
}


def _refused_node(label: Any, node: dict[str, Any]) -> GuardError:
    if label == "PARAMETER":
        return GuardError("A placeholder ($1 or ?) cannot be filled here: write the value itself.")
    if label == "SHOW_REF":
        return GuardError(f"DESCRIBE, SUMMARIZE and SHOW are not available here: SELECT from {_READABLE}.")
    if isinstance(label, str) and label.endswith("_QUERY_NODE"):
        return GuardError(_only_select(label.removesuffix("_QUERY_NODE")))
    return refusals.unknown(f"{label or sorted(node)}")


def _not_select(connection: duckdb.DuckDBPyConnection, sql: str) -> GuardError:
    """Only the wording: the statement is refused already."""
    verb = _first_word(sql)
    if verb not in _WHY and re.search(r"\bPIVOT\b", sql, re.IGNORECASE):  # DuckDB makes several statements of it
        return refusals.dynamic_pivot()
    try:
        count = len(connection.extract_statements(sql))
    except Exception:  # DuckDB 2.0 raises more than duckdb.Error here
        count = 1
    return refusals.too_many(count) if count > 1 else GuardError(_only_select(verb))


def _first_word(sql: str) -> str:
    found = re.match(r"(?>[\s;(]|--[^\n]*|/\*.*?\*/)*+([A-Za-z]+)", sql, re.DOTALL)
    return found[1].upper() if found else "this"


def _only_select(verb: str) -> str:
    reason = f": {verb} {_WHY[verb]}" if verb in _WHY else f", not {verb}"
    return f"Only SELECT can run here{reason}."


def _operator(node: dict[str, Any]) -> None:
    if node.get("type") not in _OPERATORS:
        raise refusals.unknown(str(node.get("type")))


# Kinds of nodes that are checked by what they hold themselves.
_CHECKS: dict[str, Callable[[dict[str, Any]], None]] = {
    "FUNCTION": _function,
    "WINDOW": _function,
    "TABLE_FUNCTION": lambda node: _table_function(node.get("function")),
    "COLUMN_REF": _column,
    "CAST": _cast,
    "OPERATOR": _operator,
}

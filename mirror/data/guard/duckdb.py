"""The guard: which SQL may run. It allows what it knows in the parsed statement and refuses everything else.

DuckDB parses the text itself (`json_serialize_sql`), and the tree is walked. Two layouts are known, that of DuckDB 1.5
and that of 2.0; a node, a key or a value that neither has is refused, so a later layout refuses too much, never too
little. The statement's type is not asked for: DuckDB 2.0 says SELECT of a DELETE in a CTE.
"""

import difflib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import duckdb

from db.schema import EXPOSED
from mirror.data.guard.duckdb_functions import FUNCTIONS, TABLE_FUNCTIONS, TYPES

MAX_LENGTH = 20_000
MAX_DEPTH = 200

# Letters and marks that are drawn as nothing, or as a space; what is no letter or mark `str.isprintable` knows.
_DRAWN_AS_NOTHING = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0d\uffa0\U000e0100-\U000e01ef]"
)
_LONGEST_GUESS = 60  # a longer name gets no "did you mean": to compare two takes the product of their lengths

_READABLE = f"{', '.join(EXPOSED[:-1])} and {EXPOSED[-1]}"


class GuardError(ValueError):
    """A statement that may not run; the message is a sentence that says why."""


class UnreadableError(GuardError):
    """A statement that DuckDB cannot parse: a slip rather than a trespass."""


def check(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Raise GuardError unless `sql` is one SELECT over the exposed views, made only of what is known to be harmless.

    The connection only parses; nothing of `sql` is executed.
    """
    check_text(sql)
    statements = _parse(connection, sql)
    if not statements:
        raise GuardError("There is no SQL to run: write a SELECT.")
    if len(statements) > 1:
        raise GuardError(_too_many(len(statements)))
    try:
        _walk(statements[0]["node"], frozenset(), 0)
    except GuardError:
        raise
    except RecursionError as error:
        raise _too_deep() from error
    except Exception as error:  # a tree of a layout that the walk does not know
        raise _unknown("a new layout") from error
    if set(statements[0]) - {"node", "named_param_map"}:
        raise _unknown("statement")


def check_text(sql: str) -> None:
    """Raise GuardError for a text that is too long to be parsed, or that holds what a reader of it would not see."""
    if len(sql) > MAX_LENGTH:
        raise GuardError(f"The SQL is too long: {len(sql):,} characters, where {MAX_LENGTH:,} are allowed.")
    lines = sql.translate({ord(c): " " for c in "\t\r\n"})
    if not lines.isprintable() or _DRAWN_AS_NOTHING.search(lines):
        raise GuardError("The SQL holds an invisible character: type it anew, with plain spaces.")


def _parse(connection: duckdb.DuckDBPyConnection, sql: str) -> list[dict[str, Any]]:
    try:
        row = connection.execute(
            "SELECT json_serialize_sql(?::VARCHAR, skip_null := true, skip_empty := true)", [sql]
        ).fetchone()
        tree = dict(json.loads(row[0])) if row else {}
    except RecursionError as error:
        raise _too_deep() from error
    except (duckdb.Error, ValueError, TypeError) as error:
        raise GuardError("This SQL cannot be checked, so it does not run: write it in a simpler way.") from error
    if tree.get("error") is False and isinstance(tree.get("statements"), list):
        return tree["statements"]
    message = str(tree.get("error_message", "it is not SQL"))
    if "depth" in message.lower():
        raise _too_deep()
    if tree.get("error_type") == "parser":
        raise UnreadableError(f"This SQL cannot be read: {_shown(message, 300)}.")
    raise GuardError(_not_select(connection, sql))


# -- the walk ----------------------------------------------------------------------------------------------------------


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Nodes that may stand in a tree, and the keys of each that hold further nodes. Expressions go by their class, all else
# by its type, and the boxes around nodes, which have neither, by the empty name.
_NODES: Mapping[str, frozenset[str]] = {
    name: _words(keys)
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
_PLAIN = _words(
    """alias aggregate_handling aliases collation column_name_alias column_names columns comparison_type cte_name
    delim_flipped distinct end exclude_clause exclude_list group_sets has_ignore_nulls ignore_nulls index
    is_implicit is_operator join_type key limit_type materialized name nearest_approx nearest_count nearest_order_type
    null_order query_location query_location_length ref_type relation_name setop_all setop_type start subquery_type
    syntax_type try_cast type class union_all using_columns with_ordinality"""
)

# Keys that the grammar fills with constants or column names only.
_INERT: Mapping[str, frozenset[str]] = {
    "CONSTANT": _words("value literal"),
    "SELECT_NODE": _words("sample"),
    "BASE_TABLE": _words("sample"),
    "SUBQUERY": _words("sample"),
    "TABLE_FUNCTION": _words("sample"),
    "STAR": _words("rename_list qualified_exclude_list"),
}

# Keys that a check of their own reads.
_CHECKED: Mapping[str, frozenset[str]] = {
    "SELECT_NODE": _words("cte_map"),
    "SET_OPERATION_NODE": _words("cte_map"),
    "RECURSIVE_CTE_NODE": _words("cte_map"),
    "BASE_TABLE": _words("table_name schema_name catalog_name qualified_name"),
    "FUNCTION": _words("function_name schema catalog qualified_name"),
    "WINDOW": _words("function_name schema catalog qualified_name"),
    "CAST": _words("cast_type type_expr"),
}

_KNOWN = {
    label: keys | _INERT.get(label, _words("")) | _CHECKED.get(label, _words("")) for label, keys in _NODES.items()
}

# Names that DuckDB takes for a function of the session where no column has them.
_SESSION = _words(
    "current_catalog current_database current_role current_schema current_user session_user system_user user"
)

_OPERATORS = _words(
    """ARRAY_CONSTRUCTOR ARRAY_EXTRACT ARRAY_SLICE COMPARE_IN COMPARE_NOT_IN GROUPING_FUNCTION OPERATOR_COALESCE
    OPERATOR_IS_NOT_NULL OPERATOR_IS_NULL OPERATOR_NOT OPERATOR_NULLIF OPERATOR_TRY STRUCT_EXTRACT"""
)


def _walk(value: Any, ctes: frozenset[str], depth: int) -> None:
    """Check a node, or each of a list, with everything below it. `ctes` are the names that WITH has given so far."""
    if depth > MAX_DEPTH:
        raise _too_deep()
    if isinstance(value, list):
        for item in value:
            _walk(item, ctes, depth)
        return
    if not isinstance(value, dict):
        raise _unknown("tree")
    label = value.get("class", value.get("type", ""))
    if not isinstance(label, str) or label not in _NODES:
        raise _refused_node(label, value)
    for key, held in value.items():
        if not (key in _KNOWN[label] or (key in _PLAIN and _is_plain(held)) or _is_empty(held)):
            raise _unknown(key)
    if label in _QUERIES:
        ctes = _with(value.get("cte_map") or {}, ctes, depth)
    elif label == "BASE_TABLE":
        _table(value, ctes)
    elif label in ("FUNCTION", "WINDOW"):
        _function(value)
    elif label == "TABLE_FUNCTION":
        _table_function(value.get("function"))
    elif label == "COLUMN_REF":
        _column(value)
    elif label == "CAST":
        _cast(value)
    elif label == "OPERATOR" and value.get("type") not in _OPERATORS:
        raise _unknown(str(value.get("type")))
    deeper = depth + 1 if label else depth
    for key in _NODES[label] & value.keys():
        if label == "RECURSIVE_CTE_NODE" and key == "right":
            _walk(value[key], ctes | {_fold(_name(value, "cte_name"))}, deeper)
        elif not _is_empty(value[key]):
            _walk(value[key], ctes, deeper)


def _with(cte_map: Any, ctes: frozenset[str], depth: int) -> frozenset[str]:
    """Check the CTEs of a query; each may read those before it. Returns the names in sight of the query itself."""
    if not isinstance(cte_map, dict) or set(cte_map) - {"map"}:
        raise _unknown("WITH")
    for entry in cte_map.get("map", []):
        if set(entry) != {"key", "value"} or not isinstance(entry["value"], dict):
            raise _unknown("WITH")
        for key, held in entry["value"].items():
            if key in ("query", "query_node", "key_targets"):
                _walk(held, ctes, depth + 1)
            elif key not in ("aliases", "materialized") or not _is_plain(held):
                raise _unknown(f"WITH ({key})")
        ctes |= {_fold(_name(entry, "key"))}
    return ctes


def _table(node: dict[str, Any], ctes: frozenset[str]) -> None:
    name = _name(node, "table_name")
    if node.get("schema_name") or node.get("catalog_name") or _path(node, name) != [name]:
        raise _qualified(name)
    if _fold(name) not in ctes and _fold(name) not in EXPOSED:
        near = _near(name, [*EXPOSED, *sorted(ctes)], 0.7)
        hint = f"did you mean {near}?" if near else f"questions can read only {_READABLE}."
        raise GuardError(f"There is no table called {_shown(name)}: {hint}")


def _function(node: dict[str, Any]) -> None:
    name = _name(node, "function_name")
    schema = node.get("schema") or "main"  # the parser writes main before some functions of its own
    if schema != "main" or node.get("catalog") or _path(node, name) not in ([name], ["main", name]):
        raise _qualified(name)
    if _fold(name) not in FUNCTIONS:
        near = _near(name, sorted(FUNCTIONS), 0.75)
        hint = f"did you mean {near}?" if near else "only everyday functions are, such as avg or round."
        raise GuardError(f"{_shown(name)} is not available here: {hint}")


def _table_function(node: Any) -> None:
    if not isinstance(node, dict) or node.get("class") != "FUNCTION":
        raise _unknown("table function")
    name = _name(node, "function_name")
    if _fold(name) not in TABLE_FUNCTIONS:
        raise GuardError(f"{_shown(name)} is not available here: questions can read only {_READABLE}.")


def _column(node: dict[str, Any]) -> None:
    names = node.get("column_names")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise _unknown("column")
    if len(names) == 1 and _fold(names[0]) in _SESSION:
        raise GuardError(f"{_shown(names[0])} is not available here: questions can read only {_READABLE}.")


def _cast(node: dict[str, Any]) -> None:
    if ("cast_type" in node) == ("type_expr" in node):
        raise _unknown("CAST")
    resolved, written = node.get("cast_type"), node.get("type_expr")
    while resolved is not None:  # DuckDB 1.5: {id, type_info: {child_type}}
        info = resolved.get("type_info") or {}
        _type(info.get("name", resolved.get("id")))
        if set(resolved) - {"id", "type_info"} or set(info) - {"type", "child_type", "width", "scale"}:
            raise _unknown("CAST")
        resolved = info.get("child_type")
    while written is not None:  # DuckDB 2.0: {class: TYPE, type_name, children}
        inner = [c for c in written.get("children", []) if c.get("class") != "CONSTANT"]
        name = _type(written.get("type_name"))
        if written.get("class") != "TYPE" or _path(written, name) != [name] or len(inner) > 1:
            raise _unknown("CAST")
        written = inner[0] if inner else None


def _type(name: Any) -> str:
    if not isinstance(name, str) or name.upper() not in TYPES:
        raise GuardError(f"Casting to {_shown(name)} is not available here: use VARCHAR, DOUBLE, BIGINT or TIMESTAMP.")
    return name


# -- small readers -----------------------------------------------------------------------------------------------------


def _name(node: dict[str, Any], key: str) -> str:
    name = node.get(key)
    if not isinstance(name, str) or not name:
        raise _unknown(key)
    return name


def _path(node: dict[str, Any], name: str) -> Any:
    """The name in full, where the tree has it (DuckDB 2.0)."""
    return node["qualified_name"].get("path") if "qualified_name" in node else [name]


def _fold(name: str) -> str:
    """Lower case as DuckDB compares names: ASCII letters only."""
    return name.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")


def _near(name: str, known: Sequence[str], cutoff: float) -> str:
    """The known name that a slip of the pen stands for, or nothing."""
    if len(name) > _LONGEST_GUESS:
        return ""
    known = [k for k in known if len(k) <= _LONGEST_GUESS]
    return next(iter(difflib.get_close_matches(_fold(name), known, n=1, cutoff=cutoff)), "")


def _is_plain(value: Any) -> bool:
    return all(_is_plain(v) for v in value) if isinstance(value, list) else not isinstance(value, dict)


def _is_empty(value: Any) -> bool:
    return value is None or value is False or value == "" or value == [] or value == {}


# -- sentences ---------------------------------------------------------------------------------------------------------

_WHY = {
    **dict.fromkeys(_words("ALTER COMMENT CREATE DELETE DROP INSERT MERGE TRUNCATE UPDATE VACUUM"), "changes data"),
    **dict.fromkeys(_words("ATTACH COPY DETACH EXPORT IMPORT INSTALL LOAD USE"), "reaches outside the results"),
    **dict.fromkeys(_words("CALL CHECKPOINT PRAGMA RESET SET"), "reads or changes settings"),
}

_NO_PIVOT = "PIVOT and UNPIVOT are not available here: use GROUP BY with FILTER (WHERE ...)."


def _shown(name: object, length: int = 60) -> str:
    text = " ".join(str(name).split())
    return text if len(text) <= length else text[: length - 1] + "…"


def _unknown(what: str) -> GuardError:
    return GuardError(f"This SQL holds something that cannot be checked ({_shown(what)}): write it in a simpler way.")


def _qualified(name: str) -> GuardError:
    return GuardError(f"A schema or catalog cannot be named here: write {_shown(name)} alone.")


def _too_deep() -> GuardError:
    return GuardError("The SQL is nested too deeply: use fewer brackets and joins, or steps with WITH.")


def _too_many(count: int) -> str:
    return f"Only one statement can run at a time: these are {count}."


def _refused_node(label: Any, node: dict[str, Any]) -> GuardError:
    if label == "PARAMETER":
        return GuardError("A placeholder ($1 or ?) cannot be filled here: write the value itself.")
    if label == "SHOW_REF":
        return GuardError(f"DESCRIBE, SUMMARIZE and SHOW are not available here: SELECT from {_READABLE}.")
    if label == "PIVOT":
        return GuardError(_NO_PIVOT)
    if isinstance(label, str) and label.endswith("_QUERY_NODE"):
        return GuardError(_only_select(label.removesuffix("_QUERY_NODE")))
    return _unknown(f"{label or sorted(node)}")


def _not_select(connection: duckdb.DuckDBPyConnection, sql: str) -> str:
    """Only the wording: the statement is refused already."""
    verb = _first_word(sql)
    if verb not in _WHY and re.search(r"\bPIVOT\b", sql, re.IGNORECASE):  # DuckDB makes several statements of it
        return _NO_PIVOT
    try:
        count = len(connection.extract_statements(sql))
    except Exception:  # DuckDB 2.0 raises more than duckdb.Error here
        count = 1
    return _too_many(count) if count > 1 else _only_select(verb)


def _first_word(sql: str) -> str:
    found = re.match(r"(?>[\s;(]|--[^\n]*|/\*.*?\*/)*+([A-Za-z]+)", sql, re.DOTALL)
    return found[1].upper() if found else "this"


def _only_select(verb: str) -> str:
    reason = f": {verb} {_WHY[verb]}" if verb in _WHY else f", not {verb}"
    return f"Only SELECT can run here{reason}."

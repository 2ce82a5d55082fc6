"""Which SQL may run: one check for every source, each with the parser of its database."""

from typing import TYPE_CHECKING

import duckdb

from mirror.data.guard import duckdb as guard

if TYPE_CHECKING:
    from mirror.schema.database import Database


def check(
    sql: str,
    parser: duckdb.DuckDBPyConnection | None,
    database: "Database | None" = None,
    row_cap: int | None = None,
) -> str:
    """The statement as it may run: one SELECT, made only of what is known to be harmless.

    Args:
        sql: as a person, a language model or a builder wrote it.
        parser: a connection of the DuckDB that is to run it, which parses it as well; None for other databases.
        database: other data, whose tables are the only ones that can be read; None for the results.
        row_cap: where given, no more rows than that and one are asked of other data.

    Raises GuardError, or NotSqlError for what is no SQL at all.
    """
    if database is None:
        assert parser is not None
        guard.check(parser, sql)
        return sql
    from mirror.data.guard import (
        sqlglot_tree as others,  # which loads a parser that the process of the results never needs
    )

    written = others.check(sql, database, row_cap)
    if parser is not None:
        guard.check_reads(parser, written, database.schema, {r.name for r in database.relations}, others.STEP)
    return written

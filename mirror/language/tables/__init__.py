"""Other people's data: questions over PostgreSQL, MySQL, SQLite, DuckDB, CSV and Parquet, read only and offline."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mirror.ask.other_data import ask, run_sql
    from mirror.data.sources.kind import is_outside

__all__ = ["ask", "is_outside", "run_sql"]


def __getattr__(name: str) -> Any:
    if name == "is_outside":  # loaded on first use: who only asks about results never waits for a parser of SQL
        from mirror.data.sources.kind import is_outside

        return is_outside
    if name in ("ask", "run_sql"):
        from mirror.ask import other_data as answer

        return getattr(answer, name)
    raise AttributeError(name)

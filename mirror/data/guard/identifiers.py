"""Names as each database compares them: which spellings are one table or column, and how to write one for certain.

PostgreSQL lowers the ASCII letters of a name without quotation marks and takes one with them as it is; SQLite and
DuckDB do not tell ASCII letters apart by case; MySQL does so for tables where its server was set up like that, never
for columns. Letters beyond ASCII are always only themselves.
"""

from sqlglot import exp

from mirror.data.guard.guard_errors import ascii_lower
from mirror.schema.database import Database, Relation


class Names:
    """The names of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._dialect = database.dialect
        self._tables = {self._table_key(r.name, True): r for r in database.relations}
        self._by_name = {r.name: r for r in database.relations}
        self._columns = {
            r.name: {self._column_key(c.name, True): c.name for c in r.columns} for r in self._by_name.values()
        }

    # -- tables --------------------------------------------------------------------------------------------------------

    def table_key(self, name: exp.Identifier) -> str:
        """What all spellings of one table, step of WITH, or alias have in common."""
        return self._table_key(str(name.this), bool(name.args.get("quoted")))

    def table(self, name: exp.Identifier) -> Relation | None:
        """The table of the catalogue that the database would take, or None."""
        return self._tables.get(self.table_key(name))

    def tables(self) -> dict[str, str]:
        """Key to name, of all."""
        return {key: relation.name for key, relation in self._tables.items()}

    def written(self, relation: Relation) -> exp.Table:
        """A table with its schema and in quotation marks, which no search path and no step of WITH can change."""
        catalog, db, name = ("", "", *self._database.schema, relation.name)[-3:]
        parts = {"this": name, "db": db, "catalog": catalog}
        return exp.Table(**{k: exp.to_identifier(part, quoted=True) for k, part in parts.items() if part})

    def is_written(self, node: exp.Table) -> bool:
        """Whether a table stands as `written` has left it."""
        relation = self._by_name.get(node.name)
        return relation is not None and all(
            node.args.get(key) == self.written(relation).args.get(key) for key in ("this", "db", "catalog")
        )

    def _table_key(self, name: str, quoted: bool) -> str:
        if self._dialect == "postgres":
            return name if quoted else ascii_lower(name)
        return name if self._dialect == "mysql" and not self._database.any_case else ascii_lower(name)

    # -- columns -------------------------------------------------------------------------------------------------------

    def column_key(self, name: exp.Identifier) -> str:
        """What all spellings of one column have in common."""
        return self._column_key(str(name.this), bool(name.args.get("quoted")))

    def columns(self, relation: Relation | None = None) -> dict[str, str]:
        """Key to name, of one table or of all."""
        of = [self._columns[relation.name]] if relation else list(self._columns.values())
        return {key: name for columns in of for key, name in columns.items()}

    def quote(self, name: exp.Identifier) -> None:
        """Write a column so that it can be nothing but a column, not `user` or `current_date`.

        SQLite has no such words, and takes a quoted name that is no column for a text.
        """
        if self._dialect != "sqlite":
            name.set("this", self.column_key(name) if self._dialect == "postgres" else str(name.this))
            name.set("quoted", True)

    def _column_key(self, name: str, quoted: bool) -> str:
        return name if self._dialect == "postgres" and quoted else ascii_lower(name)

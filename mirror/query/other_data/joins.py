"""Tables, joins and conditions of one SELECT: along foreign keys, and as EXISTS where a join would repeat rows."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from mirror.query.errors import Impossible
from mirror.query.other_data import dialects, paths
from mirror.query.other_data.form import Asked, ColumnRef, Mean, Predicate, Presence
from mirror.query.other_data.paths import Path, Step
from mirror.schema.database import Database
from mirror.schema.names import GENERIC, role_words, table_words, words_of
from mirror.table.values import Value

COMPARED = {"=": exp.EQ, "<>": exp.NEQ, "<": exp.LT, "<=": exp.LTE, ">": exp.GT, ">=": exp.GTE}


@dataclass
class Part:
    """One SELECT in the making: its base and the tables joined to it, by the way that leads there."""

    base: str
    alias: str
    joined: dict[Path, str] = field(default_factory=dict)
    joins: list[exp.Join] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)


class Joins:
    """What the parts of a statement are made of.

    Attributes:
        read: the tables that were read, in order.
    """

    def __init__(self, asked: Asked, database: Database) -> None:
        self._asked = asked
        self._database = database
        self._dialect = database.dialect
        self.read: list[str] = []

    def _names(self, columns: list[tuple[str, str, ColumnRef | None]]) -> list[str]:
        """A name for each column of the result: its own where that says enough, else with its table's."""
        own = [name for _, name, _ in columns]
        names: list[str] = []
        for table, name, place in columns:
            vague = bool(set(words_of(name)) <= GENERIC | {"id", "first", "last"})
            role = role_words(self._database, place.role) if place and place.role else ""
            several = own.count(name) > 1 or bool(role)
            several |= vague and (table != self._asked.table or bool(self._asked.measures))
            prefix = role.replace(" ", "_") or "_".join(table_words(table))
            words = "_".join(words_of(name))
            wanted = name if not several or words.startswith(prefix) else f"{prefix}_{words}"
            while wanted in names:
                wanted += "_2"
            names.append(wanted)
        return names

    # -- tables and joins ------------------------------------------------------------------------------------------

    def _part(self, table: str) -> Part:
        self.read.append(table)
        return Part(table, table, taken={table})

    def _way(self, start: str, table: str, role: object) -> Path:
        return paths.shortest(self._database, start, table, role, self._asked.via)[0]  # type: ignore[arg-type]

    def _place(self, part: Part, place: ColumnRef) -> exp.Expr:
        """A column of a table that is joined, now at the latest."""
        return self._column(self._reach(part, self._way(part.base, place.table, place.role)), place.column)

    def _reach(self, part: Part, way: Path) -> str:
        """The alias of the table at the end of a way, with the joins that it takes."""
        alias = part.alias
        for i, step in enumerate(way):
            taken = way[: i + 1]
            if taken not in part.joined:
                # Rows without a partner stay in what is counted; downwards only the partners are asked for.
                outer = step.up and (step.link.optional or any(j.side == "LEFT" for j in part.joins))
                name = self._free(part, step)
                part.joined[taken] = name
                part.joins.append(
                    exp.Join(
                        this=self._table(step.to, name),
                        side="LEFT" if outer else None,
                        on=self._on(step, alias, name),
                    )
                )
            alias = part.joined[taken]
        return alias

    def _free(self, part: Part, step: Step) -> str:
        self.read.append(step.to)
        name = step.to
        if name in part.taken and step.up:
            name = role_words(self._database, step.link).replace(" ", "_") or name
        while name in part.taken:
            name += "_2"
        part.taken.add(name)
        return name

    def _on(self, step: Step, here: str, there: str) -> exp.Expr:
        own, to = (here, there) if step.up else (there, here)
        pairs = zip(step.link.columns, step.link.to_columns, strict=True)
        return exp.and_(*(exp.EQ(this=self._column(own, a), expression=self._column(to, b)) for a, b in pairs))

    def _from(self, tree: exp.Select, part: Part, where: list[exp.Expr]) -> exp.Select:
        tree = tree.from_(self._table(part.base, part.alias))
        for join in part.joins:
            tree.append("joins", join)
        return tree.where(*where) if where else tree

    def _table(self, name: str, alias: str) -> exp.Table:
        table = exp.Table(this=self._identifier(name))
        if alias != name:
            table.set("alias", exp.TableAlias(this=self._identifier(alias)))
        return table

    def _key(self, part: Part) -> list[tuple[exp.Expr, bool]]:
        return [(self._column(part.alias, k), False) for k in self._database.relation(part.base).key]

    # -- conditions ------------------------------------------------------------------------------------------------

    def _where(self, part: Part) -> list[exp.Expr]:
        found: list[exp.Expr] = []
        apart: dict[Path, list[tuple[Path, Predicate]]] = {}
        for condition in self._asked.conditions:
            way = self._way(part.base, condition.place.table, condition.place.role)
            # Of rows that are joined, since groups are of them, it is said of these.
            down = next((i for i, step in enumerate(way) if step.multiplies and way[: i + 1] not in part.joined), None)
            if down is None:
                found.append(self._condition(self._place(part, condition.place), condition))
            elif condition.operator in ("<>", "not in"):
                # "not product Lamp": no row with it may be there.
                turned = {"<>": "=", "not in": "in"}[condition.operator]
                positive = replace(condition, operator=turned)  # type: ignore[arg-type]
                found.append(exp.not_(self._exists(part, way[: down + 1], [(way, positive)])))
            else:
                apart.setdefault(way[: down + 1], []).append((way, condition))
        for head, inside in apart.items():
            found.append(self._exists(part, head, inside))
        for presence in self._asked.presences:
            exists = self._presence(part, presence)
            found.append(exp.not_(exists) if presence.absent else exists)
        return found

    def _presence(self, part: Part, presence: Presence) -> exp.Expr:
        before = self._way(part.base, presence.owner, None)
        role = presence.role
        if role is not None and role.to != presence.table:  # flights by their origin, of an airport
            way = (*before, Step(role, False))
        else:
            way = (*before, *self._way(presence.owner, presence.table, role))
        down = next((i for i, step in enumerate(way) if i >= len(before) and not step.up), len(way) - 1)
        inside: list[tuple[Path, Predicate | None]] = []
        for condition in presence.conditions:
            further = self._way(presence.table, condition.place.table, condition.place.role)
            inside.append(((*way, *further), condition))
        head = way[: down + 1]
        if presence.count:
            operator, number = presence.count
            rows = inside or [(way, None)]
            beyond = any(step.up and not step.link.unique for step in way[len(head) :])
            repeated = beyond or any(paths.multiplies(w[len(way) :]) for w, _ in rows)
            shown = self._key_of(presence.table) if repeated else None
            counted = exp.Subquery(this=self._belonging(part, head, rows, exp.Count(this=exp.Star()), of=(way, shown)))
            return self._test(counted, operator, (number,))
        if presence.every:
            broken = [self._exists(part, head, [(w, c)], broken=True) for w, c in inside if c is not None]
            return exp.and_(self._exists(part, head, [(way, None)]), *map(exp.not_, broken))
        return self._exists(part, head, inside or [(way, None)])

    def _exists(
        self, part: Part, head: Path, inside: Sequence[tuple[Path, Predicate | None]], broken: bool = False
    ) -> exp.Expr:
        """Whether rows at the end of `head` are there for a row of the part, that meet or break conditions."""
        return exp.Exists(this=self._belonging(part, head, inside, exp.Literal.number(1), broken))

    def _belonging(
        self,
        part: Part,
        head: Path,
        inside: Sequence[tuple[Path, Predicate | None]],
        shown: exp.Expr,
        broken: bool = False,
        of: tuple[Path, str | None] = ((), None),
    ) -> exp.Select:
        """The rows at the end of `head` that belong to a row of the part.

        `of` is a way and the key of the rows at its end, where these are to be counted once each.
        """
        outer = self._reach(part, head[:-1])
        step = head[-1]
        self.read.append(step.to)
        alias = step.to
        while alias in part.taken:
            alias += "_2"
        within = Part(step.to, alias, taken={*part.taken, alias})
        where = [self._on(step, outer, alias)]
        for way, condition in inside:
            end = self._reach(within, way[len(head) :])
            if condition is not None:
                met = self._condition(self._column(end, condition.place.column), condition)
                where.append(exp.not_(met) if broken else met)
        to, key = of
        if key is not None:
            shown = exp.Count(this=exp.Distinct(expressions=[self._column(self._reach(within, to[len(head) :]), key)]))
        for join in within.joins:
            join.set("side", None)
        return self._from(exp.select(shown), within, where)

    def _key_of(self, table: str) -> str:
        """The column that tells the rows of a table apart. Raises Impossible."""
        key = self._database.relation(table).key
        if len(key) != 1:
            raise Impossible(
                f"{table} has no key of one column, so its rows cannot be counted once each: write the SQL."
            )
        return key[0]

    def _condition(self, column: exp.Expr, condition: Predicate) -> exp.Expr:
        other = condition.values[0] if condition.values else None
        tested = self._finite(column, condition.place)
        if condition.bucket:
            tested = dialects.bucket(condition.bucket, column, self._dialect)
        if isinstance(other, ColumnRef):  # of the same row
            if other.table != condition.place.table:
                raise Impossible("Columns of two tables are not compared: write the SQL.")
            table = self._identifier(column.table) if isinstance(column, exp.Column) and column.table else None
            there = exp.Column(this=self._identifier(other.column), table=table)
            return COMPARED[condition.operator](this=tested, expression=self._finite(there, other))
        if isinstance(other, Mean):
            self.read.append(other.place.table)
            mean = exp.select(exp.Avg(this=self._finite(self._column("alike", other.place.column), other.place)))
            mean = mean.from_(self._table(other.place.table, "alike"))
            if other.within is not None:
                own = exp.Column(this=self._identifier(other.within.column), table=column.args.get("table"))
                mean = mean.where(exp.EQ(this=self._column("alike", other.within.column), expression=own))
            return COMPARED[condition.operator](this=tested, expression=exp.Subquery(this=mean))
        known = self._database.relation(condition.place.table).column(condition.place.column)
        moments = any(isinstance(value, str) and len(value) > len("2026-03-14") for value in condition.values)
        if self._dialect == "sqlite" and known.type == "timestamp" and moments and not condition.bucket:
            tested = exp.Anonymous(this="DATETIME", expressions=[tested])  # a text, which may have a T in it
        return self._test(tested, condition.operator, condition.values)  # type: ignore[arg-type]

    def _finite(self, column: exp.Expr, place: ColumnRef) -> exp.Expr:
        """The column without NaN, which databases take for more than any number."""
        known = self._database.relation(place.table).column(place.column)
        return dialects.without_nan(column, self._dialect) if known.nan else column

    def _test(self, tested: exp.Expr, operator: str, values: tuple[Value, ...]) -> exp.Expr:
        if operator in ("is null", "is not null"):
            null = exp.Is(this=tested, expression=exp.null())
            return exp.not_(null) if operator == "is not null" else null
        if operator in ("in", "not in"):
            found = exp.In(this=tested, expressions=[self._value(v) for v in values])
            return exp.not_(found) if operator == "not in" else found
        if operator == "contains":
            text = str(values[0])  # SQLite knows the small letters of ASCII alone
            part = self._value(text.lower()) if text.isascii() else exp.Lower(this=self._value(text))
            within = exp.StrPosition(this=exp.Lower(this=tested), substr=part)
            return exp.GT(this=within, expression=exp.Literal.number(0))
        return COMPARED[operator](this=tested, expression=self._value(values[0]))

    def _value(self, value: Value) -> exp.Expr:
        if isinstance(value, bool):
            return exp.Boolean(this=value)
        if isinstance(value, str):
            return exp.Literal.string(value)
        if value < 0:
            return exp.Neg(this=exp.Literal.number(repr(-value)))
        return exp.Literal.number(repr(value))

    # -- names -----------------------------------------------------------------------------------------------------

    def _identifier(self, name: str) -> exp.Identifier:
        return exp.to_identifier(name, quoted=dialects.needs_quotes(name, self._dialect))

    def _column(self, table: str | None, name: str) -> exp.Expr:
        return exp.Column(this=self._identifier(name), table=self._identifier(table) if table else None)

    def _as(self, expression: exp.Expr, name: str) -> exp.Expr:
        if isinstance(expression, exp.Column) and expression.name == name:
            return expression.copy()
        return exp.Alias(this=expression.copy(), alias=self._identifier(name))

"""The form becomes SQL: joins along foreign keys, conditions on the many as EXISTS, two tables added up apart."""

from dataclasses import dataclass, field

from sqlglot import exp

from mirror.outside import dialects, paths
from mirror.outside.asked import Asked, Condition, Group, Measure, Place, Presence
from mirror.outside.names import GENERIC, column_words, label_columns, many, one, table_words, words_of
from mirror.outside.paths import Path, Step
from mirror.outside.tables import Database
from mirror.query_spec import Value
from mirror.understand.errors import Refusal


@dataclass(frozen=True)
class Built:
    """A statement and the columns of its result.

    Attributes:
        sql: in the dialect of the database, laid out one clause a line.
        metrics: names of its columns that hold measures, in the order of the form.
        dimensions: names of its other columns, but for keys that stand beside a name.
        tables: the tables that it reads, the base first.
    """

    sql: str
    metrics: tuple[str, ...]
    dimensions: tuple[str, ...]
    tables: tuple[str, ...]


def build(asked: Asked, database: Database) -> Built:
    """The statement of a question. Raises Refusal for what the database's SQL cannot say."""
    builder = _Builder(asked, database)
    tree, metrics, dimensions = builder.statement()
    sql = tree.sql(dialect=database.dialect, pretty=True)
    return Built(sql, tuple(metrics), tuple(dimensions), tuple(dict.fromkeys(builder.read)))


@dataclass
class _Part:
    """One SELECT in the making: its base and the tables joined to it, by the way that leads there."""

    base: str
    alias: str
    joined: dict[Path, str] = field(default_factory=dict)
    joins: list[exp.Join] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)


class _Builder:
    def __init__(self, asked: Asked, database: Database) -> None:
        self._asked = asked
        self._database = database
        self._dialect = database.dialect
        self.read: list[str] = []

    # -- statements ------------------------------------------------------------------------------------------------

    def statement(self) -> tuple[exp.Expression, list[str], list[str]]:
        asked = self._asked
        if not asked.measures and not asked.groups:
            return self._list()
        tables = list(dict.fromkeys(m.table for m in asked.measures)) or [asked.table]
        metrics = self._metric_names()
        if len(tables) == 1:
            tree, dimensions = self._aggregated(tables[0], list(enumerate(asked.measures)), metrics, whole=True)
        else:
            tree, dimensions = self._side_by_side(tables, metrics)
        if asked.count_groups:
            return self._counted(tree)
        if asked.order and asked.ties:
            tree = self._first(tree, metrics[asked.order[0]], asked.order[1], tree.named_selects)
        return tree, metrics, dimensions

    def _list(self) -> tuple[exp.Expression, list[str], list[str]]:
        asked = self._asked
        part = self._part(asked.table)
        names = self._names([(p.table, p.column, p) for p in asked.columns])
        columns = [self._place(part, place) for place in asked.columns]
        tree = exp.select(*(self._as(c, n) for c, n in zip(columns, names, strict=True)))
        tree = self._from(tree, part, self._where(part))
        metrics = []
        if asked.order:
            at, descending = asked.order
            metrics = [names[at]]
            if asked.ties and asked.limit is None:
                return self._first(tree, names[at], descending, names), metrics, [n for n in names if n not in metrics]
            tree = tree.where(exp.not_(exp.Is(this=columns[at].copy(), expression=exp.null())))
            tree = self._ordered(tree, [(columns[at], descending), *self._key(part)])
        elif self._key(part):
            tree = self._ordered(tree, self._key(part))
        if asked.limit:
            tree = tree.limit(asked.limit)
        return tree, metrics, [n for n in names if n not in metrics]

    def _aggregated(
        self, table: str, measures: list[tuple[int, Measure]], metrics: list[str], whole: bool
    ) -> tuple[exp.Select, list[str]]:
        """Measures of one table by the groups; `whole` with conditions on them, order and limit."""
        asked = self._asked
        part = self._part(table)
        keys, names, hidden, dimensions = self._groups(part, keys_shown=not whole)
        found = {i: self._measured(part, m) for i, m in measures}
        shown = [self._as(k, n) for k, n in zip(keys, names, strict=True)]
        if whole:
            shown += [self._as(found[i], metrics[i]) for i, _ in measures]
        else:
            shown += [self._as(found[i] if i in found else exp.null(), name) for i, name in enumerate(metrics)]
        tree = self._from(exp.select(*shown), part, self._where(part))
        if not measures:
            return self._ordered(tree.distinct(), [(self._column(None, n), False) for n in names]), dimensions
        if keys:
            tree = tree.group_by(*(k.copy() for k in [*keys, *hidden]))
        if not whole:
            return tree, dimensions
        for having in asked.having:
            tree = tree.having(self._test(found[having.measure].copy(), having.operator, (having.value,)))
        if asked.count_groups or (asked.order and asked.ties):
            return tree, dimensions
        return self._sorted(tree, names, metrics), dimensions

    def _side_by_side(self, tables: list[str], metrics: list[str]) -> tuple[exp.Select, list[str]]:
        """Numbers of two tables: each is added up by itself, then they are put side by side."""
        asked = self._asked
        halves = []
        dimensions: list[str] = []
        for table in tables:
            measures = [(i, m) for i, m in enumerate(asked.measures) if m.table == table]
            half, dimensions = self._aggregated(table, measures, metrics, whole=False)
            halves.append(half)
        both = exp.union(halves[0], halves[1], distinct=False, copy=False)
        names = [n for n in halves[0].named_selects if n not in metrics]
        keys = [self._column(None, n) for n in names]
        once = [exp.Max(this=self._column(None, n)) for n in metrics]
        tree = exp.select(*(k.copy() for k in keys), *(self._as(m, n) for m, n in zip(once, metrics, strict=True)))
        tree = tree.from_(exp.Subquery(this=both, alias=exp.TableAlias(this=self._identifier("both_tables"))))
        if keys:
            tree = tree.group_by(*(k.copy() for k in keys))
        for having in asked.having:
            tree = tree.having(self._test(once[having.measure].copy(), having.operator, (having.value,)))
        if asked.count_groups or (asked.order and asked.ties):
            return tree, dimensions
        return self._sorted(tree, names, metrics), dimensions

    def _counted(self, tree: exp.Select) -> tuple[exp.Expression, list[str], list[str]]:
        """How many groups there are."""
        group = self._asked.groups[0]
        what = many(group.table) if group.place is None else " ".join(words_of(group.place.column))
        name = "number_of_" + what.replace(" ", "_")
        inner = exp.Subquery(this=tree, alias=exp.TableAlias(this=self._identifier("found")))
        return exp.select(self._as(exp.Count(this=exp.Star()), name)).from_(inner), [name], []

    def _first(self, tree: exp.Select, metric: str, descending: bool, names: list[str]) -> exp.Select:
        """All rows that share the first place."""
        inner = exp.Subquery(this=tree, alias=exp.TableAlias(this=self._identifier("ranked")))
        end = exp.Max(this=self._column(None, metric)) if descending else exp.Min(this=self._column(None, metric))
        window = exp.Window(this=end, over="OVER")
        columns = [self._column(None, n) for n in names]
        placed = exp.select(*(c.copy() for c in columns), self._as(window, "first_place")).from_(inner)
        outer = exp.Subquery(this=placed, alias=exp.TableAlias(this=self._identifier("placed")))
        first = exp.EQ(this=self._column(None, metric), expression=self._column(None, "first_place"))
        return exp.select(*(c.copy() for c in columns)).from_(outer).where(first)

    def _sorted(self, tree: exp.Select, names: list[str], metrics: list[str]) -> exp.Select:
        """In the order that was asked for; else times in their order, and the largest number first."""
        asked = self._asked
        if not names:
            return tree
        by_name = [(self._column(None, n), False) for n in names]
        if asked.order:
            order = [(self._column(None, metrics[asked.order[0]]), asked.order[1]), *by_name]
        elif any(g.bucket for g in asked.groups):
            order = by_name
        else:
            order = [(self._column(None, metrics[0]), True), *by_name]
        tree = self._ordered(tree, order)
        return tree.limit(asked.limit) if asked.limit else tree

    def _ordered(self, tree: exp.Select, keys: list[tuple[exp.Expression, bool]]) -> exp.Select:
        """Sorted by the keys; a number that is missing comes last, names that are missing where the database has them."""
        small = self._dialect in ("mysql", "sqlite")  # to these NULL is less than anything
        metrics = set(self._metric_names())
        ordered = []
        for key, descending in keys:
            first = small and not descending and key.name not in metrics
            ordered.append(exp.Ordered(this=key.copy(), desc=descending, nulls_first=first))
        return tree.order_by(*ordered)

    # -- groups and measures ---------------------------------------------------------------------------------------

    def _groups(
        self, part: _Part, keys_shown: bool
    ) -> tuple[list[exp.Expression], list[str], list[exp.Expression], list[str]]:
        """What is selected, under which names, and what is grouped by besides: keys of rows whose names may repeat.

        Last come the names without those of keys that stand beside a name.
        """
        keys: list[exp.Expression] = []
        named: list[tuple[str, str, Place | None]] = []
        hidden: list[exp.Expression] = []
        beside: set[int] = set()
        for group in self._asked.groups:
            if group.place is not None:
                column = self._place(part, group.place)
                if group.bucket:
                    column = dialects.bucket(group.bucket, column, self._dialect)
                    named.append((group.table, f"{group.place.column}_{group.bucket}", group.place))
                else:
                    named.append((group.table, group.place.column, group.place))
                keys.append(column)
                continue
            relation = self._database.relation(group.table)
            alias = self._reach(part, self._way(part.base, group.table, group.role))
            labels = label_columns(relation) or relation.key or tuple(c.name for c in relation.columns[:1])
            # The key tells namesakes apart; where names do repeat it is shown.
            own = [k for k in relation.key if k not in labels]
            unique = len(labels) == 1 and relation.column(labels[0]).unique and not keys_shown
            hidden += [self._column(alias, k) for k in own if unique]
            beside |= set(range(len(named), len(named) + len(own))) if not unique else set()
            for name in labels if unique else (*own, *labels):
                keys.append(self._column(alias, name))
                named.append((group.table, name, Place(group.table, name, group.role)))
        names = self._names(named)
        return keys, names, hidden, [n for i, n in enumerate(names) if i not in beside]

    def _measured(self, part: _Part, measure: Measure) -> exp.Expression:
        repeated = any(
            paths.multiplies(self._way(part.base, g.table, g.place.role if g.place else g.role))
            for g in self._asked.groups
        )
        if not measure.factors:
            if not repeated:
                return exp.Count(this=exp.Star())
            relation = self._database.relation(measure.table)
            if len(relation.key) != 1:
                raise Refusal(
                    f"{measure.table} has no key of one column, so its rows cannot be counted once each: write the SQL."
                )
            return self._distinct(self._column(part.alias, relation.key[0]))
        numbers = [self._number(part, place) for place in measure.factors]
        number = numbers[0] if len(numbers) == 1 else exp.Mul(this=numbers[0], expression=numbers[1])
        if measure.aggregate == "distinct":
            return self._distinct(self._place(part, measure.factors[0]))
        if measure.aggregate == "median":
            return dialects.median(number, self._dialect)
        kinds = {"sum": exp.Sum, "avg": exp.Avg, "min": exp.Min, "max": exp.Max, "stddev": exp.StddevSamp}
        if measure.aggregate == "stddev" and self._dialect == "sqlite":
            raise Refusal("SQLite has no standard deviation: ask for the lowest and the highest.")
        return kinds[measure.aggregate](this=number)

    def _distinct(self, column: exp.Expression) -> exp.Expression:
        return exp.Count(this=exp.Distinct(expressions=[column]))

    def _number(self, part: _Part, place: Place) -> exp.Expression:
        column = self._place(part, place)
        known = self._database.relation(place.table).column(place.column)
        return dialects.without_nan(column, self._dialect) if known.nan else column

    def _metric_names(self) -> list[str]:
        """`total_amount`, `number_of_orders`; never the name of a column of Mirror's own results."""
        names: list[str] = []
        for m in self._asked.measures:
            what = "_times_".join("_".join(words_of(f.column)) for f in m.factors) or many(m.table).replace(" ", "_")
            before = {
                "sum": "total", "avg": "average", "median": "median", "min": "min", "max": "max",
                "stddev": "deviation_of", "count": "number_of", "distinct": "number_of_different",
            }[m.aggregate]  # fmt: skip
            name = what if what.startswith(f"{before}_") or what == before else f"{before}_{what}"
            if name == "total" or name in names:
                name = f"{name}_of_{many(m.table).replace(' ', '_')}"
            names.append(name)
        return names

    def _names(self, columns: list[tuple[str, str, Place | None]]) -> list[str]:
        """A name for each column of the result: its own where that says enough, else with its table's."""
        own = [name for _, name, _ in columns]
        names: list[str] = []
        for table, name, place in columns:
            vague = bool(set(words_of(name)) <= GENERIC | {"id", "first", "last"})
            several = own.count(name) > 1 or (vague and (table != self._asked.table or bool(self._asked.measures)))
            role = place.role.columns[0] if place and place.role and len(place.role.columns) == 1 else ""
            prefix = "_".join(words_of(role.removesuffix("_id"))) if role else "_".join(table_words(table))
            words = "_".join(words_of(name))
            wanted = name if not several or words.startswith(prefix) else f"{prefix}_{words}"
            while wanted in names:
                wanted += "_2"
            names.append(wanted)
        return names

    # -- tables and joins ------------------------------------------------------------------------------------------

    def _part(self, table: str) -> _Part:
        self.read.append(table)
        return _Part(table, table, taken={table})

    def _way(self, start: str, table: str, role: object) -> Path:
        return paths.shortest(self._database, start, table, role, self._asked.via)[0]  # type: ignore[arg-type]

    def _place(self, part: _Part, place: Place) -> exp.Expression:
        """A column of a table that is joined, now at the latest."""
        return self._column(self._reach(part, self._way(part.base, place.table, place.role)), place.column)

    def _reach(self, part: _Part, way: Path) -> str:
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

    def _free(self, part: _Part, step: Step) -> str:
        self.read.append(step.to)
        name = step.to
        if name in part.taken and step.up:
            name = "_".join(words_of(step.link.columns[0].removesuffix("_id")))
        while name in part.taken:
            name += "_2"
        part.taken.add(name)
        return name

    def _on(self, step: Step, here: str, there: str) -> exp.Expression:
        own, to = (here, there) if step.up else (there, here)
        pairs = zip(step.link.columns, step.link.to_columns, strict=True)
        return exp.and_(*(exp.EQ(this=self._column(own, a), expression=self._column(to, b)) for a, b in pairs))

    def _from(self, tree: exp.Select, part: _Part, where: list[exp.Expression]) -> exp.Select:
        tree = tree.from_(self._table(part.base, part.alias))
        for join in part.joins:
            tree.append("joins", join)
        return tree.where(*where) if where else tree

    def _table(self, name: str, alias: str) -> exp.Table:
        table = exp.Table(this=self._identifier(name))
        if alias != name:
            table.set("alias", exp.TableAlias(this=self._identifier(alias)))
        return table

    def _key(self, part: _Part) -> list[tuple[exp.Expression, bool]]:
        return [(self._column(part.alias, k), False) for k in self._database.relation(part.base).key]

    # -- conditions ------------------------------------------------------------------------------------------------

    def _where(self, part: _Part) -> list[exp.Expression]:
        found: list[exp.Expression] = []
        apart: dict[Path, list[tuple[Path, Condition]]] = {}
        for condition in self._asked.conditions:
            way = self._way(part.base, condition.place.table, condition.place.role)
            down = next((i for i, step in enumerate(way) if step.multiplies), None)
            if down is None:
                found.append(self._condition(self._place(part, condition.place), condition))
            elif condition.operator in ("<>", "not in"):
                # "not product Lamp": no row with it may be there.
                turned = {"<>": "=", "not in": "in"}[condition.operator]
                positive = Condition(condition.place, turned, condition.values)  # type: ignore[arg-type]
                found.append(exp.not_(self._exists(part, way[: down + 1], [(way, positive)])))
            else:
                apart.setdefault(way[: down + 1], []).append((way, condition))
        for head, inside in apart.items():
            found.append(self._exists(part, head, inside))
        for presence in self._asked.presences:
            exists = self._presence(part, presence)
            found.append(exp.not_(exists) if presence.absent else exists)
        return found

    def _presence(self, part: _Part, presence: Presence) -> exp.Expression:
        before = self._way(part.base, presence.owner, None)
        way = (*before, *self._way(presence.owner, presence.table, None))
        down = next((i for i, step in enumerate(way) if i >= len(before) and not step.up), len(way) - 1)
        inside: list[tuple[Path, Condition | None]] = []
        for condition in presence.conditions:
            further = self._way(presence.table, condition.place.table, condition.place.role)
            inside.append(((*way, *further), condition))
        return self._exists(part, way[: down + 1], inside or [(way, None)])

    def _exists(self, part: _Part, head: Path, inside: list[tuple[Path, Condition | None]]) -> exp.Expression:
        """Whether rows at the end of `head` are there for a row of the part, with conditions on them and beyond."""
        outer = self._reach(part, head[:-1])
        step = head[-1]
        self.read.append(step.to)
        alias = step.to
        while alias in part.taken:
            alias += "_2"
        within = _Part(step.to, alias, taken={*part.taken, alias})
        where = [self._on(step, outer, alias)]
        for way, condition in inside:
            end = self._reach(within, way[len(head) :])
            if condition is not None:
                where.append(self._condition(self._column(end, condition.place.column), condition))
        for join in within.joins:
            join.set("side", None)
        tree = self._from(exp.select(exp.Literal.number(1)), within, where)
        return exp.Exists(this=tree)

    def _condition(self, column: exp.Expression, condition: Condition) -> exp.Expression:
        return self._test(column, condition.operator, condition.values)

    def _test(self, tested: exp.Expression, operator: str, values: tuple[Value, ...]) -> exp.Expression:
        if operator in ("is null", "is not null"):
            null = exp.Is(this=tested, expression=exp.null())
            return exp.not_(null) if operator == "is not null" else null
        if operator in ("in", "not in"):
            found = exp.In(this=tested, expressions=[self._value(v) for v in values])
            return exp.not_(found) if operator == "not in" else found
        kinds = {"=": exp.EQ, "<>": exp.NEQ, "<": exp.LT, "<=": exp.LTE, ">": exp.GT, ">=": exp.GTE}
        return kinds[operator](this=tested, expression=self._value(values[0]))

    def _value(self, value: Value) -> exp.Expression:
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

    def _column(self, table: str | None, name: str) -> exp.Expression:
        return exp.Column(this=self._identifier(name), table=self._identifier(table) if table else None)

    def _as(self, expression: exp.Expression, name: str) -> exp.Expression:
        if isinstance(expression, exp.Column) and expression.name == name:
            return expression.copy()
        return exp.Alias(this=expression.copy(), alias=self._identifier(name))


def said(group: Group, database: Database) -> str:
    """What a group is, in words."""
    if group.place is None:
        return one(group.table)
    return f"{group.bucket} of {column_words(group.place.column)}" if group.bucket else column_words(group.place.column)

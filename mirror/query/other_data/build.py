"""The form becomes SQL: joins along foreign keys, conditions on the many as EXISTS, two tables added up apart."""

from dataclasses import dataclass, replace

from sqlglot import exp

from mirror.query.errors import Refusal
from mirror.query.other_data import dialects, paths
from mirror.query.other_data.form import Asked, ColumnRef, Measure
from mirror.query.other_data.joins import Joins, Part
from mirror.schema.database import Database
from mirror.schema.names import label_columns, many, words_of
from mirror.table.table import Role, Table


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

    def typed(self, table: Table) -> Table:
        """Its result, with what the columns are for."""
        roles: dict[str, Role] = {**dict.fromkeys(self.metrics, "metric"), **dict.fromkeys(self.dimensions, "name")}
        return replace(table, columns=tuple(replace(c, role=roles.get(c.name, "key")) for c in table.columns))


def build(asked: Asked, database: Database) -> Built:
    """The statement of a question. Raises Refusal for what the database's SQL cannot say."""
    builder = _Builder(asked, database)
    tree, metrics, dimensions = builder.statement()
    sql = tree.sql(dialect=database.dialect, pretty=True)
    return Built(sql, tuple(metrics), tuple(dimensions), tuple(dict.fromkeys(builder.read)))


class _Builder(Joins):
    """The statement, from the inside out."""

    # -- statements ------------------------------------------------------------------------------------------------

    def statement(self) -> tuple[exp.Expr, list[str], list[str]]:
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

    def _list(self) -> tuple[exp.Expr, list[str], list[str]]:
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
            return self._ordered(tree.distinct(), [(k, False) for k in self._sort_keys(keys, names)]), dimensions
        if keys:
            tree = tree.group_by(*(k.copy() for k in [*keys, *hidden]))
        if not whole:
            return tree, dimensions
        for having in asked.having:
            tree = tree.having(self._test(found[having.measure].copy(), having.operator, (having.value,)))
        if asked.count_groups or (asked.order and asked.ties):
            return tree, dimensions
        return self._sorted(tree, self._sort_keys(keys, names), metrics), dimensions

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
        return self._sorted(tree, keys, metrics), dimensions

    def _sort_keys(self, keys: list[exp.Expr], names: list[str]) -> list[exp.Expr]:
        """What sorts by the keys: a column under its own name, which another table may have too, with its table."""
        return [
            k if isinstance(k, exp.Column) and k.name == n else self._column(None, n)
            for k, n in zip(keys, names, strict=True)
        ]

    def _counted(self, tree: exp.Select) -> tuple[exp.Expr, list[str], list[str]]:
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

    def _sorted(self, tree: exp.Select, keys: list[exp.Expr], metrics: list[str]) -> exp.Select:
        """In the order that was asked for; else times in their order, and the largest number first."""
        asked = self._asked
        if not keys:
            return tree
        by_name = [(key, False) for key in keys]
        if asked.order:
            order = [(self._column(None, metrics[asked.order[0]]), asked.order[1]), *by_name]
        elif any(g.bucket for g in asked.groups):
            order = by_name
        else:
            order = [(self._column(None, metrics[0]), True), *by_name]
        tree = self._ordered(tree, order)
        return tree.limit(asked.limit) if asked.limit else tree

    def _ordered(self, tree: exp.Select, keys: list[tuple[exp.Expr, bool]]) -> exp.Select:
        """Sorted by the keys; a missing number comes last, a missing name where the database has it."""
        small = self._dialect in ("mysql", "sqlite")  # to these NULL is less than anything
        metrics = set(self._metric_names())
        ordered = []
        for key, descending in keys:
            first = small and not descending and key.name not in metrics
            ordered.append(exp.Ordered(this=key.copy(), desc=descending, nulls_first=first))
        return tree.order_by(*ordered)

    # -- groups and measures ---------------------------------------------------------------------------------------

    def _groups(self, part: Part, keys_shown: bool) -> tuple[list[exp.Expr], list[str], list[exp.Expr], list[str]]:
        """What is selected, under which names, and what is grouped by besides: keys of rows whose names may repeat.

        Last come the names without those of keys that stand beside a name.
        """
        keys: list[exp.Expr] = []
        named: list[tuple[str, str, ColumnRef | None]] = []
        hidden: list[exp.Expr] = []
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
                named.append((group.table, name, ColumnRef(group.table, name, group.role)))
        names = self._names(named)
        return keys, names, hidden, [n for i, n in enumerate(names) if i not in beside]

    def _measured(self, part: Part, measure: Measure) -> exp.Expr:
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

    def _distinct(self, column: exp.Expr) -> exp.Expr:
        return exp.Count(this=exp.Distinct(expressions=[column]))

    def _number(self, part: Part, place: ColumnRef) -> exp.Expr:
        column = self._place(part, place)
        known = self._database.relation(place.table).column(place.column)
        return dialects.without_nan(column, self._dialect) if known.nan else column

    def _metric_names(self) -> list[str]:
        """`total_amount`, `number_of_orders`."""
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

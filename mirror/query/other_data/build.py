"""The form becomes SQL: joins along foreign keys, conditions on the many as EXISTS, several tables added up apart."""

from dataclasses import dataclass, replace

from sqlglot import exp

from mirror.query.errors import Impossible
from mirror.query.other_data import dialects, paths
from mirror.query.other_data.form import Aggregate, Asked, ColumnRef, GroupBy, Measure, Presence
from mirror.query.other_data.joins import COMPARED, Joins, Part
from mirror.schema.database import Database
from mirror.schema.names import label_columns, many, words_of
from mirror.table.table import Role, Table

_AGGREGATES = {
    "sum": exp.Sum, "avg": exp.Avg, "min": exp.Min, "max": exp.Max, "stddev": exp.StddevSamp, "median": exp.Median,
}  # fmt: skip


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
    builder = _Builder(_with_none(asked), database)
    tree, metrics, dimensions = builder.statement()
    sql = tree.sql(dialect=database.dialect, pretty=True)
    return Built(sql, tuple(metrics), tuple(dimensions), tuple(dict.fromkeys(builder.read)))


def _with_none(asked: Asked) -> Asked:
    """How many have fewer than so many rows of another table: those that have none are among them."""
    if not (asked.count_groups and len(asked.groups) == len(asked.measures) == len(asked.having) == 1):
        return asked
    (group,), (measure,), (having,) = asked.groups, asked.measures, asked.having
    few = having.operator in ("<", "<=") or (having.operator, having.value) == ("=", 0)
    counted = measure == Measure("count", measure.table) and (group.place, group.bucket) == (None, None)
    theirs = all(c.place.table == measure.table for c in asked.conditions)
    if not (few and counted and theirs and isinstance(having.value, int)) or group.table == measure.table:
        return asked
    own = Presence(
        measure.table, group.table, conditions=asked.conditions, role=group.role, count=(having.operator, having.value)
    )
    counting = (Measure("count", group.table),)
    return replace(
        asked, table=group.table, measures=counting, groups=(), conditions=(), presences=(*asked.presences, own),
        having=(), count_groups=False,
    )  # fmt: skip


def _fewest(asked: Asked) -> Presence | None:
    """What is counted where the fewest come first: what has none of it has the fewest."""
    first = asked.order == (0, False) and (asked.ties or asked.limit)
    if not first or not len(asked.groups) == len(asked.measures) == 1:
        return None
    if asked.having or asked.presences or asked.count_groups or asked.of_total or asked.outer or asked.per:
        return None
    (group,), (measure,) = asked.groups, asked.measures
    counted = measure == Measure("count", measure.table) and (group.place, group.bucket) == (None, None)
    theirs = all(c.place.table == measure.table for c in asked.conditions)
    if not (counted and theirs) or group.table == measure.table:
        return None
    return Presence(measure.table, group.table, False, asked.conditions, group.role, (">=", 0))


class _Builder(Joins):
    """The statement, from the inside out."""

    # -- statements ------------------------------------------------------------------------------------------------

    def statement(self) -> tuple[exp.Expr, list[str], list[str]]:
        asked = self._asked
        if not asked.measures and not asked.groups:
            return self._list()
        tables = list(dict.fromkeys(p.table for m in asked.measures for p in m.parts)) or [asked.table]
        metrics = self._metric_names()
        if presence := _fewest(asked):
            return self._of_fewest(presence, metrics)
        if len(tables) == 1:
            tree, dimensions = self._aggregated(tables[0], list(enumerate(asked.measures)), metrics, whole=True)
        elif any(len(m.parts) > 1 for m in asked.measures):
            return self._apart(tables)
        else:
            tree, dimensions = self._side_by_side(tables, metrics)
        if any(h.value is None for h in asked.having):
            tree = self._beyond_mean(tree, metrics)
        if asked.count_groups:
            return self._counted(tree)
        if asked.of_total:
            return self._shares(tree, metrics), metrics, dimensions
        if asked.outer:
            return self._of_groups(tree, metrics[0], asked.outer)
        if asked.per and asked.order and asked.limit:
            tree = self._first_of_each(tree, metrics[asked.order[0]])
        elif asked.order and asked.ties:
            tree = self._first(tree, metrics[asked.order[0]], asked.order[1], tree.named_selects)
        return tree, metrics, dimensions

    def _of_fewest(self, presence: Presence, metrics: list[str]) -> tuple[exp.Expr, list[str], list[str]]:
        """The rows of a table with how many of another each has, those without any among them."""
        self._asked = replace(self._asked, groups=(GroupBy(presence.owner),), conditions=())
        part = self._part(presence.owner)
        keys, names, _, dimensions = self._groups(part, keys_shown=False)
        number = self._presence(part, presence).this  # of `number >= 0`
        shown = [*(self._as(k, n) for k, n in zip(keys, names, strict=True)), self._as(number, metrics[0])]
        tree = self._from(exp.select(*shown), part, [])
        if self._asked.ties:
            return self._first(tree, metrics[0], False, tree.named_selects), metrics, dimensions
        return self._sorted(tree, self._sort_keys(keys, names), metrics), metrics, dimensions

    def _apart(self, tables: list[str]) -> tuple[exp.Expr, list[str], list[str]]:
        """Quotients and differences of two tables' numbers: each added up by itself, then taken together."""
        asked = self._asked
        if asked.having or asked.count_groups or asked.outer or asked.of_total:
            raise Impossible("A condition on a quotient of two tables' numbers is not read: write the SQL.")
        names = self._metric_names()
        simple = tuple(replace(p, over=None, minus=None) for m in asked.measures for p in m.parts)
        inner = _Builder(replace(asked, measures=simple, having=(), order=None, limit=None, ties=False), self._database)
        numbers = [f"number_{i + 1}" for i in range(len(simple))]
        tree, dimensions = inner._side_by_side(tables, numbers)
        tree.set("order", None)
        self.read += inner.read
        keys = [n for n in tree.named_selects if n not in numbers]
        shown: list[exp.Expr] = [self._column(None, k) for k in keys]
        at = iter(numbers)
        for measure, name in zip(asked.measures, names, strict=True):
            found = {part: self._column(None, next(at)) for part in measure.parts}
            shown.append(self._as(self._composed(measure, [found[p] for p in measure.parts]), name))
        outer = exp.select(*shown).from_(exp.Subquery(this=tree, alias=self._alias("numbers")))
        if asked.order and asked.ties:
            return self._first(outer, names[asked.order[0]], asked.order[1], outer.named_selects), names, dimensions
        return self._sorted(outer, [self._column(None, k) for k in keys], names), names, dimensions

    def _composed(self, measure: Measure, numbers: list[exp.Expr]) -> exp.Expr:
        """A number, or the quotient or the difference of two."""
        if measure.over is not None:
            top = exp.Mul(this=exp.Literal.number("1.0"), expression=exp.Paren(this=numbers[0]))
            under = exp.func("NULLIF", numbers[1], exp.Literal.number(0))
            return exp.Div(this=top, expression=under, typed=False, safe=False)
        return exp.Sub(this=numbers[0], expression=numbers[1]) if measure.minus is not None else numbers[0]

    def _alias(self, name: str) -> exp.TableAlias:
        return exp.TableAlias(this=self._identifier(name))

    def _beyond_mean(self, tree: exp.Select, metrics: list[str]) -> exp.Select:
        """The groups on one side of the mean of all."""
        names = tree.named_selects
        asked = self._asked
        over = [h for h in asked.having if h.value is None]
        for clause in ("order", "limit", "offset"):
            tree.set(clause, None)
        means = [exp.Window(this=exp.Avg(this=self._column(None, metrics[h.measure])), over="OVER") for h in over]
        shown = [self._column(None, n) for n in names]
        inner = exp.select(*(c.copy() for c in shown), *(self._as(m, f"mean_{i}") for i, m in enumerate(means)))
        inner = inner.from_(exp.Subquery(this=tree, alias=self._alias("found")))
        outer = exp.select(*(c.copy() for c in shown)).from_(exp.Subquery(this=inner, alias=self._alias("beside_mean")))
        for i, having in enumerate(over):
            column, mean = self._column(None, metrics[having.measure]), self._column(None, f"mean_{i}")
            outer = outer.where(COMPARED[having.operator](this=column, expression=mean))
        if asked.count_groups:
            return outer
        return self._sorted(outer, [c for c in shown if c.name not in metrics], metrics)

    def _shares(self, tree: exp.Select, metrics: list[str]) -> exp.Select:
        """Each group's part of the leading number of all groups."""
        names, asked = tree.named_selects, self._asked
        for clause in ("order", "limit", "offset"):  # the shares are of all groups, whichever are shown
            tree.set(clause, None)
        whole = exp.Window(this=exp.Sum(this=self._column(None, metrics[0])), over="OVER")
        part = exp.Mul(this=exp.Literal.number("1.0"), expression=self._column(None, metrics[0]))
        under = exp.func("NULLIF", whole, exp.Literal.number(0))
        share = exp.Div(this=part, expression=under, typed=False, safe=False)
        shown = [
            exp.Alias(this=share, alias=self._identifier(n)) if n == metrics[0] else self._column(None, n)
            for n in names
        ]
        outer = exp.select(*shown).from_(exp.Subquery(this=tree, alias=self._alias("found")))
        at, descending = asked.order or (0, True)
        outer = self._ordered(outer, [(self._column(None, metrics[at]), descending)])
        outer = outer.limit(asked.limit) if asked.limit else outer
        return outer.offset(asked.offset) if asked.offset else outer

    def _of_groups(self, tree: exp.Select, metric: str, aggregate: Aggregate) -> tuple[exp.Expr, list[str], list[str]]:
        """One number of all groups, or of the first ones."""
        if not self._asked.limit:
            tree.set("order", None)
        number = _AGGREGATES[aggregate](this=self._column(None, metric))
        name = f"{aggregate}_of_{metric}"
        outer = exp.select(self._as(number, name)).from_(exp.Subquery(this=tree, alias=self._alias("found")))
        return outer, [name], []

    def _first_of_each(self, tree: exp.Select, metric: str) -> exp.Select:
        """The first places within each of the groups at the front."""
        asked = self._asked
        assert asked.order
        assert asked.limit
        names = tree.named_selects
        tree.set("order", None)
        tree.set("limit", None)
        within = [self._column(None, n) for n in names[: asked.per]]
        order = exp.Order(expressions=[exp.Ordered(this=self._column(None, metric), desc=asked.order[1])])
        place = exp.Window(this=exp.func("RANK"), partition_by=within, order=order, over="OVER")
        shown = [self._column(None, n) for n in names]
        inner = exp.select(*(c.copy() for c in shown), self._as(place, "place"))
        inner = inner.from_(exp.Subquery(this=tree, alias=self._alias("ranked")))
        outer = exp.select(*(c.copy() for c in shown)).from_(exp.Subquery(this=inner, alias=self._alias("placed")))
        at = self._column(None, "place")
        outer = outer.where(exp.LTE(this=at.copy(), expression=exp.Literal.number(asked.offset + asked.limit)))
        if asked.offset:
            outer = outer.where(exp.GT(this=at, expression=exp.Literal.number(asked.offset)))
        return self._ordered(outer, [(w, False) for w in within] + [(self._column(None, metric), asked.order[1])])

    def _list(self) -> tuple[exp.Expr, list[str], list[str]]:
        asked = self._asked
        part = self._part(asked.table)
        names = self._names([(p.table, p.column, p) for p in asked.columns])
        columns = [self._number(part, place) for place in asked.columns]
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
            tree = tree.offset(asked.offset) if asked.offset else tree
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
            if having.value is not None:
                tree = tree.having(self._test(found[having.measure].copy(), having.operator, (having.value,)))
        if asked.count_groups or (asked.order and asked.ties):
            return tree, dimensions
        return self._sorted(tree, self._sort_keys(keys, names), metrics), dimensions

    def _side_by_side(self, tables: list[str], metrics: list[str]) -> tuple[exp.Select, list[str]]:
        """Numbers of several tables: each is added up by itself, then they are put side by side."""
        asked = self._asked
        halves = []
        dimensions: list[str] = []
        for table in tables:
            self._check_told(table)
            measures = [(i, m) for i, m in enumerate(asked.measures) if m.table == table]
            half, dimensions = self._aggregated(table, measures, metrics, whole=False)
            halves.append(half)
        both = exp.union(*halves, distinct=False, copy=False)
        names = [n for n in halves[0].named_selects if n not in metrics]
        keys = [self._column(None, n) for n in names]
        once = [self._once(n, m) for n, m in zip(metrics, asked.measures, strict=True)]
        tree = exp.select(*(k.copy() for k in keys), *(self._as(m, n) for m, n in zip(once, metrics, strict=True)))
        tree = tree.from_(exp.Subquery(this=both, alias=exp.TableAlias(this=self._identifier("both_tables"))))
        if keys:
            tree = tree.group_by(*(k.copy() for k in keys))
        for having in asked.having:
            if having.value is not None:
                tree = tree.having(self._test(once[having.measure].copy(), having.operator, (having.value,)))
        if asked.count_groups or (asked.order and asked.ties):
            return tree, dimensions
        return self._sorted(tree, keys, metrics), dimensions

    def _check_told(self, table: str) -> None:
        """Raises Impossible where a condition says nothing of the rows of a table, of which all would be counted."""
        for condition in self._asked.conditions:
            place = condition.place
            if paths.turns_down(self._way(table, place.table, place.role)):
                raise Impossible(
                    f"{place.table}.{place.column} says nothing of {many(table)}: ask for one of the two numbers."
                )

    def _once(self, name: str, measure: Measure) -> exp.Expr:
        """The number of one of several tables; of none of its rows it is 0 where it adds up or counts."""
        most = exp.Max(this=self._column(None, name))
        added = measure.aggregate in ("count", "distinct", "sum")
        return exp.func("COALESCE", most, exp.Literal.number(0)) if added else most

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
        if not asked.limit:
            return tree
        tree = tree.limit(asked.limit)
        return tree.offset(asked.offset) if asked.offset else tree

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
        return self._composed(measure, [self._simple(part, m) for m in measure.parts])

    def _simple(self, part: Part, measure: Measure) -> exp.Expr:
        repeated = any(
            paths.multiplies(self._way(part.base, g.table, g.place.role if g.place else g.role))
            for g in self._asked.groups
        )
        kept = [self._condition(self._place(part, c.place), c) for c in measure.conditions]

        def among(number: exp.Expr, none: exp.Expr | None = None) -> exp.Expr:
            return exp.Case(ifs=[exp.If(this=exp.and_(*kept), true=number)], default=none) if kept else number

        if not measure.factors:
            if not repeated:
                return exp.Count(this=among(exp.Literal.number(1)) if kept else exp.Star())
            return self._distinct(among(self._column(part.alias, self._key_of(measure.table))))
        numbers = [self._number(part, place) for place in measure.factors]
        number = numbers[0] if len(numbers) == 1 else exp.Mul(this=numbers[0], expression=numbers[1])
        if measure.until is not None:
            number = dialects.days(number, self._place(part, measure.until), self._dialect)
            if measure.unit != "days":
                times = exp.Literal.number(24 if measure.unit == "hours" else 1440)
                number = exp.Mul(this=exp.Paren(this=number), expression=times)
        number = among(number, exp.Literal.number(0) if measure.aggregate == "sum" else None)
        if measure.aggregate == "distinct":
            return self._distinct(among(self._place(part, measure.factors[0])))
        if measure.aggregate == "median":
            return dialects.median(number, self._dialect)
        if measure.aggregate == "stddev" and self._dialect == "sqlite":
            raise Impossible("SQLite has no standard deviation: ask for the lowest and the highest.")
        return _AGGREGATES[measure.aggregate](this=number)

    def _distinct(self, column: exp.Expr) -> exp.Expr:
        return exp.Count(this=exp.Distinct(expressions=[column]))

    def _number(self, part: Part, place: ColumnRef) -> exp.Expr:
        return self._finite(self._place(part, place), place)

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
            if m.until:
                name = f"{before}_{m.unit}"
            if m.over:
                name = (
                    f"share_of_{what}" if m.over.factors == m.factors and m.over.table == m.table else f"{name}_ratio"
                )
            if m.minus:
                name = f"difference_in_{name}"
            if name == "total" or name in names:
                name = f"{name}_of_{many(m.table).replace(' ', '_')}"
            names.append(name)
        return names

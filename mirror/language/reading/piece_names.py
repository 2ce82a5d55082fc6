"""Tables, columns and measure words of a question, each in the place where it stands: measured, grouped, listed."""

from mirror.language.reading.covers import Span
from mirror.language.reading.cues import Cue
from mirror.language.reading.linking import is_flag
from mirror.language.reading.piece_conditions import Conditions
from mirror.language.reading.query_draft import Target, Test, Wanted
from mirror.language.reading.scan import NOTHING
from mirror.query.other_data.form import ColumnRef

_LACKING = ("without", "with no", "have no", "has no", "had no", "who have no", "that have no", "lacking", "lacks")


class Names(Conditions):
    """Reads what is asked for, and by what."""

    def _on_rel(self, span: Span) -> None:
        assert span.link
        following = self._spans[self._at] if self._at < len(self._spans) else NOTHING
        if (
            following.kind in ("col", "flag")
            and following.start == span.end
            and following.link
            and (
                following.link.table == span.link.table
                and (self._by or self._draft.subject or self._which or self._draft.share or self._aggregate)
            )
        ):
            self._draft.tables.append(span.link.table)
            return  # "by research group": the column says it
        self._thing(Target(table=span.link.table, role=span.link.role, part=0.05 < span.link.cost < 0.6))

    def _on_col(self, span: Span) -> None:
        assert span.link
        place = span.link.place
        column = self._column(place)
        if self._neg and self._draft.subject and place.table != self._draft.subject and column.temporal:
            self._belonging(place.table, absent=True)  # "never bought anything"
            return
        if self._neg and column.temporal and column.nullable and not self._aggregate:
            self._neg = False  # "not commissioned yet"
            self._test(Test(Target(place=place), "is null"))
            return
        if self._condition(place):
            return
        if span.text.endswith("ed") and self._draft.listed and column.type == "text" and span.link.cost > 0:
            self._draft.cost += 0.15  # a verb: "which trainers has she booked"
            return
        if self._neg and not self._aggregate and self._lacks(span):
            self._neg = False
            self._test(Test(Target(place=place), "is null"))
            return
        if self._spans[self._at : self._at + 1] and self._peek().kind == "empty":
            self._skip_to(self._peek())
            self._test(Test(Target(place=place), "is not null" if self._take_neg() else "is null"))
            return
        if column.type == "text" and self._neg and not self._aggregate and is_flag(column):
            self._neg = False
        self._thing(Target(table=place.table, place=place))

    def _lacks(self, span: Span) -> bool:
        """`without country`: nothing stands in the column."""
        before = self._spans[self._at - 2] if self._at > 1 else NOTHING
        assert span.link
        nullable = self._column(span.link.place).nullable
        lacking = before.kind == "neg" and before.text in _LACKING and not is_flag(self._column(span.link.place))
        return nullable and lacking and self._peek().kind in ("end", "by", "and", "comma")

    def _on_measure(self, span: Span) -> None:
        if (
            self._last is not None
            and self._last.cue is not None
            and span.cue
            and set(self._last.cue.of) & set(span.cue.of)
        ):
            return  # "copies sold" is one thing
        before = self._spans[self._at - 2] if self._at > 1 else NOTHING
        if before.kind == "col" and before.link and self._column(before.link.place).numeric:
            return  # "amount paid", "freight revenue"
        if before.kind == "adj" and before.cue and span.cue and before.cue.of == span.cue.of:
            return
        self._thing(Target(cue=span.cue, said=span.text))

    def _on_bucket(self, span: Span) -> None:
        bucket = span.meaning
        previous = self._spans[self._at - 2] if self._at >= 2 else NOTHING
        if self._draft.elapsed and bucket in ("day", "year", "month", "week", "hour") and not self._by:
            if bucket == "hour":
                self._draft.unit = "hours"
            elif bucket != "day":
                self._leave(span)
            return  # "in days"
        if self._limit and bucket in ("year", "month", "day", "week", "hour", "quarter"):
            return  # a unit: "older than 3 years"
        if self._aggregate and self._aggregate.meaning in ("count", "distinct") and bucket in ("day", "year", "month"):
            self._draft.elapsed = True
            self._aggregate = None
            return
        if previous.kind == "num":
            for tests in (self._draft.tests, self._inside.tests if self._inside else []):
                if tests and tests[-1].values[-1:] == (previous.value,):
                    for test in (t for t in tests[-2:] if t.target == tests[-1].target):  # two of a range
                        test.unit = bucket
            return
        if dated := self._date_before(previous):
            self._by = False
            self._draft.groups.append(Target(dated.table, dated.place, bucket=bucket))  # type: ignore[arg-type]
            return
        asked = self._by or self._which or previous.kind in ("by", "which", "sup", "sort", "and")
        if not asked and span.text in (
            "year",
            "years",
            "months",
            "month",
            "weeks",
            "week",
            "day",
            "days",
            "hour",
            "hours",
            "date",
        ):
            self._leave(span)  # "hours worked"
            return
        target = Target(bucket=bucket)  # type: ignore[arg-type]
        self._by = False
        if (
            self._draft.rank
            and self._draft.rank.target is None
            and not self._which
            and previous.kind in ("sup", "first")
        ):
            self._draft.cost += 0.3
        self._draft.groups.append(target)
        self._which = False
        if self._aggregate and self._aggregate.meaning == "avg" and not self._draft.outer and self._draft.wanted:
            self._draft.outer, self._aggregate = "avg", None

    def _date_before(self, previous: Span) -> Target | None:
        """The date that a span of time stands right behind: "by signup date quarter"."""
        draft = self._draft
        for named in (draft.groups, draft.listed):
            last = named[-1] if named and previous.kind == "col" and named[-1] == self._last else None
            if last and last.place and self._column(last.place).temporal and not last.bucket:
                return named.pop()
        return None

    # -- the place of a name -------------------------------------------------------------------------------------------

    def _thing(self, target: Target) -> None:
        """A table, a column or a measure word, in the place where it stands."""
        draft = self._draft
        if target.table and target.table not in draft.tables:
            draft.tables.append(target.table)
        limit, self._limit = self._limit, None
        if limit is not None:
            self._limited(target, limit)
        elif self._by:
            self._grouped(target)
        elif self._neg and target.place is None and target.table:
            self._belonging(target.table, absent=True)
        elif self._every and target.place is None and target.table:
            self._belonging(target.table, every=True)
            self._every = False
        elif draft.share and draft.share_of is None:
            draft.share_of = target
            if target.table and target.place is None:
                draft.subject = target.table
        elif self._aggregate is not None:
            self._measured(target)
        elif draft.rank and draft.rank.target is None and self._ranks(target):
            if target.place is not None and self._column(target.place).temporal:
                self._event(target.place)
                target = Target(table=target.place.table)
            draft.rank.target = target
        else:
            self._named(target)
        self._last = target
        self._which = False

    def _ranks(self, target: Target) -> bool:
        """Whether something behind a superlative is what is ranked by, and not what is ranked."""
        rank = self._draft.rank
        assert rank
        if target.place is not None:
            return self._column(target.place).numeric or self._column(target.place).temporal
        if target.cue is not None:
            return True
        # "the most orders" counts them; "the top 3 customers" and "the best customers" are customers
        named = self._draft.subject or self._draft.groups or self._draft.listed
        return bool(named) and target.table != self._draft.subject

    def _grouped(self, target: Target) -> None:
        draft = self._draft
        self._by = False
        numeric = target.cue is not None or (target.place is not None and self._column(target.place).type == "real")
        numeric = numeric or (self._per and target.place is not None and self._column(target.place).numeric)
        open_rank = draft.rank and (draft.rank.target is None or (draft.rank.target.cue and draft.rank.number))
        if self._per and numeric and target.place and (draft.wanted or draft.listed):
            draft.per = target  # "sales per guest"
        elif draft.rank and open_rank and (numeric or self._aggregate):
            draft.rank.target = target
            draft.rank.aggregate = self._take_aggregate()  # type: ignore[assignment]
        elif draft.sort and draft.sort.target is None and (numeric or target.place):
            draft.sort.target = target
        elif self._aggregate is not None:
            self._measured(target)
        else:
            if (
                draft.wanted
                and draft.wanted[0].aggregate == "avg"
                and not draft.groups
                and target.table
                and (draft.wanted[0].target.place is None and draft.wanted[0].target.cue is None)
            ):
                draft.outer, draft.wanted[0].aggregate = "avg", "count"
            draft.groups.append(target)

    def _measured(self, target: Target) -> None:
        span, self._aggregate = self._aggregate, None
        assert span is not None
        draft = self._draft
        aggregate = span.meaning
        if self._series:
            draft.wanted += [Wanted(of, target) for of in self._series]  # type: ignore[arg-type]
            self._series = []
            return
        if aggregate == "range":
            draft.wanted += [Wanted("min", target), Wanted("max", target)]
            return
        if aggregate == "distinct" and target.place is None and target.table:
            aggregate = "count"
        if target.place is None and target.table and aggregate == "sum":
            aggregate = "count"
        if target.place is None and target.table and aggregate in ("avg", "min", "max", "median"):
            several = self._spans[self._at - 1].text.endswith("s")
            if not several:  # "the average mark"
                target = Target(cue=Cue("measure", "usual", of=(), own=target.table))
        if target.place is not None and aggregate == "count":
            column = self._column(target.place)
            if column.temporal:
                self._event(target.place)
                target, aggregate = Target(table=target.place.table), "count"
            elif not column.numeric or column.unique:
                aggregate = "distinct"
            elif span.text.startswith(("how many", "number of", "count")):
                aggregate = "sum"
        if draft.rank and draft.rank.target is None:
            draft.rank.target, draft.rank.aggregate = target, aggregate  # type: ignore[assignment]
            return
        if target.place is None and target.table and draft.subject is None and not draft.groups:
            draft.subject = target.table
        draft.wanted.append(Wanted(aggregate, target))  # type: ignore[arg-type]

    def _event(self, place: ColumnRef) -> None:
        """`bookings` for `booked_at`: the rows, counted by that date."""
        self._draft.event = place
        self._draft.cost += 0.1

    def _named(self, target: Target) -> None:
        draft = self._draft
        if target.place is not None or target.cue is not None:
            draft.listed.append(target)
        elif draft.subject is None:
            draft.subject = target.table
        elif target.table != draft.subject and target.table:
            draft.cost += 0.05

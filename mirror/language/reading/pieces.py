"""Neighbouring spans become pieces of a query: conditions, measures, groups, first places. One cover, one draft."""

from datetime import datetime

from mirror.language.other_data.spans import Span as Time
from mirror.language.reading.covers import Cover, Span
from mirror.language.reading.cues import Cue
from mirror.language.reading.linking import is_flag
from mirror.language.reading.query_draft import Belonging, Draft, Limit, Rank, Target, Test, Wanted
from mirror.query.other_data.form import ColumnRef
from mirror.schema.database import Column, Database

_NOTHING = Span(-1, -1, "end", 0.0)
_TURNED = {"=": "<>", "<": ">=", "<=": ">", ">": "<=", ">=": "<", "in": "not in"}
_SILENT = ("filler", "skipped")


class Pieces:
    """Reads the spans of a cover from left to right."""

    def __init__(self, cover: Cover, database: Database) -> None:
        self._spans = [s for s in cover.spans if s.kind not in _SILENT]
        self._database = database
        self._at = 0
        self._draft = Draft()
        self._aggregate: Span | None = None
        self._by = False
        self._per = False
        self._neg = False
        self._every = False
        self._which = False
        self._show = False
        self._last: Target | None = None  # what was named last, for a comparison behind it
        self._limit: Limit | None = None
        self._inside: Belonging | None = None
        self._or = False
        self._number: int | None = None  # of a superlative that comes later

    def draft(self) -> Draft:
        """What they say."""
        while self._at < len(self._spans):
            span = self._spans[self._at]
            self._at += 1
            getattr(self, f"_on_{span.kind}", self._leave)(span)
        self._end()
        return self._draft

    # -- places ----------------------------------------------------------------------------------------------------

    def _peek(self, ahead: int = 0, over: tuple[str, ...] = ("of", "than")) -> Span:
        """The next span that is no preposition."""
        seen = -1
        for span in self._spans[self._at :]:
            if span.kind not in over:
                seen += 1
                if seen == ahead:
                    return span
        return _NOTHING

    def _skip_to(self, span: Span) -> None:
        """Take all up to a span, and it."""
        while self._spans[self._at] is not span:
            self._at += 1
        self._at += 1

    def _leave(self, span: Span) -> None:
        if span.kind not in ("of", "than", "comma", "end"):
            self._draft.left.append(span.text)
            self._draft.cost += 0.6

    def _column(self, place: ColumnRef) -> Column:
        return self._database.relation(place.table).column(place.column)

    # -- names -----------------------------------------------------------------------------------------------------

    def _on_rel(self, span: Span) -> None:
        assert span.link
        following = self._spans[self._at] if self._at < len(self._spans) else _NOTHING
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
        self._thing(span, Target(table=span.link.table, role=span.link.role, part=0.05 < span.link.cost < 0.6))

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
        if self._condition(span, place):
            return
        if span.text.endswith("ed") and self._draft.listed and column.type == "text" and span.link.cost > 0:
            self._draft.cost += 0.15  # a verb: "which trainers has she booked"
            return
        if self._spans[self._at : self._at + 1] and self._peek().kind == "empty":
            self._skip_to(self._peek())
            self._test(Test(Target(place=place), "is not null" if self._take_neg() else "is null"))
            return
        if column.type == "text" and self._neg and not self._aggregate and is_flag(column):
            self._neg = False
        self._thing(span, Target(table=place.table, place=place))

    def _on_measure(self, span: Span) -> None:
        if (
            self._last is not None
            and self._last.cue is not None
            and span.cue
            and set(self._last.cue.of) & set(span.cue.of)
        ):
            return  # "copies sold" is one thing
        before = self._spans[self._at - 2] if self._at > 1 else _NOTHING
        if before.kind == "col" and before.link and self._column(before.link.place).numeric:
            return  # "amount paid", "freight revenue"
        if before.kind == "adj" and before.cue and span.cue and before.cue.of == span.cue.of:
            return
        self._thing(span, Target(cue=span.cue))

    def _on_bucket(self, span: Span) -> None:
        bucket = span.meaning
        previous = self._spans[self._at - 2] if self._at >= 2 else _NOTHING
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

    def _thing(self, span: Span, target: Target) -> None:
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

    def _limited(self, target: Target, limit: Limit) -> None:
        """`more than 3 orders`, `over 100 points`."""
        draft = self._draft
        if target.place is None and target.table is not None:
            number = limit.values[0] if limit.values else None
            if draft.subject in (None, target.table) and not (draft.groups or draft.listed or self._last):
                draft.having.append((target, limit))
                draft.subject = draft.subject or target.table
            elif (
                number is not None
                and draft.subject
                and not draft.wanted
                and isinstance(number, int)
                and len(limit.values) == 1
            ):
                self._belonging(target.table)
                draft.belongings[-1].count = (_TURNED[limit.operator] if self._take_neg() else limit.operator, number)  # type: ignore[assignment]
            else:
                draft.having.append((target, limit))
        elif target.cue is not None or self._column(target.place).numeric:  # type: ignore[arg-type]
            self._tested(target, limit)
        else:
            draft.having.append((target, limit))

    def _tested(self, target: Target, limit: Limit, low: bool = False) -> None:
        negated = self._take_neg()
        if limit.operator == "in" and len(limit.values) == 2:
            self._test(Test(target, ">=", limit.values[:1], low=low))
            self._test(Test(target, "<=", limit.values[1:], low=low))
            return
        operator = _TURNED[limit.operator] if negated else limit.operator
        test = Test(target, operator, limit.values, mean=not limit.values, low=low)  # type: ignore[arg-type]
        if test.mean:
            test.within = self._within()
        self._test(test)

    def _within(self) -> Target | None:
        """`than the average of their own genre`: the genre."""
        following = self._peek()
        if following.kind == "rel" and following.link and following.link.table == self._draft.subject:
            self._skip_to(following)  # "than the average room"
            following = self._peek()
        if following.kind == "rel" and following.link:
            self._skip_to(following)
            return Target(table=following.link.table)
        if following.kind == "col" and following.link and not self._column(following.link.place).numeric:
            self._skip_to(following)
            return Target(place=following.link.place)
        return None

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

    # -- values and conditions -------------------------------------------------------------------------------------

    def _on_val(self, span: Span) -> None:
        assert span.link
        place, values = span.link.place, [span.link.value]
        negated = self._take_neg()
        if self._draft.listed and self._draft.listed[-1].place == place and self._last == self._draft.listed[-1]:
            self._draft.listed.pop()  # "status paid"
        self._by = False  # "by Jane Doe", "by phone"
        while True:
            joined, following = self._peek(0, ("of", "comma")), self._peek(1, ("of", "comma"))
            beside = joined if joined.kind == "val" and self._comma_before(joined) else None
            if joined.kind in ("and", "or") and following.kind == "val":
                beside = following
            if beside is None or beside.link is None or beside.link.place != place:
                break
            if joined.kind == "and" and self._both():
                break
            values.append(beside.link.value)
            self._skip_to(beside)
        operator = "=" if len(values) == 1 else "in"
        self._test(Test(Target(place=place), _TURNED[operator] if negated else operator, tuple(values)))  # type: ignore[arg-type]
        following = self._peek(0, ())
        if following.kind == "col" and following.link and following.link.place == place and not self._draft.gap:
            self._skip_to(following)

    def _comma_before(self, span: Span) -> bool:
        at = self._spans.index(span)
        return at > 0 and self._spans[at - 1].kind == "comma"

    def _both(self) -> bool:
        return any(s.kind == "both" for s in self._spans[: self._at])

    def _on_flag(self, span: Span) -> None:
        assert span.link
        link = span.link
        value: object = link.value
        if self._aggregate and self._aggregate.meaning in ("sum", "avg"):
            self._draft.cost += 0.3
        if self._take_neg():
            value = _other(self._column(link.place), value)
        self._test(Test(Target(place=link.place), "=", (value,)))

    def _test(self, test: Test) -> None:
        if test.target.place and test.target.place.table not in self._draft.tables:
            self._draft.tables.append(test.target.place.table)
        if self._inside is not None and test.target.place is not None:
            self._inside.tests.append(test)
            return
        test.share = self._draft.share and self._draft.share_of is not None
        self._draft.tests.append(test)

    def _condition(self, span: Span, place: ColumnRef) -> bool:
        """A column with what it must be behind it."""
        column = self._column(place)
        following = self._peek()
        if following.kind == "cmp" and not self._aggregate and (column.numeric or column.temporal):
            number = self._spans[self._spans.index(following) + 1 :][:1]
            if number and number[0].kind == "num":
                self._skip_to(following)
                limit = self._limit_of(following)
                if limit is not None:
                    self._limit = None
                    self._tested(Target(place=place), limit)
                    return True
        if following.kind == "mean" and not self._aggregate and column.numeric:
            self._skip_to(following)
            self._draft.cost += self._peek(0).kind == "val"  # "more than the average main" is of the mains
            self._tested(Target(place=place), Limit(following.meaning, ()))  # type: ignore[arg-type]
            return True
        if following.kind == "num" and column.numeric and not self._aggregate and not self._by and not self._which:
            self._skip_to(following)
            self._tested(Target(place=place), Limit("=", (following.value,)))  # type: ignore[arg-type]
            return True
        if following.kind == "text" and column.type == "text":
            self._skip_to(following)
            self._test(Test(Target(place=place), "<>" if self._take_neg() else "=", (following.value,)))
            return True
        if following.kind == "time" and column.temporal and not self._by:
            self._skip_to(following)
            self._draft.times.append((following.value, place, False))  # type: ignore[arg-type]
            return True
        return False

    def _limit_of(self, span: Span) -> Limit | None:
        """The comparison that begins with a span; it and its numbers are taken."""
        if span.meaning == "between":
            first, joint, second = self._peek(0), self._peek(1), self._peek(2)
            if first.kind == "num" and joint.kind == "and" and second.kind == "num":
                self._skip_to(second)
                low, high = sorted((first.value, second.value))  # type: ignore[type-var]
                return Limit("in", (low, high))  # type: ignore[arg-type]
            return None
        number = self._peek()
        if number.kind != "num":
            return None
        self._skip_to(number)
        return Limit(span.meaning, (number.value,))  # type: ignore[arg-type]

    def _on_cmp(self, span: Span) -> None:
        limit = self._limit_of(span)
        if limit is None:
            following = self._peek()
            later = self._spans[self._spans.index(following) + 1 :][:2] if following is not _NOTHING else []
            if (
                following.kind in ("rel", "col", "measure")
                and [s.kind for s in later] == ["than", "agg"]
                and later[1].meaning == "avg"
            ):
                self._spans = [s for s in self._spans if s not in later]  # "more tickets than the average show"
                self._limit = Limit(span.meaning, ())  # type: ignore[arg-type]
                return
            if span.meaning == "between" and (self._draft.elapsed or self._draft.gap or self._aggregate):
                self._draft.elapsed = not self._draft.gap
                return
            if following.kind in ("val", "flag", "time", "rel"):
                if span.text == "more" and self._aggregate:
                    self._draft.gap = True
                self._draft.cost += 0.3  # "under the Panama flag"
                return
            if span.text in ("more", "higher", "greater") and self._aggregate and following.kind in ("col", "measure"):
                self._draft.gap = True
                return
            if following.kind == "col" and self._last and self._last.place and following.link:
                there = following.link.place
                if (
                    there.table == self._last.place.table
                    and self._column(there).type == self._column(self._last.place).type
                ):
                    self._skip_to(following)
                    if self._last in self._draft.listed:
                        self._draft.listed.remove(self._last)
                    self._test(Test(self._last, span.meaning, (there,)))  # type: ignore[arg-type]
                    return
            if span.meaning == ">" and following.kind in ("rel", "col", "measure") and span.text in ("more", "greater"):
                self._on_sup(span)  # "which has more orders"
            else:
                self._leave(span)
            return
        following = self._peek(0, ("than",))
        if following.kind == "agg" and following.meaning in ("distinct", "count"):
            self._skip_to(following)  # "at least 6 different machines"
            following = self._peek(0, ("than",))
        if following.kind in ("rel", "col", "measure", "bucket", "val", "flag") and self._fits(following):
            self._limit = limit
            return
        self._compared(limit)

    def _fits(self, span: Span) -> bool:
        if span.kind == "col":
            assert span.link
            return self._column(span.link.place).numeric
        if span.kind in ("val", "flag"):
            beyond = self._spans[self._spans.index(span) + 1 :][:1]
            return bool(beyond) and beyond[0].kind == "rel"
        return True

    def _compared(self, limit: Limit) -> None:
        """A comparison with nothing behind it is of what was named last."""
        draft = self._draft
        if draft.wanted and draft.groups:
            draft.having.append((draft.wanted[-1].target, limit))
        elif self._last is not None and (self._last.place or self._last.cue):
            if draft.listed and draft.listed[-1] == self._last:
                draft.listed.pop()
            elif draft.wanted and draft.wanted[-1].target == self._last:
                draft.having.append((self._last, limit))
                return
            self._tested(self._last, limit)
        else:
            self._tested(Target(), limit)
            draft.cost += 0.4

    def _on_num(self, span: Span) -> None:
        after = self._peek(0, ())
        draft = self._draft
        if after.kind == "after":
            self._skip_to(after)
            limit = Limit(after.meaning, (span.value,))  # type: ignore[arg-type]
            if self._peek(0).kind in ("rel", "col", "measure") and self._fits(self._peek(0)):
                self._limit = limit
            else:
                self._compared(limit)
            return
        if (
            draft.rank
            and draft.rank.number is None
            and isinstance(span.value, int)
            and self._spans[self._at - 2].kind in ("sup", "first", "adj", "of")
        ):
            draft.rank.number = span.value
            return
        if after.kind in ("sup", "adj", "first") and isinstance(span.value, int):
            self._skip_to(after)
            getattr(self, f"_on_{after.kind}")(after)
            if draft.rank:
                draft.rank.number = span.value
            return
        if after.kind in ("rel", "col") and after.link and isinstance(span.value, int):
            if after.kind == "rel" and any(s.kind in ("sup", "adj", "first") for s in self._spans[self._at :]):
                self._number = span.value  # "5 students that missed the most"
                return
            if after.kind == "rel":  # "with 3 orders"
                self._limit = Limit("=", (span.value,))
                return
            if self._column(after.link.place).numeric:
                self._skip_to(after)
                self._tested(Target(place=after.link.place), Limit("=", (span.value,)))
                return
        if after.kind == "bucket":
            return
        if isinstance(span.value, int) and 1900 <= span.value <= 2100:
            year = span.value
            self._draft.times.append(
                (Time(datetime(year, 1, 1), datetime(year + 1, 1, 1), str(year), "=", (year,)), None, False)
            )
            return
        self._leave(span)

    def _on_adj(self, span: Span) -> None:
        """`oldest`, `cheaper than 10`, `longer than average`."""
        assert span.cue
        target = Target(cue=span.cue)
        largest = span.meaning == "max"
        following = self._spans[self._at : self._at + 2]
        than = bool(following) and following[0].kind == "than"
        number = self._peek()
        if than and number.kind == "num":
            self._skip_to(number)
            self._tested(target, Limit(">" if largest else "<", (number.value,)), low=True)  # type: ignore[arg-type]
            return
        if than and number.kind == "agg" and number.meaning == "avg":
            self._skip_to(number)
            self._tested(target, Limit(">" if largest else "<", ()))
            return
        self._ranked(Rank(largest, target))

    def _on_mean(self, span: Span) -> None:
        """`above average`, of what follows or of what was named."""
        limit = Limit(span.meaning, ())  # type: ignore[arg-type]
        following = self._peek(0)
        if following.kind == "agg" and following.meaning == "count":
            self._skip_to(following)
            following = self._peek(0)
        if following.kind in ("rel", "measure") or (following.kind == "col" and self._fits(following)):
            self._limit = limit
            return
        self._compared(limit)

    def _on_time(self, span: Span) -> None:
        self._draft.times.append((span.value, None, self._inside is not None))  # type: ignore[arg-type]

    def _on_text(self, span: Span) -> None:
        if self._last and self._last.place:
            self._test(Test(self._last, "<>" if self._take_neg() else "=", (span.value,)))
        else:
            self._leave(span)

    # -- cues ------------------------------------------------------------------------------------------------------

    def _on_agg(self, span: Span) -> None:
        if span.meaning == "distinct" and self._which and not span.text.startswith(("how", "number")):
            return  # "which kinds of absence"
        if self._aggregate is not None and self._aggregate.meaning == "avg" and span.meaning in ("count", "sum"):
            self._draft.outer = "avg"
        if self._aggregate is not None and span.meaning in ("sum", "avg") and self._aggregate.meaning == "count":
            return  # "how many in total"
        following = self._peek()
        rank = self._draft.rank
        if (
            span.meaning == "avg"
            and following.kind in ("end", "time", "of")
            and rank
            and rank.target
            and not rank.aggregate
        ):
            rank.aggregate = "avg"  # "the best ratings on average"
            return
        if span.meaning in ("sum", "avg") and following.kind in ("end", "by", "time") and self._draft.listed:
            target = self._draft.listed.pop()  # "price on average"
            self._draft.wanted.append(Wanted(span.meaning, target))  # type: ignore[arg-type]
            return
        if span.meaning == "sum" and following.kind in ("end", "time", "by") and self._draft.wanted:
            return
        self._aggregate = span

    def _on_much(self, span: Span) -> None:
        self._aggregate = span

    def _take_aggregate(self) -> str | None:
        span, self._aggregate = self._aggregate, None
        return span.meaning if span else None

    def _take_neg(self) -> bool:
        negated, self._neg = self._neg, False
        return negated

    def _on_sup(self, span: Span) -> None:
        self._ranked(Rank(span.meaning in ("max", ">"), text=span.text))

    def _ranked(self, rank: Rank) -> None:
        draft = self._draft
        if draft.rank is not None:
            if draft.rank.nth > 1 and draft.rank.target is None:  # "second highest"
                rank.nth, rank.number = draft.rank.nth, draft.rank.number
            elif draft.rank.target is None and rank.target is not None and draft.rank.number:
                rank.number = draft.rank.number  # "top 5 most expensive"
            else:
                draft.cost += 0.8
        rank.number = rank.number or self._number
        draft.rank = rank
        if self._aggregate is not None and rank.target is None and self._aggregate.meaning != "count":
            rank.aggregate = self._take_aggregate()  # type: ignore[assignment]

    def _on_first(self, span: Span) -> None:
        number = self._peek(0, ())
        if number.kind == "num" and self._peek(1, ()).kind == "bucket":
            self._leave(span)
            return
        from mirror.language.reading.cues import cues

        cue = next(c for c in cues()[("most", "recent")] if c.kind == "adj")
        self._ranked(Rank(span.meaning == "max", Target(cue=cue)))

    def _on_nth(self, span: Span) -> None:
        following = self._peek(0, ())
        if following.kind == "col" and following.link and self._column(following.link.place).type == "integer":
            self._skip_to(following)  # "the second floor"
            self._tested(Target(place=following.link.place), Limit("=", (int(span.meaning),)))
            return
        if self._draft.rank is not None:
            self._draft.rank.nth = int(span.meaning)
        else:
            self._draft.rank = Rank(True, nth=int(span.meaning))

    def _on_by(self, span: Span) -> None:
        before, following = self._spans[self._at - 2] if self._at > 1 else _NOTHING, self._peek()
        if (
            span.text == "by"
            and before.kind == "measure"
            and self._draft.subject
            and self._asks()
            and following.kind == "rel"
        ):
            return  # "authors bought by customers"
        self._by = True
        self._per = span.text == "per"
        self._draft.each |= span.text in ("each", "every")

    def _asks(self) -> bool:
        return any(s.kind in ("which", "who") for s in self._spans[: self._at])

    def _on_neg(self, span: Span) -> None:
        if self._peek().kind in ("least", "twice"):
            self._skip_to(self._peek())
        if self._peek().kind == "neg":  # "have not", "never"
            self._skip_to(self._peek())
        self._neg = True

    def _on_every(self, span: Span) -> None:
        if span.text != "only" or self._draft.tables:
            self._every = span.text != "only"

    def _on_share(self, span: Span) -> None:
        if self._draft.gap:
            return  # "in percentage points"
        self._draft.share = True
        before = self._spans[self._at - 2] if self._at > 1 else _NOTHING
        if span.text in ("rate", "rates") and before.kind in ("flag", "val") and before.link and self._draft.tests:
            self._draft.tests[-1].share = True
            self._draft.share_of = Target(table=self._draft.subject or before.link.table)
            return
        if self._draft.wanted and self._draft.share_of is None and span.text == "share":
            self._draft.share_of = self._draft.wanted.pop().target
        if self._last is not None and self._last in self._draft.listed and self._peek().kind == "end":
            self._draft.share_of = self._last

    def _on_gap(self, span: Span) -> None:
        self._draft.gap = True

    def _on_ratio(self, span: Span) -> None:
        self._draft.gap = self._draft.share = True

    def _on_who(self, span: Span) -> None:
        self._draft.person = True

    def _on_which(self, span: Span) -> None:
        self._which = True

    def _on_show(self, span: Span) -> None:
        self._show = True

    def _on_sort(self, span: Span) -> None:
        self._draft.sort = self._draft.sort or Rank(span.meaning == "down", marked=False)
        if span.text.endswith("by"):
            self._by = True

    def _on_and(self, span: Span) -> None:
        following = self._peek()
        if self._draft.groups and self._last in self._draft.groups and following.kind in ("col", "bucket"):
            self._by = True  # "by city and year"
        elif (
            self._draft.wanted and self._last == self._draft.wanted[-1].target and following.kind in ("col", "measure")
        ):
            last = self._draft.wanted[-1].aggregate
            following = self._peek()
            if last in ("sum", "avg", "min", "max", "median") and following.kind == "col":
                self._aggregate = next(s for s in self._spans[: self._at][::-1] if s.kind in ("agg", "much"))
        elif self._neg:
            self._neg = True

    def _on_or(self, span: Span) -> None:
        self._or = True

    def _on_verse(self, span: Span) -> None:
        self._draft.gap |= False

    def _on_least(self, span: Span) -> None:
        if span.text in ("any", "some", "ever", "once"):
            return
        if self._draft.subject and self._peek().kind == "rel":
            self._limit = Limit(">=", (1,))

    def _on_twice(self, span: Span) -> None:
        self._limit = Limit(">=", (2,))
        following = self._peek()
        if following.kind not in ("rel", "col"):
            others = [t for t in self._draft.tables if t != self._draft.subject]
            if others:
                self._limit = None
                self._belonging(others[-1])
                self._draft.belongings[-1].count = (">=", 2)

    def _on_elapsed(self, span: Span) -> None:
        self._draft.elapsed = True
        self._draft.unit = next((u for u in ("hours", "minutes") if u in span.text), "days")

    def _on_both(self, span: Span) -> None:
        self._draft.both = True

    def _on_still(self, span: Span) -> None:
        if self._peek(0, ()).kind in ("val", "flag"):
            return  # "still in transit"
        self._draft.still = True
        following = self._peek(0, ())
        if following.kind == "rel" and following.link:
            self._draft.still_table = following.link.table

    def _on_chart(self, span: Span) -> None:
        self._draft.chart = span.meaning

    def _on_empty(self, span: Span) -> None:
        following = self._peek()
        if following.kind == "col" and following.link:
            self._skip_to(following)
            self._test(Test(Target(place=following.link.place), "is null"))
        elif self._last and self._last.place:
            if self._last in self._draft.listed:
                self._draft.listed.remove(self._last)
            self._test(Test(self._last, "is not null" if self._take_neg() else "is null"))
        else:
            self._leave(span)

    def _belonging(self, table: str, absent: bool = False, every: bool = False) -> None:
        self._neg = False
        self._inside = Belonging(table, absent, every=every)
        self._draft.belongings.append(self._inside)

    def _end(self) -> None:
        draft = self._draft
        if self._aggregate is not None:
            if self._aggregate.meaning == "count" and not draft.wanted and not draft.subject:
                draft.wanted.append(Wanted("count", Target()))
            elif self._aggregate.meaning in ("count", "much") and draft.subject and not draft.wanted:
                draft.wanted.append(Wanted("count", Target(table=draft.subject)))
            elif self._last and self._last in draft.listed:
                draft.listed.remove(self._last)
                draft.wanted.append(Wanted(self._aggregate.meaning, self._last))  # type: ignore[arg-type]
            elif not draft.wanted:
                self._leave(self._aggregate)
        if self._limit is not None:
            self._compared(self._limit)
        if self._neg:
            draft.left.append("not")
            draft.cost += 2.0


def _other(column: Column, value: object) -> object:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return 1 - value
    return next((v for v in column.values if v != value), value)

"""Values, flags, comparisons and times in a question become conditions of its draft."""

from mirror.language.reading.covers import Span
from mirror.language.reading.query_draft import Belonging, Limit, Rank, Target, Test
from mirror.language.reading.scan import NOTHING, Scan
from mirror.language.reading.times import Time, whole_year
from mirror.query.other_data.form import ColumnRef
from mirror.schema.database import Column
from mirror.schema.names import is_year

_TURNED = {"=": "<>", "<": ">=", "<=": ">", ">": "<=", ">=": "<", "in": "not in"}


class Conditions(Scan):
    """Reads what limits the rows."""

    # -- values and flags ----------------------------------------------------------------------------------------------

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
        if self._inside and test.target.place and test.target.place.table != self._draft.subject:
            self._inside.tests.append(test)
            return
        test.share = self._draft.share and self._draft.share_of is not None
        self._draft.tests.append(test)

    def _on_time(self, span: Span) -> None:
        self._draft.times.append((span.value, None, self._inside is not None))  # type: ignore[arg-type]

    def _on_text(self, span: Span) -> None:
        if self._last and self._last.place:
            self._test(Test(self._last, "<>" if self._take_neg() else "=", (span.value,)))
        else:
            self._leave(span)

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

    # -- a column with what it must be behind it -----------------------------------------------------------------------

    def _condition(self, place: ColumnRef) -> bool:
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
        time = following.value if following.kind == "time" else whole_year(following.value)
        if not isinstance(time, Time) or self._by:
            return False
        if column.temporal:
            self._skip_to(following)
            self._draft.times.append((time, place, False))
            return True
        if is_year(column) and len(time.years) == 1:  # "built after 2020"
            self._skip_to(following)
            self._test(Test(Target(place=place), time.operator, time.years))  # type: ignore[arg-type]
            return True
        return False

    def _tested(self, target: Target, limit: Limit, low: bool = False) -> None:
        negated = self._take_neg()
        if limit.operator == "in" and len(limit.values) == 2:
            if negated:  # neither end says it alone
                self._draft.left.append("not")
                self._draft.cost += 2.0
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

    # -- comparisons ---------------------------------------------------------------------------------------------------

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
            later = self._spans[self._spans.index(following) + 1 :][:2] if following is not NOTHING else []
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
            if following.kind == "time":
                self._leave(span)  # what it says of the time is lost
                return
            if following.kind in ("val", "flag", "rel"):
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

    def _on_sup(self, span: Span) -> None:
        if self._in_series(span):
            return
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
                negated = self._take_neg()
                self._belonging(target.table)
                operator = _TURNED[limit.operator] if negated else limit.operator
                draft.belongings[-1].count = operator, number  # type: ignore[assignment]
            else:
                draft.having.append((target, limit))
        elif target.cue is not None or self._column(target.place).numeric:  # type: ignore[arg-type]
            self._tested(target, limit)
        else:
            draft.having.append((target, limit))

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

    # -- rows of other tables ------------------------------------------------------------------------------------------

    def _belonging(self, table: str, absent: bool = False, every: bool = False) -> None:
        self._neg = False
        self._inside = Belonging(table, absent, every=every)
        self._draft.belongings.append(self._inside)


def _other(column: Column, value: object) -> object:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return 1 - value
    return next((v for v in column.values if v != value), value)

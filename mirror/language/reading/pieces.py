"""Neighbouring spans become pieces of a query: conditions, measures, groups, first places. One cover, one draft."""

from dataclasses import replace

from mirror.language.reading.covers import Span
from mirror.language.reading.cues import cues
from mirror.language.reading.piece_names import Names
from mirror.language.reading.query_draft import Draft, Limit, Rank, Target, Wanted
from mirror.language.reading.scan import NOTHING
from mirror.language.reading.times import whole_year


class Pieces(Names):
    """Reads the spans of a cover from left to right."""

    def draft(self) -> Draft:
        """What they say."""
        while self._at < len(self._spans):
            span = self._spans[self._at]
            self._at += 1
            getattr(self, f"_on_{span.kind}", self._leave)(span)
        self._end()
        return self._draft

    def _end(self) -> None:
        draft = self._draft
        if self._aggregate is not None:
            if self._aggregate.meaning == "count" and not draft.wanted and not draft.subject:
                draft.wanted.append(Wanted("count", Target()))
            elif self._aggregate.meaning == "count" and draft.subject and not draft.wanted:
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

    # -- first places --------------------------------------------------------------------------------------------------

    def _on_adj(self, span: Span) -> None:
        """`oldest`, `cheaper than 10`, `longer than average`."""
        assert span.cue
        if self._in_series(span):
            return
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

    def _on_first(self, span: Span) -> None:
        number = self._peek(0, ())
        if number.kind == "num" and self._peek(1, ()).kind == "bucket":
            self._leave(span)
            return

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
            self._leave(span)  # "within 3 days"; what is compared was taken before
            return
        if year := whole_year(span.value):
            draft.times.append((year, None, False))
            return
        self._leave(span)

    # -- cues ----------------------------------------------------------------------------------------------------------

    def _on_agg(self, span: Span) -> None:
        if self._in_series(span):
            return
        if span.meaning == "distinct" and not span.text.startswith(("how", "number")) and self._lists():
            return  # "which kinds of absence", "different countries"
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

    def _lists(self) -> bool:
        """Whether what differs is listed, and not counted: for groups it is counted."""
        grouped = any(s.kind in ("by", "bucket") for s in self._spans[self._at :])
        return self._which or not (self._aggregate or self._draft.groups or grouped or self._peek().kind != "col")

    def _on_much(self, span: Span) -> None:
        self._aggregate = span

    def _on_by(self, span: Span) -> None:
        before, following = self._spans[self._at - 2] if self._at > 1 else NOTHING, self._peek()
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
        before = self._spans[self._at - 2] if self._at > 1 else NOTHING
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

    def _on_sort(self, span: Span) -> None:
        self._draft.sort = self._draft.sort or Rank(span.meaning == "down", marked=False)
        if span.text.endswith("by"):
            self._by = True

    def _on_and(self, span: Span) -> None:
        following, draft = self._peek(), self._draft
        counts = draft.wanted and draft.wanted[-1].aggregate == "count" and self._last == draft.wanted[-1].target
        if counts and following.kind == "rel":
            self._aggregate = next((s for s in self._spans[: self._at][::-1] if s.meaning == "count"), None)
        elif following.kind == "agg" and draft.subject and not draft.wanted and self._names_rows(draft.subject):
            draft.groups.append(Target(draft.subject))  # "customers and their total amount"
        elif self._draft.groups and self._last in self._draft.groups and following.kind in ("col", "bucket"):
            self._by = True  # "by city and year"
        elif (
            self._draft.wanted and self._last == self._draft.wanted[-1].target and following.kind in ("col", "measure")
        ):
            last = self._draft.wanted[-1].aggregate
            if last in ("sum", "avg", "min", "max", "median") and following.kind == "col":
                self._aggregate = next(s for s in self._spans[: self._at][::-1] if s.kind in ("agg", "much"))

    def _on_elapsed(self, span: Span) -> None:
        self._draft.elapsed = True
        self._draft.unit = next((u for u in ("hours", "minutes") if u in span.text), "days")

    def _on_silent(self, span: Span) -> None:
        """`show`, `versus`: what stands around them says what is asked."""

    _on_show = _on_verse = _on_silent

    def _on_or(self, span: Span) -> None:
        """Between values of one column it was read with them; else there is nothing in the form for it."""
        self._leave(span)

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

    def _on_log(self, _: Span) -> None:
        self._draft.log = True

    def _on_times(self, span: Span) -> None:
        """`quantity times unit price`: two columns of a row."""
        following, draft = self._peek(), self._draft
        named = next((t for t in (draft.wanted[-1:] or draft.listed[-1:])), None)
        target = named.target if isinstance(named, Wanted) else named
        if target is None or target.place is None or following.kind != "col" or not following.link:
            self._leave(span)
            return
        self._skip_to(following)
        self._last = replace(target, times=following.link.place)
        if isinstance(named, Wanted):
            named.target = self._last
        else:
            draft.listed.pop()
            draft.wanted.append(Wanted("sum", self._last))

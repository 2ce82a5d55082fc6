"""The question before, while a follow-up changes it: what is filtered, shown and grouped by."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from mirror.language.followup import filters as followup_filters
from mirror.language.followup.marks import Mode
from mirror.language.grammar.shapes import spec_of
from mirror.language.grammar.slots import Slots
from mirror.query.errors import Ambiguity, Refusal
from mirror.query.filter_words import filter_in_words
from mirror.query.spec import Aggregate, Filter, Metric, QuerySpec
from mirror.schema import catalog
from mirror.schema.profile import Profile
from mirror.schema.views import KNOWN_COLUMNS
from mirror.table.numbers import describe
from mirror.table.values import Value
from mirror.table.wording import join, shortened

RANKED = ("best", "ranking")
_WITHIN_WORK = ("best", "ranking", "front")  # shapes that begin anew in each partition
_MOST_CHOICES = 3


@dataclass
class Draft:
    """A bare QuerySpec in the making; `notes` say what has changed."""

    spec: QuerySpec
    profile: Profile
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.before = self.spec
        self.spec = replace(self.spec, notes=())

    @property
    def is_course(self) -> bool:
        """Whether single trials are shown along the time of their start."""
        return self.spec.shape == "points" and self.spec.dimensions[:1] == ("started_at",)

    @property
    def leading(self) -> str:
        """The metric that leads; empty for none."""
        return self.spec.metrics[0].column if self.spec.metrics else ""

    def reshape(self, **slots: object) -> None:
        """Make the question anew from what it says by now and these slots, as the grammar would."""
        asked = self.slots()
        for name, value in slots.items():
            setattr(asked, name, value)
        made = spec_of(asked)
        self.notes += asked.notes
        self.spec = replace(made, notes=(), chart=replace(self.spec.chart, type=made.chart.type))

    def slots(self) -> Slots:
        """What the question says, in slots."""
        spec = self.spec
        metrics = [m.column for m in spec.metrics] if spec.source != "curves" else []
        aggregate = spec.metrics[0].aggregate if spec.metrics else None
        grouped, named = self._grouped_and_named()
        return Slots(
            metrics=metrics,
            grouped=grouped,
            named=named,
            filters=list(spec.filters),
            aggregate=None if aggregate == "avg" else aggregate,
            sort=list(spec.order) if spec.shape not in RANKED else [],
            tradeoff=spec.shape == "points" and len(metrics) > 1,
            within=spec.within,
            averaged=list(spec.averaged),
            chart=spec.chart.type,
            log=spec.chart.log_x or spec.chart.log_y,
            verdicts_known=bool(self.profile.values("verdict")),
            one_baseline=bool(self.profile.compared_with(catalog.words()["baseline"])),
        )

    def _grouped_and_named(self) -> tuple[list[str], list[str]]:
        spec = self.spec
        if spec.shape in _WITHIN_WORK:
            return list(spec.partitions), [d for d in spec.dimensions if d not in spec.partitions]
        fixed = self._fixed()
        return [d for d in spec.dimensions if d not in fixed or d == "method"], []

    # -- filters ---------------------------------------------------------------------------------------------------

    def filter(self, mode: Mode, new_filters: Sequence[Filter], instead_of: Sequence[Filter] = ()) -> None:
        """Change the filters by what a part of the follow-up says."""
        if self.spec.source == "curves":
            new_filters = [f for f in new_filters if f != Filter("benchmark", "=", ("training",))]
        before, against = self.spec.filters, self.spec.against
        reference = against.values if against else (catalog.words()["baseline"],)
        if mode in ("without", "drop"):
            filters, notes = followup_filters.excluded(before, new_filters)
        elif mode in ("add", "by"):
            self._check_measured(new_filters)
            for column in dict.fromkeys(f.column for f in new_filters):
                if (usual := self.usual(column)) is not None:
                    before = (*before, Filter(column, "=", (usual,)))
            filters, notes = followup_filters.added(before, new_filters)
        elif instead_of:
            filters, notes = followup_filters.exchanged(before, new_filters, instead_of)
        else:
            filters, notes = followup_filters.replaced(before, new_filters, () if mode == "only" else reference)
        if limits := [f for f in filters if f.operator in ("<", "<=", ">", ">=") and not isinstance(f.values[0], str)]:
            spec_of(Slots(metrics=["memory_mb"], filters=limits))  # it refuses limits that no trial can keep
        if against and Filter(against.column, "=", against.values) in filters:
            raise Refusal(f"Nothing would be left to compare with {reference[0]}.")
        self.spec = replace(self.spec, filters=filters)
        self.notes += notes

    def usual(self, column: str) -> Value | None:
        """The value that the question means without saying so; None for none."""
        spec, value = self.spec, catalog.words()["defaults"].get(column)
        named = column in (*spec.dimensions, *spec.averaged) or any(f.column == column for f in spec.filters)
        return None if named or value not in self.profile.values(column) else value

    def compare_with(self, new_filters: Sequence[Filter]) -> None:
        """Another value beside those that were asked for; the reference of what is relative to one."""
        against = self.spec.against
        other = next((f for f in new_filters if against and f.column == against.column and f.operator == "="), None)
        if not against or not other:
            self.filter("add", new_filters)
            return
        filters = followup_filters.excluded(self.spec.filters, [against])[0]
        listed = any(f.column == other.column and f.operator in ("=", "in") for f in filters)
        if Filter(other.column, "=", other.values) in filters:
            raise Refusal(f"{other.values[0]} cannot be compared with itself: name another.")
        if listed:
            filters = followup_filters.added(filters, [other])[0]
        self.spec = replace(self.spec, filters=filters if listed else self.spec.filters, against=other)
        self.notes.append(f"relative to {other.values[0]} instead of {against.values[0]}")

    def _check_measured(self, new_filters: Sequence[Filter]) -> None:
        """Raise Refusal for a value to be added that no trial has."""
        for f in new_filters:
            known = self.profile.values(f.column)
            if f.operator in ("=", "in") and known and not set(f.values) & set(known):
                there = shortened([describe(catalog.entry(f.column), v) for v in known], 8)
                raise Refusal(f"No trial has {filter_in_words(f)} yet; there is {there}.")

    def lift(self, column: str) -> bool:
        """Without the filters on a column. Returns whether there was one."""
        filters, notes = followup_filters.lifted(self.spec.filters, column)
        self.spec = replace(self.spec, filters=filters)
        self.notes += notes
        return bool(notes)

    # -- metrics ---------------------------------------------------------------------------------------------------

    def show(self, mode: Mode, names: Sequence[str], instead_of: Sequence[str] = ()) -> None:
        """Show other metrics, or these as well. Raises Refusal or Ambiguity."""
        spec = self.spec
        label = catalog.entry(names[0]).label
        if spec.source == "failures":
            raise Refusal(f"A failed trial has no {label}: ask how many failed, or why.")
        old = [m.column for m in spec.metrics]
        if gone := [m for m in instead_of if m in old]:
            new = [n for m in old for n in ([*names] if m == gone[0] else [m] if m not in gone else [])]
        elif mode in ("add", "by"):
            new = [*old, *names]
        else:
            if len(old) > 1 and len(names) == 1 and spec.shape in ("points", "front") and mode != "only":
                others = [catalog.entry(m).label for m in old if m != names[0]]
                choices = [f"{label} instead of {other}" for other in others]
                raise Ambiguity(
                    f"{label} instead of what?",
                    (*choices[: _MOST_CHOICES - 1], *[f"{label} too"] * (spec.shape == "points")),
                )
            new = [*names]
        new = list(dict.fromkeys(new))
        if new == old:
            self.notes.append(f"{join(catalog.entry(n).label for n in names)} as before")
            return
        if mode in ("add", "by") and spec.shape in ("change", "front"):
            what = "A change is told of one metric" if spec.shape == "change" else "A Pareto front is of two metrics"
            raise Refusal(f"{what}: ask “{label} instead”.")
        self.tell_metrics(old, new)
        self._set_metrics(new)

    def hide(self, names: Sequence[str]) -> None:
        """Leave metrics out. Raises Refusal where none would be left."""
        old = [m.column for m in self.spec.metrics]
        left = [m for m in old if m not in names]
        if not left or self.spec.shape == "front":
            raise Refusal(f"Nothing would be left to show without {join(catalog.entry(n).label for n in names)}.")
        self.tell_metrics(old, left)
        self._set_metrics(left)

    def aggregate(self, name: Aggregate) -> None:
        """Median instead of the mean."""
        spec = self.spec
        word = catalog.AGGREGATE_WORDS[name].removesuffix(" of")
        if self.is_course:
            self.notes.append("each trial is shown, none is averaged")
            return
        if not spec.metrics or spec.shape in ("count", "rows", "change"):
            raise Refusal(f"It is not clear of what the {word} is meant: name the metric, as in “median latency”.")
        was = catalog.AGGREGATE_WORDS[spec.metrics[0].aggregate or "avg"].removesuffix(" of")
        if spec.shape == "points":
            self.reshape(aggregate=name, tradeoff=False, chart=None)
            was = "single trials"
        self.spec = replace(self.spec, metrics=tuple(replace(m, aggregate=name) for m in self.spec.metrics))
        self.notes.append(f"{word} as before" if word == was else f"{word} instead of {was}")

    def tell_metrics(self, old: Sequence[str], new: Sequence[str]) -> None:
        """Note which metrics have come and gone."""
        came, went = ([catalog.entry(m).label for m in a if m not in b] for a, b in ((new, old), (old, new)))
        if came and went:
            self.notes.append(f"{join(came)} instead of {join(went)}")
        elif came:
            self.notes.append(f"{join(came)} as well" if old else join(came))
        elif went:
            self.notes.append(f"without {join(went)}")

    def _set_metrics(self, names: Sequence[str]) -> None:
        spec = self.spec
        if spec.shape in ("count", "rows"):
            self.spec = replace(spec, source="results", distinct=None)
            self.reshape(metrics=list(names), sort=[])
            return
        # What is sorted by goes with its metric, or with what has become of it.
        lost = {m.column for m in spec.metrics} - set(names)
        lost |= set(spec.drawn) if spec.shape in ("change", "relative") else set()
        order = tuple(o for o in spec.order if o.column not in lost)
        if spec.shape == "points" and len(names) == 1 and not self.is_course and len(spec.metrics) > 1:
            chart = None if spec.chart.type == "scatter" else spec.chart.type
            self.reshape(metrics=list(names), tradeoff=False, chart=chart, sort=list(order))
            return
        raw = spec.shape in ("points", "change")
        aggregate = None if raw else spec.metrics[0].aggregate if spec.metrics else "avg"
        if spec.shape in RANKED and names[0] != spec.metrics[0].column:
            order = (replace(spec.order[0], column=names[0], descending=self._same_end(names[0])),)
        leads = names[0] == "speedup"
        self.spec = replace(
            spec,
            metrics=tuple(Metric(n, aggregate) for n in names),
            order=order,
            verdicts=spec.verdicts and leads,
            claim=spec.claim if leads or spec.shape in ("change", "relative") else None,
            explain=False,
        )

    def _same_end(self, metric: str) -> bool:
        """Whether a ranking by another metric begins with the highest: the best stay the best, the worst the worst."""
        old, new = catalog.entry(self.leading).better, catalog.entry(metric).better
        descending = self.spec.order[0].descending
        return descending if old == new or not old or not new else not descending

    # -- dimensions ------------------------------------------------------------------------------------------------

    def group(self, mode: Mode, columns: Sequence[str], instead_of: Sequence[str] = ()) -> None:
        """Group by other columns, or by these as well."""
        spec = self.spec
        if spec.shape == "rows":
            self.spec = replace(spec, shape="count", dimensions=(), order=(), limit=None)
            self.notes.append("counted")
        fixed = self._fixed()
        old = [d for d in self._asked_dimensions() if d not in fixed]
        if gone := [d for d in instead_of if d in old]:
            new = [c for d in old for c in ([*columns] if d == gone[0] else [d] if d not in gone else [])]
        elif mode in ("and", "add", "by"):
            new = [*old, *columns]
        else:
            new = [*columns]
        new = list(dict.fromkeys(new))
        self._set_dimensions(new)
        came = [catalog.entry(c).label for c in new if c not in (*old, *fixed)]
        went = [catalog.entry(c).label for c in old if c not in (*new, *fixed, "method")]  # methods always stay apart
        if came or went:
            self.notes.append(
                f"by {join(came or [catalog.entry(c).label for c in new])}"
                + (f" instead of {join(went)}" if went else "")
            )
        elif not instead_of:
            self.notes.append(f"by {join(catalog.entry(c).label for c in columns)} as before")
        distinct = None if spec.distinct in columns else spec.distinct
        averaged = tuple(a for a in spec.averaged if a not in columns)
        self.spec = replace(self.spec, averaged=averaged, distinct=distinct)
        for column in columns:
            if any(f.column == column and f.operator == "=" for f in self.spec.filters):
                self.lift(column)

    def merge(self, columns: Sequence[str]) -> None:
        """No longer group by columns; where trials become one number, these are averaged over."""
        together = self.spec.shape in ("groups", "relative", *_WITHIN_WORK) and self.spec.source != "curves"
        for column in columns:
            entry = catalog.entry(column)
            if column in self._fixed() and column != "method":
                raise Refusal(f"{entry.label} is what the course runs along: it cannot be left out.")
            if entry.role == "metric":
                raise Refusal(f"{entry.label} is measured, not grouped by.")
            self._set_dimensions([d for d in self._asked_dimensions() if d != column and d not in self._fixed()])
            if together:
                self.spec = replace(self.spec, averaged=tuple(dict.fromkeys((*self.spec.averaged, column))))
            self.notes.append(f"not by {entry.label}")

    def leave_out(self, column: str, mode: Mode) -> None:
        """ "without memory", "drop the dim": whatever the question has of a column. Raises Refusal for nothing."""
        spec = self.spec
        label = catalog.entry(column).label
        if column in [m.column for m in spec.metrics]:
            self.hide([column])
        elif column in spec.dimensions:
            self.merge([column])
        elif self.lift(column):
            pass
        elif not spec.metrics and spec.shape == "groups" and column in (overview := self._overview()):
            self._set_metrics([m for m in overview if m != column])
            self.notes.append(f"without {label}")
        elif column == "compression" and mode == "without":
            self.filter("only", [Filter("compression", "=", (1.0,))])
        else:
            raise Refusal(f"The question has no {label} to leave out: name a value of it, as in “without dense”.")

    def _overview(self) -> list[str]:
        """What is shown of a question that names no metric."""
        measured = {m for b in self.profile.benchmarks for m in self.profile.metrics(b)}
        return [m for m in catalog.words()["overview"] if m in measured]

    def _asked_dimensions(self) -> tuple[str, ...]:
        """What is grouped by: of what begins anew in partitions, those."""
        return self.spec.partitions if self.spec.shape in _WITHIN_WORK else self.spec.dimensions

    def _fixed(self) -> tuple[str, ...]:
        """Dimensions that the shape cannot do without."""
        spec = self.spec
        if spec.source == "curves":
            return tuple(d for d in ("step", "metric") if d in spec.dimensions)
        if spec.against:
            return (spec.against.column,)
        return {"change": ("method",)}.get(spec.shape, ("started_at",) if self.is_course else ())

    def _set_dimensions(self, asked: Sequence[str]) -> None:
        spec = self.spec
        if spec.shape not in _WITHIN_WORK:
            self.spec = replace(spec, dimensions=tuple(dict.fromkeys((*self._fixed(), *asked))))
            return
        entities = [d for d in spec.dimensions if d not in spec.partitions]
        partitions = tuple(d for d in asked if d != "method")
        if "method" in asked or (partitions and not entities):
            entities = ["method", *entities]
        dimensions = tuple(dict.fromkeys((*partitions, *entities)))
        self.spec = replace(spec, partitions=partitions, dimensions=dimensions)

    # -- the end ---------------------------------------------------------------------------------------------------

    def done(self) -> QuerySpec:
        """The changed question with its notes. Raises Refusal for columns that its source does not have."""
        spec = self.spec
        known = KNOWN_COLUMNS[spec.source]
        unknown = [c for c in (*spec.dimensions, *(f.column for f in spec.filters)) if c not in known]
        if unknown:
            what = {"curves": "Training curves", "failures": "Failed trials"}.get(spec.source, "The results")
            label = catalog.entry(unknown[0]).label
            raise Refusal(f"{what} are not told apart by {label}: leave it out, or ask with SQL.")
        return replace(spec, notes=tuple(dict.fromkeys(n for n in self.notes if n)) or ("as before",))

"""Follow-up questions: "and for 0.05?", "only hashed", "by dim instead", "as bars" change the question before.

What counts as a follow-up, in this order:

1. Surely: it opens with "what about", "same for", "split by" and the like, holds "instead" or "rather than", ends with
   "too", speaks of "these" and "them", or drops outliers.
2. Perhaps: it opens with "and", "also", "only", "without", "drop" and the like. It is one unless it stands alone and
   opens as a question does behind that word ("and which method has the best AUC?").
3. Otherwise it is one when it does not stand alone: its words are known, and yet it does not say both what to show and
   what about it ("by dim", "top 3", "memory?", "since monday").

The bare QuerySpec of the question before is changed, and `complete` fills in anew what that leaves open. Each change is
told in a note.
"""

import re
from dataclasses import replace
from datetime import UTC, datetime

from mirror.language.followup import edits as followup_edits
from mirror.language.followup import outliers
from mirror.language.followup import words as followup_words
from mirror.language.followup.draft import Draft
from mirror.language.followup.edits import ReadPart
from mirror.language.followup.words import ParsedFollowUp
from mirror.language.grammar.grammar import slots_of
from mirror.language.grammar.slots import Slots
from mirror.language.phrases import time_cues
from mirror.query.complete import complete
from mirror.query.errors import Ambiguity, Refusal
from mirror.query.spec import QuerySpec
from mirror.schema import catalog
from mirror.schema.profile import Profile
from mirror.table.numbers import describe
from mirror.table.table import Table

_NUMBER = re.compile(r"(?<![\w.,/])(?=[\d.]*\d)[\d.,/]+(?![\w%])")


def read(
    question: str, before: QuerySpec, profile: Profile, now: datetime | None = None, table: Table | None = None
) -> QuerySpec | None:
    """The bare QuerySpec of a follow-up; None for a question of its own.

    Args:
        question: in plain words.
        before: what the previous question said, before it was completed.
        profile: what the results hold.
        now: the present that "yesterday" is told from, naive UTC; by default the clock's.
        table: the previous result, to find its outliers in.

    Raises:
        Refusal: a word is not known, or the change makes no sense for the question before.
        Ambiguity: several changes are equally likely; the choices are follow-ups too.
    """
    reader = _Reader(before, profile, now or datetime.now(UTC).replace(tzinfo=None))
    parsed = followup_words.parse(question)
    if followup_words.is_statement(question) or not reader.is_follow_up(parsed):
        return None
    draft = Draft(before, profile, list(parsed.notes))
    for column in (c for words in parsed.freed for c in reader.columns(words)):
        if not draft.lift(column):
            raise Refusal(f"The question has no filter on {catalog.entry(column).label}.")
    for words in parsed.merged:
        draft.merge(reader.columns(words))
    if "outliers" in parsed.wishes:
        filters, notes = outliers.without(before, table)
        notes = [*draft.notes, *notes]
        draft.filter("only", filters)
        draft.notes = notes
    parts = [ReadPart(p.mode, reader.slots(p.text), reader.slots(p.instead_of)) for p in parsed.parts]
    followup_edits.apply(draft, parts, parsed.direction, parsed.wishes, parsed.within)
    return _at_its_work(draft.done(), before, profile)


class _Reader:
    """Reads the pieces of a follow-up with the grammar; the question before tells what is unclear in them alone."""

    def __init__(self, before: QuerySpec, profile: Profile, now: datetime) -> None:
        self.before = before
        self.profile = profile
        self.now = now

    def is_follow_up(self, parsed: ParsedFollowUp) -> bool:
        if parsed.says_nothing:
            return False
        if parsed.leans == "surely":
            return True
        if parsed.leans == "perhaps":
            asks = followup_words.opens_a_question(parsed.rest)
            return not (asks and (self._stands_alone(parsed.text) or self._stands_alone(parsed.rest)))
        if self._stands_alone(parsed.text) or self._stands_alone(parsed.rest):
            return False
        return not followup_words.says_something(parsed.rest) or self._is_known(parsed.rest)

    def slots(self, text: str) -> Slots:
        """What a piece says. A number that has no column, or could be of several, is of one that was filtered by."""
        times, rest = time_cues.find(text, self.now)
        slots = Slots()
        if self.before.limit and re.fullmatch(r"\d{1,3}", rest.strip()):
            slots = Slots(superlative="top", limit=int(rest))  # "10 instead" after "top 5"
        elif followup_words.says_something(rest):
            try:
                slots = slots_of(rest, self.profile, self.now)
            except (Refusal, Ambiguity) as unclear:
                slots = self._with_column(rest, unclear)
        slots.times = times
        return slots

    def columns(self, text: str) -> list[str]:
        """The columns that a piece names, by themselves or by a value. Raises Refusal for none."""
        if text in ("time", "date", "period"):
            return ["started_at"]
        slots = self.slots(text)
        found = [*slots.grouped, *slots.named, *slots.averaged, *slots.metrics, *(f.column for f in slots.filters)]
        if not found:
            raise Refusal(f"“{text}” names no column: say which one, such as “drop the batch size filter”.")
        return list(dict.fromkeys(found))

    def _with_column(self, text: str, unclear: Refusal | Ambiguity) -> Slots:
        """The reading of a text in which a number has no column of its own. Raises what was unclear where none fits."""
        for column in self._filtered_by_numbers():
            label = catalog.entry(column).label
            for match in _NUMBER.finditer(text):
                if not _suits(match[0], column):
                    continue
                try:
                    slots = slots_of(f"{text[: match.start()]} {label} {text[match.start() :]}", self.profile, self.now)
                except (Refusal, Ambiguity):
                    continue
                if any(f.column == column for f in slots.filters):
                    return slots
        raise unclear

    def _filtered_by_numbers(self) -> list[str]:
        """Numeric axes that the question before filters by, then those that it groups by."""
        spec = self.before
        named = [*(f.column for f in spec.filters), *spec.dimensions]
        axes = (c for c in dict.fromkeys(named) if c in catalog.entries())
        return [c for c in axes if catalog.entry(c).role == "axis" and catalog.entry(c).numeric]

    def _is_known(self, text: str) -> bool:
        """Whether the grammar knows every word, numbers aside."""
        try:
            self.slots(text)
        except Ambiguity:
            return True
        except Refusal:
            return followup_words.only_numbers(text)
        return True

    def _stands_alone(self, text: str) -> bool:
        """Whether the text is a question of its own: it names what to show, and says something about it."""
        try:
            return _is_whole(self.slots(text))
        except (Refusal, Ambiguity):
            return False


def _at_its_work(spec: QuerySpec, before: QuerySpec, profile: Profile) -> QuerySpec:
    """The question about the work that the one before was about, where what has changed leaves that open: in its
    benchmark where several could answer, and with the usual values that were assumed for it."""
    try:
        whole = complete(before, profile, "")
    except (Refusal, Ambiguity):
        return spec
    assumed = [f for f in whole.filters if f not in before.filters and f.operator == "="]
    try:
        now = complete(spec, profile, "")
    except Refusal:
        return spec
    except Ambiguity:
        same = [f for f in assumed if f.column == "benchmark"]
    else:
        known = {f.column for f in now.filters}
        same = [f for f in assumed if f.column in catalog.words()["defaults"] and f.column not in known]
        same = [f for f in same if f.column in now.dimensions and f.column not in spec.dimensions]
    staying = replace(spec, filters=(*same, *spec.filters))
    try:
        complete(staying, profile, "")
    except (Refusal, Ambiguity):
        return spec
    return replace(
        staying, notes=(*spec.notes, *(f"{describe(catalog.entry(f.column), f.values[0])} as before" for f in same))
    )


def _suits(number: str, column: str) -> bool:
    """Whether a number may be a value of the column; a compression above 1 would be a factor."""
    try:
        value = float(number.rstrip(".,").split(",")[0].split("/")[0])
    except ValueError:
        return False
    if column == "compression":
        return value <= 1
    return catalog.entry(column).type != "integer" or value.is_integer()


def _is_whole(slots: Slots) -> bool:
    """Whether what to show is named, and something about it as well: a metric alone is a piece of a question."""
    columns = [*slots.grouped, *slots.named]
    of_work = any(f.column == "benchmark" for f in slots.filters)
    two = len(slots.methods()) >= 2
    metrics = slots.metrics if columns else [m for m in slots.metrics if m not in [o.column for o in slots.sort]]
    if columns or of_work:
        metrics = [*metrics, *slots.filtered_metrics]
    verdicts = "verdict" in (*columns, *(f.column for f in slots.filters))
    own = slots.superlative in ("fastest", "slowest", "smallest", "largest")
    shown = (
        slots.failures or slots.newest or slots.curves or slots.exist or slots.facts or (slots.front and metrics)
        or (of_work and columns)
        or (slots.superlative and own and (columns or of_work))
        or (slots.count and (slots.trials or slots.counted or verdicts or of_work))
        or ((slots.trials or slots.within is not None) and slots.filters)
        or (slots.compare and (two or columns))
        or (slots.explain and (two or slots.comparative))
        or (slots.comparative and (slots.than or slots.against or two or (slots.times.start and slots.filters)))
        or (slots.changed and slots.times.start and slots.filters)
        or (verdicts and (slots.filters or len(columns) > 1))
    )  # fmt: skip
    about = (
        columns or slots.filters or slots.than or slots.against or slots.compare or slots.changed or slots.times.asked
        or slots.over_training or slots.relative or slots.contrasts - {"ratio"} or slots.averaged
        or slots.within is not None or ((slots.tradeoff or slots.superlative) and len(metrics) > 1)
    )  # fmt: skip
    return bool(
        (metrics and about)
        or (shown and (about or slots.failures or slots.trials or slots.exist or slots.facts or slots.count))
    )

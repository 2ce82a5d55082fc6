"""What a request to measure names: methods, a benchmark, and values of axes, each number with the axis it is of."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache

from mirror.language.neural.results_numbers import INVERSE, RAW, REST, SHARE, NumberSaid, numbers_of, plain
from mirror.language.neural.results_phrases import RESULTS, Phrases, phrases_of
from mirror.language.reading.lexemes import Token, cut
from mirror.language.reading.linking import Link
from mirror.language.reading.times import times_in
from mirror.query.errors import Ambiguity, Refusal
from mirror.runs.run_plan import Scalar
from mirror.schema import catalog
from mirror.schema.profile import Profile
from mirror.table.wording import join
from mirror.words import phrasebook

_SURE = 0.2  # what naming a thing may cost; beside the name of its column a value may cost more
_NO_NAMES = (
    "A run takes names and values, and no times, rankings or counts: ask for it as in “run hashed at dim 64 and batch "
    "size 512”."
)
_COMPRESSION = "compression"


@dataclass
class Named:
    """What the words of a request name.

    Attributes:
        methods, excluded: as they were named.
        benchmarks: likewise.
        values: axis -> its values.
        bare: axes, or `method`, that are named without a value.
        metrics: what is to be measured, where that is said.
        alone: fractions that stand without a name or a unit.
        notes: what was assumed.
        unknown: words that name nothing that can be run.
    """

    methods: list[str] = field(default_factory=list)
    excluded: list[str] = field(default_factory=list)
    benchmarks: list[str] = field(default_factory=list)
    values: dict[str, list[Scalar]] = field(default_factory=dict)
    bare: list[str] = field(default_factory=list)
    metrics: list[str] = field(default_factory=list)
    alone: list[Scalar] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Piece:
    """A phrase that says something: the name of a column, a value or a benchmark, a number, or a word of a request.

    Attributes:
        kind: column, value, benchmark, number, unknown, or a section of `words/runs.yaml`.
        start, end: its tokens.
        link: what it names.
        meant: of a number each way it may be meant.
    """

    kind: str
    start: int
    end: int
    text: str
    link: Link | None = None
    meant: tuple[NumberSaid, ...] = ()


def named(text: str, runnable: Profile) -> Named:
    """What a request names; words that name nothing are its `unknown`.

    Args:
        text: the request without its verb.
        runnable: what can be run, and the values that axes had before.

    Raises:
        Refusal: it asks for times, rankings or limits, or for a number that no axis has.
        Ambiguity: a number may be of several axes.
    """
    return _Names(text, runnable).all()


class _Names:
    def __init__(self, text: str, runnable: Profile) -> None:
        self._text = text
        self._runnable = runnable
        self._found = Named()
        self._tokens = cut(plain(text))
        times = times_in(self._tokens, datetime.now(UTC).replace(tzinfo=None))
        words = {token.kind for t in times for token in self._tokens[t.start : t.end]} - {"number"}  # 2048 is no year
        if words:
            raise Refusal(_NO_NAMES)
        self._pieces = _pieces(self._tokens, phrases_of(runnable), self._found)

    def all(self) -> Named:
        """Everything that is named, from left to right."""
        self._found.unknown += [p.text for p in self._pieces if p.kind == "unknown"]
        if self._found.unknown:
            return self._found
        used: set[int] = set()  # pieces that a number has taken
        without = False
        for at, piece in enumerate(self._pieces):
            if piece.kind == "no name":
                raise Refusal(_NO_NAMES)
            if piece.kind == "number":
                self._number(at, used)
            elif piece.kind == "benchmark" and piece.link:
                self._found.benchmarks.append(piece.link.table)
            elif piece.kind == "value" and piece.link:
                beside = at > 0 and self._pieces[at - 1].kind in ("without", "and")
                self._value(piece, without and (piece.link.column == "method" or beside))  # "except cce on frappe"
            without = piece.kind == "without" or (without and piece.kind in ("value", "and"))
        for at, piece in enumerate(self._pieces):
            if piece.kind == "column" and at not in used and piece.link and piece.link.column:
                self._column(at, piece.link.column)
        return self._found

    def _value(self, piece: _Piece, without: bool) -> None:
        assert piece.link
        assert piece.link.column
        values = piece.link.value if isinstance(piece.link.value, tuple) else (piece.link.value,)
        if piece.link.column == "method":
            (self._found.excluded if without else self._found.methods).extend(map(str, values))
        elif without:
            raise Refusal(f"Only methods can be left out of a run: name the {_label(piece.link.column)} that it is of.")
        else:
            self._found.values.setdefault(piece.link.column, []).extend(values)

    def _column(self, at: int, column: str) -> None:
        beside = [p.link.column for p in (self._at(at - 1), self._at(at + 1)) if p and p.kind == "value" and p.link]
        if catalog.entry(column).role == "metric":
            self._found.metrics.append(column)
        elif column not in beside and column not in self._found.values:
            self._found.bare.append(column)

    def _at(self, place: int) -> _Piece | None:
        return self._pieces[place] if 0 <= place < len(self._pieces) else None

    def _kind_at(self, place: int) -> str:
        piece = self._at(place)
        return piece.kind if piece else ""

    # -- numbers ---------------------------------------------------------------------------------------------------

    def _number(self, at: int, used: set[int]) -> None:
        piece = self._pieces[at]
        place = self._place(at)
        if place is None or not self._fits(place, piece):
            axis, value = self._by_value(piece)
        else:
            axis, value = self._in(place, piece)
            used.add(place)
        self._found.values.setdefault(axis, []).append(value)

    def _place(self, at: int) -> int | None:
        """The axis that a number is of: the one before it or before its list, or the one right after. Raises Refusal
        for a limit."""
        first = at
        while self._kind_at(first - 1) in ("number", "and", "limit"):
            first -= 1
        before, after = first - 1, at + 1
        before_is = _is_axis(self._at(before))
        after_is = _is_axis(self._at(after)) and not self._has_its_own_number(after)
        taken = self._kind_at(before - 1) == "number"  # by the number before it: "26 tables 4 threads"
        place = after if after_is and (not before_is or taken or first < at) else before if before_is else None
        if place is None:
            while self._kind_at(after) in ("number", "and"):  # "8 and 26 tables"
                after += 1
            place = after if _is_axis(self._at(after)) else None
        if "limit" in (self._kind_at(i) for i in range(first, at + 2)):
            of = self._at(place) if place is not None else None
            label = _label(of.link.column) if of and of.link and of.link.column else "an axis"
            raise Refusal(f"A run takes values of {label} and no limits: name them, such as “batch size 64, 512”.")
        return place

    def _fits(self, place: int, number: _Piece) -> bool:
        """Whether an axis may have a number: a share is of no other than the compression, and a fraction is not that of
        whole numbers that stand behind it."""
        of = self._pieces[place]
        if of.kind == "pruned" or (of.link and of.link.column == _COMPRESSION):
            return True
        first = number.meant[0]  # the share of a list may be that of the next number
        is_part = isinstance(first.value, float) and of.start > number.start
        whole = of.link is not None and catalog.entry(str(of.link.column)).type == "integer"
        return first.how != SHARE and not (is_part and whole)

    def _has_its_own_number(self, place: int) -> bool:
        """Whether an axis is followed by a number that is of no axis behind it."""
        return self._kind_at(place + 1) == "number" and not _is_axis(self._at(place + 2))

    def _in(self, place: int, number: _Piece) -> tuple[str, Scalar]:
        of = self._pieces[place]
        by_how = {n.how: n.value for n in number.meant}
        if of.kind == "pruned":
            kept = by_how.get(REST, 1 - float(str(by_how.get(RAW, 0))))
            return _COMPRESSION, float(f"{kept:.10g}")
        assert of.link
        column = str(of.link.column)
        if column == _COMPRESSION:
            return column, _number_of(by_how.get(SHARE, by_how.get(INVERSE, by_how.get(RAW))))
        return column, _number_of(by_how.get(RAW, number.meant[0].value))

    def _by_value(self, number: _Piece) -> tuple[str, Scalar]:
        """The axis that a number without a name is of, which the values of before tell."""
        by_how = {n.how: n.value for n in number.meant}
        share = by_how.get(SHARE, by_how.get(INVERSE))
        value = _number_of(share if share is not None else number.meant[0].value)
        if share is not None or 0 < float(value) < 1:
            self._found.alone += [value] if share is None else []
            self._found.notes.append(f"took {number.text} as compression")
            return _COMPRESSION, value
        axes = [e.name for e in catalog.entries().values() if e.role == "axis" and e.numeric and e.name != "seed"]
        holding = [axis for axis in axes if value in self._runnable.values(axis)]
        if len(holding) == 1:
            self._found.notes.append(f"took {number.text} as {_label(holding[0])}")
            return holding[0], value
        if holding:
            labels = [_label(axis) for axis in holding]
            choices = (self._text.replace(number.text, f"{label} {number.text}", 1) for label in labels[:3])
            raise Ambiguity(
                f"“{number.text}” could be {join(labels, word='or')}: which one?", tuple(f"run {c}" for c in choices)
            )
        raise Refusal(
            f"It is not clear what “{number.text}” counts: say it with its column, such as “batch size {number.text}”."
        )


def _pieces(tokens: Sequence[Token], phrases: Phrases, found: Named) -> list[_Piece]:
    """The tokens as the longest phrases that say something; those that say nothing are left out."""
    numbers: dict[int, list[NumberSaid]] = {}
    for number in numbers_of(tokens):
        numbers.setdefault(number.start, []).append(number)
    pieces: list[_Piece] = []
    at = 0
    while at < len(tokens):
        if at in numbers:
            end = max(n.end for n in numbers[at])
            meant = tuple(n for n in numbers[at] if n.end == end)
            pieces.append(_Piece("number", at, end, " ".join(t.text for t in tokens[at:end]), meant=meant))
        else:
            pieces.append(_phrase(tokens, at, phrases, pieces[-1] if pieces else None, found))
        at = pieces[-1].end
    return [p for p in pieces if p.kind != "silent"]


def _phrase(tokens: Sequence[Token], at: int, phrases: Phrases, before: _Piece | None, found: Named) -> _Piece:
    for length in range(min(phrases.longest, len(tokens) - at), 0, -1):
        text = " ".join(t.text for t in tokens[at : at + length])
        links = phrases.at(tuple(t.stem for t in tokens[at : at + length]))
        said = _words().get(text)
        if said and said != "silent":
            return _Piece(said, at, at + length, text)
        column = before.link.column if before and before.kind == "column" and before.link else None
        for link in sorted(links, key=lambda k: (k.column != column or k.kind != "val", k.cost)):
            beside = link.kind == "val" and (link.column == column or isinstance(link.value, tuple))
            if (beside or link.cost <= _SURE) and (kind := _kind(link)):
                return _Piece(kind, at, at + length, text, link)
        if said:
            return _Piece(said, at, at + length, text)
    token = tokens[at]
    if token.kind in ("comma", "sign") and token.text not in "<>":
        return _Piece("and" if token.kind == "comma" else "silent", at, at + 1, token.text)
    for link in phrases.corrected(token):
        if kind := _kind(link):
            found.notes.append(f"read “{token.text}” as “{link.value or link.column or link.table}”")
            return _Piece(kind, at, at + 1, token.text, link)
    return _Piece("unknown", at, at + 1, token.text)


def _kind(link: Link) -> str:
    if link.kind == "rel":
        return "benchmark"
    if link.table != RESULTS or link.column in (None, "benchmark"):
        return ""
    if link.kind == "val":
        return "value" if catalog.entry(link.column).role in ("axis", "key", "info") else ""
    return "column"


@cache
def _words() -> dict[str, str]:
    """Words of a request -> what they do there."""
    told = {word: kind for kind, among in phrasebook.phrases("runs", "beside names").items() for word in among}
    silent = dict.fromkeys(phrasebook.words("fillers", phrasebook.EVERYWHERE, "results"), "silent")
    return silent | told


def _is_axis(piece: _Piece | None) -> bool:
    if piece is None:
        return False
    if piece.kind == "pruned":
        return True
    entry = catalog.entry(piece.link.column) if piece.kind == "column" and piece.link and piece.link.column else None
    return entry is not None and entry.role == "axis" and entry.numeric


def _number_of(value: object) -> Scalar:
    assert isinstance(value, int | float)
    return value


def _label(column: str) -> str:
    return catalog.entry(column).label

"""Numbers of a question: which column each is of, and how many rows become one."""

from mirror.language.other_data.conditions import dotted
from mirror.language.other_data.mentions import DOWNWARD, MeasureMention, Slots
from mirror.language.other_data.picking import Picker
from mirror.language.other_data.vocabulary import Item
from mirror.query.errors import Refusal
from mirror.query.other_data import paths
from mirror.query.other_data.form import AGGREGATE_WORDS, Aggregate, ColumnRef, Measure
from mirror.schema.database import Column, Relation
from mirror.schema.names import column_words, is_key, is_measure, is_year, many, usual_aggregate


class Measures:
    """The slots of a question, and what becomes of the numbers in them. Raises Refusal or Ambiguity."""

    def __init__(self, slots: Slots, picker: Picker) -> None:
        self._slots = slots
        self._pick = picker
        self._notes = list(slots.notes)
        self._database = picker.database
        self._tables = [i for i in slots.named if i.tables]
        self._columns = [i for i in slots.named if not i.tables]
        self._count_groups = False

    @property
    def _ranked(self) -> bool:
        return bool(self._slots.superlative) or self._slots.sorted

    # -- measures --------------------------------------------------------------------------------------------------

    def _measure(self, mention: MeasureMention, grouped: bool) -> Measure:
        pick, item = self._pick, mention.item
        if item.tables and mention.aggregate == "count":
            return Measure("count", pick.table(item))
        if mention.times is not None:
            return self._product(mention)
        aggregate = mention.aggregate
        if aggregate == "distinct":
            place = pick.place(item, lambda *_: True, "")
            relation, column = pick.relation(place.table), pick.column(place)
            if relation.key == (column.name,):
                return Measure("count", place.table)
            return Measure("distinct", place.table, (place,))
        place = self._number(item, aggregate)
        column = pick.column(place)
        if aggregate is None:
            aggregate = self._usual_aggregate(item, place, column, grouped)
        if aggregate == "sum" and usual_aggregate(column) == "avg":
            self._notes.append(f"{dotted(place)} is added up as it is, not times a quantity")
        return Measure(aggregate, place.table, (place,))

    def _usual_aggregate(self, item: Item, place: ColumnRef, column: Column, grouped: bool) -> Aggregate:
        slots = self._slots
        alone = not any(by.item and by.item in slots.named for by in slots.groups)
        if slots.superlative in ("highest", "largest", "lowest", "smallest") and alone and slots.limit is None:
            slots.superlative, largest = "", slots.superlative in DOWNWARD
            slots.leading = None
            return "max" if largest else "min"
        usual = usual_aggregate(column)
        if usual == "sum":
            self._notes.append(f"{column_words(place.column)} is the total")
            return "sum"
        if usual == "avg":
            self._notes.append(f"{column_words(place.column)} is the average")
            return "avg"
        words = ("lowest", "highest") if is_year(column) else ("total", "average")
        raise self._pick.back(item, [f"{word} {item.text}" for word in words], "column")

    def _number(self, item: Item, aggregate: str | None = None) -> ColumnRef:
        """The column of numbers that an item names; what is a key, a year or a text is refused by its reason."""
        database = self._database

        def fits(relation: Relation, column: Column) -> bool:
            if aggregate in ("min", "max") or (aggregate is None and self._ranked):
                return column.numeric or column.temporal
            if not column.numeric or is_key(database, relation, column):
                return False
            return not (aggregate == "sum" and is_year(column))

        return self._pick.place(item, fits, self._why_no_number(item, aggregate))

    def _why_no_number(self, item: Item, aggregate: str | None) -> str:
        place = item.places[0] if item.places else None
        if place is None:
            return f"“{item.text}” is no column of numbers: name one."
        relation, column = self._pick.relation(place.table), self._pick.column(place)
        if is_key(self._database, relation, column):
            return (
                f"{dotted(place)} only tells rows apart, so it is counted and never added up: ask for the number of "
                f"{many(place.table)}."
            )
        if is_year(column):
            return f"{dotted(place)} holds years, which are never added up: ask for the lowest or highest."
        notes = [note for note in self._database.notes if note.startswith(f"{dotted(place)} ")]
        return " ".join(
            [f"{dotted(place)} holds {column.type} and no numbers, so it has no {_word(aggregate)}.", *notes]
        )

    def _product(self, mention: MeasureMention) -> Measure:
        """Two columns, multiplied row by row: of one table, or of one and another that its rows name."""
        assert mention.times is not None
        first, second = mention.item, mention.times
        pairs = [(p, q) for p in first.places for q in second.places if p.table == q.table and p != q]
        numbers = [(p, q) for p, q in pairs if all(is_measure(self._database, *self._of(x)) for x in (p, q))]
        if len(numbers) == 1:
            p, q = numbers[0]
        else:
            p, q = self._number(first, "sum"), self._number(second, "sum")
        if paths.reaches_up(self._database, p.table, q.table):
            base = p.table
        elif paths.reaches_up(self._database, q.table, p.table):
            base = q.table
        else:
            raise Refusal(f"{dotted(p)} and {dotted(q)} do not stand in one row, so they cannot be multiplied.")
        return Measure(mention.aggregate or "sum", base, (p, q))

    def _of(self, place: ColumnRef) -> tuple[Relation, Column]:
        return self._pick.relation(place.table), self._pick.column(place)


def _word(aggregate: str | None) -> str:
    return AGGREGATE_WORDS.get(aggregate, "total").removesuffix(" of")  # type: ignore[call-overload, no-any-return]

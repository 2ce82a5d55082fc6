"""Texts that are dates or times, in one form or in several."""

import re

from mirror.data.loading.interpretation import Doubt, Reading, typed
from mirror.data.loading.text_values import TextValues
from mirror.data.sql_text import literal

_CLOCK = r"(?:,? (?:at )?\d{1,2}:\d{2}(?::\d{2})?(?: ?[ap]m)?)?"
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|"
    r"nov(?:ember)?|dec(?:ember)?)"
)
_ISO = r"\d{4}[-/]\d{1,2}[-/]\d{1,2}(?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?Z?)?"
# What such dates look like, and the orders in which they may be meant; the first is what people mean by both.
_FORMS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (_ISO, ()),
    (rf"\d{{1,2}}\.\d{{1,2}}\.\d{{4}}{_CLOCK}", ("%d.%m.%Y",)),
    (rf"\d{{1,2}}\.\d{{1,2}}\.\d{{2}}{_CLOCK}", ("%d.%m.%y",)),
    (rf"\d{{1,2}}/\d{{1,2}}/\d{{4}}{_CLOCK}", ("%d/%m/%Y", "%m/%d/%Y")),
    (rf"\d{{1,2}}/\d{{1,2}}/\d{{2}}{_CLOCK}", ("%d/%m/%y", "%m/%d/%y")),
    (rf"\d{{1,2}}-\d{{1,2}}-\d{{4}}{_CLOCK}", ("%d-%m-%Y", "%m-%d-%Y")),
    (rf"{_MONTH}\.? \d{{1,2}},? \d{{4}}{_CLOCK}", ("%b %d %Y",)),
    (rf"\d{{1,2}}\.? {_MONTH}\.?,? \d{{4}}{_CLOCK}", ("%d %b %Y",)),
    (rf"\d{{1,2}}-{_MONTH}-\d{{4}}{_CLOCK}", ("%d-%b-%Y",)),
    (rf"\d{{1,2}}-{_MONTH}-\d{{2}}{_CLOCK}", ("%d-%b-%y",)),
)
_PATTERNS = tuple((re.compile(pattern, re.IGNORECASE), orders) for pattern, orders in _FORMS)
PATTERN = re.compile("|".join(f"(?:{pattern})" for pattern, _ in _FORMS), re.IGNORECASE)


class _Group:
    """The values of one form, and what they may mean; of ISO's form, the one order is an empty text."""

    def __init__(self, values: TextValues, orders: tuple[str, ...], shapes: list[str], alone: bool) -> None:
        self.shapes = shapes
        self.where = "true" if alone else values.of_shapes(shapes)
        self.named = "%b" in (orders or " ")[0]
        self.orders = orders
        self.text = values.text
        if orders:
            self.text = _plain_date(values.text, self.named, any(", " in s or " at " in s for s in shapes))

    def fitting(self, values: TextValues) -> list[str]:
        """The orders that all values of the form allow."""
        orders = self.orders or ("",)
        asked = ", ".join(f"count(*) FILTER ({self._read('x', order)} IS NULL)" for order in orders)
        wrong = values.ask(asked, self.where, of=self.text)
        return [order for order, count in zip(orders, wrong, strict=True) if not count]

    def value(self, order: str) -> str:
        """SQL of a row's value."""
        return self._read(self.text, order)

    def _read(self, text: str, order: str) -> str:
        if not order:
            return f"try_cast({text} AS TIMESTAMP)"
        times = sorted({_clock(shape) for shape in self.shapes})
        return f"try_strptime({text}, [{', '.join(literal(order + time) for time in times)}])"


def read(values: TextValues) -> Reading | Doubt | None:
    """How to read a column in which every text has the form of a date; None where they are none."""
    by_form: dict[tuple[str, ...], list[str]] = {}
    for shape in values.shapes:
        orders = next(orders for pattern, orders in _PATTERNS if pattern.fullmatch(shape))
        by_form.setdefault(orders, []).append(shape)
    groups = [_Group(values, orders, shapes, len(by_form) == 1) for orders, shapes in by_form.items()]
    fitting = [group.fitting(values) for group in groups]
    if not all(fitting):
        return None
    kind, type_ = ("times", "TIMESTAMP") if any(":" in shape for shape in values.shapes) else ("dates", "DATE")
    # What some of the values tell of day and month holds for the others.
    told = {fits[0][:2] for group, fits in zip(groups, fitting, strict=True) if len(fits) == 1 < len(group.orders)}
    taken = []
    for group, fits in zip(groups, fitting, strict=True):
        known = fits if len(fits) == 1 else [order for order in fits if {order[:2]} == told]
        if not known:
            (first,) = values.ask(f"min({values.text})", group.where)
            return Doubt(kind, f"since nothing tells whether “{first[:40]}” begins with the day or the month")
        taken.append((group, known[0]))
    if len(taken) == 1:
        value = taken[0][0].value(taken[0][1])
    else:
        value = f"CASE {' '.join(f'WHEN {group.where} THEN {group.value(order)}' for group, order in taken)} END"
    numbered = (order for group, order in taken if order and not group.named)
    said = dict.fromkeys("day first" if order.startswith("%d") else "month first" for order in numbered)
    how = ", ".join([*(["in several forms"] if len(taken) > 1 else []), *said])
    return Reading(kind, type_, typed(values, type_, value), how=how)


def _clock(shape: str) -> str:
    """The format of the time of day behind a date; empty where there is none."""
    if ":" not in shape:
        return ""
    seconds = ":%S" if shape.count(":") > 1 else ""
    half = re.search(r"( ?)[ap]m$", shape, re.IGNORECASE)
    return f" %I:%M{seconds}{half[1]}%p" if half else f" %H:%M{seconds}"


def _plain_date(text: str, named: bool, joined: bool) -> str:
    """SQL of a date without what formats do not know; “Jan. 5, 2025” and “January 5 2025” are “Jan 5 2025”."""
    if not named:
        return f"regexp_replace({text}, ',? (at )?', ' ')" if joined else text
    text = f"replace(regexp_replace({text}, '[.,]', '', 'g'), ' at ', ' ')"
    return f"regexp_replace({text}, '([A-Za-z]{{3}})[A-Za-z]*', '\\1')"

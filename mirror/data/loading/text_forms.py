"""What a column of texts really holds: numbers with money, percent or unit, dates, or yes and no; told by all values.

A form is held against the shapes of the texts of all rows, see `text_values`; the first rows alone only rule it out.
"""

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from mirror.data.loading.text_values import TextValues
from mirror.data.sql_text import literal
from mirror.schema.names import words_of

_FEW_ODD = 0.05  # share of rows that looks like a slip among others


@dataclass(frozen=True)
class Reading:
    """How the texts of a column become values.

    Attributes:
        kind: what they are, in the plural.
        type: the type in DuckDB.
        value: SQL of a row's value; NULL for none.
        comment: what a person would say of the column, such as its unit; may be empty.
        how: what had to be decided, in words; may be empty.
    """

    kind: str
    type: str
    value: str
    comment: str = ""
    how: str = ""


@dataclass(frozen=True)
class Doubt:
    """Why a column stays text: what it nearly is, and a clause that begins with "since"."""

    kind: str
    since: str


def read(values: TextValues, english: bool) -> Reading | Doubt | None:
    """How to read a column; None where it is plain text.

    Args:
        values: of the column.
        english: whether the file writes numbers as in 1,234.5 as far as it is known: settles 1,234 and 1.234.
    """
    sample, codes = values.sample()
    forms: list[tuple[re.Pattern[str], Callable[[TextValues], Reading | Doubt | None]]] = [
        (_FLAG, _flags),
        (_NUMBER, lambda held: _numbers(held, english)),
        *((pattern, _dated(orders)) for pattern, orders in _DATES),
    ]
    forms = [
        (pattern, reader)
        for pattern, reader in forms
        if sample and not (codes and pattern is _NUMBER) and _odd_share(pattern, sample.items()) <= _FEW_ODD
    ]
    if not forms:
        return None
    values.look()
    for pattern, reader in forms if values.shapes else ():
        odd = [shape for shape in values.shapes if not pattern.fullmatch(shape)]
        if not odd:
            if found := reader(values):
                return found
        elif _odd_share(pattern, values.shapes.items()) <= _FEW_ODD:
            place, text = values.first(values.of_shapes(odd))
            values.leave_out(odd)
            rest = reader(values)
            since = f"since row {place:,} below the header holds “{text[:40]}”"
            return Doubt(rest.kind, since) if isinstance(rest, Reading) else None
    return None


def _odd_share(pattern: re.Pattern[str], shapes: Iterable[tuple[str, int]]) -> float:
    counts = [(count, bool(pattern.fullmatch(shape))) for shape, count in shapes]
    return sum(count for count, fits in counts if not fits) / sum(count for count, _ in counts)


def _typed(values: TextValues, type_: str, value: str) -> str:
    """SQL of a column's value. It must not fail for rows that are left out: DuckDB rewrites them all the same."""
    return f"CASE WHEN {values.there} THEN CAST({value} AS {type_}) END"


# -- yes and no --------------------------------------------------------------------------------------------------------

_YES_NO = ((("yes", "y", "true", "t"), ("no", "n", "false", "f")), (("ja", "j", "wahr"), ("nein", "n", "falsch")))
_FLAG = re.compile("|".join(sorted({w for pair in _YES_NO for words in pair for w in words})), re.IGNORECASE)


def _flags(values: TextValues) -> Reading | None:
    """Of one language and with both answers: a column of nothing but "No" may be Norway."""
    found = {text.lower() for text in values.shapes}
    for yes, no in _YES_NO:
        if found <= {*yes, *no} and found & {*yes} and found & {*no}:
            words = ", ".join(map(literal, yes))
            return Reading("yes or no", "BOOLEAN", _typed(values, "BOOLEAN", f"lower({values.text}) IN ({words})"))
    return None


# -- numbers -----------------------------------------------------------------------------------------------------------

_CURRENCY = (
    r"US\$|C\$|A\$|R\$|[$€£¥₹₽₺₩]|SFr\.?|Fr\.|zł|Kč|kr\.?|(?:USD|EUR|GBP|CHF|JPY|CAD|AUD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|"
    r"RON|INR|CNY|RUB|BRL|ZAR|TRY|MXN|SGD|HKD|KRW|ILS|AED)"
)
_SAME = {"€": "EUR", "£": "GBP", "US$": "USD", "₹": "INR", "zł": "PLN", "Kč": "CZK", "¥": "JPY"}
_CORE = r"\d{1,3}(?:[.,'’ ]\d{3})+(?:[.,]\d+)?|\d+(?:[.,]\d+)?(?:[eE][-+]?\d+)?|[.,]\d+"
_NUMBER = re.compile(
    rf"(?P<open>\(?)(?P<sign>[-+]?) ?(?P<before>(?:{_CURRENCY})?) ?(?P<inner>[-+]?)(?P<core>{_CORE})(?P<space> ?)"
    r"(?P<after>(?:[^\d\s.,'’()+:;/-][^\s(),:;]{0,11})?)(?P<close>\)?)",
    re.IGNORECASE,
)
_MONEY = re.compile(_CURRENCY, re.IGNORECASE)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_UNITS = _words(
    """kg g mg µg t lb lbs oz km m cm mm µm mi ft in yd nm l ml cl dl hl gal m2 m² m3 m³ sqm qm sqft ft2 ft² km2 km² ha
    ac h hr hrs min mins s sec secs ms µs ns d day days kwh wh mwh gwh kw mw w kwp kv mv ma mah ah hz khz mhz ghz rpm °c
    °f ° kb mb gb tb kib mib gib px pt kcal cal kj bar mbar psi hpa kpa km/h kmh mph m/s kt kn ppm ppb pcs pc stk st dpi
    db mbps gbps ft-lb nm/s"""
)
# Letters behind a number that make it a time of day, a day or a rank.
_NO_UNITS = _words(
    """am pm a.m. p.m. uhr st nd rd th jan feb mar apr may jun jul aug sep sept oct nov dec january february march april
    june july august september october november december bc ad"""
)
_NAMING = _words(
    "phone tel telephone mobile fax zip zipcode plz postcode postal iban isbn ean gtin sku ssn id ids code"
)
# A digit group of three behind one separator alone may be thousands, or three decimals.
_POINT = re.compile(r"\.\d{1,2}$|\.\d{4,}$|^\.\d|[,'’ ].*\.|,\d{3},|\.\d+[eE]")
_COMMA = re.compile(r",\d{1,2}$|,\d{4,}$|^,\d|[.'’ ].*,|\.\d{3}\.|,\d+[eE]")
_MARKS = ".,'’ ()"
_MOST_DIGITS = 18  # of a whole number


def _numbers(values: TextValues, english: bool) -> Reading | Doubt | None:
    parts = {shape: match for shape in values.shapes if (match := _NUMBER.fullmatch(shape))}
    cores = [match["core"] for match in parts.values()]
    found = _one_unit(values, parts)
    if not isinstance(found, tuple):
        return found
    unit, shown, affixes = found
    opened = [match for match in parts.values() if match["open"]]
    plain = not unit and not any(re.search("[.,]", core) for core in cores)
    if any(
        bool(m["open"]) != bool(m["close"]) or bool(m["open"]) + len(m["sign"] + m["inner"]) > 1 for m in parts.values()
    ):
        return None
    if (not unit and len(opened) == len(parts)) or (plain and any(shape.startswith("+") for shape in parts)):
        return None
    separated = any(re.search("[., ]", core) for core in cores)
    if not unit and separated and (_NAMING & set(words_of(values.name)) or (plain and any(" " in c for c in cores))):
        return None  # 555 123 456 is a telephone number
    zeros = "0[0-9]", r"0[.]\d", "0,[0-9]"
    asked = (f"bool_or(regexp_matches({values.text}, {literal(f'^[^0-9.,]*{zero}')}))" for zero in zeros)
    code, zero_point, zero_comma = values.ask(", ".join(asked))
    if code:
        return None
    point = zero_point or any(map(_POINT.search, cores))
    comma = zero_comma or any(map(_COMMA.search, cores))
    if point and comma:
        return Doubt("numbers", "since some values have a decimal point and others a decimal comma")
    points, commas = (any(mark in core for core in cores) for mark in ".,")
    decimal_comma = comma if point or comma else _has_decimal_comma(unit, english, points, commas)
    if decimal_comma is None:
        _, text = values.first(f"regexp_matches({values.text}, '[.,]')")
        return Doubt("numbers", f"since “{text[:40]}” may be thousands or have three decimals")
    decimals = commas if decimal_comma else points
    whole = not (decimals or unit == "%" or _MONEY.fullmatch(unit) or any(re.search("[eE]", core) for core in cores))
    if whole and max(sum(map(str.isdigit, core)) for core in cores) > _MOST_DIGITS:
        return None
    type_ = "BIGINT" if whole else "DOUBLE"
    marks = set(_MARKS) if values.partial else {mark for shape in parts for mark in shape if mark in _MARKS}
    value = f"try_cast({_bare(values.text, affixes, marks, decimal_comma)} AS {type_})"
    if opened:
        value = f"{value} * if(starts_with({values.text}, '('), -1, 1)"
    said = {"": "", "%": "in percent"}.get(unit, f"in {shown}")
    how = ", ".join(filter(None, (said, "decimal comma" if decimal_comma and decimals else "")))
    return Reading("numbers", type_, _typed(values, type_, value), said, how)


def _one_unit(values: TextValues, parts: dict[str, re.Match[str]]) -> tuple[str, str, set[str]] | Doubt | None:
    """The unit of all numbers, how it is written, and all that stands around them; None where there are several."""
    spelled: dict[str | None, str] = {}
    affixes: set[str] = set()
    for shape, match in parts.items():
        before, after = match["before"], match["after"]
        if re.search(r"\d", after):  # m2, m3: as it is written, where it is the same in all
            low, high = values.ask(
                f"min(right({values.text}, 1)), max(right({values.text}, 1))", values.of_shapes([shape])
            )
            after = after.replace("9", low) if low == high and after.count("9") == 1 else ""
        affixes |= {before, after}
        unit = _unit(before, match["space"], after) if after or not match["after"] else None
        spelled[unit] = max(spelled.get(unit, ""), before + after, key=len)
    if len(spelled) > 1 and "" in spelled:  # a zero needs no unit
        bare = [shape for shape, match in parts.items() if not match["before"] + match["after"]]
        (digits,) = values.ask(f"max(translate({values.text}, '0.,+-', ''))", values.of_shapes(bare))
        if not digits:
            del spelled[""]
    if None in spelled:
        return None
    if len(spelled) > 1:
        amounts = [text for text in spelled.values() if _MONEY.fullmatch(text)]
        if len(amounts) == len(spelled):
            return Doubt("numbers", f"since it holds amounts in {' and '.join(sorted(amounts)[:3])}")
        return Doubt("numbers", "since only some of its amounts have a currency") if amounts and "" in spelled else None
    unit, shown = next(((u or "", text) for u, text in spelled.items()), ("", ""))
    return unit, unit if _MONEY.fullmatch(unit) else shown, affixes - {""}


def _unit(before: str, space: str, after: str) -> str | None:
    """The unit of a number, one text for all its spellings; empty for none, None where it is no unit."""
    if before:
        return _SAME.get(before, before.upper()) if not after else None
    if _MONEY.fullmatch(after):
        return _SAME.get(after, after.upper())
    lower, single = after.lower(), after.removesuffix("s")
    if not after or after == "%" or re.fullmatch(rf"(?:{_CURRENCY})/\S+", after):
        return after
    if lower in _NO_UNITS:
        return None
    if lower in _UNITS and (space or len(after) > 1 or after.islower()):
        return single if single.lower() in _UNITS else after
    return single if space and len(single) > 1 and after.isalpha() else None


def _has_decimal_comma(unit: str, english: bool, points: bool, commas: bool) -> bool | None:
    """Whether a comma stands before the decimals, where no value says it; None where nothing else does."""
    if unit == "%":  # nobody writes thousands of percent
        return None if points and commas else commas
    known = english or (commas and unit in ("$", "USD", "GBP", "CAD", "AUD"))
    return None if (points and commas) or ((points or commas) and not known) else False


def _bare(text: str, affixes: Collection[str], marks: Collection[str], decimal_comma: bool) -> str:
    """SQL of a number as DuckDB casts it: without units, and of the marks with the decimal point alone."""
    for affix in sorted(affixes, key=len, reverse=True):
        text = f"replace({text}, {literal(affix)}, '')"
    if dropped := sorted(set(marks) - {"," if decimal_comma else "."}):
        text = f"translate({text}, {literal(''.join(dropped))}, '')"
    return f"replace({text}, ',', '.')" if decimal_comma and "," in marks else text


# -- dates -------------------------------------------------------------------------------------------------------------

_CLOCK = r"(?:,? (?:at )?\d{1,2}:\d{2}(?::\d{2})?(?: ?[ap]m)?)?"
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|"
    r"nov(?:ember)?|dec(?:ember)?)"
)
# What such dates look like, and the orders in which they may be meant; the first is what people mean by both.
_DATES = tuple(
    (re.compile(pattern, re.IGNORECASE), orders)
    for pattern, orders in (
        (r"\d{4}[-/]\d{1,2}[-/]\d{1,2}(?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?Z?)?", tuple[str, ...]()),
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
)


def _dated(orders: tuple[str, ...]) -> Callable[[TextValues], "Reading | Doubt | None"]:
    return lambda values: _dates(values, orders) if orders else _iso(values)


def _iso(values: TextValues) -> Reading | None:
    kind, type_ = ("times", "TIMESTAMP") if any(":" in shape for shape in values.shapes) else ("dates", "DATE")
    (wrong,) = values.ask("count(*) FILTER (try_cast(x AS TIMESTAMP) IS NULL)", of=values.text)
    return None if wrong else Reading(kind, type_, _typed(values, type_, f"try_cast({values.text} AS {type_})"))


def _dates(values: TextValues, orders: tuple[str, ...]) -> Reading | Doubt | None:
    kind, type_ = ("times", "TIMESTAMP") if any(":" in shape for shape in values.shapes) else ("dates", "DATE")
    named = "%b" in orders[0]
    text = _plain_date(values.text, named, any(", " in s or " at " in s for s in values.shapes))
    times = sorted({_clock(shape) for shape in values.shapes})
    known = ["[" + ", ".join(literal(order + time) for time in times) + "]" for order in orders]
    wrong = values.ask(", ".join(f"count(*) FILTER (try_strptime(x, {k}) IS NULL)" for k in known), of=text)
    fitting = [(order, k) for order, k, count in zip(orders, known, wrong, strict=True) if not count]
    if not fitting:
        return None
    if len(fitting) > 1:
        (first,) = values.ask(f"min({values.text})")
        return Doubt(kind, f"since nothing tells whether “{first[:40]}” begins with the day or the month")
    ((order, formats),) = fitting
    how = "" if named else "day first" if order.startswith("%d") else "month first"
    return Reading(kind, type_, _typed(values, type_, f"try_strptime({text}, {formats})"), how=how)


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

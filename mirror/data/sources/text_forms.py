"""What a column of texts really holds: numbers with money, percent or unit, dates, or yes and no; told by all values.

Each form is first held against a sample, which can only rule it out, and then against all values of the column.
"""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial

from mirror.data.sources.text_values import TextValues, literal
from mirror.schema.names import words_of

_FEW_ODD = 0.05  # share of values that looks like a slip among others


@dataclass(frozen=True)
class Reading:
    """How the texts of a column become values.

    Attributes:
        kind: what they are, in the plural.
        type: the type in DuckDB.
        value: makes SQL of the value of the SQL of a text; NULL for none.
        comment: what a person would say of the column, such as its unit; may be empty.
        how: what had to be decided, in words; may be empty.
    """

    kind: str
    type: str
    value: Callable[[str], str]
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
    if not values.sample:
        return None
    for pattern, reader in (
        (_FLAG, _flags),
        (_NUMBER, lambda held: _numbers(held, english)),
        *((pattern, _dated(pattern, orders)) for pattern, orders in _DATES),
    ):
        known = [bool(re.fullmatch(pattern, text, re.IGNORECASE)) for text in values.sample]
        if sum(known) < (1 - _FEW_ODD) * len(known):
            continue
        odd = f"NOT regexp_full_match(x, {literal(pattern)}, 'i')"
        odds, every = values.one(f"count(*) FILTER ({odd}), count(*)")
        if not odds:
            return reader(values)
        if odds <= _FEW_ODD * every and (first := values.first_odd(odd)):
            values.drop(odd)
            if isinstance(rest := reader(values), Reading):
                since = f"since row {first[0]:,} below the header holds “{first[1][:40]}”"
                return Doubt(rest.kind, since)
    return None


# -- yes and no --------------------------------------------------------------------------------------------------------

_YES_NO = ((("yes", "y", "true"), ("no", "n", "false")), (("ja", "j", "wahr"), ("nein", "n", "falsch")))
_FLAG = "|".join(sorted({word for pair in _YES_NO for words in pair for word in words}))


def _flags(values: TextValues) -> Reading | None:
    """Of one language and with both answers: a column of nothing but "No" may be Norway."""
    found = {text for (text,) in values.ask("DISTINCT lower(x)")}
    for yes, no in _YES_NO:
        if found <= {*yes, *no} and found & set(yes) and found & set(no):
            return Reading("yes or no", "BOOLEAN", partial(_is_one_of, words=", ".join(map(literal, yes))))
    return None


def _is_one_of(text: str, words: str) -> str:
    return f"lower({text}) IN ({words})"


# -- numbers -----------------------------------------------------------------------------------------------------------

_CURRENCY = (
    r"US\$|C\$|A\$|R\$|[$€£¥₹₽₺₩]|SFr\.?|Fr\.|zł|Kč|kr\.?|(?:USD|EUR|GBP|CHF|JPY|CAD|AUD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|"
    r"RON|INR|CNY|RUB|BRL|ZAR|TRY|MXN|SGD|HKD|KRW|ILS|AED)"
)
_SAME = {"€": "EUR", "£": "GBP", "US$": "USD", "₹": "INR", "zł": "PLN", "Kč": "CZK", "¥": "JPY"}
_CORE = r"\d{1,3}(?:[.,'’ ]\d{3})+(?:[.,]\d+)?|\d+(?:[.,]\d+)?(?:[eE][-+]?\d+)?|[.,]\d+"
# Parenthesis, sign, currency, sign, number, space, unit or currency, parenthesis.
_NUMBER = rf"(\(?)([-+]?) ?((?:{_CURRENCY})?) ?([-+]?)({_CORE})( ?)((?:[^\d\s.,'’()+:;-][^\s(),:;]{{0,11}})?)(\)?)"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_UNITS = _words(
    """kg g mg µg t lb lbs oz km m cm mm µm mi ft in yd nm l ml cl dl hl gal m2 m² m3 m³ sqm qm sqft ft2 ft² km2 km² ha
    ac h hr hrs min mins s sec secs ms µs ns d day days kwh wh mwh gwh kw mw w kwp kv mv ma mah ah hz khz mhz ghz rpm °c
    °f ° kb mb gb tb kib mib gib px pt kcal cal kj bar mbar psi hpa kpa km/h kmh mph m/s kt kn ppm ppb pcs pc stk st dpi db
    mbps gbps ft-lb nm/s"""
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
_POINT = r"\.\d{1,2}$|\.\d{4,}$|^0?\.\d|[,'’ ].*\.|,\d{3},|\.\d+[eE]"
_COMMA = r",\d{1,2}$|,\d{4,}$|^0?,\d|[.'’ ].*,|\.\d{3}\.|,\d+[eE]"


def _numbers(values: TextValues, english: bool) -> Reading | Doubt | None:
    def part(group: int) -> str:
        return f"regexp_extract(x, {literal(f'^(?:{_NUMBER})$')}, {group}, 'i')"

    # A zero needs no unit.
    affixes = values.ask(
        f"DISTINCT {part(3)}, {part(6)}, {part(7)}", "WHERE NOT regexp_full_match(x, '[-+]?0+([.,]0+)?') LIMIT 60"
    )
    spelled = {(_unit(*affix)): affix[0] + affix[2] for affix in sorted(affixes, key=lambda a: len(a[2]))}
    if None in spelled:
        return None
    if len(spelled) > 1:
        amounts = [text for text in spelled.values() if re.fullmatch(_CURRENCY, text, re.IGNORECASE)]
        if len(amounts) == len(spelled):
            return Doubt("numbers", f"since it holds amounts in {' and '.join(sorted(amounts)[:3])}")
        return Doubt("numbers", "since only some of its amounts have a currency") if amounts and "" in spelled else None
    unit, shown = next(((u or "", s) for u, s in spelled.items()), ("", ""))
    core = part(5)
    codes, unbalanced, signed, point, comma, points, commas, spaces, opened, plus, every, fractions = values.one(
        f"count(*) FILTER (regexp_matches({core}, '^0\\d')), "
        f"count(*) FILTER (starts_with(x, '(') <> ends_with(x, ')') OR {part(2)} <> '' AND {part(4)} <> ''), "
        f"count(*) FILTER (starts_with(x, '(') AND {part(2)} || {part(4)} <> ''), "
        f"count(*) FILTER (regexp_matches({core}, {literal(_POINT)})), "
        f"count(*) FILTER (regexp_matches({core}, {literal(_COMMA)})), "
        f"count(*) FILTER (contains({core}, '.')), count(*) FILTER (contains({core}, ',')), "
        f"count(*) FILTER (contains({core}, ' ')), count(*) FILTER (starts_with(x, '(')), "
        f"count(*) FILTER (starts_with(x, '+')), count(*), count(*) FILTER (regexp_matches({core}, '[eE]'))"
    )
    if codes or unbalanced or signed or (not unit and (opened == every or (plus and not (point or comma)))):
        return None
    bare = not unit
    named = bool(_NAMING & set(words_of(values.name)))
    if bare and ((named and (points or commas)) or (spaces and (named or not (point or comma)))):
        return None  # 555 123 456 is a telephone number
    if point and comma:
        return Doubt("numbers", "since some values have a decimal point and others a decimal comma")
    decimal_comma = _has_decimal_comma(values, unit, english, bool(point), bool(comma), bool(points), bool(commas))
    if decimal_comma is None:
        return Doubt("numbers", f"since {_example(values, core)} may be thousands or have three decimals")
    decimals = commas if decimal_comma else points
    money = bool(re.fullmatch(_CURRENCY, unit, re.IGNORECASE))
    type_ = "DOUBLE" if fractions or decimals or unit == "%" or money else "BIGINT"
    spellings = {text for before, _, after in affixes for text in (before, after) if text}

    def value(text: str) -> str:
        number = f"try_cast({_bare(text, spellings, decimal_comma, bool(opened))} AS {type_})"
        return f"{number} * if(starts_with({text}, '('), -1, 1)" if opened else number

    if values.one(f"count(*) FILTER (({value('x')}) IS NULL)")[0]:
        return None
    said = "percent" if unit == "%" else unit if money else shown
    how = ", ".join(filter(None, (f"in {said}" if unit else "", "decimal comma" if decimal_comma and decimals else "")))
    return Reading("numbers", type_, value, f"in {said}" if unit else "", how)


def _unit(before: str, space: str, after: str) -> str | None:
    """The unit of a number, one text for all its spellings; empty for none, None where it is no unit."""
    if before:
        return _SAME.get(before, before.upper()) if not after else None
    if re.fullmatch(_CURRENCY, after, re.IGNORECASE):
        return _SAME.get(after, after.upper())
    lower, single = after.lower(), after.removesuffix("s")
    if not after or after == "%" or re.fullmatch(rf"(?:{_CURRENCY})/\S+", after):
        return after
    if lower in _NO_UNITS:
        return None
    if lower in _UNITS and (space or len(after) > 1 or after.islower()):
        return single if single.lower() in _UNITS else after
    return single if space and len(single) > 1 and after.isalpha() else None


def _has_decimal_comma(
    values: TextValues, unit: str, english: bool, point: bool, comma: bool, points: bool, commas: bool
) -> bool | None:
    """Whether a comma stands before the decimals; None where nothing tells."""
    if point or comma:
        return comma
    if not (points or commas):
        return False
    if points and commas:
        return None
    if unit == "%":  # nobody writes thousands of percent
        return commas
    if english or (commas and unit in ("$", "USD", "GBP", "CAD", "AUD")):
        return False
    return None


def _example(values: TextValues, core: str) -> str:
    (text,) = values.ask("x", f"WHERE regexp_matches({core}, '[.,]') ORDER BY x LIMIT 1")[0]
    return f"“{text[:40]}”"


def _bare(text: str, affixes: Collection[str], decimal_comma: bool, opened: bool) -> str:
    """SQL of a number as DuckDB casts it, without capturing groups, which are slow."""
    for affix in sorted(affixes, key=len, reverse=True):
        text = f"replace({text}, {literal(affix)}, '')"
    dropped = (".'’ " if decimal_comma else ",'’ ") + ("()" if opened else "")
    text = f"translate({text}, {literal(dropped)}, '')"
    return f"replace({text}, ',', '.')" if decimal_comma else text


# -- dates -------------------------------------------------------------------------------------------------------------

_CLOCK = r"(?:,? (?:at )?\d{1,2}:\d{2}(?::\d{2})?(?: ?[ap]m)?)?"
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:tember)?|oct(?:ober)?|"
    r"nov(?:ember)?|dec(?:ember)?)"
)
_TIMES = ("%H:%M", "%H:%M:%S", "%I:%M %p", "%I:%M%p", "%I:%M:%S %p", "%I:%M:%S%p")
# What such dates look like, and the orders in which they may be meant; the first is what people mean by both.
_DATES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"\d{4}[-/]\d{1,2}[-/]\d{1,2}(?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?Z?)?", ()),
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


def _dated(pattern: str, orders: tuple[str, ...]) -> Callable[[TextValues], "Reading | Doubt | None"]:
    return lambda values: _dates(values, orders) if orders else _iso(values)


def _iso(values: TextValues) -> Reading | None:
    timed, wrong = values.one("count(*) FILTER (contains(x, ':')), count(*) FILTER (try_cast(x AS TIMESTAMP) IS NULL)")
    type_ = "TIMESTAMP" if timed else "DATE"
    return None if wrong else Reading("times" if timed else "dates", type_, lambda text: f"try_cast({text} AS {type_})")


def _dates(values: TextValues, orders: tuple[str, ...]) -> Reading | Doubt | None:
    timed, joined = values.one("count(*) FILTER (contains(x, ':')), count(*) FILTER (regexp_matches(x, ', | at '))")
    fitting = {}
    for order in orders:
        formats = [order, *(f"{order} {time}" for time in _TIMES)] if timed else [order]
        plain = _plain_date("x", "%b" in order, bool(joined))
        used = [f for f in formats if values.one(f"count(try_strptime({plain}, {literal(f)}))")[0]]
        known = ", ".join(map(literal, used))
        if used and not values.one(f"count(*) FILTER (try_strptime({plain}, [{known}]) IS NULL)")[0]:
            fitting[order] = known
    if not fitting:
        return None
    if len(fitting) > 1:
        (first,) = values.one("min(x)")
        return Doubt("dates", f"since nothing tells whether “{first[:40]}” begins with the day or the month")
    ((order, known),) = fitting.items()
    how = "" if "%b" in order else "day first" if order.startswith("%d") else "month first"

    def value(text: str) -> str:
        return f"try_strptime({_plain_date(text, '%b' in order, bool(joined))}, [{known}])"

    return Reading("times" if timed else "dates", "TIMESTAMP" if timed else "DATE", value, how=how)


def _plain_date(text: str, named: bool, joined: bool) -> str:
    """SQL of a date without what formats do not know; “Jan. 5, 2025” and “January 5 2025” are “Jan 5 2025”."""
    if not named:
        return f"regexp_replace({text}, ',? (at )?', ' ')" if joined else text
    text = f"replace(regexp_replace({text}, '[.,]', '', 'g'), ' at ', ' ')"
    return f"regexp_replace({text}, '([A-Za-z]{{3}})[A-Za-z]*', '\\1')"

"""Texts that are numbers: plain ones, and those with money, percent or a unit, in English and in German writing."""

import re
from collections.abc import Collection

from mirror.data.loading.interpretation import Doubt, Reading, typed
from mirror.data.loading.text_values import TextValues
from mirror.data.sql_text import literal
from mirror.schema.names import words_of

_CURRENCY = (
    r"US\$|C\$|A\$|R\$|[$€£¥₹₽₺₩]|SFr\.?|Fr\.|zł|Kč|kr\.?|(?:USD|EUR|GBP|CHF|JPY|CAD|AUD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|"
    r"RON|INR|CNY|RUB|BRL|ZAR|TRY|MXN|SGD|HKD|KRW|ILS|AED)"
)
_SAME = {"€": "EUR", "£": "GBP", "US$": "USD", "₹": "INR", "zł": "PLN", "Kč": "CZK", "¥": "JPY"}
_CORE = r"\d{1,3}(?:[.,'’ ]\d{3})+(?:[.,]\d+)?|\d+(?:[.,]\d+)?(?:[eE][-+]?\d+)?|[.,]\d+"
PATTERN = re.compile(
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


def read(values: TextValues, english: bool) -> Reading | Doubt | None:
    """How to read a column in which every text has the form of a number; `english` as in `text_forms`."""
    parts = {shape: match for shape in values.shapes if (match := PATTERN.fullmatch(shape))}
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
    points, commas = (any(mark in core for core in cores) for mark in ".,")
    point, comma = (any(map(pattern.search, cores)) for pattern in (_POINT, _COMMA))
    # What no shape tells: a code, and that 0.125 has decimals.
    zeros = "0[0-9]", "0[.][0-9]" if points and not point else "", "0,[0-9]" if commas and not comma else ""
    asked = [f"regexp_matches({values.text}, {literal(f'^[^0-9.,]*{zero}')})" if zero else "false" for zero in zeros]
    code, zero_point, zero_comma = values.ask(", ".join(f"bool_or({one})" for one in asked))
    if code:
        return None
    point, comma = point or zero_point, comma or zero_comma
    if point and comma:
        return Doubt("numbers", "since some values have a decimal point and others a decimal comma")
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
    return Reading("numbers", type_, typed(values, type_, value), said, how)


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

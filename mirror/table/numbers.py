"""Values as people read them: units, a sensible number of digits, nothing else. Shared by chart, tiles and summary."""

import math
import re

from db.plain_text import plain_text
from mirror.table.table import Column
from mirror.table.values import Value

NO_VALUE = "–"

# unit -> (from this value on, divisor, larger unit), the largest first.
_LARGER_UNITS: dict[str, tuple[tuple[float, float, str], ...]] = {
    "µs": ((1e6, 1e6, "s"), (1e3, 1e3, "ms")),
    "MB": ((1e3, 1e3, "GB"),),
    "s": ((3600.0, 3600.0, "h"), (120.0, 60.0, "min")),
}
_NO_SPACE = ("x", "%")


def format_value(column: Column, value: Value | None) -> str:
    """The value of a column with its unit: `0.7841`, `3.21 MB`, `45.2 µs`, `1.20 ms`, `1,284`."""
    if value is None:
        return NO_VALUE
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if not math.isfinite(value):
        return format_number(value)
    if is_year(column) and value == int(value):
        return str(int(value))
    divisor, unit = _scale(column, value)
    scaled = value if divisor == 1 else value / divisor  # a large whole number stays whole
    return with_unit(_digits(column, scaled, unit), unit)


def format_plain(column: Column, value: Value | None) -> str:
    """The value of a column without its unit, for a place where the unit is told already; empty for no number."""
    if value is None or isinstance(value, bool | str) or not math.isfinite(value):
        return ""
    return _digits(column, value, column.unit)


def format_spread(column: Column, value: float, deviation: float) -> str:
    """Mean and standard deviation in one unit and to the same place: `0.7841 ± 0.0012`, `12.3 ± 0.4 µs`."""
    divisor, unit = _scale(column, value)
    value, deviation = value / divisor, deviation / divisor
    mean = _digits(column, value, unit)
    spread = format_number(deviation)
    if not set(mean) - set("-0123456789.,"):  # no exponent, no M for million
        places = len(mean.partition(".")[2]) or (1 if abs(value) < 100 else 0)
        mean = f"{value:,.{places}f}"
        spread = f"{deviation:,.{places}f}" if deviation >= 0.5 * 10.0**-places or not deviation else f"{deviation:.1g}"
    return with_unit(f"{mean} ± {spread}", unit)


def _scale(column: Column, value: float) -> tuple[float, str]:
    """(divisor, unit) in which the value is easiest to read."""
    unit = column.unit
    for start, divisor, larger in _LARGER_UNITS.get(unit, ()):
        if abs(value) >= start:
            return divisor, larger
    return 1, unit


def _digits(column: Column, value: float, unit: str) -> str:
    fraction = bool(column.source) and not (unit or column.setting)
    return format_number(value, exact=column.setting, fraction=fraction)


def format_number(value: float, exact: bool = False, fraction: bool = False) -> str:
    """A number without unit.

    Args:
        value: the number.
        exact: a parameter that somebody chose (0.1, 1.05): as it was written, without padding zeros.
        fraction: a measured number without unit (AUC, logloss): four places below 1, so that columns line up.
    """
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("∞" if value > 0 else "-∞")
    size = abs(value)
    if value == int(value) and size < (1e15 if isinstance(value, int) else 1e6):
        return f"{int(value):,}"
    if size >= 1e6:
        return _short(value)
    if exact:
        short = f"{value:,.7g}"  # what a float32 has of digits: 0.1 and not 0.1000000015
        return short if abs(float(short.replace(",", "")) - value) <= 1e-7 * size else f"{value:,.10g}"
    if size < 1e-3:
        return f"{value:.2g}"
    if fraction and size < 10:
        return f"{value:.4f}"
    return f"{value:,.{max(0, 2 - math.floor(math.log10(size)))}f}"


def format_factor(value: float) -> str:
    """How many times: `0.123x`, `3.21x`, `1,500x`."""
    return f"{value:,.0f}x" if value >= 100 else f"{value:.3g}x"


_YEAR_AT_END = re.compile(r"(?:^|[\W_])(?i:year)$|(?<=[a-z])Year$")


def is_year(column: Column) -> bool:
    """Whether a column is named for years, which have no thousands separator."""
    return _YEAR_AT_END.search(column.name) is not None


def format_tick(value: float) -> str:
    """A tick label: short and exact enough to read an axis (0.02, 1,024, 10M)."""
    if abs(value) >= 1e6:
        return _short(value)
    return f"{value:,.6g}"


def with_unit(text: str, unit: str) -> str:
    """Number and unit: `3.21 MB`, `3.2x`, `1 thread`."""
    if not unit:
        return text
    if unit in _NO_SPACE:
        return text + unit
    if text == "1" and unit.isalpha() and len(unit) > 2 and unit.endswith("s"):
        unit = unit[:-1]
    return f"{text} {unit}"


def cut_middle(text: str, longest: int) -> str:
    """The text, without its middle where it is longer: names that begin alike often differ at the end."""
    if len(text) <= longest:
        return text
    tail = (longest - 1) // 3
    return f"{text[: longest - 1 - tail].rstrip()}…{text[len(text) - tail :].lstrip()}"


def describe(column: Column, value: Value | None) -> str:
    """A value that names a row: `hashed`, `batch size 512`, `no data set`."""
    if value is None:
        return f"no {column.label}"
    if isinstance(value, bool):
        return column.label if value else f"not {column.label}"
    if isinstance(value, str):
        return plain_text(value) or f"empty {column.label}"
    number = str(value) if is_year(column) else format_number(value, exact=True)
    return f"{column.label} {number}"


def _short(value: float) -> str:
    rounded = float(f"{value:.3g}")  # 999.7 million are a billion
    for start, suffix in ((1e15, ""), (1e12, "T"), (1e9, "G"), (1e6, "M")):
        if abs(rounded) >= start:
            return f"{rounded / start:.3g}{suffix}" if suffix else f"{rounded:.3g}"
    raise ValueError(f"{value!r} is below a million")

"""What a column of a text file may hold, checked a batch at a time."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bench_engine.data.text_columns import integers, texts

_HEX = np.zeros(256, bool)
_HEX[list(b"0123456789abcdefABCDEF")] = True
_DECIMAL = np.zeros(256, bool)
_DECIMAL[list(b"-0123456789")] = True
_DIGITS = 18  # of a whole number, so that it fits into 64 bits


@dataclass(frozen=True)
class Kind:
    """One kind of column.

    Attributes:
        wanted: what it holds, in words.
        bad: (n,) bool of n texts (a pyarrow BinaryArray): which do not fit.
    """

    wanted: str
    bad: Callable[[pa.Array], np.ndarray]


def _nothing(column: pa.Array) -> np.ndarray:
    return np.zeros(len(column), bool)


def _unlike(pattern: str) -> Callable[[pa.Array], np.ndarray]:
    def bad(column: pa.Array) -> np.ndarray:
        return ~np.asarray(pc.match_substring_regex(column, f"^(?:{pattern})$"))

    return bad


def _not_hex(column: pa.Array) -> np.ndarray:
    lengths, data = texts(column)
    bad = (lengths != 0) & (lengths != 8)
    if not _HEX[data].all():
        owner = np.repeat(np.arange(len(lengths)), lengths)
        bad[owner[~_HEX[data]]] = True
    return bad


def _not_integer(column: pa.Array) -> np.ndarray:
    lengths, data = texts(column)
    if _DECIMAL[data].all() and (lengths <= _DIGITS).all():  # Arrow reads hexadecimal and longer numbers too
        try:  # many times faster than the pattern, which is for finding the culprit
            integers(column)
        except pa.ArrowInvalid:
            pass
        else:
            return _nothing(column)
    return _unlike(f"(-?[0-9]{{1,{_DIGITS}}})?")(column)


def _not_short(column: pa.Array) -> np.ndarray:
    lengths, _ = texts(column)
    return (lengths < 1) | (lengths > 8)


def _not_hour(column: pa.Array) -> np.ndarray:
    coded = column.dictionary_encode()
    bad = np.array([not _is_hour(text) for text in coded.dictionary.to_pylist()], bool)
    return bad[np.asarray(coded.indices)]


def _is_hour(text: bytes) -> bool:
    try:
        datetime.strptime(text.decode("ascii"), "%y%m%d%H")
    except ValueError:
        return False
    return len(text) == 8 and text.isdigit()


KINDS = {
    "label": Kind("0 or 1", _unlike("[01]")),
    "hex": Kind("8 hexadecimal digits or nothing", _not_hex),
    "integer": Kind("a whole number or nothing", _not_integer),
    "id": Kind("a number such as 17", _unlike(f"[0-9]{{1,{_DIGITS}}}")),
    "number": Kind("a number", _unlike(r"-?[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?")),
    "short": Kind("1 to 8 characters", _not_short),
    "hour": Kind("an hour as YYMMDDHH", _not_hour),
    "token": Kind("a value", _unlike(r"(?s:.+)")),
    "text": Kind("text", _nothing),
}

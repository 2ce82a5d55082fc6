"""Streamed reader of libfm files with one one-hot feature per field: lines such as `-1 204:1 4798:1 5041:1`."""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path

import numpy as np

from bench_engine.data.formats.stream import open_text
from bench_engine.data.problems import DataFileError, shown

LABELS = {b"1": 1.0, b"+1": 1.0, b"1.0": 1.0, b"0": 0.0, b"-1": 0.0, b"0.0": 0.0, b"-1.0": 0.0}


class LibfmError(DataFileError):
    """A line that cannot be used; the message names the file and the line."""


def read(path: Path, field_rows: Sequence[int], chunk_rows: int = 8192) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield (ids, labels) in chunks of at most `chunk_rows` lines: int32 (n, T) and float32 (n,).

    Feature numbers count through all fields, so they are already rows of one joint table: field f has the numbers
    from `sum(field_rows[:f])` on. Labels are -1 or 0 (no click) and 1. A missing newline at the end is fine.

    Raises LibfmError for a label, a feature or a number of features that does not fit, and for a file without lines.
    """
    ends = list(accumulate(field_rows))
    ranges = list(zip([0, *ends[:-1]], ends, strict=True))
    rows: list[list[int]] = []
    labels: list[float] = []
    found = False
    with open_text(path) as source:
        for number, line in enumerate(source.lines(), start=1):
            tokens = line.split()
            if not tokens:
                continue
            try:
                labels.append(_label(tokens[0]))
                rows.append(_features(tokens[1:], ranges))
            except ValueError as error:
                raise LibfmError(
                    f"{path.name}, line {number}: {error}; mend the line or fetch the file again."
                ) from None
            if len(rows) == chunk_rows:
                yield np.array(rows, np.int32), np.array(labels, np.float32)
                rows, labels = [], []
            found = True
    if rows:
        yield np.array(rows, np.int32), np.array(labels, np.float32)
    if not found:
        raise LibfmError(f"{path.name} holds no lines: fetch the file again.")


def _label(token: bytes) -> float:
    if token not in LABELS:
        raise ValueError(f"the label is {shown(token)}, not -1, 0 or 1")
    return LABELS[token]


def _features(tokens: list[bytes], ranges: list[tuple[int, int]]) -> list[int]:
    if len(tokens) != len(ranges):
        raise ValueError(f"it has {len(tokens)} features, not {len(ranges)}")
    features = []
    for token, (first, end) in zip(tokens, ranges, strict=True):
        index, _, value = token.partition(b":")
        if value != b"1" or not index.isdigit():
            raise ValueError(f"{shown(token)} is not a feature such as 17:1")
        feature = int(index) if len(index) < 19 else -1
        if not first <= feature < end:
            raise ValueError(f"feature {shown(token)} is outside its field, {first} to {end - 1}")
        features.append(feature)
    return features

"""Columns of texts as arrow reads them, as arrays of bytes and of whole numbers."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def texts(column: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """(lengths int64 (n,), all bytes uint8 in a row) of a BinaryArray without nulls; nothing is copied."""
    _, offsets, data = column.buffers()
    ends = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1].astype(np.int64)
    if data is None or not len(column):
        return np.diff(ends), np.empty(0, np.uint8)
    return np.diff(ends), np.frombuffer(data, np.uint8)[ends[0] : ends[-1]]


def integers(column: pa.Array) -> pa.Array:
    """Whole numbers, null where the text is empty. Raises pyarrow.ArrowInvalid for other texts."""
    filled = pc.if_else(pc.equal(pc.binary_length(column), 0), pa.scalar(None, column.type), column)
    return pc.cast(pc.cast(filled, pa.string()), pa.int64())

"""Columns of a Parquet file below the data folder, of which every value has to be there and of the wanted kind."""

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bench_engine.data.files import find
from bench_engine.data.formats.kinds import KINDS
from bench_engine.data.problems import DataFileError, reason, shown

_TYPES = {"id": pa.int64(), "number": pa.float64(), "text": pa.string()}


def columns(file: str, kinds: Mapping[str, str]) -> Iterator[tuple[np.ndarray, ...]]:
    """Yield the columns, at least once, some ten thousand rows at a time.

    Args:
        kinds: `id` (as int64), `number` (as float64) or `text` (as Python texts) for each wanted column.

    Raises DataMissingError or DataFileError.
    """
    path = find(file)
    rows = 0
    try:
        with pq.ParquetFile(path) as parquet:
            if lacking := [name for name in kinds if parquet.schema_arrow.names.count(name) != 1]:
                raise DataFileError(f"{file} lacks the column {lacking[0]}: give a file with {', '.join(kinds)}.")
            for batch in parquet.iter_batches(columns=list(kinds)):
                rows += batch.num_rows
                yield tuple(_values(file, name, batch[name], kind) for name, kind in kinds.items())
    except (pa.ArrowException, OSError) as error:
        raise DataFileError(f"{file} cannot be read; it may be cut off ({reason(error)}): fetch it again.") from error
    if not rows:
        raise DataFileError(f"{file} holds no rows: fetch it again.")


def _values(file: str, name: str, column: pa.Array, kind: str) -> np.ndarray:
    column.validate(full=True)  # texts that are no UTF-8 are damage
    if column.null_count:
        raise DataFileError(f"{file} has empty values in column {name}: give a file where every row is whole.")
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    a_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    if kind != "text" and a_text:
        bad = np.flatnonzero(KINDS[kind].bad(pc.cast(column, pa.binary())))
        if len(bad):
            found = shown(column[int(bad[0])].as_py().encode())
            raise DataFileError(
                f"{file} has {found} in column {name}, not {KINDS[kind].wanted}: give a file of numbers."
            )
    elif not (a_text if kind == "text" else pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        raise _unfit(file, name, column, kind)
    try:
        values = np.asarray(pc.cast(column, _TYPES[kind]))
    except pa.ArrowException:  # fractions and what 64 bits do not hold
        raise _unfit(file, name, column, kind) from None
    if kind == "number" and not np.isfinite(values).all():
        raise _unfit(file, name, column, kind)
    return values


def _unfit(file: str, name: str, column: pa.Array, kind: str) -> DataFileError:
    wanted = {"id": "whole numbers", "number": "numbers", "text": "text"}[kind]
    return DataFileError(
        f"{file} has other values ({column.type}) in column {name} than {wanted}: give a file with them."
    )

"""What a data file is, by its content, and whether it is whole; streamed, however long the file is."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bench_engine.data.formats.check_libfm import check_libfm
from bench_engine.data.formats.delimited import Layout, read
from bench_engine.data.formats.distinct import Distinct
from bench_engine.data.formats.layouts import ANIME_INFO, ANIME_RATINGS, LIBFM, recognise
from bench_engine.data.formats.stream import Source, open_text, open_zip
from bench_engine.data.problems import DataFileError, Problems, reason

HEAD = 1 << 16  # bytes that a format is recognised by
_FIRST_LINES = 5  # of a file without header, the first may be the one that is damaged
_PARQUET = {
    ("movieId", "rating", "timestamp", "userId"): "MovieLens ratings (Parquet)",
    ("genres", "movieId", "title"): "MovieLens movies (Parquet)",
    ("movieID", "userID"): "MovieLens user-movie pairs (Parquet)",
}
_BINARY = {b"PAR1": "Parquet", b"PK\x03\x04": "zip", b"PK\x05\x06": "zip"}
_KNOWN = "Criteo, Avazu, libfm, MovieLens as .dat, .csv or .parquet, typed headers such as user_id:token, the anime zip"


@dataclass(frozen=True)
class Column:
    """One column.

    Attributes:
        name: name in the format.
        distinct: different values; approximate where `exact` is false.
    """

    name: str
    distinct: int
    exact: bool = True


@dataclass
class Report:
    """What was found.

    Attributes:
        file: name of the file.
        format: what it is, in words; `unknown` where that is not known.
        size: bytes.
        rows: rows that can be used.
        label_share: share of clicks among them; None without labels.
        columns: the columns, where the format has them.
        problems: one sentence each.
    """

    file: str
    format: str = "unknown"
    size: int = 0
    rows: int = 0
    label_share: float | None = None
    columns: tuple[Column, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether nothing is wrong with the file."""
        return not self.problems


def check(path: Path) -> Report:
    """Read a file to its end. Never raises for what is wrong with it."""
    report = Report(path.name or str(path))
    problems = Problems(report.file)
    try:
        _check(path, report, problems)
    except DataFileError as error:
        report.problems = (*problems.sentences(), str(error))
    else:
        report.problems = problems.sentences()
    return report


def _check(path: Path, report: Report, problems: Problems) -> None:
    try:
        there, is_file, is_folder = path.exists(), path.is_file(), path.is_dir()
        report.size = path.stat().st_size if is_file else 0
    except OSError as error:
        raise DataFileError(f"{report.file} cannot be opened ({error.strerror}).") from error
    if not there:
        raise DataFileError(f"{report.file} is not there: see whether the path is right.")
    if is_folder:
        raise DataFileError(f"{report.file} is a folder: name a file in it.")
    if not is_file:
        raise DataFileError(f"{report.file} is no regular file: name a file on a disk.")
    with open_text(path) as source:
        head, packed = source.read(HEAD), source.packed
    if not head:
        raise DataFileError(f"{report.file} is empty: fetch it again.")
    binary = next((form for start, form in _BINARY.items() if head.startswith(start)), "")
    if binary and packed:
        raise DataFileError(
            f"{report.file} is {binary} packed with gzip: unpack it with gunzip and check what comes out."
        )
    if binary == "Parquet":
        _check_parquet(path, report, problems)
    elif binary:
        _check_zip(path, report, problems)
    else:
        _check_text(path, head, report, problems)


def _check_text(path: Path, head: bytes, report: Report, problems: Problems) -> None:
    layout = _recognised(head)
    if layout is None:
        what = "binary data" if b"\0" in head else "text"
        raise DataFileError(f"{report.file} is {what} of no format that is known here: give one of {_KNOWN}.")
    if isinstance(layout, Layout):
        with open_text(path, double_colon=b"::" in head) as source:
            _check_layout(source, layout, report, problems)
        return
    report.format = LIBFM
    with open_text(path) as source:
        found = check_libfm(source, problems)
    report.rows, report.label_share = found.rows, found.label_share
    report.format = f"{LIBFM}, {found.features_per_line} features in a line"
    report.columns = (Column("features", found.distinct.number, found.distinct.exact),)


def _recognised(head: bytes) -> Layout | str | None:
    if b"\0" in head:
        return None
    for number, line in enumerate(head.split(b"\n")[:_FIRST_LINES]):
        found = recognise(line)
        if found and not (number and isinstance(found, Layout) and found.header):
            return found
    return None


def _check_layout(source: Source, layout: Layout, report: Report, problems: Problems) -> None:
    report.format = layout.format
    counted = {name: Distinct() for name, _ in layout.columns}
    clicks = 0
    try:
        for batch in read(source, layout, problems.complain):
            report.rows += batch.num_rows
            for name, distinct in counted.items():
                distinct.add(batch[name])
            if layout.label:
                clicks += int((_numbers(batch[layout.label]) >= layout.liked).sum())
    finally:
        report.columns = _columns(counted)
        report.label_share = clicks / report.rows if layout.label and report.rows else None


def _numbers(column: pa.Array) -> np.ndarray:
    return np.asarray(pc.cast(pc.cast(column, pa.string()), pa.float64()))


def _columns(counted: dict[str, Distinct]) -> tuple[Column, ...]:
    return tuple(Column(name, distinct.number, distinct.exact) for name, distinct in counted.items())


def _check_parquet(path: Path, report: Report, problems: Problems) -> None:
    report.format = "Parquet"
    try:
        with pq.ParquetFile(path) as parquet:
            names = parquet.schema_arrow.names
            report.format = _PARQUET.get(tuple(sorted(names)), "Parquet, no table that is known here")
            counted = {name: Distinct() for name in names}
            rated = "rating" in names and "MovieLens" in report.format
            if rated and not _is_number(parquet.schema_arrow.field("rating").type):
                rated = False
                problems.complain(None, "has no numbers in column rating: give a file with them.")
            empty = dict.fromkeys(names, 0)
            clicks = 0
            for batch in parquet.iter_batches():
                report.rows += batch.num_rows
                for name, column in zip(names, batch.columns, strict=True):
                    empty[name] += column.null_count
                    counted[name].add(_as_texts(column))
                if rated:
                    clicks += int((np.asarray(batch["rating"].fill_null(0)) >= 4).sum())
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DataFileError(
            f"{report.file} cannot be read as Parquet; it is cut off or damaged ({reason(error)}): fetch it again."
        ) from error
    report.columns = _columns(counted)
    if not report.rows:
        problems.complain(None, "holds no rows: fetch it again.")
    elif rated:
        report.label_share = clicks / report.rows
    for name, nulls in empty.items():
        if nulls:
            problems.complain(None, f"has {nulls:,} empty values in column {name}: give a file where rows are whole.")


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _as_texts(column: pa.Array) -> pa.Array:
    try:
        return pc.cast(pc.cast(column, pa.string()), pa.binary()).fill_null(b"")
    except pa.ArrowException:  # nested columns have no plain text
        return pa.array([repr(value).encode() for value in column.to_pylist()], pa.binary())


def _check_zip(path: Path, report: Report, problems: Problems) -> None:
    report.format = "zip"
    with open_zip(path, report.file) as archive:
        _check_members(archive, report, problems)


def _check_members(archive: ZipFile, report: Report, problems: Problems) -> None:
    ratings, info = (_member(archive, f"anime_{part}.dat") for part in ("ratings", "info"))
    if not ratings:
        count = len([name for name in archive.namelist() if not name.endswith("/")])
        raise DataFileError(f"{report.file} is a zip of {count} other files: unpack it and check those.")
    if not info:
        problems.complain(None, "holds no anime_info.dat: fetch the file again.")
    for member, layout in ((info, ANIME_INFO), (ratings, ANIME_RATINGS)):  # what is told of columns is the latter's
        if member:
            found = Report(report.file)
            inner = Problems(f"{report.file}: {ascii(member)[1:-1]}")
            with Source(archive.open(member), inner.name) as source:
                try:
                    _check_layout(source, layout, found, inner)
                finally:
                    problems.told += inner.sentences()
                    report.rows, report.columns, report.label_share = found.rows, found.columns, found.label_share
    report.format = "anime ratings and titles (zip)"
    if bad := archive.testzip():
        problems.complain(None, f"is damaged in its part {bad!a}: fetch the file again.")


def _member(archive: ZipFile, ending: str) -> str:
    return next((name for name in archive.namelist() if name.split("/")[-1] == ending), "")


def lines(report: Report) -> Iterator[str]:
    """The report as text: what it is, its columns, and each problem or that there is none."""
    size = f"{report.size / 1e6:,.1f} MB" if report.size >= 1e5 else f"{report.size:,} bytes"
    facts = [size, f"{report.rows:,} rows"] if report.size else []
    if report.label_share is not None:
        facts.append(f"{report.label_share:.1%} clicks")
    if facts and report.format != "unknown":
        yield f"{report.file}: {report.format}; {', '.join(facts)}"
    if report.columns:
        told = [f"{c.name} {'' if c.exact else 'about '}{c.distinct:,}" for c in report.columns]
        yield f"different values: {', '.join(told)}"
    yield from report.problems
    if report.whole:
        yield "It is whole."


def as_json(report: Report) -> dict[str, Any]:
    """The report as plain values."""
    return {**asdict(report), "whole": report.whole}

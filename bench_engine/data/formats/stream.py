"""Bytes of a text file as a stream: plain, gzip (known by its content) or a member of a zip file."""

import gzip
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO

from bench_engine.data.files import data_dir, find
from bench_engine.data.problems import DataFileError, reason

BLOCK, LONGEST = 4 << 20, 4 << 20  # bytes that are read at a time, and of the longest line
GZIP = b"\x1f\x8b"
DOUBLE_COLON = b"\x1f"  # stands for `::`, which is no single character, in what is read
_DAMAGE = (OSError, EOFError, RuntimeError, UnicodeDecodeError, zlib.error, lzma.LZMAError, zipfile.BadZipFile)


class Source:
    """A stream that is read once, by `read` or in lines.

    Attributes:
        name: what messages call the file.
        packed: whether it is unpacked from gzip.
        open_line: whether what was read in lines so far ends without a newline.
    """

    def __init__(self, raw: IO[bytes], name: str, double_colon: bool = False, packed: bool = False) -> None:
        self.name = name
        self.packed = packed
        self.open_line = False
        self._raw = raw
        self._double_colon = double_colon

    def __enter__(self) -> "Source":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._raw.close()

    def read(self, size: int) -> bytes:
        """At most `size` bytes. Raises DataFileError for a damaged file."""
        try:
            return self._raw.read(size)
        except _DAMAGE as error:
            raise _damaged(self.name, error) from error

    def blocks(self) -> Iterator[bytes]:
        """Whole lines, some BLOCK bytes at a time; the last of all may lack its newline.

        Raises DataFileError for a damaged file and for a line of more than LONGEST bytes.
        """
        rest = b""
        while data := self.read(BLOCK):
            data = rest + data
            end = data.rfind(b"\n") + 1
            rest = data[end:]
            self.open_line = bool(rest)
            if end:
                yield self._coded(data[:end])
            if len(rest) > LONGEST:
                raise DataFileError(f"{self.name} has a line of more than {LONGEST >> 20} MB: fetch the file again.")
        if rest:
            yield self._coded(rest)

    def lines(self) -> Iterator[bytes]:
        """The lines, without their newlines. Raises DataFileError as `blocks` does."""
        for block in self.blocks():
            yield from block.removesuffix(b"\n").split(b"\n")

    def _coded(self, lines: bytes) -> bytes:
        return lines.replace(b"::", DOUBLE_COLON) if self._double_colon else lines


def open_text(path: Path, name: str = "", double_colon: bool = False) -> Source:
    """A stream of the (unpacked) text. Raises DataFileError where the file cannot be opened."""
    name = name or path.name
    try:
        raw = path.open("rb")
        try:
            packed = raw.read(2) == GZIP
            raw.seek(0)
        except OSError:
            raw.close()
            raise
    except OSError as error:
        raise DataFileError(f"{name} cannot be opened ({error.strerror}): {_cure(error)}.") from error
    return Source(gzip.GzipFile(fileobj=raw) if packed else raw, name, double_colon, packed)  # type: ignore[arg-type]


def open_data(file: str, double_colon: bool = False) -> Source:
    """A stream of a text file below the data folder. Raises DataMissingError or DataFileError."""
    path = find(file)
    return open_text(path, path.relative_to(data_dir()).as_posix(), double_colon)


@contextmanager
def open_zip(path: Path, name: str) -> Iterator[zipfile.ZipFile]:
    """An archive. Raises DataFileError for a damaged or encrypted one, of what is done with it too."""
    try:
        with zipfile.ZipFile(path) as archive:
            if any(member.flag_bits & 1 for member in archive.infolist()):
                raise DataFileError(f"{name} is encrypted: give an archive without a password.")
            yield archive
    except _DAMAGE as error:
        raise _damaged(name, error) from error


def _damaged(name: str, error: Exception) -> DataFileError:
    return DataFileError(f"{name} is cut off or damaged ({reason(error)}): fetch it again.")


def _cure(error: OSError) -> str:
    cures: dict[type[OSError], str] = {
        PermissionError: "let your user read it, as in chmod u+r",
        IsADirectoryError: "name a file in it",
        FileNotFoundError: "see whether the path is right",
    }
    return cures.get(type(error), "see whether the disk is well")

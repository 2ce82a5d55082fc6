"""Bytes of a text file as a stream: plain, gzip (known by its content) or a member of a zip file."""

import gzip
import io
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from bench_engine.data.problems import DataFileError

BLOCK, LONGEST = 1 << 20, 4 << 20
GZIP = b"\x1f\x8b"
DOUBLE_COLON = b"\x1f"  # stands for `::`, which is no single character, in what is read


class Source(io.RawIOBase):
    """A stream that knows how many lines it has given and whether the last one was ended.

    Attributes:
        name: what messages call the file.
        newlines: newlines read so far.
        open_line: whether the last byte read was no newline.
    """

    def __init__(self, raw: IO[bytes], name: str, double_colon: bool = False) -> None:
        self.name = name
        self.newlines = 0
        self.open_line = False
        self._raw = raw
        self._double_colon = double_colon

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes, one more where `::` would be cut. Raises DataFileError for a damaged file."""
        data = self._read(size)
        if self._double_colon:
            if data.endswith(b":"):
                data += self._read(1)
            data = data.replace(b"::", DOUBLE_COLON)
        if data:
            self.newlines += data.count(b"\n")
            self.open_line = not data.endswith(b"\n")
        return data

    def lines(self) -> Iterator[bytes]:
        """The lines, without their newlines. Raises DataFileError for one of more than LONGEST bytes too."""
        rest = b""
        while data := self.read(BLOCK):
            *whole, rest = (rest + data).split(b"\n")
            yield from whole
            if len(rest) > LONGEST:
                raise DataFileError(f"{self.name} has a line of more than {LONGEST >> 20} MB: fetch the file again.")
        if rest:
            yield rest

    def close(self) -> None:
        if not self.closed:
            self._raw.close()
        super().close()

    def _read(self, size: int) -> bytes:
        try:
            return self._raw.read(size)
        except (OSError, EOFError, zlib.error, zipfile.BadZipFile) as error:
            raise DataFileError(f"{self.name} is cut off or damaged ({error}): fetch it again.") from error


def open_text(path: Path, name: str = "", double_colon: bool = False) -> Source:
    """A stream of the (unpacked) text. Raises DataFileError where the file cannot be opened."""
    name = name or path.name
    try:
        raw = path.open("rb")
    except OSError as error:
        raise DataFileError(f"{name} cannot be opened ({error.strerror}): {_cure(error)}.") from error
    packed = raw.read(2) == GZIP
    raw.seek(0)
    return Source(gzip.GzipFile(fileobj=raw) if packed else raw, name, double_colon)  # type: ignore[arg-type]


def _cure(error: OSError) -> str:
    cures: dict[type[OSError], str] = {
        PermissionError: "let your user read it, as in chmod u+r",
        IsADirectoryError: "name a file in it",
        FileNotFoundError: "see whether the path is right",
    }
    return cures.get(type(error), "see whether the disk is well")

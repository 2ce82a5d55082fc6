"""Text files that are not UTF-8: a copy of theirs that is."""

import codecs
import errno
import gzip
import zlib
from pathlib import Path
from typing import IO

MOST_MB = 2000  # of a copy
_BLOCK = 1 << 20
_HEAD = 1 << 16
_CONTROLS = bytes(b for b in range(32) if b not in b"\t\n\r\f\v\x1a\x1b") + b"\x7f"
_FEW_CONTROLS = 8  # a slip, which the line that has it is named for
_SHARE_OF_CONTROLS = 0.03  # of the bytes; of random ones they are a tenth
CUT_OFF = (gzip.BadGzipFile, zlib.error, EOFError)  # what reading a packed file raises that is not whole


def opened(path: Path) -> IO[bytes]:
    """The bytes of a file, unpacked where its name ends in .gz."""
    return gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb")  # type: ignore[return-value]


def is_utf16(path: Path) -> bool:
    """Whether the file says that it is UTF-16, as Excel's “Unicode text” is."""
    with opened(path) as file:
        return file.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def is_no_text(path: Path) -> bool:
    """Whether the file begins as no text does: with many bytes that stand for no letter. UTF-16 says what it is."""
    with opened(path) as file:
        head = file.read(_HEAD)
    odd = len(head) - len(head.translate(None, _CONTROLS))
    known = head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return not known and odd > max(_FEW_CONTROLS, _SHARE_OF_CONTROLS * len(head))


def is_other_text(path: Path) -> bool:
    """Whether the file is text, but not UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    utf8 = True
    with opened(path) as file:
        while block := file.read(_BLOCK):
            if b"\0" in block:
                return False
            try:
                decoder.decode(block)
            except UnicodeDecodeError:
                utf8 = False
                decoder.reset()
    return not utf8


def as_utf8(path: Path, copy: Path) -> str:
    """Write the file as UTF-8 to `copy`, and say how it was read. Lines that are UTF-8 already stay as they are.

    Raises OSError (EFBIG) where the copy would be larger than MOST_MB: a packed file of a megabyte may be one of many.
    """
    left = MOST_MB * 1_000_000
    if is_utf16(path):
        with opened(path) as file, copy.open("w", encoding="utf-8", newline="") as into:
            for text in codecs.iterdecode(iter(lambda: file.read(_BLOCK), b""), "utf-16"):
                left -= into.write(text)
                _check_room(path, left)
        return f"{path.name} is UTF-16 text and is read as such."
    odd = 0
    with opened(path) as file, copy.open("wb") as into:
        for line in file:
            try:
                line.decode()
            except UnicodeDecodeError:
                odd += 1
                line = _older(line)
            left -= into.write(line)
            _check_room(path, left)
    lines = "One line" if odd == 1 else f"{odd:,} lines"
    return f"{lines} of {path.name} {'is' if odd == 1 else 'are'} not UTF-8 and read as Windows-1252."


def _check_room(path: Path, left: int) -> None:
    if left < 0:
        raise OSError(errno.EFBIG, f"it holds more than {MOST_MB:,} MB of text", path.name)


def _older(line: bytes) -> bytes:
    try:
        return line.decode("cp1252").encode()
    except UnicodeDecodeError:  # bytes that only Latin-1 knows
        return line.decode("latin-1").encode()

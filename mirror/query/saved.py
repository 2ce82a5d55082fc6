"""Saved questions with the SQL that answers them: one small file, a JSON object a line, that people add to by hand."""

import contextlib
import fcntl
import hashlib
import json
import math
import os
import re
import stat
import time
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from db.plain_text import printable
from db.settings import home, setting

MAX_SAVED = 1_000
MAX_BYTES = 4_000_000
MAX_QUESTION = 1_000
MAX_SQL = 20_000
MAX_NOTE = 1_000
LEAST_ALIKE = 0.35  # below that, questions have little more than everyday words in common
_PATIENCE_S = 5.0  # another process needs milliseconds to write the file

_WORD = re.compile(r"\d+(?:\.\d+)?%?|[^\W\d_]+|[<>=]+")


class SavedError(ValueError):
    """Saved questions cannot be read or written; the message is a sentence, and what was saved before is kept."""


@dataclass(frozen=True)
class SavedQuestion:
    """One question and its answer.

    Attributes:
        question: plain words, on one line.
        sql: the statement that answers it, perhaps edited by a person; it runs, like any, through the guard.
        note: what a person says about it.
        saved_at: when it was saved last, ISO text in UTC.
    """

    question: str
    sql: str
    note: str = ""
    saved_at: str = ""

    @property
    def said(self) -> str:
        """How an answer came about that was saved: when, and with which note."""
        when = f"saved with its SQL on {self.saved_at[:10]}" if self.saved_at else "saved with its SQL"
        return f"{when}: {self.note}" if self.note else when


def saved_path(url: str) -> Path:
    """File of the saved questions for a results URL: MIRROR_SAVED, else beside the DuckDB file.

    `x.duckdb` has `x.saved.jsonl`; all other databases share `db/shared.saved.jsonl`.
    """
    if given := setting("MIRROR_SAVED"):
        return Path(given).expanduser()
    path = url.removeprefix("duckdb:///")
    if url.startswith("duckdb:///") and path != ":memory:":
        return Path(path).with_suffix(".saved.jsonl")
    return home() / "shared.saved.jsonl"


def saved_path_of(where: str) -> Path:
    """File of the saved questions for other data: beside those of the results, for nothing is written beside theirs.

    `where` says which data: `Source.where` of mirror.data.
    """
    known = hashlib.sha256(where.encode(errors="surrogatepass")).hexdigest()[:16]
    given = setting("MIRROR_SAVED")
    folder = Path(given).expanduser().parent if given else home()
    return folder / "other_data" / f"{known}.saved.jsonl"


def same_question(question: str) -> str:
    """What two spellings of one question have in common: no case, no spare spaces, no mark at the end."""
    text = unicodedata.normalize("NFKC", printable(question)).casefold()
    return " ".join(text.split()).rstrip(" ?.!")


class Saved:
    """The saved questions of one file. Several processes may use it at once: a writer waits for its turn, a reader
    sees the file as it was before or after.

    Lines that nobody can read (cut off, edited by mistake) are passed over, and kept when the file is written.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)

    def all(self) -> tuple[SavedQuestion, ...]:
        """All of them, oldest first. Raises SavedError."""
        return tuple(self._contents().saved.values())

    def find(self, question: str) -> SavedQuestion | None:
        """The one saved for this very question, however it is spaced and capitalised. Raises SavedError."""
        return self._contents().saved.get(same_question(question))

    def nearest(self, question: str, k: int = 3) -> tuple[SavedQuestion, ...]:
        """At most `k` saved questions that are worded like this one, the most alike first. Raises SavedError.

        Likeness is the cosine of tf-idf weights over words, numbers and the three-letter parts of words ("lookups" is
        near "lookup"), with the saved questions as the collection. Below LEAST_ALIKE nothing is returned.
        """
        saved = self.all()
        bags = [_features(s.question) for s in saved]
        seen = Counter(f for bag in bags for f in bag)
        weight = {f: math.log(1 + len(bags) / n) for f, n in seen.items()}
        asked = _weighted(_features(question), weight, math.log(1 + len(bags)))
        alike = [(_cosine(asked, _weighted(bag, weight)), i) for i, bag in enumerate(bags)]
        best = sorted((a for a in alike if a[0] >= LEAST_ALIKE), key=lambda a: (-a[0], -a[1]))
        return tuple(saved[i] for _, i in best[: max(0, k)])

    def add(self, question: str, sql: str, note: str = "") -> SavedQuestion:
        """Save a question with its SQL, in the place of the same question saved before. Returns what was saved.

        Raises SavedError for an empty or too long text, SQL with invisible characters, a full file or a full disk.
        """
        now = datetime.now(UTC).replace(tzinfo=None).isoformat(timespec="seconds")
        words, remark = (" ".join(printable(text).split()) for text in (question, note))
        fresh = _checked(SavedQuestion(words, sql.strip(), remark, now))
        key = same_question(fresh.question)
        with self._turn():
            contents = self._contents()
            if key not in contents.saved and len(contents.saved) >= MAX_SAVED:
                raise SavedError(f"{MAX_SAVED:,} questions are saved, and no more can be: remove one first.")
            self._write(replace(contents, saved={**contents.saved, key: fresh}))
        return fresh

    def remove(self, question: str) -> bool:
        """Remove a question; whether it was there. Raises SavedError."""
        with self._turn():
            contents = self._contents()
            if contents.saved.pop(same_question(question), None) is None:
                return False
            self._write(contents)
        return True

    # -- the file ------------------------------------------------------------------------------------------------------

    def _contents(self) -> "_Contents":
        try:
            # A device could be read for ever, and would be replaced by a file when written.
            if not stat.S_ISREG(self._path.stat().st_mode):
                raise SavedError(f"{self._path.name} is no file: name one for the saved questions with MIRROR_SAVED.")
            data = self._path.read_bytes() if self._path.stat().st_size <= MAX_BYTES else None
        except FileNotFoundError:
            return _Contents()
        except OSError as error:
            raise SavedError(f"The saved questions ({self._path.name}) cannot be read: {error.strerror}.") from error
        if data is None:
            raise SavedError(
                f"{self._path.name} is larger than {MAX_BYTES // 1_000_000} MB, so it is no list of saved questions: "
                "move it away, or name another file with MIRROR_SAVED."
            )
        saved: dict[str, SavedQuestion] = {}
        unread = []
        for line in data.split(b"\n"):
            if found := _from_line(line):
                saved[same_question(found.question)] = found
            elif line.strip():
                unread.append(line)
        return _Contents(saved, tuple(unread))

    def _write(self, contents: "_Contents") -> None:
        """Put the contents in the place of the file, whole or not at all."""
        lines = [json.dumps(asdict(s)).encode() for s in contents.saved.values()]
        data = b"".join(line + b"\n" for line in (*contents.unread, *lines))
        if len(data) > MAX_BYTES:
            raise SavedError(
                f"{self._path.name} would grow beyond {MAX_BYTES // 1_000_000} MB: remove a question first."
            )
        path = self._path.resolve()  # a link stays a link
        temporary = path.with_name(f"{path.name}.part")
        try:
            with temporary.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            with contextlib.suppress(FileNotFoundError):
                temporary.chmod(path.stat().st_mode & 0o777)
            os.replace(temporary, path)
        except OSError as error:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise self._unwritable(error) from error

    @contextlib.contextmanager
    def _turn(self) -> Iterator[None]:
        """Be the only one that writes. The lock is a file of its own, since the list itself is replaced."""
        path = self._path.resolve()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(path.with_name(f"{path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise self._unwritable(error) from error
        try:
            deadline = time.monotonic() + _PATIENCE_S
            while True:
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > deadline:
                        raise SavedError(
                            f"Another process has been writing {self._path.name} for {_PATIENCE_S:g} s: try again."
                        ) from None
                    time.sleep(0.01)
                except OSError as error:
                    raise self._unwritable(error) from error
            yield
        finally:
            os.close(handle)  # which frees the lock

    def _unwritable(self, error: OSError) -> SavedError:
        return SavedError(
            f"The saved questions ({self._path.name}) cannot be written: {error.strerror}. What was saved before is "
            "kept; mend that, or name another file with MIRROR_SAVED."
        )


@dataclass(frozen=True)
class _Contents:
    """A file: the questions by what `same_question` makes of them, and the lines that cannot be read."""

    saved: dict[str, SavedQuestion] = field(default_factory=dict)
    unread: tuple[bytes, ...] = ()


def _from_line(line: bytes) -> SavedQuestion | None:
    try:
        data: Any = json.loads(line)
        return _checked(SavedQuestion(**data))
    except (ValueError, TypeError, RecursionError):
        return None


def _checked(saved: SavedQuestion) -> SavedQuestion:
    """The same. Raises SavedError for what cannot be shown, run or kept."""
    limits = {"question": MAX_QUESTION, "sql": MAX_SQL, "note": MAX_NOTE, "saved_at": 40}
    for name, most in limits.items():
        text = getattr(saved, name)
        if not isinstance(text, str):
            raise SavedError(f"{name} is a text.")
        if len(text) > most:
            raise SavedError(f"The {name} has {len(text):,} characters: {most:,} is the most that is saved.")
        if printable(text, keep="\n\r\t" if name == "sql" else "") != text:
            raise SavedError(f"The {name} holds an invisible character: type it anew, with plain spaces.")
    if not same_question(saved.question):
        raise SavedError("There is no question to save: write it first.")
    if not saved.sql:
        raise SavedError("There is no SQL to save with the question: write it first.")
    return saved


# -- likeness ----------------------------------------------------------------------------------------------------------


def _features(question: str) -> Counter[str]:
    """Words and numbers, and the three-letter parts of words with a mark at both ends."""
    words = _WORD.findall(same_question(question))
    parts = [f" {w} "[i : i + 3] for w in words if w.isalpha() for i in range(len(w))]
    return Counter([*words, *parts])


def _weighted(bag: Counter[str], weight: dict[str, float], unseen: float = 0.0) -> dict[str, float]:
    return {f: n * weight.get(f, unseen) for f, n in bag.items()}


def _cosine(a: dict[str, float], b: dict[str, float]) -> float:
    dot = sum(w * b.get(f, 0.0) for f, w in a.items())
    size = math.hypot(*a.values()) * math.hypot(*b.values())
    return dot / size if size else 0.0

"""Saved questions with the SQL that answers them: one small file, a JSON object a line, that people add to by hand."""

import hashlib
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from db.plain_text import printable
from db.settings import home, setting
from mirror.query.kept.json_lines import read_lines, written_lines
from mirror.query.kept.same_question import same_question
from mirror.query.kept.whole_file import WholeFile

MAX_SAVED = 1_000
MAX_BYTES = 4_000_000
MAX_QUESTION = 1_000
MAX_SQL = 20_000
MAX_NOTE = 1_000
LEAST_ALIKE = 0.35  # below that, questions have little more than everyday words in common

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


class Saved:
    """The saved questions of one file. Several processes may use it at once: a writer waits for its turn, a reader
    sees the file as it was before or after.

    Lines that nobody can read (cut off, edited by mistake) are passed over, and kept when the file is written.
    """

    def __init__(self, path: str | Path) -> None:
        self._file = WholeFile(Path(path), "saved questions", SavedError, "MIRROR_SAVED")

    def all(self) -> tuple[SavedQuestion, ...]:
        """All of them, oldest first. Raises SavedError."""
        return tuple(self._contents().saved.values())

    def find(self, question: str) -> SavedQuestion | None:
        """The one saved for this very question, however it is spaced and capitalised. Raises SavedError."""
        return self._contents().saved.get(same_question(question))

    def nearest(self, question: str, k: int = 3) -> tuple[SavedQuestion, ...]:
        """At most `k` saved questions that are worded like this one, as `most_alike` says. Raises SavedError."""
        saved = self.all()
        return tuple(saved[i] for i in most_alike(question, [s.question for s in saved], k))

    def add(self, question: str, sql: str, note: str = "") -> SavedQuestion:
        """Save a question with its SQL, in the place of the same question saved before. Returns what was saved.

        Raises SavedError for an empty or too long text, SQL with invisible characters, a full file or a full disk.
        """
        now = datetime.now(UTC).replace(tzinfo=None).isoformat(timespec="seconds")
        words, remark = (" ".join(printable(text).split()) for text in (question, note))
        fresh = _checked(SavedQuestion(words, sql.strip(), remark, now))
        key = same_question(fresh.question)
        with self._file.turn():
            contents = self._contents()
            if key not in contents.saved and len(contents.saved) >= MAX_SAVED:
                raise SavedError(f"{MAX_SAVED:,} questions are saved, and no more can be: remove one first.")
            self._write(replace(contents, saved={**contents.saved, key: fresh}))
        return fresh

    def remove(self, question: str) -> bool:
        """Remove a question; whether it was there. Raises SavedError."""
        with self._file.turn():
            contents = self._contents()
            if contents.saved.pop(same_question(question), None) is None:
                return False
            self._write(contents)
        return True

    # -- the file ------------------------------------------------------------------------------------------------------

    def _contents(self) -> "_Contents":
        found, unread = read_lines(self._file.read(MAX_BYTES) or b"", lambda held: _checked(SavedQuestion(**held)))
        return _Contents({same_question(saved.question): saved for saved in found}, unread)

    def _write(self, contents: "_Contents") -> None:
        data = written_lines(contents.unread, map(asdict, contents.saved.values()))
        if len(data) > MAX_BYTES:
            raise SavedError(
                f"{self._file.path.name} would grow beyond {MAX_BYTES // 1_000_000} MB: remove a question first."
            )
        self._file.write(data)


@dataclass(frozen=True)
class _Contents:
    """A file: the questions by what `same_question` makes of them, and the lines that cannot be read."""

    saved: dict[str, SavedQuestion] = field(default_factory=dict)
    unread: tuple[bytes, ...] = ()


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


def most_alike(question: str, others: Sequence[str], k: int) -> tuple[int, ...]:
    """The places of at most `k` questions that are worded like one, the most alike first.

    Likeness is the cosine of tf-idf weights over words, numbers and the three-letter parts of words ("lookups" is near
    "lookup"), with the other questions as the collection. Below LEAST_ALIKE none is.
    """
    bags = [_features(other) for other in others]
    seen = Counter(f for bag in bags for f in bag)
    weight = {f: math.log(1 + len(bags) / n) for f, n in seen.items()}
    asked = _weighted(_features(question), weight, math.log(1 + len(bags)))
    alike = [(_cosine(asked, _weighted(bag, weight)), i) for i, bag in enumerate(bags)]
    best = sorted((a for a in alike if a[0] >= LEAST_ALIKE), key=lambda a: (-a[0], -a[1]))
    return tuple(i for _, i in best[: max(0, k)])


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

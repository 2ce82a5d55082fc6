"""The file of what was learnt about one source: read, added to, and taken back from."""

import os
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from mirror.query.kept.learnt_text import (
    MAX_BYTES,
    MAX_FORM,
    MAX_TEXT,
    HeardWord,
    LearntContents,
    LearntError,
    LearntQuestion,
    contents_of,
    written,
)
from mirror.query.kept.same_question import same_words
from mirror.query.kept.whole_file import WholeFile

MAX_QUESTIONS, MAX_WORDS, MAX_HEARD = 500, 500, 200
NEEDED = 2  # different questions in which a word must be heard before it is used
_MOST_BROKEN = 100  # files that are kept aside


def learnt_path(saved: Path) -> Path:
    """The file beside that of the saved questions: `x.saved.jsonl` has `x.learnt.yaml`."""
    return saved.with_name(f"{saved.name.removesuffix('.jsonl').removesuffix('.saved')}.learnt.yaml")


class Learnt:
    """One file. Several processes may use it at once; it need not be there.

    A file that cannot be read is never written over: what is learnt next begins a new one, and the other is kept
    beside it.
    """

    def __init__(self, path: Path, about: str = "") -> None:
        self.path, self._about = path, about or path.name
        self._file = WholeFile(path, "learnt words", LearntError, "MIRROR_SAVED")

    def contents(self) -> LearntContents:
        """All of it. Raises LearntError."""
        try:
            found = self.path.stat()
        except OSError:
            return self.read()
        return _parsed(str(self.path), (found.st_mtime_ns, found.st_size, found.st_ino))

    def read(self) -> LearntContents:
        """The same, read anew. Raises LearntError."""
        data = self._file.read(MAX_BYTES)
        return LearntContents() if data is None else contents_of(data, self.path.name)

    def find(self, question: str) -> LearntQuestion | None:
        """The reading that was chosen for this question, however it is spaced, capitalised and punctuated. Raises
        LearntError."""
        wanted = same_words(question)
        return next((q for q in self.contents().questions if same_words(q.asked) == wanted), None)

    def choose(self, chosen: LearntQuestion | None, word: HeardWord | None = None) -> str:
        """Learn a reading that was chosen, and a word that it explains. Returns what the person must know, if anything.

        Raises LearntError.
        """

        def add(contents: LearntContents) -> LearntContents:
            contents = _with_question(contents, chosen) if chosen and _fits(chosen) else contents
            return _with_word(contents, word) if word else contents

        return self._change(add)

    def keep(self, word: str) -> bool:
        """Use a word that was heard from now on; whether it was heard. Raises LearntError."""
        found = next((h for h in self.contents().heard if h.word == word.lower()), None)
        if found is not None:
            self._change(lambda contents: _in_use(contents, found))
        return found is not None

    def forget(self, text: str) -> bool:
        """Take back a question or a word; whether it was there. Raises LearntError."""
        known, key = self.contents(), same_words(text)
        if _without(known, key) == known:
            return False
        self._change(lambda contents: _without(contents, key))
        return True

    def forget_all(self) -> int:
        """Take back all of it; how much that was. Raises LearntError."""
        known = self.contents()
        there = len(known.questions) + len(known.words) + len(known.heard)
        if there:
            self._change(lambda _: LearntContents())
        return there

    def _change(self, change: Callable[[LearntContents], LearntContents]) -> str:
        note = ""
        with self._file.turn():
            try:
                known = self.read()
            except LearntError as error:
                note = f"{error} It is kept as {self._put_aside()}, and what is learnt from now on begins a new file."
                known = LearntContents()
            fresh = change(known)
            if fresh != known or note:
                self._file.write(written(fresh, self._about))
        return note

    def _put_aside(self) -> str:
        """Keep a file that cannot be read under a name that is free; that name. Raises LearntError."""
        for n in range(1, _MOST_BROKEN):
            aside = self.path.with_name(f"{self.path.name}.broken-{n}")
            try:
                os.link(self.path, aside)  # which, unlike a move, takes no other file's place
                self.path.unlink()
            except FileExistsError:
                continue
            except OSError as error:
                raise LearntError(f"{self.path.name} cannot be kept aside: {error.strerror}.") from error
            return aside.name
        raise LearntError(f"{self.path.name} cannot be read, and {_MOST_BROKEN} such files are kept: move them away.")


@lru_cache(maxsize=16)
def _parsed(path: str, stamp: tuple[int, int, int]) -> LearntContents:
    """What a file holds, parsed once for as long as its stamp stays the same."""
    del stamp
    return Learnt(Path(path)).read()


def today() -> str:
    """The date of an entry."""
    return datetime.now(UTC).date().isoformat()


def _fits(chosen: LearntQuestion) -> bool:
    within = len(chosen.asked) <= MAX_TEXT and len(chosen.meant) <= MAX_TEXT
    return within and len(str(chosen.form)) <= MAX_FORM


def _with_question(contents: LearntContents, chosen: LearntQuestion) -> LearntContents:
    """With the reading in the place of one that was chosen before for the same question."""
    key = same_words(chosen.asked)
    before = next((q for q in contents.questions if same_words(q.asked) == key), None)
    others = tuple(q for q in contents.questions if q is not before)
    again = before is not None and (before.form, before.meant) == (chosen.form, chosen.meant)
    entry = replace(chosen, count=before.count + 1 if before and again else 1, date=today())
    return replace(contents, questions=(*others, entry)[-MAX_QUESTIONS:])


def _with_word(contents: LearntContents, heard: HeardWord) -> LearntContents:
    """With a word that was heard, which comes into use when it meant the same in enough questions."""
    if heard.word in contents.words:
        return contents
    before = next((h for h in contents.heard if h.word == heard.word), None)
    others = tuple(h for h in contents.heard if h is not before)
    asked = heard.asked
    if before and before.means == heard.means:  # else it may mean several things: it begins anew
        known = {same_words(q) for q in before.asked}
        asked = (*before.asked, *(q for q in asked if same_words(q) not in known))
    entry = replace(heard, asked=asked, date=today())
    if len(asked) >= NEEDED:
        return _in_use(contents, entry)
    return replace(contents, heard=(*others, entry)[-MAX_HEARD:])


def _in_use(contents: LearntContents, heard: HeardWord) -> LearntContents:
    words = {**contents.words, heard.word: heard.means}
    newest = dict(list(words.items())[-MAX_WORDS:])
    return replace(contents, words=newest, heard=tuple(h for h in contents.heard if h.word != heard.word))


def _without(contents: LearntContents, key: str) -> LearntContents:
    """Without a question or a word; what was heard in the question alone goes with it."""
    heard = []
    for h in contents.heard:
        asked = tuple(q for q in h.asked if same_words(q) != key)
        if h.word != key and asked:
            heard.append(replace(h, asked=asked))
    return LearntContents(
        tuple(q for q in contents.questions if same_words(q.asked) != key),
        {w: means for w, means in contents.words.items() if w != key},
        tuple(heard),
    )

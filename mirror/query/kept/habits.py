"""What was learnt about one source, for those who answer: whatever is wrong with its file is a note, never an error."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from db.settings import setting
from mirror.query.kept.learnt_file import Learnt, learnt_path
from mirror.query.kept.learnt_text import HeardWord, LearntContents, LearntError, LearntQuestion

_OFF = ("0", "off", "no")


def is_learning() -> bool:
    """Whether the settings let Mirror learn from choices."""
    return setting("MIRROR_LEARNT", "1").lower() not in _OFF


@dataclass(frozen=True)
class Habit:
    """Something learnt that bears on an answer: it can be told, and taken back.

    Attributes:
        kind: question for a reading that was chosen before, chosen for one that was chosen just now, word for a word in
            use, heard for one that is not yet.
        text: the question, or the word.
        means: the choice, or what the word names.
        path: the file that holds it.
    """

    kind: Literal["question", "chosen", "word", "heard"]
    text: str
    means: str
    path: Path

    @property
    def said(self) -> str:
        """In one sentence."""
        if self.kind == "question":
            return f"You chose this reading before: “{self.means}”."
        if self.kind == "chosen":
            return f"Asked again, “{self.text}” is answered so at once."
        if self.kind == "word":
            return f"“{self.text}” is taken for {self.means}, as you chose before."
        return f"“{self.text}” seems to mean {self.means}: chosen once more in another question, it is read so."

    @property
    def current(self) -> "Habit | None":
        """The same as its file has it by now; None where it was taken back. Raises LearntError."""
        known = Learnt(self.path).contents()
        if self.kind in ("question", "chosen"):
            return self if Learnt(self.path).find(self.text) else None
        if self.text in known.words:
            return replace(self, kind="word", means=known.words[self.text])
        return self if self.kind == "heard" and any(h.word == self.text for h in known.heard) else None

    def forget(self) -> bool:
        """Take it back; whether it was still there. Raises LearntError."""
        return Learnt(self.path).forget(self.text)

    def keep(self) -> bool:
        """Use a word that was heard from now on; whether it was still there. Raises LearntError."""
        return Learnt(self.path).keep(self.text)


class Habits:
    """What was learnt about one source."""

    def __init__(self, saved: Path, about: str, on: bool = True) -> None:
        """Look at what its file holds now.

        Args:
            saved: the file of its saved questions, which the learnt file lies beside.
            about: what to call the source, without a password.
            on: whether anything is read or learnt; never where MIRROR_LEARNT is 0.
        """
        on = on and is_learning()
        self._file = Learnt(learnt_path(saved), about) if on else None
        self.note = ""
        self._contents = LearntContents()
        if self._file:
            try:
                self._contents = self._file.contents()
            except LearntError as error:
                self.note = str(error)

    @property
    def file(self) -> Learnt | None:
        """The file; None where nothing is read or learnt."""
        return self._file

    @property
    def words(self) -> Mapping[str, str]:
        """Words in use, with what each names."""
        return self._contents.words

    def recall(self, question: str) -> LearntQuestion | None:
        """The reading that was chosen for a question before; None where there is none."""
        try:
            return self._file.find(question) if self._file and not self.note else None
        except LearntError:  # the file is another since it was looked at
            return None

    @property
    def asked(self) -> tuple[str, ...]:
        """The questions that were answered by a choice."""
        return tuple(q.asked for q in self._contents.questions)

    def choose(
        self, asked: str, meant: str, form: Mapping[str, Any] | None, word: tuple[str, str] | None, whole: bool = True
    ) -> tuple[str, tuple[Habit, ...]]:
        """Learn that a reading was chosen. Returns what the person must know, and what can be taken back.

        Args:
            asked: the question.
            meant: the choice, in words.
            form: the choice as a form; None where its words say it.
            word: a word of the question that the choice explains, and what it would have to name.
            whole: whether the question may be answered so when it is asked again.
        """
        if self._file is None:
            return "", ()
        heard = HeardWord(word[0], word[1], (asked,)) if word else None
        try:
            note = self._file.choose(LearntQuestion(asked, meant, form) if whole else None, heard)
            known = self._file.contents()
        except LearntError as error:
            return f"This choice could not be kept. {error}", ()
        learnt = [Habit("chosen", asked, meant, self._file.path)] if whole else []
        if heard and (named := known.words.get(heard.word)):
            learnt.append(Habit("word", heard.word, named, self._file.path))
        elif heard:
            learnt.append(Habit("heard", heard.word, heard.means, self._file.path))
        return note, tuple(learnt)

    def of_question(self, found: LearntQuestion) -> Habit:
        """A reading that was recalled, as what can be taken back."""
        assert self._file
        return Habit("question", found.asked, found.meant, self._file.path)

    def of_words(self, used: Mapping[str, str]) -> tuple[Habit, ...]:
        """Words that an answer used, as what can be taken back."""
        return tuple(Habit("word", w, means, self._file.path) for w, means in used.items()) if self._file else ()

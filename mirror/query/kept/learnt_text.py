"""What was learnt about one source, as the YAML text that people open and edit, and back.

Sections, dates and counts may be left out.

    questions:                         # answered at once by the reading that was chosen
    - asked: how many punters per city
      meant: Show the number of customers by customer city
      form: {measure: [count(customers)], by: [customers.city]}
      date: '2026-11-23'
      count: 1
    words:                             # read as what they name
      punters: customers
    heard:                             # as words, but not used before they are chosen in another question
    - {word: dosh, means: books.list_price, asked: [average dosh of books], date: '2026-11-23'}
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from db.plain_text import plain_text, printable

MAX_BYTES = 256_000
MAX_TEXT, MAX_WORD, MAX_FORM = 1_000, 40, 20_000  # characters
_DEEPEST = 8  # a query over the results holds lists of objects with lists of values
_SECTIONS = ("questions", "words", "heard")
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_Dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class LearntError(ValueError):
    """What was learnt cannot be read or written; the message is one sentence."""


@dataclass(frozen=True)
class LearntQuestion:
    """A question, and the reading that was chosen for it.

    Attributes:
        asked: the question.
        meant: the choice, in words.
        form: the same as a form that `mirror.query.other_data.form_text` reads, or over the results as JSON of a
            QuerySpec; None where the words alone say it.
        date: when it was chosen last, ISO text in UTC.
        count: how often.
    """

    asked: str
    meant: str
    form: Mapping[str, Any] | None = None
    date: str = ""
    count: int = 1


@dataclass(frozen=True)
class HeardWord:
    """A word that named nothing, what it names in the readings that were chosen, and in which questions it stood."""

    word: str
    means: str
    asked: tuple[str, ...]
    date: str = ""


@dataclass(frozen=True)
class LearntContents:
    """All of one file; words are in use, and a heard word is not yet."""

    questions: tuple[LearntQuestion, ...] = ()
    words: Mapping[str, str] = field(default_factory=dict)
    heard: tuple[HeardWord, ...] = ()


def written(contents: LearntContents, about: str) -> bytes:
    """The text of a file; what was learnt longest ago is left out where it would be larger than MAX_BYTES.

    Args:
        contents: what it holds.
        about: which data it is of.
    """
    kept = contents
    while len(data := _written(kept, about)) > MAX_BYTES:
        few = LearntContents(_newer(kept.questions), dict(_newer(tuple(kept.words.items()))), _newer(kept.heard))
        if few == kept:
            break
        kept = few
    return data


def _newer(entries: tuple[Any, ...]) -> tuple[Any, ...]:
    """The newer nine tenths."""
    return entries[-(-len(entries) // 10) :] if len(entries) > 1 else entries


def _written(contents: LearntContents, about: str) -> bytes:
    questions = []
    for q in contents.questions:
        entry: dict[str, Any] = {"asked": q.asked, "meant": q.meant}
        entry |= {"form": dict(q.form)} if q.form is not None else {}
        questions.append({**entry, "date": q.date, "count": q.count})
    heard = [{"word": h.word, "means": h.means, "asked": list(h.asked), "date": h.date} for h in contents.heard]
    held = {"questions": questions, "words": dict(contents.words), "heard": heard}
    head = (
        f"# What was learnt about {plain_text(about)} from the choices people clicked. Change or delete any of it.\n"
        "# questions are answered at once as they were meant; words name a table, column or value (column = value);\n"
        "# heard words are not used before they are chosen in another question, or moved to words.\n"
    )
    # Lines of any length, and no references from one entry to another: people edit them.
    dumper = type("_Plain", (_Dumper,), {"ignore_aliases": lambda *_: True})
    body: str = yaml.dump(held, Dumper=dumper, sort_keys=False, allow_unicode=True, width=1_000_000)
    return (head + body).encode()


def contents_of(data: bytes, name: str) -> LearntContents:
    """What a file holds. Raises LearntError, which says in which line it is wrong.

    Args:
        data: the bytes of the file.
        name: what to call it.
    """
    try:
        text = data.decode()
        _check_plain(text, name)
        loader = _Loader(text)
        root = loader.get_single_node()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}" if mark else "the file"
        raise _wrong(name, where, f"it is not YAML ({plain_text(getattr(error, 'problem', None) or error)})") from error
    except ValueError as error:
        if isinstance(error, LearntError):
            raise
        raise _wrong(name, "the file", "it is no text in UTF-8") from error
    return _File(name, loader).contents(root) if root is not None else LearntContents()


def _check_plain(text: str, name: str) -> None:
    """Refuse what no such file needs, before anything is built of it: depth, references and types."""
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        odd = isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) or getattr(event, "tag", None)
        if odd or depth > _DEEPEST:
            what = "a reference or a type, which are not read here" if odd else "too many things within one another"
            raise _wrong(name, f"line {event.start_mark.line + 1}", f"there is {what}")


def _wrong(name: str, where: str, what: str) -> LearntError:
    return LearntError(f"{name} cannot be read: in {where} {what}. Mend it, or delete what is wrong.")


class _File:
    """The nodes of one file, which know their lines."""

    def __init__(self, name: str, loader: Any) -> None:
        self._name, self._loader = name, loader

    def contents(self, root: yaml.Node) -> LearntContents:
        """What they hold."""
        questions: list[LearntQuestion] = []
        words: dict[str, str] = {}
        heard: list[HeardWord] = []
        for key, node in self._pairs(root, f"the names {', '.join(_SECTIONS)} are expected"):
            if key.value not in _SECTIONS:
                raise self._at(key, f"there is no section {plain_text(key.value)}: there are {', '.join(_SECTIONS)}")
            if key.value == "words":
                pairs = self._pairs(node, "a word is expected, a colon, and what it names")
                words |= {self._word(word): self._text(means, "what a word names") for word, means in pairs}
            elif key.value == "questions":
                questions += [self._question(entry) for entry in self._entries(node)]
            else:
                heard += [self._heard(entry) for entry in self._entries(node)]
        return LearntContents(tuple(questions), words, tuple(heard))

    def _question(self, node: yaml.Node) -> LearntQuestion:
        parts = self._parts(node, ("asked", "meant"), ("form", "date", "count"))
        form = None
        if "form" in parts:
            form = self._loader.construct_object(parts["form"], deep=True)
            if not isinstance(form, dict) or len(json.dumps(form, default=str)) > MAX_FORM:
                raise self._at(parts["form"], "a form is a list of names with a colon behind them")
        count = self._loader.construct_object(parts["count"]) if "count" in parts else 1
        if not isinstance(count, int):
            raise self._at(parts["count"], "a count is a whole number")
        asked, meant = (self._text(parts[key], f"what was {key}") for key in ("asked", "meant"))
        return LearntQuestion(asked, meant, form, self._date(parts), count)

    def _heard(self, node: yaml.Node) -> HeardWord:
        parts = self._parts(node, ("word", "means", "asked"), ("date",))
        asked = tuple(self._text(entry, "a question") for entry in self._entries(parts["asked"]))
        return HeardWord(self._word(parts["word"]), self._text(parts["means"], "means"), asked, self._date(parts))

    def _parts(self, node: yaml.Node, needed: Iterable[str], more: Iterable[str]) -> dict[str, yaml.Node]:
        expected = f"the names {', '.join(needed)} are expected"
        parts = {key.value: value for key, value in self._pairs(node, expected)}
        if not set(needed) <= set(parts) <= {*needed, *more}:
            raise self._at(node, expected)
        return parts

    def _date(self, parts: Mapping[str, yaml.Node]) -> str:
        return self._text(parts["date"], "a date") if "date" in parts and parts["date"].value else ""

    def _word(self, node: yaml.Node) -> str:
        word = self._text(node, "a word").lower()
        if " " in word or len(word) > MAX_WORD:
            raise self._at(node, f"one word is expected, of at most {MAX_WORD} letters")
        return word

    def _text(self, node: yaml.Node, what: str) -> str:
        text = " ".join(printable(node.value).split()) if isinstance(node, yaml.ScalarNode) else ""
        if not text or len(text) > MAX_TEXT:
            raise self._at(node, f"{what} is a text of 1 to {MAX_TEXT:,} characters")
        return text

    def _entries(self, node: yaml.Node) -> list[yaml.Node]:
        if not isinstance(node, yaml.SequenceNode):
            if isinstance(node, yaml.ScalarNode) and not node.value:
                return []
            raise self._at(node, "a list is expected, each entry with a dash before it")
        return list(node.value)

    def _pairs(self, node: yaml.Node, expected: str) -> list[tuple[yaml.Node, yaml.Node]]:
        if not isinstance(node, yaml.MappingNode):
            if isinstance(node, yaml.ScalarNode) and not node.value:
                return []
            raise self._at(node, expected)
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise self._at(key, expected)
        return list(node.value)

    def _at(self, node: yaml.Node, what: str) -> LearntError:
        return _wrong(self._name, f"line {node.start_mark.line + 1}", what)

"""Reads a catalogue file, catalog.yaml or one of a team's own, and says in which line a mistake is."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from db.columns import BY_NAME
from db.settings import SettingsError

# Columns of the view `failures` that people ask about, besides those of a trial.
OTHER_COLUMNS = ("status", "error")
# Reads ten times faster, and says less of a mistake. Every process that answers waits for the catalogue.
_Quick = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_SECTIONS = (
    "columns", "curves", "machine_facts", "values", "defaults", "implied", "baseline", "overview", "cards", "examples",
)  # fmt: skip
# What a file of one's own may hold: words, and nothing that changes what a question means.
_OWN_SECTIONS = ("columns", "curves", "values", "examples")


class CatalogError(SettingsError):
    """A catalogue file is wrong; the message names the file, the line and what is allowed there."""


def read(text: str, name: str, own: bool = False) -> dict[str, Any]:
    """The checked content of a catalogue file.

    Args:
        text: YAML.
        name: what to call the file in a message.
        own: whether it only adds words to the catalogue that comes with the code.

    Raises CatalogError.
    """
    try:
        loader = (yaml.SafeLoader if own else _Quick)(text)
        root = loader.get_single_node()
        found = (loader.construct_document(root) if root is not None else None) or {}
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}" if mark else "the file"
        raise CatalogError(f"{name}: {where} is not YAML: {getattr(error, 'problem', None) or error}.") from error
    except (ValueError, RecursionError) as error:
        raise CatalogError(f"{name} cannot be read as YAML: {error}.") from error
    if root is not None:
        _File(name, _OWN_SECTIONS if own else _SECTIONS).check(root)
    return found


def read_file(path: Path) -> dict[str, Any]:
    """The checked content of a file of one's own. Raises CatalogError."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise CatalogError(f"The catalogue file {path.name} cannot be read ({why}): mend MIRROR_CATALOG.") from error
    return read(text, path.name, own=True)


class _File:
    """Walks the nodes of one file, which know their lines."""

    def __init__(self, name: str, sections: tuple[str, ...]) -> None:
        self._name = name
        self._sections = sections

    def check(self, root: yaml.Node) -> None:
        for section, node in self._pairs(root, "the file"):
            if section.value not in self._sections:
                raise self._wrong(
                    section, f"there is no section {section.value}; there are {', '.join(self._sections)}"
                )
            if section.value == "columns":
                self._columns(node)
            elif section.value in ("curves", "machine_facts"):
                for _, words in self._pairs(node, section.value):
                    self._texts(words)
            elif section.value == "values":
                for column, values in self._pairs(node, "values"):
                    self._known(column)
                    for _, words in self._pairs(values, f"values.{column.value}"):
                        self._texts(words)
            elif section.value in ("overview", "cards", "examples"):
                self._texts(node)
            elif section.value in ("defaults", "implied"):
                for column, _ in self._pairs(node, section.value):
                    self._known(column)

    def _columns(self, node: yaml.Node) -> None:
        for column, entry in self._pairs(node, "columns"):
            self._known(column)
            for key, value in self._pairs(entry, f"columns.{column.value}"):
                if key.value == "synonyms":
                    self._texts(value)
                elif key.value != "label":
                    raise self._wrong(key, f"a column has no {key.value}; it has a label and synonyms")
                elif not isinstance(value, yaml.ScalarNode):
                    raise self._wrong(value, "a label is one text")

    def _known(self, column: yaml.Node) -> None:
        if column.value not in (*BY_NAME, *OTHER_COLUMNS):
            raise self._wrong(column, f"{column.value} is no column of the results")

    def _pairs(self, node: yaml.Node, what: str) -> Iterable[tuple[yaml.Node, yaml.Node]]:
        if not isinstance(node, yaml.MappingNode):
            raise self._wrong(node, f"{what} takes names with a colon behind them")
        seen: set[str] = set()
        for key, value in node.value:
            if key.value in seen:
                raise self._wrong(key, f"{key.value} stands there twice")
            seen.add(key.value)
            yield key, value

    def _texts(self, node: yaml.Node) -> None:
        if not isinstance(node, yaml.SequenceNode) or not all(isinstance(n, yaml.ScalarNode) for n in node.value):
            raise self._wrong(node, "a list of words is expected, as in [footprint, model size]")

    def _wrong(self, node: yaml.Node, what: str) -> CatalogError:
        return CatalogError(f"{self._name}: line {node.start_mark.line + 1}: {what}.")


def merged(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """The catalogue with the words of a file of one's own; its labels replace, its synonyms and examples are added."""
    found = {**base}
    columns = dict(base["columns"])
    for name, entry in (own.get("columns") or {}).items():
        old = columns.get(name, {})
        synonyms = [*old.get("synonyms", ()), *((entry or {}).get("synonyms") or ())]
        columns[name] = {**old, **{k: v for k, v in (entry or {}).items() if k == "label"}, "synonyms": synonyms}
    found["columns"] = columns
    found["curves"] = _added(base["curves"], own.get("curves") or {})
    values = dict(base["values"])
    for column, names in (own.get("values") or {}).items():
        values[column] = _added(values.get(column, {}), names or {})
    found["values"] = values
    found["examples"] = [*base["examples"], *map(str, own.get("examples") or ())]
    return found


def _added(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    return {**base, **{name: [*base.get(name, ()), *map(str, words or ())] for name, words in own.items()}}

"""Kinds of a thing that shares its name with a value: "which hash", "each hash" and "the hashes" mean all that hash."""

import re
from collections.abc import Iterable

from mirror.language.grammar.lexicon import Item
from mirror.query.spec import Filter
from mirror.schema import catalog
from mirror.schema.profile import Profile
from mirror.table.values import Value

_ONE_OF_MANY = ("which", "what", "each", "every")


def spread(items: list[Item], profile: Profile) -> list[Item]:
    """The items with each value that stands for its whole family replaced by its column and the family's values.

    A family are the values of a column that have the word in their name or in one of their other names, or the name of
    the value that the word means: hashed_mix64 and double_hash are hashes. Where the results hold one of them only, or
    where the value is named as it is called in the results ("which hashed lookups"), nothing is changed.
    """
    found: list[Item] = []
    for i, item in enumerate(items):
        family = _family(item, items, profile) if _is_kind(item, items[:i]) else ()
        if len(family) > 1:
            within = Filter(item.name, "in", family)
            found += [Item("column", item.text, item.name), Item("filter", item.text, filters=(within,))]
        else:
            found.append(item)
    return found


def _is_kind(item: Item, before: list[Item]) -> bool:
    """Whether one word, no value's own name, is counted through ("each hash", "per hash") or in the plural."""
    if item.kind != "value" or item.name != "method" or " " in item.text or item.text == str(item.value):
        return False
    if before and (before[-1].is_cue("by") or (before[-1].kind == "filler" and before[-1].text in _ONE_OF_MANY)):
        return True
    return _singular(item.text) != item.text


def _family(item: Item, items: Iterable[Item], profile: Profile) -> tuple[Value, ...]:
    """The values of the family, among those of the benchmarks that have the metrics which are asked for."""
    asked = {i.name for i in items if i.kind == "column" and catalog.entry(i.name).role == "metric"}
    able = [b for b in profile.benchmarks if asked <= profile.metrics(b)]
    held = {v for b in able for v in profile.values(item.name, b)}
    names = catalog.value_synonyms(item.name)
    common = {_singular(item.text), str(item.value)}
    return tuple(
        value
        for value in profile.values(item.name)
        if value in held and common & _words((str(value), *names.get(str(value), ())))
    )


def _words(names: Iterable[str]) -> set[str]:
    return {word for name in names for word in re.split(r"[\W_]+", name)}


def _singular(word: str) -> str:
    return re.sub(r"(?<=[hsxz])es$", "", word)

"""Shorter names that people give machines: a part of the name, what stands in brackets, and what stands before them."""

import re

from mirror.schema.profile import Profile
from mirror.table.values import Value
from mirror.words import phrasebook

_BRACKETS = re.compile(r"(.*\S)\s*\(([^()]+)\)")
# Words that may stand in a machine's name and say something else without it.
_EVERYDAY = frozenset(phrasebook.phrases("names", "machines")["everyday"])


def shorter(profile: Profile) -> dict[str, tuple[Value, ...]]:
    """Names without what stands in brackets at the end, which tells like ones apart, and that: all machines of each."""
    names: dict[str, tuple[Value, ...]] = {}
    for machine in profile.values("machine"):
        if match := _BRACKETS.fullmatch(str(machine)):
            for part in match.groups():
                names[part] = (*names.get(part, ()), machine)
    return names


def parts(profile: Profile) -> dict[str, Value]:
    """Words of machines' names that only one machine has: `epyc` of `epyc-01`."""
    names: dict[str, set[Value]] = {}
    for machine in profile.values("machine"):
        for word in set(re.findall(r"[a-z]+\d*", str(machine).lower())):
            if len(word) >= 3 and word not in _EVERYDAY:
                names.setdefault(word, set()).add(machine)
    return {word: machines.pop() for word, machines in names.items() if len(machines) == 1}

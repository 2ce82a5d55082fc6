"""Which ingredients of the linker a question comes upon: each phrase is looked up in linkers without them too."""

from collections.abc import Callable, Mapping, Sequence

from mirror.evaluation.ablations.swapped import Swap, standing
from mirror.language.reading.lexemes import Token
from mirror.language.reading.linking import Link, Linker
from mirror.schema.database import Database

Links = tuple[Link, ...]


def watching(off: Mapping[str, Sequence[Swap]], seen: set[str]) -> list[Swap]:
    """With everything on, and in `seen` the names of those without which a phrase would have named anything else.

    Args:
        off: name -> what stands in its place; only what changes how a linker is made.
        seen: grows.
    """
    others = _Others(off)

    def at(original: Callable[[Linker, tuple[str, ...]], Links]) -> Callable[[Linker, tuple[str, ...]], Links]:
        def both(self: Linker, phrase: tuple[str, ...]) -> Links:
            found = original(self, phrase)
            for name, other in others.of(self):
                if name not in seen and original(other, phrase) != found:
                    seen.add(name)
            return found

        return both

    def corrected(original: Callable[[Linker, Token], Links]) -> Callable[[Linker, Token], Links]:
        def both(self: Linker, token: Token) -> Links:
            found = original(self, token)
            for name, other in others.of(self):
                if name not in seen and original(other, token) != found:
                    seen.add(name)
            return found

        return both

    return [Swap(Linker, "at", at), Swap(Linker, "corrected", corrected)]


class _Others:
    """Linkers of databases, each without one ingredient."""

    def __init__(self, off: Mapping[str, Sequence[Swap]]) -> None:
        self._off = off
        self._made: dict[int, tuple[Database, list[tuple[str, Linker]]]] = {}
        self._ids: set[int] = set()

    def of(self, linker: Linker) -> list[tuple[str, Linker]]:
        """Those of the linker's database; none for one of these themselves."""
        if id(linker) in self._ids:
            return []
        database = linker.database
        if id(database) not in self._made:
            made = []
            for name, swaps in self._off.items():
                with standing(swaps):
                    made.append((name, Linker(database)))
            self._ids |= {id(other) for _, other in made}
            self._made[id(database)] = database, made
        return self._made[id(database)][1]

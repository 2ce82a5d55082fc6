"""The seeded worlds of the evaluation, each built and read once; tests must not write to them."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mirror.evaluation.databases import Golds, build
from mirror.evaluation.worlds import WORLDS, World


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Callable[[World], Path]:
    """The DuckDB file of a world."""
    folder = tmp_path_factory.mktemp("worlds")
    files: dict[str, Path] = {}

    def of(world: World) -> Path:
        if world.name not in files:
            files[world.name] = build(world, folder)
        return files[world.name]

    return of


@pytest.fixture(scope="session")
def golds(built: Callable[[World], Path]) -> Iterator[dict[str, Golds]]:
    """Answers to gold SQL by the name of the world."""
    opened = {world.name: Golds(built(world)) for world in WORLDS}
    yield opened
    for gold in opened.values():
        gold.close()

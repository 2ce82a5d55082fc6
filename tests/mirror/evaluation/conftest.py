"""The seeded fixtures of the evaluation, each built and read once; tests must not write to them."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mirror.evaluation.fixture_trials import build
from mirror.evaluation.fixtures import Fixture, fixtures
from mirror.evaluation.golds import Golds


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Fixture], Path]:
    """The DuckDB file of a fixture."""
    folder = tmp_path_factory.mktemp("fixtures")
    files: dict[str, Path] = {}

    def of(fixture: Fixture) -> Path:
        if fixture.name not in files:
            files[fixture.name] = build(fixture, folder)
        return files[fixture.name]

    return of


@pytest.fixture(scope="session")
def golds(built: Callable[[Fixture], Path]) -> Iterator[dict[str, Golds]]:
    """Answers to gold SQL by the name of the fixture, of the questions by category."""
    opened = {fixture.name: Golds(built(fixture)) for fixture in fixtures("categories")}
    yield opened
    for gold in opened.values():
        gold.close()

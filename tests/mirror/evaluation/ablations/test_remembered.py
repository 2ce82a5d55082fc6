"""What is done once for all ingredients comes to the same as if it were done anew."""

from collections.abc import Iterator

import pytest

from mirror.data.process.other_data_process import OtherDataSource, shared
from mirror.data.sources.location import find
from mirror.evaluation.ablations.ingredients import ingredient, without
from mirror.evaluation.ablations.remembered import remembering
from mirror.evaluation.ablations.swapped import swapped
from mirror.language.neural.network import Network
from mirror.language.ranking import candidates
from mirror.language.train.data.example import NOW
from mirror.query.other_data import build as building
from mirror.query.other_data.form import Asked, ColumnRef, Predicate
from tests.mirror.language.reading.library import DATABASE, write

QUESTIONS = ("how many members are there", "total fee by city", "members in Bern")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OtherDataSource]:
    source = shared(find(write(tmp_path_factory.mktemp("library") / "library.duckdb")))
    yield source
    source.close()


def test_readings_rows_and_chances_are_the_same_and_found_once(
    library: OtherDataSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    really, passes = Network.lines, []

    def counted(self: Network, *told: object) -> object:
        passes.append(told)
        return really(self, *told)  # type: ignore[arg-type]

    monkeypatch.setattr(Network, "lines", counted)

    def read() -> list[object]:
        found = [candidates.candidates(q, DATABASE, NOW, lambda b: library.run(b.sql).rows) for q in QUESTIONS]
        return [(c.asked, c.built, c.rows, c.chance, c.features) for several in found for c in several]

    before = read()
    with swapped(remembering()):
        passes.clear()
        assert read() == before
        assert len(passes) == len(QUESTIONS)
        with without(ingredient("ranker")):
            read()
        assert len(passes) == len(QUESTIONS)
        with without(ingredient("likeness")):  # which the network itself is told
            assert read() != before
        assert len(passes) == 2 * len(QUESTIONS)
        assert read() == before


def test_true_and_one_are_two_statements() -> None:
    def asked(value: object) -> Asked:
        return Asked("members", conditions=(Predicate(ColumnRef("members", "student"), "=", (value,)),))  # type: ignore[arg-type]

    before = [building.build(asked(value), DATABASE).sql for value in (True, 1)]
    with swapped(remembering()):
        assert [building.build(asked(value), DATABASE).sql for value in (True, 1)] == before

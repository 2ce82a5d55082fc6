"""The readings of both readers together: one for each form, with chances, whatever the database does."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mirror.data.process.other_data_process import OtherDataSource, shared
from mirror.data.sources.location import find
from mirror.language.ranking.candidate import Candidate, NotRun, Rows
from mirror.language.ranking.candidates import candidates
from mirror.language.ranking.ranker import trained
from mirror.language.train.data.example import NOW
from mirror.language.train.fitting.judged import judged
from mirror.query.other_data.build import Built
from tests.mirror.language.reading.library import DATABASE, write


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OtherDataSource]:
    source = shared(find(write(tmp_path_factory.mktemp("library") / "library.duckdb")))
    yield source
    source.close()


def read(question: str, library: OtherDataSource) -> list[Candidate]:
    def rows_of(built: Built) -> Rows:
        return library.run(built.sql).rows

    return candidates(question, DATABASE, NOW, rows_of)


def test_a_plain_question_is_read_by_both_and_likely(library: OtherDataSource) -> None:
    best = read("how many members are there", library)[0]
    assert best.rows == ((4,),)
    assert best.first
    assert best.second
    assert best.features["same form"] == best.features["best of both"] == 1
    assert best.chance > 0.8


def test_each_form_stands_once_and_the_likeliest_first(library: OtherDataSource) -> None:
    found = read("members who borrowed Red Sand", library)
    assert len(found) > 1
    assert len({c.asked for c in found}) == len(found)
    chances = [c.chance for c in found]
    assert chances == sorted(chances, reverse=True)
    assert all(0 <= c <= 1 for c in chances)
    assert all(set(c.features) == set(trained().names) for c in found)


def test_a_question_that_the_data_cannot_answer_is_unlikely(library: OtherDataSource) -> None:
    for question in ("why are our members so unhappy", "phone numbers of the librarians", "weather in Oslo tomorrow"):
        assert all(c.chance < 0.5 for c in read(question, library)), question


def test_readings_that_do_not_run_are_still_there() -> None:
    found = candidates("how many members are there", DATABASE, NOW, lambda built: None)
    assert found
    assert all(c.rows is None and not c.empty for c in found)
    assert any(c.features["failed"] for c in found)
    assert not any(c.compared for c in candidates("how many members are there", DATABASE, NOW, stopped))


def stopped(_: Built) -> Rows:
    raise NotRun


def test_no_reading_of_nothing(library: OtherDataSource) -> None:
    assert read("?!", library) == []
    assert read("the of and", library) == [] or read("the of and", library)[0].chance < 0.5


def test_what_would_raise_a_chance_is_what_differs(library: OtherDataSource) -> None:
    first, second = read("members who borrowed Red Sand", library)[:2]
    gains = trained().gains(second.features, first.features)
    assert {name for name, _ in gains} == {n for n in first.features if first.features[n] != second.features[n]}
    assert [gain for _, gain in gains] == sorted((gain for _, gain in gains), reverse=True)


def test_questions_are_judged_by_their_rows() -> None:
    found = list(judged("sort_bench"))
    answerable = [q for q in found if q.voice != "not here"]
    assert len(answerable) > 60
    assert 0.2 < sum(any(q.right) for q in answerable) / len(answerable) <= 1
    assert not any(any(q.right) for q in found if q.voice == "not here")


def test_a_table_of_many_columns_named_alike_takes_bounded_work(tmp_path: Path) -> None:
    import duckdb

    path = tmp_path / "wide.duckdb"
    with duckdb.connect(str(path)) as made:
        made.execute(f"CREATE TABLE wide ({', '.join(f'value_{i} INTEGER' for i in range(500))})")
        made.execute(f"INSERT INTO wide VALUES ({', '.join(map(str, range(500)))})")
    source = shared(find(str(path)))
    try:
        found = candidates("average value 7 of wide where count is select", source.schema(), NOW, lambda built: None)
        assert isinstance(found, list)
    finally:
        source.close()

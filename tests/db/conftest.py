"""A journal and a store of a test, in a DuckDB file and on a PostgreSQL server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from db.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "x.duckdb"), lock_wait_s=0.3)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "x.journal"
    path.mkdir()
    return path


@pytest.fixture(scope="session")
def postgres():
    """A running PostgreSQL server; databases of it are the tests' own."""
    pytest.importorskip("psycopg", reason="psycopg is not here: run `pip install 'psycopg[binary]'`")
    import postgres_server

    try:
        with postgres_server.server() as server:
            yield server
    except postgres_server.ServerMissingError as error:
        pytest.skip(str(error))


@pytest.fixture
def postgres_url(postgres) -> Iterator[str]:
    """URL of an empty database."""
    with postgres.database() as url:
        yield url


@pytest.fixture(scope="session")
def postgres_template(postgres) -> Iterator[str]:
    """Name of a database with today's tables and views."""
    with postgres.database() as url:
        Store(url).ensure()
        yield url.rpartition("/")[2]


@pytest.fixture
def postgres_store(postgres, postgres_template: str) -> Iterator[Store]:
    """A store that is ready and holds nothing."""
    with postgres.database(template=postgres_template) as url:
        yield Store(url, lock_wait_s=5.0)

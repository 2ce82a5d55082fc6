"""The shop of sales_data in every kind of database that is here."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
import sales_data
from sales_data import Shop

from mirror.data.process.other_data_process import shared
from mirror.data.sources.location import find


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Any]:
    """A running PostgreSQL server; databases of it are the tests' own."""
    pytest.importorskip("psycopg", reason="psycopg is not here: run `pip install 'psycopg[binary]'`")
    from tests.db import postgres_server as server

    try:
        with server.server() as running:
            yield running
    except server.ServerMissingError as error:
        pytest.skip(str(error))


@pytest.fixture
def database_url(postgres_server: Any) -> Iterator[str]:
    """URL of an empty PostgreSQL database."""
    with postgres_server.database() as url:
        yield url
        shared(find(url)).close()


@pytest.fixture(scope="session")
def postgres_shop(postgres_server: Any) -> Iterator[Shop]:
    import psycopg

    with postgres_server.database() as url:
        sales_data.make_postgres(url)

        def rows(sql: str) -> list[tuple[Any, ...]]:
            with psycopg.connect(url.replace("+psycopg", "")) as connection:
                return connection.execute(sql).fetchall()

        yield Shop("postgres", url, rows)
        shared(find(url)).close()


@pytest.fixture(scope="session")
def sqlite_shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    import sqlite3

    path = tmp_path_factory.mktemp("shop") / "shop.sqlite"
    url = sales_data.make_sqlite(path)

    def rows(sql: str) -> list[tuple[Any, ...]]:
        connection = sqlite3.connect(path)
        try:
            return connection.execute(sql).fetchall()
        finally:
            connection.close()

    yield Shop("sqlite", url, rows)
    shared(find(url)).close()


@pytest.fixture(scope="session")
def duckdb_shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    path = tmp_path_factory.mktemp("shop") / "shop.duckdb"
    url = sales_data.make_duckdb(path)

    def rows(sql: str) -> list[tuple[Any, ...]]:
        with duckdb.connect(url, read_only=True) as connection:
            return connection.execute(sql).fetchall()

    yield Shop("duckdb", url, rows)
    shared(find(url)).close()


@pytest.fixture(scope="session")
def csv_shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    folder = tmp_path_factory.mktemp("shop_csv")
    url = sales_data.make_csv(folder)

    def rows(sql: str) -> list[tuple[Any, ...]]:
        with duckdb.connect() as connection:
            for file in Path(folder).glob("*.csv"):
                connection.execute(f"CREATE VIEW {file.stem} AS SELECT * FROM read_csv('{file}', header = true)")
            return connection.execute(sql).fetchall()

    yield Shop("csv", url, rows)
    shared(find(url)).close()


@pytest.fixture(params=["sqlite", "duckdb", "csv", "postgres"])
def shop(request: pytest.FixtureRequest) -> Shop:
    """The shop in each kind of database."""
    return request.getfixturevalue(f"{request.param}_shop")

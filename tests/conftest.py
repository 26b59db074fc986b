"""What tests of all folders need: the store to test with, and a Postgres (see stores.py)."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator

import pytest
import stores

_numbers = itertools.count(1)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--store", choices=stores.STORES, help="what engines keep their relationships in")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--store"):
        os.environ["LICET_TEST_STORE"] = config.getoption("--store")


@pytest.fixture
def postgres_uri() -> str:
    """The connection string of the server that LICET_TEST_POSTGRES names."""
    uri = stores.postgres()
    if uri is None:
        pytest.skip("no Postgres; see LICET_TEST_POSTGRES")
    return uri


@pytest.fixture
def postgres_schema(postgres_uri: str) -> Iterator[str]:
    """A name for licet's tables there that nobody else has, to be given to licet.migrate(); dropped afterwards."""
    import psycopg

    name = f"test_{os.getpid()}_{next(_numbers)}"
    yield name
    with psycopg.connect(postgres_uri, autocommit=True) as connection:
        connection.execute("SET lock_timeout = '60s'")
        connection.execute(f'DROP SCHEMA IF EXISTS "{name}" CASCADE')

"""A real PostgreSQL on loopback for the tests."""

from collections.abc import Iterator

import pytest

from tests.postgres_server import NoPostgresError, running_postgres


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of an empty database, password included."""
    try:
        with running_postgres() as url:
            yield url
    except NoPostgresError as problem:
        pytest.skip(str(problem))

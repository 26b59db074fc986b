"""The database that every licet of the comparison works on, whichever language calls it."""

from __future__ import annotations

from collections.abc import Sequence

import licet
import psycopg
from servers import Postgres
from systems.base import Unavailable
from world import World

DATABASE = "licet_compare"
PIECE = 1000  # updates in one write
WRITE = "SELECT licet.write(jsonb_build_object('updates', jsonb_build_array(jsonb_build_object('operation', 'touch', 'relationship', %s::text))))"


class LicetStore:
    """Made once, by whoever opens it first."""

    def __init__(self, postgres: Postgres, database: str = DATABASE) -> None:
        self.postgres, self.database = postgres, database
        self.uri = ""
        self._writer: psycopg.Connection | None = None

    def open(self, world: World) -> None:
        if self.uri:
            return
        uri = self.postgres.make_database(self.database)
        try:
            licet.migrate(uri)
        except licet.Unsupported as failure:
            raise Unavailable(f"this licet was built without Postgres: {failure}") from failure
        with licet.open(uri, mode="prefetch", write_timeout_ms=60_000) as engine:
            engine.write_schema(world.schema)
            engine.import_relationships(world.relationships)
        self.postgres.settle(self.database)
        self._writer = psycopg.connect(uri, autocommit=True)
        self.uri = uri

    def churn(self, rows: Sequence[str]) -> None:
        """As an application would, by an engine."""
        with licet.open(self.uri, mode="prefetch", write_timeout_ms=60_000) as engine:
            for change in (engine.touch, engine.delete):
                for at in range(0, len(rows), PIECE):
                    change(*rows[at : at + PIECE])

    def write_one(self, row: str) -> None:
        """As an application would in its own transaction, by SQL."""
        assert self._writer is not None
        self._writer.execute(WRITE, (row,))

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

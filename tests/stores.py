"""Which store a test run works on: LICET_TEST_STORE, or --store of a program, says `memory` (without either),
`postgres-follow` or `postgres-prefetch`.

A Postgres is found by LICET_TEST_POSTGRES (see tools/postgres.py). There each engine has tables of its own, in a Postgres schema
that was made for it, or emptied: that is faster, and a run opens hundreds. With LICET_TEST_COLLECT its garbage is collected
all the while, and kept for a second.
"""

from __future__ import annotations

import argparse
import atexit
import functools
import os
import threading
from typing import Any

import licet

MEMORY = "memory"
STORES = (MEMORY, "postgres-follow", "postgres-prefetch")

COLLECT = "LICET_TEST_COLLECT"
WINDOW_MS = 1000  # that garbage is kept then

# Of engines on Postgres, on a machine that does much else too.
PATIENCE = {"wait_timeout_ms": 60_000, "write_timeout_ms": 60_000}

# Tables of more, with their indexes, are truncated, which takes longer than to delete a few rows.
LARGE_BYTES = 4 << 20

# What takes a consistency.
READS = (
    "allowed",
    "check",
    "check_bulk",
    "expand",
    "explain",
    "export_relationships",
    "filter",
    "lookup_resources",
    "lookup_subjects",
    "permissions",
    "read_relationships",
    "schema_impact",
)


def chosen() -> str:
    name = os.environ.get("LICET_TEST_STORE") or MEMORY
    if name not in STORES:
        raise SystemExit(f"LICET_TEST_STORE is {name!r}, and not one of {', '.join(STORES)}")
    return name


def add_argument(parser: argparse.ArgumentParser) -> None:
    """--store, which counts for the rest of the process and for its children."""

    def choose(name: str) -> str:
        os.environ["LICET_TEST_STORE"] = name
        return chosen()

    parser.add_argument("--store", type=choose, default=chosen(), metavar="|".join(STORES))


def postgres() -> str | None:
    """The connection string of the Postgres to test with."""
    return os.environ.get("LICET_TEST_POSTGRES") or None


class Engine:
    """An engine on Postgres. Its reads see all that was committed before, unless they ask for something else: so does
    memory, whatever they ask for."""

    def __init__(self, engine: licet.Engine, schema: str) -> None:
        self.engine, self.schema = engine, schema
        self.owner = os.getpid()
        self.ended = threading.Event()
        self.collector = threading.Thread(target=self.collect, daemon=True) if os.environ.get(COLLECT) else None
        if self.collector is not None:
            self.collector.start()

    def collect(self) -> None:
        while not self.ended.wait(0.02):
            self.engine.collect_garbage()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.engine, name)
        return functools.partial(found, consistency=licet.FULL) if name in READS else found

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """In the child of a fork the tables are still its parent's."""
        if not self.engine.closed:
            if self.collector is not None:
                self.ended.set()
                self.collector.join()
            self.engine.close()
            if os.getpid() == self.owner:
                _pool().give_back(self.schema)


class Pool:
    """Postgres schemas with empty tables of licet. Belongs to one process."""

    def __init__(self, conninfo: str) -> None:
        import psycopg

        self.conninfo = conninfo
        self.owner = os.getpid()
        self.connection = psycopg.connect(conninfo, autocommit=True)
        self.made: list[str] = []
        self.free: list[str] = []
        atexit.register(self.drop_all)

    def take(self) -> str:
        if self.free:
            return self.free.pop()
        schema = f"t_{self.owner}_{len(self.made)}"
        licet.migrate(self.conninfo, postgres_schema=schema)
        self.made.append(schema)
        return schema

    def give_back(self, schema: str) -> None:
        self._empty(schema)
        self.free.append(schema)

    def _empty(self, schema: str) -> None:
        """As the migration left it, but for the marks by which tokens and engines know a store."""
        tables = (
            "SELECT tablename, pg_total_relation_size(format('%%I.%%I', schemaname, tablename)::regclass) > %s"
            " FROM pg_tables WHERE schemaname = %s AND tablename <> 'meta'"
        )
        with self.connection.transaction():
            # Triggers keep everybody from changing the tables by hand; not in this role, which only a superuser takes.
            self.connection.execute("SET LOCAL session_replication_role = replica")
            for table, is_large in self.connection.execute(tables, [LARGE_BYTES, schema]).fetchall():
                # Of a hundred thousand rows the dead ones would be in the next engine's way.
                how = "TRUNCATE" if is_large else "DELETE FROM"
                self.connection.execute(f'{how} "{schema}"."{table}"')
            self.connection.execute(
                f'UPDATE "{schema}".meta SET store = gen_random_uuid(), gc_horizon = DEFAULT,'
                " token_key = sha256(gen_random_uuid()::text::bytea)"
            )

    def drop_all(self) -> None:
        if os.getpid() == self.owner:
            for schema in self.made:
                self.connection.execute(f'DROP SCHEMA IF EXISTS "{schema}" CASCADE')
            self.connection.close()


@functools.cache
def _pool_of(process: int) -> Pool:
    conninfo = postgres()
    if conninfo is None:
        raise SystemExit("LICET_TEST_POSTGRES is not set: see tools/postgres.py")
    return Pool(conninfo)


def _pool() -> Pool:
    return _pool_of(os.getpid())


def open(**options: Any) -> licet.Engine | Engine:
    """An engine on an empty store of the chosen kind. It has to be closed, or its tables stay to the end."""
    name = chosen()
    if name == MEMORY:
        return licet.open(**options)
    pool = _pool()
    schema = pool.take()
    mode = name.partition("-")[2]
    if os.environ.get(COLLECT):
        options.setdefault("gc_window_ms", WINDOW_MS)
    return Engine(licet.open(pool.conninfo, postgres_schema=schema, mode=mode, **{**PATIENCE, **options}), schema)


def plain(engine: licet.Engine | Engine) -> licet.Engine:
    """The engine itself."""
    return engine.engine if isinstance(engine, Engine) else engine

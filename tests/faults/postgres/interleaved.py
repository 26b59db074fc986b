"""16 writers that commit in any order, and a graph that follows: at each snapshot it publishes it holds what
pg_visible_in_snapshot() says of that snapshot, no more and no less.

The writers are applications: they write through the SQL functions in transactions of their own, wait at random places, use
savepoints and roll some back, abort, and prepare transactions that are committed much later. Some keep a transaction open
for long. Meanwhile garbage is collected.
"""

from __future__ import annotations

import json
import multiprocessing
import random
import sys
import time
from contextlib import suppress

import licet
import psycopg
from common import Run, Snapshot, program, server, snapshot_of

WRITERS = 16
DOCUMENTS, USERS = 40, 10
GARBAGE_MS = 3000  # longer than comparing takes, mostly

VISIBLE = """
SELECT rt || ':' || ri || '#' || rr || '@' || st || ':' || si FROM licet.rel
WHERE pg_visible_in_snapshot(created_xid, %(at)s) AND NOT pg_visible_in_snapshot(deleted_xid, %(at)s)
"""


class Abort(Exception):
    """The writer changes its mind."""


class Writer:
    """Makes its share of the commits."""

    def __init__(self, number, conninfo, committed, count, seed):
        self.number, self.committed, self.count = number, committed, count
        self.random = random.Random(seed * 100 + number)
        self.connection = psycopg.connect(conninfo, autocommit=True)
        self.prepared = []

    def run(self):
        while self.committed.value < self.count:
            with suppress(Abort, psycopg.errors.DeadlockDetected):
                if not self.prepared and self.number % 4 == 0 and self.random.random() < 0.02:
                    self.prepare()
                else:
                    with self.connection.transaction():
                        self.change()
                    self.count_commit()
            if self.prepared and self.random.random() < 0.02:
                self.finish()
        while self.prepared:
            self.finish()

    def count_commit(self):
        with self.committed.get_lock():
            self.committed.value += 1

    def change(self):
        self.write()
        self.pause()
        if self.random.random() < 0.3:
            with suppress(Abort), self.connection.transaction():
                self.write()
                if self.random.random() < 0.5:
                    raise Abort
        if self.random.random() < 0.3:
            self.write()
        self.pause()
        if self.random.random() < 0.1:
            raise Abort

    def write(self):
        operations = self.random.choices(["touch", "delete"], k=self.random.choice([1, 1, 2, 5]))
        rows = {
            f"document:d{self.random.randrange(DOCUMENTS)}#viewer@user:u{self.random.randrange(USERS)}": operation
            for operation in operations
        }
        request = {"updates": [{"operation": operation, "relationship": row} for row, operation in rows.items()]}
        self.connection.execute("SELECT licet.write(%s)", [json.dumps(request)])

    def pause(self):
        if self.random.random() < 0.5:
            time.sleep(self.random.expovariate(300))
        elif self.random.random() < 0.002:
            time.sleep(0.5)

    def prepare(self):
        """A two-phase transaction, on keys that nobody else waits for."""
        name = f"w{self.number}n{self.random.randrange(10**9)}"
        self.connection.execute("BEGIN")
        try:
            request = {
                "updates": [{"operation": "touch", "relationship": f"document:{name}#viewer@user:u{self.number}"}]
            }
            self.connection.execute("SELECT licet.write(%s)", [json.dumps(request)])
        except psycopg.Error:
            self.connection.execute("ROLLBACK")
            raise
        self.connection.execute(f"PREPARE TRANSACTION '{name}'")
        self.prepared.append(name)

    def finish(self):
        name = self.prepared.pop()
        if self.random.random() < 0.3:
            self.connection.execute(f"ROLLBACK PREPARED '{name}'")
        else:
            self.connection.execute(f"COMMIT PREPARED '{name}'")
            self.count_commit()


def write(*arguments):
    Writer(*arguments).run()


def collect(conninfo, ended, collected):
    with licet.open(conninfo, mode="prefetch", gc_window_ms=GARBAGE_MS) as engine:
        while not ended.wait(0.5):
            collected.value += engine.collect_garbage()


def compare(run, mode, engine, connection, before, consistency=None):
    """One published snapshot. Returns it."""
    now = snapshot_of_server(connection) if consistency == licet.FULL else None
    try:
        stream = engine.export_relationships(consistency=consistency)
        graph = sorted(map(str, stream))
    except licet.RevisionExpired:
        run.tally.count("snapshots collected while they were read")
        return before
    at = snapshot_of(stream.token)
    rows = visible(connection, at)
    if rows is None:
        run.tally.count("snapshots collected before they were compared")
        return at
    run.tally.count(f"snapshots compared, {mode}")
    run.tally.count("relationships compared", len(rows))
    if graph != rows:
        missing, extra = sorted(set(rows) - set(graph)), sorted(set(graph) - set(rows))
        run.tally.wrong("snapshots wrong", f"{at.text}, {mode}: {missing=} {extra=}")
    if before is not None and not at.dominates(before):
        run.tally.wrong("steps back", f"{before.text} to {at.text}, {mode}")
    # Where nothing was changed between the two, the older one will do.
    if now is not None and not at.dominates(now) and visible(connection, now) not in (graph, None):
        run.tally.wrong("stale at full consistency", f"{now.text}, {at.text}, {mode}")
    return at


def visible(connection, at):
    """The rows that live there; None when too much was collected to say."""
    rows = sorted(row for (row,) in connection.execute(VISIBLE, {"at": at.text}))
    (horizon,) = connection.execute("SELECT gc_horizon::text::bigint FROM licet.meta").fetchone()
    return rows if horizon <= at.xmin else None


def snapshot_of_server(connection):
    xmin, xmax, running = connection.execute("SELECT pg_current_snapshot()::text").fetchone()[0].split(":")
    return Snapshot(int(xmin), int(xmax), frozenset(map(int, filter(None, running.split(",")))))


def follow(run: Run) -> None:
    with server(settings={"deadlock_timeout": "100ms"}) as postgres:
        engines = {mode: licet.open(postgres.conninfo, mode=mode, poll_interval_ms=10) for mode in run.modes}
        with psycopg.connect(postgres.conninfo, autocommit=True) as connection:
            connection.execute("SET jit = off")
            watch(run, postgres.conninfo, engines, connection)
        for engine in engines.values():
            engine.close()


def watch(run, conninfo, engines, connection):
    spawn = multiprocessing.get_context("spawn")
    committed, collected, ended = spawn.Value("q", 0), spawn.Value("q", 0), spawn.Event()
    seed = run.random.randrange(10**6)
    writers = [
        spawn.Process(target=write, args=(number, conninfo, committed, run.count, seed)) for number in range(WRITERS)
    ]
    collector = spawn.Process(target=collect, args=(conninfo, ended, collected))
    for process in [*writers, collector]:
        process.start()
    before = dict.fromkeys(engines)
    while any(writer.is_alive() for writer in writers):
        for mode, engine in engines.items():
            consistency = licet.FULL if run.random.random() < 0.2 else None
            before[mode] = compare(run, mode, engine, connection, before[mode], consistency)
    ended.set()
    collector.join()
    for mode, engine in engines.items():
        compare(run, mode, engine, connection, before[mode], licet.FULL)
        if run.tally.counts[f"snapshots compared, {mode}"] < run.count // 100:
            run.tally.wrong("too few comparisons", mode)
    run.tally.count("commits", committed.value)
    run.tally.count("rows of garbage collected", collected.value)
    for process in [*writers, collector]:
        if process.exitcode != 0:
            run.tally.wrong("processes that failed", f"status {process.exitcode}")


if __name__ == "__main__":
    sys.exit(program(__doc__, 1500, 50000, follow))

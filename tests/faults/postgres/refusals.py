"""A database that works, but not for us: a full disk, read-only, rights taken away, tables gone or filled with what licet
did not write, another encoding. Calls fail with an error, what is answered is right, and once the cause is gone so is
the failure.
"""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import contextmanager

import licet
import psycopg
from common import GONE, SCHEMA, PostgresError, PrivatePostgres, Run, program, server, until

ASKED = ("document:plan", "view", "user:ada")
BANNED = ("document:plan", "view", "user:cy")
NOBODY = ("document:plan", "view", "user:nobody")
ROWS = ("document:plan#viewer@user:ada", "document:plan#viewer@user:cy", "document:plan#banned@user:cy")

LIMITS = {"wait_timeout_ms": 700, "write_timeout_ms": 1500, "max_staleness_ms": 1000}


class Watched:
    """An engine in each mode, and what is said of them."""

    def __init__(self, run, conninfo, what, begins=True, failures=GONE):
        """failures: what calls fail with while something is in the way."""
        self.tally, self.what, self.begins, self.failures = run.tally, what, begins, failures
        self.engines = {mode: licet.open(conninfo, mode=mode, **LIMITS) for mode in run.modes}
        run.tally.count("troubles")

    def __enter__(self):
        if self.begins:
            next(iter(self.engines.values())).touch(*ROWS)
            self.expect_right()
        return self

    def __exit__(self, *_):
        for engine in self.engines.values():
            engine.close()

    def each(self, call):
        """{mode: answer or error}."""
        found = {}
        for mode, engine in self.engines.items():
            try:
                found[mode] = call(engine)
            except licet.Error as error:
                found[mode] = error
        return found

    def settled(self, call):
        """What it returns after a while, or the error that it ends with all the time."""
        try:
            return until(call, passing=self.failures)
        except licet.Error as error:
            return error

    def expect_right(self):
        """Fully consistent answers, perhaps after a while."""
        for mode, engine in self.engines.items():
            for question, expected in ((ASKED, True), (BANNED, False), (NOBODY, False)):
                allowed = self.settled(lambda e=engine, q=question: e.allowed(*q, consistency=licet.FULL))
                if allowed is not expected:
                    self.tally.wrong("wrong answers", f"{self.what}, {mode}: {question} {allowed!r}")
                self.tally.count("right answers")

    def expect_no_answer(self):
        """Neither fully consistent nor, when the graph is too old, unasked."""
        self.expect_error("check", lambda engine: engine.allowed(*ASKED, consistency=licet.FULL))
        time.sleep(LIMITS["max_staleness_ms"] / 1000 + 0.2)
        self.expect_error("unasked check", lambda engine: engine.allowed(*ASKED))

    def expect_error(self, name, call):
        for mode, answer in self.each(call).items():
            if not isinstance(answer, licet.Error):
                self.tally.wrong("answers", f"{self.what}, {mode}: {name} {answer!r}")
            elif not isinstance(answer, self.failures):
                self.tally.wrong("errors of another kind", f"{self.what}, {mode}: {name} {answer!r}")
            else:
                self.tally.count("errors")

    def expect_no_write(self):
        """It fails, and leaves nothing behind."""
        rows = [f"document:new#viewer@user:u{number}" for number in range(3)]
        self.expect_error("write", lambda engine: engine.touch(*rows))

    def written(self):
        """Rows whose write was acknowledged: of each engine its own, which it may refuse."""
        kept = []
        for mode, engine in self.engines.items():
            row = f"document:new#viewer@user:{mode}"
            try:
                engine.touch(row)
                kept.append(row)
            except licet.Error:
                self.tally.count("errors")
        return kept

    def expect_nothing_new(self):
        self.expect_new([])

    def expect_new(self, rows):
        """What was acknowledged is there, and nothing else."""
        for mode, engine in self.engines.items():
            found = self.settled(lambda e=engine: sorted(map(str, rows_of(e, "new"))))
            if found != sorted(rows):
                self.tally.wrong("writes that are not as they said", f"{self.what}, {mode}: {found!r}, not {rows!r}")
        if rows:
            until(lambda: next(iter(self.engines.values())).delete(*rows), passing=self.failures)

    def expect_write(self):
        for mode, engine in self.engines.items():
            written = self.settled(lambda e=engine: e.touch("document:plan#owner@user:ada"))
            if isinstance(written, licet.Error):
                self.tally.wrong("writes that fail for no reason", f"{self.what}, {mode}: {written!r}")
        self.expect_right()


def rows_of(engine, document):
    found = engine.read_relationships(resource_type="document", resource_id=document, consistency=licet.FULL)
    return list(found)


# ------------------------------------------------------------------- read-only, rights


def read_only(run):
    """A standby in the place of the primary takes no writes, and may be behind: no answers, until it is promoted."""
    with server() as postgres:
        with licet.open(postgres.conninfo, mode="prefetch") as engine:
            engine.touch(*ROWS)
        standby = postgres.standby()
        postgres.caught_up(standby)
        with Watched(run, standby.conninfo, "read-only", begins=False) as watched:
            watched.expect_no_write()
            watched.expect_no_answer()
            standby.promote()
            watched.expect_right()
            watched.expect_nothing_new()
            watched.expect_write()


def read_only_by_default(run):
    """As an operator makes it in a hurry: reads go on, writes do not."""
    with server() as postgres, Watched(run, postgres.conninfo, "read-only by default") as watched:
        postgres.psql("ALTER SYSTEM SET default_transaction_read_only = on")
        postgres.psql("SELECT pg_reload_conf()")
        while postgres.psql("SHOW default_transaction_read_only") != "on":
            time.sleep(0.01)
        time.sleep(0.1)  # sessions that wait for us read it when they are next woken
        watched.expect_right()
        watched.expect_no_write()
        watched.expect_right()
        watched.expect_nothing_new()
        postgres.psql("SET default_transaction_read_only = off; ALTER SYSTEM RESET default_transaction_read_only")
        postgres.psql("SELECT pg_reload_conf()")
        watched.expect_write()


def dropped_rights(run):
    """Of the role that the engine connects as: first on the tables, then on the whole schema, then to log in."""
    with server() as postgres:
        postgres.psql("CREATE ROLE app LOGIN; GRANT licet TO app")
        conninfo = postgres.conninfo.replace("user=licet", "user=app")
        # A login that is refused is a mistake in the connection string, as far as anybody can tell.
        failures = (*GONE, licet.InvalidArgument)
        with Watched(run, conninfo, "dropped rights", failures=failures) as watched:
            for take, give in (
                ("REVOKE licet FROM app", "GRANT licet TO app"),
                (
                    "ALTER ROLE app NOLOGIN; SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'app'",
                    "ALTER ROLE app LOGIN",
                ),
            ):
                postgres.psql(take)
                watched.expect_no_write()
                watched.expect_no_answer()
                postgres.psql(give)
                watched.expect_nothing_new()
                watched.expect_write()


# ------------------------------------------------------------------- tables


def missing_table(run):
    with server() as postgres:
        for table in ("rel", "meta", "zed", "tx"):
            # Without meta there is nothing that tells of tables at all.
            failures = (*GONE, licet.Unsupported) if table == "meta" else GONE
            with Watched(run, postgres.conninfo, f"without {table}", failures=failures) as watched:
                postgres.psql(f"ALTER TABLE licet.{table} RENAME TO hidden")
                if table == "meta":  # which writing may do without
                    kept = watched.written()
                else:
                    kept = []
                    watched.expect_no_write()
                if table != "tx":  # which reading does without
                    watched.expect_no_answer()
                postgres.psql(f"ALTER TABLE licet.hidden RENAME TO {table}")
                watched.expect_new(kept)
                watched.expect_write()


def foreign_rows(run):
    """Rows that are no relationships of the schema: none of them makes anybody see anything, and a graph that could not take
    one is not used."""
    rows = {
        "an unknown type": ("planet", "x", "viewer", "user", "nobody", "...", None),
        "an unknown relation": ("document", "plan", "reader", "user", "nobody", "...", None),
        "a permission": ("document", "plan", "view", "user", "nobody", "...", None),
        "a subject that is not allowed": ("document", "plan", "viewer", "document", "plan", "...", None),
        "an empty id": ("document", "plan", "viewer", "user", "", "...", None),
        "an id with a space": ("document", "plan", "viewer", "user", "no body", "...", None),
        "a long id": ("document", "plan", "viewer", "user", "x" * 5000, "...", None),
        "an unknown caveat": ("document", "plan", "viewer", "user", "nobody", "...", "weekday"),
    }
    with server() as postgres:
        for name, row in rows.items():
            with Watched(run, postgres.conninfo, f"a row with {name}") as watched:
                by_hand(
                    postgres,
                    "INSERT INTO licet.rel (rt, ri, rr, st, si, sr, caveat) VALUES (%s, %s, %s, %s, %s, %s, %s)",
                    row,
                )
                for consistency in (licet.FULL, None):
                    for question in (NOBODY, BANNED):
                        expect_not_allowed(run, watched, question, consistency)
                by_hand(postgres, "DELETE FROM licet.rel WHERE (rt, ri, rr, st, si) = (%s, %s, %s, %s, %s)", row[:5])
                # What was taken out by hand is only missed when all is loaded anew.
                postgres.restart()
                watched.expect_write()


def by_hand(postgres, sql, parameters=()):
    """As somebody with all rights who knows how to get past the triggers."""
    with psycopg.connect(postgres.conninfo) as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute(sql, parameters)


def expect_not_allowed(run, watched, question, consistency):
    found = watched.each(lambda engine: engine.allowed(*question, consistency=consistency))
    for mode, answer in found.items():
        if answer is True:
            run.tally.wrong("wrong answers", f"{watched.what}, {mode}: {question}")
        run.tally.count("errors" if isinstance(answer, licet.Error) else "right answers")


def changed_schema(run):
    """A version whose text is no schema, put there by hand: no answers until there is one again. (The text of a version
    never changes, so who has read it need not read it again.)"""
    with server() as postgres, Watched(run, postgres.conninfo, "a text that is no schema") as watched:
        by_hand(postgres, "UPDATE licet.zed SET text = 'definition {', version = version + 1")
        postgres.restart()
        watched.expect_no_answer()
        by_hand(postgres, "UPDATE licet.zed SET text = %s, version = version + 1", [SCHEMA])
        postgres.restart()
        watched.expect_write()


def other_encoding(run):
    """A database that takes any bytes, and one of another character set."""
    with PrivatePostgres() as postgres:
        for encoding in ("SQL_ASCII", "LATIN1"):
            name = f"other_{encoding.lower()}"
            postgres.psql(f"CREATE DATABASE {name} ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0")
            conninfo = postgres.conninfo.replace("dbname=postgres", f"dbname={name}")
            run.tally.count("troubles")
            try:
                licet.migrate(conninfo)
                with licet.open(conninfo, **LIMITS) as engine:
                    engine.write_schema(SCHEMA)
                    engine.touch(*ROWS)
                    found = [engine.allowed(*q, consistency=licet.FULL) for q in (ASKED, BANNED, NOBODY)]
                if found != [True, False, False]:
                    run.tally.wrong("wrong answers", f"{encoding}: {found}")
                run.tally.count("right answers", 3)
            except licet.Error:
                run.tally.count("errors")


# ------------------------------------------------------------------- no room


@contextmanager
def small_disk(folder):
    """A file system of its own below the folder, where one may be made; else None."""
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=96m,mode=0777", "tmpfs", str(folder)], capture_output=True
    )
    if mounted.returncode != 0:
        yield None
        return
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=False)


def fill(connection, seconds=300):
    """A table that grows until there is no room for more."""
    end = time.monotonic() + seconds
    connection.execute("CREATE TABLE IF NOT EXISTS filling (x text)")
    try:
        while time.monotonic() < end:
            connection.execute("INSERT INTO filling SELECT repeat('x', 900) FROM generate_series(1, 2000)")
    except psycopg.Error:
        return
    raise PostgresError("the disk does not become full")


def full_disk(run):
    """The tables lie on a small file system; what keeps them alive (the log) on another."""
    with server(settings={"autovacuum": "off"}) as postgres:
        with small_disk(postgres.folder / "small") as disk:
            if disk is None:
                run.tally.count("full disks not tried: no file system may be mounted here")
                return
            space = disk / "space"
            space.mkdir()
            postgres._give_away(space)
            postgres.psql(f"CREATE TABLESPACE small LOCATION '{space}'")
            for table in ("rel", "tx", "zed"):
                postgres.psql(f"ALTER TABLE licet.{table} SET TABLESPACE small")
            with Watched(run, postgres.conninfo, "full disk") as watched:
                with psycopg.connect(postgres.conninfo, autocommit=True) as connection:
                    connection.execute("SET default_tablespace = small")
                    fill(connection)
                    write_until_it_fails(watched)
                    watched.expect_right()
                    connection.execute("DROP TABLE filling; CHECKPOINT")
                watched.expect_write()
            for table in ("rel", "tx", "zed"):
                postgres.psql(f"ALTER TABLE licet.{table} SET TABLESPACE pg_default")
            postgres.stop()


def write_until_it_fails(watched, seconds=300):
    """There may be room in pages that are there already. What fails is not there, what does not is."""
    engine = next(iter(watched.engines.values()))
    end, number = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        number += 1
        rows = [f"document:full{number}#viewer@user:u{user}" for user in range(500)]
        try:
            engine.touch(*rows)
            wanted = len(rows)
        except licet.Error:
            wanted = 0
        for mode, one in watched.engines.items():
            found = watched.settled(lambda e=one, n=number: rows_of(e, f"full{n}"))
            if isinstance(found, licet.Error):
                watched.tally.wrong("reads that fail for no reason", f"{watched.what}, {mode}: {found!r}")
                continue
            if len(found) != wanted:
                watched.tally.wrong("half writes", f"{watched.what}, {mode}: {len(found)} of {len(rows)}, not {wanted}")
        if wanted == 0:
            watched.tally.count("writes that found no room")
            return
    watched.tally.wrong("full disks that take writes", str(number))


TROUBLES = (
    read_only,
    read_only_by_default,
    dropped_rights,
    missing_table,
    foreign_rows,
    changed_schema,
    other_encoding,
    full_disk,
)


def trouble(run: Run) -> None:
    for _ in range(run.count):
        for one in TROUBLES:
            one(run)


if __name__ == "__main__":
    sys.exit(program(__doc__, 1, 5, trouble))

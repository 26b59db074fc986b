"""kill -9 of the server in the middle of writing: nothing acknowledged is lost, nothing is half applied, and nobody who
holds the token of a revocation finds what it took away.

Writers grant and revoke, several relationships in each write; checkers ask with the tokens of revocations. The server is
killed at a random moment and started again, soon or when the writers have given up; the same engines go on, and new
ones have to find the same. Only those kills count towards the number asked for that met a write on its way.
"""

from __future__ import annotations

import sys
import threading
import time

import licet
import psycopg
from common import GONE, OUTCOME_UNKNOWN, Run, program, server, until, viewers

WRITERS = 4
MOST = 20  # kills for one that meets a write: nearly all do
BATCH = 5
USERS = [f"u{n}" for n in range(BATCH)]


class Writer:
    """Grants and revokes everybody's access to one document, again and again, until its engine fails."""

    def __init__(self, engine, document, tally):
        self.engine, self.document, self.tally = engine, document, tally
        self.rows = [f"document:{document}#viewer@user:{user}" for user in USERS]
        self.granted = False  # as of the last write that was acknowledged
        self.pending = None  # what a write of unknown outcome would have made of it
        self.last = None  # token of the last revocation
        self.revoked = None  # the same while nothing was granted since
        self.is_writing = False
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        while not self.ended.is_set():
            wanted = not self.granted
            if wanted:
                self.revoked = None
            try:
                self.is_writing = True
                token = (self.engine.touch if wanted else self.engine.delete)(*self.rows)
                self.is_writing = False
            except GONE as error:
                known = error.reason != OUTCOME_UNKNOWN
                self.tally.count("writes refused" if known else "writes of unknown outcome")
                self.pending = self.granted if known else wanted
                return
            except licet.Error as error:
                self.tally.wrong("other errors", f"{self.document}: {error!r}")
                return
            self.tally.count("writes acknowledged")
            self.granted = wanted
            if not wanted:
                self.last = self.revoked = token
                time.sleep(0.003)

    def judge(self, found, who):
        """found: the users that see the document now."""
        if found not in (set(), set(USERS)):
            self.tally.wrong("half applied", f"{self.document} of {who}: {sorted(found)}")
        elif bool(found) not in (self.granted, self.pending):
            what = "revocations lost" if found else "grants lost"
            self.tally.wrong(what, f"{self.document} of {who}: {self.granted=} {self.pending=}")


class Checker:
    """Asks with the token of a revocation. It may be refused an answer, but is never allowed."""

    def __init__(self, engine, writers, tally):
        self.engine, self.writers, self.tally = engine, writers, tally
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        while not self.ended.is_set():
            for writer in self.writers:
                self.ask(writer)
            time.sleep(0.001)

    def ask(self, writer):
        token = writer.revoked
        if token is None:
            return
        try:
            allowed = self.engine.allowed(
                f"document:{writer.document}", "view", f"user:{USERS[0]}", consistency=licet.at_least(token)
            )
        except GONE:
            self.tally.count("checks without an answer")
            return
        self.tally.count("checks with a revocation's token")
        # Unless the writer has begun to grant again, which puts the token away first.
        if allowed and writer.revoked == token:
            self.tally.wrong("revoked and granted", f"{writer.document} {token}")


def stored(conninfo, document):
    """Of the tables themselves."""
    with psycopg.connect(conninfo) as connection:
        alive = "SELECT si FROM licet.rel WHERE ri = %s AND deleted_xid = '9223372036854775807'"
        return {user for (user,) in connection.execute(alive, [document])}


def kill_once(run, postgres, engines, number):
    tally = run.tally
    choice = list(engines.values())
    writers = [Writer(choice[n % len(choice)], f"d{number}w{n}", tally) for n in range(WRITERS)]
    checkers = [Checker(engine, writers, tally) for engine in choice]
    for one in writers + checkers:
        one.thread.start()
    time.sleep(run.random.uniform(0.005, 0.15))
    while not any(writer.is_writing for writer in writers):
        time.sleep(0.0005)
    postgres.pause()
    if any(writer.is_writing for writer in writers):
        tally.count("kills in mid-write")
    postgres.kill()
    for writer in writers:
        writer.ended.set()
    if number % 5 == 0:
        join(writers, tally)
    else:
        time.sleep(run.random.uniform(0, 0.3))
    postgres.start()
    join(writers, tally)
    tally.count("kills")
    judge(postgres, engines, writers, tally)
    for checker in checkers:
        checker.ended.set()
        checker.thread.join()


def join(writers, tally):
    for writer in writers:
        writer.thread.join(120)
        if writer.thread.is_alive():
            tally.wrong("hangs", f"a write to {writer.document}")


def judge(postgres, engines, writers, tally):
    fresh = {mode: licet.open(postgres.conninfo, mode=mode) for mode in engines}
    asked = [(f"an old engine, {mode}", engine) for mode, engine in engines.items()]
    asked += [(f"a new engine, {mode}", engine) for mode, engine in fresh.items()]
    for writer in writers:
        there = stored(postgres.conninfo, writer.document)
        writer.judge(there, "the tables")
        for who, engine in asked:
            found = until(lambda e=engine, w=writer: viewers(e, w.document))
            writer.judge(found, who)
            if found != there:
                tally.wrong("disagreements", f"{who} of {writer.document}: {sorted(found)}, {sorted(there)}")
            if writer.last and not there:
                writer.revoked = writer.last
                Checker(engine, [], tally).ask(writer)
    for engine in fresh.values():
        engine.close()


def kill(run: Run) -> None:
    with server() as postgres:
        engines = {mode: licet.open(postgres.conninfo, mode=mode) for mode in run.modes}
        for engine in engines.values():
            until(lambda e=engine: viewers(e, "nothing"))
        for number in range(MOST * run.count):
            kill_once(run, postgres, engines, number)
            if run.tally.counts["kills in mid-write"] == run.count:
                break
        else:
            run.tally.wrong("kills that met no write", f"of {MOST * run.count}")
        for engine in engines.values():
            engine.close()


if __name__ == "__main__":
    sys.exit(program(__doc__, 5, 100, kill))

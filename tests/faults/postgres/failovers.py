"""Servers that come back as something else: restarted, replaced by a standby (that had all, or lost the last commits),
restored from an older backup, or loaded from a dump into a young cluster. Engines live through it: they show what the
new server has, refuse tokens that its history does not hold, and never allow what a token's holder knows to be revoked.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import suppress

import licet
from common import GONE, Run, program, server, until
from postgres import PrivatePostgres
from proxy import Proxy

REFUSED = (*GONE, licet.InvalidToken, licet.RevisionExpired)

KEPT = ("document:kept", "view", "user:ada")  # granted before everything
LOST = ("document:lost", "view", "user:ada")  # granted, and the grant is lost
REVOKED = ("document:revoked", "view", "user:ada")  # granted before, revoked, and the revocation is lost


def row(question):
    document, _, user = question
    return f"{document}#viewer@{user}"


class Engines:
    """One in each mode on the same address, whatever stands behind it."""

    def __init__(self, run, conninfo, what):
        self.tally, self.what = run.tally, what
        limits = {"wait_timeout_ms": 1000, "write_timeout_ms": 2000, "max_staleness_ms": 2000}
        self.engines = {mode: licet.open(conninfo, mode=mode, **limits) for mode in run.modes}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for engine in self.engines.values():
            engine.close()

    def write(self, operation, question):
        engine = next(iter(self.engines.values()))
        return until(lambda: getattr(engine, operation)(row(question)))

    def expect(self, question, expected):
        """At full consistency, once there is a server again."""
        for mode, engine in self.engines.items():
            allowed = until(lambda e=engine: e.allowed(*question, consistency=licet.FULL))
            if allowed != expected:
                self.tally.wrong("wrong answers", f"{self.what}, {mode}: {question} {allowed}")
            unasked = until(lambda e=engine: e.allowed(*question))
            if unasked != expected:
                self.tally.wrong("wrong answers", f"{self.what}, {mode}, unasked: {question} {unasked}")
            self.tally.count("answers", 2)

    def expect_refused(self, question, token, exactly=True):
        """The token names what this server does not have: no answer at all."""
        wanted = [licet.at_least(token)] + ([licet.at_exactly(token)] if exactly else [])
        for mode, engine in self.engines.items():
            for consistency in wanted:
                try:
                    answer = engine.allowed(*question, consistency=consistency)
                    self.tally.wrong("lost tokens taken", f"{self.what}, {mode}: {question} {answer}")
                except REFUSED:
                    self.tally.count("lost tokens refused")

    def expect_token_good(self, question, token, expected):
        for mode, engine in self.engines.items():
            allowed = until(lambda e=engine: e.allowed(*question, consistency=licet.at_least(token)), 30)
            if allowed != expected:
                self.tally.wrong("wrong answers", f"{self.what}, {mode}: {question} {allowed} at a token")
            self.tally.count("tokens that live on")

    def works(self):
        """Writing and reading, on whatever there is now."""
        self.write("touch", ("document:after", "view", "user:ada"))
        self.expect(("document:after", "view", "user:ada"), True)
        self.write("delete", ("document:after", "view", "user:ada"))
        self.expect(("document:after", "view", "user:ada"), False)


def begin(engines):
    for question in (KEPT, REVOKED):
        engines.write("touch", question)
    engines.expect(KEPT, True)
    engines.expect(REVOKED, True)


def lose(engines):
    """What the next server will not know. Returns the tokens."""
    return engines.write("touch", LOST), engines.write("delete", REVOKED)


def restart(run, how):
    """The same server again. Nothing is lost, and tokens live on."""
    with server() as postgres, Engines(run, postgres.conninfo, f"restart by {how.name}") as engines:
        begin(engines)
        granted, revoked = lose(engines)
        postgres.restart(how)
        engines.expect_token_good(LOST, granted, True)
        engines.expect_token_good(REVOKED, revoked, False)
        engines.expect(KEPT, True)
        engines.works()


def fail_over(run, with_loss):
    """To a standby, behind the same address. Its timeline is new: tokens of before are refused, also if nothing was lost."""
    with server() as postgres, postgres.standby() as standby, Proxy(postgres.socket_path) as proxy:
        with Engines(run, proxy.conninfo, "failover" + " with loss" * with_loss) as engines:
            begin(engines)
            postgres.caught_up(standby)
            if with_loss:
                standby.detach()
            granted, revoked = lose(engines)
            if not with_loss:
                postgres.caught_up(standby)
            postgres.kill()
            proxy.refuse()
            standby.promote()
            proxy.redirect(standby.socket_path)
            engines.expect(KEPT, True)
            engines.expect(LOST, not with_loss)
            engines.expect(REVOKED, with_loss)
            engines.expect_refused(LOST, granted)
            engines.expect_refused(REVOKED, revoked)
            engines.works()


def restore(run, new_timeline):
    """An older backup. Without a new timeline only the transaction ids tell that a token is not of this history, as long
    as they are not reached again."""
    with server() as postgres:
        what = "restore" + " with a new timeline" * new_timeline
        with Engines(run, postgres.conninfo, what) as engines:
            begin(engines)
            backup = postgres.backup()
            for number in range(200):
                engines.write("touch", (f"document:n{number}", "view", "user:ada"))
            granted, revoked = lose(engines)
            postgres.restore(backup, new_timeline=new_timeline)
            engines.expect(KEPT, True)
            engines.expect(LOST, False)
            engines.expect(REVOKED, True)
            engines.expect_refused(LOST, granted)
            engines.expect_refused(REVOKED, revoked)
            engines.works()


def load_dump(run):
    """Into a cluster whose transaction ids are far behind the stored ones: what is stored there seems not to have happened
    yet. An engine must say so, rather than take living rows for absent."""
    with server() as postgres, Engines(run, postgres.conninfo, "dump") as engines:
        begin(engines)
        for number in range(300):
            engines.write("touch", (f"document:n{number}", "view", "user:ada"))
        engines.write("touch", ("document:plan", "view", "user:bo"))
        engines.write("touch", ("document:plan", "view", "user:ada"))
        host = next(iter(engines.engines.values()))
        host.touch("document:plan#banned@user:bo")
        dump = subprocess.run(
            [
                str(postgres.binaries / "pg_dump"),
                "-h",
                postgres.host,
                "-p",
                str(postgres.port),
                "-U",
                "licet",
                "postgres",
            ],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    with PrivatePostgres() as young:
        young.psql(dump)
        for mode in run.modes:
            with licet.open(young.conninfo, mode=mode, wait_timeout_ms=1000) as engine:
                for question in (KEPT, ("document:plan", "view", "user:bo")):
                    try:
                        answer = engine.allowed(*question, consistency=licet.FULL)
                        run.tally.wrong("answers from a dump", f"{mode}: {question} {answer}")
                    except REFUSED:
                        run.tally.count("dumps refused")
                with suppress(*REFUSED):
                    engine.touch("document:plan#viewer@user:cy")
                    run.tally.wrong("writes into a dump", mode)


def follow_standby(run):
    """A standby for reads that may be stale: never older than the token asked for, nor than what was asked before."""
    with server() as postgres, postgres.standby() as standby:
        options = {"replica_uri": standby.conninfo, "max_staleness_ms": 2000}
        with licet.open(postgres.conninfo, **options) as engine:
            for number in range(200):
                document = f"document:s{number}"
                token = engine.touch(f"{document}#viewer@user:ada")
                if number % 20 == 10:
                    standby.pause()
                if not engine.allowed(document, "view", "user:ada", consistency=licet.at_least(token)):
                    run.tally.wrong("wrong answers", f"standby: {document} not granted at its token")
                token = engine.delete(f"{document}#viewer@user:ada")
                if engine.allowed(document, "view", "user:ada", consistency=licet.at_least(token)):
                    run.tally.wrong("wrong answers", f"standby: {document} granted at its revocation's token")
                if number % 20 == 12:
                    standby.cont()
                run.tally.count("tokens asked for beside a standby", 2)


def fail_over_all(run: Run) -> None:
    for number in range(run.count):
        restart(run, signal.SIGINT if number % 2 else signal.SIGQUIT)
        for choice in (True, False):
            fail_over(run, with_loss=choice)
            restore(run, new_timeline=choice)
        load_dump(run)
        follow_standby(run)
        run.tally.count("rounds of restart, failovers, restores, dump and standby")


if __name__ == "__main__":
    sys.exit(program(__doc__, 1, 10, fail_over_all))

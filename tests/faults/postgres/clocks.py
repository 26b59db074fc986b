"""The database's clock is an hour behind the host's, or ahead of it, and its network may be so slow that nobody can tell what
it shows. What expires does so by the database's clock, whatever an engine is asked first; and where that is not known,
what hangs on it is not answered.
"""

from __future__ import annotations

import sys
import time
from datetime import datetime, timezone

import licet
from common import PostgresError, PrivatePostgres, Run, program
from postgres import clock_setter
from proxy import Proxy

HOUR_S = 3600
SLOW_S = 0.6  # on each way, so that a round trip takes more than the second within which a clock counts as known
GRACE_S = 3  # in which an engine has to have asked

SCHEMA = """\
use expiration
definition user {}
definition document {
  relation viewer: user with expiration
  relation reader: user
  relation banned: user with expiration
  permission view = viewer
  permission read = reader - banned
  permission open = reader
}
"""


def row(relation, user, expires_at=None):
    expiration = expires_at and datetime.fromtimestamp(expires_at, timezone.utc)
    return licet.Relationship("document", "plan", relation, "user", user, expiration=expiration)


def database_time(postgres):
    return float(postgres.psql("SELECT extract(epoch FROM clock_timestamp())"))


# What is stored, by when it expires on the database's clock; and who may then do what.
ROWS = (
    ("viewer", "later", HOUR_S / 2),
    ("viewer", "gone", -HOUR_S / 2),
    ("viewer", "soon", GRACE_S),
    ("reader", "banned", None),
    ("banned", "banned", HOUR_S / 2),
    ("reader", "free", None),
    ("banned", "free", -HOUR_S / 2),
)
RIGHTS = {("view", "later"): True, ("view", "gone"): False, ("read", "banned"): False, ("read", "free"): True}
VIEWERS = {"later"}


def store(postgres, schema):
    """Written by an engine that does not meet the rows again. Returns the database's time when the last one expires."""
    licet.migrate(postgres.conninfo, postgres_schema=schema)
    now = database_time(postgres)
    with licet.open(postgres.conninfo, postgres_schema=schema, mode="prefetch") as engine:
        engine.write_schema(SCHEMA)
        engine.touch(*(row(relation, user, at and now + at) for relation, user, at in ROWS))
    return now + GRACE_S


# ------------------------------------------------------------------- an hour off


def full(call):
    return lambda engine: call(engine, consistency=licet.FULL)


def is_right(engine, **how):
    return all(engine.allowed("document:plan", *asked, **how) is right for asked, right in rights_as_asked())


def rights_as_asked():
    return [((permission, f"user:{user}"), right) for (permission, user), right in RIGHTS.items()]


def lists_right(engine, **how):
    found = engine.read_relationships(resource_type="document", relation="viewer", **how)
    return {one.subject_id for one in found} - {"soon"} == VIEWERS


def finds_right(engine, **how):
    found = engine.lookup_subjects("document:plan", "view", "user", **how)
    return {one.subject_id for one in found} - {"soon"} == VIEWERS


def bulk_right(engine, **how):
    asked = [("document:plan", *question) for question, _ in rights_as_asked()]
    return [one.allowed for one in engine.check_bulk(asked, **how)] == list(RIGHTS.values())


def expects_right(engine):
    """What has expired holds no precondition, and what has not does."""
    held = {
        user: holds(engine, licet.must_match(resource_type="document", subject_type="user", subject_id=user))
        for user in ("later", "gone")
    }
    return held == {"later": True, "gone": False}


def holds(engine, precondition):
    try:
        engine.write([licet.touch("document:other#reader@user:x")], preconditions=[precondition])
    except licet.PreconditionFailed:
        return False
    return True


def writes(engine):
    return bool(engine.touch("document:other#reader@user:x"))


def writes_schema(engine):
    return bool(engine.write_schema(SCHEMA + "definition other {}\n"))


FIRSTS = {
    "checks": full(is_right),
    "reads": full(lists_right),
    "looks up": full(finds_right),
    "checks in bulk": full(bulk_right),
    "expects": expects_right,
    "writes": writes,
    "writes a schema": writes_schema,
}


def judge_first(run, postgres, mode, schema, name):
    """A new engine, of which this is the first that is asked; and then the rest."""
    with licet.open(postgres.conninfo, mode=mode, postgres_schema=schema) as engine:
        for what in (name, "checks", "reads", "looks up", "checks in bulk"):
            if not FIRSTS[what](engine):
                offset = f"{postgres.clock_offset_s:+d} s"
                run.tally.wrong("wrong times", f"{offset}, {mode}, first {name}: then it {what} wrongly")
            run.tally.count("questions under another clock")


def judge_soon(run, postgres, mode, schema, until):
    """It expires before somebody's eyes, within the time that the clock may be off."""
    with licet.open(postgres.conninfo, mode=mode, postgres_schema=schema) as engine:
        while (before := database_time(postgres)) < until + 1:
            allowed = engine.allowed("document:plan", "view", "user:soon", consistency=licet.FULL)
            after = database_time(postgres)
            if (allowed and before > until + 0.05) or (not allowed and after < until - 0.05):
                run.tally.wrong("wrong times", f"{mode}: {allowed} {before - until:.3f} s after it expires")
            run.tally.count("questions while it expires")
            time.sleep(0.01)


def set_apart(run):
    for offset_s in (-HOUR_S, HOUR_S):
        with PrivatePostgres(clock_offset_s=offset_s) as postgres:
            if abs(database_time(postgres) - time.time() - offset_s) > 60:
                raise PostgresError("its clock is not set apart")
            for mode in run.modes:
                until = store(postgres, f"t_{mode}")
                judge_soon(run, postgres, mode, f"t_{mode}", until)
                for name in FIRSTS:
                    judge_first(run, postgres, mode, f"t_{mode}", name)


# ------------------------------------------------------------------- not known


def late(_, piece):
    time.sleep(2 * SLOW_S)
    return piece


def not_known(run):
    """What does not expire is answered all the same."""
    with PrivatePostgres() as postgres:
        store(postgres, "licet")
        with Proxy(postgres.socket_path, late) as proxy:
            with licet.open(proxy.conninfo, mode="follow", wait_timeout_ms=60000, max_staleness_ms=60000) as engine:
                if engine.allowed("document:plan", "open", "user:free", consistency=licet.FULL) is not True:
                    run.tally.wrong("wrong answers", "over a slow network")
                calls = {
                    "check": lambda: engine.allowed("document:plan", "view", "user:later"),
                    "denial": lambda: engine.allowed("document:plan", "view", "user:gone"),
                    "ban": lambda: engine.allowed("document:plan", "read", "user:free"),
                    "bulk check": lambda: engine.check_bulk([("document:plan", "view", "user:later")]),
                    "lookup of subjects": lambda: list(engine.lookup_subjects("document:plan", "view", "user")),
                    "lookup of resources": lambda: list(engine.lookup_resources("document", "read", "user:free")),
                    "expansion": lambda: engine.expand("document:plan", "view"),
                    "explanation": lambda: engine.explain("document:plan", "view", "user:later"),
                    "read": lambda: list(engine.read_relationships(resource_type="document")),
                }
                for name, call in calls.items():
                    try:
                        run.tally.wrong("answers at a time that is not known", f"{name}: {call()!r}")
                    except licet.Unavailable:
                        run.tally.count("refusals at a time that is not known")


def judge_times(run: Run) -> None:
    for _ in range(run.count):
        try:
            clock_setter()
        except PostgresError as error:
            run.tally.count(f"clocks that could not be set: {error}")
        else:
            set_apart(run)
        if "follow" in run.modes:
            not_known(run)


if __name__ == "__main__":
    sys.exit(program(__doc__, 1, 5, judge_times))

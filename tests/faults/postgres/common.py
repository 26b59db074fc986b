"""What the programs of this folder share: a world, its engines, and how a program tells what it found.

Each program has a Postgres of its own, breaks it in one way, many times, and ends with one line of counts. Its status is 1
if anything was not as it has to be. Without --full it runs a reduced number of times.
"""

from __future__ import annotations

import argparse
import base64
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import licet

sys.path.insert(1, str(Path(__file__).resolve().parents[3] / "tools"))

from postgres import PostgresError, PrivatePostgres  # noqa: E402

__all__ = ["PostgresError", "PrivatePostgres"]

Found = TypeVar("Found")

MODES = ("follow", "prefetch")

SCHEMA = """\
definition user {}

definition group {
  relation member: user | group#member
}

definition document {
  relation owner: user
  relation viewer: user | user:* | group#member
  relation banned: user
  permission view = (viewer + owner) - banned
}
"""

# Errors that a call may end with while the database does not answer. None of them is an answer.
GONE = (licet.Unavailable, licet.DeadlineExceeded)

# What a write says that may have been applied.
OUTCOME_UNKNOWN = "MAY_HAVE_BEEN_APPLIED"


class Tally:
    """Counts, and everything that was wrong. Any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.counts: Counter[str] = Counter()
        self.wrongs: list[str] = []

    def count(self, what: str, number: int = 1) -> None:
        with self._lock:
            self.counts[what] += number

    def most(self, what: str, number: int) -> None:
        """Keeps the largest number."""
        with self._lock:
            self.counts[what] = max(self.counts[what], number)

    def wrong(self, what: str, told: str) -> None:
        """Counts it too."""
        with self._lock:
            self.counts[what] += 1
            self.wrongs.append(f"{what}: {told}")

    def add(self, counts: Counter[str], wrongs: list[str]) -> None:
        """Those of another process."""
        with self._lock:
            self.counts += counts
            self.wrongs += wrongs


class Run(NamedTuple):
    """What a program was asked for."""

    count: int
    random: random.Random
    tally: Tally
    modes: tuple[str, ...]
    is_full: bool


def program(about: str, reduced: int, full: int, run: Callable[[Run], None]) -> int:
    """Reads the arguments, runs, and prints the counts. Returns the program's status."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help=f"{full} times rather than {reduced}")
    parser.add_argument("--count", type=int, help="so many times")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mode", choices=MODES, help="only this one")
    given = parser.parse_args()
    count = given.count or (full if given.full else reduced)
    tally = Tally()
    started = time.monotonic()
    run(Run(count, random.Random(given.seed), tally, (given.mode,) if given.mode else MODES, given.full))
    for wrong in tally.wrongs[:20]:
        print(f"WRONG {wrong}", file=sys.stderr)
    counts = ", ".join(f"{number} {what}" for what, number in tally.counts.items())
    name = Path(sys.argv[0]).stem
    print(f"{name}, seed {given.seed}, {time.monotonic() - started:.0f} s: {counts}; {len(tally.wrongs)} wrong")
    return 1 if tally.wrongs else 0


# ------------------------------------------------------------------- engines


@contextmanager
def server(**how: Any) -> Iterator[PrivatePostgres]:
    """A new server with our tables, and the schema in force."""
    with PrivatePostgres(**how) as running:
        prepare(running.conninfo)
        yield running


def prepare(conninfo: str, **options: Any) -> None:
    licet.migrate(conninfo, **options)
    with licet.open(conninfo, **options) as engine:
        engine.write_schema(SCHEMA)


def until(attempt: Callable[[], Found], seconds: float = 120, passing: tuple[type[licet.Error], ...] = GONE) -> Found:
    """What it returns once it does not fail for want of a database."""
    end = time.monotonic() + seconds
    while True:
        try:
            return attempt()
        except passing:
            if time.monotonic() > end:
                raise
            time.sleep(0.02)


def viewers(engine: licet.Engine, document: str) -> set[str]:
    """Who is stored as one, at full consistency."""
    found = engine.read_relationships(
        resource_type="document", resource_id=document, relation="viewer", consistency=licet.FULL
    )
    return {row.subject_id for row in found}


# ------------------------------------------------------------------- tokens


class Snapshot(NamedTuple):
    """A snapshot of Postgres: what `text` says."""

    xmin: int
    xmax: int
    running: frozenset[int]

    @property
    def text(self) -> str:
        return f"{self.xmin}:{self.xmax}:{','.join(map(str, sorted(self.running)))}"

    def dominates(self, other: Snapshot) -> bool:
        """Does it see all that the other sees?"""
        return self.xmax >= other.xmax and all(xid >= other.xmax or xid in other.running for xid in self.running)


def snapshot_of(token: str) -> Snapshot:
    """As core/datastore/postgres/token.h lays a token out: xmax by its distance to xmin, each running one by its distance
    to the one before."""
    inner = base64.urlsafe_b64decode(token)
    assert inner[:2] == b"\x02p" and inner[22] == 0, inner
    xmin, length, running = inner[23:-16].decode().strip().split(":")
    at, xids = int(xmin), []
    for distance in filter(None, running.split(",")):
        at += int(distance)
        xids.append(at)
    return Snapshot(int(xmin), int(xmin) + int(length), frozenset(xids))

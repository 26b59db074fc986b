"""What is measured: a system that holds the world's relationships and answers its requests.

A system in Python inherits from InPython and says by `prepared` which function it calls with what. One in another language
inherits from System and times itself in a program of its own, by the same method: as many callers as asked for, each with a
connection of its own where there are connections; a warm-up; then a time in which every call counts. The requests of a
timing are all of one kind. Calls that take less than two microseconds or so are timed in batches, so that the clock is not
what is measured; the 99th percentile is then one of batches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Union

if TYPE_CHECKING:
    from measure import Timer
    from world import World

SCENARIOS = ("direct", "nested", "denied", "bulk", "lookup")
FULL, DEFAULT = "full", "default"


class Unavailable(Exception):
    """The system can't be had on this machine. Says why, for a person."""


class Check(NamedTuple):
    resource: str  # type:id
    permission: str
    subject: str  # type:id


class Bulk(NamedTuple):
    items: tuple[Check, ...]


class Lookup(NamedTuple):
    resource_type: str
    permission: str
    subject: str


Request = Union[Check, Bulk, Lookup]

# Of a check; of a bulk check, item by item; of a lookup, the ids without their type.
Answer = Union[bool, tuple[bool, ...], frozenset[str]]


@dataclass(frozen=True)
class Timing:
    """Of one call, whoever made it; `per_second` are the calls of all callers together."""

    median_ns: float
    p99_ns: float
    per_second: float
    calls: int
    batch: int = 1  # calls that were timed together
    walk_ns: float = 0.0  # one walk by hand (bench/support/walk.h), timed in turns with the calls; 0: there was none


class System:
    """One row of the tables.

    Opened once, used from one thread (but `write_one`, which is called while `time` runs) and closed once, also when it
    was never opened or could not be.
    """

    name = ""
    caller = ""  # the language of whoever calls it
    lacks = ""  # what its model can't express, one sentence
    scenarios: frozenset[str] = frozenset(SCENARIOS)
    consistencies: frozenset[str] = frozenset({FULL, DEFAULT})

    # Which numbers of callers make sense: one thread of an interpreter that knows no others has one.
    most_callers = 8

    # Timed in short slices, in turns with the others that are, so that all of them meet the same moments. Not for what
    # has a cache that is filled anew now and then, which it would have to do again in every slice.
    in_slices = False

    def processes(self) -> list[int]:
        """Those whose threads call, if they are to keep to one processor while there is one caller."""
        return []

    def open(self, world: World) -> None:
        """Takes the schema and all relationships. Raises Unavailable."""
        raise NotImplementedError

    def answer(self, request: Request, consistency: str) -> Answer:
        """By the way that is timed. Raises what the system does; never guesses."""
        raise NotImplementedError

    def answers(self, requests: Sequence[Request], consistency: str) -> list[Answer]:
        return [self.answer(request, consistency) for request in requests]

    def time(
        self, requests: Sequence[Request], consistency: str, callers: int, warmup_s: float, time_s: float
    ) -> Timing:
        """Asks the requests one after the other, over and over; each caller begins at another place."""
        raise NotImplementedError

    def churn(self, rows: Sequence[str]) -> None:
        """Grants the relationships, a thousand in each transaction, and then revokes them."""
        raise NotImplementedError

    def write_one(self, row: str) -> None:
        """Grants one relationship, over a connection that no caller uses."""
        raise NotImplementedError

    def close(self) -> None:
        """Twice is fine."""


class InPython(System):
    """One that is called from Python: by threads of this process, each of which is a caller."""

    caller = "Python"

    _timed: tuple[object, ...] = ()
    _timer: Timer | None = None

    def prepared(
        self, requests: Sequence[Request], consistency: str, caller: int
    ) -> tuple[Callable[..., Any], list[tuple[Any, ...]]]:
        """The function that caller number `caller` (0 first) calls, and its arguments for each of the requests, all of one
        kind. What an application would do once is done here; what it has to do for each request, down to reading the
        answer, is done by the function."""
        raise NotImplementedError

    def time(
        self, requests: Sequence[Request], consistency: str, callers: int, warmup_s: float, time_s: float
    ) -> Timing:
        from measure import Timer

        wanted = (requests, consistency, callers)
        if self._timer is None or self._timed != wanted:
            self._timer = Timer([self.prepared(requests, consistency, number) for number in range(callers)])
            self._timed = wanted
        return self._timer.time(warmup_s, time_s)

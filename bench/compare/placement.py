"""Which processors callers and servers run on while there is one caller.

A round trip takes some 10 us where client and server run on one processor in turns, and 50 to 90 where they wake each other
on two; left alone, the system decides anew from moment to moment. So while one caller is timed, it keeps to one processor,
and the sessions of Postgres that it waits for to another. What has a server of its own is left alone, and so are eight
callers.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from servers import Postgres

CHOSEN = (
    "While there is one caller, licet and the floors call from processor {client}, and the Postgres sessions that serve them run on "
    "processor {server}; SpiceDB and others run where the system puts them. Eight callers run where it puts them."
)
LEFT = "Callers and servers run where the system puts them: {reason}."


def keep_to(process: int, processors: set[int]) -> None:
    """All its threads; those it starts later do as the one that starts them."""
    with suppress(OSError):  # it has ended
        for thread in Path(f"/proc/{process}/task").iterdir():
            with suppress(OSError):
                os.sched_setaffinity(int(thread.name), processors)


def why_not(postgres: Postgres) -> str:
    """Why nobody can be kept to a processor; empty: they can."""
    if not hasattr(os, "sched_setaffinity"):
        return "it knows no other way"
    if len(os.sched_getaffinity(0)) < 2:
        return "there is one processor"
    return "" if postgres.is_private else "Postgres is not ours"


class Placement:
    def __init__(self, postgres: Postgres, databases: Sequence[str]) -> None:
        """databases: whose sessions are meant."""
        self.postgres, self.databases = postgres, databases
        reason = why_not(postgres)
        self.is_chosen = not reason
        if self.is_chosen:
            self.all = os.sched_getaffinity(0)
            client, server, *_ = sorted(self.all)
            self.client, self.server = {client}, {server}
            self.told = CHOSEN.format(client=client, server=server)
        else:
            self.told = LEFT.format(reason=reason)

    def sessions(self) -> list[int]:
        names = ", ".join(f"'{name}'" for name in self.databases)
        told = self.postgres.run(f"SELECT string_agg(pid::text, ' ') FROM pg_stat_activity WHERE datname IN ({names})")
        return [int(pid) for pid in told.split() if pid.isdigit()]

    def put_sessions(self, on_server: bool) -> None:
        """Those that there are now."""
        if self.is_chosen:
            for session in self.sessions():
                keep_to(session, self.server if on_server else self.all)

    def put_callers(self, processes: Sequence[int], on_client: bool) -> None:
        if self.is_chosen:
            for process in processes:
                keep_to(process, self.client if on_client else self.all)

    @contextmanager
    def calling(self, processes: Sequence[int]) -> Iterator[None]:
        """For as long as they call: others call from the same process."""
        self.put_callers(processes, True)
        try:
            yield
        finally:
            self.put_callers(processes, False)

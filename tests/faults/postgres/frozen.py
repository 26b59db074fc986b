"""SIGSTOP of the whole server: every call that waits for it is back within its deadline and 50 ms, with an error; a check
that need not wait is answered until the graph is too old, and then fails. Closing does not wait. Afterwards all is as
before.
"""

from __future__ import annotations

import sys
import threading
import time

import licet
from common import GONE, Run, program, server, until

WAIT_MS = 400
WRITE_MS = 600
STALENESS_MS = 1500
GRACE_MS = 50
CLOSE_MS = 1000
# Late is what is so each time: once may be for what else this machine does. A full run has the machine for itself.
ATTEMPTS = 5

QUESTION = ("document:plan", "view", "user:ada")


def calls(engine, token):
    """[(name, deadline in ms, call), ...]: all that wait."""
    full, at_least = {"consistency": licet.FULL}, {"consistency": licet.at_least(token)}
    yield "check", WAIT_MS, lambda: engine.check(*QUESTION, **full)
    yield "bulk check", WAIT_MS, lambda: engine.check_bulk([QUESTION] * 10, **full)
    yield "lookup of resources", WAIT_MS, lambda: list(engine.lookup_resources("document", "view", "user:ada", **full))
    yield "lookup of subjects", WAIT_MS, lambda: list(engine.lookup_subjects("document:plan", "view", "user", **full))
    yield "expansion", WAIT_MS, lambda: engine.expand("document:plan", "view", **full)
    yield "read", WAIT_MS, lambda: list(engine.read_relationships(resource_type="document", **full))
    yield "export", WAIT_MS, lambda: list(engine.export_relationships(**full))
    yield "touch", WRITE_MS, lambda: engine.touch("document:other#viewer@user:ada")
    yield "delete", WRITE_MS, lambda: engine.delete("document:other#viewer@user:ada")
    yield "filtered delete", WRITE_MS, lambda: engine.delete_relationships(resource_type="group")
    if engine.stats().mode == "prefetch":
        yield "check of a token", WAIT_MS, lambda: engine.check(*QUESTION, **at_least)


class Call:
    """One call in a thread of its own."""

    def __init__(self, tally, late, mode, name, deadline_ms, call):
        self.tally, self.late, self.name = tally, late, f"{name}, {mode}"
        self.deadline_ms, self.call = deadline_ms, call
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        started = time.monotonic()
        try:
            answer = self.call()
            self.tally.wrong("answers of a frozen server", f"{self.name}: {answer!r}")
        except GONE:
            self.tally.count("calls refused")
        late_ms = (time.monotonic() - started) * 1000 - self.deadline_ms
        self.tally.most("ms late at most", max(0, round(late_ms)))
        if late_ms > GRACE_MS:
            self.late[self.name] = f"{late_ms:.0f} ms after its deadline"


def unasked(run, late, mode, engine, frozen_at):
    """A check at the default consistency: never waits, answers while the graph is young enough, then fails."""
    ended = time.monotonic() + (STALENESS_MS + 1000) / 1000
    while time.monotonic() < ended:
        started = time.monotonic()
        try:
            allowed = engine.allowed(*QUESTION)
        except GONE:
            allowed = None
        now = time.monotonic()
        if allowed is False:
            run.tally.wrong("wrong answers", f"unasked check, {mode}")
        if allowed and (started - frozen_at) * 1000 > STALENESS_MS:
            run.tally.wrong("answers of a graph that is too old", f"{(started - frozen_at) * 1000:.0f} ms, {mode}")
        if allowed and mode == "prefetch":
            run.tally.wrong("answers of a frozen server", "unasked check, prefetch")
        if (now - started) * 1000 > WAIT_MS + GRACE_MS:
            late[f"unasked check, {mode}"] = f"{(now - started) * 1000:.0f} ms"
        run.tally.count("unasked checks answered" if allowed else "unasked checks refused")
        time.sleep(0.02)


def freeze_once(run, postgres, engines):
    """What was late, and how late."""
    late: dict[str, str] = {}
    token = until(lambda: next(iter(engines.values())).touch("document:plan#owner@user:ada"))
    for engine in engines.values():
        until(lambda e=engine: e.check(*QUESTION, consistency=licet.at_least(token)))
    closing = [licet.open(postgres.conninfo, mode=mode) for mode in engines]
    for engine in closing:
        until(lambda e=engine: e.check(*QUESTION, consistency=licet.FULL))
    with postgres.paused():
        frozen_at = time.monotonic()
        waiting = [
            Call(run.tally, late, mode, *call) for mode, engine in engines.items() for call in calls(engine, token)
        ]
        watched = [
            threading.Thread(target=unasked, args=(run, late, mode, engine, frozen_at))
            for mode, engine in engines.items()
        ]
        for thread in watched:
            thread.start()
        for call in waiting:
            call.thread.join()
        for engine in closing:
            close(run, late, engine)
        for thread in watched:
            thread.join()
    run.tally.count("freezes")
    for mode, engine in engines.items():
        if not until(lambda e=engine: e.allowed(*QUESTION, consistency=licet.FULL)):
            run.tally.wrong("wrong answers", f"after a freeze, {mode}")
    return late


def close(run, late, engine):
    started = time.monotonic()
    engine.close()
    took_ms = round((time.monotonic() - started) * 1000)
    run.tally.most("ms to close at most", took_ms)
    if took_ms > CLOSE_MS:
        late["close"] = f"{took_ms} ms"


def freeze(run: Run) -> None:
    limits = {"wait_timeout_ms": WAIT_MS, "write_timeout_ms": WRITE_MS, "max_staleness_ms": STALENESS_MS}
    with server() as postgres:
        engines = {mode: licet.open(postgres.conninfo, mode=mode, **limits) for mode in run.modes}
        attempts = 1 if run.is_full else ATTEMPTS
        for _ in range(run.count):
            late = freeze_once(run, postgres, engines)
            for _ in range(attempts - 1):
                if late:
                    again = freeze_once(run, postgres, engines)
                    late = {name: how for name, how in again.items() if name in late}
            for name, how in late.items():
                run.tally.wrong("late", f"{name}, {attempts} times: {how}")
        for engine in engines.values():
            engine.close()


if __name__ == "__main__":
    sys.exit(program(__doc__, 2, 20, freeze))

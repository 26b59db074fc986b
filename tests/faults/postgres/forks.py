"""fork(), before an engine's first use and after, with other threads in the middle of checks and writes: the child's answers
are right, it sees what the parent revokes, its end (with and without close) does not touch the parent's connections, and a
child that can't reach the database stops answering when its graph is too old.
"""

from __future__ import annotations

import os
import select
import sys
import threading
import time

import licet
from common import GONE, Run, program, server, until
from proxy import Proxy

STALENESS_MS = 300
CHILD_SECONDS = 120


class Failed(Exception):
    """What a child found wrong."""


def expect(holds, what):
    if not holds:
        raise Failed(what)


def in_child(work):
    """Forks. Returns (pid, a file that will hold what was wrong). The child ends without any of Python's goodbyes."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid != 0:
        os.close(writing)
        return pid, reading
    told = b""
    try:
        os.close(reading)
        work()
    except BaseException as error:  # all of it is the parent's to judge
        told = repr(error).encode()
    os.write(writing, told)
    os._exit(1 if told else 0)


def outcome(pid, reading):
    """What was wrong, or nothing."""
    if not select.select([reading], [], [], CHILD_SECONDS)[0]:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
        os.close(reading)
        return "it hangs"
    told = b"".join(iter(lambda: os.read(reading, 4096), b"")).decode()
    os.close(reading)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return told or (f"it ended with {status}" if status else "")


class Load:
    """Threads of the parent that never stop asking and writing while it forks."""

    def __init__(self, engine, tally):
        self.engine, self.tally = engine, tally
        self.ended = threading.Event()
        self.threads = [threading.Thread(target=self.check), threading.Thread(target=self.write)]
        for thread in self.threads:
            thread.start()

    def check(self):
        while not self.ended.is_set():
            for consistency in (None, licet.FULL):
                if not self.engine.allowed("document:base", "view", "user:ada", consistency=consistency):
                    self.tally.wrong("wrong answers", "of the parent")
                self.tally.count("checks of the parent")

    def write(self):
        number = 0
        while not self.ended.is_set():
            number += 1
            self.engine.touch(f"document:load#viewer@user:u{number % 50}")

    def end(self):
        self.ended.set()
        for thread in self.threads:
            thread.join()


def child_of_a_used_engine(engine, document, go, close):
    """The parent revokes after the fork and then writes to `go`."""

    def work():
        expect(engine.allowed("document:base", "view", "user:ada"), "what was granted before is denied")
        os.read(go, 1)
        allowed = until(lambda: engine.allowed(f"document:{document}", "view", "user:ada", consistency=licet.FULL))
        expect(not allowed, "what the parent revoked is granted")
        token = until(lambda: engine.touch(f"document:{document}#viewer@user:child"))
        seen = engine.allowed(f"document:{document}", "view", "user:child", consistency=licet.at_least(token))
        expect(seen, "its own write is not seen")
        if close:
            engine.close()

    return work


def fork_used(run, engine, number, backends):
    """After use: the parent's connections outlive the child."""
    document = f"d{number}"
    engine.touch(f"document:{document}#viewer@user:ada")
    go, going = os.pipe()
    before = backends()
    pid, reading = in_child(child_of_a_used_engine(engine, document, go, close=number % 2 == 0))
    engine.delete(f"document:{document}#viewer@user:ada")
    os.write(going, b"x")
    wrong = outcome(pid, reading)
    os.close(go)
    os.close(going)
    if wrong:
        run.tally.wrong("children that failed", f"{number}, after use: {wrong}")
    if not engine.allowed(f"document:{document}", "view", "user:child", consistency=licet.FULL):
        run.tally.wrong("wrong answers", f"{number}: the child's write is not seen")
    if not before <= backends():
        run.tally.wrong("connections of the parent that ended", str(before - backends()))


def fork_unused(run, conninfo, mode, number):
    """Before use: as a server that loads and then forks its workers. Several children at once."""
    with licet.open(conninfo, mode=mode) as engine:

        def work():
            allowed = until(lambda: engine.allowed("document:base", "view", "user:ada", consistency=licet.FULL))
            expect(allowed, "what is granted is denied")
            expect(not engine.allowed("document:base", "view", "user:nobody"), "what is not granted is allowed")

        for wrong in [outcome(*child) for child in [in_child(work) for _ in range(2)]]:
            if wrong:
                run.tally.wrong("children that failed", f"{number}, before use, {mode}: {wrong}")


def fork_cut_off(run, postgres, number):
    """The child's network is down: past the staleness its inherited graph answers nothing."""
    with Proxy(postgres.socket_path) as proxy:
        with licet.open(proxy.conninfo, mode="follow", max_staleness_ms=STALENESS_MS, wait_timeout_ms=200) as engine:
            until(lambda: engine.allowed("document:base", "view", "user:ada", consistency=licet.FULL))
            proxy.refuse()

            def work():
                time.sleep(STALENESS_MS / 1000 + 0.1)
                for consistency in (None, licet.FULL):
                    try:
                        answer = engine.check("document:base", "view", "user:ada", consistency=consistency)
                    except GONE:
                        continue
                    raise Failed(f"it answers {answer!r} from a graph that is too old")

            wrong = outcome(*in_child(work))
            if wrong:
                run.tally.wrong("children that failed", f"{number}, cut off: {wrong}")


def fork_all(run: Run) -> None:
    with server() as postgres, licet.open(postgres.conninfo, mode=run.modes[0]) as engine:
        engine.touch("document:base#viewer@user:ada")

        def backends():
            """Of the parent's engine: those that were there before stay."""
            return set(postgres.psql("SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'licet%'").split())

        load = Load(engine, run.tally)
        for number in range(run.count):
            if number % 5 == 3:
                fork_unused(run, postgres.conninfo, run.random.choice(run.modes), number)
                run.tally.count("forks before use", 2)
            elif number % 50 == 4:
                fork_cut_off(run, postgres, number)
                run.tally.count("forks with the network down")
            else:
                fork_used(run, engine, number, backends)
                run.tally.count("forks after use")
        load.end()


if __name__ == "__main__":
    sys.exit(program(__doc__, 20, 500, fork_all))

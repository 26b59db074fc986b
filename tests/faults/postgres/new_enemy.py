"""The new enemy, over four processes: somebody loses access, then something new is put where they had it; whoever asks with
the token of the second finds the first done too.

Each process writes rounds of its own, some through its engine and some in SQL as an application does in its own
transaction, and tells their tokens to the others, which ask at once: at least as fresh as the token, and fully consistent.
"""

from __future__ import annotations

import json
import multiprocessing
import queue
import random
import sys
import threading
from collections import Counter

import licet
import psycopg
from common import MODES, Run, Tally, program, server

PROCESSES = 4
AHEAD = 4  # rounds that a process has under way


def sql_write(connection, *updates):
    """In a transaction of the application's. Returns the pending token, which counts once it has committed."""
    request = {"updates": [{"operation": operation, "relationship": row} for operation, row in updates]}
    with connection.transaction():
        return connection.execute("SELECT licet.write(%s)", [json.dumps(request)]).fetchone()[0]


class Process:
    """One of the four: writes its rounds, and asks about those of the others."""

    def __init__(self, number, conninfo, mode, rounds, seed, inboxes, results):
        self.number, self.rounds, self.inboxes, self.results = number, rounds, inboxes, results
        self.random = random.Random(seed * 1000 + number)
        self.tally = Tally()
        self.engine = licet.open(conninfo, mode=mode)
        self.connection = psycopg.connect(conninfo, autocommit=True)
        self.under_way = threading.Semaphore(AHEAD)
        self.waiting_for = Counter()

    def run(self):
        reader = threading.Thread(target=self.answer, daemon=True)
        reader.start()
        for number in range(self.rounds):
            self.under_way.acquire()
            self.round(f"p{self.number}r{number}")
        for _ in range(AHEAD):
            self.under_way.acquire()
        for inbox in self.inboxes:
            inbox.put(("end", self.number))
        reader.join()
        self.engine.close()
        self.results.put((self.tally.counts, self.tally.wrongs))

    def others(self):
        return [inbox for number, inbox in enumerate(self.inboxes) if number != self.number]

    def write(self, *updates):
        if self.random.random() < 0.5:
            return sql_write(self.connection, *updates)
        made = [{"touch": licet.touch, "delete": licet.delete}[operation](row) for operation, row in updates]
        return self.engine.write(made)

    def round(self, name):
        """Alice is a member and sees the old document; then she is none; then the group gets the new document."""
        member = f"group:{name}#member@user:alice"
        before = self.write(("touch", member), ("touch", f"document:{name}old#viewer@group:{name}#member"))
        if not self.engine.allowed(f"document:{name}old", "view", "user:alice", consistency=licet.at_least(before)):
            self.tally.wrong("grants not seen", name)
        self.write(("delete", member))
        token = self.write(("touch", f"document:{name}new#viewer@group:{name}#member"))
        self.tally.count("rounds")
        self.waiting_for[name] = PROCESSES - 1
        for other in self.others():
            other.put(("round", self.number, name, token))

    def answer(self):
        """Of the others: rounds, and word that a round of ours was looked at. Ends when all have ended, we too."""
        ended = 0
        while ended < PROCESSES:
            kind, sender, *about = self.inboxes[self.number].get(timeout=60)
            if kind == "round":
                self.look(*about)
                self.inboxes[sender].put(("seen", self.number, about[0]))
            elif kind == "seen":
                self.seen(*about)
            else:
                ended += 1

    def seen(self, name):
        self.waiting_for[name] -= 1
        if self.waiting_for[name] == 0:
            del self.waiting_for[name]
            self.under_way.release()

    def look(self, name, token):
        asked = [("at the token", licet.at_least(token)), ("fully consistent", licet.FULL)]
        self.random.shuffle(asked)
        for how, consistency in asked:
            for document in (f"document:{name}new", f"document:{name}old"):
                if self.engine.allowed(document, "view", "user:alice", consistency=consistency):
                    self.tally.wrong("new enemies", f"{document} {how} in process {self.number}")
                self.tally.count("checks of the others")


def work(*arguments):
    try:
        Process(*arguments).run()
    except (licet.Error, psycopg.Error, queue.Empty) as error:
        arguments[-1].put((Counter(), [f"process {arguments[0]}: {error!r}"]))
        raise


def meet(run: Run) -> None:
    spawn = multiprocessing.get_context("spawn")
    with server() as postgres:
        inboxes, results = [spawn.Queue() for _ in range(PROCESSES)], spawn.Queue()
        modes = [MODES[number % len(MODES)] if len(run.modes) > 1 else run.modes[0] for number in range(PROCESSES)]
        processes = [
            spawn.Process(
                target=work,
                args=(
                    number,
                    postgres.conninfo,
                    modes[number],
                    run.count // PROCESSES,
                    run.random.randrange(1000),
                    inboxes,
                    results,
                ),
            )
            for number in range(PROCESSES)
        ]
        for process in processes:
            process.start()
        for _ in processes:
            run.tally.add(*results.get(timeout=1200))
        for process in processes:
            process.join(10)
            if process.exitcode != 0:
                run.tally.wrong("processes that failed", f"status {process.exitcode}")


if __name__ == "__main__":
    sys.exit(program(__doc__, 100, 5000, meet))

"""kill -9 of who imports, and of the server, while an import is committed piece by piece: what is there is always exactly
the first so many relationships of the source, as many as the import's record says and no fewer than were acknowledged;
and going on makes all of it, each once.

Importers are processes of their own. One that was killed is started again; one whose server was killed goes on by
itself. Every third time two import under one name at once: one of them is refused. At the end another source is given
under the same name, and has to be refused too.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import licet
import psycopg
from common import GONE, Run, program, server

BATCHES = (1, 20, 100, 500)
PIECES = 60
FINISHED, MOVED = 0, 3


def source(number: int, rows: int) -> list[str]:
    return [f"document:d{number}#viewer@user:u{i}" for i in range(rows)]


# ------------------------------------------------------------------- the process that imports


def import_again_and_again(conninfo: str, number: int, batch: int) -> int:
    """Until it is done; each time that something is committed, a line says how much."""
    while True:
        try:
            with licet.open(conninfo, mode="prefetch") as engine:
                engine.import_relationships(
                    source(number, batch * PIECES),
                    resume=f"n{number}",
                    batch_size=batch,
                    progress=lambda count: print(count, flush=True),
                )
                return FINISHED
        except GONE:
            time.sleep(0.02)
        except licet.PreconditionFailed as error:
            if error.reason != "IMPORT_MOVED":
                raise
            return MOVED


class Importer:
    """The same, seen from outside."""

    def __init__(self, conninfo: str, number: int, batch: int) -> None:
        command = [sys.executable, __file__, "importer", conninfo, str(number), str(batch)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.begun = threading.Event()
        self.acknowledged = 0
        self.thread = threading.Thread(target=self.read)
        self.thread.start()

    def read(self) -> None:
        for line in self.process.stdout:
            self.acknowledged = int(line)
            self.begun.set()
        self.begun.set()

    def kill(self) -> None:
        self.process.kill()

    def end(self) -> int:
        """Its status; negative: it was killed."""
        try:
            status = self.process.wait(120)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            status = 99
        self.thread.join()
        self.process.stdout.close()
        return status


# ------------------------------------------------------------------- what is there


def judge(conninfo: str, number: int, rows: int, acknowledged: int, tally) -> int:
    """How much of the import is there, by its record; and is it that?"""
    with psycopg.connect(conninfo) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        record = connection.execute("SELECT count FROM licet.imports WHERE name = %s", [f"n{number}"]).fetchone()
        found = [
            f"document:{document}#viewer@user:{user}"
            for document, user in connection.execute("SELECT ri, si FROM licet.rel WHERE ri = %s", [f"d{number}"])
        ]
    count = record[0] if record else 0
    if sorted(found) != sorted(source(number, rows)[:count]):
        tally.wrong("not what the record says", f"{number}: {len(found)} rows, record {count}")
    if count < acknowledged:
        tally.wrong("acknowledged and lost", f"{number}: {count} of {acknowledged}")
    return count


def end_all(importers, number, tally) -> bool:
    """Has one of them finished?"""
    statuses = [importer.end() for importer in importers]
    tally.count("imports refused for another of the same name", statuses.count(MOVED))
    for status in statuses:
        if status > 0 and status != MOVED:
            tally.wrong("importers that failed", f"{number}: {status}")
    return FINISHED in statuses


def fault_once(run: Run, postgres, number: int) -> None:
    tally = run.tally
    batch = run.random.choice(BATCHES)
    rows = batch * PIECES
    importers = [Importer(postgres.conninfo, number, batch) for _ in range(2 if number % 3 == 2 else 1)]
    importers[0].begun.wait(60)
    time.sleep(run.random.uniform(0, 0.15))
    what = run.random.choice(("importer", "server", "both"))
    if what != "server":
        for importer in importers:
            importer.kill()
        tally.count("importers killed", len(importers))
    if what != "importer":
        postgres.kill()
        postgres.start()
        tally.count("servers killed")
    finished = end_all(importers, number, tally) if what != "server" or len(importers) > 1 else None
    if not finished:
        acknowledged = max(importer.acknowledged for importer in importers)
        count = judge(postgres.conninfo, number, rows, acknowledged, tally)
        tally.count("broken off in the middle", 0 < count < rows)
    if finished is None:
        finished = end_all(importers, number, tally)
    if not finished and not end_all([Importer(postgres.conninfo, number, batch)], number, tally):
        tally.wrong("imports that could not be gone on with", str(number))
    if judge(postgres.conninfo, number, rows, rows, tally) == rows:
        tally.count("imports completed")
        tally.count("relationships", rows)
    refuse_another(postgres.conninfo, number, rows, tally)


def refuse_another(conninfo: str, number: int, rows: int, tally) -> None:
    others = source(number, rows)
    others[rows // 2] = f"document:d{number}#viewer@user:other"
    with licet.open(conninfo, mode="prefetch") as engine:
        try:
            engine.import_relationships(others, resume=f"n{number}")
            tally.wrong("mixed", str(number))
        except licet.PreconditionFailed as error:
            if error.reason != "IMPORT_DIFFERS":
                tally.wrong("other refusals", f"{number}: {error!r}")
            tally.count("other sources refused")
    judge(conninfo, number, rows, rows, tally)


def fault(run: Run) -> None:
    with server() as postgres:
        for number in range(run.count):
            fault_once(run, postgres, number)


if __name__ == "__main__":
    if sys.argv[1:2] == ["importer"]:
        sys.exit(import_again_and_again(sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
    sys.exit(program(__doc__, 6, 150, fault))

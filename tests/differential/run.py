"""licet against the naive evaluator on random worlds.

    python tests/differential/run.py --seed 1 --checks 1000000 [--caveats] [--store postgres-follow [--collect]]

Each world is asked every question about every subject, in bulk; a sample also one by one, and once more at the exact
revision before half of the relationships were written. Worlds without cycles are asked again under small depth
limits. With --caveats relationships have caveats and expirations: every question comes with contexts, each item's
own or that of the whole bulk, and the clock moves. With --collect garbage is collected all the while, with a window of
one second: what is asked at an earlier revision may then have expired, but not within the window. Prints the counts and
every difference, made small (with the seed of its world), and exits with 1 if there is one.
"""

import argparse
import collections
import concurrent.futures
import contextlib
import math
import random
import sys
import threading
import time

import contexts
import licet
import naive
import worlds
from shrink import Case, Question, agree, clock_at, described, outcome, outcome_of_error, shrunk
from store import stores

DEEP = 1000
DENIALS_KEPT = 0.06
WINDOW_MS = 1000  # that garbage is kept, with --collect


class Difference(Exception):
    """licet and the naive evaluator disagree."""


def single(engine, item, **consistency):
    *question, context = item
    try:
        return outcome(engine.check(*question, context=context, **consistency))
    except licet.Error as error:
        return outcome_of_error(error)


def write(engine, operation, rows, attributes=None):
    known = attributes or {}
    return engine.write([operation(worlds.relationship_text(row, known.get(row, naive.BARE))) for row in rows])


@contextlib.contextmanager
def collecting(engine, seen):
    """Collects the engine's garbage again and again; counts the rows that went."""
    done = threading.Event()

    def collect():
        while not done.wait(0.02):
            seen["collected"] += engine.collect_garbage()

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        future = pool.submit(collect)
        try:
            yield
        finally:
            done.set()
        future.result()


@contextlib.contextmanager
def opened(seen, collect, **options):
    """An engine on an empty store."""
    window = {"gc_window_ms": WINDOW_MS} if collect else {}
    with stores.open(**options, **window, check_timeout_ms=60_000) as engine:  # not in a hurry
        with collecting(engine, seen) if collect else contextlib.nullcontext():
            yield engine


def load(rng, engine, world):
    """Writes the world in two halves, with noise that is taken back. Returns (token, world) as it was after the first."""
    rows = sorted(world.relationships, key=str)
    rng.shuffle(rows)
    half, rest = rows[: len(rows) // 2], rows[len(rows) // 2 :]
    noise = [row for row in rest if rng.random() < 0.3]
    token = write(engine, licet.touch, half, world.relationships)
    write(engine, licet.touch, noise, world.relationships)
    if world.caveats:
        write(engine, licet.touch, noise, {row: worlds.other_attribute(rng, world, row) for row in noise})
        noise = [row for row in noise if rng.random() < 0.5]
    write(engine, licet.delete, noise)
    write(engine, licet.touch, rest, world.relationships)
    return token, naive.World(world.schema, {row: world.relationships[row] for row in half}, world.caveats)


class Examiner:
    """Asks one engine about one world, and compares."""

    def __init__(self, rng, seen, engine, world, max_depth, unfold, kept_until=math.inf):
        self.rng, self.seen, self.engine = rng, seen, engine
        self.world, self.max_depth, self.unfold = world, max_depth, unfold
        self.kept_until = kept_until  # the time until which earlier revisions must not have expired
        self.now = 0
        self.objects = worlds.objects(world)

    def questions(self, subject, context):
        """[(Question, answer expected), ...]: all there are."""
        asked = [Question((t, i), name, subject, context) for t, i, name in worlds.questions(self.world)]
        return list(zip(asked, self._expected(self.world, asked, subject, context)))

    def _expected(self, world, asked, subject, context):
        if self.unfold:
            unfolding = naive.Unfolding(world, subject, context, self.now)
            return [unfolding.answer(q.resource, q.name, self.max_depth) for q in asked]
        found = naive.answers(world, subject, self.objects, context, self.now)
        return [found[(*q.resource, q.name)] for q in asked]

    def _compare(self, what, world, pairs, got):
        for (question, expected), answer in zip(pairs, got):
            self.seen[answer if isinstance(answer, str) else answer[0]] += 1
            if not agree(answer, expected):
                asked = [q for q, _ in pairs]
                small = shrunk(Case(world, asked, self.now, self.max_depth, self.unfold))
                raise Difference(
                    "%s: check%r: licet %s, naive %s\n%s" % (what, question.item(), answer, expected, described(small))
                )

    def _item(self, question):
        """The context as a dict or as text."""
        *names, context = question.item()
        return (*names, context if self.rng.random() < 0.5 else contexts.text_of(context))

    def ask_bulk(self, pairs):
        results = self.engine.check_bulk([self._item(question) for question, _ in pairs])
        self._compare("bulk", self.world, pairs, map(outcome, results))

    def ask_bulk_with(self, context, pairs):
        """As ask_bulk(); questions with this context leave theirs to the whole bulk."""
        # By identity: to Python {"x": 1} and {"x": True} are equal.
        items = [self._item(question)[: 3 if question.context is context else 4] for question, _ in pairs]
        results = self.engine.check_bulk(items, context=context)
        self._compare("bulk with a context", self.world, pairs, map(outcome, results))

    def ask_one_by_one(self, pairs):
        got = [single(self.engine, self._item(question)) for question, _ in pairs]
        self._compare("single", self.world, pairs, got)

    def ask_earlier(self, token, before, pairs):
        """At the exact revision of the token, when `before` was the world. All pairs have one subject and context."""
        if not pairs:
            return
        asked = [question for question, _ in pairs]
        earlier = list(zip(asked, self._expected(before, asked, asked[0].subject, asked[0].context)))
        try:
            got = [single(self.engine, self._item(question), consistency=licet.at_exactly(token)) for question in asked]
        except licet.RevisionExpired:
            if time.monotonic() < self.kept_until:
                raise
            self.seen["expired"] += 1
        else:
            self._compare("at the earlier revision", before, earlier, got)


def examine(rng, examiner, subject, token, before):
    pairs = examiner.questions(subject, None)
    examiner.ask_bulk(pairs)
    # One by one, since in bulk a long path is asked when its parts are known already.
    long = [pair for pair in pairs if pair[0].name == "climb"]
    some = rng.sample(pairs, min(len(pairs), 4)) + rng.sample(long, min(len(long), 12))
    examiner.ask_one_by_one(some)
    examiner.ask_earlier(token, before, some)


def fewer_denials(rng, pairs):
    """Without most of those that are denied, which are nearly all."""
    return [pair for pair in pairs if pair[1] != naive.DENIED or rng.random() < DENIALS_KEPT]


def examine_with_contexts(rng, examiner, subject, token, before):
    one, other = (contexts.asked(rng, examiner.world.caveats) for _ in range(2))
    pairs, others = (fewer_denials(rng, examiner.questions(subject, context)) for context in (one, other))
    mixed = pairs + others
    rng.shuffle(mixed)
    examiner.ask_bulk_with(one, mixed)
    some = rng.sample(pairs, min(len(pairs), 20))
    examiner.ask_one_by_one(some)
    examiner.ask_earlier(token, before, some)


def run_world(seed, seen, caveats=False, collect=False):
    rng = random.Random(seed)
    world = worlds.random_world(rng, caveats=caveats)
    pause = random.Random(seed).uniform(0, 1.5)  # of its own: the same worlds with garbage and without
    clock = clock_at(worlds.NOON * worlds.SECOND)
    with opened(seen, collect, max_depth=DEEP, clock=clock) as engine:
        engine.write_schema(worlds.schema_text(world.schema, world.caveats))
        started = time.monotonic()
        token, before = load(rng, engine, world)
        kept_until = math.inf
        if collect:
            kept_until = started + WINDOW_MS / 1000
            time.sleep(WINDOW_MS / 1000 * pause)  # some of it becomes garbage while it is asked about
        examiner = Examiner(rng, seen, engine, world, DEEP, False, kept_until)
        for subject in worlds.subjects(rng, world):
            clock.nanoseconds = examiner.now = worlds.moment(rng) if caveats else 0
            (examine_with_contexts if caveats else examine)(rng, examiner, subject, token, before)


def run_depth_world(seed, seen, caveats=False, collect=False):
    rng = random.Random(seed)
    world = worlds.random_world(rng, acyclic=True, caveats=caveats)
    depth = rng.choice([1, 2, 3, 4, 5, 8])
    clock = clock_at(worlds.NOON * worlds.SECOND)
    with opened(seen, collect, max_depth=depth, clock=clock) as engine:
        engine.write_schema(worlds.schema_text(world.schema, world.caveats))
        load(rng, engine, world)
        examiner = Examiner(rng, seen, engine, world, depth, unfold=True)
        for subject in worlds.subjects(rng, world):
            clock.nanoseconds = examiner.now = worlds.moment(rng) if caveats else 0
            if caveats:
                examiner.ask_bulk(fewer_denials(rng, examiner.questions(subject, contexts.asked(rng, world.caveats))))
            else:
                examiner.ask_bulk(examiner.questions(subject, None))


OUTCOMES = (naive.ALLOWED, naive.DENIED, naive.CONDITIONAL, naive.ERROR, naive.NO_ANSWER)


def asked(seen):
    return sum(seen[name] for name in OUTCOMES)


def summary(seen, collect):
    told = ", ".join("%s %d" % (name, seen[name]) for name in OUTCOMES if seen[name])
    garbage = "; %d rows collected, %d questions at expired revisions" % (seen["collected"], seen["expired"])
    return told + garbage * collect


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--checks", type=int, default=20000)
    parser.add_argument("--caveats", action="store_true", help="relationships with caveats and expirations")
    parser.add_argument("--collect", action="store_true", help="collect garbage meanwhile")
    stores.add_argument(parser)
    arguments = parser.parse_args(argv)
    if arguments.collect and arguments.caveats and time.time() > worlds.NOON - 60:
        parser.error("garbage is collected by the database's clock, to which all that expires here has done so")
    seen = collections.Counter()
    differences = worlds_run = 0
    started = last = time.monotonic()
    while asked(seen) < arguments.checks:
        seed = arguments.seed * 1000003 + worlds_run
        try:
            (run_depth_world if worlds_run % 4 == 3 else run_world)(seed, seen, arguments.caveats, arguments.collect)
        except Difference as difference:
            differences += 1
            print("DIFFERENCE in world %d (seed %d)\n%s" % (worlds_run, seed, difference), file=sys.stderr)
        worlds_run += 1
        if time.monotonic() - last > 10:
            last = time.monotonic()
            print("  %d checks, %d worlds, %d differences" % (asked(seen), worlds_run, differences), flush=True)
    print(
        "%s: %d checks in %d worlds, seed %d, %.0f s: %s; %d differences"
        % (
            arguments.store,
            asked(seen),
            worlds_run,
            arguments.seed,
            time.monotonic() - started,
            summary(seen, arguments.collect),
            differences,
        )
    )
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())

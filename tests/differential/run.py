"""licet against the naive evaluator on random worlds.

    python tests/differential/run.py --seed 1 --checks 1000000 [--caveats] [--store postgres-follow]

Each world is asked every question about every subject, in bulk; a sample also one by one, and once more at the exact
revision before half of the relationships were written. Worlds without cycles are asked again under small depth
limits. With --caveats relationships have caveats and expirations: every question comes with contexts, each item's
own or that of the whole bulk, and the clock moves. Prints the counts and every difference, made small (with the seed of
its world), and exits with 1 if there is one.
"""

import argparse
import collections
import random
import sys
import time

import contexts
import licet
import naive
import worlds
from shrink import Case, Question, agree, clock_at, described, outcome, outcome_of_error, shrunk
from store import stores

DEEP = 1000
DENIALS_KEPT = 0.06


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

    def __init__(self, rng, seen, engine, world, max_depth, unfold):
        self.rng, self.seen, self.engine = rng, seen, engine
        self.world, self.max_depth, self.unfold = world, max_depth, unfold
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
        got = [single(self.engine, self._item(question), consistency=licet.at_exactly(token)) for question in asked]
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


def run_world(seed, seen, caveats=False):
    rng = random.Random(seed)
    world = worlds.random_world(rng, caveats=caveats)
    clock = clock_at(worlds.NOON * worlds.SECOND)
    with stores.open(max_depth=DEEP, clock=clock) as engine:
        engine.write_schema(worlds.schema_text(world.schema, world.caveats))
        token, before = load(rng, engine, world)
        examiner = Examiner(rng, seen, engine, world, DEEP, unfold=False)
        for subject in worlds.subjects(rng, world):
            clock.nanoseconds = examiner.now = worlds.moment(rng) if caveats else 0
            (examine_with_contexts if caveats else examine)(rng, examiner, subject, token, before)


def run_depth_world(seed, seen, caveats=False):
    rng = random.Random(seed)
    world = worlds.random_world(rng, acyclic=True, caveats=caveats)
    depth = rng.choice([1, 2, 3, 4, 5, 8])
    clock = clock_at(worlds.NOON * worlds.SECOND)
    with stores.open(max_depth=depth, clock=clock) as engine:
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


def summary(seen):
    return ", ".join("%s %d" % (name, seen[name]) for name in OUTCOMES if seen[name])


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--checks", type=int, default=20000)
    parser.add_argument("--caveats", action="store_true", help="relationships with caveats and expirations")
    stores.add_argument(parser)
    arguments = parser.parse_args(argv)
    seen = collections.Counter()
    differences = worlds_run = 0
    started = last = time.monotonic()
    while sum(seen.values()) < arguments.checks:
        seed = arguments.seed * 1000003 + worlds_run
        try:
            (run_depth_world if worlds_run % 4 == 3 else run_world)(seed, seen, arguments.caveats)
        except Difference as difference:
            differences += 1
            print("DIFFERENCE in world %d (seed %d)\n%s" % (worlds_run, seed, difference), file=sys.stderr)
        worlds_run += 1
        if time.monotonic() - last > 10:
            last = time.monotonic()
            print("  %d checks, %d worlds, %d differences" % (sum(seen.values()), worlds_run, differences), flush=True)
    print(
        "%s: %d checks in %d worlds, seed %d, %.0f s: %s; %d differences"
        % (
            arguments.store,
            sum(seen.values()),
            worlds_run,
            arguments.seed,
            time.monotonic() - started,
            summary(seen),
            differences,
        )
    )
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())

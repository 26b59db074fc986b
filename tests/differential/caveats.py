"""licet against a real SpiceDB on random caveats.

    python tests/differential/caveats.py --seed 1 --evaluations 200000

Random expressions over random parameters are compiled by both, which must agree on what compiles. Those that do are put
on relationships, some with contexts of their own, and each is checked in bulk with many contexts: complete ones,
some with parts missing, some with values of other types. Both must agree on the outcome (allowed, denied, conditional,
or which kind of error) and, where it is conditional, on the names that are missing.

Prints the counts and every difference, made as small as it gets, with the schema, the contexts and both answers; exits
with 1 if there is one. Answers that differ on purpose are listed in caveat_known.py with their reasons; they are
counted apart. Exits with 77 when there is no SpiceDB: it is no dependency of licet, and a message says what to install.
"""

import argparse
import collections
import json
import random
import sys
import time

import caveat_known
import caveat_peers
import licet
import spicedb
from caveat_expressions import Generator, context_of
from caveat_shrink import shrunk

CAVEATS = 50  # in one schema
RELATIONSHIPS = 4  # of one caveat
CONTEXTS = 9  # for each relationship
SHRUNK = 20  # differences are made small; of further ones the first form is printed


class Case:
    """One caveat, one context on the relationship, one in the request."""

    def __init__(self, node, stored, requested):
        self.node, self.stored, self.requested = node, stored, requested

    def changed(self, **fields):
        made = Case(self.node, self.stored, self.requested)
        for name, value in fields.items():
            setattr(made, name, value)
        return made

    def missing(self):
        """The parameters without a value."""
        return set(self.node.parameters()) - set(self.stored) - set(self.requested)

    def __str__(self):
        return "%s\nrelationship %s\nrequest %s" % (
            caveat_peers.caveat_text("caveat0", self.node),
            json.dumps(self.stored),
            json.dumps(self.requested),
        )


# ------------------------------------------------------------------ random


def stored_contexts(rng, names):
    """The first relationship has none; one may have a value that is refused."""
    yield {}
    for _ in range(RELATIONSHIPS - 1):
        stored = context_of(rng, names, rng.choice([0.2, 0.4, 0.7]), rng.choice([0, 0, 0, 0.15]))
        if rng.random() < 0.02:
            stored["unheard_of"] = 1
        yield stored


def requested_contexts(rng, names):
    for _ in range(CONTEXTS):
        presence, oddness = rng.choice([(1, 0), (1, 0), (1, 0.1), (0.7, 0), (0.5, 0.05), (0.25, 0), (0.95, 0.3)])
        requested = context_of(rng, names, presence, oddness)
        if rng.random() < 0.1:
            requested["unheard_of"] = [1]
        yield requested


def expressions(rng, count):
    """Most are well typed; of one in ten a part is not what it should be."""
    generator = Generator(rng)
    made = []
    while len(made) < count:
        node = generator.expression()
        made.append(generator.damaged(node) if rng.random() < 0.1 else node)
    return made


# ----------------------------------------------------------------- comparing


def compare_schemas(seen, found, compiler, nodes):
    """Returns the expressions that compile."""
    kept = []
    for node in nodes:
        text = caveat_peers.schema_text([node])
        mine, theirs = spicedb.refusal(text), compiler.refusal(text)
        seen["compiled" if theirs is None else "refused"] += 1
        if (mine is None) == (theirs is None):
            kept += [node] if mine is None else []
        elif caveat_known.of_schemas(mine, theirs) is not None:
            seen["known: " + caveat_known.of_schemas(mine, theirs)] += 1
        else:
            found.append("licet %s, SpiceDB %s\n%s" % (mine or "accepts", theirs or "accepts", text))
    return kept


def compare_damaged(seen, found, rng, compiler, nodes):
    """What is no CEL any more, for the most part."""
    for node in nodes:
        text = spicedb.damaged(rng, caveat_peers.schema_text([node]))
        mine, theirs = spicedb.refusal(text), compiler.refusal(text)
        seen["damaged accepted" if theirs is None else "damaged refused"] += 1
        if (mine is None) != (theirs is None):
            found.append("licet %s, SpiceDB %s\n%s" % (mine or "accepts", theirs or "accepts", text))


def judge(seen, found, case, mine, theirs):
    """Do both say the same?"""
    if mine.same(theirs):
        return True
    known = caveat_known.of_answers(case, mine, theirs, spicedb_answer)
    if known is not None:
        seen["known: " + known] += 1
    else:
        found.append((case, mine, theirs))
    return False


def compare_writes(seen, found, nodes, rows, ours, peer):
    """Returns the places of those rows that both have written."""
    written = []
    for place, (mine, theirs) in enumerate(zip(ours.write(rows), peer.write(rows))):
        number, stored = rows[place]
        seen["written" if theirs.kind == caveat_peers.WRITTEN else "write refused"] += 1
        if judge(seen, found, Case(nodes[number], stored, {}), mine, theirs) and mine.kind == caveat_peers.WRITTEN:
            written.append(place)
    return written


def compare_answers(seen, found, rng, nodes):
    """Relationships with and without contexts, each asked with many."""
    names = [node.parameters() for node in nodes]
    rows = [(number, stored) for number in range(len(nodes)) for stored in stored_contexts(rng, names[number])]
    with caveat_peers.Licet(nodes) as ours, caveat_peers.SpiceDB(nodes) as peer:
        written = compare_writes(seen, found, nodes, rows, ours, peer)
        items = [(place, context) for place in written for context in requested_contexts(rng, names[rows[place][0]])]
        for (place, requested), mine, theirs in zip(items, ours.check(items), peer.check(items)):
            number, stored = rows[place]
            seen["evaluations"] += 1
            seen[theirs.kind] += 1
            if theirs.kind == caveat_peers.ERROR:
                seen["error: " + theirs.reason] += 1
            judge(seen, found, Case(nodes[number], stored, requested), mine, theirs)


def answer_of(peer, case):
    with peer([case.node]) as opened:
        written = opened.write([(0, case.stored)])[0]
        return opened.check([(0, case.requested)])[0] if written.kind == caveat_peers.WRITTEN else written


def spicedb_answer(case):
    try:
        return answer_of(caveat_peers.SpiceDB, case)
    except spicedb.SpiceDBError as error:
        return caveat_peers.Answer("does not compile", detail=str(error))


def answers(case):
    """Both answers to a single case; None when it does not compile."""
    try:
        return answer_of(caveat_peers.Licet, case), spicedb_answer(case)
    except licet.SchemaError:
        return None


def differ(case):
    both = answers(case)
    if both is None or both[0].same(both[1]):
        return False
    return caveat_known.of_answers(case, *both, spicedb_answer) is None


# ---------------------------------------------------------------------- run


def described(case, mine, theirs, shrink):
    """As small as it gets; or as it was, when it differs only among the others."""
    if shrink and differ(case):
        case = shrunk(case, differ)
        mine, theirs = answers(case)
    return "%s\nlicet   %s\nSpiceDB %s" % (case, mine, theirs)


def percent(seen, kind):
    return "%s %d (%.1f%%)" % (kind, seen[kind], 100 * seen[kind] / max(1, seen["evaluations"]))


def summary(seen, differences, started):
    names = "compiled", "refused", "damaged accepted", "damaged refused", "written", "write refused"
    lines = [
        "%d evaluations over %d expressions, %.0f s: %s"
        % (
            seen["evaluations"],
            seen["expressions"],
            time.monotonic() - started,
            ", ".join(percent(seen, kind) for kind in caveat_peers.KINDS),
        ),
        "compiled or not: " + ", ".join("%s %d" % (name, seen[name]) for name in names),
    ]
    lines += ["%s %d" % (name, seen[name]) for name in sorted(seen) if name.startswith(("error: ", "known: "))]
    return "\n".join(lines + ["%d differences" % differences])


def run_batch(seen, rng, compiler, differences):
    """Prints what differs. Returns how many differences there are now."""
    schemas, cases = [], []
    nodes = compare_schemas(seen, schemas, compiler, expressions(rng, CAVEATS))
    compare_damaged(seen, schemas, rng, compiler, nodes)
    compare_answers(seen, cases, rng, nodes)
    seen["expressions"] += len(nodes)
    for text in schemas:
        print("DIFFERENCE\n%s\n" % text, flush=True)
    for number, (case, mine, theirs) in enumerate(cases):
        shrink = differences + number < SHRUNK
        print("DIFFERENCE\n%s\n" % described(case, mine, theirs, shrink), flush=True)
    return differences + len(schemas) + len(cases)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--evaluations", type=int, default=20000)
    arguments = parser.parse_args(argv)
    if not spicedb.is_there():
        print(spicedb.HOW_TO_GET_ONE, end="", file=sys.stderr)
        return spicedb.MISSING
    seen = collections.Counter()
    differences = batches = 0
    started = last = time.monotonic()
    with caveat_peers.Compiler() as compiler:
        while seen["evaluations"] < arguments.evaluations:
            rng = random.Random(arguments.seed * 1000003 + batches)
            differences = run_batch(seen, rng, compiler, differences)
            batches += 1
            if time.monotonic() - last > 20:
                last = time.monotonic()
                print(summary(seen, differences, started) + "\n", flush=True)
    print(summary(seen, differences, started))
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())

"""Lookups and expand against exhaustive checks, on random graphs.

    python tests/differential/exhaustive.py --graphs 10000 --seed 1

A lookup has to find what checks of every object there is, and of one that is nowhere, allow: with the same answers, each
once, whole and in pages of every size up to one more than there are answers; also at an earlier revision, while others
write between two pages, and after a merge. Where such a check fails, the lookup fails too, after right answers. A tree
has to be the one that the schema and the rows make, and to hold, read as set operations, whom checks allow. Every other
graph has caveats and expirations, and every other one more wildcards. Prints the counts and every difference, made small,
and exits with 1 if there is one.

Checks themselves are compared with a second evaluator by run.py.
"""

import argparse
import collections
import random
import sys
import time
from typing import NamedTuple

import contexts
import licet
import naive
import shrink
import worlds
from run import DEEP, load
from shrink import clock_at, outcome, outcome_of_error

# How much is asked of one graph.
SUBJECTS, RESOURCES, OTHERS, EXPANDED, READERS = 4, 2, 2, 3, 3
SHALLOW = (1, 2, 3, 4, 5, 8)  # depths of a few engines, which fail where a path is longer
WRITING = 0.2  # how many chains of pages have writes between them
PATIENCE = 30  # seconds
MOST_NODES = 2000  # of a tree that is compared
MOST_TRIES = 3000


class Difference(Exception):
    """A lookup or a tree says something else than checks."""


class Setting(NamedTuple):
    """The engine that a world is put into."""

    now: int  # nanoseconds since 1970
    max_depth: int
    merged: bool  # the relationships are in the graph's base, and a part of them in the delta above


class Probe(NamedTuple):
    """One lookup or expansion."""

    ask: str  # "resources", "subjects" or "expand"
    of: tuple  # (type,) or (type, id)
    name: str
    subject: tuple = ()  # (type, id, relation or None), or (type, relation or None)
    context: object = None

    def __str__(self):
        context = contexts.text_of(self.context)
        return "%s %s#%s %s with %s" % (self.ask, ":".join(self.of), self.name, self.subject, context)


def object_text(of):
    return "%s:%s" % of


class Examiner:
    """Asks one engine, that holds a world, and compares."""

    def __init__(self, engine, world, setting, counts, rng=None, consistency=licet.MINIMIZE_LATENCY):
        self.engine, self.world, self.setting = engine, world, setting
        self.counts, self.rng, self.consistency = counts, rng, consistency
        self.objects = worlds.objects(world)

    def examine(self, probe):
        """Raises Difference."""
        self.counts[probe.ask] += 1
        getattr(self, probe.ask)(probe)

    # ------------------------------------------------------------ checks

    def checks(self, questions, context):
        """The answer to each (object, name, subject)."""
        items = [(object_text(of), name, worlds.subject_text(subject)) for of, name, subject in questions]
        results = self.engine.check_bulk(items, context=context or {}, consistency=self.consistency)
        self.counts["checks"] += len(items)
        return [outcome(result) for result in results]

    # ------------------------------------------------------------ lookups

    def resources(self, probe):
        (type,), subject = probe.of, probe.subject
        ids = sorted({i for t, i in self.objects if t == type} | ({subject[1]} if subject[0] == type else set()))
        asked = [((type, i), probe.name, subject) for i in ids]
        answers = self.checks(asked, probe.context)

        def lookup(**page):
            return self.engine.lookup_resources(
                type, probe.name, worlds.subject_text(subject), context=probe.context or {}, **page
            )

        right = {i: answer for i, answer in zip(ids, answers) if answer != naive.DENIED}
        # Where no path leads to the subject, it is not looked whether the paths there are too long for a check.
        failing = Failing(
            self, asked, answers, probe.context, unseen={naive.NO_ANSWER} if self.setting.max_depth < DEEP else ()
        )
        self._in_pages(lookup, failing, lambda found: self._resources_hold(found, right))

    def _resources_hold(self, found, right):
        """What is wrong with these, and what is missing."""
        said = {f.resource_id: said_of(f) for f in found}
        if len(said) < len(found):
            return "an id comes twice", None
        wrong = {i: answer for i, answer in said.items() if right.get(i) != answer}
        return wrong, {i: answer for i, answer in right.items() if i not in said}

    def subjects(self, probe):
        stype, srelation = probe.subject
        ids = sorted({i for t, i in self.objects if t == stype} | ({probe.of[1]} if probe.of[0] == stype else set()))
        asked = [(probe.of, probe.name, (stype, i, srelation)) for i in ids]
        right = dict(zip(ids, self.checks(asked, probe.context)))

        def lookup(**page):
            return self.engine.lookup_subjects(
                object_text(probe.of),
                probe.name,
                stype,
                subject_relation=srelation,
                context=probe.context or {},
                **page,
            )

        failing = Failing(self, asked, right.values(), probe.context)
        whole = self._in_pages(lookup, failing, lambda found: self._subjects_hold(found, right))
        if not failing:
            concrete = sorted(f for f in lookup(wildcards=False, consistency=self.consistency))
            if concrete != sorted(f for f in whole if f.subject_id != "*"):
                raise Difference("without wildcards: %s" % (concrete,))

    def _subjects_hold(self, found, right):
        said = {f.subject_id: said_of(f) for f in found}
        if len(said) < len(found):
            return "an id comes twice", None
        if "*" in said and found[0].subject_id != "*":
            return "the wildcard is not the first", None
        excluded = {e.subject_id: e for f in found for e in f.excluded}
        if any(f.excluded and f.subject_id != "*" for f in found) or not set(excluded) <= set(right):
            return "exclusions of nobody, or of no wildcard", None
        wrong = {i: answer for i, answer in said.items() if i != "*" and right.get(i) != answer}
        for i, e in excluded.items():
            answer = naive.DENIED if e.permissionship == licet.Permissionship.HAS_PERMISSION else said_of(e)
            if i not in said and right[i] != answer:
                wrong["not " + i] = answer
        missing = {
            i: answer
            for i, answer in right.items()
            if i not in said and i not in excluded and answer != said.get("*", naive.DENIED)
        }
        return wrong, missing

    def _in_pages(self, lookup, failing, judge):
        """A lookup whole and in pages of every size. judge() tells what is wrong in some answers, and what is missing."""
        whole = self._chain(lookup, 0, failing, judge)
        for size in range(1, len(whole) + 2):
            paged = self._chain(lookup, size, failing, judge)
            if not failing and sorted(paged) != sorted(whole):
                raise Difference("in pages of %d: %s" % (size, paged))
        return whole

    def _chain(self, lookup, size, failing, judge):
        found, cursor, error = [], None, None
        more = True
        with Writing(self.engine, self.world, self.rng) as writing:
            while more and error is None:
                limit = {"limit": size} if size else {}
                page, cursor, error = _drained(lookup, cursor=cursor, consistency=self.consistency, **limit)
                self.counts["pages"] += 1
                if size and len(page) > size:
                    raise Difference("a page of %d in pages of %d" % (len(page), size))
                found += page
                more = size > 0 and len(page) == size
                if more:
                    writing.step()
        self.counts["answers"] += len(found)
        self.counts["conditional answers"] += sum(1 for f in found if said_of(f)[0] == naive.CONDITIONAL)
        excluded = [said_of(e) for f in found if isinstance(f, licet.FoundSubject) for e in f.excluded]
        self.counts["exclusions"] += len(excluded)
        self.counts["conditional exclusions"] += sum(1 for e in excluded if e[0] == naive.CONDITIONAL)
        self.counts["errors"] += error is not None
        wrong, missing = judge(found)
        if wrong or (error is None and any(answer not in failing.unseen for answer in (missing or {}).values())):
            raise Difference("in pages of %d: wrong: %s, missing: %s" % (size, wrong, missing))
        if not failing.may_be(error):
            raise Difference("in pages of %d: fails with %s, checks with %s" % (size, error, failing))
        return found

    # ------------------------------------------------------------ expand

    def expand(self, probe):
        resource = object_text(probe.of)
        try:
            expected = Growing(self.world, self.setting.now).tree(probe.of, probe.name)
        except Endless:
            expected = None
        except TooLarge:
            self.counts["large trees"] += 1
            return
        try:
            tree = self.engine.expand(resource, probe.name, consistency=self.consistency)
        except licet.LimitExceeded:
            self.counts["endless trees"] += 1
            if expected is not None:
                raise Difference("expand fails") from None
            return
        if expected is None:
            raise Difference("expand ends: %s" % tree)
        self.counts["nodes"] += _compare(expected, tree.root)
        if not self.world.caveats:
            for reader in probe.subject:
                self._holds_whom_checks_allow(tree.root, probe, reader)

    def _holds_whom_checks_allow(self, root, probe, reader):
        """Reads a tree as set operations; usersets in it are asked for by checks."""
        usersets = sorted({s for node in _nodes(root) for s in node.subjects if "#" in s})
        questions = [(*text.split("#"), worlds.subject_text(reader)) for text in usersets]
        questions.append((object_text(probe.of), probe.name, worlds.subject_text(reader)))
        results = self.engine.check_bulk(questions, consistency=self.consistency)
        self.counts["checks"] += len(results)
        if any(result.error for result in results):
            return  # a circle through an exclusion has no members to compare
        inside = {userset for userset, result in zip(usersets, results) if result.allowed}
        inside |= {worlds.subject_text(reader), reader[0] + ":*"}
        if _contains(root, inside, worlds.subject_text(reader)) != results[-1].allowed:
            raise Difference("the tree and a check of %s differ:\n%s" % (worlds.subject_text(reader), root))


def said_of(found):
    """Of what a lookup found, in the words of the naive evaluator."""
    if found.permissionship == licet.Permissionship.HAS_PERMISSION:
        return naive.ALLOWED
    return (naive.CONDITIONAL, found.missing_context)


class Failing:
    """Checks that fail, and with what."""

    def __init__(self, examiner, asked, answers, context, unseen=()):
        self.examiner, self.context, self.unseen = examiner, context, unseen
        self.checks = [(question, answer) for question, answer in zip(asked, answers) if _is_error(answer)]

    def may_be(self, error):
        """Of several errors a check tells one, and so does a lookup: which, nobody says."""
        if error is None:
            return all(answer in self.unseen for _, answer in self.checks)
        return any(error == answer for _, answer in self.checks) or any(
            shrink.agree(error, self._expected(question)) for question, _ in self.checks
        )

    def _expected(self, question):
        of, name, subject = question
        return naive.answer(self.examiner.world, of, name, subject, self.context, self.examiner.setting.now)

    def __bool__(self):
        return bool(self.checks)

    def __str__(self):
        return str({answer for _, answer in self.checks})


def _is_error(answer):
    return answer == naive.NO_ANSWER or answer[0] == naive.ERROR


def _drained(lookup, **page):
    """(answers, cursor, what it failed with in the end)."""
    found = []
    try:
        stream = lookup(**page)
        for one in stream:
            found.append(one)
        return found, stream.cursor, None
    except licet.Error as error:
        return found, None, outcome_of_error(error)


class Writing:
    """Takes some relationships away and puts them back, step by step; in the end all are back."""

    def __init__(self, engine, world, rng):
        self.engine, self.rows, self.gone = engine, [], False
        if rng is not None and world.relationships and rng.random() < WRITING:
            rows = rng.sample(sorted(world.relationships, key=str), min(len(world.relationships), 5))
            self.rows = [(row, world.relationships[row]) for row in rows]

    def step(self):
        if self.rows:
            operation = licet.touch if self.gone else licet.delete
            attributes = [attribute if self.gone else naive.BARE for _, attribute in self.rows]
            rows = [worlds.relationship_text(row, a) for (row, _), a in zip(self.rows, attributes)]
            self.engine.write(list(map(operation, rows)))
            self.gone = not self.gone

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        if self.gone:
            self.step()


# ---------------------------------------------------------------- trees


class Endless(Exception):
    """A tree that has itself inside."""


class TooLarge(Exception):
    """A tree of more nodes than are compared."""


class Branch(NamedTuple):
    operation: str
    resource: str
    relation: str
    subjects: tuple  # sorted texts
    children: tuple
    is_arrow: bool  # its children have the order of rows, which means nothing


class Growing:
    """The tree of a permission straight from the definitions (api.md 9)."""

    def __init__(self, world, now):
        self.world, self.now, self.nodes, self.way = world, now, 0, []

    def tree(self, of, name):
        kind, body = self.world.schema[of[0]][name]
        if kind == "relation":
            rows = self.world.subjects_of(*of, name, self.now)
            return self._branch("leaf", (of, name), [worlds.subject_text(row) for row, _ in rows])
        if (of, name) in self.way:
            raise Endless
        self.way.append((of, name))
        grown = self._expression((of, name), body)
        self.way.pop()
        if body[0] in ("+", "&", "-"):
            return grown
        return self._branch("union", (of, name), (), [grown])

    def _branch(self, operation, label, subjects=(), children=(), is_arrow=False):
        self.nodes += 1
        if self.nodes > MOST_NODES:
            raise TooLarge
        return Branch(operation, object_text(label[0]), label[1], tuple(sorted(subjects)), tuple(children), is_arrow)

    def _expression(self, label, expression):
        kind = expression[0]
        if kind == "nil":
            return self._branch("leaf", label)
        if kind == "self":
            return self._branch("leaf", label, [object_text(label[0])])
        if kind == "name":
            return self.tree(label[0], expression[1])
        if kind in ("+", "&"):
            operation = "union" if kind == "+" else "intersection"
            return self._branch(operation, label, (), [self._expression(label, e) for e in _operands(expression)])
        if kind == "-":
            return self._branch("exclusion", label, (), [self._expression(label, e) for e in expression[1:]])
        _, tupleset, name = expression
        targets = [row[:2] for row, _ in self.world.subjects_of(*label[0], tupleset, self.now)]
        children = [
            self.tree(of, name) if name in self.world.schema[of[0]] else self._branch("leaf", label) for of in targets
        ]
        return self._branch("union" if kind == "any" else "intersection", label, (), children, is_arrow=True)


def _operands(expression):
    """Of a union or intersection, those of the same kind within it too."""
    for operand in expression[1]:
        if operand[0] == expression[0]:
            yield from _operands(operand)
        else:
            yield operand


def _compare(expected, got):
    """Raises Difference; returns how many nodes there are."""
    count, waiting = 0, [(expected, got)]
    while waiting:
        branch, node = waiting.pop()
        count += 1
        usersets_last = sorted(node.subjects, key=lambda text: "#" in text)
        if usersets_last != list(node.subjects) or tuple(sorted(node.subjects)) != branch.subjects:
            raise Difference("subjects %s, not %s" % (node.subjects, branch.subjects))
        if branch[:3] != node[:3] or len(branch.children) != len(node.children):
            raise Difference("node %s, not %s" % (node, branch))
        pairs = [branch.children, node.children]
        if branch.is_arrow:
            # Same label, same tree: it does not matter which of them is which.
            pairs = [sorted(children, key=lambda child: (child.resource, child.relation)) for children in pairs]
        waiting += zip(*pairs)
    return count


def _nodes(root):
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += node.children


def _contains(node, inside, reader):
    """inside: the texts that stand for the reader. A userset is a member of itself (api.md 4.1)."""
    if "%s#%s" % (node.resource, node.relation) == reader:
        return True
    if node.operation == "leaf":
        return not inside.isdisjoint(node.subjects)
    parts = (_contains(child, inside, reader) for child in node.children)
    if node.operation == "union":
        return any(parts)
    if node.operation == "intersection":
        return bool(node.children) and all(parts)
    return next(parts) and not next(parts)


# ---------------------------------------------------------------- graphs


def some(rng, items, count):
    return rng.sample(items, min(len(items), count))


def probes(rng, world):
    """What is asked: of some subjects and resources everything, of the rest a little."""
    names = [(t, name) for t, members in world.schema.items() for name in members]
    subjects, objects = worlds.subjects(rng, world), worlds.objects(world)
    context = contexts.asked(rng, world.caveats) if world.caveats and rng.random() < 0.6 else None
    for subject in some(rng, subjects, SUBJECTS):
        yield from (Probe("resources", (t,), name, subject, context) for t, name in names)
    for subject in some(rng, subjects, OTHERS):
        t, name = rng.choice(names)
        yield Probe("resources", (t,), name, subject, context)
    # Climbing is where long paths are.
    climbing = [of for of in objects if "climb" in world.schema[of[0]]]
    public = [of for of in objects if "open" in world.schema[of[0]]]
    known = [of for of in objects if world.schema[of[0]]]
    for of in some(rng, known, RESOURCES) + some(rng, climbing, 1) + some(rng, public, 2):
        for name in world.schema[of[0]]:
            kinds = [(t, None) for t in world.schema] + some(rng, names, OTHERS)
            yield from (Probe("subjects", of, name, kind, context) for kind in kinds)
    for of in some(rng, known, EXPANDED):
        for name in world.schema[of[0]]:
            yield Probe("expand", of, name, tuple(some(rng, subjects, READERS)))


def merge(engine, world):
    """Moves the relationships into the graph's base: so much comes and goes that a merge is due. Then every other one is
    written again, above it."""
    rows = sorted(world.relationships, key=str)
    if not rows:
        return
    before, patience = engine.stats().merges, time.monotonic() + PATIENCE
    noise = [(rows[0][0], "noise%d" % n, *rows[0][2:]) for n in range(140)]
    engine.touch(*(worlds.relationship_text(row, world.relationships[rows[0]]) for row in noise))
    engine.delete(*map(worlds.relationship_text, noise))
    while engine.stats().merges == before and time.monotonic() < patience:
        time.sleep(0.0001)
    again = rows[::2]
    engine.delete(*map(worlds.relationship_text, again))
    engine.touch(*(worlds.relationship_text(row, world.relationships[row]) for row in again))


def opened(setting):
    """Not in a hurry: other work on this machine is no difference."""
    return licet.open(max_depth=setting.max_depth, clock=clock_at(setting.now), check_timeout_ms=PATIENCE * 1000)


def differs(world, setting, probe):
    """On an engine of its own: the difference, or None."""
    with opened(setting) as engine:
        shrink.load(engine, world)
        if setting.merged:
            merge(engine, world)
        try:
            Examiner(engine, world, setting, collections.Counter()).examine(probe)
        except Difference as difference:
            return difference
    return None


def _still_differs(world, setting, probe):
    try:
        return differs(world, setting, probe) is not None
    except (licet.Error, KeyError):  # no world at all
        return False


def _smaller(world, probe):
    for rows in shrink._smaller_rows(world):
        yield naive.World(world.schema, rows, world.caveats), probe
    for schema in shrink._smaller_schemas(world.schema):
        yield naive.World(schema, world.relationships, world.caveats), probe
    for name in world.caveats:
        caveats = {k: v for k, v in world.caveats.items() if k != name}
        yield naive.World(world.schema, world.relationships, caveats), probe
    for key in probe.context or {}:
        yield world, probe._replace(context={k: v for k, v in probe.context.items() if k != key})


def described(world, setting, probe):
    """As small as it gets, and all one needs to see it again."""
    tries, found = 0, _still_differs(world, setting, probe)
    alone = found
    while found and tries < MOST_TRIES:
        found = False
        for smaller in _smaller(world, probe):
            tries += 1
            if _still_differs(smaller[0], setting, smaller[1]):
                (world, probe), found = smaller, True
                break
    lines = [worlds.schema_text(world.schema, world.caveats), *worlds.relationship_texts(world)]
    lines += ["now %d ns, max_depth %d%s" % (setting.now, setting.max_depth, ", merged" * setting.merged), str(probe)]
    lines.append(str(differs(world, setting, probe)) if alone else "does not differ on a fresh engine")
    return "\n".join(lines)


def run_graph(seed, counts, caveats):
    """Prints differences; returns how many there are."""
    rng = random.Random(seed)
    world = worlds.random_world(rng, caveats=caveats)
    if rng.random() < 0.5:
        world = worlds.with_wildcards(rng, world)
    max_depth = rng.choice(SHALLOW) if rng.random() < 0.2 else DEEP
    setting = Setting(worlds.moment(rng) if caveats else 0, max_depth, merged=rng.random() < 0.5)
    found = 0
    with opened(setting) as engine:
        engine.write_schema(worlds.schema_text(world.schema, world.caveats))
        token, before = load(rng, engine, world)
        if setting.merged:
            merge(engine, world)
        counts["merges"] += engine.stats().merges
        present = Examiner(engine, world, setting, counts, rng)
        earlier = Examiner(engine, before, setting, counts, None, licet.at_exactly(token))
        for probe in list(probes(rng, world)):
            if probe.ask == "expand" and max_depth != DEEP:
                continue
            examiner = earlier if rng.random() < 0.1 else present
            try:
                examiner.examine(probe)
            except Difference as difference:
                found += 1
                text = described(examiner.world, setting, probe)
                print(
                    "DIFFERENCE in the graph of seed %d: %s\n%s\n%s" % (seed, probe, difference, text), file=sys.stderr
                )
    return found


NAMES = {"resources": "lookups of resources", "subjects": "lookups of subjects", "expand": "expands"}


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--graphs", type=int, default=300)
    arguments = parser.parse_args(argv)
    counts = collections.Counter()
    differences = 0
    started = last = time.monotonic()
    for number in range(arguments.graphs):
        differences += run_graph(arguments.seed * 1000003 + number, counts, caveats=number % 2 == 1)
        if time.monotonic() - last > 10:
            last = time.monotonic()
            print("  %d graphs, %d differences" % (number + 1, differences), flush=True)
    told = ", ".join("%d %s" % (count, NAMES.get(what, what)) for what, count in sorted(counts.items()))
    print(
        "%d graphs, seed %d, %.0f s: %s; %d differences"
        % (arguments.graphs, arguments.seed, time.monotonic() - started, told, differences)
    )
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())

"""Where licet and SpiceDB differ on purpose: the whole list, each with where it is said.

A difference is known only if licet's answer is the right one, which is shown anew each time (the naive evaluator says
the same of a check; of a lookup licet's own checks of every object do), and if the circumstances are there that the
reason names. What is shown of SpiceDB besides: that its own single check says what licet says, or that its answer comes
out of the naive evaluator once the world, or the evaluator, is changed as the reason says.
"""

import time

import conditions
import naive
from naive import World
from operations_peers import ALLOWED, BUG, CONDITIONAL, DENIED, ERROR, is_error
from operations_requests import FUTURE, check

REASONS = {
    "one": "api.md 18 no. 1, 4.7: beside a branch that fails another decides; SpiceDB tells the error if it is first",
    "two": "api.md 18 no. 2: SpiceDB's direct lookup skips caveats and expirations where another form is allowed",
    "batch": "api.md 18 no. 3, 4.11: in batches, also an arrow's, `all` mixes caveats, and errors are shared",
    "duplicates": "api.md 18 no. 4 and 5: lookups tell some twice; merged they are the same",
    "lookup subjects": "api.md 18 no. 6, 8: LookupSubjects and Check differ, and Check is the authority",
    "beside": "api.md 8: beside a wildcard one names or excludes more; both say of each what Check says",
    "wildcards": "api.md 18 no. 15, 4.3: a wildcard matches usersets of its type; in SpiceDB's lookups it doesn't",
    "circle": "api.md 18 no. 16, 4.9: SpiceDB runs out of depth on a circle; licet answers by the least fixpoint",
    "lookup depth": "api.md 4.9: SpiceDB's lookups run out of depth on other paths than its checks",
    "names": "api.md 7: a lookup's missing names are those of the path and of the confirming check together",
    "star": "api.md 8: the resource id * has no subjects; SpiceDB's identity and `self` name it all the same",
    "operands": "api.md 4.8: a strict operation misses its first unknown; SpiceDB from 1.56 on tells all of them",
    "hints": "api.md 18, 7: LookupResources says what Check says; SpiceDB's takes a caveat for true beside -",
    "bug": "api.md 18, 7: the same; SpiceDB's fails with BUG where a check confirms `self`; the check works",
}
DEPTH = "MAXIMUM_DEPTH_EXCEEDED"
MAX_DEPTH = 50


class Case:
    """One request, and both who were asked."""

    def __init__(self, world, acyclic, request, licet, spicedb):
        self.world, self.acyclic, self.request = world, acyclic, request
        self.licet, self.spicedb = licet, spicedb
        self.lookup = request

    def about(self, request):
        """A check that belongs to the lookup."""
        made = Case(self.world, self.acyclic, request, self.licet, self.spicedb)
        made.lookup = self.request
        return made


def _split(text):
    """(type, id, relation or None)"""
    name, _, relation = text.partition("#")
    otype, _, oid = name.partition(":")
    return (otype, oid, relation or None)


def _reference(case, world=None):
    """What the naive evaluator says of the case's check. On circles the fixpoint, else the unfolding to the depth."""
    world, r = world or case.world, case.request
    subject, resource = _split(r["subject"]), _split(r["resource"])[:2]
    now = time.time_ns()
    if case.acyclic:
        return naive.answer_within(world, resource, r["permission"], subject, MAX_DEPTH, r["context"], now)
    return naive.answer(world, resource, r["permission"], subject, r["context"], now)


def _is(answer, reference):
    """Is this what the naive evaluator says?"""
    if reference == naive.NO_ANSWER:
        return answer == (ERROR, DEPTH)
    if reference[0] == naive.ERROR:
        return is_error(answer) and answer[1] in reference[1]
    return answer == (reference if isinstance(reference, tuple) else (reference,))


# ------------------------------------------------------------------ checks


def _bypassed(world, subject):
    """The world as SpiceDB's direct lookup of this subject sees it in memory. Where as many forms of its type have no
    caveat as may be looked up directly, whichever these are, rows with a caveat are lost; likewise expirations are not
    looked at."""
    stype, _, srelation = subject
    changed = {}
    for row, attribute in world.relationships.items():
        if row[3] == stype and (row[4] == "*" or row[5] == srelation):
            shapes = [shape for shape in world.schema[row[0]][row[2]][1] if shape[0] == stype]
            direct = sum(shape[1] in ("*", srelation) for shape in shapes)
            if direct == sum(shape[2] is None for shape in shapes) and attribute.caveat is not None:
                if row[5] is None:  # a userset is found once more, with its caveat
                    continue
            elif direct == sum(not shape[3] for shape in shapes) and attribute.expires is not None:
                attribute = attribute._replace(expires=FUTURE)
        changed[row] = attribute
    return World(world.schema, changed, world.caveats)


class _AllOperands:
    """The naive evaluator with the CEL of SpiceDB from 1.56 on: a strict operation misses what any operand misses. (But
    m[s] with an unknown m only that; so this is the most that may be missing.)"""

    @staticmethod
    def _strict(function, *operands):
        unknown = [operand.names for operand in operands if isinstance(operand, conditions.Unknown)]
        if unknown:
            return conditions.Unknown(frozenset().union(*unknown))
        return _AllOperands.first(function, *operands)

    first = staticmethod(conditions.strict)

    def __enter__(self):
        conditions.strict = self._strict

    def __exit__(self, *exception):
        conditions.strict = self.first


def of_check(case, mine, theirs):
    """The name of the known difference, or None."""
    if case.request["subject"].partition(":")[0] not in case.world.schema:
        return None
    reference = _reference(case)
    if not _is(mine, reference):
        return None
    if theirs == (ERROR, DEPTH):
        return "one" if case.acyclic else "circle"
    if is_error(theirs):
        return "one" if theirs[1].startswith("CAVEAT_") else None
    if _misses_more(case, reference, theirs):
        return "operands"
    bypassed = _bypassed(case.world, _split(case.request["subject"]))
    reference = _reference(case, bypassed)
    if _is(theirs, reference) or _misses_more(case, reference, theirs, bypassed):
        return "two"
    return "batch" if _mixes(case.world) and _is_less(theirs, mine) else None


def _mixes(world):
    """Does an `all` follow two relationships to one object, of which one has a caveat that the other has not?"""
    tuplesets = {expression[1] for expression in _expressions(world) if expression[0] == "all"}
    attributes = {}
    for row, attribute in world.relationships.items():
        if row[2] in tuplesets:
            attributes.setdefault((row[0], row[2], row[3:5]), set()).add(attribute[:2])
    return any(len(each) > 1 for each in attributes.values())


def _is_less(answer, other):
    """Caveats more than there are can only take away."""
    rank = {DENIED: 0, CONDITIONAL: 1, ALLOWED: 2}
    if answer[0] == other[0] == CONDITIONAL:
        return set(answer[1]) > set(other[1])
    return other[0] in rank and rank[answer[0]] < rank[other[0]]


def _misses_more(case, reference, theirs, world=None):
    """Is the difference that CEL of SpiceDB from 1.56 on tells further operands?"""
    if reference[0] != naive.CONDITIONAL or theirs[0] != CONDITIONAL or not set(reference[1]) < set(theirs[1]):
        return False
    with _AllOperands():
        return set(theirs[1]) <= set(_reference(case, world)[1])


def of_batched_check(case, mine, theirs):
    """Of a check that SpiceDB answered among others."""
    alone = case.spicedb.ask(case.request)
    if alone == mine:
        shared = is_error(theirs) or _has(case.world, "all")
        return "batch" if shared and _is(mine, _reference(case)) else None
    return of_check(case, mine, alone)


# ----------------------------------------------------------------- lookups


def _expressions(world):
    waiting = [body for members in world.schema.values() for kind, body in members.values() if kind == "permission"]
    while waiting:
        expression = waiting.pop()
        yield expression
        if expression[0] in ("+", "&"):
            waiting += expression[1]
        elif expression[0] == "-":
            waiting += expression[1:]


def _has(world, kind):
    return any(expression[0] == kind for expression in _expressions(world))


def _all_over_lacking(world):
    """Is there a t.all(n) over a type without n?"""
    for members in world.schema.values():
        for expression in _expressions(World({"": members}, {})):
            if expression[0] == "all" and expression[1] in members:
                shapes = members[expression[1]][1]
                if any(expression[2] not in world.schema[shape[0]] for shape in shapes):
                    return True
    return False


def _wildcards(world, stype):
    shapes = [
        s for members in world.schema.values() for kind, body in members.values() if kind == "relation" for s in body
    ]
    return [shape for shape in shapes if shape[0] == stype and shape[1] == "*"]


def _ids(world, otype, *more):
    ids = {oid for each, oid in world.objects if each == otype} | set(more)
    return sorted(ids - {"*"})


def _stated(answer, oid):
    """What a lookup says of one object."""
    if answer[0] == "resources":
        return dict(answer[1]).get(oid, (DENIED,))
    entries = {subject: (said, dict(excluded)) for subject, said, excluded in answer[1]}
    if oid in entries:
        return entries[oid][0]
    if "*" not in entries:
        return (DENIED,)
    said, excluded = entries["*"]
    if oid not in excluded:
        return said
    if excluded[oid] == (ALLOWED,):
        return (DENIED,)
    names = set(excluded[oid][1]) | set(said[1] if said[0] == CONDITIONAL else ())
    return (CONDITIONAL, tuple(sorted(names)))


def _checks(case, answers):
    """{id: check}: one for each object that may be found, and for a wildcard one that occurs nowhere."""
    r = case.request
    told = {entry[0] for answer in answers if not is_error(answer) for entry in answer[1]}
    if r["op"] == "lookup_resources":
        own = [_split(r["subject"])[1]] if _split(r["subject"])[0] == r["type"] else []
        ids = _ids(case.world, r["type"], *told, *own)
        return {oid: check("%s:%s" % (r["type"], oid), r["permission"], r["subject"], r["context"]) for oid in ids}
    relation = "#" + r["relation"] if r["relation"] else ""
    ids = _ids(case.world, r["type"], *told, _split(r["resource"])[1], "nobody-at-all")
    return {
        oid: check(r["resource"], r["permission"], "%s:%s%s" % (r["type"], oid, relation), r["context"]) for oid in ids
    }


def _equals_checks(mine, own):
    """Is licet's lookup what its checks say? It fails where one of them does, unless that ran out of depth where the
    lookup need not go. (What a wildcard and its exclusions together miss is told by neither.)"""
    failed = [answer for answer in own.values() if is_error(answer)]
    if is_error(mine) or set(failed) - {(ERROR, DEPTH)}:
        return mine in failed
    told = {entry[0] for entry in mine[1]}
    if mine[0] == "subjects" and not _stands_for_allowed(mine, own):
        return False
    return all(
        _stated(mine, oid) == answer if oid in told else is_error(answer) or _stated(mine, oid)[0] == answer[0]
        for oid, answer in own.items()
    )


def _stands_for_allowed(mine, own):
    """Is everybody excluded from a definite wildcard who has not the permission for certain, also when he is named?"""
    entries = {subject: (said, dict(excluded)) for subject, said, excluded in mine[1]}
    said, excluded = entries.get("*", ((DENIED,), {}))
    return said != (ALLOWED,) or all(answer == (ALLOWED,) or oid in excluded for oid, answer in own.items())


def of_lookup(case, mine, theirs):
    """The name of the known difference, or None."""
    if case.request.get("resource", "").endswith(":*") and mine == ("subjects", ()):
        return "star" if not is_error(theirs) and [entry[0] for entry in theirs[1]] == ["*"] else None
    checks = _checks(case, (mine, theirs))
    own = dict(zip(checks, case.licet.ask_bulk(list(checks.values()))))
    if not _equals_checks(mine, own):
        return None
    if is_error(theirs):
        return _of_failed_lookup(case, theirs)
    if is_error(mine):
        return _of_failing_lookup(case, theirs, checks, own)
    names = set()
    for oid, request in checks.items():
        one, other = _stated(mine, oid), _stated(theirs, oid)
        if one != other:
            names.add(_of_entry(case.about(request), one, other, own[oid]))
    if not names:
        return "beside" if mine[0] == "subjects" and _names_all(mine) and _names_all(theirs) else None
    return None if None in names else sorted(names)[0]


def _names_all(answer):
    return any(entry[0] == "*" for entry in answer[1])


def _of_failed_lookup(case, theirs):
    if theirs == (ERROR, DEPTH):
        return "lookup depth" if case.acyclic else "circle"
    if theirs == (ERROR, BUG) and _has(case.world, "self"):
        return "bug"
    return "one" if theirs[1].startswith("CAVEAT_") else None


def _of_failing_lookup(case, theirs, checks, own):
    """licet's fails, as checks fail that SpiceDB's lookup has no need of: through a wildcard, of a userset, or far from what
    it looks at."""
    stype, _, relation = _split(next(iter(checks.values()))["subject"])
    failing = {oid: request for oid, request in checks.items() if is_error(own[oid])}
    alone = {oid: case.spicedb.ask(request) for oid, request in failing.items()}
    for oid, request in failing.items():
        if not is_error(alone[oid]) and of_check(case.about(request), own[oid], alone[oid]) != "two":
            return None
    if relation is not None and _wildcards(case.world, stype):
        return "wildcards"
    too_deep = all(own[oid] == alone[oid] == (ERROR, DEPTH) for oid in failing)
    others_agree = all(_stated(theirs, oid) == answer for oid, answer in own.items() if oid not in failing)
    return "lookup depth" if too_deep and others_agree else None


def _of_entry(case, one, other, own):
    """Why SpiceDB's lookup says something else of one object, though its check agrees, or differs as is known."""
    alone = case.spicedb.ask(case.request)
    if alone != own and of_check(case, own, alone) is None:
        return None
    if one[0] == other[0] == CONDITIONAL:
        return "names"
    subject = _split(case.request["subject"])
    if case.lookup["op"] == "lookup_resources":
        if subject[2] is not None and other == (DENIED,) and _wildcards(case.world, subject[0]):
            return "wildcards"
        if one[0] == CONDITIONAL and other == (DENIED,) and _has(case.world, "-"):
            return "hints"
        return "batch" if _has(case.world, "all") else None
    if _has(case.world, "self") and (other[0] != DENIED or _has(case.world, "-")):
        return "lookup subjects"
    if _all_over_lacking(case.world) and other[0] != DENIED:
        return "lookup subjects"
    if subject[2] is not None and other == (DENIED,) and _wildcards(case.world, subject[0]):
        return "wildcards"
    if one == own == alone == (ALLOWED,) and other[0] == CONDITIONAL and _wildcards(case.world, subject[0]):
        return "lookup subjects"  # it is granted by name as well, conditionally; the wildcard suffices
    caveated = any(shape[2] is not None for shape in _wildcards(case.world, subject[0]))
    return "lookup subjects" if caveated and len(_wildcards(case.world, subject[0])) > 1 else None


def of(case, mine, theirs, batched=False):
    """The name of the known difference, or None."""
    if case.request["op"] == "check":
        return (of_batched_check if batched else of_check)(case, mine, theirs)
    if case.request["op"] in ("lookup_resources", "lookup_subjects"):
        return of_lookup(case, mine, theirs)
    return None

"""A second evaluator, deliberately naive: formulas and fixpoints straight from the definitions.

It shares nothing with the engine but the meaning of a schema. A world is a schema as plain data plus relationships; for
one subject every (object, name) pair has a formula over the other pairs and over caveats, and the value of all of them is
computed by applying the formulas until nothing changes. No indexes, no memo, no stack of goals, no short cuts.

A value is false, open or true. Open is a caveat that lacks values, and one that could not be evaluated: neither is a
decision. Then true decides a union, false an intersection, whatever else fails (threat-model.md 2); and what is open in
the end is looked into: if anything that it hangs on has failed the answer is an error, else it is conditional and misses
all the names that it hangs on.

Exclusion is treated by the alternating fixpoint (Van Gelder, Ross and Schlipf 1991): what is true in the least
fixpoint that reads subtrahends pessimistically is certain, what is false in the one that reads them optimistically
is denied, and what lies between hangs on a cycle through an excluded side and has no answer.

`answer` ignores depth and so is right wherever no path is longer than the limit. `answer_within` unfolds the rules to a
given depth instead; on data without cycles it is right for every limit.
"""

from typing import NamedTuple

from conditions import Failed, Unknown

ALLOWED, DENIED, NO_ANSWER, CONDITIONAL, ERROR = "allowed", "denied", "no answer", "conditional", "error"
FALSE, OPEN, TRUE = 0, 1, 2


class Attribute(NamedTuple):
    """What a relationship has beside its six names."""

    caveat: object = None  # a name
    context: tuple = ()  # (key, value) pairs
    expires: object = None  # nanoseconds since 1970


BARE = Attribute()


class World:
    """A schema and relationships.

    schema: {type: {name: rule}}; a rule is ("relation", [(type, relation or None or "*", caveat or None, does it
    expire?), ...]) or ("permission", expression). An expression is ("name", n), ("+", [e, ...]), ("&", [e, ...]),
    ("-", e, e), ("any", tupleset, n), ("all", tupleset, n), ("nil",) or ("self",).
    relationships: {(type, id, relation, subject type, subject id, subject relation or None): Attribute}.
    caveats: {name: conditions.Caveat}.
    """

    def __init__(self, schema, relationships, caveats=None):
        self.schema = schema
        self.relationships = dict(relationships)
        self.caveats = caveats or {}
        self.rows = {}
        for row in sorted(self.relationships, key=str):
            self.rows.setdefault(row[:3], []).append((row[3:], self.relationships[row]))
        self.objects = sorted({row[:2] for row in self.rows} | {r[3:5] for r in self.relationships if r[4] != "*"})

    def subjects_of(self, rtype, rid, relation, now):
        """The stored subjects of a relation that have not expired and whose shape the schema still allows."""
        kind, allowed = self.schema[rtype][relation]
        if kind != "relation":
            return []
        return [
            (subject, attribute)
            for subject, attribute in self.rows.get((rtype, rid, relation), [])
            if _shape(subject, attribute) in allowed and (attribute.expires is None or attribute.expires > now)
        ]


def _shape(subject, attribute):
    relation = "*" if subject[1] == "*" else subject[2]
    return (subject[0], relation, attribute.caveat, attribute.expires is not None)


# ---------------------------------------------------------------- formulas
#
# True, False, ("caveat", Attribute), ("goal", (type, id, name)), ("+", [f, f, ...]), ("&", [f, f, ...]), ("-", f, f).


class Reading(NamedTuple):
    """Who asks, when, and with what."""

    subject: tuple  # (type, id, relation or None)
    now: int = 0  # nanoseconds since 1970
    context: object = None  # a dict of JSON


def _is_subject(subject, goal):
    """Identity (api.md 4.1): a userset is a member of itself."""
    return subject[2] is not None and subject == goal


def _goal(reading, goal):
    return True if _is_subject(reading.subject, goal) else ("goal", goal)


def _directly(subject, row):
    """Does this row hold the subject itself, or everybody of its type?"""
    return row == subject or (row[1] == "*" and row[0] == subject[0])


def _joined(kind, parts, deciding):
    """A union or an intersection, without the parts that can't matter."""
    kept = [part for part in parts if part is not (not deciding)]
    if any(part is deciding for part in kept) or not kept:
        return deciding if kept else not deciding
    return kept[0] if len(kept) == 1 else (kind, kept)


def _any(parts):
    return _joined("+", parts, True)


def _all(parts):
    return _joined("&", parts, False)


def _under(attribute, formula):
    """A row counts as its caveat says."""
    return formula if attribute.caveat is None else _all([("caveat", attribute), formula])


def formula_of(world, reading, goal):
    """The rule of one (type, id, name)."""
    otype, oid, name = goal
    if _is_subject(reading.subject, goal):
        return True
    kind, body = world.schema[otype][name]
    if kind == "permission":
        return _expression(world, reading, otype, oid, body)
    ways = []
    for row, attribute in world.subjects_of(otype, oid, name, reading.now):
        if _directly(reading.subject, row):
            ways.append(_under(attribute, True))
        if row[2] is not None:
            ways.append(_under(attribute, _goal(reading, row)))
    return _any(ways)


def _expression(world, reading, otype, oid, expression):
    kind = expression[0]
    if kind == "nil":
        return False
    if kind == "self":
        return reading.subject == (otype, oid, None)
    if kind == "name":
        return _goal(reading, (otype, oid, expression[1]))
    if kind in ("+", "&"):
        return (_any if kind == "+" else _all)([_expression(world, reading, otype, oid, e) for e in expression[1]])
    if kind == "-":
        base, subtrahend = (_expression(world, reading, otype, oid, e) for e in expression[1:])
        return base if base is False or subtrahend is False else ("-", base, subtrahend)
    name = expression[2]
    targets = [
        _under(attribute, _goal(reading, (row[0], row[1], name)) if name in world.schema[row[0]] else False)
        for row, attribute in world.subjects_of(otype, oid, expression[1], reading.now)
    ]
    return _all(targets) if kind == "all" and targets else _any(targets)


class _Outcomes:
    """What caveats say under one context."""

    def __init__(self, world, context):
        self.world, self.asked, self.known = world, context or {}, {}

    def of(self, attribute):
        key = id(attribute)  # of the world's, so it stays
        if key not in self.known:
            caveat = self.world.caveats[attribute.caveat]
            self.known[key] = caveat.outcome(dict(attribute.context), self.asked)
        return self.known[key]


def _value(formula, outcomes, own, other):
    """own reads goals, other those inside subtrahends, where the roles swap once more for theirs."""
    if formula is True or formula is False:
        return TRUE if formula else FALSE
    kind = formula[0]
    if kind == "goal":
        return own[formula[1]]
    if kind == "caveat":
        outcome = outcomes.of(formula[1])
        return TRUE if outcome is True else FALSE if outcome is False else OPEN
    if kind == "+":
        return max([_value(f, outcomes, own, other) for f in formula[1]])
    if kind == "&":
        return min([_value(f, outcomes, own, other) for f in formula[1]])
    return min(_value(formula[1], outcomes, own, other), TRUE - _value(formula[2], outcomes, other, own))


# ---------------------------------------------------------------- fixpoints


def _fixpoint(formulas, outcomes, assumed):
    """The least values closed under the formulas, subtrahends read from fixed ones."""
    own = dict.fromkeys(formulas, FALSE)
    changed = True
    while changed:
        changed = False
        for goal, formula in formulas.items():
            value = _value(formula, outcomes, own, assumed)
            if value != own[goal]:
                own[goal], changed = value, True
    return own


def _alternate(formulas, outcomes):
    """(certain, possible): the two ends of the alternating fixpoint."""
    certain = dict.fromkeys(formulas, FALSE)
    while True:
        possible = _fixpoint(formulas, outcomes, certain)
        next_certain = _fixpoint(formulas, outcomes, possible)
        if next_certain == certain:
            return certain, possible
        certain = next_certain


def _conclude(hangs_on):
    """The answer of what is open: from the outcomes and unknowns (None) that it hangs on."""
    if None in hangs_on:
        return NO_ANSWER
    reasons = {outcome.reason for outcome in hangs_on if isinstance(outcome, Failed)}
    if reasons:
        return (ERROR, frozenset(reasons))
    names = frozenset().union(*(outcome.names for outcome in hangs_on if isinstance(outcome, Unknown)))
    return (CONDITIONAL, tuple(sorted(names)))


class _Solution:
    def __init__(self, formulas, outcomes):
        self.formulas, self.outcomes = formulas, outcomes
        self.certain, self.possible = _alternate(formulas, outcomes)

    def bounds(self, formula):
        return tuple(
            _value(formula, self.outcomes, own, other)
            for own, other in ((self.certain, self.possible), (self.possible, self.certain))
        )

    def _hangs_on(self, formula, seen, found):
        """Of what is not decided, follows the parts that are not decided."""
        if self.bounds(formula) in ((FALSE, FALSE), (TRUE, TRUE)):
            return
        kind = formula[0]
        if kind == "caveat":
            found.add(self.outcomes.of(formula[1]))
        elif kind != "goal":
            for part in formula[1] if kind in ("+", "&") else formula[1:]:
                self._hangs_on(part, seen, found)
        elif self.certain[formula[1]] != self.possible[formula[1]]:
            found.add(None)
        elif formula[1] not in seen:
            seen.add(formula[1])
            self._hangs_on(self.formulas[formula[1]], seen, found)

    def answer(self, goal):
        certain, possible = self.certain[goal], self.possible[goal]
        if certain != possible:
            return NO_ANSWER
        if certain != OPEN:
            return ALLOWED if certain == TRUE else DENIED
        found = set()
        self._hangs_on(("goal", goal), set(), found)
        return _conclude(found)


def answers(world, subject, extra=(), context=None, now=0):
    """{(type, id, name): answer} for every object of the world, the subject's own and those of `extra`."""
    reading = Reading(subject, now, context)
    objects = set(world.objects) | set(extra) | {subject[:2]}
    goals = [(otype, oid, name) for (otype, oid) in sorted(objects) for name in world.schema[otype]]
    solution = _Solution({goal: formula_of(world, reading, goal) for goal in goals}, _Outcomes(world, context))
    return {goal: solution.answer(goal) for goal in goals}


def answer(world, resource, name, subject, context=None, now=0):
    """resource: (type, id); subject: (type, id, relation or None)."""
    return answers(world, subject, [resource], context, now)[(*resource, name)]


# ------------------------------------------------------------------ depth
#
# Values are TRUE, FALSE, or a set of what they hang on: the outcomes of caveats, and None where the depth ran out.


def _join(values, deciding):
    values = list(values)
    if deciding in values:
        return deciding
    open_values = [value for value in values if isinstance(value, frozenset)]
    return frozenset().union(*open_values) if open_values else TRUE - deciding


class Unfolding:
    """Values at a remaining depth, for one reading. More depth only makes them more definite."""

    def __init__(self, world, subject, context=None, now=0):
        self.world, self.reading = world, Reading(subject, now, context)
        self.outcomes, self.known = _Outcomes(world, context), {}

    def answer(self, resource, name, max_depth):
        """The answer when a path may hold at most max_depth objects and names. Exact on data without cycles."""
        value = self._goal((*resource, name), max_depth)
        if isinstance(value, frozenset):
            return _conclude(value)
        return ALLOWED if value == TRUE else DENIED

    def _goal(self, goal, depth):
        if depth == 0:
            return frozenset([None])
        if (goal, depth) not in self.known:
            otype, oid, name = goal
            kind, body = self.world.schema[otype][name]
            if _is_subject(self.reading.subject, goal):
                value = TRUE
            elif kind == "permission" and body[0] == "name" and self.reading.subject[0] != otype:
                value = self._goal((otype, oid, body[1]), depth)  # an alias costs nothing (api.md 4.9)
            else:
                value = self._formula(formula_of(self.world, self.reading, goal), depth)
            self.known[goal, depth] = value
        return self.known[goal, depth]

    def _formula(self, formula, depth):
        if formula is True or formula is False:
            return TRUE if formula else FALSE
        kind = formula[0]
        if kind == "goal":
            return self._goal(formula[1], depth - 1)
        if kind == "caveat":
            outcome = self.outcomes.of(formula[1])
            return TRUE if outcome is True else FALSE if outcome is False else frozenset([outcome])
        if kind in ("+", "&"):
            return _join((self._formula(f, depth) for f in formula[1]), TRUE if kind == "+" else FALSE)
        base, subtrahend = self._formula(formula[1], depth), self._formula(formula[2], depth)
        if isinstance(base, frozenset) and None in base:
            return base  # a subtrahend that is surely true does not save it (api.md 4.7)
        contrary = subtrahend if isinstance(subtrahend, frozenset) else TRUE - subtrahend
        return _join([base, contrary], FALSE)


def answer_within(world, resource, name, subject, max_depth, context=None, now=0):
    return Unfolding(world, subject, context, now).answer(resource, name, max_depth)

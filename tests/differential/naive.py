"""A second evaluator, deliberately naive: sets and fixpoints straight from the definitions.

It shares nothing with the engine but the meaning of a schema. A world is a schema as plain data plus a list of
relationships; for one subject every (object, name) pair is one truth value, and all of them are computed
by applying the rules until nothing changes. No indexes, no memo, no stack of goals, no short cuts.

Exclusion is treated by the alternating fixpoint (Van Gelder, Ross and Schlipf 1991): what is true in the least
fixpoint that reads subtrahends pessimistically is allowed, what is false in the one that reads them optimistically
is denied, and what lies between hangs on a cycle through an excluded side and has no answer.

`answer` ignores depth and so is right wherever no path is longer than the limit. `answer_within` unfolds the rules to a
given depth instead; on data without cycles it is right for every limit.
"""

ALLOWED, DENIED, NO_ANSWER = "allowed", "denied", "no answer"


class World:
    """A schema and relationships.

    schema: {type: {name: rule}}; a rule is ("relation", [(type, relation or None or "*"), ...]) or
    ("permission", expression). An expression is ("name", n), ("+", [e, ...]), ("&", [e, ...]), ("-", e, e),
    ("any", tupleset, n), ("all", tupleset, n), ("nil",) or ("self",).
    relationships: {(type, id, relation, subject type, subject id, subject relation or None), ...}.
    """

    def __init__(self, schema, relationships):
        self.schema = schema
        self.relationships = set(relationships)
        self.rows = {}
        for rtype, rid, relation, stype, sid, srelation in sorted(self.relationships, key=str):
            self.rows.setdefault((rtype, rid, relation), []).append((stype, sid, srelation))
        self.objects = sorted(
            {(r[0], r[1]) for r in self.relationships} | {(r[3], r[4]) for r in self.relationships if r[4] != "*"}
        )

    def subjects_of(self, rtype, rid, relation):
        """The stored subjects of a relation whose shape the schema still allows."""
        kind, allowed = self.schema[rtype][relation]
        if kind != "relation":
            return []
        shapes = set(allowed)
        return [
            row
            for row in self.rows.get((rtype, rid, relation), [])
            if (row[0], "*" if row[1] == "*" else row[2]) in shapes
        ]


def _is_subject(subject, otype, oid, name):
    """Identity (api.md 4.1): a userset is a member of itself."""
    return subject[2] is not None and subject == (otype, oid, name)


def _directly(world, subject, row):
    """Does this row hold the subject itself, or everybody of its type?"""
    return row == subject or (row[1] == "*" and row[0] == subject[0])


def _rule(world, subject, otype, oid, name, truth, assumed):
    """One application of the rule of (object, name). truth reads names, assumed reads subtrahends."""
    if _is_subject(subject, otype, oid, name):
        return True
    kind, body = world.schema[otype][name]
    if kind == "relation":
        for row in world.subjects_of(otype, oid, name):
            if _directly(world, subject, row):
                return True
            if row[2] is not None and truth((row[0], row[1], row[2])):
                return True
        return False
    return _expression(world, subject, otype, oid, body, truth, assumed)


def _targets(world, otype, oid, tupleset, name):
    """The goals of an arrow; None for a subject whose type lacks the name."""
    return [
        (row[0], row[1], name) if name in world.schema[row[0]] else None
        for row in world.subjects_of(otype, oid, tupleset)
    ]


def _expression(world, subject, otype, oid, expression, truth, assumed):
    kind = expression[0]
    if kind == "nil":
        return False
    if kind == "self":
        return subject == (otype, oid, None)
    if kind == "name":
        return truth((otype, oid, expression[1]))
    if kind == "+":
        return any(_expression(world, subject, otype, oid, e, truth, assumed) for e in expression[1])
    if kind == "&":
        return all(_expression(world, subject, otype, oid, e, truth, assumed) for e in expression[1])
    if kind == "-":
        # Inside a subtrahend the roles swap: what is assumed there reads its own subtrahends from `truth`.
        return _expression(world, subject, otype, oid, expression[1], truth, assumed) and not _expression(
            world, subject, otype, oid, expression[2], assumed, truth
        )
    goals = _targets(world, otype, oid, expression[1], expression[2])
    if kind == "any":
        return any(goal is not None and truth(goal) for goal in goals)
    if kind == "all":
        return bool(goals) and all(goal is not None and truth(goal) for goal in goals)
    raise ValueError("unknown expression %r" % (expression,))


def _goals(world, subject, extra):
    objects = set(world.objects) | set(extra) | {(subject[0], subject[1])}
    return [(otype, oid, name) for (otype, oid) in sorted(objects) for name in world.schema[otype]]


def _fixpoint(world, subject, goals, assumed_true):
    """The least set of goals closed under the rules, subtrahends read from a fixed set."""
    holding = set()
    changed = True
    while changed:
        changed = False
        for goal in goals:
            if goal not in holding and _rule(world, subject, *goal, holding.__contains__, assumed_true.__contains__):
                holding.add(goal)
                changed = True
    return holding


def _alternate(world, subject, goals):
    """(certain, possible): the two ends of the alternating fixpoint."""
    certain = set()
    while True:
        possible = _fixpoint(world, subject, goals, certain)
        next_certain = _fixpoint(world, subject, goals, possible)
        if next_certain == certain:
            return certain, possible
        certain = next_certain


def answers(world, subject, extra=()):
    """{(type, id, name): answer} for every object of the world, the subject's own and those of `extra`."""
    goals = _goals(world, subject, extra)
    certain, possible = _alternate(world, subject, goals)
    return {goal: ALLOWED if goal in certain else NO_ANSWER if goal in possible else DENIED for goal in goals}


def answer(world, resource, name, subject):
    """resource: (type, id); subject: (type, id, relation or None)."""
    return answers(world, subject, [resource])[(resource[0], resource[1], name)]


# ------------------------------------------------------------------ depth


def _kleene_or(values):
    values = list(values)
    return True if True in values else None if None in values else False


def _kleene_and(values):
    values = list(values)
    return False if False in values else None if None in values else True


class _Unfolding:
    """Truth at a remaining depth: True, False, or None where the depth ran out. Grows only more definite with depth."""

    def __init__(self, world, subject):
        self.world, self.subject, self.known = world, subject, {}

    def goal(self, goal, depth):
        if depth == 0:
            return None
        key = (goal, depth)
        if key not in self.known:
            self.known[key] = self._goal(goal, depth)
        return self.known[key]

    def step(self, goal, depth):
        """A name or the target of an arrow: identity is seen before the step is taken (SpiceDB: checkComputedUserset)."""
        return True if _is_subject(self.subject, *goal) else self.goal(goal, depth - 1)

    def _goal(self, goal, depth):
        otype, oid, name = goal
        world, subject = self.world, self.subject
        if _is_subject(subject, otype, oid, name):
            return True
        kind, body = world.schema[otype][name]
        if kind == "permission":
            if body[0] == "name" and subject[0] != otype:
                return self.goal((otype, oid, body[1]), depth)  # an alias costs nothing (api.md 4.9)
            return self.expression(otype, oid, body, depth)
        rows = world.subjects_of(otype, oid, name)
        if any(_directly(world, subject, row) for row in rows):
            return True
        return _kleene_or([False] + [self.goal(row, depth - 1) for row in rows if row[2] is not None])

    def expression(self, otype, oid, expression, depth):
        kind = expression[0]
        if kind == "nil":
            return False
        if kind == "self":
            return self.subject == (otype, oid, None)
        if kind == "name":
            return self.step((otype, oid, expression[1]), depth)
        if kind == "+":
            return _kleene_or(self.expression(otype, oid, e, depth) for e in expression[1])
        if kind == "&":
            return _kleene_and(self.expression(otype, oid, e, depth) for e in expression[1])
        if kind == "-":
            base = self.expression(otype, oid, expression[1], depth)
            if base is not True:
                return base
            minus = self.expression(otype, oid, expression[2], depth)
            return None if minus is None else not minus
        goals = _targets(self.world, otype, oid, expression[1], expression[2])
        values = [False if goal is None else self.step(goal, depth) for goal in goals]
        if kind == "any":
            return _kleene_or([False] + values)
        return _kleene_and(values) if values else False


def answer_within(world, resource, name, subject, max_depth):
    """The answer when a path may hold at most max_depth objects and names. Exact on data without cycles."""
    value = _Unfolding(world, subject).goal((resource[0], resource[1], name), max_depth)
    return NO_ANSWER if value is None else ALLOWED if value else DENIED

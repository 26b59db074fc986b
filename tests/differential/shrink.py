"""A difference made small: what can be left out while licet and the naive evaluator still disagree.

Candidates are tried one by one on a fresh engine: fewer questions, relationships, names and allowed types, smaller
expressions and contexts. The first that still differs is gone on with, until none does.
"""

from datetime import datetime, timezone
from typing import NamedTuple

import contexts
import licet
import naive
import worlds
from licet.testing import ManualClock
from store import stores

MOST_TRIES = 4000


class Question(NamedTuple):
    resource: tuple  # (type, id)
    name: str
    subject: tuple
    context: object = None

    def item(self):
        """As check_bulk() takes it; the context may be a dict, text or None."""
        text = worlds.subject_text(self.subject)
        return ("%s:%s" % self.resource, self.name, text, {} if self.context is None else self.context)


class Case(NamedTuple):
    """What is stored, and what is asked in one call."""

    world: naive.World
    questions: list
    now: int
    max_depth: int
    unfold: bool  # expect what the unfolding says, not the fixpoint

    def expected(self, question):
        resource, name, subject, context = question
        if self.unfold:
            return naive.answer_within(self.world, resource, name, subject, self.max_depth, context, self.now)
        return naive.answer(self.world, resource, name, subject, context, self.now)


class Disagreement(NamedTuple):
    question: Question
    got: object
    expected: object


def outcome(result):
    """A result of licet in the words of the naive evaluator."""
    error = getattr(result, "error", None)
    if error is not None:
        return outcome_of_error(error)
    if result.permissionship == licet.Permissionship.CONDITIONAL:
        return (naive.CONDITIONAL, result.missing_context)
    return naive.ALLOWED if result.allowed else naive.DENIED


def outcome_of_error(error):
    if error.reason == "MAXIMUM_DEPTH_EXCEEDED":
        return naive.NO_ANSWER
    if error.reason is None or not error.reason.startswith("CAVEAT_"):
        raise error
    return (naive.ERROR, error.reason)


def agree(got, expected):
    """Of several errors licet tells one."""
    if expected[0] == naive.ERROR:
        return got[0] == naive.ERROR and got[1] in expected[1]
    return got == expected


def load(engine, world):
    engine.write_schema(worlds.schema_text(world.schema, world.caveats))
    rows = worlds.relationship_texts(world)
    for first in range(0, len(rows), 1000):
        engine.touch(*rows[first : first + 1000])


def disagreement(case):
    """The first one of a case, or None."""
    with stores.open(max_depth=case.max_depth, clock=clock_at(case.now)) as engine:
        load(engine, case.world)
        results = engine.check_bulk([question.item() for question in case.questions])
    for question, result in zip(case.questions, results):
        got, expected = outcome(result), case.expected(question)
        if not agree(got, expected):
            return Disagreement(question, got, expected)
    return None


def clock_at(nanoseconds):
    clock = ManualClock(datetime.fromtimestamp(worlds.NOON, timezone.utc))
    clock.nanoseconds = nanoseconds
    return clock


# --------------------------------------------------------------- candidates


def _without(mapping, key):
    return {k: v for k, v in mapping.items() if k != key}


def _smaller_expressions(expression):
    kind = expression[0]
    if kind in ("+", "&"):
        parts = expression[1]
        yield from parts
        for at, part in enumerate(parts):
            if len(parts) > 2:
                yield (kind, parts[:at] + parts[at + 1 :])
            yield from ((kind, parts[:at] + [smaller] + parts[at + 1 :]) for smaller in _smaller_expressions(part))
    elif kind == "-":
        yield from expression[1:]
        yield from (("-", smaller, expression[2]) for smaller in _smaller_expressions(expression[1]))
        yield from (("-", expression[1], smaller) for smaller in _smaller_expressions(expression[2]))


def _smaller_bodies(rule):
    kind, body = rule
    if kind == "permission":
        return [(kind, smaller) for smaller in _smaller_expressions(body)]
    return [(kind, body[:at] + body[at + 1 :]) for at in range(len(body)) if len(body) > 1]


def _smaller_schemas(schema):
    for otype, members in schema.items():
        yield _without(schema, otype)
        for name, rule in members.items():
            yield {**schema, otype: _without(members, name)}
            for smaller in _smaller_bodies(rule):
                yield {**schema, otype: {**members, name: smaller}}


def _fewer(items):
    """Halves, quarters and so on left out."""
    size = len(items) // 2
    while size >= 1:
        for first in range(0, len(items), size):
            yield items[:first] + items[first + size :]
        size //= 2


def _plainer(attribute):
    for pair in attribute.context:
        yield attribute._replace(context=tuple(p for p in attribute.context if p != pair))
    if attribute != naive.BARE:
        yield naive.BARE


def _smaller_rows(world):
    rows = list(world.relationships.items())
    yield from map(dict, _fewer(rows))
    for row, attribute in rows:
        yield from ({**world.relationships, row: plainer} for plainer in _plainer(attribute))


def _candidates(case):
    world = case.world
    for fewer in _fewer(case.questions):
        if fewer:
            yield case._replace(questions=fewer)
    for rows in _smaller_rows(world):
        yield case._replace(world=naive.World(world.schema, rows, world.caveats))
    for schema in _smaller_schemas(world.schema):
        yield case._replace(world=naive.World(schema, world.relationships, world.caveats))
    for name in world.caveats:
        yield case._replace(world=naive.World(world.schema, world.relationships, _without(world.caveats, name)))
    for at, question in enumerate(case.questions):
        for key in question.context or {}:
            smaller = question._replace(context=_without(question.context, key))
            yield case._replace(questions=case.questions[:at] + [smaller] + case.questions[at + 1 :])


def _still_differs(case):
    try:
        return disagreement(case) is not None
    except (licet.Error, KeyError):  # no world at all
        return False


def shrunk(case):
    """A small case that still differs; or this one, when the difference needs more than what is stored."""
    tries = 0
    if not _still_differs(case):
        return case
    found = True
    while found and tries < MOST_TRIES:
        found = False
        for candidate in _candidates(case):
            tries += 1
            if _still_differs(candidate):
                case, found = candidate, True
                break
    return case


def described(case):
    """All one needs to see it again."""
    world, differs = case.world, disagreement(case)
    lines = [worlds.schema_text(world.schema, world.caveats), *worlds.relationship_texts(world)]
    lines.append("now %d ns, max_depth %d" % (case.now, case.max_depth))
    for question in case.questions:
        lines.append("check %s %s %s with %s" % (*question.item()[:3], contexts.text_of(question.context)))
    if differs is None:
        return "\n".join(["does not differ on a fresh engine", *lines])
    return "\n".join([*lines, "%s: licet %s, naive %s" % (differs.question.item()[:3], differs.got, differs.expected)])

"""What the consistency suite looks at: a validation file in an engine, and who may do what in it.

The words are those of SpiceDB's suite. Over the relationships of a file, expired ones too: *object ids* are all ids of
resources and subjects in one pool, whatever their types, and *subjects* all that occur but wildcards.
"""

from __future__ import annotations

import re
from datetime import datetime, timezone
from enum import Enum
from typing import NamedTuple

import licet
import stores
from licet import Permissionship, Relationship
from licet.testing import ManualClock

# Expirations in the files are past or far in the future; before this time nothing has expired.
BEFORE = datetime(2020, 1, 1, tzinfo=timezone.utc)
NOW = datetime(2026, 8, 20, tzinfo=timezone.utc)

NO, HAS, CONDITIONAL = Permissionship

LISTS = {"assertTrue": HAS, "assertCaveated": CONDITIONAL, "assertFalse": NO}

# The core takes that many items in one bulk check.
BULK_ITEMS = 10_000

# More than any lookup here has; a chain that never ends has more.
MAX_PAGES = 10_000


class How(Enum):
    """How a subject comes by a permission, or why it does not."""

    NOT = "no"
    NOT_BY_STORED_CONTEXT = "no, because of what stored contexts say"
    SAME = "it is the very userset"
    BY_WILDCARD = "through a wildcard only"
    DIRECTLY = "through relationships that name it, or usersets"


class Access(NamedTuple):
    how: How
    result: licet.Result


class Assertion(NamedTuple):
    expected: Permissionship
    text: str
    resource: str
    permission: str
    subject: str
    context: str | None

    @property
    def has_context(self):
        return self.context not in (None, "{}")


def read_assertions(text):
    """The items of the lists below `assertions`: each stands on a line of its own, in quotes."""
    found, expected = [], None
    for line in text.partition("\nassertions:")[2].splitlines():
        if heading := re.fullmatch(r" *(\w+): *", line):
            expected = LISTS[heading[1]]
        elif item := re.fullmatch(r""" *- (["'])(.+)\1 *""", line):
            question, _, context = item[2].partition(" with ")
            row = Relationship.parse(question.strip())
            found.append(Assertion(expected, item[2], row.resource, row.relation, row.subject, context or None))
        elif line and not re.match(r" *#", line):
            break
    return found


def key(row):
    """What makes a relationship this one and no other."""
    return row._replace(caveat_name=None, caveat_context=None, expiration=None)


def said(answer):
    """Of a check or a lookup: the answer, and the values it waits for."""
    return (answer.permissionship, answer.missing_context)


def deferring(schema):
    """The same schema, but for caveats: each waits for a value, whatever it is given."""
    block = r"^caveat (\S+)\([^{]*\) \{\n.*?^\}"
    return re.sub(block, r"caveat \1(undecided bool) {\n\tundecided\n}", schema, flags=re.MULTILINE | re.DOTALL)


def ask(engine, items):
    """Bulk checks, of any number."""
    results = []
    for first in range(0, len(items), BULK_ITEMS):
        results += engine.check_bulk(items[first : first + BULK_ITEMS])
    assert [result.error for result in results if result.error] == []
    return results


class Shortening:
    """Short ids for long ones: a message holds only so much of a name."""

    def __init__(self, ids):
        self.ids = {"*": "*", **{id: "id%d" % number for number, id in enumerate(ids)}}
        self.long = {short: id for id, short in self.ids.items()}

    def __call__(self, object):
        type, _, id = object.partition(":")
        return f"{type}:{self.ids[id]}"

    def undone(self, subject):
        object, hash, relation = subject.partition("#")
        type, _, id = object.partition(":")
        return f"{type}:{self.long[id]}{hash}{relation}"


def pages(lookup, size):
    """The answers of a lookup, page by page up to a short one. Size 0: all in one."""
    if size == 0:
        return [list(lookup())]
    found, cursor = [], None
    while not found or len(found[-1]) == size:
        assert len(found) < MAX_PAGES
        stream = lookup(limit=size, cursor=cursor)
        found.append(list(stream))
        assert len(found[-1]) <= size
        cursor = stream.cursor
    return found


class World:
    """A validation file in an engine, and its accessibility set."""

    def __init__(self, path):
        text = path.read_text(encoding="utf-8")
        self.name = path.name
        self.clock = ManualClock(BEFORE)
        self.engine = stores.open(clock=self.clock)
        licet._licet.validate(stores.plain(self.engine), text.encode(), None, True)
        self.assertions = read_assertions(text)
        self.schema = self.engine.read_schema()
        definitions = self.schema.reflect()["definitions"]
        self.relations = {d["name"]: [r["name"] for r in d["relations"]] for d in definitions}
        self.names = {d["name"]: self.relations[d["name"]] + [p["name"] for p in d["permissions"]] for d in definitions}
        self.subject_types = {(d["name"], r["name"]): r["subject_types"] for d in definitions for r in d["relations"]}
        self.relationships = [row for type in self.names for row in self.engine.read_relationships(resource_type=type)]
        self.clock.set(NOW)
        self.subjects = sorted({row.subject for row in self.relationships if row.subject_id != "*"})
        self.types_of_subjects = sorted({(row.subject_type, row.subject_relation or "") for row in self.relationships})
        self.object_ids = sorted(
            ({row.resource_id for row in self.relationships} | {row.subject_id for row in self.relationships}) - {"*"}
        )
        self.resources = sorted({row.resource for row in self.relationships})
        self.expanded = self._expand()
        self.access = self._access()

    def is_expired(self, row):
        return row.expires_at is not None and row.expires_at <= NOW

    def names_of(self, resource):
        return self.names[resource.partition(":")[0]]

    def how(self, resource, name, subject):
        """What is not known to the set is not accessible."""
        known = self.access.get((resource, name, subject))
        return known.how if known else How.NOT

    def who(self, resource, name):
        """[(subject, Access), ...]: the whole set of one resource and name."""
        return [(subject, self.access[resource, name, subject]) for subject in self.subjects]

    def _expand(self):
        """{(resource, name): subjects}: the recursive expansions, folded. Nothing is expected of them, so that the judge of
        expected relations names all that it finds."""
        short = Shortening(self.object_ids)
        keys = {f"{short(of)}#{name}": (of, name) for of in self.resources for name in self.names_of(of)}
        rows = [
            row._replace(resource_id=short.ids[row.resource_id], subject_id=short.ids[row.subject_id])
            for row in self.relationships
        ]
        text = "".join(
            "%s: |2\n%s" % (part, "".join(f"  {line}\n" for line in lines))
            for part, lines in {"schema": self.schema.text.splitlines(), "relationships": map(str, rows)}.items()
        )
        text += "validation:\n" + "".join(f"  {of}: []\n" for of in keys)
        with licet.open(clock=self.clock) as engine:
            *_, findings = licet._licet.validate(engine, text.encode(), None)
        found = {of: set() for of in keys.values()}
        for is_warning, _, kind, message, *_ in findings:
            if not is_warning:
                assert kind == "EXTRA_RELATIONSHIP_FOUND"
                of, subject = re.search(r"relation `(.+?)`, subject `(.+?)` found but not listed", message).groups()
                found[keys[of]].add(short.undone(subject))
        return found

    def _access(self):
        items = [
            (f"{type}:{id}", name, subject)
            for type, names in self.names.items()
            for id in self.object_ids
            for name in names
            for subject in self.subjects
        ]
        with licet.open(clock=self.clock) as deferred:
            deferred.write_schema(deferring(self.schema.format()))
            deferred.touch(*(row._replace(caveat_context=None) for row in self.relationships))
            open_ends = ask(deferred, items)
        answers = ask(self.engine, items)
        return {
            item: Access(self._how(item, deferred.permissionship, answer.permissionship), answer)
            for item, deferred, answer in zip(items, open_ends, answers)
        }

    def _how(self, item, deferred, answer):
        resource, name, subject = item
        assert deferred in (answer, CONDITIONAL)
        if deferred == NO:
            return How.NOT
        if answer == NO:
            return How.NOT_BY_STORED_CONTEXT
        if subject == f"{resource}#{name}":
            return How.SAME
        return How.DIRECTLY if subject in self.expanded.get((resource, name), ()) else How.BY_WILDCARD

    def types_within(self, type, name):
        """Which (type, relation) the schema lets be a subject of a name, usersets followed to their ends."""
        found, waiting, seen = set(), [(type, name)], set()
        while waiting:
            at = waiting.pop()
            if at in seen:
                continue
            seen.add(at)
            if at not in self.subject_types:
                waiting += [m[1:] for m in self.schema.dependent_relations(*at) if m.kind == "relation"]
            for shape in self.subject_types.get(at, ()):
                relation = shape.get("relation", "")
                found.add((shape["definition"], relation))
                if relation:
                    waiting.append((shape["definition"], relation))
        return found

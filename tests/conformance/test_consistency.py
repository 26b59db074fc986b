"""SpiceDB's consistency suite over its own validation files, through Python: what checks, lookups, expansions and bulk
checks say of the same world is the same, and is what the assertions say.

Where SpiceDB's suite leaves room licet's answers have to be exact: a lookup says of every subject and resource what a
check says, names of missing values included; no page has a resource of an earlier one. All is asked twice: of what was
just loaded, and after every relationship was deleted and written again. The files are read from
$LICET_SHARED/conformance/spicedb.
"""

from __future__ import annotations

import os
from collections import Counter
from functools import cache
from pathlib import Path

import licet
import pytest
import stores
from consistency import CONDITIONAL, HAS, NO, How, World, ask, key, pages, said

SHARED = Path(os.environ.get("LICET_SHARED") or Path(__file__).resolve().parents[3] / "shared") / "conformance"
# What has expired by the database's clock is garbage there, though not by the suite's.
IS_COLLECTING = bool(os.environ.get(stores.COLLECT))
NOT_COLLECTING = {"caveatexpiration", "indirectrelexpiration"}
FILES = sorted(
    path for path in (SHARED / "spicedb").glob("*.yaml") if not (IS_COLLECTING and path.stem in NOT_COLLECTING)
)

# What has to come together over all files.
TOTAL = {
    "configurations": 41,
    "reads": 256,
    "writes": 256,
    "assertions": 416,
    "checks": 20976,
    "bulk_checks": 5398,
    "expands": 710,
    "recursive_expands": 355,
    "lookups_of_resources": 9040,
    "lookups_of_subjects": 6660,
    "pages": 15910,
}

# Of that, in the files that are left out where garbage is collected.
EXPIRING = {
    "configurations": 2,
    "reads": 10,
    "writes": 10,
    "assertions": 24,
    "checks": 434,
    "bulk_checks": 172,
    "expands": 12,
    "recursive_expands": 6,
    "lookups_of_resources": 256,
    "lookups_of_subjects": 80,
    "pages": 344,
}

NOT = (NO, ())

PAGE_SIZES = (0, 1, 2, 3)
needs_shared = pytest.mark.skipif(not FILES, reason="no shared test data; see LICET_SHARED")


class Suite:
    """The checks of the suite over one world, and how many questions they asked."""

    def __init__(self, world):
        self.world, self.engine = world, world.engine
        self.counts = Counter(configurations=1, checks=len(world.access), recursive_expands=len(world.expanded))

    def run(self):
        self.reads()
        self.answers()
        self.writes()
        self.answers()
        return self.counts

    def answers(self):
        self.assertions()
        self.expands()
        self.recursive_expands()
        for type, names in self.world.names.items():
            for name in names:
                for subject in self.world.subjects:
                    self.resources(type, name, subject)
        for resource in self.world.resources:
            for name in self.world.names_of(resource):
                for type, relation in self.world.types_of_subjects:
                    self.subjects(resource, name, type, relation)
        self.reachable_types()

    # ------------------------------------------------------------ reading and writing

    def reads(self):
        """A relationship is read as it was written, unless it has expired."""
        for row in self.world.relationships:
            stored = list(self.engine.read_relationships(resource_type=row.resource_type))
            assert (row in stored) == (not self.world.is_expired(row))
            self.counts["reads"] += 1

    def writes(self):
        """Each may be written again where it stands. Some go and come back, so that not all stand in their old places."""
        for row in self.world.relationships:
            there = licet.must_match(
                resource_type=row.resource_type,
                resource_id=row.resource_id,
                relation=row.relation,
                subject_type=row.subject_type,
                subject_id=row.subject_id,
                subject_relation=row.subject_relation or "",
            )
            self.engine.write([licet.touch(row)], [] if row.expiration else [there])
            self.engine.delete(key(row))
            self.engine.touch(row)
            self.counts["writes"] += 1

    # ------------------------------------------------------------ assertions

    def assertions(self):
        for expected in (HAS, CONDITIONAL, NO):
            asserted = [a for a in self.world.assertions if a.expected == expected]
            for number, a in enumerate(asserted, 1):
                answer = self.engine.check(a.resource, a.permission, a.subject, context=a.context)
                assert answer.permissionship == expected, a.text
                self.asserted_with_context(a)
                self.asserted_without_context(a)
                some = [(b.resource, b.permission, b.subject, b.context) for b in asserted[:number]]
                assert {result.permissionship for result in ask(self.engine, some)} == {expected}
                self.counts["assertions"] += 1
                self.counts["checks"] += 1
                self.counts["bulk_checks"] += number

    def found(self, a, context=None):
        """What a lookup says of the assertion's resource."""
        type, _, id = a.resource.partition(":")
        found = {f.resource_id: f for f in self.engine.lookup_resources(type, a.permission, a.subject, context=context)}
        self.counts["lookups_of_resources"] += 1
        return found[id].permissionship if id in found else NO

    def asserted_with_context(self, a):
        assert self.found(a, a.context) == a.expected, a.text

    def asserted_without_context(self, a):
        found = self.found(a)
        how = self.world.how(a.resource, a.permission, a.subject)
        if a.expected == CONDITIONAL:
            assert found == CONDITIONAL, a.text
        elif a.expected == HAS:
            assert found == HAS or (a.has_context and found == CONDITIONAL), a.text
        elif not a.has_context:
            assert found == NO, a.text
        elif how == How.NOT:
            assert found != HAS, a.text
        elif how != How.NOT_BY_STORED_CONTEXT:
            assert found == CONDITIONAL, a.text

    # ------------------------------------------------------------ expand

    def expands(self):
        for resource in self.world.resources:
            for name in self.world.names_of(resource):
                tree = self.engine.expand(resource, name)
                assert (tree.resource, tree.relation) == (resource, name)
                self.counts["expands"] += 1

    def recursive_expands(self):
        """What is found has the permission, at least if stored contexts are left aside; and what has it is found."""
        for (resource, name), found in self.world.expanded.items():
            for subject in found:
                if not subject.endswith(":*"):
                    how = self.world.access[resource, name, subject].how
                    # It may be the same userset that stands in one of its own relationships.
                    assert how in (How.DIRECTLY, How.NOT_BY_STORED_CONTEXT, How.SAME), (resource, name, subject)
            for subject, access in self.world.who(resource, name):
                assert access.how != How.DIRECTLY or subject in found

    # ------------------------------------------------------------ lookups

    def resources(self, type, name, subject):
        expected = {}
        for id in self.world.object_ids:
            answer = self.world.access[f"{type}:{id}", name, subject].result
            if answer.permissionship != NO:
                expected[id] = said(answer)
        for size in PAGE_SIZES:
            found = pages(lambda **page: self.engine.lookup_resources(type, name, subject, **page), size)
            flat = [resource for page in found for resource in page]
            assert len({f.resource_id for f in flat}) == len(flat)
            assert {f.resource_id: said(f) for f in flat} == expected, (type, name, subject, size)
            items = [(f"{type}:{f.resource_id}", name, subject) for f in flat]
            assert [said(self.engine.check(*item)) for item in items] == list(map(said, flat))
            assert list(map(said, ask(self.engine, items))) == list(map(said, flat))
            self.counts["lookups_of_resources"] += 1
            self.counts["pages"] += len(found)
            self.counts["checks"] += len(items)
            self.counts["bulk_checks"] += len(items)

    def subjects(self, resource, name, type, relation):
        def lookup(context=None, **page):
            self.counts["lookups_of_subjects"] += not page.get("cursor")
            return self.engine.lookup_subjects(
                resource, name, type, subject_relation=relation or None, context=context, **page
            )

        found = pages(lookup, 0)[0]
        for size in PAGE_SIZES[1:]:
            paged = pages(lookup, size)
            assert sorted(subject for page in paged for subject in page) == sorted(found)
            self.counts["pages"] += len(paged)
        by_id = {f.subject_id: f for f in found}
        assert len(by_id) == len(found)
        suffix = "#" + relation if relation else ""
        self.found_as_accessible(resource, name, type, suffix, by_id)
        self.found_as_asserted(resource, name, type, suffix, by_id, lookup)
        self.found_as_checked(resource, name, type, suffix, by_id)

    def found_as_accessible(self, resource, name, type, suffix, found):
        for subject, access in self.world.who(resource, name):
            id = id_of(subject, type, suffix)
            if id is not None and access.how in (How.DIRECTLY, How.SAME):
                assert id in found, (resource, name, subject)

    def found_as_asserted(self, resource, name, type, suffix, found, lookup):
        for a in self.world.assertions:
            id = id_of(a.subject, type, suffix)
            if (a.resource, a.permission) != (resource, name) or id is None or a.expected == NO:
                continue
            known = self.world.access.get((resource, name, a.subject))
            if known and known.how != How.BY_WILDCARD:
                assert id in found, a.text
                continue
            given = {f.subject_id: f for f in lookup(a.context)} if a.has_context else found
            excluded = {e.subject_id: e.permissionship for e in given["*"].excluded}
            assert excluded.get(id, NO) in ((NO,) if a.expected == HAS else (NO, CONDITIONAL)), a.text
            assert a.expected != HAS or given["*"].permissionship == HAS, a.text

    def found_as_checked(self, resource, name, type, suffix, found):
        everyone = found.get("*")
        excluded = {e.subject_id: e for e in everyone.excluded} if everyone else {}
        for id, f in found.items():
            if id != "*":
                assert said(self.engine.check(resource, name, f"{type}:{id}{suffix}")) == said(f)
                assert f.permissionship in (HAS, CONDITIONAL) and f.excluded == ()
        for id, e in excluded.items():
            answer = self.engine.check(resource, name, f"{type}:{id}{suffix}")
            assert id in found or said(answer) == (NOT if e.permissionship == HAS else said(e))
        strangers = [f"{type}:nobody-knows-this-one{suffix}"]
        known = [subject for subject in self.world.subjects if id_of(subject, type, suffix) is not None]
        for subject in known + strangers:
            answer = self.engine.check(resource, name, subject)
            id = id_of(subject, type, suffix)
            if id not in found and id not in excluded:
                assert said(answer) == (said(everyone) if everyone else NOT), (resource, name, subject)
        self.counts["checks"] += len(found) - (everyone is not None) + len(excluded) + len(known) + len(strangers)

    # ------------------------------------------------------------ schema

    def reachable_types(self):
        for resource in self.world.resources:
            type = resource.partition(":")[0]
            for name in self.world.names_of(resource):
                types = self.world.types_within(type, name)
                for subject, access in self.world.who(resource, name):
                    object, _, relation = subject.partition("#")
                    assert access.how != How.DIRECTLY or (object.partition(":")[0], relation) in types


def id_of(subject, type, suffix):
    """The id of a subject of this type and with this relation; None for others."""
    object, hash, relation = subject.partition("#")
    found, _, id = object.partition(":")
    return id if (found, hash + relation) == (type, suffix) else None


@cache
def counts_of(path):
    world = World(path)
    with world.engine:
        return Suite(world).run()


@needs_shared
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_all_that_can_be_asked_agrees(path):
    assert counts_of(path)["configurations"] == 1


@needs_shared
def test_every_configuration_was_counted(capsys):
    total = sum(map(counts_of, FILES), Counter())
    with capsys.disabled():
        print("\n" + ", ".join(f"{total[what]} {what.replace('_', ' ')}" for what in TOTAL) + ", 0 failures")
    assert total == Counter(TOTAL) - (Counter(EXPIRING) if IS_COLLECTING else Counter())

"""schema_impact: what a new schema would do to the present data."""

from __future__ import annotations

import licet
import pytest
from conftest import RELATIONSHIPS, SCHEMA
from licet import Impact, Permissionship, Relationship

NO, HAS, CONDITIONAL = Permissionship


def test_the_same_schema_changes_nothing(engine):
    assert list(engine.schema_impact(SCHEMA)) == []
    assert list(engine.schema_impact(engine.read_schema().format())) == []


def test_decisions_that_change_are_told(engine):
    more = SCHEMA.replace("permission edit = owner", "permission edit = owner + viewer")
    found = list(engine.schema_impact(more))
    assert all(type(impact) is Impact for impact in found)
    assert sorted(found) == [
        Impact("gained", None, None, "document:open", "edit", "user:*", NO, HAS),
        Impact("gained", None, None, "document:plan", "edit", "group:eng#member", NO, HAS),
        Impact("gained", None, None, "document:plan", "edit", "user:bo", NO, HAS),
        Impact("gained", None, None, "document:plan", "edit", "user:cy", NO, HAS),
    ]
    assert str(engine.read_schema()) == SCHEMA


def test_decisions_that_are_lost_are_told(engine):
    less = SCHEMA.replace("permission view = (viewer + edit) - banned", "permission view = viewer - banned")
    assert list(engine.schema_impact(less)) == [
        Impact("lost", None, None, "document:plan", "view", "user:ada", HAS, NO)
    ]


def test_relationships_that_forbid_it_are_told(engine):
    without = SCHEMA.replace("  relation banned: user\n", "").replace(" - banned", "")
    found = list(engine.schema_impact(without))
    impact, *decisions = found
    assert (impact.kind, impact.relationship) == ("refused", Relationship.parse(RELATIONSHIPS[2]))
    assert decisions == [
        Impact("gained", None, None, "document:plan", "view", "user:cy", NO, HAS),
        Impact("lost", None, None, "document:plan", "banned", "user:cy", HAS, NO),
    ]
    assert (impact.resource, impact.permission, impact.subject, impact.before, impact.after) == (None,) * 5
    with pytest.raises(licet.SchemaError) as caught:
        engine.write_schema(without)
    assert impact.message == caught.value.message


def test_a_limit_ends_the_findings(engine):
    more = SCHEMA.replace("permission edit = owner", "permission edit = owner + viewer")
    everything = list(engine.schema_impact(more))
    assert list(engine.schema_impact(more, limit=2)) == everything[:2]
    stream = engine.schema_impact(more)
    assert type(stream) is licet.ImpactStream
    assert stream.token == engine.check("document:plan", "view", "user:ada").token
    assert [next(stream), *stream] == everything
    assert next(stream, None) is None


def test_the_data_of_a_token_are_considered(engine):
    token = engine.check("document:plan", "view", "user:ada").token
    engine.delete_relationships(resource_type="document")
    less = SCHEMA.replace("permission view = (viewer + edit) - banned", "permission view = viewer - banned")
    assert list(engine.schema_impact(less)) == []
    stream = engine.schema_impact(less, consistency=licet.at_exactly(token))
    assert [(impact.kind, impact.resource) for impact in stream] == [("lost", "document:plan")]
    assert stream.token == token


def test_conditions_count(empty):
    text = (
        "caveat late(hour int) { hour > 20 }\n"
        "definition user {}\n"
        "definition document {\n  relation viewer: user with late\n  relation owner: user\n"
        "  permission view = viewer\n}"
    )
    empty.write_schema(text)
    empty.touch("document:a#viewer@user:ada[late]", "document:a#owner@user:ada")
    more = text.replace("permission view = viewer", "permission view = viewer + owner")
    assert list(empty.schema_impact(more)) == [
        Impact("gained", None, None, "document:a", "view", "user:ada", CONDITIONAL, HAS)
    ]


def test_bad_requests_are_refused(engine):
    with pytest.raises(licet.SchemaError) as caught:
        engine.schema_impact("definition user {}\ndefinition doc {\n  relation owner: usr\n}")
    assert caught.value.line == 3
    with pytest.raises(licet.SchemaError):
        engine.schema_impact("\ud800")
    with pytest.raises(licet.InvalidArgument, match="limit must be between 1 and"):
        engine.schema_impact(SCHEMA, limit=0)
    with pytest.raises(TypeError, match=r"text must be a str, not licet\.Schema"):
        engine.schema_impact(engine.read_schema())


def test_an_impact_ends_with_its_engine(engine):
    more = SCHEMA.replace("permission edit = owner", "permission edit = owner + viewer")
    stream = engine.schema_impact(more)
    next(stream)
    engine.close()
    with pytest.raises(licet.Closed):
        list(stream)
    with pytest.raises(licet.Closed):
        engine.schema_impact(more)

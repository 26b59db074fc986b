"""read_relationships, read_schema, stats."""

from __future__ import annotations

import licet
import pytest
from conftest import RELATIONSHIPS, SCHEMA
from licet import Relationship


def texts(stream):
    return [str(relationship) for relationship in stream]


def test_reading_gives_relationships(engine):
    (owner,) = engine.read_relationships(relation="owner", resource_type="document")
    assert owner == Relationship("document", "plan", "owner", "user", "ada")
    assert type(owner) is Relationship
    assert set(texts(engine.read_relationships(resource_id_prefix="e"))) == set(RELATIONSHIPS[4:])


@pytest.mark.parametrize(
    "filter, expected",
    [
        ({"resource_type": "group"}, RELATIONSHIPS[4:]),
        ({"resource_id": "open"}, RELATIONSHIPS[3:4]),
        ({"resource_id_prefix": "pl"}, RELATIONSHIPS[:3]),
        ({"subject_type": "user", "subject_id": "cy"}, (RELATIONSHIPS[2], RELATIONSHIPS[5])),
        ({"subject_type": "user", "subject_id": "*"}, RELATIONSHIPS[3:4]),
        ({"subject_type": "group", "subject_relation": "member"}, RELATIONSHIPS[1:2]),
        ({"subject_type": "group", "subject_relation": ""}, ()),
        ({"resource_type": "document", "resource_id": "never"}, ()),
    ],
)
def test_every_field_that_is_given_must_match(engine, filter, expected):
    assert sorted(texts(engine.read_relationships(**filter))) == sorted(expected)


def test_pages_follow_one_another_at_one_revision(engine):
    seen = []
    cursor = None
    tokens = set()
    while True:
        page = engine.read_relationships(resource_type="document", limit=2, cursor=cursor)
        found = texts(page)
        seen += found
        tokens.add(page.token)
        cursor = page.cursor
        if len(found) < 2:
            break
        engine.touch("document:new#owner@user:ada")
    assert sorted(seen) == sorted(RELATIONSHIPS[:4])
    assert len(tokens) == 1


def test_there_is_no_cursor_before_the_first(engine):
    stream = engine.read_relationships(resource_type="document")
    assert stream.cursor is None
    next(stream)
    assert type(stream.cursor) is str


def test_a_cursor_of_another_read_is_refused(engine):
    page = engine.read_relationships(resource_type="document", limit=1)
    next(page)
    with pytest.raises(licet.InvalidToken) as caught:
        list(engine.read_relationships(resource_type="group", limit=1, cursor=page.cursor))
    assert caught.value.kind == "token"
    with pytest.raises(licet.InvalidToken):
        engine.read_relationships(resource_type="document", limit=1, cursor="nonsense")


def test_a_stream_that_ended_stays_ended(engine):
    stream = engine.read_relationships(resource_type="group")
    assert len(list(stream)) == 2
    engine.touch("group:eng#member@user:fay")
    assert list(stream) == []
    assert next(stream, None) is None


def test_a_stream_sees_its_own_revision_only(engine):
    stream = engine.read_relationships(resource_type="group")
    next(stream)
    engine.delete_relationships(resource_type="group")
    assert len(list(stream)) == 1


def test_reading_at_an_older_token(engine):
    token = engine.touch("group:eng#member@user:fay")
    engine.delete_relationships(resource_type="group")
    stream = engine.read_relationships(resource_type="group", consistency=licet.at_exactly(token))
    assert len(list(stream)) == 3
    assert stream.token == token


def test_filters_are_checked(engine):
    with pytest.raises(licet.InvalidArgument) as caught:
        engine.read_relationships()
    assert caught.value.reason == "INVALID_FILTER"
    with pytest.raises(licet.InvalidArgument):
        engine.read_relationships(resource_type="document", resource_id="plan", resource_id_prefix="p")
    with pytest.raises(licet.NotFound):
        engine.read_relationships(resource_type="nosuch")
    with pytest.raises(licet.NotFound):
        engine.read_relationships(resource_type="document", relation="nosuch")


def test_filters_are_given_by_name(engine):
    with pytest.raises(TypeError, match=r"read_relationships\(\) takes at most 0 positional arguments \(1 given\)"):
        engine.read_relationships("document")
    with pytest.raises(TypeError, match="unexpected keyword argument 'kind'"):
        engine.read_relationships(kind="document")


def test_the_schema_is_read_as_it_was_written(engine, empty):
    schema = engine.read_schema()
    assert str(schema) == schema.text == SCHEMA
    assert schema.definitions == ("user", "group", "document")


def test_there_is_no_schema_before_one_is_written(empty):
    with pytest.raises(licet.NotFound) as caught:
        empty.read_schema()
    assert caught.value.code == "not_found"


def test_a_schema_that_stored_relationships_contradict_is_refused(engine):
    with pytest.raises(licet.SchemaError) as caught:
        engine.write_schema("definition user {}")
    assert (caught.value.line, caught.value.column) == (None, None)
    assert engine.allowed("document:plan", "view", "user:ada")


def test_stats_count(engine):
    stats = engine.stats()
    assert stats.relationships == len(RELATIONSHIPS)
    assert stats._fields == (
        "relationships",
        "objects",
        "memory_bytes",
        "memory_limit_bytes",
        "graph_bytes",
        "id_bytes",
        "delta_changes",
        "merges",
        "revision",
        "oldest_revision",
        "mode",
        "is_ready",
        "is_connected",
        "is_encrypted",
        "is_verified",
        "staleness_ms",
        "round_trips",
        "catch_ups",
        "shared_catch_ups",
        "loads",
        "reconnects",
        "prefetches",
    )
    assert stats.memory_limit_bytes == 256 << 20
    assert 0 < stats.memory_bytes < stats.memory_limit_bytes
    assert 0 <= stats.oldest_revision <= stats.revision
    assert all(type(value) is int for value in stats[:10])
    assert stats[10:] == (None, True, False, False, False, 0, 0, 0, 0, 0, 0, 0)


def test_the_engine_shows_how_much_it_holds(engine, empty):
    assert repr(engine) == "<licet.Engine with 6 relationships>"
    engine.close()
    assert repr(engine) == "<licet.Engine, closed>"

"""An engine that fetches what each request needs reads and judges what an engine in memory, or one that follows, does."""

from __future__ import annotations

from collections.abc import Iterator

import licet
import pytest
from conftest import RELATIONSHIPS, SCHEMA
from stores import PATIENCE


@pytest.fixture
def tables(postgres_uri: str, postgres_schema: str) -> dict[str, str]:
    """The options that lead to empty tables."""
    licet.migrate(postgres_uri, postgres_schema=postgres_schema)
    return {"uri": postgres_uri, "postgres_schema": postgres_schema}


@pytest.fixture
def engine(tables: dict[str, str]) -> Iterator[licet.Engine]:
    with licet.open(**tables, **PATIENCE, mode="prefetch") as engine:
        engine.write_schema(SCHEMA)
        engine.touch(*RELATIONSHIPS)
        yield engine


def texts(stream):
    return [str(relationship) for relationship in stream]


MORE = SCHEMA.replace("permission edit = owner", "permission edit = owner + viewer")
LESS = SCHEMA.replace("  relation banned: user\n", "").replace(" - banned", "")


def test_an_export_is_that_of_an_engine_that_follows(engine, tables):
    with licet.open(**tables, **PATIENCE, mode="follow") as follower:
        expected = sorted(texts(follower.export_relationships(consistency=licet.FULL)))
    assert expected == sorted(RELATIONSHIPS)
    assert sorted(texts(engine.export_relationships())) == expected
    assert texts(engine.export_relationships(resource_type="never")) == []


@pytest.mark.parametrize("schema", [MORE, LESS, SCHEMA])
def test_the_impact_of_a_schema_is_that_of_an_engine_that_follows(engine, tables, schema):
    with licet.open(**tables, **PATIENCE, mode="follow") as follower:
        expected = sorted(map(repr, follower.schema_impact(schema, consistency=licet.FULL)))
    assert sorted(map(repr, engine.schema_impact(schema))) == expected
    assert (expected == []) == (schema == SCHEMA)


def test_exports_go_on_where_they_were_left_whatever_changes(engine):
    expected = texts(engine.export_relationships())
    seen: list[str] = []
    cursor = None
    while len(seen) < len(expected):
        stream = engine.export_relationships(cursor=cursor)
        seen.append(str(next(stream)))
        cursor = stream.cursor
        engine.touch(f"document:0{len(seen)}#viewer@user:0")
        engine.delete(*RELATIONSHIPS[: len(seen)])
    assert seen == expected


def test_a_schema_is_refused_with_the_words_of_memory(engine):
    with licet.open() as memory:
        memory.write_schema(SCHEMA)
        memory.touch(*RELATIONSHIPS)
        with pytest.raises(licet.SchemaError) as expected:
            memory.write_schema(LESS)
    with pytest.raises(licet.SchemaError) as caught:
        engine.write_schema(LESS)
    assert str(caught.value) == str(expected.value)
    assert (caught.value.kind, caught.value.reason) == (expected.value.kind, expected.value.reason)
    assert str(engine.read_schema()) == SCHEMA
    engine.delete(RELATIONSHIPS[2])
    engine.write_schema(LESS)


def test_what_was_committed_beside_it_stands_against_a_schema(engine, tables):
    with licet.open(**tables, **PATIENCE, mode="prefetch") as other:
        engine.delete(RELATIONSHIPS[2])
        other.touch(RELATIONSHIPS[2])
        with pytest.raises(licet.SchemaError, match="document:plan#banned@user:cy"):
            engine.write_schema(LESS)


def test_watching_needs_an_engine_that_follows(engine):
    with pytest.raises(licet.Unsupported, match="an engine that follows the database"):
        engine.watch()

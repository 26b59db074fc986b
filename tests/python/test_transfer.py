"""import_relationships, export_relationships, and what a write says about itself."""

from __future__ import annotations

import licet
import pytest
from conftest import RELATIONSHIPS, SCHEMA
from licet import Imported, Relationship


def stored(engine):
    return sorted(str(relationship) for relationship in engine.export_relationships())


# ------------------------------------------------------------------------------ import


def test_an_import_is_one_transaction(empty):
    empty.write_schema(SCHEMA)
    imported = empty.import_relationships(RELATIONSHIPS)
    assert imported == Imported(6, imported.token)
    assert type(imported) is Imported
    assert stored(empty) == sorted(RELATIONSHIPS)
    assert empty.check("document:plan", "view", "user:ada").token == imported.token


def test_an_import_takes_what_writes_take(empty):
    empty.write_schema(SCHEMA)
    mixed = (Relationship.parse(text) if i % 2 else text for i, text in enumerate(RELATIONSHIPS))
    assert empty.import_relationships(mixed).count == 6
    assert empty.import_relationships([]).count == 0
    assert empty.import_relationships(iter(())).count == 0


@pytest.mark.parametrize(
    "batch_size, told", [(1, [1, 2, 3, 4, 5, 6]), (4, [4, 6]), (3, [3, 6]), (6, [6]), (1_000_000, [6])]
)
def test_progress_is_told_after_each_batch(empty, batch_size, told):
    empty.write_schema(SCHEMA)
    counts = []
    empty.import_relationships(RELATIONSHIPS, progress=counts.append, batch_size=batch_size)
    assert counts == told


def test_nothing_is_visible_before_the_end(empty):
    empty.write_schema(SCHEMA)
    seen = []

    def look(_count):
        seen.append((empty.stats().relationships, empty.allowed("document:plan", "view", "user:ada")))

    empty.import_relationships(RELATIONSHIPS, progress=look, batch_size=2)
    assert seen == [(0, False)] * 3
    assert empty.allowed("document:plan", "view", "user:ada")


def test_nothing_is_kept_when_the_iterable_raises(engine):
    def broken():
        yield "document:new#owner@user:ada"
        yield "document:new#owner@user:bo"
        raise KeyError("broken")

    for batch_size in (1, 2, 100):
        with pytest.raises(KeyError, match="broken"):
            engine.import_relationships(broken(), batch_size=batch_size)
        assert stored(engine) == sorted(RELATIONSHIPS)


def test_nothing_is_kept_when_progress_raises(engine):
    def stop(count):
        raise KeyboardInterrupt if count == 2 else AssertionError(count)

    with pytest.raises(KeyboardInterrupt):
        engine.import_relationships([f"document:new#owner@user:u{i}" for i in range(4)], progress=stop, batch_size=2)
    assert stored(engine) == sorted(RELATIONSHIPS)


@pytest.mark.parametrize(
    "bad, error",
    [
        ("nonsense", licet.InvalidArgument),
        (5, TypeError),
        (RELATIONSHIPS[0], licet.AlreadyExists),
        ("document:new#owner@user:ada", licet.AlreadyExists),
        ("nosuch:new#owner@user:ada", licet.NotFound),
        ("document:new#view@user:ada", licet.InvalidArgument),
        (Relationship("document", "new", "owner", "user", "\ud800"), licet.InvalidArgument),
    ],
)
def test_nothing_is_kept_when_one_is_refused(engine, bad, error):
    for batch_size in (1, 2, 100):
        with pytest.raises(error):
            engine.import_relationships(
                ["document:new#owner@user:ada", "document:new#owner@user:bo", bad], batch_size=batch_size
            )
        assert stored(engine) == sorted(RELATIONSHIPS)


def members(count):
    return (f"document:d{i % 400}#owner@user:u{i // 400}" for i in range(count))


def test_the_first_import_takes_no_more_memory_than_what_it_leaves():
    with licet.open(memory_limit_bytes=4 << 20) as engine:
        before = engine.write_schema(SCHEMA)
        imported = engine.import_relationships(members(20_000))
        stats = engine.stats()
        assert (stats.relationships, stats.delta_changes) == (20_000, 0)
        assert stats.graph_bytes < 64 * 20_000
        assert engine.allowed("document:d399", "view", "user:u49")
        exactly = licet.at_exactly(before)
        assert not engine.allowed("document:d399", "view", "user:u49", consistency=exactly)
        assert list(engine.export_relationships(consistency=exactly)) == []
        engine.delete("document:d0#owner@user:u0")
        assert engine.allowed("document:d0", "view", "user:u0", consistency=licet.at_exactly(imported.token))


def test_a_watch_from_before_the_first_import_is_told_all_of_it(empty):
    before = empty.write_schema(SCHEMA)
    imported = empty.import_relationships(members(5_000)).token
    deleted = empty.delete("document:d7#owner@user:u3")
    changes = list(empty.watch(before, timeout=0))
    assert {(change.operation, change.written_at) for change in changes[:-1]} == {("touch", imported)}
    assert sorted(str(change.relationship) for change in changes[:-1]) == sorted(members(5_000))
    last = changes[-1]
    assert (last.operation, str(last.relationship), last.token) == ("delete", "document:d7#owner@user:u3", deleted)


@pytest.mark.parametrize("how", ["raises", "bad", "twice", "stopped", "memory"])
def test_a_first_import_that_fails_leaves_an_empty_store(how):
    def lines():
        yield from members(600_000 if how == "memory" else 3_000)
        if how == "raises":
            raise OSError("the file ends here")
        yield "document:new#nosuch@user:ada" if how == "bad" else "document:d0#owner@user:u0"

    def stop(count):
        if how == "stopped" and count >= 2_000:
            raise KeyboardInterrupt

    expected = {"raises": OSError, "bad": licet.NotFound, "twice": licet.AlreadyExists, "stopped": KeyboardInterrupt}
    with licet.open(memory_limit_bytes=4 << 20) as engine:
        engine.write_schema(SCHEMA)
        before = engine.stats()
        with pytest.raises(expected.get(how, licet.OutOfMemory)):
            engine.import_relationships(lines(), progress=stop, batch_size=1_000)
        after = engine.stats()
        assert (after.relationships, after.revision) == (0, before.revision)
        assert not engine.allowed("document:d0", "view", "user:u0")
        assert engine.import_relationships(members(20_000)).count == 20_000
        assert engine.allowed("document:d399", "view", "user:u49")


def test_the_engine_may_be_used_while_it_imports(engine):
    def writing():
        for i in range(5):
            engine.touch(f"document:beside#viewer@user:u{i}")
            yield f"document:new#owner@user:u{i}"

    assert engine.import_relationships(writing(), batch_size=2).count == 5
    assert len(stored(engine)) == 16


def test_a_schema_that_is_replaced_meanwhile_ends_the_import(engine):
    def replacing():
        yield "document:new#owner@user:ada"
        engine.write_schema(SCHEMA + "\ndefinition more {}")
        yield "document:new#owner@user:bo"

    with pytest.raises(licet.PreconditionFailed):
        engine.import_relationships(replacing(), batch_size=1)
    assert stored(engine) == sorted(RELATIONSHIPS)


def test_an_engine_that_is_closed_meanwhile_ends_the_import(engine):
    def closing():
        yield "document:new#owner@user:ada"
        engine.close()
        yield "document:new#owner@user:bo"

    with pytest.raises(licet.Closed):
        engine.import_relationships(closing(), batch_size=1)


def test_arguments_of_an_import_are_checked(engine):
    with pytest.raises(TypeError, match="relationships must be an iterable of them, not a str"):
        engine.import_relationships("document:new#owner@user:ada")
    with pytest.raises(TypeError, match="progress must be callable, not int"):
        engine.import_relationships([], progress=5)
    with pytest.raises(TypeError, match="not iterable"):
        engine.import_relationships(5)
    for size in (0, -1, 1_000_001):
        with pytest.raises(licet.InvalidArgument, match="batch_size must be between 1 and 1000000"):
            engine.import_relationships([], batch_size=size)


def users(count):
    return [f"document:new#owner@user:u{i}" for i in range(count)]


def broken_off(count):
    yield from users(count)
    raise KeyError("broken")


def test_an_import_with_a_name_goes_on_where_it_was(empty):
    empty.write_schema(SCHEMA)
    assert empty.import_status("users") == licet.ImportStatus(0, False, False)
    told = []
    with pytest.raises(KeyError, match="broken"):
        empty.import_relationships(broken_off(5), resume="users", batch_size=2, progress=told.append)
    assert told == [2, 4]
    assert empty.import_status("users") == licet.ImportStatus(4, True, False)
    assert stored(empty) == sorted(users(4))
    told.clear()
    imported = empty.import_relationships(users(9), resume="users", batch_size=3, progress=told.append)
    assert imported.count == 9
    assert empty.check("document:new", "edit", "user:u8", consistency=licet.at_exactly(imported.token)).allowed
    assert told == [4, 6, 9]
    assert stored(empty) == sorted(users(9))
    assert empty.import_status("users") == licet.ImportStatus(9, True, True)
    assert empty.import_relationships(users(9), resume="users").count == 9
    assert stored(empty) == sorted(users(9))


def test_what_is_taken_by_an_import_with_a_name_is_seen_when_it_is_committed(empty):
    empty.write_schema(SCHEMA)
    seen = []
    empty.import_relationships(
        users(25_000), resume="users", progress=lambda count: seen.append((count, empty.stats().relationships))
    )
    assert seen == [(10_000, 10_000), (20_000, 20_000), (25_000, 25_000)]


def test_another_import_of_the_same_name_is_refused_until_it_is_forgotten(empty):
    empty.write_schema(SCHEMA)
    with pytest.raises(KeyError):
        empty.import_relationships(broken_off(4), resume="users", batch_size=2)
    for others in (["document:new#owner@user:other", *users(9)], users(9)[1:], users(3), []):
        with pytest.raises(licet.PreconditionFailed, match=r'4 relationships of the import "users"') as refused:
            empty.import_relationships(others, resume="users", batch_size=2)
        assert refused.value.reason == "IMPORT_DIFFERS"
        assert stored(empty) == sorted(users(4))
    assert empty.forget_import("users") is True
    assert empty.forget_import("users") is False
    assert empty.import_relationships(["document:new#owner@user:other"], resume="users").count == 1


def test_of_two_imports_of_one_name_at_once_one_is_refused(empty):
    empty.write_schema(SCHEMA)

    def overtaken():
        yield from users(2)
        empty.import_relationships(users(3), resume="users")
        yield "document:late#owner@user:ada"

    with pytest.raises(licet.PreconditionFailed, match="another process has gone on with it") as refused:
        empty.import_relationships(overtaken(), resume="users", batch_size=1)
    assert refused.value.reason == "IMPORT_MOVED"
    assert stored(empty) == sorted(users(3))


def test_names_of_imports_are_checked(engine):
    for call in (
        lambda name: engine.import_relationships([], resume=name),
        engine.import_status,
        engine.forget_import,
    ):
        with pytest.raises(licet.InvalidArgument, match="name: expected 1 to 128 bytes of UTF-8"):
            call("")
        with pytest.raises(TypeError, match="must be a str, not int"):
            call(5)


# ------------------------------------------------------------------------------ export


def test_an_export_gives_everything_at_one_revision(engine):
    stream = engine.export_relationships()
    assert type(stream) is licet.RelationshipStream
    first = next(stream)
    engine.delete_relationships(resource_type="document")
    assert sorted(str(relationship) for relationship in [first, *stream]) == sorted(RELATIONSHIPS)
    assert len(stored(engine)) == 2


def test_an_export_may_be_filtered(engine):
    found = engine.export_relationships(resource_type="document", subject_type="user", subject_id="*")
    assert [str(relationship) for relationship in found] == ["document:open#viewer@user:*"]
    assert list(engine.export_relationships(resource_type="nosuch")) == []
    assert list(engine.export_relationships(relation="nosuch")) == []


def test_an_export_goes_on_after_a_cursor(engine):
    seen, cursor = [], None
    for _ in range(6):
        stream = engine.export_relationships(cursor=cursor)
        seen.append(str(next(stream)))
        cursor = stream.cursor
        engine.touch("document:new#owner@user:ada")
    assert sorted(seen) == sorted(RELATIONSHIPS)
    assert list(engine.export_relationships(cursor=cursor)) == []
    with pytest.raises(licet.InvalidToken):
        engine.export_relationships(resource_type="document", cursor=cursor)


def test_what_is_exported_can_be_imported(engine):
    with licet.open() as other:
        other.write_schema(str(engine.read_schema()))
        assert other.import_relationships(engine.export_relationships()).count == 6
        assert stored(other) == stored(engine)


# ---------------------------------------------------------------------------- metadata


def test_metadata_must_be_an_object(engine):
    update = licet.touch("document:new#owner@user:ada")
    assert type(engine.write([update], metadata={"by": "ada", "why": [1, None]})) is str
    assert type(engine.write([update], metadata='{"by": "ada"}')) is str
    assert engine.delete_relationships(resource_id="new", metadata={"by": "ada"}).deleted_count == 1
    with pytest.raises(TypeError, match="metadata must be a dict, or a JSON object as a str, not list"):
        engine.write([update], metadata=[])
    with pytest.raises(TypeError, match=r"metadata\.why\[0\]: a context can not hold object"):
        engine.write([update], metadata={"why": [object()]})
    assert not engine.allowed("document:new", "edit", "user:ada")

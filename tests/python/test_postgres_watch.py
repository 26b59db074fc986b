"""watch on Postgres: what one process goes on with that another one had begun, and what happens in between."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import licet
import psycopg
import pytest
from conftest import RELATIONSHIPS, SCHEMA
from licet import Filter, Relationship
from stores import PATIENCE

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
from postgres import PostgresError, PrivatePostgres  # noqa: E402

Tables = dict[str, str]
ADA, BO, CY = (f"document:new#owner@user:{name}" for name in ("ada", "bo", "cy"))
EXPIRING = (
    "use expiration\n"
    "caveat late(hour int) { hour > 20 }\n"
    "definition user {}\n"
    "definition document {\n"
    "  relation owner: user\n"
    "  relation viewer: user with expiration | user with late | user with late and expiration\n"
    "}"
)


@pytest.fixture
def tables(postgres_uri: str, postgres_schema: str) -> Tables:
    """The options that lead to empty tables."""
    licet.migrate(postgres_uri, postgres_schema=postgres_schema)
    return {"uri": postgres_uri, "postgres_schema": postgres_schema}


@pytest.fixture
def process(tables: Tables) -> Iterator[Callable[..., licet.Engine]]:
    """Begins engines that know nothing of each other, as in several processes."""
    engines: list[licet.Engine] = []

    def begin(**options: object) -> licet.Engine:
        engines.append(licet.open(**tables, mode="follow", **{**PATIENCE, **options}))
        return engines[-1]

    yield begin
    for engine in engines:
        engine.close()


@pytest.fixture
def first(process: Callable[..., licet.Engine]) -> licet.Engine:
    engine = process()
    engine.write_schema(SCHEMA)
    engine.touch(*RELATIONSHIPS)
    return engine


@pytest.fixture
def at_rest(process: Callable[..., licet.Engine]) -> licet.Engine:
    """One that sees what others commit only when it is asked to: what comes together is told together."""
    engine = process(poll_interval_ms=60_000)
    engine.write_schema(SCHEMA)
    engine.touch(*RELATIONSHIPS)
    return engine


@pytest.fixture
def sql(tables: Tables) -> Iterator[Callable[..., object]]:
    """Runs a statement, with {} for our schema, and returns the first field of its first row."""
    with psycopg.connect(tables["uri"], autocommit=True) as connection:

        def run(text: str, *values: object) -> object:
            cursor = connection.execute(text.replace("{}", tables["postgres_schema"]), values)
            return cursor.fetchone()[0] if cursor.description else None

        yield run


def write(sql, operation, *relationships, **more):
    updates = [{"operation": operation, "relationship": text} for text in relationships]
    return sql("SELECT {}.write(%s)", json.dumps({"updates": updates, **more}))


def told(stream):
    return [(change.operation, None if change.relationship is None else str(change.relationship)) for change in stream]


def tell(change):
    return (change.operation, str(change.relationship))


def catch_up(engine):
    """The engine has seen everything that was committed; its token."""
    return engine.check("document:plan", "owner", "user:ada", consistency=licet.FULL).token


# --------------------------------------------------------------- another process


def test_a_watch_goes_on_in_another_process(process, first):
    start = first.touch(ADA)
    first.touch(BO)
    first.delete("document:open#viewer@user:*")
    last = first.touch(CY)
    second = process()
    changes = second.watch(start, timeout=0)
    assert changes.token == start
    tellings = list(changes)
    assert told(tellings) == [
        ("touch", BO),
        ("touch", CY),
        ("delete", "document:open#viewer@user:*"),
    ]
    assert [change.token for change in tellings[:2]] == [start, start]
    assert tellings[2].token == tellings[0].written_at == changes.token
    assert told(first.watch(tellings[2].token, timeout=0)) == []
    assert told(second.watch(tellings[2].token, timeout=0)) == []
    assert told(process().watch(tellings[1].token, timeout=0)) == told(tellings)
    assert told(process().watch(last, timeout=0)) == []


def test_it_goes_on_with_what_comes_later(process, first):
    start = first.touch(ADA)
    first.touch(BO)
    changes = process().watch(start, timeout=60)
    first.touch(CY)
    assert tell(next(changes)) == ("touch", BO)
    assert tell(next(changes)) == ("touch", CY)
    first.delete(BO)
    assert tell(next(changes)) == ("delete", BO)
    assert told(process().watch(changes.token, timeout=0)) == []


def test_each_relationship_is_told_once(process, first, sql):
    start = first.touch(ADA, BO)
    for _ in range(3):
        first.delete(ADA, BO)
        write(sql, "touch", ADA, CY)
        write(sql, "delete", CY)
    assert told(process().watch(start, timeout=0)) == [("touch", ADA), ("delete", BO)]


def test_what_is_as_it_was_is_not_told(process, first):
    start = first.touch(ADA)
    first.touch(BO)
    first.delete(BO)
    first.touch(ADA)
    assert told(process().watch(start, timeout=0)) == []


def test_a_deletion_tells_what_was_stored_and_a_touch_what_is(process):
    engine = process()
    engine.write_schema(EXPIRING)
    one = 'document:a#viewer@user:ada[late:{"hour":1}][expiration:2100-01-02T03:04:05.000000001Z]'
    two = 'document:a#viewer@user:bo[late:{"hour":2}]'
    start = engine.touch(one, two)
    engine.touch('document:a#viewer@user:bo[late:{"hour":3}]')
    engine.delete("document:a#viewer@user:ada")
    assert [(change.operation, change.relationship) for change in process().watch(start, timeout=0)] == [
        ("delete", Relationship.parse(one)),
        ("touch", Relationship.parse('document:a#viewer@user:bo[late:{"hour":3}]')),
    ]


def test_a_deletion_is_told_though_the_schema_has_lost_its_names(process):
    engine = process()
    engine.write_schema(EXPIRING)
    text = 'document:a#viewer@user:ada[late:{"hour":1}]'
    start = engine.touch(text, "document:a#owner@user:ada")
    engine.delete("document:a#viewer@user:ada")
    engine.write_schema("definition user {}\ndefinition document {\n  relation owner: user\n}")
    (change,) = process().watch(start, timeout=0)
    assert (change.operation, change.relationship) == ("delete", Relationship.parse(text))


def test_a_transaction_of_the_application_is_told_when_it_is_committed(process, first, tables):
    start = catch_up(first)
    with psycopg.connect(tables["uri"]) as connection:
        request = {"updates": [{"operation": "touch", "relationship": ADA}]}
        connection.execute(f"SELECT {tables['postgres_schema']}.write(%s)", [json.dumps(request)])
        first.touch(BO)
        open_token = process().watch(start, timeout=0)
        assert told(open_token) == [("touch", BO)]
        connection.commit()
    assert told(process().watch(open_token.token, timeout=0)) == [("touch", ADA)]
    assert told(process().watch(start, timeout=0)) == [("touch", ADA), ("touch", BO)]


def test_filters_choose_of_what_lies_between(process, first):
    start = first.touch(RELATIONSHIPS[0])
    first.touch(ADA, "group:eng#member@user:zed", "document:new#viewer@user:zed")
    first.delete("group:eng#member@user:bo")
    second = process()

    def chosen(**options):
        return told(second.watch(start, timeout=0, **options))

    assert chosen(resource_types=["group"]) == [
        ("delete", "group:eng#member@user:bo"),
        ("touch", "group:eng#member@user:zed"),
    ]
    assert chosen(resource_types=["nosuch"]) == []
    assert chosen(filters=[Filter(resource_type="document", relation="viewer")]) == [
        ("touch", "document:new#viewer@user:zed")
    ]
    assert chosen(filters=[Filter(resource_type="group"), Filter(subject_type="user", subject_id="ada")]) == [
        ("touch", ADA),
        ("delete", "group:eng#member@user:bo"),
        ("touch", "group:eng#member@user:zed"),
    ]
    with pytest.raises(licet.NotFound):
        second.watch(start, filters=[Filter(resource_type="nosuch")])


def test_a_schema_that_changed_between_is_told(process, first):
    start = first.touch(ADA)
    assert told(process().watch(start, schema=True, timeout=0)) == []
    first.write_schema(SCHEMA + "definition more {}\n")
    first.write_schema(SCHEMA + "definition most {}\n")
    first.touch(BO)
    assert told(process().watch(start, timeout=0)) == [("touch", BO)]
    assert sorted(told(process().watch(start, schema=True, timeout=0)), key=str) == [("schema", None), ("touch", BO)]
    assert told(process().watch(start, relationships=False, schema=True, resource_types=["group"], timeout=0)) == [
        ("schema", None)
    ]


def test_a_checkpoint_ends_what_lies_between(process, first):
    start = first.touch(ADA)
    first.touch(BO)
    tellings = list(process().watch(start, checkpoints=True, timeout=0))
    assert told(tellings) == [("touch", BO), ("checkpoint", None)]
    assert tellings[0].token == start
    assert told(process().watch(tellings[1].token, timeout=0)) == []


# ---------------------------------------------------------------------- metadata


def test_metadata_of_one_transaction_comes_as_it_is(process, at_rest, sql):
    start = at_rest.touch(ADA)
    write(sql, "touch", BO, metadata={"by": "ada", "n": [1, 2.5, None, "ü"]})
    write(sql, "touch", CY)
    watched = at_rest.watch(start, timeout=0)
    catch_up(at_rest)
    for changes in (watched, process().watch(start, timeout=0)):
        assert [change.metadata for change in changes] == [{"by": "ada", "n": [1, 2.5, None, "ü"]}] * 2


def test_metadata_of_several_transactions_is_a_list_in_their_order(process, at_rest, sql):
    watched = at_rest.watch(timeout=0)
    start = watched.token
    write(sql, "touch", BO, metadata={"by": "bo"})
    write(sql, "touch", CY)
    write(sql, "delete", BO, metadata={"by": "cy"})
    write(sql, "touch", ADA, metadata={"by": "ada"})
    write(sql, "touch", ADA, metadata={"by": "nobody"})  # changes nothing
    catch_up(at_rest)
    expected = {"transactions": [{"by": "bo"}, {"by": "cy"}, {"by": "ada"}]}
    assert [change.metadata for change in watched] == [expected, expected]
    changes = list(process().watch(start, timeout=0))
    assert told(changes) == [("touch", ADA), ("touch", CY)]
    assert [change.metadata for change in changes] == [expected, expected]


def test_metadata_beyond_what_a_change_may_carry_is_left_out_and_that_is_said(process, first, sql):
    start = first.touch(ADA)
    for i in range(70):
        write(sql, "touch", f"document:d{i}#owner@user:ada", metadata={"i": i, "text": "x" * 64_000})
    second = process()
    changes = list(second.watch(start, timeout=0))
    assert len(changes) == 70
    metadata = changes[0].metadata
    assert metadata["is_complete"] is False
    assert [each["i"] for each in metadata["transactions"]] == list(range(65))


# ---------------------------------------------------------------- what has expired


def test_garbage_collection_is_told_to_nobody(process, sql):
    engine = process()
    engine.write_schema(EXPIRING)
    soon = "document:a#viewer@user:{}[expiration:%s]" % time.strftime(
        "%Y-%m-%dT%H:%M:%SZ", time.gmtime(float(sql("SELECT extract(epoch FROM now())")) + 5)
    )
    start = catch_up(engine)
    watched = engine.watch(start, timeout=0)
    engine.touch(soon.format("ada"), soon.format("bo"), ADA)
    catch_up(engine)
    touched = list(engine.watch(start, timeout=0))
    assert len(touched) == 3
    time.sleep(6.2)
    assert sql("SELECT expired FROM {}._collect('0', 1000)") == 2
    engine.delete(ADA)
    catch_up(engine)
    assert told(watched) == [*map(tell, touched), ("delete", ADA)]
    assert engine.stats().relationships == 0
    assert told(process().watch(touched[-1].token, timeout=0)) == [("delete", ADA)]
    assert told(process().watch(start, timeout=0)) == []
    again = "document:a#viewer@user:ada[expiration:2100-01-02T03:04:05Z]"
    engine.touch(again)
    catch_up(engine)
    for other in (engine, process()):
        assert told(other.watch(watched.token, timeout=0)) == [("touch", again)]


def test_a_deletion_of_what_had_expired_is_told(process, sql):
    engine = process()
    engine.write_schema(EXPIRING)
    past = "document:a#viewer@user:ada[expiration:2001-01-02T03:04:05Z]"
    start = engine.touch(past)
    watched = engine.watch(start, timeout=0)
    engine.delete("document:a#viewer@user:ada")
    catch_up(engine)
    assert told(watched) == [("delete", past)]
    assert told(process().watch(start, timeout=0)) == [("delete", past)]


def test_a_token_from_before_what_was_collected_is_refused(process, first, sql):
    start = first.touch(ADA)
    first.delete(ADA)
    first.touch(BO)
    time.sleep(0.01)
    first.touch(CY)
    while not sql("SELECT is_done FROM {}._collect('0', 1000)"):
        pass
    with pytest.raises(licet.RevisionExpired) as caught:
        process().watch(start)
    assert str(caught.value) == "changes after the revision have left the retained history"
    assert told(process().watch(catch_up(first), timeout=0)) == []


# --------------------------------------------------------------------- bad tokens


def test_tokens_of_nowhere_are_refused(process, first, tables, sql):
    own = first.touch(ADA)
    second = process()
    for token in ("nonsense", "", own[:-4] + "AAAA"):
        with pytest.raises(licet.InvalidToken):
            second.watch(token)
    with licet.open() as other:
        other.write_schema(SCHEMA)
        with pytest.raises(licet.InvalidToken):
            second.watch(other.touch(ADA))
    future = sql("SELECT {}._token('1000000000:1000000000:'::pg_snapshot, NULL)")
    with pytest.raises(licet.InvalidToken) as caught:
        second.watch(future)
    assert "has not reached" in str(caught.value)


def test_too_large_a_difference_is_refused(process, first, sql):
    start = first.touch(ADA)
    wanted = (f"document:d{i}#owner@user:ada" for i in range(100_001))
    first.import_relationships(wanted)
    with pytest.raises(licet.LimitExceeded) as caught:
        process().watch(start)
    assert caught.value.reason == "WATCH_TOO_FAR_BEHIND"
    first.delete("document:d7#owner@user:ada")
    assert len(told(process().watch(start, timeout=0))) == 100_000


# -------------------------------------------------------- another server, another past


def test_a_watch_ends_when_the_store_is_another_one(process, first, sql):
    watched = first.watch(timeout=60)
    start = watched.token
    first.touch(ADA)
    assert tell(next(watched)) == ("touch", ADA)
    sql("SELECT {}._repair()")
    first.touch(BO)
    with pytest.raises(licet.RevisionExpired) as caught:
        next(watched)
    assert str(caught.value).startswith("the database is another one than the watch began with")
    with pytest.raises(licet.InvalidToken):
        first.watch(start)
    assert told(first.watch(timeout=0)) == []


@pytest.fixture
def private() -> Iterator[PrivatePostgres]:
    try:
        with PrivatePostgres() as server:
            yield server
    except PostgresError as error:
        pytest.skip(str(error))


def until_it_answers(engine):
    for _ in range(2000):
        try:
            return catch_up(engine)
        except (licet.Unavailable, licet.DeadlineExceeded):
            time.sleep(0.05)
    raise AssertionError("the engine has not come back")


def test_a_restart_of_the_server_is_one_change(private):
    licet.migrate(private.uri)
    with licet.open(private.uri, mode="follow", **PATIENCE) as one:
        one.write_schema(SCHEMA)
        one.touch(*RELATIONSHIPS)
        watched = one.watch(timeout=60)
        start = one.touch(ADA)
        assert tell(next(watched)) == ("touch", ADA)
        private.restart()
        with psycopg.connect(private.conninfo, autocommit=True) as connection:
            for update in ({"operation": "touch", "relationship": BO}, {"operation": "delete", "relationship": ADA}):
                connection.execute("SELECT licet.write(%s)", [json.dumps({"updates": [update]})])
        until_it_answers(one)
        one.touch(CY)
        tellings = [next(watched) for _ in range(3)]
        assert told(tellings[:2]) in ([("touch", BO), ("delete", ADA)], [("delete", ADA), ("touch", BO)])
        assert told(tellings[2:]) == [("touch", CY)]
        catch_up(one)
        assert told(one.watch(watched.token, timeout=0)) == []
        assert one.stats().loads == 2
        assert told(one.watch(tellings[1].token, timeout=0)) == [("touch", CY)]
        for token in (start, watched.token):
            with licet.open(private.uri, mode="follow", **PATIENCE) as other:
                between = sorted(told(other.watch(token, timeout=0)))
            assert between == ([] if token == watched.token else [("delete", ADA), ("touch", BO), ("touch", CY)])


def test_a_reader_that_is_behind_loses_nothing_by_a_restart(private):
    licet.migrate(private.uri)
    with licet.open(private.uri, mode="follow", **PATIENCE) as one:
        one.write_schema(SCHEMA)
        watched = one.watch(timeout=0)
        start = watched.token
        one.touch(ADA)
        one.touch(BO)
        private.restart()
        until_it_answers(one)
        one.touch(CY)
        catch_up(one)
        tellings = list(watched)
        assert told(tellings) == [("touch", ADA), ("touch", BO), ("touch", CY)]
        assert [change.token for change in tellings[:2]] == [start, start]
        assert told(one.watch(tellings[2].token, timeout=0)) == []


def test_a_watch_ends_when_the_database_was_restored(private):
    licet.migrate(private.uri)
    with licet.open(private.uri, mode="follow", **PATIENCE) as one:
        one.write_schema(SCHEMA)
        one.touch(ADA)
        backup = private.backup()
        watched = one.watch(timeout=60)
        lost = one.touch(BO)
        assert tell(next(watched)) == ("touch", BO)
        private.restore(backup)
        until_it_answers(one)
        with pytest.raises(licet.RevisionExpired) as caught:
            next(watched)
        assert str(caught.value).startswith("the database is another one than the watch began with")
        with pytest.raises(licet.InvalidToken):
            one.watch(lost)


# --------------------------------------------------------------------- many writers


def test_nothing_is_lost_and_nothing_told_twice_under_four_writers(process, first, tables, sql):
    """What is told, added up, is what is stored; over watches that are begun again and again, in two processes."""
    ending = threading.Event()
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            with psycopg.connect(tables["uri"]) as connection:
                statement = f"SELECT {tables['postgres_schema']}.write(%s)"
                for i in range(150):
                    updates = [
                        {
                            "operation": "touch" if (i + number + k) % 3 else "delete",
                            "relationship": f"document:d{(7 * i + k * number) % 23}#owner@user:u{(i + k) % 3}",
                        }
                        for k in range(2)
                    ]
                    if updates[0]["relationship"] == updates[1]["relationship"]:
                        updates.pop()
                    connection.execute(statement, [json.dumps({"updates": updates})])
                    if i % 10 == number:
                        connection.rollback()
                    else:
                        connection.commit()
        except BaseException as error:
            failures.append(error)

    start = catch_up(first)
    known: dict[str, set[str]] = {"followed": set(), "resumed": set()}
    twice: list[object] = []

    def take(name: str, changes: Iterator[licet.Change]) -> None:
        for change in changes:
            if change.relationship == Relationship.parse(ADA):
                return
            text = str(change.relationship)
            if change.operation == "touch":
                # A difference also tells what was deleted and made again.
                if name == "followed" and text in known[name]:
                    twice.append(change)
                known[name].add(text)
            elif text in known[name]:
                known[name].remove(text)
            else:
                twice.append(change)

    def resume() -> None:
        """A new process each time, from where the last one has stopped."""
        try:
            token = start
            while True:
                is_last = ending.is_set()
                with licet.open(**tables, mode="follow") as engine:
                    changes = engine.watch(token, timeout=0)
                    take("resumed", changes)
                    token = changes.token
                if is_last:
                    return
        except BaseException as error:
            failures.append(error)

    def follow() -> None:
        try:
            take("followed", first.watch(start))
        except BaseException as error:
            failures.append(error)

    writers = [threading.Thread(target=work, args=[number]) for number in range(4)]
    readers = [threading.Thread(target=resume), threading.Thread(target=follow)]
    for thread in [*writers, *readers]:
        thread.start()
    for thread in writers:
        thread.join()
    ending.set()
    catch_up(first)  # so that what ends the reading is a revision of its own
    first.touch(ADA)
    for thread in readers:
        thread.join()
    assert failures == []
    assert twice == []
    numbered = {"resource_type": "document", "resource_id_prefix": "d"}
    stored = {str(row) for row in first.read_relationships(**numbered, consistency=licet.FULL)}
    assert stored == set(sql("SELECT array_agg(r) FROM {}.read(%s) r", json.dumps({"filter": numbered})))
    assert known == {"followed": stored, "resumed": stored}

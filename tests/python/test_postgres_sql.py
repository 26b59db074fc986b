"""The tables and functions in Postgres, by themselves: what applications and engines call, and who meets whom.

Races are not left to chance: a session that has to wait for another is seen waiting in pg_locks before that one goes on.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest

psycopg = pytest.importorskip("psycopg")

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(1, str(ROOT / "tools"))

import embed_sql  # noqa: E402

CONNINFO = os.environ.get("LICET_TEST_POSTGRES", "")

MAX = 2**63 - 1
ALIVE = "deleted_xid = '9223372036854775807'"

DEFINITIONS = {
    "text": "the text is the engine's",
    "definitions": [
        {"name": "user"},
        {
            "name": "group",
            "relations": [
                {"name": "member", "allowed": [{"type": "user"}, {"type": "group", "relation": "member"}]},
            ],
        },
        {
            "name": "document",
            "relations": [
                {
                    "name": "viewer",
                    "allowed": [
                        {"type": "user"},
                        {"type": "user", "wildcard": True},
                        {"type": "group", "relation": "member"},
                        {"type": "user", "caveat": "limits"},
                        {"type": "user", "expiration": True},
                        {"type": "user", "caveat": "limits", "expiration": True},
                    ],
                },
                {"name": "owner", "allowed": [{"type": "user"}]},
            ],
            "permissions": ["view"],
        },
    ],
    "caveats": [
        {
            "name": "limits",
            "parameters": [
                {"name": name, "type": type}
                for name, type in [
                    ("anything", "any"),
                    ("flag", "bool"),
                    ("word", "string"),
                    ("number", "int"),
                    ("count", "uint"),
                    ("ratio", "double"),
                    ("data", "bytes"),
                    ("span", "duration"),
                    ("moment", "timestamp"),
                    ("address", "ipaddress"),
                    ("numbers", "list<int>"),
                    ("words", "map<list<string>>"),
                ]
            ],
        }
    ],
}


class Session:
    """A connection, and a thread to wait in it."""

    def __init__(self, schema: str) -> None:
        self.schema = schema
        self.connection = psycopg.connect(CONNINFO, autocommit=True)
        self.pid = self.connection.info.backend_pid
        self.thread = ThreadPoolExecutor(1)

    def run(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """{s} stands for the schema."""
        cursor = self.connection.execute(sql.replace("{s}", self.schema), parameters or None)
        return cursor.fetchall() if cursor.description else []

    def one(self, sql: str, *parameters: Any) -> Any:
        ((value,),) = self.run(sql, *parameters)
        return value

    def start(self, sql: str, *parameters: Any) -> Future[list[tuple[Any, ...]]]:
        return self.thread.submit(self.run, sql, *parameters)

    def begin(self, isolation: str = "READ COMMITTED") -> None:
        self.run(f"BEGIN ISOLATION LEVEL {isolation}")
        if isolation != "READ COMMITTED":
            self.run("SELECT 1")  # takes the snapshot

    def write(self, *updates: Any, **request: Any) -> str:
        return self.one("SELECT {s}.write(%s)", writing(*updates, **request))

    def start_write(self, *updates: Any, **request: Any) -> Future[list[tuple[Any, ...]]]:
        return self.start("SELECT {s}.write(%s)", writing(*updates, **request))

    def delete(self, filter: dict[str, Any], **request: Any) -> dict[str, Any]:
        return self.one("SELECT {s}.delete(%s)", json.dumps({"filter": filter, **request}))

    def read(self, **filter: str) -> list[str]:
        return [row[0] for row in self.run("SELECT {s}.read(%s)", json.dumps({"filter": filter}))]

    def rows(self, what: str = "count(*)", where: str = ALIVE) -> Any:
        return self.one("SELECT " + what + " FROM {s}.rel WHERE " + where)

    def close(self) -> None:
        self.connection.close()
        self.thread.shutdown()


def writing(*updates: Any, **request: Any) -> str:
    """Updates are texts, "+" for create, "-" for delete, else touch; or objects."""

    def update(given: Any) -> Any:
        if not isinstance(given, str):
            return given
        operation = {"+": "create", "-": "delete"}.get(given[:1], "touch")
        return {"operation": operation, "relationship": given.lstrip("+-")}

    return json.dumps({"updates": [update(given) for given in updates], **request})


def documents(count: int, start: int = 0) -> list[str]:
    return [f"document:d{number}#viewer@user:tom" for number in range(start, start + count)]


class Store:
    """Our tables in a schema of its own, and sessions on them."""

    def __init__(self) -> None:
        if not CONNINFO:
            pytest.skip("LICET_TEST_POSTGRES names no database")
        self.schema = "t_" + uuid.uuid4().hex[:12]
        self.sessions: list[Session] = []
        self.admin = self.session()

    def session(self) -> Session:
        session = Session(self.schema)
        self.sessions.append(session)
        return session

    def migrate(self) -> None:
        for version in range(1, len(embed_sql.STEPS) + 1):
            self.admin.run(embed_sql.text_of(version).replace("{schema}", self.schema))

    def write_schema(self, definitions: dict[str, Any], expected: int) -> int:
        return self.admin.one("SELECT schema FROM {s}._write_schema(%s, %s, NULL)", json.dumps(definitions), expected)

    def waits(self, session: Session) -> bool:
        """Until it waits for a lock; false if it doesn't within a while."""
        for _ in range(6000):
            if self.admin.one("SELECT count(*) FROM pg_locks WHERE pid = %s AND NOT granted", session.pid):
                return True
            time.sleep(0.01)
        return False

    def close(self) -> None:
        for session in self.sessions[1:]:
            session.close()
        self.admin.run("DROP SCHEMA IF EXISTS {s} CASCADE")
        self.admin.close()


@contextmanager
def a_store() -> Iterator[Store]:
    store = Store()
    try:
        store.migrate()
        store.write_schema(DEFINITIONS, 0)
        yield store
    finally:
        store.close()


@pytest.fixture
def store():
    with a_store() as store:
        yield store


@pytest.fixture
def db(store):
    return store.session()


@pytest.fixture(scope="module")
def empty_db():
    """For tests that leave nothing behind."""
    with a_store() as store:
        yield store.session()


@pytest.fixture
def other(store):
    return store.session()


def refused(session: Session, sqlstate: str, detail: str | None = None):
    """A block that fails so."""
    return Refusal(session, sqlstate, detail)


class Refusal:
    def __init__(self, session: Session, sqlstate: str, detail: str | None) -> None:
        self.session, self.sqlstate, self.detail = session, sqlstate, detail

    def __enter__(self) -> Refusal:
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> bool:
        assert isinstance(error, psycopg.Error), "nothing was refused" if error is None else error
        self.message = error.diag.message_primary
        assert (error.sqlstate, self.message) == (self.sqlstate, self.message)
        if self.detail is not None:
            assert (error.diag.message_detail or "") == self.detail, self.message
        if self.session.connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
            self.session.run("ROLLBACK")
        return True


# ------------------------------------------------------------ writing


def test_the_three_operations_do_what_they_say(db):
    db.write("+document:plan#viewer@user:tom")
    first = db.rows("created_xid")
    db.write("document:plan#viewer@user:tom")
    assert db.rows("created_xid") == first  # an identical touch changes nothing
    db.write("document:plan#viewer@user:tom[limits]")
    assert db.rows("caveat") == "limits"
    assert db.rows("created_xid") != first
    assert db.one("SELECT deleted_xid::text::bigint FROM {s}.rel WHERE created_xid = %s", first) < MAX
    db.write("-document:plan#viewer@user:tom", "-document:plan#viewer@user:nobody")
    assert (db.rows(), db.rows(where="true")) == (0, 2)
    db.write("+document:plan#viewer@user:tom")
    assert (db.rows(), db.rows(where="true")) == (1, 3)


def test_everything_or_nothing(db):
    db.write("+document:plan#viewer@user:tom")
    with refused(db, "LZ001", "document:plan#viewer@user:tom"):
        db.write("-document:plan#owner@user:ann", "+document:new#viewer@user:tom", "+document:plan#viewer@user:tom")
    assert db.read(resource_type="document") == ["document:plan#viewer@user:tom"]


def test_the_first_existing_of_the_request_is_told(db):
    db.write("+document:aaa#viewer@user:tom", "+document:bbb#viewer@user:tom")
    with refused(db, "LZ001", "document:bbb#viewer@user:tom") as refusal:
        db.write("+document:ccc#viewer@user:tom", "+document:bbb#viewer@user:tom", "+document:aaa#viewer@user:tom")
    assert refusal.message == 'update 2: relationship "document:bbb#viewer@user:tom" exists already'


def test_a_write_of_nothing_succeeds_and_makes_a_transaction(db):
    token = db.write()
    assert re.fullmatch(r"[A-Za-z0-9_-]+", token)
    assert db.one("SELECT count(*) FROM {s}.tx") == 2  # the schema's, and this


def test_what_has_expired_exists_for_create_and_is_replaced_by_touch(db):
    old = "document:plan#viewer@user:tom[expiration:2001-02-03T04:05:06Z]"
    db.write("+" + old)
    assert db.read(resource_type="document") == []
    with refused(db, "LZ001"):
        db.write("+document:plan#viewer@user:tom")
    db.write("document:plan#viewer@user:tom")
    assert db.read(resource_type="document") == ["document:plan#viewer@user:tom"]


@pytest.mark.parametrize(
    "text",
    [
        "document:plan#viewer@user:tom",
        "document:plan#viewer@user:*",
        "document:plan#viewer@group:eng#member",
        "document:A-z_0/|=+#viewer@user:tom",
        "document:plan#viewer@user:tom[limits]",
        'document:plan#viewer@user:tom[limits:{"number": 1}]',
        'document:plan#viewer@user:tom[limits:{"word": "}]"}]',
        'document:plan#viewer@user:tom[limits:{"word": "a][expiration:2030-01-02T03:04:05Z]"}]',
        'document:plan#viewer@user:tom[limits:{"word": "}]"}][expiration:2030-01-02T03:04:05Z]',
        "document:plan#viewer@user:tom[limits][expiration:2030-01-02T03:04:05.5Z]",
        "document:plan#viewer@user:tom[expiration:2030-01-02T03:04:05.123456789Z]",
        "document:plan#viewer@user:tom[expiration:2030-01-02T03:04:05.000000001Z]",
        "document:plan#viewer@user:tom[expiration:9999-12-31T23:59:59.999999999Z]",
        f"document:{'x' * 1024}#viewer@user:{'y' * 1024}",
    ],
)
def test_relationships_come_back_as_they_were_written(db, text):
    db.write(text)
    assert db.read(resource_type="document") == [text]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("document:plan#viewer@user:tom#...", "document:plan#viewer@user:tom"),
        (
            "document:plan#viewer@user:tom[expiration:2030-01-02T03:04:05.9999999999Z]",
            "document:plan#viewer@user:tom[expiration:2030-01-02T03:04:05.999999999Z]",
        ),
        (
            "document:plan#viewer@user:tom[expiration:2030-01-02T03:04:05-03:30]",
            "document:plan#viewer@user:tom[expiration:2030-01-02T06:34:05Z]",
        ),
        ("document:plan#viewer@user:tom[limits:{ }]", "document:plan#viewer@user:tom[limits]"),
    ],
)
def test_what_is_written_in_other_ways_means_the_same(db, written, read):
    db.write(written)
    assert db.read(resource_type="document") == [read]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "document",
        "document:plan#viewer",
        "document:plan@user:tom",
        "document:plan#viewer@user",
        "document:plan#viewer@user:",
        "document:#viewer@user:tom",
        "document:*#viewer@user:tom",
        "document:plan#viewer@user:*#member",
        "document:plan#viewer@user:tom#",
        "document:plan#viewer@user:tom\n",
        "\ndocument:plan#viewer@user:tom",
        "document:plan#viewer\n@user:tom",
        "document:pl an#viewer@user:tom",
        "document:pl\u00e4n#viewer@user:tom",
        "Document:plan#viewer@user:tom",
        "do:plan#viewer@user:tom",
        "document:plan#vi@user:tom",
        "document_:plan#viewer@user:tom",
        "a/document:plan#viewer@user:tom",
        f"{'d' * 65}:plan#viewer@user:tom",
        f"document:plan#{'v' * 65}@user:tom",
        f"document:{'x' * 1025}#viewer@user:tom",
        f"document:plan#viewer@user:{'x' * 1025}",
        "document:plan#viewer@user:tom[]",
        "document:plan#viewer@user:tom[limits",
        "document:plan#viewer@user:tom[limits]x",
        "document:plan#viewer@user:tom[li]",
        "document:plan#viewer@user:tom[limits:{}]",
        "document:plan#viewer@user:tom[limits:[1]]",
        "document:plan#viewer@user:tom[limits:{no}]",
        'document:plan#viewer@user:tom[limits:{"number":\n1}]',
        'document:plan#viewer@user:tom[limits:{"word":"\\u0000"}]',
        'document:plan#viewer@user:tom[limits:{"number": 1e400}]',
        "document:plan#viewer@user:tom[expiration:2030-01-02T03:04:05Z][limits]",
        "document:plan#viewer@user:tom[expiration:2030-01-02]",
        "document:plan#viewer@user:tom[expiration:2030-02-29T03:04:05Z]",
        "document:plan#viewer@user:tom[expiration:2030-13-01T03:04:05Z]",
        "document:plan#viewer@user:tom[expiration:2030-01-02T24:00:00Z]",
        "document:plan#viewer@user:tom[expiration:2030-01-02T03:04:60Z]",
        "document:plan#viewer@user:tom[expiration:2030-01-02T03:04:05]",
        "document:plan#viewer@user:tom[expiration:0000-01-02T03:04:05Z]",
        "document:plan#viewer@user:tom[expiration:9999-12-31T23:59:59-00:01]",
        "document:plan#viewer@user:tom[expiration:2030-01-02T03:04:05Z]\n",
    ],
)
def test_what_is_no_relationship_is_refused(empty_db, text):
    with refused(empty_db, "LZ004", ""):
        empty_db.write({"operation": "touch", "relationship": text})
    assert empty_db.rows(where="true") == 0


RECORD = {
    "resource_type": "document",
    "resource_id": "plan",
    "relation": "viewer",
    "subject_type": "user",
    "subject_id": "tom",
}


@pytest.mark.parametrize(
    ("more", "read"),
    [
        ({}, "document:plan#viewer@user:tom"),
        ({"subject_relation": None, "caveat_name": None, "caveat_context": None, "expiration": None}, None),
        ({"subject_relation": "..."}, "document:plan#viewer@user:tom"),
        (
            {"subject_type": "group", "subject_id": "eng", "subject_relation": "member"},
            "document:plan#viewer@group:eng#member",
        ),
        ({"caveat_name": "limits", "caveat_context": {}}, "document:plan#viewer@user:tom[limits]"),
        (
            {"caveat_name": "limits", "caveat_context": {"number": 1}},
            'document:plan#viewer@user:tom[limits:{"number": 1}]',
        ),
        (
            {"caveat_name": "limits", "caveat_context": '{"number":1}'},
            'document:plan#viewer@user:tom[limits:{"number": 1}]',
        ),
        ({"expiration": "2030-01-02T03:04:05+01:00"}, "document:plan#viewer@user:tom[expiration:2030-01-02T02:04:05Z]"),
    ],
)
def test_relationships_may_be_objects(db, more, read):
    db.write({"operation": "create", "relationship": {**RECORD, **more}})
    assert db.read(resource_type="document") == [read or "document:plan#viewer@user:tom"]


@pytest.mark.parametrize(
    "update",
    [
        None,
        "text",
        {},
        {"operation": "touch"},
        {"relationship": RECORD},
        {"operation": "TOUCH", "relationship": RECORD},
        {"operation": 2, "relationship": RECORD},
        {"operation": "touch", "relationship": RECORD, "more": 1},
        {"operation": "touch", "relationship": {**RECORD, "caveat": "limits"}},
        {"operation": "touch", "relationship": {**RECORD, "subject_id": 7}},
        {"operation": "touch", "relationship": {**RECORD, "subject_id": None}},
        {"operation": "touch", "relationship": {**RECORD, "subject_relation": ""}},
        {"operation": "touch", "relationship": {**RECORD, "caveat_context": {"number": 1}}},
        {"operation": "touch", "relationship": {**RECORD, "caveat_name": "limits", "caveat_context": [1]}},
        {"operation": "touch", "relationship": {**RECORD, "caveat_name": "limits", "caveat_context": "{"}},
        {"operation": "touch", "relationship": {**RECORD, "caveat_name": "li mits"}},
        {"operation": "touch", "relationship": {**RECORD, "expiration": "soon"}},
    ],
)
def test_what_is_no_update_is_refused(empty_db, update):
    with refused(empty_db, "LZ004", ""):
        empty_db.run("SELECT {s}.write(%s)", json.dumps({"updates": [update]}))


@pytest.mark.parametrize(
    "request_text",
    ["null", "[]", '"x"', '{"update": []}', '{"updates": {}}', '{"preconditions": 1}', '{"metadata": []}'],
)
def test_what_is_no_request_is_refused(empty_db, request_text):
    with refused(empty_db, "LZ004", ""):
        empty_db.run("SELECT {s}.write(%s::jsonb)", request_text)


def test_one_relationship_twice_is_refused_whatever_is_done_with_it(db):
    with refused(db, "LZ004", "UPDATES_ON_SAME_RELATIONSHIP") as refusal:
        db.write(
            "-document:plan#viewer@user:tom", "+document:a#viewer@user:tom", "+document:plan#viewer@user:tom[limits]"
        )
    assert refusal.message == 'update 3: "document:plan#viewer@user:tom" is in the request twice'


def test_limits_hold_at_one_over_and_not_before(db):
    db.write(*documents(1000))
    with refused(db, "LZ007", "TOO_MANY_UPDATES_IN_REQUEST"):
        db.write(*documents(1001))
    conditions = [{"must_match": {"resource_type": "document"}}] * 1000
    db.write(preconditions=conditions)
    with refused(db, "LZ007", "TOO_MANY_PRECONDITIONS_IN_REQUEST"):
        db.write(preconditions=conditions * 2)
    room = 24970  # the rest of 25000 are tags and sizes of protobuf messages, "limits" and "word"
    db.write('document:plan#viewer@user:tom[limits:{"word": "%s"}]' % ("x" * room))
    with refused(db, "LZ007", "MAX_RELATIONSHIP_CONTEXT_SIZE"):
        db.write('document:plan#viewer@user:tom[limits:{"word": "%s"}]' % ("x" * (room + 1)))
    room = 65000 - len('{"a": ""}')
    db.write(metadata={"a": "x" * room})
    with refused(db, "LZ007", "TRANSACTION_METADATA_TOO_LARGE"):
        db.write(metadata={"a": "x" * (room + 1)})


def test_contexts_are_what_the_engine_can_read(db):
    nested = json.loads("[" * 62 + "]" * 62)
    db.write(
        {
            "operation": "touch",
            "relationship": {**RECORD, "caveat_name": "limits", "caveat_context": {"anything": nested}},
        }
    )
    with refused(db, "LZ007", "JSON_NESTING"):
        context = {"anything": [[nested]]}
        db.write({"operation": "touch", "relationship": {**RECORD, "caveat_name": "limits", "caveat_context": context}})
    with refused(db, "LZ007", "JSON_KEYS"):
        context = {"anything": dict.fromkeys(map(str, range(1025)))}
        db.write({"operation": "touch", "relationship": {**RECORD, "caveat_name": "limits", "caveat_context": context}})


# ------------------------------------------------------------ against the schema


@pytest.mark.parametrize(
    ("text", "sqlstate", "detail", "message"),
    [
        ("file:plan#viewer@user:tom", "LZ005", "UNKNOWN_DEFINITION", "object definition `file` not found"),
        (
            "document:plan#editor@user:tom",
            "LZ005",
            "UNKNOWN_RELATION_OR_PERMISSION",
            "relation/permission `editor` not found under definition `document`",
        ),
        ("document:plan#viewer@robot:tom", "LZ005", "UNKNOWN_DEFINITION", "object definition `robot` not found"),
        (
            "document:plan#viewer@user:tom#member",
            "LZ005",
            "UNKNOWN_RELATION_OR_PERMISSION",
            "relation/permission `member` not found under definition `user`",
        ),
        (
            "document:plan#view@user:tom",
            "LZ004",
            "CANNOT_UPDATE_PERMISSION",
            "cannot write a relationship to permission `view` under definition `document`",
        ),
        (
            "document:plan#viewer@group:eng",
            "LZ004",
            "INVALID_SUBJECT_TYPE",
            "subjects of type `group` are not allowed on relation `document#viewer`",
        ),
        (
            "document:plan#owner@user:*",
            "LZ004",
            "INVALID_SUBJECT_TYPE",
            "subjects of type `user:*` are not allowed on relation `document#owner`",
        ),
        (
            "document:plan#viewer@user:*[limits]",
            "LZ004",
            "INVALID_SUBJECT_TYPE",
            "subjects of type `user:* with limits` are not allowed on relation `document#viewer`",
        ),
        (
            "document:plan#viewer@group:eng#member[limits][expiration:2030-01-02T03:04:05Z]",
            "LZ004",
            "INVALID_SUBJECT_TYPE",
            "subjects of type `group#member with limits and expiration` are not allowed on relation `document#viewer`",
        ),
        (
            "document:plan#owner@user:tom[expiration:2030-01-02T03:04:05Z]",
            "LZ004",
            "INVALID_SUBJECT_TYPE",
            "subjects of type `user with expiration` are not allowed on relation `document#owner`",
        ),
        (
            "document:plan#viewer@user:tom[other]",
            "LZ004",
            "INVALID_SUBJECT_TYPE",
            "subjects of type `user with other` are not allowed on relation `document#viewer`",
        ),
        (
            'document:plan#viewer@user:tom[limits:{"more": 1}]',
            "LZ004",
            "",
            'unknown parameter "more": caveat `limits` has none of this name',
        ),
        (
            'document:plan#viewer@user:tom[limits:{"number": true}]',
            "LZ004",
            "CAVEAT_PARAMETER_TYPE_ERROR",
            "parameter `number` of caveat `limits` is no int",
        ),
    ],
)
def test_relationships_are_judged_by_the_schema_in_force(empty_db, text, sqlstate, detail, message):
    with refused(empty_db, sqlstate, detail) as refusal:
        empty_db.write("document:good#viewer@user:tom", text)
    assert refusal.message == "update 2: " + message
    assert empty_db.rows(where="true") == 0


def test_a_delete_that_names_no_caveat_may_meet_any_form(db):
    db.write("document:plan#viewer@user:tom[limits]")
    with refused(db, "LZ004", "INVALID_SUBJECT_TYPE"):
        db.write("-document:plan#owner@user:tom[limits]")
    with refused(db, "LZ004", "INVALID_SUBJECT_TYPE"):
        db.write("-document:plan#viewer@group:eng")
    db.write("-document:plan#viewer@user:tom")
    assert db.rows() == 0


@pytest.mark.parametrize(
    ("parameter", "good", "bad"),
    [
        ("anything", [None, 1, "x", [1], {"a": None}], []),
        ("flag", [True, False], ["true", 1, None]),
        ("word", ["", "x"], [1, None, True, []]),
        (
            "number",
            [42, -42, 42.0, "42", "-42", "+42", "42.0", "4.2e1", 1e300, "9223372036854775808"],
            [42.1, "42.1", "4 2", "", "x", "0x10", "1_0", True, None, "\u0664"],
        ),
        ("count", [0, 42, "42"], [-1, "-1", 0.5]),
        ("ratio", [0.5, "0.5", ".5", "5.", "1e-3", "Inf", "-Inf"], ["half", "NaN", None, ""]),
        ("data", ["", "AA==", "AAA=", "AAAA", "+/+/"], ["A", "AA", "A===", "AA==\n", "_-_-", 1]),
        ("span", ["0", "1h30m", "-1.5s", "+3ms", "1us", "1\u00b5s", "1\u03bcs", ".5s"], ["", "1", "1d", "1 h", "s", 5]),
        ("moment", ["2030-01-02T03:04:05Z", "2030-01-02T03:04:05.5+01:00"], ["2030-01-02", "2030-02-30T03:04:05Z", 5]),
        (
            "address",
            ["10.0.0.1", "255.255.255.255", "::1", "fe80::1", "::ffff:10.0.0.1"],
            ["10.0.0", "10.0.0.256", "10.0.0.1/8", "010.0.0.1", "10.0.0.1.", "::1/64", "::g", "", "10.0.0.1\n"],
        ),
        ("numbers", [[], [1, "2"]], [[1, "x"], {}, "[]", 1]),
        ("words", [{}, {"a": []}, {"a": ["x"], "b": []}], [{"a": "x"}, {"a": [1]}, []]),
    ],
)
def test_values_of_contexts_become_what_their_parameters_are(db, parameter, good, bad):
    def written(value):
        relationship = {**RECORD, "caveat_name": "limits", "caveat_context": {parameter: value}}
        return {"operation": "touch", "relationship": relationship}

    for value in good:
        db.write(written(value))
    for value in bad:
        with refused(db, "LZ004", "CAVEAT_PARAMETER_TYPE_ERROR"):
            db.write(written(value))


def test_a_touch_that_differs_in_spaces_only_is_identical(db):
    db.write('document:plan#viewer@user:tom[limits:{"number": 1, "word": "x"}]')
    first = db.rows("created_xid")
    touch = {"resource_type": "document", "resource_id": "plan", "relation": "viewer", "subject_type": "user"}
    touch |= {"subject_id": "tom", "caveat_name": "limits", "caveat_context": '{"word":"x","number":1.0}'}
    request = json.dumps({"updates": [{"operation": "touch", "relationship": touch}]})
    db.run("SELECT {s}._write(%s, 1, NULL)", request)
    assert db.rows("created_xid") == first


# ------------------------------------------------------------ preconditions and filters


WORLD = (
    "document:plan#viewer@user:tom",
    "document:plan#viewer@group:eng#member",
    "document:plan#owner@user:ann",
    "document:pla_#viewer@user:*",
    "document:old#viewer@user:tom[expiration:2001-02-03T04:05:06Z]",
    "group:eng#member@user:tom",
)

FILTERS = [
    ({"resource_type": "document"}, 4),
    ({"resource_type": "document", "resource_id": "plan"}, 3),
    ({"resource_type": "document", "resource_id_prefix": "pla"}, 4),
    ({"resource_type": "document", "resource_id_prefix": "pla_"}, 1),
    ({"resource_id": "plan"}, 3),
    ({"relation": "member"}, 1),
    ({"relation": "nothing_of_the_kind"}, 0),
    ({"resource_type": "document", "relation": "viewer"}, 3),
    ({"subject_type": "user"}, 4),
    ({"subject_type": "user", "subject_id": "tom"}, 2),
    ({"subject_type": "user", "subject_id": "*"}, 1),
    ({"subject_type": "group", "subject_relation": ""}, 0),
    ({"subject_type": "group", "subject_relation": "member"}, 1),
    ({"subject_type": "group"}, 1),
    ({"resource_type": "document", "resource_id": "old"}, 0),
    (
        {
            "resource_type": "document",
            "resource_id": "plan",
            "relation": "viewer",
            "subject_type": "user",
            "subject_id": "tom",
            "subject_relation": "",
        },
        1,
    ),
    ({"resource_type": "", "subject_type": "group"}, 1),
]


@pytest.mark.parametrize(("filter", "count"), FILTERS)
def test_filters_select_what_they_say(db, filter, count):
    db.write(*WORLD)
    assert len(db.read(**filter)) == count
    holds = "must_match" if count else "must_not_match"
    fails = "must_not_match" if count else "must_match"
    db.write(preconditions=[{holds: filter}])
    with refused(db, "LZ002", f"2 {fails}"):
        db.write("+document:new#viewer@user:tom", preconditions=[{holds: filter}, {fails: filter}])
    assert db.read(resource_type="document", resource_id="new") == []


def test_reads_come_in_the_order_of_their_keys(db):
    db.write(*WORLD)
    assert db.read(resource_type="document") == [WORLD[3], WORLD[2], WORLD[1], WORLD[0]]
    limited = json.dumps({"filter": {"resource_type": "document"}, "limit": 2})
    assert [row[0] for row in db.run("SELECT {s}.read(%s)", limited)] == [WORLD[3], WORLD[2]]


@pytest.mark.parametrize(
    ("filter", "sqlstate", "detail"),
    [
        ({}, "LZ004", "INVALID_FILTER"),
        ({"resource_id": "a", "resource_id_prefix": "a"}, "LZ004", "INVALID_FILTER"),
        ({"subject_id": "tom"}, "LZ004", ""),
        ({"subject_relation": "member"}, "LZ004", ""),
        ({"resource_id": "*"}, "LZ004", ""),
        ({"resource_type": "no such"}, "LZ004", ""),
        ({"resource_type": "document\n"}, "LZ004", ""),
        ({"resource_type": 1}, "LZ004", ""),
        ({"type": "document"}, "LZ004", ""),
        ({"resource_id_prefix": "a%"}, "LZ004", ""),
        ({"resource_type": "file"}, "LZ005", "UNKNOWN_DEFINITION"),
        ({"resource_type": "document", "relation": "editor"}, "LZ005", "UNKNOWN_RELATION_OR_PERMISSION"),
        ({"subject_type": "robot"}, "LZ005", "UNKNOWN_DEFINITION"),
        ({"subject_type": "user", "subject_relation": "member"}, "LZ005", "UNKNOWN_RELATION_OR_PERMISSION"),
    ],
)
def test_what_is_no_filter_is_refused(empty_db, filter, sqlstate, detail):
    with refused(empty_db, sqlstate, detail):
        empty_db.read(**filter)
    with refused(empty_db, sqlstate, detail):
        empty_db.delete(filter)
    with refused(empty_db, sqlstate, detail):
        empty_db.write(preconditions=[{"must_match": filter}])


def test_a_permission_matches_nothing_and_can_not_be_read(db):
    filter = {"resource_type": "document", "relation": "view"}
    with refused(db, "LZ004", "SCHEMA_TYPE_ERROR"):
        db.read(**filter)
    assert db.delete(filter)["deleted"] == 0
    db.write(preconditions=[{"must_not_match": filter}])


def test_a_wildcard_with_a_relation_matches_nothing_or_is_refused(db):
    filter = {"subject_type": "group", "subject_id": "*", "subject_relation": "member"}
    assert db.read(**filter) == []
    with refused(db, "LZ004", ""):
        db.delete(filter)


@pytest.mark.parametrize(
    "precondition",
    [None, {}, {"must": {}}, {"must_match": 1}, {"must_match": {"relation": "viewer"}, "must_not_match": {}}],
)
def test_what_is_no_precondition_is_refused(empty_db, precondition):
    with refused(empty_db, "LZ004", ""):
        empty_db.write(preconditions=[precondition])


def test_preconditions_are_asked_of_what_was_before(db):
    db.write("+document:plan#viewer@user:tom")
    filter = {"resource_type": "document", "resource_id": "plan"}
    db.write("-document:plan#viewer@user:tom", preconditions=[{"must_match": filter}])
    db.write("+document:plan#viewer@user:tom", preconditions=[{"must_not_match": filter}])


def test_the_first_thing_wrong_is_told(db):
    no = [{"must_match": {"resource_type": "document"}}]
    unknown = [{"must_match": {"resource_type": "file"}}]
    with refused(db, "LZ004", "UPDATES_ON_SAME_RELATIONSHIP"):
        db.write("file:a#viewer@user:tom", "file:a#viewer@user:tom", preconditions=no)
    with refused(db, "LZ005", "UNKNOWN_DEFINITION") as refusal:
        db.write("document:a#editor@user:tom", preconditions=unknown)
    assert refusal.message.startswith("precondition 1: ")
    with refused(db, "LZ005", "UNKNOWN_RELATION_OR_PERMISSION"):
        db.write("document:a#editor@user:tom", preconditions=no)


# ------------------------------------------------------------ deleting


def test_deletes_by_filter(db):
    db.write(*WORLD)
    done = db.delete({"resource_type": "document", "relation": "viewer"})
    assert (done["deleted"], done["partial"]) == (4, False)  # what has expired, too
    assert db.read(resource_type="document") == ["document:plan#owner@user:ann"]
    assert done["token"] == db.one("SELECT {s}.token()")


@pytest.mark.parametrize(
    ("limit", "partial_allowed", "deleted", "partial"),
    [(2, True, 2, True), (3, False, 3, True), (3, True, 3, True), (4, False, 3, False), (0, False, 3, False)],
)
def test_deletes_within_a_limit(db, limit, partial_allowed, deleted, partial):
    db.write(*documents(3))
    done = db.delete({"resource_type": "document"}, limit=limit, allow_partial=partial_allowed)
    assert (done["deleted"], done["partial"]) == (deleted, partial)
    assert db.rows() == 3 - deleted


def test_more_than_the_limit_is_refused_and_nothing_is_deleted(db):
    db.write(*documents(3))
    with refused(db, "LZ006", "2"):
        db.delete({"resource_type": "document"}, limit=2)
    assert db.rows() == 3
    db.write("document:d0#viewer@user:tom[expiration:2001-02-03T04:05:06Z]")
    assert db.delete({"resource_type": "document"}, limit=2)["deleted"] == 3  # the expired is not counted, but deleted


@pytest.mark.parametrize(("limit", "deleted"), [("100.0", 3), ("1e2", 3), ("3.00", 3), ("-0.0", 3), ("0.0", 3)])
def test_a_whole_number_is_one_however_it_is_written(db, limit, deleted):
    db.write(*documents(3))
    request = '{"filter": {"resource_type": "document"}, "limit": ' + limit + "}"
    assert len(db.run("SELECT {s}.read(%s)", request)) == deleted
    assert db.one("SELECT {s}.delete(%s)", request)["deleted"] == deleted


@pytest.mark.parametrize("limit", [-1, 0.5, "1", True])
def test_a_limit_is_a_whole_number(empty_db, limit):
    with refused(empty_db, "LZ004", ""):
        empty_db.delete({"resource_type": "document"}, limit=limit)


def test_a_limit_has_a_limit(db):
    db.delete({"resource_type": "document"}, limit=1000)
    with refused(db, "LZ007", "EXCEEDS_MAXIMUM_ALLOWABLE_LIMIT"):
        db.delete({"resource_type": "document"}, limit=1001)


def test_deletes_have_preconditions_too(db):
    db.write(*WORLD)
    with refused(db, "LZ002", "1 must_not_match"):
        db.delete({"resource_type": "document"}, preconditions=[{"must_not_match": {"resource_type": "group"}}])
    assert len(db.read(resource_type="document")) == 4


# ------------------------------------------------------------ the application's transaction


def test_rolled_back_means_gone(db, other):
    db.begin()
    db.write("+document:plan#viewer@user:tom")
    assert db.read(resource_type="document") == ["document:plan#viewer@user:tom"]
    assert other.read(resource_type="document") == []
    db.run("ROLLBACK")
    assert (db.rows(where="true"), db.one("SELECT count(*) FROM {s}.tx")) == (0, 1)


def test_a_savepoint_takes_back_what_was_written_behind_it(db, other):
    db.begin()
    db.write("+document:one#viewer@user:tom")
    db.run("SAVEPOINT s")
    db.write("-document:one#viewer@user:tom", "+document:two#viewer@user:tom", metadata={"a": 1})
    assert db.read(resource_type="document") == ["document:two#viewer@user:tom"]
    db.run("ROLLBACK TO s")
    db.write("+document:three#viewer@user:tom")
    xid = db.one("SELECT pg_current_xact_id()")
    db.run("COMMIT")
    assert other.read(resource_type="document") == ["document:one#viewer@user:tom", "document:three#viewer@user:tom"]
    assert other.run("SELECT DISTINCT created_xid FROM {s}.rel") == [(xid,)]  # the top-level one, also in savepoints
    assert other.run("SELECT metadata FROM {s}.tx WHERE xid = %s", xid) == [(None,)]


def test_a_failed_write_leaves_the_transaction_usable_behind_a_savepoint(db):
    db.write("+document:one#viewer@user:tom")
    db.begin()
    db.run("SAVEPOINT s")
    with pytest.raises(psycopg.Error):
        db.write("+document:one#viewer@user:tom")
    db.run("ROLLBACK TO s")
    db.write("+document:two#viewer@user:tom")
    db.run("COMMIT")
    assert db.rows() == 2


def test_what_a_transaction_made_itself_it_deletes_for_good(db):
    db.begin()
    db.write("+document:one#viewer@user:tom", "+document:two#viewer@user:tom")
    db.write("document:one#viewer@user:tom[limits]")
    db.write("-document:one#viewer@user:tom")
    assert db.delete({"resource_id": "two"})["deleted"] == 1
    db.run("COMMIT")
    assert db.rows(where="true") == 0
    db.write("+document:one#viewer@user:tom")
    db.begin()
    for caveat in ("[limits]", "", "[limits]"):
        db.write("document:one#viewer@user:tom" + caveat)
    db.run("COMMIT")
    assert (db.rows("caveat"), db.rows(where="true")) == ("limits", 2)
    assert db.rows(where="created_xid = deleted_xid") == 0


def test_one_row_for_each_transaction_with_the_metadata_of_all_its_writes(db):
    db.begin()
    db.write(metadata={"a": 1, "b": 1})
    db.write()
    db.write(metadata={"b": 2})
    xid = db.one("SELECT pg_current_xact_id()")
    db.run("COMMIT")
    assert db.one("SELECT metadata FROM {s}.tx WHERE xid = %s", xid) == {"a": 1, "b": 2}


def test_tokens_show_their_own_write_and_are_opaque(db, other):
    db.begin()
    before = db.one("SELECT {s}.token()")
    pending = db.write("+document:plan#viewer@user:tom")
    assert pending == db.one("SELECT {s}.token()") != before
    db.run("COMMIT")
    for token in (before, pending):
        assert re.fullmatch(r"[A-Za-z0-9_-]{40,510}", token)
        assert "document" not in token


def test_nothing_is_written_in_a_read_only_transaction(db):
    db.write("+document:plan#viewer@user:tom")
    db.run("BEGIN READ ONLY")
    assert len(db.read(resource_type="document")) == 1
    assert db.one("SELECT {s}.token()")
    with refused(db, "25006"):
        db.write("+document:plan#owner@user:tom")


def test_prepared_transactions_write_when_they_are_committed(db, other):
    if db.one("SELECT current_setting('max_prepared_transactions')::int") == 0:
        pytest.skip("max_prepared_transactions is 0")
    name = "licet_" + uuid.uuid4().hex
    db.begin()
    db.write("+document:plan#viewer@user:tom")
    xid = db.one("SELECT pg_current_xact_id()")
    db.run(f"PREPARE TRANSACTION '{name}'")
    try:
        assert other.read(resource_type="document") == []
        other.run("SET lock_timeout = '100ms'")
        with refused(other, "55P03"):
            other.write("document:plan#viewer@user:tom[limits]")
    finally:
        db.run(f"COMMIT PREPARED '{name}'")
    assert other.rows("created_xid") == xid
    other.write("document:plan#viewer@user:tom[limits]")
    assert other.rows("caveat") == "limits"


def test_settings_of_the_session_change_nothing(db):
    db.run("CREATE TABLE pg_temp.rel (rt text)")
    db.run("CREATE FUNCTION pg_temp.octet_length(text) RETURNS integer LANGUAGE sql AS 'SELECT 5000'")
    db.run("SET search_path = pg_temp, pg_catalog, public")
    db.run("SET standard_conforming_strings = off")
    db.run("SET backslash_quote = on")
    db.run("SET TimeZone = 'Asia/Kathmandu'")
    db.run("SET DateStyle = 'German, DMY'")
    db.run("SET IntervalStyle = 'sql_standard'")
    text = "document:plan#viewer@user:tom[expiration:2030-01-02T03:04:05.5Z]"
    db.write(text)
    db.write("document:plan#owner@user:tom", preconditions=[{"must_match": {"resource_id_prefix": "pl"}}])
    assert db.read(relation="viewer") == [text]
    assert db.delete({"resource_type": "document"})["deleted"] == 2


# ------------------------------------------------------------ two at once


ISOLATIONS = ["REPEATABLE READ", "SERIALIZABLE"]


def test_of_two_creates_one_fails(store, db, other):
    db.begin()
    db.write("+document:plan#viewer@user:tom")
    waiting = other.start_write("+document:plan#viewer@user:tom")
    assert store.waits(other)
    db.run("COMMIT")
    with refused(other, "LZ001", "document:plan#viewer@user:tom"):
        waiting.result(120)
    assert db.rows(where="true") == 1


def test_a_create_takes_place_when_the_other_is_rolled_back(store, db, other):
    db.begin()
    db.write("+document:plan#viewer@user:tom")
    waiting = other.start_write("+document:plan#viewer@user:tom")
    assert store.waits(other)
    db.run("ROLLBACK")
    waiting.result(120)
    assert db.rows() == 1


def test_of_two_touches_the_later_stays(store, db, other):
    db.begin()
    db.write("document:plan#viewer@user:tom")
    waiting = other.start_write("document:plan#viewer@user:tom[limits]")
    assert store.waits(other)
    db.run("COMMIT")
    waiting.result(120)
    assert (db.rows("caveat"), db.rows(where="true")) == ("limits", 2)


def test_a_touch_replaces_what_another_touch_has_put_in_the_place(store, db, other):
    db.write("document:plan#viewer@user:tom")
    db.begin()
    db.write("document:plan#viewer@user:tom[limits]")
    waiting = other.start_write("document:plan#viewer@user:tom[expiration:2030-01-02T03:04:05Z]")
    assert store.waits(other)
    db.run("COMMIT")
    waiting.result(120)
    assert db.read(resource_type="document") == ["document:plan#viewer@user:tom[expiration:2030-01-02T03:04:05Z]"]
    assert db.rows(where="true") == 3


@pytest.mark.parametrize("deletes_by_filter", [False, True])
def test_a_delete_deletes_what_a_touch_has_put_in_the_place(store, db, other, deletes_by_filter):
    db.write("document:plan#viewer@user:tom")
    db.begin()
    db.write("document:plan#viewer@user:tom[limits]")
    if deletes_by_filter:
        waiting = other.start("SELECT {s}.delete(%s)", json.dumps({"filter": {"resource_id": "plan"}}))
    else:
        waiting = other.start_write("-document:plan#viewer@user:tom")
    assert store.waits(other)
    db.run("COMMIT")
    waiting.result(120)
    assert (db.rows(), db.rows(where="true")) == (0, 2)


def test_a_touch_brings_back_what_is_being_deleted(store, db, other):
    db.write("document:plan#viewer@user:tom")
    db.begin()
    db.write("-document:plan#viewer@user:tom")
    waiting = other.start_write("document:plan#viewer@user:tom")
    assert store.waits(other)
    db.run("COMMIT")
    waiting.result(120)
    assert (db.rows(), db.rows(where="true")) == (1, 2)


def test_a_touch_that_changes_nothing_keeps_the_row_until_it_is_committed(store, db, other):
    db.write("document:plan#viewer@user:tom")
    db.begin()
    db.write("document:plan#viewer@user:tom")
    waiting = other.start_write("-document:plan#viewer@user:tom")
    assert store.waits(other)
    db.run("COMMIT")
    waiting.result(120)
    assert db.rows() == 0


def test_of_two_deletes_both_succeed_and_one_counts(store, db, other):
    db.write("document:plan#viewer@user:tom")
    db.begin()
    db.write("-document:plan#viewer@user:tom")
    waiting = other.start("SELECT {s}.delete(%s)", json.dumps({"filter": {"resource_id": "plan"}}))
    assert store.waits(other)
    db.run("COMMIT")
    ((done,),) = waiting.result(120)
    assert done["deleted"] == 0


def test_a_delete_within_a_limit_counts_what_came_meanwhile(store, db, other):
    db.write("document:plan#viewer@user:u1", "document:plan#viewer@user:u2")
    db.begin()
    db.write("document:plan#viewer@user:u1[limits]", "document:plan#viewer@user:u3")
    waiting = other.start("SELECT {s}.delete(%s)", json.dumps({"filter": {"resource_id": "plan"}, "limit": 2}))
    assert store.waits(other)
    db.run("COMMIT")
    with refused(other, "LZ006", "2"):
        waiting.result(120)
    assert db.rows() == 3


def test_writes_in_any_order_of_their_updates_do_not_deadlock(store, db, other):
    names = documents(40)
    db.write(*names)
    for _ in range(5):
        db.begin()
        db.write(names[0] + "[limits]")
        waiting = other.start_write(*(name + "[expiration:2030-01-02T03:04:05Z]" for name in reversed(names)))
        assert store.waits(other)
        db.write(*(name + "[limits]" for name in names))
        db.run("COMMIT")
        waiting.result(120)
    assert db.rows() == 40


def test_what_must_match_stays_until_the_write_is_committed(store, db, other):
    db.write("document:plan#owner@user:ann")
    db.begin()
    db.write(
        "document:plan#viewer@user:tom", preconditions=[{"must_match": {"resource_id": "plan", "relation": "owner"}}]
    )
    waiting = other.start_write("-document:plan#owner@user:ann")
    assert store.waits(other)
    db.run("COMMIT")
    waiting.result(120)
    assert db.read(resource_type="document") == ["document:plan#viewer@user:tom"]


EXACTLY_ANN = {
    "resource_type": "document",
    "resource_id": "plan",
    "relation": "owner",
    "subject_type": "user",
    "subject_id": "ann",
    "subject_relation": "",
}


@pytest.mark.parametrize("filter", [EXACTLY_ANN, {"resource_id": "plan", "relation": "owner"}])
def test_what_must_match_fails_when_it_is_deleted_meanwhile(store, db, other, filter):
    db.write("document:plan#owner@user:ann")
    db.begin()
    db.write("-document:plan#owner@user:ann")
    waiting = other.start_write("document:plan#viewer@user:tom", preconditions=[{"must_match": filter}])
    assert store.waits(other)
    db.run("COMMIT")
    with refused(other, "LZ002", "1 must_match"):
        waiting.result(120)


@pytest.mark.parametrize("filter", [EXACTLY_ANN, {"resource_id": "plan", "relation": "owner"}])
def test_what_must_match_is_found_in_the_row_that_took_the_place(store, db, other, filter):
    store.write_schema(
        json.loads(
            json.dumps(DEFINITIONS).replace(
                '"owner", "allowed": [', '"owner", "allowed": [{"type": "user", "caveat": "limits"}, '
            )
        ),
        1,
    )
    db.write("document:plan#owner@user:ann")
    db.begin()
    db.write("document:plan#owner@user:ann[limits]")
    waiting = other.start_write("document:plan#viewer@user:tom", preconditions=[{"must_match": filter}])
    assert store.waits(other)
    db.run("COMMIT")
    waiting.result(120)
    assert db.rows() == 2


@pytest.mark.parametrize("filter", [{"resource_type": "document", "resource_id": "plan"}, {"relation": "owner"}])
def test_what_must_not_match_sees_what_was_under_way(store, db, other, filter):
    """The phantom: neither sees the other's row, and both would go through."""
    db.begin()
    db.write("+document:plan#owner@user:ann")
    waiting = other.start_write("+document:plan#owner@user:bob", preconditions=[{"must_not_match": filter}])
    assert store.waits(other)
    db.run("COMMIT")
    with refused(other, "LZ002", "1 must_not_match"):
        waiting.result(120)
    assert db.read(relation="owner") == ["document:plan#owner@user:ann"]


@pytest.mark.parametrize("filter", [{"resource_type": "document", "resource_id": "plan"}, {"relation": "owner"}])
def test_what_must_not_match_keeps_it_from_coming(store, db, other, filter):
    db.begin()
    db.write("+document:plan#owner@user:bob", preconditions=[{"must_not_match": filter}])
    waiting = other.start_write("+document:plan#owner@user:ann")
    assert store.waits(other)
    db.run("COMMIT")
    waiting.result(120)
    assert len(db.read(relation="owner")) == 2


def test_what_must_not_match_of_one_resource_lets_most_others_write(store, db, other):
    db.begin()
    db.write(preconditions=[{"must_not_match": {"resource_type": "document", "resource_id": "plan"}}])
    bucket = db.one("SELECT {s}._bucket('document', 'plan')")
    (free,) = db.run(
        "SELECT 'd' || i FROM generate_series(1, 100) i WHERE {s}._bucket('document', 'd' || i) <> %s LIMIT 1", bucket
    )[0]
    other.run("SET lock_timeout = '10s'")
    other.write(f"+document:{free}#owner@user:ann")
    other.write("-document:plan#owner@user:ann")  # to delete never makes anything match
    db.run("COMMIT")


def test_an_absence_that_two_rely_on_is_filled_once(store, db, other):
    claim = {
        "preconditions": [{"must_not_match": {"resource_type": "document", "resource_id": "plan", "relation": "owner"}}]
    }
    db.begin()
    db.write("+document:plan#owner@user:ann", **claim)
    waiting = other.start_write("+document:plan#owner@user:bob", **claim)
    assert store.waits(other)
    db.run("COMMIT")
    with refused(other, "LZ002", "1 must_not_match"):
        waiting.result(120)


def test_a_deadlock_is_told_as_one(store, db, other):
    db.write("document:a#viewer@user:tom", "document:b#viewer@user:tom")
    db.begin()
    other.begin()
    db.write("-document:a#viewer@user:tom")
    other.write("-document:b#viewer@user:tom")
    waiting = other.start_write("-document:a#viewer@user:tom")
    assert store.waits(other)
    outcomes = []
    for session, attempt in (
        (db, lambda: db.write("-document:b#viewer@user:tom")),
        (other, lambda: waiting.result(120)),
    ):
        try:
            attempt()
            session.run("COMMIT")
            outcomes.append(None)
        except psycopg.Error as error:
            outcomes.append(error.sqlstate)
            session.run("ROLLBACK")
    assert sorted(outcomes, key=str) == ["40P01", None]
    assert db.rows() == 0


# ------------------------------------------------------------ schemas


def test_schemas_are_numbered_and_the_expected_one_must_be_in_force(store, db):
    with refused(store.admin, "LZ003", "1"):
        store.write_schema(DEFINITIONS, 0)
    assert store.write_schema({**DEFINITIONS, "text": "second"}, 1) == 2
    assert db.run("SELECT version, text FROM {s}.zed ORDER BY version") == [(1, DEFINITIONS["text"]), (2, "second")]
    assert db.run("SELECT version FROM {s}.zed WHERE replaced_xid = '9223372036854775807'") == [(2,)]
    with refused(db, "LZ003", "2"):
        db.run("SELECT {s}._write('{}', 1, NULL)")
    with refused(db, "LZ003", "2"):
        db.run("""SELECT {s}._delete('{"filter": {"relation": "viewer"}}', 1, NULL, NULL)""")
    with refused(db, "LZ003", "2"):
        db.run("SELECT {s}._import(1, NULL)")


def test_a_schema_replaces_the_one_before_it(store, db):
    smaller = {
        "text": "",
        "definitions": [
            {"name": "user"},
            {"name": "file", "relations": [{"name": "reader", "allowed": [{"type": "user"}]}]},
        ],
    }
    store.write_schema(smaller, 1)
    db.write("+file:a#reader@user:tom")
    with refused(db, "LZ005", "UNKNOWN_DEFINITION"):
        db.write("+document:a#viewer@user:tom")
    assert db.one("SELECT count(*) FROM {s}.parameters") == 0


def test_without_a_schema_nothing_can_be_written():
    store = Store()
    try:
        store.migrate()
        db = store.session()
        db.write()
        with refused(db, "LZ005", "UNKNOWN_DEFINITION"):
            db.write("+document:a#viewer@user:tom")
        assert db.run("SELECT schema FROM {s}._write('{}', 0, NULL)") == [(0,)]
    finally:
        store.close()


def test_a_write_waits_for_a_schema_and_is_judged_by_it(store, db, other):
    db.begin()
    db.run("SELECT {s}._lock_schema()")
    waiting = other.start_write("+document:a#viewer@user:tom")
    assert store.waits(other)
    db.run("SELECT {s}._write_schema(%s, 1, NULL)", json.dumps({"text": "", "definitions": [{"name": "user"}]}))
    db.run("COMMIT")
    with refused(other, "LZ005", "UNKNOWN_DEFINITION"):
        waiting.result(120)


def test_a_schema_waits_for_the_writes_under_way(store, db, other):
    db.begin()
    db.write("+document:a#viewer@user:tom")
    other.begin()
    waiting = other.start("SELECT {s}._lock_schema()")
    assert store.waits(other)
    db.run("COMMIT")
    waiting.result(120)
    assert other.rows() == 1
    other.run("ROLLBACK")


# ------------------------------------------------------------ snapshots that stand still


@pytest.mark.parametrize("isolation", ISOLATIONS)
def test_with_a_fixed_snapshot_everything_works_that_nobody_interferes_with(db, isolation):
    db.write("document:plan#viewer@user:tom", "document:gone#viewer@user:tom")
    db.begin(isolation)
    db.write(
        "+document:new#viewer@user:tom",
        "document:plan#viewer@user:tom[limits]",
        "-document:gone#viewer@user:tom",
        "-document:never#viewer@user:tom",
        preconditions=[{"must_match": {"resource_id": "plan"}}, {"must_not_match": {"resource_id": "new"}}],
    )
    assert db.delete({"resource_id": "new"})["deleted"] == 1
    db.run("COMMIT")
    assert db.read(resource_type="document") == ["document:plan#viewer@user:tom[limits]"]


@pytest.mark.parametrize("isolation", ISOLATIONS)
@pytest.mark.parametrize(
    ("meanwhile", "updates", "request_more"),
    [
        (["+document:plan#viewer@user:tom"], ["document:plan#viewer@user:tom"], {}),
        (["+document:plan#viewer@user:tom"], ["-document:plan#viewer@user:tom"], {}),
        (["-document:old#viewer@user:tom"], ["+document:old#viewer@user:tom"], {}),
        (["-document:old#viewer@user:tom"], ["document:old#viewer@user:tom"], {}),
        (["-document:old#viewer@user:tom"], ["-document:old#viewer@user:tom"], {}),
        (["document:old#viewer@user:tom[limits]"], ["document:old#viewer@user:tom"], {}),
        (["document:old#viewer@user:tom[limits]"], ["-document:old#viewer@user:tom"], {}),
        (["-document:old#viewer@user:tom"], [], {"preconditions": [{"must_match": {"resource_id": "old"}}]}),
        (["+document:plan#viewer@user:tom"], [], {"preconditions": [{"must_match": {"resource_id": "plan"}}]}),
        (["+document:plan#viewer@user:tom"], [], {"preconditions": [{"must_not_match": {"resource_id": "plan"}}]}),
        (
            ["+document:plan#viewer@user:tom"],
            [],
            {"preconditions": [{"must_not_match": {"resource_type": "document", "resource_id": "plan"}}]},
        ),
    ],
)
def test_what_a_fixed_snapshot_hides_is_a_serialization_failure(db, other, isolation, meanwhile, updates, request_more):
    db.write("document:old#viewer@user:tom")
    db.begin(isolation)
    other.write(*meanwhile)
    with refused(db, "40001"):
        db.write(*updates, **request_more)
    db.write("document:other#viewer@user:tom")


@pytest.mark.parametrize("isolation", ISOLATIONS)
def test_a_create_of_what_a_fixed_snapshot_hides_does_not_succeed(db, other, isolation):
    db.begin(isolation)
    other.write("+document:plan#viewer@user:tom")
    with pytest.raises(psycopg.Error) as caught:
        db.write("+document:plan#viewer@user:tom")
    assert caught.value.sqlstate in ("40001", "LZ001")
    db.run("ROLLBACK")
    assert db.rows(where="true") == 1


@pytest.mark.parametrize("isolation", ISOLATIONS)
@pytest.mark.parametrize("runs_at_the_snapshot", [False, True])
def test_a_delete_by_filter_does_not_pass_over_what_a_fixed_snapshot_hides(
    store, db, other, isolation, runs_at_the_snapshot
):
    if runs_at_the_snapshot:
        other.begin()
        other.write("+document:plan#viewer@user:tom")
        store.admin.run("SELECT pg_current_xact_id()")  # has ended before: the snapshot must list the other
    db.begin(isolation)
    if runs_at_the_snapshot:
        running = db.one("SELECT pg_current_snapshot()::text").split(":")[2]
        assert str(other.one("SELECT pg_current_xact_id()")) in running.split(",")
        other.run("COMMIT")
    else:
        other.write("+document:plan#viewer@user:tom")
    with refused(db, "40001"):
        db.delete({"resource_id": "plan"})
    assert db.rows() == 1


@pytest.mark.parametrize("isolation", ISOLATIONS)
def test_transactions_that_are_none_of_ours_or_rolled_back_are_no_interference(db, other, isolation):
    db.write("document:plan#viewer@user:tom")
    db.begin(isolation)
    other.begin()
    other.write("+document:plan#viewer@user:ann")
    other.run("ROLLBACK")
    for _ in range(3):
        other.run("SELECT pg_current_xact_id()")
    assert db.delete({"resource_id": "plan"})["deleted"] == 1
    db.run("COMMIT")
    assert db.one("SELECT count(*) FROM {s}.tx") == 3  # what looked for others has left nothing


@pytest.mark.parametrize("isolation", ISOLATIONS)
@pytest.mark.parametrize("had_a_schema", [False, True])
def test_a_schema_that_a_fixed_snapshot_hides_is_a_serialization_failure(isolation, had_a_schema):
    store = Store()
    try:
        store.migrate()
        if had_a_schema:
            store.write_schema(DEFINITIONS, 0)
        db = store.session()
        db.begin(isolation)
        store.write_schema({"text": "", "definitions": [{"name": "user"}]}, int(had_a_schema))
        with refused(db, "40001"):
            db.write("+document:a#viewer@user:tom")
    finally:
        store.close()


# ------------------------------------------------------------ what engines call


def record(operation: str, text: str, **more: Any) -> dict[str, Any]:
    resource, subject = text.split("@")
    object, relation = resource.split("#")
    names = [*object.split(":"), relation, *subject.split(":")]
    keys = ["resource_type", "resource_id", "relation", "subject_type", "subject_id"]
    return {"operation": operation, "relationship": dict(zip(keys, names), **more)}


def test_an_engine_s_write_is_refused_in_another_store_and_where_the_store_s_mark_is_gone(store, db):
    mark = db.one("SELECT store FROM {s}.meta")
    request = json.dumps({"updates": [record("touch", "document:plan#viewer@user:tom")]})

    def write(mark):
        return db.run("SELECT schema FROM {s}._write(%s, 1, NULL, %s)", request, mark)

    assert write(mark) == write(None) == [(1,)]
    with refused(db, "LZ003", "1") as refusal:
        write(uuid.uuid4())
    assert refusal.message == "the store is another one, or has another past"
    db.begin()
    db.run("SELECT set_config('licet.writer', %s, true)", store.schema)
    db.run("DELETE FROM {s}.meta")
    with refused(db, "LZ003", "1"):
        write(mark)


def test_an_engine_s_write_returns_its_snapshot_and_leaves_its_request(db, other):
    request_id = uuid.uuid4()
    request = {
        "updates": [
            record("create", "document:plan#viewer@user:tom", caveat_name="limits", caveat_context='{"word":"\\u0000"}')
        ],
        "metadata": '{"a":1e300,"b":-0}',
    }
    db.begin()
    ((snapshot, xid, schema),) = db.run(
        "SELECT snapshot::text, xid, schema FROM {s}._write(%s, 1, %s)", json.dumps(request), request_id
    )
    assert xid == db.one("SELECT pg_current_xact_id()")
    assert str(xid) not in snapshot.split(":")[2].split(",")
    db.run("COMMIT")
    assert schema == 1
    assert other.rows("context::text") == '{"word":"\\u0000"}'
    assert other.run("SELECT request, metadata::text FROM {s}.tx WHERE xid = %s", xid) == [
        (request_id, '{"a":1e300,"b":-0}')
    ]
    with refused(db, "23505"):
        db.run("SELECT {s}._write('{}', 1, %s)", request_id)


def test_an_engine_s_snapshot_shows_whatever_the_write_has_met(store, db, other):
    db.begin()
    db.write("document:plan#viewer@user:tom")
    first = db.one("SELECT pg_current_xact_id()")
    request = json.dumps(
        {"updates": [record("touch", "document:plan#viewer@user:tom", expiration="2030-01-02T03:04:05.123456789Z")]}
    )
    waiting = other.start("SELECT pg_visible_in_snapshot(%s, snapshot) FROM {s}._write(%s, 1, NULL)", first, request)
    assert store.waits(other)
    db.run("COMMIT")
    assert waiting.result(120) == [(True,)]
    assert other.read(resource_type="document") == [
        "document:plan#viewer@user:tom[expiration:2030-01-02T03:04:05.123456789Z]"
    ]


def test_an_engine_s_delete_judges_by_the_time_it_is_given(db):
    db.write("document:plan#viewer@user:tom[expiration:2030-01-02T03:04:05Z]", "document:plan#viewer@user:ann")
    request = json.dumps({"filter": {"resource_id": "plan"}, "limit": 1})
    with refused(db, "LZ006", "1"):
        db.run("SELECT {s}._delete(%s, 1, NULL, '2030-01-02T03:04:04.9Z')", request)
    assert db.run("SELECT deleted FROM {s}._delete(%s, 1, NULL, '2030-01-02T03:04:05Z')", request) == [(2,)]


def test_nanoseconds_count_when_time_is_told(db):
    db.write("document:plan#viewer@user:tom[expiration:2030-01-02T03:04:05.000000001Z]")
    ask = "SELECT {s}._lives(expires_at, expires_ns, %s) FROM {s}.rel"
    assert db.one(ask, "2030-01-02T03:04:05Z") is True
    assert db.one(ask, "2030-01-02T03:04:05.000001Z") is False


def test_an_import_copies_into_the_guarded_table(store, db, other):
    db.begin()
    db.run("SELECT {s}._import(1, NULL)")
    with db.connection.cursor() as cursor, cursor.copy(f"COPY {db.schema}.rel (rt, ri, rr, st, si) FROM STDIN") as copy:
        for number in range(100):
            copy.write_row(("document", f"d{number}", "viewer", "user", "tom"))
    waiting = other.start_write(
        "+document:d5#owner@user:ann",
        preconditions=[{"must_not_match": {"resource_type": "document", "resource_id": "d5"}}],
    )
    assert store.waits(other)
    xid = db.one("SELECT pg_current_xact_id()")
    db.run("COMMIT")
    with refused(other, "LZ002"):
        waiting.result(120)
    assert other.run("SELECT count(*), min(created_xid), max(created_xid) FROM {s}.rel") == [(100, xid, xid)]
    with refused(db, "LZ008", "rel"):
        db.run(f"INSERT INTO {db.schema}.rel (rt, ri, rr, st, si) VALUES ('document', 'x', 'viewer', 'user', 'tom')")


def import_documents(db, first, count):
    """As an engine does it: the rows first."""
    db.begin()
    db.run("SELECT set_config('licet.writer', %s, true)", db.schema)
    db.run(
        "INSERT INTO {s}.rel (rt, ri, rr, st, si) SELECT 'document', 'd' || n, 'viewer', 'user', 'tom' "
        "FROM generate_series(%s::int, %s) n",
        first,
        first + count - 1,
    )
    db.run("SELECT {s}._import(1, NULL)")
    db.run("COMMIT")


def test_the_planner_knows_of_an_import_that_makes_the_table_much_larger(db):
    known = "SELECT reltuples::bigint FROM pg_class WHERE oid = '{s}.rel'::regclass"
    db.run("ALTER TABLE {s}.rel SET (autovacuum_enabled = off)")
    assert db.one(known) == -1
    import_documents(db, 0, 100)
    assert db.one(known) == -1
    import_documents(db, 100, 9900)
    assert db.one(known) == 10000
    import_documents(db, 10000, 1000)
    assert db.one(known) == 10000
    import_documents(db, 11000, 19000)
    assert db.one(known) == 30000
    assert db.one("SELECT n_distinct FROM pg_stats WHERE schemaname = %s AND attname = 'rt'", db.schema) == 1


def test_an_import_waits_for_nobody_who_analyses(db, other):
    db.run("ALTER TABLE {s}.rel SET (autovacuum_enabled = off)")
    other.begin()
    other.run("ANALYZE {s}.rel")
    import_documents(db, 0, 10000)
    other.run("COMMIT")
    assert db.rows() == 10000


# ------------------------------------------------------------ fetching


WALKS = {
    "rel_live": "SELECT * FROM {s}._walk('{\"(1,d1,tom)\"}'::{s}._seed[], %s::{s}._probe[], 100)",
    "rel_reverse": "SELECT * FROM {s}._return('{\"(1,d1,)\"}'::{s}._seed[], %s::{s}._probe[], '{}'::{s}._probe[], 100)",
}


@pytest.mark.parametrize("index", WALKS)
@pytest.mark.parametrize("known", ["nothing", "members", "documents"])
def test_a_fetch_reads_by_one_index_whatever_the_planner_knows(db, index, known):
    """With all names known the other would do as well, and read all members of a group to find one."""
    db.run("ALTER TABLE {s}.rel SET (autovacuum_enabled = off)")
    db.run("SET licet.writer = '" + db.schema + "'")
    for name in ("enable_seqscan", "enable_bitmapscan"):
        db.run(f"SET {name} = off")
    make = "INSERT INTO {s}.rel (rt, ri, rr, st, si) SELECT 'document', %s || n, 'viewer', 'user', 'u' || n %% 7 "
    make += "FROM generate_series(1, %s) n"
    db.run(make, "few", 50)
    if known == "members":
        db.run("UPDATE {s}.rel SET ri = 'd1', si = ri")
    if known != "nothing":
        db.run("ANALYZE {s}.rel")
    db.run(make, "many", 20000)
    probes = '{"(0,1,document,viewer,user,...,1,0)","(1,1,document,parent,folder,...,0,1)"}'
    plan = "\n".join(row[0] for row in db.run("EXPLAIN " + WALKS[index], probes))
    assert set(re.findall(r"using (\w+) on rel", plan)) == {index}, plan


# ------------------------------------------------------------ guards and rights


@pytest.mark.parametrize("table", ["meta", "rel", "tx", "zed", "names", "allowed", "parameters", "imports"])
def test_direct_changes_are_refused(db, table):
    db.write("document:plan#viewer@user:tom")
    with refused(db, "LZ008", table):
        db.run("DELETE FROM {s}." + table)
    with refused(db, "LZ008", table):
        db.run("TRUNCATE {s}." + table)
    column = db.one(
        "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum = 1", f"{db.schema}.{table}"
    )
    with refused(db, "LZ008", table):
        db.run(f"UPDATE {{s}}.{table} SET {column} = {column}")
    with refused(db, "LZ008", table):
        db.run(f"INSERT INTO {{s}}.{table} SELECT * FROM {{s}}.{table}")


def test_a_write_does_not_leave_the_guard_open(db):
    db.begin()
    db.write("document:plan#viewer@user:tom")
    db.delete({"resource_id": "plan"})
    with refused(db, "LZ008"):
        db.run("DELETE FROM {s}.tx")


def test_a_role_needs_rights_on_functions_only(store, db):
    role = "r_" + uuid.uuid4().hex[:12]
    db.run(f"CREATE ROLE {role}")
    try:
        db.run(f"SET ROLE {role}")
        with refused(db, "42501"):
            db.write("document:plan#viewer@user:tom")
        db.run("RESET ROLE")
        db.run(f"GRANT USAGE ON SCHEMA {{s}} TO {role}")
        db.run(f"SET ROLE {role}")
        for call in ("write('{}')", "delete('{}')", "read('{}')", "token()", "_write('{}', 1, NULL)", "_repair()"):
            with refused(db, "42501"):
                db.run("SELECT {s}." + call)
        db.run("RESET ROLE")
        for function in ("write(jsonb)", "delete(jsonb)", "read(jsonb)", "token()"):
            db.run(f"GRANT EXECUTE ON FUNCTION {{s}}.{function} TO {role}")
        db.run(f"SET ROLE {role}")
        db.write("document:plan#viewer@user:tom")
        assert db.read(resource_type="document") == ["document:plan#viewer@user:tom"]
        assert db.delete({"resource_type": "document"})["token"] == db.one("SELECT {s}.token()")
        for table in ("meta", "rel", "tx"):
            with refused(db, "42501"):
                db.run("SELECT * FROM {s}." + table)
    finally:
        db.run("RESET ROLE")
        db.run(f"DROP OWNED BY {role}")
        db.run(f"DROP ROLE {role}")


# ------------------------------------------------------------ garbage collection


def collect(session: Session, window: str = "0", batch: int = 1000) -> tuple[int, int, bool]:
    ((removed, expired, is_done),) = session.run(
        "SELECT removed, expired, is_done FROM {s}._collect(%s::interval, %s)", window, batch
    )
    return removed, expired, is_done


def test_garbage_goes_in_batches_and_the_horizon_goes_with_it(db):
    db.write(*documents(5))
    db.write(*("-" + name for name in documents(5)))
    ended = db.one("SELECT max(deleted_xid::text::bigint) FROM {s}.rel WHERE NOT " + ALIVE)
    db.write("document:plan#viewer@user:tom")
    assert collect(db, "1 hour") == (0, 0, True)
    assert db.one("SELECT gc_horizon::text::bigint FROM {s}.meta") == 0
    assert [collect(db, batch=2) for _ in range(3)] == [(2, 0, False), (2, 0, False), (1, 0, True)]
    assert db.one("SELECT gc_horizon::text::bigint FROM {s}.meta") > ended
    assert db.rows(where="true") == 1
    assert db.one("SELECT count(*) FROM {s}.tx") == 1


def test_how_a_write_ended_is_known_for_longer_than_it_may_take_however_short_the_window(db):
    request = "8b5c1f0e-0000-4000-8000-000000000007"
    outcome = f"SELECT xid::text FROM {{s}}._outcome('{request}')"
    xid = db.one(f"SELECT xid::text FROM {{s}}._write('{{}}', 1, '{request}')")

    def collected() -> bool:
        db.write()
        while db.one("SELECT gc_horizon <= %s::xid8 FROM {s}.meta", xid):  # others may still run
            db.write()
            collect(db)
        collect(db)
        return db.one(f"SELECT count(*) = 0 FROM {{s}}.tx WHERE request = '{request}'")

    assert not collected()
    assert db.one(outcome) == xid
    db.run("SET licet.writer = '" + db.schema + "'")
    db.run("UPDATE {s}.tx SET at = at - interval '21 minutes' WHERE request IS NOT NULL")
    db.run("RESET licet.writer")
    assert collected()
    assert db.one(outcome) is None


def test_the_horizon_moves_in_the_transaction_that_removes(store, db, other):
    db.write("document:plan#viewer@user:tom")
    db.write("-document:plan#viewer@user:tom")
    db.write()
    db.begin()
    assert collect(db)[0] == 1
    assert other.run("SELECT gc_horizon::text, (SELECT count(*) FROM {s}.rel) FROM {s}.meta") == [("0", 1)]
    db.run("ROLLBACK")
    assert db.run("SELECT gc_horizon::text, (SELECT count(*) FROM {s}.rel) FROM {s}.meta") == [("0", 1)]


def test_what_a_running_transaction_may_need_is_not_collected(store, db, other):
    db.write("document:plan#viewer@user:tom")
    other.begin()
    other.run("SELECT pg_current_xact_id()")  # runs in every snapshot from now on
    db.write("-document:plan#viewer@user:tom")
    db.write()
    assert collect(db)[0] == 0
    other.run("COMMIT")
    assert collect(db)[0] == 0  # no snapshot was recorded since
    db.write()
    assert collect(db)[0] == 1


def test_every_snapshot_that_the_horizon_allows_shows_what_it_showed(store, db):
    """What each snapshot showed is noted when it is taken, and compared for as long as gc_horizon <= its xmin."""
    shown: dict[str, list[tuple[Any, ...]]] = {}
    look = (
        "SELECT ri, caveat FROM {s}.rel WHERE pg_visible_in_snapshot(created_xid, %s::pg_snapshot) AND "
        "NOT pg_visible_in_snapshot(deleted_xid, %s::pg_snapshot) ORDER BY 1"
    )
    compared = 0
    for step in range(60):
        name = documents(7)[step * 5 % 7]
        db.write(("-" + name) if step % 3 == 0 else name + ("[limits]" if step % 2 else ""))
        snapshot = db.one("SELECT pg_current_snapshot()::text")
        shown[snapshot] = db.run(look, snapshot, snapshot)
        if step % 4 == 0:
            time.sleep(0.02)
            collect(db, "0.1 seconds", 3)
        horizon = db.one("SELECT gc_horizon::text::bigint FROM {s}.meta")
        for old, rows in shown.items():
            if horizon <= int(old.split(":")[0]):
                assert db.run(look, old, old) == rows
                compared += 1
    assert compared > 60
    assert horizon > 0


def test_what_expired_long_ago_is_ended_first_and_removed_a_window_later(db):
    text = "document:plan#viewer@user:tom[expiration:2001-02-03T04:05:06Z]"
    soon = "document:plan#viewer@user:ann[expiration:2999-01-01T00:00:00Z]"
    db.write(text, soon)
    assert collect(db, "1 hour") == (0, 1, True)
    assert (db.rows(), db.rows(where="true")) == (1, 2)
    assert db.run("SELECT collects FROM {s}.tx ORDER BY xid DESC LIMIT 1") == [(True,)]
    db.write(text)  # is created anew: it is there no more
    db.write()
    assert collect(db) == (1, 1, True)
    assert db.rows() == 1


def test_rows_that_somebody_changes_are_left_alone(store, db, other):
    db.write("document:plan#viewer@user:tom[expiration:2001-02-03T04:05:06Z]")
    other.begin()
    other.write("document:plan#viewer@user:tom")
    assert collect(db, "1 hour") == (0, 0, True)
    other.run("COMMIT")
    assert db.read(resource_type="document") == ["document:plan#viewer@user:tom"]


def test_one_collects_at_a_time(db, other):
    db.write("document:plan#viewer@user:tom")
    db.write("-document:plan#viewer@user:tom")
    db.write()
    db.begin()
    assert collect(db)[0] == 1
    assert collect(other) == (0, 0, True)
    db.run("COMMIT")


def test_the_schema_in_force_is_never_collected(store, db):
    store.write_schema({**DEFINITIONS, "text": "second"}, 1)
    for _ in range(3):
        db.write()
        collect(db)
    assert db.run("SELECT version FROM {s}.zed") == [(2,)]
    db.write("document:plan#viewer@user:tom")


@pytest.mark.parametrize("isolation", ISOLATIONS)
def test_collecting_does_not_hide_an_interference_from_a_fixed_snapshot(db, other, isolation):
    db.begin(isolation)
    other.write("+document:plan#viewer@user:tom")
    other.write()
    collect(other)
    assert other.one("SELECT count(*) FROM {s}.tx") == 1
    with refused(db, "40001"):
        db.delete({"resource_id": "plan"})


# ------------------------------------------------------------ many at once

DOCUMENTS = 8
HARMLESS = ("40001", "40P01", "LZ001", "LZ002")


def some_updates(random: Random) -> list[str]:
    """Of distinct relationships."""
    updates = {}
    for _ in range(random.randrange(1, 5)):
        name = f"document:d{random.randrange(DOCUMENTS)}#viewer@user:u{random.randrange(3)}"
        operation = random.choice(["+", "-", ""])
        form = random.choice(["", "[limits]", "[expiration:2030-01-02T03:04:05Z]"]) if operation != "-" else ""
        updates[name] = operation + name + form
    return list(updates.values())


def do_something(session: Session, random: Random) -> None:
    owner = {"resource_type": "document", "resource_id": f"d{random.randrange(DOCUMENTS)}", "relation": "owner"}
    kind = random.randrange(5)
    if kind == 0:
        session.delete({**owner, "relation": "viewer"})
    elif kind == 1:
        session.delete(owner, preconditions=[{"must_match": {"resource_id": owner["resource_id"]}}])
    elif kind == 2:
        wide = random.random() < 0.3
        condition = {key: value for key, value in owner.items() if key != "resource_type" or not wide}
        update = f"+document:{owner['resource_id']}#owner@user:u{random.randrange(50)}"
        session.write(update, preconditions=[{"must_not_match": condition}])
    else:
        session.write(*some_updates(random))


def complete(snapshot: str, own: int) -> tuple[int, int, set[int]]:
    """xmin, xmax and what runs, with the own transaction ended."""
    _, xmax, running = (part.split(",") for part in snapshot.split(":"))
    runs, end = {int(xid) for xid in running if xid}, int(xmax[0])
    if own >= end:
        runs, end = runs | set(range(end, own)), own + 1
    return min(runs, default=end), end, runs


def look_back(session: Session, snapshot: tuple[int, int, set[int]]) -> list[tuple[str, ...]] | None:
    """The keys that live there; None when too much was collected to say."""

    def sees(xid: int) -> bool:
        return xid < snapshot[1] and xid not in snapshot[2]

    rows = session.run(
        "SELECT m.gc_horizon::text::bigint, r.created_xid::text::bigint, r.deleted_xid::text::bigint, r.ri, r.rr, r.si "
        "FROM {s}.meta m LEFT JOIN {s}.rel r ON true"
    )
    if rows[0][0] > snapshot[0]:
        return None
    return [row[3:] for row in rows if row[1] is not None and sees(row[1]) and not sees(row[2])]


def keep_writing(session: Session, seed: int, until: float) -> tuple[int, list[str]]:
    """Committed transactions, and what was wrong."""
    random, committed = Random(seed), 0
    while time.monotonic() < until:
        try:
            session.begin(random.choice(["READ COMMITTED", "READ COMMITTED", *ISOLATIONS]))
            do_something(session, random)
            session.run("SAVEPOINT s")
            do_something(session, random)
            if random.random() < 0.3:
                session.run("ROLLBACK TO s")
            if random.random() < 0.2:
                session.run("ROLLBACK")
                continue
            ((snapshot, own),) = session.run("SELECT pg_current_snapshot()::text, pg_current_xact_id()::text::bigint")
            session.run("COMMIT")
        except psycopg.Error as error:
            session.run("ROLLBACK")
            if error.sqlstate not in HARMLESS:
                return committed, [f"{error.sqlstate}: {error}"]
            continue
        committed += 1
        living = look_back(session, complete(snapshot, own)) or []
        owned = [resource for resource, relation, _ in living if relation == "owner"]
        if len(living) != len(set(living)) or len(owned) != len(set(owned)):
            return committed, [f"at {snapshot} with {own}: {sorted(living)}"]
    return committed, []


def test_at_no_snapshot_lives_a_relationship_twice_or_what_must_not_match(store):
    """Writers of every isolation with savepoints and rollbacks, and garbage collection. Each committed transaction is
    looked back at: one living version of each relationship, one owner of each document, whose writers all ask for none."""
    until = time.monotonic() + 8
    writers = [store.session() for _ in range(4)]
    running = [writer.thread.submit(keep_writing, writer, seed, until) for seed, writer in enumerate(writers)]
    collector, removed = store.session(), 0
    while time.monotonic() < until:
        removed += collect(collector, "0.2 seconds", 50)[0]
        time.sleep(0.05)
    outcomes = [future.result(120) for future in running]
    assert [wrong for _, wrong in outcomes] == [[]] * len(writers)
    assert sum(committed for committed, _ in outcomes) > 20
    assert removed > 0
    assert store.admin.rows(where="created_xid = deleted_xid") == 0


# ------------------------------------------------------------ repair


def test_a_repair_makes_another_store_of_what_lives(store, db):
    db.write(*documents(3))
    db.write("-" + documents(1)[0])
    store.write_schema({**DEFINITIONS, "text": "second"}, 1)
    mark, key = db.run("SELECT store, token_key FROM {s}.meta")[0]
    assert db.run("SELECT living, removed FROM {s}._repair()") == [(2, 1)]
    assert db.rows(where="true") == 2
    stamps = db.run(
        "SELECT DISTINCT created_xid FROM {s}.rel UNION SELECT created_xid FROM {s}.zed UNION SELECT gc_horizon FROM {s}.meta"
    )
    assert len(stamps) == 1
    assert db.run("SELECT version, text FROM {s}.zed") == [(2, "second")]
    new_mark, new_key = db.run("SELECT store, token_key FROM {s}.meta")[0]
    assert mark != new_mark and key != new_key and len(new_key) == 32
    db.write("document:plan#viewer@user:tom")
    db.begin("REPEATABLE READ")
    with refused(db, "25001"):
        db.run("SELECT {s}._repair()")


# ------------------------------------------------------------ migrations


def test_a_step_is_taken_once():
    store = Store()
    try:
        step = embed_sql.text_of(1).replace("{schema}", store.schema)
        one, two = store.session(), store.session()
        starts = [one.start(step), two.start(step)]
        outcomes = []
        for session, start in zip((one, two), starts):
            try:
                start.result(20)
                outcomes.append(None)
            except psycopg.Error as error:
                outcomes.append(error.sqlstate)
                session.run("ROLLBACK")
        assert sorted(outcomes, key=str) == ["LZ009", None]
        assert one.one("SELECT version FROM {s}.meta") == 1
        with refused(one, "LZ009", "1") as refusal:
            one.run(step)
        assert refusal.message == f"schema {store.schema} is of version 1, and this is the step to version 1"
    finally:
        store.close()


def test_a_schema_where_anybody_may_create_things_is_no_place_for_a_store():
    store = Store()
    try:
        store.admin.run("CREATE SCHEMA {s}")
        store.admin.run("GRANT CREATE ON SCHEMA {s} TO PUBLIC")
        with refused(store.admin, "LZ004", "") as refusal:
            store.migrate()
        assert refusal.message == f"anybody may create things in schema {store.schema}: choose another"
        store.admin.run("REVOKE CREATE ON SCHEMA {s} FROM PUBLIC")
        store.migrate()
    finally:
        store.close()


def test_two_stores_in_one_database_keep_apart(store, db):
    second = Store()
    try:
        second.migrate()
        second.write_schema(DEFINITIONS, 0)
        theirs = second.session()
        db.begin()
        db.run("SELECT {s}._lock_schema()")
        theirs.write("document:plan#viewer@user:tom")
        db.run("COMMIT")
        assert db.read(resource_type="document") == []
        db.begin()
        db.run("SELECT {s}._import(1, NULL)")
        with refused(db, "LZ008"):
            db.run(f"DELETE FROM {second.schema}.rel")
    finally:
        second.close()


def test_the_embedded_texts_are_current():
    assert subprocess.run([sys.executable, str(ROOT / "tools/embed_sql.py"), "--check"]).returncode == 0


def test_no_literal_means_something_else_without_standard_conforming_strings():
    for file in sorted((ROOT / "core/datastore/postgres/sql").glob("*.sql")):
        text = re.sub(r"\bE'(?:[^'\\]|\\.)*'", "", file.read_text(encoding="ascii"))
        assert "\\" not in text, file.name


# ------------------------------------------------------------ plans


def test_no_write_or_delete_reads_a_whole_table(store, db):
    """Also with plans that were made when the table was empty."""

    def scans():
        return db.one("SELECT seq_scan FROM pg_stat_user_tables WHERE schemaname = %s AND relname = 'rel'", db.schema)

    def exercise(number):
        name = f"document:p{number}#viewer@user:tom"
        exact = {"resource_type": "document", "resource_id": f"p{number}", "relation": "viewer", "subject_type": "user"}
        exact |= {"subject_id": "tom", "subject_relation": ""}
        db.write("+" + name)
        db.write(name + "[limits]", preconditions=[{"must_match": exact}])
        db.write(
            *documents(20), preconditions=[{"must_not_match": {"resource_type": "document", "resource_id": "none"}}]
        )
        db.write("-" + name, preconditions=[{"must_match": {"subject_type": "user", "subject_id": "tom"}}])
        db.write(name)
        db.read(resource_type="document", resource_id=f"p{number}")
        db.delete({"resource_type": "document", "resource_id": f"p{number}"}, limit=5)
        db.run("SELECT {s}._collect('1 hour', 100)")

    exercise(0)
    db.begin()
    db.run("SELECT {s}._import(1, NULL)")
    db.run(
        "INSERT INTO {s}.rel (rt, ri, rr, st, si) "
        "SELECT 'document', 'x' || i, 'viewer', 'user', 'u' || i FROM generate_series(1, 20000) i"
    )
    db.run("COMMIT")
    before = scans()
    exercise(1)
    db.run("ANALYZE {s}.rel")
    exercise(2)
    db.run("SELECT pg_stat_force_next_flush()")
    assert scans() == before

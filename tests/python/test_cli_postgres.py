"""The command line on Postgres: migrate, doctor, gc, and the options beside --db."""

from __future__ import annotations

import json

import licet as module
import pytest
from conftest import RELATIONSHIPS, SCHEMA
from stores import PATIENCE
from test_cli import licet


@pytest.fixture
def db(postgres_uri, postgres_schema):
    """The options that lead to empty tables."""
    module.migrate(postgres_uri, postgres_schema=postgres_schema)
    return ("--db", postgres_uri, "--postgres-schema", postgres_schema)


@pytest.fixture
def world(db):
    with module.open(db[1], postgres_schema=db[3], **PATIENCE) as engine:
        engine.write_schema(SCHEMA)
        engine.touch(*RELATIONSHIPS)
    return db


# ---------------------------------------------------------------- what tends a database


def test_migrate_says_whether_there_was_anything_to_do(tmp_path, postgres_uri, postgres_schema):
    where = ("--db", postgres_uri, "--postgres-schema", postgres_schema)
    status, sql, errors = licet(tmp_path, "migrate", "--dry-run", *where)
    assert (status, errors) == (0, "")
    assert f'CREATE TABLE "{postgres_schema}".rel' in sql
    assert sql == module.migrate(postgres_uri, postgres_schema=postgres_schema, dry_run=True)
    assert licet(tmp_path, "migrate", *where) == (0, "migrated\n", "")
    assert licet(tmp_path, "migrate", *where) == (0, "nothing to do\n", "")
    assert licet(tmp_path, "migrate", "--dry-run", *where) == (0, "", "")


def test_a_schema_is_written_and_read_back(tmp_path, db):
    (tmp_path / "schema.zed").write_text(SCHEMA)
    canonical = module.Schema.parse(SCHEMA).format() + "\n"
    assert licet(tmp_path, "schema", "read", *db)[0] == 2
    assert licet(tmp_path, "schema", "write", *db, "schema.zed") == (0, "schema written\n", "")
    assert licet(tmp_path, "schema", "read", *db) == (0, canonical, "")
    assert licet(tmp_path, "relationships", "write", *db, "document:plan#owner@user:ada")[0] == 0
    status, _, errors = licet(tmp_path, "schema", "write", *db, "-", stdin="definition user {}")
    assert (status, "document" in errors) == (2, True)
    assert licet(tmp_path, "schema", "read", *db) == (0, canonical, "")


def test_doctor_prints_a_line_for_each_finding(tmp_path, db):
    report = module.doctor(db[1], postgres_schema=db[3])
    status, output, errors = licet(tmp_path, "doctor", *db)
    assert (status, errors) == (0 if report else 1, "")
    assert [line.split(":")[0].split() for line in output.splitlines()] == [[f.level, f.name] for f in report.findings]
    status, output, _ = licet(tmp_path, "doctor", "--json", *db)
    told = json.loads(output)
    assert (status, told["ok"]) == (0 if report else 1, report.ok)
    assert [finding["name"] for finding in told["findings"]] == [finding.name for finding in report.findings]
    assert set(told["findings"][0]) == {"name", "level", "message"}


def test_gc_counts_what_it_removed(tmp_path, world):
    assert licet(tmp_path, "gc", *world) == (0, "0 rows removed\n", "")
    assert licet(tmp_path, "gc", "--json", "--window-ms", "86400000", *world) == (0, '{\n  "removed": 0\n}\n', "")


@pytest.mark.parametrize("command", ["migrate", "doctor", "gc"])
def test_what_tends_a_database_needs_one(tmp_path, command):
    status, output, errors = licet(tmp_path, command)
    assert (status, output) == (2, "")
    assert errors.endswith(f"licet {command}: error: the following arguments are required: --db\n")


def test_an_import_with_a_name_says_how_far_it_came_and_goes_on(tmp_path, db):
    with module.open(db[1], postgres_schema=db[3], **PATIENCE) as engine:
        engine.write_schema(SCHEMA)
    command = ("relationships", "import", *db, "--resume", "users", "--batch-size", "2", "users.txt")
    status = ("relationships", "import-status", *db, "users")
    assert licet(tmp_path, *status) == (1, "no import of this name\n", "")
    rows = [f"document:new#owner@user:u{i}" for i in range(6)]
    (tmp_path / "users.txt").write_text(
        "\n".join([*rows[:4], "// a comment", "document:new#nosuch@user:u4", *rows[4:]])
    )
    assert licet(tmp_path, *command) == (
        2,
        "",
        "licet: 4 relationships of 'users' committed: the same command goes on from there\n"
        "licet: relation/permission `nosuch` not found under definition `document`\n",
    )
    assert licet(tmp_path, *status) == (0, "4 relationships committed, not finished\n", "")
    (tmp_path / "users.txt").write_text("\n".join(rows))
    assert licet(tmp_path, *command) == (0, "6 relationships imported\n", "")
    assert licet(tmp_path, *status, "--json") == (
        0,
        '{\n  "count": 6,\n  "is_known": true,\n  "is_finished": true\n}\n',
        "",
    )
    (tmp_path / "users.txt").write_text("\n".join(rows[1:]))
    assert licet(tmp_path, *command) == (
        2,
        "",
        'licet: 6 relationships of the import "users" are committed, and what was given now is less\n',
    )
    assert licet(tmp_path, *status, "--forget") == (0, "6 relationships committed, finished\n", "")
    assert licet(tmp_path, *status) == (1, "no import of this name\n", "")


# ------------------------------------------------------------------------ the other commands


@pytest.mark.parametrize("mode", ["auto", "follow", "prefetch"])
def test_a_check_is_answered_in_every_mode(tmp_path, world, mode):
    question = ("document:plan", "view", "user:ada")
    assert licet(tmp_path, "check", *world, "--mode", mode, *question) == (0, "allowed\n", "")
    assert licet(tmp_path, "check", *world, *question[:2], "user:cy") == (1, "denied\n", "")


@pytest.mark.parametrize(
    "arguments, output",
    [
        (("bulk", "document:plan#view@user:ada"), "allowed      document:plan#view@user:ada\n"),
        (("lookup-resources", "document", "edit", "user:ada"), "allowed      document:plan\n"),
        (("lookup-subjects", "document:plan", "edit", "user"), "allowed      user:ada\n"),
        (("permissions", "document:plan", "user:cy"), "denied       edit\ndenied       view\n"),
        (("filter", "document", "view", "user:ada", "plan"), "plan\n"),
        (("expand", "document:plan", "owner"), "leaf document:plan#owner: user:ada\n"),
        (("relationships", "read", "--resource-type", "group", "--resource-id", "eng"), None),
        (("watch", "--timeout", "0"), ""),
    ],
)
def test_every_command_works_on_a_database(tmp_path, world, arguments, output):
    names = 2 if arguments[0] == "relationships" else 1
    status, printed, errors = licet(tmp_path, *arguments[:names], *world, *arguments[names:])
    assert (status, errors) == (0, "")
    if output is None:
        output = "group:eng#member@user:bo\ngroup:eng#member@user:cy\n"
        printed = "".join(sorted(printed.splitlines(keepends=True)))
    assert printed == output


def test_relationships_are_written_imported_exported_and_deleted(tmp_path, world):
    (tmp_path / "more.txt").write_text("group:art#member@user:zoe\n")
    assert licet(tmp_path, "relationships", "write", *world, "group:art#member@user:ada") == (
        0,
        "1 relationship written\n",
        "",
    )
    assert licet(tmp_path, "relationships", "import", *world, "more.txt") == (0, "1 relationship imported\n", "")
    status, exported, errors = licet(tmp_path, "relationships", "export", *world, "--resource-type", "group")
    assert (status, errors) == (0, "")
    assert sorted(exported.splitlines()) == [
        "group:art#member@user:ada",
        "group:art#member@user:zoe",
        "group:eng#member@user:bo",
        "group:eng#member@user:cy",
    ]
    assert licet(tmp_path, "relationships", "delete", *world, "--resource-id", "art", "--resource-type", "group") == (
        0,
        "2 relationships deleted\n",
        "",
    )
    assert licet(
        tmp_path, "relationships", "delete", *world, "group:eng#member@user:bo", "group:eng#member@user:no"
    ) == (
        0,
        "1 relationship deleted\n",
        "",
    )


def test_tables_that_are_not_there_are_named(tmp_path, postgres_uri, postgres_schema):
    where = ("--db", postgres_uri, "--postgres-schema", postgres_schema)
    status, output, errors = licet(tmp_path, "check", *where, "document:plan", "view", "user:ada")
    assert (status, output) == (2, "")
    assert "migrate" in errors


@pytest.mark.parametrize("command", [("migrate",), ("doctor",), ("gc",), ("check", "a:b", "c", "d:e")])
@pytest.mark.parametrize(
    "uri",
    [
        "postgresql://ada:hunter2@127.0.0.1:1/app",
        "host=127.0.0.1 port=1 password=hunter2",
        "host=127.0.0.1 port=1 nosuch=hunter2",
    ],
)
def test_no_command_repeats_a_password(tmp_path, command, uri):
    status, output, errors = licet(tmp_path, command[0], "--db", uri, *command[1:])
    assert (status, output) == (2, "")
    assert errors.startswith("licet: ")
    assert "hunter2" not in errors

"""The command line: output, standard error and exit status, to the letter."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import RELATIONSHIPS, SCHEMA

WORLD = "schema: |-\n{}\nrelationships: |-\n{}\n".format(
    "\n".join("  " + line if line else "" for line in SCHEMA.rstrip("\n").split("\n")),
    "\n".join("  " + line for line in RELATIONSHIPS),
)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "world.yaml").write_text(WORLD)
    (tmp_path / "good.zed").write_text(SCHEMA)
    (tmp_path / "bad.zed").write_text("definition user {}\n\ndefinition doc {\n\trelation owner: usr\n}\n")
    return tmp_path


def licet(folder, *arguments, stdin=None, **options):
    done = subprocess.run(
        [sys.executable, "-m", "licet", *arguments],
        cwd=folder,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        **options,
    )
    return done.returncode, done.stdout, done.stderr


# ------------------------------------------------------------------------------ check


@pytest.mark.parametrize(
    "question, status, output",
    [
        (("document:plan", "view", "user:ada"), 0, "allowed\n"),
        (("document:plan", "view", "user:cy"), 1, "denied\n"),
        (("document:plan", "viewer", "group:eng#member"), 0, "allowed\n"),
    ],
)
def test_check_answers_in_a_word_and_a_status(folder, question, status, output):
    assert licet(folder, "check", "--file", "world.yaml", *question) == (status, output, "")


def test_check_explains_itself_in_json(folder):
    status, output, errors = licet(
        folder, "check", "--json", "--file", "world.yaml", "document:plan", "view", "user:ada"
    )
    answer = json.loads(output)
    assert (status, errors) == (0, "")
    assert answer.pop("token")
    assert answer == {
        "resource": "document:plan",
        "permission": "view",
        "subject": "user:ada",
        "allowed": True,
        "permissionship": "HAS_PERMISSION",
        "missing_context": [],
        "error": None,
    }


def test_an_error_is_not_a_denial(folder):
    assert licet(folder, "check", "--file", "world.yaml", "document:plan", "nosuch", "user:ada") == (
        2,
        "",
        "licet: relation/permission `nosuch` not found under definition `document`\n",
    )
    assert licet(folder, "check", "--db", "memory:", "document:plan", "view", "user:ada") == (
        2,
        "",
        "licet: object definition `document` not found\n",
    )


def test_a_store_must_be_named_and_only_one(folder):
    status, output, errors = licet(folder, "check", "document:plan", "view", "user:ada")
    assert (status, output) == (2, "")
    assert errors.endswith("licet check: error: one of the arguments --file --db is required\n")
    status, _, errors = licet(folder, "check", "--db", "memory:", "--file", "world.yaml", "a:b", "view", "user:ada")
    assert status == 2
    assert errors.endswith("licet check: error: argument --file: not allowed with argument --db\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "--db", "postgresql://ada:hunter2@db/licet", "document:plan", "view", "user:ada"),
        ("check", "--db", "host=db password=hunter2", "document:plan", "view", "user:ada"),
        ("check", "--dbs", "postgresql://ada:hunter2@db/licet", "document:plan", "view", "user:ada"),
        ("check", "--dbs", "password = hunter2", "document:plan", "view", "user:ada"),
        ("postgresql://ada:hunter2@db/licet",),
        ("relationships", "read", "--limit", "postgresql://ada:hunter2@db/licet", "--db", "memory:"),
    ],
)
def test_no_message_repeats_a_password(folder, arguments):
    status, output, errors = licet(folder, *arguments)
    assert (status, output) == (2, "")
    assert errors
    assert "hunter2" not in errors


# ------------------------------------------------------------------------------- bulk


def test_bulk_answers_every_question(folder):
    questions = ["document:plan#view@user:ada", "document:plan#view@user:cy", "document:plan#viewer@group:eng#member"]
    expected = (
        "allowed      document:plan#view@user:ada\n"
        "denied       document:plan#view@user:cy\n"
        "allowed      document:plan#viewer@group:eng#member\n"
    )
    assert licet(folder, "bulk", "--file", "world.yaml", *questions) == (0, expected, "")
    stdin = "// two questions\n\n" + "".join(f"  {question}\n" for question in questions)
    assert licet(folder, "bulk", "--file", "world.yaml", stdin=stdin) == (0, expected, "")


def test_bulk_says_which_question_has_no_answer(folder):
    assert licet(
        folder, "bulk", "--file", "world.yaml", "document:plan#nosuch@user:ada", "document:plan#view@user:ada"
    ) == (
        2,
        "error        document:plan#nosuch@user:ada\nallowed      document:plan#view@user:ada\n",
        "licet: document:plan#nosuch@user:ada: relation/permission `nosuch` not found under definition `document`\n",
    )


def test_bulk_in_json(folder):
    status, output, errors = licet(
        folder, "bulk", "--json", "--file", "world.yaml", "document:plan#view@user:ada", "nosuch:a#view@user:ada"
    )
    assert (status, errors) == (2, "")
    good, bad = json.loads(output)["results"]
    assert (good["resource"], good["permission"], good["subject"]) == ("document:plan", "view", "user:ada")
    assert good["allowed"] is True and good["error"] is None
    assert bad["allowed"] is False and bad["permissionship"] == "NO_PERMISSION" and bad["token"] is None
    assert bad["error"] == {
        "code": "not_found",
        "kind": "name",
        "message": "object definition `nosuch` not found",
        "line": None,
        "column": None,
        "reason": "UNKNOWN_DEFINITION",
    }


def test_bulk_takes_more_than_one_call_does(folder):
    stdin = "document:plan#view@user:ada\n" * 10_001
    status, output, _ = licet(folder, "bulk", "--file", "world.yaml", stdin=stdin)
    assert (status, output) == (0, "allowed      document:plan#view@user:ada\n" * 10_001)


def test_a_line_that_is_no_question_is_pointed_at(folder):
    assert licet(folder, "bulk", "--file", "world.yaml", stdin="document:plan#view@user:ada\n  doc ument:plan\n") == (
        2,
        "",
        '<stdin>:2:6: error: invalid relationship: expected : after the resource\'s type, not " ument:plan"\n'
        "    2 |   doc ument:plan\n"
        "      |      ^\n",
    )


def test_bytes_that_are_no_text_are_refused_like_any_other_mistake(folder):
    done = subprocess.run(
        [sys.executable, "-m", "licet", "bulk", "--db", "memory:"],
        input=b"document:\xff#view@user:a\n",
        capture_output=True,
    )
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode().startswith(
        "<stdin>:1:1: error: relationship is not text: it holds half of a surrogate pair\n"
        "    1 | document:\\udcff#view@user:a\n"
    )


def test_a_question_has_no_caveat(folder):
    question = "document:plan#view@user:ada[office]"
    assert licet(folder, "bulk", "--file", "world.yaml", question) == (
        2,
        "",
        f"licet: {question}: a question has neither caveat nor expiration\n",
    )


# --------------------------------------------------------------------- caveats, contexts

CAVEATS = """\
schema: |-
  use expiration
  caveat grown(age int, least int) {
    age >= least
  }
  definition user {}
  definition document {
    relation viewer: user with grown | user with expiration
    permission view = viewer
  }
relationships: |-
  document:plan#viewer@user:ada[grown:{"least":18}]
  document:plan#viewer@user:bo[expiration:2999-01-01T00:00:00Z]
  document:plan#viewer@user:cy[expiration:1999-01-01T00:00:00Z]
"""


@pytest.fixture
def caveats(folder):
    (folder / "caveats.yaml").write_text(CAVEATS)
    return folder


@pytest.mark.parametrize(
    "options, status, output",
    [
        ([], 1, "conditional (missing: age)\n"),
        (["--context", '{"age": 18}'], 0, "allowed\n"),
        (["--context", '{"age": 17, "least": 0}'], 1, "denied\n"),
    ],
)
def test_check_takes_a_context(caveats, options, status, output):
    question = ["document:plan", "view", "user:ada"]
    assert licet(caveats, "check", "--file", "caveats.yaml", *options, *question) == (status, output, "")
    answer = json.loads(licet(caveats, "check", "--json", "--file", "caveats.yaml", *options, *question)[1])
    assert answer["missing_context"] == (["age"] if "missing" in output else [])
    assert answer["permissionship"] == {"a": "HAS_PERMISSION", "d": "NO_PERMISSION", "c": "CONDITIONAL"}[output[0]]


@pytest.mark.parametrize("context", ["", "{", "[]", "{age: 18}", '{"age": "x"}'])
def test_a_context_that_is_not_usable_is_no_answer(caveats, context):
    question = ["document:plan", "view", "user:ada"]
    status, output, errors = licet(caveats, "check", "--file", "caveats.yaml", "--context", context, *question)
    assert (status, output) == (2, "")
    assert errors.startswith("licet: ")


def test_questions_of_a_bulk_may_have_their_own_contexts(caveats):
    questions = [
        "document:plan#view@user:ada",
        'document:plan#view@user:ada with {"age": 18}',
        'document:plan#view@user:ada  with {"age": 1}',
        "document:plan#view@user:bo",
        "document:plan#view@user:cy",
    ]
    expected = [
        "conditional  document:plan#view@user:ada (missing: age)",
        'allowed      document:plan#view@user:ada with {"age": 18}',
        'denied       document:plan#view@user:ada with {"age": 1}',
        "allowed      document:plan#view@user:bo",
        "denied       document:plan#view@user:cy",
    ]
    status, output, errors = licet(caveats, "bulk", "--file", "caveats.yaml", stdin="\n".join(questions))
    assert (status, output.splitlines(), errors) == (0, expected, "")

    expected[0] = "allowed      document:plan#view@user:ada"
    status, output, _ = licet(caveats, "bulk", "--file", "caveats.yaml", "--context", '{"age": 20}', *questions)
    assert (status, output.splitlines()) == (0, expected)

    status, output, _ = licet(caveats, "bulk", "--json", "--file", "caveats.yaml", *questions)
    results = json.loads(output)["results"]
    assert [result.get("context") for result in results] == [None, '{"age": 18}', '{"age": 1}', None, None]


def test_relationships_show_their_caveat_and_expiration(caveats):
    arguments = ["relationships", "read", "--file", "caveats.yaml", "--resource-type", "document"]
    status, output, _ = licet(caveats, *arguments)
    assert (status, sorted(output.splitlines())) == (
        0,
        [
            'document:plan#viewer@user:ada[grown:{"least":18}]',
            "document:plan#viewer@user:bo[expiration:2999-01-01T00:00:00Z]",
        ],
    )
    found = json.loads(licet(caveats, *arguments, "--json", "--subject-type", "user", "--subject-id", "ada")[1])
    (relationship,) = found["relationships"]
    assert (relationship["caveat_name"], relationship["caveat_context"]) == ("grown", '{"least":18}')


def test_relationships_are_written_with_caveat_and_expiration(caveats):
    arguments = ["relationships", "write", "--file", "caveats.yaml"]
    for text in [
        'document:a#viewer@user:a[grown:{"age":1}]',
        "document:a#viewer@user:a[expiration:2999-01-01T00:00:00Z]",
    ]:
        assert licet(caveats, *arguments, text) == (0, "1 relationship written\n", "")
    for text in [
        "document:a#viewer@user:a",
        "document:a#viewer@user:a[nosuch]",
        'document:a#viewer@user:a[grown:{"x":1}]',
    ]:
        status, output, errors = licet(caveats, *arguments, text)
        assert (status, output) == (2, "")
        assert errors.startswith("licet: ")


# ---------------------------------------------------------------------- relationships


def test_relationships_are_read_by_filter(folder):
    status, output, errors = licet(
        folder, "relationships", "read", "--file", "world.yaml", "--resource-type", "group", "--relation", "member"
    )
    assert (status, errors) == (0, "")
    assert sorted(output.splitlines()) == sorted(RELATIONSHIPS[4:])
    status, output, _ = licet(
        folder, "relationships", "read", "--file", "world.yaml", "--resource-type", "document", "--limit", "1", "--json"
    )
    document = json.loads(output)
    assert status == 0 and document["token"]
    (relationship,) = document["relationships"]
    assert relationship["text"] in RELATIONSHIPS
    assert relationship["resource_type"] == "document"


def test_a_filter_selects_something_in_particular(folder):
    status, output, errors = licet(folder, "relationships", "read", "--file", "world.yaml")
    assert (status, output) == (2, "")
    assert errors.startswith("licet: ")


def test_relationships_are_written_all_or_none(folder):
    assert licet(folder, "relationships", "write", "--file", "world.yaml", "document:new#owner@user:eve") == (
        0,
        "1 relationship written\n",
        "",
    )
    assert licet(
        folder, "relationships", "write", "--file", "world.yaml", stdin="// nobody\ndocument:a#owner@user:eve\n"
    ) == (0, "1 relationship written\n", "")
    status, output, errors = licet(
        folder, "relationships", "write", "--create", "--file", "world.yaml", RELATIONSHIPS[0]
    )
    assert (status, output) == (2, "")
    assert RELATIONSHIPS[0] in errors
    status, output, errors = licet(
        folder, "relationships", "write", "--json", "--file", "world.yaml", "a:b#owner@user:x"
    )
    assert (status, output) == (2, "")


def test_relationships_are_deleted_by_name_or_by_filter(folder):
    command = ("relationships", "delete", "--file", "world.yaml")
    assert licet(folder, *command, RELATIONSHIPS[0], "document:no#owner@user:one") == (
        0,
        "1 relationship deleted\n",
        "",
    )
    assert licet(folder, *command, "--resource-type", "group") == (0, "2 relationships deleted\n", "")
    assert licet(folder, *command, "--resource-type", "group", RELATIONSHIPS[0]) == (
        2,
        "",
        "licet: give relationships or a filter, not both\n",
    )
    status, output, _ = licet(folder, *command, "--json", "--resource-type", "group")
    assert status == 0
    assert json.loads(output)["deleted"] == 2


# ----------------------------------------------------------------------------- schema


def test_schema_check_points_at_what_is_wrong(folder):
    assert licet(folder, "schema", "check", "good.zed", "bad.zed", "nosuch.zed") == (
        2,
        "ok        good.zed: 3 definitions\nunusable  bad.zed\nunusable  nosuch.zed\n",
        "bad.zed:4:18: error: could not lookup definition `usr` for relation `owner`: "
        "object definition `usr` not found\n"
        "    4 |     relation owner: usr\n"
        "      |                     ^^^\n"
        "nosuch.zed: error: No such file or directory\n",
    )
    assert licet(folder, "schema", "check", "-", stdin="definition user {}\n") == (
        0,
        "ok        <stdin>: 1 definition\n",
        "",
    )


def test_schema_check_in_json(folder):
    status, output, errors = licet(folder, "schema", "check", "--json", "good.zed", "bad.zed")
    assert (status, errors) == (2, "")
    good, bad = json.loads(output)["files"]
    assert good == {"path": "good.zed", "outcome": "ok", "definitions": 3, "lints": [], "error": None}
    assert (bad["outcome"], bad["error"]["line"], bad["error"]["column"]) == ("unusable", 4, 18)
    assert bad["error"]["code"] == "schema_error"


def test_schema_lint_warns(folder):
    (folder / "lint.zed").write_text("definition user {}\n\ndefinition doc {\n  relation view_doc: user\n}\n")
    assert licet(folder, "schema", "lint", "good.zed") == (0, "ok        good.zed: 3 definitions\n", "")
    status, output, errors = licet(folder, "schema", "lint", "lint.zed")
    assert (status, output) == (1, "lints     lint.zed: 2 definitions\n")
    first, *excerpt = errors.splitlines()
    assert first.startswith("lint.zed:4:3: warning: ")
    assert first.endswith("(relation-name-references-parent)")
    assert excerpt == ["    4 |   relation view_doc: user", "      |   ^^^^^^^^"]
    status, output, _ = licet(folder, "schema", "lint", "--json", "lint.zed")
    (values,) = json.loads(output)["files"]
    assert status == 1
    assert [(lint["name"], lint["line"], lint["column"]) for lint in values["lints"]] == [
        ("relation-name-references-parent", 4, 3)
    ]


UGLY = "// people\ndefinition   user{}\ndefinition doc{\nrelation owner:user\n}"
CANONICAL = "// people\ndefinition user {}\n\ndefinition doc {\n\trelation owner: user\n}\n"


def test_schema_fmt_prints_or_writes_or_checks(folder):
    ugly = folder / "ugly.zed"
    ugly.write_text(UGLY)
    ugly.chmod(0o640)
    assert licet(folder, "schema", "fmt", "ugly.zed") == (0, CANONICAL, "")
    assert licet(folder, "schema", "fmt", "-", stdin=UGLY) == (0, CANONICAL, "")
    assert licet(folder, "schema", "fmt", "--check", "ugly.zed") == (1, "ugly.zed: would be changed\n", "")
    assert ugly.read_text() == UGLY
    assert licet(folder, "schema", "fmt", "--write", "ugly.zed") == (0, "ugly.zed: changed\n", "")
    assert ugly.read_text() == CANONICAL
    assert ugly.stat().st_mode & 0o777 == 0o640
    assert licet(folder, "schema", "fmt", "--write", "ugly.zed") == (0, "", "")
    assert licet(folder, "schema", "fmt", "--check", "ugly.zed") == (0, "", "")
    assert sorted(path.name for path in folder.iterdir()) == ["bad.zed", "good.zed", "ugly.zed", "world.yaml"]


def test_schema_fmt_leaves_what_is_wrong_alone(folder):
    text = (folder / "bad.zed").read_text()
    status, output, errors = licet(folder, "schema", "fmt", "--write", "bad.zed")
    assert (status, output) == (2, "")
    assert errors.startswith("bad.zed:4:18: error: ")
    assert (folder / "bad.zed").read_text() == text


@pytest.mark.parametrize(
    "text, lost",
    [
        ("definition user {}\n// the end\n", "comments inside a line or at the end of a block"),
        ("use partial\npartial p {\n}\ndefinition user {\n  ...p\n}\n", "partials"),
    ],
)
def test_schema_fmt_writes_nothing_that_loses_words(folder, text, lost):
    (folder / "kept.zed").write_text(text)
    assert licet(folder, "schema", "fmt", "--write", "kept.zed") == (
        1,
        "",
        f"kept.zed: not changed: the canonical text has no {lost}; --force writes it all the same\n",
    )
    assert (folder / "kept.zed").read_text() == text
    assert licet(folder, "schema", "fmt", "--write", "--force", "kept.zed") == (0, "kept.zed: changed\n", "")
    assert (folder / "kept.zed").read_text() == "definition user {}\n"


def test_schema_files_may_import_their_neighbours(folder):
    (folder / "deep").mkdir()
    (folder / "deep" / "user.zed").write_text("definition user {}\n")
    (folder / "deep" / "main.zed").write_text(
        'use import\nimport "user.zed"\n\ndefinition doc {\n  relation owner: user\n}\n'
    )
    assert licet(folder, "schema", "check", "deep/main.zed") == (0, "ok        deep/main.zed: 2 definitions\n", "")
    (folder / "main.zed").write_text('use import\nimport "../' + folder.name + '/deep/user.zed"\n')
    status, output, _ = licet(folder, "schema", "check", "main.zed")
    assert (status, output) == (2, "unusable  main.zed\n")


def test_an_error_in_another_file_is_shown_in_that_file(folder):
    deep = folder / "deep"
    deep.mkdir()
    (deep / "part.zed").write_text("definition user {\n  relation own user\n}\n")
    (deep / "main.zed").write_text('use import\nimport "part.zed"\n')
    (deep / "file.yaml").write_text("schemaFile: main.zed\n")
    for command in (("schema", "check"), ("validate",)):
        _, _, errors = licet(folder, *command, "deep/main.zed")
        assert errors == (
            'deep/part.zed:2:16: error: expected ":", found "user"\n'
            "    2 |   relation own user\n"
            "      |                ^^^^\n"
        )
    _, _, errors = licet(folder, "validate", "deep/file.yaml")
    assert errors.startswith('deep/part.zed:2:16: error: expected ":", found "user"\n')


# --------------------------------------------------------------------------- validate


def assertions(**lists):
    return "assertions:\n" + "".join(
        f"  {name}:\n" + "".join(f'    - "{entry}"\n' for entry in entries) for name, entries in lists.items()
    )


def test_validate_says_a_line_for_each_file_and_the_totals(folder):
    (folder / "fine.yaml").write_text(
        WORLD
        + assertions(assertTrue=["document:plan#view@user:ada"], assertFalse=["document:plan#view@user:cy"])
        + 'validation:\n  document:plan#owner:\n    - "[user:ada] is <document:plan#owner>"\n'
    )
    assert licet(folder, "validate", "fine.yaml", "world.yaml", "good.zed") == (
        0,
        "ok        fine.yaml: 6 relationships, 2 assertions, 1 expected relation\n"
        "ok        world.yaml: 6 relationships, 0 assertions, 0 expected relations\n"
        "ok        good.zed: 0 relationships, 0 assertions, 0 expected relations\n"
        "3 files: 3 ok, 0 failed, 0 unusable; 2 assertions, 1 expected relation, 0 failures, 0 warnings\n",
        "",
    )


def test_validate_points_at_what_does_not_hold(folder):
    text = WORLD + assertions(assertTrue=["document:plan#view@user:eve"], assertFalse=["document:plan#view@user:ada"])
    (folder / "fails.yaml").write_text(text)
    line = text.split("\n").index('    - "document:plan#view@user:eve"') + 1
    status, output, errors = licet(folder, "validate", "fails.yaml")
    assert (status, output) == (
        1,
        "failed    fails.yaml: 6 relationships, 2 assertions, 0 expected relations\n"
        "1 file: 0 ok, 1 failed, 0 unusable; 2 assertions, 0 expected relations, 2 failures, 0 warnings\n",
    )
    assert errors.splitlines()[:2] == [
        f"fails.yaml:{line}:8: error: Expected relation or permission document:plan#view@user:eve to exist",
        f'{line:>5} |     - "document:plan#view@user:eve"',
    ]
    assert "Expected relation or permission document:plan#view@user:ada to not exist" in errors


def test_validate_goes_on_after_a_file_it_can_not_use(folder):
    (folder / "broken.yaml").write_text(
        "schema: |-\n  definition user {}\n\n  definition doc {\n    relation own: usr\n  }\n"
    )
    status, output, errors = licet(folder, "validate", "broken.yaml", "nosuch.yaml", "world.yaml")
    assert (status, output) == (
        2,
        "unusable  broken.yaml\n"
        "unusable  nosuch.yaml\n"
        "ok        world.yaml: 6 relationships, 0 assertions, 0 expected relations\n"
        "3 files: 1 ok, 0 failed, 2 unusable; 0 assertions, 0 expected relations, 0 failures, 0 warnings\n",
    )
    assert errors.startswith("broken.yaml:5:19: error: ")
    assert "    5 |     relation own: usr\n      |                   ^^^\n" in errors
    assert errors.endswith("nosuch.yaml: error: No such file or directory\n")


def test_validate_in_json_is_one_document(folder):
    (folder / "fails.yaml").write_text(WORLD + assertions(assertTrue=["document:plan#view@user:eve"]))
    status, output, errors = licet(folder, "validate", "--json", "fails.yaml", "nosuch.yaml", "bad.zed")
    assert (status, errors) == (2, "")
    document = json.loads(output)
    assert document["totals"] == {
        "files": 3,
        "ok": 0,
        "failed": 1,
        "unusable": 2,
        "relationships": 6,
        "assertions": 1,
        "expected_relations": 0,
        "failures": 1,
        "warnings": 0,
    }
    fails, missing, bad = document["files"]
    (finding,) = fails["findings"]
    assert (finding["source"], finding["kind"], finding["is_warning"]) == ("assertion", "ASSERTION_FAILED", False)
    assert fails["error"] is None
    assert missing["error"]["code"] == "unreadable"
    assert (bad["error"]["line"], bad["error"]["column"]) == (4, 18)


def test_validate_finds_the_schema_beside_the_file(folder):
    (folder / "deep").mkdir()
    (folder / "deep" / "schema.zed").write_text(SCHEMA)
    (folder / "deep" / "file.yaml").write_text(
        "schemaFile: schema.zed\nrelationships: |-\n  group:eng#member@user:bo\n"
    )
    assert licet(folder, "validate", "deep/file.yaml")[:2] == (
        0,
        "ok        deep/file.yaml: 1 relationship, 0 assertions, 0 expected relations\n"
        "1 file: 1 ok, 0 failed, 0 unusable; 0 assertions, 0 expected relations, 0 failures, 0 warnings\n",
    )
    (folder / "file.yaml").write_text("schemaFile: ../" + folder.name + "/deep/schema.zed\n")
    assert licet(folder, "validate", "file.yaml")[0] == 2


def test_validate_knows_a_schema_when_it_sees_one(folder):
    (folder / "noending").write_text(SCHEMA)
    (folder / "yamlish").write_text(WORLD)
    assert licet(folder, "validate", "noending", "yamlish")[:2] == (
        0,
        "ok        noending: 0 relationships, 0 assertions, 0 expected relations\n"
        "ok        yamlish: 6 relationships, 0 assertions, 0 expected relations\n"
        "2 files: 2 ok, 0 failed, 0 unusable; 0 assertions, 0 expected relations, 0 failures, 0 warnings\n",
    )


def test_a_file_without_end_is_refused(folder):
    status, output, errors = licet(folder, "validate", "/dev/zero")
    assert (status, output.splitlines()[0]) == (2, "unusable  /dev/zero")
    assert errors


# ---------------------------------------------------------------------------- manners


def test_names_and_lines_from_outside_can_not_write_to_the_terminal(folder):
    name = "evil\x1b[31m\n.zed"
    (folder / name).write_text("definition \x1b[31m\u202e {}\n")
    status, output, errors = licet(folder, "validate", name)
    assert status == 2
    assert not {"\x1b", "\u202e"} & set(output + errors)
    assert output.splitlines()[0] == "unusable  evil\\x1b[31m\\n.zed"


def test_long_and_wide_lines_are_shown_around_the_place(folder):
    (folder / "long.zed").write_text("/* " + "x" * 500 + " */ nonsense /* " + "y" * 500 + " */\n")
    _, _, errors = licet(folder, "schema", "check", "long.zed")
    _, source, mark = errors.splitlines()
    assert len(source) == 108
    start, length = mark.index("^"), mark.count("^")
    assert source[start : start + length] == "nonsense"
    (folder / "wide.zed").write_text("/* 日本 */ nonsense\n")
    _, _, errors = licet(folder, "schema", "check", "wide.zed")
    assert errors.splitlines()[1:] == ["    1 | /* 日本 */ nonsense", "      |            ^^^^^^^^"]


def test_output_that_nobody_reads_is_no_error(folder):
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "licet", "demo"], stdout=write, stderr=subprocess.PIPE, text=True, timeout=60
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.parametrize(
    "closed, arguments, status, output",
    [
        (">&-", ("check", "--file", "world.yaml", "document:plan", "view", "user:ada"), 0, ""),
        (">&-", ("check", "--file", "world.yaml", "document:plan", "view", "user:cy"), 1, ""),
        (">&-", ("validate", "world.yaml", "good.zed"), 0, ""),
        ("2>&-", ("validate", "bad.zed", "nosuch.yaml"), 2, None),
        ("<&-", ("bulk", "--file", "world.yaml"), 0, ""),
        ("<&-", ("schema", "fmt", "-"), 0, "\n"),
        ("<&- >&- 2>&-", ("check", "--file", "world.yaml", "document:plan", "nosuch", "user:ada"), 2, ""),
    ],
)
def test_a_stream_that_is_closed_is_like_one_that_leads_nowhere(folder, closed, arguments, status, output):
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}', "sh", sys.executable, "-m", "licet", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (status, "")
    assert output is None or done.stdout == output


def test_json_is_json_whatever_the_terminal_knows(folder):
    os.rename(folder / "world.yaml", folder / "wörld ☃ 𝄞.yaml")
    for encoding in ("ascii", "latin-1", "utf-8"):
        done = subprocess.run(
            [sys.executable, "-m", "licet", "validate", "--json", "wörld ☃ 𝄞.yaml"],
            cwd=folder,
            capture_output=True,
            timeout=60,
            env={**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "1"},
        )
        assert json.loads(done.stdout.decode(encoding))["files"][0]["path"] == "wörld ☃ 𝄞.yaml"


def test_a_terminal_that_only_knows_ascii_still_gets_everything(folder):
    (folder / "ü.zed").write_text("definition user {}\n", encoding="utf-8")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    assert licet(folder, "schema", "check", "ü.zed", env=environment)[:2] == (0, "ok        \\xfc.zed: 1 definition\n")


def test_the_version_is_the_librarys(folder):
    import licet as module

    assert licet(folder, "--version") == (0, f"licet {module.__version__}\n", "")


@pytest.mark.parametrize("command", ["validate", "schema", "schema fmt", "check", "bulk", "relationships read", "demo"])
def test_every_command_has_help(folder, command):
    status, output, errors = licet(folder, *command.split(), "--help")
    assert (status, errors) == (0, "")
    assert output.startswith(f"usage: licet {command} ")


def test_the_command_is_installed_under_its_name():
    script = Path(sys.executable).parent / "licet"
    if not script.exists():
        pytest.skip("the package is not installed into this environment")
    done = subprocess.run([script, "--version"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.split()[0]) == (0, "licet")


# ------------------------------------------------------------------------------- demo


def test_the_demo_shows_what_it_says(folder):
    status, output, errors = licet(folder, "demo")
    assert (status, errors) == (0, "")
    assert "   allowed  user:bo   is in group eng, which may read the folder\n" in output
    assert "   denied   user:cy   is in group eng too, but banned from the document\n" in output
    assert "   allowed  edit user:dee\n" in output
    assert output.endswith("   allowed  user:cy   no longer banned\n")

"""The commands that list, tell and move: output, standard error and exit status, to the letter."""

from __future__ import annotations

import json

import licet as module
import pytest
from conftest import RELATIONSHIPS, SCHEMA
from test_cli import WORLD, licet

CAVEATED = """\
schema: |-
  caveat late(hour int) { hour > 20 }
  caveat odd(n int) { 1 / n > 0 }
  definition user {}
  definition document {
    relation viewer: user | user:* | user with late | user with odd
    relation banned: user | user with late
    permission view = viewer - banned
  }
relationships: |-
  document:a#viewer@user:ada
  document:b#viewer@user:ada[late]
  document:c#viewer@user:*
  document:c#banned@user:bo
  document:c#banned@user:cy[late]
  document:d#viewer@user:odd[odd]
"""

MISSING = "licet: relation/permission `nosuch` not found under definition `document`\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "world.yaml").write_text(WORLD)
    (tmp_path / "caveated.yaml").write_text(CAVEATED)
    (tmp_path / "before.zed").write_text(SCHEMA)
    (tmp_path / "after.zed").write_text(SCHEMA.replace("permission edit = owner", "permission edit = owner + viewer"))
    return tmp_path


def lines(outcome):
    status, output, errors = outcome
    assert (status, errors) == (0, "")
    return sorted(output.splitlines())


# ----------------------------------------------------------------------------- lookups


def test_lookup_resources_lists_them(folder):
    assert lines(licet(folder, "lookup-resources", "--file", "world.yaml", "document", "view", "user:ada")) == [
        "allowed      document:open",
        "allowed      document:plan",
    ]
    command = ("lookup-resources", "--file", "caveated.yaml", "document", "view", "user:ada")
    assert lines(licet(folder, *command)) == [
        "allowed      document:a",
        "allowed      document:c",
        "conditional  document:b (missing: hour)",
    ]
    assert len(lines(licet(folder, *command, "--limit", "1"))) == 1
    assert lines(licet(folder, *command, "--context", '{"hour": 9}')) == [
        "allowed      document:a",
        "allowed      document:c",
    ]
    assert licet(folder, "lookup-resources", "--file", "world.yaml", "document", "edit", "user:zed") == (0, "", "")


def test_lookup_resources_in_json(folder):
    status, output, errors = licet(
        folder, "lookup-resources", "--json", "--file", "caveated.yaml", "document", "view", "user:ada"
    )
    answer = json.loads(output)
    assert (status, errors) == (0, "")
    assert answer.pop("token")
    assert sorted(answer["resources"], key=lambda found: found["resource_id"])[1] == {
        "resource_id": "b",
        "permissionship": "CONDITIONAL",
        "missing_context": ["hour"],
    }


def test_lookup_subjects_lists_them(folder):
    command = ("lookup-subjects", "--file", "world.yaml", "document:plan")
    assert lines(licet(folder, *command, "view", "user")) == ["allowed      user:ada", "allowed      user:bo"]
    assert lines(licet(folder, *command, "viewer", "group#member")) == ["allowed      group:eng#member"]


def test_what_a_wildcard_excludes_comes_under_it(folder):
    command = ("lookup-subjects", "--file", "caveated.yaml", "document:c", "view", "user")
    status, output, errors = licet(folder, *command)
    assert (status, errors) == (0, "")
    first, *rest = output.splitlines()
    assert first == "allowed      user:*"
    assert sorted(rest) == ["               but user:bo", "               but user:cy (missing: hour)"]
    assert licet(folder, *command, "--no-wildcards") == (0, "", "")
    answer = json.loads(licet(folder, *command, "--json")[1])
    assert [subject["subject_id"] for subject in answer["subjects"]] == ["*"]
    assert sorted(excluded["subject_id"] for excluded in answer["subjects"][0]["excluded"]) == ["bo", "cy"]


def test_filter_keeps_the_order(folder):
    command = ("filter", "--file", "world.yaml", "document", "view", "user:ada")
    assert licet(folder, *command, "plan", "nowhere", "open", "plan") == (0, "plan\nopen\nplan\n", "")
    assert licet(folder, *command, stdin="open\n// not this\n\nplan\n") == (0, "open\nplan\n", "")
    assert json.loads(licet(folder, "filter", "--json", *command[1:], "plan")[1]) == {"resource_ids": ["plan"]}


def test_permissions_are_answered_in_order(folder):
    command = ("permissions", "--file", "world.yaml", "document:plan", "user:bo")
    assert licet(folder, *command) == (0, "denied       edit\nallowed      view\n", "")
    assert licet(folder, *command, "view", "owner") == (0, "allowed      view\ndenied       owner\n", "")
    assert licet(folder, *command, "nosuch", "view") == (
        2,
        "error        nosuch\nallowed      view\n",
        "licet: nosuch: relation/permission `nosuch` not found under definition `document`\n",
    )
    answer = json.loads(licet(folder, *command, "--json")[1])
    assert (answer["resource"], answer["subject"], list(answer["permissions"])) == (
        "document:plan",
        "user:bo",
        ["edit", "view"],
    )
    assert answer["permissions"]["view"]["permissionship"] == "HAS_PERMISSION"


@pytest.mark.parametrize(
    "command",
    [
        ("lookup-resources", "document", "nosuch", "user:ada"),
        ("lookup-subjects", "document:plan", "nosuch", "user"),
        ("filter", "document", "nosuch", "user:ada", "plan"),
        ("expand", "document:plan", "nosuch"),
        ("explain", "document:plan", "nosuch", "user:ada"),
    ],
)
def test_unknown_names_are_unusable(folder, command):
    name, *arguments = command
    assert licet(folder, name, "--file", "world.yaml", *arguments) == (2, "", MISSING)
    assert licet(folder, name, "--json", "--file", "world.yaml", *arguments) == (2, "", MISSING)


# --------------------------------------------------------------------- expand, explain


def test_expand_prints_the_tree(folder):
    command = ("expand", "--file", "world.yaml", "document:plan", "edit")
    assert licet(folder, *command) == (0, "union document:plan#edit\n  leaf document:plan#owner: user:ada\n", "")
    assert json.loads(licet(folder, *command, "--json")[1]) == {
        "operation": "union",
        "resource": "document:plan",
        "relation": "edit",
        "children": [{"operation": "leaf", "resource": "document:plan", "relation": "owner", "subjects": ["user:ada"]}],
    }


def test_explain_prints_the_way_and_answers(folder):
    command = ("explain", "--file", "world.yaml", "document:plan", "edit")
    assert licet(folder, *command, "user:ada") == (
        0,
        "allowed document:plan#edit (union)\n"
        "  allowed document:plan#owner (relation)\n"
        "    allowed document:plan#owner (relationship) by document:plan#owner@user:ada\n",
        "",
    )
    assert licet(folder, *command, "user:bo") == (
        1,
        "denied document:plan#edit (union)\n  denied document:plan#owner (relation)\n",
        "",
    )
    status, output, errors = licet(folder, *command, "user:bo", "--json")
    assert (status, json.loads(output)["result"], errors) == (1, "denied", "")


def test_explain_shows_how_far_a_failed_check_came(folder):
    command = ("explain", "--file", "caveated.yaml", "document:d", "viewer", "user:odd", "--context", '{"n": 0}')
    status, output, errors = licet(folder, *command)
    assert status == 2
    assert output.startswith("invalid_argument document:d#viewer (relation)\n")
    assert errors.startswith("licet: ")
    assert json.loads(licet(folder, *command, "--json")[1])["result"] == "invalid_argument"


# ------------------------------------------------------------------------------ schema


def test_schema_diff_says_what_changed(folder):
    assert licet(folder, "schema", "diff", "before.zed", "before.zed") == (0, "", "")
    assert licet(folder, "schema", "diff", "before.zed", "after.zed") == (
        1,
        "document#edit: permission_expr_changed: owner -> owner + viewer\n",
        "",
    )
    more = SCHEMA + "caveat late(hour int) { hour > 20 }\ndefinition more {}\n"
    assert licet(folder, "schema", "diff", "before.zed", "-", stdin=more)[:2] == (
        1,
        "caveat late(): caveat_added\nmore: definition_added\n",
    )
    status, output, errors = licet(folder, "schema", "diff", "--json", "before.zed", "after.zed")
    assert (status, errors) == (1, "")
    assert json.loads(output) == {
        "changes": [
            {
                "kind": "permission_expr_changed",
                "definition": "document",
                "name": "edit",
                "caveat": None,
                "parameter": None,
                "before": "owner",
                "after": "owner + viewer",
            }
        ]
    }


def test_schema_diff_needs_two_schemas(folder):
    (folder / "bad.zed").write_text("definition user {}\n\ndefinition doc {\n\trelation owner: usr\n}\n")
    status, output, errors = licet(folder, "schema", "diff", "before.zed", "bad.zed")
    assert (status, output) == (2, "")
    assert errors.startswith("bad.zed:4:")
    assert licet(folder, "schema", "diff", "nowhere.zed", "bad.zed") == (
        2,
        "",
        "nowhere.zed: error: No such file or directory\n",
    )


def test_schema_read_prints_the_schema_of_a_store(folder):
    status, output, errors = licet(folder, "schema", "read", "--file", "world.yaml")
    assert (status, output, errors) == (0, module.Schema.parse(SCHEMA).format() + "\n", "")
    status, told, _ = licet(folder, "schema", "read", "--json", "--file", "world.yaml")
    assert (status, json.loads(told)) == (0, {"schema": output})


def test_schema_write_is_refused_what_relationships_forbid(folder):
    command = ("schema", "write", "--file", "world.yaml")
    assert licet(folder, *command, "after.zed") == (0, "schema written\n", "")
    assert set(json.loads(licet(folder, *command, "--json", "after.zed")[1])) == {"token"}
    (folder / "without.zed").write_text(SCHEMA.replace("  relation banned: user\n", "").replace(" - banned", ""))
    status, output, errors = licet(folder, *command, "without.zed")
    assert (status, output) == (2, "")
    assert "banned" in errors
    status, output, errors = licet(folder, *command, "nowhere.zed")
    assert (status, output, errors) == (2, "", "nowhere.zed: error: No such file or directory\n")


def test_schema_impact_says_what_would_change(folder):
    command = ("schema", "impact", "--file", "world.yaml")
    assert licet(folder, *command, "before.zed") == (0, "", "")
    (folder / "less.zed").write_text(SCHEMA.replace("(viewer + edit) - banned", "viewer - banned"))
    line = "lost     document:plan view user:ada: allowed -> denied\n"
    assert licet(folder, *command, "less.zed") == (1, line, "")
    assert licet(folder, *command, "--limit", "1", "-", stdin=(folder / "less.zed").read_text()) == (1, line, "")
    answer = json.loads(licet(folder, *command, "--json", "less.zed")[1])
    assert answer == {
        "impacts": [
            {
                "kind": "lost",
                "relationship": None,
                "message": None,
                "resource": "document:plan",
                "permission": "view",
                "subject": "user:ada",
                "before": "HAS_PERMISSION",
                "after": "NO_PERMISSION",
            }
        ]
    }


def test_schema_impact_says_what_forbids_the_change(folder):
    (folder / "without.zed").write_text(SCHEMA.replace("  relation banned: user\n", "").replace(" - banned", ""))
    status, output, errors = licet(folder, "schema", "impact", "--file", "world.yaml", "without.zed")
    assert (status, errors) == (1, "")
    (refused,) = (line for line in output.splitlines() if line.startswith("refused"))
    assert refused.startswith("refused  document:plan#banned@user:cy: ")
    (folder / "bad.zed").write_text("definition user {}\n\ndefinition doc {\n\trelation owner: usr\n}\n")
    status, output, errors = licet(folder, "schema", "impact", "--file", "world.yaml", "bad.zed")
    assert (status, output) == (2, "")
    assert errors.startswith("bad.zed:4:")


# ------------------------------------------------------------------------------- watch


def test_watch_ends_when_nothing_came(folder):
    assert licet(folder, "watch", "--file", "world.yaml", "--timeout", "0.1") == (0, "", "")
    assert licet(folder, "watch", "--json", "--db", "memory:", "--timeout", "0") == (0, "", "")
    assert licet(folder, "watch", "--file", "world.yaml", "--since", "nonsense")[:2] == (2, "")


def test_watch_prints_changes_as_they_come(capsys, monkeypatch):
    import licet as module
    from licet import cli

    with module.open() as engine:
        engine.write_schema(SCHEMA)
        start = engine.touch(RELATIONSHIPS[0])
        engine.write([module.touch(RELATIONSHIPS[1])], metadata={"by": "tests"})
        engine.delete(RELATIONSHIPS[1])
        replaced = engine.write_schema(SCHEMA + "definition more {}\n")
        monkeypatch.setattr(cli.telling, "open_store", lambda _arguments: engine)
        command = ["watch", "--db", "memory:", "--since", start, "--timeout", "0", "--schema"]
        assert cli.main(command) == 0
    assert capsys.readouterr().out == (
        f"touch        {RELATIONSHIPS[1]}\ndelete       {RELATIONSHIPS[1]}\nschema       {replaced}\n"
    )


def test_watch_in_json_is_a_document_a_line(capsys, monkeypatch):
    import licet as module
    from licet import cli

    with module.open() as engine:
        engine.write_schema(SCHEMA)
        start = engine.touch(RELATIONSHIPS[0])
        written = engine.write([module.touch(RELATIONSHIPS[1])], metadata={"by": "tests"})
        monkeypatch.setattr(cli.telling, "open_store", lambda _arguments: engine)
        arguments = ["--since", start, "--timeout", "0", "--checkpoints", "--resource-type", "document"]
        assert cli.main(["watch", "--json", "--db", "memory:", *arguments]) == 0
    change, checkpoint = map(json.loads, capsys.readouterr().out.splitlines())
    assert change["relationship"].pop("text") == RELATIONSHIPS[1]
    assert change == {
        "operation": "touch",
        "relationship": module.Relationship.parse(RELATIONSHIPS[1])._asdict(),
        "token": start,
        "metadata": {"by": "tests"},
        "written_at": written,
    }
    assert (checkpoint["operation"], checkpoint["token"]) == ("checkpoint", written)


# ------------------------------------------------------------------ import, export


def test_export_prints_what_import_takes(folder):
    command = ("relationships", "export", "--file", "world.yaml")
    exported = licet(folder, *command)
    assert lines(exported) == sorted(RELATIONSHIPS)
    (folder / "schema.zed").write_text(SCHEMA)
    (folder / "all.txt").write_text("// all\n\n" + exported[1])
    imported = ("relationships", "import", "--file", "schema.zed")
    assert licet(folder, *imported, "all.txt") == (0, "6 relationships imported\n", "")
    assert licet(folder, *imported, stdin=exported[1]) == (0, "6 relationships imported\n", "")
    answer = json.loads(licet(folder, *imported, "--json", "--batch-size", "2", "all.txt")[1])
    assert (answer["imported"], type(answer["token"])) == (6, str)
    assert lines(licet(folder, *command, "--resource-type", "group")) == sorted(RELATIONSHIPS[4:])
    answer = json.loads(licet(folder, *command, "--json", "--resource-id", "open")[1])
    assert [r["text"] for r in answer["relationships"]] == ["document:open#viewer@user:*"]


def test_an_import_says_where_a_line_is_wrong(folder):
    (folder / "bad.txt").write_text("document:new#owner@user:ada\n  document:new#owner@\n")
    status, output, errors = licet(folder, "relationships", "import", "--file", "world.yaml", "bad.txt")
    assert (status, output) == (2, "")
    assert errors.startswith("bad.txt:2:")
    assert errors.splitlines()[1] == "    2 |   document:new#owner@"
    assert licet(folder, "relationships", "import", "--file", "world.yaml", stdin=RELATIONSHIPS[0] + "\n") == (
        2,
        "",
        f'licet: could not create relationship "{RELATIONSHIPS[0]}", as it exists already\n',
    )
    assert licet(folder, "relationships", "import", "--file", "world.yaml", "nowhere.txt") == (
        2,
        "",
        "licet: No such file or directory\n",
    )


# -------------------------------------------------------------------------------- help


@pytest.mark.parametrize(
    "command",
    [
        "lookup-resources",
        "lookup-subjects",
        "permissions",
        "filter",
        "expand",
        "explain",
        "watch",
        "schema diff",
        "schema impact",
        "relationships import",
        "relationships import-status",
        "relationships export",
    ],
)
def test_help_comes_with_an_example(folder, command):
    status, output, errors = licet(folder, *command.split(), "--help")
    assert (status, errors) == (0, "")
    assert output.startswith(f"usage: licet {command} ")
    assert f"\nexample:\n  licet {command} " in output
    assert output.endswith(
        "\nexit status: 0 yes or all well, 1 no or something does not hold, 2 the input is unusable\n"
    )

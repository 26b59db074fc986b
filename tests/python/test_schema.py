"""licet.Schema, and the errors of a schema text."""

from __future__ import annotations

import licet
import pytest
from licet import Schema


def test_a_schema_knows_its_text_and_its_definitions():
    schema = Schema.parse("definition user {}\n\ndefinition team/group {}\n")
    assert schema.definitions == ("user", "team/group")
    assert str(schema) == schema.text == "definition user {}\n\ndefinition team/group {}\n"
    assert repr(schema) == "<licet.Schema with 2 definitions>"


def test_the_empty_text_is_a_schema():
    schema = Schema.parse("")
    assert (schema.definitions, schema.text, schema.lint()) == ((), "", [])


def test_formatting_is_canonical_and_stable():
    schema = Schema.parse("definition   user{}\ndefinition doc{\nrelation own:user|user:*\npermission see=own+own\n}")
    text = schema.format()
    assert (
        text == "definition user {}\n\ndefinition doc {\n\trelation own: user | user:*\n\tpermission see = own + own\n}"
    )
    assert Schema.parse(text).format() == text


@pytest.mark.parametrize(
    "text, line, column, kind",
    [
        ("definition user {\n  relation x y\n}", 2, 14, "syntax"),
        ("definition user\n{}\n", 1, 16, "syntax"),
        ("// half \ud800 of a pair\n", 1, 9, "encoding"),
        ("\n\n  nonsense", 3, 3, "syntax"),
    ],
)
def test_an_error_says_where(empty, text, line, column, kind):
    for method in (Schema.parse, empty.write_schema):
        with pytest.raises(licet.SchemaError) as caught:
            method(text)
        error = caught.value
        assert (error.code, error.kind, error.line, error.column) == ("schema_error", kind, line, column)
        assert error.reason == "SCHEMA_PARSE_ERROR"
        assert str(error) == f"line {line}, column {column}: {error.message}"


def test_columns_count_characters():
    with pytest.raises(licet.SchemaError) as caught:
        Schema.parse("/* äöü😀 */ nonsense")
    assert (caught.value.line, caught.value.column) == (1, 12)


def test_an_unknown_type_is_named():
    with pytest.raises(licet.SchemaError) as caught:
        Schema.parse("definition doc {\n  relation owner: nosuch\n}")
    assert "nosuch" in caught.value.message
    assert caught.value.line == 2


def test_lints_have_a_place():
    schema = Schema.parse(
        "definition user {}\n\ndefinition folder {\n  relation viewer: user\n}\n\ndefinition doc {\n"
        "  relation parent: folder\n  relation view_doc: user\n  permission view = parent->viewer\n}\n"
    )
    assert [(type(lint), lint.name, lint.line, lint.column) for lint in schema.lint()] == [
        (licet.Lint, "relation-name-references-parent", 9, 3),
        (licet.Lint, "arrow-references-relation", 10, 21),
    ]
    for lint in schema.lint():
        assert lint.message.endswith(f"({lint.name})")


def test_imports_need_a_folder(tmp_path):
    (tmp_path / "user.zed").write_text("definition user {}\n")
    text = 'use import\nimport "user.zed"\n\ndefinition doc {\n  relation owner: user\n}\n'
    with pytest.raises(licet.SchemaError):
        Schema.parse(text)
    for folder in (tmp_path, str(tmp_path)):
        assert set(Schema.parse(text, folder=folder).definitions) == {"user", "doc"}


def test_imports_stay_in_their_folder(tmp_path):
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "user.zed").write_text("definition user {}\n")
    (inside / "link.zed").symlink_to(tmp_path / "user.zed")
    for path in ("../user.zed", str(tmp_path / "user.zed"), "link.zed", "nosuch.zed"):
        with pytest.raises(licet.SchemaError):
            Schema.parse(f'use import\nimport "{path}"\n', folder=inside)


@pytest.mark.parametrize("text", [None, 5, b"definition user {}", ["definition user {}"]])
def test_only_str_is_text(empty, text):
    for method in (Schema.parse, empty.write_schema):
        with pytest.raises(TypeError, match="text must be a str, not"):
            method(text)


@pytest.mark.parametrize("folder", [5, object()])
def test_a_folder_is_a_path(folder):
    with pytest.raises(TypeError):
        Schema.parse("", folder=folder)
    with pytest.raises(ValueError):
        Schema.parse("", folder="a\0b")


def test_a_schema_outlives_its_engine():
    with licet.open() as engine:
        engine.write_schema("definition user {}")
        schema = engine.read_schema()
    del engine
    assert schema.definitions == ("user",)
    assert schema.format() == "definition user {}"


def test_schemas_are_made_by_parse_only():
    with pytest.raises(TypeError):
        Schema()


def test_a_strict_schema_has_no_marks_of_direction():
    text = "// \u202e\ndefinition user {}\n"
    assert licet.Schema.parse(text).definitions == ("user",)
    assert licet.Schema.parse(text, strict=False).definitions == ("user",)
    with pytest.raises(licet.SchemaError) as caught:
        licet.Schema.parse(text, strict=True)
    assert (caught.value.kind, caught.value.line) == ("encoding", 1)
    with licet.open(strict=True) as engine, pytest.raises(licet.SchemaError):
        engine.write_schema(text)
    with pytest.raises(TypeError, match="strict must be a bool, not int"):
        licet.Schema.parse(text, strict=1)

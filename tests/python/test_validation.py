"""licet.validate(), and loading a validation file."""

from __future__ import annotations

from pathlib import Path

import licet
import pytest
from conftest import RELATIONSHIPS, SCHEMA
from licet import validation


def write(folder, name, text):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def world(extra=""):
    schema = "".join(f"  {line}\n" if line else "\n" for line in SCHEMA.splitlines())
    relationships = "".join(f"  {line}\n" for line in RELATIONSHIPS)
    return f"schema: |-\n{schema}relationships: |-\n{relationships}{extra}"


def test_a_file_in_which_everything_holds(tmp_path):
    path = write(
        tmp_path,
        "world.yaml",
        world(
            "assertions:\n  assertTrue:\n  - document:plan#view@user:ada\n"
            "  assertFalse:\n  - document:plan#view@user:cy\n"
            'validation:\n  document:plan#owner:\n  - "[user:ada] is <document:plan#owner>"\n'
        ),
    )
    report = licet.validate(path)
    assert report == licet.Report(str(path), 6, 2, 1, ())
    assert report and report.ok
    assert licet.validate(str(path)) == report


def test_what_does_not_hold_is_a_finding(tmp_path):
    text = world(
        "assertions:\n  assertTrue:\n  - document:plan#view@user:eve\n"
        'validation:\n  document:plan#owner:\n  - "[user:eve] is <document:plan#owner>"\n'
    )
    report = licet.validate(write(tmp_path, "world.yaml", text))
    lines = text.split("\n")
    assert not report and not report.ok
    assert report.warnings == ()
    assertion, *expected = report.failures
    assert assertion == licet.Finding(
        False,
        "assertion",
        "ASSERTION_FAILED",
        "Expected relation or permission document:plan#view@user:eve to exist",
        lines.index("  - document:plan#view@user:eve") + 1,
        5,
    )
    assert {finding.kind for finding in expected} == {"MISSING_EXPECTED_RELATIONSHIP", "EXTRA_RELATIONSHIP_FOUND"}
    assert all(finding.source == "validation" and finding.line for finding in expected)


def test_a_warning_is_no_failure(tmp_path):
    report = licet.validate(
        write(tmp_path, "lint.zed", "definition user {}\ndefinition doc {\n relation a_doc: user\n}\n")
    )
    (warning,) = report.warnings
    assert (warning.source, warning.kind, warning.line, warning.column) == (
        "schema",
        "relation-name-references-parent",
        3,
        2,
    )
    assert report.ok and report.failures == ()


@pytest.mark.parametrize(
    "text, cls, kind, line, column",
    [
        ("schema: |-\n  definition user {}\n  nonsense\n", licet.SchemaError, "syntax", 3, 3),
        ("schema: |-\n  definition doc {\n    relation own: usr\n  }\n", licet.SchemaError, "name", 3, 19),
        (world("a: b: c\n"), licet.InvalidArgument, "syntax", 22, 5),
        (b"schema: \xff\n", licet.InvalidArgument, "encoding", 1, None),
        (world("schemaFile: other.zed\n"), licet.InvalidArgument, None, None, None),
    ],
)
def test_a_file_that_can_not_be_used_is_an_error_with_a_place(tmp_path, text, cls, kind, line, column):
    path = write(tmp_path, "bad.yaml", text)
    for call in (licet.validate, validation.load):
        with pytest.raises(cls) as caught:
            call(path)
        if kind is not None:
            assert caught.value.kind == kind
        if line is not None:
            assert caught.value.line == line
        if column is not None:
            assert caught.value.column == column


def test_loading_asserts_nothing(tmp_path):
    path = write(tmp_path, "world.yaml", world("assertions:\n  assertTrue:\n  - document:plan#view@user:eve\n"))
    with validation.load(path) as engine:
        assert engine.stats().relationships == 6
        assert engine.allowed("document:plan", "view", "user:ada")


def test_a_schema_file_is_loaded_with_its_imports(tmp_path):
    write(tmp_path, "user.zed", "definition user {}\n")
    path = write(tmp_path, "main.zed", 'use import\nimport "user.zed"\ndefinition doc {\n  relation owner: user\n}\n')
    with validation.load(path) as engine:
        assert set(engine.read_schema().definitions) == {"user", "doc"}
    assert licet.validate(path).ok


def test_bytes_that_are_no_text_have_a_place(tmp_path):
    path = write(tmp_path, "bad.zed", b"definition user {}\n// \xff\n")
    with pytest.raises(licet.SchemaError) as caught:
        licet.validate(path)
    assert (caught.value.kind, caught.value.line, caught.value.column) == ("encoding", 2, 4)


def test_a_file_that_is_too_long_is_refused(tmp_path):
    for name, text in [("long.zed", b"// " + b"x" * (1 << 20)), ("long.yaml", b"schema: ''\n# " + b"x" * (1 << 20))]:
        with pytest.raises(licet.LimitExceeded) as caught:
            licet.validate(write(tmp_path, name, text))
        assert caught.value.kind == "limit"


def test_a_file_that_is_not_there_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        licet.validate(tmp_path / "nosuch.yaml")
    with pytest.raises(IsADirectoryError):
        validation.load(Path(tmp_path))


def test_the_engine_of_a_validation_must_be_empty(tmp_path, engine):
    with pytest.raises(licet.Error):
        licet._licet.validate(engine, world().encode(), None)
    assert engine.stats().relationships == 6


@pytest.mark.parametrize(
    "arguments", [(), (None, b""), (5, b""), ("engine", "text"), ("engine", None), ("engine", b"", 5)]
)
def test_the_extension_checks_what_it_is_given(empty, arguments):
    arguments = tuple(empty if argument == "engine" else argument for argument in arguments)
    with pytest.raises(TypeError):
        licet._licet.validate(*arguments)

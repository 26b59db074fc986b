"""The error classes, and what an error carries."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import licet
import pytest

ROOT = Path(__file__).resolve().parents[2]

# Class, code, the built-in of the same meaning.
CLASSES = [
    (licet.OutOfMemory, "out_of_memory", MemoryError),
    (licet.InvalidArgument, "invalid_argument", ValueError),
    (licet.SchemaError, "schema_error", ValueError),
    (licet.NotFound, "not_found", LookupError),
    (licet.AlreadyExists, "already_exists", None),
    (licet.PreconditionFailed, "precondition_failed", None),
    (licet.LimitExceeded, "limit_exceeded", None),
    (licet.RevisionExpired, "revision_expired", None),
    (licet.InvalidToken, "invalid_token", ValueError),
    (licet.Unavailable, "unavailable", None),
    (licet.DeadlineExceeded, "deadline_exceeded", TimeoutError),
    (licet.Closed, "closed", RuntimeError),
    (licet.Misuse, "misuse", RuntimeError),
    (licet.Unsupported, "unsupported", NotImplementedError),
]


@pytest.mark.parametrize("cls, code, builtin", CLASSES)
def test_every_status_has_a_class(cls, code, builtin):
    assert cls.code == code
    assert cls.__bases__ == ((licet.Error,) if builtin is None else (licet.Error, builtin))
    assert cls.__module__ == "licet"
    assert getattr(licet, cls.__name__) is cls
    assert cls.__doc__


def test_the_classes_are_those_of_the_header():
    header = (ROOT / "core/include/licet.h").read_text()
    statuses = re.search(r"#define LICET_STATUS_LIST\(X\)(.*?)\n\n", header, re.DOTALL)[1]
    names = [name.lower() for name in re.findall(r"X\((\w+),", statuses)]
    assert names[1:] == [code for _, code, _ in CLASSES]


def test_the_guide_lists_every_class():
    guide = (ROOT / "bindings/python/README.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| `(\w+)` \| (?:`(\w+)`)? *\|", guide, re.MULTILINE)
    assert rows == [(cls.__name__, code, builtin.__name__ if builtin else "") for cls, code, builtin in CLASSES]


def test_the_base_has_everything_and_nothing_in_it():
    assert issubclass(licet.Error, Exception)
    error = licet.Error("text")
    assert (error.code, error.kind, error.message) == ("error", "", "")
    assert (error.line, error.column, error.reason) == (None, None, None)


def test_an_error_of_the_engine_is_complete(engine):
    with pytest.raises(licet.NotFound) as caught:
        engine.check("nosuch:plan", "view", "user:ada")
    error = caught.value
    assert (error.code, error.kind, error.reason) == ("not_found", "name", "UNKNOWN_DEFINITION")
    assert (error.line, error.column) == (None, None)
    assert str(error) == error.message
    assert error.message == "object definition `nosuch` not found"


def test_an_error_survives_pickling(engine):
    with pytest.raises(licet.SchemaError) as caught:
        engine.write_schema("nonsense")
    error = pickle.loads(pickle.dumps(caught.value))
    assert type(error) is licet.SchemaError
    assert str(error) == str(caught.value)
    assert error.__dict__ == caught.value.__dict__


def test_a_built_in_catches_its_meaning(engine):
    with pytest.raises(ValueError):
        licet.Relationship.parse("nonsense")
    with pytest.raises(LookupError):
        engine.allowed("nosuch:a", "view", "user:ada")
    engine.close()
    with pytest.raises(RuntimeError):
        engine.allowed("document:plan", "view", "user:ada")


def test_a_message_is_one_short_line(engine):
    hostile = "\x1b[31m\r\n\u202e" + "x" * 5000
    for call in [
        lambda: engine.check(f"document:{hostile}", "view", "user:ada"),
        lambda: engine.check("document:plan", hostile, "user:ada"),
        lambda: engine.touch(hostile),
        lambda: engine.write_schema(f"definition {hostile}"),
        lambda: engine.write_schema(hostile),
        lambda: licet.open(hostile),
    ]:
        with pytest.raises(licet.Error) as caught:
            call()
        message = caught.value.message
        assert len(message.encode()) <= 1024
        assert not re.search(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", message)


@pytest.mark.parametrize("call", [licet.open, licet.migrate, licet.doctor])
@pytest.mark.parametrize(
    "uri",
    [
        "postgresql://ada:hunter2@db/licet?nosuch=hunter2",
        "host=db password=hunter2 password=hunter2",
        "host=db password='hunter2",
        "mongodb://ada:hunter2@db",
    ],
)
def test_no_error_repeats_a_password(call, uri):
    with pytest.raises(licet.InvalidArgument) as caught:
        call(uri)
    assert caught.value.kind == "config"
    assert "hunter2" not in str(caught.value) + repr(caught.value)


def test_an_engine_does_not_show_its_password():
    with licet.open("postgresql://ada:hunter2@localhost/licet") as engine:
        assert "hunter2" not in repr(engine)

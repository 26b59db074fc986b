"""What may be passed, and how a wrong argument is refused."""

from __future__ import annotations

import inspect
import sys

import licet
import pytest

QUESTION = {"resource": "document:plan", "permission": "view", "subject": "user:ada"}


@pytest.mark.parametrize("name", QUESTION)
@pytest.mark.parametrize("value", [None, 5, b"document:plan", bytearray(b"x"), ["document:plan"], object()])
def test_only_str_is_text(engine, name, value):
    for method in (engine.allowed, engine.check):
        with pytest.raises(TypeError, match=f"{name} must be a str, not {type(value).__name__}"):
            method(**{**QUESTION, name: value})
    with pytest.raises(TypeError):
        engine.check_bulk([tuple({**QUESTION, name: value}.values())])


@pytest.mark.parametrize("name", QUESTION)
@pytest.mark.parametrize("tail", ["\0", "\0x", "\n", " ", "\u202e", "ü", "\U0010ffff"])
def test_no_character_ends_a_text_early(engine, name, tail):
    with pytest.raises(licet.InvalidArgument) as caught:
        engine.allowed(**{**QUESTION, name: QUESTION[name] + tail})
    assert caught.value.kind in {"value", "encoding", "syntax"}


@pytest.mark.parametrize("name", QUESTION)
@pytest.mark.parametrize("surrogate", ["\ud800", "\udfff", "\udc80"])
def test_a_lone_surrogate_is_a_bad_argument(engine, name, surrogate):
    with pytest.raises(licet.InvalidArgument) as caught:
        engine.allowed(**{**QUESTION, name: surrogate})
    assert (caught.value.kind, caught.value.code) == ("encoding", "invalid_argument")
    assert caught.value.message == f"{name} is not text: it holds half of a surrogate pair"
    assert caught.value.__context__ is None


def test_a_surrogate_is_refused_wherever_text_goes(engine):
    bad = "\ud800"
    for call in [
        lambda: engine.touch(bad),
        lambda: engine.touch(licet.Relationship(bad, "a", "owner", "user", "b")),
        lambda: engine.filter(bad, ["plan"], "view", "user:ada"),
        lambda: engine.filter("document", [bad], "view", "user:ada"),
        lambda: engine.read_relationships(resource_type=bad),
        lambda: engine.read_relationships(resource_type="document", cursor=bad),
        lambda: engine.delete_relationships(resource_type=bad),
        lambda: engine.check(**QUESTION, consistency=licet.at_least(bad)),
        lambda: engine.write([], [licet.must_match(resource_type=bad)]),
        lambda: licet.Relationship.parse(bad),
    ]:
        with pytest.raises(licet.InvalidArgument) as caught:
            call()
        assert caught.value.kind == "encoding"


@pytest.mark.parametrize("call", [licet.open, licet.migrate, licet.doctor])
def test_an_address_that_is_no_text_is_a_bad_address(call):
    with pytest.raises(licet.InvalidArgument) as caught:
        call("host=db password=s3cret application_name=\udcff")
    assert caught.value.kind == "config"
    assert "s3cret" not in str(caught.value)


def test_a_subclass_of_str_is_text(engine):
    class Name(str):
        def __str__(self):
            raise AssertionError("its own methods are not asked")

    assert engine.allowed(Name("document:plan"), Name("view"), Name("user:ada"))


@pytest.mark.parametrize("consistency", [5, "full", licet.FULL[0], (1, None), object()])
def test_consistency_is_made_by_licet(engine, consistency):
    with pytest.raises(TypeError, match="consistency must be a licet.Consistency, not"):
        engine.allowed(**QUESTION, consistency=consistency)


@pytest.mark.parametrize(
    "arguments, names, message",
    [
        ((), {}, r"allowed\(\) missing required argument 'resource'"),
        (("a", "b"), {}, r"allowed\(\) missing required argument 'subject'"),
        (("a", "b", "c", "d"), {}, r"allowed\(\) takes at most 3 positional arguments \(4 given\)"),
        (("a", "b", "c"), {"subject": "d"}, r"allowed\(\) got multiple values for argument 'subject'"),
        (("a", "b", "c"), {"contexts": {}}, r"allowed\(\) got an unexpected keyword argument 'contexts'"),
        (("a", "b", "c"), {"ü": 1}, r"allowed\(\) got an unexpected keyword argument 'ü'"),
    ],
)
def test_calls_are_checked_as_python_checks_them(engine, arguments, names, message):
    with pytest.raises(TypeError, match=message):
        engine.allowed(*arguments, **names)


@pytest.mark.parametrize("cls", [licet.Engine, licet.Result, licet.Schema, licet.RelationshipStream])
def test_types_are_closed(cls):
    with pytest.raises(TypeError):
        cls()
    with pytest.raises(TypeError):
        type("Sub", (cls,), {})
    if sys.version_info >= (3, 10):
        with pytest.raises(TypeError):
            cls.extra = 1


@pytest.mark.parametrize("cls", [licet.Engine, licet.Result, licet.Schema, licet.RelationshipStream])
def test_everything_public_is_documented(cls):
    assert cls.__module__ == "licet"
    assert inspect.getdoc(cls)
    for name, member in vars(cls).items():
        if not name.startswith("_"):
            assert inspect.getdoc(member), name


@pytest.mark.parametrize(
    "option, value, message",
    [
        ("max_depth", 0, "max_depth must be between 1 and 4294967295"),
        ("max_depth", -1, "max_depth must be between 1 and 4294967295"),
        ("max_depth", 2**32, "max_depth must be between 1 and 4294967295"),
        ("max_steps", 2**64, "max_steps must be between 1 and 18446744073709551615"),
        ("max_depth", 1001, "option max_depth: expected 1 to 1000, not 1001"),
    ],
)
def test_options_have_a_range(option, value, message):
    with pytest.raises(licet.InvalidArgument) as caught:
        licet.open(**{option: value})
    assert (caught.value.kind, caught.value.message) == ("config", message)


def test_options_are_numbers_given_by_name():
    for value in ("5", 5.0, b"5"):
        with pytest.raises(TypeError, match="max_depth must be an int, not"):
            licet.open(max_depth=value)
    with pytest.raises(TypeError):
        licet.open("memory:", 5)
    with pytest.raises(TypeError):
        licet.open(None)


@pytest.mark.parametrize(
    "option, value, message",
    [
        ("mode", "fast", 'mode must be "auto", "follow" or "prefetch"'),
        ("max_connections", 0, "max_connections must be between 1 and 4294967295"),
        ("gc_window_ms", -1, "gc_window_ms must be between 1 and 18446744073709551615"),
    ],
)
def test_options_of_postgres_have_a_range(option, value, message):
    with pytest.raises(licet.InvalidArgument) as caught:
        licet.open("host=localhost", **{option: value})
    assert (caught.value.kind, caught.value.message) == ("config", message)


@pytest.mark.parametrize(
    "option, value, message",
    [
        ("mode", 1, "mode must be a str, not int"),
        ("postgres_schema", b"licet", "postgres_schema must be a str, not bytes"),
        ("replica_uri", 5, "replica_uri must be a str, not int"),
        ("require_tls", 1, "require_tls must be a bool, not int"),
        ("wait_timeout_ms", 2.5, "wait_timeout_ms must be an int, not float"),
        ("wait_timeout_ms", True, "wait_timeout_ms must be an int, not bool"),
        ("log", "stderr", "log must be callable, not str"),
    ],
)
def test_options_have_a_type(option, value, message):
    with pytest.raises(TypeError, match=f"^{message}$"):
        licet.open(**{option: value})


@pytest.mark.parametrize("call", [licet.migrate, licet.doctor])
def test_what_tends_a_database_wants_its_uri_as_text(call):
    with pytest.raises(TypeError, match="^uri must be a str, not bytes$"):
        call(b"host=db")


def test_memory_limit_is_kept():
    with licet.open(memory_limit_bytes=1 << 20) as engine:
        engine.write_schema("definition user {}\ndefinition doc {\n  relation owner: user\n}")
        assert engine.stats().memory_limit_bytes == 1 << 20
        with pytest.raises(licet.OutOfMemory) as caught:
            for i in range(100):
                engine.touch(*(f"doc:{'x' * 500}{i}_{j}#owner@user:ada" for j in range(100)))
        assert caught.value.kind == "nomem"
        assert isinstance(caught.value, MemoryError)
        assert engine.stats().memory_bytes <= 1 << 20
        assert engine.allowed(f"doc:{'x' * 500}0_0", "owner", "user:ada")

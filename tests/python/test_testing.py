"""licet.testing: a clock that is set by hand, and CEL on its own. Expirations, which the clock is for."""

from __future__ import annotations

import gc
from datetime import datetime, timedelta, timezone

import licet
import pytest
from licet import Relationship
from licet.testing import ManualClock, evaluate_cel

NEW_YEAR = datetime(2030, 1, 1, tzinfo=timezone.utc)
HOUR = timedelta(hours=1)
SCHEMA = """\
use expiration

definition user {}
definition document {
  relation viewer: user with expiration
  permission view = viewer
}
"""


@pytest.fixture
def clock():
    return ManualClock(NEW_YEAR)


@pytest.fixture
def engine(clock):
    with licet.open(clock=clock) as engine:
        engine.write_schema(SCHEMA)
        yield engine


def test_a_relationship_counts_until_it_expires(engine, clock):
    engine.touch(Relationship("document", "plan", "viewer", "user", "ada", expiration=NEW_YEAR + HOUR))
    assert engine.allowed("document:plan", "view", "user:ada")
    clock.advance(HOUR - timedelta(microseconds=1))
    assert engine.allowed("document:plan", "view", "user:ada")
    assert len(list(engine.read_relationships(resource_type="document"))) == 1
    clock.advance(timedelta(microseconds=1))
    assert not engine.allowed("document:plan", "view", "user:ada")
    assert list(engine.read_relationships(resource_type="document")) == []
    clock.set(NEW_YEAR)
    assert engine.allowed("document:plan", "view", "user:ada")


def test_an_expiration_is_read_back_in_utc(engine):
    moment = datetime(2030, 6, 1, 14, 30, 0, 250_000, tzinfo=timezone(timedelta(hours=2)))
    written = Relationship("document", "plan", "viewer", "user", "ada", expiration=moment)
    assert written.expiration == "2030-06-01T12:30:00.25Z"
    engine.touch(written)
    (read,) = engine.read_relationships(resource_type="document")
    assert read == written
    assert read.expires_at == moment
    assert read.expires_at.tzinfo is timezone.utc
    assert Relationship.parse("document:plan#viewer@user:ada").expires_at is None


def test_nanoseconds_of_an_expiration_are_kept_as_text():
    one = Relationship.parse("document:plan#viewer@user:ada[expiration:2030-01-01T00:00:00.123456789Z]")
    assert str(one) == "document:plan#viewer@user:ada[expiration:2030-01-01T00:00:00.123456789Z]"
    assert one.expires_at == NEW_YEAR.replace(microsecond=123_456)


def test_a_naive_expiration_is_refused():
    with pytest.raises(ValueError, match="expiration: a datetime without a time zone is no moment"):
        Relationship("document", "plan", "viewer", "user", "ada", expiration=datetime(2030, 1, 1))
    wrong = Relationship("document", "plan", "viewer", "user", "ada", expiration="tomorrow")
    with pytest.raises(ValueError, match="no RFC 3339 time"):
        assert wrong.expires_at


def test_a_clock_says_what_it_was_set_to(clock):
    assert (clock.now, clock.nanoseconds) == (NEW_YEAR, 1_893_456_000_000_000_000)
    clock.nanoseconds += 1_999
    assert clock.now == NEW_YEAR + timedelta(microseconds=1)
    with pytest.raises(ValueError, match="no moment"):
        clock.set(datetime(2030, 1, 1))
    with pytest.raises(OverflowError):
        clock.set(datetime(9999, 1, 1, tzinfo=timezone.utc))
    with pytest.raises(TypeError, match="nanoseconds must be an int"):
        clock.nanoseconds = "5"
    with pytest.raises(TypeError, match="nanoseconds must be an int"):
        del clock.nanoseconds
    assert clock.now == NEW_YEAR + timedelta(microseconds=1)


def test_only_such_a_clock_is_taken():
    for wrong in [5, lambda: 5, ManualClock]:
        with pytest.raises(TypeError, match=r"clock must be a licet\.testing\.ManualClock, not"):
            licet.open(clock=wrong)


def test_an_engine_keeps_its_clock():
    engine = licet.open(clock=ManualClock(NEW_YEAR))
    gc.collect()
    engine.write_schema(SCHEMA)
    engine.touch("document:plan#viewer@user:ada[expiration:2030-01-01T00:00:01Z]")
    assert engine.allowed("document:plan", "view", "user:ada")
    stream = engine.read_relationships(resource_type="document")
    del engine
    gc.collect()
    assert len(list(stream)) == 1


# ------------------------------------------------------------------------------------- CEL

VALUES = [
    {"null": None},
    {"bool": True},
    {"int64": "-9223372036854775808"},
    {"uint64": "18446744073709551615"},
    {"double": 1.5},
    {"double": "NaN"},
    {"double": "-Infinity"},
    {"string": "a\0é"},
    {"bytes_hex": "00ff"},
    {"list": [{"int64": "1"}, {"list": []}]},
    {"map": [[{"string": "k"}, {"map": []}]]},
    {"type": "int"},
    {"duration": "-5400s"},
    {"timestamp": "2030-01-01T00:00:00Z"},
    {"ipaddress": "2001:db8::1"},
]


@pytest.mark.parametrize("value", VALUES)
def test_a_value_goes_in_and_comes_out(value):
    assert evaluate_cel("x", {"x": value}, {"x": "dyn"}) == value


def test_an_expression_has_a_value_of_any_type():
    assert evaluate_cel("1 + 1") == {"int64": "2"}
    assert evaluate_cel("x + 1", {"x": {"int64": "41"}}, {"x": "int64"}) == {"int64": "42"}
    assert evaluate_cel('m.k in ["a"]', {"m": {"map": [[{"string": "k"}, {"string": "a"}]]}}, {"m": "map<string>"}) == {
        "bool": True
    }
    assert evaluate_cel("optional.none()") == {"optional": None}


def test_a_variable_without_a_value_is_unknown():
    assert evaluate_cel("x > 1 || y", {"y": {"bool": False}}, {"x": "int", "y": "bool"}) == {"unknown": ["x"]}
    assert evaluate_cel("x > 1 || y", {"y": {"bool": True}}, {"x": "int", "y": "bool"}) == {"bool": True}


def test_an_expression_that_fails_has_no_value():
    with pytest.raises(licet.InvalidArgument, match="division by zero") as caught:
        evaluate_cel("1 / x", {"x": {"int64": "0"}}, {"x": "int"})
    assert (caught.value.kind, caught.value.reason) == ("eval", "CAVEAT_EVALUATION_ERROR")
    with pytest.raises(licet.SchemaError) as caught:
        evaluate_cel("1 +\n nosuch")
    assert (caught.value.line, caught.value.column) == (2, 2)
    with pytest.raises(licet.SchemaError):
        evaluate_cel("x", {}, {"x": "nosuch"})


@pytest.mark.parametrize(
    "value",
    [{"int64": "x"}, {"int64": ""}, {"uint64": "-1"}, {"bytes_hex": "f"}, {"bytes_hex": "0G"}, {"bool": 1}, {"null": 0}]
    + [{"list": ()}, {"map": [[]]}, {"nosuch": "x"}, {"duration": "1d"}, {"timestamp": "x"}, {"ipaddress": "x"}],
)
def test_a_wrong_value_is_refused(value):
    with pytest.raises(licet.InvalidArgument) as caught:
        evaluate_cel("x", {"x": value}, {"x": "dyn"})
    assert caught.value.kind == "value"


@pytest.mark.parametrize("value", [5, {}, {"int64": 5}, {"a": 1, "b": 2}, {1: 2}, None])
def test_a_value_without_a_tag_is_a_type_error(value):
    with pytest.raises(TypeError):
        evaluate_cel("x", {"x": value}, {"x": "dyn"})


def test_deep_values_are_refused():
    value = {"list": []}
    for _ in range(5000):
        value = {"list": [value]}
    with pytest.raises(licet.InvalidArgument, match="nested too deeply"):
        evaluate_cel("x", {"x": value}, {"x": "dyn"})

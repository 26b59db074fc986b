"""Contexts of caveats: what Python values become, what is refused, and who wins."""

from __future__ import annotations

import base64
import ipaddress
import json
import runpy
import types as python_types
from collections import OrderedDict
from datetime import datetime, timedelta, timezone, tzinfo
from enum import IntEnum
from pathlib import Path

import licet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from licet import Permissionship, Relationship, _licet

QUESTION = ("document:plan", "view", "user:ada")

# One caveat for each type of parameter: the answer is yes if the value arrived.
PARAMETERS = {
    "bool": ("v", True, False),
    "string": ('v == "a\\u0000\\u00e9"', "a\0é", "a"),
    "int": ("v == 9007199254740993", 2**53 + 1, 2**53),
    "double": ("v == 0.1", 0.1, 0.2),
    "bytes": ('v == b"ab\\000"', b"ab\0", b"ab"),
    "duration": ('v == duration("-90m")', timedelta(minutes=-90), timedelta(minutes=-89, microseconds=1)),
    "timestamp": (
        'v == timestamp("2030-01-01T22:00:00.5Z")',
        datetime(2030, 1, 2, 0, 0, 0, 500_000, tzinfo=timezone(timedelta(hours=2))),
        datetime(2030, 1, 2, 0, 0, 0, tzinfo=timezone.utc),
    ),
    "ipaddress": ('v.in_cidr("10.0.0.0/8")', ipaddress.ip_address("10.1.2.3"), ipaddress.ip_address("::1")),
    "list<string>": ('"b" in v', ["a", "b"], ("a",)),
    "map<list<int>>": ("v.k[1] == -2", {"k": [1, -2]}, {"k": (1, 2)}),
    "any": ("v == null", None, False),
}


def world(type_name: str, condition: str, **options: object) -> licet.Engine:
    engine = licet.open(**options)
    engine.write_schema(
        f"caveat only(v {type_name}) {{ {condition} }}\n"
        "definition user {}\n"
        "definition document {\n relation viewer: user with only\n permission view = viewer\n}\n"
    )
    engine.touch("document:plan#viewer@user:ada[only]")
    return engine


@pytest.fixture
def ages():
    """A caveat of two parameters: the least age is stored, the age is asked for."""
    with licet.open() as engine:
        engine.write_schema(
            "caveat grown(age int, least int) { age >= least }\n"
            "definition user {}\n"
            "definition document {\n relation viewer: user with grown | user\n permission view = viewer\n}\n"
        )
        engine.touch('document:plan#viewer@user:ada[grown:{"least":18}]', "document:plan#viewer@user:bo")
        yield engine


@pytest.mark.parametrize("type_name", PARAMETERS)
def test_a_python_value_becomes_a_value_of_its_parameter(type_name):
    condition, good, bad = PARAMETERS[type_name]
    with world(type_name, condition) as engine:
        assert engine.allowed(*QUESTION, context={"v": good}) is True
        assert engine.allowed(*QUESTION, context={"v": bad}) is False
        result = engine.check(*QUESTION)
        assert (result.permissionship, result.missing_context) == (Permissionship.CONDITIONAL, ("v",))
        assert not result
        assert engine.allowed(*QUESTION) is False


def test_what_is_stored_wins_over_what_is_asked_with(ages):
    assert ages.check(*QUESTION).missing_context == ("age",)
    assert ages.allowed(*QUESTION, context={"age": 18})
    assert not ages.allowed(*QUESTION, context={"age": 17})
    assert not ages.allowed(*QUESTION, context={"age": 17, "least": 1})
    assert ages.check("document:plan", "view", "user:bo").missing_context == ()


@pytest.mark.parametrize("context", [None, {}, "{}", {"other": object.__doc__}])
def test_a_context_without_the_value_is_conditional(ages, context):
    result = ages.check(*QUESTION, context=context)
    assert (result.permissionship, result.missing_context) == (Permissionship.CONDITIONAL, ("age",))


def test_a_context_may_be_json_text(ages):
    assert ages.allowed(*QUESTION, context='{"age": 18}')
    for text in ["", "[]", '{"age": NaN}', '{"age": 18', '{"age": "\\ud800"}x']:
        with pytest.raises(licet.InvalidArgument):
            ages.allowed(*QUESTION, context=text)


def test_a_value_that_does_not_fit_is_an_error_and_never_an_answer(ages):
    for value in ["x", None, 18.5, [18], True]:
        with pytest.raises(licet.InvalidArgument) as caught:
            ages.check(*QUESTION, context={"age": value})
        assert (caught.value.kind, caught.value.reason) == ("type", "CAVEAT_PARAMETER_TYPE_ERROR")


def test_an_evaluation_that_fails_is_an_error():
    with world("int", "1 / v == 1") as engine, pytest.raises(licet.InvalidArgument) as caught:
        engine.allowed(*QUESTION, context={"v": 0})
    assert (caught.value.kind, caught.value.reason) == ("eval", "CAVEAT_EVALUATION_ERROR")


def test_an_item_of_a_bulk_may_have_its_own_context(ages):
    items = [
        QUESTION,
        (*QUESTION, {"age": 18}),
        [*QUESTION, None],
        (*QUESTION, '{"age": 1}'),
        (*QUESTION, {"age": "x"}),
    ]
    results = ages.check_bulk(items)
    assert [bool(result) for result in results] == [False, True, False, False, False]
    assert [result.missing_context for result in results] == [("age",), (), ("age",), (), ()]
    assert results[4].error.reason == "CAVEAT_PARAMETER_TYPE_ERROR"

    results = ages.check_bulk(items, context={"age": 20})
    assert [bool(result) for result in results] == [True, True, True, False, False]


def test_a_wrong_context_of_an_item_fails_the_bulk(ages):
    with pytest.raises(TypeError, match=r"context\.age: a context can not hold object"):
        ages.check_bulk([QUESTION, (*QUESTION, {"age": object()})])
    with pytest.raises(TypeError, match="item 0 must be a tuple of resource, permission and subject"):
        ages.check_bulk([(*QUESTION, {}, {})])


def test_filter_asks_in_one_context(ages):
    ages.touch('document:memo#viewer@user:ada[grown:{"least":21}]')
    assert ages.filter("document", ["plan", "memo"], "view", "user:ada") == []
    assert ages.filter("document", ["plan", "memo"], "view", "user:ada", context={"age": 18}) == ["plan"]
    assert ages.filter("document", ["plan", "memo"], "view", "user:ada", context={"age": 21}) == ["plan", "memo"]


def test_large_bulks_have_contexts_too(ages):
    results = ages.check_bulk([(*QUESTION, {"age": age % 36}) for age in range(1000)])
    assert [bool(result) for result in results] == [age % 36 >= 18 for age in range(1000)]


# ------------------------------------------------------------------------------- the text


def text_of(value: object) -> str:
    return _licet.context_text({"v": value})[len('{"v":') : -1]


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(st.text(), values))
def test_the_text_is_json_for_the_same_values(context):
    text = _licet.context_text(context)
    assert json.loads(text) == context
    assert json.loads(text, object_pairs_hook=lambda pairs: [key for key, _ in pairs]) == sorted(context)


@given(st.binary())
def test_bytes_become_base64(data):
    assert text_of(data) == text_of(bytearray(data)) == f'"{base64.b64encode(data).decode()}"'


@given(st.integers())
def test_no_int_is_rounded(number):
    exact = str(number) if abs(number) <= 2**53 else f'"{number}"'
    assert text_of(number) == exact


@given(st.timedeltas(timedelta(days=-100_000), timedelta(days=100_000)))
def test_no_timedelta_is_rounded(duration):
    assert timedelta(microseconds=int(text_of(duration)[1:-3])) == duration


@given(st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1)), st.integers(-1439, 1439))
def test_no_datetime_is_rounded(naive, minutes):
    moment = naive.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    assert licet.context.datetime_of(json.loads(text_of(moment))) == moment


def test_subclasses_are_what_they_are_made_of():
    class Level(IntEnum):
        HIGH = 3

    class Loud(str):
        def __str__(self):
            return "LOUD"

    class Odd(float):
        def __repr__(self):
            return "odd"

    assert _licet.context_text(OrderedDict(b=Level.HIGH, a=Loud("x"), c=Odd(1.5))) == '{"a":"x","b":3,"c":1.5}'


class NoZone(tzinfo):
    def utcoffset(self, moment):
        raise RuntimeError("from the zone")


SELF_IN_LIST: list[object] = []
SELF_IN_LIST.append({"again": SELF_IN_LIST})
SELF_IN_DICT: dict[str, object] = {}
SELF_IN_DICT["again"] = SELF_IN_DICT


def nested(depth: int) -> list[object]:
    value: list[object] = []
    for _ in range(depth - 1):
        value = [value]
    return value


@pytest.mark.parametrize(
    "context, kind, message",
    [
        ({"a": {"b": [0, float("nan")]}}, "value", "context.a.b[1]: NaN is no number that a context can hold"),
        ({"a": float("-inf")}, "value", "context.a: infinity is no number that a context can hold"),
        ({"a": datetime(2030, 1, 1)}, "value", "context.a: a datetime without a time zone is no moment"),
        (
            {"a": datetime.min.replace(tzinfo=timezone(timedelta(hours=1)))},
            "value",
            "context.a: the moment is before the year 1 or after 9999",
        ),
        ({"a": timedelta.max}, "value", "context.a: a duration is at most 292 years"),
        ({"a b": "\ud800"}, "encoding", "context['a b']: not text: it holds half of a surrogate pair"),
        ({"\ud800": 1}, "encoding", "context['\\ud800']: not text: it holds half of a surrogate pair"),
        (
            {"\n" * 100: "\ud800"},
            "encoding",
            "context['" + "\\n" * 40 + "']: not text: it holds half of a surrogate pair",
        ),
        ({"a": SELF_IN_LIST}, "value", "context.a[0].again: it contains itself"),
        (SELF_IN_DICT, "value", "context.again: it contains itself"),
        ({"a": nested(64)}, "limit", "context.a" + "[0]" * 63 + ": nested too deeply"),
        ({"a": "x" * 600_000}, "limit", "context.a: the context is too large"),
        ({"a": 10**5000}, "limit", "context.a: "),
    ],
)
def test_what_no_context_can_hold_is_refused_with_its_place(ages, context, kind, message):
    with pytest.raises(licet.InvalidArgument) as caught:
        ages.allowed(*QUESTION, context=context)
    assert caught.value.kind == kind
    assert caught.value.message.startswith(message)
    assert ages.allowed(*QUESTION, context={"age": 18})


@pytest.mark.parametrize(
    "context, message",
    [
        ([], "context must be a dict, or a JSON object as a str, not list"),
        (b"{}", "context must be a dict, or a JSON object as a str, not bytes"),
        (5, "context must be a dict, or a JSON object as a str, not int"),
        ({1: 2}, "context: keys must be str, not int"),
        ({"a": [{None: 2}]}, "context.a[0]: keys must be str, not NoneType"),
        ({"a": len}, "context.a: a context can not hold builtin_function_or_method"),
        ({"a": {1}}, "context.a: a context can not hold set"),
        ({"a": memoryview(b"")}, "context.a: a context can not hold memoryview"),
        ({"a": datetime(2030, 1, 1).date()}, "context.a: a context can not hold datetime.date"),
        ({"a": ipaddress.ip_interface("10.0.0.1/8")}, "context.a: a context can not hold IPv4Interface"),
        ({"a": python_types.MappingProxyType({})}, "context.a: a context can not hold mappingproxy"),
    ],
)
def test_other_types_are_type_errors(ages, context, message):
    with pytest.raises(TypeError) as caught:
        ages.allowed(*QUESTION, context=context)
    assert str(caught.value) == message


def test_an_exception_of_a_time_zone_passes_through(ages):
    with pytest.raises(RuntimeError, match="from the zone"):
        ages.allowed(*QUESTION, context={"age": datetime(2030, 1, 1, tzinfo=NoZone())})


def test_a_container_may_change_while_it_is_written(ages):
    context: dict[str, object] = {}

    class Meddling(tzinfo):
        def utcoffset(self, moment):
            context.clear()
            inner.clear()
            return timedelta(0)

    inner = [datetime(2030, 1, 1, tzinfo=Meddling()), "kept"]
    context.update(a=inner, b=2)
    assert _licet.context_text(context) == '{"a":["2030-01-01T00:00:00Z","kept"],"b":2}'


def test_one_value_may_stand_in_several_places():
    part = {"k": [1]}
    assert _licet.context_text({"a": part, "b": [part, part]}) == '{"a":{"k":[1]},"b":[{"k":[1]},{"k":[1]}]}'


def test_values_that_multiply_end_at_the_limit():
    value: list[object] = ["x"]
    for _ in range(50):
        value = [value, value]
    with pytest.raises(licet.InvalidArgument, match="the context is too large"):
        _licet.context_text({"a": value})


# ------------------------------------------------------------------------------ what is stored


def test_a_stored_context_is_read_back_as_a_dict(ages):
    written = Relationship("document", "memo", "viewer", "user", "ada", None, "grown", {"least": 21, "age": 30})
    assert written.caveat_context == '{"age":30,"least":21}'
    ages.touch(written)
    (read,) = ages.read_relationships(resource_type="document", resource_id="memo")
    assert read == written
    assert (read.caveat_name, read.context) == ("grown", {"age": 30, "least": 21})
    assert Relationship.parse("document:memo#viewer@user:ada").context == {}


def test_a_wrong_stored_context_is_refused_when_it_is_made():
    with pytest.raises(licet.InvalidArgument, match=r"context\.least: NaN"):
        Relationship("document", "memo", "viewer", "user", "ada", None, "grown", {"least": float("nan")})


def test_replaced_fields_are_converted_as_well():
    one = Relationship.parse("document:memo#viewer@user:ada")
    two = one._replace(caveat_name="grown", caveat_context={"least": 1})
    assert type(two) is Relationship
    assert str(two) == 'document:memo#viewer@user:ada[grown:{"least":1}]'


def test_strict_engines_refuse_what_spicedb_lets_pass():
    for options, outcome in [({}, True), ({"strict": True}, None)]:
        with world("int", "v == 9223372036854775807", **options) as engine:
            try:
                answer = engine.allowed(*QUESTION, context={"v": 1e300})
            except licet.InvalidArgument as error:
                assert error.reason == "CAVEAT_PARAMETER_TYPE_ERROR"
                answer = None
            assert answer is outcome
            try:
                answer = bool(engine.check_bulk([QUESTION], context='{"v":1,"v":9.3e18}')[0])
            except licet.InvalidArgument:
                answer = None
            assert answer is outcome
    for wrong in [1, "yes", None]:
        with pytest.raises(TypeError, match="strict must be a bool, not"):
            licet.open(strict=wrong)


def test_the_example_of_caveats_prints_what_it_is_about(capsys):
    runpy.run_path(str(Path(__file__).resolve().parent.parent.parent / "examples/caveats.py"))
    assert capsys.readouterr().out.splitlines() == [
        "in the office:  True",
        "somewhere else: False",
        "who knows:      False CONDITIONAL missing address",
        'document:plan#reader@user:ada[from_office:{"network":"10.0.0.0/8"}]',
        "document:plan#reader@user:bo[expiration:2030-01-01T10:00:00Z]",
        "bo, at nine:    True",
        "bo, at ten:     False",
    ]

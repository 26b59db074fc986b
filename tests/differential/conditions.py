"""Caveats for random worlds: bodies in CEL, and beside each what it means, by hand and in Python.

A body is written twice, as CEL for the engine and as a function of its parameters. The function gets converted values,
`Unknown` for those that are not given, and gives True, False, `Unknown` or `Failed`. What happens to unknowns and errors
is said by the few functions below it, which are the table of caveats.md 5; there is no parser and no evaluator here.
"""

import base64
import ipaddress
import operator
import re
from datetime import datetime, timezone
from decimal import Decimal
from typing import NamedTuple

LEAST, GREATEST = -(2**63), 2**63 - 1
NANOSECONDS = 10**9


class Unknown(NamedTuple):
    """Depends on parameters that were not given."""

    names: frozenset


class Failed(NamedTuple):
    """Could not be evaluated."""

    reason: str


EVALUATION_ERROR = Failed("CAVEAT_EVALUATION_ERROR")
TYPE_ERROR = Failed("CAVEAT_PARAMETER_TYPE_ERROR")


def settled(value):
    return not isinstance(value, (Unknown, Failed))


# --------------------------------------------------------- unknowns and errors


def _gather(values, deciding):
    values = list(values)
    if any(settled(value) and value is deciding for value in values):
        return deciding
    names = [value.names for value in values if isinstance(value, Unknown)]
    if names:
        return Unknown(frozenset().union(*names))
    return next((value for value in values if isinstance(value, Failed)), not deciding)


def any_of(*values):
    """a || b || c: true decides, then unknown beats error. Operands after a deciding one can't matter."""
    return _gather(values, True)


def all_of(*values):
    return _gather(values, False)


def choose(condition, one, other):
    if not settled(condition):
        return condition
    return one if condition else other


def strict(function, *operands):
    """Any other operation: the first operand from the left that is unknown or an error is the result."""
    for operand in operands:
        if not settled(operand):
            return operand
    return function(*operands)


def lifted(function):
    return lambda *operands: strict(function, *operands)


def _in_range(number):
    return number if LEAST <= number <= GREATEST else EVALUATION_ERROR


def _divided(a, b):
    return EVALUATION_ERROR if b == 0 else _in_range(abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1))


def _remainder(a, b):
    if b == 0 or (a, b) == (LEAST, -1):
        return EVALUATION_ERROR
    return abs(a) % abs(b) * (-1 if a < 0 else 1)


def _whole(number):
    """int(double)"""
    return EVALUATION_ERROR if not -(2.0**63) < number < 2.0**63 else int(number)


def _parsed(text):
    """int(string)"""
    return _in_range(int(text)) if re.fullmatch(r"[-+]?[0-9]+", text) else EVALUATION_ERROR


def _within(address, text):
    """ip.in_cidr(string)"""
    at = re.fullmatch(r"([^/%]+)/(0|[1-9][0-9]*)", text)
    try:
        network = ipaddress.ip_network(at.group(0), strict=False) if at else None
    except ValueError:
        network = None
    return EVALUATION_ERROR if network is None else address.version == network.version and address in network


def _same(a, b):
    """Equality of values behind `any`, of which one is no list or map: a bool is no number."""
    numbers = (int, float)
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, numbers) and isinstance(b, numbers):
        return a == b
    return type(a) is type(b) and a == b


def _any_less(a, number):
    """any < int"""
    return a < number if isinstance(a, (int, float)) and not isinstance(a, bool) else EVALUATION_ERROR


def _subtree(a, b):
    for key, value in a.items():
        if key not in b or isinstance(value, dict) != isinstance(b[key], dict):
            return False
        if isinstance(value, dict):
            if not _subtree(value, b[key]):
                return False
        elif not _same(value, b[key]):
            return False
    return True


def exists(items, test):
    return strict(lambda known: any_of(*map(test, known)), items)


def every(items, test):
    return strict(lambda known: all_of(*map(test, known)), items)


def _mapped(items, step):
    """A list of what step gives, or the first that is not settled."""
    made = [step(item) for item in items]
    return next((value for value in made if not settled(value)), made)


def mapped(items, step):
    return strict(lambda known: _mapped(known, step), items)


def filtered(items, test):
    def keep(known):
        tests = _mapped(known, test)
        return [item for item, kept in zip(known, tests) if kept] if settled(tests) else tests

    return strict(keep, items)


less, more, at_least, at_most = map(lifted, (operator.lt, operator.gt, operator.ge, operator.le))
equal, unlike, negated = lifted(operator.eq), lifted(operator.ne), lifted(operator.not_)
added = lifted(lambda a, b: _in_range(a + b))
subtracted = lifted(lambda a, b: _in_range(a - b))
multiplied, minus = lifted(lambda a, b: _in_range(a * b)), lifted(lambda a: _in_range(-a))
divided, remainder, whole, parsed = map(lifted, (_divided, _remainder, _whole, _parsed))
size, joined = lifted(len), lifted(operator.add)
within, same, any_less, subtree = map(lifted, (_within, _same, _any_less, _subtree))
contains = lifted(lambda text, part: part in text)
member = lifted(lambda item, items: item in items)
begins, ends = lifted(str.startswith), lifted(str.endswith)
indexed = lifted(lambda items, at: items[at] if 0 <= at < len(items) else EVALUATION_ERROR)
keyed = lifted(lambda entries, key: entries[key] if key in entries else EVALUATION_ERROR)
listed = lifted(lambda *items: list(items))

# ------------------------------------------------------------------- values

_UNITS = {
    "ns": 1,
    "us": 1000,
    "µs": 1000,
    "ms": 10**6,
    "s": NANOSECONDS,
    "m": 60 * NANOSECONDS,
    "h": 3600 * NANOSECONDS,
}


def _integer(value):
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return TYPE_ERROR
    if isinstance(value, str) and not re.fullmatch(r"[-+]?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?", value):
        return TYPE_ERROR
    number = Decimal(value)
    if number != number.to_integral_value():
        return TYPE_ERROR
    return max(LEAST, min(GREATEST, int(number)))


def _unsigned(value):
    number = _integer(value)
    return TYPE_ERROR if number is TYPE_ERROR or number < 0 else number


def _double(value):
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return TYPE_ERROR
    try:
        return float(value)
    except ValueError:
        return TYPE_ERROR


def _bytes(value):
    try:
        return base64.b64decode(value, validate=True)
    except (TypeError, ValueError):
        return TYPE_ERROR


def _duration(value):
    part = r"([0-9]+(?:\.[0-9]+)?)(ns|us|µs|ms|s|m|h)"
    if value == "0":
        return 0
    if not isinstance(value, str) or not re.fullmatch("[-+]?(?:%s)+" % part, value):
        return TYPE_ERROR
    total = sum(int(Decimal(number) * _UNITS[unit]) for number, unit in re.findall(part, value))
    return -total if value[0] == "-" else total


_MOMENT = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[-+]\d\d:\d\d)")


def _moment(value):
    """Nanoseconds since 1970."""
    match = _MOMENT.fullmatch(value) if isinstance(value, str) else None
    try:
        at = datetime.fromisoformat(match[1] + match[3].replace("Z", "+00:00")) if match else None
    except ValueError:
        at = None
    if at is None:
        return TYPE_ERROR
    since = at - datetime(1970, 1, 1, tzinfo=timezone.utc)
    return (since.days * 86400 + since.seconds) * NANOSECONDS + int((match[2] or "").ljust(9, "0"))


def _address(value):
    try:
        address = ipaddress.ip_address(value) if isinstance(value, str) else None
    except ValueError:
        address = None
    if address is None:
        return TYPE_ERROR
    return getattr(address, "ipv4_mapped", None) or address


def _exactly(kind):
    return lambda value: value if isinstance(value, kind) else TYPE_ERROR


_CONVERSIONS = {
    "any": lambda value: value,
    "bool": _exactly(bool),
    "string": _exactly(str),
    "int": _integer,
    "uint": _unsigned,
    "double": _double,
    "bytes": _bytes,
    "duration": _duration,
    "timestamp": _moment,
    "ipaddress": _address,
}


def converted(kind, value):
    """A value of JSON as one of a parameter's type, or Failed."""
    if kind.startswith("list<"):
        return _mapped(value, lambda item: converted(kind[5:-1], item)) if isinstance(value, list) else TYPE_ERROR
    if kind.startswith("map<"):
        if not isinstance(value, dict):
            return TYPE_ERROR
        values = _mapped(value.values(), lambda item: converted(kind[4:-1], item))
        return dict(zip(value, values)) if settled(values) else values
    return _CONVERSIONS[kind](value)


# ------------------------------------------------------------------- caveats


class Caveat(NamedTuple):
    parameters: dict
    text: str
    meaning: object

    def outcome(self, stored, asked):
        """True, False, Unknown or Failed. What is stored wins over what is asked with, key by key; then it is converted."""
        given = {**asked, **stored}
        values = [
            converted(kind, given[name]) if name in given else Unknown(frozenset([name]))
            for name, kind in self.parameters.items()
        ]
        return next((value for value in values if isinstance(value, Failed)), None) or self.meaning(*values)


def _hour(when):
    return strict(lambda at: at // (3600 * NANOSECONDS) % 24, when)


def _has(entries, key):
    """has(x.key): of a list an error, of whatever else has no keys false."""
    return strict(
        lambda known: EVALUATION_ERROR if isinstance(known, list) else isinstance(known, dict) and key in known, entries
    )


def _value_or(entries, key, otherwise):
    return strict(lambda known: known.get(key, otherwise), entries)


def _caveat(parameters, text, meaning):
    kinds = [parameter.split() for parameter in parameters.split(", ")]
    return Caveat({name: kind for name, kind in kinds}, text, meaning)


BODIES = [
    _caveat("x int, y int", "x > 5 && y > 5", lambda x, y: all_of(more(x, 5), more(y, 5))),
    _caveat(
        "x int, y int", "x > 1 && y < x || x == 0", lambda x, y: any_of(all_of(more(x, 1), less(y, x)), equal(x, 0))
    ),
    _caveat("x int, y int", "x > 5 || 1 / y == 1", lambda x, y: any_of(more(x, 5), equal(divided(1, y), 1))),
    _caveat("x int, y int", "1 / y + x > 0", lambda x, y: more(added(divided(1, y), x), 0)),
    _caveat(
        "x int, y int",
        "x / y >= 2 || x % y == -1",
        lambda x, y: any_of(at_least(divided(x, y), 2), equal(remainder(x, y), -1)),
    ),
    _caveat("x int, y int", "x + y > 3", lambda x, y: more(added(x, y), 3)),
    _caveat("x int, y int", "x * y <= 6", lambda x, y: at_most(multiplied(x, y), 6)),
    _caveat(
        "x int, y int", "-x < 3 && x - y != 0", lambda x, y: all_of(less(minus(x), 3), unlike(subtracted(x, y), 0))
    ),
    _caveat(
        "x int, y int",
        "[1, x, 3][y] == 3 || y in [x, 2]",
        lambda x, y: any_of(equal(indexed(listed(1, x, 3), y), 3), member(y, listed(x, 2))),
    ),
    _caveat("x int", "x > 1 && x < 7", lambda x: all_of(more(x, 1), less(x, 7))),
    _caveat("flag bool", "!flag", negated),
    _caveat(
        "flag bool, other bool",
        "flag == other || flag && !other",
        lambda flag, other: any_of(equal(flag, other), all_of(flag, negated(other))),
    ),
    _caveat("flag bool, other bool", "flag || other", any_of),
    _caveat("flag bool, other bool", "flag && other", all_of),
    _caveat(
        "flag bool, x int, s string",
        'flag ? x > 3 : s == "a"',
        lambda flag, x, s: choose(flag, more(x, 3), equal(s, "a")),
    ),
    _caveat(
        "flag bool, x int, y int",
        "(flag || x > 2) ? 6 / y > 2 : x == y",
        lambda flag, x, y: choose(any_of(flag, more(x, 2)), more(divided(6, y), 2), equal(x, y)),
    ),
    _caveat(
        "x int, flag bool, s string",
        'x > 3 || flag && s != "b"',
        lambda x, flag, s: any_of(more(x, 3), all_of(flag, unlike(s, "b"))),
    ),
    _caveat(
        "s string", 's.startsWith("a") && !s.endsWith("z")', lambda s: all_of(begins(s, "a"), negated(ends(s, "z")))
    ),
    _caveat("s string, t string", "s.contains(t)", contains),
    _caveat("s string, t string", 's + t == "ab"', lambda s, t: equal(joined(s, t), "ab")),
    _caveat("s string, x int", "size(s) >= x", lambda s, x: at_least(size(s), x)),
    _caveat("s string", 's.matches("^a[0-9]*$")', lambda s: strict(lambda text: bool(re.search("^a[0-9]*$", text)), s)),
    _caveat("s string, x int", "int(s) > x", lambda s, x: more(parsed(s), x)),
    _caveat("s string, items list<string>", "s in items", member),
    _caveat(
        "items list<string>, x int",
        "size(items) >= x || items.size() == 3",
        lambda items, x: any_of(at_least(size(items), x), equal(size(items), 3)),
    ),
    _caveat(
        "items list<string>, s string, t string",
        "items.all(i, i in [s, t])",
        lambda items, s, t: every(items, lambda i: member(i, listed(s, t))),
    ),
    _caveat("numbers list<int>, x int", "numbers[x] > 1", lambda numbers, x: more(indexed(numbers, x), 1)),
    _caveat(
        "numbers list<int>, x int", "numbers.exists(n, n > x)", lambda numbers, x: exists(numbers, lambda n: more(n, x))
    ),
    _caveat(
        "numbers list<int>, x int",
        "numbers.exists(n, 10 / n > x)",
        lambda numbers, x: exists(numbers, lambda n: more(divided(10, n), x)),
    ),
    _caveat(
        "numbers list<int>, x int",
        "numbers.all(n, n >= x || n == 0)",
        lambda numbers, x: every(numbers, lambda n: any_of(at_least(n, x), equal(n, 0))),
    ),
    _caveat(
        "numbers list<int>, x int",
        "numbers.exists_one(n, n == x)",
        lambda numbers, x: equal(size(filtered(numbers, lambda n: equal(n, x))), 1),
    ),
    _caveat(
        "numbers list<int>, x int",
        "size(numbers.filter(n, n > x)) > 1",
        lambda numbers, x: more(size(filtered(numbers, lambda n: more(n, x))), 1),
    ),
    _caveat(
        "numbers list<int>, x int",
        "4 in numbers.map(n, n + x)",
        lambda numbers, x: member(4, mapped(numbers, lambda n: added(n, x))),
    ),
    _caveat("m map<int>, s string", "m[s] == 1", lambda m, s: equal(keyed(m, s), 1)),
    _caveat("m map<int>", "has(m.a) && m.a >= 1", lambda m: all_of(_has(m, "a"), at_least(keyed(m, "a"), 1))),
    _caveat("m map<int>, s string", "s in m || m.a == 2", lambda m, s: any_of(member(s, m), equal(keyed(m, "a"), 2))),
    _caveat("m map<int>, x int", 'm[?"a"].orValue(0) > x', lambda m, x: more(_value_or(m, "a", 0), x)),
    _caveat("tree map<any>, leaves map<any>", "tree.isSubtreeOf(leaves)", subtree),
    _caveat(
        "when timestamp",
        'when < timestamp("2026-01-01T00:00:00Z")',
        lambda when: less(when, _moment("2026-01-01T00:00:00Z")),
    ),
    _caveat(
        "when timestamp, span duration",
        'when + span > timestamp("2026-01-01T00:00:00Z")',
        lambda when, span: more(joined(when, span), _moment("2026-01-01T00:00:00Z")),
    ),
    _caveat(
        "when timestamp",
        "when.getHours() >= 9 && when.getHours() < 17",
        lambda when: all_of(at_least(_hour(when), 9), less(_hour(when), 17)),
    ),
    _caveat("span duration", 'span > duration("1h")', lambda span: more(span, 3600 * NANOSECONDS)),
    _caveat("ip ipaddress", 'ip.in_cidr("10.0.0.0/8")', lambda ip: within(ip, "10.0.0.0/8")),
    _caveat("ip ipaddress, range string", "ip.in_cidr(range)", within),
    _caveat("v any", "v == 1", lambda v: same(v, 1)),
    _caveat("v any, x int", "v < x", any_less),
    _caveat("v any", "v + 1 == 2", lambda v: strict(lambda known: EVALUATION_ERROR, v)),
    _caveat("v any, flag bool", "has(v.a) && flag", lambda v, flag: all_of(_has(v, "a"), flag)),
    _caveat("d double, x int", "d * 2.0 >= double(x)", lambda d, x: strict(lambda a, b: a * 2.0 >= float(b), d, x)),
    _caveat("d double, x int", "int(d) == x", lambda d, x: equal(whole(d), x)),
    _caveat("u uint, x int", "u > x", more),
    _caveat("raw bytes", 'raw == b"ab"', lambda raw: equal(raw, b"ab")),
]

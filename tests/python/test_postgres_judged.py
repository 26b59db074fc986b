"""What the SQL function write() lets in, every engine can read. One row that it can't, and an engine that follows the
database answers nothing any more. What write() refuses beyond what an engine refuses is what docs/postgres.md says."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import licet
import pytest
from licet import Relationship

psycopg = pytest.importorskip("psycopg")

SCHEMA = """\
use expiration

definition user {}

definition group {
  relation member: user | group#member
}

caveat limits(anything any, flag bool, word string, number int, count uint, ratio double, data bytes, span duration,
  moment timestamp, address ipaddress, numbers list<int>, words map<list<string>>, deep list<list<list<uint>>>) {
  flag && anything == anything && word == "" && number == 1 && count == count && ratio == 1.0 && data == b"" &&
  span == span && moment == moment && address == address && numbers == numbers && words == words && deep == deep
}

definition document {
  relation viewer: user | user:* | group#member | user with limits | user with expiration | user with limits and expiration
  permission view = viewer
}
"""
FINE = "document:fine#viewer@user:ada"


class World:
    """The same relationships in Postgres, written by write(), and in memory, written by an engine."""

    def __init__(self, uri: str, schema: str) -> None:
        licet.migrate(uri, postgres_schema=schema)
        self.schema = schema
        self.connection = psycopg.connect(uri, autocommit=True)
        self.engines = [licet.open(uri, postgres_schema=schema, mode=mode) for mode in ("follow", "prefetch")]
        self.memory = licet.open()
        self.engines[0].write_schema(SCHEMA)
        self.memory.write_schema(SCHEMA)
        assert self.put(FINE) == self.keep(FINE) == ""

    def put(self, relationship: str | dict[str, Any]) -> str:
        """By write(): "", or the SQLSTATE, DETAIL and message."""
        request = json.dumps({"updates": [{"operation": "touch", "relationship": relationship}]})
        try:
            self.connection.execute(f"SELECT {self.schema}.write(%s)", [request])
        except psycopg.Error as error:
            return f"{error.sqlstate} {error.diag.message_detail or ''}: {error.diag.message_primary}"
        return ""

    def keep(self, relationship: str | dict[str, Any]) -> str:
        """By the engine in memory: "", or what it says."""
        if isinstance(relationship, dict):
            relationship = Relationship(**relationship)
        try:
            self.memory.touch(relationship)
        except licet.Error as error:
            return str(error)
        return ""

    def forget(self, relationship: str | dict[str, Any]) -> None:
        if isinstance(relationship, dict):
            relationship = Relationship(**relationship)
        self.memory.delete(relationship)

    def is_read(self) -> None:
        """By engines of both modes, and is what is in memory, but for -0, which jsonb does not have."""
        kept = map(str, self.memory.read_relationships(resource_type="document"))
        expected = sorted(re.sub(r"-0(?=[],}])", "0", text) for text in kept)
        for engine in self.engines:
            assert engine.allowed("document:fine", "view", "user:ada", consistency=licet.FULL)
            assert (
                sorted(map(str, engine.read_relationships(resource_type="document", consistency=licet.FULL)))
                == expected
            )

    def close(self) -> None:
        for engine in (*self.engines, self.memory):
            engine.close()
        self.connection.close()


@pytest.fixture
def world(postgres_uri: str, postgres_schema: str) -> Iterator[World]:
    world = World(postgres_uri, postgres_schema)
    yield world
    world.close()


def record(context: Any, resource_id: str = "plan") -> dict[str, Any]:
    """context: a JSON text, or what becomes one."""
    return {
        "resource_type": "document",
        "resource_id": resource_id,
        "relation": "viewer",
        "subject_type": "user",
        "subject_id": "tom",
        "caveat_name": "limits",
        "caveat_context": context if isinstance(context, str) else json.dumps(context),
    }


def nested(depth: int, inner: str = "") -> str:
    return '{"anything":' + "[" * (depth - 1) + inner + "]" * (depth - 1) + "}"


# ------------------------------------------------------------ case by case

NO_DURATION = "LZ004 CAVEAT_PARAMETER_TYPE_ERROR: update 1: parameter `span` of caveat `limits` is no duration"
NO_ADDRESS = "LZ004 CAVEAT_PARAMETER_TYPE_ERROR: update 1: parameter `address` of caveat `limits` is no ipaddress"
NO_DOUBLE = "LZ004 CAVEAT_PARAMETER_TYPE_ERROR: update 1: parameter `ratio` of caveat `limits` is no double"
TOO_LARGE = "LZ007 MAX_RELATIONSHIP_CONTEXT_SIZE: update 1: caveat and context are more than the 25000 bytes allowed"
NO_NUMBER = "LZ004 : update 1: a number is out of the range of doubles"
TOO_DEEP = "LZ007 JSON_NESTING: update 1: nested deeper than 64"


@pytest.mark.parametrize(
    ("context", "refusal"),
    [
        ({"span": "99999999999h"}, NO_DURATION),
        ({"span": "9223372036854775808ns"}, NO_DURATION),
        ({"span": "-9223372036854775809ns"}, NO_DURATION),
        ({"span": "2562047h47m16.854775808s"}, NO_DURATION),
        ({"span": "9223372036854775807ns1ns"}, NO_DURATION),
        ({"span": "9" * 30 + ".1ns"}, NO_DURATION),
        ({"span": "9" * 20000 + "h"}, NO_DURATION),
        ({"address": "::1.2.3"}, NO_ADDRESS),
        ({"address": "::.1"}, NO_ADDRESS),
        ({"address": "0::1.2.3"}, NO_ADDRESS),
        ({"address": "::1.2.3.4.5"}, NO_ADDRESS),
        ({"address": "1:2:3:4:5:6:7:1.2.3.4"}, NO_ADDRESS),
        ({"address": "1:2:3:4:5:6::1.2.3.4"}, NO_ADDRESS),
        ({"address": "1::2:3:4:5:6:7:8"}, NO_ADDRESS),
        ({"address": "1.2.3.4::"}, NO_ADDRESS),
        ({"numbers": [1] * 3000}, TOO_LARGE),
        ({"word": "x" * 24971}, TOO_LARGE),
        ({"anything": [[1]] * 1700}, TOO_LARGE),
        ('{"ratio":1e-16000}', NO_NUMBER),
        ('{"anything":1e-1022}', NO_NUMBER),
        ('{"anything":{"a":[1e-1022]}}', NO_NUMBER),
        ('{"ratio":1e400}', NO_NUMBER),
        ('{"ratio":-1.7976931348623159e308}', NO_NUMBER),
        ({"ratio": "0." + "0" * 20000 + "1"}, NO_DOUBLE),
        ({"ratio": "1" * 1024}, NO_DOUBLE),
        (nested(65), TOO_DEEP),
    ],
)
def test_what_no_engine_could_read_is_refused(world, context, refusal):
    assert world.put(record(context)) == refusal
    world.is_read()


def test_what_an_engine_reads_at_the_edge_is_let_in(world):
    contexts: list[Any] = [
        {"span": "2562047h47m16.854775807s"},
        {"span": "-2562047h47m16.854775808s"},
        {"span": "9223372036854775806.999ns"},
        {"span": "0.0000000000000000000000000001h"},
        {"span": "0" * 20000 + "1ns"},
        {"span": "0." + "0" * 20000 + "1s"},
        {"address": "1:2:3:4:5:6:1.2.3.4"},
        {"address": "1:2:3:4:5::1.2.3.4"},
        {"address": "::2:3:4:5:6:7:8"},
        {"address": "1::"},
        {"numbers": [1] * 1900},
        {"numbers": [1] * 2268},
        {"word": "x" * 24970},
        {"word": "\x01" * 4160},
        {"ratio": "1" * 1023},
        {"ratio": 1.7976931348623157e308},
        '{"ratio":-179769313486231570814527423731704356798070567525844996598917476803157260780028538760589558632766878171540458'
        "9535143824642343213268894641827684675467035375169860499105765512820762454900903893289440758685084551339423045832"
        "3690322294816580855933212334774797926204144723168738177180919299881250404026184124858368}",
        '{"anything":1e-1021}',
        nested(64),
        nested(64, "1"),
        {"anything": {str(i): None for i in range(1024)}},
    ]
    for number, context in enumerate(contexts):
        relationship = record(context, f"d{number}")
        assert (world.put(relationship), world.keep(relationship)) == ("", ""), str(context)[:99]
    world.is_read()


# ------------------------------------------------------------ whatever is thrown at it


def an_address(random: Random) -> str:
    if random.random() < 0.3:
        return ".".join(
            random.choice(["0", "1", "255", "256", "01", ""]) for _ in range(random.choice([3, 4, 4, 4, 5]))
        )
    words = "0 1 ab FFFF 00001 12345 255 1.2.3.4 1.2.3 .1 1.02.3.4 256.1.1.1 1.2.3.4. %1 g".split()
    groups = [
        random.choice([*"0123456789", "", "", "ab", "FFFF", random.choice(words)]) for _ in range(random.randint(1, 9))
    ]
    return ":".join(groups) + random.choice(["", "", "", "::", ":1.2.3.4"])


def a_duration(random: Random) -> str:
    numbers = (
        "0 1 1.5 .5 1. . 00 0.1 106751 2562047 9223372036 854775807 92233720368.54775807 9223372036854775807".split()
    )
    units = "ns us \u00b5s \u03bcs ms s m h d".split()
    spans = [random.choice(numbers) + random.choice(units) for _ in range(random.choice([1, 1, 1, 2, 3]))]
    return random.choice(["", "", "-", "+", "--"]) + "".join(spans)


def a_moment(random: Random) -> str:
    day = [
        random.choice(["2020", "2023", "0001", "9999", "0000", "10000"]),
        random.choice(["01", "02", "12", "12", "13", "00", "1"]),
        random.choice(["01", "01", "28", "29", "30", "31", "32", "00"]),
    ]
    clock = [
        random.choice(["00", "23", "3", "24"]),
        random.choice(["00", "59", "60"]),
        random.choice(["00", "59", "60"]),
    ]
    fraction = random.choice(["", "", ".0", ".999999999", ".1234567891", ".", ",5"])
    offset = random.choice(["Z", "Z", "z", "+00:00", "-23:59", "+23:59", "+24:00", "", "+0000", "-00:01"])
    return "-".join(day) + random.choice("TTTTt ") + ":".join(clock) + fraction + offset


def some_bytes(random: Random) -> str:
    return "".join(random.choice("AAQQgg//++==_-\n ") for _ in range(random.randint(0, 9)))


def a_number(random: Random) -> Any:
    if random.random() < 0.3:
        return random.choice(
            [0, -0.0, 2**53 + 1, 2**63, 2**64, -(2**63) - 1, 1e19, 1.5, 1e308, 5e-324, 10**300, 10**308]
        )
    if random.random() < 0.4:
        return "".join(random.choice("0189+-.eE_xInf ") for _ in range(random.randint(1, 6)))
    digits = random.choice([str(2**63), str(2**63 - 1), str(2**64), "1" * 30, "0", "9" * 1020, "0." + "0" * 400 + "1"])
    return random.choice(["", "+", "-"]) + digits + random.choice(["", ".0", "e0", ".5", "e-1", "e999", "e99", "e9999"])


def a_text(random: Random) -> str:
    odd = ["x", '"', "\\", "\0", "\x01", "\x7f", "\u00e9", "\u202e", "\ufffe", "\U0010ffff", "]", "}"]
    return "".join(random.choice(odd) for _ in range(random.randint(0, 4)))


def anything(random: Random, depth: int = 0) -> Any:
    kind = random.randrange(9 if depth < 4 else 6)
    if kind < 6:
        return [None, True, a_number(random), 10 ** random.randrange(-330, 309), a_text(random), 0.1][kind]
    if kind == 6:
        return {a_text(random): anything(random, depth + 1) for _ in range(random.randrange(3))}
    return [anything(random, depth + 1) for _ in range(random.randrange(4))]


def a_size(random: Random) -> Any:
    """Large about as much as a context may be."""
    item, bytes_of_it = random.choice(
        [(1, 11), ([], 4), ([1], 15), ({"a": 1}, 20), ("", 4), ("\u00e9\x01", 7), (True, 4)]
    )
    return [item] * (random.randint(24900, 25050) // bytes_of_it)


VALUES: dict[str, Callable[[Random], Any]] = {
    "address": an_address,
    "span": a_duration,
    "moment": a_moment,
    "data": some_bytes,
    "number": a_number,
    "count": a_number,
    "ratio": a_number,
    "word": a_text,
    "anything": anything,
    "numbers": lambda random: [a_number(random) for _ in range(random.randrange(3))],
    "words": lambda random: {a_text(random): [random.choice(["x", 1, None])] for _ in range(random.randrange(3))},
    "deep": lambda random: random.choice([[], [[]], [[[]]], [[[1]]], [[[-1]]], [[1]], [[["1"]]], [{}]]),
}

# Where write() is stricter than an engine, as docs/postgres.md has it.
STRICTER: dict[str, Callable[[Any], bool]] = {
    "address": lambda value: "%" in value,
    "moment": lambda value: re.match("0000|.*T[0-9]:|.*,|.*[+]24|0001.*[+]|9999.*-", value) is not None,
    "data": lambda value: "\n" in value,
    "number": lambda value: is_odd_number(value) or is_rounded(value),
    "count": lambda value: is_odd_number(value) or is_rounded(value),
    "ratio": lambda value: is_odd_number(value),
    "numbers": lambda value: any(map(is_odd_number, value)) or any(map(is_rounded, value)),
}


def is_odd_number(value: Any) -> bool:
    """A text that is one for Go, but in no common notation; or long."""
    if not isinstance(value, str):
        return False
    return len(value) > 1023 or re.search("[_xXpP]|^[+-]?inf$|e9999$", value) is not None


def is_rounded(value: Any) -> bool:
    """A text of so many digits that nothing of its fraction is left in 64 bits."""
    return isinstance(value, str) and re.search("[0-9]{19}([.]5|e-1)$", value) is not None


def has_nul(value: Any) -> bool:
    return "\\u0000" in json.dumps(value)


def test_engines_read_whatever_write_lets_in_and_it_refuses_little_else(world):
    random = Random(20300102)
    lax, strict, taken = [], [], 0
    cases = [(name, VALUES[name](random)) for name in VALUES for _ in range(200)]
    cases += [("anything", a_size(random)) for _ in range(30)]
    for number, (name, value) in enumerate(cases):
        relationship = record({name: value}, f"d{number}")
        refusal, objection = world.put(relationship), world.keep(relationship)
        assert refusal == "" or refusal.startswith("LZ"), (name, value, refusal)
        if not refusal and objection:
            lax.append((name, value, objection))
        if refusal and not objection:
            world.forget(relationship)
            if not has_nul(value) and not STRICTER.get(name, lambda _: False)(value):
                strict.append((name, value, refusal))
        taken += not refusal
    assert lax == []
    assert strict == []
    assert 1000 < taken < len(cases) - 700
    world.is_read()


TEXTS = [
    "document:a#viewer@user:*",
    "document:b#viewer@user:b#...",
    "document:c#viewer@group:g#member",
    f"document:{'x' * 1024}#viewer@user:{'y' * 1024}",
    "document:A-z_0/|=+#viewer@user:b",
    "document:d#viewer@user:b[limits]",
    'document:e#viewer@user:b[limits:{"flag":true,"flag":false}]',
    'document:f#viewer@user:b[limits:{"word":"}]"}][expiration:2999-01-02T03:04:05Z]',
    "document:g#viewer@user:b[expiration:2999-01-02T03:04:05.123456789Z]",
    "document:h#viewer@user:b[expiration:9999-12-31T23:59:59.9999999999Z]",
    "document:i#viewer@user:b[expiration:0001-01-01T00:00:00Z]",
    "document:j#viewer@user:b[expiration:1969-12-31T23:59:59.999999999Z]",
]


def test_engines_read_every_form_that_write_lets_in(world):
    for text in TEXTS:
        assert (world.put(text), world.keep(text)) == ("", ""), text[:99]
    world.is_read()

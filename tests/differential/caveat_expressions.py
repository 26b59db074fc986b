"""Random caveats: expressions that are well typed by construction, over parameters of every type.

An expression is a tree of nodes, so that it can be made smaller without losing its types. The rules below are texts with
typed holes: `({int} + {int})` makes an int of two. In a rule A stands for any type, @ for a new variable, and `{bool@int}` is
a bool in whose expression that variable is an int. What can fail at run time is welcome; what does not compile is
made on purpose only, by `damaged`.
"""

import json
import re

HOLE = re.compile(r"\{([a-z]+(?:\([a-zA-Z()]*\))?|A)(?:@([a-zA-Z()]+))?\}")

# Caveat parameter type -> the type that expressions see. `uint` is no mistake (caveats.md 2).
SEEN_AS = {"any": "dyn", "uint": "int", "duration": "duration", "timestamp": "timestamp", "ipaddress": "ip"}

PARAMETERS = {
    "x": "int",
    "y": "int",
    "n": "uint",
    "f": "double",
    "s": "string",
    "name": "string",
    "b": "bool",
    "c": "bool",
    "raw": "bytes",
    "t": "timestamp",
    "span": "duration",
    "ip": "ipaddress",
    "ip2": "ipaddress",
    "d": "any",
    "e": "any",
    "ints": "list<int>",
    "names": "list<string>",
    "things": "list<any>",
    "uints": "list<uint>",
    "spans": "list<duration>",
    "rows": "list<list<int>>",
    "ips": "list<ipaddress>",
    "m": "map<any>",
    "m2": "map<any>",
    "counts": "map<int>",
    "labels": "map<string>",
    "flags": "map<bool>",
    "lists": "map<list<int>>",
    "tree": "map<map<any>>",
    "hosts": "list<map<any>>",
}

LITERALS = r"""
int: 0 | 1 | 1 | 2 | 3 | 5 | -1 | 100 | 0x1F | 9223372036854775807 | -9223372036854775808
uint: 0u | 1u | 1u | 2u | 7u | 18446744073709551615u
double: 0.0 | 1.0 | 1.0 | 1.5 | -2.25 | 1e20 | 1e-7 | 123456789.5 | (0.0/0.0)
string: "a" | "b" | "ab" | 'a' | "" | "k" | "1" | "true" | "1.5" | "1h" | "2023-01-01T00:00:00Z" | "\u00e4" | r"a.*"
string: "^a" | "\n" | "10.0.0.0/8"
bool: true | false
bytes: b"a" | b"" | b"\xff" | b"ab"
timestamp: timestamp("2023-06-30T23:59:59.5Z") | timestamp("0001-01-01T00:00:00Z") | timestamp("9999-12-31T23:59:59Z")
timestamp: timestamp("2020-02-29T12:00:00+05:30") | timestamp(0) | timestamp(1690000000)
duration: duration("1h30m") | duration("-1.5s") | duration("0s") | duration("1h") | duration("2562047h")
dyn: dyn(null) | dyn(1) | dyn(1u) | dyn(1.0) | dyn("a") | dyn(true) | dyn([1]) | dyn({"a": 1})
type: int | uint | double | bool | string | bytes | list | map | null_type | type
"""

PLAIN = "int int uint double string string bool bytes timestamp duration dyn dyn ip".split()

RULES = """
bool: ({bool} && {bool}) | ({bool} && {bool}) | ({bool} || {bool}) | ({bool} || {bool}) | ({bool} || {bool} || {bool})
bool: ({bool} && {bool} && {bool}) | !{bool} | ({bool} ? {bool} : {bool})
bool: ({int} < {int}) | ({int} <= {int}) | ({int} > {int}) | ({int} >= {int}) | ({int} == {int}) | ({int} != {int})
bool: ({uint} < {uint}) | ({double} >= {double}) | ({string} < {string}) | ({bytes} <= {bytes}) | ({bool} < {bool})
bool: ({timestamp} < {timestamp}) | ({timestamp} >= {timestamp}) | ({duration} > {duration}) | ({duration} <= {duration})
bool: ({string} == {string}) | ({string} != {string}) | ({string} == {string})
bool: ({dyn} < {int}) | ({dyn} > {double}) | ({dyn} <= {dyn}) | ({dyn} == {int}) | ({dyn} == {string}) | ({dyn} != {dyn})
bool: ({A} == {A}) | ({A} != {A}) | ({A} == {A}) | (dyn({A}) == {A}) | ({dyn} == {A}) | ({list(A)} == {list(A)})
bool: ({map(A)} == {map(A)}) | ({map(A)} != {map(A)}) | ({opt(A)} == {opt(A)}) | (type({A}) == {type}) | (type({dyn}) == {type})
bool: ({A} in {list(A)}) | ({A} in {list(A)}) | ({string} in {map(A)}) | ({string} in {map(A)}) | ({dyn} in {list(dyn)})
bool: ({dyn} in {dyn}) | ({int} in {1: {string}, 2: "b"}) | ({dyn} == null) | ({dyn} != null) | !({A} in {list(A)})
bool: {string}.contains({string}) | {string}.startsWith({string}) | {string}.endsWith({string}) | {string}.matches({string})
bool: matches({string}, {string}) | {string}.startsWith({string})
bool: {list(A)}.all(@, {bool@A}) | {list(A)}.exists(@, {bool@A}) | {list(A)}.exists_one(@, {bool@A})
bool: {list(A)}.exists(@, {bool@A}) | {map(A)}.all(@, {bool@string}) | {map(A)}.exists(@, {bool@string})
bool: {map(A)}.exists_one(@, {bool@string}) | {dyn}.exists(@, {bool@dyn}) | {dyn}.all(@, {bool@dyn})
bool: has({map(A)}.FIELD) | has({map(A)}.FIELD) | has({dyn}.FIELD) | has({map(dyn)}.FIELD.FIELD)
bool: (has({map(A)}.FIELD) && {map(A)}.FIELD == {A})
bool: bool({bool}) | bool({string}) | bool({dyn}) | {opt(A)}.hasValue() | {list(bool)}[{int}] | {map(bool)}.FIELD
bool: {ip}.in_cidr("10.0.0.0/8") | {ip}.in_cidr("10.1.0.0/16") | {ip}.in_cidr("::/0") | {ip}.in_cidr({string})
bool: {ip}.in_cidr("2001:db8::/32") | {ip}.in_cidr("10.0.0.0/8") | ({ip} == {ip}) | ({ip} != {ip})
bool: {given}.isSubtreeOf({given}) | {given}.isSubtreeOf({map(dyn)}) | {given}.isSubtreeOf({given})
bool: {opt(bool)}.orValue({bool}) | {opt(bool)}.value() | optional.ofNonZeroValue({A}).hasValue()
int: ({int} + {int}) | ({int} - {int}) | ({int} * {int}) | ({int} / {int}) | ({int} % {int}) | -{int} | ({int} + {int})
int: size({string}) | size({bytes}) | size({list(A)}) | size({map(A)}) | {string}.size() | {list(A)}.size() | {map(A)}.size()
int: size({dyn}) | {list(int)}[{int}] | {list(int)}[0] | {map(int)}[{string}] | {map(int)}.FIELD
int: int({string}) | int({double}) | int({uint}) | int({int}) | int({timestamp}) | int({duration}) | int({dyn})
int: ({bool} ? {int} : {int}) | {opt(int)}.orValue({int}) | {opt(int)}.value()
int: {timestamp}.getFullYear() | {timestamp}.getMonth() | {timestamp}.getDate() | {timestamp}.getDayOfMonth()
int: {timestamp}.getDayOfWeek() | {timestamp}.getDayOfYear() | {timestamp}.getHours() | {timestamp}.getMinutes()
int: {timestamp}.getSeconds() | {timestamp}.getMilliseconds() | {timestamp}.getHours("Europe/Berlin")
int: {timestamp}.getDayOfWeek("America/New_York") | {timestamp}.getFullYear("+01:30") | {timestamp}.getMinutes("Asia/Kolkata")
int: {timestamp}.getHours({string}) | {duration}.getHours() | {duration}.getMinutes() | {duration}.getSeconds()
int: {duration}.getMilliseconds()
uint: ({uint} + {uint}) | ({uint} - {uint}) | ({uint} * {uint}) | ({uint} / {uint}) | ({uint} % {uint})
uint: uint({int}) | uint({double}) | uint({string}) | uint({dyn}) | ({bool} ? {uint} : {uint})
double: ({double} + {double}) | ({double} - {double}) | ({double} * {double}) | ({double} / {double}) | -{double}
double: double({int}) | double({uint}) | double({string}) | double({dyn}) | ({bool} ? {double} : {double})
string: ({string} + {string}) | ({string} + {string}) | string({int}) | string({double}) | string({bool}) | string({bytes})
string: string({timestamp}) | string({duration}) | string({uint}) | string({dyn}) | string({string})
string: ({bool} ? {string} : {string}) | {map(string)}.FIELD | {map(string)}[{string}] | {list(string)}[{int}]
string: {opt(string)}.orValue({string})
bytes: ({bytes} + {bytes}) | bytes({string}) | bytes({bytes}) | ({bool} ? {bytes} : {bytes})
timestamp: ({timestamp} + {duration}) | ({timestamp} - {duration}) | ({duration} + {timestamp}) | timestamp({int})
timestamp: timestamp({string}) | timestamp({timestamp}) | ({bool} ? {timestamp} : {timestamp})
duration: ({duration} + {duration}) | ({duration} - {duration}) | ({timestamp} - {timestamp}) | duration({string})
duration: duration({duration}) | {list(duration)}[{int}]
ip: {list(ip)}[{int}] | ({bool} ? {ip} : {ip})
type: type({A}) | type({dyn})
dyn: dyn({A}) | {map(dyn)}.FIELD | {map(dyn)}[{string}] | {dyn}.FIELD | {list(dyn)}[{int}] | {dyn}[{int}] | {dyn}[{string}]
dyn: {dyn}[{dyn}] | ({dyn} + {dyn}) | ({dyn} - {dyn}) | ({dyn} * {dyn}) | ({dyn} / {dyn}) | ({dyn} % {dyn}) | -{dyn}
dyn: ({bool} ? dyn({A}) : {dyn}) | {map(map(dyn))}.FIELD.FIELD | {list(map(dyn))}[{int}].FIELD | {opt(dyn)}.orValue({dyn})
list(A): [{A}, {A}] | [{A}] | ({list(A)} + {list(A)}) | {list(A)}.filter(@, {bool@A}) | ({bool} ? {list(A)} : {list(A)})
list(A): [?{opt(A)}, {A}] | {list(A)}.map(@, {A@A}) | {list(int)}.map(@, {A@int}) | {list(string)}.map(@, {bool@string}, {A@string})
list(A): {map(A)}.map(@, {A@string}) | {list(A)}.filter(@, {bool@A}) | {list(list(A))}[{int}] | {map(list(A))}.FIELD
list(string): {map(A)}.filter(@, {bool@string})
map(A): {"a": {A}} | {"a": {A}, "k": {A}} | {{string}: {A}} | {"a": {A}, ?"k": {opt(A)}} | ({bool} ? {map(A)} : {map(A)})
map(A): {map(map(A))}.FIELD | {list(map(A))}[{int}]
opt(A): optional.of({A}) | optional.none() | optional.ofNonZeroValue({A}) | {map(A)}.?FIELD | {map(A)}[?{string}]
opt(A): {list(A)}[?{int}] | {opt(A)}.or({opt(A)}) | {list(list(A))}[?{int}][?{int}] | {opt(int)}.optMap(@, {A@int}) | {opt(map(A))}.FIELD
"""

FIELDS = "a a k k b z".split()


def parse_type(text):
    """("list", "int") of "list(int)"; "int" of itself."""
    if text.endswith(")"):
        outer, inner = text[:-1].split("(", 1)
        return (outer, parse_type(inner))
    return text


def type_of_parameter(declared):
    if declared.endswith(">"):
        outer, inner = declared[:-1].split("<", 1)
        return (outer, type_of_parameter(inner))
    return SEEN_AS.get(declared, declared)


def _substitute(pattern, a):
    if isinstance(pattern, tuple):
        return (pattern[0], _substitute(pattern[1], a))
    return a if pattern == "A" else pattern


def _match(pattern, wanted):
    """(does it fit, what A is)"""
    while isinstance(pattern, tuple) and isinstance(wanted, tuple) and pattern[0] == wanted[0]:
        pattern, wanted = pattern[1], wanted[1]
    if pattern == "A":
        return True, wanted
    return pattern == wanted, None


def _parts(text):
    """A rule's text as a list of strings and holes (type, type of the variable or None)."""
    parts, at = [], 0
    for hole in HOLE.finditer(text):
        parts.append(text[at : hole.start()])
        parts.append((parse_type(hole[1]), hole[2] and parse_type(hole[2])))
        at = hole.end()
    return parts + [text[at:]]


def _alternatives(table):
    """(type, text) of lines "type: text | text | ..."."""
    for line in table.strip().splitlines():
        name, texts = line.split(": ", 1)
        for text in texts.split(" | "):
            yield parse_type(name), text


RULE_LIST = [(type_, _parts(text)) for type_, text in _alternatives(RULES)]
LITERAL_LIST = list(_alternatives(LITERALS))


def literals_of(type_):
    return [text for other, text in LITERAL_LIST if other == type_]


def is_variable(name):
    """Is it the name that a macro gave?"""
    return name is not None and name not in PARAMETERS


class Node:
    """A part of an expression: texts and nodes. `name`: it is a parameter or a variable."""

    __slots__ = ("type", "parts", "name")

    def __init__(self, type_, parts, name=None):
        self.type, self.parts, self.name = type_, parts, name

    def __str__(self):
        return "".join(map(str, self.parts))

    def nodes(self):
        yield self
        for part in self.parts:
            if isinstance(part, Node):
                yield from part.nodes()

    def replaced(self, old, new):
        """A copy in which one node is another."""
        if self is old:
            return new
        return Node(self.type, [p.replaced(old, new) if isinstance(p, Node) else p for p in self.parts], self.name)

    def parameters(self):
        return sorted({node.name for node in self.nodes() if node.name in PARAMETERS})


class Generator:
    def __init__(self, rng):
        self.rng = rng
        self.by_type = {}
        self.rules = {}

    def expression(self):
        """A bool that has a parameter in it."""
        rng = self.rng
        while True:
            # A few parameters only, so that one expression meets the same one twice.
            names = rng.sample(sorted(PARAMETERS), rng.choice([6, 10, 14, 20]))
            self.by_type = {}
            for name in names:
                self.by_type.setdefault(type_of_parameter(PARAMETERS[name]), []).append(name)
            node = self.node("bool", rng.choice([1, 1, 2, 2, 2, 3, 3, 4]), [])
            if node is not None and node.parameters() and len(str(node)) < 500:
                return node

    def node(self, wanted, depth, scope):
        """None: there is no such thing, as no address without a parameter."""
        rng = self.rng
        if wanted == "given":
            return self.leaf(("map", rng.choice(["dyn", "dyn", "int"])), scope, literal=False)
        if depth <= 0 or (wanted != "bool" and rng.random() < 0.25):
            return self.leaf(wanted, scope)
        for _ in range(4):
            made = self.rule(wanted, depth, scope)
            if made is not None:
                return made
        return self.leaf(wanted, scope)

    def leaf(self, wanted, scope, literal=True):
        rng = self.rng
        names = [name for name, type_ in scope if type_ == wanted] * 2 + self.by_type.get(wanted, [])
        if names and (not literal or rng.random() < 0.75):
            name = rng.choice(names)
            return Node(wanted, [name], name)
        return self.literal(wanted, scope) if literal else None

    def literal(self, wanted, scope):
        rng = self.rng
        if not isinstance(wanted, tuple):
            texts = literals_of(wanted)
            return Node(wanted, [rng.choice(texts)]) if texts else None
        outer, inner = wanted
        items = [self.leaf(inner, scope) for _ in range(rng.choice([1, 1, 2]))]
        if None in items:
            return None
        if outer == "opt":
            return Node(wanted, ["optional.of(", items[0], ")"])
        if outer == "list":
            return Node(wanted, ["["] + [part for item in items for part in (item, ", ")][:-1] + ["]"])
        return Node(wanted, ['{"a": ', items[0], "}"])

    def rule(self, wanted, depth, scope):
        rng = self.rng
        parts, a = rng.choice(self.rules_of(wanted))
        if a is None:
            a = rng.choice(PLAIN)
        variable = "v%d" % len(scope)
        made = []
        for part in parts:
            if isinstance(part, str):
                text = re.sub("FIELD", lambda _: rng.choice(FIELDS), part)
                made.append(re.sub(r"@", variable, text))
                continue
            type_, bound = part
            inner = scope + [(variable, _substitute(bound, a))] if bound else scope
            child = self.node(_substitute(type_, a), depth - 1, inner)
            if child is None:
                return None
            made.append(child)
        return Node(wanted, made)

    def rules_of(self, wanted):
        if wanted not in self.rules:
            fits = [(parts, _match(result, wanted)) for result, parts in RULE_LIST]
            self.rules[wanted] = [(parts, a) for parts, (fit, a) in fits if fit]
        return self.rules[wanted]

    def damaged(self, node):
        """The expression with one part of it of another type: it may well compile, and mostly it doesn't."""
        rng = self.rng
        old = rng.choice([n for n in node.nodes()][1:] or [node])
        for _ in range(20):
            wanted = rng.choice(PLAIN + [("list", rng.choice(PLAIN)), ("map", rng.choice(PLAIN)), ("opt", "int")])
            new = self.node(wanted, 1, [])
            if new is not None and new.type != old.type:
                return node.replaced(old, new)
        return node


# ----------------------------------------------------------------- contexts


def values_by_type(text):
    """Lines "type: JSON, JSON, ..."."""
    found = {}
    for line in text.strip().splitlines():
        name, values = line.split(": ", 1)
        found.setdefault(name, []).extend(json.loads("[%s]" % values))
    return found


GOOD = values_by_type(
    r"""
int: 0, 1, 1, 2, 3, 5, -1, 100, "1", "2", "4.2e1", "9223372036854775807", 3.0
uint: 0, 1, 1, 2, 7, "7", "3", 1000.0, "1e2"
double: 0, 1, 1.5, -2.25, "2.5", 1e+300, "1e-3", 2
string: "a", "a", "b", "ab", "", "k", "1", "true", "1h", "2023-01-01T00:00:00Z", "10.0.0.0/8", "ä", "Europe/Berlin"
string: "("
bool: true, false
bytes: "YQ==", "", "YWI=", "/w=="
timestamp: "2023-03-26T00:59:59Z", "2023-07-01T12:00:00+02:00", "1999-12-31T23:59:59.999999999Z"
timestamp: "2023-06-30T23:59:59.5Z", "1970-01-01T00:00:00Z", "2024-02-29T23:30:00-05:00"
duration: "1h", "1h", "-90m", "0", "1.5s", "2562047h47m", "1h30m", "500ms", "-1.5s"
ipaddress: "10.1.2.3", "10.1.2.3", "10.200.0.1", "192.168.0.1", "2001:db8::1", "2001:DB8::2", "::1"
any: null, 1, 2, 2.5, "a", "k", true, false, [1, 2, "a"], ["a"], {"a": 1, "k": {"a": [1]}}, {"a": "a"}, [], {}, 0, ""
"""
)

# Taken, clamped, or refused: what it is, both must agree on.
ODD = values_by_type(
    r"""
int: "99999999999999999999", "-9223372036854775809", 1e+30, "1p3", "+1", "1.0", 42.5, "0x1F", "1_0", " 1", "", "1e400"
uint: "18446744073709551615", 1e+19, -1, "-1", "-0", 2.5, "9223372036854775808"
double: "Inf", "-Inf", "1e400", "NaN", "", "1.", ".5", "0x1p3", "1e-400", "9007199254740993"
string: 1, true, [], {}
bool: "true", 1, 0, "false", []
bytes: "YQ", "Y Q==", "YQ==\n", "!", 1, "_w==", "YR=="
timestamp: "2023-01-01", "2023-01-01T00:00:00", "2023-01-01t00:00:00z", "2023-01-01T00:00:00,5Z"
timestamp: "2023-01-01T1:02:03Z", "0000-01-01T00:00:00Z", "2023-02-29T00:00:00Z", "2023-01-01T00:00:60Z"
timestamp: "2023-01-01T00:00:00+24:00", 0, "2023-01-01T24:00:00Z", "2023-01-01T00:00:00.1234567891Z"
timestamp: "9999-12-31T23:59:59-23:59"
duration: "1d", "1", "", "1h ", "-", "+1h", "1.5h", ".5s", "1µs", "1us", "9223372036854775807ns", "2562048h"
duration: "-2562047h47m16.854775808s", 60
ipaddress: "10.1.2", "010.1.2.3", "fe80::1%eth0", "::ffff:10.1.2.3%x", "", "10.1.2.3/8", 1, "::ffff:10.1.2.3"
ipaddress: "::10.1.2.3", "1:2:3:4:5:6:7:8"
any: [[1], {"b": null}], {"a": null}, 1e+19, -0.0, [null], {"z": [true]}
"""
)


def value_of(rng, declared, odd):
    """A value for a parameter of this type; odd: perhaps one that is refused."""
    if odd and rng.random() < 0.1:
        return rng.choice([None, 1, "a", True, [1], {"a": 1}])
    if declared.endswith(">"):
        outer, inner = declared[:-1].split("<", 1)
        if outer == "list":
            return [value_of(rng, inner, odd and rng.random() < 0.4) for _ in range(rng.choice([0, 1, 1, 2, 3]))]
        keys = rng.sample(["a", "k", "b", "z"], rng.choice([0, 1, 2, 2, 3]))
        return {key: value_of(rng, inner, odd and rng.random() < 0.4) for key in keys}
    return rng.choice(ODD[declared] if odd and rng.random() < 0.7 else GOOD[declared])


def context_of(rng, names, presence, oddness):
    return {name: value_of(rng, PARAMETERS[name], rng.random() < oddness) for name in names if rng.random() < presence}

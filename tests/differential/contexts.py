"""Random contexts: what a parameter of each type may be given, and what does not convert."""

import json

# What a context may hold for a parameter of such a type; and what does not convert.
VALUES = {
    "bool": [True, False],
    "string": ["a", "b", "ab", "a1", "z", "az", "7", "", "10.0.0.0/8", "é"],
    "int": [-1, 0, 1, 1, 2, 3, 3, 6, 6, 7, 9, 9.0, "8", "4.2e1", "-0", "9223372036854775807", 1e19, "-1e30"],
    "uint": [0, 1, 2, 7, "8", 1e30],
    "double": [0, -1.5, 0.5, 2, 3, 3.75, 1e19, "2.5", "Inf", "-Inf"],
    "bytes": ["YWI=", "YQ==", ""],
    "duration": ["90m", "1h30m", "1h", "-1.5s", "0", "2562047h", "1.5us"],
    "timestamp": [
        "2025-12-31T23:00:00-05:00",
        "2025-06-01T12:30:00Z",
        "2026-01-01T00:00:00Z",
        "2026-03-01T08:59:59.25Z",
        "1969-12-31T16:00:00Z",
    ],
    "ipaddress": ["10.1.2.3", "11.0.0.1", "::ffff:10.1.2.3", "fe80::1", "2001:db8::7"],
    "range": ["10.0.0.0/8", "10.1.2.3/32", "fe80::/10", "0.0.0.0/0", "::/0", "10.0.0.0", "10.0.0.0/08", "x"],
    "list<string>": [[], ["a"], ["b", "a"], ["a", "ab", "z"]],
    "list<int>": [[], [1], [0, 4], [2, 2, 9], ["3", 0, -1], [4, "9223372036854775807"]],
    "map<int>": [{}, {"a": 1}, {"a": 2, "b": 1}, {"b": "1", "ab": 1}],
    "map<any>": [{}, {"k": {"n": 1}}, {"k": {"n": 1, "o": "p"}, "z": None}, {"k": 1}, {"z": None, "k": {}}],
    "any": [1, 1.0, 2, 0.5, "1", True, None, [1], {}, {"a": 1}, 10**12],
}
MISFITS = {
    "bool": [1, "true", None],
    "string": [1, None, True, ["a"]],
    "int": [42.1, "x", None, True, " 1", [1]],
    "uint": [-1, "-7", 1.5, None],
    "double": ["x", None, False],
    "bytes": ["YWI", "?", 1],
    "duration": ["1d", "1", 5, None],
    "timestamp": ["2026-01-01", 1, None, "2026-13-01T00:00:00Z"],
    "ipaddress": ["10.0.0.01", "10.0.0", 1, None],
    "list<string>": [["a", 1], {}, "a"],
    "list<int>": [[1, 2.5], None, 1],
    "map<int>": [{"a": "x"}, [], None],
    "map<any>": [[1], "x", None],
    "any": [],
}


# How often an asked value does not fit its parameter.
MISFITTING = 0.04


def _value(rng, name, kind, misfitting):
    if MISFITS[kind] and rng.random() < misfitting:
        return rng.choice(MISFITS[kind])
    return rng.choice(VALUES["range" if name == "range" else kind])


def stored(rng, caveat):
    """(key, value) pairs for a relationship: some of the parameters, all of which convert."""
    share = rng.choice([0, 0, 0.4, 1])
    return tuple((name, _value(rng, name, kind, 0)) for name, kind in caveat.parameters.items() if rng.random() < share)


def asked(rng, caveats):
    """A context for a request: None, or values for some parameters of all caveats; a key may suit one caveat alone."""
    share = rng.choice([0, 0.5, 0.8, 0.8, 1, 1])
    context = {
        name: _value(rng, name, kind, MISFITTING)
        for caveat in caveats.values()
        for name, kind in caveat.parameters.items()
        if rng.random() < share
    }
    if rng.random() < 0.1:
        context["unheard"] = [None, {"of": 1}]
    return context if context or rng.random() < 0.5 else None


def text_of(context):
    return json.dumps(context, ensure_ascii=False, sort_keys=True)

"""Where licet and the SpiceDB that is compared with (1.54.0) differ on purpose, and why. Nothing else may.

Most entries say which cases they may be about, and write such a case so that SpiceDB means by it what licet means. Only if
SpiceDB then answers as licet did is the difference the known one.
"""

import re

from caveat_expressions import PARAMETERS, Node, is_variable

MAPPED = re.compile(r"::ffff:(\d+\.\d+\.\d+\.\d+)(%.+)?")


def values_replaced(case, replace):
    """The case with replace(text) in the place of every text that is an address."""

    def walk(value):
        return [walk(item) for item in value] if isinstance(value, list) else replace(value)

    def context(values):
        return {k: walk(v) if "ipaddress" in PARAMETERS.get(k, "") else v for k, v in values.items()}

    return case.changed(stored=context(case.stored), requested=context(case.requested))


# ---------------------------------------------------------------- addresses


def without_mapped(case):
    """caveats.md 3: an IPv4 address that is written as an IPv6 address is the IPv4 address. So it is in SpiceDB from 1.56
    on; earlier ones, and so a list of forbidden networks, take it for another."""

    def replace(value):
        mapped = MAPPED.fullmatch(value) if isinstance(value, str) else None
        return mapped[1] if mapped and not mapped[2] else value

    return values_replaced(case, replace)


def without_mapped_zones(case):
    """An IPv4 address has no zone, not in the form of an IPv6 address either: it is refused as it is in the IPv4 form. SpiceDB
    takes it, as an IPv6 address before 1.56, without the zone since."""

    def replace(value):
        mapped = MAPPED.fullmatch(value) if isinstance(value, str) else None
        return mapped[1] + mapped[2] if mapped and mapped[2] else value

    return values_replaced(case, replace)


# ----------------------------------------------------------------- unknowns


def indexings(node):
    """(container, key) of everything that has the form container[key]."""
    for part in node.nodes():
        for container, text, key in zip(part.parts, part.parts[1:], part.parts[2:]):
            if isinstance(container, Node) and isinstance(key, Node) and text in ("[", "[?"):
                yield container, key


def operands_of_has(node):
    for part in node.nodes():
        for text, operand in zip(part.parts, part.parts[1:]):
            if isinstance(operand, Node) and isinstance(text, str) and text.endswith("has("):
                yield operand


def has_variable(node):
    return any(is_variable(part.name) for part in node.nodes())


def loose(node):
    """container[key] as dyn(container)[key]: that is not one path any more, which SpiceDB looks up as a whole."""
    parts = [loose(part) if isinstance(part, Node) else part for part in node.parts]
    made = []
    for part, text in zip(parts, parts[1:] + [""]):
        opens = isinstance(part, Node) and isinstance(text, str) and re.match(r"\[|\.\w+(?!\w*\()", text)
        made += ["dyn(", part, ")"] if opens else [part]
    return Node(node.type, made, node.name)


def without_lost_variables(case):
    """caveats.md 5: unknown m, then m[v] is unknown. Before 1.56 SpiceDB looked for the variable of a macro among the
    parameters then, and did not find it: "no such attribute(s): v"."""
    missing = case.missing()
    if any(has_variable(key) and missing & set(container.parameters()) for container, key in indexings(case.node)):
        return case.changed(node=loose(case.node))
    return case


def without_has_of_unknown_keys(case):
    """caveats.md 5: has(m[x].f) is unknown where x is. Before 1.56 it was true in SpiceDB."""
    missing = case.missing()
    for operand in operands_of_has(case.node):
        if missing and any(has_variable(key) or missing & set(key.parameters()) for _, key in indexings(operand)):
            return case.changed(node=loose(case.node))
    return case


# -------------------------------------------------------------------- bytes


def copied(node):
    """a + b of bytes as (b"" + a) + b."""
    parts = [copied(part) if isinstance(part, Node) else part for part in node.parts]
    if node.type == "bytes" and parts[0] == "(" and parts[2] == " + ":
        parts[0:2] = ['((b"" + ', parts[1], ")"]
    return Node(node.type, parts, node.name)


def without_overwritten_bytes(case):
    """Before 1.56 SpiceDB added bytes in place where the first operand had room behind it, as decoded base64 has. So of two
    sums that begin with the same value the later overwrote the end of the other. Not so in sums that begin with a copy."""
    return case.changed(node=copied(case.node))


ANSWERS = {
    "IPv4 addresses in IPv6 form": without_mapped,
    "IPv4 addresses in IPv6 form with a zone": without_mapped_zones,
    "a macro's variable behind an unknown parameter": without_lost_variables,
    "has() behind an unknown key": without_has_of_unknown_keys,
    "two sums of bytes that begin alike": without_overwritten_bytes,
}


# -------------------------------------------------------------- isSubtreeOf

PATIENCE = 30


def is_chance(case, mine, ask):
    """isSubtreeOf() fails where both maps hold a list under one key, and is false where a key is missing or its value another
    (caveats.md 9). Where both is so SpiceDB fails or says no by chance: by whichever key of a Go map comes first. licet
    always fails. So asked often enough SpiceDB gives licet's answer."""
    return "isSubtreeOf" in str(case.node) and any(mine.same(ask(case)) for _ in range(PATIENCE))


def failing(node):
    """a.isSubtreeOf(b) as something that divides by zero, once a and b are known."""
    parts = [failing(part) if isinstance(part, Node) else part for part in node.parts]
    if ".isSubtreeOf(" in parts:
        one, other = (part for part in parts if isinstance(part, Node))
        parts = ["(1 / (0 * [", one, ", ", other, "].size()) == 1)"]
    return Node(node.type, parts, node.name)


def is_unreached(case, mine, theirs, ask):
    """What isSubtreeOf() can not compare ends the evaluation, in SpiceDB by a panic. licet also evaluates it behind an unknown
    or an error in a list or map, where SpiceDB does not go on; there SpiceDB's answer is the same with any other error in
    its place."""
    return "internal error: isSubtreeOf" in mine.detail and theirs.same(ask(case.changed(node=failing(case.node))))


def of_answers(case, mine, theirs, ask):
    """The name of the known difference, or None. ask(case) is SpiceDB's answer."""
    if is_chance(case, mine, ask):
        return "isSubtreeOf() of maps with lists, by chance"
    if is_unreached(case, mine, theirs, ask):
        return "isSubtreeOf() behind an unknown or an error"
    named = []
    for name, rewritten in ANSWERS.items():
        other = rewritten(case)
        if str(other) == str(case):
            continue
        if mine.same(ask(other)):
            return name
        named.append(name)
    together = case
    for name in named:
        together = ANSWERS[name](together)
    return " and ".join(named) if len(named) > 1 and mine.same(ask(together)) else None


# ------------------------------------------------------------------ schemas


def of_schemas(mine, theirs):
    """The name of the known difference, or None. mine, theirs: the refusals.

    SpiceDB before 1.56 took duration(x) of an int, and failed whenever it was evaluated (caveats.md 8 has it of strings).
    """
    if theirs is None and 'no matching overload for "duration" applied to (int)' in mine:
        return "duration() of an int"
    return None

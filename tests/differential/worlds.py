"""Random worlds: schemas that are valid by construction, and relationships that fit them.

A world is small (a few types, a few objects of each) and odd: usersets of permissions, relations that lead back to
their own type, wildcards beside usersets, nested operators, arrows to names that some types lack. With caveats, any relationship
may have one, and expire. Everything is drawn from one random.Random, so a seed is a world.
"""

from datetime import datetime, timezone

import conditions
import contexts
from naive import BARE, Attribute, World

TYPES = ["user", "bot", "group", "folder", "document"]
IDS = 4
SECOND = 10**9
# Everything expires around this second.
NOON = 1_800_000_000


def schema_text(schema, caveats=None):
    """The schema in SpiceDB's language."""
    shapes = [s for members in schema.values() for kind, body in members.values() if kind == "relation" for s in body]
    lines = ["use self"] + ["use expiration"] * any(expires for _, _, _, expires in shapes) + [""]
    lines += [_caveat_text(name, caveat) for name, caveat in (caveats or {}).items()]
    for name, members in schema.items():
        lines.append("definition %s {" % name)
        for member, (kind, body) in members.items():
            if kind == "relation":
                lines.append("  relation %s: %s" % (member, " | ".join(map(_shape_text, body))))
            else:
                lines.append("  permission %s = %s" % (member, _expression_text(body)))
        lines += ["}", ""]
    return "\n".join(lines)


def _caveat_text(name, caveat):
    parameters = ", ".join("%s %s" % (parameter, kind) for parameter, kind in caveat.parameters.items())
    return "caveat %s(%s) {\n  %s\n}\n" % (name, parameters, caveat.text)


def _shape_text(shape):
    stype, relation, caveat, expires = shape
    name = stype if relation is None else stype + ":*" if relation == "*" else "%s#%s" % (stype, relation)
    traits = [caveat] * (caveat is not None) + ["expiration"] * expires
    return name + " with " * bool(traits) + " and ".join(traits)


def _expression_text(expression):
    kind = expression[0]
    if kind in ("nil", "self"):
        return kind
    if kind == "name":
        return expression[1]
    if kind in ("+", "&"):
        return "(%s)" % (" %s " % kind).join(map(_expression_text, expression[1]))
    if kind == "-":
        return "(%s - %s)" % (_expression_text(expression[1]), _expression_text(expression[2]))
    return "%s.%s(%s)" % (expression[1], kind, expression[2])


def relationship_text(row, attribute=BARE):
    return "%s:%s#%s@%s" % (*row[:3], subject_text(row[3:])) + _attribute_text(attribute)


def _attribute_text(attribute):
    text = ""
    if attribute.caveat is not None:
        context = ":" + contexts.text_of(dict(attribute.context)) if attribute.context else ""
        text += "[%s%s]" % (attribute.caveat, context)
    if attribute.expires is not None:
        seconds, nanoseconds = divmod(attribute.expires, SECOND)
        at = datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")
        text += "[expiration:%s.%09dZ]" % (at, nanoseconds)
    return text


def relationship_texts(world):
    return sorted(relationship_text(row, attribute) for row, attribute in world.relationships.items())


def subject_text(subject):
    return "%s:%s%s" % (subject[0], subject[1], "" if subject[2] is None else "#" + subject[2])


def _expression(rng, tuplesets, names, targets, depth):
    pick = rng.random()
    if depth == 0 or pick < 0.35:
        pick = rng.random()
        if pick < 0.04:
            return ("nil",)
        if pick < 0.1:
            return ("self",)
        if pick < 0.4 and tuplesets:
            return (rng.choice(["any", "any", "any", "all"]), rng.choice(tuplesets), rng.choice(targets))
        return ("name", rng.choice(names))
    operands = [_expression(rng, tuplesets, names, targets, depth - 1) for _ in range(rng.choice([2, 2, 3]))]
    kind = rng.choice(["+", "+", "&", "-"])
    return ("-", operands[0], operands[1]) if kind == "-" else (kind, operands)


def _traits(rng, caveats):
    """(caveat or None, does it expire?)"""
    if not caveats or rng.random() < 0.3:
        return (None, False)
    return (rng.choice([None, *caveats, *caveats]), rng.random() < 0.25)


def random_schema(rng, acyclic=False, caveats=None):
    """Wildcards stand only in relations that no userset names; tuplesets hold neither wildcards nor such usersets.
    acyclic: a permission names relations and earlier permissions only."""
    types = TYPES[:2] + rng.sample(TYPES[2:], rng.choice([1, 2, 3]))
    relation_names = {t: ["rel%d" % i for i in range(rng.choice([1, 2, 3]))] for t in types[2:]}
    permission_names = {t: ["perm%d" % i for i in range(rng.choice([0, 1, 2, 3]))] for t in types[2:]}
    schema = {t: {} for t in types[:2]}
    if rng.random() < 0.3:
        schema["user"]["perm0"] = ("permission", ("self",))
    for t in types[2:]:
        wild = {name for name in relation_names[t] if rng.random() < 0.3 and name != "rel0"}
        schema[t] = {"_wild": wild}
    for t in types[2:]:
        wild = schema[t].pop("_wild")
        for name in relation_names[t]:
            schema[t][name] = ("relation", _shapes(rng, types, relation_names, permission_names, name in wild, caveats))
        tuplesets = [n for n in relation_names[t] if n not in wild]
        targets = ["rel0", "rel1", "perm0", "perm1", "perm2", "absent"]
        for number, name in enumerate(permission_names[t]):
            names = relation_names[t] + (permission_names[t][:number] if acyclic else permission_names[t])
            schema[t][name] = ("permission", _expression(rng, tuplesets, names, targets, rng.choice([0, 1, 2, 3])))
    return _without_alias_cycles(schema)


def _shapes(rng, types, relation_names, permission_names, wild, caveats):
    shapes = []
    for _ in range(rng.choice([1, 2, 3, 4])):
        stype = rng.choice(types)
        pick = rng.random()
        if wild and pick < 0.4:
            shape = (stype, "*")
        elif pick < 0.7 and stype in relation_names:
            # rel0 never holds a wildcard; permissions may shine one through.
            shape = (stype, rng.choice(["rel0"] + permission_names[stype]))
        else:
            shape = (stype, None)
        shape += _traits(rng, caveats)
        if shape not in shapes:
            shapes.append(shape)
    return shapes


def _without_alias_cycles(schema):
    """A permission that is nothing but names in a circle is no schema (A1): such a permission becomes `nil`."""
    for members in schema.values():
        for name in list(members):
            seen, at = set(), name
            while members[at][0] == "permission" and members[at][1][0] == "name":
                if at in seen:
                    members[at] = ("permission", ("nil",))
                    break
                seen.add(at)
                at = members[at][1][1]
    return schema


def _drop_lost_usersets(schema):
    for members in schema.values():
        for name, (kind, body) in members.items():
            if kind == "relation":
                kept = [s for s in body if s[1] in (None, "*") or s[1] in schema[s[0]]]
                members[name] = ("relation", kept or [("user", None, None, False)])
    return schema


def random_world(rng, acyclic=False, caveats=False):
    """A world. acyclic: usersets and arrows only lead to objects of a higher number, so no path is endless."""
    known = {}
    if caveats:
        bodies = rng.sample(conditions.BODIES, rng.choice([1, 2, 3, 5]))
        known = {"cav%d" % number: body for number, body in enumerate(bodies)}
    schema = _drop_lost_usersets(random_schema(rng, acyclic, known))
    rows = {}
    climbing = _climb(rng, schema, known) if rng.random() < 0.3 else None
    for t, members in schema.items():
        for name, (kind, shapes) in members.items():
            if kind == "relation":
                _rows(rng, rows, t, name, shapes, acyclic)
    if climbing is not None:
        _chain(rng, rows, schema, climbing)
    return World(schema, {row: _attribute(rng, shape, known) for row, shape in rows.items()}, known)


def with_wildcards(rng, world):
    """The same world, where one type is open to everybody of another, but for some: relations `open` and `closed`, and
    permissions that put them together and take them apart. random_world() has few of these."""
    t = rng.choice([t for t in world.schema if t not in TYPES[:2]])
    names = [("name", name) for name in world.schema[t] if name.startswith(("rel", "perm"))]
    schema = {**world.schema, t: dict(world.schema[t])}
    for name in ("open", "closed"):
        shapes = {(stype, relation, *_traits(rng, world.caveats)) for stype in TYPES[:2] for relation in ("*", None)}
        schema[t][name] = ("relation", sorted(shapes, key=str))
    is_open, is_closed, shown = (("name", name) for name in ("open", "closed", "shown"))
    one, other = rng.choice(names), rng.choice(names)
    schema[t]["shown"] = (
        "permission",
        rng.choice(
            [
                ("-", is_open, is_closed),
                ("&", [is_open, is_closed]),
                ("-", ("+", [is_open, one]), is_closed),
                ("+", [("-", is_open, is_closed), one]),
            ]
        ),
    )
    schema[t]["seen"] = (
        "permission",
        rng.choice(
            [
                ("-", is_open, shown),
                ("&", [shown, ("+", [is_closed, one])]),
                ("+", [shown, is_closed]),
                ("+", [shown, ("-", is_closed, other)]),
                ("-", shown, other),
                ("-", ("+", [one, is_closed]), ("-", is_open, other)),
                (rng.choice(["any", "all"]), rng.choice(_tuplesets(schema[t])), "shown"),
            ]
        ),
    )
    relationships = dict(world.relationships)
    for name in ("open", "closed"):
        density = rng.choice([0.3, 0.6, 1])
        for shape in schema[t][name][1]:
            ids = ["*"] if shape[1] == "*" else ["%s%d" % (shape[0][0], n) for n in range(IDS)]
            for row in [(t, "%s%d" % (t[0], n), name, shape[0], sid, None) for n in range(IDS) for sid in ids]:
                if rng.random() < density:
                    relationships[row] = _attribute(rng, shape, world.caveats)
    return World(schema, relationships, world.caveats)


def _tuplesets(members):
    relations = {name: body for name, (kind, body) in members.items() if kind == "relation"}
    return [name for name, shapes in relations.items() if "*" not in [shape[1] for shape in shapes]]


def _attribute(rng, shape, caveats):
    _, _, caveat, expires = shape
    if caveat is None and not expires:
        return BARE
    stored = () if caveat is None else contexts.stored(rng, caveats[caveat])
    return Attribute(caveat, stored, moment(rng) if expires else None)


def other_attribute(rng, world, row):
    """What else the schema lets a relationship have."""
    shapes = [s for s in world.schema[row[0]][row[2]][1] if s[:2] == (row[3], "*" if row[4] == "*" else row[5])]
    return _attribute(rng, rng.choice(shapes), world.caveats)


def moment(rng):
    """A time at which something expires, or that a clock shows."""
    return (NOON + rng.randint(-2, 2)) * SECOND + rng.choice([0, 0, 1, SECOND - 1])


def _climb(rng, schema, caveats):
    """A permission that asks itself again one object further up, as folders do, in one of several shapes."""
    t = rng.choice([t for t in schema if t not in TYPES[:2]])
    bare = (t, None, None, False)
    some = [shape for shape in [(t, None, *_traits(rng, caveats))] if shape != bare]
    schema[t]["chain"] = schema[t]["side"] = ("relation", [bare, *some])
    up = (rng.choice(["any", "any", "all"]), "chain", "climb")
    names = [("name", name) for name in schema[t] if name.startswith(("rel", "perm"))]
    names += [(kind, "side", name) for _, name in names for kind in ("any", "any", "all")]
    one, other = rng.choice(names), rng.choice(names)
    shapes = [
        ("+", [one, up]),
        ("+", [up, one, other]),
        ("&", [one, ("+", [other, up])]),
        ("-", ("+", [one, up]), other),
        ("-", one, up),
        ("+", [("&", [one, up]), ("-", up, other)]),
        ("+", [("name", "climb2"), one]),
    ]
    schema[t]["climb"] = ("permission", rng.choice(shapes))
    schema[t]["climb2"] = ("permission", ("+", [up, ("&", [one, other])]))
    return t


def _chain(rng, rows, schema, t):
    """A long path up from the first object, with relationships of all kinds strewn along it, or at its end only."""
    ids = ["%s0" % t[0]] + ["deep%d" % n for n in range(rng.randint(4, 45))]
    links, rare = schema[t]["chain"][1], rng.choice([0.1, 0.5])
    for lower, upper in zip(ids, ids[1:]):
        rows[t, lower, "chain", t, upper, None] = links[-1] if len(links) > 1 and rng.random() < rare else links[0]
    relations = [
        (name, body) for name, (kind, body) in schema[t].items() if kind == "relation" and name not in ("chain", "side")
    ]
    density = rng.choice([0.02, 0.3, 1])
    for oid in ids[-1:] if density == 1 else ids:
        rows[t, oid, "side", t, oid, None] = links[0]
        for name, shapes in relations:
            for shape in shapes:
                stype, relation = shape[:2]
                if stype in TYPES[:2] and rng.random() < density:
                    rows[t, oid, name, stype, "*" if relation == "*" else stype[0] + "1", None] = shape


def _rows(rng, rows, t, name, shapes, acyclic):
    density = rng.choice([0.1, 0.3, 0.6])
    for number in range(IDS):
        for shape in shapes:
            stype, srelation = shape[:2]
            if srelation == "*":
                if rng.random() < density:
                    rows[t, "%s%d" % (t[0], number), name, stype, "*", None] = shape
                continue
            for other in range(IDS):
                if rng.random() < density and not (acyclic and stype not in ("user", "bot") and other <= number):
                    rows[t, "%s%d" % (t[0], number), name, stype, "%s%d" % (stype[0], other), srelation] = shape


def subjects(rng, world):
    """All plain subjects, some usersets, and some ids that occur nowhere."""
    plain = [(t, "%s%d" % (t[0], n), None) for t in world.schema for n in range(IDS)]
    strangers = [(t, "stranger", None) for t in world.schema]
    usersets = [
        (t, "%s%d" % (t[0], n), name) for t, members in world.schema.items() for name in members for n in range(IDS)
    ]
    return plain + strangers + rng.sample(usersets, min(len(usersets), 8))


def objects(world):
    """Every object, and for each type one that occurs nowhere. Those along a long path too: each is a path's start."""
    deep = [(t, i) for t, i in world.objects if i.startswith("deep")]
    return deep + [(t, i) for t in world.schema for i in ["%s%d" % (t[0], n) for n in range(IDS)] + ["unseen"]]


def questions(world):
    """Every (type, id, name)."""
    return [(t, i, name) for t, i in objects(world) for name in world.schema[t]]

"""A difference made small: what can be left out while licet and SpiceDB still disagree, and not as is known."""

import json

import conditions
import contexts
import operations_known as known
import shrink
import worlds
from naive import World
from operations_peers import Licet, SpiceDB
from operations_requests import schema_text

MOST_TRIES = 600


def answers(world, acyclic, requests):
    """Both answers to the last request; None when they agree, or differ as is known, or there is no such world."""
    schema, rows = schema_text(world), worlds.relationship_texts(world)
    try:
        with Licet(schema, rows) as licet, SpiceDB(schema, rows) as spicedb:
            for request in requests:
                mine, theirs = licet.ask(request), spicedb.ask(request)
            if mine == theirs or known.of(known.Case(world, acyclic, requests[-1], licet, spicedb), mine, theirs):
                return None
            return mine, theirs
    except Exception:  # no world at all, for one of them or the naive evaluator
        return None


def _smaller(world, requests):
    for at in range(len(requests) - 1):
        yield world, requests[:at] + requests[at + 1 :]
    for rows in shrink._smaller_rows(world):
        yield World(world.schema, rows, world.caveats), requests
    for schema in shrink._smaller_schemas(world.schema):
        yield World(schema, world.relationships, world.caveats), requests
    for name in world.caveats:
        yield World(world.schema, world.relationships, {k: v for k, v in world.caveats.items() if k != name}), requests
    last = requests[-1]
    for key in last.get("context") or {}:
        fewer = {k: v for k, v in last["context"].items() if k != key}
        yield world, [*requests[:-1], {**last, "context": fewer}]


def packed(world):
    """As processes may send it: caveats have functions in them."""
    return (
        world.schema,
        world.relationships,
        {name: conditions.BODIES.index(each) for name, each in world.caveats.items()},
    )


def unpacked(sent):
    schema, relationships, caveats = sent
    return World(schema, relationships, {name: conditions.BODIES[number] for name, number in caveats.items()})


def shrunk(world, acyclic, requests, mine, theirs):
    """(world, requests, licet's answer, SpiceDB's): as small as it gets; as it was if it does not differ alone. Worlds
    are packed."""
    world = unpacked(world)
    tries, found = 0, answers(world, acyclic, requests) is not None
    while found and tries < MOST_TRIES:
        found = False
        for smaller in _smaller(world, requests):
            tries += 1
            both = answers(smaller[0], acyclic, smaller[1])
            if both is not None:
                (world, requests), (mine, theirs), found = smaller, both, True
                break
            if tries >= MOST_TRIES:
                break
    return packed(world), requests, mine, theirs


def as_json(world, requests, expected):
    return {
        "schema": schema_text(world),
        "relationships": worlds.relationship_texts(world),
        "requests": requests,
        "expected": expected,
    }


def described(case, mine, theirs):
    lines = [case["schema"], *case["relationships"], *map(contexts.text_of, case["requests"])]
    return "\n".join([*lines, "licet   %s" % json.dumps(mine), "SpiceDB %s" % json.dumps(theirs), ""])

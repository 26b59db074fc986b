"""Cedar in this process, called from Python by cedarpy.

Policies and entities are parsed once, and requests are given as objects rather than as text: the fastest that cedarpy has.
A folder's viewers are entities of their own, `Readers`: those of a folder are members of those of its folders, so that one
policy does and Cedar, which works out all ancestors when it reads the entities, has one set to look into. (A policy for
each folder with viewers, which is as usual, takes half as long again.)
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from systems.base import DEFAULT, Answer, Bulk, Check, InPython, Request, Unavailable
from systems.casbin import parts
from world import World

POLICY = """
permit(principal, action == Action::"view", resource is Document)
when {
  principal == resource.owner || principal in resource.viewers || principal in resource.readers
};
"""
ACTION = {"type": "Action", "id": "view"}


def uid(name: str) -> dict[str, str]:
    kind, ident = name.split(":")
    return {"type": kind.capitalize(), "id": ident}


def readers(folder: str) -> str:
    return "readers:" + folder.partition(":")[2]


def entities(rows: Sequence[str]) -> list[dict[str, Any]]:
    made: dict[str, dict[str, Any]] = {}

    def entity(name: str) -> dict[str, Any]:
        attributes: dict[str, Any] = {"viewers": []} if name.startswith("document:") else {}
        return made.setdefault(name, {"uid": uid(name), "attrs": attributes, "parents": []})

    for row in rows:
        resource, relation, subject = parts(row)
        attributes = entity(resource)["attrs"]
        if relation == "member":
            entity(subject)["parents"].append(uid(resource))
        elif resource.startswith("folder:"):
            above = subject if relation == "viewer" else readers(subject)
            entity(above)["parents"].append(uid(readers(resource)))
        elif relation == "parent":
            attributes["readers"] = {"__entity": uid(readers(subject))}
        elif relation == "owner":
            attributes["owner"] = {"__entity": uid(subject)}
        else:
            attributes["viewers"].append({"__entity": uid(subject)})
    return list(made.values())


def request_of(check: Check) -> dict[str, Any]:
    return {"principal": uid(check.subject), "action": ACTION, "resource": uid(check.resource)}


class Cedar(InPython):
    name = "Cedar (cedarpy)"
    lacks = (
        "It cannot list what a user may view, and its entities do not change: a grant or a revocation makes a new set of "
        "them, in which all ancestors are worked out again."
    )
    scenarios = frozenset({"direct", "nested", "denied", "bulk"})
    consistencies = frozenset({DEFAULT})

    def __init__(self) -> None:
        self.given: tuple[Any, Any] | None = None

    def open(self, world: World) -> None:
        try:
            import cedarpy
        except ImportError as failure:
            raise Unavailable(f"the package cedarpy is not installed: {failure}") from failure
        if not hasattr(cedarpy, "Entities"):
            raise Unavailable("this cedarpy parses all entities in every call; 4.8.7 and later need not")
        self.one, self.many = cedarpy.is_authorized, cedarpy.is_authorized_batch
        self.given = (
            cedarpy.PolicySet.from_str(POLICY),
            cedarpy.Entities.from_json_str(json.dumps(entities(world.relationships))),
        )

    def check(self, request: dict[str, Any]) -> bool:
        return bool(self.one(request, *self.given).allowed)

    def bulk(self, requests: list[dict[str, Any]]) -> list[bool]:
        return [result.allowed for result in self.many(requests, *self.given)]

    def call_of(self, request: Request) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        if isinstance(request, Bulk):
            return self.bulk, ([request_of(item) for item in request.items],)
        assert isinstance(request, Check)
        return self.check, (request_of(request),)

    def answer(self, request: Request, consistency: str) -> Answer:
        function, arguments = self.call_of(request)
        told = function(*arguments)
        return tuple(told) if isinstance(request, Bulk) else told

    def prepared(
        self, requests: Sequence[Request], consistency: str, caller: int
    ) -> tuple[Callable[..., Any], list[tuple[Any, ...]]]:
        return self.call_of(requests[0])[0], [self.call_of(one)[1] for one in requests]

    def close(self) -> None:
        self.given = None

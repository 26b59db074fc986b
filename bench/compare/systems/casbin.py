"""Casbin in this process, called from Python: by roles of users and of resources, and as one graph of roles.

Casbin asks its matcher for every policy, so what makes it fast is how few policies it is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from systems.base import DEFAULT, Answer, Bulk, Check, InPython, Lookup, Request, Unavailable
from world import World

# Documents' own policies are found by document and action (FastEnforcer); the eleven of folders are matched one by one.
ROLES = """
[request_definition]
r = sub, obj, act
[policy_definition]
p = sub, obj, act
[role_definition]
g = _, _
[policy_effect]
e = some(where (p.eft == allow))
[matchers]
m = r.act == p.act && r.obj == p.obj && g(r.sub, p.sub)
"""
FOLDERS = {  # FastModel reads the first definition of each section alone
    "r": "sub, obj, act",
    "p": "sub, obj, act",
    "g": "_, _",
    "e": "some(where (p.eft == allow))",
    "m": "r2.act == p2.act && g2(r2.obj, p2.obj) && g(r2.sub, p2.sub)",
}
FOUND_BY = [1, 2]  # obj, act

# A resource has the roles of all who may view it. With no policies the matcher is asked once.
GRAPH = """
[request_definition]
r = sub, obj, act
[policy_definition]
p = sub, obj, act
[role_definition]
g = _, _
[policy_effect]
e = some(where (p.eft == allow))
[matchers]
m = g(r.obj, r.sub)
"""


def parts(row: str) -> tuple[str, str, str]:
    """Resource, relation and subject without its relation, which here is never any but the members."""
    resource, subject = row.split("@")
    name, relation = resource.split("#")
    return name, relation, subject.partition("#")[0]


def below(users_of: Callable[[str], Iterable[str]], tops: Iterable[str]) -> frozenset[str]:
    """The ids of the documents that have one of the roles, however far down."""
    seen = set(tops)
    rest = list(seen)
    while rest:
        found = [name for name in users_of(rest.pop()) if name not in seen]
        seen.update(found)
        rest += found
    return frozenset(name.partition(":")[2] for name in seen if name.startswith("document:"))


class InCasbin(InPython):
    consistencies = frozenset({DEFAULT})

    # FastEnforcer keeps in itself which policies a request is shown, and every check parses its matcher with `ast`, which
    # fails now and then where threads do so at once ("AST constructor recursion depth mismatch", CPython 3.11).
    most_callers = 1

    def __init__(self) -> None:
        self.enforcer: Any = None

    def load(self, module: Any, world: World) -> Any:
        raise NotImplementedError

    def open(self, world: World) -> None:
        try:
            import casbin
        except ImportError as failure:
            raise Unavailable(f"the package casbin is not installed: {failure}") from failure
        self.enforcer = self.load(casbin, world)

    def check(self, subject: str, resource: str, permission: str) -> bool:
        raise NotImplementedError

    def bulk(self, items: Sequence[tuple[str, str, str]]) -> list[bool]:
        raise NotImplementedError

    def look_up(self, subject: str, permission: str) -> frozenset[str]:
        raise NotImplementedError

    def call_of(self, request: Request) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        if isinstance(request, Check):
            return self.check, (request.subject, request.resource, request.permission)
        if isinstance(request, Bulk):
            return self.bulk, ([(item.subject, item.resource, item.permission) for item in request.items],)
        assert isinstance(request, Lookup) and request.resource_type == "document"
        return self.look_up, (request.subject, request.permission)

    def answer(self, request: Request, consistency: str) -> Answer:
        function, arguments = self.call_of(request)
        told = function(*arguments)
        return tuple(told) if isinstance(request, Bulk) else told

    def prepared(
        self, requests: Sequence[Request], consistency: str, caller: int
    ) -> tuple[Callable[..., Any], list[tuple[Any, ...]]]:
        return self.call_of(requests[0])[0], [self.call_of(one)[1] for one in requests]

    def close(self) -> None:
        self.enforcer = None


class CasbinByRoles(InCasbin):
    name = "casbin, resource roles"
    lacks = (
        "Its model has no permissions that follow from relations: owners and viewers become policies, what holds for a "
        "folder is asked in a second call, and what a user may view it lists as policies, not as documents."
    )
    scenarios = frozenset({"direct", "nested", "denied", "bulk"})

    def load(self, module: Any, world: World) -> Any:
        from casbin.model import FastModel

        model = FastModel(FOUND_BY)
        model.load_model_from_text(ROLES)
        for section, definition in FOLDERS.items():
            model.add_def(section, section + "2", definition)
        for row in world.relationships:
            resource, relation, subject = parts(row)
            if relation == "member":
                model["g"]["g"].policy.append([subject, resource])
            elif relation == "parent":
                model["g"]["g2"].policy.append([resource, subject])
            else:
                kind = "p2" if resource.startswith("folder:") else "p"
                model["p"][kind].policy.append([subject, resource, "view"])
        enforcer = module.FastEnforcer(model, cache_key_order=FOUND_BY)
        enforcer.build_role_links()
        self.folders = enforcer.new_enforce_context("2")
        return enforcer

    def check(self, subject: str, resource: str, permission: str) -> bool:
        if self.enforcer.enforce(subject, resource, permission):
            return True
        return bool(self.enforcer.enforce_ex(self.folders, subject, resource, permission)[0])

    def bulk(self, items: Sequence[tuple[str, str, str]]) -> list[bool]:
        check = self.check
        return [check(*item) for item in items]


class CasbinGraph(InCasbin):
    name = "casbin, one role graph"
    lacks = (
        "Everything is a role of everything above it, so there is one permission and no telling a viewer from an owner; "
        "lookups are walked by the application."
    )

    def load(self, module: Any, world: World) -> Any:
        model = module.Enforcer.new_model(text=GRAPH)
        for row in world.relationships:
            resource, _, subject = parts(row)
            model["g"]["g"].policy.append([resource, subject])
        enforcer = module.Enforcer(model)
        enforcer.build_role_links()
        return enforcer

    def check(self, subject: str, resource: str, permission: str) -> bool:
        return bool(self.enforcer.enforce(subject, resource, permission))

    def bulk(self, items: Sequence[tuple[str, str, str]]) -> list[bool]:
        return list(self.enforcer.batch_enforce(items))

    def look_up(self, subject: str, permission: str) -> frozenset[str]:
        return below(self.enforcer.get_users_for_role, [subject])

"""How bench/compare puts the world into the models of others, as far as that needs none of their packages."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench" / "compare"))

from systems.casbin import below, parts  # noqa: E402 (bench/compare is no package)
from systems.cedar import entities, request_of  # noqa: E402
from world import make_world  # noqa: E402


@pytest.fixture(scope="module")
def world():
    return make_world()


def ancestors(by_name, name):
    """As Cedar works them out. What is above all else is only named."""
    seen, rest = set(), [name]
    while rest:
        entity = by_name.get(rest.pop(), {"parents": []})
        for above in map(named, entity["parents"]):
            if above not in seen:
                seen.add(above)
                rest.append(above)
    return seen


def named(uid):
    return uid["type"], uid["id"]


def allowed(by_name, check):
    """What the one policy of systems/cedar.py says."""
    request = request_of(check)
    principal, resource = named(request["principal"]), by_name[named(request["resource"])]["attrs"]
    is_in = {principal} | ancestors(by_name, principal)
    groups = [named(one["__entity"]) for one in (*resource["viewers"], resource["readers"])]
    return named(resource["owner"]["__entity"]) == principal or any(group in is_in for group in groups)


def test_cedar_is_given_entities_by_which_its_policy_says_what_the_world_does(world):
    by_name = {named(entity["uid"]): entity for entity in entities(world.relationships)}
    for name in ("direct", "nested", "denied"):
        questions = world.scenarios[name].varied
        assert [allowed(by_name, one.request) for one in questions] == [one.expected for one in questions]


def test_a_row_is_parted_into_resource_relation_and_subject_whose_relation_goes():
    assert parts("folder:r3#viewer@group:g3#member") == ("folder:r3", "viewer", "group:g3")


def test_all_documents_below_a_role_are_found_once_however_far_down():
    users = {
        "user:u1": ["group:g1", "document:d1"],
        "group:g1": ["folder:f1", "document:d1"],
        "folder:f1": ["document:d2"],
    }
    assert below(lambda name: users.get(name, []), ["user:u1"]) == frozenset({"d1", "d2"})


def test_one_graph_of_roles_gives_the_109_documents(world):
    users = {}
    for row in world.relationships:
        resource, _, subject = parts(row)
        users.setdefault(subject, []).append(resource)
    question = world.scenarios["lookup"].repeated
    assert below(lambda name: users.get(name, []), [question.request.subject]) == question.expected

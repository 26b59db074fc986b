"""The data of the comparison and its requests, each with the answer that follows from the description of the data.

Nothing here asks a system: bench/data/generate.py describes the world, and its rules say who may view what.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from systems.base import Answer, Bulk, Check, Lookup, Request

Thing = TypeVar("Thing")

VARIED = 500  # different requests of each kind
BULK = 100
CHURN = 100_000
CHURNED = "churn"  # how the ids of those documents begin


@dataclass(frozen=True)
class Question:
    request: Request
    expected: Answer


@dataclass(frozen=True)
class Scenario:
    """`repeated` is asked again and again, as in the published comparison; `varied` one after the other."""

    name: str
    title: str
    repeated: Question
    varied: tuple[Question, ...]


@dataclass(frozen=True)
class World:
    schema: str
    relationships: tuple[str, ...]
    scenarios: dict[str, Scenario]
    churn: tuple[str, ...] = field(repr=False)  # on documents that no scenario reads

    def small_write(self, number: int) -> str:
        """A relationship of a document that no scenario reads; a new one for each number."""
        return f"document:small{number}#viewer@user:u{number % 1000}"


def generator() -> ModuleType:
    """bench/data/generate.py, which is no package."""
    path = Path(__file__).resolve().parent.parent / "data" / "generate.py"
    spec = importlib.util.spec_from_file_location("generate", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def check_of(line: str) -> Question:
    """From a line of generate.py: resource, permission, subject, yes or no."""
    resource, permission, subject, answer = line.split()
    return Question(Check(resource, permission, subject), answer == "yes")


def bulk_of(user: int, allowed: list[int], denied: list[int]) -> Question:
    """Allowed and denied ones take turns."""
    documents = [document for pair in zip(allowed, denied) for document in pair]
    items = tuple(Check(f"document:d{document}", "view", f"user:u{user}") for document in documents)
    return Question(Bulk(items), tuple(document in set(allowed) for document in documents))


def spread(things: list[Thing], count: int, offset: int) -> list[Thing]:
    """So many of them at even distances, another choice for another offset (below len(things) // count)."""
    step = len(things) // count
    return [things[i * step + offset] for i in range(count)]


class Described:
    """Who may view what, by the rules of generate.py: its may_view, turned around so that it is quick for whole users."""

    def __init__(self, generate: ModuleType) -> None:
        self.generate = generate
        self.roots = {
            user: [root for root in range(generate.ROOTS) if generate.sees_root(user, root)]
            for user in range(generate.USERS)
        }
        self.below: dict[int, set[int]] = {}  # root -> documents
        self.own: dict[int, set[int]] = {}  # user -> documents that they own or view directly
        for document in range(generate.DOCUMENTS):
            self.below.setdefault(generate.root(document), set()).add(document)
            self.own.setdefault(generate.owner(document), set()).add(document)
            if document % 5 == 0:
                self.own.setdefault(generate.viewer(document), set()).add(document)

    def sees_a_root(self, user: int) -> bool:
        return bool(self.roots[user])

    def documents_of(self, user: int) -> list[int]:
        generate = self.generate
        if user == generate.READER:
            return [document for document in range(generate.DOCUMENTS) if generate.may_view(user, document)]
        return sorted(self.own[user].union(*(self.below[root] for root in self.roots[user])))


def bulk_questions(described: Described) -> list[Question]:
    """For each user who sees a root, two choices of 100 documents."""
    generate, found = described.generate, []
    users = [user for user in range(generate.USERS) if described.sees_a_root(user)]
    for user in users:
        allowed = described.documents_of(user)
        seen = set(allowed)
        denied = [document for document in range(generate.DOCUMENTS) if document not in seen]
        for offset in (0, 7):
            found.append(bulk_of(user, spread(allowed, BULK // 2, offset), spread(denied, BULK // 2, offset)))
    return found


def lookup_of(described: Described, user: int) -> Question:
    ids = frozenset(f"d{document}" for document in described.documents_of(user))
    return Question(Lookup("document", "view", f"user:u{user}"), ids)


def lookup_questions(described: Described) -> list[Question]:
    """Of the users who see no root: ten or twenty documents each, so that all are of one kind."""
    generate = described.generate
    users = [user for user in range(generate.USERS) if user != generate.READER and not described.sees_a_root(user)]
    return [lookup_of(described, user) for user in users]


def churn_rows(count: int) -> tuple[str, ...]:
    return tuple(f"document:{CHURNED}{i // 10}#viewer@user:u{i % 1000}" for i in range(count))


def make_world() -> World:
    generate = generator()
    described = Described(generate)
    relationships = tuple(generate.relationships())
    direct, nested, denied = (
        spread([check_of(line) for line in lines()], VARIED, 0)
        for lines in (generate.direct, generate.nested, generate.denied)
    )
    bulk, lookup = bulk_questions(described)[:VARIED], lookup_questions(described)[:VARIED]
    scenarios = [
        Scenario("direct", "a user views a document that they own", direct[0], tuple(direct)),
        Scenario("nested", "through three folders and a nested group", nested[0], tuple(nested)),
        Scenario("denied", "the whole graph is walked in vain", denied[0], tuple(denied)),
        Scenario("bulk", "100 documents for one user, half of them allowed", bulk[0], tuple(bulk)),
        Scenario(
            "lookup",
            "the 109 of 10,000 documents that one user can view",
            lookup_of(described, generate.READER),
            tuple(lookup),
        ),
    ]
    assert len(relationships) == generate.RELATIONSHIPS
    assert all(len(set(scenario.varied)) == VARIED for scenario in scenarios)
    return World(generate.SCHEMA, relationships, {one.name: one for one in scenarios}, churn_rows(CHURN))

"""A demonstration in a minute: `licet demo`."""

from __future__ import annotations

from . import _licet
from .relationship import Relationship

SCHEMA = """\
definition user {}

definition group {
  relation member: user | group#member
}

definition folder {
  relation owner: user
  relation reader: user | group#member
  permission read = reader + owner
}

definition document {
  relation folder: folder
  relation writer: user
  relation banned: user
  permission edit = writer - banned
  permission view = (edit + folder->read) - banned
}
"""

RELATIONSHIPS = [
    "folder:plans#owner@user:ada",
    "folder:plans#reader@group:eng#member",
    "group:eng#member@user:bo",
    "group:eng#member@user:cy",
    "document:roadmap#folder@folder:plans",
    "document:roadmap#writer@user:dee",
    "document:roadmap#banned@user:cy",
]

CHECKS = [
    ("user:ada", "owns the folder that the document is in"),
    ("user:bo", "is in group eng, which may read the folder"),
    ("user:cy", "is in group eng too, but banned from the document"),
    ("user:dee", "is a writer, and whoever may edit may view"),
    ("user:eve", "appears nowhere"),
]


def run() -> None:
    """Prints a schema, relationships, and what follows from them."""
    print("1. A schema says who may do what, in SpiceDB's language:\n")
    print(_indented(SCHEMA))
    with _licet.open() as engine:
        engine.write_schema(SCHEMA)

        print("2. Relationships say how things are. Written in one transaction:\n")
        engine.touch(*RELATIONSHIPS)
        print(_indented("\n".join(RELATIONSHIPS)))

        print('\n3. engine.check("document:roadmap", "view", SUBJECT) answers:\n')
        for subject, reason in CHECKS:
            result = engine.check("document:roadmap", "view", subject)
            print(f"   {'allowed' if result else 'denied':<8} {subject:<9} {reason}")

        print("\n4. engine.check_bulk() answers many questions at one revision:\n")
        questions = [("document:roadmap", name, subject) for name in ("view", "edit") for subject, _ in CHECKS]
        for (_, name, subject), result in zip(questions, engine.check_bulk(questions)):
            print(f"   {'allowed' if result else 'denied':<8} {name} {subject}")

        print("\n5. A change counts from the next check on:\n")
        engine.delete(Relationship.parse("document:roadmap#banned@user:cy"))
        result = engine.check("document:roadmap", "view", "user:cy")
        print(f"   {'allowed' if result else 'denied':<8} user:cy   no longer banned")


def _indented(text: str) -> str:
    return "\n".join(f"   {line}".rstrip() for line in text.split("\n"))

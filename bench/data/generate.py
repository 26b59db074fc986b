"""The benchmark's data: one deterministic world, written as text files that every language and system reads.

    python bench/data/generate.py FOLDER [--scale N]

Writes into FOLDER:
    schema.zed                       the schema
    relationships.txt                one relationship a line; 25,161 for scale 1
    direct.txt nested.txt denied.txt one question a line: resource, permission, subject, expected (yes or no)
    bulk.txt                         groups of 100 questions, one user each, half of them allowed
    lookup.txt                       a user, and the ids of the documents that they may view, a line

Scale N puts N such worlds beside each other, with ids of their own: the shape stays, the size grows.
"""

import argparse
import os

USERS, GROUPS, GROUP_SIZE, NESTED = 1000, 100, 20, 50
ROOTS, MIDDLES, LEAVES, DOCUMENTS = 10, 100, 1000, 10000
OWNER_STEP = 337  # prime to USERS, so each user owns ten documents, spread over the tree
VIEWER_STEP = 13
READER, READER_MIDDLE = 433, 42  # in no group that sees a root; direct viewer of one middle folder
QUESTIONS = 1000  # of each kind
RELATIONSHIPS = 25161

SCHEMA = """definition user {}

definition group {
  relation member: user | group#member
}

definition folder {
  relation parent: folder
  relation viewer: user | group#member
  permission view = viewer + parent->view
}

definition document {
  relation parent: folder
  relation owner: user
  relation viewer: user | group#member
  permission view = owner + viewer + parent->view
}
"""


def members(group):
    """The first half of the groups cut the users into rows, the second half into columns."""
    if group < NESTED:
        return [group * GROUP_SIZE + j for j in range(GROUP_SIZE)]
    return [group - NESTED + NESTED * j for j in range(GROUP_SIZE)]


def owner(document):
    return document * OWNER_STEP % USERS


def viewer(document):
    user = (document * VIEWER_STEP + 7) % USERS
    return user if user != READER else user + 1


def root(document):
    return document * ROOTS // DOCUMENTS


def relationships(prefix=""):
    """Every relationship of one world, as text."""
    p = prefix
    for g in range(GROUPS):
        for u in members(g):
            yield f"group:{p}g{g}#member@user:{p}u{u}"
    for g in range(NESTED):
        yield f"group:{p}g{g}#member@group:{p}g{NESTED + g}#member"
    for m in range(MIDDLES):
        yield f"folder:{p}m{m}#parent@folder:{p}r{m * ROOTS // MIDDLES}"
    for leaf in range(LEAVES):
        yield f"folder:{p}l{leaf}#parent@folder:{p}m{leaf * MIDDLES // LEAVES}"
    for r in range(ROOTS):
        yield f"folder:{p}r{r}#viewer@group:{p}g{r}#member"
    for d in range(DOCUMENTS):
        yield f"document:{p}d{d}#parent@folder:{p}l{d * LEAVES // DOCUMENTS}"
        yield f"document:{p}d{d}#owner@user:{p}u{owner(d)}"
        if d % 5 == 0:
            yield f"document:{p}d{d}#viewer@user:{p}u{viewer(d)}"
    yield f"folder:{p}m{READER_MIDDLE}#viewer@user:{p}u{READER}"


def sees_root(user, number):
    """Directly, or through the group nested in the root's group."""
    return user in members(number) or user in members(NESTED + number)


def may_view(user, document):
    """The answer, straight from the description of the data."""
    return (owner(document) == user or (document % 5 == 0 and viewer(document) == user)
            or sees_root(user, root(document))
            or (user == READER and document * MIDDLES // DOCUMENTS == READER_MIDDLE))


def _line(user, document):
    return f"document:d{document} view user:u{user} {'yes' if may_view(user, document) else 'no'}"


def direct():
    """A user views a document that they own."""
    return [_line(owner(d), d) for d in range(0, DOCUMENTS, DOCUMENTS // QUESTIONS)]


def nested():
    """A user views a document through three folders and a nested group."""
    found = []
    for d in range(3, DOCUMENTS, 7):
        column = [u for u in members(NESTED + root(d)) if u not in members(root(d)) and u != owner(d)
                  and not (d % 5 == 0 and viewer(d) == u)]
        found.append(_line(column[d % len(column)], d))
    return found[:QUESTIONS]


def denied():
    """A user who can't view the document: the whole graph above it is walked."""
    found = []
    for d in range(1, DOCUMENTS, 3):
        user = d * 71 % USERS
        if not may_view(user, d):
            found.append(_line(user, d))
    return found[:QUESTIONS]


def bulk():
    """Groups of 100 documents for one user, 50 of them allowed."""
    lines = []
    for user in range(0, ROOTS * GROUP_SIZE, 10):
        allowed = [d for d in range(DOCUMENTS) if may_view(user, d)]
        refused = [d for d in range(0, DOCUMENTS, 11) if not may_view(user, d)]
        if len(allowed) < 50:
            continue
        step = len(allowed) // 50
        for yes, no in zip(allowed[::step][:50], refused[:50]):
            lines += [_line(user, yes), _line(user, no)]
    return lines


def lookup():
    """The user of the 109 documents first, then some who may view ten to a thousand."""
    return [f"user:u{user} " + " ".join(f"d{d}" for d in range(DOCUMENTS) if may_view(user, d))
            for user in [READER, *range(0, USERS // 2, USERS // 20)]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--scale", type=int, default=1)
    arguments = parser.parse_args()
    os.makedirs(arguments.folder, exist_ok=True)
    files = {"schema.zed": [SCHEMA.rstrip("\n")], "direct.txt": direct(), "nested.txt": nested(),
             "denied.txt": denied(), "bulk.txt": bulk(), "lookup.txt": lookup()}
    files["relationships.txt"] = [line for world in range(arguments.scale)
                                  for line in relationships(f"w{world}-" if world else "")]
    assert len(files["relationships.txt"]) == RELATIONSHIPS * arguments.scale
    assert sum(may_view(READER, d) for d in range(DOCUMENTS)) == 109
    assert all(line.endswith("yes") for line in files["direct.txt"] + files["nested.txt"])
    assert all(line.endswith("no") for line in files["denied.txt"])
    for name, lines in files.items():
        with open(os.path.join(arguments.folder, name), "w", encoding="ascii") as out:
            out.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()

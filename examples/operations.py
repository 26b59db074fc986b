"""What else can be asked: which, who, why, and what would change."""

import licet

SCHEMA = """
definition user {}

definition group {
    relation member: user
}

definition document {
    relation owner: user
    relation reader: user | user:* | group#member
    relation banned: user
    permission edit = owner
    permission read = (owner + reader) - banned
}
"""

with licet.open() as engine:
    start = engine.write_schema(SCHEMA)
    engine.touch(
        "document:plan#owner@user:ada",
        "document:plan#reader@group:eng#member",
        "document:memo#reader@user:*",
        "document:memo#banned@user:mal",
        "group:eng#member@user:bo",
    )

    print("bo reads:", list(engine.lookup_resource_ids("document", "read", "user:bo")))
    print("readers of plan:", sorted(found.subject_id for found in engine.lookup_subjects("document:plan", "read", "user")))
    for found in engine.lookup_subjects("document:memo", "read", "user"):
        print("readers of memo:", found.subject_id, "but", [excluded.subject_id for excluded in found.excluded])

    answers = engine.permissions("document:plan", "user:ada")
    print("ada may:", [name for name, result in answers.items() if result])
    print("of three, bo reads:", engine.filter("document", ["plan", "nope", "memo"], "read", "user:bo"))

    print(engine.explain("document:plan", "read", "user:bo"))
    print(engine.expand("document:memo", "read"))

    stricter = SCHEMA.replace("(owner + reader) - banned", "owner")
    for change in engine.read_schema().diff(licet.Schema.parse(stricter)):
        print(change.kind, change.definition, change.name)
    for impact in engine.schema_impact(stricter):
        print(impact.kind, impact.resource, impact.permission, impact.subject)

    engine.delete("group:eng#member@user:bo")
    with engine.watch(since=start, timeout=0) as changes:
        print("since the start:", [f"{change.operation} {change.relationship}" for change in changes][-1])

"""Schemas compared and described: diff, computable_permissions, dependent_relations, reflect."""

from __future__ import annotations

import licet
import pytest
from conftest import SCHEMA
from licet import ReflectionFilter, Schema, SchemaChange, SchemaMember

CAVEATED = """\
/** how late it is */
caveat late(hour int, zone string) { hour > 20 && zone == "utc" }

definition user {}

// what people write
definition document {
  relation owner: user
  relation viewer: user with late | user:* | document#owner
  // who may look
  permission view = viewer + owner
}
"""


def test_a_schema_differs_from_itself_in_nothing():
    schema = Schema.parse(SCHEMA)
    assert schema.diff(schema) == []
    assert schema.diff(Schema.parse(schema.format())) == []


def test_a_difference_says_what_it_was_and_what_it_is():
    before = Schema.parse(SCHEMA)
    after = Schema.parse(
        SCHEMA.replace("permission edit = owner", "permission edit = owner + viewer").replace(
            " | group#member\n}", "\n}"
        )
        + "definition folder {}\n"
    )
    assert before.diff(after) == [
        SchemaChange("permission_expr_changed", "document", "edit", None, None, "owner", "owner + viewer"),
        SchemaChange("definition_added", "folder", None, None, None, None, None),
        SchemaChange("relation_subject_type_removed", "group", "member", None, None, "group#member", None),
    ]
    kinds = [change.kind for change in after.diff(before)]
    assert kinds == ["permission_expr_changed", "definition_removed", "relation_subject_type_added"]
    assert type(after.diff(before)[0]) is SchemaChange


def test_caveats_are_compared_by_parameter_and_expression():
    after = CAVEATED.replace("zone string", "zone bytes").replace('zone == "utc"', 'zone == b"utc"')
    changes = Schema.parse(CAVEATED).diff(Schema.parse(after))
    assert [(c.kind, c.caveat, c.parameter, c.before, c.after) for c in changes] == [
        ("caveat_expr_changed", "late", None, 'hour > 20 && zone == "utc"', 'hour > 20 && zone == b"\\165\\164\\143"'),
        ("caveat_parameter_type_changed", "late", "zone", "string", "bytes"),
    ]


def test_computable_permissions_are_what_a_relation_leads_to():
    schema = Schema.parse(SCHEMA)
    assert schema.computable_permissions("document", "owner") == [
        SchemaMember("permission", "document", "edit"),
        SchemaMember("permission", "document", "view"),
    ]
    assert [member.name for member in schema.computable_permissions("group", "member")] == ["view", "viewer"]
    of_the_type = schema.computable_permissions("user")
    assert ("relation", "group", "member") in of_the_type
    assert schema.computable_permissions("user", prefix="gro") == [("relation", "group", "member")]


def test_dependent_relations_are_what_a_permission_reads():
    assert Schema.parse(SCHEMA).dependent_relations("document", "view") == [
        ("relation", "document", "banned"),
        ("permission", "document", "edit"),
        ("relation", "document", "owner"),
        ("relation", "document", "viewer"),
        ("relation", "group", "member"),
    ]


def test_unknown_names_are_refused():
    schema = Schema.parse(SCHEMA)
    for call in [
        lambda: schema.computable_permissions("nosuch"),
        lambda: schema.computable_permissions("document", "nosuch"),
        lambda: schema.dependent_relations("nosuch", "view"),
        lambda: schema.dependent_relations("document", "nosuch"),
    ]:
        with pytest.raises(licet.NotFound):
            call()
    with pytest.raises(licet.InvalidArgument):
        schema.dependent_relations("document", "owner")
    with pytest.raises(TypeError, match=r"other must be a licet\.Schema, not str"):
        schema.diff(SCHEMA)


def test_reflection_describes_everything():
    assert Schema.parse(CAVEATED).reflect() == {
        "definitions": [
            {
                "name": "document",
                "comment": "// what people write",
                "relations": [
                    {
                        "name": "owner",
                        "comment": "",
                        "subject_types": [{"definition": "user", "is_terminal_subject": True}],
                    },
                    {
                        "name": "viewer",
                        "comment": "",
                        "subject_types": [
                            {"definition": "user", "is_terminal_subject": True, "caveat": "late"},
                            {"definition": "user", "is_public_wildcard": True},
                            {"definition": "document", "relation": "owner"},
                        ],
                    },
                ],
                "permissions": [{"name": "view", "comment": "// who may look"}],
            },
            {"name": "user", "comment": "", "relations": [], "permissions": []},
        ],
        "caveats": [
            {
                "name": "late",
                "comment": "/** how late it is */",
                "parameters": [{"name": "hour", "type": "int"}, {"name": "zone", "type": "string"}],
                "expression": 'hour > 20 && zone == "utc"',
            }
        ],
    }


def test_filters_choose_what_is_described():
    schema = Schema.parse(CAVEATED)
    chosen = schema.reflect([ReflectionFilter(definition="doc", relation="own")])
    assert [r["name"] for d in chosen["definitions"] for r in d["relations"]] == ["owner"]
    assert chosen["caveats"] == []
    assert schema.reflect(iter([ReflectionFilter(caveat="la")]))["definitions"] == []
    assert schema.reflect([ReflectionFilter()]) == {"definitions": [], "caveats": []}
    with pytest.raises(licet.InvalidArgument) as caught:
        schema.reflect([ReflectionFilter(relation="owner")])
    assert caught.value.reason == "INVALID_FILTER"
    with pytest.raises(TypeError, match=r"a filter must be a licet\.ReflectionFilter, not dict"):
        schema.reflect([{"definition": "document"}])
    with pytest.raises(TypeError, match="filters must be an iterable of them, not a str"):
        schema.reflect("document")
    with pytest.raises(TypeError, match="definition must be a str, not int"):
        schema.reflect([ReflectionFilter(definition=5)])

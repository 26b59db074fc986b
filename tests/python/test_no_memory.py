"""Every allocation that the binding makes in the interpreter fails once. The core's own are failed in the C tests."""

from __future__ import annotations

import gc
import sys
from datetime import timedelta

import licet
import pytest
from conftest import RELATIONSHIPS, SCHEMA
from licet import _licet
from licet.testing import evaluate_cel

_testcapi = pytest.importorskip("_testcapi")

QUESTION = ("document:plan", "view", "user:ada")
CONTEXT = {"a": [1, {"b": "x" * 300}, b"y", timedelta(1)], "c": 2**60}
FILTER = licet.Filter(resource_type="document")


def calls(engine):
    ids = ["plan", "open"]
    updates = [licet.touch(text) for text in RELATIONSHIPS]
    preconditions = [licet.must_match(resource_type="document")]
    stream = engine.read_relationships(resource_type="document")
    next(stream)
    result = engine.check(*QUESTION)
    schema = engine.read_schema()
    relationship = licet.Relationship.parse(RELATIONSHIPS[0])
    at_token = licet.at_least(result.token)
    other = licet.Schema.parse(SCHEMA.replace("permission edit = owner", "permission edit = owner + viewer"))
    unbanned = SCHEMA.replace("  relation banned: user\n", "").replace(" - banned", "")
    has = licet.Permissionship.HAS_PERMISSION
    start = engine.delete(*RELATIONSHIPS[:2])
    engine.touch(*RELATIONSHIPS[:2])
    return [
        (lambda: engine.allowed(*QUESTION), True),
        (lambda: engine.check(*QUESTION, consistency=at_token).permissionship, licet.Permissionship.HAS_PERMISSION),
        (lambda: [bool(r) for r in engine.check_bulk([QUESTION, QUESTION])], [True, True]),
        (lambda: engine.check(*QUESTION, context=CONTEXT).missing_context, ()),
        (lambda: [bool(r) for r in engine.check_bulk([(*QUESTION, CONTEXT)], context=CONTEXT)], [True]),
        (lambda: engine.filter("document", ids, "view", "user:ada", context=CONTEXT), ids),
        (lambda: _licet.context_text(CONTEXT)[:6], '{"a":['),
        (lambda: evaluate_cel("[x, 1.5]", {"x": {"string": "a"}}, {"x": "string"})["list"][0], {"string": "a"}),
        (lambda: engine.check_bulk([("nosuch:a", "view", "user:ada")])[0].error.code, "not_found"),
        (lambda: engine.filter("document", ids, "view", "user:ada"), ids),
        (lambda: type(engine.write(updates, preconditions)), str),
        (lambda: type(engine.touch(*RELATIONSHIPS)), str),
        (lambda: type(engine.write_schema(SCHEMA)), str),
        (lambda: engine.delete_relationships(resource_id="nosuch").deleted_count, 0),
        (lambda: len(list(engine.read_relationships(resource_type="document"))), 4),
        (
            lambda: sorted(engine.lookup_resources("document", "view", "user:ada", context=CONTEXT))[0],
            ("open", has, ()),
        ),
        (lambda: sorted(engine.lookup_subjects("document:plan", "view", "user"))[1], ("bo", has, (), ())),
        (lambda: sorted(engine.lookup_resource_ids("document", "view", "user:ada", limit=9))[0], "open"),
        (lambda: sorted(engine.lookup_subject_ids("document:plan", "view", "user"))[1], "bo"),
        (lambda: [bool(r) for r in engine.permissions("document:plan", "user:ada").values()], [True, True]),
        (lambda: engine.permissions("document:plan", "user:ada", ["nosuch"])["nosuch"].error.code, "not_found"),
        (lambda: engine.expand("document:plan", "view").children[1].subjects, ("user:cy",)),
        (lambda: len(str(engine.expand("document:plan", "view"))), 210),
        (lambda: len(engine.explain("document:plan", "view", "user:bo").root.children), 2),
        (lambda: len(list(engine.export_relationships())), 6),
        (lambda: engine.import_relationships([]).count, 0),
        (lambda: engine.import_relationships([], resume="users").count, 0),
        (lambda: engine.import_status("nothing").is_known, False),
        (lambda: engine.forget_import("nothing"), False),
        (lambda: type(engine.write([], metadata=CONTEXT)), str),
        (lambda: [change.operation for change in engine.watch(start, timeout=0)][:2], ["touch"] * 2),
        (lambda: [change.token for change in engine.watch(start, resource_types=["group"], timeout=0)], []),
        (lambda: [impact.kind for impact in engine.schema_impact(str(other), limit=1)], ["gained"]),
        (lambda: [impact.kind for impact in engine.schema_impact(unbanned, limit=1)], ["refused"]),
        (lambda: len(schema.diff(other)), 1),
        (lambda: len(schema.computable_permissions("document", "owner")), 2),
        (lambda: len(schema.dependent_relations("document", "view")), 5),
        (lambda: type(stream.cursor), str),
        (lambda: type(result.token), str),
        (lambda: repr(result), "<licet.Result HAS_PERMISSION>"),
        (lambda: repr(engine), "<licet.Engine with 6 relationships>"),
        (lambda: engine.stats().relationships, 6),
        (lambda: engine.read_schema().definitions, ("user", "group", "document")),
        (lambda: len(schema.format()) > 0, True),
        (lambda: schema.lint(), []),
        (lambda: licet.Relationship.parse(RELATIONSHIPS[0]), relationship),
        (lambda: str(relationship), RELATIONSHIPS[0]),
        (lambda: licet.open().closed, False),
        *(calls_with_json(engine, schema) if sys.version_info < (3, 13) else ()),
    ]


def calls_with_json(engine, schema):
    """What Python's own json reads. That of 3.13.0 crashes when it has no memory for a larger document."""
    start = engine.delete(RELATIONSHIPS[3])
    engine.write([licet.touch(RELATIONSHIPS[3])], metadata={"a": 1})
    return [
        (lambda: next(engine.watch(start)).metadata, {"a": 1}),
        (lambda: len(schema.reflect([licet.ReflectionFilter(definition="document")])["definitions"]), 1),
    ]


def failing(call, nth):
    """What a call comes to when its nth allocation, and only that, fails; a MemoryError included."""
    _testcapi.set_nomemory(nth, nth + 1)
    try:
        return call()
    except MemoryError:
        return MemoryError
    except SystemError as error:
        # The interpreter loses an exception that was set when it has no memory for the traceback. A function of ours
        # that returned without one would be named in another message.
        assert str(error) == "error return without exception set"
        return MemoryError
    finally:
        _testcapi.remove_mem_hooks()


def test_a_failed_allocation_is_a_memory_error_and_never_an_answer(engine):
    for call, expected in calls(engine):
        assert call() == expected
        failures = 0
        for nth in range(200):
            answer = failing(call, nth)
            assert answer in (expected, MemoryError)
            failures += answer is MemoryError
        assert failures < 200
    gc.collect()
    assert engine.allowed(*QUESTION)


def test_an_error_that_can_not_be_made_is_still_an_error(engine):
    engine.touch(*(f"group:g{i}#member@group:g{i + 1}#member" for i in range(60)))
    for call in [
        lambda: engine.explain("group:g0", "member", "user:ada"),
        lambda: engine.import_relationships(RELATIONSHIPS[1:2]),
        lambda: engine.allowed("nosuch:a", "view", "user:ada"),
        lambda: engine.allowed("\ud800", "view", "user:ada"),
        lambda: engine.allowed(5, "view", "user:ada"),
        lambda: engine.write_schema("nonsense"),
        lambda: licet.Relationship.parse("nonsense"),
        lambda: licet.open(max_depth=0),
    ]:
        for nth in range(60):
            try:
                answer = failing(call, nth)
            except (licet.Error, TypeError, MemoryError):
                answer = None
            assert answer in (None, MemoryError)

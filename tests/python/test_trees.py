"""expand and explain: how an answer comes about."""

from __future__ import annotations

import json
import pickle

import licet
import pytest
from licet import Permissionship, Relationship, TraceNode, TreeNode

NO, HAS, CONDITIONAL = Permissionship


# ------------------------------------------------------------------------------ expand


def test_a_tree_is_made_of_operators_and_relations(engine):
    tree = engine.expand("document:plan", "view")
    assert type(tree) is licet.Tree
    owner = TreeNode("leaf", "document:plan", "owner", ("user:ada",), ())
    viewer = TreeNode("leaf", "document:plan", "viewer", ("group:eng#member",), ())
    banned = TreeNode("leaf", "document:plan", "banned", ("user:cy",), ())
    edit = TreeNode("union", "document:plan", "edit", (), (owner,))
    union = TreeNode("union", "document:plan", "view", (), (viewer, edit))
    assert tree.root == TreeNode("exclusion", "document:plan", "view", (), (union, banned))
    assert (tree.operation, tree.resource, tree.relation) == ("exclusion", "document:plan", "view")
    assert (tree.subjects, tree.children) == ((), (union, banned))
    assert repr(tree) == "<licet.Tree <TreeNode exclusion document:plan#view>>"


def test_a_tree_is_a_text_and_a_document(engine):
    tree = engine.expand("document:plan", "view")
    assert str(tree) == (
        "exclusion document:plan#view\n"
        "  union document:plan#view\n"
        "    leaf document:plan#viewer: group:eng#member\n"
        "    union document:plan#edit\n"
        "      leaf document:plan#owner: user:ada\n"
        "  leaf document:plan#banned: user:cy"
    )
    assert json.loads(tree.to_json())["children"][1] == {
        "operation": "leaf",
        "resource": "document:plan",
        "relation": "banned",
        "subjects": ["user:cy"],
    }


def test_a_relation_is_a_leaf(engine):
    tree = engine.expand("document:open", "viewer")
    assert (tree.operation, tree.subjects, tree.children) == ("leaf", ("user:*",), ())
    assert engine.expand("document:nowhere", "viewer").subjects == ()


def test_a_tree_is_of_one_revision(engine):
    token = engine.touch("document:new#owner@user:ada")
    engine.delete("document:new#owner@user:ada")
    tree = engine.expand("document:new", "owner", consistency=licet.at_exactly(token))
    assert (tree.subjects, tree.token) == (("user:ada",), token)
    assert engine.expand("document:new", "owner").subjects == ()


def test_bad_expansions_are_refused(engine):
    with pytest.raises(licet.NotFound):
        engine.expand("document:plan", "nosuch")
    with pytest.raises(licet.InvalidArgument):
        engine.expand("plan", "view")
    with pytest.raises(TypeError, match="permission must be a str, not bytes"):
        engine.expand("document:plan", b"view")


def test_a_tree_outlives_its_engine():
    with licet.open() as engine:
        engine.write_schema("definition user {}\ndefinition doc {\n  relation owner: user\n}")
        engine.touch("doc:a#owner@user:ada")
        tree = engine.expand("doc:a", "owner")
        token = tree.token
    del engine
    assert (str(tree), tree.subjects, tree.token) == ("leaf doc:a#owner: user:ada", ("user:ada",), token)


def deep_schema(levels):
    """A permission that is nested in itself as deeply as a schema may be."""
    names = "\n".join(f"  permission perm{i} = perm{i + 1} + owner" for i in range(levels))
    return f"definition user {{}}\ndefinition doc {{\n  relation owner: user\n{names}\n  permission perm{levels} = owner\n}}"


def test_deep_trees_and_traces_need_no_deep_stack():
    with licet.open(max_depth=1000) as engine:
        engine.write_schema(deep_schema(900))
        engine.touch("doc:a#owner@user:ada")
        tree = engine.expand("doc:a", "perm0")
        depth, node = 0, tree.root
        while node.children:
            depth, node = depth + 1, node.children[0]
        assert depth == 901
        trace = engine.explain("doc:a", "perm0", "user:zed")
        assert not trace
        assert len(trace.nodes) > 900
        again = pickle.loads(pickle.dumps(trace))
        assert [n[:-1] for n in again.nodes] == [n[:-1] for n in trace.nodes]
        del tree, trace, again, node


# ----------------------------------------------------------------------------- explain


def test_a_grant_is_told_by_the_way_that_makes_it(engine):
    trace = engine.explain("document:plan", "view", "user:bo")
    assert trace
    assert (trace.allowed, trace.permissionship, trace.missing_context) == (True, HAS, ())
    assert str(trace) == (
        "allowed document:plan#view (exclusion)\n"
        "  allowed document:plan#view (union)\n"
        "    allowed document:plan#viewer (relation)\n"
        "      allowed group:eng#member (relation) by document:plan#viewer@group:eng#member\n"
        "        allowed group:eng#member (relationship) by group:eng#member@user:bo\n"
        "  denied document:plan#banned (relation)"
    )
    assert [node.reason for node in trace.nodes] == [
        "exclusion",
        "union",
        "relation",
        "relation",
        "relationship",
        "relation",
    ]
    row = trace.root.children[0].children[0].children[0].children[0]
    assert row == TraceNode(
        resource="group:eng",
        permission="member",
        is_permission=False,
        permissionship=HAS,
        error=None,
        reason="relationship",
        operand=None,
        relationship=Relationship.parse("group:eng#member@user:bo"),
        caveat_name=None,
        caveat_expression=None,
        caveat_context=None,
        missing_context=(),
        is_cut=False,
        children=(),
    )
    assert repr(trace) == "<Trace <TraceNode HAS_PERMISSION document:plan#view>>"


def test_a_denial_is_told_by_all_that_was_tried(engine):
    trace = engine.explain("document:plan", "edit", "user:bo")
    assert not trace
    assert str(trace) == "denied document:plan#edit (union)\n  denied document:plan#owner (relation)"
    document = json.loads(trace.to_json())
    assert document["result"] == "denied"
    assert document["children"][0]["permission"] == "owner"


def test_explain_agrees_with_check(engine):
    for subject in ("user:ada", "user:bo", "user:cy", "user:eve"):
        for resource in ("document:plan", "document:open", "document:nowhere"):
            for permission in ("view", "edit", "viewer"):
                result = engine.check(resource, permission, subject)
                trace = engine.explain(resource, permission, subject)
                assert (trace.permissionship, bool(trace)) == (result.permissionship, bool(result))
                assert trace.token == result.token


CAVEAT = """\
caveat late(hour int, zone string) { hour > 20 && zone == "utc" }
caveat odd(n int) { 1 / n > 0 }
definition user {}
definition document {
  relation viewer: user with late | user with odd | document#viewer
}
"""


@pytest.fixture
def caveated(empty):
    empty.write_schema(CAVEAT)
    empty.touch('document:memo#viewer@user:ada[late:{"zone":"utc"}]', "document:bad#viewer@user:ada[odd]")
    return empty


def test_caveats_are_told_with_their_values(caveated):
    trace = caveated.explain("document:memo", "viewer", "user:ada")
    assert (bool(trace), trace.permissionship, trace.missing_context) == (False, CONDITIONAL, ("hour",))
    row = trace.root.children[0]
    assert row.relationship.context == {"zone": "utc"}
    assert (row.caveat_name, row.caveat_expression) == ("late", 'hour > 20 && zone == "utc"')
    assert (row.caveat_context, row.missing_context) == ({"zone": "utc"}, ("hour",))
    trace = caveated.explain("document:memo", "viewer", "user:ada", context={"hour": 21, "zone": "cet"})
    assert trace
    assert trace.root.children[0].caveat_context == {"hour": 21, "zone": "utc"}


def test_a_failed_evaluation_tells_how_far_it_came(caveated):
    with pytest.raises(licet.InvalidArgument) as caught:
        caveated.explain("document:bad", "viewer", "user:ada", context={"n": 0})
    error = caught.value
    assert error.kind == "eval"
    assert type(error.trace) is licet.Trace
    assert not error.trace
    assert error.trace.root.resource == "document:bad"
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), again.trace) == (licet.InvalidArgument, error.trace)
    with pytest.raises(licet.InvalidArgument) as caught:
        caveated.check("document:bad", "viewer", "user:ada", context={"n": 0})
    assert (caught.value.message, caught.value.trace) == (error.message, None)


def test_a_depth_that_is_exceeded_tells_where(caveated):
    caveated.touch(*(f"document:d{i}#viewer@document:d{i + 1}#viewer" for i in range(60)))
    with pytest.raises(licet.LimitExceeded) as caught:
        caveated.explain("document:d0", "viewer", "user:ada")
    assert [node.resource for node in caught.value.trace.nodes][:3] == ["document:d0", "document:d1", "document:d2"]
    assert {node.error for node in caught.value.trace.nodes} <= {"limit_exceeded", None}


def test_bad_explanations_have_no_trace(engine):
    with pytest.raises(licet.NotFound) as caught:
        engine.explain("document:plan", "nosuch", "user:ada")
    assert caught.value.trace is None
    with pytest.raises(TypeError, match="subject must be a str, not NoneType"):
        engine.explain("document:plan", "view", None)

"""licet.Relationship: text and fields."""

from __future__ import annotations

import pickle
import re
import string

import licet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from licet import Relationship

names = st.from_regex(r"[a-z][a-z0-9_]{1,20}[a-z0-9]", fullmatch=True)
types = st.builds("/".join, st.lists(names, min_size=1, max_size=3))
ids = st.text(string.ascii_letters + string.digits + "/_|-=+", min_size=1, max_size=40)
relationships = st.builds(
    Relationship, types, ids, names, types, ids | st.just("*"), st.none() | names, *[st.none()] * 3
)


@given(relationships)
def test_parse_is_the_inverse_of_str(relationship):
    if relationship.subject_id == "*":
        relationship = relationship._replace(subject_relation=None)
    assert Relationship.parse(str(relationship)) == relationship


@given(st.text())
def test_any_text_is_a_relationship_or_an_error(text):
    try:
        relationship = Relationship.parse(text)
    except licet.InvalidArgument as error:
        assert error.column is None or 1 <= error.column <= len(text) + 1
        assert len(error.message.encode()) <= 1024
        assert not re.search(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]", error.message)
    else:
        assert str(relationship) == text.replace("#...", "")


def test_fields_have_names():
    relationship = Relationship.parse("document:readme#viewer@group:eng#member")
    assert relationship == ("document", "readme", "viewer", "group", "eng", "member", None, None, None)
    assert relationship.resource == "document:readme"
    assert relationship.subject == "group:eng#member"
    assert Relationship.parse("document:readme#owner@user:ada").subject == "user:ada"


def test_a_caveat_and_an_expiration_are_kept_as_text():
    text = 'document:readme#viewer@user:ada[office:{"k":1}][expiration:2030-01-02T03:04:05Z]'
    relationship = Relationship.parse(text)
    assert (relationship.caveat_name, relationship.caveat_context) == ("office", '{"k":1}')
    assert relationship.expiration == "2030-01-02T03:04:05Z"
    assert str(relationship) == text


def test_the_ellipsis_is_no_relation():
    assert Relationship.parse("document:readme#viewer@group:eng#...").subject_relation is None


def test_relationships_are_immutable_and_hashable():
    one = Relationship.parse("document:readme#owner@user:ada")
    assert {one: 1}[Relationship("document", "readme", "owner", "user", "ada")] == 1
    with pytest.raises(AttributeError):
        one.relation = "viewer"
    assert pickle.loads(pickle.dumps(one)) == one


def test_a_relationship_shows_its_notation():
    assert repr(Relationship.parse("document:readme#owner@user:ada")) == "<Relationship document:readme#owner@user:ada>"
    assert repr(Relationship("Bad Type", "", "", "", "")).startswith("<Relationship ('Bad Type', '',")
    assert repr(Relationship(1, 2, 3, 4, 5)).startswith("<Relationship (1, 2, 3, 4, 5")


@pytest.mark.parametrize(
    "text, column",
    [
        ("", 1),
        ("document", 9),
        ("document:readme", 16),
        ("document:readme#owner", 22),
        ("document:readme#owner@user", 27),
        ("document:readme#owner@user:", 28),
        ("document:read me#owner@user:ada", 14),
        ("document:readme#owner@user:ada ", 31),
        (" document:readme#owner@user:ada", 1),
        ("document:readme#owner@user:ada\n", 31),
        ("document:readme#owner@user:a\0da", 29),
        ("document:*#owner@user:ada", 10),
    ],
)
def test_an_error_has_a_column(text, column):
    with pytest.raises(licet.InvalidArgument) as caught:
        Relationship.parse(text)
    assert (caught.value.line, caught.value.column) == (1, column)
    assert caught.value.code == "invalid_argument"


def test_a_key_twice_in_the_context_is_an_error_only_where_strict_was_asked_for():
    text = 'document:readme#owner@user:ada[cav:{"n":1,"n":2}]'
    assert Relationship.parse(text).context == {"n": 2}
    with pytest.raises(licet.InvalidArgument, match="a key stands twice in an object") as caught:
        Relationship.parse(text, strict=True)
    assert (caught.value.kind, caught.value.column) == ("value", 49)
    assert Relationship.parse("document:readme#owner@user:ada", strict=True).subject == "user:ada"


@pytest.mark.parametrize("value", [None, 5, b"document:readme#owner@user:ada", ("document",)])
def test_only_str_is_parsed(value):
    with pytest.raises(TypeError, match="relationship must be a str, not"):
        Relationship.parse(value)


def test_str_refuses_what_it_can_not_write():
    for bad in [
        Relationship("Document", "a", "owner", "user", "b"),
        Relationship("document", "", "owner", "user", "b"),
        Relationship("document", "a", "owner", "user", "b c"),
    ]:
        with pytest.raises(licet.InvalidArgument):
            str(bad)
    with pytest.raises(TypeError, match="relation must be a str, not NoneType"):
        str(Relationship("document", "a", None, "user", "b"))

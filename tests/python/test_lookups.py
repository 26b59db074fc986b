"""lookup_resources, lookup_subjects, permissions: many answers to one question."""

from __future__ import annotations

import licet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from licet import ExcludedSubject, FoundResource, FoundSubject, Permissionship

NO, HAS, CONDITIONAL = Permissionship

CAVEATS = """\
caveat late(hour int) { hour > 20 }
caveat near(zone string) { zone == "cet" }
definition user {}
definition group {
  relation member: user | group#member
}
definition document {
  relation viewer: user | user:* | user with late | user:* with near | group#member
  relation banned: user | user with late
  permission view = viewer - banned
  permission nothing = viewer & nil_set
  relation nil_set: user
}
"""

CAVEATED = (
    "document:a#viewer@user:ada",
    "document:b#viewer@user:ada[late]",
    "document:c#viewer@user:*",
    "document:c#banned@user:bo",
    "document:c#banned@user:cy[late]",
    "document:d#viewer@group:eng#member",
    "group:eng#member@user:ada",
    "document:e#viewer@user:*[near]",
)


@pytest.fixture
def world(empty):
    empty.write_schema(CAVEATS)
    empty.touch(*CAVEATED)
    return empty


def ids(stream):
    return sorted(found.resource_id for found in stream)


# -------------------------------------------------------------------- lookup_resources


def test_lookup_finds_what_checks_would_find(engine):
    found = list(engine.lookup_resources("document", "view", "user:ada"))
    assert sorted(found) == [FoundResource("open", HAS, ()), FoundResource("plan", HAS, ())]
    assert all(type(f) is FoundResource and type(f.permissionship) is Permissionship for f in found)
    assert ids(engine.lookup_resources("document", "view", "user:cy")) == ["open"]
    assert ids(engine.lookup_resources("document", "edit", "user:cy")) == []
    assert ids(engine.lookup_resources("document", "viewer", "group:eng#member")) == ["plan"]


def test_a_conditional_resource_says_what_it_waits_for(world):
    found = sorted(world.lookup_resources("document", "view", "user:ada"))
    assert found == [
        ("a", HAS, ()),
        ("b", CONDITIONAL, ("hour",)),
        ("c", HAS, ()),
        ("d", HAS, ()),
        ("e", CONDITIONAL, ("zone",)),
    ]
    given = sorted(world.lookup_resources("document", "view", "user:ada", context={"hour": 9, "zone": "cet"}))
    assert [(f.resource_id, f.permissionship) for f in given] == [("a", HAS), ("c", HAS), ("d", HAS), ("e", HAS)]
    as_text = world.lookup_resources("document", "view", "user:ada", context='{"hour": 21, "zone": "utc"}')
    assert ids(as_text) == ["a", "b", "c", "d"]


@pytest.mark.parametrize("limit", [1, 2, 3, 7])
def test_pages_of_resources_follow_one_another_at_one_revision(world, limit):
    seen, cursor, tokens = [], None, set()
    while True:
        page = world.lookup_resources("document", "view", "user:ada", limit=limit, cursor=cursor)
        found = list(page)
        assert len(found) <= limit
        seen += [f.resource_id for f in found]
        tokens.add(page.token)
        if len(found) < limit:
            break
        cursor = page.cursor
        world.touch("document:later#viewer@user:ada")
    assert sorted(seen) == ["a", "b", "c", "d", "e"]
    assert len(tokens) == 1


def test_a_lookup_has_no_cursor_before_the_first(engine):
    stream = engine.lookup_resources("document", "view", "user:ada")
    assert stream.cursor is None
    next(stream)
    assert type(stream.cursor) is str
    assert stream.token == engine.check("document:plan", "view", "user:ada").token


def test_a_cursor_of_another_lookup_is_refused(engine):
    stream = engine.lookup_resources("document", "view", "user:ada", limit=1)
    next(stream)
    for call in [
        lambda: engine.lookup_resources("document", "view", "user:bo", limit=1, cursor=stream.cursor),
        lambda: engine.lookup_resources("document", "edit", "user:ada", limit=1, cursor=stream.cursor),
        lambda: engine.lookup_resources("document", "view", "user:ada", limit=1, cursor="nonsense"),
        lambda: engine.lookup_subjects("document:plan", "view", "user", limit=1, cursor=stream.cursor),
        lambda: engine.read_relationships(resource_type="document", limit=1, cursor=stream.cursor),
    ]:
        with pytest.raises(licet.InvalidToken) as caught:
            list(call())
        assert (caught.value.kind, caught.value.reason) == ("token", "INVALID_CURSOR")


def test_a_lookup_at_an_older_token(engine):
    token = engine.check("document:plan", "view", "user:ada").token
    engine.touch("document:new#owner@user:ada")
    assert ids(engine.lookup_resources("document", "edit", "user:ada")) == ["new", "plan"]
    then = engine.lookup_resources("document", "edit", "user:ada", consistency=licet.at_exactly(token))
    assert (ids(then), then.token) == (["plan"], token)


def test_a_lookup_that_ended_stays_ended(engine):
    stream = engine.lookup_resources("document", "edit", "user:ada")
    assert ids(stream) == ["plan"]
    engine.touch("document:new#owner@user:ada")
    assert next(stream, None) is None
    assert iter(stream) is stream


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        (("nosuch", "view", "user:ada"), licet.NotFound, "object definition `nosuch` not found"),
        (
            ("document", "nosuch", "user:ada"),
            licet.NotFound,
            "relation/permission `nosuch` not found under definition `document`",
        ),
        (("document", "view", "nosuch:ada"), licet.NotFound, "object definition `nosuch` not found"),
        (("Document", "view", "user:ada"), licet.InvalidArgument, None),
        (("document", "view", "ada"), licet.InvalidArgument, None),
        (("document", "view", "user:\ud800"), licet.InvalidArgument, None),
    ],
)
def test_bad_lookups_are_refused(engine, arguments, error, message):
    with pytest.raises(error) as caught:
        list(engine.lookup_resources(*arguments))
    assert message in (None, caught.value.message)


def test_arguments_of_lookups_are_checked(engine):
    with pytest.raises(TypeError, match="resource_type must be a str, not int"):
        engine.lookup_resources(5, "view", "user:ada")
    with pytest.raises(TypeError, match="limit must be an int, not str"):
        engine.lookup_resources("document", "view", "user:ada", limit="5")
    with pytest.raises(TypeError, match="wildcards must be a bool, not int"):
        engine.lookup_subjects("document:plan", "view", "user", wildcards=1)
    with pytest.raises(TypeError, match="context must be a dict, or a JSON object as a str, not list"):
        engine.lookup_resources("document", "view", "user:ada", context=[])
    with pytest.raises(TypeError, match=r"lookup_subjects\(\) missing required argument 'subject_type'"):
        engine.lookup_subjects("document:plan", "view")
    for limit in (0, -1, 2**40):
        with pytest.raises(licet.InvalidArgument, match="limit must be between 1 and 4294967295"):
            engine.lookup_resources("document", "view", "user:ada", limit=limit)
    with pytest.raises(licet.LimitExceeded):
        engine.lookup_resources("document", "view", "user:ada", limit=1001)


def test_a_failing_caveat_comes_after_what_was_found(empty):
    empty.write_schema(
        "caveat odd(n int) { 1 / n > 0 }\n"
        "definition user {}\n"
        "definition document {\n  relation viewer: user | user with odd\n}"
    )
    empty.touch("document:a#viewer@user:ada", "document:b#viewer@user:ada[odd]")
    stream = empty.lookup_resources("document", "viewer", "user:ada", context={"n": 0})
    with pytest.raises(licet.InvalidArgument) as caught:
        list(stream)
    assert caught.value.kind == "eval"


# --------------------------------------------------------------------- lookup_subjects


def test_subjects_are_those_that_checks_would_find(engine):
    found = list(engine.lookup_subjects("document:plan", "view", "user"))
    assert sorted(found) == [FoundSubject("ada", HAS, (), ()), FoundSubject("bo", HAS, (), ())]
    assert list(engine.lookup_subjects("document:open", "view", "user")) == [("*", HAS, (), ())]
    assert list(engine.lookup_subjects("document:open", "view", "user", wildcards=False)) == []
    assert list(engine.lookup_subjects("document:nowhere", "view", "user")) == []


def test_usersets_are_found_by_their_relation(engine):
    found = engine.lookup_subjects("document:plan", "viewer", "group", subject_relation="member")
    assert list(found) == [("eng", HAS, (), ())]


def test_a_wildcard_comes_first_with_its_exclusions(world):
    star, *rest = world.lookup_subjects("document:c", "view", "user")
    assert star[:3] == ("*", HAS, ())
    assert sorted(star.excluded) == [ExcludedSubject("bo", HAS, ()), ExcludedSubject("cy", CONDITIONAL, ("hour",))]
    assert all(type(excluded) is ExcludedSubject for excluded in star.excluded)
    assert rest == []
    conditional, *rest = world.lookup_subjects("document:e", "view", "user")
    assert (conditional, rest) == (("*", CONDITIONAL, ("zone",), ()), [])


@pytest.mark.parametrize("limit", [1, 2, 10])
def test_pages_of_subjects_follow_one_another(engine, limit):
    engine.touch(*(f"document:plan#owner@user:u{i}" for i in range(5)))
    seen, cursor = [], None
    while True:
        page = engine.lookup_subjects("document:plan", "view", "user", limit=limit, cursor=cursor)
        found = [f.subject_id for f in page]
        seen += found
        if len(found) < limit:
            break
        cursor = page.cursor
    assert sorted(seen) == ["ada", "bo", "u0", "u1", "u2", "u3", "u4"]


def test_lookups_agree_with_checks(world):
    for context in (None, {"hour": 22}, {"hour": 3, "zone": "cet"}):
        for name in ("ada", "bo", "cy", "eve"):
            subject = f"user:{name}"
            found = {f.resource_id: f for f in world.lookup_resources("document", "view", subject, context=context)}
            for resource in "abcde":
                result = world.check(f"document:{resource}", "view", subject, context=context)
                answer = found.get(resource, FoundResource(resource, NO, ()))
                assert answer[1:] == (result.permissionship, result.missing_context)


# --------------------------------------------------------------------------- ids alone


def in_pages(call, limit, *arguments, **options):
    """All of a lookup, page by page. Only the last page is not full, and all are of one revision."""
    seen, cursor, tokens = [], None, set()
    while True:
        page = call(*arguments, limit=limit, cursor=cursor, **options)
        found = list(page)
        seen += found
        tokens.add(page.token)
        if limit is None or len(found) < limit:
            assert len(tokens) == 1
            return seen
        cursor = page.cursor


def test_ids_are_of_what_is_allowed_for_certain(world):
    assert sorted(world.lookup_resource_ids("document", "view", "user:ada")) == ["a", "c", "d"]
    given = world.lookup_resource_ids("document", "view", "user:ada", context={"hour": 9, "zone": "cet"})
    assert type(given) is licet.ResourceIdStream
    assert sorted(given) == ["a", "c", "d", "e"]
    world.touch("document:d#viewer@user:bo", "document:d#viewer@user:cy[late]")
    subjects = world.lookup_subject_ids("document:d", "view", "user")
    assert type(subjects) is licet.SubjectIdStream
    assert sorted(subjects) == ["ada", "bo"]
    assert sorted(world.lookup_subject_ids("document:d", "view", "user", context={"hour": 21})) == ["ada", "bo", "cy"]
    usersets = world.lookup_subject_ids("document:d", "viewer", "group", subject_relation="member")
    assert list(usersets) == ["eng"]


def test_a_wildcard_is_no_id_and_hides_nobody_granted_by_name(world):
    assert list(world.lookup_subject_ids("document:c", "view", "user")) == []
    world.touch(*(f"document:c#viewer@user:{name}" for name in ("ada", "bo", "cy")))
    assert [star.excluded != () for star in world.lookup_subjects("document:c", "view", "user", limit=1)] == [True]
    assert list(world.lookup_subject_ids("document:c", "view", "user")) == ["ada"]
    with pytest.raises(TypeError, match=r"lookup_subject_ids\(\) got an unexpected keyword argument 'wildcards'"):
        world.lookup_subject_ids("document:c", "view", "user", wildcards=True)


def test_a_cursor_of_ids_is_for_ids_alone(world):
    stream = world.lookup_resource_ids("document", "view", "user:ada", limit=1)
    assert stream.cursor is None
    next(stream)
    for call in [
        lambda: world.lookup_resources("document", "view", "user:ada", limit=1, cursor=stream.cursor),
        lambda: world.lookup_resource_ids("document", "view", "user:bo", limit=1, cursor=stream.cursor),
        lambda: world.lookup_subject_ids("document:a", "view", "user", limit=1, cursor=stream.cursor),
    ]:
        with pytest.raises(licet.InvalidToken):
            list(call())
    assert len([*world.lookup_resource_ids("document", "view", "user:ada", limit=1, cursor=stream.cursor)]) == 1


def test_arguments_of_lookups_of_ids_are_checked(engine):
    with pytest.raises(TypeError, match="resource_type must be a str, not int"):
        engine.lookup_resource_ids(5, "view", "user:ada")
    with pytest.raises(TypeError, match=r"lookup_subject_ids\(\) missing required argument 'subject_type'"):
        engine.lookup_subject_ids("document:plan", "view")
    with pytest.raises(licet.NotFound):
        list(engine.lookup_resource_ids("document", "nosuch", "user:ada"))
    with pytest.raises(licet.LimitExceeded):
        engine.lookup_subject_ids("document:plan", "view", "user", limit=1001)


NAMES = ("ada", "bo", "cy")
GRANTS = st.sampled_from(
    [
        f"document:{resource}#{relation}@user:{subject}{caveat}"
        for resource in "abcdef"
        for relation, subject, caveat in (
            *(("viewer", name, "") for name in NAMES),
            *(("viewer", name, "[late]") for name in NAMES),
            *(("banned", name, "") for name in NAMES),
            *(("banned", name, "[late]") for name in NAMES),
            ("viewer", "*", ""),
            ("viewer", "*", "[near]"),
        )
    ]
)


@given(relationships=st.lists(GRANTS, max_size=25), context=st.sampled_from([None, {"hour": 22}, {"zone": "utc"}]))
def test_ids_are_the_allowed_of_a_lookup_for_every_page_size(relationships, context):
    with licet.open() as engine:
        engine.write_schema(CAVEATS)
        engine.touch("document:z#viewer@user:ada", *{row.partition("[")[0]: row for row in relationships}.values())
        for name in NAMES:
            arguments = ("document", "view", f"user:{name}")
            found = engine.lookup_resources(*arguments, context=context)
            allowed = [f.resource_id for f in found if f.permissionship is HAS]
            for limit in (None, *range(1, 9)):
                assert in_pages(engine.lookup_resource_ids, limit, *arguments, context=context) == allowed
            for resource in allowed:
                assert engine.allowed(f"document:{resource}", "view", f"user:{name}", context=context)
        for resource in "abcdef":
            arguments = (f"document:{resource}", "view", "user")
            found = engine.lookup_subjects(*arguments, context=context)
            allowed = [f.subject_id for f in found if f.permissionship is HAS and f.subject_id != "*"]
            for limit in (None, *range(1, 5)):
                assert in_pages(engine.lookup_subject_ids, limit, *arguments, context=context) == allowed


# ------------------------------------------------------------------------- permissions


def test_permissions_are_those_of_the_definition_in_its_order(engine):
    answers = engine.permissions("document:plan", "user:ada")
    assert {name: bool(result) for name, result in answers.items()} == {"edit": True, "view": True}
    assert list(answers) == ["edit", "view"]
    assert {name: bool(r) for name, r in engine.permissions("document:plan", "user:bo").items()} == {
        "edit": False,
        "view": True,
    }
    assert engine.permissions("group:eng", "user:bo") == {}


def test_chosen_permissions_come_in_the_order_chosen(engine):
    chosen = (name for name in ["view", "owner", "edit"])
    answers = engine.permissions("document:plan", "user:ada", chosen)
    assert list(answers) == ["view", "owner", "edit"]
    assert all(type(result) is licet.Result for result in answers.values())
    assert engine.permissions("document:plan", "user:ada", []) == {}


def test_permissions_are_answered_at_one_revision(engine):
    token = engine.touch("document:new#owner@user:ada")
    engine.delete("document:new#owner@user:ada")
    answers = engine.permissions("document:new", "user:ada", consistency=licet.at_exactly(token))
    assert [bool(result) for result in answers.values()] == [True, True]
    assert {result.token for result in answers.values()} == {token}


def test_a_permission_that_can_not_be_answered_keeps_its_error(engine):
    answers = engine.permissions("document:plan", "user:ada", ["nosuch", "view"])
    assert type(answers["nosuch"].error) is licet.NotFound
    assert answers["nosuch"].error.message == "relation/permission `nosuch` not found under definition `document`"
    assert (answers["nosuch"].allowed, answers["nosuch"].token, answers["nosuch"].missing_context) == (False, None, ())
    assert (answers["view"].allowed, answers["view"].error) == (True, None)


def test_conditional_permissions_say_what_they_wait_for(world):
    (view,) = world.permissions("document:b", "user:ada", ["view"]).values()
    assert (view.permissionship, view.missing_context) == (CONDITIONAL, ("hour",))
    (view,) = world.permissions("document:b", "user:ada", ["view"], context={"hour": 21}).values()
    assert view.allowed


def test_bad_permissions_are_refused(engine):
    with pytest.raises(licet.NotFound):
        engine.permissions("nosuch:a", "user:ada")
    assert type(engine.permissions("nosuch:a", "user:ada", ["view"])["view"].error) is licet.NotFound
    with pytest.raises(licet.InvalidArgument):
        engine.permissions("plan", "user:ada")
    with pytest.raises(TypeError, match="permissions must be an iterable of str, not a str"):
        engine.permissions("document:plan", "user:ada", "view")
    with pytest.raises(TypeError, match="permissions must be a str, not int"):
        engine.permissions("document:plan", "user:ada", ["view", 5])

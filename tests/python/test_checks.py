"""allowed, check, check_bulk and filter."""

from __future__ import annotations

import re
import textwrap

import licet
import pytest
from licet import Permissionship

ANSWERS = [
    ("document:plan", "view", "user:ada", True),
    ("document:plan", "edit", "user:ada", True),
    ("document:plan", "view", "user:bo", True),
    ("document:plan", "edit", "user:bo", False),
    ("document:plan", "view", "user:cy", False),
    ("document:plan", "view", "user:eve", False),
    ("document:open", "view", "user:eve", True),
    ("document:plan", "viewer", "group:eng#member", True),
    ("document:nowhere", "view", "user:ada", False),
]


@pytest.mark.parametrize("resource, permission, subject, expected", ANSWERS)
def test_allowed_is_true_only_for_a_grant(engine, resource, permission, subject, expected):
    assert engine.allowed(resource, permission, subject) is expected


@pytest.mark.parametrize("resource, permission, subject, expected", ANSWERS)
def test_check_agrees_with_allowed(engine, resource, permission, subject, expected):
    result = engine.check(resource, permission, subject)
    assert result.allowed is expected
    assert bool(result) is expected
    assert result.permissionship is (Permissionship.HAS_PERMISSION if expected else Permissionship.NO_PERMISSION)
    assert result.missing_context == ()
    assert result.error is None


def test_the_first_example_of_the_package_works(capsys):
    code = re.search(r"\n    import licet\n.*?\n\n(?=Objects)", licet.__doc__, re.DOTALL)[0]
    code = re.sub(r"(engine\.allowed.*?\))", r"print(\1)", textwrap.dedent(code))
    exec(code, {})
    assert capsys.readouterr().out == "True\n"


def test_arguments_may_be_given_by_name(engine):
    assert engine.allowed(subject="user:ada", permission="view", resource="document:plan") is True
    assert engine.allowed("document:plan", subject="user:ada", permission="view") is True


def test_a_result_carries_the_token_of_its_revision(engine):
    before = engine.check("document:plan", "view", "user:eve")
    written = engine.touch("document:plan#owner@user:eve")
    after = engine.check("document:plan", "view", "user:eve")
    assert after.token == written
    assert before.token != after.token
    assert not engine.allowed("document:plan", "view", "user:eve", consistency=licet.at_exactly(before.token))
    assert engine.allowed("document:plan", "view", "user:eve", consistency=licet.at_exactly(after.token))


@pytest.mark.parametrize("consistency", [None, licet.MINIMIZE_LATENCY, licet.FULL])
def test_consistency_without_a_token(engine, consistency):
    assert engine.allowed("document:plan", "view", "user:ada", consistency=consistency)


def test_at_least_reads_what_the_token_saw(engine):
    token = engine.touch("document:plan#owner@user:eve")
    assert engine.allowed("document:plan", "view", "user:eve", consistency=licet.at_least(token))


@pytest.mark.parametrize("make", [licet.at_least, licet.at_exactly])
@pytest.mark.parametrize("token", ["", "nonsense", "\0", "ü"])
def test_a_damaged_token_is_never_an_answer(engine, make, token):
    with pytest.raises(licet.InvalidToken) as caught:
        engine.allowed("document:plan", "view", "user:ada", consistency=make(token))
    assert (caught.value.code, caught.value.kind) == ("invalid_token", "token")


def test_a_token_of_another_engine_is_refused(engine):
    with licet.open() as other:
        foreign = other.write_schema("definition user {}")
    with pytest.raises(licet.InvalidToken):
        engine.check("document:plan", "view", "user:ada", consistency=licet.at_least(foreign))


def test_bulk_answers_in_order_at_one_revision(engine):
    results = engine.check_bulk([(resource, permission, subject) for resource, permission, subject, _ in ANSWERS])
    assert [result.allowed for result in results] == [expected for *_, expected in ANSWERS]
    assert len({result.token for result in results}) == 1


def test_bulk_of_nothing_is_nothing(engine):
    assert engine.check_bulk([]) == []


def test_bulk_takes_any_iterable_of_tuples_and_lists(engine):
    triple = ("document:plan", "view", "user:ada")
    for items in ([triple, triple], (triple, triple), iter([triple, triple]), [list(triple), list(triple)]):
        assert [bool(result) for result in engine.check_bulk(items)] == [True, True]


def test_an_item_of_a_bulk_carries_its_own_error(engine):
    good, bad = engine.check_bulk(
        [("document:plan", "view", "user:ada"), ("document:plan", "nosuch", "user:ada")], consistency=licet.FULL
    )
    assert good.allowed and good.error is None
    assert not bad.allowed and not bad
    assert bad.permissionship is Permissionship.NO_PERMISSION
    assert type(bad.error) is licet.NotFound
    assert bad.error.reason == "UNKNOWN_RELATION_OR_PERMISSION"
    assert bad.error.kind == "name"


def test_a_bad_shape_fails_the_whole_bulk(engine):
    with pytest.raises(licet.InvalidArgument):
        engine.check_bulk([("document:plan", "view", "user:ada"), ("document", "view", "user:ada")])


def test_more_than_10000_items_are_too_many(engine):
    items = [("document:plan", "view", "user:ada")] * 10_000
    assert all(engine.check_bulk(items))
    with pytest.raises(licet.LimitExceeded) as caught:
        engine.check_bulk([*items, items[0]])
    assert caught.value.kind == "limit"


@pytest.mark.parametrize(
    "items",
    [None, 5, "abc", ["abc"], [("document:plan", "view")], [("document:plan", "view", "user:ada", {}, "more")], [None]],
)
def test_bulk_items_of_another_shape_are_a_type_error(engine, items):
    with pytest.raises(TypeError):
        engine.check_bulk(items)


def test_filter_keeps_what_is_allowed_in_order(engine):
    ids = ["open", "nowhere", "plan", "open"]
    assert engine.filter("document", ids, "view", "user:bo") == ["open", "plan", "open"]
    assert engine.filter("document", iter(ids), "edit", "user:ada") == ["plan"]
    assert engine.filter("document", [], "view", "user:bo") == []
    assert engine.filter("document", ids, "view", "user:bo", consistency=licet.FULL) == ["open", "plan", "open"]


def test_filter_returns_the_very_ids_it_was_given(engine):
    plan = "".join(["pl", "an"])
    (kept,) = engine.filter("document", [plan], "view", "user:ada")
    assert kept is plan


def test_filter_raises_rather_than_leave_out_what_it_could_not_answer(engine):
    with pytest.raises(licet.NotFound):
        engine.filter("document", ["plan"], "nosuch", "user:ada")
    with pytest.raises(licet.NotFound):
        engine.filter("nosuch", ["plan"], "view", "user:ada")


@pytest.mark.parametrize("bad", ["", "a:b", "a#b", "a b", "ü", "a\0"])
def test_filter_takes_ids_as_they_are(engine, bad):
    with pytest.raises(licet.InvalidArgument):
        engine.filter("document", ["plan", bad], "view", "user:ada")


def test_a_wildcard_is_nothing_that_anybody_may_do(engine):
    assert engine.filter("document", ["*", "plan"], "view", "user:ada") == ["plan"]


def test_filter_does_not_take_a_string_for_its_characters(engine):
    with pytest.raises(TypeError, match="ids must be an iterable of str, not a str"):
        engine.filter("document", "plan", "view", "user:ada")


def test_a_wildcard_can_not_be_asked_about(engine):
    with pytest.raises(licet.InvalidArgument) as caught:
        engine.check("document:open", "view", "user:*")
    assert caught.value.reason == "WILDCARD_NOT_ALLOWED"


def test_unknown_names_are_errors_and_unknown_ids_are_not(engine):
    for question in [
        ("nosuch:a", "view", "user:ada"),
        ("document:plan", "nosuch", "user:ada"),
        ("document:plan", "view", "nosuch:ada"),
        ("document:plan", "view", "group:eng#nosuch"),
    ]:
        with pytest.raises(licet.NotFound):
            engine.allowed(*question)
    assert engine.allowed("document:never-seen", "view", "user:never-seen") is False


def test_depth_is_an_error_and_not_a_denial():
    with licet.open(max_depth=3) as engine:
        engine.write_schema(
            "definition user {}\ndefinition group { relation member: user | group#member }".replace(
                "{ relation", "{\n relation"
            ).replace("member }", "member\n}")
        )
        engine.touch(*(f"group:g{i}#member@group:g{i + 1}#member" for i in range(9)), "group:g9#member@user:ada")
        with pytest.raises(licet.LimitExceeded) as caught:
            engine.allowed("group:g0", "member", "user:ada")
        assert caught.value.reason == "MAXIMUM_DEPTH_EXCEEDED"
        assert engine.allowed("group:g9", "member", "user:ada")


def test_results_show_what_they_are(engine):
    assert repr(engine.check("document:plan", "view", "user:ada")) == "<licet.Result HAS_PERMISSION>"
    assert repr(engine.check("document:plan", "view", "user:eve")) == "<licet.Result NO_PERMISSION>"
    (bad,) = engine.check_bulk([("nosuch:plan", "view", "user:ada")])
    assert repr(bad).startswith("<licet.Result NotFound(")


def test_results_can_not_be_made_or_changed(engine):
    result = engine.check("document:plan", "view", "user:eve")
    with pytest.raises(AttributeError):
        result.allowed = True
    with pytest.raises(TypeError):
        licet.Result()
    with pytest.raises(TypeError):
        type("Sub", (licet.Result,), {})

"""write, create, touch, delete, delete_relationships."""

from __future__ import annotations

import licet
import pytest
from licet import Relationship

EVE = "document:plan#owner@user:eve"


def owners(engine):
    return [r.subject_id for r in engine.read_relationships(resource_type="document", relation="owner")]


def test_every_write_returns_a_token(engine):
    tokens = [
        engine.write_schema(str(engine.read_schema())),
        engine.create(EVE),
        engine.touch(EVE),
        engine.delete(EVE),
        engine.write([]),
        engine.delete_relationships(resource_type="group").token,
    ]
    assert all(type(token) is str and token for token in tokens)
    assert len(set(tokens)) == len(tokens)


def test_relationships_are_text_or_records(engine):
    engine.create(EVE, Relationship("document", "plan", "owner", "user", "fay"))
    assert sorted(owners(engine)) == ["ada", "eve", "fay"]
    engine.delete(Relationship.parse(EVE), "document:plan#owner@user:fay")
    assert owners(engine) == ["ada"]


def test_create_refuses_what_exists_and_changes_nothing(engine):
    with pytest.raises(licet.AlreadyExists) as caught:
        engine.create(EVE, "document:plan#owner@user:ada")
    assert (caught.value.code, caught.value.kind) == ("already_exists", "conflict")
    assert caught.value.reason == "ATTEMPT_TO_RECREATE_RELATIONSHIP"
    assert owners(engine) == ["ada"]


def test_touch_and_delete_do_not_mind(engine):
    engine.touch("document:plan#owner@user:ada")
    engine.delete(EVE)
    assert owners(engine) == ["ada"]


def test_write_mixes_operations(engine):
    engine.write(
        [
            licet.create(EVE),
            licet.touch(Relationship("document", "plan", "owner", "user", "fay")),
            licet.delete("document:plan#owner@user:ada"),
        ]
    )
    assert sorted(owners(engine)) == ["eve", "fay"]


def test_preconditions_that_hold_let_the_write_through(engine):
    engine.write(
        (licet.create(EVE) for _ in range(1)),
        preconditions=[
            licet.must_match(resource_type="document", resource_id="plan", relation="owner", subject_type="user"),
            licet.must_not_match(resource_type="document", resource_id_prefix="zz"),
        ],
    )
    assert sorted(owners(engine)) == ["ada", "eve"]


@pytest.mark.parametrize(
    "precondition",
    [
        licet.must_match(resource_type="document", resource_id="other"),
        licet.must_not_match(resource_type="document", resource_id="plan"),
        licet.must_not_match(subject_type="group", subject_id="eng", subject_relation="member"),
    ],
)
def test_a_precondition_that_fails_stops_everything(engine, precondition):
    with pytest.raises(licet.PreconditionFailed) as caught:
        engine.write([licet.create(EVE)], preconditions=[precondition])
    assert caught.value.code == "precondition_failed"
    assert caught.value.reason == "WRITE_OR_DELETE_PRECONDITION_FAILURE"
    with pytest.raises(licet.PreconditionFailed):
        engine.delete_relationships(resource_type="document", preconditions=[precondition])
    assert owners(engine) == ["ada"]


def test_one_bad_relationship_spoils_the_whole_write(engine):
    for bad in ["document:plan#owner", "document:plan#owner@group:eng", "document:plan#view@user:eve"]:
        with pytest.raises(licet.InvalidArgument):
            engine.touch(EVE, bad)
    with pytest.raises(licet.NotFound):
        engine.touch(EVE, "nosuch:plan#owner@user:eve")
    assert owners(engine) == ["ada"]


def test_the_same_relationship_twice_is_refused(engine):
    with pytest.raises(licet.InvalidArgument) as caught:
        engine.write([licet.delete(EVE), licet.create(EVE)])
    assert caught.value.reason == "UPDATES_ON_SAME_RELATIONSHIP"


def test_more_than_1000_updates_are_too_many(engine):
    updates = [licet.touch(f"document:d{i}#owner@user:ada") for i in range(1001)]
    with pytest.raises(licet.LimitExceeded) as caught:
        engine.write(updates)
    assert caught.value.reason == "TOO_MANY_UPDATES_IN_REQUEST"
    engine.write(updates[:1000])
    assert engine.stats().relationships == 1006


def test_more_than_1000_preconditions_are_too_many(engine):
    holds = licet.must_match(resource_type="document")
    with pytest.raises(licet.LimitExceeded) as caught:
        engine.write([licet.touch(EVE)], [holds] * 1001)
    assert caught.value.reason == "TOO_MANY_PRECONDITIONS_IN_REQUEST"
    engine.write([licet.touch(EVE)], [holds] * 1000)


def test_the_fields_of_a_relationship_are_judged_by_the_engine(engine):
    for field, value in [
        ("resource_id", ""),
        ("resource_id", "*"),
        ("resource_id", "a b"),
        ("subject_id", "a\0"),
        ("relation", "x"),
        ("resource_type", "Document"),
        ("subject_id", "x" * 1025),
    ]:
        bad = Relationship.parse(EVE)._replace(**{field: value})
        with pytest.raises(licet.Error) as caught:
            engine.touch(bad)
        assert isinstance(caught.value, (licet.InvalidArgument, licet.LimitExceeded))
    assert owners(engine) == ["ada"]


@pytest.mark.parametrize("method", ["create", "touch", "delete"])
def test_one_relationship_at_least(engine, method):
    with pytest.raises(TypeError, match=rf"{method}\(\) takes one or more relationships"):
        getattr(engine, method)()
    with pytest.raises(TypeError, match="a relationship must be a str or a licet.Relationship, not list"):
        getattr(engine, method)([EVE])
    with pytest.raises(TypeError):
        getattr(engine, method)(EVE, consistency=licet.FULL)


@pytest.mark.parametrize("updates", [None, 5, "text", [EVE], [None], [(1, EVE)], licet.create(EVE)])
def test_updates_are_made_by_the_three_functions(engine, updates):
    with pytest.raises(TypeError):
        engine.write(updates)


@pytest.mark.parametrize("preconditions", [5, "text", [EVE], [None], [(1, licet.Filter())], licet.must_match()])
def test_preconditions_are_made_by_the_two_functions(engine, preconditions):
    with pytest.raises(TypeError):
        engine.write([licet.touch(EVE)], preconditions)


def test_records_of_a_wrong_length_are_not_read_beyond_their_end(engine):
    for update in [tuple.__new__(licet.Update, (2,)), licet.Update(2, tuple.__new__(Relationship, ("document",)))]:
        with pytest.raises(TypeError):
            engine.write([update])
    with pytest.raises(TypeError):
        engine.check("document:plan", "view", "user:ada", consistency=tuple.__new__(licet.Consistency, ()))


@pytest.mark.parametrize("number", [0, 4, -1, 2**40])
def test_an_operation_or_expectation_that_does_not_exist_is_refused(engine, number):
    with pytest.raises(licet.InvalidArgument):
        engine.write([licet.Update(number, EVE)])
    with pytest.raises(licet.InvalidArgument):
        engine.write([], [licet.Precondition(number, licet.Filter(resource_type="document"))])
    with pytest.raises(licet.InvalidArgument):
        engine.allowed("document:plan", "view", "user:ada", consistency=licet.Consistency(number or 7))


def test_delete_relationships_deletes_what_matches(engine):
    assert engine.delete_relationships(resource_type="group", resource_id="eng")[:2] == (2, False)
    assert engine.delete_relationships(resource_type="group")[:2] == (0, False)
    assert engine.stats().relationships == 4


def test_delete_relationships_with_a_limit_is_all_or_nothing(engine):
    with pytest.raises(licet.InvalidArgument) as caught:
        engine.delete_relationships(resource_type="document", limit=2)
    assert caught.value.reason == "TOO_MANY_RELATIONSHIPS_FOR_TRANSACTIONAL_DELETE"
    assert engine.stats().relationships == 6
    assert engine.delete_relationships(resource_type="document", limit=2, allow_partial=True)[:2] == (2, True)
    deletion = engine.delete_relationships(resource_type="document", limit=3)
    assert (deletion.deleted_count, deletion.partial) == (2, False)


def test_delete_relationships_needs_a_filter(engine):
    with pytest.raises(licet.InvalidArgument) as caught:
        engine.delete_relationships()
    assert caught.value.reason == "INVALID_FILTER"
    assert engine.stats().relationships == 6


@pytest.mark.parametrize("limit", [0, -1, 2**32, 2**80])
def test_a_limit_is_a_positive_number(engine, limit):
    with pytest.raises(licet.InvalidArgument, match="limit must be between 1 and 4294967295"):
        engine.delete_relationships(resource_type="group", limit=limit)
    with pytest.raises(licet.InvalidArgument):
        engine.read_relationships(resource_type="group", limit=limit)


def test_a_limit_above_1000_is_refused(engine):
    with pytest.raises(licet.LimitExceeded) as caught:
        engine.read_relationships(resource_type="group", limit=1001)
    assert caught.value.reason == "EXCEEDS_MAXIMUM_ALLOWABLE_LIMIT"

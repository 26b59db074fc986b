"""may_block and await_ready() on a store that never waits; see test_postgres.py for one that does."""

from __future__ import annotations

import gc
import weakref

import licet
import pytest

QUESTION = ("document:plan", "view", "user:ada")

READS = {
    "allowed": lambda engine, **how: engine.allowed(*QUESTION, **how),
    "check": lambda engine, **how: engine.check(*QUESTION, **how).allowed,
    "check_bulk": lambda engine, **how: [r.allowed for r in engine.check_bulk([QUESTION], **how)],
    "check_bulk of many": lambda engine, **how: {r.allowed for r in engine.check_bulk([QUESTION] * 300, **how)},
    "filter": lambda engine, **how: engine.filter("document", ["plan"], "view", "user:ada", **how),
    "permissions": lambda engine, **how: list(engine.permissions("document:plan", "user:ada", **how)),
    "lookup_resources": lambda engine, **how: list(engine.lookup_resources("document", "view", "user:ada", **how)),
    "lookup_resource_ids": lambda engine, **how: list(
        engine.lookup_resource_ids("document", "view", "user:ada", **how)
    ),
    "lookup_subject_ids": lambda engine, **how: list(engine.lookup_subject_ids("document:plan", "view", "user", **how)),
    "lookup_subjects": lambda engine, **how: list(engine.lookup_subjects("document:plan", "view", "user", **how)),
    "expand": lambda engine, **how: engine.expand("document:plan", "view", **how).root,
    "explain": lambda engine, **how: engine.explain(*QUESTION, **how).text,
    "read_relationships": lambda engine, **how: list(engine.read_relationships(resource_type="group", **how)),
    "export_relationships": lambda engine, **how: list(engine.export_relationships(**how)),
    "schema_impact": lambda engine, **how: list(engine.schema_impact(str(engine.read_schema()), **how)),
}


@pytest.mark.parametrize("name", READS)
@pytest.mark.parametrize("consistency", [licet.MINIMIZE_LATENCY, licet.FULL])
def test_a_memory_store_answers_whether_or_not_it_may_block(engine, name, consistency):
    expected = READS[name](engine)
    assert READS[name](engine, may_block=False, consistency=consistency) == expected
    assert READS[name](engine, may_block=True, consistency=consistency) == expected


@pytest.mark.parametrize("name", READS)
def test_may_block_is_a_bool(engine, name):
    for value in (0, None, "no"):
        with pytest.raises(TypeError, match=f"^may_block must be a bool, not {type(value).__name__}$"):
            READS[name](engine, may_block=value)


def test_a_memory_store_is_always_ready_and_has_no_garbage(engine):
    assert engine.await_ready() is None
    assert engine.await_ready(0) is None
    assert engine.await_ready(timeout=2) is None
    engine.delete("document:plan#owner@user:ada")
    assert engine.collect_garbage() == 0


@pytest.mark.parametrize(
    "timeout, message", [(-1, "between 0 and"), (1e10, "between 0 and"), (float("nan"), "between 0 and")]
)
def test_a_wait_has_a_range(engine, timeout, message):
    with pytest.raises(licet.InvalidArgument, match=f"^timeout must be {message} 1,000,000,000 seconds$"):
        engine.await_ready(timeout)
    with pytest.raises(TypeError, match="^timeout must be a number of seconds, not str$"):
        engine.await_ready("1")


def test_an_engine_may_be_known_to_its_own_log():
    class Application:
        def __init__(self):
            self.engine = licet.open(log=self.tell)

        def tell(self, level, line):
            raise AssertionError((level, line))

    application = Application()
    gone = weakref.ref(application)
    del application
    gc.collect()
    assert gone() is None

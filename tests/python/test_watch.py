"""watch: what is committed, in order."""

from __future__ import annotations

import gc
import signal
import subprocess
import sys
import textwrap
import threading
import time
import weakref

import licet
import pytest
from conftest import RELATIONSHIPS, SCHEMA
from licet import Change, Filter, Relationship

ADA, BO = "document:new#owner@user:ada", "document:new#owner@user:bo"


def told(stream):
    return [(change.operation, None if change.relationship is None else str(change.relationship)) for change in stream]


def test_changes_come_in_the_order_of_commits(engine):
    changes = engine.watch(timeout=0)
    first = engine.touch(ADA)
    second = engine.delete(ADA)
    assert list(changes) == [
        Change("touch", Relationship.parse(ADA), first, None, first),
        Change("delete", Relationship.parse(ADA), second, None, second),
    ]
    assert changes.token == second


def test_a_watch_begins_now_or_after_a_token(engine):
    start = engine.check("document:plan", "view", "user:ada").token
    engine.touch(ADA)
    assert told(engine.watch(timeout=0)) == []
    assert told(engine.watch(start, timeout=0)) == [("touch", ADA)]
    assert told(engine.watch(since=engine.touch(BO), timeout=0)) == []


def test_the_changes_of_one_revision_are_never_lost(engine):
    start = engine.touch(RELATIONSHIPS[0])
    written = engine.touch(ADA, BO)
    changes = engine.watch(start, timeout=0)
    assert changes.token == start
    first, second = changes
    assert (first.token, first.written_at) == (start, written)
    assert (second.token, second.written_at) == (written, written)
    assert told(engine.watch(first.token, timeout=0)) == told([first, second])
    assert told(engine.watch(second.token, timeout=0)) == []


def test_what_changes_nothing_is_not_told(engine):
    changes = engine.watch(timeout=0)
    engine.touch(RELATIONSHIPS[0])
    engine.delete("document:nowhere#owner@user:ada")
    last = engine.write([])
    assert list(changes) == []
    assert changes.token == last


def test_metadata_comes_with_each_change(engine):
    changes = engine.watch(timeout=0)
    engine.write([licet.touch(ADA), licet.touch(BO)], metadata={"by": "ada", "n": [1, 2.5, None, "ü"]})
    engine.delete_relationships(resource_id="new", subject_type="user", subject_id="bo", metadata='{"by": "bo"}')
    assert [change.metadata for change in changes] == [
        {"by": "ada", "n": [1, 2.5, None, "ü"]},
        {"by": "ada", "n": [1, 2.5, None, "ü"]},
        {"by": "bo"},
    ]


def test_metadata_is_refused_where_it_is_no_object(engine):
    for bad in ("nonsense", "[1]", '"text"', '{"a": 1'):
        with pytest.raises(licet.InvalidArgument):
            engine.write([licet.touch(ADA)], metadata=bad)
    with pytest.raises(licet.Error):
        engine.write([licet.touch(ADA)], metadata={"a": "x" * 70_000})
    assert not engine.allowed("document:new", "edit", "user:ada")


def test_a_change_has_the_whole_relationship(empty):
    empty.write_schema(
        "use expiration\n"
        "caveat late(hour int) { hour > 20 }\n"
        "definition user {}\n"
        "definition document {\n  relation viewer: user with late and expiration\n}"
    )
    changes = empty.watch(timeout=0)
    text = 'document:a#viewer@user:ada[late:{"hour":1}][expiration:2100-01-02T03:04:05Z]'
    empty.touch(text)
    empty.delete("document:a#viewer@user:ada")
    assert [change.relationship for change in changes] == [Relationship.parse(text)] * 2


def test_schemas_and_checkpoints_are_told_on_demand(engine):
    changes = engine.watch(schema=True, checkpoints=True, timeout=0)
    written = engine.touch(ADA)
    replaced = engine.write_schema(SCHEMA + "definition more {}\n")
    assert [(c.operation, c.token) for c in changes if c.operation != "touch"] == [
        ("checkpoint", written),
        ("schema", written),
        ("checkpoint", replaced),
    ]
    only = engine.watch(
        engine.check("document:plan", "view", "user:ada").token, relationships=False, schema=True, timeout=0
    )
    engine.touch(BO)
    replaced = engine.write_schema(SCHEMA)
    assert list(only) == [Change("schema", None, replaced, None, replaced)]


def test_filters_choose_what_is_told(engine):
    start = engine.touch(RELATIONSHIPS[0])
    engine.touch(ADA, "group:eng#member@user:zed", "document:new#viewer@user:zed")
    engine.delete("group:eng#member@user:bo")

    def chosen(**options):
        return sorted(told(engine.watch(start, timeout=0, **options)))

    assert chosen(resource_types=["group"]) == [
        ("delete", "group:eng#member@user:bo"),
        ("touch", "group:eng#member@user:zed"),
    ]
    assert chosen(resource_types=iter(["nosuch"])) == []
    assert chosen(
        filters=[Filter(resource_type="document", relation="viewer"), Filter(subject_type="user", subject_id="bo")]
    ) == [
        ("delete", "group:eng#member@user:bo"),
        ("touch", "document:new#viewer@user:zed"),
    ]


def test_bad_watches_are_refused(engine):
    for options in [
        {"resource_types": ["group"], "filters": [Filter(resource_type="group")]},
        {"filters": [Filter()]},
        {"resource_types": []},
        {"filters": ()},
        {"relationships": False},
        {"timeout": -1},
        {"timeout": float("nan")},
        {"timeout": float("inf")},
        {"timeout": 10**400},
    ]:
        with pytest.raises(licet.InvalidArgument):
            engine.watch(**options)
    for options in [
        {"since": 5},
        {"relationships": 1},
        {"resource_types": "group"},
        {"resource_types": [5]},
        {"filters": [{"resource_type": "group"}]},
        {"timeout": "1"},
        {"timeout": True},
    ]:
        with pytest.raises(TypeError):
            engine.watch(**options)
    with pytest.raises(licet.NotFound):
        engine.watch(filters=[Filter(resource_type="nosuch")])
    for token in ("nonsense", ""):
        with pytest.raises(licet.InvalidToken):
            engine.watch(token)
    with licet.open() as other:
        other.write_schema(SCHEMA)
        with pytest.raises(licet.InvalidToken):
            engine.watch(other.touch(ADA))


def test_a_wait_ends_with_its_time(engine):
    changes = engine.watch(timeout=0.2)
    begin = time.monotonic()
    assert next(changes, None) is None
    assert 0.19 <= time.monotonic() - begin < 30
    engine.touch(ADA)
    assert next(changes, None) is None
    assert told(engine.watch(changes.token, timeout=0)) == [("touch", ADA)]


def test_a_wait_ends_with_the_change(engine):
    changes = engine.watch(timeout=60)
    thread = threading.Timer(0.1, engine.touch, [ADA])
    thread.start()
    begin = time.monotonic()
    assert str(next(changes).relationship) == ADA
    assert time.monotonic() - begin < 30
    thread.join()


def test_other_threads_run_while_one_waits(engine):
    changes = engine.watch()
    found = []
    thread = threading.Thread(target=lambda: found.extend(told([next(changes), next(changes)])))
    thread.start()
    for i in range(1000):
        assert engine.allowed("document:plan", "view", "user:ada"), i
    engine.touch(ADA)
    engine.touch(BO)
    thread.join(120)
    assert found == [("touch", ADA), ("touch", BO)]


def test_a_waiting_stream_belongs_to_its_thread(engine):
    changes = engine.watch()
    waiting = threading.Event()
    found = []

    def wait():
        waiting.set()
        found.extend(told(changes))

    thread = threading.Thread(target=wait)
    thread.start()
    waiting.wait()
    time.sleep(1)  # until it does wait: to be first would be to wait here
    with pytest.raises(licet.Misuse, match="the stream is in use in another thread"):
        next(changes)
    assert type(changes.token) is str
    changes.close()
    thread.join(120)
    assert not thread.is_alive()
    assert found == []


def test_a_context_manager_ends_the_iteration(engine):
    with engine.watch() as changes:
        engine.touch(ADA, BO)
        first = next(changes)
        assert first.operation == "touch"
    assert next(changes, None) is None
    assert list(changes) == []
    assert changes.token == first.token
    changes.close()


def test_closing_the_engine_ends_the_wait(engine):
    changes = engine.watch()
    closer = threading.Timer(0.1, engine.close)
    closer.start()
    with pytest.raises(licet.Closed):
        next(changes)
    closer.join()
    with pytest.raises(licet.Closed):
        next(changes)
    with pytest.raises(licet.Closed):
        engine.watch()


def test_a_watch_holds_its_engine():
    engine = licet.open()
    engine.write_schema(SCHEMA)
    changes = engine.watch(engine.touch(RELATIONSHIPS[0]), timeout=0)
    engine.touch(ADA)
    gone = weakref.ref(engine)
    del engine
    gc.collect()
    assert told(changes) == [("touch", ADA)]
    assert gone() is not None
    del changes
    gc.collect()
    assert gone() is None


def test_a_token_that_left_the_history_is_refused():
    with licet.open(history_window_ms=1) as engine:
        engine.write_schema(SCHEMA)
        old = engine.touch(ADA)
        changes = engine.watch(old, timeout=0)
        for i in range(3):
            engine.touch(f"document:new#owner@user:u{i}")
            time.sleep(0.02)
        with pytest.raises(licet.RevisionExpired):
            engine.watch(old)
        with pytest.raises(licet.RevisionExpired):
            list(changes)


def test_control_c_ends_the_wait():
    code = """
        import licet, sys
        engine = licet.open()
        engine.write_schema("definition user {}")
        try:
            print("waiting", flush=True)
            next(engine.watch())
        except KeyboardInterrupt:
            print("interrupted")
        """
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout.readline() == "waiting\n"
    time.sleep(0.2)
    child.send_signal(signal.SIGINT)
    assert child.communicate(timeout=120) == ("interrupted\n", "")
    assert child.returncode == 0


def test_a_handler_of_a_signal_may_close_the_stream(engine):
    changes = engine.watch()
    before = signal.signal(signal.SIGALRM, lambda *_: changes.close())
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        assert list(changes) == []
    finally:
        signal.signal(signal.SIGALRM, before)

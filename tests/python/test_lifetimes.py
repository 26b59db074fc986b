"""Closing, collecting, threads, forks, interpreters."""

from __future__ import annotations

import ctypes
import gc
import itertools
import multiprocessing
import os
import subprocess
import sys
import textwrap
import threading
import time
import weakref

import licet
import pytest
from conftest import RELATIONSHIPS, SCHEMA

QUESTION = ("document:plan", "view", "user:ada")
OTHER_SCHEMA = licet.Schema.parse(SCHEMA.replace("permission edit = owner", "permission edit = owner + viewer"))


def calls_of(engine):
    """Every method, called so that it would work on an open engine."""
    return {
        "allowed": lambda: engine.allowed(*QUESTION),
        "check": lambda: engine.check(*QUESTION),
        "check_bulk": lambda: engine.check_bulk([QUESTION]),
        "filter": lambda: engine.filter("document", ["plan"], "view", "user:ada"),
        "permissions": lambda: engine.permissions("document:plan", "user:ada"),
        "lookup_resources": lambda: list(engine.lookup_resources("document", "view", "user:ada")),
        "lookup_subjects": lambda: list(engine.lookup_subjects("document:plan", "view", "user")),
        "lookup_resource_ids": lambda: list(engine.lookup_resource_ids("document", "view", "user:ada")),
        "lookup_subject_ids": lambda: list(engine.lookup_subject_ids("document:plan", "view", "user")),
        "expand": lambda: engine.expand("document:plan", "view"),
        "explain": lambda: engine.explain(*QUESTION),
        "write_schema": lambda: engine.write_schema(SCHEMA),
        "read_schema": lambda: engine.read_schema(),
        "write": lambda: engine.write([]),
        "create": lambda: engine.create("document:plan#owner@user:new"),
        "touch": lambda: engine.touch("document:plan#owner@user:new"),
        "delete": lambda: engine.delete("document:plan#owner@user:new"),
        "delete_relationships": lambda: engine.delete_relationships(resource_type="group"),
        "read_relationships": lambda: list(engine.read_relationships(resource_type="group")),
        "import_relationships": lambda: engine.import_relationships([]),
        "import_status": lambda: engine.import_status("users"),
        "forget_import": lambda: engine.forget_import("users"),
        "export_relationships": lambda: list(engine.export_relationships()),
        "schema_impact": lambda: list(engine.schema_impact(SCHEMA)),
        "watch": lambda: list(engine.watch(timeout=0)),
        "stats": lambda: engine.stats(),
        "await_ready": lambda: engine.await_ready(0),
        "collect_garbage": lambda: engine.collect_garbage(),
    }


def test_every_method_is_covered_here(engine):
    public = {name for name in dir(engine) if not name.startswith("_")}
    assert set(calls_of(engine)) == public - {"close", "closed"}
    for call in calls_of(engine).values():
        call()


def test_using_a_closed_engine_raises_closed(engine):
    assert engine.closed is False
    engine.close()
    engine.close()
    assert engine.closed is True
    for name, call in calls_of(engine).items():
        with pytest.raises(licet.Closed) as caught:
            call()
        assert (caught.value.code, caught.value.kind) == ("closed", "misuse"), name


def test_a_context_manager_closes(engine):
    with engine as entered:
        assert entered is engine
    assert engine.closed
    with pytest.raises(KeyError), licet.open() as other:
        raise KeyError
    assert other.closed


def test_a_stream_holds_its_engine(engine):
    stream = engine.read_relationships(resource_type="document")
    with licet.open() as other:
        other.write_schema(SCHEMA)
        other.touch(*RELATIONSHIPS)
        orphan = other.read_relationships(resource_type="document")
        kept = weakref.ref(other)
        next(orphan)
        del other
        gc.collect()
        assert kept() is not None
        assert len(list(stream)) == 4
    with pytest.raises(licet.Closed):
        next(orphan)
    assert kept() is not None
    del orphan
    gc.collect()
    assert kept() is None


STREAMS = {
    "lookup_resources": lambda engine: engine.lookup_resources("document", "view", "user:zed"),
    "lookup_subjects": lambda engine: engine.lookup_subjects("document:plan", "owner", "user"),
    "lookup_resource_ids": lambda engine: engine.lookup_resource_ids("document", "view", "user:zed"),
    "lookup_subject_ids": lambda engine: engine.lookup_subject_ids("document:plan", "owner", "user"),
    "export_relationships": lambda engine: engine.export_relationships(resource_type="document"),
    "schema_impact": lambda engine: engine.schema_impact(str(OTHER_SCHEMA)),
}


@pytest.mark.parametrize("name", STREAMS)
def test_every_stream_holds_its_engine_and_ends_with_it(name):
    def world():
        engine = licet.open()
        engine.write_schema(SCHEMA)
        engine.touch(*(f"document:d{i}#viewer@user:*" for i in range(200)))
        engine.touch(*(f"document:plan#owner@user:u{i}" for i in range(200)))
        return engine

    engine = world()
    stream = STREAMS[name](engine)
    first = next(stream)
    kept = weakref.ref(engine)
    del engine
    gc.collect()
    assert kept() is not None
    rest = list(stream)
    assert len({first, *rest}) == 1 + len(rest) >= 200
    del stream
    gc.collect()
    assert kept() is None

    engine = world()
    stream = STREAMS[name](engine)
    next(stream)
    engine.close()
    with pytest.raises(licet.Closed):
        list(stream)
    unused = None
    with pytest.raises(licet.Closed):
        unused = STREAMS[name](engine)
    assert unused is None


def test_a_stream_belongs_to_one_thread_at_a_time():
    """The first answer of a lookup is looked for without the interpreter's lock; whoever comes meanwhile is refused."""
    with licet.open(max_steps=10**9) as engine:
        engine.write_schema(SCHEMA)
        engine.import_relationships(f"document:d{i}#viewer@user:*" for i in range(20_000))
        engine.import_relationships(f"document:d{i}#banned@user:zed" for i in range(19_999))
        outcomes = []

        def take(stream):
            try:
                outcomes.append(next(stream, ("end",))[0])
            except licet.Misuse as error:
                outcomes.append(error.message)

        for _ in range(20):
            stream = engine.lookup_resources("document", "view", "user:zed")
            threads = [threading.Thread(target=take, args=(stream,)) for _ in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert set(outcomes) <= {"d19999", "end", "the stream is in use in another thread"}
        assert outcomes.count("d19999") == 20


def test_a_stream_goes_on_when_only_it_knows_its_engine():
    engine = licet.open()
    engine.write_schema(SCHEMA)
    engine.touch(*RELATIONSHIPS)
    stream = engine.read_relationships(resource_type="document")
    del engine
    gc.collect()
    assert len(list(stream)) == 4


def test_a_result_gives_its_token_after_everything_else_is_gone():
    engine = licet.open()
    engine.write_schema(SCHEMA)
    token = engine.touch(*RELATIONSHIPS)
    result = engine.check(*QUESTION)
    del engine
    gc.collect()
    assert result.token == token


def test_engines_are_freed_when_nobody_knows_them():
    engine = licet.open()
    gone = weakref.ref(engine)
    del engine
    assert gone() is None


def test_a_cycle_through_a_result_is_collected(engine):
    (bad,) = engine.check_bulk([("nosuch:plan", "view", "user:ada")])
    error = bad.error
    error.__dict__["result"] = bad
    gone = weakref.ref(error)
    del bad, error
    gc.collect()
    assert gone() is None


# Py_tp_clear of CPython's typeslots.h, which is part of the stable interface.
TP_CLEAR = 51


def collector_clears(thing):
    """Does to a thing what the garbage collector does to break a cycle that it is in."""
    slot = ctypes.pythonapi.PyType_GetSlot
    slot.restype = ctypes.c_void_p
    slot.argtypes = [ctypes.py_object, ctypes.c_int]
    clear = slot(type(thing), TP_CLEAR)
    if clear:
        ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object)(clear)(thing)


@pytest.mark.parametrize(
    "make",
    [
        lambda engine: engine.check("document:plan", "view", "user:ada"),
        lambda engine: engine.check_bulk([("document:plan", "view", "user:ada")])[0],
        lambda engine: engine.lookup_resources("document", "view", "user:ada"),
        lambda engine: engine.lookup_subjects("document:plan", "view", "user"),
        lambda engine: engine.read_relationships(resource_type="group"),
        lambda engine: engine.export_relationships(),
        lambda engine: engine.expand("document:plan", "view"),
        lambda engine: engine.watch(),
    ],
    ids="check bulk resources subjects read export expand watch".split(),
)
def test_the_collector_takes_the_engine_from_nothing_that_still_needs_it(engine, make):
    """Threads of the core, which end with its last stream, write into what the engine's object owns."""
    thing = make(engine)
    collector_clears(thing)
    assert engine in gc.get_referents(thing)


def test_a_cycle_through_a_stream_is_collected(engine):
    class Service:
        def __call__(self, level, line):
            pass

    service = Service()
    other = licet.open(log=service)
    other.write_schema("definition user {}")
    service.changes = other.watch()
    gone = weakref.ref(service)
    del service, other
    gc.collect()
    assert gone() is None


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def everything_once(engine):
    for call in calls_of(engine).values():
        call()
    engine.touch(*RELATIONSHIPS)
    engine.delete("document:plan#owner@user:new")
    stream = engine.read_relationships(resource_type="document", limit=1)
    next(stream)
    schema = engine.read_schema()
    repr((schema.diff(OTHER_SCHEMA), schema.reflect(), schema.computable_permissions("document", "owner")))
    repr(schema.dependent_relations("document", "view"))
    repr((next(engine.lookup_resources("document", "view", "user:ada")), engine.explain(*QUESTION)))
    str(engine.expand("document:plan", "view")), engine.expand("document:plan", "view").to_json()
    changes = engine.watch(schema=True, checkpoints=True, timeout=0)
    engine.write([licet.touch("document:plan#owner@user:new")], metadata={"by": ["tests", 1]})
    repr((list(changes), changes.token))
    engine.delete("document:plan#owner@user:new")
    engine.watch().close()
    repr(list(engine.schema_impact(str(OTHER_SCHEMA))))
    repr((engine, stream, stream.cursor, stream.token, engine.check(*QUESTION).token, engine.read_schema().lint()))
    for call in [
        lambda: engine.check("nosuch:plan", "view", "user:ada"),
        lambda: engine.check_bulk([QUESTION, ("document", "view", "user:ada")]),
        lambda: engine.check_bulk([QUESTION, 5]),
        lambda: engine.filter("document", ["plan"], "nosuch", "user:ada"),
        lambda: engine.filter("document", ["plan", 5], "view", "user:ada"),
        lambda: engine.touch("document:plan#owner@user:new", "nonsense"),
        lambda: engine.touch(licet.Relationship("document", "plan", "owner", "user", "\ud800")),
        lambda: engine.write([licet.touch("document:plan#owner@user:new"), 5]),
        lambda: engine.write([], [licet.must_match(resource_type="nosuch")]),
        lambda: engine.write_schema("nonsense \ud800"),
        lambda: engine.check(*QUESTION, consistency=licet.at_least("nonsense")),
        lambda: engine.read_relationships(resource_type="document", cursor="nonsense"),
        lambda: engine.lookup_resources("document", "view", "user:ada", cursor="nonsense"),
        lambda: engine.lookup_resources("document", "nosuch", "user:ada"),
        lambda: engine.lookup_subjects("document:plan", "view", "nosuch", context={"a": 1}),
        lambda: engine.permissions("document:plan", "user:ada", ["view", 5]),
        lambda: engine.permissions("nosuch:plan", "user:ada"),
        lambda: engine.expand("document:plan", "nosuch"),
        lambda: engine.explain("document:plan", "nosuch", "user:ada"),
        lambda: engine.import_relationships([RELATIONSHIPS[1], RELATIONSHIPS[1]]),
        lambda: engine.import_relationships(["document:plan#owner@user:new", 5]),
        lambda: engine.import_relationships(["document:plan#owner@user:new"], progress=5),
        lambda: engine.import_relationships([RELATIONSHIPS[1]], resume="users"),
        lambda: engine.import_relationships(["document:plan#owner@user:new"], resume=5),
        lambda: engine.import_status(""),
        lambda: engine.forget_import(5),
        lambda: engine.export_relationships(cursor="nonsense"),
        lambda: engine.write([], metadata=[]),
        lambda: engine.write([], metadata="nonsense"),
        lambda: engine.watch("nonsense"),
        lambda: engine.watch(filters=[licet.Filter(resource_type="document"), 5]),
        lambda: engine.watch(resource_types=["document", 5]),
        lambda: engine.schema_impact("nonsense \ud800"),
        lambda: engine.read_schema().diff(5),
        lambda: engine.read_schema().computable_permissions("nosuch"),
        lambda: engine.read_schema().dependent_relations("document", "owner"),
        lambda: engine.read_schema().reflect([licet.ReflectionFilter(relation="owner")]),
        lambda: licet.Schema.parse("\ud800", folder="/"),
        lambda: licet.open("nonsense:"),
        lambda: licet.open(max_depth=10**9),
    ]:
        with pytest.raises((licet.Error, TypeError)):
            call()


def test_no_call_leaks_an_object(engine):
    """Objects are counted exactly: a reference that is lost once a round shows a hundred times."""
    for _ in range(3):
        everything_once(engine)
    gc.collect()
    before = len(gc.get_objects()), sys.getallocatedblocks()
    for _ in range(100):
        everything_once(engine)
    gc.collect()
    objects, blocks = len(gc.get_objects()) - before[0], sys.getallocatedblocks() - before[1]
    assert objects < 50
    assert blocks < 90


def test_no_engine_leaks_its_memory():
    def round_trip():
        engine = licet.open()
        engine.write_schema(SCHEMA)
        engine.touch(*(f"document:d{i}#owner@user:u{i}" for i in range(1000)))
        stream = engine.read_relationships(resource_type="document")
        next(stream)
        engine.check_bulk([("document:d1", "view", "user:u1")] * 100)

    for _ in range(20):
        round_trip()
    before = resident_bytes()
    for _ in range(100):
        round_trip()
    assert resident_bytes() - before < 8 << 20


def test_closing_while_other_threads_work():
    for _ in range(10):
        engine = licet.open()
        engine.write_schema(SCHEMA)
        engine.touch(*RELATIONSHIPS)
        barrier = threading.Barrier(9)
        strange = []

        def work(number, engine=engine, barrier=barrier, strange=strange):
            barrier.wait()
            try:
                for i in itertools.count():
                    if not engine.allowed(*QUESTION):
                        strange.append("denied")
                    if number == 0:
                        engine.touch(f"document:d{i % 1000}#owner@user:u{number}")
                    if number == 1:
                        engine.check_bulk([QUESTION] * 300)
                    if number == 2:
                        list(engine.read_relationships(resource_type="group"))
            except licet.Closed:
                pass
            except BaseException as error:
                strange.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        barrier.wait()
        time.sleep(0.01)
        engine.close()
        for thread in threads:
            thread.join(120)
            assert not thread.is_alive()
        assert strange == []


def test_threads_see_whole_writes(engine):
    """A pair is written and deleted together, so nobody ever sees half of it."""
    pair = ["document:pair#owner@user:one", "document:pair#owner@user:two"]
    questions = [("document:pair", "edit", "user:one"), ("document:pair", "edit", "user:two")] * 200
    halves = []
    done = threading.Event()

    def read():
        while not done.is_set():
            halves.extend(h for h in [[r.allowed for r in engine.check_bulk(questions)]] if len(set(h)) != 1)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for _ in range(300):
        engine.touch(*pair)
        engine.delete(*pair)
    done.set()
    for reader in readers:
        reader.join()
    assert halves == []


def test_a_list_that_changes_during_a_bulk_changes_nothing(engine):
    item = list(QUESTION)
    items = [item] * 5000
    done = threading.Event()

    def change():
        while not done.is_set():
            item[0], item[2] = "".join(["document:", "open"]), "".join(["user:", "zed"])
            item[0], item[2] = "".join(["document:", "plan"]), "".join(["user:", "ada"])
            items.append(item)
            items.pop()

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(20):
            assert 5000 <= len(engine.check_bulk(items)) <= 5001
    finally:
        done.set()
        thread.join()


def test_a_forked_child_answers_from_its_own_store(engine):
    child = os.fork()
    if child == 0:
        ok = engine.allowed(*QUESTION) and not engine.allowed("document:plan", "view", "user:eve")
        engine.touch("document:plan#owner@user:eve")
        ok = ok and engine.allowed("document:plan", "view", "user:eve")
        engine.close()
        with licet.open() as own:
            own.write_schema(SCHEMA)
            ok = ok and not own.allowed(*QUESTION)
        os._exit(0 if ok else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert not engine.allowed("document:plan", "view", "user:eve")
    assert engine.allowed(*QUESTION)


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork")
def test_forking_while_another_thread_writes(engine):
    done = threading.Event()

    def write():
        while not done.is_set():
            engine.touch("document:plan#owner@user:fay")
            engine.delete("document:plan#owner@user:fay")

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for _ in range(20):
            child = os.fork()
            if child == 0:
                engine.touch("document:plan#owner@user:eve")
                os._exit(0 if engine.allowed("document:plan", "view", "user:eve") else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        done.set()
        thread.join()


def _allowed_in_child(question):
    return _shared_engine.allowed(*question)


def test_a_pool_of_forked_workers_shares_one_load(engine):
    global _shared_engine
    _shared_engine = engine
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(_allowed_in_child, [QUESTION, ("document:plan", "view", "user:cy")]) == [True, False]


def run_python(code):
    return subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60)


def test_a_process_may_end_with_everything_open():
    done = run_python(
        """
        import licet, threading
        engine = licet.open()
        engine.write_schema("definition user {}\\ndefinition doc {\\n  relation owner: user\\n}")
        engine.touch("doc:a#owner@user:b")
        stream = engine.read_relationships(resource_type="doc")
        result = engine.check("doc:a", "owner", "user:b")
        def forever():
            while True:
                engine.allowed("doc:a", "owner", "user:b")
        threading.Thread(target=forever, daemon=True).start()
        print(next(stream))
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "doc:a#owner@user:b\n", "")


def test_engines_can_not_be_pickled(engine):
    import pickle

    for value in (
        engine,
        engine.check(*QUESTION),
        engine.read_schema(),
        engine.read_relationships(relation="owner"),
        engine.lookup_resources("document", "view", "user:ada"),
        engine.lookup_subjects("document:plan", "view", "user"),
        engine.schema_impact(SCHEMA),
        engine.watch(),
        engine.expand("document:plan", "view"),
    ):
        with pytest.raises(TypeError):
            pickle.dumps(value)


SUBINTERPRETER = """
import licet
with licet.open() as engine:
    engine.write_schema("definition user {}\\ndefinition doc {\\n  relation owner: user\\n}")
    engine.touch("doc:a#owner@user:b")
    assert engine.allowed("doc:a", "owner", "user:b")
    try:
        engine.allowed("nosuch:a", "owner", "user:b")
    except licet.NotFound:
        pass
    else:
        raise AssertionError
"""


def test_every_interpreter_has_its_own_module():
    interpreters = pytest.importorskip("_xxsubinterpreters" if sys.version_info < (3, 13) else "_interpreters")
    for _ in range(3):
        ids = [interpreters.create() for _ in range(3)]
        for number in ids:
            interpreters.run_string(number, SUBINTERPRETER)
        for number in ids:
            interpreters.destroy(number)
    with licet.open() as engine:
        assert engine.stats().relationships == 0

"""What only an engine on Postgres can show of the Python module."""

from __future__ import annotations

import logging
import os
import re
import signal
import socket
import threading
import time
from collections.abc import Iterator

import licet
import psycopg
import pytest
from conftest import RELATIONSHIPS, SCHEMA
from stores import PATIENCE
from test_waiting import QUESTION, READS


@pytest.fixture
def tables(postgres_uri: str, postgres_schema: str) -> dict[str, str]:
    """The options that lead to empty tables."""
    licet.migrate(postgres_uri, postgres_schema=postgres_schema)
    return {"uri": postgres_uri, "postgres_schema": postgres_schema}


@pytest.fixture(params=["follow", "prefetch"])
def engine(tables: dict[str, str], request: pytest.FixtureRequest) -> Iterator[licet.Engine]:
    with licet.open(**tables, **PATIENCE, mode=request.param) as engine:
        engine.write_schema(SCHEMA)
        engine.touch(*RELATIONSHIPS)
        yield engine


@pytest.fixture
def silent_server() -> Iterator[str]:
    """A connection string of what takes connections and never says anything."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(8)
        yield f"host=127.0.0.1 port={listener.getsockname()[1]} user=ada password=hunter2"


# ------------------------------------------------------------------- migrate and doctor


def test_migrate_says_what_it_runs_and_runs_it_once(postgres_uri, postgres_schema):
    planned = licet.migrate(postgres_uri, postgres_schema=postgres_schema, dry_run=True)
    with psycopg.connect(postgres_uri) as connection:
        there = "SELECT count(*) FROM pg_namespace WHERE nspname = %s"
        assert connection.execute(there, [postgres_schema]).fetchone() == (0,)
    assert licet.migrate(postgres_uri, postgres_schema=postgres_schema) == planned
    assert f'CREATE TABLE "{postgres_schema}".rel' in planned
    assert licet.migrate(postgres_uri, postgres_schema=postgres_schema) == ""
    assert licet.migrate(postgres_uri, postgres_schema=postgres_schema, dry_run=True) == ""


@pytest.mark.parametrize("mode", ["follow", "prefetch"])
def test_tables_may_lie_under_a_word_of_sql(postgres_uri, mode):
    licet.migrate(postgres_uri, postgres_schema="user")
    try:
        with licet.open(postgres_uri, **PATIENCE, postgres_schema="user", mode=mode) as engine:
            engine.write_schema(SCHEMA)
            token = engine.touch(*RELATIONSHIPS)
            before = licet.at_exactly(engine.delete(RELATIONSHIPS[0]))
            engine.import_relationships(RELATIONSHIPS[:1])
            engine.write_schema(SCHEMA + "\ndefinition other {}")
            assert len(list(engine.read_relationships(resource_type="document", consistency=before))) == 3
            assert len(list(engine.read_relationships(resource_type="document", consistency=licet.FULL))) == 4
            assert engine.allowed("document:plan", "view", "user:ada", consistency=licet.at_least(token))
            engine.collect_garbage()
        report = licet.doctor(postgres_uri, postgres_schema="user")
        assert {finding.name for finding in report.findings if finding.level == "ok"} >= {"store", "indexes", "rights"}
        with psycopg.connect(postgres_uri) as connection:
            assert connection.execute('SELECT "user".token()').fetchone() is not None
    finally:
        with psycopg.connect(postgres_uri) as connection:
            connection.execute('DROP SCHEMA "user" CASCADE')


def test_what_migrate_plans_may_be_run_by_hand(postgres_uri, postgres_schema):
    planned = licet.migrate(postgres_uri, postgres_schema=postgres_schema, dry_run=True)
    with psycopg.connect(postgres_uri, autocommit=True) as connection:
        connection.execute(planned)
    assert licet.migrate(postgres_uri, postgres_schema=postgres_schema) == ""
    with licet.open(postgres_uri, **PATIENCE, postgres_schema=postgres_schema) as engine:
        engine.write_schema(SCHEMA)


SHADOWS = {  # of calls whose arguments are not of the types that Postgres' own functions take
    "starts_with(name, text)": "boolean",
    "hashtextextended(text, integer)": "bigint",
    "has_schema_privilege(text, text, text)": "boolean",
    "format(text, regprocedure)": "text",
}


def test_what_is_run_by_hand_calls_no_function_of_others(postgres_uri, postgres_schema):
    """In a database where anybody may create functions in the schema "public"."""
    planned = licet.migrate(postgres_uri, postgres_schema=postgres_schema, dry_run=True)
    shadows = f"{postgres_schema}_shadows"
    with psycopg.connect(postgres_uri, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {shadows}")
        for name, kind in SHADOWS.items():
            connection.execute(
                f"CREATE FUNCTION {shadows}.{name} RETURNS {kind} LANGUAGE plpgsql AS "
                f"$$ BEGIN RAISE 'a function of others was called'; END $$"
            )
        connection.execute(f"SET search_path = {shadows}")
        with pytest.raises(psycopg.errors.RaiseException, match="of others"):
            connection.execute("SELECT starts_with('word'::name, 'w')")
        connection.execute(planned)
        assert connection.execute("SHOW search_path").fetchone() == (shadows,)
        connection.execute(f"DROP SCHEMA {shadows} CASCADE")
    assert licet.migrate(postgres_uri, postgres_schema=postgres_schema) == ""


def test_several_may_migrate_at_once(postgres_uri, postgres_schema):
    """Each step is taken by one of them, not all by the same."""
    planned = licet.migrate(postgres_uri, postgres_schema=postgres_schema, dry_run=True)
    told: list[str] = []
    threads = [
        threading.Thread(target=lambda: told.append(licet.migrate(postgres_uri, postgres_schema=postgres_schema)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(told) == len(threads)
    assert sorted("".join(told).splitlines()) == sorted(planned.splitlines())


def test_doctor_tells_what_it_looked_at(tables):
    report = licet.doctor(**tables)
    assert isinstance(report, licet.DoctorReport)
    assert bool(report) == report.ok == all(finding.level != "error" for finding in report.findings)
    assert {finding.level for finding in report.findings} <= {"ok", "warning", "error"}
    by_name = {finding.name: finding for finding in report.findings}
    assert by_name["store"].level == "ok"
    assert str(report).split("\n")[0] == "{1:<7}  {0}: {2}".format(*report.findings[0])


def finding(tables, name):
    return next(finding for finding in licet.doctor(**tables).findings if finding.name == name)


def test_doctor_tells_of_imports_that_were_not_finished(tables):
    assert finding(tables, "imports")[1:] == ("ok", "0 imports are not finished")
    with licet.open(**tables, **PATIENCE, mode="prefetch") as engine:
        engine.write_schema(SCHEMA)
        for name in ("first", "second", "finished"):
            with pytest.raises(licet.AlreadyExists):
                engine.import_relationships([RELATIONSHIPS[0], RELATIONSHIPS[0]], resume=name, batch_size=5)
        engine.import_relationships(RELATIONSHIPS, resume="done")
    with psycopg.connect(tables["uri"], options="-c licet.writer=" + tables["postgres_schema"]) as connection:
        connection.execute(
            f"UPDATE {tables['postgres_schema']}.imports SET at = at - interval '25 h' WHERE name = 'second'"
        )
    told = '3 imports are not finished; the one that nobody has gone on with for longest: "second"'
    assert finding(tables, "imports")[1:] == ("warning", told)


def test_garbage_collection_forgets_imports_that_were_finished(tables):
    with licet.open(**tables, **PATIENCE, mode="prefetch") as engine:
        engine.write_schema(SCHEMA)
        with pytest.raises(licet.AlreadyExists):
            engine.import_relationships([RELATIONSHIPS[0], RELATIONSHIPS[0]], resume="broken off")
        engine.import_relationships(RELATIONSHIPS, resume="done")
        engine.collect_garbage()
        assert engine.import_status("done") == licet.ImportStatus(6, True, True)
    with licet.open(**tables, **PATIENCE, mode="prefetch", gc_window_ms=60_000) as engine:
        age = "UPDATE {}.imports SET at = at - interval '61 s'".format(tables["postgres_schema"])
        with psycopg.connect(tables["uri"], options="-c licet.writer=" + tables["postgres_schema"]) as connection:
            connection.execute(age)
        engine.collect_garbage()
        assert not engine.import_status("done").is_known
        assert engine.import_status("broken off").is_known


def test_a_role_needs_no_rights_on_the_table_of_imports(tables):
    name = tables["postgres_schema"]
    role = f"importer_{name}"
    granted = f"""
        CREATE ROLE {role} LOGIN;
        GRANT USAGE ON SCHEMA {name} TO {role};
        GRANT SELECT ON ALL TABLES IN SCHEMA {name} TO {role};
        REVOKE ALL ON {name}.imports FROM {role};
        GRANT INSERT ON {name}.rel TO {role};
        GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA {name} TO {role};
    """
    with licet.open(**tables, **PATIENCE) as engine:
        engine.write_schema(SCHEMA)
    try:
        with psycopg.connect(tables["uri"], autocommit=True) as connection:
            connection.execute(granted)
            theirs = {**tables, "uri": psycopg.conninfo.make_conninfo(tables["uri"], user=role)}
            with licet.open(**theirs, **PATIENCE, mode="prefetch") as engine:
                assert engine.import_relationships(RELATIONSHIPS, resume="users", batch_size=2).count == 6
                assert engine.import_status("users") == licet.ImportStatus(6, True, True)
            told = "a right to look at them is missing: grant again after a migration"
            assert finding(theirs, "imports")[1:] == ("warning", told)
    finally:
        with psycopg.connect(tables["uri"], autocommit=True) as connection:
            connection.execute(f"DROP OWNED BY {role}; DROP ROLE {role}")


def test_doctor_finds_that_nothing_was_migrated(postgres_uri, postgres_schema):
    report = licet.doctor(postgres_uri, postgres_schema=postgres_schema)
    assert not report
    assert "error" in {finding.level for finding in report.findings}


def test_a_schema_with_a_nul_is_refused_for_that(engine):
    before = engine.read_schema().text
    with pytest.raises(licet.SchemaError) as caught:
        engine.write_schema("// note\0 hidden\n" + SCHEMA)
    assert (caught.value.kind, caught.value.message) == (
        "encoding",
        "a NUL, at byte 7 of the schema: Postgres can not store it",
    )
    assert engine.read_schema().text == before


# ------------------------------------------------------------------------ without waiting


@pytest.mark.parametrize("name", READS)
def test_what_may_not_block_raises_where_it_would(engine, name):
    expected = READS[name](engine, consistency=licet.FULL)
    with pytest.raises(licet.Unavailable) as caught:
        READS[name](engine, consistency=licet.FULL, may_block=False)
    assert (caught.value.kind, caught.value.reason) == ("unavailable", "WOULD_BLOCK")
    assert READS[name](engine, consistency=licet.FULL) == expected


@pytest.mark.parametrize("name", READS)
def test_what_may_not_block_is_answered_from_a_current_graph(tables, name):
    with licet.open(**tables, **PATIENCE, mode="follow") as engine:
        engine.write_schema(SCHEMA)
        token = engine.touch(*RELATIONSHIPS)
        expected = READS[name](engine, consistency=licet.at_least(token))
        before = engine.stats()
        assert READS[name](engine, may_block=False) == expected
        assert READS[name](engine, consistency=licet.at_least(token), may_block=False) == expected
        assert engine.stats().prefetches == before.prefetches


def test_an_engine_that_was_not_used_yet_would_block(tables):
    with licet.open(**tables, **PATIENCE) as engine:
        with pytest.raises(licet.Unavailable) as caught:
            engine.allowed(*QUESTION, may_block=False)
        assert caught.value.reason == "WOULD_BLOCK"


def test_an_engine_is_ready_once_its_graph_is_loaded(tables):
    with licet.open(**tables, **PATIENCE, mode="follow") as engine:
        assert engine.stats().is_ready is False
        assert engine.await_ready(timeout=20) is None
        stats = engine.stats()
        assert (stats.mode, stats.is_ready, stats.is_connected, stats.loads) == ("follow", True, True, 1)
        assert stats.staleness_ms < 5000
        assert stats.round_trips > 0


def test_a_wait_for_a_server_that_says_nothing_ends_in_time(silent_server):
    with licet.open(silent_server, **PATIENCE) as engine:
        start = time.monotonic()
        with pytest.raises((licet.Unavailable, licet.DeadlineExceeded)):
            engine.await_ready(timeout=0.4)
        assert 0.39 <= time.monotonic() - start < 8  # an attempt to connect takes 10 s, and a request waits for 60


def test_signals_end_a_wait(silent_server):
    def interrupt(*_):
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGUSR1, interrupt)
    timer = threading.Timer(0.2, os.kill, [os.getpid(), signal.SIGUSR1])
    try:
        with licet.open(silent_server) as engine:
            start = time.monotonic()
            with pytest.raises(KeyboardInterrupt):
                timer.start()
                engine.await_ready(timeout=60)
            assert time.monotonic() - start < 30
    finally:
        timer.join()
        signal.signal(signal.SIGUSR1, previous)


WAITS = {
    "allowed": lambda engine: engine.allowed(*QUESTION),
    "check_bulk": lambda engine: engine.check_bulk([QUESTION]),
    "lookup_resources": lambda engine: list(engine.lookup_resources("document", "view", "user:ada")),
    "read_relationships": lambda engine: list(engine.read_relationships(resource_type="document")),
    "read_schema": lambda engine: engine.read_schema(),
    "touch": lambda engine: engine.touch("document:a#owner@user:ada"),
    "watch": lambda engine: list(engine.watch(timeout=0)),
}


@pytest.mark.parametrize("name", WAITS)
def test_other_threads_run_while_one_waits(silent_server, name):
    with licet.open(silent_server, **PATIENCE) as engine:
        errors: list[Exception] = []

        def wait() -> None:
            try:
                WAITS[name](engine)
            except licet.Error as error:
                errors.append(error)

        thread = threading.Thread(target=wait)
        start = time.monotonic()
        thread.start()
        for _ in range(100):
            time.sleep(0.002)
        assert thread.is_alive()
        engine.close()
        thread.join()
        assert time.monotonic() - start < 30
        assert [type(error) for error in errors] == [licet.Closed]
        assert not any("hunter2" in str(error) for error in errors)


# -------------------------------------------------------------------------------- the log


def test_what_an_engine_has_to_say_goes_to_the_logger(tables, caplog):
    with caplog.at_level(logging.INFO, logger="licet"):
        with licet.open(**tables, **PATIENCE, mode="follow") as engine:
            engine.await_ready(20)
    assert [(r.name, r.levelname, r.getMessage()) for r in caplog.records] == [
        ("licet", "INFO", "loaded 0 relationships from the database")
    ]


def test_a_log_of_ones_own_is_told_in_threads_that_call_the_engine(tables):
    told: list[tuple[int, str]] = []
    tellers: set[str] = set()

    def tell(level: int, line: str) -> None:
        told.append((level, line))
        tellers.add(threading.current_thread().name)

    with licet.open(**tables, **PATIENCE, mode="follow", log=tell) as engine:
        engine.await_ready(20)
    assert told == [(logging.INFO, "loaded 0 relationships from the database")]
    assert tellers == {threading.current_thread().name}


def test_a_log_that_raises_changes_no_answer(tables, monkeypatch):
    unraisable: list[type[BaseException] | None] = []
    monkeypatch.setattr("sys.unraisablehook", lambda raised: unraisable.append(raised.exc_type))

    def tell(_level: int, _line: str) -> None:
        raise KeyError("told")

    with licet.open(**tables, **PATIENCE, mode="follow", log=tell) as engine:
        assert engine.await_ready(20) is None
        with pytest.raises(licet.NotFound):
            engine.read_schema()
    assert unraisable == [KeyError]


def test_no_line_of_a_log_repeats_a_password(silent_server):
    told: list[str] = []
    with licet.open(silent_server, log=lambda _level, line: told.append(line), wait_timeout_ms=200) as engine:
        for _ in range(3):
            with pytest.raises((licet.Unavailable, licet.DeadlineExceeded)):
                engine.allowed(*QUESTION)
    assert not re.search("hunter2|password", "\n".join(told))


# ------------------------------------------------------------------- the application's own


def test_writes_of_the_applications_transaction_are_seen_from_their_token_on(engine, tables):
    schema = tables["postgres_schema"]
    write = f"SELECT {schema}.write(%s)"
    one = '{"updates":[{"operation":"touch","relationship":"document:new#owner@user:zoe"}]}'
    with psycopg.connect(tables["uri"]) as connection:
        connection.execute(write, [one])
        connection.rollback()
        assert not engine.allowed("document:new", "view", "user:zoe", consistency=licet.FULL)
        (token,) = connection.execute(write, [one]).fetchone()
        assert not engine.allowed("document:new", "view", "user:zoe", consistency=licet.FULL)
        connection.commit()
        assert engine.allowed("document:new", "view", "user:zoe", consistency=licet.at_least(token))


def test_collect_garbage_counts_the_rows_that_it_removes(tables):
    with licet.open(**tables, **PATIENCE, gc_window_ms=1000) as engine:
        engine.write_schema(SCHEMA)
        engine.touch("document:plan#owner@user:ada", "document:plan#owner@user:bo")
        engine.delete("document:plan#owner@user:ada")
        engine.touch("document:plan#owner@user:bo")  # whoever reads at the newest revision before the window still can
        assert engine.collect_garbage() == 0
        for _ in range(50):  # whatever else runs in the server while a write is recorded keeps what that write ended
            time.sleep(1.1)
            if removed := engine.collect_garbage():
                break
            engine.touch("document:plan#owner@user:bo")
        assert removed > 0
        assert [str(r) for r in engine.read_relationships(resource_type="document", consistency=licet.FULL)] == [
            "document:plan#owner@user:bo"
        ]


# ----------------------------------------------------------------------------------- forks


def in_child(task) -> int:
    """The exit status of a forked child that runs this."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = 0 if task() else 2
        finally:
            os._exit(status)
    end = time.monotonic() + 120
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return -1


@pytest.mark.parametrize("mode", ["follow", "prefetch"])
def test_a_child_that_was_forked_before_the_first_use_works(tables, mode):
    with licet.open(**tables, **PATIENCE) as writer:
        writer.write_schema(SCHEMA)
        writer.touch(*RELATIONSHIPS)
    with licet.open(**tables, **PATIENCE, mode=mode) as engine:

        def task() -> bool:
            return engine.allowed(*QUESTION) and engine.allowed(*QUESTION, consistency=licet.FULL)

        assert [in_child(task), in_child(task)] == [0, 0]
        assert task()


def test_a_child_that_was_forked_after_the_first_use_works_and_so_does_its_parent(engine):
    assert engine.allowed(*QUESTION, consistency=licet.FULL)

    def task() -> bool:
        token = engine.touch(f"document:of{os.getpid()}#owner@user:ada")
        return engine.allowed(f"document:of{os.getpid()}", "view", "user:ada", consistency=licet.at_least(token))

    assert [in_child(task), in_child(task)] == [0, 0]
    assert task()
    documents = {
        found.resource_id for found in engine.lookup_resources("document", "owner", "user:ada", consistency=licet.FULL)
    }
    assert len(documents) == 4

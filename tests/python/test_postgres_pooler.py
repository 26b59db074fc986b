"""Engines that reach Postgres through PgBouncer in transaction mode, which gives each transaction any of its sessions."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import licet
import psycopg
import pytest
from conftest import RELATIONSHIPS, SCHEMA
from stores import PATIENCE

sys.path.insert(1, str(Path(__file__).resolve().parents[2] / "tools"))

from postgres import DATABASE, USER, PrivatePostgres  # noqa: E402

SESSIONS = 4

CONFIGURATION = """\
[databases]
{database} = host={host} port={port} user={user}

[pgbouncer]
pool_mode = transaction
auth_type = any
listen_addr =
listen_port = {pooler_port}
unix_socket_dir = {folder}
default_pool_size = {sessions}
max_client_conn = 100
server_login_retry = 1
logfile = {folder}/pgbouncer.log
pidfile = {folder}/pgbouncer.pid
"""


class Pooled(NamedTuple):
    server: PrivatePostgres
    conninfo: str


def binary() -> str:
    found = shutil.which("pgbouncer", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")
    if found is None:
        pytest.skip("no PgBouncer here (Debian's package: pgbouncer)")
    return found


def wait_until_answers(conninfo: str, process: subprocess.Popen[bytes], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while True:
        try:
            psycopg.connect(conninfo, prepare_threshold=None).close()
            return
        except psycopg.OperationalError:
            assert process.poll() is None and time.monotonic() < end, "PgBouncer does not answer"
            time.sleep(0.05)


@pytest.fixture
def pooled(postgres_uri: str) -> Iterator[Pooled]:
    """A server of one's own and a pooler before it, in the server's folder and as its account."""
    program = binary()
    with PrivatePostgres() as server:
        folder = server.folder / "pooler"
        folder.mkdir()
        port = server.port
        text = CONFIGURATION.format(
            database=DATABASE,
            host=server.host,
            port=port,
            user=USER,
            pooler_port=port,
            folder=folder,
            sessions=SESSIONS,
        )
        (folder / "pgbouncer.ini").write_text(text)
        how = {}
        if server.account is not None:
            how = {"user": server.account.pw_uid, "group": server.account.pw_gid, "extra_groups": []}
            for path in (folder, folder / "pgbouncer.ini"):
                shutil.chown(path, server.account.pw_uid, server.account.pw_gid)
        process = subprocess.Popen(
            [program, "-q", str(folder / "pgbouncer.ini")],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **how,
        )
        conninfo = f"host={folder} port={port} user={USER} dbname={DATABASE}"
        try:
            wait_until_answers(conninfo, process)
            licet.migrate(conninfo)
            yield Pooled(server, conninfo)
        finally:
            process.kill()
            process.wait()


@pytest.fixture(params=["follow", "prefetch"])
def engine(pooled: Pooled, request: pytest.FixtureRequest) -> Iterator[licet.Engine]:
    with licet.open(pooled.conninfo, mode=request.param, **PATIENCE) as engine:
        engine.write_schema(SCHEMA)
        engine.touch(*RELATIONSHIPS)
        yield engine


def may(engine: licet.Engine, document: str, user: str, consistency=licet.FULL) -> bool:
    return engine.allowed(f"document:{document}", "view", f"user:{user}", consistency=consistency)


def test_the_doctor_tells_of_the_pooler(pooled):
    levels = {name: level for name, level, _ in licet.doctor(pooled.conninfo).findings}
    assert levels["pooling"] == "warning"
    levels = {name: level for name, level, _ in licet.doctor(pooled.server.conninfo).findings}
    assert levels["pooling"] == "ok"


def test_reads_and_writes_work_through_a_pooler(engine):
    assert may(engine, "plan", "bo")
    assert not may(engine, "plan", "cy")
    token = engine.delete("document:plan#banned@user:cy")
    assert may(engine, "plan", "cy", licet.at_least(token))
    engine.touch("document:plan#banned@user:bo")
    assert may(engine, "plan", "bo", licet.at_exactly(token))
    assert not may(engine, "plan", "bo")
    found = engine.lookup_resources("document", "view", "user:bo", consistency=licet.FULL)
    assert [f.resource_id for f in found] == ["open"]
    with pytest.raises(licet.AlreadyExists):
        engine.create("document:plan#owner@user:ada")
    assert engine.delete_relationships(resource_type="group").deleted_count == 2
    assert engine.collect_garbage() == 0


def test_imports_and_schemas_are_written_through_a_pooler(engine):
    rows = (f"document:n{number}#owner@user:ada" for number in range(5000))
    assert engine.import_relationships(rows).count == 5000
    assert may(engine, "n4999", "ada")
    engine.write_schema(SCHEMA + "definition folder {\n  relation parent: folder\n}\n")
    engine.touch("folder:a#parent@folder:b")
    assert len(list(engine.read_relationships(resource_type="folder", consistency=licet.FULL))) == 1
    with pytest.raises(licet.SchemaError, match="group"):
        engine.write_schema("definition user {}")


def test_many_threads_share_a_poolers_few_sessions(pooled, engine):
    wrong: list[str] = []

    def work(thread: int) -> None:
        for number in range(25):
            document = f"t{thread}n{number}"
            token = engine.touch(f"document:{document}#owner@user:ada")
            if not may(engine, document, "ada", licet.at_least(token)):
                wrong.append(f"{document} is not granted")
            engine.delete(f"document:{document}#owner@user:ada")
            if may(engine, document, "ada"):
                wrong.append(f"{document} is granted")

    threads = [threading.Thread(target=work, args=[thread]) for thread in range(2 * SESSIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_sessions_of_a_pooler_are_left_as_they_were(pooled, engine):
    may(engine, "plan", "bo")
    with psycopg.connect(pooled.conninfo, autocommit=True, prepare_threshold=None) as other:
        for _ in range(2 * SESSIONS):
            assert other.execute("SELECT count(*) FROM pg_prepared_statements").fetchone() == (0,)
            for name in ("search_path", "statement_timeout", "jit", "licet.writer"):
                with other.transaction():
                    (value,) = other.execute("SELECT current_setting(%s, true)", [name]).fetchone()
                assert value in ('"$user", public', "0", "on", "", None), name


def test_a_server_that_another_one_replaces_behind_the_pooler_is_noticed(pooled, engine):
    """To an older backup: the pooler keeps the engine's connections all the time."""
    backup = pooled.server.backup()
    token = engine.touch("document:lost#owner@user:ada")
    engine.delete("document:open#viewer@user:*")
    assert may(engine, "lost", "ada")
    pooled.server.restore(backup)
    while pooled.server.psql("SELECT pg_is_in_recovery()") != "f":
        time.sleep(0.01)
    for _ in range(50):  # what the token names has happened again, otherwise
        pooled.server.psql("SELECT pg_current_xact_id()")

    end = time.monotonic() + 120
    while True:
        try:
            lost = may(engine, "lost", "ada")
            break
        except (licet.Unavailable, licet.DeadlineExceeded):
            assert time.monotonic() < end
            time.sleep(0.05)
    assert not lost
    assert may(engine, "open", "bo")
    with pytest.raises(licet.InvalidToken):
        may(engine, "lost", "ada", licet.at_least(token))
    assert engine.touch("document:found#owner@user:ada")
    assert may(engine, "found", "ada")


def test_what_a_session_says_of_its_commits_does_not_count_for_ours(pooled, engine):
    """They would be seen before they are on disk, and undone by a crash."""
    with psycopg.connect(pooled.conninfo, prepare_threshold=None) as session:
        session.execute("SET LOCAL synchronous_commit = off")
        update = '{"updates": [{"operation": "touch", "relationship": "document:a#owner@user:ada"}]}'
        session.execute("SELECT licet.write(%s::jsonb)", [update])
        assert session.execute("SHOW synchronous_commit").fetchone() == ("on",)
        session.rollback()
        session.execute("SET LOCAL synchronous_commit = remote_apply")
        session.execute("SELECT licet.write(%s::jsonb)", [update])
        assert session.execute("SHOW synchronous_commit").fetchone() == ("remote_apply",)

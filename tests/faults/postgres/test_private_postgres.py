"""The Postgres that tests have for themselves (tools/postgres.py): it is nobody's else, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from common import PostgresError, PrivatePostgres

TOOL = Path(__file__).resolve().parents[3] / "tools" / "postgres.py"

HELD = f"""
import os, sys
sys.path.insert(0, {str(TOOL.parent)!r})
from postgres import PrivatePostgres
with PrivatePostgres() as server, server.standby() as standby:
    print(server.folder, standby.folder, server.pid, standby.pid, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def needs_a_server(postgres_uri):
    pass


def status_of(pid):
    return dict(line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":\t" in line)


def gone(path_or_pid, seconds=60):
    """Does it end within this time?"""
    path = Path(path_or_pid) if str(path_or_pid).startswith("/") else Path(f"/proc/{path_or_pid}")
    end = time.monotonic() + seconds
    while path.exists() and time.monotonic() < end:
        time.sleep(0.02)
    return not path.exists()


def test_it_runs_as_nobody_special_and_listens_on_no_network():
    with PrivatePostgres() as server:
        uids = status_of(server.pid)["Uid"].split()
        assert len(set(uids)) == 1 and uids[0] != "0"
        assert server.psql("SHOW listen_addresses") == ""
        assert server.psql("SHOW fsync") == "off"
        assert os.stat(server.data).st_mode & 0o077 == 0
        assert len(str(server.socket_path)) <= 107


def test_a_durable_one_forces_what_it_writes_to_disk():
    with PrivatePostgres(durable=True, tcp=True) as server:
        assert server.psql("SHOW fsync") == "on"
        assert server.psql("SELECT inet_server_addr()") == "127.0.0.1"


def test_it_leaves_no_folder_and_no_process():
    with PrivatePostgres() as server:
        folder, pid = server.folder, server.pid
    assert not folder.exists() and gone(pid, 0)
    server.close()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_it_ends_with_whoever_started_it(number):
    user = subprocess.Popen([sys.executable, "-c", HELD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    *folders, server, standby = user.stdout.readline().split()
    assert all(os.path.isdir(folder) for folder in folders)
    user.send_signal(number)
    assert user.wait() == -number
    assert all(map(gone, [*folders, server, standby]))


def test_the_command_passes_the_server_in_and_the_status_out():
    code = "import os; print(os.environ['LICET_TEST_POSTGRES']); raise SystemExit(3)"
    done = subprocess.run(
        [sys.executable, TOOL, "run", "--", sys.executable, "-c", code], capture_output=True, text=True
    )
    host = done.stdout.split()[0].partition("=")[2]
    assert (done.returncode, done.stderr, Path(host).exists()) == (3, "", False)


def test_what_was_committed_outlives_a_kill_and_a_standby_outlives_its_primary():
    with PrivatePostgres() as server:
        server.psql("CREATE TABLE kept (x int); INSERT INTO kept VALUES (1)")
        server.kill()
        server.start()
        assert server.psql("SELECT x FROM kept") == "1"
        standby = server.standby()
        server.psql("INSERT INTO kept VALUES (2)")
        server.caught_up(standby)
        server.kill()
        standby.promote()
        assert standby.psql("INSERT INTO kept VALUES (3); SELECT count(*) FROM kept") == "3"


@pytest.mark.parametrize("new_timeline", [True, False])
def test_a_backup_brings_back_what_was(new_timeline):
    with PrivatePostgres() as server:
        server.psql("CREATE TABLE kept (x int); INSERT INTO kept VALUES (1)")
        backup = server.backup()
        server.psql("INSERT INTO kept VALUES (2)")
        server.restore(backup, new_timeline)
        assert server.psql("SELECT count(*) FROM kept") == "1"
        timeline = server.psql("SELECT substring(pg_walfile_name(pg_current_wal_lsn()) FOR 8)")
        assert timeline == ("00000002" if new_timeline else "00000001")


def test_a_paused_one_answers_later():
    with PrivatePostgres() as server:
        with server.paused():
            end = time.monotonic() + 10  # a process stops where it is next interrupted
            while not status_of(server.pid)["State"].startswith("T"):
                assert time.monotonic() < end
        assert server.psql("SELECT 1") == "1"


def test_errors_of_sql_are_told():
    with PrivatePostgres() as server, pytest.raises(PostgresError, match='relation "nothing" does not exist'):
        server.psql("SELECT FROM nothing")

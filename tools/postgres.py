#!/usr/bin/env python3
"""A Postgres of one's own for tests: in a new folder, on a port of its own, gone when its user is.

    tools/postgres.py run [--durable] [--tcp] -- COMMAND...

starts one, runs the command with LICET_TEST_POSTGRES set to its connection string and DATABASE_URL to the same as a URI,
stops it, and exits with the status of the command. From Python:

    with PrivatePostgres() as server:
        licet.open(server.conninfo)

Nobody is asked for a password, and no server process runs as root: started by root, they belong to the account
`postgres`, or to `nobody`. Unless `durable`, nothing is forced to disk, so that data survive a killed server but no failing
machine.

A keeper process waits for its user to end, however that happens, and then ends the server and removes the folder.
"""

from __future__ import annotations

import argparse
import atexit
import ctypes
import os
import pwd
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote, urlencode

OLDEST = 15
USER = "licet"
DATABASE = "postgres"

# Of a Unix socket, which sun_path holds with its NUL.
MAX_SOCKET_BYTES = 107

START_SECONDS = 60
PR_SET_PDEATHSIG = 1
IPC_RMID = 0

SETTINGS = {
    "max_connections": "200",
    "max_prepared_transactions": "10",
    "shared_buffers": "64MB",
    "log_line_prefix": "%m [%p] %u@%d ",
    # In the data folder, and not in /dev/shm where a killed server leaves its files behind.
    "dynamic_shared_memory_type": "mmap",
}
FORGETFUL = {"fsync": "off", "full_page_writes": "off"}


class PostgresError(Exception):
    """What a server, or a program of Postgres, says of its failure."""


class NoPostgres(PostgresError):
    """There is none here that would do. Says why."""


# ------------------------------------------------------------------- what is there


def version_of(binaries: Path) -> int:
    """The major version of the server in a folder; 0 when there is none."""
    try:
        told = subprocess.run([str(binaries / "postgres"), "-V"], capture_output=True, text=True).stdout
    except OSError:
        return 0
    found = re.search(r"\) (\d+)", told)
    return int(found[1]) if found else 0


def find_binaries() -> Path:
    """The folder with the newest server."""
    folders = set(Path("/usr/lib/postgresql").glob("*/bin"))
    with suppress(OSError):
        told = subprocess.run(["pg_config", "--bindir"], capture_output=True, text=True).stdout.strip()
        folders |= {Path(told)} if told else set()
    best = max(folders, key=version_of, default=None)
    if best is None or version_of(best) == 0:
        raise NoPostgres("there is no Postgres server here (Debian's package: postgresql)")
    if version_of(best) < OLDEST:
        raise NoPostgres(f"Postgres {version_of(best)} in {best} is too old: {OLDEST} or newer is needed")
    return best


def clock_setter() -> Path:
    """The library that makes a process take another time for the present one."""
    found = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)
    if found is None:
        raise NoPostgres("libfaketime is not here (Debian's package: libfaketime)")
    return found


def unprivileged_account() -> pwd.struct_passwd | None:
    """Whose the server's processes are; None: ours."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with suppress(KeyError):
            return pwd.getpwnam(name)
    raise NoPostgres("Postgres does not run as root, and there is neither an account postgres nor nobody")


def new_folder() -> Path:
    """With a path that is short enough for a socket in it."""
    for parent in (tempfile.gettempdir(), "/tmp"):
        if len(os.fsencode(parent)) + len("/licet-pg-12345678/.s.PGSQL.65535.lock") <= MAX_SOCKET_BYTES:
            return Path(tempfile.mkdtemp(prefix="licet-pg-", dir=parent))
    raise NoPostgres("the path of the folder for temporary files is too long for a socket in it")


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def plain_environment() -> dict[str, str]:
    """Without what would lead libpq or a server elsewhere."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("PG", "LC_", "LANG", "LD_PRELOAD"))
    }
    return {**kept, "LC_ALL": "C", "TZ": "UTC"}


# ------------------------------------------------------------------- processes


def process_ended(pid: int) -> bool:
    """Is it gone, or waits only to be asked for its status?"""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def children_of(pid: int) -> set[int]:
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(stat.read_text().rpartition(")")[2].split()[1]) == pid:
                found.add(int(stat.parent.name))
    return found


def send(pid: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def freeze(postmaster: int) -> set[int]:
    """Stops the postmaster, then its children, of which no new ones can come. Returns all of them."""
    send(postmaster, signal.SIGSTOP)
    frozen = children_of(postmaster)
    for child in frozen:
        send(child, signal.SIGSTOP)
    return frozen | {postmaster}


def kill_all(postmaster: int) -> None:
    """All at once: none has time to notice that another is gone."""
    killed = freeze(postmaster)
    for pid in killed:
        send(pid, signal.SIGKILL)
    while not all(map(process_ended, killed)):
        time.sleep(0.002)


def clear_away(folder: Path) -> None:
    """Ends what runs in a server's folder, and removes it and the one thing of it that lies elsewhere."""
    with suppress(OSError, ValueError, IndexError):
        lines = (folder / "data" / "postmaster.pid").read_text().split("\n")
        postmaster, shared_memory = int(lines[0]), int(lines[6].split()[1])
        with suppress(OSError):
            if os.readlink(f"/proc/{postmaster}/cwd").startswith(str(folder)):
                kill_all(postmaster)
        ctypes.CDLL(None).shmctl(shared_memory, IPC_RMID, None)
    shutil.rmtree(folder, ignore_errors=True)


def keep(folder: Path) -> None:
    """The keeper: waits until the other end of its input is closed, or its parent has become another one."""
    parent = os.getppid()
    while os.getppid() == parent and not select.select([sys.stdin], [], [], 1)[0]:
        pass
    if folder.exists():
        clear_away(folder)


# ------------------------------------------------------------------- the server


class PrivatePostgres:
    """Starts when entered (or by start()), ends when left (or by close()).

    settings: of postgresql.conf. clock_offset_s: its wall clock minus ours. initialise: False leaves it to the caller to fill `data` before it starts. The thread
    that starts it has to outlive it: Linux counts its end as that of the server's parent.
    """

    def __init__(
        self,
        *,
        durable: bool = False,
        tcp: bool = False,
        settings: dict[str, str] | None = None,
        initialise: bool = True,
        clock_offset_s: int = 0,
    ) -> None:
        self.binaries = find_binaries()
        self.account = unprivileged_account()
        self.tcp = tcp
        self.durable = durable
        self.settings = dict(settings or {})
        self.clock_offset_s = clock_offset_s
        self.port = free_port()
        self.folder = new_folder()
        self.data = self.folder / "data"
        self.log = self.folder / "log"
        self._process: subprocess.Popen[bytes] | None = None
        self._children: list[PrivatePostgres] = []
        self._backups = 0
        self._set_death_signal = ctypes.CDLL(None).prctl if sys.platform == "linux" else None
        self._keeper = subprocess.Popen(
            [sys.executable, "-E", "-S", str(Path(__file__).resolve()), "keep", str(self.folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._owner = os.getpid()
        atexit.register(self.close)
        try:
            self._give_away(self.folder)
            if initialise:
                self._initialise()
        except BaseException:
            self.close()
            raise

    # ------------------------------------------------------------ where it is

    @property
    def host(self) -> str:
        return "127.0.0.1" if self.tcp else str(self.folder)

    @property
    def conninfo(self) -> str:
        """As keywords and values."""
        return f"host={self.host} port={self.port} user={USER} dbname={DATABASE}"

    @property
    def uri(self) -> str:
        """The same as a URI."""
        return f"postgresql://{USER}@{quote(self.host, safe='')}:{self.port}/{DATABASE}"

    @property
    def portable_uri(self) -> str:
        """For those too that take what stands between slashes for a name to look up, SQLAlchemy for instance."""
        return f"postgresql:///{DATABASE}?{urlencode({'host': self.host, 'port': self.port, 'user': USER})}"

    @property
    def socket_path(self) -> Path:
        return self.folder / f".s.PGSQL.{self.port}"

    @property
    def pid(self) -> int:
        """Of the postmaster."""
        assert self._process is not None, "the server does not run"
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def logs(self) -> str:
        """All that the server has written."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    # ------------------------------------------------------------ starting and ending

    def __enter__(self) -> PrivatePostgres:
        return self if self.is_running else self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> PrivatePostgres:
        """Returns when it takes connections."""
        settings = {**SETTINGS, **({} if self.durable else FORGETFUL), **self.settings}
        settings["listen_addresses"] = "127.0.0.1" if self.tcp else ""
        options = [f"--{name}={value}" for name, value in settings.items()]
        command = [str(self.binaries / "postgres"), "-D", str(self.data), "-k", str(self.folder), "-p", str(self.port)]
        how = self._as_account()
        how["env"] = {**plain_environment(), **self._other_time()}
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*command, *options], stdout=log, stderr=log, preexec_fn=self._die_with_us, **how
            )
        self._wait_until_ready()
        return self

    def close(self) -> None:
        """Ends it for good. Twice is fine; in a child of a fork it does nothing, since the server is its parent's."""
        if os.getpid() != self._owner or not self.folder.exists():
            return
        for child in self._children:
            child.close()
        self.stop()
        clear_away(self.folder)
        assert self._keeper.stdin is not None
        self._keeper.stdin.close()
        self._keeper.wait()
        atexit.unregister(self.close)

    def stop(self, number: int = signal.SIGINT) -> None:
        """Shuts it down: by SIGINT open transactions roll back, by SIGQUIT it ends at once as in a crash, by SIGTERM it
        waits for its clients to go."""
        if self._process is None:
            return
        self.cont()
        send(self.pid, number)
        try:
            self._process.wait(30 if number != signal.SIGTERM else None)
        except subprocess.TimeoutExpired:
            kill_all(self.pid)
            self._process.wait()
        self._process = None

    def kill(self) -> None:
        """kill -9 of all its processes."""
        kill_all(self.pid)
        assert self._process is not None
        self._process.wait()
        self._process = None

    def restart(self, number: int = signal.SIGINT) -> None:
        """Also one that was killed: then it recovers."""
        self.stop(number)
        self.start()

    def pause(self) -> None:
        """SIGSTOP of all its processes: connections stay open, nothing answers."""
        freeze(self.pid)

    def cont(self) -> None:
        for pid in children_of(self.pid) | {self.pid}:
            send(pid, signal.SIGCONT)

    @contextmanager
    def paused(self) -> Iterator[None]:
        self.pause()
        try:
            yield
        finally:
            self.cont()

    # ------------------------------------------------------------ SQL and copies

    def psql(self, sql: str, database: str = DATABASE) -> str:
        """What it prints of the results: a row a line, fields separated by |."""
        command = [str(self.binaries / "psql"), "-XAtq", "-v", "ON_ERROR_STOP=1", "-h", self.host, "-p", str(self.port)]
        done = self._run([*command, "-U", USER, "-d", database, "-f", "-"], sql)
        return done.rstrip("\n")

    def standby(self, *, settings: dict[str, str] | None = None) -> PrivatePostgres:
        """A hot standby that streams from this one. It is running, and closed with it."""
        settings = {**self.settings, **(settings or {})}
        other = PrivatePostgres(durable=self.durable, tcp=self.tcp, settings=settings, initialise=False)
        self._children.append(other)
        self._copy_to(other.data, "-R")
        return other.start()

    def detach(self) -> None:
        """Of a standby: what the primary commits from now on never comes here."""
        self.psql("ALTER SYSTEM SET primary_conninfo = ''; SELECT pg_reload_conf()")
        while self.psql("SELECT count(*) FROM pg_stat_wal_receiver") != "0":
            time.sleep(0.01)

    def promote(self) -> None:
        """Of a standby: it takes writes when this returns."""
        self.psql("SELECT pg_promote(true, 60)")

    def caught_up(self, standby: PrivatePostgres, seconds: float = 30) -> None:
        """Waits until the standby shows all that is committed here."""
        position = self.psql("SELECT pg_current_wal_insert_lsn()")
        end = time.monotonic() + seconds
        while standby.psql(f"SELECT pg_last_wal_replay_lsn() >= '{position}'") != "t":
            if time.monotonic() > end:
                raise PostgresError(f"the standby does not come up to {position}\n{standby.logs[-2000:]}")
            time.sleep(0.01)

    def backup(self) -> Path:
        """A copy of all data as they are now."""
        self._backups += 1
        target = self.folder / f"backup{self._backups}"
        self._copy_to(target)
        return target

    def restore(self, backup: Path, new_timeline: bool = True) -> None:
        """Replaces all data with the copy's and starts. With a new timeline it is as after a recovery from an archive;
        without, the server can't tell that anything happened."""
        if self._process is not None:
            self.stop()
        shutil.rmtree(self.data)
        subprocess.run(["cp", "-a", str(backup), str(self.data)], check=True)
        if new_timeline:
            for name, text in (("recovery.signal", ""), ("postgresql.auto.conf", "restore_command = 'false'\n")):
                (self.data / name).write_text(text)
                self._give_away(self.data / name)
        self.start()

    # ------------------------------------------------------------ how

    def _give_away(self, path: Path) -> None:
        if self.account is not None:
            os.chown(path, self.account.pw_uid, self.account.pw_gid)

    def _as_account(self) -> dict[str, object]:
        """For Popen. Out of our session, so that a key pressed here means nothing there."""
        how: dict[str, object] = {
            "cwd": self.folder,
            "env": plain_environment(),
            "stdin": subprocess.DEVNULL,
            "start_new_session": True,
        }
        if self.account is not None:
            how.update(user=self.account.pw_uid, group=self.account.pw_gid, extra_groups=[])
        return how

    def _other_time(self) -> dict[str, str]:
        if self.clock_offset_s == 0:
            return {}
        return {
            "LD_PRELOAD": str(clock_setter()),
            "FAKETIME": f"{self.clock_offset_s:+d}s",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }

    def _die_with_us(self) -> None:
        """In the server's process: SIGQUIT when we end, whatever becomes of the keeper."""
        if self._set_death_signal is not None:
            self._set_death_signal(PR_SET_PDEATHSIG, int(signal.SIGQUIT), 0, 0, 0)

    def _run(self, command: list[str], text: str | None = None) -> str:
        how = {**self._as_account(), "stdin": subprocess.PIPE}
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **how)  # type: ignore[call-overload]
        output, errors = process.communicate(text or "")
        if process.returncode != 0:
            raise PostgresError(f"{Path(command[0]).name}: {errors.strip() or output.strip()}")
        return str(output)

    def _initialise(self) -> None:
        command = [str(self.binaries / "initdb"), "-D", str(self.data), "-U", USER, "--auth=trust", "--no-sync"]
        self._run([*command, "--encoding=UTF8", "--locale=C", "--no-instructions"])

    def _copy_to(self, target: Path, *options: str) -> None:
        command = [str(self.binaries / "pg_basebackup"), "-D", str(target), "-X", "stream", "-c", "fast", "--no-sync"]
        self._run([*command, "-h", self.host, "-p", str(self.port), "-U", USER, "--no-manifest", *options])

    def _wait_until_ready(self) -> None:
        """The postmaster tells it in the last line of its own file, as pg_ctl reads it."""
        end = time.monotonic() + START_SECONDS
        while not self._is_ready():
            if not self.is_running or time.monotonic() > end:
                state = "does not take connections" if self.is_running else "ended"
                raise PostgresError(f"the server {state}; the end of its log:\n{self.logs[-3000:]}")
            time.sleep(0.01)

    def _is_ready(self) -> bool:
        try:
            lines = (self.data / "postmaster.pid").read_text().split("\n")
        except OSError:
            return False
        return len(lines) > 7 and lines[0] == str(self.pid) and lines[7].strip() == "ready"


# ------------------------------------------------------------------- the command


def run(command: list[str], durable: bool, tcp: bool) -> int:
    with PrivatePostgres(durable=durable, tcp=tcp) as server:
        where = {"LICET_TEST_POSTGRES": server.conninfo, "DATABASE_URL": server.portable_uri}
        child = subprocess.Popen(command, env={**os.environ, **where})
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda number, _: send(child.pid, number))
        status = child.wait()
    return 128 - status if status < 0 else status


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    runs = commands.add_parser("run", help="runs a command beside a server of its own")
    runs.add_argument("--durable", action="store_true", help="as in production: commits reach the disk")
    runs.add_argument("--tcp", action="store_true", help="on 127.0.0.1 rather than a Unix socket")
    runs.add_argument("arguments", nargs="+", metavar="COMMAND")
    keeper = commands.add_parser("keep")
    keeper.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    if arguments.command == "keep":
        keep(arguments.folder)
        return 0
    try:
        return run(arguments.arguments, arguments.durable, arguments.tcp)
    except PostgresError as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())

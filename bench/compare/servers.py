"""The servers that the systems work on: one Postgres with a database for each, and SpiceDB in front of its own.

The Postgres is that of PGHOST (with PGPORT, PGUSER and PGPASSWORD), or a private one that forces every commit to disk and
is gone afterwards. The SpiceDB is started with the settings that it has by itself; only its addresses, its telemetry and
how much it logs are chosen here. Both listen on this machine alone.
"""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from urllib.parse import quote, urlsplit

import psycopg
from prepare import ROOT, CannotPrepare, spicedb_binary
from systems.base import Unavailable

sys.path.insert(0, str(ROOT / "tools"))
from postgres import PostgresError, PrivatePostgres  # noqa: E402 (tools/ is no package)

START_SECONDS = 60


class Postgres:
    """The server, and the databases that were made on it, which go with us."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._made: list[str] = []
        self.is_private = "PGHOST" not in os.environ
        if self.is_private:
            try:
                server = self._stack.enter_context(PrivatePostgres(durable=True))
            except PostgresError as failure:
                raise CannotPrepare(f"{failure}; or set PGHOST to a server that you have") from failure
            self._host, self._port, self._user, self._password = server.host, str(server.port), "licet", ""
        else:
            self._host, self._port = os.environ["PGHOST"], os.environ.get("PGPORT", "5432")
            self._user, self._password = os.environ.get("PGUSER", "postgres"), os.environ.get("PGPASSWORD", "")

    def uri(self, database: str = "postgres") -> str:
        """For libpq and for SpiceDB, which both take the folder of a Unix socket as a parameter."""
        password = f":{quote(self._password, safe='')}" if self._password else ""
        where = f"host={quote(self._host, safe='/')}&port={self._port}"
        return f"postgresql://{quote(self._user, safe='')}{password}@/{database}?{where}"

    def run(self, sql: str, database: str = "postgres") -> str:
        """In no transaction. Returns the first field, as text."""
        with psycopg.connect(self.uri(database), autocommit=True) as connection:
            cursor = connection.execute(sql)
            row = cursor.fetchone() if cursor.description else None
            return str(row[0]) if row else ""

    def copy(self, database: str, table: str, rows: Iterable[tuple[str, ...]]) -> None:
        with psycopg.connect(self.uri(database)) as connection:
            with connection.cursor().copy(f"COPY {table} FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)

    def make_database(self, name: str) -> str:
        """Anew, and returns its URI."""
        self.run(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        self.run(f"CREATE DATABASE {name}")
        self._made.append(name)
        return self.uri(name)

    def settle(self, database: str) -> None:
        """What autovacuum would do within a minute, so that plans rest on what is there."""
        self.run("VACUUM ANALYZE", database)
        self.run("CHECKPOINT", database)

    @property
    def version(self) -> str:
        return self.run("SHOW server_version")

    def close(self) -> None:
        if not self.is_private:
            for name in self._made:
                self.run(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        self._stack.close()


@dataclass
class SpiceDBAddress:
    grpc: str  # host:port
    http: str | None
    key: str
    version: str


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def binary_version(binary: Path) -> str:
    """What it says of itself; one that was built from a folder of sources does not know."""
    told = subprocess.run([str(binary), "version"], capture_output=True, text=True).stdout.strip()
    return told.removeprefix("spicedb").strip()


class SpiceDBServer:
    """The one of LICET_SPICEDB_URL (grpc://KEY@HOST:PORT; and LICET_SPICEDB_HTTP, HOST:PORT), or one that is started on a
    database of ours."""

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres
        self._process: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None
        self.database = "licet_compare_spicedb"
        self.is_ours = "LICET_SPICEDB_URL" not in os.environ
        self.address = self._start() if self.is_ours else self._given()

    def _given(self) -> SpiceDBAddress:
        url = urlsplit(os.environ["LICET_SPICEDB_URL"])
        http = os.environ.get("LICET_SPICEDB_HTTP")
        return SpiceDBAddress(f"{url.hostname}:{url.port or 50051}", http, url.username or "", "of LICET_SPICEDB_URL")

    def _start(self) -> SpiceDBAddress:
        try:
            binary = spicedb_binary()
        except CannotPrepare as failure:
            raise Unavailable(str(failure)) from failure
        uri = self._postgres.make_database(self.database)
        store = ["--datastore-engine", "postgres", "--datastore-conn-uri", uri]
        quiet = ["--log-level", "warn", "--skip-release-check"]
        try:
            migrated = subprocess.run([str(binary), "datastore", "migrate", "head", *store, *quiet], capture_output=True)
        except OSError as failure:
            raise Unavailable(f"{binary}: {failure}") from failure
        if migrated.returncode != 0:
            raise Unavailable(f"spicedb datastore migrate: {migrated.stderr.decode(errors='replace')[-2000:]}")
        grpc, http = f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"
        address = SpiceDBAddress(grpc, http, secrets.token_hex(16), binary_version(binary))
        listen = [
            "--grpc-addr",
            grpc,
            "--http-enabled",
            "--http-addr",
            http,
            "--metrics-addr",
            f"127.0.0.1:{free_port()}",
        ]
        key = ["--grpc-preshared-key", address.key]
        self._log = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            [str(binary), "serve", *store, *listen, *key, "--telemetry-endpoint", "", *quiet],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
        )
        self._await(address)
        return address

    def _await(self, address: SpiceDBAddress) -> None:
        assert self._process is not None
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end and self._process.poll() is None:
            host, port = (address.http or address.grpc).rsplit(":", 1)
            try:
                socket.create_connection((host, int(port)), 1).close()
                return
            except OSError:
                time.sleep(0.1)
        told = self.log()
        self.close()
        raise Unavailable(f"spicedb serve does not listen: {told}")

    def log(self) -> str:
        """The last that it wrote."""
        if self._log is None:
            return ""
        self._log.seek(0)
        return self._log.read().decode(errors="replace")[-2000:]

    def settle(self) -> None:
        if self.is_ours:
            self._postgres.settle(self.database)

    def close(self) -> None:
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(15)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None

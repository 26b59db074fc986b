"""What nothing could be faster than: empty calls of each way to ask, and the nested check written by hand in SQL."""

from __future__ import annotations

import importlib.util
import subprocess
import sysconfig
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from measure import time_threads
from prepare import PROGRAM
from psycopg import pq
from servers import Postgres
from systems.base import DEFAULT, FULL, Check, Request, Timing, Unavailable
from systems.licet_programs import SUPPORT, InLua
from systems.program import Program
from systems.spicedb import Calls, HTTPCalls, SpiceDBFromGo, SpiceDBOverGRPC
from world import World

DATABASE = "licet_compare_sql"
ROUND_TRIP = "round_trip"

# Relationships as an application without licet would store them: no history, both ways indexed.
PLAIN = """
CREATE TABLE rel (
    rt text NOT NULL, ri text NOT NULL, rr text NOT NULL, st text NOT NULL, si text NOT NULL, sr text NOT NULL,
    PRIMARY KEY (rt, ri, rr, st, si, sr)
);
CREATE INDEX ON rel (st, si, sr, rt, rr);
"""

LOOKUP = (
    "SELECT true FROM rel WHERE rt = 'document' AND ri = $1 AND rr = 'owner' AND st = 'user' AND si = $2 AND sr = ''"
)

# For this schema alone: exactly three folders above a document, groups at most two deep.
NESTED = """
SELECT EXISTS (
    SELECT FROM rel
    WHERE rt = 'document' AND ri = $1 AND rr IN ('owner', 'viewer') AND st = 'user' AND si = $2 AND sr = ''
) OR EXISTS (
    SELECT FROM rel AS leaf
    JOIN rel AS middle ON middle.rt = 'folder' AND middle.ri = leaf.si AND middle.rr = 'parent'
    JOIN rel AS root ON root.rt = 'folder' AND root.ri = middle.si AND root.rr = 'parent'
    JOIN rel AS viewer ON viewer.rt = 'folder' AND viewer.ri IN (leaf.si, middle.si, root.si) AND viewer.rr = 'viewer'
    LEFT JOIN rel AS nested
        ON nested.rt = 'group' AND nested.ri = viewer.si AND nested.rr = 'member' AND nested.st = 'group'
        AND viewer.st = 'group'
    WHERE leaf.rt = 'document' AND leaf.ri = $1 AND leaf.rr = 'parent'
    AND (viewer.st = 'user' AND viewer.si = $2
         OR viewer.st = 'group' AND EXISTS (
             SELECT FROM rel AS member
             WHERE member.rt = 'group' AND member.ri IN (viewer.si, nested.si) AND member.rr = 'member'
             AND member.st = 'user' AND member.si = $2 AND member.sr = ''))
)
"""


class PlainTables:
    """The database of what is asked by SQL alone; made once."""

    def __init__(self, postgres: Postgres) -> None:
        self.postgres = postgres
        self.uri = ""

    def open(self, world: World) -> str:
        if not self.uri:
            uri = self.postgres.make_database(DATABASE)
            self.postgres.run(PLAIN, DATABASE)
            self.postgres.copy(DATABASE, "rel", (fields_of(row) for row in world.relationships))
            self.postgres.settle(DATABASE)
            self.uri = uri
        return self.uri


def fields_of(row: str) -> tuple[str, ...]:
    resource, subject = row.split("@")
    name, relation = resource.split("#")
    who, _, subject_relation = subject.partition("#")
    return (*name.split(":"), relation, *who.split(":"), subject_relation)


class HandWritten(Program):
    """A system like the others, whose answers are compared; but it can do nothing else."""

    name, caller = "one SQL statement", "C"
    lacks = "Written by hand for this one schema and its depth; checks alone."
    scenarios = frozenset({"direct", "nested", "denied"})
    consistencies = frozenset({FULL})
    in_slices = True

    def __init__(self, tables: PlainTables) -> None:
        super().__init__()
        self.tables = tables

    def open(self, world: World) -> None:
        self.start([str(PROGRAM), "{folder}", "sql", self.tables.open(world), "2", " ".join(NESTED.split())])

    def write_one(self, row: str) -> None:
        self.tables.postgres.run(
            f"CREATE TABLE IF NOT EXISTS other (row text); INSERT INTO other VALUES ('{row}')", DATABASE
        )


class Floor:
    """Timed beside the systems, whatever they are asked. `key` names it in the figures."""

    key = name = caller = ""
    levels: frozenset[str] = frozenset({FULL, DEFAULT})
    most_callers = 8
    each_time = False  # measured again beside each scenario, in slices

    def open(self, world: World) -> None:
        """Raises Unavailable."""

    def time(self, callers: int, warmup_s: float, time_s: float) -> Timing:
        raise NotImplementedError

    def processes(self) -> list[int]:
        return []

    def close(self) -> None:
        """Twice is fine."""


class Statement(Floor):
    """One prepared statement from C."""

    caller = "C"
    levels = frozenset({FULL})

    def __init__(self, key: str, name: str, tables: PlainTables, sql: str, parameters: int) -> None:
        self.key, self.name, self.tables, self.sql, self.parameters = key, name, tables, sql, parameters
        self.each_time = key == ROUND_TRIP
        self.program = Program()
        self.requests: Sequence[Request] = ()

    def open(self, world: World) -> None:
        command = [str(PROGRAM), "{folder}", "sql", self.tables.open(world), str(self.parameters), self.sql]
        self.program.start(command)
        self.requests = [question.request for question in world.scenarios["direct"].varied]

    def time(self, callers: int, warmup_s: float, time_s: float) -> Timing:
        return self.program.time(self.requests, FULL, callers, warmup_s, time_s)

    def processes(self) -> list[int]:
        return self.program.processes()

    def close(self) -> None:
        self.program.close()


class FromPython(Floor):
    caller = "Python"

    def function(self, caller: int) -> Callable[..., Any]:
        raise NotImplementedError

    arguments: tuple[Any, ...] = ()

    def time(self, callers: int, warmup_s: float, time_s: float) -> Timing:
        work = [(self.function(number), [self.arguments]) for number in range(callers)]
        return time_threads(work, warmup_s, time_s)


class RoundTripFromPython(FromPython):
    key, name = "round_trip_python", "SELECT 1, prepared"
    levels = frozenset({FULL})

    def __init__(self, tables: PlainTables) -> None:
        self.tables = tables
        self.connections: list[pq.abc.PGconn] = []

    def function(self, caller: int) -> Callable[..., Any]:
        while len(self.connections) <= caller:
            connection = pq.PGconn.connect(self.tables.uri.encode())
            if connection.status != pq.ConnStatus.OK:
                raise RuntimeError(connection.get_error_message())
            connection.prepare(b"it", b"SELECT 1")
            self.connections.append(connection)
        return self.connections[caller].exec_prepared

    arguments = (b"it", [])

    def open(self, world: World) -> None:
        self.tables.open(world)

    def close(self) -> None:
        for connection in self.connections:
            connection.finish()
        self.connections = []


class EmptyCallFromPython(FromPython):
    key, name = "empty_python", "an empty call, 3 strings"
    levels = frozenset({DEFAULT})
    arguments = ("document:d0", "view", "user:u0")

    def open(self, world: World) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="licet-compare-")
        path = Path(self.folder.name) / "empty_python.so"
        include = sysconfig.get_paths()["include"]
        source = SUPPORT / "empty_python.c"
        command = ["cc", "-O2", "-shared", "-fPIC", "-I" + include, str(source), "-o", str(path)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise Unavailable(f"{source.name} can't be compiled here: {done.stderr.strip()[-500:]}")
        spec = importlib.util.spec_from_file_location("empty_python", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        self.call = module.call

    def function(self, caller: int) -> Callable[..., Any]:
        return self.call

    def close(self) -> None:
        if hasattr(self, "folder"):
            self.folder.cleanup()


class EmptyCallFromLua(Floor):
    name = "an empty call, 3 strings"
    levels = frozenset({DEFAULT})
    most_callers = 1

    def __init__(self, lua: str) -> None:
        self.key = f"empty_{lua}"
        self.caller = {"lua5.4": "Lua 5.4", "luajit": "LuaJIT"}[lua]
        self.script = InLua(lua)

    def open(self, world: World) -> None:
        self.script.start_script("empty")

    def time(self, callers: int, warmup_s: float, time_s: float) -> Timing:
        return self.script.time([Check("document:d0", "view", "user:u0")], DEFAULT, callers, warmup_s, time_s)

    def close(self) -> None:
        self.script.close()


class Probe(Floor):
    """Measured once; the same in every table."""

    key, name, caller = "probe", "a hash probe, 10 million keys", "C"
    levels = frozenset({DEFAULT})
    most_callers = 1

    def open(self, world: World) -> None:
        told = subprocess.run([str(PROGRAM), "-", "probe"], capture_output=True, text=True, check=True).stdout
        self.timing = Timing(float(told), float(told), 1e9 / float(told), 0)

    def time(self, callers: int, warmup_s: float, time_s: float) -> Timing:
        return self.timing


class EmptyGRPC(FromPython):
    key, name = "empty_grpc", "an empty gRPC call"

    def __init__(self, system: SpiceDBOverGRPC) -> None:
        self.system = system
        self.calls: list[Calls] = []

    def open(self, world: World) -> None:
        if self.system.writer is None:
            raise Unavailable("SpiceDB is not there")

    def function(self, caller: int) -> Callable[..., Any]:
        while len(self.calls) <= caller:
            self.calls.append(Calls(self.system.server))
        return self.calls[caller].health

    arguments = (b"",)

    def close(self) -> None:
        for calls in self.calls:
            calls.channel.close()
        self.calls = []


class EmptyFromGo(Floor):
    key, name, caller = "empty_grpc_go", EmptyGRPC.name, "Go"

    def __init__(self, system: SpiceDBFromGo) -> None:
        self.system = system

    def open(self, world: World) -> None:
        if self.system.process is None:
            raise Unavailable("there is no such client")

    def time(self, callers: int, warmup_s: float, time_s: float) -> Timing:
        return self.system.time([Check("document:d0", "view", "user:u0")], "empty", callers, warmup_s, time_s)


class EmptyHTTP(FromPython):
    key, name = "empty_http", "an empty HTTP call"

    def __init__(self, system: SpiceDBOverGRPC) -> None:
        self.system = system
        self.calls: list[HTTPCalls] = []

    def open(self, world: World) -> None:
        if self.system.writer is None or self.system.server.address.http is None:
            raise Unavailable("SpiceDB is not there")

    def function(self, caller: int) -> Callable[..., Any]:
        while len(self.calls) <= caller:
            self.calls.append(HTTPCalls(self.system.server))
        return self.calls[caller].health

    def close(self) -> None:
        for calls in self.calls:
            calls.connection.close()
        self.calls = []


def of_here(tables: PlainTables) -> list[Floor]:
    """All that need no SpiceDB."""
    return [
        Statement(ROUND_TRIP, "SELECT 1, prepared", tables, "SELECT 1", 0),
        Statement("indexed", "one indexed lookup", tables, LOOKUP, 2),
        RoundTripFromPython(tables),
        Probe(),
        EmptyCallFromPython(),
        EmptyCallFromLua("lua5.4"),
        EmptyCallFromLua("luajit"),
    ]

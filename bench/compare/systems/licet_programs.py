"""licet called from C (bench/caller.c) and from Lua (licet.lua), on the same database as from Python."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from prepare import BUILD, PROGRAM, ROOT
from systems.base import DEFAULT, FULL, Answer, Request, Unavailable
from systems.licet_store import LicetStore
from systems.program import Program
from world import World

SUPPORT = ROOT / "bench" / "support"


WALK = "walk"  # a level of bench/caller.c: what is asked is not the engine but the walk by hand


class OnStore(Program):
    in_slices = True

    def __init__(self, store: LicetStore) -> None:
        super().__init__()
        self.store = store

    def write_one(self, row: str) -> None:
        self.store.write_one(row)


class Walked(Program):
    """With the walk by hand in the same program (bench/support/walk.h), which the bounds of what is called from C are judged
    by."""

    caller = "C"
    in_slices = True

    def load_walk(self, world: World) -> None:
        assert self.process is not None
        self.process.write("relationships.txt", world.relationships)
        self.process.ask("walk relationships.txt")

    def walk_beside(self, requests: Sequence[Request]) -> None:
        """From now on, where there is one caller at the default consistency."""
        assert self.process is not None
        self.process.give(requests, "floor")

    def walked(self, requests: Sequence[Request]) -> list[Answer]:
        return self.answers(requests, WALK)


class LicetInC(OnStore, Walked):
    name = "licet"

    def open(self, world: World) -> None:
        self.store.open(world)
        self.start([str(PROGRAM), "{folder}", "follow", self.store.uri])
        self.load_walk(world)


class LicetInMemory(Walked):
    """Without a database: what following one costs is what it takes less. From Python and Lua it is the engine on Postgres."""

    name = "licet, in memory"
    consistencies = frozenset({DEFAULT})

    def open(self, world: World) -> None:
        self.start([str(PROGRAM), "{folder}", "memory"])
        self.load_walk(world)
        assert self.process is not None
        self.process.write("schema.zed", world.schema.splitlines())
        self.process.ask("load")


class LicetSpared(OnStore):
    """On a database of its own that there is no churn in, so that what the churn did can be seen in one moment."""

    name, caller = "licet, no churn", "C"
    consistencies = frozenset({FULL})
    most_callers = 1

    def open(self, world: World) -> None:
        self.store.open(world)
        self.start([str(PROGRAM), "{folder}", "follow", self.store.uri])

    def close(self) -> None:
        super().close()
        self.store.close()


class LicetPrefetching(OnStore):
    """Nothing resident: what does not fit into memory, or runs once, is asked like this. At the default consistency it
    asks the database just the same."""

    name, caller = "licet, prefetch", "C"
    consistencies = frozenset({FULL})

    def open(self, world: World) -> None:
        self.store.open(world)
        self.start([str(PROGRAM), "{folder}", "prefetch", self.store.uri])


def lua_environment(lua: str, modules: Path) -> dict[str, str]:
    """Where a Lua finds licet and the modules of bench/support, which are compiled for it here."""
    for module in ("clock_lua", "empty_lua"):
        flags = subprocess.run(["pkg-config", "--cflags", lua], capture_output=True, text=True).stdout.split()
        source, target = SUPPORT / f"{module}.c", modules / f"{module}.so"
        command = ["cc", "-O2", "-shared", "-fPIC", *flags, str(source), "-o", str(target)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise Unavailable(f"{lua}: {done.stderr.strip()[-500:]}")
    path = f"{ROOT}/lua/?.lua;{ROOT}/lua/?/init.lua;;"
    cpath = f"{BUILD}/{lua}/?.so;{modules}/?.so;;"
    # Lua 5.4 prefers the variable with its version; LuaJIT knows only the other.
    return {**os.environ, "LUA_PATH": path, "LUA_PATH_5_4": path, "LUA_CPATH": cpath, "LUA_CPATH_5_4": cpath}


class InLua(Program):
    """A program in Lua: one interpreter, one caller."""

    most_callers = 1

    def __init__(self, lua: str) -> None:
        super().__init__()
        self.lua = lua
        self.modules: tempfile.TemporaryDirectory[str] | None = None

    def start_script(self, uri: str) -> None:
        interpreter = shutil.which(self.lua)
        if interpreter is None:
            raise Unavailable(f"there is no {self.lua} on the PATH")
        self.modules = tempfile.TemporaryDirectory(prefix="licet-compare-")
        environment = lua_environment(self.lua, Path(self.modules.name))
        script = Path(__file__).resolve().with_name("licet.lua")
        self.start([interpreter, str(script), "{folder}", uri], environment)

    def close(self) -> None:
        super().close()
        if self.modules is not None:
            self.modules.cleanup()
            self.modules = None


class LicetInLua(InLua):
    name = "licet"
    in_slices = True

    def __init__(self, store: LicetStore, lua: str) -> None:
        super().__init__(lua)
        self.store = store
        self.caller = {"lua5.4": "Lua 5.4", "luajit": "LuaJIT"}[lua]

    def open(self, world: World) -> None:
        self.store.open(world)
        self.start_script(self.store.uri)

    def write_one(self, row: str) -> None:
        self.store.write_one(row)

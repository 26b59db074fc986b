"""lua-casbin, called from Lua: a LuaJIT of its own, which runs lua_casbin.lua."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from prepare import BUILD, CannotPrepare, run
from systems.base import DEFAULT, Unavailable
from systems.licet_programs import InLua, lua_environment
from world import World

SCRIPT = Path(__file__).resolve().with_suffix(".lua")
TREE = BUILD / "lua-casbin"


def casbin_paths() -> tuple[str, str]:
    """Where Lua finds it, and what it needs in C: the source tree that LICET_LUA_CASBIN names, or a tree that luarocks fills
    once."""
    given = os.environ.get("LICET_LUA_CASBIN")
    if given:
        return f"{given}/?.lua;", ""
    if not (TREE / "share" / "lua" / "5.1" / "src").exists():
        try:
            run(["luarocks", "--lua-version", "5.1", "--tree", TREE, "install", "casbin"])
        except (CannotPrepare, OSError) as failure:
            reason = str(failure).strip().splitlines()[-1]
            raise Unavailable(
                f"luarocks can't have it, and LICET_LUA_CASBIN names no source tree: {reason}"
            ) from failure
    return f"{TREE}/share/lua/5.1/?.lua;", f"{TREE}/lib/lua/5.1/?.so;"


class LuaCasbin(InLua):
    name = "lua-casbin, one role graph"
    caller = "LuaJIT"
    lacks = (
        "Everything is a role of everything above it, so there is one permission and no telling a viewer from an owner; its "
        "lookups are left out, since they look at every role there is for each that they find."
    )
    scenarios = frozenset({"direct", "nested", "denied", "bulk"})
    consistencies = frozenset({DEFAULT})
    decisions = "evaluated"

    def __init__(self) -> None:
        super().__init__("luajit")

    def open(self, world: World) -> None:
        luajit = shutil.which(self.lua)
        if luajit is None:
            raise Unavailable(f"there is no {self.lua} on the PATH")
        path, cpath = casbin_paths()
        self.modules = tempfile.TemporaryDirectory(prefix="licet-compare-")
        rows = Path(self.modules.name) / "relationships"
        rows.write_text("\n".join(world.relationships) + "\n", encoding="ascii")
        environment = lua_environment(self.lua, Path(self.modules.name))
        environment["LUA_PATH"] = path + environment["LUA_PATH"]
        environment["LUA_CPATH"] = cpath + environment["LUA_CPATH"]
        self.start([luajit, str(SCRIPT), "{folder}", str(rows), self.decisions], environment)
        try:
            self.answers([next(iter(world.scenarios.values())).repeated.request], DEFAULT)
        except RuntimeError as failure:
            raise Unavailable(f"lua-casbin does not run here: {failure}") from failure


class LuaCasbinCached(LuaCasbin):
    name = "lua-casbin, decisions kept"
    lacks = (
        "Its CachedEnforcer keeps every decision until the application empties the whole cache: no grant and no revocation "
        "is seen before."
    )
    decisions = "kept"

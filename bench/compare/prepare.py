"""What the comparison needs beside this tree: a Python environment of its own, built programs, the SpiceDB server.

Runs in whatever Python started the comparison, so it uses nothing but the standard library. As a program it makes the
environment, and nothing else.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import venv
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
VENV = ROOT / ".venv-bench"
PYTHON = VENV / "bin" / "python"
REQUIREMENTS = ROOT / "bench" / "requirements.txt"
BUILD = ROOT / "build"
PROGRAM = BUILD / "release" / "bench" / "caller"
SPICEDB = BUILD / "spicedb"

SPICEDB_VERSION = "v1.56.2"
SPICEDB_PACKAGE = "github.com/authzed/spicedb/cmd/spicedb"

# What the Python package is made of.
SOURCES = ("core/**/*.[ch]", "core/**/*.cc", "bindings/python/*.[ch]", "python/**/*.py", "setup.py", "pyproject.toml")


BEGAN = time.monotonic()


class CannotPrepare(Exception):
    """Says what is missing, and how to get it."""


def say(text: str) -> None:
    print(f"==> {time.monotonic() - BEGAN:5.0f} s  {text}", file=sys.stderr, flush=True)


def run(command: Sequence[str | Path], **options: object) -> None:
    done = subprocess.run(
        [str(word) for word in command],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        **options,  # type: ignore[call-overload]
    )
    if done.returncode != 0:
        raise CannotPrepare(f"{' '.join(map(str, command))}\n{done.stdout[-4000:]}")


# ------------------------------------------------------------------- Python


def pip(*arguments: str) -> None:
    run([PYTHON, "-m", "pip", "--disable-pip-version-check", "install", "-q", *arguments])


def install_requirements() -> None:
    """Together, or where that fails one by one: a system that can't be had here is missing from the tables alone."""
    try:
        pip("-r", str(REQUIREMENTS))
    except CannotPrepare:
        for line in REQUIREMENTS.read_text(encoding="utf-8").splitlines():
            if line.strip() and not line.startswith("#"):
                try:
                    pip(line.strip())
                except CannotPrepare as failure:
                    say(f"Not to be had: {line.strip()}\n{failure}")


def make_environment() -> None:
    """The environment .venv-bench with what bench/requirements.txt names, and this tree's licet in it."""
    stamp = VENV / ".requirements"
    if not (stamp.exists() and stamp.read_bytes() == REQUIREMENTS.read_bytes() and PYTHON.exists()):
        say("Making .venv-bench")
        if not PYTHON.exists():
            venv.create(VENV, clear=True, with_pip=True)
        install_requirements()
        stamp.write_bytes(REQUIREMENTS.read_bytes())
    stamp = VENV / ".licet"
    newest = max(path.stat().st_mtime for pattern in SOURCES for path in ROOT.glob(pattern))
    if not stamp.exists() or stamp.stat().st_mtime < newest:
        say("Building licet for Python")
        pip("--no-build-isolation", "--no-deps", "--force-reinstall", ".")
        stamp.touch()


def enter_environment() -> None:
    """Goes on in .venv-bench, with the same arguments."""
    if Path(sys.prefix).resolve() == VENV.resolve():
        return
    make_environment()
    os.execv(PYTHON, [str(PYTHON), *sys.argv])


# ------------------------------------------------------------------- C and Lua


def build_programs() -> None:
    """bench/caller.c and the Lua modules, in the release preset."""
    say("Building licet for C and Lua")
    jobs = str(os.cpu_count() or 1)
    run(["cmake", "--preset", "release"])
    run(["cmake", "--build", "--preset", "release", "-j", jobs])
    run(["cmake", "--build", "--preset", "release", "-j", jobs, "--target", "bench_caller"])


# ------------------------------------------------------------------- SpiceDB


def spicedb_binary() -> Path:
    """That of LICET_SPICEDB_BIN or of the PATH; otherwise built once, into build/spicedb."""
    given = os.environ.get("LICET_SPICEDB_BIN") or shutil.which("spicedb")
    if given:
        return Path(given)
    built = SPICEDB / "spicedb"
    if not built.exists():
        say(f"Building SpiceDB {SPICEDB_VERSION} (once; takes some minutes)")
        go_run("install", f"{SPICEDB_PACKAGE}@{SPICEDB_VERSION}", env={**os.environ, "GOBIN": str(SPICEDB)})
    return built


def spicedb_caller() -> Path:
    """bench/compare/spicedb_caller, built."""
    source = ROOT / "bench" / "compare" / "spicedb_caller"
    built = SPICEDB / "caller"
    if not built.exists() or built.stat().st_mtime < max(path.stat().st_mtime for path in source.iterdir()):
        say("Building the client of SpiceDB in Go")
        go_run("-C", str(source), "build", "-o", str(built), ".")
    return built


def go_run(*arguments: str, **options: object) -> None:
    go = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
    if go is None:
        raise CannotPrepare("there is no Go to build it with")
    SPICEDB.mkdir(parents=True, exist_ok=True)
    run([go, *arguments], **options)


if __name__ == "__main__":
    make_environment()

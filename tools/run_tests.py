"""Runs everything that can be checked and adds up what the runners counted.

    run_tests.py [all | tsan | asan | lint]

A suite that crashes, or that fails without saying which test, counts as one failed test. The last line is
"N passed, N failed, N skipped"; the exit status is 0 only when nothing failed.

Runners that read shared test data look for it in $LICET_SHARED, or in ../shared beside the repository. Those that need a
Postgres find it by $LICET_TEST_POSTGRES, a connection string; unless it is set already, one is started for the run.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

from postgres import PostgresError, PrivatePostgres

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
VENV = ROOT / ".venv" / "bin"
JOBS = str(os.cpu_count() or 2)
MISSING_PEER = 77  # the status of what compares with a SpiceDB, where there is none

SANITIZER_OPTIONS = {
    "ASAN_OPTIONS": "detect_stack_use_after_return=1:allocator_may_return_null=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "TSAN_OPTIONS": "second_deadlock_stack=1:die_after_fork=0",
}

# The public header's tables and initialisers are laid out by hand; the others are generated.
UNFORMATTED = r"core/include/licet\.h|.*_table\.h"


@dataclass
class Count:
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def add(self, other: Count) -> None:
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


@dataclass
class Result:
    status: int
    lines: list[str] = field(default_factory=list)


def say(text: str) -> None:
    print(f"==> {text}", flush=True)


def environment(**extra: str) -> dict[str, str]:
    """What `make env` exports, plus where the shared test data lie."""
    env = {**os.environ, **SANITIZER_OPTIONS, "CMOCKA_MESSAGE_OUTPUT": "STDOUT"}
    shared = Path(env.get("LICET_SHARED") or ROOT.parent / "shared").resolve()
    env["LICET_SHARED"] = str(shared)
    env["PATH"] = f"{VENV}:{env['PATH']}"
    env["LUA_PATH"] = f"{ROOT}/lua/?.lua;{ROOT}/lua/?/init.lua;;"
    env["LUA_CPATH"] = f"{BUILD}/luajit/?.so;;"
    env["LUA_CPATH_5_4"] = f"{BUILD}/lua5.4/?.so;;"
    env["PKG_CONFIG_PATH"] = f"{BUILD}/release/pkgconfig"
    return {**env, **extra}


def run(
    command: list[str],
    env: dict[str, str] | None = None,
    quiet: bool = False,
    noise: str | None = None,
    timeout: int = 1500,
) -> Result:
    """Runs a command, passing its output on as it comes, without the lines that match noise (when quiet: only
    if it fails)."""
    print("    $ " + " ".join(command).replace(f"{ROOT}/", ""), flush=True)
    try:
        process = subprocess.Popen(
            ["timeout", "--kill-after=10", str(timeout), *command],
            cwd=ROOT,
            env=env or environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
    except OSError as error:
        print(f"    {error}", flush=True)
        return Result(127)
    result = Result(0)
    assert process.stdout is not None
    for line in process.stdout:
        result.lines.append(line.rstrip("\n"))
        if not quiet and not (noise and re.match(noise, line)):
            print("    " + line, end="", flush=True)
    result.status = process.wait()
    if quiet and result.status != 0:
        print("\n".join("    " + line for line in result.lines), flush=True)
    if result.status != 0:
        print(f"    exit status {result.status}", flush=True)
    return result


def one(result: Result) -> Count:
    """A command that is one check by itself."""
    return Count(passed=1) if result.status == 0 else Count(failed=1)


def sources(*patterns: str) -> list[str]:
    found = {str(path.relative_to(ROOT)) for pattern in patterns for path in ROOT.glob(pattern)}
    return sorted(found)


# ------------------------------------------------------------------------ building


def configure_and_build(preset: str) -> Count:
    """Nothing failed, or one; what can be built is built all the same."""
    if run(["cmake", "--preset", preset], quiet=True).status != 0:
        return Count(failed=1)
    built = run(["cmake", "--build", "--preset", preset, "-j", JOBS, "--", "-k", "0"], quiet=True)
    return Count(failed=0 if built.status == 0 else 1)


def build() -> Count:
    """The release library, the Lua modules and .venv, as users get them; and the benchmarks, which nothing else builds."""
    total = one(run(["make", "build"], quiet=True))
    total.add(one(run(["cmake", "--build", "--preset", "release", "-j", JOBS, "--target", "bench"], quiet=True)))
    return total


# ----------------------------------------------------------------------- C


def count_ctest(result: Result) -> Count:
    """ctest -V puts "7: " before the output of test 7; inside are cmocka's own sums, one for each group."""
    groups: dict[str, Count] = {}
    words = {"PASSED": "passed", "FAILED": "failed", "SKIPPED": "skipped"}
    broken: set[str] = set()
    for line in result.lines:
        if match := re.match(r"(\d+): \[\s+(PASSED|FAILED|SKIPPED)\s+\] (\d+) test\(s\)", line):
            number, word, count = match.groups()
            group = groups.setdefault(number, Count())
            setattr(group, words[word], getattr(group, words[word]) + int(count))
        elif match := re.match(r"\s*\d+/\d+ Test\s+#(\d+):.*\*\*\*", line):
            broken.add(match.group(1))
    total = Count()
    for number in groups.keys() | broken:
        group = groups.get(number, Count())
        if number in broken and group.failed == 0:
            group.failed = 1
        total.add(group)
    if result.status != 0 and total.failed == 0:
        total.failed = 1
    return total


# What ctest -V and cmocka say of tests that pass.
CTEST_NOISE = r"\d+: (\[ RUN|\[ +OK|\[=+\]|Test command:|Working Dir|Test timeout)|test \d+$|\s*$|\s+Start +\d+:"


def without_address_randomisation() -> list[str]:
    """The thread sanitizer of older compilers can not live with as much of it as newer kernels have."""
    command = ["setarch", platform.machine(), "-R"]
    works = shutil.which("setarch") and subprocess.run([*command, "true"], capture_output=True).returncode == 0
    return command if works else []


def c_tests(preset: str) -> Count:
    if not sources("tests/core/**/*.c"):
        return Count()
    total = configure_and_build(preset)
    prefix = without_address_randomisation() if preset == "tsan" else []
    total.add(
        count_ctest(run([*prefix, "ctest", "--test-dir", f"build/{preset}", "-V", "-j", JOBS], noise=CTEST_NOISE))
    )
    return total


# ------------------------------------------------------------------------ Python


def count_junit(path: Path, result: Result) -> Count:
    total = Count()
    try:
        for case in ElementTree.parse(path).iter("testcase"):
            kinds = {child.tag for child in case}
            if kinds & {"failure", "error"}:
                total.failed += 1
            elif "skipped" in kinds:
                total.skipped += 1
            else:
                total.passed += 1
    except (OSError, ElementTree.ParseError):
        pass
    if result.status != 0 and total.failed == 0:
        total.failed = 1
    return total


def pytest(name: str, folders: list[str], env: dict[str, str] | None = None, only: str = "") -> Count:
    present = [path for path in folders if sources(path if path.endswith(".py") else f"{path}/**/test_*.py")]
    if not present:
        return Count()
    report = BUILD / f"{name}.xml"
    report.unlink(missing_ok=True)
    command = [str(VENV / "python"), "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}", *present]
    return count_junit(report, run([*command, "-k", only] if only else command, env))


def python_tests() -> Count:
    return pytest("python", ["tests/python", "tests/docs", "tests/packaging", "tests/bench"])


def stub_check() -> Count:
    if not sources("python/licet/*.pyi"):
        return Count()
    return one(run([str(VENV / "python"), "-m", "mypy.stubtest", "licet", "--ignore-missing-stub"]))


# ------------------------------------------------------------------------ Lua


def count_tap(result: Result) -> Count:
    total = Count()
    for line in result.lines:
        if line.startswith("not ok "):
            total.failed += 1
        elif line.startswith("ok "):
            if " # SKIP" in line:
                total.skipped += 1
            else:
                total.passed += 1
    if result.status != 0 and total.failed == 0:
        total.failed = 1
    return total


def busted(files: list[str], env: dict[str, str] | None = None) -> Count:
    total = Count()
    if files:
        for interpreter in ("lua5.4", "luajit"):
            total.add(count_tap(run([interpreter, "tools/busted.lua", "-o", "TAP", *files], env)))
    return total


def lua_tests() -> Count:
    return busted(sources("tests/lua/**/*_spec.lua"))


# ------------------------------------------------------------------- shared scenarios


def shared_scenarios() -> Count:
    """The same files through Python and Lua; through C they are programs of the dev and tsan presets."""
    shared = Path(environment()["LICET_SHARED"])
    if not shared.is_dir():
        say(f"No shared test data at {shared}: set LICET_SHARED to run them; their tests skip")
    total = pytest("conformance", ["tests/conformance"])
    total.add(busted(sources("tests/conformance/**/*_spec.lua")))
    return total


def differential() -> Count:
    """Short runs; the long ones are the same commands with --checks 1000000 and --graphs 10000."""
    total = pytest("differential", ["tests/differential"])
    for script in sources("tests/differential/run.py"):
        for options in ([], ["--caveats"]):
            total.add(one(run([str(VENV / "python"), script, "--seed", "1", "--checks", "20000", *options])))
    for script in sources("tests/differential/exhaustive.py"):
        total.add(one(run([str(VENV / "python"), script, "--seed", "1", "--graphs", "200"])))
    for script in sources("tests/differential/operations.py"):
        result = run([str(VENV / "python"), script, "--seed", "1", "--seconds", "60"])
        # No SpiceDB here, which is no dependency of licet; it has said so.
        total.add(Count(skipped=1) if result.status == MISSING_PEER else one(result))
    return total


# ------------------------------------------------------------------------ Postgres

# Whose worlds are in the store that is tested.
IN_STORES = ("consistency", "cases", "spicedb", "steelthread")

# Of the hostile inputs those that may end otherwise there.
HOSTILE_IN_STORES = "misuse or token or strict-0"

# Of a store, what of tests/differential/run.py.
DIFFERENTIAL = (
    ("postgres-follow", []),
    ("postgres-follow", ["--caveats"]),
    ("postgres-follow", ["--collect"]),
    ("postgres-prefetch", []),
    ("postgres-prefetch", ["--caveats"]),
    ("postgres-prefetch", ["--collect"]),
)


def postgres() -> Count:
    """What memory is tested with, in Postgres; and the faults, each a few times. In full: make faults."""
    if not os.environ.get("LICET_TEST_POSTGRES"):
        return Count(skipped=1)  # it has been said why
    total = Count()
    files = [f"tests/conformance/test_{name}.py" for name in IN_STORES]
    for store in ("postgres-follow", "postgres-prefetch"):
        total.add(pytest(store, files, environment(LICET_TEST_STORE=store)))
        collecting = environment(LICET_TEST_STORE=store, LICET_TEST_COLLECT="1")
        total.add(pytest(f"{store}-collecting", ["tests/conformance/test_consistency.py"], collecting))
        hostile = ["tests/conformance/test_hostile.py"]
        total.add(pytest(f"{store}-hostile", hostile, environment(LICET_TEST_STORE=store), HOSTILE_IN_STORES))
    for store, options in DIFFERENTIAL:
        command = [str(VENV / "python"), "tests/differential/run.py", "--checks", "5000", "--store", store, *options]
        total.add(one(run(command)))
    total.add(pytest("faults", ["tests/faults"]))
    return total


# ------------------------------------------------------------------------ lint


def in_pieces(command: list[str], files: list[str]) -> Result:
    """One process for each processor."""
    listing = BUILD / "lint-files.txt"
    listing.parent.mkdir(exist_ok=True)
    listing.write_text("\n".join(files) + "\n", encoding="utf-8")
    return run(["xargs", "-a", str(listing), "-n", "4", "-P", JOBS, *command], quiet=True)


def lint() -> Count:
    total = Count()
    ours = sources(
        "core/**/*.cc",
        "core/**/*.[ch]",
        "bindings/**/*.[ch]",
        "tests/**/*.[ch]",
        "bench/**/*.[ch]",
        "examples/**/*.[ch]",
    )
    compiled = sources("core/**/*.c")
    formatted = [path for path in ours if not re.fullmatch(UNFORMATTED, path)]
    total.add(one(run([str(VENV / "clang-format"), "--dry-run", "--Werror", *formatted], quiet=True)))
    total.add(one(run([str(VENV / "ruff"), "check", "-q", "."], quiet=True)))
    # The preset that keeps assertions: they tell the analyzer what holds.
    total.add(one(run(["cmake", "--preset", "dev"], quiet=True)))
    total.add(
        one(
            in_pieces(
                ["clang-tidy", "--quiet", "--extra-arg=-Wno-unknown-warning-option", "-p", str(BUILD / "dev")], compiled
            )
        )
    )
    total.add(
        one(
            run(
                [
                    "cppcheck",
                    "--quiet",
                    "--std=c11",
                    "-j",
                    JOBS,
                    "--enable=warning,performance,portability",
                    "--error-exitcode=1",
                    "--inline-suppr",
                    "--suppressions-list=.cppcheck",
                    "-D_GNU_SOURCE",
                    "-DLICET_WITH_YAML=1",
                    "-DLICET_WITH_POSTGRES=1",
                    "-D__GNUC__=12",
                    "-Icore",
                    "-Icore/include",
                    "core",
                ],
                quiet=True,
            )
        )
    )
    total.add(shipped_library())
    return total


def shipped_library() -> Count:
    """The marks of hardening are in the built files, and only the public names leave them."""
    total = Count()
    python = [str(path) for path in ROOT.glob(".venv/lib/python*/site-packages/licet/_licet*.so")]
    for path, allowed in [
        (str(BUILD / "release/liblicet.so"), r"licet_\w+"),
        (str(BUILD / "lua5.4/licet/core.so"), r"luaopen_licet_core"),
        (str(BUILD / "luajit/licet/core.so"), r"luaopen_licet_core"),
        *((path, r"PyInit__licet") for path in python),
    ]:
        total.add(one(run(["sh", "tools/check_shipped.sh", path, allowed], quiet=True)))
    return total


# ------------------------------------------------------------------------ sanitizers


def asan() -> Count:
    """The C tests, and the Python and Lua ones with modules that are sanitized too."""
    total = c_tests("dev")
    runtime = subprocess.run(["cc", "-print-file-name=libasan.so"], capture_output=True, text=True).stdout.strip()
    target = BUILD / "asan-python"
    command = [str(VENV / "python"), "setup.py", "-q", "build", "--build-lib", str(target)]
    command += ["--build-temp", str(BUILD / "asan-temp")]
    built = run(command, environment(LICET_SANITIZE="address,undefined", LICET_WERROR="1"), quiet=True)
    total.add(one(built))
    if built.status != 0:
        return total
    env = environment(
        LD_PRELOAD=runtime,
        PYTHONPATH=str(target),
        PYTHONMALLOC="malloc",
        LUA_CPATH=f"{BUILD}/dev/luajit/?.so;;",
        LUA_CPATH_5_4=f"{BUILD}/dev/lua5.4/?.so;;",
        # The interpreters leave memory behind at exit, and tests that watch the process's size want no quarantine.
        ASAN_OPTIONS=SANITIZER_OPTIONS["ASAN_OPTIONS"] + ":detect_leaks=0:quarantine_size_mb=1",
    )
    total.add(pytest("asan", ["tests/python", "tests/conformance"], env))
    total.add(busted(sources("tests/lua/**/*_spec.lua", "tests/conformance/**/*_spec.lua"), env))
    return total


# ------------------------------------------------------------------------ the whole

SUITES: dict[str, list[tuple[str, Callable[[], Count]]]] = {
    "all": [
        ("Build", build),
        ("C tests, address and undefined-behaviour sanitizers", lambda: c_tests("dev")),
        ("C tests, thread sanitizer", lambda: c_tests("tsan")),
        ("Python tests and the README's examples", python_tests),
        ("Type stubs", stub_check),
        ("Lua tests, Lua 5.4 and LuaJIT", lua_tests),
        ("Shared scenarios", shared_scenarios),
        ("Differential tests", differential),
        ("Postgres: its modes, and its faults", postgres),
        ("Lint", lint),
    ],
    "tsan": [("C tests, thread sanitizer", lambda: c_tests("tsan"))],
    "asan": [("Build", build), ("Tests, address and undefined-behaviour sanitizers", asan)],
    "lint": [("Build", build), ("Lint", lint)],
}


# An ANALYZE of the server's own is a transaction like any other: it keeps garbage that a test is about to collect.
QUIET = {"autovacuum": "off"}


def start_postgres() -> tuple[PrivatePostgres | None, str]:
    """For all suites, which find it in the environment. Returns it, if it is ours to end, and what to say of it."""
    given = os.environ.get("LICET_TEST_POSTGRES")
    if given:
        return None, "Postgres: the one of LICET_TEST_POSTGRES"
    try:
        server = PrivatePostgres(settings=QUIET).start()
    except PostgresError as error:
        return None, f"Postgres: none, tests that need one skip: {error}"
    os.environ["LICET_TEST_POSTGRES"] = server.conninfo
    return server, f"Postgres: {server.psql('SHOW server_version')}, {server.conninfo}"


def main() -> int:
    chosen = sys.argv[1] if len(sys.argv) > 1 else "all"
    server, about = (None, "") if chosen == "lint" else start_postgres()
    if about:
        say(about)
    try:
        return run_suites(SUITES[chosen], about)
    finally:
        if server is not None:
            server.close()


def run_suites(suites: list[tuple[str, Callable[[], Count]]], about: str) -> int:
    total = Count()
    sums = [about] if about else []
    for name, suite in suites:
        start = time.monotonic()
        say(name)
        try:
            count = suite()
        except Exception as error:  # one broken suite must not hide the others
            print(f"    {type(error).__name__}: {error}", flush=True)
            count = Count(failed=1)
        total.add(count)
        sums.append(f"{name}: {count} ({time.monotonic() - start:.0f} s)")
        say(sums[-1])
    print()
    for line in sums:
        print(f"    {line}")
    print(total, flush=True)
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())

"""What README.md and the guides show is what the examples are, and they print what it says."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import licet
import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
GUIDES = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").glob("*.md"))]
PAGES = "\n".join([README, *GUIDES])
FILES = re.findall(r"<!-- file: (\S+) -->\n```\w*\n(.*?)^```$", PAGES, re.DOTALL | re.MULTILINE)
OUTPUTS = dict(re.findall(r"<!-- output: (\S+) -->\n```\w*\n(.*?)^```$", PAGES, re.DOTALL | re.MULTILINE))
CONSOLES = re.findall(r"^```console\n\$ ([^\n]+)\n(.*?)^```$", PAGES, re.DOTALL | re.MULTILINE)


def environment() -> dict[str, str]:
    """That of a shell that ran: eval "$(make env)"."""
    script = f'eval "$({shlex.quote(str(ROOT / "tools/env.sh"))})" && env -0'
    done = subprocess.run(["sh", "-c", script], check=True, capture_output=True, text=True)
    return dict(entry.split("=", 1) for entry in done.stdout.split("\0") if entry) | dict(PYTHONWARNINGS="error")


def printed(*command: str, status: int = 0) -> str:
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (status, "")
    return done.stdout


def test_the_readme_leads_with_the_demonstration_and_the_tests() -> None:
    commands = re.findall(r"^make \w+", README, re.MULTILINE)
    assert commands == ["make demo", "make test"]


def test_there_is_a_first_example_in_each_language() -> None:
    assert {"examples/first.py", "examples/first.lua", "examples/first.c"} <= OUTPUTS.keys()


@pytest.mark.parametrize(("path", "shown"), FILES, ids=[path for path, _ in FILES])
def test_a_block_of_a_page_is_the_example_itself(path: str, shown: str) -> None:
    assert shown == (ROOT / path).read_text(encoding="utf-8")


NEEDS_DATABASE = re.compile(r"examples/postgres\w*\.")


@pytest.mark.parametrize("path", [path for path in OUTPUTS if path.endswith(".py") and not NEEDS_DATABASE.match(path)])
def test_a_python_example_prints_what_its_page_says(path: str) -> None:
    assert printed(sys.executable, path) == OUTPUTS[path]


@pytest.fixture
def database(postgres_uri: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The URI of an empty database, which examples find in DATABASE_URL."""
    import psycopg
    from psycopg.conninfo import conninfo_to_dict

    name = f"examples_{os.getpid()}"
    known = conninfo_to_dict(postgres_uri)
    known.pop("dbname", None)
    uri = f"postgresql:///{name}?{urlencode(known)}"
    monkeypatch.setenv("DATABASE_URL", uri)
    with psycopg.connect(postgres_uri, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        try:
            yield uri
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.mark.parametrize("path", [path for path in OUTPUTS if path.endswith(".py") and NEEDS_DATABASE.match(path)])
def test_an_example_on_postgres_prints_what_its_page_says(path: str, database: str) -> None:
    for module in re.findall(r"^(?:import|from) (django|sqlalchemy)\b", (ROOT / path).read_text(), re.MULTILINE):
        pytest.importorskip(module)
    assert printed(sys.executable, path) == OUTPUTS[path]


def test_the_example_for_psql_prints_what_its_page_says(database: str) -> None:
    psql = shutil.which("psql")
    if psql is None:
        pytest.skip("no psql")
    printed(sys.executable, "examples/postgres_psycopg.py")
    assert printed(psql, "-X", database, "-f", "examples/postgres.sql") == OUTPUTS["examples/postgres.sql"]
    with licet.open(database) as engine:
        assert engine.allowed("document:letter", "read", "user:ada", consistency=licet.FULL)


def test_the_rights_that_the_guide_grants_suffice(database: str) -> None:
    import psycopg

    (grants,) = re.findall(r"^```sql\n(GRANT.*?)^```$", PAGES, re.DOTALL | re.MULTILINE)
    roles = {role: f"{role}_{os.getpid()}" for role in ("app", "engine")}
    uris = {role: re.sub(r"\buser=\w+", f"user={name}", database) for role, name in roles.items()}
    one = '{"updates": [{"operation": "touch", "relationship": "document:a#owner@user:ada"}]}'
    licet.migrate(database)
    with psycopg.connect(database, autocommit=True) as connection:
        for role, name in roles.items():
            connection.execute(f"CREATE ROLE {name} LOGIN")
            grants = grants.replace(f"TO {role};", f"TO {name};")
        try:
            connection.execute(grants)
            with licet.open(uris["engine"]) as engine, psycopg.connect(uris["app"], autocommit=True) as app:
                engine.write_schema("definition user {}\ndefinition document {\n  relation owner: user\n}")
                engine.import_relationships(["document:b#owner@user:bo"])
                (token,) = app.execute("SELECT licet.write(%s)", [one]).fetchone()
                assert engine.allowed("document:a", "owner", "user:ada", consistency=licet.at_least(token))
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    app.execute("SELECT * FROM licet.rel")
        finally:
            for name in roles.values():
                connection.execute(f"DROP OWNED BY {name}")
                connection.execute(f"DROP ROLE {name}")


@pytest.mark.parametrize("interpreter", ["lua5.4", "luajit"])
def test_the_lua_example_on_postgres_prints_what_its_page_says(database: str, interpreter: str) -> None:
    assert printed(interpreter, "examples/postgres.lua") == OUTPUTS["examples/postgres.lua"]


@pytest.mark.parametrize("interpreter", ["lua5.4", "luajit"])
@pytest.mark.parametrize("path", [path for path in OUTPUTS if path.endswith(".lua") and not NEEDS_DATABASE.match(path)])
def test_a_lua_example_prints_what_its_page_says(path: str, interpreter: str) -> None:
    assert printed(interpreter, path) == OUTPUTS[path]


def test_the_c_example_compiles_as_the_readme_says_and_prints_what_it_says(tmp_path: Path) -> None:
    flags = shlex.split(printed("pkg-config", "--cflags", "--libs", "licet"))
    strict = ["-std=c11", "-Wall", "-Wextra", "-Wconversion", "-Werror"]
    printed("cc", *strict, "examples/first.c", "-o", str(tmp_path / "first"), *flags)
    assert printed(str(tmp_path / "first")) == OUTPUTS["examples/first.c"]


@pytest.mark.parametrize(("command", "shown"), CONSOLES, ids=[command for command, _ in CONSOLES])
def test_a_command_of_a_page_prints_what_it_says(command: str, shown: str) -> None:
    assert printed(*shlex.split(command)) == shown


@pytest.mark.parametrize("interpreter", ["lua5.4", "luajit"])
def test_the_lua_demonstration_runs_to_its_end(interpreter: str) -> None:
    assert printed(interpreter, "examples/demo.lua").endswith("bo has left platform\n")


def test_make_env_prints_nothing_but_exports() -> None:
    lines = subprocess.run(["make", "env"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    assert [line.split("=")[0] for line in lines] == [
        "export PATH",
        "export LUA_PATH",
        "export LUA_CPATH",
        "export PKG_CONFIG_PATH",
    ]
    assert os.fspath(ROOT) in lines[0]

"""What is installed can be used: through pkg-config, through CMake, from a source archive."""

from __future__ import annotations

import os
import shlex
import subprocess
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
EXPECTED = "ada may view: yes\nbo may view: no\n"

CONSUMER = """
cmake_minimum_required(VERSION 3.20)
project(consumer C)
find_package(licet 0.1 REQUIRED)
add_executable(first {example})
target_link_libraries(first PRIVATE licet::licet)
"""


def printed(*command: str, **environment: str) -> str:
    env = {**os.environ, **environment}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The release build, installed."""
    folder = tmp_path_factory.mktemp("prefix")
    printed("cmake", "--install", "build/release", "--prefix", str(folder))
    return folder


def pkg_config(prefix: Path, *options: str) -> list[str]:
    folder = next(prefix.glob("lib*/**/licet.pc")).parent
    return shlex.split(printed("pkg-config", *options, "licet", PKG_CONFIG_PATH=str(folder)))


def test_a_program_links_the_shared_library_through_pkg_config(prefix: Path, tmp_path: Path) -> None:
    program = str(tmp_path / "first")
    printed("cc", "examples/first.c", "-o", program, *pkg_config(prefix, "--cflags", "--libs"))
    libraries = next(prefix.glob("lib*/**/liblicet.so")).parent
    assert printed(program, LD_LIBRARY_PATH=str(libraries)) == EXPECTED


def test_a_program_links_the_static_library_through_pkg_config(prefix: Path, tmp_path: Path) -> None:
    program = str(tmp_path / "first")
    flags = pkg_config(prefix, "--static", "--cflags", "--libs")
    archive = str(next(prefix.glob("lib*/**/liblicet.a")))
    flags = [archive if flag == "-llicet" else flag for flag in flags]
    printed("cc", "examples/first.c", "-o", program, *flags)
    assert printed(program) == EXPECTED


def test_a_program_links_the_library_through_its_cmake_package(prefix: Path, tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(CONSUMER.format(example=ROOT / "examples/first.c"), encoding="utf-8")
    build = str(tmp_path / "build")
    printed("cmake", "-S", str(tmp_path), "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}")
    printed("cmake", "--build", build)
    assert printed(f"{build}/first") == EXPECTED


def test_the_source_archive_of_the_python_package_holds_every_source(tmp_path: Path) -> None:
    python = str(ROOT / ".venv/bin/python")
    printed(python, "setup.py", "-q", "egg_info", "--egg-base", str(tmp_path), "sdist", "--dist-dir", str(tmp_path))
    with tarfile.open(next(tmp_path.glob("licet-*.tar.gz"))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    folders = ("core/**/*.[ch]", "bindings/*.h", "bindings/python/*.[ch]", "python/licet/**/*.py*")
    sources = {str(path.relative_to(ROOT)) for pattern in folders for path in ROOT.glob(pattern)}
    assert sources - names == set()
    assert {"setup.py", "pyproject.toml", "cmake/python.map", "LICENSE", "README.md"} <= names

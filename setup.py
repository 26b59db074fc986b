"""Builds licet._licet: the Python binding and the whole core in one extension module.

Environment:
    LICET_WITH_YAML=0         leave validation files out (then libyaml is not needed)
    LICET_WITH_POSTGRES=0     leave Postgres out (then libpq and libcrypto are not needed)
    LICET_WERROR=1            treat warnings as errors
    LICET_SANITIZE=address    sanitizers for everything, as in -fsanitize=
"""

import os
import platform
import re
import shlex
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from glob import glob
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent
os.chdir(ROOT)

SANITIZE = os.environ.get("LICET_SANITIZE", "")
WITH_YAML = os.environ.get("LICET_WITH_YAML", "1") != "0"
WITH_POSTGRES = os.environ.get("LICET_WITH_POSTGRES", "1") != "0"

# RE2 is C++; what wraps it is the only C++ of the core.
CXX_SOURCES = sorted(glob("core/*/*.cc"))
STANDARDS = {".c": "-std=c11", ".cc": "-std=c++17"}

# The flags of cmake/LicetFlags.cmake. Each is used where the compiler knows it.
COMPILE_FLAGS = [
    "-g",
    "-Wall",
    "-Wextra",
    "-Wformat=2",
    "-Wimplicit-fallthrough",
    "-Werror=format-security",
    "-fPIC",
    "-fvisibility=hidden",
    "-fno-delete-null-pointer-checks",
    "-fno-strict-overflow",
    "-fno-strict-aliasing",
    f"-ffile-prefix-map={ROOT}=.",
]
HARDENING_FLAGS = [
    "-fstack-protector-strong",
    "-fstack-clash-protection",
    "-ftrivial-auto-var-init=zero",
    "-fstrict-flex-arrays=3",
    "-mbranch-protection=standard" if platform.machine() in ("aarch64", "arm64") else "-fcf-protection=full",
]
LINK_FLAGS = ["-Wl,-z,relro", "-Wl,-z,now", "-Wl,-z,noexecstack", "-Wl,-z,nodelete"]


def version():
    """The version is decided in the public header and nowhere else."""
    header = (ROOT / "core/include/licet.h").read_text(encoding="utf-8")
    return ".".join(re.findall(r"^#define LICET_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)$", header, re.MULTILINE))


def pkg_config(option, packages):
    command = [os.environ.get("PKG_CONFIG", "pkg-config"), option, *packages]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        raise SystemExit("setup.py: pkg-config is needed to find the C libraries") from None
    if done.returncode != 0:
        raise SystemExit(f"setup.py: {' '.join(command)}: {done.stderr.strip()}")
    return shlex.split(done.stdout)


class BuildExtension(build_ext):
    """Compiles on all processors, and only what is older than its sources."""

    def build_extension(self, ext):
        headers = [os.path.getmtime(header) for header in ext.depends]
        ext.extra_compile_args += [flag for flag in self.optional_flags() if self.understands(flag)]
        objects = self.compiler.object_filenames(ext.sources, output_dir=self.build_temp)

        def compile_one(source, target):
            newest = max([*headers, os.path.getmtime(source)])
            if self.force or not os.path.exists(target) or os.path.getmtime(target) < newest:
                self.compiler.compile(
                    [source],
                    output_dir=self.build_temp,
                    macros=ext.define_macros,
                    include_dirs=ext.include_dirs,
                    extra_postargs=[STANDARDS[Path(source).suffix], *ext.extra_compile_args],
                )

        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            list(pool.map(compile_one, ext.sources, objects))
        sources, ext.sources, ext.extra_objects = ext.sources, [], objects
        ext.depends = [*ext.depends, *objects]
        try:
            super().build_extension(ext)
        finally:
            ext.sources, ext.extra_objects = sources, []

    def optional_flags(self):
        if SANITIZE:
            return []
        return HARDENING_FLAGS

    def understands(self, flag):
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, "flag.c")
            source.write_text("int licet_flag;\n")
            command = [*self.compiler.compiler_so, "-Werror", flag, "-c", str(source), "-o", os.devnull]
            return subprocess.run(command, capture_output=True).returncode == 0


def c_sources():
    found = glob("bindings/python/*.c") + glob("core/*/*.c") + glob("core/*/*/*.c")
    return sorted(source for source in found if WITH_POSTGRES or not source.startswith("core/datastore/postgres/"))


def extension():
    packages = ["libxxhash"]
    macros = [("_GNU_SOURCE", None)]
    if WITH_YAML:
        packages += ["yaml-0.1"]
        macros += [("LICET_WITH_YAML", "1")]
    if WITH_POSTGRES:
        packages += ["libpq", "libcrypto"]
        macros += [("LICET_WITH_POSTGRES", "1")]
    if CXX_SOURCES:
        packages += ["re2"]
    compile_flags = list(COMPILE_FLAGS)
    link_flags = [*LINK_FLAGS, "-Wl,--version-script=cmake/python.map"]
    if SANITIZE:
        compile_flags += ["-O1", "-UNDEBUG", f"-fsanitize={SANITIZE}", "-fno-omit-frame-pointer"]
        link_flags += [f"-fsanitize={SANITIZE}"]
        if "undefined" in SANITIZE:
            compile_flags += ["-fno-sanitize-recover=undefined"]
    else:
        compile_flags += ["-O2", "-DNDEBUG", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=3"]
    if os.environ.get("LICET_WERROR", "0") != "0":
        compile_flags += ["-Werror"]
    return Extension(
        "licet._licet",
        sources=c_sources() + CXX_SOURCES,
        depends=[*sorted(glob("bindings/**/*.h", recursive=True) + glob("core/**/*.h", recursive=True)), "setup.py"],
        include_dirs=["core", "core/include", "bindings/python"],
        define_macros=macros,
        extra_compile_args=compile_flags + pkg_config("--cflags", packages),
        extra_link_args=link_flags
        + pkg_config("--libs", packages)
        + ["-pthread"]
        + (["-lstdc++"] if CXX_SOURCES else []),
    )


setup(version=version(), ext_modules=[extension()], cmdclass={"build_ext": BuildExtension})

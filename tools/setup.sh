#!/bin/sh
# Installs what is missing to build (`setup.sh build`), or also to test and lint (`setup.sh test`) or to fuzz (`setup.sh
# fuzz`), licet on a Debian-like system, and makes .venv. Asks nothing, does nothing when nothing is missing.
set -eu
cd "$(dirname "$0")/.."
level=${1:-build}
missing=

say() { printf '==> %s\n' "$*" >&2; }

# need PACKAGE COMMAND...: the package is missing when the command fails.
need() {
    package=$1
    shift
    "$@" >/dev/null 2>&1 || missing="$missing $package"
}

on_path() { command -v "$1"; }
library() { pkg-config --exists "$@"; }
python_can() { python3 -c "$1"; }
has_libfuzzer() { test -e "$(clang -print-file-name="libclang_rt.fuzzer-$(uname -m).a")"; }

look() {
    missing=
    need gcc on_path cc
    need libc6-dev test -e /usr/include/stdlib.h
    need make on_path make
    need cmake on_path cmake
    need ninja-build on_path ninja
    need pkg-config on_path pkg-config
    need libjansson-dev library jansson
    need libyaml-dev library yaml-0.1
    need libxxhash-dev library libxxhash
    need libpq-dev library libpq
    need libssl-dev library libcrypto
    if ls core/*/*.cc >/dev/null 2>&1; then
        need g++ on_path c++
        need libre2-dev library re2
    fi
    need python3 on_path python3
    need python3-venv python_can 'import venv, ensurepip'
    need python3-dev python_can \
        'import os, sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")'
    need lua5.4 on_path lua5.4
    need liblua5.4-dev library lua5.4
    need luajit on_path luajit
    need libluajit-5.1-dev library luajit
    if [ "$level" = test ]; then
        need libcmocka-dev library cmocka
        need lua-busted lua5.4 -e 'require "busted"'
        need cppcheck on_path cppcheck
        need clang-tidy on_path clang-tidy
        need util-linux on_path setarch
        need postgresql sh -c "ls /usr/lib/postgresql/*/bin/postgres"
        need pgbouncer test -x /usr/sbin/pgbouncer
        need libfaketime sh -c "ls /usr/lib/*/faketime/libfaketime.so.1"
    fi
    if [ "$level" = fuzz ]; then
        need clang on_path clang
        need libclang-rt-dev has_libfuzzer
    fi
}

install_packages() {
    if [ "$(id -u)" = 0 ]; then
        as_root=
    elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
        as_root="sudo -n"
    else
        as_root=none
    fi
    if [ "$as_root" = none ] || ! command -v apt-get >/dev/null 2>&1; then
        say "These packages (Debian's names) are missing, and this script may not install them:"
        say "  $missing"
        say "As root: apt-get install$missing"
        exit 1
    fi
    say "Installing:$missing"
    $as_root apt-get -qq update >&2
    # shellcheck disable=SC2086
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install $missing >&2
}

make_venv() {
    stamp=.venv/.requirements
    if [ -e "$stamp" ] && cmp -s tools/requirements.txt "$stamp" && .venv/bin/python -c '' 2>/dev/null; then
        return
    fi
    say "Making .venv"
    python3 -m venv --clear .venv
    .venv/bin/python -m pip --disable-pip-version-check install -q -r tools/requirements.txt >&2
    cp tools/requirements.txt "$stamp"
}

look
if [ -n "$missing" ]; then
    install_packages
    look
    if [ -n "$missing" ]; then
        say "Still missing after the installation:$missing"
        exit 1
    fi
fi
make_venv

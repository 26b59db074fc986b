#!/bin/sh
# Runs the benchmarks that need nothing else: the C programs, then the scripts for Python, Lua 5.4 and LuaJIT. Beside them
# there are `make compare` and `make scale`.
# Numbers mean something on an idle machine only.
set -u
cd "$(dirname "$0")/.."
status=0

measure() {
    printf '\n==> %s\n' "$*"
    "$@" || status=1
}

# The data sets: the same on every machine. The larger one, of a million relationships, is for memory.
[ -f build/bench-data/lookup.txt ] || measure .venv/bin/python bench/data/generate.py build/bench-data
[ -d build/bench-data-40 ] || measure .venv/bin/python bench/data/generate.py build/bench-data-40 --scale 40
for source in bench/*.c; do
    program=build/release/bench/$(basename "$source" .c)
    [ -x "$program" ] || continue
    case $program in
    */caller) ;; # a part of bench/compare
    */postgres) measure python3 tools/postgres.py run -- "$program" ;; # a server of its own
    *) measure "$program" ;;
    esac
done
for script in bench/*.py; do
    [ -e "$script" ] && measure .venv/bin/python "$script"
done
for script in bench/*.lua; do
    [ -e "$script" ] || continue
    measure lua5.4 "$script"
    measure luajit "$script"
done
exit $status

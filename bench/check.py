"""Checks from Python over the benchmark's data, beside an empty extension call with three strings and beside the same
checks from C in the same run. Bound: the C time + 250 ns a call.

    python bench/check.py [FOLDER [C_PROGRAM]]     build/bench-data and build/release/bench/check by default
"""

import importlib.machinery
import importlib.util
import os
import re
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time

import licet

HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS = float(os.environ.get("BENCH_TIME", "1"))
MARGIN_NS = 250


def empty_call():
    """Compiles the floor with the C compiler at hand and returns its function."""
    folder = tempfile.mkdtemp(prefix="licet-bench-")
    path = os.path.join(folder, "empty_python.so")
    include = sysconfig.get_paths()["include"]
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-I" + include, os.path.join(HERE, "support", "empty_python.c"),
                    "-o", path], check=True)
    loader = importlib.machinery.ExtensionFileLoader("empty_python", path)
    spec = importlib.util.spec_from_loader("empty_python", loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module.call


def read(folder, name):
    with open(os.path.join(folder, name), encoding="ascii") as lines:
        return [line.split() for line in lines]


def load(folder):
    engine = licet.open()
    with open(os.path.join(folder, "schema.zed"), encoding="utf-8") as text:
        engine.write_schema(text.read())
    with open(os.path.join(folder, "relationships.txt"), encoding="ascii") as lines:
        rows = [line.rstrip("\n") for line in lines]
    for at in range(0, len(rows), 1000):
        engine.write([licet.touch(row) for row in rows[at:at + 1000]])
    return engine


def median_ns(function, calls):
    """Median over batches of the time of one call; `calls` is the list of argument tuples of a batch."""
    samples = []
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        start = time.perf_counter_ns()
        for a, b, c in calls:
            function(a, b, c)
        samples.append((time.perf_counter_ns() - start) / len(calls))
    return statistics.median(samples)


def median_bulk_ns(engine, groups):
    samples = []
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        for group in groups:
            start = time.perf_counter_ns()
            engine.check_bulk(group)
            samples.append(time.perf_counter_ns() - start)
    return statistics.median(samples)


def c_medians(program, folder):
    """{(check, request): ns} as the C benchmark prints them."""
    out = subprocess.run([program, folder], check=True, capture_output=True, text=True).stdout
    return {(m[1], m[2]): float(m[3]) for m in re.finditer(r"^  (\S+) +(repeated|varied) +([\d.]+)", out, re.M)}


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else "build/bench-data"
    program = sys.argv[2] if len(sys.argv) > 2 else "build/release/bench/check"
    from_c = c_medians(program, folder)
    engine = load(folder)
    empty = empty_call()
    print("checks from Python")
    for name in ("direct", "nested", "denied"):
        questions = [(r, p, s) for r, p, s, _ in read(folder, name + ".txt")]
        expected = [answer == "yes" for *_, answer in read(folder, name + ".txt")]
        assert [engine.allowed(*q) for q in questions] == expected, name
        floor, mine, ours = median_ns(empty, questions), median_ns(engine.allowed, questions), from_c[name, "varied"]
        print("  %-8s varied   %8.1f ns; C %.1f ns; empty call %.1f ns; over C %.1f ns (bound %d)%s" % (
            name, mine, ours, floor, mine - ours, MARGIN_NS, "" if mine - ours <= MARGIN_NS else "  MISSED"))
    lines = read(folder, "bulk.txt")
    groups = [[(r, p, s) for r, p, s, _ in lines[at:at + 100]] for at in range(0, len(lines), 100)]
    mine, ours = median_bulk_ns(engine, groups), from_c["bulk-100", "varied"]
    print("  bulk-100 varied   %8.1f ns; C %.1f ns; over C %.1f ns a check" % (mine, ours, (mine - ours) / 100))


if __name__ == "__main__":
    main()

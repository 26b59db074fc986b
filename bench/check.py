"""Checks and lookups from Python over the benchmark's data, beside an empty extension call with three strings and beside
the same from C, which are run right before. Bound: the C time + 250 ns an answer.

    python bench/check.py [FOLDER [C_PROGRAMS]]     build/bench-data and build/release/bench by default
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


def median_each_ns(function, things):
    """Median of the time of one call, each with one of the things."""
    samples = []
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        for thing in things:
            start = time.perf_counter_ns()
            function(thing)
            samples.append(time.perf_counter_ns() - start)
    return statistics.median(samples)


def printed(programs, name, folder):
    return subprocess.run([os.path.join(programs, name), folder], check=True, capture_output=True, text=True).stdout


def c_medians(programs, folder):
    """ns by the name of a check, varied, and of the lookup, as the C benchmarks print them."""
    checks = re.finditer(r"^  (\S+) +varied +([\d.]+)", printed(programs, "check", folder), re.M)
    lookup = re.search(r"^  109 of 10,000, repeated +([\d.]+)", printed(programs, "lookup", folder), re.M)
    return {**{found[1]: float(found[2]) for found in checks}, "lookup": float(lookup[1]) * 1000}


def tell(name, request, mine, ours, answers, more=""):
    over = (mine - ours) / answers
    print("  %-8s %-8s %8.1f ns; C %.1f ns%s; over C %.1f ns an answer (bound %d)%s" % (
        name, request, mine, ours, more, over, MARGIN_NS, "" if over <= MARGIN_NS else "  MISSED"))


def compare_checks(engine, folder, from_c):
    empty = empty_call()
    for name in ("direct", "nested", "denied"):
        questions = [(r, p, s) for r, p, s, _ in read(folder, name + ".txt")]
        expected = [answer == "yes" for *_, answer in read(folder, name + ".txt")]
        assert [engine.allowed(*q) for q in questions] == expected, name
        floor, mine = median_ns(empty, questions), median_ns(engine.allowed, questions)
        tell(name, "varied", mine, from_c[name], 1, "; empty call %.1f ns" % floor)


def compare_bulk(engine, folder, from_c):
    def check(items):
        return [result.allowed for result in engine.check_bulk(items)]

    lines = read(folder, "bulk.txt")
    groups = [lines[at:at + 100] for at in range(0, len(lines), 100)]
    asked = [[(r, p, s) for r, p, s, _ in group] for group in groups]
    assert [check(items) for items in asked] == [[answer == "yes" for *_, answer in group] for group in groups]
    tell("bulk-100", "varied", median_each_ns(check, asked), from_c["bulk-100"], 100)


def compare_lookups(engine, folder, from_c):
    def look_up(user):
        return list(engine.lookup_resource_ids("document", "view", user))

    users = read(folder, "lookup.txt")
    assert all(sorted(look_up(user)) == sorted(ids) for user, *ids in users)
    reader, *ids = users[0]
    tell("lookup", "repeated", median_each_ns(look_up, [reader]), from_c["lookup"], len(ids))


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else "build/bench-data"
    programs = sys.argv[2] if len(sys.argv) > 2 else "build/release/bench"
    from_c = c_medians(programs, folder)
    engine = load(folder)
    print("checks and lookups from Python")
    compare_checks(engine, folder, from_c)
    compare_bulk(engine, folder, from_c)
    compare_lookups(engine, folder, from_c)


if __name__ == "__main__":
    main()

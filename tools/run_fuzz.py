"""Fuzzes the entries of tests/fuzz/, from the inputs that are kept under tests/fuzz/corpus/.

    run_fuzz.py [--seconds N] [--jobs N] [ENTRY ...]     each entry for so long; ends with one line for each
    run_fuzz.py --keep [ENTRY ...]                       keeps what earlier runs have found, as far as it adds something

A finding is an input that breaks a law of its entry, makes a sanitizer speak, takes too long or too much memory. It is
written to build/fuzz/findings/ENTRY/, and the exit status is 1. What runs find lies in build/fuzz/found/ENTRY/ until it
is kept; the next run begins there.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "fuzz"
SOURCES = ROOT / "tests" / "fuzz"
JOBS = os.cpu_count() or 2

# A slow input is slow many times over under sanitizers: these are about a tenth of it in a release build.
LIMITS = ["-timeout=10", "-report_slow_units=2", "-rss_limit_mb=2048"]
ENVIRONMENT = {
    **os.environ,
    "ASAN_OPTIONS": "detect_stack_use_after_return=1:allocator_may_return_null=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}
SECONDS_BETWEEN_LINES = 30
MOST_BYTES_KEPT = 4096  # of one input

# "#1234	NEW    cov: 12 ft: 34 corp: 5/67Kb ..."
STATUS = re.compile(r"#(\d+)\s+\w+\s+cov: (\d+) ft: (\d+) corp: (\d+)/")

speaking = threading.Lock()


def say(text: str) -> None:
    with speaking:
        print(text, flush=True)


@dataclass
class Progress:
    entry: str
    runs: int = 0
    edges: int = 0
    features: int = 0
    inputs: int = 0
    seconds: float = 0
    findings: int = 0

    def read(self, line: str) -> None:
        if match := STATUS.match(line):
            self.runs, self.edges, self.features, self.inputs = (int(group) for group in match.groups())
        elif match := re.match(r"stat::number_of_executed_units:\s+(\d+)", line):
            self.runs = int(match.group(1))

    def __str__(self) -> str:
        return (
            f"{self.entry:14}{self.runs:12,} runs {self.seconds:6.0f} s {self.edges:7,} edges"
            f" {self.features:7,} features {self.inputs:6,} inputs {self.findings:4} findings"
        )


def program(entry: str) -> str:
    return str(BUILD / "fuzz" / entry)


def dictionary(entry: str) -> list[str]:
    path = SOURCES / "dictionaries" / f"{entry}.dict"
    return [f"-dict={path}"] if path.exists() else []


def folder(*parts: str) -> Path:
    path = BUILD.joinpath(*parts)
    path.mkdir(parents=True, exist_ok=True)
    return path


def fuzz(entry: str, seconds: int) -> Progress:
    progress = Progress(entry)
    findings = folder("findings", entry)
    kept = SOURCES / "corpus" / entry
    command = [program(entry), f"-max_total_time={seconds}", "-print_final_stats=1", *LIMITS, *dictionary(entry)]
    command += [f"-artifact_prefix={findings}/", str(folder("found", entry)), *([str(kept)] if kept.is_dir() else [])]
    before = set(findings.iterdir())
    started = said = time.monotonic()
    lines = []
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    assert process.stdout is not None
    for line in process.stdout:
        lines.append(line)
        progress.read(line)
        progress.seconds = time.monotonic() - started
        if time.monotonic() - said >= SECONDS_BETWEEN_LINES:
            said = time.monotonic()
            say(f"    {progress}")
    status = process.wait()
    new = sorted(set(findings.iterdir()) - before)
    progress.findings = max(len(new), 1 if status != 0 else 0)
    (BUILD / f"{entry}.log").write_text("".join(lines), encoding="utf-8")
    if progress.findings:
        say("".join(f"    {line}" for line in lines[-60:]))
        say("".join(f"    {entry}: {path.relative_to(ROOT)}\n" for path in new))
    return progress


def fuzz_all(entries: list[str], seconds: int, jobs: int) -> int:
    say(f"==> Fuzzing {', '.join(entries)}: {seconds} s each, {jobs} at a time")
    with ThreadPoolExecutor(jobs) as pool:
        results = list(pool.map(lambda entry: fuzz(entry, seconds), entries))
    print()
    for progress in results:
        print(f"    {progress}")
    findings = sum(progress.findings for progress in results)
    print(f"{len(results)} entries, {findings} findings", flush=True)
    return 1 if findings else 0


def keep(entry: str) -> int:
    """The fewest inputs that reach all that kept and found ones reach, each of them small. Those that somebody has
    given a name stay: libFuzzer's are named after their digest."""
    kept = SOURCES / "corpus" / entry
    small = folder("small", entry)
    chosen = folder("chosen", entry)
    for directory in (small, chosen):
        shutil.rmtree(directory)
        directory.mkdir()
    for source in (folder("found", entry), kept):
        for path in source.iterdir() if source.is_dir() else []:
            named = not re.fullmatch(r"[0-9a-f]{40}", path.name)
            if named or path.stat().st_size <= MOST_BYTES_KEPT:
                shutil.copyfile(path, (chosen if named else small) / path.name)
    merge = [program(entry), "-set_cover_merge=1", "-use_counters=0", str(chosen), str(small)]
    result = subprocess.run(merge, cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, errors="replace")
    if result.returncode != 0:
        say(result.stderr)
        return 1
    shutil.rmtree(kept, ignore_errors=True)
    shutil.copytree(chosen, kept)
    sizes = [path.stat().st_size for path in kept.iterdir()]
    say(f"    {entry:14}{len(sizes):6,} inputs {sum(sizes):9,} bytes")
    return 0


def build() -> int:
    for command in (["cmake", "--preset", "fuzz"], ["cmake", "--build", "--preset", "fuzz", "-j", str(JOBS)]):
        result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        if result.returncode != 0:
            say(result.stdout + result.stderr)
            return 1
    return 0


def main() -> int:
    known = sorted(path.stem for path in SOURCES.glob("*.c"))
    parser = argparse.ArgumentParser(description="Fuzzes the entries of tests/fuzz/.")
    parser.add_argument("--seconds", type=int, default=60, help="for each entry (60)")
    parser.add_argument("--jobs", type=int, default=JOBS, help="entries at a time (as many as processors)")
    parser.add_argument("--keep", action="store_true", help="renew tests/fuzz/corpus from what runs have found")
    parser.add_argument("entries", nargs="*", metavar="ENTRY", help=f"of {', '.join(known)}; none: all")
    arguments = parser.parse_args()
    if unknown := set(arguments.entries) - set(known):
        parser.error(f"no such entry: {', '.join(sorted(unknown))}")
    entries = arguments.entries or known
    say("==> Building the fuzzers")
    if build() != 0:
        return 1
    if arguments.keep:
        say("==> Keeping what was found")
        return max(keep(entry) for entry in entries)
    return fuzz_all(entries, arguments.seconds, arguments.jobs)


if __name__ == "__main__":
    sys.exit(main())

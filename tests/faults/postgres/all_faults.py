"""Runs all programs of this folder, with full counts (`make faults`) or with the arguments given.

    python tests/faults/postgres/all_faults.py [--count N] [--seed N]

Their lines of counts come together at the end. The status is 1 if anything was wrong in any of them.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent

PROGRAMS = (
    "killed",
    "imports",
    "frozen",
    "new_enemy",
    "interleaved",
    "clocks",
    "forks",
    "prefork",
    "failovers",
    "refusals",
    "confidential",
    "wire",
)


def main() -> int:
    arguments = sys.argv[1:] or ["--full"]
    failed, lines = 0, []
    for name in PROGRAMS:
        print(f"==> {name} {' '.join(arguments)}", flush=True)
        command = [sys.executable, str(FOLDER / f"{name}.py"), *arguments]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
        print(done.stdout, end="", flush=True)
        failed += done.returncode != 0
        lines += done.stdout.splitlines()[-1:] or [f"{name}: nothing, status {done.returncode}"]
    print("\n".join(["", *lines]))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

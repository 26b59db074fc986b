"""The programs of this folder, a reduced number of times. `make faults` runs them in full."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from all_faults import PROGRAMS

FOLDER = Path(__file__).resolve().parent


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_fault_goes_unanswered(name, postgres_uri, capsys):
    """postgres_uri: where there is one for tests, there are the programs to start more."""
    done = subprocess.run([sys.executable, str(FOLDER / f"{name}.py")], capture_output=True, text=True, timeout=1200)
    with capsys.disabled():
        print("\n" + (done.stdout.strip() or f"{name}: status {done.returncode}"))
    assert (done.returncode, done.stderr) == (0, "")


def test_every_program_is_run():
    parts = {"all_faults", "common", "proxy", "test_postgres_faults", "test_private_postgres"}
    assert {path.stem for path in FOLDER.glob("*.py")} == {*PROGRAMS, *parts}

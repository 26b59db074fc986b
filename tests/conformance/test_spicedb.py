"""SpiceDB's own files, through Python: its validation files, and its parser's texts with their verdicts.

They are read from $LICET_SHARED/conformance.
"""

from __future__ import annotations

import functools
import json
import os
import re
from pathlib import Path

import licet
import pytest
import stores
from licet import validation

SHARED = Path(os.environ.get("LICET_SHARED") or Path(__file__).resolve().parents[3] / "shared") / "conformance"
VALIDATION_FILES = sorted((SHARED / "spicedb").glob("*.yaml"))
MANIFEST = SHARED / "parser" / "manifest.json"
VERDICTS = json.loads(MANIFEST.read_text()) if MANIFEST.exists() else {}

needs_shared = pytest.mark.skipif(not VALIDATION_FILES or not VERDICTS, reason="no shared test data; see LICET_SHARED")


def entries(text, key):
    """Items of the lists under a top-level key, counted without a YAML parser: lines that begin with a dash."""
    count, inside = 0, False
    for line in text.splitlines():
        if re.match(r"[a-zA-Z_]", line):
            inside = line.startswith(f"{key}:")
        elif inside and re.match(r"\s*-\s", line):
            count += 1
    return count


@functools.cache
def validated(path):
    """licet.validate(), in the store that is tested."""
    if stores.chosen() == stores.MEMORY:
        return licet.validate(path)
    with stores.open() as engine:
        text, folder = validation.read(path), validation.folder_of(path)
        return validation._report(path, licet._licet.validate(stores.plain(engine), text, folder))


@needs_shared
@pytest.mark.parametrize("path", VALIDATION_FILES, ids=lambda path: path.name)
def test_every_assertion_of_a_validation_file_holds(path):
    text = path.read_text()
    report = validated(path)
    assert report.failures == ()
    assert report.assertions == entries(text, "assertions")
    assert report.expected_relations == entries(text, "validation")
    assert report.relationships > 0


@needs_shared
def test_every_file_is_counted():
    reports = list(map(validated, VALIDATION_FILES))
    assert len(reports) == 41
    assert all(reports)
    assert sum(report.assertions for report in reports) == 208


@needs_shared
@pytest.mark.parametrize("name, verdict", VERDICTS.items())
def test_the_parser_agrees_with_spicedbs(name, verdict):
    """SpiceDB's verdict is that of its parser alone; what does not fit the types is wrong in a later step."""
    text = (SHARED / "parser" / name).read_bytes().decode("utf-8", "surrogateescape")
    try:
        licet.Schema.parse(text, folder=SHARED / "parser")
    except licet.Error as error:
        found = "error" if error.kind == "syntax" else "ok"
    else:
        found = "ok"
    assert found == verdict

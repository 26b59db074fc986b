"""The project's own scenario files, through Python: validation files that hold, and schemas with the outcome that their
first line tells ("// ok", or "// error KIND LINE:COLUMN MESSAGE")."""

from __future__ import annotations

from pathlib import Path

import licet
import pytest
from test_spicedb import entries, validated

FOLDER = Path(__file__).resolve().parent / "cases"
SCENARIOS = sorted(FOLDER.glob("*.yaml"))
SCHEMAS = sorted((FOLDER / "schema").glob("*.zed"))


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_a_scenario_holds(path):
    text = path.read_text(encoding="utf-8")
    report = validated(path)
    assert report.failures == ()
    assert report.assertions == entries(text, "assertions") > 0
    assert report.expected_relations == entries(text, "validation")
    assert report.relationships > 0


@pytest.mark.parametrize("path", SCHEMAS, ids=lambda path: path.stem)
def test_a_schema_has_its_outcome(path):
    text = path.read_bytes().decode("utf-8")
    try:
        licet.Schema.parse(text)
        found = "// ok"
    except licet.SchemaError as error:
        found = f"// error {error.kind} {error.line}:{error.column} {error.message}"
    assert found == text.splitlines()[0]


def test_there_are_scenarios_and_schemas():
    assert SCENARIOS and SCHEMAS

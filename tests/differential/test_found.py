"""What operations.py found to differ from SpiceDB, once, and no longer does. Each file holds a schema, relationships,
requests that are made in turn, and SpiceDB's answer to the last."""

import json
from pathlib import Path

import pytest
from operations_peers import Licet

FOUND = sorted((Path(__file__).parent / "found").glob("*.json"))


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.stem)
def test_licet_answers_as_spicedb_did(path):
    case = json.loads(path.read_text(encoding="utf-8"))
    with Licet(case["schema"], case["relationships"]) as peer:
        for request in case["requests"]:
            answer = peer.ask(request)
    assert json.loads(json.dumps(answer)) == case["expected"]

"""The lookups of SpiceDB's load tests, through Python: what they find is what SpiceDB's answers were recorded to be, whole
and in pages of any size.

The files are read from $LICET_SHARED/conformance/steelthread; its manifest says what is asked of which data.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import licet
import pytest
import stores
from consistency import HAS, pages

SHARED = Path(os.environ.get("LICET_SHARED") or Path(__file__).resolve().parents[3] / "shared") / "conformance"
MANIFEST = SHARED / "steelthread" / "manifest.json"
LOOKUPS = json.loads(MANIFEST.read_text()) if MANIFEST.exists() else []

# A prefetching engine fetches everything anew for each page.
SIZES = [0, 100, 1000] if stores.chosen() == "postgres-prefetch" else [0, 1, 7, 100, 1000]

needs_shared = pytest.mark.skipif(not LOOKUPS, reason="no shared test data; see LICET_SHARED")


def load(name):
    engine = stores.open()
    licet._licet.validate(stores.plain(engine), (MANIFEST.parent / name).read_bytes(), None, True)
    return engine


def recorded(name):
    """One answer a line, in single quotes: an id, or a wildcard and those that it does not stand for."""
    lines = (MANIFEST.parent / name).read_text().splitlines()
    return [re.fullmatch(r"- '(.+)'", line)[1] for line in lines if line != "---"]


def answer(found):
    """As it is recorded."""
    assert (found.permissionship, found.missing_context) == (HAS, ())
    if isinstance(found, licet.FoundResource):
        return found.resource_id
    assert all(e.permissionship == HAS for e in found.excluded)
    excluded = ", ".join(sorted(e.subject_id for e in found.excluded))
    return f"{found.subject_id} - [{excluded}]" if excluded else found.subject_id


def lookup(engine, asked, **page):
    if asked["op"] == "lookup_resources":
        return engine.lookup_resources(asked["resource_type"], asked["permission"], asked["subject"], **page)
    return engine.lookup_subjects(asked["resource"], asked["permission"], asked["subject_type"], **page)


@needs_shared
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("asked", LOOKUPS, ids=lambda asked: asked["expect"].split(".")[0])
def test_a_lookup_finds_what_spicedb_found(asked, size):
    with load(asked["data"]) as engine:
        found = pages(lambda **page: lookup(engine, asked, **page), size)
    assert sorted(answer(one) for page in found for one in page) == recorded(asked["expect"])


@needs_shared
def test_every_lookup_of_the_manifest_is_made():
    assert [len(recorded(asked["expect"])) for asked in LOOKUPS] == [1600, 6, 498, 93]
    assert {asked["op"] for asked in LOOKUPS} == {"lookup_subjects", "lookup_resources"}


@needs_shared
def test_every_recorded_answer_is_in_the_manifest():
    assert {path.name for path in MANIFEST.parent.glob("*-results.yaml")} == {asked["expect"] for asked in LOOKUPS}

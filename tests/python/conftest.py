"""A small world that most tests use."""

from __future__ import annotations

from collections.abc import Iterator

import hypothesis
import licet
import pytest

# A machine that does other things too is no reason to fail, and the tree stays as it is.
hypothesis.settings.register_profile("licet", deadline=None, database=None)
hypothesis.settings.load_profile("licet")

SCHEMA = """\
definition user {}

definition group {
  relation member: user | group#member
}

definition document {
  relation owner: user
  relation viewer: user | user:* | group#member
  relation banned: user
  permission edit = owner
  permission view = (viewer + edit) - banned
}
"""

RELATIONSHIPS = (
    "document:plan#owner@user:ada",
    "document:plan#viewer@group:eng#member",
    "document:plan#banned@user:cy",
    "document:open#viewer@user:*",
    "group:eng#member@user:bo",
    "group:eng#member@user:cy",
)


@pytest.fixture
def empty() -> Iterator[licet.Engine]:
    """An engine without a schema."""
    with licet.open() as engine:
        yield engine


@pytest.fixture
def engine(empty: licet.Engine) -> licet.Engine:
    """An engine that holds the small world."""
    empty.write_schema(SCHEMA)
    empty.touch(*RELATIONSHIPS)
    return empty

"""Small immutable answers of the engine."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class Permissionship(IntEnum):
    """The three answers of a check. Zero is no; only HAS_PERMISSION is a grant."""

    NO_PERMISSION = 0
    HAS_PERMISSION = 1
    CONDITIONAL = 2


class Stats(NamedTuple):
    """Counts and sizes of an engine at one moment."""

    relationships: int
    """Relationships at head."""
    objects: int
    """Distinct objects seen."""
    memory_bytes: int
    """All memory of the engine, to the byte."""
    memory_limit_bytes: int
    graph_bytes: int
    """Of memory_bytes: the graph beside the id strings."""
    id_bytes: int
    """Of memory_bytes: the id strings."""
    delta_changes: int
    """Changes that are not merged into the graph's base yet."""
    merges: int
    """Merges done."""
    revision: int
    """Of the head."""
    oldest_revision: int
    """The oldest one that can still be read exactly."""


class Deletion(NamedTuple):
    """What Engine.delete_relationships() did."""

    deleted_count: int
    partial: bool
    """The count equals the limit: there may be more, call again."""
    token: str
    """Names the revision from which the deletion is visible."""


class Lint(NamedTuple):
    """Something in a schema that is allowed and rarely meant."""

    name: str
    message: str
    line: int
    column: int

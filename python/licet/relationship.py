"""Relationships, and what a write is made of: changes to them, and preconditions."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any, NamedTuple

from . import _licet
from .context import datetime_of, moment


class _Fields(NamedTuple):
    resource_type: str
    resource_id: str
    relation: str
    subject_type: str
    subject_id: str
    subject_relation: str | None
    caveat_name: str | None
    caveat_context: str | None
    expiration: str | None


class Relationship(_Fields):
    """One relationship: `document:readme#viewer@group:eng#member`, perhaps with a caveat and an expiration.

    Immutable and hashable. A context is given as a dict (see licet.context) or as JSON text, an expiration as a datetime
    that has a time zone or as RFC 3339; the fields hold their texts, `context` and `expires_at` give them back as values.
    Nothing else is checked until it is used: the engine says what is wrong with a field, and `str()` refuses what it can
    not write. Relationships are equal if their texts are.
    """

    __slots__ = ()

    def __new__(
        cls,
        resource_type: str,
        resource_id: str,
        relation: str,
        subject_type: str,
        subject_id: str,
        subject_relation: str | None = None,
        caveat_name: str | None = None,
        caveat_context: dict[str, Any] | str | None = None,
        expiration: datetime | str | None = None,
    ) -> Relationship:
        if isinstance(caveat_context, dict):
            caveat_context = _licet.context_text(caveat_context)
        if isinstance(expiration, datetime):
            if expiration.utcoffset() is None:
                raise ValueError("expiration: a datetime without a time zone is no moment")
            expiration = moment(expiration)
        return super().__new__(
            cls,
            resource_type,
            resource_id,
            relation,
            subject_type,
            subject_id,
            subject_relation,
            caveat_name,
            caveat_context,
            expiration,
        )

    @classmethod
    def parse(cls, text: str, *, strict: bool = False) -> Relationship:
        """Reads SpiceDB's notation. strict refuses a key twice in the context, of which SpiceDB takes the last.

        Raises InvalidArgument with a column, LimitExceeded, TypeError.
        """
        return cls._make(_licet.parse_relationship(text, strict=strict))

    def _replace(self, **changes: Any) -> Relationship:
        return type(self)(**{**self._asdict(), **changes})

    @property
    def resource(self) -> str:
        """`document:readme`, as checks take it."""
        return f"{self.resource_type}:{self.resource_id}"

    @property
    def subject(self) -> str:
        """`group:eng#member` or `user:ada`, as checks take it."""
        relation = "" if self.subject_relation is None else f"#{self.subject_relation}"
        return f"{self.subject_type}:{self.subject_id}{relation}"

    @property
    def context(self) -> dict[str, Any]:
        """The caveat's stored context; empty when there is none. Raises ValueError if the text is no JSON object."""
        values = {} if self.caveat_context is None else json.loads(self.caveat_context)
        if not isinstance(values, dict):
            raise ValueError("the context is no JSON object")
        return values

    @property
    def expires_at(self) -> datetime | None:
        """The expiration in UTC, to the microsecond. Raises ValueError if the text is no RFC 3339 time."""
        return None if self.expiration is None else datetime_of(self.expiration)

    def __str__(self) -> str:
        return _licet.format_relationship(self)

    def __repr__(self) -> str:
        try:
            return f"<Relationship {self}>"
        except (_licet.Error, TypeError):
            return f"<Relationship {tuple(self)!r}>"


class Filter(NamedTuple):
    """Which relationships: every field that is given must match. See Engine.read_relationships()."""

    resource_type: str | None = None
    resource_id: str | None = None
    resource_id_prefix: str | None = None
    relation: str | None = None
    subject_type: str | None = None
    subject_id: str | None = None
    subject_relation: str | None = None


class Update(NamedTuple):
    """One change, made by create(), touch() or delete(), for Engine.write()."""

    operation: int
    relationship: str | Relationship


class Precondition(NamedTuple):
    """What must hold before a write, made by must_match() or must_not_match()."""

    expectation: int
    filter: Filter


def create(relationship: str | Relationship) -> Update:
    """A relationship that must not exist yet."""
    return Update(1, relationship)


def touch(relationship: str | Relationship) -> Update:
    """A relationship, whether it exists or not; its caveat and expiration are replaced."""
    return Update(2, relationship)


def delete(relationship: str | Relationship) -> Update:
    """No such relationship any more; it may be absent already."""
    return Update(3, relationship)


def must_match(
    *,
    resource_type: str | None = None,
    resource_id: str | None = None,
    resource_id_prefix: str | None = None,
    relation: str | None = None,
    subject_type: str | None = None,
    subject_id: str | None = None,
    subject_relation: str | None = None,
) -> Precondition:
    """At least one relationship matches, before the write."""
    return Precondition(
        2, Filter(resource_type, resource_id, resource_id_prefix, relation, subject_type, subject_id, subject_relation)
    )


def must_not_match(
    *,
    resource_type: str | None = None,
    resource_id: str | None = None,
    resource_id_prefix: str | None = None,
    relation: str | None = None,
    subject_type: str | None = None,
    subject_id: str | None = None,
    subject_relation: str | None = None,
) -> Precondition:
    """No relationship matches, before the write."""
    return Precondition(
        1, Filter(resource_type, resource_id, resource_id_prefix, relation, subject_type, subject_id, subject_relation)
    )

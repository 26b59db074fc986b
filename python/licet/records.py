"""Small immutable answers of the engine."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple

from .relationship import Relationship


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
    mode: str | None
    """Of engines on Postgres, as are the following: how it answers now, "follow" or "prefetch"."""
    is_ready: bool
    """The graph is loaded and not too old. In memory: always."""
    is_connected: bool
    """The link that follows stands."""
    is_encrypted: bool
    """It uses TLS."""
    is_verified: bool
    """It leads to a server whose certificate was checked."""
    staleness_ms: int
    """Since the database last confirmed the graph."""
    round_trips: int
    """On all links."""
    catch_ups: int
    """Queries for what is new."""
    shared_catch_ups: int
    """Calls that waited for a query which another one had sent."""
    loads: int
    """Of the whole graph."""
    reconnects: int
    prefetches: int


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


class FoundResource(NamedTuple):
    """A resource that a subject has a permission on. See Engine.lookup_resources()."""

    resource_id: str
    permissionship: Permissionship
    """HAS_PERMISSION or CONDITIONAL; only the first is a grant."""
    missing_context: tuple[str, ...]
    """Names of the context values that a conditional answer depends on, sorted."""


class ExcludedSubject(NamedTuple):
    """A subject that "*" does not stand for."""

    subject_id: str
    permissionship: Permissionship
    """Of the exclusion: HAS_PERMISSION is excluded for certain, CONDITIONAL under a condition."""
    missing_context: tuple[str, ...]


class FoundSubject(NamedTuple):
    """A subject that has a permission. See Engine.lookup_subjects()."""

    subject_id: str
    """ "*" is every subject of the type but those excluded."""
    permissionship: Permissionship
    """HAS_PERMISSION or CONDITIONAL; only the first is a grant."""
    missing_context: tuple[str, ...]
    """Names of the context values that a conditional answer depends on, sorted."""
    excluded: tuple[ExcludedSubject, ...]
    """Of "*" only."""


class TreeNode(NamedTuple):
    """One operator of a Tree, or one relation with its subjects."""

    operation: str
    """ "union", "intersection", "exclusion" (the base, and what is taken away), or "leaf"."""
    resource: str
    """ "document:readme"."""
    relation: str
    """Of the resource: a relation or permission."""
    subjects: tuple[str, ...]
    """Of a leaf: "user:ada", "group:eng#member", "user:*"."""
    children: tuple[TreeNode, ...]

    def __repr__(self) -> str:
        return f"<TreeNode {self.operation} {self.resource}#{self.relation}>"


class TraceNode(NamedTuple):
    """One object and name that was asked, one operator inside a permission, or one relationship."""

    resource: str
    """ "document:readme"."""
    permission: str
    """A permission or relation of it; of an operator the permission that it is in."""
    is_permission: bool
    permissionship: Permissionship
    """With the request's context."""
    error: str | None
    """The status of the limit or error that this part ran into, such as "limit_exceeded"."""
    reason: str
    """How it was asked: "relation", "union", "intersection", "exclusion"; an arrow: "any", "all"; and what has no
    children: "relationship", "wildcard", "identity", "self", "nil", "cycle" (stands on the way to itself), "seen" (is told
    elsewhere)."""
    operand: str | None
    """An arrow as text: "parent->view"."""
    relationship: Relationship | None
    """The one that leads here or grants it."""
    caveat_name: str | None
    """Of that relationship; so are the next two."""
    caveat_expression: str | None
    caveat_context: dict[str, Any] | None
    """The values that the caveat's parameters have."""
    missing_context: tuple[str, ...]
    """Names of the parameters without a value."""
    is_cut: bool
    """It has more children than are told: a trace has at most some thousand nodes."""
    children: tuple[TraceNode, ...]

    def __repr__(self) -> str:
        return f"<TraceNode {self.permissionship.name} {self.resource}#{self.permission}>"


class Trace(NamedTuple):
    """How a check was decided. True in a condition if it is allowed; str() is a text for a person."""

    root: TraceNode
    text: str
    json: str
    token: str | None
    """Names the revision at which it was decided."""

    @property
    def allowed(self) -> bool:
        """True only for a definite yes."""
        return self.root.error is None and self.root.permissionship == Permissionship.HAS_PERMISSION

    @property
    def permissionship(self) -> Permissionship:
        """What Engine.check() says."""
        return self.root.permissionship

    @property
    def missing_context(self) -> tuple[str, ...]:
        """Names of the context values that a conditional answer depends on."""
        return self.root.missing_context

    @property
    def nodes(self) -> tuple[TraceNode, ...]:
        """All nodes, each before its children; the root first."""
        nodes = []
        waiting = [self.root]
        while waiting:
            node = waiting.pop()
            nodes.append(node)
            waiting.extend(reversed(node.children))
        return tuple(nodes)

    def to_json(self) -> str:
        """The whole trace as one JSON document."""
        return self.json

    def __bool__(self) -> bool:
        return self.allowed

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<Trace {self.root!r}>"

    # Node by node: a pickle of what is nested in itself would be as deep as the trace.
    def __reduce__(self) -> tuple[Any, ...]:
        flat = [(*node[:-1], len(node.children)) for node in self.nodes]
        return _trace_of, (flat, self.text, self.json, self.token)


def _trace_of(flat: list[tuple[Any, ...]], text: str, json: str, token: str | None) -> Trace:
    """A trace of the fields of its nodes, each before its children, with the number of these."""
    nodes: list[TraceNode] = []
    for fields in reversed(flat):
        first = len(nodes) - fields[-1]
        children = tuple(reversed(nodes[first:]))
        del nodes[first:]
        nodes.append(TraceNode._make((*fields[:-1], children)))
    return Trace(nodes[0], text, json, token)


class Imported(NamedTuple):
    """What Engine.import_relationships() did."""

    count: int  # type: ignore[assignment]  # it hides tuple.count(), which nobody needs here
    token: str
    """Names the revision from which the relationships are visible."""


class ImportStatus(NamedTuple):
    """How far an import has come. See Engine.import_status()."""

    count: int  # type: ignore[assignment]  # it hides tuple.count(), which nobody needs here
    """Relationships that are committed, from the first on."""
    is_known: bool
    """False: there is none of that name."""
    is_finished: bool


class Change(NamedTuple):
    """Something that was committed. See Engine.watch()."""

    operation: str
    """ "touch" (created or replaced), "delete", "schema" or "checkpoint"."""
    relationship: Relationship | None
    """As it is after a "touch", as it was before a "delete"; None for the other two."""
    token: str
    """Where to go on once this change is dealt with: the revision's for the last change of a revision, that of the
    revision before for the others, so that nothing is missed."""
    metadata: dict[str, Any] | None
    """What the write said about itself."""
    written_at: str
    """Token of the revision itself."""


class SchemaChange(NamedTuple):
    """One difference between two schemas. See Schema.diff()."""

    kind: str
    """ "relation_added", "permission_expr_changed", "caveat_parameter_type_changed", ..."""
    definition: str | None
    name: str | None
    """Of the relation or permission."""
    caveat: str | None
    parameter: str | None
    before: str | None
    """What it was, as the formatter prints it."""
    after: str | None
    """What it is now."""


class SchemaMember(NamedTuple):
    """A relation or permission. See Schema.computable_permissions()."""

    kind: str
    """ "relation" or "permission"."""
    definition: str
    name: str


class ReflectionFilter(NamedTuple):
    """Which part of a schema. Every field is a prefix of names. See Schema.reflect()."""

    definition: str | None = None
    caveat: str | None = None
    """Not together with definition."""
    relation: str | None = None
    """Together with definition; not with permission."""
    permission: str | None = None
    """Together with definition."""


class Impact(NamedTuple):
    """One consequence of a new schema. See Engine.schema_impact()."""

    kind: str
    """ "refused": a relationship forbids the change. "gained", "lost": a decision becomes more, or less."""
    relationship: Relationship | None
    """Of "refused"; None if the change is refused whatever is stored."""
    message: str | None
    """Of "refused": what write_schema() would say."""
    resource: str | None
    """Of "gained" and "lost", as are the following: "document:readme"."""
    permission: str | None
    subject: str | None
    """ "user:ada", "group:eng#member"; "user:*" is whoever no relationship names."""
    before: Permissionship | None
    """Without context."""
    after: Permissionship | None

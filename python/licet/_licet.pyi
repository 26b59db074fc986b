"""The C extension. Import these names from licet."""

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, final

from typing_extensions import Self, disjoint_base

from .consistency import Consistency
from .context import Context
from .records import (
    Change,
    Deletion,
    FoundResource,
    FoundSubject,
    Impact,
    Imported,
    ImportStatus,
    Lint,
    Permissionship,
    ReflectionFilter,
    SchemaChange,
    SchemaMember,
    Stats,
    Trace,
    TreeNode,
)
from .relationship import Filter, Precondition, Relationship, Update

__version__: str

def open(
    uri: str = "memory:",
    *,
    memory_limit_bytes: int | None = None,
    max_depth: int | None = None,
    max_steps: int | None = None,
    check_timeout_ms: int | None = None,
    history_window_ms: int | None = None,
    strict: bool = False,
    clock: Clock | None = None,
    mode: Literal["auto", "follow", "prefetch"] = "auto",
    postgres_schema: str = "licet",
    replica_uri: str | None = None,
    require_tls: bool = False,
    poll_interval_ms: int | None = None,
    max_staleness_ms: int | None = None,
    wait_timeout_ms: int | None = None,
    write_timeout_ms: int | None = None,
    max_connections: int | None = None,
    gc_window_ms: int | None = None,
    log: Callable[[int, str], object] | None = None,
) -> Engine: ...
def migrate(
    uri: str,
    *,
    dry_run: bool = False,
    postgres_schema: str = "licet",
    require_tls: bool = False,
    wait_timeout_ms: int | None = None,
) -> str: ...
def doctor(
    uri: str,
    *,
    postgres_schema: str = "licet",
    require_tls: bool = False,
    wait_timeout_ms: int | None = None,
) -> dict[str, Any]: ...
def validate(
    engine: Engine,
    text: bytes,
    folder: str | os.PathLike[str] | None = None,
    load_only: bool = False,
) -> tuple[int, int, int, list[tuple[bool, str, str, str, int, int]]]: ...
def parse_relationship(
    text: str, *, strict: bool = False
) -> tuple[str, str, str, str, str, str | None, str | None, str | None, str | None]: ...
def context_text(context: Context, /) -> str: ...
def evaluate_cel(expression: str, bindings: dict[str, Any], types: dict[str, str], /) -> dict[str, Any]: ...
def format_relationship(relationship: str | Relationship, /) -> str: ...

@disjoint_base
class Clock:
    nanoseconds: int
    def __new__(cls, nanoseconds: int) -> Self: ...

@final
class Engine:
    def allowed(
        self,
        resource: str,
        permission: str,
        subject: str,
        *,
        context: Context | str | None = None,
        consistency: Consistency | None = None,
        may_block: bool = True,
    ) -> bool: ...
    def check(
        self,
        resource: str,
        permission: str,
        subject: str,
        *,
        context: Context | str | None = None,
        consistency: Consistency | None = None,
        may_block: bool = True,
    ) -> Result: ...
    def check_bulk(
        self,
        items: Iterable[tuple[str, str, str] | tuple[str, str, str, Context | str | None]],
        *,
        context: Context | str | None = None,
        consistency: Consistency | None = None,
        may_block: bool = True,
    ) -> list[Result]: ...
    def filter(
        self,
        resource_type: str,
        ids: Iterable[str],
        permission: str,
        subject: str,
        *,
        context: Context | str | None = None,
        consistency: Consistency | None = None,
        may_block: bool = True,
    ) -> list[str]: ...
    def permissions(
        self,
        resource: str,
        subject: str,
        permissions: Iterable[str] | None = None,
        *,
        context: Context | str | None = None,
        consistency: Consistency | None = None,
        may_block: bool = True,
    ) -> dict[str, Result]: ...
    def lookup_resources(
        self,
        resource_type: str,
        permission: str,
        subject: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        context: Context | str | None = None,
        consistency: Consistency | None = None,
        may_block: bool = True,
    ) -> ResourceStream: ...
    def lookup_resource_ids(
        self,
        resource_type: str,
        permission: str,
        subject: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        context: Context | str | None = None,
        consistency: Consistency | None = None,
        may_block: bool = True,
    ) -> ResourceIdStream: ...
    def lookup_subjects(
        self,
        resource: str,
        permission: str,
        subject_type: str,
        *,
        subject_relation: str | None = None,
        wildcards: bool = True,
        limit: int | None = None,
        cursor: str | None = None,
        context: Context | str | None = None,
        consistency: Consistency | None = None,
        may_block: bool = True,
    ) -> SubjectStream: ...
    def lookup_subject_ids(
        self,
        resource: str,
        permission: str,
        subject_type: str,
        *,
        subject_relation: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        context: Context | str | None = None,
        consistency: Consistency | None = None,
        may_block: bool = True,
    ) -> SubjectIdStream: ...
    def expand(
        self, resource: str, permission: str, *, consistency: Consistency | None = None, may_block: bool = True
    ) -> Tree: ...
    def explain(
        self,
        resource: str,
        permission: str,
        subject: str,
        *,
        context: Context | str | None = None,
        consistency: Consistency | None = None,
        may_block: bool = True,
    ) -> Trace: ...
    def write_schema(self, text: str) -> str: ...
    def read_schema(self) -> Schema: ...
    def schema_impact(
        self,
        text: str,
        *,
        limit: int | None = None,
        consistency: Consistency | None = None,
        may_block: bool = True,
    ) -> ImpactStream: ...
    def write(
        self,
        updates: Iterable[Update],
        preconditions: Iterable[Precondition] = (),
        *,
        metadata: Context | str | None = None,
    ) -> str: ...
    def create(self, *relationships: str | Relationship) -> str: ...
    def touch(self, *relationships: str | Relationship) -> str: ...
    def delete(self, *relationships: str | Relationship) -> str: ...
    def delete_relationships(
        self,
        *,
        resource_type: str | None = None,
        resource_id: str | None = None,
        resource_id_prefix: str | None = None,
        relation: str | None = None,
        subject_type: str | None = None,
        subject_id: str | None = None,
        subject_relation: str | None = None,
        limit: int | None = None,
        allow_partial: bool = False,
        preconditions: Iterable[Precondition] = (),
        metadata: Context | str | None = None,
    ) -> Deletion: ...
    def read_relationships(
        self,
        *,
        resource_type: str | None = None,
        resource_id: str | None = None,
        resource_id_prefix: str | None = None,
        relation: str | None = None,
        subject_type: str | None = None,
        subject_id: str | None = None,
        subject_relation: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        consistency: Consistency | None = None,
        may_block: bool = True,
    ) -> RelationshipStream: ...
    def import_relationships(
        self,
        relationships: Iterable[str | Relationship],
        *,
        progress: Callable[[int], object] | None = None,
        batch_size: int | None = None,
        resume: str | None = None,
    ) -> Imported: ...
    def import_status(self, name: str) -> ImportStatus: ...
    def forget_import(self, name: str) -> bool: ...
    def export_relationships(
        self,
        *,
        resource_type: str | None = None,
        resource_id: str | None = None,
        resource_id_prefix: str | None = None,
        relation: str | None = None,
        subject_type: str | None = None,
        subject_id: str | None = None,
        subject_relation: str | None = None,
        cursor: str | None = None,
        consistency: Consistency | None = None,
        may_block: bool = True,
    ) -> RelationshipStream: ...
    def watch(
        self,
        since: str | None = None,
        *,
        relationships: bool = True,
        schema: bool = False,
        checkpoints: bool = False,
        resource_types: Iterable[str] | None = None,
        filters: Iterable[Filter] | None = None,
        timeout: float | None = None,
    ) -> ChangeStream: ...
    def stats(self) -> Stats: ...
    def await_ready(self, timeout: float = 30.0) -> None: ...
    def collect_garbage(self) -> int: ...
    def close(self) -> None: ...
    @property
    def closed(self) -> bool: ...
    def __enter__(self) -> Engine: ...
    def __exit__(self, *exc_info: object) -> None: ...

@final
class Result:
    @property
    def allowed(self) -> bool: ...
    @property
    def permissionship(self) -> Permissionship: ...
    @property
    def missing_context(self) -> tuple[str, ...]: ...
    @property
    def token(self) -> str | None: ...
    @property
    def error(self) -> Error | None: ...
    def __bool__(self) -> bool: ...

@final
class Schema:
    @classmethod
    def parse(cls, text: str, *, folder: str | os.PathLike[str] | None = None, strict: bool = False) -> Schema: ...
    def format(self) -> str: ...
    def lint(self) -> list[Lint]: ...
    def diff(self, other: Schema) -> list[SchemaChange]: ...
    def computable_permissions(
        self, definition: str, relation: str | None = None, *, prefix: str | None = None
    ) -> list[SchemaMember]: ...
    def dependent_relations(self, definition: str, permission: str) -> list[SchemaMember]: ...
    def reflect(self, filters: Iterable[ReflectionFilter] = ()) -> dict[str, Any]: ...
    @property
    def definitions(self) -> tuple[str, ...]: ...
    @property
    def text(self) -> str: ...

@final
class RelationshipStream(Iterator[Relationship]):
    def __iter__(self) -> RelationshipStream: ...
    def __next__(self) -> Relationship: ...
    @property
    def cursor(self) -> str | None: ...
    @property
    def token(self) -> str: ...

@final
class ResourceStream(Iterator[FoundResource]):
    def __iter__(self) -> ResourceStream: ...
    def __next__(self) -> FoundResource: ...
    @property
    def cursor(self) -> str | None: ...
    @property
    def token(self) -> str: ...

@final
class SubjectStream(Iterator[FoundSubject]):
    def __iter__(self) -> SubjectStream: ...
    def __next__(self) -> FoundSubject: ...
    @property
    def cursor(self) -> str | None: ...
    @property
    def token(self) -> str: ...

@final
class ResourceIdStream(Iterator[str]):
    def __iter__(self) -> ResourceIdStream: ...
    def __next__(self) -> str: ...
    @property
    def cursor(self) -> str | None: ...
    @property
    def token(self) -> str: ...

@final
class SubjectIdStream(Iterator[str]):
    def __iter__(self) -> SubjectIdStream: ...
    def __next__(self) -> str: ...
    @property
    def cursor(self) -> str | None: ...
    @property
    def token(self) -> str: ...

@final
class ImpactStream(Iterator[Impact]):
    def __iter__(self) -> ImpactStream: ...
    def __next__(self) -> Impact: ...
    @property
    def token(self) -> str: ...

@final
class ChangeStream(Iterator[Change]):
    def __iter__(self) -> ChangeStream: ...
    def __next__(self) -> Change: ...
    @property
    def token(self) -> str: ...
    def close(self) -> None: ...
    def __enter__(self) -> ChangeStream: ...
    def __exit__(self, *exc_info: object) -> None: ...

@final
class Tree:
    @property
    def root(self) -> TreeNode: ...
    @property
    def operation(self) -> str: ...
    @property
    def resource(self) -> str: ...
    @property
    def relation(self) -> str: ...
    @property
    def subjects(self) -> tuple[str, ...]: ...
    @property
    def children(self) -> tuple[TreeNode, ...]: ...
    @property
    def token(self) -> str: ...
    def to_json(self) -> str: ...

class Error(Exception):
    code: str
    kind: str
    message: str
    line: int | None
    column: int | None
    reason: str | None
    trace: Trace | None

class OutOfMemory(Error, MemoryError): ...
class InvalidArgument(Error, ValueError): ...
class SchemaError(Error, ValueError): ...
class NotFound(Error, LookupError): ...
class AlreadyExists(Error): ...
class PreconditionFailed(Error): ...
class LimitExceeded(Error): ...
class RevisionExpired(Error): ...
class InvalidToken(Error, ValueError): ...
class Unavailable(Error): ...
class DeadlineExceeded(Error, TimeoutError): ...
class Closed(Error, RuntimeError): ...
class Misuse(Error, RuntimeError): ...
class Unsupported(Error, NotImplementedError): ...

"""licet: permission checks inside your own process.

    import licet

    with licet.open() as engine:
        engine.write_schema('''
            definition user {}
            definition document {
              relation owner: user
              permission view = owner
            }
        ''')
        engine.touch("document:readme#owner@user:ada")
        engine.allowed("document:readme", "view", "user:ada")  # True

Objects are written `type:id`, subjects `type:id` or `type:id#relation`, relationships
`type:id#relation@type:id`. Text is str: anything else is a TypeError. Everything that licet itself refuses is a
licet.Error. Only a definite yes counts as allowed.
"""

from __future__ import annotations

from ._licet import (
    AlreadyExists,
    ChangeStream,
    Closed,
    DeadlineExceeded,
    Engine,
    Error,
    ImpactStream,
    InvalidArgument,
    InvalidToken,
    LimitExceeded,
    Misuse,
    NotFound,
    OutOfMemory,
    PreconditionFailed,
    RelationshipStream,
    ResourceIdStream,
    ResourceStream,
    Result,
    RevisionExpired,
    Schema,
    SchemaError,
    SubjectIdStream,
    SubjectStream,
    Tree,
    Unavailable,
    Unsupported,
    __version__,
    migrate,
    open,
)
from .consistency import FULL, MINIMIZE_LATENCY, Consistency, at_exactly, at_least
from .database import DoctorFinding, DoctorReport, doctor
from .records import (
    Change,
    Deletion,
    ExcludedSubject,
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
    TraceNode,
    TreeNode,
)
from .relationship import (
    Filter,
    Precondition,
    Relationship,
    Update,
    create,
    delete,
    must_match,
    must_not_match,
    touch,
)
from .validation import Finding, Report, validate

__all__ = [
    "FULL",
    "MINIMIZE_LATENCY",
    "AlreadyExists",
    "Change",
    "ChangeStream",
    "Closed",
    "Consistency",
    "DeadlineExceeded",
    "Deletion",
    "DoctorFinding",
    "DoctorReport",
    "Engine",
    "Error",
    "ExcludedSubject",
    "Filter",
    "Finding",
    "FoundResource",
    "FoundSubject",
    "Impact",
    "ImpactStream",
    "ImportStatus",
    "Imported",
    "InvalidArgument",
    "InvalidToken",
    "LimitExceeded",
    "Lint",
    "Misuse",
    "NotFound",
    "OutOfMemory",
    "Permissionship",
    "Precondition",
    "PreconditionFailed",
    "ReflectionFilter",
    "Relationship",
    "RelationshipStream",
    "Report",
    "ResourceIdStream",
    "ResourceStream",
    "Result",
    "RevisionExpired",
    "Schema",
    "SchemaChange",
    "SchemaError",
    "SchemaMember",
    "Stats",
    "SubjectIdStream",
    "SubjectStream",
    "Trace",
    "TraceNode",
    "Tree",
    "TreeNode",
    "Unavailable",
    "Unsupported",
    "Update",
    "__version__",
    "at_exactly",
    "at_least",
    "create",
    "delete",
    "doctor",
    "migrate",
    "must_match",
    "must_not_match",
    "open",
    "touch",
    "validate",
]

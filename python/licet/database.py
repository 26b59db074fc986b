"""What a careful operator would look at in a database. See doctor()."""

from __future__ import annotations

from typing import NamedTuple

from . import _licet


class DoctorFinding(NamedTuple):
    """One thing that was looked at."""

    name: str
    """What it is about, such as "tables"."""
    level: str
    """ "ok", "warning" or "error"."""
    message: str
    """One line for a person, safe to log."""


class DoctorReport(NamedTuple):
    """What doctor() found. True in a condition if nothing is an error; str() is a text for a person."""

    ok: bool
    """Nothing is an error."""
    findings: tuple[DoctorFinding, ...]

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        return "\n".join(f"{finding.level:<7}  {finding.name}: {finding.message}" for finding in self.findings)


def doctor(
    uri: str, *, postgres_schema: str = "licet", require_tls: bool = False, wait_timeout_ms: int | None = None
) -> DoctorReport:
    """Looks at a Postgres database: licet's tables, their version, indexes, rights, the clock, pooling, lag.

    The parameters are those of migrate(). What is found is never an exception; that there is no way to look is:
    InvalidArgument (kind "config"), Unavailable, DeadlineExceeded, Unsupported.
    """
    told = _licet.doctor(uri, postgres_schema=postgres_schema, require_tls=require_tls, wait_timeout_ms=wait_timeout_ms)
    return DoctorReport(
        told["ok"], tuple(DoctorFinding(found["name"], found["level"], found["message"]) for found in told["findings"])
    )

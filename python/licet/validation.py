"""Validation files: a schema, relationships, and what must follow from them.

The YAML is SpiceDB's; the core reads and runs it. Here files are found and read, and the report becomes records.
"""

from __future__ import annotations

import os
import re
from typing import Any, NamedTuple

from . import _licet
from .records import Lint

# One byte more than the core takes of any text: enough for it to refuse a longer file, and never more of it.
_READ_BYTES = (1 << 20) + 1

# What makes a file without a known ending a validation file and not a schema (as in SpiceDB's own tool).
_YAML_KEY = re.compile(rb"^ *(schema|schemaFile|relationships) *:", re.MULTILINE)


class Finding(NamedTuple):
    """One thing that does not hold, or one warning."""

    is_warning: bool
    source: str
    """Where it arose: "schema", "relationship", "assertion" or "validation"."""
    kind: str
    """SpiceDB's name for it, such as "ASSERTION_FAILED"."""
    message: str
    line: int
    """In the file, from 1; 0 where it is not known."""
    column: int
    """In characters, from 1; 0 where it is not known."""


class Report(NamedTuple):
    """What a validation file came to. True in a condition if everything in it holds."""

    path: str
    relationships: int
    assertions: int
    expected_relations: int
    findings: tuple[Finding, ...]

    @property
    def failures(self) -> tuple[Finding, ...]:
        """The findings that are no warnings."""
        return tuple(finding for finding in self.findings if not finding.is_warning)

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """The findings that are: unknown keys and lints."""
        return tuple(finding for finding in self.findings if finding.is_warning)

    @property
    def ok(self) -> bool:
        """Whether everything in the file holds. Warnings do not count."""
        return not self.failures

    def __bool__(self) -> bool:
        return self.ok


def validate(path: str | os.PathLike[str]) -> Report:
    """Loads a validation file into memory and runs its assertions and expected relations.

    A file that ends in `.zed`, or that looks like a schema and not like YAML, is only checked as a schema. `schemaFile`
    and `import` read from the file's own folder and nowhere else.

    What does not hold is in the report. Raises a licet.Error, with line and column, if the file is unusable: no YAML, a
    wrong schema, a wrong relationship. Raises OSError if it can not be read.
    """
    text = read(path)
    folder = folder_of(path)
    if is_schema(path, text):
        schema = _licet.Schema.parse(decode(text), folder=folder)
        return Report(os.fspath(path), 0, 0, 0, tuple(map(_finding_of_lint, schema.lint())))
    with _licet.open() as engine:
        return _report(path, _licet.validate(engine, text, folder))


def load(path: str | os.PathLike[str]) -> _licet.Engine:
    """An engine in memory that holds the schema and the relationships of a validation file. Nothing is asserted.

    Raises what validate() raises.
    """
    text = read(path)
    folder = folder_of(path)
    engine = _licet.open()
    try:
        if is_schema(path, text):
            engine.write_schema(_licet.Schema.parse(decode(text), folder=folder).format())
        else:
            _licet.validate(engine, text, folder, load_only=True)
    except BaseException:
        engine.close()
        raise
    return engine


def read(path: str | os.PathLike[str]) -> bytes:
    """The file's bytes; of a file that is longer than the core takes, enough for it to say so."""
    with open(path, "rb") as file:
        return file.read(_READ_BYTES)


def folder_of(path: str | os.PathLike[str]) -> str:
    """The folder that a file may name other files in: its own."""
    return os.path.dirname(os.path.abspath(path))


def is_schema(path: str | os.PathLike[str], text: bytes) -> bool:
    """Whether a file holds only a schema: by its ending, or else by what it looks like."""
    ending = os.path.splitext(os.fspath(path))[1].lower()
    if ending == ".zed":
        return True
    return ending not in (".yaml", ".yml") and _YAML_KEY.search(text) is None


def decode(text: bytes) -> str:
    """Schema text from a file's bytes. Bytes that are no UTF-8 become surrogates, which the engine refuses."""
    return text.decode("utf-8", "surrogateescape")


def _report(path: str | os.PathLike[str], values: tuple[Any, ...]) -> Report:
    relationships, assertions, expected_relations, findings = values
    return Report(os.fspath(path), relationships, assertions, expected_relations, tuple(map(Finding._make, findings)))


def _finding_of_lint(lint: Lint) -> Finding:
    return Finding(True, "schema", lint.name, lint.message, lint.line, lint.column)

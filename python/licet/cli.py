"""The command `licet`: the engine for people and scripts.

Answers go to standard output, what is wrong goes to standard error as `file:line:column: error: message` with the
line concerned underneath, so that editors can jump there. Exit status: 0 yes or all well, 1 no or something does not
hold, 2 the input is unusable.
"""

from __future__ import annotations

import argparse
import codecs
import json
import os
import re
import stat
import sys
import tempfile
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NoReturn, Optional

from . import _licet, demo, validation
from .records import Change, FoundSubject, Impact, SchemaChange, Trace
from .relationship import Relationship

OK, NO, UNUSABLE = 0, 1, 2

# The most checks that one bulk call takes.
_BULK_LIMIT = 10_000

_FILTER_FIELDS = (
    "resource_type",
    "resource_id",
    "resource_id_prefix",
    "relation",
    "subject_type",
    "subject_id",
    "subject_relation",
)


# ----------------------------------------------------------------- saying what is wrong


def printable(text: str) -> str:
    """Text from outside with everything escaped that could move the cursor or hide."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def complain(text: str) -> None:
    """One line, or several, on standard error, after what standard output already holds."""
    sys.stdout.flush()
    print(text, file=sys.stderr)


def diagnose(path: str, line: int | None, column: int | None, level: str, message: str, text: str = "") -> None:
    """`path:line:column: level: message`, and the line of `text` that it is about."""
    place = ":".join([printable(path), *(str(number) for number in (line, column) if number)])
    complain("\n".join([f"{place}: {level}: {printable(message)}", *excerpt(text, line, column)]))


def excerpt(text: str, line: int | None, column: int | None, width: int = 100) -> Iterator[str]:
    """The line of `text` and a mark under what is at `column`. Nothing if there is no such place."""
    lines = text.split("\n")
    if not line or not column or line > len(lines):
        return
    source = lines[line - 1].rstrip("\r")
    start = column - 1
    if start > len(source):
        return
    word = re.compile(r"[\w/]+(->[\w/]+)?|.").match(source, start)
    end = word.end() if word else start + 1
    first = max(0, min(start - width // 2, len(source) - width))
    shown = source[first : first + width]
    margin = f"{line:>5} | "
    yield margin + _aligned(shown)
    under = len(_aligned(source[first:start], pad=True))
    length = max(1, len(_aligned(source[start : min(end, first + width)], pad=True)))
    yield " " * (len(margin) - 2) + "| " + " " * under + "^" * length


def _aligned(text: str, pad: bool = False) -> str:
    """The text as it is shown, or as many spaces as it takes on the screen."""
    pieces = []
    for c in text:
        piece = "    " if c == "\t" else printable(c)
        pieces.append(" " * sum(map(_columns, piece)) if pad else piece)
    return "".join(pieces)


def _columns(c: str) -> int:
    """How many columns of a terminal a character takes."""
    if unicodedata.combining(c):
        return 0
    return 2 if unicodedata.east_asian_width(c) in "WF" else 1


def error_values(error: _licet.Error) -> dict[str, Any]:
    """An error for --json."""
    return {
        "code": error.code,
        "kind": error.kind,
        "message": error.message,
        "line": error.line,
        "column": error.column,
        "reason": error.reason,
    }


def _unreadable_values(error: OSError) -> dict[str, Any]:
    message = error.strerror or "can not be read"
    return {"code": "unreadable", "kind": "config", "message": message, "line": None, "column": None, "reason": None}


def _problem(error: Exception) -> dict[str, Any]:
    """Any error that a file can lead to, as values."""
    return error_values(error) if isinstance(error, _licet.Error) else _unreadable_values(error)  # type: ignore[arg-type]


# How the core begins what it has to say of a file that was imported, or named by schemaFile: a position in its text.
_IN_OTHER_FILE = re.compile(r'in (?:the imported file )?"([^"]+)": ')


def _diagnose_problem(path: str, problem: dict[str, Any], text: str = "") -> None:
    """Shows the problem where it is, which may be in a file that `path` names."""
    message = problem["message"]
    other = _IN_OTHER_FILE.match(message)
    if other is not None and problem["line"]:
        path = os.path.join(os.path.dirname(path), other[1])
        message = message[other.end() :]
        text = _source(path)
    diagnose(path, problem["line"], problem["column"], "error", message, text)


def write_json(value: object) -> None:
    """One document. What an encoding other than UTF-8 may lack is escaped as JSON has it, not as Python has it."""
    unicode = codecs.lookup(sys.stdout.encoding).name == "utf-8"
    print(json.dumps(value, indent=2, ensure_ascii=not unicode))


def counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _source(path: str) -> str:
    """A file's text for an excerpt: as much as can be had, and never an error."""
    try:
        return validation.read(path).decode("utf-8", "replace")
    except OSError:
        return ""


# --------------------------------------------------------------------------- validate


def validate(arguments: argparse.Namespace) -> int:
    files = []
    for path in arguments.files:
        outcome = _validate_file(path)
        files.append(outcome)
        if not arguments.json:
            _print_validation(outcome)
    totals = _totals(files)
    if arguments.json:
        write_json({"files": files, "totals": totals})
    else:
        _print_totals(totals)
    return UNUSABLE if totals["unusable"] else NO if totals["failed"] else OK


def _validate_file(path: str) -> dict[str, Any]:
    """What a file came to, as --json shows it."""
    values: dict[str, Any] = {"path": path, "outcome": "unusable", "relationships": 0, "assertions": 0}
    values.update({"expected_relations": 0, "findings": [], "error": None})
    try:
        report = validation.validate(path)
    except (_licet.Error, OSError) as error:
        values["error"] = _problem(error)
        return values
    values["outcome"] = "ok" if report.ok else "failed"
    for name in ("relationships", "assertions", "expected_relations"):
        values[name] = getattr(report, name)
    values["findings"] = [finding._asdict() for finding in report.findings]
    return values


def _print_validation(values: dict[str, Any]) -> None:
    path = values["path"]
    if values["outcome"] == "unusable":
        print(f"unusable  {printable(path)}")
        _diagnose_problem(path, values["error"], _source(path))
        return
    counts = ", ".join(
        [
            counted(values["relationships"], "relationship"),
            counted(values["assertions"], "assertion"),
            counted(values["expected_relations"], "expected relation"),
        ]
    )
    print(f"{values['outcome']:<8}  {printable(path)}: {counts}")
    text = _source(path) if values["findings"] else ""
    for finding in values["findings"]:
        level = "warning" if finding["is_warning"] else "error"
        diagnose(path, finding["line"], finding["column"], level, finding["message"], text)


def _totals(files: list[dict[str, Any]]) -> dict[str, int]:
    totals = {"files": len(files)}
    for outcome in ("ok", "failed", "unusable"):
        totals[outcome] = sum(1 for values in files if values["outcome"] == outcome)
    for name in ("relationships", "assertions", "expected_relations"):
        totals[name] = sum(values[name] for values in files)
    findings = [finding for values in files for finding in values["findings"]]
    totals["failures"] = sum(1 for finding in findings if not finding["is_warning"])
    totals["warnings"] = len(findings) - totals["failures"]
    return totals


def _print_totals(totals: dict[str, int]) -> None:
    print(
        f"{counted(totals['files'], 'file')}: {totals['ok']:,} ok, {totals['failed']:,} failed, "
        f"{totals['unusable']:,} unusable; {counted(totals['assertions'], 'assertion')}, "
        f"{counted(totals['expected_relations'], 'expected relation')}, {counted(totals['failures'], 'failure')}, "
        f"{counted(totals['warnings'], 'warning')}"
    )


# ----------------------------------------------------------------------------- schema


def _read_schema(path: str) -> str:
    """Schema text from a file, or from standard input for "-"."""
    if path == "-":
        return validation.decode(sys.stdin.buffer.read())
    return validation.decode(validation.read(path))


def _name(path: str) -> str:
    return "<stdin>" if path == "-" else path


def _parse_schema(path: str, text: str) -> _licet.Schema:
    return _licet.Schema.parse(text, folder=None if path == "-" else validation.folder_of(path))


def schema_check(arguments: argparse.Namespace) -> int:
    return _over_schemas(arguments, _checked)


def schema_lint(arguments: argparse.Namespace) -> int:
    return _over_schemas(arguments, _linted)


def _over_schemas(arguments: argparse.Namespace, look: Any) -> int:
    """Parses every file and looks at those that are schemas. The status is that of the worst."""
    files = []
    worst = OK
    for path in arguments.files:
        values: dict[str, Any] = {
            "path": _name(path),
            "outcome": "unusable",
            "definitions": 0,
            "lints": [],
            "error": None,
        }
        text = ""
        try:
            text = _read_schema(path)
            schema = _parse_schema(path, text)
            values["definitions"] = len(schema.definitions)
            status = look(values, schema)
        except (_licet.Error, OSError) as error:
            values["error"] = _problem(error)
            status = UNUSABLE
        worst = max(worst, status)
        files.append(values)
        if not arguments.json:
            _print_schema(values, text)
    if arguments.json:
        write_json({"files": files})
    return worst


def _checked(values: dict[str, Any], _schema: _licet.Schema) -> int:
    values["outcome"] = "ok"
    return OK


def _linted(values: dict[str, Any], schema: _licet.Schema) -> int:
    values["lints"] = [lint._asdict() for lint in schema.lint()]
    values["outcome"] = "lints" if values["lints"] else "ok"
    return NO if values["lints"] else OK


def _print_schema(values: dict[str, Any], text: str) -> None:
    path = values["path"]
    if values["error"] is not None:
        print(f"unusable  {printable(path)}")
        _diagnose_problem(path, values["error"], text)
        return
    print(f"{values['outcome']:<8}  {printable(path)}: {counted(values['definitions'], 'definition')}")
    for lint in values["lints"]:
        diagnose(path, lint["line"], lint["column"], "warning", lint["message"], text)


def schema_fmt(arguments: argparse.Namespace) -> int:
    worst = OK
    for path in arguments.files:
        text = ""
        try:
            text = _read_schema(path)
            status = _format_one(arguments, path, text)
        except (_licet.Error, OSError) as error:
            _diagnose_problem(_name(path), _problem(error), text)
            status = UNUSABLE
        worst = max(worst, status)
    return worst


def _format_one(arguments: argparse.Namespace, path: str, text: str) -> int:
    canonical = _parse_schema(path, text).format() + "\n"
    if arguments.check:
        if text == canonical:
            return OK
        print(f"{printable(_name(path))}: would be changed")
        return NO
    if not arguments.write or path == "-":
        sys.stdout.write(canonical)
        return OK
    if text == canonical:
        return OK
    lost = _lost_by_formatting(text, canonical)
    if lost and not arguments.force:
        complain(f"{printable(path)}: not changed: the canonical text has no {lost}; --force writes it all the same")
        return NO
    _replace(path, canonical)
    print(f"{printable(path)}: changed")
    return OK


# A comment, or a string in which "//" is no comment.
_COMMENT_OR_STRING = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL)


def _lost_by_formatting(text: str, canonical: str) -> str:
    """What somebody wrote that the canonical text can not hold, in words, or "". Writing a file must not lose it."""
    without, comments = _split_comments(text)
    lost = []
    if re.search(r"\bpartial\s+[\w/]+\s*{", without):
        lost.append("partials")
    if re.search(r"\bimport\s+[\"']", without):
        lost.append("imports")
    if comments > _split_comments(canonical)[1]:
        lost.append("comments inside a line or at the end of a block")
    return " and no ".join(lost)


def _split_comments(text: str) -> tuple[str, int]:
    comments = 0

    def blank(match: re.Match[str]) -> str:
        nonlocal comments
        if match[0].startswith("/"):
            comments += 1
            return " "
        return match[0]

    return _COMMENT_OR_STRING.sub(blank, text), comments


def _replace(path: str, text: str) -> None:
    """Puts a new file in the place of the old one, whole or not at all, with the old one's mode."""
    path = os.path.realpath(path)
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".licet-")
    try:
        with open(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        os.chmod(temporary, stat.S_IMODE(os.stat(path).st_mode))
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


# ----------------------------------------------------------- an engine from the options


class _Stop(Exception):
    """Something was said already; end with this status."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def _open(arguments: argparse.Namespace) -> _licet.Engine:
    if arguments.file is None:
        return _licet.open(arguments.db)
    try:
        return validation.load(arguments.file)
    except (_licet.Error, OSError) as error:
        _diagnose_problem(arguments.file, _problem(error), _source(arguments.file))
        raise _Stop(UNUSABLE) from None


def _result_values(result: _licet.Result) -> dict[str, Any]:
    return {
        "allowed": result.allowed,
        "permissionship": result.permissionship.name,
        "missing_context": list(result.missing_context),
        "token": result.token,
        "error": None if result.error is None else error_values(result.error),
    }


def _word(result: _licet.Result) -> str:
    if result.error is not None:
        return "error"
    return _WORDS[result.permissionship]


def _missing(result: _licet.Result) -> str:
    """What a conditional answer waits for."""
    return f" (missing: {', '.join(result.missing_context)})" if result.missing_context else ""


# ------------------------------------------------------------------------ check, bulk


def check(arguments: argparse.Namespace) -> int:
    question = {name: getattr(arguments, name) for name in ("resource", "permission", "subject")}
    with _open(arguments) as engine:
        result = engine.check(**question, context=arguments.context)
    if arguments.json:
        write_json({**question, **_result_values(result)})
    else:
        print(_word(result) + _missing(result))
    return OK if result.allowed else NO


def bulk(arguments: argparse.Namespace) -> int:
    questions = list(_questions(arguments.questions))
    with _open(arguments) as engine:
        results = list(_check_all(engine, questions, arguments.context))
    failed = False
    for (question, context), result in zip(questions, results):
        if not arguments.json:
            given = "" if context is None else f"{_WITH}{printable(context)}"
            print(f"{_word(result):<11}  {question}{given}{_missing(result)}")
        if result.error is not None:
            failed = True
            if not arguments.json:
                complain(f"licet: {question}: {printable(result.error.message)}")
    if arguments.json:
        write_json({"results": [{**_asked(*q), **_result_values(r)} for q, r in zip(questions, results)]})
    return UNUSABLE if failed else OK


# A question, and the JSON text of its own context, if it has one.
_Question = tuple[Relationship, Optional[str]]

# What stands between the two, as in the assertions of validation files.
_WITH = " with "


def _asked(question: Relationship, context: str | None) -> dict[str, Any]:
    values: dict[str, Any] = {
        "resource": question.resource,
        "permission": question.relation,
        "subject": question.subject,
    }
    if context is not None:
        values["context"] = context
    return values


def _check_all(engine: _licet.Engine, questions: list[_Question], context: str | None) -> Iterator[_licet.Result]:
    for first in range(0, len(questions), _BULK_LIMIT):
        part = questions[first : first + _BULK_LIMIT]
        yield from engine.check_bulk(((q.resource, q.relation, q.subject, own) for q, own in part), context=context)


# -------------------------------------------------------- lookups, filter, permissions


def _found_line(word: str, what: str, missing: Sequence[str]) -> str:
    waits = f" (missing: {', '.join(missing)})" if missing else ""
    return f"{word:<11}  {what}{waits}"


_WORDS = ("denied", "allowed", "conditional")


def _found_values(found: Any) -> dict[str, Any]:
    return {**found._asdict(), "permissionship": found.permissionship.name}


def lookup_resources(arguments: argparse.Namespace) -> int:
    with _open(arguments) as engine:
        stream = engine.lookup_resources(
            arguments.resource_type,
            arguments.permission,
            arguments.subject,
            limit=arguments.limit,
            cursor=arguments.cursor,
            context=arguments.context,
        )
        if arguments.json:
            found = [_found_values(resource) for resource in stream]
            write_json({"resources": found, "token": stream.token, "cursor": stream.cursor})
        else:
            for resource_id, permissionship, missing in stream:
                print(_found_line(_WORDS[permissionship], f"{arguments.resource_type}:{resource_id}", missing))
    return OK


def lookup_subjects(arguments: argparse.Namespace) -> int:
    subject_type, _, relation = arguments.subject_type.partition("#")
    with _open(arguments) as engine:
        stream = engine.lookup_subjects(
            arguments.resource,
            arguments.permission,
            subject_type,
            subject_relation=relation or None,
            wildcards=not arguments.no_wildcards,
            limit=arguments.limit,
            cursor=arguments.cursor,
            context=arguments.context,
        )
        if arguments.json:
            found = [_subject_values(subject) for subject in stream]
            write_json({"subjects": found, "token": stream.token, "cursor": stream.cursor})
        else:
            for subject in stream:
                _print_subject(subject, subject_type, f"#{relation}" if relation else "")
    return OK


def _subject_values(subject: FoundSubject) -> dict[str, Any]:
    return {**_found_values(subject), "excluded": [_found_values(excluded) for excluded in subject.excluded]}


def _print_subject(subject: FoundSubject, subject_type: str, relation: str) -> None:
    print(
        _found_line(
            _WORDS[subject.permissionship], f"{subject_type}:{subject.subject_id}{relation}", subject.missing_context
        )
    )
    for excluded in subject.excluded:
        name = f"  but {subject_type}:{excluded.subject_id}{relation}"
        print(_found_line("", name, excluded.missing_context))


def filter_ids(arguments: argparse.Namespace) -> int:
    ids = [text for _, _, text in _lines(arguments.ids)]
    allowed = []
    with _open(arguments) as engine:
        for first in range(0, len(ids), _BULK_LIMIT):
            part = ids[first : first + _BULK_LIMIT]
            allowed += engine.filter(
                arguments.resource_type, part, arguments.permission, arguments.subject, context=arguments.context
            )
    if arguments.json:
        write_json({"resource_ids": allowed})
    else:
        for resource_id in allowed:
            print(resource_id)
    return OK


def permissions(arguments: argparse.Namespace) -> int:
    with _open(arguments) as engine:
        answers = engine.permissions(
            arguments.resource, arguments.subject, arguments.permissions or None, context=arguments.context
        )
    failed = [name for name, result in answers.items() if result.error is not None]
    if arguments.json:
        asked = {"resource": arguments.resource, "subject": arguments.subject}
        write_json({**asked, "permissions": {name: _result_values(result) for name, result in answers.items()}})
    else:
        for name, result in answers.items():
            print(_found_line(_word(result), printable(name), result.missing_context))
        for name in failed:
            complain(f"licet: {printable(name)}: {printable(answers[name].error.message)}")  # type: ignore[union-attr]
    return UNUSABLE if failed else OK


# --------------------------------------------------------------------- expand, explain


def _print_document(text: str) -> None:
    """A JSON document of the core's, whatever the encoding of standard output lacks."""
    if codecs.lookup(sys.stdout.encoding).name != "utf-8":
        text = "".join(c if c.isascii() else json.dumps(c)[1:-1] for c in text)
    print(text)


def _print_told(arguments: argparse.Namespace, told: _licet.Tree | Trace) -> None:
    if arguments.json:
        _print_document(told.to_json())
    else:
        print("\n".join(printable(line) for line in str(told).split("\n")))


def expand(arguments: argparse.Namespace) -> int:
    with _open(arguments) as engine:
        _print_told(arguments, engine.expand(arguments.resource, arguments.permission))
    return OK


def explain(arguments: argparse.Namespace) -> int:
    question = (arguments.resource, arguments.permission, arguments.subject)
    with _open(arguments) as engine:
        try:
            trace = engine.explain(*question, context=arguments.context)
        except _licet.Error as error:
            if error.trace is not None:
                _print_told(arguments, error.trace)
            raise
    _print_told(arguments, trace)
    return OK if trace else NO


# ------------------------------------------------------------------------------- watch


def watch(arguments: argparse.Namespace) -> int:
    """Prints what is committed, each line as soon as it is there, until the time is over or somebody ends it."""
    with _open(arguments) as engine:
        changes = engine.watch(
            arguments.since,
            schema=arguments.schema,
            checkpoints=arguments.checkpoints,
            resource_types=arguments.resource_type,
            timeout=arguments.timeout,
        )
        for change in changes:
            print(_change_document(change) if arguments.json else _change_line(change), flush=True)
    return OK


def _change_line(change: Change) -> str:
    what = change.token if change.relationship is None else change.relationship
    return f"{change.operation:<11}  {what}"


def _change_document(change: Change) -> str:
    relationship = change.relationship
    values: dict[str, Any] = change._asdict()
    values["relationship"] = None if relationship is None else {**relationship._asdict(), "text": str(relationship)}
    return json.dumps(values)


# ----------------------------------------------------------------- schemas and the data


def schema_diff(arguments: argparse.Namespace) -> int:
    schemas = []
    for path in (arguments.before, arguments.after):
        text = ""
        try:
            text = _read_schema(path)
            schemas.append(_parse_schema(path, text))
        except (_licet.Error, OSError) as error:
            _diagnose_problem(_name(path), _problem(error), text)
            return UNUSABLE
    changes = schemas[0].diff(schemas[1])
    if arguments.json:
        write_json({"changes": [change._asdict() for change in changes]})
    else:
        for change in changes:
            print(_schema_change_line(change))
    return NO if changes else OK


def _schema_change_line(change: SchemaChange) -> str:
    where = "#".join(part for part in (change.definition, change.name) if part)
    if change.caveat:
        where = f"caveat {change.caveat}({change.parameter or ''})"
    sides = [printable(side) for side in (change.before, change.after) if side]
    return f"{where}: {change.kind}" + (f": {' -> '.join(sides)}" if sides else "")


def schema_impact(arguments: argparse.Namespace) -> int:
    found = []
    text = ""
    try:
        text = _read_schema(arguments.schema)
        canonical = _parse_schema(arguments.schema, text).format()
    except (_licet.Error, OSError) as error:
        _diagnose_problem(_name(arguments.schema), _problem(error), text)
        return UNUSABLE
    any_impact = False
    with _open(arguments) as engine:
        for impact in engine.schema_impact(canonical, limit=arguments.limit):
            any_impact = True
            if arguments.json:
                found.append(_impact_values(impact))
            else:
                print(_impact_line(impact))
    if arguments.json:
        write_json({"impacts": found})
    return NO if any_impact else OK


def _impact_values(impact: Impact) -> dict[str, Any]:
    values: dict[str, Any] = impact._asdict()
    values["relationship"] = None if impact.relationship is None else str(impact.relationship)
    for side in ("before", "after"):
        values[side] = None if values[side] is None else values[side].name
    return values


def _impact_line(impact: Impact) -> str:
    if impact.before is None or impact.after is None:
        return f"{impact.kind:<7}  {impact.relationship}: {printable(impact.message or '')}"
    change = f"{_WORDS[impact.before]} -> {_WORDS[impact.after]}"
    return f"{impact.kind:<7}  {impact.resource} {impact.permission} {impact.subject}: {change}"


# ---------------------------------------------------------------------- relationships


def _lines(given: Sequence[str]) -> Iterator[tuple[int, str, str]]:
    """Number, line and what is on it, from the command line or from standard input, comments and empty lines aside."""
    return _uncommented(((0, text) for text in given) if given else enumerate(sys.stdin, start=1))


def _uncommented(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str, str]]:
    for number, line in lines:
        text = line.strip()
        if text and not text.startswith("//"):
            yield number, line, text


def _relationships(given: Sequence[str]) -> Iterator[Relationship]:
    """Relationships from the command line, or from standard input: one a line."""
    for number, line, text in _lines(given):
        yield _relationship(number, line, text, question=False)


def _relationships_of(path: str) -> Iterator[Relationship]:
    """Relationships of a file, as of standard input, which is "-"."""
    if path == "-":
        yield from _relationships(())
        return
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        for number, line, text in _uncommented(enumerate(file, start=1)):
            yield _relationship(number, line, text, question=False, path=path)


def _questions(given: Sequence[str]) -> Iterator[_Question]:
    """Questions, from the same: `document:readme#view@user:ada`, perhaps with `with {"hour": 9}` behind it."""
    for number, line, text in _lines(given):
        question, separator, context = text.partition(_WITH)
        yield _relationship(number, line, question.rstrip(), question=True), context.strip() if separator else None


def _relationship(number: int, line: str, text: str, question: bool, path: str = "<stdin>") -> Relationship:
    try:
        relationship = Relationship.parse(text)
        if question and (relationship.caveat_name or relationship.expiration):
            raise _licet.InvalidArgument("a question has neither caveat nor expiration")
        return relationship
    except _licet.Error as error:
        message = error.message or str(error)
        if number == 0:
            complain(f"licet: {printable(text)}: {printable(message)}")
        else:
            indent = len(line) - len(line.lstrip())
            column = indent + (error.column or 1)
            diagnose(path, number, column, "error", message, "\n" * (number - 1) + line)
        raise _Stop(UNUSABLE) from None


def _filter(arguments: argparse.Namespace) -> dict[str, Any]:
    given = {name: getattr(arguments, name) for name in _FILTER_FIELDS}
    return {name: value for name, value in given.items() if value is not None}


def relationships_read(arguments: argparse.Namespace) -> int:
    with _open(arguments) as engine:
        stream = engine.read_relationships(limit=arguments.limit, **_filter(arguments))
        if arguments.json:
            found = [{**r._asdict(), "text": str(r)} for r in stream]
            write_json({"relationships": found, "token": stream.token})
        else:
            for relationship in stream:
                print(relationship)
    return OK


def relationships_write(arguments: argparse.Namespace) -> int:
    relationships = list(_relationships(arguments.relationships))
    with _open(arguments) as engine:
        change = engine.create if arguments.create else engine.touch
        token = change(*relationships) if relationships else engine.write([])
    _print_change(arguments, "written", len(relationships), token)
    return OK


def relationships_delete(arguments: argparse.Namespace) -> int:
    chosen = _filter(arguments)
    if chosen and arguments.relationships:
        complain("licet: give relationships or a filter, not both")
        return UNUSABLE
    relationships = [] if chosen else list(_relationships(arguments.relationships))
    with _open(arguments) as engine:
        if chosen:
            count, _, token = engine.delete_relationships(**chosen)
        else:
            before = engine.stats().relationships
            token = engine.delete(*relationships) if relationships else engine.write([])
            count = before - engine.stats().relationships
    _print_change(arguments, "deleted", count, token)
    return OK


def relationships_import(arguments: argparse.Namespace) -> int:
    progress = _show_progress if sys.stderr.isatty() and not arguments.json else None
    with _open(arguments) as engine:
        try:
            imported = engine.import_relationships(
                _relationships_of(arguments.path), progress=progress, batch_size=arguments.batch_size
            )
        finally:
            if progress is not None:
                print(file=sys.stderr)
    _print_change(arguments, "imported", imported.count, imported.token)
    return OK


def _show_progress(count: int) -> None:
    print(f"\r{count:,} relationships", end="", file=sys.stderr, flush=True)


def relationships_export(arguments: argparse.Namespace) -> int:
    with _open(arguments) as engine:
        stream = engine.export_relationships(**_filter(arguments))
        if arguments.json:
            write_json({"relationships": [{**r._asdict(), "text": str(r)} for r in stream], "token": stream.token})
        else:
            for relationship in stream:
                print(relationship)
    return OK


def _print_change(arguments: argparse.Namespace, done: str, count: int, token: str) -> None:
    if arguments.json:
        write_json({done: count, "token": token})
    else:
        print(f"{counted(count, 'relationship')} {done}")


# ------------------------------------------------------------------------------- demo


def show_demo(_arguments: argparse.Namespace) -> int:
    demo.run()
    return OK


# ---------------------------------------------------------------------------- the parser


# A URI after its scheme, and a keyword of a connection string: where passwords stand.
_SECRET = re.compile(r"(?<=://)\S+|(?<=password=)\S+|(?<=password =)\s*\S+", re.IGNORECASE)


class _Parser(argparse.ArgumentParser):
    """An argument parser that repeats no secret when it complains about what it was given."""

    def error(self, message: str) -> NoReturn:
        super().error(printable(_SECRET.sub("...", message)))


_DESCRIPTION = "Permission checks inside your own process: SpiceDB schemas, relationships, answers."

_CONTEXT_HELP = "values for caveats, a JSON object"

_STATUS = "exit status: 0 yes or all well, 1 no or something does not hold, 2 the input is unusable"


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="licet", description=_DESCRIPTION, epilog=_STATUS)
    parser.add_argument("--version", action="version", version=f"licet {_licet.__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    command = _command(commands, "validate", validate, "run validation files, or check schemas (.zed)")
    command.add_argument("files", nargs="+", metavar="FILE", help="a validation file or a schema")

    _schema_commands(commands)

    command = _command(commands, "check", check, "answer one question: prints allowed, denied or conditional")
    _store(command)
    _resource_argument(command)
    _permission_argument(command)
    _subject_argument(command)
    _context_option(command, _CONTEXT_HELP)

    command = _command(commands, "bulk", bulk, "answer many questions at once")
    _store(command)
    command.add_argument(
        "questions",
        nargs="*",
        metavar="QUESTION",
        help='"document:readme#view@user:ada", with a context of its own: \'document:readme#view@user:ada with {"hour": 9}\'; '
        "from standard input if none",
    )
    _context_option(command, "values for caveats, a JSON object, for the questions that have none of their own")

    _lookup_commands(commands)
    _telling_commands(commands)
    _watch_command(commands)
    _relationship_commands(commands)
    _command(commands, "demo", show_demo, "show what licet does, in a minute", with_json=False)
    return parser


def _command(
    commands: Any, name: str, run: Any, text: str, with_json: bool = True, example: str = ""
) -> argparse.ArgumentParser:
    epilog = f"example:\n  licet {example}\n\n{_STATUS}" if example else _STATUS
    command: argparse.ArgumentParser = commands.add_parser(
        name, help=text, description=text, epilog=epilog, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    command.set_defaults(run=run)
    if with_json:
        command.add_argument("--json", action="store_true", help="one JSON document on standard output")
    return command


def _group(commands: Any, name: str, text: str) -> Any:
    group = commands.add_parser(name, help=text, description=text, epilog=_STATUS)
    return group.add_subparsers(metavar="COMMAND", required=True)


def _schema_commands(commands: Any) -> None:
    schema = _group(commands, "schema", "format, check, lint and compare schema files")

    command = _command(schema, "fmt", schema_fmt, "print the canonical text", with_json=False)
    _schema_files(command)
    how = command.add_mutually_exclusive_group()
    how.add_argument("--write", action="store_true", help="change the files instead")
    how.add_argument("--check", action="store_true", help="only say which files would be changed; status 1 if any")
    command.add_argument("--force", action="store_true", help="with --write: also where comments or partials are lost")

    _schema_files(_command(schema, "check", schema_check, "parse and check schemas"))
    _schema_files(_command(schema, "lint", schema_lint, "warn of what is allowed and rarely meant; status 1 if any"))

    command = _command(
        schema,
        "diff",
        schema_diff,
        "what changed between two schemas; status 1 if anything",
        example="schema diff before.zed after.zed",
    )
    command.add_argument("before", metavar="BEFORE", help='a schema; "-" is standard input')
    command.add_argument("after", metavar="AFTER", help="another one")

    command = _command(
        schema,
        "impact",
        schema_impact,
        "which relationships forbid a schema, and which decisions it changes; status 1 if any",
        example="schema impact --file world.yaml new.zed",
    )
    _store(command)
    command.add_argument("schema", metavar="SCHEMA", help='the schema that is considered; "-" is standard input')
    _limit_option(command)


def _schema_files(command: argparse.ArgumentParser) -> None:
    command.add_argument("files", nargs="+", metavar="FILE", help='a schema; "-" is standard input')


def _relationship_commands(commands: Any) -> None:
    relationships = _group(commands, "relationships", "read, write, delete, import and export relationships")

    command = _command(relationships, "read", relationships_read, "print the relationships that a filter selects")
    _store(command)
    _filter_options(command)
    _limit_option(command)

    command = _command(relationships, "write", relationships_write, "write relationships, all or none")
    _store(command)
    command.add_argument("--create", action="store_true", help="fail if one of them exists")
    _relationship_arguments(command)

    command = _command(relationships, "delete", relationships_delete, "delete relationships, all or none")
    _store(command)
    _filter_options(command)
    _relationship_arguments(command)

    command = _command(
        relationships,
        "import",
        relationships_import,
        "create any number of relationships, all or none",
        example="relationships import --file world.yaml more.txt",
    )
    _store(command)
    command.add_argument(
        "path",
        nargs="?",
        default="-",
        metavar="FILE",
        help='one relationship a line; "-", the default, is standard input',
    )
    command.add_argument(
        "--batch-size", type=int, default=1000, metavar="N", help="relationships at a time; 1,000 by default"
    )

    command = _command(
        relationships,
        "export",
        relationships_export,
        "print all relationships, or those of a filter",
        example="relationships export --file world.yaml --resource-type document",
    )
    _store(command)
    _filter_options(command)


def _lookup_commands(commands: Any) -> None:
    command = _command(
        commands,
        "lookup-resources",
        lookup_resources,
        "which resources of a type has a subject a permission on",
        example="lookup-resources --file world.yaml document view user:ada",
    )
    _store(command)
    _resource_type_argument(command)
    _permission_argument(command)
    _subject_argument(command)
    _page_options(command)

    command = _command(
        commands,
        "lookup-subjects",
        lookup_subjects,
        "which subjects of a type have a permission on a resource",
        example="lookup-subjects --file world.yaml document:readme view user",
    )
    _store(command)
    _resource_argument(command)
    _permission_argument(command)
    command.add_argument("subject_type", help='such as "user", or "group#member"')
    command.add_argument("--no-wildcards", action="store_true", help="leave out that everybody has it")
    _page_options(command)

    command = _command(
        commands,
        "permissions",
        permissions,
        "what may a subject do to a resource: all permissions, or those given",
        example="permissions --file world.yaml document:readme user:ada",
    )
    _store(command)
    _resource_argument(command)
    _subject_argument(command)
    command.add_argument("permissions", nargs="*", metavar="PERMISSION", help="only these, in this order")
    _context_option(command, _CONTEXT_HELP)

    command = _command(
        commands,
        "filter",
        filter_ids,
        "those of many resources that a subject has a permission on, in their order",
        example="filter --file world.yaml document view user:ada readme plan",
    )
    _store(command)
    _resource_type_argument(command)
    _permission_argument(command)
    _subject_argument(command)
    command.add_argument("ids", nargs="*", metavar="ID", help='such as "readme"; from standard input if none')
    _context_option(command, _CONTEXT_HELP)


def _telling_commands(commands: Any) -> None:
    command = _command(
        commands,
        "expand",
        expand,
        "what a permission consists of, and the subjects that are stored for it",
        example="expand --file world.yaml document:readme view",
    )
    _store(command)
    _resource_argument(command)
    _permission_argument(command)

    command = _command(
        commands,
        "explain",
        explain,
        "answer one question as check does, and tell how",
        example="explain --file world.yaml document:readme view user:ada",
    )
    _store(command)
    _resource_argument(command)
    _permission_argument(command)
    _subject_argument(command)
    _context_option(command, _CONTEXT_HELP)


def _watch_command(commands: Any) -> None:
    command = _command(
        commands,
        "watch",
        watch,
        "print what is committed, as it is committed; with --json one document a line",
        example="watch --db memory: --timeout 5",
    )
    _store(command)
    command.add_argument("--since", metavar="TOKEN", help="what was committed after it; by default from now on")
    command.add_argument("--schema", action="store_true", help="also say that the schema was replaced")
    command.add_argument("--checkpoints", action="store_true", help="also say that nothing earlier is still to come")
    command.add_argument(
        "--resource-type", action="append", metavar="TYPE", help="only of this type; may be given several times"
    )
    command.add_argument(
        "--timeout", type=float, metavar="SECONDS", help="end when nothing came for so long; by default never"
    )


def _resource_argument(command: argparse.ArgumentParser) -> None:
    command.add_argument("resource", help='such as "document:readme"')


def _resource_type_argument(command: argparse.ArgumentParser) -> None:
    command.add_argument("resource_type", help='such as "document"')


def _permission_argument(command: argparse.ArgumentParser) -> None:
    command.add_argument("permission", help='such as "view": a permission or a relation')


def _subject_argument(command: argparse.ArgumentParser) -> None:
    command.add_argument("subject", help='such as "user:ada" or "group:eng#member"')


def _limit_option(command: argparse.ArgumentParser) -> None:
    command.add_argument("--limit", type=int, metavar="N", help="at most so many; all by default")


def _page_options(command: argparse.ArgumentParser) -> None:
    _limit_option(command)
    command.add_argument("--cursor", metavar="CURSOR", help="go on after it; --json tells it")
    _context_option(command, _CONTEXT_HELP)


def _relationship_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "relationships",
        nargs="*",
        metavar="RELATIONSHIP",
        help='"document:readme#owner@user:ada"; from standard input if none and no filter',
    )


def _store(command: argparse.ArgumentParser) -> None:
    store = command.add_mutually_exclusive_group(required=True)
    store.add_argument("--file", metavar="VALIDATION", help="load this validation file into memory; it is not changed")
    store.add_argument("--db", metavar="URI", help="the store; memory: is the only one of this version")


def _context_option(command: argparse.ArgumentParser, text: str) -> None:
    command.add_argument("--context", metavar="JSON", help=text)


def _filter_options(command: argparse.ArgumentParser) -> None:
    for name in _FILTER_FIELDS:
        command.add_argument("--" + name.replace("_", "-"), metavar="TEXT")


def _open_closed_streams() -> None:
    """Who started us may have closed a standard stream: Python has None for it then, and the next file that is opened
    would get its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit status."""
    _open_closed_streams()
    for stream, errors in ((sys.stdin, "surrogateescape"), (sys.stdout, "backslashreplace")):
        if hasattr(stream, "reconfigure"):  # standard error does so by itself
            stream.reconfigure(errors=errors)
    arguments = _parser().parse_args(argv)
    try:
        status: int = arguments.run(arguments)
        sys.stdout.flush()
    except _Stop as stop:
        return stop.status
    except _licet.Error as error:
        complain(f"licet: {printable(error.message)}")
        return UNUSABLE
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nobody reads; say nothing more at exit
        return NO
    except OSError as error:
        complain(f"licet: {error.strerror}")
        return UNUSABLE
    except KeyboardInterrupt:
        return 130
    return status

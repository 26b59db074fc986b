"""licet schema: files are formatted, checked, linted and compared; a store's schema is read, replaced, and held against
a new one."""

from __future__ import annotations

import argparse
import os
import re
import stat
import sys
import tempfile
from typing import Any

from .. import _licet, validation
from ..records import Impact, SchemaChange
from .answers import WORDS
from .arguments import add_command, add_group, limit_option, store_options
from .output import NO, OK, UNUSABLE, complain, counted, diagnose, diagnose_problem, printable, problem_of, write_json
from .store import Stop, open_store


def add(commands: Any) -> None:
    schema = add_group(
        commands, "schema", "format, check, lint and compare schema files; read and write a store's schema"
    )

    command = add_command(schema, "fmt", schema_fmt, "print the canonical text", with_json=False)
    _schema_files(command)
    how = command.add_mutually_exclusive_group()
    how.add_argument("--write", action="store_true", help="change the files instead")
    how.add_argument("--check", action="store_true", help="only say which files would be changed; status 1 if any")
    command.add_argument("--force", action="store_true", help="with --write: also where comments or partials are lost")

    _schema_files(add_command(schema, "check", schema_check, "parse and check schemas"))
    _schema_files(add_command(schema, "lint", schema_lint, "warn of what is allowed and rarely meant; status 1 if any"))

    command = add_command(
        schema,
        "diff",
        schema_diff,
        "what changed between two schemas; status 1 if anything",
        example="schema diff before.zed after.zed",
    )
    command.add_argument("before", metavar="BEFORE", help='a schema; "-" is standard input')
    command.add_argument("after", metavar="AFTER", help="another one")

    command = add_command(
        schema,
        "impact",
        schema_impact,
        "which relationships forbid a schema, and which decisions it changes; status 1 if any",
        example="schema impact --file world.yaml new.zed",
    )
    store_options(command)
    command.add_argument("schema", metavar="SCHEMA", help='the schema that is considered; "-" is standard input')
    limit_option(command)

    command = add_command(
        schema,
        "write",
        schema_write,
        "replace the schema of a store, unless relationships there forbid it",
        example="schema write --db postgresql:///app schema.zed",
    )
    store_options(command, mode="prefetch")
    command.add_argument("schema", metavar="SCHEMA", help='the new schema; "-" is standard input')

    command = add_command(
        schema,
        "read",
        schema_read,
        "print the schema of a store, in its canonical text",
        example="schema read --db postgresql:///app",
    )
    store_options(command, mode="prefetch")


def _schema_files(command: argparse.ArgumentParser) -> None:
    command.add_argument("files", nargs="+", metavar="FILE", help='a schema; "-" is standard input')


def _read_schema(path: str) -> str:
    """Schema text from a file, or from standard input for "-"."""
    if path == "-":
        return validation.decode(sys.stdin.buffer.read())
    return validation.decode(validation.read(path))


def _name(path: str) -> str:
    return "<stdin>" if path == "-" else path


def _parse_schema(path: str, text: str) -> _licet.Schema:
    return _licet.Schema.parse(text, folder=None if path == "-" else validation.folder_of(path))


# ------------------------------------------------------------------- check and lint


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
            values["error"] = problem_of(error)
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
        diagnose_problem(path, values["error"], text)
        return
    print(f"{values['outcome']:<8}  {printable(path)}: {counted(values['definitions'], 'definition')}")
    for lint in values["lints"]:
        diagnose(path, lint["line"], lint["column"], "warning", lint["message"], text)


# ---------------------------------------------------------------------------- format


def schema_fmt(arguments: argparse.Namespace) -> int:
    worst = OK
    for path in arguments.files:
        text = ""
        try:
            text = _read_schema(path)
            status = _format_one(arguments, path, text)
        except (_licet.Error, OSError) as error:
            diagnose_problem(_name(path), problem_of(error), text)
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


# ------------------------------------------------------------------- diff and impact


def schema_diff(arguments: argparse.Namespace) -> int:
    schemas = []
    for path in (arguments.before, arguments.after):
        text = ""
        try:
            text = _read_schema(path)
            schemas.append(_parse_schema(path, text))
        except (_licet.Error, OSError) as error:
            diagnose_problem(_name(path), problem_of(error), text)
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


def _canonical(path: str) -> str:
    """The schema of a file with what it imports in it, or Stop."""
    text = ""
    try:
        text = _read_schema(path)
        return _parse_schema(path, text).format()
    except (_licet.Error, OSError) as error:
        diagnose_problem(_name(path), problem_of(error), text)
        raise Stop(UNUSABLE) from None


def schema_impact(arguments: argparse.Namespace) -> int:
    found = []
    canonical = _canonical(arguments.schema)
    any_impact = False
    with open_store(arguments) as engine:
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
    change = f"{WORDS[impact.before]} -> {WORDS[impact.after]}"
    return f"{impact.kind:<7}  {impact.resource} {impact.permission} {impact.subject}: {change}"


# -------------------------------------------------------------------- write and read


def schema_write(arguments: argparse.Namespace) -> int:
    canonical = _canonical(arguments.schema)
    with open_store(arguments) as engine:
        token = engine.write_schema(canonical)
    if arguments.json:
        write_json({"token": token})
    else:
        print("schema written")
    return OK


def schema_read(arguments: argparse.Namespace) -> int:
    with open_store(arguments) as engine:
        text = engine.read_schema().format() + "\n"
    if arguments.json:
        write_json({"schema": text})
    else:
        sys.stdout.write(text)
    return OK

"""licet validate: validation files and what they came to."""

from __future__ import annotations

import argparse
from typing import Any

from .. import _licet, validation
from .arguments import add_command
from .output import NO, OK, UNUSABLE, counted, diagnose, diagnose_problem, printable, problem_of, source_of, write_json


def add(commands: Any) -> None:
    command = add_command(commands, "validate", validate, "run validation files, or check schemas (.zed)")
    command.add_argument("files", nargs="+", metavar="FILE", help="a validation file or a schema")


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
        values["error"] = problem_of(error)
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
        diagnose_problem(path, values["error"], source_of(path))
        return
    counts = ", ".join(
        [
            counted(values["relationships"], "relationship"),
            counted(values["assertions"], "assertion"),
            counted(values["expected_relations"], "expected relation"),
        ]
    )
    print(f"{values['outcome']:<8}  {printable(path)}: {counts}")
    text = source_of(path) if values["findings"] else ""
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

"""licet expand and explain, which tell how; licet watch, which tells what happens."""

from __future__ import annotations

import argparse
import json
from typing import Any

from .. import _licet
from ..records import Change, Trace
from .arguments import (
    CONTEXT_HELP,
    add_command,
    context_option,
    permission_argument,
    resource_argument,
    store_options,
    subject_argument,
)
from .output import NO, OK, print_document, printable
from .store import open_store


def add(commands: Any) -> None:
    command = add_command(
        commands,
        "expand",
        expand,
        "what a permission consists of, and the subjects that are stored for it",
        example="expand --file world.yaml document:readme view",
    )
    store_options(command, mode="prefetch")
    resource_argument(command)
    permission_argument(command)

    command = add_command(
        commands,
        "explain",
        explain,
        "answer one question as check does, and tell how",
        example="explain --file world.yaml document:readme view user:ada",
    )
    store_options(command, mode="prefetch")
    resource_argument(command)
    permission_argument(command)
    subject_argument(command)
    context_option(command, CONTEXT_HELP)

    command = add_command(
        commands,
        "watch",
        watch,
        "print what is committed, as it is committed; with --json one document a line",
        example="watch --db postgresql:///app --timeout 60",
    )
    store_options(command)
    command.add_argument("--since", metavar="TOKEN", help="what was committed after it; by default from now on")
    command.add_argument("--schema", action="store_true", help="also say that the schema was replaced")
    command.add_argument("--checkpoints", action="store_true", help="also say that nothing earlier is still to come")
    command.add_argument(
        "--resource-type", action="append", metavar="TYPE", help="only of this type; may be given several times"
    )
    command.add_argument(
        "--timeout", type=float, metavar="SECONDS", help="end when nothing came for so long; by default never"
    )


def _print_told(arguments: argparse.Namespace, told: _licet.Tree | Trace) -> None:
    if arguments.json:
        print_document(told.to_json())
    else:
        print("\n".join(printable(line) for line in str(told).split("\n")))


def expand(arguments: argparse.Namespace) -> int:
    with open_store(arguments) as engine:
        _print_told(arguments, engine.expand(arguments.resource, arguments.permission))
    return OK


def explain(arguments: argparse.Namespace) -> int:
    question = (arguments.resource, arguments.permission, arguments.subject)
    with open_store(arguments) as engine:
        try:
            trace = engine.explain(*question, context=arguments.context)
        except _licet.Error as error:
            if error.trace is not None:
                _print_told(arguments, error.trace)
            raise
    _print_told(arguments, trace)
    return OK if trace else NO


def watch(arguments: argparse.Namespace) -> int:
    """Prints what is committed, each line as soon as it is there, until the time is over or somebody ends it."""
    with open_store(arguments) as engine:
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

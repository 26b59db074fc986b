"""licet relationships: read, write, delete, import and export."""

from __future__ import annotations

import argparse
import contextlib
import sys
from typing import Any

from .. import _licet
from .arguments import (
    add_command,
    add_group,
    filter_of,
    filter_options,
    limit_option,
    relationship_arguments,
    store_options,
)
from .lines import relationships_from, relationships_of
from .output import NO, OK, UNUSABLE, complain, counted, printable, write_json
from .store import open_store


def add(commands: Any) -> None:
    relationships = add_group(commands, "relationships", "read, write, delete, import and export relationships")

    command = add_command(relationships, "read", relationships_read, "print the relationships that a filter selects")
    store_options(command)
    filter_options(command)
    limit_option(command)

    command = add_command(relationships, "write", relationships_write, "write relationships, all or none")
    store_options(command)
    command.add_argument("--create", action="store_true", help="fail if one of them exists")
    relationship_arguments(command)

    command = add_command(relationships, "delete", relationships_delete, "delete relationships, all or none")
    store_options(command)
    filter_options(command)
    relationship_arguments(command, "if none and no filter")

    command = add_command(
        relationships,
        "import",
        relationships_import,
        "create any number of relationships, all or none; with --resume in pieces that can be gone on with",
        example="relationships import --file world.yaml more.txt",
    )
    store_options(command)
    command.add_argument(
        "path",
        nargs="?",
        default="-",
        metavar="FILE",
        help='one relationship a line; "-", the default, is standard input',
    )
    command.add_argument(
        "--resume",
        metavar="NAME",
        help="commit each batch, and go on where the import of this name was when the same is given again",
    )
    command.add_argument(
        "--batch-size",
        type=int,
        metavar="N",
        help="relationships at a time; 1,000 by default, with --resume 10,000",
    )

    command = add_command(
        relationships,
        "import-status",
        import_status,
        "how far an import of that name has come (import --resume)",
        example="relationships import-status --file world.yaml users",
    )
    store_options(command)
    command.add_argument("name", metavar="NAME")
    command.add_argument("--forget", action="store_true", help="then forget it: what was imported stays")

    command = add_command(
        relationships,
        "export",
        relationships_export,
        "print all relationships, or those of a filter",
        example="relationships export --file world.yaml --resource-type document",
    )
    store_options(command)
    filter_options(command)


def relationships_read(arguments: argparse.Namespace) -> int:
    with open_store(arguments) as engine:
        stream = engine.read_relationships(limit=arguments.limit, **filter_of(arguments))
        if arguments.json:
            found = [{**r._asdict(), "text": str(r)} for r in stream]
            write_json({"relationships": found, "token": stream.token})
        else:
            for relationship in stream:
                print(relationship)
    return OK


def relationships_write(arguments: argparse.Namespace) -> int:
    relationships = list(relationships_from(arguments.relationships))
    with open_store(arguments) as engine:
        change = engine.create if arguments.create else engine.touch
        token = change(*relationships) if relationships else engine.write([])
    _print_change(arguments, "written", len(relationships), token)
    return OK


def relationships_delete(arguments: argparse.Namespace) -> int:
    chosen = filter_of(arguments)
    if chosen and arguments.relationships:
        complain("licet: give relationships or a filter, not both")
        return UNUSABLE
    relationships = [] if chosen else list(relationships_from(arguments.relationships))
    with open_store(arguments) as engine:
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
    with open_store(arguments) as engine:
        try:
            imported = engine.import_relationships(
                relationships_of(arguments.path),
                progress=progress,
                batch_size=arguments.batch_size,
                resume=arguments.resume,
            )
        except BaseException:
            if arguments.resume is not None:
                _tell_how_far(engine, arguments.resume)
            raise
        finally:
            if progress is not None:
                print(file=sys.stderr)
    _print_change(arguments, "imported", imported.count, imported.token)
    return OK


def _tell_how_far(engine: _licet.Engine, name: str) -> None:
    """What is there of an import that has failed, if that can be found out."""
    with contextlib.suppress(_licet.Error):
        status = engine.import_status(name)
        if status.is_known and not status.is_finished:
            there = f"{counted(status.count, 'relationship')} of {printable(name)!r} committed"
            complain(f"licet: {there}: the same command goes on from there")


def import_status(arguments: argparse.Namespace) -> int:
    with open_store(arguments) as engine:
        status = engine.import_status(arguments.name)
        if arguments.forget:
            engine.forget_import(arguments.name)
    if arguments.json:
        write_json(status._asdict())
    elif status.is_known:
        print(f"{counted(status.count, 'relationship')} committed, {'' if status.is_finished else 'not '}finished")
    else:
        print("no import of this name")
    return OK if status.is_known else NO


def _show_progress(count: int) -> None:
    print(f"\r{count:,} relationships", end="", file=sys.stderr, flush=True)


def relationships_export(arguments: argparse.Namespace) -> int:
    with open_store(arguments) as engine:
        stream = engine.export_relationships(**filter_of(arguments))
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

"""licet migrate, doctor and gc: what tends a database."""

from __future__ import annotations

import argparse
from typing import Any

from .. import _licet
from ..database import doctor as examine
from .arguments import add_command, database_options
from .output import NO, OK, counted, printable, write_json
from .store import open_store


def add(commands: Any) -> None:
    command = add_command(
        commands,
        "migrate",
        migrate,
        "create licet's tables in a Postgres database, or bring them up to date",
        with_json=False,
        example="migrate --dry-run --db postgresql:///app",
    )
    _database(command)
    command.add_argument("--dry-run", action="store_true", help="only print the SQL")

    command = add_command(
        commands,
        "doctor",
        doctor,
        "look at a Postgres database as a careful operator would; status 1 if something is wrong",
        example="doctor --db postgresql:///app",
    )
    _database(command)

    command = add_command(
        commands,
        "gc",
        gc,
        "remove from a Postgres database what was deleted long ago",
        example="gc --db postgresql:///app",
    )
    _database(command)
    command.add_argument(
        "--window-ms", type=int, metavar="N", help="keep what was deleted so lately; 24 hours by default"
    )


def _database(command: argparse.ArgumentParser) -> None:
    command.add_argument("--db", metavar="URI", required=True, help="postgresql://... or a connection string")
    database_options(command)


def migrate(arguments: argparse.Namespace) -> int:
    sql = _licet.migrate(arguments.db, dry_run=arguments.dry_run, postgres_schema=arguments.postgres_schema)
    if arguments.dry_run:
        print(sql, end="" if sql.endswith("\n") or not sql else "\n")
    else:
        print("migrated" if sql else "nothing to do")
    return OK


def doctor(arguments: argparse.Namespace) -> int:
    report = examine(arguments.db, postgres_schema=arguments.postgres_schema)
    if arguments.json:
        write_json({"ok": report.ok, "findings": [finding._asdict() for finding in report.findings]})
    else:
        for finding in report.findings:
            print(f"{finding.level:<7}  {finding.name}: {printable(finding.message)}")
    return OK if report.ok else NO


def gc(arguments: argparse.Namespace) -> int:
    with open_store(arguments, mode="prefetch", gc_window_ms=arguments.window_ms) as engine:
        removed = engine.collect_garbage()
    if arguments.json:
        write_json({"removed": removed})
    else:
        print(f"{counted(removed, 'row')} removed")
    return OK

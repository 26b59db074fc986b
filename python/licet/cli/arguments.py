"""What several commands have in common on their command lines."""

from __future__ import annotations

import argparse
import re
from typing import Any, NoReturn

from .output import printable

FILTER_FIELDS = (
    "resource_type",
    "resource_id",
    "resource_id_prefix",
    "relation",
    "subject_type",
    "subject_id",
    "subject_relation",
)

CONTEXT_HELP = "values for caveats, a JSON object"

STATUS = "exit status: 0 yes or all well, 1 no or something does not hold, 2 the input is unusable"

# A URI after its scheme, and a keyword of a connection string: where passwords stand.
_SECRET = re.compile(r"(?<=://)\S+|(?<=password=)\S+|(?<=password =)\s*\S+", re.IGNORECASE)


class Parser(argparse.ArgumentParser):
    """An argument parser that repeats no secret when it complains about what it was given."""

    def error(self, message: str) -> NoReturn:
        super().error(printable(_SECRET.sub("...", message)))


def add_command(
    commands: Any, name: str, run: Any, text: str, with_json: bool = True, example: str = ""
) -> argparse.ArgumentParser:
    epilog = f"example:\n  licet {example}\n\n{STATUS}" if example else STATUS
    command: argparse.ArgumentParser = commands.add_parser(
        name, help=text, description=text, epilog=epilog, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    command.set_defaults(run=run)
    if with_json:
        command.add_argument("--json", action="store_true", help="one JSON document on standard output")
    return command


def add_group(commands: Any, name: str, text: str) -> Any:
    group = commands.add_parser(name, help=text, description=text, epilog=STATUS)
    return group.add_subparsers(metavar="COMMAND", required=True)


def store_options(command: argparse.ArgumentParser, mode: str = "auto") -> None:
    """The store to work on. mode is the default for one on Postgres: a single question needs no whole graph."""
    store = command.add_mutually_exclusive_group(required=True)
    store.add_argument("--file", metavar="VALIDATION", help="load this validation file into memory; it is not changed")
    store.add_argument("--db", metavar="URI", help="memory:, postgresql://... or a connection string of Postgres")
    command.add_argument(
        "--mode",
        choices=("auto", "follow", "prefetch"),
        default=mode,
        help=f"of --db: load the whole graph, or fetch what the request can touch; {mode} by default",
    )
    database_options(command)


def database_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--postgres-schema", default="licet", metavar="NAME", help="where the tables are; licet by default"
    )


def resource_argument(command: argparse.ArgumentParser) -> None:
    command.add_argument("resource", help='such as "document:readme"')


def resource_type_argument(command: argparse.ArgumentParser) -> None:
    command.add_argument("resource_type", help='such as "document"')


def permission_argument(command: argparse.ArgumentParser) -> None:
    command.add_argument("permission", help='such as "view": a permission or a relation')


def subject_argument(command: argparse.ArgumentParser) -> None:
    command.add_argument("subject", help='such as "user:ada" or "group:eng#member"')


def limit_option(command: argparse.ArgumentParser) -> None:
    command.add_argument("--limit", type=int, metavar="N", help="at most so many; all by default")


def page_options(command: argparse.ArgumentParser) -> None:
    limit_option(command)
    context_option(command, CONTEXT_HELP)


def relationship_arguments(command: argparse.ArgumentParser, otherwise: str = "if none") -> None:
    command.add_argument(
        "relationships",
        nargs="*",
        metavar="RELATIONSHIP",
        help=f'"document:readme#owner@user:ada"; from standard input {otherwise}',
    )


def context_option(command: argparse.ArgumentParser, text: str) -> None:
    command.add_argument("--context", metavar="JSON", help=text)


def filter_options(command: argparse.ArgumentParser) -> None:
    for name in FILTER_FIELDS:
        command.add_argument("--" + name.replace("_", "-"), metavar="TEXT")


def filter_of(arguments: argparse.Namespace) -> dict[str, Any]:
    given = {name: getattr(arguments, name) for name in FILTER_FIELDS}
    return {name: value for name, value in given.items() if value is not None}

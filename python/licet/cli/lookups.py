"""licet lookup-resources, lookup-subjects, permissions and filter."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from ..records import FoundSubject
from .answers import WORDS, result_values, word_of
from .arguments import (
    CONTEXT_HELP,
    add_command,
    context_option,
    page_options,
    permission_argument,
    resource_argument,
    resource_type_argument,
    store_options,
    subject_argument,
)
from .checks import BULK_LIMIT
from .lines import lines_of
from .output import OK, UNUSABLE, complain, printable, write_json
from .store import open_store


def add(commands: Any) -> None:
    command = add_command(
        commands,
        "lookup-resources",
        lookup_resources,
        "which resources of a type has a subject a permission on",
        example="lookup-resources --file world.yaml document view user:ada",
    )
    store_options(command, mode="prefetch")
    resource_type_argument(command)
    permission_argument(command)
    subject_argument(command)
    page_options(command)

    command = add_command(
        commands,
        "lookup-subjects",
        lookup_subjects,
        "which subjects of a type have a permission on a resource",
        example="lookup-subjects --file world.yaml document:readme view user",
    )
    store_options(command, mode="prefetch")
    resource_argument(command)
    permission_argument(command)
    command.add_argument("subject_type", help='such as "user", or "group#member"')
    command.add_argument("--no-wildcards", action="store_true", help="leave out that everybody has it")
    page_options(command)

    command = add_command(
        commands,
        "permissions",
        permissions,
        "what may a subject do to a resource: all permissions, or those given",
        example="permissions --file world.yaml document:readme user:ada",
    )
    store_options(command, mode="prefetch")
    resource_argument(command)
    subject_argument(command)
    command.add_argument("permissions", nargs="*", metavar="PERMISSION", help="only these, in this order")
    context_option(command, CONTEXT_HELP)

    command = add_command(
        commands,
        "filter",
        filter_ids,
        "those of many resources that a subject has a permission on, in their order",
        example="filter --file world.yaml document view user:ada readme plan",
    )
    store_options(command, mode="prefetch")
    resource_type_argument(command)
    permission_argument(command)
    subject_argument(command)
    command.add_argument("ids", nargs="*", metavar="ID", help='such as "readme"; from standard input if none')
    context_option(command, CONTEXT_HELP)


def _found_line(word: str, what: str, missing: Sequence[str]) -> str:
    waits = f" (missing: {', '.join(missing)})" if missing else ""
    return f"{word:<11}  {what}{waits}"


def _found_values(found: Any) -> dict[str, Any]:
    return {**found._asdict(), "permissionship": found.permissionship.name}


def lookup_resources(arguments: argparse.Namespace) -> int:
    with open_store(arguments) as engine:
        stream = engine.lookup_resources(
            arguments.resource_type,
            arguments.permission,
            arguments.subject,
            limit=arguments.limit,
            context=arguments.context,
        )
        if arguments.json:
            found = [_found_values(resource) for resource in stream]
            write_json({"resources": found, "token": stream.token})
        else:
            for resource_id, permissionship, missing in stream:
                print(_found_line(WORDS[permissionship], f"{arguments.resource_type}:{resource_id}", missing))
    return OK


def lookup_subjects(arguments: argparse.Namespace) -> int:
    subject_type, _, relation = arguments.subject_type.partition("#")
    with open_store(arguments) as engine:
        stream = engine.lookup_subjects(
            arguments.resource,
            arguments.permission,
            subject_type,
            subject_relation=relation or None,
            wildcards=not arguments.no_wildcards,
            limit=arguments.limit,
            context=arguments.context,
        )
        if arguments.json:
            found = [_subject_values(subject) for subject in stream]
            write_json({"subjects": found, "token": stream.token})
        else:
            for subject in stream:
                _print_subject(subject, subject_type, f"#{relation}" if relation else "")
    return OK


def _subject_values(subject: FoundSubject) -> dict[str, Any]:
    return {**_found_values(subject), "excluded": [_found_values(excluded) for excluded in subject.excluded]}


def _print_subject(subject: FoundSubject, subject_type: str, relation: str) -> None:
    print(
        _found_line(
            WORDS[subject.permissionship], f"{subject_type}:{subject.subject_id}{relation}", subject.missing_context
        )
    )
    for excluded in subject.excluded:
        name = f"  but {subject_type}:{excluded.subject_id}{relation}"
        print(_found_line("", name, excluded.missing_context))


def filter_ids(arguments: argparse.Namespace) -> int:
    ids = [text for _, _, text in lines_of(arguments.ids)]
    allowed = []
    with open_store(arguments) as engine:
        for first in range(0, len(ids), BULK_LIMIT):
            part = ids[first : first + BULK_LIMIT]
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
    with open_store(arguments) as engine:
        answers = engine.permissions(
            arguments.resource, arguments.subject, arguments.permissions or None, context=arguments.context
        )
    failed = [name for name, result in answers.items() if result.error is not None]
    if arguments.json:
        asked = {"resource": arguments.resource, "subject": arguments.subject}
        write_json({**asked, "permissions": {name: result_values(result) for name, result in answers.items()}})
    else:
        for name, result in answers.items():
            print(_found_line(word_of(result), printable(name), result.missing_context))
        for name in failed:
            complain(f"licet: {printable(name)}: {printable(answers[name].error.message)}")  # type: ignore[union-attr]
    return UNUSABLE if failed else OK

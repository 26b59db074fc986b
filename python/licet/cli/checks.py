"""licet check and licet bulk."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from .. import _licet
from ..relationship import Relationship
from .answers import missing_of, result_values, word_of
from .arguments import (
    CONTEXT_HELP,
    add_command,
    context_option,
    permission_argument,
    resource_argument,
    store_options,
    subject_argument,
)
from .lines import WITH, Question, questions_from
from .output import NO, OK, UNUSABLE, complain, printable, write_json
from .store import open_store

# The most checks that one bulk call takes.
BULK_LIMIT = 10_000


def add(commands: Any) -> None:
    command = add_command(commands, "check", check, "answer one question: prints allowed, denied or conditional")
    store_options(command, mode="prefetch")
    resource_argument(command)
    permission_argument(command)
    subject_argument(command)
    context_option(command, CONTEXT_HELP)

    command = add_command(commands, "bulk", bulk, "answer many questions at once")
    store_options(command, mode="prefetch")
    command.add_argument(
        "questions",
        nargs="*",
        metavar="QUESTION",
        help='"document:readme#view@user:ada", with a context of its own: \'document:readme#view@user:ada with {"hour": 9}\'; '
        "from standard input if none",
    )
    context_option(command, "values for caveats, a JSON object, for the questions that have none of their own")


def check(arguments: argparse.Namespace) -> int:
    question = {name: getattr(arguments, name) for name in ("resource", "permission", "subject")}
    with open_store(arguments) as engine:
        result = engine.check(**question, context=arguments.context)
    if arguments.json:
        write_json({**question, **result_values(result)})
    else:
        print(word_of(result) + missing_of(result))
    return OK if result.allowed else NO


def bulk(arguments: argparse.Namespace) -> int:
    questions = list(questions_from(arguments.questions))
    with open_store(arguments) as engine:
        results = list(_check_all(engine, questions, arguments.context))
    failed = False
    for (question, context), result in zip(questions, results):
        if not arguments.json:
            given = "" if context is None else f"{WITH}{printable(context)}"
            print(f"{word_of(result):<11}  {question}{given}{missing_of(result)}")
        if result.error is not None:
            failed = True
            if not arguments.json:
                complain(f"licet: {question}: {printable(result.error.message)}")
    if arguments.json:
        write_json({"results": [{**_asked(*q), **result_values(r)} for q, r in zip(questions, results)]})
    return UNUSABLE if failed else OK


def _asked(question: Relationship, context: str | None) -> dict[str, Any]:
    values: dict[str, Any] = {
        "resource": question.resource,
        "permission": question.relation,
        "subject": question.subject,
    }
    if context is not None:
        values["context"] = context
    return values


def _check_all(engine: _licet.Engine, questions: list[Question], context: str | None) -> Iterator[_licet.Result]:
    for first in range(0, len(questions), BULK_LIMIT):
        part = questions[first : first + BULK_LIMIT]
        yield from engine.check_bulk(((q.resource, q.relation, q.subject, own) for q, own in part), context=context)

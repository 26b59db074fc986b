"""Relationships and questions, one a line, from the command line, standard input or a file."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Optional

from .. import _licet
from ..relationship import Relationship
from .output import UNUSABLE, complain, diagnose, printable
from .store import Stop

# A question, and the JSON text of its own context, if it has one.
Question = tuple[Relationship, Optional[str]]

# What stands between the two, as in the assertions of validation files.
WITH = " with "


def lines_of(given: Sequence[str]) -> Iterator[tuple[int, str, str]]:
    """Number, line and what is on it, from the command line or from standard input, comments and empty lines aside."""
    return _uncommented(((0, text) for text in given) if given else enumerate(sys.stdin, start=1))


def _uncommented(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str, str]]:
    for number, line in lines:
        text = line.strip()
        if text and not text.startswith("//"):
            yield number, line, text


def relationships_from(given: Sequence[str]) -> Iterator[Relationship]:
    """Relationships from the command line, or from standard input: one a line."""
    for number, line, text in lines_of(given):
        yield _parsed(number, line, text, question=False)


def relationships_of(path: str) -> Iterator[Relationship]:
    """Relationships of a file, as of standard input, which is "-"."""
    if path == "-":
        yield from relationships_from(())
        return
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        for number, line, text in _uncommented(enumerate(file, start=1)):
            yield _parsed(number, line, text, question=False, path=path)


def questions_from(given: Sequence[str]) -> Iterator[Question]:
    """Questions, from the same: `document:readme#view@user:ada`, perhaps with `with {"hour": 9}` behind it."""
    for number, line, text in lines_of(given):
        question, separator, context = text.partition(WITH)
        yield _parsed(number, line, question.rstrip(), question=True), context.strip() if separator else None


def _parsed(number: int, line: str, text: str, question: bool, path: str = "<stdin>") -> Relationship:
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
        raise Stop(UNUSABLE) from None

"""What the command says: exit statuses, what is wrong and where, JSON."""

from __future__ import annotations

import codecs
import json
import os
import re
import sys
import unicodedata
from collections.abc import Iterator
from typing import Any

from .. import _licet, validation

OK, NO, UNUSABLE = 0, 1, 2


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


def problem_of(error: Exception) -> dict[str, Any]:
    """Any error that a file can lead to, as values."""
    return error_values(error) if isinstance(error, _licet.Error) else _unreadable_values(error)  # type: ignore[arg-type]


# How the core begins what it has to say of a file that was imported, or named by schemaFile: a position in its text.
_IN_OTHER_FILE = re.compile(r'in (?:the imported file )?"([^"]+)": ')


def diagnose_problem(path: str, problem: dict[str, Any], text: str = "") -> None:
    """Shows the problem where it is, which may be in a file that `path` names."""
    message = problem["message"]
    other = _IN_OTHER_FILE.match(message)
    if other is not None and problem["line"]:
        path = os.path.join(os.path.dirname(path), other[1])
        message = message[other.end() :]
        text = source_of(path)
    diagnose(path, problem["line"], problem["column"], "error", message, text)


def write_json(value: object) -> None:
    """One document. What an encoding other than UTF-8 may lack is escaped as JSON has it, not as Python has it."""
    unicode = codecs.lookup(sys.stdout.encoding).name == "utf-8"
    print(json.dumps(value, indent=2, ensure_ascii=not unicode))


def print_document(text: str) -> None:
    """A JSON document of the core's, whatever the encoding of standard output lacks."""
    if codecs.lookup(sys.stdout.encoding).name != "utf-8":
        text = "".join(c if c.isascii() else json.dumps(c)[1:-1] for c in text)
    print(text)


def counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def source_of(path: str) -> str:
    """A file's text for an excerpt: as much as can be had, and never an error."""
    try:
        return validation.read(path).decode("utf-8", "replace")
    except OSError:
        return ""

"""The command `licet`: the engine for people and scripts.

Answers go to standard output, what is wrong goes to standard error as `file:line:column: error: message` with the
line concerned underneath, so that editors can jump there. Exit status: 0 yes or all well, 1 no or something does not
hold, 2 the input is unusable.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from .. import _licet, demo
from . import checks, database, lookups, relationships, schema, telling, validate
from .arguments import STATUS, Parser, add_command
from .output import NO, OK, UNUSABLE, complain, printable
from .store import Stop

_DESCRIPTION = "Permission checks inside your own process: SpiceDB schemas, relationships, answers."


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="licet", description=_DESCRIPTION, epilog=STATUS)
    parser.add_argument("--version", action="version", version=f"licet {_licet.__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for group in (validate, schema, checks, lookups, telling, relationships, database):
        group.add(commands)
    add_command(commands, "demo", show_demo, "show what licet does, in a minute", with_json=False)
    return parser


def show_demo(_arguments: argparse.Namespace) -> int:
    demo.run()
    return OK


def _open_closed_streams() -> None:
    """Who started us may have closed a standard stream: Python has None for it then, and the next file that is opened
    would get its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit status."""
    _open_closed_streams()
    for stream, errors in ((sys.stdin, "surrogateescape"), (sys.stdout, "backslashreplace")):
        if hasattr(stream, "reconfigure"):  # standard error does so by itself
            stream.reconfigure(errors=errors)
    arguments = _parser().parse_args(argv)
    try:
        status: int = arguments.run(arguments)
        sys.stdout.flush()
    except Stop as stop:
        return stop.status
    except _licet.Error as error:
        complain(f"licet: {printable(error.message)}")
        return UNUSABLE
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nobody reads; say nothing more at exit
        return NO
    except OSError as error:
        complain(f"licet: {error.strerror}")
        return UNUSABLE
    except KeyboardInterrupt:
        return 130
    return status

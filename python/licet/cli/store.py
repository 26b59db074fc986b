"""The engine that a command works on, from --file or --db."""

from __future__ import annotations

import argparse
import logging
import time
from typing import Any

from .. import _licet, validation
from .output import UNUSABLE, complain, diagnose_problem, printable, problem_of, source_of

_CONNECT_SECONDS = 5.0
_LOAD_SECONDS = 600.0


class Stop(Exception):
    """Something was said already; end with this status."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def open_store(arguments: argparse.Namespace, **options: Any) -> _licet.Engine:
    if arguments.db is not None:
        return _open_database(arguments, **options)
    try:
        return validation.load(arguments.file)
    except (_licet.Error, OSError) as error:
        diagnose_problem(arguments.file, problem_of(error), source_of(arguments.file))
        raise Stop(UNUSABLE) from None


def _open_database(arguments: argparse.Namespace, **options: Any) -> _licet.Engine:
    options = {"mode": getattr(arguments, "mode", "auto"), **options}
    engine = _licet.open(arguments.db, postgres_schema=arguments.postgres_schema, log=_tell, **options)
    if options["mode"] != "prefetch":
        try:
            _await_loaded(engine)
        except BaseException:
            engine.close()
            raise
    return engine


def _await_loaded(engine: _licet.Engine) -> None:
    """A large graph takes its time; that there is no connection is said soon."""
    end = time.monotonic() + _LOAD_SECONDS
    while True:
        try:
            return engine.await_ready(_CONNECT_SECONDS)
        except _licet.DeadlineExceeded:
            if time.monotonic() > end:
                raise


def _tell(level: int, line: str) -> None:
    if level >= logging.WARNING:
        complain(f"licet: {printable(line)}")

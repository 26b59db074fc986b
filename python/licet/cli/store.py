"""The engine that a command works on, from --file or --db."""

from __future__ import annotations

import argparse

from .. import _licet, validation
from .output import UNUSABLE, diagnose_problem, problem_of, source_of


class Stop(Exception):
    """Something was said already; end with this status."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def open_store(arguments: argparse.Namespace) -> _licet.Engine:
    if arguments.file is None:
        return _licet.open(arguments.db)
    try:
        return validation.load(arguments.file)
    except (_licet.Error, OSError) as error:
        diagnose_problem(arguments.file, problem_of(error), source_of(arguments.file))
        raise Stop(UNUSABLE) from None

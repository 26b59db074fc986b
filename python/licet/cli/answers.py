"""Answers of checks, in words and as values of JSON."""

from __future__ import annotations

from typing import Any

from .. import _licet
from .output import error_values

WORDS = ("denied", "allowed", "conditional")


def result_values(result: _licet.Result) -> dict[str, Any]:
    return {
        "allowed": result.allowed,
        "permissionship": result.permissionship.name,
        "missing_context": list(result.missing_context),
        "token": result.token,
        "error": None if result.error is None else error_values(result.error),
    }


def word_of(result: _licet.Result) -> str:
    if result.error is not None:
        return "error"
    return WORDS[result.permissionship]


def missing_of(result: _licet.Result) -> str:
    """What a conditional answer waits for."""
    return f" (missing: {', '.join(result.missing_context)})" if result.missing_context else ""

"""For tests, and to see how caveats think: a clock that is set by hand, and CEL on its own."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

from . import _licet

__all__ = ["ManualClock", "evaluate_cel"]

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MICROSECOND = timedelta(microseconds=1)


class ManualClock(_licet.Clock):
    """A time that stands still until it is set, for `licet.open(clock=...)`: relationships expire by it.

    clock = ManualClock(datetime(2030, 1, 1, tzinfo=timezone.utc))
    with licet.open(clock=clock) as engine:
        ...
        clock.advance(timedelta(hours=1))
    """

    __slots__ = ()

    def __new__(cls, now: datetime) -> ManualClock:
        return super().__new__(cls, _nanoseconds(now))

    @property
    def now(self) -> datetime:
        """The time, in UTC."""
        return _EPOCH + self.nanoseconds // 1000 * _MICROSECOND

    def set(self, now: datetime) -> None:
        """Sets the time, also back."""
        self.nanoseconds = _nanoseconds(now)

    def advance(self, duration: timedelta) -> None:
        """Moves the time on."""
        self.nanoseconds += duration // _MICROSECOND * 1000


def _nanoseconds(moment: datetime) -> int:
    if moment.utcoffset() is None:
        raise ValueError("a datetime without a time zone is no moment")
    return (moment - _EPOCH) // _MICROSECOND * 1000


def evaluate_cel(
    expression: str,
    bindings: Mapping[str, Mapping[str, Any]] | None = None,
    types: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Evaluates one CEL expression, as if it stood in a caveat that may have any type.

        evaluate_cel("x + 1", {"x": {"int64": "41"}}, {"x": "int64"})  # {"int64": "42"}

    Values are dicts from a tag to what it tags, as in the cases of CEL's conformance suite: null, bool, int64 and uint64
    (digits in a str), double (a float, or "NaN", "Infinity", "-Infinity"), string, bytes_hex, list, map (a list of
    [key, value]), type; and duration, timestamp, ipaddress as caveats write them. types says what the variables are:
    "int64", "list(string)", "map(string, dyn)", or as a caveat has it: "int", "list<string>", "map<any>".

    A variable of types that has no binding is unknown. If the result hangs on it, it is {"unknown": [its name]}.
    Raises SchemaError with line and column for an expression that does not compile, InvalidArgument of kind "eval" for
    one that has no value, LimitExceeded, TypeError.
    """
    spellings = {name: _spelling(spelling) for name, spelling in (types or {}).items()}
    return _licet.evaluate_cel(expression, dict(bindings or {}), spellings)


def _spelling(spelling: str) -> str:
    """A type as CEL's checker writes it."""
    for written, meant in (
        ("map<", "map(string, "),
        ("list<", "list("),
        (">", ")"),
        ("int64", "int"),
        ("any", "dyn"),
        ("ipaddress", "IPAddress"),
    ):
        spelling = spelling.replace(written, meant)
    return spelling

"""What a context of a caveat may hold, beside what JSON has.

A context is a dict from parameter names to values. The values are what the caveat's parameters take:

    bool, str, None, dict, list, tuple    as they are; keys are str
    int        exact: beyond 2**53 it is sent as a string of its digits, which an `int` parameter reads exactly
    float      as it is; NaN and infinity are refused
    bytes, bytearray    as base64, for a `bytes` parameter
    datetime   as RFC 3339, for a `timestamp`; without a time zone it is refused, for it is no moment
    timedelta  for a `duration`
    IPv4Address, IPv6Address of the module ipaddress    for an `ipaddress`

Anything else is a TypeError that says where it is: `context.hours[2]: a context can not hold object`. A context may
also be given as a str that holds a JSON object.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from ipaddress import IPv4Address, IPv4Interface, IPv6Address, IPv6Interface
from typing import Any

Context = dict[str, Any]

_MICROSECOND = timedelta(microseconds=1)

# What a duration holds: nanoseconds of 64 bits.
_LONGEST = timedelta(microseconds=(2**63 - 1) // 1000)

_MOMENT = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,6})\d*)?(Z|[+-]\d\d:\d\d)", re.ASCII)


def text_of(value: object) -> str | tuple[str] | None:
    """The text of a value that JSON does not have; or, in a tuple, why there is none; None for unknown types."""
    if isinstance(value, datetime):
        if value.utcoffset() is None:
            return ("a datetime without a time zone is no moment",)
        try:
            return moment(value)
        except OverflowError:
            return ("the moment is before the year 1 or after 9999",)
    if isinstance(value, timedelta):
        if not -_LONGEST <= value <= _LONGEST:
            return ("a duration is at most 292 years",)
        return f"{value // _MICROSECOND}us"
    if isinstance(value, (IPv4Address, IPv6Address)) and not isinstance(value, (IPv4Interface, IPv6Interface)):
        return str(value)
    return None


def moment(value: datetime) -> str:
    """A datetime that has a time zone as RFC 3339 in UTC, with no more digits than it needs."""
    utc = value.astimezone(timezone.utc)
    text = f"{utc.year:04}-{utc.month:02}-{utc.day:02}T{utc.hour:02}:{utc.minute:02}:{utc.second:02}"
    fraction = f".{utc.microsecond:06}".rstrip("0") if utc.microsecond else ""
    return f"{text}{fraction}Z"


def datetime_of(text: str) -> datetime:
    """The reverse. Digits beyond microseconds are cut off. Raises ValueError."""
    match = _MOMENT.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no RFC 3339 time")
    fraction = (match[2] or "").ljust(6, "0")
    zone = "+00:00" if match[3] == "Z" else match[3]
    return datetime.fromisoformat(f"{match[1]}.{fraction}{zone}").astimezone(timezone.utc)

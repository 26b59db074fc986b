"""How fresh an answer has to be: a constant, or one of two functions of a token."""

from __future__ import annotations

from typing import NamedTuple


class Consistency(NamedTuple):
    """What a read or a check asks of the revision that it is answered at. See the constants and functions below."""

    freshness: int
    token: str | None = None

    def __repr__(self) -> str:
        name = {0: "MINIMIZE_LATENCY", 1: "FULL", 2: "at_least", 3: "at_exactly"}.get(self.freshness, "Consistency")
        return f"licet.{name}" if self.token is None else f"licet.{name}({self.token!r})"


MINIMIZE_LATENCY = Consistency(0)
"""The default: the graph as it stands, without waiting."""

FULL = Consistency(1)
"""Everything that was committed before the call."""


def at_least(token: str) -> Consistency:
    """Not older than the revision that `token` names, for instance the one a write returned."""
    return Consistency(2, token)


def at_exactly(token: str) -> Consistency:
    """Exactly the revision that `token` names, as long as it is in the retained history.

    Do not take such a token from an end user: an old revision is a way back in for somebody whose access was revoked.
    """
    return Consistency(3, token)

"""licet in this process, called from Python: one engine for all callers, which follows the database."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import licet
from systems.base import FULL, Answer, Bulk, Check, InPython, Request
from systems.licet_store import LicetStore
from world import World

# A loaded machine may keep a thread waiting for longer than the defaults allow, which would end the comparison.
PATIENCE = {"check_timeout_ms": 10_000, "wait_timeout_ms": 60_000}
LEVELS = {FULL: licet.FULL}


class LicetInPython(InPython):
    name = "licet"
    in_slices = True

    def __init__(self, store: LicetStore) -> None:
        self.store = store
        self.engine: licet.Engine | None = None

    def open(self, world: World) -> None:
        self.store.open(world)
        self.engine = licet.open(self.store.uri, mode="follow", **PATIENCE)
        self.engine.await_ready(60)

    def processes(self) -> list[int]:
        return [os.getpid()]

    def function(self, request: Request, consistency: str) -> Callable[..., Any]:
        """What an application would call, down to reading the answer; only what is not the default is said."""
        assert self.engine is not None
        if isinstance(request, Check):
            function: Callable[..., Any] = self.engine.allowed
        else:
            function = self.check_bulk if isinstance(request, Bulk) else self.look_up
        return partial(function, consistency=LEVELS[consistency]) if consistency in LEVELS else function

    def check_bulk(self, items: list[tuple[str, str, str]], **options: Any) -> list[bool]:
        assert self.engine is not None
        return [result.allowed for result in self.engine.check_bulk(items, **options)]

    def look_up(self, resource_type: str, permission: str, subject: str, **options: Any) -> list[str]:
        assert self.engine is not None
        return list(self.engine.lookup_resource_ids(resource_type, permission, subject, **options))

    @staticmethod
    def arguments(request: Request) -> tuple[Any, ...]:
        return ([tuple(item) for item in request.items],) if isinstance(request, Bulk) else tuple(request)

    def answer(self, request: Request, consistency: str) -> Answer:
        told = self.function(request, consistency)(*self.arguments(request))
        if isinstance(request, Check):
            return bool(told)
        return tuple(told) if isinstance(request, Bulk) else frozenset(told)

    def prepared(
        self, requests: Sequence[Request], consistency: str, caller: int
    ) -> tuple[Callable[..., Any], list[tuple[Any, ...]]]:
        return self.function(requests[0], consistency), [self.arguments(one) for one in requests]

    def churn(self, rows: Sequence[str]) -> None:
        self.store.churn(rows)

    def write_one(self, row: str) -> None:
        self.store.write_one(row)

    def close(self) -> None:
        if self.engine is not None:
            self.engine.close()
        self.store.close()

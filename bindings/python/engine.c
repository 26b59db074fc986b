/* licet.Engine: schema and relationships, and the answers about them.
 *
 * Each method has four steps: unpack the arguments, acquire nothing (see module.h: the handle lives as long as
 * `self`), call the core, convert the answer. The interpreter's lock is let go around whatever may wait or work long:
 * writes, schemas, large bulks; a plain check is cheaper than the lock. */
#include "engine.h"

#include "bulk.h"
#include "context.h"
#include "convert.h"
#include "error.h"
#include "log.h"
#include "lookup.h"
#include "options.h"
#include "result.h"
#include "schema.h"
#include "stream.h"
#include "transfer.h"
#include "tree.h"
#include "waiting.h"
#include "watch.h"

typedef struct engine_object {
    PyObject_HEAD licet_engine *engine; /* ours; never NULL once it is opened, also after close() */
    PyObject                   *weak_references;
    PyObject                   *clock; /* a licet.testing.ManualClock that the engine reads, or NULL */
    PyObject                   *log;   /* a callable, or NULL: the logger "licet" */
    log_queue                   lines; /* what it has to say; the core writes here until the last release */
    bool                        strict;
    bool                        on_database;
} engine_object;

licet_engine *engine_handle(PyObject *engine)
{
    return ((engine_object *)engine)->engine;
}

bool engine_is_strict(PyObject *engine)
{
    return ((engine_object *)engine)->strict;
}

bool engine_is_on_database(PyObject *engine)
{
    return ((engine_object *)engine)->on_database;
}

void engine_tell_log(PyObject *self)
{
    engine_object *engine = (engine_object *)self;

    if (log_queue_has_lines(&engine->lines))
        log_tell(&engine->lines, engine->log);
}

/* -------------------------------------------------------------------------- lifetime */

/* An object without an engine yet. */
static engine_object *engine_new(module_state *state)
{
    engine_object *self = PyObject_GC_New(engine_object, state->engine_type);

    if (self == NULL)
        return NULL;
    self->engine          = NULL;
    self->weak_references = NULL;
    self->clock           = NULL;
    self->log             = NULL;
    self->strict          = false;
    self->on_database     = false;
    log_queue_init(&self->lines);
    return self;
}

const char engine_open_doc[] =
    "open($module, /, uri='memory:', *, memory_limit_bytes=None, max_depth=None, max_steps=None, "
    "check_timeout_ms=None, history_window_ms=None, strict=False, clock=None, mode='auto', postgres_schema='licet', "
    "replica_uri=None, require_tls=False, poll_interval_ms=None, max_staleness_ms=None, wait_timeout_ms=None, "
    "write_timeout_ms=None, max_connections=None, gc_window_ms=None, log=None)\n--\n\n"
    "Opens an engine: a context manager that closes it at the end.\n\n"
    "uri                 the store: \"memory:\", \"postgresql://...\" or a connection string of Postgres. Nothing is\n"
    "                    connected before the first use\n"
    "memory_limit_bytes  all memory of the engine: 1 MiB to 1 TiB, 256 MiB by default\n"
    "max_depth           objects and names on one path of a check: 1 to 1,000, 50 by default\n"
    "max_steps           relationships that one check may visit: 1,000 to 1e9, 1,000,000 by default\n"
    "check_timeout_ms    of one check: 1 to 600,000, 250 by default\n"
    "history_window_ms   how long a token can be read exactly: up to 30 days, 24 hours by default\n"
    "strict              make errors of what SpiceDB lets pass: numbers that do not fit, lax times and zones,\n"
    "                    repeated keys, NUL and marks of direction in a schema; recommended for new applications\n"
    "clock               for tests: a licet.testing.ManualClock, by which relationships expire\n"
    "log                 is called with a level of logging and a line, from threads that call the engine; by\n"
    "                    default they go to the logger \"licet\"\n\n"
    "Of engines on Postgres:\n\n"
    "mode                \"follow\" keeps the whole graph in memory, \"prefetch\" fetches what each request can "
    "touch,\n"
    "                    \"auto\" follows and prefetches what can not be followed\n"
    "postgres_schema     where licet's tables are: see licet.migrate()\n"
    "replica_uri         a standby, for reads that may be stale\n"
    "require_tls         refuse links that are not encrypted to a server that was verified\n"
    "poll_interval_ms    how often the graph follows: 10 to 60,000, 100 by default\n"
    "max_staleness_ms    the oldest graph that a check uses unasked: 100 to 600,000, 5,000 by default\n"
    "wait_timeout_ms     of what waits for the database: 10 to 600,000, 2,000 by default\n"
    "write_timeout_ms    of a write: 10 to 600,000, 5,000 by default\n"
    "max_connections     for writes and prefetches: 1 to 64, 4 by default\n"
    "gc_window_ms        how long the database keeps what was deleted: up to 30 days, 24 hours by default\n\n"
    "Raises InvalidArgument (kind \"config\"), Unsupported, OutOfMemory, TypeError. Does not block. Any thread.";

static bool is_memory(licet_str uri)
{
    static const licet_str memory = LICET_STR_INIT("memory:");

    return uri.size == memory.size && memcmp(uri.data, memory.data, memory.size) == 0;
}

/* NULL and None: the logger. */
static bool log_from_py(PyObject *value, engine_object *self, licet_log *log)
{
    *log = (licet_log){ log_queue_write, &self->lines };
    if (value == NULL || value == Py_None)
        return true;
    if (!PyCallable_Check(value)) {
        PyErr_Format(PyExc_TypeError, "log must be callable, not %.100s", Py_TYPE(value)->tp_name);
        return false;
    }
    self->log = Py_NewRef(value);
    return true;
}

/* Opens what the new object is for. */
static bool engine_fill(module_state *state, engine_object *self, licet_str uri, const licet_options *options,
                        PyObject *clock)
{
    licet_error *error = NULL;
    licet_status status;

    self->clock       = options->clock.now == NULL ? NULL : Py_NewRef(clock);
    self->strict      = options->strict;
    self->on_database = !is_memory(uri);
    Py_BEGIN_ALLOW_THREADS
    status = licet_open(uri, options, &self->engine, &error);
    Py_END_ALLOW_THREADS
    if (status == LICET_OK)
        return true;
    raise_error(state, status, error);
    return false;
}

PyObject *engine_open(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const signature sig                           = { "open", 0, 1, { "uri", OPEN_PARAMETERS, "log" } };
    module_state          *state                         = PyModule_GetState(module);
    licet_options          options                       = LICET_OPTIONS_INIT;
    licet_str              uri                           = LICET_STR_INIT("memory:");
    PyObject              *arg[OPEN_PARAMETER_COUNT + 2] = { NULL };
    PyObject              *kept                          = NULL;
    engine_object         *self;

    if (!unpack(&sig, args, nargs, kwnames, arg) || !options_from_py(state, arg + 1, &options) ||
        (arg[0] != NULL && !text_from_py(state, arg[0], "uri", &uri, &kept)))
        return NULL;
    self = engine_new(state);
    if (self != NULL && (!log_from_py(arg[OPEN_PARAMETER_COUNT + 1], self, &options.log) ||
                         !engine_fill(state, self, uri, &options, arg[1 + OPEN_PARAMETER_CLOCK])))
        Py_CLEAR(self);
    Py_XDECREF(kept);
    if (self != NULL)
        PyObject_GC_Track(self);
    return (PyObject *)self;
}

static int engine_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((engine_object *)self)->clock);
    Py_VISIT(((engine_object *)self)->log);
    return 0;
}

/* A callable that refers to its engine makes a cycle; nothing else can. */
static int engine_clear(PyObject *self)
{
    Py_CLEAR(((engine_object *)self)->log);
    return 0;
}

/* Whatever the last release still has to wait for, other threads need not wait for it. */
static void engine_dealloc(PyObject *self)
{
    PyTypeObject  *type   = Py_TYPE(self);
    engine_object *engine = (engine_object *)self;

    PyObject_GC_UnTrack(self);
    if (engine->weak_references != NULL)
        PyObject_ClearWeakRefs(self);
    Py_BEGIN_ALLOW_THREADS
    licet_engine_release(engine->engine);
    Py_END_ALLOW_THREADS
    log_queue_clear(&engine->lines); /* the engine wrote to it until now, */
    Py_XDECREF(engine->clock);       /* and read this */
    (void)engine_clear(self);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

PyDoc_STRVAR(engine_close_doc, "close($self, /)\n--\n\n"
                               "Stops the engine: every later call raises Closed. A second close does nothing.\n\n"
                               "Calls in progress in other threads end normally; this one waits for them, without the\n"
                               "interpreter's lock. Raises nothing. Any thread.");

static PyObject *engine_close(PyObject *self, PyObject *Py_UNUSED(none))
{
    Py_BEGIN_ALLOW_THREADS
    licet_close(engine_handle(self));
    Py_END_ALLOW_THREADS
    engine_tell_log(self);
    Py_RETURN_NONE;
}

static PyObject *engine_enter(PyObject *self, PyObject *Py_UNUSED(none))
{
    return Py_NewRef(self);
}

static PyObject *engine_exit(PyObject *self, PyObject *const *Py_UNUSED(args), Py_ssize_t Py_UNUSED(nargs))
{
    return engine_close(self, NULL);
}

/* ---------------------------------------------------------------------------- schema */

PyDoc_STRVAR(engine_write_schema_doc,
             "write_schema($self, /, text)\n--\n\n"
             "Replaces the schema by the one in `text`, a str. Returns the token that makes it visible.\n\n"
             "Raises SchemaError with line and column, or without them when stored relationships would no longer\n"
             "fit; LimitExceeded, OutOfMemory, Closed, TypeError. Nothing is changed then.\n"
             "Blocks while another write is in progress, without the interpreter's lock. Any thread.");

static PyObject *engine_write_schema(PyObject *self, PyTypeObject *cls, PyObject *const *args, Py_ssize_t nargs,
                                     PyObject *kwnames)
{
    static const signature sig   = { "write_schema", 1, 1, { "text" } };
    module_state          *state = state_of(cls);
    licet_token            token = { { 0 } };
    licet_error           *error = NULL;
    licet_status           status;
    licet_str              text;
    PyObject              *arg[1] = { NULL };
    PyObject              *kept   = NULL;

    if (!unpack(&sig, args, nargs, kwnames, arg) || !text_from_py(state, arg[0], "text", &text, &kept))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = licet_write_schema(engine_handle(self), text, &token, &error);
    Py_END_ALLOW_THREADS
    Py_XDECREF(kept);
    return status == LICET_OK ? token_to_py(&token) : raise_error(state, status, error);
}

PyDoc_STRVAR(engine_read_schema_doc,
             "read_schema($self, /)\n--\n\n"
             "The schema in force, a Schema; str() of it is the text that was written.\n\n"
             "Raises NotFound before any schema was written, Closed; on a database what allowed() raises.\n"
             "Does not block on a memory store. Any thread.");

static PyObject *engine_read_schema(PyObject *self, PyTypeObject *cls, PyObject *const *args, Py_ssize_t nargs,
                                    PyObject *kwnames)
{
    static const signature sig    = { "read_schema", 0, 0, { NULL } };
    module_state          *state  = state_of(cls);
    licet_schema          *schema = NULL;
    licet_error           *error  = NULL;
    licet_status           status;

    if (!unpack(&sig, args, nargs, kwnames, NULL))
        return NULL;
    CALL_UNLOCKED_IF(engine_is_on_database(self),
                     status = licet_read_schema(engine_handle(self), &schema, NULL, &error));
    return status == LICET_OK ? schema_to_py(state, schema) : raise_error(state, status, error);
}

PyDoc_STRVAR(engine_schema_impact_doc,
             "schema_impact($self, /, text, *, limit=None, consistency=None, may_block=True)\n--\n\n"
             "What would a new schema do to the present data? An iterator over Impact: which relationships forbid the\n"
             "change, and which decisions it changes. Nothing is written.\n\n"
             "text   of the schema that is considered\n"
             "limit  at most so many; all by default\n\n"
             "Raises SchemaError with line and column for a text that is wrong by itself, and while iterating what\n"
             "lookup_subjects() raises. Does not block. Any thread; one iterator belongs to one thread at a time.");

static PyObject *engine_schema_impact(PyObject *self, PyTypeObject *cls, PyObject *const *args, Py_ssize_t nargs,
                                      PyObject *kwnames)
{
    static const signature sig     = { "schema_impact", 1, 1, { "text", "limit", "consistency", "may_block" } };
    module_state          *state   = state_of(cls);
    licet_impact_request   request = LICET_IMPACT_REQUEST_INIT;
    licet_stream          *stream  = NULL;
    licet_error           *error   = NULL;
    licet_status           status;
    PyObject              *arg[4] = { NULL };
    PyObject              *kept   = NULL;

    if (!unpack(&sig, args, nargs, kwnames, arg) ||
        !positive_from_py(state, arg[1], "limit", LICET_KIND_VALUE, UINT64_MAX, &request.limit) ||
        !consistency_from_py(state, arg[2], arg[3], &request.consistency) ||
        !text_from_py(state, arg[0], "text", &request.text, &kept))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = licet_schema_impact(engine_handle(self), &request, &stream, &error);
    Py_END_ALLOW_THREADS
    Py_XDECREF(kept);
    return status == LICET_OK ? stream_to_py(state, STREAM_IMPACTS, self, stream) : raise_error(state, status, error);
}

/* ---------------------------------------------------------------------------- writing */

static PyObject *write_request(PyObject *self, module_state *state, const licet_write_request *request)
{
    licet_token  token = { { 0 } };
    licet_error *error = NULL;
    licet_status status;

    Py_BEGIN_ALLOW_THREADS
    status = licet_write(engine_handle(self), request, &token, &error);
    Py_END_ALLOW_THREADS
    return status == LICET_OK ? token_to_py(&token) : raise_error(state, status, error);
}

PyDoc_STRVAR(
    engine_write_doc,
    "write($self, /, updates, preconditions=(), *, metadata=None)\n--\n\n"
    "Changes relationships: all of the updates or none. Returns the token that makes them visible.\n\n"
    "updates        an iterable of licet.create(), licet.touch() and licet.delete(); at most 1,000\n"
    "preconditions  an iterable of licet.must_match() and licet.must_not_match(); at most 1,000\n"
    "metadata       a dict of what JSON has, or a JSON object as a str, of at most 65,000 bytes: comes with the\n"
    "               changes that watch() tells\n\n"
    "Raises InvalidArgument, NotFound, AlreadyExists, PreconditionFailed, LimitExceeded, Unsupported,\n"
    "OutOfMemory, Closed, TypeError. Nothing is changed then.\n"
    "Blocks while another write is in progress, without the interpreter's lock. Any thread.");

/* What a method needs while it writes. */
typedef struct writing {
    licet_update       *updates;
    licet_precondition *preconditions;
    PyObject           *kept_updates;
    PyObject           *kept_preconditions;
    context_text        metadata;
} writing;

static void writing_clear(writing *w)
{
    context_text_clear(&w->metadata);
    PyMem_Free(w->updates);
    PyMem_Free(w->preconditions);
    Py_XDECREF(w->kept_updates);
    Py_XDECREF(w->kept_preconditions);
}

static PyObject *engine_write(PyObject *self, PyTypeObject *cls, PyObject *const *args, Py_ssize_t nargs,
                              PyObject *kwnames)
{
    static const signature sig     = { "write", 1, 2, { "updates", "preconditions", "metadata" } };
    module_state          *state   = state_of(cls);
    licet_write_request    request = LICET_WRITE_REQUEST_INIT;
    writing                w       = { .updates = NULL };
    PyObject              *arg[3]  = { NULL };
    PyObject              *token   = NULL;

    if (!unpack(&sig, args, nargs, kwnames, arg))
        return NULL;
    context_text_init(&w.metadata);
    if (updates_from_py(state, arg[0], &w.updates, &request.update_count, &w.kept_updates) &&
        preconditions_from_py(state, arg[1], &w.preconditions, &request.precondition_count, &w.kept_preconditions) &&
        metadata_from_py(state, arg[2], &w.metadata, &request.metadata)) {
        request.updates       = w.updates;
        request.preconditions = w.preconditions;
        token                 = write_request(self, state, &request);
    }
    writing_clear(&w);
    return token;
}

/* create(), touch() and delete(): the same change to every relationship in the argument list, which the caller keeps
 * alive. */
static PyObject *write_each(PyObject *self, PyTypeObject *cls, const char *name, licet_operation operation,
                            PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    module_state       *state   = state_of(cls);
    licet_write_request request = LICET_WRITE_REQUEST_INIT;
    licet_update       *updates;
    PyObject           *token  = NULL;
    bool                usable = true;

    if (nargs == 0 || (kwnames != NULL && PyTuple_GET_SIZE(kwnames) > 0))
        return PyErr_Format(PyExc_TypeError, "%s() takes one or more relationships, and nothing by name", name);
    updates = PyMem_Calloc((size_t)nargs, sizeof *updates);
    if (updates == NULL)
        return PyErr_NoMemory();
    for (Py_ssize_t i = 0; usable && i < nargs; i++) {
        updates[i].operation = operation;
        usable               = relationship_from_py(state, args[i], &updates[i].relationship);
    }
    if (usable) {
        request.updates      = updates;
        request.update_count = (size_t)nargs;
        token                = write_request(self, state, &request);
    }
    PyMem_Free(updates);
    return token;
}

PyDoc_STRVAR(engine_create_doc,
             "create($self, /, *relationships)\n--\n\n"
             "Writes relationships that must not exist yet: all of them or none. Returns the token that makes them\n"
             "visible. Each is a Relationship or its notation, \"document:readme#owner@user:ada\".\n\n"
             "Raises AlreadyExists, and what write() raises. Blocks as write() does. Any thread.");

static PyObject *engine_create(PyObject *self, PyTypeObject *cls, PyObject *const *args, Py_ssize_t nargs,
                               PyObject *kwnames)
{
    return write_each(self, cls, "create", LICET_CREATE, args, nargs, kwnames);
}

PyDoc_STRVAR(engine_touch_doc,
             "touch($self, /, *relationships)\n--\n\n"
             "Writes relationships whether they exist or not: all of them or none. Returns the token that makes them\n"
             "visible. Each is a Relationship or its notation, \"document:readme#owner@user:ada\".\n\n"
             "Raises what write() raises. Blocks as write() does. Any thread.");

static PyObject *engine_touch(PyObject *self, PyTypeObject *cls, PyObject *const *args, Py_ssize_t nargs,
                              PyObject *kwnames)
{
    return write_each(self, cls, "touch", LICET_TOUCH, args, nargs, kwnames);
}

PyDoc_STRVAR(engine_delete_doc,
             "delete($self, /, *relationships)\n--\n\n"
             "Deletes relationships; those that do not exist are no error. Returns the token that makes it visible.\n"
             "Each is a Relationship or its notation. For many at once see delete_relationships().\n\n"
             "Raises what write() raises. Blocks as write() does. Any thread.");

static PyObject *engine_delete(PyObject *self, PyTypeObject *cls, PyObject *const *args, Py_ssize_t nargs,
                               PyObject *kwnames)
{
    return write_each(self, cls, "delete", LICET_DELETE, args, nargs, kwnames);
}

static PyObject *deletion_to_py(module_state *state, const licet_delete_result *result)
{
    PyObject *values[] = { PyLong_FromUnsignedLongLong(result->deleted_count), PyBool_FromLong(result->partial),
                           token_to_py(&result->token) };

    return record_of(state, RECORD_deletion, values, 3);
}

static PyObject *delete_request(PyObject *self, module_state *state, const licet_delete_request *request)
{
    licet_delete_result result = LICET_DELETE_RESULT_INIT;
    licet_error        *error  = NULL;
    licet_status        status;

    Py_BEGIN_ALLOW_THREADS
    status = licet_delete_relationships(engine_handle(self), request, &result, &error);
    Py_END_ALLOW_THREADS
    return status == LICET_OK ? deletion_to_py(state, &result) : raise_error(state, status, error);
}

PyDoc_STRVAR(engine_delete_relationships_doc,
             "delete_relationships($self, /, *, resource_type=None, resource_id=None, resource_id_prefix=None, "
             "relation=None, subject_type=None, subject_id=None, subject_relation=None, limit=None, "
             "allow_partial=False, preconditions=(), metadata=None)\n--\n\n"
             "Deletes what a filter selects, in one transaction. Returns a Deletion.\n\n"
             "The filter is that of read_relationships(): one field at least. When more than `limit` relationships\n"
             "match, nothing is deleted, unless allow_partial is true: then `limit` of them are. metadata is that of\n"
             "write().\n\n"
             "Raises InvalidArgument, NotFound, PreconditionFailed, LimitExceeded, OutOfMemory, Closed, TypeError.\n"
             "Blocks while another write is in progress, without the interpreter's lock. Any thread.");

static PyObject *engine_delete_relationships(PyObject *self, PyTypeObject *cls, PyObject *const *args, Py_ssize_t nargs,
                                             PyObject *kwnames)
{
    static const signature sig = {
        "delete_relationships", 0, 0, { FILTER_PARAMETERS, "limit", "allow_partial", "preconditions", "metadata" }
    };
    module_state        *state                           = state_of(cls);
    licet_delete_request request                         = LICET_DELETE_REQUEST_INIT;
    writing              w                               = { .updates = NULL };
    PyObject            *arg[FILTER_PARAMETER_COUNT + 4] = { NULL };
    PyObject            *deletion                        = NULL;
    uint64_t             limit                           = 0;
    int                  partial                         = 0;

    if (!unpack(&sig, args, nargs, kwnames, arg) || !filter_from_arguments(state, arg, &request.filter) ||
        !positive_from_py(state, arg[7], "limit", LICET_KIND_VALUE, UINT32_MAX, &limit))
        return NULL;
    if (arg[8] != NULL && (partial = PyObject_IsTrue(arg[8])) < 0)
        return NULL;
    request.limit         = (uint32_t)limit;
    request.allow_partial = partial == 1;
    context_text_init(&w.metadata);
    if (preconditions_from_py(state, arg[9], &w.preconditions, &request.precondition_count, &w.kept_preconditions) &&
        metadata_from_py(state, arg[10], &w.metadata, &request.metadata)) {
        request.preconditions = w.preconditions;
        deletion              = delete_request(self, state, &request);
    }
    writing_clear(&w);
    return deletion;
}

/* ---------------------------------------------------------------------------- reading */

PyDoc_STRVAR(engine_read_relationships_doc,
             "read_relationships($self, /, *, resource_type=None, resource_id=None, resource_id_prefix=None, "
             "relation=None, subject_type=None, subject_id=None, subject_relation=None, limit=None, cursor=None, "
             "consistency=None, may_block=True)\n--\n\n"
             "An iterator over the relationships that a filter selects, all of one revision.\n\n"
             "Every field that is given must match, and at least one must be given. resource_id_prefix is literal.\n"
             "subject_id may be \"*\". subject_relation=\"\" selects subjects without a relation.\n"
             "limit   at most so many, up to 1,000; all by default\n"
             "cursor  the .cursor of an earlier iterator over the same filter and limit: goes on after it\n\n"
             "Raises InvalidArgument, NotFound, InvalidToken, RevisionExpired, LimitExceeded, OutOfMemory, Closed,\n"
             "TypeError. Does not block. Any thread; one iterator belongs to one thread at a time.");

static PyObject *engine_read_relationships(PyObject *self, PyTypeObject *cls, PyObject *const *args, Py_ssize_t nargs,
                                           PyObject *kwnames)
{
    static const signature sig = {
        "read_relationships", 0, 0, { FILTER_PARAMETERS, "limit", "cursor", "consistency", "may_block" }
    };
    module_state      *state   = state_of(cls);
    licet_read_request request = LICET_READ_REQUEST_INIT;
    licet_stream      *stream  = NULL;
    licet_error       *error   = NULL;
    licet_status       status;
    PyObject          *arg[FILTER_PARAMETER_COUNT + 4] = { NULL };
    uint64_t           limit                           = 0;

    if (!unpack(&sig, args, nargs, kwnames, arg) || !filter_from_arguments(state, arg, &request.filter) ||
        !positive_from_py(state, arg[7], "limit", LICET_KIND_VALUE, UINT32_MAX, &limit) ||
        !optional_str_from_py(state, arg[8], "cursor", &request.cursor) ||
        !consistency_from_py(state, arg[9], arg[10], &request.consistency))
        return NULL;
    request.limit = (uint32_t)limit;
    ASK(request.consistency, status, error, licet_read_relationships(engine_handle(self), &request, &stream, &error));
    return status == LICET_OK ? stream_to_py(state, STREAM_RELATIONSHIPS, self, stream)
                              : raise_error(state, status, error);
}

/* --------------------------------------------------------------------------- checking */

/* The core's answer. False: an exception is set, and *result is a denial. */
static bool answer(module_state *state, licet_engine *engine, licet_check_request *request, licet_result *result)
{
    licet_error *error = NULL;
    licet_status status;

    ASK(request->consistency, status, error, licet_check(engine, request, result, &error));
    if (status == LICET_OK)
        return true;
    licet_result_clear(result);
    raise_error(state, status, error);
    return false;
}

/* The same for a request whose context is a Python value: most have none, and should not pay for its text. */
static bool answer_in_context(module_state *state, licet_engine *engine, licet_check_request *request,
                              PyObject *context, licet_result *result)
{
    context_text text;
    bool         done;

    context_text_init(&text);
    done = context_from_py(state, context, &text, &request->context) && answer(state, engine, request, result);
    context_text_clear(&text);
    return done;
}

/* check() and allowed() up to the answer. False: an exception is set, and *result is a denial. */
static bool ask(PyObject *self, module_state *state, const signature *sig, PyObject *const *args, Py_ssize_t nargs,
                PyObject *kwnames, licet_result *result)
{
    licet_check_request request = LICET_CHECK_REQUEST_INIT;
    PyObject           *arg[6]  = { NULL };

    if (!unpack(sig, args, nargs, kwnames, arg) ||
        !str_from_py(state, arg[0], "resource", &request.resource) ||     /* views into the str objects, which */
        !str_from_py(state, arg[1], "permission", &request.permission) || /* our caller keeps alive */
        !str_from_py(state, arg[2], "subject", &request.subject) ||
        !consistency_from_py(state, arg[4], arg[5], &request.consistency))
        return false;
    if (arg[3] != NULL && arg[3] != Py_None)
        return answer_in_context(state, engine_handle(self), &request, arg[3], result);
    return answer(state, engine_handle(self), &request, result);
}

PyDoc_STRVAR(
    engine_allowed_doc,
    "allowed($self, /, resource, permission, subject, *, context=None, consistency=None, may_block=True)\n--\n\n"
    "True if the subject has the permission on the resource, and only for a definite yes: a conditional\n"
    "answer is False.\n\n"
    "resource     \"document:readme\"\n"
    "permission   \"view\": a permission or a relation\n"
    "subject      \"user:ada\" or \"group:eng#member\"\n"
    "context      values for the caveats on the way: a dict of what JSON has and of bytes, datetime, timedelta\n"
    "             and ipaddress objects, or a JSON object as a str; see licet.context\n"
    "consistency  MINIMIZE_LATENCY by default; FULL, at_least(token) or at_exactly(token)\n"
    "may_block    False for event loops: raises Unavailable, reason \"WOULD_BLOCK\", where it would have to wait\n"
    "             for a database; a memory store never does\n\n"
    "A denial is not an error, and an error is never an answer: raises InvalidArgument, NotFound (an unknown\n"
    "type or name; ids that occur nowhere are denied), LimitExceeded, DeadlineExceeded, InvalidToken,\n"
    "RevisionExpired, Unavailable, OutOfMemory, Closed, TypeError.\n"
    "Does not block on a memory store. Any thread.");

static PyObject *engine_allowed(PyObject *self, PyTypeObject *cls, PyObject *const *args, Py_ssize_t nargs,
                                PyObject *kwnames)
{
    static const signature sig = {
        "allowed", 3, 3, { "resource", "permission", "subject", "context", "consistency", "may_block" }
    };
    licet_result result = LICET_RESULT_INIT;
    bool         allowed;

    if (!ask(self, state_of(cls), &sig, args, nargs, kwnames, &result))
        return NULL;
    allowed = licet_result_allowed(&result);
    licet_result_clear(&result);
    return PyBool_FromLong(allowed);
}

PyDoc_STRVAR(engine_check_doc,
             "check($self, /, resource, permission, subject, *, context=None, consistency=None, may_block=True)\n--\n\n"
             "The same question as allowed(), answered by a Result: .allowed, .permissionship, .missing_context, and\n"
             ".token of the revision at which it was answered. bool(result) is result.allowed.\n\n"
             "Raises and blocks as allowed() does. Any thread.");

static PyObject *engine_check(PyObject *self, PyTypeObject *cls, PyObject *const *args, Py_ssize_t nargs,
                              PyObject *kwnames)
{
    static const signature sig = {
        "check", 3, 3, { "resource", "permission", "subject", "context", "consistency", "may_block" }
    };
    module_state *state  = state_of(cls);
    licet_result  result = LICET_RESULT_INIT;

    if (!ask(self, state, &sig, args, nargs, kwnames, &result))
        return NULL;
    return result_to_py(state, self, &result);
}

/* ------------------------------------------------------------------------- statistics */

#define COUNT(number) PyLong_FromUnsignedLongLong(number)
#define CLAIM(flag) PyBool_FromLong(flag)

static PyObject *stats_to_py(module_state *state, const licet_stats *stats)
{
    PyObject *values[] = {
        COUNT(stats->relationships),      COUNT(stats->objects),      COUNT(stats->memory_bytes),
        COUNT(stats->memory_limit_bytes), COUNT(stats->graph_bytes),  COUNT(stats->id_bytes),
        COUNT(stats->delta_changes),      COUNT(stats->merges),       COUNT(stats->revision),
        COUNT(stats->oldest_revision),    mode_to_py(stats->mode),    CLAIM(stats->is_ready),
        CLAIM(stats->is_connected),       CLAIM(stats->is_encrypted), CLAIM(stats->is_verified),
        COUNT(stats->staleness_ms),       COUNT(stats->round_trips),  COUNT(stats->catch_ups),
        COUNT(stats->shared_catch_ups),   COUNT(stats->loads),        COUNT(stats->reconnects),
        COUNT(stats->prefetches),
    };

    return record_of(state, RECORD_stats, values, sizeof values / sizeof *values);
}

#undef COUNT
#undef CLAIM

PyDoc_STRVAR(engine_stats_doc, "stats($self, /)\n--\n\n"
                               "Counts and sizes now: a Stats. Raises Closed. Does not block. Any thread.");

static PyObject *engine_stats(PyObject *self, PyTypeObject *cls, PyObject *const *args, Py_ssize_t nargs,
                              PyObject *kwnames)
{
    static const signature sig   = { "stats", 0, 0, { NULL } };
    licet_stats            stats = LICET_STATS_INIT;
    licet_error           *error = NULL;
    licet_status           status;

    if (!unpack(&sig, args, nargs, kwnames, NULL))
        return NULL;
    status = licet_engine_stats(engine_handle(self), &stats, &error);
    return status == LICET_OK ? stats_to_py(state_of(cls), &stats) : raise_error(state_of(cls), status, error);
}

/* ---------------------------------------------------------------------- on a database */

PyDoc_STRVAR(engine_await_ready_doc,
             "await_ready($self, /, timeout=30.0)\n--\n\n"
             "Waits until the engine can answer: its graph is loaded and current. The first call of any kind begins\n"
             "that, too, but a large graph takes longer than a check waits. A memory store always can.\n\n"
             "timeout  seconds\n\n"
             "Raises DeadlineExceeded (it goes on loading), Unavailable with what is wrong, Closed, TypeError. Blocks\n"
             "without the interpreter's lock; Ctrl-C ends the wait. Any thread.");

#define READY_SECONDS 30.0 /* by default */

/* One slice of the wait. False: it is over, with *status. That nothing is connected yet may change as well; what is said
 * before the slice has passed is for good. */
static bool await_slice(licet_engine *engine, double deadline, licet_status *status, licet_error **error)
{
    const uint32_t slice_ms = wait_slice_ms(deadline);
    const double   start    = seconds_now();
    double         end;

    Py_BEGIN_ALLOW_THREADS
    *status = licet_await_ready(engine, slice_ms, error);
    Py_END_ALLOW_THREADS
    end = seconds_now();
    if ((*status != LICET_DEADLINE_EXCEEDED && *status != LICET_UNAVAILABLE) || end >= deadline ||
        (end - start) * 1000 < slice_ms - 2.0)
        return false;
    licet_error_free(*error);
    *error = NULL;
    return true;
}

static PyObject *engine_await_ready(PyObject *self, PyTypeObject *cls, PyObject *const *args, Py_ssize_t nargs,
                                    PyObject *kwnames)
{
    static const signature sig     = { "await_ready", 0, 1, { "timeout" } };
    module_state          *state   = state_of(cls);
    licet_error           *error   = NULL;
    licet_status           status  = LICET_OK;
    PyObject              *arg[1]  = { NULL };
    double                 seconds = READY_SECONDS;
    double                 deadline;

    if (!unpack(&sig, args, nargs, kwnames, arg) || !seconds_from_py(state, arg[0], "timeout", &seconds))
        return NULL;
    deadline = seconds_now() + seconds;
    while (await_slice(engine_handle(self), deadline, &status, &error))
        if (PyErr_CheckSignals() < 0)
            return NULL;
    if (status != LICET_OK)
        return raise_error(state, status, error);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(engine_collect_garbage_doc,
             "collect_garbage($self, /)\n--\n\n"
             "Removes from the database what was deleted longer ago than gc_window_ms. Returns the number of rows.\n"
             "Engines do so by themselves every few minutes. A memory store has nothing to do.\n\n"
             "Raises Unavailable, DeadlineExceeded, OutOfMemory, Closed. Blocks, without the interpreter's lock. Any\n"
             "thread.");

static PyObject *engine_collect_garbage(PyObject *self, PyTypeObject *cls, PyObject *const *args, Py_ssize_t nargs,
                                        PyObject *kwnames)
{
    static const signature sig     = { "collect_garbage", 0, 0, { NULL } };
    licet_error           *error   = NULL;
    uint64_t               removed = 0;
    licet_status           status;

    if (!unpack(&sig, args, nargs, kwnames, NULL))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = licet_collect_garbage(engine_handle(self), &removed, &error);
    Py_END_ALLOW_THREADS
    return status == LICET_OK ? PyLong_FromUnsignedLongLong(removed) : raise_error(state_of(cls), status, error);
}

static bool engine_is_closed(PyObject *self, licet_stats *stats)
{
    return licet_engine_stats(engine_handle(self), stats, NULL) != LICET_OK;
}

static PyObject *engine_get_closed(PyObject *self, void *Py_UNUSED(closure))
{
    licet_stats stats = LICET_STATS_INIT;

    return PyBool_FromLong(engine_is_closed(self, &stats));
}

/* Never the URI: it may hold a password. */
static PyObject *engine_repr(PyObject *self)
{
    licet_stats stats = LICET_STATS_INIT;

    if (engine_is_closed(self, &stats))
        return PyUnicode_FromString("<licet.Engine, closed>");
    return PyUnicode_FromFormat("<licet.Engine with %llu relationship%s>", (unsigned long long)stats.relationships,
                                stats.relationships == 1 ? "" : "s");
}

/* ------------------------------------------------------------------------------- type */

/* What takes arguments. Each hands on what the engine had to say meanwhile. */
#define METHOD_LIST(X)      \
    X(allowed)              \
    X(check)                \
    X(check_bulk)           \
    X(filter)               \
    X(permissions)          \
    X(lookup_resources)     \
    X(lookup_resource_ids)  \
    X(lookup_subjects)      \
    X(lookup_subject_ids)   \
    X(expand)               \
    X(explain)              \
    X(write_schema)         \
    X(read_schema)          \
    X(schema_impact)        \
    X(write)                \
    X(create)               \
    X(touch)                \
    X(delete)               \
    X(delete_relationships) \
    X(read_relationships)   \
    X(import_relationships) \
    X(import_status)        \
    X(forget_import)        \
    X(export_relationships) \
    X(watch)                \
    X(stats)                \
    X(await_ready)          \
    X(collect_garbage)

#define TELLING(name)                                                                                           \
    static PyObject *telling_##name(PyObject *self, PyTypeObject *cls, PyObject *const *args, Py_ssize_t nargs, \
                                    PyObject *kwnames)                                                          \
    {                                                                                                           \
        PyObject *answer = engine_##name(self, cls, args, nargs, kwnames);                                      \
                                                                                                                \
        engine_tell_log(self);                                                                                  \
        return answer;                                                                                          \
    }
METHOD_LIST(TELLING)
#undef TELLING

static PyMethodDef engine_methods[] = {
#define METHOD(name) { #name, AS_METHOD(telling_##name), METHOD_FLAGS, engine_##name##_doc },
    METHOD_LIST(METHOD)
#undef METHOD
        { "close", engine_close, METH_NOARGS, engine_close_doc },
    { "__enter__", engine_enter, METH_NOARGS, "__enter__($self, /)\n--\n\nThe engine itself." },
    { "__exit__", AS_METHOD(engine_exit), METH_FASTCALL, "__exit__($self, /, *exc_info)\n--\n\nCloses the engine." },
    { NULL, NULL, 0, NULL },
};

static PyGetSetDef engine_getset[] = {
    { "closed", engine_get_closed, NULL, "Whether close() was called.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyMemberDef engine_members[] = {
    { "__weaklistoffset__", T_PYSSIZET, offsetof(engine_object, weak_references), READONLY, NULL },
    { NULL, 0, 0, 0, NULL },
};

PyDoc_STRVAR(engine_doc, "Schema and relationships, and the answers about them. Any number of threads may use one.\n\n"
                         "Made by licet.open(). As a context manager it closes itself.");

static PyType_Slot engine_slots[] = {
    { Py_tp_doc, (void *)engine_doc },
    { Py_tp_traverse, (void *)engine_traverse },
    { Py_tp_clear, (void *)engine_clear },
    { Py_tp_dealloc, (void *)engine_dealloc },
    { Py_tp_repr, (void *)engine_repr },
    { Py_tp_methods, engine_methods },
    { Py_tp_getset, engine_getset },
    { Py_tp_members, engine_members },
    { 0, NULL },
};

PyType_Spec engine_spec = {
    .name      = "licet.Engine",
    .basicsize = sizeof(engine_object),
    .flags     = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots     = engine_slots,
};

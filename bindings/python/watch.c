/* licet.ChangeStream: what is committed, as it is committed, one relationship at a time.
 *
 * The core tells revision by revision. Here a revision is taken apart, and its token is given only to the last of its
 * changes; those before have the token of the revision before it. So whoever goes on after the token of a change gets the
 * rest of its revision, perhaps with what was there already, and never misses any.
 *
 * Waiting is cut into slices, without the interpreter's lock: between two of them signals are looked after, so that Ctrl-C
 * works, and close() from another thread is heard. */
#include "watch.h"

#include "convert.h"
#include "engine.h"
#include "error.h"
#include "waiting.h"

typedef struct watch_object {
    PyObject_HEAD licet_stream *stream; /* ours; NULL when closed and nobody is inside with it */
    PyObject                   *engine;
    licet_token                 place; /* to go on after what was handed out */
    licet_change change;        /* the revision that is handed out; its views live until the core is asked again */
    size_t       next;          /* of its parts */
    size_t       count;         /* of its parts */
    double       timeout;       /* of each wait, in seconds; negative: none */
    bool         relationships; /* are told; the core tells them anyway, as SpiceDB does */
    bool         ended;
    bool         closed;
    bool         busy; /* somebody is inside with it, perhaps without the interpreter's lock */
} watch_object;

/* ----------------------------------------------------------------------- lifetime */

/* Takes the stream, also when it fails. */
static PyObject *watch_to_py(module_state *state, PyObject *engine, licet_stream *stream, bool relationships,
                             double timeout)
{
    watch_object *self = PyObject_GC_New(watch_object, state->watch_type);

    if (self == NULL) {
        licet_stream_release(stream);
        return NULL;
    }
    self->stream        = stream;
    self->engine        = Py_NewRef(engine);
    self->change        = (licet_change)LICET_CHANGE_INIT;
    self->next          = 0;
    self->count         = 0;
    self->timeout       = timeout;
    self->relationships = relationships;
    self->ended         = false;
    self->closed        = false;
    self->busy          = false;
    licet_stream_token(stream, &self->place);
    PyObject_GC_Track(self);
    return (PyObject *)self;
}

static int watch_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((watch_object *)self)->engine);
    return 0;
}

/* The engine stays for as long as the stream, whose threads tell it things: cycles are broken at the engine's log. */
static void watch_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    watch_object *w    = (watch_object *)self;

    PyObject_GC_UnTrack(self);
    licet_stream_release(w->stream);
    Py_DECREF(w->engine);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

/* Ends it. Whoever is inside releases the stream when he comes out. */
static void end(watch_object *w)
{
    w->closed = true;
    w->ended  = true;
    if (w->busy)
        return;
    licet_stream_release(w->stream);
    w->stream = NULL;
    w->count  = 0;
}

PyDoc_STRVAR(watch_close_doc, "close($self, /)\n--\n\n"
                              "Ends the iteration, also that of a thread which waits. A second close does nothing.\n\n"
                              "Raises nothing. Does not block. Any thread.");

static PyObject *watch_close(PyObject *self, PyObject *Py_UNUSED(none))
{
    Py_BEGIN_CRITICAL_SECTION(self);
    end((watch_object *)self);
    Py_END_CRITICAL_SECTION();
    Py_RETURN_NONE;
}

static PyObject *watch_enter(PyObject *self, PyObject *Py_UNUSED(none))
{
    return Py_NewRef(self);
}

static PyObject *watch_exit(PyObject *self, PyObject *const *Py_UNUSED(args), Py_ssize_t Py_UNUSED(nargs))
{
    return watch_close(self, NULL);
}

/* ------------------------------------------------------------------------ waiting */

/* Until `deadline`, or a slice. 0 when there is no time left. */
static uint32_t slice(const watch_object *w, double deadline)
{
    return w->timeout < 0 ? WAIT_SLICE_MS : wait_slice_ms(deadline);
}

/* The next revision. False: an exception is set, or it is over: then w->ended. */
static bool wait_for_change(module_state *state, watch_object *w, double deadline)
{
    licet_error *error = NULL;
    bool         found = false;
    licet_status status;

    while (!w->closed) {
        uint32_t wait_ms = slice(w, deadline);

        Py_BEGIN_ALLOW_THREADS
        status = licet_stream_next_change(w->stream, wait_ms, &w->change, &found, &error);
        Py_END_ALLOW_THREADS
        if (status != LICET_OK) {
            raise_error(state, status, error);
            return false;
        }
        if (found)
            return true;
        licet_stream_token(w->stream, &w->place); /* beyond what was filtered out */
        engine_tell_log(w->engine);
        if (PyErr_CheckSignals() < 0)
            return false;
        if (wait_ms == 0)
            break;
    }
    w->ended = true;
    return false;
}

/* ------------------------------------------------------------------------ changes */

/* The relationships of a revision come first, then the schema, then the checkpoint. */
static const char *operation_of(const licet_change *change, size_t part)
{
    if (part < change->update_count)
        return change->updates[part].operation == LICET_DELETE ? "delete" : "touch";
    return part == change->update_count && change->schema_changed ? "schema" : "checkpoint";
}

static PyObject *relationship_of(module_state *state, const licet_change *change, size_t part)
{
    if (part >= change->update_count)
        return Py_NewRef(Py_None);
    return relationship_to_py(state, &change->updates[part].relationship);
}

static PyObject *metadata_of(module_state *state, const licet_change *change)
{
    return change->metadata.size == 0 ? Py_NewRef(Py_None) : json_to_py(state, str_to_py(change->metadata));
}

/* One part of the revision. */
static PyObject *part_to_py(module_state *state, const licet_change *change, size_t part, const licet_token *token)
{
    PyObject *metadata     = metadata_of(state, change);
    PyObject *relationship = metadata == NULL ? NULL : relationship_of(state, change, part);
    PyObject *values[5];

    if (relationship == NULL) {
        Py_XDECREF(metadata);
        return NULL;
    }
    values[0] = PyUnicode_FromString(operation_of(change, part));
    values[1] = relationship;
    values[2] = token_to_py(token);
    values[3] = metadata;
    values[4] = token_to_py(&change->token);
    return record_of(state, RECORD_change, values, 5);
}

static PyObject *next_part(module_state *state, watch_object *w)
{
    const bool last = w->next + 1 == w->count;
    PyObject  *part = part_to_py(state, &w->change, w->next, last ? &w->change.token : &w->place);

    if (part == NULL)
        return NULL;
    if (last)
        w->place = w->change.token;
    w->next++;
    return part;
}

static PyObject *next_change(module_state *state, watch_object *w)
{
    const double deadline = seconds_now() + w->timeout;

    while (!w->ended && w->next == w->count) {
        if (!wait_for_change(state, w, deadline))
            return NULL;
        w->next  = w->relationships ? 0 : w->change.update_count;
        w->count = w->change.update_count + w->change.schema_changed + w->change.is_checkpoint;
        if (w->next == w->count)
            w->place = w->change.token;
    }
    return w->ended ? NULL : next_part(state, w);
}

static PyObject *next_if_idle(module_state *state, watch_object *w)
{
    PyObject *change;

    if (w->busy)
        return raise_busy(state);
    w->busy = true;
    change  = next_change(state, w);
    w->busy = false;
    if (w->closed)
        end(w);
    return change;
}

static PyObject *watch_next(PyObject *self)
{
    PyObject *change;

    Py_BEGIN_CRITICAL_SECTION(self);
    change = next_if_idle(state_of_self(self), (watch_object *)self);
    Py_END_CRITICAL_SECTION();
    return change;
}

static PyObject *watch_get_token(PyObject *self, void *Py_UNUSED(closure))
{
    PyObject *token;

    Py_BEGIN_CRITICAL_SECTION(self);
    token = token_to_py(&((watch_object *)self)->place);
    Py_END_CRITICAL_SECTION();
    return token;
}

/* --------------------------------------------------------------------------- type */

static PyGetSetDef watch_getset[] = {
    { "token", watch_get_token, NULL,
      "Where to go on after the last change returned, and what was passed over since: for Engine.watch(since=...).",
      NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyMethodDef watch_methods[] = {
    { "close", watch_close, METH_NOARGS, watch_close_doc },
    { "__enter__", watch_enter, METH_NOARGS, "__enter__($self, /)\n--\n\nThe stream itself." },
    { "__exit__", AS_METHOD(watch_exit), METH_FASTCALL, "__exit__($self, /, *exc_info)\n--\n\nCloses the stream." },
    { NULL, NULL, 0, NULL },
};

PyDoc_STRVAR(watch_doc,
             "An iterator over Change, in the order of commits. Made by Engine.watch(). A context manager.\n\n"
             "Waits for the next one without the interpreter's lock; Ctrl-C ends the wait. Raises Closed when\n"
             "its engine is closed, also while it waits, and RevisionExpired when it was left alone so long\n"
             "that changes are gone. One thread at a time: another one's next() meanwhile raises Misuse.");

static PyType_Slot watch_slots[] = {
    { Py_tp_doc, (void *)watch_doc },         { Py_tp_traverse, (void *)watch_traverse },
    { Py_tp_dealloc, (void *)watch_dealloc }, { Py_tp_iter, (void *)PyObject_SelfIter },
    { Py_tp_iternext, (void *)watch_next },   { Py_tp_methods, (void *)watch_methods },
    { Py_tp_getset, watch_getset },           { 0, NULL },
};

PyType_Spec watch_spec = {
    .name      = "licet.ChangeStream",
    .basicsize = sizeof(watch_object),
    .flags     = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots     = watch_slots,
};

/* ------------------------------------------------------------------------- method */

const char engine_watch_doc[] =
    "watch($self, /, since=None, *, relationships=True, schema=False, checkpoints=False, resource_types=None, "
    "filters=None, timeout=None)\n--\n\n"
    "Follows what is committed: an iterator over Change, in order, one for each relationship that is written or\n"
    "deleted. A context manager, which ends it.\n\n"
    "since           a token: what was committed after it; by default what will be committed from now on\n"
    "relationships   tell changes of relationships: operation \"touch\" or \"delete\"\n"
    "schema          tell that the schema was replaced: operation \"schema\", whatever is filtered\n"
    "checkpoints     tell that nothing before .token is still to come: operation \"checkpoint\"\n"
    "resource_types  an iterable of names: only of these\n"
    "filters         an iterable of licet.Filter: only what one of these selects; not together with resource_types\n"
    "timeout         seconds to wait for each change; the iteration ends when nothing came. By default it waits\n"
    "                for ever; 0 only takes what is there\n\n"
    "To go on later, start again with since=stream.token, or with the .token of the last change that is dealt with:\n"
    "nothing is missed, though the changes of one revision may come again. An expiration is no change.\n"
    "Raises InvalidArgument, NotFound (names in filters), InvalidToken, RevisionExpired (since is older than the\n"
    "history kept), OutOfMemory, Closed, TypeError. Does not block; iterating does. Any thread.";

static bool kinds_from_py(module_state *state, PyObject *const *arg, uint32_t *kinds)
{
    bool relationships = true;
    bool schema        = false;
    bool checkpoints   = false;

    if (!bool_from_py(arg[0], "relationships", &relationships) || !bool_from_py(arg[1], "schema", &schema) ||
        !bool_from_py(arg[2], "checkpoints", &checkpoints))
        return false;
    *kinds = (relationships ? LICET_WATCH_RELATIONSHIPS : 0) | (schema ? LICET_WATCH_SCHEMA : 0) |
             (checkpoints ? LICET_WATCH_CHECKPOINTS : 0);
    return *kinds != 0 || refuse(state, LICET_KIND_VALUE, "one of relationships, schema and checkpoints must be true");
}

static bool given(PyObject *value)
{
    return value != NULL && value != Py_None;
}

/* The core takes none for "no filter", and nobody who gives an empty list wants to be told everything. */
static bool not_empty(module_state *state, const char *what, size_t count)
{
    return count > 0 || refuse(state, LICET_KIND_VALUE, "%s: give at least one, or None", what);
}

static bool types_from_py(module_state *state, PyObject *value, licet_str **types, size_t *count, PyObject **kept)
{
    return !given(value) || (strs_from_py(state, value, "resource_types", types, count, kept) &&
                             not_empty(state, "resource_types", *count));
}

static bool selection_from_py(module_state *state, PyObject *value, licet_filter **filters, size_t *count,
                              PyObject **kept)
{
    return !given(value) ||
           (filters_from_py(state, value, filters, count, kept) && not_empty(state, "filters", *count));
}

static PyObject *watch_request(PyObject *self, module_state *state, const licet_watch_request *request, double timeout)
{
    const bool    relationships = (request->kinds & LICET_WATCH_RELATIONSHIPS) != 0;
    licet_stream *stream        = NULL;
    licet_error  *error         = NULL;
    licet_status  status;

    CALL_UNLOCKED_IF(engine_is_on_database(self), status = licet_watch(engine_handle(self), request, &stream, &error));
    return status == LICET_OK ? watch_to_py(state, self, stream, relationships, timeout)
                              : raise_error(state, status, error);
}

PyObject *engine_watch(PyObject *self, PyTypeObject *cls, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const signature sig = {
        "watch", 0, 1, { "since", "relationships", "schema", "checkpoints", "resource_types", "filters", "timeout" }
    };
    module_state       *state   = state_of(cls);
    licet_watch_request request = LICET_WATCH_REQUEST_INIT;
    licet_str          *types   = NULL;
    licet_filter       *filters = NULL;
    PyObject           *arg[7]  = { NULL };
    PyObject           *kept[2] = { NULL };
    PyObject           *watch   = NULL;
    double              timeout = -1; /* for ever */

    if (!unpack(&sig, args, nargs, kwnames, arg) || !optional_str_from_py(state, arg[0], "since", &request.since) ||
        !kinds_from_py(state, arg + 1, &request.kinds) || !seconds_from_py(state, arg[6], "timeout", &timeout))
        return NULL;
    if (types_from_py(state, arg[4], &types, &request.resource_type_count, &kept[0]) &&
        selection_from_py(state, arg[5], &filters, &request.filter_count, &kept[1])) {
        request.resource_types = types;
        request.filters        = filters;
        watch                  = watch_request(self, state, &request, timeout);
    }
    PyMem_Free(types);
    PyMem_Free(filters);
    Py_XDECREF(kept[0]);
    Py_XDECREF(kept[1]);
    return watch;
}

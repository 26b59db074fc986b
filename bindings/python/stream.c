/* licet.RelationshipStream: an iterator over the relationships that a filter selects, all of one revision.
 *
 * It holds its Engine beside the core's own count, so that the last release of an engine always happens in the
 * Engine's destructor. Once a stream has ended it says so for ever, as iterators must. */
#include "stream.h"

#include "convert.h"
#include "error.h"

typedef struct stream_object {
    PyObject_HEAD licet_stream *stream; /* ours; never NULL */
    PyObject                   *engine;
    bool                        ended;
} stream_object;

PyObject *stream_to_py(module_state *state, PyObject *engine, licet_stream *stream)
{
    stream_object *self = PyObject_GC_New(stream_object, state->stream_type);

    if (self == NULL) {
        licet_stream_release(stream);
        return NULL;
    }
    self->stream = stream;
    self->engine = Py_NewRef(engine);
    self->ended  = false;
    PyObject_GC_Track(self);
    return (PyObject *)self;
}

static int stream_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((stream_object *)self)->engine);
    return 0;
}

static int stream_clear(PyObject *self)
{
    Py_CLEAR(((stream_object *)self)->engine);
    return 0;
}

static void stream_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    PyObject_GC_UnTrack(self);
    licet_stream_release(((stream_object *)self)->stream);
    (void)stream_clear(self);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

/* The fields of the next relationship, or NULL: at the end without an exception. The views that the core hands out
 * die with the next call, so they are copied before anything else can happen to the stream. */
static PyObject *next_fields(module_state *state, stream_object *self)
{
    licet_relationship relationship = LICET_RELATIONSHIP_INIT;
    licet_error       *error        = NULL;
    licet_status       status;
    bool               found = false;

    if (self->ended)
        return NULL;
    status = licet_stream_next_relationship(self->stream, &relationship, &found, &error);
    if (status != LICET_OK)
        return raise_error(state, status, error);
    self->ended = !found;
    return found ? relationship_fields(&relationship) : NULL;
}

static PyObject *stream_next(PyObject *self)
{
    module_state *state = state_of_self(self);
    PyObject     *fields;

    Py_BEGIN_CRITICAL_SECTION(self);
    fields = next_fields(state, (stream_object *)self);
    Py_END_CRITICAL_SECTION();
    return record_to_py(state, RECORD_relationship, fields);
}

static PyObject *stream_get_cursor(PyObject *self, void *Py_UNUSED(closure))
{
    licet_str cursor;
    PyObject *text;

    Py_BEGIN_CRITICAL_SECTION(self);
    cursor = licet_stream_cursor(((stream_object *)self)->stream);
    text   = cursor.size == 0 ? Py_NewRef(Py_None) : str_to_py(cursor);
    Py_END_CRITICAL_SECTION();
    return text;
}

static PyObject *stream_get_token(PyObject *self, void *Py_UNUSED(closure))
{
    licet_token token = { { 0 } };

    Py_BEGIN_CRITICAL_SECTION(self);
    licet_stream_token(((stream_object *)self)->stream, &token);
    Py_END_CRITICAL_SECTION();
    return token_to_py(&token);
}

static PyGetSetDef stream_getset[] = {
    { "cursor", stream_get_cursor, NULL,
      "Where to go on after the last relationship returned: for the same read's cursor=. None before the first.",
      NULL },
    { "token", stream_get_token, NULL, "Token of the revision that is read.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

PyDoc_STRVAR(stream_doc, "An iterator over relationships, all of one revision. Made by Engine.read_relationships().\n\n"
                         "Raises Closed once its engine is closed. Does not block.");

static PyType_Slot stream_slots[] = {
    { Py_tp_doc, (void *)stream_doc },         { Py_tp_traverse, (void *)stream_traverse },
    { Py_tp_clear, (void *)stream_clear },     { Py_tp_dealloc, (void *)stream_dealloc },
    { Py_tp_iter, (void *)PyObject_SelfIter }, { Py_tp_iternext, (void *)stream_next },
    { Py_tp_getset, stream_getset },           { 0, NULL },
};

PyType_Spec stream_spec = {
    .name      = "licet.RelationshipStream",
    .basicsize = sizeof(stream_object),
    .flags     = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots     = stream_slots,
};

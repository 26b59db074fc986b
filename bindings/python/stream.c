/* The iterators over answers of one revision: relationships, resources, subjects, ids of these, consequences of a schema.
 *
 * They are types of their own and one structure; what differs is what becomes of the core's record. A stream
 * holds its Engine beside the core's own count, so that the last release of an engine always happens in the Engine's
 * destructor. Once it has ended it says so for ever, as iterators must.
 *
 * The interpreter's lock is let go where the core is about to work long: for the first answer of a lookup, with which it
 * looks for a whole page of them, and for every consequence of a schema. Meanwhile the stream is busy, and nobody else may
 * use it. Answers that are there already cost less than the lock. */
#include "stream.h"

#include "convert.h"
#include "error.h"

typedef struct stream_object {
    PyObject_HEAD licet_stream *stream; /* ours; never NULL */
    PyObject                   *engine;
    stream_kind                 kind;
    bool                        begun;
    bool                        ended;
    bool                        busy; /* somebody is inside with it; perhaps without the interpreter's lock */
} stream_object;

/* ------------------------------------------------------------------------ answers */

/* Room for what the core says, whatever it is. */
typedef union answer {
    licet_relationship   relationship;
    licet_found_resource resource;
    licet_found_subject  subject;
    licet_impact         impact;
} answer;

static licet_status next_answer(licet_stream *stream, stream_kind kind, answer *a, bool *found, licet_error **error)
{
    switch (kind) {
    case STREAM_RESOURCES:
    case STREAM_RESOURCE_IDS:
        a->resource = (licet_found_resource)LICET_FOUND_RESOURCE_INIT;
        return licet_stream_next_resource(stream, &a->resource, found, error);
    case STREAM_SUBJECTS:
    case STREAM_SUBJECT_IDS:
        a->subject = (licet_found_subject)LICET_FOUND_SUBJECT_INIT;
        return licet_stream_next_subject(stream, &a->subject, found, error);
    case STREAM_IMPACTS:
        a->impact = (licet_impact)LICET_IMPACT_INIT;
        return licet_stream_next_impact(stream, &a->impact, found, error);
    default:
        a->relationship = (licet_relationship)LICET_RELATIONSHIP_INIT;
        return licet_stream_next_relationship(stream, &a->relationship, found, error);
    }
}

static PyObject *resource_to_py(module_state *state, const licet_found_resource *resource)
{
    PyObject *values[] = { str_to_py(resource->resource_id), permissionship_to_py(state, resource->permissionship),
                           strs_to_py(resource->missing, resource->missing_count) };

    return record_of(state, RECORD_found_resource, values, 3);
}

static PyObject *excluded_to_py(module_state *state, const licet_excluded_subject *excluded)
{
    PyObject *values[] = { str_to_py(excluded->subject_id), permissionship_to_py(state, excluded->permissionship),
                           strs_to_py(excluded->missing, excluded->missing_count) };

    return record_of(state, RECORD_excluded, values, 3);
}

static PyObject *all_excluded_to_py(module_state *state, const licet_found_subject *subject)
{
    PyObject *all = PyTuple_New((Py_ssize_t)subject->excluded_count);

    for (size_t i = 0; all != NULL && i < subject->excluded_count; i++) {
        PyObject *one = excluded_to_py(state, &subject->excluded[i]);

        if (one == NULL)
            Py_CLEAR(all);
        else
            PyTuple_SET_ITEM(all, (Py_ssize_t)i, one);
    }
    return all;
}

static PyObject *subject_to_py(module_state *state, const licet_found_subject *subject)
{
    PyObject *excluded = all_excluded_to_py(state, subject);
    PyObject *values[4];

    if (excluded == NULL)
        return NULL;
    values[0] = str_to_py(subject->subject_id);
    values[1] = permissionship_to_py(state, subject->permissionship);
    values[2] = strs_to_py(subject->missing, subject->missing_count);
    values[3] = excluded;
    return record_of(state, RECORD_found_subject, values, 4);
}

static PyObject *impact_to_py(module_state *state, const licet_impact *impact)
{
    static const char *const kinds[]      = { "", "refused", "gained", "lost" };
    const bool               refused      = impact->kind == LICET_IMPACT_REFUSED;
    PyObject                *relationship = relationship_text_to_py(state, impact->relationship);
    PyObject                *values[8];

    if (relationship == NULL)
        return NULL;
    values[0] = PyUnicode_FromString(kinds[impact->kind]);
    values[1] = relationship;
    values[2] = filled_str_to_py(impact->message);
    values[3] = filled_str_to_py(impact->resource);
    values[4] = filled_str_to_py(impact->permission);
    values[5] = filled_str_to_py(impact->subject);
    values[6] = refused ? Py_NewRef(Py_None) : permissionship_to_py(state, impact->before);
    values[7] = refused ? Py_NewRef(Py_None) : permissionship_to_py(state, impact->after);
    return record_of(state, RECORD_impact, values, 8);
}

static PyObject *answer_to_py(module_state *state, stream_kind kind, const answer *a)
{
    switch (kind) {
    case STREAM_RESOURCES:
        return resource_to_py(state, &a->resource);
    case STREAM_SUBJECTS:
        return subject_to_py(state, &a->subject);
    case STREAM_RESOURCE_IDS: /* only what is certain: the request said so */
        return str_to_py(a->resource.resource_id);
    case STREAM_SUBJECT_IDS:
        return str_to_py(a->subject.subject_id);
    case STREAM_IMPACTS:
        return impact_to_py(state, &a->impact);
    default:
        return relationship_to_py(state, &a->relationship);
    }
}

/* ----------------------------------------------------------------------- lifetime */

PyObject *stream_to_py(module_state *state, stream_kind kind, PyObject *engine, licet_stream *stream)
{
    stream_object *self = PyObject_GC_New(stream_object, state->stream_types[kind]);

    if (self == NULL) {
        licet_stream_release(stream);
        return NULL;
    }
    self->stream = stream;
    self->engine = Py_NewRef(engine);
    self->kind   = kind;
    self->begun  = false;
    self->ended  = false;
    self->busy   = false;
    PyObject_GC_Track(self);
    return (PyObject *)self;
}

static int stream_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((stream_object *)self)->engine);
    return 0;
}

/* The engine stays for as long as the stream, whose threads tell it things: cycles are broken at the engine's log. */
static void stream_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    PyObject_GC_UnTrack(self);
    licet_stream_release(((stream_object *)self)->stream);
    Py_DECREF(((stream_object *)self)->engine);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

/* --------------------------------------------------------------------- iterating */

static bool works_long(const stream_object *self)
{
    return self->kind == STREAM_IMPACTS || (self->kind != STREAM_RELATIONSHIPS && !self->begun);
}

static licet_status fetch(stream_object *self, answer *a, bool *found, licet_error **error)
{
    licet_status status;

    if (!works_long(self)) {
        status = next_answer(self->stream, self->kind, a, found, error);
    } else {
        Py_BEGIN_ALLOW_THREADS
        status = next_answer(self->stream, self->kind, a, found, error);
        Py_END_ALLOW_THREADS
    }
    self->begun = true;
    return status;
}

/* The next answer, or NULL: at the end without an exception. */
static PyObject *next_item(module_state *state, stream_object *self)
{
    licet_error *error = NULL;
    bool         found = false;
    licet_status status;
    answer       a;

    if (self->ended)
        return NULL;
    status = fetch(self, &a, &found, &error);
    if (status != LICET_OK)
        return raise_error(state, status, error);
    self->ended = !found;
    return found ? answer_to_py(state, self->kind, &a) : NULL;
}

/* Busy until the answer is made: making it may set off a collection, and with that code of anybody's, which must not find
 * the stream in the middle of its work. */
static PyObject *next_if_idle(module_state *state, stream_object *self)
{
    PyObject *item;

    if (self->busy)
        return raise_busy(state);
    self->busy = true;
    item       = next_item(state, self);
    self->busy = false;
    return item;
}

static PyObject *stream_next(PyObject *self)
{
    PyObject *item;

    Py_BEGIN_CRITICAL_SECTION(self);
    item = next_if_idle(state_of_self(self), (stream_object *)self);
    Py_END_CRITICAL_SECTION();
    return item;
}

static PyObject *cursor_of(module_state *state, stream_object *self)
{
    if (self->busy)
        return raise_busy(state);
    return filled_str_to_py(licet_stream_cursor(self->stream));
}

static PyObject *stream_get_cursor(PyObject *self, void *Py_UNUSED(closure))
{
    PyObject *text;

    Py_BEGIN_CRITICAL_SECTION(self);
    text = cursor_of(state_of_self(self), (stream_object *)self);
    Py_END_CRITICAL_SECTION();
    return text;
}

/* The revision is fixed when a stream is made. */
static PyObject *stream_get_token(PyObject *self, void *Py_UNUSED(closure))
{
    licet_token token = { { 0 } };

    licet_stream_token(((stream_object *)self)->stream, &token);
    return token_to_py(&token);
}

/* --------------------------------------------------------------------------- types */

static PyGetSetDef stream_getset[] = {
    { "cursor", stream_get_cursor, NULL,
      "Where to go on after the last answer returned: for the same request's cursor=. None before the first.", NULL },
    { "token", stream_get_token, NULL, "Token of the revision that is read.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyGetSetDef impacts_getset[] = {
    { "token", stream_get_token, NULL, "Token of the revision whose data are considered.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

PyDoc_STRVAR(relationships_doc,
             "An iterator over relationships, all of one revision. Made by Engine.read_relationships() and\n"
             "Engine.export_relationships().\n\n"
             "Raises Closed once its engine is closed, RevisionExpired if it was left alone for too long. Does not\n"
             "block. One thread at a time.");

PyDoc_STRVAR(resources_doc,
             "An iterator over FoundResource, all of one revision. Made by Engine.lookup_resources().\n\n"
             "Raises Closed once its engine is closed, RevisionExpired if it was left alone for too long,\n"
             "and where a check would fail what the check would raise, after what was found before.\n"
             "Answers come page by page; the first is looked for without the interpreter's lock. One\n"
             "thread at a time: another one's next() meanwhile raises Misuse.");

PyDoc_STRVAR(subjects_doc, "An iterator over FoundSubject, all of one revision. Made by Engine.lookup_subjects().\n\n"
                           "Raises and blocks as ResourceStream. One thread at a time.");

PyDoc_STRVAR(impacts_doc, "An iterator over Impact. Made by Engine.schema_impact().\n\n"
                          "Raises as ResourceStream. Works without the interpreter's lock. One thread at a time.");

PyDoc_STRVAR(resource_ids_doc,
             "An iterator over str: ids, all of one revision. Made by Engine.lookup_resource_ids().\n\n"
             "Raises and blocks as ResourceStream. One thread at a time.");

PyDoc_STRVAR(subject_ids_doc, "An iterator over str: ids, all of one revision. Made by Engine.lookup_subject_ids().\n\n"
                              "Raises and blocks as ResourceStream. One thread at a time.");

#define STREAM_SLOTS(doc, getset)                                                                 \
    {                                                                                             \
        { Py_tp_doc, (void *)(doc) }, { Py_tp_traverse, (void *)stream_traverse },                \
            { Py_tp_dealloc, (void *)stream_dealloc }, { Py_tp_iter, (void *)PyObject_SelfIter }, \
            { Py_tp_iternext, (void *)stream_next }, { Py_tp_getset, (getset) }, { 0, NULL },     \
    }

static PyType_Slot relationships_slots[] = STREAM_SLOTS(relationships_doc, stream_getset);
static PyType_Slot resources_slots[]     = STREAM_SLOTS(resources_doc, stream_getset);
static PyType_Slot subjects_slots[]      = STREAM_SLOTS(subjects_doc, stream_getset);
static PyType_Slot impacts_slots[]       = STREAM_SLOTS(impacts_doc, impacts_getset);
static PyType_Slot resource_ids_slots[]  = STREAM_SLOTS(resource_ids_doc, stream_getset);
static PyType_Slot subject_ids_slots[]   = STREAM_SLOTS(subject_ids_doc, stream_getset);

#define STREAM_SPEC(type_name, type_slots)                                                                          \
    {                                                                                                               \
        .name = (type_name), .basicsize = sizeof(stream_object),                                                    \
        .flags =                                                                                                    \
            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION, \
        .slots = (type_slots),                                                                                      \
    }

PyType_Spec stream_specs[STREAM_KIND_COUNT] = {
    [STREAM_RELATIONSHIPS] = STREAM_SPEC("licet.RelationshipStream", relationships_slots),
    [STREAM_RESOURCES]     = STREAM_SPEC("licet.ResourceStream", resources_slots),
    [STREAM_SUBJECTS]      = STREAM_SPEC("licet.SubjectStream", subjects_slots),
    [STREAM_IMPACTS]       = STREAM_SPEC("licet.ImpactStream", impacts_slots),
    [STREAM_RESOURCE_IDS]  = STREAM_SPEC("licet.ResourceIdStream", resource_ids_slots),
    [STREAM_SUBJECT_IDS]   = STREAM_SPEC("licet.SubjectIdStream", subject_ids_slots),
};

/* The methods of licet.Engine that give many answers. Lookups hand the core's stream on; the shorter ones are gone
 * through here: a list of ids, a dict of permissions. */
#include "lookup.h"

#include <string.h>

#include "bulk.h"
#include "context.h"
#include "convert.h"
#include "engine.h"
#include "error.h"
#include "result.h"
#include "stream.h"
#include "waiting.h"

/* ------------------------------------------------------------------------ lookups */

const char engine_lookup_resources_doc[] =
    "lookup_resources($self, /, resource_type, permission, subject, *, limit=None, cursor=None, context=None, "
    "consistency=None, may_block=True)\n--\n\n"
    "Which resources of a type? An iterator over FoundResource, one for each resource on which check() would say\n"
    "yes or conditional at the same revision, in no order that means anything.\n\n"
    "resource_type  \"document\"\n"
    "permission     \"view\": a permission or a relation of it\n"
    "subject        \"user:ada\" or \"group:eng#member\"\n"
    "limit          at most so many, up to 1,000; all by default\n"
    "cursor         the .cursor of an earlier iterator for the same request: goes on after it, at its revision\n"
    "context        as for allowed()\n\n"
    "Only those whose permissionship is HAS_PERMISSION are allowed. Raises what allowed() raises, and InvalidToken\n"
    "for a cursor of another request; while iterating too. See ResourceStream. Does not block on a memory store.\n"
    "Any thread; one iterator belongs to one thread at a time.";

/* Of two methods: what they give differs, what they take does not. */
#define RESOURCES_SIGNATURE(name)                                                                              \
    {                                                                                                          \
        (name), 3, 3,                                                                                          \
        {                                                                                                      \
            "resource_type", "permission", "subject", "limit", "cursor", "context", "consistency", "may_block" \
        }                                                                                                      \
    }

static PyObject *look_up_resources(const signature *sig, stream_kind kind, PyObject *self, module_state *state,
                                   PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    licet_lookup_resources_request request = LICET_LOOKUP_RESOURCES_REQUEST_INIT;
    licet_stream                  *stream  = NULL;
    licet_error                   *error   = NULL;
    licet_status                   status;
    context_text                   text;
    PyObject                      *arg[8] = { NULL };
    uint64_t                       limit  = 0;

    if (!unpack(sig, args, nargs, kwnames, arg) ||
        !str_from_py(state, arg[0], "resource_type", &request.resource_type) ||
        !str_from_py(state, arg[1], "permission", &request.permission) ||
        !str_from_py(state, arg[2], "subject", &request.subject) ||
        !positive_from_py(state, arg[3], "limit", LICET_KIND_VALUE, UINT32_MAX, &limit) ||
        !optional_str_from_py(state, arg[4], "cursor", &request.cursor) ||
        !consistency_from_py(state, arg[6], arg[7], &request.consistency))
        return NULL;
    request.limit               = (uint32_t)limit;
    request.without_conditional = kind == STREAM_RESOURCE_IDS;
    context_text_init(&text);
    if (!context_from_py(state, arg[5], &text, &request.context)) {
        context_text_clear(&text);
        return NULL;
    }
    ASK(request.consistency, status, error, licet_lookup_resources(engine_handle(self), &request, &stream, &error));
    context_text_clear(&text);
    return status == LICET_OK ? stream_to_py(state, kind, self, stream) : raise_error(state, status, error);
}

PyObject *engine_lookup_resources(PyObject *self, PyTypeObject *cls, PyObject *const *args, Py_ssize_t nargs,
                                  PyObject *kwnames)
{
    static const signature sig = RESOURCES_SIGNATURE("lookup_resources");

    return look_up_resources(&sig, STREAM_RESOURCES, self, state_of(cls), args, nargs, kwnames);
}

const char engine_lookup_resource_ids_doc[] =
    "lookup_resource_ids($self, /, resource_type, permission, subject, *, limit=None, cursor=None, context=None, "
    "consistency=None, may_block=True)\n--\n\n"
    "Which resources of a type, by their ids alone? An iterator over str, one for each resource on which allowed()\n"
    "would say True at the same revision, in no order that means anything. Quicker than lookup_resources(), for who\n"
    "needs no more.\n\n"
    "Only a definite yes counts: a conditional answer gives no id. The limit counts ids, so a page is full unless it\n"
    "is the last. A cursor is one of lookup_resource_ids() too. All else is as for lookup_resources().";

PyObject *engine_lookup_resource_ids(PyObject *self, PyTypeObject *cls, PyObject *const *args, Py_ssize_t nargs,
                                     PyObject *kwnames)
{
    static const signature sig = RESOURCES_SIGNATURE("lookup_resource_ids");

    return look_up_resources(&sig, STREAM_RESOURCE_IDS, self, state_of(cls), args, nargs, kwnames);
}

const char engine_lookup_subjects_doc[] =
    "lookup_subjects($self, /, resource, permission, subject_type, *, subject_relation=None, wildcards=True, "
    "limit=None, cursor=None, context=None, consistency=None, may_block=True)\n--\n\n"
    "Which subjects of a type? An iterator over FoundSubject: each once, and \"*\" first.\n\n"
    "resource          \"document:readme\"\n"
    "permission        \"view\": a permission or a relation\n"
    "subject_type      \"user\"\n"
    "subject_relation  \"member\" asks for usersets such as group:eng#member; objects by default\n"
    "wildcards         False leaves \"*\" out; what it excludes comes with it, in .excluded\n"
    "limit, cursor, context  as for lookup_resources()\n\n"
    "What is said of each is what check() says. \"*\" is every subject of the type but those excluded, and also one\n"
    "that occurs nowhere. A resource that occurs nowhere has no subjects. Raises and blocks as lookup_resources().\n"
    "Any thread; one iterator belongs to one thread at a time.";

/* wildcards comes last: who asks for ids can not ask for it. */
#define SUBJECTS_PARAMETERS                                                                                    \
    "resource", "permission", "subject_type", "subject_relation", "limit", "cursor", "context", "consistency", \
        "may_block"

static bool subjects_request(module_state *state, PyObject *const *arg, licet_lookup_subjects_request *request)
{
    bool     wildcards = true;
    uint64_t limit     = 0;

    if (!str_from_py(state, arg[0], "resource", &request->resource) ||
        !str_from_py(state, arg[1], "permission", &request->permission) ||
        !str_from_py(state, arg[2], "subject_type", &request->subject_type) ||
        !optional_str_from_py(state, arg[3], "subject_relation", &request->subject_relation) ||
        !positive_from_py(state, arg[4], "limit", LICET_KIND_VALUE, UINT32_MAX, &limit) ||
        !optional_str_from_py(state, arg[5], "cursor", &request->cursor) ||
        !consistency_from_py(state, arg[7], arg[8], &request->consistency) ||
        !bool_from_py(arg[9], "wildcards", &wildcards))
        return false;
    request->without_wildcards = !wildcards;
    request->limit             = (uint32_t)limit;
    return true;
}

static PyObject *look_up_subjects(const signature *sig, stream_kind kind, PyObject *self, module_state *state,
                                  PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    licet_lookup_subjects_request request = LICET_LOOKUP_SUBJECTS_REQUEST_INIT;
    licet_stream                 *stream  = NULL;
    licet_error                  *error   = NULL;
    licet_status                  status;
    context_text                  text;
    PyObject                     *arg[10] = { NULL };

    if (!unpack(sig, args, nargs, kwnames, arg) || !subjects_request(state, arg, &request))
        return NULL;
    if (kind == STREAM_SUBJECT_IDS)
        request.without_wildcards = request.without_conditional = true;
    context_text_init(&text);
    if (!context_from_py(state, arg[6], &text, &request.context)) {
        context_text_clear(&text);
        return NULL;
    }
    ASK(request.consistency, status, error, licet_lookup_subjects(engine_handle(self), &request, &stream, &error));
    context_text_clear(&text);
    return status == LICET_OK ? stream_to_py(state, kind, self, stream) : raise_error(state, status, error);
}

PyObject *engine_lookup_subjects(PyObject *self, PyTypeObject *cls, PyObject *const *args, Py_ssize_t nargs,
                                 PyObject *kwnames)
{
    static const signature sig = { "lookup_subjects", 3, 3, { SUBJECTS_PARAMETERS, "wildcards" } };

    return look_up_subjects(&sig, STREAM_SUBJECTS, self, state_of(cls), args, nargs, kwnames);
}

const char engine_lookup_subject_ids_doc[] =
    "lookup_subject_ids($self, /, resource, permission, subject_type, *, subject_relation=None, limit=None, "
    "cursor=None, context=None, consistency=None, may_block=True)\n--\n\n"
    "Which subjects of a type, by their ids alone? An iterator over str, one for each subject that is granted by name\n"
    "and for which allowed() would say True. Quicker than lookup_subjects(), for who needs no more.\n\n"
    "Only a definite yes counts: a conditional answer gives no id. \"*\" is no id either, for it may exclude some: who "
    "is\n"
    "allowed by a wildcard alone is not listed, so ask lookup_subjects() where the schema has wildcards. The limit\n"
    "counts ids, so a page is full unless it is the last. A cursor is one of lookup_subject_ids() too. All else is as\n"
    "for lookup_subjects().";

PyObject *engine_lookup_subject_ids(PyObject *self, PyTypeObject *cls, PyObject *const *args, Py_ssize_t nargs,
                                    PyObject *kwnames)
{
    static const signature sig = { "lookup_subject_ids", 3, 3, { SUBJECTS_PARAMETERS } };

    return look_up_subjects(&sig, STREAM_SUBJECT_IDS, self, state_of(cls), args, nargs, kwnames);
}

/* ------------------------------------------------------------------------- filter */

const char engine_filter_doc[] =
    "filter($self, /, resource_type, ids, permission, subject, *, context=None, consistency=None, "
    "may_block=True)\n--\n\n"
    "Those of `ids` on which the subject has the permission, in their order: a list of str.\n\n"
    "resource_type  \"document\"\n"
    "ids            an iterable of str, at most 10,000\n"
    "context        as for allowed()\n\n"
    "Only a definite yes counts. All are asked at one revision; if one can not be answered, its error is\n"
    "raised. Raises and blocks as check_bulk(), and raises NotFound for unknown names. Any thread.";

/* The list that was given, and where the next answer may stand in it. */
typedef struct id_list {
    PyObject        *ids; /* a tuple of str */
    const licet_str *texts;
    size_t           count;
    size_t           next;
} id_list;

/* The very id that was given. Answers come in the order of the list, as often as they stand in it. */
static PyObject *id_of_answer(id_list *list, licet_str id)
{
    while (list->next < list->count) {
        size_t at = list->next++;

        if (list->texts[at].size == id.size && memcmp(list->texts[at].data, id.data, id.size) == 0)
            return PyTuple_GET_ITEM(list->ids, (Py_ssize_t)at);
    }
    return NULL; /* the core says only what is in the list */
}

/* Takes the stream. */
static PyObject *ids_allowed(module_state *state, licet_stream *stream, id_list *list)
{
    PyObject            *allowed  = PyList_New(0);
    licet_found_resource resource = LICET_FOUND_RESOURCE_INIT;
    licet_error         *error    = NULL;
    licet_status         status   = LICET_OK;
    bool                 found    = true;

    while (allowed != NULL && found) {
        PyObject *id = NULL;

        status = licet_stream_next_resource(stream, &resource, &found, &error);
        if (status == LICET_OK && found)
            id = id_of_answer(list, resource.resource_id);
        if (status != LICET_OK || (id != NULL && PyList_Append(allowed, id) < 0))
            Py_CLEAR(allowed);
    }
    licet_stream_release(stream);
    return status == LICET_OK ? allowed : raise_error(state, status, error);
}

static PyObject *filter_request(PyObject *self, module_state *state, licet_filter_resources_request *request,
                                PyObject *ids)
{
    id_list       list   = { ids, request->resource_ids, request->resource_count, 0 };
    licet_engine *engine = engine_handle(self);
    licet_stream *stream = NULL;
    licet_error  *error  = NULL;
    licet_status  status;

    if (request->resource_count >= BULK_UNLOCK_COUNT) {
        Py_BEGIN_ALLOW_THREADS
        status = licet_filter_resources(engine, request, &stream, &error);
        Py_END_ALLOW_THREADS
    } else {
        ASK(request->consistency, status, error, licet_filter_resources(engine, request, &stream, &error));
    }
    return status == LICET_OK ? ids_allowed(state, stream, &list) : raise_error(state, status, error);
}

PyObject *engine_filter(PyObject *self, PyTypeObject *cls, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const signature sig = {
        "filter", 4, 4, { "resource_type", "ids", "permission", "subject", "context", "consistency", "may_block" }
    };
    module_state                  *state   = state_of(cls);
    licet_filter_resources_request request = LICET_FILTER_RESOURCES_REQUEST_INIT;
    context_text                   text;
    licet_str                     *ids     = NULL;
    PyObject                      *kept    = NULL;
    PyObject                      *arg[7]  = { NULL };
    PyObject                      *allowed = NULL;

    if (!unpack(&sig, args, nargs, kwnames, arg) ||
        !str_from_py(state, arg[0], "resource_type", &request.resource_type) ||
        !str_from_py(state, arg[2], "permission", &request.permission) ||
        !str_from_py(state, arg[3], "subject", &request.subject) ||
        !consistency_from_py(state, arg[5], arg[6], &request.consistency))
        return NULL;
    context_text_init(&text);
    if (strs_from_py(state, arg[1], "ids", &ids, &request.resource_count, &kept) &&
        context_from_py(state, arg[4], &text, &request.context)) {
        request.resource_ids = ids;
        allowed              = filter_request(self, state, &request, kept);
    }
    context_text_clear(&text);
    PyMem_Free(ids);
    Py_XDECREF(kept);
    return allowed;
}

/* -------------------------------------------------------------------- permissions */

const char engine_permissions_doc[] =
    "permissions($self, /, resource, subject, permissions=None, *, context=None, consistency=None, "
    "may_block=True)\n--\n\n"
    "What may this subject do to this resource? A dict from each permission to its Result, at one revision.\n\n"
    "resource     \"document:readme\"\n"
    "subject      \"user:ada\" or \"group:eng#member\"\n"
    "permissions  an iterable of names of permissions or relations; by default every permission of the\n"
    "             definition, in the order of the schema\n"
    "context      as for allowed()\n\n"
    "One that can not be answered has .error, and is not allowed; the others are answered. Raises and blocks as\n"
    "check_bulk(), and raises NotFound for an unknown definition when permissions is None. Any thread.";

static bool add_answer(module_state *state, PyObject *self, const licet_found_permission *permission, PyObject *answers)
{
    PyObject *result = result_view_to_py(state, self, &permission->result);
    PyObject *name   = result == NULL ? NULL : str_to_py(permission->permission);
    bool      done   = name != NULL && PyDict_SetItem(answers, name, result) == 0;

    Py_XDECREF(name);
    Py_XDECREF(result);
    return done;
}

/* Takes the stream. */
static PyObject *answers_by_name(module_state *state, PyObject *self, licet_stream *stream)
{
    PyObject              *answers    = PyDict_New();
    licet_found_permission permission = LICET_FOUND_PERMISSION_INIT;
    licet_error           *error      = NULL;
    licet_status           status     = LICET_OK;
    bool                   found      = true;

    while (answers != NULL && found) {
        status = licet_stream_next_permission(stream, &permission, &found, &error);
        if (status != LICET_OK || (found && !add_answer(state, self, &permission, answers)))
            Py_CLEAR(answers);
    }
    licet_stream_release(stream);
    return status == LICET_OK ? answers : raise_error(state, status, error);
}

static PyObject *permissions_request(PyObject *self, module_state *state, licet_permissions_request *request)
{
    licet_engine *engine = engine_handle(self);
    licet_stream *stream = NULL;
    licet_error  *error  = NULL;
    licet_status  status;

    if (request->permission_count >= BULK_UNLOCK_COUNT) {
        Py_BEGIN_ALLOW_THREADS
        status = licet_permissions(engine, request, &stream, &error);
        Py_END_ALLOW_THREADS
    } else {
        ASK(request->consistency, status, error, licet_permissions(engine, request, &stream, &error));
    }
    return status == LICET_OK ? answers_by_name(state, self, stream) : raise_error(state, status, error);
}

PyObject *engine_permissions(PyObject *self, PyTypeObject *cls, PyObject *const *args, Py_ssize_t nargs,
                             PyObject *kwnames)
{
    static const signature sig = {
        "permissions", 2, 3, { "resource", "subject", "permissions", "context", "consistency", "may_block" }
    };
    module_state             *state   = state_of(cls);
    licet_permissions_request request = LICET_PERMISSIONS_REQUEST_INIT;
    context_text              text;
    licet_str                *names   = NULL;
    PyObject                 *kept    = NULL;
    PyObject                 *arg[6]  = { NULL };
    PyObject                 *answers = NULL;
    bool                      chosen;

    if (!unpack(&sig, args, nargs, kwnames, arg) || !str_from_py(state, arg[0], "resource", &request.resource) ||
        !str_from_py(state, arg[1], "subject", &request.subject) ||
        !consistency_from_py(state, arg[4], arg[5], &request.consistency))
        return NULL;
    context_text_init(&text);
    chosen = arg[2] != NULL && arg[2] != Py_None;
    if ((!chosen || strs_from_py(state, arg[2], "permissions", &names, &request.permission_count, &kept)) &&
        context_from_py(state, arg[3], &text, &request.context)) {
        request.permissions = names; /* not NULL when chosen, also where none is: then none is asked */
        answers             = permissions_request(self, state, &request);
    }
    context_text_clear(&text);
    PyMem_Free(names);
    Py_XDECREF(kept);
    return answers;
}

/* Engine.import_relationships() and export_relationships(): many relationships into one transaction, or into one for
 * each batch, or all of a filter.
 *
 * An import takes its relationships from an iterable, batch by batch, and tells a callback how many it has. Both are code
 * of somebody else's, which may take its time, use the engine, or raise: nothing of the core is held while it runs. */
#include "transfer.h"

#include "convert.h"
#include "engine.h"
#include "error.h"
#include "stream.h"
#include "waiting.h"

#define BATCH_MAX 1000000
#define BATCH_DEFAULT 1000
#define PIECE_DEFAULT 10000

typedef struct importer {
    module_state       *state;
    licet_import       *import;
    PyObject           *iterator;
    PyObject           *progress; /* borrowed; NULL: nobody wants to know */
    PyObject           *kept;     /* a list of what the views of this batch point into */
    licet_relationship *batch;
    size_t              capacity; /* of the batch */
    size_t              count;    /* in the batch */
    licet_str           name;     /* given: each batch is committed */
    uint64_t            total;    /* handed to the core, or if there is a name, committed */
    bool                done;     /* the iterable has ended */
} importer;

static void importer_clear(importer *i)
{
    licet_import_release(i->import);
    PyMem_Free(i->batch);
    Py_XDECREF(i->iterator);
    Py_XDECREF(i->kept);
}

static licet_status importer_begin(licet_engine *engine, importer *i, licet_error **error)
{
    if (i->name.data != NULL)
        return licet_import_resume(engine, i->name, &i->import, &i->total, error);
    return licet_import_begin(engine, &i->import, error);
}

static bool importer_init(PyObject *self, importer *i, PyObject *iterable)
{
    licet_error *error = NULL;
    licet_status status;

    if (PyUnicode_Check(iterable)) {
        PyErr_SetString(PyExc_TypeError, "relationships must be an iterable of them, not a str");
        return false;
    }
    i->iterator = PyObject_GetIter(iterable);
    i->kept     = i->iterator == NULL ? NULL : PyList_New(0);
    if (i->kept == NULL)
        return false;
    i->batch = PyMem_Calloc(i->capacity, sizeof *i->batch);
    if (i->batch == NULL) {
        PyErr_NoMemory();
        return false;
    }
    CALL_UNLOCKED_IF(engine_is_on_database(self), status = importer_begin(engine_handle(self), i, &error));
    if (status != LICET_OK)
        raise_error(i->state, status, error);
    return status == LICET_OK;
}

/* Fills the batch, as far as the iterable goes. */
static bool importer_collect(importer *i)
{
    i->count = 0;
    if (PyList_SetSlice(i->kept, 0, PyList_GET_SIZE(i->kept), NULL) < 0)
        return false;
    while (i->count < i->capacity) {
        PyObject *item = PyIter_Next(i->iterator);
        bool      usable;

        if (item == NULL) {
            i->done = true;
            return PyErr_Occurred() == NULL;
        }
        usable = PyList_Append(i->kept, item) == 0 && relationship_from_py(i->state, item, &i->batch[i->count]);
        Py_DECREF(item);
        if (!usable)
            return false;
        i->count++;
    }
    return true;
}

static bool importer_add(importer *i)
{
    licet_error *error = NULL;
    licet_status status;

    Py_BEGIN_ALLOW_THREADS
    status = licet_import_add(i->import, i->batch, i->count, &error);
    Py_END_ALLOW_THREADS
    if (i->name.data == NULL)
        i->total += i->count;
    if (status != LICET_OK)
        raise_error(i->state, status, error);
    return status == LICET_OK;
}

/* Commits the batch. *is_news: then more is committed than before. */
static bool importer_save(importer *i, bool *is_news)
{
    const uint64_t before = i->total;
    licet_error   *error  = NULL;
    uint64_t       count  = 0;
    licet_status   status;

    Py_BEGIN_ALLOW_THREADS
    status = licet_import_save(i->import, &count, NULL, &error);
    Py_END_ALLOW_THREADS
    if (status != LICET_OK)
        raise_error(i->state, status, error);
    else
        i->total = count;
    *is_news = i->total > before;
    return status == LICET_OK;
}

static bool importer_tell(const importer *i)
{
    PyObject *answer;

    if (i->progress == NULL)
        return true;
    answer = PyObject_CallFunction(i->progress, "K", (unsigned long long)i->total);
    Py_XDECREF(answer);
    return answer != NULL;
}

static PyObject *importer_commit(importer *i)
{
    licet_token  token = { { 0 } };
    licet_error *error = NULL;
    uint64_t     count = 0;
    licet_status status;
    PyObject    *values[2];

    Py_BEGIN_ALLOW_THREADS
    status = licet_import_commit(i->import, &count, &token, &error);
    Py_END_ALLOW_THREADS
    if (status != LICET_OK)
        return raise_error(i->state, status, error);
    values[0] = PyLong_FromUnsignedLongLong(count);
    values[1] = token_to_py(&token);
    return record_of(i->state, RECORD_imported, values, 2);
}

static bool importer_put(importer *i)
{
    bool is_news = true;

    if (!importer_add(i) || (i->name.data != NULL && !importer_save(i, &is_news)))
        return false;
    return !is_news || importer_tell(i);
}

static PyObject *importer_run(importer *i)
{
    if (i->total > 0 && !importer_tell(i))
        return NULL;
    while (!i->done) {
        if (!importer_collect(i) || (i->count > 0 && !importer_put(i)))
            return NULL;
    }
    return importer_commit(i);
}

const char engine_import_relationships_doc[] =
    "import_relationships($self, /, relationships, *, progress=None, batch_size=None, resume=None)\n--\n\n"
    "Creates any number of relationships in one transaction: all of them or none. Returns an Imported.\n\n"
    "relationships  an iterable of Relationship or their notation; it may be a generator\n"
    "progress       is called after each batch with the number of relationships taken so far\n"
    "batch_size     relationships to a batch: 1 to 1,000,000; 1,000 by default, with resume 10,000\n"
    "resume         a name for the import: each batch is a transaction of its own, and the next call with this name\n"
    "               goes on after the last one that was committed\n\n"
    "None of them may exist. Nothing is visible before the end, and nothing is kept when the iterable or progress\n"
    "raises. With resume that is so of the batch; progress is told what is committed. Who resumes gives the same\n"
    "relationships from the first on, which are compared: others are refused (PreconditionFailed, reason\n"
    "IMPORT_DIFFERS), and so is the slower of two imports of one name at once (IMPORT_MOVED).\n\n"
    "Raises AlreadyExists, InvalidArgument, NotFound, PreconditionFailed (also: the schema was replaced\n"
    "meanwhile), LimitExceeded, OutOfMemory, Closed, TypeError, and whatever they raise; with a database\n"
    "Unavailable, DeadlineExceeded.\n"
    "Blocks while another write is in progress, without the interpreter's lock. Any thread.";

PyObject *engine_import_relationships(PyObject *self, PyTypeObject *cls, PyObject *const *args, Py_ssize_t nargs,
                                      PyObject *kwnames)
{
    static const signature sig = {
        "import_relationships", 1, 1, { "relationships", "progress", "batch_size", "resume" }
    };
    importer  i        = { .state = state_of(cls) };
    PyObject *arg[4]   = { NULL };
    PyObject *imported = NULL;
    uint64_t  capacity;

    if (!unpack(&sig, args, nargs, kwnames, arg) || !optional_str_from_py(i.state, arg[3], "resume", &i.name))
        return NULL;
    capacity = i.name.data != NULL ? PIECE_DEFAULT : BATCH_DEFAULT;
    if (!positive_from_py(i.state, arg[2], "batch_size", LICET_KIND_VALUE, BATCH_MAX, &capacity))
        return NULL;
    if (arg[1] != NULL && arg[1] != Py_None) {
        if (!PyCallable_Check(arg[1]))
            return PyErr_Format(PyExc_TypeError, "progress must be callable, not %.100s", Py_TYPE(arg[1])->tp_name);
        i.progress = arg[1];
    }
    i.capacity = (size_t)capacity;
    if (importer_init(self, &i, arg[0]))
        imported = importer_run(&i);
    importer_clear(&i);
    return imported;
}

const char engine_import_status_doc[] =
    "import_status($self, /, name)\n--\n\n"
    "How far the import of that name (import_relationships(resume=name)) has come: an ImportStatus.\n\n"
    "Raises InvalidArgument, OutOfMemory, Closed, TypeError; with a database Unavailable, DeadlineExceeded, and it\n"
    "blocks, without the interpreter's lock. Any thread.";

PyObject *engine_import_status(PyObject *self, PyTypeObject *cls, PyObject *const *args, Py_ssize_t nargs,
                               PyObject *kwnames)
{
    static const signature sig    = { "import_status", 1, 1, { "name" } };
    module_state          *state  = state_of(cls);
    licet_import_record    record = LICET_IMPORT_RECORD_INIT;
    licet_error           *error  = NULL;
    PyObject              *arg[1] = { NULL };
    licet_str              name;
    licet_status           status;
    PyObject              *values[3];

    if (!unpack(&sig, args, nargs, kwnames, arg) || !str_from_py(state, arg[0], "name", &name))
        return NULL;
    CALL_UNLOCKED_IF(engine_is_on_database(self),
                     status = licet_import_find(engine_handle(self), name, &record, &error));
    if (status != LICET_OK)
        return raise_error(state, status, error);
    values[0] = PyLong_FromUnsignedLongLong(record.count);
    values[1] = PyBool_FromLong(record.is_known);
    values[2] = PyBool_FromLong(record.is_finished);
    return record_of(state, RECORD_import_status, values, 3);
}

const char engine_forget_import_doc[] =
    "forget_import($self, /, name)\n--\n\n"
    "Forgets how far the import of that name has come, so that the name can be given to another. What it committed\n"
    "stays. Returns whether there was one.\n\n"
    "Raises and blocks as import_status(). Any thread.";

PyObject *engine_forget_import(PyObject *self, PyTypeObject *cls, PyObject *const *args, Py_ssize_t nargs,
                               PyObject *kwnames)
{
    static const signature sig       = { "forget_import", 1, 1, { "name" } };
    module_state          *state     = state_of(cls);
    licet_error           *error     = NULL;
    bool                   was_known = false;
    PyObject              *arg[1]    = { NULL };
    licet_str              name;
    licet_status           status;

    if (!unpack(&sig, args, nargs, kwnames, arg) || !str_from_py(state, arg[0], "name", &name))
        return NULL;
    CALL_UNLOCKED_IF(engine_is_on_database(self),
                     status = licet_import_forget(engine_handle(self), name, &was_known, &error));
    return status == LICET_OK ? PyBool_FromLong(was_known) : raise_error(state, status, error);
}

const char engine_export_relationships_doc[] =
    "export_relationships($self, /, *, resource_type=None, resource_id=None, resource_id_prefix=None, relation=None, "
    "subject_type=None, subject_id=None, subject_relation=None, cursor=None, consistency=None, may_block=True)\n--\n\n"
    "An iterator over all relationships, or those of a filter, at one revision: a RelationshipStream.\n\n"
    "The filter is that of read_relationships(), but it may be empty, and unknown names select nothing.\n"
    "cursor  the .cursor of an earlier iterator over the same filter: goes on after it, at its revision\n\n"
    "Raises InvalidArgument, InvalidToken, RevisionExpired, OutOfMemory, Closed, TypeError. Does not block. Any\n"
    "thread; one iterator belongs to one thread at a time.";

PyObject *engine_export_relationships(PyObject *self, PyTypeObject *cls, PyObject *const *args, Py_ssize_t nargs,
                                      PyObject *kwnames)
{
    static const signature sig = {
        "export_relationships", 0, 0, { FILTER_PARAMETERS, "cursor", "consistency", "may_block" }
    };
    module_state        *state   = state_of(cls);
    licet_export_request request = LICET_EXPORT_REQUEST_INIT;
    licet_stream        *stream  = NULL;
    licet_error         *error   = NULL;
    licet_status         status;
    PyObject            *arg[FILTER_PARAMETER_COUNT + 3] = { NULL };

    if (!unpack(&sig, args, nargs, kwnames, arg) || !filter_from_arguments(state, arg, &request.filter) ||
        !optional_str_from_py(state, arg[7], "cursor", &request.cursor) ||
        !consistency_from_py(state, arg[8], arg[9], &request.consistency))
        return NULL;
    ASK(request.consistency, status, error, licet_export_relationships(engine_handle(self), &request, &stream, &error));
    return status == LICET_OK ? stream_to_py(state, STREAM_RELATIONSHIPS, self, stream)
                              : raise_error(state, status, error);
}

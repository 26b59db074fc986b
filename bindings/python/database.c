/* licet.migrate() and licet.doctor(). Both connect, and wait without the interpreter's lock. */
#include "database.h"

#include "convert.h"
#include "error.h"
#include "options.h"

const char database_migrate_doc[] =
    "migrate($module, /, uri, *, dry_run=False, postgres_schema='licet', require_tls=False, "
    "wait_timeout_ms=None)\n--\n\n"
    "Creates licet's tables, indexes and functions in a Postgres database, or brings those of an older licet up to\n"
    "date. Returns the SQL that was run: the empty str where there was nothing to do. Several may run at once.\n\n"
    "uri              \"postgresql://...\" or a connection string\n"
    "dry_run          only return the SQL, for people who run migrations themselves\n"
    "postgres_schema  where the tables are\n"
    "require_tls      refuse a link that is not encrypted to a server that was verified\n"
    "wait_timeout_ms  10 to 600,000, 2,000 by default\n\n"
    "Raises InvalidArgument (kind \"config\"), Unavailable, DeadlineExceeded, Unsupported, OutOfMemory, TypeError.\n"
    "Blocks, without the interpreter's lock. Any thread.";

PyObject *database_migrate(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const signature sig     = { "migrate", 1, 1, { "uri", "dry_run", DATABASE_PARAMETERS } };
    module_state          *state   = PyModule_GetState(module);
    licet_options          options = LICET_OPTIONS_INIT;
    licet_buffer           sql     = LICET_BUFFER_INIT;
    licet_error           *error   = NULL;
    PyObject              *arg[2 + DATABASE_PARAMETER_COUNT] = { NULL };
    bool                   dry_run                           = false;
    PyObject              *kept                              = NULL;
    licet_status           status;
    licet_str              uri;

    if (!unpack(&sig, args, nargs, kwnames, arg) || !bool_from_py(arg[1], "dry_run", &dry_run) ||
        !database_options_from_py(state, arg + 2, &options) || !text_from_py(state, arg[0], "uri", &uri, &kept))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = licet_migrate(uri, &options, dry_run, &sql, &error);
    Py_END_ALLOW_THREADS
    Py_XDECREF(kept);
    return status == LICET_OK ? buffer_to_py(&sql) : raise_error(state, status, error);
}

const char database_doctor_doc[] =
    "doctor($module, /, uri, *, postgres_schema='licet', require_tls=False, wait_timeout_ms=None)\n--\n\n"
    "What licet_doctor() finds, as values of JSON. Use licet.doctor().";

PyObject *database_doctor(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const signature sig                               = { "doctor", 1, 1, { "uri", DATABASE_PARAMETERS } };
    module_state          *state                             = PyModule_GetState(module);
    licet_options          options                           = LICET_OPTIONS_INIT;
    licet_buffer           json                              = LICET_BUFFER_INIT;
    licet_error           *error                             = NULL;
    PyObject              *arg[1 + DATABASE_PARAMETER_COUNT] = { NULL };
    PyObject              *kept                              = NULL;
    licet_status           status;
    licet_str              uri;

    if (!unpack(&sig, args, nargs, kwnames, arg) || !database_options_from_py(state, arg + 1, &options) ||
        !text_from_py(state, arg[0], "uri", &uri, &kept))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = licet_doctor(uri, &options, &json, &error);
    Py_END_ALLOW_THREADS
    Py_XDECREF(kept);
    return status == LICET_OK ? json_to_py(state, buffer_to_py(&json)) : raise_error(state, status, error);
}

/* Validation files: runs one on an engine and gives the whole report back as plain values, which
 * python/licet/validation.py makes records of. The text comes as bytes, because it comes from a file: whether it is
 * UTF-8 is the core's to judge, with a line and a column. */
#include "report.h"

#include "convert.h"
#include "engine.h"
#include "error.h"

static PyObject *finding_to_py(const licet_finding *finding)
{
    PyObject *source  = str_to_py(finding->source);
    PyObject *kind    = str_to_py(finding->kind);
    PyObject *message = str_to_py(finding->message);

    if (source != NULL && kind != NULL && message != NULL)
        return Py_BuildValue("(ONNNII)", finding->is_warning ? Py_True : Py_False, source, kind, message,
                             (unsigned)finding->line, (unsigned)finding->column);
    Py_XDECREF(source);
    Py_XDECREF(kind);
    Py_XDECREF(message);
    return NULL;
}

static PyObject *findings_to_py(const licet_report *report)
{
    PyObject     *findings = PyList_New(0);
    licet_finding finding  = LICET_FINDING_INIT;
    PyObject     *item;

    for (size_t i = 0; findings != NULL && licet_report_finding(report, i, &finding); i++) {
        item = finding_to_py(&finding);
        if (item == NULL || PyList_Append(findings, item) < 0)
            Py_CLEAR(findings);
        Py_XDECREF(item);
    }
    return findings;
}

static PyObject *report_to_py(const licet_report *report)
{
    licet_report_counts counts   = LICET_REPORT_COUNTS_INIT;
    PyObject           *findings = findings_to_py(report);

    if (findings == NULL)
        return NULL;
    licet_report_count(report, &counts);
    return Py_BuildValue("(KKKN)", (unsigned long long)counts.relationships, (unsigned long long)counts.assertions,
                         (unsigned long long)counts.expected_relations, findings);
}

static bool bytes_from_py(PyObject *value, licet_str *view)
{
    if (!PyBytes_Check(value)) {
        PyErr_Format(PyExc_TypeError, "text must be bytes, not %.100s", Py_TYPE(value)->tp_name);
        return false;
    }
    *view = (licet_str){ PyBytes_AS_STRING(value), (size_t)PyBytes_GET_SIZE(value) };
    return true;
}

static bool engine_from_py(module_state *state, PyObject *value, licet_engine **engine)
{
    if (!PyObject_TypeCheck(value, state->engine_type)) {
        PyErr_Format(PyExc_TypeError, "engine must be a licet.Engine, not %.100s", Py_TYPE(value)->tp_name);
        return false;
    }
    *engine = engine_handle(value);
    return true;
}

const char report_validate_doc[] =
    "validate($module, /, engine, text, folder=None, load_only=False)\n--\n\n"
    "Loads the validation file `text` (bytes) into an empty engine and runs it: a tuple of the numbers of\n"
    "relationships, assertions and expected relations, and a list of findings. See licet.validation.";

PyObject *report_validate(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const signature sig     = { "validate", 2, 4, { "engine", "text", "folder", "load_only" } };
    module_state          *state   = PyModule_GetState(module);
    licet_validate_request request = LICET_VALIDATE_REQUEST_INIT;
    licet_engine          *engine  = NULL;
    licet_report          *report  = NULL;
    licet_error           *error   = NULL;
    licet_status           status;
    PyObject              *arg[4] = { NULL };
    PyObject              *folder = NULL;
    PyObject              *answer;
    int                    load_only = 0;

    if (!unpack(&sig, args, nargs, kwnames, arg) || !engine_from_py(state, arg[0], &engine) ||
        !bytes_from_py(arg[1], &request.text))
        return NULL;
    if (arg[3] != NULL && (load_only = PyObject_IsTrue(arg[3])) < 0)
        return NULL;
    if (!path_from_py(arg[2], &folder, &request.folder))
        return NULL;
    request.load_only = load_only == 1;
    Py_BEGIN_ALLOW_THREADS
    status = licet_validate(engine, &request, &report, &error);
    Py_END_ALLOW_THREADS
    Py_XDECREF(folder);
    if (status != LICET_OK)
        return raise_error(state, status, error);
    answer = report_to_py(report);
    licet_report_release(report);
    return answer;
}

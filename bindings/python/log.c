/* Log lines to Python. Called only where an interpreter is: at the end of an engine's methods, when lines wait. */
#include "log.h"

/* The levels of Python's logging. */
static int level_to_py(licet_log_level level)
{
    switch (level) {
    case LICET_LOG_ERROR:
        return 40;
    case LICET_LOG_WARNING:
        return 30;
    default:
        return 20;
    }
}

/* The method log() of the logger "licet". Imported only now: most engines never have anything to say. */
static PyObject *log_of_logger(void)
{
    PyObject *logging = PyImport_ImportModule("logging");
    PyObject *logger  = logging == NULL ? NULL : PyObject_CallMethod(logging, "getLogger", "s", "licet");
    PyObject *log     = logger == NULL ? NULL : PyObject_GetAttrString(logger, "log");

    Py_XDECREF(logging);
    Py_XDECREF(logger);
    return log;
}

/* Takes text; NULL is a failure that was set. */
static void tell(PyObject *log, licet_log_level level, PyObject *text)
{
    PyObject *answer = text == NULL ? NULL : PyObject_CallFunction(log, "iO", level_to_py(level), text);

    if (answer == NULL)
        PyErr_WriteUnraisable(log);
    Py_XDECREF(answer);
    Py_XDECREF(text);
}

static void tell_all(log_queue *queue, PyObject *log)
{
    uint64_t  dropped;
    log_line *line = log_queue_take(queue, &dropped);

    for (; line != NULL; line = log_line_next(line))
        tell(log, line->level, PyUnicode_DecodeUTF8(line->text, (Py_ssize_t)line->size, "replace"));
    if (dropped > 0)
        tell(log, LICET_LOG_WARNING,
             PyUnicode_FromFormat("%llu lines of this log were dropped", (unsigned long long)dropped));
}

void log_tell(log_queue *queue, PyObject *log)
{
    PyObject *type;
    PyObject *value;
    PyObject *traceback;

    PyErr_Fetch(&type, &value, &traceback);
    log = log == NULL ? log_of_logger() : Py_NewRef(log);
    if (log == NULL)
        PyErr_WriteUnraisable(NULL);
    else
        tell_all(queue, log);
    Py_XDECREF(log);
    PyErr_Restore(type, value, traceback);
}

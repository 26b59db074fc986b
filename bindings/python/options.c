/* The options of an engine. Only types are judged here: what a value may be is the core's to say. */
#include "options.h"

#include "clock.h"
#include "convert.h"
#include "error.h"

static const char *const mode_names[] = { "auto", "follow", "prefetch" };

static bool mode_from_py(module_state *state, PyObject *value, licet_mode *mode)
{
    if (value == NULL)
        return true;
    if (!PyUnicode_Check(value)) {
        PyErr_Format(PyExc_TypeError, "mode must be a str, not %.100s", Py_TYPE(value)->tp_name);
        return false;
    }
    for (int i = LICET_MODE_AUTO; i <= LICET_MODE_PREFETCH; i++) {
        if (PyUnicode_CompareWithASCIIString(value, mode_names[i]) == 0) {
            *mode = (licet_mode)i;
            return true;
        }
    }
    return refuse(state, LICET_KIND_CONFIG, "mode must be \"auto\", \"follow\" or \"prefetch\"");
}

PyObject *mode_to_py(licet_mode mode)
{
    if (mode != LICET_MODE_FOLLOW && mode != LICET_MODE_PREFETCH)
        return Py_NewRef(Py_None);
    return PyUnicode_FromString(mode_names[mode]);
}

static bool count64_from_py(module_state *state, PyObject *value, const char *what, uint64_t *number)
{
    return positive_from_py(state, value, what, LICET_KIND_CONFIG, UINT64_MAX, number);
}

static bool count32_from_py(module_state *state, PyObject *value, const char *what, uint32_t *number)
{
    uint64_t given = *number;

    if (!positive_from_py(state, value, what, LICET_KIND_CONFIG, UINT32_MAX, &given))
        return false;
    *number = (uint32_t)given;
    return true;
}

static bool graph_options(module_state *state, PyObject *const *values, licet_options *options)
{
    return count64_from_py(state, values[0], "memory_limit_bytes", &options->memory_limit_bytes) &&
           count32_from_py(state, values[1], "max_depth", &options->max_depth) &&
           count64_from_py(state, values[2], "max_steps", &options->max_steps) &&
           count32_from_py(state, values[3], "check_timeout_ms", &options->check_timeout_ms) &&
           count64_from_py(state, values[4], "history_window_ms", &options->history_window_ms) &&
           bool_from_py(values[5], "strict", &options->strict) && clock_from_py(state, values[6], &options->clock);
}

static bool postgres_options(module_state *state, PyObject *const *values, licet_options *options)
{
    return mode_from_py(state, values[0], &options->mode) &&
           optional_str_from_py(state, values[1], "postgres_schema", &options->postgres_schema) &&
           optional_str_from_py(state, values[2], "replica_uri", &options->replica_uri) &&
           bool_from_py(values[3], "require_tls", &options->require_tls) &&
           count32_from_py(state, values[4], "poll_interval_ms", &options->poll_interval_ms) &&
           count32_from_py(state, values[5], "max_staleness_ms", &options->max_staleness_ms) &&
           count32_from_py(state, values[6], "wait_timeout_ms", &options->wait_timeout_ms) &&
           count32_from_py(state, values[7], "write_timeout_ms", &options->write_timeout_ms) &&
           count32_from_py(state, values[8], "max_connections", &options->max_connections) &&
           count64_from_py(state, values[9], "gc_window_ms", &options->gc_window_ms);
}

bool options_from_py(module_state *state, PyObject *const *values, licet_options *options)
{
    return graph_options(state, values, options) && postgres_options(state, values + 7, options);
}

bool database_options_from_py(module_state *state, PyObject *const *values, licet_options *options)
{
    return optional_str_from_py(state, values[0], "postgres_schema", &options->postgres_schema) &&
           bool_from_py(values[1], "require_tls", &options->require_tls) &&
           count32_from_py(state, values[2], "wait_timeout_ms", &options->wait_timeout_ms);
}

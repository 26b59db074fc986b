/* The options of an engine, and of what tends a database: keywords to a licet_options. */
#ifndef LICET_PYTHON_OPTIONS_H
#define LICET_PYTHON_OPTIONS_H

#include "module.h"

/* The parameters of licet.open() after the URI but the last, log, in the order in which options_from_py() reads them. */
#define OPEN_PARAMETERS                                                                                         \
    "memory_limit_bytes", "max_depth", "max_steps", "check_timeout_ms", "history_window_ms", "strict", "clock", \
        "mode", "postgres_schema", "replica_uri", "require_tls", "poll_interval_ms", "max_staleness_ms",        \
        "wait_timeout_ms", "write_timeout_ms", "max_connections", "gc_window_ms"
#define OPEN_PARAMETER_COUNT 17
#define OPEN_PARAMETER_CLOCK 6

/* NULL and None leave an option at its default. The views are of the values. */
bool options_from_py(module_state *state, PyObject *const *values, licet_options *options);

/* The parameters of licet.migrate() and licet.doctor() after their own. */
#define DATABASE_PARAMETERS "postgres_schema", "require_tls", "wait_timeout_ms"
#define DATABASE_PARAMETER_COUNT 3
bool database_options_from_py(module_state *state, PyObject *const *values, licet_options *options);

/* The name of a mode as options take it; None for LICET_MODE_AUTO, which nothing is ever in. */
PyObject *mode_to_py(licet_mode mode);

#endif

/* What the core has to say to whoever runs the application, handed to Python from its own threads. */
#ifndef LICET_PYTHON_LOG_H
#define LICET_PYTHON_LOG_H

#include "module.h"

#include "../log_queue.h"

/* Hands the lines that wait to `log`, a callable, or to the logger "licet" where it is NULL. What is raised there is
 * reported as unraisable; an exception that is set stays set. */
void log_tell(log_queue *queue, PyObject *log);

#endif

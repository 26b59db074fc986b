/* Calls of the core that may have to wait for a database, and the interpreter's lock.
 *
 * Letting go of the lock costs more than most answers. So a question is asked with the lock first, and without any wait;
 * only when the core says that it would have to wait, it is asked again without the lock. A memory store never says so. */
#ifndef LICET_PYTHON_WAITING_H
#define LICET_PYTHON_WAITING_H

#include "module.h"

/* Whether the core could not answer because it was not allowed to wait. Then the error is ended, and NULL. */
bool would_block(licet_status status, licet_error **error);

/* `call`, an expression, gives a status; it reads `consistency`, whose no_wait says whether the caller forbids waiting. */
#define ASK(consistency, status, error, call)              \
    do {                                                   \
        const bool may_block_ = !(consistency).no_wait;    \
                                                           \
        (consistency).no_wait = true;                      \
        (status)              = (call);                    \
        if (may_block_ && would_block(status, &(error))) { \
            (consistency).no_wait = false;                 \
            Py_BEGIN_ALLOW_THREADS(status)                 \
            = (call);                                      \
            Py_END_ALLOW_THREADS                           \
        }                                                  \
    } while (0)

/* The same for what has no consistency: without the lock where the engine is on a database. */
#define CALL_UNLOCKED_IF(condition, statement) \
    do {                                       \
        if (condition) {                       \
            Py_BEGIN_ALLOW_THREADS             \
            statement;                         \
            Py_END_ALLOW_THREADS               \
        } else {                               \
            statement;                         \
        }                                      \
    } while (0)

#endif

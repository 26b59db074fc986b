/* Calls of the core that may have to wait for a database, and the interpreter's lock.
 *
 * Letting go of the lock costs more than most answers. So a question is asked with the lock first, and without any wait;
 * only when the core says that it would have to wait, it is asked again without the lock. A memory store never says so. */
#ifndef LICET_PYTHON_WAITING_H
#define LICET_PYTHON_WAITING_H

#include <math.h>
#include <time.h>

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

/* ---------------------------------------------------------------------- long waits */

/* Waits are cut into slices, between which signals are looked after. */
#define WAIT_SLICE_MS 50

static inline double seconds_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Until `deadline`, of seconds_now(), or a slice. 0 when there is no time left. */
static inline uint32_t wait_slice_ms(double deadline)
{
    const double left_ms = ceil((deadline - seconds_now()) * 1000);

    return left_ms <= 0 ? 0 : left_ms < WAIT_SLICE_MS ? (uint32_t)left_ms : WAIT_SLICE_MS;
}

#endif

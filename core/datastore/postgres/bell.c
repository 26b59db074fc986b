/* poll(2) with the time that is left, started anew after signals. The bell is a pipe that once rung stays readable, so
 * that it ends every wait, also those that begin later. */
#include "datastore/postgres/bell.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include "base/clock.h"

static bool make_pipe(lic_pg_bell *bell)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return false;
    bell->read_end  = ends[0];
    bell->write_end = ends[1];
    return true;
}

bool lic_pg_bell_init(lic_pg_bell *bell)
{
    *bell = (lic_pg_bell){ .read_end = -1, .write_end = -1 };
    return make_pipe(bell);
}

static void close_end(int *end)
{
    if (*end >= 0)
        close(*end);
    *end = -1;
}

void lic_pg_bell_free(lic_pg_bell *bell)
{
    close_end(&bell->write_end);
    close_end(&bell->read_end);
}

void lic_pg_bell_ring(lic_pg_bell *bell)
{
    if (atomic_exchange(&bell->is_rung, true) || bell->write_end < 0)
        return;
    while (write(bell->write_end, "", 1) < 0 && errno == EINTR)
        continue;
}

/* A pipe that both had would stay readable for the one that goes on when the other has closed, and its waits would only
 * turn round. */
void lic_pg_bell_after_fork_child(lic_pg_bell *bell)
{
    lic_pg_bell_free(bell);
    if (!make_pipe(bell))
        atomic_store(&bell->is_rung, true);
}

static bool is_rung(const lic_pg_bell *bell)
{
    return bell != NULL && atomic_load_explicit(&bell->is_rung, memory_order_acquire);
}

/* For poll(2); 0 once, when the time is over. */
static int milliseconds_left(lic_pg_waiting *waiting)
{
    uint64_t now = lic_monotonic_ms();

    if (now < waiting->wait.until_ms) {
        uint64_t left = waiting->wait.until_ms - now;

        return left > INT_MAX ? INT_MAX : (int)left;
    }
    waiting->is_over = true;
    return 0;
}

lic_pg_waited lic_pg_wait_for(lic_pg_waiting *waiting, int descriptor, bool or_writable)
{
    const lic_pg_bell *bell       = waiting->wait.bell;
    struct pollfd      watched[2] = { { .fd = descriptor, .events = (short)(or_writable ? POLLIN | POLLOUT : POLLIN) },
                                      { .fd = bell == NULL ? -1 : bell->read_end, .events = POLLIN } };
    const nfds_t       count      = bell == NULL ? 1 : 2;

    while (!waiting->is_over) {
        int ready;

        if (is_rung(bell))
            return LIC_PG_RUNG;
        ready = poll(watched, count, milliseconds_left(waiting));
        if (ready < 0 && errno != EINTR)
            return LIC_PG_NO_WAIT;
        if (ready > 0 && watched[0].revents != 0)
            return is_rung(bell) ? LIC_PG_RUNG : LIC_PG_READY;
    }
    return is_rung(bell) ? LIC_PG_RUNG : LIC_PG_TOO_LATE;
}

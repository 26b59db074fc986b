/* Waiting for a socket: with a deadline, and a bell that ends the waits of other threads. */
#ifndef LIC_DATASTORE_POSTGRES_BELL_H
#define LIC_DATASTORE_POSTGRES_BELL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Ends waits of other threads. One for each store; rung when it closes. */
typedef struct lic_pg_bell {
    int          read_end; /* both non-blocking, close-on-exec; -1: none */
    int          write_end;
    _Atomic bool is_rung;
} lic_pg_bell;

bool lic_pg_bell_init(lic_pg_bell *bell); /* false: no descriptors left */
void lic_pg_bell_free(lic_pg_bell *bell); /* nobody waits. May run twice; in the child of a fork too */
void lic_pg_bell_ring(lic_pg_bell *bell); /* for good. Any thread */
/* In the child of a fork: its bell is another one than the parent's. Rung, if no descriptors are left. */
void lic_pg_bell_after_fork_child(lic_pg_bell *bell);

/* How long a call may wait. Also of time that is over one look is taken: {0, NULL} asks without waiting. */
typedef struct lic_pg_wait {
    uint64_t           until_ms; /* lic_monotonic_ms() */
    const lic_pg_bell *bell;     /* NULL: none */
} lic_pg_wait;

typedef enum lic_pg_waited {
    LIC_PG_READY, /* or the peer is gone: whoever reads will see */
    LIC_PG_TOO_LATE,
    LIC_PG_RUNG,
    LIC_PG_NO_WAIT /* the system can not wait for this */
} lic_pg_waited;

/* A wait in several steps. */
typedef struct lic_pg_waiting {
    lic_pg_wait wait;
    bool is_over; /* the look after the deadline has been taken: a peer that sends bytes one by one gets no more */
} lic_pg_waiting;

/* Until the descriptor can be read, or also written to. */
lic_pg_waited lic_pg_wait_for(lic_pg_waiting *waiting, int descriptor, bool or_writable);

#endif

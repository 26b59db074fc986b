/* The graph follows the database: a thread that connects, loads everything once, and then asks, every poll_interval,
 * what committed that the graph doesn't show. Callers who want more than that ask themselves, over the same connection;
 * who comes while a query is under way waits for the next one, which all who wait share (datastore.md E6).
 *
 * Law: one query at a time. Its number is given before it is sent; who wants everything committed before now waits until
 * a query with a higher number than the last one given has been applied. */
#ifndef LIC_DATASTORE_POSTGRES_FOLLOW_H
#define LIC_DATASTORE_POSTGRES_FOLLOW_H

#include "base/thread.h"
#include "datastore/datastore.h"
#include "datastore/postgres/link.h"
#include "datastore/postgres/token.h"

typedef struct lic_pg_store lic_pg_store;

typedef enum lic_pg_phase {
    LIC_PG_ASLEEP,     /* nothing was asked yet: no thread */
    LIC_PG_CONNECTING, /* also loading: the graph may be too old, or not there */
    LIC_PG_FOLLOWING,
    LIC_PG_BROKEN /* what is wrong will hardly mend itself: it is told at once. The thread goes on trying */
} lic_pg_phase;

/* What is asked in a catch-up: first whether anything has happened, and only if so, what; where something always has, that
 * at once. */
typedef enum lic_pg_asking { LIC_PG_ASKING_PROBE, LIC_PG_ASKING_CHANGES } lic_pg_asking;

/* The database as the graph shows it. Changed by who has the query in flight, or by the thread while connecting. */
typedef struct lic_pg_standing {
    _Atomic bool        is_loaded;     /* others ask it, to say what they wait for */
    bool                is_identified; /* and so are the next two; under the lock */
    lic_pg_identity     identity;
    lic_pg_server       server; /* another one's transactions can't be compared with these */
    lic_arena           arena;  /* of snapshot and wire */
    lic_pg_snapshot     snapshot;
    lic_str             wire;           /* the same as it was sent */
    uint32_t            news;           /* how often in a row there were any, up to where that no longer matters */
    uint64_t            schema_version; /* zed.version in force; 0: none */
    const licet_schema *schema;         /* that is this one. Held; NULL: none was loaded */
} lic_pg_standing;

typedef struct lic_pg_follower {
    bool        made;    /* the lock and those who wait are */
    lic_mutex   lock;    /* of what follows */
    lic_waiters changed; /* callers wait for this */
    lic_waiters work;    /* the thread does */
    uint32_t    waiting; /* callers */
    pthread_t   thread;
    bool        has_thread;
    bool        stopping;

    lic_pg_phase    phase;
    licet_error    *problem; /* why it is not following, or no more. NULL: it is, or has not failed yet */
    lic_pg_link    *link;    /* used by who has set in_flight, or by the thread while connecting */
    bool            in_flight;
    bool            orphaned;     /* who sent the query in flight has gone: the thread takes its answer */
    lic_pg_asking   asking;       /* of who has it in flight */
    uint64_t        begun;        /* number of the last query sent */
    uint64_t        applied;      /* all up to this one have been */
    uint64_t        sent_ms;      /* when the last was sent */
    uint64_t        sent_boot_ms; /* the same by lic_boot_ms() */
    uint64_t        collect_ms;   /* when the thread is to collect garbage next; 0: that is not decided */
    int64_t         asked_ns;     /* when its present half was */
    lic_pg_standing standing;     /* the schema also under the lock */

    uint64_t catch_ups; /* statistics */
    uint64_t shared;
    uint64_t loads;
    uint64_t reconnects;
    uint64_t past_round_trips; /* of links that are gone */
} lic_pg_follower;

bool lic_pg_follower_init(lic_pg_follower *follower);
void lic_pg_follower_free(lic_pg_store *store);

/* Starts the thread if there is none. */
licet_status lic_pg_follow_begin(lic_pg_store *store, licet_error **error);

/* Until the graph shows everything that was committed before the call. UNAVAILABLE with what is wrong,
 * DEADLINE_EXCEEDED, CLOSED. */
licet_status lic_pg_catch_up(lic_pg_store *store, uint64_t until_ms, licet_error **error);
/* The same; while the caller's own query is under way, what the need has for that time is done. Others may be waiting for
 * the answer: it should not take much longer than that takes to come. */
licet_status lic_pg_catch_up_with(lic_pg_store *store, const lic_need *need, uint64_t until_ms, licet_error **error);
/* Until the graph is not older than max_staleness. */
licet_status lic_pg_await_fresh(lic_pg_store *store, uint64_t until_ms, licet_error **error);

/* What a write that was judged by a schema relies on, as parameters of statements: which version of which database that is.
 * There may be another database behind the next connection, which has versions of its own with the same numbers. */
typedef struct lic_pg_basis {
    char            version[24];
    char            timeline[9]; /* as files of the log have it */
    lic_pg_identity identity;
} lic_pg_basis;

/* false: the schema is not the one in force. Any thread. */
bool lic_pg_basis_of(lic_pg_store *store, const licet_schema *schema, lic_pg_basis *basis);
/* The three, for a statement. */
#define LIC_PG_BASIS(basis)                                                                       \
    { .data = (basis)->version },                                                                 \
        { .data = (const char *)(basis)->identity.mark, .size = LIC_PG_MARK_BYTES, .format = 1 }, \
    {                                                                                             \
        .data = (basis)->timeline                                                                 \
    }

/* A copy, any thread; false: it is not known yet. Marks are of the identity that is known before and after they are looked
 * at. */
bool lic_pg_follow_identity(lic_pg_store *store, lic_pg_identity *identity);
/* Is it the server that the graph follows, not started again since? Any thread. */
bool lic_pg_follow_is_server(lic_pg_store *store, const lic_pg_server *server);

void lic_pg_follow_stop(lic_pg_store *store); /* once the bell was rung */
void lic_pg_follow_before_fork(lic_pg_store *store);
void lic_pg_follow_after_fork_parent(lic_pg_store *store);
void lic_pg_follow_after_fork_child(lic_pg_store *store);

#endif

/* The store's own struct, for the files of this folder. */
#ifndef LIC_DATASTORE_POSTGRES_STATE_H
#define LIC_DATASTORE_POSTGRES_STATE_H

#include "datastore/datastore.h"
#include "datastore/postgres/fetch_sql.h"
#include "datastore/postgres/follow.h"
#include "datastore/postgres/marks.h"
#include "datastore/postgres/pool.h"
#include "datastore/postgres/prefetch.h"
#include "datastore/postgres/standby.h"
#include "datastore/postgres/statements.h"
#include "datastore/postgres/token.h"

typedef struct lic_pg_limits {
    uint32_t poll_interval_ms;
    uint32_t max_staleness_ms;
    uint32_t wait_timeout_ms;
    uint32_t write_timeout_ms;
    uint64_t gc_window_ms;
} lic_pg_limits;

typedef struct lic_pg_store {
    lic_store                base;
    lic_store_host           host;
    lic_arena                arena;   /* texts that live as long as the store */
    lic_store               *replica; /* a memory store over the host's graph and schemas */
    lic_pg_conninfo         *conninfo;
    lic_pg_settings          settings;      /* of the link that follows */
    lic_pg_settings          pool_settings; /* of all others */
    lic_pg_limits            limits;
    licet_mode               mode;
    const lic_pg_statements *statements;
    lic_pg_bell              bell;
    lic_pg_marks             marks; /* local revisions and what they are in the database */
    const lic_pg_fetches    *fetches;
    _Atomic bool             is_too_large; /* mode auto: the graph did not fit into memory */
    _Atomic uint64_t         prefetches;   /* statistics */
    lic_mutex                schema_lock;  /* who puts a schema into a replica that does not follow */
    bool                     has_schema_lock;
    lic_pg_pool             *pool;
    lic_pg_standby           standby;
    lic_pg_follower          follower;
    /* The first revision of the present database and its past: those before have another. */
    _Atomic uint64_t past_begins;
} lic_pg_store;

static inline lic_pg_store *lic_pg_store_of(lic_store *store)
{
    return (lic_pg_store *)store;
}

static inline lic_pg_wait lic_pg_store_wait(const lic_pg_store *store, uint64_t until_ms)
{
    return (lic_pg_wait){ until_ms, &store->bell };
}

/* A catch-up of more rows than this is a load. */
#define LIC_PG_MOST_CHANGES 200000

/* Does every request fetch what it needs? */
static inline bool lic_pg_fetches_all(const lic_pg_store *store)
{
    return store->mode == LICET_MODE_PREFETCH || atomic_load_explicit(&store->is_too_large, memory_order_relaxed);
}

/* Makes known which database it is that a link leads to, if that is not known. */
licet_status lic_pg_meet(lic_pg_store *store, lic_pg_link *link, lic_pg_wait wait, licet_error **error);
/* Makes the schema in force known to a store that does not follow. */
licet_status lic_pg_learn_schema(lic_pg_store *store, uint64_t until_ms, licet_error **error);
/* The same over a link that may be in the middle of a transaction. */
licet_status lic_pg_learn_schema_by(lic_pg_store *store, lic_pg_link *link, lic_pg_wait wait, licet_error **error);

/* The schema in force, as far as is known; the caller's. NULL: nothing is. */
licet_schema *lic_pg_known_schema(lic_pg_store *store, uint64_t *version);
/* What a store fetches, but for the schema. at: NULL: the head. */
lic_pg_wanted lic_pg_wanted_of(const lic_pg_store *store, const lic_need *need, const lic_pg_snapshot *at);
/* lic_pg_prefetch(), or the like of it for rows. */
licet_status lic_pg_fetch_part(const lic_pg_store *store, lic_pg_link *link, const lic_pg_wanted *wanted,
                               lic_pg_wait wait, lic_arena *arena, lic_pg_prefetched *fetched, licet_error **error);
/* The graph becomes something that can be pinned, and is; its snapshot is what tokens will name. Takes the graph. */
licet_status lic_pg_pin_graph(lic_pg_store *store, const lic_pg_prefetched *fetched, const licet_schema *schema,
                              lic_snapshot *snapshot, licet_error **error);

/* Fetches what is needed, as of a snapshot or of now (NULL), and pins that. *current: what the server shows; may be NULL. */
licet_status lic_pg_fetch(lic_pg_store *store, const lic_need *need, const lic_pg_snapshot *at, uint64_t until_ms,
                          lic_arena *arena, lic_pg_snapshot *current, lic_snapshot *snapshot, licet_error **error);

/* To whoever runs the application. Not under a lock. */
void lic_pg_log(const lic_pg_store *store, licet_log_level level, lic_str message);

/* The option's value, or "licet". INVALID_ARGUMENT (config). */
licet_status lic_pg_schema_option(const licet_options *options, lic_str *schema, licet_error **error);

/* The schema of that version; 0: the empty one. It is the caller's. */
licet_status lic_pg_read_schema(lic_pg_store *store, lic_pg_link *link, uint64_t version, lic_pg_wait wait,
                                licet_schema **schema, licet_error **error);

/* Of the store's methods: pin.c, resume.c, write.c, schema.c, import.c, import_record.c. */
licet_status lic_pg_pin(lic_store *store, const licet_consistency *consistency, const lic_need *need,
                        lic_snapshot *snapshot, licet_error **error);
licet_status lic_pg_pin_at(lic_store *store, uint64_t revision, const lic_need *need, lic_snapshot *snapshot,
                           licet_error **error);
void         lic_pg_token(lic_store *store, uint64_t revision, licet_token *token);
void         lic_pg_exact_token(lic_store *store, uint64_t revision, licet_token *token);
licet_status lic_pg_pin_since(lic_store *store, lic_str since, lic_snapshot *snapshot, bool *is_there,
                              licet_error **error);
licet_status lic_pg_difference(lic_store *store, lic_str since, const lic_snapshot *snapshot, const lic_row_test *test,
                               lic_arena *arena, lic_store_revision *difference, bool *schema_changed,
                               licet_error **error);
licet_status lic_pg_apply(lic_store *store, const lic_store_write *write, lic_store_change *changes, size_t count,
                          lic_store_outcome *outcome, licet_error **error);
licet_status lic_pg_erase(lic_store *store, const lic_store_write *write, const lic_store_erasure *erasure,
                          lic_store_outcome *outcome, licet_error **error);
licet_status lic_pg_replace_schema(lic_store *store, licet_schema **schema, lic_instant now, lic_store_outcome *outcome,
                                   licet_error **error);
licet_status lic_pg_load(lic_store *store, licet_schema **schema, lic_store_change *changes, size_t count,
                         licet_error **error);
licet_status lic_pg_import_begin(lic_store *store, const lic_import_piece *piece, lic_store_import **import,
                                 licet_error **error);
licet_status lic_pg_import_add(lic_store *store, lic_store_import *import, lic_store_change *changes, size_t count,
                               licet_error **error);
licet_status lic_pg_import_commit(lic_store *store, lic_store_import *import, const licet_schema *schema,
                                  lic_store_outcome *outcome, licet_error **error);
void         lic_pg_import_end(lic_store *store, lic_store_import *import);
licet_status lic_pg_import_open(lic_store *store, lic_str name, lic_import_record *record, licet_error **error);
licet_status lic_pg_import_find(lic_store *store, lic_str name, lic_import_record *record, bool *is_known,
                                licet_error **error);
licet_status lic_pg_import_forget(lic_store *store, lic_str name, bool *was_known, licet_error **error);
licet_status lic_pg_collect(lic_store *store, uint64_t *removed, licet_error **error);

/* One small part of it. *removed grows; *is_done: nothing is left to do now, or another process is at it. */
licet_status lic_pg_collect_batch(lic_pg_store *store, uint64_t *removed, bool *is_done, licet_error **error);

#endif

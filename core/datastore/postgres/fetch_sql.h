/* The queries that follow a lic_fetch_plan: sql/fetch.sql. One for each way to go, whatever the schema: its tables are
 * parameters, as arrays of _seed, _probe and _span.
 *
 * Every answer has one row about the store, whose first column is -1: its current snapshot, its mark, the version of the
 * schema in force, the horizon of garbage collection, and the time. All others are relationships: the number of the probe
 * that found them, which says all four names; both ids; attributes. In answers to checks, a row may stand for several
 * relationships of one probe without attributes: both ids are lists then, of one length, with commas between. */
#ifndef LIC_DATASTORE_POSTGRES_FETCH_SQL_H
#define LIC_DATASTORE_POSTGRES_FETCH_SQL_H

#include "base/arena.h"
#include "datastore/postgres/link.h"

typedef enum lic_pg_fetch_number {
    /* The parts of one seed, probes that decide, all probes, and as spans, rounds, most. */
    LIC_PG_FETCH_CHECK,
    /* States, lists of ids in them, subject, probes for all of its rows, those that decide, all as spans, few, rounds, most. */
    LIC_PG_FETCH_BULK,
    LIC_PG_FETCH_FORWARD,     /* seeds, probes, rounds, most */
    LIC_PG_FETCH_FORWARD_AT,  /* ..., snapshot of the past */
    LIC_PG_FETCH_BACKWARD,    /* seeds, probes that lead on, others, most */
    LIC_PG_FETCH_BACKWARD_AT, /* ..., snapshot of the past */
    LIC_PG_FETCH_CONFIRMED,   /* as backward, crossings from, to, subject, probes, rounds, most, snapshot or null */
    LIC_PG_FETCH_COUNT
} lic_pg_fetch_number;

/* Columns of all answers. */
enum {
    LIC_PG_FETCHED_PROBE,      /* -1: about the store */
    LIC_PG_FETCHED_RESOURCE,   /* id; or the current snapshot */
    LIC_PG_FETCHED_SUBJECT,    /* id; or the store's mark */
    LIC_PG_FETCHED_CAVEAT,     /* or the schema's version */
    LIC_PG_FETCHED_CONTEXT,    /* or the horizon */
    LIC_PG_FETCHED_EXPIRES_AT, /* or the time */
    LIC_PG_FETCHED_EXPIRES_NS,
    LIC_PG_FETCHED_COLUMNS
};

#define LIC_PG_FETCH_PARAMETERS 10   /* at most */
#define LIC_PG_FETCHED_SEPARATOR ',' /* in lists of ids; in no id that is good */
/* For LIC_PG_FETCH_BULK: with more rows of its own, the subject is looked for on each object. */
#define LIC_PG_FETCH_OWN_ROWS 256

typedef struct lic_pg_fetches {
    lic_pg_statement items[LIC_PG_FETCH_COUNT];
} lic_pg_fetches;

/* In the arena. NULL: out of memory. schema: its name, checked. */
const lic_pg_fetches *lic_pg_fetches_new(lic_arena *arena, lic_str schema);

#endif

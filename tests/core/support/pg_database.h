/* Tables of a test's own on the server that LICET_TEST_POSTGRES names.
 *
 *     pg_database d;
 *
 *     pg_database_begin(&d);
 *     pg_database_migrate(&d);
 *     d.options.mode = LICET_MODE_FOLLOW;
 *     pg_database_open(&d, &w);
 *     assert_string_equal(pg_ask(&d, "SELECT count(*) FROM {schema}.rel"), "0");
 *     world_close(&w);
 *     pg_database_end(&d);
 *
 * In every text of SQL {schema} stands for the schema's name. */
#ifndef LICET_TESTS_PG_DATABASE_H
#define LICET_TESTS_PG_DATABASE_H

#include <libpq-fe.h>

#include "engine_world.h"

typedef struct pg_database {
    PGconn       *connection; /* the application's own */
    char          schema[40]; /* no other test has it */
    licet_options options;    /* of the engines that are opened here: they name the schema, and wait for long */
} pg_database;

/* The server's connection string; where there is none, says so and skips the test. */
const char *pg_server(void);
/* Connects; there are no tables yet. */
void pg_database_begin(pg_database *d);
void pg_database_migrate(const pg_database *d);
/* Lets the connection write rows as if it were our functions, and name the tables without the schema. */
void pg_database_write_freely(const pg_database *d);
void pg_database_open(const pg_database *d, engine_world *w);
/* Drops the tables. */
void pg_database_end(pg_database *d);

/* The first field of the answer, until the next one; "" for none and for NULL. */
const char *pg_ask(const pg_database *d, const char *sql);
/* The same over another connection. */
const char *pg_ask_on(const pg_database *d, PGconn *connection, const char *sql);
/* The whole result, for the caller to judge and clear. */
PGresult *pg_try(const pg_database *d, const char *sql);

#endif

/* Tending a database without an engine: one connection, in the calling thread. */
#include "base/clock.h"
#include "datastore/postgres/doctor.h"
#include "datastore/postgres/migration.h"
#include "datastore/postgres/postgres.h"
#include "datastore/postgres/state.h"

#define CONNECT_MS UINT64_C(10000)
#define MIGRATE_MS UINT64_C(3600000) /* indexes of a large table take their time */

licet_status lic_pg_schema_option(const licet_options *options, lic_str *schema, licet_error **error)
{
    *schema = lic_str_given(options->postgres_schema) ? options->postgres_schema : LIC_STR("licet");
    if (lic_pg_schema_name_is(*schema))
        return LICET_OK;
    return lic_fail(
        error, LICET_INVALID_ARGUMENT, LICET_KIND_CONFIG, LIC_NOWHERE,
        "option postgres_schema: expected a name of a to z, 0 to 9 and _ that does not begin with a digit, of "
        "at most 63 bytes, and that is not Postgres' own (pg_..., information_schema)");
}

static licet_status connect(lic_memory *memory, licet_str uri, const licet_options *options, lic_str schema,
                            lic_pg_link **link, licet_error **error)
{
    const lic_pg_settings settings = { .schema = schema };
    const lic_pg_wait     wait     = { lic_monotonic_ms() + CONNECT_MS, NULL };
    lic_pg_conninfo      *conninfo = NULL;
    licet_status          status   = lic_pg_conninfo_read(memory, uri, options->require_tls, &conninfo, error);

    if (status == LICET_OK)
        status = lic_pg_link_open(memory, conninfo, &settings, wait, link, error);
    lic_pg_conninfo_free(conninfo);
    return status;
}

licet_status lic_postgres_migrate(lic_memory *memory, licet_str uri, const licet_options *options, bool dry_run,
                                  lic_text *sql, licet_error **error)
{
    const lic_pg_wait wait = { lic_monotonic_ms() + MIGRATE_MS, NULL };
    lic_pg_link      *link = NULL;
    lic_str           schema;
    licet_status      status;

    LIC_TRY(lic_pg_schema_option(options, &schema, error));
    LIC_TRY(connect(memory, uri, options, schema, &link, error));
    LIC_TRY(lic_pg_migrate(link, memory, schema, dry_run, wait, sql, error));
done:
    lic_pg_link_close(link);
    return status;
}

licet_status lic_postgres_examine(lic_memory *memory, licet_str uri, const licet_options *options, lic_text *json,
                                  licet_error **error)
{
    lic_pg_link *link = NULL;
    lic_str      schema;
    licet_status status;

    LIC_TRY(lic_pg_schema_option(options, &schema, error));
    LIC_TRY(connect(memory, uri, options, schema, &link, error));
    LIC_TRY(lic_pg_examine(link, memory, schema, lic_monotonic_ms() + options->wait_timeout_ms, json, error));
done:
    lic_pg_link_close(link);
    return status;
}

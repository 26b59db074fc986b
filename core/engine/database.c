/* The public functions that tend a database, and the one place that knows which databases there are. */
#include "engine/database.h"

#ifdef LICET_WITH_POSTGRES

#include "datastore/postgres/postgres.h"

bool lic_database_is(licet_str uri)
{
    return lic_postgres_uri_is(uri);
}

licet_status lic_database_open(const lic_store_host *host, licet_str uri, const licet_options *options,
                               lic_store **store, licet_error **error)
{
    return lic_postgres_store_new(host, uri, options, store, error);
}

static licet_status migrate(lic_memory *memory, licet_str uri, const licet_options *options, bool dry_run,
                            lic_text *text, licet_error **error)
{
    return lic_postgres_migrate(memory, uri, options, dry_run, text, error);
}

static licet_status examine(lic_memory *memory, licet_str uri, const licet_options *options, lic_text *text,
                            licet_error **error)
{
    return lic_postgres_examine(memory, uri, options, text, error);
}

#else

static licet_status fail_unsupported(licet_error **error)
{
    return lic_fail(error, LICET_UNSUPPORTED, LICET_KIND_CONFIG, LIC_NOWHERE, "licet was built without Postgres");
}

bool lic_database_is(licet_str uri)
{
    return lic_str_starts_with(uri, LIC_STR("postgresql:")) || lic_str_starts_with(uri, LIC_STR("postgres:"));
}

licet_status lic_database_open(const lic_store_host *host, licet_str uri, const licet_options *options,
                               lic_store **store, licet_error **error)
{
    (void)host;
    (void)uri;
    (void)options;
    *store = NULL;
    return fail_unsupported(error);
}

static licet_status migrate(lic_memory *memory, licet_str uri, const licet_options *options, bool dry_run,
                            lic_text *text, licet_error **error)
{
    (void)memory;
    (void)uri;
    (void)options;
    (void)dry_run;
    (void)text;
    return fail_unsupported(error);
}

static licet_status examine(lic_memory *memory, licet_str uri, const licet_options *options, lic_text *text,
                            licet_error **error)
{
    (void)memory;
    (void)uri;
    (void)options;
    (void)text;
    return fail_unsupported(error);
}

#endif

/* ---------------------------------------------------------------- both kinds */

/* What a call needs that has no engine. */
typedef struct tending {
    licet_options options; /* checked */
    lic_memory   *memory;
    lic_text      text;
} tending;

static licet_status tending_begin(tending *t, licet_str uri, const licet_options *options, licet_error **error)
{
    licet_status status;

    *t = (tending){ .options = LICET_OPTIONS_INIT };
    if (options != NULL && !LIC_RECORD_KNOWN(options))
        return lic_fail_record(error, "options");
    if (options != NULL)
        t->options = *options;
    if (!lic_str_given(uri) || !lic_database_is(uri))
        return lic_fail(error, LICET_INVALID_ARGUMENT, LICET_KIND_CONFIG, LIC_NOWHERE,
                        "expected the URI or connection string of a Postgres database");
    status = lic_options_check(&t->options, error);
    if (status != LICET_OK)
        return status;
    t->memory = lic_memory_new(&t->options.allocator, (size_t)t->options.memory_limit_bytes);
    if (t->memory == NULL)
        return lic_fail_memory(error);
    lic_text_init(&t->text, t->memory);
    return LICET_OK;
}

/* The text becomes the caller's; NULL: he does not want it. */
static licet_status tending_end(tending *t, licet_status status, licet_buffer *out, licet_error **error)
{
    if (t->memory == NULL)
        return status;
    if (status == LICET_OK && out != NULL && !lic_text_to_buffer(&t->text, out))
        status = lic_fail_memory(error);
    lic_text_free(&t->text);
    lic_memory_release(t->memory);
    return status;
}

licet_status licet_migrate(licet_str uri, const licet_options *options, bool dry_run, licet_buffer *sql,
                           licet_error **error)
{
    tending      t;
    licet_status status;

    lic_error_begin(error);
    if (sql != NULL && sql->size_of_record != sizeof *sql)
        return lic_fail_record(error, "sql");
    status = tending_begin(&t, uri, options, error);
    if (status == LICET_OK)
        status = migrate(t.memory, uri, &t.options, dry_run, &t.text, error);
    return tending_end(&t, status, sql, error);
}

licet_status licet_doctor(licet_str uri, const licet_options *options, licet_buffer *json, licet_error **error)
{
    tending      t;
    licet_status status;

    lic_error_begin(error);
    if (json == NULL || json->size_of_record != sizeof *json)
        return lic_fail_record(error, "json");
    status = tending_begin(&t, uri, options, error);
    if (status == LICET_OK)
        status = examine(t.memory, uri, &t.options, &t.text, error);
    return tending_end(&t, status, json, error);
}

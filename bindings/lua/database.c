/* migrate() and doctor(). Both connect, and wait for what comes of it. */
#include "database.h"

#include "buffer.h"
#include "convert.h"
#include "error.h"
#include "json.h"

typedef struct database_options {
    licet_options core;
    bool          dry_run;
} database_options;

#define DATABASE_FIELDS                                                                    \
    { "postgres_schema", FIELD_STRING, offsetof(database_options, core.postgres_schema) }, \
        { "require_tls", FIELD_BOOLEAN, offsetof(database_options, core.require_tls) },    \
    {                                                                                      \
        "wait_timeout_ms", FIELD_COUNT32, offsetof(database_options, core.wait_timeout_ms) \
    }

int database_migrate(lua_State *L)
{
    static const field fields[] = { DATABASE_FIELDS,
                                    { "dry_run", FIELD_BOOLEAN, offsetof(database_options, dry_run) } };
    database_options   options  = { LICET_OPTIONS_INIT, false };
    licet_error       *error    = NULL;
    licet_str          uri      = str_from_lua(L, 1);
    licet_status       status;
    licet_buffer      *sql;

    lua_settop(L, 2);
    sql = buffer_new(L);
    options_read(L, 2, fields, COUNT_OF(fields), &options);
    status = licet_migrate(uri, &options.core, options.dry_run, sql, &error);
    if (status != LICET_OK)
        return push_error(L, status, error);
    buffer_push_text(L, sql);
    return 1;
}

int database_doctor(lua_State *L)
{
    static const field fields[] = { DATABASE_FIELDS };
    database_options   options  = { LICET_OPTIONS_INIT, false };
    licet_error       *error    = NULL;
    licet_str          uri      = str_from_lua(L, 1);
    licet_status       status;
    licet_buffer      *json;

    lua_settop(L, 2);
    json = buffer_new(L);
    options_read(L, 2, fields, COUNT_OF(fields), &options);
    status = licet_doctor(uri, &options.core, json, &error);
    if (status != LICET_OK)
        return push_error(L, status, error);
    json_push(L, (licet_str){ json->data, json->size });
    return 1;
}

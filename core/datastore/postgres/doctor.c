/* What to look at is SQL that returns findings: about the server, and, where our tables are there and right, about
 * them. */
#include "datastore/postgres/doctor.h"

#include "base/arena.h"
#include "base/clock.h"
#include "datastore/postgres/migration.h"
#include "datastore/postgres/statements.h"

/* Each row: name, level, message. */
static const char server_sql[] =
    "SELECT 'version', 'ok', 'PostgreSQL ' || current_setting('server_version') "
    "UNION ALL SELECT 'role', CASE WHEN pg_is_in_recovery() THEN 'error' ELSE 'ok' END, "
    "  CASE WHEN pg_is_in_recovery() THEN 'this is a standby: engines follow the primary only' ELSE 'a primary' END "
    "UNION ALL SELECT 'durability', CASE WHEN current_setting('fsync') = 'on' AND current_setting('full_page_writes') "
    "= 'on' "
    "  THEN 'ok' ELSE 'error' END, 'fsync is ' || current_setting('fsync') || ', full_page_writes is ' || "
    "  current_setting('full_page_writes') "
    "UNION ALL SELECT 'transactions', CASE WHEN count(*) > 0 THEN 'warning' ELSE 'ok' END, "
    "  count(*) || ' transactions have been open for longer than 5 minutes; the oldest of them keeps garbage from "
    "being collected' "
    "  FROM pg_stat_activity WHERE xact_start < clock_timestamp() - interval '5 minutes' AND backend_type = 'client "
    "backend' "
    "UNION ALL SELECT 'prepared_transactions', CASE WHEN count(*) > 0 THEN 'warning' ELSE 'ok' END, "
    "  count(*) || ' prepared transactions wait for their COMMIT PREPARED' "
    "  FROM pg_prepared_xacts WHERE prepared < clock_timestamp() - interval '5 minutes' "
    "UNION ALL SELECT 'replication', CASE WHEN max(coalesce(replay_lag, interval '0')) > interval '10 seconds' THEN "
    "'warning' "
    "  ELSE 'ok' END, count(*) || ' standbys; the one that is farthest behind is so by ' || "
    "  coalesce(extract(epoch from max(replay_lag))::numeric(12,3), 0) || ' s' FROM pg_stat_replication "
    "UNION ALL SELECT 'connections', CASE WHEN count(*) > current_setting('max_connections')::int * 0.9 THEN 'warning' "
    "ELSE 'ok' "
    "  END, count(*) || ' of ' || current_setting('max_connections') || ' connections are in use' FROM "
    "pg_stat_activity "
    "  WHERE backend_type = 'client backend'";

static const char store_sql[] =
    "SELECT 'indexes', CASE WHEN count(*) FILTER (WHERE i.indisvalid AND i.indisready) < 6 THEN 'error' ELSE 'ok' END, "
    "  count(*) FILTER (WHERE i.indisvalid AND i.indisready) || ' indexes of the relationships can be used, of 7 or "
    "more' "
    "  FROM pg_index i WHERE i.indrelid = '{schema}.rel'::regclass "
    "UNION ALL SELECT 'statistics', CASE WHEN c.reltuples < 0 THEN 'warning' ELSE 'ok' END, "
    "  CASE WHEN c.reltuples < 0 THEN 'the relationships were never analysed: run ANALYZE {schema}.rel' "
    "  ELSE 'about ' || c.reltuples::bigint || ' rows of relationships, living and dead' END "
    "  FROM pg_class c WHERE c.oid = '{schema}.rel'::regclass "
    "UNION ALL SELECT 'rights', CASE WHEN has_schema_privilege('{schema}', 'USAGE') AND "
    "has_table_privilege('{schema}.rel', "
    "  'SELECT') AND has_table_privilege('{schema}.meta', 'SELECT') THEN 'ok' ELSE 'error' END, "
    "  'as ' || current_user || ': an engine needs USAGE of the schema, SELECT on its tables, EXECUTE of its "
    "functions' "
    "UNION ALL SELECT 'schema', CASE WHEN max(version) IS NULL THEN 'warning' ELSE 'ok' END, "
    "  CASE WHEN max(version) IS NULL THEN 'no permission schema has been written' ELSE 'version ' || max(version) || "
    "  ' of the permission schema is in force' END FROM {schema}.zed "
    "UNION ALL SELECT 'garbage', CASE WHEN min(at) < clock_timestamp() - interval '48 hours' THEN 'warning' ELSE 'ok' "
    "END, "
    "  CASE WHEN min(at) IS NULL THEN 'nothing was written yet' ELSE 'the oldest transaction that is kept is ' || "
    "  (extract(epoch from clock_timestamp() - min(at)) / 3600)::numeric(12,1) || ' hours old' END FROM {schema}.tx";

static const char imports_sql[] =
    "SELECT 'imports', CASE WHEN min(at) < clock_timestamp() - interval '24 hours' THEN 'warning' ELSE 'ok' END, "
    "  count(*) || ' imports are not finished' || coalesce('; the one that nobody has gone on with for longest: ' || "
    "  (array_agg(to_json(name)::text ORDER BY at))[1], '') FROM {schema}.imports WHERE NOT is_finished";

typedef struct findings {
    lic_text *json;
    size_t    count;
    bool      has_error;
} findings;

static void add(findings *f, lic_str name, lic_str level, lic_str message)
{
    if (f->count++ > 0)
        lic_text_add_char(f->json, ',');
    lic_text_add_literal(f->json, "{\"name\":");
    lic_text_add_json(f->json, name);
    lic_text_add_literal(f->json, ",\"level\":");
    lic_text_add_json(f->json, level);
    lic_text_add_literal(f->json, ",\"message\":");
    lic_text_add_json(f->json, message);
    lic_text_add_char(f->json, '}');
    f->has_error = f->has_error || lic_str_equal(level, LIC_STR("error"));
}

static licet_status ask(lic_pg_link *link, const lic_pg_statement *statement, lic_pg_wait wait, findings *f,
                        licet_error **error)
{
    PGresult    *result = NULL;
    lic_str      fields[3];
    licet_status status = lic_pg_run(link, statement, NULL, wait, &result, error);

    for (int i = 0; status == LICET_OK && i < PQntuples(result); i++) {
        if (lic_pg_get_text(result, i, 0, &fields[0]) && lic_pg_get_text(result, i, 1, &fields[1]) &&
            lic_pg_get_text(result, i, 2, &fields[2]))
            add(f, fields[0], fields[1], fields[2]);
        else
            status = lic_fail(error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, LIC_NOWHERE,
                              "the database's answer is not what was asked for");
    }
    PQclear(result);
    return status;
}

static void look_at_link(const lic_pg_link *link, findings *f)
{
    const lic_pg_server *server = lic_pg_link_server(link);

    if (!server->is_encrypted)
        add(f, LIC_STR("tls"), LIC_STR("warning"),
            LIC_STR("the connection is not encrypted: fine for a socket of the same machine"));
    else if (!server->is_verified)
        add(f, LIC_STR("tls"), LIC_STR("warning"), LIC_STR("encrypted, but the server was not verified"));
    else
        add(f, LIC_STR("tls"), LIC_STR("ok"), LIC_STR("encrypted, and the server was verified"));
    if (server->is_pooled)
        add(f, LIC_STR("pooling"), LIC_STR("warning"),
            LIC_STR("a pooler in transaction mode is between: nothing is prepared, each query costs more"));
    else
        add(f, LIC_STR("pooling"), LIC_STR("ok"), LIC_STR("a session of its own"));
}

/* Late expiry of a grant allows, so who has another clock than the database should know. */
static licet_status look_at_clock(lic_pg_link *link, lic_pg_wait wait, findings *f, licet_error **error)
{
    static const lic_pg_statement clock_statement = { "doctor_clock", "SELECT clock_timestamp()", 0, NULL };
    PGresult                     *result          = NULL;
    int64_t                       us;
    licet_status                  status = lic_pg_run(link, &clock_statement, NULL, wait, &result, error);

    if (status == LICET_OK && lic_pg_get_time_us(result, 0, 0, &us)) {
        const int64_t apart_ms = (lic_wall_ns() / 1000 - us) / 1000;

        if (apart_ms > 1000 || apart_ms < -1000)
            add(f, LIC_STR("clock"), LIC_STR("warning"),
                LIC_STR("the clocks of this machine and of the database are more than a second apart; the database's "
                        "counts"));
        else
            add(f, LIC_STR("clock"), LIC_STR("ok"), LIC_STR("within a second of this machine's"));
    }
    PQclear(result);
    return status;
}

/* Who lacks the right may have been granted all there was before a migration. */
static licet_status look_at_imports(lic_pg_link *link, const char *sql, lic_pg_wait wait, findings *f,
                                    licet_error **error)
{
    const lic_pg_statement statement = { "doctor_imports", sql, 0, NULL };
    const licet_status     status    = ask(link, &statement, wait, f, error);

    if (status == LICET_OK || strcmp(lic_pg_link_failure(link)->sqlstate, "42501") != 0)
        return status;
    lic_error_forget(error);
    add(f, LIC_STR("imports"), LIC_STR("warning"),
        LIC_STR("a right to look at them is missing: grant again after a migration"));
    return LICET_OK;
}

/* What keeps an engine from starting is a finding, and then nothing can be said of the tables. */
static licet_status look_at_store(lic_pg_link *link, lic_memory *memory, lic_str schema, lic_pg_wait wait, findings *f,
                                  licet_error **error)
{
    licet_error       *found = NULL;
    lic_pg_store_facts facts;
    lic_pg_statement   statement = { "doctor_store", NULL, 0, NULL };
    const char        *imports;
    lic_arena          arena;
    licet_status       status = lic_pg_check_store(link, memory, schema, wait, &facts, &found);

    if (status != LICET_OK) {
        add(f, LIC_STR("store"), LIC_STR("error"), licet_error_message(found));
        licet_error_free(found);
        return lic_pg_link_lost(link) ? lic_fail(error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, LIC_NOWHERE,
                                                 "the connection to the database was lost")
                                      : LICET_OK;
    }
    add(f, LIC_STR("store"), LIC_STR("ok"), LIC_STR("the tables are of the version that this licet needs"));
    lic_arena_init(&arena, memory);
    statement.sql = lic_pg_statement_text(&arena, store_sql, schema);
    imports       = lic_pg_statement_text(&arena, imports_sql, schema);
    status = statement.sql == NULL || imports == NULL ? lic_fail_memory(error) : ask(link, &statement, wait, f, error);
    if (status == LICET_OK)
        status = look_at_imports(link, imports, wait, f, error);
    lic_arena_free(&arena);
    return status;
}

licet_status lic_pg_examine(lic_pg_link *link, lic_memory *memory, lic_str schema, uint64_t until_ms, lic_text *json,
                            licet_error **error)
{
    static const lic_pg_statement server_statement = { "doctor_server", server_sql, 0, NULL };
    const lic_pg_wait             wait             = { until_ms, NULL };
    lic_text                      list;
    findings                      f = { .json = &list };
    licet_status                  status;

    lic_text_init(&list, memory);
    look_at_link(link, &f);
    LIC_TRY(ask(link, &server_statement, wait, &f, error));
    LIC_TRY(look_at_clock(link, wait, &f, error));
    LIC_TRY(look_at_store(link, memory, schema, wait, &f, error));
    lic_text_add(json, f.has_error ? LIC_STR("{\"ok\":false,\"findings\":[") : LIC_STR("{\"ok\":true,\"findings\":["));
    if (list.failed)
        json->failed = true;
    else
        lic_text_add(json, lic_text_str(&list));
    lic_text_add_literal(json, "]}");
    if (json->failed)
        status = lic_fail_memory(error);
done:
    lic_text_free(&list);
    return status;
}

/* The texts are those of sql/, put together by tools/embed_sql.py. A step asks under a lock whether it is its turn, so
 * what is run here can be run by a person in the same words. */
#include "datastore/postgres/migration.h"

#include "base/arena.h"
#include "datastore/postgres/sql_table.h"
#include "datastore/postgres/statements.h"

#define STEP_TAKEN "LZ009" /* begin.sql: another version is there than the step begins with */

static licet_status fail_version(lic_str schema, int32_t version, licet_error **error)
{
    if (version > LIC_PG_VERSION)
        return lic_fail(error, LICET_UNSUPPORTED, LICET_KIND_CONFIG, LIC_NOWHERE,
                        "schema `%.*s` is of version %d, and this licet knows up to %d: use a newer licet",
                        LIC_STR_ARG(schema), (int)version, LIC_PG_VERSION);
    if (version == 0)
        return lic_fail(error, LICET_UNSUPPORTED, LICET_KIND_CONFIG, LIC_NOWHERE,
                        "there are no tables of licet in schema `%.*s`: run `licet migrate`", LIC_STR_ARG(schema));
    return lic_fail(error, LICET_UNSUPPORTED, LICET_KIND_CONFIG, LIC_NOWHERE,
                    "schema `%.*s` is of version %d, and this licet needs %d: run `licet migrate`", LIC_STR_ARG(schema),
                    (int)version, LIC_PG_VERSION);
}

static licet_status fail_answer(licet_error **error)
{
    return lic_fail(error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, LIC_NOWHERE, "Postgres' answer makes no sense");
}

/* Runs a text without parameters, with the schema's name put in. */
static licet_status ask(lic_pg_link *link, lic_arena *arena, const char *name, const char *text, lic_str schema,
                        lic_pg_wait wait, PGresult **result, licet_error **error)
{
    lic_pg_statement statement = { name, lic_pg_statement_text(arena, text, schema), 0, NULL };

    *result = NULL;
    if (statement.sql == NULL)
        return lic_fail_memory(error);
    return lic_pg_run(link, &statement, NULL, wait, result, error);
}

static bool failed_with(const lic_pg_link *link, const char *sqlstate)
{
    return strcmp(lic_pg_link_failure(link)->sqlstate, sqlstate) == 0;
}

/* 0: there are no tables. */
static licet_status read_version(lic_pg_link *link, lic_arena *arena, lic_str schema, lic_pg_wait wait,
                                 int32_t *version, licet_error **error)
{
    static const char *const text    = "SELECT version FROM {schema}.meta";
    licet_error             *problem = NULL;
    PGresult                *result;
    licet_status             status;

    *version = 0;
    status   = ask(link, arena, "STORE_VERSION", text, schema, wait, &result, &problem);
    if (status == LICET_OK && !lic_pg_get_i32(result, 0, 0, version))
        status = fail_answer(error);
    else if (status != LICET_OK && (failed_with(link, "42P01") || failed_with(link, "3F000")))
        status = LICET_OK;
    else if (status != LICET_OK && error != NULL && *error == NULL) {
        *error  = problem;
        problem = NULL;
    }
    licet_error_free(problem);
    PQclear(result);
    return status;
}

/* Takes the step that makes version + 1. Who finds that another process has taken it has lost nothing. */
static licet_status take_step(lic_pg_link *link, const char *text, lic_pg_wait wait, bool *taken, licet_error **error)
{
    licet_error *problem  = NULL;
    licet_status status   = lic_pg_command(link, text, wait, &problem);
    bool         by_other = status != LICET_OK && failed_with(link, STEP_TAKEN);

    *taken = status == LICET_OK;
    if (status != LICET_OK && !lic_pg_link_lost(link)) {
        licet_status undone = lic_pg_command(link, "ROLLBACK", wait, by_other ? error : NULL);

        if (by_other)
            status = undone;
    }
    if (status != LICET_OK && error != NULL && *error == NULL) {
        *error  = problem;
        problem = NULL;
    }
    licet_error_free(problem);
    return status;
}

/* From version to one that is higher. */
static licet_status migrate_on(lic_pg_link *link, const char *text, lic_str schema, lic_arena *arena, lic_pg_wait wait,
                               int32_t *version, bool *taken, licet_error **error)
{
    int32_t      before = *version;
    licet_status status;

    LIC_TRY(take_step(link, text, wait, taken, error));
    LIC_TRY(read_version(link, arena, schema, wait, version, error));
    if (*version <= before)
        status = fail_answer(error); /* the step was taken and wasn't */
done:
    return status;
}

static licet_status migrate(lic_pg_link *link, lic_arena *arena, lic_str schema, bool dry_run, lic_pg_wait wait,
                            lic_text *sql, licet_error **error)
{
    int32_t      version;
    licet_status status;

    LIC_TRY(read_version(link, arena, schema, wait, &version, error));
    if (version < 0)
        LIC_TRY(fail_answer(error));
    while (version < LIC_PG_VERSION) {
        const char *text  = lic_pg_statement_text(arena, migration_steps[version], schema);
        bool        taken = dry_run;

        if (text == NULL)
            return lic_fail_memory(error);
        if (dry_run)
            version++;
        else
            LIC_TRY(migrate_on(link, text, schema, arena, wait, &version, &taken, error));
        if (taken && sql != NULL)
            lic_text_add(sql, (lic_str){ text, strlen(text) });
    }
    status = version > LIC_PG_VERSION ? fail_version(schema, version, error) : LICET_OK;
    if (status == LICET_OK && sql != NULL && sql->failed)
        status = lic_fail_memory(error);
done:
    return status;
}

licet_status lic_pg_migrate(lic_pg_link *link, lic_memory *memory, lic_str schema, bool dry_run, lic_pg_wait wait,
                            lic_text *sql, licet_error **error)
{
    lic_arena    arena;
    licet_status status;

    lic_arena_init(&arena, memory);
    status = migrate(link, &arena, schema, dry_run, wait, sql, error);
    lic_arena_free(&arena);
    return status;
}

/* -------------------------------------------------------------------- looking */

/* Stamps that transactions of this server can't have made, and what could come between us and the rows. */
static const char facts_text[] =
    "SELECT m.store, m.token_key, m.gc_horizon, "
    "coalesce((SELECT z.version FROM {schema}.zed z ORDER BY z.version DESC LIMIT 1), 0)::bigint, "
    "coalesce(greatest(m.gc_horizon, "
    "(SELECT r.created_xid FROM {schema}.rel r ORDER BY r.created_xid DESC LIMIT 1), "
    "(SELECT r.deleted_xid FROM {schema}.rel r WHERE r.deleted_xid < '9223372036854775807' "
    "ORDER BY r.deleted_xid DESC LIMIT 1), "
    "(SELECT t.xid FROM {schema}.tx t ORDER BY t.xid DESC LIMIT 1), "
    "(SELECT max(z.created_xid) FROM {schema}.zed z)) >= pg_snapshot_xmax(pg_current_snapshot()), false), "
    "coalesce((SELECT min('policies on ' || c.relname) FROM pg_class c "
    "WHERE c.relnamespace = n.oid AND c.relrowsecurity AND c.relname = ANY (n.ours)), "
    "(SELECT min('the rule ' || w.rulename || ' on ' || c.relname) FROM pg_rewrite w "
    "JOIN pg_class c ON c.oid = w.ev_class WHERE c.relnamespace = n.oid AND c.relname = ANY (n.ours)), "
    "(SELECT min('the trigger ' || t.tgname || ' on ' || c.relname) FROM pg_trigger t "
    "JOIN pg_class c ON c.oid = t.tgrelid WHERE c.relnamespace = n.oid AND c.relname = ANY (n.ours) AND "
    "NOT t.tgisinternal AND t.tgname NOT IN ('guard', 'guard_truncate')), '')::text "
    "FROM {schema}.meta m, (SELECT s.oid, '{meta,rel,tx,zed,names,allowed,parameters,imports}'::name[] AS ours "
    "FROM pg_namespace s WHERE s.nspname = '{schema}') n";

static bool get_u64(const PGresult *result, int row, int column, uint64_t *number)
{
    int64_t signed_number;

    if (!lic_pg_get_i64(result, row, column, &signed_number) || signed_number < 0)
        return false;
    *number = (uint64_t)signed_number;
    return true;
}

/* *obstacle: a view of the result; empty: none. */
static bool take_facts(const PGresult *result, lic_pg_store_facts *facts, bool *is_restored, lic_str *obstacle)
{
    lic_str mark;
    lic_str key;

    if (!lic_pg_get_bytes(result, 0, 0, &mark) || mark.size != sizeof facts->identity.mark ||
        !lic_pg_get_bytes(result, 0, 1, &key) || key.size != sizeof facts->identity.key ||
        !get_u64(result, 0, 2, &facts->gc_horizon) || !get_u64(result, 0, 3, &facts->schema_version) ||
        !lic_pg_get_bool(result, 0, 4, is_restored) || !lic_pg_get_text(result, 0, 5, obstacle))
        return false;
    memcpy(facts->identity.mark, mark.data, mark.size);
    memcpy(facts->identity.key, key.data, key.size);
    return true;
}

static licet_status judge(const PGresult *result, lic_str schema, lic_pg_store_facts *facts, licet_error **error)
{
    lic_str obstacle;
    bool    is_restored;

    if (!take_facts(result, facts, &is_restored, &obstacle))
        return fail_answer(error);
    if (is_restored)
        return lic_fail(error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, LIC_NOWHERE,
                        "schema `%.*s` holds changes by transactions that this server has not had yet: it was restored "
                        "from a dump. Run `SELECT \"%.*s\"._repair()` once; old tokens will be refused",
                        LIC_STR_ARG(schema), LIC_STR_ARG(schema));
    if (obstacle.size > 0)
        return lic_fail(error, LICET_UNAVAILABLE, LICET_KIND_CONFIG, LIC_NOWHERE,
                        "schema `%.*s` has what may keep relationships from licet: %Q", LIC_STR_ARG(schema), &obstacle);
    return LICET_OK;
}

licet_status lic_pg_check_store(lic_pg_link *link, lic_memory *memory, lic_str schema, lic_pg_wait wait,
                                lic_pg_store_facts *facts, licet_error **error)
{
    PGresult    *result = NULL;
    int32_t      version;
    lic_arena    arena;
    licet_status status;

    *facts                   = (lic_pg_store_facts){ .schema_version = 0 };
    facts->identity.timeline = lic_pg_link_server(link)->timeline;
    lic_arena_init(&arena, memory);
    LIC_TRY(read_version(link, &arena, schema, wait, &version, error));
    if (version != LIC_PG_VERSION)
        LIC_TRY(fail_version(schema, version, error));
    LIC_TRY(ask(link, &arena, "STORE_FACTS", facts_text, schema, wait, &result, error));
    LIC_TRY(judge(result, schema, facts, error));
done:
    PQclear(result);
    lic_arena_free(&arena);
    return status;
}

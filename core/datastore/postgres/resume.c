/* A watch that goes on after a token which this process's graph has no history for: of another process, or of before this
 * one began. What lies between the token's snapshot and a revision of the graph is the difference of the two, in one
 * statement: what lives in the one and not in the other. Each relationship is in it once, however often it changed.
 *
 * What garbage collection only cleared away, because it had expired long ago, is left out where it ended the version
 * that the token's snapshot shows. */
#include "base/clock.h"
#include "datastore/postgres/rows.h"
#include "datastore/postgres/standing.h"
#include "datastore/postgres/state.h"

#define MOST_CHANGES 100000 /* in memory at once, while the stream is not asked for them */

enum { MARK, HORIZON, VERSION_BEFORE, VERSION, FIRST_FIELD };
#define LIVES (FIRST_FIELD + LIC_PG_ROW_FIELDS)
#define METADATA (LIVES + 1)

static licet_status fail_answer(licet_error **error)
{
    return lic_fail(error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, LIC_NOWHERE,
                    "the database's answer is not what was asked for");
}

static licet_status fail_other(licet_error **error)
{
    return lic_fail(error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, LIC_NOWHERE,
                    "the database is being replaced by another one, or has another past than before");
}

static licet_status fail_expired(licet_error **error)
{
    return lic_fail(error, LICET_REVISION_EXPIRED, LICET_KIND_TOKEN, LIC_NOWHERE,
                    "changes after the revision have left the retained history");
}

static licet_status fail_count(licet_error **error)
{
    return lic_fail_reason(error, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, "WATCH_TOO_FAR_BEHIND", LIC_NOWHERE,
                           "more than %d relationships have changed since the revision, which is more than a watch can "
                           "tell at once",
                           MOST_CHANGES);
}

/* ------------------------------------------------------------------- asking */

typedef struct resuming {
    lic_pg_store       *store;
    lic_pg_identity     identity; /* by which the token was read */
    lic_pg_snapshot     before;   /* the token's */
    lic_pg_snapshot     after;    /* the graph's revision's */
    const lic_row_test *test;
    lic_arena          *arena; /* for what is told */
    lic_pg_reader       reader;
    lic_store_revision *difference;
    bool               *schema_changed;
    licet_error       **error;
} resuming;

/* With its NUL. */
static void print_snapshot(const lic_pg_snapshot *snapshot, lic_text *out)
{
    lic_pg_snapshot_print(snapshot, out);
    lic_text_add_char(out, '\0');
}

/* Names of types need no quotes but for those that mean something to an array. */
static void print_types(const lic_row_test *test, lic_text *out)
{
    lic_text_add_char(out, '{');
    for (size_t i = 0; i < test->type_count; i++) {
        lic_text_add(out, i == 0 ? LIC_STR("\"") : LIC_STR(",\""));
        lic_text_add(out, test->types[i]);
        lic_text_add_char(out, '"');
    }
    lic_text_add(out, (lic_str){ "}", 2 }); /* with its NUL */
}

static licet_status ask(const resuming *r, lic_pg_link *link, lic_pg_wait wait, PGresult **result)
{
    lic_text     before;
    lic_text     after;
    lic_text     types;
    lic_text     most;
    licet_status status;

    lic_text_init(&before, r->store->host.memory);
    lic_text_init(&after, r->store->host.memory);
    lic_text_init(&types, r->store->host.memory);
    lic_text_init(&most, r->store->host.memory);
    print_snapshot(&r->before, &before);
    print_snapshot(&r->after, &after);
    print_types(r->test, &types);
    lic_text_add_u64(&most, MOST_CHANGES + 1);
    lic_text_add_char(&most, '\0');
    if (before.failed || after.failed || types.failed || most.failed)
        status = lic_fail_memory(r->error);
    else {
        const lic_pg_parameter parameters[] = { { before.data, 0, 0 },
                                                { after.data, 0, 0 },
                                                { r->test->type_count == 0 ? NULL : types.data, 0, 0 },
                                                { most.data, 0, 0 } };

        status = lic_pg_run(link, &r->store->statements->items[LIC_PG_DIFFERENCE], parameters, wait, result, r->error);
    }
    lic_text_free(&before);
    lic_text_free(&after);
    lic_text_free(&types);
    lic_text_free(&most);
    return status;
}

/* ------------------------------------------------------------------- answers */

static licet_status keep_row(const resuming *r, const lic_store_change *change, lic_row *row)
{
    row->resource_id = lic_arena_str(r->arena, change->resource_id);
    row->subject_id  = lic_arena_str(r->arena, change->subject_id);
    if (!lic_str_given(row->resource_id) || !lic_str_given(row->subject_id))
        return lic_fail_memory(r->error);
    if (!lic_attribute_given(&change->attribute))
        return LICET_OK;
    row->attribute = lic_row_attribute_new(r->arena, &change->attribute);
    return row->attribute != NULL ? LICET_OK : lic_fail_memory(r->error);
}

/* If the watch is to be told of it. */
static licet_status add_update(const resuming *r, const lic_store_change *change, licet_operation operation)
{
    lic_row       row = { .edge = { { change->typed.resource, LIC_NO_NODE }, { change->typed.subject, LIC_NO_NODE } },
                          .resource_id = change->resource_id,
                          .subject_id  = change->subject_id };
    licet_update *update = &r->difference->updates[r->difference->count];
    licet_status  status;

    if (!r->test->passes(r->test->context, &row))
        return LICET_OK;
    status = keep_row(r, change, &row);
    if (status != LICET_OK)
        return status;
    update->operation = operation;
    lic_row_relationship(r->store->host.names, &row, &update->relationship);
    r->difference->count++;
    return LICET_OK;
}

/* What has expired and does not fit the schema any more is as good as gone. */
static licet_status take_row(const resuming *r, const lic_pg_fields *fields, bool lives)
{
    lic_store_change change = { .operation = LICET_DELETE };
    bool             skip   = false;
    licet_status     status = LICET_OK;

    if (lives)
        status = lic_pg_row_touch(&r->reader, fields, &change, &skip, r->error);
    if (status == LICET_OK && (!lives || skip))
        status = lic_pg_row_was(&r->reader, fields, &change, r->error);
    if (status == LICET_OK)
        status = add_update(r, &change, lives && !skip ? LICET_TOUCH : LICET_DELETE);
    lic_store_changes_end(&change, 1);
    return status;
}

static licet_status take_rows(const resuming *r, const PGresult *result)
{
    const int     rows   = PQntuples(result);
    int           count  = 0;
    licet_status  status = LICET_OK;
    lic_str       text   = { NULL, 0 };
    lic_pg_fields fields;
    bool          lives;

    r->difference->updates = lic_new_array(r->arena, (size_t)rows, licet_update);
    if (r->difference->updates == NULL)
        return lic_fail_memory(r->error);
    for (int i = 0; i < rows && status == LICET_OK; i++) {
        if (!lic_pg_fields_of_result(result, i, FIRST_FIELD, &fields))
            status = fail_answer(r->error);
        else if (!lic_pg_fields_given(&fields))
            (void)lic_pg_get_text(result, i, METADATA, &text);
        else if (!lic_pg_get_bool(result, i, LIVES, &lives))
            status = fail_answer(r->error);
        else if (++count > MOST_CHANGES)
            status = fail_count(r->error);
        else
            status = take_row(r, &fields, lives);
    }
    if (status != LICET_OK || r->difference->count == 0 || !lic_str_given(text))
        return status;
    r->difference->metadata = lic_arena_str(r->arena, text);
    return lic_str_given(r->difference->metadata) ? LICET_OK : lic_fail_memory(r->error);
}

/* Was it the database that the token is of, and had it all that lies between? */
static licet_status take_answer(const resuming *r, const PGresult *result)
{
    lic_str mark;
    int64_t horizon;
    int64_t version_before;
    int64_t version;

    if (PQntuples(result) < 1 || !lic_pg_get_bytes(result, 0, MARK, &mark) || mark.size != LIC_PG_MARK_BYTES ||
        !lic_pg_get_i64(result, 0, HORIZON, &horizon) || !lic_pg_get_i64(result, 0, VERSION_BEFORE, &version_before) ||
        !lic_pg_get_i64(result, 0, VERSION, &version))
        return fail_answer(r->error);
    if (memcmp(mark.data, r->identity.mark, mark.size) != 0)
        return fail_other(r->error);
    if ((uint64_t)horizon > r->before.xmin)
        return fail_expired(r->error);
    *r->schema_changed = version != version_before;
    return take_rows(r, result);
}

/* ------------------------------------------------------------------- the whole */

/* Both ends, by the token and by the graph. */
static licet_status find_ends(resuming *r, lic_str since, const lic_snapshot *snapshot, lic_arena *arena)
{
    lic_pg_store *store = r->store;
    bool          exact;
    licet_status  status;

    if (!lic_pg_follow_identity(store, &r->identity))
        return fail_other(r->error);
    LIC_TRY(lic_pg_token_read(&r->identity, arena, since, &r->before, &exact, r->error));
    LIC_TRY(lic_pg_marks_exact(&store->marks, snapshot->revision, arena, &r->after, r->error));
    if (!exact || !lic_pg_snapshot_dominates(&r->after, &r->before))
        status = fail_other(r->error); /* was looked at before */
done:
    return status;
}

static licet_status resume(resuming *r, lic_pg_wait wait)
{
    lic_pg_store   *store  = r->store;
    lic_pg_link    *link   = NULL;
    PGresult       *result = NULL;
    lic_pg_identity now;
    licet_status    status;

    LIC_TRY(lic_pg_pool_take(store->pool, wait, &link, r->error));
    if (!lic_pg_follow_is_server(store, lic_pg_link_server(link)))
        LIC_TRY(fail_other(r->error));
    LIC_TRY(ask(r, link, wait, &result));
    LIC_TRY(take_answer(r, result));
    if (!lic_pg_follow_identity(store, &now) || now.timeline != r->identity.timeline ||
        memcmp(now.mark, r->identity.mark, sizeof now.mark) != 0)
        status = fail_other(r->error);
done:
    PQclear(result);
    lic_pg_pool_give(store->pool, link);
    return status;
}

licet_status lic_pg_difference(lic_store *base, lic_str since, const lic_snapshot *snapshot, const lic_row_test *test,
                               lic_arena *arena, lic_store_revision *difference, bool *schema_changed,
                               licet_error **error)
{
    lic_pg_store *store = lic_pg_store_of(base);
    resuming      r     = { .store          = store,
                            .test           = test,
                            .arena          = arena,
                            .difference     = difference,
                            .schema_changed = schema_changed,
                            .error          = error };
    lic_arena     own;
    licet_status  status;

    *difference     = (lic_store_revision){ .revision = snapshot->revision };
    *schema_changed = false;
    lic_arena_init(&own, store->host.memory);
    r.reader = (lic_pg_reader){ .host    = &store->host,
                                .program = lic_schemas_at(store->host.schemas, snapshot->revision)->program,
                                .now     = lic_pg_now(store),
                                .arena   = &own };
    status   = find_ends(&r, since, snapshot, &own);
    if (status == LICET_OK)
        status = resume(&r, lic_pg_store_wait(store, lic_monotonic_ms() + store->limits.wait_timeout_ms));
    lic_arena_free(&own);
    return status;
}

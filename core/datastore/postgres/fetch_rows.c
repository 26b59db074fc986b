/* The text follows the filter's shape: a condition for each field that is given, so that the planner knows which index
 * leads there. What the fields say are parameters, always. Such a text is not prepared: there are many, and few come twice
 * on one link.
 *
 * One row is about the store, as those of a catch-up begin; it is the one that has a snapshot. */
#include "datastore/postgres/fetch_rows.h"

#include <assert.h>

#include "datastore/memory/memory.h"
#include "datastore/object.h"
#include "datastore/postgres/rows.h"

#define MICROSECONDS INT64_C(1000000)
#define PARAMETERS 16 /* more than there can be */

#define NAMES "rt, ri, rr, st, si, sr"
#define LIVES "deleted_xid = '9223372036854775807'"

enum { SNAPSHOT, CLOCK, MARK, HORIZON, VERSION, FIRST_FIELD };
#define COLUMNS (FIRST_FIELD + LIC_PG_ROW_FIELDS)

/* One that is being made. */
typedef struct query {
    lic_str                schema; /* that our tables are under */
    const lic_names       *names;
    const lic_pg_snapshot *at; /* NULL: the head */
    lic_text               sql;
    lic_text               conditions;
    lic_text               values; /* of all parameters, each with a NUL behind it */
    size_t                 begins[PARAMETERS];
    int                    count;
} query;

static licet_status fail_answer(licet_error **error)
{
    return lic_fail(error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, LIC_NOWHERE,
                    "the database's answer is not what was asked for");
}

/* ------------------------------------------------------------------ conditions */

static void query_begin(query *q, lic_memory *memory)
{
    lic_text_init(&q->sql, memory);
    lic_text_init(&q->conditions, memory);
    lic_text_init(&q->values, memory);
}

static void query_end(query *q)
{
    lic_text_free(&q->sql);
    lic_text_free(&q->conditions);
    lic_text_free(&q->values);
}

/* The value of a parameter is what is appended to q->values from here to end_value(). */
static void begin_value(query *q)
{
    assert(q->count < PARAMETERS);
    q->begins[q->count++] = q->values.size;
}

static void end_value(query *q)
{
    lic_text_add_char(&q->values, '\0');
}

/* Where the parameter goes that began last. */
static void add_place(query *q)
{
    lic_text_add_char(&q->conditions, '$');
    lic_text_add_u64(&q->conditions, (uint64_t)q->count);
}

/* " AND ri = $3" */
static void begin_condition(query *q, lic_str comparison)
{
    lic_text_add_literal(&q->conditions, " AND ");
    lic_text_add(&q->conditions, comparison);
    begin_value(q);
    add_place(q);
}

static void add_condition(query *q, lic_str comparison, lic_str value)
{
    begin_condition(q, comparison);
    lic_text_add(&q->values, value);
    end_value(q);
}

static void add_slot(query *q, lic_slot slot, lic_str type, lic_str relation)
{
    add_condition(q, type, lic_names_type_name(q->names, lic_names_type_of(q->names, slot)));
    add_condition(q, relation, lic_names_relation_name(q->names, slot));
}

/* From the prefix itself up to where its last byte is one more: ids are ASCII, and none has the highest of it. */
static void add_prefix(query *q, lic_str prefix)
{
    add_condition(q, LIC_STR("ri >= "), prefix);
    begin_condition(q, LIC_STR("ri < "));
    lic_text_add(&q->values, lic_str_slice(prefix, 0, prefix.size - 1));
    lic_text_add_char(&q->values, (char)(prefix.data[prefix.size - 1] + 1));
    end_value(q);
}

static void add_resource(query *q, const lic_filter *f)
{
    if (f->resource_slot != LIC_NO_SLOT)
        add_slot(q, f->resource_slot, LIC_STR("rt = "), LIC_STR("rr = "));
    else if (f->resource_type != LIC_NO_TYPE)
        add_condition(q, LIC_STR("rt = "), lic_names_type_name(q->names, f->resource_type));
    if (f->resource_slot == LIC_NO_SLOT && lic_str_given(f->relation))
        add_condition(q, LIC_STR("rr = "), f->relation);
    if (lic_str_given(f->resource_id))
        add_condition(q, LIC_STR("ri = "), f->resource_id);
    if (lic_str_given(f->resource_id_prefix))
        add_prefix(q, f->resource_id_prefix);
}

static void add_subject(query *q, const lic_filter *f)
{
    if (f->subject_slot != LIC_NO_SLOT)
        add_slot(q, f->subject_slot, LIC_STR("st = "), LIC_STR("sr = "));
    else if (f->subject_type != LIC_NO_TYPE)
        add_condition(q, LIC_STR("st = "), lic_names_type_name(q->names, f->subject_type));
    if (lic_str_given(f->subject_id))
        add_condition(q, LIC_STR("si = "), f->subject_id);
}

static void add_form(query *q, const lic_filter *f)
{
    if (f->caveat == LIC_NO_CAVEAT_NAME)
        lic_text_add_literal(&q->conditions, " AND caveat IS NULL");
    else
        add_condition(q, LIC_STR("caveat = "), lic_names_caveat_name(q->names, f->caveat));
    if (f->expires)
        lic_text_add_literal(&q->conditions, " AND expires_at IS NOT NULL");
    else
        lic_text_add_literal(&q->conditions, " AND expires_at IS NULL");
}

/* A timestamptz ends at the microsecond; the nanoseconds below have a column of their own. */
static void add_unexpired(query *q, lic_instant now)
{
    const uint32_t below = now.nanoseconds % 1000;

    now.nanoseconds -= below;
    lic_text_add_literal(&q->conditions, " AND (expires_at IS NULL OR (expires_at, expires_ns) > (");
    begin_value(q);
    add_place(q);
    lic_instant_print(now, &q->values);
    end_value(q);
    lic_text_add_literal(&q->conditions, "::timestamptz, ");
    begin_value(q);
    add_place(q);
    lic_text_add_u64(&q->values, below);
    end_value(q);
    lic_text_add_literal(&q->conditions, "::smallint))");
}

/* An id or name that none can be is that of no row. */
static bool may_select(const lic_filter *f)
{
    return (!lic_str_given(f->relation) || lic_relation_check("", f->relation, NULL) == LICET_OK) &&
           (!lic_str_given(f->resource_id) || lic_id_check("", f->resource_id, false, NULL) == LICET_OK) &&
           (!lic_str_given(f->resource_id_prefix) ||
            lic_id_check("", f->resource_id_prefix, false, NULL) == LICET_OK) &&
           (!lic_str_given(f->subject_id) || lic_id_check("", f->subject_id, true, NULL) == LICET_OK);
}

/* -------------------------------------------------------------------- the text */

/* "pg_visible_in_snapshot(created_xid, $2::pg_snapshot)": the snapshot is the second parameter. */
static void add_visible(lic_text *out, lic_str column)
{
    lic_text_add_literal(out, "pg_catalog.pg_visible_in_snapshot(");
    lic_text_add(out, column);
    lic_text_add_literal(out, ", $2::pg_catalog.pg_snapshot)");
}

/* As lic_pg_statement_text() puts it. */
static void add_table(query *q, lic_str name)
{
    lic_text_add_char(&q->sql, '"');
    lic_text_add(&q->sql, q->schema);
    lic_text_add_literal(&q->sql, "\".");
    lic_text_add(&q->sql, name);
}

static void add_store(query *q)
{
    lic_text_add_literal(&q->sql, "SELECT pg_catalog.pg_current_snapshot(), clock_timestamp(), m.store, m.gc_horizon, "
                                  "coalesce((SELECT version FROM ");
    add_table(q, LIC_STR("zed"));
    if (q->at != NULL) {
        lic_text_add_literal(&q->sql, " WHERE ");
        add_visible(&q->sql, LIC_STR("created_xid"));
    }
    lic_text_add_literal(&q->sql, " ORDER BY version DESC LIMIT 1), 0)::bigint, NULL::text, NULL::text, NULL::text, "
                                  "NULL::text, NULL::text, NULL::text, NULL::text, NULL::text, NULL::timestamptz, "
                                  "NULL::smallint FROM ");
    add_table(q, LIC_STR("meta m"));
}

static void add_versions(query *q, lic_str which)
{
    lic_text_add_literal(&q->sql, "SELECT " LIC_PG_ROW_COLUMNS " FROM ");
    add_table(q, LIC_STR("rel"));
    lic_text_add_literal(&q->sql, " WHERE ");
    lic_text_add(&q->sql, which);
    if (q->at != NULL) {
        lic_text_add_literal(&q->sql, " AND ");
        add_visible(&q->sql, LIC_STR("created_xid"));
    }
    lic_text_add(&q->sql, lic_text_str(&q->conditions));
}

/* Versions that a snapshot saw and that are dead by now. Whoever deleted one is not older than its xmin. */
static void add_dead(query *q)
{
    lic_text_add_literal(&q->sql, " UNION ALL ");
    add_versions(q, LIC_STR("deleted_xid < '9223372036854775807' AND "
                            "deleted_xid >= pg_catalog.pg_snapshot_xmin($2::pg_catalog.pg_snapshot)"));
    lic_text_add_literal(&q->sql, " AND NOT ");
    add_visible(&q->sql, LIC_STR("deleted_xid"));
}

/* The limit is the first parameter. */
static void add_rows(query *q)
{
    lic_text_add_literal(&q->sql, " UNION ALL (SELECT NULL::pg_catalog.pg_snapshot, NULL::timestamptz, NULL::uuid, "
                                  "NULL::xid8, NULL::bigint, r.* FROM (");
    add_versions(q, LIC_STR(LIVES));
    if (q->at != NULL)
        add_dead(q);
    lic_text_add_literal(&q->sql, ") r ORDER BY " NAMES " LIMIT $1::bigint)");
}

/* Which rows; filter NULL: none. */
static void add_conditions(query *q, const lic_filter *filter, const lic_instant *now)
{
    if (filter == NULL) {
        lic_text_add_literal(&q->conditions, " AND false");
        return;
    }
    add_resource(q, filter);
    add_subject(q, filter);
    if (filter->one_form)
        add_form(q, filter);
    if (now != NULL)
        add_unexpired(q, *now);
}

static void make(query *q, const lic_filter *filter, const lic_instant *now, size_t most)
{
    begin_value(q);
    lic_text_add_u64(&q->values, most);
    end_value(q);
    if (q->at != NULL) {
        begin_value(q);
        lic_pg_snapshot_print(q->at, &q->values);
        end_value(q);
    }
    add_conditions(q, filter, now);
    add_store(q);
    add_rows(q);
    lic_text_add_char(&q->sql, '\0');
}

static licet_status run(const query *q, lic_pg_link *link, lic_pg_wait wait, PGresult **result, licet_error **error)
{
    const lic_pg_statement statement = { .sql = q->sql.data, .parameter_count = q->count };
    lic_pg_parameter       parameters[PARAMETERS];

    *result = NULL;
    if (q->sql.failed || q->conditions.failed || q->values.failed)
        return lic_fail_memory(error);
    for (int i = 0; i < q->count; i++)
        parameters[i] = (lic_pg_parameter){ .data = q->values.data + q->begins[i] };
    return lic_pg_run(link, &statement, parameters, wait, result, error);
}

/* The names of the query are set. The result is the caller's. */
static licet_status ask(query *q, lic_memory *memory, const lic_filter *filter, const lic_instant *now, size_t most,
                        lic_pg_link *link, lic_pg_wait wait, PGresult **result, licet_error **error)
{
    licet_status status;

    query_begin(q, memory);
    make(q, filter, now, most);
    status = run(q, link, wait, result, error);
    query_end(q);
    if (status == LICET_OK && PQnfields(*result) != COLUMNS)
        status = fail_answer(error);
    return status;
}

/* ------------------------------------------------------------------ the answer */

/* -1: there is none. */
static int find_store_row(const PGresult *result)
{
    for (int i = 0; i < PQntuples(result); i++)
        if (!PQgetisnull(result, i, SNAPSHOT))
            return i;
    return -1;
}

static licet_status read_store(const PGresult *result, lic_arena *arena, lic_pg_prefetched *fetched,
                               licet_error **error)
{
    const int row = find_store_row(result);
    lic_str   wire;
    lic_str   mark;
    int64_t   now_us;
    int64_t   horizon;
    int64_t   version;

    if (!lic_pg_get_bytes(result, row, SNAPSHOT, &wire) || !lic_pg_get_time_us(result, row, CLOCK, &now_us) ||
        !lic_pg_get_bytes(result, row, MARK, &mark) || mark.size != sizeof fetched->mark ||
        !lic_pg_get_i64(result, row, HORIZON, &horizon) || !lic_pg_get_i64(result, row, VERSION, &version))
        return fail_answer(error);
    memcpy(fetched->mark, mark.data, mark.size);
    fetched->gc_horizon      = (uint64_t)horizon;
    fetched->schema_version  = (uint64_t)version;
    fetched->now.seconds     = now_us / MICROSECONDS - (now_us % MICROSECONDS < 0);
    fetched->now.nanoseconds = (uint32_t)(now_us - fetched->now.seconds * MICROSECONDS) * 1000;
    fetched->row_count       = (size_t)PQntuples(result) - 1;
    return lic_pg_snapshot_receive(arena, wire, &fetched->current, error);
}

/* Going through the relationships of an answer. */
typedef struct going {
    const PGresult *result;
    int             store_row;
    int             next;
    bool            has_before;
    lic_pg_fields   before;
} going;

static going begin_going(const PGresult *result)
{
    return (going){ .result = result, .store_row = find_store_row(result) };
}

static bool is_behind(const lic_pg_fields *fields, const lic_pg_fields *before)
{
    int order = 0;

    for (int i = 0; i < 6 && order == 0; i++)
        order = lic_str_compare(fields->items[i], before->items[i]);
    return order > 0;
}

/* *found is false at the end. A row that does not lie behind the one before is none that was asked for. */
static licet_status next_row(going *g, lic_pg_fields *fields, bool *found, licet_error **error)
{
    if (g->next == g->store_row)
        g->next++;
    *found = g->next < PQntuples(g->result);
    if (!*found)
        return LICET_OK;
    if (!lic_pg_fields_of_result(g->result, g->next++, FIRST_FIELD, fields) ||
        (g->has_before && !is_behind(fields, &g->before)))
        return fail_answer(error);
    g->before     = *fields;
    g->has_before = true;
    return LICET_OK;
}

/* ------------------------------------------------------------------- the graph */

static licet_status add_row(lic_store *store, lic_store_import *import, const lic_pg_reader *reader,
                            const lic_pg_fields *fields, licet_error **error)
{
    lic_store_change change;
    bool             skip;
    licet_status     status = lic_pg_row_touch(reader, fields, &change, &skip, error);

    if (status == LICET_OK && !skip)
        status = store->methods->import_add(store, import, &change, 1, error);
    lic_store_changes_end(&change, 1);
    lic_arena_free(reader->arena);
    return status;
}

static licet_status add_all(lic_store *store, const lic_pg_reader *reader, const PGresult *result, licet_error **error)
{
    going             g      = begin_going(result);
    lic_store_import *import = NULL;
    bool              found  = true;
    lic_pg_fields     fields;
    lic_store_outcome outcome;
    licet_status      status;

    LIC_TRY(store->methods->import_begin(store, NULL, &import, error));
    while (status == LICET_OK && found) {
        status = next_row(&g, &fields, &found, error);
        if (status == LICET_OK && found)
            status = add_row(store, import, reader, &fields, error);
    }
    if (status == LICET_OK)
        status = store->methods->import_commit(store, import, NULL, &outcome, error);
done:
    store->methods->import_end(store, import);
    return status;
}

/* By way of a store in memory that ends before the graph does. */
static licet_status fill(const lic_pg_wanted *wanted, lic_instant now, lic_graph *graph, const PGresult *result,
                         licet_error **error)
{
    const lic_store_host host  = { .memory = wanted->host->memory, .names = wanted->host->names, .graph = graph };
    lic_store           *store = lic_memory_store_new(&host);
    lic_arena            arena;
    lic_pg_shape         shapes[LIC_PG_SHAPES] = { { .typed = { 0 } } };
    const lic_pg_reader  reader                = { &host, wanted->program, now, &arena, shapes };
    licet_status         status;

    if (store == NULL)
        return lic_fail_memory(error);
    lic_arena_init(&arena, host.memory);
    status = add_all(store, &reader, result, error);
    lic_arena_free(&arena);
    store->methods->free(store);
    return status;
}

static licet_status make_graph(const lic_pg_wanted *wanted, const PGresult *result, lic_pg_prefetched *fetched,
                               licet_error **error)
{
    const lic_graph_options options = { .no_threads = true, .release_payload = lic_attribute_release_payload };
    licet_status            status;

    fetched->graph = lic_graph_new(wanted->host->memory, wanted->host->names, &options);
    if (fetched->graph == NULL)
        return lic_fail_memory(error);
    status = fill(wanted, fetched->now, fetched->graph, result, error);
    if (status != LICET_OK) {
        lic_graph_free(fetched->graph);
        fetched->graph = NULL;
    }
    return status;
}

/* ------------------------------------------------------------------- the whole */

/* datastore.md E4: what was deleted from the snapshot's xmin on is still there. */
static licet_status check_past(const lic_pg_wanted *wanted, const lic_pg_prefetched *fetched, licet_error **error)
{
    if (wanted->at == NULL || fetched->gc_horizon <= wanted->at->xmin)
        return LICET_OK;
    return lic_fail(error, LICET_REVISION_EXPIRED, LICET_KIND_TOKEN, LIC_NOWHERE,
                    "the revision is older than what garbage collection has left");
}

static licet_status check_size(const lic_pg_wanted *wanted, const lic_pg_prefetched *fetched, licet_error **error)
{
    if (fetched->row_count <= wanted->most_rows)
        return LICET_OK;
    return lic_fail(error, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, LIC_NOWHERE,
                    "the request touches more than the %zu relationships that are fetched for one", wanted->most_rows);
}

/* *selects: the filter is one that can select anything, under this schema. */
static licet_status compile(const lic_pg_wanted *wanted, lic_filter *filter, bool *selects, licet_error **error)
{
    licet_status status = lic_filter_compile(wanted->program, wanted->need->filter, LIC_FILTER_EXPORT, filter, NULL);

    *selects = status == LICET_OK && may_select(filter);
    return status == LICET_OUT_OF_MEMORY ? lic_fail_memory(error) : LICET_OK;
}

licet_status lic_pg_fetch_rows(lic_pg_link *link, lic_str schema, const lic_pg_wanted *wanted, lic_pg_wait wait,
                               lic_arena *arena, lic_pg_prefetched *fetched, licet_error **error)
{
    query        q      = { .schema = schema, .names = wanted->host->names, .at = wanted->at };
    PGresult    *result = NULL;
    lic_filter   filter;
    bool         selects;
    licet_status status;

    *fetched = (lic_pg_prefetched){ .graph = NULL };
    LIC_TRY(compile(wanted, &filter, &selects, error));
    LIC_TRY(ask(&q, wanted->host->memory, selects ? &filter : NULL, NULL, wanted->most_rows + 1, link, wait, &result,
                error));
    LIC_TRY(read_store(result, arena, fetched, error));
    LIC_TRY(check_past(wanted, fetched, error));
    if (fetched->schema_version == wanted->schema_version) {
        LIC_TRY(check_size(wanted, fetched, error));
        LIC_TRY(make_graph(wanted, result, fetched, error));
    }
    fetched->snapshot = wanted->at != NULL ? *wanted->at : fetched->current;
done:
    PQclear(result);
    return status;
}

/* ------------------------------------------------------- without a graph */

static bool put_row(const lic_store_change *change, lic_arena *arena, lic_row *row)
{
    *row = (lic_row){ .edge = { { change->typed.resource, LIC_NO_NODE }, { change->typed.subject, LIC_NO_NODE } },
                      .resource_id = lic_arena_str(arena, change->resource_id),
                      .subject_id  = lic_arena_str(arena, change->subject_id) };
    if (!lic_str_given(row->resource_id) || !lic_str_given(row->subject_id))
        return false;
    if (!lic_attribute_given(&change->attribute))
        return true;
    row->attribute = lic_row_attribute_new(arena, &change->attribute);
    return row->attribute != NULL;
}

static licet_status put_rows(const lic_pg_reader *reader, const PGresult *result, lic_arena *arena, lic_rows *rows,
                             licet_error **error)
{
    going            g      = begin_going(result);
    bool             found  = true;
    licet_status     status = LICET_OK;
    lic_pg_fields    fields;
    lic_store_change change;
    bool             skip;

    rows->items = lic_new_array(arena, (size_t)PQntuples(result), lic_row);
    if (rows->items == NULL)
        return lic_fail_memory(error);
    while (status == LICET_OK) {
        status = next_row(&g, &fields, &found, error);
        if (status != LICET_OK || !found)
            return status;
        status = lic_pg_row_touch(reader, &fields, &change, &skip, error);
        if (status == LICET_OK && !skip && !put_row(&change, arena, &rows->items[rows->count++]))
            status = lic_fail_memory(error);
        lic_store_changes_end(&change, 1);
    }
    return status;
}

licet_status lic_pg_read_rows(lic_pg_link *link, lic_str schema, const lic_store_host *host, const lic_program *program,
                              const lic_filter *filter, const lic_instant *now, size_t most, lic_pg_wait wait,
                              lic_arena *arena, lic_rows *rows, licet_error **error)
{
    const lic_instant   ever   = { INT64_MIN, 0 };
    const lic_pg_reader reader = { host, program, now != NULL ? *now : ever, arena, NULL };
    query               q      = { .schema = schema, .names = host->names };
    PGresult           *result = NULL;
    licet_status        status;

    *rows = (lic_rows){ NULL, 0 };
    LIC_TRY(ask(&q, host->memory, may_select(filter) ? filter : NULL, now, most, link, wait, &result, error));
    LIC_TRY(put_rows(&reader, result, arena, rows, error));
done:
    if (status != LICET_OK)
        *rows = (lic_rows){ NULL, 0 };
    PQclear(result);
    return status;
}

/* One catch-up: a look at the server's snapshot, and only when that is another one, the query for what changed. */
#include "datastore/postgres/standing.h"

#include <assert.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/map.h"
#include "datastore/memory/memory.h"
#include "datastore/postgres/load.h"
#include "datastore/postgres/migration.h"
#include "datastore/postgres/rows.h"

#define XIP_ALARM 1000u  /* so many running transactions at once: somebody has forgotten one */
#define ANSWER_MS 30000u /* who has not answered by then has stopped; another may take its place */
#define MUCH_NEWS 2u     /* so many times in a row: then no time is lost with asking whether there are any */
#define CHANGES_FIRST 6  /* column of a change's row, and so of rt */
#define CHANGES_DELETED (CHANGES_FIRST - 1 + LIC_PG_ROW_FIELDS)
#define CHANGES_METADATA (CHANGES_DELETED + 1)  /* in a row that has nothing else */
#define CHANGES_COLLECTED (CHANGES_DELETED + 2) /* it had expired, and garbage collection ended it */

static licet_status fail_answer(licet_error **error)
{
    return lic_fail(error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, LIC_NOWHERE,
                    "the database's answer is not what was asked for");
}

/* ------------------------------------------------------------------- the clock */

/* Of a round trip that took long nothing can be said. */
void lic_pg_set_clock(lic_pg_store *store, int64_t asked_ns, int64_t clock_us)
{
    const int64_t answered_ns = lic_boot_ns();

    if (answered_ns - asked_ns < 1000000000)
        atomic_store_explicit(&store->base.clock_offset_ns, clock_us * 1000 - (asked_ns / 2 + answered_ns / 2),
                              memory_order_relaxed);
}

lic_instant lic_pg_now(const lic_pg_store *store)
{
    const int64_t offset = atomic_load_explicit(&store->base.clock_offset_ns, memory_order_relaxed);

    return lic_instant_of(offset == LIC_STORE_CLOCK_NOT_KNOWN ? 0 : lic_boot_ns() + offset);
}

/* ------------------------------------------------------------------- standing */

void lic_pg_standing_free(lic_pg_store *store)
{
    lic_pg_standing *s = &store->follower.standing;

    licet_schema_release((licet_schema *)s->schema);
    s->schema = NULL;
    lic_arena_free(&s->arena);
}

/* What was sent, and what it means. The old ones' memory goes when both are there. */
static licet_status keep_snapshot(lic_pg_store *store, lic_str wire, licet_error **error)
{
    lic_pg_standing *s = &store->follower.standing;
    lic_arena        arena;
    lic_pg_snapshot  snapshot;
    lic_str          kept;
    licet_status     status;

    lic_arena_init(&arena, store->host.memory);
    status = lic_pg_snapshot_receive(&arena, wire, &snapshot, error);
    kept   = lic_arena_str(&arena, wire);
    if (status == LICET_OK && !lic_str_given(kept))
        status = lic_fail_memory(error);
    if (status != LICET_OK) {
        lic_arena_free(&arena);
        return status;
    }
    lic_arena_free(&s->arena);
    s->arena    = arena;
    s->snapshot = snapshot;
    s->wire     = kept;
    if (snapshot.xip_count > XIP_ALARM)
        lic_pg_log(store, LICET_LOG_WARNING,
                   LIC_STR("more than 1,000 transactions are open in the database: is a prepared one forgotten?"));
    return LICET_OK;
}

void lic_pg_log(const lic_pg_store *store, licet_log_level level, lic_str message)
{
    if (store->host.log.write != NULL)
        store->host.log.write(store->host.log.context, level, message);
}

/* Under the follower's lock for those who ask which schema that is. */
static void set_schema(lic_pg_store *store, uint64_t version)
{
    lic_pg_follower *f   = &store->follower;
    licet_schema    *old = (licet_schema *)f->standing.schema;
    licet_schema    *now;
    lic_snapshot     head;

    lic_snapshot_pin(store->host.graph, &head);
    now = (licet_schema *)lic_schemas_at(store->host.schemas, head.revision);
    licet_schema_retain(now);
    lic_snapshot_unpin(&head);
    lic_mutex_lock(&f->lock);
    f->standing.schema         = now;
    f->standing.schema_version = version;
    lic_mutex_unlock(&f->lock);
    licet_schema_release(old);
}

/* ------------------------------------------------------------------- schemas */

static licet_status parse_schema(lic_pg_store *store, lic_str text, licet_schema **schema, licet_error **error)
{
    licet_schema_request request = LICET_SCHEMA_REQUEST_INIT;
    licet_error         *cause   = NULL;
    licet_status         status;

    request.text = text;
    lic_graph_lock(store->host.graph); /* names may be added */
    status = lic_schema_new(store->host.memory, store->host.names, &request, schema, &cause);
    lic_graph_unlock(store->host.graph);
    if (status == LICET_OK)
        return LICET_OK;
    if (status != LICET_OUT_OF_MEMORY) {
        const lic_str said = licet_error_message(cause);

        status = lic_fail(error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, LIC_NOWHERE,
                          "the schema in the database can not be used: %.*s", LIC_STR_ARG(said));
    } else
        lic_fail_memory(error);
    licet_error_free(cause);
    return status;
}

/* Versions never change, so it does not matter that this is another snapshot. */
licet_status lic_pg_read_schema(lic_pg_store *store, lic_pg_link *link, uint64_t version, lic_pg_wait wait,
                                licet_schema **schema, licet_error **error)
{
    char             number[24];
    lic_pg_parameter parameter = { number, 0, 0 };
    PGresult        *result    = NULL;
    lic_str          text      = LIC_STR("");
    licet_status     status    = LICET_OK;

    if (version != 0) {
        snprintf(number, sizeof number, "%llu", (unsigned long long)version);
        status = lic_pg_run(link, &store->statements->items[LIC_PG_SCHEMA_TEXT], &parameter, wait, &result, error);
        if (status == LICET_OK && (PQntuples(result) != 1 || !lic_pg_get_text(result, 0, 0, &text)))
            status = fail_answer(error);
    }
    if (status == LICET_OK)
        status = parse_schema(store, text, schema, error);
    PQclear(result);
    return status;
}

/* --------------------------------------------------------------- what changed */

typedef struct changing {
    lic_pg_store     *store;
    const PGresult   *result;
    lic_arena         arena;
    lic_pg_reader     reader;
    lic_map           keys; /* of relationships -> index of the change */
    lic_store_change *changes;
    size_t            count;
    bool             *told;      /* of each change: it is more than that garbage was collected */
    lic_store_change *forgotten; /* those that are not, once they were set aside */
    size_t            forgotten_count;
    lic_str           metadata; /* of the transactions; not given: none */
    licet_schema     *schema;   /* the new one; NULL: none */
    licet_error     **error;
} changing;

static licet_status add_change(changing *c, int row, const lic_pg_fields *fields)
{
    int64_t  deleted;
    lic_text key;
    lic_str  kept;
    uint32_t index;
    bool     added;
    bool     collected = false;
    bool     skip      = false;
    bool     failed    = false;

    if (!lic_pg_get_i64(c->result, row, CHANGES_DELETED, &deleted))
        return fail_answer(c->error);
    lic_text_init(&key, c->store->host.memory);
    lic_pg_fields_key(fields, &key);
    kept   = key.failed ? (lic_str){ NULL, 0 } : lic_arena_str(&c->arena, lic_text_str(&key));
    failed = !lic_str_given(kept) || !lic_map_add(&c->keys, kept, (uint32_t)c->count, &index);
    lic_text_free(&key);
    if (failed)
        return lic_fail_memory(c->error);
    added = index == c->count;
    (void)lic_pg_get_bool(c->result, row, CHANGES_COLLECTED, &collected);
    c->told[index] |= !collected;
    if (deleted != INT64_MAX) /* dead: that is its state, unless there is a living version */
        return added ? lic_pg_row_delete(&c->reader, fields, &c->changes[c->count++], c->error) : LICET_OK;
    if (added)
        c->count++;
    else
        lic_store_changes_end(&c->changes[index], 1);
    {
        licet_status status = lic_pg_row_touch(&c->reader, fields, &c->changes[index], &skip, c->error);

        /* What has expired and fits no more is as good as gone. */
        return status == LICET_OK && skip ? lic_pg_row_delete(&c->reader, fields, &c->changes[index], c->error)
                                          : status;
    }
}

static licet_status read_changes(changing *c)
{
    const int     rows   = PQntuples(c->result);
    licet_status  status = LICET_OK;
    lic_pg_fields fields;

    c->changes = lic_new_array(&c->arena, (size_t)rows, lic_store_change);
    c->told    = lic_new_array(&c->arena, (size_t)rows, bool);
    if (c->changes == NULL || c->told == NULL)
        return lic_fail_memory(c->error);
    for (int i = 0; i < rows && status == LICET_OK; i++) {
        if (!lic_pg_fields_of_result(c->result, i, CHANGES_FIRST - 1, &fields))
            status = fail_answer(c->error);
        else if (lic_pg_fields_given(&fields))
            status = add_change(c, i, &fields);
        else if (PQgetisnull(c->result, i, CHANGES_METADATA) == 0 &&
                 !lic_pg_get_text(c->result, i, CHANGES_METADATA, &c->metadata))
            status = fail_answer(c->error);
    }
    return status;
}

/* What garbage collection has ended is no change to be told: it leaves the graph in a revision of its own. */
static licet_status set_aside(changing *c)
{
    size_t kept = 0;

    for (size_t i = 0; i < c->count; i++)
        kept += c->told[i];
    if (kept == c->count)
        return LICET_OK;
    c->forgotten = lic_new_array(&c->arena, c->count - kept, lic_store_change);
    if (c->forgotten == NULL)
        return lic_fail_memory(c->error);
    kept = 0;
    for (size_t i = 0; i < c->count; i++) {
        if (c->told[i])
            c->changes[kept++] = c->changes[i];
        else
            c->forgotten[c->forgotten_count++] = c->changes[i];
    }
    c->count = kept;
    return LICET_OK;
}

static licet_status follow(changing *c, const lic_pg_snapshot *snapshot)
{
    lic_pg_store *store = c->store;
    uint64_t      revision;
    licet_status  status = lic_pg_marks_reserve(&store->marks, lic_graph_head(store->host.graph), snapshot, c->error);

    if (status == LICET_OK)
        status = lic_memory_follow(store->replica, &c->schema, c->metadata, c->changes, c->count, &revision, c->error);
    if (status != LICET_OK)
        return status;
    lic_pg_marks_add(&store->marks, revision);
    lic_pg_marks_trim(&store->marks, lic_graph_oldest(store->host.graph));
    return LICET_OK;
}

/* Comes last: until then what has expired is merely still there, and the snapshot is the same. */
static licet_status forget(changing *c, const lic_pg_snapshot *snapshot)
{
    lic_pg_store *store = c->store;
    uint64_t      revision;
    licet_status  status = lic_pg_marks_reserve(&store->marks, lic_graph_head(store->host.graph), snapshot, c->error);

    if (status == LICET_OK)
        status = lic_memory_forget(store->replica, c->forgotten, c->forgotten_count, &revision, c->error);
    if (status == LICET_OK)
        lic_pg_marks_add(&store->marks, revision);
    return status;
}

static licet_status apply_changes(changing *c)
{
    lic_pg_store   *store   = c->store;
    const bool      follows = c->count > 0 || c->schema != NULL;
    lic_arena       arena;
    lic_pg_snapshot snapshot;
    lic_str         wire;
    licet_status    status;

    lic_arena_init(&arena, store->host.memory);
    if (!lic_pg_get_bytes(c->result, 0, 0, &wire))
        LIC_TRY(fail_answer(c->error));
    LIC_TRY(lic_pg_snapshot_receive(&arena, wire, &snapshot, c->error));
    if (follows)
        LIC_TRY(follow(c, &snapshot));
    if (c->forgotten_count > 0)
        LIC_TRY(forget(c, &snapshot));
    if (!follows && c->forgotten_count == 0)
        LIC_TRY(lic_pg_marks_extend(&store->marks, &snapshot, c->error));
    LIC_TRY(keep_snapshot(store, wire, c->error));
done:
    lic_arena_free(&arena);
    return status;
}

static licet_status change(changing *c, lic_pg_link *link, lic_pg_wait wait, uint64_t version)
{
    lic_pg_store *store = c->store;
    licet_status  status;

    if (version != store->follower.standing.schema_version)
        LIC_TRY(lic_pg_read_schema(store, link, version, wait, &c->schema, c->error));
    c->reader.program = (c->schema != NULL ? c->schema : store->follower.standing.schema)->program;
    LIC_TRY(read_changes(c));
    LIC_TRY(set_aside(c));
    LIC_TRY(apply_changes(c));
    if (version != store->follower.standing.schema_version)
        set_schema(store, version);
done:
    return status;
}

/* Is this the database, and does it still have all that was deleted since? */
static bool is_comparable(const lic_pg_standing *s, lic_str mark, int64_t horizon)
{
    return mark.size == LIC_PG_MARK_BYTES && memcmp(mark.data, s->identity.mark, LIC_PG_MARK_BYTES) == 0 &&
           (uint64_t)horizon <= s->snapshot.xmin;
}

/* The same snapshot as before: it was asked in vain. */
static bool is_nothing_new(lic_pg_standing *s, const PGresult *result)
{
    lic_str wire;

    if (!lic_pg_get_bytes(result, 0, 0, &wire) || !lic_str_equal(wire, s->wire))
        return false;
    s->news = 0;
    return true;
}

static licet_status take_changes(lic_pg_store *store, lic_pg_link *link, const PGresult *result, lic_pg_wait wait,
                                 bool *too_much, licet_error **error)
{
    changing     c = { .store = store, .result = result, .error = error };
    lic_str      mark;
    int64_t      clock_us;
    int64_t      horizon;
    int64_t      version;
    uint64_t     head = lic_graph_head(store->host.graph);
    licet_status status;

    if (PQntuples(result) < 1 || !lic_pg_get_time_us(result, 0, 1, &clock_us) ||
        !lic_pg_get_bytes(result, 0, 2, &mark) || !lic_pg_get_i64(result, 0, 3, &horizon) ||
        !lic_pg_get_i64(result, 0, 4, &version))
        return fail_answer(error);
    lic_pg_set_clock(store, store->follower.asked_ns, clock_us);
    if (is_nothing_new(&store->follower.standing, result))
        return LICET_OK;
    *too_much = PQntuples(result) >= LIC_PG_MOST_CHANGES || !is_comparable(&store->follower.standing, mark, horizon);
    if (*too_much)
        return LICET_OK;
    lic_arena_init(&c.arena, store->host.memory);
    lic_map_init(&c.keys, store->host.memory, lic_random_key());
    c.reader = (lic_pg_reader){ .host = &store->host, .now = lic_pg_now(store), .arena = &c.arena };
    status   = change(&c, link, wait, (uint64_t)version);
    lic_store_changes_end(c.changes, c.count);
    licet_schema_release(c.schema);
    lic_map_free(&c.keys);
    lic_arena_free(&c.arena);
    if (status == LICET_OK && lic_graph_head(store->host.graph) != head && store->host.committed != NULL)
        store->host.committed(store->host.context);
    return status;
}

/* -------------------------------------------------------------------- asking */

static void print_running(const lic_pg_snapshot *snapshot, lic_text *out)
{
    lic_text_add_char(out, '{');
    for (size_t i = 0; i < snapshot->xip_count; i++) {
        if (i > 0)
            lic_text_add_char(out, ',');
        lic_text_add_u64(out, snapshot->xip[i]);
    }
    lic_text_add(out, (lic_str){ "}", 2 }); /* with its NUL */
}

static licet_status ask_changes(lic_pg_store *store, lic_pg_link *link, lic_pg_wait wait, licet_error **error)
{
    const lic_pg_snapshot *s = &store->follower.standing.snapshot;
    char                   xmax[24];
    char                   most[24];
    lic_text               running;
    licet_status           status;

    lic_text_init(&running, store->host.memory);
    print_running(s, &running);
    snprintf(xmax, sizeof xmax, "%llu", (unsigned long long)s->xmax);
    snprintf(most, sizeof most, "%d", LIC_PG_MOST_CHANGES);
    store->follower.asking   = LIC_PG_ASKING_CHANGES;
    store->follower.asked_ns = lic_boot_ns();
    if (running.failed)
        status = lic_fail_memory(error);
    else {
        const lic_pg_parameter parameters[3] = { { xmax, 0, 0 }, { running.data, 0, 0 }, { most, 0, 0 } };

        status = lic_pg_send(link, &store->statements->items[LIC_PG_CATCH_UP], parameters, wait, error);
    }
    lic_text_free(&running);
    return status;
}

licet_status lic_pg_ask(lic_pg_store *store, lic_pg_link *link, lic_pg_wait wait, licet_error **error)
{
    if (store->follower.standing.news >= MUCH_NEWS)
        return ask_changes(store, link, wait, error);
    store->follower.asking   = LIC_PG_ASKING_PROBE;
    store->follower.asked_ns = lic_boot_ns();
    return lic_pg_send(link, &store->statements->items[LIC_PG_PROBE], NULL, wait, error);
}

static void note_news(lic_pg_standing *s, bool same)
{
    if (same)
        s->news = 0;
    else if (s->news < MUCH_NEWS)
        s->news++;
}

/* Has anything drawn a transaction id since? */
static licet_status take_probe(lic_pg_store *store, const PGresult *result, bool *same, licet_error **error)
{
    lic_str wire;
    int64_t clock_us;

    if (PQntuples(result) != 1 || !lic_pg_get_bytes(result, 0, 0, &wire) ||
        !lic_pg_get_time_us(result, 0, 1, &clock_us))
        return fail_answer(error);
    *same = lic_str_equal(wire, store->follower.standing.wire);
    note_news(&store->follower.standing, *same);
    lic_pg_set_clock(store, store->follower.asked_ns, clock_us);
    return LICET_OK;
}

licet_status lic_pg_take_answer(lic_pg_store *store, lic_pg_link *link, lic_pg_wait wait, bool *too_much,
                                licet_error **error)
{
    PGresult    *result = NULL;
    bool         same   = false;
    licet_status status = lic_pg_receive(link, wait, &result, error);

    *too_much = false;
    if (status == LICET_OK && store->follower.asking == LIC_PG_ASKING_PROBE) {
        status = take_probe(store, result, &same, error);
        PQclear(result);
        result = NULL;
        if (status != LICET_OK || same)
            return status;
        LIC_TRY(ask_changes(store, link, wait, error));
        LIC_TRY(lic_pg_receive(link, wait, &result, error));
    }
    if (status == LICET_OK)
        status = take_changes(store, link, result, wait, too_much, error);
done:
    PQclear(result);
    return status;
}

/* ---------------------------------------------------------------- a new link */

/* Is it what tokens are bound to? */
static bool is_same_past(const lic_pg_standing *s, const lic_pg_server *server, lic_str mark)
{
    const lic_str known = { (const char *)s->identity.mark, LIC_PG_MARK_BYTES };

    return s->is_identified && server->timeline == s->identity.timeline && lic_str_equal(mark, known);
}

/* What is of another database, or of another past of this one, must not be used any longer, however young it is; nor may
 * its marks be told with the new identity. So that goes between. */
static void change_identity(lic_pg_store *store, const lic_pg_server *server, const lic_pg_begin *begin)
{
    lic_pg_follower *f = &store->follower;
    licet_schema    *old;

    atomic_store_explicit(&store->base.fresh_until_ms, 0, memory_order_release);
    if (!is_same_past(&f->standing, server, begin->mark))
        atomic_store_explicit(&store->past_begins, lic_graph_head(store->host.graph) + 1, memory_order_release);
    lic_mutex_lock(&f->lock);
    f->standing.is_identified  = false;
    old                        = (licet_schema *)f->standing.schema; /* versions of the other begin anew */
    f->standing.schema         = NULL;
    f->standing.schema_version = 0;
    lic_mutex_unlock(&f->lock);
    licet_schema_release(old);
    lic_pg_marks_clear(&store->marks);
    lic_mutex_lock(&f->lock);
    memcpy(f->standing.identity.mark, begin->mark.data, LIC_PG_MARK_BYTES);
    memcpy(f->standing.identity.key, begin->key.data, LIC_PG_KEY_BYTES);
    f->standing.identity.timeline = server->timeline;
    f->standing.server            = *server;
    f->standing.is_identified     = true;
    lic_mutex_unlock(&f->lock);
}

/* Are its transaction ids the ones that the graph knows? A server that crashed hands out again what it had not flushed. */
static bool is_same_server(const lic_pg_standing *s, const lic_pg_server *server, lic_str mark)
{
    return s->is_identified && server->timeline == s->server.timeline &&
           server->started_at_us == s->server.started_at_us && server->crashed_at_us == s->server.crashed_at_us &&
           memcmp(mark.data, s->identity.mark, LIC_PG_MARK_BYTES) == 0;
}

static licet_status load_all(lic_pg_store *store, lic_pg_link *link, const lic_pg_begin *begin, lic_pg_wait wait,
                             licet_error **error)
{
    lic_pg_follower *f = &store->follower;
    licet_status     status;

    f->standing.is_loaded = false;
    LIC_TRY(lic_pg_load_rows(store, link, begin, lic_pg_now(store), wait, error));
    LIC_TRY(keep_snapshot(store, begin->wire, error));
    set_schema(store, begin->version);
    f->standing.is_loaded = true;
    lic_mutex_lock(&f->lock);
    f->loads++;
    lic_mutex_unlock(&f->lock);
    if (store->host.committed != NULL)
        store->host.committed(store->host.context);
done:
    return status;
}

static licet_status read_begin(lic_pg_store *store, const PGresult *result, lic_pg_begin *begin, licet_error **error)
{
    int64_t clock_us;
    int64_t version;

    if (PQntuples(result) != 1 || !lic_pg_get_bytes(result, 0, 0, &begin->wire) ||
        !lic_pg_get_time_us(result, 0, 1, &clock_us) || !lic_pg_get_bytes(result, 0, 2, &begin->mark) ||
        !lic_pg_get_i64(result, 0, 3, &begin->horizon) || !lic_pg_get_i64(result, 0, 4, &version) ||
        !lic_pg_get_bytes(result, 0, 5, &begin->key) || begin->mark.size != LIC_PG_MARK_BYTES ||
        begin->key.size != LIC_PG_KEY_BYTES)
        return fail_answer(error);
    begin->version = (uint64_t)version;
    lic_pg_set_clock(store, store->follower.asked_ns, clock_us);
    return LICET_OK;
}

/* Only a load takes longer; its rows keep coming. */
static lic_pg_wait soon(const lic_pg_store *store)
{
    return lic_pg_store_wait(store, lic_monotonic_ms() + ANSWER_MS);
}

licet_status lic_pg_stand(lic_pg_store *store, lic_pg_link *link, lic_pg_wait wait, licet_error **error)
{
    lic_pg_standing   *s      = &store->follower.standing;
    lic_pg_begin       begin  = { .horizon = 0 };
    PGresult          *result = NULL;
    lic_pg_store_facts facts;
    licet_status       status;

    if (lic_pg_link_server(link)->is_standby)
        return lic_fail(error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, LIC_NOWHERE,
                        "the server is a standby: its primary has to be asked");
    LIC_TRY(lic_pg_check_store(link, store->host.memory, store->settings.schema, soon(store), &facts, error));
    LIC_TRY(lic_pg_command(link, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", soon(store), error));
    store->follower.asked_ns = lic_boot_ns();
    LIC_TRY(lic_pg_run(link, &store->statements->items[LIC_PG_BEGIN_LOAD], NULL, soon(store), &result, error));
    LIC_TRY(read_begin(store, result, &begin, error));
    assert(lic_str_given(begin.mark) && lic_str_given(begin.key));
    if (!is_same_server(s, lic_pg_link_server(link), begin.mark)) {
        s->is_loaded = false;
        change_identity(store, lic_pg_link_server(link), &begin);
    }
    if (!s->is_loaded || !is_comparable(s, begin.mark, begin.horizon))
        LIC_TRY(load_all(store, link, &begin, wait, error));
    LIC_TRY(lic_pg_command(link, "COMMIT", soon(store), error));
done:
    PQclear(result);
    return status;
}

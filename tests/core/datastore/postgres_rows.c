/* core/datastore/postgres/fetch_rows.c, through the public functions, on the server that LICET_TEST_POSTGRES names: of an
 * engine that fetches what each request needs, reads, exports and changes of the schema are those of an engine in memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "datastore/postgres/fetch_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "check_world.h"
#include "engine_world.h"
#include "pg_database.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define NOT_EMPTY "a validation file is loaded into an engine without schema and relationships; this one has some"
#define LONG ((lic_pg_wait){ lic_monotonic_ms() + 120000, NULL })

/* Two engines that are given the same. */
typedef struct database {
    pg_database  tables;
    engine_world memory;
    engine_world prefetch;
} database;

static const char SCHEMA[] =
    "use expiration\n"
    "caveat ticket(n int, m string) { n == 1 && m != 'x' }\n"
    "definition user {}\n"
    "definition group {\n"
    "  relation member: user | group#member\n"
    "  relation seen: user | user:*\n"
    "  permission all = member\n"
    "}\n"
    "definition doc {\n"
    "  relation parent: doc | group\n"
    "  relation member: user\n"
    "  relation viewer: user | user:* | group#member | user with ticket | user with expiration |"
    " user with ticket and expiration | group#all with ticket\n"
    "  permission view = viewer + parent->view + member\n"
    "}\n";

/* Ids that a pattern, another collation or another case would confuse. */
static const char ROWS[] = "doc:a#viewer@user:ana\n"
                           "doc:a#viewer@user:*\n"
                           "doc:a#viewer@group:a#member\n"
                           "doc:a#viewer@group:a#all[ticket:{\"n\":1}]\n"
                           "doc:a#viewer@user:bo[ticket:{\"n\":2,\"m\":\"\\u0000 ü\"}]\n"
                           "doc:a#viewer@user:cy[expiration:2200-01-02T03:04:05.123456789Z]\n"
                           "doc:a#viewer@user:dot[ticket][expiration:2200-01-02T03:04:05Z]\n"
                           "doc:a#parent@doc:b\n"
                           "doc:a#parent@group:a\n"
                           "doc:a#member@user:ana\n"
                           "doc:A#viewer@user:ana\n"
                           "doc:aa#viewer@user:ana\n"
                           "doc:ab#viewer@user:*\n"
                           "doc:a_b#viewer@user:ana\n"
                           "doc:a-b#viewer@user:a_b\n"
                           "doc:a|b#viewer@user:a|b\n"
                           "doc:a|#viewer@user:ana\n"
                           "doc:a=/+#viewer@user:ana\n"
                           "doc:b#parent@doc:a\n"
                           "doc:b#member@user:bo\n"
                           "group:a#member@user:ana\n"
                           "group:a#seen@user:*\n"
                           "group:a#member@group:b#member\n"
                           "group:b#member@user:a-b\n"
                           "group:|#member@user:ana\n";

static const char *ask(const database *d, const char *sql)
{
    return pg_ask(&d->tables, sql);
}

/* A row that our functions would not have stored. */
static void store_row(const database *d, const char *values)
{
    char text[512];

    ask(d, "SET session_replication_role = replica");
    snprintf(text, sizeof text, "INSERT INTO {schema}.rel (rt, ri, rr, st, si, sr) VALUES (%s)", values);
    ask(d, text);
    ask(d, "RESET session_replication_role");
}

static void open_engine(const database *d, engine_world *w, const licet_options *like)
{
    pg_database tables = d->tables;

    tables.options                 = *like;
    tables.options.postgres_schema = d->tables.options.postgres_schema;
    pg_database_open(&tables, w);
}

static void open_mode(const database *d, engine_world *w, licet_mode mode)
{
    licet_options options = LICET_OPTIONS_INIT;

    options.mode            = mode;
    options.wait_timeout_ms = 60000; /* a busy machine, and sanitizers */
    open_engine(d, w, &options);
}

static void database_open(database *d, const char *schema, const char *lines)
{
    pg_database_begin(&d->tables);
    pg_database_migrate(&d->tables);
    open_mode(d, &d->prefetch, LICET_MODE_PREFETCH);
    world_schema(&d->prefetch, schema);
    world_done(&d->prefetch);
    world_open(&d->memory, NULL, schema, lines);
    if (lines != NULL) {
        world_touch(&d->prefetch, lines);
        world_done(&d->prefetch);
    }
}

static void database_close(database *d)
{
    world_close(&d->memory);
    world_close(&d->prefetch);
    pg_database_end(&d->tables);
}

static void both_touch(database *d, const char *lines)
{
    world_touch(&d->memory, lines);
    world_done(&d->memory);
    world_touch(&d->prefetch, lines);
    world_done(&d->prefetch);
}

/* --------------------------------------------------------------------- reading */

typedef struct told {
    char   lines[128][256];
    size_t count;
    char   failure[512]; /* status and message; empty: none */
    char   cursor[512];  /* behind the last */
    char   token[4096];
} told;

static int compare_lines(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void sort(told *t)
{
    qsort(t->lines, t->count, sizeof t->lines[0], compare_lines);
}

static void assert_same(const told *a, const told *b, const char *what)
{
    if (strcmp(a->failure, b->failure) != 0)
        fail_msg("%s: \"%s\" and \"%s\"", what, a->failure, b->failure);
    for (size_t i = 0; i < a->count && i < b->count; i++)
        if (strcmp(a->lines[i], b->lines[i]) != 0)
            fail_msg("%s: %s and %s", what, a->lines[i], b->lines[i]);
    if (a->count != b->count)
        fail_msg("%s: %zu and %zu rows", what, a->count, b->count);
}

static void put_text(char *out, size_t room, licet_str text)
{
    snprintf(out, room, "%.*s", (int)text.size, text.size > 0 ? text.data : "");
}

static void put_failure(told *t, licet_status status, licet_error *error)
{
    const licet_str reason = licet_error_reason(error);

    if (status != LICET_OK)
        snprintf(t->failure, sizeof t->failure, "%d %d %.*s %.*s", (int)status, (int)licet_error_kind(error),
                 LIC_STR_ARG(reason), LIC_STR_ARG(licet_error_message(error)));
    licet_error_free(error);
}

static void drain(told *t, licet_stream *stream, licet_status status, licet_error *error)
{
    licet_relationship relationship = LICET_RELATIONSHIP_INIT;
    licet_token        token;
    bool               found = true;

    while (status == LICET_OK && found) {
        licet_buffer line = LICET_BUFFER_INIT;

        status = licet_stream_next_relationship(stream, &relationship, &found, &error);
        if (status != LICET_OK || !found)
            break;
        assert_true(t->count < COUNT(t->lines));
        assert_int_equal(licet_relationship_format(&relationship, &line, NULL), LICET_OK);
        put_text(t->lines[t->count++], sizeof t->lines[0], (licet_str){ line.data, line.size });
        licet_buffer_clear(&line);
    }
    if (stream != NULL) {
        put_text(t->cursor, sizeof t->cursor, licet_stream_cursor(stream));
        licet_stream_token(stream, &token);
        put_text(t->token, sizeof t->token, text_of(token.text));
    }
    put_failure(t, status, error);
    licet_stream_release(stream);
}

static told *read_rows(const engine_world *w, const licet_read_request *request)
{
    told         *t      = calloc(1, sizeof *t);
    licet_stream *stream = NULL;
    licet_error  *error  = NULL;
    licet_status  status = licet_read_relationships(w->engine, request, &stream, &error);

    assert_non_null(t);
    drain(t, stream, status, error);
    return t;
}

static told *export_rows(const engine_world *w, const licet_filter *filter)
{
    licet_export_request request = LICET_EXPORT_REQUEST_INIT;
    told                *t       = calloc(1, sizeof *t);
    licet_stream        *stream  = NULL;
    licet_error         *error   = NULL;
    licet_status         status;

    assert_non_null(t);
    request.filter = *filter;
    status         = licet_export_relationships(w->engine, &request, &stream, &error);
    drain(t, stream, status, error);
    return t;
}

static void describe(const licet_filter *f, char *out, size_t room)
{
    const licet_str fields[] = { f->resource_type, f->resource_id, f->resource_id_prefix, f->relation,
                                 f->subject_type,  f->subject_id,  f->subject_relation };
    size_t          size     = 0;

    for (size_t i = 0; i < COUNT(fields); i++)
        size += (size_t)snprintf(out + size, room - size, "%s%.*s ", fields[i].data == NULL ? "-" : "'",
                                 (int)fields[i].size, fields[i].data == NULL ? "" : fields[i].data);
}

static size_t assert_filter_same(const database *d, const licet_filter *filter)
{
    licet_read_request request = LICET_READ_REQUEST_INIT;
    char               what[256];
    told              *in_memory;
    told              *fetched;
    size_t             count;

    describe(filter, what, sizeof what);
    request.filter = *filter;
    in_memory      = read_rows(&d->memory, &request);
    fetched        = read_rows(&d->prefetch, &request);
    sort(in_memory);
    sort(fetched);
    assert_same(in_memory, fetched, what);
    free(in_memory);
    free(fetched);
    in_memory = export_rows(&d->memory, filter);
    fetched   = export_rows(&d->prefetch, filter);
    sort(in_memory);
    sort(fetched);
    assert_same(in_memory, fetched, what);
    count = fetched->count;
    free(in_memory);
    free(fetched);
    return count;
}

static size_t assert_subjects_same(const database *d, licet_filter *filter)
{
    static const char *const types[]     = { NULL, "user", "group", "no_such" };
    static const char *const ids[]       = { NULL, "ana", "*", "a" };
    static const char *const relations[] = { NULL, "", "member", "all", "no_such" };
    size_t                   count       = 0;

    for (size_t t = 0; t < COUNT(types); t++)
        for (size_t i = 0; i < COUNT(ids); i++)
            for (size_t r = 0; r < COUNT(relations); r++) {
                filter->subject_type     = text_of(types[t]);
                filter->subject_id       = text_of(ids[i]);
                filter->subject_relation = text_of(relations[r]);
                if (t > 0 || (i == 0 && r == 0))
                    count += assert_filter_same(d, filter);
            }
    return count;
}

static void every_filter_finds_what_it_finds_in_memory(void **state)
{
    static const char *const types[]     = { NULL, "doc", "group", "no_such" };
    static const char *const relations[] = { NULL, "viewer", "member", "view", "no_such" };
    static const char *const ids[]       = { NULL, "a", "nobody" };
    database                 d;
    size_t                   count = 0;

    (void)state;
    database_open(&d, SCHEMA, ROWS);
    for (size_t t = 0; t < COUNT(types); t++)
        for (size_t r = 0; r < COUNT(relations); r++)
            for (size_t i = 0; i < COUNT(ids); i++) {
                licet_filter filter = LICET_FILTER_INIT;

                filter.resource_type = text_of(types[t]);
                filter.relation      = text_of(relations[r]);
                filter.resource_id   = text_of(ids[i]);
                count += assert_subjects_same(&d, &filter);
            }
    assert_in_range(count, 500, 5000);
    database_close(&d);
}

static void a_prefix_is_no_pattern_and_bytes_are_bytes(void **state)
{
    static const struct {
        const char *prefix;
        size_t      count;
    } cases[] = { { "a", 20 }, { "A", 1 },    { "a_", 1 }, { "aa", 1 }, { "a|", 2 },   { "|", 1 },
                  { "a-", 1 }, { "a=/+", 1 }, { "b", 3 },  { "c", 0 },  { "a|bc", 0 }, { "_", 0 } };
    database d;

    (void)state;
    database_open(&d, SCHEMA, ROWS);
    for (size_t i = 0; i < COUNT(cases); i++) {
        licet_filter filter = LICET_FILTER_INIT;
        size_t       found;

        filter.resource_id_prefix = text_of(cases[i].prefix);
        found                     = assert_filter_same(&d, &filter);
        if (found != cases[i].count)
            fail_msg("\"%s\" finds %zu", cases[i].prefix, found);
        filter.resource_type = LICET_STR("doc");
        filter.relation      = LICET_STR("viewer");
        filter.subject_type  = LICET_STR("user");
        assert_filter_same(&d, &filter);
    }
    database_close(&d);
}

static void requests_that_are_wrong_fail_as_in_memory(void **state)
{
    static const licet_filter wrong[] = {
        { .size = sizeof(licet_filter) },
        { .size = sizeof(licet_filter), .resource_id = LICET_STR_INIT("a'; DROP TABLE rel") },
        { .size = sizeof(licet_filter), .resource_id_prefix = LICET_STR_INIT("a%") },
        { .size = sizeof(licet_filter), .resource_id = LICET_STR_INIT("a"), .resource_id_prefix = LICET_STR_INIT("a") },
        { .size = sizeof(licet_filter), .subject_id = LICET_STR_INIT("ana") },
        { .size = sizeof(licet_filter), .resource_type = LICET_STR_INIT("no such") },
        { .size = sizeof(licet_filter), .resource_type = LICET_STR_INIT("doc"), .relation = LICET_STR_INIT("view") },
    };
    database d;

    (void)state;
    database_open(&d, SCHEMA, ROWS);
    for (size_t i = 0; i < COUNT(wrong); i++)
        assert_filter_same(&d, &wrong[i]);
    database_close(&d);
}

/* ----------------------------------------------------------------------- pages */

static void pages_of_every_size_are_those_of_one_revision(void **state)
{
    licet_read_request request = LICET_READ_REQUEST_INIT;
    database           d;
    told              *all;

    (void)state;
    database_open(&d, SCHEMA, ROWS);
    request.filter.resource_type = LICET_STR("doc");
    all                          = read_rows(&d.prefetch, &request);
    assert_int_equal(all->count, 20);
    for (uint32_t limit = 1; limit <= 21; limit++) {
        told  *page;
        char   cursor[512] = "";
        char   token[4096] = "";
        size_t at          = 0;

        request.limit = limit;
        do {
            request.cursor = text_of(cursor[0] == '\0' ? NULL : cursor);
            page           = read_rows(&d.prefetch, &request);
            assert_string_equal(page->failure, "");
            for (size_t i = 0; i < page->count; i++)
                assert_string_equal(page->lines[i], all->lines[at++]);
            if (token[0] != '\0')
                assert_string_equal(page->token, token);
            memcpy(token, page->token, sizeof token);
            memcpy(cursor, page->cursor, sizeof cursor);
            if (at < all->count) { /* what changes meanwhile does not show */
                world_touch(&d.prefetch, "doc:0#viewer@user:0\ndoc:zz#viewer@user:zz");
                world_done(&d.prefetch);
                world_delete(&d.prefetch, ROWS);
                world_done(&d.prefetch);
            }
            free(page);
        } while (at < all->count);
        assert_int_equal(at, all->count);
        world_delete(&d.prefetch, "doc:0#viewer@user:0\ndoc:zz#viewer@user:zz");
        world_done(&d.prefetch);
        world_touch(&d.prefetch, ROWS);
        world_done(&d.prefetch);
    }
    free(all);
    database_close(&d);
}

/* ------------------------------------------------------------------- the past */

static void an_exact_snapshot_shows_what_was_there_then(void **state)
{
    static const char *const steps[] = {
        "doc:a#viewer@user:ana[ticket:{\"n\":1}]\ndoc:new#viewer@user:ana",
        "doc:a#viewer@user:ana[ticket:{\"n\":2}]\ndoc:a#viewer@user:cy",
        "doc:a#viewer@user:ana\ndoc:newer#viewer@user:cy[expiration:2199-01-01T00:00:00.000000001Z]",
    };
    licet_read_request request = LICET_READ_REQUEST_INIT;
    database           d;
    licet_token        tokens[2 * COUNT(steps)];
    told              *then[2 * COUNT(steps)];

    (void)state;
    database_open(&d, SCHEMA, ROWS);
    request.filter.resource_type  = LICET_STR("doc");
    request.filter.relation       = LICET_STR("viewer");
    request.consistency.freshness = LICET_FULLY_CONSISTENT;
    for (size_t i = 0; i < 2 * COUNT(steps); i++) {
        if (i % 2 == 0)
            world_touch(&d.prefetch, steps[i / 2]);
        else
            world_delete(&d.prefetch, "doc:a#viewer@user:bo\ndoc:ab#viewer@user:*\ndoc:new#viewer@user:ana");
        world_done(&d.prefetch);
        tokens[i] = d.prefetch.token;
        then[i]   = read_rows(&d.prefetch, &request);
        assert_in_range(then[i]->count, 10, 20);
    }
    request.consistency.freshness = LICET_AT_EXACT_SNAPSHOT;
    for (size_t i = 0; i < 2 * COUNT(steps); i++) {
        told *again;

        request.consistency.token = text_of(tokens[i].text);
        again                     = read_rows(&d.prefetch, &request);
        assert_same(then[i], again, tokens[i].text);
        free(again);
        free(then[i]);
    }
    database_close(&d);
}

static void an_exact_snapshot_is_read_by_its_own_schema(void **state)
{
    licet_read_request request = LICET_READ_REQUEST_INIT;
    database           d;
    licet_token        before;
    told              *read;

    (void)state;
    database_open(&d, "definition user {}\ndefinition doc {\n  relation old: user\n}\n", "doc:a#old@user:ana");
    before = d.prefetch.token;
    world_delete(&d.prefetch, "doc:a#old@user:ana");
    world_done(&d.prefetch);
    world_schema(&d.prefetch, "definition user {}\ndefinition doc {\n  relation fresh: user\n}\n");
    world_done(&d.prefetch);
    world_touch(&d.prefetch, "doc:b#fresh@user:ana");
    world_done(&d.prefetch);
    request.filter.resource_type = LICET_STR("doc");
    read                         = read_rows(&d.prefetch, &request);
    assert_int_equal(read->count, 1);
    assert_string_equal(read->lines[0], "doc:b#fresh@user:ana");
    free(read);
    request.filter.relation       = LICET_STR("old");
    request.consistency.freshness = LICET_AT_EXACT_SNAPSHOT;
    request.consistency.token     = text_of(before.text);
    read                          = read_rows(&d.prefetch, &request);
    assert_string_equal(read->failure, "");
    assert_int_equal(read->count, 1);
    assert_string_equal(read->lines[0], "doc:a#old@user:ana");
    free(read);
    database_close(&d);
}

static void what_garbage_collection_has_passed_is_refused(void **state)
{
    licet_read_request request = LICET_READ_REQUEST_INIT;
    database           d;

    (void)state;
    database_open(&d, SCHEMA, ROWS);
    request.filter.resource_type  = LICET_STR("doc");
    request.consistency.freshness = LICET_AT_EXACT_SNAPSHOT;
    request.consistency.token     = text_of(d.prefetch.token.text);
    ask(&d, "SET session_replication_role = replica");
    ask(&d, "SELECT pg_current_xact_id(), '{schema}'");
    ask(&d, "UPDATE {schema}.meta SET gc_horizon = pg_current_xact_id()");
    world_read(&d.prefetch, &request);
    world_failed(&d.prefetch, LICET_REVISION_EXPIRED, LICET_KIND_TOKEN, "",
                 "the revision is older than what garbage collection has left");
    database_close(&d);
}

/* ------------------------------------------------------------ what is expired */

static void what_has_expired_is_not_read(void **state)
{
    database d;

    (void)state;
    database_open(&d, SCHEMA, ROWS);
    both_touch(&d, "doc:x#viewer@user:ana[expiration:2001-01-01T00:00:00Z]\n"
                   "doc:x#viewer@user:bo[expiration:2101-01-01T00:00:00Z]");
    for (int i = 0; i < 2; i++) {
        const engine_world *w       = i == 0 ? &d.memory : &d.prefetch;
        licet_read_request  request = LICET_READ_REQUEST_INIT;
        told               *read;

        request.filter.resource_id = LICET_STR("x");
        read                       = read_rows(w, &request);
        assert_int_equal(read->count, 1);
        assert_string_equal(read->lines[0], "doc:x#viewer@user:bo[expiration:2101-01-01T00:00:00Z]");
        free(read);
    }
    database_close(&d);
}

/* ---------------------------------------------------------- what is not right */

static void a_row_that_does_not_fit_the_schema_is_no_answer(void **state)
{
    licet_read_request request = LICET_READ_REQUEST_INIT;
    database           d;

    (void)state;
    database_open(&d, SCHEMA, ROWS);
    store_row(&d, "'doc', 'x', 'member', 'group', 'a', 'member'");
    request.filter.resource_id = LICET_STR("x");
    world_read(&d.prefetch, &request);
    assert_int_equal(d.prefetch.status, LICET_UNAVAILABLE);
    assert_non_null(strstr(licet_error_message(d.prefetch.error).data,
                           "the database holds a relationship that does not fit its schema"));
    licet_error_free(d.prefetch.error);
    d.prefetch.error = NULL;
    database_close(&d);
}

typedef struct direct {
    check_world     world; /* names, program */
    licet_filter    filter;
    lic_need        need;
    lic_eval_limits limits;
    lic_store_host  host;
    lic_pg_wanted   wanted;
    lic_pg_link    *link;
    lic_arena       arena;
} direct;

static void direct_open(direct *x, const database *d)
{
    const lic_pg_settings settings = { .schema = text_of(d->tables.schema) };
    lic_pg_conninfo      *conninfo = NULL;

    *x = (direct){ .filter = LICET_FILTER_INIT, .limits = { 50, 1000000, 250 } };
    assert_true(check_world_open(&x->world, NULL, SCHEMA));
    lic_arena_init(&x->arena, &x->world.memory);
    x->need   = (lic_need){ .kind = LIC_NEED_ROWS, .filter = &x->filter };
    x->host   = (lic_store_host){ .memory = &x->world.memory, .names = x->world.names };
    x->wanted = (lic_pg_wanted){ .host           = &x->host,
                                 .program        = x->world.program,
                                 .schema_version = 1,
                                 .need           = &x->need,
                                 .limits         = &x->limits,
                                 .most_rows      = 1000 };
    assert_int_equal(lic_pg_conninfo_read(&x->world.memory, text_of(pg_server()), false, &conninfo, NULL), LICET_OK);
    assert_int_equal(lic_pg_link_open(&x->world.memory, conninfo, &settings, LONG, &x->link, NULL), LICET_OK);
    lic_pg_conninfo_free(conninfo);
}

static void direct_close(direct *x)
{
    lic_pg_link_close(x->link);
    lic_arena_free(&x->arena);
    check_world_close(&x->world);
}

static void more_rows_than_the_limit_are_an_error_that_names_it(void **state)
{
    database          d;
    direct            x;
    lic_pg_prefetched fetched;
    licet_error      *error = NULL;

    (void)state;
    database_open(&d, SCHEMA, ROWS);
    direct_open(&x, &d);
    x.wanted.most_rows = 24;
    assert_int_equal(lic_pg_fetch_rows(x.link, text_of(d.tables.schema), &x.wanted, LONG, &x.arena, &fetched, &error),
                     LICET_LIMIT_EXCEEDED);
    error_is(error, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, "",
             "the request touches more than the 24 relationships that are fetched for one");
    assert_null(fetched.graph);
    x.wanted.most_rows = 25;
    assert_int_equal(lic_pg_fetch_rows(x.link, text_of(d.tables.schema), &x.wanted, LONG, &x.arena, &fetched, NULL),
                     LICET_OK);
    assert_int_equal(fetched.row_count, 25);
    lic_graph_free(fetched.graph);
    direct_close(&x);
    database_close(&d);
}

static void under_another_schema_nothing_is_fetched_but_which_it_is(void **state)
{
    database          d;
    direct            x;
    lic_pg_prefetched fetched;

    (void)state;
    database_open(&d, SCHEMA, ROWS);
    direct_open(&x, &d);
    x.wanted.schema_version = 7;
    assert_int_equal(lic_pg_fetch_rows(x.link, text_of(d.tables.schema), &x.wanted, LONG, &x.arena, &fetched, NULL),
                     LICET_OK);
    assert_null(fetched.graph);
    assert_int_equal(fetched.schema_version, 1);
    direct_close(&x);
    database_close(&d);
}

static void ids_that_nobody_has_select_nothing(void **state)
{
    static const char id[] = "a\0' OR true";
    database          d;
    direct            x;
    lic_pg_prefetched fetched;

    (void)state;
    database_open(&d, SCHEMA, ROWS);
    direct_open(&x, &d);
    for (int i = 0; i < 4; i++) {
        const licet_str hostile = { id, sizeof id };

        x.filter = (licet_filter)LICET_FILTER_INIT;
        if (i == 0)
            x.filter.resource_id = hostile;
        else if (i == 1)
            x.filter.resource_id_prefix = hostile;
        else if (i == 2)
            x.filter.relation = hostile;
        else {
            x.filter.subject_type = LICET_STR("user");
            x.filter.subject_id   = hostile;
        }
        assert_int_equal(lic_pg_fetch_rows(x.link, text_of(d.tables.schema), &x.wanted, LONG, &x.arena, &fetched, NULL),
                         LICET_OK);
        assert_int_equal(fetched.row_count, 0);
        lic_graph_free(fetched.graph);
    }
    direct_close(&x);
    database_close(&d);
}

/* --------------------------------------------------------- changes of the schema */

static const char ONE_OF_EACH[] = "doc:a#viewer@user:ana\n"
                                  "doc:b#viewer@user:*\n"
                                  "doc:c#viewer@group:a#member\n"
                                  "doc:d#viewer@group:a#all[ticket:{\"n\":1}]\n"
                                  "doc:e#viewer@user:bo[ticket:{\"n\":2}]\n"
                                  "doc:f#viewer@user:cy[expiration:2200-01-02T03:04:05.123456789Z]\n"
                                  "doc:g#viewer@user:dot[ticket][expiration:2200-01-02T03:04:05Z]\n"
                                  "doc:h#parent@doc:a\n"
                                  "group:a#seen@user:*\n"
                                  "doc:i#member@user:fay";

/* The schema with one text in place of another. */
static void edit(char *out, size_t room, const char *from, const char *to)
{
    const char *place = strstr(SCHEMA, from);

    assert_non_null(place);
    snprintf(out, room, "%.*s%s%s", (int)(place - SCHEMA), SCHEMA, to, place + strlen(from));
}

static void put_schema(engine_world *w, const char *schema, char *failure, size_t room)
{
    world_schema(w, schema);
    snprintf(failure, room, "%d %d %.*s", (int)w->status, (int)licet_error_kind(w->error),
             LIC_STR_ARG(licet_error_message(w->error)));
    licet_error_free(w->error);
    w->error  = NULL;
    w->status = LICET_OK;
}

/* What stands against a change, and the change goes through once that is gone. */
static void a_schema_that_contradicts_what_is_stored_is_refused_as_in_memory(void **state)
{
    static const struct {
        const char *from;
        const char *to;
        const char *stands; /* NULL: nothing */
    } cases[] = {
        { "member: user\n  relation viewer", "member: group\n  relation viewer", "doc:i#member@user:fay" },
        { "viewer: user | user:* | group#member |", "viewer: user | group#member |", "doc:b#viewer@user:*" },
        { "viewer: user | user:* | group#member |", "viewer: user | user:* |", "doc:c#viewer@group:a#member" },
        { " | group#all with ticket\n", "\n", "doc:d#viewer@group:a#all[ticket:{\"n\":1}]" },
        { " | user with ticket | user with expiration", " | user with expiration",
          "doc:e#viewer@user:bo[ticket:{\"n\":2}]" },
        { " | user with expiration |", " |", "doc:f#viewer@user:cy[expiration:2200-01-02T03:04:05.123456789Z]" },
        { " | user with ticket and expiration", "", "doc:g#viewer@user:dot[ticket][expiration:2200-01-02T03:04:05Z]" },
        { "parent: doc | group", "parent: group", "doc:h#parent@doc:a" },
        { "parent: doc | group", "parent: doc", NULL },
        { "seen: user | user:*", "seen: user", "group:a#seen@user:*" },
        { "seen: user | user:*", "seen: user:*", NULL },
        { "  relation member: user\n  relation viewer", "  relation viewer", NULL },
        { "ticket(n int, m string) { n == 1 && m != 'x' }", "ticket(n string, m string) { n == 'a' && m != 'x' }", "" },
        { "ticket(n int, m string) { n == 1 && m != 'x' }", "ticket(n int, m string) { n == 3 && m != 'x' }", NULL },
        { "  permission all = member\n", "", "" },
        { "definition user {}\n", "definition user {}\ndefinition more {}\n", NULL },
    };
    char before[512];
    char after[512];
    char schema[2048];

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        database d;

        database_open(&d, SCHEMA, ONE_OF_EACH);
        edit(schema, sizeof schema, cases[i].from, cases[i].to);
        put_schema(&d.memory, schema, before, sizeof before);
        put_schema(&d.prefetch, schema, after, sizeof after);
        assert_string_equal(before, after);
        if (cases[i].stands != NULL && cases[i].stands[0] != '\0') {
            assert_non_null(strstr(after, cases[i].stands));
            world_delete(&d.prefetch, cases[i].stands);
            world_done(&d.prefetch);
            world_schema(&d.prefetch, schema);
            world_done(&d.prefetch);
        }
        database_close(&d);
    }
}

static const char WITH_TEMP[]    = "use expiration\ndefinition user {}\n"
                                   "definition doc {\n  relation temp: user with expiration\n}\n";
static const char WITHOUT_TEMP[] = "use expiration\ndefinition user {}\ndefinition doc {}\n";

static void what_has_expired_does_not_stand_against_a_schema_nor_hide_what_does(void **state)
{
    char     failure[512];
    char     now[64];
    char     line[128];
    database d;

    (void)state;
    database_open(&d, WITH_TEMP, NULL);
    for (int i = 0; i < 60; i++) {
        snprintf(line, sizeof line, "doc:a%02d#temp@user:ana[expiration:2001-01-01T00:00:00Z]", i);
        world_touch(&d.prefetch, line);
        world_done(&d.prefetch);
    }
    world_touch(&d.prefetch, "doc:b#temp@user:ana[expiration:2101-01-01T00:00:00Z]");
    world_done(&d.prefetch);
    put_schema(&d.prefetch, WITHOUT_TEMP, failure, sizeof failure);
    assert_non_null(strstr(failure,
                           "cannot delete relation `temp` in object definition `doc`, as at least one "
                           "relationship exists under it: doc:b#temp@user:ana[expiration:2101-01-01T00:00:00Z]"));
    snprintf(now, sizeof now, "%s",
             ask(&d, "SELECT to_char(clock_timestamp() at time zone 'UTC', "
                     "'YYYY-MM-DD\"T\"HH24:MI:SS.US') || '999Z', '{schema}'"));
    snprintf(line, sizeof line, "doc:b#temp@user:ana[expiration:%s]", now);
    world_touch(&d.prefetch, line);
    world_done(&d.prefetch);
    world_schema(&d.prefetch, WITHOUT_TEMP);
    world_done(&d.prefetch);
    database_close(&d);
}

static void one_connection_is_enough_for_all_of_it(void **state)
{
    licet_options      options = LICET_OPTIONS_INIT;
    licet_read_request request = LICET_READ_REQUEST_INIT;
    database           d;
    engine_world       w;
    told              *read;

    (void)state;
    database_open(&d, SCHEMA, ONE_OF_EACH);
    options.mode            = LICET_MODE_PREFETCH;
    options.max_connections = 1;
    open_engine(&d, &w, &options);
    world_schema(&w, "definition user {}\n");
    assert_int_equal(w.status, LICET_SCHEMA_ERROR);
    world_schema(&w, SCHEMA);
    world_done(&w);
    request.filter.resource_type = LICET_STR("doc");
    read                         = read_rows(&w, &request);
    assert_string_equal(read->failure, "");
    assert_int_equal(read->count, 9);
    free(read);
    world_close(&w);
    database_close(&d);
}

static void a_load_into_what_is_not_empty_is_refused(void **state)
{
    licet_validate_request request = LICET_VALIDATE_REQUEST_INIT;
    database               d;
    licet_report          *report = NULL;
    licet_error           *errors[2];

    (void)state;
    database_open(&d, "definition user {}\n", NULL);
    request.text = LICET_STR("schema: |-\n  definition user {}\nrelationships: \"\"\n");
    assert_int_equal(licet_validate(d.memory.engine, &request, &report, &errors[0]), LICET_MISUSE);
    assert_int_equal(licet_validate(d.prefetch.engine, &request, &report, &errors[1]), LICET_MISUSE);
    for (int i = 0; i < 2; i++)
        error_is(errors[i], LICET_MISUSE, LICET_KIND_MISUSE, "", NOT_EMPTY);
    database_close(&d);
}

static void rows_without_a_schema_are_not_an_empty_database(void **state)
{
    static const char text[] = "schema: |-\n  definition user {}\n  definition doc {\n    relation viewer: user\n  }\n"
                               "relationships: doc:x#viewer@user:bo\n";
    licet_validate_request request = LICET_VALIDATE_REQUEST_INIT;
    database               d;
    licet_report          *report = NULL;

    (void)state;
    database_open(&d, "", NULL);
    store_row(&d, "'doc', 'a', 'viewer', 'user', 'ana', '...'");
    request.text = text_of(text);
    assert_int_not_equal(licet_validate(d.prefetch.engine, &request, &report, NULL), LICET_OK);
    ask(&d, "SET session_replication_role = replica");
    ask(&d, "DELETE FROM {schema}.rel");
    d.prefetch.status = licet_validate(d.prefetch.engine, &request, &report, &d.prefetch.error);
    world_done(&d.prefetch);
    licet_report_release(report);
    assert_string_equal(ask(&d, "SELECT ri FROM {schema}.rel"), "x");
    database_close(&d);
}

/* Impacts as lines. */
static told *look_at_impact(const engine_world *w, const char *schema)
{
    licet_impact_request request = LICET_IMPACT_REQUEST_INIT;
    told                *t       = calloc(1, sizeof *t);
    licet_stream        *stream  = NULL;
    licet_error         *error   = NULL;
    bool                 found   = true;
    licet_status         status;

    assert_non_null(t);
    request.text = text_of(schema);
    status       = licet_schema_impact(w->engine, &request, &stream, &error);
    while (status == LICET_OK) {
        licet_impact i = LICET_IMPACT_INIT;

        status = licet_stream_next_impact(stream, &i, &found, &error);
        if (status != LICET_OK || !found)
            break;
        assert_true(t->count < COUNT(t->lines));
        snprintf(t->lines[t->count++], sizeof t->lines[0], "%d %.*s %.*s %.*s#%.*s@%.*s %d %d", (int)i.kind,
                 LIC_STR_ARG(i.relationship), LIC_STR_ARG(i.message), LIC_STR_ARG(i.resource),
                 LIC_STR_ARG(i.permission), LIC_STR_ARG(i.subject), (int)i.before, (int)i.after);
    }
    put_failure(t, status, error);
    licet_stream_release(stream);
    return t;
}

static void the_impact_of_a_schema_is_that_in_memory(void **state)
{
    static const struct {
        const char *from;
        const char *to;
    } cases[] = {
        { "view = viewer + parent->view + member", "view = viewer" },
        { "view = viewer + parent->view + member", "view = viewer - member" },
        { "viewer: user | user:* | group#member |", "viewer: user |" },
        { "permission all = member", "permission all = nil" },
        { "definition user {}", "definition user {}\ndefinition more {}" },
    };
    char     schema[2048];
    database d;

    (void)state;
    database_open(&d, SCHEMA, ROWS);
    for (size_t i = 0; i < COUNT(cases); i++) {
        told *in_memory;
        told *fetched;

        edit(schema, sizeof schema, cases[i].from, cases[i].to);
        in_memory = look_at_impact(&d.memory, schema);
        fetched   = look_at_impact(&d.prefetch, schema);
        sort(in_memory);
        sort(fetched);
        assert_same(in_memory, fetched, cases[i].to);
        if (i < 4)
            assert_in_range(fetched->count, 1, COUNT(fetched->lines));
        free(in_memory);
        free(fetched);
    }
    database_close(&d);
}

/* ----------------------------------------------------------------------- watching */

static void who_fetches_what_he_needs_can_not_watch(void **state)
{
    licet_watch_request request = LICET_WATCH_REQUEST_INIT;
    database            d;
    licet_stream       *stream = NULL;
    licet_error        *error  = NULL;

    (void)state;
    database_open(&d, SCHEMA, ROWS);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(licet_watch(d.prefetch.engine, &request, &stream, &error), LICET_UNSUPPORTED);
        error_is(error, LICET_UNSUPPORTED, LICET_KIND_CONFIG, "",
                 "changes are told by an engine that follows the database: this one fetches what each request needs");
        assert_null(stream);
        request.since = text_of(d.prefetch.token.text);
    }
    database_close(&d);
}

/* ------------------------------------------------------------- what does not fit */

#define LARGE 20000

static void store_many(const database *d, int first, int last)
{
    char text[512];

    ask(d, "SET session_replication_role = replica");
    snprintf(text, sizeof text,
             "INSERT INTO {schema}.rel (rt, ri, rr, st, si) SELECT 'doc', 'some-long-name-' || i, 'member', 'user', "
             "'another-long-name-' || i FROM generate_series(%d, %d) i",
             first, last);
    ask(d, text);
    ask(d, "RESET session_replication_role");
}

static void open_small(const database *d, engine_world *w, licet_mode mode)
{
    licet_options options = LICET_OPTIONS_INIT;

    options.mode               = mode;
    options.memory_limit_bytes = 1 << 20;
    options.wait_timeout_ms    = 60000;
    open_engine(d, w, &options);
}

static licet_stats stats_of(const engine_world *w)
{
    licet_stats stats = LICET_STATS_INIT;

    assert_int_equal(licet_engine_stats(w->engine, &stats, NULL), LICET_OK);
    return stats;
}

/* Of the relationships that store_many() has stored up to this one. */
static void ask_many(engine_world *w, int last)
{
    for (int i = 1; i <= last; i += last / 20) {
        char resource[64];
        char subject[64];

        snprintf(resource, sizeof resource, "doc:some-long-name-%d", i);
        snprintf(subject, sizeof subject, "user:another-long-name-%d", i);
        assert_true(world_allowed(w, resource, "view", subject));
        assert_false(world_allowed(w, resource, "view", "user:bo"));
        assert_true(world_allowed(w, "doc:b", "view", "user:ana"));
    }
}

/* The first ones wait for the load. Afterwards there is no more memory than in an engine that never tried. */
static void what_does_not_fit_is_fetched_and_leaves_no_memory_behind(void **state)
{
    licet_read_request request = LICET_READ_REQUEST_INIT;
    database           d;
    engine_world       w;
    licet_stats        stats;
    uint64_t           bytes;
    told              *read;

    (void)state;
    database_open(&d, SCHEMA, ROWS);
    store_many(&d, 1, LARGE);
    open_small(&d, &w, LICET_MODE_PREFETCH);
    ask_many(&w, LARGE);
    bytes = stats_of(&w).memory_bytes;
    world_close(&w);
    open_small(&d, &w, LICET_MODE_AUTO);
    ask_many(&w, LARGE);
    stats = stats_of(&w);
    assert_int_equal(stats.mode, LICET_MODE_PREFETCH);
    assert_int_equal(stats.loads, 0);
    assert_true(stats.is_ready);
    assert_int_equal(stats.id_bytes, 0);
    assert_in_range(stats.memory_bytes, 0, bytes + 8192);
    assert_int_equal(stats.relationships, 0);
    world_touch(&w, "doc:new#viewer@user:ana");
    world_done(&w);
    assert_true(world_allowed(&w, "doc:new", "view", "user:ana"));
    request.consistency.freshness = LICET_AT_EXACT_SNAPSHOT;
    request.consistency.token     = text_of(w.token.text);
    request.filter.resource_id    = LICET_STR("new");
    read                          = read_rows(&w, &request);
    assert_string_equal(read->failure, "");
    assert_int_equal(read->count, 1);
    free(read);
    world_schema(&w, "definition user {}\n");
    assert_int_equal(w.status, LICET_SCHEMA_ERROR);
    licet_error_free(w.error);
    w.error = NULL;
    world_close(&w);
    database_close(&d);
}

static void more_than_memory_holds_can_not_be_read_at_once(void **state)
{
    licet_read_request request = LICET_READ_REQUEST_INIT;
    database           d;
    engine_world       w;

    (void)state;
    database_open(&d, SCHEMA, ROWS);
    store_many(&d, 1, LARGE);
    open_small(&d, &w, LICET_MODE_AUTO);
    request.filter.resource_type = LICET_STR("doc");
    for (int i = 0; i < 3; i++) {
        world_read(&w, &request);
        assert_int_equal(w.status, LICET_OUT_OF_MEMORY);
        licet_error_free(w.error);
        w.error = NULL;
        assert_true(world_allowed(&w, "doc:b", "view", "user:ana"));
    }
    world_close(&w);
    database_close(&d);
}

static void who_only_follows_says_at_once_that_it_does_not_fit(void **state)
{
    database     d;
    engine_world w;
    uint64_t     begun_ms;

    (void)state;
    database_open(&d, SCHEMA, ROWS);
    store_many(&d, 1, LARGE);
    open_small(&d, &w, LICET_MODE_FOLLOW);
    begun_ms = lic_monotonic_ms();
    world_check(&w, "doc:b", "view", "user:ana");
    world_failed(&w, LICET_OUT_OF_MEMORY, LICET_KIND_NOMEM, "", "out of memory");
    assert_in_range(lic_monotonic_ms() - begun_ms, 0, 30000);
    assert_int_equal(stats_of(&w).mode, LICET_MODE_FOLLOW);
    world_close(&w);
    database_close(&d);
}

/* The graph grows beyond what fits while somebody waits for its changes. */
static void a_watch_ends_where_following_does(void **state)
{
    licet_watch_request request = LICET_WATCH_REQUEST_INIT;
    database            d;
    engine_world        w;
    licet_stream       *stream = NULL;
    licet_change        change = LICET_CHANGE_INIT;
    licet_error        *error  = NULL;
    uint64_t            begun_ms;
    bool                found;
    licet_status        status;

    (void)state;
    database_open(&d, SCHEMA, ROWS);
    open_small(&d, &w, LICET_MODE_AUTO);
    assert_true(world_allowed(&w, "doc:b", "view", "user:ana"));
    assert_int_equal(stats_of(&w).mode, LICET_MODE_FOLLOW);
    assert_int_equal(licet_watch(w.engine, &request, &stream, NULL), LICET_OK);
    store_many(&d, 1, LARGE);
    begun_ms = lic_monotonic_ms();
    status   = licet_stream_next_change(stream, 60000, &change, &found, &error);
    assert_int_equal(status, LICET_UNSUPPORTED);
    error_is(error, LICET_UNSUPPORTED, LICET_KIND_CONFIG, "",
             "changes are told by an engine that follows the database: this one fetches what each request needs");
    assert_in_range(lic_monotonic_ms() - begun_ms, 0, 30000);
    assert_false(found);
    licet_stream_release(stream);
    assert_true(world_allowed(&w, "doc:b", "view", "user:ana"));
    assert_int_equal(stats_of(&w).mode, LICET_MODE_PREFETCH);
    world_close(&w);
    database_close(&d);
}

static void a_graph_that_outgrows_memory_gives_way(void **state)
{
    database     d;
    engine_world w;
    int          last = 0;

    (void)state;
    database_open(&d, SCHEMA, ROWS);
    open_small(&d, &w, LICET_MODE_AUTO);
    while (last < LARGE && stats_of(&w).mode != LICET_MODE_PREFETCH) {
        licet_check_request request = check_of("doc:b", "view", "user:ana");
        licet_result        result  = LICET_RESULT_INIT;

        store_many(&d, last + 1, last + 100);
        last += 100;
        request.consistency.freshness = LICET_FULLY_CONSISTENT;
        assert_int_equal(licet_check(w.engine, &request, &result, NULL), LICET_OK);
        assert_true(licet_result_allowed(&result));
        licet_result_clear(&result);
    }
    assert_in_range(last, 2000, LARGE - 100);
    ask_many(&w, last);
    world_close(&w);
    database_close(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_filter_finds_what_it_finds_in_memory),
        cmocka_unit_test(a_prefix_is_no_pattern_and_bytes_are_bytes),
        cmocka_unit_test(requests_that_are_wrong_fail_as_in_memory),
        cmocka_unit_test(pages_of_every_size_are_those_of_one_revision),
        cmocka_unit_test(an_exact_snapshot_shows_what_was_there_then),
        cmocka_unit_test(an_exact_snapshot_is_read_by_its_own_schema),
        cmocka_unit_test(what_garbage_collection_has_passed_is_refused),
        cmocka_unit_test(what_has_expired_is_not_read),
        cmocka_unit_test(a_row_that_does_not_fit_the_schema_is_no_answer),
        cmocka_unit_test(more_rows_than_the_limit_are_an_error_that_names_it),
        cmocka_unit_test(under_another_schema_nothing_is_fetched_but_which_it_is),
        cmocka_unit_test(ids_that_nobody_has_select_nothing),
        cmocka_unit_test(a_schema_that_contradicts_what_is_stored_is_refused_as_in_memory),
        cmocka_unit_test(what_has_expired_does_not_stand_against_a_schema_nor_hide_what_does),
        cmocka_unit_test(one_connection_is_enough_for_all_of_it),
        cmocka_unit_test(a_load_into_what_is_not_empty_is_refused),
        cmocka_unit_test(rows_without_a_schema_are_not_an_empty_database),
        cmocka_unit_test(the_impact_of_a_schema_is_that_in_memory),
        cmocka_unit_test(who_fetches_what_he_needs_can_not_watch),
        cmocka_unit_test(what_does_not_fit_is_fetched_and_leaves_no_memory_behind),
        cmocka_unit_test(more_than_memory_holds_can_not_be_read_at_once),
        cmocka_unit_test(who_only_follows_says_at_once_that_it_does_not_fit),
        cmocka_unit_test(a_watch_ends_where_following_does),
        cmocka_unit_test(a_graph_that_outgrows_memory_gives_way),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* core/datastore/postgres/prefetch.c and what belongs to it: over the part of the graph that is fetched for a request, the
 * answers are those over the whole.
 *
 * Plans are told as lines. All else needs the server that LICET_TEST_POSTGRES names, and says so where there is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "datastore/postgres/prefetch.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "check_world.h"
#include "datastore/object.h"
#include "datastore/postgres/fetch_plan.h"
#include "datastore/postgres/migration.h"
#include "datastore/relationship.h"
#include "eval/conditions.h"
#include "eval/expand.h"
#include "eval/lookup_resources.h"
#include "eval/lookup_subjects.h"
#include "failing_memory.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define LONG ((lic_pg_wait){ lic_monotonic_ms() + 120000, NULL })

static lic_str text_of(const char *text)
{
    return (lic_str){ text, strlen(text) };
}

/* --------------------------------------------------------------------- plans */

static lic_str slot_name(const lic_program *program, lic_slot slot, lic_arena *arena)
{
    const lic_slot_meaning meaning = lic_program_slot(program, slot);
    const lic_str          type    = program->definitions[meaning.definition].name;
    char                  *name    = lic_arena_alloc(arena, 160);

    if (meaning.relation == LIC_NO_REL)
        snprintf(name, 160, "%.*s", LIC_STR_ARG(type));
    else
        snprintf(name, 160, "%.*s#%.*s", LIC_STR_ARG(type), LIC_STR_ARG(program->relations[meaning.relation].name));
    return text_of(name);
}

static void tell_probes(const lic_program *program, const lic_fetch_probes *probes, lic_arena *arena, lic_text *out)
{
    static const char *const modes[] = { "", ":subject", ":*" };

    for (size_t i = 0; i < probes->count; i++) {
        const lic_fetch_probe *probe    = &probes->items[i];
        const lic_relation    *relation = &program->relations[probe->relation];

        lic_text_add_u64(out, probe->state);
        lic_text_add_char(out, ' ');
        lic_text_add(out, program->definitions[relation->definition].name);
        lic_text_add_char(out, '#');
        lic_text_add(out, relation->name);
        lic_text_add_char(out, '@');
        lic_text_add(out, slot_name(program, probe->slot, arena));
        lic_text_add(out, text_of(modes[probe->mode]));
        if (probe->next != LIC_FETCH_ENDS) {
            lic_text_add_literal(out, " -> ");
            lic_text_add_u64(out, probe->next);
        }
        if (probe->decides)
            lic_text_add_literal(out, " decides");
        lic_text_add_char(out, '\n');
    }
}

static void tell_seeds(const char *word, const lic_fetch_seeds *seeds, lic_text *out)
{
    for (size_t i = 0; i < seeds->count; i++) {
        lic_text_add(out, text_of(word));
        lic_text_add_u64(out, seeds->items[i].state);
        lic_text_add_char(out, ' ');
        lic_text_add(out, seeds->items[i].id);
        lic_text_add_char(out, '\n');
    }
}

static void assert_plan_to(const char *schema, const lic_need *need, uint32_t max_depth, const char *expected)
{
    check_world    w;
    lic_arena      arena;
    lic_fetch_plan plan;
    lic_text       told;

    assert_true(check_world_open(&w, NULL, schema));
    lic_arena_init(&arena, &w.memory);
    lic_text_init(&told, &w.memory);
    assert_true(lic_fetch_plan_make(&arena, w.program, need, max_depth, &plan));
    tell_seeds("from ", &plan.starts, &told);
    tell_probes(w.program, &plan.backward, &arena, &told);
    for (size_t i = 0; i < plan.crossing_count; i++) {
        lic_text_add_literal(&told, "cross ");
        lic_text_add_u64(&told, plan.crossings[i].from);
        lic_text_add_char(&told, ' ');
        lic_text_add_u64(&told, plan.crossings[i].to);
        lic_text_add_char(&told, '\n');
    }
    if (plan.confirms)
        lic_text_add_literal(&told, "confirms\n");
    tell_seeds("at ", &plan.seeds, &told);
    tell_probes(w.program, &plan.probes, &arena, &told);
    lic_text_add_char(&told, '\0');
    assert_string_equal(told.data, expected);
    lic_text_free(&told);
    lic_arena_free(&arena);
    check_world_close(&w);
}

static licet_check_request check_of(const char *resource, const char *permission, const char *subject)
{
    licet_check_request request = LICET_CHECK_REQUEST_INIT;

    request.resource   = text_of(resource);
    request.permission = text_of(permission);
    request.subject    = text_of(subject);
    return request;
}

static void assert_check_plan(const char *schema, const char *resource, const char *permission, const char *subject,
                              const char *expected)
{
    const licet_check_request check = check_of(resource, permission, subject);
    const lic_need            need  = { .kind = LIC_NEED_CHECKS, .checks = &check, .check_count = 1 };

    assert_plan_to(schema, &need, 50, expected);
}

#define FOLDERS                                                       \
    "definition user {}\n"                                            \
    "definition group {\n  relation member: user | group#member\n}\n" \
    "definition folder {\n"                                           \
    "  relation parent: folder\n"                                     \
    "  relation viewer: user | group#member\n"                        \
    "  permission view = viewer + parent->view\n"                     \
    "}\n"                                                             \
    "definition document {\n"                                         \
    "  relation parent: folder\n"                                     \
    "  relation owner: user\n"                                        \
    "  relation viewer: user | group#member\n"                        \
    "  permission view = owner + viewer + parent->view\n"             \
    "}\n"

static void a_check_looks_for_its_subject_and_for_what_leads_on(void **state)
{
    (void)state;
    assert_check_plan(FOLDERS, "document:d", "view", "user:u",
                      "at 1 d\n"
                      "1 document#parent@folder -> 2\n"
                      "1 document#viewer@group#member -> 3\n"
                      "1 document#viewer@user:subject decides\n"
                      "1 document#owner@user:subject decides\n"
                      "2 folder#parent@folder -> 2\n"
                      "2 folder#viewer@group#member -> 3\n"
                      "2 folder#viewer@user:subject\n"
                      "3 group#member@group#member -> 3\n"
                      "3 group#member@user:subject\n");
}

static void a_userset_that_is_asked_about_is_among_those_that_lead_on(void **state)
{
    (void)state;
    assert_check_plan(FOLDERS, "folder:f", "viewer", "group:g#member",
                      "at 1 f\n"
                      "1 folder#viewer@group#member -> 2\n"
                      "2 group#member@group#member -> 2\n");
}

static void operators_are_taken_for_unions_but_do_not_decide(void **state)
{
    (void)state;
    assert_check_plan("definition user {}\n"
                      "definition doc {\n"
                      "  relation reader: user | user:*\n"
                      "  relation banned: user\n"
                      "  relation member: user\n"
                      "  relation owner: user\n"
                      "  permission view = owner + ((reader & member) - banned)\n"
                      "}\n",
                      "doc:d", "view", "user:u",
                      "at 1 d\n"
                      "1 doc#banned@user:subject\n"
                      "1 doc#member@user:subject\n"
                      "1 doc#reader@user:subject\n"
                      "1 doc#reader@user:*\n"
                      "1 doc#owner@user:subject decides\n");
}

static void rows_of_an_arrow_are_fetched_though_they_lead_nowhere(void **state)
{
    (void)state;
    assert_check_plan("definition user {}\n"
                      "definition plain {}\n"
                      "definition team {\n relation member: user\n }\n"
                      "definition doc {\n"
                      "  relation team: team | plain | team#member\n"
                      "  permission view = team.all(member)\n"
                      "}\n",
                      "doc:d", "view", "user:u",
                      "at 1 d\n"
                      "1 doc#team@team#member -> 2\n"
                      "1 doc#team@plain\n"
                      "1 doc#team@team -> 2\n"
                      "2 team#member@user:subject\n");
}

static void shapes_that_demand_an_attribute_do_not_decide(void **state)
{
    (void)state;
    assert_check_plan("use expiration\n"
                      "caveat c(x int) { x > 1 }\n"
                      "definition user {}\n"
                      "definition doc {\n"
                      "  relation reader: user with c | user:*\n"
                      "  relation guest: user with expiration\n"
                      "  permission view = reader + guest\n"
                      "}\n",
                      "doc:d", "view", "user:u",
                      "at 1 d\n"
                      "1 doc#guest@user:subject\n"
                      "1 doc#reader@user:subject\n"
                      "1 doc#reader@user:* decides\n");
}

static void what_lies_as_deep_as_the_limit_does_not_decide(void **state)
{
    static const char schema[] =
        "definition user {}\n"
        "definition doc {\nrelation rel: user\npermission bbb = rel\npermission ccc = bbb + rel\n"
        "permission ddd = ccc + bbb\n}\n";
    const licet_check_request check = check_of("doc:d", "ddd", "user:u");
    const lic_need            need  = { .kind = LIC_NEED_CHECKS, .checks = &check, .check_count = 1 };

    (void)state;
    assert_plan_to(schema, &need, 2, "at 1 d\n1 doc#rel@user:subject\n");
    assert_plan_to(schema, &need, 3, "at 1 d\n1 doc#rel@user:subject decides\n");
}

static void permissions_of_one_arrow_share_a_state(void **state)
{
    (void)state;
    assert_check_plan("definition user {}\n"
                      "definition folder {\n"
                      "  relation parent: folder\n  relation viewer: user\n  relation writer: user\n"
                      "  permission edit = writer + parent->edit\n"
                      "  permission view = viewer + edit + parent->view\n"
                      "}\n",
                      "folder:f", "view", "user:u",
                      "at 1 f\n"
                      "1 folder#parent@folder -> 2\n"
                      "1 folder#viewer@user:subject decides\n"
                      "1 folder#writer@user:subject decides\n"
                      "2 folder#parent@folder -> 2\n"
                      "2 folder#viewer@user:subject\n"
                      "2 folder#writer@user:subject\n");
}

static void names_that_the_schema_lacks_need_nothing(void **state)
{
    (void)state;
    assert_check_plan(FOLDERS, "document:d", "edit", "user:u", "");
    assert_check_plan(FOLDERS, "paper:d", "view", "user:u", "");
    assert_check_plan(FOLDERS, "document:d", "view", "person:u", "");
    assert_check_plan(FOLDERS, "document:d", "view", "group:g#owner", "");
    assert_check_plan(FOLDERS, "document", "view", "user:u", "");
    assert_check_plan(FOLDERS, "document:a b", "view", "user:u", "");
    assert_check_plan(FOLDERS, "document:\"", "view", "user:u", "");
    assert_check_plan(FOLDERS, "document:*", "view", "user:u", "");
    assert_check_plan(FOLDERS, "document:d", "view", "user:*", "");
    assert_check_plan(FOLDERS, "", "", "", "");
}

static void an_expansion_wants_all_rows_and_follows_no_usersets(void **state)
{
    const lic_need need = { .kind       = LIC_NEED_EXPANSION,
                            .resource   = LICET_STR("folder:f"),
                            .permission = LICET_STR("view") };

    (void)state;
    assert_plan_to(FOLDERS, &need, 50,
                   "at 1 f\n"
                   "1 folder#parent@folder -> 1\n"
                   "1 folder#viewer@user\n"
                   "1 folder#viewer@group#member\n");
}

static void a_lookup_of_subjects_wants_those_of_its_shape(void **state)
{
    const lic_need need = { .kind         = LIC_NEED_SUBJECTS,
                            .resource     = LICET_STR("folder:f"),
                            .permission   = LICET_STR("viewer"),
                            .subject_type = LICET_STR("user") };

    (void)state;
    assert_plan_to(FOLDERS, &need, 50,
                   "at 1 f\n"
                   "1 folder#viewer@group#member -> 2\n"
                   "1 folder#viewer@user\n"
                   "2 group#member@group#member -> 2\n"
                   "2 group#member@user\n");
}

static void a_lookup_of_resources_goes_backwards(void **state)
{
    const lic_need need = { .kind          = LIC_NEED_RESOURCES,
                            .resource_type = LICET_STR("folder"),
                            .permission    = LICET_STR("view"),
                            .subject       = LICET_STR("user:u") };

    (void)state;
    assert_plan_to(FOLDERS, &need, 50,
                   "from 1 u\n"
                   "from 2 *\n"
                   "1 folder#viewer@user -> 3\n"
                   "1 group#member@user -> 4\n"
                   "3 folder#parent@folder -> 5\n"
                   "4 group#member@group#member -> 4\n"
                   "4 folder#viewer@group#member -> 3\n"
                   "5 folder#parent@folder -> 5\n"
                   "cross 3 1\n"
                   "cross 5 1\n"
                   "1 folder#parent@folder -> 1\n"
                   "1 folder#viewer@group#member -> 2\n"
                   "1 folder#viewer@user:subject\n"
                   "2 group#member@group#member -> 2\n"
                   "2 group#member@user:subject\n");
}

/* -------------------------------------------------------------------- servers */

typedef struct world {
    check_world           base; /* names, program; the graph is of what the database shows now */
    PGconn               *connection;
    lic_pg_conninfo      *conninfo;
    lic_pg_link          *link;
    lic_arena             arena;
    const lic_pg_fetches *fetches;
    lic_store_host        host;
    char                  schema[40];
    licet_relationship   *rows; /* that are there */
    size_t                row_count;
    size_t                row_capacity;
} world;

static const char *conninfo_of_tests(void)
{
    const char *conninfo = getenv("LICET_TEST_POSTGRES");

    if (conninfo == NULL || conninfo[0] == '\0') {
        print_message("LICET_TEST_POSTGRES names no server\n");
        skip();
    }
    return conninfo;
}

__attribute__((format(printf, 2, 3))) static void run(world *w, const char *format, ...)
{
    char      sql[512];
    va_list   arguments;
    PGresult *result;

    va_start(arguments, format);
    vsnprintf(sql, sizeof sql, format, arguments);
    va_end(arguments);
    result = PQexec(w->connection, sql);
    if (PQresultStatus(result) != PGRES_COMMAND_OK && PQresultStatus(result) != PGRES_TUPLES_OK)
        fail_msg("%s: %s", sql, PQerrorMessage(w->connection));
    PQclear(result);
}

static void world_open(world *w, const char *schema)
{
    const char     *conninfo = conninfo_of_tests();
    lic_pg_settings settings = { .statement_timeout_ms = 120000, .generic_plans = true, .by_index = true };
    licet_error    *error    = NULL;

    *w = (world){ .link = NULL };
    assert_true(check_world_open(&w->base, NULL, schema));
    lic_arena_init(&w->arena, &w->base.memory);
    snprintf(w->schema, sizeof w->schema, "licet_fetch_%d", (int)getpid());
    w->connection = PQconnectdb(conninfo);
    assert_int_equal(PQstatus(w->connection), CONNECTION_OK);
    run(w, "SET client_min_messages = warning");
    run(w, "DROP SCHEMA IF EXISTS %s CASCADE", w->schema);
    settings.schema = text_of(w->schema);
    assert_int_equal(lic_pg_conninfo_read(&w->base.memory, text_of(conninfo), false, &w->conninfo, &error), LICET_OK);
    assert_int_equal(lic_pg_link_open(&w->base.memory, w->conninfo, &settings, LONG, &w->link, &error), LICET_OK);
    if (lic_pg_migrate(w->link, &w->base.memory, settings.schema, false, LONG, NULL, &error) != LICET_OK)
        fail_msg("%.*s", LIC_STR_ARG(licet_error_message(error)));
    run(w, "SET search_path TO %s, public", w->schema);
    run(w, "SET licet.writer = '%s'", w->schema);
    w->fetches = lic_pg_fetches_new(&w->arena, settings.schema);
    assert_non_null(w->fetches);
    w->host = (lic_store_host){ .memory = &w->base.memory, .names = w->base.names };
}

static void world_close(world *w)
{
    run(w, "DROP SCHEMA %s CASCADE", w->schema);
    PQfinish(w->connection);
    lic_pg_link_close(w->link);
    lic_pg_conninfo_free(w->conninfo);
    lic_free(&w->base.memory, w->rows, w->row_capacity * sizeof *w->rows);
    lic_arena_free(&w->arena);
    check_world_close(&w->base);
}

/* Forgets all, in the database and in memory. */
static void world_clear(world *w)
{
    run(w, "DELETE FROM rel");
    w->row_count = 0;
}

/* ------------------------------------------------------------------ relationships */

static const char *kept(world *w, lic_str text)
{
    char *copy;

    if (!lic_str_given(text))
        return NULL;
    copy = lic_arena_alloc(&w->arena, text.size + 1);
    memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    return copy;
}

static bool same_names(const licet_relationship *a, const licet_relationship *b)
{
    return lic_str_equal(a->resource_type, b->resource_type) && lic_str_equal(a->resource_id, b->resource_id) &&
           lic_str_equal(a->relation, b->relation) && lic_str_equal(a->subject_type, b->subject_type) &&
           lic_str_equal(a->subject_id, b->subject_id) && lic_str_equal(a->subject_relation, b->subject_relation);
}

static size_t row_number(const world *w, const licet_relationship *row)
{
    size_t i = 0;

    while (i < w->row_count && !same_names(&w->rows[i], row))
        i++;
    return i;
}

static void insert(world *w, const licet_relationship *row)
{
    const lic_str     none     = { NULL, 0 };
    const bool        has_time = lic_str_given(row->expiration);
    const char *const values[] = {
        kept(w, row->resource_type),
        kept(w, row->resource_id),
        kept(w, row->relation),
        kept(w, row->subject_type),
        kept(w, row->subject_id),
        lic_str_given(row->subject_relation) ? kept(w, row->subject_relation) : "...",
        kept(w, row->caveat_name),
        kept(w, row->caveat_context),
        kept(w, has_time ? row->expiration : none),
    };
    PGresult *result = PQexecParams(w->connection,
                                    "INSERT INTO rel (rt, ri, rr, st, si, sr, caveat, context, expires_at) "
                                    "VALUES ($1, $2, $3, $4, $5, $6, $7, $8::json, $9::timestamptz)",
                                    9, NULL, values, NULL, NULL, 0);

    if (PQresultStatus(result) != PGRES_COMMAND_OK)
        fail_msg("%s", PQerrorMessage(w->connection));
    PQclear(result);
}

static void delete_row(world *w, const licet_relationship *row)
{
    const char *const values[] = {
        kept(w, row->resource_type), kept(w, row->resource_id),
        kept(w, row->relation),      kept(w, row->subject_type),
        kept(w, row->subject_id),    lic_str_given(row->subject_relation) ? kept(w, row->subject_relation) : "..."
    };
    PGresult *result =
        PQexecParams(w->connection,
                     "UPDATE rel SET deleted_xid = pg_current_xact_id() WHERE rt = $1 AND ri = $2 AND "
                     "rr = $3 AND st = $4 AND si = $5 AND sr = $6 AND deleted_xid = '9223372036854775807'",
                     6, NULL, values, NULL, NULL, 0);

    assert_int_equal(PQresultStatus(result), PGRES_COMMAND_OK);
    PQclear(result);
}

/* Adds it, in place of one with the same names; false: takes that one away. */
static void put(world *w, const char *text, bool present)
{
    licet_error       *error = NULL;
    licet_relationship row   = LICET_RELATIONSHIP_INIT;
    size_t             number;

    if (licet_relationship_parse(text_of(kept(w, text_of(text))), &row, &error) != LICET_OK)
        fail_msg("%s: %.*s", text, LIC_STR_ARG(licet_error_message(error)));
    number = row_number(w, &row);
    if (number < w->row_count) {
        delete_row(w, &row);
        w->rows[number] = w->rows[--w->row_count];
    }
    if (!present)
        return;
    insert(w, &row);
    assert_true(lic_grow(&w->base.memory, (void **)&w->rows, &w->row_capacity, w->row_count + 1, sizeof *w->rows));
    w->rows[w->row_count++] = row;
}

static void add_to_graph(world *w, lic_graph *graph, const licet_relationship *row)
{
    lic_change    change = { .present = true };
    lic_attribute attribute;
    lic_typed     typed;
    uint64_t      revision;
    licet_error  *error = NULL;

    if (lic_type_relationship(w->base.program, row, false, &typed, &error) != LICET_OK)
        fail_msg("%.*s", LIC_STR_ARG(licet_error_message(error)));
    assert_int_equal(lic_attribute_read(&w->arena, "", row, false, &attribute, NULL), LICET_OK);
    assert_int_equal(lic_attribute_type(w->base.program, row, false, &attribute, NULL), LICET_OK);
    change.edge.resource =
        (lic_ref){ typed.resource,
                   lic_graph_intern_node(graph, lic_names_type_of(w->base.names, typed.resource), row->resource_id) };
    change.edge.subject =
        (lic_ref){ typed.subject,
                   lic_graph_intern_node(graph, lic_names_type_of(w->base.names, typed.subject), row->subject_id) };
    if (lic_attribute_given(&attribute))
        change.attribute = lic_graph_attribute_new(graph, &attribute);
    assert_true(lic_graph_apply(graph, &change, 1, &revision));
}

/* All that is there. */
static lic_graph *whole_graph(world *w)
{
    const lic_graph_options options = { .no_threads = true, .release_payload = lic_attribute_release_payload };
    lic_graph              *graph   = lic_graph_new(&w->base.memory, w->base.names, &options);

    assert_non_null(graph);
    lic_graph_lock(graph);
    for (size_t i = 0; i < w->row_count; i++)
        add_to_graph(w, graph, &w->rows[i]);
    lic_graph_unlock(graph);
    return graph;
}

/* ------------------------------------------------------------------- answers */

/* Someone who asks one graph. */
typedef struct asker {
    world       *w;
    lic_graph   *graph;
    lic_snapshot snapshot;
    lic_arena    arena;
    lic_eval     eval;
} asker;

static void asker_open(asker *a, world *w, lic_graph *graph)
{
    *a = (asker){ .w = w, .graph = graph };
    lic_snapshot_pin(graph, &a->snapshot);
    lic_arena_init(&a->arena, &w->base.memory);
    lic_eval_init(&a->eval, w->base.program, &a->snapshot, &a->arena, &w->base.limits);
}

static void asker_close(asker *a)
{
    lic_arena_free(&a->arena);
    lic_snapshot_unpin(&a->snapshot);
}

static uint32_t definition_of(const world *w, lic_str type)
{
    const uint32_t definition = lic_program_definition(w->base.program, type);

    assert_int_not_equal(definition, LIC_NO_DEFINITION);
    return definition;
}

static lic_slot slot_of(const world *w, uint32_t definition, lic_str relation)
{
    const lic_program *program = w->base.program;

    if (!lic_str_given(relation))
        return program->definitions[definition].ellipsis;
    return program->relations[lic_program_relation(program, definition, relation)].slot;
}

/* The resource's node, with the subject chosen. */
static uint32_t choose(asker *a, lic_str resource, lic_str subject, lic_str permission, lic_rel *relation)
{
    const lic_program *program = a->w->base.program;
    lic_object         object  = { { NULL, 0 }, { NULL, 0 }, { NULL, 0 } };
    lic_object         who     = { { NULL, 0 }, { NULL, 0 }, { NULL, 0 } };
    uint32_t           definition;
    uint32_t           subject_definition;
    uint32_t           node;
    lic_ref            ref;

    assert_true(lic_object_split(resource, &object) && lic_subject_split(subject, &who));
    definition         = definition_of(a->w, object.type);
    subject_definition = definition_of(a->w, who.type);
    *relation          = lic_program_relation(program, definition, permission);
    node               = lic_snapshot_find_node(&a->snapshot, program->definitions[definition].type, object.id);
    ref.node           = lic_snapshot_find_node(&a->snapshot, program->definitions[subject_definition].type, who.id);
    ref.slot           = slot_of(a->w, subject_definition, who.relation);
    if (node == LIC_NO_NODE && ref.node == LIC_NO_NODE && !lic_str_equal(object.id, who.id))
        node = LIC_OTHER_NODE;
    lic_eval_subject(&a->eval, subject_definition, ref);
    return node;
}

static void say_missing(lic_text *out, const lic_str *names, size_t count)
{
    lic_text_add_literal(out, "if");
    for (size_t i = 0; i < count; i++) {
        lic_text_add_char(out, ' ');
        lic_text_add(out, names[i]);
    }
}

static void say_failure(lic_text *out, licet_status status, licet_error *error)
{
    lic_text_add_literal(out, "failed ");
    lic_text_add_u64(out, (uint64_t)status);
    lic_text_add_char(out, ' ');
    lic_text_add(out, licet_error_reason(error));
    licet_error_free(error);
}

static void say_check(asker *a, const licet_check_request *check, lic_text *out)
{
    licet_error   *error   = NULL;
    lic_missing    missing = { NULL, 0 };
    lic_value      value;
    lic_membership answer;
    lic_rel        relation;
    const uint32_t node   = choose(a, check->resource, check->subject, check->permission, &relation);
    licet_status   status = lic_eval_check(&a->eval, relation, node, &answer, &error);

    value = answer.value;
    if (status == LICET_OK && value == LIC_IF)
        status = lic_condition_decide(&a->eval, answer.condition, &value, &missing, &error);
    if (status != LICET_OK)
        say_failure(out, status, error);
    else if (value == LIC_IF)
        say_missing(out, missing.names, missing.count);
    else
        lic_text_add(out, value == LIC_YES ? LIC_STR("yes") : LIC_STR("no"));
    lic_text_add_char(out, '\n');
}

/* Lines of a text in their order. */
static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort_lines(lic_text *text)
{
    char  *lines[512];
    size_t count = 0;
    char  *copy;

    lic_text_add_char(text, '\0');
    copy = test_malloc(text->size);
    memcpy(copy, text->data, text->size);
    for (char *line = strtok(copy, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        assert_true(count < COUNT(lines));
        lines[count++] = line;
    }
    qsort(lines, count, sizeof *lines, compare_lines);
    text->size = 0;
    for (size_t i = 0; i < count; i++) {
        lic_text_add(text, text_of(lines[i]));
        lic_text_add_char(text, '\n');
    }
    test_free(copy);
}

static void say_resources(asker *a, const lic_need *need, bool sorted, lic_text *out)
{
    const lic_type    type = a->w->base.program->definitions[definition_of(a->w, need->resource_type)].type;
    char              resource[128];
    licet_error      *error = NULL;
    lic_resource_plan plan;
    lic_resource_page page = { NULL, 0, false };
    lic_arena         keep;
    lic_object        who = { { NULL, 0 }, { NULL, 0 }, { NULL, 0 } };
    lic_rel           relation;
    uint64_t          from = 0;
    licet_status      status;

    snprintf(resource, sizeof resource, "%.*s:x", LIC_STR_ARG(need->resource_type));
    lic_arena_init(&keep, &a->w->base.memory);
    choose(a, text_of(resource), need->subject, need->permission, &relation);
    assert_true(lic_subject_split(need->subject, &who));
    status = lic_resources_plan(&a->eval, relation, &keep, &plan, &error);
    while (status == LICET_OK && !page.is_last) {
        status = lic_resources_page(&a->eval, relation, &plan, from, 3, &keep, &page, &error);
        for (size_t i = 0; i < page.count && status == LICET_OK; i++) {
            const uint32_t node = page.answers[i].node;

            lic_text_add(out, node == LIC_NO_NODE ? who.id : lic_graph_node_id(a->graph, type, node));
            lic_text_add_char(out, ' ');
            if (page.answers[i].conditional)
                say_missing(out, page.answers[i].missing.names, page.answers[i].missing.count);
            lic_text_add_char(out, '\n');
            from = (uint64_t)node + 1;
        }
    }
    /* Which pages come before a failure depends on the order of numbers. */
    if (status != LICET_OK) {
        out->size = 0;
        say_failure(out, status, error);
    } else if (sorted) {
        sort_lines(out);
    }
    lic_arena_free(&keep);
}

/* itself: the id of the object asked about, of which else nobody knows. */
static void say_looked_up(asker *a, lic_type type, lic_str itself, const lic_lookup_answer *answer,
                          const lic_looked_up *found, const char *before, lic_text *out)
{
    const lic_missing_names *missing = &answer->missing[found->missing];

    lic_text_add(out, text_of(before));
    if (found->node == LIC_NO_NODE)
        lic_text_add(out, itself);
    else
        lic_text_add(out,
                     found->node == LIC_WILDCARD_NODE ? LIC_STR("*") : lic_graph_node_id(a->graph, type, found->node));
    lic_text_add_char(out, ' ');
    if (found->missing != 0)
        say_missing(out, missing->names, missing->count);
    lic_text_add_char(out, '\n');
}

static void say_subjects(asker *a, const lic_need *need, lic_text *out)
{
    const lic_lookup_page page       = { .limit = UINT64_MAX };
    const uint32_t        definition = definition_of(a->w, need->subject_type);
    const lic_type        type       = a->w->base.program->definitions[definition].type;
    licet_error          *error      = NULL;
    lic_lookup_answer     answer;
    lic_arena             keep;
    lic_object            object;
    uint32_t              resource;
    uint32_t              node;
    licet_status          status;

    assert_true(lic_object_split(need->resource, &object));
    resource = definition_of(a->w, object.type);
    node     = lic_snapshot_find_node(&a->snapshot, a->w->base.program->definitions[resource].type, object.id);
    lic_arena_init(&keep, &a->w->base.memory);
    lic_eval_subject(&a->eval, definition, (lic_ref){ slot_of(a->w, definition, need->subject_relation), LIC_NO_NODE });
    status = lic_lookup_subjects(&a->eval, lic_program_relation(a->w->base.program, resource, need->permission), node,
                                 60000, &page, &keep, &answer, &error);
    if (status != LICET_OK)
        say_failure(out, status, error);
    for (size_t i = 0; i < answer.count; i++)
        say_looked_up(a, type, object.id, &answer, &answer.subjects[i], "", out);
    for (size_t i = 0; i < answer.exclusion_count; i++)
        say_looked_up(a, type, object.id, &answer, &answer.exclusions[i], "-", out);
    sort_lines(out);
    lic_arena_free(&keep);
}

static void say_leaf(asker *a, const lic_tree *tree, const lic_tree_node *node, lic_str itself, lic_text *out)
{
    for (size_t i = 0; i < node->subject_count; i++) {
        const lic_ref  ref  = tree->subjects[node->first_subject + i];
        const lic_type type = lic_names_type_of(a->w->base.names, ref.slot);

        lic_text_add(out, lic_names_type_name(a->w->base.names, type));
        lic_text_add_char(out, ':');
        if (ref.node >= LIC_OTHER_NODE)
            lic_text_add(out, itself);
        else
            lic_text_add(out,
                         ref.node == LIC_WILDCARD_NODE ? LIC_STR("*") : lic_graph_node_id(a->graph, type, ref.node));
        lic_text_add_char(out, '#');
        lic_text_add(out, lic_names_relation_name(a->w->base.names, ref.slot));
        lic_text_add_char(out, '\n');
    }
}

/* All leaves' subjects, and how many nodes of each kind there are: children have the order of numbers. */
static void say_tree(asker *a, const lic_need *need, lic_text *out)
{
    size_t       kinds[8] = { 0 };
    licet_error *error    = NULL;
    lic_tree     tree;
    lic_arena    keep;
    lic_object   itself = { { NULL, 0 }, { NULL, 0 }, { NULL, 0 } };
    lic_rel      relation;
    uint32_t     node = choose(a, need->resource, LIC_STR("user:nobody"), need->permission, &relation);
    licet_status status;

    assert_true(lic_object_split(need->resource, &itself));

    lic_arena_init(&keep, &a->w->base.memory);
    status = lic_expand(&a->eval, relation, node, 60000, &keep, &tree, &error);
    if (status != LICET_OK)
        say_failure(out, status, error);
    for (size_t i = 0; i < tree.count; i++) {
        kinds[tree.nodes[i].kind]++;
        say_leaf(a, &tree, &tree.nodes[i], itself.id, out);
    }
    for (size_t i = 0; i < COUNT(kinds); i++) {
        lic_text_add_u64(out, kinds[i]);
        lic_text_add_char(out, '\n');
    }
    sort_lines(out);
    lic_arena_free(&keep);
}

static void say(world *w, lic_graph *graph, const lic_need *need, lic_text *out)
{
    asker a;

    lic_text_init(out, &w->base.memory);
    asker_open(&a, w, graph);
    switch (need->kind) {
    case LIC_NEED_RESOURCES:
        say_resources(&a, need, true, out);
        break;
    case LIC_NEED_SUBJECTS:
        say_subjects(&a, need, out);
        break;
    case LIC_NEED_EXPANSION:
        say_tree(&a, need, out);
        break;
    default:
        for (size_t i = 0; i < need->check_count; i++)
            say_check(&a, &need->checks[i], out);
    }
    lic_text_add_char(out, '\0');
    asker_close(&a);
}

/* ------------------------------------------------------------------ prefetching */

static lic_pg_wanted wanted_of(world *w, const lic_need *need, const lic_pg_snapshot *at)
{
    return (lic_pg_wanted){ .host      = &w->host,
                            .fetches   = w->fetches,
                            .program   = w->base.program,
                            .need      = need,
                            .limits    = &w->base.limits,
                            .most_rows = 10000,
                            .at        = at };
}

static lic_graph *fetch(world *w, const lic_need *need, const lic_pg_snapshot *at)
{
    const lic_pg_wanted wanted = wanted_of(w, need, at);
    licet_error        *error  = NULL;
    lic_pg_prefetched   fetched;

    if (lic_pg_prefetch(w->link, &wanted, LONG, &w->arena, &fetched, &error) != LICET_OK)
        fail_msg("%.*s", LIC_STR_ARG(licet_error_message(error)));
    assert_non_null(fetched.graph);
    return fetched.graph;
}

/* Over what is fetched as over the whole. */
static void assert_same(world *w, lic_graph *whole, const lic_need *need, const lic_pg_snapshot *at)
{
    lic_graph *part = fetch(w, need, at);
    lic_text   expected;
    lic_text   told;

    say(w, whole, need, &expected);
    say(w, part, need, &told);
    assert_string_equal(told.data, expected.data);
    lic_text_free(&expected);
    lic_text_free(&told);
    lic_graph_free(part);
}

static lic_pg_snapshot current_snapshot(world *w)
{
    PGresult       *result = PQexec(w->connection, "SELECT pg_current_snapshot()");
    lic_pg_snapshot snapshot;

    assert_int_equal(PQresultStatus(result), PGRES_TUPLES_OK);
    assert_int_equal(lic_pg_snapshot_read(&w->arena, text_of(PQgetvalue(result, 0, 0)), &snapshot, NULL), LICET_OK);
    PQclear(result);
    return snapshot;
}

/* ------------------------------------------------------------------------ worlds */

#define IDS 5

/* Every operator, all kinds of subjects, cycles. */
static const char *const schemas[] = {
    FOLDERS,

    "use expiration\nuse self\n"
    "caveat level(x int, y int) { x > y }\n"
    "definition user {\n relation boss: user\n permission chief = boss + self\n }\n"
    "definition group {\n"
    "  relation member: user | user with level | user with expiration | group#member | group#every with level\n"
    "  relation guest: user | user:*\n"
    "  relation out: user\n"
    "  permission every = (member + guest) - out\n"
    "}\n"
    "definition doc {\n"
    "  relation parent: doc | doc with level | group\n"
    "  relation viewer: user | user:* | user:* with level | group#member | group#member with level | group#every | "
    "user with level and expiration\n"
    "  relation editor: user | user with level | group#member | doc#banned\n"
    "  relation banned: user | group#every\n"
    "  permission edit = editor + parent->edit\n"
    "  permission view = viewer + edit + parent->view + parent->every\n"
    "  permission some = view - banned\n"
    "  permission both = viewer & editor & parent->view\n"
    "  permission all = parent.all(view) + editor\n"
    "  permission odd = (some - parent->banned) + both + nil\n"
    "  permission own = editor->chief + banned.all(chief)\n"
    "}\n",

    "use self\ndefinition user {}\n"
    "definition org { relation admin: user | org#admin | org#any\n relation parent: org\n"
    "  relation member: user | user:*\n"
    "  permission any = (member + admin) & parent->any\n"
    "  permission top = any - parent->top\n"
    "  permission mixed = parent.all(admin) - member\n}\n"
    "definition thing { relation org: org | org#admin\n relation viewer: user | org#any | org#top | thing#viewer\n"
    "  permission view = viewer + org->any + org.all(mixed)\n"
    "  permission not = org->admin - view\n"
    "  permission alias = view\n permission alias2 = alias\n"
    "  permission mine = self + alias2\n}\n",
};

typedef struct chance {
    uint64_t state;
} chance;

static uint32_t below(chance *c, uint32_t limit)
{
    c->state = c->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(c->state >> 33) % limit;
}

/* A relationship of this shape. */
static void make_row(world *w, chance *c, const lic_relation *relation, const lic_allowed *allowed, char *text,
                     size_t room)
{
    const lic_program *program = w->base.program;
    const lic_rel      userset = lic_program_slot(program, allowed->slot).relation;
    char               subject[32];
    int                size;

    snprintf(subject, sizeof subject, "%c", 'a' + (int)below(c, IDS));
    size = snprintf(text, room, "%.*s:%c#%.*s@%.*s:%s%s%.*s",
                    LIC_STR_ARG(program->definitions[relation->definition].name), 'a' + (int)below(c, IDS),
                    LIC_STR_ARG(relation->name), LIC_STR_ARG(program->definitions[allowed->definition].name),
                    allowed->wildcard ? "*" : subject, userset == LIC_NO_REL || allowed->wildcard ? "" : "#",
                    userset == LIC_NO_REL || allowed->wildcard ? 0 : (int)program->relations[userset].name.size,
                    userset == LIC_NO_REL || allowed->wildcard ? "" : program->relations[userset].name.data);
    if (allowed->caveat != LIC_NO_CAVEAT) {
        static const char *const contexts[] = { "", ":{\"x\":1}", ":{\"x\":5,\"y\":2}", ":{\"x\":1,\"y\":2}" };

        size += snprintf(text + size, room - (size_t)size, "[%.*s%s]",
                         LIC_STR_ARG(program->caveats[allowed->caveat].name), contexts[below(c, 4)]);
    }
    if (allowed->expiration)
        snprintf(text + size, room - (size_t)size, "[expiration:%s]",
                 below(c, 3) == 0 ? "2001-01-01T00:00:00Z" : "2200-01-01T00:00:00.123456Z");
}

static void change_something(world *w, chance *c, bool removes)
{
    const lic_program  *program = w->base.program;
    const lic_relation *relation;
    const lic_allowed  *allowed;
    char                text[256];

    do
        relation = &program->relations[below(c, (uint32_t)program->relation_count)];
    while (relation->is_permission);
    allowed = &program->allowed[relation->first_allowed + below(c, relation->allowed_count)];
    make_row(w, c, relation, allowed, text, sizeof text);
    put(w, text, !removes);
}

/* A definition, and something of it. */
static lic_str any_type(world *w, chance *c, bool with_relations, const lic_definition **definition)
{
    do
        *definition = &w->base.program->definitions[below(c, (uint32_t)w->base.program->definition_count)];
    while (with_relations && (*definition)->relation_count == 0);
    return (*definition)->name;
}

static lic_str any_name(world *w, chance *c, const lic_definition *definition)
{
    return w->base.program->relations[definition->first_relation + below(c, definition->relation_count)].name;
}

static const char *any_object(world *w, chance *c, bool with_relations, const lic_definition **definition)
{
    const lic_str type = any_type(w, c, with_relations, definition);
    char          text[64];

    snprintf(text, sizeof text, "%.*s:%c", LIC_STR_ARG(type), 'a' + (int)below(c, IDS + 1));
    return kept(w, text_of(text));
}

static const char *any_subject(world *w, chance *c)
{
    const lic_definition *definition;
    const char           *object = any_object(w, c, false, &definition);
    char                  text[128];
    lic_str               name;

    if (definition->relation_count == 0 || below(c, 3) > 0)
        return object;
    name = any_name(w, c, definition);
    snprintf(text, sizeof text, "%s#%.*s", object, LIC_STR_ARG(name));
    return kept(w, text_of(text));
}

static void ask_checks(world *w, chance *c, lic_graph *whole, const lic_pg_snapshot *at, size_t count)
{
    licet_check_request checks[40];
    const char         *subject = any_subject(w, c);
    const bool          mixed   = below(c, 3) == 0;
    lic_need            need    = { .kind = LIC_NEED_CHECKS, .checks = checks, .check_count = count };

    for (size_t i = 0; i < count; i++) {
        const lic_definition *definition;
        const char           *object = any_object(w, c, true, &definition);

        if (mixed)
            subject = any_subject(w, c);
        checks[i]            = check_of(object, "", subject);
        checks[i].permission = any_name(w, c, definition);
    }
    if (below(c, 4) == 0)
        need.kind = LIC_NEED_EXPLANATION;
    assert_same(w, whole, &need, at);
}

static void ask_lookups(world *w, chance *c, lic_graph *whole, const lic_pg_snapshot *at)
{
    const lic_definition *definition;
    const lic_definition *subjects;
    lic_need              need = { .kind = LIC_NEED_RESOURCES };

    need.resource_type = any_type(w, c, true, &definition);
    need.permission    = any_name(w, c, definition);
    need.subject       = text_of(any_subject(w, c));
    assert_same(w, whole, &need, at);
    need.kind         = LIC_NEED_SUBJECTS;
    need.resource     = text_of(any_object(w, c, true, &definition));
    need.permission   = any_name(w, c, definition);
    need.subject_type = any_type(w, c, false, &subjects);
    if (subjects->relation_count > 0 && below(c, 2) == 0)
        need.subject_relation = any_name(w, c, subjects);
    assert_same(w, whole, &need, at);
    need.kind = LIC_NEED_EXPANSION;
    assert_same(w, whole, &need, at);
}

static void ask_all(world *w, chance *c, lic_graph *whole, const lic_pg_snapshot *at)
{
    for (int i = 0; i < 6; i++)
        ask_checks(w, c, whole, at, 1);
    ask_checks(w, c, whole, at, 3);
    ask_checks(w, c, whole, at, 40);
    for (int i = 0; i < 3; i++)
        ask_lookups(w, c, whole, at);
}

static void one_round(world *w, chance *c)
{
    static const uint32_t depths[] = { 50, 50, 6, 4, 2, 1 };
    lic_pg_snapshot       then;
    lic_graph            *before;
    lic_graph            *after;

    w->base.limits.max_depth = depths[below(c, COUNT(depths))];
    world_clear(w);
    for (uint32_t i = 4 + below(c, 40); i > 0; i--)
        change_something(w, c, false);
    before = whole_graph(w);
    then   = current_snapshot(w);
    ask_all(w, c, before, NULL);
    for (uint32_t i = 4 + below(c, 30); i > 0; i--)
        change_something(w, c, below(c, 2) == 0);
    after = whole_graph(w);
    ask_all(w, c, after, NULL);
    ask_all(w, c, before, &then);
    lic_graph_free(before);
    lic_graph_free(after);
    lic_arena_free(&w->arena);
    w->fetches = lic_pg_fetches_new(&w->arena, text_of(w->schema));
}

static void answers_are_those_over_the_whole_graph(void **state)
{
    const char *wish   = getenv("LICET_TEST_ROUNDS");
    const int   rounds = wish == NULL ? 8 : atoi(wish);

    (void)state;
    for (size_t s = 0; s < COUNT(schemas); s++) {
        world  w;
        chance c = { 17 + s };

        world_open(&w, schemas[s]);
        for (int i = 0; i < rounds; i++) {
            c.state = (uint64_t)(i + 1) * 7919 + s;
            one_round(&w, &c);
        }
        world_close(&w);
    }
}

/* -------------------------------------------------------------- what is fetched */

static void put_lines(world *w, const char *lines)
{
    char copy[4096];

    assert_true(strlen(lines) < sizeof copy);
    snprintf(copy, sizeof copy, "%s", lines);
    for (char *line = strtok(copy, "\n"); line != NULL; line = strtok(NULL, "\n"))
        put(w, line, true);
}

/* A document below two folders, seen by a group that is in another. */
#define TREE                                  \
    "document:plan#parent@folder:leaf\n"      \
    "folder:leaf#parent@folder:root\n"        \
    "folder:root#viewer@group:outer#member\n" \
    "group:outer#member@group:inner#member\n" \
    "group:inner#member@user:ana\n"           \
    "document:plan#owner@user:bo\n"           \
    "document:other#owner@user:ana\n"

static void put_many(world *w, const char *before, size_t count, const char *after)
{
    run(w,
        "INSERT INTO rel (rt, ri, rr, st, si) SELECT split_part('%s', ' ', 1), "
        "replace(split_part('%s', ' ', 2), '%%', i::text), split_part('%s', ' ', 3), split_part('%s', ' ', 1), "
        "replace(split_part('%s', ' ', 2), '%%', i::text) FROM generate_series(1, %d) i",
        before, before, before, after, after, (int)count);
}

static size_t rows_of(world *w, const lic_need *need, const lic_pg_snapshot *at)
{
    const lic_pg_wanted wanted = wanted_of(w, need, at);
    lic_pg_prefetched   fetched;

    assert_int_equal(lic_pg_prefetch(w->link, &wanted, LONG, &w->arena, &fetched, NULL), LICET_OK);
    lic_graph_free(fetched.graph);
    return fetched.row_count;
}

static size_t rows_for(world *w, const char *resource, const char *permission, const char *subject)
{
    const licet_check_request check = check_of(resource, permission, subject);
    const lic_need            need  = { .kind = LIC_NEED_CHECKS, .checks = &check, .check_count = 1 };

    return rows_of(w, &need, NULL);
}

static void a_check_fetches_what_leads_on_and_its_subject_alone(void **state)
{
    world w;

    (void)state;
    world_open(&w, FOLDERS);
    put_lines(&w, TREE);
    put_many(&w, "group inner member", 500, "user u%");
    put_many(&w, "document d% owner", 500, "user ana");
    assert_int_equal(rows_for(&w, "document:plan", "view", "user:ana"), 5);
    assert_int_equal(rows_for(&w, "document:plan", "view", "user:nobody"), 4);
    assert_int_equal(rows_for(&w, "document:plan", "view", "user:bo"), 1);
    assert_int_equal(rows_for(&w, "document:none", "view", "user:ana"), 0);
    assert_int_equal(rows_for(&w, "document:plan", "nothing", "user:ana"), 0);
    world_close(&w);
}

static void an_explanation_is_about_what_does_not_decide_too(void **state)
{
    const licet_check_request check = check_of("document:plan", "view", "user:bo");
    const lic_need            need  = { .kind = LIC_NEED_EXPLANATION, .checks = &check, .check_count = 1 };
    lic_pg_prefetched         fetched;
    lic_pg_wanted             wanted;
    world                     w;

    (void)state;
    world_open(&w, FOLDERS);
    put_lines(&w, TREE);
    wanted = wanted_of(&w, &need, NULL);
    assert_int_equal(lic_pg_prefetch(w.link, &wanted, LONG, &w.arena, &fetched, NULL), LICET_OK);
    assert_int_equal(fetched.row_count, 5);
    lic_graph_free(fetched.graph);
    world_close(&w);
}

/* As many, each of the next number. step: of subjects. */
static void put_numbered(world *w, size_t count, const char *resource, const char *subject, size_t step,
                         const char *after)
{
    char line[128];

    for (size_t i = 0; i < count; i++) {
        snprintf(line, sizeof line, "%s%zu%s%zu%s", resource, i, subject, (i + 1) * step, after);
        put(w, line, true);
    }
}

static void a_check_fetches_no_farther_than_the_depth_limit(void **state)
{
    const licet_check_request check = check_of("group:g1", "member", "user:ana");
    const lic_need            need  = { .kind = LIC_NEED_CHECKS, .checks = &check, .check_count = 1 };
    lic_graph                *whole;
    world                     w;

    (void)state;
    world_open(&w, FOLDERS);
    put_numbered(&w, 1500, "group:g", "#member@group:g", 1, "#member");
    put(&w, "group:g1500#member@user:ana", true);
    whole = whole_graph(&w);
    assert_same(&w, whole, &need, NULL);
    lic_graph_free(whole);
    assert_in_range(rows_for(&w, "group:g1", "member", "user:ana"), 1000, 1100); /* what is tried first, and 52 */
    world_close(&w);
}

/* Of whatever is neither a check alone nor many of one subject. */
static void no_fetch_goes_farther_than_the_depth_limit(void **state)
{
    const licet_check_request checks[] = { check_of("folder:f1", "view", "user:ana"),
                                           check_of("folder:f1", "view", "user:bo") };
    const lic_str             names[]  = { LIC_STR("view"), LIC_STR("viewer") };
    const lic_str             folder   = LIC_STR("folder:f1");
    const lic_need            needs[]  = {
                    { .kind = LIC_NEED_CHECKS, .checks = checks, .check_count = 2 },
                    { .kind = LIC_NEED_EXPLANATION, .checks = checks, .check_count = 2 },
                    { .kind             = LIC_NEED_PERMISSIONS,
                      .resource         = folder,
                      .permissions      = names,
                      .permission_count = COUNT(names),
                      .subject          = LIC_STR("user:ana") },
                    { .kind = LIC_NEED_EXPANSION, .resource = folder, .permission = names[0] },
                    { .kind = LIC_NEED_SUBJECTS, .resource = folder, .permission = names[0], .subject_type = LIC_STR("user") },
    };
    lic_graph      *whole;
    lic_pg_snapshot then;
    world           w;

    (void)state;
    world_open(&w, FOLDERS);
    put_numbered(&w, 200, "folder:f", "#parent@folder:f", 1, "");
    put(&w, "folder:f200#viewer@user:ana", true);
    whole = whole_graph(&w);
    then  = current_snapshot(&w);
    for (size_t i = 0; i < COUNT(needs); i++) {
        const size_t subjects = i < 2 ? 2 : 1;

        assert_same(&w, whole, &needs[i], NULL);
        assert_same(&w, whole, &needs[i], &then);
        assert_int_equal(rows_of(&w, &needs[i], NULL), subjects * 52);
        assert_int_equal(rows_of(&w, &needs[i], &then), subjects * 52);
    }
    lic_graph_free(whole);
    world_close(&w);
}

static void a_check_about_very_many_groups_is_answered(void **state)
{
    const licet_check_request check = check_of("document:wide", "view", "user:ana");
    const lic_need            need  = { .kind = LIC_NEED_CHECKS, .checks = &check, .check_count = 1 };
    world                     w;

    (void)state;
    world_open(&w, FOLDERS);
    put_numbered(&w, 3, "group:g", "#member@group:g", 1, "#member");
    put(&w, "document:wide#parent@folder:f", true);
    for (int i = 0; i < 2; i++) {
        lic_graph *whole;
        char       line[64];

        for (size_t k = 0; k < 1200; k += 1 + (size_t)i) {
            snprintf(line, sizeof line, "document:wide#viewer@group:g%zu#member", k);
            put(&w, line, i == 0);
        }
        put(&w, "group:g1198#member@user:ana", i == 0);
        whole = whole_graph(&w);
        assert_same(&w, whole, &need, NULL);
        lic_graph_free(whole);
    }
    world_close(&w);
}

/* More rows of the subject than are read from its side, and fewer. */
static void many_checks_about_one_subject_are_as_each_would_be(void **state)
{
    licet_check_request checks[60];
    lic_need            need = { .kind = LIC_NEED_CHECKS, .checks = checks, .check_count = COUNT(checks) };
    char                ids[60][24];

    (void)state;
    for (size_t rows = 20; rows <= 320; rows += 300) {
        lic_graph *whole;
        world      w;

        world_open(&w, FOLDERS);
        put_lines(&w, TREE);
        for (size_t i = 0; i < rows; i++) {
            char line[64];

            snprintf(line, sizeof line, "document:d%zu#owner@user:ana", i * 3);
            put(&w, line, true);
            snprintf(line, sizeof line, "document:d%zu#parent@folder:leaf", i * 5);
            put(&w, line, true);
        }
        for (size_t i = 0; i < COUNT(checks); i++) {
            snprintf(ids[i], sizeof ids[i], "document:d%zu", i);
            checks[i] = check_of(ids[i], i % 7 == 0 ? "owner" : "view", "user:ana");
        }
        whole = whole_graph(&w);
        assert_same(&w, whole, &need, NULL);
        lic_graph_free(whole);
        world_close(&w);
    }
}

static void many_checks_fetch_what_leads_on_and_their_subject_alone(void **state)
{
    licet_check_request checks[20];
    const lic_need      need = { .kind = LIC_NEED_CHECKS, .checks = checks, .check_count = COUNT(checks) };
    char                ids[COUNT(checks)][24];
    lic_pg_prefetched   fetched;
    lic_pg_wanted       wanted;
    world               w;

    (void)state;
    world_open(&w, FOLDERS);
    put_lines(&w, TREE);
    for (size_t i = 0; i < COUNT(checks); i++) {
        char line[64];

        snprintf(ids[i], sizeof ids[i], "document:d%zu", i);
        checks[i] = check_of(ids[i], "view", "user:ana");
        snprintf(line, sizeof line, "document:d%zu#parent@folder:leaf", i);
        put(&w, line, true);
    }
    put_many(&w, "document d1 viewer", 500, "user u%");
    put_many(&w, "folder leaf viewer", 500, "user u%");
    put_many(&w, "group inner member", 500, "user u%");
    wanted = wanted_of(&w, &need, NULL);
    assert_int_equal(lic_pg_prefetch(w.link, &wanted, LONG, &w.arena, &fetched, NULL), LICET_OK);
    assert_int_equal(fetched.row_count, COUNT(checks) + 5); /* two of ana's, and from the leaf to the inner group */
    lic_graph_free(fetched.graph);
    world_close(&w);
}

/* Documents below thirty folders, some of them seen by groups too, which are in a circle: of many checks, those views. */
static size_t ask_below_many_folders(world *w, lic_pg_prefetched *fetched)
{
    static const char   on_top[] = "folder:f30#viewer@group:g0#member\ngroup:g2#member@group:g0#member\n"
                                   "group:g1#member@user:ana\nfolder:f31#viewer@user:bo\n";
    licet_check_request checks[20];
    const lic_need      need   = { .kind = LIC_NEED_CHECKS, .checks = checks, .check_count = COUNT(checks) };
    const lic_pg_wanted wanted = wanted_of(w, &need, NULL);
    char                ids[COUNT(checks)][24];
    lic_graph          *whole;

    put_numbered(w, COUNT(checks), "document:d", "#parent@folder:f", 0, "");
    put_numbered(w, 2, "document:d", "#viewer@group:g", 1, "#member");
    put_numbered(w, 30, "folder:f", "#parent@folder:f", 1, "");
    put_numbered(w, 2, "group:g", "#member@group:g", 1, "#member");
    put_lines(w, on_top);
    for (size_t i = 0; i < COUNT(checks); i++) {
        snprintf(ids[i], sizeof ids[i], "document:d%zu", i);
        checks[i] = check_of(ids[i], "view", "user:ana");
    }
    whole = whole_graph(w);
    assert_same(w, whole, &need, NULL);
    lic_graph_free(whole);
    assert_int_equal(lic_pg_prefetch(w->link, &wanted, LONG, &w->arena, fetched, NULL), LICET_OK);
    lic_graph_free(fetched->graph);
    return COUNT(checks) + 2 + 30;
}

static void many_checks_go_ways_of_any_length_and_in_circles(void **state)
{
    lic_pg_prefetched fetched;
    size_t            way;
    world             w;

    (void)state;
    world_open(&w, FOLDERS);
    way = ask_below_many_folders(&w, &fetched);
    /* Of the circle each row, some more than once: it is looked for in the first rounds only. */
    assert_in_range(fetched.row_count, way + 5, way + 1 + 4 * 10);
    world_close(&w);
}

static void what_is_looked_up_is_numbered_in_its_order(void **state)
{
    const lic_need need = { .kind          = LIC_NEED_RESOURCES,
                            .resource_type = LICET_STR("document"),
                            .permission    = LICET_STR("view"),
                            .subject       = LICET_STR("user:ana") };
    world          w;

    (void)state;
    world_open(&w, FOLDERS);
    put_lines(&w, "document:c#owner@user:ana\ndocument:a#parent@folder:x\ndocument:d#viewer@group:g#member\n"
                  "folder:x#viewer@user:ana\ngroup:g#member@user:ana\ndocument:b#viewer@user:ana\n");
    for (int i = 0; i < 2; i++) {
        lic_graph *graph = fetch(&w, &need, NULL);
        lic_text   told;
        asker      a;

        asker_open(&a, &w, graph);
        lic_text_init(&told, &w.base.memory);
        say_resources(&a, &need, false, &told);
        lic_text_add_char(&told, '\0');
        assert_string_equal(told.data, "a \nb \nc \nd \n");
        lic_text_free(&told);
        asker_close(&a);
        lic_graph_free(graph);
    }
    world_close(&w);
}

/* ------------------------------------------------------------------ what can fail */

static void assert_fails(world *w, const lic_pg_wanted *wanted, licet_status status, licet_kind kind,
                         const char *message)
{
    licet_error      *error = NULL;
    lic_pg_prefetched fetched;

    assert_int_equal(lic_pg_prefetch(w->link, wanted, LONG, &w->arena, &fetched, &error), status);
    assert_null(fetched.graph);
    assert_int_equal(licet_error_kind(error), kind);
    assert_true(lic_str_equal(licet_error_message(error), text_of(message)));
    licet_error_free(error);
}

static void a_row_that_does_not_fit_fails_the_whole(void **state)
{
    static const struct {
        const char *row; /* in place of all others */
        const char *message;
    } cases[] = {
        { "'document', 'plan', 'owner', 'user', 'bo', '...', 'level', NULL, NULL",
          "the database holds a relationship that does not fit its schema: subjects of type `user with level` are not "
          "allowed on relation `document#owner`" },
        { "'document', 'plan', 'owner', 'user', 'bo', '...', NULL, NULL, '2200-01-01'",
          "the database holds a relationship that does not fit its schema: subjects of type `user with expiration` are "
          "not allowed on relation `document#owner`" },
    };
    const licet_check_request check = check_of("document:plan", "view", "user:bo");
    const lic_need            need  = { .kind = LIC_NEED_EXPLANATION, .checks = &check, .check_count = 1 };
    world                     w;

    (void)state;
    world_open(&w, FOLDERS);
    for (size_t i = 0; i < COUNT(cases); i++) {
        const lic_pg_wanted wanted = wanted_of(&w, &need, NULL);
        licet_error        *error  = NULL;
        lic_pg_prefetched   fetched;

        world_clear(&w);
        run(&w, "INSERT INTO rel (rt, ri, rr, st, si, sr, caveat, context, expires_at) VALUES (%s)", cases[i].row);
        assert_int_equal(lic_pg_prefetch(w.link, &wanted, LONG, &w.arena, &fetched, &error), LICET_UNAVAILABLE);
        assert_null(fetched.graph);
        assert_string_equal(kept(&w, licet_error_message(error)), cases[i].message);
        licet_error_free(error);
    }
    world_close(&w);
}

static void an_id_that_is_none_fails_the_whole(void **state)
{
    const licet_check_request check = check_of("document:plan", "view", "user:bo");
    const lic_need            need  = { .kind = LIC_NEED_CHECKS, .checks = &check, .check_count = 1 };
    lic_pg_prefetched         fetched;
    lic_pg_wanted             wanted;
    world                     w;

    (void)state;
    world_open(&w, FOLDERS);
    run(&w, "INSERT INTO rel (rt, ri, rr, st, si) VALUES ('document', 'plan', 'parent', 'folder', 'a b')");
    wanted = wanted_of(&w, &need, NULL);
    assert_int_equal(lic_pg_prefetch(w.link, &wanted, LONG, &w.arena, &fetched, NULL), LICET_UNAVAILABLE);
    assert_null(fetched.graph);
    world_close(&w);
}

/* Ids travel in lists, with commas. */
static void an_id_with_a_comma_fails_many_checks(void **state)
{
    static const char *const rows[] = {
        "('document', 'd1', 'parent', 'folder', 'a,b', '...')",
        "('document', 'd1', 'parent', 'folder', ',', '...')",
        "('document', 'd1', 'parent', 'folder', '', '...')",
        "('document', 'd1,d2', 'owner', 'user', 'bo', '...')",
        "('document', 'd1', 'parent', 'folder', 'a,b', '...'), ('document', 'd1', 'viewer', 'group', 'g', 'member'), "
        "('document', 'd2', 'parent', 'folder', 'c', '...')",
        "('document', 'd1', 'viewer', 'group', 'g,h', 'member')",
    };
    licet_check_request checks[20];
    const lic_need      need = { .kind = LIC_NEED_CHECKS, .checks = checks, .check_count = COUNT(checks) };
    world               w;

    (void)state;
    world_open(&w, FOLDERS);
    for (size_t i = 0; i < COUNT(checks); i++)
        checks[i] = check_of(i % 2 == 0 ? "document:d1" : "document:d2", "view", "user:bo");
    for (size_t i = 0; i < COUNT(rows); i++) {
        const lic_pg_wanted wanted = wanted_of(&w, &need, NULL);
        lic_pg_prefetched   fetched;

        world_clear(&w);
        run(&w, "INSERT INTO rel (rt, ri, rr, st, si, sr) VALUES %s", rows[i]);
        assert_int_equal(lic_pg_prefetch(w.link, &wanted, LONG, &w.arena, &fetched, NULL), LICET_UNAVAILABLE);
        assert_null(fetched.graph);
    }
    world_close(&w);
}

static void many_checks_count_each_row_against_the_limit(void **state)
{
    licet_check_request checks[20];
    const lic_need      need = { .kind = LIC_NEED_CHECKS, .checks = checks, .check_count = COUNT(checks) };
    lic_pg_wanted       wanted;
    world               w;

    (void)state;
    world_open(&w, FOLDERS);
    put_many(&w, "document plan viewer", 100, "group g%");
    run(&w, "UPDATE rel SET sr = 'member'");
    for (size_t i = 0; i < COUNT(checks); i++)
        checks[i] = check_of("document:plan", "view", "user:bo");
    wanted           = wanted_of(&w, &need, NULL);
    wanted.most_rows = 99;
    assert_fails(&w, &wanted, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT,
                 "the request touches more than the 99 relationships that are fetched for one");
    wanted.most_rows = 100;
    lic_graph_free(fetch(&w, &need, NULL));
    world_close(&w);
}

/* Usersets of another relation of the same groups lie before the one that counts, and nothing is asked about them. */
static void rows_that_nothing_asks_for_hide_none_of_many_checks(void **state)
{
    licet_check_request checks[20];
    const lic_need      need = { .kind = LIC_NEED_CHECKS, .checks = checks, .check_count = COUNT(checks) };
    lic_pg_prefetched   fetched;
    lic_pg_wanted       wanted;
    world               w;

    (void)state;
    world_open(&w, FOLDERS);
    put_many(&w, "document plan viewer", 100, "group g%");
    run(&w, "UPDATE rel SET sr = 'other'");
    run(&w, "INSERT INTO rel (rt, ri, rr, st, si, sr) VALUES ('document', 'plan', 'viewer', 'group', 'z', 'member')");
    for (size_t i = 0; i < COUNT(checks); i++)
        checks[i] = check_of("document:plan", "view", "user:bo");
    wanted           = wanted_of(&w, &need, NULL);
    wanted.most_rows = 9;
    assert_int_equal(lic_pg_prefetch(w.link, &wanted, LONG, &w.arena, &fetched, NULL), LICET_OK);
    assert_int_equal(fetched.row_count, 1);
    lic_graph_free(fetched.graph);
    world_close(&w);
}

static void more_rows_than_the_limit_are_an_error(void **state)
{
    const lic_need need = { .kind         = LIC_NEED_SUBJECTS,
                            .resource     = LICET_STR("group:inner"),
                            .permission   = LICET_STR("member"),
                            .subject_type = LICET_STR("user") };
    lic_pg_wanted  wanted;
    world          w;

    (void)state;
    world_open(&w, FOLDERS);
    put_many(&w, "group inner member", 100, "user u%");
    wanted           = wanted_of(&w, &need, NULL);
    wanted.most_rows = 99;
    assert_fails(&w, &wanted, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT,
                 "the request touches more than the 99 relationships that are fetched for one");
    wanted.most_rows = 100;
    lic_graph_free(fetch(&w, &need, NULL));
    world_close(&w);
}

static void another_schema_in_force_is_told_and_nothing_is_judged_by_this_one(void **state)
{
    const licet_check_request check = check_of("document:plan", "view", "user:bo");
    const lic_need            need  = { .kind = LIC_NEED_CHECKS, .checks = &check, .check_count = 1 };
    lic_pg_snapshot           before;
    lic_pg_prefetched         fetched;
    lic_pg_wanted             wanted;
    world                     w;

    (void)state;
    world_open(&w, FOLDERS);
    put_lines(&w, TREE);
    before = current_snapshot(&w);
    run(&w, "INSERT INTO zed (version, text) VALUES (7, '')");
    wanted = wanted_of(&w, &need, NULL);
    assert_int_equal(lic_pg_prefetch(w.link, &wanted, LONG, &w.arena, &fetched, NULL), LICET_OK);
    assert_null(fetched.graph);
    assert_int_equal(fetched.schema_version, 7);
    wanted.at = &before; /* when it was not yet there */
    assert_int_equal(lic_pg_prefetch(w.link, &wanted, LONG, &w.arena, &fetched, NULL), LICET_OK);
    assert_non_null(fetched.graph);
    assert_int_equal(fetched.schema_version, 0);
    assert_true(lic_pg_snapshot_equal(&fetched.snapshot, &before));
    assert_false(lic_pg_snapshot_equal(&fetched.current, &before));
    lic_graph_free(fetched.graph);
    world_close(&w);
}

static void a_past_that_was_collected_is_expired(void **state)
{
    const lic_need  need = { .kind = LIC_NEED_NOTHING };
    lic_pg_snapshot then;
    lic_pg_wanted   wanted;
    world           w;

    (void)state;
    world_open(&w, FOLDERS);
    then   = current_snapshot(&w);
    wanted = wanted_of(&w, &need, &then);
    lic_graph_free(fetch(&w, &need, &then));
    run(&w, "UPDATE meta SET gc_horizon = (%llu + 1)::text::xid8", (unsigned long long)then.xmin);
    assert_fails(&w, &wanted, LICET_REVISION_EXPIRED, LICET_KIND_TOKEN,
                 "the revision is older than what garbage collection has left");
    world_close(&w);
}

/* Fails the first allocation, then the second, and so on. */
static void assert_survives(world *w, const lic_need *need)
{
    licet_status status = LICET_OUT_OF_MEMORY;

    for (size_t n = 0; status != LICET_OK; n++) {
        failing_memory    failing = fail_after(n);
        lic_store_host    host    = w->host;
        lic_pg_wanted     wanted  = wanted_of(w, need, NULL);
        lic_memory        memory;
        lic_arena         arena;
        lic_pg_prefetched fetched;

        lic_memory_init(&memory, &failing.allocator, SIZE_MAX);
        lic_arena_init(&arena, &memory);
        host.memory = &memory;
        wanted.host = &host;
        status      = lic_pg_prefetch(w->link, &wanted, LONG, &arena, &fetched, NULL);
        if (status != LICET_OK)
            assert_int_equal(status, LICET_OUT_OF_MEMORY);
        assert_true((status == LICET_OK) == (fetched.graph != NULL));
        lic_graph_free(fetched.graph);
        lic_arena_free(&arena);
        assert_int_equal(memory.used, 0);
        assert_int_equal(failing.counts->live_blocks, 0);
    }
}

static void prefetching_survives_every_failed_allocation(void **state)
{
    licet_check_request checks[20];
    const lic_need      needs[] = {
             { .kind = LIC_NEED_CHECKS, .checks = checks, .check_count = 1 },
             { .kind = LIC_NEED_CHECKS, .checks = checks, .check_count = COUNT(checks) },
             { .kind          = LIC_NEED_RESOURCES,
               .resource_type = LICET_STR("doc"),
               .permission    = LICET_STR("some"),
               .subject       = LICET_STR("user:a") },
             { .kind         = LIC_NEED_SUBJECTS,
               .resource     = LICET_STR("doc:a"),
               .permission   = LICET_STR("some"),
               .subject_type = LICET_STR("user") },
    };
    world w;

    (void)state;
    world_open(&w, schemas[1]);
    put_lines(&w, "doc:a#viewer@user:a[level:{\"x\":1}][expiration:2200-01-01T00:00:00Z]\n"
                  "doc:a#parent@doc:b[level:{\"y\":1}]\ndoc:b#editor@user:a\ndoc:a#banned@group:a#every\n"
                  "group:a#member@user:b\ngroup:a#guest@user:*\n");
    for (size_t i = 0; i < COUNT(checks); i++)
        checks[i] = check_of(i % 2 == 0 ? "doc:a" : "doc:b", "odd", "user:a");
    for (size_t i = 0; i < COUNT(needs); i++)
        assert_survives(&w, &needs[i]);
    world_close(&w);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_check_looks_for_its_subject_and_for_what_leads_on),
        cmocka_unit_test(a_userset_that_is_asked_about_is_among_those_that_lead_on),
        cmocka_unit_test(operators_are_taken_for_unions_but_do_not_decide),
        cmocka_unit_test(rows_of_an_arrow_are_fetched_though_they_lead_nowhere),
        cmocka_unit_test(shapes_that_demand_an_attribute_do_not_decide),
        cmocka_unit_test(what_lies_as_deep_as_the_limit_does_not_decide),
        cmocka_unit_test(permissions_of_one_arrow_share_a_state),
        cmocka_unit_test(names_that_the_schema_lacks_need_nothing),
        cmocka_unit_test(an_expansion_wants_all_rows_and_follows_no_usersets),
        cmocka_unit_test(a_lookup_of_subjects_wants_those_of_its_shape),
        cmocka_unit_test(a_lookup_of_resources_goes_backwards),
        cmocka_unit_test(answers_are_those_over_the_whole_graph),
        cmocka_unit_test(a_check_fetches_what_leads_on_and_its_subject_alone),
        cmocka_unit_test(an_explanation_is_about_what_does_not_decide_too),
        cmocka_unit_test(a_check_fetches_no_farther_than_the_depth_limit),
        cmocka_unit_test(no_fetch_goes_farther_than_the_depth_limit),
        cmocka_unit_test(a_check_about_very_many_groups_is_answered),
        cmocka_unit_test(many_checks_about_one_subject_are_as_each_would_be),
        cmocka_unit_test(many_checks_fetch_what_leads_on_and_their_subject_alone),
        cmocka_unit_test(many_checks_go_ways_of_any_length_and_in_circles),
        cmocka_unit_test(what_is_looked_up_is_numbered_in_its_order),
        cmocka_unit_test(a_row_that_does_not_fit_fails_the_whole),
        cmocka_unit_test(an_id_that_is_none_fails_the_whole),
        cmocka_unit_test(an_id_with_a_comma_fails_many_checks),
        cmocka_unit_test(many_checks_count_each_row_against_the_limit),
        cmocka_unit_test(rows_that_nothing_asks_for_hide_none_of_many_checks),
        cmocka_unit_test(more_rows_than_the_limit_are_an_error),
        cmocka_unit_test(another_schema_in_force_is_told_and_nothing_is_judged_by_this_one),
        cmocka_unit_test(a_past_that_was_collected_is_expired),
        cmocka_unit_test(prefetching_survives_every_failed_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

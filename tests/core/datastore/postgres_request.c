/* core/datastore/postgres/request.c, copy_rows.c and statements.c: what is sent, byte for byte, and none of it when
 * there is no memory for all of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "datastore/postgres/copy_rows.h"
#include "datastore/postgres/request.h"
#include "datastore/postgres/statements.h"
#include "engine_world.h"
#include "failing_memory.h"

#define SCHEMA                                                                        \
    "use expiration\n"                                                                \
    "caveat ip(net ipaddress, seen list<map<int>>) { true }\n"                        \
    "caveat empty(a bool) { a }\n"                                                    \
    "definition user {}\n"                                                            \
    "definition doc {\n"                                                              \
    "    relation viewer: user | user:* | doc#viewer | user with ip and expiration\n" \
    "    relation parent: doc#view\n"                                                 \
    "    permission view = viewer\n"                                                  \
    "}\n"

typedef struct vocabulary {
    lic_memory    memory;
    lic_names    *names;
    licet_schema *schema;
} vocabulary;

static void vocabulary_init(vocabulary *v)
{
    licet_schema_request request = LICET_SCHEMA_REQUEST_INIT;

    v->schema = NULL;
    lic_memory_init(&v->memory, NULL, SIZE_MAX);
    v->names                        = lic_names_new(&v->memory);
    request.text                    = text_of(SCHEMA);
    request.allow_unused_parameters = true;
    assert_int_equal(lic_schema_new(&v->memory, v->names, &request, &v->schema, NULL), LICET_OK);
}

static void vocabulary_free(vocabulary *v)
{
    licet_schema_release(v->schema);
    lic_names_free(v->names);
    assert_int_equal(v->memory.used, 0);
}

/* The slot of a definition's relation; NULL: of the object itself. */
static lic_slot slot_of(const vocabulary *v, const char *definition, const char *relation)
{
    const lic_program *program = v->schema->program;
    const uint32_t     found   = lic_program_definition(program, text_of(definition));

    if (relation == NULL)
        return program->definitions[found].ellipsis;
    return program->relations[lic_program_relation(program, found, text_of(relation))].slot;
}

static lic_store_change change_of(const vocabulary *v, licet_operation operation, const char *subject_type,
                                  const char *subject_relation, const char *subject_id)
{
    return (lic_store_change){
        .operation   = operation,
        .typed       = { slot_of(v, "doc", "viewer"), slot_of(v, subject_type, subject_relation), false },
        .resource_id = LIC_STR("a/1"),
        .subject_id  = text_of(subject_id),
        .attribute   = { .expires_at_s = LIC_NEVER_EXPIRES, .caveat = LIC_NO_CAVEAT_NAME },
    };
}

static void fill_changes(const vocabulary *v, lic_store_change changes[3])
{
    changes[0]                         = change_of(v, LICET_CREATE, "doc", "viewer", "b");
    changes[1]                         = change_of(v, LICET_TOUCH, "user", NULL, "*");
    changes[2]                         = change_of(v, LICET_DELETE, "user", NULL, "u|x");
    changes[1].attribute.expires_at_s  = 946684800;
    changes[1].attribute.expires_at_ns = 120000007;
    changes[1].attribute.caveat =
        v->schema->program->caveat_numbers[lic_program_caveat(v->schema->program, LIC_STR("ip"))];
    changes[1].attribute.context = LIC_STR("{\"net\":\"\\u0000\"}");
    changes[2].attribute         = changes[1].attribute;
}

static void text_is(const lic_text *text, const char *expected)
{
    assert_false(text->failed);
    assert_int_equal(text->size, strlen(expected));
    assert_memory_equal(text->data, expected, text->size);
}

static const char written[] =
    "{\"updates\":[{\"operation\":\"create\",\"relationship\":{\"resource_type\":\"doc\",\"resource_id\":\"a/1\","
    "\"relation\":\"viewer\",\"subject_type\":\"doc\",\"subject_id\":\"b\",\"subject_relation\":\"viewer\"}},"
    "{\"operation\":\"touch\",\"relationship\":{\"resource_type\":\"doc\",\"resource_id\":\"a/1\","
    "\"relation\":\"viewer\",\"subject_type\":\"user\",\"subject_id\":\"*\",\"caveat_name\":\"ip\","
    "\"caveat_context\":\"{\\\"net\\\":\\\"\\\\u0000\\\"}\",\"expiration\":\"2000-01-01T00:00:00.120000007Z\"}},"
    "{\"operation\":\"delete\",\"relationship\":{\"resource_type\":\"doc\",\"resource_id\":\"a/1\","
    "\"relation\":\"viewer\",\"subject_type\":\"user\",\"subject_id\":\"u|x\"}}],"
    "\"preconditions\":[{\"must_match\":{\"resource_type\":\"doc\",\"resource_id_prefix\":\"a\","
    "\"subject_relation\":\"\"}},{\"must_not_match\":{}}],\"metadata\":\"{ \\\"k\\\": -0 }\"}";

static const char erased[] = "{\"filter\":{\"resource_type\":\"doc\",\"resource_id_prefix\":\"a\","
                             "\"subject_relation\":\"\"},\"limit\":1000,\"allow_partial\":true,\"preconditions\":[]}";

static const char schema_json[] =
    "\"definitions\":[{\"name\":\"user\",\"relations\":[],\"permissions\":[]},{\"name\":\"doc\",\"relations\":["
    "{\"name\":\"viewer\",\"allowed\":[{\"type\":\"user\",\"wildcard\":false,\"expiration\":false},"
    "{\"type\":\"user\",\"wildcard\":true,\"expiration\":false},"
    "{\"type\":\"doc\",\"relation\":\"viewer\",\"wildcard\":false,\"expiration\":false},"
    "{\"type\":\"user\",\"wildcard\":false,\"caveat\":\"ip\",\"expiration\":true}]},"
    "{\"name\":\"parent\",\"allowed\":[{\"type\":\"doc\",\"relation\":\"view\",\"wildcard\":false,"
    "\"expiration\":false}]}],\"permissions\":[\"view\"]}],"
    "\"caveats\":[{\"name\":\"ip\",\"parameters\":[{\"name\":\"net\",\"type\":\"ipaddress\"},"
    "{\"name\":\"seen\",\"type\":\"list<map<int>>\"}]},"
    "{\"name\":\"empty\",\"parameters\":[{\"name\":\"a\",\"type\":\"bool\"}]}]}";

/* Everything that is printed, one after the other, each with this memory. false: for one there was not enough. */
static bool print_all(const vocabulary *v, lic_memory *memory)
{
    lic_expectation       expectations[2] = { { .must_match = true }, { .must_match = false } };
    const lic_store_write write           = { .expectations      = expectations,
                                              .expectation_count = 2,
                                              .metadata          = LIC_STR("{ \"k\": -0 }") };
    const lic_store_write plain           = { .expectations = NULL };
    lic_store_erasure     erasure         = { .asked = LICET_FILTER_INIT, .limit = 1000, .allow_partial = true };
    const lic_str         text            = v->schema->text;
    lic_store_change      changes[3];
    lic_text              out;
    bool                  done;

    fill_changes(v, changes);
    erasure.asked.resource_type      = LIC_STR("doc");
    erasure.asked.resource_id_prefix = LIC_STR("a");
    erasure.asked.subject_relation   = LIC_STR("");
    expectations[0].asked            = erasure.asked;
    expectations[1].asked            = (licet_filter)LICET_FILTER_INIT;
    lic_text_init(&out, memory);
    lic_pg_request_write(&out, v->names, &write, changes, 3);
    done = !out.failed;
    if (done) {
        text_is(&out, written);
        out.size = 0;
        lic_pg_request_erase(&out, &plain, &erasure);
        done = !out.failed;
    }
    if (done) {
        text_is(&out, erased);
        out.size = 0;
        lic_pg_request_schema(&out, v->schema);
        done = !out.failed;
    }
    if (done) {
        assert_memory_equal(out.data, "{\"text\":\"use expiration\\ncaveat ip(", 34);
        assert_true(out.size > sizeof schema_json && text.size > 0);
        assert_memory_equal(out.data + out.size - strlen(schema_json), schema_json, strlen(schema_json));
    }
    lic_text_free(&out);
    return done;
}

static void requests_say_all_that_was_judged(void **state)
{
    vocabulary v;
    lic_memory memory;

    (void)state;
    vocabulary_init(&v);
    lic_memory_init(&memory, NULL, SIZE_MAX);
    assert_true(print_all(&v, &memory));
    assert_int_equal(memory.used, 0);
    vocabulary_free(&v);
}

static void requests_without_memory_say_so(void **state)
{
    vocabulary v;
    bool       done = false;

    (void)state;
    vocabulary_init(&v);
    for (size_t n = 0; !done; n++) {
        const failing_memory failing = fail_after(n);
        lic_memory           memory;

        lic_memory_init(&memory, &failing.allocator, SIZE_MAX);
        done = print_all(&v, &memory);
        assert_int_equal(done, failing.counts->failures == 0);
        assert_int_equal(failing.counts->live_blocks, 0);
    }
    vocabulary_free(&v);
}

static void rows_are_what_binary_copies_hold(void **state)
{
    static const char bare[] = "\0\12"
                               "\0\0\0\3doc"
                               "\0\0\0\3a/1"
                               "\0\0\0\6viewer"
                               "\0\0\0\3doc"
                               "\0\0\0\1b"
                               "\0\0\0\6viewer"
                               "\377\377\377\377"
                               "\377\377\377\377"
                               "\377\377\377\377"
                               "\0\0\0\2\0\0";
    static const char full[] = "\0\12"
                               "\0\0\0\3doc"
                               "\0\0\0\3a/1"
                               "\0\0\0\6viewer"
                               "\0\0\0\4user"
                               "\0\0\0\1*"
                               "\0\0\0\3..."
                               "\0\0\0\2ip"
                               "\0\0\0\20{\"net\":\"\\u0000\"}"
                               "\0\0\0\10\0\0\0\0\0\1\324\300"
                               "\0\0\0\2\0\7";
    lic_store_change  changes[3];
    lic_text          out;
    vocabulary        v;

    (void)state;
    vocabulary_init(&v);
    fill_changes(&v, changes);
    lic_text_init(&out, &v.memory);
    lic_pg_copy_row(&out, v.names, &changes[0]);
    assert_int_equal(out.size, sizeof bare - 1);
    assert_memory_equal(out.data, bare, sizeof bare - 1);
    out.size = 0;
    lic_pg_copy_row(&out, v.names, &changes[1]);
    assert_int_equal(out.size, sizeof full - 1);
    assert_memory_equal(out.data, full, sizeof full - 1);
    lic_text_free(&out);
    vocabulary_free(&v);
}

static void times_before_postgres_counts_are_negative(void **state)
{
    static const char end[] = "\0\0\0\10\377\377\377\377\377\377\377\377"
                              "\0\0\0\2\3\347";
    lic_store_change  changes[3];
    lic_text          out;
    vocabulary        v;

    (void)state;
    vocabulary_init(&v);
    fill_changes(&v, changes);
    changes[1].attribute.expires_at_s  = 946684799;
    changes[1].attribute.expires_at_ns = 999999999;
    lic_text_init(&out, &v.memory);
    lic_pg_copy_row(&out, v.names, &changes[1]);
    assert_memory_equal(out.data + out.size - (sizeof end - 1), end, sizeof end - 1);
    lic_text_free(&out);
    vocabulary_free(&v);
}

/* ------------------------------------------------------------ statements */

static void only_plain_names_of_schemas_are_put_into_sql(void **state)
{
    static const char *const good[] = { "licet", "_", "a1", "a_2_b", "pg", "pgx_", "information_schema_" };
    static const char *const bad[]  = { "",    "1a",       "A",  "a-b",        "a b",  "a\"",
                                        "a.b", "\303\244", "a;", "pg_catalog", "pg_x", "information_schema" };
    char                     long_name[65];

    (void)state;
    memset(long_name, 'a', 64);
    long_name[64] = '\0';
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(lic_pg_schema_name_is(text_of(good[i])));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(lic_pg_schema_name_is(text_of(bad[i])));
    assert_false(lic_pg_schema_name_is(text_of(NULL)));
    assert_false(lic_pg_schema_name_is((lic_str){ "a\0b", 3 }));
    assert_false(lic_pg_schema_name_is(text_of(long_name)));
    assert_true(lic_pg_schema_name_is(text_of(long_name + 1)));
}

static void the_name_stands_wherever_the_text_has_its_place(void **state)
{
    lic_memory  memory;
    lic_arena   arena;
    const char *text;

    (void)state;
    lic_memory_init(&memory, NULL, SIZE_MAX);
    lic_arena_init(&arena, &memory);
    text = lic_pg_statement_text(&arena, "{schema}.a, {schem} {schema}{schema}", LIC_STR("s"));
    assert_string_equal(text, "\"s\".a, {schem} ss");
    assert_string_equal(lic_pg_statement_text(&arena, "", LIC_STR("s")), "");
    text = lic_pg_statement_text(&arena, "{schema}", LIC_STR("a_name_longer_than_its_place"));
    assert_string_equal(text, "a_name_longer_than_its_place");
    lic_arena_free(&arena);
    assert_int_equal(memory.used, 0);
}

static void statements_survive_every_failed_allocation(void **state)
{
    const lic_pg_statements *made = NULL;

    (void)state;
    for (size_t n = 0; made == NULL; n++) {
        const failing_memory failing = fail_after(n);
        lic_memory           memory;
        lic_arena            arena;

        lic_memory_init(&memory, &failing.allocator, SIZE_MAX);
        lic_arena_init(&arena, &memory);
        made = lic_pg_statements_new(&arena, LIC_STR("s"));
        assert_int_equal(made != NULL, failing.counts->failures == 0);
        for (size_t i = 0; made != NULL && i < LIC_PG_STATEMENT_COUNT; i++) {
            assert_non_null(made->items[i].sql);
            assert_null(strstr(made->items[i].sql, "{schema}"));
        }
        lic_arena_free(&arena);
        assert_int_equal(failing.counts->live_blocks, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_say_all_that_was_judged),
        cmocka_unit_test(requests_without_memory_say_so),
        cmocka_unit_test(rows_are_what_binary_copies_hold),
        cmocka_unit_test(times_before_postgres_counts_are_negative),
        cmocka_unit_test(only_plain_names_of_schemas_are_put_into_sql),
        cmocka_unit_test(the_name_stands_wherever_the_text_has_its_place),
        cmocka_unit_test(statements_survive_every_failed_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

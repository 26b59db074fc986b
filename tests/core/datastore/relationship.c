/* core/datastore/relationship.c: the notation of relationships, both ways. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "engine_world.h"
#include "failing_memory.h"

static void assert_field(licet_str actual, const char *expected)
{
    if (expected == NULL) {
        assert_null(actual.data);
        return;
    }
    assert_non_null(actual.data);
    assert_int_equal(actual.size, strlen(expected));
    assert_memory_equal(actual.data, expected, actual.size);
}

static licet_relationship parse(const char *text)
{
    licet_relationship relationship = LICET_RELATIONSHIP_INIT;
    licet_error       *error        = NULL;
    licet_status       status       = licet_relationship_parse(text_of(text), &relationship, &error);

    if (status != LICET_OK)
        print_error("%s: %.*s\n", text, (int)licet_error_message(error).size, licet_error_message(error).data);
    assert_int_equal(status, LICET_OK);
    return relationship;
}

static void assert_prints(const licet_relationship *relationship, const char *expected)
{
    licet_buffer out = LICET_BUFFER_INIT;

    assert_int_equal(licet_relationship_format(relationship, &out, NULL), LICET_OK);
    if (out.size != strlen(expected) || memcmp(out.data, expected, out.size) != 0)
        print_error("%.*s\n", (int)out.size, out.data);
    assert_field((licet_str){ out.data, out.size }, expected);
    licet_buffer_clear(&out);
    licet_buffer_clear(&out);
}

static void every_part_of_the_notation_is_read(void **state)
{
    licet_relationship r = parse("org/document:a/b|c-d=+_Z9#viewer@org/group:eng#member[nsp/cav:{\"k\": [1, \"}]\"]}]"
                                 "[expiration:2030-01-02T03:04:05Z]");

    (void)state;
    assert_field(r.resource_type, "org/document");
    assert_field(r.resource_id, "a/b|c-d=+_Z9");
    assert_field(r.relation, "viewer");
    assert_field(r.subject_type, "org/group");
    assert_field(r.subject_id, "eng");
    assert_field(r.subject_relation, "member");
    assert_field(r.caveat_name, "nsp/cav");
    assert_field(r.caveat_context, "{\"k\": [1, \"}]\"]}");
    assert_field(r.expiration, "2030-01-02T03:04:05Z");
}

static void what_is_left_out_is_not_given(void **state)
{
    licet_relationship r = parse("document:d1#viewer@user:*");

    (void)state;
    assert_field(r.subject_id, "*");
    assert_field(r.subject_relation, NULL);
    assert_field(r.caveat_name, NULL);
    assert_field(r.caveat_context, NULL);
    assert_field(r.expiration, NULL);
    assert_field(parse("document:d1#viewer@user:u1#...").subject_relation, NULL);
}

/* Text in, canonical text out. */
static void texts_print_as_spicedb_writes_them(void **state)
{
    static const struct {
        const char *text;
        const char *printed; /* NULL: the same */
    } cases[] = {
        { "document:d1#viewer@user:u1", NULL },
        { "document:d1#viewer@user:u1#...", "document:d1#viewer@user:u1" },
        { "document:d1#viewer@user:*", NULL },
        { "document:d1#viewer@user:*#member", NULL },
        { "document:d1#viewer@group:eng#member", NULL },
        { "document:d1#viewer@user:u1[cav]", NULL },
        { "document:d1#viewer@user:u1[cav:{ }]", "document:d1#viewer@user:u1[cav]" },
        { "document:d1#viewer@user:u1[cav:{\"b\": 1, \"a\": [true, null, \"x\"]}]",
          "document:d1#viewer@user:u1[cav:{\"a\":[true,null,\"x\"],\"b\":1}]" },
        { "document:d1#viewer@user:u1[cav:{\"n\":1,\"n\":2}]", "document:d1#viewer@user:u1[cav:{\"n\":2}]" },
        { "document:d1#viewer@user:u1[cav:{\"x\":0.1}]", NULL },
        { "document:d1#viewer@user:u1[cav:{\"x\":0.30000000000000004}]", NULL },
        /* Numbers are doubles. */
        { "document:d1#viewer@user:u1[cav:{\"x\":9007199254740993}]",
          "document:d1#viewer@user:u1[cav:{\"x\":9007199254740992}]" },
        { "document:d1#viewer@user:u1[cav:{\"x\":18446744073709551616}]",
          "document:d1#viewer@user:u1[cav:{\"x\":1.8446744073709552e+19}]" },
        { "document:d1#viewer@user:u1[cav:{\"x\":[1.0,1e3,-0.5E1,12345678,0.000001,0.00000099,99999999999999990,1e17]}"
          "]",
          "document:d1#viewer@user:u1[cav:{\"x\":[1,1000,-5,12345678,0.000001,9.9e-07,99999999999999980,1e+17]}]" },
        { "document:d1#viewer@user:u1[cav:{\"b\":{\"z\":{},\"a\":[],\"\":[[{\"y\":1,\"x\":false}]]},\"a\":true}]",
          "document:d1#viewer@user:u1[cav:{\"a\":true,\"b\":{\"\":[[{\"x\":false,\"y\":1}]],\"a\":[],\"z\":{}}}]" },
        { "document:d1#viewer@user:u1[cav:{\"x\":\"\\u0000\\u001f\\b\\f\\n\\r\\t\\\"\\\\\\/\x7f\"}]",
          "document:d1#viewer@user:u1[cav:{\"x\":\"\\u0000\\u001f\\b\\f\\n\\r\\t\\\"\\\\/\x7f\"}]" },
        { "document:d1#viewer@user:u1[cav:{\"x\":\"\\u00e9\\ud83d\\ude00\"}]",
          "document:d1#viewer@user:u1[cav:{\"x\":\"\xc3\xa9\xf0\x9f\x98\x80\"}]" },
        { "document:d1#viewer@user:u1[expiration]", NULL },
        { "document:d1#viewer@user:u1[expiration:{\"a\":1}]", NULL },
        { "document:d1#viewer@user:u1[cav:{\"a\":\"}][expiration:2030-01-01T00:00:00Z]\"}]", NULL },
        { "document:d1#viewer@user:u1[expiration:2030-01-02T03:04:05Z]", NULL },
        { "document:d1#viewer@user:u1[expiration:2030-01-02T03:04:05.120Z]",
          "document:d1#viewer@user:u1[expiration:2030-01-02T03:04:05.12Z]" },
        { "document:d1#viewer@user:u1[expiration:2029-12-31T23:30:00-01:00]",
          "document:d1#viewer@user:u1[expiration:2030-01-01T00:30:00Z]" },
        { "document:d1#viewer@user:u1[cav:{\"k\":1}][expiration:2030-01-02T03:04:05Z]", NULL },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        licet_relationship r = parse(cases[i].text);

        assert_prints(&r, cases[i].printed != NULL ? cases[i].printed : cases[i].text);
    }
}

#define SUBJECT "document:d1#viewer@user:u1"

static void what_is_wrong_is_said_with_its_column(void **state)
{
    static const struct {
        const char *text;
        uint32_t    column;
        licet_kind  kind;
        const char *message;
    } cases[] = {
        { "", 1, LICET_KIND_SYNTAX, "invalid relationship: expected the resource's type, but the text ends" },
        { "document:d1#viewer", 19, LICET_KIND_SYNTAX,
          "invalid relationship: expected @ after the relation, but the text ends" },
        { "document:d1@user:u1", 12, LICET_KIND_SYNTAX,
          "invalid relationship: expected # after the resource's id, not \"@user:u1\"" },
        { "document#viewer@user:u1", 9, LICET_KIND_SYNTAX,
          "invalid relationship: expected : after the resource's type, not \"#viewer@user:u1\"" },
        { ":d1#viewer@user:u1", 1, LICET_KIND_SYNTAX,
          "invalid relationship: expected the resource's type, not \":d1#viewer@user:u1\"" },
        { "document:#viewer@user:u1", 10, LICET_KIND_SYNTAX,
          "invalid relationship: expected the resource's id, not \"#viewer@user:u1\"" },
        { "document:*#viewer@user:u1", 10, LICET_KIND_SYNTAX,
          "invalid relationship: expected the resource's id, not \"*#viewer@user:u1\"" },
        { "document:d1#...@user:u1", 13, LICET_KIND_SYNTAX,
          "invalid relationship: expected the relation, not \"...@user:u1\"" },
        { "document:d1#vi@user:u1", 13, LICET_KIND_VALUE,
          "invalid relationship: expected the relation, not \"vi@user:u1\"" },
        { "do:d1#viewer@user:u1", 1, LICET_KIND_VALUE,
          "invalid relationship: expected the resource's type, not \"do:d1#viewer@user:u1\"" },
        { SUBJECT "\n", 27, LICET_KIND_SYNTAX, "invalid relationship: expected [ or the end, not \"\\n\"" },
        { " " SUBJECT, 1, LICET_KIND_SYNTAX,
          "invalid relationship: expected the resource's type, not \" document:d1#viewer@user:u1\"" },
        { SUBJECT "#", 28, LICET_KIND_SYNTAX,
          "invalid relationship: expected the subject's relation after #, but the text ends" },
        { SUBJECT "[", 28, LICET_KIND_SYNTAX, "invalid relationship: expected a caveat's name, but the text ends" },
        { SUBJECT "[]", 28, LICET_KIND_SYNTAX, "invalid relationship: expected a caveat's name, not \"]\"" },
        { SUBJECT "[cav:{}]", 32, LICET_KIND_SYNTAX,
          "invalid relationship: expected a JSON object with something in it, then ], not \"{}]\"" },
        { SUBJECT "[cav:[1]]", 32, LICET_KIND_SYNTAX,
          "invalid relationship: expected a JSON object, { ... }, not \"[1]]\"" },
        { SUBJECT "[cav:{n:1}]", 33, LICET_KIND_SYNTAX,
          "the caveat context is no JSON object: a key in quotes is missing" },
        { SUBJECT "[cav:{\"n\":1}}]", 39, LICET_KIND_SYNTAX,
          "the caveat context is no JSON object: something follows it" },
        { SUBJECT "[cav:{\"n\":\"\\ud800\"}]", 44, LICET_KIND_ENCODING,
          "the caveat context is no JSON object: half of a surrogate pair" },
        { SUBJECT "[cav:{\"n\":1e999}]", 37, LICET_KIND_VALUE,
          "the caveat context is no JSON object: a number is too large" },
        { SUBJECT "[cav:{\"n\":\n1}]", 32, LICET_KIND_SYNTAX,
          "invalid relationship: expected a JSON object on one line, not \"{\\\"n\\\":\\n1}]\"" },
        { SUBJECT "[cav][cav]", 32, LICET_KIND_SYNTAX,
          "invalid relationship: expected [expiration:time] or the end, not \"[cav]\"" },
        { SUBJECT "[expiration:2030-01-01T00:00:00Z][cav]", 60, LICET_KIND_SYNTAX,
          "invalid relationship: expected the end, not \"[cav]\"" },
        { SUBJECT "[expiration:2030-13-01T00:00:00Z]", 39, LICET_KIND_VALUE,
          "invalid relationship: expected a time like 2030-01-02T03:04:05Z, not \"2030-13-01T00:00:00Z]\"" },
        { SUBJECT "[expiration:never]", 39, LICET_KIND_SYNTAX,
          "invalid relationship: expected a time like 2030-01-02T03:04:05Z, not \"never]\"" },
        { SUBJECT "[expiration:]", 39, LICET_KIND_SYNTAX,
          "invalid relationship: expected a time like 2030-01-02T03:04:05Z, not \"]\"" },
        { "document:d1#viewer@user:\xd0\xb0lice", 25, LICET_KIND_SYNTAX,
          "invalid relationship: expected the subject's id, or *, not \"\xd0\xb0lice\"" },
        { "document:d1#viewer@user:u*", 26, LICET_KIND_SYNTAX,
          "invalid relationship: expected [ or the end, not \"*\"" },
        { "document:d1#viewer@user:\xc1\xa1", 25, LICET_KIND_ENCODING, "invalid relationship: byte 25 is not UTF-8" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        licet_relationship r     = LICET_RELATIONSHIP_INIT;
        licet_error       *error = NULL;

        assert_int_equal(licet_relationship_parse(text_of(cases[i].text), &r, &error), LICET_INVALID_ARGUMENT);
        assert_int_equal(licet_error_line(error), 1);
        if (licet_error_column(error) != cases[i].column)
            print_error("%s\n", cases[i].text);
        assert_int_equal(licet_error_column(error), cases[i].column);
        error_is(error, LICET_INVALID_ARGUMENT, cases[i].kind, "", cases[i].message);
        assert_null(r.resource_type.data);
        assert_null(r.subject_id.data);
    }
}

static void a_key_twice_in_a_context_is_an_error_only_where_strict_was_asked_for(void **state)
{
    static const struct {
        const char *text;
        uint32_t    column; /* of the error; 0: none */
    } cases[] = {
        { SUBJECT "[cav:{\"n\":1,\"n\":2}]", 45 },
        { SUBJECT "[cav:{\"n\":1,\"\\u006e\":2}]", 50 },
        { SUBJECT "[cav:{\"n\":[{\"a\":1,\"a\":2}]}]", 51 },
        { SUBJECT "[cav:{\"n\":1,\"m\":{\"n\":2}}][expiration:2030-01-02T03:04:05Z]", 0 },
        { SUBJECT, 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        licet_relationship r        = LICET_RELATIONSHIP_INIT;
        licet_error       *error    = NULL;
        licet_status       expected = cases[i].column == 0 ? LICET_OK : LICET_INVALID_ARGUMENT;

        assert_int_equal(licet_relationship_parse(text_of(cases[i].text), &r, NULL), LICET_OK);
        assert_int_equal(licet_relationship_parse_strict(text_of(cases[i].text), &r, &error), expected);
        assert_int_equal(licet_error_column(error), cases[i].column);
        if (expected != LICET_OK)
            error_is(error, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, "",
                     "the caveat context is no JSON object: a key stands twice in an object");
        assert_int_equal(r.subject_id.data == NULL, expected != LICET_OK);
    }
}

static void a_nul_ends_nothing(void **state)
{
    static const char  text[] = SUBJECT "\0";
    licet_relationship r      = LICET_RELATIONSHIP_INIT;
    licet_error       *error  = NULL;

    (void)state;
    assert_int_equal(licet_relationship_parse((licet_str){ text, sizeof text }, &r, &error), LICET_INVALID_ARGUMENT);
    error_is(error, LICET_INVALID_ARGUMENT, LICET_KIND_SYNTAX, "",
             "invalid relationship: expected [ or the end, not \"\\x00\\x00\"");
}

static void an_id_has_at_most_1024_bytes(void **state)
{
    char               text[1100] = "document:";
    size_t             prefix     = strlen(text);
    licet_relationship r          = LICET_RELATIONSHIP_INIT;

    (void)state;
    memset(text + prefix, 'a', 1025);
    strncpy(text + prefix + 1024, "#viewer@user:u1", 16);
    assert_int_equal(licet_relationship_parse(text_of(text), &r, NULL), LICET_OK);
    assert_int_equal(r.resource_id.size, 1024);
    memset(text + prefix, 'a', 1025);
    strncpy(text + prefix + 1025, "#viewer@user:u1", 16);
    assert_int_equal(licet_relationship_parse(text_of(text), &r, NULL), LICET_INVALID_ARGUMENT);
}

/* `depth` levels in all, the object among them. */
static licet_status parse_nested(size_t depth, licet_error **error)
{
    static char        text[1000];
    licet_relationship r    = LICET_RELATIONSHIP_INIT;
    size_t             size = strlen(strcpy(text, SUBJECT "[cav:{\"n\":"));

    memset(text + size, '[', depth - 1);
    memset(text + size + depth - 1, ']', depth - 1);
    strcpy(text + size + 2 * (depth - 1), "}]");
    return licet_relationship_parse(text_of(text), &r, error);
}

static void a_context_nests_at_most_64_levels(void **state)
{
    licet_error *error = NULL;

    (void)state;
    assert_int_equal(parse_nested(63, NULL), LICET_OK);
    assert_int_equal(parse_nested(64, NULL), LICET_OK);
    assert_int_equal(parse_nested(65, &error), LICET_LIMIT_EXCEEDED);
    assert_int_equal(licet_error_column(error), 100);
    error_is(error, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, "", "the caveat context nests deeper than 64 levels");
}

static licet_status parse_keys(int count, licet_error **error)
{
    static char        text[16384];
    licet_relationship r = LICET_RELATIONSHIP_INIT;
    char              *p = text + strlen(strcpy(text, SUBJECT "[cav:{\"n\":[{"));

    for (int i = 0; i < count; i++)
        p += snprintf(p, 16, "%s\"k%d\":1", i == 0 ? "" : ",", i);
    strcpy(p, "}]}]");
    return licet_relationship_parse(text_of(text), &r, error);
}

static void an_object_of_a_context_has_at_most_1024_keys(void **state)
{
    licet_error *error = NULL;

    (void)state;
    assert_int_equal(parse_keys(1024, NULL), LICET_OK);
    assert_int_equal(parse_keys(1025, &error), LICET_LIMIT_EXCEEDED);
    error_is(error, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, "",
             "an object in the caveat context has more than 1024 keys");
}

static void a_long_line_is_refused_with_a_short_message(void **state)
{
    static char        text[260000];
    licet_relationship r     = LICET_RELATIONSHIP_INIT;
    licet_error       *error = NULL;

    (void)state;
    for (size_t i = 0; i < 10000; i++)
        memcpy(text + 26 * i, SUBJECT, 26);
    assert_int_equal(licet_relationship_parse((licet_str){ text, sizeof text }, &r, &error), LICET_INVALID_ARGUMENT);
    assert_true(licet_error_message(error).size < 200);
    licet_error_free(error);
}

/* Fields that no text could give. */
static void records_that_can_not_be_written_are_refused(void **state)
{
    static const struct {
        const char *id;
        const char *relation;
        const char *caveat;
        const char *context;
        const char *expiration;
        const char *message;
    } cases[] = {
        { NULL, NULL, NULL, NULL, NULL, "relationship: resource_id is not given" },
        { "", NULL, NULL, NULL, NULL, "relationship: resource_id is empty" },
        { "a b", NULL, NULL, NULL, NULL,
          "relationship: resource_id: expected an id of A-Z a-z 0-9 / _ | - = +, but byte 2 is another: \"a b\"" },
        { "*", NULL, NULL, NULL, NULL, "relationship: resource_id: the wildcard \"*\" can not stand here" },
        { "d1", "Member", NULL, NULL, NULL,
          "relationship: subject_relation: expected a name of 3 to 64 of a-z, 0-9 and _, not \"Member\"" },
        { "d1", NULL, "/cav", NULL, NULL,
          "relationship: caveat_name: expected a caveat's name of A-Z a-z 0-9 / _ | -, not \"/cav\"" },
        { "d1", NULL, NULL, "{}", NULL, "relationship: a caveat context is given, but no caveat" },
        { "d1", NULL, "cav", "[]", NULL, "the caveat context is no JSON object: a \"{\" is missing" },
        { "d1", NULL, "cav", "{} {}", NULL, "the caveat context is no JSON object: something follows it" },
        { "d1", NULL, NULL, NULL, "soon",
          "relationship: expiration: expected a time like 2030-01-02T03:04:05Z, not \"soon\"" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        licet_relationship r     = parse(SUBJECT);
        licet_buffer       out   = LICET_BUFFER_INIT;
        licet_error       *error = NULL;

        r.resource_id      = text_of(cases[i].id);
        r.subject_relation = text_of(cases[i].relation);
        r.caveat_name      = text_of(cases[i].caveat);
        r.caveat_context   = text_of(cases[i].context);
        r.expiration       = text_of(cases[i].expiration);
        assert_int_equal(licet_relationship_format(&r, &out, &error), LICET_INVALID_ARGUMENT);
        error_is(error, LICET_INVALID_ARGUMENT, licet_error_kind(error), "", cases[i].message);
        assert_null(out.data);
    }
}

static void a_context_of_no_keys_is_none(void **state)
{
    licet_relationship r = parse(SUBJECT);

    (void)state;
    r.caveat_name    = LICET_STR("Cav");
    r.caveat_context = LICET_STR("{}");
    r.expiration     = LICET_STR("2030-01-01T01:00:00+01:00");
    assert_prints(&r, SUBJECT "[Cav][expiration:2030-01-01T00:00:00Z]");
}

static void unknown_records_are_misuse(void **state)
{
    licet_relationship r     = LICET_RELATIONSHIP_INIT;
    licet_buffer       out   = LICET_BUFFER_INIT;
    licet_error       *error = NULL;

    (void)state;
    assert_int_equal(licet_relationship_parse(text_of(SUBJECT), NULL, &error), LICET_MISUSE);
    error_is(error, LICET_MISUSE, LICET_KIND_MISUSE, "", "relationship is NULL or of an unknown size");
    assert_int_equal(licet_relationship_format(&r, NULL, &error), LICET_MISUSE);
    error_is(error, LICET_MISUSE, LICET_KIND_MISUSE, "", "out is NULL or of an unknown size");
    assert_int_equal(licet_relationship_format(NULL, &out, NULL), LICET_MISUSE);
    r.size = 4;
    assert_int_equal(licet_relationship_parse(text_of(SUBJECT), &r, NULL), LICET_MISUSE);
    assert_int_equal(licet_relationship_format(&r, &out, NULL), LICET_MISUSE);
    out.size_of_record = 0;
    assert_int_equal(licet_relationship_format(&r, &out, NULL), LICET_MISUSE);
    r.size = sizeof r;
    assert_int_equal(licet_relationship_parse((licet_str){ NULL, 0 }, &r, &error), LICET_INVALID_ARGUMENT);
    error_is(error, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, "", "the text is not given");
}

static void formatting_survives_every_failed_allocation(void **state)
{
    licet_relationship r      = parse(SUBJECT "[cav:{\"k\":0.1}][expiration:2030-01-02T03:04:05Z]");
    licet_status       status = LICET_OUT_OF_MEMORY;

    (void)state;
    for (size_t n = 0; status != LICET_OK; n++) {
        failing_memory memory = fail_after(n);
        licet_buffer   out    = LICET_BUFFER_INIT;

        out.allocator = memory.allocator;
        status        = licet_relationship_format(&r, &out, NULL);
        assert_true(status == LICET_OK || status == LICET_OUT_OF_MEMORY);
        assert_true((out.data != NULL) == (status == LICET_OK));
        licet_buffer_clear(&out);
        assert_int_equal(memory.counts->live_blocks, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_part_of_the_notation_is_read),
        cmocka_unit_test(what_is_left_out_is_not_given),
        cmocka_unit_test(texts_print_as_spicedb_writes_them),
        cmocka_unit_test(what_is_wrong_is_said_with_its_column),
        cmocka_unit_test(a_key_twice_in_a_context_is_an_error_only_where_strict_was_asked_for),
        cmocka_unit_test(a_nul_ends_nothing),
        cmocka_unit_test(an_id_has_at_most_1024_bytes),
        cmocka_unit_test(a_context_nests_at_most_64_levels),
        cmocka_unit_test(an_object_of_a_context_has_at_most_1024_keys),
        cmocka_unit_test(a_long_line_is_refused_with_a_short_message),
        cmocka_unit_test(records_that_can_not_be_written_are_refused),
        cmocka_unit_test(a_context_of_no_keys_is_none),
        cmocka_unit_test(unknown_records_are_misuse),
        cmocka_unit_test(formatting_survives_every_failed_allocation),
    };

    return cmocka_run_group_tests_name("datastore/relationship", tests, NULL, NULL);
}

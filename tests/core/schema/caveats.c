/* core/schema/expression.c, strict.c: caveats' expressions are compiled, their errors stand in the schema's own lines,
 * and a program holds what was compiled. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/names.h"
#include "failing_memory.h"
#include "parsed.h"
#include "schema/schema.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))
#define USER "definition user {}\n"

typedef struct refusal {
    const char *text;
    licet_kind  kind;
    uint32_t    line, column;
    const char *message;
} refusal;

static licet_status parse(lic_str text, bool allow_unused, bool strict, licet_error **error)
{
    licet_schema_request request = LICET_SCHEMA_REQUEST_INIT;
    licet_schema        *schema  = NULL;
    licet_status         status;

    request.text                    = text;
    request.allow_unused_parameters = allow_unused;
    request.strict                  = strict;
    status                          = licet_schema_parse(&request, NULL, &schema, error);
    assert_int_equal(status == LICET_OK, schema != NULL);
    licet_schema_release(schema);
    return status;
}

static void assert_text(licet_str actual, const char *expected)
{
    if (actual.size != strlen(expected) || memcmp(actual.data, expected, actual.size) != 0)
        print_error("%.*s\n", (int)actual.size, actual.data);
    assert_int_equal(actual.size, strlen(expected));
    assert_memory_equal(actual.data, expected, actual.size);
}

static void assert_refused(const refusal *r, const char *reason)
{
    licet_error *error  = NULL;
    licet_status status = parse((lic_str){ r->text, strlen(r->text) }, false, false, &error);

    if (status == LICET_OK || licet_error_line(error) != r->line || licet_error_column(error) != r->column)
        print_error("%.400s\nstatus %d at %u:%u\n", r->text, status, licet_error_line(error),
                    licet_error_column(error));
    assert_text(licet_error_message(error), r->message);
    assert_int_equal(status, r->kind == LICET_KIND_LIMIT ? LICET_LIMIT_EXCEEDED : LICET_SCHEMA_ERROR);
    assert_int_equal(licet_error_kind(error), r->kind);
    assert_int_equal(licet_error_line(error), r->line);
    assert_int_equal(licet_error_column(error), r->column);
    assert_text(licet_error_reason(error), reason);
    licet_error_free(error);
}

static void assert_accepted(const char *text)
{
    licet_error *error = NULL;

    if (parse((lic_str){ text, strlen(text) }, false, false, &error) != LICET_OK)
        print_error("%s\nrefused: %.*s\n", text, (int)licet_error_message(error).size, licet_error_message(error).data);
    assert_null(error);
}

/* ------------------------------------------------------------------------------------------ expressions */

static void an_error_in_an_expression_stands_where_it_is_in_the_schema(void **state)
{
    static const refusal refusals[] = {
        /* C15: on the body's first line, and on a later one. */
        { "caveat cav(num int) { num == \"x\" }", LICET_KIND_TYPE, 1, 27,
          "invalid expression for caveat \"cav\": found no matching overload for \"_==_\" applied to (int, string)" },
        { USER "\n// note\ncaveat cav(num int) {\n\n  num > 1 &&\n\tnope == 1\n}", LICET_KIND_NAME, 7, 2,
          "invalid expression for caveat \"cav\": undeclared reference to \"nope\": there is no parameter of this "
          "name" },
        { "caveat cav(num int) { num + }", LICET_KIND_SYNTAX, 1, 28,
          "invalid expression for caveat \"cav\": the expression ends where an expression was expected" },
        { "caveat cav(num int) {\n\tnum +\n\n}", LICET_KIND_SYNTAX, 2, 7,
          "invalid expression for caveat \"cav\": the expression ends where an expression was expected" },
        /* Columns count characters. */
        { "caveat cav(num int) { \"\xc3\xa9\xe2\x82\xac\" == num }", LICET_KIND_TYPE, 1, 28,
          "invalid expression for caveat \"cav\": found no matching overload for \"_==_\" applied to (string, int)" },
        { "caveat cav(flag bool) {\n\tflag && // \xc3\xa9\n\t\"\xc3\xa9\" == 1\n}", LICET_KIND_TYPE, 3, 6,
          "invalid expression for caveat \"cav\": found no matching overload for \"_==_\" applied to (string, int)" },
        { "caveat cav(num int) { num == 1 /* no */ && true }", LICET_KIND_SYNTAX, 1, 33,
          "invalid expression for caveat \"cav\": found \"*\" where an expression was expected" },
        { "caveat cav(num int) { num == 9223372036854775808 }", LICET_KIND_SYNTAX, 1, 30,
          "invalid expression for caveat \"cav\": \"9223372036854775808\" does not fit into an int (64 bits)" },
        { "caveat cav(text string) { text == \"\\q\" }", LICET_KIND_SYNTAX, 1, 36,
          "invalid expression for caveat \"cav\": no such escape in a string" },
        { "caveat cav(in int) { in == 1 }", LICET_KIND_SYNTAX, 1, 22,
          "invalid expression for caveat \"cav\": found \"in\" where an expression was expected" },
        { "caveat cav(num uint) { num == 5u }", LICET_KIND_TYPE, 1, 28,
          "invalid expression for caveat \"cav\": found no matching overload for \"_==_\" applied to (int, uint)" },
        /* Where CEL names no place, it is the body. */
        { "caveat cav(int int) {\n\tint == 1\n}", LICET_KIND_NAME, 2, 2,
          "invalid expression for caveat \"cav\": a parameter can not be called \"int\": that is the name of a type" },
        /* C16 */
        { "caveat cav(num int) {\n\t// note\n\tnum\n}", LICET_KIND_TYPE, 3, 2,
          "invalid expression for caveat \"cav\": a caveat must result in a bool, and this one results in int" },
        { "caveat cav(val any) { val }", LICET_KIND_TYPE, 1, 23,
          "invalid expression for caveat \"cav\": a caveat must result in a bool, and this one results in dyn" },
        { "caveat a/b(num int) { nope(num) }", LICET_KIND_NAME, 1, 27,
          "invalid expression for caveat \"a/b\": undeclared reference to \"nope\": there is no function of this "
          "name" },
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(refusals); i++)
        assert_refused(&refusals[i], "SCHEMA_PARSE_ERROR");
}

/* C17, and what has no number. One less is accepted. */
static void limits_of_expressions_are_told_as_such(void **state)
{
    static const struct {
        const char *head, *text;
        size_t      count;
        const char *tail;
        uint32_t    column;
        const char *message;
    } cases[] = {
        { "caveat cav(txt string) { txt == \"", "x", LIC_CEL_MAX_BYTES - 9, "\" }", 26,
          "invalid expression for caveat \"cav\": the expression has 100001 bytes; at most 100000 are allowed" },
        /* Blanks at the end don't count. */
        { "caveat cav(txt string) { txt == (\"", "x", LIC_CEL_MAX_BYTES - 11, "\")\n}", 26,
          "invalid expression for caveat \"cav\": the expression has 100002 bytes; at most 100000 are allowed" },
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        char   *most = repeated(cases[i].head, cases[i].text, cases[i].count, cases[i].tail);
        char   *over = repeated(cases[i].head, cases[i].text, cases[i].count + 1, cases[i].tail);
        refusal r    = { over, LICET_KIND_LIMIT, 1, cases[i].column, cases[i].message };

        assert_accepted(most);
        assert_refused(&r, "SCHEMA_PARSE_ERROR");
        test_free(most);
        test_free(over);
    }
}

static void an_expression_nests_250_levels_deep(void **state)
{
    char   *open    = repeated("caveat cav(flag bool) { ", "(", 300, "flag");
    char   *text    = repeated(open, ")", 300, " }");
    refusal nesting = { text, LICET_KIND_LIMIT, 1, 275,
                        "invalid expression for caveat \"cav\": the expression is nested deeper than 250 levels" };

    (void)state;
    assert_refused(&nesting, "SCHEMA_PARSE_ERROR");
    test_free(open);
    test_free(text);
}

static void the_first_fault_in_the_order_of_the_text_is_told(void **state)
{
    static const refusal refusals[] = {
        { "caveat foo(num int) { num == \"x\" }\ndefinition ab {}", LICET_KIND_TYPE, 1, 27,
          "invalid expression for caveat \"foo\": found no matching overload for \"_==_\" applied to (int, string)" },
        { "definition ab {}\ncaveat foo(num int) { num == \"x\" }", LICET_KIND_VALUE, 1, 1,
          "the definition's name \"ab\" is not usable: each part has 3 to 64 of a-z, 0-9 and \"_\", begins with a "
          "letter, does not end in \"_\"; 128 bytes in all" },
        { "caveat foo(num int, num int) { nope }", LICET_KIND_NAME, 1, 21,
          "caveat \"foo\" has two parameters \"num\"" },
        /* A name that is taken comes after the expression, and what is wrong with types after all names. */
        { USER "caveat user(num int) { num == \"x\" }", LICET_KIND_TYPE, 2, 28,
          "invalid expression for caveat \"user\": found no matching overload for \"_==_\" applied to (int, string)" },
        { USER "caveat user(num int) { num == 1 }", LICET_KIND_NAME, 2, 1,
          "there is another definition or caveat called \"user\"" },
        { "definition doc {\n\trelation rel: nope\n}\ncaveat foo(num int) { true }\ncaveat bar(num int) { num }",
          LICET_KIND_TYPE, 5, 23,
          "invalid expression for caveat \"bar\": a caveat must result in a bool, and this one results in int" },
        { "use partial\ncaveat foo(num int) { num }\npartial one {\n\trelation ab: user\n}", LICET_KIND_VALUE, 4, 2,
          "the relation's name \"ab\" is not usable: 3 to 64 of a-z, 0-9 and \"_\", beginning with a letter, not "
          "ending "
          "in \"_\"" },
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(refusals); i++)
        assert_refused(&refusals[i], "SCHEMA_PARSE_ERROR");
}

/* ------------------------------------------------------------------------------------ unused parameters */

static void a_parameter_that_the_expression_does_not_use_is_an_error(void **state)
{
    static const refusal refusals[] = {
        { "caveat only(flag bool) { true }", LICET_KIND_TYPE, 1, 1, "parameter \"flag\" of caveat \"only\" is unused" },
        { USER "  caveat cav(one int, two int, three int) {\n\tone == 1 }", LICET_KIND_TYPE, 2, 3,
          "parameter \"two\" of caveat \"cav\" is unused" },
        /* The keys of maps don't count. */
        { "caveat cav(key string) { {key: 1} == {\"x\": 1} }", LICET_KIND_TYPE, 1, 1,
          "parameter \"key\" of caveat \"cav\" is unused" },
        /* A name that CEL can't spell. */
        { "caveat cav(gr\xc3\xbcn int) { true }", LICET_KIND_TYPE, 1, 1,
          "parameter \"gr\xc3\xbcn\" of caveat \"cav\" is unused" },
        /* Caveats come first, in their order. */
        { "definition doc {\n\trelation rel: nope\n}\ncaveat one(num int) { num == 1 }\ncaveat two(num int) { true }\n"
          "caveat three(num int) { true }",
          LICET_KIND_TYPE, 5, 1, "parameter \"num\" of caveat \"two\" is unused" },
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(refusals); i++)
        assert_refused(&refusals[i], "SCHEMA_TYPE_ERROR");
}

static void unused_parameters_can_be_allowed(void **state)
{
    licet_error *error = NULL;

    (void)state;
    assert_int_equal(parse(LIC_STR("caveat cav(num int) { true }"), true, false, &error), LICET_OK);
    assert_int_equal(parse(LIC_STR("caveat cav(num int) { num }"), true, false, &error), LICET_SCHEMA_ERROR);
    licet_error_free(error);
}

static void use_is_counted_as_in_spicedb(void **state)
{
    static const char *const texts[] = {
        "caveat only(flag bool) { flag || true }",
        /* The value of a map literal counts, and so does a variable of a macro that has the parameter's name. */
        "caveat cav(num int) { {\"x\": num} == {\"x\": 1} }",
        "caveat cav(num int) { [1].all(num, num > 0) }",
        "caveat cav(num int, text string, nums list<int>) { num == 1 || text == \"x\" || nums == [] }",
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(texts); i++)
        assert_accepted(texts[i]);
}

/* ------------------------------------------------------------------------------------------------ strict */

static void a_strict_schema_holds_nothing_that_misleads_a_reader(void **state)
{
    static const struct {
        lic_str     text;
        uint32_t    line, column;
        const char *message;
    } cases[] = {
        { LICET_STR_INIT("// note\0 hidden\ndefinition user {}\n"), 1, 8, "a NUL, at byte 7" },
        { LICET_STR_INIT(USER "/* safe \xe2\x80\xae } { noitinifed \xe2\x81\xa6 */\ndefinition document {}\n"), 2, 9,
          "a mark of direction, at byte 27: the schema would read otherwise than it is" },
        { LICET_STR_INIT("caveat cav(txt string) { txt == \"\xd8\x9c\" }"), 1, 34,
          "a mark of direction, at byte 33: the schema would read otherwise than it is" },
        { LICET_STR_INIT("caveat cav(txt string) {\n\ttxt == \"\xc3\xa9\\ud800\"\n}"), 2, 11,
          "invalid expression for caveat \"cav\": an escape for a surrogate, which is half a character" },
        { LICET_STR_INIT("caveat cav(txt string) { txt == \"\\\\ud800\" || txt == '\\U0000DfFf' }"), 1, 54,
          "invalid expression for caveat \"cav\": an escape for a surrogate, which is half a character" },
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        licet_error *error = NULL;

        assert_int_equal(parse(cases[i].text, false, false, NULL), LICET_OK);
        assert_int_equal(parse(cases[i].text, false, true, &error), LICET_SCHEMA_ERROR);
        assert_text(licet_error_message(error), cases[i].message);
        assert_int_equal(licet_error_kind(error), LICET_KIND_ENCODING);
        assert_int_equal(licet_error_line(error), cases[i].line);
        assert_int_equal(licet_error_column(error), cases[i].column);
        licet_error_free(error);
    }
}

static void a_strict_schema_may_hold_any_other_character(void **state)
{
    static const char *const texts[] = {
        "// \xf0\x9f\x98\x80 \xe2\x80\x8b \xef\xbb\xbf\n" USER,
        "caveat cav(txt string) { txt == \"\\ud7ff\\ue000\\U0001d800\\\\ud800\" || txt == r\"\\ud800\" }",
        "caveat cav(txt bytes) { txt == b'\\xed\\xa0\\x80' || txt == br'\\ud800' }",
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(texts); i++)
        assert_int_equal(parse((lic_str){ texts[i], strlen(texts[i]) }, false, true, NULL), LICET_OK);
}

static void the_options_can_ask_for_a_strict_schema(void **state)
{
    licet_schema_request request = LICET_SCHEMA_REQUEST_INIT;
    licet_options        options = LICET_OPTIONS_INIT;
    licet_schema        *schema  = NULL;
    licet_engine        *engine  = NULL;
    licet_error         *error   = NULL;

    (void)state;
    options.strict = true;
    request.text   = LIC_STR("// \0\n" USER);
    assert_int_equal(licet_schema_parse(&request, &options, &schema, NULL), LICET_SCHEMA_ERROR);
    assert_null(schema);
    assert_int_equal(licet_open(LIC_STR("memory:"), &options, &engine, NULL), LICET_OK);
    assert_int_equal(licet_write_schema(engine, request.text, NULL, &error), LICET_SCHEMA_ERROR);
    assert_int_equal(licet_error_kind(error), LICET_KIND_ENCODING);
    licet_error_free(error);
    assert_int_equal(licet_write_schema(engine, LIC_STR(USER), NULL, NULL), LICET_OK);
    licet_engine_release(engine);
}

/* ------------------------------------------------------------------------------------------ the program */

typedef struct compiled {
    lic_memory   *memory;
    lic_names    *names;
    licet_schema *schema;
} compiled;

static void compiled_init(compiled *c, const licet_allocator *allocator)
{
    c->memory = lic_memory_new(allocator, SIZE_MAX);
    c->names  = lic_names_new(c->memory);
    c->schema = NULL;
}

static const lic_program *compiled_write(compiled *c, const char *text)
{
    licet_schema_request request = LICET_SCHEMA_REQUEST_INIT;

    licet_schema_release(c->schema);
    request.text = (lic_str){ text, strlen(text) };
    assert_int_equal(lic_schema_new(c->memory, c->names, &request, &c->schema, NULL), LICET_OK);
    return c->schema->program;
}

static void compiled_clear(compiled *c)
{
    licet_schema_release(c->schema);
    lic_names_free(c->names);
    lic_memory_release(c->memory);
}

static void assert_gives(const lic_program *program, const char *name, int64_t number, bool expected)
{
    const lic_caveat *caveat    = &program->caveats[lic_program_caveat(program, (lic_str){ name, strlen(name) })];
    lic_cel_value     values[2] = { { .kind = LIC_CEL_INT, .integer = number }, { .kind = LIC_CEL_UNKNOWN } };
    lic_cel_budget    budget    = { 1000, 100000 };
    lic_arena         arena;
    lic_cel_value     result;
    const char       *limit;

    lic_arena_init(&arena, program->memory);
    assert_true(lic_cel_evaluate(caveat->cel, values, &arena, &budget, &result, &limit));
    assert_int_equal(result.kind, LIC_CEL_BOOL);
    assert_int_equal(result.boolean, expected);
    lic_arena_free(&arena);
}

static void a_program_holds_the_compiled_expressions(void **state)
{
    failing_memory     memory = fail_never();
    const lic_program *program;
    compiled           c;

    (void)state;
    compiled_init(&c, &memory.allocator);
    program = compiled_write(&c, "caveat small(num int, other int) { num < 5 || other == 3 && num < 100 }\n"
                                 "caveat large(num int) {\n\tnum > 5\n}");
    assert_int_equal(program->caveat_count, 2);
    assert_gives(program, "small", 4, true);
    assert_gives(program, "small", 100, false);
    assert_gives(program, "large", 4, false);
    assert_gives(program, "large", 6, true);
    compiled_clear(&c);
    assert_int_equal(memory.counts->live_blocks, 0);
    assert_int_equal(memory.counts->live_bytes, 0);
}

static void the_number_of_a_caveat_outlives_its_schema(void **state)
{
    const lic_program *program;
    uint32_t           one, two;
    compiled           c;

    (void)state;
    compiled_init(&c, NULL);
    program = compiled_write(&c, "caveat one(num int) { num == 1 }\ncaveat two(num int) { num == 2 }");
    one     = program->caveat_numbers[lic_program_caveat(program, LIC_STR("one"))];
    two     = program->caveat_numbers[lic_program_caveat(program, LIC_STR("two"))];
    assert_int_equal(lic_program_numbered_caveat(program, one), 0);
    assert_int_equal(lic_program_numbered_caveat(program, two), 1);
    assert_text(lic_names_caveat_name(c.names, two), "two");

    program = compiled_write(&c, "caveat three(num int) { num == 3 }\ncaveat two(num int) { num == 2 }");
    assert_int_equal(program->caveat_numbers[1], two);
    assert_int_equal(lic_program_numbered_caveat(program, two), 1);
    assert_int_equal(lic_program_numbered_caveat(program, program->caveat_numbers[0]), 0);
    assert_int_equal(lic_program_numbered_caveat(program, one), LIC_NO_CAVEAT);
    assert_int_equal(program->caveat_number_count, 3);
    assert_int_equal(lic_names_caveat(c.names, LIC_STR("later")), 3);
    assert_int_equal(lic_program_numbered_caveat(program, 3), LIC_NO_CAVEAT);
    compiled_clear(&c);
}

static void a_schema_without_caveats_numbers_none(void **state)
{
    const lic_program *program;
    compiled           c;

    (void)state;
    compiled_init(&c, NULL);
    program = compiled_write(&c, USER);
    assert_int_equal(program->caveat_count, 0);
    assert_int_equal(program->caveat_number_count, 0);
    assert_int_equal(lic_program_numbered_caveat(program, 0), LIC_NO_CAVEAT);
    compiled_clear(&c);
}

/* --------------------------------------------------------------------------------------- out of memory */

static const char hard[] =
    "caveat one(num int, names list<string>, txt string) {\n"
    "\tnum > 5 && names.exists(name, name == \"a'b\" && name.startsWith('x')) || txt.matches(\"^a+$\")\n}\n"
    "caveat two(val map<any>, day timestamp) { has(val.key) ? val.key == b\"a\\x00\" : "
    "day > timestamp(\"2026-01-01T00:00:00Z\") }\n" USER
    "definition doc {\n\trelation viewer: user with one | user with two\n}\n";

static void a_schema_with_caveats_survives_every_failed_allocation(void **state)
{
    (void)state;
    for (int onwards = 0; onwards < 2; onwards++) {
        licet_status status = LICET_OUT_OF_MEMORY;

        for (size_t n = 0; status == LICET_OUT_OF_MEMORY; n++) {
            failing_memory       memory  = onwards == 0 ? fail_after(n) : fail_from(n);
            licet_schema_request request = LICET_SCHEMA_REQUEST_INIT;
            licet_schema        *schema  = NULL;
            licet_buffer         out     = LICET_BUFFER_INIT;
            licet_error         *error   = NULL;

            request.text   = LIC_STR(hard);
            request.strict = true;
            status         = licet_schema_parse(&request, &memory.options, &schema, &error);
            assert_int_equal(status == LICET_OK, schema != NULL);
            assert_int_equal(status, licet_error_status(error));
            if (status == LICET_OK)
                status = licet_schema_format(schema, &out, &error);
            assert_int_equal(status == LICET_OK, out.data != NULL);
            licet_buffer_clear(&out);
            licet_error_free(error);
            licet_schema_release(schema);
            assert_int_equal(memory.counts->live_blocks, 0);
        }
        assert_int_equal(status, LICET_OK);
    }
}

static void an_error_in_an_expression_survives_every_failed_allocation(void **state)
{
    licet_status status = LICET_OUT_OF_MEMORY;

    (void)state;
    for (size_t n = 0; status == LICET_OUT_OF_MEMORY; n++) {
        failing_memory memory = fail_after(n);
        parsed         p;

        parsed_make_with(&p, &memory.allocator, LIC_STR("caveat cav(num int, txt string) { [num] == [txt] }"), NULL);
        status = p.status;
        parsed_clear(&p);
        assert_int_equal(memory.counts->live_blocks, 0);
    }
    assert_int_equal(status, LICET_SCHEMA_ERROR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_error_in_an_expression_stands_where_it_is_in_the_schema),
        cmocka_unit_test(limits_of_expressions_are_told_as_such),
        cmocka_unit_test(an_expression_nests_250_levels_deep),
        cmocka_unit_test(the_first_fault_in_the_order_of_the_text_is_told),
        cmocka_unit_test(a_parameter_that_the_expression_does_not_use_is_an_error),
        cmocka_unit_test(unused_parameters_can_be_allowed),
        cmocka_unit_test(use_is_counted_as_in_spicedb),
        cmocka_unit_test(a_strict_schema_holds_nothing_that_misleads_a_reader),
        cmocka_unit_test(a_strict_schema_may_hold_any_other_character),
        cmocka_unit_test(the_options_can_ask_for_a_strict_schema),
        cmocka_unit_test(a_program_holds_the_compiled_expressions),
        cmocka_unit_test(the_number_of_a_caveat_outlives_its_schema),
        cmocka_unit_test(a_schema_without_caveats_numbers_none),
        cmocka_unit_test(a_schema_with_caveats_survives_every_failed_allocation),
        cmocka_unit_test(an_error_in_an_expression_survives_every_failed_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

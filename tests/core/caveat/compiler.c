/* core/caveat/compiler.c, cel.c: code as bytecode.h describes it, and the errors of the whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "caveat/compiler.h"
#include "cel_world.h"
#include "failing_memory.h"

typedef struct text_case {
    lic_str     text;
    const char *expected;
} text_case;

/* In brackets: the most values on the stack, the most loops inside each other. */
static void every_construct_has_its_code(void **state)
{
    static const text_case cases[] = {
        { LICET_STR_INIT("x + 1"), "PARAMETER 0; CONSTANT 0; CALL _+_ 2 [2 0]" },
        { LICET_STR_INIT("m.a.?b"), "PARAMETER 10; SELECT 0; OPTIONAL_SELECT 1 [1 0]" },
        { LICET_STR_INIT("has(m.a)"), "PARAMETER 10; HAS 0 [1 0]" },
        { LICET_STR_INIT("int"), "CONSTANT 0 [1 0]" },
        { LICET_STR_INIT("s.contains(s)"), "PARAMETER 2; PARAMETER 2; CALL contains 2 [2 0]" },
        { LICET_STR_INIT("optional.none()"), "CALL optional.none 0 [1 0]" },
        { LICET_STR_INIT("[1, ?o]"), "CONSTANT 0; PARAMETER 11; LIST 2 1 [2 0]" },
        { LICET_STR_INIT("[1, 2]"), "CONSTANT 0; CONSTANT 1; LIST 2 - [2 0]" },
        { LICET_STR_INIT("{'a': 1}"), "CONSTANT 0; CONSTANT 1; MAP 1 - [2 0]" },
        { LICET_STR_INIT("b && b"), "PARAMETER 3; JUMP_IF_FALSE 4; PARAMETER 3; AND [2 0]" },
        { LICET_STR_INIT("b || b || b"),
          "PARAMETER 3; JUMP_IF_TRUE 7; PARAMETER 3; OR; JUMP_IF_TRUE 7; PARAMETER 3; OR [2 0]" },
        { LICET_STR_INIT("b ? x : 1"), "PARAMETER 3; BRANCH 4 5; PARAMETER 0; JUMP 5; CONSTANT 0 [1 0]" },
        { LICET_STR_INIT("l.all(e, b)"), "PARAMETER 9; LOOP_BEGIN 0 4; PARAMETER 3; LOOP_NEXT 2 [1 1]" },
        { LICET_STR_INIT("l.filter(e, e > 0)"),
          "PARAMETER 9; LOOP_BEGIN 4 6; LOCAL 0; CONSTANT 0; CALL _>_ 2; LOOP_NEXT 2 [2 1]" },
        { LICET_STR_INIT("l.map(e, b, e)"),
          "PARAMETER 9; LOOP_BEGIN 3 6; PARAMETER 3; LOOP_WHEN 2 6; LOCAL 0; LOOP_NEXT 2 [1 1]" },
        { LICET_STR_INIT("l.map(e, l.map(v, e + v))"), "PARAMETER 9; LOOP_BEGIN 3 9; PARAMETER 9; LOOP_BEGIN 3 8; "
                                                       "LOCAL 0; LOCAL 1; CALL _+_ 2; LOOP_NEXT 4; LOOP_NEXT 2 "
                                                       "[2 2]" },
        { LICET_STR_INIT("o.optMap(v, v)"), "PARAMETER 11; OPTIONAL_MAP 4; LOCAL 0; OPTIONAL_WRAP [1 1]" },
        { LICET_STR_INIT("o.orValue(1)"), "PARAMETER 11; OR_ELSE 3 1; CONSTANT 0 [1 0]" },
        { LICET_STR_INIT("o.or(o)"), "PARAMETER 11; OR_ELSE 3; PARAMETER 11 [1 0]" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(cel_code(cases[i].text), cases[i].expected);
}

static void constants_are_copies(void **state)
{
    char           text[] = "'abc' == s || b'\\001' == y || [?o, 1, ?o] == []";
    lic_memory     memory;
    lic_cel       *cel;
    lic_cel_source source = cel_source((lic_str){ text, sizeof text - 1 }, false);

    (void)state;
    lic_memory_init(&memory, NULL, SIZE_MAX);
    assert_int_equal(lic_cel_compile(&memory, &source, &cel, NULL, NULL), LICET_OK);
    memset(text, 'X', sizeof text);
    assert_int_equal(cel->code.constant_count, 4);
    assert_true(lic_str_equal(cel->code.constants[0].text, LIC_STR("abc")));
    assert_int_equal(cel->code.constants[1].kind, LIC_CEL_BYTES);
    assert_true(lic_str_equal(cel->code.constants[1].text, LIC_STR("\001")));
    assert_int_equal(cel->code.constants[2].integer, 1);
    assert_int_equal(cel->code.constants[3].list->count, 2);
    assert_int_equal(cel->code.constants[3].list->items[1].integer, 2);
    lic_cel_free(cel);
    assert_int_equal(memory.used, 0);
}

/* As in SpiceDB: an expression that can't be one shows only when it is evaluated. */
static void constant_patterns_are_compiled_and_broken_ones_left(void **state)
{
    lic_memory     memory;
    lic_cel       *cel;
    lic_cel_source source = cel_source(LIC_STR("s.matches('a+') || matches(s, 'a(') || s.matches(s)"), true);

    (void)state;
    lic_memory_init(&memory, NULL, SIZE_MAX);
    assert_int_equal(lic_cel_compile(&memory, &source, &cel, NULL, NULL), LICET_OK);
    assert_int_equal(cel->code.constant_count, 2);
    assert_non_null(cel->code.patterns[0]);
    assert_null(cel->code.patterns[1]);
    lic_cel_free(cel);
    assert_int_equal(memory.used, 0);
}

static void assert_refused(const lic_cel_source *source, licet_status status, const char *message)
{
    lic_memory   memory;
    lic_cel     *cel;
    licet_error *error = NULL;
    uint64_t     used;
    licet_str    told;

    lic_memory_init(&memory, NULL, SIZE_MAX);
    assert_int_equal(lic_cel_compile(&memory, source, &cel, &used, &error), status);
    assert_null(cel);
    assert_int_equal(used, 0);
    told = licet_error_message(error);
    assert_int_equal(told.size, strlen(message));
    assert_memory_equal(told.data, message, told.size);
    licet_error_free(error);
    assert_int_equal(memory.used, 0);
}

static void a_caveat_results_in_a_bool(void **state)
{
    lic_cel_source number = cel_source(LIC_STR("x + 1"), true);
    lic_cel_source dyn    = cel_source(LIC_STR("d"), true);

    (void)state;
    assert_refused(&number, LICET_SCHEMA_ERROR, "a caveat must result in a bool, and this one results in int");
    assert_refused(&dyn, LICET_SCHEMA_ERROR, "a caveat must result in a bool, and this one results in dyn");
}

static void parameters_are_not_called_like_types(void **state)
{
    static const lic_caveat_type integer   = { LIC_CAVEAT_INT, NULL };
    const lic_cel_parameter      parameter = { LICET_STR_INIT("int"), &integer, { NULL, 0 } };
    const lic_cel_source         source    = { LICET_STR_INIT("int == 1"), &parameter, 1, true };

    (void)state;
    assert_refused(&source, LICET_SCHEMA_ERROR, "a parameter can not be called \"int\": that is the name of a type");
}

static void more_than_64_parameters_are_refused(void **state)
{
    static const lic_caveat_type integer = { LIC_CAVEAT_INT, NULL };
    lic_cel_parameter            parameters[65];
    const lic_cel_source         source = { LICET_STR_INIT("true"), parameters, 65, true };

    (void)state;
    for (size_t i = 0; i < 65; i++)
        parameters[i] = (lic_cel_parameter){ LICET_STR_INIT("p"), &integer, { NULL, 0 } };
    assert_refused(&source, LICET_LIMIT_EXCEEDED, "a caveat has 65 parameters; at most 64 are allowed");
}

static void compiling_survives_every_failed_allocation(void **state)
{
    lic_cel_source source =
        cel_source(LIC_STR("l.map(e, b, {'a\\n': [?o.optMap(v, v + 1)], ?'b': m.?a}).exists(e, has(e.a) "
                           "&& b || !b ? x == -1 : s.matches('a+') && type(x) == int)"),
                   true);
    licet_status status = LICET_OUT_OF_MEMORY;

    (void)state;
    for (size_t n = 0; status != LICET_OK; n++) {
        failing_memory memory = fail_after(n);
        lic_memory     counted;
        lic_cel       *cel;
        uint64_t       used;

        lic_memory_init(&counted, &memory.allocator, SIZE_MAX);
        status = lic_cel_compile(&counted, &source, &cel, &used, NULL);
        if (status != LICET_OK) {
            assert_int_equal(status, LICET_OUT_OF_MEMORY);
            assert_null(cel);
            assert_int_equal(used, 0);
        }
        lic_cel_free(cel);
        assert_int_equal(memory.counts->live_blocks, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_construct_has_its_code),
        cmocka_unit_test(constants_are_copies),
        cmocka_unit_test(constant_patterns_are_compiled_and_broken_ones_left),
        cmocka_unit_test(a_caveat_results_in_a_bool),
        cmocka_unit_test(parameters_are_not_called_like_types),
        cmocka_unit_test(more_than_64_parameters_are_refused),
        cmocka_unit_test(compiling_survives_every_failed_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* core/eval/three_valued.c: the tables of no, yes, yes if, and failed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "eval/three_valued.h"

#include <string.h>

#include "failing_memory.h"

typedef lic_membership operation(lic_arena *arena, lic_membership a, lic_membership b);

/* Operands are a letter each: n, y, a and b (if A, if B), d and s (failed for depth, for steps). */
static lic_membership operand(lic_arena *arena, char name)
{
    switch (name) {
    case 'y':
        return LIC_MEMBERSHIP_YES;
    case 'a':
    case 'b':
        return (lic_membership){ LIC_IF, LIC_FAILURE_NONE, lic_condition_leaf(arena, (uint32_t)name) };
    case 'd':
        return LIC_MEMBERSHIP_FAILED(LIC_FAILURE_DEPTH);
    case 's':
        return LIC_MEMBERSHIP_FAILED(LIC_FAILURE_STEPS);
    default:
        return LIC_MEMBERSHIP_NO;
    }
}

static char *write_condition(char *at, const lic_condition *c)
{
    if (c->kind == LIC_CONDITION_LEAF) {
        *at++ = (char)c->leaf;
        return at;
    }
    *at++ = c->kind == LIC_CONDITION_NOT ? '!' : c->kind == LIC_CONDITION_AND ? '&' : '|';
    at    = write_condition(at, c->left);
    return c->right == NULL ? at : write_condition(at, c->right);
}

/* The same notation; conditions with their operator first. */
static void check(operation *operate, char a, char b, const char *expected)
{
    lic_memory     memory;
    lic_arena      arena;
    lic_membership result;
    char           text[32] = { 0 };

    lic_memory_init(&memory, NULL, SIZE_MAX);
    lic_arena_init(&arena, &memory);
    result = operate(&arena, operand(&arena, a), operand(&arena, b));
    assert_true((result.value == LIC_IF) == (result.condition != NULL));
    assert_true((result.value == LIC_FAILED) == (result.failure != LIC_FAILURE_NONE));
    if (result.value == LIC_IF)
        write_condition(text, result.condition);
    else
        text[0] = result.value == LIC_FAILED ? result.failure == LIC_FAILURE_DEPTH ? 'd' : 's'
                  : result.value == LIC_YES  ? 'y'
                                             : 'n';
    assert_string_equal(text, expected);
    lic_arena_free(&arena);
}

/* One row a first operand, one column a second, both in the order n y a b d s. */
static void check_table(operation *operate, const char *const table[6][6])
{
    static const char names[] = "nyabds";

    for (size_t i = 0; i < 6; i++)
        for (size_t j = 0; j < 6; j++)
            check(operate, names[i], names[j], table[i][j]);
}

static void yes_decides_a_union_and_a_failure_what_is_left(void **state)
{
    static const char *const table[6][6] = {
        { "n", "y", "a", "b", "d", "s" },   { "y", "y", "y", "y", "y", "y" }, { "a", "y", "a", "|ab", "d", "s" },
        { "b", "y", "|ba", "b", "d", "s" }, { "d", "y", "d", "d", "d", "d" }, { "s", "y", "s", "s", "s", "s" },
    };

    (void)state;
    check_table(lic_membership_or, table);
}

static void no_decides_an_intersection_and_a_failure_what_is_left(void **state)
{
    static const char *const table[6][6] = {
        { "n", "n", "n", "n", "n", "n" },   { "n", "y", "a", "b", "d", "s" }, { "n", "a", "a", "&ab", "d", "s" },
        { "n", "b", "&ba", "b", "d", "s" }, { "n", "d", "d", "d", "d", "d" }, { "n", "s", "s", "s", "s", "s" },
    };

    (void)state;
    check_table(lic_membership_and, table);
}

static void an_empty_base_decides_an_exclusion_and_a_failing_base_fails(void **state)
{
    static const char *const table[6][6] = {
        { "n", "n", "n", "n", "n", "n" },       { "y", "n", "!a", "!b", "d", "s" },
        { "a", "n", "&a!a", "&a!b", "d", "s" }, { "b", "n", "&b!a", "&b!b", "d", "s" },
        { "d", "d", "d", "d", "d", "d" },       { "s", "s", "s", "s", "s", "s" },
    };

    (void)state;
    check_table(lic_membership_minus, table);
}

static void conditions_are_equal_when_they_are_written_alike(void **state)
{
    lic_memory           memory;
    lic_arena            arena;
    const lic_condition *a;
    const lic_condition *b;
    const lic_condition *ab[2];
    const lic_condition *ba;
    const lic_condition *not_ab[2];
    const lic_condition *merged;

    (void)state;
    lic_memory_init(&memory, NULL, SIZE_MAX);
    lic_arena_init(&arena, &memory);
    a = lic_condition_leaf(&arena, 1);
    b = lic_condition_leaf(&arena, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_true(lic_condition_and(&arena, lic_condition_leaf(&arena, 1), lic_condition_leaf(&arena, 2), &ab[i]));
        assert_true(lic_condition_not(&arena, ab[i], &not_ab[i]));
    }
    assert_true(lic_condition_and(&arena, b, a, &ba));
    assert_true(lic_condition_equal(NULL, NULL));
    assert_false(lic_condition_equal(a, NULL));
    assert_false(lic_condition_equal(a, b));
    assert_true(lic_condition_equal(ab[0], ab[1]));
    assert_true(lic_condition_equal(not_ab[0], not_ab[1]));
    assert_false(lic_condition_equal(ab[0], ba));
    assert_false(lic_condition_equal(ab[0], not_ab[0]));
    assert_true(lic_condition_or(&arena, ab[0], ab[1], &merged));
    assert_ptr_equal(merged, ab[0]);
    lic_arena_free(&arena);
}

/* Two towers without a shared part: comparing them must not take time without bound, nor the C stack. */
static void large_conditions_are_compared_in_bounded_time(void **state)
{
    lic_memory           memory;
    lic_arena            arena;
    const lic_condition *towers[2];

    (void)state;
    lic_memory_init(&memory, NULL, SIZE_MAX);
    lic_arena_init(&arena, &memory);
    for (size_t i = 0; i < 2; i++) {
        towers[i] = lic_condition_leaf(&arena, 7);
        for (int n = 0; n < 100000; n++) {
            lic_condition *above = lic_new(&arena, lic_condition);

            assert_non_null(above);
            *above    = (lic_condition){ LIC_CONDITION_AND, 0, 1, towers[i], towers[i] };
            towers[i] = above;
        }
    }
    assert_true(lic_condition_equal(towers[0], towers[0]));
    assert_false(lic_condition_equal(towers[0], towers[1])); /* taken for different */
    lic_arena_free(&arena);
}

static void running_out_of_memory_is_a_failure_of_its_own(void **state)
{
    static operation *const operations[] = { lic_membership_or, lic_membership_and, lic_membership_minus };

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        failing_memory source = fail_from(0);
        lic_memory     memory;
        lic_memory     sound;
        lic_arena      empty;
        lic_arena      arena;
        lic_membership result;

        lic_memory_init(&memory, &source.allocator, SIZE_MAX);
        lic_memory_init(&sound, NULL, SIZE_MAX);
        lic_arena_init(&empty, &memory);
        lic_arena_init(&arena, &sound);
        result = operations[i](&empty, operand(&arena, 'a'), operand(&arena, 'b'));
        assert_int_equal(result.value, LIC_FAILED);
        assert_int_equal(result.failure, LIC_FAILURE_MEMORY);
        assert_null(lic_condition_leaf(&empty, 1));
        lic_arena_free(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(yes_decides_a_union_and_a_failure_what_is_left),
        cmocka_unit_test(no_decides_an_intersection_and_a_failure_what_is_left),
        cmocka_unit_test(an_empty_base_decides_an_exclusion_and_a_failing_base_fails),
        cmocka_unit_test(conditions_are_equal_when_they_are_written_alike),
        cmocka_unit_test(large_conditions_are_compared_in_bounded_time),
        cmocka_unit_test(running_out_of_memory_is_a_failure_of_its_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* core/base/names.c: the vocabulary, and its readers beside a writer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/names.h"

#include <stdio.h>

#include "base/thread.h"
#include "failing_memory.h"

static void equal_names_get_equal_numbers(void **state)
{
    failing_memory source = fail_never();
    lic_memory     memory;
    lic_names     *names;
    lic_type       user;
    lic_type       document;
    lic_slot       viewer;

    (void)state;
    lic_memory_init(&memory, &source.allocator, SIZE_MAX);
    names    = lic_names_new(&memory);
    user     = lic_names_type(names, LIC_STR("user"));
    document = lic_names_type(names, LIC_STR("document"));
    viewer   = lic_names_slot(names, document, LIC_STR("viewer"));
    assert_int_equal(user, 0);
    assert_int_equal(document, 1);
    assert_int_equal(lic_names_type(names, LIC_STR("user")), user);
    assert_int_equal(lic_names_slot(names, document, LIC_STR("viewer")), viewer);
    assert_int_not_equal(lic_names_slot(names, user, LIC_STR("viewer")), viewer);
    assert_int_equal(lic_names_slot_count(names), 4);
    lic_names_free(names);
    lic_names_free(NULL);
    assert_int_equal(source.counts->live_blocks, 0);
    assert_int_equal(atomic_load(&memory.used), 0);
}

static void a_type_has_the_slot_of_the_object_itself(void **state)
{
    lic_memory memory;
    lic_names *names;
    lic_type   type;
    lic_slot   slot;

    (void)state;
    lic_memory_init(&memory, NULL, SIZE_MAX);
    names = lic_names_new(&memory);
    lic_names_type(names, LIC_STR("user"));
    type = lic_names_type(names, LIC_STR("group"));
    slot = lic_names_ellipsis(names, type);
    assert_int_equal(slot, 1);
    assert_int_equal(lic_names_slot(names, type, LIC_ELLIPSIS), slot);
    assert_int_equal(lic_names_type_of(names, slot), type);
    assert_true(lic_str_equal(lic_names_relation_name(names, slot), LIC_ELLIPSIS));
    assert_int_equal(lic_names_slot_count(names), 2);
    lic_names_free(names);
}

static void a_caveat_keeps_its_number(void **state)
{
    failing_memory source = fail_never();
    lic_memory     memory;
    lic_names     *names;

    (void)state;
    lic_memory_init(&memory, &source.allocator, SIZE_MAX);
    names = lic_names_new(&memory);
    assert_int_equal(lic_names_caveat_count(names), 0);
    for (uint32_t i = 0; i < 300; i++) {
        char text[16];
        int  size = snprintf(text, sizeof text, "cav%u", i);

        assert_int_equal(lic_names_caveat(names, (lic_str){ text, (size_t)size }), i);
    }
    assert_int_equal(lic_names_caveat(names, LIC_STR("cav7")), 7);
    assert_int_equal(lic_names_caveat_count(names), 300);
    assert_true(lic_str_equal(lic_names_caveat_name(names, 299), LIC_STR("cav299")));
    assert_int_equal(lic_names_type(names, LIC_STR("cav7")), 0);
    lic_names_free(names);
    assert_int_equal(source.counts->live_blocks, 0);
}

static void a_caveat_that_finds_no_memory_is_not_there(void **state)
{
    uint32_t number = LIC_NO_CAVEAT_NAME;

    (void)state;
    for (size_t n = 0; number == LIC_NO_CAVEAT_NAME; n++) {
        failing_memory source = fail_after(n);
        lic_memory     memory;
        lic_names     *names;

        lic_memory_init(&memory, &source.allocator, SIZE_MAX);
        names = lic_names_new(&memory);
        if (names != NULL) {
            number = lic_names_caveat(names, LIC_STR("cav"));
            assert_int_equal(lic_names_caveat_count(names), number == 0 ? 1 : 0);
            assert_int_equal(lic_names_caveat(names, LIC_STR("cav")), 0);
        }
        lic_names_free(names);
        assert_int_equal(source.counts->live_blocks, 0);
    }
}

static void names_are_copied(void **state)
{
    char       text[] = "user";
    lic_memory memory;
    lic_names *names;
    lic_type   type;

    (void)state;
    lic_memory_init(&memory, NULL, SIZE_MAX);
    names   = lic_names_new(&memory);
    type    = lic_names_type(names, (lic_str){ text, 4 });
    text[0] = 'l'; /* "lser" */
    assert_true(lic_str_equal(lic_names_type_name(names, type), LIC_STR("user")));
    assert_int_equal(lic_names_type(names, (lic_str){ text, 4 }), 1);
    lic_names_free(names);
}

static lic_str numbered(char *buffer, size_t size, const char *prefix, uint32_t number)
{
    return (lic_str){ buffer, (size_t)snprintf(buffer, size, "%s%u", prefix, number) };
}

static bool slot_is_right(const lic_names *names, lic_slot slot, lic_type type, uint32_t number)
{
    char    buffer[24];
    lic_str expected = numbered(buffer, sizeof buffer, "relation", number);

    return lic_names_type_of(names, slot) == type && lic_str_equal(lic_names_relation_name(names, slot), expected);
}

/* Past several chunks, whose limits are 64, 128, 256, ... */
static void numbers_stay_valid_however_many_follow(void **state)
{
    lic_memory memory;
    lic_names *names;
    char       buffer[24];
    lic_str    first;

    (void)state;
    lic_memory_init(&memory, NULL, SIZE_MAX);
    names = lic_names_new(&memory);
    lic_names_type(names, LIC_STR("type0"));
    first = lic_names_type_name(names, 0);
    for (uint32_t i = 1; i < 1000; i++)
        assert_int_equal(lic_names_type(names, numbered(buffer, sizeof buffer, "type", i)), i);
    for (uint32_t i = 0; i < 3000; i++)
        assert_int_equal(lic_names_slot(names, i % 1000, numbered(buffer, sizeof buffer, "relation", i)), 1000 + i);
    assert_ptr_equal(lic_names_type_name(names, 0).data, first.data);
    for (uint32_t i = 0; i < 1000; i++) {
        assert_true(lic_str_equal(lic_names_type_name(names, i), numbered(buffer, sizeof buffer, "type", i)));
        assert_int_equal(lic_names_ellipsis(names, i), i);
        assert_int_equal(lic_names_type_of(names, i), i);
    }
    for (uint32_t i = 0; i < 3000; i++)
        assert_true(slot_is_right(names, 1000 + i, i % 1000, i));
    lic_names_free(names);
}

#define SHARED_SLOTS 20000

typedef struct shared {
    lic_names  *names;
    atomic_bool wrong;
} shared;

/* Whatever the count shows must be whole and right. */
static void read_while_written(void *argument)
{
    shared *s    = argument;
    size_t  seen = 1;

    while (seen <= SHARED_SLOTS) {
        size_t count = lic_names_slot_count(s->names);

        for (; seen < count; seen++)
            if (!slot_is_right(s->names, (lic_slot)seen, 0, (uint32_t)seen))
                atomic_store(&s->wrong, true);
        if (!slot_is_right(s->names, (lic_slot)(count > 1 ? count - 1 : 1), 0, (uint32_t)(count > 1 ? count - 1 : 1)))
            atomic_store(&s->wrong, true);
    }
}

static void readers_see_only_whole_names_while_a_writer_adds(void **state)
{
    shared     s = { .wrong = false };
    lic_memory memory;
    pthread_t  readers[2];
    char       buffer[24];

    (void)state;
    lic_memory_init(&memory, NULL, SIZE_MAX);
    s.names = lic_names_new(&memory);
    lic_names_type(s.names, LIC_STR("document"));
    lic_names_slot(s.names, 0, LIC_STR("relation1"));
    for (int i = 0; i < 2; i++)
        assert_true(lic_thread_start(&readers[i], "reader", read_while_written, &s));
    for (uint32_t i = 2; i <= SHARED_SLOTS; i++)
        assert_int_equal(lic_names_slot(s.names, 0, numbered(buffer, sizeof buffer, "relation", i)), i);
    for (int i = 0; i < 2; i++)
        lic_thread_join(readers[i]);
    assert_false(atomic_load(&s.wrong));
    lic_names_free(s.names);
}

static bool add_all(lic_names *names)
{
    char buffer[24];
    bool all = true;

    for (uint32_t i = 0; i < 100; i++) {
        lic_type type = lic_names_type(names, numbered(buffer, sizeof buffer, "type", i));

        all = all && type != LIC_NO_TYPE;
        for (uint32_t j = 0; type != LIC_NO_TYPE && j < 15; j++)
            all = lic_names_slot(names, type, numbered(buffer, sizeof buffer, "relation", j)) != LIC_NO_SLOT && all;
    }
    return all;
}

/* Every pair is there once, and every number says the truth about itself. */
static void assert_consistent(const lic_names *names)
{
    assert_int_equal(lic_names_slot_count(names), 1600);
    for (lic_type type = 0; type < 100; type++) {
        lic_slot ellipsis = lic_names_ellipsis(names, type);

        assert_int_equal(lic_names_type_of(names, ellipsis), type);
        assert_true(lic_str_equal(lic_names_relation_name(names, ellipsis), LIC_ELLIPSIS));
    }
    for (lic_slot slot = 0; slot < 1600; slot++)
        assert_true(lic_names_type_of(names, slot) < 100);
}

/* Fails each allocation once; adding again then completes the same vocabulary. */
static void names_survive_every_failed_allocation(void **state)
{
    size_t failures = 1;

    (void)state;
    for (size_t n = 0; failures > 0; n++) {
        failing_memory source = fail_after(n);
        lic_memory     memory;
        lic_names     *names;

        lic_memory_init(&memory, &source.allocator, SIZE_MAX);
        names = lic_names_new(&memory);
        assert_int_equal(names == NULL, n == 0);
        if (names != NULL) {
            bool all = add_all(names);

            assert_int_equal(all, source.counts->failures == 0);
            assert_true(add_all(names));
            assert_consistent(names);
        }
        failures = source.counts->failures;
        lic_names_free(names);
        assert_int_equal(source.counts->live_blocks, 0);
    }
}

static void names_survive_memory_that_stays_away(void **state)
{
    bool all = false;

    (void)state;
    for (size_t n = 0; !all; n++) {
        failing_memory source = fail_from(n);
        lic_memory     memory;
        lic_names     *names;

        lic_memory_init(&memory, &source.allocator, SIZE_MAX);
        names = lic_names_new(&memory);
        all   = names != NULL && add_all(names);
        lic_names_free(names);
        assert_int_equal(source.counts->live_blocks, 0);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_names_get_equal_numbers),
        cmocka_unit_test(a_type_has_the_slot_of_the_object_itself),
        cmocka_unit_test(a_caveat_keeps_its_number),
        cmocka_unit_test(a_caveat_that_finds_no_memory_is_not_there),
        cmocka_unit_test(names_are_copied),
        cmocka_unit_test(numbers_stay_valid_however_many_follow),
        cmocka_unit_test(readers_see_only_whole_names_while_a_writer_adds),
        cmocka_unit_test(names_survive_every_failed_allocation),
        cmocka_unit_test(names_survive_memory_that_stays_away),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

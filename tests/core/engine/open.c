/* core/engine/engine.c, stats.c: opening with options, closing, counting. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "engine_world.h"
#include "failing_memory.h"

static void a_uri_that_names_no_store_opens_no_engine(void **state)
{
    static const char *const bad[] = { "", "memory", "memory: ", "MEMORY:", "memory:x", "sqlite:a.db" };
    licet_engine            *engine;
    licet_error             *error;

    (void)state;
    for (size_t i = 0; i <= sizeof bad / sizeof bad[0]; i++) {
        engine = (licet_engine *)&engine;
        error  = NULL;
        assert_int_equal(licet_open(text_of(i < sizeof bad / sizeof bad[0] ? bad[i] : NULL), NULL, &engine, &error),
                         LICET_INVALID_ARGUMENT);
        assert_null(engine);
        error_is(error, LICET_INVALID_ARGUMENT, LICET_KIND_CONFIG, "",
                 "expected the URI \"memory:\", or one of Postgres (\"postgresql://...\", \"host=... dbname=...\")");
    }
    assert_int_equal(licet_open(LICET_STR("memory:"), NULL, &engine, NULL), LICET_OK);
    licet_engine_release(engine);
}

static licet_status open_with(const licet_options *options, licet_error **error)
{
    licet_engine *engine = NULL;
    licet_status  status = licet_open(LICET_STR("memory:"), options, &engine, error);

    assert_true((engine != NULL) == (status == LICET_OK));
    licet_engine_release(engine);
    return status;
}

static void options_keep_to_their_floors_and_ceilings(void **state)
{
    static const struct {
        size_t      offset;
        bool        is_64;
        uint64_t    floor;
        uint64_t    ceiling;
        const char *below;
        const char *above;
    } cases[] = {
        { offsetof(licet_options, memory_limit_bytes), true, 1 << 20, UINT64_C(1) << 40,
          "option memory_limit_bytes: expected 1048576 to 1099511627776, not 1048575",
          "option memory_limit_bytes: expected 1048576 to 1099511627776, not 1099511627777" },
        { offsetof(licet_options, max_depth), false, 1, 1000, NULL, "option max_depth: expected 1 to 1000, not 1001" },
        { offsetof(licet_options, max_steps), true, 1000, 1000000000,
          "option max_steps: expected 1000 to 1000000000, not 999",
          "option max_steps: expected 1000 to 1000000000, not 1000000001" },
        { offsetof(licet_options, check_timeout_ms), false, 1, 600000, NULL,
          "option check_timeout_ms: expected 1 to 600000, not 600001" },
        { offsetof(licet_options, history_window_ms), true, 1, UINT64_C(2592000000), NULL,
          "option history_window_ms: expected 1 to 2592000000, not 2592000001" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (int step = 0; step < 4; step++) {
            static const int which[]  = { -1, 0, 0, 1 };
            uint64_t         value    = (step < 2 ? cases[i].floor : cases[i].ceiling) + (uint64_t)which[step];
            uint32_t         narrow   = (uint32_t)value;
            const char      *expected = step == 0 ? cases[i].below : step == 3 ? cases[i].above : NULL;
            licet_options    options  = LICET_OPTIONS_INIT;
            licet_error     *error    = NULL;

            memcpy((char *)&options + cases[i].offset, cases[i].is_64 ? (void *)&value : (void *)&narrow,
                   cases[i].is_64 ? sizeof value : sizeof narrow);
            if (expected == NULL) {
                assert_int_equal(open_with(&options, &error), LICET_OK); /* 0 is the default */
            } else {
                assert_int_equal(open_with(&options, &error), LICET_INVALID_ARGUMENT);
                error_is(error, LICET_INVALID_ARGUMENT, LICET_KIND_CONFIG, "", expected);
            }
        }
    }
}

static void an_allocator_is_whole_or_absent(void **state)
{
    failing_memory memory = fail_never();
    licet_options  options;
    licet_error   *error = NULL;

    (void)state;
    for (int i = 0; i < 3; i++) {
        options = memory.options;
        if (i == 0)
            options.allocator.alloc = NULL;
        if (i == 1)
            options.allocator.resize = NULL;
        if (i == 2)
            options.allocator.free = NULL;
        assert_int_equal(open_with(&options, &error), LICET_INVALID_ARGUMENT);
        error_is(error, LICET_INVALID_ARGUMENT, LICET_KIND_CONFIG, "",
                 "option allocator: all three functions or none of them must be given");
    }
    assert_int_equal(open_with(&memory.options, NULL), LICET_OK);
    assert_true(memory.counts->calls > 0);
    assert_int_equal(memory.counts->live_blocks, 0);
}

static void options_of_an_unknown_size_are_misuse(void **state)
{
    static const size_t sizes[] = { 0, 4, sizeof(licet_options) - 1, sizeof(licet_options) + 1, SIZE_MAX };
    licet_options       options = LICET_OPTIONS_INIT;
    licet_error        *error   = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        options.size = sizes[i];
        assert_int_equal(open_with(&options, &error), LICET_MISUSE);
        error_is(error, LICET_MISUSE, LICET_KIND_MISUSE, "", "options is NULL or of an unknown size");
    }
    assert_int_equal(licet_open(LICET_STR("memory:"), NULL, NULL, &error), LICET_MISUSE);
    error_is(error, LICET_MISUSE, LICET_KIND_MISUSE, "", "engine is NULL or of an unknown size");
}

static void statistics_count_what_is_there(void **state)
{
    failing_memory memory = fail_never();
    licet_stats    stats  = LICET_STATS_INIT;
    engine_world   w;

    (void)state;
    memory.options.memory_limit_bytes = 8 << 20;
    world_open(&w, &memory.options, WORLD_SCHEMA,
               "document:d1#viewer@user:ana\ndocument:d1#viewer@user:*\ndocument:d2#viewer@user:ana");
    assert_int_equal(licet_engine_stats(w.engine, &stats, NULL), LICET_OK);
    assert_int_equal(stats.relationships, 3);
    assert_int_equal(stats.objects, 3);
    assert_int_equal(stats.revision, 3); /* empty, schema, relationships */
    assert_int_equal(stats.memory_limit_bytes, 8 << 20);
    assert_int_equal(stats.memory_bytes, memory.counts->live_bytes);
    assert_true(stats.graph_bytes > 0 && stats.graph_bytes + stats.id_bytes < stats.memory_bytes);
    assert_true(stats.oldest_revision <= stats.revision);
    world_close(&w);
    assert_int_equal(memory.counts->live_blocks, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_uri_that_names_no_store_opens_no_engine),
        cmocka_unit_test(options_keep_to_their_floors_and_ceilings),
        cmocka_unit_test(an_allocator_is_whole_or_absent),
        cmocka_unit_test(options_of_an_unknown_size_are_misuse),
        cmocka_unit_test(statistics_count_what_is_there),
    };

    return cmocka_run_group_tests_name("engine/open", tests, NULL, NULL);
}

/* core/base/clock.c: the two clocks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/clock.h"

#include <time.h>

#include "base/thread.h"

static void the_monotonic_clock_never_runs_backwards(void **state)
{
    uint64_t before = lic_monotonic_ms();

    (void)state;
    for (int i = 0; i < 1000; i++) {
        uint64_t now = lic_monotonic_ms();

        assert_true(now >= before);
        before = now;
    }
}

static void the_monotonic_clock_counts_milliseconds(void **state)
{
    uint64_t before = lic_monotonic_ms();
    uint64_t passed;

    (void)state;
    lic_sleep_us(20000);
    passed = lic_monotonic_ms() - before;
    assert_true(passed >= 19 && passed < 10000);
}

static void the_wall_clock_counts_nanoseconds_since_1970(void **state)
{
    int64_t seconds = (int64_t)time(NULL);
    int64_t wall    = lic_wall_ns() / 1000000000;

    (void)state;
    assert_true(wall >= seconds - 1 && wall <= seconds + 10);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_monotonic_clock_never_runs_backwards),
        cmocka_unit_test(the_monotonic_clock_counts_milliseconds),
        cmocka_unit_test(the_wall_clock_counts_nanoseconds_since_1970),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

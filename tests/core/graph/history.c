/* core/graph/history.c: which revisions the time window shows. */
#include "world.h"

#include "graph/history.h"

static void a_revision_expires_a_window_after_it_was_superseded(void **state)
{
    lic_history history;

    (void)state;
    lic_history_init(&history, 1000);
    assert_int_equal(lic_history_oldest(&history, 50000), 0);
    lic_history_mark_superseded(&history, 0, 100);
    lic_history_mark_superseded(&history, 1, 300);
    assert_int_equal(lic_history_oldest(&history, 1100), 0);
    assert_int_equal(lic_history_oldest(&history, 1101), 1);
    assert_int_equal(lic_history_oldest(&history, 1300), 1);
    assert_int_equal(lic_history_oldest(&history, 1301), 2);
    assert_int_equal(lic_history_oldest(&history, 900000), 2);
}

static void however_many_revisions_none_outlives_the_window_by_much(void **state)
{
    lic_history history;

    (void)state;
    lic_history_init(&history, 1280);
    for (uint64_t now = 1; now <= 20000; now++) {
        uint64_t oldest;

        lic_history_mark_superseded(&history, now, now); /* revision n is superseded at n ms */
        oldest = lic_history_oldest(&history, now);
        assert_in_range(oldest, now > 1291 ? now - 1291 : 0, now > 1280 ? now - 1280 : 0);
    }
    assert_int_equal(lic_history_oldest(&history, 20000 + 1281), 20001);
}

static void a_tiny_window_works_too(void **state)
{
    lic_history history;

    (void)state;
    lic_history_init(&history, 1);
    for (uint64_t now = 1; now <= 1000; now++) {
        lic_history_mark_superseded(&history, 2 * now, now);
        lic_history_mark_superseded(&history, 2 * now + 1, now);
        assert_in_range(lic_history_oldest(&history, now), now > 2 ? 2 * (now - 2) : 0, 2 * now);
    }
}

/* With a window as short as a mark's distance, and writes at any distance from each other. */
static void what_has_expired_never_comes_back(void **state)
{
    static const uint64_t windows[] = { 1, 2, 100, 1280 };

    (void)state;
    for (size_t w = 0; w < sizeof windows / sizeof windows[0]; w++) {
        lic_history history;
        uint64_t    oldest = 0;
        uint64_t    now    = 1000;
        uint64_t    random = 12345;

        lic_history_init(&history, windows[w]);
        for (uint64_t revision = 0; revision < 5000; revision++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            now += random >> 33 & 3;
            if ((random >> 40) % 50 == 0)
                now += windows[w];
            lic_history_mark_superseded(&history, revision, now);
            for (int i = 0; i < 3; i++) {
                const uint64_t found = lic_history_oldest(&history, now);

                assert_true(found >= oldest);
                assert_true(found <= revision + 1);
                oldest = found;
                now += random >> (50 + i) & 1;
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_has_expired_never_comes_back),
        cmocka_unit_test(a_revision_expires_a_window_after_it_was_superseded),
        cmocka_unit_test(however_many_revisions_none_outlives_the_window_by_much),
        cmocka_unit_test(a_tiny_window_works_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

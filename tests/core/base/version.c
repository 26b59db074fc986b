/* core/base/version.c: which licet this is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "licet.h"

static void the_version_is_that_of_the_header(void **state)
{
    (void)state;
    assert_string_equal(licet_version(), "0.1.0");
    assert_int_equal(LICET_VERSION_MAJOR, 0);
    assert_int_equal(LICET_VERSION_MINOR, 1);
    assert_int_equal(LICET_VERSION_PATCH, 0);
    assert_int_equal(licet_abi(), 1);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_version_is_that_of_the_header),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* core/datastore/attribute.c: whoever calls, no attribute says less than its relationship did. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "check_world.h"
#include "datastore/attribute.h"
#include "engine_world.h"

static const char SCHEMA[] = "use expiration\n"
                             "caveat ticket(n int) { n == 1 }\n"
                             "definition user {}\n"
                             "definition document {\n  relation guest: user with ticket and expiration\n}\n";

typedef struct attribute_world {
    check_world   w;
    lic_arena     arena;
    lic_attribute attribute;
    licet_error  *error;
} attribute_world;

static void open_world(attribute_world *a)
{
    assert_true(check_world_open(&a->w, &(licet_allocator){ NULL, NULL, NULL, NULL }, SCHEMA));
    lic_arena_init(&a->arena, &a->w.memory);
    a->error = NULL;
}

static void close_world(attribute_world *a)
{
    lic_attribute_end(&a->attribute);
    lic_arena_free(&a->arena);
    check_world_close(&a->w);
}

/* Reads and types; NULL for what is not given. */
static licet_status attribute_of(attribute_world *a, const char *caveat, const char *context, const char *expiration)
{
    licet_relationship relationship = LICET_RELATIONSHIP_INIT;
    licet_status       status;

    relationship.caveat_name    = text_of(caveat);
    relationship.caveat_context = text_of(context);
    relationship.expiration     = text_of(expiration);
    LIC_TRY(lic_attribute_read(&a->arena, "update 3", &relationship, false, &a->attribute, &a->error));
    LIC_TRY(lic_attribute_type(a->w.program, &relationship, false, &a->attribute, &a->error));
done:
    return status;
}

static void assert_failed(attribute_world *a, licet_kind kind, const char *reason, const char *message)
{
    licet_str said = licet_error_message(a->error), why = licet_error_reason(a->error);

    assert_int_equal(licet_error_kind(a->error), kind);
    assert_int_equal(said.size, strlen(message));
    assert_memory_equal(said.data, message, said.size);
    assert_int_equal(why.size, strlen(reason));
    assert_memory_equal(why.data, reason, why.size);
    assert_null(a->attribute.payload);
    licet_error_free(a->error);
    a->error = NULL;
}

static void an_attribute_says_what_its_relationship_did(void **state)
{
    attribute_world a;

    (void)state;
    open_world(&a);
    assert_int_equal(attribute_of(&a, "ticket", "{\"n\": 2}", "1970-01-01T00:00:07.5Z"), LICET_OK);
    assert_int_equal(a.attribute.caveat, a.w.program->caveat_numbers[0]);
    assert_int_equal(a.attribute.expires_at_s, 7);
    assert_int_equal(a.attribute.expires_at_ns, 500000000);
    assert_int_equal(a.attribute.context.size, 7);
    assert_memory_equal(a.attribute.context.data, "{\"n\":2}", 7);
    assert_non_null(a.attribute.payload);
    close_world(&a);
}

static void an_expiration_that_is_no_time_is_an_error_and_never_means_for_ever(void **state)
{
    static const char *const times[] = { "", "never", "2030-13-01T00:00:00Z", "2030-01-01T00:00:60Z" };
    attribute_world          a;
    char                     message[128];

    (void)state;
    open_world(&a);
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        assert_int_equal(attribute_of(&a, "ticket", "{\"n\":2}", times[i]), LICET_INVALID_ARGUMENT);
        snprintf(message, sizeof message, "update 3: expected a time like 2030-01-02T03:04:05Z, not \"%s\"", times[i]);
        assert_failed(&a, LICET_KIND_VALUE, "", message);
    }
    close_world(&a);
}

static void a_caveat_that_the_schema_has_not_is_an_error_and_never_means_none(void **state)
{
    attribute_world a;

    (void)state;
    open_world(&a);
    assert_int_equal(attribute_of(&a, "other", NULL, NULL), LICET_NOT_FOUND);
    assert_failed(&a, LICET_KIND_NAME, "UNKNOWN_CAVEAT", "caveat with name \"other\" not found");
    close_world(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_attribute_says_what_its_relationship_did),
        cmocka_unit_test(an_expiration_that_is_no_time_is_an_error_and_never_means_for_ever),
        cmocka_unit_test(a_caveat_that_the_schema_has_not_is_an_error_and_never_means_none),
    };

    return cmocka_run_group_tests_name("datastore/attribute", tests, NULL, NULL);
}

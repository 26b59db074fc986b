/* core/engine/{permissions,filter,answers}.c: many checks of one subject at one revision. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "engine_world.h"

static const char SCHEMA[] = "caveat late(hour int) {\n\thour > 20\n}\n"
                             "definition user {}\n"
                             "definition document {\n"
                             "\trelation owner: user\n"
                             "\trelation viewer: user | user with late\n"
                             "\trelation banned: user\n"
                             "\tpermission view = owner + viewer\n"
                             "\tpermission edit = owner\n"
                             "\tpermission seen = view - banned\n"
                             "}";

static void open_world(engine_world *w)
{
    world_open(w, NULL, SCHEMA,
               "document:d1#owner@user:ana\n"
               "document:d2#viewer@user:ana\n"
               "document:d3#viewer@user:ana[late]\n"
               "document:d4#viewer@user:ana\n"
               "document:d4#banned@user:ana");
}

/* What a stream of permissions gives: "view=yes edit=no ...". */
static const char *permissions_of(engine_world *w, const licet_permissions_request *request)
{
    static const char *const words[]    = { "no", "yes", "if" };
    licet_found_permission   permission = LICET_FOUND_PERMISSION_INIT;
    licet_stream            *stream     = NULL;
    bool                     found      = true;

    w->text[0] = '\0';
    w->status  = licet_permissions(w->engine, request, &stream, &w->error);
    while (w->status == LICET_OK && found) {
        char *end = w->text + strlen(w->text);

        w->status = licet_stream_next_permission(stream, &permission, &found, &w->error);
        if (w->status != LICET_OK || !found)
            break;
        sprintf(end, "%s%.*s=%s", w->text[0] == '\0' ? "" : " ", (int)permission.permission.size,
                permission.permission.data,
                permission.result.status != LICET_OK ? licet_status_name(permission.result.status)
                                                     : words[permission.result.permissionship]);
        for (size_t i = 0; i < permission.result.missing_count; i++)
            sprintf(end + strlen(end), "(%.*s)", (int)permission.result.missing[i].size,
                    permission.result.missing[i].data);
    }
    licet_stream_release(stream);
    return w->text;
}

static licet_permissions_request about(const char *resource, const char *subject)
{
    licet_permissions_request request = LICET_PERMISSIONS_REQUEST_INIT;

    request.resource = text_of(resource);
    request.subject  = text_of(subject);
    return request;
}

static void all_permissions_come_in_written_order(void **state)
{
    licet_permissions_request owner    = about("document:d1", "user:ana");
    licet_permissions_request stranger = about("document:nowhere", "user:nobody");
    licet_permissions_request late     = about("document:d3", "user:ana");
    licet_permissions_request empty    = about("user:ana", "user:ana");
    engine_world              w;

    (void)state;
    open_world(&w);
    assert_string_equal(permissions_of(&w, &owner), "view=yes edit=yes seen=yes");
    assert_string_equal(permissions_of(&w, &stranger), "view=no edit=no seen=no");
    assert_string_equal(permissions_of(&w, &late), "view=if(hour) edit=no seen=if(hour)");
    late.context = LICET_STR("{\"hour\": 21}");
    assert_string_equal(permissions_of(&w, &late), "view=yes edit=no seen=yes");
    late.context = LICET_STR("{\"hour\": 9}");
    assert_string_equal(permissions_of(&w, &late), "view=no edit=no seen=no");
    assert_string_equal(permissions_of(&w, &empty), "");
    world_done(&w);
    world_close(&w);
}

static void chosen_names_come_in_the_order_chosen(void **state)
{
    const licet_str names[] = { LICET_STR("seen"), LICET_STR("viewer"), LICET_STR("nosuch"), LICET_STR("seen") };
    licet_permissions_request request = about("document:d4", "user:ana");
    engine_world              w;

    (void)state;
    open_world(&w);
    request.permissions      = names;
    request.permission_count = 4;
    assert_string_equal(permissions_of(&w, &request), "seen=no viewer=yes nosuch=not_found seen=no");
    request.permission_count = 0;
    assert_string_equal(permissions_of(&w, &request), "");
    world_done(&w);
    world_close(&w);
}

static void a_request_for_permissions_that_is_wrong_says_where(void **state)
{
    const licet_str           bad[] = { LICET_STR("view"), LICET_STR("View") };
    licet_permissions_request request;
    engine_world              w;

    (void)state;
    open_world(&w);
    request = about("nosuch:d1", "user:ana");
    permissions_of(&w, &request);
    world_failed(&w, LICET_NOT_FOUND, LICET_KIND_NAME, "UNKNOWN_DEFINITION", "object definition `nosuch` not found");
    request = about("document", "user:ana");
    permissions_of(&w, &request);
    world_failed(&w, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, "", "resource: expected \"type:id\", not \"document\"");
    request                  = about("document:d1", "user:ana");
    request.permissions      = bad;
    request.permission_count = 2;
    permissions_of(&w, &request);
    assert_int_equal(w.status, LICET_INVALID_ARGUMENT);
    assert_non_null(strstr(licet_error_message(w.error).data, "permissions: "));
    licet_error_free(w.error);
    w.error                  = NULL;
    w.status                 = LICET_OK;
    request.permission_count = 10001;
    permissions_of(&w, &request);
    world_failed(&w, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, "",
                 "10001 permissions are more than the 10000 of one request");
    request.permissions = NULL;
    permissions_of(&w, &request);
    assert_int_equal(w.status, LICET_MISUSE);
    licet_error_free(w.error);
    w.error  = NULL;
    w.status = LICET_OK;
    world_close(&w);
}

/* "d1 d2 ...": the ids that a filter lets pass. */
static const char *filtered(engine_world *w, const licet_filter_resources_request *request)
{
    licet_found_resource resource = LICET_FOUND_RESOURCE_INIT;
    licet_stream        *stream   = NULL;
    bool                 found    = true;

    w->text[0] = '\0';
    w->status  = licet_filter_resources(w->engine, request, &stream, &w->error);
    while (w->status == LICET_OK && found) {
        w->status = licet_stream_next_resource(stream, &resource, &found, &w->error);
        if (w->status != LICET_OK || !found)
            break;
        assert_int_equal(resource.permissionship, LICET_HAS_PERMISSION);
        assert_int_equal(resource.missing_count, 0);
        sprintf(w->text + strlen(w->text), "%s%.*s", w->text[0] == '\0' ? "" : " ", (int)resource.resource_id.size,
                resource.resource_id.data);
    }
    licet_stream_release(stream);
    return w->text;
}

static void a_filter_keeps_the_order_and_what_stands_twice(void **state)
{
    const licet_str                ids[]   = { LICET_STR("d4"), LICET_STR("d3"), LICET_STR("d2"), LICET_STR("d9"),
                                               LICET_STR("*"),  LICET_STR("d1"), LICET_STR("d2") };
    licet_filter_resources_request request = LICET_FILTER_RESOURCES_REQUEST_INIT;
    engine_world                   w;

    (void)state;
    open_world(&w);
    request.resource_type  = LICET_STR("document");
    request.resource_ids   = ids;
    request.resource_count = sizeof ids / sizeof ids[0];
    request.permission     = LICET_STR("view");
    request.subject        = LICET_STR("user:ana");
    assert_string_equal(filtered(&w, &request), "d4 d2 d1 d2");
    request.permission = LICET_STR("seen");
    assert_string_equal(filtered(&w, &request), "d2 d1 d2");
    request.context = LICET_STR("{\"hour\": 22}");
    assert_string_equal(filtered(&w, &request), "d3 d2 d1 d2");
    request.resource_count = 0;
    assert_string_equal(filtered(&w, &request), "");
    world_done(&w);
    world_close(&w);
}

static void what_fails_for_one_resource_fails_the_filter(void **state)
{
    const licet_str                ids[]   = { LICET_STR("d2"), LICET_STR("d3") };
    const licet_str                bad[]   = { LICET_STR("d2"), LICET_STR("d 3") };
    licet_filter_resources_request request = LICET_FILTER_RESOURCES_REQUEST_INIT;
    engine_world                   w;

    (void)state;
    open_world(&w);
    request.resource_type  = LICET_STR("document");
    request.resource_ids   = ids;
    request.resource_count = 2;
    request.permission     = LICET_STR("view");
    request.subject        = LICET_STR("user:ana");
    request.context        = LICET_STR("{\"hour\": \"soon\"}");
    filtered(&w, &request);
    assert_int_equal(w.status, LICET_INVALID_ARGUMENT);
    assert_int_equal(licet_error_kind(w.error), LICET_KIND_TYPE);
    licet_error_free(w.error);
    w.error              = NULL;
    request.context      = (licet_str){ NULL, 0 };
    request.resource_ids = bad;
    filtered(&w, &request);
    assert_int_equal(w.status, LICET_INVALID_ARGUMENT);
    assert_int_equal(licet_error_kind(w.error), LICET_KIND_VALUE);
    licet_error_free(w.error);
    w.error              = NULL;
    request.resource_ids = ids;
    request.permission   = LICET_STR("nosuch");
    filtered(&w, &request);
    world_failed(&w, LICET_NOT_FOUND, LICET_KIND_NAME, "UNKNOWN_RELATION_OR_PERMISSION",
                 "relation/permission `nosuch` not found under definition `document`");
    request.resource_count = 10001;
    filtered(&w, &request);
    world_failed(&w, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, "",
                 "10001 resources are more than the 10000 of one request");
    world_close(&w);
}

static void a_stream_gives_only_its_own_kind(void **state)
{
    licet_permissions_request request  = about("document:d1", "user:ana");
    licet_found_resource      resource = LICET_FOUND_RESOURCE_INIT;
    licet_stream             *stream   = NULL;
    bool                      found    = true;
    licet_token               token;
    engine_world              w;

    (void)state;
    open_world(&w);
    w.status = licet_permissions(w.engine, &request, &stream, &w.error);
    world_done(&w);
    w.status = licet_stream_next_resource(stream, &resource, &found, &w.error);
    assert_false(found);
    world_failed(&w, LICET_MISUSE, LICET_KIND_MISUSE, "", "the stream gives other things than the function asks for");
    assert_null(licet_stream_cursor(stream).data);
    licet_stream_token(stream, &token);
    assert_string_equal(token.text, w.token.text);
    licet_stream_release(stream);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_permissions_come_in_written_order),
        cmocka_unit_test(chosen_names_come_in_the_order_chosen),
        cmocka_unit_test(a_request_for_permissions_that_is_wrong_says_where),
        cmocka_unit_test(a_filter_keeps_the_order_and_what_stands_twice),
        cmocka_unit_test(what_fails_for_one_resource_fails_the_filter),
        cmocka_unit_test(a_stream_gives_only_its_own_kind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

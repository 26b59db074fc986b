#include <licet.h>
#include <stdio.h>

static const char SCHEMA[] = "definition user {}\n"
                             "\n"
                             "definition document {\n"
                             "    relation owner: user\n"
                             "    relation viewer: user\n"
                             "    permission view = owner + viewer\n"
                             "}\n";

int main(void)
{
    licet_engine       *engine = NULL;
    licet_error        *error  = NULL;
    licet_update        update = { LICET_TOUCH, LICET_RELATIONSHIP_INIT };
    licet_write_request write  = LICET_WRITE_REQUEST_INIT;
    licet_check_request check  = LICET_CHECK_REQUEST_INIT;
    licet_result        result = LICET_RESULT_INIT;
    int                 status = 1;

    if (licet_open(LICET_STR("memory:"), NULL, &engine, &error) != LICET_OK)
        goto done;
    if (licet_write_schema(engine, LICET_STR(SCHEMA), NULL, &error) != LICET_OK)
        goto done;

    if (licet_relationship_parse(LICET_STR("document:readme#owner@user:ada"), &update.relationship, &error) != LICET_OK)
        goto done;
    write.updates      = &update;
    write.update_count = 1;
    if (licet_write(engine, &write, NULL, &error) != LICET_OK)
        goto done;

    check.resource   = LICET_STR("document:readme");
    check.permission = LICET_STR("view");
    check.subject    = LICET_STR("user:ada");
    if (licet_check(engine, &check, &result, &error) != LICET_OK)
        goto done;
    printf("ada may view: %s\n", licet_result_allowed(&result) ? "yes" : "no");
    licet_result_clear(&result);

    check.subject = LICET_STR("user:bo");
    if (licet_check(engine, &check, &result, &error) != LICET_OK)
        goto done;
    printf("bo may view: %s\n", licet_result_allowed(&result) ? "yes" : "no");
    status = 0;
done:
    if (error != NULL)
        fprintf(stderr, "%.*s\n", (int)licet_error_message(error).size, licet_error_message(error).data);
    licet_error_free(error);
    licet_result_clear(&result);
    licet_engine_release(engine);
    return status;
}

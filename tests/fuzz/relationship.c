/* The border of relationships: any bytes are read or refused, and what is read prints to a text that reads and
 * prints the same. */
#include <stdlib.h>

#include "datastore/relationship.h"

/* data == NULL: it was refused. */
static licet_buffer format(const licet_relationship *relationship)
{
    licet_buffer out = LICET_BUFFER_INIT;

    if (licet_relationship_format(relationship, &out, NULL) != LICET_OK)
        out.data = NULL;
    return out;
}

/* A context may be longer than a record may hold. */
static bool may_be_refused(const licet_relationship *relationship)
{
    return relationship->caveat_name.size + relationship->caveat_context.size > 25000;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lic_str            text  = { (const char *)data, size };
    licet_relationship first = LICET_RELATIONSHIP_INIT;
    licet_relationship again = LICET_RELATIONSHIP_INIT;
    licet_error       *error = NULL;
    licet_buffer       printed;
    licet_buffer       reprinted;

    if (licet_relationship_parse(text, &first, &error) != LICET_OK) {
        if (error == NULL || licet_error_message(error).size > 1024 || first.resource_type.data != NULL)
            abort();
        licet_error_free(error);
        return 0;
    }
    printed = format(&first);
    if (printed.data == NULL && may_be_refused(&first))
        return 0;
    if (printed.data == NULL ||
        licet_relationship_parse((lic_str){ printed.data, printed.size }, &again, NULL) != LICET_OK)
        abort();
    reprinted = format(&again);
    if (reprinted.data == NULL ||
        !lic_str_equal((lic_str){ printed.data, printed.size }, (lic_str){ reprinted.data, reprinted.size }))
        abort();
    licet_buffer_clear(&printed);
    licet_buffer_clear(&reprinted);
    return 0;
}

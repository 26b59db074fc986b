/* Rows to Postgres, encoded by hand: a count of fields, then each with its size, all big-endian. */
#include "datastore/postgres/copy_rows.h"

#define FIELDS 10
#define FLUSH_BYTES ((size_t)64 << 10)
#define EPOCH_S INT64_C(946684800) /* 2000-01-01, where Postgres counts from, in Unix time */

static void add_number(lic_text *out, uint64_t number, size_t bytes)
{
    char big_endian[8];

    for (size_t i = 0; i < bytes; i++)
        big_endian[i] = (char)(uint8_t)(number >> (8 * (bytes - 1 - i)));
    lic_text_add(out, (lic_str){ big_endian, bytes });
}

static void add_text(lic_text *out, lic_str text)
{
    add_number(out, text.size, 4);
    lic_text_add(out, text);
}

static void add_null(lic_text *out)
{
    add_number(out, UINT32_MAX, 4);
}

/* A time of the years 1 to 9999 fits. */
static void add_expiration(lic_text *out, const lic_attribute *attribute)
{
    if (attribute->expires_at_s == LIC_NEVER_EXPIRES)
        add_null(out);
    else {
        add_number(out, 8, 4);
        add_number(out, (uint64_t)((attribute->expires_at_s - EPOCH_S) * 1000000 + attribute->expires_at_ns / 1000), 8);
    }
    add_number(out, 2, 4);
    add_number(out, attribute->expires_at_s == LIC_NEVER_EXPIRES ? 0 : attribute->expires_at_ns % 1000, 2);
}

static void add_end(lic_text *out, const lic_names *names, lic_slot slot, lic_str id)
{
    add_text(out, lic_names_type_name(names, lic_names_type_of(names, slot)));
    add_text(out, id);
    add_text(out, lic_names_relation_name(names, slot));
}

void lic_pg_copy_row(lic_text *out, const lic_names *names, const lic_store_change *change)
{
    const lic_attribute *attribute = &change->attribute;

    add_number(out, FIELDS, 2);
    add_end(out, names, change->typed.resource, change->resource_id);
    add_end(out, names, change->typed.subject, change->subject_id);
    if (attribute->caveat == LIC_NO_CAVEAT_NAME)
        add_null(out);
    else
        add_text(out, lic_names_caveat_name(names, attribute->caveat));
    if (attribute->context.size == 0)
        add_null(out);
    else
        add_text(out, attribute->context);
    add_expiration(out, attribute);
}

licet_status lic_pg_copy_flush(lic_text *rows, bool all, lic_pg_link *link, lic_pg_wait wait, licet_error **error)
{
    licet_status status;

    if (rows->failed)
        return lic_fail_memory(error);
    if (rows->size == 0 || (rows->size < FLUSH_BYTES && !all))
        return LICET_OK;
    status     = lic_pg_copy_put(link, lic_text_str(rows), wait, error);
    rows->size = 0;
    return status;
}

/* ------------------------------------------------------------ what was there already */

/* The next of the values, which are separated by ", "; ids and names hold none. */
static lic_str cut_value(lic_str *values)
{
    const size_t end   = lic_str_find(*values, ',');
    lic_str      value = lic_str_slice(*values, 0, end);

    *values = lic_str_slice(*values, end < values->size ? end + 1 : end, values->size);
    return lic_str_trim(value);
}

/* Of "Key (rt, ri, rr, st, si, sr)=(document, a, viewer, user, b, ...) already exists.", whatever the server's
 * language. false: it says nothing, for want of a right. */
static bool read_key(const char *detail, licet_relationship *relationship)
{
    const char *begin = strstr(detail, ")=(");
    const char *end   = begin != NULL ? strchr(begin + 3, ')') : NULL;
    lic_str     values;

    *relationship = (licet_relationship)LICET_RELATIONSHIP_INIT;
    if (end == NULL)
        return false;
    values                         = (lic_str){ begin + 3, (size_t)(end - begin) - 3 };
    relationship->resource_type    = cut_value(&values);
    relationship->resource_id      = cut_value(&values);
    relationship->relation         = cut_value(&values);
    relationship->subject_type     = cut_value(&values);
    relationship->subject_id       = cut_value(&values);
    relationship->subject_relation = cut_value(&values);
    return relationship->subject_relation.size > 0;
}

static licet_status fail_exists(lic_memory *memory, const char *detail, licet_error **error)
{
    licet_relationship relationship;

    if (read_key(detail, &relationship))
        return lic_fail_exists(memory, &relationship, error);
    return lic_fail_reason(error, LICET_ALREADY_EXISTS, LICET_KIND_CONFLICT, "ATTEMPT_TO_RECREATE_RELATIONSHIP",
                           LIC_NOWHERE, "could not create a relationship, as it exists already");
}

licet_status lic_pg_copy_failed(lic_memory *memory, const lic_pg_link *link, licet_status status, licet_error **error)
{
    const lic_pg_failure *failure = lic_pg_link_failure(link);

    if (strcmp(failure->sqlstate, "23505") != 0)
        return status;
    if (error != NULL) {
        licet_error_free(*error);
        *error = NULL;
    }
    return fail_exists(memory, failure->detail, error);
}

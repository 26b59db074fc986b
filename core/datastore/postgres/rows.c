#include "datastore/postgres/rows.h"

#include "datastore/object.h"
#include "datastore/relationship.h"

#define CAVEAT 6
#define CONTEXT 7
#define EXPIRES_AT 8
#define EXPIRES_NS 9
#define SECONDS_TO_2000 INT64_C(946684800) /* from 1970 */
#define MICROSECONDS INT64_C(1000000)

/* ------------------------------------------------------------------- the wire */

static uint64_t big_endian(const char *bytes, size_t size)
{
    uint64_t number = 0;

    for (size_t i = 0; i < size; i++)
        number = number << 8 | (unsigned char)bytes[i];
    return number;
}

/* Takes `size` bytes off the front; NULL: there are fewer. */
static const char *take(lic_str *rest, size_t size)
{
    const char *taken = rest->data;

    if (rest->size < size)
        return NULL;
    *rest = lic_str_slice(*rest, size, rest->size);
    return taken;
}

static bool take_field(lic_str *rest, lic_str *field)
{
    const char *head = take(rest, 4);
    int32_t     size;

    *field = (lic_str){ NULL, 0 };
    if (head == NULL)
        return false;
    size = (int32_t)(uint32_t)big_endian(head, 4);
    if (size < 0)
        return size == -1;
    *field = (lic_str){ take(rest, (size_t)size), (size_t)size };
    return lic_str_given(*field);
}

bool lic_pg_fields_of_copy(const char *row, size_t size, lic_pg_fields *fields)
{
    lic_str     rest  = { row, size };
    const char *count = take(&rest, 2);

    if (count == NULL || big_endian(count, 2) != LIC_PG_ROW_FIELDS)
        return false;
    for (int i = 0; i < LIC_PG_ROW_FIELDS; i++) {
        if (!take_field(&rest, &fields->items[i]))
            return false;
    }
    return rest.size == 0;
}

bool lic_pg_fields_of_result(const PGresult *result, int row, int column, lic_pg_fields *fields)
{
    if (PQnfields(result) < column + LIC_PG_ROW_FIELDS || row >= PQntuples(result))
        return false;
    for (int i = 0; i < LIC_PG_ROW_FIELDS; i++) {
        if (PQfformat(result, column + i) != 1)
            return false;
        fields->items[i] = (lic_str){ NULL, 0 };
        if (PQgetisnull(result, row, column + i) == 0)
            fields->items[i] =
                (lic_str){ PQgetvalue(result, row, column + i), (size_t)PQgetlength(result, row, column + i) };
    }
    return true;
}

bool lic_pg_fields_given(const lic_pg_fields *fields)
{
    return lic_str_given(fields->items[0]);
}

bool lic_pg_time_us(lic_str bytes, int64_t *time_us)
{
    int64_t since_2000;

    if (bytes.size != 8)
        return false;
    since_2000 = (int64_t)big_endian(bytes.data, 8);
    return since_2000 != INT64_MAX && since_2000 != INT64_MIN &&
           !__builtin_add_overflow(since_2000, SECONDS_TO_2000 * MICROSECONDS, time_us);
}

/* -------------------------------------------------------------------- the row */

static licet_status fail_row(licet_error **error, const char *what)
{
    return lic_fail(error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, LIC_NOWHERE,
                    "the database holds a relationship that licet did not write: %s", what);
}

/* What is wrong with a row is nothing that the caller did. */
static licet_status fail_cause(licet_error **error, licet_status status, licet_error *cause)
{
    const lic_str said = licet_error_message(cause);

    if (status == LICET_OUT_OF_MEMORY)
        lic_fail_memory(error);
    else
        status = lic_fail(error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, LIC_NOWHERE,
                          "the database holds a relationship that does not fit its schema: %.*s", LIC_STR_ARG(said));
    licet_error_free(cause);
    return status;
}

static bool instant_of(const lic_pg_fields *fields, lic_instant *instant)
{
    int64_t  us;
    int64_t  seconds;
    uint64_t ns;

    if (fields->items[EXPIRES_NS].size != 2 || !lic_pg_time_us(fields->items[EXPIRES_AT], &us))
        return false;
    ns      = big_endian(fields->items[EXPIRES_NS].data, 2);
    seconds = us / MICROSECONDS - (us % MICROSECONDS < 0);
    if (ns > 999)
        return false;
    *instant = (lic_instant){ seconds, (uint32_t)((us - seconds * MICROSECONDS) * 1000 + (int64_t)ns) };
    return true;
}

static lic_str print_instant(const lic_pg_reader *reader, lic_instant instant)
{
    lic_str  printed = { NULL, 0 };
    lic_text text;

    lic_text_init(&text, reader->host->memory);
    lic_instant_print(instant, &text);
    if (!text.failed)
        printed = lic_arena_str(reader->arena, lic_text_str(&text));
    lic_text_free(&text);
    return printed;
}

static licet_status put_expiration(const lic_pg_reader *reader, const lic_pg_fields *fields, licet_relationship *out,
                                   bool *expired, licet_error **error)
{
    lic_instant instant;

    *expired = false;
    if (!lic_str_given(fields->items[EXPIRES_AT]))
        return LICET_OK;
    if (!instant_of(fields, &instant))
        return fail_row(error, "its expiration is no time");
    *expired = instant.seconds < reader->now.seconds ||
               (instant.seconds == reader->now.seconds && instant.nanoseconds <= reader->now.nanoseconds);
    out->expiration = print_instant(reader, instant);
    return lic_str_given(out->expiration) ? LICET_OK : lic_fail_memory(error);
}

static void put_names(const lic_pg_fields *fields, licet_relationship *out)
{
    *out               = (licet_relationship)LICET_RELATIONSHIP_INIT;
    out->resource_type = fields->items[0];
    out->resource_id   = fields->items[1];
    out->relation      = fields->items[2];
    out->subject_type  = fields->items[3];
    out->subject_id    = fields->items[4];
    if (!lic_str_equal(fields->items[5], LIC_ELLIPSIS))
        out->subject_relation = fields->items[5];
}

static bool has_names(const lic_pg_fields *fields)
{
    for (int i = 0; i < CAVEAT; i++) {
        if (!lic_str_given(fields->items[i]))
            return false;
    }
    return true;
}

static licet_status type_row(const lic_pg_reader *reader, const licet_relationship *relationship,
                             lic_store_change *change, licet_error **error)
{
    licet_status status;

    LIC_TRY(lic_relationship_check("", relationship, error));
    LIC_TRY(lic_attribute_read(reader->arena, "", relationship, false, &change->attribute, error));
    LIC_TRY(lic_type_relationship(reader->program, relationship, false, &change->typed, error));
    LIC_TRY(lic_attribute_type(reader->program, relationship, false, &change->attribute, error));
done:
    return status;
}

/* Where a shape like that would be remembered. */
static lic_pg_shape *shape_place(const lic_pg_reader *reader, const lic_pg_fields *fields)
{
    static const int names[] = { 0, 2, 3, 5 };
    size_t           sum     = lic_str_equal(fields->items[4], LIC_STR("*"));

    for (int i = 0; i < 4; i++) {
        const lic_str name = fields->items[names[i]];

        sum = sum * 7 + name.size + (name.size > 0 ? (unsigned char)name.data[0] : 0);
    }
    return &reader->shapes[sum % LIC_PG_SHAPES];
}

static bool is_shape(const lic_pg_shape *shape, const lic_pg_fields *fields)
{
    return lic_str_given(shape->names[0]) && lic_str_equal(shape->names[0], fields->items[0]) &&
           lic_str_equal(shape->names[1], fields->items[2]) && lic_str_equal(shape->names[2], fields->items[3]) &&
           lic_str_equal(shape->names[3], fields->items[5]) &&
           shape->typed.wildcard == lic_str_equal(fields->items[4], LIC_STR("*"));
}

/* Without attributes, and with good ids? Then all there is to judge are the names. */
static bool is_plain(const lic_pg_fields *fields)
{
    return !lic_str_given(fields->items[CAVEAT]) && !lic_str_given(fields->items[CONTEXT]) &&
           !lic_str_given(fields->items[EXPIRES_AT]) && lic_is_id(fields->items[1]) &&
           (lic_is_id(fields->items[4]) || lic_str_equal(fields->items[4], LIC_STR("*")));
}

static void remember(lic_pg_shape *shape, const lic_program *program, const lic_typed *typed)
{
    const lic_slot_meaning resource = lic_program_slot(program, typed->resource);
    const lic_slot_meaning subject  = lic_program_slot(program, typed->subject);

    shape->names[0] = program->definitions[resource.definition].name;
    shape->names[1] = program->relations[resource.relation].name;
    shape->names[2] = program->definitions[subject.definition].name;
    shape->names[3] = subject.relation == LIC_NO_REL ? LIC_ELLIPSIS : program->relations[subject.relation].name;
    shape->typed    = *typed;
}

static bool is_known(const lic_pg_fields *fields, const lic_pg_shape *shape, lic_store_change *change)
{
    if (!is_shape(shape, fields) || !is_plain(fields))
        return false;
    change->resource_id = fields->items[1];
    change->subject_id  = fields->items[4];
    change->typed       = shape->typed;
    change->attribute   = (lic_attribute){ .expires_at_s = LIC_NEVER_EXPIRES, .caveat = LIC_NO_CAVEAT_NAME };
    return true;
}

licet_status lic_pg_row_touch(const lic_pg_reader *reader, const lic_pg_fields *fields, lic_store_change *change,
                              bool *skip, licet_error **error)
{
    licet_error       *cause = NULL;
    lic_pg_shape      *shape = reader->shapes == NULL ? NULL : shape_place(reader, fields);
    licet_relationship relationship;
    bool               expired;
    licet_status       status;

    *skip   = false;
    *change = (lic_store_change){ .operation = LICET_TOUCH };
    if (shape != NULL && is_known(fields, shape, change))
        return LICET_OK;
    if (!has_names(fields))
        return fail_row(error, "it lacks a name");
    put_names(fields, &relationship);
    relationship.caveat_name    = fields->items[CAVEAT];
    relationship.caveat_context = fields->items[CONTEXT];
    status                      = put_expiration(reader, fields, &relationship, &expired, error);
    if (status != LICET_OK)
        return status;
    change->resource_id = relationship.resource_id;
    change->subject_id  = relationship.subject_id;
    status              = type_row(reader, &relationship, change, &cause);
    if (status == LICET_OK && shape != NULL && is_plain(fields))
        remember(shape, reader->program, &change->typed);
    if (status == LICET_OK)
        return LICET_OK;
    lic_store_changes_end(change, 1);
    *change = (lic_store_change){ .operation = LICET_TOUCH };
    *skip   = expired && status != LICET_OUT_OF_MEMORY;
    if (!*skip)
        return fail_cause(error, status, cause);
    licet_error_free(cause);
    return LICET_OK;
}

licet_status lic_pg_row_delete(const lic_pg_reader *reader, const lic_pg_fields *fields, lic_store_change *change,
                               licet_error **error)
{
    lic_names *names = reader->host->names;
    lic_type   resource;
    lic_type   subject;

    *change = (lic_store_change){ .operation = LICET_DELETE };
    if (!has_names(fields))
        return fail_row(error, "it lacks a name");
    change->resource_id = fields->items[1];
    change->subject_id  = fields->items[4];
    lic_graph_lock(reader->host->graph);
    resource               = lic_names_type(names, fields->items[0]);
    subject                = lic_names_type(names, fields->items[3]);
    change->typed.resource = resource == LIC_NO_TYPE ? LIC_NO_SLOT : lic_names_slot(names, resource, fields->items[2]);
    change->typed.subject  = subject == LIC_NO_TYPE ? LIC_NO_SLOT : lic_names_slot(names, subject, fields->items[5]);
    lic_graph_unlock(reader->host->graph);
    change->typed.wildcard = lic_str_equal(fields->items[4], LIC_STR("*"));
    return change->typed.resource == LIC_NO_SLOT || change->typed.subject == LIC_NO_SLOT ? lic_fail_memory(error)
                                                                                         : LICET_OK;
}

/* A caveat of this name need not be of the schema any more. */
static licet_status put_caveat(const lic_pg_reader *reader, lic_str name, lic_attribute *attribute, licet_error **error)
{
    if (!lic_str_given(name))
        return LICET_OK;
    lic_graph_lock(reader->host->graph);
    attribute->caveat = lic_names_caveat(reader->host->names, name);
    lic_graph_unlock(reader->host->graph);
    return attribute->caveat == LIC_NO_CAVEAT_NAME ? lic_fail_memory(error) : LICET_OK;
}

licet_status lic_pg_row_was(const lic_pg_reader *reader, const lic_pg_fields *fields, lic_store_change *change,
                            licet_error **error)
{
    licet_error       *cause = NULL;
    licet_relationship relationship;
    bool               expired;
    licet_status       status;

    LIC_TRY(lic_pg_row_delete(reader, fields, change, error));
    put_names(fields, &relationship);
    relationship.caveat_name    = fields->items[CAVEAT];
    relationship.caveat_context = fields->items[CONTEXT];
    LIC_TRY(put_expiration(reader, fields, &relationship, &expired, error));
    status = lic_attribute_read(reader->arena, "", &relationship, false, &change->attribute, &cause);
    if (status != LICET_OK)
        return fail_cause(error, status, cause);
    LIC_TRY(put_caveat(reader, relationship.caveat_name, &change->attribute, error));
done:
    return status;
}

void lic_pg_fields_key(const lic_pg_fields *fields, lic_text *key)
{
    for (int i = 0; i < CAVEAT; i++) {
        lic_text_add(key, fields->items[i]);
        lic_text_add_char(key, '\0');
    }
}

/* The border of relationships: any bytes are read or refused, strictly no more than else, and what is read prints to a
 * text that reads as the same relationship and prints the same. An input that begins with NUL is a record instead, its
 * fields divided by NUL: what of it can be printed can be read. */
#include "caveat/json.h"
#include "datastore/attribute.h"
#include "datastore/context.h"
#include "datastore/relationship.h"
#include "must.h"
#include "schema/parser.h"

static lic_str str_of(const licet_buffer *buffer)
{
    return (lic_str){ buffer->data, buffer->size };
}

/* ------------------------------------------------------------------ sameness */

static bool same_instant(lic_str a, lic_str b)
{
    lic_instant first;
    lic_instant second;

    if (!lic_str_given(a) || !lic_str_given(b))
        return lic_str_given(a) == lic_str_given(b);
    return lic_instant_parse(a, &first) && lic_instant_parse(b, &second) && first.seconds == second.seconds &&
           first.nanoseconds == second.nanoseconds;
}

/* An object without keys is as good as none. */
static bool same_context(lic_str a, lic_str b)
{
    lic_memory memory;
    lic_text   first;
    lic_text   second;
    bool       same;

    lic_memory_init(&memory, NULL, SIZE_MAX);
    lic_text_init(&first, &memory);
    lic_text_init(&second, &memory);
    same = (!lic_str_given(a) || lic_context_print(a, &first, NULL) == LICET_OK) &&
           (!lic_str_given(b) || lic_context_print(b, &second, NULL) == LICET_OK) &&
           lic_str_equal(lic_text_str(&first), lic_text_str(&second));
    lic_text_free(&first);
    lic_text_free(&second);
    must(memory.used == 0);
    return same;
}

static bool same_relationship(const licet_relationship *a, const licet_relationship *b)
{
    return lic_str_equal(a->resource_type, b->resource_type) && lic_str_equal(a->resource_id, b->resource_id) &&
           lic_str_equal(a->relation, b->relation) && lic_str_equal(a->subject_type, b->subject_type) &&
           lic_str_equal(a->subject_id, b->subject_id) &&
           lic_str_equal(lic_subject_relation(a), lic_subject_relation(b)) &&
           lic_str_equal(a->caveat_name, b->caveat_name) && same_context(a->caveat_context, b->caveat_context) &&
           same_instant(a->expiration, b->expiration);
}

/* ------------------------------------------------------------------ printing */

/* data == NULL: it was refused. */
static licet_buffer format(const licet_relationship *relationship, licet_status *status)
{
    licet_buffer out   = LICET_BUFFER_INIT;
    licet_error *error = NULL;

    *status = licet_relationship_format(relationship, &out, &error);
    must((*status == LICET_OK) == (error == NULL) && (*status == LICET_OK) == (out.data != NULL));
    if (*status != LICET_OK)
        must_explain(error, lic_str_given(relationship->caveat_context) ? relationship->caveat_context : LIC_STR(""));
    return out;
}

/* SpiceDB's records may have caveats whose names its texts can not have. */
static bool has_readable_names(const licet_relationship *relationship)
{
    return !lic_str_given(relationship->caveat_name) || lic_is_type_name(relationship->caveat_name);
}

static void print_and_read(const licet_relationship *relationship)
{
    licet_relationship again = LICET_RELATIONSHIP_INIT;
    licet_status       status;
    licet_buffer       printed = format(relationship, &status);
    licet_buffer       reprinted;

    must(status == LICET_OK);
    if (has_readable_names(relationship)) {
        must(licet_relationship_parse(str_of(&printed), &again, NULL) == LICET_OK);
        must(same_relationship(relationship, &again));
        reprinted = format(&again, &status);
        must(status == LICET_OK && lic_str_equal(str_of(&printed), str_of(&reprinted)));
        licet_buffer_clear(&reprinted);
    }
    licet_buffer_clear(&printed);
}

static void format_with_little_memory(const licet_relationship *relationship, lic_str input)
{
    lic_memory   memory;
    lic_text     text;
    licet_status status;

    lic_memory_init(&memory, NULL, little_memory(input) / 8);
    lic_text_init(&text, &memory);
    status = lic_relationship_print(relationship, &text, NULL);
    must(status == LICET_OK || status == LICET_OUT_OF_MEMORY);
    lic_text_free(&text);
    must(memory.used == 0);
}

/* ------------------------------------------------------------------- keeping */

static bool read_attribute(lic_memory *memory, const licet_relationship *relationship, bool strict)
{
    lic_attribute attribute;
    licet_error  *error = NULL;
    lic_arena     arena;
    bool          taken;

    lic_arena_init(&arena, memory);
    taken = lic_attribute_read(&arena, "update 1", relationship, strict, &attribute, &error) == LICET_OK;
    must(taken == (error == NULL));
    if (taken)
        must(lic_attribute_given(&attribute) == lic_str_given(relationship->expiration));
    else
        must_explain(error, relationship->caveat_context);
    lic_attribute_end(&attribute);
    lic_arena_free(&arena);
    return taken;
}

/* What a store would keep of it. */
static void keep(const licet_relationship *relationship)
{
    lic_memory memory;
    bool       lax;

    lic_memory_init(&memory, NULL, SIZE_MAX);
    lax = read_attribute(&memory, relationship, false);
    if (read_attribute(&memory, relationship, true))
        must(lax);
    must(memory.used == 0);
}

/* --------------------------------------------------------------------- inputs */

/* lax: NULL when it is refused. */
static void try_strictly(lic_str text, const licet_relationship *lax)
{
    licet_relationship strict = LICET_RELATIONSHIP_INIT;
    licet_error       *error  = NULL;

    if (licet_relationship_parse_strict(text, &strict, &error) == LICET_OK) {
        must(lax != NULL && same_relationship(lax, &strict));
        return;
    }
    if (lax != NULL) /* a key twice, and nothing else */
        must(licet_error_kind(error) == LICET_KIND_VALUE && lic_str_given(lax->caveat_context));
    must_explain(error, text);
}

static void try_text(lic_str text)
{
    licet_relationship relationship = LICET_RELATIONSHIP_INIT;
    licet_error       *error        = NULL;

    if (licet_relationship_parse(text, &relationship, &error) != LICET_OK) {
        must_explain(error, text);
        must(!lic_str_given(relationship.resource_type) && !lic_str_given(relationship.subject_id));
        try_strictly(text, NULL);
        return;
    }
    must(error == NULL);
    try_strictly(text, &relationship);
    must(lic_relationship_check("r", &relationship, NULL) == LICET_OK ||
         (lic_str_equal(relationship.subject_id, LIC_STR("*")) && lic_str_given(relationship.subject_relation)));
    print_and_read(&relationship);
    format_with_little_memory(&relationship, text);
    keep(&relationship);
}

/* An empty field: not given. */
static lic_str take_field(lic_str *rest)
{
    size_t  end   = lic_str_find(*rest, '\0');
    lic_str field = lic_str_slice(*rest, 0, end);

    *rest = lic_str_slice(*rest, end < rest->size ? end + 1 : end, rest->size);
    return field.size == 0 ? (lic_str){ NULL, 0 } : field;
}

static void try_record(lic_str rest)
{
    licet_relationship record   = LICET_RELATIONSHIP_INIT;
    lic_str *const     fields[] = { &record.resource_type, &record.resource_id,    &record.relation,
                                    &record.subject_type,  &record.subject_id,     &record.subject_relation,
                                    &record.caveat_name,   &record.caveat_context, &record.expiration };
    licet_status       status;
    licet_buffer       printed;

    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        *fields[i] = take_field(&rest);
    printed = format(&record, &status);
    licet_buffer_clear(&printed);
    if (lic_relationship_check("r", &record, NULL) == LICET_OK)
        must((status == LICET_OK) == same_context(record.caveat_context, record.caveat_context));
    if (status != LICET_OK)
        return;
    print_and_read(&record);
    keep(&record);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lic_str text = { (const char *)data, size };

    if (size > 0 && data[0] == 0)
        try_record(lic_str_slice(text, 1, size));
    else
        try_text(text);
    return 0;
}

/* From values back to JSON. They nest no deeper than the reader lets them, so a stack of that height goes through any
 * of them. Equal values become equal texts, whatever the texts were that they come from. */
#include "datastore/context.h"

#include <math.h>
#include <stdlib.h>

#include "caveat/json.h"
#include "caveat/number.h"

/* An object or list that is being printed. */
typedef struct frame {
    const lic_cel_list  *list;    /* NULL: it is an object */
    const lic_cel_entry *entries; /* of an object, sorted */
    size_t               count;
    size_t               next;
} frame;

typedef struct printer {
    lic_arena arena; /* sorted entries */
    lic_text *out;
    frame     frames[LIC_CEL_MAX_JSON_NESTING];
    size_t    depth;
} printer;

/* The fewest digits that read back as the same double; an exponent only where there would be many zeros. */
static void print_number(double number, lic_text *out)
{
    double magnitude = fabs(number);
    bool   plain     = magnitude == 0 || (magnitude >= 1e-6 && magnitude < 1e17);
    char   text[LIC_CEL_DOUBLE_SIZE];
    size_t size = plain ? lic_cel_double_print_plain(number, text) : lic_cel_double_print(number, text);

    lic_text_add(out, (lic_str){ text, size });
}

static int compare_entries(const void *a, const void *b)
{
    return lic_str_compare(((const lic_cel_entry *)a)->key.text, ((const lic_cel_entry *)b)->key.text);
}

/* false: out of memory. */
static bool open_object(printer *p, const lic_cel_entry *entries, size_t count, bool sorted)
{
    lic_cel_entry *copy = NULL;

    if (!sorted && count > 1) {
        copy = lic_arena_alloc(&p->arena, count * sizeof *copy); /* of what is in memory already: no overflow */
        if (copy == NULL)
            return false;
        memcpy(copy, entries, count * sizeof *copy);
        qsort(copy, count, sizeof *copy, compare_entries);
    }
    lic_text_add_char(p->out, '{');
    p->frames[p->depth++] = (frame){ NULL, copy == NULL ? entries : copy, count, 0 };
    return true;
}

static bool print_value(printer *p, const lic_cel_value *value)
{
    switch (value->kind) {
    case LIC_CEL_BOOL:
        lic_text_add(p->out, value->boolean ? LIC_STR("true") : LIC_STR("false"));
        break;
    case LIC_CEL_DOUBLE:
        print_number(value->number, p->out);
        break;
    case LIC_CEL_STRING:
        lic_text_add_json(p->out, value->text);
        break;
    case LIC_CEL_LIST:
        lic_text_add_char(p->out, '[');
        p->frames[p->depth++] = (frame){ value->list, NULL, value->list->count, 0 };
        break;
    case LIC_CEL_MAP:
        return open_object(p, value->map->entries, value->map->count, false);
    default:
        lic_text_add_literal(p->out, "null");
    }
    return true;
}

/* The next item of the innermost object or list, or its end. */
static bool print_next(printer *p)
{
    frame *top = &p->frames[p->depth - 1];
    size_t i   = top->next++;

    if (i == top->count) {
        lic_text_add_char(p->out, top->list != NULL ? ']' : '}');
        p->depth--;
        return true;
    }
    if (i > 0)
        lic_text_add_char(p->out, ',');
    if (top->list != NULL)
        return print_value(p, &top->list->items[i]);
    lic_text_add_json(p->out, top->entries[i].key.text);
    lic_text_add_char(p->out, ':');
    return print_value(p, &top->entries[i].value);
}

bool lic_context_print_values(const lic_context_values *values, lic_text *out)
{
    printer p = { .out = out };
    bool    good;

    if (values->count == 0)
        return true;
    lic_arena_init(&p.arena, out->memory);
    good = open_object(&p, values->entries, values->count, true);
    while (good && p.depth > 0)
        good = print_next(&p);
    lic_arena_free(&p.arena);
    return good && !out->failed;
}

licet_status lic_context_check(lic_str text, bool strict, licet_error **error)
{
    lic_context_values values;
    lic_memory         memory;
    lic_arena          arena;
    licet_status       status;

    lic_memory_init(&memory, &(licet_allocator){ NULL, NULL, NULL, NULL }, SIZE_MAX);
    lic_arena_init(&arena, &memory);
    status = lic_context_read(&arena, text, strict, &values, NULL, error);
    lic_arena_free(&arena);
    return status;
}

licet_status lic_context_print(lic_str text, lic_text *out, licet_error **error)
{
    lic_context_values values;
    lic_arena          arena;
    licet_status       status;

    lic_arena_init(&arena, out->memory);
    status = lic_context_read(&arena, text, false, &values, NULL, error);
    if (status == LICET_OK && !lic_context_print_values(&values, out))
        status = lic_fail_memory(error);
    lic_arena_free(&arena);
    return status;
}

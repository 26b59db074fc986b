#include "cel_outcome.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "caveat/convert.h"
#include "caveat/functions.h"
#include "caveat/json.h"

#define MOST_TYPES 64

/* Parameters that are being read: "a int, b list<any>". */
typedef struct declared {
    lic_caveat_type   types[MOST_TYPES];
    size_t            type_count;
    lic_cel_parameter parameters[LIC_CEL_MAX_PARAMETERS];
    size_t            count;
} declared;

static const lic_caveat_type *read_type(declared *d, const char **text)
{
    size_t           size = strcspn(*text, "<>, ");
    lic_caveat_type *type = &d->types[d->type_count++];
    size_t           arguments;

    assert_true(d->type_count < MOST_TYPES);
    *type = (lic_caveat_type){ 0 };
    assert_true(lic_caveat_type_find((lic_str){ *text, size }, &type->kind, &arguments));
    *text += size;
    if (**text == '<') {
        ++*text;
        type->argument = read_type(d, text);
        assert_int_equal(*(*text)++, '>');
    }
    return type;
}

static void read_parameters(declared *d, const char *text)
{
    while (*text != '\0') {
        lic_cel_parameter *p = &d->parameters[d->count++];

        p->name = (lic_str){ text, strcspn(text, " ") };
        text += p->name.size + 1;
        p->type = read_type(d, &text);
        text += strspn(text, ", ");
    }
}

static void print_value(lic_cel_run *run, lic_text *out, const lic_cel_value *value);

static void print_list(lic_cel_run *run, lic_text *out, const lic_cel_list *list)
{
    lic_text_add_char(out, '[');
    for (size_t i = 0; i < list->count; i++) {
        if (i > 0)
            lic_text_add_literal(out, ", ");
        print_value(run, out, &list->items[i]);
    }
    lic_text_add_char(out, ']');
}

static void print_map(lic_cel_run *run, lic_text *out, const lic_cel_map *map)
{
    lic_text_add_char(out, '{');
    for (size_t i = 0; i < map->count; i++) {
        if (i > 0)
            lic_text_add_literal(out, ", ");
        print_value(run, out, &map->entries[i].key);
        lic_text_add_literal(out, ": ");
        print_value(run, out, &map->entries[i].value);
    }
    lic_text_add_char(out, '}');
}

/* As string() would have it, made to look like a literal. */
static void print_scalar(lic_cel_run *run, lic_text *out, const lic_cel_value *value)
{
    lic_cel_value text;

    assert_true(lic_cel_convert(run, LIC_CEL_FN_TO_STRING, value, &text));
    lic_text_add(out, text.text);
    if (value->kind == LIC_CEL_UINT)
        lic_text_add_char(out, 'u');
    if (value->kind == LIC_CEL_DOUBLE && lic_str_find(text.text, '.') == text.text.size &&
        lic_str_find(text.text, 'e') == text.text.size)
        lic_text_add_literal(out, ".0");
}

static void print_value(lic_cel_run *run, lic_text *out, const lic_cel_value *value)
{
    switch (value->kind) {
    case LIC_CEL_NULL:
        lic_text_add_literal(out, "null");
        return;
    case LIC_CEL_BYTES:
    case LIC_CEL_STRING:
        lic_text_add_char(out, value->kind == LIC_CEL_BYTES ? 'b' : '"');
        if (value->kind == LIC_CEL_BYTES)
            lic_text_add_char(out, '"');
        lic_text_add(out, value->text);
        lic_text_add_char(out, '"');
        return;
    case LIC_CEL_TYPE:
        lic_text_add(out, value->text);
        return;
    case LIC_CEL_LIST:
        print_list(run, out, value->list);
        return;
    case LIC_CEL_MAP:
        print_map(run, out, value->map);
        return;
    case LIC_CEL_OPTIONAL:
        lic_text_add(out, value->optional == NULL ? LIC_STR("none") : LIC_STR("some "));
        if (value->optional != NULL)
            print_value(run, out, value->optional);
        return;
    case LIC_CEL_IPADDRESS:
        lic_text_add_literal(out, "an address");
        return;
    default:
        print_scalar(run, out, value);
        return;
    }
}

static void print_outcome(const declared *d, const lic_cel_value *value, lic_text *out)
{
    lic_cel_budget budget = { 100000, 1 << 20 };
    lic_memory     memory; /* apart from the one that may fail */
    lic_arena      arena;
    lic_cel_run    run = { .arena = &arena, .budget = &budget };

    lic_memory_init(&memory, NULL, SIZE_MAX);
    lic_arena_init(&arena, &memory);
    if (value->kind == LIC_CEL_ERROR) {
        lic_text_add_literal(out, "error: ");
        lic_text_add(out, (lic_str){ value->error, strlen(value->error) });
    } else if (value->kind == LIC_CEL_UNKNOWN) {
        lic_text_add_literal(out, "missing:");
        for (size_t i = 0; i < d->count; i++) {
            if ((value->unknown >> i & 1) != 0) {
                lic_text_add_char(out, ' ');
                lic_text_add(out, d->parameters[i].name);
            }
        }
    } else {
        print_value(&run, out, value);
    }
    lic_arena_free(&arena);
}

static bool bind(lic_arena *arena, const cel_question *q, const declared *d, lic_cel_value *values, licet_error **error)
{
    lic_cel_value object;

    for (size_t i = 0; i < d->count; i++)
        values[i] = (lic_cel_value){ .kind = LIC_CEL_UNKNOWN };
    if (q->context == NULL)
        return true;
    if (lic_cel_json_read(arena, (lic_str){ q->context, strlen(q->context) }, q->strict, &object, error) != LICET_OK)
        return false;
    for (size_t i = 0; i < d->count; i++) {
        for (size_t k = 0; k < object.map->count; k++) {
            if (lic_str_equal(object.map->entries[k].key.text, d->parameters[i].name) &&
                lic_cel_convert_parameter(arena, d->parameters[i].name, d->parameters[i].type,
                                          &object.map->entries[k].value, q->strict, &values[i], error) != LICET_OK)
                return false;
        }
    }
    return true;
}

static void add_error(lic_text *out, const char *prefix, const licet_error *error)
{
    if (licet_error_status(error) == LICET_OUT_OF_MEMORY) {
        lic_text_add_literal(out, "out of memory");
        return;
    }
    lic_text_add(out, (lic_str){ prefix, strlen(prefix) });
    lic_text_add(out, licet_error_message(error));
}

static void answer(lic_memory *memory, lic_arena *arena, const cel_question *q, lic_text *out)
{
    declared       d                              = { .count = 0 };
    lic_cel_value  values[LIC_CEL_MAX_PARAMETERS] = { { .kind = LIC_CEL_NULL } };
    lic_cel_source source = { .text = { q->expression, strlen(q->expression) }, .parameters = d.parameters };
    lic_cel_budget budget = q->budget;
    lic_cel       *cel    = NULL;
    licet_error   *error  = NULL;
    const char    *limit  = NULL;
    lic_cel_value  result;

    read_parameters(&d, q->parameters);
    source.parameter_count = d.count;
    if (budget.steps == 0)
        budget = (lic_cel_budget){ 100000, 1 << 20 };
    if (lic_cel_compile(memory, &source, &cel, NULL, &error) != LICET_OK) {
        add_error(out, "refused: ", error);
    } else if (!bind(arena, q, &d, values, &error)) {
        add_error(out, "context: ", error);
    } else if (lic_cel_evaluate(cel, values, arena, &budget, &result, &limit)) {
        print_outcome(&d, &result, out);
    } else if (limit == NULL) {
        lic_text_add_literal(out, "out of memory");
    } else {
        lic_text_add_literal(out, "limit: ");
        lic_text_add(out, (lic_str){ limit, strlen(limit) });
    }
    lic_cel_free(cel);
    licet_error_free(error);
}

void cel_ask(lic_memory *memory, const cel_question *question, char out[CEL_OUTCOME_SIZE])
{
    lic_memory plain;
    lic_arena  arena;
    lic_text   text;
    size_t     size;

    lic_memory_init(&plain, NULL, SIZE_MAX);
    lic_arena_init(&arena, memory);
    lic_text_init(&text, &plain);
    answer(memory, &arena, question, &text);
    size = text.size < CEL_OUTCOME_SIZE - 1 ? text.size : CEL_OUTCOME_SIZE - 1;
    if (size > 0)
        memcpy(out, text.data, size);
    out[size] = '\0';
    lic_text_free(&text);
    lic_arena_free(&arena);
}

static void assert_asked(const cel_question *q, const char *expected)
{
    char       out[CEL_OUTCOME_SIZE];
    size_t     size = strlen(expected);
    lic_memory memory;

    lic_memory_init(&memory, NULL, SIZE_MAX);
    cel_ask(&memory, q, out);
    assert_int_equal(memory.used, 0);
    if (size > 3 && strcmp(expected + size - 3, "...") == 0 && strncmp(out, expected, size - 3) == 0)
        return;
    if (strcmp(out, expected) != 0)
        print_error("(%s) %s with %.200s\n", q->parameters, q->expression, q->context == NULL ? "nothing" : q->context);
    assert_string_equal(out, expected);
}

void assert_cel(const char *parameters, const char *expression, const char *context, const char *expected)
{
    cel_question q = { .parameters = parameters, .expression = expression, .context = context };

    assert_asked(&q, expected);
}

void assert_cel_strict(const char *parameters, const char *expression, const char *context, const char *expected)
{
    cel_question q = { .parameters = parameters, .expression = expression, .context = context, .strict = true };

    assert_asked(&q, expected);
}

void assert_cel_cases(const cel_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_cel(cases[i].parameters, cases[i].expression, cases[i].context, cases[i].expected);
}

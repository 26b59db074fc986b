/* CEL's own conformance cases (caveats.md 13), compiled and evaluated by the C evaluator. Each file is one test; a table
 * at the end says how many cases held, and why others were left out. Those too are compiled, and evaluated where they
 * compile: they may be refused, and never do harm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "caveat/cel.h"
#include "shared.h"

#define MOST_VARIABLES 8
#define MOST_SPELLING 64 /* bytes of a type */

/* Name in the table: why a case does not apply. */
#define REASON_LIST(X)                                             \
    X(APPLIES, "holds")                                            \
    X(EXTENSION, "a library that SpiceDB does not enable")         \
    X(UNCHECKED, "meant to run without the type checker")          \
    X(CONTAINER, "needs a container")                              \
    X(ENVIRONMENT, "declares messages, functions or dotted names") \
    X(BACKTICKS, "names in backticks")                             \
    X(LATER, "a macro or function of later versions")              \
    X(DIFFERENCE, "SpiceDB answers otherwise")

typedef enum reason {
#define REASON_ENUM(name, text) REASON_##name,
    REASON_LIST(REASON_ENUM)
#undef REASON_ENUM
        REASON_COUNT
} reason;

static const char *const reason_texts[] = {
#define REASON_TEXT(name, text) text,
    REASON_LIST(REASON_TEXT)
#undef REASON_TEXT
};

/* Rows of the table: file, counts. */
typedef struct row {
    const char *file;
    size_t      counts[REASON_COUNT];
    size_t      refused; /* of those that don't apply */
} row;

static row    rows[64];
static size_t row_count;

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text == NULL ? "" : text;
}

/* ------------------------------------------------------------ which cases apply */

static bool is_extension(const char *file)
{
    size_t size = strlen(file);

    return strcmp(file, "macros2") == 0 || (size > 4 && strcmp(file + size - 4, "_ext") == 0);
}

/* caveats.md 13, known differences. */
static bool is_difference(const json_t *test)
{
    static const struct {
        const char *file;
        const char *name;
    } differences[] = {
        { "fields", "map_value_repeat_key" },
        { "fields", "map_value_repeat_key_heterogeneous" },
        { "optionals", "map_null_entry_no_such_key" },
        { "optionals", "map_present_key_invalid_field" },
    };

    for (size_t i = 0; i < sizeof differences / sizeof differences[0]; i++) {
        if (strcmp(text_of(test, "file"), differences[i].file) == 0 &&
            strcmp(text_of(test, "name"), differences[i].name) == 0)
            return true;
    }
    return false;
}

/* Does the expression, its text literals left out, contain it? */
static bool code_contains(const char *expression, const char *part)
{
    char   quote = 0;
    size_t size  = strlen(part);

    for (const char *c = expression; *c != '\0'; c++) {
        if (quote == 0 && strncmp(c, part, size) == 0)
            return true;
        if (quote != 0 && *c == '\\' && c[1] != '\0')
            c++;
        else if (quote == 0 ? *c == '"' || *c == '\'' : *c == quote)
            quote = quote == 0 ? *c : 0;
    }
    return false;
}

static bool environment_is_plain(const json_t *test)
{
    const char *name;
    json_t     *type;

    json_object_foreach(json_object_get(test, "type_env"), name, type)
    {
        const char *spelling = json_string_value(type);

        if (strchr(name, '.') != NULL || strchr(spelling, '.') != NULL || strcmp(spelling, "function") == 0)
            return false;
    }
    return true;
}

static bool uses_later(const char *expression)
{
    static const char *const later[] = { "optFlatMap", ".first()",      ".last()",     "unwrap",
                                         "existsOne",  "transformList", "transformMap" };

    for (size_t i = 0; i < sizeof later / sizeof later[0]; i++) {
        if (code_contains(expression, later[i]))
            return true;
    }
    return false;
}

static reason reason_of(const json_t *test)
{
    const char *expression = text_of(test, "expr");

    if (is_extension(text_of(test, "file")))
        return REASON_EXTENSION;
    if (json_is_true(json_object_get(test, "disable_check")))
        return REASON_UNCHECKED;
    if (*text_of(test, "container") != '\0')
        return REASON_CONTAINER;
    if (!environment_is_plain(test))
        return REASON_ENVIRONMENT;
    if (code_contains(expression, "`"))
        return REASON_BACKTICKS;
    if (uses_later(expression))
        return REASON_LATER;
    return is_difference(test) ? REASON_DIFFERENCE : REASON_APPLIES;
}

/* ---------------------------------------------------------------------- values */

static lic_cel_value value_from(lic_arena *arena, const json_t *json);

static lic_cel_value list_from(lic_arena *arena, const json_t *json)
{
    lic_cel_list  *list  = lic_new(arena, lic_cel_list);
    lic_cel_value *items = lic_new_array(arena, json_array_size(json), lic_cel_value);

    for (size_t i = 0; i < json_array_size(json); i++)
        items[i] = value_from(arena, json_array_get(json, i));
    *list = (lic_cel_list){ items, json_array_size(json) };
    return (lic_cel_value){ .kind = LIC_CEL_LIST, .list = list };
}

static lic_cel_value map_from(lic_arena *arena, const json_t *json)
{
    lic_cel_map   *map     = lic_new(arena, lic_cel_map);
    lic_cel_entry *entries = lic_new_array(arena, json_array_size(json), lic_cel_entry);

    for (size_t i = 0; i < json_array_size(json); i++) {
        const json_t *pair = json_array_get(json, i);

        entries[i].key   = value_from(arena, json_array_get(pair, 0));
        entries[i].value = value_from(arena, json_array_get(pair, 1));
    }
    *map = (lic_cel_map){ .entries = entries, .count = json_array_size(json), .given = true };
    return (lic_cel_value){ .kind = LIC_CEL_MAP, .map = map };
}

static lic_cel_value bytes_from(lic_arena *arena, const char *hex)
{
    size_t size  = strlen(hex) / 2;
    char  *bytes = lic_arena_alloc(arena, size);

    for (size_t i = 0; i < size; i++) {
        unsigned byte;

        assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
        bytes[i] = (char)byte;
    }
    return (lic_cel_value){ .kind = LIC_CEL_BYTES, .text = { bytes, size } };
}

static double double_from(const json_t *json)
{
    if (!json_is_string(json))
        return json_number_value(json);
    if (strcmp(json_string_value(json), "NaN") == 0)
        return (double)NAN;
    return *json_string_value(json) == '-' ? -(double)INFINITY : (double)INFINITY;
}

static lic_cel_value value_from(lic_arena *arena, const json_t *json)
{
    const char *kind = json_object_iter_key(json_object_iter((json_t *)json));
    json_t     *item = json_object_get(json, kind);
    lic_str     text = { json_string_value(item), json_string_length(item) };

    if (strcmp(kind, "null") == 0)
        return (lic_cel_value){ .kind = LIC_CEL_NULL };
    if (strcmp(kind, "bool") == 0)
        return (lic_cel_value){ .kind = LIC_CEL_BOOL, .boolean = json_is_true(item) };
    if (strcmp(kind, "int64") == 0)
        return (lic_cel_value){ .kind = LIC_CEL_INT, .integer = strtoll(text.data, NULL, 10) };
    if (strcmp(kind, "uint64") == 0)
        return (lic_cel_value){ .kind = LIC_CEL_UINT, .uinteger = strtoull(text.data, NULL, 10) };
    if (strcmp(kind, "double") == 0)
        return (lic_cel_value){ .kind = LIC_CEL_DOUBLE, .number = double_from(item) };
    if (strcmp(kind, "string") == 0)
        return (lic_cel_value){ .kind = LIC_CEL_STRING, .text = text };
    if (strcmp(kind, "type") == 0)
        return (lic_cel_value){ .kind = LIC_CEL_TYPE, .text = text };
    if (strcmp(kind, "bytes_hex") == 0)
        return bytes_from(arena, text.data);
    if (strcmp(kind, "list") == 0)
        return list_from(arena, item);
    assert_string_equal(kind, "map");
    return map_from(arena, item);
}

static bool same_maps(const lic_cel_map *a, const lic_cel_map *b);

/* Exactly: the same kind, bit for bit. */
static bool same_values(const lic_cel_value *a, const lic_cel_value *b)
{
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case LIC_CEL_NULL:
        return true;
    case LIC_CEL_BOOL:
        return a->boolean == b->boolean;
    case LIC_CEL_INT:
        return a->integer == b->integer;
    case LIC_CEL_UINT:
        return a->uinteger == b->uinteger;
    case LIC_CEL_DOUBLE:
        return a->number == b->number || (isnan(a->number) && isnan(b->number));
    case LIC_CEL_STRING:
    case LIC_CEL_BYTES:
    case LIC_CEL_TYPE:
        return lic_str_equal(a->text, b->text);
    case LIC_CEL_LIST:
        for (size_t i = 0; i < a->list->count && i < b->list->count; i++) {
            if (!same_values(&a->list->items[i], &b->list->items[i]))
                return false;
        }
        return a->list->count == b->list->count;
    case LIC_CEL_MAP:
        return same_maps(a->map, b->map);
    default:
        return false;
    }
}

/* In any order. */
static bool same_maps(const lic_cel_map *a, const lic_cel_map *b)
{
    for (size_t i = 0; i < a->count; i++) {
        bool found = false;

        for (size_t j = 0; j < b->count && !found; j++)
            found = same_values(&a->entries[i].key, &b->entries[j].key) &&
                    same_values(&a->entries[i].value, &b->entries[j].value);
        if (!found)
            return false;
    }
    return a->count == b->count;
}

/* --------------------------------------------------------------------- running */

/* The suite says int64 where CEL says int. */
static lic_str spelling_of(const char *type, char out[MOST_SPELLING])
{
    size_t size = 0;

    assert_true(strlen(type) < MOST_SPELLING);
    for (const char *c = type; *c != '\0'; c++) {
        if (strncmp(c, "int64", 5) == 0) {
            memcpy(out + size, "int", 3);
            size += 3;
            c += 4;
        } else {
            out[size++] = *c;
        }
    }
    return (lic_str){ out, size };
}

typedef struct outcome {
    lic_cel      *cel; /* parts of the value may be in it */
    bool          compiled;
    bool          evaluated; /* within the budget */
    lic_cel_value value;
} outcome;

static outcome run(lic_arena *arena, const json_t *test)
{
    lic_cel_parameter parameters[MOST_VARIABLES] = { 0 };
    char              spellings[MOST_VARIABLES][MOST_SPELLING];
    lic_cel_value     values[MOST_VARIABLES];
    lic_cel_source    source   = { .parameters = parameters };
    lic_cel_budget    budget   = { 100000, 1 << 20 };
    json_t           *bindings = json_object_get(test, "bindings");
    outcome           o        = { 0 };
    const char       *limit;
    const char       *name;
    json_t           *type;

    source.text = (lic_str){ text_of(test, "expr"), json_string_length(json_object_get(test, "expr")) };
    json_object_foreach(json_object_get(test, "type_env"), name, type)
    {
        size_t  i     = source.parameter_count++;
        json_t *bound = json_object_get(bindings, name);

        assert_true(i < MOST_VARIABLES);
        parameters[i].name     = (lic_str){ name, strlen(name) };
        parameters[i].spelling = spelling_of(json_string_value(type), spellings[i]);
        values[i]              = bound == NULL ? (lic_cel_value){ .kind = LIC_CEL_UNKNOWN } : value_from(arena, bound);
    }
    o.compiled = lic_cel_compile(arena->memory, &source, &o.cel, NULL, NULL) == LICET_OK;
    if (o.compiled)
        o.evaluated = lic_cel_evaluate(o.cel, values, arena, &budget, &o.value, &limit);
    return o;
}

static bool holds(lic_arena *arena, const json_t *test, const outcome *o)
{
    lic_cel_value expected;

    if (json_is_true(json_object_get(test, "error")))
        return !o->compiled || (o->evaluated && o->value.kind == LIC_CEL_ERROR);
    if (json_is_true(json_object_get(test, "check_only")))
        return o->compiled;
    if (!o->compiled || !o->evaluated)
        return false;
    expected = value_from(arena, json_object_get(test, "value"));
    return same_values(&expected, &o->value);
}

/* What a value that should not be is: for the message. */
static const char *told(const outcome *o)
{
    if (!o->compiled)
        return "is refused";
    if (!o->evaluated)
        return "uses up the budget";
    return o->value.kind == LIC_CEL_ERROR ? o->value.error : "has another value";
}

static size_t run_line(lic_memory *memory, const char *line, size_t size, row *r)
{
    json_t   *test = json_loadb(line, size, JSON_ALLOW_NUL, NULL);
    lic_arena arena;
    outcome   o;
    reason    why;
    size_t    failures = 0;

    assert_non_null(test);
    lic_arena_init(&arena, memory);
    why = reason_of(test);
    o   = run(&arena, test);
    r->counts[why]++;
    if (why != REASON_APPLIES) {
        r->refused += !o.compiled;
    } else if (!holds(&arena, test, &o)) {
        print_error("%s/%s/%s: %s: %s\n", text_of(test, "file"), text_of(test, "section"), text_of(test, "name"),
                    text_of(test, "expr"), told(&o));
        failures = 1;
    }
    lic_cel_free(o.cel);
    lic_arena_free(&arena);
    json_decref(test);
    return failures;
}

/* *state: the file's name. */
static void a_file_s_cases_hold(void **state)
{
    row        *r = &rows[row_count++];
    char        path[SHARED_PATH];
    char        relative[SHARED_PATH];
    size_t      failures = 0;
    lic_memory  memory;
    licet_str   text;
    const char *line;

    r->file = *state;
    snprintf(relative, sizeof relative, "conformance/cel/%s", r->file);
    path_in_shared(path, relative);
    text = file_text(path);
    assert_non_null(text.data);
    lic_memory_init(&memory, NULL, SIZE_MAX);
    line = text.data;
    while (line < text.data + text.size) {
        const char *end = memchr(line, '\n', (size_t)(text.data + text.size - line));

        if (end == NULL)
            end = text.data + text.size;
        failures += run_line(&memory, line, (size_t)(end - line), r);
        line = end + 1;
    }
    free((char *)text.data);
    assert_int_equal(memory.used, 0);
    assert_int_equal(failures, 0);
}

/* The counts are those of the shared files: a case that silently stopped to apply would change them. */
static void every_case_was_counted(void **state)
{
    size_t sums[REASON_COUNT] = { 0 };
    size_t total              = 0;

    (void)state;
    print_message("%-24s %7s %9s %8s\n", "file", "apply", "left out", "refused");
    for (size_t i = 0; i < row_count; i++) {
        size_t left_out = 0;

        for (size_t why = 0; why < REASON_COUNT; why++) {
            left_out += why == REASON_APPLIES ? 0 : rows[i].counts[why];
            sums[why] += rows[i].counts[why];
            total += rows[i].counts[why];
        }
        print_message("%-24s %7zu %9zu %8zu\n", rows[i].file, rows[i].counts[REASON_APPLIES], left_out,
                      rows[i].refused);
    }
    for (size_t i = 0; i < row_count; i++) {
        for (size_t why = 1; why < REASON_COUNT; why++) {
            if (rows[i].counts[why] > 0)
                print_message("%-24s %7zu left out: %s\n", rows[i].file, rows[i].counts[why], reason_texts[why]);
        }
    }
    print_message("%zu cases, of which %zu apply\n", total, sums[REASON_APPLIES]);
    assert_int_equal(total, 1282);
}

static void there_are_no_shared_files(void **state)
{
    (void)state;
    print_message("no shared data: set LICET_SHARED to their folder\n");
    skip();
}

int main(void)
{
    struct CMUnitTest tests[64] = { { "there_are_no_shared_files", there_are_no_shared_files, NULL, NULL, NULL } };
    char              folder[SHARED_PATH];
    file_list         files;
    size_t            count;
    int               failed;

    path_in_shared(folder, "conformance/cel");
    files = files_in(folder, ".jsonl");
    count = files.count;
    for (size_t i = 0; i < count && i < 63; i++)
        tests[i] = (struct CMUnitTest){ files.names[i], a_file_s_cases_hold, NULL, NULL, files.names[i] };
    if (count > 0)
        tests[count] = (struct CMUnitTest){ "every_case_was_counted", every_case_was_counted, NULL, NULL, NULL };
    failed = _cmocka_run_group_tests("cel", tests, count + 1, NULL, NULL);
    file_list_free(&files);
    return failed;
}

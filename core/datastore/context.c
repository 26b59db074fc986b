/* JSON through jansson. Its parser recurses as deep as the text nests, so nesting is counted before it sees the text;
 * its allocator is the process's, which is not ours to set. */
#include "datastore/context.h"

#include <jansson.h>

/* The deepest nesting of braces and brackets outside strings. */
static size_t nesting_of(lic_str text)
{
    size_t depth     = 0;
    size_t deepest   = 0;
    bool   in_string = false;

    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];

        if (in_string && c == '\\')
            i++;
        else if (c == '"')
            in_string = !in_string;
        else if (!in_string && (c == '{' || c == '['))
            deepest = ++depth > deepest ? depth : deepest;
        else if (!in_string && (c == '}' || c == ']') && depth > 0)
            depth--;
    }
    return deepest;
}

/* One object or list that is being walked. */
typedef struct frame {
    json_t *value;
    void   *member; /* of an object: the next one */
    size_t  index;  /* of a list: the next one */
} frame;

/* The next value inside, or NULL. */
static json_t *frame_next(frame *f)
{
    json_t *value = NULL;

    if (json_is_array(f->value)) {
        value = json_array_get(f->value, f->index++); /* past the end: NULL */
    } else if (f->member != NULL) {
        value     = json_object_iter_value(f->member);
        f->member = json_object_iter_next(f->value, f->member);
    }
    return value;
}

/* Does every object keep to LIC_MAX_JSON_KEYS? The value nests no deeper than the stack is high. */
static bool keys_within_limit(json_t *root)
{
    frame   stack[LIC_MAX_JSON_NESTING];
    size_t  height = 0;
    json_t *value  = root;

    do {
        if (json_is_object(value) && json_object_size(value) > LIC_MAX_JSON_KEYS)
            return false;
        if (json_is_object(value) || json_is_array(value))
            stack[height++] = (frame){ value, json_object_iter(value), 0 };
        while (height > 0 && (value = frame_next(&stack[height - 1])) == NULL)
            height--;
    } while (height > 0);
    return true;
}

/* NUL is refused by jansson unless it is told otherwise. Integers stay integers where they fit, so that they print as
 * they were written; what does not fit becomes a double. */
static json_t *load(lic_str text, bool integers_as_doubles, json_error_t *problem)
{
    return json_loadb(text.data, text.size, integers_as_doubles ? JSON_DECODE_INT_AS_REAL : 0, problem);
}

static licet_status parse(lic_str text, bool *doubles, json_t **value, licet_error **error)
{
    json_error_t problem = { .position = 0 };

    *value = NULL;
    if (nesting_of(text) > LIC_MAX_JSON_NESTING)
        return lic_fail(error, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, LIC_NOWHERE,
                        "the caveat context nests deeper than %d levels", LIC_MAX_JSON_NESTING);
    *doubles = false;
    *value   = load(text, false, &problem);
    if (*value == NULL && json_error_code(&problem) == json_error_numeric_overflow) {
        *doubles = true;
        *value   = load(text, true, &problem);
    }
    /* Nothing but memory fails without a reason. */
    if (*value == NULL && (json_error_code(&problem) == json_error_out_of_memory || problem.text[0] == '\0'))
        return lic_fail_memory(error);
    if (*value == NULL || !json_is_object(*value)) {
        json_decref(*value);
        *value = NULL;
        return lic_fail(error, LICET_INVALID_ARGUMENT, LICET_KIND_SYNTAX, LIC_NOWHERE,
                        "the caveat context is not a JSON object: %Q", &text);
    }
    if (keys_within_limit(*value))
        return LICET_OK;
    json_decref(*value);
    *value = NULL;
    return lic_fail(error, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, LIC_NOWHERE,
                    "an object in the caveat context has more than %d keys", LIC_MAX_JSON_KEYS);
}

licet_status lic_context_check(lic_str text, licet_error **error)
{
    json_t      *value;
    bool         doubles = false;
    licet_status status  = parse(text, &doubles, &value, error);

    json_decref(value);
    return status;
}

static int append(const char *data, size_t size, void *out)
{
    lic_text_add(out, (lic_str){ data, size });
    return ((lic_text *)out)->failed ? -1 : 0;
}

/* Appends with the fewest digits, from 15 to 17, that read back as the same doubles. */
static bool print_value(json_t *value, bool doubles, lic_text *out)
{
    size_t start = out->size;

    for (size_t digits = 15; digits <= 17; digits++) {
        json_error_t problem;
        json_t      *copy;
        bool         same;

        out->size = start;
        if (json_dump_callback(value, append, out, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(digits)) != 0)
            return false;
        copy = load((lic_str){ out->data + start, out->size - start }, doubles, &problem);
        same = copy != NULL && json_equal(value, copy) != 0;
        json_decref(copy);
        if (same || copy == NULL)
            return same;
    }
    return true;
}

licet_status lic_context_print(lic_str text, lic_text *out, licet_error **error)
{
    json_t      *value;
    bool         doubles = false;
    licet_status status  = parse(text, &doubles, &value, error);

    if (status == LICET_OK && json_object_size(value) > 0 && !print_value(value, doubles, out))
        status = lic_fail_memory(error);
    json_decref(value);
    return status;
}

#include "hostile_value.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void hostile_need(bool holds)
{
    if (!holds) {
        fputs("hostile inputs: not as their README says, or out of memory\n", stderr);
        abort();
    }
}

static void reserve(hostile_text *out, size_t size)
{
    if (out->size + size + 1 > out->capacity) {
        out->capacity = (out->size + size + 1) * 2;
        out->data     = realloc(out->data, out->capacity);
        hostile_need(out->data != NULL);
    }
}

static void append(hostile_text *out, const char *data, size_t size)
{
    reserve(out, size);
    memcpy(out->data + out->size, data, size);
    out->size += size;
}

/* Doubles what is there already: millions of single letters are a few copies. */
static void append_repeated(hostile_text *out, const char *data, size_t size, size_t times)
{
    size_t first = out->size, whole = size * times;

    reserve(out, whole);
    if (whole > 0)
        append(out, data, size);
    for (size_t done = size, more; done < whole; done += more) {
        more = done < whole - done ? done : whole - done;
        memcpy(out->data + first + done, out->data + first, more);
    }
    out->size = first + whole;
}

static void append_string(hostile_text *out, const json_t *string)
{
    hostile_need(json_is_string(string));
    append(out, json_string_value(string), json_string_length(string));
}

static void append_hex(hostile_text *out, const char *digits)
{
    for (unsigned byte; sscanf(digits, "%2x", &byte) == 1; digits += 2) {
        char c = (char)byte;

        append(out, &c, 1);
    }
}

static void append_number(hostile_text *out, json_int_t number)
{
    char digits[32];

    append(out, digits, (size_t)snprintf(digits, sizeof digits, "%lld", (long long)number));
}

/* One line of a sequence: {i} and {i+1} replaced. */
static void append_form(hostile_text *out, const char *form, json_int_t i)
{
    while (*form != '\0') {
        size_t plain = strcspn(form, "{");

        append(out, form, plain);
        form += plain;
        if (strncmp(form, "{i}", 3) == 0) {
            append_number(out, i);
            form += 3;
        } else if (strncmp(form, "{i+1}", 5) == 0) {
            append_number(out, i + 1);
            form += 5;
        } else if (*form == '{') {
            append(out, form++, 1);
        }
    }
}

static void append_piece(hostile_text *out, const json_t *piece)
{
    const json_t *rep = json_object_get(piece, "rep"), *hex = json_object_get(piece, "hex");
    const json_t *seq = json_object_get(piece, "seq");

    if (json_is_string(piece)) {
        append_string(out, piece);
    } else if (hex != NULL) {
        append_hex(out, json_string_value(hex));
    } else if (rep != NULL) {
        hostile_need(json_is_string(json_array_get(rep, 0)) && json_integer_value(json_array_get(rep, 1)) >= 0);
        append_repeated(out, json_string_value(json_array_get(rep, 0)), json_string_length(json_array_get(rep, 0)),
                        (size_t)json_integer_value(json_array_get(rep, 1)));
    } else {
        json_int_t end = json_integer_value(json_array_get(seq, 2));

        hostile_need(seq != NULL);
        for (json_int_t i = json_integer_value(json_array_get(seq, 1)); i < end; i++)
            append_form(out, json_string_value(json_array_get(seq, 0)), i);
    }
}

void hostile_expand(const json_t *value, hostile_text *out)
{
    const json_t *pieces = json_object_get(value, "cat");

    if (json_is_string(value)) {
        append_string(out, value);
        return;
    }
    hostile_need(json_is_array(pieces));
    for (size_t i = 0; i < json_array_size(pieces); i++)
        append_piece(out, json_array_get(pieces, i));
}

licet_str hostile_value(const json_t *value, hostile_text *out)
{
    *out = (hostile_text){ NULL, 0, 0 };
    if (value == NULL || json_is_null(value))
        return (licet_str){ NULL, 0 };
    append(out, "", 0);
    hostile_expand(value, out);
    return (licet_str){ out->data, out->size };
}

licet_str hostile_object(const json_t *value, hostile_text *out)
{
    const json_t *relation = json_object_get(value, "relation");

    if (json_object_get(value, "type") == NULL)
        return hostile_value(value, out);
    *out = (hostile_text){ NULL, 0, 0 };
    hostile_expand(json_object_get(value, "type"), out);
    append(out, ":", 1);
    hostile_expand(json_object_get(value, "id"), out);
    if (json_string_length(relation) > 0) {
        append(out, "#", 1);
        hostile_expand(relation, out);
    }
    return (licet_str){ out->data, out->size };
}

void hostile_text_clear(hostile_text *out)
{
    free(out->data);
    *out = (hostile_text){ NULL, 0, 0 };
}

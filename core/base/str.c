/* Comparing and cutting views, and the text that grows. */
#include "str.h"

int lic_str_compare(lic_str a, lic_str b)
{
    size_t shorter = a.size < b.size ? a.size : b.size;
    int    order   = shorter == 0 ? 0 : memcmp(a.data, b.data, shorter);

    return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

bool lic_str_starts_with(lic_str s, lic_str prefix)
{
    return s.size >= prefix.size && lic_str_equal((lic_str){ s.data, prefix.size }, prefix);
}

bool lic_str_ends_with(lic_str s, lic_str suffix)
{
    return suffix.size == 0 ||
           (s.size >= suffix.size && lic_str_equal(lic_str_slice(s, s.size - suffix.size, s.size), suffix));
}

size_t lic_str_find(lic_str s, char c)
{
    const char *found = s.size == 0 ? NULL : memchr(s.data, c, s.size);

    return found == NULL ? s.size : (size_t)(found - s.data);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

lic_str lic_str_trim(lic_str s)
{
    size_t from = 0;
    size_t to   = s.size;

    while (to > 0 && is_blank(s.data[to - 1]))
        to--;
    while (from < to && is_blank(s.data[from]))
        from++;
    return from == 0 ? (lic_str){ s.data, to } : lic_str_slice(s, from, to);
}

void lic_text_init(lic_text *text, lic_memory *memory)
{
    *text = (lic_text){ .memory = memory };
}

void lic_text_free(lic_text *text)
{
    lic_free(text->memory, text->data, text->capacity);
    lic_text_init(text, text->memory);
}

void lic_text_add(lic_text *text, lic_str s)
{
    void  *data = text->data;
    size_t size;

    if (text->failed || s.size == 0)
        return;
    if (!lic_size_add(text->size, s.size, &size) || !lic_grow(text->memory, &data, &text->capacity, size, 1)) {
        text->failed = true;
        return;
    }
    text->data = data;
    memcpy(text->data + text->size, s.data, s.size);
    text->size = size;
}

void lic_text_add_char(lic_text *text, char c)
{
    lic_text_add(text, (lic_str){ &c, 1 });
}

void lic_text_add_u64(lic_text *text, uint64_t number)
{
    char   digits[20]; /* of 2^64 - 1 */
    size_t start = sizeof digits;

    do {
        digits[--start] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    lic_text_add(text, (lic_str){ digits + start, sizeof digits - start });
}

static void add_json_escape(lic_text *text, unsigned char c)
{
    static const char names[]  = "\"\\bfnrt";
    static const char values[] = "\"\\\b\f\n\r\t";
    static const char digits[] = "0123456789abcdef";
    const char       *found    = c == '\0' ? NULL : strchr(values, c);

    lic_text_add_char(text, '\\');
    if (found != NULL) {
        lic_text_add_char(text, names[found - values]);
        return;
    }
    lic_text_add_literal(text, "u00");
    lic_text_add_char(text, digits[c >> 4]);
    lic_text_add_char(text, digits[c & 15]);
}

void lic_text_add_json(lic_text *text, lic_str s)
{
    size_t start = 0; /* of what stands for itself */

    lic_text_add_char(text, '"');
    for (size_t i = 0; i < s.size; i++) {
        unsigned char c = (unsigned char)s.data[i];

        if (c >= ' ' && c != '"' && c != '\\')
            continue;
        lic_text_add(text, lic_str_slice(s, start, i));
        add_json_escape(text, c);
        start = i + 1;
    }
    lic_text_add(text, lic_str_slice(s, start, s.size));
    lic_text_add_char(text, '"');
}

/* The size of the block must be the size of the text, because that is what licet_buffer_clear() gives back. */
static bool text_fit(lic_text *text)
{
    char *data;

    if (text->failed || text->size == text->capacity)
        return !text->failed;
    if (text->size == 0) { /* room, but no text in it */
        lic_text_free(text);
        return true;
    }
    data = lic_resize(text->memory, text->data, text->capacity, text->size);
    if (data == NULL)
        return false;
    text->data     = data;
    text->capacity = text->size;
    return true;
}

bool lic_text_to_buffer(lic_text *text, licet_buffer *buffer)
{
    buffer->data = NULL;
    buffer->size = 0;
    if (!text_fit(text)) {
        lic_text_free(text);
        return false;
    }
    buffer->data      = text->data;
    buffer->size      = text->size;
    buffer->allocator = text->memory->hooks;
    /* The caller's from here on, and not counted: it may outlive the lic_memory. */
    atomic_fetch_sub_explicit(&text->memory->used, text->size, memory_order_relaxed);
    lic_text_init(text, text->memory);
    return true;
}

void licet_buffer_clear(licet_buffer *buffer)
{
    if (buffer == NULL)
        return;
    if (buffer->data != NULL)
        buffer->allocator.free(buffer->allocator.context, buffer->data, buffer->size);
    buffer->data = NULL;
    buffer->size = 0;
}

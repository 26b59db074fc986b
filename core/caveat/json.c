/* A reader of our own: jansson recurses, reads numbers by the locale, and can't have a NUL in a key, which SpiceDB's contexts
 * can. It keeps the open objects and lists on a stack, and what they hold so far in one vector. */
#include "caveat/json.h"

#include "base/hash.h"
#include "base/utf8.h"
#include "caveat/number.h"

/* A value, and the key it has in an object. */
typedef struct item {
    lic_str       key;
    lic_cel_value value;
} item;

/* An object or list that is open. */
typedef struct frame {
    bool    is_object;
    size_t  first; /* of its items */
    lic_str key;   /* of the value that is being read */
} frame;

typedef struct reader {
    lic_arena    *arena;
    const char   *what;
    lic_str       text;
    size_t        at; /* byte of the text */
    bool          strict;
    uint64_t      random_key;
    frame         frames[LIC_CEL_MAX_JSON_NESTING];
    size_t        depth;
    item         *items;
    size_t        count;
    size_t        capacity;
    licet_error **error;
} reader;

static licet_status fail(reader *r, licet_kind kind, const char *problem)
{
    return lic_fail(r->error, LICET_INVALID_ARGUMENT, kind, lic_position_of(r->text, r->at),
                    "the %s is no JSON object: %s", r->what, problem);
}

static bool at_end(const reader *r)
{
    return r->at == r->text.size;
}

static char peek(const reader *r)
{
    return at_end(r) ? '\0' : r->text.data[r->at];
}

static void skip_blanks(reader *r)
{
    while (!at_end(r) && (peek(r) == ' ' || peek(r) == '\t' || peek(r) == '\n' || peek(r) == '\r'))
        r->at++;
}

/* A blank or not, then c? */
static bool accept(reader *r, char c)
{
    skip_blanks(r);
    if (at_end(r) || peek(r) != c)
        return false;
    r->at++;
    return true;
}

/* ---------------------------------------------------------------------- texts */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* Four digits; -1: there are none. */
static int32_t read_hex(lic_str text, size_t at)
{
    int32_t unit = 0;

    if (text.size < 4 || at > text.size - 4)
        return -1;
    for (size_t i = at; i < at + 4; i++) {
        if (hex_digit(text.data[i]) < 0)
            return -1;
        unit = unit * 16 + hex_digit(text.data[i]);
    }
    return unit;
}

static size_t put_utf8(uint32_t c, char *out)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3f));
        out[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 0x3f));
    out[2] = (char)(0x80 | (c >> 6 & 0x3f));
    out[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

/* Behind "\u": one unit of UTF-16 or two. A half of a pair alone is no character. */
static licet_status read_unicode(reader *r, char *out, size_t *size)
{
    int32_t  first = read_hex(r->text, r->at);
    int32_t  second;
    uint32_t c;

    if (first < 0)
        return fail(r, LICET_KIND_SYNTAX, "four hexadecimal digits must follow \\u");
    r->at += 4;
    c = (uint32_t)first;
    if (first >= 0xdc00 && first <= 0xdfff)
        return fail(r, LICET_KIND_ENCODING, "half of a surrogate pair");
    if (first >= 0xd800 && first <= 0xdbff) {
        second = peek(r) == '\\' && r->at + 1 < r->text.size && r->text.data[r->at + 1] == 'u'
                     ? read_hex(r->text, r->at + 2)
                     : -1;
        if (second < 0xdc00 || second > 0xdfff)
            return fail(r, LICET_KIND_ENCODING, "half of a surrogate pair");
        r->at += 6;
        c = 0x10000 + (((uint32_t)first & 0x3ff) << 10) + ((uint32_t)second & 0x3ff);
    }
    *size += put_utf8(c, out + *size);
    return LICET_OK;
}

/* Behind a backslash. */
static licet_status read_escape(reader *r, char *out, size_t *size)
{
    static const char names[]  = "\"\\/bfnrt";
    static const char values[] = "\"\\/\b\f\n\r\t";
    char              c        = peek(r);
    const char       *found;

    if (at_end(r))
        return fail(r, LICET_KIND_SYNTAX, "a text is not closed");
    r->at++;
    if (c == 'u')
        return read_unicode(r, out, size);
    found = c == '\0' ? NULL : strchr(names, c);
    if (found == NULL)
        return fail(r, LICET_KIND_SYNTAX, "there is no such escape");
    out[(*size)++] = values[found - names];
    return LICET_OK;
}

/* The bytes up to the closing quote, at least as many as the text will have. */
static bool find_end(const reader *r, size_t *end)
{
    for (size_t i = r->at; i < r->text.size; i++) {
        if (r->text.data[i] == '"') {
            *end = i;
            return true;
        }
        if (r->text.data[i] == '\\')
            i++;
    }
    return false;
}

/* Behind the opening quote. */
static licet_status read_text(reader *r, lic_str *text)
{
    licet_status status = LICET_OK;
    size_t       size   = 0;
    size_t       end;
    char        *out;

    if (!find_end(r, &end))
        return fail(r, LICET_KIND_SYNTAX, "a text is not closed");
    out = lic_arena_alloc(r->arena, end - r->at);
    if (out == NULL)
        return lic_fail_memory(r->error);
    while (r->at < end && status == LICET_OK) {
        char c = r->text.data[r->at++];

        if ((unsigned char)c < ' ')
            status = fail(r, LICET_KIND_SYNTAX, "a control character in a text");
        else if (c == '\\')
            status = read_escape(r, out, &size);
        else
            out[size++] = c;
    }
    r->at++;
    *text = (lic_str){ out, size };
    return status;
}

/* -------------------------------------------------------------------- numbers */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* false: no digit is here. */
static bool skip_digits(reader *r)
{
    size_t start = r->at;

    while (is_digit(peek(r)))
        r->at++;
    return r->at > start;
}

/* [ "-" ] ( "0" | 1-9 digits ) [ "." digits ] [ ( "e" | "E" ) [ sign ] digits ] */
static bool skip_number(reader *r)
{
    if (peek(r) == '-')
        r->at++;
    if (peek(r) == '0')
        r->at++;
    else if (!skip_digits(r))
        return false;
    if (peek(r) == '.') {
        r->at++;
        if (!skip_digits(r))
            return false;
    }
    if (peek(r) != 'e' && peek(r) != 'E')
        return true;
    r->at++;
    if (peek(r) == '-' || peek(r) == '+')
        r->at++;
    return skip_digits(r);
}

static licet_status read_number(reader *r, lic_cel_value *value)
{
    bool    negative = peek(r) == '-';
    size_t  start    = r->at;
    lic_str digits;

    if (!skip_number(r))
        return fail(r, LICET_KIND_SYNTAX, "a digit is missing");
    digits = lic_str_slice(r->text, start + negative, r->at);
    *value = (lic_cel_value){ .kind = LIC_CEL_DOUBLE, .number = 0 };
    if (!lic_cel_double_parse(digits, &value->number)) {
        r->at = start;
        return fail(r, LICET_KIND_VALUE, "a number is too large");
    }
    if (negative)
        value->number = -value->number;
    return LICET_OK;
}

static bool accept_word(reader *r, lic_str word)
{
    if (!lic_str_starts_with(lic_str_slice(r->text, r->at, r->text.size), word))
        return false;
    r->at += word.size;
    return true;
}

/* What holds nothing. */
static licet_status read_scalar(reader *r, lic_cel_value *value)
{
    *value = (lic_cel_value){ .kind = LIC_CEL_NULL };
    if (peek(r) == '"') {
        r->at++;
        value->kind = LIC_CEL_STRING;
        return read_text(r, &value->text);
    }
    if (peek(r) == '-' || is_digit(peek(r)))
        return read_number(r, value);
    if (accept_word(r, LIC_STR("null")))
        return LICET_OK;
    value->kind    = LIC_CEL_BOOL;
    value->boolean = accept_word(r, LIC_STR("true"));
    if (value->boolean || accept_word(r, LIC_STR("false")))
        return LICET_OK;
    return fail(r, LICET_KIND_SYNTAX, "a value is missing");
}

/* ----------------------------------------------------------- objects and lists */

/* Puts the entries of an object together. *count: without the repeated keys. */
static bool merge_entries(reader *r, const item *items, lic_cel_entry *entries, size_t *count)
{
    size_t    given    = *count;
    size_t    capacity = 16;
    uint32_t *slots; /* of a hash table: entry + 1, or 0 */

    while (capacity < given * 2)
        capacity *= 2;
    slots = lic_arena_alloc_array(r->arena, capacity, sizeof *slots);
    if (slots == NULL)
        return false;
    *count = 0;
    for (size_t i = 0; i < given; i++) {
        size_t slot = (size_t)lic_hash_str(items[i].key, r->random_key) & (capacity - 1);

        while (slots[slot] != 0 && !lic_str_equal(entries[slots[slot] - 1].key.text, items[i].key))
            slot = (slot + 1) & (capacity - 1);
        if (slots[slot] == 0) {
            entries[*count].key = (lic_cel_value){ .kind = LIC_CEL_STRING, .text = items[i].key };
            slots[slot]         = (uint32_t)++ * count;
        }
        entries[slots[slot] - 1].value = items[i].value;
    }
    return true;
}

static licet_status make_object(reader *r, const item *items, size_t count, lic_cel_value *value)
{
    lic_cel_map   *map     = lic_new(r->arena, lic_cel_map);
    lic_cel_entry *entries = lic_new_array(r->arena, count, lic_cel_entry);
    size_t         merged  = count;

    if (map == NULL || entries == NULL || !merge_entries(r, items, entries, &merged))
        return lic_fail_memory(r->error);
    if (r->strict && merged < count)
        return fail(r, LICET_KIND_VALUE, "a key stands twice in an object");
    *map   = (lic_cel_map){ .entries = entries, .count = merged, .given = true };
    *value = (lic_cel_value){ .kind = LIC_CEL_MAP, .map = map };
    return LICET_OK;
}

static licet_status make_list(reader *r, const item *items, size_t count, lic_cel_value *value)
{
    lic_cel_list  *list   = lic_new(r->arena, lic_cel_list);
    lic_cel_value *values = lic_new_array(r->arena, count, lic_cel_value);

    if (list == NULL || values == NULL)
        return lic_fail_memory(r->error);
    for (size_t i = 0; i < count; i++)
        values[i] = items[i].value;
    *list  = (lic_cel_list){ values, count };
    *value = (lic_cel_value){ .kind = LIC_CEL_LIST, .list = list };
    return LICET_OK;
}

/* The innermost object or list becomes a value. */
static licet_status close_frame(reader *r, lic_cel_value *value)
{
    const frame *top   = &r->frames[--r->depth];
    const item  *items = r->items == NULL ? NULL : r->items + top->first;
    size_t       count = r->count - top->first;

    r->count = top->first;
    return top->is_object ? make_object(r, items, count, value) : make_list(r, items, count, value);
}

static licet_status open_frame(reader *r)
{
    bool is_object = peek(r) == '{';

    if (r->depth == LIC_CEL_MAX_JSON_NESTING)
        return lic_fail(r->error, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, lic_position_of(r->text, r->at),
                        "the %s nests deeper than %d levels", r->what, LIC_CEL_MAX_JSON_NESTING);
    r->at++;
    r->frames[r->depth++] = (frame){ .is_object = is_object, .first = r->count };
    return LICET_OK;
}

/* "key" : */
static licet_status read_key(reader *r)
{
    licet_status status;

    if (!accept(r, '"'))
        return fail(r, LICET_KIND_SYNTAX, "a key in quotes is missing");
    status = read_text(r, &r->frames[r->depth - 1].key);
    if (status == LICET_OK && !accept(r, ':'))
        status = fail(r, LICET_KIND_SYNTAX, "a \":\" is missing");
    return status;
}

static licet_status add_item(reader *r, const lic_cel_value *value)
{
    frame *top = &r->frames[r->depth - 1];

    if (top->is_object && r->count - top->first == LIC_CEL_MAX_JSON_KEYS)
        return lic_fail(r->error, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, lic_position_of(r->text, r->at),
                        "an object in the %s has more than %d keys", r->what, LIC_CEL_MAX_JSON_KEYS);
    if (!lic_arena_grow(r->arena, (void **)&r->items, &r->capacity, r->count + 1, sizeof *r->items))
        return lic_fail_memory(r->error);
    r->items[r->count++] = (item){ top->key, *value };
    return LICET_OK;
}

/* Reads on until a value is complete. Opening one may complete it at once: "{}". */
static licet_status read_value(reader *r, lic_cel_value *value, bool *complete)
{
    licet_status status;

    skip_blanks(r);
    *complete = true;
    if (peek(r) != '{' && peek(r) != '[')
        return read_scalar(r, value);
    status = open_frame(r);
    if (status != LICET_OK)
        return status;
    if (accept(r, r->frames[r->depth - 1].is_object ? '}' : ']'))
        return close_frame(r, value);
    *complete = false;
    return r->frames[r->depth - 1].is_object ? read_key(r) : LICET_OK;
}

/* A value is complete: it goes into what is open around it, which may complete that too. *next: another value begins. */
static licet_status finish_value(reader *r, lic_cel_value *value, bool *next)
{
    licet_status status = LICET_OK;

    *next = false;
    while (status == LICET_OK && r->depth > 0) {
        bool is_object = r->frames[r->depth - 1].is_object;

        LIC_TRY(add_item(r, value));
        if (accept(r, ',')) {
            *next = true;
            return is_object ? read_key(r) : LICET_OK;
        }
        if (!accept(r, is_object ? '}' : ']'))
            return fail(r, LICET_KIND_SYNTAX, "a comma or the end of an object or list is missing");
        LIC_TRY(close_frame(r, value));
    }
done:
    return status;
}

static licet_status read_document(reader *r, lic_cel_value *object)
{
    licet_status status;
    bool         next = true;

    skip_blanks(r);
    if (peek(r) != '{')
        return fail(r, LICET_KIND_SYNTAX, "a \"{\" is missing");
    while (next) {
        bool complete;

        LIC_TRY(read_value(r, object, &complete));
        if (complete)
            LIC_TRY(finish_value(r, object, &next));
    }
    skip_blanks(r);
    if (!at_end(r))
        status = fail(r, LICET_KIND_SYNTAX, "something follows it");
done:
    return status;
}

licet_status lic_cel_json_read_as(lic_arena *arena, const char *what, lic_str text, bool strict, lic_cel_value *object,
                                  licet_error **error)
{
    reader r = {
        .arena = arena, .what = what, .text = text, .strict = strict, .random_key = lic_random_key(), .error = error
    };
    licet_status status;

    *object = (lic_cel_value){ .kind = LIC_CEL_NULL };
    r.at    = lic_utf8_check(text);
    if (r.at < text.size)
        return fail(&r, LICET_KIND_ENCODING, "a byte that is not UTF-8");
    r.at   = 0;
    status = read_document(&r, object);
    if (status != LICET_OK)
        *object = (lic_cel_value){ .kind = LIC_CEL_NULL };
    return status;
}

licet_status lic_cel_json_read(lic_arena *arena, lic_str text, bool strict, lic_cel_value *object, licet_error **error)
{
    return lic_cel_json_read_as(arena, "caveat context", text, strict, object, error);
}

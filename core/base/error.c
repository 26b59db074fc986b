/* Errors come from malloc in one piece, message included, because they outlive the engine that failed.
 *
 * Messages are put together here and not by printf: what goes into one is escaped on the way in, so a
 * message is always one line of valid UTF-8, and the locale has no say. */
#include "error.h"

#include <stdarg.h>
#include <stdlib.h>

#include "utf8.h"

#define MESSAGE_CAPACITY 1024
#define QUOTE_CAPACITY 64

struct licet_error {
    licet_status status;
    licet_kind   kind;
    lic_position position;
    lic_str      reason;
    lic_str      message; /* in the same block, behind this record */
};

static const licet_error out_of_memory = {
    .status  = LICET_OUT_OF_MEMORY,
    .kind    = LICET_KIND_NOMEM,
    .reason  = LICET_STR_INIT(""),
    .message = LICET_STR_INIT("out of memory"),
};

/* A message being made. Once a piece does not fit, nothing more is added: no hole in the middle. */
typedef struct message {
    char   text[MESSAGE_CAPACITY];
    size_t size;
    bool   full;
} message;

static void message_add(message *m, const char *data, size_t size)
{
    if (m->full || size > MESSAGE_CAPACITY - m->size) {
        m->full = true;
        return;
    }
    memcpy(m->text + m->size, data, size);
    m->size += size;
}

static void message_add_char(message *m, char c)
{
    message_add(m, &c, 1);
}

static void message_add_number(message *m, uint64_t number)
{
    char   digits[20]; /* of 2^64 - 1 */
    size_t start = sizeof digits;

    do {
        digits[--start] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    message_add(m, digits + start, sizeof digits - start);
}

/* prefix ("\\x", "\\u"), then `digits` hexadecimal digits. */
static void message_add_hex(message *m, const char *prefix, uint32_t value, size_t digits)
{
    char   escape[8];
    size_t size = 2 + digits;

    memcpy(escape, prefix, 2);
    for (size_t i = size; i > 2; i--, value >>= 4)
        escape[i - 1] = "0123456789abcdef"[value & 15];
    message_add(m, escape, size);
}

/* What would break the line, hide, or turn the order of what is shown around: controls (C0, C1, DEL), line and
 * paragraph separators, marks of direction, the byte order mark. */
static bool must_escape(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x061c || c == 0x200e || c == 0x200f ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

static void message_add_escape(message *m, uint32_t c)
{
    switch (c) {
    case '\n':
        message_add(m, "\\n", 2);
        break;
    case '\r':
        message_add(m, "\\r", 2);
        break;
    case '\t':
        message_add(m, "\\t", 2);
        break;
    default:
        message_add_hex(m, c < 0x80 ? "\\x" : "\\u", c, c < 0x80 ? 2 : 4);
        break;
    }
}

/* The character at `offset`, or the one broken byte; its size. quoted: quotes and backslashes are escaped too. */
static size_t message_add_character(message *m, lic_str s, size_t offset, bool quoted)
{
    size_t   size = lic_utf8_size(s, offset);
    uint32_t c;

    if (size == 0) {
        message_add_hex(m, "\\x", (uint8_t)s.data[offset], 2);
        return 1;
    }
    c = lic_utf8_decode(s, offset, &size);
    if (must_escape(c)) {
        message_add_escape(m, c);
    } else if (quoted && (c == '"' || c == '\\')) {
        const char escape[2] = { '\\', (char)c };

        message_add(m, escape, 2);
    } else {
        message_add(m, s.data + offset, size);
    }
    return size;
}

static void message_add_str(message *m, lic_str s)
{
    for (size_t i = 0; i < s.size && !m->full;)
        i += message_add_character(m, s, i, false);
}

/* The text in quotes; "..." behind them says that there was more of it. */
static void message_add_quoted(message *m, lic_str s)
{
    size_t i = 0;

    message_add_char(m, '"');
    while (i < s.size) {
        size_t size = lic_utf8_size(s, i);

        if (i + (size == 0 ? 1 : size) > QUOTE_CAPACITY)
            break;
        i += message_add_character(m, s, i, true);
    }
    message_add_char(m, '"');
    if (i < s.size)
        message_add(m, "...", 3);
}

static void message_add_int(message *m, int number)
{
    if (number < 0)
        message_add_char(m, '-');
    message_add_number(m, number < 0 ? (uint64_t) - (int64_t)number : (uint64_t)number);
}

static void message_add_c_str(message *m, const char *text)
{
    if (text != NULL)
        message_add_str(m, (lic_str){ text, strlen(text) });
}

static bool takes(const char **format, const char *conversion)
{
    size_t size = strlen(conversion);

    if (strncmp(*format, conversion, size) != 0)
        return false;
    *format += size;
    return true;
}

/* The analyzer does not see that the list was started two calls up, nor that the branches read different types.
 * NOLINTBEGIN(clang-analyzer-valist.Uninitialized, bugprone-branch-clone) */

/* format stands behind the '%'; returns where the conversion ends. */
static const char *message_add_argument(message *m, const char *format, va_list *arguments)
{
    if (takes(&format, "Q")) {
        message_add_quoted(m, *va_arg(*arguments, const lic_str *));
    } else if (takes(&format, "s")) {
        message_add_c_str(m, va_arg(*arguments, const char *));
    } else if (takes(&format, ".*s")) {
        int size = va_arg(*arguments, int);

        message_add_str(m, (lic_str){ va_arg(*arguments, const char *), size < 0 ? 0 : (size_t)size });
    } else if (takes(&format, "d")) {
        message_add_int(m, va_arg(*arguments, int));
    } else if (takes(&format, "u")) {
        message_add_number(m, va_arg(*arguments, unsigned));
    } else if (takes(&format, "zu")) {
        message_add_number(m, va_arg(*arguments, size_t));
    } else if (takes(&format, "llu")) {
        message_add_number(m, va_arg(*arguments, unsigned long long));
    } else if (takes(&format, "c")) {
        char c = (char)va_arg(*arguments, int);

        message_add_str(m, (lic_str){ &c, 1 });
    } else {
        takes(&format, "%");
        message_add_char(m, '%');
    }
    return format;
}

/* NOLINTEND(clang-analyzer-valist.Uninitialized, bugprone-branch-clone) */

static void message_format(message *m, const char *format, va_list *arguments)
{
    while (*format != '\0') {
        size_t plain = strcspn(format, "%");

        message_add_str(m, (lic_str){ format, plain });
        format += plain;
        if (*format == '%')
            format = message_add_argument(m, format + 1, arguments);
    }
}

/* NULL: no memory. */
static licet_error *error_new(const licet_error *cause)
{
    licet_error *error = malloc(sizeof *error + cause->message.size);
    char        *text;

    if (error == NULL)
        return NULL;
    text   = (char *)(error + 1);
    *error = *cause;
    memcpy(text, cause->message.data, cause->message.size);
    error->message.data = text;
    return error;
}

static bool wanted(licet_error *const *error)
{
    return error != NULL && *error == NULL;
}

licet_status lic_fail_memory(licet_error **error)
{
    if (wanted(error))
        *error = (licet_error *)&out_of_memory; /* never written to: see is_constant() */
    return LICET_OUT_OF_MEMORY;
}

static licet_status fail_with(licet_error **error, licet_error cause, const char *format, va_list *arguments)
{
    message m = { .size = 0 };

    if (!wanted(error))
        return cause.status;
    message_format(&m, format, arguments);
    cause.message = (lic_str){ m.text, m.size };
    *error        = error_new(&cause);
    return *error == NULL ? lic_fail_memory(error) : cause.status;
}

licet_status lic_fail(licet_error **error, licet_status status, licet_kind kind, lic_position position,
                      const char *format, ...)
{
    licet_error cause = { status, kind, position, LICET_STR_INIT(""), LICET_STR_INIT("") };
    va_list     arguments;

    va_start(arguments, format);
    status = fail_with(error, cause, format, &arguments);
    va_end(arguments);
    return status;
}

licet_status lic_fail_reason(licet_error **error, licet_status status, licet_kind kind, const char *reason,
                             lic_position position, const char *format, ...)
{
    licet_error cause = { status, kind, position, { reason, strlen(reason) }, LICET_STR_INIT("") };
    va_list     arguments;

    va_start(arguments, format);
    status = fail_with(error, cause, format, &arguments);
    va_end(arguments);
    return status;
}

static bool is_constant(const licet_error *error)
{
    return error == &out_of_memory;
}

void lic_error_move(licet_error *error, uint32_t line_offset, uint32_t column_offset)
{
    if (error == NULL || error->position.line == 0)
        return;
    error->position.line += line_offset;
    error->position.column += column_offset;
}

void lic_error_place(licet_error *error, lic_position position)
{
    if (error != NULL && !is_constant(error))
        error->position = position;
}

void lic_error_forget(licet_error **error)
{
    if (error == NULL)
        return;
    licet_error_free(*error);
    *error = NULL;
}

licet_error *lic_error_copy(const licet_error *error)
{
    licet_error *copy;

    if (error == NULL)
        return NULL;
    copy = is_constant(error) ? NULL : error_new(error);
    return copy != NULL ? copy : (licet_error *)&out_of_memory;
}

lic_position lic_position_of(lic_str text, size_t offset)
{
    size_t   line_start = 0;
    uint32_t line       = 1;

    if (offset > text.size)
        offset = text.size;
    for (size_t i = 0; i < offset; i++) {
        if (text.data[i] == '\n') {
            line++;
            line_start = i + 1;
        }
    }
    if (offset == line_start)
        return (lic_position){ line, 1 };
    return (lic_position){ line, (uint32_t)lic_utf8_count(lic_str_slice(text, line_start, offset)) + 1 };
}

void licet_error_free(licet_error *error)
{
    if (!is_constant(error))
        free(error);
}

licet_status licet_error_status(const licet_error *error)
{
    return error == NULL ? LICET_OK : error->status;
}

licet_kind licet_error_kind(const licet_error *error)
{
    return error == NULL ? LICET_KIND_NONE : error->kind;
}

licet_str licet_error_message(const licet_error *error)
{
    return error == NULL ? LICET_STR("") : error->message;
}

uint32_t licet_error_line(const licet_error *error)
{
    return error == NULL ? 0 : error->position.line;
}

uint32_t licet_error_column(const licet_error *error)
{
    return error == NULL ? 0 : error->position.column;
}

licet_str licet_error_reason(const licet_error *error)
{
    return error == NULL ? LICET_STR("") : error->reason;
}

/* No default: the compiler then says which status is missing here. */
const char *licet_status_name(licet_status status)
{
    switch (status) {
    case LICET_OK:
        return "ok";
    case LICET_OUT_OF_MEMORY:
        return "out_of_memory";
    case LICET_INVALID_ARGUMENT:
        return "invalid_argument";
    case LICET_SCHEMA_ERROR:
        return "schema_error";
    case LICET_NOT_FOUND:
        return "not_found";
    case LICET_ALREADY_EXISTS:
        return "already_exists";
    case LICET_PRECONDITION_FAILED:
        return "precondition_failed";
    case LICET_LIMIT_EXCEEDED:
        return "limit_exceeded";
    case LICET_REVISION_EXPIRED:
        return "revision_expired";
    case LICET_INVALID_TOKEN:
        return "invalid_token";
    case LICET_UNAVAILABLE:
        return "unavailable";
    case LICET_DEADLINE_EXCEEDED:
        return "deadline_exceeded";
    case LICET_CLOSED:
        return "closed";
    case LICET_MISUSE:
        return "misuse";
    case LICET_UNSUPPORTED:
        return "unsupported";
    }
    return "unknown";
}

#define TEXT_OF_NUMBER(name, number, text) \
    case number:                           \
        return text;

const char *licet_status_text(licet_status status)
{
    switch ((int)status) {
        LICET_STATUS_LIST(TEXT_OF_NUMBER)
    }
    return "unknown";
}

const char *licet_kind_name(licet_kind kind)
{
    switch ((int)kind) {
        LICET_KIND_LIST(TEXT_OF_NUMBER)
    }
    return "unknown";
}

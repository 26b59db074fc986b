/* strtod_l with the "C" locale, which the C library keeps ready, so that making it costs nothing and can't fail. What
 * printf puts between the digits depends on the thread's locale, so only its digits are used. */
#include "caveat/number.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define WRITTEN_SIZE 1024 /* bytes: a double has at most 767 digits that matter */
#define MOST_DIGITS 17    /* enough for any double */

static bool parse(const char *text, double *value)
{
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);

    if (c == (locale_t)0)
        return false;
    *value = strtod_l(text, NULL, c);
    freelocale(c);
    return isfinite(*value);
}

bool lic_cel_double_parse(lic_str text, double *value)
{
    char copy[WRITTEN_SIZE];

    if (text.size >= sizeof copy)
        return false;
    memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    return parse(copy, value);
}

/* d.ddd times ten to the exponent. */
typedef struct decimal {
    char   digits[MOST_DIGITS];
    size_t count;
    int    exponent;
} decimal;

/* Reads what "%.*e" wrote: a digit, something, digits, "e", sign, digits. */
static void read_scientific(const char *text, decimal *d)
{
    bool negative;
    int  exponent = 0;

    d->count = 0;
    for (; *text != 'e'; text++) {
        if (*text >= '0' && *text <= '9' && d->count < MOST_DIGITS)
            d->digits[d->count++] = *text;
    }
    negative = text[1] == '-';
    for (text += 2; *text != '\0'; text++)
        exponent = exponent * 10 + (*text - '0');
    d->exponent = negative ? -exponent : exponent;
}

/* Whether `d` reads back as value. */
static bool is_exact(const decimal *d, double value)
{
    char   text[MOST_DIGITS + 16];
    double back;
    int    size = 0;

    /* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): a decimal has a digit at least */
    text[size++] = d->digits[0];
    text[size++] = '.';
    for (size_t i = 1; i < d->count; i++)
        text[size++] = d->digits[i];
    snprintf(text + size, sizeof text - (size_t)size, "e%d", d->exponent);
    return parse(text, &back) && back == value;
}

static void find_shortest(double value, decimal *d)
{
    char text[MOST_DIGITS + 16];

    for (int digits = 1; digits <= MOST_DIGITS; digits++) {
        snprintf(text, sizeof text, "%.*e", digits - 1, value);
        read_scientific(text, d);
        if (is_exact(d, value))
            break;
    }
    while (d->count > 1 && d->digits[d->count - 1] == '0')
        d->count--;
}

static size_t put(char *out, size_t size, const char *text, size_t text_size)
{
    memcpy(out + size, text, text_size);
    return size + text_size;
}

static size_t print_scientific(const decimal *d, char *out, size_t size)
{
    char     exponent[8];
    unsigned magnitude = (unsigned)(d->exponent < 0 ? -d->exponent : d->exponent);
    int      written;

    size = put(out, size, d->digits, 1);
    if (d->count > 1) {
        size = put(out, size, ".", 1);
        size = put(out, size, d->digits + 1, d->count - 1);
    }
    written = snprintf(exponent, sizeof exponent, "e%c%02u", d->exponent < 0 ? '-' : '+', magnitude);
    return put(out, size, exponent, (size_t)written);
}

static size_t print_plain(const decimal *d, char *out, size_t size)
{
    int point = d->exponent + 1; /* digits before the point */

    if (point <= 0) {
        size = put(out, size, "0.", 2);
        for (; point < 0; point++)
            out[size++] = '0';
        return put(out, size, d->digits, d->count);
    }
    for (size_t i = 0; i < d->count || i < (size_t)point; i++) {
        if (i == (size_t)point)
            out[size++] = '.';
        out[size++] = i < d->count ? d->digits[i] : '0';
    }
    return size;
}

static bool print_special(double value, char *out, size_t *size)
{
    if (isnan(value))
        *size = put(out, 0, "NaN", 3);
    else if (isinf(value))
        *size = put(out, 0, value < 0 ? "-Inf" : "+Inf", 4);
    else if (value == 0)
        *size = signbit(value) ? put(out, 0, "-0", 2) : put(out, 0, "0", 1);
    else
        return false;
    return true;
}

/* Go turns to exponents below 1e-4 and from 1e6 on, however many digits there are. */
size_t lic_cel_double_print(double value, char out[LIC_CEL_DOUBLE_SIZE])
{
    decimal d;
    size_t  size = 0;

    if (print_special(value, out, &size))
        return size;
    if (value < 0)
        out[size++] = '-';
    find_shortest(fabs(value), &d);
    if (d.exponent < -4 || d.exponent >= 6)
        return print_scientific(&d, out, size);
    return print_plain(&d, out, size);
}

size_t lic_cel_double_print_plain(double value, char out[LIC_CEL_DOUBLE_SIZE])
{
    decimal d;
    size_t  size = 0;

    if (print_special(value, out, &size))
        return size;
    if (value < 0)
        out[size++] = '-';
    find_shortest(fabs(value), &d);
    return print_plain(&d, out, size);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

/* `word` is in small letters. */
static bool equals_word(lic_str text, const char *word)
{
    size_t i = 0;

    while (i < text.size && word[i] != '\0' && lower(text.data[i]) == word[i])
        i++;
    return i == text.size && word[i] == '\0';
}

static bool digits_read(lic_str text, uint64_t most, uint64_t *value)
{
    *value = 0;
    for (size_t i = 0; i < text.size; i++) {
        uint64_t digit = (uint64_t)(unsigned char)text.data[i] - '0';

        if (!is_digit(text.data[i]) || *value > (most - digit) / 10)
            return false;
        *value = *value * 10 + digit;
    }
    return text.size > 0;
}

/* Takes a sign off; true: it was "-". */
static bool take_sign(lic_str *text)
{
    bool negative = text->size > 0 && text->data[0] == '-';

    if (text->size > 0 && (negative || text->data[0] == '+'))
        *text = lic_str_slice(*text, 1, text->size);
    return negative;
}

bool lic_cel_uint_read(lic_str text, uint64_t *value)
{
    return digits_read(text, UINT64_MAX, value);
}

bool lic_cel_int_read(lic_str text, int64_t *value)
{
    bool     negative = take_sign(&text);
    uint64_t magnitude;

    if (!digits_read(text, (uint64_t)INT64_MAX + negative, &magnitude))
        return false;
    *value = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
    return true;
}

/* The parts of a written number: digits, a point among them, an exponent. Views of the text. */
typedef struct written {
    bool   hexadecimal;
    bool   any;           /* one digit at least */
    bool   nonzero;       /* of the digits before the exponent */
    size_t digits_end;    /* where the exponent begins, or the end */
    char   exponent_mark; /* 'e', 'p', or 0 */
    bool   exponent_negative;
    size_t exponent_start; /* its first digit */
} written;

static bool is_number_digit(const written *w, char c)
{
    return is_digit(c) || (w->hexadecimal && lower(c) >= 'a' && lower(c) <= 'f');
}

/* From `start` on: digits, at most one point. */
static void scan_digits(lic_str text, size_t start, written *w)
{
    bool   point = false;
    size_t i     = start;

    for (; i < text.size; i++) {
        char c = text.data[i];

        if (c == '.' && !point) {
            point = true;
        } else if (is_number_digit(w, c)) {
            w->any = true;
            w->nonzero |= c != '0';
        } else {
            break;
        }
    }
    w->digits_end = i;
}

/* Behind the digits: nothing, or a mark, a sign and digits up to the end. */
static bool scan_exponent(lic_str text, written *w)
{
    size_t i = w->digits_end;

    if (i == text.size)
        return true;
    w->exponent_mark = lower(text.data[i++]);
    if (w->exponent_mark != 'e' && w->exponent_mark != 'p')
        return false;
    if (i < text.size && (text.data[i] == '-' || text.data[i] == '+'))
        w->exponent_negative = text.data[i++] == '-';
    w->exponent_start = i;
    while (i < text.size && is_digit(text.data[i]))
        i++;
    return i == text.size && i > w->exponent_start;
}

/* The exponent with its sign; past `most` in magnitude: `most`. */
static long exponent_of(lic_str text, const written *w, long most)
{
    long exponent = 0;

    if (w->exponent_mark == 0)
        return 0;
    for (size_t i = w->exponent_start; i < text.size; i++) {
        exponent = exponent * 10 + (text.data[i] - '0');
        if (exponent > most)
            exponent = most;
    }
    return w->exponent_negative ? -exponent : exponent;
}

/* Go: between digits, or behind 0x, 0b, 0o. Copies the text without them; what is not allowed stays in. */
static size_t copy_without_underscores(lic_str text, char *out)
{
    size_t size  = 0;
    bool   hex   = text.size >= 2 && text.data[0] == '0' && lower(text.data[1]) == 'x';
    bool   valid = true;
    bool   digit = false; /* the last one that was no underscore was a digit, or the x of 0x */

    for (size_t i = 0; i < text.size; i++) {
        char c       = text.data[i];
        char next    = i + 1 < text.size ? text.data[i + 1] : '.';
        bool is_next = is_digit(next) || (hex && lower(next) >= 'a' && lower(next) <= 'f');

        if (c == '_') {
            valid &= digit && is_next;
            continue;
        }
        digit       = is_digit(c) || (hex && ((lower(c) >= 'a' && lower(c) <= 'f') || i == 1));
        out[size++] = c;
    }
    return valid ? size : 0;
}

bool lic_cel_double_read(lic_str text, double *value)
{
    char    plain[WRITTEN_SIZE];
    size_t  written_size = text.size;
    bool    negative     = take_sign(&text);
    written w            = { .hexadecimal = false };
    size_t  size;
    bool    read;

    if (equals_word(text, "inf") || equals_word(text, "infinity")) {
        *value = negative ? -(double)INFINITY : (double)INFINITY;
        return true;
    }
    if (equals_word(text, "nan") && text.size == written_size) {
        *value = (double)NAN;
        return true;
    }
    if (text.size >= sizeof plain)
        return false;
    size          = copy_without_underscores(text, plain);
    text          = (lic_str){ plain, size };
    w.hexadecimal = size >= 2 && plain[0] == '0' && lower(plain[1]) == 'x';
    scan_digits(text, w.hexadecimal ? 2 : 0, &w);
    if (!w.any || !scan_exponent(text, &w) || (w.exponent_mark == 'p') != w.hexadecimal)
        return false;
    read = lic_cel_double_parse(text, value);
    if (negative)
        *value = -*value;
    return read;
}

/* x86-64's long double has the 64 bits of SpiceDB's numbers, others have more and are rounded. */
_Static_assert(LDBL_MANT_DIG >= 64, "long double is too narrow");

static long double round_to_64_bits(long double value)
{
    int exponent;

    if (LDBL_MANT_DIG == 64 || !isfinite(value) || value == 0)
        return value;
    value = frexpl(value, &exponent);
    return ldexpl(rintl(ldexpl(value, 64)), exponent - 64);
}

static void decimal_of(long double value, lic_cel_decimal *out)
{
    *out          = (lic_cel_decimal){ .number = (double)value };
    out->integral = !isnan(value) && (isinf(value) || truncl(value) == value);
    if (!out->integral)
        return;
    out->in_range = value >= -0x1p63L && value < 0x1p63L;
    if (out->in_range)
        out->integer = (int64_t)value;
    else
        out->integer = value < 0 ? INT64_MIN : INT64_MAX;
}

void lic_cel_decimal_of(double number, lic_cel_decimal *decimal)
{
    decimal_of((long double)number, decimal);
    decimal->infinite = isinf(number);
    if (decimal->infinite)
        decimal->integral = false;
}

/* Does a fraction other than zero stand in the digits, the exponent of ten taken into account? */
static bool has_fraction(lic_str digits, long exponent)
{
    size_t point = lic_str_find(digits, '.');
    size_t count = 0; /* digits seen */
    size_t whole = point;

    if (exponent < 0)
        whole = (size_t)-exponent > whole ? 0 : whole - (size_t)-exponent;
    else
        whole += (size_t)exponent;
    for (size_t i = 0; i < digits.size; i++) {
        if (digits.data[i] == '.')
            continue;
        if (count++ >= whole && digits.data[i] != '0')
            return true;
    }
    return false;
}

#define LARGEST_TEN 646456993 /* 2^31 / log2(10): beyond it SpiceDB's numbers end */
#define LARGEST_TWO 2147483647

static lic_cel_read read_finite(lic_arena *arena, lic_str text, bool negative, const written *w, lic_cel_decimal *out)
{
    bool        binary   = w->exponent_mark == 'p';
    long        largest  = binary ? LARGEST_TWO : LARGEST_TEN;
    long        exponent = exponent_of(text, w, largest + 1L);
    size_t      size     = binary ? w->digits_end : text.size;
    char       *copy     = lic_arena_alloc(arena, size + 1);
    long double value;
    locale_t    c;

    if (copy == NULL)
        return LIC_CEL_READ_NO_MEMORY;
    memcpy(copy, text.data, size);
    copy[size] = '\0';
    c          = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (c == (locale_t)0)
        return LIC_CEL_READ_NO_MEMORY;
    value = strtold_l(copy, NULL, c);
    freelocale(c);
    if (w->nonzero && (exponent > largest || exponent < -largest))
        return LIC_CEL_READ_INVALID;
    if (binary)
        value = ldexpl(value, exponent > 40000 ? 40000 : exponent < -40000 ? -40000 : (int)exponent);
    value = round_to_64_bits(negative ? -value : value);
    decimal_of(value, out);
    if (w->nonzero && value == 0) /* too small to be told from zero, but not zero */
        out->integral = false;
    out->binary   = binary;
    out->fraction = !binary && has_fraction(lic_str_slice(text, 0, w->digits_end), exponent);
    return LIC_CEL_READ_OK;
}

lic_cel_read lic_cel_decimal_read(lic_arena *arena, lic_str text, lic_cel_decimal *out)
{
    bool     negative = take_sign(&text);
    written  w        = { .hexadecimal = false };
    uint64_t magnitude;

    if (lic_str_equal(text, LIC_STR("Inf")) || lic_str_equal(text, LIC_STR("inf"))) {
        lic_cel_decimal_of(negative ? -(double)INFINITY : (double)INFINITY, out);
        return LIC_CEL_READ_OK;
    }
    scan_digits(text, 0, &w);
    if (!w.any || !scan_exponent(text, &w))
        return LIC_CEL_READ_INVALID;
    if (w.exponent_mark != 0 && !digits_read(lic_str_slice(text, w.exponent_start, text.size), INT64_MAX, &magnitude))
        return LIC_CEL_READ_INVALID;
    return read_finite(arena, text, negative, &w, out);
}

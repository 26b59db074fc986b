/* Doubles as text, whatever the locale says. */
#ifndef LIC_CAVEAT_NUMBER_H
#define LIC_CAVEAT_NUMBER_H

#include "base/arena.h"
#include "base/str.h"

#define LIC_CEL_DOUBLE_SIZE 32 /* bytes that the shortest form of a double needs at most */

/* digits [ "." digits ] [ exponent ], without a sign. false: past the largest double, or longer than a number may be
 * written. Too small is 0. */
bool lic_cel_double_parse(lic_str text, double *value);

/* As Go's strconv.ParseFloat: also a sign, hexadecimal digits with a binary exponent, "inf", "infinity", "nan" in any
 * case, and "_" between digits. false: something else, or past the largest double. */
bool lic_cel_double_read(lic_str text, double *value);

/* The fewest digits that read back as the same double, as Go's strconv prints them with format "g": 1e+06, 0.0001, 1e-05,
 * +Inf, -Inf, NaN. The number of bytes written; no NUL. */
size_t lic_cel_double_print(double value, char out[LIC_CEL_DOUBLE_SIZE]);
/* The same digits without an exponent, Go's format "f", for what is below 1e17 and 0 or not below 1e-9 in magnitude. */
size_t lic_cel_double_print_plain(double value, char out[LIC_CEL_DOUBLE_SIZE]);

/* As Go's strconv.ParseInt and ParseUint with base 10. */
bool lic_cel_int_read(lic_str text, int64_t *value);
bool lic_cel_uint_read(lic_str text, uint64_t *value);

/* A number as SpiceDB reads it from a string: decimal digits with an exponent, of ten ("e") or of two ("p"), rounded to a
 * mantissa of 64 bits. So every 64-bit integer is read exactly, and an almost whole number may become whole. */
typedef struct lic_cel_decimal {
    bool    infinite; /* "Inf", not merely large */
    bool    integral; /* after rounding */
    bool    binary;   /* the exponent was one of two */
    bool    fraction; /* there was a fraction other than 0 before rounding */
    bool    in_range; /* integral, and `integer` is it and not the nearest limit */
    int64_t integer;  /* of an integral value; saturated */
    double  number;   /* may be infinite: too large */
} lic_cel_decimal;

typedef enum lic_cel_read { LIC_CEL_READ_OK, LIC_CEL_READ_INVALID, LIC_CEL_READ_NO_MEMORY } lic_cel_read;

lic_cel_read lic_cel_decimal_read(lic_arena *arena, lic_str text, lic_cel_decimal *decimal);
/* The same for a number that is a double already. Not a number: not integral. */
void lic_cel_decimal_of(double number, lic_cel_decimal *decimal);

#endif

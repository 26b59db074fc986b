/* What every entry says of licet: laws, and what errors are like. A law that does not hold is an abort, which libFuzzer
 * and the replay of the kept inputs take for a finding. */
#ifndef LICET_TESTS_FUZZ_MUST_H
#define LICET_TESTS_FUZZ_MUST_H

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/utf8.h"

_Noreturn static inline void must_fail(const char *file, int line, const char *law)
{
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, law);
    abort();
}

#define must(law) ((law) ? (void)0 : must_fail(__FILE__, __LINE__, #law))

/* A number that hangs on the input alone: what is chosen with it is chosen again when the input is tried again. */
static inline uint64_t chance_of(lic_str input)
{
    return lic_hash_str(input, 0);
}

/* Bytes of memory that are mostly too few. */
static inline size_t little_memory(lic_str input)
{
    return 64 + (size_t)(chance_of(input) % 16384);
}

static inline uint32_t count_bytes(lic_str text, unsigned char byte)
{
    uint32_t count = 0;

    for (size_t i = 0; i < text.size; i++)
        count += (unsigned char)text.data[i] == byte;
    return count;
}

/* One line of valid text without control characters, and a place in so many lines, if there is any. Takes error. */
static inline void must_explain_within(licet_error *error, lic_str input, uint32_t lines)
{
    lic_str message = licet_error_message(error);

    must(error != NULL && licet_error_status(error) != LICET_OK && licet_error_kind(error) != LICET_KIND_NONE);
    must(message.size > 0 && message.size <= 1024 && lic_utf8_check(message) == message.size);
    for (size_t i = 0; i < message.size; i++)
        must((unsigned char)message.data[i] >= ' ' && message.data[i] != 0x7f);
    must(licet_error_line(error) <= lines && licet_error_column(error) <= input.size + 1);
    must((licet_error_line(error) == 0) == (licet_error_column(error) == 0));
    licet_error_free(error);
}

/* The same, of an input whose lines end as ours do. */
static inline void must_explain(licet_error *error, lic_str input)
{
    must_explain_within(error, input, count_bytes(input, '\n') + 1);
}

#endif

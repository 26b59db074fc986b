/* The border of tokens and cursors: nothing is taken but what was made. The input is tried as it is, and as a list
 * of changes to a good one, so that the seal is reached. */
#include <stdlib.h>

#include "engine/token.h"

static const lic_identity *identity(void)
{
    static lic_identity made;
    static bool         is_made;

    if (!is_made && !lic_identity_init(&made))
        abort();
    is_made = true;
    return &made;
}

/* Unless it is the good one: the fuzzer reads it out of the comparisons sooner or later. */
static void must_be_refused(lic_str text, lic_str good)
{
    lic_cursor cursor;
    uint64_t   revision;

    if (lic_str_equal(text, good))
        return;
    if (lic_token_read(identity(), text, &revision, NULL) == LICET_OK || revision != 0)
        abort();
    if (lic_cursor_read(identity(), text, &cursor, NULL) == LICET_OK)
        abort();
}

/* Pairs of place and byte. */
static void change(char *text, size_t text_size, const uint8_t *data, size_t size)
{
    for (size_t i = 0; i + 1 < size; i += 2)
        text[data[i] % text_size] = (char)data[i + 1];
}

static void try_changed(lic_str good, const uint8_t *data, size_t size)
{
    char text[LIC_CURSOR_CAPACITY];

    must_be_refused((lic_str){ (const char *)data, size }, good);
    memcpy(text, good.data, good.size);
    change(text, good.size, data, size);
    must_be_refused((lic_str){ text, good.size }, good);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lic_cursor  cursor = { 7, { { 1, 2 }, { 3, 4 } }, { 5 } };
    char        cursor_text[LIC_CURSOR_CAPACITY];
    licet_token token;
    size_t      cursor_size = lic_cursor_make(identity(), &cursor, cursor_text);

    lic_token_make(identity(), 7, &token);
    if (size == cursor_size)
        try_changed((lic_str){ cursor_text, cursor_size }, data, size);
    else
        try_changed((lic_str){ token.text, strlen(token.text) }, data, size);
    return 0;
}

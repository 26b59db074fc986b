/* The border of tokens and cursors: what was made is read back, and nothing else is taken. The input gives what they
 * hold; it is tried as a text of its own, and as a list of changes to good ones, so that the seal is reached.
 *
 * libFuzzer looks into comparisons and so learns to seal: what is taken need not be made yet, but it is what would be. */
#include "engine/token.h"
#include "must.h"

/* What this process makes, and what another would. */
typedef struct identities {
    lic_identity own;
    lic_identity other;
} identities;

static const identities *find_identities(void)
{
    static identities made;
    static bool       is_made;

    if (!is_made)
        must(lic_identity_init(&made.own) && lic_identity_init(&made.other));
    is_made = true;
    return &made;
}

static void must_be_refused(const lic_identity *identity, lic_str text)
{
    licet_error *error = NULL;
    lic_cursor   cursor;
    uint64_t     revision = 1;

    must(lic_token_read(identity, text, &revision, &error) == LICET_INVALID_TOKEN && revision == 0);
    must(licet_error_kind(error) == LICET_KIND_TOKEN);
    must_explain(error, LIC_STR(""));
    error = NULL;
    must(lic_cursor_read(identity, text, &cursor, &error) == LICET_INVALID_TOKEN);
    must(licet_error_kind(error) == LICET_KIND_TOKEN);
    must_explain(error, LIC_STR(""));
}

static void must_be_as_made(const lic_identity *identity, lic_str text)
{
    licet_token token;
    lic_cursor  cursor;
    uint64_t    revision;
    char        made[LIC_CURSOR_CAPACITY];

    if (lic_token_read(identity, text, &revision, NULL) == LICET_OK) {
        lic_token_make(identity, revision, &token);
        must(lic_str_equal(text, (lic_str){ token.text, strlen(token.text) }));
    } else if (lic_cursor_read(identity, text, &cursor, NULL) == LICET_OK) {
        must(lic_str_equal(text, (lic_str){ made, lic_cursor_make(identity, &cursor, made) }));
    } else {
        must_be_refused(identity, text);
    }
}

/* Pairs of place and byte; a place beyond the end makes the text shorter or longer by one. */
static size_t change(char *text, size_t text_size, const uint8_t *data, size_t size)
{
    const size_t original = text_size;

    for (size_t i = 0; i + 1 < size; i += 2) {
        const size_t at = data[i] % (original + 2);

        if (at < text_size)
            text[at] = (char)data[i + 1];
        else if (at == original && text_size > 1)
            text_size--;
        else if (at > original && text_size < original)
            text_size++;
    }
    return text_size;
}

static void try_changed(lic_str good, const uint8_t *data, size_t size)
{
    char    text[LICET_TOKEN_CAPACITY];
    lic_str changed = { text, 0 };

    memcpy(text, good.data, good.size);
    changed.size = change(text, good.size, data, size);
    must_be_as_made(&find_identities()->own, changed);
}

static void try_token(uint64_t revision, const uint8_t *data, size_t size)
{
    const identities *ids = find_identities();
    licet_token       token;
    lic_str           text = { token.text, 0 };
    uint64_t          read;
    lic_cursor        cursor;

    lic_token_make(&ids->own, revision, &token);
    text.size = strlen(token.text);
    must(lic_token_read(&ids->own, text, &read, NULL) == LICET_OK && read == revision);
    must(lic_cursor_read(&ids->own, text, &cursor, NULL) == LICET_INVALID_TOKEN);
    must_be_refused(&ids->other, text);
    try_changed(text, data, size);
}

static void try_cursor(const lic_cursor *cursor, const uint8_t *data, size_t size)
{
    const identities *ids = find_identities();
    char              made[LIC_CURSOR_CAPACITY];
    lic_str           text = { made, lic_cursor_make(&ids->own, cursor, made) };
    lic_cursor        read;
    uint64_t          revision;

    must(lic_cursor_read(&ids->own, text, &read, NULL) == LICET_OK && read.revision == cursor->revision);
    must(memcmp(&read.after, &cursor->after, sizeof read.after) == 0);
    must(memcmp(read.digest, cursor->digest, sizeof read.digest) == 0);
    must(lic_token_read(&ids->own, text, &revision, NULL) == LICET_INVALID_TOKEN && revision == 0);
    must_be_refused(&ids->other, text);
    try_changed(text, data, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lic_cursor cursor = { 7, { { 1, 2 }, { 3, 4 } }, { 5 } };

    if (size >= sizeof cursor.revision)
        memcpy(&cursor.revision, data, sizeof cursor.revision);
    if (size >= sizeof cursor.revision + sizeof cursor.after)
        memcpy(&cursor.after, data + sizeof cursor.revision, sizeof cursor.after);
    lic_digest(&find_identities()->own, (lic_str){ (const char *)data, size }, cursor.digest);
    must_be_as_made(&find_identities()->own, (lic_str){ (const char *)data, size });
    try_token(cursor.revision, data, size);
    try_cursor(&cursor, data, size);
    return 0;
}

/* Tokens and cursors. Anything that is not exactly what we made is refused; what can be told about it is told. */
#include "engine/token.h"

#include "base/base64.h"
#include "base/hash.h"

#define VERSION 1
#define SEAL_BYTES 16
#define HEADER_BYTES (2 + LIC_MARK_BYTES + 8)
#define TOKEN_BYTES (HEADER_BYTES + SEAL_BYTES)
#define PLACE_BYTES 16
#define CURSOR_BYTES (HEADER_BYTES + PLACE_BYTES + LIC_DIGEST_BYTES + SEAL_BYTES)

_Static_assert(TOKEN_BYTES % 3 == 0 && CURSOR_BYTES % 3 == 0, "no bit of the text may be without meaning");
_Static_assert(LIC_BASE64_SIZE(TOKEN_BYTES) < LICET_TOKEN_CAPACITY, "a token fits its record");
_Static_assert(LIC_BASE64_SIZE(CURSOR_BYTES) < LIC_CURSOR_CAPACITY, "a cursor fits its buffer");

static void put_number(uint8_t *bytes, uint64_t number, size_t size)
{
    for (size_t i = size; i > 0; i--, number >>= 8)
        bytes[i - 1] = (uint8_t)number;
}

static uint64_t get_number(const uint8_t *bytes, size_t size)
{
    uint64_t number = 0;

    for (size_t i = 0; i < size; i++)
        number = number << 8 | bytes[i];
    return number;
}

static void seal(const lic_identity *identity, const uint8_t *bytes, size_t size, uint8_t out[SEAL_BYTES])
{
    lic_seal(identity->key, (lic_str){ (const char *)bytes, size }, out);
}

bool lic_identity_init(lic_identity *identity)
{
    identity->mark_count    = 1;
    identity->marks[0].last = UINT64_MAX;
    return lic_random_bytes(identity->key, sizeof identity->key) &&
           lic_random_bytes(identity->marks[0].bytes, LIC_MARK_BYTES);
}

void lic_identity_fork(lic_identity *identity, uint64_t head)
{
    size_t   kept = identity->mark_count < LIC_ANCESTORS ? identity->mark_count : LIC_ANCESTORS;
    uint64_t random;

    memmove(&identity->marks[1], &identity->marks[0], kept * sizeof identity->marks[0]);
    identity->mark_count    = kept + 1;
    identity->marks[1].last = head;
    if (!lic_random_bytes(identity->marks[0].bytes, LIC_MARK_BYTES)) {
        random = lic_random_key();
        memcpy(identity->marks[0].bytes, &random, sizeof random);
    }
}

static const lic_mark *find_mark(const lic_identity *identity, const uint8_t *bytes)
{
    for (size_t i = 0; i < identity->mark_count; i++) {
        if (memcmp(identity->marks[i].bytes, bytes, LIC_MARK_BYTES) == 0)
            return &identity->marks[i];
    }
    return NULL;
}

static void make_header(const lic_identity *identity, char kind, uint64_t revision, uint8_t *bytes)
{
    bytes[0] = VERSION;
    bytes[1] = (uint8_t)kind;
    memcpy(bytes + 2, identity->marks[0].bytes, LIC_MARK_BYTES);
    put_number(bytes + 2 + LIC_MARK_BYTES, revision, 8);
}

static licet_status refuse(licet_error **error, const char *what, const char *problem)
{
    const char *reason = what[0] == 'c' ? "INVALID_CURSOR" : "";

    return lic_fail_reason(error, LICET_INVALID_TOKEN, LICET_KIND_TOKEN, reason, LIC_NOWHERE, "the %s %s", what,
                           problem);
}

/* The mark is looked at before the seal, because another store's seal can't be judged. */
static licet_status open_sealed(const lic_identity *identity, const char *what, lic_str text, uint8_t *bytes,
                                size_t size, licet_error **error)
{
    uint8_t         expected[SEAL_BYTES];
    const lic_mark *mark;

    if (!lic_str_given(text) || text.size == 0)
        return refuse(error, what, "is empty");
    if (!lic_base64_decode(text, bytes, size) || bytes[0] != VERSION || bytes[1] != (uint8_t)what[0])
        return refuse(error, what, "is damaged, or was not made by licet");
    mark = find_mark(identity, bytes + 2);
    if (mark == NULL)
        return refuse(error, what, "belongs to another store");
    seal(identity, bytes, size - SEAL_BYTES, expected);
    if (!lic_seal_equal(expected, bytes + size - SEAL_BYTES))
        return refuse(error, what, "is damaged");
    if (get_number(bytes + 2 + LIC_MARK_BYTES, 8) > mark->last)
        return refuse(error, what, "belongs to another process's store, from after the fork");
    return LICET_OK;
}

void lic_token_make(const lic_identity *identity, uint64_t revision, licet_token *token)
{
    uint8_t bytes[TOKEN_BYTES];

    make_header(identity, 't', revision, bytes);
    seal(identity, bytes, HEADER_BYTES, bytes + HEADER_BYTES);
    memset(token, 0, sizeof *token);
    lic_base64_encode(bytes, sizeof bytes, token->text);
}

licet_status lic_token_read(const lic_identity *identity, lic_str text, uint64_t *revision, licet_error **error)
{
    uint8_t      bytes[TOKEN_BYTES] = { 0 };
    licet_status status             = open_sealed(identity, "token", text, bytes, sizeof bytes, error);

    *revision = status == LICET_OK ? get_number(bytes + 2 + LIC_MARK_BYTES, 8) : 0;
    return status;
}

size_t lic_cursor_make(const lic_identity *identity, const lic_cursor *cursor, char text[LIC_CURSOR_CAPACITY])
{
    uint8_t  bytes[CURSOR_BYTES];
    uint8_t *place = bytes + HEADER_BYTES;

    make_header(identity, 'c', cursor->revision, bytes);
    put_number(place, lic_ref_key(cursor->after.resource), 8);
    put_number(place + 8, lic_ref_key(cursor->after.subject), 8);
    memcpy(place + PLACE_BYTES, cursor->digest, LIC_DIGEST_BYTES);
    seal(identity, bytes, sizeof bytes - SEAL_BYTES, bytes + sizeof bytes - SEAL_BYTES);
    lic_base64_encode(bytes, sizeof bytes, text);
    return LIC_BASE64_SIZE(CURSOR_BYTES);
}

static lic_ref get_ref(const uint8_t *bytes)
{
    return (lic_ref){ (lic_slot)get_number(bytes, 4), (uint32_t)get_number(bytes + 4, 4) };
}

licet_status lic_cursor_read(const lic_identity *identity, lic_str text, lic_cursor *cursor, licet_error **error)
{
    uint8_t        bytes[CURSOR_BYTES] = { 0 };
    const uint8_t *place               = bytes + HEADER_BYTES;
    licet_status   status              = open_sealed(identity, "cursor", text, bytes, sizeof bytes, error);

    if (status != LICET_OK)
        return status;
    cursor->revision       = get_number(bytes + 2 + LIC_MARK_BYTES, 8);
    cursor->after.resource = get_ref(place);
    cursor->after.subject  = get_ref(place + 8);
    memcpy(cursor->digest, place + PLACE_BYTES, LIC_DIGEST_BYTES);
    return LICET_OK;
}

void lic_digest(const lic_identity *identity, lic_str request, uint8_t digest[LIC_DIGEST_BYTES])
{
    uint8_t full[SEAL_BYTES];

    seal(identity, (const uint8_t *)request.data, request.size, full);
    memcpy(digest, full, LIC_DIGEST_BYTES);
}

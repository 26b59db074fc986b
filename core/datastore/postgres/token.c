/* Tokens of a Postgres store. sql/token.sql makes the same, byte for byte. */
#include "datastore/postgres/token.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/base64.h"
#include "base/hash.h"

#define VERSION 2
#define KIND 'p'
#define INEXACT 1
#define SEAL_BYTES 16
#define TIMELINE_AT (2 + LIC_PG_MARK_BYTES)
#define FLAGS_AT (TIMELINE_AT + 4)
#define HEADER_BYTES (FLAGS_AT + 1)
#define TOKEN_BYTES_MAX ((LICET_TOKEN_CAPACITY - 1) / 4 * 3)
#define TOKEN_BYTES_MIN (HEADER_BYTES + 6 + SEAL_BYTES) /* "1:0:" and its padding */
#define SNAPSHOT_MAX (TOKEN_BYTES_MAX - HEADER_BYTES - SEAL_BYTES)

_Static_assert(HEADER_BYTES % 3 == 2 && SEAL_BYTES % 3 == 1, "the padding is that of the snapshot alone");
_Static_assert(SNAPSHOT_MAX % 3 == 0 && SNAPSHOT_MAX >= 40, "there is room for any snapshot without xip");

/* The list of errors that libcrypto keeps for each thread is the application's: a failure of ours leaves nothing there. */
static bool seal(const lic_pg_identity *identity, const uint8_t *bytes, size_t size, uint8_t out[SEAL_BYTES])
{
    uint8_t   full[EVP_MAX_MD_SIZE];
    unsigned  full_size = 0;
    const int is_marked = ERR_set_mark();

    if (HMAC(EVP_sha256(), identity->key, LIC_PG_KEY_BYTES, bytes, size, full, &full_size) == NULL ||
        full_size < SEAL_BYTES) {
        ERR_pop_to_mark();
        return false;
    }
    if (is_marked)
        ERR_clear_last_mark();
    memcpy(out, full, SEAL_BYTES);
    return true;
}

static void make_header(const lic_pg_identity *identity, uint8_t flags, uint8_t *bytes)
{
    bytes[0] = VERSION;
    bytes[1] = KIND;
    memcpy(bytes + 2, identity->mark, LIC_PG_MARK_BYTES);
    for (int i = 0; i < 4; i++)
        bytes[TIMELINE_AT + i] = (uint8_t)(identity->timeline >> (24 - 8 * i));
    bytes[FLAGS_AT] = flags;
}

/* Its size with the padding. */
static size_t make_snapshot(const lic_pg_snapshot *snapshot, uint8_t *flags, char *text)
{
    lic_pg_snapshot later = { snapshot->xmin, snapshot->xmax, NULL, 0 };
    size_t          size  = lic_pg_snapshot_pack(snapshot, text, SNAPSHOT_MAX);

    *flags = size == 0 ? INEXACT : 0;
    if (size == 0)
        size = lic_pg_snapshot_pack(&later, text, SNAPSHOT_MAX);
    while (size % 3 != 0)
        text[size++] = ' ';
    return size;
}

bool lic_pg_token_make(const lic_pg_identity *identity, const lic_pg_snapshot *snapshot, licet_token *token)
{
    uint8_t bytes[TOKEN_BYTES_MAX];
    uint8_t flags;
    size_t  size = HEADER_BYTES + make_snapshot(snapshot, &flags, (char *)bytes + HEADER_BYTES);

    memset(token, 0, sizeof *token);
    make_header(identity, flags, bytes);
    if (!seal(identity, bytes, size, bytes + size))
        return false;
    lic_base64_encode(bytes, size + SEAL_BYTES, token->text);
    return true;
}

static licet_status refuse(licet_error **error, const char *problem)
{
    return lic_fail(error, LICET_INVALID_TOKEN, LICET_KIND_TOKEN, LIC_NOWHERE, "the token %s", problem);
}

/* Of that kind? *size: of all its bytes, the seal's too. */
static bool take_bytes(lic_str text, uint8_t bytes[TOKEN_BYTES_MAX], size_t *size)
{
    *size = text.size / 4 * 3;
    return *size >= TOKEN_BYTES_MIN && *size <= TOKEN_BYTES_MAX && lic_base64_decode(text, bytes, *size) &&
           bytes[0] == VERSION && bytes[1] == KIND;
}

bool lic_pg_token_is_foreign(const lic_pg_identity *identity, lic_str text)
{
    uint8_t bytes[TOKEN_BYTES_MAX] = { 0 };
    uint8_t header[HEADER_BYTES];
    size_t  size;

    make_header(identity, 0, header);
    return lic_str_given(text) && take_bytes(text, bytes, &size) && memcmp(bytes, header, FLAGS_AT) != 0;
}

/* *size: without the seal. The mark is looked at before the seal, because another store's seal can't be judged. */
static licet_status open_sealed(const lic_pg_identity *identity, lic_str text, uint8_t bytes[TOKEN_BYTES_MAX],
                                size_t *size, licet_error **error)
{
    uint8_t expected[SEAL_BYTES];
    size_t  all;

    if (!lic_str_given(text) || text.size == 0)
        return refuse(error, "is empty");
    if (!take_bytes(text, bytes, &all))
        return refuse(error, "is damaged, or was not made by licet for Postgres");
    if (memcmp(bytes + 2, identity->mark, LIC_PG_MARK_BYTES) != 0)
        return refuse(error, "belongs to another store");
    *size = all - SEAL_BYTES;
    if (!seal(identity, bytes, *size, expected))
        return lic_fail_memory(error);
    return lic_seal_equal(expected, bytes + *size) ? LICET_OK : refuse(error, "is damaged");
}

/* Without the padding, which is none, one or two blanks behind other signs. */
static lic_str snapshot_of(const uint8_t *bytes, size_t size)
{
    lic_str text = { (const char *)bytes + HEADER_BYTES, size - HEADER_BYTES };

    for (int i = 0; i < 2 && text.data[text.size - 1] == ' '; i++)
        text.size--;
    return text;
}

licet_status lic_pg_token_read(const lic_pg_identity *identity, lic_arena *arena, lic_str text,
                               lic_pg_snapshot *snapshot, bool *exact, licet_error **error)
{
    uint8_t      bytes[TOKEN_BYTES_MAX] = { 0 };
    uint8_t      header[HEADER_BYTES];
    size_t       size = 0;
    licet_status status;

    *snapshot = (lic_pg_snapshot){ 0 };
    *exact    = false;
    status    = open_sealed(identity, text, bytes, &size, error);
    if (status != LICET_OK)
        return status;
    make_header(identity, bytes[FLAGS_AT], header);
    if (memcmp(bytes, header, HEADER_BYTES) != 0)
        return refuse(error, "is of another timeline: the database has failed over or was restored since");
    if (bytes[FLAGS_AT] > INEXACT)
        return refuse(error, "was made by a newer licet");
    status = lic_pg_snapshot_unpack(arena, snapshot_of(bytes, size), snapshot, error);
    *exact = status == LICET_OK && bytes[FLAGS_AT] == 0;
    if (status == LICET_OK && !*exact && snapshot->xip_count > 0) {
        *snapshot = (lic_pg_snapshot){ 0 };
        return refuse(error, "is damaged");
    }
    return status;
}

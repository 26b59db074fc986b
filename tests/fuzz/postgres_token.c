/* The border of what Postgres and its tokens bring: snapshots as text, packed, and as the wire has them, and tokens. What
 * is taken is valid, and is what would be written. The input is tried as each of them, as a change of a good token, and
 * sealed, so that what is below the seal is reached. */
#include "datastore/postgres/token.h"
#include "must.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/base64.h"

#define HEADER_BYTES 23
#define FLAGS_AT 22

static const lic_pg_identity own = { .mark = { 1, 2, 3 }, .key = { 4, 5, 6 }, .timeline = 7 };

static lic_memory memory;

static void must_be_valid(const lic_pg_snapshot *s)
{
    must(s->xmin > 0 && s->xmin <= s->xmax && s->xmax <= LIC_PG_NEVER && s->xip_count <= LIC_PG_RUNNING_MAX);
    for (size_t i = 0; i < s->xip_count; i++) {
        must(s->xip[i] >= s->xmin && s->xip[i] < s->xmax && (i == 0 || s->xip[i] > s->xip[i - 1]));
        must(!lic_pg_snapshot_sees(s, s->xip[i]));
    }
    must(lic_pg_snapshot_sees(s, s->xmin - 1) && !lic_pg_snapshot_sees(s, s->xmax));
    must(lic_pg_snapshot_dominates(s, s) && lic_pg_snapshot_equal(s, s));
}

static void must_be_nothing(const lic_pg_snapshot *s)
{
    must(s->xmin == 0 && s->xmax == 0 && s->xip == NULL && s->xip_count == 0);
}

/* What completing promises. */
static void must_complete(lic_arena *arena, lic_pg_snapshot s, uint64_t xid)
{
    const lic_pg_snapshot before = s;

    if (lic_pg_snapshot_complete(arena, &s, xid, NULL) != LICET_OK) {
        must(s.xmax == before.xmax && s.xip == before.xip && s.xip_count == before.xip_count);
        return;
    }
    must_be_valid(&s);
    must(lic_pg_snapshot_sees(&s, xid) && lic_pg_snapshot_dominates(&s, &before));
    must(lic_pg_snapshot_equal(&s, &before) == lic_pg_snapshot_sees(&before, xid));
}

/* Taken or refused, with the reason. error: where the call left it, which is looked at after the call was made. */
static bool is_taken(licet_status status, licet_error *const *error, const lic_pg_snapshot *s)
{
    if (status == LICET_OK) {
        must_be_valid(s);
        return true;
    }
    must(status == LICET_INVALID_TOKEN && licet_error_kind(*error) == LICET_KIND_TOKEN);
    must_explain(*error, LIC_STR(""));
    must_be_nothing(s);
    return false;
}

static void try_text(lic_arena *arena, lic_str text)
{
    lic_pg_snapshot s;
    licet_error    *error = NULL;
    lic_text        printed;

    if (!is_taken(lic_pg_snapshot_read(arena, text, &s, &error), &error, &s))
        return;
    lic_text_init(&printed, &memory);
    lic_pg_snapshot_print(&s, &printed);
    must(!printed.failed && lic_str_equal(lic_text_str(&printed), text));
    lic_text_free(&printed);
    must_complete(arena, s, chance_of(text) % (s.xmax + 64));
}

static void try_packed(lic_arena *arena, lic_str text)
{
    lic_pg_snapshot s;
    licet_error    *error = NULL;
    char           *packed;

    if (!is_taken(lic_pg_snapshot_unpack(arena, text, &s, &error), &error, &s))
        return;
    packed = malloc(text.size);
    must(packed != NULL);
    must(lic_pg_snapshot_pack(&s, packed, text.size) == text.size && memcmp(packed, text.data, text.size) == 0);
    must(lic_pg_snapshot_pack(&s, packed, text.size - 1) == 0);
    free(packed);
    must_complete(arena, s, s.xmin + chance_of(text) % 64);
}

static void try_wire(lic_arena *arena, lic_str bytes)
{
    lic_pg_snapshot s;
    licet_error    *error = NULL;

    if (is_taken(lic_pg_snapshot_receive(arena, bytes, &s, &error), &error, &s))
        must(s.xip_count * 8 + 20 == bytes.size);
}

/* is_sealed: an inexact token may then be one that nobody would make, with room for what it leaves out. */
static void try_token(lic_arena *arena, lic_str text, bool is_sealed)
{
    lic_pg_snapshot s;
    licet_error    *error = NULL;
    bool            exact = true;
    licet_token     made;

    if (!is_taken(lic_pg_token_read(&own, arena, text, &s, &exact, &error), &error, &s)) {
        must(!exact);
        return;
    }
    must(exact || (is_sealed && s.xip_count == 0));
    must(lic_pg_token_make(&own, &s, &made));
    must(!exact || lic_str_equal(text, (lic_str){ made.text, strlen(made.text) }));
}

static void try_sealed(lic_arena *arena, const uint8_t *data, size_t size)
{
    uint8_t  bytes[1024] = { 2, 'p', 1, 2, 3, [21] = 7 };
    char     text[sizeof bytes / 3 * 4 + 1];
    unsigned seal_size = 0;
    size_t   end       = HEADER_BYTES;

    if (size == 0 || size > 800)
        return;
    bytes[FLAGS_AT] = data[0];
    memcpy(bytes + end, data + 1, size - 1);
    end += size - 1;
    while ((end + 16) % 3 != 0)
        bytes[end++] = ' ';
    must(HMAC(EVP_sha256(), own.key, sizeof own.key, bytes, end, bytes + end, &seal_size) != NULL && seal_size == 32);
    lic_base64_encode(bytes, end + 16, text);
    try_token(arena, (lic_str){ text, strlen(text) }, true);
}

/* A snapshot made of the input; its token comes back, and with pairs of place and byte changed it does not. */
static void try_made(lic_arena *arena, const uint8_t *data, size_t size)
{
    lic_pg_snapshot s = { 1 + (size > 0 ? data[0] : 0), 0, lic_new_array(arena, size + 1, uint64_t), 0 };
    lic_pg_snapshot read;
    licet_token     token;
    bool            exact;
    size_t          length;

    must(s.xip != NULL);
    s.xmax = s.xmin;
    for (size_t i = 1; i < size; i++) {
        s.xip[s.xip_count++] = s.xmax + data[i] / 2u;
        s.xmax               = s.xip[s.xip_count - 1] + 1 + data[i] % 2u;
    }
    must(lic_pg_token_make(&own, &s, &token));
    length = strlen(token.text);
    must(lic_pg_token_read(&own, arena, (lic_str){ token.text, length }, &read, &exact, NULL) == LICET_OK);
    must(exact ? lic_pg_snapshot_equal(&read, &s) : s.xip_count > 80);
    must(lic_pg_snapshot_dominates(&read, &s) && read.xmin == s.xmin && read.xmax == s.xmax);
    for (size_t i = 0; i + 1 < size; i += 2)
        token.text[data[i] % length] = (char)data[i + 1];
    try_token(arena, (lic_str){ token.text, length }, !exact);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const lic_str input = { (const char *)data, size };
    lic_arena     arena;

    lic_memory_init(&memory, NULL, SIZE_MAX);
    lic_arena_init(&arena, &memory);
    try_text(&arena, input);
    try_packed(&arena, input);
    try_wire(&arena, input);
    try_token(&arena, input, true);
    try_sealed(&arena, data, size);
    try_made(&arena, data, size);
    lic_arena_free(&arena);
    must(memory.used == 0);
    return 0;
}

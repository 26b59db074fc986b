/* Tokens of a Postgres store, which every process on the same database makes and reads alike, and the SQL functions too:
 *
 *   base64url of: version 2, 'p', store mark (16 bytes), timeline (4), flags (1), snapshot as text (1 to n), padding
 *                 with ' ' so that the whole is a multiple of three, seal (16)
 *
 * The snapshot's text is xmin, ':' xmax - xmin, ':' then each of xip as its distance to the one before (the first to
 * xmin), separated by ','. The seal is the first half of HMAC-SHA256 of all before it, with the key that lies in the
 * database (meta.token_key, 32 bytes). Flag 1: inexact, for more transactions running than a token can hold: xip is left
 * out, so that it names a later revision than it means; good for "at least as fresh", not for "exactly". */
#ifndef LIC_DATASTORE_POSTGRES_TOKEN_H
#define LIC_DATASTORE_POSTGRES_TOKEN_H

#include "datastore/postgres/pg_snapshot.h"

#define LIC_PG_MARK_BYTES 16
#define LIC_PG_KEY_BYTES 32

/* Which database: what tokens are bound to. */
typedef struct lic_pg_identity {
    uint8_t  mark[LIC_PG_MARK_BYTES]; /* meta.store */
    uint8_t  key[LIC_PG_KEY_BYTES];   /* meta.token_key */
    uint32_t timeline;
} lic_pg_identity;

/* false: the seal could not be made (libcrypto has no memory): *token is empty. */
bool lic_pg_token_make(const lic_pg_identity *identity, const lic_pg_snapshot *snapshot, licet_token *token);
/* INVALID_TOKEN for what is damaged, foreign, of another timeline, or no token at all. *exact: see flag 1. */
licet_status lic_pg_token_read(const lic_pg_identity *identity, lic_arena *arena, lic_str text,
                               lic_pg_snapshot *snapshot, bool *exact, licet_error **error);
/* Does the text, sealed or not, name another store or another timeline? Then it may be the identity that is out of date. */
bool lic_pg_token_is_foreign(const lic_pg_identity *identity, lic_str text);

#endif

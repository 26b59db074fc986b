/* Tokens and cursors: texts that name this store and one of its revisions, sealed with a key that only it has.
 *
 * token   base64url of: version, 't', store mark (10 bytes), revision (8), seal (16)
 * cursor  base64url of: version, 'c', store mark (10 bytes), revision (8), place (16), digest of the request (14),
 *         seal (16)
 *
 * Both lengths are multiples of three, so every bit of every character means something and none can be changed.
 *
 * After a fork there are two stores with one past: the child takes a new mark, and remembers up to which revision
 * its parent's marks are its own history. */
#ifndef LIC_ENGINE_TOKEN_H
#define LIC_ENGINE_TOKEN_H

#include "base/error.h"
#include "graph/graph.h"

#define LIC_MARK_BYTES 10
#define LIC_DIGEST_BYTES 14
#define LIC_ANCESTORS 8 /* generations of forks whose tokens are still understood */
#define LIC_CURSOR_CAPACITY 96

typedef struct lic_mark {
    uint8_t  bytes[LIC_MARK_BYTES];
    uint64_t last; /* the last revision under this mark that is in our history */
} lic_mark;

typedef struct lic_identity {
    uint8_t  key[16];
    lic_mark marks[1 + LIC_ANCESTORS]; /* our own first */
    size_t   mark_count;
} lic_identity;

typedef struct lic_cursor {
    uint64_t revision;
    lic_edge after;
    uint8_t  digest[LIC_DIGEST_BYTES];
} lic_cursor;

/* false: the system has no randomness to give. */
bool lic_identity_init(lic_identity *identity);
/* In the child of a fork at `head`. */
void lic_identity_fork(lic_identity *identity, uint64_t head);

void lic_token_make(const lic_identity *identity, uint64_t revision, licet_token *token);
/* INVALID_TOKEN for what is damaged, foreign, of a revision after a fork, or not a token at all. */
licet_status lic_token_read(const lic_identity *identity, lic_str text, uint64_t *revision, licet_error **error);

/* The text's length; it ends in NUL. */
size_t       lic_cursor_make(const lic_identity *identity, const lic_cursor *cursor, char text[LIC_CURSOR_CAPACITY]);
licet_status lic_cursor_read(const lic_identity *identity, lic_str text, lic_cursor *cursor, licet_error **error);

/* Digest of a request, for cursors. */
void lic_digest(const lic_identity *identity, lic_str request, uint8_t digest[LIC_DIGEST_BYTES]);

#endif

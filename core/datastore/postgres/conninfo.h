/* Connection strings: read once, judged before anything touches the network, then passed to libpq as arrays of keywords
 * and values with name expansion off. No message ever holds a value of one: it may be a password. */
#ifndef LIC_DATASTORE_POSTGRES_CONNINFO_H
#define LIC_DATASTORE_POSTGRES_CONNINFO_H

#include "base/error.h"

/* Immutable; any thread. Its copies of values are wiped when it goes. */
typedef struct lic_pg_conninfo lic_pg_conninfo;

/* Does the text look like one at all: a URI of postgres, or keyword=value? */
bool lic_pg_conninfo_is(lic_str text);

/* Opens no socket, looks up no name, reads no file. INVALID_ARGUMENT (kind config) naming the keyword, OUT_OF_MEMORY.
 * require_tls: the link must be encrypted and the server verified (sslmode=verify-full is put in where no sslmode is
 * given; a weaker one is refused). */
licet_status lic_pg_conninfo_read(lic_memory *memory, lic_str text, bool require_tls, lic_pg_conninfo **conninfo,
                                  licet_error **error);
void         lic_pg_conninfo_free(lic_pg_conninfo *conninfo); /* NULL is fine */

/* Arrays that end with NULL; ours for keep-alive, timeouts and application_name are among them. */
const char *const *lic_pg_conninfo_keywords(const lic_pg_conninfo *conninfo);
const char *const *lic_pg_conninfo_values(const lic_pg_conninfo *conninfo);
/* May the link not be used without TLS and a verified server? */
bool lic_pg_conninfo_requires_tls(const lic_pg_conninfo *conninfo);
/* connect_timeout times hosts; 0: none was given. */
uint32_t lic_pg_conninfo_timeout_ms(const lic_pg_conninfo *conninfo);

#endif

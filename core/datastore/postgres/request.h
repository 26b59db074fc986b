/* Requests of the SQL functions, as JSON. Everything in them has been judged; contexts and metadata go as strings that
 * hold their text, so that they stay as they are. A text that ran out of memory says so itself. */
#ifndef LIC_DATASTORE_POSTGRES_REQUEST_H
#define LIC_DATASTORE_POSTGRES_REQUEST_H

#include "datastore/datastore.h"

void lic_pg_request_write(lic_text *out, const lic_names *names, const lic_store_write *write,
                          const lic_store_change *changes, size_t count);
void lic_pg_request_erase(lic_text *out, const lic_store_write *write, const lic_store_erasure *erasure);
void lic_pg_request_schema(lic_text *out, const licet_schema *schema);

#endif

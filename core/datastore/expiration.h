/* Times of expiration: RFC 3339 to seconds and nanoseconds, and back as UTC. */
#ifndef LIC_DATASTORE_EXPIRATION_H
#define LIC_DATASTORE_EXPIRATION_H

#include "base/str.h"

/* Since 1970, UTC, as protobuf's Timestamp: years 1 to 9999. */
typedef struct lic_instant {
    int64_t  seconds;
    uint32_t nanoseconds;
} lic_instant;

/* Of a clock: nanoseconds since 1970, before it below 0. */
lic_instant lic_instant_of(int64_t nanoseconds);

/* "2030-01-02T03:04:05.5Z", or with an offset. More than nine digits of fraction are cut. false: no such time. */
bool lic_instant_parse(lic_str text, lic_instant *instant);
/* Appends it in UTC, the fraction without zeros at its end. */
void lic_instant_print(lic_instant instant, lic_text *out);

#endif

/* Time zones: offsets, and the files of the system's tzdata (RFC 8536). A name can not leave the folder. */
#ifndef LIC_CAVEAT_ZONE_H
#define LIC_CAVEAT_ZONE_H

#include "base/arena.h"
#include "base/str.h"

typedef struct lic_zone lic_zone; /* immutable, in an arena */

typedef enum lic_zone_outcome {
    LIC_ZONE_OK,
    LIC_ZONE_UNKNOWN, /* no zone has this name */
    LIC_ZONE_NO_BUDGET,
    LIC_ZONE_NO_MEMORY
} lic_zone_outcome;

/* "Europe/Berlin"; "", "UTC" and "Local" are UTC; with a colon in it an offset: "+02:00", "-3:30". memory: how many bytes
 * of the arena it may use; counted down. */
lic_zone_outcome lic_zone_load(lic_arena *arena, lic_str name, size_t *memory, const lic_zone **zone);
/* Seconds east of UTC at a moment, in seconds since 1970. */
int64_t lic_zone_offset(const lic_zone *zone, int64_t seconds);

#endif

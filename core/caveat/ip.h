/* Addresses and networks as Go's net/netip reads them. */
#ifndef LIC_CAVEAT_IP_H
#define LIC_CAVEAT_IP_H

#include "caveat/value.h"

/* The zone is a view of the text. An IPv4-mapped IPv6 address becomes the IPv4 address; one with a zone is refused: SpiceDB
 * drops the zone, and an address must not change into another one by a few letters at its end. false: no address. */
bool lic_ip_parse(lic_str text, lic_cel_ip *ip);
bool lic_ip_equal(const lic_cel_ip *a, const lic_cel_ip *b);

/* "10.0.0.0/8". Bits after the prefix may be set and are ignored. A mapped address stays IPv6 here. */
typedef struct lic_ip_network {
    uint8_t bytes[16];
    uint8_t size; /* 4 or 16 */
    uint8_t bits;
} lic_ip_network;

bool lic_ip_network_parse(lic_str text, lic_ip_network *network);
/* Never across families; never for an address with a zone. */
bool lic_ip_network_contains(const lic_ip_network *network, const lic_cel_ip *ip);

#endif

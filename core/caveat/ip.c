#include "caveat/ip.h"

/* Four decimal fields of 0 to 255 without leading zeros, dots between them, nothing else. */
static bool parse_ipv4(lic_str text, uint8_t bytes[4])
{
    size_t i = 0;

    for (int field = 0; field < 4; field++) {
        unsigned value = 0;
        size_t   start;

        if (field > 0 && (i == text.size || text.data[i++] != '.'))
            return false;
        start = i;
        while (i < text.size && text.data[i] >= '0' && text.data[i] <= '9') {
            if (i > start && value == 0)
                return false;
            value = value * 10 + (unsigned)(text.data[i++] - '0');
            if (value > 255)
                return false;
        }
        if (i == start)
            return false;
        bytes[field] = (uint8_t)value;
    }
    return i == text.size;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* One to four hexadecimal digits at the start of the text; the number of them, 0: none or too many. */
static size_t parse_group(lic_str text, unsigned *value)
{
    size_t i = 0;

    *value = 0;
    while (i < text.size && hex_digit(text.data[i]) >= 0) {
        if (i == 4)
            return 0;
        *value = *value << 4 | (unsigned)hex_digit(text.data[i++]);
    }
    return i;
}

#define NO_GAP 17 /* 16: behind the last group, where there is no room for one */

/* An address that is being read. */
typedef struct ipv6 {
    uint8_t bytes[16];
    size_t  count; /* of bytes read */
    size_t  gap;   /* where "::" stands, or NO_GAP */
} ipv6;

static bool starts_with_gap(lic_str text)
{
    return text.size >= 2 && text.data[0] == ':' && text.data[1] == ':';
}

/* Puts zeros where the gap is. It stands for one group at least. */
static bool fill_gap(ipv6 *address)
{
    size_t behind;

    if (address->gap == NO_GAP)
        return address->count == 16;
    if (address->count == 16)
        return false;
    behind = address->count - address->gap;
    memmove(address->bytes + 16 - behind, address->bytes + address->gap, behind);
    memset(address->bytes + address->gap, 0, 16 - address->count);
    return true;
}

/* The dotted form of the last four bytes. */
static bool parse_tail(lic_str text, ipv6 *address)
{
    if (address->gap == NO_GAP ? address->count != 12 : address->count > 12)
        return false;
    if (!parse_ipv4(text, address->bytes + address->count))
        return false;
    address->count += 4;
    return true;
}

/* Groups with colons between them, once two colons. */
static bool parse_ipv6(lic_str text, uint8_t bytes[16])
{
    ipv6     address = { .gap = NO_GAP };
    unsigned group;

    if (starts_with_gap(text)) {
        address.gap = 0;
        text        = lic_str_slice(text, 2, text.size);
        if (text.size == 0) {
            memset(bytes, 0, 16);
            return true;
        }
    }
    while (address.count < 16) {
        size_t digits = parse_group(text, &group);

        if (digits == 0)
            return false;
        if (digits < text.size && text.data[digits] == '.') {
            if (!parse_tail(text, &address))
                return false;
            text.size = 0;
            break;
        }
        address.bytes[address.count++] = (uint8_t)(group >> 8);
        address.bytes[address.count++] = (uint8_t)group;
        text                           = lic_str_slice(text, digits, text.size);
        if (text.size == 0)
            break;
        if (text.data[0] != ':' || text.size == 1)
            return false;
        text = lic_str_slice(text, 1, text.size);
        if (text.data[0] != ':')
            continue;
        if (address.gap != NO_GAP)
            return false;
        address.gap = address.count;
        text        = lic_str_slice(text, 1, text.size);
        if (text.size == 0)
            break;
    }
    if (text.size != 0 || !fill_gap(&address))
        return false;
    memcpy(bytes, address.bytes, 16);
    return true;
}

static bool is_mapped(const uint8_t bytes[16])
{
    static const uint8_t prefix[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };

    return memcmp(bytes, prefix, sizeof prefix) == 0;
}

/* As it is written: mapped addresses stay as they are. The first of ".", ":" and "%" decides what it is. */
static bool parse_written(lic_str text, lic_cel_ip *ip)
{
    size_t percent = lic_str_find(text, '%');
    size_t i       = 0;

    *ip = (lic_cel_ip){ .size = 4 };
    while (i < text.size && text.data[i] != '.' && text.data[i] != ':' && text.data[i] != '%')
        i++;
    if (i == text.size || text.data[i] == '%')
        return false;
    if (text.data[i] == '.')
        return parse_ipv4(text, ip->bytes);
    ip->size = 16;
    if (percent < text.size) {
        ip->zone = lic_str_slice(text, percent + 1, text.size);
        if (ip->zone.size == 0)
            return false;
        text.size = percent;
    }
    return parse_ipv6(text, ip->bytes);
}

bool lic_ip_parse(lic_str text, lic_cel_ip *ip)
{
    if (!parse_written(text, ip))
        return false;
    if (ip->size == 4 || !is_mapped(ip->bytes))
        return true;
    if (lic_str_given(ip->zone))
        return false;
    memmove(ip->bytes, ip->bytes + 12, 4);
    memset(ip->bytes + 4, 0, 12);
    ip->size = 4;
    return true;
}

bool lic_ip_equal(const lic_cel_ip *a, const lic_cel_ip *b)
{
    return a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0 && lic_str_equal(a->zone, b->zone);
}

/* Decimal, without sign and leading zeros, at most three digits. */
static bool parse_bits(lic_str text, unsigned *bits)
{
    if (text.size == 0 || text.size > 3 || (text.size > 1 && text.data[0] == '0'))
        return false;
    *bits = 0;
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
        *bits = *bits * 10 + (unsigned)(text.data[i] - '0');
    }
    return true;
}

bool lic_ip_network_parse(lic_str text, lic_ip_network *network)
{
    lic_cel_ip ip;
    unsigned   bits;
    size_t     slash = text.size;

    while (slash > 0 && text.data[slash - 1] != '/')
        slash--;
    if (slash == 0 || !parse_written(lic_str_slice(text, 0, slash - 1), &ip) || lic_str_given(ip.zone))
        return false;
    if (!parse_bits(lic_str_slice(text, slash, text.size), &bits) || bits > ip.size * 8u)
        return false;
    memcpy(network->bytes, ip.bytes, sizeof network->bytes);
    network->size = ip.size;
    network->bits = (uint8_t)bits;
    return true;
}

bool lic_ip_network_contains(const lic_ip_network *network, const lic_cel_ip *ip)
{
    size_t  whole = network->bits / 8;
    uint8_t mask  = (uint8_t)(0xff00u >> network->bits % 8);

    if (network->size != ip->size || lic_str_given(ip->zone))
        return false;
    if (memcmp(network->bytes, ip->bytes, whole) != 0)
        return false;
    return mask == 0 || ((network->bytes[whole] ^ ip->bytes[whole]) & mask) == 0;
}

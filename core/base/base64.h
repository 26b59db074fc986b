/* base64url (RFC 4648, section 5) of whole groups: three bytes are four characters, no bit of the text is without
 * meaning and there are no padding signs. So every text is of exactly one row of bytes. */
#ifndef LIC_BASE_BASE64_H
#define LIC_BASE_BASE64_H

#include "base/str.h"

#define LIC_BASE64_SIZE(bytes) ((bytes) / 3 * 4)

/* size is a multiple of three. text has room for LIC_BASE64_SIZE(size) and the NUL behind it. */
void lic_base64_encode(const uint8_t *bytes, size_t size, char *text);
/* Exactly `size` bytes, a multiple of three; false for a text of another size or with other characters, and then bytes
 * is not to be used. */
bool lic_base64_decode(lic_str text, uint8_t *bytes, size_t size);

#endif

/* Groups of 24 bits, forth and back. */
#include "base64.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

void lic_base64_encode(const uint8_t *bytes, size_t size, char *text)
{
    for (size_t i = 0; i < size; i += 3, text += 4) {
        uint32_t group = (uint32_t)bytes[i] << 16 | (uint32_t)bytes[i + 1] << 8 | bytes[i + 2];

        for (int j = 0; j < 4; j++)
            text[j] = alphabet[group >> (18 - 6 * j) & 63];
    }
    *text = '\0';
}

static int value_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '-' ? 62 : c == '_' ? 63 : -1;
}

bool lic_base64_decode(lic_str text, uint8_t *bytes, size_t size)
{
    if (text.size != LIC_BASE64_SIZE(size))
        return false;
    for (size_t i = 0; i < text.size; i += 4, bytes += 3) {
        uint32_t group = 0;

        for (size_t j = 0; j < 4; j++) {
            int value = value_of(text.data[i + j]);

            if (value < 0)
                return false;
            group = group << 6 | (uint32_t)value;
        }
        bytes[0] = (uint8_t)(group >> 16);
        bytes[1] = (uint8_t)(group >> 8);
        bytes[2] = (uint8_t)group;
    }
    return true;
}

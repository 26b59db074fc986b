/* core/base/utf8.c: what is valid UTF-8, and which code points are letters and digits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/utf8.h"

static void valid_text_has_no_broken_byte(void **state)
{
    static const lic_str cases[] = {
        LICET_STR_INIT(""),
        LICET_STR_INIT("a"),
        LICET_STR_INIT("\0"),
        LICET_STR_INIT("\x7f"),
        LICET_STR_INIT("\xc2\x80"),         /* U+0080 */
        LICET_STR_INIT("\xdf\xbf"),         /* U+07FF */
        LICET_STR_INIT("\xe0\xa0\x80"),     /* U+0800 */
        LICET_STR_INIT("\xed\x9f\xbf"),     /* U+D7FF, the last before the surrogates */
        LICET_STR_INIT("\xee\x80\x80"),     /* U+E000, the first after them */
        LICET_STR_INIT("\xef\xbf\xbf"),     /* U+FFFF */
        LICET_STR_INIT("\xf0\x90\x80\x80"), /* U+10000 */
        LICET_STR_INIT("\xf4\x8f\xbf\xbf"), /* U+10FFFF */
        LICET_STR_INIT("sixteen bytes of\xc3\xa4 and more of them"),
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(lic_utf8_check(cases[i]), cases[i].size);
    assert_int_equal(lic_utf8_check((lic_str){ NULL, 0 }), 0);
}

static void broken_text_is_found_at_its_first_bad_byte(void **state)
{
    static const struct {
        lic_str text;
        size_t  expected;
    } cases[] = {
        { LICET_STR_INIT("\x80"), 0 }, /* a continuation alone */
        { LICET_STR_INIT("\xbf"), 0 },
        { LICET_STR_INIT("\xc0\x80"), 0 }, /* long forms of NUL */
        { LICET_STR_INIT("\xe0\x80\x80"), 0 },
        { LICET_STR_INIT("\xf0\x80\x80\x80"), 0 },
        { LICET_STR_INIT("\xc1\xbf"), 0 },         /* long form of U+007F */
        { LICET_STR_INIT("\xe0\x9f\xbf"), 0 },     /* of U+07FF */
        { LICET_STR_INIT("\xf0\x8f\xbf\xbf"), 0 }, /* of U+FFFF */
        { LICET_STR_INIT("\xed\xa0\x80"), 0 },     /* U+D800, a surrogate */
        { LICET_STR_INIT("\xed\xbf\xbf"), 0 },     /* U+DFFF */
        { LICET_STR_INIT("\xf4\x90\x80\x80"), 0 }, /* U+110000 */
        { LICET_STR_INIT("\xf5\x80\x80\x80"), 0 },
        { LICET_STR_INIT("\xf8\x88\x80\x80\x80"), 0 }, /* five bytes */
        { LICET_STR_INIT("\xfe"), 0 },
        { LICET_STR_INIT("\xff"), 0 },
        { LICET_STR_INIT("\xc3"), 0 }, /* cut off */
        { LICET_STR_INIT("\xe2\x82"), 0 },
        { LICET_STR_INIT("\xf0\x9f\x98"), 0 },
        { LICET_STR_INIT("\xc3("), 0 }, /* wrong second, third, fourth byte */
        { LICET_STR_INIT("\xe2\x82("), 0 },
        { LICET_STR_INIT("\xf0\x9f\x98("), 0 },
        { LICET_STR_INIT("\xe2\xc2\x80"), 0 },
        { LICET_STR_INIT("ab\xc3\xa4\xff"), 4 },
        { LICET_STR_INIT("0123456789abcde\xff"), 15 },
        { LICET_STR_INIT("01234567\xc3\xa4"
                         "89abcdef\xed\xa0\x80"),
          18 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(lic_utf8_check(cases[i].text), cases[i].expected);
}

/* Written from the definition, to be compared with. Surrogates give their three bytes. */
static size_t encode(uint32_t c, char *out)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 63));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 63));
        out[2] = (char)(0x80 | (c & 63));
        return 3;
    }
    out[0] = (char)(0xf0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 63));
    out[2] = (char)(0x80 | (c >> 6 & 63));
    out[3] = (char)(0x80 | (c & 63));
    return 4;
}

static void every_code_point_is_decoded_and_every_surrogate_refused(void **state)
{
    size_t wrong = 0;

    (void)state;
    for (uint32_t c = 0; c < 0x120000; c++) {
        char    bytes[5] = { 'x' };
        lic_str text     = { bytes, 1 + encode(c, bytes + 1) };
        bool    valid    = c < 0x110000 && (c < 0xd800 || c > 0xdfff);
        size_t  length   = 0;

        if (lic_utf8_check(text) != (valid ? text.size : 1))
            wrong++;
        else if (lic_utf8_size(text, 1) != (valid ? text.size - 1 : 0))
            wrong++;
        else if (valid && (lic_utf8_decode(text, 1, &length) != c || length != text.size - 1))
            wrong++;
    }
    assert_int_equal(wrong, 0);
}

static void counting_takes_a_broken_byte_for_a_character(void **state)
{
    (void)state;
    assert_int_equal(lic_utf8_count((lic_str){ NULL, 0 }), 0);
    assert_int_equal(lic_utf8_count(LIC_STR("abc")), 3);
    assert_int_equal(lic_utf8_count(LIC_STR("a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80")), 4);
    assert_int_equal(lic_utf8_count(LIC_STR("a\xff\xc3")), 3);
    assert_int_equal(lic_utf8_count(LIC_STR("\xed\xa0\x80")), 3);
    assert_int_equal(lic_utf8_count(LIC_STR("\xe2\x82z")), 3);
}

static void letters_and_digits_are_those_of_unicode_15(void **state)
{
    static const struct {
        uint32_t code_point;
        bool     letter, digit;
    } cases[] = {
        { 0, false, false },       { '/', false, false },      { '0', false, true },         { '9', false, true },
        { ':', false, false },     { '@', false, false },      { 'A', true, false },         { 'Z', true, false },
        { '[', false, false },     { '_', false, false },      { 'a', true, false },         { 'z', true, false },
        { 0xaa, true, false },     { 0xb2, false, false },     { 0xd7, false, false },       { 0xe4, true, false },
        { 0x0300, false, false },  { 0x0660, false, true },    { 0x0669, false, true },      { 0x066a, false, false },
        { 0x2160, false, false },  { 0x4e00, true, false },    { 0x9fff, true, false },      { 0xa000, true, false },
        { 0xd800, false, false },  { 0xac00, true, false },    { 0x1d7ff, false, true },     { 0x1f600, false, false },
        { 0x1e4d0, true, false },  { 0x1e4f0, false, true },   { 0x31350, true, false },     { 0x323af, true, false },
        { 0x323b0, false, false }, { 0x10ffff, false, false }, { 0xffffffff, false, false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(lic_unicode_is_letter(cases[i].code_point), cases[i].letter);
        assert_int_equal(lic_unicode_is_digit(cases[i].code_point), cases[i].digit);
    }
}

static void there_are_as_many_letters_and_digits_as_in_unicode_15(void **state)
{
    size_t letters = 0;
    size_t digits  = 0;

    (void)state;
    for (uint32_t c = 0; c < 0x110000; c++) {
        letters += lic_unicode_is_letter(c);
        digits += lic_unicode_is_digit(c);
    }
    assert_int_equal(letters, 136104);
    assert_int_equal(digits, 680);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(valid_text_has_no_broken_byte),
        cmocka_unit_test(broken_text_is_found_at_its_first_bad_byte),
        cmocka_unit_test(every_code_point_is_decoded_and_every_surrogate_refused),
        cmocka_unit_test(counting_takes_a_broken_byte_for_a_character),
        cmocka_unit_test(letters_and_digits_are_those_of_unicode_15),
        cmocka_unit_test(there_are_as_many_letters_and_digits_as_in_unicode_15),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

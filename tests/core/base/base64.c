/* core/base/base64.c: base64url of whole groups. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/base64.h"

static void groups_are_written_in_the_alphabet_for_urls(void **state)
{
    static const uint8_t bytes[] = { 0x00, 0x10, 0x83, 0x10, 0x51, 0x87, 0xfb, 0xef, 0xff };
    char                 text[13];

    (void)state;
    lic_base64_encode(bytes, sizeof bytes, text);
    assert_string_equal(text, "ABCDEFGH--__");
    lic_base64_encode((const uint8_t *)"foobar", 6, text); /* RFC 4648, section 10 */
    assert_string_equal(text, "Zm9vYmFy");
    lic_base64_encode(bytes, 0, text);
    assert_string_equal(text, "");
}

static void every_group_comes_back(void **state)
{
    (void)state;
    for (uint32_t group = 0; group < 1u << 24; group += 251) {
        const uint8_t bytes[3] = { (uint8_t)(group >> 16), (uint8_t)(group >> 8), (uint8_t)group };
        uint8_t       back[3]  = { 0 };
        char          text[5];

        lic_base64_encode(bytes, 3, text);
        assert_true(lic_base64_decode((lic_str){ text, 4 }, back, 3));
        assert_memory_equal(back, bytes, 3);
    }
}

static void every_other_character_is_refused_in_every_place(void **state)
{
    char    text[] = "AbZz09-_";
    uint8_t bytes[6];

    (void)state;
    for (size_t place = 0; place < 8; place++) {
        const char good  = text[place];
        size_t     taken = 0;

        for (int c = 0; c < 256; c++) {
            text[place] = (char)c;
            taken += lic_base64_decode((lic_str){ text, 8 }, bytes, 6);
        }
        assert_int_equal(taken, 64);
        text[place] = good;
    }
    assert_true(lic_base64_decode(LIC_STR("AbZz09-_"), bytes, 6));
    assert_false(lic_base64_decode(LIC_STR("AbZz09+_"), bytes, 6));
    assert_false(lic_base64_decode(LIC_STR("AbZz09-/"), bytes, 6));
    assert_false(lic_base64_decode(LIC_STR("AbZz09-="), bytes, 6));
}

static void a_text_of_another_size_is_refused(void **state)
{
    static const char text[] = "ABCDEFGHIJKL";
    uint8_t           bytes[6];

    (void)state;
    for (size_t size = 0; size <= 12; size++)
        assert_int_equal(lic_base64_decode((lic_str){ text, size }, bytes, 6), size == 8);
    assert_true(lic_base64_decode((lic_str){ NULL, 0 }, bytes, 0));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_are_written_in_the_alphabet_for_urls),
        cmocka_unit_test(every_group_comes_back),
        cmocka_unit_test(every_other_character_is_refused_in_every_place),
        cmocka_unit_test(a_text_of_another_size_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* core/caveat/ip.c: addresses and networks as Go's net/netip has them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "caveat/ip.h"

static lic_str str(const char *text)
{
    return (lic_str){ text, strlen(text) };
}

static void addresses_are_read(void **state)
{
    static const struct {
        const char *text;
        const char *hex;
        const char *zone;
    } cases[] = {
        { "0.0.0.0", "00000000", "" },
        { "10.1.2.255", "0a0102ff", "" },
        { "::", "00000000000000000000000000000000", "" },
        { "::1", "00000000000000000000000000000001", "" },
        { "1::", "00010000000000000000000000000000", "" },
        { "2001:DB8::a:b", "20010db80000000000000000000a000b", "" },
        { "1:2:3:4:5:6:7:8", "00010002000300040005000600070008", "" },
        { "1:2:3:4:5:6:7::", "00010002000300040005000600070000", "" },
        { "::2:3:4:5:6:7:8", "00000002000300040005000600070008", "" },
        { "64:ff9b::10.0.0.1", "0064ff9b00000000000000000a000001", "" },
        { "1:2:3:4:5:6:10.0.0.1", "0001000200030004000500060a000001", "" },
        { "fe80::1%eth0", "fe800000000000000000000000000001", "eth0" },
        { "fe80::1%a%b", "fe800000000000000000000000000001", "a%b" },
        { "::%x", "00000000000000000000000000000000", "x" },
        { "::ffff:10.0.0.1", "0a000001", "" },
        { "::ffff:0a00:0001", "0a000001", "" },
        { "0:0:0:0:0:ffff:a00:1", "0a000001", "" },
        { "::fffe:10.0.0.1", "00000000000000000000fffe0a000001", "" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        lic_cel_ip ip;
        char       hex[33] = "";

        assert_true(lic_ip_parse(str(cases[i].text), &ip));
        for (size_t b = 0; b < ip.size; b++)
            snprintf(hex + 2 * b, 3, "%02x", ip.bytes[b]);
        assert_string_equal(hex, cases[i].hex);
        assert_true(lic_str_equal(ip.zone, str(cases[i].zone)));
    }
}

static void what_is_no_address_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        ".",
        ":",
        "%",
        "1",
        "10.1",
        "10.0.0",
        "10.0.0.1.5",
        "10.0.0.256",
        "10.0.0.1000",
        "010.0.0.1",
        "10.0.0.01",
        "10..0.1",
        "10.0.0.",
        ".10.0.0.1",
        " 10.0.0.1",
        "10.0.0.1 ",
        "10.0.0.1/8",
        "+1.0.0.0",
        "0x0a000001",
        "167772161",
        "10.0.0.1%eth0",
        "[::1]",
        ":::",
        "1::2::3",
        "1:2:3:4:5:6:7",
        "1:2:3:4:5:6:7:8:9",
        "1:2:3:4:5:6:7:8::",
        "12345::",
        "g::",
        "1:",
        ":1",
        "::1:",
        "1:2:3:4:5:6:7:10.0.0.1",
        "::10.0.0",
        "::10.0.0.1:1",
        "::1%",
        "1.2.3.4::",
        "fe80",
        "\xef\xbc\x91.0.0.1",
        "::ffff:10.0.0.1%eth0",
        "1:2:3:4:5:10.0.0.1",
        "::1:2:3:4:5:6:7:8",
    };
    lic_cel_ip ip;

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_false(lic_ip_parse(str(texts[i]), &ip));
    assert_false(lic_ip_parse((lic_str){ "10.0.0.1\0", 9 }, &ip));
}

static void networks_contain_what_begins_like_them(void **state)
{
    static const struct {
        const char *network;
        const char *ip;
        bool        contains;
    } cases[] = {
        { "10.0.0.0/8", "10.255.0.1", true },
        { "10.0.0.0/8", "11.0.0.1", false },
        { "10.9.9.9/8", "10.0.0.1", true },
        { "0.0.0.0/0", "255.255.255.255", true },
        { "10.0.0.1/32", "10.0.0.1", true },
        { "10.0.0.1/32", "10.0.0.2", false },
        { "10.0.0.128/25", "10.0.0.129", true },
        { "10.0.0.128/25", "10.0.0.127", false },
        { "10.0.0.0/8", "::ffff:10.0.0.1", true },
        { "::/0", "10.0.0.1", false },
        { "0.0.0.0/0", "2001:db8::1", false },
        { "2001:db8::/33", "2001:db8:7fff::", true },
        { "2001:db8::/33", "2001:db8:8000::", false },
        { "::1/128", "::1", true },
        { "::1/128", "::2", false },
        { "fe80::/10", "fe80::1%eth0", false },
        { "::ffff:10.0.0.0/104", "10.0.0.1", false },
        { "::/0", "fe80::1", true },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        lic_ip_network network;
        lic_cel_ip     ip;

        assert_true(lic_ip_network_parse(str(cases[i].network), &network));
        assert_true(lic_ip_parse(str(cases[i].ip), &ip));
        assert_int_equal(lic_ip_network_contains(&network, &ip), cases[i].contains);
    }
}

static void what_is_no_network_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "/",
        "/8",
        "10.0.0.0",
        "10.0.0.0/",
        "10.0.0.0/33",
        "10.0.0.0/08",
        "10.0.0.0/-1",
        "10.0.0.0/+8",
        "10.0.0.0/8 ",
        "10.0.0.0/8/8",
        "10.0.0.0/4294967304",
        "::/129",
        "::1%eth0/64",
        "::/1a",
        "10.0.0.0/00",
    };
    lic_ip_network network;

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_false(lic_ip_network_parse(str(texts[i]), &network));
}

static void addresses_are_equal_with_their_zones(void **state)
{
    lic_cel_ip a;
    lic_cel_ip b;

    (void)state;
    assert_true(lic_ip_parse(LIC_STR("::ffff:1.2.3.4"), &a));
    assert_true(lic_ip_parse(LIC_STR("1.2.3.4"), &b));
    assert_true(lic_ip_equal(&a, &b));
    assert_true(lic_ip_parse(LIC_STR("fe80::1%eth0"), &a));
    assert_true(lic_ip_parse(LIC_STR("fe80::1"), &b));
    assert_false(lic_ip_equal(&a, &b));
    assert_true(lic_ip_parse(LIC_STR("FE80:0::1%eth0"), &b));
    assert_true(lic_ip_equal(&a, &b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_are_read),
        cmocka_unit_test(what_is_no_address_is_refused),
        cmocka_unit_test(networks_contain_what_begins_like_them),
        cmocka_unit_test(what_is_no_network_is_refused),
        cmocka_unit_test(addresses_are_equal_with_their_zones),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#!/usr/bin/env python3
"""Prints core/base/unicode_table.h: the ranges of Unicode's letters (L*) and decimal digits (Nd).

SpiceDB's lexer asks Go's `unicode` package, so the table is made with the Unicode version that Go has:
15.0.0, which is Python 3.12's. Another version is refused rather than let in by accident.

    python3.12 tools/make_unicode_table.py > core/base/unicode_table.h
"""

import sys
import unicodedata

VERSION = "15.0.0"


def ranges(belongs):
    """First and last code point of each run of code points that belong."""
    found = []
    for code_point in range(0x110000):
        if not belongs(unicodedata.category(chr(code_point))):
            continue
        if found and found[-1][1] == code_point - 1:
            found[-1][1] = code_point
        else:
            found.append([code_point, code_point])
    return found


def table(name, pairs):
    print(f"\nstatic const unicode_range {name}[] = {{")
    for start in range(0, len(pairs), 4):
        row = ", ".join(f"{{ 0x{first:04x}, 0x{last:04x} }}" for first, last in pairs[start : start + 4])
        print(f"    {row},")
    print("};")


def main():
    if unicodedata.unidata_version != VERSION:
        sys.exit(f"needs Unicode {VERSION}, this Python has {unicodedata.unidata_version}")
    print(f"/* Made by tools/make_unicode_table.py from Unicode {VERSION}; change that, not this.")
    print(" * Ranges are sorted and do not touch. */")
    print("#ifndef LIC_BASE_UNICODE_TABLE_H")
    print("#define LIC_BASE_UNICODE_TABLE_H")
    print()
    print("#include <stdint.h>")
    print()
    print("typedef struct unicode_range {")
    print("    uint32_t first;")
    print("    uint32_t last;")
    print("} unicode_range;")
    print()
    print("/* clang-format off */")
    table("unicode_letters", ranges(lambda category: category.startswith("L")))
    table("unicode_digits", ranges(lambda category: category == "Nd"))
    print("\n/* clang-format on */")
    print("\n#endif")


main()

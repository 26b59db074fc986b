/* The border of expressions: any bytes compile or are refused, and what compiles is printed as something that compiles
 * to the same code. */
#include <stdlib.h>

#include "caveat/compiler.h"
#include "caveat/unparse.h"

static const lic_cel_parameter parameters[] = {
    { LICET_STR_INIT("x"), NULL, LICET_STR_INIT("int") },
    { LICET_STR_INIT("s"), NULL, LICET_STR_INIT("string") },
    { LICET_STR_INIT("b"), NULL, LICET_STR_INIT("bool") },
    { LICET_STR_INIT("d"), NULL, LICET_STR_INIT("dyn") },
    { LICET_STR_INIT("l"), NULL, LICET_STR_INIT("list(int)") },
    { LICET_STR_INIT("m"), NULL, LICET_STR_INIT("map(string, dyn)") },
    { LICET_STR_INIT("o"), NULL, LICET_STR_INIT("optional(int)") },
    { LICET_STR_INIT("ip"), NULL, LICET_STR_INIT("ipaddress") },
};

static lic_cel *compile(lic_memory *memory, lic_str text, licet_kind *kind)
{
    lic_cel_source source = { text, parameters, sizeof parameters / sizeof *parameters, false };
    licet_error   *error  = NULL;
    lic_cel       *cel;
    uint64_t       used;

    if ((lic_cel_compile(memory, &source, &cel, &used, &error) == LICET_OK) != (cel != NULL))
        abort();
    *kind = licet_error_kind(error);
    licet_error_free(error);
    return cel;
}

static bool same_code(const lic_cel_code *a, const lic_cel_code *b)
{
    return a->count == b->count && a->constant_count == b->constant_count && a->max_stack == b->max_stack &&
           memcmp(a->instructions, b->instructions, a->count * sizeof *a->instructions) == 0;
}

/* Printing may make a text longer than a text may be: bytes take four characters each. */
static void print_and_compare(lic_memory *memory, lic_str text, const lic_cel *cel)
{
    lic_cel_source source = { text, parameters, sizeof parameters / sizeof *parameters, false };
    lic_text       printed;
    lic_cel       *again;
    licet_kind     kind;

    lic_text_init(&printed, memory);
    if (lic_cel_format(memory, &source, &printed, NULL) != LICET_OK)
        abort();
    again = compile(memory, lic_text_str(&printed), &kind);
    if (again == NULL ? kind != LICET_KIND_LIMIT : !same_code(&cel->code, &again->code))
        abort();
    lic_cel_free(again);
    lic_text_free(&printed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lic_str    text = { (const char *)data, size };
    lic_memory memory;
    licet_kind kind;
    lic_cel   *cel;

    lic_memory_init(&memory, NULL, SIZE_MAX);
    cel = compile(&memory, text, &kind);
    if (cel != NULL)
        print_and_compare(&memory, text, cel);
    lic_cel_free(cel);
    if (memory.used != 0)
        abort();
    return 0;
}

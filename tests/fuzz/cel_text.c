/* The border of expressions: any bytes compile or are refused, whoever asks and however much memory there is; and what
 * compiles is printed as something that compiles to the same code and is printed the same. */
#include "caveat/compiler.h"
#include "caveat/unparse.h"
#include "must.h"

static const lic_cel_parameter parameters[] = {
    { LICET_STR_INIT("x"), NULL, LICET_STR_INIT("int") },
    { LICET_STR_INIT("s"), NULL, LICET_STR_INIT("string") },
    { LICET_STR_INIT("b"), NULL, LICET_STR_INIT("bool") },
    { LICET_STR_INIT("d"), NULL, LICET_STR_INIT("dyn") },
    { LICET_STR_INIT("l"), NULL, LICET_STR_INIT("list(int)") },
    { LICET_STR_INIT("m"), NULL, LICET_STR_INIT("map(string, dyn)") },
    { LICET_STR_INIT("o"), NULL, LICET_STR_INIT("optional(int)") },
    { LICET_STR_INIT("i"), NULL, LICET_STR_INIT("ipaddress") },
};

#define PARAMETERS (sizeof parameters / sizeof *parameters)

static lic_cel_source source_of(lic_str text)
{
    return (lic_cel_source){ .text = text, .parameters = parameters, .parameter_count = PARAMETERS };
}

static licet_kind compile(lic_memory *memory, lic_str text, lic_cel **cel, uint64_t *used)
{
    const lic_cel_source source = source_of(text);
    licet_error         *error  = NULL;
    const bool           made   = lic_cel_compile(memory, &source, cel, used, &error) == LICET_OK;
    const licet_kind     kind   = licet_error_kind(error);

    must(made == (*cel != NULL) && made == (error == NULL) && (*used >> PARAMETERS) == 0);
    if (!made)
        must_explain(error, text);
    return kind;
}

/* What the schema's compiler asks; and what a caveat must be besides. */
static void check_only(lic_memory *memory, lic_str text, licet_kind kind, uint64_t used)
{
    lic_cel_source source = source_of(text);
    licet_error   *error  = NULL;
    uint64_t       found;

    must((lic_cel_compile(memory, &source, NULL, &found, &error) == LICET_OK) == (kind == LICET_KIND_NONE));
    must(licet_error_kind(error) == kind && found == used);
    licet_error_free(error);
    error               = NULL;
    source.must_be_bool = true;
    if (lic_cel_compile(memory, &source, NULL, NULL, &error) == LICET_OK)
        must(kind == LICET_KIND_NONE);
    else
        must(licet_error_kind(error) == (kind == LICET_KIND_NONE ? LICET_KIND_TYPE : kind));
    licet_error_free(error);
}

static void compile_with_little_memory(lic_str text, licet_kind expected)
{
    lic_memory memory;
    lic_cel   *cel;
    uint64_t   used;
    licet_kind kind;

    lic_memory_init(&memory, NULL, little_memory(text));
    kind = compile(&memory, text, &cel, &used);
    must(kind == expected || kind == LICET_KIND_NOMEM);
    lic_cel_free(cel);
    must(memory.used == 0);
}

/* ------------------------------------------------------------------ printing */

static bool same_constant(const lic_cel_value *a, const lic_cel_value *b)
{
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case LIC_CEL_NULL:
        return true;
    case LIC_CEL_BOOL:
        return a->boolean == b->boolean;
    case LIC_CEL_STRING:
    case LIC_CEL_BYTES:
    case LIC_CEL_TYPE:
        return lic_str_equal(a->text, b->text);
    case LIC_CEL_LIST: /* of indices */
        if (a->list->count != b->list->count)
            return false;
        for (size_t i = 0; i < a->list->count; i++)
            if (a->list->items[i].integer != b->list->items[i].integer)
                return false;
        return true;
    default:
        return a->uinteger == b->uinteger; /* or the bits of the others */
    }
}

static bool same_code(const lic_cel_code *a, const lic_cel_code *b)
{
    if (a->count != b->count || a->constant_count != b->constant_count || a->max_stack != b->max_stack ||
        a->max_loops != b->max_loops ||
        memcmp(a->instructions, b->instructions, a->count * sizeof *a->instructions) != 0)
        return false;
    for (size_t i = 0; i < a->constant_count; i++)
        if (!same_constant(&a->constants[i], &b->constants[i]))
            return false;
    return true;
}

static void print(lic_memory *memory, lic_str text, lic_text *printed)
{
    const lic_cel_source source = source_of(text);

    lic_text_init(printed, memory);
    must(lic_cel_format(memory, &source, printed, NULL) == LICET_OK && !printed->failed);
}

/* Printing may make a text longer than a text may be: bytes take four characters each. */
static void print_and_compare(lic_memory *memory, lic_str text, const lic_cel *cel)
{
    lic_text   printed;
    lic_text   reprinted;
    lic_cel   *again;
    uint64_t   used;
    licet_kind kind;

    print(memory, text, &printed);
    kind = compile(memory, lic_text_str(&printed), &again, &used);
    must(kind == LICET_KIND_NONE || kind == LICET_KIND_LIMIT);
    if (again != NULL) {
        must(same_code(&cel->code, &again->code));
        print(memory, lic_text_str(&printed), &reprinted);
        must(lic_str_equal(lic_text_str(&printed), lic_text_str(&reprinted)));
        lic_text_free(&reprinted);
    }
    lic_cel_free(again);
    lic_text_free(&printed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lic_str    text = { (const char *)data, size };
    lic_memory memory;
    licet_kind kind;
    lic_cel   *cel;
    uint64_t   used;

    lic_memory_init(&memory, NULL, SIZE_MAX);
    kind = compile(&memory, text, &cel, &used);
    check_only(&memory, text, kind, used);
    if (cel != NULL)
        print_and_compare(&memory, text, cel);
    lic_cel_free(cel);
    must(memory.used == 0);
    compile_with_little_memory(text, kind);
    return 0;
}

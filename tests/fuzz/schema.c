/* The schema border: any bytes are parsed or refused, and what is accepted survives being formatted. */
#include <stdlib.h>

#include "schema/format.h"
#include "schema/parser.h"

/* The same parse of the same text, with its canonical form. */
typedef struct outcome {
    lic_arena arena;
    lic_ast  *ast;
    lic_text  formatted;
} outcome;

static licet_kind outcome_make(outcome *o, lic_memory *memory, lic_str text)
{
    licet_error *error = NULL;
    licet_kind   kind;

    lic_arena_init(&o->arena, memory);
    lic_text_init(&o->formatted, memory);
    if (lic_parse(&o->arena, text, NULL, &o->ast, &error) == LICET_OK)
        lic_format(o->ast, &o->formatted);
    kind = licet_error_kind(error);
    if ((o->ast == NULL) != (kind != LICET_KIND_NONE) || o->formatted.failed)
        abort();
    licet_error_free(error);
    return kind;
}

static void outcome_clear(outcome *o)
{
    lic_text_free(&o->formatted);
    lic_arena_free(&o->arena);
}

/* Two things may keep a canonical text from being read back: it grew past a limit, or a partial from before a
 * `use` line has names that are keywords behind it. */
static bool may_be_refused(lic_str text, licet_kind kind)
{
    return kind == LICET_KIND_LIMIT || memmem(text.data, text.size, "partial", 7) != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lic_str    text = { (const char *)data, size };
    lic_memory memory;
    outcome    first;

    lic_memory_init(&memory, NULL, SIZE_MAX);
    if (outcome_make(&first, &memory, text) == LICET_KIND_NONE) {
        outcome    second;
        licet_kind kind = outcome_make(&second, &memory, lic_text_str(&first.formatted));

        if (kind != LICET_KIND_NONE && !may_be_refused(text, kind))
            abort();
        if (kind == LICET_KIND_NONE && !lic_str_equal(lic_text_str(&first.formatted), lic_text_str(&second.formatted)))
            abort();
        outcome_clear(&second);
    }
    outcome_clear(&first);
    if (memory.used != 0)
        abort();
    return 0;
}

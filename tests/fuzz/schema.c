/* The schema border: any bytes are parsed, checked and compiled, or refused with a place in them; and what is accepted
 * is so as its canonical form, which formats to itself. Strict, nothing is taken that is not taken else. */
#include "must.h"
#include "schema/format.h"
#include "schema/parser.h"
#include "schema/schema.h"

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
    must((o->ast == NULL) == (kind != LICET_KIND_NONE) && !o->formatted.failed);
    if (kind != LICET_KIND_NONE)
        must_explain(error, text);
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

static void parse_and_format(lic_memory *memory, lic_str text)
{
    outcome    first, second;
    licet_kind kind;

    if (outcome_make(&first, memory, text) == LICET_KIND_NONE) {
        kind = outcome_make(&second, memory, lic_text_str(&first.formatted));
        must(kind == LICET_KIND_NONE || may_be_refused(text, kind));
        if (kind == LICET_KIND_NONE)
            must(lic_str_equal(lic_text_str(&first.formatted), lic_text_str(&second.formatted)));
        outcome_clear(&second);
    }
    outcome_clear(&first);
}

/* ------------------------------------------------------------------ compiling */

static licet_kind compile(lic_memory *memory, lic_str text, bool strict, licet_schema **schema)
{
    licet_schema_request request = LICET_SCHEMA_REQUEST_INIT;
    licet_error         *error   = NULL;
    licet_kind           kind;

    request.text   = text;
    request.strict = strict;
    must((lic_schema_new(memory, NULL, &request, schema, &error) == LICET_OK) == (*schema != NULL));
    kind = licet_error_kind(error);
    must((kind == LICET_KIND_NONE) == (*schema != NULL));
    if (*schema == NULL)
        must_explain(error, text);
    return kind;
}

static void must_have_clean_lints(const licet_schema *schema)
{
    licet_lint lint = LICET_LINT_INIT;

    for (size_t i = 0; licet_schema_lint(schema, i, &lint); i++)
        must(lint.line > 0 && lint.column > 0 && lint.name.size > 0 && lint.message.size > 0);
}

static void compile_formatted(lic_memory *memory, lic_str text, const licet_schema *schema)
{
    licet_buffer  out = LICET_BUFFER_INIT;
    licet_schema *again;
    licet_kind    kind;

    must(licet_schema_format(schema, &out, NULL) == LICET_OK);
    kind = compile(memory, (lic_str){ out.data, out.size }, false, &again);
    must(kind == LICET_KIND_NONE || may_be_refused(text, kind));
    if (again != NULL)
        must(licet_schema_definition_count(again) == licet_schema_definition_count(schema));
    licet_schema_release(again);
    licet_buffer_clear(&out);
}

static void compile_all(lic_memory *memory, lic_str text)
{
    licet_schema *lax;
    licet_schema *strict;

    (void)compile(memory, text, false, &lax);
    (void)compile(memory, text, true, &strict);
    must(strict == NULL || lax != NULL);
    if (lax != NULL) {
        must(lic_str_equal(licet_schema_text(lax), text));
        must_have_clean_lints(lax);
        compile_formatted(memory, text, lax);
    }
    licet_schema_release(lax);
    licet_schema_release(strict);
}

static void compile_with_little_memory(lic_str text)
{
    lic_memory   *memory = lic_memory_new(NULL, 4096 + 4 * little_memory(text));
    licet_schema *schema;

    must(memory != NULL);
    (void)compile(memory, text, false, &schema);
    licet_schema_release(schema);
    lic_memory_release(memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lic_str     text   = { (const char *)data, size };
    lic_memory *memory = lic_memory_new(NULL, SIZE_MAX);
    size_t      used   = memory == NULL ? 0 : memory->used;

    must(memory != NULL);
    parse_and_format(memory, text);
    compile_all(memory, text);
    must(memory->used == used);
    lic_memory_release(memory);
    compile_with_little_memory(text);
    return 0;
}

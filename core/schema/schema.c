/* The schema's handle, and the public functions about schemas. */
#include "schema/schema.h"

#include "schema/checker.h"
#include "schema/format.h"
#include "schema/lint.h"
#include "schema/parser.h"

#define DEFAULT_MEMORY_LIMIT ((uint64_t)256 << 20)
#define MIN_MEMORY_LIMIT ((uint64_t)1 << 20)
#define MAX_MEMORY_LIMIT ((uint64_t)1 << 40)

static licet_schema *schema_new(lic_memory *memory)
{
    licet_schema *schema = lic_alloc_zero(memory, sizeof *schema);

    if (schema == NULL)
        return NULL;
    atomic_init(&schema->references, 1);
    lic_memory_retain(memory);
    schema->memory = memory;
    lic_arena_init(&schema->arena, memory);
    return schema;
}

static licet_status schema_check(const licet_schema *schema, bool allow_unused, licet_error **error)
{
    lic_arena    scratch;
    licet_status status;

    lic_arena_init(&scratch, schema->memory);
    status = lic_check_types(&scratch, schema->ast, allow_unused, error);
    lic_arena_free(&scratch);
    return status;
}

static licet_status schema_compile(licet_schema *schema, lic_names *names, licet_error **error)
{
    lic_names   *own = names == NULL ? lic_names_new(schema->memory) : NULL;
    licet_status status;

    if (names == NULL && own == NULL)
        return lic_fail_memory(error);
    status = lic_compile(schema->memory, names == NULL ? own : names, schema->ast, &schema->program, error);
    if (own != NULL)
        lic_names_free(own);
    return status;
}

licet_status lic_schema_new(lic_memory *memory, lic_names *names, const licet_schema_request *request,
                            licet_schema **schema, licet_error **error)
{
    lic_parse_options options = { .folder = request->folder, .strict = request->strict };
    licet_schema     *made    = schema_new(memory);
    licet_status      status  = LICET_OUT_OF_MEMORY;

    *schema = NULL;
    if (made == NULL)
        return lic_fail_memory(error);
    LIC_TRY(lic_parse(&made->arena, request->text, &options, &made->ast, error));
    made->text = made->ast->sources[0].text;
    LIC_TRY(schema_check(made, request->allow_unused_parameters, error));
    LIC_TRY(schema_compile(made, names, error));
    if (!lic_lint(&made->arena, made->ast, &made->lints, &made->lint_count))
        LIC_TRY(lic_fail_memory(error));
    *schema = made;
    made    = NULL;
done:
    licet_schema_release(made);
    return status;
}

/* The parts of the options that a schema alone has a use for. */
static licet_status check_options(const licet_options *options, licet_error **error)
{
    const licet_allocator *hooks = &options->allocator;
    uint64_t               limit = options->memory_limit_bytes;
    bool                   some  = hooks->alloc != NULL || hooks->resize != NULL || hooks->free != NULL;
    bool                   all   = hooks->alloc != NULL && hooks->resize != NULL && hooks->free != NULL;

    if (options->size != sizeof *options)
        return lic_fail(error, LICET_MISUSE, LICET_KIND_MISUSE, LIC_NOWHERE,
                        "options of %zu bytes; this version of licet has %zu", options->size, sizeof *options);
    if (some != all)
        return lic_fail(error, LICET_INVALID_ARGUMENT, LICET_KIND_CONFIG, LIC_NOWHERE,
                        "the allocator needs all three of its functions, or none");
    if (limit != 0 && (limit < MIN_MEMORY_LIMIT || limit > MAX_MEMORY_LIMIT || limit > SIZE_MAX))
        return lic_fail(error, LICET_INVALID_ARGUMENT, LICET_KIND_CONFIG, LIC_NOWHERE,
                        "memory_limit_bytes is %llu; it has to be 1 MiB to 1 TiB, or 0 for 256 MiB",
                        (unsigned long long)limit);
    return LICET_OK;
}

static licet_status check_request(const licet_schema_request *request, licet_error **error)
{
    if (request == NULL)
        return lic_fail(error, LICET_MISUSE, LICET_KIND_MISUSE, LIC_NOWHERE, "no request was given");
    if (request->size != sizeof *request)
        return lic_fail(error, LICET_MISUSE, LICET_KIND_MISUSE, LIC_NOWHERE,
                        "a schema request of %zu bytes; this version of licet has %zu", request->size, sizeof *request);
    if (!lic_str_given(request->text))
        return lic_fail(error, LICET_MISUSE, LICET_KIND_MISUSE, LIC_NOWHERE, "no schema text was given");
    return LICET_OK;
}

licet_status licet_schema_parse(const licet_schema_request *request, const licet_options *options,
                                licet_schema **schema, licet_error **error)
{
    static const licet_options defaults = LICET_OPTIONS_INIT;
    licet_schema_request       wanted;
    lic_memory                *memory;
    licet_status               status;

    if (error != NULL)
        *error = NULL;
    if (schema == NULL)
        return lic_fail(error, LICET_MISUSE, LICET_KIND_MISUSE, LIC_NOWHERE, "no place for the schema was given");
    *schema = NULL;
    if (options == NULL)
        options = &defaults;
    if ((status = check_request(request, error)) != LICET_OK || (status = check_options(options, error)) != LICET_OK)
        return status;
    memory =
        lic_memory_new(&options->allocator,
                       (size_t)(options->memory_limit_bytes == 0 ? DEFAULT_MEMORY_LIMIT : options->memory_limit_bytes));
    if (memory == NULL)
        return lic_fail_memory(error);
    wanted        = *request;
    wanted.strict = wanted.strict || options->strict;
    status        = lic_schema_new(memory, NULL, &wanted, schema, error);
    lic_memory_release(memory); /* the schema holds it now, or nobody */
    return status;
}

void licet_schema_retain(licet_schema *schema)
{
    if (schema != NULL)
        atomic_fetch_add_explicit(&schema->references, 1, memory_order_relaxed);
}

void licet_schema_release(licet_schema *schema)
{
    lic_memory *memory;

    if (schema == NULL || atomic_fetch_sub_explicit(&schema->references, 1, memory_order_acq_rel) != 1)
        return;
    memory = schema->memory;
    lic_program_release(schema->program);
    lic_arena_free(&schema->arena);
    lic_free(memory, schema, sizeof *schema);
    lic_memory_release(memory);
}

licet_str licet_schema_text(const licet_schema *schema)
{
    return schema == NULL ? (licet_str){ NULL, 0 } : schema->text;
}

licet_status licet_schema_format(const licet_schema *schema, licet_buffer *out, licet_error **error)
{
    lic_text text;

    if (error != NULL)
        *error = NULL;
    if (out == NULL || out->size_of_record != sizeof *out)
        return lic_fail(error, LICET_MISUSE, LICET_KIND_MISUSE, LIC_NOWHERE,
                        "no buffer was given, or one not made by LICET_BUFFER_INIT");
    out->data = NULL;
    out->size = 0;
    if (schema == NULL)
        return lic_fail(error, LICET_MISUSE, LICET_KIND_MISUSE, LIC_NOWHERE, "no schema was given");
    lic_text_init(&text, schema->memory);
    lic_format(schema->ast, &text);
    return lic_text_to_buffer(&text, out) ? LICET_OK : lic_fail_memory(error);
}

size_t licet_schema_lint_count(const licet_schema *schema)
{
    return schema == NULL ? 0 : schema->lint_count;
}

bool licet_schema_lint(const licet_schema *schema, size_t index, licet_lint *lint)
{
    if (schema == NULL || lint == NULL || lint->size != sizeof *lint || index >= schema->lint_count)
        return false;
    *lint = schema->lints[index];
    return true;
}

size_t licet_schema_definition_count(const licet_schema *schema)
{
    return schema == NULL ? 0 : schema->program->definition_count;
}

licet_str licet_schema_definition(const licet_schema *schema, size_t index)
{
    if (schema == NULL || index >= schema->program->definition_count)
        return (licet_str){ NULL, 0 };
    return schema->program->definitions[index].name;
}

/* Runs a validation file: decode, load all of it at once, then what it claims. Defines licet_validate(). */
#include "engine/load.h"
#include "validation/expectations.h"

/* SpiceDB's developer tools (pkg/development). */
#define DEFAULT_DEPTH 25u /* as SpiceDB's developer tools */
#define MAX_DEPTH 1000u   /* as that of an engine */

typedef struct validation {
    licet_engine                 *engine;
    const licet_validate_request *request;
    lic_arena                     arena;
    lic_validation_file           file;
    licet_report                 *report;
    licet_error                 **error;
} validation;

/* ----------------------------------------------------------------------- the schema */

/* A schema file is imported: so it is opened like any import, inside the folder or not at all. */
static licet_status import_text(validation *v, lic_str *text)
{
    lic_str  path = v->file.schema_file;
    lic_text made;
    lic_str  copy = { NULL, 0 };

    if (!lic_str_given(v->request->folder) || lic_str_find(path, '"') < path.size ||
        lic_str_find(path, '\n') < path.size)
        return lic_fail(
            v->error, LICET_INVALID_ARGUMENT, LICET_KIND_CONFIG, v->file.schema_file_position, "schema file %Q: %s",
            &path, lic_str_given(v->request->folder) ? "not a usable path" : "no folder was given to read it from");
    lic_text_init(&made, v->arena.memory);
    lic_text_add_literal(&made, "use import\nimport \"");
    lic_text_add(&made, path);
    lic_text_add_literal(&made, "\"\n");
    if (!made.failed)
        copy = lic_arena_str(&v->arena, lic_text_str(&made));
    lic_text_free(&made);
    *text = copy;
    return lic_str_given(copy) ? LICET_OK : lic_fail_memory(v->error);
}

static licet_status schema_request(validation *v, licet_schema_request *request)
{
    *request                         = (licet_schema_request)LICET_SCHEMA_REQUEST_INIT;
    request->folder                  = v->request->folder;
    request->allow_unused_parameters = true;
    if (v->file.schema == NULL)
        return import_text(v, &request->text);
    request->text = v->file.schema->text;
    return LICET_OK;
}

/* Byte offset of a line and column. */
static size_t offset_of(lic_str text, uint32_t line, uint32_t column)
{
    size_t at = 0;

    while (line > 1 && at < text.size) {
        at += lic_str_find(lic_str_slice(text, at, text.size), '\n') + 1;
        line--;
    }
    while (column > 1 && at < text.size) {
        at++;
        while (at < text.size && ((unsigned char)text.data[at] & 0xc0) == 0x80)
            at++;
        column--;
    }
    return at < text.size ? at : text.size;
}

/* An error inside an imported file says so ("in ...") and keeps its position there; any other gets its place in the
 * YAML. */
static void place_schema_error(validation *v)
{
    licet_error *error = v->error == NULL ? NULL : *v->error;
    uint32_t     line  = licet_error_line(error);

    if (line == 0 || lic_str_starts_with(licet_error_message(error), LIC_STR("in ")))
        return;
    if (v->file.schema == NULL)
        lic_error_place(error, v->file.schema_file_position);
    else
        lic_error_place(error, lic_yaml_position(v->file.source, v->file.schema,
                                                 offset_of(v->file.schema->text, line, licet_error_column(error))));
}

/* ------------------------------------------------------------------------ loading */

static licet_status load(validation *v)
{
    const lic_validation_file *file = &v->file;
    licet_schema_request       schema;
    size_t                     culprit;
    licet_status               status;

    status = schema_request(v, &schema);
    if (status != LICET_OK)
        return status;
    status = lic_engine_load(v->engine, &schema, file->relationships, file->relationship_count, &culprit, v->error);
    if (status == LICET_OK)
        v->report->counts.relationships = file->relationship_count;
    else if (status == LICET_OUT_OF_MEMORY || v->error == NULL)
        return status;
    else if (culprit == LIC_LOAD_SCHEMA)
        place_schema_error(v);
    else
        lic_error_place(*v->error, file->relationship_positions[culprit]);
    return status;
}

/* ------------------------------------------------------------------------- running */

/* Lints of a schema that was written into the file, at their place there. */
static licet_status report_lints(validation *v, const licet_schema *schema)
{
    for (size_t i = 0; i < schema->lint_count; i++) {
        const licet_lint *lint     = &schema->lints[i];
        lic_position      position = { lint->line, lint->column };

        if (v->file.schema != NULL)
            position = lic_yaml_position(v->file.source, v->file.schema,
                                         offset_of(v->file.schema->text, lint->line, lint->column));
        if (!lic_report_add(v->report, true, "schema", "LINT", position, lint->message))
            return lic_fail_memory(v->error);
    }
    return LICET_OK;
}

/* What was loaded is in the database: the graph may not show it yet, or never follow. */
static licet_status pin_loaded(const licet_engine *engine, lic_snapshot *snapshot, licet_error **error)
{
    static const licet_filter everything = LICET_FILTER_INIT;
    const licet_consistency   full       = { LICET_FULLY_CONSISTENT, { NULL, 0 }, false };
    const lic_need            all        = { .kind = LIC_NEED_ROWS, .filter = &everything };

    return lic_engine_pin(engine, &full, &all, snapshot, error);
}

static licet_status run(validation *v)
{
    licet_engine    *engine = v->engine;
    lic_snapshot     snapshot;
    lic_expectations run;
    licet_status     status;

    status = pin_loaded(engine, &snapshot, v->error);
    if (status != LICET_OK)
        return status;
    run                  = (lic_expectations){ .engine   = engine,
                                               .memory   = engine->memory,
                                               .now      = lic_instant_of(lic_engine_now(engine)),
                                               .names    = engine->names,
                                               .program  = lic_engine_program(engine, &snapshot),
                                               .snapshot = &snapshot,
                                               .limits   = engine->limits,
                                               .report   = v->report };
    run.limits.max_depth = v->request->max_depth == 0 ? DEFAULT_DEPTH : v->request->max_depth;
    LIC_TRY(lic_run_assertions(&run, &v->file, v->error));
    LIC_TRY(lic_run_expected_relations(&run, &v->file, v->error));
    LIC_TRY(report_lints(v, lic_engine_schema(engine, &snapshot)));
done:
    lic_engine_unpin(&snapshot);
    return status;
}

static licet_status validate(validation *v)
{
    licet_status status;

    if (!lic_str_given(v->request->text))
        return lic_fail(v->error, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, LIC_NOWHERE,
                        "the validation file's text is not given");
    LIC_TRY(lic_validation_file_parse(&v->arena, v->request->text, v->report, &v->file, v->error));
    LIC_TRY(load(v));
    if (!v->request->load_only)
        LIC_TRY(run(v));
done:
    return status;
}

licet_status licet_validate(licet_engine *engine, const licet_validate_request *request, licet_report **report,
                            licet_error **error)
{
    validation   v = { .engine = engine, .request = request, .error = error };
    lic_call     call;
    licet_status status;

    lic_error_begin(error);
    if (report == NULL)
        return lic_fail_record(error, "report");
    *report = NULL;
    if (!LIC_RECORD_KNOWN(request))
        return lic_fail_record(error, "request");
    if (request->max_depth > MAX_DEPTH)
        return lic_fail(error, LICET_INVALID_ARGUMENT, LICET_KIND_CONFIG, LIC_NOWHERE,
                        "max_depth is %u; it has to be 1 to %u, or 0 for %u", (unsigned)request->max_depth, MAX_DEPTH,
                        DEFAULT_DEPTH);
    status = lic_engine_enter(engine, &call, error);
    if (status != LICET_OK)
        return status;
    lic_arena_init(&v.arena, engine->memory);
    v.report = lic_report_new(engine->memory);
    status   = v.report == NULL ? lic_fail_memory(error) : validate(&v);
    lic_arena_free(&v.arena);
    if (status == LICET_OK)
        *report = v.report;
    else
        licet_report_release(v.report);
    lic_engine_leave(&call);
    return status;
}

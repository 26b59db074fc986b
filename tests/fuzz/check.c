/* The whole way of a caveat: an expression, a line end, values as JSON. The expression becomes a caveat of a schema,
 * the values come with the relationship, with the request, or with both; and what is asked is answered as the
 * expression says: yes, no, conditional on the names that are missing, or an error, which is never an answer. Unions,
 * intersections and exclusions keep to three-valued logic, with an error as unknown as a value that is missing. Half of
 * the inputs ask a strict engine. */
#include <string.h>

#include "datastore/context.h"
#include "engine/context.h"
#include "must.h"
#include "values.h"

/* What one question has to come to. */
typedef enum truth { NO, YES, OPEN, REFUSED, OVER_LIMIT } truth;

typedef struct answer {
    truth    truth;
    uint64_t missing; /* parameters, of OPEN */
} answer;

/* An engine whose schema has the caveat, and the same expression by itself. */
typedef struct world {
    licet_engine  *engine;
    const lic_cel *cel;
    uint64_t       used; /* parameters of the caveat */
    bool           strict;
    lic_memory    *memory; /* of what is expected */
} world;

/* ------------------------------------------------------------------ expected */

static answer evaluate(const lic_cel *cel, lic_memory *memory, const lic_cel_value *values)
{
    lic_cel_budget budget = { 100000, 1 << 20 };
    const char    *limit  = NULL;
    answer         out    = { OVER_LIMIT, 0 };
    lic_cel_value  result;
    lic_arena      arena;

    lic_arena_init(&arena, memory);
    if (lic_cel_evaluate(cel, values, &arena, &budget, &result, &limit)) {
        if (result.kind == LIC_CEL_BOOL)
            out.truth = result.boolean ? YES : NO;
        else
            out.truth = result.kind == LIC_CEL_UNKNOWN ? OPEN : REFUSED;
        out.missing = result.kind == LIC_CEL_UNKNOWN ? result.unknown : 0;
    }
    lic_arena_free(&arena);
    return out;
}

/* A value of a parameter that the caveat has not is nobody's business. */
static answer expect(const world *w, const lic_context_values *object)
{
    lic_cel_value values[PARAMETERS];
    uint64_t      given, refused;
    lic_arena     arena;
    answer        out = { REFUSED, 0 };

    lic_arena_init(&arena, w->memory);
    values_of(&arena, object, w->strict, values, &given, &refused);
    if ((refused & w->used) == 0)
        out = evaluate(w->cel, w->memory, values);
    lic_arena_free(&arena);
    return out;
}

/* --------------------------------------------------------------------- a world */

static const char HEAD[] = "definition user {}\n"
                           "definition folder {\n"
                           "  relation owner: user with c\n"
                           "}\n"
                           "definition doc {\n"
                           "  relation base: user\n"
                           "  relation nobody: user\n"
                           "  relation folder: folder\n"
                           "  relation fresh: user with c\n"
                           "  relation kept: user with c\n"
                           "  permission either = nobody + fresh\n"
                           "  permission surely = fresh + base\n"
                           "  permission both = base & fresh\n"
                           "  permission never = fresh & nobody\n"
                           "  permission unless = base - fresh\n"
                           "  permission not_unless = base - unless\n"
                           "  permission none_less = nobody - fresh\n"
                           "  permission through = folder->owner\n"
                           "  permission through_all = folder.all(owner)\n"
                           "}\n"
                           "caveat c(";

static void write_schema(lic_text *text, lic_str expression, uint64_t used)
{
    lic_text_add_literal(text, HEAD);
    for (size_t i = 0; i < PARAMETERS; i++) {
        if (((used >> i) & 1) == 0)
            continue;
        lic_text_add(text, (used & ((UINT64_C(1) << i) - 1)) == 0 ? LIC_STR("") : LIC_STR(", "));
        lic_text_add(text, fuzz_parameters[i].name);
        lic_text_add_char(text, ' ');
        lic_text_add(text, (lic_str){ fuzz_type_names[i], strlen(fuzz_type_names[i]) });
    }
    lic_text_add_literal(text, ") {\n");
    lic_text_add(text, expression);
    lic_text_add_literal(text, "\n}\n");
    must(!text->failed);
}

/* false: the expression is none that a schema can hold. */
static bool open_engine(world *w, lic_str expression)
{
    licet_options options = LICET_OPTIONS_INIT;
    licet_error  *error   = NULL;
    lic_text      text;

    options.strict = w->strict;
    must(licet_open(LICET_STR("memory:"), &options, &w->engine, NULL) == LICET_OK);
    lic_text_init(&text, w->memory);
    write_schema(&text, expression, w->used);
    if (licet_write_schema(w->engine, lic_text_str(&text), NULL, &error) != LICET_OK) {
        must_explain(error, lic_text_str(&text));
        licet_engine_release(w->engine);
        w->engine = NULL;
    }
    lic_text_free(&text);
    return w->engine != NULL;
}

static licet_status write_relationship(const world *w, const char *text, lic_str caveat, lic_str context)
{
    licet_update        update  = { LICET_TOUCH, LICET_RELATIONSHIP_INIT };
    licet_write_request request = LICET_WRITE_REQUEST_INIT;
    licet_error        *error   = NULL;
    licet_status        status;

    must(licet_relationship_parse((lic_str){ text, strlen(text) }, &update.relationship, NULL) == LICET_OK);
    update.relationship.caveat_name    = caveat;
    update.relationship.caveat_context = context;
    request.updates                    = &update;
    request.update_count               = 1;
    status                             = licet_write(w->engine, &request, NULL, &error);
    if (status != LICET_OK)
        must_explain(error, context);
    return status;
}

/* --------------------------------------------------------------------- asking */

static bool is_expected(const licet_result *result, licet_status status, answer expected)
{
    uint64_t missing = 0;

    for (size_t i = 0; i < result->missing_count; i++)
        for (size_t p = 0; p < PARAMETERS; p++)
            if (lic_str_equal(result->missing[i], fuzz_parameters[p].name))
                missing |= UINT64_C(1) << p;
    if (status != LICET_OK && (result->permissionship != LICET_NO_PERMISSION || licet_result_allowed(result)))
        return false;
    switch (expected.truth) {
    case NO:
        return status == LICET_OK && result->permissionship == LICET_NO_PERMISSION;
    case YES:
        return status == LICET_OK && licet_result_allowed(result);
    case OPEN:
        return status == LICET_OK && result->permissionship == LICET_CONDITIONAL_PERMISSION &&
               !licet_result_allowed(result) && missing == expected.missing;
    case REFUSED:
        return status == LICET_INVALID_ARGUMENT;
    default:
        return status == LICET_LIMIT_EXCEEDED;
    }
}

static void must_answer(const world *w, const char *permission, lic_str context, answer expected)
{
    licet_check_request request = LICET_CHECK_REQUEST_INIT;
    licet_result        result  = LICET_RESULT_INIT;
    licet_error        *error   = NULL;
    licet_status        status;

    request.resource   = LICET_STR("doc:d");
    request.permission = (lic_str){ permission, strlen(permission) };
    request.subject    = LICET_STR("user:u");
    request.context    = context;
    status             = licet_check(w->engine, &request, &result, &error);
    must((status == LICET_OK) == (error == NULL));
    must(status == LICET_DEADLINE_EXCEEDED || is_expected(&result, status, expected));
    if (error != NULL)
        must_explain(error, context);
    licet_result_clear(&result);
}

static answer not_(answer a)
{
    if (a.truth == YES || a.truth == NO)
        a.truth = a.truth == YES ? NO : YES;
    return a;
}

/* What a bulk check says of the same question. */
static void must_answer_in_bulk(const world *w, lic_str context, answer expected)
{
    licet_consistency   now         = { LICET_MINIMIZE_LATENCY, { NULL, 0 }, false };
    licet_check_request requests[2] = { LICET_CHECK_REQUEST_INIT, LICET_CHECK_REQUEST_INIT };
    licet_result        results[2]  = { LICET_RESULT_INIT, LICET_RESULT_INIT };

    for (size_t i = 0; i < 2; i++) {
        requests[i].resource   = LICET_STR("doc:d");
        requests[i].permission = LICET_STR("both");
        requests[i].subject    = i == 0 ? LICET_STR("user:u") : LICET_STR("user:stranger");
        requests[i].context    = context;
    }
    must(licet_check_bulk(w->engine, requests, 2, now, results, NULL) == LICET_OK);
    must(results[0].status == LICET_DEADLINE_EXCEEDED || is_expected(&results[0], results[0].status, expected));
    must(is_expected(&results[1], results[1].status, (answer){ NO, 0 }));
    licet_result_clear(&results[0]);
    licet_result_clear(&results[1]);
}

static void ask_all(const world *w, lic_str context, answer fresh)
{
    static const char *const same[] = { "fresh", "either", "both", "not_unless", "through", "through_all" };

    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
        must_answer(w, same[i], context, fresh);
    must_answer(w, "unless", context, not_(fresh));
    must_answer(w, "surely", context, (answer){ YES, 0 });
    must_answer(w, "never", context, (answer){ NO, 0 });
    must_answer(w, "none_less", context, (answer){ NO, 0 });
    must_answer_in_bulk(w, context, fresh);
}

/* ---------------------------------------------------------------- with values */

/* Of the object: those entries that are used parameters and that chance takes. Sorted as they are. */
static lic_context_values choose(lic_arena *arena, const lic_context_values *object, uint64_t used, uint64_t chance)
{
    lic_cel_entry     *entries = lic_new_array(arena, object->count, lic_cel_entry);
    lic_context_values chosen  = { entries, 0 };

    must(entries != NULL || object->count == 0);
    for (size_t i = 0; i < object->count; i++)
        for (size_t p = 0; p < PARAMETERS; p++)
            if (((used & chance) >> p & 1) != 0 && lic_str_equal(object->entries[i].key.text, fuzz_parameters[p].name))
                entries[chosen.count++] = object->entries[i];
    return chosen;
}

/* A part of the values is kept with the relationship; the request brings none, or all of them. */
static void ask_kept(const world *w, lic_arena *arena, const lic_context_values *object, lic_str context,
                     answer with_all)
{
    const lic_context_values kept = choose(arena, object, w->used, chance_of(context));
    const answer             some = expect(w, &kept);
    lic_text                 text;
    lic_str                  stored;

    lic_text_init(&text, w->memory);
    must(lic_context_print_values(&kept, &text));
    stored = kept.count == 0 ? (lic_str){ NULL, 0 } : lic_text_str(&text);
    if (write_relationship(w, "doc:d#kept@user:u", LICET_STR("c"), stored) == LICET_OK) {
        must_answer(w, "kept", (lic_str){ NULL, 0 }, some);
        must_answer(w, "kept", context, with_all);
    } else {
        must(some.truth == REFUSED);
        must_answer(w, "kept", context, (answer){ NO, 0 });
    }
    lic_text_free(&text);
}

/* *object: the values of a context that can be used; else the engine refuses it too. */
static bool read_context(const world *w, lic_arena *arena, lic_str context, lic_context_values *object)
{
    size_t       wire_bytes = 0;
    licet_error *error      = NULL;
    licet_kind   kind;

    *object = (lic_context_values){ NULL, 0 };
    (void)lic_context_read(arena, context, w->strict, object, &wire_bytes, &error);
    kind = licet_error_kind(error);
    if (error == NULL && wire_bytes > LIC_MAX_REQUEST_CONTEXT_BYTES)
        kind = LICET_KIND_LIMIT;
    licet_error_free(error);
    if (kind == LICET_KIND_NONE)
        return true;
    must_answer(w, "surely", context, (answer){ kind == LICET_KIND_LIMIT ? OVER_LIMIT : REFUSED, 0 });
    *object = (lic_context_values){ NULL, 0 };
    return false;
}

static void ask_with(const world *w, lic_str context)
{
    lic_context_values object;
    lic_arena          arena;
    answer             fresh;

    lic_arena_init(&arena, w->memory);
    if (!read_context(w, &arena, context, &object))
        context = (lic_str){ NULL, 0 };
    fresh = expect(w, &object);
    ask_all(w, context, fresh);
    ask_kept(w, &arena, &object, context, fresh);
    lic_arena_free(&arena);
}

static void write_all(const world *w)
{
    const lic_str none = { NULL, 0 };

    must(write_relationship(w, "doc:d#base@user:u", none, none) == LICET_OK);
    must(write_relationship(w, "doc:d#folder@folder:f", none, none) == LICET_OK);
    must(write_relationship(w, "doc:d#fresh@user:u", LICET_STR("c"), none) == LICET_OK);
    must(write_relationship(w, "folder:f#owner@user:u", LICET_STR("c"), none) == LICET_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lic_str              text   = { (const char *)data, size };
    size_t               end    = lic_str_find(text, '\n');
    const lic_cel_source source = { .text            = lic_str_slice(text, 0, end),
                                    .parameters      = fuzz_parameters,
                                    .parameter_count = PARAMETERS,
                                    .must_be_bool    = true };
    lic_memory           memory;
    lic_cel             *cel;
    world                w = { .memory = &memory, .strict = (chance_of(text) & 1) != 0 };

    lic_memory_init(&memory, NULL, SIZE_MAX);
    if (lic_cel_compile(&memory, &source, &cel, &w.used, NULL) == LICET_OK && w.used != 0) {
        w.cel = cel;
        if (open_engine(&w, source.text)) {
            write_all(&w);
            ask_with(&w, end < size ? lic_str_slice(text, end + 1, size) : LIC_STR("{}"));
        }
        licet_engine_release(w.engine);
    }
    lic_cel_free(cel);
    must(memory.used == 0);
    return 0;
}

/* Evaluation: an expression, a line end, values as JSON. Whatever compiles runs within its budget, always with the same
 * answer, and so does its printed form. An answer that some of the values decide, all of them do not change; what stays
 * unknown hangs on values that are not there; and less of a budget or of memory never makes another answer. */
#include "caveat/unparse.h"
#include "must.h"
#include "values.h"

typedef enum ending { ENDED, OVER_BUDGET, OUT_OF_MEMORY } ending;

/* One evaluation. */
typedef struct outcome {
    lic_memory    memory;
    lic_arena     arena;
    ending        ending;
    lic_cel_value value; /* of one that ended */
} outcome;

static const lic_cel_budget whole_budget = { 100000, 1 << 20 };

static void evaluate_within(const lic_cel *cel, const lic_cel_value *values, lic_cel_budget budget, size_t memory_bytes,
                            outcome *out)
{
    const char *limit = NULL;

    lic_memory_init(&out->memory, NULL, memory_bytes);
    lic_arena_init(&out->arena, &out->memory);
    if (lic_cel_evaluate(cel, values, &out->arena, &budget, &out->value, &limit))
        out->ending = ENDED;
    else
        out->ending = limit == NULL ? OUT_OF_MEMORY : OVER_BUDGET;
}

static void evaluate(const lic_cel *cel, const lic_cel_value *values, outcome *out)
{
    evaluate_within(cel, values, whole_budget, SIZE_MAX, out);
    must(out->ending != OUT_OF_MEMORY);
}

static void outcome_clear(outcome *out)
{
    lic_arena_free(&out->arena);
    must(out->memory.used == 0);
}

/* Of containers: as many parts. */
static bool same_value(const lic_cel_value *a, const lic_cel_value *b)
{
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case LIC_CEL_NULL:
    case LIC_CEL_IPADDRESS:
        return true;
    case LIC_CEL_BOOL:
        return a->boolean == b->boolean;
    case LIC_CEL_STRING:
    case LIC_CEL_BYTES:
    case LIC_CEL_TYPE:
        return lic_str_equal(a->text, b->text);
    case LIC_CEL_LIST:
        return a->list->count == b->list->count;
    case LIC_CEL_MAP:
        return a->map->count == b->map->count;
    case LIC_CEL_TIMESTAMP:
        return a->timestamp.seconds == b->timestamp.seconds && a->timestamp.nanoseconds == b->timestamp.nanoseconds;
    case LIC_CEL_OPTIONAL:
        return (a->optional == NULL) == (b->optional == NULL);
    case LIC_CEL_ERROR:
        return strcmp(a->error, b->error) == 0;
    default:
        return a->uinteger == b->uinteger; /* or the bits of the others */
    }
}

static bool same_outcome(const outcome *a, const outcome *b)
{
    return a->ending == b->ending && (a->ending != ENDED || same_value(&a->value, &b->value));
}

/* ---------------------------------------------------------------------- laws */

static void must_repeat(const lic_cel *cel, const lic_cel_value *values, const outcome *expected)
{
    outcome again;

    evaluate(cel, values, &again);
    must(same_outcome(expected, &again));
    outcome_clear(&again);
}

static void must_keep_to_less(const lic_cel *cel, const lic_cel_value *values, const outcome *expected, uint64_t chance)
{
    const lic_cel_budget less = { chance % 64, (size_t)(chance >> 8) % 2048 };
    outcome              out;

    evaluate_within(cel, values, less, SIZE_MAX, &out);
    must(out.ending == OVER_BUDGET || same_outcome(expected, &out));
    outcome_clear(&out);
    evaluate_within(cel, values, whole_budget, (size_t)(chance >> 20) % 8192, &out);
    must(out.ending == OUT_OF_MEMORY || same_outcome(expected, &out));
    outcome_clear(&out);
}

static void must_lack(const outcome *out, uint64_t given)
{
    if (out->ending == ENDED && out->value.kind == LIC_CEL_UNKNOWN)
        must(out->value.unknown != 0 && (out->value.unknown & given) == 0 && out->value.unknown <= ALL_PARAMETERS);
    if (out->ending == ENDED && out->value.kind == LIC_CEL_ERROR)
        must(strlen(out->value.error) < 1024 && out->value.error[0] != '\0');
}

/* SpiceDB panics on some maps, whatever "||" says. */
static bool is_panic(const lic_cel_value *value)
{
    return value->kind == LIC_CEL_ERROR && strncmp(value->error, "internal error", 14) == 0;
}

/* more: the same with more values. */
static void must_stay_decided(const outcome *some, const outcome *more)
{
    if (some->ending != ENDED || some->value.kind == LIC_CEL_UNKNOWN || some->value.kind == LIC_CEL_ERROR)
        return;
    must(more->ending == OVER_BUDGET || is_panic(&more->value) || same_value(&some->value, &more->value));
}

static void print_and_evaluate(lic_memory *memory, const lic_cel_source *source, const lic_cel_value *values,
                               const outcome *expected)
{
    lic_cel_source again = *source;
    lic_text       printed;
    lic_cel       *cel;

    lic_text_init(&printed, memory);
    must(lic_cel_format(memory, source, &printed, NULL) == LICET_OK);
    again.text = lic_text_str(&printed);
    if (lic_cel_compile(memory, &again, &cel, NULL, NULL) == LICET_OK)
        must_repeat(cel, values, expected);
    lic_cel_free(cel);
    lic_text_free(&printed);
}

/* Those of the values that chance leaves. */
static uint64_t choose(const lic_cel_value *values, uint64_t chance, lic_cel_value *chosen)
{
    uint64_t given = 0;

    for (size_t i = 0; i < PARAMETERS; i++) {
        chosen[i] = (lic_cel_value){ .kind = LIC_CEL_UNKNOWN };
        if (((chance >> i) & 1) == 0 || values[i].kind == LIC_CEL_UNKNOWN)
            continue;
        chosen[i] = values[i];
        given |= UINT64_C(1) << i;
    }
    return given;
}

static void run(lic_memory *memory, const lic_cel_source *source, const lic_cel *cel, const lic_cel_value *values,
                uint64_t given)
{
    const uint64_t chance = chance_of(source->text);
    lic_cel_value  chosen[PARAMETERS];
    lic_cel_value  nothing[PARAMETERS];
    uint64_t       chosen_given = choose(values, chance >> 40, chosen);
    outcome        with_all, with_some, with_none;

    choose(values, 0, nothing);
    evaluate(cel, values, &with_all);
    evaluate(cel, chosen, &with_some);
    evaluate(cel, nothing, &with_none);
    must_lack(&with_all, given);
    must_lack(&with_some, chosen_given);
    must_lack(&with_none, 0);
    must_stay_decided(&with_none, &with_some);
    must_stay_decided(&with_some, &with_all);
    must_repeat(cel, values, &with_all);
    must_keep_to_less(cel, values, &with_all, chance);
    print_and_evaluate(memory, source, values, &with_all);
    outcome_clear(&with_all);
    outcome_clear(&with_some);
    outcome_clear(&with_none);
}

/* Strict, fewer values are taken, and those are the same. */
static void run_with(lic_memory *memory, const lic_cel_source *source, const lic_cel *cel, lic_str context)
{
    lic_cel_value      lax[PARAMETERS];
    lic_cel_value      strict[PARAMETERS];
    uint64_t           given, refused, strictly_given;
    lic_context_values object = { NULL, 0 };
    lic_arena          arena;

    lic_arena_init(&arena, memory);
    (void)lic_context_read(&arena, context, false, &object, NULL, NULL);
    values_of(&arena, &object, false, lax, &given, &refused);
    values_of(&arena, &object, true, strict, &strictly_given, &refused);
    must((strictly_given & ~given) == 0);
    run(memory, source, cel, lax, given);
    if (strictly_given != given)
        run(memory, source, cel, strict, strictly_given);
    lic_arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lic_str              text   = { (const char *)data, size };
    size_t               end    = lic_str_find(text, '\n');
    const lic_cel_source source = { .text            = lic_str_slice(text, 0, end),
                                    .parameters      = fuzz_parameters,
                                    .parameter_count = PARAMETERS };
    lic_memory           memory;
    lic_cel             *cel;

    lic_memory_init(&memory, NULL, SIZE_MAX);
    if (lic_cel_compile(&memory, &source, &cel, NULL, NULL) == LICET_OK)
        run_with(&memory, &source, cel, end < size ? lic_str_slice(text, end + 1, size) : LIC_STR("{}"));
    lic_cel_free(cel);
    must(memory.used == 0);
    return 0;
}

/* What a caveat costs: a check whose relationship has one that compares two integers beside the same check without
 * it, with a context that was read before and with one that comes as a text; and compiling a schema of a thousand
 * caveats.
 *
 *     caveat
 *
 * BENCH_TIME and BENCH_WARMUP: seconds for each measurement (1 and 0.3). */
#include "support/bench.h"

enum { BATCH = 1000, MAX_SAMPLES = 100000, CAVEATS = 1000, COMPILATIONS = 11, ROOM = CAVEATS * 128 };

static const char SCHEMA[] = "caveat below(used int, quota int) {\n  used < quota\n}\n"
                             "definition user {}\n"
                             "definition file {\n  relation plain: user\n  relation limited: user with below\n}\n";

static const char CONTEXT[] = "{\"used\": 41}";

static licet_str text_of(const char *text)
{
    return (licet_str){ text, strlen(text) };
}

static void write_line(licet_engine *engine, const char *line)
{
    licet_write_request request = LICET_WRITE_REQUEST_INIT;
    licet_update        update  = { LICET_TOUCH, LICET_RELATIONSHIP_INIT };
    licet_error        *error   = NULL;

    bench_must(licet_relationship_parse(text_of(line), &update.relationship, &error), error, line);
    request.updates      = &update;
    request.update_count = 1;
    bench_must(licet_write(engine, &request, NULL, &error), error, line);
}

static licet_engine *open_engine(void)
{
    licet_engine *engine = NULL;
    licet_error  *error  = NULL;

    bench_must(licet_open(text_of("memory:"), NULL, &engine, &error), error, "open");
    bench_must(licet_write_schema(engine, text_of(SCHEMA), NULL, &error), error, "schema");
    write_line(engine, "file:report#plain@user:ana");
    write_line(engine, "file:report#limited@user:ana[below:{\"quota\":100}]");
    return engine;
}

static licet_check_request request_of(const char *permission)
{
    licet_check_request request = LICET_CHECK_REQUEST_INIT;

    request.resource   = text_of("file:report");
    request.permission = text_of(permission);
    request.subject    = text_of("user:ana");
    return request;
}

/* Nanoseconds of one check, averaged over a batch of them. */
static double batch(licet_engine *engine, const licet_check_request *request)
{
    licet_result result  = LICET_RESULT_INIT;
    licet_error *error   = NULL;
    double       start   = bench_now();
    size_t       allowed = 0;

    for (size_t i = 0; i < BATCH; i++) {
        bench_must(licet_check(engine, request, &result, &error), error, "check");
        allowed += licet_result_allowed(&result);
    }
    if (allowed != BATCH)
        bench_stop("check", "an answer is not the expected one");
    return (bench_now() - start) / BATCH;
}

typedef struct pair {
    double without_ns;
    double with_ns;
} pair;

/* Both in turns, so that a slow moment meets both. */
static pair compare(licet_engine *engine, const licet_check_request *without, const licet_check_request *with)
{
    static double first[MAX_SAMPLES];
    static double second[MAX_SAMPLES];
    size_t        count = 0;
    double        end   = bench_now() + bench_seconds("BENCH_WARMUP", 0.3) * 1e9;

    while (bench_now() < end)
        batch(engine, with);
    end = bench_now() + bench_seconds("BENCH_TIME", 1) * 1e9;
    while (bench_now() < end && count < MAX_SAMPLES) {
        first[count]    = batch(engine, without);
        second[count++] = batch(engine, with);
    }
    return (pair){ bench_quantile(first, count, 0.5), bench_quantile(second, count, 0.5) };
}

static void report(const char *name, pair measured, double bound_ns)
{
    const double added = measured.with_ns - measured.without_ns;

    printf("  %-22s %10.1f %10.1f %10.1f", name, measured.without_ns, measured.with_ns, added);
    if (bound_ns > 0)
        printf(" %10.0f%s", bound_ns, added <= bound_ns ? "" : "  MISSED");
    printf("\n");
}

/* A schema of a thousand caveats of the common kinds. */
static char *many_caveats(void)
{
    static const char *const bodies[] = {
        "used int, quota int) {\n  used < quota\n}\n",
        "day string, days list<string>) {\n  day in days\n}\n",
        "ip ipaddress, net string) {\n  ip.in_cidr(net)\n}\n",
        "now timestamp, until timestamp) {\n  now < until && until > timestamp(\"2020-01-01T00:00:00Z\")\n}\n",
    };
    char  *schema = bench_alloc(ROOM, 1);
    size_t size   = 0;

    for (size_t i = 0; i < CAVEATS; i++) {
        int printed = snprintf(schema + size, ROOM - size, "caveat number_%zu(%s", i, bodies[i % 4]);

        if (printed < 0 || (size_t)printed >= ROOM - size)
            bench_stop("schema", "too little room");
        size += (size_t)printed;
    }
    return schema;
}

static double compile(const char *text)
{
    licet_schema_request request = LICET_SCHEMA_REQUEST_INIT;
    double               samples[COMPILATIONS];

    request.text = text_of(text);
    for (size_t i = 0; i < COMPILATIONS; i++) {
        licet_schema *schema = NULL;
        licet_error  *error  = NULL;
        double        start  = bench_now();

        bench_must(licet_schema_parse(&request, NULL, &schema, &error), error, "schema");
        samples[i] = bench_now() - start;
        licet_schema_release(schema);
    }
    return bench_quantile(samples, COMPILATIONS, 0.5);
}

int main(void)
{
    licet_engine       *engine   = open_engine();
    licet_context      *context  = NULL;
    licet_error        *error    = NULL;
    licet_check_request plain    = request_of("plain");
    licet_check_request prepared = request_of("limited");
    licet_check_request text     = request_of("limited");
    char               *schema   = many_caveats();
    double              compiled;

    bench_must(licet_context_parse(text_of(CONTEXT), NULL, &context, &error), error, "context");
    prepared.prepared_context = context;
    text.context              = text_of(CONTEXT);
    printf("caveats from C; a comparison of two integers\n");
    printf("  %-22s %10s %10s %10s %10s\n", "context", "without", "with", "added ns", "bound ns");
    report("read before", compare(engine, &plain, &prepared), 150);
    report("as a text", compare(engine, &plain, &text), 0);
    compiled = compile(schema) / 1e6;
    printf("  compiling %d caveats: %.1f ms (bound 100)%s\n", CAVEATS, compiled, compiled <= 100 ? "" : "  MISSED");
    free(schema);
    licet_context_release(context);
    licet_engine_release(engine);
    return 0;
}

#include "scenario.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct run {
    licet_str           text;
    licet_engine       *engine;
    licet_report       *report;
    licet_error        *error;
    licet_status        status;
    licet_report_counts counts;
} run;

static run run_file(const char *path, bool load_only)
{
    licet_validate_request request             = LICET_VALIDATE_REQUEST_INIT;
    char                   folder[SHARED_PATH] = { 0 };
    run                    r                   = { .counts = LICET_REPORT_COUNTS_INIT };

    r.text = file_text(path);
    assert_non_null(r.text.data);
    snprintf(folder, sizeof folder, "%s", path);
    *strrchr(folder, '/') = '\0';
    request.text          = r.text;
    request.folder        = (licet_str){ folder, strlen(folder) };
    request.load_only     = load_only;
    assert_int_equal(licet_open(LICET_STR("memory:"), NULL, &r.engine, NULL), LICET_OK);
    r.status = licet_validate(r.engine, &request, &r.report, &r.error);
    licet_report_count(r.report, &r.counts);
    return r;
}

static void run_free(run *r)
{
    licet_error_free(r->error);
    licet_report_release(r->report);
    licet_engine_release(r->engine);
    free((char *)r->text.data);
}

static void print_failures(const run *r)
{
    licet_finding finding = LICET_FINDING_INIT;
    licet_str     message = licet_error_message(r->error);

    if (r->status != LICET_OK)
        print_message("%u:%u: %.*s\n", licet_error_line(r->error), licet_error_column(r->error), (int)message.size,
                      message.data);
    for (size_t i = 0; licet_report_finding(r->report, i, &finding); i++)
        if (!finding.is_warning)
            print_message("%u:%u: %.*s\n", finding.line, finding.column, (int)finding.message.size,
                          finding.message.data);
}

static uint64_t stored(const run *r)
{
    licet_stats stats = LICET_STATS_INIT;

    assert_int_equal(licet_engine_stats(r->engine, &stats, NULL), LICET_OK);
    return stats.relationships;
}

void scenario_holds(const char *path, scenario_counts *sum)
{
    run r = run_file(path, false);

    print_failures(&r);
    assert_int_equal(r.status, LICET_OK);
    assert_int_equal(r.counts.failures, 0);
    assert_int_equal(r.counts.relationships, relationships_in(r.text));
    assert_int_equal(r.counts.relationships, stored(&r));
    assert_int_equal(r.counts.assertions, entries_under(r.text, "assertions"));
    assert_int_equal(r.counts.expected_relations, entries_under(r.text, "validation"));
    sum->files++;
    sum->relationships += r.counts.relationships;
    sum->assertions += r.counts.assertions;
    sum->expected_relations += r.counts.expected_relations;
    run_free(&r);
}

void scenario_loads(const char *path, scenario_counts *sum)
{
    run r = run_file(path, true);

    print_failures(&r);
    assert_int_equal(r.status, LICET_OK);
    assert_int_equal(r.counts.relationships, relationships_in(r.text));
    assert_int_equal(stored(&r), relationships_in(r.text));
    assert_int_equal(r.counts.assertions, 0);
    sum->files++;
    sum->relationships += r.counts.relationships;
    run_free(&r);
}

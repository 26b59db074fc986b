/* The border of validation files: any bytes are loaded and judged, or refused with a place in them and nothing loaded.
 * What is said of a file is said of it again. */
#include "must.h"

/* What there is to say of one file. */
typedef struct verdict {
    licet_kind          kind; /* NONE: it is usable */
    licet_report_counts counts;
} verdict;

/* YAML has more ends of lines than we have (CR, NEL, LS, PS), and libyaml finds the end of the text in a line of its
 * own. */
static uint32_t yaml_lines(lic_str text)
{
    return count_bytes(text, '\n') + count_bytes(text, '\r') + count_bytes(text, 0x85) + count_bytes(text, 0xa8) +
           count_bytes(text, 0xa9) + 2;
}

static void must_be_in(const licet_finding *finding, lic_str text)
{
    must(finding->source.size > 0 && finding->kind.size > 0 && finding->message.size > 0);
    must(lic_utf8_check(finding->message) == finding->message.size);
    must(finding->line <= yaml_lines(text) && finding->column <= text.size + 1);
}

static void must_add_up(const licet_report *report, const licet_report_counts *counts, lic_str text)
{
    licet_finding finding  = { .size = sizeof finding };
    uint64_t      warnings = 0;
    size_t        count    = licet_report_finding_count(report);

    must(count == counts->failures + counts->warnings);
    for (size_t i = 0; i < count; i++) {
        must(licet_report_finding(report, i, &finding));
        must_be_in(&finding, text);
        warnings += finding.is_warning;
    }
    must(!licet_report_finding(report, count, &finding) && warnings == counts->warnings);
}

static bool holds_schema(licet_engine *engine)
{
    licet_schema *schema;
    bool          found = licet_read_schema(engine, &schema, NULL, NULL) == LICET_OK;

    licet_schema_release(schema);
    return found;
}

static verdict judge(lic_str text, bool load_only)
{
    licet_validate_request request = LICET_VALIDATE_REQUEST_INIT;
    verdict                out     = { LICET_KIND_NONE, LICET_REPORT_COUNTS_INIT };
    licet_engine          *engine;
    licet_report          *report;
    licet_error           *error = NULL;

    request.text      = text;
    request.load_only = load_only;
    must(licet_open(LICET_STR("memory:"), NULL, &engine, NULL) == LICET_OK);
    if (licet_validate(engine, &request, &report, &error) == LICET_OK) {
        must(report != NULL && error == NULL);
        licet_report_count(report, &out.counts);
        must_add_up(report, &out.counts, text);
        must(!load_only || out.counts.assertions + out.counts.expected_relations == 0);
    } else {
        out.kind = licet_error_kind(error);
        must(report == NULL && !holds_schema(engine));
        must_explain_within(error, text, yaml_lines(text));
    }
    licet_report_release(report);
    licet_engine_release(engine);
    return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lic_str text   = { (const char *)data, size };
    verdict first  = judge(text, false);
    verdict again  = judge(text, false);
    verdict loaded = judge(text, true);

    must(first.kind == again.kind && first.counts.assertions == again.counts.assertions);
    must(first.counts.expected_relations == again.counts.expected_relations);
    must(first.counts.warnings == again.counts.warnings);
    must(first.kind != LICET_KIND_NONE ||
         (loaded.kind == LICET_KIND_NONE && loaded.counts.relationships == first.counts.relationships));
    return 0;
}

#include "validation/report.h"

licet_report *lic_report_new(lic_memory *memory)
{
    licet_report *report = lic_alloc_zero(memory, sizeof *report);

    if (report == NULL)
        return NULL;
    lic_memory_retain(memory);
    report->memory = memory;
    report->counts = (licet_report_counts)LICET_REPORT_COUNTS_INIT;
    lic_arena_init(&report->arena, memory);
    return report;
}

/* Through an error, which is where texts from outside are made clean and cut. data is NULL: out of memory. */
static lic_str clean_copy(licet_report *report, lic_str message)
{
    licet_error *error = NULL;
    lic_str      copy  = { NULL, 0 };

    if (lic_fail(&error, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, LIC_NOWHERE, "%.*s", LIC_STR_ARG(message)) !=
        LICET_OUT_OF_MEMORY)
        copy = lic_arena_str(&report->arena, licet_error_message(error));
    licet_error_free(error);
    return copy;
}

bool lic_report_add(licet_report *report, bool is_warning, const char *source, const char *kind, lic_position position,
                    lic_str message)
{
    lic_str copy = clean_copy(report, message);

    if (copy.data == NULL || !lic_arena_grow(&report->arena, (void **)&report->findings, &report->capacity,
                                             report->count + 1, sizeof *report->findings))
        return false;
    report->findings[report->count++] = (licet_finding){ .size       = sizeof(licet_finding),
                                                         .is_warning = is_warning,
                                                         .source     = { source, strlen(source) },
                                                         .kind       = { kind, strlen(kind) },
                                                         .message    = copy,
                                                         .line       = position.line,
                                                         .column     = position.column };
    if (is_warning)
        report->counts.warnings++;
    else
        report->counts.failures++;
    return true;
}

void licet_report_count(const licet_report *report, licet_report_counts *counts)
{
    if (counts != NULL && counts->size == sizeof *counts)
        *counts = report == NULL ? (licet_report_counts)LICET_REPORT_COUNTS_INIT : report->counts;
}

size_t licet_report_finding_count(const licet_report *report)
{
    return report == NULL ? 0 : report->count;
}

bool licet_report_finding(const licet_report *report, size_t index, licet_finding *finding)
{
    if (report == NULL || finding == NULL || finding->size != sizeof *finding || index >= report->count)
        return false;
    *finding = report->findings[index];
    return true;
}

void licet_report_release(licet_report *report)
{
    lic_memory *memory;

    if (report == NULL)
        return;
    memory = report->memory;
    lic_arena_free(&report->arena);
    lic_free(memory, report, sizeof *report);
    lic_memory_release(memory);
}

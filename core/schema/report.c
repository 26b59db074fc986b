#include "schema/report.h"

#include <stdlib.h>

#define REPORT_TAG UINT64_C(0x6c69637265706f72) /* "licrepor" */

struct licet_schema_report {
    uint64_t            tag;
    lic_memory         *memory; /* held */
    lic_arena           arena;
    licet_schema_entry *entries;
    size_t              count;
    size_t              capacity;
};

licet_schema_report *lic_schema_report_new(lic_memory *memory)
{
    licet_schema_report *report = lic_alloc_zero(memory, sizeof *report);

    if (report == NULL)
        return NULL;
    lic_memory_retain(memory);
    report->tag    = REPORT_TAG;
    report->memory = memory;
    lic_arena_init(&report->arena, memory);
    return report;
}

static bool keep(licet_schema_report *report, lic_str *text)
{
    if (text->size == 0) {
        *text = (lic_str){ NULL, 0 };
        return true;
    }
    *text = lic_arena_str(&report->arena, *text);
    return lic_str_given(*text);
}

bool lic_schema_report_add(licet_schema_report *report, const licet_schema_entry *entry)
{
    licet_schema_entry kept    = *entry;
    void              *entries = report->entries;

    if (!keep(report, &kept.definition) || !keep(report, &kept.name) || !keep(report, &kept.caveat) ||
        !keep(report, &kept.parameter) || !keep(report, &kept.before) || !keep(report, &kept.after) ||
        !lic_arena_grow(&report->arena, &entries, &report->capacity, report->count + 1, sizeof kept))
        return false;
    report->entries                  = entries;
    report->entries[report->count++] = kept;
    return true;
}

static int compare(const void *a, const void *b)
{
    const licet_schema_entry *one   = a;
    const licet_schema_entry *other = b;
    int                       order = lic_str_compare(one->definition, other->definition);

    order = order != 0 ? order : lic_str_compare(one->name, other->name);
    order = order != 0 ? order : lic_str_compare(one->caveat, other->caveat);
    order = order != 0 ? order : lic_str_compare(one->parameter, other->parameter);
    order = order != 0 ? order : lic_str_compare(one->kind, other->kind);
    order = order != 0 ? order : lic_str_compare(one->before, other->before);
    return order != 0 ? order : lic_str_compare(one->after, other->after);
}

void lic_schema_report_sort(licet_schema_report *report)
{
    if (report->count > 1)
        qsort(report->entries, report->count, sizeof *report->entries, compare);
}

static bool is_report(const licet_schema_report *report)
{
    return report != NULL && report->tag == REPORT_TAG;
}

size_t licet_schema_report_count(const licet_schema_report *report)
{
    return is_report(report) ? report->count : 0;
}

bool licet_schema_report_entry(const licet_schema_report *report, size_t index, licet_schema_entry *entry)
{
    if (!is_report(report) || index >= report->count || entry == NULL || entry->size != sizeof *entry)
        return false;
    *entry = report->entries[index];
    return true;
}

void licet_schema_report_release(licet_schema_report *report)
{
    lic_memory *memory;

    if (!is_report(report))
        return;
    memory      = report->memory;
    report->tag = 0;
    lic_arena_free(&report->arena);
    lic_free(memory, report, sizeof *report);
    lic_memory_release(memory);
}

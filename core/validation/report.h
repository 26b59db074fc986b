/* What a validation run found. Defines licet_report and its public functions. */
#ifndef LIC_VALIDATION_REPORT_H
#define LIC_VALIDATION_REPORT_H

#include "base/arena.h"
#include "base/error.h"

struct licet_report {
    lic_memory         *memory; /* held: a report may outlive its engine */
    lic_arena           arena;  /* findings and their texts */
    licet_report_counts counts;
    licet_finding      *findings; /* in the order of the file */
    size_t              count;
    size_t              capacity;
};

/* NULL: out of memory. */
licet_report *lic_report_new(lic_memory *memory);

/* source and kind are literals; the message is copied, made clean and cut at 1,024 bytes. false: out of memory. */
bool lic_report_add(licet_report *report, bool is_warning, const char *source, const char *kind, lic_position position,
                    lic_str message);

#endif

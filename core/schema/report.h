/* Reports: lists of findings about schemas, each with texts of its own. */
#ifndef LIC_SCHEMA_REPORT_H
#define LIC_SCHEMA_REPORT_H

#include "base/arena.h"
#include "base/error.h"

/* NULL: out of memory. Holds the memory. */
licet_schema_report *lic_schema_report_new(lic_memory *memory);
/* Texts are copied, but for the kind, which is a literal. false: out of memory. */
bool lic_schema_report_add(licet_schema_report *report, const licet_schema_entry *entry);
/* By definition, name, caveat, parameter and kind. */
void lic_schema_report_sort(licet_schema_report *report);

#endif

/* Runs what a validation file claims: assertions by checks, expected relations by expansion and comparison
 * (validation-files.md 4 and 6). What does not hold becomes a finding. */
#ifndef LIC_VALIDATION_EXPECTATIONS_H
#define LIC_VALIDATION_EXPECTATIONS_H

#include "engine/engine.h"
#include "validation/file.h"

/* The pinned world that everything is run against. */
typedef struct lic_expectations {
    const licet_engine *engine;
    lic_memory         *memory;
    lic_instant         now; /* by which relationships have expired */
    const lic_names    *names;
    const lic_program  *program;
    const lic_snapshot *snapshot;
    lic_eval_limits     limits;
    licet_report       *report;
} lic_expectations;

/* Both fail only where no answer could be had at all (memory, time): a limit of depth or an unknown name is a
 * finding. */
licet_status lic_run_assertions(const lic_expectations *run, const lic_validation_file *file, licet_error **error);
licet_status lic_run_expected_relations(const lic_expectations *run, const lic_validation_file *file,
                                        licet_error **error);

#endif

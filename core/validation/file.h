/* A validation file as records: decoded, every text parsed, nothing loaded (validation-files.md 1 to 5). */
#ifndef LIC_VALIDATION_FILE_H
#define LIC_VALIDATION_FILE_H

#include "validation/expected.h"
#include "validation/report.h"
#include "validation/yaml.h"

typedef struct lic_file_assertion {
    lic_assertion        assertion;
    lic_str              text;
    licet_permissionship expected;
    lic_position         position;
} lic_file_assertion;

typedef struct lic_file_entry {
    lic_expected_subject expected;
    lic_str              text;
    lic_position         position;
} lic_file_entry;

typedef struct lic_file_key {
    lic_object      object; /* with its relation */
    lic_str         text;
    lic_position    position;
    lic_file_entry *entries;
    size_t          count;
} lic_file_key;

typedef struct lic_validation_file {
    lic_str              source;
    const lic_yaml_node *schema;      /* a text; NULL: none */
    lic_str              schema_file; /* not given: none */
    lic_position         schema_file_position;
    licet_relationship  *relationships; /* distinct */
    lic_position        *relationship_positions;
    lic_str             *relationship_texts;
    size_t               relationship_count;
    lic_file_assertion  *assertions; /* true, caveated, false */
    size_t               assertion_count;
    lic_file_key        *keys;
    size_t               key_count;
    size_t               entry_count;
} lic_validation_file;

/* Lives in the arena, and so does a copy of nothing: texts are views of the YAML's nodes, which live there too.
 * Unknown keys become warnings in the report. Errors carry the position in the source. */
licet_status lic_validation_file_parse(lic_arena *arena, lic_str source, licet_report *report,
                                       lic_validation_file *file, licet_error **error);

#endif

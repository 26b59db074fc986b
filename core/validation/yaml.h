/* YAML to a small tree. The one file that knows libyaml.
 *
 * One document. Scalars keep their text as written and whether they were quoted; nothing is turned into numbers or
 * booleans. Aliases share the node they name. Refused, with line and column: a second document, a key given twice,
 * tags of any language, more than 64 levels, an alias inside its own anchor, aliases that would grow the document more
 * than tenfold (threat-model.md 3). */
#ifndef LIC_VALIDATION_YAML_H
#define LIC_VALIDATION_YAML_H

#include "base/arena.h"
#include "base/error.h"

#define LIC_MAX_YAML_BYTES 1048576
#define LIC_MAX_YAML_NESTING 64
#define LIC_MAX_YAML_GROWTH 10

typedef enum lic_yaml_kind {
    LIC_YAML_NULL, /* an empty or plain `null` or `~` scalar */
    LIC_YAML_TEXT,
    LIC_YAML_SEQUENCE,
    LIC_YAML_MAPPING /* children: key, value, key, value, ... keys are texts or nulls */
} lic_yaml_kind;

typedef struct lic_yaml_node {
    lic_yaml_kind          kind;
    bool                   block; /* a text in | or > style: its lines begin on the line below */
    bool                   quoted;
    lic_position           position;
    lic_str                text;
    struct lic_yaml_node **children;
    size_t                 count;
    size_t                 capacity;
    size_t                 weight; /* nodes in it, shared ones counted as often as they are named */
} lic_yaml_node;

/* *root is NULL for an empty document. Everything lives in the arena. */
licet_status lic_yaml_parse(lic_arena *arena, lic_str source, lic_yaml_node **root, licet_error **error);

/* The value of a key of a mapping; NULL when absent. */
const lic_yaml_node *lic_yaml_find(const lic_yaml_node *mapping, lic_str key);

/* Where in the source a part of a text stands: exact for texts on one line and for block texts (also folded ones),
 * the text's own position for others. `offset` counts bytes of the text. */
lic_position lic_yaml_position(lic_str source, const lic_yaml_node *text, size_t offset);

/* The same for many offsets of one text that never decrease: all of them together read the text once. */
typedef struct lic_yaml_walk {
    const lic_yaml_node *node;
    bool                 one_line;
    lic_str              rest;  /* of a block's source: lines that were not reached */
    uint32_t             line;  /* number of the first of them */
    lic_position         words; /* of the last line that was reached: where its words begin */
    size_t               start; /* of these words in the text */
    size_t               end;
} lic_yaml_walk;

lic_yaml_walk lic_yaml_walk_from(lic_str source, const lic_yaml_node *text);
lic_position  lic_yaml_walk_to(lic_yaml_walk *walk, size_t offset);

#endif

/* What one schema may hold at most (threat-model.md 3). One over is LIMIT_EXCEEDED, kind limit. */
#ifndef LIC_SCHEMA_LIMITS_H
#define LIC_SCHEMA_LIMITS_H

#define LIC_MAX_SCHEMA_BYTES 1048576 /* 1 MiB, each file of an import tree and all together */
#define LIC_MAX_DEFINITIONS 4096     /* types and caveats and partials together */
#define LIC_MAX_MEMBERS 4096         /* relations and permissions of one type */
#define LIC_MAX_MEMBERS_IN_ALL 65536
#define LIC_MAX_NESTING 256            /* parentheses */
#define LIC_MAX_OPERANDS 4096          /* of one permission */
#define LIC_MAX_ALLOWED_TYPES 1024     /* of one relation */
#define LIC_MAX_PARAMETERS 64          /* of one caveat */
#define LIC_MAX_TYPE_NAME_BYTES 128    /* SpiceDB */
#define LIC_MAX_RELATION_NAME_BYTES 64 /* SpiceDB */
#define LIC_MAX_CAVEAT_NAME_BYTES 128  /* SpiceDB's relationships */
#define LIC_MAX_ID_BYTES 1024          /* SpiceDB */

#endif

/* What streams with pages share: where one stopped, and the cursor that goes on there. */
#ifndef LIC_ENGINE_PAGING_H
#define LIC_ENGINE_PAGING_H

#include "engine/engine.h"

typedef struct lic_paging {
    bool       has_place;
    lic_cursor place; /* after what was returned last; its revision and digest are set by lic_paging_pin() */
    char       text[LIC_CURSOR_CAPACITY];
} lic_paging;

/* LIMIT_EXCEEDED. */
licet_status lic_paging_limit_check(uint32_t limit, licet_error **error);

/* Appends a field of a request to what its cursors are bound to: no two requests give one text. */
void lic_paging_bind(lic_text *bound, lic_str field);
/* The same of what every request with pages has beside its own. */
void lic_paging_bind_rest(lic_text *bound, const licet_consistency *consistency, uint32_t limit);

/* Pins the revision of the consistency, or that of the cursor, which outranks it and must be of the same request.
 * Takes `bound` and frees it. As lic_engine_pin(), and OUT_OF_MEMORY. */
licet_status lic_paging_pin(lic_paging *paging, const licet_engine *engine, const licet_consistency *consistency,
                            const lic_need *need, lic_str cursor, lic_text *bound, lic_snapshot *snapshot,
                            licet_error **error);

/* The cursor that goes on after the place; empty while there is none. */
licet_str lic_paging_cursor(lic_paging *paging, const licet_engine *engine);

#endif

/* The border to RE2, in types that C and C++ share. No exception crosses it. */
#ifndef LIC_CAVEAT_RE2_H
#define LIC_CAVEAT_RE2_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum lic_re2_outcome { LIC_RE2_OK, LIC_RE2_INVALID, LIC_RE2_TOO_LARGE, LIC_RE2_NO_MEMORY } lic_re2_outcome;

/* *program is RE2's own, on OK only. *states: instructions of the compiled program. */
lic_re2_outcome lic_re2_new(const char *pattern, size_t size, size_t memory_limit, void **program, size_t *states);
void            lic_re2_free(void *program);
/* false: out of memory. Any number of threads. */
bool lic_re2_search(const void *program, const char *input, size_t size, bool *found);

#ifdef __cplusplus
}
#endif

#endif

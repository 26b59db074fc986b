/* Regular expressions of matches(): RE2, in linear time, behind a C border that no exception crosses. */
#ifndef LIC_CAVEAT_REGEX_H
#define LIC_CAVEAT_REGEX_H

#include "base/str.h"

struct lic_regex; /* immutable; any number of threads */

#define LIC_REGEX_NO_MEMORY lic_regex_no_memory
extern const char lic_regex_no_memory[];

/* false: *why (a literal) says why not: no regular expression, too large; LIC_REGEX_NO_MEMORY (that very pointer): out of
 * memory. */
bool   lic_regex_new(lic_memory *memory, lic_str pattern, struct lic_regex **out, const char **why);
void   lic_regex_free(struct lic_regex *regex);         /* NULL is fine */
size_t lic_regex_states(const struct lic_regex *regex); /* what it costs to make and to search, at most 10,000 */
/* Anywhere in the input. false: the input is longer than a search may be, or memory ran out. */
bool lic_regex_search(const struct lic_regex *regex, lic_str input, bool *found);

#endif

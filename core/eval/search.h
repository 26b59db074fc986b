/* Small checks whose goals are all unions: a plain search for the subject, without frames. */
#ifndef LIC_EVAL_SEARCH_H
#define LIC_EVAL_SEARCH_H

#include "eval/memo.h"

/* The goal's relation must be a union with all that it leads to. again: it may be asked again, so it is remembered, and
 * what it gives may not depend on the request's context.
 * LIC_NO and LIC_YES hold; LIC_NOT_FOUND: not told, and nothing happened. */
lic_finding lic_eval_search(lic_eval *eval, lic_goal goal, uint32_t depth, bool again);

#endif

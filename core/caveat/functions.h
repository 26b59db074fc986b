/* What operators and functions do with values. Shared by the machine and by these files; nothing else includes it. */
#ifndef LIC_CAVEAT_FUNCTIONS_H
#define LIC_CAVEAT_FUNCTIONS_H

#include "caveat/cel.h"
#include "caveat/regex.h"
#include "caveat/zone.h"

#define LIC_CEL_STEP_LIMIT "steps of one caveat evaluation"
#define LIC_CEL_MEMORY_LIMIT "memory of one caveat evaluation"
#define LIC_CEL_REGEX_LIMIT "input of a regular expression"

/* One evaluation. A function that returns false has run out of the budget, and has said in `limit` of what; or of memory,
 * and `limit` is NULL. Everything else that can go wrong is an ERROR value. */
typedef struct lic_cel_run {
    lic_arena      *arena;
    lic_cel_budget *budget;
    const char     *limit;
    bool    panicked;  /* SpiceDB would have: the last result, an error, is that of the whole, whatever "||" says */
    lic_str zone_name; /* of `zone`, the last one used; not given: none was */
    const lic_zone *zone;
} lic_cel_run;

/* Counts steps down. */
bool lic_cel_spend(lic_cel_run *run, uint64_t steps);
/* Steps for going over `count` things, `per_step` of them for one step. */
bool lic_cel_spend_on(lic_cel_run *run, size_t count, size_t per_step);
/* Memory of the arena; NULL: there is none left. */
void *lic_cel_take(lic_cel_run *run, size_t size);
void *lic_cel_take_array(lic_cel_run *run, size_t count, size_t item_size);

static inline lic_cel_value lic_cel_bool(bool boolean)
{
    return (lic_cel_value){ .kind = LIC_CEL_BOOL, .boolean = boolean };
}
static inline lic_cel_value lic_cel_int(int64_t integer)
{
    return (lic_cel_value){ .kind = LIC_CEL_INT, .integer = integer };
}
static inline lic_cel_value lic_cel_error(const char *literal)
{
    return (lic_cel_value){ .kind = LIC_CEL_ERROR, .error = literal };
}
static inline lic_cel_value lic_cel_no_overload(void)
{
    return lic_cel_error("no such overload");
}
/* "no such key: k": the literal and a value behind it, cut and cleaned. */
bool lic_cel_error_about(lic_cel_run *run, const char *literal, const lic_cel_value *value, lic_cel_value *result);
const char *lic_cel_type_name(lic_cel_kind kind);

/* equality.c */

/* Never an error, save for an address on the left of something else. */
bool lic_cel_equal(lic_cel_run *run, const lic_cel_value *a, const lic_cel_value *b, lic_cel_value *result);
/* <0, 0, >0 for two numbers, neither of them NaN. As cel-go: an integer next to a double is compared as a double. */
int lic_cel_compare_numbers(const lic_cel_value *a, const lic_cel_value *b);
/* The value of a key; NULL: it is not there. Numbers find equal keys of other numeric kinds. */
bool lic_cel_map_find(lic_cel_run *run, const lic_cel_map *map, const lic_cel_value *key, const lic_cel_value **value);
/* Are they one key: of the same kind, and equal? */
bool lic_cel_same_key(const lic_cel_value *a, const lic_cel_value *b);
bool lic_cel_is_subtree(lic_cel_run *run, const lic_cel_map *map, const lic_cel_map *of, lic_cel_value *result);

/* access.c */

typedef enum lic_cel_access { LIC_CEL_ACCESS_PLAIN, LIC_CEL_ACCESS_OPTIONAL, LIC_CEL_ACCESS_HAS } lic_cel_access;

/* container[key], container[?key], has(container.key). A field's name is a key of kind STRING. */
bool lic_cel_get(lic_cel_run *run, lic_cel_access access, const lic_cel_value *container, const lic_cel_value *key,
                 lic_cel_value *result);
/* May a value of this kind be a key at all? Otherwise lic_cel_get() gives LIC_CEL_NO_KEY, save in none. */
bool lic_cel_is_key(const lic_cel_value *value);
/* Is it optional.none()? */
bool lic_cel_is_none(const lic_cel_value *value);
#define LIC_CEL_NO_KEY "invalid qualifier type"
bool lic_cel_in(lic_cel_run *run, const lic_cel_value *value, const lic_cel_value *container, lic_cel_value *result);
bool lic_cel_optional_of(lic_cel_run *run, const lic_cel_value *value, lic_cel_value *result);

/* conversions.c */

bool lic_cel_convert(lic_cel_run *run, lic_cel_function function, const lic_cel_value *value, lic_cel_value *result);
/* getHours() and its like; zone may be NULL. */
bool lic_cel_get_time(lic_cel_run *run, lic_cel_function function, const lic_cel_value *value,
                      const lic_cel_value *zone, lic_cel_value *result);

/* functions.c */

/* The operands are neither UNKNOWN nor ERROR. pattern: of a MATCHES whose pattern was compiled before; else NULL. */
bool lic_cel_call(lic_cel_run *run, lic_cel_function function, const lic_cel_value *operands, size_t count,
                  const struct lic_regex *pattern, lic_cel_value *result);

#endif

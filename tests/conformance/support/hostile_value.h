/* The values of the hostile inputs: a JSON string, or {"cat": [...]} whose pieces are joined: a string,
 * {"rep": ["x", 1000]}, {"hex": "c0af"}, {"seq": ["a{i} b{i+1}\n", 0, 5]}. Lengths are kept in full: a NUL is a byte
 * like any other. */
#ifndef LICET_TESTS_HOSTILE_VALUE_H
#define LICET_TESTS_HOSTILE_VALUE_H

#include <jansson.h>

#include "licet.h"

/* What the values of one case are expanded into; all of it ends together. */
typedef struct hostile_text {
    char  *data;
    size_t size, capacity;
} hostile_text;

/* Ends the program where the inputs are not what their README says, or there is no memory: then there is no runner. */
void hostile_need(bool holds);

/* Appends to *out. */
void hostile_expand(const json_t *value, hostile_text *out);
/* The expanded value alone, as long as *out lives; data is NULL where value is NULL or null. */
licet_str hostile_value(const json_t *value, hostile_text *out);
/* A text, or an object of type, id and relation, as "type:id#relation". */
licet_str hostile_object(const json_t *value, hostile_text *out);
void      hostile_text_clear(hostile_text *out);

#endif

/* Reaching into lists, maps and optionals. */
#include "caveat/functions.h"

/* An index: of a list, by whole numbers of any kind. */
static bool index_of(const lic_cel_value *key, int64_t *index)
{
    switch (key->kind) {
    case LIC_CEL_INT:
        *index = key->integer;
        return true;
    case LIC_CEL_UINT:
        *index = (int64_t)key->uinteger;
        return key->uinteger <= (uint64_t)INT64_MAX;
    case LIC_CEL_DOUBLE:
        if (!(key->number > -0x1p63 && key->number < 0x1p63))
            return false;
        *index = (int64_t)key->number;
        return (double)*index == key->number;
    default:
        return false;
    }
}

/* *value: NULL when the key is not there. *error: set when it can't be looked for. */
static bool find(lic_cel_run *run, const lic_cel_value *container, const lic_cel_value *key,
                 const lic_cel_value **value, const char **error)
{
    int64_t index;

    *value = NULL;
    *error = NULL;
    if (container->kind == LIC_CEL_MAP)
        return lic_cel_map_find(run, container->map, key, value);
    if (container->kind != LIC_CEL_LIST)
        return true;
    if (!index_of(key, &index))
        *error = key->kind == LIC_CEL_UINT || key->kind == LIC_CEL_DOUBLE ? "unsupported index value in list"
                                                                          : "unsupported index type in list";
    else if (index >= 0 && (uint64_t)index < container->list->count)
        *value = &container->list->items[index];
    return true;
}

bool lic_cel_optional_of(lic_cel_run *run, const lic_cel_value *value, lic_cel_value *result)
{
    lic_cel_value *copy = lic_cel_take(run, sizeof *copy);

    if (copy == NULL)
        return false;
    *copy   = *value;
    *result = (lic_cel_value){ .kind = LIC_CEL_OPTIONAL, .optional = copy };
    return true;
}

bool lic_cel_is_none(const lic_cel_value *value)
{
    return value->kind == LIC_CEL_OPTIONAL && value->optional == NULL;
}

bool lic_cel_is_key(const lic_cel_value *key)
{
    return key->kind == LIC_CEL_BOOL || key->kind == LIC_CEL_INT || key->kind == LIC_CEL_UINT ||
           key->kind == LIC_CEL_DOUBLE || key->kind == LIC_CEL_STRING;
}

/* What is reached through an optional is optional too. In none everything is none, whatever the key is. */
bool lic_cel_get(lic_cel_run *run, lic_cel_access access, const lic_cel_value *container, const lic_cel_value *key,
                 lic_cel_value *result)
{
    bool                 optional = access == LIC_CEL_ACCESS_OPTIONAL || container->kind == LIC_CEL_OPTIONAL;
    const lic_cel_value *value    = NULL;
    const char          *error    = NULL;

    if (access != LIC_CEL_ACCESS_HAS && lic_cel_is_none(container)) {
        *result = *container;
        return true;
    }
    if (!lic_cel_is_key(key)) {
        *result = lic_cel_error(LIC_CEL_NO_KEY);
        return true;
    }
    if (container->kind == LIC_CEL_OPTIONAL)
        container = container->optional;
    if (container != NULL && !find(run, container, key, &value, &error))
        return false;
    if (error != NULL) {
        *result = lic_cel_error(error);
    } else if (access == LIC_CEL_ACCESS_HAS) {
        *result = lic_cel_bool(value != NULL);
    } else if (optional && value != NULL) {
        return lic_cel_optional_of(run, value, result);
    } else if (optional) {
        *result = (lic_cel_value){ .kind = LIC_CEL_OPTIONAL, .optional = NULL };
    } else if (value != NULL) {
        *result = *value;
    } else {
        return lic_cel_error_about(
            run, container->kind == LIC_CEL_LIST ? "index out of bounds: " : "no such key: ", key, result);
    }
    return true;
}

#define ITEMS_PER_STEP 16

bool lic_cel_in(lic_cel_run *run, const lic_cel_value *value, const lic_cel_value *container, lic_cel_value *result)
{
    const lic_cel_value *found;

    if (container->kind == LIC_CEL_MAP) {
        if (!lic_cel_map_find(run, container->map, value, &found))
            return false;
        *result = lic_cel_bool(found != NULL);
        return true;
    }
    *result = lic_cel_no_overload();
    if (container->kind != LIC_CEL_LIST)
        return true;
    if (!lic_cel_spend_on(run, container->list->count, ITEMS_PER_STEP))
        return false;
    for (size_t i = 0; i < container->list->count; i++) {
        if (!lic_cel_equal(run, value, &container->list->items[i], result))
            return false;
        if (result->kind == LIC_CEL_BOOL && result->boolean)
            return true;
    }
    *result = lic_cel_bool(false);
    return true;
}

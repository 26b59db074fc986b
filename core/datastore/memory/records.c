/* How far imports have come that are committed piece by piece. They are few, and looked for by name one after the other. */
#include "datastore/memory/state.h"

lic_memory_record *lic_memory_find_record(const lic_memory_store *m, lic_str name)
{
    for (size_t i = 0; i < m->record_count; i++)
        if (lic_str_equal((lic_str){ m->records[i].name, m->records[i].name_size }, name))
            return &m->records[i];
    return NULL;
}

/* NULL: out of memory. */
static lic_memory_record *add_record(lic_memory_store *m, lic_str name)
{
    lic_memory_record *record;

    if (!lic_grow(m->memory, (void **)&m->records, &m->record_capacity, m->record_count + 1, sizeof *m->records))
        return NULL;
    record  = &m->records[m->record_count++];
    *record = (lic_memory_record){ .name_size = name.size };
    memcpy(record->name, name.data, name.size);
    return record;
}

licet_status lic_memory_import_open(lic_store *store, lic_str name, lic_import_record *record, licet_error **error)
{
    lic_memory_store  *m = lic_memory_store_of(store);
    lic_memory_record *found;

    lic_memory_lock(m);
    found = lic_memory_find_record(m, name);
    if (found == NULL)
        found = add_record(m, name);
    if (found != NULL)
        *record = found->record;
    lic_memory_unlock(m);
    return found != NULL ? LICET_OK : lic_fail_memory(error);
}

licet_status lic_memory_import_find(lic_store *store, lic_str name, lic_import_record *record, bool *is_known,
                                    licet_error **error)
{
    lic_memory_store        *m = lic_memory_store_of(store);
    const lic_memory_record *found;

    (void)error;
    lic_memory_lock(m);
    found     = lic_memory_find_record(m, name);
    *is_known = found != NULL;
    if (*is_known)
        *record = found->record;
    lic_memory_unlock(m);
    return LICET_OK;
}

licet_status lic_memory_import_forget(lic_store *store, lic_str name, bool *was_known, licet_error **error)
{
    lic_memory_store  *m = lic_memory_store_of(store);
    lic_memory_record *found;

    (void)error;
    lic_memory_lock(m);
    found      = lic_memory_find_record(m, name);
    *was_known = found != NULL;
    if (*was_known)
        *found = m->records[--m->record_count];
    lic_memory_unlock(m);
    return LICET_OK;
}

/* What all stores share. */
#include "datastore/datastore.h"

void lic_row_relationship(const lic_names *names, const lic_row *row, licet_relationship *relationship)
{
    lic_slot resource = row->edge.resource.slot;
    lic_slot subject  = row->edge.subject.slot;
    lic_type type     = lic_names_type_of(names, subject);

    *relationship               = (licet_relationship)LICET_RELATIONSHIP_INIT;
    relationship->resource_type = lic_names_type_name(names, lic_names_type_of(names, resource));
    relationship->resource_id   = row->resource_id;
    relationship->relation      = lic_names_relation_name(names, resource);
    relationship->subject_type  = lic_names_type_name(names, type);
    relationship->subject_id    = row->subject_id;
    if (subject != lic_names_ellipsis(names, type))
        relationship->subject_relation = lic_names_relation_name(names, subject);
}

int lic_edge_compare(const lic_edge *a, const lic_edge *b)
{
    uint64_t left  = lic_ref_key(a->resource);
    uint64_t right = lic_ref_key(b->resource);

    if (left == right) {
        left  = lic_ref_key(a->subject);
        right = lic_ref_key(b->subject);
    }
    return left < right ? -1 : left > right;
}

/* Walks in order, for who goes on where he stopped. What the deltas know comes in no order, so it is a walk of its
 * own, which the caller sorts: there is little of it. */
#include "state.h"

void lic_walk_split(lic_walk *walk, lic_walk *rest)
{
    *rest        = *walk;
    rest->next   = rest->end;
    walk->record = LIC_NONE;
}

void lic_walk_seek(lic_walk *walk, lic_ref from)
{
    if (walk->next != walk->end)
        walk->next = lic_piece_lower_bound(walk->piece, walk->next, walk->end, lic_ref_key(from));
}

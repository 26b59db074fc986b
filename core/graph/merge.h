/* Merging the delta's log, as it is when the merge begins, into the base.
 *
 *   1. Wait until the readers of the delta before this one have gone: they don't know this one's records.
 *   2. Replace the pieces of every range that the log touches, one by one. Readers don't mind: for every edge
 *      that differs they have a record. A merge may stop here; doing a piece twice does no harm.
 *   3. Make a new delta of what came in the meantime, and for it a past of what the old past and the merged log hold
 *      after the horizon: the changes that are still to be read one by one. Where memory is too short for that, there
 *      is no past, and the base's revision becomes the oldest.
 *   4. Under the write lock, copy the last few changes and put the new delta in the old one's place.
 *
 * History used to stay in the delta: it is left to be merged until it is given up. But then most looks of a reader of
 * the head end in the delta, where they take two to three times as long as in the base.
 *
 * One merge at a time. It never waits for the write lock, which a writer may hold while waiting for the merge: when
 * it is at step 4, whoever has the lock does it. */
#ifndef LIC_GRAPH_MERGE_H
#define LIC_GRAPH_MERGE_H

#include "graph/state.h"

/* How much history a merge keeps. */
typedef enum lic_merge_keep {
    LIC_MERGE_KEEP, /* what the window and min_history_changes demand, memory permitting */
    LIC_MERGE_FORGET
} lic_merge_keep;

/* All under the write lock, held by the caller. */

/* Does step 4 if a merge waits for it. */
void lic_merge_help(lic_graph *graph);
/* Starts a merge if the log has become long enough, in a thread or, where none can be had, in this one. */
void lic_merge_start_due(lic_graph *graph);
/* Joins the thread of a merge that has ended. Does not wait. */
void lic_merge_join_ended(lic_graph *graph);
/* Would a merge still be possible if so many changes more came into the log, and so many bytes into use? If one of them
 * adds an edge, then also with some deletions before. */
bool lic_merge_leaves_room(const lic_graph *graph, size_t more, size_t bytes, bool adds);
/* Gives up all history to get memory back, and what was reserved for changes, as far as readers let it; waits for them and
 * for a merge in progress, 5 s at most. */
void lic_merge_for_memory(lic_graph *graph);

/* Not under the lock: a merge by the caller, who has no snapshot. false: out of memory. */
bool lic_merge_now(lic_graph *graph, lic_merge_keep keep);
/* Waits for the merge that runs, if any; the graph is closing. */
void lic_merge_end(lic_graph *graph);
/* After fork(), in the child: no merge runs. */
void lic_merge_forget(lic_graph *graph);

#endif

/* Edges in compressed rows, Tarjan's components on an explicit stack, and reachability as one pass over the
 * components: Tarjan finishes them in the order in which their results can be used. */
#include "schema/edges.h"

typedef struct edge_writer {
    const lic_resolved *resolved;
    lic_edge_set        set;
    lic_expr_walk       walk;
    uint32_t           *to; /* NULL: only counts */
    size_t              count;
} edge_writer;

static void add_edge(edge_writer *w, uint32_t target)
{
    if (target == LIC_NO_REL)
        return;
    if (w->to != NULL)
        w->to[w->count] = target;
    w->count++;
}

static void add_relation(edge_writer *w, const lic_member *member)
{
    if (w->set == LIC_EDGES_NAMES)
        return;
    for (size_t i = 0; i < member->ast->type_count; i++)
        add_edge(w, w->resolved->types[member->first_type + i].member);
}

static void add_operand(edge_writer *w, uint32_t definition, const lic_ast_expr *expr)
{
    const lic_resolved *r = w->resolved;
    uint32_t            arrow;

    if (expr->kind == LIC_AST_NAME) {
        add_edge(w, lic_resolved_member(r, definition, expr->name));
    } else if (lic_is_arrow(expr) && w->set == LIC_EDGES_ALL) {
        arrow = lic_resolved_arrow(r, lic_resolved_member(r, definition, expr->name), expr->target);
        if (arrow != UINT32_MAX)
            add_edge(w, r->member_count + arrow);
    }
}

static void add_member(edge_writer *w, const lic_member *member)
{
    const lic_ast_expr *expr;

    if (member->ast->expr == NULL) {
        add_relation(w, member);
    } else if (w->set != LIC_EDGES_USERSETS) {
        lic_expr_walk_start(&w->walk, member->ast->expr);
        while ((expr = lic_expr_walk_next(&w->walk)) != NULL)
            add_operand(w, member->definition, expr);
    }
}

/* Twice over the AST: first for the counts, then for the edges. */
static bool write_edges(lic_arena *arena, edge_writer *w, lic_edges *edges)
{
    for (int pass = 0; pass < 2; pass++) {
        w->count = 0;
        for (lic_rel m = 0; m < w->resolved->member_count && !w->walk.failed; m++) {
            add_member(w, &w->resolved->members[m]);
            if (w->count > UINT32_MAX)
                return false;
            edges->first[m + 1] = (uint32_t)w->count;
        }
        if (w->walk.failed)
            return false;
        if (pass == 0)
            edges->to = w->to = lic_new_items(arena, w->count, uint32_t);
        if (w->to == NULL)
            return false;
    }
    return true;
}

/* Tarjan's algorithm. index: when a node was met, from 1; low: the oldest node still open that it leads to. A node
 * is open while it stands on `open`; the path from the root to the node at work stands on `path`. */
typedef struct tarjan {
    lic_edges *edges;
    uint32_t  *index;
    uint32_t  *low;
    uint32_t  *next; /* number of the edge to look at next */
    uint32_t  *open;
    uint32_t  *path;
    uint32_t   open_count;
    uint32_t   path_count;
    uint32_t   met;
    uint32_t   done; /* nodes in edges->order */
} tarjan;

#define CLOSED UINT32_MAX /* index of a node whose component is known */

static void tarjan_enter(tarjan *t, uint32_t node)
{
    t->index[node] = t->low[node] = ++t->met;
    t->next[node]                 = 0;
    t->open[t->open_count++]      = node;
    t->path[t->path_count++]      = node;
}

static void tarjan_close(tarjan *t, uint32_t root)
{
    lic_edges *edges = t->edges;
    uint32_t   node;

    do {
        node                    = t->open[--t->open_count];
        t->index[node]          = CLOSED;
        edges->component[node]  = edges->component_count;
        edges->order[t->done++] = node;
    } while (node != root);
    edges->component_count++;
}

static void tarjan_leave(tarjan *t)
{
    uint32_t node = t->path[--t->path_count];
    uint32_t low  = t->low[node];

    if (low == t->index[node])
        tarjan_close(t, node);
    if (t->path_count > 0 && low < t->low[t->path[t->path_count - 1]])
        t->low[t->path[t->path_count - 1]] = low;
}

static void tarjan_step(tarjan *t)
{
    uint32_t       node       = t->path[t->path_count - 1];
    lic_successors successors = lic_edges_of(t->edges, node);
    uint32_t       target;

    if (t->next[node] == successors.count) {
        tarjan_leave(t);
        return;
    }
    target = successors.nodes[t->next[node]++];
    if (t->index[target] == 0)
        tarjan_enter(t, target);
    else if (t->index[target] != CLOSED && t->index[target] < t->low[node])
        t->low[node] = t->index[target];
}

static bool find_components(lic_arena *arena, lic_edges *edges)
{
    uint32_t n = edges->node_count;
    tarjan   t = { .edges = edges,
                   .index = lic_new_items(arena, n, uint32_t),
                   .low   = lic_new_items(arena, n, uint32_t),
                   .next  = lic_new_items(arena, n, uint32_t),
                   .open  = lic_new_items(arena, n, uint32_t),
                   .path  = lic_new_items(arena, n, uint32_t) };

    edges->component = lic_new_items(arena, n, uint32_t);
    edges->order     = lic_new_items(arena, n, uint32_t);
    if (t.index == NULL || t.low == NULL || t.next == NULL || t.open == NULL || t.path == NULL ||
        edges->component == NULL || edges->order == NULL)
        return false;
    for (uint32_t root = 0; root < n; root++) {
        if (t.index[root] == 0)
            tarjan_enter(&t, root);
        while (t.path_count > 0)
            tarjan_step(&t);
    }
    return true;
}

bool lic_edges_find(lic_arena *arena, const lic_resolved *resolved, lic_edge_set set, lic_edges *edges)
{
    edge_writer w = { .resolved = resolved, .set = set };
    bool        written;

    *edges = (lic_edges){ .resolved = resolved, .node_count = resolved->member_count };
    if (set == LIC_EDGES_ALL)
        edges->node_count += resolved->arrow_count;
    edges->first = lic_new_items(arena, (size_t)resolved->member_count + 1, uint32_t);
    if (edges->first == NULL)
        return false;
    lic_expr_walk_init(&w.walk, arena->memory);
    written = write_edges(arena, &w, edges);
    lic_expr_walk_free(&w.walk);
    return written && find_components(arena, edges);
}

bool lic_edges_cyclic(const lic_edges *edges, uint32_t node)
{
    lic_successors successors = lic_edges_of(edges, node);

    for (uint32_t i = 0; i < successors.count; i++)
        if (edges->component[successors.nodes[i]] == edges->component[node])
            return true;
    return false;
}

static uint64_t type_bit(uint32_t definition, uint32_t word)
{
    return definition / 64 == word ? UINT64_C(1) << (definition % 64) : 0;
}

/* What a member contributes by itself. */
static uint64_t own_types(const lic_resolved *r, const lic_member *member, bool terminal, uint32_t word)
{
    uint64_t bits = terminal ? 0 : type_bit(member->definition, word); /* identity, self */

    for (size_t i = 0; i < member->ast->type_count; i++)
        if (!terminal || !lic_str_given(member->ast->types[i].relation))
            bits |= type_bit(r->types[member->first_type + i].definition, word);
    return bits;
}

void lic_reach_column(const lic_edges *edges, bool terminal, uint32_t word, uint64_t *columns)
{
    const lic_resolved *r = edges->resolved;

    memset(columns, 0, edges->component_count * sizeof *columns);
    for (uint32_t i = 0; i < edges->node_count; i++) {
        uint32_t       node       = edges->order[i];
        lic_successors successors = lic_edges_of(edges, node);
        uint64_t      *bits       = &columns[edges->component[node]];

        if (node < r->member_count)
            *bits |= own_types(r, &r->members[node], terminal, word);
        for (uint32_t s = 0; s < successors.count; s++)
            *bits |= columns[edges->component[successors.nodes[s]]];
    }
}

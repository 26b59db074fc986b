/* SpiceDB: referencesWildcardTypeWithEncountered (pkg/schema), as a loop. */
#include "schema/wildcards.h"

/* A relation being searched, and its type to look at next. */
typedef struct wildcard_frame {
    lic_rel relation;
    size_t  next_type;
} wildcard_frame;

bool lic_wildcard_search_init(lic_wildcard_search *search, lic_arena *arena, const lic_resolved *resolved)
{
    search->resolved = resolved;
    search->clean    = lic_new_items(arena, resolved->name_count, bool);
    search->seen     = lic_new_items(arena, resolved->member_count, bool);
    search->stack    = lic_new_items(arena, resolved->member_count, wildcard_frame); /* each is entered once */
    return search->clean != NULL && search->seen != NULL && search->stack != NULL;
}

/* Enters a member; false when there is nothing to search: it was met before, which counts as clean. */
static bool search_enter(lic_wildcard_search *s, lic_rel member, size_t *depth)
{
    if (s->seen[member]) {
        s->clean[s->resolved->members[member].name] = true;
        return false;
    }
    s->seen[member]      = true;
    s->stack[(*depth)++] = (wildcard_frame){ .relation = member };
    return true;
}

/* Looks at the next type of the innermost relation. true: it is a wildcard. */
static bool search_step(lic_wildcard_search *s, size_t *depth, const lic_ast_type **type)
{
    wildcard_frame   *frame  = &s->stack[*depth - 1];
    const lic_member *member = &s->resolved->members[frame->relation];
    lic_rel           target;

    if (frame->next_type == member->ast->type_count) {
        s->clean[member->name] = true;
        (*depth)--;
        return false;
    }
    *type = &member->ast->types[frame->next_type];
    if ((*type)->wildcard)
        return true;
    target = s->resolved->types[member->first_type + frame->next_type++].member;
    if (target != LIC_NO_REL && !s->clean[s->resolved->members[target].name])
        search_enter(s, target, depth);
    return false;
}

lic_wildcard_finding lic_wildcard_find(lic_wildcard_search *search, lic_rel relation)
{
    const lic_ast_type *type  = NULL;
    size_t              depth = 0;

    if (!search->clean[search->resolved->members[relation].name])
        search_enter(search, relation, &depth);
    while (depth > 0)
        if (search_step(search, &depth, &type))
            return (lic_wildcard_finding){ search->stack[depth - 1].relation, type };
    return (lic_wildcard_finding){ LIC_NO_REL, NULL };
}

static bool allows_wildcard(const lic_ast_member *member)
{
    for (size_t i = 0; i < member->type_count; i++)
        if (member->types[i].wildcard)
            return true;
    return false;
}

bool *lic_find_wildcards(lic_arena *arena, const lic_resolved *resolved)
{
    lic_edges edges;
    bool     *by_component;
    bool     *wild = lic_new_items(arena, resolved->member_count, bool);

    if (wild == NULL || !lic_edges_find(arena, resolved, LIC_EDGES_USERSETS, &edges))
        return NULL;
    by_component = lic_new_items(arena, edges.component_count, bool);
    if (by_component == NULL)
        return NULL;
    for (uint32_t i = 0; i < edges.node_count; i++) {
        uint32_t node   = edges.order[i];
        bool    *answer = &by_component[edges.component[node]];

        *answer |= allows_wildcard(resolved->members[node].ast);
        for (uint32_t e = edges.first[node]; e < edges.first[node + 1]; e++)
            *answer |= by_component[edges.component[edges.to[e]]];
    }
    for (lic_rel m = 0; m < resolved->member_count; m++)
        wild[m] = by_component[edges.component[m]];
    return wild;
}

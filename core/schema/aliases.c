/* Every member has at most one alias step, so a chain is followed once and its end written to all of it. */
#include "schema/aliases.h"

#define UNSEEN (LIC_NO_REL - 1)
#define ON_PATH (LIC_NO_REL - 2)

#define MAX_NAMES_LISTED 16   /* of the aliases without an end: the message holds 1,024 bytes */
#define MAX_MEMBERS_LISTED 40 /* of one cycle */
#define MAX_CYCLES_LISTED 4

/* What a permission that is nothing but a name says; m itself for any other member. */
static lic_rel alias_step(const lic_resolved *r, lic_rel m)
{
    const lic_ast_expr *expr = r->members[m].ast->expr;

    if (expr == NULL || expr->kind != LIC_AST_NAME)
        return m;
    return lic_resolved_member(r, r->members[m].definition, expr->name);
}

static void follow_alias(const lic_resolved *r, lic_rel start, lic_rel *alias_of, lic_rel *path)
{
    size_t  length = 0;
    lic_rel m      = start;
    lic_rel end    = UNSEEN;

    while (end == UNSEEN) {
        lic_rel next = alias_step(r, m);

        if (next == m && r->members[m].ast->expr != NULL && r->members[m].ast->expr->kind == LIC_AST_NAME)
            end = LIC_NO_REL; /* names itself */
        else if (next == m || next == LIC_NO_REL)
            end = next;
        else if (alias_of[next] != UNSEEN)
            end = alias_of[next] == ON_PATH ? LIC_NO_REL : alias_of[next];
        alias_of[m]    = ON_PATH;
        path[length++] = m;
        m              = next;
    }
    while (length > 0)
        alias_of[path[--length]] = end;
}

lic_rel *lic_find_aliases(lic_arena *arena, const lic_resolved *resolved)
{
    lic_rel *alias_of = lic_new_items(arena, resolved->member_count, lic_rel);
    lic_rel *path     = lic_new_items(arena, resolved->member_count, lic_rel);

    if (alias_of == NULL || path == NULL)
        return NULL;
    for (lic_rel m = 0; m < resolved->member_count; m++)
        alias_of[m] = UNSEEN;
    for (lic_rel m = 0; m < resolved->member_count; m++)
        if (alias_of[m] == UNSEEN)
            follow_alias(resolved, m, alias_of, path);
    return alias_of;
}

static void add_place(const lic_resolved *r, lic_place place, lic_text *out)
{
    lic_position position = lic_ast_position(r->ast, place);

    lic_text_add_literal(out, " (");
    if (place.source != 0) {
        lic_text_add(out, r->ast->sources[place.source].name);
        lic_text_add_char(out, ':');
    }
    lic_text_add_u64(out, position.line);
    lic_text_add_char(out, ':');
    lic_text_add_u64(out, position.column);
    lic_text_add_char(out, ')');
}

/* Writes the way back from the search: parents lead to the start. */
static void add_path(const lic_resolved *r, const lic_rel *path, size_t length, lic_text *out)
{
    for (size_t i = 0; i < length && i < MAX_MEMBERS_LISTED; i++) {
        const lic_ast_member *member = r->members[path[i]].ast;

        lic_text_add(out, member->name);
        add_place(r, member->place, out);
        lic_text_add_literal(out, " -> ");
    }
    if (length > MAX_MEMBERS_LISTED)
        lic_text_add_literal(out, "... -> ");
    lic_text_add(out, r->members[path[0]].ast->name);
}

/* Breadth first inside the component until an edge leads back to the start. */
bool lic_add_cycle(lic_arena *arena, const lic_resolved *resolved, const lic_edges *edges, lic_rel start, lic_text *out)
{
    lic_rel *parent = lic_new_items(arena, edges->node_count, lic_rel);
    lic_rel *queue  = lic_new_items(arena, edges->node_count, lic_rel);
    bool    *seen   = lic_new_items(arena, edges->node_count, bool);
    size_t   head = 0, tail = 0, length = 0;
    lic_rel  m      = start;
    bool     closed = false;

    if (parent == NULL || queue == NULL || seen == NULL)
        return false;
    queue[tail++] = start;
    seen[start]   = true;
    while (!closed) {
        m = queue[head++];
        for (uint32_t e = edges->first[m]; e < edges->first[m + 1] && !closed; e++) {
            lic_rel next = edges->to[e];

            closed = next == start;
            if (closed || seen[next] || edges->component[next] != edges->component[start])
                continue;
            seen[next]    = true;
            parent[next]  = m;
            queue[tail++] = next;
        }
    }
    /* From the last member back to the start; the queue is no longer needed and takes it the other way round. */
    for (lic_rel back = m; back != start; back = parent[back])
        length++;
    for (size_t i = length; i > 0; i--, m = parent[m])
        queue[i] = m;
    queue[0] = start;
    add_path(resolved, queue, length + 1, out);
    return true;
}

/* The members without an end, sorted by name as SpiceDB prints them. */
static bool add_endless_names(lic_arena *arena, const lic_resolved *r, const lic_rel *alias_of, uint32_t definition,
                              lic_text *out)
{
    lic_rel  from = r->first_members[definition], to = r->first_members[definition + 1];
    lic_str *names = lic_new_items(arena, to - from, lic_str);
    size_t   count = 0, listed = 0;

    if (names == NULL)
        return false;
    for (lic_rel m = from; m < to; m++) {
        lic_str name = r->members[m].ast->name;
        size_t  i;

        if (alias_of[m] != LIC_NO_REL)
            continue;
        count++;
        for (i = listed; i > 0 && lic_str_compare(names[i - 1], name) > 0; i--)
            if (i < MAX_NAMES_LISTED)
                names[i] = names[i - 1];
        if (i < MAX_NAMES_LISTED)
            names[i] = name;
        listed += listed < MAX_NAMES_LISTED;
    }
    for (size_t i = 0; i < listed; i++) {
        if (i > 0)
            lic_text_add_literal(out, ", ");
        lic_text_add(out, names[i]);
    }
    if (count > listed)
        lic_text_add_literal(out, ", ...");
    return true;
}

/* The first member of each of the definition's cycles, aliases' (endless) or others. false: out of memory. */
static bool add_cycles(lic_arena *arena, const lic_resolved *r, const lic_edges *edges, const lic_rel *alias_of,
                       uint32_t definition, bool endless, const char *heading, lic_text *out)
{
    bool    *told  = lic_new_items(arena, edges->component_count, bool);
    unsigned count = 0;

    if (told == NULL)
        return false;
    for (lic_rel m = r->first_members[definition]; m < r->first_members[definition + 1]; m++) {
        if ((alias_of[m] == LIC_NO_REL) != endless || told[edges->component[m]] || !lic_edges_cyclic(edges, m))
            continue;
        told[edges->component[m]] = true;
        if (++count > MAX_CYCLES_LISTED)
            break;
        lic_text_add(out, count == 1 ? (lic_str){ heading, strlen(heading) } : LIC_STR("; "));
        if (!lic_add_cycle(arena, r, edges, m, out))
            return false;
    }
    return true;
}

static lic_rel first_cyclic(const lic_resolved *r, const lic_edges *edges, const lic_rel *alias_of)
{
    for (lic_rel m = 0; m < r->member_count; m++)
        if (alias_of[m] == LIC_NO_REL && lic_edges_cyclic(edges, m))
            return m;
    return LIC_NO_REL;
}

static licet_status fail_cycle(lic_arena *arena, const lic_resolved *r, const lic_edges *edges, const lic_rel *alias_of,
                               lic_rel member, licet_error **error)
{
    uint32_t     definition = r->members[member].definition;
    lic_place    place      = r->members[member].ast->place;
    lic_str      name       = r->definitions[definition]->name;
    licet_status status;
    lic_text     text;

    lic_text_init(&text, arena->memory);
    if (!add_endless_names(arena, r, alias_of, definition, &text) ||
        !add_cycles(arena, r, edges, alias_of, definition, true, ": ", &text) ||
        !add_cycles(arena, r, edges, alias_of, definition, false, "; circular through operators: ", &text) ||
        text.failed)
        status = lic_fail_memory(error);
    else
        status = lic_fail_reason(
            error, LICET_SCHEMA_ERROR, LICET_KIND_TYPE, "SCHEMA_TYPE_ERROR", lic_ast_position(r->ast, place),
            "under definition `%.*s`, there exists a cycle in permissions: %.*s", LIC_STR_ARG(name), LIC_STR_ARG(text));
    lic_text_free(&text);
    return status;
}

licet_status lic_check_aliases(lic_arena *arena, const lic_resolved *resolved, const lic_rel *alias_of,
                               licet_error **error)
{
    lic_edges edges;
    lic_rel   endless = 0;

    while (endless < resolved->member_count && alias_of[endless] != LIC_NO_REL)
        endless++;
    if (endless == resolved->member_count)
        return LICET_OK;
    if (!lic_edges_find(arena, resolved, LIC_EDGES_NAMES, &edges))
        return lic_fail_memory(error);
    return fail_cycle(arena, resolved, &edges, alias_of, first_cyclic(resolved, &edges, alias_of), error);
}

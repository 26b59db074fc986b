/* SpiceDB's five lints in its words (pkg/development/warningdefs.go), and licet's own for what is accepted only because
 * SpiceDB accepts it. At most MAX_LINTS are kept: a text with more needs no longer list. */
#include "schema/lint.h"

#include "schema/aliases.h"
#include "schema/limits.h"
#include "schema/wildcards.h"

#define MAX_LINTS 1000
#define MAX_CYCLE_LINTS 16 /* each looks up the place of every member */
#define MAX_QUOTED_BYTES 64

typedef struct raw_lint {
    lic_place place;
    lic_str   name;
    lic_str   message;
} raw_lint;

typedef struct linter {
    lic_arena     *arena; /* the caller's: messages, the list that is returned */
    lic_arena      scratch;
    const lic_ast *ast;
    lic_resolved   names;
    lic_expr_walk  walk;
    lic_text       text;
    bool          *wild; /* lic_find_wildcards */
    raw_lint      *lints;
    size_t         count;
    bool           failed; /* out of memory */
} linter;

static bool is_full(const linter *l)
{
    return l->failed || l->count == MAX_LINTS;
}

static void emit(linter *l, lic_place place, lic_str name, const lic_str *pieces, size_t count)
{
    lic_str message;

    if (is_full(l))
        return;
    l->text.size = 0;
    if (place.source != 0) {
        lic_text_add(&l->text, l->ast->sources[place.source].name);
        lic_text_add_literal(&l->text, ": ");
    }
    for (size_t i = 0; i < count; i++)
        lic_text_add(&l->text, pieces[i]);
    lic_text_add_literal(&l->text, " (");
    lic_text_add(&l->text, name);
    lic_text_add_char(&l->text, ')');
    message   = l->text.failed ? (lic_str){ NULL, 0 } : lic_arena_str(l->arena, lic_text_str(&l->text));
    l->failed = message.data == NULL;
    if (!l->failed)
        l->lints[l->count++] = (raw_lint){ place, name, message };
}

#define PIECES(...) (const lic_str[]){ __VA_ARGS__ }, sizeof((const lic_str[]){ __VA_ARGS__ }) / sizeof(lic_str)
#define EMIT(l, place, name, ...) emit((l), (place), LIC_STR(name), PIECES(__VA_ARGS__))

/* SpiceDB: a comment that says exactly this, one lint per comment. */
static bool is_ignored(const lic_ast_member *member, lic_str lint)
{
    static const lic_str prefix = LICET_STR_INIT("// spicedb-ignore-warning: ");

    for (size_t i = 0; i < member->comment_count; i++) {
        lic_str comment = member->comments[i];

        if (lic_str_starts_with(comment, prefix) &&
            lic_str_equal(lic_str_slice(comment, prefix.size, comment.size), lint))
            return true;
    }
    return false;
}

static void lint_name(linter *l, const lic_member *member)
{
    const lic_ast_member *ast        = member->ast;
    lic_str               definition = l->names.definitions[member->definition]->name;

    if (lic_str_ends_with(ast->name, definition) && !is_ignored(ast, LIC_STR("relation-name-references-parent")))
        EMIT(l, ast->place, "relation-name-references-parent",
             ast->expr != NULL ? LIC_STR("Permission \"") : LIC_STR("Relation \""), ast->name,
             LIC_STR("\" references parent type \""), definition,
             LIC_STR("\" in its name; it is recommended to drop the suffix"));
}

/* An arrow at hand, with what all messages about it say. */
typedef struct arrow_site {
    const lic_member   *permission;
    const lic_ast_expr *expr;
    lic_rel             tupleset;
    lic_str             dot;   /* between its two names */
    lic_str             close; /* behind them */
} arrow_site;

static arrow_site site_of(const linter *l, const lic_member *permission, const lic_ast_expr *expr)
{
    arrow_site site = { .permission = permission, .expr = expr, .dot = LIC_STR("->"), .close = LIC_STR("") };

    site.tupleset = lic_resolved_member(&l->names, permission->definition, expr->name);
    if (expr->kind == LIC_AST_ARROW)
        return site;
    site.dot   = expr->kind == LIC_AST_ARROW_ANY ? LIC_STR(".any(") : LIC_STR(".all(");
    site.close = LIC_STR(")");
    return site;
}

#define ARROW_PIECES(site)                                                                    \
    LIC_STR("Arrow `"), (site)->expr->name, (site)->dot, (site)->expr->target, (site)->close, \
        LIC_STR("` under permission \""), (site)->permission->ast->name, LIC_STR("\" ")

static void lint_arrow_target(linter *l, const arrow_site *site)
{
    uint32_t         index = lic_resolved_arrow(&l->names, site->tupleset, site->expr->target);
    const lic_arrow *arrow = index == UINT32_MAX ? NULL : &l->names.arrows[index];

    if (arrow == NULL || arrow->target_count == 0) {
        if (!is_ignored(site->permission->ast, LIC_STR("arrow-references-unreachable-relation")))
            EMIT(l, site->expr->place, "arrow-references-unreachable-relation", ARROW_PIECES(site),
                 LIC_STR("references relation/permission \""), site->expr->target,
                 LIC_STR("\" that does not exist on any subject types of relation \""), site->expr->name,
                 LIC_STR("\""));
        return;
    }
    if (is_ignored(site->permission->ast, LIC_STR("arrow-references-relation")))
        return;
    for (uint32_t i = 0; i < arrow->target_count; i++) {
        const lic_member *target = &l->names.members[l->names.targets[arrow->first_target + i]];

        if (target->ast->expr != NULL || target->definition == site->permission->definition)
            continue;
        EMIT(l, site->expr->place, "arrow-references-relation", ARROW_PIECES(site), LIC_STR("references relation \""),
             site->expr->target, LIC_STR("\" on definition \""), l->names.definitions[target->definition]->name,
             LIC_STR("\"; it is recommended to point to a permission"));
        return;
    }
}

static void lint_arrow_subjects(linter *l, const arrow_site *site)
{
    const lic_ast_member *tupleset = l->names.members[site->tupleset].ast;

    if (is_ignored(site->permission->ast, LIC_STR("arrow-walks-subject-relation")))
        return;
    for (size_t i = 0; i < tupleset->type_count; i++) {
        const lic_ast_type *type = &tupleset->types[i];

        if (!lic_str_given(type->relation))
            continue;
        EMIT(l, site->expr->place, "arrow-walks-subject-relation", ARROW_PIECES(site),
             LIC_STR("references relation \""), site->expr->name, LIC_STR("\" that has relation \""), type->relation,
             LIC_STR("\" on subject \""), type->type,
             LIC_STR("\": *the subject relation will be ignored for the arrow*"));
        return;
    }
}

static void lint_arrow(linter *l, const arrow_site *site)
{
    lint_arrow_target(l, site);
    lint_arrow_subjects(l, site);
    if (l->wild[site->tupleset] && !is_ignored(site->permission->ast, LIC_STR("arrow-over-wildcard")))
        EMIT(l, site->expr->place, "arrow-over-wildcard", ARROW_PIECES(site), LIC_STR("walks relation \""),
             site->expr->name,
             LIC_STR(
                 "\" that includes a wildcard, which the schema check missed because another relation has its name"));
}

static void lint_permission(linter *l, const lic_member *permission)
{
    const lic_ast_member *ast = permission->ast;
    const lic_ast_expr   *expr;

    lic_expr_walk_start(&l->walk, ast->expr);
    while (!is_full(l) && (expr = lic_expr_walk_next(&l->walk)) != NULL) {
        if (lic_is_arrow(expr)) {
            arrow_site site = site_of(l, permission, expr);

            lint_arrow(l, &site);
        } else if (expr->kind == LIC_AST_NAME && lic_str_equal(expr->name, ast->name) &&
                   !is_ignored(ast, LIC_STR("permission-references-itself"))) {
            EMIT(l, expr->place, "permission-references-itself", LIC_STR("Permission \""), ast->name,
                 LIC_STR("\" references itself, which adds nobody and costs depth"));
        }
    }
    l->failed |= l->walk.failed;
}

/* What T9 would have said without the cache. */
static void lint_relation(linter *l, const lic_member *relation)
{
    const lic_ast_member *ast = relation->ast;

    for (size_t i = 0; i < ast->type_count; i++) {
        const lic_type_ref *ref = &l->names.types[relation->first_type + i];

        if (ref->member == LIC_NO_REL || ref->definition == relation->definition || !l->wild[ref->member] ||
            is_ignored(ast, LIC_STR("relation-includes-wildcard")))
            continue;
        EMIT(l, ast->types[i].place, "relation-includes-wildcard", LIC_STR("Relation \""), ast->name,
             LIC_STR("\" includes a wildcard through \""), ast->types[i].type, LIC_STR("#"), ast->types[i].relation,
             LIC_STR("\", which the schema check missed because another relation has its name"));
    }
}

static void lint_member(linter *l, const lic_member *member)
{
    lint_name(l, member);
    if (member->ast->expr != NULL)
        lint_permission(l, member);
    else
        lint_relation(l, member);
}

/* Cycles through operators are legal and add nobody; through the excluded side of `-` they have no answer. */
static void lint_cycle(linter *l, const lic_edges *edges, lic_rel first)
{
    const lic_ast_member *ast = l->names.members[first].ast;
    lic_text              cycle;

    if (is_ignored(ast, LIC_STR("permission-cycle")))
        return;
    lic_text_init(&cycle, l->scratch.memory);
    l->failed |= !lic_add_cycle(&l->scratch, &l->names, edges, first, &cycle) || cycle.failed;
    EMIT(l, ast->place, "permission-cycle", LIC_STR("Permissions form a cycle: "), lic_text_str(&cycle));
    lic_text_free(&cycle);
}

static void lint_cycles(linter *l)
{
    lic_edges edges;
    uint32_t *sizes;
    unsigned  told = 0;

    if (!lic_edges_find(&l->scratch, &l->names, LIC_EDGES_NAMES, &edges) ||
        (sizes = lic_new_items(&l->scratch, edges.component_count, uint32_t)) == NULL) {
        l->failed = true;
        return;
    }
    for (lic_rel m = 0; m < l->names.member_count; m++)
        sizes[edges.component[m]]++;
    for (lic_rel m = 0; m < l->names.member_count && told < MAX_CYCLE_LINTS; m++) {
        if (sizes[edges.component[m]] < 2) /* one that names itself has a lint of SpiceDB's */
            continue;
        sizes[edges.component[m]] = 0;
        told++;
        lint_cycle(l, &edges, m);
    }
}

static bool is_caveat_name_character(char c, bool first)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (!first && (c == '/' || c == '|' || c == '-'));
}

/* [a-zA-Z0-9_][a-zA-Z0-9/_|-]{0,127}: what a relationship can name (schema.md 7). */
static bool is_spellable(lic_str caveat)
{
    if (caveat.size == 0 || caveat.size > LIC_MAX_CAVEAT_NAME_BYTES)
        return false;
    for (size_t i = 0; i < caveat.size; i++)
        if (!is_caveat_name_character(caveat.data[i], i == 0))
            return false;
    return true;
}

/* At most MAX_QUOTED_BYTES of it, whole characters. */
static lic_str shorten(lic_str text)
{
    size_t size = text.size;

    if (size <= MAX_QUOTED_BYTES)
        return text;
    size = MAX_QUOTED_BYTES;
    while (size > 0 && ((unsigned char)text.data[size] & 0xc0) == 0x80)
        size--;
    return lic_str_slice(text, 0, size);
}

static void lint_caveats(linter *l)
{
    for (uint32_t i = 0; i < l->names.caveat_count; i++) {
        const lic_ast_caveat *caveat = l->names.caveats[i];

        if (!is_spellable(caveat->name))
            EMIT(l, caveat->place, "caveat-name-unspellable", LIC_STR("Caveat \""), shorten(caveat->name),
                 LIC_STR("\" has a name that no relationship can spell"));
    }
}

static void lint_text(linter *l)
{
    if (l->ast->swallowed_and)
        EMIT(l, l->ast->swallowed_and_place, "and-without-expiration",
             LIC_STR("An `and` behind a caveat is not followed by `expiration` and means nothing"));
    if (l->ast->repeated_partial)
        EMIT(l, l->ast->repeated_partial_place, "partial-defined-twice",
             LIC_STR("A partial is defined again; the later definition replaces the earlier one"));
}

static bool is_before(const raw_lint *a, const raw_lint *b)
{
    if (a->place.source != b->place.source)
        return a->place.source < b->place.source;
    return a->place.offset < b->place.offset;
}

/* By insertion: they come nearly sorted (partials and imports are what moves them), and are few. */
static void sort_lints(linter *l)
{
    for (size_t i = 1; i < l->count; i++) {
        raw_lint moved = l->lints[i];
        size_t   to    = i;

        for (; to > 0 && is_before(&moved, &l->lints[to - 1]); to--)
            l->lints[to] = l->lints[to - 1];
        l->lints[to] = moved;
    }
}

/* A position that moves forward through a source: lints come by place, so each source is read once. */
typedef struct cursor {
    lic_place    place;
    lic_position position;
} cursor;

static void cursor_move(cursor *c, const lic_ast *ast, lic_place to)
{
    lic_str text = ast->sources[to.source].text;

    if (c->place.source != to.source)
        *c = (cursor){ { to.source, 0 }, { 1, 1 } };
    for (; c->place.offset < to.offset; c->place.offset++) {
        unsigned char byte = (unsigned char)text.data[c->place.offset];

        if (byte == '\n')
            c->position = (lic_position){ c->position.line + 1, 1 };
        else if ((byte & 0xc0) != 0x80)
            c->position.column++;
    }
}

static bool give_out(linter *l, licet_lint **lints, size_t *count)
{
    cursor at = { { 0, 0 }, { 1, 1 } };

    *lints = lic_new_items(l->arena, l->count, licet_lint);
    if (*lints == NULL)
        return false;
    *count = l->count;
    for (size_t i = 0; i < l->count; i++) {
        cursor_move(&at, l->ast, l->lints[i].place);
        (*lints)[i] = (licet_lint){ .size    = sizeof(licet_lint),
                                    .name    = l->lints[i].name,
                                    .message = l->lints[i].message,
                                    .line    = at.position.line,
                                    .column  = at.position.column };
    }
    return true;
}

static bool linter_init(linter *l)
{
    l->lints = lic_new_items(&l->scratch, MAX_LINTS, raw_lint);
    return l->lints != NULL && lic_resolve(&l->scratch, l->ast, &l->names) &&
           (l->wild = lic_find_wildcards(&l->scratch, &l->names)) != NULL;
}

bool lic_lint(lic_arena *arena, const lic_ast *ast, licet_lint **lints, size_t *count)
{
    linter l = { .arena = arena, .ast = ast };
    bool   done;

    *lints = NULL;
    *count = 0;
    lic_arena_init(&l.scratch, arena->memory);
    lic_expr_walk_init(&l.walk, arena->memory);
    lic_text_init(&l.text, arena->memory);
    done = linter_init(&l);
    if (done) {
        lint_text(&l);
        lint_caveats(&l);
        lint_cycles(&l);
        for (lic_rel m = 0; m < l.names.member_count && !is_full(&l); m++)
            lint_member(&l, &l.names.members[m]);
        sort_lints(&l);
        done = !l.failed && give_out(&l, lints, count);
    }
    lic_text_free(&l.text);
    lic_expr_walk_free(&l.walk);
    lic_resolved_free(&l.names);
    lic_arena_free(&l.scratch);
    return done;
}

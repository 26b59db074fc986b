/* core/eval/subject_set.c: the algebra of subjects, wildcards, exclusions and conditions.
 *
 * Sets are written as text: subjects x, y, z and the wildcard *, a condition (one letter) in brackets, exclusions
 * in braces, parents as digits after a slash: "*[w]/1-{x[e]/2},y". */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "eval/subject_set.h"

#include <stdio.h>
#include <stdlib.h>

#include "failing_memory.h"

#define SLOT 5u
#define PARENT_SLOT 9u

/* ----------------------------------------------------------------- notation */

typedef struct reader {
    lic_arena  *arena;
    const char *at;
} reader;

static const lic_condition *read_condition(reader *r)
{
    const lic_condition *leaf;

    if (*r->at != '[')
        return NULL;
    leaf = lic_condition_leaf(r->arena, (uint32_t)(r->at[1] - 'a'));
    assert_non_null(leaf);
    r->at += 3;
    return leaf;
}

static const lic_ref *read_parents(reader *r, size_t *count)
{
    lic_ref *parents = lic_new_array(r->arena, 10, lic_ref);

    assert_non_null(parents);
    *count = 0;
    if (*r->at == '/')
        for (r->at++; *r->at >= '0' && *r->at <= '9'; r->at++)
            parents[(*count)++] = (lic_ref){ PARENT_SLOT, (uint32_t)(*r->at - '0') };
    return parents;
}

static uint32_t read_node(reader *r)
{
    const char name = *r->at++;

    return name == '*' ? LIC_WILDCARD_NODE : (uint32_t)(name - 'x' + 1);
}

static void read_exclusions(reader *r, lic_subject *wildcard)
{
    lic_subject_exclusion *exclusions = lic_new_array(r->arena, 3, lic_subject_exclusion);

    assert_non_null(exclusions);
    wildcard->exclusions = exclusions;
    if (r->at[0] != '-')
        return;
    for (r->at++; *r->at != '}';) {
        lic_subject_exclusion *e = &exclusions[wildcard->exclusion_count++];

        r->at++; /* brace or comma */
        e->node      = read_node(r);
        e->condition = read_condition(r);
        e->parents   = read_parents(r, &e->parent_count);
    }
    r->at++;
}

static lic_subject_set read_set(lic_arena *arena, const char *text)
{
    reader       r       = { arena, text };
    lic_subject *members = lic_new_array(arena, 4, lic_subject);
    size_t       count   = 0;

    assert_non_null(members);
    while (*r.at != 0) {
        lic_subject *s = &members[count++];

        s->ref       = (lic_ref){ SLOT, read_node(&r) };
        s->condition = read_condition(&r);
        s->parents   = read_parents(&r, &s->parent_count);
        if (s->ref.node == LIC_WILDCARD_NODE)
            read_exclusions(&r, s);
        r.at += *r.at == ',';
    }
    return (lic_subject_set){ members, count };
}

typedef struct writer {
    char   text[512];
    size_t size;
} writer;

static void put(writer *w, char c)
{
    assert_true(w->size + 1 < sizeof w->text);
    w->text[w->size++] = c;
    w->text[w->size]   = 0;
}

static void write_condition(writer *w, const lic_condition *c)
{
    if (c->kind == LIC_CONDITION_LEAF) {
        put(w, (char)('a' + c->leaf));
    } else if (c->kind == LIC_CONDITION_NOT) {
        put(w, '!');
        write_condition(w, c->left);
    } else {
        put(w, '(');
        write_condition(w, c->left);
        put(w, c->kind == LIC_CONDITION_AND ? '&' : '|');
        write_condition(w, c->right);
        put(w, ')');
    }
}

static void write_part(writer *w, uint32_t node, const lic_condition *condition, const lic_ref *parents, size_t count)
{
    put(w, node == LIC_WILDCARD_NODE ? '*' : (char)('x' + node - 1));
    if (condition != NULL) {
        put(w, '[');
        write_condition(w, condition);
        put(w, ']');
    }
    if (count > 0)
        put(w, '/');
    for (size_t i = 0; i < count; i++)
        put(w, (char)('0' + parents[i].node));
}

static void write_set(writer *w, const lic_subject_set *set)
{
    w->size    = 0;
    w->text[0] = 0;
    for (size_t i = 0; i < set->count; i++) {
        const lic_subject *s = &set->members[i];

        if (i > 0)
            put(w, ',');
        write_part(w, s->ref.node, s->condition, s->parents, s->parent_count);
        for (size_t j = 0; j < s->exclusion_count; j++) {
            const lic_subject_exclusion *e = &s->exclusions[j];

            if (j == 0)
                put(w, '-');
            put(w, j == 0 ? '{' : ',');
            write_part(w, e->node, e->condition, e->parents, e->parent_count);
        }
        if (s->exclusion_count > 0)
            put(w, '}');
    }
}

/* ------------------------------------------------------------------- tables */

typedef bool operation(lic_arena *arena, const lic_subject_set *a, const lic_subject_set *b, lic_subject_set *out);

typedef struct row {
    const char *a;
    const char *b;
    const char *result;
} row;

static void check_rows(operation *operate, const row *rows, size_t count)
{
    lic_memory memory;
    lic_arena  arena;
    writer     w;

    lic_memory_init(&memory, NULL, SIZE_MAX);
    lic_arena_init(&arena, &memory);
    for (size_t i = 0; i < count; i++) {
        const lic_subject_set a = read_set(&arena, rows[i].a);
        const lic_subject_set b = read_set(&arena, rows[i].b);
        lic_subject_set       result;

        assert_true(operate(&arena, &a, &b, &result));
        write_set(&w, &result);
        if (strcmp(w.text, rows[i].result) != 0)
            print_error("row %zu: \"%s\" and \"%s\"\n", i, rows[i].a, rows[i].b);
        assert_string_equal(w.text, rows[i].result);
    }
    lic_arena_free(&arena);
    assert_int_equal(atomic_load(&memory.used), 0);
}

#define CHECK_ROWS(operate, rows) check_rows((operate), (rows), sizeof(rows) / sizeof *(rows))

static void a_union_holds_what_either_side_holds(void **state)
{
    static const row rows[] = {
        { "", "", "" },
        { "x", "", "x" },
        { "", "x[a]", "x[a]" },
        { "x", "y", "x,y" },
        /* x[a] + x[b] */
        { "x[a]", "x[b]", "x[(a|b)]" },
        { "x[a]", "x", "x" },
        { "x[c]", "x[c]", "x[c]" },
        { "x[c]", "x", "x" },
        /* wildcards: the exclusions are intersected */
        { "*", "*", "*" },
        { "*[a]", "*[b]", "*[(a|b)]" },
        { "*[a]", "*", "*" },
        { "*-{x}", "*", "*" },
        { "*-{x}", "*-{y}", "*" },
        { "*-{x,y}", "*-{y}", "*-{y}" },
        { "*-{x[a]}", "*-{x[b]}", "*-{x[(a&b)]}" },
        { "*-{x[a]}", "*-{x}", "*-{x[a]}" },
        /* a subject beside the wildcard is not excluded from it */
        { "*-{x}", "x", "*,x" },
        { "*[w]-{x[e]}", "x[c]", "*[w]-{x[(e&!c)]},x[c]" },
        { "x[c]", "*[w]-{x[e]}", "*[w]-{x[(e&!c)]},x[c]" },
        { "*-{x[e]}", "x", "*,x" },
        { "*[w]-{x}", "y", "*[w]-{x},y" },
        { "*-{x}", "x[c]", "*-{x[!c]},x[c]" },
    };

    (void)state;
    CHECK_ROWS(lic_subject_set_union, rows);
}

static void a_union_excludes_only_where_neither_wildcard_holds(void **state)
{
    static const row rows[] = {
        /* SpiceDB excludes nobody here, though x has access only under b */
        { "*[a]-{x}", "*[b]", "*[(a|b)]-{x[!b]}" }, { "*[b]", "*[a]-{x}", "*[(b|a)]-{x[!b]}" },
        { "*-{x}", "*[b]", "*-{x[!b]}" },           { "*[a]-{x[e]}", "*[b]-{x}", "*[(a|b)]-{x[(!a|e)]}" },
        { "*[a]-{x}", "*[b]-{x}", "*[(a|b)]-{x}" },
    };

    (void)state;
    CHECK_ROWS(lic_subject_set_union, rows);
}

static void an_intersection_holds_what_both_sides_hold(void **state)
{
    static const row rows[] = {
        { "x", "", "" },
        { "x", "y", "" },
        { "x", "x", "x" },
        { "x[a]", "x[b]", "x[(a&b)]" },
        { "x[a]", "x", "x[a]" },
        /* wildcards: the exclusions are joined */
        { "*", "x", "x" },
        { "*[a]", "*[b]", "*[(a&b)]" },
        { "*-{x}", "*-{y}", "*-{x,y}" },
        { "*-{x[a]}", "*-{x[b]}", "*-{x[(a|b)]}" },
        { "*-{x[a]}", "*-{x}", "*-{x}" },
        /* a subject and a wildcard */
        { "x[a]", "*[w]", "x[(a&w)]" },
        { "x[a]", "*[w]-{y}", "x[(a&w)]" },
        { "x[a]", "*[w]-{x}", "" },
        { "x[a]", "*[w]-{x[e]}", "x[(a&(w&!e))]" },
        { "*-{x[e]}", "x", "x[!e]" },
        { "*-{x}", "x,y", "y" },
        /* both at once */
        { "x[a]", "*[w],x[b]", "x[((a&b)|(a&w))]" },
        { "*[v],x[a]", "*[w],x[b]", "*[(v&w)],x[(((a&b)|(a&w))|(b&v))]" },
        { "*,x", "x[b]", "x[b]" },
    };

    (void)state;
    CHECK_ROWS(lic_subject_set_intersect, rows);
}

static void a_subtraction_takes_away_what_the_other_side_holds(void **state)
{
    static const row rows[] = {
        { "", "x", "" },
        { "x", "", "x" },
        { "x", "y", "x" },
        { "x[a]", "x", "" },
        { "x[a]", "x[b]", "x[(a&!b)]" },
        { "x", "x[c]", "x[!c]" },
        /* from a wildcard */
        { "*[w]", "x[b]", "*[w]-{x[b]}" },
        { "*[w]-{x[e]}", "x[b]", "*[w]-{x[(e|b)]}" },
        { "*-{x[e]}", "x", "*-{x}" },
        { "*", "x", "*-{x}" },
        /* a wildcard from subjects */
        { "x,y", "*", "" },
        { "x[a]", "*[w]", "x[(a&!w)]" },
        { "x[a]", "*[w]-{x}", "x[a]" },
        { "x[a]", "*[w]-{x[e]}", "x[(a&(!w|e))]" },
        { "x[a]", "*-{x[e]}", "x[(a&e)]" },
        { "x,y", "*-{x}", "x" },
        /* a wildcard from a wildcard */
        { "*", "*", "" },
        { "*", "*-{x}", "x" },
        { "*-{x}", "*-{x,y,z}", "y,z" },
        { "*-{x[d]}", "*-{x[e]}", "x[(!d&e)]" },
        { "*[v]", "*[w]-{x[e]}", "*[(v&!w)],x[((v&w)&e)]" },
        { "*", "*[w]", "*[!w]" },
        { "*[v]-{x[d]}", "*[w]-{x[e]}", "*[(v&!w)]-{x[d]},x[(((v&w)&!d)&e)]" },
    };

    (void)state;
    CHECK_ROWS(lic_subject_set_subtract, rows);
}

static void a_subtraction_of_an_unconditional_wildcard_leaves_no_wildcard(void **state)
{
    static const row rows[] = {
        { "*[v]", "*-{x}", "x[v]" }, /* SpiceDB leaves *[v], too */
        /* SpiceDB forgets that x was there by name */
        { "*,x[a]", "*[w]-{x}", "*[!w],x[(a|w)]" },
        { "*[v]", "*-{x},x", "" },
        { "*[v]", "*-{x},x[b]", "x[(v&!b)]" },
    };

    (void)state;
    CHECK_ROWS(lic_subject_set_subtract, rows);
}

static void parents_are_joined_where_subjects_meet(void **state)
{
    static const row unions[]        = { { "x/1", "x/2", "x/12" },
                                         { "x/13", "x/123", "x/123" },
                                         { "x/1", "y/2", "x/1,y/2" },
                                         { "*/1-{x/2,y/3}", "*/4-{x/5}", "*/14-{x/25}" },
                                         { "*/1-{x[e]/2}", "x[c]/3", "*/1-{x[(e&!c)]/23},x[c]/3" } };
    static const row intersections[] = { { "x/1", "x/2", "x/12" },
                                         { "x/1", "*/2", "x/1" },
                                         { "x/1", "*[w]/2", "x[w]/12" },
                                         { "x/1", "*/2-{x[e]/3}", "x[!e]/123" },
                                         { "*/1-{x/2}", "*/3-{y/4}", "*/13-{x/2,y/4}" } };
    static const row subtractions[]  = { { "x/1", "x[b]/2", "x[!b]/12" },      { "x/1", "*[w]/2", "x[!w]/1" },
                                         { "x/1", "*/2-{x[e]/3}", "x[e]/1" },  { "*/1", "x/2", "*/1-{x/2}" },
                                         { "*/1-{x/2}", "x/3", "*/1-{x/23}" }, { "*/1", "*/2-{x/3}", "x/3" },
                                         { "*/1", "*[w]/2", "*[!w]/12" } };

    (void)state;
    CHECK_ROWS(lic_subject_set_union, unions);
    CHECK_ROWS(lic_subject_set_intersect, intersections);
    CHECK_ROWS(lic_subject_set_subtract, subtractions);
}

static void a_condition_over_a_set_holds_for_members_and_not_for_exclusions(void **state)
{
    lic_memory           memory;
    lic_arena            arena;
    lic_subject_set      set;
    lic_subject_set      result;
    const lic_condition *p;
    writer               w;

    (void)state;
    lic_memory_init(&memory, NULL, SIZE_MAX);
    lic_arena_init(&arena, &memory);
    p   = lic_condition_leaf(&arena, 'p' - 'a');
    set = read_set(&arena, "*[w]-{x[e]},y,z[p]");
    assert_true(lic_subject_set_under(&arena, &set, p, &result));
    write_set(&w, &result);
    assert_string_equal(w.text, "*[(p&w)]-{x[e]},y[p],z[p]");
    assert_true(lic_subject_set_under(&arena, &set, NULL, &result));
    write_set(&w, &result);
    assert_string_equal(w.text, "*[w]-{x[e]},y,z[p]");
    lic_arena_free(&arena);
}

static void sets_of_different_slots_never_meet(void **state)
{
    static const lic_subject members_a[] = { { .ref = { 1, LIC_WILDCARD_NODE } }, { .ref = { 2, 7 } } };
    static const lic_subject members_b[] = { { .ref = { 1, 7 } }, { .ref = { 3, LIC_WILDCARD_NODE } } };
    const lic_subject_set    a           = { members_a, 2 };
    const lic_subject_set    b           = { members_b, 2 };
    lic_memory               memory;
    lic_arena                arena;
    lic_subject_set          result;

    (void)state;
    lic_memory_init(&memory, NULL, SIZE_MAX);
    lic_arena_init(&arena, &memory);
    assert_true(lic_subject_set_union(&arena, &a, &b, &result));
    assert_int_equal(result.count, 4);
    assert_true(lic_subject_set_intersect(&arena, &a, &b, &result));
    assert_int_equal(result.count, 1);
    assert_true(lic_ref_equal(result.members[0].ref, (lic_ref){ 1, 7 }));
    assert_true(lic_subject_set_subtract(&arena, &a, &b, &result));
    assert_int_equal(result.count, 2);
    assert_int_equal(result.members[0].exclusion_count, 1);
    assert_true(lic_ref_equal(result.members[1].ref, (lic_ref){ 2, 7 }));
    lic_arena_free(&arena);
}

/* --------------------------------------------------------------- brute force */

#define CONDITIONS 4u
#define OTHER 9u /* a subject that no set names */

static bool holds(const lic_condition *c, unsigned truth)
{
    if (c == NULL)
        return true;
    switch (c->kind) {
    case LIC_CONDITION_LEAF:
        return (truth >> c->leaf & 1) != 0;
    case LIC_CONDITION_AND:
        return holds(c->left, truth) && holds(c->right, truth);
    case LIC_CONDITION_OR:
        return holds(c->left, truth) || holds(c->right, truth);
    case LIC_CONDITION_NOT:
        return !holds(c->left, truth);
    }
    return false;
}

static bool in_wildcard(const lic_subject *wildcard, uint32_t node, unsigned truth)
{
    for (size_t i = 0; i < wildcard->exclusion_count; i++)
        if (wildcard->exclusions[i].node == node && holds(wildcard->exclusions[i].condition, truth))
            return false;
    return holds(wildcard->condition, truth);
}

static bool is_member(const lic_subject_set *set, uint32_t node, unsigned truth)
{
    for (size_t i = 0; i < set->count; i++) {
        const lic_subject *s = &set->members[i];

        if (s->ref.node == LIC_WILDCARD_NODE ? in_wildcard(s, node, truth)
                                             : s->ref.node == node && holds(s->condition, truth))
            return true;
    }
    return false;
}

static const lic_condition *random_condition(lic_arena *arena)
{
    const uint32_t pick = (uint32_t)rand() % (CONDITIONS + 2);

    return pick < CONDITIONS ? lic_condition_leaf(arena, pick) : NULL;
}

static lic_subject_set random_set(lic_arena *arena)
{
    lic_subject           *members    = lic_new_array(arena, 4, lic_subject);
    lic_subject_exclusion *exclusions = lic_new_array(arena, 3, lic_subject_exclusion);
    size_t                 count      = 0;

    assert_true(members != NULL && exclusions != NULL);
    if (rand() % 2 == 0) {
        lic_subject *wildcard = &members[count++];

        *wildcard = (lic_subject){ .ref        = { SLOT, LIC_WILDCARD_NODE },
                                   .condition  = random_condition(arena),
                                   .exclusions = exclusions };
        for (uint32_t node = 1; node <= 3; node++)
            if (rand() % 2 == 0)
                exclusions[wildcard->exclusion_count++] =
                    (lic_subject_exclusion){ .node = node, .condition = random_condition(arena) };
    }
    for (uint32_t node = 1; node <= 3; node++)
        if (rand() % 2 == 0)
            members[count++] = (lic_subject){ .ref = { SLOT, node }, .condition = random_condition(arena) };
    return (lic_subject_set){ members, count };
}

/* What the three operations make of a and b must hold the right subjects however the conditions turn out. */
static void check_by_brute_force(lic_arena *arena, const lic_subject_set *a, const lic_subject_set *b)
{
    static const uint32_t nodes[] = { 1, 2, 3, OTHER };
    lic_subject_set       made[3];

    assert_true(lic_subject_set_union(arena, a, b, &made[0]));
    assert_true(lic_subject_set_intersect(arena, a, b, &made[1]));
    assert_true(lic_subject_set_subtract(arena, a, b, &made[2]));
    for (unsigned truth = 0; truth < 1u << CONDITIONS; truth++)
        for (size_t i = 0; i < 4; i++) {
            const bool in_a = is_member(a, nodes[i], truth);
            const bool in_b = is_member(b, nodes[i], truth);

            assert_int_equal(is_member(&made[0], nodes[i], truth), in_a || in_b);
            assert_int_equal(is_member(&made[1], nodes[i], truth), in_a && in_b);
            assert_int_equal(is_member(&made[2], nodes[i], truth), in_a && !in_b);
        }
    for (size_t set = 0; set < 3; set++)
        for (size_t i = 1; i < made[set].count; i++)
            assert_true(lic_ref_key(made[set].members[i - 1].ref) < lic_ref_key(made[set].members[i].ref));
}

static void every_operation_is_exact_for_every_subject(void **state)
{
    lic_memory memory;

    (void)state;
    srand(1);
    lic_memory_init(&memory, NULL, SIZE_MAX);
    for (int n = 0; n < 3000; n++) {
        lic_arena       arena;
        lic_subject_set a;
        lic_subject_set b;
        lic_subject_set c;

        lic_arena_init(&arena, &memory);
        a = random_set(&arena);
        b = random_set(&arena);
        check_by_brute_force(&arena, &a, &b);
        c = random_set(&arena);
        assert_true(lic_subject_set_subtract(&arena, &a, &b, &a)); /* results are operands, too */
        check_by_brute_force(&arena, &a, &c);
        check_by_brute_force(&arena, &c, &a);
        lic_arena_free(&arena);
    }
}

static void every_operation_survives_every_failed_allocation(void **state)
{
    static operation *const operations[] = { lic_subject_set_union, lic_subject_set_intersect,
                                             lic_subject_set_subtract };

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        bool done = false;

        for (size_t n = 0; !done; n++) {
            failing_memory  source = fail_after(n);
            lic_memory      memory;
            lic_memory      sound;
            lic_arena       arena;
            lic_arena       operands;
            lic_subject_set a;
            lic_subject_set b;
            lic_subject_set result = { NULL, 9 };

            lic_memory_init(&memory, &source.allocator, SIZE_MAX);
            lic_memory_init(&sound, NULL, SIZE_MAX);
            lic_arena_init(&operands, &sound);
            lic_arena_init(&arena, &memory);
            arena.block_size = 16; /* so that nearly every object is an allocation */
            a                = read_set(&operands, "*[v]/1-{x[a]/2,y/3},z[b]/4");
            b                = read_set(&operands, "*[w]/5-{x[c]/6,z/7},y[d]/8,z/9");
            done             = operations[i](&arena, &a, &b, &result);
            if (!done)
                assert_int_equal(result.count, 0);
            assert_true(done == (source.counts->failures == 0));
            lic_arena_free(&arena);
            lic_arena_free(&operands);
            assert_int_equal(source.counts->live_blocks, 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_union_holds_what_either_side_holds),
        cmocka_unit_test(a_union_excludes_only_where_neither_wildcard_holds),
        cmocka_unit_test(an_intersection_holds_what_both_sides_hold),
        cmocka_unit_test(a_subtraction_takes_away_what_the_other_side_holds),
        cmocka_unit_test(a_subtraction_of_an_unconditional_wildcard_leaves_no_wildcard),
        cmocka_unit_test(parents_are_joined_where_subjects_meet),
        cmocka_unit_test(a_condition_over_a_set_holds_for_members_and_not_for_exclusions),
        cmocka_unit_test(sets_of_different_slots_never_meet),
        cmocka_unit_test(every_operation_is_exact_for_every_subject),
        cmocka_unit_test(every_operation_survives_every_failed_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The algebra of validation-files.md 7, slot by slot, node by node.
 *
 * Of a slot, a set says of each subject x that it is a member when
 *
 *     concrete(x)  or  (wildcard  and not  excluded(x))
 *
 * and of every other subject when `wildcard` holds. The operations below are this formula, worked out so that concrete
 * subjects stay concrete: a subject that is granted by name is listed by name, beside the wildcard.
 *
 * SpiceDB (internal/datasets/basesubjectset.go) is followed but for three places where its result isn't that of the
 * formula: the exclusions in a union of wildcards of which one is conditional; a wildcard from which an unconditional
 * wildcard with exclusions is taken away; a subject that such a subtraction makes concrete and that was concrete before. */
#include "subject_set.h"

/* A subject, a wildcard or an exclusion as an operand; is == false: not in the set. */
typedef struct part {
    bool                 is;
    const lic_condition *condition;
    const lic_ref       *parents;
    size_t               parent_count;
} part;

#define NOBODY ((part){ false, NULL, NULL, 0 })

/* What one set says about one slot. */
typedef struct slot_part {
    const lic_subject *wildcard; /* NULL: none */
    const lic_subject *concretes;
    size_t             count;
} slot_part;

/* The result being made. Once memory has run out it is worthless and only `failed` matters. */
typedef struct maker {
    lic_arena   *arena;
    lic_subject *members;
    size_t       count;
    size_t       capacity;
    bool         failed;
} maker;

/* ------------------------------------------------------------- conditions */

static const lic_condition *both(maker *m, const lic_condition *a, const lic_condition *b)
{
    const lic_condition *made = NULL;

    m->failed |= !lic_condition_and(m->arena, a, b, &made);
    return made;
}

static const lic_condition *either(maker *m, const lic_condition *a, const lic_condition *b)
{
    const lic_condition *made = NULL;

    m->failed |= !lic_condition_or(m->arena, a, b, &made);
    return made;
}

/* a is not NULL. */
static const lic_condition *negated(maker *m, const lic_condition *a)
{
    const lic_condition *made = NULL;

    m->failed |= !lic_condition_not(m->arena, a, &made);
    return made;
}

/* ---------------------------------------------------------------- parents */

/* a with the parents of b joined in. */
static part with_parents_of(maker *m, part a, part b)
{
    lic_ref *joined;
    size_t   count = 0;
    size_t   i     = 0;
    size_t   j     = 0;

    if (b.parent_count == 0)
        return a;
    joined = lic_new_array(m->arena, a.parent_count + b.parent_count, lic_ref);
    if (joined == NULL) {
        m->failed = true;
        return a;
    }
    while (i < a.parent_count || j < b.parent_count) {
        const uint64_t left  = i < a.parent_count ? lic_ref_key(a.parents[i]) : UINT64_MAX;
        const uint64_t right = j < b.parent_count ? lic_ref_key(b.parents[j]) : UINT64_MAX;

        joined[count++] = left <= right ? a.parents[i] : b.parents[j];
        i += left <= right;
        j += right <= left;
    }
    a.parents      = joined;
    a.parent_count = count;
    return a;
}

static part with_condition(part a, const lic_condition *condition)
{
    a.condition = condition;
    return a;
}

/* ------------------------------------------------------------------ parts */

static part part_of(const lic_subject *subject)
{
    return subject == NULL ? NOBODY : (part){ true, subject->condition, subject->parents, subject->parent_count };
}

static part concrete_at(const slot_part *s, uint32_t node)
{
    size_t low  = 0;
    size_t high = s->count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (s->concretes[middle].ref.node < node)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->count && s->concretes[low].ref.node == node ? part_of(&s->concretes[low]) : NOBODY;
}

static part exclusion_at(const lic_subject *wildcard, uint32_t node)
{
    const lic_subject_exclusion *found;
    size_t                       low  = 0;
    size_t                       high = wildcard == NULL ? 0 : wildcard->exclusion_count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (wildcard->exclusions[middle].node < node)
            low = middle + 1;
        else
            high = middle;
    }
    if (wildcard == NULL || low == wildcard->exclusion_count || wildcard->exclusions[low].node != node)
        return NOBODY;
    found = &wildcard->exclusions[low];
    return (part){ true, found->condition, found->parents, found->parent_count };
}

static part part_or(maker *m, part a, part b)
{
    if (!a.is || !b.is)
        return a.is ? a : b;
    return with_parents_of(m, with_condition(a, either(m, a.condition, b.condition)), b);
}

static part part_and(maker *m, part a, part b)
{
    if (!a.is || !b.is)
        return NOBODY;
    return with_parents_of(m, with_condition(a, both(m, a.condition, b.condition)), b);
}

static part part_minus(maker *m, part a, part b)
{
    if (!a.is || !b.is)
        return a;
    if (b.condition == NULL)
        return NOBODY;
    return with_parents_of(m, with_condition(a, both(m, a.condition, negated(m, b.condition))), b);
}

/* ------------------------------------------------- parts against wildcards */

/* A concrete part that the wildcard holds too. */
static part inside(maker *m, part a, uint32_t node, const lic_subject *wildcard)
{
    const part all      = part_of(wildcard);
    const part excluded = exclusion_at(wildcard, node);

    if (!a.is || !all.is)
        return NOBODY;
    if (!excluded.is)
        return all.condition == NULL ? a : part_and(m, a, all);
    if (excluded.condition == NULL)
        return NOBODY;
    a = with_condition(a, both(m, a.condition, both(m, all.condition, negated(m, excluded.condition))));
    return with_parents_of(m, with_parents_of(m, a, all), excluded);
}

/* A concrete part that the wildcard does not hold. */
static part outside(maker *m, part a, uint32_t node, const lic_subject *wildcard)
{
    const part           all      = part_of(wildcard);
    const part           excluded = exclusion_at(wildcard, node);
    const lic_condition *spared;

    if (!a.is || !all.is || (excluded.is && excluded.condition == NULL))
        return a;
    if (!excluded.is && all.condition == NULL)
        return NOBODY;
    spared = all.condition == NULL ? excluded.condition : negated(m, all.condition);
    if (excluded.is && all.condition != NULL)
        spared = either(m, spared, excluded.condition);
    return with_condition(a, both(m, a.condition, spared));
}

/* When x is not in `*[w] - x[e]`, given that x is excluded from it: not w, or e. NULL: always. */
static const lic_condition *missed(maker *m, part wildcard, part excluded)
{
    if (wildcard.condition == NULL || excluded.condition == NULL)
        return excluded.condition;
    return either(m, negated(m, wildcard.condition), excluded.condition);
}

/* The exclusion of a subject from the union of two wildcards: it is excluded where neither holds it. */
static part excluded_from_union(maker *m, const lic_subject *a, const lic_subject *b, uint32_t node)
{
    const part wild_a     = part_of(a);
    const part wild_b     = part_of(b);
    part       excluded_a = exclusion_at(a, node);
    const part excluded_b = exclusion_at(b, node);

    if (!wild_a.is || !wild_b.is)
        return wild_a.is ? excluded_a : excluded_b;
    if (excluded_a.is && excluded_b.is) {
        excluded_a.condition = both(m, missed(m, wild_a, excluded_a), missed(m, wild_b, excluded_b));
        return with_parents_of(m, excluded_a, excluded_b);
    }
    /* The other wildcard holds it whenever it holds at all. */
    if (excluded_a.is && wild_b.condition != NULL)
        return with_condition(excluded_a, both(m, excluded_a.condition, negated(m, wild_b.condition)));
    if (excluded_b.is && wild_a.condition != NULL)
        return with_condition(excluded_b, both(m, excluded_b.condition, negated(m, wild_a.condition)));
    return NOBODY;
}

/* A subject that is in the wildcard a and excluded from the wildcard b, so that a - b holds it by name. removed: what
 * else is taken from a. */
static part spared_by_exclusion(maker *m, const lic_subject *a, const lic_subject *b, uint32_t node, part removed)
{
    const part           spared   = exclusion_at(b, node);
    const part           excluded = part_or(m, exclusion_at(a, node), removed);
    const lic_condition *condition;

    if (a == NULL || !spared.is || (excluded.is && excluded.condition == NULL))
        return NOBODY;
    condition = both(m, a->condition, b->condition);
    if (excluded.is)
        condition = both(m, condition, negated(m, excluded.condition));
    return with_condition(spared, both(m, condition, spared.condition));
}

/* ------------------------------------------------------------ making a set */

/* Members must come in order of their keys. */
static lic_subject *add_member(maker *m, lic_ref ref, part a)
{
    void *members = m->members;

    if (!a.is || m->failed)
        return NULL;
    if (!lic_arena_grow(m->arena, &members, &m->capacity, m->count + 1, sizeof *m->members)) {
        m->failed = true;
        return NULL;
    }
    m->members = members;
    m->members[m->count++] =
        (lic_subject){ .ref = ref, .condition = a.condition, .parents = a.parents, .parent_count = a.parent_count };
    return &m->members[m->count - 1];
}

/* The nodes that any of up to four sorted lists names, in order. */
typedef struct node_walk {
    const lic_subject_exclusion *exclusions[2];
    size_t                       exclusion_count[2];
    const lic_subject           *concretes[2];
    size_t                       concrete_count[2];
} node_walk;

static void walk_exclusions(node_walk *walk, size_t list, const lic_subject *wildcard)
{
    walk->exclusions[list]      = wildcard == NULL ? NULL : wildcard->exclusions;
    walk->exclusion_count[list] = wildcard == NULL ? 0 : wildcard->exclusion_count;
}

static void walk_concretes(node_walk *walk, size_t list, const slot_part *s)
{
    walk->concretes[list]      = s->concretes;
    walk->concrete_count[list] = s->count;
}

static bool walk_nodes(node_walk *walk, uint32_t *node)
{
    bool found = false;

    *node = UINT32_MAX;
    for (size_t list = 0; list < 2; list++) {
        if (walk->exclusion_count[list] > 0 && walk->exclusions[list]->node <= *node) {
            *node = walk->exclusions[list]->node;
            found = true;
        }
        if (walk->concrete_count[list] > 0 && walk->concretes[list]->ref.node <= *node) {
            *node = walk->concretes[list]->ref.node;
            found = true;
        }
    }
    for (size_t list = 0; found && list < 2; list++) {
        if (walk->exclusion_count[list] > 0 && walk->exclusions[list]->node == *node) {
            walk->exclusions[list]++;
            walk->exclusion_count[list]--;
        }
        if (walk->concrete_count[list] > 0 && walk->concretes[list]->ref.node == *node) {
            walk->concretes[list]++;
            walk->concrete_count[list]--;
        }
    }
    return found;
}

/* An operation on one slot: what it makes of a node's concrete parts, of the wildcards, and of a node's exclusions. */
typedef struct operation {
    part (*concrete)(maker *m, const slot_part *a, const slot_part *b, uint32_t node);
    part (*wildcard)(maker *m, const slot_part *a, const slot_part *b);
    part (*exclusion)(maker *m, const slot_part *a, const slot_part *b, uint32_t node);
} operation;

/* All nodes that the result can name: those named by an operand. */
static node_walk all_nodes(const slot_part *a, const slot_part *b)
{
    node_walk walk;

    walk_exclusions(&walk, 0, a->wildcard);
    walk_exclusions(&walk, 1, b->wildcard);
    walk_concretes(&walk, 0, a);
    walk_concretes(&walk, 1, b);
    return walk;
}

static void add_wildcard(maker *m, lic_slot slot, const operation *op, const slot_part *a, const slot_part *b)
{
    const size_t most = (a->wildcard == NULL ? 0 : a->wildcard->exclusion_count) +
                        (b->wildcard == NULL ? 0 : b->wildcard->exclusion_count) + a->count + b->count;
    lic_subject           *wildcard = add_member(m, (lic_ref){ slot, LIC_WILDCARD_NODE }, op->wildcard(m, a, b));
    node_walk              walk     = all_nodes(a, b);
    lic_subject_exclusion *exclusions;
    size_t                 count = 0;
    uint32_t               node;

    if (wildcard == NULL)
        return;
    exclusions = lic_new_array(m->arena, most, lic_subject_exclusion);
    m->failed |= exclusions == NULL;
    while (!m->failed && walk_nodes(&walk, &node)) {
        const part e = op->exclusion(m, a, b, node);

        if (e.is)
            exclusions[count++] = (lic_subject_exclusion){ node, e.condition, e.parents, e.parent_count };
    }
    wildcard->exclusions      = exclusions;
    wildcard->exclusion_count = count;
}

static void operate_on_slot(maker *m, lic_slot slot, const operation *op, const slot_part *a, const slot_part *b)
{
    node_walk walk = all_nodes(a, b);
    uint32_t  node;

    add_wildcard(m, slot, op, a, b);
    while (!m->failed && walk_nodes(&walk, &node))
        add_member(m, (lic_ref){ slot, node }, op->concrete(m, a, b, node));
}

/* The members of one slot, which begin at *at if there are any. */
static slot_part next_slot(const lic_subject_set *set, lic_slot slot, size_t *at)
{
    slot_part result = { NULL, NULL, 0 };

    if (*at < set->count && set->members[*at].ref.slot == slot && set->members[*at].ref.node == LIC_WILDCARD_NODE)
        result.wildcard = &set->members[(*at)++];
    if (*at < set->count)
        result.concretes = set->members + *at;
    for (; *at < set->count && set->members[*at].ref.slot == slot; (*at)++)
        result.count++;
    return result;
}

static bool operate(lic_arena *arena, const operation *op, const lic_subject_set *a, const lic_subject_set *b,
                    lic_subject_set *out)
{
    maker  m = { .arena = arena };
    size_t i = 0;
    size_t j = 0;

    while (!m.failed && (i < a->count || j < b->count)) {
        const lic_slot  left   = i < a->count ? a->members[i].ref.slot : LIC_NO_SLOT;
        const lic_slot  right  = j < b->count ? b->members[j].ref.slot : LIC_NO_SLOT;
        const lic_slot  slot   = left < right ? left : right;
        const slot_part part_a = next_slot(a, slot, &i);
        const slot_part part_b = next_slot(b, slot, &j);

        operate_on_slot(&m, slot, op, &part_a, &part_b);
    }
    *out = m.failed ? (lic_subject_set){ NULL, 0 } : (lic_subject_set){ m.members, m.count };
    return !m.failed;
}

/* ------------------------------------------------------------------- union */

static part union_concrete(maker *m, const slot_part *a, const slot_part *b, uint32_t node)
{
    return part_or(m, concrete_at(a, node), concrete_at(b, node));
}

static part union_wildcard(maker *m, const slot_part *a, const slot_part *b)
{
    return part_or(m, part_of(a->wildcard), part_of(b->wildcard));
}

/* A subject that is in the set by name is not excluded from it. */
static part union_exclusion(maker *m, const slot_part *a, const slot_part *b, uint32_t node)
{
    return part_minus(m, excluded_from_union(m, a->wildcard, b->wildcard, node), union_concrete(m, a, b, node));
}

bool lic_subject_set_union(lic_arena *arena, const lic_subject_set *a, const lic_subject_set *b, lic_subject_set *out)
{
    static const operation op = { union_concrete, union_wildcard, union_exclusion };

    return operate(arena, &op, a, b, out);
}

/* ------------------------------------------------------------ intersection */

static part intersect_concrete(maker *m, const slot_part *a, const slot_part *b, uint32_t node)
{
    const part in_a = concrete_at(a, node);
    const part in_b = concrete_at(b, node);

    return part_or(m, part_or(m, part_and(m, in_a, in_b), inside(m, in_a, node, b->wildcard)),
                   inside(m, in_b, node, a->wildcard));
}

static part intersect_wildcard(maker *m, const slot_part *a, const slot_part *b)
{
    return part_and(m, part_of(a->wildcard), part_of(b->wildcard));
}

static part intersect_exclusion(maker *m, const slot_part *a, const slot_part *b, uint32_t node)
{
    return part_or(m, exclusion_at(a->wildcard, node), exclusion_at(b->wildcard, node));
}

bool lic_subject_set_intersect(lic_arena *arena, const lic_subject_set *a, const lic_subject_set *b,
                               lic_subject_set *out)
{
    static const operation op = { intersect_concrete, intersect_wildcard, intersect_exclusion };

    return operate(arena, &op, a, b, out);
}

/* ------------------------------------------------------------- subtraction */

static part subtract_concrete(maker *m, const slot_part *a, const slot_part *b, uint32_t node)
{
    const part removed = concrete_at(b, node);
    const part left    = outside(m, part_minus(m, concrete_at(a, node), removed), node, b->wildcard);

    return part_or(m, left, spared_by_exclusion(m, a->wildcard, b->wildcard, node, removed));
}

static part subtract_wildcard(maker *m, const slot_part *a, const slot_part *b)
{
    return part_minus(m, part_of(a->wildcard), part_of(b->wildcard));
}

static part subtract_exclusion(maker *m, const slot_part *a, const slot_part *b, uint32_t node)
{
    return part_or(m, exclusion_at(a->wildcard, node), concrete_at(b, node));
}

bool lic_subject_set_subtract(lic_arena *arena, const lic_subject_set *a, const lic_subject_set *b,
                              lic_subject_set *out)
{
    static const operation op = { subtract_concrete, subtract_wildcard, subtract_exclusion };

    return operate(arena, &op, a, b, out);
}

/* ------------------------------------------------------------------ under */

bool lic_subject_set_under(lic_arena *arena, const lic_subject_set *a, const lic_condition *condition,
                           lic_subject_set *out)
{
    lic_subject *members = lic_new_array(arena, a->count, lic_subject);

    *out = (lic_subject_set){ NULL, 0 };
    if (members == NULL)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        members[i] = a->members[i];
        if (!lic_condition_and(arena, condition, a->members[i].condition, &members[i].condition))
            return false;
    }
    *out = (lic_subject_set){ members, a->count };
    return true;
}

/* core/schema/program.c, resolve.c, edges.c: what a checked schema is compiled to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/names.h"
#include "schema/checker.h"
#include "schema/limits.h"
#include "schema/parser.h"
#include "schema/program.h"

/* A program and what it is compiled against. The AST is gone by the time anybody looks. */
typedef struct world {
    lic_memory   memory;
    lic_names   *names;
    lic_program *program;
} world;

static void world_init(world *w)
{
    lic_memory_init(&w->memory, NULL, SIZE_MAX);
    w->names   = lic_names_new(&w->memory);
    w->program = NULL;
    assert_non_null(w->names);
}

/* false: the schema is refused. */
static bool world_compile(world *w, const char *text)
{
    lic_arena arena;
    lic_ast  *ast;
    bool      accepted;

    lic_program_release(w->program);
    w->program = NULL;
    lic_arena_init(&arena, &w->memory);
    assert_int_equal(lic_parse(&arena, (lic_str){ text, strlen(text) }, NULL, &ast, NULL), LICET_OK);
    accepted = lic_check_types(&arena, ast, false, NULL) == LICET_OK;
    if (accepted)
        assert_int_equal(lic_compile(&w->memory, w->names, ast, &w->program, NULL), LICET_OK);
    lic_arena_free(&arena);
    return accepted;
}

static void world_free(world *w)
{
    lic_program_release(w->program);
    lic_names_free(w->names);
    assert_int_equal(atomic_load(&w->memory.used), 0);
}

static lic_str str(const char *text)
{
    return (lic_str){ text, strlen(text) };
}

static uint32_t definition(const world *w, const char *name)
{
    return lic_program_definition(w->program, str(name));
}

static lic_rel relation(const world *w, const char *type, const char *name)
{
    lic_rel found = lic_program_relation(w->program, definition(w, type), str(name));

    assert_int_not_equal(found, LIC_NO_REL);
    return found;
}

static const lic_op *root(const world *w, const char *type, const char *name)
{
    return &w->program->ops[w->program->relations[relation(w, type, name)].op];
}

static const lic_op *child(const world *w, const lic_op *op, size_t index)
{
    assert_true(index < op->count);
    return &w->program->ops[w->program->children[op->first + index]];
}

#define DOCUMENTS                                                                                                      \
    "use expiration\n"                                                                                                 \
    "use self\n"                                                                                                       \
    "caveat late(hour int, days list<map<string>>) { hour > 18 && days.size() > 0 }\n"                                 \
    "definition user {\n permission me_too = self\n}\n"                                                                \
    "definition group {\n relation member: user | group#member\n permission all = member\n permission view = nil\n}\n" \
    "definition folder {\n relation parent: folder\n relation owner: user\n permission view = owner + "                \
    "parent->view\n}\n"                                                                                                \
    "definition doc {\n"                                                                                               \
    " relation parent: group | folder | user | folder#view\n"                                                          \
    " relation viewer: user | user:* with late | group#all with late and expiration\n"                                 \
    " relation banned: user with expiration\n"                                                                         \
    " permission view = (viewer & parent.all(view) + nil) - (banned - viewer)\n"                                       \
    " permission walk = parent->view + parent.any(view) + parent->missing\n"                                           \
    " permission one = two\n permission two = (three)\n permission three = viewer\n"                                   \
    " permission both = viewer + banned\n permission alias = both\n}\n"

static void definitions_and_relations_stand_in_written_order(void **state)
{
    static const char *const names[] = { "user", "group", "folder", "doc" };
    world                    w;

    (void)state;
    world_init(&w);
    assert_true(world_compile(&w, DOCUMENTS));
    assert_int_equal(w.program->definition_count, 4);
    for (uint32_t d = 0; d < 4; d++) {
        const lic_definition *found = &w.program->definitions[d];

        assert_true(lic_str_equal(found->name, str(names[d])));
        assert_int_equal(definition(&w, names[d]), d);
        assert_true(lic_str_equal(lic_names_type_name(w.names, found->type), found->name));
        assert_int_equal(found->ellipsis, lic_names_ellipsis(w.names, found->type));
    }
    assert_int_equal(w.program->definitions[2].first_relation, 4);
    assert_int_equal(w.program->definitions[2].relation_count, 3);
    assert_int_equal(w.program->relation_count, 17);
    assert_int_equal(relation(&w, "folder", "owner"), 5);
    assert_false(w.program->relations[5].is_permission);
    assert_true(w.program->relations[6].is_permission);
    assert_int_equal(w.program->relations[5].op, UINT32_MAX);
    assert_int_equal(w.program->relations[5].definition, 2);
    assert_int_equal(definition(&w, "nobody"), LIC_NO_DEFINITION);
    assert_int_equal(lic_program_definition(w.program, (lic_str){ NULL, 0 }), LIC_NO_DEFINITION);
    assert_int_equal(lic_program_relation(w.program, 0, str("owner")), LIC_NO_REL);
    assert_int_equal(lic_program_relation(w.program, LIC_NO_DEFINITION, str("owner")), LIC_NO_REL);
    world_free(&w);
}

static void allowed_types_keep_their_form(void **state)
{
    const lic_relation *viewer, *banned;
    const lic_allowed  *allowed;
    world               w;

    (void)state;
    world_init(&w);
    assert_true(world_compile(&w, DOCUMENTS));
    viewer  = &w.program->relations[relation(&w, "doc", "viewer")];
    banned  = &w.program->relations[relation(&w, "doc", "banned")];
    allowed = &w.program->allowed[viewer->first_allowed];
    assert_int_equal(viewer->allowed_count, 3);
    assert_true(viewer->has_usersets && viewer->has_wildcards);
    assert_false(banned->has_usersets || banned->has_wildcards);

    assert_int_equal(allowed[0].definition, definition(&w, "user"));
    assert_int_equal(allowed[0].slot, w.program->definitions[0].ellipsis);
    assert_int_equal(allowed[0].caveat, LIC_NO_CAVEAT);
    assert_false(allowed[0].wildcard || allowed[0].expiration);

    assert_int_equal(allowed[1].slot, w.program->definitions[0].ellipsis);
    assert_int_equal(allowed[1].caveat, lic_program_caveat(w.program, str("late")));
    assert_true(allowed[1].wildcard);

    assert_int_equal(allowed[2].definition, definition(&w, "group"));
    assert_int_equal(allowed[2].slot, w.program->relations[relation(&w, "group", "all")].slot);
    assert_int_equal(allowed[2].caveat, 0);
    assert_true(allowed[2].expiration);
    assert_true(w.program->allowed[banned->first_allowed].expiration);
    world_free(&w);
}

static void an_expression_keeps_its_shape(void **state)
{
    const lic_op *exclusion, *both, *sum, *excluded;
    world         w;

    (void)state;
    world_init(&w);
    assert_true(world_compile(&w, DOCUMENTS));
    /* ((viewer) & (parent.all(view) + nil)) - (banned - viewer) */
    exclusion = root(&w, "doc", "view");
    assert_int_equal(exclusion->kind, LIC_OP_EXCLUSION);
    assert_int_equal(exclusion->count, 2);
    both = child(&w, exclusion, 0);
    assert_int_equal(both->kind, LIC_OP_INTERSECTION);
    assert_int_equal(both->count, 2);
    assert_int_equal(child(&w, both, 0)->kind, LIC_OP_NAME);
    assert_int_equal(child(&w, both, 0)->relation, relation(&w, "doc", "viewer"));
    sum = child(&w, both, 1);
    assert_int_equal(sum->kind, LIC_OP_UNION);
    assert_int_equal(child(&w, sum, 0)->kind, LIC_OP_ARROW_ALL);
    assert_int_equal(child(&w, sum, 0)->relation, relation(&w, "doc", "parent"));
    assert_int_equal(child(&w, sum, 1)->kind, LIC_OP_NIL);
    excluded = child(&w, exclusion, 1);
    assert_int_equal(excluded->kind, LIC_OP_EXCLUSION);
    assert_int_equal(child(&w, excluded, 0)->relation, relation(&w, "doc", "banned"));
    assert_int_equal(child(&w, excluded, 1)->relation, relation(&w, "doc", "viewer"));
    assert_int_equal(root(&w, "user", "me_too")->kind, LIC_OP_SELF);
    assert_int_equal(w.program->op_count, 9 + 4 + 3 + 3 + 1 + 1 + 2 + 3);
    world_free(&w);
}

static void an_arrow_knows_what_its_right_side_means_on_each_type(void **state)
{
    const lic_op *walk, *arrow;
    world         w;

    (void)state;
    world_init(&w);
    assert_true(world_compile(&w, DOCUMENTS));
    walk = root(&w, "doc", "walk");
    assert_int_equal(walk->count, 3);
    arrow = child(&w, walk, 0);
    assert_int_equal(arrow->kind, LIC_OP_ARROW_ANY);
    assert_int_equal(arrow->count, 2); /* user has no `view`; folder counts once */
    assert_int_equal(lic_program_target(w.program, arrow, definition(&w, "group")), relation(&w, "group", "view"));
    assert_int_equal(lic_program_target(w.program, arrow, definition(&w, "folder")), relation(&w, "folder", "view"));
    assert_int_equal(lic_program_target(w.program, arrow, definition(&w, "user")), LIC_NO_REL);
    assert_int_equal(lic_program_target(w.program, arrow, definition(&w, "doc")), LIC_NO_REL); /* has it; not allowed */
    assert_int_equal(lic_program_target(w.program, arrow, LIC_NO_DEFINITION), LIC_NO_REL);
    assert_true(w.program->targets[arrow->first].definition < w.program->targets[arrow->first + 1].definition);
    assert_int_equal(child(&w, walk, 1)->kind, LIC_OP_ARROW_ANY);
    assert_int_equal(child(&w, walk, 1)->first, arrow->first); /* one list for all arrows alike */
    assert_int_equal(child(&w, walk, 2)->count, 0);
    assert_int_equal(lic_program_target(w.program, child(&w, walk, 2), definition(&w, "group")), LIC_NO_REL);
    world_free(&w);
}

static void an_alias_leads_to_what_it_finally_names(void **state)
{
    world w;

    (void)state;
    world_init(&w);
    assert_true(world_compile(&w, DOCUMENTS));
    assert_int_equal(w.program->relations[relation(&w, "doc", "one")].alias_of, relation(&w, "doc", "viewer"));
    assert_int_equal(w.program->relations[relation(&w, "doc", "two")].alias_of, relation(&w, "doc", "viewer"));
    assert_int_equal(w.program->relations[relation(&w, "doc", "three")].alias_of, relation(&w, "doc", "viewer"));
    assert_int_equal(w.program->relations[relation(&w, "doc", "alias")].alias_of, relation(&w, "doc", "both"));
    assert_int_equal(w.program->relations[relation(&w, "doc", "both")].alias_of, relation(&w, "doc", "both"));
    assert_int_equal(w.program->relations[relation(&w, "doc", "viewer")].alias_of, relation(&w, "doc", "viewer"));
    assert_int_equal(w.program->relations[relation(&w, "group", "view")].alias_of, relation(&w, "group", "view"));
    world_free(&w);
}

static void a_caveat_keeps_its_parameters_and_text(void **state)
{
    const lic_caveat      *late;
    const lic_caveat_type *type;
    world                  w;

    (void)state;
    world_init(&w);
    assert_true(world_compile(&w, DOCUMENTS));
    assert_int_equal(w.program->caveat_count, 1);
    assert_int_equal(lic_program_caveat(w.program, str("early")), LIC_NO_CAVEAT);
    late = &w.program->caveats[lic_program_caveat(w.program, str("late"))];
    assert_true(lic_str_equal(late->name, str("late")));
    assert_true(lic_str_equal(late->body, str("hour > 18 && days.size() > 0")));
    assert_int_equal(late->parameter_count, 2);
    assert_true(lic_str_equal(late->parameters[0].name, str("hour")));
    assert_int_equal(late->parameters[0].type->kind, LIC_CAVEAT_INT);
    type = late->parameters[1].type;
    assert_int_equal(type->kind, LIC_CAVEAT_LIST);
    assert_int_equal(type->argument->kind, LIC_CAVEAT_MAP);
    assert_int_equal(type->argument->argument->kind, LIC_CAVEAT_STRING);
    assert_null(type->argument->argument->argument);
    world_free(&w);
}

static void a_slot_means_something_only_to_the_schema_that_names_it(void **state)
{
    lic_type bot, user;
    lic_slot old_relation, old_type, kept;
    world    w;

    (void)state;
    world_init(&w);
    assert_true(world_compile(&w, "definition user {}\ndefinition bot {}\n"
                                  "definition doc {\n relation viewer: user | bot\n relation owner: user\n}"));
    bot          = w.program->definitions[1].type;
    user         = w.program->definitions[0].type;
    old_type     = lic_names_ellipsis(w.names, bot);
    old_relation = w.program->relations[relation(&w, "doc", "owner")].slot;
    kept         = w.program->relations[relation(&w, "doc", "viewer")].slot;
    assert_int_equal(lic_program_slot(w.program, old_relation).relation, relation(&w, "doc", "owner"));
    assert_int_equal(lic_program_slot(w.program, old_type).definition, 1);
    assert_int_equal(lic_program_slot(w.program, old_type).relation, LIC_NO_REL);

    assert_true(world_compile(&w, "definition doc {\n relation viewer: user\n}\ndefinition user {}"));
    assert_int_equal(w.program->definitions[1].type, user); /* numbers are for ever */
    assert_int_equal(lic_program_slot(w.program, kept).relation, relation(&w, "doc", "viewer"));
    assert_int_equal(lic_program_slot(w.program, kept).definition, 0);
    assert_int_equal(lic_program_slot(w.program, old_relation).definition, LIC_NO_DEFINITION);
    assert_int_equal(lic_program_slot(w.program, old_type).definition, LIC_NO_DEFINITION);
    assert_int_equal(w.program->slot_count, lic_names_slot_count(w.names));
    assert_int_not_equal(lic_names_type(w.names, str("later")), LIC_NO_TYPE);
    assert_int_equal(lic_program_slot(w.program, (lic_slot)w.program->slot_count).definition, LIC_NO_DEFINITION);
    world_free(&w);
}

static void a_program_is_freed_by_its_last_holder(void **state)
{
    world w;

    (void)state;
    world_init(&w);
    assert_true(world_compile(&w, DOCUMENTS));
    lic_program_retain(w.program);
    lic_program_release(w.program);
    assert_int_equal(w.program->definition_count, 4);
    lic_program_release(NULL);
    world_free(&w);
}

/* ------------------------------------------------------------------ reach */

static bool reaches(const world *w, const char *type, const char *name, const char *subject)
{
    return lic_program_reaches(w->program, relation(w, type, name), definition(w, subject));
}

static void reach_tells_which_types_can_never_be_found(void **state)
{
    world w;

    (void)state;
    world_init(&w);
    assert_true(world_compile(&w, DOCUMENTS "definition bot {}\n"));
    assert_true(reaches(&w, "doc", "viewer", "user"));
    assert_true(reaches(&w, "doc", "viewer", "group"));
    assert_true(reaches(&w, "doc", "viewer", "doc")); /* itself, as a userset */
    assert_false(reaches(&w, "doc", "viewer", "folder"));
    assert_false(reaches(&w, "doc", "view", "bot"));
    assert_false(reaches(&w, "folder", "owner", "group"));
    assert_true(reaches(&w, "folder", "view", "user"));
    assert_true(reaches(&w, "doc", "walk", "folder"));
    assert_true(reaches(&w, "user", "me_too", "user"));
    assert_false(reaches(&w, "user", "me_too", "group"));
    world_free(&w);
}

#define TYPES 5
#define NAMES 5

static uint64_t random_state;

static uint32_t random_below(uint32_t limit)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)((random_state >> 16) % limit);
}

/* The model, by type and name: the edges and types that a relation or permission has by itself. */
typedef struct model {
    bool exists[TYPES][NAMES];
    bool permission[TYPES][NAMES];
    bool allows[TYPES][NAMES][TYPES];         /* relation: the type in any form */
    bool userset[TYPES][NAMES][TYPES][NAMES]; /* relation: type#name */
    bool operand[TYPES][NAMES][NAMES];        /* permission: name */
    bool arrow[TYPES][NAMES][NAMES][NAMES];   /* permission: name->name */
    bool reach[TYPES][NAMES][TYPES];
} model;

static void random_model(model *m)
{
    memset(m, 0, sizeof *m);
    for (int t = 0; t < TYPES; t++)
        for (int n = 0; n < NAMES; n++) {
            m->exists[t][n]     = random_below(4) != 0;
            m->permission[t][n] = random_below(2) == 0;
        }
    for (int t = 0; t < TYPES; t++)
        for (int n = 0; n < NAMES; n++)
            for (int k = 0; k < 2; k++) {
                uint32_t type = random_below(TYPES), name = random_below(NAMES), left = random_below(NAMES);

                if (!m->permission[t][n]) {
                    m->allows[t][n][type] = true;
                    if (m->exists[type][name] && random_below(2) == 0)
                        m->userset[t][n][type][name] = true;
                } else if (m->exists[t][left]) {
                    if (m->permission[t][left] || random_below(3) == 0)
                        m->operand[t][n][left] = true;
                    else
                        m->arrow[t][n][left][name] = true;
                }
            }
}

static void print_model(const model *m, char *text, size_t capacity)
{
    size_t size = 0;

#define PRINT(...) (size += (size_t)snprintf(text + size, capacity - size, __VA_ARGS__))
    for (int t = 0; t < TYPES; t++) {
        PRINT("definition type%d {\n", t);
        for (int n = 0; n < NAMES; n++) {
            const char *between = "";

            if (!m->exists[t][n])
                continue;
            PRINT("%s name%d%s", m->permission[t][n] ? "permission" : "relation", n,
                  m->permission[t][n] ? " = nil" : ": ");
            for (int type = 0; type < TYPES && !m->permission[t][n]; type++) {
                bool plain = m->allows[t][n][type];

                for (int name = 0; name < NAMES; name++)
                    if (m->userset[t][n][type][name]) {
                        PRINT("%stype%d#name%d", between, type, name);
                        between = " | ";
                        plain   = false;
                    }
                if (plain) {
                    PRINT("%stype%d", between, type);
                    between = " | ";
                }
            }
            for (int name = 0; name < NAMES && m->permission[t][n]; name++) {
                if (m->operand[t][n][name])
                    PRINT(" %c name%d", "+&-"[name % 3], name);
                for (int target = 0; target < NAMES; target++)
                    if (m->arrow[t][n][name][target])
                        PRINT(" %c name%d%s(name%d)", "&-+"[name % 3], name, target % 2 ? ".any" : ".all", target);
            }
            PRINT("\n");
        }
        PRINT("}\n");
    }
#undef PRINT
    assert_true(size < capacity);
}

static bool join(model *m, int t, int n, int type, int name)
{
    bool grew = false;

    for (int s = 0; s < TYPES && m->exists[type][name]; s++)
        if (m->reach[type][name][s] && !m->reach[t][n][s])
            grew = m->reach[t][n][s] = true;
    return grew;
}

/* By rounds over everything, until nothing changes. */
static void naive_reach(model *m)
{
    bool grew = true;

    for (int t = 0; t < TYPES; t++)
        for (int n = 0; n < NAMES; n++)
            for (int s = 0; s < TYPES; s++)
                m->reach[t][n][s] = s == t || m->allows[t][n][s];
    while (grew) {
        grew = false;
        for (int t = 0; t < TYPES; t++)
            for (int n = 0; n < NAMES; n++) {
                for (int a = 0; a < TYPES; a++)
                    for (int b = 0; b < NAMES; b++)
                        if (m->userset[t][n][a][b])
                            grew |= join(m, t, n, a, b);
                for (int a = 0; a < NAMES; a++) {
                    if (m->operand[t][n][a])
                        grew |= join(m, t, n, t, a);
                    for (int b = 0; b < NAMES; b++)
                        for (int s = 0; s < TYPES && m->arrow[t][n][a][b]; s++)
                            if (m->allows[t][a][s])
                                grew |= join(m, t, n, s, b);
                }
            }
    }
}

static void compare_reach(const world *w, const model *m)
{
    for (int t = 0; t < TYPES; t++)
        for (int n = 0; n < NAMES; n++)
            for (int s = 0; s < TYPES && m->exists[t][n]; s++) {
                char    name[16];
                lic_rel found;

                snprintf(name, sizeof name, "name%d", n);
                found = lic_program_relation(w->program, (uint32_t)t, str(name));
                assert_int_equal(lic_program_reaches(w->program, found, (uint32_t)s), m->reach[t][n][s]);
            }
}

static void reach_of_random_schemas_is_that_of_a_naive_search(void **state)
{
    size_t compared = 0;
    char   text[16384];
    model  m;
    world  w;

    (void)state;
    world_init(&w);
    random_state = 0x9e3779b97f4a7c15;
    for (int round = 0; round < 1000; round++) {
        random_model(&m);
        print_model(&m, text, sizeof text);
        if (!world_compile(&w, text))
            continue; /* a cycle of aliases is impossible here (`nil + ...`), but types may repeat */
        naive_reach(&m);
        compare_reach(&w, &m);
        compared++;
    }
    assert_true(compared > 900);
    world_free(&w);
}

static void reach_covers_more_than_64_definitions(void **state)
{
    char   text[16384];
    size_t size = 0;
    world  w;

    (void)state;
    for (int i = 0; i < 150; i++)
        size += (size_t)snprintf(text + size, sizeof text - size,
                                 "definition type%03d {\n relation next: type%03d\n"
                                 " permission far = next->far\n}\n",
                                 i, i < 100 ? i + 1 : i);
    world_init(&w);
    assert_true(world_compile(&w, text));
    assert_int_equal(w.program->reach_words, 3);
    assert_true(reaches(&w, "type000", "far", "type100"));
    assert_false(reaches(&w, "type000", "next", "type002"));
    assert_false(reaches(&w, "type000", "far", "type101"));
    assert_true(reaches(&w, "type110", "far", "type110"));
    assert_false(reaches(&w, "type110", "far", "type100"));
    world_free(&w);
}

/* ------------------------------------------------------------------- size */

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* 65,536 members in 16 definitions fit in the largest text only if they are as short as can be. */
static void a_schema_of_the_greatest_number_of_members_compiles(void **state)
{
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    size_t            capacity = LIC_MAX_SCHEMA_BYTES + 65536, size = 0;
    char             *text  = malloc(capacity);
    double            start = seconds();
    world             w;

    (void)state;
    assert_non_null(text);
    for (int d = 0; d < 16; d++) {
        size += (size_t)snprintf(text + size, capacity - size, "definition a%02d{", d);
        for (int i = 0; i < 4096; i++) {
            if (size + 64 > LIC_MAX_SCHEMA_BYTES)
                break;
            size += (size_t)snprintf(text + size, capacity - size, "relation %c%c%c:a%02d;", 'a' + i / 1296,
                                     digits[i / 36 % 36], digits[i % 36], (d + 1) % 16);
        }
        size += (size_t)snprintf(text + size, capacity - size, "}\n");
    }
    assert_true(size <= LIC_MAX_SCHEMA_BYTES);
    world_init(&w);
    assert_true(world_compile(&w, text));
    assert_true(w.program->relation_count > 50000);
    assert_non_null(w.program->reach);
    assert_true(seconds() - start < 20); /* with sanitizers on a busy machine; quadratic time would be hours */
    world_free(&w);
    free(text);
}

static void a_reach_table_beyond_4_MiB_is_left_out(void **state)
{
    size_t capacity = LIC_MAX_SCHEMA_BYTES, size = 0;
    char  *text = malloc(capacity);
    world  w;

    (void)state;
    assert_non_null(text);
    /* 4,000 definitions are 63 words; 3 relations in each of them make a table of 5.8 MiB. */
    for (int d = 0; d < 4000; d++)
        size += (size_t)snprintf(text + size, capacity - size,
                                 "definition t%04d{\nrelation aaa:t%04d\nrelation bbb:t%04d\nrelation ccc:t%04d\n}\n",
                                 d, d, d, d);
    assert_true(size < capacity);
    world_init(&w);
    assert_true(world_compile(&w, text));
    assert_null(w.program->reach);
    assert_true(lic_program_reaches(w.program, 0, 3999));
    world_free(&w);
    free(text);
}

/* 40,000 arrows over a tupleset of 1,000 types: the targets are listed once. */
static void arrows_written_often_share_their_targets(void **state)
{
    size_t capacity = LIC_MAX_SCHEMA_BYTES, size = 0;
    char  *text = malloc(capacity);
    world  w;

    (void)state;
    assert_non_null(text);
    for (int d = 0; d < 1000; d++)
        size += (size_t)snprintf(text + size, capacity - size, "definition t%03d{\npermission view=nil\n}\n", d);
    size += (size_t)snprintf(text + size, capacity - size, "definition doc{\nrelation par:t000");
    for (int d = 1; d < 1000; d++)
        size += (size_t)snprintf(text + size, capacity - size, "|t%03d", d);
    for (int p = 0; p < 10; p++) {
        size += (size_t)snprintf(text + size, capacity - size, "\npermission per%d=par->view", p);
        for (int i = 0; i < 4000; i++)
            size += (size_t)snprintf(text + size, capacity - size, "+par->view");
    }
    size += (size_t)snprintf(text + size, capacity - size, "\n}\n");
    assert_true(size < capacity);
    world_init(&w);
    assert_true(world_compile(&w, text));
    assert_int_equal(child(&w, root(&w, "doc", "per9"), 3999)->count, 1000);
    assert_true(atomic_load(&w.memory.used) < 8 << 20);
    world_free(&w);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(definitions_and_relations_stand_in_written_order),
        cmocka_unit_test(allowed_types_keep_their_form),
        cmocka_unit_test(an_expression_keeps_its_shape),
        cmocka_unit_test(an_arrow_knows_what_its_right_side_means_on_each_type),
        cmocka_unit_test(an_alias_leads_to_what_it_finally_names),
        cmocka_unit_test(a_caveat_keeps_its_parameters_and_text),
        cmocka_unit_test(a_slot_means_something_only_to_the_schema_that_names_it),
        cmocka_unit_test(a_program_is_freed_by_its_last_holder),
        cmocka_unit_test(reach_tells_which_types_can_never_be_found),
        cmocka_unit_test(reach_of_random_schemas_is_that_of_a_naive_search),
        cmocka_unit_test(reach_covers_more_than_64_definitions),
        cmocka_unit_test(a_schema_of_the_greatest_number_of_members_compiles),
        cmocka_unit_test(a_reach_table_beyond_4_MiB_is_left_out),
        cmocka_unit_test(arrows_written_often_share_their_targets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

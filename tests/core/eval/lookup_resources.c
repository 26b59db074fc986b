/* core/eval/lookup_resources.c: where a plan says the answers are, and how pages are cut from it. What is found is
 * judged in tests/core/engine/lookup_resources.c and lookup_worlds.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "check_world.h"
#include "engine_world.h"
#include "eval/lookup_resources.h"
#include "failing_memory.h"

static const char SCHEMA[] = "definition user {}\n"
                             "definition group {\n"
                             "  relation member: user | group#member\n"
                             "  relation banned: user\n"
                             "  permission active = member - banned\n"
                             "}\n"
                             "definition folder {\n"
                             "  relation parent: folder\n"
                             "  relation viewer: user | group#member | group#active\n"
                             "  permission view = viewer + parent->view\n"
                             "}\n"
                             "definition doc {\n"
                             "  relation parent: folder\n"
                             "  relation viewer: user | group#member\n"
                             "  relation banned: user\n"
                             "  permission view = viewer + parent->view\n"
                             "  permission read = view - banned\n"
                             "}\n";

typedef struct lookup {
    lic_snapshot      snapshot;
    lic_arena         checks;
    lic_arena         keep;
    lic_eval          eval;
    lic_rel           target;
    lic_resource_plan plan;
    licet_status      status;
    licet_error      *error;
} lookup;

/* "doc#view" for "user:ana": up to the plan. */
static void lookup_open(lookup *l, check_world *w, const char *target, const char *subject)
{
    const char    *hash       = strchr(target, '#');
    const char    *colon      = strchr(subject, ':');
    const uint32_t definition = lic_program_definition(w->program, (lic_str){ target, (size_t)(hash - target) });
    const uint32_t type       = lic_program_definition(w->program, (lic_str){ subject, (size_t)(colon - subject) });
    lic_ref        ref        = { w->program->definitions[type].ellipsis, LIC_NO_NODE };

    *l        = (lookup){ .error = NULL };
    l->target = lic_program_relation(w->program, definition, (lic_str){ hash + 1, strlen(hash + 1) });
    lic_snapshot_pin(w->graph, &l->snapshot);
    ref.node = lic_snapshot_find_node(&l->snapshot, w->program->definitions[type].type,
                                      (lic_str){ colon + 1, strlen(colon + 1) });
    lic_arena_init(&l->checks, &w->memory);
    lic_arena_init(&l->keep, &w->memory);
    lic_eval_init(&l->eval, w->program, &l->snapshot, &l->checks, &w->limits);
    lic_eval_subject(&l->eval, type, ref);
    l->status = lic_resources_plan(&l->eval, l->target, &l->keep, &l->plan, &l->error);
}

static void lookup_close(lookup *l)
{
    lic_arena_free(&l->keep);
    lic_arena_free(&l->checks);
    lic_snapshot_unpin(&l->snapshot);
    licet_error_free(l->error);
}

/* All answers' nodes, in pages of a size; how many. false: the end of a page failed. */
static bool read_pages(lookup *l, size_t size, uint32_t *nodes, size_t room, size_t *count)
{
    uint64_t from = 0;
    bool     last = false;

    *count = 0;
    while (!last) {
        lic_resource_page page;
        lic_arena         arena;

        lic_arena_init(&arena, l->checks.memory);
        l->status = lic_resources_page(&l->eval, l->target, &l->plan, from, size, &arena, &page, &l->error);
        if (l->status == LICET_OK) {
            assert_true(page.count <= size && (page.is_last || page.count > 0) && *count + page.count <= room);
            for (size_t i = 0; i < page.count; i++)
                nodes[(*count)++] = page.answers[i].node;
        }
        last = l->status != LICET_OK || page.is_last;
        from = *count == 0 ? 0 : (uint64_t)nodes[*count - 1] + 1;
        lic_arena_free(&arena);
    }
    return l->status == LICET_OK;
}

/* The form with its question marks replaced: the first by one number, the second by another. */
static void write_number(check_world *w, const char *form, unsigned first, unsigned second)
{
    char   line[96];
    size_t size = 0;

    for (unsigned number = first; *form != '\0'; form++) {
        size += (size_t)(*form == '?' ? snprintf(line + size, sizeof line - size, "%u", number)
                                      : snprintf(line + size, sizeof line - size, "%c", *form));
        if (*form == '?')
            number = second;
    }
    assert_true(check_world_write(w, line));
}

static void the_last_step_is_left_in_the_graph(void **state)
{
    check_world w;
    lookup      l;

    (void)state;
    assert_true(check_world_open(&w, NULL, SCHEMA));
    assert_true(check_world_write(&w, "folder:f1#viewer@user:ana\nfolder:f2#parent@folder:f1\ngroup:g#member@user:ana\n"
                                      "doc:d1#viewer@user:ana\ndoc:d2#viewer@user:ana\ndoc:d3#parent@folder:f2\n"
                                      "doc:d4#viewer@group:g#member\ndoc:d5#parent@folder:f2"));
    lookup_open(&l, &w, "doc#view", "user:ana");
    assert_int_equal(l.status, LICET_OK);
    assert_int_equal(l.plan.single_count, 0);
    assert_int_equal(l.plan.list_count, 3); /* ana's own, those in f2, the group's; nothing is in f1 */
    for (size_t i = 0; i < l.plan.list_count; i++)
        assert_true(l.plan.lists[i].certain && l.plan.lists[i].bare);
    lookup_close(&l);
    lookup_open(&l, &w, "doc#read", "user:ana"); /* the same, but each is to be checked */
    assert_int_equal(l.plan.list_count, 3);
    assert_int_equal(l.plan.single_count, 0);
    for (size_t i = 0; i < l.plan.list_count; i++)
        assert_false(l.plan.lists[i].certain);
    lookup_close(&l);
    check_world_close(&w);
}

static void a_target_that_leads_to_other_objects_of_its_own_is_collected(void **state)
{
    check_world w;
    lookup      l;

    (void)state;
    assert_true(check_world_open(&w, NULL, SCHEMA));
    assert_true(check_world_write(&w, "folder:f1#viewer@user:ana\nfolder:f2#parent@folder:f1\n"
                                      "folder:f3#parent@folder:f2\nfolder:f1#parent@folder:f3"));
    lookup_open(&l, &w, "folder#view", "user:ana");
    assert_int_equal(l.plan.list_count, 0);
    assert_int_equal(l.plan.single_count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(l.plan.singles[i], 2 * (i + 1)); /* certain, in order */
    lookup_close(&l);
    check_world_close(&w);
}

/* What ana is banned from does not lead on; what bob is a candidate of does not become more than that. */
static void an_operator_on_the_way_is_asked_at_once(void **state)
{
    check_world w;
    lookup      l;

    (void)state;
    assert_true(check_world_open(&w, NULL, SCHEMA));
    assert_true(check_world_write(&w, "group:g#member@user:ana\ngroup:g#member@user:bob\ngroup:g#banned@user:ana\n"
                                      "folder:f#viewer@group:g#active\ndoc:d#parent@folder:f"));
    lookup_open(&l, &w, "doc#view", "user:ana");
    assert_int_equal(l.plan.list_count, 0);
    lookup_close(&l);
    lookup_open(&l, &w, "doc#view", "user:bob");
    assert_int_equal(l.plan.list_count, 1);
    assert_true(l.plan.lists[0].certain);
    lookup_close(&l);
    w.limits.max_depth = 1; /* no depth left for asking */
    lookup_open(&l, &w, "doc#view", "user:bob");
    assert_int_equal(l.plan.list_count, 1);
    assert_false(l.plan.lists[0].certain);
    lookup_close(&l);
    check_world_close(&w);
}

/* doc:d0 is seen through one folder, doc:d1 through two, ... */
static void what_is_too_deep_is_a_candidate(void **state)
{
    check_world w;
    lookup      l;

    (void)state;
    assert_true(check_world_open(&w, NULL, SCHEMA));
    assert_true(check_world_write(&w, "folder:f0#viewer@user:ana\ndoc:d0#parent@folder:f0"));
    for (unsigned i = 1; i < 8; i++) {
        write_number(&w, "folder:f?#parent@folder:f?", i, i - 1);
        write_number(&w, "doc:d?#parent@folder:f?", i, i);
    }
    w.limits.max_depth = 6; /* view of the document, of up to four folders, and viewer */
    lookup_open(&l, &w, "doc#view", "user:ana");
    assert_int_equal(l.plan.list_count, 8);
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(l.plan.lists[i].certain, l.plan.lists[i].subject.node <= 4);
    lookup_close(&l);
    check_world_close(&w);
}

/* Some rows in the base, some in the delta, in no order of writing. */
static void write_many(check_world *w, unsigned documents)
{
    assert_true(check_world_write(w, "group:g#member@user:ana\nfolder:f0#viewer@user:ana\nfolder:f1#viewer@user:ana"));
    for (unsigned i = 0; i < documents; i++) {
        const unsigned number = i * 7919 % documents;

        write_number(w, "doc:d?#parent@folder:f?", number, number % 3);
        if (number % 2 == 0)
            write_number(w, "doc:d?#viewer@group:g#member", number, 0);
        if (number % 5 == 0)
            write_number(w, "doc:d?#viewer@user:ana", number, 0);
        if (number % 7 == 0)
            write_number(w, "doc:d?#banned@user:ana", number, 0);
        if (i == documents / 2)
            assert_true(lic_graph_merge(w->graph));
    }
}

static void pages_of_every_size_hold_the_same_answers_in_order(void **state)
{
    static const char *const targets[] = { "doc#view", "doc#read", "folder#view" };
    enum { DOCUMENTS = 210, SIZES = 9 };
    uint32_t    all[DOCUMENTS], nodes[DOCUMENTS];
    size_t      all_count, count;
    check_world w;
    lookup      l;

    (void)state;
    assert_true(check_world_open(&w, NULL, SCHEMA));
    write_many(&w, DOCUMENTS);
    for (size_t t = 0; t < sizeof targets / sizeof targets[0]; t++) {
        lookup_open(&l, &w, targets[t], "user:ana");
        assert_true(read_pages(&l, SIZE_MAX, all, DOCUMENTS, &all_count));
        /* By folder two in three; of the rest, every second by the group and every fifth of those left directly. */
        assert_int_equal(all_count, t == 0 ? 182 : t == 1 ? 156 : 2);
        for (size_t i = 1; i < all_count; i++)
            assert_true(all[i] > all[i - 1]);
        for (size_t size = 1; size < SIZES; size++) {
            assert_true(read_pages(&l, size, nodes, DOCUMENTS, &count));
            assert_int_equal(count, all_count);
            assert_memory_equal(nodes, all, count * sizeof *all);
        }
        lookup_close(&l);
    }
    check_world_close(&w);
}

/* Folders in a ring: enough to be sorted by bytes. */
static void collected_answers_come_in_order_however_many(void **state)
{
    enum { FOLDERS = 700 };
    uint32_t    nodes[FOLDERS];
    size_t      count;
    check_world w;
    lookup      l;

    (void)state;
    assert_true(check_world_open(&w, NULL, SCHEMA));
    for (unsigned i = 0; i < FOLDERS; i++)
        write_number(&w, "folder:f?#parent@folder:f?", i * 13 % FOLDERS, (i * 13 + 1) % FOLDERS);
    assert_true(check_world_write(&w, "folder:f0#viewer@user:ana"));
    w.limits.max_depth = 1000;
    lookup_open(&l, &w, "folder#view", "user:ana");
    assert_true(read_pages(&l, 100, nodes, FOLDERS, &count));
    for (size_t i = 1; i < count; i++)
        assert_true(nodes[i] > nodes[i - 1]);
    assert_int_equal(count, FOLDERS);
    lookup_close(&l);
    check_world_close(&w);
}

static size_t memory_of_plan(unsigned documents)
{
    check_world w;
    lookup      l;
    size_t      before, after;

    assert_true(check_world_open(&w, NULL, SCHEMA));
    write_many(&w, documents);
    before = atomic_load(&w.memory.used);
    lookup_open(&l, &w, "doc#read", "user:ana");
    after = atomic_load(&w.memory.used);
    lookup_close(&l);
    check_world_close(&w);
    return after - before;
}

static void memory_follows_the_goals_on_the_way_and_not_the_answers(void **state)
{
    (void)state;
    assert_int_equal(memory_of_plan(10), memory_of_plan(1000));
}

/* Also takes the error. */
static void assert_failed(lookup *l, const char *message)
{
    assert_int_equal(l->status, LICET_LIMIT_EXCEEDED);
    error_is(l->error, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, "", message);
    l->error = NULL;
}

static void an_error_says_what_ran_out(void **state)
{
    static const char message[] = "max_steps exceeded: the lookup visits more than 20 edges before its next answer";
    uint32_t          nodes[64];
    size_t            count;
    check_world       w;
    lookup            l;

    (void)state;
    assert_true(check_world_open(&w, NULL, SCHEMA));
    w.limits.max_steps = 20;
    for (unsigned i = 0; i < 30; i++) {
        write_number(&w, "folder:f?#viewer@user:many", i, 0);
        write_number(&w, "doc:d?#viewer@user:shut", i, 0);
        write_number(&w, "doc:d?#banned@user:shut", i, 0);
    }
    lookup_open(&l, &w, "folder#view", "user:many");
    assert_failed(&l, message);
    lookup_close(&l);
    lookup_open(&l, &w, "doc#viewer", "user:shut"); /* each row is an answer */
    assert_true(read_pages(&l, 1000, nodes, 64, &count));
    assert_int_equal(count, 30);
    lookup_close(&l);
    lookup_open(&l, &w, "doc#read", "user:shut"); /* none is */
    assert_int_equal(l.status, LICET_OK);
    assert_false(read_pages(&l, 1000, nodes, 64, &count));
    assert_failed(&l, message);
    lookup_close(&l);
    check_world_close(&w);
}

static void a_plan_and_its_pages_survive_every_failed_allocation(void **state)
{
    static const char *const targets[] = { "doc#view", "doc#read", "folder#view" };
    uint32_t                 nodes[210];
    size_t                   count;
    failing_memory           memory = fail_never();
    check_world              w;

    (void)state;
    assert_true(check_world_open(&w, &memory.allocator, SCHEMA));
    write_many(&w, 210);
    for (unsigned i = 2; i < 80; i++)
        write_number(&w, "folder:f?#parent@folder:f?", i, i - 1 < 40 ? i - 1 : 1);
    for (size_t t = 0; t < sizeof targets / sizeof targets[0]; t++) {
        licet_status status = LICET_OUT_OF_MEMORY;

        for (size_t n = 0; status != LICET_OK; n++) {
            lookup l;

            fail_next(&memory, n);
            lookup_open(&l, &w, targets[t], "user:ana");
            if (l.status == LICET_OK)
                read_pages(&l, 64, nodes, 210, &count);
            status = l.status;
            assert_true(status == LICET_OK || status == LICET_OUT_OF_MEMORY);
            lookup_close(&l);
        }
        assert_int_equal(count, t == 0 ? 210 : t == 1 ? 180 : 80);
    }
    check_world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_step_is_left_in_the_graph),
        cmocka_unit_test(a_target_that_leads_to_other_objects_of_its_own_is_collected),
        cmocka_unit_test(an_operator_on_the_way_is_asked_at_once),
        cmocka_unit_test(what_is_too_deep_is_a_candidate),
        cmocka_unit_test(pages_of_every_size_hold_the_same_answers_in_order),
        cmocka_unit_test(collected_answers_come_in_order_however_many),
        cmocka_unit_test(memory_follows_the_goals_on_the_way_and_not_the_answers),
        cmocka_unit_test(an_error_says_what_ran_out),
        cmocka_unit_test(a_plan_and_its_pages_survive_every_failed_allocation),
    };

    return cmocka_run_group_tests_name("eval/lookup_resources", tests, NULL, NULL);
}

/* core/graph across fork(): the child has the graph as of the fork, whatever was going on. */
#include "world.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sanitizers.h"

enum { USER, OWNER }; /* slots */

#define EDGES 3000u
#define FORKS 25

static void write_edges(lic_graph *graph, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++)
        write_one(graph, set_with(edge(OWNER, i * 7, USER, i % 11), i % 3 == 0 ? make_attribute(graph, i + 1) : 0));
}

/* Every third edge has a caveat of its own. */
static uint32_t caveat_of_edge(uint32_t i, uint32_t count)
{
    if (i >= count)
        return ABSENT;
    return i % 3 == 0 ? i + 1 : 0;
}

static bool has_edges(const lic_graph *graph, uint32_t count)
{
    lic_snapshot snapshot;
    bool         all = true;

    lic_snapshot_pin(graph, &snapshot);
    for (uint32_t i = 0; i < EDGES * 2; i++)
        all = all && caveat_at(&snapshot, edge(OWNER, i * 7, USER, i % 11)) == caveat_of_edge(i, count);
    for (uint32_t i = 0; i < 11; i++)
        all = all && count_resources(&snapshot, (lic_ref){ USER, i }) == (count + 10 - i) / 11;
    lic_snapshot_unpin(&snapshot);
    return all;
}

/* The child's life; its exit status is 0 when all was as it should be. No cmocka here: it would go on with the
 * parent's tests. */
static int child(world *w, uint32_t count)
{
    lic_change change;
    uint64_t   revision;
    uint64_t   head = lic_graph_head(w->graph);

    if (!has_edges(w->graph, count))
        return 1;
    for (uint32_t i = count; i < count + 500; i++) {
        change = set_with(edge(OWNER, i * 7, USER, i % 11), i % 3 == 0 ? make_attribute(w->graph, i + 1) : 0);
        lic_graph_lock(w->graph);
        if (!lic_graph_apply(w->graph, &change, 1, &revision) || revision != ++head)
            return 2;
        lic_graph_unlock(w->graph);
    }
    if (!has_edges(w->graph, count + 500))
        return 3;
    if (!lic_graph_merge(w->graph) || !lic_graph_merge_all(w->graph) || sizes_of(w->graph).delta_changes != 0)
        return 4;
    if (!has_edges(w->graph, count + 500))
        return 5;
    lic_graph_free(w->graph);
    return 0;
}

static void fork_and_check(world *w, uint32_t count)
{
    int   status = -1;
    pid_t pid;

    lic_graph_before_fork(w->graph);
    pid = fork();
    if (pid == 0) {
        lic_graph_after_fork_child(w->graph);
        _exit(child(w, count));
    }
    lic_graph_after_fork_parent(w->graph);
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void a_child_has_the_graph_as_of_the_fork(void **state)
{
    world w;

    (void)state;
    world_open(&w, (lic_graph_options){ .no_threads = true });
    write_edges(w.graph, 0, 100);
    fork_and_check(&w, 100);
    assert_true(has_edges(w.graph, 100));
    assert_true(lic_graph_merge_all(w.graph));
    write_edges(w.graph, 100, 150);
    fork_and_check(&w, 150);
    assert_true(has_edges(w.graph, 150));
    world_close(&w);
}

/* Each fork finds the merge's thread somewhere else. */
static void a_fork_in_the_middle_of_a_merge_is_fine(void **state)
{
    world    w;
    uint32_t count = 0;

    (void)state;
    if (UNDER_TSAN)
        skip();
    world_open(&w, (lic_graph_options){ .min_history_changes = 50, .merge_changes = 50 });
    for (int i = 0; i < FORKS || (sizes_of(w.graph).merges <= 1 && i < 100 * FORKS); i++) {
        write_edges(w.graph, count, count + 101 + (uint32_t)i);
        count += 101 + (uint32_t)i;
        fork_and_check(&w, count);
    }
    assert_true(has_edges(w.graph, count));
    assert_true(sizes_of(w.graph).merges > 1);
    world_close(&w);
}

typedef struct background {
    world      *w;
    atomic_bool stop;
} background;

static void pin_on_and_on(void *argument)
{
    background *b = argument;

    while (!atomic_load(&b->stop)) {
        lic_snapshot snapshot;

        lic_snapshot_pin(b->w->graph, &snapshot);
        lic_sleep_us(300);
        lic_snapshot_unpin(&snapshot);
    }
}

/* A reader that the child doesn't have would otherwise hold up its merges for ever. */
static void readers_of_the_parent_are_forgotten_in_the_child(void **state)
{
    world      w;
    background b = { .w = &w };
    pthread_t  thread;
    uint32_t   count = 0;

    (void)state;
    if (UNDER_TSAN)
        skip();
    world_open(&w, (lic_graph_options){ .min_history_changes = 50, .merge_changes = 50 });
    assert_true(lic_thread_start(&thread, "reader", pin_on_and_on, &b));
    for (int i = 0; i < FORKS / 2; i++) {
        write_edges(w.graph, count, count + 110);
        count += 110;
        fork_and_check(&w, count);
    }
    atomic_store(&b.stop, true);
    lic_thread_join(thread);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_has_the_graph_as_of_the_fork),
        cmocka_unit_test(a_fork_in_the_middle_of_a_merge_is_fine),
        cmocka_unit_test(readers_of_the_parent_are_forgotten_in_the_child),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

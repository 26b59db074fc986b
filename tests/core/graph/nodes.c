/* core/graph/nodes.c: object ids as numbers. */
#include "world.h"

#include <stdio.h>

static lic_str text_of(char *buffer, size_t size, unsigned number)
{
    return (lic_str){ buffer, (size_t)snprintf(buffer, size, "object-%u", number) };
}

static void ids_are_numbered_from_one_in_order_per_type(void **state)
{
    world w;

    (void)state;
    world_open(&w, (lic_graph_options){ 0 });
    assert_int_equal(lic_graph_intern_node(w.graph, 0, LIC_STR("ana")), 1);
    assert_int_equal(lic_graph_intern_node(w.graph, 0, LIC_STR("bo")), 2);
    assert_int_equal(lic_graph_intern_node(w.graph, 7, LIC_STR("bo")), 1);
    assert_int_equal(lic_graph_intern_node(w.graph, 0, LIC_STR("ana")), 1);
    assert_int_equal(lic_graph_find_node(w.graph, 0, LIC_STR("bo")), 2);
    assert_int_equal(lic_graph_find_node(w.graph, 7, LIC_STR("ana")), LIC_NO_NODE);
    assert_int_equal(lic_graph_find_node(w.graph, 3, LIC_STR("ana")), LIC_NO_NODE);
    assert_int_equal(lic_graph_find_node(w.graph, 4000, LIC_STR("ana")), LIC_NO_NODE);
    assert_int_equal(sizes_of(w.graph).nodes, 3);
    world_close(&w);
}

static void ids_can_be_forgotten_until_there_is_an_edge(void **state)
{
    world        w;
    char         buffer[32];
    lic_snapshot snapshot;
    uint64_t     bytes;

    (void)state;
    world_open(&w, (lic_graph_options){ 0 });
    bytes = sizes_of(w.graph).graph_bytes;
    for (int round = 0; round < 2; round++) {
        for (unsigned i = 1; i <= 3000; i++)
            assert_int_equal(lic_graph_intern_node(w.graph, i % 5, text_of(buffer, sizeof buffer, i)), (i + 4) / 5);
        lic_snapshot_pin(w.graph, &snapshot);
        lic_graph_forget_nodes(w.graph);
        assert_int_equal(lic_snapshot_find_node(&snapshot, 0, LIC_STR("object-5")), LIC_NO_NODE);
        lic_snapshot_unpin(&snapshot);
        assert_int_equal(sizes_of(w.graph).nodes, 0);
        assert_int_equal(sizes_of(w.graph).id_bytes, 0);
        assert_int_equal(lic_graph_node_end(w.graph, 0), 1);
    }
    lic_graph_forget_nodes(w.graph);
    assert_in_range(sizes_of(w.graph).graph_bytes, 0, bytes + 1024);
    assert_int_equal(lic_graph_intern_node(w.graph, 0, LIC_STR("kept")), 1);
    write_one(w.graph, set(edge(0, 1, 0, LIC_WILDCARD_NODE)));
    write_one(w.graph, unset(edge(0, 1, 0, LIC_WILDCARD_NODE)));
    lic_graph_forget_nodes(w.graph);
    assert_int_equal(sizes_of(w.graph).nodes, 1);
    world_close(&w);
}

static void the_wildcard_is_node_zero_of_every_type(void **state)
{
    world   w;
    lic_str text;

    (void)state;
    world_open(&w, (lic_graph_options){ 0 });
    assert_int_equal(lic_graph_find_node(w.graph, 9, LIC_STR("*")), LIC_WILDCARD_NODE);
    assert_int_equal(lic_graph_intern_node(w.graph, 2, LIC_STR("*")), LIC_WILDCARD_NODE);
    assert_int_equal(lic_graph_intern_node(w.graph, 2, LIC_STR("**")), 1);
    text = lic_graph_node_id(w.graph, 9, LIC_WILDCARD_NODE);
    assert_true(lic_str_equal(text, LIC_STR("*")));
    assert_int_equal(sizes_of(w.graph).nodes, 1);
    world_close(&w);
}

static void many_ids_are_found_and_named_again(void **state)
{
    world w;
    char  buffer[32];

    (void)state;
    world_open(&w, (lic_graph_options){ 0 });
    for (unsigned i = 1; i <= 20000; i++)
        assert_int_equal(lic_graph_intern_node(w.graph, 1, text_of(buffer, sizeof buffer, i)), i);
    for (unsigned i = 1; i <= 20000; i++) {
        lic_str      text = text_of(buffer, sizeof buffer, i);
        lic_snapshot snapshot;

        lic_snapshot_pin(w.graph, &snapshot);
        assert_int_equal(lic_snapshot_find_node(&snapshot, 1, text), i);
        lic_snapshot_unpin(&snapshot);
        assert_true(lic_str_equal(lic_graph_node_id(w.graph, 1, i), text));
    }
    assert_int_equal(lic_graph_find_node(w.graph, 1, LIC_STR("object-20001")), LIC_NO_NODE);
    assert_int_equal(sizes_of(w.graph).nodes, 20000);
    world_close(&w);
}

static void an_id_may_have_1024_bytes_and_hold_any(void **state)
{
    world w;
    char  longest[1025];
    char  odd[3] = { 'a', '\0', 'b' };

    (void)state;
    world_open(&w, (lic_graph_options){ 0 });
    memset(longest, 'x', sizeof longest);
    assert_int_equal(lic_graph_intern_node(w.graph, 0, (lic_str){ longest, 1025 }), LIC_NO_NODE);
    for (unsigned i = 0; i < 100; i++) {
        longest[0] = (char)('0' + i);
        assert_int_equal(lic_graph_intern_node(w.graph, 0, (lic_str){ longest, 1024 }), i + 1);
    }
    assert_int_equal(lic_graph_intern_node(w.graph, 0, (lic_str){ odd, 3 }), 101);
    assert_int_equal(lic_graph_find_node(w.graph, 0, (lic_str){ odd, 1 }), LIC_NO_NODE);
    assert_int_equal(lic_graph_find_node(w.graph, 0, (lic_str){ odd, 3 }), 101);
    assert_int_equal(lic_graph_node_id(w.graph, 0, 100).size, 1024);
    world_close(&w);
}

static void ids_survive_every_failed_allocation(void **state)
{
    bool   failed = true;
    char   buffer[32];
    size_t n = 0;

    (void)state;
    for (; failed; n++) {
        world    w;
        unsigned next = 1;

        world_open(&w, (lic_graph_options){ 0 });
        w.source.counts->fail_first = w.source.counts->calls + n;
        w.source.counts->fail_end   = SIZE_MAX;
        while (next <= 300 && lic_graph_intern_node(w.graph, 1, text_of(buffer, sizeof buffer, next)) == next)
            next++;
        failed                      = w.source.counts->failures > 0;
        w.source.counts->fail_first = SIZE_MAX;
        for (unsigned i = 1; i < next; i++)
            assert_int_equal(lic_graph_find_node(w.graph, 1, text_of(buffer, sizeof buffer, i)), i);
        assert_int_equal(sizes_of(w.graph).nodes, next - 1);
        assert_int_equal(lic_graph_intern_node(w.graph, 1, text_of(buffer, sizeof buffer, next)), next);
        world_close(&w);
    }
    assert_in_range(n, 10, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_are_numbered_from_one_in_order_per_type),
        cmocka_unit_test(ids_can_be_forgotten_until_there_is_an_edge),
        cmocka_unit_test(the_wildcard_is_node_zero_of_every_type),
        cmocka_unit_test(many_ids_are_found_and_named_again),
        cmocka_unit_test(an_id_may_have_1024_bytes_and_hold_any),
        cmocka_unit_test(ids_survive_every_failed_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

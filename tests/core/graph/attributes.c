/* core/graph: what edges have to the side, who holds it and when it ends. */
#include "world.h"

enum { USER, OWNER }; /* slots */

static void an_edge_is_found_with_its_attribute(void **state)
{
    lic_edge     plain  = edge(OWNER, 1, USER, 1);
    lic_edge     caveat = edge(OWNER, 1, USER, 2);
    lic_edge     none   = edge(OWNER, 1, USER, 3);
    lic_snapshot snapshot;
    uint32_t     attribute;
    world        w;

    (void)state;
    world_open(&w, (lic_graph_options){ .no_threads = true });
    write_one(w.graph, set(plain));
    write_one(w.graph, set_with(caveat, make_attribute(w.graph, 7)));
    for (int merged = 0; merged < 2; merged++) {
        lic_snapshot_pin(w.graph, &snapshot);
        assert_true(lic_snapshot_find(&snapshot, plain.resource, plain.subject, &attribute));
        assert_int_equal(attribute, LIC_NO_ATTRIBUTE);
        assert_null(lic_graph_attribute(w.graph, attribute));
        assert_true(lic_snapshot_find(&snapshot, caveat.resource, caveat.subject, &attribute));
        assert_int_equal(attribute, 1);
        assert_int_equal(lic_graph_attribute(w.graph, attribute)->caveat, 7);
        assert_int_equal(lic_graph_attribute(w.graph, attribute)->expires_at_s, 700);
        assert_int_equal(lic_graph_attribute(w.graph, attribute)->expires_at_ns, 5);
        assert_true(lic_str_equal(lic_graph_attribute(w.graph, attribute)->context, LIC_STR("7")));
        assert_false(lic_snapshot_find(&snapshot, none.resource, none.subject, &attribute));
        assert_int_equal(attribute, LIC_NO_ATTRIBUTE);
        lic_snapshot_unpin(&snapshot);
        assert_true(lic_graph_merge_all(w.graph));
    }
    world_close(&w);
}

static void expired_means_not_after_now(void **state)
{
    lic_attribute at    = { .expires_at_s = 100, .expires_at_ns = 5 };
    lic_attribute never = { .expires_at_s = LIC_NEVER_EXPIRES };

    (void)state;
    assert_false(lic_attribute_expired(&at, 99, 999999999));
    assert_false(lic_attribute_expired(&at, 100, 4));
    assert_true(lic_attribute_expired(&at, 100, 5));
    assert_true(lic_attribute_expired(&at, 100, 6));
    assert_true(lic_attribute_expired(&at, 101, 0));
    assert_false(lic_attribute_expired(&never, INT64_MAX - 1, 999999999));
}

/* The graph hides nothing. */
static void an_edge_that_has_expired_is_there(void **state)
{
    lic_attribute past = { .expires_at_s = -5 };
    lic_edge      e    = edge(OWNER, 1, USER, 1);
    lic_snapshot  snapshot;
    uint32_t      attribute;
    world         w;

    (void)state;
    world_open(&w, (lic_graph_options){ .no_threads = true });
    lic_graph_lock(w.graph);
    attribute = lic_graph_attribute_new(w.graph, &past);
    lic_graph_unlock(w.graph);
    write_one(w.graph, set_with(e, attribute));
    lic_snapshot_pin(w.graph, &snapshot);
    assert_true(has(&snapshot, e));
    assert_int_equal(count_subjects(&snapshot, e.resource), 1);
    assert_int_equal(count_resources(&snapshot, e.subject), 1);
    lic_snapshot_unpin(&snapshot);
    world_close(&w);
}

static void an_attribute_can_change_alone(void **state)
{
    static const uint32_t caveats[] = { 0, 3, 4, 0, 5 };
    lic_edge              e         = edge(OWNER, 1, USER, 1);
    lic_snapshot          snapshot;
    world                 w;

    (void)state;
    for (int merged = 0; merged < 2; merged++) {
        world_open(&w, (lic_graph_options){ .no_threads = true });
        for (uint32_t i = 0; i < 5; i++) {
            write_one(w.graph, set_with(e, caveats[i] == 0 ? 0 : make_attribute(w.graph, caveats[i])));
            assert_int_equal(sizes_of(w.graph).delta_changes, merged ? 1 : i + 1);
            assert_int_equal(sizes_of(w.graph).edges, 1);
            assert_int_equal(caveat_now(w.graph, e), caveats[i]);
            for (uint32_t past = 0; past <= i && !merged; past++) {
                assert_int_equal(lic_snapshot_pin_at(w.graph, past + 1, &snapshot), LIC_PIN_OK);
                assert_int_equal(caveat_at(&snapshot, e), caveats[past]);
                lic_snapshot_unpin(&snapshot);
            }
            if (merged)
                assert_true(lic_graph_merge_all(w.graph));
        }
        world_close(&w);
    }
}

static void an_equal_attribute_is_no_change(void **state)
{
    lic_edge e = edge(OWNER, 1, USER, 1);
    world    w;

    (void)state;
    world_open(&w, (lic_graph_options){ .no_threads = true });
    write_one(w.graph, set_with(e, make_attribute(w.graph, 3)));
    write_one(w.graph, set_with(e, make_attribute(w.graph, 3)));
    assert_int_equal(lic_graph_head(w.graph), 2);
    assert_int_equal(sizes_of(w.graph).delta_changes, 1);
    assert_int_equal(sizes_of(w.graph).attributes, 1);
    write_one(w.graph, set_with(e, make_attribute(w.graph, 4)));
    assert_int_equal(sizes_of(w.graph).delta_changes, 2);
    assert_int_equal(sizes_of(w.graph).attributes, 2);
    world_close(&w);
}

static void several_edges_share_one_attribute(void **state)
{
    world      w;
    lic_change changes[3];
    uint32_t   attribute;

    (void)state;
    world_open(&w, (lic_graph_options){ .no_threads = true });
    attribute = make_attribute(w.graph, 9);
    for (uint32_t i = 0; i < 3; i++) {
        if (i > 0)
            lic_graph_attribute_retain(w.graph, attribute);
        changes[i] = set_with(edge(OWNER, i, USER, 1), attribute);
    }
    write_all(w.graph, changes, 3);
    assert_true(lic_graph_merge_all(w.graph));
    assert_int_equal(sizes_of(w.graph).attributes, 1);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(caveat_now(w.graph, edge(OWNER, i, USER, 1)), 9);
    write_one(w.graph, unset(edge(OWNER, 0, USER, 1)));
    write_one(w.graph, unset(edge(OWNER, 1, USER, 1)));
    assert_true(lic_graph_merge_all(w.graph));
    assert_true(lic_graph_merge_all(w.graph));
    assert_int_equal(sizes_of(w.graph).attributes, 1);
    assert_int_equal(caveat_now(w.graph, edge(OWNER, 2, USER, 1)), 9);
    world_close(&w);
}

/* ------------------------------------------------------------------- its end */

static void count_release(void *context, void *payload)
{
    (void)payload;
    ++*(uint32_t *)context;
}

static uint32_t make_with_payload(lic_graph *graph, uint32_t caveat)
{
    lic_attribute content = { .expires_at_s = LIC_NEVER_EXPIRES, .caveat = caveat, .payload = graph };
    uint32_t      attribute;

    lic_graph_lock(graph);
    attribute = lic_graph_attribute_new(graph, &content);
    lic_graph_unlock(graph);
    return attribute;
}

static void a_payload_ends_with_the_last_place_that_shows_it(void **state)
{
    uint32_t     released = 0;
    lic_edge     e        = edge(OWNER, 1, USER, 1);
    lic_snapshot snapshot;
    uint32_t     attribute;
    world        w;

    (void)state;
    world_open(
        &w, (lic_graph_options){ .no_threads = true, .release_payload = count_release, .payload_context = &released });
    write_one(w.graph, set_with(e, make_with_payload(w.graph, 1)));
    assert_true(lic_graph_merge_all(w.graph));
    write_one(w.graph, unset(e));
    assert_int_equal(released, 0); /* history shows it */
    assert_int_equal(lic_snapshot_pin_at(w.graph, 1, &snapshot), LIC_PIN_OK);
    assert_true(lic_graph_merge_all(w.graph));
    assert_int_equal(released, 0); /* and this snapshot */
    assert_true(lic_snapshot_find(&snapshot, e.resource, e.subject, &attribute));
    assert_int_equal(lic_graph_attribute(w.graph, attribute)->caveat, 1);
    lic_snapshot_unpin(&snapshot);
    assert_true(lic_graph_merge_all(w.graph));
    assert_int_equal(released, 1);
    assert_int_equal(sizes_of(w.graph).attributes, 0);
    world_close(&w);
    assert_int_equal(released, 1);
}

static void what_is_not_applied_is_released_by_its_maker(void **state)
{
    uint32_t released = 0;
    uint32_t first;
    world    w;

    (void)state;
    world_open(
        &w, (lic_graph_options){ .no_threads = true, .release_payload = count_release, .payload_context = &released });
    first = make_with_payload(w.graph, 1);
    lic_graph_attribute_retain(w.graph, first);
    lic_graph_attribute_release(w.graph, first);
    assert_int_equal(released, 0);
    lic_graph_attribute_release(w.graph, first);
    assert_int_equal(released, 1);
    lic_graph_attribute_release(w.graph, LIC_NO_ATTRIBUTE);
    assert_int_equal(make_with_payload(w.graph, 2), first); /* the number is free again */
    world_close(&w);
    assert_int_equal(released, 2);
}

static void numbers_and_memory_are_used_again(void **state)
{
    lic_edge e = edge(OWNER, 1, USER, 1);
    size_t   used;
    world    w;

    (void)state;
    world_open(&w, (lic_graph_options){ .no_threads = true });
    for (uint32_t i = 0; i < 10; i++)
        write_one(w.graph, set_with(e, make_attribute(w.graph, 10 + i)));
    assert_true(lic_graph_merge_all(w.graph));
    assert_true(lic_graph_merge_all(w.graph));
    used = atomic_load(&w.memory.used);
    for (uint32_t round = 0; round < 100; round++) {
        for (uint32_t i = 0; i < 10; i++)
            write_one(w.graph, set_with(e, make_attribute(w.graph, 10 + i)));
        assert_true(lic_graph_merge_all(w.graph));
        assert_true(lic_graph_merge_all(w.graph));
        assert_int_equal(sizes_of(w.graph).attributes, 1);
    }
    assert_int_equal(atomic_load(&w.memory.used), used);
    assert_int_equal(sizes_of(w.graph).graph_bytes + sizes_of(w.graph).id_bytes, used - w.before);
    world_close(&w);
}

static void an_attribute_that_can_not_be_made_leaves_its_payload_to_the_owner(void **state)
{
    uint32_t      released  = 0;
    lic_attribute content   = { .expires_at_s = LIC_NEVER_EXPIRES, .context = LIC_STR("{}"), .payload = &released };
    uint32_t      attribute = LIC_NO_ATTRIBUTE;
    size_t        n         = 0;
    world         w;

    (void)state;
    world_open(
        &w, (lic_graph_options){ .no_threads = true, .release_payload = count_release, .payload_context = &released });
    lic_graph_lock(w.graph);
    for (; attribute == LIC_NO_ATTRIBUTE; n++) {
        size_t before = w.source.counts->live_bytes;

        w.source.counts->fail_first = w.source.counts->calls + n;
        attribute                   = lic_graph_attribute_new(w.graph, &content);
        assert_int_equal(released, 0);
        if (attribute == LIC_NO_ATTRIBUTE)
            assert_int_equal(w.source.counts->live_bytes, before);
    }
    w.source.counts->fail_first = SIZE_MAX;
    lic_graph_unlock(w.graph);
    assert_int_equal(n, 3);
    world_close(&w);
    assert_int_equal(released, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_edge_is_found_with_its_attribute),
        cmocka_unit_test(expired_means_not_after_now),
        cmocka_unit_test(an_edge_that_has_expired_is_there),
        cmocka_unit_test(an_attribute_can_change_alone),
        cmocka_unit_test(an_equal_attribute_is_no_change),
        cmocka_unit_test(several_edges_share_one_attribute),
        cmocka_unit_test(a_payload_ends_with_the_last_place_that_shows_it),
        cmocka_unit_test(what_is_not_applied_is_released_by_its_maker),
        cmocka_unit_test(numbers_and_memory_are_used_again),
        cmocka_unit_test(an_attribute_that_can_not_be_made_leaves_its_payload_to_the_owner),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

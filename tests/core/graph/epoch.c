/* core/graph/epoch.c: reader slots and retired memory. */
#include "world.h"

#include "graph/epoch.h"

typedef struct shelf {
    failing_memory source;
    lic_memory     memory;
    lic_epochs     epochs;
    int            released[256];
    int            count;
} shelf;

static void shelf_open(shelf *s)
{
    memset(s, 0, sizeof *s);
    s->source = fail_never();
    lic_memory_init(&s->memory, &s->source.allocator, SIZE_MAX);
    assert_true(lic_epochs_init(&s->epochs, &s->memory));
}

static void shelf_close(shelf *s)
{
    lic_epochs_free(&s->epochs);
    assert_int_equal(s->source.counts->live_blocks, 0);
}

static void release(void *context, void *thing)
{
    shelf *s = context;

    s->released[s->count++] = *(int *)thing;
}

static void retire(shelf *s, int *thing)
{
    assert_true(lic_epoch_reserve(&s->epochs));
    lic_epoch_retire(&s->epochs, release, s, thing);
}

static void what_nobody_reads_is_released_at_once(void **state)
{
    shelf s;
    int   things[] = { 7, 8 };

    (void)state;
    shelf_open(&s);
    retire(&s, &things[0]);
    retire(&s, &things[1]);
    assert_int_equal(s.count, 0);
    lic_epoch_reclaim(&s.epochs);
    assert_int_equal(s.count, 2);
    assert_int_equal(s.released[0], 7);
    assert_int_equal(s.released[1], 8);
    shelf_close(&s);
}

static void a_reader_keeps_what_was_retired_after_it_came(void **state)
{
    shelf    s;
    int      things[] = { 1, 2, 3 };
    uint32_t first;
    uint32_t second;

    (void)state;
    shelf_open(&s);
    retire(&s, &things[0]);
    first = lic_epoch_enter(&s.epochs);
    retire(&s, &things[1]);
    second = lic_epoch_enter(&s.epochs);
    assert_int_not_equal(first, second);
    retire(&s, &things[2]);
    lic_epoch_reclaim(&s.epochs);
    assert_int_equal(s.count, 1);
    lic_epoch_leave(&s.epochs, first);
    lic_epoch_reclaim(&s.epochs);
    assert_int_equal(s.count, 2);
    assert_int_equal(s.released[1], 2);
    lic_epoch_leave(&s.epochs, second);
    lic_epoch_reclaim(&s.epochs);
    assert_int_equal(s.count, 3);
    shelf_close(&s);
}

static void readers_beyond_the_slots_keep_everything(void **state)
{
    shelf    s;
    int      thing = 5;
    uint32_t slots[LIC_READER_SLOTS];
    uint32_t more[2];

    (void)state;
    shelf_open(&s);
    for (uint32_t i = 0; i < LIC_READER_SLOTS; i++) {
        slots[i] = lic_epoch_enter(&s.epochs);
        assert_true(slots[i] < LIC_READER_SLOTS);
    }
    for (int i = 0; i < 2; i++) {
        more[i] = lic_epoch_enter(&s.epochs);
        assert_int_equal(more[i], LIC_READER_SLOTS);
    }
    for (uint32_t i = 0; i < LIC_READER_SLOTS; i++)
        lic_epoch_leave(&s.epochs, slots[i]);
    retire(&s, &thing);
    lic_epoch_reclaim(&s.epochs);
    assert_int_equal(s.count, 0);
    lic_epoch_leave(&s.epochs, more[0]);
    lic_epoch_reclaim(&s.epochs);
    assert_int_equal(s.count, 0);
    lic_epoch_leave(&s.epochs, more[1]);
    lic_epoch_reclaim(&s.epochs);
    assert_int_equal(s.count, 1);
    shelf_close(&s);
}

static void an_epoch_has_passed_when_its_readers_have_gone(void **state)
{
    shelf    s;
    uint32_t slot;
    uint64_t epoch;

    (void)state;
    shelf_open(&s);
    slot  = lic_epoch_enter(&s.epochs);
    epoch = lic_epoch_advance(&s.epochs);
    assert_false(lic_epoch_passed(&s.epochs, epoch));
    lic_epoch_leave(&s.epochs, slot);
    assert_true(lic_epoch_passed(&s.epochs, epoch));
    slot = lic_epoch_enter(&s.epochs);
    assert_true(lic_epoch_passed(&s.epochs, epoch));
    lic_epoch_leave(&s.epochs, slot);
    shelf_close(&s);
}

/* Things come and go while one reader keeps the queue from emptying. */
static void the_queue_keeps_its_order_while_it_grows(void **state)
{
    shelf    s;
    int      things[200];
    uint32_t old = LIC_READER_SLOTS;

    (void)state;
    shelf_open(&s);
    for (int i = 0; i < 200; i++) {
        uint32_t young = lic_epoch_enter(&s.epochs);

        things[i] = i;
        retire(&s, &things[i]);
        if (i % 20 == 0) {
            if (old != LIC_READER_SLOTS)
                lic_epoch_leave(&s.epochs, old);
            old = young;
        } else {
            lic_epoch_leave(&s.epochs, young);
        }
        lic_epoch_reclaim(&s.epochs);
    }
    lic_epoch_leave(&s.epochs, old);
    lic_epoch_reclaim(&s.epochs);
    assert_int_equal(s.count, 200);
    for (int i = 0; i < 200; i++)
        assert_int_equal(s.released[i], i);
    shelf_close(&s);
}

static void a_reservation_can_fail_and_can_be_given_back(void **state)
{
    failing_memory source = fail_from(1); /* the slots are there, the queue is not */
    lic_memory     memory;
    lic_epochs     epochs;

    (void)state;
    lic_memory_init(&memory, &source.allocator, SIZE_MAX);
    assert_true(lic_epochs_init(&epochs, &memory));
    assert_false(lic_epoch_reserve(&epochs));
    source.counts->fail_first = SIZE_MAX;
    for (int i = 0; i < 1000; i++) {
        assert_true(lic_epoch_reserve(&epochs));
        lic_epoch_unreserve(&epochs);
    }
    assert_in_range(epochs.capacity, 1, 8);
    lic_epochs_free(&epochs);
    assert_int_equal(source.counts->live_blocks, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_nobody_reads_is_released_at_once),
        cmocka_unit_test(a_reader_keeps_what_was_retired_after_it_came),
        cmocka_unit_test(readers_beyond_the_slots_keep_everything),
        cmocka_unit_test(an_epoch_has_passed_when_its_readers_have_gone),
        cmocka_unit_test(the_queue_keeps_its_order_while_it_grows),
        cmocka_unit_test(a_reservation_can_fail_and_can_be_given_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

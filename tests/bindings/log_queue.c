/* bindings/log_queue.h: log lines on their way from any thread to one that may take them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../../bindings/log_queue.h"

#include <pthread.h>
#include <stdio.h>

#define WRITERS 4
#define LINES_EACH 20000

static void write_text(log_queue *queue, licet_log_level level, const char *text)
{
    log_queue_write(queue, level, (licet_str){ text, strlen(text) });
}

static void assert_line(const log_line *line, licet_log_level level, const char *text)
{
    assert_non_null(line);
    assert_int_equal(line->level, level);
    assert_int_equal(line->size, strlen(text));
    assert_memory_equal(line->text, text, line->size);
}

static void lines_come_in_the_order_in_which_they_were_said(void **state)
{
    log_queue queue;
    uint64_t  dropped;
    log_line *line;

    (void)state;
    log_queue_init(&queue);
    assert_false(log_queue_has_lines(&queue));
    write_text(&queue, LICET_LOG_INFO, "one");
    write_text(&queue, LICET_LOG_ERROR, "");
    log_queue_write(&queue, LICET_LOG_INFO, (licet_str){ NULL, 0 });
    write_text(&queue, LICET_LOG_WARNING, "four");
    assert_true(log_queue_has_lines(&queue));
    line = log_queue_take(&queue, &dropped);
    assert_false(log_queue_has_lines(&queue));
    assert_int_equal(dropped, 0);
    assert_line(line, LICET_LOG_INFO, "one");
    line = log_line_next(line);
    assert_line(line, LICET_LOG_ERROR, "");
    line = log_line_next(line);
    assert_line(line, LICET_LOG_INFO, "");
    line = log_line_next(line);
    assert_line(line, LICET_LOG_WARNING, "four");
    assert_null(log_line_next(line));
    assert_null(log_queue_take(&queue, &dropped));
    log_queue_clear(&queue);
}

static void what_is_beyond_the_limit_is_counted_until_somebody_asks(void **state)
{
    log_queue queue;
    uint64_t  dropped;
    size_t    count = 0;

    (void)state;
    log_queue_init(&queue);
    for (size_t i = 0; i < LOG_LINES + 7; i++)
        write_text(&queue, LICET_LOG_INFO, "line");
    for (log_line *line = log_queue_take(&queue, &dropped); line != NULL; line = log_line_next(line))
        count++;
    assert_int_equal(count, LOG_LINES);
    assert_int_equal(dropped, 7);
    write_text(&queue, LICET_LOG_INFO, "room again");
    assert_line(queue.newest, LICET_LOG_INFO, "room again");
    assert_int_equal(atomic_load(&queue.dropped), 0);
    log_queue_clear(&queue);
    assert_false(log_queue_has_lines(&queue));
}

typedef struct writer {
    log_queue *queue;
    int        number;
} writer;

static void *write_many(void *argument)
{
    const writer *w = argument;
    char          text[32];

    for (int i = 0; i < LINES_EACH; i++) {
        (void)snprintf(text, sizeof text, "%d %06d", w->number, i);
        write_text(w->queue, LICET_LOG_INFO, text);
    }
    return NULL;
}

/* Takes all that wait: how many, where each writer's lines must be in their order. */
static uint64_t take_all(log_queue *queue, int *latest, uint64_t *dropped)
{
    uint64_t taken = 0;
    uint64_t lost;

    for (log_line *line = log_queue_take(queue, &lost); line != NULL; line = log_line_next(line)) {
        int number = line->text[0] - '0';
        int at     = 0;

        assert_int_equal(line->size, 8);
        for (int i = 2; i < 8; i++)
            at = at * 10 + (line->text[i] - '0');
        assert_in_range(number, 0, WRITERS - 1);
        assert_true(at > latest[number]);
        latest[number] = at;
        taken++;
    }
    *dropped += lost;
    return taken;
}

static void every_line_of_many_threads_is_taken_or_counted(void **state)
{
    log_queue queue;
    writer    writers[WRITERS];
    pthread_t threads[WRITERS];
    int       latest[WRITERS] = { -1, -1, -1, -1 };
    uint64_t  taken           = 0;
    uint64_t  dropped         = 0;

    (void)state;
    log_queue_init(&queue);
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = (writer){ &queue, i };
        assert_int_equal(pthread_create(&threads[i], NULL, write_many, &writers[i]), 0);
    }
    while (taken + dropped < (uint64_t)WRITERS * LINES_EACH / 2)
        taken += take_all(&queue, latest, &dropped);
    for (int i = 0; i < WRITERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    taken += take_all(&queue, latest, &dropped);
    assert_int_equal(taken + dropped, WRITERS * LINES_EACH);
    assert_true(taken >= LOG_LINES);
    assert_int_equal(atomic_load(&queue.waiting), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_come_in_the_order_in_which_they_were_said),
        cmocka_unit_test(what_is_beyond_the_limit_is_counted_until_somebody_asks),
        cmocka_unit_test(every_line_of_many_threads_is_taken_or_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

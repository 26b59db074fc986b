/* Log lines on their way from the core's threads to the language's own: what both bindings share.
 *
 * The core calls licet_log from any thread, its background threads among them, and those must never enter an interpreter.
 * So lines wait here until a call of the language's takes them along. Lines are pushed one by one and taken all at once, by
 * atomic exchanges alone: no lock, which a fork could leave locked in the child; a line that another thread was about to
 * push then is lost, and nothing else.
 *
 * At most LOG_LINES wait; what is beyond is counted. Memory is malloc's, which any thread may call, without a licet that
 * could be asked for it. */
#ifndef LICET_BINDINGS_LOG_QUEUE_H
#define LICET_BINDINGS_LOG_QUEUE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "licet.h"

#define LOG_LINES 256

typedef struct log_line {
    struct log_line *next;
    licet_log_level  level;
    size_t           size;
    char             text[]; /* UTF-8 */
} log_line;

typedef struct log_queue {
    _Atomic(log_line *) newest; /* of those that wait, each before the one that came before it */
    atomic_uint         waiting;
    _Atomic uint64_t    dropped;
} log_queue;

static inline void log_queue_init(log_queue *queue)
{
    atomic_init(&queue->newest, NULL);
    atomic_init(&queue->waiting, 0);
    atomic_init(&queue->dropped, 0);
}

/* licet_log.write; `context` is the queue. */
static inline void log_queue_write(void *context, licet_log_level level, licet_str message)
{
    log_queue *queue = context;
    log_line  *line  = NULL;

    if (atomic_fetch_add(&queue->waiting, 1) < LOG_LINES)
        line = malloc(sizeof *line + message.size);
    if (line == NULL) {
        atomic_fetch_sub(&queue->waiting, 1);
        atomic_fetch_add(&queue->dropped, 1);
        return;
    }
    line->level = level;
    line->size  = message.size;
    if (message.size > 0)
        memcpy(line->text, message.data, message.size);
    line->next = atomic_load(&queue->newest);
    while (!atomic_compare_exchange_weak(&queue->newest, &line->next, line))
        continue;
}

/* Whether any line waits: what every call can afford to ask. */
static inline bool log_queue_has_lines(const log_queue *queue)
{
    return atomic_load_explicit(&queue->newest, memory_order_relaxed) != NULL;
}

/* All lines that wait, the oldest first; each is for free(). *dropped: so many were not kept since the last time. */
static inline log_line *log_queue_take(log_queue *queue, uint64_t *dropped)
{
    log_line *line   = atomic_exchange(&queue->newest, NULL);
    log_line *oldest = NULL;

    *dropped = atomic_exchange(&queue->dropped, 0);
    while (line != NULL) {
        log_line *before = line->next;

        line->next = oldest;
        oldest     = line;
        line       = before;
        atomic_fetch_sub(&queue->waiting, 1);
    }
    return oldest;
}

/* Takes the next of the lines. */
static inline log_line *log_line_next(log_line *line)
{
    log_line *next = line->next;

    free(line);
    return next;
}

static inline void log_queue_clear(log_queue *queue)
{
    uint64_t dropped;

    for (log_line *line = log_queue_take(queue, &dropped); line != NULL;)
        line = log_line_next(line);
}

#endif

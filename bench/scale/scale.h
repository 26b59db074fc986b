/* What the parts of the scale benchmark share. Each part prints its figures as lines of JSON, one object each with the
 * part's name in it, as soon as it has them; nanoseconds, bytes and counts. bench/scale/__main__.py runs the program, and
 * says what its figures mean. */
#ifndef BENCH_SCALE_SCALE_H
#define BENCH_SCALE_SCALE_H

#include "../support/bench.h"

#define UNLIMITED_BYTES (UINT64_C(1) << 36)

/* Prints one line of JSON. The format is the object's members behind the part's name. */
__attribute__((format(printf, 2, 3))) void scale_print(const char *part, const char *format, ...);

/* A number below `end`, the next of a sequence that is the same in every run. *state: not 0. */
static inline uint64_t scale_random(uint64_t *state, uint64_t end)
{
    *state ^= *state << 13, *state ^= *state >> 7, *state ^= *state << 17;
    return (uint64_t)((unsigned __int128)*state * end >> 64);
}

/* ------------------------------------------------------------------ engines */

/* With limits that nothing here meets. uri: "memory:", or that of a database, whose tables are in `postgres_schema`. */
licet_engine *scale_open(const char *uri, const char *postgres_schema, licet_mode mode);

/* Relationships on their way into an engine, all in one import. */
typedef struct scale_filler scale_filler;

/* "user:u17", or "group:g3#member" */
typedef struct scale_object {
    const char *type;
    const char *prefix; /* of the id: "u" */
    uint64_t    number;
    const char *relation; /* of subjects; NULL: none */
} scale_object;

scale_filler *scale_fill_begin(licet_engine *engine, const char *schema);
void          scale_fill(scale_filler *filler, scale_object resource, const char *relation, scale_object subject);
/* Adds a relationship whose texts live until the end. */
void scale_fill_text(scale_filler *filler, licet_str text);
/* Commits, and ends the filler. Returns the nanoseconds that the engine took for it all. */
double scale_fill_end(scale_filler *filler);
/* How long a load took, and what the engine holds now. */
void scale_print_load(const char *how, licet_engine *engine, double took_ns);

/* ---------------------------------------------------------------- questions */

/* Checks with the answers that are expected. */
typedef struct scale_questions {
    licet_check_request *requests;
    bool                *expected;
    size_t               count;
    size_t               capacity;
    char                *texts; /* SCALE_TEXT bytes for each */
    licet_freshness      freshness;
} scale_questions;

enum { SCALE_TEXT = 96 };

scale_questions scale_questions_new(size_t capacity, licet_freshness freshness);
/* The texts are copied; resource and subject together in less than SCALE_TEXT bytes. The permission is a constant. */
void scale_question(scale_questions *questions, scale_object resource, const char *permission, scale_object subject,
                    bool expected);
void scale_questions_free(scale_questions *questions);
/* Asks each question once, and stops the program at a wrong answer. */
void scale_verify(licet_engine *engine, const scale_questions *questions, const char *name);

/* ----------------------------------------------------------------- measuring */

typedef struct scale_timing {
    double median_ns;
    double p99_ns;
} scale_timing;

/* Something to be timed: does it once, and returns how many answers it got. */
typedef struct scale_work {
    size_t (*run)(void *context);
    void  *context;
    size_t batch; /* calls between two looks at the clock, for the median; the p99 is of single calls */
} scale_work;

/* Of several rounds the one with the least median: neighbours on the machine disturb whole rounds. */
scale_timing scale_time(const scale_work *work);
/* Of the questions one after the other, the first `count` of them again and again. */
scale_timing scale_time_questions(licet_engine *engine, const scale_questions *questions, size_t count);
/* Calls of one thread a second, and of two together. */
void scale_time_threads(licet_engine *engine, const scale_questions *questions, double per_second[2]);

/* One random probe of an open-addressing table with so many keys, each depending on the one before. Median, ns. */
double scale_probe(uint64_t keys);
/* One random load of so many bytes, each depending on the one before. Median, ns. */
double scale_touch(uint64_t bytes);

/* All resources of the type that the subject has the permission on: how many. */
size_t scale_lookup(licet_engine *engine, const char *resource_type, const char *permission, const char *subject,
                    licet_freshness freshness);

/* --------------------------------------------------------------------- parts */

/* folder: made by bench/scale/__main__.py. worlds: how many there are of what its questions are about. */
void scale_size(const char *folder, unsigned worlds);
void scale_database(const char *folder, unsigned worlds); /* in the Postgres that LICET_TEST_POSTGRES names */
void scale_depth(void);
void scale_fan_out(uint64_t relationships);
void scale_answers(uint64_t relationships);

/* Questions of a file of the folder, as many of each world as of any other. */
scale_questions scale_draw(const char *folder, const char *file_name, unsigned worlds, licet_freshness freshness);
/* The checks and lookups of an engine that holds the folder's relationships; unless alone, with two threads, too. */
void scale_requests(licet_engine *engine, const char *folder, unsigned worlds, licet_freshness freshness, bool alone);
/* Single writes while another thread reads, for a while and until merges came and went. */
void scale_writes(licet_engine *engine, const char *folder, licet_freshness freshness);

#endif

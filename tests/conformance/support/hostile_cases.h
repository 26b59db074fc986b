/* The hostile inputs as cases for one kind of engine: what is left out and why, and what is expected. From the shared
 * files and from hostile.json beside the runners. */
#ifndef LICET_TESTS_HOSTILE_CASES_H
#define LICET_TESTS_HOSTILE_CASES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct hostile_area;

typedef struct hostile_case {
    struct hostile_area *area;
    const json_t        *input;
    const json_t        *fixture; /* NULL: none */
    const char          *id, *op; /* op: also of a case that is read otherwise */
    bool                 left_out;
    bool                 strict; /* the engine */
    json_t              *json;   /* owned; all that is const lives in it */
    json_t              *expect; /* owned: as an engine of this kind has to meet it */
} hostile_case;

/* One file for one kind of engine. */
typedef struct hostile_area {
    char          name[32];
    bool          strict;
    hostile_case *cases;
    size_t        count;
    size_t        run, left_out; /* run: counted by the runner */
} hostile_area;

/* Reads fixtures.json and hostile.json. false: there are no shared data; then areas have no fixtures. */
bool hostile_open(void);
void hostile_close(void);

/* The lines of a file; none when there is no such file. The area must stay where it is. */
void hostile_area_read(hostile_area *area, const char *path, const char *name, bool strict);
void hostile_area_clear(hostile_area *area);

/* Lines that are not empty, counted without reading them. */
size_t hostile_lines(const char *path);

/* An entry of hostile.json: an area or a case, and the reason. */
typedef struct hostile_note {
    const char *name;
    const char *why;
} hostile_note;

enum { HOSTILE_NOTES = 64 };

/* What is left out in C. The number of them. */
size_t hostile_left_out(hostile_note notes[HOSTILE_NOTES]);

/* The name of an entry that no case in these areas answers to; NULL: none. */
const char *hostile_stray_name(const hostile_area *areas, size_t count);

#endif

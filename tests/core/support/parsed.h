/* A schema text, parsed with memory of its own, for tests of what the parser makes of it. */
#ifndef LICET_TESTS_PARSED_H
#define LICET_TESTS_PARSED_H

#include "schema/parser.h"

typedef struct parsed {
    lic_memory   memory;
    lic_arena    arena;
    lic_ast     *ast; /* NULL: refused */
    licet_error *error;
    licet_status status;
} parsed;

/* folder: where imports read from; NULL: nowhere. End it with parsed_clear. */
void parsed_make(parsed *p, const char *text, const char *folder);
/* The same for any bytes; what is allocated comes from these hooks (NULL: malloc). */
void parsed_make_with(parsed *p, const licet_allocator *allocator, lic_str text, const char *folder);
/* Fails the test if anything is left of the memory. */
void parsed_clear(parsed *p);

/* Fails the test unless the text is accepted / refused so. message: all of it. */
void assert_parses(const char *text);
void assert_refuses(const char *text, licet_kind kind, uint32_t line, uint32_t column, const char *message);

/* text[0..count) repeated, with head and tail around it, NUL-terminated; test_free it. */
char *repeated(const char *head, const char *text, size_t count, const char *tail);

/* Bytes of a file, NUL-terminated; test_free it. NULL: there is none. */
char *read_whole_file(const char *path, size_t *size);
/* path below the shared test data ($LICET_SHARED, or ../shared beside the sources); test_free it. */
char *shared_path(const char *path);

#endif

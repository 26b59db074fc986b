/* Files of the shared test data and of this repository, for the runners of scenario files.
 *
 * The shared data lie in $LICET_SHARED, or in ../shared beside the repository. Where there are none, a runner has one
 * test, which is skipped and says so. */
#ifndef LICET_TESTS_SHARED_H
#define LICET_TESTS_SHARED_H

#include "licet.h"

#define SHARED_PATH 1024 /* bytes of the longest path */

/* The path of a file or folder of the shared data, or of this repository. */
void path_in_shared(char out[SHARED_PATH], const char *relative);
void path_in_sources(char out[SHARED_PATH], const char *relative);

/* A whole file; free(text.data). data is NULL when there is none. */
licet_str file_text(const char *path);

/* The names in a folder that end in `suffix`, sorted; none when there is no such folder. */
typedef struct file_list {
    char **names;
    size_t count;
} file_list;

file_list files_in(const char *folder, const char *suffix);
void      file_list_free(file_list *list);

/* Items of the lists under a top-level key of a YAML text, counted without a YAML parser: lines that begin with a
 * dash. */
size_t entries_under(licet_str text, const char *key);
/* Lines that hold a relationship, under `relationships`. */
size_t relationships_in(licet_str text);
#endif

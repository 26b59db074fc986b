#include "shared.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void path_in_sources(char out[SHARED_PATH], const char *relative)
{
    snprintf(out, SHARED_PATH, "%s/%s", LICET_SOURCE_DIR, relative);
}

void path_in_shared(char out[SHARED_PATH], const char *relative)
{
    const char *folder = getenv("LICET_SHARED");

    if (folder != NULL && folder[0] != '\0')
        snprintf(out, SHARED_PATH, "%s/%s", folder, relative);
    else
        snprintf(out, SHARED_PATH, "%s/../shared/%s", LICET_SOURCE_DIR, relative);
}

licet_str file_text(const char *path)
{
    FILE  *file = fopen(path, "rb");
    char  *data = NULL;
    size_t size = 0;
    long   end;

    if (file == NULL)
        return (licet_str){ NULL, 0 };
    if (fseek(file, 0, SEEK_END) == 0 && (end = ftell(file)) >= 0) {
        rewind(file);
        data = malloc((size_t)end + 1);
        size = data == NULL ? 0 : fread(data, 1, (size_t)end, file);
    }
    fclose(file);
    return (licet_str){ data, size };
}

static int by_name(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static bool ends_in(const char *name, const char *suffix)
{
    size_t size = strlen(name);

    return size >= strlen(suffix) && strcmp(name + size - strlen(suffix), suffix) == 0;
}

file_list files_in(const char *folder, const char *suffix)
{
    file_list      list = { NULL, 0 };
    DIR           *open = opendir(folder);
    struct dirent *entry;

    if (open == NULL)
        return list;
    while ((entry = readdir(open)) != NULL) {
        char **names;

        if (!ends_in(entry->d_name, suffix))
            continue;
        names = realloc(list.names, (list.count + 1) * sizeof *names);
        if (names == NULL)
            break;
        list.names               = names;
        list.names[list.count++] = strdup(entry->d_name);
    }
    closedir(open);
    if (list.count > 0)
        qsort(list.names, list.count, sizeof *list.names, by_name);
    return list;
}

void file_list_free(file_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->names[i]);
    free(list->names);
    *list = (file_list){ NULL, 0 };
}

/* Calls `counts` for each line below a top-level key, and says how often it was true. */
static size_t count_lines(licet_str text, const char *key, bool (*counts)(licet_str line))
{
    const char *end    = text.data + text.size;
    bool        inside = false;
    size_t      count  = 0;

    for (const char *at = text.data; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        licet_str   line    = { at, (size_t)((newline == NULL ? end : newline) - at) };

        if (line.size > 0 && (isalpha((unsigned char)line.data[0]) || line.data[0] == '_'))
            inside =
                line.size > strlen(key) && strncmp(line.data, key, strlen(key)) == 0 && line.data[strlen(key)] == ':';
        else if (inside && counts(line))
            count++;
        at += line.size + 1;
    }
    return count;
}

static licet_str without_blanks(licet_str line)
{
    while (line.size > 0 && isspace((unsigned char)line.data[0]))
        line = (licet_str){ line.data + 1, line.size - 1 };
    return line;
}

static bool is_item(licet_str line)
{
    line = without_blanks(line);
    return line.size > 1 && line.data[0] == '-' && isspace((unsigned char)line.data[1]);
}

static bool is_relationship(licet_str line)
{
    line = without_blanks(line);
    return line.size > 0 && line.data[0] != '/';
}

size_t entries_under(licet_str text, const char *key)
{
    return count_lines(text, key, is_item);
}

size_t relationships_in(licet_str text)
{
    return count_lines(text, "relationships", is_relationship);
}

/* Imports: which files, in which order, and opening them without ever leaving the caller's folder.
 *
 * A path is checked as a text first. Then its links are followed to the file's real path, which must lie below
 * the folder's real path, and that is opened step by step from the folder without following any more links: who
 * puts a link in the way between the two gets an error, not a file from elsewhere. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/map.h"
#include "schema/parse.h"

/* A file whose imports are being read, or all of them have been. */
typedef struct import_file {
    lic_raw_file        raw;
    size_t              next_import;
    bool                open; /* on the way from the first file to the one at hand */
    struct import_file *parent;
} import_file;

typedef struct importer {
    lic_parser   *p;
    char         *folder; /* real path, NUL-terminated */
    lic_map       paths;  /* path -> index in files */
    import_file **files;
    size_t        file_count;
    size_t        file_capacity;
    LIC_VECTOR(lic_raw_item) items;
} importer;

static bool contains_dots(lic_str path)
{
    for (size_t i = 0; i + 1 < path.size; i++)
        if (path.data[i] == '.' && path.data[i + 1] == '.')
            return true;
    return false;
}

/* SpiceDB: no "..", not absolute, not empty. And no NUL, where a path would end for the system. */
static bool check_path(lic_parser *p, const lic_raw_import *import)
{
    const lic_str *path = &import->path;

    if (contains_dots(*path))
        return lic_parser_fail(p, LICET_KIND_VALUE, import->place, "import %Q: a path must not contain \"..\"", path);
    if (path->size == 0 || path->data[0] == '/' || lic_str_find(*path, '\0') < path->size)
        return lic_parser_fail(p, LICET_KIND_VALUE, import->place,
                               "import %Q: the path must be a relative one, inside the folder", path);
    return true;
}

/* Adds a path's steps to `out`, without "." and empty ones. out has room for a slash and all of path. */
static size_t join(char *out, size_t size, lic_str path)
{
    while (path.size > 0) {
        size_t  slash = lic_str_find(path, '/');
        lic_str step  = lic_str_slice(path, 0, slash);

        if (step.size > 0 && !lic_str_equal(step, LIC_STR("."))) {
            if (size > 0)
                out[size++] = '/';
            memcpy(out + size, step.data, step.size);
            size += step.size;
        }
        path = lic_str_slice(path, slash == path.size ? slash : slash + 1, path.size);
    }
    return size;
}

/* The imported path, seen from the folder: beside the importing file. */
static bool resolve_path(lic_parser *p, lic_str importing, lic_str import, lic_str *path)
{
    size_t folder = importing.size;
    char  *data;

    while (folder > 0 && importing.data[folder - 1] != '/')
        folder--;
    data = lic_arena_alloc(p->arena, folder + import.size + 1);
    if (data == NULL)
        return lic_parser_memory_failed(p);
    *path = (lic_str){ data, join(data, folder == 0 ? 0 : join(data, 0, lic_str_slice(importing, 0, folder)), import) };
    return true;
}

/* The real path of folder/path, as a path below the folder. NULL: there is none, or it lies elsewhere. */
static const char *real_path_below(const importer *im, lic_str path, char real[PATH_MAX])
{
    size_t folder_size = strlen(im->folder);
    char   joined[PATH_MAX];

    if (path.size >= sizeof joined - folder_size - 1)
        return NULL;
    memcpy(joined, im->folder, folder_size);
    joined[folder_size] = '/';
    memcpy(joined + folder_size + 1, path.data, path.size);
    joined[folder_size + 1 + path.size] = '\0';
    if (realpath(joined, real) == NULL || strncmp(real, im->folder, folder_size) != 0)
        return NULL;
    if (folder_size == 1) /* the folder is "/" */
        return real + 1;
    return real[folder_size] == '/' ? real + folder_size + 1 : NULL;
}

/* Opens a real path below the folder, step by step. -1: a step is missing, or has become a link. */
static int open_below(const importer *im, const char *path)
{
    int directory = open(im->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    while (directory >= 0) {
        const char *slash = strchr(path, '/');
        char        step[NAME_MAX + 1];
        size_t      size  = slash == NULL ? strlen(path) : (size_t)(slash - path);
        int         flags = slash == NULL ? O_RDONLY | O_NONBLOCK : O_RDONLY | O_DIRECTORY;
        int         next  = -1;

        if (size < sizeof step) {
            memcpy(step, path, size);
            step[size] = '\0';
            next       = openat(directory, step, flags | O_NOFOLLOW | O_CLOEXEC);
        }
        close(directory);
        if (slash == NULL)
            return next;
        directory = next;
        path      = slash + 1;
    }
    return -1;
}

/* Opens a regular file inside the folder. -1: it can't be had. */
static int open_file(const importer *im, lic_str path, size_t *size)
{
    char        real[PATH_MAX];
    const char *below = real_path_below(im, path, real);
    int         file  = below == NULL ? -1 : open_below(im, below);
    struct stat status;

    if (file >= 0 && (fstat(file, &status) != 0 || !S_ISREG(status.st_mode))) {
        close(file);
        return -1;
    }
    *size = file < 0 ? 0 : (size_t)status.st_size;
    return file;
}

/* The file's bytes. false: it can't be read, or is no longer as long as it was. */
static bool read_all(int file, char *data, size_t size)
{
    char   beyond;
    size_t have = 0;

    for (;;) {
        ssize_t got = have < size ? read(file, data + have, size - have) : read(file, &beyond, 1);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0 || have == size)
            return got == 0 && have == size;
        have += (size_t)got;
    }
}

static bool fail_file(lic_parser *p, const lic_raw_import *import)
{
    return lic_parser_fail(p, LICET_KIND_NAME, import->place,
                           "import %Q: there is no such file inside the folder that can be read", &import->path);
}

/* Reads and parses an imported file. Too large a one is not read at all. */
static bool parse_import(importer *im, const lic_raw_import *import, import_file *file)
{
    lic_parser *p = im->p;
    size_t      size;
    int         handle = open_file(im, file->raw.path, &size);
    char       *data   = NULL;
    bool        parsed = false;

    if (handle < 0)
        return fail_file(p, import);
    if (size > LIC_MAX_SCHEMA_BYTES)
        size = LIC_MAX_SCHEMA_BYTES + 1; /* refused by its size, whatever it holds */
    data = lic_alloc(p->scratch.memory, size + 1);
    if (data == NULL)
        lic_parser_memory_failed(p);
    else if (size <= LIC_MAX_SCHEMA_BYTES && !read_all(handle, data, size))
        fail_file(p, import);
    else
        parsed = lic_parse_file(p, file->raw.path, (lic_str){ data, size }, &file->raw);
    close(handle);
    lic_free(p->scratch.memory, data, size + 1);
    return parsed;
}

/* Makes the file known under its path; *file is NULL when it was known already. */
static bool add_file(importer *im, const lic_raw_import *import, lic_str path, import_file **file)
{
    lic_parser *p = im->p;
    uint32_t    index;

    *file = NULL;
    if (!lic_arena_grow(&p->scratch, (void **)&im->files, &im->file_capacity, im->file_count + 1, sizeof *im->files) ||
        !lic_map_add(&im->paths, path, (uint32_t)im->file_count, &index))
        return lic_parser_memory_failed(p);
    if (index < im->file_count) {
        if (im->files[index]->open)
            return lic_parser_fail(p, LICET_KIND_NAME, import->place, "import %Q: the file imports itself in a circle",
                                   &path);
        return true;
    }
    *file = lic_new(&p->scratch, import_file);
    if (*file == NULL)
        return lic_parser_memory_failed(p);
    (*file)->raw.path           = path;
    im->files[im->file_count++] = *file;
    return true;
}

/* One import of the file at hand; *file is the file to go on with. */
static bool follow(importer *im, import_file **file)
{
    import_file    *importing = *file;
    lic_raw_import *import    = &importing->raw.imports.items[importing->next_import++];
    import_file    *imported  = NULL;
    lic_str         path      = { NULL, 0 };

    if (!check_path(im->p, import) || !resolve_path(im->p, importing->raw.path, import->path, &path) ||
        !add_file(im, import, path, &imported))
        return false;
    if (imported == NULL)
        return true;
    imported->open   = true;
    imported->parent = importing;
    *file            = imported;
    return parse_import(im, import, imported);
}

/* All imports of the file are done: its own items come behind theirs. */
static bool append_items(importer *im, const import_file *file)
{
    for (size_t i = 0; i < file->raw.items.count; i++) {
        if (!lic_vector_reserve(im->p, &im->items))
            return false;
        im->items.items[im->items.count++] = file->raw.items.items[i];
    }
    return true;
}

/* Depth first, without recursion: each file knows which one imported it. */
static bool follow_all(importer *im, import_file *file)
{
    while (file != NULL) {
        if (file->next_import < file->raw.imports.count) {
            if (!follow(im, &file))
                return false;
            continue;
        }
        if (!append_items(im, file))
            return false;
        file->open = false;
        file       = file->parent;
    }
    return true;
}

static bool find_folder(importer *im, lic_str folder, const lic_raw_import *import)
{
    char given[PATH_MAX];

    im->folder = lic_arena_alloc(&im->p->scratch, PATH_MAX);
    if (im->folder == NULL)
        return lic_parser_memory_failed(im->p);
    if (folder.size < sizeof given && lic_str_find(folder, '\0') == folder.size) {
        memcpy(given, folder.data, folder.size);
        given[folder.size] = '\0';
        if (realpath(given, im->folder) != NULL)
            return true;
    }
    return lic_parser_fail(im->p, LICET_KIND_CONFIG, import->place, "there is no folder %Q to import from", &folder);
}

bool lic_parse_imports(lic_parser *p, const lic_parse_options *options, const lic_raw_file *first,
                       const lic_raw_item **items, size_t *count)
{
    importer    im   = { .p = p };
    import_file root = { .raw = *first, .open = true };
    bool        done;

    *items = first->items.items;
    *count = first->items.count;
    if (first->imports.count == 0)
        return true;
    if (options == NULL || !lic_str_given(options->folder))
        return lic_parser_fail(p, LICET_KIND_CONFIG, first->imports.items[0].place,
                               "imports are not allowed here: there is no folder to import from");
    if (!find_folder(&im, options->folder, &first->imports.items[0]))
        return false;
    lic_map_init(&im.paths, p->scratch.memory, lic_random_key());
    done = follow_all(&im, &root);
    lic_map_free(&im.paths);
    *items = im.items.items;
    *count = im.items.count;
    return done;
}

#include "parsed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void parsed_make_with(parsed *p, const licet_allocator *allocator, lic_str text, const char *folder)
{
    lic_parse_options options = { .folder = { NULL, 0 } };

    if (folder != NULL)
        options.folder = (lic_str){ folder, strlen(folder) };
    p->error = NULL;
    lic_memory_init(&p->memory, allocator, SIZE_MAX);
    lic_arena_init(&p->arena, &p->memory);
    p->status = lic_parse(&p->arena, text, &options, &p->ast, &p->error);
    assert_int_equal(p->status == LICET_OK, p->ast != NULL);
    assert_int_equal(p->status == LICET_OK, p->error == NULL);
    assert_int_equal(licet_error_status(p->error), p->status);
}

void parsed_make(parsed *p, const char *text, const char *folder)
{
    parsed_make_with(p, NULL, (lic_str){ text, strlen(text) }, folder);
}

void parsed_clear(parsed *p)
{
    lic_arena_free(&p->arena);
    licet_error_free(p->error);
    assert_int_equal(p->memory.used, 0);
}

static void assert_message(const licet_error *error, const char *expected)
{
    lic_str message = licet_error_message(error);
    char   *copy    = test_malloc(message.size + 1);

    memcpy(copy, message.data, message.size);
    copy[message.size] = '\0';
    assert_string_equal(copy, expected);
    test_free(copy);
}

void assert_parses(const char *text)
{
    parsed p;

    parsed_make(&p, text, NULL);
    if (p.status != LICET_OK)
        print_error("%s\nrefused at %u:%u: %.*s\n", text, licet_error_line(p.error), licet_error_column(p.error),
                    LIC_STR_ARG(licet_error_message(p.error)));
    assert_int_equal(p.status, LICET_OK);
    parsed_clear(&p);
}

void assert_refuses(const char *text, licet_kind kind, uint32_t line, uint32_t column, const char *message)
{
    parsed p;

    parsed_make(&p, text, NULL);
    if (p.status == LICET_OK || licet_error_line(p.error) != line || licet_error_column(p.error) != column)
        print_error("%.400s\nstatus %d at %u:%u\n", text, p.status, licet_error_line(p.error),
                    licet_error_column(p.error));
    assert_int_equal(p.status, kind == LICET_KIND_LIMIT ? LICET_LIMIT_EXCEEDED : LICET_SCHEMA_ERROR);
    assert_message(p.error, message);
    assert_int_equal(licet_error_kind(p.error), kind);
    assert_int_equal(licet_error_line(p.error), line);
    assert_int_equal(licet_error_column(p.error), column);
    parsed_clear(&p);
}

char *repeated(const char *head, const char *text, size_t count, const char *tail)
{
    size_t size = strlen(text);
    char  *out  = test_malloc(strlen(head) + size * count + strlen(tail) + 1);
    char  *end  = out + strlen(head);

    memcpy(out, head, strlen(head));
    for (size_t i = 0; i < count; i++, end += size)
        memcpy(end, text, size);
    memcpy(end, tail, strlen(tail) + 1);
    return out;
}

char *read_whole_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    char *data = NULL;
    long  end;

    if (file == NULL)
        return NULL;
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    end = ftell(file);
    assert_true(end >= 0);
    rewind(file);
    *size = (size_t)end;
    data  = test_malloc(*size + 1);
    assert_int_equal(fread(data, 1, *size, file), *size);
    data[*size] = '\0';
    fclose(file);
    return data;
}

char *shared_path(const char *path)
{
    const char *folder = getenv("LICET_SHARED");
    size_t      size;
    char       *out;

    if (folder == NULL)
        folder = LICET_SOURCE_DIR "/../shared";
    size = strlen(folder) + strlen(path) + 2;
    out  = test_malloc(size);
    assert_true(snprintf(out, size, "%s/%s", folder, path) > 0);
    return out;
}

#include "hostile_cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hostile_value.h"
#include "shared.h"

static json_t *fixtures;
static json_t *notes; /* hostile.json */

bool hostile_open(void)
{
    char path[SHARED_PATH];

    path_in_sources(path, "tests/conformance/hostile.json");
    notes = json_load_file(path, 0, NULL);
    hostile_need(notes != NULL);
    path_in_shared(path, "hostile/fixtures.json");
    fixtures = json_load_file(path, 0, NULL);
    return fixtures != NULL;
}

void hostile_close(void)
{
    json_decref(fixtures);
    json_decref(notes);
}

static bool is_text(const json_t *value, const char *text)
{
    return json_is_string(value) && strcmp(json_string_value(value), text) == 0;
}

static hostile_note note_of(const json_t *entry)
{
    const json_t *name = json_object_get(entry, "id");

    if (name == NULL)
        name = json_object_get(entry, "area");
    return (hostile_note){ json_string_value(name), json_string_value(json_object_get(entry, "why")) };
}

size_t hostile_left_out(hostile_note found[HOSTILE_NOTES])
{
    const json_t *entry, *list = json_object_get(notes, "left_out");
    size_t        i, count     = 0;

    json_array_foreach(list, i, entry)
    {
        const json_t *language = json_object_get(entry, "in");

        if (language != NULL && !is_text(language, "c"))
            continue;
        hostile_need(count < HOSTILE_NOTES);
        found[count] = note_of(entry);
        hostile_need(found[count].name != NULL && found[count].why != NULL);
        count++;
    }
    return count;
}

static bool is_left_out(const char *area, const char *id)
{
    hostile_note left_out[HOSTILE_NOTES];
    size_t       count = hostile_left_out(left_out);

    for (size_t i = 0; i < count; i++) {
        if (strcmp(left_out[i].name, area) == 0 || strcmp(left_out[i].name, id) == 0)
            return true;
    }
    return false;
}

/* NULL: it is read as it stands. */
static const json_t *read_otherwise(const hostile_case *c)
{
    const json_t *entry, *list = json_object_get(notes, "read_otherwise");
    size_t        i;

    json_array_foreach(list, i, entry)
    {
        const json_t *strict = json_object_get(entry, "strict");

        if (is_text(json_object_get(entry, "id"), c->id) && (strict == NULL || json_is_true(strict) == c->strict))
            return entry;
    }
    return NULL;
}

/* README: what only a strict engine refuses, any other answers as SpiceDB does. */
static void expect_as_in_spicedb(hostile_case *c)
{
    json_t *outcome = json_object_get(json_object_get(c->json, "spicedb"), "outcome");

    if (outcome != NULL)
        hostile_need(json_object_set_new(c->expect, "outcomes", json_pack("[O]", outcome)) == 0);
}

/* README: no case may end in "allowed". */
static void must_not_allow(const json_t *expect)
{
    const json_t *outcome, *list = json_object_get(expect, "outcomes");
    size_t        i;

    json_array_foreach(list, i, outcome)
    {
        hostile_need(!is_text(outcome, "allowed"));
    }
}

/* A token needs a world too, and any will do. */
static const json_t *fixture_of(const hostile_case *c)
{
    const json_t *name = json_object_get(c->input, "fixture");

    if (strcmp(c->op, "check_token") == 0)
        return json_object_get(fixtures, "docs");
    return name == NULL ? NULL : json_object_get(fixtures, json_string_value(name));
}

static void case_read(hostile_case *c, const char *line, size_t size)
{
    const json_t *otherwise;

    c->json = json_loadb(line, size, JSON_ALLOW_NUL, NULL);
    hostile_need(c->json != NULL);
    c->input    = json_object_get(c->json, "input");
    c->expect   = json_copy(json_object_get(c->json, "expect"));
    c->id       = json_string_value(json_object_get(c->json, "id"));
    c->op       = json_string_value(json_object_get(c->json, "op"));
    c->left_out = is_left_out(c->area->name, c->id);
    c->area->left_out += c->left_out ? 1 : 0;
    must_not_allow(c->expect);
    c->fixture = fixture_of(c);
    if (strcmp(c->area->name, "strict") == 0 && !c->strict)
        expect_as_in_spicedb(c);
    otherwise = read_otherwise(c);
    if (otherwise == NULL)
        return;
    hostile_need(json_object_update(c->expect, json_object_get(otherwise, "expect")) == 0);
    if (json_object_get(otherwise, "op") != NULL)
        c->op = json_string_value(json_object_get(otherwise, "op"));
}

/* Calls `read` for each line that is not empty. */
static size_t each_line(const char *path, hostile_area *area)
{
    licet_str text  = file_text(path);
    size_t    count = 0;

    for (size_t at = 0; at < text.size;) {
        const char *newline = memchr(text.data + at, '\n', text.size - at);
        size_t      size    = newline == NULL ? text.size - at : (size_t)(newline - (text.data + at));

        if (size > 0 && area != NULL)
            case_read(&area->cases[count], text.data + at, size);
        count += size > 0 ? 1 : 0;
        at += size + 1;
    }
    free((char *)text.data);
    return count;
}

size_t hostile_lines(const char *path)
{
    return each_line(path, NULL);
}

void hostile_area_read(hostile_area *area, const char *path, const char *name, bool strict)
{
    *area = (hostile_area){ .strict = strict, .count = hostile_lines(path) };
    snprintf(area->name, sizeof area->name, "%s", name);
    area->cases = calloc(area->count + 1, sizeof *area->cases);
    hostile_need(area->cases != NULL);
    for (size_t i = 0; i < area->count; i++)
        area->cases[i] = (hostile_case){ .area = area, .strict = strict };
    each_line(path, area);
}

void hostile_area_clear(hostile_area *area)
{
    for (size_t i = 0; i < area->count; i++) {
        json_decref(area->cases[i].json);
        json_decref(area->cases[i].expect);
    }
    free(area->cases);
    *area = (hostile_area){ .count = 0 };
}

static bool is_called(const hostile_area *area, const char *name)
{
    bool called = strcmp(area->name, name) == 0;

    for (size_t i = 0; i < area->count && !called; i++)
        called = strcmp(area->cases[i].id, name) == 0;
    return called;
}

static bool is_stray(const char *name, const hostile_area *areas, size_t count)
{
    bool called = false;

    for (size_t i = 0; i < count && !called; i++)
        called = is_called(&areas[i], name);
    return !called;
}

const char *hostile_stray_name(const hostile_area *areas, size_t count)
{
    static const char *const lists[] = { "left_out", "read_otherwise" };

    for (size_t k = 0; k < 2; k++) {
        const json_t *entry, *list = json_object_get(notes, lists[k]);
        size_t        i;

        json_array_foreach(list, i, entry)
        {
            if (is_stray(note_of(entry).name, areas, count))
                return note_of(entry).name;
        }
    }
    return NULL;
}

/* Lookups in random worlds: what they find is what checks of every single resource find, whatever the schema, the rows,
 * the context, the depth, the pages.
 *
 * LICET_WORLDS: how many worlds (100). LICET_SEED: the first one's number (1). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"
#include "engine_world.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

enum { FEW = 5, MANY = 130, USERS = 2, TEXT = 8192 };

static uint64_t random_state;

static uint32_t random_below(uint32_t below)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((random_state >> 33) % below);
}

/* ------------------------------------------------------------------ schemas */

typedef struct relation {
    const char *type;
    const char *name;
    const char *subjects; /* what it may allow, by |; "t" what is allowed in tuplesets */
} relation;

static const relation relations[] = {
    { "group", "member", "user|user:*|group#member|group#all|group#boss|doc|group#some" },
    { "group", "boss", "user|group#plain|user:*" },
    { "folder", "parent", "folder|group|folder#view|doc" },
    { "folder", "viewer", "user|user:*|group#member|group#all|folder#viewer|group#plain|folder#edit|doc#view" },
    { "doc", "parent", "folder|doc|doc#edit" },
    { "doc", "owner", "user|group#boss" },
    { "doc", "viewer", "user|group#member|group#plain|user:*|doc#share|doc" },
    { "doc", "banned", "user|user:*|group#all" },
};

static const char *const permissions[][2] = {
    { "group", "all" },   { "group", "plain" }, { "group", "some" }, { "folder", "view" },
    { "folder", "edit" }, { "doc", "view" },    { "doc", "edit" },   { "doc", "share" },
};

/* What a permission may be made of. Names of its own type's other members follow. */
static const char *const operands[][12] = {
    { "group", "member", "boss", "member", "self", "nil" },
    { "folder", "viewer", "viewer", "parent->view", "parent->view", "parent.all(view)", "parent->member", "self",
      "parent.any(edit)", "parent->all" },
    { "doc", "owner", "viewer", "banned", "parent->view", "parent.all(view)", "parent->edit", "self", "viewer", "owner",
      "parent.all(edit)" },
};

static const char *const attributes[] = {
    "", "", "", "", "", "", " with one", " with two", " with broken", " with expiration", " with one and expiration"
};

/* The shapes that the relations of this world allow, with the relation in front: "group#member@user:*[...". */
typedef struct world {
    engine_world w;
    char         schema[8192];
    char         shapes[256][96];
    size_t       shape_count;
    uint32_t     ids; /* of each type */
    int64_t      now;
} world;

static int64_t read_clock(void *context)
{
    return *(int64_t *)context;
}

static void say(char *text, size_t size, const char *more)
{
    const size_t used = strlen(text);

    assert_true(used + strlen(more) < size);
    strcpy(text + used, more);
}

/* One of those that are divided by bars. */
static void draw(const char *choices, char *chosen)
{
    size_t count = 1, at;

    for (const char *c = choices; *c != '\0'; c++)
        count += *c == '|';
    for (at = random_below((uint32_t)count); at > 0; at--)
        choices = strchr(choices, '|') + 1;
    memcpy(chosen, choices, strcspn(choices, "|"));
    chosen[strcspn(choices, "|")] = '\0';
}

static void add_shape(world *v, const relation *r, const char *subject, const char *attribute)
{
    assert_true(v->shape_count < COUNT(v->shapes));
    snprintf(v->shapes[v->shape_count++], sizeof v->shapes[0], "%s#%s@%s%s", r->type, r->name, subject, attribute);
}

static void write_relation(world *v, const relation *r)
{
    const size_t first = v->shape_count;
    char         subject[32];
    char         shape[96];

    say(v->schema, sizeof v->schema, "  relation ");
    say(v->schema, sizeof v->schema, r->name);
    for (uint32_t i = 0, n = 1 + random_below(4); i < n; i++) {
        const char *attribute = attributes[random_below(COUNT(attributes))];
        bool        repeated  = false;

        if (i == 0 && random_below(4) > 0) /* the first mostly is one of them */
            snprintf(subject, sizeof subject, "%.*s", (int)strcspn(r->subjects, "|"), r->subjects);
        else
            draw(r->subjects, subject);
        snprintf(shape, sizeof shape, "%s#%s@%s%s", r->type, r->name, subject, attribute);
        for (size_t s = first; s < v->shape_count; s++)
            repeated |= strcmp(v->shapes[s], shape) == 0;
        if (repeated)
            continue;
        say(v->schema, sizeof v->schema, v->shape_count == first ? ": " : " | ");
        say(v->schema, sizeof v->schema, subject);
        say(v->schema, sizeof v->schema, attribute);
        add_shape(v, r, subject, attribute);
    }
    say(v->schema, sizeof v->schema, "\n");
}

static void write_operand(world *v, const char *type, const char *self)
{
    const char *const *row;
    size_t             count = 0;

    for (row = operands[0]; strcmp(row[0], type) != 0;)
        row += COUNT(operands[0]);
    while (count + 1 < COUNT(operands[0]) && row[count + 1] != NULL)
        count++;
    if (random_below(5) == 0) { /* another permission of the type */
        const char *const *other = permissions[random_below(COUNT(permissions))];

        if (strcmp(other[0], type) == 0 && strcmp(other[1], self) > 0) {
            say(v->schema, sizeof v->schema, other[1]);
            return;
        }
    }
    say(v->schema, sizeof v->schema, row[1 + random_below((uint32_t)count)]);
}

/* No recursion: a flat sequence with some parentheses. */
static void write_permission(world *v, const char *type, const char *name)
{
    static const char *const operators[]   = { " + ", " + ", " + ", " + ", " + ", " & ", " - " };
    const uint32_t           operand_count = 1 + random_below(4);
    bool                     open          = false;

    say(v->schema, sizeof v->schema, "  permission ");
    say(v->schema, sizeof v->schema, name);
    say(v->schema, sizeof v->schema, " = ");
    for (uint32_t i = 0; i < operand_count; i++) {
        if (i > 0)
            say(v->schema, sizeof v->schema, operators[random_below(COUNT(operators))]);
        if (!open && i + 1 < operand_count && random_below(3) == 0) {
            say(v->schema, sizeof v->schema, "(");
            open = true;
            write_operand(v, type, name);
            continue;
        }
        write_operand(v, type, name);
        if (open && random_below(2) == 0) {
            say(v->schema, sizeof v->schema, ")");
            open = false;
        }
    }
    say(v->schema, sizeof v->schema, open ? ")\n" : "\n");
}

static void write_schema(world *v)
{
    static const char *const types[] = { "group", "folder", "doc" };

    v->shape_count = 0;
    strcpy(v->schema, "use expiration\nuse self\n"
                      "caveat one(x int) { x == 1 }\n"
                      "caveat two(x int, y int) { x < 2 || y > x }\n"
                      "caveat broken(m map<int>) { m[\"k\"] == 1 }\n"
                      "definition user {}\n");
    for (size_t t = 0; t < COUNT(types); t++) {
        say(v->schema, sizeof v->schema, "definition ");
        say(v->schema, sizeof v->schema, types[t]);
        say(v->schema, sizeof v->schema, " {\n");
        for (size_t i = 0; i < COUNT(relations); i++)
            if (strcmp(relations[i].type, types[t]) == 0)
                write_relation(v, &relations[i]);
        for (size_t i = 0; i < COUNT(permissions); i++)
            if (strcmp(permissions[i][0], types[t]) == 0)
                write_permission(v, permissions[i][0], permissions[i][1]);
        say(v->schema, sizeof v->schema, "}\n");
    }
}

/* --------------------------------------------------------------------- rows */

static void draw_row(const world *v, char *row)
{
    static const char *const ones[] = { "[one]", "[one:{\"x\":1}]", "[one:{\"x\":3}]" };
    static const char *const twos[] = { "[two]", "[two:{\"x\":3}]", "[two:{\"y\":9}]" };
    const char              *shape  = v->shapes[random_below((uint32_t)v->shape_count)];
    const char              *hash   = strchr(shape, '#');
    const char              *at     = strchr(shape, '@');
    const size_t             type   = (size_t)(hash - shape);
    const size_t             end    = strcspn(at + 1, " #:");
    const char              *with   = strstr(shape, " with ");
    int                      size;

    size = sprintf(row, "%.*s:%c%u%.*s@%.*s:", (int)type, shape, shape[0], random_below(v->ids), (int)(at - hash), hash,
                   (int)end, at + 1);
    if (at[1 + end] == ':')
        size += sprintf(row + size, "*");
    else
        size += sprintf(row + size, "%c%u", at[1], random_below(at[1] == 'u' ? USERS : v->ids));
    if (at[1 + end] == '#')
        size += sprintf(row + size, "%.*s", (int)strcspn(at + 1 + end, " "), at + 1 + end);
    if (with == NULL)
        return;
    if (strncmp(with, " with one", 9) == 0)
        size += sprintf(row + size, "%s", ones[random_below(COUNT(ones))]);
    if (strncmp(with, " with two", 9) == 0)
        size += sprintf(row + size, "%s", twos[random_below(COUNT(twos))]);
    if (strncmp(with, " with broken", 12) == 0)
        size += sprintf(row + size, "%s", random_below(2) == 0 ? "[broken]" : "[broken:{\"m\":{}}]");
    if (strstr(with, "expiration") != NULL)
        sprintf(row + size, "[expiration:%s]", random_below(2) == 0 ? "1970-01-01T00:00:01Z" : "2100-01-01T00:00:00Z");
}

static void forget_error(engine_world *w)
{
    licet_error_free(w->error);
    w->error = NULL;
}

/* Some rows come to lie in the base, some are taken away again. */
static void write_rows(world *v)
{
    const uint32_t count = v->ids == FEW ? 20 + random_below(100) : 200 + random_below(1500);
    char           row[TEXT];

    for (uint32_t i = 0; i < count; i++) {
        draw_row(v, row);
        if (random_below(10) == 0)
            world_delete(&v->w, row);
        else
            world_touch(&v->w, row);
        forget_error(&v->w);
        if (random_below(v->ids == FEW ? 16 : 200) == 0)
            assert_true(lic_graph_merge(v->w.engine->graph));
    }
}

/* A schema that is refused is drawn again. */
static void open_random_world(world *v, uint64_t seed)
{
    static const uint32_t depths[] = { 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 9 };
    licet_options         options  = LICET_OPTIONS_INIT;

    random_state      = seed * 7919 + 17;
    v->now            = INT64_C(1700000000000000000);
    v->ids            = seed % 10 == 0 ? MANY : FEW;
    options.clock     = (licet_clock){ read_clock, &v->now };
    options.max_depth = depths[random_below(COUNT(depths))];
    /* Machines are slow at times, and sanitizers are. */
    options.check_timeout_ms = 600000;
    memset(&v->w, 0, sizeof v->w);
    assert_int_equal(licet_open(LICET_STR("memory:"), &options, &v->w.engine, NULL), LICET_OK);
    do {
        write_schema(v);
        world_schema(&v->w, v->schema);
        forget_error(&v->w);
    } while (v->w.status != LICET_OK);
    write_rows(v);
}

/* ---------------------------------------------------------------- questions */

typedef struct question {
    const char *type;
    const char *permission;
    const char *subject;
    const char *context;
} question;

/* "id ", "id(if x y) ", in any order; or "!reason" of the error that ended it. */
static void say_missing(char *text, licet_str id, licet_permissionship permissionship, const licet_str *missing,
                        size_t missing_count)
{
    char line[TEXT];
    int  size = snprintf(line, sizeof line, "%.*s", (int)id.size, id.data);

    assert_true(permissionship != LICET_NO_PERMISSION);
    assert_true((permissionship == LICET_CONDITIONAL_PERMISSION) == (missing_count > 0));
    for (size_t i = 0; i < missing_count; i++)
        size += snprintf(line + size, sizeof line - (size_t)size, "%s%.*s", i == 0 ? "(if " : " ", (int)missing[i].size,
                         missing[i].data);
    snprintf(line + size, sizeof line - (size_t)size, missing_count > 0 ? ") " : " ");
    say(text, TEXT, line);
}

static void say_error(char *text, licet_error *error)
{
    licet_str reason = licet_error_reason(error);

    say(text, TEXT, "!");
    if (reason.size > 0)
        say(text, TEXT, reason.data);
    licet_error_free(error);
}

static licet_lookup_resources_request request_of(const question *q)
{
    licet_lookup_resources_request request = LICET_LOOKUP_RESOURCES_REQUEST_INIT;

    request.resource_type = text_of(q->type);
    request.permission    = text_of(q->permission);
    request.subject       = text_of(q->subject);
    request.context       = text_of(q->context);
    return request;
}

/* Reads a stream to its end; the number of answers. */
static size_t read_stream(world *v, const licet_lookup_resources_request *request, char *text, char *cursor,
                          bool *failed)
{
    licet_stream        *stream   = NULL;
    licet_found_resource resource = LICET_FOUND_RESOURCE_INIT;
    licet_error         *error    = NULL;
    bool                 found    = true;
    size_t               count    = 0;
    licet_status         status;
    licet_str            place;

    assert_int_equal(licet_lookup_resources(v->w.engine, request, &stream, NULL), LICET_OK);
    while (found) {
        status = licet_stream_next_resource(stream, &resource, &found, &error);
        if (found)
            say_missing(text, resource.resource_id, resource.permissionship, resource.missing, resource.missing_count);
        count += found;
    }
    *failed = status != LICET_OK;
    assert_int_equal(status, licet_error_status(error));
    if (*failed)
        say_error(text, error);
    place = licet_stream_cursor(stream);
    if (place.size > 0)
        memcpy(cursor, place.data, place.size);
    cursor[place.size] = '\0';
    licet_stream_release(stream);
    return count;
}

/* The same, page after page. */
static void read_pages(world *v, const question *q, uint32_t limit, char *text)
{
    licet_lookup_resources_request request = request_of(q);
    char                           cursor[LIC_CURSOR_CAPACITY];
    bool                           failed;

    request.limit = limit;
    while (read_stream(v, &request, text, cursor, &failed) == limit && !failed)
        request.cursor = text_of(cursor);
}

/* What a check says of one resource: nothing for a no. */
static void ask(world *v, const question *q, const char *id, char *text, char *errors)
{
    licet_check_request request = LICET_CHECK_REQUEST_INIT;
    licet_result        result  = LICET_RESULT_INIT;
    licet_error        *error   = NULL;
    char                resource[TEXT];

    snprintf(resource, sizeof resource, "%s:%s", q->type, id);
    request.resource   = text_of(resource);
    request.permission = text_of(q->permission);
    request.subject    = text_of(q->subject);
    request.context    = text_of(q->context);
    if (licet_check(v->w.engine, &request, &result, &error) != LICET_OK)
        say_error(errors, error);
    else if (result.permissionship != LICET_NO_PERMISSION)
        say_missing(text, text_of(id), result.permissionship, result.missing, result.missing_count);
    licet_result_clear(&result);
}

/* The answer that follows, with what is missing, and the blank behind it. */
static size_t answer_size(const char *text)
{
    const size_t size = strcspn(text, " (");

    return text[size] == '(' ? strcspn(text, ")") + 2 : size + 1;
}

/* Is it one of them? */
static bool has_answer(const char *text, const char *answer, size_t size)
{
    for (; *text != '\0' && *text != '!'; text += answer_size(text))
        if (strncmp(text, answer, size) == 0)
            return true;
    return false;
}

static bool has_id(const char *text, const char *answer)
{
    const size_t size = strcspn(answer, " (");

    for (; *text != '\0' && *text != '!'; text += answer_size(text))
        if (strcspn(text, " (") == size && strncmp(text, answer, size) == 0)
            return true;
    return false;
}

/* Is each answer of the one one of the other, and once? */
static bool is_part_of(const char *some, const char *all)
{
    while (*some != '\0' && *some != '!') {
        const size_t size = answer_size(some);

        if (!has_answer(all, some, size) || has_id(some + size, some))
            return false;
        some += size;
    }
    return true;
}

/* Found is what checks find: all of it; or what comes before an error that some check meets. */
static bool agrees(const char *found, const char *checks, const char *errors)
{
    const char *failed = strchr(found, '!');

    if (!is_part_of(found, checks))
        return false;
    return failed == NULL ? is_part_of(checks, found) : strstr(errors, failed) != NULL;
}

/* A world in which something was wrong. The rows of a large one fit nowhere. */
static void show_world(world *v)
{
    static const char *const types[] = { "group", "folder", "doc" };

    print_error("%s\n", v->schema);
    for (size_t i = 0; i < COUNT(types) && v->ids == FEW; i++)
        print_error("%s", world_read_type(&v->w, types[i]));
}

static void compare(world *v, const question *q, uint64_t seed)
{
    char         found[TEXT]  = "";
    char         pages[TEXT]  = "";
    char         checks[TEXT] = "";
    char         errors[TEXT] = "";
    char         cursor[LIC_CURSOR_CAPACITY];
    char         id[32];
    const char  *own   = strchr(q->subject, ':') + 1;
    const size_t size  = strcspn(own, "#");
    uint32_t     limit = 1 + random_below(7);
    bool         failed;

    licet_lookup_resources_request request = request_of(q);

    for (unsigned i = 0; i < v->ids; i++) {
        snprintf(id, sizeof id, "%c%u", q->type[0], i);
        ask(v, q, id, checks, errors);
    }
    if (strncmp(own, "nobody", 6) == 0) {
        snprintf(id, sizeof id, "%.*s", (int)size, own);
        ask(v, q, id, checks, errors);
    }
    read_stream(v, &request, found, cursor, &failed);
    read_pages(v, q, limit, pages);
    if (agrees(found, checks, errors) && strcmp(found, pages) == 0)
        return;
    show_world(v);
    fail_msg("world %llu, depth %u: %s#%s of %s with %s: found [%s], in pages of %u [%s], checks [%s] %s",
             (unsigned long long)seed, v->w.engine->limits.max_depth, q->type, q->permission, q->subject, q->context,
             found, limit, pages, checks, errors);
}

static void compare_all(world *v, uint64_t seed)
{
    static const char *const subjects[] = { "user:u0",      "user:u1",       "user:nobody",       "group:g0#member",
                                            "group:g1#all", "group:g2",      "folder:f1#view",    "folder:f0",
                                            "doc:d0",       "doc:d1#share",  "group:nobody#boss", "doc:nobody#view",
                                            "group:nobody", "group:g3#plain" };
    static const char *const contexts[] = { NULL, "{\"x\":1}", "{\"x\":2,\"y\":5,\"m\":{\"k\":1}}", "{\"m\":{}}" };

    for (size_t s = 0; s < COUNT(subjects); s += v->ids == FEW ? 1 : 3)
        for (size_t t = 0; t < COUNT(relations) + COUNT(permissions); t++) {
            const bool     is_permission = t >= COUNT(relations);
            const size_t   p             = t - COUNT(relations);
            const question q             = { is_permission ? permissions[p][0] : relations[t].type,
                                 is_permission ? permissions[p][1] : relations[t].name, subjects[s],
                                 contexts[random_below(COUNT(contexts))] };

            compare(v, &q, seed);
        }
}

static uint64_t number_from(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text == NULL ? otherwise : strtoull(text, NULL, 10);
}

static void a_lookup_finds_what_checks_find_in_every_world(void **state)
{
    const uint64_t first = number_from("LICET_SEED", 1);
    const uint64_t count = number_from("LICET_WORLDS", 100);
    static world   v;

    (void)state;
    for (uint64_t seed = first; seed < first + count; seed++) {
        open_random_world(&v, seed);
        compare_all(&v, seed);
        world_close(&v.w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lookup_finds_what_checks_find_in_every_world),
    };

    return cmocka_run_group_tests_name("engine/lookup_worlds", tests, NULL, NULL);
}

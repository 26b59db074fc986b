/* Lookup of subjects against exhaustive checks, over random schemas, relationships, contexts and limits: what is said
 * of each subject, those that occur nowhere included, is what licet_check() says. And it is said in the same way in a
 * world whose relationships were written in another order. */
#include "engine_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = 8192, MAX_FOUND = 64, MAX_ROWS = 96, ROW = 256, WORLDS = 400, RINGS = 1500 };

static uint64_t random_state;

static unsigned pick(unsigned below)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)(random_state >> 33) % below;
}

static const char *one_of(const char *const *list, unsigned count)
{
    return list[pick(count)];
}

#define ONE_OF(list) one_of((list), sizeof(list) / sizeof *(list))

/* ------------------------------------------------------------------ schemas */

static void add(char *text, const char *more)
{
    assert_true(strlen(text) + strlen(more) < TEXT);
    strcat(text, more);
}

/* An operand of a permission of `group` or `item`; number: of the permission, whose predecessors may be named. */
static void add_operand(char *text, unsigned number)
{
    static const char *const relations[] = { "viewer", "viewer", "viewer", "member", "member", "banned" };
    static const char *const arrows[]    = { "parent->per0",     "parent->per1",     "parent->per2",
                                             "parent->member",   "parent->per0",     "parent->nosuch",
                                             "parent.all(per0)", "parent.all(per1)", "parent.all(member)",
                                             "parent.any(per1)" };
    char                     name[16];

    switch (pick(10)) {
    case 0:
    case 1:
    case 2:
        add(text, ONE_OF(arrows));
        break;
    case 3:
        if (number > 0) {
            snprintf(name, sizeof name, "per%u", pick(number));
            add(text, name);
            break;
        }
        add(text, "viewer");
        break;
    case 4:
        add(text, pick(3) > 0 ? "self" : "nil");
        break;
    default:
        add(text, ONE_OF(relations));
    }
}

static void add_expression(char *text, unsigned number, unsigned depth)
{
    static const char *const operators[] = { " + ", " + ", " + ", " - ", " - ", " & " };

    if (depth == 0 || pick(4) == 0) {
        add_operand(text, number);
        return;
    }
    add(text, "(");
    add_expression(text, number, depth - 1);
    add(text, ONE_OF(operators));
    add_expression(text, number, depth - 1);
    add(text, ")");
}

static void add_types(char *text, const char *const *types, unsigned count)
{
    bool first = true;

    for (unsigned i = 0; i < count; i++) {
        if (pick(2) == 0 && !(first && i + 1 == count))
            continue;
        add(text, first ? "" : " | ");
        add(text, types[i]);
        first = false;
    }
    add(text, "\n");
}

static void add_definition(char *text, const char *name)
{
    static const char *const parents[] = { "group", "item with low", "group#per1", "item" };
    static const char *const members[] = { "user with low", "group#member", "group#member with high", "user" };
    static const char *const viewers[] = {
        "user:*",  "user with high", "group#per0", "item#per1 with low",     "user:* with low",
        "group:*", "user:*",         "user",       "group#member with both", "user with expiration",
        "item"
    };
    static const char *const banned[] = { "user:* with high", "user with bad", "group#per2", "user:*", "user" };
    char                     line[32];

    add(text, "definition ");
    add(text, name);
    add(text, " {\n  relation parent: ");
    add_types(text, parents, 4);
    add(text, "  relation member: ");
    add_types(text, members, 4);
    add(text, "  relation viewer: ");
    add_types(text, viewers, 11);
    add(text, "  relation banned: ");
    add_types(text, banned, 5);
    for (unsigned i = 0; i < 3; i++) {
        snprintf(line, sizeof line, "  permission per%u = ", i);
        add(text, line);
        add_expression(text, i, 1 + pick(3));
        add(text, "\n");
    }
    add(text, "}\n");
}

static void make_schema(char *text)
{
    strcpy(text, "use expiration\nuse self\n"
                 "caveat low(aaa int) { aaa < 5 }\n"
                 "caveat high(bbb int) { bbb > 5 }\n"
                 "caveat both(aaa int, ccc int) { aaa == 1 && ccc == 1 }\n"
                 "caveat bad(lst list<int>, bbb int) { lst[bbb] == 1 }\n"
                 "definition user {\n  relation friend: user\n  permission self_too = self + friend\n}\n");
    add_definition(text, "group");
    add_definition(text, "item");
}

/* -------------------------------------------------------------- relationships */

static const char *const ids[] = { "a", "b", "c" };

static void add_row(char *text)
{
    static const char *const types[]      = { "group", "item" };
    static const char *const relations[]  = { "parent", "parent", "member", "member", "viewer", "viewer", "banned" };
    static const char *const subjects[]   = { "user",         "user",       "group",      "item",       "group#member",
                                              "group#member", "group#per0", "group#per2", "group#per1", "item#per1",
                                              "user:*",       "user:*",     "group:*" };
    static const char *const attributes[] = { "",
                                              "",
                                              "",
                                              "",
                                              "[low]",
                                              "[high]",
                                              "[both]",
                                              "[bad:{\"lst\": [1]}]",
                                              "[low:{\"aaa\": 7}]",
                                              "[high:{\"bbb\": 7}]",
                                              "[expiration:2100-01-01T00:00:00Z]",
                                              "[expiration:2001-01-01T00:00:00Z]" };
    const char              *subject      = ONE_OF(subjects);
    const char              *hash         = strchr(subject, '#');
    const int                type         = (int)(hash == NULL ? strlen(subject) : (size_t)(hash - subject));

    if (strchr(subject, ':') != NULL)
        snprintf(text, 256, "%s:%s#%s@%s%s", ONE_OF(types), ONE_OF(ids), ONE_OF(relations), subject,
                 ONE_OF(attributes));
    else
        snprintf(text, 256, "%s:%s#%s@%.*s:%s%s%s", ONE_OF(types), ONE_OF(ids), ONE_OF(relations), type, subject,
                 ONE_OF(ids), hash == NULL ? "" : hash, ONE_OF(attributes));
}

/* A world, and the same with its relationships written from the last to the first. */
typedef struct worlds {
    engine_world w;
    engine_world mirrored;
    char         rows[MAX_ROWS][ROW];
    unsigned     row_count;
} worlds;

/* The status is that of the schema. */
static void worlds_open(worlds *both, uint32_t max_depth, const char *schema)
{
    licet_options options = LICET_OPTIONS_INIT;

    options.max_depth = max_depth;
    memset(both, 0, sizeof *both);
    assert_int_equal(licet_open(LICET_STR("memory:"), &options, &both->w.engine, NULL), LICET_OK);
    assert_int_equal(licet_open(LICET_STR("memory:"), &options, &both->mirrored.engine, NULL), LICET_OK);
    world_schema(&both->w, schema);
    licet_error_free(both->w.error);
    both->w.error = NULL;
    if (both->w.status != LICET_OK)
        return;
    world_schema(&both->mirrored, schema);
    world_done(&both->mirrored);
}

static void worlds_close(worlds *both)
{
    world_close(&both->w);
    world_close(&both->mirrored);
}

/* Those that do not fit the schema are tried in vain. */
static void write_rows(worlds *both, unsigned count, void (*make_row)(char *text))
{
    for (unsigned tries = 0; both->row_count < count && tries < 2000; tries++) {
        char *row = both->rows[both->row_count];

        make_row(row);
        world_touch(&both->w, row);
        both->row_count += both->w.status == LICET_OK;
        licet_error_free(both->w.error);
        both->w.error = NULL;
    }
    for (unsigned i = both->row_count; i-- > 0;) {
        /* Of two with the same names the second counts. */
        const size_t names = strcspn(both->rows[i], "[");
        bool         later = false;

        for (unsigned j = i + 1; j < both->row_count; j++)
            later |= strcspn(both->rows[j], "[") == names && strncmp(both->rows[i], both->rows[j], names) == 0;
        if (later)
            continue;
        world_touch(&both->mirrored, both->rows[i]);
        world_done(&both->mirrored);
    }
}

/* -------------------------------------------------------------------- answers */

typedef struct said {
    char id[16];
    char text[200]; /* "yes", "no", "if aaa, bbb", "failed" */
} said;

typedef struct listing {
    bool   failed;
    said   found[MAX_FOUND];
    size_t count;
    said   excluded[MAX_FOUND];
    size_t excluded_count;
} listing;

static void say(said *s, licet_str id, licet_permissionship permissionship, const licet_str *missing, size_t count)
{
    size_t size = 0;

    assert_true(id.size < sizeof s->id);
    memcpy(s->id, id.data, id.size);
    s->id[id.size] = '\0';
    strcpy(s->text, permissionship == LICET_HAS_PERMISSION  ? "yes"
                    : permissionship == LICET_NO_PERMISSION ? "no"
                                                            : "if");
    for (size_t i = 0; i < count; i++) {
        size = strlen(s->text);
        snprintf(s->text + size, sizeof s->text - size, " %.*s", (int)missing[i].size, missing[i].data);
    }
}

static void take_subject(listing *l, const licet_found_subject *subject)
{
    assert_true(l->count < MAX_FOUND && subject->excluded_count < MAX_FOUND);
    assert_int_not_equal(subject->permissionship, LICET_NO_PERMISSION);
    say(&l->found[l->count++], subject->subject_id, subject->permissionship, subject->missing, subject->missing_count);
    for (size_t i = 0; i < subject->excluded_count; i++) {
        const licet_excluded_subject *e = &subject->excluded[i];

        say(&l->excluded[l->excluded_count++], e->subject_id, e->permissionship, e->missing, e->missing_count);
    }
}

/* One page, from the cursor on; the cursor after it. */
static void read_page(engine_world *w, licet_lookup_subjects_request *request, listing *l, char cursor[128])
{
    licet_stream       *stream  = NULL;
    licet_found_subject subject = LICET_FOUND_SUBJECT_INIT;
    bool                found   = true;
    licet_status        status  = licet_lookup_subjects(w->engine, request, &stream, NULL);
    licet_str           place;

    assert_int_equal(status, LICET_OK);
    while (found) {
        status = licet_stream_next_subject(stream, &subject, &found, NULL);
        if (status != LICET_OK) {
            assert_false(found);
            l->failed = true;
        } else if (found) {
            take_subject(l, &subject);
        }
    }
    place = licet_stream_cursor(stream);
    memcpy(cursor, place.data == NULL ? "" : place.data, place.size);
    cursor[place.size] = '\0';
    licet_stream_release(stream);
}

static void assert_same_pages(engine_world *w, licet_lookup_subjects_request request, const listing *whole)
{
    char    cursor[128];
    listing paged = { .failed = false };

    request.limit = 1 + pick(5);
    do {
        const size_t before = paged.count;

        read_page(w, &request, &paged, cursor);
        assert_false(paged.failed);
        assert_true(paged.count - before <= request.limit);
        request.cursor = text_of(cursor);
        if (paged.count - before < request.limit)
            break;
    } while (true);
    assert_int_equal(paged.count, whole->count);
    assert_memory_equal(paged.found, whole->found, sizeof(said) * whole->count);
    assert_int_equal(paged.excluded_count, whole->excluded_count);
}

static int compare_said(const void *a, const void *b)
{
    return strcmp(((const said *)a)->id, ((const said *)b)->id);
}

static void sort_listing(listing *l)
{
    qsort(l->found, l->count, sizeof(said), compare_said);
    qsort(l->excluded, l->excluded_count, sizeof(said), compare_said);
}

/* Which error it is when there are several, nobody says. */
static void assert_same_listing(listing a, listing b)
{
    assert_int_equal(a.failed, b.failed);
    assert_int_equal(a.count, b.count);
    assert_int_equal(a.excluded_count, b.excluded_count);
    sort_listing(&a);
    sort_listing(&b);
    for (size_t i = 0; i < a.count; i++) {
        assert_string_equal(a.found[i].id, b.found[i].id);
        assert_string_equal(a.found[i].text, b.found[i].text);
    }
    for (size_t i = 0; i < a.excluded_count; i++) {
        assert_string_equal(a.excluded[i].id, b.excluded[i].id);
        assert_string_equal(a.excluded[i].text, b.excluded[i].text);
    }
}

static const char *told_of(const listing *l, const char *id)
{
    for (size_t i = 0; i < l->count; i++)
        if (strcmp(l->found[i].id, id) == 0)
            return l->found[i].text;
    for (size_t i = 0; i < l->excluded_count; i++)
        if (strcmp(l->excluded[i].id, id) == 0)
            return strcmp(l->excluded[i].text, "yes") == 0 ? "no" : l->excluded[i].text;
    return l->count > 0 && strcmp(l->found[0].id, "*") == 0 ? l->found[0].text : "no";
}

typedef struct question {
    const char *resource;
    const char *permission;
    const char *subject_type;
    const char *subject_relation;
    const char *context;
} question;

static said ask(engine_world *w, const question *q, const char *id)
{
    licet_result        result = LICET_RESULT_INIT;
    licet_error        *error  = NULL;
    licet_check_request request;
    char                subject[64];
    said                s;

    snprintf(subject, sizeof subject, "%s:%s%s%s", q->subject_type, id, q->subject_relation == NULL ? "" : "#",
             q->subject_relation == NULL ? "" : q->subject_relation);
    request         = check_of(q->resource, q->permission, subject);
    request.context = text_of(q->context);
    memset(&s, 0, sizeof s);
    if (licet_check(w->engine, &request, &result, &error) == LICET_OK)
        say(&s, text_of(id), result.permissionship, result.missing, result.missing_count);
    else
        snprintf(s.text, sizeof s.text, "failed %.*s", (int)licet_error_message(error).size,
                 licet_error_message(error).data);
    licet_error_free(error);
    licet_result_clear(&result);
    return s;
}

static size_t lookups, nonempty, with_wildcard, with_exclusions, conditional, failures;

static void count_kind(const listing *l)
{
    lookups++;
    failures += l->failed;
    nonempty += l->count > 0;
    with_wildcard += l->count > 0 && l->found[0].id[0] == '*';
    with_exclusions += l->excluded_count > 0;
    for (size_t i = 0; i < l->count; i++)
        if (strncmp(l->found[i].text, "if", 2) == 0) {
            conditional++;
            return;
        }
}

static void explain(const char *schema, engine_world *w, const question *q, const char *id, const char *told,
                    const char *checked)
{
    licet_read_request read = LICET_READ_REQUEST_INIT;

    for (const char *line = schema; *line != 0; line += strcspn(line, "\n") + (line[strcspn(line, "\n")] != 0))
        print_error("%.*s\n", (int)strcspn(line, "\n"), line);
    read.filter.resource_type = text_of("group");
    print_error("%s", world_read(w, &read));
    read.filter.resource_type = text_of("item");
    print_error("%s", world_read(w, &read));
    print_error("%s#%s for %s#%s with %s: %s is told \"%s\", checked \"%s\"\n", q->resource, q->permission,
                q->subject_type, q->subject_relation == NULL ? "" : q->subject_relation,
                q->context == NULL ? "nothing" : q->context, id, told, checked);
}

static void compare(worlds *both, const char *schema, const question *q)
{
    static const char *const      everybody[] = { "a", "b", "c", "d", "e", "f", "ghost", "nowhere" };
    engine_world                 *w           = &both->w;
    licet_lookup_subjects_request request     = LICET_LOOKUP_SUBJECTS_REQUEST_INIT;
    listing                       l           = { .failed = false };
    listing                       mirrored    = { .failed = false };
    bool                          must_fail   = false;
    char                          cursor[128];

    request.resource         = text_of(q->resource);
    request.permission       = text_of(q->permission);
    request.subject_type     = text_of(q->subject_type);
    request.subject_relation = text_of(q->subject_relation);
    request.context          = text_of(q->context);
    read_page(w, &request, &l, cursor);
    for (size_t i = 0; i < sizeof everybody / sizeof *everybody; i++) {
        const said s = ask(w, q, everybody[i]);

        must_fail |= strncmp(s.text, "failed", 6) == 0;
        if (!l.failed && strcmp(s.text, told_of(&l, everybody[i])) != 0) {
            explain(schema, w, q, everybody[i], told_of(&l, everybody[i]), s.text);
            fail();
        }
    }
    if (l.failed != must_fail) {
        explain(schema, w, q, "somebody", l.failed ? "failed" : "", must_fail ? "failed" : "");
        fail();
    }
    count_kind(&l);
    read_page(&both->mirrored, &request, &mirrored, cursor);
    assert_same_listing(l, mirrored);
    if (!l.failed)
        assert_same_pages(w, request, &l);
}

static void compare_world(worlds *both, const char *schema)
{
    static const char *const resources[] = { "group:a", "group:b", "item:a", "item:b", "item:c", "group:ghost" };
    static const char *const names[]     = { "per0", "per1", "per2", "per2", "per1", "viewer", "member", "parent" };
    static const char *const types[]     = { "user", "user", "user", "group", "item" };
    static const char *const relations[] = { "member", "per0", "per1", "per2" };
    static const char *const contexts[]  = { NULL,
                                             NULL,
                                             "{\"aaa\": 1}",
                                             "{\"bbb\": 9}",
                                             "{\"bbb\": 0}",
                                             "{\"aaa\": 9, \"bbb\": 9}",
                                             "{\"aaa\": 1, \"bbb\": 0, \"ccc\": 1}" };

    for (unsigned i = 0; i < 40; i++) {
        question q = { ONE_OF(resources), ONE_OF(names), ONE_OF(types), NULL, ONE_OF(contexts) };

        if (strcmp(q.subject_type, "user") != 0 && pick(3) > 0)
            q.subject_relation = ONE_OF(relations);
        compare(both, schema, &q);
    }
}

static uint64_t seed_or(uint64_t otherwise)
{
    const char *seed = getenv("LOOKUP_SEED");

    return seed == NULL ? otherwise : strtoull(seed, NULL, 10);
}

static unsigned worlds_or(unsigned otherwise)
{
    const char *count = getenv("LOOKUP_WORLDS");

    return count == NULL ? otherwise : (unsigned)atoi(count);
}

static void what_is_said_of_each_subject_is_what_a_check_says(void **state)
{
    static char   schema[TEXT];
    static worlds both;
    unsigned      written = 0;

    (void)state;
    random_state = seed_or(20260830);
    while (written < worlds_or(WORLDS)) {
        const uint32_t max_depth = pick(4) == 0 ? 3 + pick(5) : 0;

        make_schema(schema);
        worlds_open(&both, max_depth, schema);
        if (both.w.status == LICET_OK) {
            written++;
            write_rows(&both, 10 + pick(60), add_row);
            compare_world(&both, schema);
        }
        worlds_close(&both);
    }
    print_message("%zu lookups: %zu not empty, %zu with *, %zu with exclusions, %zu conditional, %zu failed\n", lookups,
                  nonempty, with_wildcard, with_exclusions, conditional, failures);
    assert_true(nonempty > lookups / 5 && with_exclusions > 0 && conditional > 0 && failures > 0);
}

/* ---------------------------------------------------------------------- rings */

static const char RING[] = "use expiration\n"
                           "caveat low(aaa int) { aaa < 5 }\n"
                           "caveat high(bbb int) { bbb > 5 }\n"
                           "definition user {}\n"
                           "definition group {\n"
                           "  relation parent: group | group with high\n"
                           "  relation pub: user:* | user:* with low\n"
                           "  relation member: user | user with low | group#member | group#member with low |\n"
                           "    group#member with high and expiration | group#per0\n"
                           "  permission per0 = member + parent->per0\n"
                           "  permission per1 = (pub - parent->member) + parent.all(per1)\n"
                           "}\n";

static void add_ring_row(char *text)
{
    static const char *const groups[]     = { "a", "b", "c", "d", "e", "f" };
    static const char *const usersets[]   = { "#member", "#member", "#member", "#member", "#per0" };
    static const char *const attributes[] = {
        "", "", "", "", "[low]", "[low:{\"aaa\": 7}]", "[high]", "[high][expiration:2100-01-01T00:00:00Z]"
    };
    const char *from      = ONE_OF(groups);
    const char *to        = ONE_OF(groups);
    const char *attribute = ONE_OF(attributes);

    switch (pick(12)) {
    case 0:
        snprintf(text, ROW, "group:%s#pub@user:*%s", from, attribute);
        break;
    case 1:
        snprintf(text, ROW, "group:%s#member@user:%s%s", from, ONE_OF(ids), attribute);
        break;
    case 2:
    case 3:
        snprintf(text, ROW, "group:%s#parent@group:%s%s", from, to, attribute);
        break;
    default:
        snprintf(text, ROW, "group:%s#member@group:%s%s%s", from, to, ONE_OF(usersets), attribute);
    }
}

/* Few depths, many ways: most lead in circles, and some are too long. */
static void on_cycles_of_every_length_a_lookup_says_what_checks_say(void **state)
{
    static const char *const names[]    = { "member", "member", "per0", "per1" };
    static const char *const contexts[] = { NULL, NULL, "{\"aaa\": 1}", "{\"aaa\": 9}", "{\"bbb\": 9}" };
    static worlds            both;

    (void)state;
    random_state = seed_or(4);
    for (unsigned i = worlds_or(RINGS); i > 0; i--) {
        worlds_open(&both, 3 + pick(4), RING);
        write_rows(&both, 5 + pick(10), add_ring_row);
        for (unsigned n = 0; n < 10; n++) {
            question q = { pick(2) == 0 ? "group:a" : "group:b", ONE_OF(names), "user", NULL, ONE_OF(contexts) };

            if (pick(4) == 0) {
                q.subject_type     = "group";
                q.subject_relation = "member";
            }
            compare(&both, RING, &q);
        }
        worlds_close(&both);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_said_of_each_subject_is_what_a_check_says),
        cmocka_unit_test(on_cycles_of_every_length_a_lookup_says_what_checks_say),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

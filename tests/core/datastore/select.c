/* core/datastore/memory/: random writes, filters, pages, old revisions and merges, against a plain array; with caveats
 * and with expirations, some of them past. */
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

#define ALL_FORMS(subject) \
    subject " | " subject " with cav | " subject " with expiration | " subject " with cav and expiration"
#define USERS ALL_FORMS("user")
#define EVERYBODY ALL_FORMS("user:*")
#define GROUPS ALL_FORMS("group#member")

static const char SCHEMA[] = "use expiration\n"
                             "caveat cav(n int) { n == 1 }\n"
                             "definition user {}\n"
                             "definition group {\n"
                             "  relation member: user | group#member\n"
                             "}\n"
                             "definition document {\n"
                             "  relation viewer: " USERS " | " EVERYBODY " | " GROUPS "\n"
                             "  relation editor: user | group#member\n"
                             "}\n";

#define RESOURCES 12
#define SUBJECTS 10
#define SLOTS 3 /* group#member, document#viewer, document#editor */
#define KINDS 3 /* user, group#member, user:* */

static const char *const TYPES[SLOTS]     = { "group", "document", "document" };
static const char *const RELATIONS[SLOTS] = { "member", "viewer", "editor" };

#define FORMS 8
#define NOW (INT64_C(1893456000) * 1000000000) /* 2030-01-01T00:00:00Z */

/* What stands behind a relationship's names. */
static const struct {
    const char *text;
    bool        expired;
} ATTRIBUTES[FORMS] = {
    { "", false },
    { "[cav]", false },
    { "[cav:{\"n\":1}]", false },
    { "[cav:{\"n\":2}]", false },
    { "[expiration:2030-01-01T00:00:00.000000001Z]", false },
    { "[expiration:2030-01-01T00:00:00Z]", true },
    { "[cav:{\"n\":1}][expiration:2031-01-01T00:00:00Z]", false },
    { "[cav:{\"n\":1}][expiration:2001-01-01T00:00:00Z]", true },
};

/* Which relationships there are: 0, or 1 and the index of the attribute. */
typedef struct model {
    uint8_t there[SLOTS][RESOURCES][KINDS][SUBJECTS];
} model;

static uint64_t random_state = 88172645463325252u;

static unsigned below(unsigned n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)(random_state % n);
}

static void line_of(char line[128], unsigned slot, unsigned resource, unsigned kind, unsigned subject, unsigned form)
{
    int size = snprintf(line, 128, "%s:r%u#%s@", TYPES[slot], resource, RELATIONS[slot]);

    if (kind == 0)
        size += snprintf(line + size, 128 - (size_t)size, "user:s%u", subject);
    else if (kind == 1)
        size += snprintf(line + size, 128 - (size_t)size, "group:s%u#member", subject);
    else
        size += snprintf(line + size, 128 - (size_t)size, "user:*");
    snprintf(line + size, 128 - (size_t)size, "%s", ATTRIBUTES[form].text);
}

static void change_something(engine_world *w, model *m)
{
    unsigned slot     = below(SLOTS);
    unsigned resource = below(RESOURCES);
    unsigned kind     = slot == 1 ? below(KINDS) : below(2);
    unsigned subject  = kind == 2 ? 0 : below(SUBJECTS);
    unsigned form     = slot == 1 ? below(FORMS) : 0;
    bool     there    = below(5) > 1;
    char     line[128];

    line_of(line, slot, resource, kind, subject, form);
    if (there)
        world_touch(w, line);
    else
        world_delete(w, line);
    world_done(w);
    m->there[slot][resource][kind][subject] = (uint8_t)(there ? 1 + form : 0);
}

/* A filter, in the model's terms; -1: not given. */
typedef struct choice {
    int resource_type; /* index of a slot whose type it is */
    int resource;
    int prefix; /* 0: "r1", which r1, r10 and r11 begin with */
    int relation;
    int subject_type;     /* 0: user, 1: group */
    int subject;          /* SUBJECTS: the wildcard */
    int subject_relation; /* 0: none, 1: member */
} choice;

static int maybe(unsigned n)
{
    return below(2) == 0 ? -1 : (int)below(n);
}

static choice choose(void)
{
    choice c = { maybe(SLOTS), maybe(RESOURCES), -1, -1, maybe(2), -1, -1 };

    if (c.resource < 0)
        c.prefix = maybe(1);
    if (c.resource_type >= 0 && below(2) == 0)
        c.relation = c.resource_type;
    else if (c.resource_type < 0)
        c.relation = maybe(SLOTS);
    if (c.subject_type >= 0)
        c.subject = maybe(c.subject_type == 0 ? SUBJECTS + 1 : SUBJECTS);
    if (c.subject_type == 1)
        c.subject_relation = maybe(2);
    if (c.resource_type < 0 && c.resource < 0 && c.prefix < 0 && c.relation < 0 && c.subject_type < 0)
        c.resource_type = 1;
    return c;
}

static bool starts_with_r1(unsigned resource)
{
    return resource == 1 || resource >= 10;
}

static bool chosen(const choice *c, unsigned slot, unsigned resource, unsigned kind, unsigned subject)
{
    bool group = kind == 1;

    if (c->resource_type >= 0 && strcmp(TYPES[c->resource_type], TYPES[slot]) != 0)
        return false;
    if ((c->resource >= 0 && (unsigned)c->resource != resource) || (c->prefix == 0 && !starts_with_r1(resource)))
        return false;
    if (c->relation >= 0 && (unsigned)c->relation != slot)
        return false;
    if (c->subject_type >= 0 && (c->subject_type == 1) != group)
        return false;
    if (c->subject == SUBJECTS && kind != 2)
        return false;
    if (c->subject >= 0 && c->subject < SUBJECTS && (kind == 2 || (unsigned)c->subject != subject))
        return false;
    return c->subject_relation < 0 || (c->subject_relation == 1) == group;
}

static bool visible(uint8_t there)
{
    return there != 0 && !ATTRIBUTES[there - 1].expired;
}

static size_t count_chosen(const model *m, const choice *c, bool expired_too)
{
    size_t count = 0;

    for (unsigned slot = 0; slot < SLOTS; slot++)
        for (unsigned resource = 0; resource < RESOURCES; resource++)
            for (unsigned kind = 0; kind < KINDS; kind++)
                for (unsigned subject = 0; subject < SUBJECTS; subject++)
                    count += (expired_too ? m->there[slot][resource][kind][subject] != 0
                                          : visible(m->there[slot][resource][kind][subject])) &&
                             chosen(c, slot, resource, kind, subject);
    return count;
}

typedef struct texts {
    char resource[16];
    char subject[16];
} texts;

static licet_filter filter_of(const choice *c, texts *t)
{
    licet_filter filter = LICET_FILTER_INIT;

    snprintf(t->resource, sizeof t->resource, "r%d", c->resource);
    if (c->subject == SUBJECTS)
        strcpy(t->subject, "*");
    else
        snprintf(t->subject, sizeof t->subject, "s%d", c->subject);
    if (c->resource_type >= 0)
        filter.resource_type = text_of(TYPES[c->resource_type]);
    if (c->resource >= 0)
        filter.resource_id = text_of(t->resource);
    if (c->prefix >= 0)
        filter.resource_id_prefix = LICET_STR("r1");
    if (c->relation >= 0)
        filter.relation = text_of(RELATIONS[c->relation]);
    if (c->subject_type >= 0)
        filter.subject_type = c->subject_type == 0 ? LICET_STR("user") : LICET_STR("group");
    if (c->subject >= 0)
        filter.subject_id = text_of(t->subject);
    if (c->subject_relation >= 0)
        filter.subject_relation = c->subject_relation == 0 ? LICET_STR("") : LICET_STR("member");
    return filter;
}

/* One page into `text` (appended); the number of its lines. */
static size_t read_page(engine_world *w, const licet_read_request *request, char *text, char cursor[256])
{
    licet_stream      *stream = NULL;
    licet_relationship r      = LICET_RELATIONSHIP_INIT;
    bool               found  = true;
    size_t             count  = 0;
    licet_str          place;

    assert_int_equal(licet_read_relationships(w->engine, request, &stream, NULL), LICET_OK);
    while (found) {
        licet_buffer line = LICET_BUFFER_INIT;

        assert_int_equal(licet_stream_next_relationship(stream, &r, &found, NULL), LICET_OK);
        if (!found)
            break;
        assert_int_equal(licet_relationship_format(&r, &line, NULL), LICET_OK);
        strncat(text, line.data, line.size);
        strcat(text, "\n");
        licet_buffer_clear(&line);
        count++;
    }
    place = licet_stream_cursor(stream);
    memcpy(cursor, place.size > 0 ? place.data : "", place.size);
    cursor[place.size] = '\0';
    licet_stream_release(stream);
    return count;
}

static char whole[65536];
static char paged[65536];

/* What is read is what the model has; and the same, in the same order, whatever the page. */
static void compare(engine_world *w, const model *m, const choice *c, const licet_token *token)
{
    licet_read_request request = LICET_READ_REQUEST_INIT;
    char               cursor[256];
    texts              t;
    size_t             expected = count_chosen(m, c, false);
    size_t             count;

    request.filter      = filter_of(c, &t);
    request.consistency = (licet_consistency){ LICET_AT_EXACT_SNAPSHOT, text_of(token->text), false };
    whole[0] = paged[0] = '\0';
    assert_int_equal(read_page(w, &request, whole, cursor), expected);
    request.limit = 1 + below(7);
    do {
        count = read_page(w, &request, paged, cursor);
        if (cursor[0] != '\0')
            request.cursor = text_of(cursor);
    } while (count == request.limit);
    assert_string_equal(paged, whole);
    for (unsigned slot = 0; slot < SLOTS; slot++) {
        char     line[130];
        unsigned resource = below(RESOURCES);
        unsigned kind     = below(2);
        unsigned subject  = below(SUBJECTS);
        uint8_t  there    = m->there[slot][resource][kind][subject];

        line_of(line, slot, resource, kind, subject, there == 0 ? 0 : there - 1u);
        strcat(line, "\n");
        assert_int_equal(strstr(whole, line) != NULL, visible(there) && chosen(c, slot, resource, kind, subject));
    }
}

static int64_t now_of(void *context)
{
    (void)context;
    return NOW;
}

static void open_world(engine_world *w)
{
    licet_options options = LICET_OPTIONS_INIT;

    options.clock.now = now_of;
    world_open(w, &options, SCHEMA, NULL);
}

#define KEPT 16

static void reads_agree_with_an_array_at_every_revision(void **state)
{
    static model models[KEPT];
    licet_token  tokens[KEPT];
    engine_world w;
    static model now;

    (void)state;
    open_world(&w);
    for (unsigned round = 0; round < 1200; round++) {
        choice   c;
        unsigned old;

        change_something(&w, &now);
        models[round % KEPT] = now;
        tokens[round % KEPT] = w.token;
        if (round % 100 == 99)
            assert_true(lic_graph_merge(w.engine->graph));
        c   = choose();
        old = round < KEPT ? round : below(KEPT);
        compare(&w, &models[old % KEPT], &c, &tokens[old % KEPT]);
    }
    world_close(&w);
}

static void deletions_agree_with_an_array(void **state)
{
    engine_world w;

    (void)state;
    for (unsigned round = 0; round < 60; round++) {
        licet_delete_request request = LICET_DELETE_REQUEST_INIT;
        licet_delete_result  result  = LICET_DELETE_RESULT_INIT;
        static model         m;
        choice               c = choose();
        texts                t;
        size_t               expected;

        memset(&m, 0, sizeof m);
        open_world(&w);
        for (unsigned i = 0; i < 120; i++)
            change_something(&w, &m);
        if (round % 2 == 0)
            assert_true(lic_graph_merge_all(w.engine->graph));
        expected              = count_chosen(&m, &c, true);
        request.filter        = filter_of(&c, &t);
        request.limit         = below(2) * below(40);
        request.allow_partial = true;
        if (request.limit != 0 && expected > request.limit)
            expected = request.limit;
        assert_int_equal(licet_delete_relationships(w.engine, &request, &result, NULL), LICET_OK);
        assert_int_equal(result.deleted_count, expected);
        world_close(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_agree_with_an_array_at_every_revision),
        cmocka_unit_test(deletions_agree_with_an_array),
    };

    return cmocka_run_group_tests_name("datastore/select", tests, NULL, NULL);
}

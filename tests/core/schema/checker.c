/* core/schema/checker.c, aliases.c, wildcards.c: what a schema that parses may still be refused for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "licet.h"

static licet_status parse(const char *text, const char *folder, licet_error **error)
{
    licet_schema_request request = LICET_SCHEMA_REQUEST_INIT;
    licet_schema        *schema  = NULL;
    licet_status         status;

    request.text = (licet_str){ text, strlen(text) };
    if (folder != NULL)
        request.folder = (licet_str){ folder, strlen(folder) };
    status = licet_schema_parse(&request, NULL, &schema, error);
    assert_int_equal(status == LICET_OK, schema != NULL);
    licet_schema_release(schema);
    return status;
}

static void assert_text(licet_str actual, const char *expected)
{
    char *copy = test_malloc(actual.size + 1);

    memcpy(copy, actual.data, actual.size);
    copy[actual.size] = '\0';
    assert_string_equal(copy, expected);
    test_free(copy);
}

static void assert_accepted(const char *text)
{
    licet_error *error = NULL;

    if (parse(text, NULL, &error) != LICET_OK)
        print_error("%s\nrefused: %.*s\n", text, (int)licet_error_message(error).size, licet_error_message(error).data);
    assert_null(error);
}

typedef struct refusal {
    const char *text;
    licet_kind  kind;
    uint32_t    line;
    uint32_t    column;
    const char *message;
} refusal;

static void assert_refused(const refusal *r, const char *folder)
{
    licet_error *error = NULL;

    if (parse(r->text, folder, &error) != LICET_SCHEMA_ERROR)
        print_error("%s\nis not a schema error\n", r->text);
    assert_int_equal(licet_error_status(error), LICET_SCHEMA_ERROR);
    assert_text(licet_error_message(error), r->message);
    assert_int_equal(licet_error_kind(error), r->kind);
    assert_int_equal(licet_error_line(error), r->line);
    assert_int_equal(licet_error_column(error), r->column);
    assert_text(licet_error_reason(error), "SCHEMA_TYPE_ERROR");
    licet_error_free(error);
}

#define USER "definition user {}\n"
#define GROUP \
    "definition group {\n\trelation member: user\n\trelation guest: user:*\n\tpermission anyone = member + guest\n}\n"

static void an_error_has_its_place_and_words(void **state)
{
    static const refusal refusals[] = {
        /* T2 */
        { USER "definition doc {\n\trelation foo: user\n\tpermission foo = nil\n}", LICET_KIND_NAME, 4, 2,
          "found duplicate relation/permission name `foo` under definition `doc`" },
        { USER "definition doc {\n\trelation foo: user\n\trelation foo: user\n}", LICET_KIND_NAME, 4, 2,
          "found duplicate relation/permission name `foo` under definition `doc`" },
        { "use partial\npartial one {\n\trelation foo: user\n}\n" USER
          "definition doc {\n\trelation foo: user\n\t...one\n}",
          LICET_KIND_NAME, 3, 2, "found duplicate relation/permission name `foo` under definition `doc`" },
        /* T3 */
        { "definition doc {\n\tpermission view = nil + nope\n}", LICET_KIND_NAME, 2, 26,
          "relation/permission `nope` not found under definition `doc`" },
        { USER "definition user2 {\n permission myself = self\n}", LICET_KIND_NAME, 3, 22,
          "relation/permission `self` not found under definition `user2`; for the resource itself put `use self` at "
          "the top" },
        /* T4 */
        { "definition doc {\n\tpermission view = nope->xyz\n}", LICET_KIND_NAME, 2, 20,
          "relation/permission `nope` not found under definition `doc`" },
        { "definition doc {\n\tpermission view = nope.all(xyz)\n}", LICET_KIND_NAME, 2, 20,
          "relation/permission `nope` not found under definition `doc`" },
        /* T5 */
        { USER "definition doc {\n\trelation rel: user\n\tpermission one = rel + nil\n\tpermission two = one->xyz\n}",
          LICET_KIND_TYPE, 5, 19,
          "under permission `two` under definition `doc`: permissions cannot be used on the left hand side of an "
          "arrow (found `one`)" },
        /* T6 */
        { USER "definition doc {\n\trelation par: user | user:*\n\tpermission view = par->xyz\n}", LICET_KIND_TYPE, 4,
          20,
          "for arrow under permission `view`: relation `doc#par` includes wildcard type `user` via relation "
          "`doc#par`: wildcard relations cannot be used on the left side of arrows" },
        { USER GROUP "definition doc {\n\trelation one: group#guest\n\tpermission view = one->xyz\n}", LICET_KIND_TYPE,
          8, 16,
          "for relation `one`: relation/permission `group#guest` includes wildcard type `user` via relation "
          "`group#guest`: wildcard relations cannot be transitively included" },
        { USER
          "definition doc {\n\trelation base: user:*\n\trelation par: doc#base\n\tpermission view = par.any(xyz)\n}",
          LICET_KIND_TYPE, 5, 20,
          "for arrow under permission `view`: relation `doc#par` includes wildcard type `user` via relation "
          "`doc#base`: wildcard relations cannot be used on the left side of arrows" },
        /* T7 */
        { "definition doc {\n\trelation viewer: nope\n}", LICET_KIND_NAME, 2, 19,
          "could not lookup definition `nope` for relation `viewer`: object definition `nope` not found" },
        { USER "definition doc {\n\trelation viewer: user | nope:*\n}", LICET_KIND_NAME, 3, 26,
          "could not lookup definition `nope` for relation `viewer`: object definition `nope` not found" },
        /* T8 */
        { USER GROUP "definition doc {\n\trelation viewer: group#nope\n}", LICET_KIND_NAME, 8, 19,
          "relation/permission `nope` not found under definition `group`" },
        { "definition doc {\n\trelation viewer: doc#nope\n}", LICET_KIND_NAME, 2, 19,
          "relation/permission `nope` not found under definition `doc`" },
        /* T9 */
        { USER GROUP "definition doc {\n\trelation viewer: group#guest\n}", LICET_KIND_TYPE, 8, 19,
          "for relation `viewer`: relation/permission `group#guest` includes wildcard type `user` via relation "
          "`group#guest`: wildcard relations cannot be transitively included" },
        { USER "definition group {\n\trelation base: user:*\n\trelation member: group#base\n}\n"
               "definition doc {\n\trelation viewer: group#member\n}",
          LICET_KIND_TYPE, 7, 19,
          "for relation `viewer`: relation/permission `group#member` includes wildcard type `user` via relation "
          "`group#base`: wildcard relations cannot be transitively included" },
        /* T10 */
        { USER "definition doc {\n\trelation viewer: user#... | user\n}", LICET_KIND_TYPE, 3, 30,
          "found duplicate allowed subject type `user` on relation `viewer` under definition `doc`" },
        { USER "definition doc {\n\trelation viewer: user:* | user | user:*\n}", LICET_KIND_TYPE, 3, 35,
          "found duplicate allowed subject type `user:*` on relation `viewer` under definition `doc`" },
        { "use expiration\ncaveat cav(num int) { num > 1 }\n" USER GROUP
          "definition doc {\n\trelation viewer: group#member with cav and expiration | user | "
          "group#member with cav and expiration\n}",
          LICET_KIND_TYPE, 10, 65,
          "found duplicate allowed subject type `group#member with cav and expiration` on relation `viewer` under "
          "definition `doc`" },
        { "use expiration\n" USER "definition doc {\n\trelation viewer: user with expiration | user with expiration\n}",
          LICET_KIND_TYPE, 4, 42,
          "found duplicate allowed subject type `user with expiration` on relation `viewer` under definition `doc`" },
        /* T11 */
        { USER "definition doc {\n\trelation viewer: user with nope\n}", LICET_KIND_NAME, 3, 19,
          "could not lookup caveat \"nope\" for relation `viewer`: no caveat has this name" },
        { USER "definition doc {\n\trelation viewer: user with expiration\n}", LICET_KIND_NAME, 3, 19,
          "could not lookup caveat `expiration` for relation `viewer`; for relationships that expire put `use "
          "expiration` at the top" },
        /* T12 */
        { "use typechecking\n" USER "definition bot {}\ndefinition doc {\n\trelation viewer: user | bot\n"
          "\tpermission view: user | nobody = viewer\n}",
          LICET_KIND_TYPE, 6, 2,
          "incomplete type annotation on relation `view` in definition `doc`: `bot` found as reachable type, but not "
          "contained in provided set [user, nobody]" },
        /* A column counts characters, not bytes. */
        { USER "definition doc {\n\t/* \xc3\xa4\xe2\x82\xac */ relation viewer: nope\n}", LICET_KIND_NAME, 3, 28,
          "could not lookup definition `nope` for relation `viewer`: object definition `nope` not found" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        assert_refused(&refusals[i], NULL);
}

static void the_first_error_in_written_order_is_reported(void **state)
{
    static const refusal refusals[] = {
        { "definition doc {\n\trelation one: nope\n\tpermission two = none\n}\ndefinition bad {\n\trelation one: "
          "none\n}",
          LICET_KIND_NAME, 2, 16,
          "could not lookup definition `nope` for relation `one`: object definition `nope` not found" },
        { "definition doc {\n\tpermission two = none\n\trelation one: nope\n}", LICET_KIND_NAME, 2, 19,
          "relation/permission `none` not found under definition `doc`" },
        { "definition doc {\n\tpermission two = none + other\n}", LICET_KIND_NAME, 2, 19,
          "relation/permission `none` not found under definition `doc`" },
        /* Doubles before anything else of their definition. */
        { "definition doc {\n\tpermission two = none\n\tpermission two = nil\n}", LICET_KIND_NAME, 3, 2,
          "found duplicate relation/permission name `two` under definition `doc`" },
        /* Alias cycles after everything. */
        { "definition doc {\n\tpermission one = one\n}\ndefinition other {\n\trelation two: nope\n}", LICET_KIND_NAME,
          5, 16, "could not lookup definition `nope` for relation `two`: object definition `nope` not found" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        assert_refused(&refusals[i], NULL);
}

static void an_arrow_over_an_alias_is_told_the_relation_behind_it(void **state)
{
    static const refusal refusals[] = {
        { USER "definition wing {\n\trelation upper: wing\n\trelation warden: user\n\tpermission above = upper\n"
               "\tpermission see = warden + above->see\n}",
          LICET_KIND_TYPE, 6, 28,
          "under permission `see` under definition `wing`: permissions cannot be used on the left hand side of an "
          "arrow (found `above`; use the relation `upper` that it stands for)" },
        { USER
          "definition wing {\n\trelation upper: wing\n\tpermission see = farther->see\n\tpermission above = upper\n"
          "\tpermission farther = above\n}",
          LICET_KIND_TYPE, 4, 19,
          "under permission `see` under definition `wing`: permissions cannot be used on the left hand side of an "
          "arrow (found `farther`; use the relation `upper` that it stands for)" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        assert_refused(&refusals[i], NULL);
}

static void schemas_that_only_look_wrong_are_accepted(void **state)
{
    static const char *const texts[] = {
        "",
        "// nothing\n",
        USER,
        /* A relation and a permission of one name in different definitions. */
        USER "definition one {\n\trelation foo: user\n}\ndefinition two {\n\tpermission foo = nil\n}",
        "definition group {\n\trelation group: group\n}",
        USER "definition group {\n\trelation member: user | group#member\n}",
        USER "definition doc {\n\trelation bbb: user\n\tpermission aaa = aaa + bbb\n}",
        USER "definition doc {\n\trelation viewer: user\n\trelation parent: doc\n\tpermission view = viewer + "
             "parent->view\n}",
        "definition doc {\n\trelation parent: doc\n\tpermission view = parent->nothere\n}",
        USER GROUP "definition doc {\n\trelation viewer: group#anyone\n}",
        "definition doc {\n\tpermission view = nil - nil\n}",
        "definition doc {\n\tpermission view = view + nil\n}",
        "use self\n" USER "definition doc {\n\trelation viewer: user\n\tpermission view = self & self\n}",
        USER "definition doc {\n\trelation self: user\n\tpermission view = self\n}",
        USER "definition doc {\n\trelation viewer: user | user:*\n}",
        "use expiration\ncaveat cav(num int) { num > 1 }\n" USER
        "definition doc {\n\trelation viewer: user | user with cav | user with expiration | user with cav and "
        "expiration | "
        "user:* | user:* with cav\n}",
        /* Within its own definition SpiceDB searches no wildcards behind a subject relation. */
        USER "definition group {\n\trelation base: user:*\n\trelation member: group#base\n}",
        /* An arrow over a relation whose types have subject relations. */
        USER GROUP "definition doc {\n\trelation owner: group#member\n\tpermission view = owner->anyone\n}",
        /* Annotations mean nothing without the flag. */
        USER "definition bot {}\ndefinition doc {\n\trelation viewer: user | bot\n\tpermission view: user = viewer\n}",
        "definition acme/user {}\ndefinition acme/sub/doc {\n\trelation viewer: acme/user\n}",
        /* What an unused partial holds isn't type-checked. */
        ("use partial\npartial unused {\n\trelation foo: nope\n\tpermission bar = none\n}\n" USER),
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_accepted(texts[i]);
}

#define TYPED                                                                                                     \
    "use typechecking\nuse self\n" USER "definition bot {}\n"                                                     \
    "definition group {\n relation member: user | group#member\n relation boss: bot\n permission all = member + " \
    "boss\n}\n"

static void an_annotation_names_every_type_that_relations_end_in(void **state)
{
    static const char *const accepted[] = {
        "relation viewer: user\n permission view: user = viewer",
        "relation viewer: group#member\n permission view: user = viewer", /* the group is on the way, not an end */
        "relation par: group\n permission view: user = par->member",
        "relation par: group\n permission view: foo = par->nope",
        "relation par: group#boss\n permission view: user = par->member",
        "relation par: group\n permission view: user | bot = par.all(all)",
        "relation viewer: user\n relation par: doc\n permission view: user = viewer + par->view",
        "relation viewer: user\n permission view: user = viewer + self",
        "permission view: foo = nil",
        "relation viewer: user\n permission view: user | user | foo = viewer",
        "relation viewer: user\n permission aaa: user = aaa + viewer",
        "relation viewer: user | bot\n permission view = viewer",
    };
    static const char *const refused[] = {
        "relation viewer: user | bot\n permission view: user = viewer",
        "relation viewer: group#member\n permission view: group = viewer",
        "relation viewer: group#all\n permission view: user = viewer",
        "relation par: group\n permission view: group = par->member",
        "relation par: group#boss\n permission view: bot = par->member",
        "relation par: group\n permission view: user = par.all(all)",
        "relation viewer: user\n relation ban: bot\n permission view: user = viewer - ban",
        "relation viewer: user:*\n permission view: foo = viewer",
        "relation viewer: user | bot\n permission aaa = viewer\n permission view: user = aaa",
        "relation viewer: user | bot\n permission aaa: user = bbb + viewer\n permission bbb = aaa + nil",
    };
    char text[1024];

    (void)state;
    for (size_t i = 0; i < sizeof accepted / sizeof *accepted; i++) {
        snprintf(text, sizeof text, TYPED "definition doc {\n %s\n}", accepted[i]);
        assert_accepted(text);
    }
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        snprintf(text, sizeof text, TYPED "definition doc {\n %s\n}", refused[i]);
        assert_int_equal(parse(text, NULL, NULL), LICET_SCHEMA_ERROR);
    }
}

/* More than 64 definitions: the reachable types are found 64 at a time. */
static void an_annotation_is_held_against_types_far_down_the_text(void **state)
{
    char    text[8192];
    size_t  size = 0;
    refusal r    = { text, LICET_KIND_TYPE, 203, 2,
                     "incomplete type annotation on relation `view` in definition `doc`: `type150` found as reachable "
                        "type, but not contained in provided set [type070]" };

    (void)state;
    size += (size_t)snprintf(text + size, sizeof text - size, "use typechecking\n");
    for (int i = 0; i < 199; i++)
        size += (size_t)snprintf(text + size, sizeof text - size, "definition type%03d {}\n", i);
    snprintf(text + size, sizeof text - size,
             "definition doc {\n\trelation viewer: type070 | type150\n\tpermission view: type070 = viewer\n}");
    assert_refused(&r, NULL);
    snprintf(
        text + size, sizeof text - size,
        "definition doc {\n\trelation viewer: type070 | type150\n\tpermission view: type070 | type150 = viewer\n}");
    assert_accepted(text);
}

#define ORG "definition org {\n\trelation member: user\n}\ndefinition team {\n\trelation member: user:*\n}\n"
#define DOC1 "definition doc1 {\n\trelation viewer: org#member\n}\n"
#define DOC2 "definition doc2 {\n\trelation viewer: team#member\n}\n"

static void a_clean_relation_hides_wildcards_of_its_namesakes(void **state)
{
    static const refusal refused = { USER ORG DOC2 DOC1, LICET_KIND_TYPE, 9, 19,
                                     "for relation `viewer`: relation/permission `team#member` includes wildcard type "
                                     "`user` via relation `team#member`: wildcard relations cannot be transitively "
                                     "included" };

    (void)state;
    assert_accepted(USER ORG DOC1 DOC2);
    assert_refused(&refused, NULL);
    /* A permission counts as searched and clean too. */
    assert_accepted(
        USER
        "definition org {\n\tpermission member = nil\n}\ndefinition team {\n\trelation member: user:*\n}\n" DOC1 DOC2);
    /* Also across the two rules, and in written order inside one definition. */
    assert_accepted(USER "definition one {\n\trelation par: one\n\tpermission view = par->view\n}\n"
                         "definition two {\n\trelation par: user:*\n\tpermission view = par->view\n}");
    assert_accepted(USER ORG "definition doc {\n\trelation one: org#member\n\trelation two: team#member\n}");
    /* A name met again while it is being searched counts as clean from there on. */
    assert_accepted(USER "definition doc {\n\trelation viewer: team#member\n}\n"
                         "definition team {\n\trelation member: user | team#member | club#member\n}\n"
                         "definition club {\n\trelation member: user:*\n}");
}

static void a_wildcard_is_found_behind_a_cycle_of_relations(void **state)
{
    static const refusal refused = {
        USER "definition aaa {\n\trelation one: bbb#two\n}\ndefinition bbb {\n\trelation two: aaa#one | bbb#three\n"
             "\trelation three: user:*\n}\ndefinition doc {\n\trelation viewer: aaa#one\n}",
        LICET_KIND_TYPE, 3, 16,
        "for relation `one`: relation/permission `bbb#two` includes wildcard type `user` via relation `bbb#three`: "
        "wildcard relations cannot be transitively included"
    };

    (void)state;
    assert_refused(&refused, NULL);
}

static void a_cycle_of_aliases_is_told_member_by_member(void **state)
{
    static const refusal refusals[] = {
        { "definition doc {\n\tpermission aaa = aaa\n}", LICET_KIND_TYPE, 2, 2,
          "under definition `doc`, there exists a cycle in permissions: aaa: aaa (2:2) -> aaa" },
        { "definition doc {\n\tpermission ccc = aaa\n\tpermission bbb = (aaa)\n\tpermission aaa = bbb\n}",
          LICET_KIND_TYPE, 3, 2,
          "under definition `doc`, there exists a cycle in permissions: aaa, bbb, ccc: bbb (3:2) -> aaa (4:2) -> bbb" },
        { "definition doc {\n\tpermission bbb = ccc\n\tpermission aaa = bbb\n\tpermission ccc = aaa\n}",
          LICET_KIND_TYPE, 2, 2,
          "under definition `doc`, there exists a cycle in permissions: aaa, bbb, ccc: bbb (2:2) -> ccc (4:2) -> aaa "
          "(3:2) -> bbb" },
        { "definition one {\n\tpermission aaa = nil\n}\ndefinition doc {\n\tpermission aaa = bbb\n\tpermission bbb = "
          "aaa\n\t"
          "permission ddd = ddd\n}",
          LICET_KIND_TYPE, 5, 2,
          "under definition `doc`, there exists a cycle in permissions: aaa, bbb, ddd: aaa (5:2) -> bbb (6:2) -> aaa; "
          "ddd (7:2) -> ddd" },
        /* Cycles through operators are legal; where an alias has to be mended anyway they are told as well. */
        { USER "definition ddd {\n\trelation rel: user\n\tpermission aaa = bbb\n\tpermission bbb = ccc & rel\n"
               "\tpermission ccc = aaa + rel\n\tpermission eee = eee\n}",
          LICET_KIND_TYPE, 7, 2,
          "under definition `ddd`, there exists a cycle in permissions: eee: eee (7:2) -> eee; circular through "
          "operators: aaa (4:2) -> bbb (5:2) -> ccc (6:2) -> aaa" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        assert_refused(&refusals[i], NULL);
    assert_accepted(USER
                    "definition ddd {\n\trelation rel: user\n\tpermission aaa = bbb\n\tpermission bbb = ccc & rel\n"
                    "\tpermission ccc = aaa + rel\n}");
}

static void write_file(const char *folder, const char *name, const char *text)
{
    char  path[256];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

static void remove_file(const char *folder, const char *name)
{
    char path[256];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    unlink(path);
}

static void an_error_in_an_imported_file_names_the_file(void **state)
{
    static const refusal in_import = {
        "use import\nimport \"users.zed\"\n", LICET_KIND_NAME, 2, 19,
        "in \"users.zed\": could not lookup definition `nope` for relation `viewer`: object "
        "definition `nope` not found"
    };
    static const refusal cycle = {
        "use import\nuse partial\nimport \"one.zed\"\n"
        "partial two {\n\tpermission bbb = aaa\n}\n"
        "definition doc {\n\t...two\n\t...one\n}",
        LICET_KIND_TYPE, 5, 2,
        "under definition `doc`, there exists a cycle in permissions: aaa, bbb: bbb (5:2) -> aaa "
        "(one.zed:3:3) -> bbb"
    };
    char folder[] = "/tmp/licet-checker-XXXXXX";

    (void)state;
    assert_non_null(mkdtemp(folder));
    write_file(folder, "users.zed", "definition doc {\n\trelation viewer: nope\n}\n");
    write_file(folder, "one.zed", "use partial\npartial one {\n\t\tpermission aaa = bbb\n}\n");
    assert_refused(&in_import, folder);
    assert_refused(&cycle, folder);
    remove_file(folder, "users.zed");
    remove_file(folder, "one.zed");
    assert_int_equal(rmdir(folder), 0);
}

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* 15 definitions of 1,001 permissions, each an alias of the next; the very last one closes a cycle or not. */
static char *long_chains(bool cycle)
{
    size_t capacity = 1 << 22, size = 0;
    char  *text = malloc(capacity);

    assert_non_null(text);
    for (int d = 0; d < 15; d++) {
        size += (size_t)snprintf(text + size, capacity - size, "definition d%02x {\n", d);
        for (int i = 0; i < 1000; i++)
            size += (size_t)snprintf(text + size, capacity - size, "permission p%03x=p%03x\n", i, i + 1);
        size += (size_t)snprintf(text + size, capacity - size, "permission p%03x=%s\n}\n", 1000,
                                 cycle && d == 14 ? "p000" : "nil");
    }
    return text;
}

static void long_chains_of_aliases_take_linear_time_and_no_stack(void **state)
{
    char        *text    = long_chains(false);
    char        *endless = long_chains(true);
    double       start   = seconds();
    licet_error *error   = NULL;

    (void)state;
    assert_accepted(text);
    assert_int_equal(parse(endless, NULL, &error), LICET_SCHEMA_ERROR);
    assert_int_equal(licet_error_line(error), 14 * 1003 + 2);
    assert_true(licet_error_message(error).size <= 1024);
    licet_error_free(error);
    assert_true(seconds() - start < 10); /* under a sanitizer on a busy machine; quadratic time would be minutes */
    free(text);
    free(endless);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_error_has_its_place_and_words),
        cmocka_unit_test(the_first_error_in_written_order_is_reported),
        cmocka_unit_test(an_arrow_over_an_alias_is_told_the_relation_behind_it),
        cmocka_unit_test(schemas_that_only_look_wrong_are_accepted),
        cmocka_unit_test(an_annotation_names_every_type_that_relations_end_in),
        cmocka_unit_test(an_annotation_is_held_against_types_far_down_the_text),
        cmocka_unit_test(a_clean_relation_hides_wildcards_of_its_namesakes),
        cmocka_unit_test(a_wildcard_is_found_behind_a_cycle_of_relations),
        cmocka_unit_test(a_cycle_of_aliases_is_told_member_by_member),
        cmocka_unit_test(an_error_in_an_imported_file_names_the_file),
        cmocka_unit_test(long_chains_of_aliases_take_linear_time_and_no_stack),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

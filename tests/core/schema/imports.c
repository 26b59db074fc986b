/* core/schema/imports.c: which files are read, in which order, and that none outside the folder is ever opened. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schema/limits.h"

#include "failing_memory.h"
#include "parsed.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* outside/secret.zed, and inside/ with what the test puts there. */
typedef struct place {
    char root[64];
    char inside[96];
} place;

static void path_of(const place *p, const char *name, char out[256])
{
    assert_true(snprintf(out, 256, "%s/%s", p->root, name) < 256);
}

static void write_file(const place *p, const char *name, const char *text)
{
    char  path[256];
    FILE *file;

    path_of(p, name, path);
    file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

static void make_folder(const place *p, const char *name)
{
    char path[256];

    path_of(p, name, path);
    assert_int_equal(mkdir(path, 0700), 0);
}

static void make_link(const place *p, const char *target, const char *name)
{
    char path[256];

    path_of(p, name, path);
    assert_int_equal(symlink(target, path), 0);
}

static int place_make(void **state)
{
    place *p = test_calloc(1, sizeof *p);

    strcpy(p->root, "/tmp/licet-imports-XXXXXX");
    assert_non_null(mkdtemp(p->root));
    assert_true(snprintf(p->inside, sizeof p->inside, "%s/inside", p->root) > 0);
    make_folder(p, "inside");
    make_folder(p, "inside/sub");
    make_folder(p, "outside");
    write_file(p, "outside/secret.zed", "definition secret {}");
    write_file(p, "inside/user.zed", "definition user {}");
    write_file(p, "inside/sub/group.zed", "use import\nimport 'user.zed'\ndefinition group {}");
    write_file(p, "inside/sub/user.zed", "definition sub_user {}");
    *state = p;
    return 0;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status;
    (void)type;
    (void)walk;
    return remove(path);
}

static int place_remove(void **state)
{
    place *p = *state;

    nftw(p->root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    test_free(p);
    return 0;
}

/* The names of what was read, in order: "user group". */
static void assert_imports(const place *place, const char *text, const char *names)
{
    char   all[512] = "";
    parsed p;

    parsed_make(&p, text, place->inside);
    if (p.status != LICET_OK)
        print_error("%s\n%.*s\n", text, LIC_STR_ARG(licet_error_message(p.error)));
    assert_int_equal(p.status, LICET_OK);
    for (size_t i = 0; i < p.ast->item_count; i++) {
        size_t  used = strlen(all);
        lic_str name =
            p.ast->items[i].definition != NULL ? p.ast->items[i].definition->name : p.ast->items[i].caveat->name;

        assert_true(snprintf(all + used, sizeof all - used, "%s%.*s", i == 0 ? "" : " ", LIC_STR_ARG(name)) > 0);
    }
    assert_string_equal(all, names);
    parsed_clear(&p);
}

static void assert_refused(const place *place, const char *text, licet_kind kind, uint32_t line, uint32_t column,
                           const char *message)
{
    parsed  p;
    lic_str actual;

    parsed_make(&p, text, place->inside);
    actual = licet_error_message(p.error);
    if (actual.size != strlen(message) || memcmp(actual.data, message, actual.size) != 0)
        print_error("%s\n%.*s\n", text, LIC_STR_ARG(actual));
    assert_int_equal(p.status, kind == LICET_KIND_LIMIT ? LICET_LIMIT_EXCEEDED : LICET_SCHEMA_ERROR);
    assert_int_equal(actual.size, strlen(message));
    assert_memory_equal(actual.data, message, actual.size);
    assert_int_equal(licet_error_kind(p.error), kind);
    assert_int_equal(licet_error_line(p.error), line);
    assert_int_equal(licet_error_column(p.error), column);
    parsed_clear(&p);
}

static void an_import_comes_in_front_of_what_imports_it(void **state)
{
    place *p = *state;

    assert_imports(p, "use import\nimport 'user.zed'\ndefinition doc {}", "user doc");
    assert_imports(p, "use import\ndefinition doc {}\nimport \"user.zed\"", "user doc");
    assert_imports(p, "use import\nimport './/sub/./group.zed'", "sub_user group");
    assert_imports(p, "use import\nimport 'sub/group.zed'\nimport 'user.zed'\ndefinition doc {}",
                   "sub_user group user doc");
}

static void a_file_that_is_reached_twice_is_read_once(void **state)
{
    place *p = *state;

    write_file(p, "inside/left.zed", "use import\nimport 'base.zed'\ndefinition left {}");
    write_file(p, "inside/right.zed", "use import\nimport './base.zed'\ndefinition right {}");
    write_file(p, "inside/base.zed", "caveat base(flag bool) { flag }");
    assert_imports(p, "use import\nimport 'left.zed'\nimport 'right.zed'\nimport 'base.zed'\ndefinition doc {}",
                   "base left right doc");
    assert_imports(p, "use import\nimport 'base.zed'\nimport 'base.zed'\n", "base");
}

static void partials_and_flags_reach_across_files(void **state)
{
    place *p = *state;
    parsed q;

    write_file(p, "inside/part.zed", "use partial\nuse typechecking\npartial part {\n\trelation self: user\n}");
    parsed_make(&q, "use import\nuse self\nimport 'part.zed'\ndefinition doc {\n\t...part\n\tpermission ppp = self\n}",
                p->inside);
    assert_int_equal(q.status, LICET_OK);
    assert_true(q.ast->typechecking);
    assert_int_equal(q.ast->source_count, 2);
    assert_int_equal(q.ast->items[0].definition->member_count, 2);
    assert_int_equal(q.ast->items[0].definition->members[0].place.source, 1);
    assert_int_equal(lic_ast_position(q.ast, q.ast->items[0].definition->members[0].place).line, 4);
    parsed_clear(&q);
    assert_refused(p, "use import\nuse partial\nimport 'part.zed'\ndefinition part {}", LICET_KIND_NAME, 4, 1,
                   "the definition \"part\" has the name of a partial");
    assert_refused(p, "use import\nimport 'user.zed'\ndefinition user {}", LICET_KIND_NAME, 3, 1,
                   "there is another definition or caveat called \"user\"");
}

static void a_circle_is_refused_where_it_closes(void **state)
{
    place *p = *state;

    write_file(p, "inside/one.zed", "use import\nimport 'two.zed'\ndefinition one {}");
    write_file(p, "inside/two.zed", "use import\ndefinition two {}\n  import 'one.zed'");
    write_file(p, "inside/self.zed", "use import\nimport 'self.zed'");
    assert_refused(p, "use import\nimport 'one.zed'", LICET_KIND_NAME, 3, 3,
                   "in the imported file \"two.zed\": import \"one.zed\": the file imports itself in a circle");
    assert_refused(p, "use import\nimport 'self.zed'", LICET_KIND_NAME, 2, 1,
                   "in the imported file \"self.zed\": import \"self.zed\": the file imports itself in a circle");
}

static void a_path_stays_in_the_folder_as_a_text(void **state)
{
    static const struct {
        const char *path, *message;
    } cases[] = {
        { "../outside/secret.zed", "import \"../outside/secret.zed\": a path must not contain \"..\"" },
        { "sub/../user.zed", "import \"sub/../user.zed\": a path must not contain \"..\"" },
        { "a..b.zed", "import \"a..b.zed\": a path must not contain \"..\"" },
        { "/etc/passwd", "import \"/etc/passwd\": the path must be a relative one, inside the folder" },
        { "", "import \"\": the path must be a relative one, inside the folder" },
    };
    place *p = *state;

    for (size_t i = 0; i < LENGTH(cases); i++) {
        char text[128];

        snprintf(text, sizeof text, "use import\n import '%s'\n", cases[i].path);
        assert_refused(p, text, LICET_KIND_VALUE, 2, 2, cases[i].message);
    }
}

static void a_nul_does_not_end_a_path(void **state)
{
    place *p = *state;
    parsed q;

    parsed_make_with(&q, NULL, LIC_STR("use import\nimport 'user.zed\0x'"), p->inside);
    assert_int_equal(q.status, LICET_SCHEMA_ERROR);
    assert_int_equal(licet_error_kind(q.error), LICET_KIND_VALUE);
    parsed_clear(&q);
}

static void assert_no_file(const place *p, const char *path)
{
    char text[256];
    char message[256];

    snprintf(text, sizeof text, "use import\nimport '%s'\n", path);
    snprintf(message, sizeof message, "import \"%s\": there is no such file inside the folder that can be read", path);
    assert_refused(p, text, LICET_KIND_NAME, 2, 1, message);
}

static void links_are_followed_inside_the_folder_only(void **state)
{
    place *p = *state;
    char   absolute[160];

    make_link(p, "user.zed", "inside/near.zed");
    make_link(p, "sub", "inside/near");
    make_link(p, "../inside/user.zed", "inside/roundabout.zed");
    assert_imports(p, "use import\nimport 'near.zed'", "user");
    assert_imports(p, "use import\nimport 'near/group.zed'", "sub_user group");
    assert_imports(p, "use import\nimport 'roundabout.zed'", "user");

    snprintf(absolute, sizeof absolute, "%s/outside/secret.zed", p->root);
    make_link(p, "../outside/secret.zed", "inside/far.zed");
    make_link(p, "../outside", "inside/far");
    make_link(p, absolute, "inside/absolute.zed");
    make_link(p, "loop.zed", "inside/loop.zed");
    make_link(p, "nowhere.zed", "inside/dangling.zed");
    make_folder(p, "inside-too");
    write_file(p, "inside-too/secret.zed", "definition secret {}");
    make_link(p, "../inside-too/secret.zed", "inside/sibling.zed");
    assert_no_file(p, "far.zed");
    assert_no_file(p, "far/secret.zed");
    assert_no_file(p, "absolute.zed");
    assert_no_file(p, "loop.zed");
    assert_no_file(p, "dangling.zed");
    assert_no_file(p, "sibling.zed");
}

static void only_regular_files_are_read(void **state)
{
    place *p = *state;
    char   path[256];

    path_of(p, "inside/pipe.zed", path);
    assert_int_equal(mkfifo(path, 0600), 0); /* opening it would wait for a writer */
    assert_no_file(p, "pipe.zed");
    assert_no_file(p, "sub");
    assert_no_file(p, ".");
    assert_no_file(p, "missing.zed");
    assert_no_file(p, "user.zed/x");
}

static void a_path_longer_than_the_system_takes_is_no_file(void **state)
{
    place *p    = *state;
    char  *name = repeated("use import\nimport '", "abcdefgh", 100, "'");
    char  *path = repeated("use import\nimport '", "abcdefgh/", 1000, "x'");
    parsed q;

    parsed_make(&q, name, p->inside);
    assert_int_equal(licet_error_kind(q.error), LICET_KIND_NAME);
    parsed_clear(&q);
    parsed_make(&q, path, p->inside);
    assert_int_equal(licet_error_kind(q.error), LICET_KIND_NAME);
    parsed_clear(&q);
    test_free(name);
    test_free(path);
}

static void the_folder_must_be_there_and_may_be_a_link(void **state)
{
    place      *p    = *state;
    const char *text = "use import\n\n import 'user.zed'";
    char        path[256];
    parsed      q;

    make_link(p, "inside", "door");
    path_of(p, "door", path);
    parsed_make(&q, text, path);
    assert_int_equal(q.status, LICET_OK);
    parsed_clear(&q);

    parsed_make(&q, text, "/nonexistent/licet");
    assert_int_equal(licet_error_kind(q.error), LICET_KIND_CONFIG);
    assert_int_equal(licet_error_line(q.error), 3);
    assert_int_equal(licet_error_column(q.error), 2);
    parsed_clear(&q);

    path_of(p, "inside/user.zed", path);
    parsed_make(&q, text, path);
    assert_int_equal(licet_error_kind(q.error), LICET_KIND_NAME);
    parsed_clear(&q);

    parsed_make(&q, "definition user {}", "/nonexistent/licet");
    assert_int_equal(q.status, LICET_OK); /* nobody asked for it */
    parsed_clear(&q);
}

static void a_fault_in_an_imported_file_has_its_place_there(void **state)
{
    place *p = *state;

    write_file(p, "inside/sub/syntax.zed", "definition user {}\n  definition doc\n{}");
    write_file(p, "inside/encoding.zed", "definition user {}\n\xff");
    write_file(p, "inside/bad_name.zed", "definition user {}\ndefinition Doc {}");
    write_file(p, "inside/no_flag.zed", "import 'user.zed'");
    write_file(p, "inside/caveat.zed", "// \xc3\xa9\ncaveat cav(num int) {\n\tnum == 1 ||\n\t\"\xc3\xa9\" == nope\n}");
    assert_refused(p, "use import\nimport 'sub/syntax.zed'", LICET_KIND_SYNTAX, 2, 17,
                   "in the imported file \"sub/syntax.zed\": expected \"{\", found the end of the line; put it on this "
                   "line");
    assert_refused(p, "use import\nimport 'encoding.zed'", LICET_KIND_ENCODING, 2, 1,
                   "in the imported file \"encoding.zed\": the schema is not UTF-8: wrong at byte 19");
    assert_refused(
        p, "use import\nimport 'bad_name.zed'", LICET_KIND_VALUE, 2, 1,
        "in the imported file \"bad_name.zed\": the definition's name \"Doc\" is not usable: each part has 3 "
        "to 64 of a-z, 0-9 and \"_\", begins with a letter, does not end in \"_\"; 128 bytes in all");
    assert_refused(
        p, "use import\nimport 'caveat.zed'", LICET_KIND_NAME, 4, 9,
        "in the imported file \"caveat.zed\": invalid expression for caveat \"cav\": undeclared reference to "
        "\"nope\": there is no parameter of this name");
    assert_refused(p, "use import\nimport 'no_flag.zed'", LICET_KIND_SYNTAX, 1, 1,
                   "in the imported file \"no_flag.zed\": expected a definition or a caveat, found \"import\"; say "
                   "\"use import\" at the top of the file");
}

static void a_limit_passed_in_an_imported_file_is_still_a_limit(void **state)
{
    place *p    = *state;
    char  *deep = repeated("definition doc {\n\tpermission ppp = ", "(", LIC_MAX_NESTING + 1, "");

    write_file(p, "inside/deep.zed", deep);
    assert_refused(p, "use import\nimport 'deep.zed'", LICET_KIND_LIMIT, 2, 275,
                   "in the imported file \"deep.zed\": more than 256 nested parentheses");
    test_free(deep);
}

static void files_count_against_one_limit_of_bytes(void **state)
{
    place *p    = *state;
    char  *half = repeated("//", "x", LIC_MAX_SCHEMA_BYTES / 2, "");
    char  *full = repeated("//", "x", LIC_MAX_SCHEMA_BYTES - 1, "");

    write_file(p, "inside/half.zed", half);
    write_file(p, "inside/other_half.zed", half);
    write_file(p, "inside/full.zed", full);
    assert_imports(p, "use import\nimport 'half.zed'", "");
    assert_refused(p, "use import\nimport 'half.zed'\nimport 'other_half.zed'", LICET_KIND_LIMIT, 0, 0,
                   "more than 1048576 bytes of schema with the import \"other_half.zed\"");
    assert_refused(p, "use import\nimport 'full.zed'", LICET_KIND_LIMIT, 0, 0,
                   "more than 1048576 bytes of schema with the import \"full.zed\"");
    test_free(half);
    test_free(full);
}

/* Each file imports the next one: as deep as the limit of bytes allows would be too deep for a stack. */
static void a_long_chain_of_imports_needs_no_deep_stack(void **state)
{
    place *p = *state;

    for (int i = 0; i < 1000; i++) {
        char name[64];
        char text[64];

        snprintf(name, sizeof name, "inside/chain%d.zed", i);
        if (i == 999)
            snprintf(text, sizeof text, "definition end {}");
        else
            snprintf(text, sizeof text, "use import\nimport 'chain%d.zed'", i + 1);
        write_file(p, name, text);
    }
    assert_imports(p, "use import\nimport 'chain0.zed'", "end");
}

static void importing_survives_every_failed_allocation(void **state)
{
    place       *p      = *state;
    licet_status status = LICET_OUT_OF_MEMORY;

    for (size_t n = 0; status != LICET_OK; n++) {
        failing_memory memory = fail_after(n);
        parsed         q;

        parsed_make_with(&q, &memory.allocator, LIC_STR("use import\nimport 'sub/group.zed'\nimport 'user.zed'"),
                         p->inside);
        status = q.status;
        if (status != LICET_OK)
            assert_int_equal(status, LICET_OUT_OF_MEMORY);
        parsed_clear(&q);
        assert_int_equal(memory.counts->live_blocks, 0);
        assert_true(n < 1000);
    }
}

/* No folder at all: tests/core/schema/parser.c. These have one, with the files that they import. */
static void spicedbs_import_tests_find_their_files(void **state)
{
    static const char *const tests[] = { "localimport", "localimport_import_path_with_keyword",
                                         "localimport_with_singlequotes" };
    place                   *p       = *state;

    make_folder(p, "inside/path");
    make_folder(p, "inside/path/to");
    make_folder(p, "inside/path/definition");
    write_file(p, "inside/path/to/user.zed", "definition user {}\ndefinition persona {}\n");
    write_file(p, "inside/path/definition/user.zed", "definition user {}\ndefinition persona {}\n");
    for (size_t i = 0; i < LENGTH(tests); i++) {
        char   name[128];
        char  *path;
        char  *text;
        size_t size;

        snprintf(name, sizeof name, "conformance/parser/%s.zed", tests[i]);
        path = shared_path(name);
        text = read_whole_file(path, &size);
        test_free(path);
        if (text == NULL) {
            print_message("no shared test data: set LICET_SHARED\n");
            skip();
        }
        assert_imports(p, text, "user persona resource");
        test_free(text);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
#define IMPORT_TEST(name) cmocka_unit_test_setup_teardown(name, place_make, place_remove)
        IMPORT_TEST(an_import_comes_in_front_of_what_imports_it),
        IMPORT_TEST(a_file_that_is_reached_twice_is_read_once),
        IMPORT_TEST(partials_and_flags_reach_across_files),
        IMPORT_TEST(a_circle_is_refused_where_it_closes),
        IMPORT_TEST(a_path_stays_in_the_folder_as_a_text),
        IMPORT_TEST(a_nul_does_not_end_a_path),
        IMPORT_TEST(links_are_followed_inside_the_folder_only),
        IMPORT_TEST(only_regular_files_are_read),
        IMPORT_TEST(a_path_longer_than_the_system_takes_is_no_file),
        IMPORT_TEST(the_folder_must_be_there_and_may_be_a_link),
        IMPORT_TEST(a_fault_in_an_imported_file_has_its_place_there),
        IMPORT_TEST(a_limit_passed_in_an_imported_file_is_still_a_limit),
        IMPORT_TEST(files_count_against_one_limit_of_bytes),
        IMPORT_TEST(a_long_chain_of_imports_needs_no_deep_stack),
        IMPORT_TEST(importing_survives_every_failed_allocation),
        IMPORT_TEST(spicedbs_import_tests_find_their_files),
#undef IMPORT_TEST
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

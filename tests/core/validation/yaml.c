/* core/validation/yaml*.c: the tree, what is refused, and positions inside texts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "failing_memory.h"
#include "validation/yaml.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

typedef struct parsed {
    lic_memory     memory;
    lic_arena      arena;
    lic_yaml_node *root;
    licet_error   *error;
    licet_status   status;
} parsed;

static lic_str text(const char *literal)
{
    return (lic_str){ literal, strlen(literal) };
}

static void parse(parsed *p, lic_str source)
{
    lic_memory_init(&p->memory, NULL, SIZE_MAX);
    lic_arena_init(&p->arena, &p->memory);
    p->error  = NULL;
    p->status = lic_yaml_parse(&p->arena, source, &p->root, &p->error);
}

static void end(parsed *p)
{
    licet_error_free(p->error);
    lic_arena_free(&p->arena);
    assert_int_equal(p->memory.used, 0);
}

static void assert_text(lic_str actual, const char *expected)
{
    assert_int_equal(actual.size, strlen(expected));
    assert_memory_equal(actual.data, expected, actual.size);
}

static void scalars_keep_their_text_and_null_is_not_a_text(void **state)
{
    static const struct {
        const char   *source;
        lic_yaml_kind kind;
        const char   *text;
    } cases[] = {
        { "k: plain words\n", LIC_YAML_TEXT, "plain words" },
        { "k: 12345\n", LIC_YAML_TEXT, "12345" },
        { "k: true\n", LIC_YAML_TEXT, "true" },
        { "k:\n", LIC_YAML_NULL, "" },
        { "k: ~\n", LIC_YAML_NULL, "~" },
        { "k: null\n", LIC_YAML_NULL, "null" },
        { "k: 'null'\n", LIC_YAML_TEXT, "null" },
        { "k: \"\"\n", LIC_YAML_TEXT, "" },
        { "k: \"a\\nb\\u00e9\"\n", LIC_YAML_TEXT, "a\nb\xc3\xa9" },
        { "k: 'it''s'\n", LIC_YAML_TEXT, "it's" },
        { "k: >-\n  a\n  b\n\n  c\n", LIC_YAML_TEXT, "a b\nc" },
        { "k: >-\n  a\n    deeper\n  b\n", LIC_YAML_TEXT, "a\n  deeper\nb" },
        { "k: |\n  a\n  b\n", LIC_YAML_TEXT, "a\nb\n" },
        { "k: |-\n  a\n", LIC_YAML_TEXT, "a" },
        { "k: |2+\n   a\n\n", LIC_YAML_TEXT, " a\n\n" },
        { "k: !!str 5\n", LIC_YAML_TEXT, "5" },
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        const lic_yaml_node *value;
        parsed               p;

        parse(&p, text(cases[i].source));
        assert_int_equal(p.status, LICET_OK);
        value = lic_yaml_find(p.root, LIC_STR("k"));
        assert_non_null(value);
        assert_int_equal(value->kind, cases[i].kind);
        assert_text(value->text, cases[i].text);
        end(&p);
    }
}

static void mappings_and_sequences_keep_their_order(void **state)
{
    const lic_yaml_node *list;
    parsed               p;

    (void)state;
    parse(&p, text("b: [x, {c: d}]\na: &again y\nz: *again\n"));
    assert_int_equal(p.status, LICET_OK);
    assert_int_equal(p.root->count, 6);
    assert_text(p.root->children[0]->text, "b");
    list = p.root->children[1];
    assert_int_equal(list->kind, LIC_YAML_SEQUENCE);
    assert_int_equal(list->count, 2);
    assert_text(list->children[1]->children[1]->text, "d");
    assert_ptr_equal(lic_yaml_find(p.root, LIC_STR("z")), lic_yaml_find(p.root, LIC_STR("a")));
    assert_null(lic_yaml_find(p.root, LIC_STR("y")));
    end(&p);
}

static void an_empty_document_has_no_root(void **state)
{
    static const char *const sources[] = { "", "# only a comment\n" };

    (void)state;
    for (size_t i = 0; i < LENGTH(sources); i++) {
        parsed p;

        parse(&p, text(sources[i]));
        assert_int_equal(p.status, LICET_OK);
        assert_null(p.root);
        end(&p);
    }
}

static void what_is_no_validation_yaml_is_refused_where_it_stands(void **state)
{
    static const struct {
        const char  *source;
        licet_status status;
        licet_kind   kind;
        uint32_t     line, column;
    } cases[] = {
        { "a: [\n", LICET_INVALID_ARGUMENT, LICET_KIND_SYNTAX, 2, 1 },
        { "a: b\nc: d\na: e\n", LICET_INVALID_ARGUMENT, LICET_KIND_SYNTAX, 3, 1 },
        { "a: b\n---\nc: d\n", LICET_INVALID_ARGUMENT, LICET_KIND_SYNTAX, 2, 1 },
        { "a: !!python/object/apply:os.system [id]\n", LICET_INVALID_ARGUMENT, LICET_KIND_TYPE, 1, 4 },
        { "a: !mine b\n", LICET_INVALID_ARGUMENT, LICET_KIND_TYPE, 1, 4 },
        { "a: *nowhere\n", LICET_INVALID_ARGUMENT, LICET_KIND_SYNTAX, 1, 4 },
        { "a: &a\n  b: *a\n", LICET_INVALID_ARGUMENT, LICET_KIND_SYNTAX, 2, 6 },
        { "? [x]\n: y\n", LICET_INVALID_ARGUMENT, LICET_KIND_TYPE, 1, 3 },
        { "ok: 1\nbad: \"\xc3\x28\"\n", LICET_INVALID_ARGUMENT, LICET_KIND_ENCODING, 2, 7 },
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        parsed p;

        parse(&p, text(cases[i].source));
        assert_int_equal(p.status, cases[i].status);
        assert_int_equal(licet_error_kind(p.error), cases[i].kind);
        assert_int_equal(licet_error_line(p.error), cases[i].line);
        assert_int_equal(licet_error_column(p.error), cases[i].column);
        assert_null(p.root);
        end(&p);
    }
}

static void nesting_ends_at_64_levels(void **state)
{
    char   source[256];
    parsed p;

    (void)state;
    for (size_t depth = 64; depth <= 65; depth++) {
        memset(source, '[', depth);
        memset(source + depth, ']', depth);
        parse(&p, (lic_str){ source, 2 * depth });
        assert_int_equal(p.status, depth == 64 ? LICET_OK : LICET_LIMIT_EXCEEDED);
        assert_int_equal(licet_error_kind(p.error), depth == 64 ? LICET_KIND_NONE : LICET_KIND_LIMIT);
        end(&p);
    }
}

static void aliases_may_not_grow_a_document_more_than_tenfold(void **state)
{
    static const char bomb[] = "a: &a [x,x,x,x,x,x,x,x,x]\n"
                               "b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
                               "c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n"
                               "d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\n"
                               "e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\n";
    parsed            p;

    (void)state;
    parse(&p, text(bomb));
    assert_int_equal(p.status, LICET_LIMIT_EXCEEDED);
    assert_int_equal(licet_error_kind(p.error), LICET_KIND_LIMIT);
    end(&p);
}

/* Where the word "here" stands in the source is where its place in the text is said to be. */
static void a_place_in_a_text_is_found_in_the_source(void **state)
{
    static const struct {
        const char *source;
        uint32_t    line, column;
    } cases[] = {
        { "k: here\n", 1, 4 },
        { "k: \"ab here\"\n", 1, 8 },
        { "k: 'ab here'\n", 1, 8 },
        { "k: |\n  first\n  second here\n", 3, 10 },
        { "k: >-\n  first\n  second\n\n  third here\n", 5, 9 },
        { "k: >-\n  \xc3\xa9\xc3\xa9 here\n", 2, 6 },
        { "a:\n  k: |2+\n      deep here\n", 3, 12 },
        { "k: >-\n  same\n\n  same here\n", 4, 8 },
        { "k: |\r\n  first\r\n  here\r\n", 3, 3 },
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        const lic_yaml_node *value;
        lic_position         position;
        const char          *here;
        parsed               p;

        parse(&p, text(cases[i].source));
        assert_int_equal(p.status, LICET_OK);
        value = lic_yaml_find(p.root, LIC_STR("k"));
        if (value == NULL)
            value = lic_yaml_find(lic_yaml_find(p.root, LIC_STR("a")), LIC_STR("k"));
        here = memmem(value->text.data, value->text.size, "here", 4);
        assert_non_null(here);
        position = lic_yaml_position(text(cases[i].source), value, (size_t)(here - value->text.data));
        assert_int_equal(position.line, cases[i].line);
        assert_int_equal(position.column, cases[i].column);
        end(&p);
    }
}

static void reading_survives_every_failed_allocation(void **state)
{
    static const char source[] = "a: &a [x, {y: z}]\nb: *a\nc: |\n  t\n";
    licet_status      status   = LICET_OUT_OF_MEMORY;

    (void)state;
    for (size_t n = 0; status != LICET_OK; n++) {
        failing_memory failing = fail_after(n);
        lic_memory     memory;
        lic_arena      arena;
        lic_yaml_node *root = NULL;

        lic_memory_init(&memory, &failing.allocator, SIZE_MAX);
        lic_arena_init(&arena, &memory);
        status = lic_yaml_parse(&arena, text(source), &root, NULL);
        assert_true(status == LICET_OK || (status == LICET_OUT_OF_MEMORY && root == NULL));
        lic_arena_free(&arena);
        assert_int_equal(failing.counts->live_blocks, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scalars_keep_their_text_and_null_is_not_a_text),
        cmocka_unit_test(mappings_and_sequences_keep_their_order),
        cmocka_unit_test(an_empty_document_has_no_root),
        cmocka_unit_test(what_is_no_validation_yaml_is_refused_where_it_stands),
        cmocka_unit_test(nesting_ends_at_64_levels),
        cmocka_unit_test(aliases_may_not_grow_a_document_more_than_tenfold),
        cmocka_unit_test(a_place_in_a_text_is_found_in_the_source),
        cmocka_unit_test(reading_survives_every_failed_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

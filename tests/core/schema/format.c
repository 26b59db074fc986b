/* core/schema/format.c: canonical text, as SpiceDB's generator prints it. What is formatted parses to the same AST
 * and formats to itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "caveat/unparse.h"
#include "schema/expression.h"
#include "schema/format.h"

#include "failing_memory.h"
#include "parsed.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

static void format(const parsed *p, lic_text *out)
{
    lic_format(p->ast, out);
    assert_false(out->failed);
    lic_text_add_char(out, '\0');
    assert_false(out->failed);
}

/* text formats to `expected`, and that to itself. */
static void assert_formats(const char *text, const char *expected)
{
    const char *source = text;

    for (int round = 0; round < 2; round++) {
        parsed   p;
        lic_text out;

        parsed_make(&p, source, NULL);
        if (p.status != LICET_OK)
            print_error("%s\n%.*s\n", source, LIC_STR_ARG(licet_error_message(p.error)));
        assert_int_equal(p.status, LICET_OK);
        lic_text_init(&out, &p.memory);
        format(&p, &out);
        assert_string_equal(out.data, expected);
        lic_text_free(&out);
        parsed_clear(&p);
        source = expected;
    }
}

static void definitions_have_one_line_per_member(void **state)
{
    (void)state;
    assert_formats("", "");
    assert_formats(" use typechecking\n\ndefinition   user{ }", "definition user {}");
    assert_formats("definition user { };definition acme /\ndoc {\nrelation rrr :user|\nacme/doc # rrr|user : *;;\n"
                   "permission ppp: user = rrr; }",
                   "definition user {}\n\ndefinition acme/doc {\n\trelation rrr: user | acme/doc#rrr | user:*\n"
                   "\tpermission ppp = rrr\n}");
}

static void flags_are_printed_when_they_are_needed(void **state)
{
    (void)state;
    assert_formats("use expiration use self use partial use import use typechecking\ndefinition doc {}",
                   "definition doc {}");
    assert_formats("use expiration\nuse self\ndefinition doc {\n\trelation rrr: doc with expiration\n"
                   "\tpermission ppp = rrr - self\n}",
                   "use self\n\nuse expiration\n\ndefinition doc {\n\trelation rrr: doc with expiration\n"
                   "\tpermission ppp = rrr - self\n}");
    assert_formats("use expiration\ndefinition doc {\n"
                   "\trelation rrr: doc with cav and expiration | doc with a/b | doc:* with cav and\n}",
                   "use expiration\n\ndefinition doc {\n"
                   "\trelation rrr: doc with cav and expiration | doc with a/b | doc:* with cav\n}");
}

static void partials_are_spliced_in(void **state)
{
    (void)state;
    assert_formats("use partial\n// lost\npartial one {\n\t// kept\n\trelation rrr: user\n}\n"
                   "definition doc {\n\t...one\n\t// lost\n\t...one;\n\trelation sss: user\n}",
                   "definition doc {\n\t// kept\n\trelation rrr: user\n\n\t// kept\n\trelation rrr: user\n"
                   "\trelation sss: user\n}");
}

static void expressions_have_the_parentheses_that_they_need(void **state)
{
    static const char *const cases[][2] = {
        { "(aaa)", "aaa" },
        { "(aaa + bbb) & ccc", "aaa + bbb & ccc" },
        { "aaa - (bbb + ccc)", "aaa - bbb + ccc" },
        { "aaa - bbb - ccc", "(aaa - bbb) - ccc" },
        { "aaa + (bbb & ccc)", "aaa + (bbb & ccc)" },
        { "(aaa & bbb) - ccc", "(aaa & bbb) - ccc" },
        { "aaa & (bbb & (ccc))", "aaa & bbb & ccc" },
        { "(aaa + (bbb & ccc)) & ddd", "(aaa + (bbb & ccc)) & ddd" },
        { "aaa -> bbb+ccc . any ( ddd )&eee.all(fff)-nil", "(aaa->bbb + ccc.any(ddd) & eee.all(fff)) - nil" },
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        char *text     = repeated("definition doc {\n\tpermission ppp = ", cases[i][0], 1, "\n}\n");
        char *expected = repeated("definition doc {\n\tpermission ppp = ", cases[i][1], 1, "\n}");

        assert_formats(text, expected);
        test_free(text);
        test_free(expected);
    }
}

#define SEVENTY "1234567890123456789012345678901234567890123456789012345678901234567890"

static void comments_are_laid_out_anew(void **state)
{
    static const char *const cases[][2] = {
        { "//one\n", "// one\n" },
        { "//   one  \n// two\n", "// one\n// two\n" },
        { "/// one\n", "// / one\n" },
        { "//\n", "// \n" },
        { "/*one*/", "/* one */\n" },
        { "/**one*/", "/** one */\n" },
        { "/** * one */", "/** one */\n" },
        { "/** ** one */", "/** one */\n" }, /* SpiceDB takes one star each time */
        { "/**/", "/** / */\n" },
        { "/***/", "/**  */\n" },
        { "/*\n one\n*/", "/* one */\n" },
        { "/* " SEVENTY " */", "/* " SEVENTY " */\n" },
        { "/* " SEVENTY "1 */", "/*\n * " SEVENTY "1\n */\n" },
        { "/** * " SEVENTY " */", "/**\n * " SEVENTY "\n */\n" }, /* 72 with its star */
        { "/**\n *                                                                      one */", "/** one */\n" },
        { "/** one\n\t*two\n\n   * * three\n*/", "/**\n * one\n * two\n * \n * * three\n */\n" },
        { "/*****\n* one\n****/", "/**\n * **\n * one\n * **\n */\n" },
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        char *text     = repeated(cases[i][0], "definition user {}", 1, "");
        char *expected = repeated(cases[i][1], "definition user {}", 1, "");

        assert_formats(text, expected);
        test_free(text);
        test_free(expected);
    }
}

static void an_empty_line_stands_before_comments_unless_they_open_the_body(void **state)
{
    (void)state;
    assert_formats("// top\ndefinition doc {\n\n// first\n\n// and\nrelation rrr: user\nrelation sss: user\n"
                   "/* one\ntwo */ permission ppp = rrr\n\n\npermission qqq = rrr\n}\n// last",
                   "// top\ndefinition doc {\n\t// first\n\t// and\n\trelation rrr: user\n\trelation sss: user\n\n"
                   "\t/*\n\t * one\n\t * two\n\t */\n\tpermission ppp = rrr\n\tpermission qqq = rrr\n}");
    assert_formats("definition user {}\n// caveat\ncaveat cav(flag bool) { flag }",
                   "definition user {}\n\n// caveat\ncaveat cav(flag bool) {\n\tflag\n}");
}

static void a_caveat_has_its_parameters_sorted(void **state)
{
    (void)state;
    assert_formats("caveat a / b(zed int, abc list<map<int>>,Bcd any<int>) { zed == 1 }",
                   "caveat a/b(Bcd any, abc list<map<int>>, zed int) {\n\tzed == 1\n}");
}

/* Compared with SpiceDB's ReadSchema. */
static void a_body_is_printed_as_cel_prints_it(void **state)
{
    (void)state;
    assert_formats("caveat cav(flag bool) {\n    flag &&\n      (flag ||\n  \n    flag)   // lost  \n}",
                   "caveat cav(flag bool) {\n\tflag && (flag || flag)\n}");
    assert_formats("caveat cav(num int) {\n// lost\n\t((num+1))*2\r\n\t>=0x1F&&!(num in[1,2,-3]) }",
                   "caveat cav(num int) {\n\t(num + 1) * 2 >= 31 && !(num in [1, 2, -3])\n}");
    assert_formats("caveat cav(num int) { num==1?true:num==2?false:[num].all(x,x>1) }",
                   "caveat cav(num int) {\n\t(num == 1) ? true : ((num == 2) ? false : [num].all(x, x > 1))\n}");
    assert_formats("caveat cav(val map<any>) { has(val.key)&&val [ 'key' ]==b'\\x00a'&&val.?key.orValue(1.50)==2u }",
                   "caveat cav(val map<any>) {\n\thas(val.key) && val[\"key\"] == b\"\\000\\141\" && "
                   "val.?key.orValue(1.5) == 2u\n}");
}

static void a_long_expression_goes_on_in_the_next_line(void **state)
{
    (void)state;
    assert_formats("caveat cav(txt string) { txt.startsWith('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa') && "
                   "txt.endsWith('bbbbbbbbbbbbbbbbbbbbbbbb') && txt.contains('c') }",
                   "caveat cav(txt string) {\n\ttxt.startsWith(\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\") && "
                   "txt.endsWith(\"bbbbbbbbbbbbbbbbbbbbbbbb\") &&\n\ttxt.contains(\"c\")\n}");
}

/* A quote inside a string is written so that the schema's lexer can read it. */
static void strings_are_printed_in_double_quotes(void **state)
{
    (void)state;
    assert_formats("caveat cav(txt string) { txt == \"\"\"one  \n  \xc3\xa9\n\"\"\" || txt == 'a\"b\\\\\"\\\\\\\\' }",
                   "caveat cav(txt string) {\n\ttxt == \"one  \\n  \xc3\xa9\\n\" || txt == "
                   "\"a\\x22b\\\\\\x22\\\\\\\\\"\n}");
    assert_formats("caveat cav(txt string) { txt == r'\\d' || txt == '' || txt == '\"' }",
                   "caveat cav(txt string) {\n\ttxt == \"\\\\d\" || txt == \"\" || txt == \"\\x22\"\n}");
}

/* SpiceDB prints what it could not read, or would read as something else. */
static void what_is_printed_means_the_same(void **state)
{
    (void)state;
    assert_formats("caveat cav(num double) { num < 1e300 || num > -(-5.0) || !(!(num == 1.0)) }",
                   "caveat cav(num double) {\n\tnum < 1e+300 || num > -(-5.0) || !(!(num == 1.0))\n}");
}

/* -------------------------------------------------------------------------- random schemas, by their seed */

typedef struct generator {
    uint64_t seed;
    char     text[1 << 16];
    size_t   size;
} generator;

/* splitmix64 */
static uint64_t next_random(generator *g)
{
    uint64_t z = g->seed += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static size_t below(generator *g, size_t limit)
{
    return (size_t)(next_random(g) % limit);
}

static void emit(generator *g, const char *text)
{
    size_t size = strlen(text);

    assert_true(g->size + size < sizeof g->text);
    memcpy(g->text + g->size, text, size + 1);
    g->size += size;
}

#define EMIT_ONE_OF(g, ...)                                   \
    do {                                                      \
        static const char *const choices[] = { __VA_ARGS__ }; \
        emit((g), choices[below((g), LENGTH(choices))]);      \
    } while (0)

static void emit_name(generator *g)
{
    EMIT_ONE_OF(g, "viewer", "owner", "parent", "any", "a_1", "use", "all");
}

static void emit_blank(generator *g)
{
    EMIT_ONE_OF(g, "", "", " ", "\t", " /* in between */ ");
}

/* Where no statement can end. */
static void emit_break(generator *g)
{
    EMIT_ONE_OF(g, " ", " ", "", "\n", "\r\n\t", " // in between\n");
}

static void emit_comment(generator *g)
{
    if (below(g, 3) == 0) {
        emit(g, "//");
        for (size_t i = below(g, 5); i > 0; i--)
            EMIT_ONE_OF(g, "one", "/", "//", " ", "*", "\t", "\xc2\xa0");
        emit(g, "\n");
        return;
    }
    EMIT_ONE_OF(g, "/*", "/**", "/***");
    for (size_t i = below(g, 8); i > 0; i--)
        EMIT_ONE_OF(g, "one", "*", "***", " ", "\n", "\n\t", "\r\n", "\xc2\xa0", "                                ",
                    "some thirty-four characters at once");
    EMIT_ONE_OF(g, "*/", " */\n", "**/\n\n");
}

static void emit_comments(generator *g)
{
    for (size_t i = below(g, 3); i > 0; i--)
        emit_comment(g);
}

static void emit_expr(generator *g, size_t depth)
{
    if (depth == 0 || below(g, 3) == 0) {
        switch (below(g, 6)) {
        case 0:
            emit(g, "nil");
            break;
        case 1:
            emit(g, "self");
            break;
        case 2:
            emit_name(g);
            emit_blank(g);
            emit(g, "->");
            emit_break(g);
            emit_name(g);
            break;
        case 3:
            emit_name(g);
            EMIT_ONE_OF(g, ".any(", ".all(", " . all (\n");
            emit_name(g);
            emit(g, ")");
            break;
        default:
            emit_name(g);
        }
        return;
    }
    if (below(g, 3) == 0) {
        emit(g, "(");
        emit_break(g);
        emit_expr(g, depth - 1);
        emit_blank(g);
        emit(g, ")");
        return;
    }
    emit_expr(g, depth - 1);
    emit_blank(g);
    EMIT_ONE_OF(g, "+", "&", "-");
    emit_break(g);
    emit_expr(g, depth - 1);
}

static void emit_type(generator *g)
{
    EMIT_ONE_OF(g, "user", "acme/group", "acme /\n sub / group");
    emit_blank(g);
    EMIT_ONE_OF(g, "", "", ":*", ": *", "#member", "# ...");
    emit_blank(g);
    EMIT_ONE_OF(g, "", "", " with cav", " with cav and expiration", " with expiration", " with a / b",
                " with cav and ");
}

static void emit_member(generator *g)
{
    emit_comments(g);
    if (below(g, 2) == 0) {
        emit(g, "relation ");
        emit_name(g);
        emit_blank(g);
        emit(g, ":");
        for (size_t i = below(g, 3) + 1; i > 0; i--) {
            emit_break(g);
            emit_type(g);
            emit(g, i > 1 ? " |" : "");
        }
    } else {
        emit(g, "permission ");
        emit_name(g);
        EMIT_ONE_OF(g, " =", "=", ": user =", " : user | acme =");
        emit_break(g);
        emit_expr(g, below(g, 6));
    }
    EMIT_ONE_OF(g, ";", ";\n", ";;\n\n", " ; // behind\n");
}

static void emit_caveat(generator *g, size_t number)
{
    static const char *const types[] = { "int", "bool", "list<string>", "map<list<any>>", "ipaddress<int>" };
    char                     name[64];

    snprintf(name, sizeof name, "caveat cav%zu(", number);
    emit(g, name);
    for (size_t i = below(g, 4) + 1; i > 0; i--) {
        snprintf(name, sizeof name, "%c%zu %s%s", 'a' + (int)below(g, 26), i, types[below(g, LENGTH(types))],
                 i > 1 ? ",\n" : "");
        emit(g, name);
    }
    emit(g, ") {");
    for (size_t i = below(g, 8) + 1; i > 0; i--) {
        EMIT_ONE_OF(g, "\n", " ", "\n    ", "\n\t\t", "\r\n\t", "\n\n\t  ", " // note  \n");
        EMIT_ONE_OF(g, "true", "(false)", "1+2 == 0x3", "\"text } {\" != 'a\"b'", "{1: 2}[1]==2", "!(5 in [])",
                    "\"\"\"one\n   two \n\"\"\" == r'\\d\"'", "(true ? false : 1.5e300 < -(-2.0))",
                    "[1, 2].exists(x, x == 2 && x > 0)", "b'\\xff' == b\"a\"", "dyn(1) == \"\\u00e9\\n\"");
        EMIT_ONE_OF(g, " && ", " || ", "&&\n", " ||\n\t// note\n");
    }
    emit(g, "true }");
}

static void emit_item(generator *g, size_t number)
{
    char name[64];

    emit_comments(g);
    if (below(g, 4) == 0) {
        emit_caveat(g, number);
    } else {
        snprintf(name, sizeof name, "definition %sdef%zu {", below(g, 3) == 0 ? "acme/" : "", number);
        emit(g, name);
        for (size_t i = below(g, 5); i > 0; i--)
            emit_member(g);
        if (below(g, 3) == 0)
            emit(g, "...part;");
        emit(g, "}");
    }
    EMIT_ONE_OF(g, "\n", " ", ";", "\n\n", "; // behind\n");
}

static void generate(generator *g, uint64_t seed)
{
    g->seed = seed;
    g->size = 0;
    emit(g, "use self use expiration use partial\n");
    emit(g, "partial part {\n");
    emit_member(g);
    emit(g, "}\n");
    for (size_t i = below(g, 6), number = 0; number < i; number++)
        emit_item(g, number);
}

/* -------------------------------------------------------------------------------------- equal schemas */

static bool expr_equal(const lic_ast_expr *a, const lic_ast_expr *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    if (a->kind != b->kind || !lic_str_equal(a->name, b->name) || !lic_str_equal(a->target, b->target) ||
        a->child_count != b->child_count)
        return false;
    for (size_t i = 0; i < a->child_count; i++)
        if (!expr_equal(a->children[i], b->children[i]))
            return false;
    return true;
}

static bool type_equal(const lic_ast_type *a, const lic_ast_type *b)
{
    return lic_str_equal(a->type, b->type) && lic_str_equal(a->relation, b->relation) &&
           lic_str_equal(a->caveat, b->caveat) && a->wildcard == b->wildcard && a->expiration == b->expiration;
}

static bool member_equal(const lic_ast_member *a, const lic_ast_member *b)
{
    if (!lic_str_equal(a->name, b->name) || !expr_equal(a->expr, b->expr) || a->type_count != b->type_count ||
        a->comment_count != b->comment_count)
        return false;
    for (size_t i = 0; i < a->type_count; i++)
        if (!type_equal(&a->types[i], &b->types[i]))
            return false;
    return true;
}

static bool definition_equal(const lic_ast_definition *a, const lic_ast_definition *b)
{
    if (!lic_str_equal(a->name, b->name) || a->comment_count != b->comment_count || a->member_count != b->member_count)
        return false;
    for (size_t i = 0; i < a->member_count; i++)
        if (!member_equal(&a->members[i], &b->members[i]))
            return false;
    return true;
}

static bool caveat_type_equal(const lic_caveat_type *a, const lic_caveat_type *b)
{
    while (a != NULL && b != NULL && a->kind == b->kind) {
        a = a->argument;
        b = b->argument;
    }
    return a == NULL && b == NULL;
}

static void print_body(const lic_ast_caveat *caveat, lic_text *out)
{
    lic_cel_parameter parameters[LIC_MAX_PARAMETERS];
    lic_cel_source    source = lic_expression_source(caveat, parameters);

    assert_int_equal(lic_cel_format(out->memory, &source, out, NULL), LICET_OK);
    assert_false(out->failed);
}

/* The printed form holds the whole tree. */
static bool body_equal(const lic_ast_caveat *a, const lic_ast_caveat *b)
{
    lic_memory memory;
    lic_text   text_a, text_b;
    bool       equal;

    lic_memory_init(&memory, NULL, SIZE_MAX);
    lic_text_init(&text_a, &memory);
    lic_text_init(&text_b, &memory);
    print_body(a, &text_a);
    print_body(b, &text_b);
    equal = lic_str_equal(lic_text_str(&text_a), lic_text_str(&text_b));
    lic_text_free(&text_a);
    lic_text_free(&text_b);
    return equal;
}

static const lic_ast_parameter *parameter_called(const lic_ast_caveat *caveat, lic_str name)
{
    for (size_t i = 0; i < caveat->parameter_count; i++)
        if (lic_str_equal(caveat->parameters[i].name, name))
            return &caveat->parameters[i];
    return NULL;
}

static bool caveat_equal(const lic_ast_caveat *a, const lic_ast_caveat *b)
{
    if (!lic_str_equal(a->name, b->name) || a->comment_count != b->comment_count ||
        a->parameter_count != b->parameter_count || !body_equal(a, b))
        return false;
    for (size_t i = 0; i < a->parameter_count; i++) {
        const lic_ast_parameter *other = parameter_called(b, a->parameters[i].name);

        if (other == NULL || !caveat_type_equal(a->parameters[i].type, other->type))
            return false;
    }
    return true;
}

static bool ast_equal(const lic_ast *a, const lic_ast *b)
{
    if (a->item_count != b->item_count)
        return false;
    for (size_t i = 0; i < a->item_count; i++) {
        const lic_ast_item *left  = &a->items[i];
        const lic_ast_item *right = &b->items[i];

        if ((left->definition == NULL) != (right->definition == NULL) ||
            !(left->definition != NULL ? definition_equal(left->definition, right->definition)
                                       : caveat_equal(left->caveat, right->caveat)))
            return false;
    }
    return true;
}

#define RANDOM_SCHEMAS 3000

static void what_is_formatted_parses_to_the_same_and_formats_to_itself(void **state)
{
    generator *g        = test_malloc(sizeof *g);
    size_t     accepted = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= RANDOM_SCHEMAS; seed++) {
        parsed   first, second;
        lic_text once, twice;

        generate(g, seed);
        parsed_make(&first, g->text, NULL);
        if (first.status != LICET_OK)
            print_error("seed %llu: %.*s\n%s\n", (unsigned long long)seed,
                        LIC_STR_ARG(licet_error_message(first.error)), g->text);
        assert_int_equal(first.status, LICET_OK);
        accepted += first.ast->item_count;
        lic_text_init(&once, &first.memory);
        format(&first, &once);
        parsed_make(&second, once.data, NULL);
        if (second.status != LICET_OK || !ast_equal(first.ast, second.ast))
            print_error("seed %llu:\n%s\n----\n%s\n", (unsigned long long)seed, g->text, once.data);
        assert_int_equal(second.status, LICET_OK);
        assert_true(ast_equal(first.ast, second.ast));
        lic_text_init(&twice, &second.memory);
        format(&second, &twice);
        assert_string_equal(twice.data, once.data);
        lic_text_free(&once);
        lic_text_free(&twice);
        parsed_clear(&first);
        parsed_clear(&second);
    }
    assert_true(accepted > RANDOM_SCHEMAS);
    test_free(g);
}

static void formatting_survives_every_failed_allocation(void **state)
{
    static const char text[] =
        "use self\n// one\ndefinition doc {\n\trelation aaa: doc\n"
        "\tpermission bbb = (aaa - (aaa & (aaa - self))) + nil\n}\n"
        "caveat cav(bbb list<int>, aaa int) {\n\taaa == 1 || bbb.exists(x, \"'\" == 'a\"b')\n}\n";
    bool failed = true;

    (void)state;
    for (size_t n = 0; failed; n++) {
        failing_memory memory = fail_after(n);
        lic_memory     from;
        lic_text       out;
        parsed         p;

        lic_memory_init(&from, &memory.allocator, SIZE_MAX);
        parsed_make(&p, text, NULL);
        lic_text_init(&out, &from);
        lic_format(p.ast, &out);
        failed = out.failed;
        assert_int_equal(failed, memory.counts->failures > 0);
        lic_text_free(&out);
        parsed_clear(&p);
        assert_int_equal(memory.counts->live_blocks, 0);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(definitions_have_one_line_per_member),
        cmocka_unit_test(flags_are_printed_when_they_are_needed),
        cmocka_unit_test(partials_are_spliced_in),
        cmocka_unit_test(expressions_have_the_parentheses_that_they_need),
        cmocka_unit_test(comments_are_laid_out_anew),
        cmocka_unit_test(an_empty_line_stands_before_comments_unless_they_open_the_body),
        cmocka_unit_test(a_caveat_has_its_parameters_sorted),
        cmocka_unit_test(a_body_is_printed_as_cel_prints_it),
        cmocka_unit_test(a_long_expression_goes_on_in_the_next_line),
        cmocka_unit_test(strings_are_printed_in_double_quotes),
        cmocka_unit_test(what_is_printed_means_the_same),
        cmocka_unit_test(what_is_formatted_parses_to_the_same_and_formats_to_itself),
        cmocka_unit_test(formatting_survives_every_failed_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

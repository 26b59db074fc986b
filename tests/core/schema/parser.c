/* core/schema/parser*.c, splice.c, comments.c, names.c: what is accepted, what is refused and where, and what the
 * AST then says. Positions are those of a running SpiceDB. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "schema/limits.h"

#include "failing_memory.h"
#include "parsed.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

typedef struct refusal {
    const char *text;
    licet_kind  kind;
    uint32_t    line;
    uint32_t    column;
    const char *message;
} refusal;

static void assert_all_refused(const refusal *refusals, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_refuses(refusals[i].text, refusals[i].kind, refusals[i].line, refusals[i].column, refusals[i].message);
}

#define DOC "definition doc {\n"
#define ENTRY_EXPECTED "expected a relation, a permission or \"}\", found "
#define END_EXPECTED "expected the end of the statement, found "
#define START_OF_LINE " at the start of a line; put it at the end of the line before"
#define THIS_LINE "found the end of the line; put it on this line"
#define RELATION_RULE "3 to 64 of a-z, 0-9 and \"_\", beginning with a letter, not ending in \"_\""
#define TYPE_RULE \
    "each part has 3 to 64 of a-z, 0-9 and \"_\", begins with a letter, does not end in \"_\"; 128 bytes in all"

static void a_body_is_refused_at_the_first_token_that_does_not_fit(void **state)
{
    static const refusal refusals[] = {
        { DOC "\tpermission ppp = aaa\n + bbb\n}\n", LICET_KIND_SYNTAX, 3, 2, ENTRY_EXPECTED "\"+\"" START_OF_LINE },
        { DOC "\tpermission ppp = (aaa + bbb\n)\n}\n", LICET_KIND_SYNTAX, 2, 29,
          "expected \")\", found the end of the line; put it on the same line, or end the line in an operator" },
        { DOC "\tpermission ppp = aaa\n->bbb\n}\n", LICET_KIND_SYNTAX, 3, 1, ENTRY_EXPECTED "\"->\"" START_OF_LINE },
        { DOC "\tpermission ppp = aaa.any(bbb\n)\n}\n", LICET_KIND_SYNTAX, 2, 30, "expected \")\", " THIS_LINE },
        { DOC "\trelation rrr: user\n | group\n}\n", LICET_KIND_SYNTAX, 3, 2, ENTRY_EXPECTED "\"|\"" START_OF_LINE },
        { DOC "\trelation\n rrr: user\n}\n", LICET_KIND_SYNTAX, 2, 10,
          "expected the name of the relation, " THIS_LINE },
        { DOC "\trelation rrr: user with\n cav\n}\n", LICET_KIND_SYNTAX, 2, 25,
          "expected the name of a caveat after \"with\", " THIS_LINE },
        { DOC "\trelation rrr: user#...\nrelation sss: user\n}\n", LICET_KIND_SYNTAX, 3, 1,
          END_EXPECTED "the keyword \"relation\"; put \";\" before it (a new line is not enough after \"...\")" },
        { DOC "\trelation rrr: user }\n}\n", LICET_KIND_SYNTAX, 2, 21,
          END_EXPECTED "\"}\"; put \";\" or a new line before it" },
        { DOC "\trelation rrr: user; definition\n}\n", LICET_KIND_SYNTAX, 2, 22,
          ENTRY_EXPECTED "the keyword \"definition\"" },
        { DOC "\trelation rrr user\n}\n", LICET_KIND_SYNTAX, 2, 15, "expected \":\", found \"user\"" },
        { DOC "\tpermission = aaa\n}\n", LICET_KIND_SYNTAX, 2, 13, "expected the name of the permission, found \"=\"" },
        { DOC "\tpermission ppp aaa\n}\n", LICET_KIND_SYNTAX, 2, 17, "expected \"=\", found \"aaa\"" },
        { DOC "\tpermission ppp =\n\n}\n", LICET_KIND_SYNTAX, 4, 1,
          "expected the permission's expression, found \"}\"" },
        { DOC "\tpermission ppp = aaa +\n}\n", LICET_KIND_SYNTAX, 3, 1,
          "expected a name, \"nil\" or \"(\" after the operator, found \"}\"" },
        { DOC "\tpermission ppp = ()\n}\n", LICET_KIND_SYNTAX, 2, 20,
          "expected the permission's expression, found \")\"" },
        { DOC "\tpermission ppp = aaa & & bbb\n}\n", LICET_KIND_SYNTAX, 2, 25,
          "expected a name, \"nil\" or \"(\" after the operator, found \"&\"" },
        { DOC "\tpermission ppp = (aaa + bbb)->ccc\n}\n", LICET_KIND_SYNTAX, 2, 30, END_EXPECTED "\"->\"" },
        { DOC "\tpermission ppp = nil->ccc\n}\n", LICET_KIND_SYNTAX, 2, 22, END_EXPECTED "\"->\"" },
        { DOC "\tpermission ppp = aaa.some(bbb)\n}\n", LICET_KIND_SYNTAX, 2, 27,
          "expected \"any\" or \"all\" after \".\", found \"some\"" },
        { DOC "\tpermission ppp = aaa.any bbb\n}\n", LICET_KIND_SYNTAX, 2, 27, "expected \"(\", found \"bbb\"" },
        { DOC "\tpermission ppp = aaa.any()\n}\n", LICET_KIND_SYNTAX, 2, 27,
          "expected the name of a relation or permission, found \")\"" },
        { DOC "\tpermission ppp = aaa->\n}\n", LICET_KIND_SYNTAX, 3, 1,
          "expected the name of a relation or permission after \"->\", found \"}\"" },
        { DOC "\tpermission ppp = aaa bbb\n}\n", LICET_KIND_SYNTAX, 2, 23, END_EXPECTED "\"bbb\"" },
        { DOC "\tpermission ppp = aaa || bbb\n}\n", LICET_KIND_SYNTAX, 2, 23, END_EXPECTED "\"||\"" },
        { DOC "\tpermission ppp: = aaa\n}\n", LICET_KIND_SYNTAX, 2, 18, "expected the name of a type, found \"=\"" },
        { DOC "\tpermission ppp: user | = aaa\n}\n", LICET_KIND_SYNTAX, 2, 25,
          "expected the name of a type, found \"=\"" },
        { DOC "\tpermission ppp:: user = aaa\n}\n", LICET_KIND_SYNTAX, 2, 17,
          "expected the name of a type, found \":\"" },
        { DOC "\tpermission ppp: user#member = aaa\n}\n", LICET_KIND_SYNTAX, 2, 22, "expected \"=\", found \"#\"" },
        { DOC "\trelation rrr: \n}\n", LICET_KIND_SYNTAX, 3, 1,
          "expected the type that the relation allows, found \"}\"" },
        { DOC "\trelation rrr: user |\n}\n}\n", LICET_KIND_SYNTAX, 3, 1,
          "expected the type that the relation allows, found \"}\"" },
        { DOC "\trelation rrr: user:xxx\n}\n", LICET_KIND_SYNTAX, 2, 21,
          "expected \"*\", found \"xxx\"; \"user:*\" allows everyone, \"user\" one at a time" },
        { DOC "\trelation rrr: user:*#member\n}\n", LICET_KIND_SYNTAX, 2, 22, END_EXPECTED "\"#\"" },
        { DOC "\trelation rrr: user#\n}\n", LICET_KIND_SYNTAX, 3, 1,
          "expected the name of a relation, or \"...\", after \"#\", found \"}\"" },
        { DOC "\trelation rrr: user#*\n}\n", LICET_KIND_SYNTAX, 2, 21,
          "expected the name of a relation, or \"...\", after \"#\", found \"*\"" },
        { DOC "\trelation rrr: user with\n}\n", LICET_KIND_SYNTAX, 2, 25,
          "expected the name of a caveat after \"with\", " THIS_LINE },
        { DOC "\trelation rrr: user with cav and expiration\n}\n", LICET_KIND_SYNTAX, 2, 30,
          END_EXPECTED "\"and\"; say \"use expiration\" at the top of the file to write \"and expiration\"" },
        { DOC "\trelation rrr: user/\n}\n", LICET_KIND_SYNTAX, 3, 1,
          "expected the rest of the name after \"/\", found \"}\"" },
        { DOC "\trelation nil: user\n}\n", LICET_KIND_SYNTAX, 2, 11,
          "expected the name of the relation, found the keyword \"nil\"" },
        { DOC "\trelation relation: user\n}\n", LICET_KIND_SYNTAX, 2, 11,
          "expected the name of the relation, found the keyword \"relation\"" },
        { DOC "\t..foo\n}\n", LICET_KIND_SYNTAX, 2, 2,
          ENTRY_EXPECTED "\".\"; the contents of a partial are asked for with \"...NAME\"" },
        { DOC "\t...\n}\n", LICET_KIND_SYNTAX, 3, 1, "expected the name of a partial, found \"}\"" },
        { DOC "\t...foo/bar\n}\n", LICET_KIND_SYNTAX, 2, 8, END_EXPECTED "\"/\"" },
        { DOC "\trelation rrr: user @\n}\n", LICET_KIND_SYNTAX, 2, 21,
          END_EXPECTED "\"@\" (U+0040), which the language does not have" },
        { DOC "\trelation rrr: 'user'\n}\n", LICET_KIND_SYNTAX, 2, 16,
          "expected the type that the relation allows, found \"'user'\"" },
        { DOC "\txyz\n}\n", LICET_KIND_SYNTAX, 2, 2, ENTRY_EXPECTED "\"xyz\"" },
        { DOC "\t/* open\n}\n", LICET_KIND_SYNTAX, 2, 2, "a comment that is not closed: \"*/\" is missing" },
    };

    (void)state;
    assert_all_refused(refusals, LENGTH(refusals));
}

static void an_item_is_refused_at_the_first_token_that_does_not_fit(void **state)
{
    static const refusal refusals[] = {
        { "definition doc\n{\n}", LICET_KIND_SYNTAX, 1, 15, "expected \"{\", " THIS_LINE },
        { "definition\ndoc {}", LICET_KIND_SYNTAX, 1, 11, "expected a name, " THIS_LINE },
        { "definition doc", LICET_KIND_SYNTAX, 1, 15, "expected \"{\", found the end of the text" },
        { "definition doc {", LICET_KIND_SYNTAX, 1, 1,
          "the body of \"doc\" is not closed: \"}\" is missing at the end of the text" },
        { DOC "\trelation rrr: user", LICET_KIND_SYNTAX, 1, 1,
          "the body of \"doc\" is not closed: \"}\" is missing at the end of the text" },
        { "partial foo {}", LICET_KIND_SYNTAX, 1, 1,
          "expected a definition or a caveat, found \"partial\"; say \"use partial\" at the top of the file" },
        { "import 'foo.zed'", LICET_KIND_SYNTAX, 1, 1,
          "expected a definition or a caveat, found \"import\"; say \"use import\" at the top of the file" },
        { "use import\nimport\n'foo.zed'", LICET_KIND_SYNTAX, 2, 7, "expected a path in quotes, " THIS_LINE },
        { "use import\nimport foo", LICET_KIND_SYNTAX, 2, 8, "expected a path in quotes, found \"foo\"" },
        { "use import\nimport 'foo.zed", LICET_KIND_SYNTAX, 2, 8, "a string that is not closed" },
        { "use\nexpiration", LICET_KIND_SYNTAX, 1, 4, "expected the name of a feature, " THIS_LINE },
        { "use", LICET_KIND_SYNTAX, 1, 4, "expected the name of a feature, found the end of the text" },
        { "use 'self'", LICET_KIND_SYNTAX, 1, 5, "expected the name of a feature, found \"'self'\"" },
        { "use nosuch\n", LICET_KIND_SYNTAX, 1, 11,
          "there is no feature \"nosuch\" to use; there are: expiration, import, partial, self, typechecking" },
        { "use definition\n", LICET_KIND_SYNTAX, 1, 15,
          "there is no feature \"definition\" to use; there are: expiration, import, partial, self, typechecking" },
        { "use and", LICET_KIND_SYNTAX, 1, 8,
          "there is no feature \"and\" to use; there are: expiration, import, partial, self, typechecking" },
        { "definition user {}\nuse self\n", LICET_KIND_SYNTAX, 2, 9,
          "\"use\" must stand before the first definition or caveat; move \"use self\" up" },
        { "definition user {} ;; definition bot {}", LICET_KIND_SYNTAX, 1, 21,
          "expected a definition or a caveat, found \";\"" },
        { "definition user {};;", LICET_KIND_SYNTAX, 1, 20, "expected a definition or a caveat, found \";\"" },
        { "definition user {}}", LICET_KIND_SYNTAX, 1, 19,
          "expected a definition or a caveat, found \"}\"; there is one \"}\" more than \"{\"" },
        { "relation rrr: user", LICET_KIND_SYNTAX, 1, 1,
          "expected a definition or a caveat, found the keyword \"relation\"" },
        { "(", LICET_KIND_SYNTAX, 1, 1, "expected a definition or a caveat, found \"(\"" },
        { "@", LICET_KIND_SYNTAX, 1, 1,
          "expected a definition or a caveat, found \"@\" (U+0040), which the language does not have" },
        { "'abc", LICET_KIND_SYNTAX, 1, 1, "a string that is not closed" },
        { "/* open", LICET_KIND_SYNTAX, 1, 1, "a comment that is not closed: \"*/\" is missing" },
        { "definition /* x */ {}", LICET_KIND_SYNTAX, 1, 20, "expected a name, found \"{\"" },
        { "definition doc/ {}", LICET_KIND_SYNTAX, 1, 17, "expected the rest of the name after \"/\", found \"{\"" },
        { "definition 'doc' {}", LICET_KIND_SYNTAX, 1, 12, "expected a name, found \"'doc'\"" },
        { "use expiration\ndefinition doc {\n\trelation rrr: user with expiration and cav\n}", LICET_KIND_SYNTAX, 3, 37,
          "the caveat must stand before expiration: write \"with NAME and expiration\"" },
        { "use expiration\ndefinition doc {\n\trelation and: user\n}", LICET_KIND_SYNTAX, 3, 11,
          "expected the name of the relation, found the keyword \"and\"" },
        { "use self\ndefinition doc {\n\trelation self: user\n}", LICET_KIND_SYNTAX, 3, 11,
          "expected the name of the relation, found the keyword \"self\"" },
        { "use typechecking\ncaveat foo(typechecking int) { true }", LICET_KIND_SYNTAX, 2, 12,
          "expected the name of a parameter, found the keyword \"typechecking\"" },
        { "partial", LICET_KIND_SYNTAX, 1, 1,
          "expected a definition or a caveat, found \"partial\"; say \"use partial\" at the top of the file" },
        { "caveat only() { true }", LICET_KIND_SYNTAX, 1, 13, "expected the name of a parameter, found \")\"" },
        { "caveat only(flag bool)\n{ flag }", LICET_KIND_SYNTAX, 1, 23, "expected \"{\", " THIS_LINE },
        { "caveat only(flag bool\n) { flag }", LICET_KIND_SYNTAX, 1, 22, "expected \")\", " THIS_LINE },
        { "caveat only\n(flag bool) { flag }", LICET_KIND_SYNTAX, 1, 12, "expected \"(\", found the end of the line" },
        { "caveat only(flag bool) {}", LICET_KIND_SYNTAX, 1, 25, "expected the caveat's expression, found \"}\"" },
        { "caveat only(flag bool) {\n\t// nothing\n}", LICET_KIND_SYNTAX, 3, 1,
          "expected the caveat's expression, found \"}\"" },
        { "caveat only(flag) { true }", LICET_KIND_SYNTAX, 1, 17, "expected a type, found \")\"" },
        { "caveat only(flag bool,) { true }", LICET_KIND_SYNTAX, 1, 23,
          "expected the name of a parameter, found \")\"" },
        { "caveat only(flag list<>) { true }", LICET_KIND_SYNTAX, 1, 23, "expected a type, found \">\"" },
        { "caveat only(flag list<int) { true }", LICET_KIND_SYNTAX, 1, 26, "expected \">\", found \")\"" },
        { "caveat only(flag bool { true }", LICET_KIND_SYNTAX, 1, 23, "expected \")\", found \"{\"" },
        { "caveat only(nil bool) { true }", LICET_KIND_SYNTAX, 1, 13,
          "expected the name of a parameter, found the keyword \"nil\"" },
        { "caveat only(flag bool) { flag @ }", LICET_KIND_SYNTAX, 1, 31,
          "expected \"}\", found \"@\" (U+0040), which the language does not have" },
        { "caveat only(flag bool) { flag == \"a\\\"b\" }", LICET_KIND_SYNTAX, 1, 39, "a string that is not closed" },
        { "caveat only(flag bool) { { }", LICET_KIND_SYNTAX, 1, 29, "expected \"}\", found the end of the text" },
        { "caveat only(flag bool) { flag", LICET_KIND_SYNTAX, 1, 30, "expected \"}\", found the end of the text" },
        { "caveat", LICET_KIND_SYNTAX, 1, 7, "expected the name of the caveat, found the end of the text" },
        { "caveat only", LICET_KIND_SYNTAX, 1, 12, "expected \"(\", found the end of the text" },
        { "caveat 1/", LICET_KIND_SYNTAX, 1, 10,
          "expected the rest of the name after \"/\", found the end of the text" },
        { "caveat only(flag definition) { true }", LICET_KIND_SYNTAX, 1, 18,
          "expected a type, found the keyword \"definition\"" },
    };

    (void)state;
    assert_all_refused(refusals, LENGTH(refusals));
}

static void what_parses_may_be_refused_for_its_names_partials_and_types(void **state)
{
    static const refusal refusals[] = {
        { "definition user {} definition user {}", LICET_KIND_NAME, 1, 20,
          "there is another definition or caveat called \"user\"" },
        { "caveat user(aaa int) { aaa == 1 }\ndefinition user {}", LICET_KIND_NAME, 2, 1,
          "there is another definition or caveat called \"user\"" },
        { "definition user {}\ncaveat user(aaa int) { aaa == 1 }", LICET_KIND_NAME, 2, 1,
          "there is another definition or caveat called \"user\"" },
        { "use partial\npartial foo {}\ndefinition foo {}", LICET_KIND_NAME, 3, 1,
          "the definition \"foo\" has the name of a partial" },
        { "use partial\ndefinition foo {}\npartial foo {}", LICET_KIND_NAME, 2, 1,
          "the definition \"foo\" has the name of a partial" },
        { "use partial\npartial foo {}\ncaveat foo(aaa int) { aaa == 1 }", LICET_KIND_NAME, 3, 1,
          "the caveat \"foo\" has the name of a partial" },
        { "definition Foo {}", LICET_KIND_VALUE, 1, 1, "the definition's name \"Foo\" is not usable: " TYPE_RULE },
        { "definition ab {}", LICET_KIND_VALUE, 1, 1, "the definition's name \"ab\" is not usable: " TYPE_RULE },
        { "definition 0day {}", LICET_KIND_VALUE, 1, 1, "the definition's name \"0day\" is not usable: " TYPE_RULE },
        { "definition foo_ {}", LICET_KIND_VALUE, 1, 1, "the definition's name \"foo_\" is not usable: " TYPE_RULE },
        { "definition foo/ab {}", LICET_KIND_VALUE, 1, 1,
          "the definition's name \"foo/ab\" is not usable: " TYPE_RULE },
        { "definition foo//bar {}", LICET_KIND_SYNTAX, 1, 23, "expected \"{\", found the end of the text" },
        { "definition Ab {\n\trelation xy: user\n}", LICET_KIND_VALUE, 2, 2,
          "the relation's name \"xy\" is not usable: " RELATION_RULE },
        { DOC "\trelation Vw: user\n}", LICET_KIND_VALUE, 2, 2,
          "the relation's name \"Vw\" is not usable: " RELATION_RULE },
        { DOC "\trelation ab: user\n}", LICET_KIND_VALUE, 2, 2,
          "the relation's name \"ab\" is not usable: " RELATION_RULE },
        { DOC "\trelation foo_: user\n}", LICET_KIND_VALUE, 2, 2,
          "the relation's name \"foo_\" is not usable: " RELATION_RULE },
        { DOC "\tpermission ab = nil\n}", LICET_KIND_VALUE, 2, 2,
          "the permission's name \"ab\" is not usable: " RELATION_RULE },
        { DOC "\tpermission view = ab\n}", LICET_KIND_VALUE, 2, 2,
          "in the permission, the name \"ab\" is not usable: " RELATION_RULE },
        { DOC "\tpermission view = abc + Ab->xyz\n}", LICET_KIND_VALUE, 2, 2,
          "in the permission, the name \"Ab\" is not usable: " RELATION_RULE },
        { DOC "\tpermission view = abc->xy\n}", LICET_KIND_VALUE, 2, 2,
          "in the permission, the name \"xy\" is not usable: " RELATION_RULE },
        { DOC "\tpermission view = abc.all(xy)\n}", LICET_KIND_VALUE, 2, 2,
          "in the permission, the name \"xy\" is not usable: " RELATION_RULE },
        { DOC "\trelation viewer: user | User\n}", LICET_KIND_VALUE, 2, 26,
          "the type \"User\" is not usable: " TYPE_RULE },
        { DOC "\trelation viewer: us\n}", LICET_KIND_VALUE, 2, 19, "the type \"us\" is not usable: " TYPE_RULE },
        { DOC "\trelation viewer: user#ab\n}", LICET_KIND_VALUE, 2, 19,
          "the subject relation \"ab\" is not usable: " RELATION_RULE },
        { DOC "\trelation ab: us\n}", LICET_KIND_VALUE, 2, 15, "the type \"us\" is not usable: " TYPE_RULE },
        { DOC "\trelation viewer: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/abc\n}",
          LICET_KIND_VALUE, 2, 19,
          "the type \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"... is not "
          "usable: " TYPE_RULE },
        { DOC "\tpermission view = abc + bbb->ccc->ddd\n}", LICET_KIND_TYPE, 2, 26,
          "arrows can not be chained; write the second step as a permission of the type that the first one leads to" },
        { DOC "\tpermission view = (abc - bbb.any(ccc).all(ddd)->eee)\n}", LICET_KIND_TYPE, 2, 27,
          "arrows can not be chained; write the second step as a permission of the type that the first one leads to" },
        { DOC "\tpermission ab = bb->cc->dd\n}", LICET_KIND_TYPE, 2, 18,
          "arrows can not be chained; write the second step as a permission of the type that the first one leads to" },
        { "use partial\ndefinition foo {\n\t...missing\n}", LICET_KIND_NAME, 3, 2, "there is no partial \"missing\"" },
        { DOC "\t...missing\n}", LICET_KIND_NAME, 2, 2, "there is no partial \"missing\"" },
        { "use partial\npartial one {\n\t...two\n}\npartial two {\n\t...one\n}\n", LICET_KIND_NAME, 0, 0,
          "partials that are missing, or include each other in a circle: \"two, one\"" },
        { "use partial\npartial one {\n\t...missing\n}\ndefinition user {}", LICET_KIND_NAME, 0, 0,
          "partials that are missing, or include each other in a circle: \"missing\"" },
        { "use partial\npartial one {\n\t...one\n}\n", LICET_KIND_NAME, 0, 0,
          "partials that are missing, or include each other in a circle: \"one\"" },
        { "use partial\npartial one {\n\trelation ab: user\n}\n", LICET_KIND_VALUE, 3, 2,
          "the relation's name \"ab\" is not usable: " RELATION_RULE },
        { "use partial\npartial one {\n\t...two\n\trelation ab: user\n}\npartial two {\n\trelation xy: user\n}\n",
          LICET_KIND_VALUE, 7, 2, "the relation's name \"xy\" is not usable: " RELATION_RULE },
        { "caveat foo(", LICET_KIND_SYNTAX, 1, 1, "caveat \"foo\" must have at least one parameter" },
        { "caveat foo(aaa int,\ndefinition user {}", LICET_KIND_SYNTAX, 1, 1,
          "caveat \"foo\" is not finished: its expression is missing" },
        { "caveat foo(aaa int) {", LICET_KIND_SYNTAX, 1, 1,
          "caveat \"foo\" is not finished: its expression is missing" },
        { "caveat foo(aaa int, aaa int) { true }", LICET_KIND_NAME, 1, 21,
          "caveat \"foo\" has two parameters \"aaa\"" },
        { "caveat foo(aaa foo) { true }", LICET_KIND_TYPE, 1, 12,
          "parameter \"aaa\" of caveat \"foo\": there is no type \"foo\"" },
        { "caveat foo(aaa list) { true }", LICET_KIND_TYPE, 1, 12,
          "parameter \"aaa\" of caveat \"foo\": the type \"list\" takes 1 type in \"<>\", found 0" },
        { "caveat foo(aaa map<int, int>) { true }", LICET_KIND_TYPE, 1, 12,
          "parameter \"aaa\" of caveat \"foo\": the type \"map\" takes 1 type in \"<>\", found 2" },
        { "caveat foo(aaa int<foo>) { true }", LICET_KIND_TYPE, 1, 12,
          "parameter \"aaa\" of caveat \"foo\": there is no type \"foo\"" },
        { "caveat foo(aaa list<list>, bbb bar) { true }", LICET_KIND_TYPE, 1, 12,
          "parameter \"aaa\" of caveat \"foo\": the type \"list\" takes 1 type in \"<>\", found 0" },
        { "caveat foo(aaa any, aaa bar) { true }", LICET_KIND_NAME, 1, 21,
          "caveat \"foo\" has two parameters \"aaa\"" },
        { "caveat foo(aaa List<int>) { true }", LICET_KIND_TYPE, 1, 12,
          "parameter \"aaa\" of caveat \"foo\": there is no type \"List\"" },
        { "use import\nimport 'foo.zed'", LICET_KIND_CONFIG, 2, 1,
          "imports are not allowed here: there is no folder to import from" },
        { "use import\ndefinition user {}\nimport 'foo.zed'\nimport 'bar.zed'", LICET_KIND_CONFIG, 3, 1,
          "imports are not allowed here: there is no folder to import from" },
        { "definition user {}\n\ndefinition gr\xc3\xbc\xc3\x9f {}", LICET_KIND_VALUE, 3, 1,
          "the definition's name \"gr\xc3\xbc\xc3\x9f\" is not usable: " TYPE_RULE },
        { "/* \xc3\xa9\xc3\xa9 */ definition doc\n{", LICET_KIND_SYNTAX, 1, 24, "expected \"{\", " THIS_LINE },
    };

    (void)state;
    assert_all_refused(refusals, LENGTH(refusals));
}

static void errors_of_this_stage_carry_their_reason(void **state)
{
    parsed p;

    (void)state;
    parsed_make(&p, "definition", NULL);
    assert_true(lic_str_equal(licet_error_reason(p.error), LIC_STR("SCHEMA_PARSE_ERROR")));
    parsed_clear(&p);
}

static void a_syntax_error_is_told_before_a_bad_name_above_it(void **state)
{
    (void)state;
    assert_refuses("definition Ab {}\ndefinition", LICET_KIND_SYNTAX, 2, 11,
                   "expected a name, found the end of the text");
    assert_refuses("definition Ab {}\nuse partial\npartial Cd {\n", LICET_KIND_SYNTAX, 2, 12,
                   "\"use\" must stand before the first definition or caveat; move \"use partial\" up");
}

static void partials_are_checked_before_definitions_above_them(void **state)
{
    (void)state;
    assert_refuses("use partial\ndefinition Ab {}\npartial foo {\n\trelation xy: user\n}", LICET_KIND_VALUE, 4, 2,
                   "the relation's name \"xy\" is not usable: " RELATION_RULE);
    assert_refuses("use partial\ndefinition foo {\n\t...bar\n}\npartial baz {\n\t...nope\n}", LICET_KIND_NAME, 0, 0,
                   "partials that are missing, or include each other in a circle: \"nope\"");
}

static void these_are_accepted(void **state)
{
    static const char *const texts[] = {
        "",
        "\n\n \t\r\n",
        ";",
        "// only a comment",
        "use self",
        "use expiration use self use import use partial use typechecking",
        "use expiration\nuse expiration\n",
        "definition user {}",
        "definition user {};",
        "; definition user {} definition bot {}",
        "definition user {\n}\n",
        "definition acme/user {}\ndefinition acme / sub /\n doc {}",
        "definition aaa/bbb/ccc/ddd/eee {}",
        "definition use {\n\trelation use: use\n\trelation any: use\n\trelation all: use\n}",
        DOC "\trelation self: doc\n\trelation expiration: doc\n\trelation and: doc\n\trelation partial: doc\n}",
        DOC "\tpermission ppp = aaa +\n bbb\n}",
        DOC "\tpermission ppp = (\naaa + bbb)\n}",
        DOC "\tpermission ppp =\n aaa\n}",
        DOC "\tpermission ppp = aaa->\nbbb\n}",
        DOC "\tpermission ppp = aaa . any (\nbbb)\n}",
        DOC "\trelation rrr: user |\n group\n}",
        DOC "\trelation rrr:\n user\n}",
        DOC "\trelation rrr: user#...; relation sss: user\n}",
        DOC "\trelation rrr: user#... | user\n}",
        DOC "\trelation rrr: user : * | user # member | acme / user\n}",
        DOC "\trelation rrr: user;;;\n\n;\n}",
        DOC "\trelation rrr: user:*\n\trelation sss: user\n}",
        DOC "\trelation rrr: user; }",
        DOC "\tpermission ppp: user | bot | nosuch = aaa\n}",
        "use expiration\n" DOC "\trelation rrr: user with expiration | user:* with cav and expiration\n}",
        "use expiration\n" DOC "\trelation rrr: user with cav and\n\trelation sss: user with cav and | group\n}",
        DOC "\trelation rrr: user with expiration\n}",
        DOC "\trelation rrr: user with 1/\xc3\xa9/x\n}",
        "use self\n" DOC "\tpermission ppp = self - nil\n}",
        "use partial\npartial foo {}\nuse self\npartial bar {\n\tpermission ppp = self\n}",
        "use partial\npartial foo/bar {}\npartial X {}",
        "use partial\npartial foo {}\npartial foo {}",
        "use partial\npartial foo {\n\t...foo\n}\npartial foo {}\n" DOC "\t...foo\n}",
        "caveat only(\nflag bool,\nother list<int>\n) { flag }",
        "caveat 1(x any) { x == 1 }",
        "caveat only(flag int<string>, other any<list<int>, map<any>>) { flag == 1 }",
        "caveat only(flag bool) { {\"}\": flag}['}'] }",
        "use import",
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(texts); i++)
        assert_parses(texts[i]);
}

/* ------------------------------------------------------------------------------------------ the AST */

static lic_ast_definition *definition_at(const parsed *p, size_t index)
{
    assert_true(index < p->ast->item_count);
    assert_non_null(p->ast->items[index].definition);
    return p->ast->items[index].definition;
}

static void assert_str(lic_str actual, const char *expected)
{
    if (expected == NULL) {
        assert_false(lic_str_given(actual));
        return;
    }
    assert_int_equal(actual.size, strlen(expected));
    assert_memory_equal(actual.data, expected, actual.size);
}

static void assert_place(const parsed *p, lic_place place, uint32_t line, uint32_t column)
{
    lic_position position = lic_ast_position(p->ast, place);

    assert_int_equal(position.line, line);
    assert_int_equal(position.column, column);
}

/* "(- (+ aaa bbb) ccc->ddd)": operations in front. */
static void print_expr(const lic_ast_expr *expr, lic_text *out)
{
    static const char *const operators[] = { "+", "&", "-", "", "->", ".any ", ".all ", "nil", "self" };
    const char              *operator= operators[expr->kind];

    if (expr->child_count > 0) {
        lic_text_add_char(out, '(');
        lic_text_add_char(out, operator[0]);
        for (size_t i = 0; i < expr->child_count; i++) {
            lic_text_add_char(out, ' ');
            print_expr(expr->children[i], out);
        }
        lic_text_add_char(out, ')');
        return;
    }
    lic_text_add(out, expr->name);
    lic_text_add(out, (lic_str){ operator, strlen(operator) });
    lic_text_add(out, expr->target);
}

static void assert_tree(const char *expression, const char *tree)
{
    char    *text = repeated("use self\ndefinition doc {\n\tpermission ppp = ", expression, 1, "\n}\n");
    parsed   p;
    lic_text out;

    parsed_make(&p, text, NULL);
    assert_int_equal(p.status, LICET_OK);
    lic_text_init(&out, &p.memory);
    print_expr(definition_at(&p, 0)->members[0].expr, &out);
    lic_text_add_char(&out, '\0');
    assert_false(out.failed);
    assert_string_equal(out.data, tree);
    lic_text_free(&out);
    parsed_clear(&p);
    test_free(text);
}

static void plus_binds_tighter_than_and_and_that_tighter_than_minus(void **state)
{
    static const char *const trees[][2] = {
        { "aaa", "aaa" },
        { "(((aaa)))", "aaa" },
        { "aaa + bbb & ccc", "(& (+ aaa bbb) ccc)" },
        { "aaa & bbb + ccc", "(& aaa (+ bbb ccc))" },
        { "aaa - bbb + ccc", "(- aaa (+ bbb ccc))" },
        { "aaa + bbb - ccc", "(- (+ aaa bbb) ccc)" },
        { "aaa - bbb & ccc", "(- aaa (& bbb ccc))" },
        { "aaa & bbb - ccc", "(- (& aaa bbb) ccc)" },
        { "aaa - bbb - ccc", "(- (- aaa bbb) ccc)" },
        { "aaa - (bbb - ccc)", "(- aaa (- bbb ccc))" },
        { "aaa + bbb & ccc + ddd - eee & fff", "(- (& (+ aaa bbb) (+ ccc ddd)) (& eee fff))" },
        { "aaa + (bbb & ccc)", "(+ aaa (& bbb ccc))" },
        { "(aaa - bbb) + ccc", "(+ (- aaa bbb) ccc)" },
        { "nil - self", "(- nil self)" },
        { "aaa->bbb + ccc.any(ddd) & eee.all(fff)", "(& (+ aaa->bbb ccc.any ddd) eee.all fff)" },
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(trees); i++)
        assert_tree(trees[i][0], trees[i][1]);
}

static void unions_and_intersections_are_flat_through_parentheses(void **state)
{
    static const char *const trees[][2] = {
        { "aaa + bbb + ccc", "(+ aaa bbb ccc)" },
        { "aaa + (bbb + ccc) + ddd", "(+ aaa bbb ccc ddd)" },
        { "(aaa + bbb) + (ccc + ddd)", "(+ aaa bbb ccc ddd)" },
        { "((aaa + (bbb + (ccc)))) + ddd", "(+ aaa bbb ccc ddd)" },
        { "aaa & (bbb & (ccc & ddd)) & eee", "(& aaa bbb ccc ddd eee)" },
        { "aaa + (bbb & (ccc & ddd))", "(+ aaa (& bbb ccc ddd))" },
        { "(aaa & bbb) + (ccc & (ddd & eee)) + (fff + ggg)", "(+ (& aaa bbb) (& ccc ddd eee) fff ggg)" },
        { "(aaa + (bbb & (ccc + (ddd + eee))))", "(+ aaa (& bbb (+ ccc ddd eee)))" },
        { "(aaa - bbb) - (ccc - ddd)", "(- (- aaa bbb) (- ccc ddd))" },
        { "(aaa + (bbb + ccc)) - (ddd + (eee + fff))", "(- (+ aaa bbb ccc) (+ ddd eee fff))" },
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(trees); i++)
        assert_tree(trees[i][0], trees[i][1]);
}

static void a_type_says_what_was_written(void **state)
{
    static const struct {
        const char *type, *relation, *caveat;
        bool        wildcard, expiration;
        uint32_t    column;
    } expected[] = {
        { "user", NULL, NULL, false, false, 16 }, { "user", NULL, NULL, false, false, 23 },
        { "user", NULL, "cav", true, true, 34 },  { "acme/group", "member", "a/b", false, false, 67 },
        { "user", NULL, NULL, false, true, 97 },
    };
    parsed          p;
    lic_ast_member *relation;

    (void)state;
    parsed_make(&p,
                "use expiration\n" DOC "\trelation rrr: user | user#... | user:* with cav and expiration | "
                "acme/ group#member with a /b| user with expiration\n}",
                NULL);
    assert_int_equal(p.status, LICET_OK);
    relation = &definition_at(&p, 0)->members[0];
    assert_null(relation->expr);
    assert_int_equal(relation->type_count, LENGTH(expected));
    for (size_t i = 0; i < LENGTH(expected); i++) {
        assert_str(relation->types[i].type, expected[i].type);
        assert_str(relation->types[i].relation, expected[i].relation);
        assert_str(relation->types[i].caveat, expected[i].caveat);
        assert_int_equal(relation->types[i].wildcard, expected[i].wildcard);
        assert_int_equal(relation->types[i].expiration, expected[i].expiration);
        assert_place(&p, relation->types[i].place, 3, expected[i].column);
    }
    assert_false(p.ast->swallowed_and);
    parsed_clear(&p);
}

static void a_swallowed_and_is_noted(void **state)
{
    parsed p;

    (void)state;
    parsed_make(&p, "use expiration\n" DOC "\trelation rrr: user with cav and | group\n}", NULL);
    assert_true(p.ast->swallowed_and);
    assert_place(&p, p.ast->swallowed_and_place, 3, 30);
    assert_int_equal(definition_at(&p, 0)->members[0].type_count, 2);
    assert_str(definition_at(&p, 0)->members[0].types[0].caveat, "cav");
    assert_false(definition_at(&p, 0)->members[0].types[0].expiration);
    parsed_clear(&p);
}

static void places_are_those_of_first_tokens(void **state)
{
    parsed              p;
    lic_ast_definition *definition;
    lic_ast_expr       *expr;

    (void)state;
    parsed_make(&p,
                "/* \xc3\xa9 */ definition doc {\n\trelation rrr: user\n\tpermission ppp = (aaa + bbb) - ccc->ddd\n}",
                NULL);
    definition = definition_at(&p, 0);
    assert_place(&p, definition->place, 1, 9);
    assert_place(&p, definition->members[0].place, 2, 2);
    assert_place(&p, definition->members[1].place, 3, 2);
    expr = definition->members[1].expr;
    assert_place(&p, expr->place, 3, 19);
    assert_place(&p, expr->children[0]->place, 3, 20);
    assert_place(&p, expr->children[0]->children[1]->place, 3, 26);
    assert_place(&p, expr->children[1]->place, 3, 33);
    parsed_clear(&p);
}

static void annotations_are_kept_under_typechecking_only(void **state)
{
    static const char *const texts[] = {
        DOC "\tpermission ppp: user | bot = nil\n\tpermission qqq = nil\n}",
        "use typechecking\n" DOC "\tpermission ppp: user | bot = nil\n\tpermission qqq = nil\n}",
    };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        parsed          p;
        lic_ast_member *members;

        parsed_make(&p, texts[i], NULL);
        members = definition_at(&p, 0)->members;
        assert_int_equal(p.ast->typechecking, i == 1);
        assert_int_equal(members[0].annotated, i == 1);
        assert_int_equal(members[0].annotation_count, i == 1 ? 2 : 0);
        if (i == 1) {
            assert_str(members[0].annotations[0], "user");
            assert_str(members[0].annotations[1], "bot");
        }
        assert_false(members[1].annotated);
        parsed_clear(&p);
    }
}

static void comments_stay_with_the_keyword_that_follows_them(void **state)
{
    parsed              p;
    lic_ast_definition *definition;

    (void)state;
    parsed_make(&p,
                "// lost: use\nuse self\n// one \n/*  two\n\t * more\t\r\n\n  */ definition doc {\n"
                "\t/** three */ // four\r\trelation rrr: user // lost\n"
                "\trelation sss: user; // five\n"
                "\tpermission ppp = /* lost */ rrr\n\t// lost: nothing follows\n}\n"
                "/* six */ caveat cav(/* lost */ flag bool) { /* lost */ flag }",
                NULL);
    assert_int_equal(p.status, LICET_OK);
    definition = definition_at(&p, 0);
    assert_int_equal(definition->comment_count, 2);
    assert_str(definition->comments[0], "// one");
    assert_str(definition->comments[1], "/*  two\n* more\n\n*/");
    assert_int_equal(definition->members[0].comment_count, 2);
    assert_str(definition->members[0].comments[0], "/** three */");
    assert_str(definition->members[0].comments[1], "// four");
    assert_int_equal(definition->members[1].comment_count, 0);
    assert_int_equal(definition->members[2].comment_count, 1);
    assert_str(definition->members[2].comments[0], "// five");
    assert_int_equal(p.ast->items[1].caveat->comment_count, 1);
    assert_str(p.ast->items[1].caveat->comments[0], "/* six */");
    assert_str(p.ast->items[1].caveat->body, "flag");
    parsed_clear(&p);
}

/* SpiceDB: bufio.Scanner's buffer. */
static void a_comment_is_cut_before_a_line_of_64_kib(void **state)
{
    static const struct {
        size_t size;
        size_t kept; /* lines */
    } cases[] = { { 65535, 3 }, { 65536, 1 } };

    (void)state;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        char   *text = repeated("/*\n", "x", cases[i].size, "\n*/ definition doc {}");
        parsed  p;
        lic_str comment;
        size_t  lines = 1;

        parsed_make(&p, text, NULL);
        assert_int_equal(definition_at(&p, 0)->comment_count, 1);
        comment = definition_at(&p, 0)->comments[0];
        for (size_t j = 0; j < comment.size; j++)
            lines += comment.data[j] == '\n' ? 1 : 0;
        assert_int_equal(lines, cases[i].kept);
        parsed_clear(&p);
        test_free(text);
    }
}

static void a_caveat_keeps_its_parameters_and_the_text_of_its_body(void **state)
{
    parsed          p;
    lic_ast_caveat *caveat;
    lic_text        printed;

    (void)state;
    parsed_make(
        &p,
        "definition user {}\n"
        "caveat a/b(zed list<map<ipaddress>>, abc timestamp<int>) {\n\t// lost\n\tzed[0] == {'}': zed[1]}[\"}\"] &&\n"
        "\tabc > abc // kept\n} definition bot {}",
        NULL);
    assert_int_equal(p.status, LICET_OK);
    assert_int_equal(p.ast->item_count, 3);
    assert_int_equal(p.ast->definition_count, 2);
    assert_int_equal(p.ast->caveat_count, 1);
    caveat = p.ast->items[1].caveat;
    assert_str(caveat->name, "a/b");
    assert_place(&p, caveat->place, 2, 1);
    assert_int_equal(caveat->parameter_count, 2);
    assert_str(caveat->parameters[0].name, "zed");
    assert_place(&p, caveat->parameters[0].place, 2, 12);
    assert_str(caveat->parameters[1].name, "abc");
    lic_text_init(&printed, &p.memory);
    lic_caveat_type_print(caveat->parameters[0].type, &printed);
    lic_text_add_char(&printed, ' ');
    lic_caveat_type_print(caveat->parameters[1].type, &printed);
    assert_str(lic_text_str(&printed), "list<map<ipaddress>> timestamp");
    lic_text_free(&printed);
    assert_place(&p, caveat->body_place, 4, 2);
    assert_str(caveat->body, "zed[0] == {'}': zed[1]}[\"}\"] &&\n\tabc > abc // kept\n");
    parsed_clear(&p);
}

static void every_parameter_type_is_known_by_its_name(void **state)
{
    static const char *const names[] = { "any",   "bool",     "string",    "int",       "uint", "double",
                                         "bytes", "duration", "timestamp", "ipaddress", "list", "map" };

    (void)state;
    for (size_t i = 0; i < LENGTH(names); i++) {
        lic_caveat_type_kind kind;
        size_t               arguments;

        assert_true(lic_caveat_type_find((lic_str){ names[i], strlen(names[i]) }, &kind, &arguments));
        assert_int_equal(kind, i);
        assert_int_equal(arguments, i >= LIC_CAVEAT_LIST ? 1 : 0);
    }
}

/* ----------------------------------------------------------------------------------------- partials */

static void assert_members(const parsed *p, size_t index, const char *names)
{
    lic_ast_definition *definition = definition_at(p, index);
    char                all[256]   = "";

    for (size_t i = 0; i < definition->member_count; i++) {
        size_t used = strlen(all);

        assert_true(snprintf(all + used, sizeof all - used, "%s%.*s", i == 0 ? "" : " ",
                             LIC_STR_ARG(definition->members[i].name)) > 0);
    }
    assert_string_equal(all, names);
}

static void a_partial_is_spliced_in_where_it_is_named(void **state)
{
    parsed p;

    (void)state;
    parsed_make(&p,
                "use partial\n"
                "partial one {\n\t// kept\n\trelation aaa: user\n\t...two\n\tpermission bbb = aaa\n}\n"
                "definition doc {\n\trelation ccc: user\n\t...one\n\trelation ddd: user\n\t...two\n}\n"
                "definition org {\n\t...three\n}\n"
                "partial two {\n\trelation eee: user\n}\n"
                "partial three {}\n",
                NULL);
    assert_int_equal(p.status, LICET_OK);
    assert_int_equal(p.ast->item_count, 2);
    assert_members(&p, 0, "ccc aaa eee bbb ddd eee");
    assert_members(&p, 1, "");
    assert_place(&p, definition_at(&p, 0)->members[1].place, 4, 2);
    assert_str(definition_at(&p, 0)->members[1].comments[0], "// kept");
    assert_false(p.ast->repeated_partial);
    parsed_clear(&p);
}

/* SpiceDB keeps partials in a map. Those that are resolved when the later one comes keep the earlier one's. */
static void a_later_partial_of_a_name_takes_the_place_of_the_earlier(void **state)
{
    parsed p;

    (void)state;
    parsed_make(&p,
                "use partial\npartial one {\n\trelation aaa: user\n}\npartial two {\n\t...one\n}\n"
                "partial one {\n\trelation bbb: user\n}\ndefinition doc {\n\t...one\n\t...two\n}\n",
                NULL);
    assert_int_equal(p.status, LICET_OK);
    assert_members(&p, 0, "bbb aaa");
    assert_true(p.ast->repeated_partial);
    assert_place(&p, p.ast->repeated_partial_place, 8, 1);
    parsed_clear(&p);
}

/* Each partial is twice as long as the one before: 2 to the power of 30 in the end. */
static void partials_can_not_grow_without_bound(void **state)
{
    char   text[4096];
    size_t used = (size_t)snprintf(text, sizeof text, "use partial\npartial p0 {\n\trelation aaa: user\n}\n");

    (void)state;
    for (int i = 1; i <= 30; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "partial p%d {\n\t...p%d\n\t...p%d\n}\n", i, i - 1,
                                 i - 1);
    assert_refuses(text, LICET_KIND_LIMIT, 55, 2, "more than 4096 relations and permissions of one type");
}

/* ------------------------------------------------------------------------------------------- limits */

typedef struct limit_case {
    const char *head, *text;
    size_t      count; /* the most that is accepted */
    const char *tail;
    uint32_t    line, column; /* of one more */
    const char *message;
} limit_case;

static void one_over_a_limit_is_refused(void **state)
{
    static const limit_case cases[] = {
        { "definition doc {\n\tpermission ppp = ", "(", LIC_MAX_NESTING, "aaa", 2, 275,
          "more than 256 nested parentheses" },
        { "definition doc {\n\tpermission ppp = aaa", "+aaa", LIC_MAX_OPERANDS - 1, "\n}", 2, 16403,
          "more than 4096 operands in one permission" },
        { "definition doc {\n\tpermission ppp = aaa", "-aaa", LIC_MAX_OPERANDS - 1, "\n}", 2, 16403,
          "more than 4096 operands in one permission" },
        { "definition doc {\n\trelation rrr: aaa", "|aaa", LIC_MAX_ALLOWED_TYPES - 1, "\n}", 2, 4112,
          "more than 1024 types that one relation allows" },
        { "definition doc {\n", "relation aaa:aaa\n", LIC_MAX_MEMBERS, "}", 4098, 1,
          "more than 4096 relations and permissions of one type" },
        { "use partial\npartial aaa {}\ndefinition doc {\n", "...aaa\n", LIC_MAX_MEMBERS, "}", 4100, 1,
          "more than 4096 relations and permissions of one type" },
        { "use partial\n", "partial aaa {}\n", LIC_MAX_DEFINITIONS, "", 4098, 1,
          "more than 4096 definitions, caveats and partials" },
        { "caveat cav(aaa ", "list<", LIC_CAVEAT_MAX_TYPE_NESTING - 1, "", 1, 176,
          "more than 32 nested types in a parameter's type" },
        { "//", "x", LIC_MAX_SCHEMA_BYTES - 2, "", 0, 0, "more than 1048576 bytes of schema" },
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        const limit_case *c    = &cases[i];
        char             *most = repeated(c->head, c->text, c->count, c->tail);
        char             *over = repeated(c->head, c->text, c->count + 1, c->tail);
        parsed            p;

        parsed_make(&p, most, NULL);
        assert_true(p.status == LICET_OK || licet_error_kind(p.error) != LICET_KIND_LIMIT);
        parsed_clear(&p);
        assert_refuses(over, LICET_KIND_LIMIT, c->line, c->column, c->message);
        test_free(most);
        test_free(over);
    }
}

static void a_caveat_has_at_most_64_parameters(void **state)
{
    char   text[2048];
    size_t used = (size_t)snprintf(text, sizeof text, "caveat cav(");

    (void)state;
    for (int i = 0; i < LIC_MAX_PARAMETERS; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%sp%d any", i == 0 ? "" : ",", i);
    snprintf(text + used, sizeof text - used, ") { true }");
    assert_parses(text);
    snprintf(text + used, sizeof text - used, ",pp any) { true }");
    assert_refuses(text, LICET_KIND_LIMIT, 1, (uint32_t)used + 2, "more than 64 parameters of one caveat");
}

static void all_types_together_have_at_most_65536_members(void **state)
{
    char *partial = repeated("use partial\npartial aaa {\n", "relation aaa:aaa\n", LIC_MAX_MEMBERS, "}\n");
    char *most    = repeated(partial, "partial bbb {\n...aaa\n}\n", 15, "");
    char *over    = repeated(partial, "partial bbb {\n...aaa\n}\n", 16, "");

    (void)state;
    assert_parses(most);
    assert_refuses(over, LICET_KIND_LIMIT, 4145, 1, "more than 65536 relations and permissions in all");
    test_free(partial);
    test_free(most);
    test_free(over);
}

/* Nested four thousand levels deep without recursion: left sides of exclusions, and unions inside intersections. */
static void deep_expressions_need_no_deep_stack(void **state)
{
    char  *open = repeated("definition doc {\n\tpermission ppp = ", "(aaa & bbb + ", LIC_MAX_NESTING, "ccc");
    char  *text = repeated(open, ")", LIC_MAX_NESTING, "\n}");
    parsed p;

    (void)state;
    parsed_make(&p, text, NULL);
    assert_int_equal(p.status, LICET_OK);
    assert_int_equal(definition_at(&p, 0)->members[0].expr->kind, LIC_AST_INTERSECTION);
    parsed_clear(&p);
    test_free(open);
    test_free(text);
}

/* ------------------------------------------------------------------------------------------ encoding */

static void a_text_that_is_not_utf8_is_refused_where_it_is_wrong(void **state)
{
    static const struct {
        lic_str     text;
        uint32_t    line, column;
        const char *message;
    } cases[] = {
        { LICET_STR_INIT("definition user {}\n\xc0\xaf\n"), 2, 1, "the schema is not UTF-8: wrong at byte 19" },
        { LICET_STR_INIT("// \xc3\xa9\xed\xa0\x80\n"), 1, 5, "the schema is not UTF-8: wrong at byte 5" },
        { LICET_STR_INIT("// \xf4\x90\x80\x80"), 1, 4, "the schema is not UTF-8: wrong at byte 3" },
        { LICET_STR_INIT("definition user {}\n// \xe2\x82"), 2, 4, "the schema is not UTF-8: wrong at byte 22" },
        { LICET_STR_INIT("definition user {}\0\n"), 1, 19,
          "expected a definition or a caveat, found a NUL, at byte 18" },
        { LICET_STR_INIT("\xef\xbb\xbf"
                         "definition user {}\n"),
          1, 1, "a byte order mark, at byte 0; save the schema as UTF-8 without one" },
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        parsed p;

        parsed_make_with(&p, NULL, cases[i].text, NULL);
        assert_int_equal(p.status, LICET_SCHEMA_ERROR);
        assert_int_equal(licet_error_kind(p.error), LICET_KIND_ENCODING);
        assert_int_equal(licet_error_line(p.error), cases[i].line);
        assert_int_equal(licet_error_column(p.error), cases[i].column);
        assert_str(licet_error_message(p.error), cases[i].message);
        parsed_clear(&p);
    }
}

/* As in SpiceDB. */
static void comments_may_hold_any_character(void **state)
{
    parsed p;

    (void)state;
    parsed_make_with(&p, NULL, LIC_STR("// a\0b\n/* \xe2\x80\xae \xef\xbb\xbf */ definition user {}\n"), NULL);
    assert_int_equal(p.status, LICET_OK);
    assert_true(lic_str_equal(definition_at(&p, 0)->comments[0], LIC_STR("// a\0b")));
    parsed_clear(&p);
}

static void a_text_that_is_not_given_is_an_empty_one(void **state)
{
    parsed p;

    (void)state;
    parsed_make_with(&p, NULL, (lic_str){ NULL, 0 }, NULL);
    assert_int_equal(p.status, LICET_OK);
    assert_int_equal(p.ast->item_count, 0);
    assert_int_equal(p.ast->source_count, 1);
    assert_str(p.ast->sources[0].name, "schema");
    parsed_clear(&p);
}

/* --------------------------------------------------------------------------------------------- names */

static void names_match_their_patterns_as_a_whole(void **state)
{
    static const struct {
        const char *head, *text;
        size_t      count;
        const char *tail;
        bool        relation, type, definition;
    } cases[] = {
        { "abc", "", 0, "", true, true, true },
        { "a_1", "", 0, "", true, true, true },
        { "ab", "", 0, "", false, false, false },
        { "", "", 0, "", false, false, false },
        { "1bc", "", 0, "", false, false, false },
        { "_bc", "", 0, "", false, false, false },
        { "ab_", "", 0, "", false, false, false },
        { "aBc", "", 0, "", false, false, false },
        { "abc\n", "", 0, "", false, false, false },
        { "a-c", "", 0, "", false, false, false },
        { "gr\xc3\xbcn", "", 0, "", false, false, false },
        { "", "a", 64, "", true, true, true },
        { "", "a", 65, "", false, false, false },
        { "abc/def", "", 0, "", false, true, true },
        { "abc/de", "", 0, "", false, false, false },
        { "ab/def", "", 0, "", false, false, false },
        { "/abc", "", 0, "", false, false, false },
        { "abc/", "", 0, "", false, false, false },
        { "abc//def", "", 0, "", false, false, false },
        { "abc/d_e/f_g/hij", "", 0, "", false, true, true },
        { "", "a", 63, "/abc", false, true, true },
        { "", "a", 64, "/abc", false, false, true },   /* can be defined, but not referred to */
        { "", "abc/", 31, "abcd", false, true, true }, /* 128 bytes */
        { "", "abc/", 31, "abcde", false, false, false },
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        char   *text = repeated(cases[i].head, cases[i].text, cases[i].count, cases[i].tail);
        lic_str name = { text, strlen(text) };

        assert_int_equal(lic_is_relation_name(name), cases[i].relation);
        assert_int_equal(lic_is_type_name(name), cases[i].type);
        assert_int_equal(lic_is_definition_name(name), cases[i].definition);
        test_free(text);
    }
    assert_false(lic_is_relation_name(LIC_STR("abc\0")));
    assert_false(lic_is_type_name((lic_str){ NULL, 0 }));
}

static void object_ids_are_made_of_their_own_characters(void **state)
{
    char *most = repeated("", "x", LIC_MAX_ID_BYTES, "");
    char *over = repeated("", "x", LIC_MAX_ID_BYTES + 1, "");

    (void)state;
    assert_true(lic_is_object_id(LIC_STR("azAZ09/_|=+-")));
    assert_true(lic_is_object_id(LIC_STR("-")));
    assert_false(lic_is_object_id(LIC_STR("")));
    assert_false(lic_is_object_id(LIC_STR("*")));
    assert_false(lic_is_object_id(LIC_STR("a.b")));
    assert_false(lic_is_object_id(LIC_STR("a b")));
    assert_false(lic_is_object_id(LIC_STR("a\n")));
    assert_false(lic_is_object_id(LIC_STR("a\0")));
    assert_false(lic_is_object_id(LIC_STR("\xc3\xa9")));
    assert_true(lic_is_object_id((lic_str){ most, strlen(most) }));
    assert_false(lic_is_object_id((lic_str){ over, strlen(over) }));
    test_free(most);
    test_free(over);
}

/* -------------------------------------------------------------------------------------------- memory */

static const char whole[] =
    "use partial use self use expiration use typechecking\n"
    "// top\npartial one {\n\t...two\n\trelation aaa: user | user / sub : * with cav and expiration\n}\n"
    "partial two {\n\t/* doc\n\t * more */\n\tpermission bbb: user = (aaa + (bbb + ccc)) - self & nil & aaa->xxx\n}\n"
    "caveat cav(xxx list<map<int>>, yyy any) {\n\txxx[0][\"a\"] == 1 && yyy == { 1: xxx }\n}\n"
    "definition user {}\n/* a */ // b\ndefinition doc {\n\t...one\n\trelation zzz: user#...;\n}\n";

static void parsing_survives_every_failed_allocation(void **state)
{
    licet_status status = LICET_OUT_OF_MEMORY;

    (void)state;
    for (size_t n = 0; status != LICET_OK; n++) {
        failing_memory memory = fail_after(n);
        parsed         p;

        parsed_make_with(&p, &memory.allocator, LIC_STR(whole), NULL);
        status = p.status;
        if (status != LICET_OK) {
            assert_int_equal(status, LICET_OUT_OF_MEMORY);
            assert_int_equal(licet_error_kind(p.error), LICET_KIND_NOMEM);
        }
        parsed_clear(&p);
        assert_int_equal(memory.counts->live_blocks, 0);
        assert_true(n < 1000);
    }
}

static void an_error_may_be_nobodys(void **state)
{
    lic_memory memory;
    lic_arena  arena;
    lic_ast   *ast;

    (void)state;
    lic_memory_init(&memory, NULL, SIZE_MAX);
    lic_arena_init(&arena, &memory);
    assert_int_equal(lic_parse(&arena, LIC_STR("definition"), NULL, &ast, NULL), LICET_SCHEMA_ERROR);
    assert_null(ast);
    lic_arena_free(&arena);
}

/* ------------------------------------------------------------------- a corpus that numbers its cases */

/* What the parser says to each; the rest is the checker's. */
static void small_schemas_get_the_parsers_verdict(void **state)
{
    static const struct {
        const char *text;
        licet_kind  kind;
    } cases[] = {
#define USER "definition user {}\n"
#define RELATION(types) USER "definition doc {\n relation viewer: " types "\n}"
#define PERMISSION(expression) USER "definition doc {\n relation parent: doc\n permission view = " expression "\n}"
        /* 01 */ { "", LICET_KIND_NONE },
        /* 02 */ { "definition user {}", LICET_KIND_NONE },
        /* 03 */ { "definition us {}", LICET_KIND_VALUE },
        /* 04 */ { "definition 0day {}", LICET_KIND_VALUE },
        /* 05 */ { "definition user { relation self_ref: user }", LICET_KIND_SYNTAX },
        /* 06 */ { "definition user { relation manager: user; }", LICET_KIND_NONE },
        /* 07 */ { "definition user {} ;; definition bot {}", LICET_KIND_SYNTAX },
        /* 08 */ { "definition user {\n relation foo_: user\n}", LICET_KIND_VALUE },
        /* 09 */ { "use expiration\n" RELATION("user with expiration"), LICET_KIND_NONE },
        /* 10 */ { RELATION("user with expiration"), LICET_KIND_NONE },
        /* 11 */ { "use expiration\n" RELATION("user with expiration and cav"), LICET_KIND_SYNTAX },
        /* 12 */ { "definition user {}\nuse self", LICET_KIND_SYNTAX },
        /* 13 */ { "use deprecation", LICET_KIND_SYNTAX },
        /* 14 */ { "use self\ndefinition user {\n permission myself = self\n}", LICET_KIND_NONE },
        /* 15 */ { "definition user {\n permission myself = self\n}", LICET_KIND_NONE },
        /* 16 */ { "definition user {\n relation self: user\n permission view = self\n}", LICET_KIND_NONE },
        /* 17 */ { "use self\ndefinition user {\n relation self: user\n permission view = self\n}", LICET_KIND_SYNTAX },
        /* 18 */ { "definition doc {\n permission view = nil\n}", LICET_KIND_NONE },
        /* 19 */ { "definition doc {\n permission view = view\n}", LICET_KIND_NONE },
        /* 20 */ { "definition doc {\n permission view = view + nil\n}", LICET_KIND_NONE },
        /* 21 */ { PERMISSION("parent->nothere"), LICET_KIND_NONE },
        /* 22 */ { PERMISSION("parent->view->view"), LICET_KIND_TYPE },
        /* 23 */ { PERMISSION("(parent)->view"), LICET_KIND_SYNTAX },
        /* 24 */ { PERMISSION("parent.any(view)"), LICET_KIND_NONE },
        /* 25 */ { PERMISSION("parent.some(view)"), LICET_KIND_SYNTAX },
        /* 26 */ { RELATION("user | user#...;"), LICET_KIND_NONE },
        /* 27 */ { RELATION("user | user:*"), LICET_KIND_NONE },
        /* 28 */ { RELATION("user:*#foo"), LICET_KIND_SYNTAX },
        /* 29 */ { "caveat only() { true }", LICET_KIND_SYNTAX },
        /* 30 */ { "caveat only(flag bool) { true }", LICET_KIND_NONE },
        /* 31 */ { "caveat only(flag bool) { flag || true }", LICET_KIND_NONE },
        /* 32 */ { "caveat only(num int) { num }", LICET_KIND_TYPE },
        /* 33 */
        { "definition user {}\ndefinition doc {\n relation viewer: user\n permission view: user = viewer\n}",
          LICET_KIND_NONE },
        /* 34 */
        { "use typechecking\ndefinition user {}\ndefinition bot {}\ndefinition doc {\n"
          " relation viewer: user | bot\n permission view: user = viewer\n}",
          LICET_KIND_NONE },
        /* 35 */
        { "definition acme/user {}\ndefinition acme/sub/doc {\n relation viewer: acme/user\n}", LICET_KIND_NONE },
        /* 36 */ { "definition doc {\n relation viewer: user\n | bot\n}", LICET_KIND_SYNTAX },
        /* 37 */ { "definition doc {\n relation viewer: user |\n bot\n}", LICET_KIND_NONE },
        /* 38 */ { "definition doc\n{\n}", LICET_KIND_SYNTAX },
#undef PERMISSION
#undef RELATION
#undef USER
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        parsed p;

        parsed_make(&p, cases[i].text, NULL);
        if (licet_error_kind(p.error) != cases[i].kind)
            print_error("%s\n%.*s\n", cases[i].text, LIC_STR_ARG(licet_error_message(p.error)));
        assert_int_equal(licet_error_kind(p.error), cases[i].kind);
        parsed_clear(&p);
    }
}

/* --------------------------------------------------------------------------------- SpiceDB's own tests */

/* SpiceDB's parser tests stop behind the parser: what is refused there is what is of kind syntax here. */
static void spicedbs_parser_tests_get_its_verdict(void **state)
{
    char       *path     = shared_path("conformance/parser/manifest.json");
    json_t     *manifest = json_load_file(path, 0, NULL);
    const char *name;
    json_t     *verdict;

    (void)state;
    test_free(path);
    if (manifest == NULL) {
        print_message("no shared test data: set LICET_SHARED\n");
        skip();
    }
    json_object_foreach(manifest, name, verdict)
    {
        char   file[256];
        size_t size;
        char  *text;
        bool   is_syntax;
        parsed p;

        assert_true(snprintf(file, sizeof file, "conformance/parser/%s", name) < (int)sizeof file);
        path = shared_path(file);
        text = read_whole_file(path, &size);
        assert_non_null(text);
        parsed_make_with(&p, NULL, (lic_str){ text, size }, NULL);
        is_syntax = licet_error_kind(p.error) == LICET_KIND_SYNTAX;
        if (is_syntax != (strcmp(json_string_value(verdict), "error") == 0))
            print_error("%s: SpiceDB's verdict is %s\n", name, json_string_value(verdict));
        assert_int_equal(is_syntax, strcmp(json_string_value(verdict), "error") == 0);
        parsed_clear(&p);
        test_free(text);
        test_free(path);
    }
    json_decref(manifest);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_body_is_refused_at_the_first_token_that_does_not_fit),
        cmocka_unit_test(an_item_is_refused_at_the_first_token_that_does_not_fit),
        cmocka_unit_test(what_parses_may_be_refused_for_its_names_partials_and_types),
        cmocka_unit_test(errors_of_this_stage_carry_their_reason),
        cmocka_unit_test(a_syntax_error_is_told_before_a_bad_name_above_it),
        cmocka_unit_test(partials_are_checked_before_definitions_above_them),
        cmocka_unit_test(these_are_accepted),
        cmocka_unit_test(plus_binds_tighter_than_and_and_that_tighter_than_minus),
        cmocka_unit_test(unions_and_intersections_are_flat_through_parentheses),
        cmocka_unit_test(a_type_says_what_was_written),
        cmocka_unit_test(a_swallowed_and_is_noted),
        cmocka_unit_test(places_are_those_of_first_tokens),
        cmocka_unit_test(annotations_are_kept_under_typechecking_only),
        cmocka_unit_test(comments_stay_with_the_keyword_that_follows_them),
        cmocka_unit_test(a_comment_is_cut_before_a_line_of_64_kib),
        cmocka_unit_test(a_caveat_keeps_its_parameters_and_the_text_of_its_body),
        cmocka_unit_test(every_parameter_type_is_known_by_its_name),
        cmocka_unit_test(a_partial_is_spliced_in_where_it_is_named),
        cmocka_unit_test(a_later_partial_of_a_name_takes_the_place_of_the_earlier),
        cmocka_unit_test(partials_can_not_grow_without_bound),
        cmocka_unit_test(one_over_a_limit_is_refused),
        cmocka_unit_test(a_caveat_has_at_most_64_parameters),
        cmocka_unit_test(all_types_together_have_at_most_65536_members),
        cmocka_unit_test(deep_expressions_need_no_deep_stack),
        cmocka_unit_test(a_text_that_is_not_utf8_is_refused_where_it_is_wrong),
        cmocka_unit_test(comments_may_hold_any_character),
        cmocka_unit_test(a_text_that_is_not_given_is_an_empty_one),
        cmocka_unit_test(names_match_their_patterns_as_a_whole),
        cmocka_unit_test(object_ids_are_made_of_their_own_characters),
        cmocka_unit_test(parsing_survives_every_failed_allocation),
        cmocka_unit_test(an_error_may_be_nobodys),
        cmocka_unit_test(small_schemas_get_the_parsers_verdict),
        cmocka_unit_test(spicedbs_parser_tests_get_its_verdict),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

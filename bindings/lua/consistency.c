/* How fresh an answer has to be.
 *
 * Strings are the values that Lua keeps immutable, compares and prints by itself, and reading one allocates nothing
 * (module.h, rule 2). What follows the colon is the caller's token as it came; the engine judges it. */
#include "consistency.h"

#include <string.h>

#include "convert.h"

#define AT_LEAST "at_least:"
#define AT_EXACTLY "at_exactly:"

static const struct form {
    licet_str       text;
    licet_freshness freshness;
    bool            has_token;
} forms[] = {
    { LICET_STR_INIT("minimize_latency"), LICET_MINIMIZE_LATENCY, false },
    { LICET_STR_INIT("full"), LICET_FULLY_CONSISTENT, false },
    { LICET_STR_INIT(AT_LEAST), LICET_AT_LEAST_AS_FRESH, true },
    { LICET_STR_INIT(AT_EXACTLY), LICET_AT_EXACT_SNAPSHOT, true },
};

static bool form_matches(const struct form *form, licet_str text)
{
    bool long_enough = form->has_token ? text.size >= form->text.size : text.size == form->text.size;

    return long_enough && memcmp(text.data, form->text.data, form->text.size) == 0;
}

bool consistency_parse(licet_str text, licet_consistency *consistency)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (!form_matches(&forms[i], text))
            continue;
        *consistency = (licet_consistency){ forms[i].freshness, { NULL, 0 }, false };
        if (forms[i].has_token)
            consistency->token = (licet_str){ text.data + forms[i].text.size, text.size - forms[i].text.size };
        return true;
    }
    return false;
}

static int with_token(lua_State *L, const char *form)
{
    (void)str_from_lua(L, 1);
    lua_settop(L, 1);
    lua_pushstring(L, form);
    lua_insert(L, 1);
    lua_concat(L, 2);
    return 1;
}

int consistency_at_least(lua_State *L)
{
    return with_token(L, AT_LEAST);
}

int consistency_at_exactly(lua_State *L)
{
    return with_token(L, AT_EXACTLY);
}

void consistency_set_constants(lua_State *L)
{
    lua_pushlstring(L, forms[0].text.data, forms[0].text.size);
    lua_setfield(L, -2, "MINIMIZE_LATENCY");
    lua_pushlstring(L, forms[1].text.data, forms[1].text.size);
    lua_setfield(L, -2, "FULL");
}

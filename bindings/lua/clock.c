/* licet.Clock: a number that is read and set as a whole, for the core may ask while Lua sets it. */
#include "clock.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "convert.h"

#define SECOND 1e9               /* in nanoseconds */
#define SECONDS_MAX 9000000000.0 /* 285 years around 1970: what nanoseconds of 64 bits hold, with room to advance */

struct manual_clock {
    _Atomic int64_t nanoseconds; /* since 1970, UTC */
    size_t          holders;     /* all in one thread */
};

typedef struct clock_box {
    manual_clock *clock; /* one holder of it; NULL until it is filled */
} clock_box;

static const type clock_type = { "licet.Clock" };

void clock_retain(manual_clock *clock)
{
    if (clock != NULL)
        clock->holders++;
}

void clock_release(manual_clock *clock)
{
    if (clock != NULL && --clock->holders == 0)
        free(clock);
}

static int64_t clock_now(void *context)
{
    manual_clock *clock = context;

    return atomic_load(&clock->nanoseconds);
}

licet_clock clock_of(manual_clock *clock)
{
    return clock == NULL ? (licet_clock){ NULL, NULL } : (licet_clock){ clock_now, clock };
}

manual_clock *clock_from_options(lua_State *L, int arg)
{
    reader           r     = READER_INIT(L, arg);
    int              index = option_push(L, arg, "clock");
    const clock_box *box   = box_at(L, index, &clock_type);

    if (!lua_isnil(L, index) && (box == NULL || box->clock == NULL)) {
        r.field = "clock";
        refuse(&r, index, "licet.testing.manual_clock()");
    }
    lua_pop(L, 1);
    if (box == NULL)
        return NULL;
    clock_retain(box->clock);
    return box->clock;
}

/* Argument `arg`: a time or a duration. */
static int64_t nanoseconds_from_lua(lua_State *L, int arg)
{
    lua_Number seconds;

    if (lua_type(L, arg) != LUA_TNUMBER)
        luaL_typeerror(L, arg, "number");
    seconds = lua_tonumber(L, arg);
    if (!(seconds >= -SECONDS_MAX && seconds <= SECONDS_MAX))
        luaL_argerror(L, arg, "out of range");
    /* Apart, so that whole seconds stay whole. */
    return (int64_t)floor(seconds) * (int64_t)SECOND + (int64_t)((seconds - floor(seconds)) * SECOND);
}

int clock_manual(lua_State *L)
{
    int64_t    nanoseconds = nanoseconds_from_lua(L, 1);
    clock_box *box         = box_new(L, sizeof *box, &clock_type);

    box->clock = malloc(sizeof *box->clock);
    if (box->clock == NULL)
        luaL_error(L, "not enough memory");
    atomic_init(&box->clock->nanoseconds, nanoseconds);
    box->clock->holders = 1;
    return 1;
}

static manual_clock *clock_from_lua(lua_State *L)
{
    const clock_box *box = box_check(L, 1, &clock_type);

    if (box->clock == NULL) /* the state is being closed, and its finalizer ran */
        luaL_error(L, "the clock is gone");
    return box->clock;
}

/* clock:now() -> seconds since 1970, UTC */
static int clock_get(lua_State *L)
{
    lua_pushnumber(L, (lua_Number)clock_now(clock_from_lua(L)) / SECOND);
    return 1;
}

/* clock:set(seconds): also back */
static int clock_set(lua_State *L)
{
    manual_clock *clock = clock_from_lua(L);

    atomic_store(&clock->nanoseconds, nanoseconds_from_lua(L, 2));
    return 0;
}

/* clock:advance(seconds) */
static int clock_advance(lua_State *L)
{
    manual_clock *clock    = clock_from_lua(L);
    int64_t       duration = nanoseconds_from_lua(L, 2);
    int64_t       now      = clock_now(clock);

    if (duration > 0 ? now > INT64_MAX - duration : now < INT64_MIN - duration)
        luaL_argerror(L, 2, "out of range");
    atomic_store(&clock->nanoseconds, now + duration);
    return 0;
}

static int clock_gc(lua_State *L)
{
    clock_box    *box   = box_check(L, 1, &clock_type);
    manual_clock *clock = box->clock;

    box->clock = NULL;
    clock_release(clock);
    return 0;
}

static const luaL_Reg methods[] = {
    { "now", clock_get },
    { "set", clock_set },
    { "advance", clock_advance },
    { NULL, NULL },
};

static const luaL_Reg metamethods[] = {
    { "__gc", clock_gc },
    { NULL, NULL },
};

void clock_register(lua_State *L)
{
    type_register(L, &clock_type, metamethods, methods);
}

/* The module licet.core: what its files share.
 *
 * The binding converts values, maps errors and keeps lifetimes right. It decides nothing: no authorization logic, and
 * no message about a schema, a relationship or a question is made here.
 *
 * Lua's errors jump, and almost every function of its interface that allocates may raise one, or run a finalizer, which
 * is any Lua code at all: it may change tables that we read and close the engine that we use. Hence four rules:
 *   1. Box first. What the core hands out goes into a userdata whose metatable frees it. The userdata is made before
 *      the core is called, so whatever jumps finds an owner already there.
 *   2. Look late. Views (licet_str) of strings in tables are taken when nothing is left to allocate, and from then
 *      until the core has answered nothing allocates. Raising is fine, for nothing is owned. (Strings on the stack
 *      stay.)
 *   3. Acquire last. close() may empty a box, so its handle is read right before the call that needs it.
 *   4. Tables are read raw: no metamethods run, so what was checked is what is used.
 *
 * A wrong type of argument raises, as in Lua's own libraries; everything else that fails is nil and an error. */
#ifndef LICET_LUA_MODULE_H
#define LICET_LUA_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compat.h"
#include "licet.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* A type of userdata, or of table, with a metatable in the registry, where finalizers that run as the state closes
 * still find it. It is known by its address and not by its name: another copy of this module, perhaps of another
 * version, may live in the same state, and must not take our boxes for its own. */
typedef struct type {
    const char *name;
} type;

/* Makes the metatable. `methods` may be NULL; else they are what __index finds. */
void type_register(lua_State *L, const type *type, const luaL_Reg *metamethods, const luaL_Reg *methods);

/* Pushes the metatable that was made. */
void type_push(lua_State *L, const type *type);

/* Gives the value on top of the stack this type. */
void type_set(lua_State *L, const type *type);

/* Pushes a zeroed userdata of this type. Its finalizer copes with zeros. */
void *box_new(lua_State *L, size_t size, const type *type);

/* The box of this type at `index`, or NULL where something else is. */
void *box_at(lua_State *L, int index, const type *type);

/* Argument `arg`, which must be a box of this type. */
void *box_check(lua_State *L, int arg, const type *type);

/* Pushes a userdata without a type, for records that own nothing: room for `count` of them. */
void *records_new(lua_State *L, size_t count, size_t size);

/* a + b and a * b; raise when the result is no size. */
size_t size_add(lua_State *L, size_t a, size_t b);
size_t size_multiply(lua_State *L, size_t a, size_t b);

#endif

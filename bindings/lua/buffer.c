/* Text that the core made, in a box until Lua has its own copy. */
#include "buffer.h"

#define BUFFER_TYPE "licet.Buffer"

licet_buffer *buffer_new(lua_State *L)
{
    licet_buffer *buffer = box_new(L, sizeof *buffer, BUFFER_TYPE);

    *buffer = (licet_buffer)LICET_BUFFER_INIT;
    return buffer;
}

void buffer_push_text(lua_State *L, licet_buffer *buffer)
{
    lua_pushlstring(L, buffer->data == NULL ? "" : buffer->data, buffer->size);
    licet_buffer_clear(buffer);
}

static int buffer_gc(lua_State *L)
{
    licet_buffer_clear(luaL_checkudata(L, 1, BUFFER_TYPE));
    return 0;
}

static const luaL_Reg metamethods[] = {
    { "__gc", buffer_gc },
    { NULL, NULL },
};

void buffer_register(lua_State *L)
{
    type_register(L, BUFFER_TYPE, metamethods, NULL);
}

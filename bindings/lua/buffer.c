/* Text that the core made, in a box until Lua has its own copy. */
#include "buffer.h"

static const type buffer_type = { "licet.Buffer" };

licet_buffer *buffer_new(lua_State *L)
{
    licet_buffer *buffer = box_new(L, sizeof *buffer, &buffer_type);

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
    licet_buffer_clear(box_check(L, 1, &buffer_type));
    return 0;
}

static const luaL_Reg metamethods[] = {
    { "__gc", buffer_gc },
    { NULL, NULL },
};

void buffer_register(lua_State *L)
{
    type_register(L, &buffer_type, metamethods, NULL);
}

#include "cel_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "caveat/checker.h"
#include "caveat/compiler.h"
#include "caveat/overloads.h"
#include "caveat/parser.h"
#include "caveat/unparse.h"

#define ROOM 8192

static const lic_cel_parameter parameters[CEL_WORLD_PARAMETERS] = {
    { LICET_STR_INIT("x"), NULL, LICET_STR_INIT("int") },
    { LICET_STR_INIT("f"), NULL, LICET_STR_INIT("double") },
    { LICET_STR_INIT("s"), NULL, LICET_STR_INIT("string") },
    { LICET_STR_INIT("b"), NULL, LICET_STR_INIT("bool") },
    { LICET_STR_INIT("y"), NULL, LICET_STR_INIT("bytes") },
    { LICET_STR_INIT("t"), NULL, LICET_STR_INIT("timestamp") },
    { LICET_STR_INIT("u"), NULL, LICET_STR_INIT("duration") },
    { LICET_STR_INIT("ip"), NULL, LICET_STR_INIT("ipaddress") },
    { LICET_STR_INIT("d"), NULL, LICET_STR_INIT("dyn") },
    { LICET_STR_INIT("l"), NULL, LICET_STR_INIT("list(int)") },
    { LICET_STR_INIT("m"), NULL, LICET_STR_INIT("map(string, dyn)") },
    { LICET_STR_INIT("o"), NULL, LICET_STR_INIT("optional(int)") },
    { LICET_STR_INIT("n"), NULL, LICET_STR_INIT("uint") },
};

lic_cel_source cel_source(lic_str text, bool must_be_bool)
{
    return (lic_cel_source){ text, parameters, CEL_WORLD_PARAMETERS, must_be_bool };
}

static const char *told(licet_error *error, char *out)
{
    static const char *const kinds[] = {
#define KIND_TEXT(name, number, text) [number] = text,
        LICET_KIND_LIST(KIND_TEXT)
#undef KIND_TEXT
    };
    licet_str message = licet_error_message(error);

    snprintf(out, ROOM, "%u:%u %s: %.*s", licet_error_line(error), licet_error_column(error),
             kinds[licet_error_kind(error)], (int)message.size, message.data);
    licet_error_free(error);
    return out;
}

static licet_status check(lic_arena *arena, lic_str text, const lic_cel_type **type, licet_error **error)
{
    lic_cel_variable variables[CEL_WORLD_PARAMETERS];
    lic_cel_node    *root;
    bool             failed;
    licet_status     status = lic_cel_parse(arena, text, &root, error);

    for (size_t i = 0; i < CEL_WORLD_PARAMETERS; i++) {
        variables[i].name = parameters[i].name;
        assert_true(lic_cel_type_parse(arena, parameters[i].spelling, &variables[i].type, &failed));
    }
    if (status != LICET_OK)
        return status;
    return lic_cel_check(arena, text, root, variables, CEL_WORLD_PARAMETERS, type, error);
}

const char *cel_type(lic_str text)
{
    static char         out[ROOM];
    lic_memory          memory;
    lic_arena           arena;
    lic_text            printed;
    const lic_cel_type *type;
    licet_error        *error = NULL;

    lic_memory_init(&memory, NULL, SIZE_MAX);
    lic_arena_init(&arena, &memory);
    lic_text_init(&printed, &memory);
    if (check(&arena, text, &type, &error) != LICET_OK) {
        told(error, out);
    } else {
        lic_cel_type_print(type, &printed);
        assert_true(printed.size < sizeof out);
        memcpy(out, printed.data, printed.size);
        out[printed.size] = '\0';
    }
    lic_text_free(&printed);
    lic_arena_free(&arena);
    assert_int_equal(memory.used, 0);
    return out;
}

const char *cel_printed(lic_str text)
{
    static char    out[ROOM];
    lic_memory     memory;
    lic_text       printed;
    lic_cel_source source = cel_source(text, false);
    licet_error   *error  = NULL;

    lic_memory_init(&memory, NULL, SIZE_MAX);
    lic_text_init(&printed, &memory);
    if (lic_cel_format(&memory, &source, &printed, &error) != LICET_OK) {
        told(error, out);
    } else {
        assert_true(printed.size < sizeof out);
        memcpy(out, printed.data, printed.size);
        out[printed.size] = '\0';
    }
    lic_text_free(&printed);
    assert_int_equal(memory.used, 0);
    return out;
}

static int print_instruction(const lic_cel_code *code, size_t at, char *out, size_t room)
{
    static const char *const names[] = {
        "CONSTANT", "PARAMETER",  "LOCAL",     "SELECT",        "OPTIONAL_SELECT", "HAS",           "CALL",
        "LIST",     "MAP",        "JUMP",      "JUMP_IF_FALSE", "JUMP_IF_TRUE",    "AND",           "OR",
        "BRANCH",   "LOOP_BEGIN", "LOOP_NEXT", "LOOP_WHEN",     "OPTIONAL_MAP",    "OPTIONAL_WRAP", "OR_ELSE",
    };
    lic_cel_instruction i     = code->instructions[at];
    const char         *comma = at == 0 ? "" : "; ";

    if (i.opcode == LIC_CEL_OP_CALL) {
        lic_str name = lic_cel_function_name((lic_cel_function)i.a);

        return snprintf(out, room, "%sCALL %.*s %u", comma, (int)name.size, name.data, i.b);
    }
    if (i.opcode == LIC_CEL_OP_AND || i.opcode == LIC_CEL_OP_OR || i.opcode == LIC_CEL_OP_OPTIONAL_WRAP)
        return snprintf(out, room, "%s%s", comma, names[i.opcode]);
    if (i.b == 0)
        return snprintf(out, room, "%s%s %u", comma, names[i.opcode], i.a);
    if (i.b == UINT32_MAX)
        return snprintf(out, room, "%s%s %u -", comma, names[i.opcode], i.a);
    return snprintf(out, room, "%s%s %u %u", comma, names[i.opcode], i.a, i.b);
}

const char *cel_code(lic_str text)
{
    static char    out[ROOM];
    lic_memory     memory;
    lic_cel_source source = cel_source(text, false);
    lic_cel       *cel;
    licet_error   *error = NULL;
    size_t         used  = 0;

    lic_memory_init(&memory, NULL, SIZE_MAX);
    if (lic_cel_compile(&memory, &source, &cel, NULL, &error) != LICET_OK)
        return told(error, out);
    for (size_t i = 0; i < cel->code.count; i++) {
        int added = print_instruction(&cel->code, i, out + used, sizeof out - used);

        assert_true(added > 0 && (size_t)added < sizeof out - used);
        used += (size_t)added;
    }
    assert_true(snprintf(out + used, sizeof out - used, " [%u %u]", cel->code.max_stack, cel->code.max_loops) > 0);
    lic_cel_free(cel);
    assert_int_equal(memory.used, 0);
    return out;
}

const char *cel_used(lic_str text)
{
    static char    out[ROOM];
    lic_memory     memory;
    lic_cel_source source = cel_source(text, false);
    lic_cel       *cel;
    uint64_t       bits;
    licet_error   *error = NULL;
    size_t         used  = 0;

    lic_memory_init(&memory, NULL, SIZE_MAX);
    if (lic_cel_compile(&memory, &source, &cel, &bits, &error) != LICET_OK)
        return told(error, out);
    out[0] = '\0';
    for (size_t i = 0; i < CEL_WORLD_PARAMETERS; i++) {
        if ((bits >> i & 1) != 0)
            used +=
                (size_t)snprintf(out + used, sizeof out - used, "%s%s", used == 0 ? "" : " ", parameters[i].name.data);
    }
    lic_cel_free(cel);
    assert_int_equal(memory.used, 0);
    return out;
}

/* Making, reading and printing types; nothing here knows how they agree (unify.h). */
#include "caveat/types.h"

#define PRINTED_PARTS 64 /* of a type, in a message */

static const lic_cel_type simple[] = {
#define TYPE_ROW(name, spelling) [LIC_CEL_TYPE_##name] = { .kind = LIC_CEL_TYPE_##name, .size = 1 },
    LIC_CEL_SIMPLE_TYPE_LIST(TYPE_ROW)
#undef TYPE_ROW
        [LIC_CEL_TYPE_TYPE] = { .kind = LIC_CEL_TYPE_TYPE, .size = 1 },
};

static const lic_str names[] = {
#define TYPE_NAME(name, spelling) [LIC_CEL_TYPE_##name] = LICET_STR_INIT(spelling),
    LIC_CEL_SIMPLE_TYPE_LIST(TYPE_NAME)
#undef TYPE_NAME
        [LIC_CEL_TYPE_LIST] = LICET_STR_INIT("list"),
    [LIC_CEL_TYPE_MAP]      = LICET_STR_INIT("map"),
    [LIC_CEL_TYPE_OPTIONAL] = LICET_STR_INIT("optional_type"),
    [LIC_CEL_TYPE_TYPE]     = LICET_STR_INIT("type"),
    [LIC_CEL_TYPE_VARIABLE] = LICET_STR_INIT("dyn"), /* what it becomes when nothing is found out */
};

const lic_cel_type *lic_cel_type_simple(lic_cel_type_kind kind)
{
    return &simple[kind];
}

const lic_cel_type *lic_cel_type_new(lic_arena *arena, lic_cel_type_kind kind, const lic_cel_type *first,
                                     const lic_cel_type *second, bool *too_large)
{
    uint32_t      size = 1 + first->size + (second == NULL ? 0 : second->size);
    lic_cel_type *type;

    if (size > LIC_CEL_MAX_TYPE_SIZE && too_large != NULL) {
        *too_large = true;
        return NULL;
    }
    type = lic_new(arena, lic_cel_type);
    if (type != NULL)
        *type = (lic_cel_type){ .kind       = kind,
                                .open       = first->open || (second != NULL && second->open),
                                .count      = second == NULL ? 1 : 2,
                                .size       = size,
                                .parameters = { first, second } };
    return type;
}

const lic_cel_type *lic_cel_type_variable(lic_arena *arena, uint32_t number)
{
    lic_cel_type *type = lic_new(arena, lic_cel_type);

    if (type != NULL)
        *type = (lic_cel_type){ .kind = LIC_CEL_TYPE_VARIABLE, .open = true, .variable = number, .size = 1 };
    return type;
}

static lic_cel_type_kind kind_of(lic_caveat_type_kind kind)
{
    static const lic_cel_type_kind kinds[] = {
        [LIC_CAVEAT_ANY]       = LIC_CEL_TYPE_DYN,
        [LIC_CAVEAT_BOOL]      = LIC_CEL_TYPE_BOOL,
        [LIC_CAVEAT_STRING]    = LIC_CEL_TYPE_STRING,
        [LIC_CAVEAT_INT]       = LIC_CEL_TYPE_INT,
        [LIC_CAVEAT_UINT]      = LIC_CEL_TYPE_INT,
        [LIC_CAVEAT_DOUBLE]    = LIC_CEL_TYPE_DOUBLE,
        [LIC_CAVEAT_BYTES]     = LIC_CEL_TYPE_BYTES,
        [LIC_CAVEAT_DURATION]  = LIC_CEL_TYPE_DURATION,
        [LIC_CAVEAT_TIMESTAMP] = LIC_CEL_TYPE_TIMESTAMP,
        [LIC_CAVEAT_IPADDRESS] = LIC_CEL_TYPE_IPADDRESS,
        [LIC_CAVEAT_LIST]      = LIC_CEL_TYPE_LIST,
        [LIC_CAVEAT_MAP]       = LIC_CEL_TYPE_MAP,
    };

    return kinds[kind];
}

const lic_cel_type *lic_cel_type_of(lic_arena *arena, const lic_caveat_type *type)
{
    const lic_caveat_type *path[LIC_CAVEAT_MAX_TYPE_NESTING + 1];
    const lic_cel_type    *made;
    size_t                 depth = 0;

    for (; type->argument != NULL && depth < LIC_CAVEAT_MAX_TYPE_NESTING; type = type->argument)
        path[depth++] = type;
    made = lic_cel_type_simple(kind_of(type->kind));
    while (depth > 0 && made != NULL) {
        depth--;
        made = path[depth]->kind == LIC_CAVEAT_MAP
                   ? lic_cel_type_new(arena, LIC_CEL_TYPE_MAP, lic_cel_type_simple(LIC_CEL_TYPE_STRING), made, NULL)
                   : lic_cel_type_new(arena, LIC_CEL_TYPE_LIST, made, NULL, NULL);
    }
    return made;
}

/* ------------------------------------------------------------------ reading */

static const struct {
    lic_str           spelling;
    lic_cel_type_kind kind;
} spellings[] = {
    { LICET_STR_INIT("any"), LIC_CEL_TYPE_DYN },
    { LICET_STR_INIT("dyn"), LIC_CEL_TYPE_DYN },
    { LICET_STR_INIT("null"), LIC_CEL_TYPE_NULL },
    { LICET_STR_INIT("null_type"), LIC_CEL_TYPE_NULL },
    { LICET_STR_INIT("bool"), LIC_CEL_TYPE_BOOL },
    { LICET_STR_INIT("int"), LIC_CEL_TYPE_INT },
    { LICET_STR_INIT("int64"), LIC_CEL_TYPE_INT },
    { LICET_STR_INIT("uint"), LIC_CEL_TYPE_UINT },
    { LICET_STR_INIT("uint64"), LIC_CEL_TYPE_UINT },
    { LICET_STR_INIT("double"), LIC_CEL_TYPE_DOUBLE },
    { LICET_STR_INIT("string"), LIC_CEL_TYPE_STRING },
    { LICET_STR_INIT("bytes"), LIC_CEL_TYPE_BYTES },
    { LICET_STR_INIT("duration"), LIC_CEL_TYPE_DURATION },
    { LICET_STR_INIT("timestamp"), LIC_CEL_TYPE_TIMESTAMP },
    { LICET_STR_INIT("ipaddress"), LIC_CEL_TYPE_IPADDRESS },
    { LICET_STR_INIT("IPAddress"), LIC_CEL_TYPE_IPADDRESS },
    { LICET_STR_INIT("type"), LIC_CEL_TYPE_TYPE },
    { LICET_STR_INIT("list"), LIC_CEL_TYPE_LIST },
    { LICET_STR_INIT("map"), LIC_CEL_TYPE_MAP },
    { LICET_STR_INIT("optional"), LIC_CEL_TYPE_OPTIONAL },
    { LICET_STR_INIT("optional_type"), LIC_CEL_TYPE_OPTIONAL },
};

static bool find_spelling(lic_str word, lic_cel_type_kind *kind)
{
    for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; i++) {
        if (lic_str_equal(word, spellings[i].spelling)) {
            *kind = spellings[i].kind;
            return true;
        }
    }
    return false;
}

/* A type whose parameters are being read. */
typedef struct open_type {
    lic_cel_type_kind   kind;
    const lic_cel_type *first;
} open_type;

static size_t parameters_of(lic_cel_type_kind kind)
{
    return kind == LIC_CEL_TYPE_MAP ? 2 : kind == LIC_CEL_TYPE_LIST || kind == LIC_CEL_TYPE_OPTIONAL ? 1 : 0;
}

static bool is_word(char c)
{
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Without blanks; one of "(", ",", ")" follows a word. */
bool lic_cel_type_parse(lic_arena *arena, lic_str spelling, const lic_cel_type **out, bool *memory_failed)
{
    open_type           stack[LIC_CAVEAT_MAX_TYPE_NESTING];
    size_t              depth = 0, at = 0;
    const lic_cel_type *type = NULL; /* complete, and not yet anybody's parameter */

    *out           = NULL;
    *memory_failed = false;
    while (at < spelling.size || (type != NULL && depth == 0)) {
        if (at == spelling.size) {
            *out = type;
            return true;
        }
        if (spelling.data[at] == ' ') {
            at++;
        } else if (type == NULL) {
            lic_cel_type_kind kind;
            size_t            start = at;

            while (at < spelling.size && is_word(spelling.data[at]))
                at++;
            if (!find_spelling(lic_str_slice(spelling, start, at), &kind))
                return false;
            if (parameters_of(kind) == 0) {
                type = lic_cel_type_simple(kind);
            } else {
                if (depth == LIC_CAVEAT_MAX_TYPE_NESTING || at == spelling.size || spelling.data[at++] != '(')
                    return false;
                stack[depth++] = (open_type){ kind, NULL };
            }
        } else if (depth == 0) {
            return false;
        } else if (spelling.data[at] == ',' && parameters_of(stack[depth - 1].kind) == 2 &&
                   stack[depth - 1].first == NULL) {
            stack[depth - 1].first = type;
            type                   = NULL;
            at++;
        } else if (spelling.data[at] == ')' &&
                   (parameters_of(stack[depth - 1].kind) == 1) == (stack[depth - 1].first == NULL)) {
            open_type done = stack[--depth];

            type = done.first == NULL ? lic_cel_type_new(arena, done.kind, type, NULL, NULL)
                                      : lic_cel_type_new(arena, done.kind, done.first, type, NULL);
            if (type == NULL) {
                *memory_failed = true;
                return false;
            }
            at++;
        } else {
            return false;
        }
    }
    return false;
}

/* ----------------------------------------------------------------- printing */

/* What is left to print: a type, or the text behind one. */
typedef struct printing {
    const lic_cel_type *type;
    const char         *text;
} printing;

void lic_cel_type_print(const lic_cel_type *type, lic_text *out)
{
    printing stack[2 * PRINTED_PARTS + 2]; /* a part leaves at most two behind */
    size_t   count = 0, parts = 0;

    stack[count++] = (printing){ type, NULL };
    while (count > 0) {
        printing next = stack[--count];

        if (next.text != NULL) {
            lic_text_add(out, (lic_str){ next.text, strlen(next.text) });
            continue;
        }
        if (++parts > PRINTED_PARTS) {
            lic_text_add_literal(out, "...");
            continue;
        }
        lic_text_add(out, names[next.type->kind]);
        if (next.type->count == 0)
            continue;
        lic_text_add_char(out, '(');
        stack[count++] = (printing){ NULL, ")" };
        if (next.type->count == 2) {
            stack[count++] = (printing){ next.type->parameters[1], NULL };
            stack[count++] = (printing){ NULL, ", " };
        }
        stack[count++] = (printing){ next.type->parameters[0], NULL };
    }
}

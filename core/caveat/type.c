/* What the types of caveat parameters are called. */
#include "caveat/type.h"

static const struct {
    lic_str spelling;
    size_t  argument_count;
} types[] = {
#define TYPE_ROW(name, spelling, arguments) [LIC_CAVEAT_##name] = { LICET_STR_INIT(spelling), arguments },
    LIC_CAVEAT_TYPE_LIST(TYPE_ROW)
#undef TYPE_ROW
};

bool lic_caveat_type_find(lic_str spelling, lic_caveat_type_kind *kind, size_t *argument_count)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (lic_str_equal(spelling, types[i].spelling)) {
            *kind           = (lic_caveat_type_kind)i;
            *argument_count = types[i].argument_count;
            return true;
        }
    }
    return false;
}

void lic_caveat_type_print(const lic_caveat_type *type, lic_text *out)
{
    size_t open = 0;

    lic_text_add(out, types[type->kind].spelling);
    for (; type->argument != NULL; open++) {
        type = type->argument;
        lic_text_add_char(out, '<');
        lic_text_add(out, types[type->kind].spelling);
    }
    for (; open > 0; open--)
        lic_text_add_char(out, '>');
}

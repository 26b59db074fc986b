/* Caveats' expressions: what CEL is given of a schema, and where in the schema its errors are. */
#include "schema/expression.h"

#include "base/utf8.h"
#include "schema/parse.h"

_Static_assert(LIC_MAX_PARAMETERS <= LIC_CEL_MAX_PARAMETERS, "a caveat that parses has no more than CEL takes");

lic_cel_source lic_expression_source(const lic_ast_caveat *caveat, lic_cel_parameter parameters[LIC_MAX_PARAMETERS])
{
    for (size_t i = 0; i < caveat->parameter_count; i++)
        parameters[i] = (lic_cel_parameter){ .name = caveat->parameters[i].name, .type = caveat->parameters[i].type };
    return (lic_cel_source){
        .text = caveat->body, .parameters = parameters, .parameter_count = caveat->parameter_count, .must_be_bool = true
    };
}

/* From a position in the body to one in the source; nowhere is the body's beginning. */
static lic_place place_in_body(const lic_ast_caveat *caveat, uint32_t line, uint32_t column)
{
    lic_str rest = caveat->body;
    size_t  size;

    for (; line > 1 && rest.size > 0; line--) {
        size = lic_str_find(rest, '\n');
        rest = lic_str_slice(rest, size < rest.size ? size + 1 : size, rest.size);
    }
    for (; column > 1 && rest.size > 0; column--) {
        lic_utf8_decode(rest, 0, &size);
        rest = lic_str_slice(rest, size, rest.size);
    }
    return (lic_place){ caveat->body_place.source,
                        caveat->body_place.offset + (uint32_t)(caveat->body.size - rest.size) };
}

/* SpiceDB: limits are errors of this stage like any other. */
static bool fail_expression(lic_parser *p, const lic_ast_caveat *caveat, licet_status status, const licet_error *told)
{
    lic_place place   = place_in_body(caveat, licet_error_line(told), licet_error_column(told));
    lic_str   message = licet_error_message(told);

    if (status == LICET_OUT_OF_MEMORY)
        return lic_parser_memory_failed(p);
    status =
        lic_fail_reason(p->error, status, licet_error_kind(told), "SCHEMA_PARSE_ERROR", lic_ast_position(p->ast, place),
                        "invalid expression for caveat %Q: %.*s", &caveat->name, LIC_STR_ARG(message));
    return lic_parser_failed(p, place, status);
}

bool lic_parser_check_expression(lic_parser *p, lic_ast_caveat *caveat)
{
    lic_cel_parameter parameters[LIC_MAX_PARAMETERS];
    lic_cel_source    source = lic_expression_source(caveat, parameters);
    licet_error      *told   = NULL;
    licet_status      status = lic_cel_compile(p->scratch.memory, &source, NULL, &caveat->used, &told);

    if (status != LICET_OK)
        fail_expression(p, caveat, status, told);
    licet_error_free(told);
    return status == LICET_OK;
}

/* Traces: looking into them, and printing them as text and as JSON. */
#include "engine/trace.h"

/* ---------------------------------------------------------------- looking */

static bool is_trace(const licet_trace *trace)
{
    return trace != NULL && trace->tag == LIC_TRACE_TAG;
}

size_t licet_trace_node_count(const licet_trace *trace)
{
    return is_trace(trace) ? trace->count : 0;
}

bool licet_trace_node_at(const licet_trace *trace, size_t index, licet_trace_node *node)
{
    if (!is_trace(trace) || index >= trace->count || !LIC_RECORD_KNOWN(node))
        return false;
    *node = trace->nodes[index];
    return true;
}

void licet_trace_token(const licet_trace *trace, licet_token *token)
{
    if (token != NULL)
        *token = is_trace(trace) ? trace->token : (licet_token){ { 0 } };
}

void licet_trace_release(licet_trace *trace)
{
    licet_engine *engine;

    if (!is_trace(trace))
        return;
    engine     = trace->engine;
    trace->tag = 0;
    lic_arena_free(&trace->arena);
    lic_free(engine->memory, trace, sizeof *trace);
    licet_engine_release(engine);
}

/* --------------------------------------------------------------- printing */

static const char *word_of(const licet_trace_node *node)
{
    static const char *const words[] = { "denied", "allowed", "conditional" };

    return node->status == LICET_OK ? words[node->permissionship] : licet_status_name(node->status);
}

static lic_str str_of(const char *text)
{
    return (lic_str){ text, strlen(text) };
}

/* Goes through the nodes depth first; a node knows where the way goes on after it. */
typedef struct printer {
    const licet_trace *trace;
    lic_text           out;
    uint32_t          *parents;
    uint32_t          *levels;
} printer;

static void print_member(lic_text *out, const char *name, lic_str value)
{
    if (value.size == 0)
        return;
    lic_text_add_literal(out, ", ");
    lic_text_add_json(out, str_of(name));
    lic_text_add_literal(out, ": ");
    lic_text_add_json(out, value);
}

static void print_missing(lic_text *out, const licet_trace_node *node)
{
    lic_text_add_literal(out, ", \"missing_context\": [");
    for (size_t i = 0; i < node->missing_count; i++) {
        if (i > 0)
            lic_text_add_literal(out, ", ");
        lic_text_add_json(out, node->missing[i]);
    }
    lic_text_add_char(out, ']');
}

/* Up to where the children go. */
static void json_open(printer *p, size_t index)
{
    const licet_trace_node *node = &p->trace->nodes[index];
    lic_text               *out  = &p->out;

    lic_text_add_literal(out, "{\"resource\": ");
    lic_text_add_json(out, node->resource);
    lic_text_add_literal(out, ", \"permission\": ");
    lic_text_add_json(out, node->permission);
    lic_text_add(out,
                 node->is_permission ? LIC_STR(", \"is_permission\": true") : LIC_STR(", \"is_permission\": false"));
    lic_text_add_literal(out, ", \"result\": ");
    lic_text_add_json(out, str_of(word_of(node)));
    print_member(out, "reason", node->reason);
    print_member(out, "operand", node->operand);
    print_member(out, "relationship", node->relationship);
    print_member(out, "caveat", node->caveat_name);
    print_member(out, "expression", node->caveat_expression);
    if (node->caveat_context.size > 0) { /* JSON already */
        lic_text_add_literal(out, ", \"context\": ");
        lic_text_add(out, node->caveat_context);
    }
    if (node->missing_count > 0)
        print_missing(out, node);
    if (node->is_cut)
        lic_text_add_literal(out, ", \"is_cut\": true");
    lic_text_add_literal(out, ", \"children\": [");
}

static void json_close(printer *p, size_t index)
{
    (void)index;
    lic_text_add_literal(&p->out, "]}");
}

static void text_open(printer *p, size_t index)
{
    const licet_trace_node *node = &p->trace->nodes[index];
    lic_text               *out  = &p->out;

    for (uint32_t i = 0; i < p->levels[index]; i++)
        lic_text_add_literal(out, "  ");
    lic_text_add(out, str_of(word_of(node)));
    lic_text_add_char(out, ' ');
    lic_text_add(out, node->resource);
    lic_text_add_char(out, '#');
    lic_text_add(out, node->permission);
    lic_text_add_literal(out, " (");
    lic_text_add(out, node->reason);
    if (node->operand.size > 0) {
        lic_text_add_char(out, ' ');
        lic_text_add(out, node->operand);
    }
    lic_text_add_char(out, ')');
    if (node->relationship.size > 0) {
        lic_text_add_literal(out, " by ");
        lic_text_add(out, node->relationship);
    }
    if (node->caveat_name.size > 0) {
        lic_text_add_literal(out, "; caveat ");
        lic_text_add(out, node->caveat_name);
        lic_text_add_literal(out, ": ");
        lic_text_add(out, node->caveat_expression);
        lic_text_add_literal(out, " with ");
        lic_text_add(out, node->caveat_context);
    }
    for (size_t i = 0; i < node->missing_count; i++) {
        lic_text_add(out, i == 0 ? LIC_STR("; missing ") : LIC_STR(", "));
        lic_text_add(out, node->missing[i]);
    }
    if (node->is_cut)
        lic_text_add_literal(out, "; more was left out");
    lic_text_add_char(out, '\n');
}

static void text_close(printer *p, size_t index)
{
    (void)p;
    (void)index;
}

static void find_parents(printer *p)
{
    p->parents[0] = 0;
    p->levels[0]  = 0;
    for (size_t i = 0; i < p->trace->count; i++)
        for (size_t c = 0; c < p->trace->nodes[i].child_count; c++) {
            p->parents[p->trace->nodes[i].first_child + c] = (uint32_t)i;
            p->levels[p->trace->nodes[i].first_child + c]  = p->levels[i] + 1;
        }
}

/* Children have greater numbers than their parents, and stand side by side. */
static void print(printer *p, licet_format format)
{
    const licet_trace_node *nodes = p->trace->nodes;
    const bool              json  = format == LICET_FORMAT_JSON;
    size_t                  at    = 0;

    for (;;) {
        (json ? json_open : text_open)(p, at);
        if (nodes[at].child_count > 0) {
            at = nodes[at].first_child;
            continue;
        }
        for (;;) { /* up, until there is a next one */
            const licet_trace_node *parent = &nodes[p->parents[at]];

            (json ? json_close : text_close)(p, at);
            if (at == 0)
                return;
            if (at + 1 < parent->first_child + parent->child_count)
                break;
            at = p->parents[at];
        }
        at++;
        if (json)
            lic_text_add_literal(&p->out, ", ");
    }
}

static bool format_trace(const licet_trace *trace, licet_format format, lic_arena *arena, licet_buffer *out)
{
    printer p = { .trace = trace };
    bool    done;

    p.parents = lic_new_array(arena, trace->count, uint32_t);
    p.levels  = lic_new_array(arena, trace->count, uint32_t);
    if (p.parents == NULL || p.levels == NULL)
        return false;
    find_parents(&p);
    lic_text_init(&p.out, trace->engine->memory);
    print(&p, format);
    done = lic_text_to_buffer(&p.out, out);
    lic_text_free(&p.out);
    return done;
}

licet_status licet_trace_format(const licet_trace *trace, licet_format format, licet_buffer *out, licet_error **error)
{
    lic_arena arena;
    bool      done;

    lic_error_begin(error);
    if (out == NULL || out->size_of_record != sizeof *out)
        return lic_fail_record(error, "out");
    if (!is_trace(trace))
        return lic_fail(error, LICET_MISUSE, LICET_KIND_MISUSE, LIC_NOWHERE, "trace is NULL or not a trace");
    if (format != LICET_FORMAT_TEXT && format != LICET_FORMAT_JSON)
        return lic_fail(error, LICET_MISUSE, LICET_KIND_MISUSE, LIC_NOWHERE, "format: %d is neither text nor JSON",
                        (int)format);
    lic_arena_init(&arena, trace->engine->memory);
    done = format_trace(trace, format, &arena, out);
    lic_arena_free(&arena);
    return done ? LICET_OK : lic_fail_memory(error);
}

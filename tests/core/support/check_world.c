#include "check_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "schema/checker.h"
#include "schema/parser.h"

/* ------------------------------------------------------------------ worlds */

bool check_world_schema(check_world *w, const char *schema)
{
    lic_parse_options options = { .folder = { NULL, 0 } };
    lic_ast          *ast     = NULL;
    licet_error      *error   = NULL;
    lic_arena         arena;
    licet_status      status;

    lic_program_release(w->program);
    w->program = NULL;
    lic_arena_init(&arena, &w->memory);
    LIC_TRY(lic_parse(&arena, (lic_str){ schema, strlen(schema) }, &options, &ast, &error));
    LIC_TRY(lic_check_types(&arena, ast, false, &error));
    LIC_TRY(lic_compile(&w->memory, w->names, ast, &w->program, &error));
done:
    lic_arena_free(&arena);
    if (status != LICET_OK && status != LICET_OUT_OF_MEMORY)
        fail_msg("the schema is refused: %.*s", LIC_STR_ARG(licet_error_message(error)));
    licet_error_free(error);
    return status == LICET_OK;
}

bool check_world_open(check_world *w, const licet_allocator *allocator, const char *schema)
{
    *w = (check_world){ .limits = { 50, 1000000, 60000 } };
    lic_memory_init(&w->memory, allocator, SIZE_MAX);
    w->names = lic_names_new(&w->memory);
    if (w->names == NULL || !check_world_schema(w, schema))
        return false;
    w->graph = lic_graph_new(&w->memory, w->names, &(lic_graph_options){ .no_threads = true });
    return w->graph != NULL;
}

void check_world_close(check_world *w)
{
    lic_graph_free(w->graph);
    lic_program_release(w->program);
    lic_names_free(w->names);
    assert_int_equal(atomic_load(&w->memory.used), 0);
}

/* --------------------------------------------------------------- notation */

typedef struct end_text {
    lic_str type;
    lic_str id;
    lic_str relation; /* "..." where there is none */
} end_text;

static end_text end_of(lic_str text)
{
    const size_t colon = lic_str_find(text, ':');
    const size_t hash  = lic_str_find(text, '#');

    assert_true(colon < text.size);
    return (end_text){ lic_str_slice(text, 0, colon), lic_str_slice(text, colon + 1, hash),
                       hash < text.size ? lic_str_slice(text, hash + 1, text.size) : LIC_ELLIPSIS };
}

static bool intern(check_world *w, lic_str text, lic_ref *ref)
{
    const end_text end  = end_of(text);
    const lic_type type = lic_names_type(w->names, end.type);

    *ref = (lic_ref){ LIC_NO_SLOT, LIC_NO_NODE };
    if (type == LIC_NO_TYPE)
        return false;
    ref->slot = lic_names_slot(w->names, type, end.relation);
    ref->node = lic_graph_intern_node(w->graph, type, end.id);
    return ref->slot != LIC_NO_SLOT && ref->node != LIC_NO_NODE;
}

bool check_world_write(check_world *w, const char *lines)
{
    lic_str     rest    = { lines, strlen(lines) };
    lic_change *changes = NULL;
    size_t      count   = 0;
    size_t      room    = 0;
    bool        done    = true;
    uint64_t    revision;

    lic_graph_lock(w->graph);
    while (done && rest.size > 0) {
        const size_t length  = lic_str_find(rest, '\n');
        lic_str      line    = lic_str_slice(rest, 0, length);
        const bool   removes = line.size > 0 && line.data[0] == '-';
        lic_change   change  = { .present = !removes };
        size_t       at;

        rest = lic_str_slice(rest, length + (length < rest.size), rest.size);
        if (line.size == 0)
            continue;
        line = lic_str_slice(line, removes, line.size);
        at   = lic_str_find(line, '@');
        done = intern(w, lic_str_slice(line, 0, at), &change.edge.resource) &&
               intern(w, lic_str_slice(line, at + 1, line.size), &change.edge.subject) &&
               lic_grow(&w->memory, (void **)&changes, &room, count + 1, sizeof *changes);
        if (done)
            changes[count++] = change;
    }
    done = done && lic_graph_apply(w->graph, changes, count, &revision);
    lic_graph_unlock(w->graph);
    lic_free(&w->memory, changes, room * sizeof *changes);
    return done;
}

/* --------------------------------------------------------------- questions */

static answer answer_of(licet_status status, lic_membership membership, licet_error *error)
{
    answer result = ANSWER_MEMORY;

    if (status == LICET_OK)
        result = membership.value == LIC_YES ? ANSWER_YES : membership.value == LIC_IF ? ANSWER_IF : ANSWER_NO;
    else if (status == LICET_DEADLINE_EXCEEDED)
        result = ANSWER_DEADLINE;
    else if (status == LICET_LIMIT_EXCEEDED)
        result = licet_error_reason(error).size > 0 ? ANSWER_DEPTH : ANSWER_STEPS;
    else
        assert_int_equal(status, LICET_OUT_OF_MEMORY);
    if (status != LICET_OK)
        assert_int_equal(membership.value, LIC_NO);
    licet_error_free(error);
    return result;
}

void check_bulk_open(check_bulk *bulk, check_world *w)
{
    *bulk = (check_bulk){ .world = w };
    lic_snapshot_pin(w->graph, &bulk->snapshot);
    lic_arena_init(&bulk->arena, &w->memory);
    lic_eval_init(&bulk->eval, w->program, &bulk->snapshot, &bulk->arena, &w->limits);
}

void check_bulk_close(check_bulk *bulk)
{
    lic_arena_free(&bulk->arena);
    lic_snapshot_unpin(&bulk->snapshot);
}

static uint32_t definition_of(const check_world *w, lic_str type)
{
    const uint32_t definition = lic_program_definition(w->program, type);

    assert_int_not_equal(definition, LIC_NO_DEFINITION);
    return definition;
}

static void choose_subject(check_bulk *bulk, end_text subject, uint32_t node)
{
    check_world   *w          = bulk->world;
    const uint32_t definition = definition_of(w, subject.type);
    lic_slot       slot       = w->program->definitions[definition].ellipsis;

    if (!lic_str_equal(subject.relation, LIC_ELLIPSIS)) {
        const lic_rel relation = lic_program_relation(w->program, definition, subject.relation);

        assert_int_not_equal(relation, LIC_NO_REL);
        slot = w->program->relations[relation].slot;
    }
    lic_eval_subject(&bulk->eval, definition, (lic_ref){ slot, node });
}

answer check_bulk_ask(check_bulk *bulk, const char *question)
{
    check_world   *w          = bulk->world;
    const lic_str  text       = { question, strlen(question) };
    const size_t   at         = lic_str_find(text, '@');
    const end_text resource   = end_of(lic_str_slice(text, 0, at));
    const end_text subject    = end_of(lic_str_slice(text, at + 1, text.size));
    const uint32_t definition = definition_of(w, resource.type);
    const lic_rel  relation   = lic_program_relation(w->program, definition, resource.relation);
    const uint32_t subject_node =
        lic_graph_find_node(w->graph, w->program->definitions[definition_of(w, subject.type)].type, subject.id);
    uint32_t       node  = lic_graph_find_node(w->graph, w->program->definitions[definition].type, resource.id);
    licet_error   *error = NULL;
    lic_membership membership;
    licet_status   status;

    assert_int_not_equal(relation, LIC_NO_REL);
    if (node == LIC_NO_NODE && subject_node == LIC_NO_NODE && !lic_str_equal(resource.id, subject.id))
        node = LIC_OTHER_NODE;
    if (strcmp(bulk->subject, question + at + 1) != 0) {
        assert_true(text.size - at < sizeof bulk->subject);
        strncpy(bulk->subject, question + at + 1, sizeof bulk->subject - 1);
        choose_subject(bulk, subject, subject_node);
    }
    status   = lic_eval_check(&bulk->eval, relation, node, &membership, &error);
    w->steps = bulk->eval.steps;
    return answer_of(status, membership, error);
}

answer check_world_ask(check_world *w, const char *question)
{
    check_bulk bulk;
    answer     result;

    check_bulk_open(&bulk, w);
    result = check_bulk_ask(&bulk, question);
    check_bulk_close(&bulk);
    return result;
}

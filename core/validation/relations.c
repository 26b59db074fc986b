/* Expected relations: the subjects that were found, held against those that were written down. The numbers of the
 * checks are those of validation-files.md 6. */
#include <stdlib.h>

#include "datastore/typing.h"
#include "validation/expansion.h"
#include "validation/expectations.h"

#define MAX_ROWS 1000000u /* visited for one key */

#define MISSING "MISSING_EXPECTED_RELATIONSHIP"
#define EXTRA "EXTRA_RELATIONSHIP_FOUND"

/* One key being judged. */
typedef struct judging {
    const lic_expectations *run;
    const lic_file_key     *key;
    lic_arena               arena;
    lic_subject_set         found;
    bool                   *listed; /* for each found subject: some entry names it */
    lic_text                message;
    licet_error           **error;
} judging;

/* ---------------------------------------------------------------- texts of things */

static lic_str copy_text(judging *j, lic_text *text)
{
    lic_str copy = text->failed ? (lic_str){ NULL, 0 } : lic_arena_str(&j->arena, lic_text_str(text));

    lic_text_free(text);
    return copy;
}

/* What is found is in the graph, save for the key's own object: "self" finds it even where no relationship names it. */
static lic_str node_text(const judging *j, lic_type type, uint32_t node)
{
    return node == LIC_NO_NODE ? j->key->object.id : lic_graph_node_id(j->run->snapshot->graph, type, node);
}

/* "type:id#relation" of something that was found; data is NULL: out of memory. */
static lic_str ref_text(judging *j, lic_ref ref, bool caveated)
{
    const lic_names *names    = j->run->names;
    lic_type         type     = lic_names_type_of(names, ref.slot);
    lic_str          relation = lic_names_relation_name(names, ref.slot);
    lic_text         text;

    lic_text_init(&text, j->run->memory);
    lic_text_add(&text, lic_names_type_name(names, type));
    lic_text_add_char(&text, ':');
    lic_text_add(&text, node_text(j, type, ref.node));
    if (!lic_str_equal(relation, LIC_ELLIPSIS)) {
        lic_text_add_char(&text, '#');
        lic_text_add(&text, relation);
    }
    if (caveated)
        lic_text_add_literal(&text, "[...]");
    return copy_text(j, &text);
}

static lic_str object_text(judging *j, const lic_object *object, bool caveated)
{
    lic_text text;

    lic_text_init(&text, j->run->memory);
    lic_text_add(&text, object->type);
    lic_text_add_char(&text, ':');
    lic_text_add(&text, object->id);
    if (lic_str_given(object->relation)) {
        lic_text_add_char(&text, '#');
        lic_text_add(&text, object->relation);
    }
    if (caveated)
        lic_text_add_literal(&text, "[...]");
    return copy_text(j, &text);
}

/* Sorted texts, for comparing and for printing. */
typedef struct texts {
    lic_str *items;
    size_t   count;
} texts;

static int compare_texts(const void *a, const void *b)
{
    return lic_str_compare(*(const lic_str *)a, *(const lic_str *)b);
}

static bool finish_texts(texts *t)
{
    for (size_t i = 0; i < t->count; i++)
        if (!lic_str_given(t->items[i]))
            return false;
    if (t->count > 0)
        qsort(t->items, t->count, sizeof *t->items, compare_texts);
    return true;
}

static bool new_texts(judging *j, texts *t, size_t count)
{
    *t = (texts){ lic_new_array(&j->arena, count, lic_str), count };
    return t->items != NULL;
}

static bool equal_texts(const texts *a, const texts *b)
{
    bool equal = a->count == b->count;

    for (size_t i = 0; equal && i < a->count; i++)
        equal = lic_str_equal(a->items[i], b->items[i]);
    return equal;
}

static bool parents_texts(judging *j, const lic_subject *subject, texts *out)
{
    if (!new_texts(j, out, subject->parent_count))
        return false;
    for (size_t i = 0; i < subject->parent_count; i++)
        out->items[i] = ref_text(j, subject->parents[i], false);
    return finish_texts(out);
}

static bool resources_texts(judging *j, const lic_expected_subject *expected, texts *out)
{
    if (!new_texts(j, out, expected->resource_count))
        return false;
    for (size_t i = 0; i < expected->resource_count; i++)
        out->items[i] = object_text(j, &expected->resources[i], false);
    return finish_texts(out);
}

static bool found_exclusions(judging *j, const lic_subject *subject, texts *out)
{
    if (!new_texts(j, out, subject->exclusion_count))
        return false;
    for (size_t i = 0; i < subject->exclusion_count; i++)
        out->items[i] = ref_text(j, (lic_ref){ subject->ref.slot, subject->exclusions[i].node },
                                 subject->exclusions[i].condition != NULL);
    return finish_texts(out);
}

static bool expected_exclusions(judging *j, const lic_expected_subject *expected, texts *out)
{
    if (!new_texts(j, out, expected->exclusion_count))
        return false;
    for (size_t i = 0; i < expected->exclusion_count; i++)
        out->items[i] = object_text(j, &expected->exclusions[i].object, expected->exclusions[i].caveated);
    return finish_texts(out);
}

/* ------------------------------------------------------------------- findings */

/* Begins a message: every one names the key. */
static void begin_message(judging *j)
{
    j->message.size = 0;
    lic_text_add_literal(&j->message, "For object and permission/relation `");
    lic_text_add(&j->message, j->key->text);
    lic_text_add_literal(&j->message, "`, ");
}

static licet_status end_message(judging *j, const char *kind, lic_position position)
{
    if (j->message.failed ||
        !lic_report_add(j->run->report, false, "validation", kind, position, lic_text_str(&j->message)))
        return lic_fail_memory(j->error);
    return LICET_OK;
}

/* before `text` after */
static licet_status simple_finding(judging *j, const char *kind, lic_position position, lic_str before, lic_str text,
                                   lic_str after)
{
    begin_message(j);
    lic_text_add(&j->message, before);
    lic_text_add(&j->message, text);
    lic_text_add(&j->message, after);
    return end_message(j, kind, position);
}

static void add_texts(judging *j, const texts *t, lic_str between)
{
    lic_text_add_char(&j->message, '`');
    for (size_t i = 0; i < t->count; i++) {
        if (i > 0)
            lic_text_add(&j->message, between);
        lic_text_add_char(&j->message, '<');
        lic_text_add(&j->message, t->items[i]);
        lic_text_add_char(&j->message, '>');
    }
    lic_text_add_char(&j->message, '`');
}

static licet_status difference(judging *j, const lic_file_entry *entry, lic_str what, lic_str subject,
                               const texts *specified, const texts *computed, lic_str between)
{
    begin_message(j);
    lic_text_add(&j->message, what);
    lic_text_add(&j->message, subject);
    lic_text_add_literal(&j->message, "`: Specified: ");
    add_texts(j, specified, between);
    lic_text_add_literal(&j->message, ", Computed: ");
    add_texts(j, computed, between);
    return end_message(j, MISSING, entry->position);
}

/* ---------------------------------------------------------------------- checks */

/* The number of what an entry names, or SIZE_MAX: it was not found. */
static size_t find_subject(judging *j, const lic_object *object)
{
    uint32_t definition = lic_program_definition(j->run->program, object->type);
    lic_rel  relation;
    lic_ref  ref;

    if (definition == LIC_NO_DEFINITION)
        return SIZE_MAX;
    ref.slot = j->run->program->definitions[definition].ellipsis;
    ref.node = lic_graph_find_node(j->run->snapshot->graph, j->run->program->definitions[definition].type, object->id);
    if (ref.node == LIC_NO_NODE && !lic_str_equal(object->id, j->key->object.id))
        return SIZE_MAX; /* else it would be taken for the key's own object */
    if (lic_str_given(object->relation)) {
        relation = lic_program_relation(j->run->program, definition, object->relation);
        if (relation == LIC_NO_REL)
            return SIZE_MAX;
        ref.slot = j->run->program->relations[relation].slot;
    }
    for (size_t i = 0; i < j->found.count; i++)
        if (lic_ref_equal(j->found.members[i].ref, ref))
            return i;
    return SIZE_MAX;
}

/* 4 and 5 */
static licet_status check_exclusions(judging *j, const lic_file_entry *entry, const lic_subject *subject, lic_str name)
{
    texts specified, computed;

    if (subject->ref.node != LIC_WILDCARD_NODE)
        return entry->expected.exclusion_count == 0
                   ? LICET_OK
                   : simple_finding(j, EXTRA, entry->position, LIC_STR("found unexpected excluded subjects"),
                                    LIC_STR(""), LIC_STR(""));
    if (!expected_exclusions(j, &entry->expected, &specified) || !found_exclusions(j, subject, &computed))
        return lic_fail_memory(j->error);
    return equal_texts(&specified, &computed)
               ? LICET_OK
               : difference(j, entry, LIC_STR("found different excluded subjects for subject `"), name, &specified,
                            &computed, LIC_STR(", "));
}

/* 3 */
static licet_status check_resources(judging *j, const lic_file_entry *entry, const lic_subject *subject, lic_str name)
{
    texts specified, computed;

    if (!resources_texts(j, &entry->expected, &specified) || !parents_texts(j, subject, &computed))
        return lic_fail_memory(j->error);
    return equal_texts(&specified, &computed)
               ? LICET_OK
               : difference(j, entry, LIC_STR("found different relationships for subject `"), name, &specified,
                            &computed, LIC_STR("/"));
}

/* 1 to 6; 2 ends the entry, 3 to 6 are all reported. */
static licet_status check_entry(judging *j, const lic_file_entry *entry)
{
    const lic_expected_subject *expected = &entry->expected;
    licet_status                status;
    size_t                      index;
    lic_str                     name;

    j->run->report->counts.expected_relations++;
    if (!expected->has_subject)
        return simple_finding(j, MISSING, entry->position, LIC_STR("no expected subject specified in `"), entry->text,
                              LIC_STR("`"));
    name = object_text(j, &expected->subject.object, false);
    if (!lic_str_given(name))
        return lic_fail_memory(j->error);
    index = find_subject(j, &expected->subject.object);
    if (index == SIZE_MAX)
        return simple_finding(j, MISSING, entry->position, LIC_STR("missing expected subject `"), name, LIC_STR("`"));
    j->listed[index] = true;
    LIC_TRY(check_resources(j, entry, &j->found.members[index], name));
    LIC_TRY(check_exclusions(j, entry, &j->found.members[index], name));
    if ((j->found.members[index].condition != NULL) != expected->subject.caveated)
        LIC_TRY(simple_finding(j, MISSING, entry->position, LIC_STR("found caveat mismatch for subject `"), name,
                               LIC_STR("`")));
done:
    return status;
}

/* 7 */
static licet_status check_unlisted(judging *j)
{
    licet_status status = LICET_OK;

    for (size_t i = 0; i < j->found.count && status == LICET_OK; i++) {
        lic_str name;

        if (j->listed[i])
            continue;
        name = ref_text(j, j->found.members[i].ref, false);
        if (!lic_str_given(name))
            return lic_fail_memory(j->error);
        status = simple_finding(j, EXTRA, j->key->position, LIC_STR("subject `"), name,
                                LIC_STR("` found but not listed in expected subjects"));
    }
    return status;
}

/* ------------------------------------------------------------------------ keys */

static licet_status expand_key(judging *j)
{
    const lic_program *program = j->run->program;
    uint32_t           definition;
    lic_rel            relation;
    licet_status       status;
    uint32_t           node;

    LIC_TRY(lic_find_definition(program, j->key->object.type, &definition, j->error));
    LIC_TRY(lic_find_relation(program, definition, j->key->object.relation, &relation, j->error));
    node = lic_graph_find_node(j->run->snapshot->graph, program->definitions[definition].type, j->key->object.id);
    LIC_TRY(lic_expand_subjects(&j->arena, program, j->run->snapshot, j->run->now, relation, node,
                                j->run->limits.max_depth, MAX_ROWS, &j->found, j->error));
done:
    return status;
}

/* What keeps a key from being expanded says something about the file, unless memory ran out. */
static licet_status judge_failure(judging *j, licet_status status, licet_error *cause, licet_error **error)
{
    const char *kind =
        status == LICET_NOT_FOUND && lic_str_equal(licet_error_reason(cause), LIC_STR("UNKNOWN_DEFINITION"))
            ? "UNKNOWN_OBJECT_TYPE"
        : status == LICET_NOT_FOUND ? "UNKNOWN_RELATION"
                                    : "MAXIMUM_RECURSION";

    j->error = error;
    if (status == LICET_OUT_OF_MEMORY)
        return lic_fail_memory(error);
    j->run->report->counts.expected_relations += j->key->count;
    return simple_finding(j, kind, j->key->position, LIC_STR(""), licet_error_message(cause), LIC_STR(""));
}

static licet_status judge_key(judging *j, licet_error **error)
{
    licet_error *cause = NULL;
    licet_status status;

    j->error = &cause;
    status   = expand_key(j);
    if (status != LICET_OK) {
        status = judge_failure(j, status, cause, error);
        licet_error_free(cause);
        return status;
    }
    j->error  = error;
    j->listed = lic_new_array(&j->arena, j->found.count, bool);
    if (j->listed == NULL)
        return lic_fail_memory(error);
    for (size_t i = 0; i < j->key->count && status == LICET_OK; i++)
        status = check_entry(j, &j->key->entries[i]);
    return status == LICET_OK ? check_unlisted(j) : status;
}

licet_status lic_run_expected_relations(const lic_expectations *run, const lic_validation_file *file,
                                        licet_error **error)
{
    licet_status status = LICET_OK;

    for (size_t i = 0; i < file->key_count && status == LICET_OK; i++) {
        judging j = { .run = run, .key = &file->keys[i] };

        lic_arena_init(&j.arena, run->memory);
        lic_text_init(&j.message, run->memory);
        status = judge_key(&j, error);
        lic_text_free(&j.message);
        lic_arena_free(&j.arena);
    }
    return status;
}

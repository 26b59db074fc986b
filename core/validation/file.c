/* Decoding ends at the first thing that is wrong; nothing has been loaded then. */
#include "validation/file.h"

#include "base/hash.h"
#include "base/map.h"

typedef struct decoder {
    lic_arena           *arena;
    licet_report        *report;
    lic_validation_file *file;
    licet_error        **error;
} decoder;

static licet_status wrong_type(decoder *d, const lic_yaml_node *node, const char *what, const char *expected)
{
    return lic_fail(d->error, LICET_INVALID_ARGUMENT, LICET_KIND_TYPE, node->position, "`%s` must be %s", what,
                    expected);
}

/* An error of a part gets its place in the file (the part's, moved by the error's own column), and the part's text in
 * front. */
static licet_status in_part(decoder *d, licet_status status, lic_position position, const char *what, lic_str text)
{
    licet_error *cause = d->error == NULL ? NULL : *d->error;
    lic_str      told;

    if (cause == NULL || status == LICET_OUT_OF_MEMORY)
        return status;
    told = licet_error_message(cause);
    if (licet_error_line(cause) == 1)
        position.column += licet_error_column(cause) - 1;
    *d->error = NULL;
    status    = lic_fail_reason(d->error, status, licet_error_kind(cause), licet_error_reason(cause).data, position,
                                "error parsing %s %Q: %.*s", what, &text, LIC_STR_ARG(told));
    licet_error_free(cause);
    return status;
}

/* The value of a key where null means absent. */
static const lic_yaml_node *find_value(const lic_yaml_node *mapping, lic_str key)
{
    const lic_yaml_node *value = lic_yaml_find(mapping, key);

    return value != NULL && value->kind != LIC_YAML_NULL ? value : NULL;
}

static licet_status warn_unknown_keys(decoder *d, const lic_yaml_node *mapping, const char *const *known,
                                      const char *where)
{
    for (size_t i = 0; i < mapping->count; i += 2) {
        lic_str  key  = mapping->children[i]->text;
        bool     good = false;
        lic_text message;
        bool     added;

        for (const char *const *k = known; *k != NULL; k++)
            good = good || lic_str_equal(key, (lic_str){ *k, strlen(*k) });
        if (good)
            continue;
        lic_text_init(&message, d->arena->memory);
        lic_text_add_literal(&message, "unknown key `");
        lic_text_add(&message, key.size > 64 ? lic_str_slice(key, 0, 64) : key);
        lic_text_add_literal(&message, "` ");
        lic_text_add(&message, (lic_str){ where, strlen(where) });
        lic_text_add_literal(&message, " is ignored");
        added = !message.failed && lic_report_add(d->report, true, "file", "UNKNOWN_KEY",
                                                  mapping->children[i]->position, lic_text_str(&message));
        lic_text_free(&message);
        if (!added)
            return lic_fail_memory(d->error);
    }
    return LICET_OK;
}

/* ---------------------------------------------------------------------- schema */

static licet_status decode_schema(decoder *d, const lic_yaml_node *root)
{
    const lic_yaml_node *schema = find_value(root, LIC_STR("schema"));
    const lic_yaml_node *path   = find_value(root, LIC_STR("schemaFile"));

    if (schema != NULL && path != NULL)
        return lic_fail(d->error, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, path->position,
                        "only one of `schema` or `schemaFile` can be given");
    if (schema == NULL && path == NULL)
        return lic_fail(d->error, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, root->position,
                        "either `schema` or `schemaFile` must be given");
    if (schema != NULL && schema->kind != LIC_YAML_TEXT)
        return wrong_type(d, schema, "schema", "a text");
    if (path != NULL && path->kind != LIC_YAML_TEXT)
        return wrong_type(d, path, "schemaFile", "a text");
    d->file->schema = schema;
    if (path != NULL) {
        d->file->schema_file          = path->text;
        d->file->schema_file_position = path->position;
    }
    return LICET_OK;
}

/* --------------------------------------------------------------- relationships */

/* The six names, which decide whether two lines mean the same relationship. */
static lic_str identity_of(decoder *d, const licet_relationship *r)
{
    const lic_str parts[] = { r->resource_type, r->resource_id, r->relation, r->subject_type, r->subject_id };
    lic_text      text;
    lic_str       copy = { NULL, 0 };

    lic_text_init(&text, d->arena->memory);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        lic_text_add(&text, parts[i]);
        lic_text_add_char(&text, ' '); /* in none of the names */
    }
    if (lic_str_given(r->subject_relation) && !lic_str_equal(r->subject_relation, LIC_STR("...")))
        lic_text_add(&text, r->subject_relation);
    if (!text.failed)
        copy = lic_arena_str(d->arena, lic_text_str(&text));
    lic_text_free(&text);
    return copy;
}

static licet_status add_relationship(decoder *d, lic_map *seen, lic_str line, lic_position position)
{
    lic_validation_file *file  = d->file;
    uint32_t             index = (uint32_t)file->relationship_count;
    licet_relationship  *r     = &file->relationships[index];
    lic_str              identity;
    uint32_t             first;
    licet_status         status;

    *r     = (licet_relationship)LICET_RELATIONSHIP_INIT;
    status = licet_relationship_parse(line, r, d->error);
    if (status != LICET_OK)
        return in_part(d, status, position, "relationship", line);
    identity = identity_of(d, r);
    if (!lic_str_given(identity) || !lic_map_add(seen, identity, index, &first))
        return lic_fail_memory(d->error);
    if (first != index)
        return lic_fail(d->error, LICET_INVALID_ARGUMENT, LICET_KIND_CONFLICT, position,
                        "found repeated relationship %Q, first on line %u", &line,
                        file->relationship_positions[first].line);
    file->relationship_texts[index]     = line;
    file->relationship_positions[index] = position;
    file->relationship_count++;
    return LICET_OK;
}

static bool make_room(decoder *d, lic_str text)
{
    lic_validation_file *file = d->file;
    size_t               most = 1;

    for (size_t i = 0; i < text.size; i++)
        most += text.data[i] == '\n';
    file->relationships          = lic_new_array(d->arena, most, licet_relationship);
    file->relationship_positions = lic_new_array(d->arena, most, lic_position);
    file->relationship_texts     = lic_new_array(d->arena, most, lic_str);
    return file->relationships != NULL && file->relationship_positions != NULL && file->relationship_texts != NULL;
}

static licet_status each_line(decoder *d, const lic_yaml_node *node, lic_map *seen)
{
    lic_yaml_walk walk   = lic_yaml_walk_from(d->file->source, node);
    lic_str       text   = node->text;
    licet_status  status = LICET_OK;

    for (size_t start = 0; start < text.size && status == LICET_OK;) {
        size_t  end  = start + lic_str_find(lic_str_slice(text, start, text.size), '\n');
        lic_str line = lic_str_trim(lic_str_slice(text, start, end));

        if (line.size > 0 && !lic_str_starts_with(line, LIC_STR("//")))
            status = add_relationship(d, seen, line, lic_yaml_walk_to(&walk, (size_t)(line.data - text.data)));
        start = end + 1;
    }
    return status;
}

static licet_status decode_relationships(decoder *d, const lic_yaml_node *root)
{
    const lic_yaml_node *node = find_value(root, LIC_STR("relationships"));
    licet_status         status;
    lic_map              seen;

    if (node == NULL)
        return LICET_OK;
    if (node->kind != LIC_YAML_TEXT)
        return wrong_type(d, node, "relationships", "a text with one relationship a line");
    if (!make_room(d, node->text))
        return lic_fail_memory(d->error);
    lic_map_init(&seen, d->arena->memory, lic_random_key());
    status = each_line(d, node, &seen);
    lic_map_free(&seen);
    return status;
}

/* ------------------------------------------------------------------ assertions */

static const struct assertion_list {
    const char          *key;
    licet_permissionship expected;
} assertion_lists[] = {
    { "assertTrue", LICET_HAS_PERMISSION },
    { "assertCaveated", LICET_CONDITIONAL_PERMISSION },
    { "assertFalse", LICET_NO_PERMISSION },
};

#define ASSERTION_LISTS (sizeof assertion_lists / sizeof assertion_lists[0])

static licet_status decode_assertion(decoder *d, const lic_yaml_node *node, const struct assertion_list *list)
{
    lic_file_assertion *assertion = &d->file->assertions[d->file->assertion_count];
    licet_status        status;

    if (node->kind != LIC_YAML_TEXT)
        return wrong_type(d, node, list->key, "a list of texts");
    assertion->text     = lic_str_trim(node->text);
    assertion->expected = list->expected;
    assertion->position = lic_yaml_position(d->file->source, node, 0);
    status              = lic_assertion_parse(node->text, &assertion->assertion, d->error);
    if (status != LICET_OK)
        return in_part(d, status, assertion->position, "assertion", node->text);
    d->file->assertion_count++;
    return LICET_OK;
}

static licet_status decode_assertions(decoder *d, const lic_yaml_node *root)
{
    static const char *const known[] = { "assertTrue", "assertCaveated", "assertFalse", NULL };
    const lic_yaml_node     *node    = find_value(root, LIC_STR("assertions"));
    const lic_yaml_node     *lists[ASSERTION_LISTS];
    licet_status             status;
    size_t                   count = 0;

    if (node == NULL)
        return LICET_OK;
    if (node->kind != LIC_YAML_MAPPING)
        return wrong_type(d, node, "assertions", "a mapping");
    status = warn_unknown_keys(d, node, known, "in `assertions`");
    for (size_t i = 0; i < ASSERTION_LISTS && status == LICET_OK; i++) {
        lists[i] = find_value(node, (lic_str){ known[i], strlen(known[i]) });
        if (lists[i] != NULL && lists[i]->kind != LIC_YAML_SEQUENCE)
            return wrong_type(d, lists[i], known[i], "a list of texts");
        count += lists[i] == NULL ? 0 : lists[i]->count;
    }
    if (status != LICET_OK)
        return status;
    d->file->assertions = lic_new_array(d->arena, count, lic_file_assertion);
    if (d->file->assertions == NULL)
        return lic_fail_memory(d->error);
    for (size_t i = 0; i < ASSERTION_LISTS; i++)
        for (size_t n = 0; lists[i] != NULL && n < lists[i]->count && status == LICET_OK; n++)
            status = decode_assertion(d, lists[i]->children[n], &assertion_lists[i]);
    return status;
}

/* ----------------------------------------------------------- expected relations */

static licet_status decode_entry(decoder *d, const lic_yaml_node *node, lic_file_entry *entry)
{
    licet_status status;

    if (node->kind != LIC_YAML_TEXT)
        return wrong_type(d, node, "validation", "a mapping from objects and relations to lists of texts");
    entry->text     = node->text;
    entry->position = node->position;
    status          = lic_expected_parse(d->arena, node->text, &entry->expected, d->error);
    return status == LICET_OK ? LICET_OK : in_part(d, status, node->position, "expected relation", node->text);
}

static licet_status decode_key(decoder *d, const lic_yaml_node *name, const lic_yaml_node *list, lic_file_key *key)
{
    licet_status status = lic_object_and_relation_parse(name->text, &key->object, d->error);

    if (status != LICET_OK)
        return in_part(d, status, name->position, "object and relation", name->text);
    key->text     = name->text;
    key->position = name->position;
    if (list->kind == LIC_YAML_NULL)
        return LICET_OK;
    if (list->kind != LIC_YAML_SEQUENCE)
        return wrong_type(d, list, "validation", "a mapping from objects and relations to lists of texts");
    key->entries = lic_new_array(d->arena, list->count, lic_file_entry);
    if (key->entries == NULL)
        return lic_fail_memory(d->error);
    for (; key->count < list->count && status == LICET_OK; key->count++)
        status = decode_entry(d, list->children[key->count], &key->entries[key->count]);
    d->file->entry_count += key->count;
    return status;
}

static licet_status decode_validation(decoder *d, const lic_yaml_node *root)
{
    const lic_yaml_node *node   = find_value(root, LIC_STR("validation"));
    licet_status         status = LICET_OK;

    if (node == NULL)
        return LICET_OK;
    if (node->kind != LIC_YAML_MAPPING)
        return wrong_type(d, node, "validation", "a mapping from objects and relations to lists of texts");
    d->file->keys = lic_new_array(d->arena, node->count / 2, lic_file_key);
    if (d->file->keys == NULL)
        return lic_fail_memory(d->error);
    for (size_t i = 0; i < node->count && status == LICET_OK; i += 2) {
        status = decode_key(d, node->children[i], node->children[i + 1], &d->file->keys[d->file->key_count]);
        d->file->key_count++;
    }
    return status;
}

/* --------------------------------------------------------------------- the file */

/* SpiceDB's two retired keys: an error when they hold something. */
static licet_status refuse_legacy(decoder *d, const lic_yaml_node *root)
{
    static const struct {
        const char *key, *instead;
    } legacy[] = { { "namespace_configs", "definitions must be specified in `schema`" },
                   { "validation_tuples", "relationships must be specified in `relationships`" } };

    for (size_t i = 0; i < 2; i++) {
        const lic_yaml_node *node = find_value(root, (lic_str){ legacy[i].key, strlen(legacy[i].key) });

        if (node != NULL && (node->count > 0 || node->kind == LIC_YAML_TEXT))
            return lic_fail(d->error, LICET_INVALID_ARGUMENT, LICET_KIND_VALUE, node->position, "`%s`: %s",
                            legacy[i].key, legacy[i].instead);
    }
    return LICET_OK;
}

static licet_status decode(decoder *d, const lic_yaml_node *root)
{
    static const char *const known[] = { "schema",     "schemaFile",        "relationships",     "assertions",
                                         "validation", "namespace_configs", "validation_tuples", NULL };
    licet_status             status;

    LIC_TRY(warn_unknown_keys(d, root, known, "at the top level"));
    LIC_TRY(refuse_legacy(d, root));
    LIC_TRY(decode_schema(d, root));
    LIC_TRY(decode_relationships(d, root));
    LIC_TRY(decode_assertions(d, root));
    LIC_TRY(decode_validation(d, root));
done:
    return status;
}

licet_status lic_validation_file_parse(lic_arena *arena, lic_str source, licet_report *report,
                                       lic_validation_file *file, licet_error **error)
{
    decoder        d    = { arena, report, file, error };
    lic_yaml_node *root = NULL;
    licet_status   status;

    *file        = (lic_validation_file){ 0 };
    file->source = source;
    status       = lic_yaml_parse(arena, source, &root, error);
    if (status != LICET_OK)
        return status;
    if (root == NULL || root->kind != LIC_YAML_MAPPING)
        return lic_fail(error, LICET_INVALID_ARGUMENT, LICET_KIND_TYPE, root == NULL ? LIC_NOWHERE : root->position,
                        "a validation file is a mapping with `schema`, `relationships`, `assertions`, `validation`");
    return decode(&d, root);
}

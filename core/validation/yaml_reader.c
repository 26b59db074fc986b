/* The tree is built from libyaml's events with an explicit stack, so nesting costs no C stack. libyaml keeps its own
 * memory (malloc); it is given back before lic_yaml_parse returns. */
#include "validation/yaml.h"

#ifdef LICET_WITH_YAML

#include <yaml.h>

#include "base/map.h"
#include "base/hash.h"
#include "base/utf8.h"

typedef struct reader {
    lic_arena      *arena;
    yaml_parser_t   parser;
    lic_map         anchors; /* name -> index in anchored */
    lic_yaml_node **anchored;
    size_t          anchored_count;
    size_t          anchored_capacity;
    lic_yaml_node  *stack[LIC_MAX_YAML_NESTING]; /* open collections, outermost first */
    lic_map         keys[LIC_MAX_YAML_NESTING];  /* of each of them, if it is a mapping: key -> place */
    size_t          depth;
    lic_yaml_node  *root;
    size_t          written; /* nodes that stand in the text, aliases included */
    licet_error   **error;
} reader;

static lic_position position_of(yaml_mark_t mark)
{
    return (lic_position){ (uint32_t)mark.line + 1, (uint32_t)mark.column + 1 };
}

static licet_status wrong(reader *r, licet_kind kind, lic_position at, const char *message)
{
    licet_status status = kind == LICET_KIND_LIMIT ? LICET_LIMIT_EXCEEDED : LICET_INVALID_ARGUMENT;

    return lic_fail(r->error, status, kind, at, "%s", message);
}

/* ---------------------------------------------------------------- adding nodes */

/* An unfinished collection has weight 0: an alias to it stands inside its own anchor. */
static licet_status check_growth(reader *r, const lic_yaml_node *node, lic_position at)
{
    if (node->weight / LIC_MAX_YAML_GROWTH > r->written + 100)
        return wrong(r, LICET_KIND_LIMIT, at, "aliases grow the document more than tenfold");
    return LICET_OK;
}

/* A mapping's keys are looked up in a table: a file may have a hundred thousand. */
static licet_status check_key(reader *r, const lic_yaml_node *mapping, const lic_yaml_node *key)
{
    lic_str  text  = lic_str_given(key->text) ? key->text : LIC_STR("");
    uint32_t place = (uint32_t)mapping->count;
    uint32_t first;

    if (key->kind == LIC_YAML_SEQUENCE || key->kind == LIC_YAML_MAPPING)
        return wrong(r, LICET_KIND_TYPE, key->position, "a key must be a text");
    if (!lic_map_add(&r->keys[r->depth - 1], text, place, &first))
        return lic_fail_memory(r->error);
    if (first != place)
        return lic_fail(r->error, LICET_INVALID_ARGUMENT, LICET_KIND_SYNTAX, key->position,
                        "the key %Q is given twice in one mapping", &key->text);
    return LICET_OK;
}

/* Puts a finished or just opened node into the collection on top. */
static licet_status attach(reader *r, lic_yaml_node *node, lic_position at)
{
    lic_yaml_node *top = r->depth > 0 ? r->stack[r->depth - 1] : NULL;
    licet_status   status;

    r->written++;
    if (top == NULL) {
        r->root = node;
        return LICET_OK;
    }
    if (top->kind == LIC_YAML_MAPPING && top->count % 2 == 0 && (status = check_key(r, top, node)) != LICET_OK)
        return status;
    if (!lic_arena_grow(r->arena, (void **)&top->children, &top->capacity, top->count + 1, sizeof *top->children))
        return lic_fail_memory(r->error);
    top->children[top->count++] = node;
    return check_growth(r, node, at);
}

static licet_status remember_anchor(reader *r, const yaml_char_t *anchor, lic_yaml_node *node)
{
    lic_str name;

    if (anchor == NULL)
        return LICET_OK;
    name = lic_arena_str(r->arena, (lic_str){ (const char *)anchor, strlen((const char *)anchor) });
    if (name.data == NULL ||
        !lic_arena_grow(r->arena, (void **)&r->anchored, &r->anchored_capacity, r->anchored_count + 1,
                        sizeof(lic_yaml_node *)) ||
        !lic_map_set(&r->anchors, name, (uint32_t)r->anchored_count))
        return lic_fail_memory(r->error);
    r->anchored[r->anchored_count++] = node;
    return LICET_OK;
}

static lic_yaml_node *new_node(reader *r, lic_yaml_kind kind, yaml_mark_t mark)
{
    lic_yaml_node *node = lic_new(r->arena, lic_yaml_node);

    if (node != NULL) {
        node->kind     = kind;
        node->position = position_of(mark);
    }
    return node;
}

/* ---------------------------------------------------------------------- events */

/* Only the types of YAML's core schema may be named; a text stays a text whatever it is called. */
static bool is_core_tag(const yaml_char_t *tag)
{
    static const char *const core[]   = { "str", "int", "float", "bool", "null", "seq", "map" };
    static const char        prefix[] = "tag:yaml.org,2002:";

    if (tag == NULL || strcmp((const char *)tag, "!") == 0)
        return true;
    if (strncmp((const char *)tag, prefix, sizeof prefix - 1) != 0)
        return false;
    for (size_t i = 0; i < sizeof core / sizeof core[0]; i++)
        if (strcmp((const char *)tag + sizeof prefix - 1, core[i]) == 0)
            return true;
    return false;
}

static bool is_null(const yaml_event_t *event)
{
    lic_str text = { (const char *)event->data.scalar.value, event->data.scalar.length };

    return event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
           (text.size == 0 || lic_str_equal(text, LIC_STR("~")) || lic_str_equal(text, LIC_STR("null")) ||
            lic_str_equal(text, LIC_STR("Null")) || lic_str_equal(text, LIC_STR("NULL")));
}

static licet_status on_scalar(reader *r, const yaml_event_t *event)
{
    yaml_scalar_style_t style = event->data.scalar.style;
    lic_yaml_node      *node  = new_node(r, is_null(event) ? LIC_YAML_NULL : LIC_YAML_TEXT, event->start_mark);
    licet_status        status;

    if (!is_core_tag(event->data.scalar.tag))
        return wrong(r, LICET_KIND_TYPE, position_of(event->start_mark), "tags are not allowed here");
    if (node == NULL)
        return lic_fail_memory(r->error);
    node->weight = 1;
    node->block  = style == YAML_LITERAL_SCALAR_STYLE || style == YAML_FOLDED_SCALAR_STYLE;
    node->quoted = style == YAML_SINGLE_QUOTED_SCALAR_STYLE || style == YAML_DOUBLE_QUOTED_SCALAR_STYLE;
    node->text =
        lic_arena_str(r->arena, (lic_str){ (const char *)event->data.scalar.value, event->data.scalar.length });
    if (node->text.data == NULL)
        return lic_fail_memory(r->error);
    if ((status = remember_anchor(r, event->data.scalar.anchor, node)) != LICET_OK)
        return status;
    return attach(r, node, node->position);
}

static licet_status on_start(reader *r, lic_yaml_kind kind, const yaml_char_t *anchor, const yaml_char_t *tag,
                             yaml_mark_t mark)
{
    lic_yaml_node *node;
    licet_status   status;

    if (!is_core_tag(tag))
        return wrong(r, LICET_KIND_TYPE, position_of(mark), "tags are not allowed here");
    if (r->depth == LIC_MAX_YAML_NESTING)
        return wrong(r, LICET_KIND_LIMIT, position_of(mark), "nested more than 64 levels deep");
    node = new_node(r, kind, mark);
    if (node == NULL)
        return lic_fail_memory(r->error);
    if ((status = remember_anchor(r, anchor, node)) != LICET_OK ||
        (status = attach(r, node, node->position)) != LICET_OK)
        return status;
    lic_map_init(&r->keys[r->depth], r->arena->memory, r->anchors.key);
    r->stack[r->depth++] = node;
    return LICET_OK;
}

static licet_status on_end(reader *r)
{
    lic_yaml_node *node   = r->stack[--r->depth];
    size_t         weight = 1;

    lic_map_free(&r->keys[r->depth]);
    for (size_t i = 0; i < node->count; i++)
        weight += node->children[i]->weight; /* each at most ten times the text: no overflow */
    node->weight = weight;
    return check_growth(r, node, node->position);
}

static licet_status on_alias(reader *r, const yaml_event_t *event)
{
    lic_str      name  = { (const char *)event->data.alias.anchor, strlen((const char *)event->data.alias.anchor) };
    lic_position at    = position_of(event->start_mark);
    uint32_t     index = lic_map_find(&r->anchors, name);

    if (index == LIC_MAP_NONE)
        return lic_fail(r->error, LICET_INVALID_ARGUMENT, LICET_KIND_SYNTAX, at,
                        "no anchor %Q stands before this alias", &name);
    if (r->anchored[index]->weight == 0)
        return wrong(r, LICET_KIND_SYNTAX, at, "an alias may not stand inside its own anchor");
    return attach(r, r->anchored[index], at);
}

static licet_status on_event(reader *r, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return on_scalar(r, event);
    case YAML_ALIAS_EVENT:
        return on_alias(r, event);
    case YAML_SEQUENCE_START_EVENT:
        return on_start(r, LIC_YAML_SEQUENCE, event->data.sequence_start.anchor, event->data.sequence_start.tag,
                        event->start_mark);
    case YAML_MAPPING_START_EVENT:
        return on_start(r, LIC_YAML_MAPPING, event->data.mapping_start.anchor, event->data.mapping_start.tag,
                        event->start_mark);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return on_end(r);
    case YAML_DOCUMENT_START_EVENT:
        if (r->root != NULL)
            return wrong(r, LICET_KIND_SYNTAX, position_of(event->start_mark),
                         "a second document begins here; a validation file is one document");
        return LICET_OK;
    default:
        return LICET_OK;
    }
}

/* ----------------------------------------------------------------- the parser */

static licet_status parser_failure(reader *r)
{
    const yaml_parser_t *parser  = &r->parser;
    const char          *problem = parser->problem != NULL ? parser->problem : "not YAML";
    lic_str              text    = { problem, strlen(problem) };

    if (parser->error == YAML_MEMORY_ERROR)
        return lic_fail_memory(r->error);
    return lic_fail(r->error, LICET_INVALID_ARGUMENT, LICET_KIND_SYNTAX, position_of(parser->problem_mark),
                    "not valid YAML: %.*s", (int)text.size, text.data);
}

static licet_status read_events(reader *r)
{
    bool         more   = true;
    licet_status status = LICET_OK;

    while (more && status == LICET_OK) {
        yaml_event_t event;

        if (!yaml_parser_parse(&r->parser, &event))
            return parser_failure(r);
        more   = event.type != YAML_STREAM_END_EVENT;
        status = on_event(r, &event);
        yaml_event_delete(&event);
    }
    return status;
}

static licet_status check_source(lic_str source, licet_error **error)
{
    size_t bad = lic_utf8_check(source);

    if (source.size > LIC_MAX_YAML_BYTES)
        return lic_fail(error, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, LIC_NOWHERE,
                        "the validation file has %zu bytes, at most %d are allowed", source.size, LIC_MAX_YAML_BYTES);
    if (bad < source.size)
        return lic_fail(error, LICET_INVALID_ARGUMENT, LICET_KIND_ENCODING, lic_position_of(source, bad),
                        "not UTF-8 at byte %zu", bad);
    return LICET_OK;
}

licet_status lic_yaml_parse(lic_arena *arena, lic_str source, lic_yaml_node **root, licet_error **error)
{
    reader       r      = { .arena = arena, .error = error };
    licet_status status = check_source(source, error);

    *root = NULL;
    if (status != LICET_OK)
        return status;
    if (!yaml_parser_initialize(&r.parser))
        return lic_fail_memory(error);
    lic_map_init(&r.anchors, arena->memory, lic_random_key());
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)source.data, source.size);
    status = read_events(&r);
    if (status == LICET_OK)
        *root = r.root;
    while (r.depth > 0)
        lic_map_free(&r.keys[--r.depth]);
    lic_map_free(&r.anchors);
    yaml_parser_delete(&r.parser);
    return status;
}

#else

licet_status lic_yaml_parse(lic_arena *arena, lic_str source, lic_yaml_node **root, licet_error **error)
{
    (void)arena;
    (void)source;
    *root = NULL;
    return lic_fail(error, LICET_UNSUPPORTED, LICET_KIND_CONFIG, LIC_NOWHERE,
                    "this licet was built without YAML: it has no validation files");
}

#endif

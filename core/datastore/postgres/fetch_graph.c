/* Almost all rows have no attribute, and then all there is to judge are their ids: what the probe asked for is a shape that
 * the schema allows. All others are judged as a load judges them. */
#include "datastore/postgres/fetch_graph.h"

#include "base/hash.h"
#include "datastore/object.h"

#define SCRATCH_BYTES 8192

/* What the rows of a probe have in common. */
typedef struct found_by {
    const lic_fetch_probe *probe;
    lic_slot               resource_slot;
    lic_type               resource_type;
    lic_type               subject_type;
    bool                   plain_allowed; /* rows without attributes: of a subject */
    bool                   plain_wildcard_allowed;
} found_by;

typedef struct fetched_row {
    const found_by *by;
    lic_str         resource_id;
    lic_str         subject_id;
    int             number; /* of the row in the result that it is in */
    bool            is_plain;
} fetched_row;

typedef struct builder {
    const lic_fetch_graph *from;
    const PGresult        *result;
    lic_arena              scratch; /* all below */
    found_by              *probes;
    size_t                 probe_count;
    fetched_row           *rows; /* without that about the store */
    size_t                 row_count;
    lic_graph             *graph;
    lic_change            *changes;
    size_t                 change_count;
    uint32_t              *known; /* hash table of edges: number of the change, plus 1; 0: free */
    size_t                 known_capacity;
    bool                   plain;
} builder;

/* ----------------------------------------------------------------------- rows */

static bool allows_plain(const lic_program *program, const lic_fetch_probe *probe, bool wildcard)
{
    const lic_relation *r = &program->relations[probe->relation];

    for (uint32_t i = r->first_allowed; i < r->first_allowed + r->allowed_count; i++) {
        const lic_allowed *allowed = &program->allowed[i];

        if (allowed->slot == probe->slot && allowed->wildcard == wildcard && allowed->bare)
            return true;
    }
    return false;
}

static void describe_probes(builder *b, const lic_fetch_probes *probes)
{
    const lic_program *program = b->from->program;

    for (size_t i = 0; i < probes->count; i++) {
        const lic_fetch_probe *probe    = &probes->items[i];
        const lic_relation    *relation = &program->relations[probe->relation];

        b->probes[b->probe_count++] = (found_by){
            .probe                  = probe,
            .resource_slot          = relation->slot,
            .resource_type          = program->definitions[relation->definition].type,
            .subject_type           = program->definitions[lic_program_slot(program, probe->slot).definition].type,
            .plain_allowed          = allows_plain(program, probe, false),
            .plain_wildcard_allowed = allows_plain(program, probe, true),
        };
    }
}

static bool is_good_id(lic_str id)
{
    size_t i = 0;

    while (i < id.size && lic_is_id_byte((unsigned char)id.data[i]))
        i++;
    return i == id.size && i > 0 && i <= LIC_MAX_ID_BYTES;
}

static bool has_attributes(const builder *b, int row)
{
    for (int i = LIC_PG_FETCHED_CAVEAT; i <= LIC_PG_FETCHED_EXPIRES_AT; i++)
        if (!PQgetisnull(b->result, row, i))
            return true;
    return false;
}

static bool has_plain_names(const fetched_row *read)
{
    if (!is_good_id(read->resource_id))
        return false;
    return lic_str_equal(read->subject_id, LIC_STR("*")) ? read->by->plain_wildcard_allowed
                                                         : read->by->plain_allowed && is_good_id(read->subject_id);
}

static licet_status fail_answer(licet_error **error)
{
    return lic_fail(error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, LIC_NOWHERE,
                    "the database's answer is not what was asked for");
}

static bool add_row(builder *b, fetched_row row)
{
    if (b->row_count == b->from->row_count)
        return false;
    row.is_plain &= has_plain_names(&row);
    b->plain &= row.is_plain;
    b->rows[b->row_count++] = row;
    return true;
}

/* The first of a list, which is left without it. */
static lic_str take_id(lic_str *list)
{
    const char   *separator = memchr(list->data, LIC_PG_FETCHED_SEPARATOR, list->size);
    const size_t  size      = separator == NULL ? list->size : (size_t)(separator - list->data);
    const lic_str id        = { list->data, size };
    const size_t  taken     = separator == NULL ? size : size + 1;

    *list = (lic_str){ separator == NULL ? NULL : list->data + taken, list->size - taken };
    return id;
}

/* Two lists of one length. */
static bool add_list(builder *b, fetched_row row, lic_str resources, lic_str subjects)
{
    bool fits = true;

    while (fits && resources.data != NULL && subjects.data != NULL) {
        row.resource_id = take_id(&resources);
        row.subject_id  = take_id(&subjects);
        fits            = add_row(b, row);
    }
    return fits && resources.data == NULL && subjects.data == NULL;
}

static licet_status read_row(builder *b, int row, licet_error **error)
{
    fetched_row read = { .number = row };
    int32_t     number;

    if (!lic_pg_get_i32(b->result, row, LIC_PG_FETCHED_PROBE, &number))
        return fail_answer(error);
    if (number == -1)
        return LICET_OK;
    if (number < 0 || (size_t)number >= b->probe_count ||
        !lic_pg_get_bytes(b->result, row, LIC_PG_FETCHED_RESOURCE, &read.resource_id) ||
        !lic_pg_get_bytes(b->result, row, LIC_PG_FETCHED_SUBJECT, &read.subject_id))
        return fail_answer(error);
    read.by       = &b->probes[number];
    read.is_plain = !has_attributes(b, row);
    if (b->from->in_lists ? add_list(b, read, read.resource_id, read.subject_id) : add_row(b, read))
        return LICET_OK;
    return fail_answer(error);
}

/* -------------------------------------------------------------- ids in order */

/* Merges two neighbouring runs of at most `width`. */
static void merge_runs(const lic_str *from, lic_str *to, size_t first, size_t width, size_t count)
{
    const size_t middle = width < count - first ? first + width : count;
    const size_t end    = width < count - middle ? middle + width : count;
    size_t       left   = first;
    size_t       right  = middle;

    for (size_t i = first; i < end; i++)
        to[i] = left < middle && (right == end || lic_str_compare(from[left], from[right]) <= 0) ? from[left++]
                                                                                                 : from[right++];
}

/* Sorted is one of the two. */
static const lic_str *sort_ids(lic_str *ids, lic_str *room, size_t count)
{
    for (size_t width = 1; width < count; width *= 2) {
        lic_str *sorted = room;

        for (size_t first = 0; first < count; first += 2 * width)
            merge_runs(ids, room, first, width, count);
        room = ids;
        ids  = sorted;
    }
    return ids;
}

static bool number_listed(builder *b)
{
    const size_t   most  = 2 * b->row_count;
    const lic_type type  = b->from->listed;
    lic_str       *ids   = lic_new_array(&b->scratch, most, lic_str);
    lic_str       *room  = lic_new_array(&b->scratch, most, lic_str);
    size_t         count = 0;
    const lic_str *sorted;

    if (ids == NULL || room == NULL)
        return false;
    for (size_t i = 0; i < b->row_count; i++) {
        const fetched_row *row = &b->rows[i];

        if (row->by->resource_type == type)
            ids[count++] = row->resource_id;
        if (row->by->subject_type == type)
            ids[count++] = row->subject_id;
    }
    sorted = sort_ids(ids, room, count);
    for (size_t i = 0; i < count; i++)
        if (sorted[i].size <= LIC_MAX_ID_BYTES && lic_graph_intern_node(b->graph, type, sorted[i]) == LIC_NO_NODE)
            return false;
    return true;
}

/* --------------------------------------------------------------------- changes */

static uint64_t edge_hash(const lic_edge *edge)
{
    return lic_hash_u64(lic_ref_key(edge->resource) ^ lic_hash_u64(lic_ref_key(edge->subject)));
}

/* Where the edge is, or would be put. */
static uint32_t *find_edge(builder *b, const lic_edge *edge)
{
    const size_t mask = b->known_capacity - 1;
    size_t       at   = (size_t)edge_hash(edge) & mask;

    while (b->known[at] != 0) {
        const lic_edge *other = &b->changes[b->known[at] - 1].edge;

        if (lic_ref_equal(other->resource, edge->resource) && lic_ref_equal(other->subject, edge->subject))
            break;
        at = (at + 1) & mask;
    }
    return &b->known[at];
}

/* Takes the payload out of the attribute, or leaves it to the caller. */
static bool add_change(builder *b, const lic_edge *edge, lic_attribute *attribute)
{
    uint32_t *place  = find_edge(b, edge);
    uint32_t  number = LIC_NO_ATTRIBUTE;

    if (*place != 0)
        return true;
    if (attribute != NULL && lic_attribute_given(attribute)) {
        number = lic_graph_attribute_new(b->graph, attribute);
        if (number == LIC_NO_ATTRIBUTE)
            return false;
        attribute->payload = NULL;
    }
    b->changes[b->change_count++] = (lic_change){ *edge, true, number };
    *place                        = (uint32_t)b->change_count;
    return true;
}

static bool find_nodes(builder *b, const fetched_row *row, lic_edge *edge)
{
    edge->resource =
        (lic_ref){ row->by->resource_slot, lic_graph_intern_node(b->graph, row->by->resource_type, row->resource_id) };
    edge->subject =
        (lic_ref){ row->by->probe->slot, lic_graph_intern_node(b->graph, row->by->subject_type, row->subject_id) };
    return edge->resource.node != LIC_NO_NODE && edge->subject.node != LIC_NO_NODE;
}

static licet_status add_plain_row(builder *b, const fetched_row *row, licet_error **error)
{
    lic_edge edge;

    return find_nodes(b, row, &edge) && add_change(b, &edge, NULL) ? LICET_OK : lic_fail_memory(error);
}

static lic_str field(const builder *b, int row, int column)
{
    lic_str bytes = { NULL, 0 };

    if (!lic_pg_get_bytes(b->result, row, column, &bytes))
        bytes = (lic_str){ NULL, 0 };
    return bytes;
}

/* As all columns would have been told. */
static void put_fields(const builder *b, const fetched_row *row, lic_pg_fields *fields)
{
    const lic_program     *program  = b->from->program;
    const lic_relation    *relation = &program->relations[row->by->probe->relation];
    const lic_slot_meaning subject  = lic_program_slot(program, row->by->probe->slot);

    fields->items[0] = program->definitions[relation->definition].name;
    fields->items[1] = row->resource_id;
    fields->items[2] = relation->name;
    fields->items[3] = program->definitions[subject.definition].name;
    fields->items[4] = row->subject_id;
    fields->items[5] = subject.relation == LIC_NO_REL ? LIC_ELLIPSIS : program->relations[subject.relation].name;
    fields->items[6] = field(b, row->number, LIC_PG_FETCHED_CAVEAT);
    fields->items[7] = field(b, row->number, LIC_PG_FETCHED_CONTEXT);
    fields->items[8] = field(b, row->number, LIC_PG_FETCHED_EXPIRES_AT);
    fields->items[9] = field(b, row->number, LIC_PG_FETCHED_EXPIRES_NS);
}

static licet_status add_judged_row(builder *b, const fetched_row *row, licet_error **error)
{
    const lic_pg_reader reader = { b->from->host, b->from->program, b->from->now, &b->scratch, NULL };
    lic_store_change    change = { .operation = LICET_TOUCH };
    lic_pg_fields       fields;
    lic_edge            edge;
    bool                skip;
    licet_status        status;

    put_fields(b, row, &fields);
    status = lic_pg_row_touch(&reader, &fields, &change, &skip, error);
    if (status == LICET_OK && !skip && (!find_nodes(b, row, &edge) || !add_change(b, &edge, &change.attribute)))
        status = lic_fail_memory(error);
    lic_store_changes_end(&change, 1);
    return status;
}

static licet_status add_rows(builder *b, licet_error **error)
{
    licet_status status = LICET_OK;

    for (size_t i = 0; i < b->row_count && status == LICET_OK; i++)
        status = b->rows[i].is_plain ? add_plain_row(b, &b->rows[i], error) : add_judged_row(b, &b->rows[i], error);
    return status;
}

/* ------------------------------------------------------------------- the whole */

static bool make_tables(builder *b)
{
    const lic_fetch_plan *plan  = b->from->plan;
    const size_t          count = b->from->row_count;

    b->known_capacity = 16;
    while (b->known_capacity < 2 * count)
        b->known_capacity *= 2;
    b->probes  = lic_new_array(&b->scratch, plan->backward.count + plan->probes.count, found_by);
    b->rows    = lic_new_array(&b->scratch, count, fetched_row);
    b->changes = lic_new_array(&b->scratch, count, lic_change);
    b->known   = lic_new_array(&b->scratch, b->known_capacity, uint32_t);
    return b->probes != NULL && b->rows != NULL && b->changes != NULL && b->known != NULL;
}

static licet_status read_rows(builder *b, licet_error **error)
{
    licet_status status = LICET_OK;

    describe_probes(b, &b->from->plan->backward);
    describe_probes(b, &b->from->plan->probes);
    if (PQnfields(b->result) != LIC_PG_FETCHED_COLUMNS)
        return fail_answer(error);
    for (int i = 0; i < PQntuples(b->result) && status == LICET_OK; i++)
        status = read_row(b, i, error);
    return status;
}

static licet_status fill(builder *b, licet_error **error)
{
    uint64_t     revision;
    licet_status status;

    if (b->from->listed != LIC_NO_TYPE && !number_listed(b))
        return lic_fail_memory(error);
    status = add_rows(b, error);
    if (status == LICET_OK && lic_graph_apply(b->graph, b->changes, b->change_count, &revision))
        return LICET_OK;
    for (size_t i = 0; i < b->change_count; i++)
        lic_graph_attribute_release(b->graph, b->changes[i].attribute);
    return status == LICET_OK ? lic_fail_memory(error) : status;
}

static licet_status make_graph(builder *b, licet_error **error)
{
    const lic_graph_options options = { .no_threads = true, .release_payload = lic_attribute_release_payload };
    licet_status            status;

    b->graph = lic_graph_new(b->from->host->memory, b->from->host->names, &options);
    if (b->graph == NULL)
        return lic_fail_memory(error);
    lic_graph_lock(b->graph);
    status = fill(b, error);
    lic_graph_unlock(b->graph);
    return status;
}

licet_status lic_fetch_graph_make(const lic_fetch_graph *from, const PGresult *result, lic_graph **graph, bool *plain,
                                  licet_error **error)
{
    LIC_UNINITIALIZED char scratch[SCRATCH_BYTES];
    builder                b      = { .from = from, .result = result, .plain = true };
    licet_status           status = LICET_OK;

    *graph = NULL;
    *plain = false;
    lic_arena_init_with(&b.scratch, from->host->memory, scratch, sizeof scratch);
    status = make_tables(&b) ? read_rows(&b, error) : lic_fail_memory(error);
    if (status == LICET_OK)
        status = make_graph(&b, error);
    lic_arena_free(&b.scratch);
    if (status != LICET_OK) {
        lic_graph_free(b.graph);
        return status;
    }
    *graph = b.graph;
    *plain = b.plain;
    return LICET_OK;
}

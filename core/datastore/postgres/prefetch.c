#include "datastore/postgres/prefetch.h"

#include <stdlib.h>

#include "datastore/postgres/fetch_graph.h"
#include "datastore/postgres/fetch_plan.h"
#include "eval/lookup_resources.h"

#define SCRATCH_BYTES 16384
#define MICROSECONDS INT64_C(1000000)

/* Of a parameter that is null. */
#define NOWHERE SIZE_MAX

/* From so many resources on, one subject is looked for from its own side. */
#define BULK_SEEDS 8u

/* A probe's neighbour is looked for among so many. */
#define SPAN_REACH 16u

typedef struct fetch {
    const lic_pg_wanted *wanted;
    lic_pg_link         *link;
    lic_pg_wait          wait;
    lic_arena           *keep; /* what the caller gets */
    lic_arena            scratch;
    lic_fetch_plan       plan;
    lic_text             texts; /* of all parameters, each with a NUL behind it */
    size_t               begins[LIC_PG_FETCH_PARAMETERS];
    int                  parameter_count;
    PGresult            *result;
    bool                 in_lists; /* that is how the result tells rows */
    lic_pg_prefetched   *fetched;
} fetch;

/* ------------------------------------------------------------------ parameters */

static void begin_parameter(fetch *f)
{
    f->begins[f->parameter_count++] = f->texts.size;
}

static void end_parameter(fetch *f)
{
    lic_text_add_char(&f->texts, '\0');
}

static void begin_array(fetch *f)
{
    begin_parameter(f);
    lic_text_add_char(&f->texts, '{');
}

static void end_array(fetch *f)
{
    lic_text_add_char(&f->texts, '}');
    end_parameter(f);
}

static void separate(fetch *f)
{
    if (f->texts.size > 0 && f->texts.data[f->texts.size - 1] != '{')
        lic_text_add_char(&f->texts, ',');
}

static void put_number(fetch *f, uint64_t number)
{
    begin_parameter(f);
    lic_text_add_u64(&f->texts, number);
    end_parameter(f);
}

static void put_word(fetch *f, lic_str word)
{
    begin_parameter(f);
    lic_text_add(&f->texts, word);
    end_parameter(f);
}

static void put_null(fetch *f)
{
    f->begins[f->parameter_count++] = NOWHERE;
}

static void add_number(fetch *f, uint64_t number)
{
    separate(f);
    lic_text_add_u64(&f->texts, number);
}

/* A composite value; none of our names and ids has a character in it that would have to be quoted. */
static void add_seed(fetch *f, const lic_fetch_seed *seed)
{
    lic_text_add_char(&f->texts, '(');
    lic_text_add_u64(&f->texts, seed->state);
    lic_text_add_char(&f->texts, ',');
    lic_text_add(&f->texts, seed->id);
    lic_text_add_char(&f->texts, ',');
    lic_text_add(&f->texts, seed->subject_id);
    lic_text_add_char(&f->texts, ')');
}

static void put_seeds(fetch *f, const lic_fetch_seeds *seeds)
{
    begin_array(f);
    for (size_t i = 0; i < seeds->count; i++) {
        separate(f);
        lic_text_add_char(&f->texts, '"');
        add_seed(f, &seeds->items[i]);
        lic_text_add_char(&f->texts, '"');
    }
    end_array(f);
}

/* Of those in one state, the ids as one list. Neighbours alone: there are few states, and questions of one come together. */
static void put_lists(fetch *f, const lic_fetch_seeds *seeds)
{
    begin_array(f);
    for (size_t i = 0; i < seeds->count; i++)
        if (i == 0 || seeds->items[i].state != seeds->items[i - 1].state)
            add_number(f, seeds->items[i].state);
    end_array(f);
    begin_array(f);
    for (size_t i = 0; i < seeds->count; i++) {
        const bool goes_on = i > 0 && seeds->items[i].state == seeds->items[i - 1].state;

        lic_text_add(&f->texts, i == 0 ? LIC_STR("\"") : goes_on ? LIC_STR(",") : LIC_STR("\",\""));
        lic_text_add(&f->texts, seeds->items[i].id);
    }
    lic_text_add_char(&f->texts, '"');
    end_array(f);
}

static void add_name(fetch *f, lic_str name)
{
    lic_text_add(&f->texts, name);
    lic_text_add_char(&f->texts, ',');
}

static void add_subject_names(fetch *f, const lic_fetch_probe *probe)
{
    const lic_program     *program = f->wanted->program;
    const lic_slot_meaning subject = lic_program_slot(program, probe->slot);

    add_name(f, program->relations[probe->relation].name);
    add_name(f, program->definitions[subject.definition].name);
    add_name(f, subject.relation == LIC_NO_REL ? LIC_ELLIPSIS : program->relations[subject.relation].name);
}

static void add_probe_fields(fetch *f, uint64_t number, const lic_fetch_probe *probe)
{
    const lic_program *program = f->wanted->program;

    lic_text_add_u64(&f->texts, number);
    lic_text_add_char(&f->texts, ',');
    lic_text_add_u64(&f->texts, probe->state);
    lic_text_add_char(&f->texts, ',');
    add_name(f, program->definitions[program->relations[probe->relation].definition].name);
    add_subject_names(f, probe);
    lic_text_add_u64(&f->texts, (uint64_t)probe->mode);
    lic_text_add_char(&f->texts, ',');
    lic_text_add_u64(&f->texts, probe->next);
}

static void add_probe(fetch *f, uint64_t number, const lic_fetch_probe *probe)
{
    separate(f);
    lic_text_add_literal(&f->texts, "\"(");
    add_probe_fields(f, number, probe);
    lic_text_add_literal(&f->texts, ")\"");
}

/* first: number of the first of them. Only those that are wanted. */
static void put_some(fetch *f, const lic_fetch_probes *probes, size_t first,
                     bool (*wanted)(const lic_fetch_probes *probes, size_t index))
{
    begin_array(f);
    for (size_t i = 0; i < probes->count; i++)
        if (wanted(probes, i))
            add_probe(f, first + i, &probes->items[i]);
    end_array(f);
}

static bool is_any(const lic_fetch_probes *probes, size_t index)
{
    (void)probes;
    (void)index;
    return true;
}

static bool is_deciding(const lic_fetch_probes *probes, size_t index)
{
    return probes->items[index].decides;
}

/* Does something go on where its rows lead? */
static bool is_leading(const lic_fetch_probes *probes, size_t index)
{
    for (size_t i = 0; i < probes->count; i++)
        if (probes->items[i].state == probes->items[index].next)
            return true;
    return false;
}

static bool is_last(const lic_fetch_probes *probes, size_t index)
{
    return !is_leading(probes, index);
}

static void put_probes(fetch *f, const lic_fetch_probes *probes, size_t first)
{
    put_some(f, probes, first, is_any);
}

static void put_backward(fetch *f)
{
    put_seeds(f, &f->plan.starts);
    put_some(f, &f->plan.backward, 0, is_leading);
    put_some(f, &f->plan.backward, 0, is_last);
}

static void put_deciding(fetch *f)
{
    begin_array(f);
    for (size_t i = 0; i < f->plan.probes.count; i++)
        if (f->plan.probes.items[i].decides)
            add_number(f, i);
    end_array(f);
}

static bool asks_the_same(const lic_fetch_probe *a, const lic_fetch_probe *b)
{
    return a->mode == b->mode && a->relation == b->relation && a->slot == b->slot;
}

/* Of those who ask the same, the first, and before others one that decides. */
static bool stands_for_its_like(const fetch *f, size_t index)
{
    const lic_fetch_probe *items = f->plan.probes.items;

    if (items[index].mode == LIC_FETCH_ALL)
        return false;
    for (size_t i = 0; i < f->plan.probes.count; i++)
        if (i != index && asks_the_same(&items[i], &items[index]) &&
            (items[i].decides == items[index].decides ? i < index : items[i].decides))
            return false;
    return true;
}

static void put_asked(fetch *f)
{
    begin_array(f);
    for (size_t i = 0; i < f->plan.probes.count; i++)
        if (stands_for_its_like(f, i))
            add_probe(f, i, &f->plan.probes.items[i]);
    end_array(f);
}

/* ------------------------------------------------------------------------ spans */

/* Where an object's rows are in rel_live: by the relation and the type of subjects. */
static int compare_places(const lic_program *program, lic_rel a, lic_slot a_slot, lic_rel b, lic_slot b_slot)
{
    const int order = lic_str_compare(program->relations[a].name, program->relations[b].name);

    return order != 0 ? order
                      : lic_str_compare(program->definitions[lic_program_slot(program, a_slot).definition].name,
                                        program->definitions[lic_program_slot(program, b_slot).definition].name);
}

/* Does the schema allow no rows between theirs? Those might be many. */
static bool are_neighbours(const lic_program *program, const lic_fetch_probe *a, const lic_fetch_probe *b)
{
    const lic_definition *definition = &program->definitions[program->relations[a->relation].definition];

    if (compare_places(program, a->relation, a->slot, b->relation, b->slot) > 0)
        return false;
    for (uint32_t i = 0; i < definition->relation_count; i++) {
        const lic_rel       rel = definition->first_relation + i;
        const lic_relation *r   = &program->relations[rel];

        for (uint32_t j = r->first_allowed; j < r->first_allowed + r->allowed_count; j++) {
            const lic_slot slot = program->allowed[j].slot;

            if (compare_places(program, a->relation, a->slot, rel, slot) < 0 &&
                compare_places(program, rel, slot, b->relation, b->slot) < 0)
                return false;
        }
    }
    return true;
}

static void add_span(fetch *f, size_t first, size_t second)
{
    const lic_fetch_probe *items = f->plan.probes.items;

    separate(f);
    lic_text_add_literal(&f->texts, "\"(");
    add_probe_fields(f, first, &items[first]);
    lic_text_add_char(&f->texts, ',');
    lic_text_add_u64(&f->texts, second);
    lic_text_add_char(&f->texts, ',');
    add_subject_names(f, &items[second]);
    lic_text_add_u64(&f->texts, items[second].next);
    lic_text_add_literal(&f->texts, ")\"");
}

/* With the nearest that follows which is its neighbour, or alone. Those of one state come together. */
static void add_span_from(fetch *f, size_t number, bool *is_in)
{
    const lic_fetch_probe *items = f->plan.probes.items;
    const lic_fetch_probe *probe = &items[number];
    const size_t           end   = number + 1 + SPAN_REACH;

    for (size_t i = number + 1; i < f->plan.probes.count && i < end && items[i].state == probe->state; i++) {
        if (is_in[i] || items[i].mode != LIC_FETCH_ALL || probe->mode != LIC_FETCH_ALL)
            continue;
        is_in[i] = are_neighbours(f->wanted->program, probe, &items[i]);
        if (is_in[i]) {
            add_span(f, number, i);
            return;
        }
        is_in[i] = are_neighbours(f->wanted->program, &items[i], probe);
        if (is_in[i]) {
            add_span(f, i, number);
            return;
        }
    }
    add_span(f, number, number);
}

static void put_spans(fetch *f)
{
    bool *is_in = lic_new_array(&f->scratch, f->plan.probes.count, bool);

    begin_array(f);
    for (size_t i = 0; i < f->plan.probes.count && is_in != NULL; i++)
        if (!is_in[i])
            add_span_from(f, i, is_in);
    end_array(f);
    f->texts.failed |= is_in == NULL;
}

/* ---------------------------------------------------------------- all parameters */

static void put_crossings(fetch *f)
{
    begin_array(f);
    for (size_t i = 0; i < f->plan.crossing_count; i++)
        add_number(f, f->plan.crossings[i].from);
    end_array(f);
    begin_array(f);
    for (size_t i = 0; i < f->plan.crossing_count; i++)
        add_number(f, f->plan.crossings[i].to);
    end_array(f);
}

/* What is farther from the resource than the depth limit is not evaluated. An object more, that it be seen to be there. */
static void put_rounds(fetch *f)
{
    put_number(f, (uint64_t)f->wanted->limits->max_depth + 2);
}

static void put_past(fetch *f)
{
    begin_parameter(f);
    lic_pg_snapshot_print(f->wanted->at, &f->texts);
    end_parameter(f);
}

static void put_all(fetch *f, lic_pg_fetch_number number)
{
    const lic_fetch_plan *plan = &f->plan;
    const size_t          most = f->wanted->most_rows + 1;

    switch (number) {
    case LIC_PG_FETCH_CHECK:
        put_number(f, plan->seeds.items[0].state);
        put_word(f, plan->seeds.items[0].id);
        put_word(f, plan->seeds.items[0].subject_id);
        put_some(f, &plan->probes, 0, is_deciding);
        put_probes(f, &plan->probes, 0);
        put_spans(f);
        put_rounds(f);
        put_number(f, most);
        break;
    case LIC_PG_FETCH_BULK:
        put_lists(f, &plan->seeds);
        put_word(f, plan->seeds.items[0].subject_id);
        put_asked(f);
        put_deciding(f);
        put_spans(f);
        put_number(f, LIC_PG_FETCH_OWN_ROWS);
        put_rounds(f);
        put_number(f, most);
        break;
    case LIC_PG_FETCH_CONFIRMED:
        put_backward(f);
        put_crossings(f);
        put_word(f, plan->subject_id);
        put_probes(f, &plan->probes, plan->backward.count);
        put_rounds(f);
        put_number(f, most);
        if (f->wanted->at == NULL)
            put_null(f);
        break;
    case LIC_PG_FETCH_BACKWARD:
    case LIC_PG_FETCH_BACKWARD_AT:
        put_backward(f);
        put_number(f, most);
        break;
    default:
        put_seeds(f, &plan->seeds);
        put_probes(f, &plan->probes, 0);
        put_rounds(f);
        put_number(f, most);
    }
    if (f->wanted->at != NULL)
        put_past(f);
}

/* ------------------------------------------------------------------- the query */

static licet_status run(fetch *f, lic_pg_fetch_number number, licet_error **error)
{
    lic_pg_parameter parameters[LIC_PG_FETCH_PARAMETERS];

    PQclear(f->result);
    f->result          = NULL;
    f->in_lists        = number == LIC_PG_FETCH_BULK || number == LIC_PG_FETCH_CHECK;
    f->texts.size      = 0;
    f->parameter_count = 0;
    put_all(f, number);
    if (f->texts.failed)
        return lic_fail_memory(error);
    for (int i = 0; i < f->parameter_count; i++)
        parameters[i] = (lic_pg_parameter){ .data = f->begins[i] == NOWHERE ? NULL : f->texts.data + f->begins[i] };
    return lic_pg_run(f->link, &f->wanted->fetches->items[number], parameters, f->wait, &f->result, error);
}

static bool is_about_one_subject(const lic_fetch_seeds *seeds)
{
    for (size_t i = 1; i < seeds->count; i++)
        if (!lic_str_equal(seeds->items[i].subject_id, seeds->items[0].subject_id))
            return false;
    return true;
}

/* Of one id, and of one type too: there is only one set of probes then. */
static bool is_bulk(const fetch *f)
{
    const lic_fetch_seeds *seeds = &f->plan.seeds;

    return seeds->count >= BULK_SEEDS && f->plan.is_for_one && is_about_one_subject(seeds);
}

static lic_pg_fetch_number choose(const fetch *f)
{
    const bool past = f->wanted->at != NULL;

    if (f->wanted->need->kind == LIC_NEED_RESOURCES) {
        if (f->plan.confirms)
            return LIC_PG_FETCH_CONFIRMED;
        return past ? LIC_PG_FETCH_BACKWARD_AT : LIC_PG_FETCH_BACKWARD;
    }
    if (past)
        return LIC_PG_FETCH_FORWARD_AT;
    if (is_bulk(f))
        return LIC_PG_FETCH_BULK;
    return f->plan.is_for_one && f->plan.seeds.count == 1 ? LIC_PG_FETCH_CHECK : LIC_PG_FETCH_FORWARD;
}

/* ------------------------------------------------------------- about the store */

static licet_status fail_answer(licet_error **error)
{
    return lic_fail(error, LICET_UNAVAILABLE, LICET_KIND_UNAVAILABLE, LIC_NOWHERE,
                    "the database's answer is not what was asked for");
}

static bool read_number(lic_str text, uint64_t *number)
{
    *number = 0;
    for (size_t i = 0; i < text.size; i++) {
        const unsigned digit = (unsigned)(text.data[i] - '0');

        if (digit > 9 || *number > (UINT64_MAX - digit) / 10)
            return false;
        *number = *number * 10 + digit;
    }
    return text.size > 0;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Of a uuid as Postgres prints it. */
static bool read_mark(lic_str text, uint8_t mark[LIC_PG_MARK_BYTES])
{
    size_t digits = 0;

    for (size_t i = 0; i < text.size; i++) {
        const int digit = hex_digit(text.data[i]);

        if (text.data[i] == '-')
            continue;
        if (digit < 0 || digits == (size_t)2 * LIC_PG_MARK_BYTES)
            return false;
        mark[digits / 2] = (uint8_t)(digits % 2 == 0 ? digit << 4 : mark[digits / 2] | digit);
        digits++;
    }
    return digits == (size_t)2 * LIC_PG_MARK_BYTES;
}

static int find_store_row(const PGresult *result)
{
    int32_t number;

    for (int i = 0; i < PQntuples(result); i++)
        if (lic_pg_get_i32(result, i, LIC_PG_FETCHED_PROBE, &number) && number == -1)
            return i;
    return -1;
}

/* Of an answer in lists; at least. */
static size_t count_rows(const PGresult *result, int store_row)
{
    size_t  count = 0;
    lic_str list;

    for (int i = 0; i < PQntuples(result); i++) {
        if (i == store_row || !lic_pg_get_bytes(result, i, LIC_PG_FETCHED_SUBJECT, &list))
            continue;
        count++;
        for (size_t at = 0; at < list.size; at++)
            count += list.data[at] == LIC_PG_FETCHED_SEPARATOR;
    }
    return count;
}

static licet_status read_store(fetch *f, licet_error **error)
{
    lic_pg_prefetched *fetched = f->fetched;
    const int          row     = find_store_row(f->result);
    lic_str            texts[LIC_PG_FETCHED_CONTEXT + 1];
    int64_t            now_us;

    for (int i = LIC_PG_FETCHED_RESOURCE; i <= LIC_PG_FETCHED_CONTEXT; i++)
        if (!lic_pg_get_text(f->result, row, i, &texts[i]))
            return fail_answer(error);
    if (!read_mark(texts[LIC_PG_FETCHED_SUBJECT], fetched->mark) ||
        !read_number(texts[LIC_PG_FETCHED_CAVEAT], &fetched->schema_version) ||
        !read_number(texts[LIC_PG_FETCHED_CONTEXT], &fetched->gc_horizon) ||
        !lic_pg_get_time_us(f->result, row, LIC_PG_FETCHED_EXPIRES_AT, &now_us))
        return fail_answer(error);
    fetched->now.seconds     = now_us / MICROSECONDS - (now_us % MICROSECONDS < 0);
    fetched->now.nanoseconds = (uint32_t)(now_us - fetched->now.seconds * MICROSECONDS) * 1000;
    fetched->row_count       = f->in_lists ? count_rows(f->result, row) : (size_t)PQntuples(f->result) - 1;
    return lic_pg_snapshot_read(f->keep, texts[LIC_PG_FETCHED_RESOURCE], &fetched->current, error);
}

/* datastore.md E4: what was deleted from the snapshot's xmin on is still there. */
static licet_status check_past(const fetch *f, licet_error **error)
{
    if (f->wanted->at == NULL || f->fetched->gc_horizon <= f->wanted->at->xmin)
        return LICET_OK;
    return lic_fail(error, LICET_REVISION_EXPIRED, LICET_KIND_TOKEN, LIC_NOWHERE,
                    "the revision is older than what garbage collection has left");
}

static licet_status check_size(const fetch *f, licet_error **error)
{
    if (f->fetched->row_count <= f->wanted->most_rows)
        return LICET_OK;
    return lic_fail(error, LICET_LIMIT_EXCEEDED, LICET_KIND_LIMIT, LIC_NOWHERE,
                    "the request touches more than the %zu relationships that are fetched for one",
                    f->wanted->most_rows);
}

/* ------------------------------------------------------------------- the graph */

/* Ids of what is listed: places in the list are numbers. */
static lic_type listed_type(const fetch *f)
{
    const lic_program *program = f->wanted->program;
    const lic_need    *need    = f->wanted->need;
    uint32_t           definition;

    if (need->kind != LIC_NEED_RESOURCES && need->kind != LIC_NEED_SUBJECTS)
        return LIC_NO_TYPE;
    definition =
        lic_program_definition(program, need->kind == LIC_NEED_RESOURCES ? need->resource_type : need->subject_type);
    return definition == LIC_NO_DEFINITION ? LIC_NO_TYPE : program->definitions[definition].type;
}

static licet_status make_graph(fetch *f, bool *plain, licet_error **error)
{
    const lic_fetch_graph from = { .host      = f->wanted->host,
                                   .program   = f->wanted->program,
                                   .now       = f->fetched->now,
                                   .plan      = &f->plan,
                                   .listed    = listed_type(f),
                                   .in_lists  = f->in_lists,
                                   .row_count = f->fetched->row_count };

    return lic_fetch_graph_make(&from, f->result, &f->fetched->graph, plain, error);
}

/* The query, and what it says. No graph: another schema is in force. */
static licet_status fetch_by(fetch *f, lic_pg_fetch_number number, bool *plain, licet_error **error)
{
    licet_status status;

    lic_graph_free(f->fetched->graph);
    f->fetched->graph = NULL;
    LIC_TRY(run(f, number, error));
    LIC_TRY(read_store(f, error));
    LIC_TRY(check_past(f, error));
    if (f->fetched->schema_version != f->wanted->schema_version)
        return LICET_OK;
    LIC_TRY(check_size(f, error));
    LIC_TRY(make_graph(f, plain, error));
done:
    return status;
}

static bool has_candidates(const lic_resource_plan *plan)
{
    for (size_t i = 0; i < plan->list_count; i++)
        if (!plan->lists[i].certain)
            return true;
    for (size_t i = 0; i < plan->single_count; i++)
        if (plan->singles[i] % 2 != 0)
            return true;
    return false;
}

/* Would the lookup ask about a resource? Of rows without attributes and a schema without operators: only where ways are
 * longer than the depth limit. If planning fails, it will fail again. */
static licet_status asks_about_any(fetch *f, bool *any, licet_error **error)
{
    const lic_program *program = f->wanted->program;
    const lic_type     type    = program->definitions[f->plan.subject_definition].type;
    lic_resource_plan  plan;
    lic_snapshot       snapshot;
    lic_eval           eval;
    lic_ref            subject = { f->plan.subject_slot, LIC_NO_NODE };
    licet_status       status;

    lic_snapshot_pin(f->fetched->graph, &snapshot);
    subject.node = lic_snapshot_find_node(&snapshot, type, f->plan.subject_id);
    lic_eval_init(&eval, program, &snapshot, &f->scratch, f->wanted->limits);
    lic_eval_subject(&eval, f->plan.subject_definition, subject);
    status = lic_resources_plan(&eval, f->plan.target, &f->scratch, &plan, NULL);
    lic_snapshot_unpin(&snapshot);
    *any = status == LICET_OK && has_candidates(&plan);
    return status == LICET_OUT_OF_MEMORY ? lic_fail_memory(error) : LICET_OK;
}

static licet_status fetch_resources(fetch *f, licet_error **error)
{
    bool         plain = true;
    bool         more;
    licet_status status = fetch_by(f, choose(f), &plain, error);

    if (status != LICET_OK || f->fetched->graph == NULL || f->plan.confirms || f->plan.starts.count == 0)
        return status;
    more = !plain;
    if (plain)
        status = asks_about_any(f, &more, error);
    if (status == LICET_OK && more)
        status = fetch_by(f, LIC_PG_FETCH_CONFIRMED, &plain, error);
    return status;
}

static licet_status fetch_all(fetch *f, licet_error **error)
{
    const lic_pg_wanted *wanted = f->wanted;
    bool                 plain;
    licet_status         status;

    if (!lic_fetch_plan_make(&f->scratch, wanted->program, wanted->need, wanted->limits->max_depth, &f->plan))
        return lic_fail_memory(error);
    status =
        wanted->need->kind == LIC_NEED_RESOURCES ? fetch_resources(f, error) : fetch_by(f, choose(f), &plain, error);
    if (status == LICET_OK)
        f->fetched->snapshot = wanted->at != NULL ? *wanted->at : f->fetched->current;
    return status;
}

licet_status lic_pg_prefetch(lic_pg_link *link, const lic_pg_wanted *wanted, lic_pg_wait wait, lic_arena *arena,
                             lic_pg_prefetched *fetched, licet_error **error)
{
    LIC_UNINITIALIZED char scratch[SCRATCH_BYTES];
    fetch                  f = { .wanted = wanted, .link = link, .wait = wait, .keep = arena, .fetched = fetched };
    licet_status           status;

    *fetched = (lic_pg_prefetched){ .graph = NULL };
    lic_arena_init_with(&f.scratch, wanted->host->memory, scratch, sizeof scratch);
    lic_text_init(&f.texts, wanted->host->memory);
    status = fetch_all(&f, error);
    if (status != LICET_OK) {
        lic_graph_free(fetched->graph);
        *fetched = (lic_pg_prefetched){ .graph = NULL };
    }
    PQclear(f.result);
    lic_text_free(&f.texts);
    lic_arena_free(&f.scratch);
    return status;
}

/* Reading and exporting relationships: a stream that fetches page after page at its revision. An export is a read
 * without a limit that may be of everything, and to which unknown names are no error. */
#include "engine/paging.h"
#include "engine/stream.h"

/* Pages grow, so that a short read does little and a long one is not slowed by starting again and again. */
#define FIRST_PAGE 64u
#define LAST_PAGE 65536u

typedef struct reading {
    licet_stream base;
    lic_arena    arena; /* the filter's texts */
    lic_filter   filter;
    bool         is_export;
    lic_instant  now;  /* of the first call: what expires while the stream is read still comes */
    uint64_t     left; /* of the limit; UINT64_MAX: there is none */
    lic_arena    page_arena;
    lic_rows     page;
    size_t       next;      /* in the page */
    size_t       page_size; /* of the next one */
    bool         is_last;   /* no page follows */
    lic_paging   paging;
} reading;

/* --------------------------------------------------- requests and cursors */

/* A cursor is bound to everything else. */
static licet_status pin(reading *stream, const licet_read_request *request, lic_snapshot *snapshot, licet_error **error)
{
    const licet_engine *engine = stream->base.engine;
    const licet_filter *f      = &request->filter;
    const lic_need      need   = { .kind = LIC_NEED_ROWS, .filter = f };
    lic_text            bound;

    lic_text_init(&bound, engine->memory);
    lic_text_add(&bound, stream->is_export ? LIC_STR("export ") : LIC_STR("read "));
    lic_paging_bind(&bound, f->resource_type);
    lic_paging_bind(&bound, f->resource_id);
    lic_paging_bind(&bound, f->resource_id_prefix);
    lic_paging_bind(&bound, f->relation);
    lic_paging_bind(&bound, f->subject_type);
    lic_paging_bind(&bound, f->subject_id);
    lic_paging_bind(&bound, f->subject_relation);
    lic_paging_bind_rest(&bound, &request->consistency, request->limit);
    return lic_paging_pin(&stream->paging, engine, &request->consistency, &need, request->cursor, &bound, snapshot,
                          error);
}

static bool copy_str(lic_arena *arena, lic_str *s)
{
    if (lic_str_given(*s))
        *s = lic_arena_str(arena, *s);
    else
        return true;
    return lic_str_given(*s);
}

/* The compiled filter views the caller's texts: from here on it views ours. */
static bool keep_filter(reading *stream)
{
    lic_filter *f = &stream->filter;

    return copy_str(&stream->arena, &f->relation) && copy_str(&stream->arena, &f->resource_id) &&
           copy_str(&stream->arena, &f->resource_id_prefix) && copy_str(&stream->arena, &f->subject_id);
}

static lic_filter_use use_of(bool is_export)
{
    return is_export ? LIC_FILTER_EXPORT : LIC_FILTER_READ;
}

static licet_status stream_fill(reading *stream, const licet_read_request *request, licet_error **error)
{
    lic_snapshot snapshot = { .graph = NULL };
    licet_status status   = pin(stream, request, &snapshot, error);

    if (status != LICET_OK)
        return status;
    lic_stream_keep(&stream->base, &snapshot);
    status = lic_filter_compile(lic_engine_program(stream->base.engine, &snapshot), &request->filter,
                                use_of(stream->is_export), &stream->filter, stream->is_export ? NULL : error);
    lic_engine_unpin(&snapshot);
    if (status == LICET_OK && !stream->is_export)
        status = lic_filter_choice_check("filter", &request->filter, LIC_FILTER_READ, error);
    if (status == LICET_NOT_FOUND && stream->is_export) {
        stream->is_last = true; /* of names that are unknown there is nothing */
        return LICET_OK;
    }
    if (status == LICET_OK && !keep_filter(stream))
        status = lic_fail_memory(error);
    if (status == LICET_OK) /* not before: from its first answer on a database's clock is known */
        status = lic_engine_instant(stream->base.engine, &stream->now, error);
    return status;
}

/* ------------------------------------------------------------------ stream */

static licet_str cursor_of(licet_stream *stream)
{
    return lic_paging_cursor(&((reading *)stream)->paging, stream->engine);
}

static void end_reading(licet_stream *stream)
{
    reading *r = (reading *)stream;

    lic_arena_free(&r->page_arena);
    lic_arena_free(&r->arena);
}

/* A page that is not full is the last. */
static licet_status fetch(reading *stream, licet_error **error)
{
    size_t          wanted = stream->page_size < stream->left ? stream->page_size : (size_t)stream->left;
    const lic_edge *after  = stream->paging.has_place ? &stream->paging.place.after : NULL;
    lic_store      *store  = stream->base.engine->store;
    lic_snapshot    snapshot;
    licet_status    status;

    status = lic_stream_pin(&stream->base, &snapshot, error);
    if (status != LICET_OK)
        return status;
    lic_arena_free(&stream->page_arena);
    stream->next = 0;
    status = store->methods->read(store, &snapshot, &stream->filter, stream->now, after, wanted, &stream->page_arena,
                                  &stream->page, error);
    lic_engine_unpin(&snapshot);
    if (status != LICET_OK) {
        stream->page = (lic_rows){ NULL, 0 };
        return status;
    }
    if (stream->left != UINT64_MAX)
        stream->left -= stream->page.count;
    stream->is_last   = stream->page.count < wanted || stream->left == 0;
    stream->page_size = stream->page_size < LAST_PAGE ? stream->page_size * 2 : LAST_PAGE;
    return LICET_OK;
}

static licet_status next_relationship(licet_stream *base, void *relationship, bool *found, licet_error **error)
{
    reading       *stream = (reading *)base;
    const lic_row *row;
    licet_status   status;

    if (stream->next == stream->page.count && !stream->is_last) {
        status = fetch(stream, error);
        if (status != LICET_OK)
            return status;
    }
    if (stream->next == stream->page.count)
        return LICET_OK;
    row = &stream->page.items[stream->next++];
    lic_row_relationship(stream->base.engine->names, row, relationship);
    stream->paging.place.after = row->edge;
    stream->paging.has_place   = true;
    *found                     = true;
    return LICET_OK;
}

static const lic_stream_methods methods = { LIC_STREAM_RELATIONSHIPS, next_relationship, cursor_of, end_reading };

static licet_status stream_new(licet_engine *engine, const licet_read_request *request, bool is_export,
                               licet_stream **out, licet_error **error)
{
    reading     *stream = lic_stream_new(engine, &methods, sizeof *stream);
    licet_status status;

    if (stream == NULL)
        return lic_fail_memory(error);
    stream->is_export = is_export;
    stream->left      = request->limit == 0 ? UINT64_MAX : request->limit;
    stream->page_size = FIRST_PAGE;
    lic_arena_init(&stream->arena, engine->memory);
    lic_arena_init(&stream->page_arena, engine->memory);
    status = stream_fill(stream, request, error);
    if (status == LICET_OK)
        *out = &stream->base;
    else
        licet_stream_release(&stream->base);
    return status;
}

static licet_status open_stream(licet_engine *engine, const licet_read_request *request, bool is_export,
                                licet_stream **stream, licet_error **error)
{
    licet_read_request meant = *request;
    licet_status       status;

    if (!LIC_RECORD_KNOWN(&request->filter))
        return lic_fail_record(error, "filter");
    meant.filter = lic_filter_meant(&request->filter, engine->strict);
    LIC_TRY(lic_filter_check("filter", &meant.filter, use_of(is_export), error));
    LIC_TRY(lic_paging_limit_check(request->limit, error));
    LIC_TRY(stream_new(engine, &meant, is_export, stream, error));
done:
    return status;
}

static licet_status enter_and_open(licet_engine *engine, const licet_read_request *request, bool is_export,
                                   licet_stream **stream, licet_error **error)
{
    lic_call     call;
    licet_status status = lic_engine_enter(engine, &call, error);

    if (status != LICET_OK)
        return status;
    status = open_stream(engine, request, is_export, stream, error);
    lic_engine_leave(&call);
    return status;
}

licet_status licet_read_relationships(licet_engine *engine, const licet_read_request *request, licet_stream **stream,
                                      licet_error **error)
{
    lic_error_begin(error);
    if (stream == NULL)
        return lic_fail_record(error, "stream");
    *stream = NULL;
    if (!LIC_RECORD_KNOWN(request))
        return lic_fail_record(error, "request");
    return enter_and_open(engine, request, false, stream, error);
}

licet_status licet_export_relationships(licet_engine *engine, const licet_export_request *request,
                                        licet_stream **stream, licet_error **error)
{
    licet_read_request read = LICET_READ_REQUEST_INIT;

    lic_error_begin(error);
    if (stream == NULL)
        return lic_fail_record(error, "stream");
    *stream = NULL;
    if (!LIC_RECORD_KNOWN(request))
        return lic_fail_record(error, "request");
    read.filter      = request->filter;
    read.cursor      = request->cursor;
    read.consistency = request->consistency;
    return enter_and_open(engine, &read, true, stream, error);
}

#include "datastore/postgres/fetch_sql.h"

#include "datastore/postgres/statements.h"

/* About the store, and what the function finds. `seen`: of schemas, those that the snapshot shows. */
#define ANSWER(seen, found)                                                                               \
    "SELECT -1, pg_current_snapshot()::text, m.store::text, "                                             \
    "coalesce((SELECT z.version FROM {schema}.zed z" seen " ORDER BY z.version DESC LIMIT 1), 0)::text, " \
    "m.gc_horizon::text, clock_timestamp(), 0::smallint FROM {schema}.meta m UNION ALL SELECT * FROM " found
#define SEEN_BY(past) \
    " WHERE " past "::pg_snapshot IS NULL OR pg_visible_in_snapshot(z.created_xid, " past "::pg_snapshot)"

#define SEEDS "::{schema}._seed[]"
#define PROBES "::{schema}._probe[]"
#define SPANS "::{schema}._span[]"

static const char *const texts[LIC_PG_FETCH_COUNT] = {
    [LIC_PG_FETCH_CHECK]   = ANSWER("", "{schema}._fetch_check($1::int, $2::text, $3::text, $4" PROBES
                                        ", $5::text, $6::text, $7::int, $8::int)"),
    [LIC_PG_FETCH_BULK]    = ANSWER("", "unnest({schema}._fetch_bulk($1::int[], $2::text[], $3::text, $4" PROBES
                                        ", $5::int[], $6" SPANS ", $7::int, $8::int, $9::int))"),
    [LIC_PG_FETCH_FORWARD] = ANSWER("", "{schema}._walk_within($1" SEEDS ", $2" PROBES ", $3::int, $4::int)"),
    [LIC_PG_FETCH_FORWARD_AT] =
        ANSWER(SEEN_BY("$5"), "{schema}._walk_at($1" SEEDS ", $2" PROBES ", $3::int, $4::int, $5::pg_snapshot)"),
    [LIC_PG_FETCH_BACKWARD] = ANSWER("", "{schema}._return($1" SEEDS ", $2" PROBES ", $3" PROBES ", $4::int)"),
    [LIC_PG_FETCH_BACKWARD_AT] =
        ANSWER(SEEN_BY("$5"), "{schema}._return_at($1" SEEDS ", $2" PROBES ", $3" PROBES ", $4::int, $5::pg_snapshot)"),
    [LIC_PG_FETCH_CONFIRMED] =
        ANSWER(SEEN_BY("$10"), "{schema}._fetch_confirmed($1" SEEDS ", $2" PROBES ", $3" PROBES
                               ", $4::int[], $5::int[], $6::text, $7" PROBES ", $8::int, $9::int, $10::pg_snapshot)"),
};

static const lic_pg_statement shapes[LIC_PG_FETCH_COUNT] = {
    [LIC_PG_FETCH_CHECK]       = { "fetch_check", NULL, 8, NULL },
    [LIC_PG_FETCH_BULK]        = { "fetch_bulk", NULL, 9, NULL },
    [LIC_PG_FETCH_FORWARD]     = { "fetch_forward", NULL, 4, NULL },
    [LIC_PG_FETCH_FORWARD_AT]  = { "fetch_forward_at", NULL, 5, NULL },
    [LIC_PG_FETCH_BACKWARD]    = { "fetch_backward", NULL, 4, NULL },
    [LIC_PG_FETCH_BACKWARD_AT] = { "fetch_backward_at", NULL, 5, NULL },
    [LIC_PG_FETCH_CONFIRMED]   = { "fetch_confirmed", NULL, 10, NULL },
};

const lic_pg_fetches *lic_pg_fetches_new(lic_arena *arena, lic_str schema)
{
    lic_pg_fetches *made = lic_new(arena, lic_pg_fetches);

    for (size_t i = 0; i < LIC_PG_FETCH_COUNT && made != NULL; i++) {
        made->items[i]     = shapes[i];
        made->items[i].sql = lic_pg_statement_text(arena, texts[i], schema);
        if (made->items[i].sql == NULL)
            return NULL;
    }
    return made;
}

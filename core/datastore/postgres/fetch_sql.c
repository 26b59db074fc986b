/* The recursion carries rows, not objects, so that each is read once: what leads on has a state. UNION drops what is known,
 * so cycles end; and each round looks at an object once, however many rows lead there. An object that is met at several
 * distances may be looked at more than once, but not again in a circle.
 *
 * Each look is one range of one index. LATERAL with OFFSET 0 keeps the planner from joining with whole tables. The time
 * goes into those ranges (about 2 us each), so: what is asked about is found by rows that name it, not among all others
 * of a wide relation; where a first look decides a check, nothing more is looked at; and a subject that many resources are
 * to be checked for is looked for from its own side, where that is short. */
#include "datastore/postgres/fetch_sql.h"

#include "datastore/postgres/statements.h"

#define LIVES "r.deleted_xid = '9223372036854775807'"
#define ROW "r.ri, r.si, r.caveat, r.context::text AS context, r.expires_at, r.expires_ns"
#define FETCHED "caveat, context, expires_at, expires_ns"

/* Versions of a row that a snapshot saw, of those that still live, and of those that don't. Whoever deleted one of these is
 * not older than the snapshot's xmin. */
#define SAW_LIVING(at) LIVES " AND pg_catalog.pg_visible_in_snapshot(r.created_xid, $" at "::pg_catalog.pg_snapshot)"
#define SAW_DEAD(at)                                                                                                \
    "r.deleted_xid < '9223372036854775807' AND r.deleted_xid >= pg_catalog.pg_snapshot_xmin($" at "::pg_snapshot) " \
    "AND pg_catalog.pg_visible_in_snapshot(r.created_xid, $" at "::pg_catalog.pg_snapshot) "                        \
    "AND NOT pg_catalog.pg_visible_in_snapshot(r.deleted_xid, $" at "::pg_catalog.pg_snapshot)"

#define FROM_ROWS(which) "SELECT " ROW " FROM {schema}.rel r WHERE " which
#define AT_HEAD(which) " CROSS JOIN LATERAL (" FROM_ROWS(which) " AND " LIVES " OFFSET 0) e"
#define AT_PAST(which, at)                                                                                           \
    " CROSS JOIN LATERAL (" FROM_ROWS(which) " AND " SAW_LIVING(at) " UNION ALL " FROM_ROWS(which) " AND " SAW_DEAD( \
        at) " OFFSET 0) e"

/* Rows of a probe on an object. Ids are ASCII without control characters. */
#define FORWARD_ROWS(subject)                                                     \
    "r.rt = p.rt AND r.ri = w.i AND r.rr = p.rr AND r.st = p.st AND r.sr = p.sr " \
    "AND r.si >= CASE p.m WHEN 0 THEN '' WHEN 1 THEN " subject " ELSE '*' END "   \
    "AND r.si <= CASE p.m WHEN 0 THEN E'\\x7f' WHEN 1 THEN " subject " ELSE '*' END"
#define BACKWARD_ROWS "r.st = p.st AND r.si = w.i AND r.sr = p.sr AND r.rt = p.rt AND r.rr = p.rr"

#define TEXT " COLLATE \"C\""
#define NO_ROW "''::text" TEXT ", NULL::text" TEXT ", NULL::text, NULL::timestamptz, NULL::smallint"

#define PROBES(name, n, k, rt, rr, st, sr, m, next)                                                                   \
    name "(n, k, rt, rr, st, sr, m, nk) AS (SELECT * FROM unnest($" n "::int[], $" k "::int[], $" rt "::text[], $" rr \
         "::text[], $" st "::text[], $" sr "::text[], $" m "::int[], $" next "::int[]))"
#define BACK_PROBES                                                                                          \
    "back(n, k, rt, rr, st, sr, nk) AS (SELECT * FROM unnest($4::int[], $5::int[], $6::text[], $7::text[], " \
    "$8::text[], $9::text[], $10::int[]))"

/* Of the walk: number of the probe, or -2 where it begins; state and id of the object that the row leads to; the id that is
 * asked about there; the other id, attributes. */
#define WALK(begin, probes, rows)                                                                                   \
    "walk(n, k, i, s, o, " FETCHED ") AS (" begin " UNION SELECT p.n, p.nk, e.si, w.s, e.ri, e.caveat, e.context, " \
    "e.expires_at, e.expires_ns FROM (SELECT DISTINCT k, i, s FROM walk WHERE k <> 0) w JOIN " probes               \
    " p ON p.k = w.k" rows ")"
#define SEEDS \
    "seed(k, i, s) AS (SELECT k, i" TEXT ", s" TEXT " FROM unnest($2::int[], $3::text[], $4::text[]) x(k, i, s))"
#define FROM_SEEDS "SELECT -2, k, i, s, " NO_ROW " FROM seed"

#define BACK_WALK(rows)                                                                                          \
    "back_walk(n, k, i, o, " FETCHED ") AS (SELECT -2, k, i" TEXT ", " NO_ROW                                    \
    " FROM unnest($2::int[], $3::text[]) x(k, i) UNION SELECT p.n, p.nk, e.ri, e.si, e.caveat, e.context, "      \
    "e.expires_at, e.expires_ns FROM (SELECT DISTINCT k, i FROM back_walk WHERE k <> 0) w JOIN back p ON p.k = " \
    "w.k" rows ")"

#define STORE(in_force)                                                                                              \
    " SELECT -1, pg_catalog.pg_current_snapshot()::text, m.store::text, coalesce((SELECT z.version FROM "            \
    "{schema}.zed z" in_force " ORDER BY z.version DESC LIMIT 1), 0)::text, m.gc_horizon::text, clock_timestamp(), " \
    "0::smallint FROM {schema}.meta m"
#define STORE_NOW STORE("")
#define STORE_THEN(at) STORE(" WHERE pg_catalog.pg_visible_in_snapshot(z.created_xid, $" at "::pg_catalog.pg_snapshot)")

#define TELL_WALK " UNION ALL (SELECT n, o, i, " FETCHED " FROM walk WHERE n >= 0 LIMIT $1::int)"
#define TELL_BACK(walk) " UNION ALL (SELECT n, i, o, " FETCHED " FROM " walk " WHERE n >= 0 LIMIT $1::int)"

#define FORWARD_PROBES PROBES("probe", "5", "6", "7", "8", "9", "10", "11", "12")

/* Rows that decide where the walk would begin. */
#define HITS                                                                                                        \
    "hit AS MATERIALIZED (SELECT w.k, w.i, w.s, p.n, e.* FROM seed w JOIN (SELECT * FROM probe JOIN "               \
    "unnest($13::int[]) d(n) USING (n)) p ON p.k = w.k" AT_HEAD(FORWARD_ROWS("w.s")) " WHERE e.caveat IS NULL AND " \
                                                                                     "e.expires_at IS NULL)"
#define FROM_UNDECIDED FROM_SEEDS " WHERE (k, i, s) NOT IN (SELECT k, i, s FROM hit)"
#define TELL_HITS " UNION ALL SELECT n, ri, si, " FETCHED " FROM hit"

/* The subject's own rows; if they are too many, nobody's. */
#define OWN                                                                                                      \
    "own AS MATERIALIZED (SELECT p.n, e.* FROM unnest($14::int[]) x(n) JOIN all_probes p USING (n) CROSS JOIN "  \
    "LATERAL (SELECT CASE p.m WHEN 1 THEN $15::text ELSE '*' END" TEXT " AS i) w" AT_HEAD(                       \
        BACKWARD_ROWS) " LIMIT $16::int + 1), few(yes) AS MATERIALIZED (SELECT count(*) <= $16::int FROM own), " \
                       "probe AS MATERIALIZED (SELECT * FROM all_probes WHERE m = 0 OR NOT (SELECT yes FROM few))"
#define TELL_OWN " UNION ALL SELECT n, ri, si, " FETCHED " FROM own WHERE (SELECT yes FROM few)"

#define FORWARD(rows) "WITH RECURSIVE " SEEDS ", " FORWARD_PROBES ", " WALK(FROM_SEEDS, "probe", rows)
#define BACKWARD(rows) "WITH RECURSIVE " BACK_PROBES ", " BACK_WALK(rows)
#define CONFIRMED(back_rows, rows)                                                                     \
    "WITH RECURSIVE " BACK_PROBES ", " BACK_WALK(                                                      \
        back_rows) ", reached AS MATERIALIZED (SELECT * FROM back_walk LIMIT $1::int), "               \
                   "seed(k, i, s) AS (SELECT DISTINCT x.nk, b.i, $13::text" TEXT                       \
                   " FROM reached b JOIN unnest($11::int[], $12::int[]) x(k, nk) USING (k)), " PROBES( \
                       "probe", "14", "15", "16", "17", "18", "19", "20", "21") ", " WALK(FROM_SEEDS, "probe", rows)

static const char *const texts[LIC_PG_FETCH_COUNT] = {
    [LIC_PG_FETCH_CHECK] = "WITH RECURSIVE " SEEDS ", " FORWARD_PROBES ", " HITS ", " WALK(
        FROM_UNDECIDED, "probe", AT_HEAD(FORWARD_ROWS("w.s"))) STORE_NOW TELL_HITS TELL_WALK,
    [LIC_PG_FETCH_BULK] =
        "WITH RECURSIVE " SEEDS ", " PROBES("all_probes", "5", "6", "7", "8", "9", "10", "11", "12") ", " OWN ", " WALK(
            FROM_SEEDS " WHERE (k, i) NOT IN (SELECT p.k, o.ri FROM own o JOIN all_probes p USING (n) JOIN "
                       "unnest($13::int[]) d(n) USING (n) WHERE o.caveat IS NULL AND o.expires_at IS NULL AND (SELECT "
                       "yes FROM few))",
            "probe", AT_HEAD(FORWARD_ROWS("w.s"))) STORE_NOW TELL_OWN        TELL_WALK,
    [LIC_PG_FETCH_FORWARD]     = FORWARD(AT_HEAD(FORWARD_ROWS("w.s"))) STORE_NOW TELL_WALK,
    [LIC_PG_FETCH_FORWARD_AT]  = FORWARD(AT_PAST(FORWARD_ROWS("w.s"), "13")) STORE_THEN("13") TELL_WALK,
    [LIC_PG_FETCH_BACKWARD]    = BACKWARD(AT_HEAD(BACKWARD_ROWS)) STORE_NOW TELL_BACK("back_walk"),
    [LIC_PG_FETCH_BACKWARD_AT] = BACKWARD(AT_PAST(BACKWARD_ROWS, "11")) STORE_THEN("11") TELL_BACK("back_walk"),
    [LIC_PG_FETCH_CONFIRMED] =
        CONFIRMED(AT_HEAD(BACKWARD_ROWS), AT_HEAD(FORWARD_ROWS("w.s"))) STORE_NOW TELL_BACK("reached") TELL_WALK,
    [LIC_PG_FETCH_CONFIRMED_AT] = CONFIRMED(AT_PAST(BACKWARD_ROWS, "22"), AT_PAST(FORWARD_ROWS("w.s"), "22"))
        STORE_THEN("22") TELL_BACK("reached") TELL_WALK,
};

static const lic_pg_statement shapes[LIC_PG_FETCH_COUNT] = {
    [LIC_PG_FETCH_CHECK]        = { "fetch_check", NULL, 13, NULL },
    [LIC_PG_FETCH_BULK]         = { "fetch_bulk", NULL, 16, NULL },
    [LIC_PG_FETCH_FORWARD]      = { "fetch_forward", NULL, 12, NULL },
    [LIC_PG_FETCH_FORWARD_AT]   = { "fetch_forward_at", NULL, 13, NULL },
    [LIC_PG_FETCH_BACKWARD]     = { "fetch_backward", NULL, 10, NULL },
    [LIC_PG_FETCH_BACKWARD_AT]  = { "fetch_backward_at", NULL, 11, NULL },
    [LIC_PG_FETCH_CONFIRMED]    = { "fetch_confirmed", NULL, 21, NULL },
    [LIC_PG_FETCH_CONFIRMED_AT] = { "fetch_confirmed_at", NULL, 22, NULL },
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

/* The statements' texts. All values are parameters; the one thing that is put into a text is the schema's name, which
 * has passed lic_pg_schema_name_is(). Types stand in the texts, so that nothing is left for the server to guess. */
#include "datastore/postgres/statements.h"

#include "datastore/postgres/rows.h"

#define PLACE LIC_STR("{schema}")
#define NAME_MAX_BYTES 63 /* NAMEDATALEN - 1 */

/* datastore.md E2. A version comes once for each reason to tell it; applying is the same. */
#define VERSIONS(condition, order)                                                                                  \
    "(SELECT " LIC_PG_ROW_COLUMNS ", deleted_xid, NULL::text FROM {schema}.rel WHERE " condition " ORDER BY " order \
    " LIMIT $3)"
#define DEAD "deleted_xid < '9223372036854775807'"
#define CREATED_SINCE VERSIONS("created_xid >= $1::xid8", "created_xid")
#define CREATED_BY VERSIONS("created_xid = ANY ($2::xid8[])", "created_xid")
#define DELETED_SINCE VERSIONS("deleted_xid >= $1::xid8 AND " DEAD, "deleted_xid")
#define DELETED_BY VERSIONS("deleted_xid = ANY ($2::xid8[]) AND " DEAD, "deleted_xid")
/* One that is as long as the limit is taken as too much, whichever branches are cut off: so the limit is that of all, too,
 * and with it what of an answer can lie in memory. */
#define CHANGES                                                                                                    \
    "(SELECT * FROM (" CREATED_SINCE " UNION ALL " CREATED_BY " UNION ALL " DELETED_SINCE " UNION ALL " DELETED_BY \
    ") v LIMIT $3)"

/* Metadata of transactions that changed relationships, as one row or none: of one as it is, of several a list. A scalar
 * subquery is what the planner has no other plan for than a look into the index. */
#define NO_ROW                                                                                         \
    "NULL::text, NULL::text, NULL::text, NULL::text, NULL::text, NULL::text, NULL::text, NULL::text, " \
    "NULL::timestamptz, NULL::smallint"
#define CHANGED_ANY                                                                    \
    "coalesce((SELECT true FROM {schema}.rel r WHERE r.created_xid = t.xid LIMIT 1), " \
    "(SELECT true FROM {schema}.rel r WHERE r.deleted_xid = t.xid AND r." DEAD " LIMIT 1), false)"
#define NOTES(condition, limit)                                                       \
    "(SELECT t.xid, t.metadata::text AS metadata FROM {schema}.tx t WHERE " condition \
    " AND t.metadata IS NOT NULL AND " CHANGED_ANY " ORDER BY t.xid LIMIT " limit ")"
#define METADATA_BYTES "4194304" /* of one list */
#define METADATA(since, by, limit, columns)                                                              \
    "(SELECT " columns ", CASE count(*) WHEN 1 THEN min(s.metadata) ELSE '{\"transactions\":[' || "      \
    "string_agg(s.metadata, ',' ORDER BY s.xid) FILTER (WHERE s.bytes <= " METADATA_BYTES ") || ']' || " \
    "CASE WHEN max(s.bytes) > " METADATA_BYTES " THEN ',\"is_complete\":false' ELSE '' END || '}' END "  \
    "FROM (SELECT n.xid, n.metadata, sum(octet_length(n.metadata)) OVER (ORDER BY n.xid) AS bytes "      \
    "FROM (" NOTES(since, limit) " UNION ALL " NOTES(by, limit) ") n) s HAVING count(*) > 0)"
#define CHANGES_METADATA METADATA("t.xid >= $1::xid8", "t.xid = ANY ($2::xid8[])", "$3", NO_ROW ", NULL::xid8")

/* Transactions that only cleared away what had expired. Looked for when there is a dead row. */
#define COLLECTIONS                                                                                           \
    "ARRAY((SELECT xid FROM {schema}.tx WHERE xid >= $1::xid8 AND collects ORDER BY xid LIMIT $3) UNION ALL " \
    "(SELECT xid FROM {schema}.tx WHERE xid = ANY ($2::xid8[]) AND collects ORDER BY xid LIMIT $3))"

/* What lives at $2 and was created behind $1, and what lived at $1 and was ended behind it. No relationship is twice among
 * the ones, nor among the others; so a branch that is cut off at the limit makes too many together. Which scan it is, is
 * pinned as in a catch-up. */
#define SINCE(column) column " >= pg_snapshot_xmax($1::pg_snapshot)"
#define BY(column) column " = ANY (ARRAY(SELECT pg_snapshot_xip($1::pg_snapshot)))"
#define SHOWN(column, snapshot) "pg_visible_in_snapshot(" column ", " snapshot "::pg_snapshot)"
#define OF_TYPE "($3::text[] IS NULL OR rt = ANY ($3::text[]))"
#define DIFFERING(lives, condition, order)                                                         \
    "(SELECT rt, ri, rr, st, si, sr, caveat, context, expires_at, expires_ns, " lives " AS lives " \
    "FROM {schema}.rel r WHERE " condition " AND " OF_TYPE " ORDER BY " order " LIMIT $4)"
#define LIVING(condition)                                                                                  \
    DIFFERING("true", condition " AND " SHOWN("created_xid", "$2") " AND NOT " SHOWN("deleted_xid", "$2"), \
              "created_xid")
#define ENDED(condition)                                                                                           \
    DIFFERING(                                                                                                     \
        "false",                                                                                                   \
        condition " AND " DEAD " AND " SHOWN("deleted_xid", "$2") " AND " SHOWN(                                   \
            "created_xid", "$1") " AND "                                                                           \
                                 "(SELECT t.collects FROM {schema}.tx t WHERE t.xid = r.deleted_xid) IS NOT TRUE", \
        "deleted_xid")
#define DIFFERENCES                                                                                        \
    LIVING(SINCE("created_xid"))                                                                           \
    " UNION ALL " LIVING(BY("created_xid")) " UNION ALL " ENDED(SINCE("deleted_xid")) " UNION ALL " ENDED( \
        BY("deleted_xid"))
#define DIFFERENCES_METADATA                                                                              \
    METADATA(SINCE("t.xid") " AND " SHOWN("t.xid", "$2"), BY("t.xid") " AND " SHOWN("t.xid", "$2"), "$4", \
             NO_ROW ", NULL::boolean")
#define IN_FORCE_AT(snapshot) \
    "coalesce((SELECT max(z.version) FROM {schema}.zed z WHERE " SHOWN("z.created_xid", snapshot) "), 0)::bigint"

#define IN_FORCE "coalesce((SELECT version FROM {schema}.zed ORDER BY version DESC LIMIT 1), 0)::bigint"

static const char *const texts[LIC_PG_STATEMENT_COUNT] = {
    [LIC_PG_PROBE]      = "SELECT pg_current_snapshot(), clock_timestamp()",
    [LIC_PG_CATCH_UP]   = ("SELECT pg_current_snapshot(), clock_timestamp(), m.store, m.gc_horizon, " IN_FORCE ", c.*"
                           ", c.deleted_xid < '9223372036854775807' AND c.deleted_xid = ANY (" COLLECTIONS ") "
                           "FROM {schema}.meta m LEFT JOIN (" CHANGES " UNION ALL " CHANGES_METADATA ") c ON true"),
    [LIC_PG_DIFFERENCE] = ("SELECT m.store, m.gc_horizon, " IN_FORCE_AT("$1") ", " IN_FORCE_AT(
        "$2") ", c.* "
              "FROM {schema}.meta m LEFT JOIN ((SELECT DISTINCT ON (rt, ri, rr, st, si, sr) " LIC_PG_ROW_COLUMNS
              ", lives, "
              "NULL::text FROM (" DIFFERENCES
              ") d ORDER BY rt, ri, rr, st, si, sr, lives DESC LIMIT $4) UNION ALL " DIFFERENCES_METADATA
              ") c ON true"),
    [LIC_PG_BEGIN_LOAD] =
        ("SELECT pg_current_snapshot(), clock_timestamp(), m.store, m.gc_horizon, " IN_FORCE ", m.token_key "
         "FROM {schema}.meta m"),
    [LIC_PG_SCHEMA_TEXT]   = "SELECT text FROM {schema}.zed WHERE version = $1::bigint",
    [LIC_PG_WRITE]         = ("SELECT snapshot, xid, schema "
                              "FROM {schema}._write($1::jsonb, $2::bigint, $5::uuid, $3::uuid, $4::text)"),
    [LIC_PG_DELETE]        = ("SELECT snapshot, xid, schema, deleted "
                              "FROM {schema}._delete($1::jsonb, $2::bigint, $5::uuid, $6::timestamptz, $3::uuid, $4::text)"),
    [LIC_PG_LOCK_SCHEMA]   = "SELECT {schema}._lock_schema()",
    [LIC_PG_WRITE_SCHEMA]  = ("SELECT snapshot, xid, schema "
                              "FROM {schema}._write_schema($1::jsonb, $2::bigint, $5::uuid, $3::uuid, $4::text)"),
    [LIC_PG_IMPORT]        = ("SELECT snapshot, xid, schema "
                              "FROM {schema}._import($1::bigint, $4::uuid, $2::uuid, $3::text)"),
    [LIC_PG_IMPORT_OPEN]   = "SELECT count, digest, is_finished FROM {schema}._import_open($1::text)",
    [LIC_PG_IMPORT_FIND]   = "SELECT count, digest, is_finished FROM {schema}._import_find($1::text)",
    [LIC_PG_IMPORT_FORGET] = "SELECT {schema}._import_forget($1::text)",
    [LIC_PG_IMPORT_LOCK]   = "SELECT {schema}._import_lock($1::text, $2::bigint, $3::bytea)",
    [LIC_PG_IMPORT_PIECE]  = ("SELECT snapshot, xid, schema "
                              "FROM {schema}._import_piece($1::bigint, $4::uuid, $2::uuid, $3::text, $5::text, "
                              "$6::bigint, $7::bytea, $8::boolean)"),
    [LIC_PG_OUTCOME]       = "SELECT snapshot, xid, deleted FROM {schema}._outcome($1::uuid)",
    [LIC_PG_COLLECT]       = "SELECT removed, is_done FROM {schema}._collect($1::interval, $2::integer)",
};

/* The guard of rel is opened, as our functions do (sql/guard.sql): it stops mistakes; what is allowed is for grants. The
 * server is to find out when our machine is gone, since the transaction keeps others from its rows, and waits for us as
 * long as it has to. */
static const char import_begin[] = "BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL tcp_keepalives_idle = 10; "
                                   "SET LOCAL tcp_keepalives_interval = 3; SET LOCAL tcp_keepalives_count = 3; "
                                   "SET LOCAL licet.writer = '{schema}'";
static const char import_rows[] = "COPY {schema}.rel (rt, ri, rr, st, si, sr, caveat, context, expires_at, expires_ns) "
                                  "FROM STDIN (FORMAT binary)";

static const char load_rows[] = "COPY (SELECT " LIC_PG_ROW_COLUMNS " FROM {schema}.rel "
                                "WHERE deleted_xid = '9223372036854775807') TO STDOUT (FORMAT binary)";

static const lic_pg_statement shapes[LIC_PG_STATEMENT_COUNT] = {
#define SHAPE(name, parameters) [LIC_PG_##name] = { #name, NULL, parameters, NULL },
    LIC_PG_STATEMENT_LIST(SHAPE)
#undef SHAPE
};

bool lic_pg_schema_name_is(lic_str name)
{
    if (!lic_str_given(name) || name.size == 0 || name.size > NAME_MAX_BYTES)
        return false;
    for (size_t i = 0; i < name.size; i++) {
        const char c = name.data[i];

        if (!((c >= 'a' && c <= 'z') || c == '_' || (i > 0 && c >= '0' && c <= '9')))
            return false;
    }
    return !lic_str_starts_with(name, LIC_STR("pg_")) && !lic_str_equal(name, LIC_STR("information_schema"));
}

/* Bytes of text up to the next place for the name, or to its end. */
static size_t find_place(const char *text)
{
    const char *place = strstr(text, PLACE.data);

    return place != NULL ? (size_t)(place - text) : strlen(text);
}

static size_t count_places(const char *text)
{
    size_t count = 0;

    for (text += find_place(text); *text != '\0'; text += find_place(text)) {
        count++;
        text += PLACE.size;
    }
    return count;
}

static char *put(char *at, lic_str text)
{
    memcpy(at, text.data, text.size);
    return at + text.size;
}

/* In quotes before a name in it, since a schema may be called as a word of SQL. */
static char *put_schema(char *at, lic_str schema, const char *behind)
{
    const bool is_quoted = *behind == '.';

    if (is_quoted)
        *at++ = '"';
    at = put(at, schema);
    if (is_quoted)
        *at++ = '"';
    return at;
}

const char *lic_pg_statement_text(lic_arena *arena, const char *text, lic_str schema)
{
    size_t size;
    char  *made;
    char  *at;

    if (__builtin_mul_overflow(count_places(text), schema.size, &size) ||
        __builtin_add_overflow(size, strlen(text) + 1, &size))
        return NULL;
    made = lic_arena_alloc(arena, size); /* the places themselves are room to spare, also for quotes */
    if (made == NULL)
        return NULL;
    for (at = made;; text += PLACE.size) {
        size_t plain = find_place(text);

        at = put(at, (lic_str){ text, plain });
        text += plain;
        if (*text == '\0')
            break;
        at = put_schema(at, schema, text + PLACE.size);
    }
    *at = '\0';
    return made;
}

const lic_pg_statements *lic_pg_statements_new(lic_arena *arena, lic_str schema)
{
    lic_pg_statements *made = lic_new(arena, lic_pg_statements);

    if (made == NULL)
        return NULL;
    for (size_t i = 0; i < LIC_PG_STATEMENT_COUNT; i++) {
        made->items[i]     = shapes[i];
        made->items[i].sql = lic_pg_statement_text(arena, texts[i], schema);
        if (made->items[i].sql == NULL)
            return NULL;
    }
    made->load_rows    = lic_pg_statement_text(arena, load_rows, schema);
    made->import_begin = lic_pg_statement_text(arena, import_begin, schema);
    made->import_rows  = lic_pg_statement_text(arena, import_rows, schema);
    return made->load_rows != NULL && made->import_begin != NULL && made->import_rows != NULL ? made : NULL;
}

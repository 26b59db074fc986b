/* licet: permission checks inside your own process.
 *
 * Three kinds of thing appear here.
 *   Handles  licet_engine, licet_schema, licet_stream, licet_report, licet_error. Opaque. You get
 *            one through an out-parameter and end it with one function, which accepts NULL.
 *   Records  licet_options, licet_check_request, licet_result, ... Plain structs that you make with
 *            their _INIT macro. Each begins with its size, so a newer licet can add fields at the end.
 *   Views    licet_str. Pointer and length into memory that somebody else owns. UTF-8; never assumed
 *            to end in NUL. data == NULL means "not given"; size == 0 is a value, and usually an error.
 *
 * A call that can fail returns licet_status and takes a licet_error ** last, which may be NULL.
 * After a failure every out-parameter is empty: no handle, no permission.
 *
 * Small values (licet_str, licet_consistency, licet_token) carry no size: they never change. */
#ifndef LICET_H
#define LICET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LICET_VERSION_MAJOR 0
#define LICET_VERSION_MINOR 1
#define LICET_VERSION_PATCH 0

#if defined(__GNUC__)
#define LICET_API __attribute__((visibility("default")))
#define LICET_MUST_CHECK __attribute__((warn_unused_result))
#else
#define LICET_API
#define LICET_MUST_CHECK
#endif

/* ------------------------------------------------------------------ views */

typedef struct licet_str {
    const char *data;
    size_t      size; /* bytes */
} licet_str;

/* A view of a string literal, in an initializer or an expression. */
#define LICET_STR_INIT(literal) { (literal), sizeof(literal) - 1 }
#ifndef __cplusplus
#define LICET_STR(literal) ((licet_str)LICET_STR_INIT(literal))
#endif

/* -------------------------------------------------- statuses, kinds, errors */

/* Name, number (never reused), what to tell a person. The bindings' error classes come from here. */
#define LICET_STATUS_LIST(X)                                                                        \
    X(OK,                  0, "ok")                                                                 \
    X(OUT_OF_MEMORY,       1, "out of memory, or memory_limit reached")                             \
    X(INVALID_ARGUMENT,    2, "an argument is not usable")                                          \
    X(SCHEMA_ERROR,        3, "the schema text is wrong, or contradicts stored relationships")      \
    X(NOT_FOUND,           4, "a definition, relation, permission or caveat is unknown")            \
    X(ALREADY_EXISTS,      5, "the relationship exists already")                                    \
    X(PRECONDITION_FAILED, 6, "a precondition does not hold")                                       \
    X(LIMIT_EXCEEDED,      7, "more than a limit allows")                                           \
    X(REVISION_EXPIRED,    8, "the revision has left the retained history")                         \
    X(INVALID_TOKEN,       9, "the token or cursor is damaged, foreign or of another request")      \
    X(UNAVAILABLE,        10, "the store can not be used now")                                      \
    X(DEADLINE_EXCEEDED,  11, "no answer in time")                                                  \
    X(CLOSED,             12, "the engine is closed")                                               \
    X(MISUSE,             13, "the interface was called wrongly")                                   \
    X(UNSUPPORTED,        14, "this version of licet can not do that")

typedef enum licet_status {
#define LICET_STATUS_ENUM(name, number, text) LICET_##name = number,
    LICET_STATUS_LIST(LICET_STATUS_ENUM)
#undef LICET_STATUS_ENUM
} licet_status;

/* The finer kind of an error: what sort of thing is wrong. Name, number, text given to callers. */
#define LICET_KIND_LIST(X)                                                                          \
    X(NONE,         0, "")            /* no error */                                                \
    X(SYNTAX,       1, "syntax")      /* the text can not be parsed */                              \
    X(TYPE,         2, "type")        /* parsed, but does not fit the schema or the types */        \
    X(NAME,         3, "name")        /* unknown or doubly defined name */                          \
    X(VALUE,        4, "value")       /* a field outside its allowed pattern or range */            \
    X(ENCODING,     5, "encoding")    /* not UTF-8, a NUL, or a forbidden character */              \
    X(LIMIT,        6, "limit")       /* more than a size, count, depth, cost limit allows */       \
    X(EVAL,         7, "eval")        /* a caveat could not be evaluated */                         \
    X(TOKEN,        8, "token")       /* bad token or cursor */                                     \
    X(CONFIG,       9, "config")      /* refused URI, path or option */                             \
    X(CONFLICT,    10, "conflict")    /* clashes with what is there */                              \
    X(DEADLINE,    11, "deadline")    /* no answer in time */                                       \
    X(UNAVAILABLE, 12, "unavailable") /* the store can not be used now */                           \
    X(NOMEM,       13, "nomem")       /* out of memory */                                           \
    X(MISUSE,      14, "misuse")      /* the interface was called wrongly */

typedef enum licet_kind {
#define LICET_KIND_ENUM(name, number, text) LICET_KIND_##name = number,
    LICET_KIND_LIST(LICET_KIND_ENUM)
#undef LICET_KIND_ENUM
} licet_kind;

/* What went wrong, for a person. Made by the failing call; belongs to the caller.
 * Threads: an error belongs to one thread at a time. */
typedef struct licet_error licet_error;

/** Ends an error. Owns: takes error; NULL is fine. Errors: none. Threads: any. Blocks: no. */
LICET_API void licet_error_free(licet_error *error);

/** The status that the failing call returned; LICET_OK for NULL.
 *  Owns: nothing. Errors: none. Threads: the error's. Blocks: no. */
LICET_API licet_status licet_error_status(const licet_error *error);

/** The finer kind; LICET_KIND_NONE for NULL.
 *  Owns: nothing. Errors: none. Threads: the error's. Blocks: no. */
LICET_API licet_kind licet_error_kind(const licet_error *error);

/** One line, at most 1,024 bytes of valid UTF-8 without control characters, safe to log.
 *  Owns: the view lives as long as the error. Errors: none. Threads: the error's. Blocks: no. */
LICET_API licet_str licet_error_message(const licet_error *error);

/** Position in the text concerned, 1-based; the column counts code points. 0 where there is none.
 *  Owns: nothing. Errors: none. Threads: the error's. Blocks: no. */
LICET_API uint32_t licet_error_line(const licet_error *error);
LICET_API uint32_t licet_error_column(const licet_error *error);

/** SpiceDB's ERROR_REASON_... without the prefix ("UNKNOWN_DEFINITION"), or empty.
 *  Owns: a constant. Errors: none. Threads: the error's. Blocks: no. */
LICET_API licet_str licet_error_reason(const licet_error *error);

/** Name ("invalid_argument") and description of a status; name of a kind. Constants, NUL-terminated.
 *  Owns: constants. Errors: none; unknown numbers give "unknown". Threads: any. Blocks: no. */
LICET_API const char *licet_status_name(licet_status status);
LICET_API const char *licet_status_text(licet_status status);
LICET_API const char *licet_kind_name(licet_kind kind);

/** "0.1.0", and the number that changes when the binary interface does.
 *  Owns: a constant. Errors: none. Threads: any. Blocks: no. */
LICET_API const char *licet_version(void);
LICET_API uint32_t    licet_abi(void);

/* ------------------------------------------------------------------ options */

/* The only source of licet's memory. All three set, or all three NULL (then malloc and free).
 * `size` on free is the size that was asked for. Called from any thread, also under licet's locks:
 * must not call licet. */
typedef struct licet_allocator {
    void *(*alloc)(void *context, size_t size);
    void *(*resize)(void *context, void *pointer, size_t old_size, size_t new_size);
    void  (*free)(void *context, void *pointer, size_t size);
    void  *context;
} licet_allocator;

/* The time of the store, for tests that set it. Called from any thread; must not call licet. */
typedef struct licet_clock {
    int64_t (*now)(void *context); /* nanoseconds since 1970, UTC */
    void *context;
} licet_clock;

/* Something to be told to whoever runs the application: one line, without secrets. Called from any thread, the engine's
 * own among them, and under no lock of licet; must not call licet. */
typedef enum licet_log_level { LICET_LOG_INFO = 1, LICET_LOG_WARNING = 2, LICET_LOG_ERROR = 3 } licet_log_level;

typedef struct licet_log {
    void (*write)(void *context, licet_log_level level, licet_str message);
    void *context;
} licet_log;

/* How an engine on Postgres comes to its answers. */
typedef enum licet_mode {
    LICET_MODE_AUTO     = 0, /* follow, and prefetch what can't be followed: a graph beyond memory_limit_bytes */
    LICET_MODE_FOLLOW   = 1, /* the whole graph in memory, kept current by a thread; old snapshots are prefetched */
    LICET_MODE_PREFETCH = 2  /* nothing is kept: each request fetches what it can touch */
} licet_mode;

/* 0 means the default given. Outside [floor, ceiling]: INVALID_ARGUMENT, kind config. */
typedef struct licet_options {
    size_t          size;
    licet_allocator allocator;
    uint64_t        memory_limit_bytes; /* 256 MiB [1 MiB, 1 TiB]: all memory of one engine */
    uint32_t        max_depth;          /* 50 [1, 1,000]: objects and names on one path of a check */
    uint64_t        max_steps;          /* 1,000,000 [1,000, 1e9]: edges that one check may visit */
    uint32_t        check_timeout_ms;   /* 250 [1, 600,000]: of one check in memory */
    uint64_t        history_window_ms;  /* 24 h [1, 30 days]: how long a token can be read exactly */
    bool            strict;             /* make errors of what SpiceDB lets pass: numbers that don't fit, lax times and
                                           zones, repeated keys, NUL and marks of direction in a schema */
    licet_clock     clock;              /* what expirations are judged by; now NULL: the store's, never running backwards */
    licet_log       log;                /* write NULL: nobody is told */

    /* Of engines on Postgres. */
    licet_str       postgres_schema;    /* where our tables are: [a-z_][a-z0-9_]{0,62}; not given: "licet" */
    licet_str       replica_uri;        /* a standby for reads that may be stale; not given: none */
    licet_mode      mode;
    bool            require_tls;        /* refuse links that are not encrypted to a server that was verified */
    uint32_t        poll_interval_ms;   /* 100 [10, 60,000]: how often the graph follows */
    uint32_t        max_staleness_ms;   /* 5,000 [100, 600,000]: the oldest graph that a check uses unasked */
    uint32_t        wait_timeout_ms;    /* 2,000 [10, 600,000]: of what waits for the database, but writes */
    uint32_t        write_timeout_ms;   /* 5,000 [10, 600,000]: of a write, waiting for others included */
    uint32_t        max_connections;    /* 4 [1, 64]: for writes and prefetches, beside the one that follows */
    uint64_t        gc_window_ms;       /* 24 h [1 s, 30 days]: how long the database keeps what was deleted */
} licet_options;

#define LICET_OPTIONS_INIT                                                                          \
    { sizeof(licet_options), {0, 0, 0, 0}, 0, 0, 0, 0, 0, false, {0, 0}, {0, 0}, {0, 0}, {0, 0}, LICET_MODE_AUTO, false, \
      0, 0, 0, 0, 0, 0 }

/* ------------------------------------------------------------------- memory */

/* Text made by licet. Clear it; clear may run twice. data is NULL when empty. */
typedef struct licet_buffer {
    size_t          size_of_record;
    char           *data;
    size_t          size; /* bytes of text */
    licet_allocator allocator;
} licet_buffer;

#define LICET_BUFFER_INIT { sizeof(licet_buffer), 0, 0, {0, 0, 0, 0} }

/** Gives the text back. Owns: frees buffer->data. Errors: none; NULL is fine. Threads: the buffer's. Blocks: no. */
LICET_API void licet_buffer_clear(licet_buffer *buffer);

/* ------------------------------------------------------------------- schema */

/* A checked schema. Immutable; any number of threads may share one. */
typedef struct licet_schema licet_schema;

/* Where `import "path"` may read from: files inside `folder` only, after following links.
 * No folder: imports are refused, as in SpiceDB's WriteSchema. */
typedef struct licet_schema_request {
    size_t    size;
    licet_str text;
    licet_str folder;                 /* not given: imports are refused */
    bool      allow_unused_parameters; /* validation files' loader: skip "parameter is unused" */
    bool      strict;                  /* refuse NUL, marks of direction and escaped surrogates, which SpiceDB takes */
} licet_schema_request;

#define LICET_SCHEMA_REQUEST_INIT { sizeof(licet_schema_request), {0, 0}, {0, 0}, false, false }

/**
 * Parses and checks a schema. The empty text is a valid schema without definitions.
 *
 * Owns:    *schema is yours; end it with licet_schema_release(). request is read only during the call.
 * Errors:  SCHEMA_ERROR with line and column, LIMIT_EXCEEDED, INVALID_ARGUMENT (kind config) for an option
 *          that is not usable, OUT_OF_MEMORY, MISUSE.
 * Threads: any.
 * Blocks:  reads files when the text imports and a folder was given.
 */
LICET_API LICET_MUST_CHECK licet_status licet_schema_parse(const licet_schema_request *request,
                                                           const licet_options        *options,
                                                           licet_schema **schema, licet_error **error);

/** Shares / ends a schema. Owns: counts one holder more / fewer; NULL is fine. Errors: none. Threads: any. Blocks: no. */
LICET_API void licet_schema_retain(licet_schema *schema);
LICET_API void licet_schema_release(licet_schema *schema);

/** The text as it was given. Owns: the view lives as long as the schema. Errors: none. Threads: any. Blocks: no. */
LICET_API licet_str licet_schema_text(const licet_schema *schema);

/**
 * Canonical text: what SpiceDB's generator prints, in file order. Compiles to the same program and
 * formats to itself. Partials and imports are spliced in, as they are in SpiceDB.
 *
 * Owns:    fills *out; give it back with licet_buffer_clear().
 * Errors:  OUT_OF_MEMORY, MISUSE.
 * Threads: any.
 * Blocks:  no.
 */
LICET_API LICET_MUST_CHECK licet_status licet_schema_format(const licet_schema *schema, licet_buffer *out,
                                                            licet_error **error);

/* One lint. Views live as long as the schema. */
typedef struct licet_lint {
    size_t    size;
    licet_str name;    /* "arrow-references-relation" */
    licet_str message; /* ends with the name in parentheses */
    uint32_t  line;    /* 1-based; column in code points */
    uint32_t  column;
} licet_lint;

#define LICET_LINT_INIT { sizeof(licet_lint), {0, 0}, {0, 0}, 0, 0 }

/** Number of lints, and one of them (false: no such index). Lints never change what is accepted.
 *  Owns: nothing; views live as long as the schema. Errors: none. Threads: any. Blocks: no. */
LICET_API size_t licet_schema_lint_count(const licet_schema *schema);
LICET_API bool   licet_schema_lint(const licet_schema *schema, size_t index, licet_lint *lint);

/** Number of definitions, and the name of one, in file order. Empty: no such index.
 *  Owns: the view lives as long as the schema. Errors: none. Threads: any. Blocks: no. */
LICET_API size_t    licet_schema_definition_count(const licet_schema *schema);
LICET_API licet_str licet_schema_definition(const licet_schema *schema, size_t index);

/* ------------------------------------------------------------ relationships */

/* resource_type:resource_id#relation@subject_type:subject_id#subject_relation[caveat:context][expiration:t]
 * The six names are its identity. subject_relation not given: the subject is the object itself.
 * subject_id "*": every subject of the type. */
typedef struct licet_relationship {
    size_t    size;
    licet_str resource_type;
    licet_str resource_id;
    licet_str relation;
    licet_str subject_type;
    licet_str subject_id;
    licet_str subject_relation; /* not given, or a relation's name; "..." is read as not given */
    licet_str caveat_name;      /* not given: no caveat */
    licet_str caveat_context;   /* a JSON object; not given: none */
    licet_str expiration;       /* RFC 3339, UTC or with offset; not given: never. Read back in UTC */
} licet_relationship;

#define LICET_RELATIONSHIP_INIT                                                                     \
    { sizeof(licet_relationship), {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0} }

/**
 * Reads one relationship in SpiceDB's notation (pkg/tuple/parsing.go). No white space, no trimming.
 *
 * Owns:    *relationship views the text.
 * Errors:  INVALID_ARGUMENT with the column of what is wrong, LIMIT_EXCEEDED, MISUSE.
 * Threads: any.
 * Blocks:  no.
 */
LICET_API LICET_MUST_CHECK licet_status licet_relationship_parse(licet_str text, licet_relationship *relationship,
                                                                 licet_error **error);

/**
 * The same for those whose engine is strict: a key twice in the context is an error. (SpiceDB: the last one counts. A
 * strict engine refuses it when it is written, too.)
 *
 * Owns:    *relationship views the text.
 * Errors:  those of licet_relationship_parse(), and INVALID_ARGUMENT, kind value, for what it lets pass.
 * Threads: any.
 * Blocks:  no.
 */
LICET_API LICET_MUST_CHECK licet_status licet_relationship_parse_strict(licet_str           text,
                                                                        licet_relationship *relationship,
                                                                        licet_error       **error);

/**
 * Writes a relationship in the same notation. The inverse of parsing; "#..." is not printed. out->allocator,
 * if it is set, gives the memory.
 *
 * Owns:    fills *out; give it back with licet_buffer_clear().
 * Errors:  INVALID_ARGUMENT and LIMIT_EXCEEDED for fields that no text could give, OUT_OF_MEMORY, MISUSE.
 * Threads: any.
 * Blocks:  no.
 */
LICET_API LICET_MUST_CHECK licet_status licet_relationship_format(const licet_relationship *relationship,
                                                                  licet_buffer *out, licet_error **error);

/* Which relationships. Every field that is given must match; at least one must be given.
 * subject_relation given and empty: only subjects without a relation. */
typedef struct licet_filter {
    size_t    size;
    licet_str resource_type;
    licet_str resource_id;        /* not together with resource_id_prefix */
    licet_str resource_id_prefix; /* literal: no character of it is a pattern */
    licet_str relation;
    licet_str subject_type;       /* must be given when another subject field is */
    licet_str subject_id;         /* may be "*" */
    licet_str subject_relation;
} licet_filter;

#define LICET_FILTER_INIT { sizeof(licet_filter), {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0} }

/* ------------------------------------------------------------------- engine */

/* Schema and relationships, and the answers about them. Any number of threads may use one. */
typedef struct licet_engine licet_engine;

/* Opaque, URL-safe, NUL-terminated: names the store and a revision of it. */
#define LICET_TOKEN_CAPACITY 513 /* bytes, with the NUL */
typedef struct licet_token {
    char text[LICET_TOKEN_CAPACITY]; /* empty: none */
} licet_token;

typedef enum licet_freshness {
    LICET_MINIMIZE_LATENCY = 0, /* the default: the graph as it stands */
    LICET_FULLY_CONSISTENT = 1, /* everything committed before the call */
    LICET_AT_LEAST_AS_FRESH = 2, /* not older than the token */
    LICET_AT_EXACT_SNAPSHOT = 3  /* exactly the token's revision */
} licet_freshness;

typedef struct licet_consistency {
    licet_freshness freshness;
    licet_str       token;   /* for the last two */
    bool            no_wait; /* for event loops: UNAVAILABLE (reason WOULD_BLOCK) instead of any input or output */
} licet_consistency;

/**
 * Opens an engine on a store: "memory:", or Postgres by a libpq URI or connection string ("postgresql://...",
 * "host=... dbname=..."). Nothing is connected before the first use, so a process may open, fork and use.
 *
 * Owns:    *engine is yours; end it with licet_engine_release(), which closes it if need be.
 *          The options are copied.
 * Errors:  INVALID_ARGUMENT (kind config) for a URI or option that is not usable, UNSUPPORTED (built without Postgres),
 *          OUT_OF_MEMORY, MISUSE. No message holds any part of the URI but its keywords.
 * Threads: any.
 * Blocks:  no.
 */
LICET_API LICET_MUST_CHECK licet_status licet_open(licet_str uri, const licet_options *options,
                                                   licet_engine **engine, licet_error **error);

/**
 * Waits until the engine can answer: a Postgres graph is loaded and current. The first call of any kind begins that, too;
 * a large graph takes longer to load than a check waits. A memory engine always can.
 *
 * Owns:    nothing.
 * Errors:  DEADLINE_EXCEEDED (it goes on loading), UNAVAILABLE with what is wrong, CLOSED, MISUSE.
 * Threads: any.
 * Blocks:  up to timeout_ms.
 */
LICET_API LICET_MUST_CHECK licet_status licet_await_ready(licet_engine *engine, uint32_t timeout_ms, licet_error **error);

/**
 * Stops an engine. Every later call on it answers CLOSED. A second close, and NULL, do nothing.
 *
 * Owns:    nothing: the memory goes with the last licet_engine_release().
 * Errors:  none.
 * Threads: any; calls in progress end normally.
 * Blocks:  until the calls in progress and a merge in progress have ended; those that wait for a database are ended.
 */
LICET_API void licet_close(licet_engine *engine);

/** Shares / ends an engine handle. The last release closes and frees. Owns: counts one holder more / fewer;
 *  NULL is fine. Errors: none. Threads: any. Blocks: the last release, as licet_close(). */
LICET_API void licet_engine_retain(licet_engine *engine);
LICET_API void licet_engine_release(licet_engine *engine);

/**
 * Replaces the schema. Refused when stored relationships would no longer fit; nothing is changed then.
 *
 * Owns:    fills *token, which may be NULL.
 * Errors:  SCHEMA_ERROR with position, or without one when relationships contradict; LIMIT_EXCEEDED,
 *          OUT_OF_MEMORY, CLOSED, MISUSE.
 * Threads: any.
 * Blocks:  while another write is in progress.
 */
LICET_API LICET_MUST_CHECK licet_status licet_write_schema(licet_engine *engine, licet_str text,
                                                           licet_token *token, licet_error **error);

/**
 * The schema in force, shared.
 *
 * Owns:    *schema is yours; end it with licet_schema_release(). token may be NULL.
 * Errors:  NOT_FOUND before any schema was written, CLOSED, OUT_OF_MEMORY, MISUSE.
 * Threads: any.
 * Blocks:  no.
 */
LICET_API LICET_MUST_CHECK licet_status licet_read_schema(licet_engine *engine, licet_schema **schema,
                                                          licet_token *token, licet_error **error);

typedef enum licet_operation {
    LICET_CREATE = 1, /* fails if it exists */
    LICET_TOUCH  = 2, /* creates or replaces */
    LICET_DELETE = 3  /* removes if it exists */
} licet_operation;

typedef struct licet_update {
    licet_operation    operation;
    licet_relationship relationship;
} licet_update;

typedef enum licet_expectation {
    LICET_MUST_NOT_MATCH = 1,
    LICET_MUST_MATCH     = 2
} licet_expectation;

typedef struct licet_precondition {
    licet_expectation expectation;
    licet_filter      filter;
} licet_precondition;

typedef struct licet_write_request {
    size_t                    size;
    const licet_update       *updates;
    size_t                    update_count;       /* at most 1,000 */
    const licet_precondition *preconditions;
    size_t                    precondition_count; /* at most 1,000 */
    licet_str                 metadata; /* a JSON object of at most 65,000 bytes, which licet_watch() tells; not given: none */
} licet_write_request;

#define LICET_WRITE_REQUEST_INIT { sizeof(licet_write_request), 0, 0, 0, 0, {0, 0} }

/**
 * Changes relationships: all of the request or none of it.
 *
 * Owns:    fills *token (may be NULL): the revision from which the write is visible. Even a write
 *          that changes nothing makes one.
 * Errors:  LIMIT_EXCEEDED, INVALID_ARGUMENT, NOT_FOUND (unknown names), ALREADY_EXISTS,
 *          PRECONDITION_FAILED, OUT_OF_MEMORY, CLOSED, MISUSE. Order: api.md 11.
 * Threads: any; writes happen one after another.
 * Blocks:  while another write is in progress.
 */
LICET_API LICET_MUST_CHECK licet_status licet_write(licet_engine *engine, const licet_write_request *request,
                                                    licet_token *token, licet_error **error);

typedef struct licet_delete_request {
    size_t                    size;
    licet_filter              filter;
    const licet_precondition *preconditions;
    size_t                    precondition_count;
    uint32_t                  limit;         /* 0: none; at most 1,000 */
    bool                      allow_partial; /* with a limit: delete that many and report partial */
    licet_str                 metadata;      /* as in licet_write_request */
} licet_delete_request;

#define LICET_DELETE_REQUEST_INIT { sizeof(licet_delete_request), LICET_FILTER_INIT, 0, 0, 0, false, {0, 0} }

typedef struct licet_delete_result {
    size_t      size;
    uint64_t    deleted_count;
    bool        partial; /* count equals the limit: call again (SpiceDB: also when that was all) */
    licet_token token;
} licet_delete_result;

#define LICET_DELETE_RESULT_INIT { sizeof(licet_delete_result), 0, false, {{0}} }

/**
 * Deletes what a filter selects, in one transaction. A part of the memory limit is kept for deletions, so that a full
 * engine can be emptied; but a transaction that deletes very much at once may still be OUT_OF_MEMORY there: delete in
 * parts then, with a limit.
 *
 * Owns:    fills *result.
 * Errors:  INVALID_ARGUMENT (empty filter, or more than the limit match and partial is not allowed),
 *          NOT_FOUND, PRECONDITION_FAILED, LIMIT_EXCEEDED, OUT_OF_MEMORY, CLOSED, MISUSE.
 * Threads: any.
 * Blocks:  while another write is in progress.
 */
LICET_API LICET_MUST_CHECK licet_status licet_delete_relationships(licet_engine               *engine,
                                                                   const licet_delete_request *request,
                                                                   licet_delete_result *result, licet_error **error);

/* ------------------------------------------------------------------ reading */

typedef struct licet_read_request {
    size_t            size;
    licet_filter      filter;
    uint32_t          limit;  /* 0: all; at most 1,000 */
    licet_str         cursor; /* not given: from the start */
    licet_consistency consistency;
} licet_read_request;

#define LICET_READ_REQUEST_INIT { sizeof(licet_read_request), LICET_FILTER_INIT, 0, {0, 0}, {LICET_MINIMIZE_LATENCY, {0, 0}, false} }

/* A sequence of answers, all of one revision. One thread at a time. */
typedef struct licet_stream licet_stream;

/**
 * Reads relationships at one revision, in an order that is fixed for a chain of cursors.
 *
 * Owns:    *stream is yours; end it with licet_stream_release(). It holds the engine.
 * Errors:  INVALID_ARGUMENT, NOT_FOUND, INVALID_TOKEN (also a cursor of another request),
 *          REVISION_EXPIRED, LIMIT_EXCEEDED, OUT_OF_MEMORY, CLOSED, MISUSE.
 * Threads: any.
 * Blocks:  no.
 */
LICET_API LICET_MUST_CHECK licet_status licet_read_relationships(licet_engine *engine, const licet_read_request *request,
                                                                 licet_stream **stream, licet_error **error);

/**
 * One more relationship. At the end *found is false, and that is no error.
 *
 * Owns:    the views in *relationship live until the next call on the stream.
 * Errors:  REVISION_EXPIRED when the stream was left alone too long, OUT_OF_MEMORY, CLOSED, MISUSE.
 * Threads: one at a time.
 * Blocks:  no.
 */
LICET_API LICET_MUST_CHECK licet_status licet_stream_next_relationship(licet_stream *stream, licet_relationship *relationship,
                                                                       bool *found, licet_error **error);

/** A cursor after what was returned last: for the same request's cursor. Before the first it is the request's own, or
 *  empty; a stream without pages has none.
 *  Owns: the view lives until the next call on the stream. Errors: none. Threads: one at a time. Blocks: no. */
LICET_API licet_str licet_stream_cursor(licet_stream *stream);

/** The revision read. Owns: fills *token. Errors: none. Threads: one at a time. Blocks: no. */
LICET_API void licet_stream_token(const licet_stream *stream, licet_token *token);

/** Ends a stream. Owns: takes it; NULL is fine. Errors: none. Threads: one at a time. Blocks: no. */
LICET_API void licet_stream_release(licet_stream *stream);

/* ----------------------------------------------------------------- checking */

/* Zero is "no": memory that nobody filled in grants nothing. */
typedef enum licet_permissionship {
    LICET_NO_PERMISSION          = 0,
    LICET_HAS_PERMISSION         = 1,
    LICET_CONDITIONAL_PERMISSION = 2 /* depends on context that was not given; not a grant */
} licet_permissionship;

/* Values for caveats, read once and used for any number of checks. Immutable; any number of threads may share one. */
typedef struct licet_context licet_context;

/**
 * Reads a context: a JSON object from parameter names to values (RFC 8259; numbers are doubles; of repeated keys the
 * last wins, unless strict). At most 4,096 bytes, as SpiceDB measures it.
 *
 * Owns:    *context is yours; end it with licet_context_release(). The text is copied.
 * Errors:  INVALID_ARGUMENT (kind syntax, encoding, value), LIMIT_EXCEEDED, OUT_OF_MEMORY, MISUSE.
 * Threads: any.
 * Blocks:  no.
 */
LICET_API LICET_MUST_CHECK licet_status licet_context_parse(licet_str json, const licet_options *options,
                                                            licet_context **context, licet_error **error);

/** Ends a context. Owns: counts one holder fewer; NULL is fine. Errors: none. Threads: any. Blocks: no. */
LICET_API void licet_context_release(licet_context *context);

typedef struct licet_check_request {
    size_t               size;
    licet_str            resource;   /* "document:readme" */
    licet_str            permission; /* "view": a permission or a relation */
    licet_str            subject;    /* "user:ada" or "group:eng#member" */
    licet_consistency    consistency;
    licet_str            context;          /* JSON, as for licet_context_parse(); not given: none */
    const licet_context *prepared_context; /* the same, read before; not together with context */
} licet_check_request;

#define LICET_CHECK_REQUEST_INIT                                                                    \
    { sizeof(licet_check_request), {0, 0}, {0, 0}, {0, 0}, {LICET_MINIMIZE_LATENCY, {0, 0}, false}, {0, 0}, NULL }

/* The answer to one check. Clear it. */
typedef struct licet_result {
    size_t               size;
    licet_permissionship permissionship;
    licet_status         status;   /* in bulk: this item's own; LICET_OK otherwise */
    uint64_t             revision; /* for licet_result_token() */
    licet_error         *error;    /* in bulk: this item's own; NULL otherwise */
    licet_str           *missing;  /* conditional: names of the parameters without a value, sorted, distinct */
    size_t               missing_count;
    licet_allocator      allocator; /* of `missing` */
} licet_result;

#define LICET_RESULT_INIT                                                                           \
    { sizeof(licet_result), LICET_NO_PERMISSION, LICET_OK, 0, NULL, NULL, 0, {0, 0, 0, 0} }

/** True only for a definite yes. Owns: nothing. Errors: none; NULL is false. Threads: the result's. Blocks: no. */
static inline bool licet_result_allowed(const licet_result *result)
{
    return result != NULL && result->status == LICET_OK && result->permissionship == LICET_HAS_PERMISSION;
}

/** Gives back what a result holds and makes it a denial. Owns: the result's memory. Errors: none; NULL is fine,
 *  twice is fine. Threads: the result's. Blocks: no. */
LICET_API void licet_result_clear(licet_result *result);

/** The token of the revision at which a result of this engine was found.
 *  Owns: fills *token; empty when anything is NULL. Errors: none. Threads: any. Blocks: no. */
LICET_API void licet_result_token(const licet_engine *engine, const licet_result *result, licet_token *token);

/** Whether this check could wait for input or output now. Never for a memory store; nor at the default consistency on a
 *  graph that is current. To be sure of it, ask with consistency.no_wait.
 *  Owns: nothing. Errors: none; false for NULL. Threads: any. Blocks: no. */
LICET_API bool licet_check_may_block(const licet_engine *engine, const licet_check_request *request);

/**
 * Decides whether a subject has a permission on a resource.
 *
 * Owns:    fills *result; give its memory back with licet_result_clear().
 * Errors:  INVALID_ARGUMENT (also a caveat that could not be evaluated: kind eval or type, reason
 *          CAVEAT_EVALUATION_ERROR or CAVEAT_PARAMETER_TYPE_ERROR), NOT_FOUND (unknown type or name),
 *          LIMIT_EXCEEDED (depth, steps), DEADLINE_EXCEEDED, INVALID_TOKEN, REVISION_EXPIRED, UNAVAILABLE, OUT_OF_MEMORY, CLOSED, MISUSE.
 *          A denial is not an error. Ids that occur nowhere are a denial.
 * Threads: any number on one engine.
 * Blocks:  only where licet_check_may_block() says so.
 */
LICET_API LICET_MUST_CHECK licet_status licet_check(licet_engine *engine, const licet_check_request *request,
                                                    licet_result *result, licet_error **error);

/**
 * Answers many questions at one revision: that of `consistency`; the items' own consistency is not used.
 * results[i] answers requests[i]. An item's error stays with the item (results[i].status and .error).
 *
 * Owns:    fills results[0..count); clear each with licet_result_clear().
 * Errors:  INVALID_ARGUMENT for the shape of any item, LIMIT_EXCEEDED for more than 10,000 items,
 *          INVALID_TOKEN, REVISION_EXPIRED, OUT_OF_MEMORY, CLOSED, MISUSE: the whole request.
 * Threads: any number on one engine.
 * Blocks:  as licet_check().
 */
LICET_API LICET_MUST_CHECK licet_status licet_check_bulk(licet_engine *engine, const licet_check_request *requests,
                                                         size_t count, licet_consistency consistency,
                                                         licet_result *results, licet_error **error);

/* ----------------------------------------------------------------- lookups */

typedef struct licet_lookup_resources_request {
    size_t               size;
    licet_str            resource_type; /* "document" */
    licet_str            permission;    /* a permission or a relation of it */
    licet_str            subject;       /* "user:ada" or "group:eng#member" */
    uint32_t             limit;         /* 0: all; at most 1,000 */
    licet_str            cursor;        /* not given: from the start. It outranks the consistency */
    licet_consistency    consistency;
    licet_str            context; /* as in licet_check_request */
    const licet_context *prepared_context;
    bool                 without_conditional; /* only what is allowed for certain; the limit counts that */
} licet_lookup_resources_request;

#define LICET_LOOKUP_RESOURCES_REQUEST_INIT                                                         \
    { sizeof(licet_lookup_resources_request), {0, 0}, {0, 0}, {0, 0}, 0, {0, 0},                    \
      {LICET_MINIMIZE_LATENCY, {0, 0}, false}, {0, 0}, NULL, false }

/* A resource that the subject has the permission on. Views live until the next call on the stream. */
typedef struct licet_found_resource {
    size_t               size;
    licet_str            resource_id;
    licet_permissionship permissionship; /* HAS or CONDITIONAL */
    const licet_str     *missing;        /* conditional: names of the parameters without a value, sorted, distinct */
    size_t               missing_count;
} licet_found_resource;

#define LICET_FOUND_RESOURCE_INIT { sizeof(licet_found_resource), {0, 0}, LICET_NO_PERMISSION, NULL, 0 }

/**
 * Which resources of a type? Those that licet_check() would allow, or allow conditionally, at the same revision and
 * with the same context: each once, in an order that is fixed for a chain of cursors and means nothing else.
 *
 * Owns:    *stream is yours: licet_stream_next_resource(), licet_stream_release(). It holds the engine and copies
 *          what it needs of the request, but for prepared_context, which must outlive it.
 * Errors:  as licet_check(); INVALID_TOKEN for a cursor of another request.
 * Threads: any.
 * Blocks:  as licet_check().
 */
LICET_API LICET_MUST_CHECK licet_status licet_lookup_resources(licet_engine *engine,
                                                               const licet_lookup_resources_request *request,
                                                               licet_stream **stream, licet_error **error);

/**
 * One more resource of licet_lookup_resources() or licet_filter_resources(). At the end *found is false.
 *
 * Owns:    the views in *resource live until the next call on the stream.
 * Errors:  REVISION_EXPIRED when the stream was left alone too long; LIMIT_EXCEEDED, DEADLINE_EXCEEDED or
 *          INVALID_ARGUMENT where a check would fail, after what was found before; OUT_OF_MEMORY, CLOSED, MISUSE.
 * Threads: one at a time.
 * Blocks:  no.
 */
LICET_API LICET_MUST_CHECK licet_status licet_stream_next_resource(licet_stream *stream, licet_found_resource *resource,
                                                                   bool *found, licet_error **error);

typedef struct licet_lookup_subjects_request {
    size_t               size;
    licet_str            resource; /* "document:readme" */
    licet_str            permission;
    licet_str            subject_type;
    licet_str            subject_relation;  /* not given: objects, not usersets */
    bool                 without_wildcards; /* leave the entry "*" out */
    uint32_t             limit;             /* 0: all; at most 1,000 */
    licet_str            cursor;            /* as in licet_lookup_resources_request */
    licet_consistency    consistency;
    licet_str            context; /* as in licet_check_request */
    const licet_context *prepared_context;
    bool                 without_conditional; /* as in licet_lookup_resources_request */
} licet_lookup_subjects_request;

#define LICET_LOOKUP_SUBJECTS_REQUEST_INIT                                                          \
    { sizeof(licet_lookup_subjects_request), {0, 0}, {0, 0}, {0, 0}, {0, 0}, false, 0, {0, 0},      \
      {LICET_MINIMIZE_LATENCY, {0, 0}, false}, {0, 0}, NULL, false }

/* A subject that "*" does not stand for: at all (HAS: is excluded for certain), or under a condition (CONDITIONAL: so is a
 * check of it, which misses the same names). */
typedef struct licet_excluded_subject {
    licet_str            subject_id;
    licet_permissionship permissionship; /* of the exclusion: HAS or CONDITIONAL */
    const licet_str     *missing;
    size_t               missing_count;
} licet_excluded_subject;

/* A subject that has the permission. Views live until the next call on the stream. */
typedef struct licet_found_subject {
    size_t                        size;
    licet_str                     subject_id;     /* "*": every subject of the type but those excluded */
    licet_permissionship          permissionship; /* HAS or CONDITIONAL */
    const licet_str              *missing;        /* as in licet_found_resource */
    size_t                        missing_count;
    const licet_excluded_subject *excluded;       /* of "*" only */
    size_t                        excluded_count;
} licet_found_subject;

#define LICET_FOUND_SUBJECT_INIT                                                                    \
    { sizeof(licet_found_subject), {0, 0}, LICET_NO_PERMISSION, NULL, 0, NULL, 0 }

/**
 * Which subjects of a type? Each once; "*" first. What is said of each is what licet_check() says.
 *
 * Owns:    as licet_lookup_resources(); licet_stream_next_subject() gives the answers.
 * Errors:  as licet_lookup_resources(). A resource id that occurs nowhere has no subject but itself, where a check says so;
 *          "*" has none.
 * Threads: any.
 * Blocks:  as licet_check().
 */
LICET_API LICET_MUST_CHECK licet_status licet_lookup_subjects(licet_engine *engine,
                                                              const licet_lookup_subjects_request *request,
                                                              licet_stream **stream, licet_error **error);

/** One more subject; as licet_stream_next_resource(). */
LICET_API LICET_MUST_CHECK licet_status licet_stream_next_subject(licet_stream *stream, licet_found_subject *subject,
                                                                  bool *found, licet_error **error);

typedef struct licet_filter_resources_request {
    size_t               size;
    licet_str            resource_type;
    const licet_str     *resource_ids;
    size_t               resource_count; /* at most 10,000 */
    licet_str            permission;
    licet_str            subject;
    licet_consistency    consistency;
    licet_str            context; /* as in licet_check_request */
    const licet_context *prepared_context;
} licet_filter_resources_request;

#define LICET_FILTER_RESOURCES_REQUEST_INIT                                                         \
    { sizeof(licet_filter_resources_request), {0, 0}, NULL, 0, {0, 0}, {0, 0}, {LICET_MINIMIZE_LATENCY, {0, 0}, false}, {0, 0}, NULL }

/**
 * The resources of a list that the subject has the permission on for certain, in the list's order, as often as they
 * stand in it, all at one revision.
 *
 * Owns:    as licet_lookup_resources(); nothing of the request is needed once the call returned.
 * Errors:  as licet_check_bulk(); an item's error is the whole call's.
 * Threads: any.
 * Blocks:  as licet_check().
 */
LICET_API LICET_MUST_CHECK licet_status licet_filter_resources(licet_engine *engine,
                                                               const licet_filter_resources_request *request,
                                                               licet_stream **stream, licet_error **error);

typedef struct licet_permissions_request {
    size_t               size;
    licet_str            resource; /* "document:readme" */
    licet_str            subject;
    const licet_str     *permissions; /* names of permissions or relations; NULL: every permission of the definition */
    size_t               permission_count;
    licet_consistency    consistency;
    licet_str            context; /* as in licet_check_request */
    const licet_context *prepared_context;
} licet_permissions_request;

#define LICET_PERMISSIONS_REQUEST_INIT                                                              \
    { sizeof(licet_permissions_request), {0, 0}, {0, 0}, NULL, 0, {LICET_MINIMIZE_LATENCY, {0, 0}, false}, {0, 0}, NULL }

/* One permission's answer. The result's and the name's memory lives until the next call on the stream: do not clear it. */
typedef struct licet_found_permission {
    size_t       size;
    licet_str    permission;
    licet_result result; /* as one of a bulk check: also a denial, also this permission's own error */
} licet_found_permission;

#define LICET_FOUND_PERMISSION_INIT { sizeof(licet_found_permission), {0, 0}, LICET_RESULT_INIT }

/**
 * What may this subject do to this resource? All or chosen permissions, in written order or the order chosen, at one
 * revision.
 *
 * Owns:    as licet_lookup_resources(); nothing of the request is needed once the call returned.
 * Errors:  as licet_check_bulk().
 * Threads: any.
 * Blocks:  as licet_check().
 */
LICET_API LICET_MUST_CHECK licet_status licet_permissions(licet_engine *engine, const licet_permissions_request *request,
                                                          licet_stream **stream, licet_error **error);

/** One more permission; as licet_stream_next_resource(). */
LICET_API LICET_MUST_CHECK licet_status licet_stream_next_permission(licet_stream           *stream,
                                                                     licet_found_permission *permission, bool *found,
                                                                     licet_error **error);

/* -------------------------------------------------------- expand and explain */

typedef enum licet_format {
    LICET_FORMAT_TEXT = 1, /* for a person: indented lines */
    LICET_FORMAT_JSON = 2  /* one document, members in a fixed order */
} licet_format;

/* Where a permission's subjects come from, as a tree of operators over relations. Immutable; any number of threads. */
typedef struct licet_tree licet_tree;

typedef enum licet_tree_kind {
    LICET_TREE_LEAF         = 0, /* has subjects, no children */
    LICET_TREE_UNION        = 1,
    LICET_TREE_INTERSECTION = 2,
    LICET_TREE_EXCLUSION    = 3 /* two children: the base and what is taken away */
} licet_tree_kind;

/* A node. Views live as long as the tree. */
typedef struct licet_tree_node {
    size_t          size;
    licet_tree_kind kind;
    licet_str       resource; /* "document:readme" */
    licet_str       relation; /* of it: a relation or permission */
    size_t          first_child; /* children are nodes [first_child, first_child + child_count) */
    size_t          child_count;
    size_t          subject_count; /* of a leaf: licet_tree_subject() */
} licet_tree_node;

#define LICET_TREE_NODE_INIT { sizeof(licet_tree_node), LICET_TREE_LEAF, {0, 0}, {0, 0}, 0, 0, 0 }

typedef struct licet_expand_request {
    size_t            size;
    licet_str         resource;
    licet_str         permission;
    licet_consistency consistency;
} licet_expand_request;

#define LICET_EXPAND_REQUEST_INIT { sizeof(licet_expand_request), {0, 0}, {0, 0}, {LICET_MINIMIZE_LATENCY, {0, 0}, false} }

/**
 * Expands a permission into its operators and the subjects stored under its relations (api.md 9). Usersets are not
 * followed, caveats not shown; what has expired is not there.
 *
 * Owns:    *tree is yours; end it with licet_tree_release().
 * Errors:  INVALID_ARGUMENT, NOT_FOUND, LIMIT_EXCEEDED (depth, steps), INVALID_TOKEN, REVISION_EXPIRED,
 *          DEADLINE_EXCEEDED, OUT_OF_MEMORY, CLOSED, MISUSE.
 * Threads: any.
 * Blocks:  as licet_check().
 */
LICET_API LICET_MUST_CHECK licet_status licet_expand(licet_engine *engine, const licet_expand_request *request,
                                                     licet_tree **tree, licet_error **error);

/** Number of nodes; one of them (0 is the root); a subject of a leaf ("user:ada", "group:eng#member", "user:*"). false
 *  or empty: no such index. Owns: views live as long as the tree. Errors: none. Threads: any. Blocks: no. */
LICET_API size_t    licet_tree_node_count(const licet_tree *tree);
LICET_API bool      licet_tree_node_at(const licet_tree *tree, size_t index, licet_tree_node *node);
LICET_API licet_str licet_tree_subject(const licet_tree *tree, size_t node, size_t index);

/** The revision. Owns: fills *token. Errors: none. Threads: any. Blocks: no. */
LICET_API void licet_tree_token(const licet_tree *tree, licet_token *token);

/** The whole tree as text or JSON. Owns: fills *out; licet_buffer_clear(). Errors: OUT_OF_MEMORY, MISUSE.
 *  Threads: any. Blocks: no. */
LICET_API LICET_MUST_CHECK licet_status licet_tree_format(const licet_tree *tree, licet_format format, licet_buffer *out,
                                                          licet_error **error);

/** Ends a tree. Owns: takes it; NULL is fine. Errors: none. Threads: one at a time. Blocks: no. */
LICET_API void licet_tree_release(licet_tree *tree);

/* Why a check came out as it did: what was asked on the way, and what came of it. Immutable; any number of threads. */
typedef struct licet_trace licet_trace;

/* One object and name that was asked, one operator inside a permission, or one relationship. Views live as long as the
 * trace. */
typedef struct licet_trace_node {
    size_t               size;
    licet_str            resource;   /* "document:readme" */
    licet_str            permission; /* a permission or relation of it; of an operator the permission that it is in */
    bool                 is_permission;
    licet_permissionship permissionship; /* with the request's context */
    licet_status         status; /* LICET_OK, or the limit or error that this part ran into */
    licet_str            reason; /* how it was asked: "relation", "union", "intersection", "exclusion"; an arrow: "any",
                                    "all"; and what has no children: "relationship", "wildcard", "identity", "self", "nil",
                                    "cycle" (stands on the way to itself), "seen" (is told elsewhere) */
    licet_str            operand;      /* an arrow as text: "parent->view"; or empty */
    licet_str            relationship; /* the one that leads here or grants it; or empty */
    licet_str            caveat_name;  /* of that relationship; or empty, and so are the next two */
    licet_str            caveat_expression;
    licet_str            caveat_context; /* the values that its parameters have, as JSON */
    const licet_str     *missing;        /* names of the parameters without a value */
    size_t               missing_count;
    bool                 is_cut;      /* has more children than are told: a trace has at most some thousand nodes */
    size_t               first_child; /* children are nodes [first_child, first_child + child_count) */
    size_t               child_count;
} licet_trace_node;

#define LICET_TRACE_NODE_INIT                                                                       \
    { sizeof(licet_trace_node), {0, 0}, {0, 0}, false, LICET_NO_PERMISSION, LICET_OK, {0, 0}, {0, 0}, {0, 0}, {0, 0}, \
      {0, 0}, {0, 0}, NULL, 0, false, 0, 0 }

/**
 * Decides as licet_check() does, and tells how: the whole way of a grant; else all that was tried. The
 * decision is the root's permissionship, never another than licet_check()'s. When the check fails, *trace still says
 * how far it came.
 *
 * Owns:    *trace is yours, also after LIMIT_EXCEEDED and INVALID_ARGUMENT of the evaluation; licet_trace_release().
 * Errors:  as licet_check().
 * Threads: any.
 * Blocks:  as licet_check().
 */
LICET_API LICET_MUST_CHECK licet_status licet_explain(licet_engine *engine, const licet_check_request *request,
                                                      licet_trace **trace, licet_error **error);

/** Number of nodes; one of them (0 is the root). Owns: views live as long as the trace. Errors: none. Threads: any.
 *  Blocks: no. */
LICET_API size_t licet_trace_node_count(const licet_trace *trace);
LICET_API bool   licet_trace_node_at(const licet_trace *trace, size_t index, licet_trace_node *node);

/** The revision. Owns: fills *token. Errors: none. Threads: any. Blocks: no. */
LICET_API void licet_trace_token(const licet_trace *trace, licet_token *token);

/** The whole trace as text or JSON. Owns: fills *out; licet_buffer_clear(). Errors: OUT_OF_MEMORY, MISUSE.
 *  Threads: any. Blocks: no. */
LICET_API LICET_MUST_CHECK licet_status licet_trace_format(const licet_trace *trace, licet_format format,
                                                           licet_buffer *out, licet_error **error);

/** Ends a trace. Owns: takes it; NULL is fine. Errors: none. Threads: one at a time. Blocks: no. */
LICET_API void licet_trace_release(licet_trace *trace);

/* --------------------------------------------------------- import and export */

/* Many relationships on their way into one transaction, or into one after the other. One thread at a time. */
typedef struct licet_import licet_import;

/**
 * Begins an import: any number of relationships, all of them or none.
 *
 * Owns:    *import is yours; end it with licet_import_release(). It holds the engine.
 * Errors:  OUT_OF_MEMORY, CLOSED, MISUSE; of a database UNAVAILABLE, DEADLINE_EXCEEDED.
 * Threads: any.
 * Blocks:  on a database.
 */
LICET_API LICET_MUST_CHECK licet_status licet_import_begin(licet_engine *engine, licet_import **import,
                                                           licet_error **error);

/**
 * Begins an import that is committed piece by piece, or goes on with it after whatever ended it: a process or a server
 * that was killed, a broken connection, a full disk. It is known by its name. Each licet_import_save() commits a piece,
 * and in the same transaction how far the import has come.
 *
 * Who goes on gives the same relationships in the same order, from the very first on. Those that are committed are not
 * written again, but compared: something else under the same name is refused (PRECONDITION_FAILED, reason
 * IMPORT_DIFFERS). What comes after them may have been mended. Of two processes that import under one name at once, one
 * fails with its next piece (reason IMPORT_MOVED), which is not written.
 *
 * An import that was finished can be given again, to no effect, for as long as history is kept (gc_window_ms; in memory,
 * with the engine).
 *
 * Owns:    *import is yours; end it with licet_import_release(). It holds the engine. *count, which may be NULL, is the
 *          number of its relationships that are committed. name, 1 to 128 bytes, is copied.
 * Errors:  as licet_import_begin(), and INVALID_ARGUMENT. DEADLINE_EXCEEDED also while another process commits a piece.
 * Threads: any.
 * Blocks:  on a database.
 */
LICET_API LICET_MUST_CHECK licet_status licet_import_resume(licet_engine *engine, licet_str name, licet_import **import,
                                                            uint64_t *count, licet_error **error);

/**
 * Takes more relationships; each is created, none may exist. Nothing is visible before the commit.
 *
 * Owns:    copies what it needs.
 * Errors:  INVALID_ARGUMENT, NOT_FOUND, ALREADY_EXISTS, LIMIT_EXCEEDED, PRECONDITION_FAILED, OUT_OF_MEMORY, CLOSED,
 *          MISUSE; of a database UNAVAILABLE, DEADLINE_EXCEEDED. Then the import can only be released.
 * Threads: one at a time.
 * Blocks:  on a database.
 */
LICET_API LICET_MUST_CHECK licet_status licet_import_add(licet_import *import, const licet_relationship *relationships,
                                                         size_t count, licet_error **error);

/**
 * Commits what was added since the last piece as one transaction, and goes on. Of an import of licet_import_resume().
 *
 * Owns:    fills *count, the number of relationships that are committed from the first on, and *token, of the last
 *          piece (empty: none was committed here). Both may be NULL.
 * Errors:  as licet_import_commit(). Then the import can only be released, and gone on with by licet_import_resume().
 * Threads: one at a time.
 * Blocks:  while another write is in progress; on a database. Nothing to commit: no.
 */
LICET_API LICET_MUST_CHECK licet_status licet_import_save(licet_import *import, uint64_t *count, licet_token *token,
                                                          licet_error **error);

/**
 * Makes all of it visible, or what is left of it since the last piece, and finishes the import.
 *
 * Owns:    fills *count, of all its relationships, and *token, which may be NULL. The import can only be released
 *          afterwards.
 * Errors:  as licet_import_add(), against the schema and the relationships of this moment. UNAVAILABLE with the reason
 *          MAY_HAVE_BEEN_APPLIED: licet_import_resume() finds out.
 * Threads: one at a time.
 * Blocks:  while another write is in progress; on a database.
 */
LICET_API LICET_MUST_CHECK licet_status licet_import_commit(licet_import *import, uint64_t *count, licet_token *token,
                                                            licet_error **error);

/** Ends an import; what was not committed does not remain. Owns: takes it; NULL is fine. Errors: none. Threads: one at
 *  a time. Blocks: no. */
LICET_API void licet_import_release(licet_import *import);

/* How far an import of licet_import_resume() has come. */
typedef struct licet_import_record {
    size_t   size;
    bool     is_known; /* false: there is none of that name */
    bool     is_finished;
    uint64_t count; /* relationships of it that are committed, from the first on */
} licet_import_record;

#define LICET_IMPORT_RECORD_INIT { sizeof(licet_import_record), false, false, 0 }

/**
 * Says how far the import of that name has come. Nothing is changed by asking.
 *
 * Owns:    fills *record.
 * Errors:  INVALID_ARGUMENT, OUT_OF_MEMORY, CLOSED, MISUSE; of a database UNAVAILABLE, DEADLINE_EXCEEDED.
 * Threads: any.
 * Blocks:  on a database.
 */
LICET_API LICET_MUST_CHECK licet_status licet_import_find(licet_engine *engine, licet_str name,
                                                          licet_import_record *record, licet_error **error);

/**
 * Forgets the import of that name, but not what it has committed: the name can then be given to another.
 *
 * Owns:    fills *was_known, which may be NULL.
 * Errors:  as licet_import_find().
 * Threads: any.
 * Blocks:  on a database.
 */
LICET_API LICET_MUST_CHECK licet_status licet_import_forget(licet_engine *engine, licet_str name, bool *was_known,
                                                            licet_error **error);

typedef struct licet_export_request {
    size_t            size;
    licet_filter      filter; /* nothing given: all relationships */
    licet_str         cursor; /* not given: from the start; bound to the filter */
    licet_consistency consistency;
} licet_export_request;

#define LICET_EXPORT_REQUEST_INIT                                                                   \
    { sizeof(licet_export_request), LICET_FILTER_INIT, {0, 0}, {LICET_MINIMIZE_LATENCY, {0, 0}, false} }

/**
 * Reads all relationships, or those of a filter, at one revision: licet_stream_next_relationship().
 *
 * Owns:    as licet_read_relationships().
 * Errors:  as licet_read_relationships(); unknown names in the filter select nothing.
 * Threads: any.
 * Blocks:  no.
 */
LICET_API LICET_MUST_CHECK licet_status licet_export_relationships(licet_engine *engine,
                                                                   const licet_export_request *request,
                                                                   licet_stream **stream, licet_error **error);

/* -------------------------------------------------------------------- watch */

/* What to be told; several by |. 0: relationships. */
#define LICET_WATCH_RELATIONSHIPS 1u
#define LICET_WATCH_SCHEMA 2u
#define LICET_WATCH_CHECKPOINTS 4u

typedef struct licet_watch_request {
    size_t              size;
    licet_str           since; /* a token: what was committed after it. Not given: what will be committed from now on */
    uint32_t            kinds;
    const licet_str    *resource_types; /* only of these; not together with filters */
    size_t              resource_type_count;
    const licet_filter *filters; /* only what one of these selects */
    size_t              filter_count;
} licet_watch_request;

#define LICET_WATCH_REQUEST_INIT { sizeof(licet_watch_request), {0, 0}, 0, NULL, 0, NULL, 0 }

/* What one revision brought. Views live until the next call on the stream. */
typedef struct licet_change {
    size_t              size;
    const licet_update *updates; /* LICET_TOUCH, or LICET_DELETE with what was stored; each relationship once */
    size_t              update_count;
    bool                schema_changed;
    bool                is_checkpoint; /* nothing before `token` is still to come */
    /* Of the write; empty: none. Where a change is several transactions (Postgres): that of the one that has any; of
     * several {"transactions": [...]}, in the order of their ids, and beyond 4 MiB also "is_complete": false. */
    licet_str           metadata;
    licet_token         token;         /* to go on after it */
} licet_change;

#define LICET_CHANGE_INIT { sizeof(licet_change), NULL, 0, false, false, {0, 0}, {{0}} }

/**
 * Follows what is committed, in order, revision by revision (api.md 14). The schema's changes come whatever is
 * filtered; an expiration is no change, and neither is that garbage collection removes what has expired.
 *
 * On Postgres a revision is what one look at the database has found, and `since` may be of any process: what this one has
 * not seen itself comes first, as one change with each relationship once.
 *
 * Owns:    *stream is yours: licet_stream_next_change(), licet_stream_release(). It holds the engine.
 * Errors:  INVALID_ARGUMENT, NOT_FOUND (names in filters), INVALID_TOKEN, REVISION_EXPIRED (the token is older than the
 *          history kept), OUT_OF_MEMORY, CLOSED, MISUSE. On Postgres also UNSUPPORTED (the engine follows nothing),
 *          LIMIT_EXCEEDED with the reason WATCH_TOO_FAR_BEHIND (more than 100,000 relationships have changed since),
 *          UNAVAILABLE, DEADLINE_EXCEEDED.
 * Threads: any.
 * Blocks:  no; on Postgres up to wait_timeout_ms.
 */
LICET_API LICET_MUST_CHECK licet_status licet_watch(licet_engine *engine, const licet_watch_request *request,
                                                    licet_stream **stream, licet_error **error);

/**
 * The next change; waits for it at most so long. *found is false when nothing came in time, and that is no error: nor
 * is it one on Postgres while the database can't be reached, which licet_engine_stats() tells (staleness_ms).
 *
 * Owns:    the views in *change live until the next call on the stream.
 * Errors:  REVISION_EXPIRED when the stream was left alone so long that changes are gone, or when the database is another
 *          one than it began with, or was restored; OUT_OF_MEMORY, CLOSED (also when the engine is closed meanwhile),
 *          MISUSE, UNSUPPORTED as above.
 * Threads: one at a time.
 * Blocks:  up to timeout_ms; with 0 never.
 */
LICET_API LICET_MUST_CHECK licet_status licet_stream_next_change(licet_stream *stream, uint32_t timeout_ms,
                                                                 licet_change *change, bool *found, licet_error **error);

/* ------------------------------------------- comparing and describing schemas */

/* A list of findings about schemas. Immutable; any number of threads. */
typedef struct licet_schema_report licet_schema_report;

/* One difference, or one relation or permission. Views live as long as the report. */
typedef struct licet_schema_entry {
    size_t    size;
    licet_str kind;       /* "relation_added", "caveat_parameter_type_changed", ... (schema.md 16); "relation", "permission" */
    licet_str definition; /* or empty */
    licet_str name;       /* of the relation or permission, or empty */
    licet_str caveat;     /* or empty */
    licet_str parameter;  /* or empty */
    licet_str before;     /* what it was, as the formatter prints it; or empty */
    licet_str after;      /* what it is now */
} licet_schema_entry;

#define LICET_SCHEMA_ENTRY_INIT                                                                     \
    { sizeof(licet_schema_entry), {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0} }

/**
 * What changed between two schemas (schema.md 16), sorted by definition, item and kind.
 *
 * Owns:    *report is yours; end it with licet_schema_report_release(). It needs neither schema.
 * Errors:  OUT_OF_MEMORY, MISUSE.
 * Threads: any.
 * Blocks:  no.
 */
LICET_API LICET_MUST_CHECK licet_status licet_schema_diff(const licet_schema *before, const licet_schema *after,
                                                          licet_schema_report **report, licet_error **error);

/**
 * Which relations and permissions, of any definition, have this relation somewhere in their computation; relation
 * empty or not given: the type itself (schema.md 17, ComputablePermissions). prefix: only of definitions whose names begin so.
 *
 * Owns, errors, threads, blocks: as licet_schema_diff(); NOT_FOUND for unknown names.
 */
LICET_API LICET_MUST_CHECK licet_status licet_schema_computable_permissions(const licet_schema *schema,
                                                                            licet_str definition, licet_str relation,
                                                                            licet_str prefix, licet_schema_report **report,
                                                                            licet_error **error);

/** The opposite: what computing this permission may read (schema.md 17, DependentRelations). INVALID_ARGUMENT for a
 *  relation. Owns, errors, threads, blocks: as licet_schema_computable_permissions(). */
LICET_API LICET_MUST_CHECK licet_status licet_schema_dependent_relations(const licet_schema *schema, licet_str definition,
                                                                         licet_str permission, licet_schema_report **report,
                                                                         licet_error **error);

/** Number of entries, and one of them (false: no such index). Owns: views live as long as the report. Errors: none.
 *  Threads: any. Blocks: no. */
LICET_API size_t licet_schema_report_count(const licet_schema_report *report);
LICET_API bool   licet_schema_report_entry(const licet_schema_report *report, size_t index, licet_schema_entry *entry);

/** Ends a report. Owns: takes it; NULL is fine. Errors: none. Threads: one at a time. Blocks: no. */
LICET_API void licet_schema_report_release(licet_schema_report *report);

/* Which part of a schema. Every field is a prefix of names; empty or not given: any (schema.md 17). */
typedef struct licet_reflection_filter {
    size_t    size;
    licet_str definition;
    licet_str caveat;
    licet_str relation;
    licet_str permission;
} licet_reflection_filter;

#define LICET_REFLECTION_FILTER_INIT { sizeof(licet_reflection_filter), {0, 0}, {0, 0}, {0, 0}, {0, 0} }

/**
 * Describes definitions and caveats as JSON (schema.md 17): {"definitions": [...], "caveats": [...]}.
 *
 * Owns:    fills *json; licet_buffer_clear().
 * Errors:  INVALID_ARGUMENT (reason INVALID_FILTER), OUT_OF_MEMORY, MISUSE.
 * Threads: any.
 * Blocks:  no.
 */
LICET_API LICET_MUST_CHECK licet_status licet_schema_reflect(const licet_schema *schema,
                                                             const licet_reflection_filter *filters, size_t filter_count,
                                                             licet_buffer *json, licet_error **error);

typedef struct licet_impact_request {
    size_t            size;
    licet_str         text;  /* of the schema that is considered */
    uint64_t          limit; /* findings, at most; 0: all */
    licet_consistency consistency;
} licet_impact_request;

#define LICET_IMPACT_REQUEST_INIT { sizeof(licet_impact_request), {0, 0}, 0, {LICET_MINIMIZE_LATENCY, {0, 0}, false} }

typedef enum licet_impact_kind {
    LICET_IMPACT_REFUSED = 1, /* a relationship that would forbid the change, and why */
    LICET_IMPACT_GAINED  = 2, /* a decision that becomes more: denied to conditional or allowed, conditional to allowed */
    LICET_IMPACT_LOST    = 3  /* one that becomes less */
} licet_impact_kind;

/* One consequence. Views live until the next call on the stream. */
typedef struct licet_impact {
    size_t               size;
    licet_impact_kind    kind;
    licet_str            relationship; /* refused: its text; empty: the change is refused whatever is stored */
    licet_str            message;      /* refused: what licet_write_schema() would say */
    licet_str            resource;     /* gained, lost: "document:readme" */
    licet_str            permission;   /* a permission or relation */
    licet_str            subject;      /* "user:ada", "group:eng#member"; "user:*": whoever no relationship names */
    licet_permissionship before;       /* without context */
    licet_permissionship after;
} licet_impact;

#define LICET_IMPACT_INIT                                                                           \
    { sizeof(licet_impact), LICET_IMPACT_REFUSED, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, LICET_NO_PERMISSION, LICET_NO_PERMISSION }

/**
 * What would a new schema do to the present data? Which relationships forbid it (each once for every reason), and which
 * decisions change, resource by resource of those that occur; what one schema does not have, there nobody has. Subjects
 * are objects of every type, and the usersets that relationships may name. Nothing is written. Work and memory are those
 * of one resource at a time.
 *
 * Owns:    *stream is yours: licet_stream_next_impact(), licet_stream_release(). It holds the engine.
 * Errors:  SCHEMA_ERROR with position for a text that is wrong by itself; as licet_lookup_subjects(). After a decision
 *          that can not be made the stream goes on with what comes next.
 * Threads: any.
 * Blocks:  no.
 */
LICET_API LICET_MUST_CHECK licet_status licet_schema_impact(licet_engine *engine, const licet_impact_request *request,
                                                            licet_stream **stream, licet_error **error);

/** One more consequence; as licet_stream_next_resource(). */
LICET_API LICET_MUST_CHECK licet_status licet_stream_next_impact(licet_stream *stream, licet_impact *impact, bool *found,
                                                                 licet_error **error);

/* --------------------------------------------------------------- statistics */

typedef struct licet_stats {
    size_t   size;
    uint64_t relationships;    /* at head */
    uint64_t objects;          /* distinct ids seen */
    uint64_t memory_bytes;     /* all memory of the engine now, to the byte */
    uint64_t memory_limit_bytes;
    uint64_t graph_bytes;      /* of it: the graph beside id strings */
    uint64_t id_bytes;         /* of it: id strings */
    uint64_t delta_changes;    /* changes not yet merged into the base */
    uint64_t merges;           /* merges done */
    uint64_t revision;         /* of the head */
    uint64_t oldest_revision;  /* that can still be read exactly */

    /* Of engines on Postgres; else 0. */
    licet_mode mode;             /* in which it answers now: LICET_MODE_FOLLOW or LICET_MODE_PREFETCH */
    bool       is_ready;         /* the graph is loaded and not too old. Memory: always */
    bool       is_connected;     /* the link that follows stands */
    bool       is_encrypted;     /* and uses TLS */
    bool       is_verified;      /* to a server whose certificate was checked */
    uint64_t   staleness_ms;     /* since the database last confirmed the graph */
    uint64_t   round_trips;      /* on all links */
    uint64_t   catch_ups;        /* queries for what is new, of which */
    uint64_t   shared_catch_ups; /* so many calls waited for one that another had sent */
    uint64_t   loads;            /* of the whole graph */
    uint64_t   reconnects;
    uint64_t   prefetches;
} licet_stats;

#define LICET_STATS_INIT                                                                            \
    { sizeof(licet_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, LICET_MODE_AUTO, false, false, false, false, 0, 0, 0, 0, 0, 0, 0 }

/** Counts and sizes now. Owns: fills *stats. Errors: CLOSED, MISUSE. Threads: any. Blocks: no. */
LICET_API LICET_MUST_CHECK licet_status licet_engine_stats(licet_engine *engine, licet_stats *stats, licet_error **error);

/* ------------------------------------------------------- tending a database */

/**
 * Creates our tables, indexes and functions in a Postgres database, or brings those of an older licet up to date. Does
 * nothing where there is nothing to do; several may run at once.
 *
 * Owns:    fills *sql, which may be NULL, with the statements that were run; with dry_run with those that would be, for
 *          people who run migrations themselves. licet_buffer_clear().
 * Errors:  INVALID_ARGUMENT (kind config), UNAVAILABLE, DEADLINE_EXCEEDED, UNSUPPORTED (built without Postgres, or the
 *          database is older than 15 or used by a newer licet), OUT_OF_MEMORY, MISUSE.
 * Threads: any.
 * Blocks:  yes: it connects.
 */
LICET_API LICET_MUST_CHECK licet_status licet_migrate(licet_str uri, const licet_options *options, bool dry_run,
                                                      licet_buffer *sql, licet_error **error);

/**
 * Looks at a database as a careful operator would: tables, versions, indexes, rights, clock, pooling, lag. *json is
 * {"ok": bool, "findings": [{"name", "level": "ok" | "warning" | "error", "message"}]}.
 *
 * Owns:    fills *json; licet_buffer_clear().
 * Errors:  as licet_migrate(); what is found is no error.
 * Threads: any.
 * Blocks:  yes: it connects.
 */
LICET_API LICET_MUST_CHECK licet_status licet_doctor(licet_str uri, const licet_options *options, licet_buffer *json,
                                                     licet_error **error);

/**
 * Removes from the database what was deleted longer ago than gc_window_ms, in small batches. Engines do so by themselves
 * every few minutes, one of all at a time. A memory engine has nothing to do.
 *
 * Owns:    fills *removed, which may be NULL: rows.
 * Errors:  UNAVAILABLE, DEADLINE_EXCEEDED, CLOSED, OUT_OF_MEMORY, MISUSE.
 * Threads: any.
 * Blocks:  yes.
 */
LICET_API LICET_MUST_CHECK licet_status licet_collect_garbage(licet_engine *engine, uint64_t *removed,
                                                              licet_error **error);

/* --------------------------------------------------------- validation files */

typedef struct licet_validate_request {
    size_t    size;
    licet_str text;      /* the YAML */
    licet_str folder;    /* for schemaFile and import; not given: both are refused */
    bool      load_only; /* load schema and relationships, run no assertions */
    uint32_t  max_depth; /* 0: 25, as SpiceDB's developer tools; at most 1,000 */
} licet_validate_request;

#define LICET_VALIDATE_REQUEST_INIT { sizeof(licet_validate_request), {0, 0}, {0, 0}, false, 0 }

/* What a validation file's assertions and expected relations came to. */
typedef struct licet_report licet_report;

typedef struct licet_report_counts {
    size_t   size;
    uint64_t relationships;
    uint64_t assertions;         /* run */
    uint64_t expected_relations; /* run: entries, of all keys */
    uint64_t failures;
    uint64_t warnings; /* unknown keys and lints */
} licet_report_counts;

#define LICET_REPORT_COUNTS_INIT { sizeof(licet_report_counts), 0, 0, 0, 0, 0 }

/* One thing that does not hold, or one warning. Views live as long as the report. */
typedef struct licet_finding {
    size_t    size;
    bool      is_warning;
    licet_str source;  /* "schema", "relationship", "assertion", "validation" */
    licet_str kind;    /* SpiceDB's: "ASSERTION_FAILED", "MISSING_EXPECTED_RELATIONSHIP", ... */
    licet_str message;
    uint32_t  line; /* in the YAML text, 1-based; column in code points; 0: unknown */
    uint32_t  column;
} licet_finding;

#define LICET_FINDING_INIT { sizeof(licet_finding), false, {0, 0}, {0, 0}, {0, 0}, 0, 0 }

/**
 * Loads a validation file into an engine that holds neither schema nor relationships, and runs it.
 * Unusable files (YAML, schema, relationships) are errors and load nothing; assertions and expected
 * relations that do not hold are findings.
 *
 * Owns:    *report is yours; end it with licet_report_release(). The engine keeps what was loaded.
 * Errors:  INVALID_ARGUMENT and SCHEMA_ERROR with line and column in the YAML, NOT_FOUND, LIMIT_EXCEEDED,
 *          UNSUPPORTED (built without YAML), UNAVAILABLE, DEADLINE_EXCEEDED, OUT_OF_MEMORY, CLOSED,
 *          MISUSE.
 * Threads: any; not beside writes.
 * Blocks:  reads files when the text names some and a folder was given.
 */
LICET_API LICET_MUST_CHECK licet_status licet_validate(licet_engine *engine, const licet_validate_request *request,
                                                       licet_report **report, licet_error **error);

/** Counts, and one finding (false: no such index; failures and warnings share one numbering, in file order).
 *  Owns: fills the record, unless its size is unknown; views live as long as the report. Errors: none. Threads: any.
 *  Blocks: no. */
LICET_API void   licet_report_count(const licet_report *report, licet_report_counts *counts);
LICET_API size_t licet_report_finding_count(const licet_report *report);
LICET_API bool   licet_report_finding(const licet_report *report, size_t index, licet_finding *finding);

/** Ends a report. Owns: takes it; NULL is fine. Errors: none. Threads: one at a time. Blocks: no. */
LICET_API void licet_report_release(licet_report *report);

#ifdef __cplusplus
}
#endif
#endif

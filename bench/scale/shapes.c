/* Shapes of data: how deep, how wide, how many answers. */
#include "scale.h"

enum { HOT = 100, SPREAD = 100000, FEW = 10 };

/* -------------------------------------------------------------------- depth */

static const char DEPTH_SCHEMA[] = "definition user {}\n"
                                   "definition group {\n  relation member: user | group#member\n}\n"
                                   "definition folder {\n"
                                   "  relation parent: folder\n"
                                   "  relation viewer: user\n"
                                   "  permission view = viewer + parent->view\n"
                                   "}\n";

enum { CHAINS = 1000, DEEPEST = 50 };

/* Each chain has groups, of which each contains the next and the last a user; and folders, of which each lies in the next
 * and the last is viewed by the user. */
static licet_engine *open_chains(void)
{
    licet_engine *engine = scale_open("memory:", NULL, LICET_MODE_AUTO);
    scale_filler *filler = scale_fill_begin(engine, DEPTH_SCHEMA);

    for (uint64_t chain = 0; chain < CHAINS; chain++) {
        const scale_object user = { "user", "u", chain, NULL };

        for (uint64_t i = chain * DEEPEST; i < (chain + 1) * DEEPEST - 1; i++) {
            scale_fill(filler, (scale_object){ "group", "g", i, NULL }, "member",
                       (scale_object){ "group", "g", i + 1, "member" });
            scale_fill(filler, (scale_object){ "folder", "f", i, NULL }, "parent",
                       (scale_object){ "folder", "f", i + 1, NULL });
        }
        scale_fill(filler, (scale_object){ "group", "g", (chain + 1) * DEEPEST - 1, NULL }, "member", user);
        scale_fill(filler, (scale_object){ "folder", "f", (chain + 1) * DEEPEST - 1, NULL }, "viewer", user);
    }
    scale_fill_end(filler);
    return engine;
}

static void measure_depth(licet_engine *engine, const char *type, const char *permission, uint64_t depth, bool allowed)
{
    scale_questions questions = scale_questions_new(CHAINS, LICET_MINIMIZE_LATENCY);
    scale_timing    t;

    for (uint64_t chain = 0; chain < CHAINS; chain++)
        scale_question(&questions,
                       (scale_object){ type, type[0] == 'g' ? "g" : "f", (chain + 1) * DEEPEST - depth, NULL },
                       permission, (scale_object){ "user", "u", (chain + !allowed) % CHAINS, NULL }, allowed);
    scale_verify(engine, &questions, "depth");
    t = scale_time_questions(engine, &questions, questions.count);
    scale_print("depth",
                "\"kind\": \"%ss\", \"allowed\": %s, \"depth\": %" PRIu64 ", \"median_ns\": %.1f, \"p99_ns\": %.1f",
                type, allowed ? "true" : "false", depth, t.median_ns, t.p99_ns);
    scale_questions_free(&questions);
}

void scale_depth(void)
{
    static const uint64_t depths[] = { 1, 2, 5, 10, 20, DEEPEST };
    licet_engine         *engine   = open_chains();

    for (size_t i = 0; i < sizeof depths / sizeof depths[0]; i++)
        for (int allowed = 1; allowed >= 0; allowed--) {
            measure_depth(engine, "group", "member", depths[i], allowed);
            measure_depth(engine, "folder", "view", depths[i], allowed);
        }
    licet_engine_release(engine);
}

/* ------------------------------------------------------------------ fan-out */

static const char FAN_OUT_SCHEMA[] = "definition user {}\n"
                                     "definition group {\n  relation member: user\n}\n"
                                     "definition document {\n"
                                     "  relation viewer: group#member\n"
                                     "  permission view = viewer\n"
                                     "}\n";

/* As many relationships whatever the fan-out, so that only that differs. */
typedef enum fan { MEMBERS_OF_A_GROUP, GROUPS_OF_A_USER, GROUPS_OF_A_DOCUMENT, FANS } fan;

static const char *const fan_names[FANS] = { "members of a group", "groups of a user", "groups of a document" };

/* Edge i of the fans: between the one at a fan's centre, number i / width, and another, number i. There is one edge more,
 * of a fan that is not asked about. */
static licet_engine *open_fans(fan kind, uint64_t width, uint64_t relationships)
{
    licet_engine *engine = scale_open("memory:", NULL, LICET_MODE_AUTO);
    scale_filler *filler = scale_fill_begin(engine, FAN_OUT_SCHEMA);

    for (uint64_t i = 0; i <= relationships; i++) {
        const uint64_t group = kind == MEMBERS_OF_A_GROUP ? i / width : i;
        const uint64_t user  = kind == GROUPS_OF_A_USER ? i / width : i;

        scale_fill(filler, (scale_object){ "group", "g", group, NULL }, "member",
                   (scale_object){ "user", "u", user, NULL });
        if (kind == GROUPS_OF_A_DOCUMENT || kind == GROUPS_OF_A_USER)
            scale_fill(filler, (scale_object){ "document", "d", kind == GROUPS_OF_A_DOCUMENT ? i / width : i, NULL },
                       "viewer", (scale_object){ "group", "g", group, "member" });
    }
    scale_fill_end(filler);
    return engine;
}

/* Denied: the user of another fan. */
static void ask_fan(scale_questions *questions, fan kind, uint64_t width, uint64_t relationships, uint64_t edge,
                    bool allowed)
{
    const uint64_t     at   = allowed ? edge : width < relationships ? (edge + width) % relationships : relationships;
    const scale_object user = { "user", "u", kind == GROUPS_OF_A_USER ? at / width : at, NULL };

    if (kind == MEMBERS_OF_A_GROUP)
        scale_question(questions, (scale_object){ "group", "g", edge / width, NULL }, "member", user, allowed);
    else
        scale_question(questions,
                       (scale_object){ "document", "d", kind == GROUPS_OF_A_DOCUMENT ? edge / width : edge, NULL },
                       "view", user, allowed);
}

/* Fewer where each takes long: those of a document with so many groups look at all of them. */
static size_t questions_of(fan kind, uint64_t width, uint64_t relationships)
{
    const uint64_t most = relationships < SPREAD ? relationships : SPREAD;

    if (kind != GROUPS_OF_A_DOCUMENT || most / width >= FEW)
        return (size_t)(kind == GROUPS_OF_A_DOCUMENT ? most / width : most);
    return FEW;
}

static void measure_fan(licet_engine *engine, fan kind, uint64_t width, uint64_t relationships, bool allowed)
{
    scale_questions questions = scale_questions_new(questions_of(kind, width, relationships), LICET_MINIMIZE_LATENCY);
    uint64_t        random    = 88172645463325252u;
    scale_timing    hot, spread;

    while (questions.count < questions.capacity)
        ask_fan(&questions, kind, width, relationships, scale_random(&random, relationships), allowed);
    scale_verify(engine, &questions, fan_names[kind]);
    hot    = scale_time_questions(engine, &questions, HOT);
    spread = scale_time_questions(engine, &questions, questions.count);
    scale_print("fan-out",
                "\"kind\": \"%s\", \"allowed\": %s, \"width\": %" PRIu64 ", \"hot_ns\": %.1f, \"hot_p99_ns\": %.1f, "
                "\"spread_ns\": %.1f, \"spread_p99_ns\": %.1f",
                fan_names[kind], allowed ? "true" : "false", width, hot.median_ns, hot.p99_ns, spread.median_ns,
                spread.p99_ns);
    scale_questions_free(&questions);
}

void scale_fan_out(uint64_t relationships)
{
    for (int kind = 0; kind < FANS; kind++)
        for (uint64_t width = 1; width <= relationships; width *= 10) {
            licet_engine *engine = open_fans((fan)kind, width, relationships);

            measure_fan(engine, (fan)kind, width, relationships, true);
            measure_fan(engine, (fan)kind, width, relationships, false);
            licet_engine_release(engine);
        }
}

/* ------------------------------------------------------------------ answers */

static const char ANSWERS_SCHEMA[] = "definition user {}\n"
                                     "definition group {\n  relation member: user\n}\n"
                                     "definition folder {\n  relation viewer: user\n}\n"
                                     "definition document {\n"
                                     "  relation parent: folder\n"
                                     "  relation owner: user\n"
                                     "  relation viewer: group#member\n"
                                     "  permission own = owner\n"
                                     "  permission view = owner + parent->viewer\n"
                                     "  permission read = viewer\n"
                                     "}\n";

enum { DOCUMENTS_OF_A_FOLDER = 10, DOCUMENTS_OF_ANOTHER = 10, MOST_ANSWERS = 100000 };

/* For a power of ten, n: user o<n> owns n documents, user f<n> views n through folders, and n users read document r<n>
 * through a group. Numbers in [n, 2 n) are in no other such range. */
static void fill_asked(scale_filler *filler, uint64_t n)
{
    const scale_object group = { "group", "g", n, NULL };

    for (uint64_t i = n; i < 2 * n; i++) {
        const scale_object shared = { "document", "f", i, NULL };
        const scale_object folder = { "folder", "f", i / DOCUMENTS_OF_A_FOLDER, NULL };

        scale_fill(filler, (scale_object){ "document", "o", i, NULL }, "owner", (scale_object){ "user", "o", n, NULL });
        scale_fill(filler, shared, "parent", folder);
        if (i == n || i % DOCUMENTS_OF_A_FOLDER == 0)
            scale_fill(filler, folder, "viewer", (scale_object){ "user", "f", n, NULL });
        scale_fill(filler, group, "member", (scale_object){ "user", "r", i, NULL });
    }
    scale_fill(filler, (scale_object){ "document", "r", n, NULL }, "viewer",
               (scale_object){ "group", "g", n, "member" });
}

static licet_engine *open_answers(uint64_t relationships, uint64_t most)
{
    licet_engine *engine = scale_open("memory:", NULL, LICET_MODE_AUTO);
    scale_filler *filler = scale_fill_begin(engine, ANSWERS_SCHEMA);

    for (uint64_t n = 1; n <= most; n *= 10)
        fill_asked(filler, n);
    for (uint64_t i = 0; i < relationships; i++)
        scale_fill(filler, (scale_object){ "document", "d", i, NULL }, "owner",
                   (scale_object){ "user", "u", i / DOCUMENTS_OF_ANOTHER, NULL });
    scale_fill_end(filler);
    return engine;
}

/* A lookup that is done again and again. */
typedef struct lookup {
    licet_engine *engine;
    char          object[32]; /* the subject of a lookup of resources, or the resource of one of subjects */
    const char   *permission;
    size_t        expected;
} lookup;

static size_t look_up_subjects(const lookup *l)
{
    licet_lookup_subjects_request request = LICET_LOOKUP_SUBJECTS_REQUEST_INIT;
    licet_found_subject           subject = LICET_FOUND_SUBJECT_INIT;
    licet_stream                 *stream  = NULL;
    licet_error                  *error   = NULL;
    bool                          found   = true;
    size_t                        count   = 0;

    request.resource     = (licet_str){ l->object, strlen(l->object) };
    request.permission   = (licet_str){ l->permission, strlen(l->permission) };
    request.subject_type = LICET_STR("user");
    bench_must(licet_lookup_subjects(l->engine, &request, &stream, &error), error, l->object);
    for (;;) {
        bench_must(licet_stream_next_subject(stream, &subject, &found, &error), error, l->object);
        if (!found)
            break;
        count += subject.permissionship == LICET_HAS_PERMISSION;
    }
    licet_stream_release(stream);
    return count;
}

static size_t look_up(void *context)
{
    const lookup *l     = context;
    const bool    users = strcmp(l->permission, "read") == 0;
    const size_t  found = users ? look_up_subjects(l)
                                : scale_lookup(l->engine, "document", l->permission, l->object, LICET_MINIMIZE_LATENCY);

    if (found != l->expected)
        bench_stop(l->object, "the answers are not the expected ones");
    return found;
}

static void measure_answers(licet_engine *engine, const char *kind, const char *permission, const char *prefix,
                            uint64_t n)
{
    lookup       l = { .engine = engine, .permission = permission, .expected = (size_t)n };
    scale_timing t;

    snprintf(l.object, sizeof l.object, "%s%" PRIu64, prefix, n);
    t = scale_time(&(scale_work){ look_up, &l, (size_t)(n < 100 ? 1000 / n : 1) });
    scale_print("answers", "\"kind\": \"%s\", \"answers\": %" PRIu64 ", \"median_ns\": %.1f, \"p99_ns\": %.1f", kind, n,
                t.median_ns, t.p99_ns);
}

void scale_answers(uint64_t relationships)
{
    const uint64_t most   = relationships / 10 < MOST_ANSWERS ? relationships / 10 : MOST_ANSWERS;
    licet_engine  *engine = open_answers(relationships, most);

    for (uint64_t n = 1; n <= most; n *= 10) {
        measure_answers(engine, "resources, direct", "own", "user:o", n);
        measure_answers(engine, "resources, through folders", "view", "user:f", n);
        measure_answers(engine, "subjects, through a group", "read", "document:r", n);
    }
    licet_engine_release(engine);
}

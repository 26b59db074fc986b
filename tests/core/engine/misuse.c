/* The public functions called wrongly, or in a process that forks, is interrupted, exits or unloads the library
 * (threat-model.md 8 and 9). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "engine_world.h"
#include "failing_memory.h"
#include "sanitizers.h"

static const licet_consistency NOW = { LICET_MINIMIZE_LATENCY, { NULL, 0 }, false };

static void open_world(engine_world *w)
{
    world_open(w, NULL, WORLD_SCHEMA, "document:d1#viewer@user:ana\ndocument:d1#viewer@group:eng#member");
}

/* Every function that takes an engine, on one that can not be used. */
static void assert_refuses_everything(licet_engine *engine, licet_status expected, const char *message)
{
    licet_check_request  check    = check_of("document:d1", "view", "user:ana");
    licet_write_request  write    = LICET_WRITE_REQUEST_INIT;
    licet_delete_request deletion = LICET_DELETE_REQUEST_INIT;
    licet_delete_result  deleted  = LICET_DELETE_RESULT_INIT;
    licet_read_request   read     = LICET_READ_REQUEST_INIT;
    licet_result         result   = LICET_RESULT_INIT;
    licet_stats          stats    = LICET_STATS_INIT;
    licet_schema        *schema   = (licet_schema *)&check;
    licet_stream        *stream   = (licet_stream *)&check;
    licet_token          token    = { "left over" };
    licet_error         *error    = NULL;

    result.permissionship = LICET_HAS_PERMISSION;
    assert_int_equal(licet_check(engine, &check, &result, &error), expected);
    error_is(error, expected, LICET_KIND_MISUSE, "", message);
    assert_int_equal(result.permissionship, LICET_NO_PERMISSION);
    result.permissionship = LICET_HAS_PERMISSION;
    assert_int_equal(licet_check_bulk(engine, &check, 1, NOW, &result, &error), expected);
    error_is(error, expected, LICET_KIND_MISUSE, "", message);
    assert_int_equal(result.permissionship, LICET_NO_PERMISSION);
    assert_int_equal(licet_write(engine, &write, &token, &error), expected);
    error_is(error, expected, LICET_KIND_MISUSE, "", message);
    assert_string_equal(token.text, "");
    assert_int_equal(licet_delete_relationships(engine, &deletion, &deleted, &error), expected);
    error_is(error, expected, LICET_KIND_MISUSE, "", message);
    assert_int_equal(licet_write_schema(engine, LICET_STR(""), NULL, &error), expected);
    error_is(error, expected, LICET_KIND_MISUSE, "", message);
    assert_int_equal(licet_read_schema(engine, &schema, &token, &error), expected);
    error_is(error, expected, LICET_KIND_MISUSE, "", message);
    assert_null(schema);
    assert_int_equal(licet_read_relationships(engine, &read, &stream, &error), expected);
    error_is(error, expected, LICET_KIND_MISUSE, "", message);
    assert_null(stream);
    assert_int_equal(licet_engine_stats(engine, &stats, &error), expected);
    error_is(error, expected, LICET_KIND_MISUSE, "", message);
}

static void null_and_foreign_engines_are_misuse(void **state)
{
    static char foreign[1 << 14];

    (void)state;
    assert_refuses_everything(NULL, LICET_MISUSE, "engine is NULL or not an engine");
    assert_refuses_everything((licet_engine *)(void *)foreign, LICET_MISUSE, "engine is NULL or not an engine");
    licet_close((licet_engine *)(void *)foreign);
    licet_engine_release((licet_engine *)(void *)foreign);
    licet_engine_retain((licet_engine *)(void *)foreign);
}

static void a_closed_engine_says_closed_to_everything(void **state)
{
    engine_world w;

    (void)state;
    open_world(&w);
    licet_close(w.engine);
    assert_refuses_everything(w.engine, LICET_CLOSED, "the engine is closed");
    licet_close(w.engine);
    assert_refuses_everything(w.engine, LICET_CLOSED, "the engine is closed");
    world_close(&w);
}

static void ending_nothing_does_nothing(void **state)
{
    (void)state;
    licet_close(NULL);
    licet_engine_retain(NULL);
    licet_engine_release(NULL);
    licet_stream_release(NULL);
    licet_result_clear(NULL);
    licet_buffer_clear(NULL);
    licet_error_free(NULL);
    licet_schema_release(NULL);
    assert_null(licet_stream_cursor(NULL).data);
    licet_stream_token(NULL, NULL);
}

static void places_for_answers_must_be_there_and_known(void **state)
{
    licet_check_request  check    = check_of("document:d1", "view", "user:ana");
    licet_write_request  write    = LICET_WRITE_REQUEST_INIT;
    licet_delete_request deletion = LICET_DELETE_REQUEST_INIT;
    licet_delete_result  deleted  = LICET_DELETE_RESULT_INIT;
    licet_read_request   read     = LICET_READ_REQUEST_INIT;
    licet_relationship   r        = LICET_RELATIONSHIP_INIT;
    licet_result         result   = LICET_RESULT_INIT;
    licet_stats          stats    = LICET_STATS_INIT;
    licet_stream        *stream   = NULL;
    bool                 found    = true;
    engine_world         w;

    (void)state;
    open_world(&w);
    read.filter.resource_type = LICET_STR("document");
    assert_int_equal(licet_check(w.engine, &check, NULL, NULL), LICET_MISUSE);
    assert_int_equal(licet_check(w.engine, NULL, &result, NULL), LICET_MISUSE);
    assert_int_equal(licet_check_bulk(w.engine, &check, 1, NOW, NULL, NULL), LICET_MISUSE);
    assert_int_equal(licet_check_bulk(w.engine, NULL, 1, NOW, &result, NULL), LICET_MISUSE);
    assert_int_equal(licet_write(w.engine, NULL, NULL, NULL), LICET_MISUSE);
    assert_int_equal(licet_delete_relationships(w.engine, NULL, &deleted, NULL), LICET_MISUSE);
    assert_int_equal(licet_delete_relationships(w.engine, &deletion, NULL, NULL), LICET_MISUSE);
    assert_int_equal(licet_read_schema(w.engine, NULL, NULL, NULL), LICET_MISUSE);
    assert_int_equal(licet_read_relationships(w.engine, &read, NULL, NULL), LICET_MISUSE);
    assert_int_equal(licet_read_relationships(w.engine, NULL, &stream, NULL), LICET_MISUSE);
    assert_int_equal(licet_engine_stats(w.engine, NULL, NULL), LICET_MISUSE);
    assert_int_equal(licet_stream_next_relationship(NULL, &r, &found, NULL), LICET_MISUSE);
    assert_false(found);
    assert_int_equal(licet_read_relationships(w.engine, &read, &stream, NULL), LICET_OK);
    assert_int_equal(licet_stream_next_relationship(stream, NULL, &found, NULL), LICET_MISUSE);
    assert_int_equal(licet_stream_next_relationship(stream, &r, NULL, NULL), LICET_MISUSE);
    licet_stream_release(stream);
    write.update_count = 1;
    assert_int_equal(licet_write(w.engine, &write, NULL, NULL), LICET_MISUSE);
    write.update_count       = 0;
    write.precondition_count = 1;
    assert_int_equal(licet_write(w.engine, &write, NULL, NULL), LICET_MISUSE);
    result.size           = 4;
    result.permissionship = LICET_HAS_PERMISSION;
    assert_int_equal(licet_check(w.engine, &check, &result, NULL), LICET_MISUSE);
    assert_int_equal(result.permissionship, LICET_NO_PERMISSION);
    assert_int_equal(licet_check_bulk(w.engine, &check, 1, NOW, &result, NULL), LICET_MISUSE);
    result.size = sizeof result;
    check.size  = sizeof check + 1;
    assert_int_equal(licet_check(w.engine, &check, &result, NULL), LICET_MISUSE);
    assert_int_equal(licet_check_bulk(w.engine, &check, 1, NOW, &result, NULL), LICET_MISUSE);
    stats.size = 1;
    assert_int_equal(licet_engine_stats(w.engine, &stats, NULL), LICET_MISUSE);
    read.filter.size = 1;
    assert_int_equal(licet_read_relationships(w.engine, &read, &stream, NULL), LICET_MISUSE);
    deletion.filter.size = 1;
    assert_int_equal(licet_delete_relationships(w.engine, &deletion, &deleted, NULL), LICET_MISUSE);
    world_close(&w);
}

static void nested_records_of_an_unknown_size_are_misuse(void **state)
{
    licet_write_request write  = LICET_WRITE_REQUEST_INIT;
    licet_update        update = { LICET_TOUCH, LICET_RELATIONSHIP_INIT };
    licet_precondition  p      = { LICET_MUST_MATCH, LICET_FILTER_INIT };
    engine_world        w;

    (void)state;
    open_world(&w);
    update.relationship.size = 8;
    write.updates            = &update;
    write.update_count       = 1;
    w.status                 = licet_write(w.engine, &write, NULL, &w.error);
    world_failed(&w, LICET_MISUSE, LICET_KIND_MISUSE, "", "an update's relationship is NULL or of an unknown size");
    p.filter.size            = 8;
    write.update_count       = 0;
    write.preconditions      = &p;
    write.precondition_count = 1;
    w.status                 = licet_write(w.engine, &write, NULL, &w.error);
    world_failed(&w, LICET_MISUSE, LICET_KIND_MISUSE, "", "a precondition's filter is NULL or of an unknown size");
    world_close(&w);
}

/* The last call's error may be freed or not; a stale pointer in the variable is not looked at. */
static void what_the_error_variable_holds_before_a_call_does_not_matter(void **state)
{
    licet_check_request check  = check_of("document:d1", "view", "user:ana");
    licet_result        result = LICET_RESULT_INIT;
    licet_error        *error  = (licet_error *)&check;
    engine_world        w;

    (void)state;
    open_world(&w);
    assert_int_equal(licet_check(w.engine, &check, &result, &error), LICET_OK);
    assert_null(error);
    world_close(&w);
}

/* A length that is no length: nothing behind the text is read. */
static void a_negative_length_is_refused(void **state)
{
    licet_check_request check  = check_of("document:d1", "view", "user:ana");
    licet_result        result = LICET_RESULT_INIT;
    engine_world        w;

    (void)state;
    open_world(&w);
    check.resource.size = (size_t)-1;
    assert_int_equal(licet_check(w.engine, &check, &result, NULL), LICET_INVALID_ARGUMENT);
    check.resource.size = 11;
    check.subject.size  = (size_t)-1;
    assert_int_equal(licet_check(w.engine, &check, &result, NULL), LICET_INVALID_ARGUMENT);
    check.subject.size    = 8;
    check.permission.size = (size_t)-1;
    assert_int_equal(licet_check(w.engine, &check, &result, NULL), LICET_INVALID_ARGUMENT);
    assert_false(licet_result_allowed(&result));
    world_close(&w);
}

/* --------------------------------------------------------------------- fork */

/* Runs `body` in a child; the child's status must be 0. Children of a sanitized program may not look for leaks: the
 * parent's memory is theirs too. */
static void in_a_child(void (*body)(engine_world *), engine_world *w)
{
    int   status = -1;
    pid_t child  = fork();

    assert_true(child >= 0);
    if (child == 0) {
        alarm(120);
        body(w);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void must(bool holds)
{
    if (!holds)
        _exit(1);
}

static bool quietly_allowed(licet_engine *engine, const char *resource, const char *subject)
{
    licet_check_request check  = check_of(resource, "view", subject);
    licet_result        result = LICET_RESULT_INIT;

    must(licet_check(engine, &check, &result, NULL) == LICET_OK);
    return licet_result_allowed(&result);
}

static void quietly_write(licet_engine *engine, licet_operation operation, const char *line)
{
    licet_write_request request = LICET_WRITE_REQUEST_INIT;
    licet_update        update  = { operation, LICET_RELATIONSHIP_INIT };

    must(licet_relationship_parse(text_of(line), &update.relationship, NULL) == LICET_OK);
    request.updates      = &update;
    request.update_count = 1;
    must(licet_write(engine, &request, NULL, NULL) == LICET_OK);
}

static void child_goes_its_own_way(engine_world *w)
{
    licet_check_request check  = check_of("document:d1", "view", "user:ana");
    licet_result        result = LICET_RESULT_INIT;
    licet_engine       *own    = NULL;

    must(quietly_allowed(w->engine, "document:d1", "user:ana"));
    must(!quietly_allowed(w->engine, "document:d1", "user:nobody"));
    quietly_write(w->engine, LICET_DELETE, "document:d1#viewer@user:ana");
    must(!quietly_allowed(w->engine, "document:d1", "user:ana"));
    check.consistency = (licet_consistency){ LICET_AT_EXACT_SNAPSHOT, text_of(w->token.text), false };
    must(licet_check(w->engine, &check, &result, NULL) == LICET_OK); /* of the past that both share */
    must(licet_result_allowed(&result));
    must(licet_open(LICET_STR("memory:"), NULL, &own, NULL) == LICET_OK);
    must(licet_write_schema(own, text_of(WORLD_SCHEMA), NULL, NULL) == LICET_OK);
    must(!quietly_allowed(own, "document:d1", "user:ana"));
    licet_engine_release(own);
    licet_close(w->engine);
    licet_engine_release(w->engine);
}

static void after_a_fork_there_are_two_engines_with_one_past(void **state)
{
    engine_world w;

    (void)state;
    open_world(&w);
    in_a_child(child_goes_its_own_way, &w);
    assert_true(world_allowed(&w, "document:d1", "view", "user:ana"));
    world_touch(&w, "document:d2#viewer@user:ana");
    world_done(&w);
    assert_true(world_allowed(&w, "document:d2", "view", "user:ana"));
    world_close(&w);
}

static int after_fork[2]; /* a pipe: what the parent wrote after the fork */

static void child_gets_a_later_token(engine_world *w)
{
    licet_check_request check  = check_of("document:d1", "view", "user:ana");
    licet_result        result = LICET_RESULT_INIT;
    licet_error        *error  = NULL;
    licet_token         token;
    licet_str           message;

    static const char expected[] = "the token belongs to another process's store, from after the fork";

    must(read(after_fork[0], &token, sizeof token) == (ssize_t)sizeof token);
    quietly_write(w->engine, LICET_TOUCH, "document:d5#viewer@user:ana"); /* our own revision of that number */
    check.consistency = (licet_consistency){ LICET_AT_LEAST_AS_FRESH, text_of(token.text), false };
    must(licet_check(w->engine, &check, &result, &error) == LICET_INVALID_TOKEN);
    message = licet_error_message(error);
    must(message.size == strlen(expected) && memcmp(message.data, expected, message.size) == 0);
    licet_error_free(error);
}

static void a_token_from_after_the_fork_is_the_other_process_s(void **state)
{
    engine_world w;
    int          status = -1;
    pid_t        child;

    (void)state;
    open_world(&w);
    assert_int_equal(pipe(after_fork), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(120);
        child_gets_a_later_token(&w);
        _exit(0);
    }
    world_touch(&w, "document:d2#viewer@user:ana");
    world_done(&w);
    assert_int_equal(write(after_fork[1], &w.token, sizeof w.token), sizeof w.token);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    close(after_fork[0]);
    close(after_fork[1]);
    world_close(&w);
}

typedef struct busy {
    licet_engine *engine;
    _Atomic bool  done;
} busy;

static void *check_and_write(void *argument)
{
    busy *b = argument;

    for (unsigned i = 0; !atomic_load(&b->done); i++) {
        char line[64];

        snprintf(line, sizeof line, "document:busy%u#viewer@user:u%u", i % 50, i);
        quietly_write(b->engine, i % 3 == 0 ? LICET_DELETE : LICET_TOUCH, line);
        quietly_allowed(b->engine, "document:d1", "user:ana");
    }
    return NULL;
}

static void child_of_a_busy_parent(engine_world *w)
{
    must(quietly_allowed(w->engine, "document:d1", "user:ana"));
    quietly_write(w->engine, LICET_TOUCH, "document:d7#viewer@user:ana");
    must(quietly_allowed(w->engine, "document:d7", "user:ana"));
    licet_engine_release(w->engine);
}

static void a_fork_in_the_middle_of_checks_and_writes_leaves_a_whole_engine(void **state)
{
    const failing_memory memory = fail_never(); /* a sanitizer's own malloc may hang in the child */
    pthread_t            threads[3];
    engine_world         w;
    busy                 b = { .engine = NULL };

    (void)state;
    if (UNDER_TSAN)
        skip();
    world_open(&w, &memory.options, WORLD_SCHEMA, "document:d1#viewer@user:ana\ndocument:d1#viewer@group:eng#member");
    b.engine = w.engine;
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, check_and_write, &b), 0);
    for (int i = 0; i < 30; i++)
        in_a_child(child_of_a_busy_parent, &w);
    atomic_store(&b.done, true);
    for (size_t i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    world_close(&w);
}

static void child_forks_again(engine_world *w)
{
    quietly_write(w->engine, LICET_TOUCH, "document:d8#viewer@user:ana");
    in_a_child(child_of_a_busy_parent, w);
    must(quietly_allowed(w->engine, "document:d8", "user:ana"));
}

static void children_may_fork_too(void **state)
{
    engine_world w;

    (void)state;
    open_world(&w);
    in_a_child(child_forks_again, &w);
    world_close(&w);
}

static void child_releases_what_was_closed(engine_world *w)
{
    licet_engine_release(w->engine);
}

static void a_closed_engine_can_be_released_in_a_child(void **state)
{
    engine_world w;

    (void)state;
    open_world(&w);
    licet_close(w.engine);
    in_a_child(child_releases_what_was_closed, &w);
    world_close(&w);
}

/* ------------------------------------------------------- signals, exit, unload */

static _Atomic unsigned ticks;

static void tick(int number)
{
    (void)number;
    atomic_fetch_add(&ticks, 1);
}

static void checks_and_writes_go_on_under_signals_every_200_us(void **state)
{
    struct sigaction action = { .sa_handler = tick };
    struct sigaction before;
    struct itimerval timer = { { 0, 200 }, { 0, 200 } };
    struct itimerval off   = { { 0, 0 }, { 0, 0 } };
    uint64_t         end   = lic_monotonic_ms() + 500;
    engine_world     w;

    (void)state;
    open_world(&w);
    sigaction(SIGALRM, &action, &before);
    setitimer(ITIMER_REAL, &timer, NULL);
    while (lic_monotonic_ms() < end || ticks <= 10) {
        assert_false(world_allowed(&w, "document:d1", "view", "user:nobody"));
        world_touch(&w, "document:d2#viewer@user:ana");
        world_done(&w);
    }
    setitimer(ITIMER_REAL, &off, NULL);
    sigaction(SIGALRM, &before, NULL);
    world_close(&w);
}

static licet_engine *of_the_handler;
static _Atomic int   handler_answers; /* allowed: counts; denied or refused: does not */

static void check_in_the_handler(int number)
{
    licet_check_request check  = check_of("document:d1", "view", "user:nobody");
    licet_result        result = LICET_RESULT_INIT;
    licet_status        status = licet_check(of_the_handler, &check, &result, NULL);

    (void)number;
    atomic_fetch_add(&handler_answers, status == LICET_OK && licet_result_allowed(&result));
    atomic_fetch_add(&ticks, 1);
}

static void a_check_in_a_signal_handler_denies(void **state)
{
    struct sigaction action = { .sa_handler = check_in_the_handler };
    struct sigaction before;
    engine_world     w;

    (void)state;
    open_world(&w);
    of_the_handler = w.engine;
    atomic_store(&ticks, 0);
    sigaction(SIGUSR1, &action, &before);
    for (int i = 0; i < 100; i++) {
        raise(SIGUSR1);
        assert_true(world_allowed(&w, "document:d1", "view", "user:ana"));
    }
    sigaction(SIGUSR1, &before, NULL);
    assert_int_equal(ticks, 100);
    assert_int_equal(handler_answers, 0);
    world_close(&w);
}

/* Runs this program again with an argument, and gives it a second, the sanitizers' slowness and a busy machine's. */
static void run_again(const char *argument)
{
    char  self[PATH_MAX];
    int   status = -1;
    pid_t child;

    memset(self, 0, sizeof self);
    assert_true(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(120);
        setenv("ASAN_OPTIONS", "detect_leaks=0", 1); /* nor threads that have ended unjoined */
        setenv("TSAN_OPTIONS", "report_thread_leaks=0:die_after_fork=0", 1);
        execl(self, self, argument, (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* Threads check and write while main() returns. */
static int exit_without_close(void)
{
    static busy   b;
    licet_engine *engine = NULL;
    pthread_t     thread;

    must(licet_open(LICET_STR("memory:"), NULL, &engine, NULL) == LICET_OK);
    must(licet_write_schema(engine, text_of(WORLD_SCHEMA), NULL, NULL) == LICET_OK);
    b.engine = engine;
    must(pthread_create(&thread, NULL, check_and_write, &b) == 0);
    must(pthread_create(&thread, NULL, check_and_write, &b) == 0);
    while (quietly_allowed(engine, "document:busy1", "user:u1") == false)
        continue;
    return 0;
}

static void a_process_may_end_without_closing(void **state)
{
    (void)state;
    run_again("exit-without-close");
}

typedef licet_status (*open_function)(licet_str, const licet_options *, licet_engine **, licet_error **);

/* The library, dlopened, used, closed: a fork afterwards runs its handlers, so it must still be there. */
static int unload(void)
{
    char          path[PATH_MAX] = { 0 };
    licet_engine *engine         = NULL;
    open_function open_engine;
    void         *library;
    char         *slash;
    pid_t         child;
    int           status = -1;

    must(readlink("/proc/self/exe", path, sizeof path - 32) > 0);
    for (int i = 0; i < 2; i++) { /* tests/program -> the build's folder */
        slash = strrchr(path, '/');
        must(slash != NULL);
        *slash = '\0';
    }
    strcat(path, "/liblicet.so");
    if (access(path, R_OK) != 0)
        return 0; /* only the static library was built */
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    must(library != NULL);
    *(void **)&open_engine = dlsym(library, "licet_open");
    must(open_engine != NULL);
    must(open_engine(LICET_STR("memory:"), NULL, &engine, NULL) == LICET_OK);
    dlclose(library);
    must(dlopen(path, RTLD_NOW | RTLD_NOLOAD) != NULL);
    must(open_engine(LICET_STR("memory:"), NULL, &engine, NULL) == LICET_OK);
    child = fork();
    if (child == 0)
        _exit(0);
    must(waitpid(child, &status, 0) == child && status == 0);
    return 0;
}

static void the_library_stays_when_it_is_unloaded(void **state)
{
    (void)state;
    run_again("unload");
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_and_foreign_engines_are_misuse),
        cmocka_unit_test(a_closed_engine_says_closed_to_everything),
        cmocka_unit_test(ending_nothing_does_nothing),
        cmocka_unit_test(places_for_answers_must_be_there_and_known),
        cmocka_unit_test(nested_records_of_an_unknown_size_are_misuse),
        cmocka_unit_test(what_the_error_variable_holds_before_a_call_does_not_matter),
        cmocka_unit_test(a_negative_length_is_refused),
        cmocka_unit_test(after_a_fork_there_are_two_engines_with_one_past),
        cmocka_unit_test(a_token_from_after_the_fork_is_the_other_process_s),
        cmocka_unit_test(a_fork_in_the_middle_of_checks_and_writes_leaves_a_whole_engine),
        cmocka_unit_test(children_may_fork_too),
        cmocka_unit_test(a_closed_engine_can_be_released_in_a_child),
        cmocka_unit_test(checks_and_writes_go_on_under_signals_every_200_us),
        cmocka_unit_test(a_check_in_a_signal_handler_denies),
        cmocka_unit_test(a_process_may_end_without_closing),
        cmocka_unit_test(the_library_stays_when_it_is_unloaded),
    };

    if (count > 1 && strcmp(arguments[1], "exit-without-close") == 0)
        return exit_without_close();
    if (count > 1 && strcmp(arguments[1], "unload") == 0)
        return unload();
    return cmocka_run_group_tests_name("engine/misuse", tests, NULL, NULL);
}

/* Runs the kept inputs of one entry, once each, as a test: what a fuzzer has found stays mended. Made with FUZZ_ENTRY,
 * the name of the entry, for every one of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CORPUS LICET_SOURCE_DIR "/tests/fuzz/corpus/" FUZZ_ENTRY "/"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Of the sanitizers, in builds that have them. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static char running[512]; /* the path of the input that is being run */

static void name_input(void)
{
    static const char words[] = "\nthe input was ";

    if (write(STDERR_FILENO, words, sizeof words - 1) < 0 || write(STDERR_FILENO, running, strlen(running)) < 0 ||
        write(STDERR_FILENO, "\n", 1) < 0)
        return;
}

static void on_abort(int number)
{
    name_input();
    signal(number, SIG_DFL);
    raise(number);
}

/* In a block of its own size, so that reading past its end shows. */
static void run_file(const char *path)
{
    FILE    *file = fopen(path, "rb");
    uint8_t *data;
    long     size;

    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    size = ftell(file);
    assert_true(size >= 0);
    rewind(file);
    data = malloc((size_t)size);
    assert_true(data != NULL || size == 0);
    assert_int_equal(fread(data, 1, (size_t)size, file), size);
    fclose(file);
    LLVMFuzzerTestOneInput(data, (size_t)size);
    free(data);
}

static void every_kept_input_holds(void **state)
{
    DIR                 *corpus = opendir(CORPUS);
    const struct dirent *entry;
    size_t               count = 0;

    (void)state;
    assert_non_null(corpus);
    while ((entry = readdir(corpus)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(running, sizeof running, "%s%s", CORPUS, entry->d_name);
        run_file(running);
        count++;
    }
    closedir(corpus);
    assert_true(count > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_kept_input_holds) };

    signal(SIGABRT, on_abort);
    if (__sanitizer_set_death_callback != NULL)
        __sanitizer_set_death_callback(name_input);
    return cmocka_run_group_tests_name("fuzz/" FUZZ_ENTRY, tests, NULL, NULL);
}

/* What a pattern and an input may be, around the border in re2.h. RE2's own memory comes from the process. */
#include "caveat/regex.h"

#include "caveat/re2.h"

#define MOST_PATTERN 1024      /* bytes; threat-model.md 3, like the next two */
#define MOST_STATES 10000      /* instructions of the compiled program */
#define MOST_INPUT (64 * 1024) /* bytes */
#define MEMORY_LIMIT (2 << 20) /* bytes that RE2 may use for one program and its caches */
#define MOST_WORK \
    ((size_t)1 << 26) /* states * bytes: what a search costs when RE2 has no room for its fast automaton */

const char lic_regex_no_memory[] = "out of memory";

struct lic_regex {
    lic_memory *memory;
    void       *program;
    size_t      states;
};

/* RE2 knows \C, one byte of a character. Go doesn't. */
static bool matches_bytes(lic_str pattern)
{
    for (size_t i = 0; i + 1 < pattern.size; i++) {
        if (pattern.data[i] == '\\' && pattern.data[++i] == 'C')
            return true;
    }
    return false;
}

static const char *compile(struct lic_regex *regex, lic_str pattern)
{
    if (pattern.size > MOST_PATTERN)
        return "the regular expression is longer than 1024 bytes";
    if (matches_bytes(pattern))
        return "error parsing regexp: invalid escape sequence: `\\C`";
    switch (lic_re2_new(pattern.data, pattern.size, MEMORY_LIMIT, &regex->program, &regex->states)) {
    case LIC_RE2_OK:
        return regex->states > MOST_STATES ? "the regular expression is too large" : NULL;
    case LIC_RE2_INVALID:
        return "error parsing regexp";
    case LIC_RE2_TOO_LARGE:
        return "the regular expression is too large";
    case LIC_RE2_NO_MEMORY:
        break;
    }
    return LIC_REGEX_NO_MEMORY;
}

bool lic_regex_new(lic_memory *memory, lic_str pattern, struct lic_regex **out, const char **why)
{
    struct lic_regex *regex = lic_alloc_zero(memory, sizeof *regex);

    *out = NULL;
    *why = LIC_REGEX_NO_MEMORY;
    if (regex == NULL)
        return false;
    regex->memory = memory;
    *why          = compile(regex, pattern);
    if (*why == NULL)
        *out = regex;
    else
        lic_regex_free(regex);
    return *why == NULL;
}

void lic_regex_free(struct lic_regex *regex)
{
    if (regex == NULL)
        return;
    lic_re2_free(regex->program);
    lic_free(regex->memory, regex, sizeof *regex);
}

size_t lic_regex_states(const struct lic_regex *regex)
{
    return regex->states;
}

bool lic_regex_search(const struct lic_regex *regex, lic_str input, bool *found)
{
    *found = false;
    if (input.size > MOST_INPUT || input.size * regex->states > MOST_WORK)
        return false;
    return lic_re2_search(regex->program, input.data, input.size, found);
}

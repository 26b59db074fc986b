// RE2 allocates with new; what that throws ends here. Nothing is logged.
#include "caveat/re2.h"

#include <re2/re2.h>

static lic_re2_outcome outcome_of(const re2::RE2 &program)
{
    if (program.ok())
        return LIC_RE2_OK;
    return program.error_code() == re2::RE2::ErrorPatternTooLarge ? LIC_RE2_TOO_LARGE : LIC_RE2_INVALID;
}

extern "C" lic_re2_outcome lic_re2_new(const char *pattern, size_t size, size_t memory_limit, void **program,
                                       size_t *states)
{
    try {
        re2::RE2::Options options;
        re2::RE2         *made;
        lic_re2_outcome   outcome;

        options.set_log_errors(false);
        options.set_max_mem(static_cast<int64_t>(memory_limit));
        made    = new re2::RE2(re2::StringPiece(pattern, size), options);
        outcome = outcome_of(*made);
        if (outcome != LIC_RE2_OK) {
            delete made;
            return outcome;
        }
        *states  = static_cast<size_t>(made->ProgramSize());
        *program = made;
        return LIC_RE2_OK;
    } catch (...) {
        return LIC_RE2_NO_MEMORY;
    }
}

extern "C" void lic_re2_free(void *program)
{
    try {
        delete static_cast<re2::RE2 *>(program);
    } catch (...) {
        return;
    }
}

extern "C" bool lic_re2_search(const void *program, const char *input, size_t size, bool *found)
{
    try {
        *found = re2::RE2::PartialMatch(re2::StringPiece(input, size), *static_cast<const re2::RE2 *>(program));
        return true;
    } catch (...) {
        return false;
    }
}

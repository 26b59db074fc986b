/* Which sanitizer a test runs under. */
#ifndef LICET_TESTS_SANITIZERS_H
#define LICET_TESTS_SANITIZERS_H

/* The thread sanitizer refuses threads in the child of a process that has some, and a child in whose parent another
 * thread was inside it waits for that for ever. */
#if defined(__SANITIZE_THREAD__)
#define UNDER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UNDER_TSAN 1
#endif
#endif
#ifndef UNDER_TSAN
#define UNDER_TSAN 0
#endif

#endif

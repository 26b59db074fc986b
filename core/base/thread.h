/* Threads of our own and their locks. Threads block all signals and are always joined. */
#ifndef LIC_BASE_THREAD_H
#define LIC_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

typedef pthread_mutex_t lic_mutex;

bool lic_mutex_init(lic_mutex *mutex);
void lic_mutex_destroy(lic_mutex *mutex);
void lic_mutex_lock(lic_mutex *mutex);
void lic_mutex_unlock(lic_mutex *mutex);

/* Waiting for something that changes under a mutex. */
typedef pthread_cond_t lic_waiters;

bool lic_waiters_init(lic_waiters *waiters);
void lic_waiters_destroy(lic_waiters *waiters); /* nobody waits */
void lic_waiters_wake(lic_waiters *waiters);
/* Lets go of the mutex until woken, at the latest until lic_monotonic_ms() has come to the time. May return for no
 * reason: who waits looks again. */
void lic_waiters_wait(lic_waiters *waiters, lic_mutex *mutex, uint64_t until_ms);

/* Starts body(argument) on a new thread named `name` (at most 15 characters) with all signals blocked
 * and a stack of 1 MiB. false: no thread could be had. */
bool lic_thread_start(pthread_t *thread, const char *name, void (*body)(void *), void *argument);
void lic_thread_join(pthread_t thread);
void lic_sleep_us(uint32_t microseconds);

/* A small number of the calling thread, given out at its first call and never reused while there are
 * fewer threads than UINT32_MAX. Spreads readers over slots; nothing relies on its being unique. */
uint32_t lic_thread_number(void);

#endif

/* Around a fork every engine is held still, in the order of the list, so that the child finds each of them between two
 * writes. No thread holds two engines' locks, nor asks for the registry's under one of them. */
#include "engine/registry.h"

#include "engine/engine.h"

static struct {
    lic_mutex     lock;
    licet_engine *first;
    bool          has_handlers;
} registry = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* The store first: who has its lock may want the graph's. */
static void before_fork_of(licet_engine *engine)
{
    if (engine->store->methods->before_fork != NULL)
        engine->store->methods->before_fork(engine->store);
    lic_graph_before_fork(engine->graph);
}

static void after_fork_parent_of(licet_engine *engine)
{
    lic_graph_after_fork_parent(engine->graph);
    if (engine->store->methods->after_fork_parent != NULL)
        engine->store->methods->after_fork_parent(engine->store);
}

static void before_fork(void)
{
    lic_mutex_lock(&registry.lock);
    for (licet_engine *e = registry.first; e != NULL; e = e->next)
        before_fork_of(e);
}

static void after_fork_parent(void)
{
    for (licet_engine *e = registry.first; e != NULL; e = e->next)
        after_fork_parent_of(e);
    lic_mutex_unlock(&registry.lock);
}

/* The lock is this thread's, which took it before the fork. */
static void after_fork_child(void)
{
    for (licet_engine *e = registry.first; e != NULL; e = e->next) {
        lic_graph_after_fork_child(e->graph);
        lic_identity_fork(&e->identity, lic_graph_head(e->graph));
        lic_gate_empty(&e->gate);
        lic_feed_after_fork(&e->feed);
        e->store->methods->after_fork_child(e->store);
    }
    lic_mutex_unlock(&registry.lock);
}

/* The library is never unloaded, so the handlers may stay for ever. */
bool lic_registry_add(licet_engine *engine)
{
    lic_mutex_lock(&registry.lock);
    if (!registry.has_handlers)
        registry.has_handlers = pthread_atfork(before_fork, after_fork_parent, after_fork_child) == 0;
    if (registry.has_handlers) {
        engine->previous = NULL;
        engine->next     = registry.first;
        if (engine->next != NULL)
            engine->next->previous = engine;
        registry.first     = engine;
        engine->registered = true;
    }
    lic_mutex_unlock(&registry.lock);
    return engine->registered;
}

void lic_registry_remove(licet_engine *engine)
{
    lic_mutex_lock(&registry.lock);
    if (engine->registered) {
        if (engine->previous != NULL)
            engine->previous->next = engine->next;
        else
            registry.first = engine->next;
        if (engine->next != NULL)
            engine->next->previous = engine->previous;
        engine->registered = false;
    }
    lic_mutex_unlock(&registry.lock);
}

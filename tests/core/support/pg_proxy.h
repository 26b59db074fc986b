/* A Postgres server that misbehaves: a listener on a Unix socket of its own that passes everything on to a real
 * server, and does something to one byte of what that answers; or one that plays a server by itself, badly.
 *
 *     pg_proxy proxy;
 *
 *     pg_proxy_start(&proxy, "/var/run/postgresql/.s.PGSQL.5432");
 *     pg_proxy_plan(&proxy, PG_PROXY_CUT, 100);
 *     ... connect to proxy.folder as host, port 5432 ...
 *     pg_proxy_stop(&proxy);
 *
 * It serves one connection after the other, on a thread of its own. */
#ifndef LICET_TESTS_PG_PROXY_H
#define LICET_TESTS_PG_PROXY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

typedef enum pg_proxy_action {
    PG_PROXY_PASS,
    PG_PROXY_CHANGE,  /* the byte: all of its bits turned */
    PG_PROXY_CUT,     /* the connection ends before it */
    PG_PROXY_REPEAT,  /* it comes twice */
    PG_PROXY_HOLD,    /* from it on nothing comes any more, and the connection stays */
    PG_PROXY_TRICKLE, /* from it on one byte after the other, some each millisecond */
    /* Without a server behind it: */
    PG_PROXY_SILENCE,
    PG_PROXY_GOODBYE, /* closes */
    PG_PROXY_NOISE,   /* bytes without end or sense */
    PG_PROXY_DRIP     /* the beginning of a long message, one byte each millisecond */
} pg_proxy_action;

#define PG_PROXY_SEEN_BYTES 8192

typedef struct pg_proxy {
    char           folder[64];
    char           upstream[108];
    int            listener;
    int            stop_read;
    int            stop_write;
    pthread_t      thread;
    _Atomic int    action;
    _Atomic size_t at;    /* counted from the first byte that the server sends on a connection */
    _Atomic size_t count; /* bytes that it sent on the last connection */
    _Atomic size_t connections;
    unsigned char  seen[PG_PROXY_SEEN_BYTES]; /* the first of them */
} pg_proxy;

/* upstream: path of the server's socket; NULL: none, and only actions without one. */
void pg_proxy_start(pg_proxy *proxy, const char *upstream);
void pg_proxy_stop(pg_proxy *proxy);
/* For the connections that come. */
void pg_proxy_plan(pg_proxy *proxy, pg_proxy_action action, size_t at);

#endif

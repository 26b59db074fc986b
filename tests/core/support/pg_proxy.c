#include "pg_proxy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static void socket_path(const pg_proxy *proxy, char path[108])
{
    snprintf(path, 108, "%s/.s.PGSQL.5432", proxy->folder);
}

static struct sockaddr_un address_of(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    memcpy(address.sun_path, path, strlen(path) + 1);
    return address;
}

static bool is_stopping(const pg_proxy *proxy)
{
    struct pollfd stop = { .fd = proxy->stop_read, .events = POLLIN };

    return poll(&stop, 1, 0) > 0;
}

static void rest(void)
{
    const struct timespec millisecond = { .tv_nsec = 1000000 };

    nanosleep(&millisecond, NULL);
}

static bool send_all(int to, const unsigned char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t sent = send(to, bytes, size, MSG_NOSIGNAL);

        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        bytes += sent;
        size -= (size_t)sent;
    }
    return true;
}

/* ------------------------------------------------------------ between client and server */

static bool trickle(pg_proxy *proxy, int client, const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size && !is_stopping(proxy); i++) {
        if (!send_all(client, bytes + i, 1))
            return false;
        if (i % 8 == 0)
            rest();
    }
    return true;
}

/* bytes[0] is the one that it is about. */
static bool act(pg_proxy *proxy, int client, unsigned char *bytes, size_t size)
{
    switch ((pg_proxy_action)proxy->action) {
    case PG_PROXY_CHANGE:
        bytes[0] = (unsigned char)~bytes[0];
        return send_all(client, bytes, size);
    case PG_PROXY_CUT:
        return false;
    case PG_PROXY_REPEAT:
        return send_all(client, bytes, 1) && send_all(client, bytes, size);
    case PG_PROXY_HOLD:
        return true;
    case PG_PROXY_TRICKLE:
        return trickle(proxy, client, bytes, size);
    default:
        return send_all(client, bytes, size);
    }
}

static bool from_there_on(const pg_proxy *proxy)
{
    return proxy->action == PG_PROXY_HOLD || proxy->action == PG_PROXY_TRICKLE;
}

static bool pass_answer(pg_proxy *proxy, int client, unsigned char *bytes, size_t size)
{
    const size_t from = proxy->count;
    const size_t at   = proxy->at;

    if (from < PG_PROXY_SEEN_BYTES)
        memcpy(proxy->seen + from, bytes, size < PG_PROXY_SEEN_BYTES - from ? size : PG_PROXY_SEEN_BYTES - from);
    proxy->count = from + size;
    if (at >= from + size || (at < from && !from_there_on(proxy)))
        return send_all(client, bytes, size);
    if (at < from)
        return act(proxy, client, bytes, size);
    return send_all(client, bytes, at - from) && act(proxy, client, bytes + (at - from), size - (at - from));
}

static void pass(pg_proxy *proxy, int client, int server)
{
    struct pollfd ends[3] = { { .fd = client, .events = POLLIN },
                              { .fd = server, .events = POLLIN },
                              { .fd = proxy->stop_read, .events = POLLIN } };
    unsigned char bytes[16384];

    while (poll(ends, 3, -1) >= 0 || errno == EINTR) {
        if (ends[2].revents != 0)
            return;
        if (ends[0].revents != 0) {
            ssize_t size = recv(client, bytes, sizeof bytes, 0);

            if (size <= 0 || !send_all(server, bytes, (size_t)size))
                return;
        }
        if (ends[1].revents != 0) {
            ssize_t size = recv(server, bytes, sizeof bytes, 0);

            if (size <= 0 || !pass_answer(proxy, client, bytes, (size_t)size))
                return;
        }
    }
}

/* ------------------------------------------------------------ alone */

static void play(pg_proxy *proxy, int client)
{
    static const unsigned char beginning[] = { 'E', 0, 0, 0x70, 0 };
    unsigned char              noise[64];
    struct pollfd              ends[2] = { { .fd = client }, { .fd = proxy->stop_read, .events = POLLIN } };

    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (unsigned char)(i * 167 + 13);
    switch ((pg_proxy_action)proxy->action) {
    case PG_PROXY_NOISE:
        while (!is_stopping(proxy) && send_all(client, noise, sizeof noise))
            continue;
        return;
    case PG_PROXY_DRIP:
        for (size_t i = 0; !is_stopping(proxy); i++) {
            if (!send_all(client, i < sizeof beginning ? beginning + i : noise, 1))
                return;
            rest();
        }
        return;
    case PG_PROXY_GOODBYE:
        return;
    default:
        poll(ends, 2, -1); /* until one of the two goes */
    }
}

/* ------------------------------------------------------------ the thread */

static void serve(pg_proxy *proxy, int client)
{
    struct sockaddr_un upstream = address_of(proxy->upstream);
    int                server;

    proxy->count = 0;
    proxy->connections++;
    if (proxy->action >= PG_PROXY_SILENCE) {
        play(proxy, client);
        return;
    }
    server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (server < 0)
        return;
    if (connect(server, (struct sockaddr *)&upstream, sizeof upstream) == 0)
        pass(proxy, client, server);
    close(server);
}

static void *proxy_main(void *argument)
{
    pg_proxy     *proxy   = argument;
    struct pollfd ends[2] = { { .fd = proxy->listener, .events = POLLIN },
                              { .fd = proxy->stop_read, .events = POLLIN } };

    while (poll(ends, 2, -1) >= 0 || errno == EINTR) {
        int client;

        if (ends[1].revents != 0)
            break;
        client = accept4(proxy->listener, NULL, NULL, SOCK_CLOEXEC);
        if (client < 0)
            continue;
        serve(proxy, client);
        close(client);
    }
    return NULL;
}

void pg_proxy_start(pg_proxy *proxy, const char *upstream)
{
    struct sockaddr_un address;
    char               path[108];
    int                ends[2];

    memset(proxy, 0, sizeof *proxy);
    snprintf(proxy->folder, sizeof proxy->folder, "/tmp/licet-proxy-XXXXXX");
    assert_non_null(mkdtemp(proxy->folder));
    if (upstream != NULL)
        snprintf(proxy->upstream, sizeof proxy->upstream, "%s", upstream);
    proxy->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(proxy->listener >= 0);
    socket_path(proxy, path);
    address = address_of(path);
    assert_int_equal(bind(proxy->listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(proxy->listener, 64), 0);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    proxy->stop_read  = ends[0];
    proxy->stop_write = ends[1];
    assert_int_equal(pthread_create(&proxy->thread, NULL, proxy_main, proxy), 0);
}

void pg_proxy_stop(pg_proxy *proxy)
{
    char path[108];

    assert_int_equal(write(proxy->stop_write, "", 1), 1);
    pthread_join(proxy->thread, NULL);
    close(proxy->listener);
    close(proxy->stop_read);
    close(proxy->stop_write);
    socket_path(proxy, path);
    unlink(path);
    rmdir(proxy->folder);
}

void pg_proxy_plan(pg_proxy *proxy, pg_proxy_action action, size_t at)
{
    proxy->action = action;
    proxy->at     = at;
}

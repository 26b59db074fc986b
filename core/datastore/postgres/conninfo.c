/* Both forms of connection strings, read as libpq reads them, with what it lets pass and we do not: a keyword twice,
 * one that brings in other settings, a value that fails only later.
 *
 * What the environment gives (PGUSER, PGPASSWORD, ...) where the string says nothing is judged like the string. All
 * values lie in one block, which is wiped when it goes. Nothing of a string comes into a message but names of
 * keywords: those that we know, and unknown ones that stand before any password. What stands behind one may be a
 * part of it, by a blank or a quote that went wrong. */
#include "datastore/postgres/conninfo.h"

#include <libpq-fe.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "datastore/postgres/keywords.h"

#define MAX_BYTES ((size_t)16 << 10) /* passwords that are signed tokens take some thousands */
#define MAX_VALUE_BYTES ((size_t)16 << 10)

struct lic_pg_conninfo {
    lic_memory *memory;
    size_t      block_bytes; /* this record and the text behind it */
    size_t      used_bytes;  /* of the text */
    size_t      text_bytes;
    bool        requires_tls;
    uint32_t    timeout_ms;
    const char *keywords[LIC_PG_KEYWORDS + 1];
    const char *values[LIC_PG_KEYWORDS + 1];
    char        text[];
};

typedef struct reader {
    lic_str           text;
    size_t            at;
    lic_pg_conninfo  *to;
    PQconninfoOption *known;               /* what the libpq that is there knows; ours may be newer */
    lic_str       values[LIC_PG_KEYWORDS]; /* data NULL: not given; in `to`, each with a NUL behind it, or constants */
    bool          has_secret;              /* what follows may belong to it */
    licet_error **error;
} reader;

/* ------------------------------------------------------------ errors */

static licet_status unusable(reader *r, const char *why)
{
    return lic_fail(r->error, LICET_INVALID_ARGUMENT, LICET_KIND_CONFIG, LIC_NOWHERE, "connection string: %s", why);
}

static licet_status unusable_at(reader *r, const char *why)
{
    return lic_fail(r->error, LICET_INVALID_ARGUMENT, LICET_KIND_CONFIG, lic_position_of(r->text, r->at),
                    "connection string: %s", why);
}

static licet_status bad(reader *r, lic_pg_keyword keyword, const char *why)
{
    return lic_fail(r->error, LICET_INVALID_ARGUMENT, LICET_KIND_CONFIG, LIC_NOWHERE, "connection string: %s %s",
                    lic_pg_keyword_name(keyword), why);
}

/* ------------------------------------------------------------ values */

static bool is_given(const reader *r, lic_pg_keyword keyword)
{
    return r->values[keyword].size > 0;
}

static bool value_is(const reader *r, lic_pg_keyword keyword, const char *word)
{
    return lic_str_equal(r->values[keyword], (lic_str){ word, strlen(word) });
}

static void put_constant(reader *r, lic_pg_keyword keyword, const char *value)
{
    r->values[keyword] = (lic_str){ value, strlen(value) };
}

/* The block has room for everything that a text can become, and for the environment as it was when it was measured;
 * what is too much is left away, and value_end() finds it missing. */
static void value_add(lic_pg_conninfo *to, char c)
{
    if (to->used_bytes < to->text_bytes)
        to->text[to->used_bytes] = c;
    to->used_bytes++;
}

/* The value that begins at `start`; it belongs to the keyword from now on. */
static licet_status value_end(reader *r, lic_pg_keyword keyword, size_t start)
{
    lic_pg_conninfo *to   = r->to;
    const size_t     size = to->used_bytes - start;

    value_add(to, '\0');
    if (to->used_bytes > to->text_bytes) {
        to->used_bytes = to->text_bytes;
        return bad(r, keyword, "is too long");
    }
    r->values[keyword] = (lic_str){ to->text + start, size };
    r->has_secret      = r->has_secret || (lic_pg_keyword_is_secret(keyword) && size > 0);
    return LICET_OK;
}

/* ------------------------------------------------------------ keywords */

/* Known to libpq, and not to be used: these may be named wherever they stand. */
static const char *refused_name(lic_str name)
{
    static const char *const refused[] = { "service",     "servicefile",        "replication",   "requiressl",
                                           "tty",         "authtype",           "sslkeylogfile", "scram_client_key",
                                           "ssl",         "scram_server_key",   "oauth_issuer",  "oauth_client_id",
                                           "oauth_scope", "oauth_client_secret" };

    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (lic_str_equal(name, (lic_str){ refused[i], strlen(refused[i]) }))
            return refused[i];
    return NULL;
}

static licet_status no_keyword(reader *r, lic_str name)
{
    const char *refused = refused_name(name);

    if (refused != NULL)
        return lic_fail(r->error, LICET_INVALID_ARGUMENT, LICET_KIND_CONFIG, LIC_NOWHERE,
                        "connection string: %s may not be used", refused);
    if (r->has_secret)
        return unusable(r, "an unknown keyword behind the password");
    return lic_fail(r->error, LICET_INVALID_ARGUMENT, LICET_KIND_CONFIG, LIC_NOWHERE,
                    "connection string: unknown keyword %Q", &name);
}

static bool is_known(const reader *r, lic_pg_keyword keyword)
{
    const PQconninfoOption *option = r->known;

    while (option->keyword != NULL && strcmp(option->keyword, lic_pg_keyword_name(keyword)) != 0)
        option++;
    return option->keyword != NULL;
}

/* Known to us and to libpq, and not given yet. */
static licet_status find_keyword(reader *r, lic_str name, lic_pg_keyword *keyword)
{
    *keyword = lic_pg_keyword_find(name);
    if (*keyword == LIC_PG_NO_KEYWORD)
        return no_keyword(r, name);
    if (lic_str_given(r->values[*keyword]))
        return bad(r, *keyword, "is given twice");
    if (!is_known(r, *keyword))
        return bad(r, *keyword, "is unknown to this libpq");
    return LICET_OK;
}

/* ------------------------------------------------------------ keyword=value */

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool at_end(const reader *r)
{
    return r->at == r->text.size;
}

static char peek(const reader *r)
{
    return at_end(r) ? '\0' : r->text.data[r->at];
}

static void skip_blanks(reader *r)
{
    while (!at_end(r) && is_blank(peek(r)))
        r->at++;
}

/* A backslash takes the next character as it is; one at the very end is nothing. */
static void take_escaped(reader *r)
{
    if (peek(r) == '\\')
        r->at++;
    if (!at_end(r))
        value_add(r->to, r->text.data[r->at++]);
}

static licet_status read_value(reader *r, lic_pg_keyword keyword)
{
    const size_t start     = r->to->used_bytes;
    const bool   is_quoted = peek(r) == '\'';

    r->at += is_quoted;
    while (!at_end(r) && (is_quoted ? peek(r) != '\'' : !is_blank(peek(r))))
        take_escaped(r);
    if (is_quoted && at_end(r))
        return bad(r, keyword, "has a quote that is not closed");
    r->at += is_quoted;
    if (!at_end(r) && !is_blank(peek(r)))
        return bad(r, keyword, "has more behind its quoted value");
    return value_end(r, keyword, start);
}

static licet_status read_pair(reader *r)
{
    const size_t   start = r->at;
    lic_str        name;
    lic_pg_keyword keyword;
    licet_status   status;

    while (!at_end(r) && peek(r) != '=' && !is_blank(peek(r)))
        r->at++;
    name = lic_str_slice(r->text, start, r->at);
    skip_blanks(r);
    if (name.size == 0)
        return unusable_at(r, "a value without a keyword");
    if (peek(r) != '=')
        return unusable_at(r, "a keyword without a value");
    LIC_TRY(find_keyword(r, name, &keyword));
    r->at++;
    skip_blanks(r);
    LIC_TRY(read_value(r, keyword));
done:
    return status;
}

static licet_status read_pairs(reader *r)
{
    licet_status status = LICET_OK;

    skip_blanks(r);
    while (status == LICET_OK && !at_end(r)) {
        status = read_pair(r);
        skip_blanks(r);
    }
    return status;
}

/* ------------------------------------------------------------ URIs
 *
 *   postgresql://[user[:password]@][host[:port]{,host[:port]}][/dbname][?keyword=value{&keyword=value}] */

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* "%2f": the byte; -1: no such escape, or of NUL. */
static int escaped_byte(lic_str part, size_t at)
{
    int high = at + 2 < part.size ? hex_value(part.data[at + 1]) : -1;
    int low  = high < 0 ? -1 : hex_value(part.data[at + 2]);

    return low < 0 || high + low == 0 ? -1 : high * 16 + low;
}

/* Adds a part of the URI to the value that is being made. */
static licet_status add_decoded(reader *r, lic_pg_keyword keyword, lic_str part)
{
    for (size_t i = 0; i < part.size; i++) {
        int byte = (unsigned char)part.data[i];

        if (is_blank(part.data[i]))
            return bad(r, keyword, "has a blank that is not written as %20");
        if (byte == '%') {
            byte = escaped_byte(part, i);
            if (byte < 0)
                return bad(r, keyword, "has a wrong % escape");
            i += 2;
        }
        value_add(r->to, (char)byte);
    }
    return LICET_OK;
}

static licet_status read_part(reader *r, const char *name, lic_str part)
{
    const size_t   start = r->to->used_bytes;
    lic_pg_keyword keyword;
    licet_status   status;

    LIC_TRY(find_keyword(r, (lic_str){ name, strlen(name) }, &keyword));
    LIC_TRY(add_decoded(r, keyword, part));
    LIC_TRY(value_end(r, keyword, start));
done:
    return status;
}

/* From here up to the first of these characters, or the end. */
static lic_str take_until(reader *r, const char *ends)
{
    const size_t start = r->at;

    while (!at_end(r) && strchr(ends, peek(r)) == NULL)
        r->at++;
    return lic_str_slice(r->text, start, r->at);
}

static licet_status read_user(reader *r)
{
    const size_t start = r->at;
    licet_status status;
    lic_str      part;

    take_until(r, "@/");
    if (peek(r) != '@') {
        r->at = start;
        return LICET_OK;
    }
    r->at = start;
    part  = take_until(r, ":@");
    LIC_TRY(read_part(r, "user", part));
    if (peek(r) == ':') {
        r->at++;
        part          = take_until(r, "@");
        r->has_secret = true;
        LIC_TRY(read_part(r, "password", part));
    }
    r->at++;
done:
    return status;
}

/* "host", "host:port", "[v6]:port". */
static licet_status read_host(reader *r, lic_str *host, lic_str *port)
{
    *port = LIC_STR("");
    if (peek(r) == '[') {
        r->at++;
        *host = take_until(r, "]/");
        if (peek(r) != ']' || host->size == 0)
            return bad(r, LIC_PG_KEYWORD_host, "has a bracket that is not closed, or nothing in it");
        r->at++;
        if (!at_end(r) && strchr(":/?,", peek(r)) == NULL)
            return bad(r, LIC_PG_KEYWORD_host, "has more behind a bracket");
    } else {
        *host = take_until(r, ":/?,");
    }
    if (peek(r) == ':') {
        r->at++;
        *port = take_until(r, "/?,");
    }
    return LICET_OK;
}

/* All the hosts, or all the ports of them, as a list with commas. */
static licet_status read_host_list(reader *r, lic_pg_keyword which, bool *is_plain)
{
    const size_t start = r->to->used_bytes;
    bool         more  = true;
    licet_status status;

    *is_plain = true; /* not one thing in it */
    while (more) {
        lic_str host;
        lic_str port;
        lic_str part;

        LIC_TRY(read_host(r, &host, &port));
        part      = which == LIC_PG_KEYWORD_host ? host : port;
        *is_plain = *is_plain && part.size == 0;
        LIC_TRY(add_decoded(r, which, part));
        more = peek(r) == ',';
        if (more)
            value_add(r->to, r->text.data[r->at++]);
    }
    if (*is_plain && which == LIC_PG_KEYWORD_port)
        r->to->used_bytes = start; /* ",": none at all */
    status = value_end(r, which, start);
done:
    return status;
}

static licet_status read_hosts(reader *r)
{
    const size_t start = r->at;
    bool         is_plain;
    licet_status status;

    LIC_TRY(read_host_list(r, LIC_PG_KEYWORD_host, &is_plain));
    if (r->at == start) { /* nothing there: ?host= may follow */
        r->values[LIC_PG_KEYWORD_host] = (lic_str){ 0 };
        return LICET_OK;
    }
    r->at = start;
    LIC_TRY(read_host_list(r, LIC_PG_KEYWORD_port, &is_plain));
    if (is_plain)
        r->values[LIC_PG_KEYWORD_port] = (lic_str){ 0 };
done:
    return status;
}

/* ssl=true is what other drivers' URIs say for sslmode=require, and libpq takes. */
static licet_status read_query_pair(reader *r)
{
    const lic_str  name  = take_until(r, "=&");
    const size_t   start = r->to->used_bytes;
    lic_pg_keyword keyword;
    lic_str        value;
    licet_status   status;

    if (peek(r) != '=')
        return unusable_at(r, "a keyword without a value");
    r->at++;
    value = take_until(r, "&");
    if (lic_str_equal(name, LIC_STR("ssl")) && lic_str_equal(value, LIC_STR("true")))
        return read_part(r, "sslmode", LIC_STR("require"));
    LIC_TRY(find_keyword(r, name, &keyword));
    LIC_TRY(add_decoded(r, keyword, value));
    LIC_TRY(value_end(r, keyword, start));
done:
    return status;
}

static licet_status read_query(reader *r)
{
    licet_status status = LICET_OK;

    while (status == LICET_OK && !at_end(r)) {
        r->at++; /* '?' or '&' */
        if (!at_end(r))
            status = read_query_pair(r);
    }
    return status;
}

static licet_status read_uri(reader *r)
{
    licet_status status;

    LIC_TRY(read_user(r));
    LIC_TRY(read_hosts(r));
    if (peek(r) == '/') {
        lic_str name;

        r->at++;
        name = take_until(r, "?");
        if (name.size > 0)
            LIC_TRY(read_part(r, "dbname", name));
    }
    LIC_TRY(read_query(r));
done:
    return status;
}

/* Bytes of the scheme and its "://"; 0: it is no URI of Postgres. */
static size_t scheme_size(lic_str text)
{
    if (lic_str_starts_with(text, LIC_STR("postgresql://")))
        return sizeof "postgresql://" - 1;
    return lic_str_starts_with(text, LIC_STR("postgres://")) ? sizeof "postgres://" - 1 : 0;
}

bool lic_pg_conninfo_is(lic_str text)
{
    size_t i = 0;
    size_t start;

    if (scheme_size(text) > 0)
        return true;
    while (i < text.size && is_blank(text.data[i]))
        i++;
    start = i;
    while (i < text.size && ((text.data[i] >= 'a' && text.data[i] <= 'z') || text.data[i] == '_'))
        i++;
    if (i == start)
        return false;
    while (i < text.size && is_blank(text.data[i]))
        i++;
    return i < text.size && text.data[i] == '=';
}

/* ------------------------------------------------------------ the environment */

/* What it gives where the string gives nothing; NULL: nothing, or nothing that libpq would take. */
static const char *from_environment(const reader *r, lic_pg_keyword keyword)
{
    const char *variable = lic_pg_keyword_variable(keyword);
    const char *value    = variable == NULL || lic_str_given(r->values[keyword]) ? NULL : getenv(variable);

    if (value == NULL || *value == '\0' || !is_known(r, keyword))
        return NULL;
    return value;
}

static size_t environment_bytes(void)
{
    size_t sum = 0;

    for (lic_pg_keyword k = 0; k < LIC_PG_KEYWORDS; k++) {
        const char *variable = lic_pg_keyword_variable(k);
        const char *value    = variable == NULL ? NULL : getenv(variable);
        size_t      size     = value == NULL ? 0 : strlen(value);

        sum += size > MAX_VALUE_BYTES ? MAX_VALUE_BYTES : size;
    }
    return sum;
}

static licet_status read_environment(reader *r)
{
    const char  *service = getenv("PGSERVICE");
    licet_status status  = LICET_OK;

    if (service != NULL && *service != '\0')
        return unusable(r, "PGSERVICE is set in the environment, and would bring in settings that nobody has checked");
    for (lic_pg_keyword k = 0; status == LICET_OK && k < LIC_PG_KEYWORDS; k++) {
        const size_t start = r->to->used_bytes;
        const char  *value = from_environment(r, k);

        if (value == NULL)
            continue;
        while (*value != '\0' && r->to->used_bytes - start <= MAX_VALUE_BYTES)
            value_add(r->to, *value++);
        status = value_end(r, k, start);
    }
    return status;
}

/* ------------------------------------------------------------ judging */

static licet_status judge_values(reader *r)
{
    for (lic_pg_keyword k = 0; k < LIC_PG_KEYWORDS; k++) {
        const char *why = is_given(r, k) ? lic_pg_keyword_judge(k, r->values[k]) : NULL;

        if (why != NULL)
            return bad(r, k, why);
    }
    return LICET_OK;
}

static size_t count_of(const reader *r, lic_pg_keyword keyword)
{
    return is_given(r, keyword) ? lic_pg_list_count(r->values[keyword]) : 0;
}

static licet_status judge_counts(reader *r, size_t *attempts)
{
    const size_t hosts     = count_of(r, LIC_PG_KEYWORD_host);
    const size_t addresses = count_of(r, LIC_PG_KEYWORD_hostaddr);
    const size_t ports     = count_of(r, LIC_PG_KEYWORD_port);

    *attempts = hosts > 0 ? hosts : addresses > 0 ? addresses : 1;
    if (hosts > 0 && addresses > 0 && hosts != addresses)
        return bad(r, LIC_PG_KEYWORD_hostaddr, "does not have as many addresses as there are hosts");
    if (ports > 1 && ports != *attempts)
        return bad(r, LIC_PG_KEYWORD_port, "has neither one port nor as many as there are hosts");
    return LICET_OK;
}

/* libpq uses no TLS on Unix sockets, whatever sslmode says. */
static bool has_unix_socket(const reader *r)
{
    lic_str hosts    = r->values[LIC_PG_KEYWORD_host];
    bool    is_begun = false;
    lic_str host;

    if (!is_given(r, LIC_PG_KEYWORD_host) || is_given(r, LIC_PG_KEYWORD_hostaddr))
        return !is_given(r, LIC_PG_KEYWORD_hostaddr);
    while (lic_pg_list_next(&hosts, &host, &is_begun))
        if (host.data[0] == '/' || host.data[0] == '@')
            return true;
    return false;
}

static licet_status judge_required_tls(reader *r)
{
    if (!value_is(r, LIC_PG_KEYWORD_sslmode, "verify-full"))
        return bad(r, LIC_PG_KEYWORD_sslmode, "has to be verify-full with require_tls");
    if (!value_is(r, LIC_PG_KEYWORD_gssencmode, "disable"))
        return bad(r, LIC_PG_KEYWORD_gssencmode, "has to be disable with require_tls");
    if (has_unix_socket(r))
        return bad(r, LIC_PG_KEYWORD_host, "is a Unix socket, which has no TLS as require_tls asks");
    return LICET_OK;
}

/* Values that stand in each other's way, which libpq finds only when it connects. */
static licet_status judge_tls(reader *r)
{
    const lic_str min        = r->values[LIC_PG_KEYWORD_ssl_min_protocol_version];
    const lic_str max        = r->values[LIC_PG_KEYWORD_ssl_max_protocol_version];
    const bool    needs_name = value_is(r, LIC_PG_KEYWORD_sslmode, "verify-full");
    const bool    is_strict  = needs_name || value_is(r, LIC_PG_KEYWORD_sslmode, "verify-ca") ||
                           value_is(r, LIC_PG_KEYWORD_sslmode, "require");

    if (min.size > 0 && max.size > 0 && lic_str_compare(min, max) > 0)
        return bad(r, LIC_PG_KEYWORD_ssl_max_protocol_version, "is less than the least");
    if (needs_name && is_given(r, LIC_PG_KEYWORD_hostaddr) && !is_given(r, LIC_PG_KEYWORD_host))
        return bad(r, LIC_PG_KEYWORD_host, "is needed beside hostaddr where the server's name is verified");
    if (value_is(r, LIC_PG_KEYWORD_sslnegotiation, "direct") && !is_strict)
        return bad(r, LIC_PG_KEYWORD_sslnegotiation, "may be direct only where sslmode is require or more");
    if (PQlibVersion() >= 160000 && value_is(r, LIC_PG_KEYWORD_sslrootcert, "system") &&
        is_given(r, LIC_PG_KEYWORD_sslmode) && !needs_name)
        return bad(r, LIC_PG_KEYWORD_sslmode, "has to be verify-full with sslrootcert=system");
    return r->to->requires_tls ? judge_required_tls(r) : LICET_OK;
}

/* ------------------------------------------------------------ the whole */

/* What we want where the string says nothing. The times end connections whose other end is gone without a word. */
static void put_defaults(reader *r)
{
    static const struct {
        lic_pg_keyword keyword;
        const char    *value;
    } defaults[] = {
        { LIC_PG_KEYWORD_connect_timeout, "10" },
        { LIC_PG_KEYWORD_keepalives, "1" },
        { LIC_PG_KEYWORD_keepalives_idle, "10" },
        { LIC_PG_KEYWORD_keepalives_interval, "3" },
        { LIC_PG_KEYWORD_keepalives_count, "3" },
        { LIC_PG_KEYWORD_tcp_user_timeout, "5000" },
        { LIC_PG_KEYWORD_gssencmode, "disable" }, /* looking for a ticket may ask the network, and wait */
        { LIC_PG_KEYWORD_fallback_application_name, "licet" },
    };

    for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++)
        if (!is_given(r, defaults[i].keyword))
            put_constant(r, defaults[i].keyword, defaults[i].value);
    put_constant(r, LIC_PG_KEYWORD_client_encoding, "UTF8");
}

static void note_timeout(reader *r, size_t attempts)
{
    uint32_t seconds = 0;
    uint64_t ms;

    if (is_given(r, LIC_PG_KEYWORD_connect_timeout))
        lic_pg_read_number(r->values[LIC_PG_KEYWORD_connect_timeout], INT32_MAX, &seconds);
    ms                = (uint64_t)seconds * 1000 * attempts;
    r->to->timeout_ms = ms > UINT32_MAX ? UINT32_MAX : (uint32_t)ms;
}

static void make_arrays(reader *r)
{
    size_t count = 0;

    for (lic_pg_keyword k = 0; k < LIC_PG_KEYWORDS; k++) {
        if (!is_given(r, k))
            continue;
        r->to->keywords[count] = lic_pg_keyword_name(k);
        r->to->values[count]   = r->values[k].data;
        count++;
    }
}

static licet_status read_all(reader *r)
{
    size_t       attempts;
    licet_status status;

    r->at = scheme_size(r->text);
    LIC_TRY(r->at > 0 ? read_uri(r) : read_pairs(r));
    if (r->to->requires_tls && !is_given(r, LIC_PG_KEYWORD_sslmode))
        put_constant(r, LIC_PG_KEYWORD_sslmode, "verify-full");
    LIC_TRY(read_environment(r));
    LIC_TRY(judge_values(r));
    LIC_TRY(judge_counts(r, &attempts));
    note_timeout(r, attempts);
    put_defaults(r);
    LIC_TRY(judge_tls(r));
    make_arrays(r);
done:
    return status;
}

static licet_status judge_text(reader *r)
{
    if (lic_str_trim(r->text).size == 0)
        return unusable(r, "it is empty");
    if (r->text.size > MAX_BYTES)
        return unusable(r, "it is longer than 16384 bytes");
    if (memchr(r->text.data, '\0', r->text.size) != NULL)
        return unusable(r, "it has a NUL");
    if (lic_utf8_check(r->text) != r->text.size)
        return unusable(r, "it is not UTF-8");
    if (!lic_pg_conninfo_is(r->text))
        return unusable(r, "it is neither a URI of Postgres nor keyword=value");
    return LICET_OK;
}

static lic_pg_conninfo *conninfo_new(lic_memory *memory, size_t text_bytes)
{
    size_t           block_bytes = sizeof(lic_pg_conninfo) + text_bytes;
    lic_pg_conninfo *conninfo    = lic_alloc_zero(memory, block_bytes);

    if (conninfo == NULL)
        return NULL;
    conninfo->memory      = memory;
    conninfo->block_bytes = block_bytes;
    conninfo->text_bytes  = text_bytes;
    return conninfo;
}

licet_status lic_pg_conninfo_read(lic_memory *memory, lic_str text, bool require_tls, lic_pg_conninfo **conninfo,
                                  licet_error **error)
{
    reader       r = { .text = text, .error = error };
    licet_status status;

    *conninfo = NULL;
    LIC_TRY(judge_text(&r));
    /* Decoding makes nothing longer, but the commas between hosts stand between their ports too; each value has a
     * NUL. */
    r.to    = conninfo_new(memory, 2 * text.size + environment_bytes() + 2 * (LIC_PG_KEYWORDS + 1));
    r.known = PQconninfoParse("", NULL);
    if (r.to == NULL || r.known == NULL) {
        status = lic_fail_memory(error);
        goto done;
    }
    r.to->requires_tls = require_tls;
    LIC_TRY(read_all(&r));
    *conninfo = r.to;
    r.to      = NULL;
done:
    PQconninfoFree(r.known);
    lic_pg_conninfo_free(r.to);
    return status;
}

void lic_pg_conninfo_free(lic_pg_conninfo *conninfo)
{
    lic_memory *memory;
    size_t      block_bytes;

    if (conninfo == NULL)
        return;
    memory      = conninfo->memory;
    block_bytes = conninfo->block_bytes;
    explicit_bzero(conninfo, block_bytes);
    lic_free(memory, conninfo, block_bytes);
}

const char *const *lic_pg_conninfo_keywords(const lic_pg_conninfo *conninfo)
{
    return conninfo->keywords;
}

const char *const *lic_pg_conninfo_values(const lic_pg_conninfo *conninfo)
{
    return conninfo->values;
}

bool lic_pg_conninfo_requires_tls(const lic_pg_conninfo *conninfo)
{
    return conninfo->requires_tls;
}

uint32_t lic_pg_conninfo_timeout_ms(const lic_pg_conninfo *conninfo)
{
    return conninfo->timeout_ms;
}
